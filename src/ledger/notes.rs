//! The ledger's notes ref: append by compare-and-swap, read by commit or whole. Written in-process by gix, so that no hook and no
//! configuration of the repository takes part. It knows lines, not what they mean.

use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use gix::bstr::BString;
use gix::note::plumbing::State;
use gix::refs::transaction::PreviousValue;

use super::record::{self, Record};
use crate::git::{self, Oid, Worktree};
use crate::secret;

/// The one ref of the ledger.
pub(crate) const REF: &str = "refs/notes/arkaint/ledger";

/// The longest line, bytes; longer values become blobs below `blobs/` in the notes tree.
const MAX_LINE: usize = 64 * 1024;

/// Appends records to the note of `on`. Writers in any worktree or clone of this object store lose nothing.
///
/// # Errors
/// When the ref cannot be moved within thirty seconds of retries, or the object store cannot be written.
pub(crate) fn append(worktree: &Worktree, on: Oid, records: &[Record]) -> Result<()> {
    append_keeping(worktree, on, records, &[])
}

/// Writes `bytes` as a blob for a record to name. Nothing holds it until it is handed to [`append_keeping`].
pub(crate) fn store(worktree: &Worktree, bytes: &[u8]) -> Result<Oid> {
    let blob = worktree.repo()?.write_blob(bytes);
    Ok(blob.context("writing to the ledger")?.detach())
}

/// The bytes of a blob that a record names; `None` when it is not here.
pub(crate) fn stored(worktree: &Worktree, blob: Oid) -> Result<Option<Vec<u8>>> {
    let object = worktree
        .repo()?
        .try_find_object(blob)
        .with_context(|| format!("reading the blob {blob} of the ledger"))?;
    Ok(object
        .filter(|object| object.kind.is_blob())
        .map(|object| object.detach().data))
}

/// [`append`], and the blobs `kept` stay reachable with the ledger: they go below `blobs/` in the same step.
pub(crate) fn append_keeping(
    worktree: &Worktree,
    on: Oid,
    records: &[Record],
    kept: &[Oid],
) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let repo = worktree.repo()?;
    until_moved("appending to the ledger", || {
        try_append(repo, on, records, kept)
    })
}

/// Calls `attempt` until it succeeds: another writer may move a ref between its look and its own step.
///
/// # Errors
/// The last one, after thirty seconds.
pub(super) fn until_moved(what: &'static str, attempt: impl Fn() -> Result<()>) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut pause = Duration::from_millis(2);
    loop {
        match attempt() {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() > deadline => return Err(error).context(what),
            Err(_) => {
                // Jitter from the system's randomness, so that racing writers do not meet again.
                let spread = u64::from_str_radix(&record::random_hex(2), 16).unwrap_or(1);
                std::thread::sleep(pause / 2 + pause.mul_f64(spread as f64 / 65536.0));
                pause = (pause * 2).min(Duration::from_millis(200));
            }
        }
    }
}

/// The tree of a notes ref whose commit is `tip`; an empty one where there is none.
pub(super) fn tree_at(repo: &gix::Repository, tip: Option<Oid>) -> Result<Oid> {
    Ok(match tip {
        Some(tip) => repo
            .find_commit(tip)?
            .tree_id()
            .context("reading a notes ref")?
            .detach(),
        None => repo
            .write_object(gix::objs::Tree::empty())
            .context("writing a notes ref")?
            .detach(),
    })
}

fn try_append(repo: &gix::Repository, on: Oid, records: &[Record], kept: &[Oid]) -> Result<()> {
    let tip = tip(repo)?;
    let base_tree = tree_at(repo, tip)?;
    let mut state = State::new(base_tree, repo)?;
    let mut text = match state.get(&on, repo)? {
        Some(blob) => repo.find_blob(blob)?.data.clone(),
        None => Vec::new(),
    };
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    let mut long = kept.to_vec();
    for record in records {
        writeln!(text, "{}", line_within_cap(repo, record, &mut long)?)
            .context("rendering a record")?;
    }
    let blob = repo.write_blob(&text)?.detach();
    let mut tree = state.replace(on, blob, repo)?.tree;
    if !long.is_empty() {
        // Not `edit_tree`, which looks whether everything is there that was kept before: what was lost, or left out of a partial clone, is no
        // reason to forget what comes now.
        let root = repo.find_tree(tree)?.decode()?.into();
        let mut editor = gix::objs::tree::Editor::new(root, &repo.objects, repo.object_hash());
        for blob in long {
            let place = ["blobs".into(), BString::from(blob.to_string())];
            editor.upsert(place, gix::objs::tree::EntryKind::Blob, blob)?;
        }
        tree = editor.write(|tree| repo.write_object(tree).map(gix::Id::detach))?;
    }
    let message = format!(
        "arkaint: {} on {}\n",
        records
            .iter()
            .map(Record::kind)
            .collect::<Vec<_>>()
            .join(", "),
        on.to_hex_with_len(12)
    );
    let commit = git::commit_as_user(repo, &message, tree, tip.into_iter().collect())?;
    let expected = tip.map_or(PreviousValue::MustNotExist, |tip| {
        PreviousValue::MustExistAndMatch(tip.into())
    });
    git::move_ref(repo, REF, commit, expected, "arkaint: append")
}

