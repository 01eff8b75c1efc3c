//! What a branch was cut from, and where it left that. By gix alone, so that it may be asked inside a run too.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};

use super::{Oid, Worktree};

impl Worktree {
    /// The branch that `branch` (a short name) was cut from, as git's own logs tell it, else the remote's default, else a local `main` or
    /// `master`: a name that leads to a commit (`main`, `origin/main`). `None` where nothing says so, and for a branch that is one of these.
    pub(crate) fn cut_from(&self, branch: &str) -> Result<Option<String>> {
        let told = [self.created_from(branch)?, self.switched_from(branch)?];
        for name in told.into_iter().flatten() {
            if name != branch && self.branch_tip(&name)?.is_some() {
                return Ok(Some(name));
            }
        }
        let default = self.remote_default()?;
        let name = |full: &str| full.split_once('/').map(|(_, name)| name.to_owned());
        if default.as_deref().and_then(name).as_deref() == Some(branch) {
            return Ok(None);
        }
        let usual = ["main", "master"].map(str::to_owned);
        if usual.iter().any(|name| name == branch) {
            return Ok(None);
        }
        for name in default.into_iter().chain(usual) {
            if self.branch_tip(&name)?.is_some() {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// The commit of a branch of this repository (`main`) or of a remote (`origin/main`; for a clone that has no `main` of its own, that
    /// of `origin` too).
    pub(crate) fn branch_tip(&self, name: &str) -> Result<Option<Oid>> {
        let repo = self.repo()?;
        for full in [
            format!("refs/heads/{name}"),
            format!("refs/remotes/{name}"),
            format!("refs/remotes/origin/{name}"),
        ] {
            // A name that is none is the same as one that is not there.
            if let Ok(Some(mut reference)) = super::find_ref(repo, &full) {
                let id = reference
                    .peel_to_id()
                    .with_context(|| format!("reading {full}"))?;
                return Ok(Some(id.detach()));
            }
        }
        Ok(None)
    }

    /// The short names of the branches, here and of remotes, whose tip is `commit`: each once, sorted. `origin/x` is `x`.
    pub(crate) fn branches_at(&self, commit: Oid) -> Result<BTreeSet<String>> {
        let repo = self.repo()?;
        let remotes = repo.remote_names();
        let mut names = BTreeSet::new();
        let mut branches = super::refs_below(repo, "refs/heads/")?.refs;
        branches.extend(super::refs_below(repo, "refs/remotes/")?.refs);
        for reference in branches {
            // A symbolic one (`origin/HEAD`) is no branch of its own.
            if reference.target().try_id() != Some(&commit) {
                continue;
            }
            let full = reference.name().as_bstr().to_string();
            let short = match full.strip_prefix("refs/remotes/") {
                None => full.strip_prefix("refs/heads/"),
                Some(rest) => remotes.iter().find_map(|remote| {
                    let rest = rest.strip_prefix(&remote.to_string())?;
                    rest.strip_prefix('/')
                }),
            };
            names.extend(short.map(str::to_owned));
        }
        Ok(names)
    }

    /// The newest commit that both have; `None` for unrelated histories.
    pub(crate) fn merge_base(&self, one: Oid, two: Oid) -> Result<Option<Oid>> {
        let found = self.repo()?.merge_base(one, two);
        Ok(found
            .context("looking for the merge base")?
            .map(gix::Id::detach))
    }

    /// When the newest commit after `base`, by first parents from `head`, was made that changes the tree; `None` where none does. Seconds are
    /// the finest that git keeps.
    pub(crate) fn last_change(&self, head: Oid, base: Option<Oid>) -> Result<Option<SystemTime>> {
        let repo = self.repo()?;
        let mut at = head;
        while Some(at) != base {
            let commit = repo
                .find_commit(at)
                .with_context(|| format!("reading {at}"))?;
            let parent = commit.parent_ids().next().map(gix::Id::detach);
            let same = match parent {
                Some(parent) => self.tree_of(parent)? == commit.tree_id()?.detach(),
                None => false,
            };
            if !same {
                let seconds = u64::try_from(commit.time()?.seconds).unwrap_or(0);
                return Ok(Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)));
            }
            match parent {
                Some(parent) => at = parent,
                None => break,
            }
        }
        Ok(None)
    }

    /// `git branch NEW main`: the first line of the branch's own log, which goes with the branch.
    fn created_from(&self, branch: &str) -> Result<Option<String>> {
        let first = self.born(branch)?.map(|line| line.message);
        let from = first
            .as_deref()
            .and_then(|message| message.strip_prefix("branch: Created from "));
        Ok(from.filter(|name| *name != "HEAD").map(short))
    }

    /// `git switch -c NEW`: the line of HEAD's log that first came to it, since the branch of that name is there.
    fn switched_from(&self, branch: &str) -> Result<Option<String>> {
        let Some(born) = self.born(branch)? else {
            return Ok(None);
        };
        if born.message != "branch: Created from HEAD" {
            return Ok(None);
        }
        let lines = self.log_lines("HEAD")?.into_iter();
        let mut later = lines.filter(|line| line.seconds >= born.seconds);
        let came = later.find_map(|line| {
            let (from, to) = line
                .message
                .strip_prefix("checkout: moving from ")?
                .split_once(" to ")?;
            (to == branch).then(|| short(from))
        });
        Ok(came)
    }

    fn born(&self, branch: &str) -> Result<Option<Line>> {
        let lines = self.log_lines(&format!("refs/heads/{branch}"))?;
        Ok(lines.into_iter().next())
    }

    /// The lines of a ref's log, oldest first; none where there is no log.
    fn log_lines(&self, full: &str) -> Result<Vec<Line>> {
        let Ok(Some(reference)) = super::find_ref(self.repo()?, full) else {
            return Ok(Vec::new());
        };
        let mut log = reference.log_iter();
        let Some(lines) = log
            .all()
            .with_context(|| format!("reading the log of {full}"))?
        else {
            return Ok(Vec::new());
        };
        Ok(lines
            .filter_map(std::result::Result::ok)
            .map(|line| Line {
                seconds: line.signature.seconds(),
                message: line.message.to_string(),
            })
            .collect())
    }

    /// `origin/main`, where `git clone` noted that the remote's HEAD is there.
    fn remote_default(&self) -> Result<Option<String>> {
        let Ok(Some(head)) = super::find_ref(self.repo()?, "refs/remotes/origin/HEAD") else {
            return Ok(None);
        };
        let target = head.target().try_name().map(ToString::to_string);
        Ok(target.as_deref().map(short))
    }
}

/// A line of a ref's log.
struct Line {
    seconds: i64,
    message: String,
}

fn short(name: &str) -> String {
    let kinds = ["refs/heads/", "refs/remotes/"];
    let short = kinds.iter().find_map(|kind| name.strip_prefix(kind));
    short.unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use crate::git::Worktree;
    use crate::git::fixture::Repo;

    fn start() -> Repo {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "start"]);
        repo
    }

    fn from(repo: &Repo, branch: &str) -> Option<String> {
        repo.worktree().cut_from(branch).unwrap()
    }

    #[test]
    fn a_branch_is_cut_from_where_git_noted_it() {
        let repo = start();
        repo.git(["switch", "-q", "-c", "develop"]);
        assert_eq!(from(&repo, "develop").as_deref(), Some("main"));
        repo.git(["switch", "-q", "-c", "arkaint/x"]);
        assert_eq!(from(&repo, "arkaint/x").as_deref(), Some("develop"));
        // Coming back from elsewhere is not being born.
        repo.git(["switch", "-q", "main"]);
        repo.git(["switch", "-q", "arkaint/x"]);
        assert_eq!(from(&repo, "arkaint/x").as_deref(), Some("develop"));
        repo.git(["branch", "-q", "arkaint/y", "develop"]);
        assert_eq!(from(&repo, "arkaint/y").as_deref(), Some("develop"));
        // A base that is gone is none; what is usual stands in.
        repo.git(["branch", "-q", "-D", "develop"]);
        assert_eq!(from(&repo, "arkaint/y").as_deref(), Some("main"));
        // So it does for a branch that nobody heard of, and for none that is a base itself.
        assert_eq!(from(&repo, "nowhere").as_deref(), Some("main"));
        assert_eq!(from(&repo, "main"), None);
        repo.git(["branch", "-q", "-m", "main", "trunk"]);
        assert_eq!(from(&repo, "nowhere"), None);
    }

    #[test]
    fn in_a_clone_the_remotes_default_is_the_base() {
        let origin = start();
        origin.git(["branch", "-q", "-m", "main", "trunk"]);
        let repo = Repo::new();
        let url = origin.root().to_str().unwrap();
        repo.git(["clone", "-q", url, "clone"]);
        let root = repo.root().join("clone");
        let root = root.to_str().unwrap();
        repo.git(["-C", root, "checkout", "-q", "--detach"]);
        repo.git(["-C", root, "branch", "-q", "-D", "trunk"]);
        let clone = Worktree::discover(root.as_ref()).unwrap();
        assert_eq!(
            clone.cut_from("arkaint/x").unwrap().as_deref(),
            Some("origin/trunk")
        );
        assert_eq!(clone.cut_from("trunk").unwrap(), None);
        // By its short name too, although no branch here has it.
        assert_eq!(clone.branch_tip("trunk").unwrap(), clone.head().unwrap());
        assert_eq!(clone.branch_tip("no such..name").unwrap(), None);
        let head = clone.head().unwrap().unwrap();
        assert_eq!(clone.merge_base(head, head).unwrap(), Some(head));
        let at: Vec<String> = clone.branches_at(head).unwrap().into_iter().collect();
        assert_eq!(at, ["trunk"]);
        repo.git(["-C", root, "branch", "arkaint/x"]);
        let at: Vec<String> = clone.branches_at(head).unwrap().into_iter().collect();
        assert_eq!(at, ["arkaint/x", "trunk"]);
        assert!(
            clone
                .branches_at(clone.tree_of(head).unwrap())
                .unwrap()
                .is_empty()
        );
    }
}
