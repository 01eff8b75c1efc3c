//! The ledger's notes ref: append by compare-and-swap, read by commit or whole. Written in-process by gix, so that no hook and no
//! configuration of the repository takes part. It knows lines, not what they mean.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use gix::bstr::BString;
use gix::refs::transaction::PreviousValue;

use super::record::{self, Record};
use super::union;
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

/// Calls `attempt` until it succeeds: another writer may move a ref between its look and its own step, or hold it.
///
/// # Errors
/// Of such an error the last one, after thirty seconds; any other at once.
pub(super) fn until_moved<T>(what: &'static str, attempt: impl Fn() -> Result<T>) -> Result<T> {
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut pause = Duration::from_millis(2);
    loop {
        match attempt() {
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
        None => repo
            .write_object(gix::objs::Tree::empty())
            .context("writing a notes ref")?
            .detach(),
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
    let tree = tree_at(repo, Some(tip))?;
    let note = union::with_state(repo, tree, |state| Ok(state.get(&commit, repo)?))?;
    Ok(match note {
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

/// The newest `most` of the records that `wanted` says yes to, oldest first, and how many of the lines that were read are no records. Memory
/// grows with `most`, not with the ledger, and a line that is older than what is held already is not parsed.
pub(crate) fn newest(
    worktree: &Worktree,
    most: usize,
    wanted: impl Fn(&Record) -> bool,
) -> Result<(Vec<(Oid, Record)>, usize)> {
    let (mut held, mut odd) = (Vec::new(), 0);
    let mut oldest = String::new();
    let keep = |held: Vec<(Oid, Record)>| {
        let mut held = held;
        held.sort_by(|a: &(Oid, Record), b| a.1.at().cmp(b.1.at()));
        let mut held = once(held);
        held.drain(..held.len().saturating_sub(most));
        held
    };
    each_line(worktree, |object, line| {
        if at_of(line).is_some_and(|at| at < oldest.as_bytes()) {
            return;
        }
        let Some(record) = Record::from_line(line) else {
            odd += 1;
            return;
        };
        if wanted(&record) {
            held.push((object, record));
        }
        if held.len() >= most.saturating_mul(2).max(64) {
            held = keep(std::mem::take(&mut held));
            if held.len() == most {
                oldest = held
                    .first()
                    .map_or_else(String::new, |(_, r)| r.at().to_owned());
            }
        }
    })?;
    Ok((keep(held), odd))
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

fn lines(blob: &[u8]) -> impl Iterator<Item = Record> + '_ {
    blob.split(|b| *b == b'\n')
        .filter(|l| !l.is_empty())
        .filter_map(Record::from_line)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::git::fixture::Repo;

    #[test]
    fn the_newest_are_the_end_of_all_however_many_are_asked_for() {
        let repo = Repo::new();
        let mut stream = String::new();
        for n in 0..300 {
            let _ = writeln!(
                stream,
                "commit refs/heads/x\nmark :{}\ncommitter T <t@example.invalid> {n} +0000\ndata 1\nx",
                n + 1
            );
        }
        let _ = writeln!(
            stream,
            "commit {REF}\ncommitter T <t@example.invalid> 1 +0000\ndata 1\nx"
        );
        for n in 0..300 {
            // Times in no order of the commits; each fifth comes twice, on another commit too.
            let second = n * 7 % 300;
            let kind = if n % 3 == 0 { "trip" } else { "run" };
            let line = |n: usize, kind: &str| {
                format!(
                    "{{\"at\":\"2026-01-01T00:{:02}:{:02}.000Z\",\"id\":\"r{n}\",\"kind\":\"{kind}\",\"v\":1}}\n",
                    n / 60,
                    n % 60
                )
            };
            let mut text = line(second, kind);
            if n % 5 == 1 {
                let before = n - 1;
                text += &line(
                    before * 7 % 300,
                    if before % 3 == 0 { "trip" } else { "run" },
                );
            }
            let _ = writeln!(stream, "N inline :{}\ndata {}\n{text}", n + 1, text.len());
        }
        repo.git_with(["fast-import", "--quiet"], stream.as_bytes());
        let worktree = repo.worktree();
        let ids = |records: &[(Oid, Record)]| {
            let ids = records.iter().map(|(_, r)| r.id().to_owned());
            ids.collect::<Vec<_>>()
        };
        let everything = all(&worktree).unwrap();
        assert_eq!(everything.len(), 300);
        for most in [0, 1, 20, 63, 64, 299, 300, 1000] {
            for kind in [None, Some("trip")] {
                let wanted = |r: &Record| kind.is_none_or(|kind| r.kind() == kind);
                let (found, odd) = newest(&worktree, most, wanted).unwrap();
                let chosen: Vec<_> = everything
                    .iter()
                    .filter(|(_, r)| wanted(r))
                    .cloned()
                    .collect();
                let end = &chosen[chosen.len().saturating_sub(most)..];
                assert_eq!((ids(&found), odd), (ids(end), 0), "{most} {kind:?}");
            }
        }
    }

    #[test]
    fn a_ref_that_is_held_is_waited_for_and_what_no_time_mends_is_said_at_once() {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "start"]);
        let worktree = repo.worktree();
        let head = worktree.head().unwrap().unwrap();
        let record = || Record::new(super::super::Kind::Trip, serde_json::json!({"why": "x"}));
        append(&worktree, head, &[record()]).unwrap();
        let lock = worktree.common_dir().join(format!("{REF}.lock"));
        std::fs::write(&lock, "").unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(500));
                std::fs::remove_file(&lock).unwrap();
            });
            append(&worktree, head, &[record()]).unwrap();
        });
        assert_eq!(all(&worktree).unwrap().len(), 2);

        let refused = |why: &str| {
            let began = Instant::now();
            let error = append(&worktree, head, &[record()]).unwrap_err();
            let said = format!("{error:#}");
            assert!(
                said.starts_with("appending to the ledger: ") && said.contains(why),
                "{said}"
            );
            assert!(began.elapsed() < Duration::from_secs(20), "{said}");
        };
        repo.git(["update-ref", "refs/notes/other", REF]);
        repo.git(["symbolic-ref", REF, "refs/notes/other"]);
        refused("is a symbolic ref");
        repo.git(["symbolic-ref", "--delete", REF]);
        // Nothing can be written, not even by root.
        repo.git(["repack", "-adq"]);
        for number in 0..=255 {
            let folder = worktree.common_dir().join(format!("objects/{number:02x}"));
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::write(&folder, "").unwrap();
        }
        refused("");
    }

    #[test]
    fn the_time_of_a_line_is_seen_at_its_beginning() {
        assert_eq!(at_of(b"{\"at\":\"2026\",\"id\":1}"), Some(&b"2026"[..]));
        for odd in [
            &b"{\"id\":1,\"at\":\"2026\"}"[..],
            b"{\"at\":\"20\\u0032\"}",
            b"{\"at\":\"2026",
            b"x",
        ] {
            assert_eq!(at_of(odd), None);
        }
    }
}
