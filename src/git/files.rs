//! The files of a commit whose paths are wanted, found without walking folders that cannot hold one.

use anyhow::Result;

use super::changes::{Entry, Mode};
use super::{Oid, Worktree};

/// Entries looked at before the walk gives up.
const LOOKED_AT: usize = 500_000;

/// Which paths a walk is after.
pub(crate) trait Wanted {
    /// May `folder` (with its last `/`) hold a wanted file?
    fn folder(&self, folder: &[u8]) -> bool;
    /// Is this file wanted?
    fn file(&self, path: &[u8]) -> bool;
}

impl Worktree {
    /// The wanted entries of `commit` in the order of their paths, at most `max` of them.
    pub(crate) fn files_at(
        &self,
        commit: Oid,
        wanted: &dyn Wanted,
        max: usize,
    ) -> Result<Vec<Entry>> {
        let mut found = Vec::new();
        let mut left = LOOKED_AT;
        let mut walk = Walk {
            repo: self.repo()?,
            wanted,
            max,
            left: &mut left,
            found: &mut found,
        };
        walk.tree(self.tree_of(commit)?, &mut Vec::new())?;
        Ok(found)
    }

    /// The bytes of a file entry, or its size alone when that is above `max`.
    pub(crate) fn content(&self, entry: &Entry, max: u64) -> Result<Result<Vec<u8>, u64>> {
        let repo = self.repo()?;
        let size = repo.find_header(entry.id)?.size();
        if size > max {
            return Ok(Err(size));
        }
        Ok(Ok(repo.find_object(entry.id)?.detach().data))
    }
}

struct Walk<'a> {
    repo: &'a gix::Repository,
    wanted: &'a dyn Wanted,
    max: usize,
    left: &'a mut usize,
    found: &'a mut Vec<Entry>,
}

impl Walk<'_> {
    fn tree(&mut self, id: Oid, place: &mut Vec<u8>) -> Result<()> {
        let tree = self.repo.find_tree(id)?;
        for entry in tree.iter() {
            if *self.left == 0 || self.found.len() == self.max {
                return Ok(());
            }
            *self.left -= 1;
            let entry = entry?;
            let above = place.len();
            place.extend_from_slice(entry.filename());
            match Mode::of(entry.mode()) {
                None => {
                    place.push(b'/');
                    if self.wanted.folder(place) {
                        self.tree(entry.object_id(), place)?;
                    }
                }
                Some(mode) if self.wanted.file(place) => {
                    self.found.push(Entry {
                        path: place.clone(),
                        id: entry.object_id(),
                        mode,
                    });
                }
                Some(_) => {}
            }
            place.truncate(above);
        }
        Ok(())
    }
}
