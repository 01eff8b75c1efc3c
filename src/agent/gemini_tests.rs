//! Gemini CLI's launch, and what recordings of its stream are turned into.

use super::tests::config;
use super::*;

fn transcript(case: &str) -> (Transcript, Vec<ToolUse>) {
    tests::transcript(AgentName::Gemini, &tests::recorded(AgentName::Gemini, case))
}

#[test]
fn gemini_is_launched_unattended() {
    let agent = config::Agent {
        name: AgentName::Gemini,
        model: Some("gemini-2.5-flash".into()),
        args: vec!["--debug".into()],
        ..config()
    };
    let launch = adapter(AgentName::Gemini).launch(&agent);
    assert_eq!(
        launch.argv.join(" "),
        "gemini --output-format stream-json --approval-mode yolo --skip-trust -m gemini-2.5-flash --debug"
    );
    assert_eq!((launch.stop, launch.turns), (Stop::Terminate, Some(100)));
    assert!(
        ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"]
            .iter()
            .all(|name| launch.needs(name))
    );
    assert!(
        !launch.needs("OPENAI_API_KEY") && !launch.needs("GOOGLE_APPLICATION_CREDENTIALS"),
        "a key to a whole cloud is no key to a model"
    );
}

#[test]
fn a_recorded_run_is_read_whole() {
    let (run, used) = transcript("tool");
    assert_eq!(
        (used[0].tool.as_str(), used[0].command.as_deref()),
        (
            "run_shell_command",
            Some("echo new > hello.txt && cat hello.txt")
        )
    );
    assert_eq!((used[0].text.as_str(), used[0].exit_code), ("new", None));
    assert_eq!(run.model.as_deref(), Some("gemini-2.5-flash"));
    assert_eq!(
        run.last_message, "Edited hello.txt.",
        "what came before the tool is another message, and the packet is none"
    );
    assert_eq!(
        run.usage,
        Some(Usage {
            input: Some(2100),
            output: Some(40),
            cache_read: Some(1000),
            cache_write: None
        })
    );
    assert!(run.done && run.cost_usd.is_none());
    let (run, used) = transcript("no_yolo");
    assert!(used[0].failed() && !used[0].text.is_empty() && run.done);
}

#[test]
fn an_end_that_is_none_is_an_error() {
    let (cut, _) = transcript("cut");
    assert!(!cut.done && cut.zero_usage && cut.trouble.is_some());
    let (refused, _) = transcript("http401");
    assert!(
        matches!(&refused.trouble, Some(Trouble::Error(words)) if words.contains("\"code\":401"))
    );
}

#[test]
fn gemini_is_recognised_by_its_stream() {
    for line in [
        r#"{"type":"init","timestamp":"t","session_id":"s","model":"m"}"#,
        r#"{"type":"message","timestamp":"t","role":"user","content":"x"}"#,
    ] {
        assert_eq!(recognise(line.as_bytes()), Some(AgentName::Gemini));
    }
    let claude = r#"{"type":"result","session_id":"s","uuid":"u","stats":{}}"#;
    assert_eq!(recognise(claude.as_bytes()), Some(AgentName::Claude));
}
