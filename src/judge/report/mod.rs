//! The checks that an agent ran itself in one launch: what failed in them, how often since it last passed, and what passed. It is fed
//! one finished tool call at a time and keeps causes, not outputs.

mod around;
mod weigh;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::aim::{Aim, Purpose};
use super::extract::{self, Cause, Reading, RunEnd};
use super::question;
use super::shell::Script;
use super::signature::{Kind, Signature};
use crate::agent::ToolUse;

/// By which checks a cause was seen, so that one that covers it can resolve it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub signature: Signature,
    aims: BTreeSet<Aim>,
    origins: BTreeSet<String>,
    tests_only: bool,
}

/// One cause in one launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tally {
    pub seen: Seen,
    /// Failing calls since a passing one covered it (or since there were fewer of it).
    pub count: u32,
    /// Failing calls in all.
    pub total: u32,
    pub resolved: bool,
    times: u32,
}

/// What one launch's own checks came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolReport {
    tallies: BTreeMap<String, Tally>,
    /// Hashes in the order of their first sight.
    order: Vec<String>,
    passed: BTreeSet<Aim>,
    passed_tests: BTreeSet<String>,
}

const TALLIES_MAX: usize = 2_000;
const PASSES_MAX: usize = 2_000;
const TESTS_MAX: usize = 20_000;

impl ToolReport {
    /// Takes the next finished tool call.
    pub(crate) fn observe(&mut self, tool: &ToolUse) {
        match &tool.command {
            Some(line) => self.shell(line, tool),
            None => self.other_tool(tool),
        }
    }

