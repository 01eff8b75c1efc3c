//! What the evidence says about each item: proven, failed, missing, or waiting for a person. Missing ("prove it") and failed ("fix it")
//! are never mixed. Pure: artifacts, grades and policy come in, rows go out; nothing is read and no clock is asked.

use std::collections::BTreeSet;

use super::artifact::Artifact;
use super::dod::{Dod, Dropped, List, Proof};
use super::grade::Grade;
use super::verify::{self, Status, Verify};
use super::voice::Voice;
use crate::config::{Binding, Choice as _, Conflicts};
use crate::text;

/// Something that must be proven. Items are told apart by list and id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub list: List,
    pub id: String,
    pub description: String,
    /// Only a person can tell: no entry of a worker's proves it.
    pub manual: bool,
    /// Arkaint looked itself: what a worker says about it is not read.
    pub decided: Option<Decided>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decided {
    pub status: Status,
    pub evidence: String,
    /// How a command was run; none where the change itself was looked at.
    pub grade: Option<Grade>,
}

/// All that an assessment rests on.
pub(crate) struct Case<'a> {
    pub items: &'a [Item],
    pub verify: &'a Artifact<Verify>,
    pub verify_grade: &'a dyn Fn(&verify::Outcome) -> Grade,
    pub dod: &'a Artifact<Dod>,
    /// Where `dod.json` lies, for messages.
    pub dod_path: &'a str,
    pub dod_grade: &'a dyn Fn(List, &Proof) -> Grade,
    pub binding: Binding,
    pub conflicts: Conflicts,
    /// Ids of manual outcomes that a person attested for the delivered commit.
    pub attested: &'a BTreeSet<String>,
    /// The delivered commit, abbreviated.
    pub head: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Proven,
    /// Fix it.
    Failed,
    /// Prove it.
    Missing,
    /// It waits for a person.
    Held,
}

impl Verdict {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Failed => "failed",
            Self::Missing => "missing",
            Self::Held => "held",
        }
    }
}

/// One item and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub list: List,
    pub id: String,
    pub description: String,
    pub verdict: Verdict,
    /// One line that names the item, the file, and what to do.
    pub reason: String,
    /// As the worker, Arkaint or the person gave it; may be empty.
    pub evidence: String,
    /// `worker · dated`; empty where nobody said anything.
    pub source: String,
    pub grade: Option<Grade>,
    /// The two files contradict each other.
    pub conflict: bool,
}

impl Row {
    /// `issue/o1`.
    pub(crate) fn name(&self) -> String {
        named(self.list, &self.id)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overall {
    /// There was nothing to prove: that vouches for nothing.
    Vacuous,
    Complete,
    /// Something is missing or failed.
    Incomplete,
    /// All that is left waits for a person.
    Held,
}

impl Overall {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Vacuous => "vacuous",
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::Held => "held",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assessment {
    /// In the order of the items.
    pub rows: Vec<Row>,
    pub warnings: Vec<String>,
    /// Proofs of items that nobody asked for: `project/x in .ak-loop/dod.json`.
    pub unmatched: Vec<String>,
    pub overall: Overall,
}

impl Assessment {
    pub(crate) fn of(&self, verdict: Verdict) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.verdict == verdict)
    }
}

/// Assesses every item.
pub(crate) fn assess(case: &Case<'_>) -> Assessment {
    let mut warnings = case.files();
    let rows: Vec<Row> = case
        .items
        .iter()
        .map(|item| case.row(item, &mut warnings))
        .collect();
    let any = |verdict| rows.iter().any(|row| row.verdict == verdict);
    let overall = if rows.is_empty() {
        Overall::Vacuous
    } else if any(Verdict::Missing) || any(Verdict::Failed) {
        Overall::Incomplete
    } else if any(Verdict::Held) {
        Overall::Held
    } else {
        Overall::Complete
    };
    Assessment {
        unmatched: case.unmatched(),
        rows,
        warnings,
        overall,
    }
}

impl<'a> Case<'a> {
    fn row(&self, item: &Item, warnings: &mut Vec<String>) -> Row {
        if let Some(decided) = &item.decided {
            return decided_row(item, decided);
        }
        let dod = self.in_dod(item, warnings);
        let verify = self.in_verify(item, warnings);
        if item.manual {
            return self.manual_row(item, dod, verify);
        }
        let malformed = self.malformed(item);
        match (dod, verify) {
            // A red result is never aged into "missing".
            (Some(dod), _) if !dod.passed() => self.failed_row(item, dod),
            _ if malformed.is_some() => {
                let line = malformed.map(Dropped::line).unwrap_or_default();
                missing(
                    item,
                    format!(
                        "is malformed in {}: {line}: prove it and write the entry again",
                        self.dod_path
                    ),
                )
            }
            (Some(dod), verify) if dod.grade.enough(self.binding) => {
                // A proof that proves nothing has replaced no red result, however old that is.
                let standing = |v: &Voice<'_>| v.grade.enough(self.binding) || dod.gap.is_some();
                let against = verify.filter(|v| !v.passed() && standing(v));
                self.dod_row(item, dod, against)
            }
            (_, Some(verify)) if !verify.passed() => self.failed_row(item, verify),
            (_, Some(verify)) if verify.grade.enough(self.binding) => self.passed_row(item, verify),
            (Some(stale), _) | (None, Some(stale)) => self.stale_row(item, stale),
            (None, None) => missing(item, self.no_proof(item)),
        }
    }

