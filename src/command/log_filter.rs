//! Which records `git arkaint log` shows. It reads no repository.

use std::collections::HashSet;

use anyhow::Result;

use crate::cli::Log;
use crate::exit::Refusal;
use crate::ledger::{Kind, Record, since};

/// What a record must be.
pub(super) struct Filter<'a> {
    args: &'a Log,
    since: Option<String>,
    until: Option<String>,
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
        let time = |word: &Option<String>| word.as_deref().map(since::parse).transpose();
        Ok(Self {
            args,
            since: time(&args.since)?,
            until: time(&args.until)?,
        })
    }

    /// Can one record be judged without those of the runs?
    pub(super) fn is_plain(&self) -> bool {
        let args = self.args;
        args.profile.is_none() && args.agent.is_none() && args.branch.is_none()
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

    /// All but what its run says.
    pub(super) fn wants(&self, record: &Record) -> bool {
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

    /// Both ends included. Records write their time in one form, so that it compares as text.
    fn is_in_time(&self, record: &Record) -> bool {
        let at = record.at();
        self.since.as_deref().is_none_or(|since| at >= since)
            && self.until.as_deref().is_none_or(|until| at <= until)
    }
}
