//! Locks of git's that outlived their maker: which are dead, by proof. Nothing that a living process may hold is ever removed here, and
//! whether the caller may ask at all (it holds Arkaint's own lock) is the caller's to know.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};

use super::Worktree;

/// A lock of unknown origin that is younger than this is not touched.
const OLD: Duration = Duration::from_secs(600);

/// Verbs of git that may last for hours and hold no lock: those that show a page, daemons, and our own commands.
const READERS: [&str; 13] = [
    "arkaint",
    "log",
    "show",
    "diff",
    "blame",
    "grep",
    "shortlog",
    "help",
    "cat-file",
    "rev-list",
    "reflog",
    "fsmonitor--daemon",
    "credential-cache--daemon",
];

/// Is this lock there, and does no process have it open? What cannot be seen (another user's git, a system without `/proc`) counts as open.
pub(crate) fn is_closed(lock: &Path) -> bool {
    let (Ok(meta), Ok(processes)) = (lock.symlink_metadata(), fs::read_dir("/proc")) else {
        return false;
    };
    let name = lock.file_name();
    let same = |link: &Path| {
        // By name first: looking at every open file could wait for a file system that is gone.
        fs::read_link(link).is_ok_and(|to| to.file_name() == name)
            && fs::metadata(link).is_ok_and(|m| (m.dev(), m.ino()) == (meta.dev(), meta.ino()))
    };
    !processes.flatten().any(|process| {
        let process = process.path();
        match fs::read_dir(process.join("fd")) {
            Ok(open) => open.flatten().any(|fd| same(&fd.path())),
            Err(_) => name_of(&process).is_some_and(|name| name.starts_with("git")),
        }
    })
}

/// The name of a process that runs (proc(5), `stat`); none of one that has ended and that its parent has not asked for yet: such a one holds
/// nothing, but only root may see that.
fn name_of(process: &Path) -> Option<String> {
    let pid = process.file_name()?.to_str()?;
    pid.parse::<u32>().ok()?;
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    (!rest.trim_start().starts_with(['Z', 'X'])).then(|| name.to_owned())
}

/// Is this a lock file that nobody holds: no process has it open, and no git is at work, which may hold it by its name alone? It is the same
/// file after the look at all processes as before: whoever made that and lived was seen, while a lock that was made meanwhile may be that of
/// a git that began behind the look.
pub(crate) fn is_dead(worktree: &Worktree, lock: &Path) -> bool {
    is_dead_in(Some(worktree.root()), worktree.common_dir(), lock)
}

/// [`is_dead`] in the repository with this common git directory; `root`: a worktree that is no linked one.
pub(super) fn is_dead_in(root: Option<&Path>, common_dir: &Path, lock: &Path) -> bool {
    let Some(before) = settled(lock) else {
        return false;
    };
    is_closed(lock) && !is_at_work_in(root, common_dir) && identity(lock) == Some(before)
}

/// Device, inode and time of the last change (seconds, nanoseconds) of a lock file.
type Identity = (u64, u64, i64, i64);

fn identity(lock: &Path) -> Option<Identity> {
    let meta = lock.symlink_metadata().ok()?;
    meta.is_file()
        .then(|| (meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec()))
}

/// The identity of a lock once no file that is made from now on can have the same: the number of one that is gone is given again at once, so
/// that its time must have passed, which the kernel counts in steps. `None` where there is no lock, or time runs back.
fn settled(lock: &Path) -> Option<Identity> {
    const STEPS: Duration = Duration::from_millis(25);
    for _ in 0..4 {
        let now = identity(lock)?;
        let made = Duration::new(now.2.try_into().ok()?, now.3.try_into().ok()?);
        let age = (SystemTime::UNIX_EPOCH + made).elapsed().ok();
        if age.is_some_and(|age| age > STEPS) {
            return Some(now);
        }
        std::thread::sleep(STEPS);
    }
    None
}

/// Removes the lock if it is older than ten minutes, no process has it open, and no git is at work, which may hold it by its name alone.
/// Returns whether it did.
pub(crate) fn remove_old(worktree: &Worktree, lock: &Path) -> Result<bool> {
    let Ok(meta) = lock.symlink_metadata() else {
        return Ok(false);
    };
    // A time that lies ahead tells no age.
    let age = meta.modified().ok().and_then(|at| at.elapsed().ok());
    if age.is_none_or(|age| age < OLD) || !is_dead(worktree, lock) {
        return Ok(false);
    }
    super::state::remove(lock).context("removing an old lock")?;
    Ok(true)
}

