//! `init`: what it writes, that it can run again, and that `--undo` leaves no byte behind.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::sandbox::{Ran, Sandbox};

/// Every file below a folder with its mode and bytes, every folder and link.
fn bytes_of(dir: &Path) -> World {
    let mut all = BTreeMap::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let bytes = if meta.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            if meta.is_dir() {
                folders.push(path.clone());
            }
            all.insert(
                path.display().to_string(),
                (meta.permissions().mode(), bytes),
            );
        }
    }
    all
}

type World = BTreeMap<String, (u32, Vec<u8>)>;

#[track_caller]
fn assert_same(before: &World, after: &World) {
    assert_same_in("", before, after);
}

#[track_caller]
fn assert_same_in(case: &str, before: &World, after: &World) {
    let text = |entry: Option<&(u32, Vec<u8>)>| {
        entry.map(|(mode, bytes)| format!("{mode:o} {}", String::from_utf8_lossy(bytes)))
    };
    for path in before.keys().chain(after.keys()) {
        assert_eq!(
            text(before.get(path)),
            text(after.get(path)),
            "{case} {path}"
        );
    }
}

fn world(sandbox: &Sandbox) -> World {
    bytes_of(sandbox.repo.parent().unwrap())
}

fn in_folder(sandbox: &Sandbox, folder: &Path, args: &[&str]) -> Ran {
    sandbox
        .command(Sandbox::bin().join("git-arkaint"))
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap()
        .into()
}

#[test]
fn a_project_is_set_up_and_one_command_is_left() {
    let sandbox = Sandbox::new();
    sandbox.write("Cargo.toml", "[package]\nname = \"x\"\n");
    let ran = sandbox.arkaint(["init"]).expect(0);
    for line in [
        "test command: cargo test (from Cargo.toml)",
        "arkaint.toml: written",
        "info/exclude: added /.arkaint/ and /.ak-loop/",
        "git config: added notes.rewriteRef=refs/notes/arkaint/*",
        "git config: added notes.rewriteMode=cat_sort_uniq",
        "git config: added notes.arkaint/ledger.mergeStrategy=cat_sort_uniq",
    ] {
        assert!(
            ran.stderr.lines().any(|l| l == line),
            "{line}\n{}",
            ran.stderr
        );
    }
    assert_eq!(
        ran.stdout,
        "git add arkaint.toml && git commit -m \"Add arkaint.toml\" -- arkaint.toml\n"
    );
    assert!(
        sandbox
            .read("arkaint.toml")
            .contains("\ntest = \"cargo test\"\n")
    );
    assert_eq!(
        sandbox.git(["config", "--local", "notes.rewriteRef"]),
        "refs/notes/arkaint/*"
    );
    assert_eq!(
        sandbox.git(["config", "--local", "notes.rewriteMode"]),
        "cat_sort_uniq"
    );
    assert_eq!(
        sandbox.git(["config", "--local", "notes.arkaint/ledger.mergeStrategy"]),
        "cat_sort_uniq"
    );
    assert_eq!(
        sandbox
            .try_git(["config", "--get-regexp", r"^remote\."])
            .stdout,
        ""
    );
    sandbox.write(".arkaint/run.log", "");
    sandbox.write(".ak-loop/plan.md", "");
    sandbox.write("deep/.arkaint/x", "");
    assert_eq!(
        sandbox.git(["status", "--porcelain", "-uall"]),
        "?? Cargo.toml\n?? arkaint.toml\n?? deep/.arkaint/x"
    );
    // The command that is left works, and then nothing is.
    sandbox.sh(&ran.stdout);
    assert_eq!(
        sandbox.git(["show", "--format=%s", "--name-only"]),
        "Add arkaint.toml\n\narkaint.toml"
    );
    let ran = sandbox.arkaint(["init"]).expect(0);
    assert_eq!(ran.stdout, "");
    assert!(
        ran.stderr
            .contains("arkaint.toml is committed: nothing is left to do"),
        "{}",
        ran.stderr
    );
    sandbox.arkaint(["status", "--config"]).expect(0);
}

