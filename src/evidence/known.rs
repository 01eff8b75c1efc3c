//! What the ledger and the base know of the bytes of one file, looked up once for all of its entries. It grades nothing.

use std::time::SystemTime;

use super::freshness::{self, Known, Sealed};
use super::seal::Seal;
use super::standing::Subject;
use super::{artifact::Good, seal, verify};
use crate::git::Oid;
use crate::ledger::{Kind, Record};

pub(crate) fn of<T>(subject: &Subject<'_>, file: &Good<T>, dod_path: &str) -> Known {
    let of_file = subject.records.iter().filter_map(|(_, record)| {
        let seal = Seal::of(record).filter(|seal| seal.sha256 == file.sha256)?;
        Some((seal, record))
    });
    let seals = of_file.map(|(seal, record)| Sealed {
        tree: seal.tree,
        contract: seal.contract,
        answers: seal.outcomes,
        claim: seal.run.is_some() || is_within_a_run(record, subject.records),
    });
    let inherited = subject.base.is_some_and(|base| {
        [verify::PATH, dod_path].iter().any(|path| {
            let there = subject.worktree.blob_at(base, path);
            matches!(there, Ok(Some(there)) if there == file.bytes)
        })
    });
    Known {
        seals: seals.collect(),
        seen: seal::first_seen(subject.records, &file.sha256),
        inherited,
    }
}

/// Was this record made while an agent ran? It could have been the agent's, whatever it says of itself.
fn is_within_a_run(record: &Record, records: &[(Oid, Record)]) -> bool {
    let Some(at) = freshness::time(record.at()) else {
        return true;
    };
    records.iter().any(|(_, run)| {
        run.is(Kind::Run) && span(run).is_some_and(|(from, to)| from <= at && at <= to)
    })
}

/// From the launch of a run, which its id tells to the second (`20260131T120000Z-3f9a1c`), to its record, which is made when the parent looks
/// again.
fn span(run: &Record) -> Option<(SystemTime, SystemTime)> {
    let id = run.id();
    let part = |range: std::ops::Range<usize>| id.get(range);
    let launched = format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0..4)?,
        part(4..6)?,
        part(6..8)?,
        part(9..11)?,
        part(11..13)?,
        part(13..15)?
    );
    Some((freshness::time(&launched)?, freshness::time(run.at())?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_recorded_while_an_agent_ran_is_its_claim() {
        let on = Oid::from_hex(&[b'a'; 40]).unwrap();
        let made = |kind: Kind, at: &str, id: &str| {
            let mut record = Record::with_id(kind, id.to_owned(), json!({}));
            record.map_mut().insert("at".to_owned(), at.into());
            record
        };
        let run = made(
            Kind::Run,
            "2026-01-31T12:10:00.000Z",
            "20260131T120500Z-3f9a1c",
        );
        let records = [(on, run)];
        for (at, claim) in [
            ("2026-01-31T12:04:59.000Z", false),
            ("2026-01-31T12:05:00.000Z", true),
            ("2026-01-31T12:10:00.000Z", true),
            ("2026-01-31T12:10:00.001Z", false),
            ("no time", true),
        ] {
            let record = made(Kind::Evidence, at, "x");
            assert_eq!(is_within_a_run(&record, &records), claim, "{at}");
        }
    }
}
