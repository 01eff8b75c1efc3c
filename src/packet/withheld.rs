//! What a packet must not show: the content of sensitive paths, on either side of a change, and wherever else those lines turn up.

use std::collections::HashSet;

use crate::git::changes::{Change, Changes};
use crate::git::patch::Comparer;

/// Sensitive files that are read for their lines, and bytes of them.
const FILES: usize = 256;
const BYTES: usize = 8 << 20;
/// Shorter lines (`}`, `else`) say nothing about where they came from.
const TELLING: usize = 6;

/// The rule for paths, and the lines of the sensitive files that changed. The rule alone is not enough: a file that was renamed out
/// of a sensitive path and rewritten looks like a new one.
pub(super) struct Withheld<'a> {
    sensitive: &'a dyn Fn(&[u8]) -> bool,
    lines: HashSet<Vec<u8>>,
    files: usize,
    bytes: usize,
}

impl<'a> Withheld<'a> {
    pub(super) fn new(sensitive: &'a dyn Fn(&[u8]) -> bool) -> Self {
        Self {
            sensitive,
            lines: HashSet::new(),
            files: 0,
            bytes: 0,
        }
    }

    /// Learns the lines of the sensitive sides of `changes`.
    pub(super) fn learn(&mut self, changes: &Changes, comparer: &Comparer) {
        for side in changes
            .list
            .iter()
            .flat_map(Change::sides)
            .filter(|side| (self.sensitive)(&side.path))
        {
            if self.files == FILES || self.bytes > BYTES {
                return;
            }
            let Ok(Some(content)) = comparer.read(side) else {
                continue;
            };
            self.files += 1;
            self.bytes += content.len();
            let lines = content
                .split(|byte| *byte == b'\n')
                .map(<[u8]>::trim_ascii)
                .filter(|line| line.len() >= TELLING);
            self.lines.extend(lines.map(<[u8]>::to_vec));
        }
    }

    /// Is this path's content never shown?
    pub(super) fn path(&self, path: &[u8]) -> bool {
        (self.sensitive)(path)
    }

    /// Is a sensitive path on either side?
    pub(super) fn change(&self, change: &Change) -> bool {
        change.sides().any(|side| self.path(&side.path))
    }

    /// Does this line also stand in a sensitive file?
    pub(super) fn line(&self, line: &[u8]) -> bool {
        !self.lines.is_empty() && self.lines.contains(line.trim_ascii())
    }
}
