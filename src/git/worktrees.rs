//! The worktrees of a repository as git lists them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use anyhow::Result;

use super::{Oid, Worktree};

/// One worktree: where it is and what it has checked out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub root: PathBuf,
    pub head: Option<Oid>,
    /// Full name of its branch; none where HEAD is detached.
    pub branch: Option<String>,
}

impl Worktree {
    /// Every worktree, the main one first (a bare repository is none).
    pub(crate) fn worktrees(&self) -> Result<Vec<Place>> {
        let listed = self
            .git()
            .call(["worktree", "list", "--porcelain", "-z"])
            .bytes()?;
        Ok(places(&listed))
    }
}

fn places(listed: &[u8]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut bare = false;
    for line in listed.split(|byte| *byte == 0) {
        if let Some(root) = line.strip_prefix(b"worktree ") {
            bare = false;
            places.push(Place {
                root: OsString::from_vec(root.to_vec()).into(),
                ..Place::default()
            });
        } else if let Some(head) = line.strip_prefix(b"HEAD ")
            && let Some(place) = places.last_mut()
        {
            place.head = Oid::from_hex(head).ok();
        } else if let Some(branch) = line.strip_prefix(b"branch ")
            && let Some(place) = places.last_mut()
        {
            place.branch = Some(String::from_utf8_lossy(branch).into_owned());
        } else if line == b"bare" && !bare {
            bare = true;
            places.pop();
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use crate::git::fixture::Repo;

    #[test]
    fn each_worktree_is_there_with_its_branch() {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "start"]);
        let linked = repo.root().join("a b\nc");
        repo.git(
            ["worktree", "add", "-q", "-b", "x/y"]
                .map(Into::into)
                .into_iter()
                .chain([linked.clone().into_os_string()]),
        );
        let worktree = repo.worktree();
        let places = worktree.worktrees().unwrap();
        let head = worktree.head().unwrap();
        assert_eq!(places.len(), 2);
        assert_eq!(places[0].root, worktree.root());
        assert_eq!((places[1].root.clone(), places[1].head), (linked, head));
        assert_eq!(places[1].branch.as_deref(), Some("refs/heads/x/y"));
        assert_eq!(super::places(b"worktree /x\0bare\0\0"), []);
    }
}
