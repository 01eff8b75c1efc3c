//! What becomes of ordinary work with git beside Arkaint. The table that this prints is the one of git-arkaint-workflows(7).

use std::sync::OnceLock;

use crate::cycle::{GREEN, cycle, world};
use crate::sandbox::{Ran, Sandbox};
use crate::table;

/// An operation on an agent branch with one sealed cycle, and the same with a protected edit in it (nothing: it commits nothing).
struct Workflow {
    name: &'static str,
    honest: &'static str,
    protected: &'static str,
}

const fn workflow(name: &'static str, honest: &'static str, protected: &'static str) -> Workflow {
    Workflow {
        name,
        honest,
        protected,
    }
}

/// `on_main FILE` commits on main and comes back; `patch FILE` makes ../patch of such a commit.
const HELPERS: &str = r#"
edit() { mkdir -p "$(dirname "$1")"; echo by hand >>"$1"; git add -A; }
on_main() { git switch -q main; edit "$1"; git commit -q --no-verify -m "main: $1"; git switch -q arkaint/work; }
patch() { git switch -q -c topic main; edit "$1"; git commit -q --no-verify -m topic; git format-patch -q -1 --stdout >../patch; git switch -q arkaint/work; }
colleague() { git push -q --no-verify ../hub.git main arkaint/work 2>/dev/null; git clone -q -b arkaint/work ../hub.git ../colleague; (cd ../colleague; edit "$1"; git commit -qm theirs; git push -q); git remote add origin ../hub.git; git pull -q --no-rebase origin arkaint/work; git fetch -q origin; }
git init -q --bare ../hub.git
"#;

const TABLE: &[Workflow] = &[
    workflow(
        "commit by hand on the agent branch",
        "edit own.txt; git commit -qm own",
        "edit scripts/x; git commit -qm own",
    ),
    workflow(
        "commit by a client with a bare PATH",
        "edit own.txt; env -i HOME=\"$HOME\" PATH=/usr/bin:/bin GIT_CONFIG_NOSYSTEM=1 git commit -qm own",
        "edit scripts/x; env -i HOME=\"$HOME\" PATH=/usr/bin:/bin GIT_CONFIG_NOSYSTEM=1 git commit -qm own",
    ),
    workflow(
        "commit --amend of a checkpoint, message alone",
        "git commit -q --amend -m mine",
        "",
    ),
    workflow(
        "commit --amend of a checkpoint, with a change",
        "edit own.txt; git commit -q --amend --no-edit",
        "edit scripts/x; git commit -q --amend --no-edit",
    ),
    workflow(
        "rebase onto main",
        "on_main m.txt; git rebase -q main",
        "on_main scripts/x; git rebase -q main",
    ),
    workflow(
        "cherry-pick from another branch",
        "on_main m.txt; git cherry-pick main >/dev/null",
        "on_main scripts/x; git cherry-pick main >/dev/null",
    ),
    workflow(
        "revert of a checkpoint",
        "git revert --no-edit HEAD >/dev/null",
        "",
    ),
    workflow(
        "merge of main into it",
        "on_main m.txt; git merge -q --no-edit main",
        "on_main scripts/x; git merge -q --no-edit main",
    ),
    workflow(
        "merge of main, stopped by a conflict",
        "on_main work.txt; git merge -q main >/dev/null || true; echo both >work.txt; git add work.txt; git commit -qm both",
        "on_main work.txt; git merge -q main >/dev/null || true; echo both >work.txt; edit scripts/x; git commit -qm both",
    ),
    workflow(
        "am of a patch",
        "patch p.txt; git am -q ../patch",
        "patch scripts/x; git am -q ../patch",
    ),
    workflow(
        "stash, then pop",
        "edit own.txt; git stash push -q; git stash pop -q; git commit -qm own",
        "edit scripts/x; git stash push -q; git stash pop -q; git commit -qm own",
    ),
    workflow(
        "a commit pushed by a colleague without Arkaint",
        "colleague c.txt",
        "colleague scripts/x",
    ),
    workflow(
        "worktree add of another branch",
        "git worktree add -q -b arkaint/other ../other",
        "git worktree add -q -b arkaint/other ../other; cd ../other; edit scripts/x; git commit -qm other",
    ),
    workflow(
        "bisect under way",
        "edit own.txt; git commit -qm own; git bisect start -q HEAD main >/dev/null",
        "",
    ),
    workflow(
        "rebase stopped halfway",
        "on_main work.txt; git rebase -q main >/dev/null 2>&1 || true",
        "",
    ),
    workflow(
        "squash merge into main",
        "git switch -q main; git merge -q --squash arkaint/work >/dev/null; git commit -qm squashed; git switch -q arkaint/work",
        "git switch -q -c x; edit scripts/x; git commit -q --no-verify -m x; git switch -q main; git merge -q --squash x >/dev/null; git commit -qm squashed",
    ),
];

