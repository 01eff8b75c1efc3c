//! Child processes: one at a time, in a group of its own under a subreaper, with deadlines, a bounded pump, and nothing left when it
//! is over, however it ended; and a crew of our own programs that do the same each for itself. It knows no agent, no check and no git; what the output means is the caller's.

mod capture;
mod crash;
mod crew;
mod identity;
mod lines;
mod pump;
mod signals;
mod supervise;
mod sweep;
mod tree;

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use capture::{HeadTail, capture};
pub(crate) use crash::kill_tree;
pub(crate) use crew::{Crew, Ear, Event, Member};
pub(crate) use identity::{Holder, Identity};
pub(crate) use lines::{Line, Lines};
pub(crate) use signals::{interrupted, watch_signals};
pub(crate) use supervise::run;

/// What to launch, with what, and for how long.
pub(crate) struct Spec {
    /// The program and its words; a name without `/` is looked up in the PATH of `env`.
    pub argv: Vec<OsString>,
    pub dir: PathBuf,
    /// The whole environment: nothing of ours is added or passed on.
    pub env: Vec<(OsString, OsString)>,
    pub stdin: Stdin,
    pub streams: Streams,
    /// Deadline of the whole launch.
    pub wall: Option<Duration>,
    /// Deadline since the last byte on stdout or stderr.
    pub idle: Option<Duration>,
    /// The polite signal.
    pub stop_signal: StopSignal,
    /// Time between the polite signal and SIGKILL.
    pub grace: Duration,
}

impl Spec {
    /// A launch with closed stdin, no deadline, SIGTERM and five seconds of grace.
    pub(crate) fn new<I, S>(
        argv: I,
        dir: impl Into<PathBuf>,
        env: Vec<(OsString, OsString)>,
    ) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            dir: dir.into(),
            env,
            stdin: Stdin::Null,
            streams: Streams::Apart,
            wall: None,
            idle: None,
            stop_signal: StopSignal::Term,
            grace: Duration::from_secs(5),
        }
    }
}

/// What the child reads.
pub(crate) enum Stdin {
    Null,
    /// Written as fast as the child reads; a child that never reads, or closes early, is no error.
    Bytes(Vec<u8>),
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for input that is too large to hold")
    )]
    File(File),
}

/// How the child's two output streams arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Streams {
    /// Two pipes: the order between them is lost.
    Apart,
    /// One pipe, as `2>&1`: everything in the order in which it was written, all of it [`Chunk::Out`].
    Merged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopSignal {
    Term,
    /// For agents that write their last result on SIGINT alone.
    Int,
}

/// Bytes as they came: any length up to the pump's buffer, cut anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chunk<'a> {
    Out(&'a [u8]),
    Err(&'a [u8]),
}

impl<'a> Chunk<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Out(bytes) | Self::Err(bytes) => bytes,
        }
    }
}

/// What the reader of the output says to each chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Go,
    /// A cap is reached: stop the child, politely first. What it still prints is passed on; later verdicts are ignored.
    Stop(String),
}

/// Why a launch is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Nothing was started: `not found: goose`.
    NotStarted(String),
    Exited(i32),
    /// A signal that we did not send.
    Signaled(i32),
    /// The wall deadline passed.
    Wall,
    /// The idle deadline passed.
    Idle,
    /// The reader of the output said so, for this reason.
    Stopped(String),
    /// We were told to stop by this signal; before the launch, when one was pending that nobody had asked for yet.
    Interrupted(i32),
}

/// How a launch went.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub how: How,
    /// The leader's exit code, whatever ended the launch; `None` when a signal ended it, or it never started.
    pub code: Option<i32>,
    pub duration: Duration,
    /// Processes that the leader left behind and that were ended.
    pub swept: usize,
    /// Processes that could not be ended (another user's, or stuck in the kernel).
    pub left: usize,
}

#[cfg(test)]
mod tests;
