//! What an honest commit pays for the guards: processes are counted here, time is measured by `tests/ratios`.

use super::{Bench, gits};

/// git processes that a command starts, by git's own event log; without the upkeep that git starts by itself.
fn starts(bench: &Bench, command: &str) -> usize {
    let log = bench.ok(&format!(
        "rm -f ~/events; export GIT_TRACE2_EVENT=$HOME/events; {command}; unset GIT_TRACE2_EVENT; grep '\"event\":\"start\"' ~/events | grep -v maintenance"
    ));
    log.lines().count()
}

#[test]
fn an_honest_commit_starts_no_git_and_finds_the_program_without_one() {
    for git in gits() {
        let bench = Bench::guarded(&git);
        for (what, command, more) in [
            (
                "plain",
                "echo n >>src/a; git add -A; git commit -qm fine",
                1,
            ),
            ("all", "echo n >>src/a; git commit -qam fine", 0),
            ("amend", "git commit -q --amend -m fine", 0),
            ("empty", "git commit -q --allow-empty -m fine", 0),
            // The tree of some paths alone is written for the guard.
            (
                "some paths",
                "echo n >>src/a; git commit -qm fine -- src/a",
                1,
            ),
            // So it is where no tree can be read from the index.
            (
                "version 4",
                "git update-index --index-version 4; echo n >>src/a; git commit -qam fine; git update-index --index-version 2",
                3,
            ),
        ] {
            assert_eq!(
                starts(&bench, command),
                // `git commit` itself; and `git add`, or what the row says.
                1 + more,
                "{what} with {}",
                git.display()
            );
        }
        // The variable is what a shim says of its own folder, and nothing that hides a hook there.
        bench.ok("printf '#!/bin/sh\\nexit 1\\n' >.git/hooks/pre-commit.arkaint-prev; chmod +x .git/hooks/pre-commit.arkaint-prev");
        bench.run("git commit -q --allow-empty -m x").expect(1);
        bench.ok("rm .git/hooks/pre-commit.arkaint-prev");
    }
}

/// The shim reads the repository's configuration by itself where that says plainly where the program is, as git would read it.
#[test]
fn the_program_is_the_one_that_git_config_names() {
    let bench = Bench::guarded(&gits()[0]);
    bench.ok("for p in one two 'sp ace' 'semi;colon'; do mkdir -p ~/\"$p\"; printf '#!/bin/sh\\necho \"%s\" >>~/called\\nexit 0\\n' \"$p\" >~/\"$p\"/git-arkaint; chmod +x ~/\"$p\"/git-arkaint; done");
    for (what, setup, called) in [
        ("plain", "git config arkaint.bin ~/one/git-arkaint", "one"),
        (
            "the last of two",
            "git config --add arkaint.bin ~/two/git-arkaint",
            "two",
        ),
        (
            "a space",
            "git config --replace-all arkaint.bin \"$HOME/sp ace/git-arkaint\"",
            "sp ace",
        ),
        (
            "quoted",
            "git config --replace-all arkaint.bin \"$HOME/semi;colon/git-arkaint\"",
            "semi;colon",
        ),
        (
            "of the home folder",
            "git config --replace-all arkaint.bin '~/one/git-arkaint'",
            "one",
        ),
        (
            "a comment behind it",
            "printf '[arkaint]\\n\\tbin = %s/two/git-arkaint ; mine\\n' \"$HOME\" >>.git/config",
            "two",
        ),
        (
            "another section",
            "git config --unset-all arkaint.bin; git config arkaint.x.bin ~/one/git-arkaint; git config --global arkaint.bin ~/two/git-arkaint",
            "two",
        ),
        (
            "without blanks",
            "printf '[arkaint]\\nbin=%s/one/git-arkaint\\n' \"$HOME\" >>.git/config",
            "one",
        ),
        (
            "later, and in another case",
            "printf '[Arkaint]\\n\\tbin = %s/two/git-arkaint\\n' \"$HOME\" >>.git/config",
            "two",
        ),
        (
            "later, the key in another case",
            "printf '[arkaint]\\n\\tBin = %s/one/git-arkaint\\n' \"$HOME\" >>.git/config",
            "one",
        ),
        (
            "later, on the line of the section",
            "printf '[arkaint] bin = %s/two/git-arkaint\\n' \"$HOME\" >>.git/config",
            "two",
        ),
        (
            "later, without an end of the line",
            "git config --replace-all arkaint.bin ~/two/git-arkaint; printf '[arkaint]\\n\\tbin = %s/one/git-arkaint' \"$HOME\" >>.git/config",
            "one",
        ),
        (
            "continued",
            "git config --replace-all arkaint.bin ~/one/git-arkaint; printf '[x]\\n\\ta = b\\\\\\n[arkaint]\\n\\tbin = %s/two/git-arkaint\\n' \"$HOME\" >>.git/config",
            "one",
        ),
        (
            "included in capitals",
            "git config -f ~/more arkaint.bin ~/two/git-arkaint; printf '[INCLUDE]\\n\\tpath = %s/more\\n' \"$HOME\" >>.git/config",
            "two",
        ),
        (
            "included",
            "git config --replace-all arkaint.bin ~/one/git-arkaint; git config -f ~/more arkaint.bin ~/two/git-arkaint; git config include.path ~/more",
            "two",
        ),
        (
            "of the worktree",
            "git config --unset include.path; git config extensions.worktreeConfig true; git config --worktree arkaint.bin ~/two/git-arkaint",
            "two",
        ),
        (
            "of the variable",
            "export ARKAINT_BIN=$HOME/one/git-arkaint",
            "one",
        ),
    ] {
        let ran = bench
            .run(&format!(
                "{setup}; rm -f ~/called; git commit -q --allow-empty -m x; cat ~/called"
            ))
            .expect(0);
        assert_eq!(ran.stdout.trim_end(), called, "{what}");
    }
    let ran = bench.run("rm -f ~/called; git -c arkaint.bin=$HOME/one/git-arkaint commit -q --allow-empty -m x; cat ~/called").expect(0);
    assert_eq!(ran.stdout, "one\n", "on the command line");
    // A shim in a folder of the project has no configuration beside it, whatever somebody has put there.
    bench.ok("rm -f .git/config.worktree; git init -q ../plain; cp ../plain/.git/config .git/config; git config arkaint.bin ~/one/git-arkaint; git config --global --unset-all arkaint.bin || true");
    for folder in ["tools/hooks", "link"] {
        let ran = bench
            .run(&format!(
                "mkdir -p tools/hooks; cp .git/hooks/pre-commit tools/hooks/ 2>/dev/null; [ {folder} != link ] || {{ mv .git/hooks .git/was; ln -s ../tools/hooks .git/hooks; }}
                 for c in config tools/config; do printf '[arkaint]\\n\\tbin = %s/two/git-arkaint\\n' \"$HOME\" >$c; done
                 [ {folder} = link ] || git config core.hooksPath {folder}; rm -f ~/called; git commit -q --allow-empty -m x; cat ~/called
                 git config --unset core.hooksPath || true"
            ))
            .expect(0);
        assert_eq!(ran.stdout, "one\n", "{folder}");
    }
}