    fn dod_row(&self, item: &Item, dod: Voice<'_>, against: Option<Voice<'_>>) -> Row {
        let Some(against) = against else {
            return self.passed_row(item, dod);
        };
        if dod.gap.is_some() {
            // It proves nothing that could stand against a red result.
            return self.failed_row(item, against);
        }
        let how = against.because.as_deref().unwrap_or("failed");
        let said = format!("passed in {}, but in {}: {how}", dod.file, against.file);
        let (verdict, reason) = match self.conflicts {
            Conflicts::Warn => (Verdict::Proven, format!("is {said}")),
            Conflicts::Fail => (Verdict::Failed, format!("is {said}: fix it")),
        };
        Row {
            conflict: true,
            ..row(item, verdict, &reason, Some(dod))
        }
    }

    #[allow(clippy::unused_self)] // beside its sisters
    fn passed_row(&self, item: &Item, voice: Voice<'_>) -> Row {
        match &voice.gap {
            None => {
                let reason = format!("is proven in {}", voice.file);
                row(item, Verdict::Proven, &reason, Some(voice))
            }
            Some(gap) => {
                let reason = format!(
                    "is passed in {}, {gap}: prove it and say what was seen",
                    voice.file
                );
                row(item, Verdict::Missing, &reason, Some(voice))
            }
        }
    }

    fn failed_row(&self, item: &Item, voice: Voice<'_>) -> Row {
        let how = match &voice.because {
            Some(because) => format!("failed in {} ({because})", voice.file),
            None => format!("failed in {}", voice.file),
        };
        let reason = if voice.grade.enough(self.binding) {
            format!("{how}: fix it")
        } else {
            format!(
                "{how}, which is {} and stands until a fresh proof replaces it: fix it and prove it at {}",
                voice.grade, self.head
            )
        };
        row(item, Verdict::Failed, &reason, Some(voice))
    }

    fn stale_row(&self, item: &Item, voice: Voice<'_>) -> Row {
        let what = match voice.grade {
            Grade::Stale(stale) => format!("{}: {}", voice.grade, stale.why()),
            grade => format!("only {grade}, evidence.binding is {}", self.binding.name()),
        };
        let reason = format!(
            "is passed in {}, which does not count ({what}): prove it again at {}",
            voice.file, self.head
        );
        row(item, Verdict::Missing, &reason, Some(voice))
    }

    fn manual_row(&self, item: &Item, dod: Option<Voice<'_>>, verify: Option<Voice<'_>>) -> Row {
        let attested = self.attested.contains(&item.id);
        let red =
            |voice: &Voice<'_>| !voice.passed() && (!attested || voice.grade.enough(self.binding));
        let (red, said): (Vec<_>, Vec<_>) = [dod, verify].into_iter().flatten().partition(red);
        let red = red.into_iter().next();
        if !attested {
            return match red {
                Some(red) => self.failed_row(item, red),
                None => row(
                    item,
                    Verdict::Held,
                    &format!(
                        "waits for a person at {}: git arkaint contract attest {}",
                        self.head, item.id
                    ),
                    said.into_iter().next(),
                ),
            };
        }
        let against = red.map(|red| format!(", but failed in {}", red.file));
        let mut said = format!("is attested at {}", self.head);
        said += against.as_deref().unwrap_or_default();
        let verdict = match (&against, self.conflicts) {
            (Some(_), Conflicts::Fail) => {
                said += ": fix it";
                Verdict::Failed
            }
            _ => Verdict::Proven,
        };
        Row {
            evidence: format!("attested at {}", self.head),
            source: "person".to_owned(),
            conflict: against.is_some(),
            ..row(item, verdict, &said, None)
        }
    }

