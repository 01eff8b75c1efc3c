//! One launch from its start to the death of its last process. It reads the clock, not the output.

use std::io::{self, ErrorKind, pipe};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::identity::Identity;
use super::pump::Pump;
use super::signals::Listener;
use super::sweep::{Broom, Subreaper};
use super::{Chunk, End, How, Spec, Stdin, StopSignal, Streams, Verdict};

/// The longest sleep: should a wake-up be lost (a caller that blocks SIGCHLD), this is how late we are.
const TICK: Duration = Duration::from_secs(1);
/// After the leader's own end: for what it piped its last words through (`exec > >(tee log)`).
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Between SIGTERM and SIGKILL for what the leader left behind.
const LEFTOVER_GRACE: Duration = Duration::from_millis(500);
/// For the killed to go; longer than any process needs that is not stuck in the kernel.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

type Sink<'a> = &'a mut dyn FnMut(Chunk<'_>) -> Verdict;

/// Launches the child, passes its output to `sink` as it comes, and returns when the child and everything below it is gone.
/// `on_start` gets the child's identity before anything else happens; an error of it ends the launch. One launch at a time in this
/// process: a second thread waits, and `sink` must not launch anything itself.
///
/// # Errors
/// When the supervision itself fails (no pipe, no such folder); the child is gone then too. A program that cannot be started is a
/// [`How::NotStarted`].
pub(crate) fn run(
    spec: Spec,
    on_start: &mut dyn FnMut(&Identity) -> Result<()>,
    sink: Sink<'_>,
) -> Result<End> {
    let _alone = alone();
    let began = Instant::now();
    let ended = |how, code| End {
        how,
        code,
        duration: began.elapsed(),
        swept: 0,
        left: 0,
    };
    let listener = Listener::new()?;
    if let Some(signal) = listener.pending() {
        listener.told();
        return Ok(ended(How::Interrupted(signal), None));
    }
    let limits = Limits::of(&spec, began);
    let mut launch = match Launch::start(spec, listener)? {
        Ok(launch) => launch,
        Err(reason) => return Ok(ended(How::NotStarted(reason), None)),
    };
    on_start(&Identity::of_child(launch.leader.as_raw_nonzero().get()))?;
    let how = launch.until_over(&limits, sink)?;
    let hurry = match how {
        How::Exited(_) | How::Signaled(_) => {
            launch.hear_last_words(sink)?;
            false
        }
        _ => launch.stop(&limits, sink)?,
    };
    let (swept, left) = launch.clear_out(!hurry, &limits, sink)?;
    launch.drain(sink)?;
    let code = launch.code()?;
    if matches!(how, How::Interrupted(_)) {
        launch.listener.told();
    }
    launch.over = true;
    Ok(End {
        swept,
        left,
        ..ended(how, code)
    })
}

/// Held while a launch lasts: what is adopted meanwhile can belong to it alone.
pub(super) fn alone() -> MutexGuard<'static, ()> {
    static RUNNING: Mutex<()> = Mutex::new(());
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Limits {
    wall_at: Option<Instant>,
    idle: Option<Duration>,
    stop_signal: Signal,
    grace: Duration,
}

impl Limits {
    fn of(spec: &Spec, began: Instant) -> Self {
        Self {
            wall_at: spec.wall.and_then(|wall| began.checked_add(wall)),
            idle: spec.idle,
            stop_signal: match spec.stop_signal {
                StopSignal::Term => Signal::TERM,
                StopSignal::Int => Signal::INT,
            },
            grace: spec.grace,
        }
    }
}

/// A child that runs, or has ended and is not reaped yet: until the very end it holds its pid, so that its group's number stays its own.
struct Launch {
    child: Child,
    leader: Pid,
    pump: Pump,
    listener: Listener,
    subreaper: Subreaper,
    over: bool,
}

impl Launch {
    /// The inner error says in a few words why the program could not be started.
    fn start(spec: Spec, listener: Listener) -> Result<Result<Self, String>> {
        let Some((program, words)) = spec.argv.split_first() else {
            bail!("an empty command cannot be launched")
        };
        if !spec.dir.is_dir() {
            bail!("no such folder: {}", spec.dir.display());
        }
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(&spec.dir)
            .env_clear()
            .envs(spec.env)
            .process_group(0);
        let pump = connect(&mut command, spec.stdin, spec.streams).context("making pipes")?;
        let mut subreaper = Subreaper::new();
        let child = match spawn(&mut command) {
            Ok(child) => child,
            Err(error) => return Ok(Err(why_not(&error, Path::new(program), &spec.dir))),
        };
        // Our copies of the child's ends: a pipe is dry only when nobody holds the other one.
        drop(command);
        let leader = Pid::from_child(&child);
        subreaper.lead(leader);
        Ok(Ok(Self {
            child,
            leader,
            pump,
            listener,
            subreaper,
            over: false,
        }))
    }

    fn until_over(&mut self, limits: &Limits, sink: Sink<'_>) -> Result<How> {
        loop {
            if let Some(how) = self.ended()? {
                return Ok(how);
            }
            if let Some(signal) = self.listener.arrived() {
                return Ok(How::Interrupted(signal));
            }
            let now = Instant::now();
            let idle_at = limits
                .idle
                .and_then(|idle| self.pump.last_byte.checked_add(idle));
            if limits.wall_at.is_some_and(|at| at <= now) {
                return Ok(How::Wall);
            }
            if idle_at.is_some_and(|at| at <= now) {
                return Ok(How::Idle);
            }
            let next = limits.wall_at.into_iter().chain(idle_at).min();
            if let Some(reason) = self.turn(next.map_or(TICK, |at| at - now), sink)? {
                return Ok(How::Stopped(reason));
            }
        }
    }

    /// Asks the group to stop, gives it time, kills it. Returns whether the operator is in a hurry.
    fn stop(&mut self, limits: &Limits, sink: Sink<'_>) -> Result<bool> {
        let _ = kill_process_group(self.leader, limits.stop_signal);
        // One that stopped (it wanted the terminal, perhaps) hears nothing before it goes on.
        let _ = kill_process_group(self.leader, Signal::CONT);
        let mut hurry = false;
        let until = Instant::now().checked_add(limits.grace);
        while self.ended()?.is_none() && !hurry {
            let now = Instant::now();
            if until.is_some_and(|at| at <= now) {
                break;
            }
            self.turn(until.map_or(TICK, |at| at - now), sink)?;
            hurry = self.listener.arrived_again();
        }
        let _ = kill_process_group(self.leader, Signal::KILL);
        let until = Instant::now() + PATIENCE;
        while self.ended()?.is_none() && Instant::now() < until {
            self.turn(LOOK_AGAIN, sink)?;
        }
        Ok(hurry)
    }

    /// Waits a little for writers that will close the pipes by themselves now that the leader is gone.
    fn hear_last_words(&mut self, sink: Sink<'_>) -> Result<()> {
        let until = Instant::now() + LAST_WORDS;
        while !self.pump.is_dry() {
            let now = Instant::now();
            if now >= until {
                break;
            }
            self.turn(until - now, sink)?;
        }
        Ok(())
    }

    /// Ends all that the leader left behind: how many that were, and how many would not go.
    fn clear_out(
        &mut self,
        polite: bool,
        limits: &Limits,
        sink: Sink<'_>,
    ) -> Result<(usize, usize)> {
        let mut broom = Broom::new(if polite {
            limits.grace.min(LEFTOVER_GRACE)
        } else {
            Duration::ZERO
        });
        loop {
            match broom.stroke(self.leader, &self.subreaper) {
                0 => return Ok((broom.met.len(), usize::from(self.ended()?.is_none()))),
                left if broom.is_worn() => {
                    return Ok((broom.met.len() - left.min(broom.met.len()), left));
                }
                _ => self.turn(LOOK_AGAIN, sink)?,
            };
        }
    }

    /// What is still in the pipes. A writer that would not go cannot keep us here.
    fn drain(&mut self, sink: Sink<'_>) -> Result<()> {
        let until = Instant::now() + LAST_WORDS;
        loop {
            let before = self.pump.last_byte;
            self.turn(Duration::ZERO, sink)?;
            if self.pump.is_dry() || self.pump.last_byte == before || Instant::now() > until {
                return Ok(());
            }
        }
    }

    fn turn(&mut self, wait: Duration, sink: Sink<'_>) -> Result<Option<String>> {
        let stop = self
            .pump
            .turn(self.listener.as_fd(), wait.min(TICK), sink)
            .context("reading the output of a child")?;
        if self.listener.hush() {
            self.subreaper.reap();
        }
        Ok(stop)
    }

    /// Has the leader ended? It is not reaped by the question.
    fn ended(&self) -> Result<Option<How>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.leader), options).context("waiting for a child")?;
        Ok(status.and_then(|s| {
            s.exit_status()
                .map(How::Exited)
                .or(s.terminating_signal().map(How::Signaled))
        }))
    }

    /// Reaps the leader.
    fn code(&mut self) -> Result<Option<i32>> {
        let status = self.child.try_wait().context("waiting for a child")?;
        Ok(status.and_then(|status| status.code()))
    }
}

