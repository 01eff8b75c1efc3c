//! Each finding, first and again: what is sealed, what is a fix round, and what trips.

use super::{GREEN, NAMED, cycle, launches, packet, records, world, world_with};

#[test]
fn a_good_launch_is_sealed() {
    let sandbox = world(
        GREEN,
        "echo work > work.txt; finish 'Made work.txt as asked.'",
    );
    let ran = cycle(&sandbox).expect(0);
    assert!(ran.stderr.contains("sealed as "), "{}", ran.stderr);
    assert_eq!(
        sandbox
            .git(["log", "--format=%s", "main..HEAD"])
            .lines()
            .filter(|s| *s == "[arkaint-sync] checkpoint")
            .count(),
        2,
        "opening and closing"
    );
    assert_eq!(sandbox.git(["show", "HEAD:work.txt"]), "work");
    let body = sandbox.git(["log", "-1", "--format=%B"]);
    assert!(
        body.contains("Made work.txt as asked.")
            && body.contains("Arkaint-Model: stub-1")
            && body.contains("Arkaint-Token-Load: 120"),
        "{body}"
    );
    let run = &records(&sandbox, "run")[0];
    assert_eq!(run["outcome"], "done");
    assert_eq!(run["tokens"]["input"], 100);
    assert_eq!(run["cost"]["source"], "unknown");
    assert!(run["cost"]["usd"].is_null(), "unknown is never 0");
    assert!(run["packet"]["tokens"].as_u64().unwrap() > 100);
    assert_eq!(run["model"], "stub-1");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    assert!(
        !sandbox.exists(".git/arkaint/run.json") && !sandbox.exists(".git/arkaint/journal.json")
    );
    let log = std::fs::metadata(sandbox.repo.join(".arkaint/run.log")).unwrap();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&log.permissions()) & 0o777,
        0o600
    );
    assert!(
        sandbox
            .read(".arkaint/audit/daily.jsonl")
            .contains("\"runs\":1")
    );
}

#[test]
fn seal_false_leaves_the_work_on_disk() {
    let sandbox = world_with(
        GREEN,
        "echo work > work.txt; finish done",
        "[cycle]\nseal = false",
    );
    cycle(&sandbox).expect(0);
    assert!(
        sandbox
            .git(["status", "--porcelain"])
            .contains("?? work.txt")
    );
}

#[test]
fn red_once_is_a_fix_round_that_is_told_what_failed_and_what_is_in_flight() {
    let sandbox = world(
        NAMED,
        "if [ $launch = 1 ]; then echo first > bad; echo kept > kept.txt; else rm bad; fi; finish done",
    );
    cycle(&sandbox).expect(0);
    assert_eq!(launches(&sandbox), 2);
    let second = packet(&sandbox, 2);
    assert!(
        second.contains("Fix round: ") && second.contains("FAIL: first"),
        "{second}"
    );
    assert!(
        second.contains("kept.txt") && second.contains("+kept"),
        "the work in flight is shown"
    );
    assert!(!packet(&sandbox, 1).contains("Fix round"));
    assert_eq!(records(&sandbox, "failure").len(), 1);
    assert_eq!(sandbox.git(["show", "HEAD:kept.txt"]), "kept");
}

#[test]
fn the_same_failure_in_two_judgements_trips_and_rolls_back_to_the_exact_stable_tree() {
    let script = "if [ $launch -le 2 ]; then echo same > bad; echo $launch > attempt.txt; rm -f README.md; else echo good > good.txt; fi; finish done";
    let sandbox = world(NAMED, script);
    let ran = cycle(&sandbox).expect(0);
    assert_eq!(launches(&sandbox), 3);
    assert!(ran.stderr.contains("the breaker trips: "), "{}", ran.stderr);
    assert_eq!(records(&sandbox, "trip").len(), 1);
    let rollback = &records(&sandbox, "rollback")[0];
    assert_eq!(rollback["differs"].as_array().unwrap().len(), 0);
    let third = packet(&sandbox, 3);
    assert!(
        third.contains("Recovery attempt 1 of 3: try an alternative minimal fix."),
        "{third}"
    );
    assert!(third.contains("same"), "the failure that tripped is named");
    // Rolled back: nothing of the attempts is in what was sealed, and all of it is in the archive.
    assert_eq!(
        sandbox.git(["ls-tree", "--name-only", "HEAD"]),
        "README.md\narkaint.toml\ncheck.sh\ngood.txt"
    );
    let archive = rollback["archived"].as_str().unwrap();
    assert_eq!(
        sandbox.git(["show", &format!("{archive}:attempt.txt")]),
        "2"
    );
    assert_eq!(sandbox.git(["show", &format!("{archive}:bad")]), "same");
}

