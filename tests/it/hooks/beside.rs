//! Hooks of others: they run first with all that git gave them, and no tool silences another.

use super::matrix::{TABLE, Theirs};
use super::{Bench, State, assert_same, git_dir_state, gits};

/// report_lefthook_508, report_lefthook_511, report_beads_3208.
#[test]
fn the_hook_that_was_there_runs_first_with_everything_it_needs() {
    for git in gits() {
        let bench = Bench::new(&git);
        let hooks = bench.folder().join(".git/hooks");
        bench.ok(
            "cat >.git/hooks/pre-push <<'END'
#!/bin/sh
# report B3: it reads a file that stands beside it
cat \"$(dirname \"$0\")/beside\" >>ran
printf '%s\\n' \"$#\" \"$@\" >>ran
cat >stdin
env | grep -c '^GIT_' >>ran || true
END
             echo beside >.git/hooks/beside; chmod +x .git/hooks/pre-push
             git init -q --bare ../remote.git; git remote add origin ../remote.git
             echo ran >>.git/info/exclude; echo stdin >>.git/info/exclude
             git push -q origin main 2>/dev/null; mv ran ../ran-alone; mv stdin ../stdin-alone; rm -rf ../remote.git; git init -q --bare ../remote.git
             rm -f ran stdin; git arkaint -q hooks install; git push -q origin main",
        );
        assert!(hooks.join("pre-push.arkaint-prev").exists());
        bench.ok("cmp ran ../ran-alone; cmp stdin ../stdin-alone; test -s stdin");

        // report_evilmartians_lefthook_508, 511: bytes, not text; and it sees them before the guard does.
        bench.ok("printf 'refs/heads/\\377 x\\0y\\nno newline at the end' >../odd");
        bench
            .run("git arkaint hook run pre-push -- 'a b' '' <../odd")
            .expect(1);
        bench.ok("cmp stdin ../odd; grep -qx 'a b' ran");
    }
}

/// Hooks that are one program under many names: husky 4 and overcommit do nothing where their name is another.
#[test]
fn a_hook_that_asks_for_its_name_is_told_the_one_that_git_gave_it() {
    let bench = Bench::guarded(&gits()[0]);
    for (what, set_up) in [
        (
            "husky 4",
            r#"printf '#!/bin/sh\n. "$(dirname "$0")/husky.sh"\n' >.git/hooks/pre-commit; echo 'echo "$(basename "$0")" >~/name' >.git/hooks/husky.sh"#,
        ),
        (
            "by the shell",
            r#"printf '#!/bin/sh\necho "${0##*/}" >~/name\n' >.git/hooks/pre-commit"#,
        ),
        (
            "one program, linked",
            r#"printf '#!/bin/sh\necho "$(echo "$0" | sed s,.*/,,)" >~/name\n' >.git/hooks/all; ln -s all .git/hooks/pre-commit; chmod +x .git/hooks/all"#,
        ),
        (
            "of another language",
            r##"printf '#!/usr/bin/env python3\nimport os, sys\nopen(os.path.expanduser("~/name"), "w").write(os.path.basename(sys.argv[0]) + "\\n")\n' >.git/hooks/pre-commit"##,
        ),
        (
            "and where it is",
            r#"printf '#!/bin/sh\ncd "$(dirname "$0")/.." && test -f HEAD && test -d objects && basename "$0" >~/name\n' >.git/hooks/pre-commit"#,
        ),
    ] {
        bench.ok(&format!(
            "git arkaint -q hooks uninstall; rm -f .git/hooks/pre-commit .git/hooks/all ~/name; {set_up}; chmod +x .git/hooks/pre-commit
             git arkaint -q hooks install; git commit -q --allow-empty -m x"
        ));
        assert_eq!(bench.ok("cat ~/name"), "pre-commit\n", "{what}");
        bench.ok("! ls -d .git/hooks.arkaint* 2>/dev/null");
    }
}

