//! The ledger as git sees it: many writers at once, what history rewriting leaves of it and what `log --repair` brings back, and that nothing
//! which it does not understand is ever damaged.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox, is_long};
use crate::stand_in::PRELUDE;

const LEDGER: &str = "refs/notes/arkaint/ledger";

fn append(sandbox: &Sandbox, on: &str, line: &str) {
    append_line(sandbox, &sandbox.repo, on, line);
}

/// Appends a line to a note of the ledger as another program would, with git itself: `notes append` puts an empty line between, and only git
/// 2.42 can be told not to.
pub fn append_line(sandbox: &Sandbox, repo: &Path, on: &str, line: &str) {
    let script = "note=$(git notes --ref=arkaint/ledger show \"$1\" 2>/dev/null && echo .) || note=
        blob=$(printf '%s%s\\n' \"${note%.}\" \"$2\" | git hash-object -w --stdin)
        git notes --ref=arkaint/ledger add -f -C \"$blob\" \"$1\" 2>/dev/null";
    let ran = sandbox
        .command("sh")
        .current_dir(repo)
        .args(["-c", script, "sh", on, line])
        .status()
        .unwrap();
    assert!(ran.success());
}

fn lines(sandbox: &Sandbox, on: &str) -> Vec<String> {
    let shown = sandbox.git(["notes", "--ref=arkaint/ledger", "show", on]);
    shown.lines().map(str::to_owned).collect()
}

/// report_jj_3, report_git_meta_826.
#[test]
fn thirty_processes_in_worktrees_at_once_lose_nothing() {
    const WRITERS: usize = 30;
    let sandbox = Sandbox::ready("false");
    let place = |n: usize| sandbox.repo.with_file_name(format!("w{n}"));
    for n in 0..WRITERS {
        let (path, branch) = (place(n), format!("arkaint/w{n}"));
        sandbox.git([
            "worktree",
            "add",
            "-q",
            "-b",
            &branch,
            path.to_str().unwrap(),
        ]);
        fs::write(path.join("work.txt"), format!("{n}\n")).unwrap();
    }
    // One note that all of them write to, then one each.
    let at_once = |words: &(dyn Fn(usize) -> Vec<String> + Sync)| {
        let running: Vec<_> = (0..WRITERS)
            .map(|n| {
                let mut command = sandbox.command(env!("CARGO_BIN_EXE_git-arkaint"));
                command.args(words(n)).current_dir(place(n));
                command
                    .stdout(std::process::Stdio::null())
                    .stderr(std::process::Stdio::null());
                command.spawn().unwrap()
            })
            .collect();
        for mut child in running {
            assert!(child.wait().unwrap().success());
        }
    };
    let owned = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    at_once(&|n| owned(&["verify", "--outcome", "o1", "--", "echo", &n.to_string()]));
    let written = lines(&sandbox, "HEAD");
    let records: Vec<Value> = written
        .iter()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let said: BTreeSet<&str> = records
        .iter()
        .map(|r| r["argv"][1].as_str().unwrap())
        .collect();
    assert_eq!((records.len(), said.len()), (WRITERS, WRITERS));

    at_once(&|_| owned(&["checkpoint"]));
    for n in 0..WRITERS {
        let tip = sandbox.git(["rev-parse", &format!("arkaint/w{n}")]);
        let [line] = lines(&sandbox, &tip).try_into().unwrap();
        let record: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&record["kind"], &record["commit"]),
            (&"checkpoint".into(), &tip.into())
        );
    }
    let log = sandbox.arkaint(["log", "--json"]).expect(0).json();
    let all = log["records"].as_array().unwrap();
    let ids: BTreeSet<&str> = all.iter().map(|r| r["id"].as_str().unwrap()).collect();
    assert_eq!((all.len(), ids.len()), (2 * WRITERS, 2 * WRITERS));
    sandbox.git(["fsck", "--strict"]);
}

