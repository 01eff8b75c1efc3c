//! `init --undo`: every byte back, what the user made of it kept, and on request nothing left but commits.

use std::fs;
use std::path::Path;

use super::{assert_same, assert_same_in, in_folder, world};
use crate::sandbox::{Ran, Sandbox};

#[test]
fn undo_gives_every_byte_back() {
    type Prepare = fn(&Sandbox);
    let cases: [(&str, Prepare); 11] = [
        ("plain", |_| {}),
        ("own notes settings", |s| {
            s.git(["config", "--add", "notes.rewriteRef", "refs/notes/commits"]);
            s.git(["config", "notes.rewriteMode", "overwrite"]);
        }),
        ("an empty section of the user's", |s| {
            s.write(
                ".git/config",
                &format!("{}[notes]\n", s.read(".git/config")),
            )
        }),
        ("a comment in a section", |s| {
            s.write(
                ".git/config",
                &format!("{}[notes]\n\t# mine\n", s.read(".git/config")),
            )
        }),
        ("no newline at the end of the configuration", |s| {
            s.git(["config", "user.signingkey", "x"]);
            let text = s.read(".git/config");
            s.write(".git/config", text.trim_end());
        }),
        ("no newline at the end of exclude", |s| {
            s.write(".git/info/exclude", "# mine\n*.tmp")
        }),
        ("one line there already", |s| {
            s.write(".git/info/exclude", "/.arkaint/\n*.tmp\n")
        }),
        ("an empty exclude", |s| s.write(".git/info/exclude", "")),
        ("no info", |s| {
            fs::remove_dir_all(s.repo.join(".git/info")).unwrap()
        }),
        ("no hooks folder", |s| {
            fs::remove_dir_all(s.repo.join(".git/hooks")).unwrap()
        }),
        ("a file of the user's", |s| {
            s.write("arkaint.toml", "[cycle]\nattempts = 1\n")
        }),
    ];
    for (name, prepare) in cases {
        let sandbox = Sandbox::new();
        sandbox.write("Makefile", "test:\n\ttrue\n");
        prepare(&sandbox);
        let before = world(&sandbox);
        sandbox.arkaint(["init"]).expect(0);
        sandbox.arkaint(["init"]).expect(0);
        assert_ne!(before, world(&sandbox), "{name}");
        sandbox.arkaint(["init", "--undo"]).expect(0);
        assert_same_in(name, &before, &world(&sandbox));
        let again = sandbox.arkaint(["init", "--undo"]).expect(0);
        assert_same_in(name, &before, &world(&sandbox));
        assert!(
            again.stderr.contains("nothing of init's is here") || name == "a file of the user's",
            "{name}: {}",
            again.stderr
        );
    }
}

#[test]
fn undo_keeps_what_the_user_made_of_it() {
    let sandbox = Sandbox::new();
    sandbox.arkaint(["init"]).expect(0);
    sandbox.git(["config", "--add", "notes.rewriteRef", "refs/notes/mine"]);
    sandbox.git(["config", "alias.x", "status"]);
    sandbox.sh("echo '*.tmp' >> .git/info/exclude; echo '# mine' >> arkaint.toml");
    let ran = sandbox.arkaint(["init", "--undo"]).expect(0);
    assert!(
        ran.stderr
            .contains("arkaint.toml: kept, it is not as init wrote it"),
        "{}",
        ran.stderr
    );
    assert!(sandbox.exists("arkaint.toml"));
    assert_eq!(
        sandbox.git(["config", "--get-all", "notes.rewriteRef"]),
        "refs/notes/mine"
    );
    assert_eq!(sandbox.git(["config", "alias.x"]), "status");
    assert_eq!(
        sandbox.try_git(["config", "notes.rewriteMode"]).code,
        Some(1)
    );
    let exclude = sandbox.read(".git/info/exclude");
    assert!(
        exclude.ends_with("*.tmp\n") && !exclude.contains("arkaint"),
        "{exclude}"
    );
    assert!(!sandbox.exists(".git/arkaint"));
}

