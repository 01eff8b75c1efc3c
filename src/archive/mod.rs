//! Nothing is lost: every byte of a worktree goes into a commit below `refs/arkaint/discarded/` before anything may be thrown away.
//! It decides neither when nor why; it uses hardened git alone.

pub(crate) mod ignored;
pub(crate) mod list;
pub(crate) mod odd;
pub(crate) mod restore;
pub(crate) mod retention;
pub(crate) mod rollback;
mod switch;

use anyhow::{Context, Result, bail};
use gix::refs::transaction::PreviousValue;

use crate::git::hardened::{Attributes, Hardened};
use crate::git::{self, Content, Oid};

/// Where archives live; below it `RUN/N`.
pub(crate) const REFS: &str = "refs/arkaint/discarded/";

/// A commit known to hold every byte of a worktree, reachable from a ref. A rollback takes one; only [`take`] makes one.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub commit: Oid,
    pub tree: Oid,
    /// `RUN/N`, as `discarded` names it.
    pub id: String,
    /// Repositories inside the worktree, which git stores as links only: their bytes are not in the commit.
    pub nested: Vec<Vec<u8>>,
}

/// What goes into an archive besides the worktree itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<'a> {
    /// The run (or other act) that it belongs to; part of the ref's name.
    pub run: &'a str,
    /// One line for people.
    pub why: &'a str,
    /// The tree that is gone back to, if any: what its ignore rules show, and what stands where it has something, is archived although a rule of
    /// now hides it.
    pub rules_of: Option<Oid>,
    /// Commits that must stay reachable, besides HEAD.
    pub also: &'a [Oid],
}

/// Archives the worktree as it is now and verifies that all of it is there.
///
/// # Errors
/// When anything cannot be read, written or found again. Nothing in the worktree was changed.
pub(crate) fn take(git: &Hardened<'_>, order: Order<'_>) -> Result<Snapshot> {
    let Content {
        mut tree, nested, ..
    } = git
        .content_tree(&git.index(), Attributes::Raw)
        .context("archiving the worktree")?;
    if let Some(stable) = order.rules_of {
        let mut hidden = ignored::in_the_place_of(git, stable, tree)?;
        hidden.extend(ignored::hidden_by_new_rules(git, stable, &nested)?);
        if !hidden.is_empty() {
            let names: Vec<u8> = hidden
                .iter()
                .flat_map(|p| [p, &b"\0"[..]].concat())
                .collect();
            git.call(
                Attributes::Raw,
                ["update-index", "--add", "--replace", "-z", "--stdin"],
            )
            .stdin(names)
            .run()
            .context("archiving hidden files")?;
            let text = git.call(Attributes::Raw, ["write-tree"]).text()?;
            tree = Oid::from_hex(text.as_bytes()).context("reading a tree name")?;
        }
    }
    keep(git, order, tree, nested)
}

/// Holds the commits of `order` by an archive, where there is no archiving the worktree: its content is `tree`, which was archived before.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn hold(git: &Hardened<'_>, order: Order<'_>, tree: Oid) -> Result<Snapshot> {
    keep(git, order, tree, Vec::new())
}

fn keep(git: &Hardened<'_>, order: Order<'_>, tree: Oid, nested: Vec<Vec<u8>>) -> Result<Snapshot> {
    let worktree = git.worktree();
    let repo = worktree.repo()?;
    let mut parents = Vec::new();
    for commit in worktree
        .head()?
        .into_iter()
        .chain(order.also.iter().copied())
    {
        if !parents.contains(&commit) && repo.has_object(commit) {
            parents.push(commit);
        }
    }
    let message = format!("arkaint: archive of {}\n\n{}\n", order.run, order.why);
    let commit = git::commit_as_arkaint(repo, &message, tree, &parents)?;
    verify(git, commit)?;
    let id = free_id(repo, order.run)?;
    git::move_ref(
        repo,
        &format!("{REFS}{id}"),
        commit,
        PreviousValue::MustNotExist,
        "arkaint: archive",
    )?;
    git::make_durable(repo, commit, &format!("{REFS}{id}"))?;
    Ok(Snapshot {
        commit,
        tree,
        id,
        nested,
    })
}

/// Every object of `commit`'s own tree is in the object store; in a partial clone, or promised by a remote.
pub(crate) fn verify(git: &Hardened<'_>, commit: Oid) -> Result<()> {
    let name = commit.to_string();
    let listed = git
        .call(Attributes::Raw, git::MISSING)
        .arg(&name)
        .bytes()
        .with_context(|| format!("verifying {}", commit.to_hex_with_len(12)))?;
    let missing: Vec<_> = listed
        .split(|b| *b == b'\n')
        .filter(|line| line.starts_with(b"?"))
        .collect();
    if let Some(first) = missing.first()
        && !all_promised(git, &name)?
    {
        bail!(
            "{} objects of {} are missing, the first is {}",
            missing.len(),
            commit.to_hex_with_len(12),
            String::from_utf8_lossy(&first[1..])
        );
    }
    Ok(())
}

/// Are the objects that are not here those alone that a partial clone left with its remote? Nothing is fetched to find out.
fn all_promised(git: &Hardened<'_>, commit: &str) -> Result<bool> {
    if !git.worktree().is_partial()? {
        return Ok(false);
    }
    // git asks its promisor packs only where there is a remote that promises: this one has no address.
    let out = git
        .call(Attributes::Raw, ["-c", "remote.arkaint.promisor=true"])
        .args(["rev-list", "--objects", "--no-walk", "--quiet"])
        .args(["--exclude-promisor-objects", commit])
        .output()?;
    Ok(out.code == Some(0))
}

fn free_id(repo: &gix::Repository, run: &str) -> Result<String> {
    for number in 1..10_000 {
        let id = format!("{run}/{number}");
        if git::find_ref(repo, &format!("{REFS}{id}"))?.is_none() {
            return Ok(id);
        }
    }
    bail!("10,000 archives of {run}: git arkaint discarded list")
}
