//! OpenCode's launch, what recordings of its stream are turned into, and the circles that it does not leave.

use super::tests::config;
use super::*;

fn transcript(stream: &[u8]) -> (Transcript, Vec<ToolUse>) {
    tests::transcript(AgentName::OpenCode, stream)
}

fn recorded(case: &str) -> (Transcript, Vec<ToolUse>) {
    transcript(&tests::recorded(AgentName::OpenCode, case))
}

#[test]
fn opencode_is_launched_unattended() {
    let agent = config::Agent {
        name: AgentName::OpenCode,
        model: Some("anthropic/m".into()),
        ..config()
    };
    let launch = adapter(AgentName::OpenCode).launch(&agent);
    assert_eq!(
        launch.argv.join(" "),
        "opencode run --format json --title arkaint --auto -m anthropic/m"
    );
    assert_eq!((launch.stop, launch.turns), (Stop::Terminate, Some(100)));
    let chosen = config::Agent {
        provider: Some("openai".into()),
        model: Some("m".into()),
        args: vec!["--print-logs".into()],
        ..agent
    };
    let launch = adapter(AgentName::OpenCode).launch(&chosen);
    assert!(launch.argv.join(" ").ends_with("-m openai/m --print-logs"));
    assert!(launch.needs("OPENAI_API_KEY") && launch.needs("OPENCODE_CONFIG_CONTENT"));
    assert!(!launch.needs("ANTHROPIC_API_KEY"));
}

#[test]
fn steps_are_added_up() {
    let (run, used) = recorded("tool");
    assert_eq!(used.len(), 1);
    assert_eq!(
        (used[0].tool.as_str(), used[0].exit_code, used[0].failed()),
        ("bash", Some(0), false)
    );
    assert!(used[0].command.as_deref().unwrap().contains("hello.txt"));
    assert_eq!(run.last_message, "Edited hello.txt.");
    let usage = run.usage.unwrap();
    assert_eq!(
        (usage.input, usage.output, usage.cache_read),
        (Some(2100), Some(40), Some(1000)),
        "cached tokens are part of the input"
    );
    assert!(run.done && (run.cost_usd.unwrap() - 0.00128).abs() < 1e-9);
    let (run, used) = recorded("tool_fail");
    assert_eq!((used[0].exit_code, used[0].failed()), (Some(1), true));
    assert!(
        used[0].text.contains("boom: no such thing") && run.done,
        "its own status says completed"
    );
    let (_, used) = recorded("edit_then_500");
    assert_eq!(used[0].text, "", "a note of OpenCode's is no output");
}

#[test]
fn circles_are_seen_in_their_second_round() {
    let cut = r#"{"type":"text","timestamp":1,"sessionID":"s","part":{"messageID":"m","text":"I will now"}}
{"type":"step_finish","timestamp":1,"sessionID":"s","part":{"reason":"unknown","tokens":{"input":0,"output":0,"cache":{"read":0,"write":0}},"cost":0}}
"#;
    let full = r#"{"type":"error","timestamp":1,"sessionID":"s","error":{"name":"ContextOverflowError","data":{"message":"too long"}}}
{"type":"text","timestamp":1,"sessionID":"s","part":{"messageID":"m","text":"Summary.","synthetic":true}}
"#;
    for round in [cut, full] {
        let once = transcript(round.as_bytes()).0;
        assert!(
            once.stuck.is_none() && once.trouble.is_some() && once.cost_usd.is_none(),
            "{round}"
        );
        let twice = transcript(round.repeat(2).as_bytes()).0;
        assert!(twice.stuck.is_some(), "{round}");
    }
    let goes_on =
        r#"{"type":"step_finish","timestamp":1,"sessionID":"s","part":{"reason":"tool-calls"}}"#;
    let between = transcript(format!("{cut}{goes_on}\n{cut}").as_bytes()).0;
    assert!(between.stuck.is_none(), "it went on in between");
}

#[test]
fn opencode_is_recognised_by_its_stream() {
    let step = br#"{"type":"step_start","timestamp":1,"sessionID":"s","part":{}}"#;
    assert_eq!(recognise(step), Some(AgentName::OpenCode));
    assert!(matches!(
        &transcript(b"no event").0.plain.back(),
        Some(line) if *line == "no event"
    ));
}
