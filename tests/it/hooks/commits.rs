//! What a commit or merge may do, and what it may not.

use super::{Bench, case, gits, share};

#[test]
fn commits_that_touch_protected_paths_are_refused() {
    let table: &[(&str, &str, &str, &str)] = &[
        ("add", "", "echo n >scripts/new; git add -A; git commit -qm x", "A scripts/new"),
        ("edit", "", "echo n >>scripts/build.sh; git add -A; git commit -qm x", "M scripts/build.sh"),
        ("edit deep", "", "echo n >>scripts/deep/file; git commit -qam x", "M scripts/deep/file"),
        ("delete", "", "git rm -q scripts/build.sh; git commit -qm x", "D scripts/build.sh"),
        ("rename out", "", "git mv scripts/build.sh build.sh; git commit -qm x", "D scripts/build.sh"),
        ("rename in", "", "git mv src/a scripts/a; git commit -qm x", "A scripts/a"),
        ("rename within", "", "git mv scripts/build.sh scripts/b.sh; git commit -qm x", "D scripts/build.sh"),
        ("mode", "", "chmod +x scripts/build.sh; git commit -qam x", "M scripts/build.sh"),
        ("mode in the index alone", "git config core.fileMode false", "git update-index --chmod=+x scripts/build.sh; git commit -qm x", "M scripts/build.sh"),
        ("link retargeted", "", "ln -sf deep scripts/link; git commit -qam x", "M scripts/link"),
        ("file to link", "", "ln -sf link scripts/build.sh; git commit -qam x", "T scripts/build.sh"),
        ("folder to file", "", "rm -r scripts; echo n >scripts; git add -A; git commit -qm x", "A scripts"),
        ("folder to link", "", "mv scripts src/s; ln -s src/s scripts; git add -A; git commit -qm x", "A scripts"),
        ("folder to submodule", "", "git rm -rq scripts; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),scripts; git commit -qm x", "A scripts"),
        ("submodule below", "", "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),scripts/sub; git commit -qm x", "A scripts/sub"),
        (
            "submodule moved on, hidden by .gitmodules",
            "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),scripts/sub
             printf '[submodule \"s\"]\\n path = scripts/sub\\n url = ./x\\n ignore = all\\n' >.gitmodules; git add .gitmodules; git commit -qm s",
            "git update-index --cacheinfo 160000,$(git rev-parse base~1),scripts/sub; echo n >>src/a; git add src/a; git commit -qm x",
            "M scripts/sub",
        ),
        ("parent replaced", "", "git rm -rq ci; echo n >ci; git add -A; git commit -qm x", "A ci"),
        ("hooks folder of the project", "", "echo n >>.githooks/pre-commit; git commit -qam x", "M .githooks/pre-commit"),
        ("configuration", "", "echo >>arkaint.toml; git commit -qam x", "M arkaint.toml"),
        ("configuration gone", "", "git rm -q arkaint.toml; git commit -qm x", "D arkaint.toml"),
        ("configuration a link", "git rm -q arkaint.toml; git commit -qm y", "ln -s src/a arkaint.toml; git add -A; git commit -qm x", "A arkaint.toml"),
        ("what infra.paths adds", "", "echo n >ci/deploy/new; git add -A; git commit -qm x", "A ci/deploy/new"),
        ("a glob of infra.paths", "", "echo n >>Cargo.lock; git commit -qam x", "M Cargo.lock"),
        ("rules taken out in the same commit", "", "echo >arkaint.toml; echo n >>ci/deploy/key; git commit -qam x", "M ci/deploy/key"),
        ("rules taken out on disk", "", "echo >arkaint.toml; echo n >>ci/deploy/key; git commit -qm x -- ci/deploy/key", "M ci/deploy/key"),
        ("some paths of many", "", "echo n >>src/a; echo n >>scripts/build.sh; git commit -qm x -- scripts", "M scripts/build.sh"),
        ("with -a", "", "echo n >>scripts/build.sh; git commit -qam x", "M scripts/build.sh"),
        ("from a subdirectory", "git config diff.relative true", "cd src; echo n >>../scripts/build.sh; git commit -qam x", "M scripts/build.sh"),
        ("amended into", "echo n >>src/a; git commit -qam own", "echo n >>scripts/build.sh; git add -A; git commit -q --amend --no-edit", "M scripts/build.sh"),
        ("allowed by another value", "", "echo n >>scripts/build.sh; ARKAINT_ALLOW_INFRA_EDIT=true git commit -qam x", "M scripts/build.sh"),
        ("no text in the name", "", "echo n >$'scripts/\\xff\\n\"x'; git add -A; git commit -qm x", "A scripts/\\xff\\n\\\"x"),
        ("newline in the name", "", "echo n >$'scripts/two\\nlines'; git add -A; git commit -qm x", "A scripts/two\\nlines"),
        ("another case, where case is blind", "git config core.ignoreCase true", "git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:src/a),Scripts/q; git commit -qm x", "A Scripts/q"),
        ("another index", "", "cp .git/index .git/other; export GIT_INDEX_FILE=$PWD/.git/other; echo n >>scripts/build.sh; git add -A; git commit -qm x", "M scripts/build.sh"),
        ("git -c on the way", "", "echo n >>scripts/build.sh; git -c core.quotePath=false -c diff.noprefix=true commit -qam x", "M scripts/build.sh"),
        ("detached", "git switch -q --detach", "echo n >>scripts/build.sh; git commit -qam x", "M scripts/build.sh"),
        (
            "squash merge",
            "git switch -q -c other; echo n >>scripts/build.sh; git commit -qam o; git switch -q main",
            "git merge -q --squash other >/dev/null; git commit -qm x",
            "M scripts/build.sh",
        ),
        (
            "cherry-pick without commit",
            "git switch -q -c other; echo n >>scripts/build.sh; git commit -qam o; git switch -q main",
            "git cherry-pick -n other; git commit -qm x",
            "M scripts/build.sh",
        ),
        (
            "merge whose result is of neither side",
            "printf '%s\\n' 1 2 3 4 5 6 7 8 9 >scripts/n; git add -A; git commit -qm n; git branch other
             sed -i s/1/one/ scripts/n; git commit -qam m; git switch -q other; sed -i s/9/nine/ scripts/n; git commit -qam o; git switch -q main",
            "git merge -q --no-edit other",
            "merge refused",
        ),
        (
            "conflict solved by hand",
            "git branch other; echo m >>scripts/build.sh; git commit -qam m; git switch -q other; echo o >>scripts/build.sh; git commit -qam o; git switch -q main",
            "git merge -q other >/dev/null || true; echo mine >scripts/build.sh; git add -A; git commit -qm x",
            "M scripts/build.sh",
        ),
        (
            "a configuration of its own in a merge",
            "git switch -q -c other; echo '#o' >>arkaint.toml; git commit -qam o; git switch -q main; git rm -q arkaint.toml; git commit -qm y",
            "git merge -q other >/dev/null || true; echo '#mine' >arkaint.toml; git add -A; git commit -qm x",
            "A arkaint.toml",
        ),
        (
            "slipped into a merge",
            "git branch other; echo m >>src/a; git commit -qam m; git switch -q other; echo o >>src/b; git commit -qam o; git switch -q main",
            "git merge -q --no-commit other; echo evil >>scripts/build.sh; git add -A; git commit -qm x",
            "M scripts/build.sh",
        ),
        (
            "slipped into an octopus",
            "git branch one; git branch two; git switch -q one; echo o >>scripts/build.sh; git commit -qam o; git switch -q two; echo t >>src/b; git commit -qam t; git switch -q main; echo m >>src/a; git commit -qam m",
            "git merge -q --no-commit one two; echo evil >>scripts/deep/file; git add -A; git commit -qm x",
            "M scripts/deep/file",
        ),
    ];
    for (turn, git) in gits().into_iter().enumerate() {
        let bench = Bench::guarded(&git);
        for (what, before, action, named) in share(table, turn) {
            let ran = case(&bench, before, action);
            assert_eq!(
                ran.code,
                Some(1),
                "{what} with {}:\n{}",
                git.display(),
                ran.stderr
            );
            assert!(
                ran.stderr.contains("arkaint: ") && ran.stderr.contains(" refused: "),
                "{what}: {}",
                ran.stderr
            );
            assert!(ran.stderr.contains(named), "{what}: {}", ran.stderr);
            assert!(ran.stderr.contains("hint: "), "{what}: {}", ran.stderr);
            assert_ne!(
                bench.ok("git log -1 --format=%s").trim(),
                "x",
                "{what}: committed all the same"
            );
        }
    }
}

