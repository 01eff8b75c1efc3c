//! Rollback that loses nothing: the exact stable state afterwards, and every byte of before in an archive that can be brought back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::sandbox::Sandbox;

/// The worktree is exactly what HEAD says, and HEAD is `commit`.
#[track_caller]
fn exactly(sandbox: &Sandbox, commit: &str) {
    assert_eq!(sandbox.git(["rev-parse", "HEAD"]), commit);
    assert_eq!(
        sandbox.git(["status", "--porcelain", "--untracked-files=all"]),
        ""
    );
    assert_eq!(
        sandbox.git(["write-tree"]),
        sandbox.git(["rev-parse", "HEAD^{tree}"]),
        "the index too"
    );
}

#[test]
fn every_kind_of_change_is_archived_and_undone() {
    let sandbox = Sandbox::stable();
    let commit = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.write("src/lib.txt", "one\nchanged\n");
    sandbox.write("new/deep/file with space\nand newline.txt", "new\n");
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(["add", "staged.txt"]);
    fs::remove_file(sandbox.repo.join("README.md")).unwrap();
    sandbox.sh("chmod -x tool.sh; rm link; mkdir link; echo inside > link/inside; printf 'bin\\0ary' > blob.bin; mkdir -p empty/dir");
    let ran = sandbox.arkaint(["rollback"]).expect(0);
    assert!(ran.stderr.contains("rolled back to "), "{}", ran.stderr);
    exactly(&sandbox, &commit);
    assert!(!sandbox.exists("empty") && !sandbox.exists("new"));
    assert!(
        fs::symlink_metadata(sandbox.repo.join("link"))
            .unwrap()
            .is_symlink()
    );
    let archive = sandbox.archive();
    for (path, content) in [
        ("src/lib.txt", "one\nchanged"),
        ("new/deep/file with space\nand newline.txt", "new"),
        ("staged.txt", "staged"),
        ("link/inside", "inside"),
    ] {
        assert_eq!(sandbox.git(["show", &format!("{archive}:{path}")]), content);
    }
    assert!(
        sandbox
            .git(["ls-tree", &archive, "tool.sh"])
            .starts_with("100644"),
        "the mode as it was"
    );
    let record = sandbox
        .arkaint(["log", "--kind", "rollback", "--json"])
        .json();
    assert_eq!(record["records"][0]["differs"].as_array().unwrap().len(), 0);
}

#[test]
fn commits_that_were_made_stay_reachable_and_the_branch_goes_back() {
    let sandbox = Sandbox::stable();
    let commit = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.write("work.txt", "committed\n");
    sandbox.commit_all("work of an agent");
    let work = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.write("work.txt", "and more\n");
    sandbox.arkaint(["rollback"]).expect(0);
    exactly(&sandbox, &commit);
    let archive = sandbox.archive();
    sandbox.git(["merge-base", "--is-ancestor", &work, &archive]);
    sandbox.sh("git reflog expire --expire=now --all && git gc -q --prune=now");
    assert_eq!(
        sandbox.git(["show", &format!("{work}:work.txt")]),
        "committed"
    );
    assert_eq!(
        sandbox.git(["show", &format!("{archive}:work.txt")]),
        "and more"
    );
}

#[test]
fn a_widened_gitignore_hides_nothing_from_the_archive() {
    let sandbox = Sandbox::stable();
    let commit = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.write(".gitignore", "build/\n*.log\ndata/\n*.txt\n");
    sandbox.write("data/results.csv", "precious\n");
    sandbox.write("notes.txt", "precious too\n");
    sandbox.write("self/.gitignore", "*\n");
    sandbox.write("self/hidden.bin", "hidden\n");
    sandbox.write("build/out.o", "ignored by the stable rules\n");
    sandbox.write("trace.log", "ignored too\n");
    sandbox.arkaint(["rollback"]).expect(0);
    exactly(&sandbox, &commit);
    let archive = sandbox.archive();
    for path in [
        "data/results.csv",
        "notes.txt",
        "self/hidden.bin",
        "self/.gitignore",
    ] {
        sandbox.git(["cat-file", "-e", &format!("{archive}:{path}")]);
        assert!(!sandbox.exists(path), "{path}");
    }
    assert!(
        sandbox.exists("build/out.o") && sandbox.exists("trace.log"),
        "what the stable rules ignore is never removed"
    );
}

