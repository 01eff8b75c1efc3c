//! The scale a drift score is read on: the threshold of its alarm, fitted to the repository by scoring its own recent commits against their
//! own messages, each with the history before it. Takes a second or two: never on the way to a launch. What it finds is kept by commit.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use gix::bstr::ByteSlice;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::drift::{METHOD, Model, Score, THRESHOLD, VERSION, Verdict};
use super::history;
use crate::git::{Oid, Worktree};

/// Commits that are scored, and how far back they are looked for.
const COMMITS: usize = 80;
const LOOKED_AT: usize = 1_000;
/// What the published threshold weighs, in commits: a few own ones alone gave up to 20 % false alarms.
const PRIOR: f64 = 40.0;
const PERCENTILE: f64 = 0.05;
const MIN_SUBJECT: usize = 20;
const MAX_FILES: usize = 60;

/// Where the alarm is, and how this repository's recent commits score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scale {
    pub threshold: f64,
    /// The `z` of recent commits with their own messages, lowest first.
    pub recent: Vec<f64>,
}

/// The scale as it is kept: of which commits, by which method.
#[derive(Serialize, Deserialize)]
struct Kept {
    newest: String,
    method: String,
    version: u32,
    scale: Scale,
}

impl Default for Scale {
    fn default() -> Self {
        Self::fixed(THRESHOLD)
    }
}

impl Scale {
    /// The operator's own threshold, or the published one; nothing is known of this repository.
    pub(crate) fn fixed(threshold: f64) -> Self {
        Self {
            threshold,
            recent: Vec::new(),
        }
    }

    /// The scale of this repository as it was last fitted, the published one where it never was. Reads one small file.
    pub(crate) fn kept(worktree: &Worktree) -> Self {
        read(worktree).map_or_else(Self::default, |kept| kept.scale)
    }

    /// Fits the scale to the last usable commits before and at `base`, unless that was done for the same ones.
    pub(crate) fn fit(worktree: &Worktree, base: Oid) -> Result<Self> {
        let commits = usable(worktree, base)?;
        let Some(newest) = commits.first().map(|c| c.id.to_string()) else {
            return Ok(Self::default());
        };
        if let Some(kept) = read(worktree).filter(|kept| kept.newest == newest) {
            return Ok(kept.scale);
        }
        let mut recent = Vec::new();
        let diffs = diffs(worktree, &commits)?;
        for commit in &commits {
            // A shallow or partial clone may end here: what is missing is not counted.
            let Some(diff) = diffs.get(&commit.id) else {
                continue;
            };
            let Ok(model) = Model::at(worktree, Some(commit.parent)) else {
                continue;
            };
            let score = model.score(&commit.message, diff);
            recent.extend(score.z.filter(|_| score.verdict == Verdict::Measured));
        }
        let scale = Self::from_scores(recent);
        write(
            worktree,
            &Kept {
                newest,
                method: METHOD.to_owned(),
                version: VERSION,
                scale: scale.clone(),
            },
        )?;
        Ok(scale)
    }

    /// The own 5th percentile, held to the published threshold the more the fewer scores there are.
    fn from_scores(mut recent: Vec<f64>) -> Self {
        recent.sort_by(f64::total_cmp);
        let n = recent.len() as f64;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // the product is between 0 and the length
        let own = recent
            .get((n * PERCENTILE) as usize)
            .copied()
            .unwrap_or(THRESHOLD);
        Self {
            threshold: (n * own + PRIOR * THRESHOLD) / (n + PRIOR),
            recent,
        }
    }

    /// [`Score::to_json`] by this scale, with `lower_than` and `recent` (integers, or null where nothing is known): `z` is lower than that of
    /// `lower_than` of the `recent` commits that the threshold was fitted to.
    pub(crate) fn to_json(&self, score: &Score) -> Value {
        let lower_than = self.lower_than(score);
        let mut json = score.to_json(self.threshold);
        json["lower_than"] = lower_than.into();
        json["recent"] = lower_than.map(|_| self.recent.len()).into();
        json
    }

    /// Than how many of the recent commits' scores this one is lower; `None` where it must not be judged or none are known.
    pub(crate) fn lower_than(&self, score: &Score) -> Option<usize> {
        let z = score
            .z
            .filter(|_| score.verdict == Verdict::Measured && !self.recent.is_empty())?;
        Some(self.recent.iter().filter(|own| **own > z).count())
    }
}

struct Usable {
    id: Oid,
    parent: Oid,
    message: String,
}

