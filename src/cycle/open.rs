//! The open run: what a cycle needs to go on after Ctrl-C, a crash or a kill, on disk in the worktree's git directory while it lasts.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::machine::Progress;
use crate::git::{Oid, Worktree, oid_text, state};
use crate::journal::{self, Target};
use crate::judge::{Breaker, Signature};

/// One cycle under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Open {
    /// The cycle's id.
    pub id: String,
    pub task: String,
    pub profile: String,
    /// Short name of the branch.
    pub branch: String,
    /// It started from failing checks.
    pub red: bool,
    /// What a rollback goes back to.
    pub target: Target,
    /// The commit that records hang on: one that no rollback removes.
    #[serde(with = "oid_text")]
    pub on: Oid,
    /// The worktree's bytes in the stable state, once they were archived.
    pub stable_tree: Option<String>,
    pub progress: Progress,
    pub breaker: Breaker,
    /// What failed already at a red start.
    pub baseline: Vec<Signature>,
    /// Nested repositories that were there before.
    pub nested: Vec<Vec<u8>>,
    /// Launches so far.
    pub launches: u32,
    /// Tokens of the launches since the last checkpoint; `None` when one of them is unknown.
    pub tokens: Option<u64>,
}

/// The cycle that was interrupted here, if any.
pub(crate) fn load(worktree: &Worktree) -> Option<Open> {
    state::load(&journal::open_run(worktree))
}

pub(crate) fn save(worktree: &Worktree, open: &Open) -> Result<()> {
    state::save(&journal::open_run(worktree), open)
}

pub(crate) fn clear(worktree: &Worktree) -> Result<()> {
    state::remove(&journal::open_run(worktree))
}
