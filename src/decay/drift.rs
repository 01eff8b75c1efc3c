//! Context drift: how alike a task and what a run did are, in a vector space weighted by the repository's own words. No model, no network.
//! Pure: texts in, numbers out; `history` reads the texts. It raises a signal with its evidence and decides nothing.
//!
//! A diff names its task in fragments: the words that matter are those that are rare in this repository. So terms are weighted by
//! how few commit messages and paths hold them (IDF), and the cosine of task and diff is set against the cosines of the last
//! hundred commit messages with the same diff: `z` says how far the task stands out from what else this diff could have been for.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use serde_json::{Value, json};

use super::{diff, terms};
use crate::secret;

/// The name and version of the method in every record; only scores of the same method and version may be compared.
pub(crate) const METHOD: &str = "lexical";
pub(crate) const VERSION: u32 = 1;
/// Alarm below this `z` (4.8 % false alarms over twelve public repositories with tasks of eight terms and more).
pub(crate) const THRESHOLD: f64 = 0.84;

/// Messages that the background is made of.
const BACKGROUND: usize = 100;
const MIN_TASK_TERMS: usize = 8;
const MIN_MESSAGES: usize = 10;
/// Keeps `z` finite and steady where all messages are about equally far.
pub(super) const DEVIATION_FLOOR: f64 = 0.02;
/// Mean and deviation that stand in for a background of too few messages. Such a score is never judged; they only keep its number
/// on the scale of the others, for whoever ranks pairs.
const TYPICAL_BACKGROUND: (f64, f64) = (0.03, 0.04);
const MISSING_SHOWN: usize = 8;

/// What this repository's own words weigh, and what its recent commits were about.
pub(crate) struct Model {
    documents: f64,
    /// In how many documents each term is.
    frequency: Vector,
    /// The vectors of the last messages, newest first, as tasks, each of length 1.
    background: Vec<Vec<(u64, f64)>>,
}

/// How alike a task and what was done are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Score {
    /// How it was measured: [`METHOD`], or by which configured model.
    pub method: &'static str,
    pub verdict: Verdict,
    /// Similarity of task and diff, 0 to 1; `None` where one of them has no terms.
    pub cosine: Option<f64>,
    /// The cosine in standard deviations over the background; lower = further from the task.
    pub z: Option<f64>,
    /// The closing message's own `z`, never part of the diff's.
    pub said: Option<f64>,
    /// Terms of the task that the diff lacks, the repository's rarest first.
    pub missing: Vec<String>,
}

/// May the score be judged?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Measured,
    Unmeasured(Reason),
}

/// Why a score must not be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    EmptyDiff,
    ShortTask,
    ShortHistory,
}

impl Reason {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::EmptyDiff => "the diff is empty",
            Self::ShortTask => "the task has fewer than 8 distinct terms",
            Self::ShortHistory => "the history has fewer than 10 commit messages",
        }
    }
}

/// Keys are hashes already; hashing them by a fixed rule also makes the order of every sum, and so every last digit, the same each time.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("the keys are u64")
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

type Vector = HashMap<u64, f64, BuildHasherDefault<Identity>>;

impl Model {
    /// A model of the repository whose newest commit messages (newest first) and tracked paths these are. Each is one document.
    pub(crate) fn from_documents(messages: &[String], paths: &[String]) -> Self {
        let mut frequency = Vector::default();
        let mut counted = Vec::with_capacity(messages.len().min(BACKGROUND));
        for (i, message) in messages.iter().enumerate() {
            let counts = count_text(message);
            for key in counts.keys() {
                *frequency.entry(*key).or_default() += 1.0;
            }
            if i < BACKGROUND {
                counted.push(counts);
            }
        }
        let mut distinct = HashSet::new();
        for path in paths {
            distinct.clear();
            terms::each(path.as_bytes(), |term| {
                distinct.insert(term.key);
            });
            for key in &distinct {
                *frequency.entry(*key).or_default() += 1.0;
            }
        }
        let mut model = Self {
            documents: (messages.len() + paths.len()) as f64,
            frequency,
            background: Vec::new(),
        };
        model.background = counted
            .into_iter()
            .map(|counts| {
                let vector = model.task_vector(&counts);
                let length = length(&vector);
                vector
                    .into_iter()
                    .filter(|_| length > 0.0)
                    .map(|(key, value)| (key, value / length))
                    .collect()
            })
            .collect();
        model
    }

