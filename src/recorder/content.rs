//! The content tree before and after a command, read with an index of its own: the user's, and a run's private one, stay as they are. It
//! runs nothing else.

use std::fs::File;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::git::hardened::{Attributes, Hardened};
use crate::git::{Oid, Worktree, state};
use crate::text;

/// Paths that are named before the rest is counted.
const NAMED: usize = 5;

const WAITING: &str = "waiting for another recorder";

/// A worktree whose content is looked at.
pub(super) struct Content<'a> {
    worktree: &'a Worktree,
    /// Inside a run: git that the repository's configuration, which the agent can write, does not steer.
    hardened: Option<Hardened<'a>>,
    /// Holds the index; gone with this value.
    dir: TempDir,
}

impl<'a> Content<'a> {
    pub(super) fn new(worktree: &'a Worktree, in_run: bool) -> Result<Self> {
        let state = worktree.state_dir();
        std::fs::create_dir_all(&state).context("making the state folder")?;
        let dir = tempfile::Builder::new()
            .prefix("verify-")
            .tempdir_in(&state)
            .context("making a place for an index")?;
        let hardened = if in_run {
            Hardened::existing(worktree)
        } else {
            None
        };
        let content = Self {
            worktree,
            hardened,
            dir,
        };
        let index = content.index();
        match &content.hardened {
            Some(git) if git.index().exists() => state::copy_index(&git.index(), &index)?,
            Some(_) => {}
            None => worktree.git().seed(&index)?,
        }
        Ok(content)
    }

    fn index(&self) -> std::path::PathBuf {
        self.dir.path().join("index")
    }

    /// The tree of what is on disk now, as a commit would have it.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub(super) fn tree(&self) -> Result<Oid> {
        let index = self.index();
        // A dod.json that lies elsewhere is content: git would trip over one of another recorder's that is being replaced.
        let still = self.lock()?;
        still.lock_shared().context(WAITING)?;
        let content = match &self.hardened {
            Some(git) => git.content_tree(&index, Attributes::AsCommitted),
            None => self.worktree.git().content_tree(&index),
        };
        Ok(content?.tree)
    }

    /// While this is held no other recorder writes into the worktree, nor looks at it.
    pub(super) fn turn(&self) -> Result<File> {
        let file = self.lock()?;
        file.lock().context(WAITING)?;
        Ok(file)
    }

    fn lock(&self) -> Result<File> {
        let path = self.worktree.state_dir().join("recorder");
        File::create(path).context(WAITING)
    }

    /// `the command changed 2 files (a, b)`.
    pub(super) fn difference(&self, before: Oid, after: Oid) -> Result<String> {
        let changed = self.worktree.changed_files(before, after)?;
        let names = changed.iter().take(NAMED).map(|change| {
            let name = String::from_utf8_lossy(&change.path);
            text::ellipsis(&text::visible_line(&name), 200)
        });
        let more = match changed.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Ok(format!(
            "the command changed {} ({}{more})",
            text::counted(changed.len(), "file"),
            names.collect::<Vec<_>>().join(", ")
        ))
    }
}
