//! The aim of a script or a program of the project: known by its path, whoever interprets it.

use std::collections::BTreeSet;

use super::options::{GENERIC, NODE_TEST, UNITTEST};
use super::{Aim, Purpose, tools};
use crate::judge::question::has;

const SHELLS: &str = "bash sh zsh dash ksh source .";
const INTERPRETERS: &str =
    "ruby perl php lua luajit Rscript julia elixir java groovy crystal racket guile ocaml";
/// Modules that are run with `python3 -m` and known as programs of their own.
const PYTHON_TOOLS: &str =
    "pytest mypy ruff flake8 pylint black isort nose2 tox nox pip coverage pyright behave";

/// The aim of a program that is no known tool.
pub(super) fn aim(path: &str, program: &str, args: &[&str]) -> Aim {
    if program.starts_with("python") || program.starts_with("pypy") {
        return python(args);
    }
    match program {
        "node" | "nodejs" | "tsx" | "ts-node" => node(args),
        _ if has(SHELLS, program) => shell(args),
        _ if has(INTERPRETERS, program) => interpreter(program, args),
        _ if path.contains('/')
            || program
                .rsplit_once('.')
                .is_some_and(|(_, extension)| extension == "sh") =>
        {
            script(path, args)
        }
        _ => tools::subcommand(program, args, GENERIC),
    }
}

fn script(path: &str, rest: &[&str]) -> Aim {
    Aim::new(
        format!("./{}", script_path(path)),
        Purpose::of_script(path),
        GENERIC.selection(rest),
    )
}

fn shell(args: &[&str]) -> Aim {
    let options = args
        .iter()
        .take_while(|word| word.starts_with(['-', '+']))
        .count();
    match args[options..].split_first() {
        Some((path, _)) if args[..options].contains(&"-n") => Aim::new(
            "bash -n",
            Purpose::Lint,
            BTreeSet::from([script_path(path)]),
        ),
        Some((path, rest)) => script(path, rest),
        None => Aim::new("sh", Purpose::Probe, BTreeSet::new()),
    }
}

fn interpreter(program: &str, args: &[&str]) -> Aim {
    let mut rest = args.iter().copied();
    let path = loop {
        match rest.next() {
            Some("-e" | "-r" | "-E" | "-pe" | "-ne" | "-le" | "--eval") | None => {
                return one_liner(&format!("{program} -e"), args);
            }
            Some("-c" | "-l" | "-wc") => {
                return Aim::new(
                    format!("{program} -c"),
                    Purpose::Lint,
                    GENERIC.selection(args),
                );
            }
            Some("-I" | "-cp" | "-classpath" | "-jar" | "-d" | "-S") => drop(rest.next()),
            Some(word) if word.starts_with('-') => {}
            Some(word) => break word,
        }
    };
    let rest: Vec<&str> = rest.collect();
    Aim::new(
        format!("{program}:{}", stem(path)),
        Purpose::of_script(path),
        GENERIC.selection(&rest),
    )
}

pub(super) fn python(args: &[&str]) -> Aim {
    let mut rest = args.iter().copied().enumerate();
    while let Some((at, word)) = rest.next() {
        match word {
            "-c" | "-" => return one_liner("python -c", args),
            "-m" => return python_module(&args[at + 1..]),
            "-X" | "-W" => drop(rest.next()),
            word if word.starts_with('-') => {}
            path => return python_script(path, &args[at + 1..]),
        }
    }
    Aim::new("python -c", Purpose::Probe, BTreeSet::new())
}

fn python_module(args: &[&str]) -> Aim {
    let (module, rest) = args
        .split_first()
        .map_or(("", args), |(module, rest)| (*module, rest));
    match module {
        _ if has(PYTHON_TOOLS, module) => tools::aim(module, rest),
        "unittest" => Aim::new("unittest", Purpose::Test, UNITTEST.selection(rest)),
        "py_compile" | "compileall" => Aim::new(module, Purpose::Lint, GENERIC.selection(rest)),
        _ => Aim::new(
            format!("python:{module}"),
            Purpose::of(module),
            GENERIC.selection(rest),
        ),
    }
}

fn python_script(path: &str, rest: &[&str]) -> Aim {
    let name = stem(path).replace('/', ".");
    match rest.first() {
        Some(sub) if matches!(name.as_str(), "manage" | "setup") && !sub.starts_with('-') => {
            Aim::new(
                format!("python:{name} {sub}"),
                Purpose::of(sub),
                GENERIC.selection(&rest[1..]),
            )
        }
        _ => Aim::new(
            format!("python:{name}"),
            Purpose::of_script(path),
            GENERIC.selection(rest),
        ),
    }
}

fn node(args: &[&str]) -> Aim {
    if args.contains(&"--test") {
        return Aim::new("node --test", Purpose::Test, NODE_TEST.selection(args));
    }
    if args.iter().any(|word| has("-e --eval -p --print -", word)) {
        return one_liner("node -e", args);
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
            path => {
                return Aim::new(
                    format!("node:{}", stem(path)),
                    Purpose::of_script(path),
                    GENERIC.selection(&args[at + 1..]),
                );
            }
        }
    }
    Aim::new("node -e", Purpose::Probe, BTreeSet::new())
}

/// One-liners are told apart by their text.
pub(super) fn one_liner(tool: &str, args: &[&str]) -> Aim {
    Aim::new(
        tool,
        Purpose::Probe,
        args.iter()
            .filter(|word| word.len() > 2)
            .map(|word| (*word).to_owned())
            .collect(),
    )
}

/// A script or program by its path; an absolute path by its last two names, as it may be the same one.
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

/// Its path without the extension.
pub(super) fn stem(path: &str) -> String {
    let path = script_path(path);
    match path.rsplit_once('.') {
        Some((stem, extension)) if extension.len() <= 4 && !stem.is_empty() => stem.to_owned(),
        _ => path,
    }
}
