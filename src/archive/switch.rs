//! The step that changes the worktree: from one tree to another, only what differs, all or nothing. Where git cannot write any more it is
//! switched back. It archives nothing: `from` is archived.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use anyhow::Result;

use super::Snapshot;
use crate::exit::{Exit, Refusal};
use crate::git::Oid;
use crate::git::hardened::{Attributes, Hardened};
use crate::journal;

/// What became of it.
pub(super) enum Switched {
    Done,
    /// A file is not as `from` has it, git's words; nothing was changed.
    Moved(String),
}

/// Switches what is in `from` and on disk to `to`; the private index holds `archive`, which has that and all else. `again`: to finish what a
/// killed command began.
///
/// # Errors
/// A [`Refusal`] when git could not write: the worktree is as it was then and the journal clear, or, where not even that could be done, the
/// journal has what is to be finished.
pub(super) fn switch(
    git: &Hardened<'_>,
    attributes: Attributes,
    from: Oid,
    to: Oid,
    archive: &Snapshot,
    again: bool,
) -> Result<Switched> {
    let opened = open_folders(git, from, to)?;
    let out = git
        .call(attributes, ["read-tree", "-m", "-u"])
        .args([from.to_string(), to.to_string()])
        .output()?;
    if out.code == Some(0) {
        return Ok(Switched::Done);
    }
    // git looks at every file before it touches the first.
    let before_the_first_step = [
        "not uptodate",
        "would be overwritten",
        "would be removed",
        "would lose untracked",
    ];
    if before_the_first_step
        .iter()
        .any(|words| out.stderr.contains(words))
    {
        close(&opened);
        return Ok(Switched::Moved(out.reason()));
    }
    let reason = out.reason();
    let (cause, hint) = match undo(git, archive.tree) {
        Ok(()) => {
            close(&opened);
            // What the cut-off try left half-done is still to be finished.
            if !again {
                journal::clear(git.worktree())?;
            }
            (
                format!("files could not be written, everything is as it was: {reason}"),
                "make room on the disk, then try again",
            )
        }
        Err(error) => (
            format!(
                "files could not be written ({reason}), nor put back ({error:#}); archive {} has all of them",
                archive.id
            ),
            "make room on the disk, then git arkaint rollback: it is finished first",
        ),
    };
    Err(Refusal::with_exit(Exit::Person, cause, hint).into())
}

/// Gives the owner leave to write in the folders where something is to be removed or written: git only warns there, and leaves it. Returns
/// those that were opened and the modes they had, each before what lies in it.
fn open_folders(git: &Hardened<'_>, from: Oid, to: Oid) -> Result<Vec<(PathBuf, u32)>> {
    let (mut seen, mut opened) = (BTreeSet::new(), Vec::new());
    for path in git.worktree().changed_entries(from, to)? {
        let parts: Vec<&[u8]> = path.split(|b| *b == b'/').collect();
        let mut folder = git.worktree().root().to_owned();
        for part in &parts[..parts.len() - 1] {
            folder.push(OsStr::from_bytes(part));
            // A link is not followed, and what is no folder is git's to replace.
            let Ok(meta) = folder.symlink_metadata() else {
                break;
            };
            let mode = meta.permissions().mode();
            if !meta.is_dir() {
                break;
            }
            if seen.insert(folder.clone()) && mode & 0o700 != 0o700 {
                // Where that is refused, git says what it could not do.
                let _ = fs::set_permissions(&folder, Permissions::from_mode(mode | 0o700));
                opened.push((folder.clone(), mode));
            }
        }
    }
    Ok(opened)
}

/// What was not switched is as it was, the modes of its folders too.
fn close(opened: &[(PathBuf, u32)]) {
    for (folder, mode) in opened.iter().rev() {
        // Somebody may have taken it away, or put a link in its place, meanwhile.
        if folder.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            let _ = fs::set_permissions(folder, Permissions::from_mode(*mode));
        }
    }
}

/// Back to what was archived. A git that failed has not written its index: that still says so.
fn undo(git: &Hardened<'_>, archived: Oid) -> Result<()> {
    let now = git.content_tree(&git.index(), Attributes::Raw)?.tree;
    git.call(Attributes::Raw, ["read-tree", "-m", "-u"])
        .args([now.to_string(), archived.to_string()])
        .run()
}

#[cfg(test)]
mod tests {
    use super::super::{Order, take};
    use super::*;
    use crate::git::fixture::Repo;

    #[test]
    fn folders_that_were_opened_for_a_switch_that_is_refused_are_closed_again() {
        let repo = Repo::new();
        repo.write("sub/deep/a", "one");
        repo.commit("start");
        repo.write("sub/deep/a", "two");
        let worktree = repo.worktree();
        let git = Hardened::prepare(&worktree).unwrap();
        git.seed_index().unwrap();
        let order = Order {
            run: "run",
            why: "a test",
            rules_of: None,
            also: &[],
        };
        let archive = take(&git, order).unwrap();
        let to = worktree.tree_of(worktree.head().unwrap().unwrap()).unwrap();
        // It changes after the archive.
        repo.write("sub/deep/a", "three");
        let modes = || {
            let mode = |name| repo.path(name).metadata().unwrap().permissions().mode() & 0o777;
            [mode("sub"), mode("sub/deep")]
        };
        for folder in ["sub/deep", "sub"] {
            fs::set_permissions(repo.path(folder), Permissions::from_mode(0o555)).unwrap();
        }
        let switch = || {
            let attributes = Attributes::AsCommitted;
            switch(&git, attributes, archive.tree, to, &archive, false).unwrap()
        };
        assert!(matches!(switch(), Switched::Moved(_)));
        assert_eq!(modes(), [0o555, 0o555]);
        repo.write("sub/deep/a", "two");
        let again = take(&git, order).unwrap();
        assert_eq!(again.tree, archive.tree);
        assert!(matches!(switch(), Switched::Done));
        assert_eq!(fs::read(repo.path("sub/deep/a")).unwrap(), b"one");
    }
}
