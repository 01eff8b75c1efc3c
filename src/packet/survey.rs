//! One look at what differs between two trees, for two layers: a row for each path, and each file's patch. Its work is bounded; what
//! lies beyond the bounds is counted and named, not read.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::git::changes::{Change, Changes, Mode};
use crate::git::patch::{Comparer, Content, FILES};

use super::fence::path;
use super::patch::{Patch, Writer, sizes};
use super::withheld::Withheld;

/// Bytes of file content that are compared in all.
const READ: u64 = 64 << 20;
/// Lines of context.
const CONTEXT: u32 = 2;
/// Bytes of a patch kept beyond the place where it will be cut, so that redaction sees past the cut.
pub(super) const SLACK: usize = 8 << 10;
/// Bytes of rows; no list in a packet is longer.
const ROWS: usize = 256 << 10;
/// Top folders that are named when the list is cut.
const FOLDERS: usize = 12;

/// What was found.
#[derive(Default)]
pub(super) struct Survey {
    pub totals: String,
    /// One line a path.
    pub rows: Vec<String>,
    /// Changed paths without a row.
    pub unlisted: usize,
    /// `src/ 300, docs/ 12`: where the changed paths are.
    pub folders: String,
    pub patches: Vec<Patch>,
    /// Changes that touch a sensitive path: they have a row and no patch.
    pub sensitive: usize,
}

/// How far a change was looked into.
enum Look {
    Compared(Content),
    /// Not in this clone, or its name is no path.
    Unreadable,
    /// Beyond the bounds.
    Skipped,
}

/// Looks at every change once. The patches may take `max` bytes together in the end.
pub(super) fn survey(
    changes: &Changes,
    comparer: &mut Comparer,
    withheld: &Withheld,
    max: usize,
) -> Survey {
    let mut survey = Survey::default();
    let (mut added, mut removed, mut looked, mut kept, mut listed) = (0, 0, 0, 0, 0);
    for change in &changes.list {
        let sensitive = withheld.change(change);
        // A patch is kept as far as it could be shown; when enough is kept for any choice, the others are only measured.
        let mut writer = Writer::new(if sensitive || kept > 4 * max {
            0
        } else {
            max + SLACK
        });
        let look = if looked == FILES || comparer.bytes() > READ {
            Look::Skipped
        } else {
            looked += 1;
            comparer
                .compare(change, CONTEXT, &mut |hunk| writer.hunk(hunk, withheld))
                .map_or(Look::Unreadable, Look::Compared)
        };
        if let Look::Compared(Content::Lines {
            added: plus,
            removed: minus,
        }) = look
        {
            added += plus;
            removed += minus;
        }
        if sensitive {
            survey.sensitive += 1;
        } else if let Look::Compared(content) = look {
            let patch = writer.end(change, content);
            kept += patch.text.len();
            survey.patches.push(patch);
        }
        if listed < ROWS {
            let row = row(change, &look, sensitive);
            listed += row.len();
            survey.rows.push(row);
        } else {
            survey.unlisted += 1;
        }
    }
    survey.unlisted += changes.beyond;
    survey.totals = totals(changes, looked, added, removed);
    survey.folders = folders(changes);
    survey
}

fn row(change: &Change, look: &Look, sensitive: bool) -> String {
    let mut row = match (&change.old, &change.new) {
        (Some(old), Some(new)) if old.path != new.path => {
            format!(" {} => {} |", path("", &old.path), path("", &new.path))
        }
        _ => format!(" {} |", path("", change.path())),
    };
    let mut say = |words: &str| {
        row.push_str(if row.ends_with('|') { " " } else { ", " });
        row.push_str(words);
    };
    match look {
        Look::Compared(Content::Lines {
            added: 0,
            removed: 0,
        }) => {}
        Look::Compared(Content::Lines { added, removed }) => say(&format!("+{added} -{removed}")),
        Look::Compared(Content::Binary { old, new }) => {
            say(&format!("binary {}", sizes(*old, *new)));
        }
        Look::Compared(Content::Large { old, new }) => {
            say(&format!("too large to compare {}", sizes(*old, *new)));
        }
        Look::Compared(Content::Submodule) => say("submodule"),
        Look::Unreadable => say("content not readable in this clone"),
        Look::Skipped => say("not compared"),
    }
    let kind = |mode| match mode {
        Mode::File | Mode::Submodule => "",
        Mode::Executable => " executable",
        Mode::Link => " link",
    };
    match (&change.old, &change.new) {
        (None, Some(new)) => say(&format!("new{}", kind(new.mode))),
        (Some(old), None) => say(&format!("deleted{}", kind(old.mode))),
        (Some(old), Some(new)) => {
            if old.path != new.path {
                say("renamed");
            }
            if old.mode != new.mode {
                say(&format!(
                    "mode {} => {}",
                    old.mode.octal(),
                    new.mode.octal()
                ));
            }
        }
        (None, None) => {}
    }
    if sensitive {
        say("sensitive");
    }
    row.push('\n');
    row
}

fn totals(changes: &Changes, looked: usize, added: u64, removed: u64) -> String {
    let count = changes.list.len() + changes.beyond;
    let mut totals = format!(
        " {count} path{} changed, +{added} -{removed}",
        if count == 1 { "" } else { "s" }
    );
    if looked < count {
        let _ = write!(totals, " (lines of the first {looked} paths only)");
    }
    if changes.exact_renames_only {
        totals.push_str("; too many to compare each with each: files that were renamed and edited show as deleted and new");
    }
    totals.push('\n');
    totals
}

fn folders(changes: &Changes) -> String {
    let mut folders: BTreeMap<&[u8], usize> = BTreeMap::new();
    for change in &changes.list {
        let top = change
            .path()
            .iter()
            .position(|byte| *byte == b'/')
            .map_or(&b"./"[..], |slash| &change.path()[..=slash]);
        *folders.entry(top).or_default() += 1;
    }
    let mut folders: Vec<_> = folders.into_iter().collect();
    folders.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    folders
        .iter()
        .take(FOLDERS)
        .map(|(folder, count)| format!("{} {count}", path("", folder)))
        .collect::<Vec<_>>()
        .join(", ")
}
