//! Installing, taking out, and the folders in which we do not write.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Bench, assert_same, git_dir_state, gits, share, snapshot};
use crate::sandbox::Sandbox;

/// report_husky_849: no setting of hooks is ours, so that none can be left behind.
#[test]
fn install_and_uninstall_leave_every_byte_as_it_was() {
    let hook = "#!/bin/sh\\nexit 0\\n";
    let table = [
        ("none", String::new()),
        ("no folder", "rm -r .git/hooks".to_owned()),
        (
            "own hook",
            format!("printf '{hook}' >.git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit"),
        ),
        (
            "own hooks, all three",
            format!(
                "for h in pre-commit pre-push pre-merge-commit; do printf '{hook}' >.git/hooks/$h; chmod 700 .git/hooks/$h; done"
            ),
        ),
        (
            "not executable",
            format!("printf '{hook}' >.git/hooks/pre-push; chmod 644 .git/hooks/pre-push"),
        ),
        (
            "a link",
            "echo x >hook.sh; chmod +x hook.sh; ln -s ../../hook.sh .git/hooks/pre-commit"
                .to_owned(),
        ),
        (
            "a link to nowhere",
            "ln -s nowhere .git/hooks/pre-commit".to_owned(),
        ),
        (
            "settings of ours",
            "git config arkaint.agent goose; git config alias.x status".to_owned(),
        ),
        (
            "the user's arkaint.bin",
            format!(
                "git config arkaint.bin {}",
                env!("CARGO_BIN_EXE_git-arkaint")
            ),
        ),
        (
            "a hooks folder of its own in the git directory",
            "mkdir .git/mine; git config core.hooksPath .git/mine".to_owned(),
        ),
        (
            "the default, set by name",
            "git config core.hooksPath \"$PWD/.git/hooks\"".to_owned(),
        ),
    ];
    for (turn, git) in gits().into_iter().enumerate() {
        for (what, setup) in share(&table, turn) {
            let bench = Bench::new(&git);
            bench.ok(setup);
            let before = git_dir_state(&bench);
            bench.ok("git arkaint -q hooks install");
            let installed = git_dir_state(&bench);
            assert!(installed != before, "{what}");
            bench.ok("git arkaint -q hooks install");
            assert_same(
                &git_dir_state(&bench),
                &installed,
                &format!("{what}: installing again changes nothing"),
            );
            bench.ok("git arkaint hooks status --probe");
            bench.ok("git arkaint hooks uninstall");
            assert_same(
                &git_dir_state(&bench),
                &before,
                &format!("{what} with {}", git.display()),
            );
            bench.ok("git arkaint hooks uninstall");
            assert_same(
                &git_dir_state(&bench),
                &before,
                &format!("{what}: a second time"),
            );
        }
    }
}

/// report_hypomnema_244.
#[test]
fn what_somebody_changed_is_kept_and_named() {
    let bench = Bench::new(&gits()[0]);
    bench.ok("git arkaint -q hooks install; echo 'echo mine' >>.git/hooks/pre-push");
    let ran = bench.run("git arkaint hooks uninstall").expect(1);
    assert!(
        ran.stderr.contains("pre-push stays: it was edited"),
        "{}",
        ran.stderr
    );
    bench.ok("tail -1 .git/hooks/pre-push | grep -qx 'echo mine'; test ! -e .git/hooks/pre-commit; (! git config arkaint.bin)");
    let before = git_dir_state(&bench);
    let ran = bench.run("git arkaint hooks install").expect(2);
    assert!(
        ran.stderr.contains("edited by hand") && ran.stderr.contains("nothing was changed"),
        "{}",
        ran.stderr
    );
    assert_same(&git_dir_state(&bench), &before, "refused");

    // Two different hooks would need the same place.
    bench.ok("rm .git/hooks/pre-push; cd .git/hooks; echo one >pre-commit; echo two >pre-commit.arkaint-prev; chmod +x pre-commit");
    let before = git_dir_state(&bench);
    let ran = bench.run("git arkaint hooks install").expect(2);
    assert!(
        ran.stderr.contains("pre-commit.arkaint-prev"),
        "{}",
        ran.stderr
    );
    assert_same(&git_dir_state(&bench), &before, "refused");
}

