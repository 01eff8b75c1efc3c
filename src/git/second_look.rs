//! The second look at a worktree, by stat(2) of every file in this process: does it still hold what was staged? It says yes only where
//! nothing else is possible; whatever it cannot tell is git's to say. It writes nothing and reads no content.

use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gix::index::entry::{Flags, Mode, Stage, Stat, stat::Time};
use gix::index::{Entry, File};

/// More threads than this wait for each other in the kernel.
const MOST_THREADS: usize = 4;

/// More strangers than this are asked for as git does, by folders.
const MOST_UNKNOWN: usize = 10_000;

/// A folder that the index has something in.
struct Folder<'a> {
    /// Its path with a slash at the end; empty for the root.
    path: &'a [u8],
    /// Its own files, sorted by name.
    files: Vec<(&'a [u8], &'a Entry)>,
    /// Its own folders.
    folders: Vec<&'a [u8]>,
}

/// What lies below `root` and is not in `index`, as paths from there, a folder as one; `None` where a file may be another than the index has.
/// Of what is named `.git` in the root, and of nothing else, no word is said.
pub(super) fn unknown(root: &Path, index: &File) -> Option<Vec<Vec<u8>>> {
    let folders = folders(index)?;
    let (next, differs) = (AtomicUsize::new(0), AtomicBool::new(false));
    let found = Mutex::new(Vec::new());
    let work = || {
        let mut strangers = Vec::new();
        while let Some(folder) = folders.get(next.fetch_add(1, Ordering::Relaxed)) {
            let same = look(root, folder, index, &mut strangers);
            if same.is_none() || strangers.len() > MOST_UNKNOWN {
                differs.store(true, Ordering::Relaxed);
            }
            if differs.load(Ordering::Relaxed) {
                return;
            }
        }
        if let Ok(mut found) = found.lock() {
            found.append(&mut strangers);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 1..threads.min(MOST_THREADS) {
            scope.spawn(work);
        }
        work();
    });
    let found = found.into_inner().ok()?;
    (!differs.into_inner()).then_some(found)
}

/// The folders of an index; `None` where it holds more than files.
fn folders(index: &File) -> Option<Vec<Folder<'_>>> {
    let none = |path| Folder {
        path,
        files: Vec::new(),
        folders: Vec::new(),
    };
    let odd = Flags::ASSUME_VALID | Flags::SKIP_WORKTREE | Flags::INTENT_TO_ADD;
    let mut done = Vec::new();
    let mut open = vec![none(b"")];
    for entry in index.entries() {
        let is_file = matches!(
            entry.mode,
            Mode::FILE | Mode::FILE_EXECUTABLE | Mode::SYMLINK
        );
        if !is_file || entry.flags.intersects(odd) || entry.stage() != Stage::Unconflicted {
            return None;
        }
        let path: &[u8] = entry.path(index);
        while !path.starts_with(open.last()?.path) {
            done.extend(open.pop());
        }
        let mut from = open.last()?.path.len();
        while let Some(slash) = memchr::memchr(b'/', &path[from..]) {
            open.last_mut()?.folders.push(&path[from..from + slash]);
            from += slash + 1;
            open.push(none(&path[..from]));
        }
        open.last_mut()?.files.push((&path[from..], entry));
    }
    done.append(&mut open);
    Some(done)
}

/// `None` where something of the folder is not, or may not be, as the index has it.
fn look(root: &Path, folder: &Folder<'_>, index: &File, unknown: &mut Vec<Vec<u8>>) -> Option<()> {
    let mut left = folder.files.len() + folder.folders.len();
    for there in fs::read_dir(root.join(OsStr::from_bytes(folder.path))).ok()? {
        let there = there.ok()?;
        let name = there.file_name();
        let name = name.as_bytes();
        if let Ok(at) = folder.files.binary_search_by_key(&name, |(name, _)| name) {
            is_same(&there, folder.files[at].1, index)?;
            left -= 1;
        } else if folder.folders.contains(&name) && there.file_type().ok()?.is_dir() {
            left -= 1;
        } else if !(folder.path.is_empty() && name == b".git") {
            unknown.push([folder.path, name].concat());
        }
    }
    (left == 0).then_some(())
}

