//! An index stepped over without decoding it: of a large one that takes a tenth of the time. What it does not understand it leaves to the
//! caller, who asks gix or git. It changes nothing.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use anyhow::{Context, Result};

use super::{Oid, Worktree};

impl Worktree {
    /// What git is about to commit: `git commit` writes the tree before it calls a hook, and notes its name in the index (gitformat-index(5),
    /// "cache tree"). `None` where something was staged since, or where it is not understood.
    pub(crate) fn noted_tree(&self, index: &Path) -> Result<Option<Oid>> {
        let bytes = std::fs::read(index).with_context(|| format!("reading {}", index.display()))?;
        let mut steps = Steps::new(&bytes, self.repo()?.object_hash().len_in_bytes());
        Ok(steps.as_mut().and_then(noted))
    }

    /// Are all entries of `index` ordinary files and links, none in conflict, none with a bit that hides it? Yes is sure, no is not.
    pub(super) fn is_plain(&self, index: &Path) -> Result<bool> {
        let Ok(bytes) = std::fs::read(index) else {
            return Ok(false);
        };
        let steps = Steps::new(&bytes, self.repo()?.object_hash().len_in_bytes());
        Ok(steps.is_some_and(|mut steps| is_plain(&mut steps).unwrap_or(false)))
    }
}

/// Does the file end in a checksum? Not where it was written with `index.skipHash` (git-config(1)). What cannot be read counts as having one.
pub(crate) fn has_checksum(index: &Path) -> bool {
    // Of the longer hashes too, zeros at the very end are no accident.
    ending(index).map_or(true, |end| end != [0; ENDING])
}

/// Do both files hold the same bytes? As a rule the ends, which are checksums, tell them apart.
pub(crate) fn are_same(one: &Path, other: &Path) -> Result<bool> {
    let length = |path: &Path| path.metadata().map(|meta| meta.len()).ok();
    Ok(length(one) == length(other)
        && ending(one)? == ending(other)?
        && std::fs::read(one)? == std::fs::read(other)?)
}

const ENDING: usize = 20;

fn ending(index: &Path) -> Result<[u8; ENDING]> {
    let shown = || format!("reading {}", index.display());
    let mut file = File::open(index).with_context(shown)?;
    let length = file.metadata().with_context(shown)?.len();
    let mut end = [0; ENDING];
    file.seek(SeekFrom::Start(length.saturating_sub(ENDING as u64)))
        .and_then(|_| file.read_exact(&mut end))
        .with_context(shown)?;
    Ok(end)
}

/// One entry: the first and third word that matter here.
struct Step {
    mode: u32,
    /// Assume-valid, extended, two bits of stage, twelve of length.
    flags: u16,
}

/// Steps over an index file (gitformat-index(5)) of version 2 or 3.
struct Steps<'a> {
    index: &'a [u8],
    hash: usize,
    at: usize,
    left: usize,
}

impl<'a> Steps<'a> {
    fn new(index: &'a [u8], hash: usize) -> Option<Self> {
        let mut steps = Self {
            index,
            hash,
            at: 12,
            left: 0,
        };
        steps.left = steps.word(8)?;
        let known = index.get(..4)? == b"DIRC" && matches!(steps.word(4)?, 2 | 3);
        known.then_some(steps)
    }

    fn word(&self, at: usize) -> Option<usize> {
        let bytes = self.index.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?) as usize)
    }

    /// The next entry; `None` where the file ends before it does. Not called when none is left.
    fn step(&mut self) -> Option<Step> {
        // Ten words of stat(2) and the object name, then flags with the length of the path.
        let flags_at = self.at + 40 + self.hash;
        let flags = self.index.get(flags_at..flags_at + 2)?;
        let flags = u16::from_be_bytes(flags.try_into().ok()?);
        let mode = u32::try_from(self.word(self.at + 24)?).ok()?;
        let path_at = flags_at + if flags & 0x4000 == 0 { 2 } else { 4 };
        let length = match usize::from(flags & 0xfff) {
            0xfff => self.index.get(path_at..)?.iter().position(|b| *b == 0)?,
            length => length,
        };
        // Ended by one to eight zeros, up to a multiple of eight.
        self.at += (path_at + length - self.at + 8) & !7;
        self.left -= 1;
        Some(Step { mode, flags })
    }

    /// The next extension, once no entry is left: its name and content. `None` at the end, and where it is cut off.
    fn extension(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        if self.is_at_end() {
            return None;
        }
        let name = self.index.get(self.at..self.at + 4)?;
        let start = self.at + 8;
        let content = self.index.get(start..start + self.word(self.at + 4)?)?;
        self.at = start + content.len();
        Some((name, content))
    }

    /// Is there only the checksum left?
    fn is_at_end(&self) -> bool {
        self.at + self.hash == self.index.len()
    }
}

