//! What the ledger knows of the three files: that the recorder wrote one on a tree (a seal), and what they were when they were judged.
//! Records and blobs, nothing else: what a seal is worth, and whether a file is fresh, is judged elsewhere.

use std::time::SystemTime;

use anyhow::Result;
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::git::{Oid, Worktree};
use crate::ledger::{Kind, Record, notes};
use crate::secret;
use crate::text;

/// A record's `what`, by which the two shapes are told apart.
const VERIFY: &str = "verify";
const ARTIFACTS: &str = "artifacts";

/// The recorder ran a command, the content tree was the same before and after, and it wrote a file about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seal {
    /// The file, from the worktree's root: `.ak-loop/verify.json`, or `dod.json` wherever that lies.
    pub file: String,
    /// Of the bytes that were written; hexadecimal.
    pub sha256: String,
    /// The content tree on which the command ran.
    pub tree: Oid,
    /// HEAD at that time.
    pub commit: Oid,
    /// Digest of the open contract, where there was one.
    pub contract: Option<String>,
    pub argv: Vec<String>,
    pub exit: i64,
    /// Of all that the command printed, both streams as they were merged; hexadecimal.
    pub output_sha256: String,
    pub output_bytes: u64,
    /// Ids in the file that the recorder answers for: those of this command, and those that an earlier seal on the same tree and contract
    /// answered for. What else stands in the file (a worker's own entry that was kept) is as good as its writer.
    pub outcomes: Vec<String>,
    pub duration_ms: u64,
    /// The run that it was called from inside of: the agent could have written this record, so it is a claim until the parent of that run
    /// confirms it. None where a person or the parent itself called.
    pub run: Option<String>,
}

impl Seal {
    pub(crate) fn record(&self) -> Record {
        let fields = json!({
            "what": VERIFY, "file": self.file, "sha256": self.sha256, "tree": self.tree.to_string(), "commit": self.commit.to_string(),
            "contract": self.contract, "argv": self.argv, "exit": self.exit, "output_sha256": self.output_sha256,
            "output_bytes": self.output_bytes, "outcomes": self.outcomes, "duration_ms": self.duration_ms, "run": self.run,
        });
        Record::new(Kind::Evidence, fields)
    }

    /// The seal in a record; `None` when it holds none. Lists that were too long for a line are read as empty: no outcome is answered for
    /// by a list that is not here.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        (record.is(Kind::Evidence) && record.str("what") == VERIFY).then_some(())?;
        Some(Self {
            file: text_of(record, "file")?,
            sha256: text_of(record, "sha256")?,
            tree: oid_of(record, "tree")?,
            commit: oid_of(record, "commit")?,
            contract: text_of(record, "contract"),
            argv: texts_of(record, "argv"),
            exit: record.get("exit")?.as_i64()?,
            output_sha256: text_of(record, "output_sha256")?,
            output_bytes: record.get("output_bytes")?.as_u64()?,
            outcomes: texts_of(record, "outcomes"),
            duration_ms: record.get("duration_ms")?.as_u64()?,
            run: text_of(record, "run"),
        })
    }
}

/// The three files as they were judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The commit that they were judged for; none where that was what was on disk.
    pub commit: Option<Oid>,
    /// The content tree that they were judged for.
    pub tree: Oid,
    /// Digest of the open contract, where there was one.
    pub contract: Option<String>,
    /// The newest time of change among the files that differ from the base; none where none does.
    pub newest: Option<SystemTime>,
    pub files: Vec<KeptFile>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptFile {
    /// From the worktree's root.
    pub path: String,
    /// Hexadecimal.
    pub sha256: String,
    pub bytes: u64,
    /// Where the ledger holds the bytes. None where they look like they hold a secret: the ledger is pushed, and keeps none.
    pub blob: Option<Oid>,
    pub mtime: Option<SystemTime>,
}

/// A file that is to be kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loose<'a> {
    /// From the worktree's root.
    pub path: &'a str,
    pub bytes: &'a [u8],
    pub mtime: Option<SystemTime>,
}

impl Kept {
    pub(crate) fn record(&self) -> Record {
        let files = self.files.iter().map(|file| {
            json!({
                "path": file.path, "sha256": file.sha256, "bytes": file.bytes,
                "blob": file.blob.map(|blob| blob.to_string()), "mtime": file.mtime.and_then(written),
            })
        });
        let fields = json!({
            "what": ARTIFACTS, "commit": self.commit.map(|commit| commit.to_string()), "tree": self.tree.to_string(),
            "contract": self.contract, "newest": self.newest.and_then(written), "files": files.collect::<Vec<_>>(),
        });
        Record::new(Kind::Evidence, fields)
    }

