//! After a crash: what the journal says was under way is ended, finished or undone before anything else, and said. Run it again and it
//! finds nothing to do.

use anyhow::{Context, Result};

use crate::archive::{Order, rollback};
use crate::gate::Pass;
use crate::git::hardened::Hardened;
use crate::git::state;
use crate::journal::{self, Entry};
use crate::ledger::{Kind, Record, cache, checkpoint, notes};
use crate::process;
use crate::ui::{Tone, Ui};

/// Ends, finishes or undoes what a killed command left half-done in this worktree.
pub(crate) fn settle(pass: &Pass, ui: &Ui) -> Result<()> {
    let worktree = &pass.worktree;
    let Some(entry) = journal::read(worktree) else {
        return Ok(());
    };
    match entry {
        Entry::Launch { run, child } => {
            let alive = child.still_runs();
            let ended = process::kill_tree(Some(&child), &run).context("ending what still runs")?;
            let what = match (alive, ended) {
                (_, 0) => String::new(),
                (true, ended) => format!("; the agent still ran: {ended} processes were ended"),
                (false, ended) => format!("; {ended} of its processes still ran: ended"),
            };
            ui.say(Tone::Warn, format!("run {run} was cut off{what}"));
            keep_what_is_there(pass, &run, ui)?;
            // The agent could have written it.
            cache::forget(worktree)?;
        }
        Entry::Commit {
            branch,
            before,
            tree,
        } => {
            // The index follows the commit; a commit that was not made leaves everything as it was.
            let now = worktree
                .repo()?
                .try_find_reference(&branch)?
                .and_then(|r| r.target().try_id().map(ToOwned::to_owned));
            if let Some(now) = now.filter(|now| *now != before) {
                let made = checkpoint::read(worktree, now)?
                    .filter(|c| c.fault.is_none() && c.tree == tree);
                worktree
                    .git()
                    .call(["read-tree", &now.to_string()])
                    .run()
                    .context("bringing the index up to the checkpoint")?;
                if let Some(made) = made.filter(|c| !c.proven) {
                    let fields = serde_json::json!({
                        "commit": made.commit.to_string(), "tree": made.tree.to_string(), "state": made.state_hash,
                        "prev": made.prev.map(|p| p.to_string()), "branch": made.branch, "status": made.status.name(),
                        "task": made.task, "message": made.message, "settled": true,
                    });
                    notes::append(
                        worktree,
                        made.commit,
                        &[Record::new(Kind::Checkpoint, fields)],
                    )?;
                }
                ui.say(
                    Tone::Warn,
                    format!(
                        "a checkpoint was cut off after its commit {}: finished",
                        now.to_hex_with_len(12)
                    ),
                );
            } else {
                ui.say(
                    Tone::Warn,
                    "a checkpoint was cut off before its commit: nothing was committed",
                );
            }
        }
        Entry::Rollback {
            run,
            branch,
            why,
            target,
        } => {
            let git = match Hardened::existing(worktree) {
                Some(git) => git,
                None => Hardened::prepare(worktree)?,
            };
            if !git.index().exists() {
                git.seed_index()?;
            }
            let order = Order {
                run: &run,
                why: &why,
                rules_of: None,
                also: &[],
            };
            let report = rollback::roll_back(&git, order, &target, &branch, None)?;
            let fields = serde_json::json!({
                "why": why, "branch": pass.branch, "to": target.commit.to_string(), "archive": report.archive.id,
                "archived": report.archive.commit.to_string(), "paths": report.changed, "differs": report.differs, "settled": true,
            });
            notes::append(
                worktree,
                target.commit,
                &[Record::new(Kind::Rollback, fields)],
            )?;
            ui.say(
                Tone::Warn,
                format!(
                    "a rollback was cut off: finished, archive {}",
                    report.archive.id
                ),
            );
        }
    }
    remove_stale_private_files(pass)?;
    journal::clear(worktree)
}

/// The work that a cut-off run left on disk goes into an archive; it stays on disk too.
fn keep_what_is_there(pass: &Pass, run: &str, ui: &Ui) -> Result<()> {
    let git = match Hardened::existing(&pass.worktree) {
        Some(git) if git.index().exists() => git,
        _ => {
            let git = Hardened::prepare(&pass.worktree)?;
            git.seed_index()?;
            git
        }
    };
    let rules_of = Some(pass.worktree.tree_of(pass.head)?);
    let archive = crate::archive::take(
        &git,
        Order {
            run,
            why: "what a cut-off run left",
            rules_of,
            also: &[],
        },
    )?;
    ui.say(
        Tone::Plain,
        format!("its work is on disk, and archived as {}", archive.id),
    );
    Ok(())
}

/// A git of ours that was killed leaves the lock of a private index behind; nobody else uses those.
fn remove_stale_private_files(pass: &Pass) -> Result<()> {
    let private = pass.worktree.state_dir();
    for name in [
        "checkpoint.index.lock",
        "private/index.lock",
        "private/index.compare",
        "private/index.compare.lock",
    ] {
        state::remove(&private.join(name))?;
    }
    Ok(())
}