    /// Scores `diff` (`git diff --stat` and unified diffs, possibly cut; other text counts as it stands) against `task`.
    pub(crate) fn score(&self, task: &str, diff: &[u8]) -> Score {
        // In pieces and lower case, as terms are recorded, a secret would no longer be known as one.
        let task = &*secret::redact(task);
        let counts = count_text(task);
        let task_vector = self.task_vector(&counts);
        let did = self.diff_vector(diff);
        let (cosine, z) = self.compare(&task_vector, &did).unzip();
        let verdict = if did.is_empty() {
            Verdict::Unmeasured(Reason::EmptyDiff)
        } else if counts.len() < MIN_TASK_TERMS {
            Verdict::Unmeasured(Reason::ShortTask)
        } else if self.background.len() < MIN_MESSAGES {
            Verdict::Unmeasured(Reason::ShortHistory)
        } else {
            Verdict::Measured
        };
        Score {
            method: METHOD,
            verdict,
            cosine,
            z,
            said: None,
            missing: self.missing(task, &did),
        }
    }

    /// The `z` of a closing message against the task. Scored apart: a message that merely repeats the task would hide a foreign diff.
    pub(crate) fn said(&self, task: &str, message: &str) -> Option<f64> {
        let mut said = Vector::default();
        add_weighted(&mut said, 1.0, message.as_bytes());
        self.weigh_diff(&mut said);
        self.compare(&self.task_vector(&count_text(task)), &said)
            .map(|(_, z)| z)
    }

    /// Cosine and z; `None` where there is nothing to compare.
    fn compare(&self, task: &Vector, did: &Vector) -> Option<(f64, f64)> {
        let (task_length, did_length) = (length(task), length(did));
        if task_length == 0.0 || did_length == 0.0 {
            return None;
        }
        let dot = |sum: f64, (key, value): (&u64, &f64)| {
            sum + did.get(key).map_or(0.0, |did| did * value)
        };
        let cosine = task.iter().fold(0.0, dot) / task_length / did_length;
        let others: Vec<f64> = self
            .background
            .iter()
            .map(|message| {
                message
                    .iter()
                    .fold(0.0, |sum, (key, value)| dot(sum, (key, value)))
                    / did_length
            })
            .collect();
        let (mean, deviation) = if others.len() < MIN_MESSAGES {
            TYPICAL_BACKGROUND
        } else {
            mean_and_deviation(&others)
        };
        Some((cosine, (cosine - mean) / (deviation + DEVIATION_FLOOR)))
    }

    fn idf(&self, key: u64) -> f64 {
        ((self.documents + 1.0) / (self.frequency.get(&key).copied().unwrap_or_default() + 0.5))
            .ln()
    }

    fn task_vector(&self, counts: &Vector) -> Vector {
        counts
            .iter()
            .map(|(key, count)| (*key, (1.0 + count.ln()) * self.idf(*key)))
            .collect()
    }

    fn diff_vector(&self, diff: &[u8]) -> Vector {
        let mut counts = Vector::default();
        if !diff::each_piece(diff, |weight, text| add_weighted(&mut counts, weight, text)) {
            add_weighted(&mut counts, 1.0, diff);
        }
        self.weigh_diff(&mut counts);
        counts
    }

    fn weigh_diff(&self, counts: &mut Vector) {
        for (key, count) in counts {
            *count = (1.0 + *count).ln() * self.idf(*key);
        }
    }

