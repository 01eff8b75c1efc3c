//! Which paths differ between two trees, renames found in bounded work. It reads no line of any file; [`super::patch`] does.

use std::ops::ControlFlow;

use anyhow::{Context, Result, anyhow};
use gix::bstr::BStr;
use gix::diff::tree::visit::Change as Found;
use gix::diff::tree::{Recorder, Visit, visit};
use gix::objs::tree::{EntryKind, EntryMode};
use gix::objs::{FindExt, TreeRefIter};

use super::{Oid, Worktree, patch, renames};

/// Changed paths that are kept one by one; more are only counted.
const KEPT: usize = 20_000;

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    File,
    Executable,
    Link,
    Submodule,
}

impl Mode {
    /// As git writes it.
    pub(crate) fn octal(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
            Self::Submodule => "160000",
        }
    }

    pub(super) fn kind(self) -> EntryKind {
        match self {
            Self::File => EntryKind::Blob,
            Self::Executable => EntryKind::BlobExecutable,
            Self::Link => EntryKind::Link,
            Self::Submodule => EntryKind::Commit,
        }
    }

    /// `None` for a folder.
    pub(super) fn of(mode: EntryMode) -> Option<Self> {
        match mode.kind() {
            EntryKind::Tree => None,
            EntryKind::Blob => Some(Self::File),
            EntryKind::BlobExecutable => Some(Self::Executable),
            EntryKind::Link => Some(Self::Link),
            EntryKind::Commit => Some(Self::Submodule),
        }
    }

    /// Can the content of the one be compared with the content of the other?
    fn comparable(self, other: Self) -> bool {
        let file = |mode| matches!(mode, Self::File | Self::Executable);
        self == other || file(self) && file(other)
    }
}

/// One side of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// From the top of the tree, `/` between folders; any bytes.
    pub path: Vec<u8>,
    pub id: Oid,
    pub mode: Mode,
}

/// One changed path: added (no `old`), deleted (no `new`), changed, or renamed (the paths differ). A file that became a link, or the
/// other way round, is a deletion and an addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub old: Option<Entry>,
    pub new: Option<Entry>,
}

impl Change {
    /// The path it is listed under: where the file is now, or was last.
    pub(crate) fn path(&self) -> &[u8] {
        self.sides().last().map_or(b"", |side| &side.path)
    }

    /// The old side, then the new one.
    pub(crate) fn sides(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.old.iter().chain(&self.new)
    }
}

/// What differs between two trees, in the order of the paths' bytes.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub list: Vec<Change>,
    /// Changed paths beyond those in `list`.
    pub beyond: usize,
    /// There were too many to look for files that were renamed and edited.
    pub exact_renames_only: bool,
}

impl Worktree {
    /// What turns tree `old` into tree `new`. In a partial clone, what is missing is fetched by git first, where it can be.
    ///
    /// # Errors
    /// When one of the two trees cannot be read.
    pub(crate) fn changes(&self, old: Oid, new: Oid) -> Result<Changes> {
        let repo = self.repo()?;
        if old == new {
            return Ok(Changes::default());
        }
        let mut found = walk(repo, old, new);
        if is_partial(repo)
            && found
                .as_ref()
                .map_or(true, |walked| walked.lacks_content(repo))
        {
            self.fetch_missing(old, new);
            found = walk(repo, old, new);
        }
        let Walked {
            mut list,
            moved,
            beyond,
        } = found?;
        let exact_renames_only = renames::pair_up(repo, moved, beyond, &mut list)?;
        list.sort_by(|a, b| {
            a.path()
                .cmp(b.path())
                .then_with(|| a.new.is_some().cmp(&b.new.is_some()))
        });
        Ok(Changes {
            list,
            beyond,
            exact_renames_only,
        })
    }

    /// The empty tree.
    pub(crate) fn empty_tree(&self) -> Result<Oid> {
        Ok(Oid::empty_tree(self.repo()?.object_hash()))
    }

    /// Lets git fetch the objects between two trees from the promisor remote. It may be out of reach: what is missing then stays missing.
    fn fetch_missing(&self, old: Oid, new: Oid) {
        let _ = self
            .git()
            .call(["-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=20"])
            .args([
                "diff",
                "--no-ext-diff",
                "--no-textconv",
                "--no-color",
                "--numstat",
            ])
            .args([old.to_string(), new.to_string()])
            .output();
    }
}

