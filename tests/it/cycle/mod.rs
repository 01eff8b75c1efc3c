//! The cycle's own table: every finding first and again, every recovery, every end. With scripted stand-ins; the real agent is in `goose`.

mod attempts;
mod findings;
mod limits;
mod planted;
mod rules;

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};
use crate::stand_in::PRELUDE;

/// A project whose check is `sh check.sh`, sealed green, with an agent that runs `script`.
pub fn world(check: &str, script: &str) -> Sandbox {
    world_with(check, script, "")
}

pub fn world_with(check: &str, script: &str, config: &str) -> Sandbox {
    let sandbox = Sandbox::ready("\"sh check.sh\"");
    sandbox.write("check.sh", check);
    if !config.is_empty() {
        let toml = sandbox.read("arkaint.toml");
        sandbox.write("arkaint.toml", &format!("{toml}\n{config}\n"));
    }
    sandbox.commit_all("check");
    sandbox.agent(&format!("{PRELUDE}\n{script}\n"));
    sandbox
}

pub fn launches(sandbox: &Sandbox) -> usize {
    std::fs::read_to_string(sandbox.home().join("launches"))
        .map_or(0, |n| n.trim().parse().unwrap())
}

/// What launch `n` was given.
pub fn packet(sandbox: &Sandbox, n: usize) -> String {
    std::fs::read_to_string(sandbox.home().join(format!("packet.{n}"))).unwrap()
}

pub fn records(sandbox: &Sandbox, kind: &str) -> Vec<Value> {
    sandbox.arkaint(["log", "--json", "--kind", kind]).records()
}

/// Does this process still run? One that only waits to be reaped does not.
pub fn runs(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.starts_with(" Z"))
}

pub fn cycle(sandbox: &Sandbox) -> Ran {
    sandbox.arkaint(["cycle", "make the check pass and keep it passing"])
}

fn tree(sandbox: &Sandbox) -> String {
    sandbox.git(["rev-parse", "HEAD^{tree}"])
}

/// The content of the worktree as git would commit it.
pub fn content(sandbox: &Sandbox) -> String {
    sandbox.sh("export GIT_INDEX_FILE=$(mktemp -u); git add -A && git write-tree; rm -f $GIT_INDEX_FILE").trim().to_owned()
}

pub const GREEN: &str = "test ! -e bad\n";

/// Fails by name, as a test runner does: the words of `bad`.
const NAMED: &str = "[ ! -e bad ] || { echo \"FAIL: $(cat bad)\"; exit 1; }\n";
