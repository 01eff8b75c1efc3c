//! The entry gate: every refusal is one line with a hint, and leaves every byte as it was.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::sandbox::{Ran, Sandbox};

/// Every file below `dir`, `.git` too: path, mode, content. Reading it changes nothing.
pub fn bytes_below(dir: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut todo = vec![dir.to_path_buf()];
    while let Some(path) = todo.pop() {
        let meta = path.symlink_metadata().unwrap();
        let name = path
            .strip_prefix(dir)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        if meta.is_dir() {
            todo.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
            all.insert(name, (meta.mode(), Vec::new()));
        } else if meta.is_symlink() {
            all.insert(
                name,
                (
                    meta.mode(),
                    fs::read_link(&path)
                        .unwrap()
                        .to_string_lossy()
                        .into_owned()
                        .into_bytes(),
                ),
            );
        } else {
            all.insert(name, (meta.mode(), fs::read(&path).unwrap()));
        }
    }
    all
}

#[track_caller]
fn refused(sandbox: &Sandbox, code: i32, cause: &str, hint: &str, ran: impl Fn() -> Ran) {
    let before = bytes_below(&sandbox.repo);
    let refs = sandbox.try_git(["for-each-ref"]).stdout;
    let ran = ran().expect(code);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(
        lines[0].starts_with("arkaint: ") && lines[0].contains(cause),
        "{}",
        ran.stderr
    );
    assert!(
        lines.len() > 1 && lines[1..].iter().all(|l| l.starts_with("hint: ")),
        "{}",
        ran.stderr
    );
    assert!(
        lines[1..].iter().any(|l| l.contains(hint)),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stdout, "");
    let after = bytes_below(&sandbox.repo);
    let differ: Vec<_> = before
        .keys()
        .chain(after.keys())
        .filter(|k| before.get(*k) != after.get(*k))
        .collect();
    assert!(differ.is_empty(), "a refusal changed {differ:?}");
    assert_eq!(sandbox.try_git(["for-each-ref"]).stdout, refs);
}

fn ready() -> Sandbox {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.agent("true\n");
    sandbox
}

const VERBS: [&[&str]; 4] = [
    &["checkpoint"],
    &["boot", "a task"],
    &["cycle", "a task"],
    &["rollback"],
];

#[test]
fn a_branch_that_is_not_for_agents() {
    let sandbox = ready();
    sandbox.git(["switch", "-q", "main"]);
    for verb in VERBS {
        refused(
            &sandbox,
            2,
            "branch main is not one for agents",
            "git switch -c arkaint/SLUG",
            || sandbox.arkaint(verb),
        );
    }
    sandbox.git(["switch", "-q", "-c", "Arkaint/upper"]);
    refused(&sandbox, 2, "not one for agents", "git switch", || {
        sandbox.arkaint(["checkpoint"])
    });
}

#[test]
fn a_detached_head() {
    let sandbox = ready();
    sandbox.git(["checkout", "-q", "--detach"]);
    for verb in VERBS {
        refused(&sandbox, 2, "HEAD is detached", "git switch -c", || {
            sandbox.arkaint(verb)
        });
    }
}

#[test]
fn configuration_that_is_missing_uncommitted_changed_or_wrong() {
    let sandbox = Sandbox::new();
    sandbox.git(["switch", "-q", "-c", "arkaint/work"]);
    refused(
        &sandbox,
        2,
        "there is no arkaint.toml",
        "git arkaint init",
        || sandbox.arkaint(["checkpoint"]),
    );
    sandbox.write("arkaint.toml", "[checkpoint]\ntest = \"true\"\n");
    refused(
        &sandbox,
        2,
        "arkaint.toml is not committed",
        "git add arkaint.toml && ",
        || sandbox.arkaint(["checkpoint"]),
    );
    sandbox.commit_all("configure");
    sandbox.write("arkaint.toml", "[checkpoint]\ntest = false\n");
    refused(
        &sandbox,
        2,
        "arkaint.toml differs from HEAD",
        "git commit",
        || sandbox.arkaint(["checkpoint"]),
    );
    fs::remove_file(sandbox.repo.join("arkaint.toml")).unwrap();
    refused(&sandbox, 2, "gone from disk", "git restore", || {
        sandbox.arkaint(["checkpoint"])
    });
    sandbox.write("arkaint.toml", "[checkpoint]\ntest = \"true\"\ntset = 1\n");
    sandbox.commit_all("wrong");
    refused(&sandbox, 2, "arkaint.toml:3: ", "", || {
        sandbox.arkaint(["checkpoint"])
    });
}

