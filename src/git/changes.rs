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
    pub(super) fn comparable(self, other: Self) -> bool {
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
    /// The newer side is better read first (see [`newer_is_base`]).
    pub(super) newer_first: bool,
    /// There was too much to look through for files that were renamed and edited.
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
        let newer_first = newer_is_base(repo, old, new);
        let mut found = walk(repo, old, new, newer_first);
        if is_partial(repo)
            && found
                .as_ref()
                .map_or(true, |walked| walked.lacks_content(repo))
        {
            self.fetch_missing(old, new);
            found = walk(repo, old, new, newer_first);
        }
        let Walked {
            mut list,
            deleted,
            added,
            beyond,
        } = found?;
        let exact_renames_only = renames::pair_up(repo, deleted, added, &mut list);
        list.sort_by(|a, b| {
            a.path()
                .cmp(b.path())
                .then_with(|| a.new.is_some().cmp(&b.new.is_some()))
        });
        Ok(Changes {
            list,
            beyond,
            newer_first,
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
    deleted: Vec<Entry>,
    added: Vec<Entry>,
    beyond: usize,
}

impl Walked {
    fn lacks_content(&self, repo: &gix::Repository) -> bool {
        let sides = self
            .list
            .iter()
            .flat_map(Change::sides)
            .chain(&self.deleted)
            .chain(&self.added);
        sides
            .filter(|side| side.mode != Mode::Submodule)
            .take(patch::FILES)
            .any(|side| !repo.has_object(side.id))
    }
}

/// A pack holds one of two states as a delta of the other: `git gc` the older one, `git fast-import` the newer one. What the delta is
/// of should be read first: it is then at hand when the other is put together.
fn newer_is_base(repo: &gix::Repository, old: Oid, new: Oid) -> bool {
    let deltas = |id: Oid| {
        repo.find_header(id)
            .ok()
            .and_then(|header| header.num_deltas())
    };
    matches!((deltas(old), deltas(new)), (Some(old), Some(new)) if new < old)
}

fn walk(repo: &gix::Repository, old: Oid, new: Oid, newer_first: bool) -> Result<Walked> {
    let read = |id: Oid| -> Result<Vec<u8>> {
        let mut buffer = Vec::new();
        if !id.is_empty_tree() {
            repo.objects
                .find_tree(&id, &mut buffer)
                .map_err(|e| anyhow!("{e}"))
                .with_context(|| format!("reading tree {id}"))?;
        }
        Ok(buffer)
    };
    let (first, second) = if newer_first { (new, old) } else { (old, new) };
    let (first, second) = (read(first)?, read(second)?);
    let hash = repo.object_hash();
    let mut visitor = Visitor {
        newer_first,
        ..Visitor::default()
    };
    gix::diff::tree(
        TreeRefIter::from_bytes(&first, hash),
        TreeRefIter::from_bytes(&second, hash),
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
    /// The walk goes from the newer tree to the older one.
    newer_first: bool,
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
        let (old, new) = match change {
            Found::Modification {
                previous_entry_mode,
                previous_oid,
                entry_mode,
                oid,
            } => (
                Some((previous_entry_mode, previous_oid)),
                Some((entry_mode, oid)),
            ),
            Found::Addition {
                entry_mode, oid, ..
            } => (None, Some((entry_mode, oid))),
            Found::Deletion {
                entry_mode, oid, ..
            } => (Some((entry_mode, oid)), None),
        };
        let entry = |(mode, id)| {
            Some(Entry {
                path: self.place.path().to_vec(),
                id,
                mode: Mode::of(mode)?,
            })
        };
        let (old, new) = (old.and_then(entry), new.and_then(entry));
        let (old, new) = if self.newer_first {
            (new, old)
        } else {
            (old, new)
        };
        if old.is_none() && new.is_none() {
            return ControlFlow::Continue(());
        }
        let walked = &mut self.walked;
        if walked.list.len() + walked.deleted.len() + walked.added.len() >= KEPT {
            walked.beyond += 1;
            return ControlFlow::Continue(());
        }
        match (old, new) {
            (Some(old), Some(new)) if old.mode.comparable(new.mode) => walked.list.push(Change {
                old: Some(old),
                new: Some(new),
            }),
            (old, new) => {
                walked.deleted.extend(old);
                walked.added.extend(new);
            }
        }
        ControlFlow::Continue(())
    }
}
