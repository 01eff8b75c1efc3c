//! What is under way in this worktree, on disk, so that a later command can finish or undo it after a crash. It writes and reads; what
//! to do about an entry is decided by `cycle::recovery`.

use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::git::{Oid, Worktree, oid_text, state};
use crate::process::Identity;

/// One half-done step.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub(crate) enum Entry {
    /// A checkpoint is being committed on `branch` (full ref name), which was at `before`; the user's index follows the commit.
    Commit {
        branch: String,
        #[serde(with = "oid_text")]
        before: Oid,
        #[serde(with = "oid_text")]
        tree: Oid,
    },
    /// The worktree is being put back.
    Rollback {
        run: String,
        branch: String,
        why: String,
        target: Target,
    },
    /// An agent runs.
    Launch { run: String, child: Identity },
}

/// The state that a rollback goes back to, as the journal keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Target {
    /// Where the branch goes.
    #[serde(with = "oid_text")]
    pub commit: Oid,
    /// What the worktree shall hold.
    #[serde(with = "oid_text")]
    pub tree: Oid,
    /// `tree` holds the bytes as they were on disk (an archive), not as git stores them.
    pub raw: bool,
    /// The user's index at that time; without it the index becomes `tree`.
    pub index: Option<PathBuf>,
}

impl Entry {
    /// What was under way, for people.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Commit { .. } => "a checkpoint",
            Self::Rollback { .. } => "a rollback",
            Self::Launch { .. } => "a launch",
        }
    }
}

/// Notes `entry` durably; it replaces the one before.
pub(crate) fn write(worktree: &Worktree, entry: &Entry) -> Result<()> {
    state::save(&path(worktree), entry)
}

/// What is under way, if anything.
pub(crate) fn read(worktree: &Worktree) -> Option<Entry> {
    state::load(&path(worktree))
}

/// What an interrupted cycle was about.
#[derive(Debug, Deserialize)]
pub(crate) struct OpenTask {
    pub task: String,
    /// Short name of the branch.
    pub branch: String,
}

/// The task of the cycle that was interrupted here, if any.
pub(crate) fn open_task(worktree: &Worktree) -> Option<OpenTask> {
    state::load(&open_run(worktree))
}

/// Where a cycle keeps what it needs to go on (its content is the cycle's own).
pub(crate) fn open_run(worktree: &Worktree) -> PathBuf {
    worktree.state_dir().join("run.json")
}

/// The ids of the cycles that are open, or were interrupted, in this or any other worktree of the repository.
pub(crate) fn open_ids(worktree: &Worktree) -> Vec<String> {
    #[derive(Deserialize)]
    struct Open {
        id: String,
    }
    let linked = worktree.common_dir().join("worktrees").read_dir();
    let linked = linked.into_iter().flatten().flatten();
    linked
        .map(|entry| entry.path())
        .chain([worktree.common_dir().to_owned()])
        .filter_map(|git_dir| state::load::<Open>(&git_dir.join("arkaint/run.json")))
        .map(|open| open.id)
        .collect()
}

/// Nothing is under way any more.
pub(crate) fn clear(worktree: &Worktree) -> Result<()> {
    state::remove(&path(worktree))
}

fn path(worktree: &Worktree) -> PathBuf {
    worktree.state_dir().join("journal.json")
}
