//! Which deleted and added files are one that was renamed: first by the objects' names, then by how much of the content is the same, as
//! git measures it. The work is bounded; gix's own tracker compares line by line, which takes minutes on a few unlucky large files.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hasher};

use super::Oid;
use super::changes::{Change, Entry, Mode};
use super::patch::LARGE;

/// Bytes of content that are read to find files that were renamed and edited.
const READ: u64 = 64 << 20;
/// Steps of comparing pieces of content; with more, only files that moved unchanged are recognised.
const STEPS: usize = 20_000_000;
/// Files of equal content among which one of the same name is looked for.
const EQUALS: usize = 64;
/// The longest piece of content that is looked at as one.
const PIECE: usize = 64;

/// Joins `deleted` and `added` to renames and appends all to `list`. Says whether files that were renamed and edited may have been missed.
pub(super) fn pair_up(
    repo: &gix::Repository,
    deleted: Vec<Entry>,
    added: Vec<Entry>,
    list: &mut Vec<Change>,
) -> bool {
    let mut deleted: Vec<_> = deleted.into_iter().map(Some).collect();
    let added = same_object(&mut deleted, added, list);
    let mut deleted: Vec<_> = deleted.into_iter().flatten().collect();
    let mut added: Vec<_> = added.into_iter().map(Some).collect();
    let pairs = similar(repo, &deleted, &added);
    let missed = pairs.is_none();
    let mut from: HashMap<usize, usize> = pairs.unwrap_or_default().into_iter().collect();
    for (at, old) in deleted.drain(..).enumerate() {
        list.push(Change {
            old: Some(old),
            new: from.remove(&at).and_then(|to| added[to].take()),
        });
    }
    list.extend(added.into_iter().flatten().map(|new| Change {
        old: None,
        new: Some(new),
    }));
    missed
}

/// Takes out what moved unchanged; returns the added files that are left.
fn same_object(
    deleted: &mut [Option<Entry>],
    added: Vec<Entry>,
    list: &mut Vec<Change>,
) -> Vec<Entry> {
    let mut by_id: HashMap<Oid, VecDeque<usize>> = HashMap::new();
    for (at, old) in deleted.iter().enumerate() {
        by_id
            .entry(old.as_ref().expect("none is taken yet").id)
            .or_default()
            .push_back(at);
    }
    let mut rest = Vec::new();
    for new in added {
        let found = by_id.get_mut(&new.id).and_then(|equals| {
            let fits = |at: &usize| {
                deleted[*at]
                    .as_ref()
                    .is_some_and(|old| old.mode.comparable(new.mode))
            };
            let named = |at: &usize| {
                fits(at)
                    && deleted[*at]
                        .as_ref()
                        .is_some_and(|old| name(&old.path) == name(&new.path))
            };
            let place = equals
                .iter()
                .take(EQUALS)
                .position(named)
                .or_else(|| equals.iter().take(EQUALS).position(fits))?;
            equals.remove(place)
        });
        match found {
            Some(at) => list.push(Change {
                old: deleted[at].take(),
                new: Some(new),
            }),
            None => rest.push(new),
        }
    }
    rest
}

/// Pairs of which at least half is the same, the most similar first; `None` when it would take too long to look.
fn similar(
    repo: &gix::Repository,
    deleted: &[Entry],
    added: &[Option<Entry>],
) -> Option<Vec<(usize, usize)>> {
    if deleted.is_empty() || added.is_empty() {
        return Some(Vec::new());
    }
    let mut left = READ;
    let mut read = |entry: &Entry| Pieces::of(repo, entry, &mut left);
    let old = deleted.iter().map(&mut read).collect::<Option<Vec<_>>>()?;
    let new = added
        .iter()
        .flatten()
        .map(&mut read)
        .collect::<Option<Vec<_>>>()?;
    let couples = old
        .iter()
        .flat_map(|old| new.iter().map(move |new| (old, new)))
        .filter(|(old, new)| old.may_be(new));
    if couples
        .map(|(old, new)| old.pieces.len() + new.pieces.len())
        .sum::<usize>()
        > STEPS
    {
        return None;
    }
    let mut pairs = Vec::new();
    for (from, old) in old.iter().enumerate() {
        for (to, new) in new.iter().enumerate() {
            if !old.may_be(new) {
                continue;
            }
            let score = old.likeness(new);
            if score >= 500 {
                let named = added[to]
                    .as_ref()
                    .is_some_and(|new| name(&deleted[from].path) == name(&new.path));
                pairs.push((score, named, from, to));
            }
        }
    }
    pairs.sort_by(|a, b| {
        (b.0, b.1)
            .cmp(&(a.0, a.1))
            .then_with(|| (a.2, a.3).cmp(&(b.2, b.3)))
    });
    let (mut used_old, mut used_new) = (vec![false; old.len()], vec![false; new.len()]);
    pairs.retain(|(_, _, from, to)| {
        let free = !used_old[*from] && !used_new[*to];
        (used_old[*from], used_new[*to]) = (used_old[*from] || free, used_new[*to] || free);
        free
    });
    Some(
        pairs
            .into_iter()
            .map(|(_, _, from, to)| (from, to))
            .collect(),
    )
}

fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// The content of a file as a bag: the hashes of its lines, in order of size, with how many bytes each makes up.
struct Pieces {
    pieces: Vec<(u64, u64)>,
    bytes: u64,
}

impl Pieces {
    /// `None` when too much has been read. What is no file, large, or not in this clone has no pieces and is like nothing.
    fn of(repo: &gix::Repository, entry: &Entry, left: &mut u64) -> Option<Self> {
        let nothing = Some(Self {
            pieces: Vec::new(),
            bytes: 0,
        });
        if !matches!(entry.mode, Mode::File | Mode::Executable) {
            return nothing;
        }
        match repo.find_header(entry.id) {
            Ok(header) if header.size() <= LARGE => *left = left.checked_sub(header.size())?,
            _ => return nothing,
        }
        let Ok(object) = repo.find_object(entry.id) else {
            return nothing;
        };
        let mut pieces: Vec<_> = object
            .data
            .split_inclusive(|byte| *byte == b'\n')
            .flat_map(|line| line.chunks(PIECE))
            .map(|piece| {
                let mut hasher = DefaultHasher::new();
                hasher.write(piece);
                (hasher.finish(), piece.len() as u64)
            })
            .collect();
        pieces.sort_unstable();
        pieces.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        Some(Self {
            pieces,
            bytes: object.data.len() as u64,
        })
    }

    /// Can half of the larger be in the smaller?
    fn may_be(&self, other: &Self) -> bool {
        self.bytes > 0 && self.bytes.min(other.bytes) * 2 >= self.bytes.max(other.bytes)
    }

    /// How much of the larger is in the other, in thousandths.
    fn likeness(&self, other: &Self) -> u64 {
        let (mut mine, mut theirs) = (
            self.pieces.iter().peekable(),
            other.pieces.iter().peekable(),
        );
        let mut same = 0;
        while let (Some(a), Some(b)) = (mine.peek(), theirs.peek()) {
            match a.0.cmp(&b.0) {
                std::cmp::Ordering::Less => {
                    mine.next();
                }
                std::cmp::Ordering::Greater => {
                    theirs.next();
                }
                std::cmp::Ordering::Equal => {
                    same += a.1.min(b.1);
                    mine.next();
                    theirs.next();
                }
            }
        }
        same * 1000 / self.bytes.max(other.bytes).max(1)
    }
}
