//! Two notes trees made one, whatever fan-out either has: where both have a note on an object, its lines are united and sorted, as
//! `git notes merge -s cat_sort_uniq` does it, or the page that was written later stays. A tree that has two notes on one object, at which
//! git's own merge and gix give up, is read like any other. It moves no ref.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use gix::bstr::{BString, ByteSlice as _};
use gix::note::plumbing::State;
use gix::objs::tree::{EntryKind, EntryMode};

use super::notes;
use crate::git::Oid;

/// Deeper than any fan-out: a hostile tree ends here.
const DEEPEST: usize = 64;

/// How two notes on one object become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Every line of both, each once, sorted.
    Lines,
    /// The one that was written later; in the same second, the greater object name, so that every clone chooses alike.
    Later,
}

/// One side: the commit of a notes ref, or none where there is no ref.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    pub tip: Option<Oid>,
    pub tree: Oid,
}

impl Side {
    pub(super) fn of(repo: &gix::Repository, tip: Option<Oid>) -> Result<Self> {
        let tree = notes::tree_at(repo, tip)?;
        Ok(Self { tip, tree })
    }
}

/// What a union came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Union {
    pub tree: Oid,
    /// Lines (or pages) that ours lacked.
    pub received: usize,
    /// Lines (or pages) that theirs lacks.
    pub sent: usize,
    /// One of the two had two notes on one object.
    pub mended: bool,
}

/// A notes tree, flat.
#[derive(Default)]
struct Leaves {
    /// More than one on an object only in a damaged tree.
    notes: BTreeMap<Oid, Vec<Oid>>,
    /// What is no note, by its path: `blobs/NAME`, and what newer versions may put there.
    others: BTreeMap<BString, (EntryMode, Oid)>,
}

impl Leaves {
    fn read(repo: &gix::Repository, tree: Oid) -> Result<Self> {
        let mut leaves = Self::default();
        leaves.add(repo, tree, &mut BString::default(), 0)?;
        Ok(leaves)
    }

    fn add(
        &mut self,
        repo: &gix::Repository,
        tree: Oid,
        path: &mut BString,
        depth: usize,
    ) -> Result<()> {
        let long = repo.object_hash().len_in_hex();
        let tree = repo
            .find_tree(tree)
            .with_context(|| format!("reading the notes tree {tree}"))?;
        for entry in tree.iter() {
            let entry = entry.context("reading a notes tree")?;
            let (mode, id, before) = (entry.mode(), entry.object_id(), path.len());
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(entry.filename());
            let digits: Vec<u8> = path.iter().copied().filter(|b| *b != b'/').collect();
            let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
            let fans = path[..before]
                .split_str("/")
                .all(|part| part.len() == 2 || before == 0);
            if mode.is_blob() && is_hex && fans && digits.len() == long {
                let on = Oid::from_hex(&digits).context("reading a notes tree")?;
                let notes = self.notes.entry(on).or_default();
                if !notes.contains(&id) || notes.len() < 2 {
                    notes.push(id);
                }
            } else if mode.is_tree() && depth < DEEPEST {
                self.add(repo, id, path, depth + 1)?;
            } else {
                self.others.insert(path.clone(), (mode, id));
            }
            path.truncate(before);
        }
        Ok(())
    }

    fn is_damaged(&self) -> bool {
        self.notes.values().any(|notes| notes.len() > 1)
    }
}

/// Calls `work` with a notes tree; where gix gives it up because it is damaged, with the same notes in a sound one.
pub(super) fn with_state<T>(
    repo: &gix::Repository,
    tree: Oid,
    work: impl Fn(&mut State) -> Result<T>,
) -> Result<T> {
    let attempt = |tree| work(&mut State::new(tree, repo)?);
    attempt(tree).or_else(|error| {
        let leaves = Leaves::read(repo, tree)?;
        if !leaves.is_damaged() {
            return Err(error);
        }
        attempt(written(repo, &united(repo, &leaves)?, &leaves.others)?)
    })
}

/// Every note of a tree by the object that it hangs on; of two on one object, what they come to together.
pub(super) fn flat(repo: &gix::Repository, tree: Oid) -> Result<BTreeMap<Oid, Oid>> {
    united(repo, &Leaves::read(repo, tree)?)
}

/// The union of both sides. Writes objects, if `repo` does.
///
/// # Errors
/// When an object of either is not here.
pub(super) fn of(repo: &gix::Repository, rule: Rule, ours: Side, theirs: Side) -> Result<Union> {
    let (our, their) = (
        Leaves::read(repo, ours.tree)?,
        Leaves::read(repo, theirs.tree)?,
    );
    if their.notes.is_empty() && !their.others.is_empty() {
        bail!("it holds files and no note: it is no ledger");
    }
    let (was_damaged, mended) = (our.is_damaged(), our.is_damaged() || their.is_damaged());
    let mut union = Union {
        tree: ours.tree,
        received: 0,
        sent: 0,
        mended,
    };
    let mut changed = BTreeMap::new();
    let all: BTreeSet<&Oid> = our.notes.keys().chain(their.notes.keys()).collect();
    for on in all {
        let (here, there) = (of_object(&our, on), of_object(&their, on));
        let note = match (here, there) {
            ([one], [other]) if one == other => *one,
            ([one], [other]) if rule == Rule::Later => {
                let is_ours = written_at(repo, ours.tip, *on, *one)?
                    >= written_at(repo, theirs.tip, *on, *other)?;
                union.received += usize::from(!is_ours);
                union.sent += usize::from(is_ours);
                if is_ours { *one } else { *other }
            }
            ([one], []) | ([], [one]) => {
                let count = match rule {
                    Rule::Lines => lines(repo, &[*one])?.len(),
                    Rule::Later => 1,
                };
                *(if here.is_empty() {
                    &mut union.received
                } else {
                    &mut union.sent
                }) += count;
                *one
            }
            _ => {
                let (one, other) = (lines(repo, here)?, lines(repo, there)?);
                union.received += other.difference(&one).count();
                union.sent += one.difference(&other).count();
                blob_of(repo, one.union(&other))?
            }
        };
        if was_damaged || here != [note] {
            changed.insert(*on, note);
        }
    }
    let mut others = if was_damaged {
        our.others.clone()
    } else {
        BTreeMap::new()
    };
    for (path, entry) in &their.others {
        if is_free(&our.others, path) {
            others.insert(path.clone(), *entry);
        }
    }
    let start = if was_damaged {
        notes::tree_at(repo, None)?
    } else {
        ours.tree
    };
    union.tree = onto(repo, start, &changed, &others)?;
    Ok(union)
}

