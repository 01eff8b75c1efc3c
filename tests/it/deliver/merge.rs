//! The merge of what the gate let through, and of nothing else; and when it cannot be done, nothing is changed.

use super::*;
use crate::gate::bytes_below;

fn deliver(sandbox: &Sandbox, words: &[&str]) -> Ran {
    sandbox.arkaint([&["deliver", "--merge"], words].concat())
}

/// No worktree of ours is left, on disk or in git's books.
#[track_caller]
fn nothing_left(sandbox: &Sandbox, worktrees: usize) {
    let listed = sandbox.git(["worktree", "list", "--porcelain"]);
    let count = listed
        .lines()
        .filter(|l| l.starts_with("worktree "))
        .count();
    assert_eq!(count, worktrees, "{listed}");
    let folder = sandbox.repo.join(".git/arkaint/merge");
    if folder.exists() {
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    }
}

/// It is refused by `cause`, and neither the base nor a file of the worktree is changed.
#[track_caller]
fn refused(sandbox: &Sandbox, words: &[&str], cause: &str) -> Ran {
    let branches = sandbox.git(["for-each-ref", "refs/heads"]);
    let worktrees = sandbox.git(["worktree", "list"]).lines().count();
    let files = || {
        let mut files = bytes_below(&sandbox.repo);
        files.retain(|path, _| !path.starts_with(".git"));
        files
    };
    let before = files();
    let no = deliver(sandbox, words).expect(3);
    assert!(no.stderr.contains(cause), "{}", no.stderr);
    assert!(no.stderr.contains("\nhint: "), "{}", no.stderr);
    assert_eq!(sandbox.git(["for-each-ref", "refs/heads"]), branches);
    assert!(files() == before, "a file of the worktree changed");
    nothing_left(sandbox, worktrees);
    no
}

fn hook(sandbox: &Sandbox, name: &str, script: &str) {
    sandbox.write_exec(
        &format!(".git/hooks/{name}"),
        &format!("#!/bin/sh\n{script}\n"),
    );
}

#[test]
fn an_open_gate_is_merged_with_the_task_as_the_subject() {
    let sandbox = proven();
    let (head, main) = (rev(&sandbox, "HEAD"), rev(&sandbox, "main"));
    let ran = deliver(&sandbox, &[]).expect(0);
    let made = rev(&sandbox, "main");
    assert!(
        ran.stderr
            .contains(&format!("merged into main as {}", &made[..12])),
        "{}",
        ran.stderr
    );
    assert_eq!(
        sandbox.git(["log", "-1", "--format=%P", "main"]),
        format!("{main} {head}")
    );
    let digest = judged_contract(&sandbox);
    assert_eq!(
        sandbox.git(["log", "-1", "--format=%B", "main"]),
        format!(
            "Accept trailing commas\n\nMerged from arkaint/work at {}; the gate was open (git arkaint deliver).\n\nArkaint-Delivered: {head}\nArkaint-Contract: {digest}\n",
            &head[..12]
        )
    );
    assert_eq!(
        sandbox
            .git([
                "log",
                "-1",
                "--format=%(trailers:key=Arkaint-Delivered,valueonly)",
                "main"
            ])
            .trim(),
        head
    );
    // The branch and its worktree are as they were.
    assert_eq!(rev(&sandbox, "HEAD"), head);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    nothing_left(&sandbox, 1);
    assert!(sandbox.git(["reflog", "main"]).contains("arkaint: deliver"));
}

fn judged_contract(sandbox: &Sandbox) -> String {
    let records = records(sandbox, "contract");
    records[0]["digest"].as_str().unwrap().to_owned()
}

#[test]
fn squashed_or_not_at_all() {
    let sandbox = proven();
    let (tree, main) = (rev(&sandbox, "HEAD^{tree}"), rev(&sandbox, "main"));
    deliver(&sandbox, &["--squash"]).expect(0);
    assert_eq!(sandbox.git(["log", "-1", "--format=%P", "main"]), main);
    assert_eq!(rev(&sandbox, "main^{tree}"), tree);
    let message = sandbox.git(["log", "-1", "--format=%B", "main"]);
    assert!(
        message.starts_with("Accept trailing commas\n\nSquashed from arkaint/work at "),
        "{message}"
    );
    nothing_left(&sandbox, 1);
    let sandbox = proven();
    let head = rev(&sandbox, "HEAD");
    deliver(&sandbox, &["--ff"]).expect(0);
    assert_eq!(rev(&sandbox, "main"), head);
    // Where the base moved on there is nothing to forward.
    let sandbox = proven();
    move_main(&sandbox);
    let (head, main) = (rev(&sandbox, "HEAD"), rev(&sandbox, "main"));
    deliver(&sandbox, &["--ff"]).expect(0);
    assert_eq!(
        sandbox.git(["log", "-1", "--format=%P", "main"]),
        format!("{main} {head}")
    );
    nothing_left(&sandbox, 1);
    // The squash of a base that moved on holds both.
    let sandbox = proven();
    move_main(&sandbox);
    deliver(&sandbox, &["--squash"]).expect(0);
    assert_eq!(
        sandbox.git(["ls-tree", "-r", "--name-only", "main"]),
        "README.md\narkaint.toml\nbeside.txt\nsrc/list.rs"
    );
}

