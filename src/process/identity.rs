//! Which process it was: a pid alone names another process tomorrow.

use serde::{Deserialize, Serialize};

use super::tree::Entry;

/// A process for the journal: nothing else on this machine ever had, or will have, the same three.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub pid: i32,
    /// Clock ticks between boot and its start (0 where the system does not tell).
    pub start_time: u64,
    /// The boot that the ticks count from (empty where the system does not tell).
    pub boot: String,
}

impl Identity {
    /// The process that has `pid` now.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        Entry::of(pid).map(|entry| Self {
            pid,
            start_time: entry.start_time,
            boot: boot(),
        })
    }

    /// Of our own child, which must exist until we reap it, so that there is an answer on every system.
    pub(super) fn of_child(pid: i32) -> Self {
        Self::of(pid).unwrap_or(Self {
            pid,
            start_time: 0,
            boot: String::new(),
        })
    }

    /// Does this very process still run? A zombie does not. Without Linux' /proc nobody can tell, and the answer is no.
    pub(crate) fn still_runs(&self) -> bool {
        self.is_of_this_boot()
            && Entry::of(self.pid)
                .is_some_and(|now| now.start_time == self.start_time && !now.ended)
    }

    pub(super) fn is_of_this_boot(&self) -> bool {
        self.boot == boot()
    }
}

/// A process for others to look for, perhaps from another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holder {
    #[serde(flatten)]
    pub process: Identity,
    /// The machine's own name.
    pub host: String,
}

impl Holder {
    /// This very process.
    pub(crate) fn me() -> Self {
        let pid = i32::try_from(std::process::id()).unwrap_or_default();
        Self {
            process: Identity::of_child(pid),
            host: host(),
        }
    }

    /// Does it run on this machine, now or before a restart? What runs elsewhere cannot be looked at.
    pub(crate) fn is_here(&self) -> bool {
        self.process.is_of_this_boot() || self.host == host()
    }

    /// Is it known to run?
    pub(crate) fn still_runs(&self) -> bool {
        self.process.still_runs()
    }
}

fn host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}