/// Stricter than git: every field of stat(2) that an index keeps (gitformat-index(5)) must be the same, and older than the index.
fn is_same(there: &DirEntry, entry: &Entry, index: &File) -> Option<()> {
    let meta = there.metadata().ok()?;
    let kind = meta.file_type();
    let is_executable = meta.mode() & 0o100 != 0;
    let kind_is_same = match entry.mode {
        Mode::SYMLINK => kind.is_symlink(),
        mode => kind.is_file() && is_executable == (mode == Mode::FILE_EXECUTABLE),
    };
    // As git stores them: the low 32 bits.
    let low = |number: i64| u32::try_from(number & 0xffff_ffff).ok();
    let low_of = |number: u64| u32::try_from(number & 0xffff_ffff).ok();
    let time = |secs: i64, nsecs: i64| {
        Some(Time {
            secs: low(secs)?,
            nsecs: low(nsecs)?,
        })
    };
    let stat = Stat {
        mtime: time(meta.mtime(), meta.mtime_nsec())?,
        ctime: time(meta.ctime(), meta.ctime_nsec())?,
        dev: low_of(meta.dev())?,
        ino: low_of(meta.ino())?,
        uid: meta.uid(),
        gid: meta.gid(),
        size: low_of(meta.size())?,
    };
    let made = index.timestamp();
    let is_older =
        (meta.mtime(), meta.mtime_nsec()) < (made.unix_seconds(), i64::from(made.nanoseconds()));
    // An empty size is also how git marks an entry that it wants looked at (git's Documentation/technical/racy-git).
    (kind_is_same && is_older && stat == entry.stat).then_some(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::git::fixture::Repo;

    /// A repository whose files are older than its index.
    fn settled() -> Repo {
        let repo = Repo::new();
        for path in ["a", "a.b", "a-b/x", "d/e/f", "d/e.txt", "d/ü", "run"] {
            repo.write(path, path);
        }
        symlink("a", repo.root().join("d/link")).unwrap();
        fs::set_permissions(repo.root().join("run"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(repo.root().join("empty")).unwrap();
        repo.write(".gitignore", "ignored\nout/\n");
        std::thread::sleep(Duration::from_millis(20));
        repo.git(["add", "-A"]);
        repo
    }

    fn index(repo: &Repo) -> File {
        let worktree = repo.worktree();
        let index = worktree.git_dir().join("index");
        worktree.read_index(&index).unwrap()
    }

    /// Our answer, and git's: the paths that changed or are new.
    fn both(repo: &Repo, index: &File) -> (Option<Vec<Vec<u8>>>, Vec<u8>) {
        let ours = unknown(repo.root(), index);
        let changed = repo.git(["diff-files", "-z", "--name-only"]);
        let new = repo.git(["ls-files", "-z", "-o", "--exclude-standard"]);
        (ours, [changed, new].concat())
    }

    #[test]
    fn what_is_as_staged_is_seen_so_with_what_is_unknown_beside_it() {
        let repo = settled();
        let now = index(&repo);
        let (ours, theirs) = both(&repo, &now);
        assert_eq!(ours, Some(vec![b"empty".to_vec()]));
        assert!(theirs.is_empty());
        repo.write("d/e/ignored", "x");
        repo.write("out/1", "x");
        repo.write("new/1", "x");
        let (ours, theirs) = both(&repo, &now);
        let mut ours = ours.unwrap();
        ours.sort();
        assert_eq!(ours, [&b"d/e/ignored"[..], b"empty", b"new", b"out"]);
        assert_eq!(theirs, b"new/1\0");
    }

    #[test]
    fn whatever_git_sees_is_seen() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 12] = [
            ("content", |root| {
                fs::write(root.join("a"), "other").unwrap();
            }),
            ("content of the same size", |root| {
                fs::write(root.join("a"), "b").unwrap();
            }),
            ("content of the same size and time", |root| {
                let path = root.join("a");
                let dated = path.metadata().unwrap().modified().unwrap();
                fs::write(&path, "b").unwrap();
                fs::File::options()
                    .write(true)
                    .open(path)
                    .and_then(|file| file.set_modified(dated))
                    .unwrap();
            }),
            ("another file of the same content", |root| {
                fs::copy(root.join("a"), root.join("out")).unwrap();
                fs::rename(root.join("out"), root.join("a")).unwrap();
            }),
            ("gone", |root| fs::remove_file(root.join("d/e/f")).unwrap()),
            ("a folder gone", |root| {
                fs::remove_dir_all(root.join("d/e")).unwrap();
            }),
            ("executable", |root| {
                fs::set_permissions(root.join("a"), fs::Permissions::from_mode(0o755)).unwrap();
            }),
            ("no longer executable", |root| {
                fs::set_permissions(root.join("run"), fs::Permissions::from_mode(0o644)).unwrap();
            }),
            ("a link elsewhere", |root| {
                fs::remove_file(root.join("d/link")).unwrap();
                symlink("b", root.join("d/link")).unwrap();
            }),
            ("a link for a file", |root| {
                fs::rename(root.join("a"), root.join("out")).unwrap();
                symlink("out", root.join("a")).unwrap();
            }),
            ("a link for a folder", |root| {
                fs::rename(root.join("d/e"), root.join("out")).unwrap();
                symlink("../out", root.join("d/e")).unwrap();
            }),
            ("a folder for a file", |root| {
                fs::remove_file(root.join("a")).unwrap();
                fs::create_dir(root.join("a")).unwrap();
            }),
        ];
        for (what, change) in changes {
            let repo = settled();
            let now = index(&repo);
            change(repo.root());
            let (ours, theirs) = both(&repo, &now);
            assert_eq!(ours, None, "{what}");
            assert!(!theirs.is_empty(), "{what}");
        }
    }

    #[test]
    fn what_may_have_changed_since_it_was_read_is_left_to_git() {
        let repo = settled();
        let path = repo.root().join("a");
        let later = SystemTime::now() + Duration::from_secs(60);
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(later).unwrap();
        repo.git(["add", "-A"]);
        let (ours, theirs) = both(&repo, &index(&repo));
        assert_eq!((ours, theirs.is_empty()), (None, true));
        for bits in ["--assume-unchanged", "--skip-worktree"] {
            let repo = settled();
            repo.git(["update-index", bits, "a"]);
            assert_eq!(both(&repo, &index(&repo)).0, None, "{bits}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_left_to_git() {
        let repo = settled();
        let now = index(&repo);
        let folder = repo.root().join("d");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o000)).unwrap();
        let readable = fs::read_dir(&folder).is_ok();
        let ours = unknown(repo.root(), &now);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        // To root everything is readable.
        assert_eq!(ours.is_some(), readable);
    }
}
