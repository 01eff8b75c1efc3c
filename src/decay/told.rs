//! What the ledger tells of decay over time: its signals, and the drift of every run that was scored. Reads only; it draws nothing.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use anyhow::Result;
use memchr::memmem;
use serde::Deserialize;

use super::signal::Mode;
use crate::git::Worktree;
use crate::ledger::{Kind, Record, notes};

/// Signals and runs, each oldest first; a record that stands on two commits is told once.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub signals: Vec<(Mode, Record)>,
    pub runs: Vec<Run>,
}

/// A run, as far as drift goes.
#[derive(Debug, Deserialize)]
pub(crate) struct Run {
    pub at: String,
    pub id: String,
    kind: String,
    pub drift: Option<Drift>,
}

/// Its score: the fields of [`super::Score::to_json`] that are drawn.
#[derive(Debug, Deserialize)]
pub(crate) struct Drift {
    pub verdict: String,
    pub z: Option<f64>,
    pub threshold: Option<f64>,
}

impl Run {
    /// The score and its threshold, where it may be judged.
    pub(crate) fn measured(&self) -> Option<(f64, f64)> {
        let drift = self
            .drift
            .as_ref()
            .filter(|drift| drift.verdict == "measured")?;
        Some((drift.z?, drift.threshold?))
    }
}

impl Told {
    /// Of the whole ledger, or what ended `since` (in the form of a record's `at`).
    pub(crate) fn read(worktree: &Worktree, since: Option<&str>) -> Result<Self> {
        let mut told = Self::default();
        let (keys, mut seen) = (RandomState::new(), HashSet::new());
        let late = |at: &str| since.is_none_or(|since| at >= since);
        notes::each_line(worktree, |_, line| {
            if memmem::find(line, b"\"decay\"").is_some()
                && let Some(record) = Record::from_line(line).filter(|r| r.is(Kind::Decay))
            {
                if let Some(mode) = Mode::of(&record)
                    && late(record.at())
                    && seen.insert(keys.hash_one(line))
                {
                    told.signals.push((mode, record));
                }
            } else if memmem::find(line, b"\"run\"").is_some()
                && let Ok(run) = serde_json::from_slice::<Run>(line)
                && run.kind == Kind::Run.name()
                && late(&run.at)
                && seen.insert(keys.hash_one(line))
            {
                told.runs.push(run);
            }
        })?;
        told.signals.sort_by(|(_, a), (_, b)| a.at().cmp(b.at()));
        told.runs.sort_by(|a, b| a.at.cmp(&b.at));
        Ok(told)
    }
}