    /// Causes in the order in which they were first seen.
    pub(crate) fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.order.iter().filter_map(|hash| self.tallies.get(hash))
    }

    /// Did anything in this launch pass what `seen` failed by?
    pub(super) fn passed(&self, seen: &Seen) -> bool {
        self.passed_tests.contains(&seen.signature.normalised)
            || self.passed.iter().any(|aim| seen.is_covered_by(aim))
    }

    fn shell(&mut self, line: &str, tool: &ToolUse) {
        let script = Script::parse(line);
        let failed = tool.failed();
        let commands = if failed {
            script.deciding()
        } else {
            script.certain()
        };
        let own: Vec<Aim> = commands.iter().filter_map(|argv| Aim::of(argv)).collect();
        if failed && own.is_empty() {
            return;
        }
        let reading = extract::read(&tool.text, failed);
        let mut aims = own.clone();
        aims.extend(around::echoed(&tool.text));
        aims.extend(
            own.iter()
                .flat_map(|aim| around::runners(&reading).map(|runner| aim.by_runner(runner))),
        );
        if failed {
            let chain_asks = commands.last().is_some_and(|argv| question::asks(argv));
            let causes = weigh::counted(&own, chain_asks, tool, &reading);
            let failing: BTreeSet<String> = causes
                .iter()
                .map(|cause| Signature::of(cause).normalised)
                .collect();
            self.pass_tests(&reading, &failing);
            if reading.run == RunEnd::Complete
                && !around::stops_early(&commands)
                && !reading.runners.contains("libtest")
            {
                self.pass_the_rest(&aims, &failing);
            }
            for cause in causes {
                let compiler = cause.kind == Kind::Diagnostic && cause.key.contains(": E0");
                let too = aims
                    .iter()
                    .filter(|aim| aim.tool == CLIPPY && compiler)
                    .map(cargo_build)
                    .collect::<Vec<_>>();
                self.fail(&cause, &[aims.as_slice(), &too].concat());
            }
            return;
        }
        let hidden: Vec<Aim> = script
            .all()
            .iter()
            .filter_map(|argv| Aim::of(argv))
            .collect();
        if !hidden.is_empty() {
            self.pass_tests(&reading, &BTreeSet::new());
        }
        if reading.run == RunEnd::Clean && own.is_empty() {
            // `pytest | tail`: the status is another's, but the summary counts no failure.
            aims.extend(
                hidden
                    .into_iter()
                    .filter(|aim| aim.purpose == Purpose::Test),
            );
        }
        let built: Vec<Aim> = aims
            .iter()
            .filter(|aim| aim.tool == CLIPPY)
            .map(cargo_build)
            .collect();
        for aim in aims.into_iter().chain(built) {
            if aim.purpose != Purpose::Test || reading.run != RunEnd::None {
                self.pass(&aim);
            }
        }
    }

    /// A tool that is no shell counts when its error lists failing tests or diagnostics; an edit that missed its text does not.
    fn other_tool(&mut self, tool: &ToolUse) {
        let name = tool.tool.to_lowercase();
        let handles_files = [
            "edit", "write", "read", "view", "replace", "patch", "create", "search", "fetch",
            "tree", "image", "glob", "grep", "list",
        ];
        if name.is_empty() || handles_files.iter().any(|part| name.contains(part)) {
            return;
        }
        let aim = Aim {
            tool: name,
            purpose: Purpose::Other,
            selection: BTreeSet::from([tool.arguments.clone()]),
        };
        if tool.failed() {
            let reading = extract::read(&tool.text, true);
            for cause in reading
                .causes
                .iter()
                .filter(|cause| matches!(cause.kind, Kind::Test | Kind::Diagnostic))
            {
                self.fail(cause, std::slice::from_ref(&aim));
            }
        } else {
            self.pass(&aim);
        }
    }

    fn fail(&mut self, cause: &Cause, aims: &[Aim]) {
        let signature = Signature::of(cause);
        if !self.tallies.contains_key(&signature.hash) {
            if self.tallies.len() == TALLIES_MAX {
                return;
            }
            self.order.push(signature.hash.clone());
        }
        let hash = signature.hash.clone();
        let tally = self.tallies.entry(hash).or_insert_with(|| Tally {
            seen: Seen {
                signature,
                aims: BTreeSet::new(),
                origins: BTreeSet::new(),
                tests_only: cause.tests_only,
            },
            count: 0,
            total: 0,
            resolved: false,
            times: 0,
        });
        // Fewer of the same is progress: five wrong calls of one function become two.
        let fewer = cause.times < tally.times;
        tally.count = if fewer { 1 } else { tally.count + 1 };
        tally.times = cause.times;
        tally.total += 1;
        tally.resolved = false;
        tally.seen.tests_only &= cause.tests_only;
        tally.seen.aims.extend(aims.iter().cloned());
        tally.seen.origins.extend(cause.origins.iter().cloned());
    }

    fn pass(&mut self, aim: &Aim) {
        self.resolve(|tally| tally.seen.is_covered_by(aim));
        if self.passed.len() < PASSES_MAX {
            self.passed.insert(aim.clone());
        }
    }

    /// Tests that the output itself says have passed.
    fn pass_tests(&mut self, reading: &Reading, failing: &BTreeSet<String>) {
        let names: BTreeSet<String> = reading
            .passed
            .iter()
            .map(|key| format!("test {key}"))
            .filter(|name| !failing.contains(name))
            .collect();
        self.resolve(|tally| names.contains(&tally.seen.signature.normalised));
        for name in names {
            if self.passed_tests.len() == TESTS_MAX {
                break;
            }
            self.passed_tests.insert(name);
        }
    }

    /// A run that came to its end and names what failed: the other tests that it covers have passed.
    fn pass_the_rest(&mut self, aims: &[Aim], failing: &BTreeSet<String>) {
        let over = |tally: &Tally| {
            tally.seen.signature.kind == Kind::Test
                && !failing.contains(&tally.seen.signature.normalised)
                && aims.iter().any(|aim| tally.seen.is_covered_by(aim))
        };
        let names: Vec<String> = self
            .tallies
            .values()
            .filter(|tally| over(tally))
            .map(|tally| tally.seen.signature.normalised.clone())
            .collect();
        self.resolve(|tally| over(tally));
        self.passed_tests.extend(names);
    }

    fn resolve(&mut self, covered: impl Fn(&Tally) -> bool) {
        for tally in self.tallies.values_mut() {
            if !tally.resolved && covered(tally) {
                tally.resolved = true;
                tally.count = 0;
                tally.times = 0;
            }
        }
    }
}

impl Seen {
    /// Would this check have failed, had the cause still been there?
    fn is_covered_by(&self, pass: &Aim) -> bool {
        if self.tests_only && pass.purpose != Purpose::Test {
            return false;
        }
        let compiles = |purpose| matches!(purpose, Purpose::Test | Purpose::Build | Purpose::Run);
        self.aims.iter().any(|aim| {
            let same_purpose = pass.purpose == aim.purpose
                || matches!(self.signature.kind, Kind::Diagnostic | Kind::Missing)
                    && compiles(pass.purpose)
                    && compiles(aim.purpose);
            // A program run without its arguments does less, not more.
            let broad = pass.selection.is_empty()
                && !matches!(aim.purpose, Purpose::Run | Purpose::Probe | Purpose::Other);
            pass.tool == aim.tool
                && same_purpose
                && (broad || pass.selection == aim.selection || pass.selects(&self.origins))
        })
    }
}

/// Clippy compiles first: its pass covers what the compiler says, and not the other way round.
const CLIPPY: &str = "cargo clippy";

fn cargo_build(clippy: &Aim) -> Aim {
    Aim {
        tool: "cargo".to_owned(),
        purpose: Purpose::Build,
        selection: clippy.selection.clone(),
    }
}
