//! The worktree's lock, handed to hardened calls of git: where we are killed alone, a git of ours that goes on holds it to its end, and
//! the next command waits. Nothing else that we start may inherit it: an agent, a test or a daemon of theirs would hold it for ever.

use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::io::{FdFlags, fcntl_setfd};

static LOCK: Mutex<Weak<File>> = Mutex::new(Weak::new());

/// From now on, and as long as `file` lives, hardened calls inherit it.
pub(crate) fn bequeath(file: &Arc<File>) {
    *LOCK.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(file);
}

/// Calls `start`, which starts one child, while the lock is inheritable. One at a time.
pub(super) fn with<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(file) = lock.upgrade() else {
        drop(lock);
        return start();
    };
    fcntl_setfd(&*file, FdFlags::empty())?;
    let started = start();
    fcntl_setfd(&*file, FdFlags::CLOEXEC)?;
    started
}