/// Where hooks are not ours to write: setup, what must be said, and whether a line can be added.
/// report_pre_commit_663, report_git_branchless_1328, report_daintree_11226, report_simple_git_hooks_150.
#[test]
fn folders_of_others_are_left_alone_and_the_line_to_add_works() {
    let own = "printf '#!/bin/sh\\ncat >>\"$(git rev-parse --git-common-dir)/theirs\"\\n' | tee H/pre-commit H/pre-push >/dev/null; chmod +x H/pre-commit H/pre-push";
    let husky = "mkdir -p .husky/_; for h in pre-commit pre-merge-commit pre-push; do printf '#!/bin/sh\\n. \"$(dirname \"$0\")/h\"\\n' >.husky/_/$h; chmod +x .husky/_/$h; done
         printf 'n=$(basename \"$0\")\\ns=$(dirname \"$(dirname \"$0\")\")/$n\\n[ ! -f \"$s\" ] && exit 0\\nsh -e \"$s\" \"$@\"\\n' >.husky/_/h; echo '*' >.husky/_/.gitignore
         echo 'cat >>\"$(git rev-parse --git-common-dir)/theirs\"' | tee .husky/pre-commit >.husky/pre-push
         git config core.hooksPath .husky/_; git add -A; git commit -q --no-verify -m husky";
    let with = |folder: &str, setting: &str| {
        format!("mkdir -p {folder}; {}; {setting}", own.replace('H', folder))
    };
    let table = [
        (
            "tracked in the project",
            with(
                ".githooks",
                "git config core.hooksPath .githooks; git add -A; git commit -q --no-verify -m h",
            ),
            "belongs to the project",
            true,
        ),
        (
            "husky (entireio_cli_228)",
            husky.to_owned(),
            ".husky/pre-commit",
            true,
        ),
        (
            "for all of a user's repositories",
            with(
                "$HOME/hooks",
                "git config --global core.hooksPath '~/hooks'",
            ),
            "global",
            true,
        ),
        (
            "in worktree scope (toplenboren_simple_git_hooks_150)",
            with(
                "$HOME/hooks",
                "git config extensions.worktreeConfig true; git config --worktree core.hooksPath '~/hooks'",
            ),
            "worktree",
            true,
        ),
        (
            "by an included file",
            with(
                "$HOME/hooks",
                "git config -f \"$HOME/more\" core.hooksPath '~/hooks'; git config include.path \"$HOME/more\"",
            ),
            "outside this repository",
            true,
        ),
        (
            "to nothing (git_branchless_1328)",
            "git config core.hooksPath /dev/null".to_owned(),
            "not a folder",
            false,
        ),
        (
            "empty (daintreehq_daintree_11226)",
            "git config core.hooksPath ''".to_owned(),
            "empty",
            false,
        ),
        (
            "not there (pre_commit_663)",
            "git config core.hooksPath nowhere/hooks".to_owned(),
            "does not exist",
            false,
        ),
        (
            "the worktree itself",
            "git config core.hooksPath .".to_owned(),
            "around the repository",
            false,
        ),
        (
            "to nothing, for all",
            "git config --global core.hooksPath /dev/null".to_owned(),
            "global",
            false,
        ),
        (
            "a linked default",
            with(
                "$HOME/hooks",
                "rm -r .git/hooks; ln -s \"$HOME/hooks\" .git/hooks",
            ),
            "outside this repository",
            true,
        ),
        (
            "a default linked into the project",
            with(
                "tools",
                "rm -r .git/hooks; ln -s ../tools .git/hooks; git add -A; git commit -q --no-verify -m h",
            ),
            "belongs to the project",
            true,
        ),
    ];
    for (what, setup, said, can_add) in &table {
        let bench = Bench::new(&gits()[0]);
        bench.ok(setup);
        let state = || snapshot(&[bench.folder(), bench.sandbox.home().to_path_buf()]);
        let before = state();
        let ran = bench.run("git arkaint hooks install").expect(2);
        assert!(
            ran.stderr.contains(said) && ran.stderr.contains("nothing was changed"),
            "{what}: {}",
            ran.stderr
        );
        assert_same(&state(), &before, what);
        let status = bench.run("git arkaint hooks status").expect(1);
        assert!(
            status.stdout.contains("mend: "),
            "{what}: {}",
            status.stdout
        );
        assert_same(&state(), &before, what);

        let lines: Vec<_> = ran
            .stderr
            .lines()
            .filter_map(|line| line.strip_prefix("hint: add to ")?.split_once(": "))
            .collect();
        assert_eq!(
            lines.len(),
            if *can_add { 3 } else { 0 },
            "{what}: {}",
            ran.stderr
        );
        if *can_add {
            for (file, line) in lines {
                let file = bench.folder().join(file);
                let text = fs::read_to_string(&file).unwrap_or_else(|_| "#!/bin/sh\n".to_owned());
                let (first, rest) = if text.starts_with("#!") {
                    text.split_once('\n').unwrap()
                } else {
                    ("", text.as_str())
                };
                fs::write(&file, format!("{first}\n{line}\n{rest}")).unwrap();
                fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
            }
            bench.ok("git arkaint hooks status --probe; git arkaint hooks install");
            bench
                .run("mkdir -p scripts; echo n >scripts/x; git add scripts; git commit -qm x")
                .expect(1);
            bench.ok("git rm -q --cached -r scripts; git commit -q --allow-empty -m fine");
            // Theirs still gets what is pushed.
            bench.ok("git init -q --bare ../r.git; rm -f .git/theirs; git push -q ../r.git HEAD:refs/heads/arkaint/y; grep -q '^HEAD ' .git/theirs");
            bench
                .run("git switch -q -c arkaint/y; git push -q ../r.git HEAD:refs/heads/main")
                .expect(1);
        }
    }
}

