//! What is in an index and would lead `git add` astray: links to repositories inside the worktree, and bits that hide changes. It knows nothing
//! of trees.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::Result;
use gix::index::entry::Flags;

use super::call::Call;
use super::{Oid, Worktree, exclude_pathspecs};

/// An entry that names a commit of a repository inside the worktree.
pub(super) struct Link {
    pub path: Vec<u8>,
    commit: Oid,
}

/// Links of an index whose repository is there. `git add` runs git inside each, which does what the configuration there says: so they are
/// taken out before, and put back with the commit that is checked out in them.
pub(super) struct Linked {
    pub all: Vec<Link>,
    /// The index holds files alone, and all of it: it is not split.
    pub plain: bool,
}

impl Linked {
    /// What keeps `add` out of them.
    pub(super) fn pathspecs(&self) -> impl Iterator<Item = OsString> {
        let links = self.all.iter();
        links.flat_map(|link| exclude_pathspecs(&link.path))
    }

    pub(super) fn take_out(
        worktree: &Worktree,
        index: &Path,
        sparse: bool,
        git: &dyn Fn(&[&str]) -> Call,
    ) -> Result<Self> {
        if worktree.is_plain(index)? {
            let all = Vec::new();
            return Ok(Self { all, plain: true });
        }
        let (mut all, hidden) = look(worktree, index).or_else(|_| {
            // Somebody wrote garbage into the index that this one was copied from: from HEAD then.
            super::state::remove(index)?;
            if let Some(head) = worktree.head()? {
                git(&["read-tree", &head.to_string()]).run()?;
            }
            look(worktree, index)
        })?;
        let hidden = hidden.map_or_else(|| Hidden::ask(git), Ok)?;
        hidden.show(worktree, sparse, git)?;
        all.retain(|link| is_repository(worktree, &link.path));
        let linked = Self { all, plain: false };
        if !linked.all.is_empty() {
            let names = linked
                .all
                .iter()
                .flat_map(|l| [&l.path, &b"\0"[..]].concat());
            git(&["update-index", "--force-remove", "-z", "--stdin"])
                .stdin(names.collect::<Vec<u8>>())
                .run()?;
        }
        Ok(linked)
    }

    /// Submodules (`.gitmodules` names them, or HEAD has them) go back; others are repositories that somebody put there: `nested`.
    pub(super) fn put_back(
        self,
        worktree: &Worktree,
        git: &dyn Fn(&[&str]) -> Call,
        nested: &mut Vec<Vec<u8>>,
    ) -> Result<()> {
        if self.all.is_empty() {
            return Ok(());
        }
        let declared = declared(git)?;
        let repo = worktree.repo()?;
        let head = match worktree.head()? {
            Some(head) => Some(repo.find_tree(worktree.tree_of(head)?)?),
            None => None,
        };
        let mut lines = Vec::new();
        for link in self.all {
            let in_head = match &head {
                Some(tree) => tree
                    .lookup_entry(link.path.split(|b| *b == b'/'))?
                    .is_some_and(|entry| entry.mode().is_commit()),
                None => false,
            };
            if in_head || declared.contains(&link.path) {
                let place = worktree.root().join(OsStr::from_bytes(&link.path));
                let commit = checked_out(&place).unwrap_or(link.commit);
                lines.extend_from_slice(format!("160000 {commit} 0\t").as_bytes());
                lines.extend_from_slice(&link.path);
                lines.push(0);
            } else {
                nested.push(link.path);
            }
        }
        git(&["update-index", "-z", "--index-info"])
            .stdin(lines)
            .run()
    }
}

/// The commit at HEAD of the repository in `folder`, read without running anything there.
fn checked_out(folder: &Path) -> Option<Oid> {
    let options = gix::open::Options::isolated().with(gix::sec::Trust::Full);
    let repo = gix::open_opts(folder, options).ok()?;
    Some(repo.head_id().ok()?.detach())
}

