//! Several programs of our own at once, each of which supervises what it starts itself. Here: start them, hand on what they say line by line,
//! pass on the signals that we get, and say who ended and how. It has no deadlines, and ends nobody of its own accord.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek as _, Write as _, pipe};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

use super::signals::Listener;
use super::supervise::{alone, spawn};
use super::{How, Line, Lines};

/// The longest sleep, should a wake-up be lost.
const TICK: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};
/// After a member's end: for what still holds its output.
const LAST_WORDS: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Of one line that is handed on.
const LONGEST: usize = 1 << 20;

/// Gets each line as it comes; called by a thread of the stream's own.
pub(crate) type Ear = Box<dyn FnMut(Line<'_>) + Send>;

/// A program to start.
pub(crate) struct Member {
    pub argv: Vec<OsString>,
    pub dir: PathBuf,
    /// What it reads on standard input.
    pub stdin: Vec<u8>,
    pub out: Ear,
    pub err: Ear,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The member with this number is gone: [`How::Exited`] or [`How::Signaled`].
    Ended(usize, How),
    /// This signal came to us, and was passed on to every member.
    Interrupted(i32),
}

struct Running {
    number: usize,
    child: Child,
    ears: Vec<JoinHandle<()>>,
}

/// Those who are at work.
pub(crate) struct Crew {
    listener: Listener,
    running: Vec<Running>,
    started: usize,
}

impl Crew {
    /// Nobody yet; from now on signals are noted and passed on, not obeyed.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            listener: Listener::new()?,
            running: Vec::new(),
            started: 0,
        })
    }

    /// How many are at work.
    pub(crate) fn len(&self) -> usize {
        self.running.len()
    }

    /// Starts one with our own environment, in a process group of its own, so that Ctrl-C reaches it through us alone. Returns its number.
    pub(crate) fn start(&mut self, member: Member) -> Result<usize> {
        // While a launch lasts, a process that appears below us would be taken for a part of it.
        let _alone = alone();
        let Some((program, words)) = member.argv.split_first() else {
            bail!("an empty command cannot be started")
        };
        let (out, child_out) = pipe().context("making a pipe")?;
        let (err, child_err) = pipe().context("making a pipe")?;
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(&member.dir)
            .stdin(holding(&member.stdin).context("writing what a program reads")?)
            .stdout(child_out)
            .stderr(child_err)
            .process_group(0);
        let child = spawn(&mut command)
            .with_context(|| format!("starting {}", program.to_string_lossy()))?;
        // Our copies of the child's ends of the pipes.
        drop(command);
        let ears = vec![listen(out, member.out), listen(err, member.err)];
        self.started += 1;
        self.running.push(Running {
            number: self.started,
            child,
            ears,
        });
        Ok(self.started)
    }

    /// Waits for the next event; `None` when nobody is at work.
    pub(crate) fn wait(&mut self) -> Result<Option<Event>> {
        while !self.running.is_empty() {
            self.listener.hush();
            if let Some(signal) = self.listener.arrived() {
                self.listener.told();
                self.pass_on(signal);
                return Ok(Some(Event::Interrupted(signal)));
            }
            for at in 0..self.running.len() {
                let status = self.running[at].child.try_wait();
                if let Some(status) = status.context("waiting for a child")? {
                    let ended = self.running.swap_remove(at);
                    hear_out(&ended.ears);
                    return Ok(Some(Event::Ended(ended.number, how(status))));
                }
            }
            let mut wake = [PollFd::new(&self.listener, PollFlags::IN)];
            match poll(&mut wake, Some(&TICK)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error).context("waiting for children"),
            }
        }
        Ok(None)
    }

    /// To the member alone: it winds down what it started itself.
    fn pass_on(&self, signal: i32) {
        let Some(signal) = Signal::from_named_raw(signal) else {
            return;
        };
        for member in &self.running {
            let _ = kill_process(Pid::from_child(&member.child), signal);
        }
    }
}

fn how(status: ExitStatus) -> How {
    match (status.code(), status.signal()) {
        (Some(code), _) => How::Exited(code),
        (None, signal) => How::Signaled(signal.unwrap_or_default()),
    }
}

/// A nameless file with these bytes: the child reads as it likes, and nobody waits for it.
fn holding(bytes: &[u8]) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

fn listen(mut pipe: impl Read + Send + 'static, mut ear: Ear) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let (mut lines, mut buffer) = (Lines::new(LONGEST), vec![0; 64 * 1024]);
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => lines.feed(&buffer[..n], &mut ear),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        lines.finish(&mut ear);
    })
}

/// Something that outlived the member may hold its output open: it cannot keep us here.
fn hear_out(ears: &[JoinHandle<()>]) {
    let until = Instant::now() + LAST_WORDS;
    while !ears.iter().all(JoinHandle::is_finished) && Instant::now() < until {
        std::thread::sleep(LOOK_AGAIN);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    fn member(script: &str, heard: &Arc<Mutex<Vec<(&'static str, String)>>>) -> Member {
        let ear = |stream: &'static str| -> Ear {
            let heard = Arc::clone(heard);
            Box::new(move |line| {
                let text = String::from_utf8_lossy(line.bytes).into_owned();
                heard.lock().unwrap().push((stream, text));
            })
        };
        Member {
            argv: ["sh", "-c", script].map(OsString::from).to_vec(),
            dir: std::env::temp_dir(),
            stdin: b"in\n".to_vec(),
            out: ear("out"),
            err: ear("err"),
        }
    }

    #[test]
    fn members_run_at_once_and_each_end_is_told_with_all_that_was_said() {
        let heard = Arc::default();
        let mut crew = Crew::new().unwrap();
        assert_eq!(crew.wait().unwrap(), None);
        let slow = crew
            .start(member("sleep 0.3; echo late >&2; exit 7", &heard))
            .unwrap();
        let quick = crew
            .start(member("read x; echo got $x; kill -9 $$", &heard))
            .unwrap();
        assert_eq!(crew.len(), 2);
        let first = crew.wait().unwrap();
        assert_eq!(first, Some(Event::Ended(quick, How::Signaled(9))));
        let second = crew.wait().unwrap();
        assert_eq!(second, Some(Event::Ended(slow, How::Exited(7))));
        assert_eq!(crew.wait().unwrap(), None);
        let heard = heard.lock().unwrap();
        let expected = [("out", "got in"), ("err", "late")];
        assert_eq!(
            *heard,
            expected.map(|(stream, text)| (stream, text.to_owned()))
        );
    }

    #[test]
    fn what_outlives_a_member_and_holds_its_output_keeps_nobody_waiting() {
        let heard = Arc::default();
        let mut crew = Crew::new().unwrap();
        let began = Instant::now();
        crew.start(member("sleep 30 & exit 0", &heard)).unwrap();
        assert!(matches!(
            crew.wait().unwrap(),
            Some(Event::Ended(_, How::Exited(0)))
        ));
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let mut none = member("", &Arc::default());
        none.argv = vec!["/nowhere/at/all".into()];
        let error = Crew::new().unwrap().start(none).unwrap_err();
        assert!(format!("{error:#}").contains("/nowhere/at/all"));
    }
}
