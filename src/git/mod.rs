//! The only place that knows gix and the git binary. Two ways of calling git, told apart by type: [`Trusted`] is the user's own git,
//! with hooks, signing and filters, before a launch and after the check; [`hardened::Hardened`] between. It takes no decisions.

mod call;
pub(crate) mod hook_env;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub(crate) use call::{Call, Output, Trusted};

use crate::exit::Refusal;

/// A full object name.
pub(crate) type Oid = gix::ObjectId;

/// One worktree of one repository: where it is, and both ways to read it.
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
    /// A [`Refusal`] outside a repository, in a bare one, and in one owned by somebody else.
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
                format!("{} is a bare repository: there is no worktree to work in", git_dir.display()),
                "git worktree add ../work arkaint/SLUG, then run it there",
            )
            .into());
        };
        let git_dir = git_dir.canonicalize().with_context(|| format!("resolving {}", git_dir.display()))?;
        let root = root.canonicalize().with_context(|| format!("resolving {}", root.display()))?;
        if trust != gix::sec::Trust::Full && !owner_is_accepted(&root) {
            return Err(Refusal::new(
                format!("{} belongs to somebody else", root.display()),
                format!("git config --global --add safe.directory {}", root.display()),
            )
            .into());
        }
        let common_dir = match std::fs::read_to_string(git_dir.join("commondir")) {
            Ok(text) => git_dir.join(text.trim_end_matches('\n')).canonicalize().context("resolving commondir")?,
            Err(_) => git_dir.clone(),
        };
        Ok(Self { root, git_dir, common_dir, repo: OnceCell::new() })
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
        let mut repo = gix::open_opts(&self.git_dir, gix::open::Options::default().with(gix::sec::Trust::Full))
            .with_context(|| format!("opening {}", self.git_dir.display()))?;
        repo.object_cache_size_if_unset(16 * 1024 * 1024);
        Ok(self.repo.get_or_init(|| repo))
    }

    /// The user's own git in this worktree.
    pub(crate) fn git(&self) -> Trusted<'_> {
        Trusted::new(self)
    }

    /// The branch that HEAD is on (`refs/heads/...`, as bytes made text), or `None` when HEAD is detached. One small file is read.
    pub(crate) fn head_ref(&self) -> Result<Option<String>> {
        let head = std::fs::read_to_string(self.git_dir.join("HEAD")).context("reading HEAD")?;
        Ok(head.strip_prefix("ref: ").map(|name| name.trim_end().to_owned()))
    }

    /// The short name of the branch HEAD is on: `arkaint/x` for `refs/heads/arkaint/x`.
    pub(crate) fn branch(&self) -> Result<Option<String>> {
        Ok(self.head_ref()?.map(|name| name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned()))
    }

    /// The commit at HEAD, or `None` on a branch without a commit.
    pub(crate) fn head(&self) -> Result<Option<Oid>> {
        let mut head = self.repo()?.head().context("reading HEAD")?;
        Ok(head.try_peel_to_id().context("resolving HEAD")?.map(gix::Id::detach))
    }

    /// The bytes of `path` (from the worktree root, `/` between folders) in the tree of `commit`; `None` when it is not there or is no file.
    pub(crate) fn blob_at(&self, commit: Oid, path: &str) -> Result<Option<Vec<u8>>> {
        let tree = self.repo()?.find_commit(commit)?.tree().context("reading a tree")?;
        match tree.lookup_entry_by_path(path)? {
            Some(entry) if entry.mode().is_blob() => Ok(Some(entry.object()?.data.clone())),
            _ => Ok(None),
        }
    }

    /// The tree of `commit`.
    pub(crate) fn tree_of(&self, commit: Oid) -> Result<Oid> {
        Ok(self.repo()?.find_commit(commit)?.tree_id().context("reading a commit")?.detach())
    }
}

/// Does the user's git accept this owner (`safe.directory`)? Asked only when the owner differs.
fn owner_is_accepted(root: &Path) -> bool {
    duct::cmd("git", ["-C".as_ref(), root.as_os_str(), "rev-parse".as_ref(), "--git-dir".as_ref()])
        .stdin_null()
        .stdout_null()
        .stderr_null()
        .unchecked()
        .run()
        .is_ok_and(|out| out.status.success())
}
