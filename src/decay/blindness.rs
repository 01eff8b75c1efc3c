//! Mode 3, pattern blindness: when the breaker trips, were the failures of this cycle different faces of one cause? Records in, a signal
//! out. A family of failures is [`Signature::family`]'s word for what they have in common: the module of the tests, the code of the error.
//!
//! [`Signature::family`]: crate::judge::Signature::family

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::signal::{Mode, Signal};
use crate::ledger::{Kind, Record};

/// So many different failures of one family, first seen in at least two runs: many at once are one event, one after the other are a pattern
/// that is not seen.
const THRESHOLD: usize = 3;
const RUNS: usize = 2;
const SHOWN: usize = 10;

/// One failure, where it was first seen.
struct Face<'a> {
    run: &'a str,
    label: &'a str,
}

/// The signal of a cycle whose records, in the order in which they were appended, are these; `None` for no such family.
pub(crate) fn signal(cycle: &[Record]) -> Option<Signal> {
    let mut families: BTreeMap<&str, BTreeMap<&str, Face<'_>>> = BTreeMap::new();
    let mut take = |family, signature, face| {
        if let (Some(family), Some(signature)) = (family, signature) {
            let faces = families.entry(family).or_default();
            faces.entry(signature).or_insert(face);
        }
    };
    for record in cycle {
        if record.is(Kind::Failure) {
            take(
                record.get("family").and_then(Value::as_str),
                record.get("signature").and_then(Value::as_str),
                Face {
                    run: record.str("run"),
                    label: record.str("label"),
                },
            );
        } else if record.is(Kind::Run) {
            let tallies = record.get("signatures").and_then(Value::as_array);
            for tally in tallies.into_iter().flatten() {
                if tally["resolved"] == false {
                    take(
                        tally["family"].as_str(),
                        tally["signature"].as_str(),
                        Face {
                            run: record.id(),
                            label: tally["label"].as_str().unwrap_or_default(),
                        },
                    );
                }
            }
        }
    }
    let runs = |faces: &BTreeMap<&str, Face<'_>>| {
        let runs: BTreeSet<&str> = faces.values().map(|face| face.run).collect();
        runs.len()
    };
    let (family, faces) = families
        .iter()
        .filter(|(_, faces)| faces.len() >= THRESHOLD && runs(faces) >= RUNS)
        .max_by_key(|(_, faces)| faces.len())?;
    let shown = faces.iter().take(SHOWN);
    let shown: Vec<_> = shown
        .map(|(signature, face)| json!({"signature": signature, "label": face.label, "first_run": face.run}))
        .collect();
    Some(Signal {
        mode: Mode::PatternBlindness,
        line: format!(
            "{} different failures of one family ({family}) in {} runs",
            faces.len(),
            runs(faces)
        ),
        evidence: json!({
            "threshold": THRESHOLD, "threshold_runs": RUNS, "family": family, "count": faces.len(), "runs": runs(faces),
            "failures": shown,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(run: &str, signature: &str, family: &str) -> Record {
        Record::new(
            Kind::Failure,
            json!({"run": run, "signature": signature, "family": family, "label": signature}),
        )
    }

    #[test]
    fn ever_new_faces_of_one_family_are_a_signal() {
        let one_by_one = [
            failure("r1", "a", "test cache"),
            failure("r2", "b", "test cache"),
            failure("r2", "a", "test cache"),
            failure("r3", "c", "test cache"),
            failure("r3", "x", "test parser"),
        ];
        let found = signal(&one_by_one).unwrap();
        assert_eq!(
            (&found.evidence["family"], &found.evidence["count"]),
            (&json!("test cache"), &json!(3))
        );
        assert_eq!(found.evidence["failures"][0]["first_run"], "r1");
    }

    #[test]
    fn the_same_failure_many_at_once_and_many_families_are_none() {
        let same = ["r1", "r2", "r3"].map(|run| failure(run, "a", "test cache"));
        assert_eq!(signal(&same), None);
        let at_once = ["a", "b", "c"].map(|face| failure("r1", face, "test cache"));
        assert_eq!(signal(&at_once), None);
        let apart = ["a", "b", "c"].map(|face| failure(face, face, face));
        assert_eq!(signal(&apart), None);
    }

    #[test]
    fn failures_of_the_agent_s_own_checks_count_unless_they_were_resolved() {
        let run = |id: &str, signature: &str, resolved: bool| {
            Record::with_id(
                Kind::Run,
                id.to_owned(),
                json!({"signatures": [{"signature": signature, "family": "diagnostic E0308", "label": "l", "resolved": resolved}]}),
            )
        };
        let open = [
            run("r1", "a", false),
            run("r2", "b", false),
            run("r3", "c", false),
        ];
        assert!(signal(&open).is_some());
        let resolved = [
            run("r1", "a", false),
            run("r2", "b", true),
            run("r3", "c", true),
        ];
        assert_eq!(signal(&resolved), None);
    }
}
