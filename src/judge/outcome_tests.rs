//! The outcome of every recorded run of an agent, and of launches that no recording has.

use std::path::Path;

use serde_json::Value;

use super::Listener;
use super::outcome::{Ending, Stopped};
use crate::agent::{AgentName, Outcome};

fn judged(agent: AgentName, stream: &[u8], ending: &Ending) -> (Outcome, String) {
    let mut heard = Listener::new(agent, 4_000);
    stream
        .split(|b| *b == b'\n')
        .for_each(|line| heard.line(line));
    heard.outcome(ending)
}

fn goose(lines: &[&str], ending: &Ending) -> (Outcome, String) {
    judged(AgentName::Goose, lines.join("\n").as_bytes(), ending)
}

fn exit(code: i32) -> Ending {
    Ending {
        exit_code: Some(code),
        ..Ending::default()
    }
}

fn model(text: &str) -> String {
    format!(
        r#"{{"type":"message","message":{{"id":"m","role":"assistant","content":[{{"type":"text","text":"{text}"}}],"metadata":{{"inference":{{"provider":"p","requestedModel":"m"}}}}}}}}"#
    )
}

const COMPLETE: &str =
    r#"{"type":"complete","total_tokens":120,"input_tokens":100,"output_tokens":20}"#;
const CALL: &str = r#"{"type":"message","message":{"role":"assistant","content":[{"type":"toolRequest","id":"1","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"true"}}}}],"metadata":{"inference":{"requestedModel":"m"}}}}"#;
const RESULT: &str = r#"{"type":"message","message":{"role":"user","content":[{"type":"toolResponse","id":"1","toolResult":{"status":"success","value":{"content":[],"isError":false,"structuredContent":{"stdout":"","stderr":"","exit_code":0}}}}],"metadata":{}}}"#;

