//! The evidence in a cycle: what the worker is told to leave, the fix rounds that name what is lacking, and what a seal, a rollback and another
//! task do with the files. With scripted stand-ins; the real agents are in `goose_evidence`.

use std::path::Path;

use serde_json::Value;

use crate::cycle::{launches, packet, records};
use crate::sandbox::{Ran, Sandbox};
use crate::stand_in::PRELUDE;

pub(crate) const TASK: &str = "make the report";

pub(crate) const CONTRACT: &str = r#"
intent = "The report can be read."
[[outcomes]]
id = "o1"
description = "the report is made"
check = {kind = "command", command = "cat report.txt"}
"#;

/// A sealed project with an open contract for [`TASK`], and an agent that runs `script`.
fn world(contract: &str, config: &str, script: &str) -> Sandbox {
    let sandbox = Sandbox::ready("\"test ! -e bad\"");
    if !config.is_empty() {
        let toml = sandbox.read("arkaint.toml");
        sandbox.write("arkaint.toml", &format!("{toml}\n{config}\n"));
        sandbox.commit_all("configure");
    }
    if !contract.is_empty() {
        std::fs::write(sandbox.home().join("contract.toml"), contract).unwrap();
        let file = sandbox.home().join("contract.toml");
        let words = ["contract", "freeze", file.to_str().unwrap(), "--task", TASK];
        sandbox.arkaint(words).expect(0);
    }
    sandbox.agent(&format!("{PRELUDE}\n{VERIFY}\n{script}\n"));
    sandbox
}

/// `verify STATUS [EVIDENCE]`: the worker's own file about o1.
const VERIFY: &str = r#"
verify() {
    mkdir -p .ak-loop
    printf '{"ranAt":"%s","command":"cat report.txt","exitCode":0,"outcomes":[{"id":"o1","status":"%s","evidence":"%s"}]}' \
        "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$1" "${2:-a whole report}" >.ak-loop/verify.json
}
"#;

fn cycle(sandbox: &Sandbox) -> Ran {
    sandbox.arkaint(["cycle", TASK])
}

fn kept(sandbox: &Sandbox) -> Vec<Value> {
    let mut records = records(sandbox, "evidence");
    records.retain(|record| record["what"] == "artifacts");
    records
}

#[test]
fn the_brief_says_what_to_leave_and_the_seal_carries_it() {
    let sandbox = world(
        CONTRACT,
        "",
        "echo report > report.txt; verify passed; finish done",
    );
    cycle(&sandbox).expect(0);
    let told = packet(&sandbox, 1);
    for words in [
        "# Brief",
        ".ak-loop/verify.json",
        "`o1`: the report is made (command: `cat report.txt`)",
        "The report can be read.",
        "missing  issue/o1 has no proof: prove it in .ak-loop/verify.json",
        "## Evidence",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert_eq!(launches(&sandbox), 1);
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let kept = kept(&sandbox);
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0]["commit"], head.as_str());
    assert_eq!(
        kept[0]["tree"],
        sandbox.git(["rev-parse", "HEAD^{tree}"]).as_str()
    );
    let file = &kept[0]["files"][0];
    assert_eq!(file["path"], ".ak-loop/verify.json");
    // Git's own object is the file, byte for byte, and the file stays for who comes next.
    let blob = sandbox.git(["cat-file", "blob", file["blob"].as_str().unwrap()]);
    assert_eq!(blob, sandbox.read(".ak-loop/verify.json"));
    assert_eq!(sandbox.git(["ls-files", ".ak-loop"]), "");
    let run = &records(&sandbox, "run")[0];
    assert_eq!(run["evidence"]["overall"], "complete");
    // The gate answers by it.
    let gate = sandbox
        .arkaint(["deliver", "--check", "--json"])
        .expect(0)
        .json();
    assert_eq!(gate["verdict"], "open", "{gate}");
    assert_eq!(gate["table"]["rows"][0]["grade"], "dated", "{gate}");
}

