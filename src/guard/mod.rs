//! Did the run keep the rules? What was noted at launch is compared with what is there after it; what was turned is put back and named.
//! It judges no work, and calls no git but the hardened one.

mod config_keys;
mod files;
mod locks;
mod place;
mod refs;
mod stash;

use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::config::Infra;
use crate::config::protected::{CONFIG_FILE, Protected};

use crate::git::hardened::{Attributes, Hardened};
use crate::git::{self, Oid, Worktree, oid_text, state};

pub(crate) use refs::Refs;

/// What is noted before a launch and held in memory while it lasts; on disk too, for whoever comes after us where we are killed. What an
/// agent could have written is no proof then, but it is more than nothing.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Noted {
    /// Full name of the branch that HEAD is on.
    branch: String,
    /// The commit it is at.
    #[serde(with = "oid_text")]
    tip: Oid,
    /// The content of the worktree (an archive's tree).
    #[serde(with = "oid_text")]
    tree: Oid,
    refs: Refs,
    files: files::Files,
    stash: stash::Stash,
    /// Not on disk: it is where that is.
    #[serde(skip)]
    place: Option<place::Place>,
    #[serde(default)]
    locks: locks::Locks,
}

/// One broken rule, as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub rule: Rule,
    /// One line: what was found.
    pub what: String,
}

/// Which promise was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// HEAD left the branch.
    Branch,
    /// The branch no longer descends from where it was.
    History,
    /// A ref that was there is gone or rewritten.
    Refs,
    /// Configuration, hooks or other files of the git directory that can run code or redirect git.
    GitDirectory,
}

/// What a check found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Rules broken; what was turned is already put back.
    pub broken: Vec<Broken>,
    /// Changes that break no rule but that a person should know of.
    pub notes: Vec<String>,
    /// Commits that would be unreachable after the putting back: an archive must keep them.
    pub unreachable: Vec<Oid>,
}

impl Noted {
    /// Notes everything that a run must leave as it is. `tree` is the archived content of the worktree.
    pub(crate) fn take(worktree: &Worktree, branch: &str, tip: Oid, tree: Oid) -> Result<Self> {
        Ok(Self {
            branch: branch.to_owned(),
            tip,
            tree,
            refs: Refs::read(worktree)?,
            files: files::Files::read(worktree)?,
            stash: stash::Stash::read(worktree),
            locks: locks::Locks::read(worktree),
            place: Some(place::Place::hold(worktree.common_dir())?),
        })
    }

    /// Writes it down again where the launch ended in trouble: the agent could have written it meanwhile, and the next command goes by it.
    pub(crate) fn save_again(&self, worktree: &Worktree) {
        if worktree.common_dir().join("HEAD").exists() {
            // The trouble that there is already is what a person must hear of.
            let _ = self.save(worktree);
        }
    }

    /// Writes it down for the time of a launch.
    pub(crate) fn save(&self, worktree: &Worktree) -> Result<()> {
        state::save(&file(worktree), self)
    }

    /// What was noted before the launch that was cut off here. An agent could have written it: nothing outside the git directories is put
    /// back on its word. True where it names such a thing.
    pub(crate) fn load(worktree: &Worktree) -> Option<(Self, bool)> {
        let mut noted: Self = state::load(&file(worktree))?;
        let elsewhere = noted.files.keep_own(worktree);
        let no_refs = noted.refs.keep_names();
        Some((noted, elsewhere || no_refs))
    }

    /// The launch is over, and compared.
    pub(crate) fn forget(worktree: &Worktree) -> Result<()> {
        state::remove(&file(worktree))
    }

    /// The content of the worktree at launch.
    pub(crate) fn tree(&self) -> Oid {
        self.tree
    }

