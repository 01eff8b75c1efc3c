//! What an agent can leave behind, row by row: code that would run in our next git call, a ledger and refs that lie, files that a
//! `reset --hard` and `clean -fd` would lose or miss. Each test prints its table: attack, what happened, what was said.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use crate::files::{File, Files, contents, differing, lost};
use crate::sandbox::{Ran, Sandbox, is_long};
use crate::stand_in::PRELUDE;

/// One attack, as a shell script that is run in the worktree.
#[derive(Clone, Copy)]
struct Row {
    attack: &'static str,
    plant: &'static str,
    /// A word of what must be said; empty where there is nothing to say.
    said: &'static str,
    /// How the command under attack ends: [`REFUSED`], or it does its work all the same.
    code: i32,
    /// How `git arkaint log --verify` ends afterwards, and what it says.
    verify: (i32, &'static str),
    /// What must be true afterwards, in bash; `$start` is the commit from before.
    holds: &'static str,
}

const REFUSED: i32 = 3;

const fn row(attack: &'static str, plant: &'static str, said: &'static str) -> Row {
    Row {
        attack,
        plant,
        said,
        code: 0,
        verify: (0, " holds"),
        holds: "",
    }
}

/// Shell functions for what is planted. `$EVIL` leaves a mark where it runs, and passes on what it reads.
const TOOLS: &str = r#"
EVIL="$HOME/evil"
printf '#!/bin/sh\necho "$0 $*" >>"%s/mark"\ncat\n' "$HOME" >"$EVIL"; chmod +x "$EVIL"
set_key() { git config --file .git/config "$1" "$2"; }
hook() { mkdir -p "$1"; cp "$EVIL" "$1/$2"; }
"#;

/// A table past the test harness, which keeps what passing tests print to itself.
fn table(title: &str, rows: &[(String, String, String)]) {
    let mut text = format!("\n{title}\n");
    for (attack, happened, said) in rows {
        text.push_str(&format!("  {attack:<58} | {happened:<40} | {said}\n"));
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// What a person reads of it: the first line with `word`, else the last.
fn said(ran: &Ran, word: &str) -> String {
    let lines: Vec<&str> = ran.stderr.lines().collect();
    let line = lines
        .iter()
        .find(|line| !word.is_empty() && line.contains(word));
    let line = line.or(lines.last()).unwrap_or(&"");
    line.chars().take(110).collect()
}

/// What decides about git's next call and is nobody's work: configuration, hooks, `info`, HEAD and a shallow file, by path and content.
/// Anything but a file or a folder is an entry of its own.
fn settings(sandbox: &Sandbox) -> Files {
    let git = sandbox.repo.join(".git");
    let mut found = contents(&git);
    // Said and left, as it runs nothing itself.
    if let Some(config) = found.get_mut(Path::new("config")) {
        let text = String::from_utf8_lossy(&config.content);
        config.content = text
            .replace("[log]\n\tshowSignature = true\n", "")
            .into_bytes();
    }
    let deciding = [
        "config",
        "config.worktree",
        "hooks",
        "info",
        "HEAD",
        "shallow",
    ];
    found.retain(|path, _| deciding.iter().any(|name| path.starts_with(name)));
    // What was moved aside lies below `arkaint`, and logs are no settings.
    let others = sandbox.sh(
        "find .git \\( -path .git/arkaint -o -path .git/logs \\) -prune -o -not -type f -not -type d -print",
    );
    let other = |path: &str, content| (path.into(), File { kind: '?', content });
    found.extend(others.lines().map(|path| other(path, Vec::new())));
    if !git.symlink_metadata().unwrap().is_dir() {
        found.extend([other(".git", fs::read(&git).unwrap())]);
    }
    found
}

/// Every ref by what it is, but for those that a run moves on: the branch, and the ledger's.
fn refs(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let list = sandbox.git([
        "for-each-ref",
        "--format=%(refname) %(objectname) %(symref)",
    ]);
    let all = list.lines().map(|line| line.split_once(' ').unwrap());
    let still = all.filter(|(name, _)| {
        *name != "refs/heads/arkaint/work" && *name != "refs/notes/arkaint/ledger"
    });
    still
        .map(|(name, to)| (name.to_owned(), to.to_owned()))
        .collect()
}

/// Runs the condition of a row; says what it printed where it does not hold.
fn broken(sandbox: &Sandbox, row: &Row, start: &str) -> Option<String> {
    let mut bash = sandbox.command("bash");
    let script = format!("set -x\n{}", row.holds);
    let ran = Ran::from(
        bash.args(["-euc", &script])
            .env("start", start)
            .output()
            .unwrap(),
    );
    (ran.code != Some(0)).then(|| format!("{}: {}{}", row.holds, ran.stdout, ran.stderr))
}

/// THREATS 2a: what is planted while a run lasts runs neither in our git calls after it, nor in the operator's next ones.
#[test]
fn planted_code_does_not_run() {
    let rows = [
        row(
            "core.fsmonitor",
            "set_key core.fsmonitor \"$EVIL\"",
            "core.fsmonitor",
        ),
        row(
            "core.fsmonitor by include.path",
            "git config --file .git/more core.fsmonitor \"$EVIL\"; set_key include.path more",
            "include.path",
        ),
        row(
            "core.fsmonitor by config.worktree",
            "set_key extensions.worktreeConfig true; git config --file .git/config.worktree core.fsmonitor \"$EVIL\"",
            "config.worktree",
        ),
        row(
            "core.hooksPath to a folder of the worktree",
            "for h in post-index-change reference-transaction pre-commit post-commit; do hook evil-hooks $h; done; set_key core.hooksPath evil-hooks",
            "core.hookspath",
        ),
        row(
            "hooks",
            "for h in reference-transaction post-index-change pre-commit post-commit prepare-commit-msg commit-msg post-checkout; do hook .git/hooks $h; done",
            "hooks/",
        ),
        row(
            "filter.clean by .gitattributes",
            "set_key filter.x.clean \"$EVIL\"; set_key filter.x.smudge \"$EVIL\"; echo '* filter=x' >.gitattributes",
            "filter.x",
        ),
        row(
            "filter.process by .git/info/attributes",
            "set_key filter.x.process \"$EVIL\"; mkdir -p .git/info; echo '* filter=x' >.git/info/attributes",
            "filter.x",
        ),
        row(
            "diff.external, diff.x.command, diff.x.textconv",
            "set_key diff.external \"$EVIL\"; set_key diff.x.command \"$EVIL\"; set_key diff.x.textconv \"$EVIL\"; echo '* diff=x' >.gitattributes",
            "diff.external",
        ),
        row(
            "merge.x.driver",
            "set_key merge.x.driver \"$EVIL\"; echo '* merge=x' >.gitattributes",
            "merge.x",
        ),
        row(
            "gpg.program with commit.gpgSign and log.showSignature",
            "set_key gpg.program \"$EVIL\"; set_key commit.gpgSign true; set_key log.showSignature true",
            "gpg.program",
        ),
        row(
            "core.sshCommand, credential.helper, remote by ext::",
            "set_key core.sshCommand \"$EVIL\"; set_key credential.helper \"$EVIL\"; set_key remote.origin.url \"ext::$EVIL\"",
            "core.sshcommand",
        ),
        row(
            "trailer.x.cmd",
            "set_key trailer.x.cmd \"$EVIL\"; set_key trailer.x.ifmissing add",
            "trailer.x",
        ),
        row(
            "alias, core.editor, core.pager, sequence.editor",
            "set_key alias.status \"!$EVIL\"; set_key core.editor \"$EVIL\"; set_key core.pager \"$EVIL\"; set_key sequence.editor \"$EVIL\"",
            "core.editor",
        ),
        row(
            "core.worktree to another folder",
            "mkdir \"$HOME/other\"; echo precious >\"$HOME/other/src\"; set_key core.worktree \"$HOME/other\"",
            "core.worktree",
        ),
        row(
            "core.alternateRefsCommand, uploadpack.packObjectsHook",
            "set_key core.alternateRefsCommand \"$EVIL\"; set_key uploadpack.packObjectsHook \"$EVIL\"",
            "core.alternaterefscommand",
        ),
        row(
            ".git swapped for a gitfile",
            "cp -a .git ../evil.git; git config --file ../evil.git/config core.fsmonitor \"$EVIL\"; git config --file ../evil.git/config core.worktree \"$PWD\"; mv .git ../real.git; echo \"gitdir: $(cd ../evil.git && pwd)\" >.git",
            "was moved to",
        ),
        row(
            "a nested repository with fsmonitor and filter",
            "git init -q nested; cd nested; echo '* filter=x' >.gitattributes; echo f >f; git add -A; git commit -qm n; git config core.fsmonitor \"$EVIL\"; git config filter.x.clean \"$EVIL\"; echo more >>f; hook .git/hooks post-index-change; cd ..",
            "nested",
        ),
        row(
            "the same, staged as a link",
            "git init -q nested; cd nested; echo '* filter=x' >.gitattributes; echo f >f; git add -A; git commit -qm n; cd ..; git add nested 2>/dev/null; cd nested; git config core.fsmonitor \"$EVIL\"; git config filter.x.clean \"$EVIL\"; echo more >>f; cd ..",
            "nested",
        ),
        row(
            "the same, committed as a link",
            "git init -q nested; cd nested; echo '* filter=x' >.gitattributes; echo f >f; git add -A; git commit -qm n; cd ..; git add nested 2>/dev/null; git commit -qm link; cd nested; git config core.fsmonitor \"$EVIL\"; git config filter.x.clean \"$EVIL\"; echo more >>f; cd ..",
            "",
        ),
    ];
    // Those that only set keys and place files do not meet: one run for all of them, but for the long version.
    let alone = [
        "include.path",
        "config.worktree",
        "core.worktree",
        "swapped",
        "nested",
        "the same",
        "hooksPath",
    ];
    let (alone, together): (Vec<&Row>, Vec<&Row>) = rows
        .iter()
        .partition(|row| is_long() || alone.iter().any(|word| row.attack.contains(word)));
    let mut batches: Vec<Vec<&Row>> = alone.into_iter().map(|row| vec![row]).collect();
    batches.extend((!together.is_empty()).then_some(together));
    let (mut told, mut bad) = (Vec::new(), Vec::new());
    for batch in batches {
        let sandbox = Sandbox::stable();
        let plants: Vec<String> = batch
            .iter()
            .map(|row| row.plant.replace(">.gitattributes", ">>.gitattributes"))
            .collect();
        let attacks: Vec<&str> = batch.iter().map(|row| row.attack).collect();
        let attack = attacks.join(" + ");
        sandbox.agent(&format!(
            "{PRELUDE}\n{TOOLS}\n[ $launch != 1 ] || {{\n{}\n}}\necho work $launch >work; finish did",
            plants.join("\n")
        ));
        let then = settings(&sandbox);
        let ran = sandbox.arkaint(["cycle", "do it"]);
        let put_back = differing(&settings(&sandbox), &then);
        if !put_back.is_empty() {
            bad.push(format!(
                "{attack}: not put back: {put_back:?}\n{}",
                ran.stderr
            ));
        }
        let mark = sandbox.home().join("mark");
        let ours = fs::read_to_string(&mark).unwrap_or_default();
        if !ours.is_empty() {
            bad.push(format!(
                "{attack}: it ran in our calls: {ours}\n{}",
                ran.stderr
            ));
        }
        // The person runs plain git next; only what lies in a nested repository is not put back.
        let _ = fs::remove_file(&mark);
        for args in [&["status"][..], &["log", "-p", "-2"], &["diff", "HEAD"]] {
            sandbox.try_git(args);
        }
        let rolled = sandbox.arkaint(["rollback"]);
        if mark.exists() && !attack.contains("nested") && !attack.contains("the same") {
            let what = fs::read_to_string(&mark).unwrap();
            bad.push(format!(
                "{attack}: it runs in the next git: {what}\n{}",
                ran.stderr
            ));
        }
        if rolled.code != Some(0) {
            bad.push(format!("{attack}: rollback: {}", rolled.stderr));
        }
        let other = sandbox.home().join("other/src");
        if attack.contains("core.worktree") && fs::read_to_string(other).unwrap() != "precious\n" {
            bad.push(format!("{attack}: the other folder was touched"));
        }
        for row in batch {
            if ran.code != Some(row.code) || !ran.stderr.contains(row.said) {
                bad.push(format!(
                    "{}: {:?}, nothing of {}\n{}",
                    row.attack, ran.code, row.said, ran.stderr
                ));
            }
            if let Some(what) = broken(&sandbox, row, "") {
                bad.push(format!("{}: {what}\n{}", row.attack, ran.stderr));
            }
            let happened = if row.said.is_empty() || row.said == "nested" {
                "nothing of it ran"
            } else {
                "nothing of it ran; put back"
            };
            told.push((
                row.attack.to_owned(),
                happened.to_owned(),
                said(&ran, row.said),
            ));
        }
    }
    table("code execution through our next git call", &told);
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

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
            code: REFUSED,
            // Nobody has them open and no git runs here: they are dead, and go with the commit that they stopped.
            holds: "test \"$(cat work)\" = 'work 1'; test -z \"$(find .git -name '*.lock')\"",
            ..row(
                "locks of HEAD and the branch",
                "touch .git/HEAD.lock .git/refs/heads/arkaint/work.lock",
                ".lock",
            )
        },
        Row {
            code: REFUSED,
            holds: "test \"$(cat work)\" = 'work 1'; test -e .git/index.lock",
            ..row("a lock of the index", "touch .git/index.lock", "index.lock")
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

/// THREATS 2c: what an agent leaves that `git reset --hard; git clean -fd` loses, misses or trips over.
#[test]
fn every_shape_that_is_left_is_archived_and_undone_or_refused_by_name() {
    let rows = [
        row(
            "core.worktree set to another folder",
            "mkdir \"$HOME/other\"; echo precious >\"$HOME/other/src\"; git config core.worktree \"$HOME/other\"",
            "",
        ),
        row(
            "a nested repository with commits",
            "git init -q n; echo a >n/a; git -C n add a; git -C n commit -qm a; echo b >n/b",
            "",
        ),
        row(
            "a nested repository without a commit",
            "git init -q n; echo a >n/a",
            "",
        ),
        row(
            "a nested repository committed as a link",
            "git init -q n; echo a >n/a; git -C n add a; git -C n commit -qm a; git add n 2>/dev/null; git commit -qm link; echo b >n/b",
            "",
        ),
        row(
            "a submodule added",
            "git init -q \"$HOME/up\"; git -C \"$HOME/up\" commit -q --allow-empty -m u; git -c protocol.file.allow=always submodule --quiet add \"$HOME/up\" sm; echo x >sm/x",
            "",
        ),
        row(
            "a folder whose .gitignore is *",
            "mkdir self; echo '*' >self/.gitignore; echo h >self/h",
            "",
        ),
        row(
            "info/exclude and core.excludesFile of *",
            "echo '*' >.git/info/exclude; echo x >x.log",
            "",
        ),
        row(
            "a tracked .gitignore widened",
            "printf 'build/\\n*.log\\ndata/\\n*.txt\\n' >.gitignore; mkdir data; echo d >data/d; echo t >t.txt; echo c >>src/lib.txt",
            "",
        ),
        row(
            "a read-only folder",
            "mkdir ro; echo r >ro/r; chmod 555 ro; echo s >>sub/inner.txt; chmod 555 sub",
            "",
        ),
        row(
            "an unreadable file",
            "echo u >u; chmod 000 u; chmod 000 src/lib.txt",
            "",
        ),
        row(
            "an unreadable folder",
            "mkdir un; echo u >un/u; chmod 000 un",
            "",
        ),
        row("a FIFO", "mkfifo pipe; echo x >x", "pipe"),
        row(
            "a socket",
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'; echo x >x",
            "sock",
        ),
        row(
            "a tracked file replaced by a FIFO",
            "rm src/lib.txt; mkfifo src/lib.txt",
            "src/lib.txt",
        ),
        row(
            "a tracked folder replaced by a link to outside",
            "mkdir \"$HOME/out\"; echo precious >\"$HOME/out/inner.txt\"; rm -r sub; ln -s \"$HOME/out\" sub",
            "",
        ),
        row(
            "a tracked file replaced by a hard link to outside",
            "echo precious >\"$HOME/out.txt\"; ln -f \"$HOME/out.txt\" src/lib.txt",
            "",
        ),
        Row {
            code: REFUSED,
            holds: "test \"$(find . -name deep -execdir cat {} + | wc -c)\" = 4",
            ..row(
                "sixty nested long names",
                "python3 -c 'import os\nfor i in range(60):\n n=\"n\"*200\n os.mkdir(n)\n os.chdir(n)\nopen(\"deep\",\"w\").write(\"deep\")'",
                "too long",
            )
        },
        row(
            "ignored files",
            "mkdir build; echo o >build/o; echo secret >a.log",
            "",
        ),
        row(
            "modes and kinds",
            "chmod +x src/lib.txt; rm tool.sh; ln -s src/lib.txt tool.sh; rm -r sub; echo file >sub",
            "",
        ),
        row("a case pair", "echo one >Tool.sh; echo two >TOOL.SH", ""),
        row(
            "names of every kind",
            "printf x >\"$(printf 'a\\nb')\"; printf x >'  spaced '; printf x >':(top)pathspec'; printf x >\"$(printf '\\303\\050')\"; printf x >-dash; printf x >'q\"uote'",
            "",
        ),
        row(
            "skip-worktree and assume-unchanged",
            "echo s >src/lib.txt; git update-index --skip-worktree src/lib.txt; echo a >tool.sh; git update-index --assume-unchanged tool.sh",
            "",
        ),
        row(
            "the same size and time",
            "touch -r src/lib.txt t; printf 'eno\\nowt\\n' >src/lib.txt; touch -r t src/lib.txt; rm t; git config core.trustctime false; git config core.checkStat minimal",
            "",
        ),
        row(
            "line ends changed, and attributes that hide it",
            "printf 'one\\r\\ntwo\\r\\n' >src/lib.txt; echo '* text=auto' >.gitattributes",
            "",
        ),
        Row {
            code: REFUSED,
            ..row(
                "a blob of the stable tree removed",
                "b=$(git rev-parse HEAD:src/lib.txt); rm -f .git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-); echo c >src/lib.txt",
                "nothing was rolled back",
            )
        },
        Row {
            code: REFUSED,
            ..row(
                "a blob of the stable tree corrupted",
                "b=$(git rev-parse HEAD:src/lib.txt); f=.git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-); chmod +w $f; printf garbage >$f; echo c >src/lib.txt",
                "nothing was rolled back",
            )
        },
        Row {
            code: REFUSED,
            ..row(
                "a tree of the stable commit removed",
                "b=$(git rev-parse HEAD:src); rm -f .git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-); echo c >src/lib.txt",
                "nothing was rolled back",
            )
        },
        row(
            "everything deleted",
            "git ls-files -z | grep -zv arkaint.toml | xargs -0 rm",
            "",
        ),
        row(
            "everything staged and stashed",
            "echo st >st; echo c >>src/lib.txt; git add -A; git stash -q; echo after >after",
            "",
        ),
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
        let stable = contents(&sandbox.repo);
        let script = sandbox.home().join("plant.sh");
        fs::write(&script, plant).unwrap();
        // As whoever runs the tests: for root no file is unreadable, and the rows about that are then ordinary ones.
        let planted = sandbox
            .command("sh")
            .arg("-e")
            .arg(&script)
            .output()
            .unwrap();
        assert!(
            planted.status.success(),
            "{attack}: {}",
            String::from_utf8_lossy(&planted.stderr)
        );
        let before = contents(&sandbox.repo);
        let refs_before = refs(&sandbox);
        let ran = sandbox.arkaint(["rollback"]);
        let mut wrong = |what: String| bad.push(format!("{attack}: {what}\n{}", ran.stderr));
        if !ran.stderr.contains(word) {
            wrong(format!("nothing of {word}"));
        }
        if ran.code != Some(row.code) {
            wrong(format!("exit {:?}", ran.code));
        }
        if let Some(what) = broken(&sandbox, row, "") {
            wrong(what);
        }
        let happened = if row.code == REFUSED {
            let changed = differing(&contents(&sandbox.repo), &before);
            // An archive more is no harm.
            let now = refs(&sandbox);
            let moved = refs_before
                .iter()
                .any(|(name, to)| now.get(name) != Some(to));
            if !changed.is_empty() || moved {
                wrong(format!(
                    "a refusal that changed something: {changed:?} {now:?}"
                ));
            }
            "refused, nothing touched"
        } else {
            for path in lost(&sandbox, &before) {
                wrong(format!("lost {}", path.display()));
            }
            let mut now = contents(&sandbox.repo);
            // Ignored by the stable rules, and repositories that were there before: they stay.
            now.retain(|path, _| {
                let is_log = path.extension().is_some_and(|e| e == "log");
                !is_log && !path.starts_with("n") && !path.starts_with("sm")
            });
            let changed = differing(&now, &stable);
            if !changed.is_empty() {
                wrong(format!("not the stable files: {changed:?}"));
            }
            "archived and undone"
        };
        for (file, content) in [
            ("other/src", "precious\n"),
            ("out/inner.txt", "precious\n"),
            ("out.txt", "precious\n"),
        ] {
            let file = sandbox.home().join(file);
            if file.exists() && fs::read_to_string(&file).unwrap() != content {
                wrong(format!("{} was touched", file.display()));
            }
        }
        told.push(((*attack).to_owned(), happened.to_owned(), said(&ran, word)));
        sandbox.sh("chmod -R u+rwX . 2>/dev/null || true");
    }
    table("what is left in the worktree", &told);
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// The parent is killed while the agent works, and the agent turns everything: the next command ends it, compares with what was noted on
/// disk, and runs nothing that was planted.
#[test]
fn what_a_run_turned_whose_parent_was_killed_is_put_back_by_the_next_command() {
    let sandbox = Sandbox::stable();
    sandbox.write("scripts/check.sh", "true\n");
    sandbox.sh("ARKAINT_ALLOW_INFRA_EDIT=1 git arkaint checkpoint -m scripts");
    let start = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.agent(&format!(
        "{PRELUDE}\n{TOOLS}\nset_key core.fsmonitor \"$EVIL\"; set_key filter.x.clean \"$EVIL\"; echo '* filter=x' >.gitattributes; hook .git/hooks pre-commit\n\
         git commit -q --amend -m gone; git update-ref -d refs/notes/arkaint/ledger; echo false >scripts/check.sh; echo work >work\n\
         rm -f \"$HOME/mark\"; kill -9 $PPID; sleep 600"
    ));
    let cut = sandbox.arkaint(["cycle", "do it"]);
    assert_eq!(cut.code, None, "{}", cut.stderr);
    let next = sandbox.arkaint(["checkpoint", "-m", "after"]).expect(0);
    for word in [
        "was cut off",
        "core.fsmonitor",
        "hooks/pre-commit",
        "refs/notes/arkaint/ledger was deleted",
        "does not descend",
        "scripts/check.sh",
    ] {
        assert!(
            next.stderr.contains(word),
            "nothing of {word}: {}",
            next.stderr
        );
    }
    assert!(!sandbox.home().join("mark").exists(), "nothing planted ran");
    assert_eq!(sandbox.read("scripts/check.sh"), "true\n");
    assert_eq!(sandbox.read("work"), "work\n");
    sandbox.git(["merge-base", "--is-ancestor", &start, "HEAD"]);
    sandbox.arkaint(["log", "--verify"]).expect(0);
}

/// The same while the tests run: they are ended too.
#[test]
fn tests_that_outlive_a_killed_command_are_ended_by_the_next() {
    let sandbox = Sandbox::ready(
        "\"[ -e $HOME/once ] || { touch $HOME/once; echo $$ >$HOME/pid; sleep 1; kill -9 $PPID; exec sleep 600; }\"",
    );
    sandbox.write("a", "a\n");
    assert_eq!(sandbox.arkaint(["checkpoint"]).code, None);
    let pid = fs::read_to_string(sandbox.home().join("pid")).unwrap();
    let runs = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z")
    };
    assert!(runs() || !Path::new("/proc/self").exists());
    let next = sandbox.arkaint(["checkpoint"]).expect(0);
    assert!(!runs());
    assert!(next.stderr.contains("still ran"), "{}", next.stderr);
}
