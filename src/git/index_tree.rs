//! The tree of an index, made of its entries in this process: what `git write-tree` makes, without reading and writing the index again, and
//! without believing the cache of trees in it, which whoever wrote the index may have made up. It changes nothing but the object store.

use std::path::Path;

use anyhow::{Context, Result};
use gix::bstr::BString;
use gix::index::File;
use gix::index::entry::{Flags, Mode, Stage};
use gix::objs::Tree;
use gix::objs::tree::Entry;

use super::{Oid, Worktree};

/// A folder that is being filled.
#[derive(Default)]
struct Folder {
    /// Its path with a slash at the end; empty for the root.
    path: Vec<u8>,
    entries: Vec<Entry>,
}

impl Worktree {
    /// The tree of `index`, written, and the index that was read for it; `None` where only git can say: no file, a split index, conflicts, folders of
    /// a sparse index, entries that are promised to be added.
    ///
    /// # Errors
    /// When the object store cannot be written.
    pub(super) fn tree_of_index(&self, index: &Path) -> Result<Option<(Oid, File)>> {
        if !index.exists() {
            return Ok(None);
        }
        let repo = self.repo()?;
        // Half of a split one is read where its other half lies, which is not here.
        let Ok(index) = self.read_index(index) else {
            return Ok(None);
        };
        let mut open = vec![Folder::default()];
        for entry in index.entries() {
            let odd = entry.stage() != Stage::Unconflicted
                || entry.mode == Mode::DIR
                || entry.flags.contains(Flags::INTENT_TO_ADD);
            let Some(mode) = entry.mode.to_tree_entry_mode().filter(|_| !odd) else {
                return Ok(None);
            };
            let path: &[u8] = entry.path(&index);
            while !path.starts_with(&open[open.len() - 1].path) {
                close(repo, &mut open)?;
            }
            let mut from = open[open.len() - 1].path.len();
            while let Some(slash) = memchr::memchr(b'/', &path[from..]) {
                from += slash + 1;
                open.push(Folder {
                    path: path[..from].to_owned(),
                    entries: Vec::new(),
                });
            }
            let last = open.len() - 1;
            open[last].entries.push(Entry {
                mode,
                filename: BString::from(&path[from..]),
                oid: entry.id,
            });
        }
        while open.len() > 1 {
            close(repo, &mut open)?;
        }
        let root = open.pop().unwrap_or_default();
        Ok(Some((write(repo, root.entries)?, index)))
    }
}

/// Writes the innermost folder and puts it into the one around it.
fn close(repo: &gix::Repository, open: &mut Vec<Folder>) -> Result<()> {
    let folder = open.pop().context("a path outside the root")?;
    let around = open.last_mut().context("a path outside the root")?;
    let name = &folder.path[around.path.len()..folder.path.len() - 1];
    let entry = Entry {
        mode: gix::objs::tree::EntryKind::Tree.into(),
        filename: BString::from(name),
        oid: write(repo, folder.entries)?,
    };
    around.entries.push(entry);
    Ok(())
}

fn write(repo: &gix::Repository, mut entries: Vec<Entry>) -> Result<Oid> {
    // An index is sorted by whole paths, a tree as if each folder's name had a slash at its end: nearly the same.
    entries.sort();
    let tree = Tree { entries };
    super::written(|| Ok(repo.write_object(&tree).context("writing a tree")?.detach()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::Repo;

    /// git's own answer, and ours.
    fn both(repo: &Repo) -> (String, Option<String>) {
        let worktree = repo.worktree();
        let ours = worktree
            .tree_of_index(&worktree.git_dir().join("index"))
            .unwrap();
        let theirs = worktree.git().call(["write-tree"]).text().unwrap();
        (theirs, ours.map(|(tree, _)| tree.to_string()))
    }

    #[test]
    fn it_is_the_tree_that_git_writes() {
        for format in ["sha1", "sha256"] {
            let repo = Repo::init(&["--object-format", format]);
            // Names that sort otherwise with a slash than without, deep and odd ones.
            for path in [
                "a",
                "a.b",
                "a-b/x",
                "ab/c/d/e",
                "b/a.txt",
                "b.txt",
                "b/a/z",
                "b/a-/z",
                "z/ü\n\t/x",
                "c/1",
                "c0/1",
                "c-/1",
                "c.d",
            ] {
                repo.write(path, path);
            }
            repo.git(["add", "-A"]);
            repo.git(["update-index", "--chmod=+x", "a.b"]);
            std::os::unix::fs::symlink("a", repo.root().join("link")).unwrap();
            repo.git(["add", "link"]);
            let (theirs, ours) = both(&repo);
            assert_eq!(ours, Some(theirs));
            for step in [
                &["rm", "-rq", "--cached", "ab"][..],
                &["update-index", "--index-version", "4"],
                &["update-index", "--assume-unchanged", "a"],
                &["update-index", "--skip-worktree", "b.txt"],
                &["commit", "-qm", "x"],
            ] {
                repo.git(step.iter().copied());
                let (theirs, ours) = both(&repo);
                assert_eq!(ours, Some(theirs), "{step:?}");
                repo.git(["fsck", "--strict"]);
            }
        }
    }

    #[test]
    fn what_it_cannot_tell_is_left_to_git() {
        let repo = Repo::new();
        repo.write("a", "a");
        repo.git(["add", "-N", "a"]);
        let worktree = repo.worktree();
        let index = worktree.git_dir().join("index");
        assert!(worktree.tree_of_index(&index).unwrap().is_none());
    }

    /// The cache of trees says that the root is another tree than its entries make.
    #[test]
    fn a_made_up_cache_of_trees_is_not_believed() {
        let repo = Repo::new();
        repo.write("a", "one");
        repo.git(["add", "-A"]);
        let one = String::from_utf8(repo.git(["write-tree"])).unwrap();
        repo.write("a", "two");
        repo.git(["add", "-A"]);
        let two = String::from_utf8(repo.git(["write-tree"])).unwrap();
        let (one, two) = (one.trim(), two.trim());
        let worktree = repo.worktree();
        let index = worktree.git_dir().join("index");
        let mut bytes = std::fs::read(&index).unwrap();
        let raw = |hex: &str| Oid::from_hex(hex.as_bytes()).unwrap().as_slice().to_vec();
        let at = memchr::memmem::find(&bytes, &raw(two)).unwrap();
        bytes[at..at + 20].copy_from_slice(&raw(one));
        // Its checksum is left out, as with index.skipHash.
        let end = bytes.len() - 20;
        bytes[end..].fill(0);
        std::fs::write(&index, &bytes).unwrap();
        assert_eq!(repo.git(["write-tree"]).trim_ascii(), one.as_bytes());
        let (ours, _) = worktree.tree_of_index(&index).unwrap().unwrap();
        assert_eq!(ours.to_string(), two);
    }
}
