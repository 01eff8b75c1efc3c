//! `git arkaint rollback`: throw work away without losing it.

use anyhow::Result;

use crate::archive::Order;
use crate::archive::rollback::{self, Way};
use crate::cli::Global;
use crate::config::TestCommand;
use crate::cycle::{open, proof, recovery, rolled_back};
use crate::exit::{Exit, Refusal};
use crate::gate::{self, Ask, Branch, Pass};
use crate::git::hardened::Hardened;
use crate::journal::{self, Target};
use crate::ledger::{Kind, Record, notes, record, walk};
use crate::ui::{Tone, Ui};

pub(super) fn run(global: &Global, ui: &Ui) -> Result<Exit> {
    let pass = gate::enter(Ask {
        dir: global.dir.as_deref(),
        launch: None,
        task: None,
        branch: Branch::Isolated,
        agent: false,
    })?;
    let interrupted = open::load(&pass.worktree);
    recovery::settle(&pass, ui)?;
    let (target, nested) = match &interrupted {
        Some(open) => (open.target.clone(), Some(open.nested.clone())),
        None => (last_checkpoint(&pass)?, None),
    };
    let id = record::fresh_id();
    let git = match Hardened::existing(&pass.worktree) {
        Some(git) if interrupted.is_some() => git,
        _ => {
            let git = Hardened::prepare(&pass.worktree)?;
            git.seed_index()?;
            git
        }
    };
    let why = "rollback by the operator";
    let order = Order {
        run: &id,
        why,
        rules_of: None,
        also: &[],
    };
    let way = Way {
        target: &target,
        branch: &pass.branch_ref(),
        nested_before: nested.as_deref(),
        archive: None,
    };
    let report = rollback::roll_back(&git, order, way)?;
    let fields = rolled_back::record_fields(&report, &target, why, &pass.branch);
    notes::append(
        &pass.worktree,
        target.commit,
        &[Record::with_id(Kind::Rollback, id, fields)],
    )?;
    journal::clear(&pass.worktree)?;
    open::clear(&pass.worktree)?;
    rolled_back::say(&report, &target, ui);
    if let Some(kept) = proof::set_aside(&pass.worktree, &pass.config, &report.archive.id)? {
        ui.say(
            Tone::Plain,
            format!("its evidence is moved aside, to {}", kept.display()),
        );
    }
    if ui.is_json() {
        ui.json(&serde_json::json!({
            "archive": report.archive.id,
            "commit": target.commit.to_string(),
            "changed": report.changed,
            "differs": report.differs,
        }));
    }
    Ok(if report.differs.is_empty() {
        Exit::Done
    } else {
        Exit::Person
    })
}

fn last_checkpoint(pass: &Pass) -> Result<Target> {
    let found = walk::last_stable(&pass.worktree, pass.head)?;
    let found = found.filter(|c| {
        c.status == crate::ledger::Status::Stable
            || pass.config.checkpoint.test == TestCommand::Declared
    });
    let Some(checkpoint) = found else {
        return Err(Refusal::new(
            "this branch has no stable checkpoint to go back to",
            "git arkaint checkpoint",
        )
        .into());
    };
    Ok(Target {
        commit: checkpoint.commit,
        tree: checkpoint.tree,
        raw: false,
        index: None,
    })
}
