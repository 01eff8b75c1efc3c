//! Finding checkpoints: by first parents from a commit, never by grep and never by dates. Reads only.

use std::collections::HashSet;

use anyhow::{Context, Result};
use gix::bstr::ByteSlice;

use super::checkpoint::{self, Checkpoint};
use crate::git::{Oid, Worktree};

/// The newest `most` checkpoints on the first-parent line of `from`, newest first: all with a complete block, stable or not.
pub(crate) fn checkpoints(worktree: &Worktree, from: Oid, most: usize) -> Result<Vec<Checkpoint>> {
    let mut found = Vec::new();
    each(worktree, from, |commit| {
        if let Some(checkpoint) = checkpoint::read(worktree, commit)? {
            found.push(checkpoint);
        }
        Ok(found.len() < most)
    })?;
    Ok(found)
}

/// All checkpoints on the first-parent line of `from`, newest first. One that stands on a checkpoint which is not before it on that line has a
/// fault too: a state was dropped in between, which no hash of what is left can tell while its object is still there.
pub(crate) fn chain(worktree: &Worktree, from: Oid) -> Result<Vec<Checkpoint>> {
    let mut all = checkpoints(worktree, from, usize::MAX)?;
    let mut before = HashSet::new();
    for checkpoint in all.iter_mut().rev() {
        if let Some(prev) = checkpoint.prev.filter(|prev| !before.contains(prev)) {
            checkpoint.fault.get_or_insert_with(|| {
                format!(
                    "the checkpoint before, {}, is not in this history",
                    prev.to_hex_with_len(12)
                )
            });
        }
        before.insert(checkpoint.commit);
    }
    Ok(all)
}

/// The newest `most` checkpoints on the first-parent line of `from` that hold by their own trailers, newest first. Stops at the last of them.
pub(crate) fn valid(worktree: &Worktree, from: Oid, most: usize) -> Result<Vec<Checkpoint>> {
    let mut found = Vec::new();
    each(worktree, from, |commit| {
        found.extend(checkpoint::read(worktree, commit)?.filter(|c| c.fault.is_none()));
        Ok(found.len() < most)
    })?;
    Ok(found)
}

/// The newest checkpoint on the first-parent line of `from` that can be relied on.
pub(crate) fn last_stable(worktree: &Worktree, from: Oid) -> Result<Option<Checkpoint>> {
    let mut found = None;
    each(worktree, from, |commit| {
        found = checkpoint::read(worktree, commit)?.filter(Checkpoint::is_stable);
        Ok(found.is_none())
    })?;
    Ok(found)
}

/// The newest checkpoint on the first-parent line of `from` that holds by its own trailers, whether the ledger knows it or not.
pub(crate) fn last_valid(worktree: &Worktree, from: Oid) -> Result<Option<Checkpoint>> {
    Ok(valid(worktree, from, 1)?.pop())
}

/// Calls `visit` with each commit on the first-parent line that could be a checkpoint, until it answers false.
fn each(worktree: &Worktree, from: Oid, mut visit: impl FnMut(Oid) -> Result<bool>) -> Result<()> {
    let repo = worktree.repo()?;
    let mut next = Some(from);
    let mut buffer = Vec::new();
    while let Some(id) = next {
        use gix::objs::FindExt as _;
        // Shallow history ends where a parent is not here.
        let Ok(commit) = repo.objects.find_commit_iter(&id, &mut buffer) else {
            break;
        };
        next = commit.parent_ids().next();
        // The cheap look first: most commits are nobody's checkpoint.
        if buffer.contains_str("\nArkaint-State-Hash: ")
            && !visit(id).with_context(|| format!("reading {id}"))?
        {
            break;
        }
    }
    Ok(())
}