#[test]
fn without_a_test_command_it_says_what_checkpoint_will_do() {
    let sandbox = Sandbox::new();
    let ran = sandbox.arkaint(["init"]).expect(0);
    assert!(
        ran.stderr.contains("test command: none found"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("warning: checkpoint refuses until 'test' is set in arkaint.toml"),
        "{}",
        ran.stderr
    );
    let file = sandbox.read("arkaint.toml");
    assert!(file.contains("\n# No test command was found in this project: set it, or checkpoint refuses.\n# test = "), "{file}");
}

#[test]
fn a_second_init_changes_no_byte_and_says_so() {
    let sandbox = Sandbox::new();
    sandbox.write("go.mod", "module x\n");
    sandbox.arkaint(["init"]).expect(0);
    sandbox.write("arkaint.toml", "[checkpoint]\ntest = \"mine\"\n");
    let before = world(&sandbox);
    let ran = sandbox.arkaint(["init"]).expect(0);
    assert_same(&before, &world(&sandbox));
    for line in [
        "arkaint.toml: already there, left as it is",
        "info/exclude: /.arkaint/ and /.ak-loop/ already there",
        "git config: notes settings already there",
    ] {
        assert!(
            ran.stderr.lines().any(|l| l == line),
            "{line}\n{}",
            ran.stderr
        );
    }
    // A committed file that was changed needs the word that opens the lock.
    sandbox.commit_all("configure");
    sandbox.write("arkaint.toml", "[checkpoint]\ntest = \"other\"\n");
    let ran = sandbox.arkaint(["init"]).expect(0);
    assert_eq!(
        ran.stdout,
        "ARKAINT_ALLOW_INFRA_EDIT=1 git commit -m \"Change arkaint.toml\" -- arkaint.toml\n"
    );
    sandbox.sh(&ran.stdout);
    assert_eq!(sandbox.git(["status", "--porcelain", "-uno"]), "");
}

#[test]
fn print_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("package.json", r#"{"scripts":{"test":"jest"}}"#);
    let before = world(&sandbox);
    let ran = sandbox.arkaint(["init", "--print"]).expect(0);
    assert_same(&before, &world(&sandbox));
    assert!(
        ran.stdout.contains("\ntest = \"npm test\"\n"),
        "{}",
        ran.stdout
    );
    toml::from_str::<toml::Table>(&ran.stdout).unwrap();
    assert!(
        ran.stderr.contains("info/exclude: would add /.arkaint/"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("git config: would add notes.rewriteRef=refs/notes/arkaint/*"),
        "{}",
        ran.stderr
    );
    // It prints the very file.
    sandbox.arkaint(["init"]).expect(0);
    assert_eq!(sandbox.read("arkaint.toml"), ran.stdout);
}

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

#[test]
fn it_works_from_a_subdirectory_and_in_a_linked_worktree() {
    let sandbox = Sandbox::new();
    sandbox.write("Cargo.toml", "");
    sandbox.write("sub/deep/x", "");
    sandbox.commit_all("project");
    let ran = in_folder(&sandbox, &sandbox.repo.join("sub/deep"), &["init"]).expect(0);
    assert!(sandbox.exists("arkaint.toml") && !sandbox.exists("sub/deep/arkaint.toml"));
    assert_eq!(
        ran.stdout,
        "git add :/arkaint.toml && git commit -m \"Add arkaint.toml\" -- :/arkaint.toml\n"
    );
    sandbox
        .command("bash")
        .args(["-euc", &ran.stdout])
        .current_dir(sandbox.repo.join("sub/deep"))
        .output()
        .unwrap();
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    sandbox.arkaint(["init", "--undo"]).expect(0);

    sandbox.git([
        "worktree",
        "add",
        "-q",
        "../linked wt",
        "-b",
        "arkaint/x",
        "HEAD~1",
    ]);
    let before = bytes_of(&sandbox.repo.join(".git"));
    let linked = sandbox.repo.join("../linked wt").canonicalize().unwrap();
    in_folder(&sandbox, &linked, &["init"]).expect(0);
    assert!(linked.join("arkaint.toml").exists());
    assert!(
        sandbox
            .read(".git/info/exclude")
            .ends_with("/.arkaint/\n/.ak-loop/\n")
    );
    assert_eq!(
        sandbox.git(["config", "--local", "notes.rewriteRef"]),
        "refs/notes/arkaint/*"
    );
    in_folder(&sandbox, &linked, &["init", "--undo"]).expect(0);
    assert!(!linked.join("arkaint.toml").exists());
    assert_same(&before, &bytes_of(&sandbox.repo.join(".git")));

    // Named with -C from elsewhere, the command that is left names the folder too.
    let ran = in_folder(
        &sandbox,
        sandbox.home(),
        &["-C", linked.to_str().unwrap(), "init"],
    )
    .expect(0);
    let git = format!("git -C '{}'", linked.display());
    assert_eq!(
        ran.stdout,
        format!("{git} add arkaint.toml && {git} commit -m \"Add arkaint.toml\" -- arkaint.toml\n")
    );
}

#[test]
fn a_repository_without_a_commit_is_fine() {
    let sandbox = Sandbox::new();
    let fresh = sandbox.home().join("fresh");
    sandbox.git(["init", "-q", fresh.to_str().unwrap()]);
    let ran = in_folder(&sandbox, &fresh, &["init"]).expect(0);
    let commit: Ran = sandbox
        .command("bash")
        .args(["-euc", &ran.stdout])
        .current_dir(&fresh)
        .output()
        .unwrap()
        .into();
    commit.expect(0);
    in_folder(&sandbox, &fresh, &["status", "--config"]).expect(0);
}

#[test]
fn refusals_name_the_command_that_helps() {
    let sandbox = Sandbox::new();
    let ran = in_folder(&sandbox, sandbox.home(), &["init"]).expect(2);
    assert!(
        ran.stderr.starts_with("arkaint: not inside a git worktree"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .lines()
            .nth(1)
            .is_some_and(|l| l.starts_with("hint: ")),
        "{}",
        ran.stderr
    );
    let before = world(&sandbox);
    let mut inside = sandbox.command(Sandbox::bin().join("git-arkaint"));
    for args in [&["init"][..], &["init", "--undo"]] {
        let ran = Ran::from(inside.args(args).env("ARKAINT_RUN", "r1").output().unwrap()).expect(2);
        assert!(ran.stderr.contains("inside a run"), "{}", ran.stderr);
        inside = sandbox.command(Sandbox::bin().join("git-arkaint"));
    }
    assert_same(&before, &world(&sandbox));
}

#[test]
fn json_tells_the_same() {
    let sandbox = Sandbox::new();
    sandbox.write("mix.exs", "");
    let json = sandbox.arkaint(["init", "--json"]).expect(0).json();
    assert_eq!(json["v"], 1);
    assert_eq!(json["test"]["command"], "mix test");
    assert_eq!(json["test"]["from"], "mix.exs");
    assert_eq!(
        json["commit"],
        "git add arkaint.toml && git commit -m \"Add arkaint.toml\" -- arkaint.toml"
    );
    let json = sandbox
        .arkaint(["init", "--undo", "--json"])
        .expect(0)
        .json();
    assert!(
        json["did"]
            .as_array()
            .unwrap()
            .iter()
            .any(|l| l == "arkaint.toml: removed"),
        "{json}"
    );
}

#[test]
fn a_file_that_is_there_and_broken_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.write("arkaint.toml", "[checkpoint]\ntset = 1\n");
    let ran = sandbox.arkaint(["init"]).expect(0);
    assert!(
        ran.stderr
            .contains("warning: arkaint.toml:2: unknown key 'checkpoint.tset'"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.read("arkaint.toml"), "[checkpoint]\ntset = 1\n");
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
