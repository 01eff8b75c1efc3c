//! SIGINT, SIGTERM and SIGHUP to us: noted, never acted on here. While somebody watches they do not end the process; otherwise
//! they do what they always did.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use signal_hook::SigId;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

/// `timeout` and some service managers send the same signal twice in a row, to the process and to its group; that is one wish, not two.
const SAME_WISH: Duration = Duration::from_millis(200);

/// The handlers of this process: installed once, on standby (the default action) whenever nobody watches.
struct Handlers {
    signals: Vec<i32>,
    last: Arc<AtomicUsize>,
    /// A signal came and neither [`interrupted`] nor a launch has told anybody yet.
    untold: Arc<AtomicBool>,
    standby: Arc<AtomicBool>,
    watchers: Mutex<usize>,
}

static HANDLERS: OnceLock<Handlers> = OnceLock::new();

impl Handlers {
    fn get() -> Result<&'static Self> {
        static INSTALLING: Mutex<()> = Mutex::new(());
        let _once = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handlers) = HANDLERS.get() {
            return Ok(handlers);
        }
        let handlers = Self::install().context("installing signal handlers")?;
        Ok(HANDLERS.get_or_init(|| handlers))
    }

    fn install() -> io::Result<Self> {
        let mut signals = vec![SIGINT, SIGTERM];
        // nohup: the operator wants the night to go on when the terminal closes.
        if !is_ignored(SIGHUP) {
            signals.push(SIGHUP);
        }
        let handlers = Self {
            signals,
            last: Arc::default(),
            untold: Arc::default(),
            standby: Arc::new(AtomicBool::new(true)),
            watchers: Mutex::new(0),
        };
        for &signal in &handlers.signals {
            signal_hook::flag::register_usize(
                signal,
                Arc::clone(&handlers.last),
                signal.unsigned_abs() as usize,
            )?;
            signal_hook::flag::register(signal, Arc::clone(&handlers.untold))?;
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&handlers.standby))?;
        }
        Ok(handlers)
    }

    fn last(&self) -> Option<i32> {
        i32::try_from(self.last.load(Ordering::SeqCst))
            .ok()
            .filter(|signal| *signal != 0)
    }
}

/// While this lives, the signals are only noted; when the last one goes, they end the process again.
pub(crate) struct Watch(&'static Handlers);

/// Starts watching; for a whole cycle, so that no step between two launches is cut in half.
pub(crate) fn watch_signals() -> Result<Watch> {
    let handlers = Handlers::get()?;
    let mut watchers = handlers
        .watchers
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    *watchers += 1;
    handlers.standby.store(false, Ordering::SeqCst);
    Ok(Watch(handlers))
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watchers = self
            .0
            .watchers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *watchers -= 1;
        self.0.standby.store(*watchers == 0, Ordering::SeqCst);
    }
}

/// The last signal that asked us to stop; it stays. Whoever has been told can still launch what winding down needs: only a further
/// signal interrupts that.
pub(crate) fn interrupted() -> Option<i32> {
    let handlers = HANDLERS.get()?;
    handlers.untold.store(false, Ordering::SeqCst);
    handlers.last()
}

/// One launch's ear: which signals came since it began, and a descriptor that wakes a poll, also when a child ends.
pub(super) struct Listener {
    watch: Watch,
    flags: Vec<(i32, Arc<AtomicBool>)>,
    wake: UnixStream,
    actions: Vec<SigId>,
    first: Option<Instant>,
}

impl Listener {
    pub(super) fn new() -> Result<Self> {
        let watch = watch_signals()?;
        let (wake, ring) = UnixStream::pair().context("making a wake-up pipe")?;
        wake.set_nonblocking(true)
            .context("making a wake-up pipe")?;
        let flags = watch
            .0
            .signals
            .iter()
            .map(|signal| (*signal, Arc::default()))
            .collect();
        let mut listener = Self {
            watch,
            flags,
            wake,
            actions: Vec::new(),
            first: None,
        };
        listener.register(&ring).context("listening for signals")?;
        Ok(listener)
    }

    /// The flag first, then the wake-up: who wakes must see the flag. A handler for SIGCHLD also undoes an inherited "ignore", under
    /// which the kernel would throw exit codes away.
    fn register(&mut self, ring: &UnixStream) -> io::Result<()> {
        for (signal, flag) in &self.flags {
            self.actions
                .push(signal_hook::flag::register(*signal, Arc::clone(flag))?);
            self.actions.push(signal_hook::low_level::pipe::register(
                *signal,
                ring.try_clone()?,
            )?);
        }
        self.actions.push(signal_hook::low_level::pipe::register(
            SIGCHLD,
            ring.try_clone()?,
        )?);
        Ok(())
    }

    /// A signal that came before this launch and that nobody was told of.
    pub(super) fn pending(&self) -> Option<i32> {
        let handlers = self.watch.0;
        if handlers.untold.load(Ordering::SeqCst) {
            handlers.last()
        } else {
            None
        }
    }

    /// The first signal to come.
    pub(super) fn arrived(&mut self) -> Option<i32> {
        let signal = self.take()?;
        self.first = Some(Instant::now());
        Some(signal)
    }

    /// Did another one come after [`Self::arrived`] gave the first? Then the operator is in a hurry.
    pub(super) fn arrived_again(&mut self) -> bool {
        match (self.take(), self.first) {
            (Some(_), Some(first)) => first.elapsed() >= SAME_WISH,
            (Some(_), None) => {
                self.first = Some(Instant::now());
                false
            }
            (None, _) => false,
        }
    }

    /// The caller will be told by the end of this launch.
    pub(super) fn told(&self) {
        self.watch.0.untold.store(false, Ordering::SeqCst);
    }

    /// Empties the wake-up pipe; did it ring?
    pub(super) fn hush(&self) -> bool {
        let mut bytes = [0; 64];
        let mut rang = false;
        while matches!((&self.wake).read(&mut bytes), Ok(1..)) {
            rang = true;
        }
        rang
    }

    fn take(&self) -> Option<i32> {
        let mut came = None;
        for (signal, flag) in &self.flags {
            if flag.swap(false, Ordering::SeqCst) {
                came = Some(*signal);
            }
        }
        came
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        for action in self.actions.drain(..) {
            signal_hook::low_level::unregister(action);
        }
    }
}

/// Was `signal` ignored by whoever started us? Known on Linux alone.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = mask
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    bits >> (signal - 1) & 1 == 1
}