#[test]
fn the_previous_hook_decides_as_git_would_let_it() {
    let bench = Bench::guarded(&gits()[0]);
    let install = |script: &str, mode: &str| {
        bench.ok(&format!(
            "git arkaint -q hooks uninstall; rm -f .git/hooks/pre-commit
             cat >.git/hooks/pre-commit <<'END'\n{script}\nEND
             chmod {mode} .git/hooks/pre-commit; git arkaint -q hooks install"
        ));
    };
    for (what, script, mode, code) in [
        ("passes", "#!/bin/sh\nexit 0", "755", 0),
        ("refuses", "#!/bin/sh\nexit 1", "755", 1),
        ("refuses with 3", "#!/bin/sh\nexit 3", "755", 1),
        (
            "is not found inside",
            "#!/bin/sh\nno-such-program-at-all",
            "755",
            1,
        ),
        ("dies of a signal", "#!/bin/sh\nkill -9 $$", "755", 1),
        (
            "has no interpreter line",
            "test -n \"$GIT_INDEX_FILE\"",
            "755",
            0,
        ),
        ("cannot be run: CRLF", "#!/bin/sh\r\nexit 0\r", "755", 1),
        ("is not executable", "#!/bin/sh\nexit 1", "644", 0),
        (
            "is of another language",
            "#!/usr/bin/env perl\nexit 0;",
            "755",
            0,
        ),
    ] {
        install(script, mode);
        let ran = bench.run("git commit -q --allow-empty -m x");
        assert_eq!(ran.code, Some(code), "{what}: {}", ran.stderr);
    }
    // The guard judges what the hook left behind.
    install(
        "#!/bin/sh\necho n >>scripts/build.sh; git add scripts/build.sh",
        "755",
    );
    let ran = bench.run("echo n >>src/a; git commit -qam x").expect(1);
    assert!(ran.stderr.contains("M scripts/build.sh"), "{}", ran.stderr);
    bench.ok("git reset -q --hard");
    // One that calls us again is run once.
    install(
        "#!/bin/sh\necho once >>ran\ngit arkaint hook run pre-commit -- \"$@\"",
        "755",
    );
    bench.ok("echo ran >>.git/info/exclude; rm -f ran; git commit -q --allow-empty -m x; test \"$(cat ran)\" = once");
}

#[test]
fn hooks_that_other_tools_moved_are_found() {
    let bench = Bench::guarded(&gits()[0]);
    let before = git_dir_state(&bench);
    // pre-commit and prek: ours becomes `.legacy`, which their hook runs.
    bench.ok(
        "cd .git/hooks; mv pre-commit pre-commit.legacy
         printf '#!/bin/sh\\n# File generated by pre-commit: ...\\nexec \"$(dirname \"$0\")/pre-commit.legacy\" \"$@\"\\n' >pre-commit; chmod +x pre-commit",
    );
    bench.ok("git arkaint hooks status --probe | grep -q legacy; git arkaint hooks install");
    assert!(
        !bench
            .folder()
            .join(".git/hooks/pre-commit.arkaint-prev")
            .exists()
    );
    bench
        .run("echo n >>scripts/build.sh; git commit -qam x")
        .expect(1);
    bench.ok("git reset -q --hard; git arkaint -q hooks uninstall; ls .git/hooks; (! ls .git/hooks/*.legacy); grep -q generated .git/hooks/pre-commit");
    bench.ok("rm .git/hooks/pre-commit; git arkaint -q hooks install");

    // lefthook: ours becomes `.old`, which nothing runs.
    bench.ok("cd .git/hooks; mv pre-commit pre-commit.old; printf '#!/bin/sh\\n# lefthook\\necho theirs >>\"$(git rev-parse --git-dir)/ran\"\\n' >pre-commit; chmod +x pre-commit");
    let status = bench.run("git arkaint hooks status").expect(1);
    assert!(
        status.stdout.contains("pre-commit.old")
            && status.stdout.contains("mend: git arkaint hooks install"),
        "{}",
        status.stdout
    );
    bench.run("git arkaint hooks status --probe").expect(1);
    bench.ok("rm -f .git/ran; git arkaint -q hooks install; git arkaint -q hooks status --probe; git commit -q --allow-empty -m x; test \"$(cat .git/ran)\" = theirs; test ! -e .git/hooks/pre-commit.old");
    // It does so again when it next writes itself, with the same text.
    bench.ok("cd .git/hooks; mv pre-commit pre-commit.old; cp -p pre-commit.arkaint-prev pre-commit; git arkaint -q hooks install; git arkaint -q hooks status --probe");
    bench.ok("cd .git/hooks; git arkaint -q hooks uninstall; grep -q lefthook pre-commit; rm pre-commit; rm ../ran; git arkaint -q hooks install");
    let receipt = bench.folder().join(".git/arkaint/hooks.json");
    let without = |state: State| {
        state
            .into_iter()
            .filter(|(path, ..)| *path != receipt)
            .collect::<Vec<_>>()
    };
    assert_same(
        &without(git_dir_state(&bench)),
        &without(before),
        "nothing is left of it all",
    );
}