/// The last commits whose message is a task somebody did: no merge, bot, bump, revert or one-word subject; no checkpoint, as what runs did is
/// what is to be judged by this scale.
fn usable(worktree: &Worktree, base: Oid) -> Result<Vec<Usable>> {
    let repo = worktree.repo()?;
    let mut found = Vec::new();
    for commit in history::walk(repo, base)?.take(LOOKED_AT) {
        let commit = commit.context("walking the history")?;
        let [parent] = commit.parent_ids[..] else {
            continue;
        };
        let object = commit.object()?;
        let message = object.message_raw()?;
        let subject = message
            .lines()
            .next()
            .unwrap_or_default()
            .to_str_lossy()
            .to_lowercase();
        let author = object.author()?.name.to_str_lossy().to_lowercase();
        let words: Vec<_> = subject
            .split(|c: char| !c.is_alphanumeric())
            .filter(|w| !w.is_empty())
            .take(3)
            .collect();
        let chore = words
            .iter()
            .any(|w| matches!(*w, "bump" | "bumps" | "revert" | "release" | "merge"));
        let bot = author
            .split(|c: char| !c.is_alphanumeric())
            .any(|w| matches!(w, "bot" | "dependabot" | "renovate"));
        if subject.len() >= MIN_SUBJECT
            && !chore
            && !bot
            && history::checkpoint_task(message).is_none()
        {
            let message = history::without_trailers(message)
                .to_str_lossy()
                .into_owned();
            found.push(Usable {
                id: commit.id,
                parent,
                message,
            });
        }
        if found.len() == COMMITS {
            break;
        }
    }
    Ok(found)
}

/// What each commit did, as a run's work is read; commits with more files than one task has are left out.
fn diffs(worktree: &Worktree, commits: &[Usable]) -> Result<HashMap<Oid, Vec<u8>>> {
    let list = |ids: &[Oid]| {
        ids.iter()
            .flat_map(|id| [id.to_string(), "\n".to_owned()])
            .collect::<String>()
    };
    // Files over a megabyte are diffed as binary ones: their words are nobody's task.
    let base = [
        "-c",
        "core.bigFileThreshold=1m",
        "diff-tree",
        "--stdin",
        "-r",
        "-M",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
    ];
    let all: Vec<Oid> = commits.iter().map(|commit| commit.id).collect();
    let names = worktree
        .git()
        .call(base)
        .arg("--name-only")
        .stdin(list(&all))
        .bytes()?;
    let few: Vec<Oid> = by_commit(&names)
        .into_iter()
        .filter(|(_, names)| names.lines().count() <= MAX_FILES)
        .map(|(id, _)| id)
        .collect();
    let diffs = worktree
        .git()
        .call(base)
        .args(["--stat", "-p", "-U2"])
        .stdin(list(&few))
        .bytes()?;
    Ok(by_commit(&diffs)
        .into_iter()
        .map(|(id, diff)| (id, diff.to_vec()))
        .collect())
}

/// Output of `diff-tree --stdin`: a line with the commit's name before what is said of it. No line of a diff or stat is one.
fn by_commit(output: &[u8]) -> Vec<(Oid, &[u8])> {
    let mut found: Vec<(Oid, usize, usize)> = Vec::new();
    let mut at = 0;
    for line in output.lines_with_terminator() {
        let end = at + line.len();
        match Oid::from_hex(line.trim_end()) {
            Ok(id) => found.push((id, end, end)),
            Err(_) => {
                if let Some(last) = found.last_mut() {
                    last.2 = end;
                }
            }
        }
        at = end;
    }
    found
        .into_iter()
        .map(|(id, start, end)| (id, &output[start..end]))
        .collect()
}

/// Shared by all worktrees; it can be lost without loss.
fn file(worktree: &Worktree) -> PathBuf {
    worktree
        .common_dir()
        .join("arkaint")
        .join("drift-scale.json")
}

fn read(worktree: &Worktree) -> Option<Kept> {
    let kept: Kept = serde_json::from_slice(&fs::read(file(worktree)).ok()?).ok()?;
    (kept.method == METHOD && kept.version == VERSION && kept.scale.threshold.is_finite())
        .then_some(kept)
}

