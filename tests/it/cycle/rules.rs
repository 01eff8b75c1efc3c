//! Rules that a launch breaks: what it turned is put back, and the rest of its work kept.

use super::{GREEN, NAMED, cycle, launches, packet, records, world, world_with};
use crate::sandbox::Ran;

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
