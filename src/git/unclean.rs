//! What differs between HEAD and a worktree, those files too whose changes its index hides. Looks only: the user's index is not refreshed.

use anyhow::{Context as _, Result};
use gix::index::entry::Flags;

use super::{Call, Worktree, state};

impl Worktree {
    /// Tracked paths with changes that are not committed, as git has them. Bits by which an index hides changes hide none here, unless the
    /// checkout is sparse.
    pub(crate) fn unclean(&self) -> Result<Vec<Vec<u8>>> {
        let status = [
            "-c",
            "core.fsmonitor=false",
            "status",
            "--porcelain",
            "-z",
            "--no-renames",
            "--untracked-files=no",
            "--ignore-submodules=none",
        ];
        let hidden = self.hidden()?;
        if hidden.is_empty() {
            return paths(self.git().call(status).env("GIT_OPTIONAL_LOCKS", "0"));
        }
        let scratch = tempfile::tempdir().context("making a folder for an index")?;
        let index = scratch.path().join("index");
        state::copy_index(&self.git_dir().join("index"), &index)?;
        for bit in ["--no-assume-unchanged", "--no-skip-worktree"] {
            if bit == "--no-skip-worktree" && self.is_sparse()? {
                continue;
            }
            self.git()
                .call(["update-index", bit, "-z", "--stdin"])
                .env("GIT_INDEX_FILE", &index)
                .stdin(hidden.join(&0))
                .run()?;
        }
        paths(self.git().call(status).env("GIT_INDEX_FILE", &index))
    }

    /// Paths that git does not look at on disk because a bit of the index says so.
    fn hidden(&self) -> Result<Vec<Vec<u8>>> {
        let Some(index) = self.users_index()? else {
            return Ok(Vec::new());
        };
        let bits = if self.is_sparse()? {
            Flags::ASSUME_VALID
        } else {
            Flags::ASSUME_VALID | Flags::SKIP_WORKTREE
        };
        let hidden = index.entries().iter().filter(|e| e.flags.intersects(bits));
        Ok(hidden.map(|e| e.path(&index).to_vec()).collect())
    }
}

fn paths(status: Call) -> Result<Vec<Vec<u8>>> {
    let status = status.bytes().context("looking at the worktree")?;
    Ok(status
        .split(|byte| *byte == 0)
        .filter(|entry| entry.len() > 3)
        .map(|entry| entry[3..].to_vec())
        .collect())
}

#[cfg(test)]
mod tests {
    use crate::git::fixture::Repo;

    #[test]
    fn changes_are_seen_staged_or_not_and_hidden_or_not() {
        let repo = Repo::new();
        for name in ["a", "b", "c", "d"] {
            repo.write(name, "1\n");
        }
        repo.commit("start");
        let unclean = || {
            let found = repo.worktree().unclean().unwrap();
            String::from_utf8(found.join(&b' ')).unwrap()
        };
        repo.write("new", "");
        assert_eq!(unclean(), "");
        repo.git(["update-index", "--assume-unchanged", "a"]);
        repo.git(["update-index", "--skip-worktree", "b"]);
        assert_eq!(unclean(), "");
        for name in ["a", "b", "c", "d"] {
            repo.write(name, "2\n");
        }
        repo.git(["add", "d"]);
        let index = || std::fs::read(repo.path(".git/index")).unwrap();
        let before = index();
        assert_eq!(unclean(), "a b c d");
        assert_eq!(index(), before);
        // What a sparse checkout leaves out is not gone.
        repo.remove("b");
        assert_eq!(unclean(), "a b c d");
        repo.git(["config", "core.sparseCheckout", "true"]);
        assert_eq!(unclean(), "a c d");
    }
}
