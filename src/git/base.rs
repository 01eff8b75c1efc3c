//! What a branch was cut from, and where it left that. By gix alone, so that it may be asked inside a run too.

use anyhow::{Context as _, Result};

use super::{Oid, Worktree};

impl Worktree {
    /// The branch that `branch` (a short name) was cut from, as git's own logs tell it, else the remote's default, else a local `main` or
    /// `master`: a name that leads to a commit (`main`, `origin/main`). `None` where nothing says so, and for a branch that is one of these.
    pub(crate) fn cut_from(&self, branch: &str) -> Result<Option<String>> {
        let told = [self.created_from(branch)?, self.switched_from(branch)?];
        for name in told.into_iter().flatten() {
            if name != branch && self.branch_tip(&name)?.is_some() {
                return Ok(Some(name));
            }
        }
        let default = self.remote_default()?;
        let name = |full: &str| full.rsplit('/').next().unwrap_or_default().to_owned();
        if default.as_deref().is_some_and(|full| name(full) == branch) {
            return Ok(None);
        }
        let usual = ["main", "master"].map(str::to_owned);
        if usual.iter().any(|name| name == branch) {
            return Ok(None);
        }
        for name in default.into_iter().chain(usual) {
            if self.branch_tip(&name)?.is_some() {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// The commit of a branch of this repository (`main`) or of a remote (`origin/main`).
    pub(crate) fn branch_tip(&self, name: &str) -> Result<Option<Oid>> {
        let repo = self.repo()?;
        for full in [format!("refs/heads/{name}"), format!("refs/remotes/{name}")] {
            // A name that is none is the same as one that is not there.
            if let Ok(Some(mut reference)) = repo.try_find_reference(&full) {
                let id = reference
                    .peel_to_id()
                    .with_context(|| format!("reading {full}"))?;
                return Ok(Some(id.detach()));
            }
        }
        Ok(None)
    }

    /// The newest commit that both have; `None` for unrelated histories.
    pub(crate) fn merge_base(&self, one: Oid, two: Oid) -> Result<Option<Oid>> {
        let found = self.repo()?.merge_base(one, two);
        Ok(found
            .context("looking for the merge base")?
            .map(gix::Id::detach))
    }

    /// `git branch NEW main`: the first line of the branch's own log.
    fn created_from(&self, branch: &str) -> Result<Option<String>> {
        let first = self.log_messages(&format!("refs/heads/{branch}"))?;
        let from = first
            .first()
            .and_then(|message| message.strip_prefix("branch: Created from "));
        Ok(from.filter(|name| *name != "HEAD").map(short))
    }

    /// `git switch -c NEW`: the line of HEAD's log that first came to it.
    fn switched_from(&self, branch: &str) -> Result<Option<String>> {
        let came = self.log_messages("HEAD")?.into_iter().find_map(|message| {
            let (from, to) = message
                .strip_prefix("checkout: moving from ")?
                .split_once(" to ")?;
            (to == branch).then(|| short(from))
        });
        Ok(came)
    }

    /// The messages of a ref's log, oldest first; none where there is no log.
    fn log_messages(&self, full: &str) -> Result<Vec<String>> {
        let Ok(Some(reference)) = self.repo()?.try_find_reference(full) else {
            return Ok(Vec::new());
        };
        let mut log = reference.log_iter();
        let Some(lines) = log
            .all()
            .with_context(|| format!("reading the log of {full}"))?
        else {
            return Ok(Vec::new());
        };
        Ok(lines
            .filter_map(std::result::Result::ok)
            .map(|line| line.message.to_string())
            .collect())
    }

    /// `origin/main`, where `git clone` noted that the remote's HEAD is there.
    fn remote_default(&self) -> Result<Option<String>> {
        let Ok(Some(head)) = self.repo()?.try_find_reference("refs/remotes/origin/HEAD") else {
            return Ok(None);
        };
        let target = head.target().try_name().map(ToString::to_string);
        Ok(target.as_deref().map(short))
    }
}

fn short(name: &str) -> String {
    let kinds = ["refs/heads/", "refs/remotes/"];
    let short = kinds.iter().find_map(|kind| name.strip_prefix(kind));
    short.unwrap_or(name).to_owned()
}
