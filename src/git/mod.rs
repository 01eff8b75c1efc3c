//! The only place that knows gix and the git binary. Two ways of calling git, told apart by type: [`Trusted`] is the user's own git,
//! with hooks, signing and filters, before a launch and after the check; [`hardened::Hardened`] between. It takes no decisions.

mod attributes;
mod base;
mod call;
pub(crate) mod changes;
mod content;
pub(crate) mod files;
#[cfg(test)]
pub(crate) mod fixture;
mod format;
pub(crate) mod forward;
pub(crate) mod hardened;
pub(crate) mod heirloom;
pub(crate) mod hook_env;
mod index_bytes;
mod index_lock;
mod index_tree;
pub(crate) mod leftover;
mod links;
pub(crate) mod named;
pub(crate) mod patch;
mod ref_look;
mod ref_turn;
mod refs;
pub(crate) mod remote;
mod renames;
mod second_look;
mod settings;
pub(crate) mod state;
mod tree_diff;
mod unclean;
mod worktrees;
mod written;

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub(crate) use call::{Call, Trusted};
pub(crate) use content::{Content, is_ours};
pub(crate) use index_bytes::{are_same, has_checksum};
pub(crate) use index_lock::lock_by_link;
pub(crate) use ref_look::{below as refs_below, find as find_ref};
pub(crate) use refs::{
    Contended, commit_as_arkaint, commit_as_user, make_durable, move_ref, remove_ref,
};
pub(crate) use tree_diff::Changed;
pub(crate) use written::written;

use crate::exit::Refusal;

/// A full object name.
pub(crate) type Oid = gix::ObjectId;

/// The call that lists the objects of a commit's own tree; each that is missing stands behind a `?`.
pub(crate) const MISSING: [&str; 5] = [
    "rev-list",
    "--objects",
    "--no-object-names",
    "--no-walk",
    "--missing=print",
];

/// One worktree of one repository: where it is, and both ways to read it.
#[derive(Debug)]
pub(crate) struct Worktree {
    root: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    repo: OnceCell<gix::Repository>,
}

impl Worktree {
    /// The worktree that contains `dir`, found upwards; reads two or three small files and opens no object store.
    ///
    /// # Errors
    /// A [`Refusal`] outside a repository, in a bare one, in one owned by somebody else, and in one of a format that is not known.
    pub(crate) fn discover(dir: &Path) -> Result<Self> {
        let none = || {
            Refusal::new(
                format!("not inside a git worktree: {}", dir.display()),
                "cd into a repository, or make one: git init && git commit --allow-empty -m 'start'",
            )
        };
        let dir = dir.canonicalize().map_err(|_| none())?;
        let (found, trust) = gix::discover::upwards(&dir).map_err(|_| none())?;
        let (git_dir, root) = found.into_repository_and_work_tree_directories();
        let Some(root) = root else {
            return Err(Refusal::new(
                format!(
                    "{} is a bare repository: there is no worktree to work in",
                    git_dir.display()
                ),
                "git worktree add ../work arkaint/SLUG, then run it there",
            )
            .into());
        };
        let git_dir = git_dir
            .canonicalize()
            .with_context(|| format!("resolving {}", git_dir.display()))?;
        let root = root
            .canonicalize()
            .with_context(|| format!("resolving {}", root.display()))?;
        if trust != gix::sec::Trust::Full && !owner_is_accepted(&root) {
            return Err(Refusal::new(
                format!("{} belongs to somebody else", root.display()),
                format!(
                    "git config --global --add safe.directory {}",
                    root.display()
                ),
            )
            .into());
        }
        let common_dir = match std::fs::read_to_string(git_dir.join("commondir")) {
            Ok(text) => git_dir
                .join(text.trim_end_matches('\n'))
                .canonicalize()
                .context("resolving commondir")?,
            Err(_) => git_dir.clone(),
        };
        format::check(&common_dir)?;
        Ok(Self {
            root,
            git_dir,
            common_dir,
            repo: OnceCell::new(),
        })
    }

    /// The worktree that a caller means: [`Worktree::discover`], where its environment names no other one. `GIT_DIR` beats the folder for
    /// git itself, and work must not land in the wrong repository.
    ///
    /// # Errors
    /// As `discover`; a [`Refusal`] where `GIT_DIR` names another repository than the one around `dir`.
    pub(crate) fn called_for(dir: &Path) -> Result<Self> {
        let found = Self::discover(dir)?;
        let named = std::env::var_os("GIT_DIR").filter(|name| !name.is_empty());
        let named = named.and_then(|name| Path::new(&name).canonicalize().ok());
        match named {
            Some(named) if named != found.git_dir && named.join("HEAD").exists() => {
                Err(Refusal::new(
                    format!(
                        "GIT_DIR names {}, and {} belongs to another repository",
                        named.display(),
                        found.root.display()
                    ),
                    "unset GIT_DIR GIT_WORK_TREE, or cd into the worktree that is meant",
                )
                .into())
            }
            _ => Ok(found),
        }
    }

