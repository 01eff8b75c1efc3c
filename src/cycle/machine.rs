//! The heart, pure: (what was so far, what one judgement found) -> what to do next. It does nothing itself, and every sequence ends.

use serde::{Deserialize, Serialize};

use crate::agent::Outcome;
use crate::exit::Exit;

/// The caps of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// Recovery attempts after the breaker's first trip.
    pub attempts: u32,
    /// Fix rounds in each attempt.
    pub fix_rounds: u32,
}

impl Limits {
    /// The most launches that a cycle can make: the first attempt and each recovery with all its fix rounds, then one summary.
    pub(crate) fn most_launches(self) -> u32 {
        let an_attempt = 1 + self.fix_rounds;
        if self.attempts == 0 {
            an_attempt
        } else {
            an_attempt * self.attempts + 1
        }
    }
}

/// What a cycle has behind it. It is kept on disk, so that an interrupted cycle goes on from it.
#[allow(clippy::struct_excessive_bools)] // each is one row of the table that was met once
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Progress {
    limits: Limits,
    /// 0 = the work itself, then the recovery attempts from 1.
    attempt: u32,
    /// Fix rounds spent in this attempt.
    fixed: u32,
    /// A launch changed nothing, in this attempt.
    no_op: bool,
    /// A protected path was changed, in this attempt.
    protected: bool,
    /// Another rule was broken, in this attempt.
    rule: bool,
}

/// The checks after a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checks {
    Green,
    Red,
    /// Red, then green on the same tree.
    Flaky,
    /// They did not run: a rule was broken, or the launch says nothing about the code.
    NotRun,
}

/// Everything that one judgement found, as far as the next step depends on it.
#[allow(clippy::struct_excessive_bools)] // findings are independent of each other
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// Protected paths were changed.
    pub protected: bool,
    /// HEAD, history, refs or the git directory were turned.
    pub rule: bool,
    pub outcome: Outcome,
    /// A budget was spent; why.
    pub budget: Option<String>,
    /// The content tree differs from the stable one.
    pub changed: bool,
    pub checks: Checks,
    /// Evidence that was asked for is missing, broken, stale, or says failed.
    pub evidence: bool,
    /// The breaker's answer on tool failures; why.
    pub tools_trip: Option<String>,
    /// The breaker's answer on the checks; why.
    pub checks_trip: Option<String>,
    /// A tool trip with green checks seals all the same.
    pub warn_when_green: bool,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Make the closing checkpoint. With a warning that a person should read.
    Seal { warning: Option<String> },
    /// Launch again on what is there, naming what was found.
    FixRound { number: u32, of: u32 },
    /// Put the launch state back, then launch again, naming the rule.
    Restore { number: u32, of: u32 },
    /// Archive, roll back, then ask [`Progress::after_trip`].
    Trip { why: String },
    /// The summary is there: undo its edits and stop for the operator.
    Summed,
    /// Stop; the worktree is kept.
    Stop { exit: Exit, why: String },
}

/// The next attempt after a trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Recovery {
    /// An alternative minimal fix.
    Alternative,
    /// Trace to the underlying systemic cause.
    Systemic,
    /// Stop coding, write a summary for the operator.
    Summary,
}

