//! Checkpoints: only a tested state is committed, what is committed is what was tested, and git itself reads what they say.

mod message;

use std::fs;

use crate::sandbox::{Ran, Sandbox};

fn trailer(sandbox: &Sandbox, rev: &str, key: &str) -> String {
    sandbox
        .git([
            "log",
            "-1",
            &format!("--format=%(trailers:key={key},valueonly)"),
            rev,
        ])
        .trim_end()
        .to_owned()
}

/// What a refusal must leave as it was.
fn state(sandbox: &Sandbox) -> (String, String, Vec<u8>) {
    let refs = sandbox.git(["for-each-ref"]);
    (
        sandbox.git(["rev-parse", "HEAD"]),
        refs,
        fs::read(sandbox.repo.join(".git/index")).unwrap(),
    )
}

#[track_caller]
fn no_checkpoint(sandbox: &Sandbox, cause: &str) -> Ran {
    let before = state(sandbox);
    let ran = sandbox.arkaint(["checkpoint", "-m", "try"]).expect(1);
    let line = ran
        .stderr
        .lines()
        .find(|l| l.starts_with("arkaint: "))
        .unwrap_or_default();
    assert!(
        line.contains(cause) && line.contains("nothing was committed"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.lines().last().unwrap().starts_with("hint: "),
        "{}",
        ran.stderr
    );
    assert_eq!(state(sandbox), before, "HEAD, refs and index as before");
    ran
}

#[test]
fn a_green_state_is_committed_with_every_trailer() {
    let sandbox = Sandbox::ready("\"test -f new.txt\"");
    sandbox.write("new.txt", "one\n");
    sandbox
        .arkaint(["checkpoint", "-m", "first", "--task", "make new.txt"])
        .expect(0);
    assert_eq!(
        sandbox.git(["log", "-1", "--format=%s"]),
        "[arkaint-sync] checkpoint"
    );
    for (key, value) in [
        ("Arkaint-Version", "1"),
        ("Arkaint-Token-Load", "0"),
        ("Arkaint-Branch", "arkaint/work"),
        ("Arkaint-Provider", "none"),
        ("Arkaint-Model", "none"),
        ("Arkaint-Status", "stable"),
        ("Arkaint-Task", "make new.txt"),
        ("Arkaint-Message", "first"),
        ("Arkaint-Prev", "none"),
    ] {
        assert_eq!(trailer(&sandbox, "HEAD", key), value, "{key}");
    }
    assert_eq!(
        sandbox.git(["status", "--porcelain"]),
        "",
        "index and worktree follow the commit"
    );
    let note = sandbox.git(["notes", "--ref=arkaint/ledger", "show", "HEAD"]);
    let record: serde_json::Value = serde_json::from_str(&note).unwrap();
    assert!(note.starts_with("{\"at\":\""));
    assert_eq!(record["kind"], "checkpoint");
    assert_eq!(record["commit"], sandbox.git(["rev-parse", "HEAD"]));
    assert_eq!(record["tree"], sandbox.git(["rev-parse", "HEAD^{tree}"]));
    // Once more: nothing is staged, no commit.
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let ran = sandbox.arkaint(["checkpoint"]).expect(0);
    assert!(ran.stderr.contains("nothing to commit"), "{}", ran.stderr);
    assert_eq!(sandbox.git(["rev-parse", "HEAD"]), head);
    // The task of the last checkpoint stays the task.
    sandbox.write("new.txt", "two\n");
    sandbox.arkaint(["checkpoint"]).expect(0);
    assert_eq!(trailer(&sandbox, "HEAD", "Arkaint-Task"), "make new.txt");
    assert_eq!(trailer(&sandbox, "HEAD", "Arkaint-Prev"), head);
}

#[test]
fn a_project_without_tests_is_untested_and_one_without_a_command_is_refused() {
    let sandbox = Sandbox::ready("false");
    sandbox.write("a.txt", "a\n");
    sandbox.arkaint(["checkpoint"]).expect(0);
    assert_eq!(trailer(&sandbox, "HEAD", "Arkaint-Status"), "untested");
    let sandbox = Sandbox::new();
    sandbox.write(
        "arkaint.toml",
        "[agent]\nname = \"command\"\ncommand = [\"true\"]\n",
    );
    sandbox.commit_all("configure");
    sandbox.git(["switch", "-q", "-c", "arkaint/work"]);
    let ran = sandbox.arkaint(["checkpoint"]).expect(2);
    assert!(
        ran.stderr.contains("no test command is set"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_failing_test_commits_nothing_and_shows_its_tail() {
    let sandbox = Sandbox::ready("\"echo the tail; exit 7\"");
    sandbox.write("a.txt", "a\n");
    sandbox.git(["add", "a.txt"]);
    sandbox.write("a.txt", "b\n");
    let ran = no_checkpoint(&sandbox, "tests failed (exit 7)");
    assert!(ran.stderr.contains("the tail"), "{}", ran.stderr);
    assert_eq!(
        sandbox.git(["show", ":a.txt"]),
        "a",
        "what was staged stays staged"
    );
}

#[test]
fn bash_strings_run_under_strict_mode() {
    for test in [
        "false; true",
        "false | true",
        "echo $UNSET_VARIABLE_OF_NOBODY",
    ] {
        let sandbox = Sandbox::ready(&format!("{test:?}"));
        sandbox.write("a.txt", "a\n");
        no_checkpoint(&sandbox, "tests failed");
    }
}

#[test]
fn a_failing_spec_check_commits_nothing() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.write_exec(
        "scripts/verify-spec.sh",
        "#!/bin/sh\necho spec and code differ\nexit 3\n",
    );
    sandbox.commit_all("spec check");
    sandbox.write("a.txt", "a\n");
    let ran = no_checkpoint(&sandbox, "spec check failed (exit 3)");
    assert!(
        ran.stderr.contains("spec and code differ"),
        "{}",
        ran.stderr
    );
}

#[test]
fn files_that_change_while_the_tests_run() {
    // Once: tested again, on what is there now.
    let sandbox = Sandbox::ready("\"test -f made.txt || echo made > made.txt\"");
    sandbox.write("a.txt", "a\n");
    let ran = sandbox.arkaint(["checkpoint"]).expect(0);
    assert!(
        ran.stderr
            .contains("files changed while the checks ran (made.txt)"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.git(["show", "HEAD:made.txt"]), "made");
    // Always: given up.
    let sandbox = Sandbox::ready("\"echo x >> grows.txt\"");
    sandbox.write("a.txt", "a\n");
    no_checkpoint(
        &sandbox,
        "files kept changing while the checks ran, so that they saw something else: grows.txt",
    );
}

/// Also report_midgard_522.
#[test]
fn report_midgard_519_a_suite_that_ran_no_test() {
    // https://github.com/midgard/midgard/issues/519
    for said in [
        "running 0 tests\\n\\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        "collected 0 items\\n\\n===== no tests ran in 0.01s =====",
    ] {
        let sandbox = Sandbox::ready(&format!("\"printf '{}\\\\n'\"", said.replace('\\', "\\\\")));
        sandbox.write("a.txt", "a\n");
        no_checkpoint(&sandbox, "ran no test");
    }
}

#[test]
fn a_hook_of_the_user_that_refuses() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.write_exec(
        ".git/hooks/pre-commit",
        "#!/bin/sh\necho the house rule >&2\nexit 1\n",
    );
    sandbox.write("a.txt", "a\n");
    let ran = no_checkpoint(&sandbox, "git commit refused: the house rule");
    assert!(!ran.stderr.contains("panicked"));
}

#[test]
fn a_signing_program_that_fails() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.git(["config", "commit.gpgSign", "true"]);
    sandbox.git(["config", "gpg.program", "/bin/false"]);
    sandbox.write("a.txt", "a\n");
    no_checkpoint(&sandbox, "git commit refused: ");
}

/// Two minutes of waiting: the deadline of `git commit` itself.
#[test]
fn a_signing_program_that_hangs() {
    let sandbox = Sandbox::ready("\"true\"");
    let pinentry = sandbox.home().join("hangs");
    fs::write(&pinentry, "#!/bin/sh\nexec sleep 100000\n").unwrap();
    fs::set_permissions(
        &pinentry,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    sandbox.git(["config", "commit.gpgSign", "true"]);
    sandbox.git(["config", "gpg.program", pinentry.to_str().unwrap()]);
    sandbox.write("a.txt", "a\n");
    no_checkpoint(&sandbox, "git commit did not end within 120 s");
}

#[test]
fn a_hook_that_changes_the_files_is_tested_again_or_undone() {
    let hook = "#!/bin/sh\necho formatted > a.txt\ngit add a.txt\n";
    let sandbox = Sandbox::ready("\"grep -q . a.txt\"");
    sandbox.write_exec(".git/hooks/pre-commit", hook);
    sandbox.write("a.txt", "raw\n");
    let ran = sandbox.arkaint(["checkpoint"]).expect(0);
    assert!(
        ran.stderr.contains("a commit hook changed the files"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.git(["show", "HEAD:a.txt"]), "formatted");
    assert!(
        sandbox
            .arkaint(["log", "--verify"])
            .expect(0)
            .stdout
            .contains("the chain of 1 checkpoints holds")
    );
    assert_eq!(sandbox.git(["rev-list", "--count", "main..HEAD"]), "1");

    let sandbox = Sandbox::ready("\"grep -q raw a.txt\"");
    sandbox.write_exec(".git/hooks/pre-commit", hook);
    sandbox.write("a.txt", "raw\n");
    no_checkpoint(&sandbox, "tests failed");
}

#[test]
fn secrets_are_named_and_stay_out() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.write(".env", "A=b\n");
    no_checkpoint(&sandbox, ".env: a new file of a sensitive name");
    fs::remove_file(sandbox.repo.join(".env")).unwrap();
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    sandbox.write(
        "src/client.py",
        &format!("import os\nTOKEN = \"{token}\"\n"),
    );
    let ran = no_checkpoint(&sandbox, "src/client.py:2: ");
    assert!(
        !ran.stderr.contains(&token),
        "a message never shows the secret"
    );
}

#[test]
fn nested_repositories_and_evidence_are_left_out_and_named() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.sh("git init -q nested && echo x > nested/x && git init -q born && cd born && echo y > y && git add y && git commit -qm y");
    sandbox.write(".ak-loop/verify.json", "{}\n");
    sandbox.write("a.txt", "a\n");
    let ran = sandbox.arkaint(["checkpoint"]).expect(0);
    assert_eq!(
        sandbox.git(["ls-tree", "-r", "--name-only", "HEAD"]),
        "README.md\na.txt\narkaint.toml"
    );
    assert!(
        ran.stderr.contains("left out: nested is a repository")
            && ran.stderr.contains("left out: born is a repository"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains(".ak-loop/"), "{}", ran.stderr);
}

/// Also report_skills_14, report_cortextos_969, report_mailpouch_318.
#[test]
fn report_mfc_1697_tests_never_see_the_callers_git_variables() {
    // https://github.com/MFlowCode/MFC/pull/1697
    let sandbox = Sandbox::ready(
        "\"env | { ! grep ^GIT_; }; cd $(mktemp -d -p $HOME) && git init -q . && git -c user.name=x -c user.email=x commit -q --allow-empty -m other\"",
    );
    sandbox.write("a.txt", "a\n");
    let before = sandbox.git(["rev-parse", "HEAD"]);
    let ran: Ran = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .arg("checkpoint")
        .env("GIT_DIR", sandbox.repo.join(".git"))
        .env("GIT_INDEX_FILE", sandbox.repo.join(".git/index"))
        .output()
        .unwrap()
        .into();
    ran.expect(0);
    assert_eq!(sandbox.git(["rev-parse", "HEAD^"]), before);
}

/// Other clients than git refuse an index without one.
#[test]
fn the_index_has_a_checksum_also_where_the_commit_noted_nothing_in_it() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.agent("cat >/dev/null");
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "no checkpoint"]);
    let end = || {
        let index = fs::read(sandbox.repo.join(".git/index")).unwrap();
        index[index.len() - 20..].to_vec()
    };
    // `add` takes a cache out of it, and for that alone nothing else writes it again.
    sandbox.sh(
        "touch -d '1 hour ago' README.md arkaint.toml; git add -A; git commit -q --allow-empty -m refreshed
         git config core.untrackedCache true; git status >/dev/null; git config core.untrackedCache false",
    );
    let before = end();
    let ran = sandbox.arkaint(["cycle", "nothing"]);
    assert!(ran.stderr.contains("opening checkpoint"), "{}", ran.stderr);
    assert_ne!(end(), before, "it was written anew");
    assert_ne!(end(), [0; 20]);
    sandbox.write("a.txt", "a\n");
    sandbox.arkaint(["checkpoint"]).expect(0);
    assert_ne!(end(), [0; 20]);
    sandbox.git(["fsck", "--strict"]);
}

