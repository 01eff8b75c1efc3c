//! `git arkaint verify` as a user and an agent run it: what is sealed is what ran, on the tree that it ran on. git and sha256sum are the
//! oracles.

mod evidence;
mod runs;

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};

const FILE: &str = ".ak-loop/verify.json";

const CONTRACT: &str = r#"
[[outcomes]]
id = "parses"
check = { kind = "test", command = "make 'trailing commas'" }
[[outcomes]]
id = "prints"
check = { kind = "command", command = ["sh", "check.sh", "prints"] }
[[outcomes]]
id = "piped"
check = { kind = "command", command = "sh check.sh piped | cat" }
[[outcomes]]
id = "looks"
check = { kind = "manual" }
"#;

const CONFIG: &str = r#"[checkpoint]
test = false
timeout = "20s"
[[dod]]
id = "lint"
kind = "command"
command = ["sh", "check.sh", "lint"]
"#;

/// On `arkaint/work`, with `check.sh`, which prints its word and exits as `exit.WORD` below HOME says.
fn ready() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("arkaint.toml", CONFIG);
    sandbox.write(
        "check.sh",
        "echo \"checked $1\"; exit \"$(cat \"$HOME/exit.$1\" 2>/dev/null || echo 0)\"\n",
    );
    sandbox.write(".gitignore", "*.log\n");
    sandbox.commit_all("start");
    sandbox.git(["switch", "-q", "-c", "arkaint/work"]);
    sandbox
}

fn freeze(sandbox: &Sandbox) -> String {
    let file = sandbox.home().join("contract.toml");
    std::fs::write(&file, CONTRACT).unwrap();
    let words = ["contract", "freeze", file.to_str().unwrap()];
    sandbox.arkaint(words).expect(0).stdout.trim().to_owned()
}

fn verify(sandbox: &Sandbox, words: &[&str]) -> Ran {
    sandbox.arkaint([&["verify"], words].concat())
}

fn file(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.read(FILE)).unwrap()
}

/// The records of the recorder, oldest first.
fn seals(sandbox: &Sandbox) -> Vec<Value> {
    sandbox
        .arkaint(["log", "--json", "--kind", "evidence"])
        .records()
}

/// What git itself makes of the worktree, our folders left out.
fn tree(sandbox: &Sandbox) -> String {
    let script = "export GIT_INDEX_FILE=$HOME/oracle.index; rm -f $GIT_INDEX_FILE
        git read-tree HEAD; git add -A -- ':!.ak-loop' ':!.arkaint'; git write-tree";
    sandbox.sh(script).trim().to_owned()
}

fn sha256(sandbox: &Sandbox, path: &str) -> String {
    let sum = sandbox.sh(&format!("sha256sum < {path}"));
    sum.split(' ').next().unwrap().to_owned()
}

/// `id status evidence`, in the order of the file.
fn outcomes(sandbox: &Sandbox) -> Vec<String> {
    let file = file(sandbox);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let outcomes = file["outcomes"].as_array().unwrap().iter();
    outcomes
        .map(|o| {
            format!(
                "{} {} {}",
                text(&o["id"]),
                text(&o["status"]),
                text(&o["evidence"])
            )
        })
        .collect()
}