    /// What a record says was kept; `None` when it is of another shape, or one of its files is.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        (record.is(Kind::Evidence) && record.str("what") == ARTIFACTS).then_some(())?;
        let commit = match record.str("commit") {
            "" => None,
            _ => Some(oid_of(record, "commit")?),
        };
        let files = record.get("files")?.as_array()?.iter().map(KeptFile::of);
        Some(Self {
            commit,
            tree: oid_of(record, "tree")?,
            contract: text_of(record, "contract"),
            newest: record.get("newest").and_then(time),
            files: files.collect::<Option<_>>()?,
        })
    }
}

impl KeptFile {
    fn of(value: &Value) -> Option<Self> {
        let text = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        Some(Self {
            path: text("path")?,
            sha256: text("sha256")?,
            bytes: value.get("bytes")?.as_u64()?,
            blob: match text("blob") {
                None => None,
                Some(name) => Some(Oid::from_hex(name.as_bytes()).ok()?),
            },
            mtime: value.get("mtime").and_then(time),
        })
    }
}

/// Stores `files` in the ledger and records on `on` what they were judged for; the files of `kept` are those. Nothing is recorded when the
/// newest record of such files says the same already.
///
/// # Errors
/// When the ledger cannot be written.
pub(crate) fn keep(
    worktree: &Worktree,
    on: Oid,
    mut kept: Kept,
    files: &[Loose<'_>],
) -> Result<Kept> {
    kept.files = Vec::with_capacity(files.len());
    for file in files {
        let text = String::from_utf8_lossy(file.bytes);
        let blob = if secret::redact(&text) == text {
            Some(notes::store(worktree, file.bytes)?)
        } else {
            None
        };
        kept.files.push(KeptFile {
            path: file.path.to_owned(),
            sha256: digest(file.bytes),
            bytes: file.bytes.len() as u64,
            blob,
            mtime: file.mtime,
        });
    }
    let before = notes::on_commit(worktree, on)?;
    if before.iter().rev().find_map(Kept::of).as_ref() != Some(&kept) {
        let blobs: Vec<Oid> = kept.files.iter().filter_map(|file| file.blob).collect();
        notes::append_keeping(worktree, on, &[kept.record()], &blobs)?;
    }
    Ok(kept)
}

/// The bytes of a kept file; `None` when they were not kept, are not here, or are not what was judged.
pub(crate) fn read(worktree: &Worktree, file: &KeptFile) -> Option<Vec<u8>> {
    let bytes = notes::stored(worktree, file.blob?).ok()??;
    (digest(&bytes) == file.sha256).then_some(bytes)
}

/// Every seal of the ledger, in the order of `records`.
pub(crate) fn seals(records: &[(Oid, Record)]) -> Vec<Seal> {
    records
        .iter()
        .filter_map(|(_, record)| Seal::of(record))
        .collect()
}

/// All that was kept, in the order of `records`.
pub(crate) fn kept(records: &[(Oid, Record)]) -> Vec<Kept> {
    records
        .iter()
        .filter_map(|(_, record)| Kept::of(record))
        .collect()
}

/// The trees under which a file with this SHA-256 was seen, by either shape of record, each once, in the order of `records` (oldest first).
pub(crate) fn first_seen(records: &[(Oid, Record)], sha256: &str) -> Vec<Oid> {
    let mut trees = Vec::new();
    for (_, record) in records {
        let tree = match (Seal::of(record), Kept::of(record)) {
            (Some(seal), _) if seal.sha256 == sha256 => seal.tree,
            (_, Some(kept)) if kept.files.iter().any(|file| file.sha256 == sha256) => kept.tree,
            _ => continue,
        };
        if !trees.contains(&tree) {
            trees.push(tree);
        }
    }
    trees
}

/// SHA-256 in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    text::hex(&Sha256::digest(bytes))
}

fn text_of(record: &Record, key: &str) -> Option<String> {
    record.get(key)?.as_str().map(str::to_owned)
}

fn texts_of(record: &Record, key: &str) -> Vec<String> {
    let items = record.get(key).and_then(Value::as_array);
    let items = items.into_iter().flatten().filter_map(Value::as_str);
    items.map(str::to_owned).collect()
}

fn oid_of(record: &Record, key: &str) -> Option<Oid> {
    Oid::from_hex(record.str(key).as_bytes()).ok()
}

/// UTC, RFC 3339, with as many digits as it takes; none for a time that no calendar has.
fn written(time: SystemTime) -> Option<String> {
    Some(Timestamp::try_from(time).ok()?.to_string())
}