/// An error or a panic between start and end must not leave the child behind.
impl Drop for Launch {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let _ = kill_process_group(self.leader, Signal::KILL);
        let mut broom = Broom::new(Duration::ZERO);
        while (matches!(self.ended(), Ok(None)) || broom.stroke(self.leader, &self.subreaper) > 0)
            && !broom.is_worn()
        {
            std::thread::sleep(LOOK_AGAIN);
        }
        let _ = self.child.try_wait();
    }
}

/// Gives the child its ends of the pipes and keeps ours.
fn connect(command: &mut Command, stdin: Stdin, streams: Streams) -> io::Result<Pump> {
    let (out, child_out) = pipe()?;
    let err = match streams {
        Streams::Merged => {
            command.stderr(child_out.try_clone()?);
            None
        }
        Streams::Apart => {
            let (err, child_err) = pipe()?;
            command.stderr(child_err);
            Some(err)
        }
    };
    command.stdout(child_out);
    let packet = match stdin {
        Stdin::Null => {
            command.stdin(Stdio::null());
            None
        }
        Stdin::File(file) => {
            command.stdin(file);
            None
        }
        Stdin::Bytes(bytes) => {
            let (child_in, packet) = pipe()?;
            command.stdin(child_in);
            Some((packet, bytes))
        }
    };
    Pump::new(out, err, packet)
}

/// Starts the child. Somebody may be writing the program right now, if only because a process that another thread just forked
/// still holds our own descriptor of it: that passes.
pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
    let mut tries = 0..40;
    loop {
        match command.spawn() {
            Err(error)
                if error.kind() == ErrorKind::ExecutableFileBusy && tries.next().is_some() =>
            {
                std::thread::sleep(LOOK_AGAIN);
            }
            answer => return answer,
        }
    }
}

/// Why a program could not be started, in a few words.
fn why_not(error: &io::Error, program: &Path, dir: &Path) -> String {
    let name = program.display();
    match error.kind() {
        // The kernel says the same of a script and of the interpreter that its first line names.
        ErrorKind::NotFound if program.components().count() > 1 && dir.join(program).exists() => {
            format!("the interpreter of {name} is not there")
        }
        ErrorKind::NotFound => format!("not found: {name}"),
        ErrorKind::PermissionDenied => format!("not executable: {name}"),
        ErrorKind::ArgumentListTooLong => format!("too many or too long arguments for {name}"),
        _ => format!("{name} cannot be started: {error}"),
    }
}
