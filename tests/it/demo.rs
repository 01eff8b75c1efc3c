//! The demo as a user runs it: a whole cycle from red to a sealed checkpoint, readable at 80 columns, leaving nothing behind.

use std::fs;

use crate::sandbox::{Ran, Sandbox};

/// `git arkaint demo WORDS` with a temporary folder of its own, and that folder.
fn demo(sandbox: &Sandbox, words: &[&str]) -> (Ran, std::path::PathBuf) {
    let temp = sandbox.home().join("tmp");
    fs::create_dir_all(&temp).unwrap();
    // Settings of the user's that would spoil it: none of them may reach the demo.
    fs::write(
        sandbox.home().join(".gitconfig"),
        "[core]\n\thooksPath = /nowhere\n[commit]\n\tgpgSign = true\n[init]\n\tdefaultBranch = trunk\n",
    )
    .unwrap();
    let mut git = sandbox.command("git");
    let ran = git
        .args(["arkaint", "demo"])
        .args(words)
        .env("TMPDIR", &temp)
        .env("ARKAINT_AGENT", "goose")
        .env("GIT_DIR", "/nowhere");
    (ran.output().unwrap().into(), temp)
}

#[test]
fn a_whole_cycle_is_shown_and_nothing_is_left_of_it() {
    let sandbox = Sandbox::new();
    let (ran, temp) = demo(&sandbox, &[]);
    let ran = ran.expect(0);
    let mut rest = ran.stdout.as_str();
    for seen in [
        "stand-in",
        "not a model",
        "not ok 2",
        "cycle --red",
        "starting from red",
        "launch 1",
        "fix round 1 of 2",
        "the breaker trips",
        "rolled back",
        "recovery attempt 1 of 3",
        "ok 2",
        "sealed as",
        "Recovery attempt 1 of 3: try an alternative minimal fix",
        "[arkaint-sync] checkpoint",
        "Arkaint-Status: stable",
        "git arkaint discarded diff",
        "+    printf",
        "git arkaint log",
        "trip",
        "the chain of 1 checkpoints holds",
    ] {
        let at = rest
            .find(seen)
            .unwrap_or_else(|| panic!("{seen} does not follow in:\n{}", ran.stdout));
        rest = &rest[at + seen.len()..];
    }
    let long: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.chars().count() > 80)
        .collect();
    assert!(long.is_empty(), "{long:?}");
    assert_eq!(fs::read_dir(temp).unwrap().count(), 0);
}

#[test]
fn what_is_kept_is_a_repository_whose_work_is_sealed_and_whose_failure_is_archived() {
    let sandbox = Sandbox::new();
    let (ran, temp) = demo(&sandbox, &["--keep", "--json"]);
    let told = ran.expect(0).json();
    assert_eq!(
        (&told["v"], &told["agent"]),
        (&1.into(), &"stand-in".into())
    );
    let cycle = told["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["command"].as_str().unwrap().contains("cycle --red"));
    assert_eq!(cycle.unwrap()["exit"], 0);

    let repo = told["kept"].as_str().unwrap();
    assert!(repo.starts_with(temp.to_str().unwrap()));
    let git = |words: &[&str]| {
        Ran::from(
            sandbox
                .command("git")
                .args(["-C", repo])
                .args(words)
                .output()
                .unwrap(),
        )
        .expect(0)
        .stdout
    };
    git(&["fsck", "--strict"]);
    assert_eq!(git(&["status", "--porcelain"]), "");
    assert_eq!(
        git(&[
            "log",
            "-1",
            "--format=%(trailers:key=Arkaint-Status,valueonly)"
        ])
        .trim(),
        "stable"
    );
    assert!(
        git(&["for-each-ref", "refs/arkaint/discarded"])
            .lines()
            .count()
            >= 3
    );
    Ran::from(
        sandbox
            .command("bash")
            .arg("test.sh")
            .current_dir(repo)
            .output()
            .unwrap(),
    )
    .expect(0);
}
