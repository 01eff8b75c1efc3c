//! The merge as git itself would make it, tried in memory: no worktree is touched, and the objects that it makes are thrown away, so that to ask
//! writes nothing. It knows no gate.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use anyhow::{Context as _, Result};

use crate::git::{Oid, Worktree};

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trial {
    /// The tree that a merge without a hook's hand would have. It is named, not stored.
    Clean(Oid),
    /// The paths where both sides contradict each other.
    Conflicts(Vec<Vec<u8>>),
}

/// Merges `theirs` into `ours`.
///
/// # Errors
/// When git cannot try it: unrelated histories, an object that is missing, a git before 2.38.
pub(crate) fn merge(worktree: &Worktree, ours: Oid, theirs: Oid) -> Result<Trial> {
    let scratch = tempfile::tempdir().context("making a folder to try the merge in")?;
    let objects = worktree.common_dir().join("objects");
    let merged = worktree
        .git()
        .call([
            "merge-tree",
            "--write-tree",
            "--name-only",
            "--no-messages",
            "-z",
        ])
        .args([ours.to_string(), theirs.to_string()])
        .env("GIT_OBJECT_DIRECTORY", scratch.path())
        .env(
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            quoted(objects.as_os_str()),
        )
        .output()?;
    let mut parts = merged.stdout.split(|byte| *byte == 0);
    match merged.code {
        Some(0) => {
            let tree = parts.next().unwrap_or_default().trim_ascii();
            let tree = Oid::from_hex(tree).context("git merge-tree named no tree")?;
            Ok(Trial::Clean(tree))
        }
        Some(1) => Ok(Trial::Conflicts(
            parts
                .skip(1)
                .filter(|path| !path.is_empty())
                .map(<[u8]>::to_vec)
                .collect(),
        )),
        _ => Err(anyhow::anyhow!("{}", merged.reason())).context("trying the merge"),
    }
}

/// A path of a list that git splits at colons (git(1), `GIT_ALTERNATE_OBJECT_DIRECTORIES`: quoted as in C).
fn quoted(path: &OsStr) -> OsString {
    let mut out = vec![b'"'];
    for byte in path.as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
    OsString::from_vec(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::Repo;

    #[test]
    fn git_says_what_the_merge_would_be_and_nothing_is_kept_of_it() {
        let repo = Repo::new();
        let commit = |name: &str, text: &str| {
            repo.write(name, text);
            repo.git(["add", "-A"]);
            repo.git(["commit", "-q", "-m", name]);
            Oid::from_hex(repo.git(["rev-parse", "HEAD"]).trim_ascii()).unwrap()
        };
        let base = commit("a", "1\n");
        let ours = commit("b", "ours\n");
        repo.git(["checkout", "-q", "--detach", &base.to_string()]);
        let theirs = commit("c", "theirs\n");
        repo.git(["checkout", "-q", "--detach", &base.to_string()]);
        let against = commit("b", "against\n");
        let worktree = repo.worktree();
        let objects = || repo.git(["count-objects", "-v"]);
        let before = objects();
        assert_eq!(
            merge(&worktree, ours, against).unwrap(),
            Trial::Conflicts(vec![b"b".to_vec()])
        );
        let tree = merge(&worktree, ours, theirs).unwrap();
        assert_eq!(objects(), before);
        repo.git(["checkout", "-q", "--detach", &ours.to_string()]);
        repo.git(["merge", "-q", "--no-edit", &theirs.to_string()]);
        let merged = worktree.head().unwrap().unwrap();
        assert_eq!(tree, Trial::Clean(worktree.tree_of(merged).unwrap()));
    }

    #[test]
    fn a_path_with_a_colon_is_one_path() {
        assert_eq!(quoted(OsStr::new("/a:b\\c\"d")), "\"/a:b\\\\c\\\"d\"");
    }
}
