//! Every shape of a repository, and what status says about each worktree.

use super::{Bench, assert_same, gits, share, snapshot};
use crate::sandbox::Ran;

/// Shapes of a repository: how it is made below `$HOME/shapes`, and the folder of the worktree.
const SHAPES: &[(&str, &str, &str)] = &[
    ("plain", "git init -q plain", "plain"),
    (
        "linked worktree",
        "git init -q m; git -C m commit -q --allow-empty -m s; git -C m worktree add -q ../linked",
        "linked",
    ),
    (
        "submodule",
        "git init -q lib; git -C lib commit -q --allow-empty -m s; git init -q super; git -C super -c protocol.file.allow=always submodule --quiet add ../lib sub",
        "super/sub",
    ),
    (
        "separate git dir",
        "git init -q --separate-git-dir=elsewhere.git separate",
        "separate",
    ),
    (
        "bare and worktree",
        "git init -q --bare b.git; git -C b.git worktree add -q --orphan ../of-bare 2>/dev/null || { git init -q t; git -C t commit -q --allow-empty -m s; git -C t push -q --no-verify ../b.git HEAD:refs/heads/one; git -C b.git worktree add -q ../of-bare one; }",
        "of-bare",
    ),
    ("sha256", "git init -q --object-format=sha256 long", "long"),
    (
        "space and quotes",
        "git init -q \"it's a \\\"repo\\\"\"",
        "it's a \"repo\"",
    ),
    ("newline", "git init -q $'two\\nlines'", "two\nlines"),
    (
        "split index",
        "git init -q split; git -C split update-index --split-index",
        "split",
    ),
    (
        "untracked cache and version 4",
        "git init -q v4; git -C v4 config index.version 4; git -C v4 config core.untrackedCache true",
        "v4",
    ),
    (
        "reftable, where git has it",
        "git init -q --ref-format=reftable tables 2>/dev/null || git init -q tables",
        "tables",
    ),
    (
        "default hooks folder missing",
        "git init -q --template= bare-template",
        "bare-template",
    ),
];

#[test]
fn guards_run_in_every_shape_of_a_repository() {
    for (turn, git) in gits().into_iter().enumerate() {
        for (what, make, folder) in share(SHAPES, turn) {
            let bench = Bench::new(&git);
            bench.ok(&format!("mkdir ~/shapes; cd ~/shapes; {make}"));
            let worktree = bench.sandbox.home().join("shapes").join(folder);
            let at = |script: &str| {
                let mut bash = bench.sandbox.command("bash");
                bash.args(["-euc", script])
                    .env("PATH", &bench.path)
                    .current_dir(&worktree);
                Ran::from(bash.output().unwrap())
            };
            let shapes = [bench.sandbox.home().join("shapes")];
            let before = snapshot(&shapes);
            at("git arkaint hooks install").expect(0);
            at("git arkaint hooks status --probe").expect(0);
            at("git arkaint hooks uninstall").expect(0);
            assert_same(&snapshot(&shapes), &before, what);

            at("git arkaint -q hooks install; git arkaint -q hooks status >/dev/null").expect(0);
            at("echo a >a; git add a; git commit -qm honest").expect(0);
            let refused =
                at("mkdir scripts; echo s >scripts/s; git add scripts; git commit -qm x").expect(1);
            assert!(
                refused.stderr.contains("A scripts/s"),
                "{what}: {}",
                refused.stderr
            );
            at("ARKAINT_ALLOW_INFRA_EDIT=1 git commit -qm permitted").expect(0);
            at("echo t >>scripts/s; git commit -qam x").expect(1);
            at("git commit -qnam past").expect(0);
            at("format=$(git rev-parse --show-object-format); git init -q --bare --object-format=$format ~/r.git; git push -q ~/r.git HEAD:refs/heads/new").expect(1);
            at("ARKAINT_ALLOW_INFRA_EDIT=1 git push -q ~/r.git HEAD:refs/heads/new").expect(0);
            at("git push -q ~/r.git :new").expect(0);
        }
    }
}

