//! Every end of a cycle, and what it says: sealed, stopped, summed up, out of attempts, interrupted. It takes no decision.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::checkpoint::{self, Made};
use super::judging::Launched;
use super::open::{self, Open};
use super::{rolled_back, run, scratch};
use crate::agent::Outcome;
use crate::archive::{self, Order, retention};
use crate::decay::Scale;
use crate::evidence::assess::Verdict;
use crate::exit::{Exit, Refusal};
use crate::gate::Pass;
use crate::git::hardened::Hardened;
use crate::journal;
use crate::ledger::{Kind, Record, notes};
use crate::ui::{Tone, Ui};

/// How a cycle ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub exit: Exit,
    /// One line for people.
    pub line: String,
    /// The launches changed nothing: there is no more to do.
    pub no_op: bool,
    pub json: Value,
}

pub(super) fn seal(
    pass: &Pass,
    open: &Open,
    launched: &Launched,
    warning: Option<&str>,
    ui: &Ui,
) -> Result<Ended> {
    if let Some(why) = warning {
        ui.warn(format!("sealed although a tool kept failing: {why}"));
    }
    if !pass.config.cycle.seal {
        finish(pass, &launched.run)?;
        let line = format!(
            "done in {}: checks are green, the work is on disk, not committed (cycle.seal = false)",
            launches(open.launches)
        );
        ui.say(Tone::Good, &line);
        return Ok(ended(Exit::Done, line, open, launched, None));
    }
    let order = checkpoint::Order {
        message: launched.said.clone(),
        task: open.task.clone(),
        provider: launched.provider.clone(),
        model: launched.model.clone(),
        token_load: open.tokens.map_or("unknown".to_owned(), |t| t.to_string()),
        run: Some(launched.run.clone()),
        always: true,
        known_green: launched.green,
    };
    let made = match checkpoint::make(pass, &order, ui) {
        Ok(Made::New(made)) => made,
        Ok(Made::Nothing(at_head)) => at_head.context("a cycle's checkpoint is always there")?,
        Err(error) => {
            // The work stays on disk: what refused it (a hook, a secret, a signer) is for a person.
            finish(pass, &launched.run)?;
            let Some(refusal) = error.downcast_ref::<Refusal>() else {
                return Err(error);
            };
            ui.error(
                &format!(
                    "the work is green but could not be sealed: {}",
                    refusal.cause
                ),
                &refusal.hints,
            );
            let exit = if matches!(refusal.exit, Exit::Interrupted(_)) {
                refusal.exit
            } else {
                Exit::Person
            };
            return Ok(ended(
                exit,
                format!("not sealed: {}", refusal.cause),
                open,
                launched,
                None,
            ));
        }
    };
    if let Some((proof, standing)) = &launched.proven {
        let (worktree, config) = (&pass.worktree, &pass.config);
        proof.keep(worktree, config, standing, made.commit, made.tree)?;
        for row in standing.assessment.of(Verdict::Held) {
            ui.warn(&row.reason);
        }
    }
    finish(pass, &launched.run)?;
    let line = format!(
        "sealed as {} after {}",
        made.commit.to_hex_with_len(12),
        launches(open.launches)
    );
    ui.say(Tone::Good, &line);
    Ok(ended(
        Exit::Done,
        line,
        open,
        launched,
        Some(&made.commit.to_string()),
    ))
}

pub(super) fn stop(
    pass: &Pass,
    open: &Open,
    launched: &Launched,
    exit: Exit,
    why: &str,
    ui: &Ui,
) -> Result<Ended> {
    finish(pass, &launched.run)?;
    let line = format!(
        "stopped after {}: {why}; the work is kept on disk",
        launches(open.launches)
    );
    let hint = match (launched.judgement.outcome, exit) {
        (_, Exit::Budget) => {
            "raise [budget] in arkaint.toml and commit it, then cycle again".to_owned()
        }
        (Outcome::Unusable | Outcome::Limited | Outcome::Unreachable, _) => {
            format!("{}; then cycle again on the same task", launched.reason)
        }
        _ => format!(
            "see git arkaint explain {}; keep: git arkaint checkpoint; put away: git arkaint rollback",
            launched.run
        ),
    };
    ui.error(&line, &[hint]);
    let mut done = ended(exit, line, open, launched, None);
    done.no_op = launched.judgement.outcome == Outcome::NoOp;
    Ok(done)
}

