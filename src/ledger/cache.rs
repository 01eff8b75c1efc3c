//! What `cost` and `log -n` need of each note, kept in `arkaint/ledger-cache` of the common git directory by the name of the note's blob, so that
//! a note is read once however often they are asked. A copy: made anew where it is missing, damaged or of another version, and taken away after
//! each launch, as whoever runs there could have written it. Nothing that decides (a budget, a gate) rests on it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::notes;
use super::used::{Run, Usd, Used};
use crate::agent::Usage;
use crate::git::{Oid, Worktree, state};

/// The version of the file's form.
const VERSION: u32 = 1;

/// A file is begun when making it anew reads more than this, bytes of notes.
const WORTH: usize = 1024 * 1024;

/// The ledger as it is now, note by note.
pub(crate) struct Cache<'a> {
    words: Words<'a>,
    notes: Vec<Note<'a>>,
    /// The objects with a note, and the place of that in `notes`.
    objects: Vec<(Oid, usize)>,
}

struct Note<'a> {
    blob: Oid,
    /// The latest time in it, as the record has it; empty without a record.
    newest: String,
    /// [`Kept`]s, one after the other.
    runs: Runs<'a>,
}

enum Runs<'a> {
    Read(&'a [u8]),
    Made(Vec<u8>),
}

/// The words of runs, each once: 0 is none, and 1 the first.
#[derive(Default)]
struct Words<'a> {
    all: Vec<Word<'a>>,
    /// Filled when the first new word is looked for.
    places: HashMap<Word<'a>, u32>,
}

type Word<'a> = std::borrow::Cow<'a, str>;

/// The first part of the file; the runs of all notes follow it.
#[derive(Serialize, Deserialize)]
struct Head<'a> {
    version: u32,
    #[serde(borrow)]
    words: Vec<&'a str>,
    /// Name of the blob, its latest time, and the bytes of its runs.
    #[serde(borrow)]
    notes: Vec<(&'a [u8], &'a str, usize)>,
}

/// A run, as far as cost goes.
#[derive(Serialize, Deserialize)]
struct Kept<'a> {
    /// Of the SHA-256 of its line: a record that hangs on several objects counts once, and one made up with the id of another hides none.
    line: [u8; 16],
    at: &'a str,
    /// Agent, provider, model, profile, task.
    words: [u32; 5],
    /// Input, output, read from and written to the provider's cache.
    tokens: [Option<u64>; 4],
    estimated: u64,
    /// USD, and whether the agent reported them.
    usd: Option<(f64, bool)>,
}

