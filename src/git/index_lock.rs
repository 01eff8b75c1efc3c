//! The lock of the user's index, as others hold it. It takes and removes none.

use std::time::{Duration, Instant};

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
        while let Ok(meta) = lock.symlink_metadata() {
            if Instant::now() >= deadline {
                let age = meta.modified().ok().and_then(|at| at.elapsed().ok());
                return Err(Refusal::with_exit(
                    Exit::Person,
                    format!(
                        "{} is held since {} s; nothing was changed",
                        lock.display(),
                        age.unwrap_or_default().as_secs()
                    ),
                    format!(
                        "end the git command that holds it; if none runs: rm {}",
                        lock.display()
                    ),
                ));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}
