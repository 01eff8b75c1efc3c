//! Nothing outlives a launch: while it lasts we are the subreaper, so that every orphan below the child becomes our own child,
//! whatever session it made for itself. Only processes are touched that were not below us before and that no other thread of ours started.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::supervise::PATIENCE;
use super::tree::{self, Entry};

/// One that goes by itself in this time was not left behind: the init of a sandbox ends a little after the last process in it.
const GOING: Duration = Duration::from_millis(50);

/// The subreaper of one launch. `child::wait` of other threads is safe from it as long as the main thread starts nothing meanwhile.
pub(super) struct Subreaper {
    /// The processes below us before the launch, by pid and start time.
    before: HashSet<(i32, u64)>,
    /// The launched child: never reaped here, its exit code belongs to the launch.
    leader: Option<i32>,
    #[cfg(target_os = "linux")]
    was_set: bool,
}

impl Subreaper {
    pub(super) fn new() -> Self {
        #[cfg(target_os = "linux")]
        let was_set = rustix::process::child_subreaper().is_ok_and(|set| set.is_some());
        // A kernel that refuses leaves us with the process group alone.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let children: HashSet<_> = adopted_or_own().into_iter().collect();
        let before = if children.is_empty() {
            Vec::new()
        } else {
            tree::below(&tree::all(), &children)
        };
        Self {
            before: before.into_iter().map(|e| (e.pid, e.start_time)).collect(),
            leader: None,
            #[cfg(target_os = "linux")]
            was_set,
        }
    }

    pub(super) fn lead(&mut self, leader: Pid) {
        self.leader = Some(leader.as_raw_nonzero().get());
    }

    /// Reaps adopted processes that ended, so that an agent that forks all night does not fill the process table with zombies.
    pub(super) fn reap(&self) {
        self.orphans();
    }

    /// What runs below us, the leader and what it still holds apart. Once the leader has ended, an empty answer is final.
    pub(super) fn leftovers(&self) -> Vec<Entry> {
        let orphans = self.orphans();
        if orphans.is_empty() {
            return Vec::new();
        }
        let roots: HashSet<_> = orphans.iter().map(|e| e.pid).collect();
        let mut found = tree::below(&tree::all(), &roots);
        found.retain(|e| !self.was_before(e) && (roots.contains(&e.pid) || !e.ended));
        found
    }

    /// Our children by adoption that still run; those that ended are reaped on the way.
    ///
    /// The kernel hands orphans over before it reports a death. So a list on which nobody was dead is complete, but one that we read
    /// before we met a dead child may lack what that child left us in between: then we read again.
    fn orphans(&self) -> Vec<Entry> {
        loop {
            let (mut running, mut met_dead) = (Vec::new(), false);
            for pid in adopted_or_own()
                .into_iter()
                .filter(|pid| Some(*pid) != self.leader)
            {
                match Entry::of(pid) {
                    Some(entry) if self.was_before(&entry) => {}
                    Some(entry) if !reaped(pid) => running.push(entry),
                    _ => met_dead = true,
                }
            }
            if !running.is_empty() || !met_dead {
                return running;
            }
        }
    }

    fn was_before(&self, entry: &Entry) -> bool {
        self.before.contains(&(entry.pid, entry.start_time))
    }
}

impl Drop for Subreaper {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if !self.was_set {
            let _ = rustix::process::set_child_subreaper(None);
        }
    }
}

/// Ends what is left, in strokes, until there is nothing.
pub(super) struct Broom {
    polite_until: Instant,
    give_up_at: Instant,
    /// Since when each is seen.
    seen: HashMap<(i32, u64), Instant>,
    /// Who was signalled so far, by pid and start time.
    pub met: HashSet<(i32, u64)>,
}

impl Broom {
    pub(super) fn new(polite: Duration) -> Self {
        let polite_until = Instant::now() + polite;
        Self {
            polite_until,
            give_up_at: polite_until + PATIENCE,
            seen: HashMap::new(),
            met: HashSet::new(),
        }
    }

    /// Signals all that is left now and says how many are left.
    pub(super) fn stroke(&mut self, leader: Pid, subreaper: &Subreaper) -> usize {
        let found = subreaper.leftovers();
        let now = Instant::now();
        let polite = now < self.polite_until;
        for entry in &found {
            let name = (entry.pid, entry.start_time);
            if polite && self.seen.entry(name).or_insert(now).elapsed() < GOING {
                continue;
            }
            let new = self.met.insert(name);
            // Gone, or not ours to signal: the next look tells.
            let _ = match (polite, new) {
                (true, true) => entry
                    .send(Signal::TERM)
                    .and_then(|()| entry.send(Signal::CONT)),
                (true, false) => Ok(()),
                (false, _) => entry.send(Signal::KILL),
            };
        }
        if found.is_empty() {
            // Where there is no subreaper the group is all that we can reach.
            let _ = kill_process_group(leader, Signal::KILL);
        }
        found.len()
    }

    pub(super) fn is_worn(&self) -> bool {
        Instant::now() >= self.give_up_at
    }
}

/// Our children that this thread started or that were handed to us. The kernel keeps a list of children for each thread and gives
/// orphans to the first one; what other threads started (a git call, another test) is on their lists and is none of our business.
fn adopted_or_own() -> Vec<i32> {
    let main = std::process::id().to_string();
    let here = fs::read_link("/proc/thread-self")
        .ok()
        .and_then(|link| Some(link.file_name()?.to_str()?.to_owned()));
    let list = |thread: &str| fs::read_to_string(format!("/proc/self/task/{thread}/children"));
    let Ok(mut pids) = list(&main) else {
        // A kernel without these lists: every child of ours.
        let me = i32::try_from(std::process::id()).unwrap_or(0);
        return tree::all()
            .into_iter()
            .filter(|e| e.parent == me)
            .map(|e| e.pid)
            .collect();
    };
    if let Some(here) = here.filter(|here| *here != main) {
        pids.push_str(&list(&here).unwrap_or_default());
    }
    pids.split_ascii_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Reaps our child `pid` if it has ended. True when nothing of it is left.
fn reaped(pid: i32) -> bool {
    let Some(pid) = Pid::from_raw(pid) else {
        return true;
    };
    match waitid(
        WaitId::Pid(pid),
        WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
    ) {
        Ok(status) => status.is_some(),
        Err(errno) => errno == Errno::CHILD,
    }
}