fn write(worktree: &Worktree, kept: &Kept) -> Result<()> {
    let path = file(worktree);
    let folder = path.parent().context("naming a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let mut new = tempfile::NamedTempFile::new_in(folder).context("writing the drift scale")?;
    new.write_all(&serde_json::to_vec(kept)?)?;
    new.persist(&path).context("writing the drift scale")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_leans_on_the_published_one_while_scores_are_few() {
        assert!((Scale::from_scores(Vec::new()).threshold - THRESHOLD).abs() < 1e-9);
        let few = Scale::from_scores(vec![5.0; 10]).threshold;
        let many = Scale::from_scores(vec![5.0; 80]).threshold;
        assert!((few - (50.0 + 40.0 * THRESHOLD) / 50.0).abs() < 1e-9 && few < many && many < 5.0);
    }

    #[test]
    fn the_percentile_counts_the_scores_above() {
        let scale = Scale::from_scores(vec![3.0, 1.0, 2.0, 4.0]);
        let mut score = Score {
            method: METHOD,
            verdict: Verdict::Measured,
            cosine: None,
            z: Some(1.5),
            said: None,
            missing: Vec::new(),
        };
        assert_eq!(scale.lower_than(&score), Some(3));
        assert_eq!(Scale::default().lower_than(&score), None);
        score.verdict = Verdict::Unmeasured(super::super::drift::Reason::ShortTask);
        assert_eq!(scale.lower_than(&score), None);
    }

    #[test]
    fn diff_tree_output_is_split_at_commit_names_alone() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let output = format!("{a}\n f | 1 +\n+{b}\n {b}\n{b}\nx\n");
        let split = by_commit(output.as_bytes());
        let texts: Vec<_> = split
            .iter()
            .map(|(_, text)| text.to_str_lossy().into_owned())
            .collect();
        assert_eq!(texts, [format!(" f | 1 +\n+{b}\n {b}\n"), "x\n".to_owned()]);
    }

    /// A repository whose commits each add a module and name its words; git is the oracle of what they are.
    fn repository() -> (tempfile::TempDir, Worktree) {
        let folder = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let config = [
                "-c",
                "user.name=A",
                "-c",
                "user.email=a@example.invalid",
                "-c",
                "commit.gpgSign=false",
            ];
            let out = std::process::Command::new("git")
                .args(config)
                .args(args)
                .current_dir(&folder)
                .output()
                .unwrap();
            assert!(
                out.status.success(),
                "{}",
                String::from_utf8_lossy(&out.stderr)
            );
        };
        git(&["init", "-q"]);
        let words = [
            "parser", "socket", "shard", "retry", "rotation", "queue", "invoice", "ranking",
            "chunk", "cookie", "column", "webhook",
        ];
        for i in 0..40 {
            let [a, b, c] = [words[i % 12], words[(i + 5) % 12], words[(i * 7 + 3) % 12]];
            fs::write(
                folder.path().join(format!("{a}_{b}.rs")),
                format!("fn {a}_{i}() {{ {b}({c}) }}\n"),
            )
            .unwrap();
            git(&["add", "-A"]);
            let author = if i == 39 {
                "renovate[bot] <r@example.invalid>"
            } else {
                "A <a@example.invalid>"
            };
            git(&[
                "commit",
                "-q",
                "--author",
                author,
                "-m",
                &format!(
                    "{a}: connect the {b} with every {c} and keep their order\n\nModule {a} was alone so far."
                ),
            ]);
        }
        let worktree = Worktree::discover(folder.path()).unwrap();
        (folder, worktree)
    }

    #[test]
    fn own_commits_make_the_scale_and_it_is_kept() {
        let (_folder, worktree) = repository();
        let head = worktree.head().unwrap().unwrap();
        assert_eq!(Scale::kept(&worktree), Scale::default());
        let scale = Scale::fit(&worktree, head).unwrap();
        // Ten messages come before the first that is measured; the bot's is no task.
        assert_eq!(scale.recent.len(), 29);
        assert!(
            scale.recent.is_sorted() && scale.threshold > THRESHOLD,
            "{scale:?}"
        );
        let same = |other: &Scale| {
            other.recent.len() == 29 && (other.threshold - scale.threshold).abs() < 1e-9
        };
        assert!(same(&Scale::kept(&worktree)));
        // Kept by commit: nothing is scored again for the same ones, and a damaged file is as none.
        let text = fs::read_to_string(file(&worktree)).unwrap();
        fs::write(
            file(&worktree),
            text.replace(&format!("{}", scale.threshold), "1.5"),
        )
        .unwrap();
        assert!((Scale::fit(&worktree, head).unwrap().threshold - 1.5).abs() < 1e-9);
        fs::write(file(&worktree), "{").unwrap();
        assert!(same(&Scale::fit(&worktree, head).unwrap()));
    }
}
