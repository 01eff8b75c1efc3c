//! What a command is run for, as its words say.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Purpose {
    Test,
    Build,
    Lint,
    Run,
    Install,
    /// A one-liner of an interpreter (`python3 -c`): a check when it runs the project's code, else a question.
    Probe,
    Other,
}

impl Purpose {
    /// Of a target, a task, a subcommand or a script of a package.
    pub(super) fn of(word: &str) -> Self {
        let first = word
            .split([':', '-', '_', '.'])
            .find(|part| !part.is_empty())
            .unwrap_or("");
        match first {
            "t" | "test" | "tests" | "check" | "verify" | "spec" | "specs" | "ci" | "unit"
            | "unittest" | "e2e" | "integration" | "coverage" | "cov" | "validate" | "selftest" => {
                Self::Test
            }
            "lint" | "fmt" | "format" | "style" | "typecheck" | "types" | "type" | "tsc"
            | "clippy" | "mypy" | "vet" | "eslint" | "prettier" | "analyze" | "analyse" => {
                Self::Lint
            }
            "build" | "b" | "compile" | "all" | "dist" | "bundle" | "release" | "debug"
            | "package" | "assemble" | "up" => Self::Build,
            "run" | "r" | "start" | "dev" | "serve" | "app" | "preview" => Self::Run,
            "install" | "deps" | "setup" | "bootstrap" | "restore" | "get" | "sync" | "add"
            | "init" | "mod" | "tidy" => Self::Install,
            _ if word.to_lowercase().contains("test") => Self::Test,
            _ => Self::Other,
        }
    }

    /// Of a script or a program of the project, by its path.
    pub(super) fn of_script(path: &str) -> Self {
        let tests = |part: &str| {
            let mut words = part
                .split(|c: char| !c.is_ascii_alphanumeric())
                .map(str::to_lowercase);
            words.any(|word| {
                word.starts_with("test")
                    || matches!(
                        word.as_str(),
                        "spec" | "specs" | "check" | "checks" | "verify" | "ci" | "selftest"
                    )
            })
        };
        if path.split('/').any(tests) {
            Self::Test
        } else {
            Self::Run
        }
    }
}
