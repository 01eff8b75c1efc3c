//! One run a worktree: an OS lock on a file of our own, which the kernel frees when its holder dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};

use anyhow::{Context, Result};

use crate::exit::{Exit, Refusal};
use crate::git::Worktree;

/// This worktree's lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock or says who holds it.
    ///
    /// # Errors
    /// A [`Refusal`] with exit 4 when another process holds it.
    pub(crate) fn take(worktree: &Worktree) -> Result<Self> {
        let folder = worktree.state_dir();
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let path = folder.join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(|| format!("opening {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0)
                    .and_then(|()| file.rewind())
                    .and_then(|()| write!(file, "{}", std::process::id()))
                    .context("writing the lock")?;
                Ok(Self { _file: file })
            }
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let _ = file.read_to_string(&mut pid);
                let who = if pid.trim().is_empty() {
                    "another process".to_owned()
                } else {
                    format!("process {}", pid.trim())
                };
                Err(Refusal::with_exit(
                    Exit::Locked,
                    format!("{who} is at work in this worktree"),
                    "wait for it, or work in another: git worktree add ../other -b arkaint/SLUG",
                )
                .into())
            }
            Err(TryLockError::Error(error)) => Err(error).context("locking this worktree"),
        }
    }

    /// Does somebody hold the lock now? Takes nothing.
    pub(crate) fn holder(worktree: &Worktree) -> Option<String> {
        let mut file = File::open(worktree.state_dir().join("lock")).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let _ = file.read_to_string(&mut pid);
                Some(pid.trim().to_owned())
            }
            _ => None,
        }
    }
}