#[test]
fn undo_keeps_a_staged_or_committed_file_and_the_ledger() {
    let sandbox = Sandbox::new();
    sandbox.arkaint(["init"]).expect(0);
    sandbox.git(["add", "arkaint.toml"]);
    let ran = sandbox.arkaint(["init", "--undo"]).expect(0);
    assert!(
        ran.stderr.contains("arkaint.toml: kept, it is staged"),
        "{}",
        ran.stderr
    );
    sandbox.commit_all("configure");
    sandbox.arkaint(["init"]).expect(0);
    sandbox.git(["notes", "--ref", "arkaint/ledger", "add", "-m", "{}"]);
    let refs = sandbox.git(["for-each-ref"]);
    let ran = sandbox.arkaint(["init", "--undo"]).expect(0);
    assert!(
        ran.stderr.contains("arkaint.toml: kept, it is committed"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.git(["for-each-ref"]), refs);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn undo_without_a_record_removes_what_is_surely_ours() {
    let sandbox = Sandbox::new();
    let before = world(&sandbox);
    sandbox.arkaint(["init"]).expect(0);
    fs::remove_dir_all(sandbox.repo.join(".git/arkaint")).unwrap();
    sandbox.arkaint(["init", "--undo"]).expect(0);
    // Whose these are cannot be known.
    sandbox.git(["config", "--unset", "notes.rewriteMode"]);
    sandbox.git(["config", "--unset", "arkaint.bin"]);
    assert_same(&before, &world(&sandbox));
}

/// A clean install, use, and uninstall in a fresh HOME: on request nothing is left but commits. What the user has stays byte for byte.
#[test]
fn after_work_undo_leaves_on_request_nothing_but_commits() {
    let sandbox = Sandbox::new();
    sandbox.write("Makefile", "test:\n\ttrue\n");
    sandbox.write("build/out", "mine, and ignored\n");
    sandbox.write_exec(".git/hooks/pre-push", "#!/bin/sh\nexit 0\n");
    sandbox.sh("echo build/ >>.git/info/exclude; git add -A; git commit -qm make; git worktree add -q ../linked");
    sandbox.agent(&format!(
        "{}\necho work >work.txt; finish done",
        crate::stand_in::PRELUDE
    ));
    let state = || {
        let mut all = world(&sandbox);
        // Objects stay until git collects them, and the last message and the index are git's.
        all.retain(|path, _| {
            let git = sandbox.repo.join(".git");
            let linked = git.join("worktrees/linked");
            let below = |name: &str| {
                let path = Path::new(path);
                path.starts_with(git.join(name)) || path.starts_with(linked.join(name))
            };
            let of_git = [
                "objects",
                "logs",
                "index",
                "COMMIT_EDITMSG",
                "ORIG_HEAD",
                "gc.log",
            ];
            !of_git.into_iter().any(below)
                && !path.ends_with("/launches")
                && !path.contains("/packet.")
        });
        all
    };
    let before = state();
    sandbox.arkaint(["init"]).expect(0);
    let work = |folder: &Path, branch: &str| {
        let at = |words: &[&str]| in_folder(&sandbox, folder, words).expect(0);
        let script = format!(
            "git switch -q -c {branch}; printf '[checkpoint]\\ntest = \"make test\"\\n\\n[agent]\\nname = \"command\"\\ncommand = [\"sh\", \"{}\"]\\n' >arkaint.toml
             git add arkaint.toml; git commit -qm configure",
            sandbox.agent_script().display()
        );
        let made = sandbox
            .command("bash")
            .args(["-euc", &script])
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        at(&["cycle", "make work.txt"]);
        fs::write(folder.join("junk.txt"), "junk\n").unwrap();
        at(&["rollback"]);
    };
    let linked = sandbox.repo.with_file_name("linked");
    work(&sandbox.repo, "arkaint/work");
    work(&linked, "arkaint/linked");

    let ran = sandbox.arkaint(["init", "--undo"]).expect(0);
    assert!(ran.stderr.contains("--undo --purge"), "{}", ran.stderr);
    assert!(sandbox.exists(".arkaint") && linked.join(".arkaint").is_dir());
    assert_ne!(sandbox.git(["for-each-ref", "refs/arkaint"]), "");
    sandbox.arkaint(["log", "--verify"]).expect(0);
    sandbox.arkaint(["init", "--purge"]).expect(2);

    let ran = sandbox.arkaint(["init", "--undo", "--purge"]).expect(0);
    assert!(
        ran.stderr
            .contains("refs/arkaint/: removed, what was put away"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.git(["for-each-ref", "refs/arkaint"]), "");
    assert_ne!(sandbox.git(["for-each-ref", "refs/notes"]), "");
    sandbox.arkaint(["init", "--undo", "--ledger"]).expect(0);
    // The branches are the user's to delete; everything else is as it was.
    sandbox.sh("git switch -q main; git branch -q -D arkaint/work; git -C ../linked switch -q linked; git branch -q -D arkaint/linked");
    // git 2.39 leaves the file of packed refs with its heading alone when it deletes a ref.
    sandbox.sh("if [ -e .git/packed-refs ] && ! grep -qv '^#' .git/packed-refs; then rm .git/packed-refs; fi");
    assert_same(&before, &state());
    assert_eq!(
        sandbox.git(["for-each-ref", "--format=%(refname)"]),
        "refs/heads/linked\nrefs/heads/main"
    );
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn nothing_is_purged_while_a_run_needs_it() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.sh("git worktree add -q -b arkaint/other ../other");
    sandbox.agent("cat >/dev/null; (cd ../other; env -u ARKAINT_RUN -u ARKAINT_DEPTH git arkaint init --undo --purge; echo $?) >~/said 2>&1; echo work >work.txt; echo 'ARKAINT: done'");
    sandbox.arkaint(["cycle", "make work.txt"]).expect(0);
    let said = fs::read_to_string(sandbox.home().join("said")).unwrap();
    assert!(
        said.contains("nothing was removed") && said.ends_with("4\n"),
        "{said}"
    );
}

/// What was cut off needs what would go.
#[test]
fn nothing_is_purged_while_something_is_open() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.sh("git worktree add -q -b arkaint/other ../other");
    let other = sandbox.repo.with_file_name("other");
    sandbox.agent("cat >/dev/null; echo work >work.txt; kill -9 $PPID; exec sleep 600");
    let at = |args: &[&str]| -> Ran {
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_git-arkaint"));
        command.current_dir(&other).args(args);
        command.output().unwrap().into()
    };
    assert_eq!(at(&["cycle", "make work.txt"]).code, None);
    let refs = sandbox.git(["for-each-ref"]);
    let refused = |word: &str| {
        for args in [
            &["init", "--undo", "--purge"][..],
            &["init", "--undo", "--ledger"],
        ] {
            let ran = sandbox.arkaint(args).expect(3);
            assert!(
                ran.stderr.contains("nothing was removed")
                    && ran.stderr.contains(word)
                    && ran.stderr.contains("hint: "),
                "{}",
                ran.stderr
            );
        }
        assert_eq!(sandbox.git(["for-each-ref"]), refs);
        assert!(other.join(".arkaint").is_dir() && sandbox.exists("arkaint.toml"));
    };
    refused("a launch was cut off in");
    fs::remove_file(
        sandbox
            .repo
            .join(".git/worktrees/other/arkaint/journal.json"),
    )
    .unwrap();
    refused("a cycle (make work.txt) was interrupted in");
    at(&["rollback"]).expect(0);
    sandbox.arkaint(["init", "--undo", "--purge"]).expect(0);
    assert!(!other.join(".arkaint").exists());
}

#[test]
fn what_git_tracks_is_not_purged_and_what_was_done_is_said_also_where_it_ends_half_way() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.arkaint(["init"]).expect(0);
    sandbox.write(".arkaint/mine/notes.md", "mine\n");
    sandbox.write(".arkaint/runs/log", "log\n");
    sandbox.sh("git add -f .arkaint/mine; git -c core.hooksPath=/dev/null commit -qm mine; git update-ref refs/arkaint/discarded/x/1 HEAD");
    sandbox.write(".git/refs/arkaint/discarded/x/1.lock", "");
    let ran = sandbox.arkaint(["init", "--undo", "--purge"]);
    assert_ne!(ran.code, Some(0));
    assert!(
        ran.stderr.contains("pre-commit: removed") && ran.stderr.contains("what was put away"),
        "{}",
        ran.stderr
    );
    fs::remove_file(sandbox.repo.join(".git/refs/arkaint/discarded/x/1.lock")).unwrap();
    let ran = sandbox.arkaint(["init", "--undo", "--purge"]).expect(0);
    assert!(
        ran.stderr
            .contains(".arkaint: kept, git tracks 1 file of it"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    assert!(!sandbox.exists(".arkaint/runs"));
}