/// The commit of the ledger's ref.
pub(crate) fn tip(repo: &gix::Repository) -> Result<Option<Oid>> {
    tip_of(repo, REF)
}

/// The commit of a notes ref.
pub(super) fn tip_of(repo: &gix::Repository, name: &str) -> Result<Option<Oid>> {
    match repo
        .try_find_reference(name)
        .with_context(|| format!("reading {name}"))?
    {
        None => Ok(None),
        Some(reference) => match reference.target().try_id() {
            Some(id) => Ok(Some(id.to_owned())),
            None => bail!(
                "{name} is a symbolic ref: git update-ref --no-deref it to a commit of the ledger"
            ),
        },
    }
}

fn line_within_cap(repo: &gix::Repository, record: &Record, long: &mut Vec<Oid>) -> Result<String> {
    let clean = secret::redact_json(&record.to_value());
    let mut record =
        Record::from_line(clean.to_string().as_bytes()).context("a record lost its head")?;
    let mut line = record.to_line();
    while line.len() > MAX_LINE {
        let largest = record
            .map_mut()
            .iter()
            .filter(|(key, value)| {
                !matches!(key.as_str(), "at" | "id" | "kind" | "v") && !is_blob_link(value)
            })
            .max_by_key(|(_, value)| value.to_string().len())
            .map(|(key, _)| key.clone());
        let Some(key) = largest else {
            bail!("a record is longer than {MAX_LINE} bytes")
        };
        let value = record.map_mut()[&key].clone();
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let blob = repo.write_blob(text.as_bytes())?.detach();
        long.push(blob);
        record.map_mut().insert(
            key,
            serde_json::json!({"blob": blob.to_string(), "bytes": text.len()}),
        );
        line = record.to_line();
    }
    Ok(line)
}

fn is_blob_link(value: &serde_json::Value) -> bool {
    value
        .as_object()
        .is_some_and(|map| map.len() == 2 && map.contains_key("blob") && map.contains_key("bytes"))
}

/// The records on one commit, in the order in which they were appended. Lines that are no records are passed over.
pub(crate) fn on_commit(worktree: &Worktree, commit: Oid) -> Result<Vec<Record>> {
    let repo = worktree.repo()?;
    let Some(tip) = tip(repo)? else {
        return Ok(Vec::new());
    };
    let mut state = State::new(repo.find_commit(tip)?.tree_id()?.detach(), repo)?;
    Ok(match state.get(&commit, repo)? {
        Some(blob) => lines(&repo.find_blob(blob)?.data).collect(),
        None => Vec::new(),
    })
}

/// Does the ledger hold anything besides its lines: a contract, a file that was judged, a long text?
pub(crate) fn holds_blobs(worktree: &Worktree) -> Result<bool> {
    let repo = worktree.repo()?;
    let Some(tip) = tip(repo)? else {
        return Ok(false);
    };
    let tree = repo.find_commit(tip)?.tree()?;
    Ok(tree.find_entry("blobs").is_some())
}

/// Every record with the object that it hangs on, oldest first.
pub(crate) fn all(worktree: &Worktree) -> Result<Vec<(Oid, Record)>> {
    let mut found = Vec::new();
    each_line(worktree, |object, line| {
        found.extend(Record::from_line(line).map(|record| (object, record)));
    })?;
    found.sort_by(|a, b| a.1.at().cmp(b.1.at()));
    Ok(found)
}

/// Bytes of everything that the ledger holds now: its notes, and the blobs that they name. Reads no content.
pub(crate) fn size(worktree: &Worktree) -> Result<u64> {
    let repo = worktree.repo()?;
    let Some(tip) = tip(repo)? else {
        return Ok(0);
    };
    let tree = repo.find_commit(tip)?.tree()?;
    let files = tree.traverse().breadthfirst.files();
    let mut bytes = 0;
    for entry in files.context("reading the ledger")? {
        // What a partial clone has left out, or was lost, takes no room.
        bytes += repo
            .try_find_header(entry.oid)?
            .map_or(0, |header| header.size());
    }
    Ok(bytes)
}

/// Calls `take` with every line of the ledger and the object that it hangs on, in no order; one note at a time is held.
pub(crate) fn each_line(worktree: &Worktree, mut take: impl FnMut(Oid, &[u8])) -> Result<()> {
    let repo = worktree.repo()?;
    let Some(tip) = tip(repo)? else {
        return Ok(());
    };
    let tree = repo.find_commit(tip)?.tree()?;
    for entry in tree
        .traverse()
        .breadthfirst
        .files()
        .context("reading the ledger")?
    {
        let name: String = entry
            .filepath
            .to_string()
            .chars()
            .filter(|c| *c != '/')
            .collect();
        let Ok(object) = Oid::from_hex(name.as_bytes()) else {
            continue;
        };
        let blob = repo.find_blob(entry.oid)?;
        for line in blob.data.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            take(object, line);
        }
    }
    Ok(())
}

fn lines(blob: &[u8]) -> impl Iterator<Item = Record> + '_ {
    blob.split(|b| *b == b'\n')
        .filter(|l| !l.is_empty())
        .filter_map(Record::from_line)
}
