//! One cycle as a program of its own: how it is started, what it says, and what its end means. It writes no record.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::records::State;
use crate::exit::Exit;
use crate::git::Worktree;
use crate::process::{Ear, How, Member};
use crate::ui::Ui;

/// What a cycle is started with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work<'a> {
    pub task: &'a str,
    pub profile: &'a str,
    pub agent: Option<&'a str>,
    pub provider: Option<&'a str>,
    pub model: Option<&'a str>,
    pub red: bool,
}

/// What a cycle said while it ran.
#[derive(Debug, Default)]
struct Said {
    /// Its one document.
    document: Value,
    /// The last cause that it named.
    cause: String,
}

/// The listener of one cycle's output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard(Arc<Mutex<Said>>);

impl Heard {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it ended, in one line.
    pub(crate) fn line(&self, how: &How) -> String {
        let said = self.said();
        match (said.document.get("line").and_then(Value::as_str), how) {
            (_, How::Signaled(signal)) => format!("its worker was killed by signal {signal}"),
            (Some(line), _) => line.to_owned(),
            (None, _) if !said.cause.is_empty() => said.cause.clone(),
            (None, How::Exited(code)) => format!("it ended with exit {code}"),
            (None, How::Interrupted(_)) => "interrupted as it began".to_owned(),
            (None, how) => format!("{how:?}"),
        }
    }

    /// Tokens of its launches, where its document tells.
    pub(crate) fn tokens(&self) -> Value {
        self.said()
            .document
            .get("tokens")
            .cloned()
            .unwrap_or_default()
    }
}

/// The argv of the cycle: this very program, in the worktree, the task on standard input.
pub(crate) fn argv(root: &Path, work: &Work<'_>, ui: &Ui) -> Result<Vec<OsString>> {
    let me = std::env::current_exe().context("finding this program")?;
    let mut argv: Vec<OsString> = vec![me.into(), "-C".into(), root.into()];
    argv.extend(["--json", "--color", "never"].map(OsString::from));
    argv.extend(ui.switches().into_iter().map(OsString::from));
    argv.extend(["cycle", "--task-file", "-", "--profile", work.profile].map(OsString::from));
    for (switch, value) in [
        ("--agent", work.agent),
        ("--provider", work.provider),
        ("--model", work.model),
    ] {
        argv.extend(
            value
                .into_iter()
                .flat_map(|value| [switch, value])
                .map(OsString::from),
        );
    }
    if work.red {
        argv.push("--red".into());
    }
    Ok(argv)
}

/// The cycle to be started. What it says is shown, with `mark` before each line where several talk, and kept in `dispatch.log` of the worktree's
/// git directory.
pub(crate) fn member(
    there: &Worktree,
    work: &Work<'_>,
    mark: Option<&str>,
    ui: &Ui,
) -> Result<(Member, Heard)> {
    let heard = Heard::default();
    let log = log(there)?;
    let member = Member {
        argv: argv(there.root(), work, ui)?,
        dir: there.root().to_owned(),
        stdin: work.task.as_bytes().to_vec(),
        out: document(heard.clone()),
        err: talk(heard.clone(), log, mark.map(str::to_owned), ui.clone()),
    };
    Ok((member, heard))
}

fn log(there: &Worktree) -> Result<File> {
    let folder = there.state_dir();
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let path = folder.join("dispatch.log");
    let mut options = OpenOptions::new();
    let file = options.create(true).append(true).mode(0o600).open(&path);
    file.with_context(|| format!("opening {}", path.display()))
}

fn document(heard: Heard) -> Ear {
    Box::new(move |line| {
        if let Ok(document) = serde_json::from_slice(line.bytes) {
            heard.said().document = document;
        }
    })
}

fn talk(heard: Heard, mut log: File, mark: Option<String>, ui: Ui) -> Ear {
    Box::new(move |line| {
        let text = String::from_utf8_lossy(line.bytes);
        // A log that cannot be written, on a full disk, must not end the night's work.
        let _ = writeln!(log, "{text}");
        if let Some(cause) = text.strip_prefix("arkaint: ") {
            cause.clone_into(&mut heard.said().cause);
        }
        match &mark {
            Some(mark) => ui.pass_on(format!("{mark} | {text}")),
            None => ui.pass_on(text),
        }
    })
}

/// What the end of a cycle means for its dispatch, and for the exit code of the command.
pub(crate) fn verdict(how: &How) -> (State, Exit) {
    match how {
        How::Exited(0) => (State::Done, Exit::Done),
        How::Exited(1) => (State::Failed, Exit::CheckFailed),
        How::Exited(2) => (State::Failed, Exit::Refused),
        How::Exited(3) => (State::Held, Exit::Person),
        How::Exited(4) => (State::Failed, Exit::Locked),
        How::Exited(5) => (State::Budget, Exit::Budget),
        How::Exited(code @ 129..=159) => {
            let signal = u8::try_from(code - 128).unwrap_or(2);
            (State::Interrupted, Exit::Interrupted(signal))
        }
        How::Interrupted(signal) => {
            let signal = u8::try_from(*signal).unwrap_or(2);
            (State::Interrupted, Exit::Interrupted(signal))
        }
        How::Signaled(_) => (State::Killed, Exit::Person),
        _ => (State::Failed, Exit::Person),
    }
}

/// The state of a dispatch that came to this exit without a cycle of its own.
pub(crate) fn state_of(exit: Exit) -> State {
    match exit {
        Exit::Interrupted(_) => State::Interrupted,
        Exit::Done => State::Done,
        Exit::Budget => State::Budget,
        Exit::CheckFailed | Exit::Refused | Exit::Person | Exit::Locked => State::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Line;

    #[test]
    fn every_exit_of_a_cycle_has_its_state_and_keeps_its_code() {
        for (code, state) in [
            (0, State::Done),
            (1, State::Failed),
            (2, State::Failed),
            (3, State::Held),
            (4, State::Failed),
            (5, State::Budget),
            (130, State::Interrupted),
            (143, State::Interrupted),
        ] {
            let (found, exit) = verdict(&How::Exited(code));
            assert_eq!((found, i32::from(exit.code())), (state, code));
        }
        assert_eq!(verdict(&How::Signaled(9)), (State::Killed, Exit::Person));
        let told = (State::Interrupted, Exit::Interrupted(15));
        assert_eq!(verdict(&How::Interrupted(15)), told);
        assert_eq!(verdict(&How::Exited(101)), (State::Failed, Exit::Person));
    }

    #[test]
    fn a_document_speaks_before_a_cause_and_a_kill_before_both() {
        let heard = Heard::default();
        let done = How::Exited(2);
        assert_eq!(heard.line(&done), "it ended with exit 2");
        let mut err = talk(
            heard.clone(),
            tempfile::tempfile().unwrap(),
            None,
            Ui::new(true, false, false, crate::cli::Color::Never),
        );
        for text in ["arkaint: a merge is under way", "hint: git merge --abort"] {
            err(Line {
                bytes: text.as_bytes(),
                cut: false,
            });
        }
        assert_eq!(heard.line(&done), "a merge is under way");
        document(heard.clone())(Line {
            bytes: br#"{"line":"stopped","tokens":7}"#,
            cut: false,
        });
        assert_eq!(heard.line(&done), "stopped");
        assert_eq!(heard.tokens(), 7);
        assert!(heard.line(&How::Signaled(9)).contains("signal 9"));
    }
}