/// A commit on `main` that is nobody's business here, without checking it out.
fn move_main(sandbox: &Sandbox) {
    let place = sandbox.home().join("beside");
    sandbox.sh(&format!(
        "git worktree add -q {p} main; cd {p}; echo beside >beside.txt; git add -A; git commit -qm beside; cd -; git worktree remove {p}",
        p = place.display()
    ));
}

#[test]
fn a_gate_that_is_not_open_merges_nothing() {
    let closed = asked("", ONE);
    let held = proven();
    work(&held, "scripts/build.sh");
    verify(&held, PASSED);
    let waiting = proven();
    waiting.write("README.md", "# other\n");
    for (sandbox, code) in [(&closed, 1), (&held, 3), (&waiting, 3)] {
        let main = rev(sandbox, "main");
        for words in [[].as_slice(), &["--squash"], &["--ff"]] {
            deliver(sandbox, words).expect(code);
            assert_eq!(rev(sandbox, "main"), main);
            nothing_left(sandbox, 1);
        }
    }
}

#[test]
fn a_base_that_moves_on_meanwhile_is_judged_again() {
    let sandbox = proven();
    // Somebody pushes between the judgement and the merge: while git makes it.
    let script = "unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE
cd \"$HOME/../repo\"
new=$(git commit-tree -p main -m raced 'main^{tree}')
git update-ref refs/heads/main $new";
    hook(&sandbox, "commit-msg", script);
    let no = deliver(&sandbox, &[]).expect(3);
    assert!(
        no.stderr.contains(
            "arkaint: main moved on since it was judged; nothing was merged\nhint: git arkaint deliver --merge again\n"
        ),
        "{}",
        no.stderr
    );
    assert_eq!(sandbox.git(["log", "-1", "--format=%s", "main"]), "raced");
    nothing_left(&sandbox, 1);
    std::fs::remove_file(sandbox.repo.join(".git/hooks/commit-msg")).unwrap();
    deliver(&sandbox, &[]).expect(0);
    assert_eq!(sandbox.git(["log", "-1", "--format=%s", "main^"]), "raced");
}

#[test]
fn a_checkout_of_the_base_follows_or_stops_it() {
    let sandbox = proven();
    let place = sandbox.home().join("main");
    let file = |name: &str| place.join(name);
    sandbox.git(["worktree", "add", "-q", place.to_str().unwrap(), "main"]);
    // Changes of somebody's there.
    std::fs::write(file("README.md"), "# mine\n").unwrap();
    refused(&sandbox, &[], "the base is checked out in ");
    assert_eq!(
        std::fs::read_to_string(file("README.md")).unwrap(),
        "# mine\n"
    );
    std::fs::write(file("README.md"), "# project\n").unwrap();
    // An untracked file where a new one would go.
    std::fs::create_dir(file("src")).unwrap();
    std::fs::write(file("src/list.rs"), "mine\n").unwrap();
    for words in [[].as_slice(), &["--ff"], &["--squash"]] {
        refused(&sandbox, words, "and could not follow: ");
    }
    assert_eq!(
        std::fs::read_to_string(file("src/list.rs")).unwrap(),
        "mine\n"
    );
    std::fs::remove_dir_all(file("src")).unwrap();
    // Untracked files elsewhere stay.
    std::fs::write(file("mine.txt"), "mine\n").unwrap();
    deliver(&sandbox, &[]).expect(0);
    assert_eq!(
        std::fs::read_to_string(file("src/list.rs")).unwrap(),
        "the work in src/list.rs\n"
    );
    assert_eq!(
        sandbox.git(["-C", place.to_str().unwrap(), "status", "--porcelain"]),
        "?? mine.txt"
    );
    nothing_left(&sandbox, 2);
}

#[test]
fn a_checkout_whose_times_alone_changed_follows() {
    let sandbox = asked("", ONE);
    sandbox.write("README.md", "# changed\n");
    sandbox.commit_all("change what is there");
    verify(&sandbox, PASSED);
    let place = sandbox.home().join("main");
    sandbox.git(["worktree", "add", "-q", place.to_str().unwrap(), "main"]);
    age(place.join("README.md"), -5000);
    deliver(&sandbox, &[]).expect(0);
    assert_eq!(
        std::fs::read_to_string(place.join("README.md")).unwrap(),
        "# changed\n"
    );
    assert_eq!(
        sandbox.git(["-C", place.to_str().unwrap(), "status", "--porcelain"]),
        ""
    );
}

#[test]
fn a_checkout_of_the_base_that_is_gone_is_named() {
    let sandbox = proven();
    let place = sandbox.home().join("main");
    sandbox.git(["worktree", "add", "-q", place.to_str().unwrap(), "main"]);
    std::fs::remove_dir_all(&place).unwrap();
    let no = refused(&sandbox, &[], "which is gone");
    assert!(
        no.stderr.contains("\nhint: git worktree prune\n"),
        "{}",
        no.stderr
    );
    sandbox.git(["worktree", "prune"]);
    deliver(&sandbox, &[]).expect(0);
}

