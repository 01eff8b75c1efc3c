//! The guard of pushes: isolated branches stay among their kind, and what is pushed is checked again for the infra lock, because
//! `--no-verify` skips a pre-commit. It asks no remote anything.

use std::collections::HashMap;

use anyhow::{Context, Result};

use super::answer::{Answer, No};
use super::caller::Caller;
use super::range::{self, Range, Touching};
use super::rules::Rules;
use super::{isolation, lock};
use crate::config::InfraScope;
use crate::git::hook_env::HookGit;

/// One line of git's protocol: what goes where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Update {
    /// A full ref, `HEAD`, an object name or any other expression; `(delete)`.
    pub local: String,
    local_oid: String,
    pub remote: String,
    remote_oid: String,
}

impl Update {
    pub(super) fn deletes(&self) -> bool {
        is_zeros(&self.local_oid)
    }

    /// Does it carry project history? Notes and Arkaint's own refs (archives, leases) do not.
    fn is_history(&self) -> bool {
        !self.deletes()
            && !self.remote.starts_with("refs/notes/")
            && !self.remote.starts_with("refs/arkaint/")
    }

    /// The commit that is pushed, where it is one.
    pub(super) fn commit<'a>(&self, commits: &'a HashMap<String, String>) -> Option<&'a str> {
        commits.get(&self.local_oid).map(String::as_str)
    }
}

/// The lines that git wrote to the hook; split from the right, as an expression may hold spaces.
fn updates(stdin: &[u8]) -> Result<Vec<Update>> {
    let update = |line: &str| {
        let mut words = line.rsplitn(4, ' ').map(str::to_owned);
        let (remote_oid, remote) = (words.next()?, words.next()?);
        let (local_oid, local) = (words.next()?, words.next()?);
        Some(Update {
            local,
            local_oid,
            remote,
            remote_oid,
        })
    };
    String::from_utf8_lossy(stdin)
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| update(line).with_context(|| format!("reading what is pushed: {line}")))
        .collect()
}

/// The name of no object; in a SHA-256 repository it is longer.
fn is_zeros(oid: &str) -> bool {
    !oid.is_empty() && oid.bytes().all(|b| b == b'0')
}

pub(super) fn check(git: &HookGit, stdin: &[u8], caller: &Caller) -> Result<Answer> {
    let updates = updates(stdin)?;
    if updates.is_empty() {
        return Ok(Answer::default());
    }
    let oids = updates
        .iter()
        .flat_map(|update| [&update.local_oid, &update.remote_oid]);
    let commits = range::commits_of(git, oids.filter(|oid| !is_zeros(oid)))?;

    let head: Vec<_> = git.head.iter().map(String::as_str).collect();
    let (mut at_head, _) = Rules::at(git, &head)?;
    let isolated = at_head.pop().unwrap_or_default().isolated();
    if let Some(no) = isolation::check(git, &updates, &commits, &isolated, caller.in_run())? {
        return Ok(no.into());
    }
    if caller.may_edit_infra() {
        return Ok(Answer::default());
    }

    let history: Vec<_> = updates
        .iter()
        .filter(|update| update.is_history())
        .collect();
    let known: Vec<_> = updates
        .iter()
        .filter_map(|u| commits.get(&u.remote_oid))
        .map(String::as_str)
        .collect();
    // The rules may change within what is pushed: those of every end hold, so that none alone can lift them.
    let ends: Vec<_> = history
        .iter()
        .filter_map(|u| u.commit(&commits))
        .chain(head)
        .chain(known.clone())
        .collect();
    let (rules, warnings) = Rules::at(git, &ends)?;
    let is_locked = |update: &Update| {
        let everywhere = rules.is_empty()
            || rules
                .iter()
                .any(|rules| rules.infra.scope == InfraScope::All);
        let by_agent = isolation::is_isolated(&isolated, &update.local)
            || isolation::is_isolated(&isolated, &update.remote);
        everywhere || by_agent || caller.in_run()
    };
    let tips: Vec<_> = history
        .iter()
        .filter(|u| is_locked(u))
        .filter_map(|u| u.commit(&commits))
        .collect();
    if tips.is_empty() {
        return Ok(Answer { warnings, no: None });
    }
    let paths: Vec<_> = rules
        .iter()
        .flat_map(|rules| rules.infra.paths.clone())
        .collect();
    let touching = Range { git, tips, known }.made_under_lock(&lock::protected(git, &paths)?)?;
    let no = (!touching.is_empty()).then(|| refusal(&touching, caller));
    Ok(Answer { warnings, no })
}

fn refusal(touching: &[Touching], caller: &Caller) -> No {
    let commits = match touching.len() {
        1 => "a commit changes".to_owned(),
        count => format!("{count} commits change"),
    };
    let mut hints = vec![format!(
        "look at it: git show --stat {}",
        short(&touching[0].commit)
    )];
    if !caller.in_run() {
        hints.push("if it is meant: ARKAINT_ALLOW_INFRA_EDIT=1 git push ...".to_owned());
    }
    let lines = touching.iter().flat_map(|t| {
        t.changes
            .iter()
            .map(|change| format!("{} {change}", short(&t.commit)))
    });
    No::new(format!("push refused: {commits} protected paths"), hints).naming(lines)
}

fn short(oid: &str) -> &str {
    oid.get(..10).unwrap_or(oid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_from_the_right_and_blank_ones_pass() {
        let got =
            updates(b"HEAD^{/a b} 1234 refs/heads/x 0000\n\n(delete) 0000 refs/heads/y 1234\n")
                .unwrap();
        assert_eq!(
            (
                got[0].local.as_str(),
                got[0].remote.as_str(),
                got[0].deletes()
            ),
            ("HEAD^{/a b}", "refs/heads/x", false)
        );
        assert!(got[1].deletes());
        assert!(updates(b"three words only\n").is_err());
    }

    #[test]
    fn zeros_of_any_length_are_zeros() {
        assert!(is_zeros(&"0".repeat(40)) && is_zeros(&"0".repeat(64)));
        assert!(!is_zeros("") && !is_zeros("00a0"));
    }

    #[test]
    fn notes_and_refs_of_our_own_are_no_history() {
        let to = |remote: &str| Update {
            local: "x".into(),
            local_oid: "12".into(),
            remote: remote.into(),
            remote_oid: "00".into(),
        };
        assert!(to("refs/heads/main").is_history() && to("refs/tags/v1").is_history());
        assert!(
            !to("refs/notes/arkaint/ledger").is_history()
                && !to("refs/arkaint/discarded/r/1").is_history()
        );
    }
}
