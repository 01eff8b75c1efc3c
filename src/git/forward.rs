//! A ref that only moves forward: a chain of commits with one small document each, moved by compare-and-swap. Who looks whether refs were lost or
//! rewritten finds neither when it moves on. It knows no document.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use gix::refs::transaction::PreviousValue;

use super::{Contended, Oid, Worktree, commit_as_user, move_ref};

/// Longer than a process needs that holds a ref's lock, and short enough for one that has died with it.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The ref is at this commit now.
    Taken(Oid),
    /// Somebody else was there first.
    Lost,
}

impl Worktree {
    /// The newest commit of the ref `name` (full) and the document `file` in it; `None` where there is no such ref.
    pub(crate) fn newest_document(&self, name: &str, file: &str) -> Result<Option<(Oid, Vec<u8>)>> {
        let Some(tip) = self.document_tip(name)? else {
            return Ok(None);
        };
        let document = self
            .blob_at(tip, file)
            .with_context(|| format!("reading {name}"))?;
        Ok(Some((tip, document.unwrap_or_default())))
    }

    /// Moves `name` from `before` (`None`: it must not be there) to a new commit that holds `bytes` as `file`.
    ///
    /// # Errors
    /// When the object store cannot be written, or the ref stays locked for ten seconds.
    pub(crate) fn advance_document(
        &self,
        name: &str,
        before: Option<Oid>,
        file: &str,
        bytes: &[u8],
        message: &str,
    ) -> Result<Step> {
        let repo = self.repo()?;
        let tree = super::written(|| {
            let blob = repo.write_blob(bytes)?;
            let entry = gix::objs::tree::Entry {
                mode: gix::objs::tree::EntryKind::Blob.into(),
                filename: file.into(),
                oid: blob.detach(),
            };
            let tree = gix::objs::Tree {
                entries: vec![entry],
            };
            Ok(repo.write_object(tree)?.detach())
        })
        .with_context(|| format!("writing {name}"))?;
        let commit = commit_as_user(repo, message, tree, before.as_slice())?;
        let until = Instant::now() + PATIENCE;
        loop {
            let expected = before.map_or(PreviousValue::MustNotExist, |before| {
                PreviousValue::MustExistAndMatch(before.into())
            });
            // The error may be a lock that is held for a moment, or the ref that has moved: the ref itself says which.
            let Err(error) = move_ref(repo, name, commit, expected, message) else {
                return Ok(Step::Taken(commit));
            };
            if self.document_tip(name)? != before {
                return Ok(Step::Lost);
            }
            if Instant::now() > until || !error.is::<Contended>() {
                return Err(error);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    fn document_tip(&self, name: &str) -> Result<Option<Oid>> {
        match super::find_ref(self.repo()?, name)? {
            None => Ok(None),
            Some(reference) => match reference.target().try_id() {
                Some(id) => Ok(Some(id.to_owned())),
                None => bail!("{name} is a symbolic ref"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::Repo;

    const NAME: &str = "refs/arkaint/test/x";

    #[test]
    fn each_step_needs_the_one_before_and_git_reads_them_all() {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "start"]);
        let worktree = repo.worktree();
        assert_eq!(worktree.newest_document(NAME, "d").unwrap(), None);
        let step = |before: Option<Oid>, text: &str| {
            worktree
                .advance_document(NAME, before, "d", text.as_bytes(), text)
                .unwrap()
        };
        let Step::Taken(one) = step(None, "one") else {
            panic!("it was free")
        };
        assert_eq!(step(None, "uno"), Step::Lost);
        let Step::Taken(two) = step(Some(one), "two") else {
            panic!("nobody else moved it")
        };
        assert_eq!(step(Some(one), "due"), Step::Lost);
        let newest = worktree.newest_document(NAME, "d").unwrap();
        assert_eq!(newest, Some((two, b"two".to_vec())));
        assert_eq!(repo.git(["show", &format!("{NAME}:d")]), b"two");
        assert_eq!(repo.git(["log", "--format=%s", NAME]), b"two\none\n");
    }

    #[test]
    fn of_many_at_once_one_is_first() {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "start"]);
        let taken: usize = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..20)
                .map(|number: usize| {
                    let repo = &repo;
                    scope.spawn(move || {
                        let text = number.to_string();
                        let worktree = repo.worktree();
                        worktree
                            .advance_document(NAME, None, "d", text.as_bytes(), &text)
                            .unwrap()
                    })
                })
                .collect();
            racers
                .into_iter()
                .map(|racer| usize::from(racer.join().unwrap() != Step::Lost))
                .sum()
        });
        assert_eq!(taken, 1);
        assert_eq!(repo.git(["rev-list", "--count", NAME]), b"1\n");
    }
}
