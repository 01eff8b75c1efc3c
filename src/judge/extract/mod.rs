//! The causes in the output of a check that failed, and what passed in it: per test, per diagnostic, per missing piece, per crash, else
//! the lines that complain. Lines are read one by one, as the two streams of a command mix in any order.

mod crash;
mod diagnostic;
mod missing;
mod noise;
mod remainder;
mod rules;
mod runs;
#[cfg(test)]
mod tests;
mod verdicts;

use std::collections::BTreeSet;

use super::normalise;
use super::signature::Kind;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub kind: Kind,
    /// What makes it the same cause in another run. The kind is not part of it.
    pub key: String,
    /// A short name for people.
    pub label: String,
    /// The line it was read from.
    pub raw: String,
    /// Names under which a command may select it: as printed, with path and module.
    pub origins: BTreeSet<String>,
    /// Only the test build shows it.
    pub tests_only: bool,
    /// How often it came in this output.
    pub times: u32,
}

impl Cause {
    fn new(kind: Kind, key: String, label: impl Into<String>, raw: &str) -> Self {
        Self {
            kind,
            key,
            label: label.into(),
            raw: raw.trim().to_owned(),
            origins: BTreeSet::new(),
            tests_only: false,
            times: 1,
        }
    }

    fn origin(mut self, name: impl Into<String>) -> Self {
        self.origins.insert(name.into());
        self
    }
}

/// What one output says.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub causes: Vec<Cause>,
    /// Tests that passed, by their keys.
    pub passed: BTreeSet<String>,
    /// Test runners that wrote it.
    pub runners: BTreeSet<&'static str>,
    /// It says that no test ran at all.
    pub ran_none: bool,
    /// Every failing test is named and the run came to its end: what is not named did not fail.
    pub complete: bool,
    /// A known runner counts tests that passed and none that failed.
    pub clean: bool,
    /// A traceback or stack that goes through no file of the project.
    pub foreign: bool,
    /// Something could not be reached (yet).
    pub not_ready: bool,
}

const LINES_MAX: usize = 20_000;
const LINE_MAX: usize = 4_000;
const CAUSES_MAX: usize = 200;

/// Reads an output. `failed` says whether its command did; nothing is a cause otherwise.
pub(super) fn read(output: &str, failed: bool) -> Reading {
    let lines: Vec<String> = output
        .lines()
        .take(LINES_MAX)
        .map(|line| normalise::plain(cut(line)))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let verdicts = verdicts::read(&lines);
    let run = runs::read(&lines);
    let mut reading = Reading {
        passed: verdicts.passed,
        runners: &verdicts.runners | &run.runners,
        ran_none: run.ran_none,
        complete: run.ended && !run.stops_early,
        clean: run.clean && verdicts.failed.is_empty(),
        ..Reading::default()
    };
    if !failed {
        return reading;
    }
    let mut causes = verdicts.failed;
    let diagnostics = diagnostic::read(&lines);
    // A runner of compiled tests can fail to build one part and run another.
    let both = reading
        .runners
        .iter()
        .any(|runner| matches!(*runner, "go" | "jest" | "vitest"));
    if causes.is_empty() || both {
        causes.extend(diagnostics);
    }
    if causes.is_empty() || !verdicts.files.is_empty() {
        let known: BTreeSet<String> = causes
            .iter()
            .filter(|cause| cause.kind == Kind::Diagnostic)
            .map(|cause| cause.label.clone())
            .collect();
        causes.extend(
            missing::read(&lines)
                .into_iter()
                .filter(|cause| !known.iter().any(|label| label.contains(&cause.label))),
        );
    }
    let crash = crash::read(&lines);
    reading.foreign = crash.foreign;
    reading.not_ready = crash.not_ready;
    if causes.is_empty() {
        causes = crash.causes;
    }
    if causes.is_empty() {
        causes = verdicts.files;
    }
    if causes.is_empty() {
        causes.extend(remainder::read(&lines));
    }
    reading.complete &= !causes.is_empty() && causes.iter().all(|cause| cause.kind == Kind::Test);
    reading.causes = merged(causes);
    reading
}

/// One entry a key, in the order of their first sight.
fn merged(causes: Vec<Cause>) -> Vec<Cause> {
    let mut out: Vec<Cause> = Vec::new();
    for cause in causes {
        let room = out.len() < CAUSES_MAX;
        match out
            .iter_mut()
            .find(|known| known.key == cause.key && known.kind == cause.kind)
        {
            Some(known) => {
                known.times += cause.times;
                known.tests_only &= cause.tests_only;
                known.origins.extend(cause.origins);
            }
            None if room => out.push(cause),
            None => {}
        }
    }
    // Runners repeat a failing test in their summary: a test fails once.
    for cause in &mut out {
        if cause.kind == Kind::Test {
            cause.times = 1;
        }
    }
    out
}

fn cut(line: &str) -> &str {
    crate::text::cut_on_line(line, LINE_MAX).0
}

fn regex(pattern: &str) -> regex::Regex {
    regex::Regex::new(pattern).expect("a pattern of ours compiles")
}

/// The crash that the end of a program tells, when its output does not.
pub(super) fn death(exit_code: Option<i64>, killed: bool) -> Option<Cause> {
    if killed {
        Some(crash::by_unknown_signal())
    } else {
        exit_code.and_then(crash::by_exit_code)
    }
}

/// The cause of a check that failed and printed nothing.
pub(super) fn silent(command: &str) -> Cause {
    let command = normalise::line(command.lines().next().unwrap_or(command));
    Cause::new(
        Kind::Other,
        format!("{command} failed in silence"),
        command.clone(),
        &format!("{command} failed in silence"),
    )
}

/// The cause of a check that did not end in time.
pub(super) fn timeout(tool: &str) -> Cause {
    Cause::new(
        Kind::Timeout,
        format!("{tool} did not end in time"),
        tool,
        &format!("{tool} did not end in time"),
    )
}