impl Progress {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            attempt: 0,
            fixed: 0,
            no_op: false,
            protected: false,
            rule: false,
        }
    }

    /// 0 = the work itself, then the recovery attempts from 1.
    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Fix rounds spent in this attempt.
    pub(crate) fn fix_rounds(&self) -> u32 {
        self.fixed
    }

    /// The last attempt of all only writes a summary.
    pub(crate) fn is_summary(&self) -> bool {
        self.attempt > 0 && self.attempt == self.limits.attempts
    }

    /// What follows from a judgement.
    pub(crate) fn judge(&mut self, found: &Judgement) -> Step {
        if let Some(why) = &found.budget {
            return Step::Stop {
                exit: Exit::Budget,
                why: why.clone(),
            };
        }
        if self.is_summary() {
            return Step::Summed;
        }
        if found.rule {
            if std::mem::replace(&mut self.rule, true) {
                return Step::Trip {
                    why: "a rule was broken again".to_owned(),
                };
            }
            return self.another_round(
                |number, of| Step::Restore { number, of },
                "a rule was broken",
            );
        }
        if found.protected {
            if std::mem::replace(&mut self.protected, true) {
                return Step::Trip {
                    why: "protected paths were changed again".to_owned(),
                };
            }
            return self.another_round(
                |number, of| Step::FixRound { number, of },
                "protected paths were changed",
            );
        }
        match found.outcome {
            Outcome::Unusable | Outcome::Limited | Outcome::Unreachable => {
                return Step::Stop {
                    exit: Exit::Person,
                    why: "the agent or its service cannot work now".to_owned(),
                };
            }
            _ => {}
        }
        if let Some(why) = &found.checks_trip {
            return Step::Trip { why: why.clone() };
        }
        let mut warning = None;
        if let Some(why) = &found.tools_trip {
            if found.checks != Checks::Green
                || found.outcome != Outcome::Done
                || !found.warn_when_green
            {
                return Step::Trip { why: why.clone() };
            }
            warning = Some(why.clone());
        }
        if found.outcome == Outcome::NoOp || (found.outcome == Outcome::Done && !found.changed) {
            if std::mem::replace(&mut self.no_op, true) {
                return Step::Stop {
                    exit: Exit::Person,
                    why: "two launches changed nothing".to_owned(),
                };
            }
            return self.another_round(
                |number, of| Step::FixRound { number, of },
                "the launch changed nothing",
            );
        }
        match (found.outcome, found.checks) {
            (Outcome::Done, Checks::Green) if found.evidence => self.another_round(
                |number, of| Step::FixRound { number, of },
                "the evidence is not complete",
            ),
            (Outcome::Done, Checks::Green) => Step::Seal { warning },
            (Outcome::Done, Checks::Red) => self.another_round(
                |number, of| Step::FixRound { number, of },
                "the checks fail",
            ),
            (Outcome::Done, _) => self.another_round(
                |number, of| Step::FixRound { number, of },
                "the checks are flaky",
            ),
            _ => self.another_round(
                |number, of| Step::FixRound { number, of },
                "the agent did not finish",
            ),
        }
    }

    fn another_round(&mut self, step: impl Fn(u32, u32) -> Step, why: &str) -> Step {
        let of = self.limits.fix_rounds;
        if self.fixed >= of {
            let rounds = if of == 1 {
                "1 fix round is".to_owned()
            } else {
                format!("{of} fix rounds are")
            };
            return Step::Stop {
                exit: Exit::Person,
                why: format!("{why}, and {rounds} spent"),
            };
        }
        self.fixed += 1;
        step(self.fixed, of)
    }

    /// After a rollback: the next attempt, or `None` when none is left.
    pub(crate) fn after_trip(&mut self) -> Option<(u32, Recovery)> {
        if self.attempt >= self.limits.attempts {
            return None;
        }
        *self = Self {
            attempt: self.attempt + 1,
            ..Self::new(self.limits)
        };
        let recovery = match self.attempt {
            last if last == self.limits.attempts => Recovery::Summary,
            1 => Recovery::Alternative,
            _ => Recovery::Systemic,
        };
        Some((self.attempt, recovery))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(attempts: u32, fix_rounds: u32) -> Limits {
        Limits {
            attempts,
            fix_rounds,
        }
    }

    fn good() -> Judgement {
        Judgement {
            protected: false,
            rule: false,
            outcome: Outcome::Done,
            budget: None,
            changed: true,
            checks: Checks::Green,
            evidence: false,
            tools_trip: None,
            checks_trip: None,
            warn_when_green: false,
        }
    }

    fn red() -> Judgement {
        Judgement {
            checks: Checks::Red,
            ..good()
        }
    }

    fn exit_of(step: &Step) -> Option<Exit> {
        match step {
            Step::Stop { exit, .. } => Some(*exit),
            _ => None,
        }
    }

    #[test]
    fn all_good_seals() {
        assert_eq!(
            Progress::new(limits(3, 2)).judge(&good()),
            Step::Seal { warning: None }
        );
    }

    #[test]
    fn ever_different_failures_spend_the_fix_rounds_and_keep_the_work() {
        let mut progress = Progress::new(limits(3, 2));
        assert_eq!(progress.judge(&red()), Step::FixRound { number: 1, of: 2 });
        assert_eq!(progress.judge(&red()), Step::FixRound { number: 2, of: 2 });
        assert_eq!(exit_of(&progress.judge(&red())), Some(Exit::Person));
    }

    #[test]
    fn evidence_that_is_lacking_is_asked_for_until_the_fix_rounds_are_spent_and_never_sealed() {
        let lacking = Judgement {
            evidence: true,
            ..good()
        };
        let mut progress = Progress::new(limits(3, 2));
        for number in 1..=2 {
            assert_eq!(
                progress.judge(&lacking),
                Step::FixRound { number, of: 2 },
                "round {number}"
            );
        }
        assert_eq!(
            progress.judge(&lacking),
            Step::Stop {
                exit: Exit::Person,
                why: "the evidence is not complete, and 2 fix rounds are spent".into()
            }
        );
        let mut progress = Progress::new(limits(3, 2));
        progress.judge(&lacking);
        assert_eq!(progress.judge(&good()), Step::Seal { warning: None });
        // Red checks come first, whatever the files claim.
        let mut progress = Progress::new(limits(3, 0));
        let red = Judgement {
            evidence: true,
            ..red()
        };
        assert!(matches!(progress.judge(&red), Step::Stop { why, .. } if why.contains("checks")));
    }

    #[test]
    fn each_finding_of_the_table_first_and_again() {
        let trip =
            |j: &Judgement| matches!(Progress::new(limits(3, 2)).judge(j), Step::Trip { .. });
        assert!(trip(&Judgement {
            checks_trip: Some("again".into()),
            ..red()
        }));
        assert!(
            trip(&Judgement {
                tools_trip: Some("thrice".into()),
                ..good()
            }),
            "also when checks are green"
        );
        let warned = Judgement {
            tools_trip: Some("thrice".into()),
            warn_when_green: true,
            ..good()
        };
        assert_eq!(
            Progress::new(limits(3, 2)).judge(&warned),
            Step::Seal {
                warning: Some("thrice".into())
            }
        );
        assert!(
            trip(&Judgement {
                checks: Checks::Red,
                ..warned
            }),
            "warn needs green checks"
        );

        let protected = Judgement {
            protected: true,
            checks: Checks::NotRun,
            ..good()
        };
        let mut progress = Progress::new(limits(3, 2));
        assert_eq!(
            progress.judge(&protected),
            Step::FixRound { number: 1, of: 2 }
        );
        assert!(matches!(progress.judge(&protected), Step::Trip { .. }));

        let rule = Judgement {
            rule: true,
            checks: Checks::NotRun,
            ..good()
        };
        let mut progress = Progress::new(limits(3, 2));
        assert_eq!(progress.judge(&rule), Step::Restore { number: 1, of: 2 });
        assert!(matches!(progress.judge(&rule), Step::Trip { .. }));

        for outcome in [
            Outcome::Failed,
            Outcome::Timeout,
            Outcome::Capped,
            Outcome::Killed,
        ] {
            let mut progress = Progress::new(limits(3, 1));
            let cut = Judgement { outcome, ..good() };
            assert_eq!(progress.judge(&cut), Step::FixRound { number: 1, of: 1 });
            assert_eq!(exit_of(&progress.judge(&cut)), Some(Exit::Person));
        }
        for outcome in [Outcome::Unusable, Outcome::Limited, Outcome::Unreachable] {
            let step = Progress::new(limits(3, 2)).judge(&Judgement {
                outcome,
                tools_trip: Some("x".into()),
                ..good()
            });
            assert_eq!(
                exit_of(&step),
                Some(Exit::Person),
                "never the code's: no rollback"
            );
        }
        let spent = Judgement {
            budget: Some("5 USD".into()),
            ..good()
        };
        assert_eq!(
            exit_of(&Progress::new(limits(3, 2)).judge(&spent)),
            Some(Exit::Budget)
        );

        let nothing = Judgement {
            outcome: Outcome::NoOp,
            changed: false,
            ..good()
        };
        let mut progress = Progress::new(limits(3, 2));
        assert_eq!(
            progress.judge(&nothing),
            Step::FixRound { number: 1, of: 2 }
        );
        assert_eq!(exit_of(&progress.judge(&nothing)), Some(Exit::Person));
        assert_eq!(
            Progress::new(limits(3, 2)).judge(&Judgement {
                checks: Checks::Flaky,
                ..good()
            }),
            Step::FixRound { number: 1, of: 2 }
        );
    }

    #[test]
    fn recoveries_escalate_and_end() {
        use Recovery::{Alternative, Summary, Systemic};
        let all = |attempts| {
            let mut progress = Progress::new(limits(attempts, 2));
            std::iter::from_fn(move || progress.after_trip().map(|(_, r)| r)).collect::<Vec<_>>()
        };
        assert_eq!(all(0), []);
        assert_eq!(all(1), [Summary]);
        assert_eq!(all(2), [Alternative, Summary]);
        assert_eq!(all(3), [Alternative, Systemic, Summary]);
        assert_eq!(all(5), [Alternative, Systemic, Systemic, Systemic, Summary]);
    }

    #[test]
    fn a_summary_is_never_judged_as_work() {
        let mut progress = Progress::new(limits(1, 2));
        progress.after_trip();
        assert_eq!(progress.judge(&red()), Step::Summed);
    }

    /// Whatever the judgements are, a cycle makes no more launches than it says.
    #[test]
    fn every_sequence_ends_within_the_named_cap() {
        let kinds = [
            red(),
            Judgement {
                checks_trip: Some("x".into()),
                ..red()
            },
            Judgement {
                protected: true,
                ..good()
            },
            Judgement {
                rule: true,
                ..good()
            },
            Judgement {
                outcome: Outcome::Timeout,
                ..good()
            },
            Judgement {
                outcome: Outcome::NoOp,
                changed: false,
                ..good()
            },
        ];
        let mut seed = 7_u64;
        for round in 0..5000 {
            let limits = limits(round % 5, round / 5 % 4);
            let mut progress = Progress::new(limits);
            let mut launches = 0;
            loop {
                launches += 1;
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                match progress.judge(&kinds[usize::try_from(seed >> 33).unwrap() % kinds.len()]) {
                    Step::FixRound { .. } | Step::Restore { .. } => {}
                    Step::Trip { .. } if progress.after_trip().is_some() => {}
                    _ => break,
                }
            }
            assert!(
                launches <= limits.most_launches(),
                "{launches} launches with {limits:?}"
            );
        }
    }
}
