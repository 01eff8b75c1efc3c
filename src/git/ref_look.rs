//! Looking refs up while others write. git moves a ref from its own file into `packed-refs` and removes folders that became empty; gix reads
//! `packed-refs` first and the files after it, so that a ref in between is in neither. Here it is looked for again. Reads only.

use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use anyhow::{Context, Result};

/// How often all refs are read until nothing moved meanwhile. Each is some milliseconds; who packs refs takes longer for one.
const LOOKS: u32 = 40;
/// So many times in a row a file is no ref before it is taken for broken.
const BROKEN: u32 = 4;

/// What was there at one moment.
pub(crate) struct Look<'r> {
    pub refs: Vec<gix::Reference<'r>>,
    /// Files that are no refs, or cannot be read: why, for each.
    pub broken: Vec<String>,
}

impl<'r> Look<'r> {
    /// All of them.
    ///
    /// # Errors
    /// Where one is broken: why.
    pub(crate) fn whole(self) -> Result<Vec<gix::Reference<'r>>> {
        match self.broken.first() {
            None => Ok(self.refs),
            Some(why) => anyhow::bail!("reading refs: {why}"),
        }
    }
}

/// The ref of that full name; `None` where there is none.
///
/// # Errors
/// When the name is no ref's, or what is there cannot be read as one.
pub(crate) fn find<'r>(
    repo: &'r gix::Repository,
    name: &str,
) -> Result<Option<gix::Reference<'r>>> {
    let look = || {
        repo.try_find_reference(name)
            .with_context(|| format!("reading {name}"))
    };
    if let Some(found) = look()? {
        return Ok(Some(found));
    }
    // It had no file of its own: if it was packed just before, it is in the packed ones by now.
    refresh(repo);
    look()
}

/// Every ref below `prefix` (`refs/x/`).
///
/// # Errors
/// When the folder of refs cannot be read, or refs were packed and removed all the while.
pub(crate) fn below<'r>(repo: &'r gix::Repository, prefix: &str) -> Result<Look<'r>> {
    let mut last: (Vec<String>, u32) = (Vec::new(), 0);
    for turn in 0..LOOKS {
        if turn > 0 {
            std::thread::sleep(Duration::from_millis(u64::from(turn.min(10))));
        }
        refresh(repo);
        let before = packed(repo);
        let (mut refs, mut broken) = (Vec::new(), Vec::new());
        let platform = repo.references().context("reading refs")?;
        let found = platform
            .prefixed(prefix)
            .with_context(|| format!("reading {prefix}"))?;
        for reference in found {
            match reference {
                Ok(reference) => refs.push(reference),
                Err(error) => broken.push(format!("{error:#}")),
            }
        }
        if packed(repo) != before {
            continue;
        }
        // What vanished under the walk reads like what is broken; only the latter is the same each time.
        let same = if last.0 == broken { last.1 + 1 } else { 1 };
        if broken.is_empty() || same == BROKEN {
            return Ok(Look { refs, broken });
        }
        last = (broken, same);
    }
    anyhow::bail!("refs below {prefix} changed all the while they were read")
}

/// Takes `packed-refs` anew, whatever its time says: two versions may be made within one tick of the clock.
fn refresh(repo: &gix::Repository) {
    // Without that file there is nothing to take, and gix sees that by itself.
    let _ = repo.refs.force_refresh_packed_buffer();
}

/// By what one version of `packed-refs` is told from another.
fn packed(repo: &gix::Repository) -> Option<(u64, u64, i64, i64)> {
    let meta = repo.common_dir().join("packed-refs").metadata().ok()?;
    Some((meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::git::fixture::Repo;

    #[test]
    fn a_ref_that_is_packed_meanwhile_is_seen_all_the_same() {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "one"]);
        repo.git(["commit", "-q", "--allow-empty", "-m", "two"]);
        repo.git(["update-ref", "refs/x/deep/er/stays", "HEAD"]);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Moves the ref, which gives it a file; packs it, which removes the file and its folders; makes and removes another.
            scope.spawn(|| {
                for turn in 0..150 {
                    let to = if turn % 2 == 0 { "HEAD^" } else { "HEAD" };
                    repo.git(["update-ref", "refs/x/deep/er/stays", to]);
                    repo.git(["update-ref", "refs/x/deep/gone/a", to]);
                    repo.git(["pack-refs", "--all"]);
                    repo.git(["update-ref", "-d", "refs/x/deep/gone/a"]);
                }
                done.store(true, Ordering::Relaxed);
            });
            let worktree = repo.worktree();
            let opened = worktree.repo().unwrap();
            while !done.load(Ordering::Relaxed) {
                assert!(find(opened, "refs/x/deep/er/stays").unwrap().is_some());
                let look = below(opened, "refs/x/").unwrap();
                let names: Vec<_> = look.refs.iter().map(|r| r.name().as_bstr()).collect();
                assert!(
                    names.contains(&"refs/x/deep/er/stays".into()),
                    "{names:?} {:?}",
                    look.broken
                );
                assert_eq!(look.broken, Vec::<String>::new());
                assert!(worktree.head().unwrap().is_some());
            }
        });
    }

    #[test]
    fn packed_refs_of_the_same_time_are_told_apart() {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "one"]);
        repo.git(["pack-refs", "--all"]);
        let file = repo.root().join(".git/packed-refs");
        let time = file.metadata().unwrap().modified().unwrap();
        let worktree = repo.worktree();
        assert!(worktree.head().unwrap().is_some());
        repo.git(["update-ref", "refs/x/later", "HEAD"]);
        repo.git(["pack-refs", "--all"]);
        let packed = std::fs::File::options().append(true).open(&file).unwrap();
        packed.set_modified(time).unwrap();
        let look = below(worktree.repo().unwrap(), "refs/x/").unwrap();
        assert_eq!(look.refs.len(), 1);
        repo.git(["update-ref", "refs/x/last", "HEAD"]);
        repo.git(["pack-refs", "--all"]);
        let packed = std::fs::File::options().append(true).open(&file).unwrap();
        packed.set_modified(time).unwrap();
        let last = find(worktree.repo().unwrap(), "refs/x/last").unwrap();
        assert!(last.is_some());
    }

    #[test]
    fn what_is_broken_is_told_apart_and_what_is_not_there_is_none() {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "one"]);
        repo.git(["update-ref", "refs/x/fine", "HEAD"]);
        std::fs::write(repo.root().join(".git/refs/x/odd"), "no ref\n").unwrap();
        let worktree = repo.worktree();
        let opened = worktree.repo().unwrap();
        let look = below(opened, "refs/x/").unwrap();
        assert_eq!((look.refs.len(), look.broken.len()), (1, 1));
        let why = look.whole().unwrap_err().to_string();
        assert!(
            why.starts_with("reading refs: ") && why.contains("odd"),
            "{why}"
        );
        assert!(find(opened, "refs/x/none").unwrap().is_none());
        assert!(below(opened, "refs/none/").unwrap().refs.is_empty());
        assert!(find(opened, "refs/x/odd").is_err());
    }
}
