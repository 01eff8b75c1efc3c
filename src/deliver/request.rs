//! `--pr N`: the pull request that carries the delivery, what its forge says, and the one comment that is kept up to date there.

use anyhow::Result;

use super::gates::Remote;
use super::subject::Delivery;
use super::verdict::Shown;
use crate::evidence::markdown::MARKER;
use crate::exit::Refusal;
use crate::forge::{Forge, Posted, Request, RequestState};
use crate::git::Worktree;
use crate::text;
use crate::ui::{Tone, Ui};

/// An open pull request.
pub(crate) struct Pull {
    forge: Forge,
    pub request: Request,
    /// The remote that it is on.
    remote: String,
}

impl Pull {
    /// Asks the forge. It is that of the remote which `branch` is pushed to, else of `origin`, else of the only one.
    ///
    /// # Errors
    /// A [`Refusal`] without a remote, a forge or its tool; when the forge gives no whole answer.
    pub(crate) fn find(worktree: &Worktree, branch: Option<&str>, number: u64) -> Result<Self> {
        let remote = remote(worktree, branch)?;
        let url = worktree
            .git()
            .call(["remote", "get-url", remote.as_str()])
            .text()?;
        let forge = Forge::of(worktree.root(), url.trim(), number)?;
        let request = forge.request()?;
        Ok(Self {
            forge,
            request,
            remote,
        })
    }

    /// The base as this repository names it: the remote's branch as last fetched, else a local one.
    pub(crate) fn base(&self, worktree: &Worktree) -> Result<String> {
        let tracked = format!("{}/{}", self.remote, self.request.base);
        Ok(if worktree.branch_tip(&tracked)?.is_some() {
            tracked
        } else {
            self.request.base.clone()
        })
    }

    /// What the gates need of it. Checks are asked at exactly the delivered commit.
    ///
    /// # Errors
    /// When a list cannot be read whole: it is never taken as empty.
    pub(crate) fn remote(&self, delivery: &Delivery<'_>) -> Result<Remote> {
        let head = delivery.head.to_string();
        let other = !self.request.head.eq_ignore_ascii_case(&head);
        let checks = if other {
            None
        } else {
            Some(self.forge.checks(&head)?)
        };
        Ok(Remote {
            over: match self.request.state {
                RequestState::Open => None,
                RequestState::Closed => Some("it is closed"),
                RequestState::Merged => Some("it is merged already"),
            },
            draft: self.request.draft,
            other_head: other.then(|| self.request.head.clone()),
            failing: checks.as_ref().map_or_else(Vec::new, |c| c.failing.clone()),
            pending: checks.as_ref().map_or_else(Vec::new, |c| c.pending.clone()),
            passed: checks.as_ref().map_or(0, |c| c.passed),
        })
    }

    /// Brings the comment up to date.
    ///
    /// # Errors
    /// When the forge gives no whole answer; nothing is posted twice then.
    pub(crate) fn comment(&self, shown: &Shown<'_>, ui: &Ui) -> Result<()> {
        let done = self.forge.comment(&shown.markdown(), MARKER)?;
        let what = match done.how {
            Posted::Created => "commented",
            Posted::Edited => "the comment is brought up to date",
            Posted::Unchanged => "the comment says so already",
        };
        ui.say(
            Tone::Plain,
            format!("{what}: {}", text::visible_line(&done.url)),
        );
        if done.others > 0 {
            ui.warn(format!(
                "{} more comments of ours are there, from calls at the same time; the oldest is kept up to date",
                done.others
            ));
        }
        Ok(())
    }
}

fn remote(worktree: &Worktree, branch: Option<&str>) -> Result<String> {
    let git = || worktree.git();
    if let Some(branch) = branch {
        let key = format!("branch.{branch}.remote");
        let told = git().call(["config", "--get", key.as_str()]).output()?;
        let name = String::from_utf8_lossy(&told.stdout).trim().to_owned();
        if told.code == Some(0) && !name.is_empty() && name != "." {
            return Ok(name);
        }
    }
    let all = git().call(["remote"]).text()?;
    let names: Vec<&str> = all
        .lines()
        .map(str::trim)
        .filter(|n| !n.is_empty())
        .collect();
    match names.as_slice() {
        names if names.contains(&"origin") => Ok("origin".to_owned()),
        [only] => Ok((*only).to_owned()),
        [] => Err(Refusal::new(
            "this repository has no remote, so there is no pull request",
            "git remote add origin URL",
        )
        .into()),
        _ => Err(Refusal::new(
            "it is not known which remote the pull request is on",
            "git push -u REMOTE BRANCH notes it",
        )
        .into()),
    }
}