#[test]
fn a_failing_set_that_shrinks_is_progress() {
    let check = "status=0; for t in a b c; do if [ -e bad-$t ]; then echo \"FAIL: test_$t\"; status=1; fi; done; exit $status\n";
    let script = "case $launch in 1) touch bad-a bad-b bad-c;; 2) rm bad-a;; 3) rm bad-b bad-c; echo ok > ok.txt;; esac; finish done";
    let sandbox = world(check, script);
    cycle(&sandbox).expect(0);
    assert_eq!(launches(&sandbox), 3);
    assert!(records(&sandbox, "trip").is_empty());
}

#[test]
fn ever_different_failures_spend_the_fix_rounds_and_keep_the_work() {
    let sandbox = world(
        NAMED,
        "echo \"failure_$(printf '%*s' $launch '' | tr ' ' x)\" > bad; echo $launch > n.txt; finish done",
    );
    let ran = cycle(&sandbox).expect(3);
    assert_eq!(launches(&sandbox), 3, "one launch and two fix rounds");
    assert!(
        ran.stderr.contains("2 fix rounds are spent") && ran.stderr.contains("kept on disk"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.read("n.txt"), "3\n");
    assert!(records(&sandbox, "rollback").is_empty());
}

const TOOL_FAILS: &str = "f() { tool 'sh check.sh --all' 1 'FAIL: test_alpha'; }; ";

#[test]
fn a_tool_failure_thrice_in_one_run_trips_also_when_checks_are_green() {
    let script = format!(
        "{TOOL_FAILS} echo x > work.txt; if [ $launch = 1 ]; then f; f; f; fi; finish done"
    );
    let sandbox = world(GREEN, &script);
    let ran = cycle(&sandbox).expect(0);
    assert_eq!(launches(&sandbox), 2);
    let trip = &records(&sandbox, "trip")[0];
    assert_eq!(trip["green"], true);
    assert!(
        ran.stderr.contains("git arkaint discarded restore"),
        "the message says how to restore: {}",
        ran.stderr
    );
}

#[test]
fn when_green_warn_seals_instead() {
    let script = format!("{TOOL_FAILS} echo x > work.txt; f; f; f; finish done");
    let sandbox = world_with(GREEN, &script, "[breaker]\nwhen_green = \"warn\"");
    let ran = cycle(&sandbox).expect(0);
    assert!(
        ran.stderr
            .contains("warning: sealed although a tool kept failing"),
        "{}",
        ran.stderr
    );
    assert_eq!(launches(&sandbox), 1);
}

#[test]
fn a_tool_failure_unresolved_at_the_end_of_two_launches_trips() {
    let script = format!(
        "{TOOL_FAILS} case $launch in 1) f; echo one > bad;; 2) f; rm bad; echo x > work.txt;; *) echo y > other.txt;; esac; finish done"
    );
    let sandbox = world(NAMED, &script);
    cycle(&sandbox).expect(0);
    assert_eq!(launches(&sandbox), 3);
    assert_eq!(records(&sandbox, "trip").len(), 1);
    // Resolved at the end: no trip.
    let script = format!(
        "{TOOL_FAILS} f; f; tool 'sh check.sh --all' 0 'ok'; echo x > work.txt; finish done"
    );
    let sandbox = world(GREEN, &script);
    cycle(&sandbox).expect(0);
    assert!(records(&sandbox, "trip").is_empty());
}

/// Also report_ralph_wiggum_cursor_15, report_orbit_768.
#[test]
fn report_munder_difflin_441_no_op_is_one_fix_round_then_a_person() {
    let sandbox = world(GREEN, "finish 'Nothing to do.'");
    let ran = cycle(&sandbox).expect(3);
    assert_eq!(launches(&sandbox), 2);
    assert!(
        ran.stderr.contains("two launches changed nothing"),
        "{}",
        ran.stderr
    );
    assert!(packet(&sandbox, 2).contains("Nothing changed: "));
    assert_eq!(records(&sandbox, "run")[0]["outcome"], "no-op");
}

/// report_goose_10110, report_goose_3983.
#[test]
fn cut_off_timed_out_and_turns_are_fix_rounds_that_keep_the_work() {
    for (script, named) in [
        ("say a 'Working'; exit 0", "failed"),
        ("exit 9", "failed"),
        ("say a 'Working'; kill -9 $$", "killed"),
        ("exec sleep 1000", "timeout"),
    ] {
        let script = format!("echo $launch > n.txt; [ $launch = 3 ] && finish done; {script}");
        let sandbox = world(GREEN, &script);
        sandbox.write(
            "arkaint.toml",
            &sandbox
                .read("arkaint.toml")
                .replace("[agent]\n", "[agent]\nidle_timeout = \"2s\"\n"),
        );
        sandbox.commit_all("impatient");
        let ran = cycle(&sandbox);
        assert_eq!(ran.code, Some(0), "{named}: {}", ran.stderr);
        assert_eq!(records(&sandbox, "run")[0]["outcome"], named);
        assert_eq!(launches(&sandbox), 3);
        assert!(records(&sandbox, "rollback").is_empty());
    }
    let sandbox = world(GREEN, "echo $launch > n.txt; exit 9");
    let ran = cycle(&sandbox).expect(3);
    assert!(
        ran.stderr
            .contains("the agent did not finish, and 2 fix rounds are spent"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.read("n.txt"), "3\n");
}

/// Also report_java_profiler_777.
#[test]
fn report_fak_10433_a_flaky_check_is_labelled_never_sealed_never_a_trip() {
    // https://github.com/anthony-chaudhary/fak/issues/10433
    let check = "[ -e flaky ] || exit 0; n=$(cat $HOME/n 2>/dev/null || echo 0); echo $((n + 1)) > $HOME/n; [ $((n % 2)) = 1 ] || { echo 'FAIL: test_sometimes'; exit 1; }\n";
    let sandbox = world(check, "echo $launch > flaky; finish done");
    let ran = cycle(&sandbox).expect(3);
    assert!(ran.stderr.contains("flaky"), "{}", ran.stderr);
    assert!(records(&sandbox, "trip").is_empty() && records(&sandbox, "rollback").is_empty());
    assert_eq!(records(&sandbox, "run")[0]["checks"], "flaky");
    assert!(sandbox.exists("flaky"), "kept");
}

#[test]
fn starting_from_red() {
    let sandbox = world(NAMED, "rm bad; echo fixed > fixed.txt; finish done");
    sandbox.write("bad", "old failure\n");
    sandbox.write("untracked.txt", "mine\n");
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let ran = cycle(&sandbox).expect(1);
    assert!(
        ran.stderr.contains("git arkaint cycle --red"),
        "{}",
        ran.stderr
    );
    assert_eq!(launches(&sandbox), 0);
    assert_eq!(sandbox.git(["rev-parse", "HEAD"]), head);
    sandbox
        .arkaint(["cycle", "--red", "mend the failing check"])
        .expect(0);
    assert!(
        packet(&sandbox, 1).contains("FAIL: old failure"),
        "the baseline is named"
    );
    assert_eq!(sandbox.git(["show", "HEAD:untracked.txt"]), "mine");
    assert_eq!(
        sandbox.git(["rev-list", "--count", &format!("{head}..HEAD")]),
        "1",
        "no opening checkpoint"
    );
}

#[test]
fn from_red_a_rollback_returns_to_the_launch_state_and_the_baseline_is_no_first_sight() {
    let script = "case $launch in 1) echo one >> mess.txt;; 2) echo two >> mess.txt;; *) [ -e mess.txt ] && exit 1; rm bad;; esac; finish done";
    let sandbox = world(NAMED, script);
    sandbox.write("bad", "old failure\n");
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(["add", "staged.txt"]);
    let ran = sandbox.arkaint(["cycle", "--red", "mend the failing check"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        launches(&sandbox),
        3,
        "the failure is first seen after launch 1, again after launch 2"
    );
    assert_eq!(records(&sandbox, "trip").len(), 1);
    assert_eq!(
        sandbox.git(["show", "HEAD:staged.txt"]),
        "staged",
        "what was there at the start came back"
    );
    assert!(sandbox.try_git(["cat-file", "-e", "HEAD:mess.txt"]).code != Some(0));
}