#[test]
fn a_setting_of_the_calling_environment_counts() {
    let bench = Bench::new(&gits()[0]);
    let ran = bench
        .run("git -c core.hooksPath=/dev/null arkaint hooks install")
        .expect(2);
    assert!(ran.stderr.contains("command"), "{}", ran.stderr);
    let ran = bench
        .run("export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/nowhere; git arkaint hooks install")
        .expect(2);
    assert!(
        ran.stderr.contains("/nowhere does not exist"),
        "{}",
        ran.stderr
    );
    bench.ok("git arkaint hooks install; git arkaint hooks status");
    bench
        .run("git -c core.hooksPath=/dev/null arkaint hooks status")
        .expect(1);
}

/// report_prek_865, report_husky_715.
#[test]
fn shims_find_the_program_or_refuse() {
    let bench = Bench::new(&gits()[0]);
    let folder = Sandbox::bin();
    // j178_prek_865: a versioned folder behind a link on PATH; the link is what is noted.
    bench.ok(&format!(
        "mkdir -p ~/opt/1.0 ~/'my bin'; cp {0}/git-arkaint ~/opt/1.0/; ln -s ~/opt/1.0/git-arkaint ~/'my bin'/git-arkaint
         export PATH=\"$HOME/my bin:${{PATH//{1}:/}}\"; git arkaint hooks install
         test \"$(git config arkaint.bin)\" = \"$HOME/my bin/git-arkaint\"
         mv ~/opt/1.0 ~/opt/2.0; ln -sf ~/opt/2.0/git-arkaint ~/'my bin'/git-arkaint",
        folder.display(),
        folder.display().to_string().replace('/', "\\/"),
    ));
    let bare = "env -i HOME=\"$HOME\" PATH=/usr/bin:/bin GIT_CONFIG_NOSYSTEM=1";
    bench.ok(&format!("{bare} git commit -q --allow-empty -m bare"));
    // typicode_husky_715: what is not found is not skipped.
    for (hook, action) in [
        ("pre-commit", "git commit -q --allow-empty -m x"),
        ("pre-push", "git push -q ../r.git main"),
    ] {
        let ran = bench
            .run(&format!(
                "git init -q --bare ../r.git; rm -rf ~/opt; {bare} {action}"
            ))
            .expect(1);
        assert!(
            ran.stderr.contains("git-arkaint was not found") && ran.stderr.contains(hook),
            "{}",
            ran.stderr
        );
        assert!(
            ran.stderr.contains("git config arkaint.bin"),
            "{}",
            ran.stderr
        );
    }
    let status = bench.run("git arkaint hooks status").expect(1);
    assert!(
        status.stdout.contains("program: not found")
            && status.stdout.contains("mend: git arkaint hooks install"),
        "{}",
        status.stdout
    );
    // The order: the variable, the setting, PATH, the usual folders.
    bench.ok(&format!("ARKAINT_BIN={0}/git-arkaint {bare} ARKAINT_BIN={0}/git-arkaint git commit -q --allow-empty -m x", folder.display()));
    bench.ok(&format!("mkdir -p ~/.cargo/bin; cp {}/git-arkaint ~/.cargo/bin/; {bare} git commit -q --allow-empty -m x", folder.display()));
    bench.ok(
        "git arkaint hooks status; git arkaint hooks install; git arkaint hooks status --probe",
    );
}

