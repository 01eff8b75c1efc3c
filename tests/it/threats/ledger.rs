//! A ledger, refs, history and an index that lie.

use super::{REFUSED, Row, broken, refs, row, said, settings, table};
use crate::files::differing;
use crate::sandbox::Sandbox;
use crate::stand_in::PRELUDE;

/// THREATS 2b: an agent that turns ledger, refs, history and index against the rules. Afterwards the branch descends from where it was, `main`
/// and our refs are where they were, the stable checkpoint proves itself, and a rollback works.
#[test]
fn a_ledger_that_lies_is_found_and_put_back() {
    let rows = [
        Row {
            verify: (1, "the state hash does not fit the commit's own tree"),
            holds: "grep -q \"breaks at $(git log -1 --format=%H $start..HEAD -- x):\" <<<\"$(git arkaint log --verify)\"",
            ..row(
                "a forged checkpoint, all trailers stable",
                "git log -1 --format=%B >m; echo x >x; git add x; git commit -qF m; rm m",
                "",
            )
        },
        Row {
            verify: (0, "the chain of 2 checkpoints holds"),
            ..row(
                "a side branch of forgeries, dated ahead, merged",
                "b=$(git branch --show-current); git switch -qc side; for i in 1 2 3; do GIT_COMMITTER_DATE='2030-01-01T00:00:00Z' git commit -q --allow-empty -m \"$(git log -1 --format=%B $b)\"; done; git switch -q $b; git merge -q --no-ff -m merge side",
                "",
            )
        },
        row(
            "refs/replace of the stable checkpoint",
            "t=$(echo evil | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tsrc\\n' $t | git mktree); git replace HEAD $(git commit-tree -m evil $t)",
            "replaces an object",
        ),
        row(
            "info/grafts",
            "mkdir -p .git/info; git rev-parse HEAD >.git/info/grafts",
            "info/grafts was added",
        ),
        row(
            "a shallow file",
            "git rev-parse HEAD >.git/shallow",
            "shallow was added",
        ),
        row(
            "an archive's ref turned into a link to main",
            "for r in $(git for-each-ref --format='%(refname)' refs/arkaint/discarded); do git symbolic-ref $r refs/heads/main; done",
            "refs/arkaint/discarded",
        ),
        row(
            "our refs and the ledger deleted, then gc",
            "for r in $(git for-each-ref --format='%(refname)' refs/arkaint refs/notes); do git update-ref -d $r; done; git reflog expire --expire=now --all; git gc -q --prune=now",
            "was deleted",
        ),
        row(
            "the ledger moved back",
            "git update-ref refs/notes/arkaint/ledger $(git commit-tree -m empty $(git hash-object -t tree -w /dev/null))",
            "does not descend",
        ),
        row(
            "HEAD turned to main",
            "git symbolic-ref HEAD refs/heads/main",
            "HEAD was turned to branch main",
        ),
        row(
            "HEAD detached",
            "git checkout -q --detach",
            "HEAD was turned to",
        ),
        row(
            "main moved",
            "git update-ref refs/heads/main $(git commit-tree -m evil HEAD^{tree})",
            "refs/heads/main was moved",
        ),
        row(
            "the stable checkpoint amended",
            "echo y >y; git add y; git commit -q --amend -m 'nothing happened'",
            "does not descend",
        ),
        row(
            "reset to before it",
            "git reset -q --hard HEAD~1",
            "does not descend",
        ),
        row(
            "the branch deleted",
            "b=$(git branch --show-current); git checkout -q --detach; git branch -qD $b",
            "was deleted",
        ),
        Row {
            holds: "test -z \"$(find .git -name '*.lock')\"",
            ..row(
                "locks of HEAD and the branch, left behind",
                "touch .git/HEAD.lock .git/refs/heads/arkaint/work.lock",
                "HEAD.lock: a git that was ended left it",
            )
        },
        Row {
            holds: "test ! -e .git/index.lock",
            ..row(
                "a lock of the index, left behind",
                "touch .git/index.lock",
                "index.lock: a git that was ended left it",
            )
        },
        Row {
            holds: "test -z \"$(git status --porcelain)\"; test \"$(git show HEAD:src/lib.txt)\" = \"$(git show $start:src/lib.txt)\"",
            ..row("an index of garbage", "echo garbage >.git/index", "")
        },
        Row {
            holds: "test \"$(git show HEAD:src/lib.txt) $(git show HEAD:tool.sh)\" = 'hidden hidden2'",
            ..row(
                "changes hidden by skip-worktree and assume-unchanged",
                "echo hidden >src/lib.txt; git update-index --skip-worktree src/lib.txt; echo hidden2 >tool.sh; git update-index --assume-unchanged tool.sh",
                "",
            )
        },
        Row {
            holds: "for a in $(git for-each-ref --format='%(refname)' refs/arkaint/discarded); do git show $a:src/lib.txt; done | grep -qx eno",
            ..row(
                "a change of the same size and time, checkStat minimal",
                "git config core.trustctime false; git config core.checkStat minimal; touch -r src/lib.txt t; printf 'eno\\nowt\\n' >src/lib.txt; touch -r t src/lib.txt; rm t",
                "core.checkstat",
            )
        },
        row(
            "a FIFO among the hooks, in the place of HEAD and below refs",
            "mkfifo .git/hooks/x; mkfifo .git/refs/heads/x; mkdir -p .git/logs/refs; mkfifo .git/logs/refs/stash; cp .git/HEAD h; rm .git/HEAD; mkfifo .git/HEAD; rm h",
            "hooks/x was added",
        ),
        row(
            "main deleted, and a branch below its name",
            "git branch -q -D main && git branch main/x",
            "refs/heads/main was deleted",
        ),
        Row {
            verify: (0, "the chain of 2 checkpoints holds"),
            ..row(
                "the commit made with --no-verify and its own identity",
                "echo z >z; git add -A; git -c user.name=Arkaint -c core.hooksPath=/dev/null commit -qnm '[arkaint-sync] checkpoint'",
                "",
            )
        },
    ];
    let (mut told, mut bad) = (Vec::new(), Vec::new());
    for row in &rows {
        let Row {
            attack,
            plant,
            said: word,
            ..
        } = row;
        let sandbox = Sandbox::stable();
        let at = |name: &str| sandbox.git(["rev-parse", name]);
        let (start, main) = (at("HEAD"), at("main"));
        sandbox.agent(&format!(
            "{PRELUDE}\n[ $launch != 1 ] || {{\n{plant}\n}}\necho work $launch >work; finish did"
        ));
        let (then, refs) = (settings(&sandbox), refs(&sandbox));
        let ran = sandbox.arkaint(["cycle", "do it"]);
        let mut wrong = |what: String| bad.push(format!("{attack}: {what}\n{}", ran.stderr));
        if ran.code != Some(row.code) {
            wrong(format!("exit {:?}", ran.code));
        }
        if !ran.stderr.contains(word) {
            wrong(format!("nothing of {word}"));
        }
        if at("main") != main {
            wrong("main was moved".to_owned());
        }
        if sandbox.git(["symbolic-ref", "HEAD"]) != "refs/heads/arkaint/work" {
            wrong("HEAD is elsewhere".to_owned());
        }
        if sandbox
            .try_git([
                "--no-replace-objects",
                "merge-base",
                "--is-ancestor",
                &start,
                "HEAD",
            ])
            .code
            != Some(0)
        {
            wrong("history was rewritten".to_owned());
        }
        if !sandbox.git(["for-each-ref", "refs/replace"]).is_empty() {
            wrong("a replacement stays".to_owned());
        }
        let put_back = differing(&settings(&sandbox), &then);
        if !put_back.is_empty() {
            wrong(format!("not put back: {put_back:?}"));
        }
        let now = self::refs(&sandbox);
        for (name, to) in &refs {
            if now.get(name) != Some(to) {
                wrong(format!("{name} is at {:?}, not at {to}", now.get(name)));
            }
        }
        if let Some(what) = broken(&sandbox, row, &start) {
            wrong(what);
        }
        // A lock that may be alive is a person's to remove.
        sandbox.sh("find .git -name '*.lock' -delete");
        // A forgery in the history is named, and is no checkpoint; beside the history it counts for nothing.
        let verified = sandbox.arkaint(["log", "--verify"]);
        let (code, text) = row.verify;
        if verified.code != Some(code) || !verified.stdout.contains(text) {
            wrong(format!(
                "log --verify: {:?} {} {}",
                verified.code, verified.stdout, verified.stderr
            ));
        }
        sandbox.write("junk", "junk\n");
        let rolled = sandbox.arkaint(["rollback"]);
        if rolled.code != Some(0)
            || sandbox.exists("junk")
            || !sandbox.git(["status", "--porcelain"]).is_empty()
        {
            wrong(format!("rollback: {}", rolled.stderr));
        }
        let happened = if row.code == REFUSED {
            "refused by name, nothing lost"
        } else {
            "found; sealed on the true history"
        };
        told.push(((*attack).to_owned(), happened.to_owned(), said(&ran, word)));
    }
    table("ledger, refs, history and index", &told);
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
