//! The three pipes of a child, moved by one poll in bounded memory: no thread can hang on them, and no child on us.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};

use super::{Chunk, Verdict};

const BUFFER: usize = 64 * 1024;

/// Our ends of the pipes. `None` once the other side is gone.
pub(super) struct Pump {
    out: Option<PipeReader>,
    err: Option<PipeReader>,
    packet: Option<Packet>,
    buffer: Vec<u8>,
    /// When the last byte of output came; at first, when the pump began.
    pub last_byte: Instant,
}

/// What the child is still to read.
struct Packet {
    pipe: PipeWriter,
    bytes: Vec<u8>,
    written: usize,
}

impl Pump {
    pub(super) fn new(
        out: PipeReader,
        err: Option<PipeReader>,
        packet: Option<(PipeWriter, Vec<u8>)>,
    ) -> io::Result<Self> {
        ioctl_fionbio(&out, true)?;
        if let Some(err) = &err {
            ioctl_fionbio(err, true)?;
        }
        if let Some((pipe, _)) = &packet {
            ioctl_fionbio(pipe, true)?;
        }
        let packet = packet
            .filter(|(_, bytes)| !bytes.is_empty())
            .map(|(pipe, bytes)| Packet {
                pipe,
                bytes,
                written: 0,
            });
        Ok(Self {
            out: Some(out),
            err,
            packet,
            buffer: vec![0; BUFFER],
            last_byte: Instant::now(),
        })
    }

    /// Waits until something can be moved, `waker` rings or `wait` is over, and moves it: at most one buffer a stream, so that a child
    /// which prints for ever cannot keep its supervisor from looking at the clock. Returns what the sink asked to stop for.
    pub(super) fn turn(
        &mut self,
        waker: BorrowedFd<'_>,
        wait: Duration,
        sink: &mut dyn FnMut(Chunk<'_>) -> Verdict,
    ) -> io::Result<Option<String>> {
        let [out, err, packet] = self.poll(waker, wait)?;
        if packet {
            self.feed();
        }
        let mut stop = None;
        let mut pass_on = |verdict| {
            if let Verdict::Stop(reason) = verdict {
                stop.get_or_insert(reason);
            }
        };
        if out && let Some(length) = read(&mut self.out, &mut self.buffer)? {
            self.last_byte = Instant::now();
            pass_on(sink(Chunk::Out(&self.buffer[..length])));
        }
        if err && let Some(length) = read(&mut self.err, &mut self.buffer)? {
            self.last_byte = Instant::now();
            pass_on(sink(Chunk::Err(&self.buffer[..length])));
        }
        Ok(stop)
    }

    /// Have all writers closed both streams?
    pub(super) fn is_dry(&self) -> bool {
        self.out.is_none() && self.err.is_none()
    }

    /// Which of output, errors and input can be moved.
    fn poll(&self, waker: BorrowedFd<'_>, wait: Duration) -> io::Result<[bool; 3]> {
        let pipes = [
            self.out.as_ref().map(|pipe| (pipe.as_fd(), PollFlags::IN)),
            self.err.as_ref().map(|pipe| (pipe.as_fd(), PollFlags::IN)),
            self.packet
                .as_ref()
                .map(|packet| (packet.pipe.as_fd(), PollFlags::OUT)),
        ];
        let open = pipes.iter().flatten();
        let mut fds = vec![PollFd::from_borrowed_fd(waker, PollFlags::IN)];
        fds.extend(open.map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)));
        let wait = Timespec::try_from(wait).map_err(|_| Errno::INVAL)?;
        match poll(&mut fds, Some(&wait)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok([false; 3]),
            Err(errno) => return Err(errno.into()),
        }
        let mut answers = fds[1..].iter().map(|fd| !fd.revents().is_empty());
        Ok(pipes.map(|pipe| pipe.is_some() && answers.next().unwrap_or(false)))
    }

    /// Writes what fits. A child that closed its stdin has read enough.
    fn feed(&mut self) {
        let Some(packet) = &mut self.packet else {
            return;
        };
        match packet.pipe.write(&packet.bytes[packet.written..]) {
            Ok(length) => packet.written += length,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.packet = None,
        }
        if self
            .packet
            .as_ref()
            .is_some_and(|p| p.written == p.bytes.len())
        {
            self.packet = None;
        }
    }
}

/// One read; a stream at its end is closed.
fn read(stream: &mut Option<PipeReader>, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let Some(pipe) = stream else { return Ok(None) };
    match pipe.read(buffer) {
        Ok(0) => {
            *stream = None;
            Ok(None)
        }
        Ok(length) => Ok(Some(length)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
