//! Layer 4, preload: the reference files that the profile asks for, as of HEAD, in the order of their paths.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Result;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::git::Worktree;
use crate::git::changes::{Entry, Mode};
use crate::git::files::Wanted;
use crate::git::patch::LARGE;

use super::fence;
use super::survey::SLACK;
use super::withheld::Withheld;
use super::{Cut, Redact, unavailable};

/// Files that one profile may name.
const FILES: usize = 2_000;
/// A file gets at least this much, or is left out.
const LEAST: usize = 256;

/// The globs of a profile, and the folder that each one cannot leave.
struct Globs {
    set: GlobSet,
    roots: Vec<Vec<u8>>,
    invalid: usize,
}

impl Globs {
    /// `*` stays within a folder, `**` does not; a folder's name stands for all below it.
    fn new(globs: &[String]) -> Result<Self> {
        let (mut set, mut roots, mut invalid) = (GlobSetBuilder::new(), Vec::new(), 0);
        for glob in globs {
            let glob = glob.trim_start_matches("./").trim_end_matches('/');
            let below = format!("{glob}/**");
            match [glob, &below].map(|glob| GlobBuilder::new(glob).literal_separator(true).build())
            {
                [Ok(it), Ok(below)] => {
                    set.add(it);
                    set.add(below);
                    let literal = glob.find(['*', '?', '[', '{', '\\']).unwrap_or(glob.len());
                    roots.push(glob.as_bytes()[..literal].to_vec());
                }
                _ => invalid += 1,
            }
        }
        Ok(Self {
            set: set.build()?,
            roots,
            invalid,
        })
    }
}

impl Wanted for Globs {
    fn folder(&self, folder: &[u8]) -> bool {
        self.roots
            .iter()
            .any(|root| root.starts_with(folder) || folder.starts_with(root))
    }

    fn file(&self, path: &[u8]) -> bool {
        self.set.is_match(Path::new(OsStr::from_bytes(path)))
    }
}

/// The files that a profile's globs name.
pub(super) struct Found {
    entries: Vec<Entry>,
    invalid_globs: usize,
}

impl Found {
    pub(super) fn at(worktree: &Worktree, globs: &[String]) -> Result<Self> {
        let globs = Globs::new(globs)?;
        let Some(head) = worktree.head()? else {
            return Ok(Self {
                entries: Vec::new(),
                invalid_globs: globs.invalid,
            });
        };
        Ok(Self {
            entries: worktree.files_at(head, &globs, FILES)?,
            invalid_globs: globs.invalid,
        })
    }

    /// How many must not be shown.
    pub(super) fn sensitive(&self, withheld: &Withheld) -> usize {
        self.entries
            .iter()
            .filter(|entry| withheld.path(&entry.path))
            .count()
    }
}

/// Each file in a fence of its own, in at most `max` bytes, then what was left out and why.
pub(super) fn body(
    worktree: &Worktree,
    found: &Result<Found>,
    max: usize,
    withheld: &Withheld,
    redact: Redact,
) -> (String, Cut) {
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            let (body, cut) =
                unavailable(error, max.saturating_sub(fence::overhead("file")), redact);
            return (fence::fence("file", &body), cut);
        }
    };
    let mut body = String::new();
    let (mut cut, mut why) = (Cut::default(), [0; 6]);
    let mut room = max.saturating_sub(reasons([usize::MAX; 6]).len());
    for entry in &found.entries {
        let reason = match entry.mode {
            _ if withheld.path(&entry.path) => SENSITIVE,
            Mode::Link | Mode::Submodule => OTHER,
            _ if room < LEAST => NO_ROOM,
            _ => match worktree.content(entry, LARGE) {
                Ok(Ok(content)) if content[..content.len().min(8000)].contains(&0) => BINARY,
                Ok(Ok(content)) => {
                    let (text, left_out) = file(&entry.path, &content, room, withheld, redact);
                    room -= text.len();
                    cut.bytes += left_out;
                    body.push_str(&text);
                    continue;
                }
                Ok(Err(_)) => TOO_LARGE,
                Err(_) => OTHER,
            },
        };
        why[reason] += 1;
        cut.items += 1;
    }
    why[INVALID] = found.invalid_globs;
    let reasons = reasons(why);
    if body.len() + reasons.len() <= max {
        body.push_str(&reasons);
    }
    (body, cut)
}

const SENSITIVE: usize = 0;
const BINARY: usize = 1;
const TOO_LARGE: usize = 2;
const NO_ROOM: usize = 3;
const OTHER: usize = 4;
const INVALID: usize = 5;

fn reasons(why: [usize; 6]) -> String {
    let words = [
        "sensitive",
        "binary",
        "over 1 MiB",
        "for lack of room",
        "not a readable file",
        "invalid glob",
    ];
    let said: Vec<_> = why
        .iter()
        .zip(words)
        .filter(|(count, _)| **count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if said.is_empty() {
        String::new()
    } else {
        format!("\nFiles left out: {}.\n", said.join(", "))
    }
}

/// One file in its fence, in at most `max` bytes.
fn file(
    path: &[u8],
    content: &[u8],
    max: usize,
    withheld: &Withheld,
    redact: Redact,
) -> (String, usize) {
    let mut text = format!("path: {}\n", fence::path("", path)).into_bytes();
    let kept = &content[..content.len().min(max + SLACK)];
    for line in kept.split_inclusive(|byte| *byte == b'\n') {
        text.extend_from_slice(if withheld.line(line) {
            b"[left out: also a line of a sensitive path]\n"
        } else {
            line
        });
    }
    if !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    let text = fence::clean(&String::from_utf8_lossy(&text), redact);
    let (text, cut) = fence::fit(
        &text,
        content.len() - kept.len(),
        max.saturating_sub(fence::overhead("file")),
    );
    (fence::fence("file", &text), cut)
}
