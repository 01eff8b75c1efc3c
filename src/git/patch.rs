//! What changed inside one file, line by line, as git's own diff would say it. It runs no diff driver, text conversion or filter, and
//! leaves files that are binary or large unread.

use anyhow::{Context, Result, anyhow};
use gix::bstr::ByteSlice;
use gix::diff::blob::pipeline::{Mode as Convert, Options, WorktreeRoots};
use gix::diff::blob::platform::prepare_diff::Operation;
use gix::diff::blob::platform::resource::Data;
use gix::diff::blob::unified_diff::{ConsumeHunk, ContextSize, DiffLineKind, HunkHeader};
use gix::diff::blob::{
    Algorithm, InternedInput, Pipeline, Platform, ResourceKind, Token, UnifiedDiff,
    diff_with_slider_heuristics,
};

use super::changes::{Change, Changes, Entry, Mode};
use super::{Oid, Worktree, attributes};

/// Files above this size are told by their size.
pub(crate) const LARGE: u64 = 1 << 20;
/// Pairs of lines that one file, and all files together, may make to compare. Two files of 20,000 lines each, nothing alike, are within
/// it; where few different lines repeat, the time goes with these pairs, not with the bytes.
const WORK: u64 = 400_000_000;
const ALL_WORK: u64 = 5 * WORK;
/// Bytes of content that are compared in all.
const BYTES: u64 = 32 << 20;
/// Changes that are looked into; the rest is only named.
pub(crate) const FILES: usize = 2_000;

/// What a comparison found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Lines {
        added: u64,
        removed: u64,
    },
    /// Sizes in bytes; `None` where that side does not exist.
    Binary {
        old: Option<u64>,
        new: Option<u64>,
    },
    /// One side is above [`LARGE`], or there are too many different lines.
    Large {
        old: Option<u64>,
        new: Option<u64>,
    },
    Submodule,
}

/// One hunk: where it is in both files (first line from 1, count of lines), and its lines with their newlines.
pub(crate) struct Hunk<'a> {
    pub old: (u32, u32),
    pub new: (u32, u32),
    pub lines: &'a [(char, &'a [u8])],
}

/// Compares the files of one pair of trees, one after the other.
pub(crate) struct Comparer<'repo> {
    repo: &'repo gix::Repository,
    platform: Platform,
    newer_first: bool,
    bytes: u64,
    work: u64,
}

impl Worktree {
    /// A comparer for `changes`, whose newer side is the tree `new`: its `.gitattributes` say what is binary.
    pub(crate) fn comparer(&self, changes: &Changes, new: Oid) -> Result<Comparer<'_>> {
        let repo = self.repo()?;
        let paths: Vec<_> = changes.list.iter().take(FILES).map(Change::path).collect();
        Ok(Comparer {
            repo,
            platform: platform(repo, &attributes::of_paths(repo, new, &paths))?,
            newer_first: changes.newer_first,
            bytes: 0,
            work: 0,
        })
    }
}

