//! The cycle's own table: every finding first and again, every recovery, every end. With scripted stand-ins; the real agent is in `goose`.

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};
use crate::stand_in::PRELUDE;

/// A project whose check is `sh check.sh`, sealed green, with an agent that runs `script`.
pub fn world(check: &str, script: &str) -> Sandbox {
    world_with(check, script, "")
}

pub fn world_with(check: &str, script: &str, config: &str) -> Sandbox {
    let sandbox = Sandbox::ready("\"sh check.sh\"");
    sandbox.write("check.sh", check);
    if !config.is_empty() {
        let toml = sandbox.read("arkaint.toml");
        sandbox.write("arkaint.toml", &format!("{toml}\n{config}\n"));
    }
    sandbox.commit_all("check");
    sandbox.agent(&format!("{PRELUDE}\n{script}\n"));
    sandbox
}

pub fn launches(sandbox: &Sandbox) -> usize {
    std::fs::read_to_string(sandbox.home().join("launches"))
        .map_or(0, |n| n.trim().parse().unwrap())
}

/// What launch `n` was given.
pub fn packet(sandbox: &Sandbox, n: usize) -> String {
    std::fs::read_to_string(sandbox.home().join(format!("packet.{n}"))).unwrap()
}

pub fn records(sandbox: &Sandbox, kind: &str) -> Vec<Value> {
    sandbox.arkaint(["log", "--json", "--kind", kind]).records()
}

/// Does this process still run? One that only waits to be reaped does not.
pub fn runs(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.starts_with(" Z"))
}

pub fn cycle(sandbox: &Sandbox) -> Ran {
    sandbox.arkaint(["cycle", "make the check pass and keep it passing"])
}

fn tree(sandbox: &Sandbox) -> String {
    sandbox.git(["rev-parse", "HEAD^{tree}"])
}

/// The content of the worktree as git would commit it.
pub fn content(sandbox: &Sandbox) -> String {
    sandbox.sh("export GIT_INDEX_FILE=$(mktemp -u); git add -A && git write-tree; rm -f $GIT_INDEX_FILE").trim().to_owned()
}

pub const GREEN: &str = "test ! -e bad\n";
/// Fails by name, as a test runner does: the words of `bad`.
const NAMED: &str = "[ ! -e bad ] || { echo \"FAIL: $(cat bad)\"; exit 1; }\n";

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

#[test]
fn a_protected_path_is_put_back_the_rest_kept_and_again_trips() {
    let script = "echo work > work.txt; if [ $launch = 1 ]; then echo evil > scripts/run.sh; echo new > scripts/new.sh; chmod +x check.sh; fi; finish done";
    let sandbox = world(GREEN, script);
    sandbox.write("scripts/run.sh", "honest\n");
    sandbox.commit_all("scripts");
    cycle(&sandbox).expect(0);
    assert_eq!(launches(&sandbox), 2);
    assert_eq!(sandbox.git(["show", "HEAD:scripts/run.sh"]), "honest");
    assert!(!sandbox.exists("scripts/new.sh"));
    assert_eq!(sandbox.git(["show", "HEAD:work.txt"]), "work");
    let second = packet(&sandbox, 2);
    assert!(
        second.contains("scripts/run.sh")
            && second.contains("scripts/new.sh")
            && second.contains("Protected paths"),
        "{second}"
    );
    let archives = sandbox.git([
        "for-each-ref",
        "--format=%(refname)",
        "refs/arkaint/discarded/",
    ]);
    assert!(
        archives.lines().any(|a| sandbox
            .try_git(["show", &format!("{a}:scripts/new.sh")])
            .stdout
            == "new\n"),
        "what was put back is kept"
    );

    let sandbox = world(
        GREEN,
        "if [ $launch -le 2 ]; then echo evil$launch > arkaint.toml; fi; echo w > work.txt; finish done",
    );
    cycle(&sandbox).expect(0);
    assert_eq!(launches(&sandbox), 3);
    assert!(
        records(&sandbox, "trip")[0]["why"]
            .as_str()
            .unwrap()
            .contains("protected paths were changed again")
    );
}