/// A file that was added although a rule ignores it, and is taken out of the index again, is known to no list of git's.
#[test]
fn what_is_ignored_and_stands_where_the_checkpoint_has_something_is_archived_first() {
    let sandbox = Sandbox::ready("false");
    sandbox.sh("echo '*.log' >.gitignore; mkdir -p d.log; echo old >x.log; echo old >d.log/in; echo old >f.log; git add -f .");
    sandbox.arkaint(["checkpoint", "-q"]).expect(0);
    sandbox.sh("git rm -rq --cached '*.log'; echo precious >x.log; rm -r d.log; echo precious2 >d.log; rm f.log; mkdir f.log; echo precious3 >f.log/deep; git commit -qm untracked");
    sandbox.arkaint(["rollback"]).expect(0);
    for (path, old) in [
        ("x.log", "old\n"),
        ("d.log/in", "old\n"),
        ("f.log", "old\n"),
    ] {
        assert_eq!(sandbox.read(path), old);
    }
    let archive = sandbox.archive();
    for (path, work) in [
        ("x.log", "precious"),
        ("d.log", "precious2"),
        ("f.log/deep", "precious3"),
    ] {
        assert_eq!(sandbox.git(["show", &format!("{archive}:{path}")]), work);
    }
}

#[test]
fn a_narrowed_gitignore_removes_nothing_that_the_stable_rules_ignore() {
    let sandbox = Sandbox::stable();
    sandbox.write("build/out.o", "mine\n");
    sandbox.write(".gitignore", "");
    sandbox.arkaint(["rollback"]).expect(0);
    assert_eq!(sandbox.read("build/out.o"), "mine\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn bits_of_the_index_hide_nothing() {
    let sandbox = Sandbox::stable();
    let commit = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.write("src/lib.txt", "assumed\n");
    sandbox.git(["update-index", "--assume-unchanged", "src/lib.txt"]);
    sandbox.write("README.md", "skipped\n");
    sandbox.git(["update-index", "--skip-worktree", "README.md"]);
    sandbox.arkaint(["rollback"]).expect(0);
    exactly(&sandbox, &commit);
    assert_eq!(sandbox.read("src/lib.txt"), "one\ntwo\n");
    assert_eq!(sandbox.read("README.md"), "# project\n");
    let archive = sandbox.archive();
    assert_eq!(
        sandbox.git(["show", &format!("{archive}:src/lib.txt")]),
        "assumed"
    );
    assert_eq!(
        sandbox.git(["show", &format!("{archive}:README.md")]),
        "skipped"
    );
}

#[test]
fn planted_configuration_runs_nothing() {
    let sandbox = Sandbox::stable();
    let pwned = sandbox.home().join("pwned");
    let plant = format!("touch {}", pwned.display());
    sandbox.write(".gitattributes", "* filter=evil diff=evil\n");
    sandbox.write("src/lib.txt", "changed\n");
    sandbox.write("new.txt", "new\n");
    for key in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "diff.external",
        "core.fsmonitor",
        "core.pager",
        "gpg.program",
    ] {
        sandbox.git(["config", "--file", ".git/config", key, &plant]);
    }
    sandbox.write_exec(".git/hooks/post-checkout", &format!("#!/bin/sh\n{plant}\n"));
    sandbox.write_exec(
        ".git/hooks/reference-transaction",
        &format!("#!/bin/sh\n{plant}\n"),
    );
    // What an operator starts with planted filters is theirs: the guard's case is the run between (tests/it/cycle/rules.rs).
    let toml = sandbox.read("arkaint.toml");
    assert!(toml.contains("[checkpoint]"));
    sandbox.sh("git config --file .git/config --unset filter.evil.clean; git config --file .git/config --unset filter.evil.smudge");
    sandbox.arkaint(["rollback"]).expect(0);
    assert!(!pwned.exists(), "nothing planted ran");
}

