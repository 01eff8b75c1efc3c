//! A whole cycle: the opening, launches, the steps that the machine says, one of the ends. Every sequence ends, and the cap that ended it
//! is named.

use anyhow::{Context, Result};
use serde_json::json;

use super::boot::restore_launch;
use super::ending::{self, Ended};
use super::judging::Launched;
use super::launch::{self, Brief};
use super::machine::{Limits, Recovery, Step};
use super::open::{self, Open};
use super::opening;
use super::{projection, proof, recovery, rolled_back, signals, spending};
use crate::agent::Outcome;
use crate::archive::Order;
use crate::archive::rollback::{self, Way};
use crate::exit::Exit;
use crate::gate::Pass;
use crate::git::hardened::Hardened;
use crate::journal;
use crate::ledger::{Kind, Record, notes};
use crate::packet::Instruction;
use crate::packet::instruction::{self, Tripped};
use crate::ui::{Tone, Ui};

/// What a cycle is asked to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub task: &'a str,
    /// Start from failing checks.
    pub red: bool,
}

/// The most launches that a cycle can make with this configuration.
pub(crate) fn limits(pass: &Pass) -> Limits {
    Limits {
        attempts: pass.config.cycle.attempts,
        fix_rounds: pass.config.cycle.fix_rounds,
    }
}

/// Runs one cycle to its end.
pub(crate) fn run(pass: &Pass, ask: Ask<'_>, ui: &Ui) -> Result<Ended> {
    recovery::settle(pass, ui)?;
    let asked = proof::asked(&pass.worktree, &pass.config, &pass.branch, ask.task)?;
    spending::admit(&pass.worktree, &pass.config)?;
    let (mut open, mut next) = match open::load(&pass.worktree) {
        Some(open) => {
            ui.say(
                Tone::Head,
                format!("going on with cycle {} where it was interrupted", open.id),
            );
            (
                open,
                Some(Next {
                    instruction: instruction::resume(),
                    in_flight: true,
                }),
            )
        }
        None => opening::start(pass, ask, ui)?,
    };
    if let Some(proof) = asked
        && let Some(kept) = proof.take_over(&pass.worktree, &pass.config, ask.task, &open.id)?
    {
        ui.say(
            Tone::Plain,
            format!(
                "the evidence of another task is moved aside, to {}",
                kept.display()
            ),
        );
    }
    loop {
        let brief = Brief {
            instruction: next.as_ref().map(|n| &n.instruction),
            in_flight: next.as_ref().is_some_and(|n| n.in_flight),
            check: true,
        };
        let launched = launch::once(pass, &mut open, &brief, ui)?;
        if let Some(signal) = launched.interrupted {
            return ending::interrupted(pass, &open, &launched, signal, ui);
        }
        let step = open.progress.judge(&launched.judgement);
        open::save(&pass.worktree, &open)?;
        for finding in &launched.findings {
            ui.say(Tone::Warn, format!("found: {finding}"));
        }
        next = match step {
            Step::Seal { warning } => {
                return ending::seal(pass, &open, &launched, warning.as_deref(), ui);
            }
            Step::Stop { exit, why } => {
                return ending::stop(pass, &open, &launched, exit, &why, ui);
            }
            Step::Summed => return ending::summed(pass, &open, &launched, ui),
            Step::FixRound { number, of } => {
                ui.say(Tone::Head, format!("fix round {number} of {of}"));
                Some(Next {
                    instruction: fix(&launched),
                    in_flight: true,
                })
            }
            Step::Restore { number, of } => {
                let report = restore_launch(pass, &launched, Some(&open.nested))?;
                ui.say(
                    Tone::Head,
                    format!(
                        "the launch state is put back (archive {}); fix round {number} of {of}",
                        report.archive.id
                    ),
                );
                Some(Next {
                    instruction: fix(&launched),
                    in_flight: true,
                })
            }
            Step::Trip { why } => match trip(pass, &mut open, &launched, &why, ui)? {
                Some(instruction) => Some(Next {
                    instruction,
                    in_flight: false,
                }),
                None => return ending::out_of_attempts(pass, &open, &why, ui),
            },
        };
        open::save(&pass.worktree, &open)?;
        if let Err(refusal) = spending::admit(&pass.worktree, &pass.config) {
            return ending::stop(
                pass,
                &open,
                &launched,
                Exit::Budget,
                &refusal.to_string(),
                ui,
            );
        }
    }
}

