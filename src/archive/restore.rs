//! Bringing an archive back: into the worktree over what is there (which is archived first), or on a new branch.

use anyhow::{Context, Result, bail};
use gix::bstr::BStr;
use gix::refs::transaction::PreviousValue;

use super::list::Archive;
use super::switch::{Switched, switch};
use super::{Order, Snapshot};
use crate::exit::Refusal;
use crate::git::hardened::{Attributes, Hardened};
use crate::git::{self, Worktree};
use crate::journal::{self, Entry};

/// Puts what `archive` changed against the commit that it was made on into the worktree: all of it, or what lies at or below `paths`
/// (from the worktree's root). The user's index stays as it is. Returns the archive of what was there and the paths written. The journal
/// has it as under way until the caller clears it. `again`: to finish what a killed command began.
pub(crate) fn into_worktree(
    git: &Hardened<'_>,
    archive: &Archive,
    paths: &[Vec<u8>],
    run: &str,
    again: bool,
) -> Result<(Snapshot, Vec<Vec<u8>>)> {
    let repo = git.worktree().repo()?;
    super::verify(git, archive.commit)?;
    let base = match archive.base {
        Some(base) => git.worktree().tree_of(base)?,
        None => git.worktree().empty_tree()?,
    };
    let mut wanted = git.worktree().changed_entries(base, archive.tree)?;
    if !paths.is_empty() {
        let below = |path: &[u8], top: &[u8]| {
            path.strip_prefix(top)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        wanted.retain(|path| paths.iter().any(|top| below(path, top)));
    }
    if wanted.is_empty() {
        return Err(Refusal::new(
            format!("archive {} changed none of that", archive.id),
            format!("git arkaint discarded show {}", archive.id),
        )
        .into());
    }
    let entry = Entry::Restore {
        run: run.to_owned(),
        archive: archive.id.clone(),
        paths: paths.to_vec(),
    };
    journal::write(git.worktree(), &entry)?;
    let why = format!("before restoring {}", archive.id);
    for attempt in 1.. {
        let now = super::take(
            git,
            Order {
                run,
                why: &why,
                rules_of: Some(archive.tree),
                also: &[],
            },
        );
        if now.is_err() && attempt == 1 && !again {
            // Nothing was changed yet: there is nothing to finish.
            journal::clear(git.worktree())?;
        }
        let now = now?;
        let from = repo.find_tree(archive.tree)?;
        let to = git::written(|| {
            let mut editor = repo.edit_tree(now.tree)?;
            for path in &wanted {
                match from.lookup_entry(path.split(|b| *b == b'/'))? {
                    Some(entry) => {
                        editor.upsert(BStr::new(path), entry.mode().kind(), entry.object_id())?
                    }
                    None => editor.remove(BStr::new(path))?,
                };
            }
            Ok(editor.write()?.detach())
        })?;
        let reason = match switch(git, Attributes::Raw, now.tree, to, &now, again)? {
            Switched::Done => return Ok((now, wanted)),
            Switched::Moved(reason) => reason,
        };
        if attempt >= 3 {
            if !again {
                journal::clear(git.worktree())?;
            }
            bail!("files keep changing while they are restored: {reason}");
        }
    }
    unreachable!("the loop returns or fails")
}

/// Makes `branch` at the archive's commit; worktree and index stay as they are.
pub(crate) fn on_branch(worktree: &Worktree, archive: &Archive, branch: &str) -> Result<()> {
    let name = format!("refs/heads/{branch}");
    if !worktree
        .git()
        .call(["check-ref-format", "--branch", branch])
        .succeeds()?
    {
        return Err(Refusal::new(
            format!("{branch} is no branch name"),
            "git arkaint discarded restore ID --branch arkaint/NAME",
        )
        .into());
    }
    let repo = worktree.repo()?;
    if git::find_ref(repo, &name)?.is_some() {
        return Err(Refusal::new(
            format!("branch {branch} exists"),
            "git arkaint discarded restore ID --branch OTHER-NAME",
        )
        .into());
    }
    git::move_ref(
        repo,
        &name,
        archive.commit,
        PreviousValue::MustNotExist,
        "arkaint: restore",
    )
    .context("making the branch")
}
