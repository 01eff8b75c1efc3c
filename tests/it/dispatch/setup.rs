//! The setup of a worktree: one that fails, one that works, one that died.

use super::{
    WAIT, WORK, at_work, begin, die_at_work, dispatches, go, last, leases, records, until, world,
};

#[test]
fn a_setup_that_fails_leaves_nothing_but_the_record() {
    let sandbox = world(
        WORK,
        "[dispatch]\nsetup = [\"sh\", \"-c\", \"echo no network >&2; exit 7\"]",
    );
    let ran = sandbox.arkaint(["dispatch", "do it"]).expect(3);
    assert!(
        ran.stderr.contains("setup failed (exit 7)") && ran.stderr.contains("no network"),
        "{}",
        ran.stderr
    );
    assert!(!dispatches(&sandbox).exists());
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 1);
    assert_eq!(sandbox.git(["branch", "--list", "arkaint/*"]), "");
    let record = last(&sandbox, "do it");
    assert_eq!(record["state"], "failed");
    assert!(record["line"].as_str().unwrap().contains("setup failed"));
    assert!(record.get("worktree").is_none(), "{record}");
    assert_eq!(leases(&sandbox)[0]["released"], true);
}

#[test]
fn a_setup_makes_the_worktree_usable_and_what_it_left_is_never_removed() {
    let setup = |script: &str| format!("[dispatch]\nsetup = [\"sh\", \"-c\", \"{script}\"]");
    let sandbox = world(
        "cat ../made > seen.txt; finish done",
        &setup("pwd > ../made; touch left.txt; exit 0"),
    );
    sandbox.arkaint(["dispatch", "do it"]).expect(0);
    let seen = sandbox.git(["show", "arkaint/do-it:seen.txt"]);
    assert!(seen.ends_with("repo.arkaint/do-it"), "{seen}");
    let sandbox = world(WORK, &setup("echo precious > left.txt; exit 1"));
    let ran = sandbox.arkaint(["dispatch", "do it"]).expect(3);
    let left = dispatches(&sandbox).join("do-it/left.txt");
    assert_eq!(std::fs::read_to_string(left).unwrap(), "precious\n");
    assert!(
        ran.stderr.contains("repo.arkaint/do-it is kept"),
        "{}",
        ran.stderr
    );
}

#[test]
fn one_that_died_in_its_setup_is_begun_anew_and_a_dead_claim_is_taken_on_a_persons_word() {
    let sandbox = world(
        WORK,
        "[dispatch]\nsetup = [\"sh\", \"-c\", \"touch $HOME/at-work.1; while [ ! -e $HOME/go ]; do sleep 0.05; done\"]",
    );
    let mut child = begin(&sandbox, &["dispatch", "do it"]);
    until("its setup runs", || at_work(&sandbox) == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    go(&sandbox);
    assert!(last(&sandbox, "do it").get("worktree").is_none());
    sandbox.arkaint(["dispatch", "do it"]).expect(4);
    let ran = sandbox.arkaint(["dispatch", "--resume"]).expect(0);
    let done = last(&sandbox, "do it");
    assert_eq!(done["state"], "done", "{}", ran.stderr);
    assert_eq!(done["id"], records(&sandbox)[0]["id"]);
    // The half-made worktree went, and the name was free for it.
    assert_eq!(sandbox.git(["show", "arkaint/do-it:work.txt"]), "work");
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 2);

    let sandbox = world(&format!("[ $launch = 1 ] && {{ {WAIT} }}; {WORK}"), "");
    die_at_work(&sandbox);
    let ran = sandbox.arkaint(["dispatch", "do it", "--steal"]).expect(0);
    assert!(
        ran.stderr.contains("works on arkaint/do-it-2"),
        "{}",
        ran.stderr
    );
    go(&sandbox);
    // The one before is not taken up any more, and its work stays where it is.
    let none = sandbox.arkaint(["dispatch", "--resume"]).expect(0);
    assert!(
        none.stderr.contains("nothing to take up"),
        "{}",
        none.stderr
    );
    assert!(dispatches(&sandbox).join("do-it").exists());
}
