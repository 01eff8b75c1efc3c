//! What a checking command is aimed at: which tool, to what purpose, narrowed to what. Two commands with one aim are one check, however
//! they are spelt, and a check that is not narrowed covers one that is.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::question;

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

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Aim {
    pub tool: String,
    pub purpose: Purpose,
    /// What it is narrowed to: paths, names, patterns. Empty = everything.
    pub selection: BTreeSet<String>,
}

impl Aim {
    /// The aim of a command, `None` when it only asks.
    pub(super) fn of(argv: &[String]) -> Option<Self> {
        if question::asks(argv) {
            return None;
        }
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        let (program, args) = words.split_first()?;
        Some(by_program(program, args))
    }

    /// The same runner without a wrapper around it, narrowed as far as this one is.
    pub(super) fn by_runner(&self, runner: &str) -> Self {
        Self {
            tool: runner.to_owned(),
            purpose: Purpose::Test,
            selection: self.selection.clone(),
        }
    }

    /// Is it narrowed to something that one of these names is part of?
    pub(super) fn selects(&self, names: &BTreeSet<String>) -> bool {
        let patterns = self
            .selection
            .iter()
            .flat_map(|token| token.split('|'))
            .flat_map(|token| token.split(" or "));
        let patterns: Vec<&str> = patterns
            .map(|p| p.trim_matches(['^', '$', '/', '(', ')', ' ']))
            .filter(|p| p.len() > 1 && !p.starts_with('!'))
            .collect();
        names.iter().any(|name| {
            patterns
                .iter()
                .any(|pattern| name.contains(pattern) || pattern.ends_with(name.as_str()))
        })
    }

    fn new(tool: impl Into<String>, purpose: Purpose, selection: BTreeSet<String>) -> Self {
        Self {
            tool: tool.into(),
            purpose,
            selection,
        }
    }
}

/// Options of a tool as far as they matter here.
#[derive(Clone, Copy, Default)]
struct Options {
    /// Take a value that does not narrow.
    valued: &'static [&'static str],
    /// Take a value that narrows.
    narrowing: &'static [&'static str],
    /// Narrow by themselves.
    modes: &'static [&'static str],
    /// Positional words that stand for everything.
    whole: &'static [&'static str],
}

impl Options {
    fn selection(self, args: &[&str]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut args = args.iter();
        while let Some(&word) = args.next() {
            let (flag, value) = word
                .split_once('=')
                .map_or((word, None), |(flag, value)| (flag, Some(value)));
            if word.starts_with('-') && word.len() > 1 {
                if self.narrowing.contains(&flag) {
                    let value = value.or_else(|| args.next().copied());
                    found.extend(
                        value
                            .filter(|value| !self.is_whole(value))
                            .map(str::to_owned),
                    );
                } else if self.modes.contains(&flag) {
                    found.insert(flag.to_owned());
                } else if value.is_none() && self.valued.contains(&flag) {
                    args.next();
                }
            } else if !self.is_whole(word) {
                found.insert(
                    word.trim_start_matches("./")
                        .trim_end_matches('/')
                        .to_owned(),
                );
            }
        }
        found
    }

    fn is_whole(self, word: &str) -> bool {
        self.whole.contains(&word) || matches!(word, "." | "./" | "./...")
    }
}

