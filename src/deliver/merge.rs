//! Merging what the gate let through, and nothing else: into the base that was judged, by compare-and-swap, with the user's own hooks. The merge
//! is made in a worktree of its own, so that whoever works on the base loses nothing when it cannot be done.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::subject::Delivery;
use super::trial::{self, Trial};
use crate::exit::{Exit, Refusal};
use crate::git::{self, Oid, Worktree};
use crate::text;

/// How to merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// A merge commit with the task as its subject.
    Commit,
    /// One commit with the delivered tree; the evidence holds, as it belongs to the tree.
    Squash,
    /// No commit where the base did not move on.
    FastForward,
}

/// Merges the delivered commit into its base. The new tip of the base.
///
/// # Errors
/// A [`Refusal`] when the base is no local branch, moved on since it was judged, or is checked out with changes in the way; when a hook of the
/// user's says no. The base is then as it was.
pub(crate) fn merge(delivery: &Delivery<'_>, how: How) -> Result<Oid> {
    let worktree = delivery.worktree;
    let base = &delivery.base;
    let full = format!("refs/heads/{}", base.name);
    if git::find_ref(worktree.repo()?, &full)?.is_none() {
        return Err(refused(
            format!("the base {} is no branch of this repository", base.name),
            "git arkaint deliver --merge --base main, then push it",
        ));
    }
    let checked_out = worktree
        .worktrees()?
        .into_iter()
        .find(|place| place.branch.as_deref() == Some(&full));
    if let Some(place) = &checked_out {
        nothing_in_the_way(&place.root)?;
    }
    let made = if how == How::FastForward && base.tip == base.fork {
        delivery.head
    } else {
        let place = Place::make(worktree, base.tip)?;
        let made = commit(delivery, &place.path, how);
        let removed = place.remove(worktree);
        let made = made?;
        removed?;
        made
    };
    if let Some(place) = &checked_out {
        can_follow(&place.root, base.tip, made)?;
    }
    move_base(delivery, &full, made)?;
    if let Some(place) = checked_out {
        follow(&place.root, base.tip, made).with_context(|| {
            format!(
                "{} is merged into {}, but its files could not follow in {}: git -C {} reset --keep {}",
                delivery.head.to_hex_with_len(12),
                base.name,
                place.root.display(),
                place.root.display(),
                made.to_hex_with_len(12)
            )
        })?;
    }
    Ok(made)
}

fn refused(cause: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    Refusal::with_exit(Exit::Person, cause, hint).into()
}

/// A linked worktree of our own at the base, on no branch.
struct Place {
    path: PathBuf,
}

impl Place {
    fn make(worktree: &Worktree, at: Oid) -> Result<Self> {
        let folder = worktree.common_dir().join("arkaint/merge");
        std::fs::create_dir_all(&folder).context("making a folder for the merge")?;
        let path = folder.join(crate::ledger::record::fresh_id());
        let place = Self { path };
        let added = worktree
            .git()
            .call(["worktree", "add", "--quiet", "--detach"])
            .arg(&place.path)
            .arg(at.to_string())
            .output()?;
        if added.code == Some(0) {
            return Ok(place);
        }
        // It may be there all the same: a post-checkout hook says no when all is checked out.
        let why = added.reason();
        if place.path.exists() {
            place.remove(worktree)?;
        }
        Err(refused(
            format!("git worktree add refused: {why}; nothing was merged"),
            "mend what git or a hook says, then deliver again",
        ))
    }

    fn remove(self, worktree: &Worktree) -> Result<()> {
        worktree
            .git()
            .call(["worktree", "remove", "--force"])
            .arg(&self.path)
            .run()
            .context("removing the worktree of the merge")
    }
}

/// The merge, made by git itself with the user's hooks and signing.
fn commit(delivery: &Delivery<'_>, place: &Path, how: How) -> Result<Oid> {
    let there = Worktree::discover(place)?;
    let message = message(delivery, how);
    let head = delivery.head.to_string();
    let result = match how {
        How::Squash => there
            .git()
            .call(["merge", "--squash", "--quiet"])
            .arg(&head)
            .output()?,
        How::Commit | How::FastForward => there
            .git()
            .call([
                "merge",
                "--no-ff",
                "--no-edit",
                "--quiet",
                "--cleanup=verbatim",
                "-m",
            ])
            .arg(&message)
            .arg(&head)
            .output()?,
    };
    if result.code != Some(0) {
        return Err(refused(
            format!("git merge refused: {}; nothing was merged", result.reason()),
            "mend what git or a hook says, then deliver again",
        ));
    }
    if how == How::Squash {
        let result = there
            .git()
            .call(["commit", "--quiet", "--cleanup=verbatim", "-F", "-"])
            // A protected path among it was approved by a person, or the gate would not be open: Arkaint's own hook need not ask again.
            .env("ARKAINT_ALLOW_INFRA_EDIT", "1")
            .stdin(message)
            .output()?;
        if result.code != Some(0) {
            return Err(refused(
                format!(
                    "git commit refused: {}; nothing was merged",
                    result.reason()
                ),
                "mend what git or a hook says, then deliver again",
            ));
        }
    }
    let made = there.head()?.context("the merge left no commit")?;
    let tree = there.tree_of(made)?;
    if tree != expected(delivery)? {
        return Err(refused(
            "the merge came out with other files than were judged (a hook changed them?); nothing was merged",
            "run the hook on the branch first (git arkaint checkpoint), then deliver again",
        ));
    }
    Ok(made)
}