#[test]
fn a_branch_is_delivered_from_the_checkout_of_its_base() {
    let sandbox = proven();
    // Judged where it was worked on, merged from where it goes to.
    sandbox.arkaint(["deliver"]).expect(0);
    sandbox.git(["switch", "-q", "main"]);
    std::fs::remove_dir_all(sandbox.repo.join(".ak-loop")).unwrap();
    deliver(&sandbox, &["arkaint/work"]).expect(0);
    assert_eq!(sandbox.read("src/list.rs"), "the work in src/list.rs\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    assert_eq!(
        sandbox.git(["log", "-1", "--format=%s"]),
        "Accept trailing commas"
    );
}

#[test]
fn a_hook_that_says_no_or_changes_files_stops_it() {
    let sandbox = proven();
    for (name, words) in [
        ("pre-merge-commit", [].as_slice()),
        ("commit-msg", &[]),
        ("prepare-commit-msg", &[]),
        ("post-checkout", &[]),
        ("pre-commit", &["--squash"]),
        ("commit-msg", &["--squash"]),
    ] {
        hook(&sandbox, name, "echo 'not on a Friday' >&2; exit 1");
        let no = refused(&sandbox, words, "not on a Friday");
        assert!(
            no.stderr
                .contains("nothing was merged\nhint: mend what git or a hook says"),
            "{name}: {}",
            no.stderr
        );
        std::fs::remove_file(sandbox.repo.join(".git/hooks").join(name)).unwrap();
    }
    // A commit made with other files, and one that is made anew afterwards.
    let cause = "the merge came out with other files than were judged";
    hook(
        &sandbox,
        "pre-commit",
        "echo more >>src/list.rs; git add src/list.rs",
    );
    refused(&sandbox, &["--squash"], cause);
    hook(
        &sandbox,
        "post-merge",
        "git update-ref HEAD $(git commit-tree -p HEAD^1 -p HEAD^2 -m other 'HEAD^1^{tree}')",
    );
    refused(&sandbox, &[], cause);
    // Where the base moved on as well.
    move_main_quietly(&sandbox);
    refused(&sandbox, &[], cause);
    refused(&sandbox, &["--squash"], cause);
    std::fs::remove_file(sandbox.repo.join(".git/hooks/post-merge")).unwrap();
    // A hook that looks on is let.
    let looks = "touch \"$HOME/looked\"";
    hook(&sandbox, "pre-merge-commit", looks);
    deliver(&sandbox, &[]).expect(0);
    assert!(sandbox.home().join("looked").exists());
}

/// A commit on `main` that no hook sees.
fn move_main_quietly(sandbox: &Sandbox) {
    sandbox.sh(
        "export GIT_INDEX_FILE=$HOME/index; git read-tree main
         git update-index --add --cacheinfo 100644,$(echo beside | git hash-object -w --stdin),beside.txt
         git update-ref refs/heads/main $(git commit-tree -p main -m beside $(git write-tree))",
    );
}

#[test]
fn a_base_that_is_no_branch_here_is_refused() {
    let sandbox = proven();
    sandbox.sh("git init -q --bare \"$HOME/remote\"; git remote add origin \"$HOME/remote\"; git push -q origin main; git fetch -q");
    let no = refused(
        &sandbox,
        &["--base", "origin/main"],
        "the base origin/main is no branch of this repository",
    );
    assert!(
        no.stderr
            .contains("hint: git arkaint deliver --merge --base main, then push it"),
        "{}",
        no.stderr
    );
}

#[test]
fn what_was_delivered_is_not_delivered_twice() {
    let sandbox = proven();
    deliver(&sandbox, &[]).expect(0);
    let main = rev(&sandbox, "main");
    let no = deliver(&sandbox, &[]).expect(3);
    assert!(no.stderr.contains("empty delta"), "{}", no.stderr);
    assert_eq!(rev(&sandbox, "main"), main);
}

#[test]
fn arkaints_own_hooks_let_through_what_a_person_approved() {
    for words in [[].as_slice(), &["--squash"], &["--ff"]] {
        let sandbox = asked("", ONE);
        sandbox.arkaint(["hooks", "install"]).expect(0);
        sandbox.write("scripts/build.sh", "echo build\n");
        sandbox.commit_all("touch a protected path");
        verify(&sandbox, PASSED);
        refused(
            &sandbox,
            words,
            "protected paths: changed: scripts/build.sh",
        );
        let head = rev(&sandbox, "HEAD");
        sandbox.arkaint(["contract", "approve", &head]).expect(0);
        deliver(&sandbox, words).expect(0);
        assert_eq!(
            rev(&sandbox, "main:scripts/build.sh"),
            rev(&sandbox, "HEAD:scripts/build.sh")
        );
        nothing_left(&sandbox, 1);
    }
}
