//! One sign of decay as it is recorded: which mode, one line for people, and its evidence with the threshold that it passed.

use serde_json::{Value, json};

use crate::ledger::{Kind, Record};

/// The six modes, by their numbers in `git-arkaint-decay(7)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    ContextDrift = 1,
    QuickFixes,
    PatternBlindness,
    BoundaryViolation,
    RepeatedFailure,
    SpecDivergence,
}

impl Mode {
    pub(crate) const ALL: [Self; 6] = [
        Self::ContextDrift,
        Self::QuickFixes,
        Self::PatternBlindness,
        Self::BoundaryViolation,
        Self::RepeatedFailure,
        Self::SpecDivergence,
    ];

    pub(crate) fn number(self) -> u64 {
        self as u64
    }

    /// The mode of a record.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        let number = record.get("mode").and_then(Value::as_u64)?;
        Self::ALL.into_iter().find(|mode| mode.number() == number)
    }

    /// Its word in records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ContextDrift => "context-drift",
            Self::QuickFixes => "quick-fix-accumulation",
            Self::PatternBlindness => "pattern-blindness",
            Self::BoundaryViolation => "boundary-violation",
            Self::RepeatedFailure => "repeated-failure-looping",
            Self::SpecDivergence => "spec-divergence",
        }
    }
}

/// One signal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Signal {
    pub mode: Mode,
    /// What was seen, for people.
    pub line: String,
    /// What was seen, in numbers, with the threshold.
    pub evidence: Value,
}

impl Signal {
    /// Its record; `run` and `cycle` are those that it was seen in, if any.
    pub(crate) fn record(&self, run: Option<&str>, cycle: Option<&str>) -> Record {
        Record::new(
            Kind::Decay,
            json!({
                "mode": self.mode.number(), "name": self.mode.name(), "run": run, "cycle": cycle, "line": self.line,
                "evidence": self.evidence,
            }),
        )
    }
}