#[test]
fn honest_commits_pass() {
    let other = "git switch -q -c other; echo o >>scripts/build.sh; echo o >>src/b; git commit -qam o; git switch -q main; echo m >>src/a; git commit -qam m";
    let table: &[(&str, &str, &str)] = &[
        ("edit", "", "echo n >>src/a; git commit -qam x"),
        (
            "names that only look alike",
            "",
            "mkdir src/scripts; echo n | tee scripts.md src/scripts/a arkaint.toml.bak >/dev/null; git add -A; git commit -qm x",
        ),
        (
            "another case, where case counts",
            "git config core.ignoreCase false",
            "mkdir Scripts; echo n >Scripts/q; git add -A; git commit -qm x",
        ),
        (
            "intent to add is no part of it",
            "",
            "echo n >scripts/new; git add -N scripts/new; echo n >>src/a; git commit -qm x -- src/a",
        ),
        (
            "intent to add beside a plain commit",
            "",
            "echo n >scripts/new; git add -N scripts/new; echo n >>src/a; git add src/a; git commit -qm x",
        ),
        (
            "other paths are staged, and stay so",
            "",
            "echo n >>scripts/build.sh; git add -A; echo n >>src/a; git commit -qm x -- src/a; git diff --cached --quiet -- src; (! git diff --cached --quiet)",
        ),
        (
            "permitted",
            "",
            "echo n >>scripts/build.sh; ARKAINT_ALLOW_INFRA_EDIT=1 git commit -qam x",
        ),
        (
            "message amended after a permitted edit",
            "echo n >>scripts/build.sh; git commit -qam own",
            "git commit -q --amend -m x",
        ),
        ("empty", "", "git commit -q --allow-empty -m x"),
        (
            "the first arkaint.toml",
            "git rm -q arkaint.toml; git commit -qm y",
            "echo >arkaint.toml; git add -A; git commit -qm x",
        ),
        (
            "clean merge of a permitted edit",
            other,
            "git merge -q -m x other",
        ),
        (
            "merge stopped, then committed",
            other,
            "git merge -q --no-commit other; git commit -qm x",
        ),
        (
            "our permitted edit, merged into their branch",
            other,
            "git switch -q other; git merge -q -m x main",
        ),
        (
            "conflict elsewhere",
            "git switch -q -c other; echo o >>scripts/build.sh; echo o >>src/a; git commit -qam o; git switch -q main; echo m >>src/a; git commit -qam m",
            "git merge -q other >/dev/null || true; echo both >src/a; git add -A; git commit -qm x",
        ),
        (
            "octopus",
            "git branch one; git branch two; git switch -q one; echo o >>scripts/build.sh; git commit -qam o; git switch -q two; echo t >>src/b; git commit -qam t; git switch -q main; echo m >>src/a; git commit -qam m",
            "git merge -q -m x one two",
        ),
        (
            "their side of a conflict in a protected file",
            "git branch other; echo m >>scripts/build.sh; git commit -qam m; git switch -q other; echo o >>scripts/build.sh; git commit -qam o; git switch -q main",
            "git merge -q other >/dev/null || true; git checkout -q --theirs scripts/build.sh; git add -A; git commit -qm x",
        ),
        (
            "fast-forward",
            other,
            "git switch -q -c third base; git merge -q --ff-only other; git commit -q --allow-empty -m x",
        ),
        (
            "rebase",
            "git switch -q -c other; echo o >>scripts/build.sh; git commit -qam o; git switch -q main; echo m >>src/a; git commit -qam x",
            "git switch -q other; git rebase -q main; git commit -q --allow-empty -m x",
        ),
    ];
    for (turn, git) in gits().into_iter().enumerate() {
        let bench = Bench::guarded(&git);
        for (what, before, action) in share(table, turn) {
            let ran = case(&bench, before, action);
            assert_eq!(
                ran.code,
                Some(0),
                "{what} with {}:\n{}",
                git.display(),
                ran.stderr
            );
            assert!(
                !ran.stderr.contains("arkaint"),
                "{what} is not quiet: {}",
                ran.stderr
            );
            assert_eq!(bench.ok("git log -1 --format=%s").trim(), "x", "{what}");
        }
    }
}