/// The next launch.
pub(super) struct Next {
    pub instruction: Instruction,
    pub in_flight: bool,
}

fn fix(launched: &Launched) -> Instruction {
    if !launched.protected.is_empty() && launched.broken.is_empty() {
        return instruction::protected(&launched.protected);
    }
    let judgement = &launched.judgement;
    if judgement.evidence && judgement.outcome == Outcome::Done && launched.green.is_some() {
        return instruction::evidence(&launched.findings);
    }
    if launched.findings.is_empty() || launched.judgement.outcome == Outcome::NoOp {
        return instruction::no_op();
    }
    instruction::fix_round(&launched.findings, launched.output.as_deref())
}

/// Archive, roll back, clear the failure history. The next attempt's instruction, or `None` when no attempt is left.
fn trip(
    pass: &Pass,
    open: &mut Open,
    launched: &Launched,
    why: &str,
    ui: &Ui,
) -> Result<Option<Instruction>> {
    ui.say(Tone::Bad, format!("the breaker trips: {why}"));
    let report = roll_back(pass, open, launched, why, ui)?;
    let line = launched
        .trip
        .as_ref()
        .map(|t| t.signature.raw.clone())
        .or_else(|| launched.findings.first().cloned())
        .unwrap_or_default();
    let label = launched
        .trip
        .as_ref()
        .map_or_else(|| why.to_owned(), |t| t.signature.label.clone());
    let signature = launched.trip.as_ref().map(|t| &t.signature.hash);
    let signs = signals::of_trip(pass, open, launched)?;
    let mut records = vec![
        Record::new(
            Kind::Trip,
            json!({"run": launched.run, "cycle": open.id, "why": why, "signature": signature, "label": label, "line": line, "attempt": open.progress.attempt(), "green": launched.green.is_some()}),
        ),
        Record::new(
            Kind::Rollback,
            rolled_back::record_fields(&report, &open.target, why, &pass.branch),
        ),
    ];
    records.extend(signals::records(&signs, &launched.run, open));
    notes::append(&pass.worktree, open.on, &records)?;
    journal::clear(&pass.worktree)?;
    projection::append(&pass.worktree, &records)?;
    signals::say(&signs, ui);
    if launched.green.is_some() {
        ui.say(
            Tone::Plain,
            format!(
                "the checks were green; if the work is good: git arkaint discarded restore {}",
                report.archive.id
            ),
        );
    }
    open.breaker.reset();
    open.breaker.check_baseline(&open.baseline);
    let Some((attempt, recovery)) = open.progress.after_trip() else {
        return Ok(None);
    };
    let of = limits(pass).attempts;
    let what = match recovery {
        Recovery::Alternative => "an alternative minimal fix",
        Recovery::Systemic => "the underlying systemic cause",
        Recovery::Summary => "no more coding, a summary for the operator",
    };
    ui.say(
        Tone::Head,
        format!("recovery attempt {attempt} of {of}: {what}"),
    );
    Ok(Some(instruction::recovery(
        attempt,
        of,
        Tripped {
            label: &label,
            line: &line,
        },
    )))
}

/// The journal keeps it as under way until the caller has appended its record.
pub(super) fn roll_back(
    pass: &Pass,
    open: &Open,
    launched: &Launched,
    why: &str,
    ui: &Ui,
) -> Result<rollback::Report> {
    let git = Hardened::existing(&pass.worktree).context("the private git directory is gone")?;
    let order = Order {
        run: &launched.run,
        why,
        rules_of: None,
        also: &[],
    };
    let way = Way {
        target: &open.target,
        branch: &pass.branch_ref(),
        nested_before: Some(&open.nested),
        archive: None,
    };
    let report = rollback::roll_back(&git, order, way)?;
    rolled_back::say(&report, &open.target, ui);
    if let Some(kept) = proof::set_aside(&pass.worktree, &pass.config, &launched.run)? {
        ui.say(
            Tone::Plain,
            format!("its evidence is moved aside, to {}", kept.display()),
        );
    }
    Ok(report)
}