/// Judges every run of `agent` in its folder of recordings against what is written there; gives their number.
fn recorded(agent: AgentName) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(agent.as_str());
    let cases: Vec<Value> =
        serde_json::from_slice(&std::fs::read(folder.join("cases.json")).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let number = |key: &str| case[key].as_i64().map(|n| i32::try_from(n).unwrap());
        let ending = Ending {
            exit_code: number("exit_code"),
            signal: number("signal"),
            stopped: None,
            stderr: case["stderr"].as_str().unwrap().to_owned(),
        };
        let name = case["case"].as_str().unwrap();
        let stream = std::fs::read(folder.join(format!("{name}.jsonl"))).unwrap();
        let (outcome, reason) = judged(agent, &stream, &ending);
        if case["outcome"] != outcome.word() {
            wrong.push(format!(
                "{name}: {} ({reason}), expected {}",
                outcome.word(),
                case["outcome"]
            ));
        }
        assert!(
            !reason.is_empty() && !reason.contains('\n'),
            "{name}: {reason:?}"
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    cases.len()
}

#[test]
fn every_recorded_run_of_goose() {
    assert!(recorded(AgentName::Goose) > 90);
}

#[test]
fn every_recorded_run_of_claude() {
    assert!(recorded(AgentName::Claude) > 40);
}

#[test]
fn every_recorded_run_of_codex() {
    assert!(recorded(AgentName::Codex) > 30);
}

#[test]
fn every_recorded_run_of_opencode() {
    assert!(recorded(AgentName::OpenCode) >= 25);
}

#[test]
fn every_recorded_run_of_gemini() {
    assert!(recorded(AgentName::Gemini) >= 27);
}

#[test]
fn a_deadline_that_passes_while_the_service_is_waited_for_is_the_services() {
    let stopped = |stopped| Ending {
        stopped: Some(stopped),
        ..Ending::default()
    };
    let waiting = br#"{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}"#;
    for deadline in [Stopped::Wall, Stopped::Idle] {
        let (outcome, reason) = judged(AgentName::Codex, waiting, &stopped(deadline));
        assert!(
            outcome == Outcome::Unreachable && reason.contains("waiting for network"),
            "{reason}"
        );
    }
    let odd = br#"{"type":"error","message":"something odd"}"#;
    let (outcome, _) = judged(AgentName::Codex, odd, &stopped(Stopped::Idle));
    assert_eq!(outcome, Outcome::Timeout);
}

#[test]
fn zero_is_not_enough() {
    assert_eq!(
        goose(&[&model("Done."), COMPLETE], &exit(0)).0,
        Outcome::Done
    );
    assert_eq!(
        goose(&[&model("Done.")], &exit(0)).0,
        Outcome::Failed,
        "no final event"
    );
    assert_eq!(goose(&[COMPLETE], &exit(0)).0, Outcome::Failed, "no reply");
    assert_eq!(
        goose(&[CALL, RESULT, COMPLETE], &exit(0)).0,
        Outcome::Failed,
        "nothing after the tool result"
    );
    assert_eq!(goose(&[], &exit(0)).0, Outcome::Failed);
    assert_eq!(
        goose(&[&model("Done."), COMPLETE], &exit(1)).0,
        Outcome::Failed
    );
}

#[test]
fn a_reply_that_breaks_off_is_cut_unless_it_is_complete() {
    let zeros = r#"{"type":"complete","total_tokens":0,"input_tokens":0,"output_tokens":0}"#;
    let bare = r#"{"type":"complete"}"#;
    for (text, complete, expected) in [
        ("Now I will also fix", COMPLETE, Outcome::Failed),
        ("Let me look at the", COMPLETE, Outcome::Failed),
        ("fixed the parser and its tests", COMPLETE, Outcome::Done),
        ("I will leave the rest to you.", COMPLETE, Outcome::Done),
        ("The parser reads the", zeros, Outcome::Failed),
        ("Done.", zeros, Outcome::Done),
        ("fixed the parser and its tests", bare, Outcome::Done),
        ("I will now\\n\\nARKAINT: done", zeros, Outcome::Done),
        ("All good.\\n\\n**ARKAINT: done**", COMPLETE, Outcome::Done),
    ] {
        assert_eq!(
            goose(&[&model(text), complete], &exit(0)).0,
            expected,
            "{text} / {complete}"
        );
    }
}

#[test]
fn what_ended_it_goes_first() {
    let stopped = |stopped| Ending {
        signal: Some(15),
        stopped: Some(stopped),
        ..Ending::default()
    };
    let (half, whole) = ([CALL], [&model("Done.") as &str, COMPLETE]);
    assert_eq!(goose(&half, &stopped(Stopped::Wall)).0, Outcome::Timeout);
    assert_eq!(goose(&half, &stopped(Stopped::Idle)).0, Outcome::Timeout);
    assert_eq!(
        goose(&half, &stopped(Stopped::Cap("5 USD are spent".to_owned()))),
        (Outcome::Capped, "5 USD are spent".to_owned())
    );
    assert_eq!(
        goose(&whole, &stopped(Stopped::Interrupted)).0,
        Outcome::Killed
    );
    assert_eq!(
        goose(&whole, &stopped(Stopped::Idle)).0,
        Outcome::Done,
        "it hung after its end"
    );
    assert_eq!(
        goose(
            &half,
            &Ending {
                signal: Some(9),
                ..Ending::default()
            }
        )
        .0,
        Outcome::Killed
    );
}

#[test]
fn an_error_that_the_model_goes_on_after_is_over() {
    let error = r#"{"type":"message","message":{"role":"assistant","content":[{"type":"error","kind":"contextLengthExceeded","message":"Context length exceeded"}],"metadata":{}}}"#;
    assert_eq!(
        goose(&[error, &model("Done."), COMPLETE], &exit(0)).0,
        Outcome::Done
    );
    assert_eq!(
        goose(&[&model("Done."), error], &exit(1)).0,
        Outcome::Capped
    );
}

#[test]
fn the_models_words_are_no_error() {
    let words = "The server returned 500 Internal Server Error and 401 Unauthorized, rate limit exceeded; I fixed that.";
    assert_eq!(goose(&[&model(words), COMPLETE], &exit(0)).0, Outcome::Done);
    let output = RESULT.replace(
        r#""stdout":"""#,
        r#""stdout":"Error: (500 Internal Server Error) maximum number of turns""#,
    );
    assert_eq!(
        goose(&[CALL, &output, &model("Done."), COMPLETE], &exit(0)).0,
        Outcome::Done
    );
}

#[test]
fn a_plain_command_is_judged_by_its_exit_code() {
    let run = |stream: &str, code| judged(AgentName::Command, stream.as_bytes(), &exit(code)).0;
    assert_eq!(run("", 0), Outcome::Done);
    assert_eq!(
        run("error: 500 of 500 files done\nfailed: 0\n", 0),
        Outcome::Done
    );
    assert_eq!(run("working\n", 1), Outcome::Failed);
    assert_eq!(run("", 127), Outcome::Unusable);
    assert_eq!(
        run(&format!("{}\n{COMPLETE}\n", model("Done.")), 0),
        Outcome::Done,
        "a stand-in that speaks Goose"
    );
    assert_eq!(
        run(&format!("{}\n", model("Done.")), 0),
        Outcome::Failed,
        "and is cut like Goose"
    );
    assert_eq!(
        run(
            "{\"type\":\"error\",\"error\":\"Rate limit exceeded\"}\n",
            1
        ),
        Outcome::Limited
    );
    let mut heard = Listener::new(AgentName::Command, 0);
    heard.line(
        br#"working {"arkaint":{"input_tokens":7,"output_tokens":3,"cost_usd":0.5,"model":"m"}}"#,
    );
    assert_eq!(
        heard.transcript.usage.and_then(crate::agent::Usage::total),
        Some(10)
    );
    assert_eq!(
        (heard.transcript.cost_usd, heard.transcript.model.as_deref()),
        (Some(0.5), Some("m"))
    );
}
