//! A page for people on a commit: one Markdown text in a notes ref of its own, replaced as a whole, so that `git log --notes=arkaint/verdict`
//! and `git notes --ref=arkaint/verdict show` print it. It is a view of the ledger, never read back.

use anyhow::{Context, Result};
use gix::refs::transaction::PreviousValue;

use super::{notes, union};
use crate::git::{self, Oid, Worktree};

/// The ref of the pages.
pub(crate) const REF: &str = "refs/notes/arkaint/verdict";

/// Puts `text` in the place of the page of `on`. Nothing is written when it says so already.
///
/// # Errors
/// When the ref cannot be moved within thirty seconds of retries, or the object store cannot be written.
pub(crate) fn put(worktree: &Worktree, on: Oid, text: &str) -> Result<()> {
    let repo = worktree.repo()?;
    notes::until_moved("writing the page of a verdict", || {
        let tip = notes::tip_of(repo, REF)?;
        let base_tree = notes::tree_at(repo, tip)?;
        let blob = repo
            .write_blob(text.as_bytes())
            .context("writing a page")?
            .detach();
        let tree = union::with_state(repo, base_tree, |state| {
            Ok(match state.get(&on, repo)? {
                Some(there) if there == blob => None,
                _ => Some(state.replace(on, blob, repo)?.tree),
            })
        })?;
        let Some(tree) = tree else {
            return Ok(());
        };
        let message = format!("arkaint: verdict on {}\n", on.to_hex_with_len(12));
        let commit = git::commit_as_user(repo, &message, tree, tip.as_slice())?;
        let expected = tip.map_or(PreviousValue::MustNotExist, |tip| {
            PreviousValue::MustExistAndMatch(tip.into())
        });
        git::move_ref(repo, REF, commit, expected, "arkaint: verdict")
    })
}