    /// Compares, puts back and names. `kept` is a folder for the bytes that were found in the place of what is put back.
    ///
    /// # Errors
    /// When something cannot be read or put back; `found` holds what was put back before that.
    pub(crate) fn check(
        &self,
        git: &Hardened<'_>,
        kept: &std::path::Path,
        found: &mut Found,
    ) -> Result<()> {
        if let Some(place) = &self.place {
            place.put_back(kept, found)?;
        }
        // They would be in the way of what is put back.
        self.locks.check(git.worktree(), found)?;
        // Files first: HEAD and the configuration decide what everything after them means.
        self.files.check(git, kept, found)?;
        self.refs.check(git, &self.branch, self.tip, kept, found)?;
        self.stash.check(git.worktree(), found)
    }
}

fn file(worktree: &Worktree) -> PathBuf {
    worktree.state_dir().join("noted.json")
}

/// The paths of this worktree that no run may change: the built-in ones, what `infra.paths` adds, and the hooks folder where that is inside.
pub(crate) fn protected(worktree: &Worktree, infra: &Infra) -> Result<Protected> {
    let fold = worktree
        .repo()?
        .config_snapshot()
        .boolean("core.ignoreCase")
        .unwrap_or(false);
    Ok(Protected::new(&infra.paths, &hooks_inside(worktree)?, fold))
}

/// The same as a person reads them.
pub(crate) fn protected_names(worktree: &Worktree, infra: &Infra) -> Result<Vec<String>> {
    let mut names: Vec<String> = ["scripts/", ".githooks/", CONFIG_FILE]
        .map(str::to_owned)
        .to_vec();
    names.extend(infra.paths.iter().cloned());
    names.extend(
        hooks_inside(worktree)?
            .iter()
            .map(|folder| format!("{}/", String::from_utf8_lossy(folder))),
    );
    names.dedup();
    Ok(names)
}

fn hooks_inside(worktree: &Worktree) -> Result<Vec<Vec<u8>>> {
    use std::os::unix::ffi::OsStrExt as _;
    let inside = worktree
        .hooks_folder()?
        .filter(|folder| !folder.starts_with(worktree.common_dir()));
    let inside = inside.and_then(|folder| {
        folder
            .strip_prefix(worktree.root())
            .map(|f| f.as_os_str().as_bytes().to_vec())
            .ok()
    });
    Ok(inside
        .into_iter()
        .filter(|folder| !folder.is_empty())
        .collect())
}

/// Entries of protected paths that differ between two content trees (paths as bytes, either side of a change).
pub(crate) fn protected_changes(
    git: &Hardened<'_>,
    from: Oid,
    to: Oid,
    protects: &dyn Fn(&[u8]) -> bool,
) -> Result<Vec<Vec<u8>>> {
    let mut paths = git.worktree().changed_entries(from, to)?;
    paths.retain(|path| protects(path));
    Ok(paths)
}

/// Puts the entries `paths` of the worktree back to what `from` holds, keeping everything else. `now` is the worktree's content tree and
/// what the private index holds.
pub(crate) fn put_back(git: &Hardened<'_>, from: Oid, now: Oid, paths: &[Vec<u8>]) -> Result<Oid> {
    let repo = git.worktree().repo()?;
    let source = repo.find_tree(from)?;
    let target = git::written(|| {
        let mut editor = repo.edit_tree(now)?;
        // Removals first: a file may stand where a folder was.
        for path in paths {
            if source.lookup_entry(path.split(|b| *b == b'/'))?.is_none() {
                editor.remove(gix::bstr::BStr::new(path))?;
            }
        }
        for path in paths {
            if let Some(entry) = source.lookup_entry(path.split(|b| *b == b'/'))? {
                editor.upsert(
                    gix::bstr::BStr::new(path),
                    entry.mode().kind(),
                    entry.object_id(),
                )?;
            }
        }
        Ok(editor.write()?.detach())
    })?;
    git.call(Attributes::Raw, ["read-tree", "-m", "-u"])
        .args([now.to_string(), target.to_string()])
        .run()?;
    Ok(target)
}
