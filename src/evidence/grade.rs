//! What a proof is worth: how firmly it is bound to the delivered commit. It says what is enough, not how a grade is found.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::config::Binding;

/// From the firmest down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Grade {
    /// Arkaint ran the check in a fresh worktree of the delivered commit.
    Rerun,
    /// Arkaint ran the check in the worker's worktree, on the delivered tree, and the ledger has it.
    Sealed,
    /// The file names the delivered tree.
    Declared,
    /// Its time, or the state of the worktree, fits the delivered commit.
    Dated,
    Stale(Stale),
}

/// Why a proof is bound to nothing that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stale {
    /// Made before the last change of the delivered content.
    Older,
    /// It names another tree than the delivered one.
    OtherTree,
    /// It names an id that resolves to nothing here: likely typed by a model.
    UnknownCommit,
    /// It names an abbreviated id.
    ShortId,
    /// Made in the future.
    FutureClock,
    /// Its bytes were in the base already.
    Inherited,
    /// The same bytes were first seen under another tree.
    Replayed,
    /// It was made for another contract.
    WrongContract,
    /// The worktree holds changes that are not delivered.
    Dirty,
}

impl Grade {
    /// Does a proof of this grade count under this policy?
    pub(crate) fn enough(self, binding: Binding) -> bool {
        match binding {
            Binding::Off => true,
            Binding::Dated => !matches!(self, Self::Stale(_)),
            Binding::Tree => matches!(self, Self::Rerun | Self::Sealed | Self::Declared),
            Binding::Rerun => self == Self::Rerun,
        }
    }

    /// Was the check run by Arkaint itself?
    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Rerun | Self::Sealed)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rerun => "rerun",
            Self::Sealed => "sealed",
            Self::Declared => "declared",
            Self::Dated => "dated",
            Self::Stale(_) => "stale",
        }
    }
}

impl Stale {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Older => "older",
            Self::OtherTree => "other-tree",
            Self::UnknownCommit => "unknown-commit",
            Self::ShortId => "short-id",
            Self::FutureClock => "future-clock",
            Self::Inherited => "inherited",
            Self::Replayed => "replayed",
            Self::WrongContract => "wrong-contract",
            Self::Dirty => "dirty",
        }
    }

    /// The reason for people.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::Older => "made before the last change",
            Self::OtherTree => "made on another tree",
            Self::UnknownCommit => "names an id that does not exist here",
            Self::ShortId => "names an abbreviated id",
            Self::FutureClock => "dated in the future",
            Self::Inherited => "came with the base",
            Self::Replayed => {
                "seen before, on another tree; with a time, `ranAt`, no two runs write the same"
            }
            Self::WrongContract => "made for another contract",
            Self::Dirty => "made in a worktree with changes that are not delivered",
        }
    }
}

/// `dated`, `stale (older)`.
impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale(stale) => write!(f, "stale ({})", stale.name()),
            other => f.write_str(other.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Binding::{Dated, Off, Rerun, Tree};

    #[test]
    fn each_policy_takes_its_grade_and_better() {
        for (grade, taken_by) in [
            (Grade::Rerun, &[Off, Dated, Tree, Rerun][..]),
            (Grade::Sealed, &[Off, Dated, Tree]),
            (Grade::Declared, &[Off, Dated, Tree]),
            (Grade::Dated, &[Off, Dated]),
            (Grade::Stale(Stale::Older), &[Off]),
        ] {
            for binding in [Off, Dated, Tree, Rerun] {
                assert_eq!(
                    grade.enough(binding),
                    taken_by.contains(&binding),
                    "{grade} under {binding:?}"
                );
            }
        }
    }

    #[test]
    fn the_names_of_the_ledger_are_those_of_the_messages() {
        for stale in [
            Stale::Older,
            Stale::OtherTree,
            Stale::UnknownCommit,
            Stale::ShortId,
            Stale::FutureClock,
            Stale::Inherited,
            Stale::Replayed,
            Stale::WrongContract,
            Stale::Dirty,
        ] {
            let json = serde_json::json!({ "stale": stale.name() });
            assert_eq!(serde_json::to_value(Grade::Stale(stale)).unwrap(), json);
            assert_eq!(
                serde_json::from_value::<Grade>(json).unwrap(),
                Grade::Stale(stale)
            );
            assert!(!stale.why().is_empty());
            assert_eq!(
                Grade::Stale(stale).to_string(),
                format!("stale ({})", stale.name())
            );
        }
        for grade in [Grade::Rerun, Grade::Sealed, Grade::Declared, Grade::Dated] {
            assert_eq!(serde_json::to_value(grade).unwrap(), grade.name());
            assert_eq!(
                grade.is_ours(),
                matches!(grade, Grade::Rerun | Grade::Sealed)
            );
        }
    }
}