#[test]
fn crlf_and_filters_come_back_as_they_were_checked_out() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.write(".gitattributes", "*.txt text eol=crlf\n*.up filter=upper\n");
    sandbox.git(["config", "filter.upper.clean", "tr a-z A-Z"]);
    sandbox.git(["config", "filter.upper.smudge", "tr A-Z a-z"]);
    sandbox.write("dos.txt", "one\r\ntwo\r\n");
    sandbox.write("word.up", "hello\n");
    sandbox.arkaint(["checkpoint"]).expect(0);
    assert_eq!(sandbox.git(["show", "HEAD:word.up"]), "HELLO");
    sandbox.write("dos.txt", "changed\r\n");
    sandbox.write("word.up", "changed\n");
    let ran = sandbox.arkaint(["rollback"]).expect(0);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    assert_eq!(sandbox.read("dos.txt"), "one\r\ntwo\r\n");
    assert_eq!(sandbox.read("word.up"), "hello\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    assert_eq!(
        sandbox.git(["show", &format!("{}:dos.txt", sandbox.archive())]),
        "changed\r",
        "the archive holds the very bytes"
    );
}

#[test]
fn a_damaged_stable_checkpoint_rolls_nothing_back() {
    let sandbox = Sandbox::stable();
    sandbox.write("src/lib.txt", "work\n");
    let blob = sandbox.git(["rev-parse", "HEAD:src/lib.txt"]);
    fs::remove_file(
        sandbox
            .repo
            .join(format!(".git/objects/{}/{}", &blob[..2], &blob[2..])),
    )
    .unwrap();
    let ran = sandbox.arkaint(["rollback"]).expect(3);
    assert!(
        ran.stderr.contains("nothing was rolled back"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.read("src/lib.txt"), "work\n");
}

#[test]
fn restore_brings_everything_or_some_paths_back_and_loses_nothing_itself() {
    let sandbox = Sandbox::stable();
    sandbox.write("a.txt", "a\n");
    sandbox.write("dir/b.txt", "b\n");
    fs::remove_file(sandbox.repo.join("README.md")).unwrap();
    sandbox.arkaint(["rollback"]).expect(0);
    let id = sandbox.arkaint(["discarded", "list", "--json"]).json()["discarded"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let shown = sandbox.arkaint(["discarded", "show", &id]).expect(0).stdout;
    assert_eq!(shown, "D README.md\nA a.txt\nA dir/b.txt\n");
    assert!(
        sandbox
            .arkaint(["discarded", "diff", &id])
            .expect(0)
            .stdout
            .contains("+b\n")
    );
    // Some paths, over a file that is there: what was there is archived first.
    sandbox.write("dir/b.txt", "newer\n");
    sandbox
        .arkaint(["discarded", "restore", &id, "--", "dir"])
        .expect(0);
    assert_eq!(sandbox.read("dir/b.txt"), "b\n");
    assert!(!sandbox.exists("a.txt") && sandbox.exists("README.md"));
    assert_eq!(
        sandbox.git(["show", &format!("{}:dir/b.txt", sandbox.archive())]),
        "newer"
    );
    sandbox.arkaint(["discarded", "restore", &id]).expect(0);
    assert!(sandbox.exists("a.txt") && !sandbox.exists("README.md"));
    sandbox
        .arkaint(["discarded", "restore", &id, "--branch", "arkaint/back"])
        .expect(0);
    assert_eq!(sandbox.git(["show", "arkaint/back:a.txt"]), "a");
    let ran = sandbox
        .arkaint(["discarded", "restore", "nobody"])
        .expect(2);
    assert!(
        ran.stderr.contains("git arkaint discarded list"),
        "{}",
        ran.stderr
    );
}

#[test]
fn report_opencode_32529_nothing_to_undo_touches_nothing() {
    // https://github.com/anomalyco/opencode/issues/32529
    let sandbox = Sandbox::stable();
    let stamp = |path: &str| {
        fs::metadata(sandbox.repo.join(path))
            .unwrap()
            .modified()
            .unwrap()
    };
    let before = (
        stamp("src/lib.txt"),
        stamp("README.md"),
        stamp(".git/index"),
    );
    sandbox.arkaint(["rollback"]).expect(0);
    assert_eq!(
        (
            stamp("src/lib.txt"),
            stamp("README.md"),
            stamp(".git/index")
        ),
        before
    );
}

#[test]
fn report_copilot_cli_1675_ignored_output_of_before_is_never_touched() {
    // https://github.com/github/copilot-cli/issues/1675
    let sandbox = Sandbox::stable();
    sandbox.write("build/big.bin", "output of hours\n");
    sandbox.write("junk.txt", "junk\n");
    sandbox.arkaint(["rollback"]).expect(0);
    assert_eq!(sandbox.read("build/big.bin"), "output of hours\n");
    assert!(!sandbox.exists("junk.txt"));
}

#[test]
fn a_linked_worktree_rolls_back_alone() {
    let sandbox = Sandbox::stable();
    sandbox.git(["worktree", "add", "-q", "-b", "arkaint/linked", "../linked"]);
    let linked = sandbox.repo.parent().unwrap().join("linked");
    fs::write(linked.join("junk.txt"), "junk\n").unwrap();
    sandbox.write("main-work.txt", "mine\n");
    sandbox
        .arkaint(["-C", linked.to_str().unwrap(), "rollback"])
        .expect(0);
    assert!(!linked.join("junk.txt").exists());
    assert_eq!(sandbox.read("main-work.txt"), "mine\n");
}

/// A folder of the stable state is a link now, to a repository of somebody else's: nothing there is moved, opened or written.
#[test]
fn what_lies_behind_a_link_is_not_in_the_worktree() {
    let sandbox = Sandbox::ready("\"true\"");
    for path in ["dir/sub/a", "dir/nested/b", "dir/z"] {
        sandbox.write(path, "stable\n");
    }
    sandbox.arkaint(["checkpoint", "-q"]).expect(0);
    // Theirs has folders of the same names, one of them a repository, and one that may not be written.
    let other = sandbox.home().join("other");
    sandbox.sh(
        "git init -q ~/other; mkdir ~/other/sub ~/other/nested; git init -q ~/other/nested; git -C ~/other/nested commit -q --allow-empty -m theirs
         echo theirs >~/other/sub/a; echo theirs >~/other/z; chmod 500 ~/other/sub",
    );
    let theirs = crate::files::below(&other, |_| false);
    for as_a_link in [false, true] {
        if as_a_link {
            // The work committed one in there before.
            sandbox.sh("rm -r dir/nested; git init -q dir/nested; git -C dir/nested commit -q --allow-empty -m x; git -c advice.addEmbeddedRepo=false add -A; git commit -qm link");
        }
        sandbox.sh("rm -rf dir; ln -s ~/other dir; echo work >work");
        let ran = sandbox.arkaint(["rollback"]).expect(0);
        assert!(!ran.stderr.contains("was moved to"), "{}", ran.stderr);
        assert_eq!(crate::files::below(&other, |_| false), theirs);
        let mode = other.join("sub").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o500);
        assert_eq!(sandbox.read("dir/nested/b"), "stable\n");
        assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    }
    sandbox.sh("chmod 700 ~/other/sub");
}

/// A link that was staged and whose repository is gone, beside a repository that `git add` refuses.
#[test]
fn a_repository_that_is_gone_is_not_looked_for() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.write("dir/a", "stable\n");
    sandbox.arkaint(["checkpoint", "-q"]).expect(0);
    sandbox.sh(
        "rm dir/a; git init -q dir/a; git -C dir/a commit -q --allow-empty -m x; git -c advice.addEmbeddedRepo=false add -f dir; rm -r dir
         git init -q unborn; echo x >unborn/x",
    );
    sandbox.arkaint(["rollback"]).expect(0);
    assert_eq!(sandbox.read("dir/a"), "stable\n");
    assert_eq!(sandbox.read("unborn/x"), "x\n");
}

/// The name is no UTF-8, and what was moved aside before the refusal goes back under it.
#[test]
fn what_was_moved_aside_is_back_where_it_was_after_a_refusal() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.sh("printf x >$(printf 'f\\377'); echo stable >other");
    sandbox.arkaint(["checkpoint", "-q"]).expect(0);
    sandbox.sh(
        "rm $(printf 'f\\377'); mkfifo $(printf 'f\\377'); echo work >other
         b=$(git rev-parse HEAD:other); f=.git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-); chmod +w $f; printf garbage >$f",
    );
    let ran = sandbox.arkaint(["rollback"]).expect(3);
    assert!(
        ran.stderr.contains("nothing was rolled back"),
        "{}",
        ran.stderr
    );
    sandbox.sh("test -p $(printf 'f\\377'); test \"$(cat other)\" = work");
}
