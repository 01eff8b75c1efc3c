//! Recorded streams of Goose and Claude Code, and odd ones, through `git arkaint explain`: by the log alone, without an exit code.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};

fn fixture(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/goose/{case}.jsonl"))
}

fn explain(sandbox: &Sandbox, words: &[&str], logs: &[&Path]) -> Ran {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_git-arkaint"));
    command
        .current_dir("/")
        .arg("explain")
        .args(words)
        .args(logs)
        .output()
        .unwrap()
        .into()
}

fn outcome(sandbox: &Sandbox, log: &Path) -> String {
    explain(sandbox, &["--json"], &[log]).expect(0).json()["outcome"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn outcomes_by_the_log_alone() {
    let sandbox = Sandbox::new();
    for (case, expected) in [
        ("tool", "done"),
        ("text_banner", "done"),
        ("no_usage", "done"),
        ("stdin_1mb", "done"),
        ("cut", "failed"),
        ("tool_then_cut", "failed"),
        ("empty_reply", "failed"),
        ("hang", "failed"),
        ("mode_approve", "failed"),
        ("length", "capped"),
        ("max_turns", "capped"),
        ("context", "capped"),
        ("http401", "unusable"),
        ("http402", "unusable"),
        ("http404", "unusable"),
        ("no_config", "unusable"),
        ("http429_forever", "limited"),
        ("http500", "unreachable"),
        ("refused", "unreachable"),
        ("edit_then_500", "unreachable"),
        ("sm_stream_error", "unreachable"),
        ("sigint_group", "killed"),
    ] {
        assert_eq!(outcome(&sandbox, &fixture(case)), expected, "{case}");
    }
}

/// No agent is named: the log tells that it is Claude Code's.
#[test]
fn logs_of_claude_are_recognised() {
    let sandbox = Sandbox::new();
    for (case, expected) in [
        ("tool", "done"),
        ("big_output", "done"),
        ("cut", "failed"),
        ("tool_then_cut", "failed"),
        ("sigterm_pid", "failed"),
        ("max_turns", "capped"),
        ("max_budget", "capped"),
        ("context", "capped"),
        ("no_key", "unusable"),
        ("http401", "unusable"),
        ("http404", "unusable"),
        ("http429_forever", "limited"),
        ("http500", "unreachable"),
        ("http529", "unreachable"),
        ("retry_refused", "unreachable"),
        ("edit_then_500", "unreachable"),
        ("sigint_pid", "killed"),
    ] {
        let log = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/fixtures/claude/{case}.jsonl"));
        let told = explain(&sandbox, &["--json"], &[&log]).expect(0).json();
        assert_eq!(
            (&told["outcome"], &told["launches"][0]["agent"]),
            (&Value::from(expected), &Value::from("claude")),
            "{case}"
        );
        assert_eq!(told["trips"], false, "{case}");
    }
}

#[test]
fn numbers_are_told_and_unknown_ones_are_null() {
    let sandbox = Sandbox::new();
    let launch = |case: &str| {
        explain(&sandbox, &["--json"], &[&fixture(case)])
            .expect(0)
            .json()["launches"][0]
            .clone()
    };
    let known = launch("known_model");
    assert_eq!(
        (
            known["usage"]["input"].as_u64(),
            known["usage"]["output"].as_u64(),
            known["cost_usd"].as_f64()
        ),
        (Some(1000), Some(100), Some(0.003))
    );
    assert_eq!(
        (known["provider"].as_str(), known["agent"].as_str()),
        (Some("openai"), Some("goose"))
    );
    let unknown = launch("no_usage");
    assert_eq!(
        (&unknown["usage"], &unknown["cost_usd"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn provider_failures_and_limits_do_not_trip() {
    let sandbox = Sandbox::new();
    for case in [
        "http401",
        "http500",
        "refused",
        "max_turns",
        "tool_fail",
        "http429_forever",
        "empty_reply",
    ] {
        let log = fixture(case);
        let document = explain(&sandbox, &["--json"], &[&log, &log, &log])
            .expect(0)
            .json();
        assert_eq!(document["trips"], false, "{case}");
        assert_eq!(document["launches"].as_array().unwrap().len(), 3);
    }
}

#[test]
fn lines_of_any_size_and_kind_are_read() {
    let sandbox = Sandbox::new();
    let log = sandbox.home().join("big.jsonl");
    let mut file = fs::File::create(&log).unwrap();
    file.write_all(b"\xff\xfe not JSON\n\n").unwrap();
    let big = "x".repeat(12_000_000);
    writeln!(file, r#"{{"type":"message","message":{{"role":"user","content":[{{"type":"toolResponse","id":"1","toolResult":{{"status":"success","value":{{"content":[{{"type":"text","text":"{big}"}}]}}}}}}],"metadata":{{}}}}}}"#).unwrap();
    // One line longer than any that is kept.
    for _ in 0..4 {
        file.write_all(big.as_bytes()).unwrap();
    }
    file.write_all(b"\n").unwrap();
    file.write_all(&fs::read(fixture("text")).unwrap()).unwrap();
    drop(file);
    assert_eq!(outcome(&sandbox, &log), "done");
}

#[test]
fn a_log_without_its_last_newline_and_an_empty_one() {
    let sandbox = Sandbox::new();
    let (whole, empty) = (
        sandbox.home().join("whole.jsonl"),
        sandbox.home().join("empty.jsonl"),
    );
    fs::write(
        &whole,
        fs::read_to_string(fixture("text")).unwrap().trim_end(),
    )
    .unwrap();
    fs::write(&empty, "").unwrap();
    assert_eq!(outcome(&sandbox, &whole), "done");
    assert_eq!(outcome(&sandbox, &empty), "failed");
}

#[test]
fn the_agent_can_be_given_and_unknown_words_are_refused() {
    let sandbox = Sandbox::new();
    let log = sandbox.home().join("plain.log");
    fs::write(&log, "building\nall good\nARKAINT: done\n").unwrap();
    let document = explain(&sandbox, &["--json", "--agent", "command"], &[&log])
        .expect(0)
        .json();
    assert_eq!(
        (
            document["outcome"].as_str(),
            document["launches"][0]["completed"].as_bool()
        ),
        (Some("done"), Some(true))
    );
    let refused = explain(&sandbox, &["--agent", "nosuch"], &[&log]).expect(2);
    assert!(
        refused.stderr.contains("unknown agent 'nosuch'") && refused.stderr.contains("hint: "),
        "{}",
        refused.stderr
    );
    let missing = explain(&sandbox, &[], &[Path::new("/nonexistent/run.log")]).expect(2);
    assert!(
        missing
            .stderr
            .contains("no such log or run: /nonexistent/run.log"),
        "{}",
        missing.stderr
    );
}

#[test]
fn people_read_it_at_eighty_columns() {
    let sandbox = Sandbox::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let log = fs::read_dir(folder.join("breaker"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("trip-panic"))
        .unwrap();
    let shown = explain(&sandbox, &[], &[&log]).expect(0).stdout;
    assert!(
        shown.contains("\noutcome   ")
            && shown.contains("\nopen      crash ")
            && shown.contains("\nbreaker   trips: "),
        "{shown}"
    );
    for line in shown.lines().skip(1) {
        assert!(
            line.chars().count() <= 80 && !line.contains('\u{1b}'),
            "{line:?}"
        );
    }
}

#[test]
fn control_characters_of_a_log_do_not_reach_the_terminal() {
    let sandbox = Sandbox::new();
    let shown = explain(&sandbox, &[], &[&fixture("bad_utf8")])
        .expect(0)
        .stdout;
    assert!(
        !shown.contains('\u{1b}') && !shown.contains('\0'),
        "{shown:?}"
    );
}
