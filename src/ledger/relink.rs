//! Records whose commit was rewritten, put where the work is now: on the commit with the same tree, else on the one that carries the same
//! checkpoint's trailers, else on the one that its descendant went to (a squash). Lines are copied, the old note stays. It judges nothing: a
//! copied record proves no checkpoint, as it names another commit.

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::{Context, Result};
use gix::bstr::ByteSlice as _;
use gix::refs::transaction::PreviousValue;

use super::record::Record;
use super::{Kind, notes, union};
use crate::git::{self, Oid, Worktree};

/// By what a commit was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// It has the same tree.
    Tree,
    /// It carries the trailers of the same checkpoint.
    Checkpoint,
    /// A later commit of the same work was found by one of the two.
    Squash,
}

impl By {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Checkpoint => "checkpoint",
            Self::Squash => "squash",
        }
    }
}

/// One note that was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relinked {
    pub from: Oid,
    pub to: Oid,
    pub by: By,
    /// Lines that the new commit lacked.
    pub records: usize,
}

/// What a repair came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repair {
    pub relinked: Vec<Relinked>,
    /// Commits with records that nothing reaches, and whose work is nowhere else. They stay where they are.
    pub alone: Vec<Oid>,
}

/// A commit with records that no branch, tag or worktree reaches.
struct Orphan {
    lines: Vec<Vec<u8>>,
    /// Seconds since 1970; the time of its newest record where the commit is gone.
    seconds: i64,
    tree: Option<Oid>,
    /// State hashes of the checkpoint records that are about it.
    states: Vec<String>,
    /// Commits before it, as far as they can be known.
    before: Vec<Oid>,
}

/// A commit that is reached.
#[derive(Clone, Copy)]
struct Home {
    commit: Oid,
    seconds: i64,
}

/// Finds the orphans of the ledger and copies their lines to where the work is now. A second call finds nothing to do.
///
/// # Errors
/// When history cannot be read, or the ledger's ref cannot be moved within thirty seconds.
pub(crate) fn repair(worktree: &Worktree) -> Result<Repair> {
    let repo = worktree.repo()?;
    let Some(tip) = notes::tip(repo)? else {
        return Ok(Repair::default());
    };
    let noted = union::flat(repo, notes::tree_at(repo, Some(tip))?)?;
    let tips = tips(worktree)?;
    let reached = reached(repo, &tips)?;
    let orphans = orphans(repo, &noted, &reached)?;
    if orphans.is_empty() {
        return Ok(Repair::default());
    }
    let found = homes(repo, &tips, &orphans)?;
    let mut plan: BTreeMap<Oid, (Oid, By)> = BTreeMap::new();
    for (on, orphan) in &orphans {
        if let Some(home) = found.of(orphan) {
            plan.insert(*on, home);
        }
    }
    squashed(repo, &orphans, &reached, &mut plan)?;
    let alone = orphans.keys().filter(|on| !plan.contains_key(*on)).copied();
    let alone = alone.collect();
    let relinked = copy(worktree, &orphans, &plan)?;
    Ok(Repair { relinked, alone })
}

/// Where history is looked at from: branches, remote branches, tags, and what each worktree has checked out.
fn tips(worktree: &Worktree) -> Result<Vec<Oid>> {
    let repo = worktree.repo()?;
    let mut tips = Vec::new();
    for below in ["refs/heads/", "refs/remotes/", "refs/tags/"] {
        for mut reference in git::refs_below(repo, below)?.whole()? {
            // A ref that leads nowhere, or to no commit, reaches none.
            if let Ok(id) = reference.peel_to_id()
                && repo
                    .find_header(id)
                    .is_ok_and(|header| header.kind().is_commit())
            {
                tips.push(id.detach());
            }
        }
    }
    tips.extend(
        worktree
            .worktrees()?
            .into_iter()
            .filter_map(|place| place.head),
    );
    tips.sort_unstable();
    tips.dedup();
    Ok(tips)
}

