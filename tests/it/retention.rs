//! Retention: runs and archives go by count, age and size, never the newest, never what an open cycle needs, and never while an agent runs.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::cycle::records;
use crate::sandbox::Sandbox;

fn world(retention: &str, script: &str) -> Sandbox {
    let sandbox = Sandbox::ready("false");
    let toml = sandbox.read("arkaint.toml");
    sandbox.write(
        "arkaint.toml",
        &format!("{toml}\n[retention]\n{retention}\n"),
    );
    sandbox.commit_all("retention");
    sandbox.agent(&format!(
        "cat > /dev/null\n{script}\necho 'ARKAINT: done'\n"
    ));
    sandbox
}

fn archives(sandbox: &Sandbox) -> Vec<String> {
    let refs = sandbox.git([
        "for-each-ref",
        "--format=%(refname:lstrip=3)",
        "refs/arkaint/discarded/",
    ]);
    refs.lines().map(str::to_owned).collect()
}

fn runs(sandbox: &Sandbox) -> usize {
    sandbox
        .repo
        .join(".arkaint/runs")
        .read_dir()
        .unwrap()
        .count()
}

fn boot(sandbox: &Sandbox) {
    sandbox.arkaint(["boot", "a task"]).expect(0);
}

fn wait_for(path: &std::path::Path) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !path.exists() {
        assert!(Instant::now() < deadline, "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn runs_and_archives_go_by_count_and_status_says_what_is_left() {
    let sandbox = world("runs = 2\ndiscards = 3", "date +%N >> work.txt");
    for _ in 0..5 {
        boot(&sandbox);
    }
    assert_eq!((archives(&sandbox).len(), runs(&sandbox)), (3, 2));
    // The newest of both are those of the last run.
    let last = records(&sandbox, "run").pop().unwrap();
    let id = last["id"].as_str().unwrap();
    assert!(
        archives(&sandbox)
            .iter()
            .any(|archive| archive.starts_with(id))
    );
    assert!(sandbox.exists(&format!(".arkaint/runs/{id}/run.log")));
    let status = sandbox.arkaint(["status", "--json"]).expect(0).json();
    assert_eq!(status["archives"], 3);
    let notes =
        sandbox.sh("git ls-tree -r -l refs/notes/arkaint/ledger | awk '{n += $4} END {print n}'");
    assert_eq!(status["ledger_bytes"].to_string(), notes.trim());
    assert!(status["scratch_bytes"].as_u64().unwrap() > 0);
    let shown = sandbox.arkaint(["status"]).expect(0).stdout;
    assert!(
        shown.contains("3 archives; scratch ") && shown.contains(", ledger "),
        "{shown}"
    );
}

/// report_opencode_15977, report_opencode_9290, report_opencode_14811.
#[test]
fn archives_go_by_size_and_by_age_but_for_the_newest() {
    // Each launch archives what the one before left: 700 KB that cannot be compressed.
    let grow = "head -c 700000 /dev/urandom > big.bin";
    let sandbox = world("bytes = \"1MiB\"", grow);
    for _ in 0..4 {
        boot(&sandbox);
    }
    assert_eq!(archives(&sandbox).len(), 1);
    assert_eq!(runs(&sandbox), 4, "small logs all stay");
    let sandbox = world("bytes = \"3MiB\"", grow);
    for _ in 0..4 {
        boot(&sandbox);
    }
    assert_eq!(archives(&sandbox).len(), 4);

    let sandbox = world("age = \"1s\"", "date +%N >> work.txt");
    boot(&sandbox);
    std::thread::sleep(Duration::from_millis(2100));
    boot(&sandbox);
    assert_eq!((archives(&sandbox).len(), runs(&sandbox)), (1, 1));
}

/// An agent in a linked worktree that says that it runs and waits until it may end, a minute at most.
fn sibling(sandbox: &Sandbox, script: &str) -> Child {
    sandbox.git([
        "worktree",
        "add",
        "-q",
        "-b",
        "arkaint/sibling",
        "../sibling",
    ]);
    sandbox.agent(&format!(
        "cat > /dev/null\ncase $PWD in */sibling) {script}\ntouch \"$HOME/there\"; n=0; until [ -e \"$HOME/go\" ] || [ $n -gt 1200 ]; do n=$((n + 1)); sleep 0.05; done;; esac\ndate +%N >> work.txt\necho 'ARKAINT: done'\n"
    ));
    let child = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(["-C", "../sibling", "boot", "another task"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&sandbox.home().join("there"));
    child
}

#[test]
fn no_archive_goes_while_a_sibling_s_agent_runs_and_its_guard_stays_quiet() {
    let sandbox = world("discards = 1", "date +%N >> work.txt");
    boot(&sandbox);
    let child = sibling(&sandbox, "");
    boot(&sandbox);
    boot(&sandbox);
    assert_eq!(
        archives(&sandbox).len(),
        4,
        "the sibling's, and one of each launch here"
    );
    std::fs::write(sandbox.home().join("go"), "").unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(!said.contains("rule"), "{said}");
    for run in records(&sandbox, "run") {
        assert!(run["broken"].as_array().unwrap().is_empty(), "{run}");
    }
    // Whoever ends last tidies up.
    assert!(archives(&sandbox).len() <= 2, "{:?}", archives(&sandbox));
}

#[test]
fn an_agent_that_deletes_archives_breaks_a_rule() {
    let sandbox = world("discards = 9", "date +%N >> work.txt");
    boot(&sandbox);
    let before = archives(&sandbox);
    sandbox.agent("cat > /dev/null\ngit for-each-ref --format='delete %(refname)' refs/arkaint/discarded | git update-ref --stdin\necho 'ARKAINT: done'\n");
    let ran = sandbox.arkaint(["boot", "a task"]).expect(1);
    assert!(
        ran.stderr.contains("refs/arkaint/discarded/") && ran.stderr.contains("was deleted"),
        "{}",
        ran.stderr
    );
    assert!(
        before
            .iter()
            .all(|archive| archives(&sandbox).contains(archive))
    );
}

#[test]
fn what_an_interrupted_cycle_needs_stays() {
    let sandbox = world("discards = 1", "date +%N >> work.txt");
    let mut child = sibling(&sandbox, "");
    // Killed: its cycle stays open. (A boot leaves none, so it is a cycle.)
    std::fs::write(sandbox.home().join("go"), "").unwrap();
    child.wait().unwrap();
    std::fs::remove_file(sandbox.home().join("go")).unwrap();
    std::fs::remove_file(sandbox.home().join("there")).unwrap();
    sandbox.git(["-C", "../sibling", "add", "-A"]);
    sandbox.git(["-C", "../sibling", "commit", "-qm", "work"]);
    let mut child = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(["-C", "../sibling", "cycle", "a long task"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&sandbox.home().join("there"));
    let there: Vec<String> = archives(&sandbox);
    let newest = there.last().unwrap().clone();
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::write(sandbox.home().join("go"), "").unwrap();
    boot(&sandbox);
    boot(&sandbox);
    let left = archives(&sandbox);
    assert!(
        left.contains(&newest),
        "{newest} of the open cycle is gone: {left:?}"
    );
    assert!(
        !left.contains(&there[0]) || there[0] == newest,
        "older ones go: {left:?}"
    );
}