/// The tree in the cache-tree extension.
fn noted(steps: &mut Steps<'_>) -> Option<Oid> {
    while steps.left > 0 {
        steps.step()?;
    }
    while let Some(extension) = steps.extension() {
        match extension {
            // Half of a split index.
            (b"link", _) => return None,
            (b"TREE", content) => {
                // The root's empty name, how many entries it holds (-1: not noted) and how many folders, its object name.
                let line = content.strip_prefix(b"\0")?;
                let ended = line.iter().position(|b| *b == b'\n')?;
                let name = line.get(ended + 1..ended + 1 + steps.hash)?;
                return (!line.starts_with(b"-"))
                    .then(|| Oid::try_from(name).ok())
                    .flatten();
            }
            _ => {}
        }
    }
    None
}

fn is_plain(steps: &mut Steps<'_>) -> Option<bool> {
    while steps.left > 0 {
        let step = steps.step()?;
        let is_file = matches!(step.mode, 0o100_644 | 0o100_755 | 0o120_000);
        if !is_file || step.flags & 0xf000 != 0 {
            return Some(false);
        }
    }
    while let Some(extension) = steps.extension() {
        // The other half of a split index may hold anything.
        if extension.0 == b"link" {
            return Some(false);
        }
    }
    Some(steps.is_at_end())
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
        let noted = |bytes: &[u8], hash| Steps::new(bytes, hash).as_mut().and_then(noted);
        let plain = |bytes: &[u8], hash| Steps::new(bytes, hash).as_mut().and_then(is_plain);
        assert!(noted(&bytes, 20).is_some());
        assert_eq!(plain(&bytes, 20), Some(true));
        for end in 0..bytes.len() - 25 {
            assert_eq!(noted(&bytes[..end], 20), None, "{end}");
        }
        // Cut where the entries end it is whole, but for its checksum, which is git's to verify.
        for end in (0..bytes.len()).filter(|end| *end != 12 + 64 + 20) {
            assert_ne!(plain(&bytes[..end], 20), Some(true), "{end}");
        }
        assert_eq!(noted(&bytes, 32), None);
        assert_eq!(noted(b"", 20), None);
    }

    #[test]
    fn an_index_is_plain_where_git_lists_files_without_a_mark() {
        let repo = Repo::new();
        for path in ["a", "b/c", "d"] {
            repo.write(path, path);
        }
        std::os::unix::fs::symlink("a", repo.root().join("link")).unwrap();
        repo.git(["add", "-A"]);
        repo.git(["update-index", "--chmod=+x", "a"]);
        let worktree = repo.worktree();
        let index = worktree.git_dir().join("index");
        assert!(worktree.is_plain(&index).unwrap());
        let plain = std::fs::read(&index).unwrap();
        let blob = String::from_utf8(repo.git(["rev-parse", ":a"])).unwrap();
        let blob = blob.trim();
        for step in [
            &["update-index", "--assume-unchanged", "a"][..],
            &["update-index", "--skip-worktree", "b/c"],
            &[
                "update-index",
                "--add",
                "--cacheinfo",
                &format!("160000,{blob},sub"),
            ],
            &["update-index", "--split-index"],
            &["update-index", "--index-version", "4"],
        ] {
            repo.git(step.iter().copied());
            assert!(!worktree.is_plain(&index).unwrap(), "{step:?}");
            std::fs::write(&index, &plain).unwrap();
        }
        repo.write("new", "new");
        repo.git(["add", "-N", "new"]);
        assert!(!worktree.is_plain(&index).unwrap());
        std::fs::write(&index, &plain).unwrap();
        // A conflict.
        for (n, stage) in ["1", "2", "3"].iter().enumerate() {
            let line = format!("100644 {blob} {stage}\tx\n");
            let path = repo.root().join("../line");
            std::fs::write(&path, line).unwrap();
            let out = std::process::Command::new("git")
                .args(["update-index", "--index-info"])
                .current_dir(repo.root())
                .stdin(std::fs::File::open(path).unwrap())
                .status();
            assert!(out.unwrap().success());
            assert!(!worktree.is_plain(&index).unwrap(), "{n}");
        }
    }
}