fn reached(repo: &gix::Repository, tips: &[Oid]) -> Result<HashSet<Oid>> {
    let mut reached = HashSet::new();
    for commit in repo.rev_walk(tips.iter().copied()).all()? {
        reached.insert(commit.context("walking history")?.id);
    }
    Ok(reached)
}

fn orphans(
    repo: &gix::Repository,
    noted: &BTreeMap<Oid, Oid>,
    reached: &HashSet<Oid>,
) -> Result<BTreeMap<Oid, Orphan>> {
    let mut orphans = BTreeMap::new();
    for (on, note) in noted.iter().filter(|(on, _)| !reached.contains(*on)) {
        let commit = match repo.try_find_object(*on)? {
            Some(object) if object.kind.is_commit() => Some(object.into_commit()),
            // A note on a tree or a blob hangs on no history.
            Some(_) => continue,
            None => None,
        };
        let note = repo
            .find_blob(*note)
            .with_context(|| format!("reading the note on {on}"))?;
        let name = on.to_string();
        let lines = note.data.split(|b| *b == b'\n').filter(|l| !l.is_empty());
        let lines: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).collect();
        let records: Vec<Record> = lines.iter().filter_map(|l| Record::from_line(l)).collect();
        let about_it = || records.iter().filter(|r| r.str("commit") == name);
        let checkpoints = || about_it().filter(|r| r.is(Kind::Checkpoint));
        let oid = |text: &str| Oid::from_hex(text.as_bytes()).ok();
        let newest = records.iter().map(Record::at).max().unwrap_or_default();
        let (tree, seconds, before) = match &commit {
            Some(commit) => (
                Some(commit.tree_id()?.detach()),
                commit.time()?.seconds,
                commit.parent_ids().map(gix::Id::detach).collect(),
            ),
            // Pruned, or never here: what its own records say of it.
            None => (
                about_it().find_map(|r| oid(r.str("tree"))),
                newest.parse().map_or(0, jiff::Timestamp::as_second),
                checkpoints().filter_map(|r| oid(r.str("prev"))).collect(),
            ),
        };
        let states = checkpoints().map(|r| r.str("state").to_owned()).collect();
        orphans.insert(
            *on,
            Orphan {
                lines,
                seconds,
                tree,
                states,
                before,
            },
        );
    }
    Ok(orphans)
}

/// Commits that are reached, by what orphans are found by.
#[derive(Default)]
struct Homes {
    by_tree: HashMap<Oid, Vec<Home>>,
    by_state: HashMap<String, Vec<Home>>,
}

impl Homes {
    fn of(&self, orphan: &Orphan) -> Option<(Oid, By)> {
        let by_tree = orphan.tree.and_then(|tree| self.by_tree.get(&tree));
        let mut by_state = orphan
            .states
            .iter()
            .filter_map(|state| self.by_state.get(state));
        let found = by_tree
            .map(|homes| (homes, By::Tree))
            .or_else(|| by_state.next().map(|homes| (homes, By::Checkpoint)));
        let (homes, by) = found?;
        // Of several with one tree, the first that came after it; where all are older, the newest of them.
        let after = homes.iter().filter(|home| home.seconds >= orphan.seconds);
        let home = after
            .min_by_key(|home| (home.seconds, home.commit))
            .or_else(|| homes.iter().max_by_key(|home| (home.seconds, home.commit)))?;
        Some((home.commit, by))
    }
}