/// A clone that leaves objects at its remote (`git clone --filter`).
fn is_partial(repo: &gix::Repository) -> bool {
    let config = repo.config_snapshot();
    config.string("extensions.partialClone").is_some()
        || config
            .plumbing()
            .sections_by_name("remote")
            .into_iter()
            .flatten()
            .any(|remote| remote.value("promisor").is_some())
}

/// The changes of one walk: those that need no partner, and those that may be halves of a rename.
#[derive(Default)]
struct Walked {
    list: Vec<Change>,
    moved: Vec<(Found, Vec<u8>)>,
    beyond: usize,
}

impl Walked {
    fn lacks_content(&self, repo: &gix::Repository) -> bool {
        let changed = self
            .list
            .iter()
            .flat_map(Change::sides)
            .filter(|side| side.mode != Mode::Submodule)
            .map(|side| side.id);
        let moved = self
            .moved
            .iter()
            .filter(|(found, _)| !found.entry_mode().is_commit())
            .map(|(found, _)| found.oid().to_owned());
        changed
            .chain(moved)
            .take(patch::FILES)
            .any(|id| !repo.has_object(id))
    }
}

fn walk(repo: &gix::Repository, old: Oid, new: Oid) -> Result<Walked> {
    let (mut old_tree, mut new_tree) = (Vec::new(), Vec::new());
    let read = |id: Oid, buffer: &mut Vec<u8>| -> Result<()> {
        if !id.is_empty_tree() {
            repo.objects
                .find_tree(&id, buffer)
                .map_err(|e| anyhow!("{e}"))
                .with_context(|| format!("reading tree {id}"))?;
        }
        Ok(())
    };
    read(old, &mut old_tree)?;
    read(new, &mut new_tree)?;
    let hash = repo.object_hash();
    let mut visitor = Visitor::default();
    gix::diff::tree(
        TreeRefIter::from_bytes(&old_tree, hash),
        TreeRefIter::from_bytes(&new_tree, hash),
        gix::diff::tree::State::default(),
        &repo.objects,
        &mut visitor,
    )
    .with_context(|| format!("comparing tree {old} with {new}"))?;
    Ok(visitor.walked)
}

/// Keeps the first changes and counts the rest; gix's recorder keeps track of where the walk is.
#[derive(Default)]
struct Visitor {
    place: Recorder,
    walked: Walked,
}

impl Visit for Visitor {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.place.pop_front_tracked_path_and_set_current();
    }

    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.place.push_back_tracked_path_component(component);
    }

    fn push_path_component(&mut self, component: &BStr) {
        self.place.push_path_component(component);
    }

    fn pop_path_component(&mut self) {
        self.place.pop_path_component();
    }

    fn visit(&mut self, change: visit::Change) -> visit::Action {
        let halves = match change {
            Found::Modification {
                previous_entry_mode,
                previous_oid,
                entry_mode,
                oid,
            } => {
                let (Some(before), Some(after)) =
                    (Mode::of(previous_entry_mode), Mode::of(entry_mode))
                else {
                    return ControlFlow::Continue(());
                };
                if before.comparable(after) {
                    let path = self.place.path().to_vec();
                    let old = Entry {
                        path: path.clone(),
                        id: previous_oid,
                        mode: before,
                    };
                    self.keep(|walked| {
                        walked.list.push(Change {
                            old: Some(old),
                            new: Some(Entry {
                                path,
                                id: oid,
                                mode: after,
                            }),
                        });
                    });
                    return ControlFlow::Continue(());
                }
                [
                    Some(Found::Deletion {
                        entry_mode: previous_entry_mode,
                        oid: previous_oid,
                        relation: None,
                    }),
                    Some(Found::Addition {
                        entry_mode,
                        oid,
                        relation: None,
                    }),
                ]
            }
            Found::Addition {
                entry_mode, oid, ..
            } => [
                None,
                Some(Found::Addition {
                    entry_mode,
                    oid,
                    relation: None,
                }),
            ],
            Found::Deletion {
                entry_mode, oid, ..
            } => [
                Some(Found::Deletion {
                    entry_mode,
                    oid,
                    relation: None,
                }),
                None,
            ],
        };
        for half in halves
            .into_iter()
            .flatten()
            .filter(|half| !half.entry_mode().is_tree())
        {
            let path = self.place.path().to_vec();
            self.keep(|walked| walked.moved.push((half, path)));
        }
        ControlFlow::Continue(())
    }
}

impl Visitor {
    fn keep(&mut self, push: impl FnOnce(&mut Walked)) {
        if self.walked.list.len() + self.walked.moved.len() < KEPT {
            push(&mut self.walked);
        } else {
            self.walked.beyond += 1;
        }
    }
}
