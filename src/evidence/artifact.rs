//! Reading what a worker left, as one reads the files of a stranger: no link is followed, no FIFO waited for, no more read than
//! the limit, and the very bytes that were judged are the bytes that were hashed. What a file must hold is its judge's matter.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Component, Path};
use std::time::SystemTime;

use anyhow::{Context, Result};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::text;

/// Bytes of an artifact, unless the operator says otherwise.
#[cfg(test)]
pub(crate) const LIMIT: u64 = 1 << 20;
/// How often a file that changes while it is read is read again.
const READ_AGAIN: usize = 3;

/// One file of a worker's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Artifact<T> {
    Absent,
    /// It is there and is not what it should be: worse than absent, as it looks like evidence.
    Broken(Broken),
    Good(Good<T>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// One line.
    pub reason: String,
    /// Of the bytes, where they could be read; hexadecimal.
    pub sha256: Option<String>,
    /// The size, where it is a regular file.
    pub bytes: Option<u64>,
    pub mtime: Option<SystemTime>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Good<T> {
    pub value: T,
    /// Of `bytes`; hexadecimal.
    pub sha256: String,
    /// As they are in the file.
    pub bytes: Vec<u8>,
    /// None where they were not read from a file.
    pub mtime: Option<SystemTime>,
}

/// Of the two axes of an artifact, shape; the other is its grade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Absent,
    Broken,
    Good,
}

impl State {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Broken => "broken",
            Self::Good => "good",
        }
    }
}

/// What a well-formed artifact says of itself, in a few words.
pub(crate) trait Described {
    fn detail(&self) -> String;
}

/// What a judge makes of a text: a value, nothing (as if the file were absent), or why it is broken.
pub(crate) type Judged<T> = Result<Option<T>, String>;

impl<T> Artifact<T> {
    /// Judges bytes that are already here (a sealed artifact).
    pub(crate) fn of(
        bytes: Vec<u8>,
        mtime: Option<SystemTime>,
        judge: impl FnOnce(&str) -> Judged<T>,
    ) -> Self {
        let sha256 = text::hex(&Sha256::digest(&bytes));
        match utf8(&bytes).and_then(judge) {
            Ok(None) => Self::Absent,
            Ok(Some(value)) => Self::Good(Good {
                value,
                sha256,
                bytes,
                mtime,
            }),
            Err(reason) => Self::Broken(Broken {
                reason,
                sha256: Some(sha256),
                bytes: u64::try_from(bytes.len()).ok(),
                mtime,
            }),
        }
    }

    pub(crate) fn state(&self) -> State {
        match self {
            Self::Absent => State::Absent,
            Self::Broken(_) => State::Broken,
            Self::Good(_) => State::Good,
        }
    }

    pub(crate) fn good(&self) -> Option<&T> {
        match self {
            Self::Good(good) => Some(&good.value),
            _ => None,
        }
    }

    pub(crate) fn sha256(&self) -> Option<&str> {
        match self {
            Self::Absent => None,
            Self::Broken(broken) => broken.sha256.as_deref(),
            Self::Good(good) => Some(&good.sha256),
        }
    }
}

impl<T: Described> Artifact<T> {
    /// What there is to say, to follow the file's name.
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::Absent => "not written".to_owned(),
            Self::Broken(broken) => {
                format!("present but does not match the schema: {}", broken.reason)
            }
            Self::Good(good) => good.value.detail(),
        }
    }
}

/// A worktree whose artifacts are read.
#[derive(Debug)]
pub(crate) struct Reader {
    root: OwnedFd,
    limit: u64,
}

/// What was at a path.
enum Found {
    Nothing,
    /// Bytes that held still while they were read.
    Bytes(Vec<u8>, Metadata),
    Unsafe(Broken),
}