/// report_gaia_3732.
#[test]
fn a_file_that_is_missing_broken_or_stale_is_named_each_in_its_own_words() {
    for (first, named) in [
        ("", ".ak-loop/verify.json is not written"),
        (
            "mkdir .ak-loop; echo '{\"outcomes\":[{\"id\":\"o1\",\"status\":\"PASSED\"}]}' >.ak-loop/verify.json",
            "worse than absent: outcomes[0].status: \"PASSED\" is neither \"passed\" nor \"failed\"",
        ),
        (
            "verify passed; touch -d '1 hour' report.txt",
            "stale (older)",
        ),
        (
            "verify failed 'no report at all'",
            "issue/o1 failed in .ak-loop/verify.json: fix it",
        ),
        (
            "mkdir .ak-loop; ln -s /dev/zero .ak-loop/verify.json",
            "unsafe file: symlink",
        ),
    ] {
        let script = format!(
            "if [ $launch = 1 ]; then echo report > report.txt; {first}\nelse rm -rf .ak-loop; touch report.txt; verify passed; fi; finish done"
        );
        let sandbox = world(CONTRACT, "", &script);
        let ran = cycle(&sandbox).expect(0);
        assert_eq!(launches(&sandbox), 2, "{named}: {}", ran.stderr);
        let told = packet(&sandbox, 2);
        assert!(told.contains("its evidence is not complete"), "{told}");
        assert!(told.contains(named), "{named}: {told}");
        assert!(ran.stderr.contains("fix round 1 of 2"), "{}", ran.stderr);
    }
}