#[test]
fn a_checkout_with_crlf_is_not_a_changed_configuration() {
    let sandbox = ready();
    let lf = sandbox.read("arkaint.toml");
    sandbox.write("arkaint.toml", &lf.replace('\n', "\r\n"));
    sandbox.git(["config", "core.autocrlf", "true"]);
    sandbox.arkaint(["checkpoint"]).expect(0);
}

#[test]
fn profiles_and_tasks() {
    let sandbox = ready();
    refused(&sandbox, 2, "profile", "", || {
        sandbox.arkaint(["cycle", "a task", "-p", "wizard"])
    });
    refused(
        &sandbox,
        2,
        "debugger is a profile, not a task",
        "-p debugger",
        || sandbox.arkaint(["cycle", "debugger"]),
    );
    refused(&sandbox, 2, "there is no task", "git arkaint cycle", || {
        sandbox.arkaint(["cycle"])
    });
    refused(
        &sandbox,
        2,
        "the task is empty",
        "git arkaint cycle",
        || sandbox.arkaint(["cycle", "  "]),
    );
}

#[test]
fn states_under_way() {
    let sandbox = ready();
    let git_dir = sandbox.repo.join(".git");
    for (file, what) in [
        ("MERGE_HEAD", "a merge is under way"),
        ("CHERRY_PICK_HEAD", "a cherry-pick is under way"),
        ("REVERT_HEAD", "a revert is under way"),
        ("BISECT_LOG", "a bisect is under way"),
    ] {
        fs::write(
            git_dir.join(file),
            sandbox.git(["rev-parse", "HEAD"]) + "\n",
        )
        .unwrap();
        refused(&sandbox, 2, what, "git ", || {
            sandbox.arkaint(["checkpoint"])
        });
        fs::remove_file(git_dir.join(file)).unwrap();
    }
    for folder in ["rebase-merge", "rebase-apply"] {
        fs::create_dir(git_dir.join(folder)).unwrap();
        refused(&sandbox, 2, "is under way", "--abort", || {
            sandbox.arkaint(["checkpoint"])
        });
        fs::remove_dir(git_dir.join(folder)).unwrap();
    }
}

#[test]
fn unmerged_paths_without_a_merge() {
    let sandbox = ready();
    sandbox.write("README.md", "ours\n");
    sandbox.git(["stash", "-q"]);
    sandbox.write("README.md", "theirs\n");
    sandbox.commit_all("theirs");
    sandbox.try_git(["stash", "pop"]);
    assert!(
        sandbox
            .git(["status", "--porcelain"])
            .contains("UU README.md")
    );
    refused(
        &sandbox,
        2,
        "1 unmerged paths, the first is README.md",
        "git add",
        || sandbox.arkaint(["checkpoint"]),
    );
}

/// report_entireio_cli_255.
#[test]
fn no_commit_bare_outside_home_and_root() {
    let sandbox = ready();
    let elsewhere = sandbox.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let at = |dir: &Path| sandbox.arkaint(["-C", dir.to_str().unwrap(), "checkpoint"]);
    refused(&sandbox, 2, "not inside a git worktree", "git init", || {
        at(&elsewhere)
    });
    sandbox.git([
        "init",
        "-q",
        "--bare",
        elsewhere.join("bare.git").to_str().unwrap(),
    ]);
    refused(&sandbox, 2, "bare repository", "git worktree add", || {
        at(&elsewhere.join("bare.git"))
    });
    sandbox.git([
        "init",
        "-q",
        "-b",
        "arkaint/x",
        elsewhere.join("empty").to_str().unwrap(),
    ]);
    refused(&sandbox, 2, "no commit yet", "git commit", || {
        at(&elsewhere.join("empty"))
    });
    sandbox.git([
        "init",
        "-q",
        "-b",
        "arkaint/x",
        sandbox.home().to_str().unwrap(),
    ]);
    refused(
        &sandbox,
        2,
        "home or root folder",
        "",
        || at(sandbox.home()),
    );
}