    /// The top folder of the worktree.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// This worktree's own git directory (`.git`, or `.git/worktrees/NAME`).
    pub(crate) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The git directory that all worktrees share.
    pub(crate) fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The folder of Arkaint's own state of this worktree that must survive a crash; not made here.
    pub(crate) fn state_dir(&self) -> PathBuf {
        self.git_dir.join("arkaint")
    }

    /// The repository, opened by gix on first use. Reading it runs no hook and no driver.
    pub(crate) fn repo(&self) -> Result<&gix::Repository> {
        if let Some(repo) = self.repo.get() {
            return Ok(repo);
        }
        let mut repo = gix::open_opts(
            &self.git_dir,
            gix::open::Options::default().with(gix::sec::Trust::Full),
        )
        .with_context(|| format!("opening {}", self.git_dir.display()))?;
        // Refuses where refs are not files.
        self.head_ref()?;
        repo.object_cache_size_if_unset(16 * 1024 * 1024);
        repo.objects.set_pack_cache(|| {
            Box::new(gix::odb::pack::cache::lru::MemoryCappedHashmap::new(
                32 * 1024 * 1024,
            ))
        });
        Ok(self.repo.get_or_init(|| repo))
    }

    /// The user's own git in this worktree.
    pub(crate) fn git(&self) -> Trusted<'_> {
        Trusted::new(self)
    }

    /// The branch that HEAD is on (`refs/heads/...`, as bytes made text), or `None` when HEAD is detached. One small file is read.
    pub(crate) fn head_ref(&self) -> Result<Option<String>> {
        let head = std::fs::read_to_string(self.git_dir.join("HEAD")).context("reading HEAD")?;
        if head.trim_end() == format::ELSEWHERE {
            return Err(format::reftable().into());
        }
        Ok(head
            .strip_prefix("ref: ")
            .map(|name| name.trim_end().to_owned()))
    }

    /// The short name of the branch HEAD is on: `arkaint/x` for `refs/heads/arkaint/x`.
    pub(crate) fn branch(&self) -> Result<Option<String>> {
        Ok(self
            .head_ref()?
            .map(|name| name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned()))
    }

    /// The commit at HEAD, or `None` on a branch without a commit.
    pub(crate) fn head(&self) -> Result<Option<Oid>> {
        let mut head = self.repo()?.head().context("reading HEAD")?;
        if head.is_unborn()
            && let Some(branch) = head.referent_name()
            && let Some(found) = find_ref(self.repo()?, &branch.as_bstr().to_string())?
        {
            // The branch was packed between two looks.
            return Ok(Some(found.into_fully_peeled_id()?.detach()));
        }
        Ok(head
            .try_peel_to_id()
            .context("resolving HEAD")?
            .map(gix::Id::detach))
    }

    /// The bytes of `path` (from the worktree root, `/` between folders) in the tree of `commit`; `None` when it is not there or is no file.
    pub(crate) fn blob_at(&self, commit: Oid, path: &str) -> Result<Option<Vec<u8>>> {
        let tree = self
            .repo()?
            .find_commit(commit)?
            .tree()
            .context("reading a tree")?;
        match tree.lookup_entry_by_path(path)? {
            Some(entry) if entry.mode().is_blob() => Ok(Some(entry.object()?.data.clone())),
            _ => Ok(None),
        }
    }

    /// The bytes of `path` in `tree`; `None` when it is not there or is no file.
    pub(crate) fn blob_in_tree(&self, tree: Oid, path: &[u8]) -> Result<Option<Vec<u8>>> {
        let tree = self.repo()?.find_tree(tree).context("reading a tree")?;
        match tree.lookup_entry(path.split(|byte| *byte == b'/'))? {
            Some(entry) if entry.mode().is_blob_or_symlink() => {
                Ok(Some(entry.object()?.data.clone()))
            }
            _ => Ok(None),
        }
    }

    /// An index of this repository. Its checksum is git's to verify, which reads it next: of a large index that takes longer than all the rest.
    fn read_index(&self, path: &Path) -> Result<gix::index::File> {
        let options = gix::index::decode::Options::default();
        gix::index::File::at(path, self.repo()?.object_hash(), true, options)
            .with_context(|| format!("reading {}", path.display()))
    }

    /// The user's index; `None` where there is none that can be read.
    fn users_index(&self) -> Result<Option<gix::index::File>> {
        self.repo()?;
        Ok(self.read_index(&self.git_dir.join("index")).ok())
    }

    /// Paths with conflict entries in the user's index, each once.
    pub(crate) fn unmerged_paths(&self) -> Result<Vec<String>> {
        // As a rule: and decoding a large one takes longer than all else that is asked before a command.
        if self.is_plain(&self.git_dir.join("index"))? {
            return Ok(Vec::new());
        }
        let Some(index) = self.users_index()? else {
            return Ok(Vec::new());
        };
        let unmerged = index
            .entries()
            .iter()
            .filter(|e| e.stage() != gix::index::entry::Stage::Unconflicted);
        let mut paths: Vec<String> = unmerged.map(|e| e.path(&index).to_string()).collect();
        paths.dedup();
        Ok(paths)
    }

    /// Does git know whom to name as the committer?
    pub(crate) fn has_identity(&self) -> Result<bool> {
        if self.repo()?.committer().is_some() {
            return Ok(true);
        }
        // git also takes an identity from the machine, unless user.useConfigOnly is set: only git itself knows.
        self.git().call(["var", "GIT_COMMITTER_IDENT"]).succeeds()
    }

    /// The folder where git looks for hooks, as the configuration says; `None` when that is an empty or impossible value.
    pub(crate) fn hooks_folder(&self) -> Result<Option<PathBuf>> {
        let snapshot = self.repo()?.config_snapshot();
        match snapshot.trusted_path("core.hooksPath") {
            Ok(None) => Ok(Some(self.common_dir.join("hooks"))),
            Ok(Some(path)) if !path.as_os_str().is_empty() => Ok(Some(self.root.join(path))),
            _ => Ok(None),
        }
    }

    /// Full names of the branches that other worktrees of this repository have checked out.
    pub(crate) fn branches_of_other_worktrees(&self) -> Vec<String> {
        let linked = self
            .common_dir
            .join("worktrees")
            .read_dir()
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        linked
            .chain([self.common_dir.clone()])
            .filter(|dir| *dir != self.git_dir)
            .filter_map(|dir| std::fs::read_to_string(dir.join("HEAD")).ok())
            .filter_map(|head| {
                head.strip_prefix("ref: ")
                    .map(|name| name.trim_end().to_owned())
            })
            .collect()
    }

    /// Is the checkout sparse (by the user's configuration)?
    pub(crate) fn is_sparse(&self) -> Result<bool> {
        Ok(self
            .repo()?
            .config_snapshot()
            .boolean("core.sparseCheckout")
            .unwrap_or(false))
    }

    /// Is this a partial clone, whose missing objects a remote has promised?
    pub(crate) fn is_partial(&self) -> Result<bool> {
        let config = self.repo()?.config_snapshot();
        let named = config.string("extensions.partialClone").is_some();
        let mut remotes = config
            .plumbing()
            .sections_by_name("remote")
            .into_iter()
            .flatten();
        Ok(named || remotes.any(|remote| remote.value("promisor").is_some()))
    }

    /// Where `path` (from the root, bytes as git has them) lies on disk; `None` where a folder above it is a link, which leads to what is
    /// somebody else's, or no folder at all.
    pub(crate) fn place_of(&self, path: &[u8]) -> Option<PathBuf> {
        let mut place = self.root.clone();
        let mut parts = path.split(|b| *b == b'/').peekable();
        while let Some(part) = parts.next() {
            place.push(OsStr::from_bytes(part));
            let is_folder = || place.symlink_metadata().is_ok_and(|meta| meta.is_dir());
            if parts.peek().is_some() && !is_folder() {
                return None;
            }
        }
        Some(place)
    }

    /// The tree of `commit`.
    pub(crate) fn tree_of(&self, commit: Oid) -> Result<Oid> {
        Ok(self
            .repo()?
            .find_commit(commit)?
            .tree_id()
            .context("reading a commit")?
            .detach())
    }
}

