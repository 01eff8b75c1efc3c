//! The documents of a drift model: the commit messages and tracked paths that a revision can see. Objects alone are read, no hook,
//! driver or worktree file, and nothing that is not reachable from that revision.

use std::collections::HashSet;

use anyhow::{Context, Result};
use gix::bstr::{BStr, BString, ByteSlice};
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use super::drift::Model;
use crate::git::{Oid, Worktree};

/// Older commits say less about what a repository's words weigh today.
const MESSAGES: usize = 500;
/// Reading more paths takes longer than they are worth (0.005 AUC); messages alone then.
const MAX_PATHS: usize = 20_000;

impl Model {
    /// The model of the repository as of `base`: its last 500 non-merge messages and every path of its tree.
    /// No `base` (a branch without a commit) is a model without history.
    pub(crate) fn at(worktree: &Worktree, base: Option<Oid>) -> Result<Self> {
        let Some(base) = base else {
            return Ok(Self::from_documents(&[], &[]));
        };
        let repo = worktree.repo()?;
        let messages = messages(repo, base).context("reading commit messages")?;
        // A partial clone may lack trees; the messages are worth having without them.
        let paths = paths(repo, base).unwrap_or_default();
        Ok(Self::from_documents(&messages, &paths))
    }
}

/// The commits that `base` can see, newest first.
pub(super) fn walk(repo: &gix::Repository, base: Oid) -> Result<gix::revision::Walk<'_>> {
    Ok(repo
        .rev_walk([base])
        .sorting(Sorting::ByCommitTime(CommitTimeOrder::NewestFirst))
        .all()?)
}

/// The last messages before and at `base`, newest first. A run of checkpoints for one task is one document: it would else be the
/// whole background, and every diff alike.
pub(super) fn messages(repo: &gix::Repository, base: Oid) -> Result<Vec<String>> {
    let (mut messages, mut tasks) = (Vec::new(), HashSet::new());
    for commit in walk(repo, base)? {
        let commit = commit?;
        if commit.parent_ids.len() > 1 {
            continue;
        }
        let commit = commit.object()?;
        let message = commit.message_raw()?;
        if let Some(task) = checkpoint_task(message) {
            if tasks.insert(task.clone()) {
                messages.push(task);
            }
        } else {
            messages.push(without_trailers(message).to_str_lossy().into_owned());
        }
        if messages.len() == MESSAGES {
            break;
        }
    }
    Ok(messages)
}

/// The task of a message with Arkaint's trailers (its paragraphs hold the message and the same task again).
pub(super) fn checkpoint_task(message: &BStr) -> Option<String> {
    let (_, trailers) = split_trailers(message)?;
    let task = trailers
        .lines()
        .find_map(|line| line.strip_prefix(b"Arkaint-Task: "))?;
    Some(task.to_str_lossy().into_owned())
}

pub(super) fn without_trailers(message: &BStr) -> &BStr {
    split_trailers(message).map_or(message, |(text, _)| text)
}

/// A message and its final paragraph, where each line of that is a trailer. The subject is never one.
fn split_trailers(message: &BStr) -> Option<(&BStr, &BStr)> {
    let message = message.trim_end();
    let at = message.rfind("\n\n")?;
    let last = &message[at + 2..];
    let trailer = |line: &[u8]| {
        let key = line.find_byte(b':').map(|colon| &line[..colon]);
        line.starts_with(b" ")
            || line.starts_with(b"(cherry picked from")
            || key.is_some_and(|k| {
                !k.is_empty() && k.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
            })
    };
    last.lines()
        .all(trailer)
        .then(|| (message[..at].as_bstr(), last.as_bstr()))
}

/// Every tracked path at `base`, or none where there are more than are worth reading.
fn paths(repo: &gix::Repository, base: Oid) -> Result<Vec<String>> {
    let mut open = vec![(
        BString::default(),
        repo.find_commit(base)?.tree_id()?.detach(),
    )];
    let mut paths = Vec::new();
    while let Some((folder, tree)) = open.pop() {
        let tree = repo.find_tree(tree)?;
        for entry in tree.iter() {
            let entry = entry?;
            let mut path = folder.clone();
            path.extend_from_slice(entry.filename());
            if entry.mode().is_tree() {
                path.push(b'/');
                open.push((path, entry.object_id()));
            } else {
                paths.push(path.to_str_lossy().into_owned());
            }
        }
        if paths.len() > MAX_PATHS {
            return Ok(Vec::new());
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_are_no_words_of_the_message() {
        let message = "parser: accept groups\n\nWhy: they nest.\nMore text here\n\nSigned-off-by: A <a@b>\nReviewed-by: B\n";
        assert_eq!(
            without_trailers(message.into()),
            "parser: accept groups\n\nWhy: they nest.\nMore text here"
        );
        assert_eq!(without_trailers("fix: one line".into()), "fix: one line");
        assert_eq!(
            without_trailers("subject\n\nA body of prose.\n".into()),
            "subject\n\nA body of prose.\n"
        );
    }

    #[test]
    fn a_checkpoint_is_read_as_its_task() {
        let message = "[arkaint-sync] checkpoint\n\nsome words\n\nArkaint-Version: 1\nArkaint-Task: count evictions\n";
        assert_eq!(
            checkpoint_task(message.into()).as_deref(),
            Some("count evictions")
        );
        assert_eq!(
            checkpoint_task("subject\n\nArkaint-Task: in prose, not last\n\nend".into()),
            None
        );
    }
}