/// A sealed cycle on `arkaint/work`, with the guards; made once, and copied.
fn sealed() -> Sandbox {
    static FIRST: OnceLock<Sandbox> = OnceLock::new();
    let first = FIRST.get_or_init(|| {
        let sandbox = world(GREEN, "echo work $launch >>work.txt; finish done");
        sandbox.arkaint(["init"]).expect(0);
        cycle(&sandbox).expect(0);
        sandbox
    });
    let sandbox = Sandbox::new();
    sandbox.sh("rm -rf .git *");
    first.sh(&format!("cp -a . {}", sandbox.repo.display()));
    sandbox
}

fn run(sandbox: &Sandbox, script: &str) -> Ran {
    let mut bash = sandbox.command("bash");
    bash.args(["-euc", &format!("{HELPERS}{script}")]);
    bash.output().unwrap().into()
}

/// The cells of a row: when is a protected edit refused, what is the newest checkpoint afterwards, and what does the next cycle do?
fn row(workflow: &Workflow) -> [String; 3] {
    let name = workflow.name;
    let edit = if workflow.protected.is_empty() {
        "-"
    } else {
        let sandbox = sealed();
        let ran = run(&sandbox, workflow.protected);
        if ran.stderr.contains(" refused: ") && ran.stderr.contains("scripts/x") {
            assert_eq!(ran.code, Some(1), "{name}: {}", ran.stderr);
            "at once"
        } else {
            assert_eq!(ran.code, Some(0), "{name}: {}", ran.stderr);
            // No hook was asked: the next one is.
            let push = "git push -q ../hub.git HEAD:refs/heads/arkaint/pushed";
            let pushed = sandbox.command("sh").args(["-c", push]).output().unwrap();
            match Ran::from(pushed) {
                ran if ran.code == Some(0) => "published",
                ran if ran.code == Some(1) && ran.stderr.contains("push refused: ") => "at push",
                ran => panic!("{name}: {}", ran.stderr),
            }
        }
    };
    let sandbox = sealed();
    run(&sandbox, workflow.honest).expect(0);
    let status = sandbox.arkaint(["status", "--json"]).json();
    let checkpoint = match status["newest_is"]["label"].as_str() {
        _ if status["checkpoint"]["at_head"] == true => "is HEAD",
        Some("stable") => "below HEAD",
        Some("invalid") => "void",
        other => panic!("{name}: {other:?} in {status}"),
    };
    let next = cycle(&sandbox);
    let next = match next.code {
        Some(0) => "goes on".to_owned(),
        Some(2) => {
            let cause = next.stderr.lines().next().unwrap();
            assert_eq!(next.stderr.lines().count(), 2, "{name}: {}", next.stderr);
            format!("refused: {}", cause.trim_start_matches("arkaint: "))
        }
        _ => panic!("{name}: {}", next.stderr),
    };
    [edit.to_owned(), checkpoint.to_owned(), next]
}

#[test]
#[expect(clippy::print_stdout, reason = "the table, for `--nocapture`")]
fn each_workflow_ends_as_the_manual_says() {
    let rows: Vec<Vec<String>> = table::each(TABLE, |workflow| {
        let [edit, checkpoint, next] = row(workflow);
        vec![workflow.name.to_owned(), edit, checkpoint, next]
    });
    for row in &rows {
        let [name, edit, checkpoint, next] = row.as_slice() else {
            unreachable!()
        };
        println!("{name:<48}{edit:<10}{checkpoint:<12}{next}");
    }
    let names: Vec<&str> = TABLE.iter().map(|workflow| workflow.name).collect();
    table::assert_told("git-arkaint-workflows", &names, &rows);
}