const PYTEST: Options = Options {
    valued: &[
        "-n",
        "-c",
        "-p",
        "-o",
        "-W",
        "-r",
        "--tb",
        "--color",
        "--maxfail",
        "--cov",
        "--cov-report",
        "--junitxml",
        "--rootdir",
        "--durations",
        "--timeout",
        "--dist",
    ],
    narrowing: &["-k", "-m", "--ignore", "--deselect", "--ignore-glob"],
    modes: &[],
    whole: &[],
};
const JAVASCRIPT: Options = Options {
    valued: &[
        "-c",
        "--config",
        "--reporter",
        "--reporters",
        "-R",
        "--maxWorkers",
        "-w",
        "--coverageDirectory",
        "--environment",
        "--timeout",
        "-r",
        "--require",
        "--outputFile",
        "--retries",
        "--workers",
        "--browser",
    ],
    narrowing: &[
        "-t",
        "--testNamePattern",
        "--testPathPattern",
        "--testPathPatterns",
        "-g",
        "--grep",
        "-f",
        "--fgrep",
        "--filter",
        "--project",
        "-m",
        "--match",
        "--spec",
        "--shard",
        "--selectProjects",
        "--findRelatedTests",
    ],
    modes: &["--onlyChanged", "--onlyFailures", "--changed"],
    whole: &["run", "watch", "test", "src", "tests"],
};
const NODE_TEST: Options = Options {
    valued: &[
        "--test-reporter",
        "--test-reporter-destination",
        "--test-concurrency",
        "--test-timeout",
        "--import",
        "-r",
        "--require",
        "--loader",
        "--env-file",
    ],
    narrowing: &["--test-name-pattern", "--test-skip-pattern", "--test-shard"],
    modes: &["--test-only"],
    whole: &["test"],
};
const CARGO: Options = Options {
    valued: &[
        "-j",
        "--jobs",
        "--features",
        "-F",
        "--target",
        "--target-dir",
        "--manifest-path",
        "--profile",
        "--message-format",
        "--color",
        "--config",
        "-Z",
        "--test-threads",
        "--format",
        "--exclude",
        "-D",
        "-W",
        "-A",
        "--logfile",
        "--retries",
        "--partition",
    ],
    narrowing: &[
        "-p",
        "--package",
        "--test",
        "--bin",
        "--example",
        "--bench",
        "--skip",
        "-E",
        "--filter-expr",
    ],
    modes: &[
        "--lib",
        "--bins",
        "--doc",
        "--tests",
        "--examples",
        "--benches",
        "--ignored",
    ],
    whole: &[],
};
const GO: Options = Options {
    valued: &[
        "-count",
        "-timeout",
        "-tags",
        "-bench",
        "-cpu",
        "-coverprofile",
        "-o",
        "-ldflags",
        "-gcflags",
        "-parallel",
        "-p",
        "-C",
        "-mod",
        "-covermode",
    ],
    narrowing: &["-run", "-skip"],
    modes: &["-short"],
    whole: &["..."],
};
const TSC: Options = Options {
    valued: &[
        "--pretty",
        "--outDir",
        "--rootDir",
        "--target",
        "--module",
        "--lib",
        "--jsx",
        "--moduleResolution",
        "-t",
        "-m",
        "--declarationDir",
    ],
    narrowing: &["-p", "--project"],
    modes: &[],
    whole: &["tsconfig.json"],
};
const COMPILER: Options = Options {
    valued: &[
        "-o",
        "-I",
        "-L",
        "-l",
        "-D",
        "-x",
        "-d",
        "-cp",
        "-classpath",
        "--edition",
        "--crate-type",
        "-isystem",
        "-include",
        "-target",
    ],
    narrowing: &[],
    modes: &[],
    whole: &[],
};
const GENERIC: Options = Options {
    valued: &[
        "-c",
        "--config",
        "-j",
        "--jobs",
        "-C",
        "--color",
        "--format",
        "--reporter",
        "-o",
        "--output",
        "--output-file",
        "-f",
        "--log-level",
        "--timeout",
        "-r",
        "-W",
        "--target-version",
        "--max-warnings",
        "--ext",
    ],
    narrowing: &[
        "-k",
        "-t",
        "-m",
        "-n",
        "-g",
        "-R",
        "-E",
        "--filter",
        "--grep",
        "--only",
        "--name",
        "--tests",
        "--test",
        "--group",
        "--tag",
        "--tags",
        "--suite",
        "-e",
        "-Dtest",
        "--example",
        "--pattern",
        "--testsuite",
        "-p",
    ],
    modes: &["--failed", "--only-failures", "--stale"],
    whole: &[],
};

