//! What still runs of a launch whose supervisor is dead: found by identity, group, session, ancestry and the marker variable, and ended.
//! It never looks at a name, and never touches the caller or what the caller runs under.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::Signal;

use super::identity::Identity;
use super::tree::{self, Entry};

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// Time for the killed to go.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Ends what still runs of a crashed launch and says how many processes that were. `launch` is what `run` gave to its `on_start`; `None`
/// when the crash came before that was written down. `run` is the value of ARKAINT_RUN in the launch's environment.
///
/// # Errors
/// When something of it cannot be ended.
pub(crate) fn kill_tree(launch: Option<&Identity>, run: &str) -> Result<usize> {
    ensure!(
        !run.is_empty(),
        "a launch without an id cannot be looked for"
    );
    let mut met = HashSet::new();
    let began = Instant::now();
    loop {
        let found = remains(launch, run);
        if found.is_empty() {
            return Ok(met.len());
        }
        let waited = began.elapsed();
        ensure!(
            waited < GRACE + PATIENCE,
            "ending what is left of run {run}: {} processes remain, first {}",
            found.len(),
            found[0].pid
        );
        for entry in found {
            let new = met.insert((entry.pid, entry.start_time));
            // The politeness is for the first look; who appears later is a child of somebody who was asked already.
            let _ = match (waited < GRACE, new) {
                (true, true) => entry
                    .send(Signal::TERM)
                    .and_then(|()| entry.send(Signal::CONT)),
                (true, false) => Ok(()),
                (false, _) => entry.send(Signal::KILL),
            };
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn remains(launch: Option<&Identity>, run: &str) -> Vec<Entry> {
    let table = tree::all();
    let spared = tree::above(&table, i32::try_from(std::process::id()).unwrap_or(0));
    let mark = format!("ARKAINT_RUN={run}");
    let young = |e: &&Entry| {
        launch.is_none_or(|launch| !launch.is_of_this_boot() || e.start_time >= launch.start_time)
    };
    let roots = table
        .iter()
        .filter(young)
        .filter(|e| is_of(e, launch, &table) || carries(e, &mark));
    let roots: HashSet<_> = roots
        .map(|e| e.pid)
        .filter(|pid| !spared.contains(pid))
        .collect();
    let mut found = if roots.is_empty() {
        Vec::new()
    } else {
        tree::below(&table, &roots)
    };
    found.retain(|e| !e.ended && !spared.contains(&e.pid));
    found
}

/// The leader itself, or a member of the group or session that it led. A number stays taken while its group has members, so the group
/// is the leader's unless somebody else has the pid now.
fn is_of(entry: &Entry, launch: Option<&Identity>, table: &[Entry]) -> bool {
    let Some(launch) = launch.filter(|launch| launch.start_time > 0 && launch.is_of_this_boot())
    else {
        return false;
    };
    if entry.pid == launch.pid {
        return entry.start_time == launch.start_time;
    }
    (entry.group == launch.pid || entry.session == launch.pid)
        && !table
            .iter()
            .any(|e| e.pid == launch.pid && e.start_time != launch.start_time)
}

/// Was it started with this variable? Readable for processes of the same user alone.
fn carries(entry: &Entry, mark: &str) -> bool {
    fs::read(format!("/proc/{}/environ", entry.pid))
        .is_ok_and(|environ| environ.split(|b| *b == 0).any(|v| v == mark.as_bytes()))
}
