//! The lock of the user's index: waiting for whoever holds it, and taking it as git does. It removes none.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::Worktree;
use crate::exit::{Exit, Refusal};

/// Somebody's `git add` is over in this time.
const PATIENCE: Duration = Duration::from_secs(2);

impl Worktree {
    /// Waits for whoever holds the index now, so that what must follow a commit or a rollback can.
    ///
    /// # Errors
    /// A [`Refusal`] that names the lock and its age, when it is held for longer than that.
    pub(crate) fn index_is_free(&self) -> Result<(), Refusal> {
        let lock = self.git_dir().join("index.lock");
        let deadline = Instant::now() + PATIENCE;
        while lock.symlink_metadata().is_ok() {
            if Instant::now() >= deadline {
                return Err(held(&lock));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

fn held(lock: &Path) -> Refusal {
    let made = lock.symlink_metadata().and_then(|meta| meta.modified());
    let age = made.ok().and_then(|at| at.elapsed().ok());
    Refusal::with_exit(
        Exit::Person,
        format!(
            "{} is held since {} s",
            lock.display(),
            age.unwrap_or_default().as_secs()
        ),
        format!(
            "end the git command that holds it; if none runs: rm {}",
            lock.display()
        ),
    )
}

/// Makes a lock file of git's (`index.lock`) as a second name of `fresh`, waiting for one that is held.
///
/// # Errors
/// A [`Refusal`] that names the lock and its age; it is never removed here.
pub(crate) fn lock_by_link(fresh: &Path, lock: &Path) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match std::fs::hard_link(fresh, lock) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(held(lock).into());
            }
            // A file system without second names: then the lock is made as git makes it.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::PermissionDenied | ErrorKind::Unsupported
                ) =>
            {
                let mut from = File::open(fresh).context("reading the index")?;
                let mut to = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .open(lock)
                    .with_context(|| format!("creating {}", lock.display()))?;
                // As old as it was: see `state::copy_index`.
                let dated = from.metadata().and_then(|meta| meta.modified());
                let copied = std::io::copy(&mut from, &mut to)
                    .and_then(|_| to.set_modified(dated?))
                    .and_then(|()| to.sync_all());
                if copied.is_err() {
                    let _ = std::fs::remove_file(lock);
                }
                return copied.with_context(|| format!("writing {}", lock.display()));
            }
            Err(error) => {
                return Err(error).with_context(|| format!("creating {}", lock.display()));
            }
        }
    }
}