/// Calls `take` with what the notes of now hold; reads those that are not in the file, and brings that up to date.
///
/// # Errors
/// When the ledger cannot be read. A file that cannot be written is done without, and so is one with which `take` fails.
pub(crate) fn with<T>(worktree: &Worktree, take: impl Fn(&Cache<'_>) -> Result<T>) -> Result<T> {
    let file = std::fs::read(place(worktree)).ok();
    let taken = from(worktree, file.as_deref(), &take);
    if taken.is_err() && file.is_some() {
        forget(worktree)?;
        return from(worktree, None, &take);
    }
    taken
}

fn from<T>(
    worktree: &Worktree,
    file: Option<&[u8]>,
    take: &impl Fn(&Cache<'_>) -> Result<T>,
) -> Result<T> {
    let (mut words, mut known) = file.and_then(read).unwrap_or_default();
    let repo = worktree.repo()?;
    let (mut read, mut missed) = (0, false);
    let (mut listed, mut objects) = (Vec::new(), Vec::new());
    let mut places: HashMap<Oid, usize> = HashMap::new();
    notes::each(worktree, |object, blob| {
        let place = match places.entry(blob) {
            Entry::Occupied(place) => *place.get(),
            Entry::Vacant(vacant) => {
                let note = if let Some(note) = known.remove(&blob) {
                    note
                } else {
                    let text = repo.find_blob(blob)?;
                    (read, missed) = (read + text.data.len(), true);
                    Note::of(blob, &text.data, &mut words)?
                };
                listed.push(note);
                *vacant.insert(listed.len() - 1)
            }
        };
        objects.push((object, place));
        Ok(())
    })?;
    let cache = Cache {
        words,
        notes: listed,
        objects,
    };
    // What an agent asks is none of its parent's files.
    if missed && (file.is_some() || read >= WORTH) && std::env::var_os("ARKAINT_RUN").is_none() {
        let _ = write(&place(worktree), &cache);
    }
    take(&cache)
}

/// Takes the file away.
///
/// # Errors
/// When it is there and cannot be removed.
pub(crate) fn forget(worktree: &Worktree) -> Result<()> {
    state::remove(&place(worktree))
}

fn place(worktree: &Worktree) -> PathBuf {
    worktree.common_dir().join("arkaint/ledger-cache")
}

impl Cache<'_> {
    /// Every run of the ledger once, in no order.
    pub(crate) fn each_run(&self, mut take: impl FnMut(&Run<'_>)) -> Result<()> {
        let mut seen = std::collections::HashSet::new();
        for note in &self.notes {
            let mut rest = note.runs.bytes();
            while !rest.is_empty() {
                let kept: Kept<'_>;
                (kept, rest) = postcard::take_from_bytes(rest).context("reading a kept run")?;
                if seen.insert(kept.line) {
                    take(&self.run(&kept));
                }
            }
        }
        Ok(())
    }

    /// The objects with a note, their blobs, and the latest time in each; the latest first.
    pub(crate) fn newest_first(&self) -> Vec<(Oid, Oid, &str)> {
        let notes = self.objects.iter().map(|(object, place)| {
            let note = &self.notes[*place];
            (*object, note.blob, note.newest.as_str())
        });
        let mut notes: Vec<_> = notes.collect();
        notes.sort_by(|a, b| b.2.cmp(a.2));
        notes
    }

    fn run<'r>(&'r self, kept: &Kept<'r>) -> Run<'r> {
        let [agent, provider, model, profile, task] = kept.words.map(|word| {
            let place = usize::try_from(word).ok()?.checked_sub(1)?;
            self.words.all.get(place).map(AsRef::as_ref)
        });
        let [input, output, cache_read, cache_write] = kept.tokens;
        Run {
            at: kept.at,
            agent,
            provider,
            model,
            profile,
            task,
            usage: Usage {
                input,
                output,
                cache_read,
                cache_write,
            },
            estimated: kept.estimated,
            usd: match kept.usd {
                Some((usd, true)) => Usd::Reported(usd),
                Some((usd, false)) => Usd::Computed(usd),
                None => Usd::Unknown,
            },
        }
    }
}

impl Note<'_> {
    fn of(blob: Oid, text: &[u8], words: &mut Words<'_>) -> Result<Self> {
        let (mut newest, mut runs) = (String::new(), Vec::new());
        for line in notes::lines(text) {
            if let Some(at) = notes::time_of(line)
                && *at > *newest
            {
                newest = at.into_owned();
            }
            let Some(told) = Used::from_line(line, None) else {
                continue;
            };
            let run = told.run();
            let mut line_name = [0; 16];
            line_name.copy_from_slice(&Sha256::digest(line)[..16]);
            let usage = run.usage;
            let kept = Kept {
                line: line_name,
                at: run.at,
                words: [run.agent, run.provider, run.model, run.profile, run.task]
                    .map(|word| word.map_or(0, |word| words.place(word))),
                tokens: [
                    usage.input,
                    usage.output,
                    usage.cache_read,
                    usage.cache_write,
                ],
                estimated: run.estimated,
                usd: match run.usd {
                    Usd::Reported(usd) => Some((usd, true)),
                    Usd::Computed(usd) => Some((usd, false)),
                    Usd::Unknown => None,
                },
            };
            runs = postcard::to_extend(&kept, runs).context("keeping a run")?;
        }
        Ok(Self {
            blob,
            newest,
            runs: Runs::Made(runs),
        })
    }
}

impl Runs<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Made(bytes) => bytes,
        }
    }
}

impl Words<'_> {
    fn place(&mut self, word: &str) -> u32 {
        if self.places.is_empty() {
            self.places = self.all.iter().cloned().zip(1..).collect();
        }
        if let Some(place) = self.places.get(word) {
            return *place;
        }
        self.all.push(Word::Owned(word.to_owned()));
        // More words than this do not fit into memory.
        let place = u32::try_from(self.all.len()).unwrap_or(0);
        self.places.insert(Word::Owned(word.to_owned()), place);
        place
    }
}

/// The words and notes of a file; `None` for one that is damaged or of another version.
fn read(file: &[u8]) -> Option<(Words<'_>, HashMap<Oid, Note<'_>>)> {
    let (head, mut rest) = postcard::take_from_bytes::<Head<'_>>(file).ok()?;
    if head.version != VERSION {
        return None;
    }
    let mut notes = HashMap::with_capacity(head.notes.len());
    for (name, newest, bytes) in head.notes {
        let blob = Oid::try_from(name).ok()?;
        let (runs, after) = rest.split_at_checked(bytes)?;
        rest = after;
        let note = Note {
            blob,
            newest: newest.to_owned(),
            runs: Runs::Read(runs),
        };
        notes.insert(blob, note);
    }
    let words = Words {
        all: head.words.into_iter().map(Word::Borrowed).collect(),
        places: HashMap::new(),
    };
    rest.is_empty().then_some((words, notes))
}