#[test]
fn an_agent_that_is_not_there() {
    let sandbox = ready();
    sandbox.write("arkaint.toml", "[checkpoint]\ntest = \"true\"\n");
    sandbox.commit_all("the default agent");
    let missing = || {
        sandbox
            .command(env!("CARGO_BIN_EXE_git-arkaint"))
            .args(["cycle", "a task", "--agent", "goose"])
            .env("PATH", "/usr/bin:/bin")
            .output()
            .unwrap()
            .into()
    };
    refused(&sandbox, 2, "goose is not on PATH", "--agent", missing);
}

#[test]
fn nobody_to_commit_as() {
    let sandbox = ready();
    fs::write(
        sandbox.home().join(".gitconfig"),
        "[user]\n\tuseConfigOnly = true\n",
    )
    .unwrap();
    refused(
        &sandbox,
        2,
        "git does not know who commits here",
        "git config user.name",
        || sandbox.arkaint(["checkpoint"]),
    );
}

#[test]
fn report_ralph_orchestrator_121_a_run_inside_a_run() {
    // https://github.com/mikeyobrien/ralph-orchestrator/pull/121
    let sandbox = ready();
    for verb in VERBS {
        let nested = || {
            sandbox
                .command(env!("CARGO_BIN_EXE_git-arkaint"))
                .args(verb)
                .env("ARKAINT_RUN", "20260101T000000Z-abcdef")
                .output()
                .unwrap()
                .into()
        };
        refused(
            &sandbox,
            2,
            "already inside run 20260101T000000Z-abcdef",
            "git arkaint status",
            nested,
        );
    }
    for verb in [
        &["status"][..],
        &["log"],
        &["packet", "a task"],
        &["hooks", "status"],
    ] {
        let ran: Ran = sandbox
            .command(env!("CARGO_BIN_EXE_git-arkaint"))
            .args(verb)
            .env("ARKAINT_RUN", "x")
            .output()
            .unwrap()
            .into();
        assert!(
            matches!(ran.code, Some(0 | 1)) && !ran.stderr.contains("already inside"),
            "{verb:?}: {}",
            ran.stderr
        );
    }
}

#[test]
fn a_lock_that_is_held_is_exit_4_and_a_dead_holder_leaves_nothing() {
    let sandbox = ready();
    sandbox.arkaint(["checkpoint"]).expect(0);
    let lock = sandbox.repo.join(".git/arkaint/lock");
    let held = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&lock)
        .unwrap();
    held.lock().unwrap();
    for verb in VERBS {
        refused(
            &sandbox,
            4,
            "is at work in this worktree",
            "git worktree add",
            || sandbox.arkaint(verb),
        );
    }
    drop(held);
    sandbox.arkaint(["checkpoint"]).expect(0);
}

#[test]
fn branch_option_makes_the_branch_only_after_every_other_check() {
    let sandbox = ready();
    sandbox.git(["switch", "-q", "main"]);
    refused(
        &sandbox,
        2,
        "branch topic is not one for agents",
        "",
        || sandbox.arkaint(["cycle", "t", "--branch", "topic"]),
    );
    refused(
        &sandbox,
        2,
        "branch arkaint/work exists already",
        "",
        || sandbox.arkaint(["cycle", "t", "--branch", "arkaint/work"]),
    );
    sandbox.write("new.txt", "dirty\n");
    sandbox.agent("echo more >> new.txt\n");
    sandbox
        .arkaint(["cycle", "t", "--branch", "arkaint/other"])
        .expect(0);
    assert_eq!(sandbox.git(["branch", "--show-current"]), "arkaint/other");
    assert_eq!(sandbox.git(["show", "HEAD:new.txt"]), "dirty\nmore");
}

/// A name that git takes and a shell would not.
#[test]
fn a_branch_in_a_command_is_quoted() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.git(["branch", "arkaint/a;b"]);
    let ran = sandbox
        .arkaint(["cycle", "--branch", "arkaint/a;b", "x"])
        .expect(2);
    assert!(
        ran.stderr.contains("hint: git switch 'arkaint/a;b', or"),
        "{}",
        ran.stderr
    );
}
