//! A commit by the first digits of its id, and who speaks here. Names that move (branches, HEAD) are not resolved.

use std::collections::HashSet;

use anyhow::{Context as _, Result};

use super::{Oid, Worktree};

/// Fewer digits name too much.
pub(crate) const SHORTEST: usize = 7;

/// What the digits of an id lead to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Commit(Oid),
    /// Not hexadecimal, or too few or too many digits.
    NoId,
    Unknown,
    /// So many commits begin with them.
    Ambiguous(usize),
}

impl Worktree {
    /// The commit whose id begins with `digits`, at least [`SHORTEST`] of them.
    pub(crate) fn commit_named(&self, digits: &str) -> Result<Named> {
        let hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
        if !hex || digits.len() < SHORTEST {
            return Ok(Named::NoId);
        }
        let Ok(prefix) = gix::hash::Prefix::from_hex(&digits.to_ascii_lowercase()) else {
            return Ok(Named::NoId);
        };
        let repo = self.repo()?;
        let mut found = HashSet::new();
        repo.objects
            .lookup_prefix(prefix, Some(&mut found))
            .with_context(|| format!("looking for {digits}"))?;
        let mut commits = Vec::new();
        for id in found {
            if repo.find_header(id)?.kind().is_commit() {
                commits.push(id);
            }
        }
        Ok(match commits.as_slice() {
            [] => Named::Unknown,
            [commit] => Named::Commit(*commit),
            several => Named::Ambiguous(several.len()),
        })
    }

    /// What ends in `commit`: HEAD, branches, branches of remotes, heads of pull requests; full names.
    pub(crate) fn ending_in(&self, commit: Oid) -> Result<Vec<String>> {
        let mut names = Vec::new();
        if self.head()? == Some(commit) {
            names.push("HEAD".to_owned());
        }
        let repo = self.repo()?;
        for prefix in ["refs/heads/", "refs/remotes/", "refs/pull/"] {
            for reference in super::refs_below(repo, prefix)?.refs {
                if reference.target().try_id().is_some_and(|id| id == commit) {
                    names.push(reference.name().as_bstr().to_string());
                }
            }
        }
        Ok(names)
    }

    /// Who git would name as the committer: `NAME <EMAIL>`.
    ///
    /// # Errors
    /// When nobody is configured.
    pub(crate) fn identity(&self) -> Result<String> {
        let ident = self.git().call(["var", "GIT_COMMITTER_IDENT"]).text()?;
        let (who, _time) = ident
            .rsplit_once('>')
            .context("reading what git var printed")?;
        Ok(format!("{who}>"))
    }
}