fn write(place: &std::path::Path, cache: &Cache<'_>) -> Result<()> {
    let notes = cache.notes.iter();
    let head = Head {
        version: VERSION,
        words: cache.words.all.iter().map(AsRef::as_ref).collect(),
        notes: notes
            .map(|note| {
                (
                    note.blob.as_slice(),
                    note.newest.as_str(),
                    note.runs.bytes().len(),
                )
            })
            .collect(),
    };
    let folder = place.parent().context("the cache has a folder")?;
    std::fs::create_dir_all(folder)?;
    let mut fresh = NamedTempFile::new_in(folder)?;
    fresh.write_all(&postcard::to_stdvec(&head)?)?;
    for note in &cache.notes {
        fresh.write_all(note.runs.bytes())?;
    }
    fresh.as_file().sync_all()?;
    fresh.persist(place)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::super::spent::{self, By};
    use super::super::{Kind, Record};
    use super::*;
    use crate::git::fixture::Repo;

    /// Runs and tokens by model, as the file makes them, and as the records themselves do.
    fn sums(worktree: &Worktree) -> [BTreeMap<Option<String>, (u64, u64)>; 2] {
        let found = spent::by(worktree, By::Model, None, &BTreeMap::new()).unwrap();
        let found = found
            .into_iter()
            .map(|(model, sum)| (model, (sum.runs, sum.input)));
        let mut expected = BTreeMap::new();
        for (_, record) in notes::all(worktree).unwrap() {
            if record.is(Kind::Run) {
                let sum: &mut (u64, u64) = expected
                    .entry(record.get("model").and_then(|m| m.as_str()).map(Into::into))
                    .or_default();
                sum.0 += 1;
                sum.1 += record.get("tokens").unwrap()["input"].as_u64().unwrap();
            }
        }
        [found.collect(), expected]
    }

    #[test]
    fn what_is_kept_tells_what_the_ledger_tells_whatever_becomes_of_either() {
        let repo = Repo::new();
        let commits: Vec<Oid> = (0..3)
            .map(|n| {
                repo.git(["commit", "-q", "--allow-empty", "-m", &n.to_string()]);
                repo.worktree().head().unwrap().unwrap()
            })
            .collect();
        let worktree = repo.worktree();
        let run = |model: Option<&str>, input: u64, length: usize| {
            let fields =
                json!({"model": model, "tokens": {"input": input}, "more": "x".repeat(length)});
            Record::new(Kind::Run, fields)
        };
        let holds = |what: &str| {
            let [found, expected] = sums(&worktree);
            assert_eq!(found, expected, "{what}");
        };
        let file = place(&worktree);
        holds("without a ledger");
        let first = run(Some("m1"), 5, 60_000);
        notes::append(&worktree, commits[0], &[first.clone(), run(None, 7, 9)]).unwrap();
        holds("a small ledger");
        assert!(!file.exists(), "a small ledger needs no file");
        for n in 0..20 {
            let trip = Record::new(Kind::Trip, json!({"why": "x".repeat(60_000)}));
            notes::append(
                &worktree,
                commits[n % 2],
                &[trip, run(Some("m2"), n as u64, 9)],
            )
            .unwrap();
        }
        holds("a large one");
        let bytes = std::fs::read(&file).unwrap();
        holds("read from the file");
        assert_eq!(std::fs::read(&file).unwrap(), bytes);

        // A record that a rebase carried along, and a new one with a new word: only what changed is read, and all of it counts once.
        notes::append(&worktree, commits[2], &[first, run(Some("m3"), 1, 9)]).unwrap();
        holds("grown");
        let grown = std::fs::read(&file).unwrap();
        assert_ne!(grown, bytes);
        repo.git(["notes", "--ref", notes::REF, "remove", "HEAD~2"]);
        holds("shrunk");

        for cut in [0, 1, grown.len() / 2, grown.len() - 1] {
            std::fs::write(&file, &grown[..cut]).unwrap();
            holds("cut off");
        }
        for at in (0..grown.len()).step_by(53) {
            let mut damaged = grown.clone();
            damaged[at] ^= 0x80;
            std::fs::write(&file, &damaged).unwrap();
            // Whatever it tells then: it is no error and no panic.
            spent::by(&worktree, By::Day, None, &BTreeMap::new()).unwrap();
            notes::newest(&worktree, 5, |_| true).unwrap();
        }
        forget(&worktree).unwrap();
        assert!(!file.exists());
        holds("made anew");
    }
}
