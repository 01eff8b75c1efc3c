//! The causes in the output of a check that failed, and what passed in it: per test, per diagnostic, per missing piece, per crash, else
//! the lines that complain. Lines are read one by one, as the two streams of a command mix in any order.

mod crash;
mod diagnostic;
mod missing;
mod noise;
mod remainder;
mod rules;
mod runs;
mod rustc;
mod sections;
#[cfg(test)]
mod tests;
mod verdicts;

use std::collections::BTreeSet;

use super::normalise;
use super::signature::Kind;
use verdicts::Verdicts;

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
    /// The test run as a whole.
    pub run: RunEnd,
    /// A traceback or stack goes through no file of the project.
    pub foreign: bool,
    /// Something could not be reached (yet).
    pub not_ready: bool,
}

/// How a test run came out, by its own counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RunEnd {
    /// No summary, or none that can be told.
    #[default]
    Unknown,
    /// No test ran at all.
    None,
    /// Tests passed and none failed.
    Clean,
    /// Every failing test is named and the run came to its end: what is not named did not fail.
    Complete,
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
    let summary = runs::read(&lines);
    let mut reading = Reading {
        runners: &verdicts.runners | &summary.runners,
        ..Reading::default()
    };
    reading.run = match summary.count {
        runs::Count::Green if verdicts.failed.is_empty() => RunEnd::Clean,
        runs::Count::Zero => RunEnd::None,
        _ => RunEnd::Unknown,
    };
    if failed {
        let crash = crash::read(&lines);
        (reading.foreign, reading.not_ready) = (crash.foreign, crash.not_ready);
        reading.causes = merged(causes(&lines, &verdicts, &reading.runners, crash.causes));
        let all_tests = !reading.causes.is_empty()
            && reading.causes.iter().all(|cause| cause.kind == Kind::Test);
        if all_tests && summary.ended && !summary.stops_early {
            reading.run = RunEnd::Complete;
        }
    }
    reading.passed = verdicts.passed;
    reading
}

/// The causes, the most telling first: tests, diagnostics, what is missing, a crash, whole files, what complains.
fn causes(
    lines: &[&str],
    verdicts: &Verdicts,
    runners: &BTreeSet<&str>,
    crash: Vec<Cause>,
) -> Vec<Cause> {
    let mut causes = verdicts.failed.clone();
    // A runner of compiled tests can fail to build one part and run another.
    let both = ["go", "jest", "vitest"]
        .iter()
        .any(|runner| runners.contains(runner));
    if causes.is_empty() || both {
        causes.extend(diagnostic::read(lines));
    }
    if causes.is_empty() || !verdicts.files.is_empty() {
        let told = |missing: &Cause| {
            causes
                .iter()
                .any(|cause| cause.kind == Kind::Diagnostic && cause.label.contains(&missing.label))
        };
        let missing: Vec<Cause> = missing::read(lines)
            .into_iter()
            .filter(|cause| !told(cause))
            .collect();
        causes.extend(missing);
    }
    if causes.is_empty() {
        causes = crash;
    }
    if causes.is_empty() {
        causes.clone_from(&verdicts.files);
    }
    if causes.is_empty() {
        causes.extend(remainder::read(lines));
    }
    causes
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
