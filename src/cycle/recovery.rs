//! After a crash: what the journal says was under way is ended, finished or undone before anything else, and said. Run it again and it
//! finds nothing to do. The caller holds the worktree's lock, which a hardened git that outlived us would hold too.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::{checkpoint as committed, launch, rolled_back};
use crate::archive::rollback::{self, Way};
use crate::archive::{Order, list, restore};
use crate::exit::{Exit, Refusal};
use crate::gate::Pass;
use crate::git::hardened::Hardened;
use crate::git::{self, Oid, leftover, state};
use crate::guard::Noted;
use crate::journal::{self, Entry, Target};
use crate::judge::leaks;
use crate::ledger::{Kind, Record, cache, checkpoint, notes};
use crate::process::{self, Identity};
use crate::text;
use crate::ui::{Tone, Ui};

/// How long a git of the user's may take to be done before locks that a killed one left are looked at.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ends, finishes or undoes what a killed command left half-done in this worktree.
pub(crate) fn settle(pass: &Pass, ui: &Ui) -> Result<()> {
    let worktree = &pass.worktree;
    remove_private_leftovers(pass)?;
    remove_old_locks(pass, ui)?;
    if let Some(child) = journal::running_check(worktree) {
        let ended = process::kill_tree(Some(&child), "check").context("ending a check")?;
        if ended > 0 {
            let processes = text::counted(ended, "process");
            let what =
                format!("a check of a command that was cut off still ran: {processes} ended");
            ui.say(Tone::Warn, what);
        }
        journal::check_over(worktree)?;
    }
    let entry = journal::read(worktree);
    // A git commit that was cut off may still read the index that it was given.
    if !matches!(entry, Some(Entry::Commit { .. })) {
        remove_indexes(pass)?;
    }
    let Some(entry) = entry else {
        return Ok(());
    };
    if let Entry::Commit { branch, .. } | Entry::Rollback { branch, .. } = &entry
        && !is_there(pass, branch, entry.name(), ui)?
    {
        return journal::clear(worktree);
    }
    match entry {
        Entry::Launch { run, child } => end_launch(pass, &run, &child, ui)?,
        Entry::Commit {
            branch,
            before,
            tree,
            child,
        } => {
            end_commit(pass, &branch, child.as_ref())?;
            remove_indexes(pass)?;
            commit(pass, &branch, before, tree, ui)?;
        }
        Entry::Rollback {
            run,
            branch,
            why,
            target,
            nested,
            archive,
        } => {
            let order = Order {
                run: &run,
                why: &why,
                rules_of: None,
                also: &[],
            };
            let way = Way {
                target: &target,
                branch: &branch,
                nested_before: nested.as_deref(),
                archive: archive.as_deref(),
            };
            roll_back(pass, order, way, ui)?;
        }
        Entry::Restore {
            run,
            archive,
            paths,
        } => bring_back(pass, &run, &archive, &paths, ui)?,
    }
    journal::clear(worktree)
}

/// What was cut off is finished on its own branch: index and worktree are that branch's. False, and said, where the branch is gone.
///
/// # Errors
/// A [`Refusal`] where another branch is checked out.
fn is_there(pass: &Pass, branch: &str, what: &str, ui: &Ui) -> Result<bool> {
    if pass.worktree.head_ref()?.as_deref() == Some(branch) {
        return Ok(true);
    }
    let short = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    if git::find_ref(pass.worktree.repo()?, branch)?.is_none() {
        ui.warn(format!(
            "{what} on {short} was cut off, and that branch is gone: nothing was finished"
        ));
        return Ok(false);
    }
    Err(Refusal::with_exit(
        Exit::Person,
        format!("{what} on {short} was cut off here, and another branch is checked out now"),
        format!(
            "git switch {}, then try again: it is finished first",
            shell_words::quote(short)
        ),
    )
    .into())
}