fn by_program(path: &str, args: &[&str]) -> Aim {
    let program = path.rsplit('/').next().unwrap_or(path);
    let base = program.strip_suffix(".exe").unwrap_or(program);
    match base {
        "cargo" => cargo(args),
        "go" => subcommand("go", args, GO),
        "pytest" | "py.test" => Aim::new("pytest", Purpose::Test, PYTEST.selection(args)),
        "make" | "gmake" | "bmake" | "just" | "task" | "rake" | "invoke" | "nox" | "tox"
        | "mage" | "ninja" => targets(base, args),
        "npm" | "pnpm" | "yarn" | "bun" | "deno" => package_script(base, args),
        "tsc" | "vue-tsc" => Aim::new("tsc", Purpose::Build, TSC.selection(args)),
        "jest" | "vitest" | "mocha" | "ava" | "jasmine" | "karma" | "playwright" | "cypress"
        | "wtr" | "qunit" | "tap" | "tape" | "uvu" => {
            Aim::new(base, Purpose::Test, JAVASCRIPT.selection(args))
        }
        "node" | "nodejs" | "tsx" | "ts-node" => node(args),
        "coverage" if args.first() == Some(&"run") => python(&args[1..]),
        "gcc" | "cc" | "clang" | "g++" | "c++" | "clang++" | "rustc" | "javac" | "kotlinc"
        | "swiftc" | "scalac" | "ghc" | "nim" | "zig" | "dmd" | "ld" => Aim::new(
            if base.starts_with('c') || base.starts_with('g') && base != "ghc" {
                "cc"
            } else {
                base
            },
            Purpose::Build,
            COMPILER.selection(args),
        ),
        "eslint" | "ruff" | "mypy" | "flake8" | "pylint" | "black" | "isort" | "prettier"
        | "shellcheck" | "golangci-lint" | "rubocop" | "stylelint" | "biome" | "pyright"
        | "hadolint" | "tflint" | "ktlint" | "phpstan" | "psalm" | "clang-tidy"
        | "clang-format" | "rustfmt" | "gofmt" | "staticcheck" | "yamllint" | "markdownlint"
        | "codespell" | "pre-commit" | "credo" | "dialyzer" => {
            let words = Options {
                whole: &["check", "lint", "run", "ci", "src", "format"],
                ..GENERIC
            };
            Aim::new(base, Purpose::Lint, words.selection(args))
        }
        "rspec" | "phpunit" | "pest" | "ctest" | "prove" | "bats" | "shellspec" | "busted"
        | "tasty" | "behave" | "cucumber" | "robot" | "nose2" | "nosetests" | "minitest"
        | "testthat" => Aim::new(
            base,
            Purpose::Test,
            Options {
                whole: &["spec", "test", "tests"],
                ..GENERIC
            }
            .selection(args),
        ),
        "gradle" | "gradlew" | "mvn" | "mvnw" | "dotnet" | "mix" | "swift" | "bazel" | "sbt"
        | "lein" | "cabal" | "stack" | "dune" | "composer" | "flutter" | "dart" | "rebar3"
        | "meson" | "cmake" | "docker" | "podman" | "terraform" | "tofu" | "helm" | "kubectl"
        | "pip" | "pip3" | "uv" | "poetry" | "gem" | "bundle" | "apt" | "apt-get" | "brew"
        | "ansible-playbook" | "hatch" | "pdm" | "rails" | "php-artisan" | "ng" | "nx"
        | "turbo" | "lerna" | "zx" | "conda" => {
            let tool = base
                .strip_suffix("w")
                .filter(|_| base.starts_with("gradlew") || base == "mvnw")
                .unwrap_or(base);
            subcommand(
                if tool == "pip3" { "pip" } else { tool },
                args,
                Options {
                    whole: &["clean"],
                    ..GENERIC
                },
            )
        }
        _ => interpreter(path, base, args),
    }
}

