//! One command of a check from its start to the end of all that it started: how it ended, the hash of what it printed, and the line that
//! says most. It knows no file and no outcome.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use sha2::{Digest as _, Sha256};

use crate::evidence::verify::Status;
use crate::judge::{check, without_color};
use crate::process::{self, Chunk, HeadTail, How, Line, Lines, Spec, Streams, Verdict};
use crate::secret;
use crate::text;
use crate::ui::{Tone, Ui};

/// Of the end of the output, in which the last line is looked for; bytes.
const TAIL: usize = 64 * 1024;
/// Of a line that is shown while the command runs; bytes.
const SHOWN_LINE: usize = 8 * 1024;
/// Of the line that is recorded; bytes.
const LONGEST: usize = 500;
/// What `timeout(1)` exits with.
const TIMED_OUT: i64 = 124;

/// How a command went.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    /// Its exit code; 128 + n for signal n, as a shell has it; 124 when its time was up.
    pub exit: i64,
    /// The last line that is not blank, redacted, and how it ended: `42 passed (exit 0)`.
    pub evidence: String,
    /// Of all that it printed, both streams as they came; hexadecimal.
    pub output_sha256: String,
    pub output_bytes: u64,
    pub duration: Duration,
}

impl Ran {
    pub(crate) fn status(&self) -> Status {
        if self.exit == 0 {
            Status::Passed
        } else {
            Status::Failed
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Run {
    Over(Ran),
    /// `not found: cargo`.
    NotStarted(String),
    /// We were told to stop, by this signal: no verdict.
    Interrupted(i32),
}

/// Runs `argv` in `dir` with the caller's environment, less what would point its git elsewhere. `echo` shows the output while it comes.
///
/// # Errors
/// When it could not be watched; never because it failed.
pub(crate) fn run(
    argv: &[String],
    dir: &Path,
    timeout: Duration,
    echo: Option<&Ui>,
) -> Result<Run> {
    let mut spec = Spec::new(argv, dir, check::callers(std::env::vars_os(), dir));
    spec.streams = Streams::Merged;
    spec.wall = Some(timeout);
    let (mut hash, mut bytes) = (Sha256::new(), 0_u64);
    let mut tail = HeadTail::with(0, TAIL);
    let mut shown = Lines::new(SHOWN_LINE);
    let mut show = |line: Line<'_>| {
        if let Some(ui) = echo {
            let more = if line.cut { " …" } else { "" };
            let line = without_color(line.bytes);
            ui.say(
                Tone::Plain,
                format!("{}{more}", String::from_utf8_lossy(&line)),
            );
        }
    };
    let end = process::run(spec, &mut |_| Ok(()), &mut |chunk: Chunk<'_>| {
        let chunk = chunk.bytes();
        hash.update(chunk);
        bytes += chunk.len() as u64;
        tail.push(chunk);
        shown.feed(chunk, &mut show);
        Verdict::Go
    })?;
    shown.finish(&mut show);
    let (exit, how) = match end.how {
        How::NotStarted(why) => return Ok(Run::NotStarted(why)),
        How::Interrupted(signal) => return Ok(Run::Interrupted(signal)),
        How::Exited(code) => (code.into(), format!("exit {code}")),
        How::Signaled(signal) => (128 + i64::from(signal), format!("signal {signal}")),
        How::Wall | How::Idle | How::Stopped(_) => (
            TIMED_OUT,
            format!("timed out after {}", check::span(timeout)),
        ),
    };
    Ok(Run::Over(Ran {
        exit,
        evidence: format!("{} ({how})", last_line(&tail.text())),
        output_sha256: text::hex(&hash.finalize()),
        output_bytes: bytes,
        duration: end.duration,
    }))
}

/// The last line that is not blank. The whole is redacted before it is cut: half a secret is not known as one.
fn last_line(output: &str) -> String {
    let plain = without_color(output.as_bytes());
    let plain = String::from_utf8_lossy(&plain);
    let clean = secret::redact(&plain);
    let mut lines = clean.split(['\n', '\r']).rev().map(str::trim);
    match lines.find(|line| !line.is_empty()) {
        Some(line) => text::ellipsis(&text::visible_line(line), LONGEST),
        None => "no output".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_is_not_blank_is_shown_as_text() {
        for (output, line) in [
            ("one\ntwo\n\n  \n", "two"),
            ("", "no output"),
            (" \n\u{feff}\n", "\u{feff}"),
            ("10%\r50%\r\x1b[32mdone\x1b[0m\r\n", "done"),
            ("a\u{1b}]0;x\u{7}b", "a<U+001B>]0;x<U+0007>b"),
        ] {
            assert_eq!(
                last_line(output),
                text::visible_line(line).replace("<U+FEFF>", &text::visible_line("\u{feff}")),
                "{output:?}"
            );
        }
        let long = last_line(&"é".repeat(900));
        assert!(long.len() <= LONGEST && long.ends_with('…'), "{long}");
    }

    #[test]
    fn how_a_command_ended_is_told_by_number_and_word() {
        let dir = tempfile::tempdir().unwrap();
        let go = |words: &[&str], seconds: u64| {
            let argv: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
            let timeout = Duration::from_secs(seconds);
            match run(&argv, dir.path(), timeout, None).unwrap() {
                Run::Over(ran) => (ran.exit, ran.evidence),
                other => (-1, format!("{other:?}")),
            }
        };
        let is = |exit: i64, evidence: &str| (exit, evidence.to_owned());
        assert_eq!(go(&["echo", "fine"], 60), is(0, "fine (exit 0)"));
        assert_eq!(
            go(&["sh", "-c", "echo no >&2; exit 3"], 60),
            is(3, "no (exit 3)")
        );
        assert_eq!(
            go(&["sh", "-c", "kill -9 $$"], 60),
            is(137, "no output (signal 9)")
        );
        assert_eq!(
            go(&["sleep", "60"], 1),
            is(124, "no output (timed out after 1s)")
        );
        assert_eq!(
            go(&["no-such-program"], 60),
            is(-1, "NotStarted(\"not found: no-such-program\")")
        );
    }
}