#[test]
fn a_sparse_index_and_a_bare_repository_hide_nothing() {
    let bench = Bench::guarded(&gits()[0]);
    bench.ok("git sparse-checkout set --cone --sparse-index src; test ! -e scripts");
    bench.ok("echo n >>src/a; git commit -qam fine");
    let ran = bench
        .run("git rm -rq --sparse scripts; git commit -qm x")
        .expect(1);
    assert!(ran.stderr.contains("D scripts/build.sh"), "{}", ran.stderr);

    bench.ok("git branch arkaint/x; git clone -q --bare . ../bare.git; cp .git/hooks/pre-push ../bare.git/hooks/; git init -q --bare ../remote.git");
    let push =
        "git -C ../bare.git -c arkaint.bin=\"$(git config arkaint.bin)\" push -q ../remote.git";
    bench.ok(&format!("{push} main arkaint/x"));
    let ran = bench
        .run(&format!("{push} arkaint/x:refs/heads/other"))
        .expect(1);
    assert!(ran.stderr.contains("may not go to other"), "{}", ran.stderr);
}

/// report_lefthook_901, report_git_for_windows_git_2640, report_husky_1431.
#[test]
fn status_shows_every_worktree_and_what_is_wrong_with_a_hook() {
    let bench = Bench::guarded(&gits()[0]);
    bench.ok("git worktree add -q ../linked; git arkaint hooks status --probe");
    let json = bench
        .run("git arkaint hooks status --probe --json")
        .expect(0)
        .json();
    assert_eq!(json["worktrees"].as_array().unwrap().len(), 2);
    assert_eq!(json["worktrees"][1]["hooks"][0]["answered"], true);
    assert_eq!(
        (json["active"].clone(), json["v"].clone()),
        (true.into(), 1.into())
    );

    // evilmartians_lefthook_901: a relative path is looked up in each worktree, and one of them has no such folder.
    bench.ok("git config core.hooksPath .git/hooks");
    let json = bench
        .run("git arkaint hooks status --json")
        .expect(1)
        .json();
    assert_eq!(
        (
            json["active"].clone(),
            json["worktrees"][0]["hooks"][0]["runs"].clone()
        ),
        (false.into(), true.into())
    );
    assert_eq!(json["worktrees"][1]["hooks"][0]["runs"], false);
    assert!(
        json["worktrees"][1]["mend"]
            .to_string()
            .contains("--unset core.hooksPath"),
        "{json}"
    );
    bench.ok("git config --unset core.hooksPath");

    bench.ok("chmod -x .git/hooks/pre-push");
    let status = bench.run("git arkaint hooks status").expect(1);
    assert!(
        status.stdout.contains("not executable")
            && status.stdout.contains("mend: git arkaint hooks install"),
        "{}",
        status.stdout
    );
    bench.ok("git arkaint -q hooks install; git arkaint hooks status --probe");

    // typicode_husky_1431: Git LFS installs nothing beside another hook, and says so only once.
    bench.ok("echo '*.bin filter=lfs' >.gitattributes; git arkaint hooks status | grep -q 'Git LFS is used here'");
    bench.ok("echo 'git lfs pre-push \"$@\"' >.git/hooks/pre-push; git arkaint -q hooks install; (! git arkaint hooks status | grep 'Git LFS is used here'); rm .gitattributes");
    bench
        .ok("git arkaint -q hooks uninstall; rm .git/hooks/pre-push; git arkaint -q hooks install");

    // git_for_windows_git_2640: what cannot work is said before it fails.
    bench.ok("git arkaint -q hooks uninstall; printf '\\357\\273\\277#!/bin/sh\\n' >.git/hooks/pre-commit; printf '#!/bin/sh\\r\\n' >.git/hooks/pre-push; chmod +x .git/hooks/pre-commit .git/hooks/pre-push; git arkaint -q hooks install");
    let status = bench.run("git arkaint hooks status").expect(0);
    assert!(
        status.stdout.contains("byte order mark") && status.stdout.contains("Windows line ends"),
        "{}",
        status.stdout
    );
}