/// Shims of an earlier version are ours: they guard, a new installation replaces them, and they are taken out whole.
#[test]
fn shims_of_an_earlier_version_are_known() {
    let bench = Bench::guarded(&gits()[0]);
    let earlier = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hooks/1");
    let put = || {
        for hook in ["pre-commit", "pre-merge-commit", "pre-push"] {
            let to = bench.folder().join(".git/hooks").join(hook);
            fs::copy(earlier.join(hook), &to).unwrap();
            fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).unwrap();
        }
    };
    bench.ok("cp .git/hooks/pre-commit ~/new");
    put();
    bench.ok("git arkaint hooks status --probe | grep -q 'version 1'");
    bench.ok("echo n >>src/a; git commit -qam fine");
    bench
        .run("echo n >>scripts/build.sh; git commit -qam x")
        .expect(1);
    bench.ok("git arkaint -q hooks install; (! git arkaint hooks status --probe | grep 'version 1'); (! ls .git/hooks/*.arkaint-prev 2>/dev/null)");
    put();
    bench.ok("git arkaint hooks uninstall; (! grep -rq arkaint .git/hooks)");
    // Where another tool has moved one and runs it from there, too.
    put();
    bench.ok(
        "cd .git/hooks; mv pre-commit pre-commit.legacy
         printf '#!/bin/sh\\n# File generated by pre-commit: ...\\nexec \"$(dirname \"$0\")/pre-commit.legacy\" \"$@\"\\n' >pre-commit; chmod +x pre-commit
         git arkaint hooks status --probe | grep pre-commit | grep -q 'version 1'; git arkaint -q hooks install; cmp pre-commit.legacy ~/new
         (! git arkaint hooks status --probe | grep 'version 1'); git arkaint -q hooks uninstall; (! ls *.legacy); grep -q generated pre-commit; rm pre-commit",
    );
    // A killed hook leaves a folder of links beside.
    bench.ok("git arkaint -q hooks install; mkdir .git/hooks.arkaint-x; ln -s ../hooks/all .git/hooks.arkaint-x/all; git arkaint -q hooks uninstall; test ! -e .git/hooks.arkaint-x");
}
