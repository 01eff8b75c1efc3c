//! What lies in a worktree, by kind and content, and what of it is lost: neither on disk, nor kept, nor reachable from a ref. It reads only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::sandbox::Sandbox;

/// Files by their path from the root.
pub type Files = BTreeMap<PathBuf, File>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// `f`, `x` (executable) or `l` (a link).
    pub kind: char,
    /// Of a link: where it leads.
    pub content: Vec<u8>,
}

/// Every file and link, but for git directories, `.arkaint`, FIFOs and sockets (no archive can hold them), and the folders that are `passed_over`
/// by their path from the root. What may not be read counts as empty; what is deeper than a path may be long is not seen.
pub fn below(root: &Path, passed_over: impl Fn(&Path) -> bool) -> Files {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let name = path.strip_prefix(root).unwrap().to_owned();
            if entry.file_name() == ".git" || name == Path::new(".arkaint") {
                continue;
            }
            let (kind, content) = if kind.is_dir() {
                if !passed_over(&name) {
                    left.push(path);
                }
                continue;
            } else if kind.is_symlink() {
                let to = fs::read_link(&path).unwrap();
                ('l', to.as_os_str().as_bytes().to_vec())
            } else if kind.is_file() {
                let mode = path.symlink_metadata().unwrap().permissions().mode();
                let kind = if mode & 0o100 != 0 { 'x' } else { 'f' };
                (kind, fs::read(&path).unwrap_or_default())
            } else {
                continue;
            };
            found.insert(name, File { kind, content });
        }
    }
    found
}

/// [`below`], but for what is in `build`, which tests have ignored; nested repositories are looked into.
pub fn contents(root: &Path) -> Files {
    below(root, |name| name == Path::new("build"))
}

/// The names of what differs.
pub fn differing(now: &Files, then: &Files) -> Vec<PathBuf> {
    let names: BTreeSet<&PathBuf> = now.keys().chain(then.keys()).collect();
    let changed = names
        .into_iter()
        .filter(|name| now.get(*name) != then.get(*name));
    changed.cloned().collect()
}

/// The files of `before` whose content is neither on disk, in a kept folder, nor reachable from a ref.
pub fn lost(sandbox: &Sandbox, before: &Files) -> Vec<PathBuf> {
    let mut there = contents(&sandbox.repo);
    // Where there is none, nothing is kept.
    there.extend(contents(&sandbox.repo.join(".git/arkaint/kept")));
    let have: BTreeSet<&[u8]> = there.values().map(|file| &*file.content).collect();
    let missing: Vec<(&PathBuf, &File)> = before
        .iter()
        .filter(|(_, file)| !have.contains(&*file.content))
        .collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let ids = sandbox.git([
        "rev-list",
        "--objects",
        "--all",
        "HEAD",
        "--no-object-names",
    ]);
    let reachable: BTreeSet<&str> = ids.lines().collect();
    let file = sandbox.home().join("content");
    let gone = missing.into_iter().filter(|(_, was)| {
        fs::write(&file, &was.content).unwrap();
        let id = sandbox.git(["hash-object", "--no-filters", file.to_str().unwrap()]);
        !reachable.contains(&*id)
    });
    gone.map(|(path, _)| path.clone()).collect()
}

#[test]
fn what_is_on_disk_kept_or_reachable_is_not_lost() {
    let sandbox = Sandbox::new();
    for name in ["stays", "moved", "committed", "archived", "gone", "kept"] {
        sandbox.write(name, &format!("{name}\n"));
    }
    std::os::unix::fs::symlink("nowhere", sandbox.repo.join("link")).unwrap();
    let before = contents(&sandbox.repo);
    sandbox.sh("
        git add committed; git commit -qm c; git rm -q committed; git commit -qm d
        git add archived; git update-ref refs/x $(git commit-tree -m a $(git write-tree)); git rm -qf archived
        mkdir -p below .git/arkaint/kept; mv moved below/other; mv kept .git/arkaint/kept; rm gone link");
    let names = ["gone", "link"].map(PathBuf::from);
    assert_eq!(lost(&sandbox, &before), names);
}