#[test]
fn the_operator_may_allow_protected_edits_for_a_run() {
    let sandbox = world(
        GREEN,
        "mkdir -p scripts; echo new > scripts/new.sh; env | grep ALLOW_INFRA > $HOME/leak; finish done",
    );
    let ran: Ran = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(["cycle", "edit the scripts"])
        .env("ARKAINT_ALLOW_INFRA_EDIT", "1")
        .output()
        .unwrap()
        .into();
    ran.expect(0);
    assert_eq!(sandbox.git(["show", "HEAD:scripts/new.sh"]), "new");
    assert_eq!(
        std::fs::read_to_string(sandbox.home().join("leak")).unwrap(),
        "",
        "the agent never sees the variable"
    );
    assert!(
        sandbox
            .git(["log", "-1", "--format=%B"])
            .contains("Arkaint-Infra-Edit: allowed")
    );
}

#[test]
fn a_profile_denies_paths_of_its_own() {
    let sandbox = world_with(
        GREEN,
        "echo w > work.txt; [ $launch = 2 ] || echo x > denied.txt; finish done",
        "[profile.careful]\ndeny = [\"denied*\"]",
    );
    sandbox
        .arkaint(["cycle", "a task", "-p", "careful"])
        .expect(0);
    assert_eq!(launches(&sandbox), 2);
    assert!(!sandbox.exists("denied.txt"));
}

/// report_claude_code_40710: whoever moves HEAD while a run lasts, the move is named and put back; what was there is archived.
#[test]
fn rules_of_the_repository_that_are_turned_are_put_back_and_the_attempt_fails() {
    let cases = [
        ("git switch -q main", "HEAD was turned"),
        ("git checkout -q --detach", "HEAD was turned"),
        ("git reset -q --hard HEAD~1", "does not descend"),
        (
            "git commit -q --allow-empty --amend -m rewritten",
            "does not descend",
        ),
        ("git branch -qD sibling", "refs/heads/sibling was deleted"),
        (
            "git update-ref -d refs/notes/arkaint/ledger",
            "refs/notes/arkaint/ledger was deleted",
        ),
        ("git config core.fsmonitor 'touch pwned'", "core.fsmonitor"),
        ("git config core.hooksPath /tmp", "core.hookspath"),
        (
            "printf '#!/bin/sh\\ntouch pwned\\n' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit",
            "hooks/post-commit was added",
        ),
        ("echo '*' >> .git/info/exclude", "info/exclude was changed"),
    ];
    for (attack, named) in cases {
        let sandbox = world(
            GREEN,
            &format!(
                "echo work > work.txt; if [ $launch = 1 ]; then echo first > first.txt; {attack}; fi; finish done"
            ),
        );
        sandbox.git(["branch", "sibling"]);
        sandbox.arkaint(["checkpoint"]).expect(0);
        let (config, refs) = (
            sandbox.read(".git/config"),
            sandbox.git(["for-each-ref", "refs/heads/sibling"]),
        );
        let ran = cycle(&sandbox);
        assert_eq!(ran.code, Some(0), "{attack}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("found: a rule was broken") && ran.stderr.contains(named),
            "{attack}: {}",
            ran.stderr
        );
        assert_eq!(launches(&sandbox), 2, "{attack}");
        assert!(
            packet(&sandbox, 2).contains(named),
            "{attack}: the fix round names it"
        );
        assert_eq!(
            sandbox.git(["branch", "--show-current"]),
            "arkaint/work",
            "{attack}"
        );
        assert_eq!(sandbox.read(".git/config"), config, "{attack}");
        assert_eq!(
            sandbox.git(["for-each-ref", "refs/heads/sibling"]),
            refs,
            "{attack}"
        );
        assert!(
            !sandbox.exists(".git/hooks/post-commit")
                && !sandbox.exists("pwned")
                && !sandbox.exists("first.txt"),
            "{attack}"
        );
        assert!(
            sandbox
                .arkaint(["log", "--verify"])
                .expect(0)
                .stdout
                .contains("holds"),
            "{attack}"
        );
        let archives = sandbox.git([
            "for-each-ref",
            "--format=%(refname)",
            "refs/arkaint/discarded/",
        ]);
        assert!(
            archives
                .lines()
                .any(|a| sandbox.try_git(["show", &format!("{a}:first.txt")]).stdout == "first\n"),
            "{attack}: the attempt is archived"
        );
    }
}