#[test]
fn what_is_not_understood_is_said_or_shown_and_kept_byte_for_byte() {
    let sandbox = Sandbox::ready("false");
    let odd = [
        "no JSON at all",
        "{\"at\":\"2027-01-01T00:00:00.000Z\",\"half\":",
        "[1,2]",
        "{\"at\":\"2027-01-01T00:00:00.000Z\",\"id\":\"n\",\"kind\":\"run\",\"v\":2,\"tokens\":\"many\",\"cost\":[], \"new\":1.50}",
        "{\"at\":\"2027-01-01T00:00:01.000Z\",\"id\":\"o\",\"kind\":\"hologram\",\"v\":1,\"zeta\":{\"b\":1,\"a\":2}}",
    ];
    for line in odd {
        append(&sandbox, "HEAD", line);
    }
    sandbox
        .arkaint(["verify", "--outcome", "o1", "--", "true"])
        .expect(0);
    let after = lines(&sandbox, "HEAD");
    assert_eq!(after[..odd.len()], odd);
    assert_eq!(after.len(), odd.len() + 1);
    let ran = sandbox.arkaint(["log"]).expect(0);
    assert!(
        ran.stderr.contains("3 lines of the ledger are no records"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stdout.contains("record of version 2") && ran.stdout.contains("hologram"),
        "{}",
        ran.stdout
    );
    for verb in [&["status"][..], &["log", "--export"], &["log", "--verify"]] {
        sandbox.arkaint(verb).expect(0);
    }
}

/// A line that somebody made of 60 MB, and 40 MB that are none, on the commit that the next run is recorded on; less where time is short.
#[test]
fn a_note_of_a_hundred_megabytes_is_said_kept_and_in_nobodys_way() {
    let mega = if is_long() { 1_000_000 } else { 50_000 };
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.agent("cat > /dev/null; echo 'ARKAINT: done'\n");
    let mut note =
        br#"{"at":"2026-01-31T12:00:00.000Z","id":"big","kind":"run","v":1,"task":""#.to_vec();
    note.resize(60 * mega, b'x');
    note.extend(b"\"}\n");
    note.resize(100 * mega, b'?');
    note.push(b'\n');
    let file = sandbox.home().join("note");
    std::fs::write(&file, &note).unwrap();
    let show = "git notes --ref=arkaint/ledger show";
    sandbox.sh(&format!(
        "git notes --ref=arkaint/ledger add -C $(git hash-object -w {})",
        file.display()
    ));
    for words in [
        &["log"][..],
        &["log", "-n", "3"],
        &["cost"],
        &["status"],
        &["decay"],
    ] {
        sandbox.arkaint(words).expect(0);
    }
    let ran = sandbox.arkaint(["boot", "go on"]).expect(0);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    let ran = sandbox.arkaint(["log", "--json"]).expect(0);
    assert!(
        ran.stderr.contains("2 lines of the ledger are no records"),
        "{}",
        ran.stderr
    );
    let runs = crate::cycle::records(&sandbox, "run");
    assert_eq!(runs.len(), 1);
    assert_eq!(
        sandbox.arkaint(["cost", "--json"]).json()["total"]["runs"],
        1
    );
    // Not a byte of it was touched.
    let same = format!("{show} | head -c {} | cmp - {}", note.len(), file.display());
    sandbox.sh(&same);
}

/// report_git_ai_notes_merge_mixed_fanout.
#[test]
fn a_damaged_tree_is_read_and_mended_by_the_next_record() {
    let sandbox = Sandbox::ready("false");
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let line = |n: usize| {
        format!(
            "{{\"at\":\"2026-01-01T00:00:0{n}.000Z\",\"id\":\"r{n}\",\"kind\":\"run\",\"v\":1}}"
        )
    };
    let (a, b) = (line(1), line(2));
    sandbox.sh(&format!(
        "a=$(echo '{a}' | git hash-object -w --stdin); b=$(echo '{b}' | git hash-object -w --stdin); \
         sub=$(printf '100644 blob %s\\t%s\\n' $b {} | git mktree); \
         tree=$(printf '040000 tree %s\\t{}\\n100644 blob %s\\t{head}\\n' $sub $a | git mktree); \
         git update-ref {LEDGER} $(git commit-tree $tree -m mixed)",
        &head[2..],
        &head[..2],
    ));
    let shown = sandbox.arkaint(["log"]).expect(0).stdout;
    assert!(shown.contains(" r1 ") && shown.contains(" r2 "), "{shown}");
    sandbox
        .arkaint(["verify", "--outcome", "o1", "--", "true"])
        .expect(0);
    assert_eq!(
        sandbox
            .git(["ls-tree", "-r", "--name-only", LEDGER])
            .lines()
            .count(),
        1
    );
    assert_eq!(lines(&sandbox, "HEAD")[..2], [a, b]);
    assert_eq!(lines(&sandbox, "HEAD").len(), 3);
}

#[test]
fn records_are_found_by_kind_run_profile_agent_branch_and_time() {
    let sandbox = Sandbox::new();
    for line in [
        r#"{"at":"2026-01-01T10:00:00.000Z","id":"r1","kind":"run","v":1,"agent":"goose","profile":"auditor","branch":"arkaint/a"}"#,
        r#"{"at":"2026-01-01T10:00:01.000Z","id":"f1","kind":"failure","v":1,"run":"r1","label":"one"}"#,
        r#"{"at":"2026-01-02T10:00:00.000Z","id":"r2","kind":"run","v":1,"agent":"claude","profile":"debugger","branch":"arkaint/b"}"#,
        r#"{"at":"2026-01-02T10:00:01.000Z","id":"t2","kind":"trip","v":1,"run":"r2","why":"two"}"#,
        r#"{"at":"2026-01-03T10:00:00.000Z","id":"c3","kind":"checkpoint","v":1,"branch":"arkaint/b"}"#,
    ] {
        append(&sandbox, "HEAD", line);
    }
    let ids = |words: &[&str]| {
        let json = sandbox
            .arkaint([&["log", "--json"], words].concat())
            .expect(0)
            .json();
        let ids = json["records"].as_array().unwrap().iter();
        ids.map(|r| r["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(ids(&[]), "c3 t2 r2 f1 r1");
    assert_eq!(ids(&["--agent", "goose"]), "f1 r1");
    assert_eq!(ids(&["--profile", "debugger"]), "t2 r2");
    assert_eq!(ids(&["--branch", "arkaint/b"]), "c3 t2 r2");
    assert_eq!(ids(&["--branch", "arkaint/b", "--agent", "goose"]), "");
    assert_eq!(ids(&["--run", "r2"]), "t2 r2");
    assert_eq!(
        ids(&["--kind", "run,trip", "--since", "2026-01-02"]),
        "t2 r2"
    );
    assert_eq!(ids(&["--until", "2026-01-01T12:00:00+02:00"]), "r1");
    assert_eq!(ids(&["--since", "1d"]), "");
    assert_eq!(ids(&["-n", "1", "--kind", "run"]), "r2");
    let no = sandbox.arkaint(["log", "--since", "yesterday"]).expect(2);
    assert!(
        no.stderr.contains("yesterday is no point in time"),
        "{}",
        no.stderr
    );
}

/// A repository in which one cycle ran on `arkaint/work`: an opening checkpoint with the run's record, and a closing one.
fn ran_once() -> Sandbox {
    let sandbox = Sandbox::ready("false");
    sandbox.agent(&format!(
        "{PRELUDE}\necho work > work.txt; finish 'Made work.txt.'\n"
    ));
    // As `init` sets them.
    sandbox.git(["config", "notes.rewriteRef", "refs/notes/arkaint/*"]);
    sandbox.git(["config", "notes.rewriteMode", "cat_sort_uniq"]);
    sandbox.arkaint(["cycle", "make work.txt"]).expect(0);
    sandbox
}

fn log_of(sandbox: &Sandbox, repo: &Path) -> Vec<Value> {
    let at = ["-C", repo.to_str().unwrap(), "log", "--json"];
    let json = sandbox.arkaint(at).expect(0).json();
    json["records"].as_array().unwrap().clone()
}

#[test]
fn the_export_is_what_the_runs_left() {
    let sandbox = ran_once();
    let audit = sandbox.repo.join(".arkaint/audit");
    let read = |name: &str| fs::read_to_string(audit.join(name)).unwrap();
    let before = (read("runs.jsonl"), read("daily.jsonl"));
    fs::remove_dir_all(sandbox.repo.join(".arkaint")).unwrap();
    let json = sandbox
        .arkaint(["log", "--export", "--json"])
        .expect(0)
        .json();
    assert!(
        json["files"]
            .as_array()
            .unwrap()
            .iter()
            .any(|f| f["file"] == ".arkaint/audit/runs.jsonl" && f["records"] == 1),
        "{json}"
    );
    assert_eq!((read("runs.jsonl"), read("daily.jsonl")), before);
    assert_eq!(
        sandbox.git(["status", "--porcelain", "--untracked-files=all"]),
        "",
        "git does not see it"
    );
    sandbox.arkaint(["log", "--export"]).expect(0);
    assert_eq!(read("runs.jsonl"), before.0, "again is the same");
    sandbox.arkaint(["log", "--export", "--repair"]).expect(2);
}

/// What is left of the ledger on the branches of `repo`: commits with a checkpoint's trailers, and records on commits that a branch reaches.
fn on_branches(sandbox: &Sandbox, repo: &Path) -> (usize, usize) {
    let git = |words: &[&str]| sandbox.git([&["-C", repo.to_str().unwrap()], words].concat());
    let trailers = git(&[
        "log",
        "--branches",
        "--format=%(trailers:key=Arkaint-State-Hash,valueonly)",
    ]);
    let notes = git(&["log", "--branches", "--notes=arkaint/ledger", "--format=%N"]);
    let records: BTreeSet<&str> = notes
        .lines()
        .filter(|line| line.contains("\"kind\""))
        .collect();
    (
        trailers.lines().filter(|l| !l.is_empty()).count(),
        records.len(),
    )
}

/// One row: its name, what is done in a copy of the repository, and what brings the records back.
type Row = (&'static str, &'static str, &'static str);

const REPAIR: &str = "log --repair";
const SYNC: &str = "sync";

const ROWS: [Row; 14] = [
    ("amend", "git commit -q --amend -m other", REPAIR),
    (
        "amend, without the settings of init",
        "git config --unset notes.rewriteRef; git commit -q --amend -m other",
        REPAIR,
    ),
    ("rebase", "on_main; git rebase -q main", REPAIR),
    (
        "rebase, without the settings of init",
        "on_main; git config --unset notes.rewriteRef; git rebase -q main",
        REPAIR,
    ),
    (
        "cherry-pick, branch deleted",
        "on_main; git switch -q -c other main; git cherry-pick --allow-empty main..arkaint/work >/dev/null; git branch -q -D arkaint/work",
        REPAIR,
    ),
    (
        "rebase -i, squashed",
        "GIT_EDITOR=true GIT_SEQUENCE_EDITOR=\"sed -i '2,$ s/^pick/squash/'\" git rebase -q -i main",
        REPAIR,
    ),
    (
        "the same, without the settings of init",
        "git config --unset notes.rewriteRef; GIT_EDITOR=true GIT_SEQUENCE_EDITOR=\"sed -i '2,$ s/^pick/squash/'\" git rebase -q -i main",
        REPAIR,
    ),
    (
        "merge --squash, branch deleted",
        "git switch -q main; git merge -q --squash arkaint/work >/dev/null; git commit -q --no-verify -m all; git branch -q -D arkaint/work",
        REPAIR,
    ),
    (
        "the same, then gc --prune=now",
        "git switch -q main; git merge -q --squash arkaint/work >/dev/null; git commit -q --no-verify -m all; git branch -q -D arkaint/work; forget",
        REPAIR,
    ),
    (
        "filter-branch",
        "git filter-branch -f --env-filter 'GIT_AUTHOR_NAME=Other' main..arkaint/work >/dev/null 2>&1",
        REPAIR,
    ),
    ("gc --prune=now", "forget", REPAIR),
    (
        "clone",
        "git push -q --no-verify \"$1.git\" main arkaint/work 2>/dev/null; git arkaint sync -q; git clone -q -b arkaint/work \"$1.git\" \"$1.clone\"",
        SYNC,
    ),
    (
        "clone --depth=1",
        "git push -q --no-verify \"$1.git\" main arkaint/work 2>/dev/null; git arkaint sync -q; git clone -q --depth=1 -b arkaint/work \"file://$1.git\" \"$1.clone\"",
        SYNC,
    ),
    (
        "worktree remove",
        "git switch -q main; git worktree add -q \"$1.linked\" arkaint/work; git worktree remove \"$1.linked\"",
        REPAIR,
    ),
];

const HELPERS: &str = r#"
export FILTER_BRANCH_SQUELCH_WARNING=1
on_main() { git switch -q main; echo other > other.txt; git add other.txt; git commit -q --no-verify -m other; git switch -q arkaint/work; }
forget() { git for-each-ref --format='delete %(refname)' refs/arkaint | git update-ref --stdin; git reflog expire --expire=now --all; git gc -q --prune=now; }
git init -q --bare "$1.git"; git remote add origin "$1.git"
"#;

/// The table as the manual prints it: name, trailers, records by themselves, what brings the rest, records then.
fn survival(sandbox: &Sandbox) -> Vec<String> {
    let total = log_of(sandbox, &sandbox.repo).len();
    let mut rows = Vec::new();
    for (n, (name, script, then)) in ROWS.iter().enumerate() {
        let copy = sandbox.repo.with_file_name(format!("row{n}"));
        sandbox.sh(&format!("cp -a . {}", copy.display()));
        let script = format!("cd \"$1\"; {HELPERS}{script}");
        let ran: Ran = sandbox
            .command("bash")
            .args(["-euc", &script, "row"])
            .arg(&copy)
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.code, Some(0), "{name}: {}{}", ran.stdout, ran.stderr);
        let clone = PathBuf::from(format!("{}.clone", copy.display()));
        let there = if clone.exists() { clone } else { copy };
        let (trailers, alone) = on_branches(sandbox, &there);
        let words: Vec<&str> = then.split(' ').collect();
        let call = || {
            sandbox
                .arkaint([&["-C", there.to_str().unwrap()], &words[..]].concat())
                .expect(0)
        };
        call();
        let (_, after) = on_branches(sandbox, &there);
        // Wherever they hang, the log has every record, and each once.
        assert_eq!(log_of(sandbox, &there).len(), total, "{name}");
        let tip = || sandbox.git(["-C", there.to_str().unwrap(), "rev-parse", LEDGER]);
        let before = tip();
        call();
        assert_eq!(
            tip(),
            before,
            "{name}: a second time there is nothing to do"
        );
        let cell = |count: usize| match count {
            0 => "none".to_owned(),
            n if n == total => "all".to_owned(),
            n => format!("{n} of {total}"),
        };
        rows.push(format!(
            "{name}|{trailers}|{}|{then}|{}",
            cell(alone),
            cell(after)
        ));
    }
    rows
}

/// report_git_ai_97, report_git_ai_1079, report_git_ai_1214.
#[test]
#[expect(clippy::print_stdout, reason = "the table, for `--nocapture`")]
fn what_survives_the_rewriting_of_history_is_what_the_manual_says() {
    let sandbox = ran_once();
    assert_eq!(
        on_branches(&sandbox, &sandbox.repo),
        (2, log_of(&sandbox, &sandbox.repo).len())
    );
    let rows = survival(&sandbox);
    println!("operation | trailers on the branch | records on it | then | records on it");
    for row in &rows {
        println!("{}", row.replace('|', " | "));
    }
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("man/man5/git-arkaint-ledger.5");
    let manual = fs::read_to_string(manual).unwrap().replace("\\-", "-");
    let columns = regex::Regex::new(" {2,}").unwrap();
    let printed: Vec<_> = manual
        .lines()
        .map(|line| columns.replace_all(line, "|"))
        .collect();
    for row in &rows {
        assert!(
            printed.contains(&row.as_str().into()),
            "git-arkaint-ledger(5) does not say {row}"
        );
    }
}

#[test]
fn a_checkpoint_that_was_dropped_from_the_middle_breaks_the_chain() {
    let sandbox = ran_once();
    sandbox.write("more.txt", "more\n");
    sandbox.arkaint(["checkpoint"]).expect(0);
    sandbox.arkaint(["log", "--verify"]).expect(0);
    // The opening checkpoint of the cycle is empty: without it every tree is as before, and so is every hash.
    let opening = sandbox.git(["rev-parse", "HEAD~2"]);
    sandbox.git(["rebase", "-q", "--onto", "HEAD~3", "HEAD~2"]);
    let broken = sandbox.git(["rev-parse", "HEAD~1"]);
    let said = sandbox.arkaint(["log", "--verify"]).expect(1).stdout;
    assert_eq!(
        said,
        format!(
            "the chain breaks at {broken}: the checkpoint before, {}, is not in this history\n",
            &opening[..12]
        )
    );
}

#[test]
fn a_repair_says_what_it_did_and_leaves_what_it_cannot_place() {
    let sandbox = ran_once();
    sandbox.write("more.txt", "more\n");
    sandbox.arkaint(["checkpoint"]).expect(0);
    let commits = ["HEAD~2", "HEAD~1", "HEAD"].map(|rev| sandbox.git(["rev-parse", rev]));
    let nothing = sandbox.arkaint(["log", "--repair"]).expect(0);
    assert!(
        nothing.stderr.contains("there is nothing to repair"),
        "{}",
        nothing.stderr
    );
    // Work that was thrown away is nowhere else; a note on a tree hangs on no history.
    let lost = sandbox
        .sh("git commit-tree $(git mktree </dev/null) -m lost")
        .trim()
        .to_owned();
    append(
        &sandbox,
        &lost,
        r#"{"at":"2026-01-01T00:00:00.000Z","id":"x","kind":"run","v":1}"#,
    );
    append(
        &sandbox,
        "HEAD^{tree}",
        r#"{"at":"2026-01-01T00:00:00.000Z","id":"y","kind":"evidence","v":1}"#,
    );
    sandbox.sh("git switch -q main; git merge -q --squash arkaint/work; git commit -q --no-verify -m all; git branch -q -D arkaint/work");
    let squash = sandbox.git(["rev-parse", "HEAD"]);
    let start = sandbox.git(["rev-parse", "HEAD~1"]);
    let json = sandbox
        .arkaint(["log", "--repair", "--json"])
        .expect(0)
        .json();
    let did = |from: &str| {
        let mut all = json["relinked"].as_array().unwrap().iter();
        let one = all.find(|one| one["from"] == from).unwrap();
        (
            one["to"].as_str().unwrap().to_owned(),
            one["by"].as_str().unwrap().to_owned(),
        )
    };
    // The opening checkpoint has the tree that main had; the work in between went into the squash with what came after it.
    assert_eq!(did(&commits[0]), (start.clone(), "tree".to_owned()));
    assert_eq!(did(&commits[1]), (squash.clone(), "squash".to_owned()));
    assert_eq!(did(&commits[2]), (squash.clone(), "tree".to_owned()));
    assert_eq!(json["alone"], serde_json::json!([lost]));
    for (from, to) in [(0, &start), (1, &squash), (2, &squash)] {
        let there = lines(&sandbox, to);
        let old = lines(&sandbox, &commits[from]);
        assert!(!old.is_empty() && old.iter().all(|line| there.contains(line)));
    }
    // A copied record proves nothing: the squash is no checkpoint.
    let status = sandbox
        .arkaint(["log", "--verify", "--json"])
        .expect(0)
        .json();
    assert_eq!(status["checkpoints"], 0, "{status}");
    // In one step, by the user.
    assert_eq!(
        sandbox.git(["log", "-1", "--format=%an %s", LEDGER]),
        "Test User arkaint: repair, 3 notes"
    );
}
