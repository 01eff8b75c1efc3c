//! Where and how the command runs, and when nothing runs or nothing is written.

use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{FILE, freeze, outcomes, ready, seals, verify};
use crate::sandbox::{Ran, Sandbox};

#[test]
fn what_cannot_be_run_is_refused_and_writes_nothing() {
    let sandbox = ready();
    freeze(&sandbox);
    for (words, why) in [
        (&["--", "no-such-program"][..], "not found: no-such-program"),
        (
            &["--outcome", "parse", "--", "true"],
            "the open contract has no outcome parse; did you mean parses?",
        ),
        (
            &["--outcome", "looks", "--", "true"],
            "outcome looks is one that a person sees",
        ),
        (
            &["--outcome", "", "--", "true"],
            "an outcome is named by 1 to 200 characters",
        ),
        (&["true"], "unexpected argument 'true'"),
        (&["--"], "required arguments were not provided"),
    ] {
        let ran = verify(&sandbox, words).expect(2);
        assert!(ran.stderr.contains(why), "{words:?}: {}", ran.stderr);
    }
    assert!(!sandbox.exists(".ak-loop"));
    assert!(seals(&sandbox).is_empty());
}

#[test]
fn nothing_is_written_through_a_link_and_nothing_runs_before_that_is_known() {
    let sandbox = ready();
    let outside = sandbox.home().join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, sandbox.repo.join(".ak-loop")).unwrap();
    let ran = verify(&sandbox, &["--", "sh", "-c", "echo ran > \"$HOME/ran\""]).expect(2);
    assert!(
        ran.stderr
            .contains(".ak-loop is no folder: nothing is written through a link"),
        "{}",
        ran.stderr
    );
    assert!(!sandbox.home().join("ran").exists());
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    // A file that is a link is replaced, and not what it points to.
    std::fs::remove_file(sandbox.repo.join(".ak-loop")).unwrap();
    std::fs::create_dir(sandbox.repo.join(".ak-loop")).unwrap();
    std::fs::write(outside.join("theirs"), "theirs").unwrap();
    symlink(outside.join("theirs"), sandbox.repo.join(FILE)).unwrap();
    let ran = verify(&sandbox, &["--", "true"]).expect(0);
    assert!(
        ran.stderr.contains("was replaced: unsafe file: symlink"),
        "{}",
        ran.stderr
    );
    assert!(
        sandbox
            .repo
            .join(FILE)
            .symlink_metadata()
            .unwrap()
            .is_file()
    );
    assert_eq!(
        std::fs::read_to_string(outside.join("theirs")).unwrap(),
        "theirs"
    );
}

#[test]
fn inside_a_run_it_works_and_is_a_claim() {
    let sandbox = Sandbox::ready("false");
    sandbox.agent(
        "cat > /dev/null; echo one > work.txt; cp .git/arkaint/private/index \"$HOME/index.before\"
git arkaint verify --outcome o -- cat work.txt > \"$HOME/out\" 2> \"$HOME/err\"; echo $? > \"$HOME/code\"
cmp .git/arkaint/private/index \"$HOME/index.before\" && echo same > \"$HOME/same\"
GIT_INDEX_FILE=$HOME/oracle git add -A -- ':!.ak-loop' ':!.arkaint'; GIT_INDEX_FILE=$HOME/oracle git write-tree > \"$HOME/tree\"
echo 'ARKAINT: done'\n",
    );
    sandbox.arkaint(["boot", "write it"]).expect(0);
    let read = |name: &str| std::fs::read_to_string(sandbox.home().join(name)).unwrap_or_default();
    assert_eq!(read("code").trim(), "0", "{}", read("err"));
    assert_eq!(read("same").trim(), "same");
    let seals = seals(&sandbox);
    let run = seals[0]["run"].as_str().unwrap();
    assert!(read("err").contains(&format!(
        "inside run {run}: this is a claim until the run is over"
    )));
    assert_eq!(seals[0]["tree"], read("tree").trim());
    // Outside, what a run claimed is taken over, and not answered for.
    verify(&sandbox, &["--outcome", "p", "--", "true"]).expect(0);
    let outside = self::seals(&sandbox).pop().unwrap();
    assert_eq!(outside["run"], Value::Null);
    assert_eq!(outside["tree"], seals[0]["tree"]);
    assert_eq!(outside["outcomes"], json!(["p"]));
    assert_eq!(outcomes(&sandbox).len(), 2);
}

#[test]
fn inside_a_run_nothing_that_the_repository_configures_takes_part() {
    let sandbox = Sandbox::ready("false");
    sandbox.agent(
        "cat > /dev/null; echo one > work.txt; echo '*.txt filter=evil' > .gitattributes
git config filter.evil.clean \"sh -c 'touch $HOME/evil; cat'\"; git config core.fsmonitor \"touch $HOME/evil; false\"
git arkaint verify -- true 2> \"$HOME/err\"; echo $? > \"$HOME/code\"; echo 'ARKAINT: done'\n",
    );
    sandbox.arkaint(["boot", "write it"]);
    let code = std::fs::read_to_string(sandbox.home().join("code")).unwrap();
    assert_eq!(code.trim(), "0");
    assert!(!sandbox.home().join("evil").exists());
}

#[test]
fn it_runs_at_the_root_with_the_callers_environment_less_that_of_git() {
    let sandbox = ready();
    sandbox.write("sub/x", "");
    let ran: Ran = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args([
            "verify",
            "--",
            "sh",
            "-c",
            "pwd > \"$HOME/pwd\"; env > \"$HOME/env\"; cat",
        ])
        .current_dir(sandbox.repo.join("sub"))
        .envs([
            ("GIT_DIR", "/nowhere"),
            ("MINE", "1"),
            ("ARKAINT_ALLOW_INFRA_EDIT", "1"),
        ])
        .output()
        .unwrap()
        .into();
    ran.expect(0);
    let read = |name: &str| std::fs::read_to_string(sandbox.home().join(name)).unwrap();
    assert_eq!(read("pwd").trim(), sandbox.repo.to_str().unwrap());
    let env = read("env");
    assert!(env.lines().any(|line| line == "MINE=1"));
    assert!(
        !env.lines()
            .any(|line| line.starts_with("GIT_") || line.starts_with("ARKAINT_ALLOW")),
        "{env}"
    );
}

#[test]
fn interrupted_it_writes_nothing_and_leaves_nothing() {
    let sandbox = ready();
    let mut child = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args([
            "verify",
            "--",
            "sh",
            "-c",
            "touch \"$HOME/started\"; sleep 48.12",
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while !sandbox.home().join("started").exists() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
    sandbox.sh(&format!("kill -INT {}", child.id()));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!sandbox.exists(".ak-loop"));
    assert!(seals(&sandbox).is_empty());
    let left = sandbox.sh("ls .git/arkaint; ps -eo args | grep '[s]leep 48.12' || true");
    assert!(
        !left.contains("verify") && !left.contains("sleep"),
        "{left}"
    );
}

#[test]
fn a_branch_without_a_commit_is_refused_and_a_detached_head_is_not() {
    let sandbox = ready();
    sandbox.git(["switch", "-q", "--detach"]);
    verify(&sandbox, &["--", "true"]).expect(0);
    assert_eq!(seals(&sandbox)[0]["contract"], Value::Null);
    sandbox.git(["switch", "-q", "--orphan", "empty"]);
    let ran = verify(&sandbox, &["--", "true"]).expect(2);
    assert!(
        ran.stderr.contains("this branch has no commit yet"),
        "{}",
        ran.stderr
    );
}
