//! `explain --drift`: JSON lines `{"task", "did"}` in, one drift score a line out, in order and as they come. It judges no run.
//!
//! `did` is `git diff --stat` and a unified diff, possibly cut (other text counts as it stands). A line may name its own history with
//! `"rev"`; else `--rev` or HEAD does: only commits reachable from it, and the paths of its tree, weigh the words. Plain output is `z`,
//! also for a pair that must not be judged (a short task, a young history), so that pairs can be ranked; `nan` where the task or the
//! diff has no word at all. A closing message, `"said"`, is scored apart, in the JSON. `--json` has the whole score of each line, and says `unmeasured` and why.

use std::collections::HashMap;
use std::io::BufRead;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use crate::decay::{Model, THRESHOLD};
use crate::exit::{Exit, Refusal};
use crate::git::{Oid, Worktree};
use crate::ui::Ui;

/// Models kept while a stream changes its revision back and forth.
const MODELS: usize = 16;

#[derive(Deserialize)]
struct Pair {
    task: Text,
    did: Text,
    said: Option<Text>,
    rev: Option<String>,
}

/// A JSON string as bytes: diffs of files that are not UTF-8 arrive with lone surrogates, which a `String` refuses.
struct Text(Vec<u8>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Text;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Text, E> {
                Ok(Text(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// Scores standard input to its end.
pub(crate) fn run(worktree: &Worktree, rev: Option<&str>, ui: &Ui) -> Result<Exit> {
    let base = match rev {
        Some(rev) => Some(resolve(worktree, rev)?),
        None => worktree.head()?,
    };
    let mut models: HashMap<Option<Oid>, Model> = HashMap::new();
    let mut stdin = std::io::stdin().lock();
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        if stdin
            .read_until(b'\n', &mut line)
            .context("reading standard input")?
            == 0
        {
            break;
        }
        let pair: Pair = serde_json::from_slice(&line).map_err(|e| {
            Refusal::new(
                format!("line {number} of standard input is no JSON object with \"task\" and \"did\": {e}"),
                "echo '{\"task\":\"...\",\"did\":\"...\"}' | git arkaint explain --drift",
            )
        })?;
        let at = match &pair.rev {
            Some(rev) => Some(resolve(worktree, rev)?),
            None => base,
        };
        if !models.contains_key(&at) {
            if models.len() == MODELS {
                models.clear();
            }
            models.insert(at, Model::at(worktree, at)?);
        }
        let (model, task) = (&models[&at], String::from_utf8_lossy(&pair.task.0));
        let mut score = model.score(&task, &pair.did.0);
        score.said = pair
            .said
            .and_then(|said| model.said(&task, &String::from_utf8_lossy(&said.0)));
        if ui.is_json() {
            // The published threshold, not one fitted to commits that `--rev` may not see.
            ui.json(&score.to_json(THRESHOLD));
        } else {
            ui.out(
                score
                    .z
                    .map_or_else(|| "nan".to_owned(), |z| format!("{z:.6}")),
            );
        }
    }
    Ok(Exit::Done)
}

fn resolve(worktree: &Worktree, rev: &str) -> Result<Oid> {
    let commit = worktree
        .repo()?
        .rev_parse_single(rev)
        .ok()
        .and_then(|id| id.object().ok()?.peel_to_commit().ok());
    let unknown = || {
        Refusal::new(
            format!("{rev} names no commit here"),
            "git log --oneline -5",
        )
    };
    Ok(commit.ok_or_else(unknown)?.id)
}
