//! What a push may carry, and where.

use super::{Bench, case, gits, share};

#[test]
fn pushes_are_judged_line_by_line() {
    let table: &[(&str, &str, &str, Option<&str>)] = &[
        (
            "honest",
            "echo n >>src/a; git commit -qam n",
            "git push -q origin main",
            None,
        ),
        (
            "isolated to itself",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m n",
            "git push -q origin arkaint/x",
            None,
        ),
        (
            "isolated to its kind",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m n",
            "git push -q origin HEAD:refs/heads/ephemeral-y",
            None,
        ),
        (
            "isolated to main",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m n",
            "git push -q origin arkaint/x:main",
            Some("may not go to main"),
        ),
        (
            "isolated HEAD to main",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m n",
            "git push -q origin HEAD:main",
            Some("may not go to main"),
        ),
        (
            "by force",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m n",
            "git push -q origin +arkaint/x:main",
            Some("may not go to main"),
        ),
        (
            "by its object name, from main",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m n; git switch -q main",
            "git push -q origin $(git rev-parse arkaint/x):refs/heads/main",
            Some("may not go to main"),
        ),
        (
            "by an expression",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m 'a b'; git switch -q main",
            "git push -q origin 'arkaint/x^{/a b}:refs/heads/main'",
            Some("may not go to main"),
        ),
        (
            "behind a tag",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m n; git tag -am t t1; git switch -q main",
            "git push -q origin t1^{}:refs/heads/main",
            Some("may not go to main"),
        ),
        (
            "to a tag",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m n",
            "git push -q origin arkaint/x:refs/tags/t2",
            Some("may not go to refs/tags/t2"),
        ),
        (
            "to a review ref",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m n",
            "git push -q origin HEAD:refs/for/main",
            Some("may not go to refs/for/main"),
        ),
        (
            "among other lines",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m n; git branch fine main",
            "git push -q origin fine arkaint/x:other",
            Some("may not go to other"),
        ),
        (
            "as the remote has it",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m n; git push -q origin arkaint/x; git switch -q main; git branch -D arkaint/x",
            "git push -q origin origin/arkaint/x:refs/heads/main",
            Some("may not go to main"),
        ),
        (
            "merged, then its commit by name",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m n; git switch -q main; git merge -q --ff-only arkaint/x",
            "git push -q origin $(git rev-parse arkaint/x):refs/heads/main; git push -q origin main~0:refs/heads/main",
            None,
        ),
        (
            "a tag as a tag",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m n; git tag -am t t3",
            "git push -q origin t3",
            None,
        ),
        (
            "all",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m n",
            "git push -q --all origin",
            None,
        ),
        (
            "mirror",
            "git switch -q -c arkaint/x; git commit -q --allow-empty -m n; git push -q origin arkaint/x",
            "git push -q --mirror origin",
            None,
        ),
        (
            "delete",
            "git push -q origin main:refs/heads/gone",
            "git push -q origin :gone",
            None,
        ),
        (
            "blobs and trees",
            "git tag blob $(git rev-parse HEAD:src/a); git tag tree HEAD^{tree}",
            "git push -q origin blob tree",
            None,
        ),
        (
            "notes with any names",
            "git update-ref refs/notes/n $(git commit-tree -m n $(git write-tree --prefix=scripts/))",
            "git push -q origin refs/notes/n",
            None,
        ),
        ("nothing to push", "", "git push -q origin main", None),
        (
            "infra, past the hook",
            "echo n >>scripts/build.sh; git commit -qanm n",
            "git push -q origin main",
            Some("M scripts/build.sh"),
        ),
        (
            "infra, dry",
            "echo n >>scripts/build.sh; git commit -qanm n",
            "git push -q --dry-run origin main",
            Some("M scripts/build.sh"),
        ),
        (
            "infra, by another road",
            "git update-ref refs/heads/side $(git commit-tree -p HEAD -m n $(git rev-parse HEAD:src))",
            "git push -q origin side",
            Some("D scripts/build.sh"),
        ),
        (
            "infra, on a new branch",
            "git switch -q -c new; git commit -q --allow-empty -m n; git rm -q scripts/build.sh; git commit -qnm n",
            "git push -q origin new",
            Some("D scripts/build.sh"),
        ),
        (
            "infra, to itself",
            "git switch -q -c arkaint/x; echo n >>scripts/build.sh; git commit -qanm n",
            "git push -q origin arkaint/x",
            Some("M scripts/build.sh"),
        ),
        (
            "infra, in a tag",
            "echo n >>scripts/build.sh; git commit -qanm n; git tag -am t t4",
            "git push -q origin t4",
            Some("M scripts/build.sh"),
        ),
        (
            "infra, made and taken back",
            "echo n >>scripts/build.sh; git commit -qanm n; git revert --no-edit HEAD >/dev/null",
            "git push -q origin main",
            Some("2 commits change"),
        ),
        (
            "infra, in a merge of its own",
            "git switch -q -c o; git commit -q --allow-empty -m o; git switch -q main; git commit -q --allow-empty -m m; git merge -q --no-commit o; echo e >>scripts/build.sh; git add -A; git commit -qnm m",
            "git push -q origin main",
            Some("scripts/build.sh"),
        ),
        (
            "infra, merged in",
            "git switch -q -c o; echo n >>scripts/build.sh; git commit -qanm o; git switch -q main; git commit -q --allow-empty -m m; git merge -q -m m o",
            "git push -q origin main",
            Some("M scripts/build.sh"),
        ),
        (
            "infra, and its rule in one push",
            "echo n >>ci/deploy/key; git commit -qanm n; echo >arkaint.toml; git commit -qanm n; git push -q --no-verify origin HEAD~2:refs/heads/before",
            "git push -q origin main",
            Some("M ci/deploy/key"),
        ),
        (
            "infra, permitted in the checkpoint",
            "echo n >>scripts/build.sh; git commit -qanm \"$(printf 'n\\n\\nArkaint-Version: 1\\nArkaint-Infra-Edit: allowed\\n')\"",
            "git push -q origin main",
            None,
        ),
        (
            "infra, permitted, odd separators",
            "git config trailer.separators =; echo n >>scripts/build.sh; git commit -qanm \"$(printf 'n\\n\\nArkaint-Infra-Edit: allowed\\n')\"",
            "git push -q origin main; git config --unset trailer.separators",
            None,
        ),
        (
            "infra, the word in prose alone",
            "echo n >>scripts/build.sh; git commit -qanm \"$(printf 'n\\n\\nArkaint-Infra-Edit: allowed\\n\\nmore prose here')\"",
            "git push -q origin main",
            Some("M scripts/build.sh"),
        ),
        (
            "infra, permitted for the push",
            "echo n >>scripts/build.sh; git commit -qanm n",
            "ARKAINT_ALLOW_INFRA_EDIT=1 git push -q origin main",
            None,
        ),
        (
            "infra, by another value",
            "echo n >>scripts/build.sh; git commit -qanm n",
            "ARKAINT_ALLOW_INFRA_EDIT=yes git push -q origin main",
            Some("M scripts/build.sh"),
        ),
        (
            "infra, by URL",
            "echo n >>scripts/build.sh; git commit -qanm n",
            "git push -q ../remote.git main",
            Some("M scripts/build.sh"),
        ),
        (
            "what a colleague pushed",
            "git clone -q ../remote.git ../c; (cd ../c; echo n >>scripts/build.sh; git commit -qam n; git push -q origin main); rm -rf ../c; git pull -q origin main; git commit -q --allow-empty -m x",
            "git push -q origin main; git push -q ../remote.git main:refs/heads/again",
            None,
        ),
        (
            "what the remote has and we do not know",
            "git clone -q ../remote.git ../c; (cd ../c; git commit -q --allow-empty -m n; git push -q origin main); rm -rf ../c; git commit -q --allow-empty -m y",
            "git push -q -f origin main",
            None,
        ),
    ];
    for (turn, git) in gits().into_iter().enumerate() {
        let bench = Bench::guarded(&git);
        bench.ok("git remote add origin ../remote.git");
        for (what, before, action, named) in share(table, turn) {
            let before = format!(
                "rm -rf ../remote.git; git init -q --bare ../remote.git; git push -q --no-verify origin base:refs/heads/main; git fetch -q --prune origin
                 git tag -l | grep -v base | xargs -r git tag -d >/dev/null\n{before}"
            );
            let ran = case(&bench, &before, action);
            assert_eq!(
                ran.code,
                Some(i32::from(named.is_some())),
                "{what} with {}:\n{}",
                git.display(),
                ran.stderr
            );
            match named {
                Some(named) => assert!(
                    ran.stderr.contains(named) && ran.stderr.contains("push refused: "),
                    "{what}: {}",
                    ran.stderr
                ),
                None => assert!(!ran.stderr.contains("arkaint:"), "{what}: {}", ran.stderr),
            }
        }
    }
}

#[test]
fn the_history_of_a_project_is_not_judged_when_it_is_first_pushed() {
    for git in gits() {
        let bench = Bench::new(&git);
        bench.ok(
            "mkdir scripts; echo 1 >scripts/s; git add -A; git commit -qm old; echo 2 >scripts/s; git commit -qam older
             git switch -q -c side; echo 3 >scripts/s; git commit -qam side; git switch -q main
             git arkaint -q hooks install; echo >arkaint.toml; git add -A; git commit -qm adopt
             git init -q --bare ../remote.git; git remote add origin ../remote.git; git push -q origin main side",
        );
        // Nor in a clone that installs later: what stands below the first arkaint.toml was free.
        bench.ok("git clone -q ../remote.git ../clone; cd ../clone; git arkaint -q hooks install; git init -q --bare ../fork.git; git push -q ../fork.git main");
        bench.ok("rm -rf ../remote.git; git init -q --bare ../remote.git; git remote remove origin; git remote add origin ../remote.git; git push -q origin main side");
        bench
            .run("echo 4 >scripts/s; git commit -qnam past; git push -q origin main")
            .expect(1);
    }
}