/// The links in an index, and what its entries hide; `None` for that in a sparse index, which has folders for entries.
fn look(worktree: &Worktree, index: &Path) -> Result<(Vec<Link>, Option<Hidden>)> {
    if !index.exists() {
        return Ok((Vec::new(), Some(Hidden::default())));
    }
    let index = worktree.read_index(index)?;
    let with = |bit: Flags| {
        let entries = index.entries().iter().filter(|e| e.flags.contains(bit));
        entries.map(|e| e.path(&index).to_vec()).collect()
    };
    let hidden = Hidden {
        assumed: with(Flags::ASSUME_VALID),
        skipped: with(Flags::SKIP_WORKTREE),
    };
    let has_folders = index.entries().iter().any(|e| e.mode.is_sparse());
    let links = index.entries().iter().filter(|e| e.mode.is_submodule());
    let links = links.map(|entry| Link {
        path: entry.path(&index).to_vec(),
        commit: entry.id,
    });
    Ok((links.collect(), (!has_folders).then_some(hidden)))
}

/// Repositories where an index has a file, which git lists nowhere, or a link that nothing declares: `add` has just made it.
pub(super) fn undeclared(
    worktree: &Worktree,
    index: &Path,
    git: &dyn Fn(&[&str]) -> Call,
) -> Result<Vec<Vec<u8>>> {
    if !index.exists() {
        return Ok(Vec::new());
    }
    let declared = declared(git)?;
    let index = worktree.read_index(index)?;
    let mut found = Vec::new();
    for entry in index.entries() {
        let path: &[u8] = entry.path(&index);
        let known = entry.mode.is_submodule() && declared.iter().any(|d| d == path);
        // A link whose repository is gone is none, and goes with the next `add`.
        if !known && is_repository(worktree, path) {
            found.push(path.to_vec());
        }
    }
    Ok(found)
}

/// Is a repository of its own here, in the worktree itself and not behind a link?
fn is_repository(worktree: &Worktree, path: &[u8]) -> bool {
    worktree.place_of(path).is_some_and(|place| {
        place.symlink_metadata().is_ok_and(|meta| meta.is_dir())
            && place.join(".git").symlink_metadata().is_ok()
    })
}

/// Paths that `.gitmodules` names.
fn declared(git: &dyn Fn(&[&str]) -> Call) -> Result<Vec<Vec<u8>>> {
    let modules = git(&[
        "config",
        "-z",
        "--file",
        ".gitmodules",
        "--get-regexp",
        "^submodule\\..*\\.path$",
    ])
    .output()?;
    let entries = modules.stdout.split(|b| *b == 0);
    Ok(entries
        .filter_map(|e| {
            e.iter()
                .position(|b| *b == b'\n')
                .map(|at| e[at + 1..].to_vec())
        })
        .collect())
}

/// Paths of an index whose changes a bit of theirs hides.
#[derive(Default)]
struct Hidden {
    /// "assume unchanged"
    assumed: Vec<Vec<u8>>,
    /// "skip worktree"
    skipped: Vec<Vec<u8>>,
}

impl Hidden {
    /// As git sees them, which alone knows what lies in the folders of a sparse index.
    fn ask(git: &dyn Fn(&[&str]) -> Call) -> Result<Self> {
        let tags = git(&["ls-files", "-v", "-z"]).bytes()?;
        let mut hidden = Self::default();
        for entry in tags.split(|b| *b == 0).filter(|entry| entry.len() > 2) {
            let (tag, path) = (entry[0], &entry[2..]);
            if tag.is_ascii_lowercase() {
                hidden.assumed.push(path.to_vec());
            }
            if matches!(tag, b'S' | b's') {
                hidden.skipped.push(path.to_vec());
            }
        }
        Ok(hidden)
    }

    /// Takes the bits away. In a sparse checkout "skip worktree" goes only from entries whose file is there all the same, as somebody has
    /// written it: git does so only where its own configuration says that the checkout is sparse, and private directories have none.
    fn show(
        mut self,
        worktree: &Worktree,
        sparse: bool,
        git: &dyn Fn(&[&str]) -> Call,
    ) -> Result<()> {
        if sparse {
            self.skipped.retain(|path| {
                let path = worktree.root().join(OsStr::from_bytes(path));
                path.symlink_metadata().is_ok()
            });
        }
        let take = |bit: &str, paths: &[Vec<u8>]| match paths {
            [] => Ok(()),
            paths => git(&["update-index", bit, "-z", "--stdin"])
                .stdin(paths.join(&0))
                .run(),
        };
        take("--no-assume-unchanged", &self.assumed)?;
        take("--no-skip-worktree", &self.skipped)
    }
}