impl Comparer<'_> {
    /// Compares both sides and hands over each hunk, with `context` lines around it.
    ///
    /// # Errors
    /// When a side is not in this clone, or its name cannot be a path.
    pub(crate) fn compare(
        &mut self,
        change: &Change,
        context: u32,
        hunk: &mut dyn FnMut(&Hunk),
    ) -> Result<Content> {
        if change.sides().any(|side| side.mode == Mode::Submodule) {
            return Ok(Content::Submodule);
        }
        if change.old.as_ref().map(|old| old.id) == change.new.as_ref().map(|new| new.id) {
            return Ok(Content::Lines {
                added: 0,
                removed: 0,
            });
        }
        let mut sides = [
            (change.old.as_ref(), ResourceKind::OldOrSource),
            (change.new.as_ref(), ResourceKind::NewOrDestination),
        ];
        if self.newer_first {
            sides.reverse();
        }
        for (side, kind) in sides {
            self.set(side, change, kind)?;
        }
        let found = self.lines(context, hunk);
        self.platform.clear_resource_cache_keep_allocation();
        found
    }

    /// The bytes of one side; `None` when it is large or no file.
    pub(crate) fn read(&self, side: &Entry) -> Result<Option<Vec<u8>>> {
        if side.mode == Mode::Submodule || self.repo.find_header(side.id)?.size() > LARGE {
            return Ok(None);
        }
        Ok(Some(self.repo.find_object(side.id)?.detach().data))
    }

    /// Has it done as much as one packet may cost?
    pub(crate) fn is_spent(&self) -> bool {
        self.bytes > BYTES || self.work > ALL_WORK
    }

    fn set(&mut self, side: Option<&Entry>, change: &Change, kind: ResourceKind) -> Result<()> {
        let (id, mode, path) = match side {
            Some(side) => (side.id, side.mode.kind(), &side.path[..]),
            None => (
                Oid::null(self.repo.object_hash()),
                gix::objs::tree::EntryKind::Blob,
                change.path(),
            ),
        };
        self.platform
            .set_resource(id, mode, path.as_bstr(), kind, &self.repo.objects)
            .map_err(|e| anyhow!("{e}"))
    }

    fn lines(&mut self, context: u32, hunk: &mut dyn FnMut(&Hunk)) -> Result<Content> {
        let prepared = self.platform.prepare_diff().map_err(|e| anyhow!("{e}"))?;
        let (old, new) = (size(prepared.old.data), size(prepared.new.data));
        let Operation::InternalDiff { algorithm } = prepared.operation else {
            return Ok(if old.max(new) > Some(LARGE) {
                Content::Large { old, new }
            } else {
                Content::Binary { old, new }
            });
        };
        self.bytes += old.unwrap_or(0) + new.unwrap_or(0);
        let input = InternedInput::new(prepared.old.intern_source(), prepared.new.intern_source());
        let work = work(&input.before, &input.after);
        if work > WORK {
            return Ok(Content::Large { old, new });
        }
        self.work += work;
        let diff = diff_with_slider_heuristics(algorithm, &input);
        UnifiedDiff::new(
            &diff,
            &input,
            Hunks(hunk),
            ContextSize::symmetrical(context),
        )
        .consume()
        .context("comparing lines")?;
        Ok(Content::Lines {
            added: diff.count_additions().into(),
            removed: diff.count_removals().into(),
        })
    }
}

/// The most that finding the shortest patch can cost: each line of the one that differs with each of the other, ends that are the same
/// apart.
fn work(old: &[Token], new: &[Token]) -> u64 {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    (old.len() - tail) as u64 * (new.len() - tail) as u64
}

fn size(data: Data) -> Option<u64> {
    match data {
        Data::Missing => None,
        Data::Buffer { buf, .. } => Some(buf.len() as u64),
        Data::Binary { size } => Some(size),
    }
}

/// Passes gix's hunks on, with the counting that git's headers have: an empty side starts at the line before.
struct Hunks<'a>(&'a mut dyn FnMut(&Hunk));

impl ConsumeHunk for Hunks<'_> {
    type Out = ();

    fn consume_hunk(
        &mut self,
        header: HunkHeader,
        lines: &[(DiffLineKind, &[u8])],
    ) -> std::io::Result<()> {
        let side = |start: u32, count: u32| (if count == 0 { start - 1 } else { start }, count);
        let lines: Vec<_> = lines
            .iter()
            .map(|(kind, text)| (kind.to_prefix(), *text))
            .collect();
        (self.0)(&Hunk {
            old: side(header.before_hunk_start, header.before_hunk_len),
            new: side(header.after_hunk_start, header.after_hunk_len),
            lines: &lines,
        });
        Ok(())
    }

    fn finish(self) {}
}

/// gix's comparing machine over stored objects alone. `attributes` holds the `.gitattributes` files that count: loading the whole
/// index for them would cost more than all else.
fn platform(repo: &gix::Repository, attributes: &gix::index::State) -> Result<Platform> {
    let stack = repo
        .attributes_only(
            attributes,
            gix::worktree::stack::state::attributes::Source::IdMapping,
        )
        .context("reading attributes")?
        .detach();
    let filter = gix::filter::plumbing::Pipeline::new(
        repo.command_context()?,
        repo.object_hash(),
        gix::filter::plumbing::pipeline::Options::default(),
    );
    let options = Options {
        large_file_threshold_bytes: LARGE,
        ..Options::default()
    };
    // No drivers: a configured one could call a large file text, or name a program.
    let pipeline = Pipeline::new(WorktreeRoots::default(), filter, Vec::new(), options);
    let algorithm = gix::diff::blob::platform::Options {
        algorithm: Some(Algorithm::Myers),
        ..Default::default()
    };
    Ok(Platform::new(algorithm, pipeline, Convert::ToGit, stack))
}
