//! What `init --undo` removes on request alone: what was put away, all scratch and state, and the ledger. Checkpoints are commits of the
//! user's branches, and stay.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::exit::{Exit, Refusal};
use crate::gate::Lock;
use crate::git::Worktree;
use crate::{journal, text};

/// Takes the locks of all worktrees where anything ever ran, so that nothing begins while things go.
///
/// # Errors
/// A [`Refusal`] while something works in one of them, or was cut off there: it needs what would go.
pub(super) fn may(worktree: &Worktree) -> Result<Vec<Lock>> {
    let mut locks = Vec::new();
    for there in everywhere(worktree)? {
        if let Some(pid) = Lock::holder(&there) {
            return Err(refuse(
                Exit::Locked,
                &there,
                &format!("process {pid} holds"),
                "wait for it or end it, then try again".to_owned(),
            ));
        }
        if there.state_dir().exists() {
            locks.push(Lock::take(&there)?);
        }
        let go = format!(
            "git -C {}",
            shell_words::quote(&there.root().to_string_lossy())
        );
        if let Some(entry) = journal::read(&there) {
            return Err(refuse(
                Exit::Person,
                &there,
                &format!("{} was cut off in", entry.name()),
                format!("{go} arkaint checkpoint, cycle or rollback settles it first"),
            ));
        }
        if let Some(open) = journal::open_task(&there) {
            let task = text::ellipsis(&text::visible_line(&open.task), 80);
            return Err(refuse(
                Exit::Person,
                &there,
                &format!("a cycle ({task}) was interrupted in"),
                format!(
                    "put its work away: {go} arkaint rollback; keep it: {go} arkaint checkpoint"
                ),
            ));
        }
    }
    Ok(locks)
}

fn refuse(exit: Exit, there: &Worktree, what: &str, hint: String) -> anyhow::Error {
    let cause = format!("{what} {}; nothing was removed", there.root().display());
    Refusal::with_exit(exit, cause, hint).into()
}

/// Removes archives, claims and tracking refs, and the scratch and state of every worktree; `did` gets a line for each kind.
///
/// # Errors
/// When something cannot be removed; `did` has what was until then.
pub(super) fn kept(worktree: &Worktree, did: &mut Vec<String>) -> Result<()> {
    did.extend(refs(worktree, "refs/arkaint/", "what was put away")?);
    for there in everywhere(worktree)? {
        let scratch = there.root().join(".arkaint");
        let tracked = tracked_below(&there, ".arkaint")?;
        did.extend(remove_folder(&scratch, &tracked)?);
        did.extend(remove_folder(&there.state_dir(), &BTreeSet::new())?);
    }
    let common = worktree.common_dir().join("arkaint");
    did.extend(remove_folder(&common, &BTreeSet::new())?);
    Ok(())
}

/// What git tracks at or below `name`: it is the project's, whoever wrote it.
fn tracked_below(there: &Worktree, name: &str) -> Result<BTreeSet<PathBuf>> {
    let listed = there.git().call(["ls-files", "-z", "--", name]).bytes()?;
    let paths = listed.split(|b| *b == 0).filter(|path| !path.is_empty());
    Ok(paths
        .map(|path| there.root().join(OsStr::from_bytes(path)))
        .collect())
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

fn remove_folder(folder: &Path, tracked: &BTreeSet<PathBuf>) -> Result<Option<String>> {
    let shown = folder.display();
    if folder.symlink_metadata().is_err() {
        return Ok(None);
    }
    let gone = remove(folder, tracked).with_context(|| format!("removing {shown}"))?;
    Ok(Some(if gone {
        format!("{shown}: removed")
    } else {
        let kept = text::counted(tracked.len(), "file");
        format!("{shown}: kept, git tracks {kept} of it; the rest is removed")
    }))
}

/// Removes what is at `path` but for `tracked`; true where all of it is gone.
fn remove(path: &Path, tracked: &BTreeSet<PathBuf>) -> io::Result<bool> {
    if tracked.contains(path) {
        return Ok(false);
    }
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    if !meta.is_dir() {
        return fs::remove_file(path).map(|()| true);
    }
    let mode = meta.permissions().mode();
    if mode & 0o700 != 0o700 {
        // Caches of modules are read-only as a rule.
        fs::set_permissions(path, Permissions::from_mode(mode | 0o700))?;
    }
    let mut gone = true;
    for child in fs::read_dir(path)? {
        gone &= remove(&child?.path(), tracked)?;
    }
    if gone {
        fs::remove_dir(path)?;
    }
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_only_folders_go_and_tracked_files_stay() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("scratch");
        for deep in ["a/b", "c/d"] {
            fs::create_dir_all(folder.join(deep)).unwrap();
            fs::write(folder.join(deep).join("file"), "x").unwrap();
        }
        let lock = |deep: &str| {
            fs::set_permissions(folder.join(deep), Permissions::from_mode(0o500)).unwrap();
        };
        lock("a/b");
        lock("a");
        let tracked = BTreeSet::from([folder.join("c/d/file")]);
        let said = remove_folder(&folder, &tracked).unwrap().unwrap();
        assert!(said.contains("kept, git tracks 1 file of it"), "{said}");
        assert!(!folder.join("a").exists() && folder.join("c/d/file").exists());
        assert!(remove(&folder, &BTreeSet::new()).unwrap());
        assert_eq!(remove_folder(&folder, &tracked).unwrap(), None);
    }
}
