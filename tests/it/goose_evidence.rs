//! The evidence of a cycle with the real Goose: what it forgets, breaks or merely claims is named to it, and only what is proven is sealed.
//! The same with scripted stand-ins, in more cases, is in `evidence_cycle`.

use std::path::Path;

use serde_json::Value;

use crate::evidence_cycle::{CONTRACT, TASK};
use crate::goose::GooseWorld;
use crate::model::{Reply, told};
use crate::sandbox::Ran;

/// A repository on `arkaint/work`, its configuration (with `more`) on `main`, and a contract that is open for [`TASK`].
fn world(name: &str, more: &str, replies: Vec<Reply>) -> Option<GooseWorld> {
    let world = GooseWorld::new(
        name,
        "\"test ! -e bad || { echo FAIL: test_bad; exit 1; }\"",
        replies,
    )?;
    let toml = world.sandbox.read("arkaint.toml");
    world
        .sandbox
        .write("arkaint.toml", &format!("{toml}\n{more}\n"));
    world.sandbox.commit_all("configure");
    world.sandbox.git(["branch", "-qf", "main"]);
    let file = world.sandbox.home().join("contract.toml");
    std::fs::write(&file, CONTRACT).unwrap();
    let words = ["contract", "freeze", file.to_str().unwrap(), "--task", TASK];
    world.arkaint(words).expect(0);
    Some(world)
}

fn done() -> Reply {
    Reply::text("The report is made.\nARKAINT: done")
}

/// The shell's words that write a `verify.json` of the worker's own about o1.
fn verify(status: &str) -> String {
    format!(
        "mkdir -p .ak-loop; printf '{{\"ranAt\":\"%s\",\"command\":\"cat report.txt\",\"exitCode\":0,\"outcomes\":[{{\"id\":\"o1\",\"status\":\"{status}\",\"evidence\":\"a whole report\"}}]}}' \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\" >.ak-loop/verify.json"
    )
}

fn cycle(world: &GooseWorld) -> Ran {
    world.arkaint(["cycle", TASK])
}

fn records(world: &GooseWorld, kind: &str) -> Vec<Value> {
    world.arkaint(["log", "--json", "--kind", kind]).records()
}

/// The gate over what was sealed: it is open, and this is its table.
#[track_caller]
fn open(world: &GooseWorld) -> Vec<Value> {
    let gate = world.arkaint(["deliver", "--check", "--json"]);
    let gate = gate.expect(0).json();
    assert_eq!(gate["verdict"], "open", "{gate}");
    gate["table"]["rows"].as_array().unwrap().clone()
}

/// What the launch that began with call `n` of the model was told of the launch before.
fn fix_round(world: &GooseWorld, n: usize) -> String {
    let told = told(&world.model.requests()[n]);
    assert!(told.contains("Fix round: "), "{told}");
    told
}

#[test]
fn a_file_that_goose_forgot_is_asked_for_by_name() {
    let script = vec![
        Reply::shell("echo report > report.txt"),
        done(),
        Reply::shell(&verify("passed")),
        done(),
    ];
    let Some(world) = world("a_file_that_goose_forgot_is_asked_for_by_name", "", script) else {
        return;
    };
    let ran = cycle(&world).expect(0);
    let first = told(&world.model.requests()[0]);
    assert!(
        first.contains("- `o1`: the report is made (command: `cat report.txt`)")
            && first.contains("Leave evidence in `.ak-loop/`"),
        "{first}"
    );
    let second = fix_round(&world, 2);
    assert!(
        second.contains(".ak-loop/verify.json is not written") && second.contains("+report"),
        "{second}"
    );
    assert!(ran.stderr.contains("fix round 1 of 2"), "{}", ran.stderr);
    assert_eq!(world.sandbox.git(["show", "HEAD:report.txt"]), "report");
    let rows = open(&world);
    assert_eq!(
        (&rows[0]["id"], &rows[0]["source"]),
        (&"o1".into(), &"worker · dated".into())
    );
}

#[test]
fn a_broken_file_of_gooses_is_worse_than_none_and_the_reason_is_told() {
    let broken = verify("passed").replace("\"passed\"", "\"PASSED\"");
    let script = vec![
        Reply::shell(&format!("echo report > report.txt; {broken}")),
        done(),
        Reply::shell(&verify("passed")),
        done(),
    ];
    let name = "a_broken_file_of_gooses_is_worse_than_none_and_the_reason_is_told";
    let Some(world) = world(name, "", script) else {
        return;
    };
    cycle(&world).expect(0);
    let second = fix_round(&world, 2);
    assert!(
        second.contains(
            "worse than absent: outcomes[0].status: \"PASSED\" is neither \"passed\" nor \"failed\""
        ),
        "{second}"
    );
    assert!(!second.contains("verify.json is not written"), "{second}");
    open(&world);
}