    /// The task's terms that `did` lacks, highest IDF first, as the task spells them.
    fn missing(&self, task: &str, did: &Vector) -> Vec<String> {
        let mut seen = HashSet::new();
        let mut missing = Vec::new();
        terms::each(task.as_bytes(), |term| {
            if seen.insert(term.key) && !did.contains_key(&term.key) {
                missing.push((self.idf(term.key), &task[term.start..term.end]));
            }
        });
        missing.sort_by(|a, b| b.0.total_cmp(&a.0));
        missing
            .into_iter()
            .take(MISSING_SHOWN)
            .map(|(_, word)| word.to_lowercase())
            .collect()
    }
}

impl Score {
    /// Is this a signal of drift? Never for what must not be judged.
    pub(crate) fn alarms(&self, threshold: f64) -> bool {
        self.verdict == Verdict::Measured && self.z.is_some_and(|z| z < threshold)
    }

    /// The fields of a score in records and in `explain --drift --json`:
    ///
    /// | field | type | meaning |
    /// | --- | --- | --- |
    /// | `method` | string | how it was measured: `lexical`, `command` or `url` |
    /// | `version` | integer | version of the method; compare only scores of the same method and version |
    /// | `verdict` | string | `measured`, or `unmeasured` where the score must not be judged |
    /// | `reason` | string or null | why it is unmeasured |
    /// | `cosine` | number or null | similarity of task and diff, 0 to 1; null where one of them has no terms |
    /// | `z` | number or null | the cosine in deviations over recent commit messages; lower is further from the task |
    /// | `threshold` | number | the `z` below which it is an alarm |
    /// | `alarm` | boolean | measured, and `z` below the threshold |
    /// | `said` | number or null | the `z` of the closing message; high while `z` is low is a finding of its own |
    /// | `missing` | array of strings | the rarest terms of the task that the diff lacks, at most 8 |
    ///
    /// Where the scale was fitted to the repository, [`super::Scale::to_json`] adds `lower_than` and `recent`.
    pub(crate) fn to_json(&self, threshold: f64) -> Value {
        let (verdict, reason) = match self.verdict {
            Verdict::Measured => ("measured", None),
            Verdict::Unmeasured(reason) => ("unmeasured", Some(reason.as_str())),
        };
        json!({
            "method": self.method,
            "version": VERSION,
            "verdict": verdict,
            "reason": reason,
            "cosine": self.cosine.map(rounded),
            "z": self.z.map(rounded),
            "threshold": rounded(threshold),
            "alarm": self.alarms(threshold),
            "said": self.said.map(rounded),
            "missing": self.missing,
        })
    }
}

/// Six decimals are more than the measure is worth, and keep records short.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn count_text(text: &str) -> Vector {
    let mut counts = Vector::default();
    add_weighted(&mut counts, 1.0, text.as_bytes());
    counts
}

fn add_weighted(counts: &mut Vector, weight: f64, text: &[u8]) {
    terms::each(text, |term| *counts.entry(term.key).or_default() += weight);
}

fn length(vector: &Vector) -> f64 {
    vector.values().map(|v| v * v).sum::<f64>().sqrt()
}

