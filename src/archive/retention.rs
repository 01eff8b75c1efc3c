//! Which archives and kept folders go, by count, age and size, and when that may be: never while an agent runs in any worktree, so that the
//! guard of that run sees every loss of a ref for what it is. It touches no worktree.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::REFS;
use super::list::{self, Archive};
use crate::config::Retention;
use crate::git::{self, Worktree, state};
use crate::journal;

/// How long a launch waits for a retention that is under way; that takes a moment, and a launch goes on without its watch.
const PATIENCE: Duration = Duration::from_secs(10);

/// While it lasts, no retention in any worktree drops a ref. An OS lock: it ends with its holder.
#[derive(Debug)]
pub(crate) struct Watch {
    _file: Option<File>,
}

/// Keeps retention away from before refs are noted until they were compared.
pub(crate) fn watch(worktree: &Worktree) -> Result<Watch> {
    let file = lock_file(worktree)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match file.try_lock_shared() {
            Ok(()) => return Ok(Watch { _file: Some(file) }),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            // Whoever holds it that long is no retention. At worst the guard reports one that comes now, and puts its refs back.
            Err(_) => return Ok(Watch { _file: None }),
        }
    }
}

fn lock_file(worktree: &Worktree) -> Result<File> {
    state::lock_file(&worktree.common_dir().join("arkaint/retention"))
}

/// Drops archives beyond the retention's count, age or bytes, and what was kept of runs older than all that stay. The newest, those of
/// `keep_run`, and everything since the oldest cycle that is open in any worktree stay. Returns how many archives went: none while an
/// agent runs anywhere; the next end of a run comes here again.
pub(crate) fn prune(worktree: &Worktree, retention: &Retention, keep_run: &str) -> Result<usize> {
    let lock = lock_file(worktree)?;
    if lock.try_lock().is_err() {
        return Ok(0);
    }
    let all = list::all(worktree)?;
    // Ids sort by time.
    let oldest_open = journal::open_ids(worktree).into_iter().min();
    let is_needed = |run: &str| {
        run == keep_run
            || oldest_open
                .as_ref()
                .is_some_and(|open| run >= open.as_str())
    };
    let now = jiff::Timestamp::now().as_second();
    let age = i64::try_from(retention.age.as_secs()).unwrap_or(i64::MAX);
    let young = all
        .iter()
        .take_while(|archive| now - archive.seconds <= age)
        .count();
    let most = fitting(
        worktree,
        &all[..young.min(retention.discards)],
        retention.bytes,
    )?
    .max(1);
    let mut dropped = 0;
    for archive in all.iter().skip(most).filter(|a| !is_needed(run_of(a))) {
        let name = format!("{REFS}{}", archive.id);
        git::remove_ref(worktree.repo()?, &name, archive.commit)?;
        dropped += 1;
    }
    let oldest_kept = list::all(worktree)?
        .iter()
        .map(|archive| run_of(archive).to_owned())
        .min();
    if let Some(oldest) = oldest_kept {
        let mut folders = kept_folders(worktree);
        folders.pop();
        for folder in folders {
            let run = folder.file_name().unwrap_or_default().to_string_lossy();
            if *run < *oldest && !is_needed(&run) {
                fs::remove_dir_all(&folder)
                    .with_context(|| format!("removing {}", folder.display()))?;
            }
        }
    }
    Ok(dropped)
}

fn run_of(archive: &Archive) -> &str {
    archive
        .id
        .rsplit_once('/')
        .map_or(&*archive.id, |(run, _)| run)
}

/// Where nested repositories and put-back files of a run are.
fn kept_folder(worktree: &Worktree) -> PathBuf {
    worktree.common_dir().join("arkaint/kept")
}

/// One a run, oldest first.
fn kept_folders(worktree: &Worktree) -> Vec<PathBuf> {
    let read = kept_folder(worktree).read_dir();
    let mut folders: Vec<PathBuf> = read
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .collect();
    folders.sort();
    folders
}

/// How many of the newest of `archives` (newest first) take at most `bytes` together.
fn fitting(worktree: &Worktree, archives: &[Archive], bytes: u64) -> Result<usize> {
    let (mut fits, mut over) = (0, archives.len() + 1);
    // All of them, most times; else by halves, as a longer beginning never takes less.
    let mut asked = archives.len();
    while asked > fits {
        if size(worktree, &archives[..asked])? <= bytes {
            fits = asked;
        } else {
            over = asked;
        }
        asked = fits.midpoint(over - 1).max(fits + 1).min(over - 1);
    }
    Ok(fits)
}

/// Bytes on disk that only these archives hold, with what was kept of their runs.
fn size(worktree: &Worktree, archives: &[Archive]) -> Result<u64> {
    if archives.is_empty() {
        return Ok(0);
    }
    let commits: Vec<String> = archives.iter().map(|a| a.commit.to_string()).collect();
    let exclude = format!("--exclude={REFS}*");
    let counted = worktree
        .git()
        .call(["rev-list", "--disk-usage", "--objects"])
        .args(commits)
        .args(["--not", &exclude, "--all"])
        .output()?;
    let objects: u64 = String::from_utf8_lossy(&counted.stdout)
        .trim()
        .parse()
        .unwrap_or(0);
    let oldest = archives.iter().map(run_of).min().unwrap_or_default();
    let kept = kept_folders(worktree).into_iter().filter(|folder| {
        let run = folder.file_name().unwrap_or_default().to_string_lossy();
        *run >= *oldest
    });
    Ok(objects + kept.map(|folder| folder_size(&folder)).sum::<u64>())
}

/// Bytes of the files below `folder`.
pub(crate) fn folder_size(folder: &Path) -> u64 {
    let read = folder.read_dir().into_iter().flatten().flatten();
    read.map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => folder_size(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    })
    .sum()
}
