//! Codex's launch, and what recordings of its stream are turned into.

use super::tests::config;
use super::*;

fn transcript(case: &str) -> (Transcript, Vec<ToolUse>) {
    tests::transcript(AgentName::Codex, &tests::recorded(AgentName::Codex, case))
}

#[test]
fn codex_is_launched_unattended_and_without_a_past() {
    let agent = config::Agent {
        name: AgentName::Codex,
        ..config()
    };
    let launch = adapter(AgentName::Codex).launch(&agent);
    assert_eq!(
        launch.argv.join(" "),
        r#"codex exec --json --skip-git-repo-check --ephemeral --ignore-user-config -c approval_policy="never" -c sandbox_mode="danger-full-access" -"#
    );
    assert_eq!(
        (launch.stop, launch.turns),
        (Stop::Terminate, Some(100)),
        "it counts no turns itself"
    );
    assert!(launch.needs("OPENAI_API_KEY") && !launch.needs("ANTHROPIC_API_KEY"));
    let chosen = config::Agent {
        provider: Some("mistral".into()),
        model: Some("m".into()),
        args: vec!["-c".into(), r#"sandbox_mode="workspace-write""#.into()],
        ..agent
    };
    let launch = adapter(AgentName::Codex).launch(&chosen);
    assert!(
        launch
            .argv
            .join(" ")
            .ends_with(r#"-c model_provider="mistral" -m m -c sandbox_mode="workspace-write" -"#)
    );
    assert!(launch.needs("MISTRAL_API_KEY"));
    // Codex reads the value as TOML, which knows no `\u{ad}`.
    let odd = config::Agent {
        provider: Some("a\u{ad}b".into()),
        ..chosen
    };
    let argv = adapter(AgentName::Codex).launch(&odd).argv;
    assert!(argv.contains(&"model_provider=\"a\u{ad}b\"".to_owned()));
}

#[test]
fn a_recorded_run_is_read_whole() {
    let (run, used) = transcript("tool");
    assert_eq!(
        used,
        [ToolUse {
            tool: "command_execution".into(),
            command: Some("/bin/bash -lc 'echo new > hello.txt && cat hello.txt'".into()),
            arguments: "/bin/bash -lc 'echo new > hello.txt && cat hello.txt'".into(),
            exit_code: Some(0),
            text: "new\n".into(),
            ..ToolUse::default()
        }]
    );
    assert_eq!(run.last_message, "Edited hello.txt.");
    assert_eq!(
        run.usage,
        Some(Usage {
            input: Some(2100),
            output: Some(40),
            cache_read: Some(1000),
            cache_write: Some(0)
        })
    );
    assert!(run.done && run.trouble.is_none() && run.model.is_none() && run.cost_usd.is_none());
    assert!(run.errors.is_empty(), "a warning is no error");
    let (run, used) = transcript("tool_fail");
    assert_eq!((used[0].exit_code, used[0].failed()), (Some(1), true));
    assert_eq!((run.turns, run.tool_failures), (2, 1));
}

#[test]
fn a_tool_that_is_told_of_at_its_end_alone_is_a_call_and_its_result() {
    let line = r#"{"type":"item.completed","item":{"id":"item_3","type":"file_change","changes":[{"path":"a.txt","kind":"add"}],"status":"failed"}}"#;
    let out = tests::events(AgentName::Codex, line.as_bytes());
    assert!(
        matches!(&out[..], [Event::ToolCall { tool, command: None, arguments, .. }, Event::ToolResult { error: true, exit_code: None, .. }]
            if tool == "file_change" && arguments.contains("a.txt"))
    );
}

#[test]
fn what_it_tried_again_is_over_when_the_model_goes_on() {
    let (run, _) = transcript("http429_once");
    assert_eq!((run.trouble, run.done), (None, true));
    assert_eq!(run.errors.len(), 1);
    let (run, _) = transcript("refused");
    assert!(
        matches!(&run.trouble, Some(Trouble::Error(words)) if words.contains("waiting for network"))
    );
}

#[test]
fn codex_is_recognised_by_its_stream() {
    for line in [
        r#"{"type":"thread.started","thread_id":"t"}"#,
        r#"{"type":"item.started","item":{"id":"item_1","type":"command_execution"}}"#,
    ] {
        assert_eq!(recognise(line.as_bytes()), Some(AgentName::Codex));
    }
    assert_eq!(recognise(br#"{"type":"turn.started"}"#), None);
}
