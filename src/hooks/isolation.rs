//! Isolated branches stay isolated: what an agent made goes to branches of its own kind, whatever name or expression it is pushed by.

use std::collections::HashMap;

use anyhow::Result;
use globset::GlobSet;

use super::answer::No;
use super::push::Update;
use crate::git::hook_env::HookGit;

/// Is this full ref an isolated branch, here or as a remote has it?
pub(super) fn is_isolated(isolated: &GlobSet, name: &str) -> bool {
    let branch = name.strip_prefix("refs/heads/").or_else(|| {
        name.strip_prefix("refs/remotes/")
            .and_then(|rest| rest.split_once('/'))
            .map(|(_, branch)| branch)
    });
    branch.is_some_and(|branch| isolated.is_match(branch))
}

/// Refuses isolated work that would go elsewhere; inside a run, also every other branch, which is not the run's to publish.
pub(super) fn check(
    git: &HookGit,
    updates: &[Update],
    commits: &HashMap<String, String>,
    isolated: &GlobSet,
    in_run: bool,
) -> Result<Option<No>> {
    for update in updates {
        let same_kind = is_isolated(isolated, &update.remote) || update.remote == update.local;
        let is_branch = update.remote.starts_with("refs/heads/");
        if in_run && is_branch && !is_isolated(isolated, &update.remote) {
            let hint = "push the branch of this run to a branch of its own kind, or leave it to the operator".to_owned();
            return Ok(Some(No::new(
                format!(
                    "push refused: a run does not push to {}",
                    short(&update.remote)
                ),
                [hint],
            )));
        }
        if same_kind || update.deletes() {
            continue;
        }
        if let Some(source) = isolated_source(git, update, commits, isolated)? {
            let (source, target) = (short(&source).to_owned(), short(&update.remote));
            return Ok(Some(No::new(
                format!("push refused: {source} is an isolated branch and may not go to {target}"),
                [
                    format!("push it among its kind: git push REMOTE {source}"),
                    format!("or merge {source} first, then push {target}"),
                ],
            )));
        }
    }
    Ok(None)
}

/// The isolated branch whose work this update carries, if it does.
fn isolated_source(
    git: &HookGit,
    update: &Update,
    commits: &HashMap<String, String>,
    isolated: &GlobSet,
) -> Result<Option<String>> {
    let local = match update.local.as_str() {
        "HEAD" | "@" => git.head_ref()?.unwrap_or_else(|| update.local.clone()),
        name => name.to_owned(),
    };
    if is_isolated(isolated, &local) {
        return Ok(Some(local));
    }
    let is_named_branch = local.starts_with("refs/heads/") || local.starts_with("refs/remotes/");
    let tag_as_tag = local.starts_with("refs/tags/") && update.remote.starts_with("refs/tags/");
    let Some(commit) = update
        .commit(commits)
        .filter(|_| !is_named_branch && !tag_as_tag)
    else {
        return Ok(None);
    };
    // An object name, `arkaint/x~0`, a tag: it is isolated work where only isolated branches hold it.
    let holders = git
        .call([
            "for-each-ref",
            "--format=%(refname)",
            "--contains",
            commit,
            "refs/heads",
            "refs/remotes",
        ])
        .text()?;
    let (inside, outside): (Vec<_>, Vec<_>) = holders
        .lines()
        .partition(|name| is_isolated(isolated, name));
    Ok(inside
        .first()
        .filter(|_| outside.is_empty())
        .map(|name| (*name).to_owned()))
}

fn short(name: &str) -> &str {
    name.strip_prefix("refs/heads/").unwrap_or(name)
}
