//! The pull request (or merge request) on its forge, through the operator's own `gh` or `glab`: its head, base, draft state, checks and one
//! comment of ours. It decides nothing about evidence.
//!
//! Everything that comes back is a stranger's text. What cannot be read whole is an error, never less: a list with a page missing would
//! hide a failing check, or have a comment posted twice.

mod checks;
mod comment;
mod failed;
mod github;
mod gitlab;
mod remote;
#[cfg(test)]
mod tests;
mod tool;

use std::path::Path;

use anyhow::{Result, bail};
use serde::Deserialize;
use serde_json::json;

pub(crate) use checks::Checks;
use remote::Remote;
use tool::{Env, Name, Tool};

use crate::exit::Refusal;
use crate::text;

/// One pull request on its forge, and the tool that asks about it.
#[derive(Debug)]
pub(crate) struct Forge {
    tool: Tool,
    /// `owner/name`.
    path: String,
    number: u64,
}

/// The request as the forge has it at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub number: u64,
    /// The full id of the commit, in lower case; it need not be here.
    pub head: String,
    /// The branch that it shall be merged into, as the forge names it.
    pub base: String,
    pub draft: bool,
    pub state: RequestState,
    /// For eyes, made visible.
    pub url: String,
    /// For eyes, made visible.
    pub title: String,
    /// Its branch lies in another repository, or in one that is gone.
    pub from_fork: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RequestState {
    /// GitLab's `locked` too: it is being merged.
    #[serde(alias = "opened", alias = "locked")]
    Open,
    Closed,
    Merged,
}

/// What became of our comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commented {
    pub how: Posted,
    pub url: String,
    /// Further comments of ours with this marker, left as they are: two calls ran at the same time. The oldest is the living one.
    pub others: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Posted {
    Created,
    Edited,
    Unchanged,
}

impl Forge {
    /// Request `number` on the forge of a remote, by its URL as `git remote get-url` prints it. `worktree` is the root of what is judged:
    /// no program from below it is started. Hosts `github*` and `*.ghe.com` are asked by `gh`, `gitlab*` by `glab`, any other by the one that
    /// is logged in there.
    ///
    /// # Errors
    /// A [`Refusal`] (exit 2) when the URL is of no forge, when the tool is not installed or not logged in, and when a
    /// token of the environment would go to a host that only the remote names.
    pub(crate) fn of(worktree: &Path, url: &str, number: u64) -> Result<Self> {
        Self::with(worktree, url, number, &std::env::vars_os().collect())
    }

    fn with(worktree: &Path, url: &str, number: u64, env: &Env) -> Result<Self> {
        let tools = [Name::Gh, Name::Glab];
        let named = tools.iter().find_map(|name| tool::named_host(*name, env));
        let Remote { host, path } = remote::parse(url, named.as_deref())?;
        let tool = Tool::of(&host, worktree, env)?;
        if tool.name == Name::Gh && path.split('/').count() != 2 {
            return Err(Refusal::new(
                format!("the remote is on no forge: {path} is no repository of {host}"),
                "see where it leads: git remote -v",
            )
            .into());
        }
        Ok(Self { tool, path, number })
    }

    /// The request as it is now.
    ///
    /// # Errors
    /// A refusal (exit 3) with the tool's own words when there is no answer; an error when the answer has another form than documented.
    pub(crate) fn request(&self) -> Result<Request> {
        match self.tool.name {
            Name::Gh => github::request(&self.tool, &self.path, self.number),
            Name::Glab => gitlab::request(&self.tool, &self.path, self.number),
        }
    }

    /// The checks of exactly the commit `head` (a full id): check runs and statuses on GitHub, jobs and statuses on GitLab.
    ///
    /// # Errors
    /// As [`Forge::request`], and when a list is not whole.
    pub(crate) fn checks(&self, head: &str) -> Result<Checks> {
        let head = oid(head.to_owned())?;
        match self.tool.name {
            Name::Gh => github::checks(&self.tool, &self.path, &head),
            Name::Glab => gitlab::checks(&self.tool, &self.path, self.number, &head),
        }
    }

    /// Has our comment on the request say `body`, whose first line is `marker`: the oldest one by the tool's own login that begins with the
    /// marker is edited in place when it says something else; where there is none, it is created. Nobody else's comment counts. Secrets are
    /// the caller's to redact; lines that would be commands to the forge (`/merge`) are disarmed here.
    ///
    /// # Errors
    /// As [`Forge::request`]; then nothing was posted, unless the error says that it is not known. When `body` has more characters than the
    /// forge takes (65 536; GitLab a million), or does not begin with `marker`, nothing is asked.
    pub(crate) fn comment(&self, body: &str, marker: &str) -> Result<Commented> {
        let (tool, path, number) = (&self.tool, &self.path, self.number);
        let is_gh = tool.name == Name::Gh;
        let body = comment::ready(
            body,
            marker,
            if is_gh { github::LIMIT } else { gitlab::LIMIT },
        )?;
        let me = if is_gh {
            github::me(tool)
        } else {
            gitlab::me(tool)
        }?;
        if me.is_empty() {
            bail!("asking who writes: the forge named nobody");
        }
        let all = if is_gh {
            github::comments(tool, path, number)
        } else {
            gitlab::comments(tool, path, number)
        }?;
        let mut ours = comment::ours(all, &me, marker).into_iter();
        let sent = json!({ "body": body });
        let Some(oldest) = ours.next() else {
            let url = if is_gh {
                github::create(tool, path, number, &sent)
            } else {
                gitlab::create(tool, path, number, &sent)
            }?;
            return Ok(Commented {
                how: Posted::Created,
                url,
                others: 0,
            });
        };
        let how = if comment::same(&oldest.body, &body) {
            Posted::Unchanged
        } else {
            if is_gh {
                github::edit(tool, path, oldest.id, &sent)
            } else {
                gitlab::edit(tool, path, number, oldest.id, &sent)
            }?;
            Posted::Edited
        };
        Ok(Commented {
            how,
            url: oldest.url,
            others: ours.len(),
        })
    }
}

/// A full object id, in lower case.
fn oid(id: String) -> Result<String> {
    let is_full =
        matches!(id.len(), 40 | 64) && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if !is_full {
        bail!("\"{}\" is no full id of a commit", shown(&id));
    }
    Ok(id)
}

/// A stranger's text on one line.
fn shown(said: &str) -> String {
    text::ellipsis(&text::visible_line(said), 300)
}
