//! Reports of hook installers and of git extensions.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::hooks::{Bench, gits};
use crate::sandbox::Sandbox;

/// A path that *is* `.git/hooks` is ours; an empty one is where git never looks.
#[test]
fn report_pre_commit_3627() {
    let bench = Bench::new(&gits()[0]);
    for own in ["\"$PWD/.git/hooks\"", ".git/hooks", ".git/hooks/"] {
        bench.ok(&format!("git config core.hooksPath {own}; git arkaint hooks install; git arkaint hooks status --probe"));
        bench
            .run("mkdir -p scripts; echo n >scripts/x; git add scripts; git commit -qm x")
            .expect(1);
        bench.ok("git rm -qrf scripts; git arkaint hooks uninstall");
    }
    bench.ok("git config core.hooksPath ''");
    let no = bench.run("git arkaint hooks install").expect(2);
    assert!(
        no.stderr.contains("core.hooksPath is empty")
            && no
                .stderr
                .contains("hint: git config --unset core.hooksPath"),
        "{}",
        no.stderr
    );
    assert_eq!(
        bench.ok("git status --porcelain; ls .git/hooks/pre-commit 2>/dev/null || true"),
        ""
    );
}

/// `#!/bin/sh` and nothing of bash; backslashes, quotes and blanks in a path arrive as they are.
#[test]
fn report_projectmem_16() {
    let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("hooks");
    let sandbox = Sandbox::new();
    for hook in ["pre-commit", "pre-merge-commit", "pre-push"] {
        let text = std::fs::read_to_string(hooks.join(hook)).unwrap();
        assert!(text.starts_with("#!/bin/sh\n"));
        for bashism in ["[[", "function ", "local ", "source ", "<<<", "$'", "&>"] {
            assert!(!text.contains(bashism), "{hook} has {bashism}");
        }
        for shell in ["dash", "sh"] {
            if let Ok(ran) = sandbox
                .command(shell)
                .arg("-n")
                .arg(hooks.join(hook))
                .output()
            {
                assert!(ran.status.success(), "{shell} -n {hook}");
            }
        }
    }
    let bench = Bench::new(&gits()[0]);
    let odd = bench.sandbox.home().join("back\\slash it's \"here\" $x");
    std::fs::create_dir(&odd).unwrap();
    symlink(env!("CARGO_BIN_EXE_git-arkaint"), odd.join("git-arkaint")).unwrap();
    let path = format!("{}:{}", odd.display(), bench.path);
    let ran = bench
        .sandbox
        .command("git-arkaint")
        .args(["hooks", "install"])
        .env("PATH", path)
        .output()
        .unwrap();
    assert!(ran.status.success());
    let bin = bench.ok("git config --type=path arkaint.bin");
    assert_eq!(
        bin.trim_end(),
        odd.join("git-arkaint").display().to_string()
    );
    let bare = "env -i HOME=\"$HOME\" PATH=/usr/bin:/bin GIT_CONFIG_NOSYSTEM=1";
    bench.ok(&format!("{bare} git commit -q --allow-empty -m bare"));
    bench
        .run(&format!(
            "mkdir scripts; echo n >scripts/x; git add scripts; {bare} git commit -qm x"
        ))
        .expect(1);
}

/// git holds `index.lock` itself while a hook of `commit -- PATH` runs: to wait for it would be for ever.
#[test]
fn report_unity_helpers_730() {
    for git in gits() {
        let bench = Bench::guarded(&git);
        bench.ok(
            "printf '#!/bin/sh\\ntest -e .git/index.lock && echo held >>~/locks\\nexit 0\\n' >.git/hooks/pre-commit.arkaint-prev; chmod +x .git/hooks/pre-commit.arkaint-prev
             echo n >>src/a; echo staged >src/new; git add src/new
             timeout 60 git commit -qm fine -- src/a; test -s ~/locks",
        );
        assert_eq!(bench.ok("git status --porcelain"), "A  src/new\n");
        let no = bench
            .run("echo n >>scripts/build.sh; timeout 60 git commit -qm x -- scripts")
            .expect(1);
        assert!(no.stderr.contains("M scripts/build.sh"), "{}", no.stderr);
        bench.ok("test ! -e .git/index.lock; git reset -q --hard; echo n >>src/b; timeout 60 git commit -qm fine -- src");
    }
}