#[test]
fn thin_binaries_are_the_same_program() {
    let sandbox = Sandbox::ready("\"true\"");
    for verb in ["checkpoint", "boot", "cycle"] {
        let long: Ran = sandbox
            .command("git")
            .args(["arkaint", verb, "-h"])
            .output()
            .unwrap()
            .into();
        let short: Ran = sandbox
            .command("git")
            .args([&format!("arkaint-{verb}"), "-h"])
            .output()
            .unwrap()
            .into();
        assert_eq!(long.stdout, short.stdout);
        assert!(
            long.stdout.contains(&format!("git arkaint {verb}")),
            "{}",
            long.stdout
        );
    }
    sandbox.write("a.txt", "a\n");
    let ran: Ran = sandbox
        .command("git")
        .args(["arkaint-checkpoint", "-m", "by git itself"])
        .output()
        .unwrap()
        .into();
    ran.expect(0);
    assert_eq!(
        trailer(&sandbox, "HEAD", "Arkaint-Message"),
        "by git itself"
    );
}

/// Neither the tests nor the commit can be shown different files by a bit of the index.
#[test]
fn a_change_that_a_bit_of_the_index_hides_is_committed() {
    let sandbox = Sandbox::ready("\"grep -q new README.md\"");
    for bit in ["--assume-unchanged", "--skip-worktree"] {
        sandbox.write("README.md", &format!("new {bit}\n"));
        sandbox.git(["update-index", bit, "README.md"]);
        sandbox.arkaint(["checkpoint", "-q"]).expect(0);
        assert_eq!(
            sandbox.git(["show", "HEAD:README.md"]),
            format!("new {bit}")
        );
        assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    }
}

