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
        /// The `git commit` at work.
        #[serde(default)]
        child: Option<Identity>,
    },
    /// The worktree is being put back.
    Rollback {
        run: String,
        branch: String,
        why: String,
        target: Target,
        /// Nested repositories that were there before; others move away. `None`: all stay.
        #[serde(default)]
        nested: Option<Vec<Vec<u8>>>,
        /// The archive of what was there, once it is made.
        #[serde(default)]
        archive: Option<String>,
    },
    /// What lies at or below `paths` (all, where there are none) is being brought back from an archive.
    Restore {
        run: String,
        archive: String,
        paths: Vec<Vec<u8>>,
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
            Self::Restore { .. } => "a restore",
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

/// Notes durably that a check of the project's runs as `child`, besides whatever else is under way.
pub(crate) fn check_started(worktree: &Worktree, child: &Identity) -> Result<()> {
    state::save(&check(worktree), child)
}

/// The check that ran when a command was cut off.
pub(crate) fn running_check(worktree: &Worktree) -> Option<Identity> {
    state::load(&check(worktree))
}

/// No check runs any more.
pub(crate) fn check_over(worktree: &Worktree) -> Result<()> {
    state::remove(&check(worktree))
}

fn check(worktree: &Worktree) -> PathBuf {
    worktree.state_dir().join("check.json")
}

fn path(worktree: &Worktree) -> PathBuf {
    worktree.state_dir().join("journal.json")
}
