//! Writing an artifact of our own into a worker's folder: whole or not at all, durable, and through no link that the worker left there.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use anyhow::{Context, Result};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Writes `bytes` to the file at `path` (relative, as `config::relative_path` makes it) below the worktree `root`, and makes its
/// folders. What is at the path is replaced, a link too, not what that points to.
///
/// # Errors
/// When a folder of the path is none or a link, or the file cannot be written; then what was there is there still.
pub(crate) fn write(root: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    let shown = || format!("writing {}", path.display());
    let follow = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = openat(CWD, root, follow, Mode::empty())
        .with_context(|| format!("opening the worktree {}", root.display()))?;
    let mut components = path.components().map(Component::as_os_str).peekable();
    while let Some(name) = components.next() {
        if components.peek().is_none() {
            return replace(&folder, name, bytes).with_context(shown);
        }
        match mkdirat(&folder, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error).with_context(shown),
        }
        folder = openat(&folder, name, follow | OFlags::NOFOLLOW, Mode::empty())
            .with_context(|| format!("{} is no folder; remove it", name.display()))
            .with_context(shown)?;
    }
    anyhow::bail!("no file name")
}

/// By a file beside it, synced, then renamed; the folder is synced too.
fn replace(folder: &OwnedFd, name: &OsStr, bytes: &[u8]) -> Result<()> {
    let mut fresh = name.to_owned();
    fresh.push(format!(".{}.new", std::process::id()));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    let opened = match openat(folder, &fresh, flags, mode) {
        // Left by a process of that number that was killed, or put there to be followed.
        Err(Errno::EXIST) => {
            unlinkat(folder, &fresh, AtFlags::empty())?;
            openat(folder, &fresh, flags, mode)
        }
        opened => opened,
    };
    let mut file = File::from(opened?);
    let written = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| Ok(renameat(folder, &fresh, folder, name)?));
    if written.is_err() {
        let _ = unlinkat(folder, &fresh, AtFlags::empty());
    }
    written?;
    rustix::fs::fsync(folder)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    const PATH: &str = ".ak-loop/verify.json";

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        entries
            .map(|e| e.file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_file_is_written_whole_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join(".ak-loop");
        for text in ["one", "two"] {
            write(dir.path(), PATH.as_ref(), text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(dir.path().join(PATH)).unwrap(), text);
            assert_eq!(names(&folder), ["verify.json"]);
        }
        // What a killed process left is in nobody's way, and is not followed.
        let left = folder.join(format!("verify.json.{}.new", std::process::id()));
        symlink(dir.path().join("elsewhere"), &left).unwrap();
        write(dir.path(), PATH.as_ref(), b"three").unwrap();
        assert_eq!(names(&folder), ["verify.json"]);
        assert!(!dir.path().join("elsewhere").exists());
    }

    #[test]
    fn no_link_of_a_workers_is_written_through() {
        let outside = tempfile::tempdir().unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("verify.json"), "theirs").unwrap();
        symlink(outside.path(), dir.path().join(".ak-loop")).unwrap();
        let error = write(dir.path(), PATH.as_ref(), b"ours").unwrap_err();
        let error = format!("{error:#}");
        assert!(
            error.starts_with("writing .ak-loop/verify.json: .ak-loop is no folder; remove it"),
            "{error}"
        );

        fs::remove_file(dir.path().join(".ak-loop")).unwrap();
        fs::create_dir(dir.path().join(".ak-loop")).unwrap();
        symlink(outside.path().join("verify.json"), dir.path().join(PATH)).unwrap();
        write(dir.path(), PATH.as_ref(), b"ours").unwrap();
        assert!(dir.path().join(PATH).symlink_metadata().unwrap().is_file());
        let theirs = fs::read_to_string(outside.path().join("verify.json")).unwrap();
        assert_eq!(theirs, "theirs");

        fs::remove_file(dir.path().join(PATH)).unwrap();
        fs::create_dir(dir.path().join(PATH)).unwrap();
        write(dir.path(), PATH.as_ref(), b"ours").unwrap_err();
        assert_eq!(names(&dir.path().join(".ak-loop")), ["verify.json"]);
    }
}
