//! Reports of agent loops: what was lost, who moved what, what went on for ever.

use std::fs;

use crate::cycle::{GREEN, cycle, launches, packet, records, runs, world, world_with};
use crate::sandbox::is_long;

/// Without anybody's name nothing is begun that could end in a rollback of an archive that is not there.
#[test]
fn report_arbos_390() {
    let sandbox = world(GREEN, "finish done");
    sandbox.write("stable.txt", "stable\n");
    sandbox.arkaint(["checkpoint"]).expect(0);
    sandbox.write("work.txt", "of hours\n");
    fs::write(
        sandbox.home().join(".gitconfig"),
        "[user]\n\tuseConfigOnly = true\n",
    )
    .unwrap();
    for verb in [&["rollback"][..], &["cycle", "x"]] {
        let ran = sandbox.arkaint(verb).expect(2);
        assert!(
            ran.stderr.contains("git config user.name"),
            "{}",
            ran.stderr
        );
        assert_eq!(sandbox.read("work.txt"), "of hours\n");
    }
    assert_eq!(launches(&sandbox), 0);
    assert_eq!(sandbox.git(["for-each-ref", "refs/arkaint/discarded"]), "");
}

/// A file that the checkpoint does not have goes, also when an earlier one had it.
#[test]
fn report_entireio_cli_1408() {
    let sandbox = world(GREEN, "finish done");
    sandbox.write("old/gone.txt", "old\n");
    sandbox.arkaint(["checkpoint"]).expect(0);
    sandbox.git(["rm", "-rq", "old"]);
    sandbox.arkaint(["checkpoint"]).expect(0);
    sandbox.write("old/gone.txt", "back again\n");
    sandbox.git(["add", "-A"]);
    sandbox.arkaint(["rollback"]).expect(0);
    assert!(!sandbox.exists("old"));
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    let kept = sandbox.archive();
    assert_eq!(
        sandbox.git(["show", &format!("{kept}:old/gone.txt")]),
        "back again"
    );
}

/// The agent itself resets over what the user had on disk: all of it was put away before the launch.
/// Also report_claude_code_39859, report_claude_code_3494.
#[test]
fn report_claude_code_84660() {
    let sandbox = world(
        GREEN,
        "[ $launch = 1 ] && { git reset -q --hard HEAD~1; git clean -fdq; }; echo work >work.txt; finish done",
    );
    sandbox.write("README.md", "edited by the user\n");
    sandbox.write("untracked.txt", "of the user\n");
    let ran = cycle(&sandbox).expect(0);
    assert!(ran.stderr.contains("does not descend"), "{}", ran.stderr);
    assert_eq!(sandbox.read("README.md"), "edited by the user\n");
    assert_eq!(sandbox.read("untracked.txt"), "of the user\n");
    assert_eq!(sandbox.git(["show", "HEAD:untracked.txt"]), "of the user");
}

/// All worktrees share one stash: Arkaint never touches it, and says what a run took from it.
/// Also report_perl_lsp_2663.
#[test]
fn report_orca_13695() {
    let sandbox = world(
        GREEN,
        "[ $launch = 1 ] && git stash pop -q; echo work >work.txt; finish done",
    );
    sandbox.write("README.md", "in hand\n");
    sandbox.git(["stash", "push", "-qm", "the user's"]);
    sandbox.write("README.md", "and another\n");
    sandbox.git(["stash", "push", "-qm", "the user's second"]);
    let second = sandbox.git(["rev-parse", "stash@{0}"]);
    let ran = cycle(&sandbox);
    assert!(
        ran.stderr
            .contains("the run changed the stash: it lost an entry")
            && ran.stderr.contains(&format!("git stash store {second}")),
        "{:?} {}",
        ran.code,
        ran.stderr
    );
    sandbox.git(["stash", "store", "-m", "back", &second]);
    assert_eq!(sandbox.git(["stash", "list"]).lines().count(), 2);
}