#[test]
fn a_claim_of_gooses_against_red_tests_is_never_sealed() {
    let name = "a_claim_of_gooses_against_red_tests_is_never_sealed";
    let claim = format!("touch bad; echo report > report.txt; {}", verify("passed"));
    let script: Vec<Reply> = (0..6)
        .flat_map(|_| [Reply::shell(&claim), done()])
        .collect();
    let Some(world) = world(name, "[cycle]\nattempts = 0", script) else {
        return;
    };
    let before = world.sandbox.git(["rev-parse", "HEAD^{tree}"]);
    let ran = cycle(&world).expect(3);
    assert!(!ran.stderr.contains("sealed as "), "{}", ran.stderr);
    assert!(fix_round(&world, 2).contains("FAIL: test_bad"));
    let runs = records(&world, "run");
    assert!(runs.len() > 1 && runs.iter().all(|run| run["checks"] == "red"));
    assert_eq!(world.sandbox.git(["rev-parse", "HEAD^{tree}"]), before);
    assert!(records(&world, "evidence").is_empty());
    world.arkaint(["deliver", "--check"]).expect(3);
}

#[test]
fn without_a_dod_json_the_verify_json_serves() {
    let item = "[[dod]]\nid = \"report\"\nkind = \"file-changed\"\nglob = \"report.txt\"";
    let script = vec![
        Reply::shell(&format!("echo report > report.txt; {}", verify("passed"))),
        done(),
    ];
    let Some(world) = world("without_a_dod_json_the_verify_json_serves", item, script) else {
        return;
    };
    cycle(&world).expect(0);
    assert_eq!(world.model.requests().len(), 2, "no fix round");
    assert!(!world.sandbox.exists(".ak-loop/dod.json"));
    let rows = open(&world);
    let of = |id: &str| {
        let row = rows.iter().find(|row| row["id"] == id).unwrap();
        (row["list"].clone(), row["verdict"].clone())
    };
    assert_eq!(of("report"), ("project".into(), "proven".into()));
    assert_eq!(of("o1"), ("issue".into(), "proven".into()));
}

#[test]
fn a_goose_that_never_writes_evidence_is_stopped_and_its_work_kept() {
    let script: Vec<Reply> = (0..5)
        .flat_map(|n| [Reply::shell(&format!("echo {n} > report.txt")), done()])
        .collect();
    let name = "a_goose_that_never_writes_evidence_is_stopped_and_its_work_kept";
    let Some(world) = world(name, "", script) else {
        return;
    };
    let ran = cycle(&world).expect(3);
    assert!(
        ran.stderr
            .contains("the evidence is not complete, and 2 fix rounds are spent"),
        "{}",
        ran.stderr
    );
    assert_eq!(records(&world, "run").len(), 3);
    assert_eq!(world.sandbox.read("report.txt"), "2\n", "the work is kept");
    assert_eq!(world.sandbox.git(["ls-files", "report.txt"]), "");
    assert!(records(&world, "rollback").is_empty());
}

#[test]
fn goose_proves_its_work_by_our_recorder_inside_the_run() {
    let script = vec![
        Reply::shell("echo report > report.txt"),
        Reply::shell("git arkaint verify -- cat report.txt"),
        done(),
    ];
    let name = "goose_proves_its_work_by_our_recorder_inside_the_run";
    let Some(world) = world(name, "", script) else {
        return;
    };
    cycle(&world).expect(0);
    let requests = world.model.requests();
    assert_eq!(requests.len(), 3, "no fix round: {}", told(&requests[2]));
    let file: Value = serde_json::from_str(&world.sandbox.read(".ak-loop/verify.json")).unwrap();
    assert_eq!(file["outcomes"][0]["id"], "o1", "{file}");
    assert_eq!(
        file["arkaint"]["tree"],
        world.sandbox.git(["rev-parse", "HEAD^{tree}"]).as_str(),
        "{file}"
    );
    let rows = open(&world);
    assert_eq!(
        rows[0]["source"], "worker · declared",
        "the worker could have forged what it records in its own run: {}",
        rows[0]
    );
}

/// Dispatched, Goose works in a linked worktree; the gate is asked in the main one, and looks at the files where they are.
#[test]
fn a_dispatched_goose_is_judged_by_the_files_of_its_worktree() {
    let script = vec![
        Reply::shell(&format!("echo report > report.txt; {}", verify("passed"))),
        done(),
    ];
    let name = "a_dispatched_goose_is_judged_by_the_files_of_its_worktree";
    let Some(world) = world(name, "", script) else {
        return;
    };
    world.sandbox.git(["switch", "-q", "main"]);
    let contract = world.sandbox.home().join("contract.toml");
    let file = contract.to_str().unwrap();
    let branch = "arkaint/report";
    let words = ["dispatch", TASK, "--branch", branch, "--contract", file];
    let ran = world.arkaint(words.into_iter().chain(["--json"])).expect(0);
    let place = &ran.json()["dispatches"][0]["worktree"];
    let place = Path::new(place.as_str().unwrap());
    assert!(place.join(".ak-loop/verify.json").is_file());
    assert!(!world.sandbox.exists(".ak-loop") && !world.sandbox.exists("report.txt"));
    assert_eq!(
        world.sandbox.git(["show", "arkaint/report:report.txt"]),
        "report"
    );
    let gate = ["deliver", branch, "--check", "--json"];
    let said = world.arkaint(gate).expect(0).json();
    assert_eq!(
        (&said["verdict"], &said["table"]["rows"][0]["grade"]),
        (&"open".into(), &"dated".into()),
        "{said}"
    );
    // Really those files: without its outcome there the gate is closed.
    std::fs::write(place.join(".ak-loop/verify.json"), "{}").unwrap();
    world.arkaint(gate).expect(1);
}
