//! The guard of commits and merges: would this one change a protected path? It judges the very tree that git is about to commit, and takes no lock.

use std::collections::BTreeMap;
use std::ffi::OsString;

use anyhow::{Context, Result};

use super::answer::{Answer, No};
use super::caller::Caller;
use super::change::{self, Change, shown};
use super::rules::Rules;
use super::{Name, lock};
use crate::config::InfraScope;
use crate::config::protected::CONFIG_FILE;
use crate::git::hook_env::{HookGit, is_object_name};

pub(super) fn check(git: &HookGit, name: Name, caller: &Caller) -> Result<Answer> {
    if let Some(no) = caller.off_branch(git)? {
        return Ok(no.into());
    }
    if caller.may_edit_infra() {
        return Ok(Answer::default());
    }
    let tree = git.call(["write-tree"]).text()?;
    let base = match &git.head {
        Some(head) => head.clone(),
        None => git
            .call(["hash-object", "-t", "tree", "--stdin"])
            .text()
            .context("naming the empty tree")?,
    };
    let mut touched = changes(git, &base, &tree)?;
    if touched.is_empty() {
        return Ok(Answer::default());
    }
    let heads: Vec<_> = git.head.iter().map(String::as_str).collect();
    let (mut rules, warnings) = Rules::at(git, &heads)?;
    let rules = rules.pop().unwrap_or_default();
    if rules.infra.scope == InfraScope::Isolated
        && !caller.in_run()
        && !on_isolated_branch(git, &rules)?
    {
        return Ok(Answer { warnings, no: None });
    }
    let protected = lock::protected(git, &rules.infra.paths)?;
    touched.retain(|change| protected.touches(&change.path));

    let mut first_config = touched
        .iter()
        .any(|change| change.path == CONFIG_FILE.as_bytes() && change.adds_file());
    for parent in other_parents(git, name) {
        if touched.is_empty() {
            break;
        }
        let against: BTreeMap<_, _> = changes(git, &parent, &tree)?
            .into_iter()
            .map(|change| (change.path.clone(), change))
            .collect();
        touched.retain(|change| against.contains_key(&change.path));
        first_config = first_config
            && against
                .get(CONFIG_FILE.as_bytes())
                .is_some_and(Change::adds_file);
    }
    if first_config {
        // The commit by which a project takes Arkaint on is an operator's, with all that is in it; an agent may add that file alone.
        touched.retain(|change| caller.in_run() && change.path != CONFIG_FILE.as_bytes());
    }
    let no = (!touched.is_empty()).then(|| refusal(name, &touched, caller, git.head.is_some()));
    Ok(Answer { warnings, no })
}

fn changes(git: &HookGit, from: &str, to: &str) -> Result<Vec<Change>> {
    let raw = git.call(lock::DIFF_TREE).args([from, to]).bytes()?;
    change::of_trees(&raw)
}

fn on_isolated_branch(git: &HookGit, rules: &Rules) -> Result<bool> {
    let head = git.head_ref()?;
    Ok(head
        .as_deref()
        .and_then(|name| name.strip_prefix("refs/heads/"))
        .is_some_and(|branch| rules.isolated().is_match(branch)))
}

/// The parents besides HEAD. A clean merge calls `pre-merge-commit` before `MERGE_HEAD` is there; `git merge` names each parent in the
/// environment instead.
fn other_parents(git: &HookGit, name: Name) -> Vec<String> {
    let mut parents = git.merge_heads();
    if name == Name::Merge && parents.is_empty() {
        parents = std::env::vars_os()
            .filter_map(|(key, _): (OsString, _)| {
                Some(key.to_str()?.strip_prefix("GITHEAD_")?.to_owned())
            })
            .collect();
        parents.retain(|parent| is_object_name(parent));
    }
    parents
}

fn refusal(name: Name, touched: &[Change], caller: &Caller, has_head: bool) -> No {
    let (what, again) = if name == Name::Merge {
        ("merge", "git merge ...")
    } else {
        ("commit", "git commit")
    };
    let paths = match touched.len() {
        1 => "a protected path".to_owned(),
        count => format!("{count} protected paths"),
    };
    let out = match touched {
        [only] => shell_words::quote(&shown(&only.path)).into_owned(),
        _ => "PATH...".to_owned(),
    };
    let leave_out = match (name, has_head) {
        (Name::Merge, _) => "git merge --abort".to_owned(),
        (_, true) => format!("leave it out: git restore --staged -- {out}"),
        (_, false) => format!("leave it out: git rm --cached -- {out}"),
    };
    let mut hints = vec![leave_out];
    if caller.in_run() {
        hints.push("a run does not change protected paths; say in your last message what the operator should change".to_owned());
    } else {
        hints.push(format!(
            "if it is meant: ARKAINT_ALLOW_INFRA_EDIT=1 {again}"
        ));
    }
    No::new(format!("{what} refused: it would change {paths}"), hints)
        .naming(touched.iter().map(ToString::to_string))
}