fn of_object<'a>(leaves: &'a Leaves, on: &Oid) -> &'a [Oid] {
    leaves.notes.get(on).map_or(&[], Vec::as_slice)
}

/// May `path` be added beside `others`: is it not there, and neither lies below the other?
fn is_free(others: &BTreeMap<BString, (EntryMode, Oid)>, path: &BString) -> bool {
    let below = [path.as_slice(), b"/"].concat();
    let mut above = path.as_slice();
    while let Some(slash) = above.rfind_byte(b'/') {
        above = &above[..slash];
        if others.contains_key(above.as_bstr()) {
            return false;
        }
    }
    let next = others.range(BString::from(below.clone())..).next();
    !others.contains_key(path) && next.is_none_or(|(other, _)| !other.starts_with(&below))
}

/// The notes of a damaged tree, one on an object.
fn united(repo: &gix::Repository, leaves: &Leaves) -> Result<BTreeMap<Oid, Oid>> {
    let one = |(on, notes): (&Oid, &Vec<Oid>)| {
        let note = match notes.as_slice() {
            [one] => *one,
            several => blob_of(repo, lines(repo, several)?.iter())?,
        };
        Ok((*on, note))
    };
    leaves.notes.iter().map(one).collect()
}

fn written(
    repo: &gix::Repository,
    notes: &BTreeMap<Oid, Oid>,
    others: &BTreeMap<BString, (EntryMode, Oid)>,
) -> Result<Oid> {
    onto(repo, notes::tree_at(repo, None)?, notes, others)
}

/// `start` with these notes and other entries in it.
fn onto(
    repo: &gix::Repository,
    start: Oid,
    notes: &BTreeMap<Oid, Oid>,
    others: &BTreeMap<BString, (EntryMode, Oid)>,
) -> Result<Oid> {
    let mut state = State::new(start, repo)?;
    for (on, note) in notes {
        state.edit(*on, Some(*note), repo)?;
    }
    let tree = state.write(repo)?;
    if others.is_empty() {
        return Ok(tree);
    }
    // Not `edit_tree`: see `notes::try_append`.
    let root = repo.find_tree(tree)?.decode()?.into();
    let mut editor = gix::objs::tree::Editor::new(root, &repo.objects, repo.object_hash());
    for (path, (mode, id)) in others {
        let kind: EntryKind = mode.kind();
        editor.upsert(path.split_str("/"), kind, *id)?;
    }
    Ok(editor.write(|tree| repo.write_object(tree).map(gix::Id::detach))?)
}

/// The lines of some notes, each once.
fn lines(repo: &gix::Repository, notes: &[Oid]) -> Result<BTreeSet<Vec<u8>>> {
    let mut all = BTreeSet::new();
    for note in notes {
        let blob = repo
            .find_blob(*note)
            .with_context(|| format!("reading the note {note}"))?;
        let lines = blob.data.split(|b| *b == b'\n');
        all.extend(lines.filter(|l| !l.is_empty()).map(<[u8]>::to_vec));
    }
    Ok(all)
}

fn blob_of<'a>(repo: &gix::Repository, lines: impl Iterator<Item = &'a Vec<u8>>) -> Result<Oid> {
    let mut text = Vec::new();
    for line in lines {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    Ok(repo.write_blob(text).context("writing a note")?.detach())
}

/// When the note on `on` became `note` in the history of `tip`: seconds since 1970, then its name. Follows whichever parent had it already.
fn written_at(repo: &gix::Repository, tip: Option<Oid>, on: Oid, note: Oid) -> Result<(i64, Oid)> {
    let Some(mut at) = tip else {
        return Ok((0, note));
    };
    loop {
        let commit = repo
            .find_commit(at)
            .with_context(|| format!("reading the notes commit {at}"))?;
        let mut before = None;
        for parent in commit.parent_ids() {
            // Shallow history ends where a parent is not here.
            let Some(parent) = repo.try_find_object(parent)? else {
                continue;
            };
            let (id, tree) = (parent.id, parent.try_into_commit()?.tree_id()?.detach());
            if with_state(repo, tree, |state| Ok(state.get(&on, repo)?))? == Some(note) {
                before = Some(id);
                break;
            }
        }
        match before {
            Some(parent) => at = parent,
            None => return Ok((commit.time()?.seconds, note)),
        }
    }
}

#[cfg(test)]
mod tests;