#[test]
fn a_branch_without_a_commit_is_guarded() {
    for git in gits() {
        let bench = Bench::new(&git);
        bench.ok("git init -q ../new; cd ../new; git arkaint -q hooks install");
        let ran = bench
            .run("cd ../new; mkdir scripts; echo s >scripts/s; git add -A; git commit -qm x")
            .expect(1);
        assert!(ran.stderr.contains("A scripts/s"), "{}", ran.stderr);
        assert!(ran.stderr.contains("git rm --cached"), "{}", ran.stderr);
        // The commit that first adds the configuration passes as it is, but not out of a run.
        bench.ok("cd ../new; echo >arkaint.toml; git add -A");
        let ran = bench
            .run("cd ../new; ARKAINT_RUN=r git commit -qm x")
            .expect(1);
        assert!(
            ran.stderr.contains("A scripts/s") && !ran.stderr.contains("A arkaint.toml"),
            "{}",
            ran.stderr
        );
        bench.ok("cd ../new; git commit -qm first; git init -q --bare ../remote.git; git push -q ../remote.git HEAD");
        bench
            .run("cd ../new; echo t >>scripts/s; git commit -qam x")
            .expect(1);
    }
}

#[test]
fn a_run_is_held_to_its_branch_and_gives_itself_no_permission() {
    let bench = Bench::guarded(&gits()[0]);
    let agent = "export ARKAINT_RUN=r1 ARKAINT_DEPTH=1 ARKAINT_BRANCH=arkaint/work";
    bench.ok(&format!(
        "git switch -q -c arkaint/work; {agent}; echo n >>src/a; git commit -qam fine"
    ));
    bench.ok(&format!(
        "{agent}; ARKAINT_BRANCH=refs/heads/arkaint/work git commit -q --allow-empty -m fine"
    ));
    for elsewhere in [
        "git switch -q -c arkaint/other",
        "git switch -q main",
        "git switch -q --detach",
    ] {
        let ran = bench
            .run(&format!(
                "{elsewhere}; {agent}; git commit -q --allow-empty -m x"
            ))
            .expect(1);
        assert!(
            ran.stderr.contains("this run works on arkaint/work"),
            "{}",
            ran.stderr
        );
        bench.ok("git commit -q --allow-empty -m 'outside a run'; git switch -q arkaint/work");
    }
    let ran = bench
        .run(&format!(
            "{agent}; echo n >>scripts/build.sh; ARKAINT_ALLOW_INFRA_EDIT=1 git commit -qam x"
        ))
        .expect(1);
    assert!(
        ran.stderr.contains("M scripts/build.sh") && !ran.stderr.contains("ALLOW"),
        "{}",
        ran.stderr
    );
    bench.ok("git reset -q --hard; git init -q --bare ../remote.git; git remote add origin ../remote.git");
    bench.ok(&format!("{agent}; git push -q origin arkaint/work"));
    for push in [
        "main",
        "arkaint/work:main",
        "HEAD:main",
        "main:elsewhere",
        ":main",
    ] {
        bench.run(&format!("git push -q --no-verify origin base:refs/heads/main 2>/dev/null; {agent}; git push -q origin {push}")).expect(1);
    }
}