#[test]
fn a_launch_state_that_is_put_back_is_committed_as_git_stores_it() {
    let script = "case $launch in 1) printf 'one\\r\\ntwo\\r\\n' > dos.txt; echo x > bad;; 2) git config core.pager x;; *) rm bad;; esac; finish done";
    let sandbox = world(NAMED, script);
    sandbox.write(".gitattributes", "*.txt text eol=crlf\n");
    sandbox.commit_all("line ends");
    cycle(&sandbox).expect(0);
    assert_eq!(launches(&sandbox), 3);
    assert_eq!(sandbox.read("dos.txt"), "one\r\ntwo\r\n");
    assert_eq!(sandbox.git(["cat-file", "-p", "HEAD:dos.txt"]), "one\ntwo");
}

#[test]
fn a_broken_rule_again_trips() {
    let sandbox = world(
        GREEN,
        "[ $launch -le 2 ] && git config core.pager 'touch pwned'; echo w > work.txt; finish done",
    );
    cycle(&sandbox).expect(0);
    assert_eq!(launches(&sandbox), 3);
    assert!(
        records(&sandbox, "trip")[0]["why"]
            .as_str()
            .unwrap()
            .contains("a rule was broken again")
    );
}

#[test]
fn report_ralph_claude_code_141_an_agent_that_commits_everything_itself() {
    // https://github.com/frankbria/ralph-claude-code/issues/141
    let sandbox = world(
        GREEN,
        "echo work > work.txt; git add -A; git commit -qm 'agent: work'; finish done",
    );
    cycle(&sandbox).expect(0);
    let subjects = sandbox.git(["log", "--format=%s", "-3"]);
    assert_eq!(
        subjects,
        "[arkaint-sync] checkpoint\nagent: work\n[arkaint-sync] checkpoint"
    );
    assert_eq!(
        sandbox.git(["diff", "--stat", "HEAD^", "HEAD"]),
        "",
        "the closing checkpoint is empty, and there"
    );
    assert_eq!(
        sandbox.arkaint(["status", "--json"]).json()["checkpoint"]["at_head"],
        true
    );
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

#[test]
fn repeat_goes_on_until_there_is_no_more_to_do() {
    let sandbox = world(
        GREEN,
        "[ $launch -le 2 ] && echo $launch > n$launch.txt; finish done",
    );
    let ran = sandbox
        .arkaint(["cycle", "add files", "--repeat", "5"])
        .expect(0);
    assert_eq!(
        launches(&sandbox),
        4,
        "two good cycles, then a launch and its fix round that change nothing"
    );
    let lines: Vec<&str> = ran
        .stderr
        .lines()
        .skip_while(|l| *l != "cycles:")
        .skip(1)
        .collect();
    assert_eq!(lines.len(), 3, "{}", ran.stderr);
    assert!(lines[0].contains("exit 0") && lines[2].contains("exit 3"));
    // N itself ends it too.
    let sandbox = world(GREEN, "echo $launch > n$launch.txt; finish done");
    sandbox
        .arkaint(["cycle", "add files", "--repeat", "2"])
        .expect(0);
    assert_eq!(launches(&sandbox), 2);
}

#[test]
fn budgets_end_a_run_on_the_live_stream_and_refuse_the_next() {
    // More than the cap, but reported only at the end of a finished run: nothing is left to stop.
    let sandbox = world_with(
        GREEN,
        r#"echo w > work.txt; say end 'done\nARKAINT: done'; echo '{"type":"complete","total_tokens":19000,"input_tokens":18000,"output_tokens":1000}'"#,
        "[budget]\nrun_tokens = 12000",
    );
    let ran = cycle(&sandbox);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let sandbox = world_with(
        GREEN,
        "i=0; while [ $i -lt 2000 ]; do say $i 'many many words of the model'; i=$((i + 1)); done; echo late > late.txt; finish done",
        "[budget]\nrun_tokens = 3000",
    );
    let ran = cycle(&sandbox).expect(5);
    assert!(
        ran.stderr.contains("budget.run_tokens")
            && ran.stderr.contains("3000 allowed")
            && ran.stderr.contains("estimated"),
        "{}",
        ran.stderr
    );
    assert!(records(&sandbox, "rollback").is_empty());
    let sandbox = world(GREEN, "echo $launch > work.txt; finish done");
    cycle(&sandbox).expect(0);
    let toml = sandbox.read("arkaint.toml");
    sandbox.write(
        "arkaint.toml",
        &format!("{toml}\n[budget]\nday_tokens = 100\n"),
    );
    sandbox.commit_all("few tokens a day");
    let before = launches(&sandbox);
    let ran = cycle(&sandbox).expect(5);
    assert!(
        ran.stderr
            .contains("budget.day_tokens: 120 tokens used today (UTC), 100 allowed"),
        "{}",
        ran.stderr
    );
    assert_eq!(launches(&sandbox), before);
    let price =
        "[price.\"stub/stub-1\"]\ninput = 10.0\noutput = 50.0\ncache_read = 1.0\ncache_write = 1.0";
    let sandbox = world_with(GREEN, "echo $launch > work.txt; finish done", price);
    cycle(&sandbox).expect(0);
    let run = &records(&sandbox, "run")[0];
    assert_eq!(run["cost"]["source"], "computed");
    assert!((run["cost"]["usd"].as_f64().unwrap() - 0.002).abs() < 1e-9);
    sandbox.write(
        "arkaint.toml",
        &format!(
            "{}\n[budget]\nday_usd = 0.001\n",
            sandbox.read("arkaint.toml")
        ),
    );
    sandbox.commit_all("nothing is left for today");
    let ran = cycle(&sandbox).expect(5);
    assert!(
        ran.stderr
            .contains("budget.day_usd: 0.0020 USD spent today (UTC), 0.0010 USD allowed"),
        "{}",
        ran.stderr
    );
    assert_eq!(launches(&sandbox), 1);
}

#[test]
fn dry_run_says_every_default_and_launches_nothing() {
    let sandbox = world(GREEN, "finish done");
    let said = sandbox
        .arkaint(["cycle", "a task", "--dry-run"])
        .expect(0)
        .stdout;
    for default in [
        "agent 60m",
        "silent 15m",
        "100 turns",
        "git commit 2m",
        "at most 30m",
        "5 USD or 5000000 tokens",
        "25 USD or 25000000 tokens",
        "log 256.0 MiB",
        "of 64.0 KiB",
        "diff 16.0 KiB",
        "preload 16.0 KiB",
        "at most 10",
        "2 fix rounds",
        "3 recovery attempts",
        "20 runs",
        "50 discards",
        "30d",
        "2.0 GiB",
    ] {
        assert!(said.contains(default), "{default}: {said}");
    }
    assert_eq!(launches(&sandbox), 0);
    let json = sandbox
        .arkaint(["cycle", "a task", "--dry-run", "--json"])
        .expect(0)
        .json();
    assert_eq!(json["most_launches"], 10);
}

#[test]
fn boot_launches_once_and_leaves_the_work() {
    let sandbox = world(GREEN, "echo w > work.txt; finish done");
    sandbox.arkaint(["boot", "a task", "reviewer"]).expect(0);
    assert_eq!(launches(&sandbox), 1);
    assert!(
        sandbox
            .git(["status", "--porcelain"])
            .contains("?? work.txt")
    );
    assert_eq!(records(&sandbox, "run")[0]["profile"], "reviewer");
    assert_eq!(records(&sandbox, "run")[0]["checks"], "not run");
    for (script, code) in [
        ("finish done", 0),
        ("exit 3", 1),
        ("echo x > arkaint.toml; finish done", 1),
        ("git config core.editor x; finish done", 1),
    ] {
        let sandbox = world(GREEN, script);
        let ran = sandbox.arkaint(["boot", "a task"]);
        assert_eq!(ran.code, Some(code), "{script}: {}", ran.stderr);
        assert!(
            sandbox.read("arkaint.toml").contains("[checkpoint]"),
            "{script}"
        );
    }
}

#[test]
fn the_agent_gets_no_git_variables_and_no_secrets_but_its_provider_s() {
    let sandbox = world_with(GREEN, "env > $HOME/env; echo w > w.txt; finish done", "");
    let ran: Ran = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(["boot", "a task", "--provider", "openai"])
        .envs([
            ("GIT_EDITOR", "x"),
            ("GITHUB_TOKEN", "t"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("OPENAI_API_KEY", "o"),
            ("ANTHROPIC_API_KEY", "a"),
            ("HARMLESS", "h"),
        ])
        .output()
        .unwrap()
        .into();
    ran.expect(0);
    let env = std::fs::read_to_string(sandbox.home().join("env")).unwrap();
    let has = |name: &str| env.lines().any(|l| l.starts_with(&format!("{name}=")));
    assert!(
        has("OPENAI_API_KEY")
            && has("HARMLESS")
            && has("ARKAINT_RUN")
            && has("ARKAINT_DEPTH")
            && has("PATH")
    );
    for name in [
        "GIT_EDITOR",
        "GIT_DIR",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "ANTHROPIC_API_KEY",
        "ARKAINT_ALLOW_INFRA_EDIT",
    ] {
        assert!(!has(name), "{name}");
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

/// What lies below a link belongs to somebody else, and so does the file that a link leads to.
#[test]
fn what_a_run_linked_into_the_git_directory_costs_nobody_a_file() {
    let sandbox = world(
        GREEN,
        "if [ $launch = 1 ]; then rm -rf .git/hooks; ln -s \"$HOME/docs\" .git/hooks; ln -s \"$HOME/docs/letter\" .git/info/exclude.arkaint-new\n\
         echo '*' >> .git/info/exclude; fi; echo work > work.txt; finish done",
    );
    let docs = sandbox.home().join("docs");
    std::fs::create_dir_all(docs.join("more")).unwrap();
    std::fs::write(docs.join("letter"), "precious").unwrap();
    let ran = cycle(&sandbox).expect(0);
    for named in ["hooks was changed", "info/exclude was changed"] {
        assert!(ran.stderr.contains(named), "{}", ran.stderr);
    }
    assert_eq!(
        std::fs::read_to_string(docs.join("letter")).unwrap(),
        "precious"
    );
    assert!(docs.join("more").is_dir());
    let hooks = sandbox.repo.join(".git/hooks").symlink_metadata().unwrap();
    assert!(hooks.is_dir());
    assert_eq!(std::fs::read_dir(&docs).unwrap().count(), 2);
}

/// A path that is too long cannot be archived, also by root.
const DEEP: &str = "python3 -c 'import os\nfor i in range(60):\n n=\"n\"*200\n os.mkdir(n)\n os.chdir(n)\nopen(\"deep\",\"w\").write(\"deep\")'";

#[test]
fn what_was_found_is_said_and_held_also_where_the_work_cannot_be_archived() {
    let sandbox = world(
        GREEN,
        &format!(
            "echo work > work.txt\nif [ $launch = 1 ]; then git commit -q --allow-empty --amend -m rewritten; git rev-parse HEAD > \"$HOME/rewritten\"\n\
             echo '{{}}' > .git/arkaint/noted.json; {DEEP}; fi; finish done"
        ),
    );
    let ran = cycle(&sandbox);
    assert_ne!(ran.code, Some(0), "{}", ran.stderr);
    for word in ["does not descend", "too long"] {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
    let rewritten = std::fs::read_to_string(sandbox.home().join("rewritten")).unwrap();
    let held = || sandbox.git(["for-each-ref", "--contains", rewritten.trim()]);
    assert!(held().contains("refs/arkaint/discarded/"), "{}", held());
    let noted: Value = serde_json::from_str(&sandbox.read(".git/arkaint/noted.json")).unwrap();
    assert_eq!(noted["branch"], "refs/heads/arkaint/work");
    let listed = sandbox.arkaint(["discarded", "list"]).expect(0);
    assert!(
        listed.stdout.contains("commits that a run left"),
        "{}",
        listed.stdout
    );
    // The next command finishes it once that is possible.
    sandbox.sh(&format!("rm -rf {}", "n".repeat(200)));
    let next = sandbox.arkaint(["checkpoint", "-m", "after"]).expect(0);
    assert!(next.stderr.contains("was cut off"), "{}", next.stderr);
    assert_eq!(sandbox.read("work.txt"), "work\n");
}

/// An agent may write to the git directory what it likes; it may not make us write elsewhere.
#[test]
fn what_a_made_up_note_names_elsewhere_is_left_alone() {
    let sandbox = world(GREEN, "echo work > work.txt; kill -9 $PPID; exec sleep 600");
    let home = sandbox.home().to_owned();
    std::fs::create_dir(home.join("docs")).unwrap();
    for name in ["docs/letter", "letter", "ref"] {
        std::fs::write(home.join(name), "precious").unwrap();
    }
    assert_eq!(cycle(&sandbox).code, None);
    let file = sandbox.repo.join(".git/arkaint/noted.json");
    let mut noted: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let bytes = |name: &str| home.join(name).to_str().unwrap().as_bytes().to_vec();
    let evil = serde_json::json!({"File": {"bytes": [101], "mode": 0o755}});
    let known = noted["files"]["known"].as_array_mut().unwrap();
    known.push(serde_json::json!([bytes("letter"), evil]));
    known.push(serde_json::json!([bytes("fresh"), evil]));
    let hooks = sandbox.repo.join(".git/hooks");
    std::fs::remove_dir_all(&hooks).unwrap();
    std::os::unix::fs::symlink(home.join("docs"), &hooks).unwrap();
    let folders = noted["files"]["folders"].as_array_mut().unwrap();
    folders.push(serde_json::json!(bytes("docs")));
    noted["files"]["head"] = serde_json::json!(bytes("letter"));
    let id = sandbox.git(["rev-parse", "HEAD"]);
    noted["refs"]["refs/heads/../../../home/ref"] = id.into();
    std::fs::write(&file, serde_json::to_vec(&noted).unwrap()).unwrap();
    let next = sandbox.arkaint(["checkpoint", "-m", "after"]).expect(0);
    assert!(
        next.stderr.contains("was cut off") && next.stderr.contains("outside the git directory"),
        "{}",
        next.stderr
    );
    for name in ["docs/letter", "letter", "ref"] {
        assert_eq!(
            std::fs::read_to_string(home.join(name)).unwrap(),
            "precious",
            "{name}"
        );
    }
    assert!(!home.join("fresh").exists());
    assert!(hooks.symlink_metadata().unwrap().is_dir());
}
