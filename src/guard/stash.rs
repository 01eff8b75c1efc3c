//! The stash, which all worktrees share: what a run took from it is named, and kept in an archive. It is never put back, as a sibling or a
//! person may have popped it meanwhile, and Arkaint itself never uses it.

use std::fs;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::Found;
use crate::git::{self, Oid, Worktree};

/// The entries of the stash at launch.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stash(Vec<Entry>);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Entry(#[serde(with = "git::oid_text")] Oid);

impl Stash {
    /// Reads the entries, from git's own log of `refs/stash` (gitglossary(7), "reflog"); none where that cannot be read.
    pub(super) fn read(worktree: &Worktree) -> Self {
        let log = worktree.common_dir().join("logs/refs/stash");
        // A FIFO in its place would keep a reader for ever.
        let is_file = log.symlink_metadata().is_ok_and(|meta| meta.is_file());
        let log = is_file.then(|| fs::read(log).ok()).flatten();
        let log = log.unwrap_or_default();
        let entry = |line: &[u8]| {
            let id = Oid::from_hex(line.split(|b| *b == b' ').nth(1)?);
            id.ok().map(Entry)
        };
        Self(log.split(|b| *b == b'\n').filter_map(entry).collect())
    }

    pub(super) fn check(&self, worktree: &Worktree, found: &mut Found) -> Result<()> {
        let now = Self::read(worktree);
        for Entry(lost) in self.0.iter().filter(|entry| !now.0.contains(entry)) {
            // Popped and deleted at once, it may be gone for good: there is nothing to keep then.
            if worktree.repo()?.has_object(lost) {
                found.unreachable.push(*lost);
                found.notes.push(format!(
                    "the stash: it lost an entry, and git stash store {lost} brings it back"
                ));
            }
        }
        Ok(())
    }
}