fn interpreter(path: &str, base: &str, args: &[&str]) -> Aim {
    if base.starts_with("python") || base.starts_with("pypy") {
        return python(args);
    }
    match base {
        "bash" | "sh" | "zsh" | "dash" | "ksh" | "source" | "." => {
            let options = args
                .iter()
                .take_while(|word| word.starts_with(['-', '+']))
                .count();
            match args[options..].split_first() {
                Some((script, _)) if args[..options].contains(&"-n") => Aim::new(
                    "bash -n",
                    Purpose::Lint,
                    BTreeSet::from([script_path(script)]),
                ),
                Some((script, rest)) => script_aim(script, rest),
                None => Aim::new("sh", Purpose::Probe, BTreeSet::new()),
            }
        }
        "ruby" | "perl" | "php" | "lua" | "luajit" | "Rscript" | "julia" | "elixir" | "java"
        | "groovy" | "crystal" | "racket" | "guile" | "ocaml" => {
            let mut rest = args.iter().copied();
            let script = loop {
                match rest.next() {
                    Some("-e" | "-r" | "-E" | "-pe" | "-ne" | "-le" | "--eval") | None => {
                        return Aim::new(format!("{base} -e"), Purpose::Probe, one_liner(args));
                    }
                    Some("-c" | "-l" | "-wc") => {
                        return Aim::new(
                            format!("{base} -c"),
                            Purpose::Lint,
                            GENERIC.selection(args),
                        );
                    }
                    Some("-I" | "-cp" | "-classpath" | "-jar" | "-d" | "-S") => drop(rest.next()),
                    Some(word) if word.starts_with('-') => {}
                    Some(word) => break word,
                }
            };
            Aim::new(
                format!("{base}:{}", stem(script)),
                purpose_of_script(script),
                GENERIC.selection(&rest.collect::<Vec<_>>()),
            )
        }
        _ if path.contains('/') || base.ends_with(".sh") => script_aim(path, args),
        _ => subcommand(base, args, GENERIC),
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
        "clippy" | "fmt" | "deny" | "audit" | "machete" | "udeps" => {
            return Aim::new(format!("cargo {sub}"), Purpose::Lint, CARGO.selection(rest));
        }
        "run" | "r" => Purpose::Run,
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
        .filter(|_| purpose == Purpose::Run)
        .unwrap_or(rest.len());
    Aim::new("cargo", purpose, CARGO.selection(&rest[..own]))
}

fn python(args: &[&str]) -> Aim {
    let mut rest = args.iter().copied().enumerate();
    while let Some((at, word)) = rest.next() {
        match word {
            "-c" | "-" => return Aim::new("python -c", Purpose::Probe, one_liner(args)),
            "-m" => {
                let (module, more) = args[at + 1..]
                    .split_first()
                    .map_or(("", &args[..0]), |(module, more)| (*module, more));
                return match module {
                    "pytest" | "mypy" | "ruff" | "flake8" | "pylint" | "black" | "isort"
                    | "nose2" | "tox" | "nox" | "pip" | "coverage" | "pyright" | "behave" => {
                        by_program(module, more)
                    }
                    "unittest" => {
                        let words = Options {
                            valued: &["-s", "-p", "-t"],
                            narrowing: &["-k"],
                            modes: &[],
                            whole: &["discover", "tests", "test"],
                        };
                        Aim::new("unittest", Purpose::Test, words.selection(more))
                    }
                    "py_compile" | "compileall" => {
                        Aim::new(module, Purpose::Lint, GENERIC.selection(more))
                    }
                    _ => Aim::new(
                        format!("python:{module}"),
                        purpose_of(module),
                        GENERIC.selection(more),
                    ),
                };
            }
            "-X" | "-W" => drop(rest.next()),
            word if word.starts_with('-') => {}
            script => {
                let more = &args[at + 1..];
                let name = stem(script).replace('/', ".");
                return match more.first() {
                    Some(sub)
                        if matches!(name.as_str(), "manage" | "setup") && !sub.starts_with('-') =>
                    {
                        Aim::new(
                            format!("python:{name} {sub}"),
                            purpose_of(sub),
                            GENERIC.selection(&more[1..]),
                        )
                    }
                    _ => Aim::new(
                        format!("python:{name}"),
                        purpose_of_script(script),
                        GENERIC.selection(more),
                    ),
                };
            }
        }
    }
    Aim::new("python -c", Purpose::Probe, BTreeSet::new())
}

fn node(args: &[&str]) -> Aim {
    if args.contains(&"--test") {
        return Aim::new("node --test", Purpose::Test, NODE_TEST.selection(args));
    }
    if args
        .iter()
        .any(|word| matches!(*word, "-e" | "--eval" | "-p" | "--print" | "-"))
    {
        return Aim::new("node -e", Purpose::Probe, one_liner(args));
    }
    let mut rest = args.iter().copied().enumerate();
    while let Some((at, word)) = rest.next() {
        match word {
            "-c" | "--check" => {
                return Aim::new(
                    "node --check",
                    Purpose::Lint,
                    GENERIC.selection(&args[at + 1..]),
                );
            }
            "-r" | "--require" | "--import" | "--loader" | "--env-file" => drop(rest.next()),
            word if word.starts_with('-') => {}
            script => {
                return Aim::new(
                    format!("node:{}", stem(script)),
                    purpose_of_script(script),
                    GENERIC.selection(&args[at + 1..]),
                );
            }
        }
    }
    Aim::new("node -e", Purpose::Probe, BTreeSet::new())
}

/// npm and its like: a script of `package.json` is known by its name, whoever starts it.
fn package_script(base: &str, args: &[&str]) -> Aim {
    let valued = Options {
        valued: &[
            "--prefix",
            "--reporter",
            "--loglevel",
            "-C",
            "--cwd",
            "--color",
        ],
        narrowing: &[
            "-w",
            "--workspace",
            "--filter",
            "-F",
            "-t",
            "--testNamePattern",
            "--test-name-pattern",
            "-g",
            "--grep",
        ],
        ..JAVASCRIPT
    };
    let mut at = 0;
    while args.get(at).is_some_and(|word| word.starts_with('-')) {
        at += 1 + usize::from(
            valued.valued.contains(&args[at]) || valued.narrowing.contains(&args[at]),
        );
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
    let sub = match (base, sub) {
        (_, "t" | "tst") => "test",
        ("bun" | "deno", "test") if !runs => {
            return Aim::new(
                format!("{base} test"),
                Purpose::Test,
                valued.selection(rest),
            );
        }
        ("deno", "eval") => return Aim::new("node -e", Purpose::Probe, one_liner(rest)),
        ("deno" | "bun", file) if file.contains('.') => {
            return Aim::new(
                format!("node:{}", stem(file)),
                purpose_of_script(file),
                GENERIC.selection(rest),
            );
        }
        ("deno", "check" | "lint" | "fmt") => {
            return Aim::new(format!("deno {sub}"), Purpose::Lint, valued.selection(rest));
        }
        (_, "i" | "ci" | "install" | "add" | "update" | "up" | "install-test") if !runs => {
            return Aim::new(
                format!("{base} install"),
                Purpose::Install,
                valued.selection(rest),
            );
        }
        (_, other) => other,
    };
    let before = valued.selection(&args[..at]);
    let selection = before.into_iter().chain(valued.selection(rest)).collect();
    Aim::new(format!("script:{sub}"), purpose_of(sub), selection)
}

/// make and its like: the standard targets are purposes, others narrow.
fn targets(base: &str, args: &[&str]) -> Aim {
    let valued = [
        "-C",
        "-f",
        "-j",
        "-l",
        "-o",
        "-I",
        "-W",
        "--directory",
        "--file",
        "-e",
        "-s",
        "--justfile",
    ];
    let (mut purpose, mut selection, mut named) = (None, BTreeSet::new(), false);
    let mut args = args.iter();
    while let Some(&word) = args.next() {
        if word.starts_with('-') {
            let takes_value = valued.contains(&word)
                && !(word == "-s" && matches!(base, "make" | "gmake"))
                && word != "-j";
            if takes_value {
                args.next();
            } else if word == "-j"
                && args
                    .as_slice()
                    .first()
                    .is_some_and(|next| next.bytes().all(|b| b.is_ascii_digit()))
            {
                args.next();
            }
        } else if let Some((name, value)) = word.split_once('=') {
            let tunes = name.ends_with("FLAGS")
                || matches!(
                    name,
                    "CC" | "CXX"
                        | "V"
                        | "VERBOSE"
                        | "DEBUG"
                        | "JOBS"
                        | "MODE"
                        | "PROFILE"
                        | "CI"
                        | "COLOR"
                        | "PREFIX"
                        | "BUILD"
                );
            if !tunes {
                selection.insert(value.to_owned());
            }
        } else if !matches!(word, "clean" | "distclean" | "all" | "default") {
            named = true;
            let found = purpose_of(word);
            if found != Purpose::Other {
                purpose = Some(purpose.map_or(found, |known: Purpose| known.min(found)));
            }
            // `test-unit` is a part of `test`.
            if !matches!(
                word,
                "test"
                    | "tests"
                    | "t"
                    | "check"
                    | "verify"
                    | "ci"
                    | "build"
                    | "compile"
                    | "run"
                    | "start"
                    | "lint"
                    | "install"
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
    let tool = if base.ends_with("make") { "make" } else { base };
    Aim::new(tool, purpose, selection)
}

/// A tool whose first word says what it does.
fn subcommand(tool: &str, args: &[&str], options: Options) -> Aim {
    let sub = args
        .iter()
        .position(|word| !word.starts_with(['-', '+']) && *word != "clean");
    let (name, rest): (&str, Vec<&str>) = match sub {
        Some(at)
            if args[at]
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':')) =>
        {
            (
                args[at],
                args[..at].iter().chain(&args[at + 1..]).copied().collect(),
            )
        }
        _ => ("", args.to_vec()),
    };
    // `:app:test` is the test task of a module.
    let purpose = purpose_of(if name.starts_with(':') {
        name.rsplit(':').next().unwrap_or(name)
    } else {
        name
    });
    // Test, build and vet of one toolchain are one tool with several purposes.
    let full = match purpose {
        Purpose::Other | Purpose::Lint | Purpose::Install => {
            format!("{tool} {name}").trim_end().to_owned()
        }
        _ => tool.to_owned(),
    };
    let mut selection = options.selection(&rest);
    selection.extend(name.starts_with(':').then(|| name.to_owned()));
    Aim::new(
        full,
        if name.is_empty() {
            Purpose::Other
        } else {
            purpose
        },
        selection,
    )
}

fn script_aim(script: &str, rest: &[&str]) -> Aim {
    Aim::new(
        format!("./{}", script_path(script)),
        purpose_of_script(script),
        GENERIC.selection(rest),
    )
}

/// A script or program by its last two names: it is the same one by a relative and by an absolute path.
fn script_path(path: &str) -> String {
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    parts[if path.starts_with('/') {
        parts.len().saturating_sub(2)
    } else {
        0
    }..]
        .join("/")
}

fn stem(script: &str) -> String {
    let path = script_path(script);
    match path.rsplit_once('.') {
        Some((stem, extension)) if extension.len() <= 4 && !stem.is_empty() => stem.to_owned(),
        _ => path,
    }
}

/// One-liners are told apart by their text.
fn one_liner(args: &[&str]) -> BTreeSet<String> {
    args.iter()
        .filter(|word| word.len() > 2)
        .map(|word| (*word).to_owned())
        .collect()
}

fn purpose_of_script(script: &str) -> Purpose {
    let tests = |part: &str| {
        let words = part
            .split(|c: char| !c.is_ascii_alphanumeric())
            .map(str::to_lowercase);
        words.into_iter().any(|word| {
            matches!(
                word.as_str(),
                "test"
                    | "tests"
                    | "spec"
                    | "specs"
                    | "check"
                    | "checks"
                    | "verify"
                    | "ci"
                    | "selftest"
            ) || word.starts_with("test")
        })
    };
    if script.split('/').any(tests) {
        Purpose::Test
    } else {
        Purpose::Run
    }
}

fn purpose_of(word: &str) -> Purpose {
    let first = word
        .split([':', '-', '_', '.'])
        .find(|part| !part.is_empty())
        .unwrap_or("");
    match first {
        "t" | "test" | "tests" | "check" | "verify" | "spec" | "specs" | "ci" | "unit"
        | "unittest" | "e2e" | "integration" | "coverage" | "cov" | "validate" | "selftest" => {
            Purpose::Test
        }
        "lint" | "fmt" | "format" | "style" | "typecheck" | "types" | "type" | "tsc" | "clippy"
        | "mypy" | "vet" | "eslint" | "prettier" | "analyze" | "analyse" => Purpose::Lint,
        "build" | "b" | "compile" | "all" | "dist" | "bundle" | "release" | "debug" | "package"
        | "assemble" | "testCompile" | "compileJava" | "up" => Purpose::Build,
        "run" | "r" | "start" | "dev" | "serve" | "app" | "preview" => Purpose::Run,
        "install" | "deps" | "setup" | "bootstrap" | "restore" | "get" | "sync" | "add"
        | "init" | "mod" | "tidy" => Purpose::Install,
        _ if word.to_lowercase().contains("test") => Purpose::Test,
        _ => Purpose::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::shell::Script;

    fn aim(line: &str) -> Aim {
        Aim::of(&Script::parse(line).deciding().pop().unwrap())
            .unwrap_or_else(|| panic!("{line} asks"))
    }

    #[test]
    fn spellings_of_one_check_have_one_aim() {
        for group in [
            &[
                "cargo test",
                "cargo t",
                "cargo test --quiet",
                "cargo +nightly test -- --test-threads=1",
                "RUST_BACKTRACE=1 cargo test -j 2 2>&1",
                "cargo nextest run",
            ][..],
            &[
                "cargo build",
                "cargo check",
                "cargo b --release",
                "cargo +nightly check --color always",
            ],
            &[
                "pytest",
                "pytest -q",
                "python3 -m pytest --tb=short",
                "poetry run pytest -vv --color yes",
                "py.test -n 4 .",
            ],
            &[
                "npm test",
                "npm t",
                "npm run test",
                "npm test --silent",
                "yarn test",
                "pnpm run test",
            ],
            &[
                "make test",
                "make check",
                "make -s test",
                "make -j4 clean test",
                "gmake -C . check CFLAGS=-O2",
            ],
            &["make", "make all", "make -B", "make CFLAGS='-Wall -g'"],
            &[
                "python3 app.py",
                "python ./app.py --verbose",
                "python3 -m app",
                "python3 -X dev app.py",
            ],
            &[
                "node app.js",
                "node ./app.js",
                "node --trace-warnings app.js",
                "bun run app.ts",
            ],
            &[
                "bash test.sh",
                "./test.sh",
                "sh -x ./test.sh",
                "/ws/test.sh",
                "timeout 60 bash test.sh",
            ],
            &[
                "tsc",
                "tsc -p .",
                "npx tsc -p tsconfig.json --noEmit",
                "tsc --pretty true",
            ],
            &["go test ./...", "go test -v -count=1 -race ./..."],
            &["./gradlew test", "gradle clean test --info"],
            &["mvn test", "./mvnw -q test"],
        ] {
            let first = aim(group[0]);
            for line in group {
                let found = aim(line);
                let ws = |aim: &Aim| aim.tool.replace("./ws/", "./");
                assert_eq!(
                    (ws(&found), found.purpose, &found.selection),
                    (ws(&first), first.purpose, &first.selection),
                    "{line}"
                );
            }
        }
    }

    #[test]
    fn narrowing_is_seen() {
        for (line, expected) in [
            ("cargo test -q tests::x -- --exact", "tests::x"),
            ("cargo test -p core", "core"),
            ("pytest tests/test_a.py::test_x", "tests/test_a.py::test_x"),
            ("pytest -k test_x", "test_x"),
            ("node --test --test-name-pattern=adds", "adds"),
            ("npm test -- --test-name-pattern=adds", "adds"),
            ("npm test -- adds", "adds"),
            ("npx jest -t 'adds numbers'", "adds numbers"),
            ("go test ./pkg -run TestX", "TestX,pkg"),
            ("./test.sh adds", "adds"),
            ("python3 -m unittest -v tests.test_a", "tests.test_a"),
            ("gradle test --tests com.x.FooTest", "com.x.FooTest"),
            ("make test TESTS=foo", "foo"),
            ("dotnet test --filter Name=x", "Name=x"),
        ] {
            let found = aim(line);
            assert_eq!(
                found.selection.into_iter().collect::<Vec<_>>().join(","),
                expected,
                "{line}"
            );
            assert_eq!(found.purpose, Purpose::Test, "{line}");
        }
    }

    #[test]
    fn a_selection_finds_the_names_it_names() {
        let names = BTreeSet::from(["tests/test_a.py::test_x".to_owned()]);
        assert!(aim("pytest tests/test_a.py").selects(&names));
        assert!(aim("pytest -k 'test_y or test_x'").selects(&names));
        assert!(!aim("pytest tests/test_b.py").selects(&names));
    }
}
