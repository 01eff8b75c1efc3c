//! How a command ends: the exit codes of the whole suite, and the error that is a decision. It prints nothing.

use std::fmt;

/// Why the process ends, as its exit code says (`git-arkaint(1)`, EXIT STATUS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done.
    Done,
    /// 1: a check said no: tests failed, a gate is closed, a run broke a rule.
    CheckFailed,
    /// 2: refused before any side effect: usage, configuration, entry gate.
    Refused,
    /// 3: a person must step in: attempts spent, agent unusable.
    Person,
    /// 4: another run holds this worktree's lock, or the task.
    Locked,
    /// 5: a budget is spent.
    Budget,
    /// 128 + n: interrupted by signal n.
    Interrupted(u8),
}

impl Exit {
    /// The process exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::CheckFailed => 1,
            Self::Refused => 2,
            Self::Person => 3,
            Self::Locked => 4,
            Self::Budget => 5,
            Self::Interrupted(signal) => 128 + signal,
        }
    }
}

/// A no with its cause and the commands that help. Cause: lower case, one line, no period.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub exit: Exit,
    pub cause: String,
    pub hints: Vec<String>,
}

impl Refusal {
    /// A refusal before any side effect (exit 2), with the one hint that helps.
    pub(crate) fn new(cause: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::with_exit(Exit::Refused, cause, hint)
    }

    /// The same with another exit code.
    pub(crate) fn with_exit(exit: Exit, cause: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            exit,
            cause: cause.into(),
            hints: vec![hint.into()],
        }
    }

    /// A second line of help.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)
    }
}

impl std::error::Error for Refusal {}