    /// Nobody says anything about this item that can be read.
    fn no_proof(&self, item: &Item) -> String {
        let broken = |file: &str, reason: &str| {
            format!(
                "has no proof that can be read ({file}: {reason}): prove it and write the file again"
            )
        };
        match (item.list, self.verify, self.dod) {
            (List::Issue, Artifact::Broken(verify), _) => broken(verify::PATH, &verify.reason),
            (_, _, Artifact::Broken(dod)) => broken(self.dod_path, &dod.reason),
            (List::Issue, ..) => format!(
                "has no proof: prove it in {} or {}",
                verify::PATH,
                self.dod_path
            ),
            (List::Project, ..) => format!("has no proof: prove it in {}", self.dod_path),
        }
    }

    /// What is wrong with the files as such.
    fn files(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Artifact::Broken(broken) = self.verify {
            warnings.push(format!(
                "{} proves nothing: {}",
                verify::PATH,
                broken.reason
            ));
        }
        if let Some(verify) = self.verify.good() {
            let notes = verify.notes.iter();
            warnings.extend(notes.map(|note| format!("{}: {note}", verify::PATH)));
        }
        if let Artifact::Broken(broken) = self.dod {
            warnings.push(format!(
                "{} proves nothing: {}",
                self.dod_path, broken.reason
            ));
        }
        if let Some(dod) = self.dod.good() {
            let dropped = dod.dropped.iter().map(|d| format!("{}: dropped", d.line()));
            let notes = dropped.chain(dod.notes.iter().cloned());
            warnings.extend(notes.map(|note| format!("{}: {note}", self.dod_path)));
        }
        warnings
    }

    fn unmatched(&self) -> Vec<String> {
        let known: BTreeSet<(List, &str)> =
            self.items.iter().map(|i| (i.list, i.id.as_str())).collect();
        let mut seen = BTreeSet::new();
        let mut unmatched = Vec::new();
        let mut look = |list, id: &'a str, file: &'a str| {
            if !known.contains(&(list, id)) && seen.insert((list, id, file)) {
                unmatched.push(format!("{} in {file}", named(list, id)));
            }
        };
        if let Some(dod) = self.dod.good() {
            for list in [List::Project, List::Issue] {
                for proof in dod.list(list) {
                    look(list, &proof.id, self.dod_path);
                }
            }
        }
        if let Some(verify) = self.verify.good() {
            for outcome in &verify.outcomes {
                look(List::Issue, &outcome.id, verify::PATH);
            }
        }
        unmatched
    }
}

pub(super) fn named(list: List, id: &str) -> String {
    format!("{}/{}", list.name(), text::visible_line(id))
}

/// A row whose reason starts with the item's name.
fn row(item: &Item, verdict: Verdict, reason: &str, voice: Option<Voice<'_>>) -> Row {
    Row {
        list: item.list,
        id: item.id.clone(),
        description: item.description.clone(),
        verdict,
        reason: format!("{} {reason}", named(item.list, &item.id)),
        source: voice.as_ref().map(Voice::source).unwrap_or_default(),
        grade: voice.as_ref().map(|voice| voice.grade),
        evidence: voice.map(|voice| voice.evidence).unwrap_or_default(),
        conflict: false,
    }
}

fn missing(item: &Item, reason: impl AsRef<str>) -> Row {
    row(item, Verdict::Missing, reason.as_ref(), None)
}

fn decided_row(item: &Item, decided: &Decided) -> Row {
    let (verdict, reason) = match (decided.status, decided.grade) {
        (Status::Passed, None) => (Verdict::Proven, "is proven: Arkaint looked itself"),
        (Status::Failed, None) => (Verdict::Failed, "failed: Arkaint looked itself: fix it"),
        (Status::Passed, Some(_)) => (Verdict::Proven, "is proven: Arkaint ran it itself"),
        (Status::Failed, Some(_)) => (Verdict::Failed, "failed: Arkaint ran it itself: fix it"),
    };
    Row {
        evidence: decided.evidence.clone(),
        source: decided.grade.map_or_else(
            || "arkaint".to_owned(),
            |grade| format!("arkaint · {grade}"),
        ),
        grade: decided.grade,
        ..row(item, verdict, reason, None)
    }
}

#[cfg(test)]
mod tests;
