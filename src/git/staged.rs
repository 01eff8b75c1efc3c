//! What git is about to commit, without a process: `git commit` writes the tree before it calls a hook, and notes its name in the index
//! (gitformat-index(5), "cache tree"). Where it is not noted, the caller asks git. It changes nothing.

use std::path::Path;

use anyhow::{Context, Result};

use super::{Oid, Worktree};

impl Worktree {
    /// The tree of the whole index as it is noted in there; `None` where something was staged since, or where it is not understood.
    pub(crate) fn noted_tree(&self, index: &Path) -> Result<Option<Oid>> {
        let hash = self.repo()?.object_hash().len_in_bytes();
        let bytes = std::fs::read(index).with_context(|| format!("reading {}", index.display()))?;
        Ok(root_of(&bytes, hash))
    }
}

/// The tree in the cache-tree extension of an index. Entries are stepped over and not read: a library reads them all, which would double
/// the time of a commit among 100,000 files.
fn root_of(index: &[u8], hash: usize) -> Option<Oid> {
    let word = |at: usize| {
        let bytes = index.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?) as usize)
    };
    let (version, entries) = (word(4)?, word(8)?);
    if index.get(..4)? != b"DIRC" || !matches!(version, 2 | 3) {
        return None;
    }
    let mut at = 12;
    for _ in 0..entries {
        // Ten words of stat(2) and the object name, then flags with the length of the path.
        let flags_at = at + 40 + hash;
        let flags = u16::from_be_bytes(index.get(flags_at..flags_at + 2)?.try_into().ok()?);
        let path_at = flags_at + if flags & 0x4000 == 0 { 2 } else { 4 };
        let length = match usize::from(flags & 0xfff) {
            0xfff => index.get(path_at..)?.iter().position(|b| *b == 0)?,
            length => length,
        };
        // Ended by one to eight zeros, up to a multiple of eight.
        at += (path_at + length - at + 8) & !7;
    }
    let end = index.len().checked_sub(hash)?;
    while at + 8 <= end {
        let (name, size) = (index.get(at..at + 4)?, word(at + 4)?);
        let content = index.get(at + 8..at + 8 + size)?;
        match name {
            // Half of a split index.
            b"link" => return None,
            b"TREE" => {
                // The root's empty name, how many entries it holds (-1: not noted) and how many folders, its object name.
                let line = content.strip_prefix(b"\0")?;
                let ended = line.iter().position(|b| *b == b'\n')?;
                let name = line.get(ended + 1..ended + 1 + hash)?;
                return (!line.starts_with(b"-"))
                    .then(|| Oid::try_from(name).ok())
                    .flatten();
            }
            _ => at += 8 + size,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::Repo;

    /// After each change: what is noted is what git itself writes, or nothing is.
    #[test]
    fn what_is_noted_is_the_tree_that_git_writes() {
        for format in ["sha1", "sha256"] {
            let repo = Repo::init(&["--object-format", format]);
            let long = "d/".repeat(100)
                + &"n".repeat(200)
                + "/"
                + &"m".repeat(250)
                + "/"
                + &"l".repeat(250)
                + "/";
            for step in [
                &["add", "-A"][..],
                &["add", "-N", "intent"],
                &["update-index", "--skip-worktree", "a"],
                &["rm", "-q", "-f", "--cached", "b"],
                &["update-index", "--index-version", "4"],
                &["update-index", "--index-version", "3"],
                &["update-index", "--split-index"],
                &["update-index", "--no-split-index"],
            ] {
                repo.write("a", "a");
                repo.write("b", step[0]);
                repo.write("intent", "i");
                repo.write(format!("{long}x"), "x");
                repo.git(step.iter().copied());
                let worktree = repo.worktree();
                let index = worktree.git_dir().join("index");
                let written = |worktree: &Worktree| {
                    let tree = worktree.git().call(["write-tree"]).text().unwrap();
                    Oid::from_hex(tree.as_bytes()).unwrap()
                };
                if let Some(noted) = worktree.noted_tree(&index).unwrap() {
                    assert_eq!(noted, written(&worktree), "{step:?}");
                }
                // git notes what it wrote.
                let tree = written(&worktree);
                let noted = worktree.noted_tree(&index).unwrap();
                let plain = !step.contains(&"-N")
                    && !step.contains(&"4")
                    && !step.contains(&"--split-index");
                assert!(
                    noted == Some(tree) || noted.is_none() && !plain,
                    "{step:?}: {noted:?}"
                );
                repo.git(["rm", "-q", "-f", "--cached", "--ignore-unmatch", "intent"]);
                repo.write(step.len().to_string(), step[0]);
                repo.git(["add", "-A"]);
                let stale = worktree.noted_tree(&index).unwrap();
                assert!(
                    stale.is_none() || stale == Some(written(&worktree)),
                    "{step:?}"
                );
            }
        }
    }

    #[test]
    fn cut_and_foreign_bytes_are_no_index() {
        let repo = Repo::new();
        repo.write("a", "a");
        repo.git(["add", "-A"]);
        repo.git(["write-tree"]);
        let bytes = std::fs::read(repo.worktree().git_dir().join("index")).unwrap();
        assert!(root_of(&bytes, 20).is_some());
        for end in 0..bytes.len() - 25 {
            assert_eq!(root_of(&bytes[..end], 20), None, "{end}");
        }
        assert_eq!(root_of(&bytes, 32), None);
        assert_eq!(root_of(b"", 20), None);
    }
}