/// Whatever a rename hides from `--diff-filter=ACM`, the guard sees: renamed and edited, out of and into the lock.
#[test]
fn report_lint_staged_683() {
    let bench = Bench::guarded(&gits()[0]);
    for (action, named) in [
        (
            "git mv scripts/build.sh src/build.sh; echo n >>src/build.sh; git add -A",
            "D scripts/build.sh",
        ),
        (
            "git mv src/a scripts/a; echo n >>scripts/a; git add -A",
            "A scripts/a",
        ),
        ("git rm -q scripts/build.sh", "D scripts/build.sh"),
        (
            "ln -sf ../src/a scripts/build.sh; git add -A",
            "T scripts/build.sh",
        ),
    ] {
        let no = bench
            .run(&format!(
                "git config diff.renames copies; {action}; git commit -qm x"
            ))
            .expect(1);
        assert!(no.stderr.contains(named), "{action}: {}", no.stderr);
        bench.ok("git reset -q --hard; git clean -fdq");
    }
}

/// `pre-merge-commit` runs for clean merges alone, and a conflict that was solved is committed through `pre-commit`: both are guarded.
#[test]
fn report_husky_1210() {
    for git in gits() {
        let bench = Bench::guarded(&git);
        bench.ok(
            "for h in pre-commit pre-merge-commit; do printf '#!/bin/sh\\necho %s >>~/ran\\n' $h >.git/hooks/$h.arkaint-prev; chmod +x .git/hooks/$h.arkaint-prev; done
             git switch -q -c clean; echo c >src/c; git add -A; git commit -qm c; git switch -q -c conflict main; echo theirs >src/a; git commit -qam t
             git switch -q main; echo ours >src/a; git commit -qam o; rm ~/ran
             git merge -q -m m clean; test \"$(cat ~/ran)\" = pre-merge-commit; rm ~/ran
             (! git merge -q conflict >/dev/null); test ! -e ~/ran; echo both >src/a; git add -A; git commit -qm solved; test \"$(cat ~/ran)\" = pre-commit",
        );
        bench.ok("git reset -q --hard HEAD~1; (! git merge -q conflict >/dev/null); echo both >src/a; echo n >>scripts/build.sh; git add -A");
        bench.run("git commit -qm x").expect(1);
    }
}

/// `--no-verify` and a hooks folder of nothing pass every hook: what an agent commits so is found after its run, and what a person commits so
/// when it is pushed.
#[test]
fn report_bestax_521() {
    for past in [
        "git commit -qnam past",
        "git -c core.hooksPath=/dev/null commit -qam past",
        "git update-ref HEAD $(git commit-tree -p HEAD -m past $(git add -A; git write-tree))",
    ] {
        let script = format!(
            "echo work >work.txt; [ $launch = 1 ] && {{ echo n >>scripts/build.sh; git add -A; {past}; }}; finish done"
        );
        let sandbox = crate::cycle::world(crate::cycle::GREEN, &script);
        sandbox.write("scripts/build.sh", "echo build\n");
        sandbox.commit_all("scripts");
        sandbox.arkaint(["hooks", "install"]).expect(0);
        let ran = crate::cycle::cycle(&sandbox).expect(0);
        assert!(
            ran.stderr.contains("scripts/build.sh"),
            "{past}: {}",
            ran.stderr
        );
        assert_eq!(sandbox.git(["show", "HEAD:scripts/build.sh"]), "echo build");
        assert_eq!(sandbox.git(["show", "HEAD:work.txt"]), "work");

        sandbox.sh(&format!(
            "git init -q --bare ../r.git; echo n >>scripts/build.sh; {past}"
        ));
        let no = sandbox.try_git(["push", "-q", "../r.git", "HEAD:refs/heads/arkaint/x"]);
        assert_eq!(no.code, Some(1), "{past}: {}", no.stderr);
        assert!(
            no.stderr.contains("M scripts/build.sh"),
            "{past}: {}",
            no.stderr
        );
    }
}
