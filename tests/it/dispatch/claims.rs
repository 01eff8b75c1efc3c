//! One claim a task: who gets it, on which branch and worktree, and what is refused.

use std::path::Path;
use std::process::Child;

use serde_json::Value;

use super::{
    WAIT, WORK, at_work, begin, dispatches, end, go, kill, last, leases, records, until, worker,
    world,
};
use crate::sandbox::Ran;

#[test]
fn a_task_gets_a_branch_and_a_worktree_of_its_own_and_uncommitted_files_stay_behind() {
    let sandbox = world(WORK, "");
    sandbox.write("tracked.txt", "changed\n");
    sandbox.write("new.txt", "new\n");
    let start = sandbox.git(["rev-parse", "HEAD"]);
    let ran = sandbox
        .arkaint(["dispatch", "Add the work file", "--json"])
        .expect(0);
    assert!(
        ran.stderr.contains("uncommitted files stay behind")
            && ran.stderr.contains("tracked.txt, new.txt"),
        "{}",
        ran.stderr
    );
    let one = &ran.json()["dispatches"][0];
    let path = dispatches(&sandbox).join("add-the-work-file");
    assert_eq!(one["worktree"], path.to_str().unwrap());
    assert_eq!(one["branch"], "arkaint/add-the-work-file");
    assert_eq!(
        (&one["state"], &one["base"]),
        (&"done".into(), &start.as_str().into())
    );
    let tip = sandbox.git(["rev-parse", "arkaint/add-the-work-file"]);
    assert_eq!(one["head"], tip.as_str());
    // Where it was given nothing has changed, and the new branch has the work alone.
    assert_eq!(sandbox.git(["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(sandbox.git(["rev-parse", "HEAD"]), start);
    assert_eq!(
        sandbox.git(["status", "--porcelain"]),
        " M tracked.txt\n?? new.txt"
    );
    assert_eq!(
        sandbox.git(["diff", "--name-only", "main", &tip]),
        "work.txt"
    );
    assert_eq!(
        sandbox
            .git([
                "reflog",
                "show",
                "--format=%gs",
                "arkaint/add-the-work-file"
            ])
            .lines()
            .last(),
        Some("branch: Created from main")
    );
    let states: Vec<_> = records(&sandbox)
        .iter()
        .map(|r| r["state"].clone())
        .collect();
    assert_eq!(
        states,
        [
            "started".into(),
            Value::Null,
            "running".into(),
            "done".into()
        ]
    );
    assert_eq!(records(&sandbox)[2]["policy"], "dated");
    // They hang on the base, which no rollback removes.
    let note = sandbox.git(["notes", "--ref=arkaint/ledger", "show", &start]);
    assert_eq!(note.matches("\"kind\":\"dispatch\"").count(), 4);
    assert_eq!(leases(&sandbox)[0]["released"], true);
    assert!(sandbox.read(".git/info/exclude").contains("/.ak-loop/"));
    let log = sandbox.read(".git/worktrees/add-the-work-file/arkaint/dispatch.log");
    assert!(log.contains("sealed as "), "{log}");
    assert_eq!(
        sandbox.arkaint(["status", "--json"]).json()["dispatches"],
        Value::Array(vec![])
    );
}

#[test]
fn of_fifty_at_once_one_has_the_task() {
    let sandbox = world(&format!("{WAIT}{WORK}"), "");
    let racers: Vec<Child> = (0..50)
        .map(|_| begin(&sandbox, &["dispatch", "race for it"]))
        .collect();
    // The winner works until all others have been told no.
    let mut racers = racers;
    until("49 are refused", || {
        let over = racers.iter_mut().filter_map(|r| r.try_wait().unwrap());
        over.count() == 49
    });
    go(&sandbox);
    let ran: Vec<Ran> = racers.into_iter().map(end).collect();
    let winners: Vec<&Ran> = ran.iter().filter(|ran| ran.code == Some(0)).collect();
    assert_eq!(winners.len(), 1);
    for loser in ran.iter().filter(|ran| ran.code != Some(0)) {
        assert_eq!(loser.code, Some(4), "{}", loser.stderr);
        assert!(
            loser.stderr.contains("holds the task: race for it")
                && loser.stderr.contains(" since 2"),
            "{}",
            loser.stderr
        );
    }
    let records = records(&sandbox);
    assert_eq!(records.len(), 4, "the others left no trace: {records:?}");
    assert_eq!(
        sandbox.git(["branch", "--list", "--format=%(refname:short)"]),
        "arkaint/race-for-it\nmain"
    );
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 2);
}

#[test]
fn of_four_at_once_one_is_killed_one_out_of_budget_and_the_records_say_so() {
    let spend = "i=0; while [ $i -lt 4000 ]; do say $i 'many many words of the model'; i=$((i + 1)); done; sleep 20; finish done";
    let script = format!(
        "case $PWD in */spend) {spend};; */die) sleep 300 & echo $! > \"$HOME/orphan\"; {WAIT} sleep 300;; *) {WORK};; esac"
    );
    let sandbox = world(&script, "[budget]\nrun_tokens = 3000");
    sandbox.write("list", "# of tonight\n\nspend\ndie\nalpha\n  beta\n");
    let child = begin(
        &sandbox,
        &["dispatch", "--tasks", "list", "--jobs", "4", "--json"],
    );
    until("one is to be killed", || at_work(&sandbox) == 1);
    let orphan = std::fs::read_to_string(sandbox.home().join("orphan")).unwrap();
    kill("-KILL", &worker(&sandbox, "die"));
    let ran = end(child).expect(5);
    let state = |task: &str| last(&sandbox, task)["state"].clone();
    assert_eq!(
        [state("spend"), state("die"), state("alpha"), state("beta")],
        ["budget", "killed", "done", "done"]
    );
    assert_eq!(last(&sandbox, "spend")["exit"], 5);
    let killed = last(&sandbox, "die");
    assert_eq!(
        (&killed["exit"], killed["line"].as_str()),
        (&3.into(), Some("its worker was killed by signal 9"))
    );
    assert!(
        ran.stderr.contains("alpha | ") && ran.stderr.contains("beta | "),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.json()["dispatches"].as_array().unwrap().len(), 4);
    // What the killed one had started is ended, no claim is left, and the work of the good ones is where it belongs.
    until("the orphan ends", || {
        !Path::new(&format!("/proc/{}", orphan.trim())).exists()
    });
    assert!(
        leases(&sandbox)
            .iter()
            .all(|lease| lease["released"] == true)
    );
    assert_eq!(
        sandbox.git(["show", "arkaint/alpha:work.txt", "arkaint/beta:work.txt"]),
        "work\nwork"
    );
    // The gate judges each on its own: two are good, one left no commit, one is as its opening checkpoint.
    let gate = sandbox.arkaint(["deliver", "--all", "--check", "--json"]);
    assert_eq!(gate.code, Some(3), "{}", gate.stderr);
    let gate = gate.json();
    let of = |task: &str| {
        let all = gate["deliveries"].as_array().unwrap();
        let found = all.iter().find(|delivery| delivery["task"] == task);
        found.unwrap_or_else(|| panic!("{task}: {gate}")).clone()
    };
    for task in ["alpha", "beta"] {
        assert_eq!(of(task)["verdict"], "open", "{gate}");
        assert_eq!(of(task)["state"], "done");
    }
    for (task, state) in [("die", "killed"), ("spend", "budget")] {
        assert_eq!(of(task)["state"], state);
        assert_eq!(of(task)["verdict"], "held", "{gate}");
        assert_eq!(of(task)["gate"], "empty delta", "{gate}");
    }
    let shown = sandbox.arkaint(["status"]).expect(0).stdout;
    assert!(
        shown.contains("killed: die") && !shown.contains("alpha"),
        "{shown}"
    );
}

#[test]
fn a_release_beside_a_run_is_no_broken_rule_of_it() {
    let later = WAIT.replace("HOME/go", "HOME/later");
    let script = format!("case $PWD in */slow) {later} {WORK};; *) {WAIT} {WORK};; esac");
    let sandbox = world(&script, "");
    let quick = begin(&sandbox, &["dispatch", "quick"]);
    until("the quick one is at work", || at_work(&sandbox) == 1);
    // The slow one's guard has noted the claim of the quick one.
    let slow = begin(&sandbox, &["dispatch", "slow"]);
    until("both are at work", || at_work(&sandbox) == 2);
    go(&sandbox);
    end(quick).expect(0);
    std::fs::write(sandbox.home().join("later"), "").unwrap();
    let ran = end(slow).expect(0);
    assert!(
        !ran.stderr.contains("was deleted") && !ran.stderr.contains("was moved"),
        "{}",
        ran.stderr
    );
}

#[test]
fn names_that_are_taken_and_branches_that_are_not_for_agents() {
    let sandbox = world(WORK, "");
    sandbox.git(["branch", "arkaint/do-it"]);
    sandbox.arkaint(["dispatch", "do it"]).expect(0);
    assert_eq!(sandbox.git(["show", "arkaint/do-it-2:work.txt"]), "work");
    let refused = |words: &[&str], why: &str| {
        let before = sandbox.git(["for-each-ref"]);
        let ran = sandbox.arkaint(words).expect(2);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
        assert_eq!(sandbox.git(["for-each-ref"]), before);
    };
    refused(
        &["dispatch", "x", "--branch", "arkaint/do-it"],
        "exists already",
    );
    refused(
        &["dispatch", "x", "--branch", "feature/x"],
        "is not one for agents",
    );
    refused(&["dispatch", "x", "--base", "nowhere"], "no commit here");
    refused(&["dispatch", "debugger"], "is a profile, not a task");
    refused(&["dispatch"], "there is no task");
    sandbox.write("list", "do it\n do  it \n");
    refused(&["dispatch", "--tasks", "list"], "given twice");
    sandbox.write(
        "c.toml",
        "[[outcomes]]\nid = \"a\"\ncheck = { kind = \"manual\" }\n",
    );
    refused(
        &["dispatch", "x", "--contract", "c.toml"],
        "no agent should start on it yet",
    );
    let nested: Ran = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(["dispatch", "x"])
        .env("ARKAINT_RUN", "r")
        .output()
        .unwrap()
        .into();
    assert!(nested.expect(2).stderr.contains("already inside run r"));
}

#[test]
fn a_dry_run_says_what_would_be_and_does_nothing() {
    let sandbox = world(WORK, "[dispatch]\nsetup = [\"npm\", \"ci\"]");
    let before = sandbox.git(["for-each-ref"]);
    let ran = sandbox
        .arkaint(["dispatch", "do it", "auditor", "--dry-run"])
        .expect(0);
    for said in [
        "branch     arkaint/do-it from main",
        "repo.arkaint/do-it",
        "setup      npm ci",
        "claimed    by nobody",
        "--profile auditor",
    ] {
        assert!(ran.stdout.contains(said), "{said}: {}", ran.stdout);
    }
    assert_eq!(sandbox.git(["for-each-ref"]), before);
    assert!(!dispatches(&sandbox).exists());
}

#[test]
fn a_contract_is_frozen_for_the_new_branch_and_the_base_is_where_it_says() {
    let verify = "git arkaint verify --outcome a -- true";
    let sandbox = world(&format!("{verify}\n{WORK}"), "");
    let start = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.git(["branch", "release"]);
    sandbox.write("later.txt", "later\n");
    sandbox.commit_all("later");
    sandbox.write(
        "c.toml",
        "[[outcomes]]\nid = \"a\"\ncheck = { kind = \"command\", command = \"true\" }\n",
    );
    let words = [
        "dispatch",
        "do it",
        "--contract",
        "c.toml",
        "--base",
        "release",
        "--branch",
        "arkaint/own",
    ];
    sandbox.arkaint(words).expect(0);
    assert_eq!(sandbox.git(["merge-base", "arkaint/own", "main"]), start);
    let running = &records(&sandbox)[2];
    let digest = running["contract"].as_str().unwrap();
    assert_eq!(running["branch"], "arkaint/own");
    let shown = sandbox
        .arkaint(["contract", "show", digest, "--json"])
        .expect(0)
        .json();
    assert_eq!(shown["contract"]["branch"], "arkaint/own");
    assert_eq!(shown["contract"]["task"], "do it");
    assert_eq!(records(&sandbox)[0]["base_branch"], "release");
    // The gate goes by the record.
    let gate = sandbox
        .arkaint(["deliver", "--all", "--check", "--json"])
        .expect(0)
        .json();
    let delivery = &gate["deliveries"][0];
    assert_eq!(delivery["verdict"], "open", "{delivery}");
    assert_eq!(delivery["contract"], digest);
    assert_eq!(delivery["base"]["name"], "release");
}

#[test]
fn a_worktree_of_a_dispatch_dispatches_beside_itself() {
    let sandbox = world("echo work > work.${PWD##*/}; finish done", "");
    sandbox.arkaint(["dispatch", "first"]).expect(0);
    let first = dispatches(&sandbox).join("first");
    sandbox
        .arkaint(["-C", first.to_str().unwrap(), "dispatch", "second"])
        .expect(0);
    assert!(dispatches(&sandbox).join("second/work.second").exists());
    let base = &records(&sandbox)[4]["base_branch"];
    assert_eq!(base, "arkaint/first");
}
