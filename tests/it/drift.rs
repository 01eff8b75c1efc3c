//! Context drift from outside: `explain --drift` over diffs that git itself made, and the script that measures it on a history.

use std::io::{BufRead, BufReader, Write};

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{Ran, Sandbox};

/// `git arkaint explain --drift ARGS` with these lines on standard input.
fn explain(sandbox: &Sandbox, args: &[&str], input: &[u8]) -> Ran {
    let mut child = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(["explain", "--drift"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let ran = child.wait_with_output().unwrap().into();
    let _ = writer.join().unwrap();
    ran
}

fn lines(pairs: &[Value]) -> Vec<u8> {
    pairs
        .iter()
        .map(|p| format!("{p}\n"))
        .collect::<String>()
        .into_bytes()
}

fn scores(ran: &Ran) -> Vec<f64> {
    ran.stdout.lines().map(|l| l.parse().unwrap()).collect()
}

/// Twelve features, each in a file and words of its own.
pub(crate) const WORDS: [&str; 12] = [
    "parser tokens grammar nesting",
    "server sockets listener backlog",
    "cache shards eviction capacity",
    "client retries jitter timeout",
    "logger levels rotation archive",
    "scheduler queue priority worker",
    "billing invoice currency rounding",
    "search index ranking snippet",
    "upload chunk resume checksum",
    "login session cookie expiry",
    "export spreadsheet column locale",
    "notifier webhook signature payload",
];

fn feature(i: usize) -> (String, [&'static str; 4]) {
    let words: Vec<_> = WORDS[i].split(' ').collect();
    (format!("src/{}.rs", words[0]), words.try_into().unwrap())
}

/// Three rounds of one commit a feature.
fn history(sandbox: &Sandbox) {
    for round in 0..3 {
        for i in 0..WORDS.len() {
            let (path, [a, b, c, d]) = feature(i);
            let more = if round > 0 {
                sandbox.read(&path)
            } else {
                String::new()
            };
            sandbox.write(
                &path,
                &format!("{more}fn {b}_{round}() {{\n    {a}.{c}({d}{round});\n}}\n"),
            );
            sandbox.git(["add", "-A"]);
            let verb = ["introduce", "extend", "simplify"][round];
            sandbox.git(["commit", "-q", "-m", &format!("{a}: {verb} {b} with {c} and {d}\n\nSigned-off-by: Test User <t@example.invalid>")]);
        }
    }
}

/// What git says that a commit did, as DRIFT pairs are built.
fn did(sandbox: &Sandbox, range: [&str; 2]) -> String {
    let stat = sandbox.git(["diff", "--stat", range[0], range[1]]);
    stat + "\n" + &sandbox.git(["diff", "-U2", range[0], range[1]])
}

const TASK: &str = "Limit the cache: eviction of the oldest shards once their capacity is used up, counted for the statistics page";

#[test]
fn scores_come_in_order_and_tell_the_right_task_from_others() {
    let sandbox = Sandbox::new();
    history(&sandbox);
    let cache = did(&sandbox, ["HEAD~10", "HEAD~9"]);
    assert!(cache.contains("src/cache.rs"), "{cache}");
    let server = did(&sandbox, ["HEAD~11", "HEAD~10"]);
    let pairs = [
        json!({"task": TASK, "did": cache}),
        json!({"task": TASK, "did": server}),
        json!({"task": "cache", "did": cache}),
    ];
    let scores = scores(&explain(&sandbox, &["--rev", "HEAD~11"], &lines(&pairs)).expect(0));
    assert!(
        scores.len() == 3 && scores[0] > 0.84 && scores[1] < 0.0,
        "{scores:?}"
    );

    let ran = explain(&sandbox, &["--json", "--rev", "HEAD~11"], &lines(&pairs)).expect(0);
    let json: Vec<Value> = ran
        .stdout
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(
        json.iter()
            .map(|s| s["z"].as_f64().unwrap())
            .collect::<Vec<_>>(),
        scores
    );
    assert_eq!(
        json.iter()
            .map(|s| s["alarm"].as_bool().unwrap())
            .collect::<Vec<_>>(),
        [false, true, false]
    );
    assert_eq!(json[1]["missing"].as_array().unwrap().len(), 8);
    assert_eq!(
        (json[0]["method"].as_str(), json[0]["verdict"].as_str()),
        (Some("lexical"), Some("measured"))
    );
    assert_eq!(
        (json[2]["verdict"].as_str(), json[2]["reason"].is_string()),
        (Some("unmeasured"), true)
    );
}

#[test]
fn only_history_reachable_from_rev_is_used() {
    let sandbox = Sandbox::new();
    history(&sandbox);
    let pair = json!({"task": TASK, "did": did(&sandbox, ["HEAD~10", "HEAD~9"])});
    let base = sandbox.git(["rev-parse", "HEAD~11"]);
    let before = explain(
        &sandbox,
        &["--rev", &base],
        &lines(std::slice::from_ref(&pair)),
    )
    .expect(0)
    .stdout;
    for i in 0..30 {
        sandbox.write(&format!("cache/eviction/capacity_{i}.rs"), "shards\n");
        sandbox.git(["add", "-A"]);
        sandbox.git([
            "commit",
            "-q",
            "-m",
            &format!("cache eviction shards capacity {i}"),
        ]);
    }
    let line = lines(std::slice::from_ref(&pair));
    assert_eq!(
        explain(&sandbox, &["--rev", &base], &line).expect(0).stdout,
        before
    );
    assert_ne!(explain(&sandbox, &[], &line).expect(0).stdout, before);
    // A line may bring its own revision, and the next one is not bound by it.
    let (mut own, head) = (pair.clone(), pair);
    own["rev"] = json!(base);
    let both = explain(&sandbox, &[], &lines(&[own, head]))
        .expect(0)
        .stdout;
    assert!(
        both.starts_with(&before) && both.lines().count() == 2,
        "{both}"
    );
}

#[test]
fn a_merge_and_checkpoints_of_one_task_do_not_become_the_background() {
    let sandbox = Sandbox::new();
    history(&sandbox);
    let pair = lines(&[json!({"task": TASK, "did": did(&sandbox, ["HEAD~10", "HEAD~9"])})]);
    let first =
        format!("[arkaint-sync] checkpoint\n\nbegun\n\nArkaint-Version: 1\nArkaint-Task: {TASK}\n");
    sandbox.git([
        "commit",
        "-q",
        "--allow-empty",
        "--cleanup=verbatim",
        "-m",
        &first,
    ]);
    let once = explain(&sandbox, &[], &pair).expect(0).stdout;
    for i in 0..40 {
        let again = format!(
            "[arkaint-sync] checkpoint\n\nstep {i}\n\nArkaint-Version: 1\nArkaint-Task: {TASK}\n"
        );
        sandbox.git([
            "commit",
            "-q",
            "--allow-empty",
            "--cleanup=verbatim",
            "-m",
            &again,
        ]);
    }
    sandbox.git(["switch", "-q", "-c", "side", "HEAD~1"]);
    sandbox.git([
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        &format!("x\n\nArkaint-Task: {TASK}\n"),
    ]);
    sandbox.git([
        "merge",
        "-q",
        "--no-ff",
        "-m",
        "cache eviction merge of shards",
        "main",
    ]);
    assert_eq!(explain(&sandbox, &[], &pair).expect(0).stdout, once);
}

#[test]
fn odd_input_gets_a_line_each() {
    let sandbox = Sandbox::new();
    history(&sandbox);
    sandbox.sh("git mv src/cache.rs src/cache_store.rs; mkdir src/web; git mv src/server.rs src/web/server.rs");
    sandbox.sh("printf '\\000\\001\\002' >logo.png; printf 'a\\r\\nb\\r\\n' >crlf.txt; printf 'x\\377\\n' >latin.txt");
    sandbox.sh("printf '%s\\n' '--- a/x' '+++ b/x' '@@ -1 +1 @@' >'--- plus'; mkdir 'diff --git a'; touch 'diff --git a/b b'");
    sandbox.commit_all("move things");
    let all = did(&sandbox, ["HEAD~1", "HEAD"]);
    let binary = did(&sandbox, ["HEAD~1", "HEAD"])
        .lines()
        .filter(|l| l.contains("logo.png"))
        .collect::<Vec<_>>()
        .join("\n");
    let cut: String = all.chars().take(all.len() / 2).collect();
    let long = format!(
        "diff --git a/m.js b/m.js\n--- a/m.js\n+++ b/m.js\n@@ -1 +1 @@\n-x\n+{}\n",
        "var a=1;".repeat(1_300_000)
    );
    let pairs = [
        json!({"task": TASK, "did": all}),
        json!({"task": TASK, "did": binary}),
        json!({"task": TASK, "did": cut}),
        json!({"task": TASK, "did": long}),
        json!({"task": "\u{4fee}\u{590d}\u{7f13}\u{5b58}", "did": all}),
        json!({"task": "", "did": all}),
        json!({"task": TASK, "did": ""}),
    ];
    let mut input = lines(&pairs);
    // A diff that was read with Python's surrogateescape, and one with raw bytes.
    input.extend_from_slice(
        b"{\"task\":\"t\",\"did\":\"+x\\udcff\"}\n{\"task\":\"t\",\"did\":\"+x\xff\"}\n",
    );
    let ran = explain(&sandbox, &["--json"], &input).expect(0);
    let verdicts: Vec<_> = ran
        .stdout
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap()["verdict"].clone())
        .collect();
    let (yes, no) = (json!("measured"), json!("unmeasured"));
    assert_eq!(
        verdicts,
        [&yes, &yes, &yes, &yes, &no, &no, &no, &no, &no].map(Value::clone)
    );
    let plain = explain(&sandbox, &[], &input).expect(0);
    assert_eq!(
        scores(&plain)
            .iter()
            .map(|z| z.is_nan())
            .collect::<Vec<_>>(),
        [false, false, false, false, true, true, true, true, true]
    );
}

#[test]
fn a_young_repository_is_unmeasured() {
    let sandbox = Sandbox::new();
    sandbox.write("src/cache.rs", "fn evict() { shards.capacity(); }\n");
    sandbox.git(["add", "-A"]);
    let did = sandbox.git(["diff", "--cached"]);
    let line =
        lines(&[json!({"task": TASK, "did": did, "said": "eviction of shards by capacity"})]);
    let one = explain(&sandbox, &["--json"], &line).expect(0).json();
    assert_eq!(
        (one["verdict"].as_str(), one["reason"].as_str()),
        (
            Some("unmeasured"),
            Some("the history has fewer than 10 commit messages")
        )
    );
    assert!(one["said"].as_f64().unwrap() > 0.0);
    sandbox.sh("git switch -q --orphan empty");
    assert_eq!(
        explain(&sandbox, &["--json"], &line).expect(0).json()["verdict"],
        "unmeasured"
    );
}

#[test]
fn what_is_no_pair_is_refused_by_its_line() {
    let sandbox = Sandbox::new();
    let ran = explain(
        &sandbox,
        &[],
        b"{\"task\":\"a\",\"did\":\"b\"}\n{\"task\":1}\n",
    )
    .expect(2);
    assert!(
        ran.stdout == "nan\n" && ran.stderr.contains("line 2 of standard input"),
        "{ran:?}"
    );
    let ran = explain(&sandbox, &["--rev", "nowhere"], b"").expect(2);
    assert!(
        ran.stderr.contains("nowhere names no commit here"),
        "{ran:?}"
    );
    explain(&sandbox, &[], b"").expect(0);
}

#[test]
fn scores_stream() {
    let sandbox = Sandbox::new();
    let mut child = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(["explain", "--drift"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, mut stdout) = (
        child.stdin.take().unwrap(),
        BufReader::new(child.stdout.take().unwrap()),
    );
    for _ in 0..3 {
        writeln!(stdin, "{}", json!({"task": TASK, "did": "cache eviction"})).unwrap();
        let mut score = String::new();
        stdout.read_line(&mut score).unwrap();
        assert!(score.trim().parse::<f64>().unwrap() > 0.0);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
#[allow(clippy::print_stderr)] // says that it was skipped
fn the_script_measures_any_repository() {
    let sandbox = Sandbox::new();
    history(&sandbox);
    sandbox.git(["mv", "src/cache.rs", "src/an ödd näme.rs"]);
    sandbox.git([
        "commit",
        "-q",
        "-m",
        "cache: rename the file of shards and eviction",
    ]);
    sandbox.git([
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "an empty commit is not usable for pairs",
    ]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drift-auc");
    let run = |args: &[&str]| -> Ran {
        let mut command = sandbox.command("python3");
        command
            .arg(&script)
            .arg(&sandbox.repo)
            .args(["--arkaint", env!("CARGO_BIN_EXE_git-arkaint")])
            .args(args);
        command.output().map(Ran::from).unwrap()
    };
    if sandbox
        .command("python3")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("skipped: no python3");
        return;
    }
    let all = run(&[]).expect(0).stdout;
    assert!(all.contains("28 diffs, seed 1"), "{all}");
    let z = all.lines().find(|l| l.starts_with("z ")).unwrap();
    let areas: Vec<f64> = z
        .split_whitespace()
        .filter_map(|w| w.parse().ok())
        .collect();
    assert!(
        areas.len() == 3 && areas[0] > 0.95 && areas[1] > 0.8 && areas.iter().all(|a| *a <= 1.0),
        "{all}"
    );
    assert_eq!(
        run(&[]).expect(0).stdout,
        all,
        "the same seed, the same numbers"
    );
    assert!(
        run(&["--diffs", "12", "--seed", "7"])
            .expect(0)
            .stdout
            .contains("12 diffs, seed 7")
    );
    assert!(
        run(&["--diffs", "9"])
            .expect(1)
            .stderr
            .contains("9 usable commits")
    );
}
