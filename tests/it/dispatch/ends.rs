//! How workers end: killed, interrupted, gone; and what the next command makes of it.

use super::{
    WAIT, WORK, at_work, begin, die_at_work, dispatches, end, go, kill, last, leases, records,
    until, worker, world,
};

#[test]
fn after_a_kill_of_the_dispatcher_the_worker_ends_its_work_and_resume_says_so() {
    let sandbox = world(&format!("{WAIT}{WORK}"), "");
    let mut child = begin(&sandbox, &["dispatch", "do it"]);
    until("it is at work", || at_work(&sandbox) == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    // The claim is held by the dead, and the worker still works.
    let again = sandbox.arkaint(["dispatch", "do it"]).expect(4);
    assert!(
        again.stderr.contains("died and still holds the task") && again.stderr.contains("--resume"),
        "{}",
        again.stderr
    );
    let resumed = sandbox.arkaint(["dispatch", "--resume"]).expect(0);
    assert!(
        resumed.stderr.contains("is still at work: do it"),
        "{}",
        resumed.stderr
    );
    go(&sandbox);
    until("it seals", || {
        sandbox.try_git(["show", "arkaint/do-it:work.txt"]).code == Some(0)
    });
    until("it ends", || {
        !sandbox.exists(".git/worktrees/do-it/arkaint/run.json")
    });
    let mut said = String::new();
    until("nobody is at work", || {
        said = sandbox.arkaint(["dispatch", "--resume"]).expect(0).stderr;
        !said.contains("still at work")
    });
    assert!(said.contains("after its dispatcher had died"), "{said}");
    assert_eq!(last(&sandbox, "do it")["state"], "done");
    assert_eq!(leases(&sandbox)[0]["released"], true);
    assert_eq!(
        std::fs::read_to_string(sandbox.home().join("launches")).unwrap(),
        "1\n"
    );
}

#[test]
fn after_a_kill_of_both_the_work_is_taken_up_where_it_was_and_nothing_of_it_is_lost() {
    let script = format!("[ $launch = 1 ] && {{ echo half > half.txt; {WAIT} }}; {WORK}");
    let sandbox = world(&script, "");
    let mut child = begin(&sandbox, &["dispatch", "do it", "auditor"]);
    until("it is at work", || at_work(&sandbox) == 1);
    let worker = worker(&sandbox, "do-it");
    child.kill().unwrap();
    child.wait().unwrap();
    kill("-KILL", &worker);
    assert!(sandbox.arkaint(["status"]).stdout.contains(" dead: do it"));
    let ran = sandbox
        .arkaint(["dispatch", "--resume", "--json"])
        .expect(0);
    let one = &ran.json()["dispatches"][0];
    assert_eq!(one["id"], records(&sandbox)[0]["id"]);
    assert_eq!(one["branch"], "arkaint/do-it");
    assert_eq!(
        sandbox.git(["show", "arkaint/do-it:half.txt", "arkaint/do-it:work.txt"]),
        "half\nwork"
    );
    assert_eq!(last(&sandbox, "do it")["state"], "done");
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 2);
    let none = sandbox.arkaint(["dispatch", "--resume"]).expect(0);
    assert!(
        none.stderr.contains("there is nothing to take up"),
        "{}",
        none.stderr
    );
}

#[test]
fn a_worktree_that_is_gone_is_said_and_its_claim_is_free_again() {
    let sandbox = world(&format!("{WAIT}{WORK}"), "");
    die_at_work(&sandbox);
    go(&sandbox);
    std::fs::rename(dispatches(&sandbox), sandbox.repo.with_file_name("moved")).unwrap();
    let status = sandbox.arkaint(["status", "--json"]).expect(0).json();
    assert_eq!(status["dispatches"][0]["gone"], true);
    let ran = sandbox.arkaint(["dispatch", "--resume"]).expect(0);
    assert!(
        ran.stderr.contains("its worktree is gone"),
        "{}",
        ran.stderr
    );
    assert_eq!(last(&sandbox, "do it")["state"], "failed");
    assert!(
        sandbox
            .repo
            .with_file_name("moved")
            .join("do-it/arkaint.toml")
            .exists()
    );
    sandbox.arkaint(["dispatch", "do it"]).expect(0);
}

#[test]
fn ctrl_c_reaches_every_worker_and_each_record_says_interrupted() {
    let sandbox = world(&format!("echo half > half.txt; {WAIT}{WORK}"), "");
    sandbox.write("list", "one\ntwo\nthree\n");
    let child = begin(&sandbox, &["dispatch", "--tasks", "list", "-j", "2"]);
    until("two are at work", || at_work(&sandbox) == 2);
    kill("-INT", &child.id().to_string());
    end(child).expect(130);
    for task in ["one", "two"] {
        assert_eq!(last(&sandbox, task)["state"], "interrupted");
        assert!(dispatches(&sandbox).join(task).join("half.txt").exists());
    }
    assert!(
        records(&sandbox)
            .iter()
            .all(|record| record["task"] != "three")
    );
    go(&sandbox);
    let ran = sandbox
        .arkaint(["dispatch", "--resume", "-j", "2"])
        .expect(0);
    assert_eq!(last(&sandbox, "one")["state"], "done", "{}", ran.stderr);
    assert_eq!(last(&sandbox, "two")["state"], "done");
}