fn homes(repo: &gix::Repository, tips: &[Oid], orphans: &BTreeMap<Oid, Orphan>) -> Result<Homes> {
    let trees: HashSet<Oid> = orphans.values().filter_map(|orphan| orphan.tree).collect();
    let states: HashSet<&str> = orphans
        .values()
        .flat_map(|orphan| orphan.states.iter().map(String::as_str))
        .collect();
    let mut homes = Homes::default();
    for commit in repo.rev_walk(tips.iter().copied()).all()? {
        let commit = commit.context("walking history")?.object()?;
        let tree = commit.tree_id()?.detach();
        let home = Home {
            commit: commit.id,
            seconds: commit.time()?.seconds,
        };
        if trees.contains(&tree) {
            homes.by_tree.entry(tree).or_default().push(home);
        }
        let state = commit.message_raw_sloppy().lines().find_map(|line| {
            let value = line.strip_prefix(b"Arkaint-State-Hash: ")?;
            value.to_str().ok()
        });
        if let Some(state) = state.filter(|state| states.contains(state)) {
            homes
                .by_state
                .entry(state.to_owned())
                .or_default()
                .push(home);
        }
    }
    Ok(homes)
}

/// The orphans that came before one that was found go with it: their work is in that commit too.
fn squashed(
    repo: &gix::Repository,
    orphans: &BTreeMap<Oid, Orphan>,
    reached: &HashSet<Oid>,
    plan: &mut BTreeMap<Oid, (Oid, By)>,
) -> Result<()> {
    let mut found: Vec<_> = plan.iter().map(|(on, (to, _))| (*on, *to)).collect();
    // The nearest descendant first: what it takes, later ones do not.
    found.sort_by_key(|(on, _)| (orphans[on].seconds, *on));
    let mut seen = HashSet::new();
    for (on, to) in found {
        let mut left = orphans[&on].before.clone();
        while let Some(before) = left.pop() {
            if reached.contains(&before) || !seen.insert(before) {
                continue;
            }
            if let Some(orphan) = orphans.get(&before) {
                plan.entry(before).or_insert((to, By::Squash));
                left.extend(&orphan.before);
            } else if let Some(object) = repo.try_find_object(before)?
                && let Ok(commit) = object.try_into_commit()
            {
                left.extend(commit.parent_ids().map(gix::Id::detach));
            }
        }
    }
    Ok(())
}

/// Appends to each new commit's note what it lacks, all in one step of the ref.
fn copy(
    worktree: &Worktree,
    orphans: &BTreeMap<Oid, Orphan>,
    plan: &BTreeMap<Oid, (Oid, By)>,
) -> Result<Vec<Relinked>> {
    let repo = worktree.repo()?;
    notes::until_moved("repairing the ledger", || {
        let tip = notes::tip(repo)?;
        let (tree, did) = union::with_state(repo, notes::tree_at(repo, tip)?, |state| {
            let mut did = Vec::new();
            for (from, (to, by)) in plan {
                let mut text = match state.get(to, repo)? {
                    Some(note) => repo.find_blob(note)?.data.clone(),
                    None => Vec::new(),
                };
                let there: HashSet<Vec<u8>> =
                    text.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
                let lacking = orphans[from].lines.iter().filter(|l| !there.contains(*l));
                let lacking: Vec<_> = lacking.collect();
                if lacking.is_empty() {
                    continue;
                }
                for line in &lacking {
                    if !text.is_empty() && !text.ends_with(b"\n") {
                        text.push(b'\n');
                    }
                    text.extend_from_slice(line);
                    text.push(b'\n');
                }
                let note = repo.write_blob(&text).context("writing a note")?.detach();
                state.edit(*to, Some(note), repo)?;
                did.push(Relinked {
                    from: *from,
                    to: *to,
                    by: *by,
                    records: lacking.len(),
                });
            }
            Ok((state.write(repo)?, did))
        })?;
        if !did.is_empty() {
            let message = format!("arkaint: repair, {} notes\n", did.len());
            let commit = git::commit_as_user(repo, &message, tree, tip.as_slice())?;
            let expected = tip.map_or(PreviousValue::MustNotExist, |tip| {
                PreviousValue::MustExistAndMatch(tip.into())
            });
            git::move_ref(repo, notes::REF, commit, expected, "arkaint: repair")?;
        }
        Ok(did)
    })
}