fn end_launch(pass: &Pass, run: &str, child: &Identity, ui: &Ui) -> Result<()> {
    let alive = child.still_runs();
    let of = |count| text::counted(count, "process");
    let ended = process::kill_tree(Some(child), run).context("ending what still runs")?;
    let what = match (alive, ended) {
        (_, 0) => String::new(),
        (true, ended) => format!("; the agent still ran: ended {}", of(ended)),
        (false, ended) => format!("; ended {} of it that still ran", of(ended)),
    };
    ui.say(Tone::Warn, format!("run {run} was cut off{what}"));
    let git = private_git(pass)?;
    if let Some((noted, elsewhere)) = Noted::load(&pass.worktree) {
        if elsewhere {
            ui.warn(
                "what was noted of files outside the git directory was not compared: the agent could have written it",
            );
        }
        let after = launch::after(pass, &git, &noted, run, ui)?;
        launch::say_broken(&after.broken, ui);
        if !after.protected.is_empty() {
            let paths = text::visible_line(&after.protected.join(", "));
            ui.warn(format!(
                "it changed protected paths, which were put back: {paths}"
            ));
        }
        Noted::forget(&pass.worktree)?;
    }
    let archive = crate::archive::take(
        &git,
        Order {
            run,
            why: "what a cut-off run left",
            rules_of: Some(pass.worktree.tree_of(pass.head)?),
            also: &[],
        },
    )?;
    ui.say(
        Tone::Plain,
        format!("its work is on disk, and archived as {}", archive.id),
    );
    // The agent could have written it.
    cache::forget(&pass.worktree)
}

/// The commit is made or it is not: what still makes it is ended, and its locks are nobody's then.
fn end_commit(pass: &Pass, branch: &str, child: Option<&Identity>) -> Result<()> {
    if let Some(child) = child {
        process::kill_tree(Some(child), "commit").context("ending a commit")?;
    }
    remove_commit_locks(pass, branch)
}

/// The locks that a `git commit` of ours on `branch` (full ref name) left, which has ended.
pub(super) fn remove_commit_locks(pass: &Pass, branch: &str) -> Result<()> {
    let worktree = &pass.worktree;
    let locks = [
        worktree.git_dir().join("HEAD.lock"),
        worktree.git_dir().join("AUTO_MERGE.lock"),
        worktree.common_dir().join(format!("{branch}.lock")),
        worktree.common_dir().join("packed-refs.lock"),
        // git would never again tidy up by itself.
        worktree.common_dir().join("objects/maintenance.lock"),
    ];
    let there = || locks.iter().find(|lock| lock.symlink_metadata().is_ok());
    let until = Instant::now() + PATIENCE;
    while let Some(lock) = there() {
        if leftover::is_dead(worktree, lock) {
            state::remove(lock)?;
        } else if Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        } else {
            return Err(Refusal::with_exit(
                Exit::Person,
                format!(
                    "{} was left by a checkpoint that was cut off, but a git runs in this repository",
                    lock.display()
                ),
                "let it end, then try again",
            )
            .into());
        }
    }
    Ok(())
}

/// The index follows the commit; a commit that was not made leaves everything as it was, and one that does not hold is undone.
fn commit(pass: &Pass, branch: &str, before: Oid, tree: Oid, ui: &Ui) -> Result<()> {
    let worktree = &pass.worktree;
    let repo = worktree.repo()?;
    let now = git::find_ref(repo, branch)?.and_then(|r| r.target().try_id().map(ToOwned::to_owned));
    let made = match now.filter(|now| *now != before) {
        Some(now)
            if repo
                .find_commit(now)?
                .parent_ids()
                .next()
                .is_some_and(|p| p == before) =>
        {
            checkpoint::read(worktree, now)?
        }
        _ => None,
    };
    let Some(made) = made else {
        ui.say(
            Tone::Warn,
            "a checkpoint was cut off before its commit: nothing was committed",
        );
        return Ok(());
    };
    let name = made.commit.to_hex_with_len(12);
    if made.fault.is_some() || made.tree != tree {
        committed::take_back(worktree, branch, before, made.commit)?;
        let what = "a hook had changed its files, and they were not tested";
        let what = format!("a checkpoint was cut off after its commit {name}: undone, {what}");
        ui.say(Tone::Warn, what);
        return Ok(());
    }
    let index = worktree.state_dir().join("settled.index");
    worktree
        .git()
        .call(["read-tree", &made.commit.to_string()])
        .env("GIT_INDEX_FILE", &index)
        .run()
        .context("bringing the index up to the checkpoint")?;
    rollback::install_index(worktree, &index)?;
    state::remove(&index)?;
    if !made.proven {
        let mut fields = committed::record_fields(&made);
        fields["settled"] = true.into();
        let record = Record::new(Kind::Checkpoint, fields);
        notes::append(worktree, made.commit, &[record])?;
    }
    ui.say(
        Tone::Warn,
        format!("a checkpoint was cut off after its commit {name}: finished"),
    );
    Ok(())
}

