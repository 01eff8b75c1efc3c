//! Files that an agent's own ignore rules hide. It asks git what is ignored now and judges that by the rules of another tree.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::{Context, Result};
use gix::bstr::{BStr, ByteSlice as _};
use gix::worktree::stack::state::ignore::Source;

use crate::git::hardened::{Attributes, Hardened};
use crate::git::{self, Oid};

/// The ignore rules of one tree, with the repository's own exclude files.
pub(crate) struct Rules<'repo> {
    stack: gix::AttributeStack<'repo>,
    _index: gix::index::File,
}

impl<'repo> Rules<'repo> {
    pub(crate) fn of(repo: &'repo gix::Repository, tree: Oid) -> Result<Self> {
        let index = repo
            .index_from_tree(&tree)
            .context("reading ignore rules")?;
        let stack = repo
            .excludes(&index, None, Source::IdMapping)
            .context("reading ignore rules")?;
        Ok(Self {
            stack,
            _index: index,
        })
    }

    /// Is this path (`/` between folders; a trailing `/` means a folder) ignored?
    pub(crate) fn ignore(&mut self, path: &[u8]) -> Result<bool> {
        let (path, mode) = match path.strip_suffix(b"/") {
            Some(folder) => (folder, gix::index::entry::Mode::DIR),
            None => (path, gix::index::entry::Mode::FILE),
        };
        let at = self
            .stack
            .at_entry(BStr::new(path), Some(mode))
            .context("matching ignore rules")?;
        Ok(at.is_excluded())
    }
}

/// Files on disk that are ignored by the rules of now but not by those of `stable`.
pub(crate) fn hidden_by_new_rules(
    git: &Hardened<'_>,
    stable: Oid,
    nested: &[Vec<u8>],
) -> Result<Vec<Vec<u8>>> {
    let listed = git
        .call(
            Attributes::Raw,
            [
                "ls-files",
                "-o",
                "-i",
                "--exclude-standard",
                "--directory",
                "-z",
            ],
        )
        .bytes()
        .context("listing ignored files")?;
    let mut found = Vec::new();
    let mut rules: Option<Rules<'_>> = None;
    for entry in listed
        .split(|b| *b == 0)
        .filter(|e| !e.is_empty() && !git::is_ours(e))
    {
        let rules = match &mut rules {
            Some(rules) => rules,
            none => none.insert(Rules::of(git.worktree().repo()?, stable)?),
        };
        descend(git.worktree().root(), entry, rules, nested, &mut found)?;
    }
    Ok(found)
}

fn descend(
    root: &Path,
    entry: &[u8],
    rules: &mut Rules<'_>,
    nested: &[Vec<u8>],
    found: &mut Vec<Vec<u8>>,
) -> Result<()> {
    if rules.ignore(entry)? {
        return Ok(());
    }
    let Some(folder) = entry.strip_suffix(b"/") else {
        found.push(entry.to_vec());
        return Ok(());
    };
    let on_disk = root.join(OsStr::from_bytes(folder));
    if nested.iter().any(|n| n == folder) || on_disk.join(".git").symlink_metadata().is_ok() {
        return Ok(());
    }
    for child in on_disk
        .read_dir()
        .with_context(|| format!("reading {}", folder.to_str_lossy()))?
    {
        let child = child?;
        let mut path = [entry, child.file_name().as_bytes()].concat();
        let kind = child.file_type()?;
        if kind.is_dir() {
            path.push(b'/');
        } else if !kind.is_file() && !kind.is_symlink() {
            continue;
        }
        descend(root, &path, rules, nested, found)?;
    }
    Ok(())
}

/// Files on disk that stand where `target` has something and `now` has nothing: a rule ignores them, and no index knows them any more. A switch
/// would write over them without a word, or remove them with the folder that they are in.
pub(crate) fn in_the_place_of(
    git: &Hardened<'_>,
    target: Oid,
    now: Oid,
) -> Result<BTreeSet<Vec<u8>>> {
    let worktree = git.worktree();
    let tree = worktree.repo()?.find_tree(now)?;
    let mut found = BTreeSet::new();
    for path in worktree.changed_entries(target, now)? {
        if git::is_ours(&path) || tree.lookup_entry(path.split(|b| *b == b'/'))?.is_some() {
            continue;
        }
        let folders = path.iter().enumerate().filter(|(_, b)| **b == b'/');
        for end in folders.map(|(at, _)| at).chain([path.len()]) {
            let place = worktree.root().join(OsStr::from_bytes(&path[..end]));
            match place.symlink_metadata() {
                Ok(meta) if !meta.is_dir() => {
                    if tree
                        .lookup_entry(path[..end].split(|b| *b == b'/'))?
                        .is_none()
                        && (meta.is_file() || meta.is_symlink())
                    {
                        found.insert(path[..end].to_vec());
                    }
                    break;
                }
                Ok(_) if end == path.len() => below(&place, &path, &mut found)?,
                Ok(_) => {}
                Err(_) => break,
            }
        }
    }
    Ok(found)
}

/// The files and links below a folder, but for those of repositories.
fn below(folder: &Path, name: &[u8], found: &mut BTreeSet<Vec<u8>>) -> Result<()> {
    if folder.join(".git").symlink_metadata().is_ok() {
        return Ok(());
    }
    let children = folder.read_dir();
    for child in children.with_context(|| format!("reading {}", name.to_str_lossy()))? {
        let child = child?;
        let path = [name, b"/", child.file_name().as_bytes()].concat();
        let kind = child.file_type()?;
        if kind.is_dir() {
            below(&child.path(), &path, found)?;
        } else if kind.is_file() || kind.is_symlink() {
            found.insert(path);
        }
    }
    Ok(())
}
