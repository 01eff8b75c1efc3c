//! Context drift by a configured embedding model: `drift.command`, or `drift.url` through curl. JSON lines `{"text": ...}` in, a JSON array of
//! numbers a line out, in order. It changes the numbers of a score, never whether there may be one; what it is told is redacted.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use super::drift::{DEVIATION_FLOOR, Score, Verdict, mean_and_deviation};
use super::history;
use crate::config;
use crate::git::{Oid, Worktree};
use crate::judge::check;
use crate::process::{self, Chunk, How, Spec, Stdin, Streams};
use crate::secret;
use crate::text;

/// Messages that the background is made of: fewer than the built-in measure takes, as each costs the model time.
const BACKGROUND: usize = 40;
/// What a model is shown of the change, bytes.
const DIFF_SHOWN: usize = 6_000;
const DEADLINE: Duration = Duration::from_secs(60);
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// A configured model.
pub(crate) struct Embedder {
    method: &'static str,
    argv: Vec<String>,
}

impl Embedder {
    /// The model of this configuration, if there is one.
    pub(crate) fn of(drift: &config::Drift) -> Option<Self> {
        if let Some(argv) = drift.command.clone().filter(|argv| !argv.is_empty()) {
            return Some(Self {
                method: "command",
                argv,
            });
        }
        let url = drift.url.as_ref()?;
        let curl = [
            "curl",
            "--disable",
            "--noproxy",
            "localhost,127.0.0.1,::1",
            "--silent",
            "--show-error",
            "--fail",
            "--proto",
            "=http,https",
            "--max-time",
            "60",
            "--header",
            "Content-Type: application/x-ndjson",
            "--data-binary",
            "@-",
            "--url",
            url,
        ];
        Some(Self {
            method: "url",
            argv: curl.map(str::to_owned).to_vec(),
        })
    }

    /// Puts the model's numbers into a score: cosine, `z` over recent messages of `base`, and the closing message's own `z`. `words` are the
    /// task and the closing message. A score that must not be judged stays as it is.
    ///
    /// # Errors
    /// When the model cannot be started, fails, takes longer than a minute, or answers otherwise; the score is as it was.
    pub(crate) fn rescore(
        &self,
        worktree: &Worktree,
        base: Oid,
        score: &mut Score,
        [task, said]: [&str; 2],
        diff: &[u8],
    ) -> Result<()> {
        if score.verdict != Verdict::Measured {
            return Ok(());
        }
        let diff = String::from_utf8_lossy(&diff[..diff.len().min(4 * DIFF_SHOWN)]).into_owned();
        let diff = text::cut_on_line(&diff, DIFF_SHOWN).0;
        let mut texts = vec![task.to_owned(), diff.to_owned(), said.to_owned()];
        texts.extend(
            history::messages(worktree.repo()?, base)?
                .into_iter()
                .take(BACKGROUND),
        );
        let vectors = self.embed(worktree.root(), &texts)?;
        let (task, rest) = vectors.split_first().context("a task is always sent")?;
        let [did, words, background @ ..] = rest else {
            bail!("too few vectors");
        };
        let z = |vector: &[f64]| {
            let others: Vec<f64> = background
                .iter()
                .map(|other| cosine(other, vector))
                .collect();
            let (mean, deviation) = mean_and_deviation(&others);
            (cosine(task, vector) - mean) / (deviation + DEVIATION_FLOOR)
        };
        score.method = self.method;
        score.cosine = Some(cosine(task, did));
        score.z = Some(z(did));
        score.said = (!said.trim().is_empty()).then(|| z(words));
        Ok(())
    }

