//! What surrounds the check of a call: flags of its runner, the runner behind a wrapper, the commands that a wrapper prints.

use crate::judge::aim::{Aim, Purpose};
use crate::judge::extract::Reading;
use crate::judge::shell::Script;

/// Does a runner stop at its first failure, by its flags?
pub(super) fn stops_early(commands: &[Vec<String>]) -> bool {
    commands.iter().flatten().any(|word| {
        matches!(
            word.as_str(),
            "-x" | "--exitfirst"
                | "--bail"
                | "--failfast"
                | "--fail-fast"
                | "-failfast"
                | "-f"
                | "-b"
                | "--stop-on-failure"
        ) || word.starts_with("--maxfail")
            || word.starts_with("--bail=")
    })
}

/// The tools behind the runners that an output shows.
pub(super) fn runners(reading: &Reading) -> impl Iterator<Item = &'static str> {
    reading
        .runners
        .iter()
        .flat_map(|runner| match *runner {
            "libtest" => &["cargo"][..],
            "tap" | "node --test" => &["node --test"],
            // pytest runs the tests of unittest too.
            "pytest" => &["pytest", "unittest"],
            "ticks" => &[],
            "surefire" => &["mvn"],
            runner => match KNOWN.iter().position(|known| *known == runner) {
                Some(at) => &KNOWN[at..=at],
                None => &[],
            },
        })
        .copied()
}

const KNOWN: &[&str] = &[
    "unittest", "jest", "vitest", "mocha", "go", "ctest", "gradle", "rspec", "phpunit", "dotnet",
    "swift", "sbt",
];

/// The commands that a wrapper prints before it runs them: npm and its like (`> jest`), make (`./build/test`).
pub(super) fn echoed(output: &str) -> Vec<Aim> {
    let shown = output.lines().take(40).filter_map(|line| {
        let line = line.trim_end();
        line.strip_prefix("> ")
            .or_else(|| line.strip_prefix("$ "))
            .or_else(|| line.starts_with("./").then_some(line))
    });
    let commands = shown.flat_map(|line| Script::parse(line).all());
    commands
        .filter_map(|argv| Aim::of(&argv))
        .filter(|aim| !matches!(aim.purpose, Purpose::Other | Purpose::Probe))
        .collect()
}
