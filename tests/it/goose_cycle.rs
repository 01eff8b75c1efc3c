//! The main job with the real Goose, driven by the scripted model: what Arkaint makes of a run, in all its ends.

use serde_json::{Value, json};

use crate::goose::GooseWorld;
use crate::model::{Reply, told};
use crate::sandbox::Sandbox;

/// A check that fails by name, as a test runner does: with the words of the file `bad`.
const CHECK: &str = "[ ! -e bad ] || { echo \"FAIL: $(cat bad)\"; exit 1; }\n";

fn world(name: &str, replies: Vec<Reply>) -> Option<GooseWorld> {
    let world = GooseWorld::new(name, "\"sh check.sh\"", replies)?;
    world.sandbox.write("check.sh", CHECK);
    world.sandbox.commit_all("the check");
    Some(world)
}

fn done(said: &str) -> Reply {
    Reply::text(&format!("{said}\nARKAINT: done"))
}

fn records(world: &GooseWorld, kind: &str) -> Vec<Value> {
    world.arkaint(["log", "--json", "--kind", kind]).records()
}

fn outcome(world: &GooseWorld) -> String {
    records(world, "run").last().unwrap()["outcome"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn head(sandbox: &Sandbox) -> String {
    sandbox.git(["rev-parse", "HEAD"])
}

/// What on-disk content git would commit.
fn content(sandbox: &Sandbox) -> String {
    sandbox.sh("export GIT_INDEX_FILE=$(mktemp -u); git add -A && git write-tree; rm -f $GIT_INDEX_FILE").trim().to_owned()
}

#[test]
fn a_cycle_that_edits_a_file_is_sealed() {
    let script = vec![
        Reply::shell("echo hello > hello.txt").usage(1000, 200, 30),
        done("Wrote hello.txt."),
    ];
    let Some(world) = world("a_cycle_that_edits_a_file_is_sealed", script) else {
        return;
    };
    let ran = world
        .arkaint(["cycle", "write a friendly greeting into hello.txt"])
        .expect(0);
    assert!(ran.stderr.contains("sealed as "), "{}", ran.stderr);
    assert_eq!(world.sandbox.git(["show", "HEAD:hello.txt"]), "hello");
    let body = world.sandbox.git(["log", "-1", "--format=%B"]);
    assert!(
        body.contains("Arkaint-Provider: openai\nArkaint-Model: mock-model\n")
            && body.contains("Wrote hello.txt."),
        "{body}"
    );
    assert!(!body.contains("ARKAINT: done"));
    let run = &records(&world, "run")[0];
    assert_eq!(
        (&run["agent"], &run["outcome"]),
        (&json!("goose"), &json!("done"))
    );
    assert!(run["version"].as_str().unwrap().starts_with("1."));
    assert_eq!(
        (
            &run["tokens"]["input"],
            &run["tokens"]["output"],
            &run["tokens"]["cache_read"]
        ),
        (&json!(1100), &json!(50), &json!(200))
    );
    assert_eq!(run["cost"]["source"], "unknown");
    assert!(
        run["endpoint"]
            .as_str()
            .unwrap()
            .starts_with("http://127.0.0.1:")
    );
    let prompt = told(&world.model.requests()[0]);
    assert!(
        prompt.contains("write a friendly greeting into hello.txt")
            && prompt.contains("ARKAINT: done")
    );
    let log = world.sandbox.read(".arkaint/run.log");
    assert!(log.lines().last().unwrap().contains("\"complete\""));
    // The recorded log, read again, says the same.
    let said = world
        .arkaint(["explain", "--json", ".arkaint/run.log"])
        .expect(0)
        .json();
    assert_eq!(
        (&said["outcome"], &said["trips"]),
        (&json!("done"), &json!(false))
    );
}

/// One launch that breaks the check and runs it three times in vain.
fn failing_launch(marker: &str) -> Vec<Reply> {
    let mut replies = vec![Reply::shell(&format!(
        "echo test_parser > bad; echo {marker} > {marker}.txt; rm -f README.md"
    ))];
    replies.extend((0..3).map(|n| Reply::shell(&format!("sh check.sh # try {n}"))));
    replies.push(done("I could not make it pass."));
    replies
}

#[test]
fn the_same_tool_failure_thrice_trips_and_the_second_recovery_succeeds() {
    let mut script = failing_launch("first");
    script.extend(failing_launch("second"));
    script.extend([
        Reply::shell("echo good > good.txt && sh check.sh"),
        done("Another way."),
    ]);
    let Some(world) = world(
        "the_same_tool_failure_thrice_trips_and_the_second_recovery_succeeds",
        script,
    ) else {
        return;
    };
    world
        .sandbox
        .git(["commit", "-q", "--allow-empty", "-m", "before"]);
    let stable = world.sandbox.git(["rev-parse", "HEAD^{tree}"]);
    let ran = world
        .arkaint(["cycle", "make the parser accept empty input"])
        .expect(0);
    assert_eq!(records(&world, "trip").len(), 2, "{}", ran.stderr);
    let rollbacks = records(&world, "rollback");
    for (rollback, marker) in rollbacks.iter().zip(["first", "second"]) {
        assert!(rollback["differs"].as_array().unwrap().is_empty());
        let archived = rollback["archived"].as_str().unwrap();
        assert_eq!(
            world
                .sandbox
                .git(["show", &format!("{archived}:{marker}.txt")]),
            marker
        );
        assert_eq!(
            world.sandbox.git([
                "rev-parse",
                &format!("{}^{{tree}}", rollback["to"].as_str().unwrap())
            ]),
            stable
        );
    }
    // The exact stable tree and the one new file, nothing of the attempts.
    assert_eq!(
        world
            .sandbox
            .git(["diff-tree", "-r", "--name-status", &stable, "HEAD^{tree}"]),
        "A\tgood.txt"
    );
    let starts: Vec<String> = world
        .model
        .requests()
        .iter()
        .map(told)
        .filter(|t| t.contains("Recovery attempt"))
        .collect();
    assert!(starts[0].contains("Recovery attempt 1 of 3: try an alternative minimal fix."));
    assert!(
        starts.last().unwrap().contains(
            "Recovery attempt 2 of 3: trace the failure to its underlying systemic cause."
        )
    );
    assert!(starts[0].contains("test_parser"), "the failure is named");
}

#[test]
fn attempts_spent_sends_the_three_instructions_in_order_and_keeps_the_summary() {
    let mut script = Vec::new();
    for marker in ["one", "two", "three"] {
        script.extend(failing_launch(marker));
    }
    script.push(done(
        "SUMMARY: the grammar is ambiguous; a person must choose.",
    ));
    let Some(world) = world(
        "attempts_spent_sends_the_three_instructions_in_order_and_keeps_the_summary",
        script,
    ) else {
        return;
    };
    let stable = content(&world.sandbox);
    let ran = world
        .arkaint(["cycle", "make the parser accept empty input"])
        .expect(3);
    assert!(
        ran.stderr.contains("SUMMARY: the grammar is ambiguous"),
        "{}",
        ran.stderr
    );
    let mut seen: Vec<&str> = Vec::new();
    let sentences = [
        "Recovery attempt 1 of 3: try an alternative minimal fix.",
        "Recovery attempt 2 of 3: trace the failure to its underlying systemic cause.",
        "Recovery attempt 3 of 3: stop coding and write a summary for the operator.",
    ];
    for request in world.model.requests() {
        let told = told(&request);
        if let Some(sentence) = sentences.iter().find(|s| told.contains(**s))
            && seen.last() != Some(sentence)
        {
            seen.push(sentence);
        }
    }
    assert_eq!(seen, sentences);
    let summary = records(&world, "rollback").pop().unwrap();
    assert!(
        summary["summary"]
            .as_str()
            .unwrap()
            .contains("a person must choose")
    );
    assert_eq!(content(&world.sandbox), stable);
}

#[test]
fn failures_of_the_service_are_never_done_and_never_roll_back() {
    let cases: [(&str, Vec<Reply>, &str); 4] = [
        (
            "500",
            vec![
                Reply::shell("echo partial > partial.txt"),
                Reply::error(500, "scripted trouble"),
            ],
            "unreachable",
        ),
        (
            "401",
            vec![
                Reply::shell("echo partial > partial.txt"),
                Reply::error(401, "bad key"),
            ],
            "unusable",
        ),
        (
            "404",
            vec![Reply::error(404, "the model `mock-model` does not exist")],
            "unusable",
        ),
        (
            "429",
            vec![Reply::error(429, "rate limit exceeded").header("Retry-After", "1")],
            "limited",
        ),
    ];
    for (case, script, named) in cases {
        let Some(world) = world(
            "failures_of_the_service_are_never_done_and_never_roll_back",
            script,
        ) else {
            return;
        };
        let ran = world
            .arkaint(["cycle", "a task for a broken service"])
            .expect(3);
        assert_eq!(outcome(&world), named, "{case}: {}", ran.stderr);
        assert_eq!(records(&world, "run").len(), 1, "{case}: no second launch");
        assert!(
            records(&world, "rollback").is_empty() && records(&world, "trip").is_empty(),
            "{case}"
        );
        if matches!(case, "500" | "401") {
            assert_eq!(
                world.sandbox.read("partial.txt"),
                "partial\n",
                "{case}: partial work is kept"
            );
        }
    }
    let Some(mut world) = world(
        "failures_of_the_service_are_never_done_and_never_roll_back",
        vec![done("never asked")],
    ) else {
        return;
    };
    world.unplug();
    let ran = world
        .arkaint(["cycle", "a task without a service"])
        .expect(3);
    assert_eq!(outcome(&world), "unreachable", "{}", ran.stderr);
}

#[test]
fn a_cut_stream_and_the_turn_limit_are_fix_rounds_that_keep_the_work() {
    // Cut in the first reply, cut after a tool call, then a good one.
    let script = vec![
        Reply::text("I was about to").then_cut(),
        Reply::shell("echo one > one.txt"),
        Reply::text("Now I will also").then_cut(),
        Reply::shell("echo two > two.txt"),
        done("Finished what was begun."),
    ];
    let Some(world) = world(
        "a_cut_stream_and_the_turn_limit_are_fix_rounds_that_keep_the_work",
        script,
    ) else {
        return;
    };
    let ran = world.arkaint(["cycle", "write two files"]).expect(0);
    let outcomes: Vec<String> = records(&world, "run")
        .iter()
        .map(|r| r["outcome"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(outcomes, ["failed", "failed", "done"], "{}", ran.stderr);
    assert_eq!(
        world.sandbox.git(["show", "HEAD:one.txt"]),
        "one",
        "what the cut run did is kept"
    );

    let endless = vec![Reply::shell("date +%N >> ticks.txt")];
    let Some(world) = GooseWorld::new(
        "a_cut_stream_and_the_turn_limit_are_fix_rounds_that_keep_the_work",
        "\"true\"",
        endless,
    ) else {
        return;
    };
    let toml = world.sandbox.read("arkaint.toml");
    world.sandbox.write(
        "arkaint.toml",
        &format!("{toml}max_turns = 3\n\n[cycle]\nfix_rounds = 1\n"),
    );
    world.sandbox.commit_all("three turns, one fix round");
    let ran = world.arkaint(["cycle", "count for ever"]).expect(3);
    assert_eq!(outcome(&world), "capped", "{}", ran.stderr);
    assert_eq!(records(&world, "run").len(), 2);
    assert!(records(&world, "rollback").is_empty() && world.sandbox.exists("ticks.txt"));
}

#[test]
fn ctrl_c_leaves_no_process_archives_the_work_and_the_next_cycle_goes_on() {
    let script = vec![
        Reply::shell("echo begun > begun.txt; (setsid sleep 4321 &) ; true"),
        Reply::hang(),
        Reply::shell("echo ended > ended.txt"),
        done("Went on from there."),
    ];
    let Some(world) = world(
        "ctrl_c_leaves_no_process_archives_the_work_and_the_next_cycle_goes_on",
        script,
    ) else {
        return;
    };
    let mut child = world
        .arkaint_command(["cycle", "begin and end"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    world.model.wait_for(2);
    world.sandbox.sh(&format!("kill -INT {}", child.id()));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mine = |pattern: &str| {
        let home = world.sandbox.home().to_string_lossy().into_owned();
        let left = world.sandbox.sh(&format!("for p in $(pgrep -f '{pattern}' || true); do tr '\\0' '\\n' < /proc/$p/environ 2>/dev/null | grep -qx 'HOME={home}' && echo $p || true; done"));
        left.trim().to_owned()
    };
    assert_eq!(
        mine("[s]leep 4321"),
        "",
        "a child that called setsid is gone too"
    );
    assert_eq!(mine("[g]oose run"), "");
    assert_eq!(world.sandbox.read("begun.txt"), "begun\n");
    let archives = world
        .arkaint(["discarded", "list", "--json"])
        .expect(0)
        .json();
    let archive = archives["discarded"][0]["commit"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        world.sandbox.git(["show", &format!("{archive}:begun.txt")]),
        "begun"
    );
    world.arkaint(["cycle", "begin and end"]).expect(0);
    assert_eq!(world.sandbox.git(["show", "HEAD:begun.txt"]), "begun");
    assert_eq!(world.sandbox.git(["show", "HEAD:ended.txt"]), "ended");
    let told = told(world.model.requests().last().unwrap());
    assert!(
        told.contains("Resume: ") && told.contains("begun.txt"),
        "it is told what is on disk"
    );
}

#[test]
fn the_first_cycle_on_a_clean_tree_and_an_agent_that_commits_everything_itself() {
    let script = vec![
        Reply::shell("echo w > w.txt && git add -A && git commit -qm 'agent: all of it'"),
        done("Committed."),
    ];
    let Some(world) = world(
        "the_first_cycle_on_a_clean_tree_and_an_agent_that_commits_everything_itself",
        script,
    ) else {
        return;
    };
    let before = head(&world.sandbox);
    world.arkaint(["cycle", "write w.txt"]).expect(0);
    assert_eq!(
        world
            .sandbox
            .git(["log", "--format=%s", &format!("{before}..HEAD")]),
        "[arkaint-sync] checkpoint\nagent: all of it\n[arkaint-sync] checkpoint"
    );
    assert!(
        world
            .arkaint(["log", "--verify"])
            .expect(0)
            .stdout
            .contains("the chain of 2 checkpoints holds")
    );
}

#[test]
fn a_dirty_tree_on_main_is_refused_with_the_command_that_helps() {
    let Some(world) = world(
        "a_dirty_tree_on_main_is_refused_with_the_command_that_helps",
        vec![Reply::shell("echo w > w.txt"), done("Done.")],
    ) else {
        return;
    };
    world.sandbox.git(["switch", "-q", "main"]);
    world
        .sandbox
        .git(["merge", "-q", "--ff-only", "arkaint/work"]);
    world.sandbox.write("mine.txt", "uncommitted\n");
    let ran = world.arkaint(["cycle", "write w.txt"]).expect(2);
    assert!(
        ran.stderr.contains("git switch -c arkaint/SLUG"),
        "{}",
        ran.stderr
    );
    assert_eq!(world.model.requests().len(), 0);
    world
        .arkaint(["cycle", "write w.txt", "--branch", "arkaint/new"])
        .expect(0);
    assert_eq!(
        world.sandbox.git(["show", "HEAD:mine.txt"]),
        "uncommitted",
        "uncommitted changes come along"
    );
    assert_eq!(
        world.sandbox.git(["rev-parse", "main"]),
        world.sandbox.git(["rev-parse", "arkaint/work"])
    );
}

#[test]
fn a_fix_round_is_told_what_failed_and_what_is_in_flight() {
    let script = vec![
        Reply::shell("echo test_alpha > bad; echo kept > kept.txt"),
        done("I believe that all tests pass."),
        Reply::shell("rm bad"),
        done("Mended."),
    ];
    let Some(world) = world(
        "a_fix_round_is_told_what_failed_and_what_is_in_flight",
        script,
    ) else {
        return;
    };
    world.arkaint(["cycle", "write kept.txt"]).expect(0);
    let second = told(&world.model.requests()[2]);
    assert!(
        second.contains("Fix round: ") && second.contains("FAIL: test_alpha"),
        "{second}"
    );
    assert!(
        second.contains("kept.txt") && second.contains("+kept"),
        "{second}"
    );
    assert_eq!(
        records(&world, "run")[0]["checks"],
        "red",
        "the claim was not believed"
    );
}