/// Real installers that come after ours; those that came first are in the matrix.
/// report_entireio_cli_228, report_entireio_cli_1250, report_husky_1431.
#[test]
fn an_installer_that_comes_later_silences_nobody() {
    let late = |tool: &Theirs| {
        !matches!(
            tool.name,
            "none" | "own hook" | ".githooks" | "global hooksPath"
        )
    };
    for theirs in TABLE.iter().filter(|theirs| late(theirs)) {
        let mut bench = Bench::new(&gits()[0]);
        let Some(path) = theirs.path(&bench) else {
            continue;
        };
        bench.path = path;
        let name = theirs.name;
        bench.ok(&format!(
            "mkdir scripts src; echo s >scripts/build.sh; echo a >src/a; git add -A; git commit -qm base; git arkaint -q hooks install\n{{ {}\n}} || test {name} = git-lfs\ngit add -A; git commit -q --allow-empty -m files",
            theirs.files
        ));
        let ran = bench.run(theirs.set_up);
        if name == "git-lfs" {
            // report_typicode_husky_1431: it writes nothing beside another hook, and says so.
            assert!(
                format!("{}{}", ran.stdout, ran.stderr).contains("Hook already exists"),
                "{ran:?}"
            );
            bench.ok("git arkaint hooks status | grep -q 'Git LFS is used'; git lfs update --force >/dev/null; git arkaint -q hooks install");
        }
        if name == "husky" {
            // report_entireio_cli_228, B1: the folder moved away under us. report_typicode_husky_849: its setting is its own.
            let status = bench.run("git arkaint hooks status --probe").expect(1);
            assert!(
                status.stdout.contains("add to .husky/pre-commit: ")
                    && status.stdout.contains("git does not look there"),
                "{}",
                status.stdout
            );
            bench.ok("git arkaint hooks uninstall; test \"$(git config core.hooksPath)\" = .husky/_; (! ls .git/hooks/*arkaint* 2>/dev/null)");
            continue;
        }
        bench.ok("git arkaint -q hooks status --probe >/dev/null || { git arkaint -q hooks install; git arkaint -q hooks status --probe >/dev/null; }");
        bench.ok(&format!("rm -f ~/theirs; echo n >>src/a; echo big >x.bin; git add -A; git commit -qm fine; test -e ~/theirs || test {name} = git-lfs"));
        bench
            .run("echo n >>scripts/build.sh; git commit -qam x")
            .expect(1);
        bench.ok(&format!(
            "git reset -q --hard; git init -q --bare ~/r.git; git push -q \"file://$HOME/r.git\" HEAD:refs/heads/one
             if test {name} = git-lfs; then test -n \"$(find ~/r.git/lfs -type f)\"; else grep -q refs/heads/one ~/theirs; fi
             git arkaint -q hooks uninstall; (! grep -rq arkaint .git/hooks .git/config)
             rm -f ~/theirs; echo n >>scripts/build.sh; git commit -qam unguarded; test -e ~/theirs || test {name} = git-lfs"
        ));
    }
}

