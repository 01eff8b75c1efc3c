//! One edit of a ref at a time by us, in all worktrees, and noted while it lasts: what a killed one left behind (git's lock files, which
//! nobody would ever remove) is known for ours by the next, and cleared. It edits no ref.

use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::{Contended, Oid, leftover};

/// How long an edit of ours may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a lock is looked at that another git may hold.
const A_MOMENT: Duration = Duration::from_millis(500);

/// Held while a ref is edited. An OS lock on a file that says which ref, and what becomes of it.
pub(super) struct Turn {
    file: File,
}

/// Waits for the turn to edit `name` (to `to`; `None` removes it).
///
/// # Errors
/// A [`Contended`] when somebody holds it for ten seconds.
pub(super) fn take(common_dir: &Path, name: &str, to: Option<Oid>) -> Result<Turn> {
    let path = common_dir.join("arkaint/ref-edit");
    let mut file = super::state::lock_file(&path)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(anyhow::anyhow!("{} is held", path.display())
                    .context(Contended(name.to_owned())));
            }
            Err(TryLockError::Error(error)) => return Err(error).context("waiting to move a ref"),
        }
    }
    let mut noted = String::new();
    // What cannot be read as a note is none.
    if file.read_to_string(&mut noted).is_ok()
        && let Some((name, to)) = noted.strip_suffix('\n').and_then(|n| n.split_once('\n'))
    {
        clear(common_dir, name, to)?;
    }
    let to = to.map_or_else(|| "-".to_owned(), |to| to.to_string());
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| file.write_all(format!("{name}\n{to}\n").as_bytes()))
        .context("noting which ref is moved")?;
    Ok(Turn { file })
}

impl Drop for Turn {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
    }
}

/// Removes the locks that a killed edit of `name` left: one that holds just what that edit was to write, or nothing yet, or (where the ref
/// was to go) never would, and that no process has open. Nobody else edits refs by our hand now.
fn clear(common_dir: &Path, name: &str, to: &str) -> Result<()> {
    let is_plain = name.starts_with("refs/") && !name.split('/').any(|part| part == "..");
    if !is_plain {
        return Ok(());
    }
    let mut locks = vec![common_dir.join(format!("{name}.lock"))];
    if to == "-" {
        locks.push(common_dir.join("packed-refs.lock"));
    }
    for lock in locks {
        // git closes its own at once and holds them by their names alone; those by which it packs a ref are empty.
        let until = Instant::now() + A_MOMENT;
        while is_of_that_edit(&lock, to) && Instant::now() < until {
            if leftover::is_dead_in(None, common_dir, &lock) {
                super::state::remove(&lock)?;
            } else {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
    Ok(())
}

/// Is this a lock that an edit to `to` may have left? Another may stand there at every look.
fn is_of_that_edit(lock: &Path, to: &str) -> bool {
    fs::read_to_string(lock).is_ok_and(|held| {
        let held = held.trim_end();
        to == "-" || held.is_empty() || held == to
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_edit_left_goes_and_what_is_anothers_stays() {
        let folder = tempfile::tempdir().unwrap();
        let common = folder.path();
        let ours = Oid::from_hex(&[b'a'; 40]).unwrap();
        let lock = common.join("refs/x.lock");
        fs::create_dir(common.join("refs")).unwrap();
        let cut_off = |content: &str| {
            fs::write(&lock, content).unwrap();
            // As a kill leaves it: no drop.
            let turn = take(common, "refs/x", Some(ours)).unwrap();
            let file = turn.file.try_clone().unwrap();
            std::mem::forget(turn);
            file.unlock().unwrap();
        };
        for (content, goes) in [
            ("", true),
            (&*format!("{ours}\n"), true),
            (&*format!("{}\n", "b".repeat(40)), false),
        ] {
            cut_off(content);
            drop(take(common, "refs/other", None).unwrap());
            assert_eq!(!lock.exists(), goes, "{content:?}");
        }
        cut_off("");
        let held = File::open(&lock).unwrap();
        drop(take(common, "refs/other", None).unwrap());
        assert!(lock.exists(), "somebody has it open");
        drop(held);
        // An edit that came to its end leaves no note.
        drop(take(common, "refs/x", Some(ours)).unwrap());
        drop(take(common, "refs/other", None).unwrap());
        assert!(lock.exists());
    }
}
