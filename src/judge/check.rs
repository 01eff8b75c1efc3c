//! The project's own checks: its tests and its spec check, run as the operator wrote them. What a red check means is decided elsewhere.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::tally::{Tally, without_color};
use crate::config::{Checkpoint, CommandLine};
use crate::process::{
    Chunk, End, HeadTail, How, Identity, Line, Lines, Spec, Streams, Verdict, run,
};
use crate::text;
use crate::ui::{Tone, Ui};

/// A log larger than this is no log; its end is marked, and the check goes on.
const LOG_MAX: u64 = 256 * 1024 * 1024;
/// Of a line that is shown while the check runs.
const SHOWN_LINE: usize = 8 * 1024;
const SPEC_SCRIPT: &str = "scripts/verify-spec.sh";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckKind {
    Test,
    Spec,
    /// What makes a fresh worktree usable: no check of the work.
    Setup,
}

/// One check to be run.
pub(crate) struct Check<'a> {
    pub kind: CheckKind,
    pub command: &'a CommandLine,
    /// Where it runs: the top of the worktree.
    pub dir: &'a Path,
    /// Variables added to the caller's (or put in their place).
    pub env_extra: &'a [(OsString, OsString)],
    /// argv of the sandbox, put before the command.
    pub wrapper: &'a [String],
    pub timeout: Duration,
    /// Where the whole output goes; a file that is there is replaced.
    pub log: Option<&'a Path>,
    /// Shows the output while it comes.
    pub echo: Option<&'a Ui>,
}

/// How a check went.
#[derive(Clone, Debug)]
pub(crate) struct CheckRun {
    pub kind: CheckKind,
    /// It exited 0, and no runner said that it ran nothing.
    pub passed: bool,
    /// `exit 101`, `signal 9`, `timed out after 30m`, `not found: bash`, `interrupted by signal 2`.
    pub how: String,
    /// Beginning and end of what it printed, both streams in the order in which they were written; neither redacted nor made visible.
    pub output: String,
    /// The runner that said that no test ran.
    pub ran_nothing: Option<&'static str>,
    /// The signal that told us, not the check, to stop: no verdict then.
    pub interrupted: Option<i32>,
    pub duration: Duration,
    /// Processes that it left behind and that were ended.
    pub swept: usize,
}

impl CheckRun {
    /// The last `lines` lines of the output, blank ones at the end left out.
    pub(crate) fn tail(&self, lines: usize) -> String {
        let all: Vec<_> = self.output.trim_end().lines().collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}

/// The configured spec check, else the project's `scripts/verify-spec.sh`, if there is one.
pub(crate) fn spec_command(config: &Checkpoint, worktree_root: &Path) -> Option<CommandLine> {
    if let Some(command) = &config.spec {
        return Some(command.clone());
    }
    let script = fs::metadata(worktree_root.join(SPEC_SCRIPT))
        .ok()
        .filter(fs::Metadata::is_file)?;
    let executable = script.permissions().mode() & 0o111 != 0;
    let words = if executable {
        vec![format!("./{SPEC_SCRIPT}")]
    } else {
        vec!["bash".to_owned(), SPEC_SCRIPT.to_owned()]
    };
    Some(CommandLine::Argv(words))
}

/// Runs `check` to its end, which is also the end of everything that it started. `on_start` is told the process for the journal.
///
/// # Errors
/// When it could not be watched or its log could not be written; never because it failed.
pub(crate) fn run_check(
    check: &Check<'_>,
    on_start: &mut dyn FnMut(&Identity) -> Result<()>,
) -> Result<CheckRun> {
    let argv = argv(check.command, check.wrapper);
    ensure!(!argv.is_empty(), "an empty command cannot be a check");
    let mut spec = Spec::new(argv, check.dir, environment(std::env::vars_os(), check));
    spec.streams = Streams::Merged;
    spec.wall = Some(check.timeout);

    let mut kept = HeadTail::new();
    let mut log = check.log.map(Log::create).transpose()?;
    let mut tally = Tally::default();
    let (mut summary_lines, mut shown_lines) = (Lines::new(Tally::LONGEST), Lines::new(SHOWN_LINE));
    let mut read = |line: Line<'_>| {
        if check.kind == CheckKind::Test && !line.cut {
            tally.line(line.bytes);
        }
    };
    let mut show = |line: Line<'_>| {
        if let Some(ui) = check.echo {
            let more = if line.cut { " …" } else { "" };
            ui.say(
                Tone::Plain,
                format!(
                    "{}{more}",
                    String::from_utf8_lossy(&without_color(line.bytes))
                ),
            );
        }
    };
    let end = run(spec, on_start, &mut |chunk: Chunk<'_>| {
        let bytes = chunk.bytes();
        kept.push(bytes);
        summary_lines.feed(bytes, &mut read);
        shown_lines.feed(bytes, &mut show);
        match log.as_mut().map(|log| log.write(bytes)) {
            Some(Err(error)) => Verdict::Stop(error.to_string()),
            _ => Verdict::Go,
        }
    })?;
    summary_lines.finish(&mut read);
    shown_lines.finish(&mut show);
    if let Some(log) = log {
        log.close()?;
    }
    Ok(judged(
        check,
        &end,
        kept.text(),
        tally.nothing_ran(end.code.unwrap_or(-1)),
    ))
}

