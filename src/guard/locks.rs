//! Locks of git's that a run left: a git that was ended with the agent takes none of its own with it, and they would stop the sealing of its
//! work. One that was there before, or that somebody may hold, is not touched.

use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::Found;
use crate::git::{Worktree, leftover, state};

/// The locks that were there at launch.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Locks(Vec<PathBuf>);

impl Locks {
    pub(super) fn read(worktree: &Worktree) -> Self {
        Self(leftover::all(worktree))
    }

    /// Removes the new ones that are dead. The processes of the run have been ended.
    pub(super) fn check(&self, worktree: &Worktree, found: &mut Found) -> Result<()> {
        for lock in leftover::all(worktree) {
            if !self.0.contains(&lock) && leftover::is_dead(worktree, &lock) {
                state::remove(&lock)?;
                found.notes.push(format!(
                    "{}: a git that was ended left it, and nobody holds it; it was removed",
                    lock.display()
                ));
            }
        }
        Ok(())
    }
}