pub(super) fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (
        mean,
        (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> Model {
        let subjects = [
            "parser: accept nested groups in query strings",
            "server: close idle connections after a deadline",
            "docs: explain the retry policy of the client",
            "cache: evict entries by last use",
            "client: retry on connection reset",
            "parser: report the column of a syntax error",
            "server: log slow requests with their route",
            "build: pin the compiler version",
            "cache: count hits and misses per shard",
            "tests: cover unicode in query strings",
            "client: send a user agent header",
            "server: limit the size of request bodies",
        ];
        let paths = [
            "src/parser.rs",
            "src/server.rs",
            "src/cache.rs",
            "src/client.rs",
            "docs/retry.md",
            "tests/query.rs",
        ];
        Model::from_documents(&subjects.map(str::to_owned), &paths.map(str::to_owned))
    }

    const CACHE_TASK: &str =
        "Evict cache entries that were not read for an hour, and count evictions per shard";
    const CACHE_DIFF: &str = " src/cache.rs | 6 +++++-\n 1 file changed\n\ndiff --git a/src/cache.rs b/src/cache.rs\n--- a/src/cache.rs\n+++ b/src/cache.rs\n@@ -10,2 +10,4 @@ impl Shard {\n     fn evict(&mut self) {\n-        self.entries.clear();\n+        let hour = Duration::from_secs(3600);\n+        self.evictions += self.entries.retain_read_within(hour);\n     }\n";
    const SERVER_DIFF: &str = "diff --git a/src/server.rs b/src/server.rs\n--- a/src/server.rs\n+++ b/src/server.rs\n@@ -1,1 +1,2 @@\n listen();\n+self.route.log_slow(request);\n";

    #[test]
    fn the_right_diff_stands_out_and_a_foreign_one_alarms() {
        let (right, foreign) = (
            model().score(CACHE_TASK, CACHE_DIFF.as_bytes()),
            model().score(CACHE_TASK, SERVER_DIFF.as_bytes()),
        );
        assert_eq!(
            (right.verdict, foreign.verdict),
            (Verdict::Measured, Verdict::Measured)
        );
        assert!(right.z > Some(2.0) && !right.alarms(THRESHOLD), "{right:?}");
        assert!(
            foreign.z < Some(THRESHOLD) && foreign.alarms(THRESHOLD),
            "{foreign:?}"
        );
        assert!(foreign.missing.contains(&"evict".to_owned()), "{foreign:?}");
        assert!(!right.missing.contains(&"evict".to_owned()), "{right:?}");
    }

    #[test]
    fn what_cannot_be_judged_is_unmeasured_and_never_a_number_to_act_on() {
        let reason = |task: &str, diff: &str| model().score(task, diff.as_bytes()).verdict;
        assert_eq!(
            reason(CACHE_TASK, ""),
            Verdict::Unmeasured(Reason::EmptyDiff)
        );
        assert_eq!(
            reason("fix the cache", CACHE_DIFF),
            Verdict::Unmeasured(Reason::ShortTask)
        );
        assert_eq!(
            reason("", CACHE_DIFF),
            Verdict::Unmeasured(Reason::ShortTask)
        );
        assert_eq!(
            reason("\u{4fee}\u{590d}\u{7f13}\u{5b58}", CACHE_DIFF),
            Verdict::Unmeasured(Reason::ShortTask)
        );
        let young = Model::from_documents(&["start".to_owned()], &["README.md".to_owned()])
            .score(CACHE_TASK, CACHE_DIFF.as_bytes());
        assert_eq!(young.verdict, Verdict::Unmeasured(Reason::ShortHistory));
        assert!(young.z > Some(0.0) && !young.alarms(100.0));
        let none = Model::from_documents(&[], &[]).score("", b"");
        assert_eq!((none.cosine, none.z), (None, None));
        assert_eq!(none.to_json(THRESHOLD)["verdict"], "unmeasured");
        assert_eq!(none.to_json(THRESHOLD)["z"], Value::Null);
    }

    #[test]
    fn a_closing_message_that_repeats_the_task_does_not_help_the_diff() {
        let model = model();
        let said = model.said(CACHE_TASK, "Done: cache entries not read for an hour are evicted; evictions are counted per shard.");
        let did = model.score(CACHE_TASK, SERVER_DIFF.as_bytes());
        assert!(
            said > Some(3.0) && did.z < Some(THRESHOLD),
            "{said:?} {did:?}"
        );
        assert_eq!(model.said(CACHE_TASK, ""), None);
    }

    #[test]
    fn scores_repeat_to_the_last_digit() {
        let z = || {
            model()
                .score(CACHE_TASK, CACHE_DIFF.as_bytes())
                .z
                .map(f64::to_bits)
        };
        assert_eq!(z(), z());
    }

    #[test]
    fn a_line_of_ten_megabytes_is_read_like_its_head() {
        let long = "minified_word ".repeat(750_000);
        let diff = format!("{CACHE_DIFF}@@ -20,0 +30,1 @@\n+{long}\n");
        let short = format!("{CACHE_DIFF}@@ -20,0 +30,1 @@\n+{}\n", &long[..4096]);
        let model = model();
        assert_eq!(
            model.score(CACHE_TASK, diff.as_bytes()),
            model.score(CACHE_TASK, short.as_bytes())
        );
    }
}
