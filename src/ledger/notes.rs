//! The ledger's notes ref: append by compare-and-swap, read by commit or whole. Written in-process by gix, so that no hook and no
//! configuration of the repository takes part. It knows lines, not what they mean.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Write as _;
use std::time::{Duration, Instant};

use aho_corasick::AhoCorasick;
use anyhow::{Context, Result, bail};
use gix::bstr::BString;
use gix::refs::transaction::PreviousValue;
use serde_json::Value;

use super::record::{self, Kind, Record};
use super::{cache, union};
use crate::git::{self, Contended, Oid, Worktree};
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
    let repo = worktree.repo()?;
    git::written(|| Ok(repo.write_blob(bytes)?.detach())).context("writing to the ledger")
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

/// Calls `attempt` until it succeeds: another writer may move a ref between its look and its own step, or hold it.
///
/// # Errors
/// Of such an error the last one, after thirty seconds; any other at once.
pub(super) fn until_moved<T>(what: &'static str, attempt: impl Fn() -> Result<T>) -> Result<T> {
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut pause = Duration::from_millis(2);
    loop {
        match git::written(&attempt) {
            Err(error) if error.is::<Contended>() && Instant::now() < deadline => {
                std::thread::sleep(record::jittered(pause));
                pause = (pause * 2).min(Duration::from_millis(200));
            }
            ended => return ended.context(what),
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
        None => git::written(|| Ok(repo.write_object(gix::objs::Tree::empty())?.detach()))
            .context("writing a notes ref")?,
    })
}

