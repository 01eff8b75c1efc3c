//! The process table as /proc shows it: who is whose child, and a signal that can only reach the process that was looked at. Where
//! there is no Linux /proc the table is empty.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;

use rustix::process::{Pid, Signal};

/// One process, as /proc/PID/stat tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    /// Clock ticks between boot and its start: with the pid, its name.
    pub start_time: u64,
    /// It runs no more and only waits to be reaped.
    pub ended: bool,
}

impl Entry {
    /// The process `pid`, running or not yet reaped.
    pub(super) fn of(pid: i32) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name between the parentheses is the process's own to choose: it may hold spaces, parentheses and newlines.
    fn parse(stat: &[u8]) -> Option<Self> {
        let close = stat.iter().rposition(|b| *b == b')')?;
        let open = stat.iter().position(|b| *b == b'(')?;
        let pid = std::str::from_utf8(&stat[..open])
            .ok()?
            .trim()
            .parse()
            .ok()?;
        let rest: Vec<_> = std::str::from_utf8(&stat[close + 1..])
            .ok()?
            .split_ascii_whitespace()
            .collect();
        let number = |at: usize| rest.get(at).and_then(|word| word.parse::<i32>().ok());
        // A process whose first thread is gone shows as a zombie although the others go on.
        let threads = number(17)?;
        Some(Self {
            pid,
            parent: number(1)?,
            group: number(2)?,
            session: number(3)?,
            start_time: rest.get(19)?.parse().ok()?,
            ended: matches!(*rest.first()?, "Z" | "X" | "x") && threads <= 1,
        })
    }

    /// Sends `signal` to this very process: the descriptor is taken first, and then it is looked at again.
    pub(super) fn send(&self, signal: Signal) -> io::Result<()> {
        let gone = || io::Error::from(rustix::io::Errno::SRCH);
        let pid = Pid::from_raw(self.pid).ok_or_else(gone)?;
        let same = || Self::of(self.pid).is_some_and(|now| now.start_time == self.start_time);
        #[cfg(target_os = "linux")]
        match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
            Ok(handle) if same() => return Ok(rustix::process::pidfd_send_signal(handle, signal)?),
            Ok(_) | Err(rustix::io::Errno::SRCH) => return Err(gone()),
            // Linux before 5.3, and some sandboxes.
            Err(_) => {}
        }
        if same() {
            Ok(rustix::process::kill_process(pid, signal)?)
        } else {
            Err(gone())
        }
    }
}

/// Every process that we may see.
pub(super) fn all() -> Vec<Entry> {
    let Ok(folder) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    folder
        .filter_map(|item| item.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Entry::of)
        .collect()
}

/// Those of `table` that are in `roots` or below one of them.
pub(super) fn below(table: &[Entry], roots: &HashSet<i32>) -> Vec<Entry> {
    let parents: HashMap<i32, i32> = table.iter().map(|e| (e.pid, e.parent)).collect();
    let belongs = |entry: &&Entry| {
        let mut seen = HashSet::new();
        let mut at = entry.pid;
        // The table is no snapshot: a reused pid could close a circle.
        while seen.insert(at) {
            if roots.contains(&at) {
                return true;
            }
            match parents.get(&at) {
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    };
    table.iter().filter(belongs).copied().collect()
}

/// `pid` and all above it.
pub(super) fn above(table: &[Entry], pid: i32) -> HashSet<i32> {
    let parents: HashMap<i32, i32> = table.iter().map(|e| (e.pid, e.parent)).collect();
    let mut line = HashSet::new();
    let mut at = Some(pid);
    while let Some(pid) = at.filter(|pid| line.insert(*pid)) {
        at = parents.get(&pid).copied();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(pid: i32, parent: i32) -> Entry {
        Entry {
            pid,
            parent,
            group: pid,
            session: pid,
            start_time: 1,
            ended: false,
        }
    }

    #[test]
    fn a_name_made_to_confuse_is_read_past() {
        let line = b"42 (a) R 1 (b\n) S 7 8 9 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 3 0 777 0 0\n";
        let read = Entry::parse(line).unwrap();
        assert_eq!(
            read,
            Entry {
                pid: 42,
                parent: 7,
                group: 8,
                session: 9,
                start_time: 777,
                ended: false
            }
        );
    }

    #[test]
    fn a_zombie_has_ended_unless_other_threads_go_on() {
        let line =
            |threads: u8| format!("42 (x) Z 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 777 0\n");
        assert!(Entry::parse(line(1).as_bytes()).unwrap().ended);
        assert!(!Entry::parse(line(2).as_bytes()).unwrap().ended);
    }

    #[test]
    fn below_and_above_follow_parents_and_survive_a_circle() {
        let table = [
            entry(1, 0),
            entry(2, 1),
            entry(3, 2),
            entry(4, 1),
            entry(5, 6),
            entry(6, 5),
        ];
        let pids = |entries: Vec<Entry>| entries.into_iter().map(|e| e.pid).collect::<Vec<_>>();
        assert_eq!(pids(below(&table, &HashSet::from([2]))), [2, 3]);
        assert_eq!(above(&table, 3), HashSet::from([3, 2, 1, 0]));
        assert_eq!(above(&table, 5), HashSet::from([5, 6]));
    }
}