    /// A vector for each text, all of one length.
    fn embed(&self, dir: &Path, texts: &[String]) -> Result<Vec<Vec<f64>>> {
        let name = format!("drift.{}", self.method);
        let lines = texts
            .iter()
            .map(|text| json!({"text": secret::redact(text)}).to_string() + "\n");
        let argv = self.argv.iter().map(OsString::from);
        let spec = Spec {
            stdin: Stdin::Bytes(lines.collect::<String>().into_bytes()),
            streams: Streams::Apart,
            wall: Some(DEADLINE),
            ..Spec::new(argv, dir, check::callers(std::env::vars_os(), dir))
        };
        let (mut answer, mut complaint) = (Vec::new(), Vec::new());
        let end = process::run(spec, &mut |_| Ok(()), &mut |chunk| {
            let kept = match chunk {
                Chunk::Out(_) => &mut answer,
                Chunk::Err(_) => &mut complaint,
            };
            kept.extend_from_slice(chunk.bytes());
            if kept.len() > MAX_ANSWER {
                return process::Verdict::Stop("it answers without end".to_owned());
            }
            process::Verdict::Go
        })?;
        let complaint = String::from_utf8_lossy(&complaint);
        let said = complaint
            .lines()
            .rfind(|line| !line.trim().is_empty())
            .unwrap_or_default();
        let said = text::ellipsis(&text::visible_line(said), 200);
        match end.how {
            How::Exited(0) => {}
            How::Exited(code) => bail!("{name} failed (exit {code}): {said}"),
            How::Wall => bail!("{name} took longer than {} s", DEADLINE.as_secs()),
            How::NotStarted(why) => bail!("{name}: {why}"),
            other => bail!("{name} ended by {other:?}: {said}"),
        }
        let vectors: Vec<Vec<f64>> = String::from_utf8_lossy(&answer)
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()
            .with_context(|| format!("{name}: a line is no JSON array of numbers"))?;
        ensure!(
            vectors.len() == texts.len(),
            "{name}: {} texts were sent, {} vectors came back",
            texts.len(),
            vectors.len()
        );
        let length = vectors.first().map_or(0, Vec::len);
        ensure!(
            length > 0 && vectors.iter().all(|vector| vector.len() == length),
            "{name}: the vectors are not of one length"
        );
        Ok(vectors)
    }
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 {
        dot(a, b) / lengths
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(script: &str) -> Embedder {
        let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
        Embedder::of(&config::Drift {
            command: Some(argv),
            ..config::Drift::default()
        })
        .unwrap()
    }

    fn embed(script: &str) -> Result<Vec<Vec<f64>>, String> {
        let texts = ["one".to_owned(), "two\nlines".to_owned()];
        let folder = tempfile::tempdir().unwrap();
        let vectors = command(script).embed(folder.path(), &texts);
        vectors.map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_line_in_is_a_vector_out_and_every_other_answer_is_refused_by_name() {
        let good = r#"while read -r line; do case $line in '{"text":"one"}') echo '[1, 0]';; *) echo '[0, 2.5]';; esac; done"#;
        assert_eq!(embed(good).unwrap(), [[1.0, 0.0], [0.0, 2.5]]);
        for (script, why) in [
            (
                "echo '[1]'",
                "drift.command: 2 texts were sent, 1 vectors came back",
            ),
            (
                "echo '[1]'; echo '[1,2]'",
                "drift.command: the vectors are not of one length",
            ),
            (
                "echo; echo '[]'; echo '[]'",
                "drift.command: the vectors are not of one length",
            ),
            (
                "echo no; exit 0",
                "drift.command: a line is no JSON array of numbers",
            ),
            (
                "echo 'no model' >&2; exit 3",
                "drift.command failed (exit 3): no model",
            ),
        ] {
            let said = embed(script).unwrap_err();
            assert!(said.starts_with(why), "{said}");
        }
    }

    #[test]
    fn a_url_is_asked_by_curl_and_nothing_said_asks_nobody() {
        assert!(Embedder::of(&config::Drift::default()).is_none());
        let drift = config::Drift {
            url: Some("http://127.0.0.1:1/embed".to_owned()),
            ..config::Drift::default()
        };
        let embedder = Embedder::of(&drift).unwrap();
        assert_eq!((embedder.method, &*embedder.argv[0]), ("url", "curl"));
        assert_eq!(embedder.argv.last().unwrap(), "http://127.0.0.1:1/embed");
    }

    #[test]
    fn cosines_know_no_length() {
        assert!((cosine(&[1.0, 1.0], &[3.0, 3.0]) - 1.0).abs() < 1e-12);
        assert!(cosine(&[0.0, 0.0], &[3.0, 3.0]).abs() < 1e-12);
    }
}
