//! Does a failure repeat? Three times unresolved in one launch, unresolved at the end of two, or red in two judgements of our own checks
//! without progress. Values in, values out; it is kept in the journal of an open run.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::report::{Seen, ToolReport};
use super::signature::{Kind, Signature};
use crate::config;
use crate::text;

/// The failure history of a task, until a rollback clears it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Breaker {
    across: u32,
    within: u32,
    tools: BTreeMap<String, Open>,
    checks: BTreeMap<String, u32>,
    /// The failing set of the last judgement.
    last_red: BTreeSet<String>,
}

/// A tool failure that was unresolved at the end of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Open {
    seen: Seen,
    launches: u32,
}

/// Where the repetition was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TripKind {
    /// By the agent's own checks, in one launch.
    Within,
    /// By the agent's own checks, at the end of several launches.
    Across,
    /// By our checks, in several judgements.
    Check,
}

/// The breaker trips, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trip {
    pub kind: TripKind,
    pub signature: Signature,
    pub count: u32,
    /// One sentence for a person, with the line that was seen.
    pub reason: String,
}

impl Breaker {
    pub(crate) fn new(limits: &config::Breaker) -> Self {
        Self {
            across: limits.across.max(1),
            within: limits.within.max(1),
            tools: BTreeMap::new(),
            checks: BTreeMap::new(),
            last_red: BTreeSet::new(),
        }
    }

    /// Takes what the agent's own checks came to in the launch that just ended.
    pub(crate) fn tool_launch(&mut self, report: &ToolReport) -> Option<Trip> {
        // A pass in this launch ends the history of what it covers, also when that broke again afterwards.
        self.tools.retain(|_, open| !report.passed(&open.seen));
        let mut trip = None;
        for tally in report.tallies().filter(|tally| !tally.resolved) {
            let signature = &tally.seen.signature;
            let open = self
                .tools
                .entry(signature.hash.clone())
                .or_insert_with(|| Open {
                    seen: tally.seen.clone(),
                    launches: 0,
                });
            open.seen = tally.seen.clone();
            open.launches += 1;
            if tally.count >= self.within {
                worse(
                    &mut trip,
                    Trip::of(TripKind::Within, signature, tally.count),
                );
            } else if open.launches >= self.across {
                worse(
                    &mut trip,
                    Trip::of(TripKind::Across, signature, open.launches),
                );
            }
        }
        trip
    }

    /// Takes the failing set of our own checks of one judgement; none is a green one.
    pub(crate) fn check_judgement(&mut self, failing: &[Signature]) -> Option<Trip> {
        let red: BTreeSet<String> = failing
            .iter()
            .map(|signature| signature.hash.clone())
            .collect();
        let shrank =
            !red.is_empty() && red.len() < self.last_red.len() && red.is_subset(&self.last_red);
        // Where tests ran, what is not among the failing has passed; a build that broke says nothing about them.
        if failing.iter().all(|signature| signature.kind == Kind::Test) {
            self.checks.retain(|hash, _| red.contains(hash));
        }
        for hash in &red {
            let count = self.checks.entry(hash.clone()).or_insert(0);
            *count = if shrank { 1 } else { *count + 1 };
        }
        self.last_red = red;
        let mut trip = None;
        for signature in failing {
            let count = self.checks.get(&signature.hash).copied().unwrap_or(0);
            if count >= self.across {
                worse(&mut trip, Trip::of(TripKind::Check, signature, count));
            }
        }
        trip
    }

    /// What already failed before the agent began: no first sight, but what progress is measured against.
    pub(crate) fn check_baseline(&mut self, failing: &[Signature]) {
        self.last_red = failing
            .iter()
            .map(|signature| signature.hash.clone())
            .collect();
        self.checks.clear();
    }

    /// Failures that would trip when they come once more.
    pub(crate) fn remembered(&self) -> usize {
        self.tools.len() + self.checks.len()
    }

    /// Forgets everything: after a rollback the next attempt starts clean.
    pub(crate) fn reset(&mut self) {
        self.tools.clear();
        self.checks.clear();
        self.last_red.clear();
    }
}

impl Trip {
    fn of(kind: TripKind, signature: &Signature, count: u32) -> Self {
        let label = &signature.label;
        let what = match signature.kind {
            Kind::Test => format!("test {label}"),
            Kind::Missing => format!("missing {label}"),
            _ => label.clone(),
        };
        let how = match kind {
            TripKind::Within => format!("failed {count} times in this run and never passed since"),
            TripKind::Across => format!("was unresolved at the end of {count} runs"),
            TripKind::Check => format!("failed our checks in {count} judgements without progress"),
        };
        let raw = text::ellipsis(&text::visible_line(signature.raw.trim()), 200);
        Self {
            kind,
            signature: signature.clone(),
            count,
            reason: format!("{what} {how}: {raw}"),
        }
    }
}

/// Keeps the worst: the one seen most often, the first of equals.
fn worse(trip: &mut Option<Trip>, other: Trip) {
    if trip.as_ref().is_none_or(|known| other.count > known.count) {
        *trip = Some(other);
    }
}