/// The last attempt: keep the summary, undo its edits, stop for the operator.
pub(super) fn summed(pass: &Pass, open: &Open, launched: &Launched, ui: &Ui) -> Result<Ended> {
    let summary = if launched.said.is_empty() {
        format!("(the agent left none: {})", launched.reason)
    } else {
        launched.said.clone()
    };
    let report = run::roll_back(
        pass,
        open,
        launched,
        "the summary attempt: its edits are undone",
        ui,
    )?;
    let mut fields =
        rolled_back::record_fields(&report, &open.target, "attempts spent", &pass.branch);
    fields["summary"] = summary.as_str().into();
    fields["run"] = launched.run.as_str().into();
    fields["cycle"] = open.id.as_str().into();
    notes::append(
        &pass.worktree,
        open.on,
        &[Record::new(Kind::Rollback, fields)],
    )?;
    journal::clear(&pass.worktree)?;
    finish(pass, &launched.run)?;
    let line = format!(
        "attempts spent after {}: the worktree is at the last stable state",
        launches(open.launches)
    );
    ui.say(Tone::Head, "summary for the operator:");
    ui.say(Tone::Plain, &summary);
    ui.error(
        &line,
        &["every attempt is kept: git arkaint discarded list".to_owned()],
    );
    let mut done = ended(Exit::Person, line, open, launched, None);
    done.json["summary"] = summary.into();
    Ok(done)
}

pub(super) fn out_of_attempts(pass: &Pass, open: &Open, why: &str, ui: &Ui) -> Result<Ended> {
    finish(pass, &open.id)?;
    let line = format!(
        "stopped after {}: {why}; rolled back, and cycle.attempts = {} allows no recovery",
        launches(open.launches),
        run::limits(pass).attempts
    );
    ui.error(
        &line,
        &["every attempt is kept: git arkaint discarded list".to_owned()],
    );
    Ok(Ended {
        exit: Exit::Person,
        no_op: false,
        json: json!({"v": 1, "cycle": open.id, "exit": 3, "line": line, "launches": open.launches}),
        line,
    })
}

pub(super) fn interrupted(
    pass: &Pass,
    open: &Open,
    launched: &Launched,
    signal: i32,
    ui: &Ui,
) -> Result<Ended> {
    let git = Hardened::existing(&pass.worktree).context("the private git directory is gone")?;
    let rules_of = Some(launched.before.tree);
    let archive = archive::take(
        &git,
        Order {
            run: &launched.run,
            why: "what an interrupted launch left",
            rules_of,
            also: &[],
        },
    )?;
    open::save(&pass.worktree, open)?;
    let line = format!(
        "interrupted; the work is on disk, and archived as {}",
        archive.id
    );
    ui.error(
        &line,
        &[
            "go on with it: git arkaint cycle on the same task; put it away: git arkaint rollback"
                .to_owned(),
        ],
    );
    Ok(ended(
        Exit::Interrupted(u8::try_from(signal).unwrap_or(2)),
        line,
        open,
        launched,
        None,
    ))
}

/// Nothing is open any more; old runs and archives go by the retention.
fn finish(pass: &Pass, run: &str) -> Result<()> {
    open::clear(&pass.worktree)?;
    if let Some(head) = pass.worktree.head()? {
        // For the next launches; nobody waits for a launch now. Without it the published threshold holds.
        let _ = Scale::fit(&pass.worktree, head);
    }
    scratch::prune(&pass.worktree, &pass.config.retention)?;
    retention::prune(&pass.worktree, &pass.config.retention, run)?;
    Ok(())
}

fn ended(
    exit: Exit,
    line: String,
    open: &Open,
    launched: &Launched,
    checkpoint: Option<&str>,
) -> Ended {
    let json = json!({
        "v": 1, "cycle": open.id, "run": launched.run, "exit": exit.code(), "line": line, "launches": open.launches,
        "outcome": launched.judgement.outcome.word(), "checkpoint": checkpoint, "tokens": open.tokens, "findings": launched.findings,
    });
    Ended {
        exit,
        line,
        no_op: false,
        json,
    }
}

fn launches(number: u32) -> String {
    if number == 1 {
        "1 launch".to_owned()
    } else {
        format!("{number} launches")
    }
}