fn roll_back(pass: &Pass, order: Order<'_>, way: Way<'_>, ui: &Ui) -> Result<()> {
    let worktree = &pass.worktree;
    let target: &Target = way.target;
    let report = rollback::roll_back(&private_git(pass)?, order, way)?;
    // The work is what the first try put away; what that try left half-done is in the other.
    let first = match way.archive {
        Some(id) => list::find(worktree, id)?,
        None => list::find(worktree, &report.archive.id)?,
    };
    let mut fields = rolled_back::record_fields(&report, target, order.why, &pass.branch);
    fields["settled"] = true.into();
    if report.archive.id != first.id {
        fields["archive"] = first.id.as_str().into();
        fields["archived"] = first.commit.to_string().into();
        fields["half_done"] = report.archive.id.as_str().into();
    }
    let record = Record::new(Kind::Rollback, fields);
    notes::append(worktree, target.commit, &[record])?;
    ui.say(
        Tone::Warn,
        format!(
            "a rollback was cut off: finished; what was there is archived as {}",
            first.id
        ),
    );
    Ok(())
}

fn bring_back(pass: &Pass, run: &str, archive: &str, paths: &[Vec<u8>], ui: &Ui) -> Result<()> {
    let archive = list::find(&pass.worktree, archive)?;
    let (before, written) =
        restore::into_worktree(&private_git(pass)?, &archive, paths, run, true)?;
    ui.say(
        Tone::Warn,
        format!(
            "a restore of {} was cut off: finished, {}; what was there before is archived below {}",
            archive.id,
            text::counted(written.len(), "path"),
            before
                .id
                .rsplit_once('/')
                .map_or(&*before.id, |(run, _)| run)
        ),
    );
    Ok(())
}

/// The private git directory as it was when the command was cut off, or a new one.
fn private_git(pass: &Pass) -> Result<Hardened<'_>> {
    if let Some(git) = Hardened::existing(&pass.worktree)
        && git.index().exists()
    {
        return Ok(git);
    }
    let git = Hardened::prepare(&pass.worktree)?;
    git.seed_index()?;
    Ok(git)
}

/// What a killed command left in the private git directory, of copies for gitleaks, and of the lock of the user's index. A hardened git that goes
/// on would hold our lock.
fn remove_private_leftovers(pass: &Pass) -> Result<()> {
    remove_named(&pass.worktree.state_dir().join("private"), &["index."])?;
    remove_named(&pass.worktree.state_dir(), &[leaks::COPIES])?;
    rollback::remove_own_index_lock(&pass.worktree)
}

/// The indexes of checkpoints that a killed command left, in which the user's git works.
fn remove_indexes(pass: &Pass) -> Result<()> {
    let ours = ["checkpoint.", "settled.index", "config.before"];
    remove_named(&pass.worktree.state_dir(), &ours)
}

/// Removes what is in `folder` and whose name begins so.
fn remove_named(folder: &Path, starts: &[&str]) -> Result<()> {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is = |start: &&str| name.as_encoded_bytes().starts_with(start.as_bytes());
        if !starts.iter().any(is) {
            continue;
        }
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(&path).with_context(|| format!("removing {}", path.display()))?;
        } else {
            state::remove(&path)?;
        }
    }
    Ok(())
}

/// Locks that would be in our way: what is older than ten minutes and open in no process is nobody's.
fn remove_old_locks(pass: &Pass, ui: &Ui) -> Result<()> {
    let (own, common) = (pass.worktree.git_dir(), pass.worktree.common_dir());
    for lock in [
        own.join("index.lock"),
        own.join("HEAD.lock"),
        common.join(format!("{}.lock", pass.branch_ref())),
        common.join(format!("{}.lock", notes::REF)),
        common.join("packed-refs.lock"),
    ] {
        if leftover::remove_old(&pass.worktree, &lock)? {
            ui.say(
                Tone::Warn,
                format!(
                    "{} was older than ten minutes and nobody's: removed",
                    lock.display()
                ),
            );
        }
    }
    Ok(())
}