/// Object names in JSON.
pub(crate) mod oid_text {
    use super::Oid;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(oid: &Oid, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(oid)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Oid, D::Error> {
        let text = String::deserialize(from)?;
        Oid::from_hex(text.as_bytes()).map_err(D::Error::custom)
    }
}

/// The pathspecs that leave out `path` (bytes as git has them) and all below it, whatever characters it holds. Patterns, each byte behind a
/// backslash, though nothing else fits them: git 2.47 refuses a literal one for a path that is ignored, also where it excludes.
pub(crate) fn exclude_pathspecs(path: &[u8]) -> [OsString; 2] {
    let escaped: Vec<u8> = path.iter().flat_map(|byte| [b'\\', *byte]).collect();
    [&b""[..], b"/**"]
        .map(|below| OsString::from_vec([b":(exclude,top,glob)", &escaped[..], below].concat()))
}

/// The entries of a `-z` listing that are folders (nested repositories in `ls-files -o`), without their trailing `/`.
pub(crate) fn folders_in(listing: &[u8]) -> Vec<Vec<u8>> {
    listing
        .split(|b| *b == 0)
        .filter_map(|entry| entry.strip_suffix(b"/"))
        .map(<[u8]>::to_vec)
        .collect()
}

/// Does the user's git accept this owner (`safe.directory`)? Asked only when the owner differs.
fn owner_is_accepted(root: &Path) -> bool {
    duct::cmd(
        "git",
        [
            "-C".as_ref(),
            root.as_os_str(),
            "rev-parse".as_ref(),
            "--git-dir".as_ref(),
        ],
    )
    .stdin_null()
    .stdout_null()
    .stderr_null()
    .unchecked()
    .run()
    .is_ok_and(|out| out.status.success())
}