#[test]
fn a_worker_that_never_writes_is_kept_for_a_person_after_the_last_fix_round() {
    let sandbox = world(CONTRACT, "", "echo $launch > report.txt; finish done");
    let ran = cycle(&sandbox).expect(3);
    assert_eq!(launches(&sandbox), 3);
    assert!(
        ran.stderr
            .contains("the evidence is not complete, and 2 fix rounds are spent"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.read("report.txt"), "3\n", "the work is kept");
    assert_eq!(sandbox.git(["ls-files", "report.txt"]), "", "not sealed");
    assert!(records(&sandbox, "rollback").is_empty());
}

/// report_claude_code_70231.
#[test]
fn a_claim_against_red_tests_is_never_sealed() {
    let script = "if [ $launch = 1 ]; then touch bad; else rm bad; fi; echo report > report.txt; verify passed 'all tests pass'; finish done";
    let sandbox = world(CONTRACT, "", script);
    let ran = cycle(&sandbox).expect(0);
    assert_eq!(launches(&sandbox), 2, "{}", ran.stderr);
    assert!(
        packet(&sandbox, 2).contains("tests"),
        "{}",
        packet(&sandbox, 2)
    );
    assert_eq!(sandbox.git(["ls-files", "bad"]), "");
}

#[test]
fn only_evidence_was_left_to_write_and_that_is_work() {
    let sandbox = world(CONTRACT, "", "verify passed; finish done");
    sandbox.write("report.txt", "by hand\n");
    cycle(&sandbox).expect(0);
    assert_eq!(launches(&sandbox), 1);
    assert_eq!(kept(&sandbox).len(), 1);
}

#[test]
fn what_the_ledger_kept_is_no_work_of_a_launch_that_does_nothing() {
    let script =
        "if [ $launch = 1 ]; then echo report > report.txt; verify passed; fi; finish done";
    let sandbox = world(CONTRACT, "", script);
    cycle(&sandbox).expect(0);
    std::fs::remove_dir_all(sandbox.repo.join(".ak-loop")).unwrap();
    let ran = cycle(&sandbox).expect(3);
    assert!(
        ran.stderr.contains("two launches changed nothing"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_projects_own_check_is_sealed_evidence() {
    let contract = CONTRACT.replace("cat report.txt", "test ! -e bad");
    let sandbox = world(
        &contract,
        "",
        "echo report > report.txt; mkdir -p .ak-loop; echo '{}' > .ak-loop/verify.json; finish done",
    );
    cycle(&sandbox).expect(0);
    let gate = sandbox
        .arkaint(["deliver", "--check", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        gate["table"]["rows"][0]["source"], "arkaint · sealed",
        "{gate}"
    );
}

#[test]
fn an_item_of_the_project_is_asked_for_without_a_contract() {
    let dod = "[[dod]]\nid = \"news\"\nkind = \"file-changed\"\nglob = \"NEWS.md\"";
    let script = "if [ $launch = 2 ]; then echo news > NEWS.md; fi; echo work > work.txt; mkdir -p .ak-loop; echo '{}' > .ak-loop/verify.json; finish done";
    let sandbox = world("", dod, script);
    cycle(&sandbox).expect(0);
    assert_eq!(launches(&sandbox), 2);
    assert!(
        packet(&sandbox, 2).contains("project/news failed"),
        "{}",
        packet(&sandbox, 2)
    );
}

#[test]
fn a_manual_outcome_does_not_stop_the_seal_and_waits_at_the_gate() {
    let contract =
        format!("{CONTRACT}\n[[outcomes]]\nid = \"looks\"\ncheck = {{kind = \"manual\"}}\n");
    let sandbox = world(
        &contract,
        "",
        "echo report > report.txt; verify passed; finish done",
    );
    let ran = cycle(&sandbox).expect(0);
    assert!(
        ran.stderr.contains("contract attest looks"),
        "{}",
        ran.stderr
    );
    sandbox.arkaint(["deliver"]).expect(3);
    sandbox.arkaint(["contract", "attest", "looks"]).expect(0);
    sandbox.arkaint(["deliver"]).expect(0);
}

#[test]
fn an_approved_plan_is_told_and_asked_back() {
    let script = "if [ $launch = 2 ]; then echo 'as planned' > .ak-loop/plan.md; fi; echo $launch > report.txt; verify passed; finish done";
    let sandbox = world(CONTRACT, "", script);
    std::fs::write(
        sandbox.home().join("plan"),
        "First the title, then the rows.\n",
    )
    .unwrap();
    let plan = sandbox.home().join("plan");
    sandbox
        .arkaint(["contract", "approve-plan", plan.to_str().unwrap()])
        .expect(0);
    cycle(&sandbox).expect(0);
    let told = packet(&sandbox, 1);
    assert!(told.contains("First the title, then the rows."), "{told}");
    assert_eq!(launches(&sandbox), 2);
    let named = ".ak-loop/plan.md is not written";
    assert!(
        packet(&sandbox, 2).contains(named),
        "{}",
        packet(&sandbox, 2)
    );
    sandbox.arkaint(["deliver", "--check"]).expect(0);
    let secret = "The key is ghp_abcdefghijklmnopqrstuvwxyz0123456789\n";
    std::fs::write(&plan, secret).unwrap();
    let ran = sandbox
        .arkaint(["contract", "approve-plan", plan.to_str().unwrap()])
        .expect(2);
    assert!(ran.stderr.contains("holds a secret"), "{}", ran.stderr);
}

#[test]
fn a_rollback_moves_the_files_aside() {
    let sandbox = world(
        CONTRACT,
        "[cycle]\nattempts = 0",
        "touch bad; echo report > report.txt; verify passed; finish done",
    );
    let ran = cycle(&sandbox).expect(3);
    assert!(!sandbox.exists(".ak-loop/verify.json"), "{}", ran.stderr);
    let line = ran
        .stderr
        .lines()
        .find(|l| l.contains("moved aside"))
        .unwrap();
    let folder = line.rsplit("to ").next().unwrap();
    assert!(Path::new(folder).join("verify.json").is_file(), "{line}");
}

#[test]
fn the_files_of_another_task_move_aside_before_it_begins() {
    let script = "echo $launch > report.txt; [ $launch = 1 ] && verify passed; finish done";
    let sandbox = world(CONTRACT, "", script);
    cycle(&sandbox).expect(0);
    // The same task goes on with its own files.
    assert!(sandbox.exists(".ak-loop/verify.json"));
    let file = sandbox.home().join("contract.toml");
    let words = [
        "contract",
        "freeze",
        file.to_str().unwrap(),
        "--task",
        "the next",
    ];
    sandbox.arkaint(words).expect(0);
    let ran = sandbox.arkaint(["cycle", "the next"]).expect(3);
    assert!(
        ran.stderr
            .contains("the evidence of another task is moved aside"),
        "{}",
        ran.stderr
    );
    let told = packet(&sandbox, 2);
    assert!(told.contains(".ak-loop/verify.json: not written"), "{told}");
}

#[test]
fn a_contract_that_cannot_be_relied_on_starts_no_launch() {
    let sandbox = world(CONTRACT, "", "finish done");
    let log = records(&sandbox, "contract");
    let blob = log[0]["blob"].as_str().unwrap();
    let path = format!(".git/objects/{}/{}", &blob[..2], &blob[2..]);
    std::fs::remove_file(sandbox.repo.join(path)).unwrap();
    let before = sandbox.git(["for-each-ref"]);
    let ran = cycle(&sandbox).expect(3);
    assert!(ran.stderr.contains("cannot be relied on"), "{}", ran.stderr);
    assert_eq!(launches(&sandbox), 0);
    assert_eq!(sandbox.git(["for-each-ref"]), before);
}
