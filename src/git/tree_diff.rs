//! The files in which two trees differ, object by object. No renames and no content: `changes` finds those for the packet.

use anyhow::{Context, Result};
use gix::diff::tree::recorder::Change;

use super::{Oid, Worktree};

/// One path that differs; folders are not listed, links to commits of other repositories neither.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    /// From the worktree's root, `/` between folders, bytes as git has them.
    pub path: Vec<u8>,
    pub old: Option<Oid>,
    pub new: Option<Oid>,
}

impl Worktree {
    /// Every entry in which two trees differ, folders too.
    fn changes_between(&self, from: Oid, to: Oid) -> Result<Vec<Change>> {
        if from == to {
            return Ok(Vec::new());
        }
        let repo = self.repo()?;
        let (old, new) = (repo.find_tree(from)?, repo.find_tree(to)?);
        let mut recorder = gix::diff::tree::Recorder::default();
        gix::diff::tree(
            gix::objs::TreeRefIter::from_bytes(&old.data, from.kind()),
            gix::objs::TreeRefIter::from_bytes(&new.data, to.kind()),
            gix::diff::tree::State::default(),
            &repo.objects,
            &mut recorder,
        )
        .context("comparing two trees")?;
        Ok(recorder.records)
    }

    /// The paths of all entries in which two trees differ: files, links and submodules, either side of a change; in git's order.
    pub(crate) fn changed_entries(&self, from: Oid, to: Oid) -> Result<Vec<Vec<u8>>> {
        let changes = self.changes_between(from, to)?.into_iter();
        let paths = changes.filter_map(|change| {
            let (is_entry, path) = match change {
                Change::Addition {
                    entry_mode, path, ..
                }
                | Change::Deletion {
                    entry_mode, path, ..
                } => (!entry_mode.is_tree(), path),
                Change::Modification {
                    previous_entry_mode,
                    entry_mode,
                    path,
                    ..
                } => (
                    !previous_entry_mode.is_tree() || !entry_mode.is_tree(),
                    path,
                ),
            };
            is_entry.then(|| path.into())
        });
        let mut paths: Vec<Vec<u8>> = paths.collect();
        paths.sort_unstable();
        paths.dedup();
        Ok(paths)
    }

    /// The paths in which two trees differ.
    pub(crate) fn changed_files(&self, from: Oid, to: Oid) -> Result<Vec<Changed>> {
        let is_file = |mode: gix::objs::tree::EntryMode| mode.is_blob_or_symlink();
        Ok(self
            .changes_between(from, to)?
            .into_iter()
            .filter_map(|change| {
                let (path, old, new) = match change {
                    Change::Addition {
                        entry_mode,
                        oid,
                        path,
                        ..
                    } => (path, None, is_file(entry_mode).then_some(oid)),
                    Change::Deletion {
                        entry_mode,
                        oid,
                        path,
                        ..
                    } => (path, is_file(entry_mode).then_some(oid), None),
                    Change::Modification {
                        previous_entry_mode,
                        previous_oid,
                        entry_mode,
                        oid,
                        path,
                    } => (
                        path,
                        is_file(previous_entry_mode).then_some(previous_oid),
                        is_file(entry_mode).then_some(oid),
                    ),
                };
                (old.is_some() || new.is_some()).then(|| Changed {
                    path: path.into(),
                    old,
                    new,
                })
            })
            .collect())
    }

    /// A blob as text for a scan: empty when there is none, when it is binary, or over a mebibyte.
    pub(crate) fn text_blob(&self, id: Option<Oid>) -> Result<String> {
        const LARGEST: u64 = 1024 * 1024;
        let Some(id) = id else {
            return Ok(String::new());
        };
        let repo = self.repo()?;
        if repo.find_header(id)?.size() > LARGEST {
            return Ok(String::new());
        }
        let blob = repo.find_blob(id)?;
        if blob.data.iter().take(8000).any(|b| *b == 0) {
            return Ok(String::new());
        }
        Ok(String::from_utf8_lossy(&blob.data).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::git::fixture::Repo;

    #[test]
    fn changed_entries_are_those_that_git_lists() {
        let repo = Repo::new();
        for name in [
            "same",
            "edited",
            "gone",
            "mode",
            "kind",
            "to-dir",
            "a/b/c",
            "a/b.x",
            "a/deep/x/y",
        ] {
            repo.write(name, "one\n");
        }
        repo.write("from-dir/one", "1");
        repo.write("from-dir/two/three", "1");
        repo.commit("start");
        let head = repo.rev("HEAD");
        repo.git([
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{head},link"),
        ]);
        repo.git(["commit", "-q", "-m", "link"]);
        let before = repo.rev("HEAD");
        repo.write("edited", "two\n");
        repo.write("a/b/new", "new\n");
        repo.write("\u{e4} \"odd\"\n", "odd");
        for name in ["gone", "kind", "to-dir", "a/deep/x/y"] {
            repo.remove(name);
        }
        repo.executable("mode");
        repo.link("same", "kind");
        repo.write("to-dir/x/y", "1");
        fs::remove_dir_all(repo.path("from-dir")).unwrap();
        repo.write("from-dir", "file");
        repo.git(["add", "-A", "."]);
        repo.git([
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{before},link"),
        ]);
        repo.git(["commit", "-q", "-m", "changes"]);
        let after = repo.rev("HEAD");
        let worktree = repo.worktree();
        let tree = |commit| worktree.tree_of(commit).unwrap();
        for (from, to) in [(before, after), (after, before)] {
            let listed = repo.git(
                [
                    "diff-tree",
                    "-r",
                    "-z",
                    "--name-only",
                    "--no-renames",
                    "--ignore-submodules=none",
                ]
                .into_iter()
                .map(str::to_owned)
                .chain([from.to_string(), to.to_string()]),
            );
            let listed = listed.split(|b| *b == 0).filter(|path| !path.is_empty());
            let listed: Vec<Vec<u8>> = listed.map(<[u8]>::to_vec).collect();
            assert_eq!(listed.len(), 13);
            assert_eq!(
                worktree.changed_entries(tree(from), tree(to)).unwrap(),
                listed
            );
        }
    }
}
