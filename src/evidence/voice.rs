//! What one file says about one item: one voice, however often the item stands there. It weighs no file against another.

use std::sync::LazyLock;

use regex::Regex;

use super::assess::{Case, Item, named};
use super::dod::{Dropped, List, Proof};
use super::grade::Grade;
use super::verify::{self, Status};

const NO_TEXT: &str = "with no evidence text";

/// What one file says about one item.
pub(super) struct Voice<'a> {
    pub file: &'a str,
    pub status: Status,
    pub evidence: String,
    pub grade: Grade,
    /// `passed`, but for this it proves nothing.
    pub gap: Option<&'static str>,
    /// `failed`, and why where the entry itself does not say so.
    pub because: Option<String>,
}

impl Voice<'_> {
    pub(super) fn passed(&self) -> bool {
        self.status == Status::Passed
    }

    pub(super) fn source(&self) -> String {
        let who = if self.grade.is_ours() {
            "arkaint"
        } else {
            "worker"
        };
        format!("{who} · {}", self.grade)
    }
}

impl<'a> Case<'a> {
    /// The entries of `dod.json` about an item as one voice: the first, or the worst where they differ.
    pub(super) fn in_dod(&self, item: &Item, warnings: &mut Vec<String>) -> Option<Voice<'a>> {
        let proofs = self.dod.good()?.list(item.list);
        let entries: Vec<&Proof> = proofs.iter().filter(|p| p.id == item.id).collect();
        let statuses: Vec<Status> = entries.iter().map(|p| p.status).collect();
        let (place, because) = one_of(item, &statuses, self.dod_path, warnings)?;
        let proof = entries[place];
        let voice = Voice {
            file: self.dod_path,
            status: proof.status,
            evidence: proof.evidence.clone(),
            grade: (self.dod_grade)(item.list, proof),
            gap: proof.evidence.is_empty().then_some(NO_TEXT),
            because,
        };
        admit(item, &voice, warnings);
        Some(voice)
    }

    /// The same of `verify.json`, which speaks about the outcomes of the issue alone.
    pub(super) fn in_verify(&self, item: &Item, warnings: &mut Vec<String>) -> Option<Voice<'a>> {
        let verify = self.verify.good().filter(|_| item.list == List::Issue)?;
        let entries: Vec<_> = verify.outcomes.iter().filter(|o| o.id == item.id).collect();
        let statuses: Vec<Status> = entries.iter().map(|o| o.status).collect();
        let (place, because) = one_of(item, &statuses, verify::PATH, warnings)?;
        let mut voice = Voice {
            file: verify::PATH,
            status: entries[place].status,
            evidence: entries[place].evidence.clone(),
            grade: (self.verify_grade)(entries[place]),
            gap: None,
            because,
        };
        if voice.evidence.is_empty() && !verify.command.is_empty() {
            voice.evidence = match (voice.status, verify.exit_code) {
                (Status::Passed, Some(code)) => format!("{} → exit {code}", verify.command),
                (status, _) => format!("{} → {}", verify.command, status.name()),
            };
            let vouched = verify.exit_code == Some(0);
            voice.gap = (!vouched).then_some(NO_TEXT);
        } else if voice.evidence.is_empty() {
            voice.gap = Some(NO_TEXT);
        } else {
            admit(item, &voice, warnings);
        }
        if let (Status::Passed, Some(code @ (1.. | ..=-1))) = (voice.status, verify.exit_code) {
            voice.status = Status::Failed;
            voice.because = Some(format!("command exited {code}"));
        }
        Some(voice)
    }

    pub(super) fn malformed(&self, item: &Item) -> Option<&Dropped> {
        let mut dropped = self.dod.good()?.dropped.iter();
        dropped.find(|d| d.list == item.list && d.id.as_deref() == Some(&item.id))
    }
}

/// Evidence that admits that no test ran is warned of.
fn admit(item: &Item, voice: &Voice<'_>, warnings: &mut Vec<String>) {
    if let Some(words) = admits(&voice.evidence).filter(|_| voice.passed()) {
        warnings.push(format!(
            "{} is passed in {}, whose evidence admits that no test ran (\"{words}\")",
            named(item.list, &item.id),
            voice.file
        ));
    }
}

/// Which of several entries counts, and why if it is not the first; `None` when there is none.
fn one_of(
    item: &Item,
    statuses: &[Status],
    file: &str,
    warnings: &mut Vec<String>,
) -> Option<(usize, Option<String>)> {
    let first = *statuses.first()?;
    if statuses.len() == 1 {
        return Some((0, None));
    }
    let name = named(item.list, &item.id);
    let times = statuses.len();
    if statuses.iter().all(|status| *status == first) {
        warnings.push(format!(
            "{name} stands {times} times in {file}: the first counts"
        ));
        return Some((0, None));
    }
    warnings.push(format!(
        "{name} stands {times} times in {file}, passed and failed: failed counts"
    ));
    let worst = statuses.iter().position(|s| *s == Status::Failed)?;
    Some((
        worst,
        Some(format!(
            "it stands there {times} times, once passed: leave one"
        )),
    ))
}

/// The words by which evidence admits that no test ran, if no other word of it says that some did.
fn admits(evidence: &str) -> Option<&str> {
    static NONE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:0 passed|collected 0 items|no tests ran|0 tests)\b")
            .expect("words of ours")
    });
    static SOME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i)\b[1-9][0-9]* passed\b").expect("words of ours"));
    let none = NONE.find(evidence)?;
    (!SOME.is_match(evidence)).then_some(none.as_str())
}