fn judged(
    check: &Check<'_>,
    end: &End,
    output: String,
    ran_nothing: Option<&'static str>,
) -> CheckRun {
    let ran_nothing = ran_nothing.filter(|_| matches!(end.how, How::Exited(_)));
    CheckRun {
        kind: check.kind,
        passed: end.how == How::Exited(0) && ran_nothing.is_none(),
        how: match &end.how {
            How::NotStarted(reason) | How::Stopped(reason) => reason.clone(),
            How::Exited(code) => format!("exit {code}"),
            How::Signaled(signal) => format!("signal {signal}"),
            How::Wall | How::Idle => format!("timed out after {}", span(check.timeout)),
            How::Interrupted(signal) => format!("interrupted by signal {signal}"),
        },
        output,
        ran_nothing,
        interrupted: if let How::Interrupted(signal) = end.how {
            Some(signal)
        } else {
            None
        },
        duration: end.duration,
        swept: end.swept,
    }
}

/// The words that run `command`, behind those of the sandbox; none for an empty command.
pub(crate) fn argv(command: &CommandLine, wrapper: &[String]) -> Vec<String> {
    let words = match command {
        CommandLine::Bash(script) => vec![
            "bash".to_owned(),
            "-c".to_owned(),
            format!("set -euo pipefail\n{script}"),
        ],
        CommandLine::Argv(words) => words.clone(),
    };
    if words.is_empty() {
        words
    } else {
        [wrapper, &words].concat()
    }
}

/// The caller's environment without what would point a command's git at the operator's repository, or hand it the operator's permission.
pub(crate) fn callers(
    caller: impl Iterator<Item = (OsString, OsString)>,
    dir: &Path,
) -> Vec<(OsString, OsString)> {
    let withheld = |name: &OsString| {
        name.as_encoded_bytes().starts_with(b"GIT_")
            || name == "ARKAINT_ALLOW_INFRA_EDIT"
            || name == "ARKAINT_BIN"
            || name == "PWD"
    };
    let mut env: Vec<_> = caller.filter(|(name, _)| !withheld(name)).collect();
    env.push(("PWD".into(), dir.into()));
    env
}

fn environment(
    caller: impl Iterator<Item = (OsString, OsString)>,
    check: &Check<'_>,
) -> Vec<(OsString, OsString)> {
    let given = |name: &OsString| check.env_extra.iter().any(|(extra, _)| extra == name);
    let mut env = callers(caller, check.dir);
    env.retain(|(name, _)| !given(name));
    env.extend(check.env_extra.iter().cloned());
    env
}

/// `90s`, `30m`, `2h`: as it is written in the configuration.
pub(crate) fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        _ if duration.subsec_millis() > 0 => format!("{}ms", duration.as_millis()),
        0 => "0s".to_owned(),
        _ if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        _ if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

/// The whole output on disk, for its owner alone.
struct Log<'a> {
    path: &'a Path,
    file: File,
    room: u64,
    trouble: Option<io::Error>,
}

impl<'a> Log<'a> {
    /// A new file, never one that is there: that could be a link to somewhere else.
    fn create(path: &'a Path) -> Result<Self> {
        let fresh = || {
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path)
        };
        let file = fs::remove_file(path)
            .or_else(|e| {
                if e.kind() == ErrorKind::NotFound {
                    Ok(())
                } else {
                    Err(e)
                }
            })
            .and_then(|()| fresh());
        let file = file.with_context(|| format!("creating {}", path.display()))?;
        Ok(Self {
            path,
            file,
            room: LOG_MAX,
            trouble: None,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.room == 0 || self.trouble.is_some() {
            return Ok(());
        }
        let fits = bytes
            .len()
            .min(usize::try_from(self.room).unwrap_or(usize::MAX));
        self.room -= fits as u64;
        let mut written = self.file.write_all(&bytes[..fits]);
        if self.room == 0 && written.is_ok() {
            written = writeln!(
                self.file,
                "\n[the rest is left out: the log is capped at {}]",
                text::human_bytes(LOG_MAX)
            );
        }
        written.map_err(|error| {
            let again = io::Error::from(error.kind());
            self.trouble = Some(error);
            again
        })
    }

    fn close(self) -> Result<()> {
        match self.trouble {
            Some(error) => Err(error).with_context(|| format!("writing {}", self.path.display())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
