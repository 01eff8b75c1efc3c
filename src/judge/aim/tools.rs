//! The aim of a call by its program: test runners, build tools, compilers, linters, package managers.

use std::collections::BTreeSet;

use super::options::{CARGO, COMPILER, GENERIC, GO, JAVASCRIPT, Options, PACKAGES, PYTEST, TSC};
use super::scripts;
use super::{Aim, Purpose};
use crate::judge::question::has;

const JAVASCRIPT_RUNNERS: &str =
    "jest vitest mocha ava jasmine karma playwright cypress wtr qunit tap tape uvu";
const RUNNERS: &str = "rspec phpunit pest ctest prove bats shellspec busted tasty behave cucumber robot nose2 nosetests minitest testthat";
const MAKES: &str = "make gmake bmake just task rake invoke nox tox mage ninja";
const COMPILERS: &str =
    "gcc cc clang g++ c++ clang++ rustc javac kotlinc swiftc scalac ghc nim zig dmd ld";
const LINTERS: &str = "eslint ruff mypy flake8 pylint black isort prettier shellcheck golangci-lint rubocop stylelint biome pyright hadolint \
    tflint ktlint phpstan psalm clang-tidy clang-format rustfmt gofmt staticcheck yamllint markdownlint codespell pre-commit credo dialyzer";
/// Tools whose first word says what they do.
const TOOLCHAINS: &str = "gradle gradlew mvn mvnw dotnet mix swift bazel sbt lein cabal stack dune composer flutter dart rebar3 meson cmake \
    docker podman terraform tofu helm kubectl pip pip3 uv poetry gem bundle apt apt-get brew ansible-playbook hatch pdm rails ng nx turbo lerna conda";

/// The aim of `program args`.
pub(super) fn aim(path: &str, args: &[&str]) -> Aim {
    let program = path.rsplit('/').next().unwrap_or(path);
    match program {
        "cargo" => cargo(args),
        "go" => subcommand("go", args, GO),
        "pytest" | "py.test" => Aim::new("pytest", Purpose::Test, PYTEST.selection(args)),
        "npm" | "pnpm" | "yarn" | "bun" | "deno" => package_script(program, args),
        "tsc" | "vue-tsc" => Aim::new("tsc", Purpose::Build, TSC.selection(args)),
        "coverage" if args.first() == Some(&"run") => scripts::python(&args[1..]),
        _ if has(MAKES, program) => targets(program, args),
        _ if has(JAVASCRIPT_RUNNERS, program) => {
            Aim::new(program, Purpose::Test, JAVASCRIPT.selection(args))
        }
        _ if has(RUNNERS, program) => Aim::new(
            program,
            Purpose::Test,
            Options {
                whole: "spec test tests",
                ..GENERIC
            }
            .selection(args),
        ),
        _ if has(LINTERS, program) => Aim::new(
            program,
            Purpose::Lint,
            Options {
                whole: "check lint run ci src format",
                ..GENERIC
            }
            .selection(args),
        ),
        _ if has(COMPILERS, program) => {
            let c = matches!(program, "gcc" | "cc" | "clang" | "g++" | "c++" | "clang++");
            Aim::new(
                if c { "cc" } else { program },
                Purpose::Build,
                COMPILER.selection(args),
            )
        }
        _ if has(TOOLCHAINS, program) => {
            let tool = match program {
                "gradlew" => "gradle",
                "mvnw" => "mvn",
                "pip3" => "pip",
                other => other,
            };
            subcommand(
                tool,
                args,
                Options {
                    whole: "clean",
                    ..GENERIC
                },
            )
        }
        _ => scripts::aim(path, program, args),
    }
}

fn cargo(args: &[&str]) -> Aim {
    let mut rest = args;
    while let Some((word, more)) = rest
        .split_first()
        .filter(|(word, _)| word.starts_with(['+', '-']))
    {
        let valued = matches!(
            *word,
            "--color" | "--config" | "-Z" | "-C" | "--manifest-path"
        );
        rest = if valued && !more.is_empty() {
            &more[1..]
        } else {
            more
        };
    }
    let (sub, rest) = rest
        .split_first()
        .map_or(("build", rest), |(sub, rest)| (*sub, rest));
    let rest = if sub == "nextest" && rest.first() == Some(&"run") {
        &rest[1..]
    } else {
        rest
    };
    let purpose = match sub {
        "test" | "t" | "nextest" | "bench" | "tarpaulin" | "llvm-cov" | "miri" => Purpose::Test,
        "build" | "b" | "check" | "c" | "rustc" | "doc" | "d" => Purpose::Build,
        "run" | "r" => Purpose::Run,
        "clippy" | "fmt" | "deny" | "audit" | "machete" | "udeps" => {
            return Aim::new(format!("cargo {sub}"), Purpose::Lint, CARGO.selection(rest));
        }
        other => {
            return Aim::new(
                format!("cargo {other}"),
                Purpose::Other,
                CARGO.selection(rest),
            );
        }
    };
    // Words behind `--` are the program's own.
    let own = rest
        .iter()
        .position(|word| *word == "--")
        .filter(|_| purpose == Purpose::Run);
    Aim::new(
        "cargo",
        purpose,
        CARGO.selection(&rest[..own.unwrap_or(rest.len())]),
    )
}

