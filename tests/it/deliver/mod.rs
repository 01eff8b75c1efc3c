//! `git arkaint deliver` as a user runs it: each gate with what opens and what stops it, what is written and what is not, and the merge.

mod ci;
mod clones;
mod freshness;
mod gates;
mod hostile;
mod lists;
mod merge;
mod output;
mod request;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};

/// One outcome that a command shows.
pub(super) const ONE: &str = r#"
[[outcomes]]
id = "o1"
description = "A list may end with a comma"
check = { kind = "command", command = "cargo test trailing" }
"#;

/// What only a person can see.
pub(super) const MANUAL: &str = r#"
[[outcomes]]
id = "looks"
check = { kind = "manual", note = "the page looks right" }
"#;

pub(super) const PASSED: &str = r#"{"id":"o1","status":"passed","evidence":"42 passed"}"#;

/// A repository whose `arkaint.toml` says `more` besides that no tests are run, on `arkaint/work`, cut from `main`; `.ak-loop/` is no
/// business of git's, as a dispatch makes it.
pub(super) fn start(more: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "arkaint.toml",
        &format!("[checkpoint]\ntest = false\n{more}"),
    );
    sandbox.commit_all("add arkaint.toml");
    sandbox.sh("echo '/.ak-loop/' >>.git/info/exclude");
    sandbox.git(["switch", "-q", "-c", "arkaint/work"]);
    sandbox
}

/// [`start`] with a contract of `outcomes`, and one commit of work.
pub(super) fn asked(more: &str, outcomes: &str) -> Sandbox {
    let sandbox = start(more);
    freeze(&sandbox, outcomes);
    work(&sandbox, "src/list.rs");
    sandbox
}

/// [`asked`] for one outcome, which is proven: its gate is open.
pub(super) fn proven() -> Sandbox {
    let sandbox = asked("", ONE);
    verify(&sandbox, PASSED);
    sandbox
}

pub(super) fn freeze(sandbox: &Sandbox, outcomes: &str) -> String {
    let file = sandbox.home().join("contract.toml");
    std::fs::write(
        &file,
        format!("intent = \"Trailing commas are accepted\"\n{outcomes}"),
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let ran = sandbox.arkaint([
        "contract",
        "freeze",
        file,
        "--task",
        "Accept trailing commas",
    ]);
    ran.expect(0).stdout.trim().to_owned()
}

pub(super) fn work(sandbox: &Sandbox, path: &str) {
    sandbox.write(path, &format!("the work in {path}\n"));
    sandbox.commit_all(&format!("work on {path}"));
}

/// A worker's `verify.json` with these entries: without a time of its own, so that the file's counts.
pub(super) fn verify(sandbox: &Sandbox, outcomes: &str) {
    verify_with(sandbox, r#""command":"cargo test","exitCode":0"#, outcomes);
}

pub(super) fn verify_with(sandbox: &Sandbox, members: &str, outcomes: &str) {
    sandbox.write(
        ".ak-loop/verify.json",
        &format!("{{{members},\"outcomes\":[{outcomes}]}}"),
    );
}

pub(super) fn dod(sandbox: &Sandbox, project: &str, outcomes: &str) {
    sandbox.write(
        ".ak-loop/dod.json",
        &format!("{{\"project\":[{project}],\"outcomes\":[{outcomes}]}}"),
    );
}

/// `git arkaint deliver --check WORDS`.
pub(super) fn check(sandbox: &Sandbox, words: &[&str]) -> Ran {
    sandbox.arkaint([&["deliver", "--check"], words].concat())
}

/// The judgement for a program; it ends with `code`.
#[track_caller]
pub(super) fn judged(sandbox: &Sandbox, code: i32) -> Value {
    check(sandbox, &["--json"]).expect(code).json()
}

/// `open`, or the gate that stops and what it says: `held: secrets: new: .env`.
#[track_caller]
pub(super) fn says(sandbox: &Sandbox, code: i32) -> String {
    stop(&judged(sandbox, code))
}

pub(super) fn stop(judged: &Value) -> String {
    match judged["gate"].as_str() {
        None => judged["verdict"].as_str().unwrap().to_owned(),
        Some(gate) => format!(
            "{}: {gate}: {}",
            judged["verdict"].as_str().unwrap(),
            judged["why"].as_str().unwrap()
        ),
    }
}

/// What one gate answered: `open: no new one`.
pub(super) fn gate(judged: &Value, name: &str) -> String {
    let gates = judged["gates"].as_array().unwrap();
    let gate = gates.iter().find(|gate| gate["gate"] == name);
    let gate = gate.unwrap_or_else(|| panic!("no gate {name} in {judged}"));
    format!(
        "{}: {}",
        gate["answer"].as_str().unwrap(),
        gate["why"].as_str().unwrap()
    )
}

/// The row of an item by its id.
pub(super) fn row<'a>(judged: &'a Value, id: &str) -> &'a Value {
    let rows = judged["table"]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == id);
    row.unwrap_or_else(|| panic!("no row {id} in {judged}"))
}

/// Verdict and grade of an item: `missing, stale older`.
pub(super) fn graded(judged: &Value, id: &str) -> String {
    let row = row(judged, id);
    let words = ["grade", "stale"].map(|key| row[key].as_str());
    let words: Vec<&str> = words.into_iter().flatten().collect();
    format!("{}, {}", row["verdict"].as_str().unwrap(), words.join(" "))
}

pub(super) fn rev(sandbox: &Sandbox, name: &str) -> String {
    sandbox.git(["rev-parse", name])
}

/// The times of a file, from now: negative seconds are past.
pub(super) fn age(path: impl AsRef<Path>, seconds: i64) {
    let now = SystemTime::now();
    let span = Duration::from_secs(seconds.unsigned_abs());
    let time = if seconds < 0 { now - span } else { now + span };
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

pub(super) fn verify_path(sandbox: &Sandbox) -> PathBuf {
    sandbox.repo.join(".ak-loop/verify.json")
}

/// Records of a kind in the ledger.
pub(super) fn records(sandbox: &Sandbox, kind: &str) -> Vec<Value> {
    let log = sandbox.arkaint(["log", "--json", "--kind", kind]);
    log.expect(0).json()["records"].as_array().unwrap().clone()
}