/// The tree that was judged, and where the base moved on, that of git's own merge: with any other one, a hook's hand was in it.
fn expected(delivery: &Delivery<'_>) -> Result<Oid> {
    if delivery.base.tip == delivery.base.fork {
        return Ok(delivery.tree);
    }
    match trial::merge(delivery.worktree, delivery.base.tip, delivery.head)? {
        Trial::Clean(tree) => Ok(tree),
        Trial::Conflicts(_) => bail!("git merged what it says does not merge"),
    }
}

/// The task as the subject; what it rests on below it.
fn message(delivery: &Delivery<'_>, how: How) -> String {
    let first = delivery.task.lines().map(str::trim).find(|l| !l.is_empty());
    let subject = text::ellipsis(&text::visible_line(first.unwrap_or("Merge")), 72);
    let branch = delivery.branch.as_deref().unwrap_or("a commit");
    let what = match how {
        How::Squash => "Squashed from",
        How::Commit | How::FastForward => "Merged from",
    };
    let mut message = format!(
        "{subject}\n\n{what} {} at {}; the gate was open (git arkaint deliver).\n\nArkaint-Delivered: {}\n",
        text::visible_line(branch),
        delivery.head.to_hex_with_len(12),
        delivery.head
    );
    if let Some(contract) = delivery.contract() {
        message.push_str("Arkaint-Contract: ");
        message.push_str(contract);
        message.push('\n');
    }
    message
}

fn move_base(delivery: &Delivery<'_>, full: &str, made: Oid) -> Result<()> {
    let moved = delivery
        .worktree
        .git()
        .call(["update-ref", "-m", "arkaint: deliver", full])
        .args([made.to_string(), delivery.base.tip.to_string()])
        .output()?;
    if moved.code == Some(0) {
        return Ok(());
    }
    Err(refused(
        format!(
            "{} moved on since it was judged; nothing was merged",
            delivery.base.name
        ),
        "git arkaint deliver --merge again",
    ))
}

/// A checkout of the base must be able to follow: tracked changes in it would be mixed with what is merged.
fn nothing_in_the_way(root: &Path) -> Result<()> {
    if !root.is_dir() {
        return Err(refused(
            format!(
                "the base is checked out in {}, which is gone",
                root.display()
            ),
            "git worktree prune",
        ));
    }
    if Worktree::discover(root)?.unclean()?.is_empty() {
        return Ok(());
    }
    Err(refused(
        format!(
            "the base is checked out in {} with changes that are not committed",
            root.display()
        ),
        format!("git -C {} stash, or commit them", root.display()),
    ))
}

/// Untracked files of somebody's may stand where the merge would put its own.
fn can_follow(root: &Path, from: Oid, to: Oid) -> Result<()> {
    let there = Worktree::discover(root)?;
    // A file whose time alone changed is no change, which read-tree does not find out by itself. What it says is said below.
    there
        .git()
        .call(["update-index", "-q", "--refresh"])
        .output()?;
    let tried = there
        .git()
        .call(["read-tree", "-n", "-m", "-u"])
        .args([from.to_string(), to.to_string()])
        .output()?;
    if tried.code == Some(0) {
        return Ok(());
    }
    Err(refused(
        format!(
            "the base is checked out in {} and could not follow: {}; nothing was merged",
            root.display(),
            tried.reason()
        ),
        "move those files away, then deliver again",
    ))
}

/// The two-tree switch that brings a clean checkout along; git refuses to overwrite an untracked file.
fn follow(root: &Path, from: Oid, to: Oid) -> Result<()> {
    let there = Worktree::discover(root)?;
    there
        .git()
        .call(["read-tree", "-m", "-u"])
        .args([from.to_string(), to.to_string()])
        .run()
}