fn try_append(repo: &gix::Repository, on: Oid, records: &[Record], kept: &[Oid]) -> Result<()> {
    let tip = tip(repo)?;
    let mut long = kept.to_vec();
    let mut added = Vec::new();
    for record in records {
        writeln!(added, "{}", line_within_cap(repo, record, &mut long)?)
            .context("rendering a record")?;
    }
    let mut tree = union::with_state(repo, tree_at(repo, tip)?, |state| {
        let mut text = match state.get(&on, repo)? {
            Some(blob) => repo.find_blob(blob)?.data.clone(),
            None => Vec::new(),
        };
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend_from_slice(&added);
        let blob = repo.write_blob(&text)?.detach();
        Ok(state.replace(on, blob, repo)?.tree)
    })?;
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
    let commit = git::commit_as_user(repo, &message, tree, tip.as_slice())?;
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
    match git::find_ref(repo, name)? {
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

fn is_blob_link(value: &Value) -> bool {
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
    let tree = tree_at(repo, Some(tip))?;
    let note = union::with_state(repo, tree, |state| Ok(state.get(&commit, repo)?))?;
    Ok(match note {
        Some(blob) => lines(&repo.find_blob(blob)?.data)
            .filter_map(Record::from_line)
            .collect(),
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

/// Every record with the object that it hangs on, oldest first. One that hangs on several objects (amend, rebase and `log --repair` copy lines)
/// comes once, on the commit that it names where it hangs there too.
pub(crate) fn all(worktree: &Worktree) -> Result<Vec<(Oid, Record)>> {
    Ok(all_and_odd(worktree)?.0)
}

/// [`all`], and how many lines are no records.
pub(crate) fn all_and_odd(worktree: &Worktree) -> Result<(Vec<(Oid, Record)>, usize)> {
    let (mut found, mut odd) = (Vec::new(), 0);
    each_line(worktree, |object, line| match Record::from_line(line) {
        Some(record) => found.push((object, record)),
        None => odd += 1,
    })?;
    found.sort_by(|a, b| a.1.at().cmp(b.1.at()));
    Ok((once(found), odd))
}

/// The records that a decision may rest on, sorted as those of [`all`]: without failures, trips, rollbacks and decay, and without runs where no
/// contract and no evidence asks whose and when they were. Nearly all of an old ledger is these, and they are not parsed.
pub(crate) fn deciding(worktree: &Worktree) -> Result<Vec<(Oid, Record)>> {
    let deciding = [
        Kind::Checkpoint,
        Kind::Dispatch,
        Kind::Contract,
        Kind::Approval,
        Kind::Evidence,
        Kind::Verdict,
    ];
    let kinds = deciding.map(Kind::name);
    let mut found = naming(worktree, &kinds, &|record| kinds.contains(&record.kind()))?;
    let asks = |record: &Record| record.is(Kind::Contract) || record.is(Kind::Evidence);
    if found.iter().any(|(_, record)| asks(record)) {
        let run = Kind::Run.name();
        found.append(&mut naming(worktree, &[run], &|record| {
            record.is(Kind::Run)
        })?);
    }
    found.sort_by(|a, b| a.1.at().cmp(b.1.at()));
    Ok(once(found))
}

/// The records that `wanted` says yes to, in no order; a line that holds none of `words` as a string is not parsed.
fn naming(
    worktree: &Worktree,
    words: &[&str],
    wanted: &dyn Fn(&Record) -> bool,
) -> Result<Vec<(Oid, Record)>> {
    let quoted = words.iter().map(|word| Value::from(*word).to_string());
    let search = AhoCorasick::new(quoted).context("making a search of the ledger")?;
    let mut found = Vec::new();
    each_line(worktree, |object, line| {
        if search.is_match(line)
            && let Some(record) = Record::from_line(line).filter(wanted)
        {
            found.push((object, record));
        }
    })?;
    Ok(found)
}

/// The newest `most` of the records that `wanted` says yes to, oldest first, and how many of the lines that were read are no records. Memory
/// grows with `most`, not with the ledger; a note whose latest record is older than what is held already is not read, nor is a line parsed.
pub(crate) fn newest(
    worktree: &Worktree,
    most: usize,
    wanted: impl Fn(&Record) -> bool,
) -> Result<(Vec<(Oid, Record)>, usize)> {
    let keep = |mut held: Vec<(Oid, Record)>| {
        held.sort_by(|a, b| a.1.at().cmp(b.1.at()));
        let mut held = once(held);
        held.drain(..held.len().saturating_sub(most));
        held
    };
    let repo = worktree.repo()?;
    cache::with(worktree, |cache| {
        let (mut held, mut odd) = (Vec::new(), 0);
        let mut oldest = String::new();
        for (object, blob, latest) in cache.newest_first() {
            if *latest < *oldest || most == 0 {
                break;
            }
            let note = repo.find_blob(blob)?;
            for line in lines(&note.data) {
                if at_of(line).is_some_and(|at| at < oldest.as_bytes()) {
                    continue;
                }
                let Some(record) = Record::from_line(line) else {
                    odd += 1;
                    continue;
                };
                if wanted(&record) {
                    held.push((object, record));
                }
                if held.len() >= most.saturating_mul(2).max(64) {
                    held = keep(std::mem::take(&mut held));
                }
            }
            held = keep(std::mem::take(&mut held));
            if held.len() == most {
                held.first()
                    .map_or("", |(_, record)| record.at())
                    .clone_into(&mut oldest);
            }
        }
        Ok((held, odd))
    })
}

/// The time of a line as we write them, by a look at its beginning.
fn at_of(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"{\"at\":\"")?;
    let end = rest.iter().position(|b| matches!(b, b'"' | b'\\'))?;
    (rest[end] == b'"').then(|| &rest[..end])
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
    each(worktree, |object, blob| {
        let note = repo.find_blob(blob)?;
        for line in lines(&note.data) {
            take(object, line);
        }
        Ok(())
    })
}

/// Calls `take` with each object that has a note, and the blob of that; reads no note.
pub(super) fn each(
    worktree: &Worktree,
    mut take: impl FnMut(Oid, Oid) -> Result<()>,
) -> Result<()> {
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
        let name: Vec<u8> = entry
            .filepath
            .iter()
            .copied()
            .filter(|byte| *byte != b'/')
            .collect();
        if let Ok(object) = Oid::from_hex(&name) {
            take(object, entry.oid)?;
        }
    }
    Ok(())
}

/// The lines of a note.
pub(super) fn lines(note: &[u8]) -> impl Iterator<Item = &[u8]> {
    note.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
}

/// The time of a line; `None` for what is no record.
pub(super) fn time_of(line: &[u8]) -> Option<Cow<'_, str>> {
    match at_of(line).map(str::from_utf8) {
        Some(Ok(at)) => Some(Cow::Borrowed(at)),
        _ => Record::from_line(line).map(|record| Cow::Owned(record.at().to_owned())),
    }
}

/// Sorted by `at`, each record once.
fn once(records: Vec<(Oid, Record)>) -> Vec<(Oid, Record)> {
    let mut kept: Vec<(Oid, Record)> = Vec::with_capacity(records.len());
    // Equal records have equal times: only those of one instant are compared, by their lines.
    let mut instant: HashMap<String, usize> = HashMap::new();
    let mut records = records.into_iter().peekable();
    while let Some((on, record)) = records.next() {
        let follows = records
            .peek()
            .is_some_and(|(_, next)| next.at() == record.at());
        if !follows && instant.is_empty() {
            kept.push((on, record));
            continue;
        }
        let of_commit = [record.str("commit"), record.str("base")].contains(&&*on.to_string());
        match instant.entry(record.to_line()) {
            Entry::Occupied(place) if of_commit => kept[*place.get()].0 = on,
            Entry::Occupied(_) => {}
            Entry::Vacant(place) => {
                place.insert(kept.len());
                kept.push((on, record));
            }
        }
        if !follows {
            instant.clear();
        }
    }
    kept
}

#[cfg(test)]
mod tests;
