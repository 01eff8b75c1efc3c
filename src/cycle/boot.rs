//! `boot`: one launch, recorded, its rules checked; no checkpoint, no checks of the project, no correction.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::judging::Launched;
use super::launch::{self, Brief};
use super::machine::{Limits, Progress};
use super::open::{self, Open};
use super::{recovery, scratch, spending};
use crate::agent::Outcome;
use crate::archive::rollback::{self, Way};
use crate::archive::{Order, retention};
use crate::exit::Exit;
use crate::gate::Pass;
use crate::git::hardened::Hardened;
use crate::journal::{self, Target};
use crate::judge::Breaker;
use crate::ledger::record;
use crate::ui::{Tone, Ui};

/// Launches once. Exit 0 done or no-op; 1 failed, timed out or broke a rule; else as a cycle.
pub(crate) fn run(pass: &Pass, task: &str, ui: &Ui) -> Result<(Exit, Value)> {
    recovery::settle(pass, ui)?;
    spending::admit(&pass.worktree, &pass.config)?;
    let head = pass.worktree.head()?.context("HEAD has no commit")?;
    let target = Target {
        commit: head,
        tree: pass.worktree.tree_of(head)?,
        raw: false,
        index: None,
    };
    let mut open = Open {
        id: record::fresh_id(),
        task: task.to_owned(),
        profile: pass.profile.clone(),
        branch: pass.branch.clone(),
        red: false,
        target,
        on: head,
        stable_tree: None,
        progress: Progress::new(Limits {
            attempts: 0,
            fix_rounds: 0,
        }),
        breaker: Breaker::new(&pass.config.breaker),
        baseline: Vec::new(),
        nested: Vec::new(),
        launches: 0,
        tokens: Some(0),
    };
    let launched = launch::once(
        pass,
        &mut open,
        &Brief {
            instruction: None,
            in_flight: false,
            check: false,
        },
        ui,
    )?;
    if !launched.broken.is_empty() {
        restore_launch(pass, &launched, None)?;
    }
    open::clear(&pass.worktree)?;
    for finding in &launched.findings {
        ui.warn(finding);
    }
    scratch::prune(&pass.worktree, &pass.config.retention)?;
    retention::prune(&pass.worktree, &pass.config.retention, &launched.run)?;
    let exit = exit(&launched);
    let value = json!({"v": 1, "run": launched.run, "outcome": launched.judgement.outcome.word(), "reason": launched.reason, "findings": launched.findings, "exit": exit.code()});
    if exit == Exit::Done {
        ui.say(
            Tone::Good,
            "the work is on disk, untested: git arkaint checkpoint",
        );
    }
    Ok((exit, value))
}

fn exit(launched: &Launched) -> Exit {
    if let Some(signal) = launched.interrupted {
        return Exit::Interrupted(u8::try_from(signal).unwrap_or(2));
    }
    if launched.judgement.budget.is_some() {
        return Exit::Budget;
    }
    if launched.judgement.rule || launched.judgement.protected {
        return Exit::CheckFailed;
    }
    match launched.judgement.outcome {
        Outcome::Done | Outcome::NoOp => Exit::Done,
        Outcome::Unusable | Outcome::Limited | Outcome::Unreachable => Exit::Person,
        Outcome::Failed | Outcome::Timeout | Outcome::Capped | Outcome::Killed => Exit::CheckFailed,
    }
}

/// Puts worktree and index back to what they were before the launch; what was there is archived first.
pub(super) fn restore_launch(
    pass: &Pass,
    launched: &Launched,
    nested: Option<&[Vec<u8>]>,
) -> Result<rollback::Report> {
    let git = Hardened::existing(&pass.worktree).context("the private git directory is gone")?;
    let tip = pass.worktree.head()?.context("HEAD has no commit")?;
    let target = Target {
        commit: tip,
        tree: launched.before.tree,
        raw: true,
        index: None,
    };
    let why = "a rule was broken: the launch state is put back";
    let order = Order {
        run: &launched.run,
        why,
        rules_of: None,
        also: &[],
    };
    let way = Way {
        target: &target,
        branch: &pass.branch_ref(),
        nested_before: nested,
        archive: None,
    };
    let report = rollback::roll_back(&git, order, way)?;
    journal::clear(&pass.worktree)?;
    Ok(report)
}
