//! One run a worktree: an OS lock on a file of our own, which the kernel frees when its holder dies.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::exit::{Exit, Refusal};
use crate::git::{Worktree, heirloom, state};
use crate::process::Identity;

/// How long a git of a killed command may take to come to its end: it holds the lock that it inherited.
const PATIENCE: Duration = Duration::from_secs(10);

/// This worktree's lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: Arc<File>,
}

impl Lock {
    /// Takes the lock or says who holds it.
    ///
    /// # Errors
    /// A [`Refusal`] with exit 4 when another process holds it.
    pub(crate) fn take(worktree: &Worktree) -> Result<Self> {
        let mut file = state::lock_file(&worktree.state_dir().join("lock"))?;
        let deadline = Instant::now() + PATIENCE;
        let locked = loop {
            match file.try_lock() {
                Err(TryLockError::WouldBlock)
                    if Instant::now() < deadline && is_dead(&mut file) =>
                {
                    std::thread::sleep(Duration::from_millis(20));
                }
                locked => break locked,
            }
        };
        match locked {
            Ok(()) => {
                file.set_len(0)
                    .and_then(|()| file.rewind())
                    .and_then(|()| write!(file, "{}", std::process::id()))
                    .context("writing the lock")?;
                let file = Arc::new(file);
                heirloom::bequeath(&file);
                Ok(Self { _file: file })
            }
            Err(TryLockError::WouldBlock) => {
                let pid = pid(&mut file);
                let who = if pid.is_empty() {
                    "another process".to_owned()
                } else if is_dead(&mut file) {
                    format!("a git that process {pid}, which was killed, had started")
                } else {
                    format!("process {pid}")
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
            Err(TryLockError::WouldBlock) => Some(pid(&mut file)),
            _ => None,
        }
    }
}

/// The process that took the lock last.
fn pid(file: &mut File) -> String {
    let mut pid = String::new();
    let _ = file.rewind().and_then(|()| file.read_to_string(&mut pid));
    pid.trim().to_owned()
}

/// Is that process known to be gone? Then a child of it holds the lock.
fn is_dead(file: &mut File) -> bool {
    cfg!(target_os = "linux")
        && pid(file)
            .parse()
            .is_ok_and(|pid| Identity::of(pid).is_none_or(|found| !found.still_runs()))
}
