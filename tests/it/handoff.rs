//! A task with a contract that the real Goose leaves half proven and the real Claude Code takes over: what goes from one to the other is in the
//! packet and in the files, and nothing else.

use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::claude_cycle::World;
use crate::goose::goose;
use crate::model::{Reply, told};
use crate::not_run::not_run;

const TASK: &str = "make the report";

const CONTRACT: &str = r#"
intent = "The report can be read and added up."
[[outcomes]]
id = "o1"
description = "the report is made"
check = {kind = "command", command = "cat report.txt"}
[[outcomes]]
id = "o2"
description = "it has a total"
check = {kind = "command", command = "grep total report.txt"}
"#;

/// Each outcome with its verdict and where its proof came from.
fn rows(document: &Value) -> Vec<(&str, &str, &str)> {
    let rows = document["table"]["rows"].as_array().unwrap().iter();
    rows.map(|row| {
        let word = |key: &str| row[key].as_str().unwrap_or_default();
        (word("id"), word("verdict"), word("source"))
    })
    .collect()
}

#[test]
fn what_goose_left_half_proven_is_ended_by_claude() {
    let name = "what_goose_left_half_proven_is_ended_by_claude";
    let Some(goose) = goose() else {
        return not_run(name, "goose");
    };
    let plan = "mkdir -p .ak-loop; printf '# Plan\\n\\nFirst the lines, then the total.\\n' > .ak-loop/plan.md";
    let script = vec![
        Reply::text("WORDS-OF-THE-FIRST-SESSION")
            .tool("shell", serde_json::json!({"command": plan})),
        Reply::shell(
            "printf 'a line\\ntotal 1\\n' > report.txt; git arkaint verify -- cat report.txt",
        ),
        Reply::hang(),
        Reply::bash("git arkaint verify -- grep total report.txt"),
        Reply::text("Proved the total.\nARKAINT: done"),
    ];
    let Some(world) = World::new(name, "", script) else {
        return;
    };
    let sandbox = &world.sandbox;
    symlink(goose, sandbox.home().join("bin/goose")).unwrap();
    sandbox.git(["branch", "-qf", "main"]);
    let file = sandbox.home().join("contract.toml");
    std::fs::write(&file, CONTRACT).unwrap();
    let words = ["contract", "freeze", file.to_str().unwrap(), "--task", TASK];
    world.arkaint(words).expect(0);

    world.interrupted(["cycle", TASK], 3);
    let left: Value = serde_json::from_str(&sandbox.read(".ak-loop/verify.json")).unwrap();
    assert_eq!(left["outcomes"].as_array().unwrap().len(), 1, "{left}");
    let ran = world.cycle(TASK).expect(0);
    assert!(ran.stderr.contains("sealed as "), "{}", ran.stderr);

    let prompt = told(&world.model.requests()[3]);
    for words in [
        // The brief.
        "- `o2`: it has a total (command: `grep total report.txt`)",
        // How it stands: the first outcome is proven already, the second is open.
        "proven   issue/o1",
        "missing  issue/o2 has no proof",
        "First the lines, then the total.",
        // The work in flight.
        "Resume: ",
        "+total 1",
    ] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
    let all = world.model.requests()[3].to_string();
    assert!(!all.contains("WORDS-OF-THE-FIRST-SESSION"), "{all}");

    let runs = world.records("run");
    let by: Vec<(&str, &str)> = runs
        .iter()
        .map(|run| {
            (
                run["agent"].as_str().unwrap(),
                run["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(by, [("goose", "killed"), ("claude", "done")]);
    assert_eq!(sandbox.git(["show", "HEAD:report.txt"]), "a line\ntotal 1");
    let gate = world
        .arkaint(["deliver", "--check", "--json"])
        .expect(0)
        .json();
    assert_eq!(gate["verdict"], "open", "{gate}");
    let source = "worker · declared";
    assert_eq!(
        rows(&gate),
        [("o1", "proven", source), ("o2", "proven", source)]
    );
    let ended: Value = serde_json::from_str(&sandbox.read(".ak-loop/verify.json")).unwrap();
    let outcomes = ended["outcomes"].as_array().unwrap();
    assert!(
        outcomes.contains(&left["outcomes"][0]),
        "the first proof is as it was left: {ended}"
    );
}
