//! `git arkaint dispatch`: one claim a task, worktrees of their own, and records that say how each worker ended. Real processes, real linked
//! worktrees, scripted stand-ins for the agent.

mod claims;
mod ends;
mod setup;

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};
use crate::stand_in::PRELUDE;

/// A repository on `main` with its configuration committed, and an agent that runs `script`; `more` is added to `arkaint.toml`.
fn world(script: &str, more: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let toml = format!(
        "[checkpoint]\ntest = \"test ! -e bad\"\n\n[agent]\nname = \"command\"\ncommand = [\"sh\", \"{}\"]\n{more}\n",
        sandbox.agent_script().display()
    );
    sandbox.write("arkaint.toml", &toml);
    sandbox.write("tracked.txt", "as committed\n");
    sandbox.commit_all("configure");
    sandbox.agent(&format!("{PRELUDE}\n{LEAVES}\n{script}\n"));
    sandbox
}

/// A dispatch asks for evidence; one that has no outcomes says so.
const LEAVES: &str = "mkdir -p .ak-loop; echo '{}' > .ak-loop/verify.json";

/// What the stand-in does unless a test wants something else: work, and end well.
const WORK: &str = "echo work > work.txt; finish 'Made work.txt.'";

/// Waits until the test says so, twenty seconds at most.
const WAIT: &str = "touch \"$HOME/at-work.$$\"; n=0; while [ ! -e \"$HOME/go\" ] && [ $n -lt 400 ]; do sleep 0.05; n=$((n+1)); done\n";

fn dispatches(sandbox: &Sandbox) -> PathBuf {
    sandbox.repo.with_file_name("repo.arkaint")
}

fn records(sandbox: &Sandbox) -> Vec<Value> {
    let log = sandbox
        .arkaint(["log", "--json", "--kind", "dispatch", "-n", "1000"])
        .expect(0)
        .json();
    let mut records = log["records"].as_array().unwrap().clone();
    records.reverse();
    records
}

/// The last record of the dispatch of `task`.
fn last(sandbox: &Sandbox, task: &str) -> Value {
    let records = records(sandbox);
    let id = records
        .iter()
        .rev()
        .find(|record| record["task"] == task)
        .unwrap_or_else(|| panic!("{task}: {records:?}"))["id"]
        .clone();
    let of_it = |record: &&Value| record["id"] == id;
    records.iter().rfind(of_it).unwrap().clone()
}

fn begin(sandbox: &Sandbox, words: &[&str]) -> Child {
    sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn end(child: Child) -> Ran {
    child.wait_with_output().unwrap().into()
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Agents that wait for the test.
fn at_work(sandbox: &Sandbox) -> usize {
    let home = std::fs::read_dir(sandbox.home()).unwrap().flatten();
    home.filter(|entry| entry.file_name().to_string_lossy().starts_with("at-work."))
        .count()
}

fn go(sandbox: &Sandbox) {
    std::fs::write(sandbox.home().join("go"), "").unwrap();
}

fn kill(signal: &str, pid: &str) {
    let killed = std::process::Command::new("kill")
        .args([signal, pid])
        .status();
    assert!(killed.unwrap().success());
}

/// The process that holds the lock of a dispatched worktree: its cycle.
fn worker(sandbox: &Sandbox, slug: &str) -> String {
    sandbox
        .read(&format!(".git/worktrees/{slug}/arkaint/lock"))
        .trim()
        .to_owned()
}

fn leases(sandbox: &Sandbox) -> Vec<Value> {
    let names = sandbox.git([
        "for-each-ref",
        "--format=%(refname)",
        "refs/arkaint/leases/",
    ]);
    let read = |name: &str| sandbox.git(["show", &format!("{name}:lease.json")]);
    names
        .lines()
        .map(|name| serde_json::from_str(&read(name)).unwrap())
        .collect()
}

/// A dispatch of "do it" that dies at work, and its worker with it.
fn die_at_work(sandbox: &Sandbox) {
    let mut child = begin(sandbox, &["dispatch", "do it"]);
    until("it is at work", || at_work(sandbox) == 1);
    let worker = worker(sandbox, "do-it");
    child.kill().unwrap();
    child.wait().unwrap();
    kill("-KILL", &worker);
}
