//! Takes the shims out and puts back what was there before, byte for byte. What somebody changed since stays, and is named.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::chain::NAMED;
use super::folder::{Folder, Standing, ask};
use super::install::{Report, is_our_file, is_same};
use super::receipt::Receipt;
use super::shim::{self, Name, Owner};
use crate::exit::Exit;
use crate::git::Worktree;

/// What [`uninstall`] says where there is nothing to remove.
pub(crate) const NONE_HERE: &str = "no hook of Arkaint's is installed here";

/// Removes exactly what an installation wrote and puts back what was there before; safe to run again.
pub(crate) fn uninstall(worktree: &Worktree) -> Result<Report> {
    let folder = Folder::of(worktree)?;
    let mut folders = vec![folder.default.clone()];
    if folder.standing == Standing::Own && folder.path != folder.default {
        folders.push(folder.path.clone());
    }
    let (mut lines, mut stayed) = (Vec::new(), false);
    for folder in &folders {
        for name in Name::ALL {
            stayed |= take_out(folder, name, &mut lines)
                .with_context(|| format!("taking {} out", name.as_str()))?;
        }
        remove_leftovers(folder);
    }
    let receipt = Receipt::read(worktree.common_dir());
    if unset_bin(worktree, receipt.as_ref())? {
        lines.push("arkaint.bin: unset".to_owned());
    }
    if receipt.is_some_and(|receipt| receipt.made_folder) {
        // Only when nothing else came into it.
        let _ = fs::remove_dir(&folder.default);
    }
    Receipt::remove(worktree.common_dir())?;
    if lines.is_empty() {
        lines.push(NONE_HERE.to_owned());
    }
    if folder.standing != Standing::Own
        && Name::ALL.into_iter().any(|name| folder.calls_guard(name))
    {
        lines.push(format!(
            "the lines in {} that call the guards are yours to remove",
            folder.path.display()
        ));
    }
    Ok(Report {
        lines,
        active: false,
        exit: if stayed {
            Exit::CheckFailed
        } else {
            Exit::Done
        },
    })
}

/// Removes what a killed hook left beside the folder: links alone.
fn remove_leftovers(folder: &Path) {
    let Some(entries) = folder.parent().and_then(|around| fs::read_dir(around).ok()) else {
        return;
    };
    let is_ours = |name: &OsStr| name.as_encoded_bytes().starts_with(NAMED.as_bytes());
    for entry in entries
        .flatten()
        .filter(|entry| is_ours(&entry.file_name()))
    {
        let _ = remove_links(&entry.path());
    }
}

/// Removes a folder that holds links alone; another is somebody else's.
fn remove_links(folder: &Path) -> std::io::Result<()> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let is_link = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
    let is_ours = folder.symlink_metadata()?.is_dir() && entries.iter().all(is_link);
    if !is_ours {
        return Ok(());
    }
    for entry in entries {
        fs::remove_file(entry.path())?;
    }
    fs::remove_dir(folder)
}

/// Takes one hook out of `folder`; returns whether something had to stay.
fn take_out(folder: &Path, name: Name, lines: &mut Vec<String>) -> Result<bool> {
    let slot = folder.join(name.as_str());
    let kept = folder.join(name.kept_as());
    let is_kept = || kept.symlink_metadata().is_ok();
    let slot_owner = shim::owner(name, &slot);
    if slot_owner == Owner::Other && is_kept() && is_same(&slot, &kept) {
        fs::remove_file(&kept)?;
    }
    // Other installers move a hook that they find to `.legacy` (and run it) or to `.old`.
    for place in [
        slot.clone(),
        folder.join(format!("{}.legacy", name.as_str())),
        folder.join(format!("{}.old", name.as_str())),
    ] {
        if !is_our_file(name, &place) {
            continue;
        }
        let file = place
            .file_name()
            .map(OsStr::to_string_lossy)
            .unwrap_or_default()
            .into_owned();
        if is_kept() {
            fs::rename(&kept, &place)?;
            lines.push(format!("{file}: the hook that was there before is back"));
        } else {
            fs::remove_file(&place)?;
            lines.push(format!("{file}: removed"));
        }
    }
    match shim::owner(name, &slot) {
        Owner::Nobody if is_kept() => {
            fs::rename(&kept, &slot)?;
            lines.push(format!(
                "{}: the hook that was there before is back",
                name.as_str()
            ));
            Ok(false)
        }
        Owner::Edited => {
            lines.push(format!(
                "{} stays: it was edited since Arkaint wrote it, so remove it by hand",
                slot.display()
            ));
            Ok(true)
        }
        _ if is_kept() => {
            lines.push(format!(
                "{} stays: another hook stands in its place now",
                kept.display()
            ));
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Unsets the `arkaint.bin` that an installation wrote; another value is the user's.
fn unset_bin(worktree: &Worktree, receipt: Option<&Receipt>) -> Result<bool> {
    let local = ask(worktree, ["config", "--local", "--get", "arkaint.bin"]).output()?;
    let value = String::from_utf8_lossy(&local.stdout)
        .trim_end_matches('\n')
        .to_owned();
    let written = receipt.and_then(|receipt| receipt.bin.clone());
    if local.code != Some(0) || written.is_none_or(|written| written != Path::new(&value)) {
        return Ok(false);
    }
    worktree
        .git()
        .call(["config", "--local", "--unset-all", "arkaint.bin"])
        .run()
        .context("unsetting arkaint.bin")?;
    Ok(true)
}