fn time(value: &Value) -> Option<SystemTime> {
    let time: Timestamp = value.as_str()?.parse().ok()?;
    time.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::git::fixture::Repo;

    fn oid(c: u8) -> Oid {
        Oid::from_hex(&[c; 40]).unwrap()
    }

    fn sealed(tree: u8, sha256: &str) -> Seal {
        Seal {
            file: ".ak-loop/verify.json".to_owned(),
            sha256: sha256.to_owned(),
            tree: oid(tree),
            commit: oid(b'c'),
            contract: Some("d".repeat(64)),
            argv: vec!["cargo".to_owned(), "test".to_owned()],
            exit: 0,
            output_sha256: "e".repeat(64),
            output_bytes: 7,
            outcomes: vec!["o1".to_owned()],
            duration_ms: 1200,
            run: None,
        }
    }

    fn nothing_kept(tree: Oid) -> Kept {
        Kept {
            commit: None,
            tree,
            contract: None,
            newest: None,
            files: Vec::new(),
        }
    }

    #[test]
    fn a_seal_is_read_as_it_was_recorded_and_one_that_lacks_a_field_is_none() {
        let mut seal = sealed(b'a', &"f".repeat(64));
        assert_eq!(Seal::of(&seal.record()), Some(seal.clone()));
        (seal.contract, seal.run) = (None, Some("20260131T120000Z-3f9a1c".to_owned()));
        let record = seal.record();
        assert_eq!(Seal::of(&record), Some(seal.clone()));
        assert_eq!(Kept::of(&record), None);
        for key in [
            "file",
            "sha256",
            "tree",
            "commit",
            "exit",
            "output_sha256",
            "output_bytes",
            "what",
            "kind",
        ] {
            let mut broken = record.clone();
            broken.map_mut().insert(key.to_owned(), json!({}));
            assert_eq!(Seal::of(&broken), None, "{key}");
        }
        // What was moved out of a line that is too long.
        let mut long = record.clone();
        for key in ["outcomes", "argv"] {
            let link = json!({"blob": oid(b'a').to_string(), "bytes": 70_000});
            long.map_mut().insert(key.to_owned(), link);
        }
        let long = Seal::of(&long).unwrap();
        assert!(long.outcomes.is_empty() && long.argv.is_empty());
    }

    #[test]
    fn files_are_kept_to_the_nanosecond_and_only_what_was_judged_is_read_again() {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "start"]);
        let worktree = repo.worktree();
        let head = worktree.head().unwrap().unwrap();
        let mtime = UNIX_EPOCH + Duration::new(1_770_000_000, 123_456_789);
        let files = [
            Loose {
                path: ".ak-loop/verify.json",
                bytes: b"{}\n",
                mtime: Some(mtime),
            },
            Loose {
                path: ".ak-loop/plan.md",
                bytes: b"\xff\xfe",
                mtime: None,
            },
        ];
        let mut subject = nothing_kept(worktree.tree_of(head).unwrap());
        (subject.commit, subject.newest) = (Some(head), Some(mtime));
        let done = keep(&worktree, head, subject.clone(), &files).unwrap();
        // Said twice is recorded once.
        keep(&worktree, head, subject, &files).unwrap();
        repo.git(["gc", "-q", "--prune=now"]);
        let again = repo.worktree();
        let records = notes::all(&again).unwrap();
        assert_eq!(kept(&records), std::slice::from_ref(&done));
        assert_eq!(read(&again, &done.files[0]).as_deref(), Some(&b"{}\n"[..]));
        assert_eq!(
            read(&again, &done.files[1]).as_deref(),
            Some(&b"\xff\xfe"[..])
        );
        let other = KeptFile {
            blob: done.files[1].blob,
            ..done.files[0].clone()
        };
        assert_eq!(read(&again, &other), None);
        let gone = KeptFile {
            blob: Some(oid(b'1')),
            ..done.files[0].clone()
        };
        assert_eq!(read(&again, &gone), None);
    }

    #[test]
    fn a_file_with_a_secret_is_recorded_and_not_stored() {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "start"]);
        let worktree = repo.worktree();
        let head = worktree.head().unwrap().unwrap();
        let token = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6");
        let text = format!("{{\"command\": \"curl -H {token}\"}}");
        let file = Loose {
            path: ".ak-loop/verify.json",
            bytes: text.as_bytes(),
            mtime: None,
        };
        let subject = nothing_kept(worktree.tree_of(head).unwrap());
        let done = keep(&worktree, head, subject, &[file]).unwrap();
        assert_eq!(done.files[0].blob, None);
        assert_eq!(done.files[0].sha256, digest(text.as_bytes()));
        assert_eq!(read(&worktree, &done.files[0]), None);
        assert_eq!(kept(&notes::all(&worktree).unwrap()), [done]);
    }

    #[test]
    fn the_trees_of_a_file_are_told_by_both_shapes_oldest_first() {
        let hash = "f".repeat(64);
        let mut later = nothing_kept(oid(b'b'));
        later.files.push(KeptFile {
            path: ".ak-loop/verify.json".to_owned(),
            sha256: hash.clone(),
            bytes: 3,
            blob: None,
            mtime: None,
        });
        let records = [
            sealed(b'a', &"0".repeat(64)).record(),
            sealed(b'9', &hash).record(),
            later.record(),
            sealed(b'9', &hash).record(),
        ]
        .map(|record| (oid(b'c'), record));
        assert_eq!(first_seen(&records, &hash), [oid(b'9'), oid(b'b')]);
        assert_eq!(seals(&records).len(), 3);
        assert!(first_seen(&records, "").is_empty());
    }
}
