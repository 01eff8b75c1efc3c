//! What git calls: the shims, their installation beside other hooks, and the guards themselves. It never writes a tracked file.

use anyhow::Result;

use crate::git::Worktree;

/// What an installation did or could not do, a line each for a person.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub lines: Vec<String>,
    /// Would git run every guard now?
    pub active: bool,
}

/// Installs the guards; safe to run again.
pub(crate) fn install(_worktree: &Worktree, _dry_run: bool) -> Result<Report> {
    Ok(Report::default())
}

/// Removes exactly what [`install`] wrote and puts back what was there before; safe to run again.
pub(crate) fn uninstall(_worktree: &Worktree) -> Result<Report> {
    Ok(Report::default())
}
