//! The recipes of `git-arkaint-config(5)`, SANDBOXES, with the real bubblewrap: what the agent and the tests cannot do in them, and that a cycle works.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::cycle::records;
use crate::goose::GooseWorld;
use crate::model::Reply;
use crate::not_run::not_run;
use crate::sandbox::Sandbox;
use crate::stand_in::PRELUDE;

const GIT: &str = include_str!("../../src/config/bubblewrap-git.toml");
const ALL: &str = include_str!("../../src/config/bubblewrap-all.toml");

/// Can bubblewrap be used here? It needs user namespaces, which containers often do not allow.
fn there(name: &str) -> bool {
    let tried = Command::new("bwrap")
        .args(["--ro-bind", "/", "/", "--unshare-pid", "true"])
        .stderr(Stdio::null())
        .status();
    let works = tried.is_ok_and(|status| status.success());
    if !works {
        not_run(name, "bwrap");
    }
    works
}

/// The words of a recipe, for a file that has an `[agent]` already.
fn wrapper(recipe: &str) -> &str {
    recipe.strip_prefix("[agent]\n").unwrap()
}

/// A project whose configuration has `recipe`, and an agent that runs `script` in it.
fn world(recipe: &str, script: &str) -> Sandbox {
    let sandbox = Sandbox::ready("\"sh check.sh\"");
    // What the tests try, they try in the sandbox too.
    sandbox.write(
        "check.sh",
        "touch .git/from-tests 2>/dev/null && { echo FAIL: tests write to git; exit 1; }; git status >/dev/null\n",
    );
    let toml = sandbox.read("arkaint.toml");
    sandbox.write("arkaint.toml", &format!("{toml}{}", wrapper(recipe)));
    sandbox.commit_all("a sandbox");
    sandbox.agent(&format!("{PRELUDE}\n{script}\n"));
    sandbox
}

/// Each try says whether it worked. The worktree's own `.git` may be a file.
const TRIES: &str = r#"
try() { if "$@" 2>/dev/null; then echo "$*: done" >> tries; fi; }
common=$(git rev-parse --path-format=absolute --git-common-dir)
try touch "$common/hooks/post-commit"
try git config core.fsmonitor evil
try git commit --allow-empty -q -m mine
try git update-ref refs/heads/other HEAD
try git update-ref -d refs/notes/arkaint/ledger
try rm -rf .git
try mv .git moved
try sh -c 'echo gitdir: elsewhere > .git'
setsid sleep 300 &
echo work > work.txt
echo over >> tries
finish "Did the work."
"#;

#[test]
fn in_the_first_recipe_git_is_read_only_and_arkaint_commits() {
    if !there("in_the_first_recipe_git_is_read_only_and_arkaint_commits") {
        return;
    }
    for linked in [false, true] {
        let sandbox = world(GIT, TRIES);
        let repo = if linked {
            let folder = sandbox.home().join("linked");
            let path = folder.to_str().unwrap();
            sandbox.git(["worktree", "add", "-q", path, "-b", "arkaint/linked"]);
            folder
        } else {
            sandbox.repo.clone()
        };
        let dir = repo.to_str().unwrap();
        let config = std::fs::read(sandbox.repo.join(".git/config")).unwrap();
        let ran = sandbox
            .arkaint(["-C", dir, "cycle", "write something into work.txt"])
            .expect(0);
        assert!(ran.stderr.contains("sealed as "), "{}", ran.stderr);
        assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
        let sealed = |path: &str| sandbox.git(["-C", dir, "show", &format!("HEAD:{path}")]);
        assert_eq!(sealed("tries"), "over", "{linked}");
        assert_eq!(sealed("work.txt"), "work");
        assert_eq!(
            std::fs::read(sandbox.repo.join(".git/config")).unwrap(),
            config
        );
        let run = &records(&sandbox, "run")[0];
        assert_eq!(run["wrapper"][0], json!("bwrap"));
        assert_eq!(run["broken"], json!([]));
        let left = sandbox.sh("pgrep -x sleep -a | grep 'sleep 300' || true");
        assert_eq!(left.trim(), "", "nothing outlives the sandbox");
    }
}

#[test]
fn in_the_second_recipe_the_worktree_alone_is_written() {
    if !there("in_the_second_recipe_the_worktree_alone_is_written") {
        return;
    }
    let sandbox = world(ALL, "");
    // Of what lies in /tmp only the worktree is there.
    let script = r#"
cat > /dev/null
touch "$HOME/outside" 2>/dev/null && echo outside >> tries
[ "$(ls /tmp)" = "$(basename "$(dirname "$PWD")")" ] || ls /tmp >> tries
touch /tmp/x .git/x 2>/dev/null && echo git >> tries
echo over >> tries
echo 'ARKAINT: done'
"#;
    sandbox.write("agent.sh", script);
    let home = sandbox.agent_script();
    let toml = sandbox.read("arkaint.toml");
    sandbox.write(
        "arkaint.toml",
        &toml.replace(home.to_str().unwrap(), "agent.sh"),
    );
    sandbox.commit_all("the agent in the worktree");
    sandbox
        .arkaint(["cycle", "write something down in tries"])
        .expect(0);
    assert_eq!(sandbox.git(["show", "HEAD:tries"]), "over");
    assert!(!sandbox.home().join("outside").exists());
}

#[test]
fn the_real_goose_works_in_the_first_recipe() {
    if !there("the_real_goose_works_in_the_first_recipe") {
        return;
    }
    let script = vec![
        Reply::shell("echo hello > hello.txt; git add hello.txt && git commit -m mine"),
        Reply::text("Wrote hello.txt; git would not take it.\nARKAINT: done"),
    ];
    let name = "the_real_goose_works_in_the_first_recipe";
    let Some(world) = GooseWorld::new(name, "\"test ! -e bad\"", script) else {
        return;
    };
    let sandbox = &world.sandbox;
    let toml = sandbox.read("arkaint.toml");
    sandbox.write("arkaint.toml", &format!("{toml}{}", wrapper(GIT)));
    sandbox.commit_all("a sandbox");
    let before = sandbox.git(["rev-list", "--count", "HEAD"]);
    let ran = world
        .arkaint(["cycle", "write a friendly greeting into hello.txt"])
        .expect(0);
    assert!(ran.stderr.contains("sealed as "), "{}", ran.stderr);
    assert_eq!(sandbox.git(["show", "HEAD:hello.txt"]), "hello");
    // The opening checkpoint and the closing one.
    let after = sandbox.git(["rev-list", "--count", "HEAD"]);
    let count = |text: &str| text.parse::<usize>().unwrap();
    assert!(count(&after) <= count(&before) + 2, "{before} {after}");
    let log = sandbox.read(".arkaint/run.log");
    assert!(log.contains("Read-only file system"), "{log}");
}