#[test]
fn the_scope_of_the_lock_can_be_narrowed_to_agent_branches() {
    let bench = Bench::guarded(&gits()[0]);
    bench.ok("printf '[infra]\\nscope = \"isolated\"\\n[branches]\\nisolated = [\"bot/*\"]\\n' >arkaint.toml; ARKAINT_ALLOW_INFRA_EDIT=1 git commit -qam narrow");
    bench.ok("git init -q --bare ../remote.git; git remote add origin ../remote.git; git push -q origin main");
    bench.ok("echo n >>scripts/build.sh; git commit -qam 'on main'; git push -q origin main; git switch -q -c arkaint/x; echo n >>scripts/build.sh; git commit -qam 'not isolated'");
    bench.ok("git switch -q --detach; echo n >>scripts/build.sh; git commit -qam detached");
    bench
        .run("git switch -q -c bot/x main; echo n >>scripts/build.sh; git commit -qam x")
        .expect(1);
    let ran = bench
        .run("git commit -qnam past; git push -q origin bot/x")
        .expect(1);
    assert!(ran.stderr.contains("M scripts/build.sh"), "{}", ran.stderr);
    let ran = bench.run("git reset -q --hard main; git commit -q --allow-empty -m n; git push -q origin bot/x:main").expect(1);
    assert!(
        ran.stderr.contains("bot/x is an isolated branch"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_configuration_that_cannot_be_read_is_said_and_the_built_in_set_holds() {
    let bench = Bench::guarded(&gits()[0]);
    bench.ok("echo '[infra' >arkaint.toml; ARKAINT_ALLOW_INFRA_EDIT=1 git commit -qam broken");
    let ran = bench
        .run("echo n >>scripts/build.sh; git commit -qam x")
        .expect(1);
    assert!(
        ran.stderr
            .contains("warning: the committed arkaint.toml cannot be read"),
        "{}",
        ran.stderr
    );
    let ran = bench
        .run("git reset -q --hard; echo n >>src/a; git commit -qam x")
        .expect(0);
    assert!(ran.stderr.contains("warning: "), "{}", ran.stderr);
}

#[test]
fn asking_a_guard_whether_it_is_there_is_no_way_past_it() {
    let bench = Bench::guarded(&gits()[0]);
    bench
        .run("echo n >>scripts/build.sh; ARKAINT_PROBE=x git commit -qam x")
        .expect(1);
    bench
        .run("ARKAINT_CHAINED=$PWD/.git/hooks/pre-commit.arkaint-prev git commit -qam x")
        .expect(1);
    bench.run("git arkaint hook run pre-rebase").expect(2);
}
