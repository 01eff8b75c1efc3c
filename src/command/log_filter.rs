//! Which records `git arkaint log` shows. It reads no repository.

use std::collections::HashSet;

use anyhow::Result;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

use crate::cli::Log;
use crate::config;
use crate::exit::Refusal;
use crate::ledger::{Kind, Record};

/// What a record must be.
pub(super) struct Filter<'a> {
    args: &'a Log,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl<'a> Filter<'a> {
    /// # Errors
    /// A [`Refusal`] for a kind that is none, or a time that cannot be read.
    pub(super) fn new(args: &'a Log) -> Result<Self> {
        for kind in &args.kind {
            if !Kind::ALL.iter().any(|k| k.name() == kind) {
                let known: Vec<_> = Kind::ALL.iter().map(|k| k.name()).collect();
                return Err(Refusal::new(
                    format!("{kind} is no kind of record"),
                    format!("--kind with some of: {}", known.join(", ")),
                )
                .into());
            }
        }
        let now = Timestamp::now();
        let time = |flag: &str, word: &Option<String>| -> Result<Option<Timestamp>> {
            let Some(word) = word else { return Ok(None) };
            let read = time(word, now).ok_or_else(|| {
                Refusal::new(
                    format!("{flag} {word}: that is no time"),
                    format!("{flag} 2d, {flag} 12h, {flag} 2026-01-31 or {flag} 2026-01-31T12:00:00Z (UTC)"),
                )
            })?;
            Ok(Some(read))
        };
        Ok(Self {
            args,
            since: time("--since", &args.since)?,
            until: time("--until", &args.until)?,
        })
    }

    /// Those of `records` that are wanted, in their order. What a run left (its failures, trips, rollbacks) goes with the run: it names the run,
    /// not the agent.
    pub(super) fn keep<T>(&self, records: Vec<(T, Record)>) -> Vec<(T, Record)> {
        let of_run =
            |key: &str, wanted: &Option<String>| -> Option<(String, String, HashSet<String>)> {
                let wanted = wanted.as_ref()?;
                let runs = records.iter().map(|(_, r)| r);
                let runs = runs.filter(|r| r.is(Kind::Run) && r.str(key) == wanted);
                let ids = runs.map(|r| r.id().to_owned()).collect();
                Some((key.to_owned(), wanted.clone(), ids))
            };
        let by_run: Vec<_> = [
            of_run("profile", &self.args.profile),
            of_run("agent", &self.args.agent),
            of_run("branch", &self.args.branch),
        ]
        .into_iter()
        .flatten()
        .collect();
        let is_of = |record: &Record| {
            by_run.iter().all(|(key, wanted, runs)| {
                record.str(key) == wanted || runs.contains(record.str("run"))
            })
        };
        let mut records = records;
        records.retain(|(_, record)| self.wants(record) && is_of(record));
        records
    }

    fn wants(&self, record: &Record) -> bool {
        let kinds = &self.args.kind;
        let is_of_run = self
            .args
            .run
            .as_ref()
            .is_none_or(|run| record.id() == run || record.str("run") == run);
        (kinds.is_empty() || kinds.iter().any(|k| k == record.kind()))
            && is_of_run
            && self.is_in_time(record)
    }

    fn is_in_time(&self, record: &Record) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        // A time that nobody can read lies in no span.
        let Ok(at) = record.at().parse::<Timestamp>() else {
            return false;
        };
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at <= until)
    }
}

/// `2d` and `12h` before now, a day (its beginning, UTC), or RFC 3339.
fn time(word: &str, now: Timestamp) -> Option<Timestamp> {
    if let Some(ago) = config::read_duration(word) {
        return now.checked_sub(SignedDuration::try_from(ago).ok()?).ok();
    }
    if let Ok(at) = word.parse::<Timestamp>() {
        return Some(at);
    }
    let day: Date = word.parse().ok()?;
    format!("{day}T00:00:00Z").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_durations_days_and_instants() {
        let now: Timestamp = "2026-03-10T12:00:00Z".parse().unwrap();
        let read = |word: &str| time(word, now).map(|at| at.to_string());
        for (word, wanted) in [
            ("2d", "2026-03-08T12:00:00Z"),
            ("12h", "2026-03-10T00:00:00Z"),
            ("2026-01-31", "2026-01-31T00:00:00Z"),
            ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
            ("2026-01-31T12:00:00.5+02:00", "2026-01-31T10:00:00.5Z"),
        ] {
            assert_eq!(read(word).as_deref(), Some(wanted), "{word}");
        }
        for bad in ["", "yesterday", "2026", "31.1.2026", "2026-02-30", "-2d"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