/// The agent takes the git directory away as if it were a temporary file: it is found and put back. One that is gone is said, and nothing is put
/// into its place.
#[test]
fn report_gemini_cli_19729() {
    let script = "echo work >>work.txt; [ $launch = 1 ] && mv .git ../gone; finish done";
    let sandbox = world(GREEN, script);
    let ran = cycle(&sandbox).expect(0);
    assert!(
        ran.stderr.contains("/repo/.git was moved to ") && ran.stderr.contains("put back"),
        "{}",
        ran.stderr
    );
    sandbox.git(["fsck", "--strict"]);
    assert!(sandbox.git(["show", "HEAD:work.txt"]).starts_with("work"));

    let sandbox = world(GREEN, "echo work >work.txt; rm -rf .git; finish done");
    sandbox.sh("cp -a .git ../backup");
    let ran = cycle(&sandbox).expect(3);
    assert!(
        ran.stderr
            .contains("/repo/.git was removed while the agent ran")
            && ran
                .stderr
                .contains("hint: take it from a clone or a backup"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.read("work.txt"), "work\n");
    // The work goes on from what a person brings back.
    sandbox.sh("rm -rf .git; mv ../backup .git");
    sandbox.agent("cat >/dev/null; echo more >>work.txt; echo 'ARKAINT: done'");
    cycle(&sandbox).expect(0);
    assert_eq!(sandbox.git(["show", "HEAD:work.txt"]), "work\nmore");
}

/// A huge new file blocks nothing: it is archived as everything is, and comes back byte for byte.
#[test]
fn report_jj_3616() {
    let sandbox = world(GREEN, "finish done");
    sandbox.write("stable.txt", "stable\n");
    sandbox.arkaint(["checkpoint"]).expect(0);
    let mega = if is_long() { 200 } else { 20 };
    sandbox.sh(&format!(
        "head -c {mega}M /dev/zero >huge.bin; sha256sum huge.bin >../sum"
    ));
    let ran = sandbox.arkaint(["rollback"]).expect(0);
    assert!(!sandbox.exists("huge.bin"), "{}", ran.stderr);
    let kept = sandbox.arkaint(["discarded", "list", "--json"]).json()["discarded"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    sandbox.arkaint(["discarded", "restore", &kept]).expect(0);
    sandbox.sh("sha256sum -c --quiet ../sum");
}

/// No process of a run outlives its deadline, not even one that called setsid.
/// Also report_url_shortener_app_484, report_agentcore_cli_1440.
#[test]
fn report_agentflow_41() {
    let sandbox = world_with(
        GREEN,
        "echo work >work.txt; if [ $launch = 1 ]; then setsid sh -c 'echo $$ >\"$HOME/pid\"; exec sleep 1000' & sleep 1000; fi; finish done",
        "",
    );
    let toml = sandbox.read("arkaint.toml");
    sandbox.write(
        "arkaint.toml",
        &toml.replace("[agent]\n", "[agent]\nidle_timeout = \"2s\"\n"),
    );
    sandbox.commit_all("impatient");
    cycle(&sandbox).expect(0);
    assert_eq!(records(&sandbox, "run")[0]["outcome"], "timeout");
    let pid = fs::read_to_string(sandbox.home().join("pid")).unwrap();
    assert!(!runs(pid.trim()));
}

/// A packet of many times what one argument can hold (128 KiB) reaches the agent: by standard input, never as one argument.
#[test]
fn report_no_mistakes_485() {
    let sandbox = world_with(
        GREEN,
        "echo work >work.txt; finish done",
        "[packet]\nmax_chars = 2000000",
    );
    let task = format!("{}make work.txt", "long words of a task. ".repeat(15_000));
    fs::write(sandbox.home().join("task"), &task).unwrap();
    let file = sandbox.home().join("task");
    let ran = sandbox
        .arkaint(["cycle", "--task-file", file.to_str().unwrap()])
        .expect(0);
    assert_eq!(launches(&sandbox), 1, "{}", ran.stderr);
    assert!(packet(&sandbox, 1).contains(&task));
}

/// A lock on the index that somebody else holds: what only reads works, what writes waits for a while and says so, and nobody's lock is taken.
/// Also report_pi_outpost_201.
#[test]
fn report_claude_code_11005() {
    let sandbox = world(GREEN, "finish done");
    sandbox.write("stable.txt", "stable\n");
    sandbox.arkaint(["checkpoint"]).expect(0);
    sandbox.write("work.txt", "work\n");
    sandbox.git(["add", "work.txt"]);
    sandbox.write(".git/index.lock", "");
    sandbox.arkaint(["status"]).expect(0);
    sandbox.arkaint(["packet", "x"]).expect(0);
    sandbox.arkaint(["log"]).expect(0);
    let head = sandbox.git(["rev-parse", "HEAD"]);
    for verb in ["checkpoint", "rollback"] {
        let ran = sandbox.arkaint([verb]);
        assert!(
            ran.code != Some(0) && ran.stderr.contains("index.lock"),
            "{verb}: {ran:?}"
        );
        assert!(ran.stderr.contains("hint: "), "{verb}: {}", ran.stderr);
        assert_eq!(sandbox.git(["rev-parse", "HEAD"]), head, "{verb}");
        assert_eq!(sandbox.read("work.txt"), "work\n", "{verb}");
        assert!(sandbox.exists(".git/index.lock"), "{verb}");
    }
    fs::remove_file(sandbox.repo.join(".git/index.lock")).unwrap();
    sandbox.arkaint(["checkpoint"]).expect(0);
}

/// No branch ever goes: not by retention, not by a rollback, not by taking Arkaint out, whatever commits it alone has.
/// Also report_claude_code_79899, report_claude_code_78350.
#[test]
fn report_claude_code_38287() {
    let sandbox = world_with(
        GREEN,
        "echo $launch >work.txt; finish done",
        "[retention]\nruns = 1\ndiscards = 1\n",
    );
    sandbox.sh(
        "git switch -q -c arkaint/unmerged; git commit -q --allow-empty -m alone; git switch -q -c ephemeral-x; git commit -q --allow-empty -m alone
         git switch -q arkaint/work; git worktree add -q ../held arkaint/unmerged; git pack-refs --all",
    );
    let branches = || {
        sandbox.git([
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            "refs/heads/arkaint/unmerged",
            "refs/heads/ephemeral-x",
            "refs/heads/main",
        ])
    };
    let before = branches();
    for n in 0..2 {
        cycle(&sandbox).expect(0);
        sandbox.write("junk.txt", &n.to_string());
        sandbox.arkaint(["rollback"]).expect(0);
    }
    fs::remove_dir_all(sandbox.repo.with_file_name("held")).unwrap();
    cycle(&sandbox).expect(0);
    sandbox.arkaint(["log", "--repair"]).expect(0);
    sandbox.arkaint(["init", "--undo"]).expect(0);
    assert_eq!(branches(), before);
}