/// npm and its like: a script of `package.json` is known by its name, whoever starts it.
fn package_script(program: &str, args: &[&str]) -> Aim {
    let mut at = 0;
    while let Some(word) = args.get(at).filter(|word| word.starts_with('-')) {
        at += 1 + usize::from(has(PACKAGES.valued, word) || has(PACKAGES.narrowing, word));
    }
    let (mut sub, mut rest) = args
        .get(at)
        .map_or(("install", &args[..0]), |sub| (*sub, &args[at + 1..]));
    let runs = matches!(
        sub,
        "run" | "run-script" | "rum" | "urn" | "task" | "workspace" | "workspaces"
    );
    if runs {
        let name = rest.iter().position(|word| !word.starts_with('-'));
        (sub, rest) = name.map_or(("", &rest[..0]), |name| (rest[name], &rest[name + 1..]));
    }
    let sub = match (program, sub) {
        (_, "t" | "tst") => "test",
        ("bun" | "deno", "test") if !runs => {
            return Aim::new(
                format!("{program} test"),
                Purpose::Test,
                PACKAGES.selection(rest),
            );
        }
        ("deno", "eval") => return scripts::one_liner("node -e", rest),
        ("deno" | "bun", file) if file.contains('.') => {
            let aim = Aim::new(
                format!("node:{}", scripts::stem(file)),
                Purpose::of_script(file),
                GENERIC.selection(rest),
            );
            return aim;
        }
        ("deno", "check" | "lint" | "fmt") => {
            return Aim::new(
                format!("deno {sub}"),
                Purpose::Lint,
                PACKAGES.selection(rest),
            );
        }
        (_, "i" | "ci" | "install" | "add" | "update" | "up" | "install-test") if !runs => {
            return Aim::new(
                format!("{program} install"),
                Purpose::Install,
                PACKAGES.selection(rest),
            );
        }
        (_, other) => other,
    };
    let before = PACKAGES.selection(&args[..at]);
    Aim::new(
        format!("script:{sub}"),
        Purpose::of(sub),
        before.into_iter().chain(PACKAGES.selection(rest)).collect(),
    )
}

/// make and its like: the standard targets are purposes, others narrow.
fn targets(program: &str, args: &[&str]) -> Aim {
    let make = program.ends_with("make");
    let (mut purpose, mut selection, mut named) = (None, BTreeSet::new(), false);
    let mut args = args.iter().copied().peekable();
    while let Some(word) = args.next() {
        if word == "-j"
            && args
                .peek()
                .is_some_and(|next| next.bytes().all(|b| b.is_ascii_digit()))
            || has("-C -f -l -o -I -W -e --directory --file --justfile", word)
            || word == "-s" && !make
        {
            args.next();
        } else if word.starts_with('-') {
            // A flag.
        } else if let Some((name, value)) = word.split_once('=') {
            let tunes = name.ends_with("FLAGS")
                || has(
                    "CC CXX V VERBOSE DEBUG JOBS MODE PROFILE CI COLOR PREFIX BUILD",
                    name,
                );
            selection.extend((!tunes).then(|| value.to_owned()));
        } else if !has("clean distclean all default", word) {
            named = true;
            let found = Purpose::of(word);
            if found != Purpose::Other {
                purpose = Some(purpose.map_or(found, |known: Purpose| known.min(found)));
            }
            // `test-unit` is a part of `test`.
            if !has(
                "test tests t check verify ci build compile run start lint install",
                word,
            ) {
                selection.insert(word.to_owned());
            }
        }
    }
    let purpose = purpose.unwrap_or(if named {
        Purpose::Other
    } else {
        Purpose::Build
    });
    Aim::new(if make { "make" } else { program }, purpose, selection)
}

/// A tool whose first word says what it does.
pub(super) fn subcommand(tool: &str, args: &[&str], options: Options) -> Aim {
    let is_name = |word: &str| {
        word.chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
    };
    let sub = args
        .iter()
        .position(|word| !word.starts_with(['-', '+']) && *word != "clean")
        .filter(|at| is_name(args[*at]));
    let name = sub.map_or("", |at| args[at]);
    let rest: Vec<&str> = args
        .iter()
        .enumerate()
        .filter(|(at, _)| Some(*at) != sub)
        .map(|(_, word)| *word)
        .collect();
    let mut selection = options.selection(&rest);
    if name.is_empty() {
        return Aim::new(tool, Purpose::Other, selection);
    }
    // `:app:test` is the test task of one module.
    selection.extend(name.starts_with(':').then(|| name.to_owned()));
    let purpose = Purpose::of(if name.starts_with(':') {
        name.rsplit(':').next().unwrap_or(name)
    } else {
        name
    });
    // Test, build and run of one toolchain are one tool with several purposes.
    let full = match purpose {
        Purpose::Other | Purpose::Lint | Purpose::Install => format!("{tool} {name}"),
        _ => tool.to_owned(),
    };
    Aim::new(full, purpose, selection)
}