/// lefthook writes itself again, in the middle of a commit, when its configuration names another hook: it moves ours away while ours runs.
#[test]
fn a_tool_that_writes_itself_again_during_a_commit_leaves_the_guards_in_place() {
    let theirs = TABLE.iter().find(|tool| tool.name == "lefthook").unwrap();
    let mut bench = Bench::new(&gits()[0]);
    let Some(path) = theirs.path(&bench) else {
        return;
    };
    bench.path = path;
    bench.ok(&format!(
        "mkdir scripts; echo s >scripts/build.sh; {}; cp lefthook.yml ../both.yml; sed -i '/pre-push/,$d' lefthook.yml
         git add -A; git commit -qm base; {}; git arkaint -q hooks install; git arkaint hooks status --probe",
        theirs.files, theirs.set_up
    ));
    let ran = bench
        .run("cp ../both.yml lefthook.yml; touch -d 2040-01-01 lefthook.yml; git commit -qam 'they guard pushes too'")
        .expect(0);
    assert!(
        ran.stderr.contains("Renamed") && !ran.stderr.contains("not guarded"),
        "{}",
        ran.stderr
    );
    bench.ok("git arkaint hooks status --probe; (! ls .git/hooks/*.old)");
    bench
        .run("echo n >>scripts/build.sh; git commit -qam x")
        .expect(1);
    bench.ok("git reset -q --hard; rm ~/theirs; git init -q --bare ~/r.git; git push -q ~/r.git HEAD:refs/heads/one; grep -q refs/heads/one ~/theirs");
    bench.ok("git arkaint -q hooks uninstall; (! grep -rq arkaint .git/hooks); grep -q lefthook .git/hooks/pre-commit; grep -q lefthook .git/hooks/pre-push");

    // One that only takes our place is told of.
    bench.ok("rm .git/hooks/*; printf '#!/bin/sh\\ncp \"$0\" .git/hooks/pre-commit\\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git arkaint -q hooks install");
    let ran = bench.run("git commit -q --allow-empty -m fine").expect(0);
    assert!(
        ran.stderr
            .contains("is not guarded: git arkaint hooks install"),
        "{}",
        ran.stderr
    );
    bench.ok("git arkaint -q hooks install; git arkaint hooks status --probe");
}

/// The same, started by a hook that somebody wrote by hand: that one is theirs, and stays.
#[test]
fn a_hook_written_by_hand_that_starts_such_a_tool_is_kept() {
    let bench = Bench::new(&gits()[0]);
    bench.ok(
        "cat >.git/hooks/pre-commit <<'END'
#!/bin/sh
# by hand
cd .git/hooks; mv pre-commit pre-commit.old; printf '#!/bin/sh\necho tool >>.git/ran\n' >pre-commit; chmod +x pre-commit
END
         chmod +x .git/hooks/pre-commit; git arkaint -q hooks install",
    );
    let ran = bench.run("git commit -q --allow-empty -m x").expect(0);
    assert!(
        ran.stderr.contains("pre-commit.before: it no longer runs"),
        "{}",
        ran.stderr
    );
    bench.ok("grep -q 'by hand' .git/hooks/pre-commit.before; git arkaint hooks status --probe; rm -f .git/ran; git commit -q --allow-empty -m y; test \"$(cat .git/ran)\" = tool");
}

/// Folders beside that of the hooks whose names begin like ours: what a killed hook left goes, and nothing else.
#[test]
fn of_folders_that_are_named_like_ours_those_of_links_alone_are_removed() {
    let bench = Bench::new(&gits()[0]);
    bench.ok(
        "git arkaint -q hooks install; cd .git; mkdir hooks.arkaint-left hooks.arkaint-mine hooks.arkaint-more hooks.arkaint-more/deep
         ln -s ../hooks/pre-push hooks.arkaint-left/pre-push; ln -s ../config hooks.arkaint-mine/link; echo mine >hooks.arkaint-mine/file
         ln -s hooks hooks.arkaint-link; git arkaint -q hooks uninstall
         test ! -e hooks.arkaint-left; test \"$(cat hooks.arkaint-mine/file)\" = mine; test -L hooks.arkaint-mine/link; test -d hooks.arkaint-more/deep
         test -L hooks.arkaint-link",
    );
}
