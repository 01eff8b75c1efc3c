//! What `init --undo` removes on request alone: what was put away, all scratch and state, and the ledger. Checkpoints are commits of the
//! user's branches, and stay.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};

use crate::exit::{Exit, Refusal};
use crate::gate;
use crate::git::Worktree;

/// Refuses while something works here that needs what would go.
pub(super) fn may(worktree: &Worktree) -> Result<()> {
    for there in everywhere(worktree)? {
        if let Some(pid) = gate::Lock::holder(&there) {
            return Err(Refusal::with_exit(
                Exit::Locked,
                format!(
                    "process {pid} holds {}; nothing was removed",
                    there.root().display()
                ),
                "wait for it or end it, then try again",
            )
            .into());
        }
    }
    Ok(())
}

/// Removes archives, claims and tracking refs, and the scratch and state of every worktree; a line for each kind.
pub(super) fn kept(worktree: &Worktree) -> Result<Vec<String>> {
    let mut did = Vec::new();
    did.extend(refs(worktree, "refs/arkaint/", "what was put away")?);
    for there in everywhere(worktree)? {
        for folder in [there.root().join(".arkaint"), there.state_dir()] {
            did.extend(remove_folder(&folder)?);
        }
    }
    did.extend(remove_folder(&worktree.common_dir().join("arkaint"))?);
    Ok(did)
}

/// Removes the ledger and the pages of verdicts.
pub(super) fn ledger(worktree: &Worktree) -> Result<Option<String>> {
    refs(worktree, "refs/notes/arkaint/", "the ledger")
}

/// This worktree and the others of the repository that are there.
fn everywhere(worktree: &Worktree) -> Result<Vec<Worktree>> {
    let places = worktree.worktrees()?;
    Ok(places
        .iter()
        .filter_map(|place| Worktree::discover(&place.root).ok())
        .collect())
}

/// Deletes the refs below `prefix`, each as it was when it was read.
fn refs(worktree: &Worktree, prefix: &str, what: &str) -> Result<Option<String>> {
    let git = worktree.git();
    let deletes = git
        .call(["for-each-ref", "--format=delete %(refname) %(objectname)"])
        .arg(prefix)
        .text()?;
    let count = deletes.lines().count();
    if count == 0 {
        return Ok(None);
    }
    git.call(["update-ref", "--stdin"])
        .stdin_lines(deletes.lines())
        .run()
        .with_context(|| format!("removing {what}"))?;
    // git leaves the folders around them.
    for folder in ["refs", "logs/refs"] {
        for name in ["arkaint", "notes"] {
            let _ = fs::remove_dir(worktree.common_dir().join(folder).join(name));
        }
    }
    let refs = if count == 1 { "ref" } else { "refs" };
    Ok(Some(format!("{prefix}: removed, {what} ({count} {refs})")))
}

fn remove_folder(folder: &Path) -> Result<Option<String>> {
    match fs::remove_dir_all(folder) {
        Ok(()) => Ok(Some(format!("{}: removed", folder.display()))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("removing {}", folder.display())),
    }
}