impl Reader {
    /// The worktree at `root`; `limit` is in bytes, of each file.
    ///
    /// # Errors
    /// When there is no such folder: the worktree is gone, which no worker can be blamed for.
    pub(crate) fn open(root: &Path, limit: u64) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, root, flags, Mode::empty())
            .with_context(|| format!("opening the worktree {}", root.display()))?;
        Ok(Self { root, limit })
    }

    /// The file at `path` (relative, as `config::relative_path` makes it), as `judge` finds it.
    pub(crate) fn read<T>(
        &self,
        path: &Path,
        judge: impl FnOnce(&str) -> Judged<T>,
    ) -> Artifact<T> {
        self.read_while(path, judge, &mut || {})
    }

    /// [`Reader::read`]; `meanwhile` happens between reading the bytes and looking whether they held still.
    fn read_while<T>(
        &self,
        path: &Path,
        judge: impl FnOnce(&str) -> Judged<T>,
        meanwhile: &mut dyn FnMut(),
    ) -> Artifact<T> {
        for _ in 0..=READ_AGAIN {
            match self.attempt(path, meanwhile) {
                Ok(Some(Found::Nothing)) => return Artifact::Absent,
                Ok(Some(Found::Unsafe(broken))) => return Artifact::Broken(broken),
                Ok(Some(Found::Bytes(bytes, meta))) => {
                    return Artifact::of(bytes, meta.modified().ok(), judge);
                }
                Ok(None) => {}
                Err(error) => return broken(format!("cannot be read: {error}")),
            }
        }
        broken("changing while read: write it to another file and rename that".to_owned())
    }

    /// One read; `None` when the file did not hold still.
    fn attempt(&self, path: &Path, meanwhile: &mut dyn FnMut()) -> std::io::Result<Option<Found>> {
        let (folder, name) = match self.folder_of(path)? {
            Step::Into(folder, name) => (folder, name),
            Step::Nothing => return Ok(Some(Found::Nothing)),
            Step::Unsafe(what) => return Ok(Some(unsafe_file(&what, None))),
        };
        let folder = folder.as_ref().unwrap_or(&self.root);
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match openat(folder, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(Some(Found::Nothing)),
            Err(error) => {
                return match odd(error, folder, name) {
                    Some(what) => Ok(Some(unsafe_file(what, None))),
                    None => Err(error.into()),
                };
            }
        };
        let before = file.metadata()?;
        if !before.is_file() {
            return Ok(Some(unsafe_file(kind(&before), before.modified().ok())));
        }
        if before.len() > self.limit {
            return Ok(Some(self.too_large(&before)));
        }
        let mut bytes = Vec::new();
        (&file).take(self.limit + 1).read_to_end(&mut bytes)?;
        meanwhile();
        let after = file.metadata()?;
        if after.len() > self.limit {
            return Ok(Some(self.too_large(&after)));
        }
        let same = |a: &Metadata, b: &Metadata| {
            (a.len(), a.mtime(), a.mtime_nsec()) == (b.len(), b.mtime(), b.mtime_nsec())
        };
        let whole = u64::try_from(bytes.len()).is_ok_and(|read| read == after.len());
        // Another file may have been renamed over it: it is the newer one that counts.
        let there = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(now) => now.st_ino == after.ino(),
            Err(Errno::NOENT) => false,
            Err(error) => return Err(error.into()),
        };
        Ok((same(&before, &after) && whole && there).then_some(Found::Bytes(bytes, after)))
    }

    /// Opens the folder of `path`, component by component.
    fn folder_of<'a>(&self, path: &'a Path) -> std::io::Result<Step<'a>> {
        let mut components = path.components().map(Component::as_os_str).peekable();
        let mut folder: Option<OwnedFd> = None;
        while let Some(name) = components.next() {
            if components.peek().is_none() {
                return Ok(Step::Into(folder, name));
            }
            let here = folder.as_ref().unwrap_or(&self.root);
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folder = match openat(here, name, flags, Mode::empty()) {
                Ok(inner) => Some(inner),
                Err(Errno::NOENT) => return Ok(Step::Nothing),
                Err(error) => {
                    let Some(what) = odd(error, here, name) else {
                        return Err(error.into());
                    };
                    let name = text::visible_line(&name.to_string_lossy());
                    return Ok(Step::Unsafe(format!("{what} at {name}")));
                }
            };
        }
        Err(std::io::Error::new(ErrorKind::InvalidInput, "no file name"))
    }

    fn too_large(&self, meta: &Metadata) -> Found {
        Found::Unsafe(Broken {
            reason: format!("too large: {} bytes, limit {}", meta.len(), self.limit),
            sha256: None,
            bytes: Some(meta.len()),
            mtime: meta.modified().ok(),
        })
    }
}

enum Step<'a> {
    /// The folder (none: the root) and the file's name in it.
    Into(Option<OwnedFd>, &'a OsStr),
    Nothing,
    Unsafe(String),
}

/// What is at a name that could not be opened as a file or folder, where that is the reason.
fn odd(error: Errno, folder: &OwnedFd, name: &OsStr) -> Option<&'static str> {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => None,
        FileType::Symlink => Some("symlink"),
        FileType::Fifo => Some("FIFO"),
        FileType::Socket => Some("socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("device"),
        FileType::RegularFile => (error == Errno::NOTDIR).then_some("no folder"),
        FileType::Unknown => Some("no regular file"),
    }
}

fn kind(meta: &Metadata) -> &'static str {
    let kind = meta.file_type();
    if kind.is_dir() {
        "directory"
    } else if kind.is_fifo() {
        "FIFO"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    }
}

fn unsafe_file(what: &str, mtime: Option<SystemTime>) -> Found {
    Found::Unsafe(Broken {
        reason: format!("unsafe file: {what}"),
        sha256: None,
        bytes: None,
        mtime,
    })
}

fn broken<T>(reason: String) -> Artifact<T> {
    Artifact::Broken(Broken {
        reason,
        sha256: None,
        bytes: None,
        mtime: None,
    })
}

/// Strict UTF-8, less one byte order mark at its start.
fn utf8(bytes: &[u8]) -> Result<&str, String> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err("UTF-16, not UTF-8: save it as UTF-8".to_owned());
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|e| format!("not UTF-8 at byte {}: save it as UTF-8", e.valid_up_to()))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

#[cfg(test)]
mod tests;
