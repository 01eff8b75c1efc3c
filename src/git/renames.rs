//! Which deleted and added files are one that was renamed; the work is bounded, as comparing each with each is what makes wide ranges slow.

use std::collections::HashSet;
use std::convert::Infallible;
use std::ops::ControlFlow;

use anyhow::{Context, Result};
use gix::bstr::{BStr, ByteSlice};
use gix::diff::Rewrites;
use gix::diff::rewrites::Tracker;
use gix::diff::tree::visit::Change as Found;
use gix::objs::tree::EntryMode;

use super::Oid;
use super::changes::{Change, Entry, Mode};
use super::patch::{self, LARGE};

/// With more changed paths than this, only files that moved unchanged are recognised as renamed.
const SIMILAR_PATHS: usize = 400;
/// The same, when every deleted file against every added one would be more bytes than this to compare.
const SIMILAR_BYTES: u64 = 64 << 20;

/// Joins deletions and additions to renames and appends all to `list`. Says whether files that were renamed and edited may have been
/// missed.
pub(super) fn pair_up(
    repo: &gix::Repository,
    moved: Vec<(Found, Vec<u8>)>,
    beyond: usize,
    list: &mut Vec<Change>,
) -> Result<bool> {
    let ids = |added: bool| -> HashSet<Oid> {
        moved
            .iter()
            .filter(|(found, _)| is_addition(found) == added)
            .map(|(found, _)| found.oid().to_owned())
            .collect()
    };
    let (deleted, added) = (ids(false), ids(true));
    if deleted.is_empty() || added.is_empty() {
        list.extend(moved.into_iter().filter_map(|(found, path)| {
            let entry = Some(Entry {
                path,
                id: found.oid().to_owned(),
                mode: Mode::of(found.entry_mode())?,
            });
            Some(if added.is_empty() {
                Change {
                    old: entry,
                    new: None,
                }
            } else {
                Change {
                    old: None,
                    new: entry,
                }
            })
        }));
        return Ok(false);
    }
    // What moved unchanged is told by the objects' names alone.
    let edited = |side: &HashSet<Oid>, other: &HashSet<Oid>| {
        side.difference(other).copied().collect::<Vec<_>>()
    };
    let (deleted, added) = (edited(&deleted, &added), edited(&added, &deleted));
    let unclear = !deleted.is_empty() && !added.is_empty();
    let few = list.len() + moved.len() + beyond <= SIMILAR_PATHS;
    if unclear && few && bytes_to_compare(repo, &deleted, &added) <= SIMILAR_BYTES {
        // It fails where a partial clone lacks a blob.
        if let Ok(pairs) = pair(repo, moved.clone(), Some(0.5)) {
            list.extend(pairs);
            return Ok(false);
        }
    }
    list.extend(pair(repo, moved, None)?);
    Ok(unclear)
}

fn is_addition(found: &Found) -> bool {
    matches!(found, Found::Addition { .. })
}

/// How many bytes it takes to try every deleted file against every added one.
fn bytes_to_compare(repo: &gix::Repository, deleted: &[Oid], added: &[Oid]) -> u64 {
    let sum = |ids: &[Oid]| -> u64 {
        ids.iter()
            .map(|id| repo.find_header(*id).map_or(0, |header| header.size()))
            .filter(|size| *size <= LARGE)
            .sum()
    };
    sum(deleted) * added.len() as u64 + sum(added) * deleted.len() as u64
}

fn pair(
    repo: &gix::Repository,
    moved: Vec<(Found, Vec<u8>)>,
    percentage: Option<f32>,
) -> Result<Vec<Change>> {
    let mut tracker = Tracker::new(Rewrites {
        copies: None,
        percentage,
        limit: SIMILAR_PATHS,
        track_empty: false,
    });
    for (found, path) in moved {
        tracker.try_push_change(found, path.as_bstr());
    }
    let mut list = Vec::new();
    let entry = |path: &BStr, id: Oid, mode: EntryMode| {
        Mode::of(mode).map(|mode| Entry {
            path: path.to_vec(),
            id,
            mode,
        })
    };
    tracker
        .emit(
            |to, from| {
                let (id, mode) = to.change.oid_and_entry_mode();
                let to_entry = entry(to.location, id.to_owned(), mode);
                list.push(match (from, &to.change) {
                    (Some(from), _) => Change {
                        old: entry(from.location, from.id, from.entry_mode),
                        new: to_entry,
                    },
                    (None, Found::Deletion { .. }) => Change {
                        old: to_entry,
                        new: None,
                    },
                    (None, _) => Change {
                        old: None,
                        new: to_entry,
                    },
                });
                ControlFlow::Continue(())
            },
            &mut patch::platform(repo, &gix::index::State::new(repo.object_hash()))?,
            &repo.objects,
            |_| Ok::<_, Infallible>(()),
        )
        .context("looking for renames")?;
    Ok(list)
}
