//! What is no content at all: FIFOs, sockets, devices. No commit can hold them and git passes over them in silence, so they are looked for,
//! named, and moved aside where they stand in the way. It reads folders, and moves only what it is told to.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::ignored::Rules;
use crate::git::{is_ours, state};

/// One of them: its path from the worktree's root, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Odd {
    pub path: Vec<u8>,
    pub kind: &'static str,
}

/// All below `root` that `rules` do not ignore, but for those in repositories of their own.
pub(super) fn find(root: &Path, rules: &mut Rules<'_>) -> Result<Vec<Odd>> {
    let mut found = Vec::new();
    descend(root, &mut Vec::new(), rules, &mut found)?;
    Ok(found)
}

fn descend(
    root: &Path,
    place: &mut Vec<u8>,
    rules: &mut Rules<'_>,
    found: &mut Vec<Odd>,
) -> Result<()> {
    let folder = root.join(OsStr::from_bytes(place));
    // What cannot be looked into is for `git add` to say: it fails there.
    for child in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, kind) = (child.file_name(), child.file_type()?);
        let above = place.len();
        place.extend_from_slice(name.as_bytes());
        let odd = if kind.is_fifo() {
            "a FIFO"
        } else if kind.is_socket() {
            "a socket"
        } else if kind.is_block_device() || kind.is_char_device() {
            "a device"
        } else {
            ""
        };
        if kind.is_dir() && name != ".git" && !is_ours(place) {
            place.push(b'/');
            let own = child.path().join(".git").symlink_metadata().is_ok();
            if !own && !rules.ignore(place)? {
                descend(root, place, rules, found)?;
            }
        } else if !odd.is_empty() && !rules.ignore(place)? {
            found.push(Odd {
                path: place.clone(),
                kind: odd,
            });
        }
        place.truncate(above);
    }
    Ok(())
}

/// Moves it to the folder `kept`, which is there: it has no content, but it is somebody's.
pub(super) fn move_aside(root: &Path, odd: &Odd, kept: &Path) -> Result<PathBuf> {
    let name = String::from_utf8_lossy(&odd.path).replace('/', "%");
    let to = state::free_name(kept, &name);
    fs::rename(root.join(OsStr::from_bytes(&odd.path)), &to)
        .with_context(|| format!("moving {name} to {}", to.display()))?;
    Ok(to)
}