/// What was cut off is finished where it belongs: the worktree and index of another branch are left alone.
#[test]
fn a_checkpoint_that_was_cut_off_is_finished_on_its_own_branch_alone() {
    let sandbox = Sandbox::ready("\"true\"");
    let branch = sandbox.git(["branch", "--show-current"]);
    let cut_off = |name: &str| {
        let hook = sandbox.repo.join(".git/hooks/post-commit");
        sandbox.write(name, "a\n");
        sandbox.write_exec(
            ".git/hooks/post-commit",
            "#!/bin/sh\nkill -9 $(sed -n 's/^PPid:\\t*//p' /proc/$PPID/status)\n",
        );
        let ran = sandbox.arkaint(["checkpoint"]);
        fs::remove_file(hook).unwrap();
        assert_eq!(ran.code, None, "killed: {}", ran.stderr);
        sandbox.git(["switch", "-q", "-c", &format!("arkaint/other-{name}")])
    };
    cut_off("a.txt");
    let before = state(&sandbox);
    let ran = sandbox.arkaint(["checkpoint"]).expect(3);
    assert!(
        ran.stderr.contains(&format!(
            "a checkpoint on {branch} was cut off here, and another branch is checked out now"
        )) && ran.stderr.contains(&format!("hint: git switch {branch}")),
        "{}",
        ran.stderr
    );
    assert_eq!(state(&sandbox), before, "HEAD, refs and index as before");
    sandbox.git(["switch", "-q", &branch]);
    let ran = sandbox.arkaint(["checkpoint"]).expect(0);
    assert!(
        ran.stderr.contains("after its commit") && ran.stderr.contains("finished"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    sandbox.arkaint(["log", "--verify"]).expect(0);

    cut_off("b.txt");
    sandbox.git(["branch", "-q", "-D", &branch]);
    let ran = sandbox.arkaint(["checkpoint"]).expect(0);
    assert!(ran.stderr.contains("that branch is gone"), "{}", ran.stderr);
}
