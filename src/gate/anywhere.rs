//! The gate of work that begins on any branch and goes on in a worktree of its own: what it starts from is a commit, and only what is committed
//! there counts.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::{agent_is_there, identity, load, open, refuse_nested};
use crate::cli;
use crate::config::{self, Config};
use crate::exit::Refusal;
use crate::git::{Oid, Worktree};

/// What it may start from.
#[derive(Debug)]
pub(crate) struct Ground {
    /// The worktree in which the command was given; nothing is changed there.
    pub worktree: Worktree,
    /// The configuration as committed at `base`, with the caller's own settings.
    pub config: Config,
    pub base: Oid,
    /// The branch that `base` is the tip of, short; `None` for a bare commit.
    pub base_branch: Option<String>,
}

/// What is asked of [`anywhere`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct From<'a> {
    /// Where it was started (`-C`).
    pub dir: Option<&'a Path>,
    pub launch: &'a cli::Launch,
    pub profile: Option<&'a str>,
    /// The revision to start from; HEAD where none is given.
    pub base: Option<&'a str>,
    /// An agent will be launched: it must be found.
    pub agent: bool,
}

/// Checks everything that can be known before the new worktree is there, which has a gate of its own. Takes no lock.
///
/// # Errors
/// A [`Refusal`] with exit 2.
pub(crate) fn anywhere(from: From<'_>) -> Result<Ground> {
    refuse_nested()?;
    let worktree = open(from.dir)?;
    let (base, base_branch) = start(&worktree, from.base)?;
    let Some(text) = worktree.blob_at(base, config::FILE)? else {
        return Err(Refusal::new(
            format!(
                "there is no {} in {}",
                config::FILE,
                base.to_hex_with_len(12)
            ),
            format!("git arkaint init, then commit {}", config::FILE),
        )
        .into());
    };
    let config = load(&worktree, Some(&text), Some(from.launch), from.profile)?.config;
    if from.agent {
        agent_is_there(&config)?;
    }
    identity(&worktree)?;
    Ok(Ground {
        worktree,
        config,
        base,
        base_branch,
    })
}

fn start(worktree: &Worktree, given: Option<&str>) -> Result<(Oid, Option<String>)> {
    let branch = worktree.branch()?;
    let Some(name) = given else {
        let Some(head) = worktree.head()? else {
            return Err(Refusal::new(
                "this branch has no commit yet",
                "git add -A && git commit -m 'start'",
            )
            .into());
        };
        return Ok((head, branch));
    };
    if let Some(tip) = worktree.branch_tip(name)? {
        return Ok((tip, Some(name.to_owned())));
    }
    let commit = worktree
        .git()
        .call(["rev-parse", "--verify", "--quiet", "--end-of-options"])
        .arg(format!("{name}^{{commit}}"))
        .output()?;
    if commit.code != Some(0) {
        return Err(Refusal::new(
            format!("the base {name} is no commit here"),
            "git arkaint dispatch --base main TASK",
        )
        .into());
    }
    let id = Oid::from_hex(commit.stdout.trim_ascii()).context("reading what git printed")?;
    Ok((id, None))
}