/// Does a git that may write run in one of the repository's worktrees now? Without `/proc` nobody can tell, and the answer is yes.
pub(crate) fn git_is_at_work(worktree: &Worktree) -> bool {
    is_at_work_in(Some(worktree.root()), worktree.common_dir())
}

fn is_at_work_in(root: Option<&Path>, common_dir: &Path) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else {
        return true;
    };
    let folders = folders(root, common_dir);
    let inside = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
    processes.flatten().any(|process| {
        let process = process.path();
        let is_git = name_of(&process)
            .is_some_and(|name| name.starts_with("git") && !name.starts_with("git-arkaint"));
        is_git
            && !reads_only(&process)
            && match fs::read_link(process.join("cwd")) {
                Ok(dir) => inside(&dir),
                // It has ended meanwhile, unless we may not look.
                Err(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
            }
    })
}

/// Removes the locks below `prefix` (`refs/x/`) that a killed git left: none has them open, and no git is at work. Returns how many.
pub(crate) fn remove_below(worktree: &Worktree, prefix: &str) -> Result<usize> {
    let mut locks = below(&worktree.common_dir().join(prefix));
    locks.retain(|lock| is_dead(worktree, lock));
    for lock in &locks {
        super::state::remove(lock)?;
    }
    Ok(locks.len())
}

/// Locks of git's in the repository, of this worktree, of what all share, and of every ref.
pub(crate) fn all(worktree: &Worktree) -> Vec<PathBuf> {
    let (own, common) = (worktree.git_dir(), worktree.common_dir());
    let mut locks = below(&common.join("refs"));
    locks.extend(["index.lock", "HEAD.lock"].map(|name| own.join(name)));
    locks.extend(["packed-refs.lock", "config.lock"].map(|name| common.join(name)));
    locks.retain(|lock| lock.symlink_metadata().is_ok());
    locks
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let (mut locks, mut left) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.push(path);
            } else if path.extension().is_some_and(|e| e == "lock") {
                locks.push(path);
            }
        }
    }
    locks
}

/// The folders that a git of this repository runs in: it goes to the top of its worktree, or to its git directory.
fn folders(root: Option<&Path>, common_dir: &Path) -> Vec<PathBuf> {
    let linked = common_dir.join("worktrees").read_dir();
    let linked = linked.into_iter().flatten().flatten().filter_map(|entry| {
        let dot_git = fs::read_to_string(entry.path().join("gitdir")).ok()?;
        Some(Path::new(dot_git.trim_end()).parent()?.to_owned())
    });
    let own = [root, Some(common_dir), common_dir.parent()];
    linked
        .chain(own.into_iter().flatten().map(Path::to_owned))
        .collect()
}

fn reads_only(process: &Path) -> bool {
    let line = fs::read(process.join("cmdline")).unwrap_or_default();
    let mut words = line.split(|b| *b == 0).skip(1);
    while let Some(word) = words.next() {
        match word {
            b"-C" | b"-c" => drop(words.next()),
            word if word.starts_with(b"-") => {}
            verb => return READERS.iter().any(|reader| reader.as_bytes() == verb),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::git::fixture::Repo;

    #[test]
    fn a_lock_that_is_made_again_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("index.lock");
        for _ in 0..20 {
            File::create(&lock).unwrap();
            let before = settled(&lock).unwrap();
            assert_eq!(identity(&lock), Some(before));
            fs::remove_file(&lock).unwrap();
            File::create(&lock).unwrap();
            assert_ne!(identity(&lock), Some(before));
            fs::remove_file(&lock).unwrap();
        }
        assert_eq!(settled(&lock), None);
    }

    #[test]
    fn only_an_old_lock_that_nobody_has_open_is_removed() {
        let worktree = Repo::new().worktree();
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("index.lock");
        assert!(!remove_old(&worktree, &lock).unwrap(), "there is none");
        let file = File::create(&lock).unwrap();
        assert!(!is_closed(&lock));
        drop(file);
        assert!(is_closed(&lock));
        assert!(!remove_old(&worktree, &lock).unwrap(), "it is young");
        let aged = |by: i64| {
            let file = File::options().write(true).open(&lock).unwrap();
            let by_seconds = Duration::from_secs(by.unsigned_abs());
            let now = SystemTime::now();
            let at = if by < 0 {
                now + by_seconds
            } else {
                now - by_seconds
            };
            file.set_modified(at).unwrap();
            file
        };
        drop(aged(-3600));
        assert!(!remove_old(&worktree, &lock).unwrap(), "its age is unknown");
        let held = aged(3600);
        assert!(!remove_old(&worktree, &lock).unwrap(), "it is open");
        drop(held);
        assert!(remove_old(&worktree, &lock).unwrap() && !lock.exists());
    }
}
