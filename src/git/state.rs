//! Small files of our own state below the worktree's git directory: written whole or not at all, and durable before the next step.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes `value` as JSON by a temporary file in the same folder, synced, then renamed; the folder is synced too.
pub(crate) fn save<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let folder = path.parent().context("a state file has a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let fresh = path.with_extension("new");
    // An agent could have made a link of it, and what it leads to would be written over.
    remove(&fresh)?;
    // What is noted of a configuration may hold a password.
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&fresh)
        .with_context(|| format!("writing {}", path.display()))?;
    let mut text = serde_json::to_vec(value).context("rendering a state file")?;
    text.push(b'\n');
    file.write_all(&text)
        .and_then(|()| file.sync_all())
        .with_context(|| format!("writing {}", path.display()))?;
    fs::rename(&fresh, path).with_context(|| format!("writing {}", path.display()))?;
    File::open(folder)
        .and_then(|f| f.sync_all())
        .with_context(|| format!("syncing {}", folder.display()))
}

/// Reads what [`save`] wrote; `None` when there is nothing, or nothing that this version can read.
pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> Option<T> {
    // A FIFO in its place would keep a reader for ever.
    let is_file = path.symlink_metadata().ok()?.is_file();
    serde_json::from_slice(&is_file.then(|| fs::read(path).ok())??).ok()
}

/// Copies an index file with its time: git reads a file again that may have changed in the second in which the index was written, and a
/// younger copy would hide such a change.
pub(crate) fn copy_index(from: &Path, to: &Path) -> Result<()> {
    let shown = || format!("copying {}", from.display());
    let written = fs::metadata(from)
        .and_then(|meta| meta.modified())
        .with_context(shown)?;
    fs::copy(from, to).with_context(shown)?;
    File::options()
        .write(true)
        .open(to)
        .and_then(|copy| copy.set_modified(written))
        .with_context(shown)
}

/// Removes the file; it need not be there.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Ok(()) => path
            .parent()
            .map_or(Ok(()), |folder| File::open(folder)?.sync_all())
            .context("syncing the state folder"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("removing {}", path.display())),
    }
}

/// Opens the file at `path` for an OS lock; it and its folder are made where they are not there.
pub(crate) fn lock_file(path: &Path) -> Result<File> {
    let folder = path.parent().context("a lock has a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    // A FIFO in its place would keep a reader for ever.
    if path.symlink_metadata().is_ok_and(|meta| !meta.is_file()) {
        remove(path)?;
    }
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .with_context(|| format!("opening {}", path.display()))
}

/// Bytes that are free for us where `folder` lies; `None` where the file system does not tell.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// `name` below `folder`, or `name.1`, `name.2`...: the first that is free.
pub(crate) fn free_name(folder: &Path, name: &str) -> PathBuf {
    let mut path = folder.join(name);
    let mut number = 0;
    while path.symlink_metadata().is_ok() {
        number += 1;
        path = folder.join(format!("{name}.{number}"));
    }
    path
}
