//! What follows a trip or an end in the middle: the attempts in their order, and the next command after an interruption or a kill.

use super::{
    GREEN, NAMED, content, cycle, launches, packet, records, runs, tree, world, world_with,
};

#[test]
fn attempts_spent_escalates_in_order_and_leaves_a_summary() {
    let script = "grep -q 'stop coding' $HOME/packet.$launch && { echo edit > edited-by-summary; finish 'SUMMARY: the parser cannot know the charset.'; }; echo same > bad; finish done";
    let sandbox = world(NAMED, script);
    let stable = tree(&sandbox);
    let ran = cycle(&sandbox).expect(3);
    assert_eq!(
        launches(&sandbox),
        7,
        "2 for each of three trips, then the summary"
    );
    let instructions: Vec<String> = (1..=7)
        .map(|n| packet(&sandbox, n))
        .filter_map(|p| {
            p.lines()
                .find(|l| l.contains("Recovery attempt"))
                .map(str::to_owned)
        })
        .collect();
    assert!(instructions[0].contains("Recovery attempt 1 of 3: try an alternative minimal fix."));
    assert!(instructions.iter().any(|i| {
        i.contains("Recovery attempt 2 of 3: trace the failure to its underlying systemic cause.")
    }));
    assert!(
        instructions
            .last()
            .unwrap()
            .contains("Recovery attempt 3 of 3: stop coding and write a summary for the operator.")
    );
    assert!(
        ran.stderr
            .contains("SUMMARY: the parser cannot know the charset."),
        "{}",
        ran.stderr
    );
    let last = records(&sandbox, "rollback").pop().unwrap();
    assert!(
        last["summary"]
            .as_str()
            .unwrap()
            .contains("the parser cannot know")
    );
    assert!(!sandbox.exists("edited-by-summary"), "its edits are undone");
    assert_eq!(content(&sandbox), stable);
    let kept = sandbox.git([
        "for-each-ref",
        "--format=%(refname)",
        "refs/arkaint/discarded/",
    ]);
    assert!(
        kept.lines().any(|archive| sandbox
            .try_git(["cat-file", "-e", &format!("{archive}:edited-by-summary")])
            .code
            == Some(0)),
        "but archived"
    );
}

#[test]
fn attempts_zero_rolls_back_and_stops_and_one_is_the_summary_alone() {
    for (attempts, most) in [(0, 2), (1, 3)] {
        let sandbox = world_with(
            NAMED,
            "echo same > bad; finish 'a summary'",
            &format!("[cycle]\nattempts = {attempts}"),
        );
        cycle(&sandbox).expect(3);
        assert_eq!(launches(&sandbox), most);
        assert!(!sandbox.exists("bad"), "rolled back");
        if attempts == 1 {
            assert!(packet(&sandbox, 3).contains("Recovery attempt 1 of 1: stop coding"));
        }
    }
}

#[test]
fn a_cycle_that_is_interrupted_goes_on_and_another_task_is_refused() {
    let sandbox = world(
        GREEN,
        "echo $launch > n.txt; if [ $launch = 1 ]; then echo $$ > $HOME/pid; touch $HOME/started; exec sleep 1000; fi; finish done",
    );
    let mut child = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(["cycle", "the long task"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while !sandbox.home().join("started").exists() {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    sandbox.sh(&format!("kill -INT {}", child.id()));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(sandbox.read("n.txt"), "1\n", "the work is left on disk");
    let pid = std::fs::read_to_string(sandbox.home().join("pid")).unwrap();
    assert!(!runs(pid.trim()), "the agent is gone");
    let status = sandbox.arkaint(["status", "--json"]).json();
    assert_eq!(status["open"]["task"], "the long task");
    let ran = sandbox.arkaint(["cycle", "another task"]).expect(2);
    assert!(
        ran.stderr.contains("git arkaint rollback")
            && ran.stderr.contains("git arkaint checkpoint"),
        "{}",
        ran.stderr
    );
    sandbox.arkaint(["cycle", "the long task"]).expect(0);
    assert!(packet(&sandbox, 2).contains("Resume: "));
    assert_eq!(sandbox.git(["show", "HEAD:n.txt"]), "2");
}

#[test]
fn after_a_kill_the_next_command_ends_what_runs_and_archives_what_is_there() {
    let sandbox = world(
        GREEN,
        "echo $launch > n.txt; if [ $launch = 1 ]; then echo $$ > $HOME/pid; exec sleep 1000; fi; finish done",
    );
    let mut child = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(["cycle", "the long task"])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let pid = loop {
        match std::fs::read_to_string(sandbox.home().join("pid")) {
            Ok(pid) if pid.ends_with('\n') => break pid.trim().to_owned(),
            _ => std::thread::yield_now(),
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(runs(&pid), "nothing killed the agent with its parent");
    let ran = sandbox.arkaint(["cycle", "the long task"]).expect(0);
    assert!(
        ran.stderr.contains("was cut off") && ran.stderr.contains("archived as"),
        "{}",
        ran.stderr
    );
    assert!(!runs(&pid));
    assert_eq!(sandbox.git(["show", "HEAD:n.txt"]), "2");
}

#[test]
fn a_cycle_opens_and_closes_with_a_checkpoint_of_its_own_whatever_was_committed_before() {
    let sandbox = world(GREEN, "echo w > work.txt; finish done");
    sandbox.write("mine.txt", "by hand\n");
    sandbox.commit_all("a commit of the user's");
    cycle(&sandbox).expect(0);
    assert_eq!(
        sandbox.git(["log", "--format=%s", "-3"]),
        "[arkaint-sync] checkpoint\n[arkaint-sync] checkpoint\na commit of the user's"
    );
    assert_eq!(
        sandbox.git(["diff", "--stat", "HEAD^^", "HEAD^"]),
        "",
        "the opening one is empty"
    );
}
