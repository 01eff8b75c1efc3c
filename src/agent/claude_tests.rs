//! Claude Code's launch, and what single lines and whole recordings of its stream are turned into.

use super::tests::config;
use super::*;

/// The events of a recorded run.
fn recorded(case: &str) -> Vec<Event> {
    tests::events(AgentName::Claude, &tests::recorded(AgentName::Claude, case))
}

fn transcript(case: &str) -> Transcript {
    tests::transcript(AgentName::Claude, &tests::recorded(AgentName::Claude, case)).0
}

fn one(line: &str) -> Vec<Event> {
    tests::events(AgentName::Claude, line.as_bytes())
}

#[test]
fn claude_is_launched_unattended_and_without_a_past() {
    let agent = config::Agent {
        name: AgentName::Claude,
        ..config()
    };
    let launch = adapter(AgentName::Claude).launch(&agent);
    assert_eq!(
        launch.argv.join(" "),
        "claude -p --output-format stream-json --verbose --no-session-persistence --safe-mode --permission-mode bypassPermissions --max-turns 100"
    );
    assert_eq!(launch.stop, Stop::Interrupt);
    assert!(
        ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"]
            .iter()
            .all(|name| launch.needs(name))
    );
    assert!(
        ["OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY"]
            .iter()
            .all(|name| !launch.needs(name))
    );
    let chosen = config::Agent {
        provider: Some("aws_bedrock".into()),
        model: Some("m".into()),
        command: vec!["/opt/claude".into()],
        args: vec!["--effort".into(), "high".into()],
        ..agent
    };
    let launch = adapter(AgentName::Claude).launch(&chosen);
    assert_eq!(launch.argv[0], "/opt/claude");
    assert!(
        launch
            .argv
            .join(" ")
            .ends_with("--model m --max-turns 100 --effort high")
    );
    assert!(launch.needs("AWS_SECRET_ACCESS_KEY"));
    assert_eq!(
        adapter(AgentName::Claude).version(&chosen).unwrap(),
        ["/opt/claude", "--version"]
    );
}

#[test]
fn a_recorded_tool_call_is_read_whole() {
    let events = recorded("tool");
    let line = "echo new > hello.txt && cat hello.txt";
    assert!(events.iter().any(|event| matches!(event, Event::ToolCall { tool, command, .. } if tool == "Bash" && command.as_deref() == Some(line))));
    assert!(events.contains(&Event::ToolResult {
        id: "toolu_1_0".into(),
        error: false,
        exit_code: None,
        timed_out: false,
        killed: false,
        text: "new".into()
    }));
    assert_eq!(events.last(), Some(&Event::Done));
    let run = transcript("tool");
    assert_eq!(run.model.as_deref(), Some("claude-sonnet-4-5"));
    assert_eq!(run.last_message, "Edited hello.txt.");
    assert_eq!((run.turns, run.tool_calls, run.tool_failures), (2, 1, 0));
    assert_eq!(run.cost_usd, Some(0.0042));
    assert_eq!(
        run.usage,
        Some(Usage {
            input: Some(2100),
            output: Some(40),
            cache_read: Some(1000),
            cache_write: Some(0)
        }),
        "cached tokens are part of the input"
    );
}

#[test]
fn a_failed_command_has_the_exit_code_that_its_text_tells() {
    let results = |case: &str| {
        let results = recorded(case)
            .into_iter()
            .filter(|event| matches!(event, Event::ToolResult { .. }));
        results.collect::<Vec<_>>()
    };
    let failed = |exit_code: Option<i64>, text: &str| {
        [Event::ToolResult {
            id: "toolu_1_0".into(),
            error: true,
            exit_code,
            timed_out: false,
            killed: false,
            text: text.into(),
        }]
    };
    assert_eq!(results("tool_fail"), failed(Some(1), "boom: no such thing"));
    assert_eq!(results("sigterm_pid"), failed(Some(137), ""));
    let told = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1_0","is_error":true,"content":"TEXT"}]}}"#;
    assert_eq!(
        one(&told.replace(
            "TEXT",
            "<tool_use_error>String to replace not found</tool_use_error>"
        )),
        failed(None, "String to replace not found")
    );
    assert_eq!(
        one(&told.replace("TEXT", "Exit code x")),
        failed(None, "Exit code x")
    );
    assert!(matches!(
        &one(&told.replace("TEXT", r"Exit code 143\nCommand timed out after 2m 0s"))[0],
        Event::ToolResult {
            timed_out: true,
            exit_code: Some(143),
            ..
        }
    ));
    // A list of parts, and an answer that is no command's.
    let parts = told
        .replace(
            r#""TEXT""#,
            r#"[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]"#,
        )
        .replace("true", "false");
    assert!(
        matches!(&one(&parts)[0], Event::ToolResult { error: false, text, .. } if text == "a\nb")
    );
}

/// The same message comes once for each of its blocks, with the numbers of the whole each time.
#[test]
fn the_blocks_of_a_message_are_counted_once() {
    let block = |id: &str, input: u64| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"m","content":[{{"type":"text","text":"word "}}],"usage":{{"input_tokens":{input},"cache_read_input_tokens":10,"cache_creation_input_tokens":5,"output_tokens":1}}}}}}"#
        )
    };
    let (mut adapter, mut run) = (adapter(AgentName::Claude), Transcript::new(0));
    let mut feed = |line: String, run: &mut Transcript| {
        let mut out = Vec::new();
        adapter.events(line.as_bytes(), &mut out);
        for event in out {
            run.feed(event);
        }
    };
    for _ in 0..3 {
        feed(block("a", 100), &mut run);
    }
    assert_eq!(
        run.usage,
        Some(Usage {
            input: Some(115),
            output: None,
            cache_read: Some(10),
            cache_write: Some(5)
        })
    );
    feed(block("b", 200), &mut run);
    feed(block("a", 100), &mut run);
    assert_eq!(run.usage.unwrap().input, Some(330));
    assert_eq!(run.last_message, "word ");
    let told = run.tokens();
    assert!(
        told.estimated && told.total > 330,
        "what was written is not told before the end: {told:?}"
    );
    feed(
        r#"{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","result":"x","usage":{"input_tokens":9,"output_tokens":1},"modelUsage":{"m":{"inputTokens":300,"outputTokens":40,"cacheReadInputTokens":20,"cacheCreationInputTokens":10},"small":{"inputTokens":7,"outputTokens":3}}}"#.to_owned(),
        &mut run,
    );
    assert_eq!(
        run.usage,
        Some(Usage {
            input: Some(337),
            output: Some(43),
            cache_read: Some(20),
            cache_write: Some(10)
        }),
        "all models of the run"
    );
    assert!(run.done && !run.tokens().estimated && run.cost_usd.is_none());
}

#[test]
fn an_end_that_is_none_is_an_error() {
    for (case, words) in [
        ("max_turns", "Reached maximum number of turns (2)"),
        ("sigint_pid", "interrupted (aborted_tools)"),
        (
            "no_key",
            "authentication failed: Not logged in · Please run /login",
        ),
        ("http400", "API error 400: API Error: 400 Unsupported value"),
        (
            "retry_429",
            "API error 429: rate limit: API Error: Request rejected (429) · rate limit exceeded",
        ),
        (
            "tool_then_cut",
            "cut off: the last reply has no end (stop_reason tool_use)",
        ),
        (
            "cut",
            "cut off: the last reply has no end (stop_reason null)",
        ),
        // Ended from outside while it tried again.
        ("http401", "API error 401: authentication failed: retrying"),
    ] {
        let run = transcript(case);
        assert_eq!(
            run.trouble,
            Some(Trouble::Error(words.to_owned())),
            "{case}"
        );
        assert!(!run.done, "{case}");
    }
    let once = transcript("http429_once");
    assert_eq!((once.trouble, once.done), (None, true), "it went on");
    let cut = transcript("cut");
    assert_eq!(
        (cut.zero_usage, cut.cost_usd),
        (true, None),
        "unknown, not 0"
    );
}

#[test]
fn a_stop_reason_is_no_more_than_it_says() {
    let end = |reason: &str, said: &str| {
        one(&format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"stop_reason":{reason},"result":"{said}"}}"#
        ))
    };
    assert_eq!(end(r#""end_turn""#, "x"), [Event::Done]);
    assert_eq!(
        end(r#""max_tokens""#, "x"),
        [Event::OutputLimit, Event::Done]
    );
    assert!(matches!(&end("null", "x")[..], [Event::Error(_)]));
    // A service that tells no reason, and a model that ends as it was asked to.
    assert_eq!(end("null", r"x\nARKAINT: done"), [Event::Done]);
}

#[test]
fn claude_is_recognised_by_its_stream_and_odd_lines_are_no_reason_to_fail() {
    let init = r#"{"type":"system","subtype":"init","session_id":"s","uuid":"u","model":"claude-opus-4-8[1m]"}"#;
    assert_eq!(recognise(init.as_bytes()), Some(AgentName::Claude));
    assert_eq!(
        one(init),
        [Event::Model {
            provider: None,
            model: "claude-opus-4-8".into()
        }]
    );
    for line in [
        "",
        "{",
        "[1]",
        "null",
        r#"{"type":1}"#,
        r#"{"type":"assistant"}"#,
        r#"{"type":"assistant","message":{"content":[1,{}]}}"#,
        r#"{"type":"user","message":{"content":"text"}}"#,
        r#"{"type":"system","subtype":"task_started"}"#,
    ] {
        let found = one(line);
        assert!(
            found.iter().all(|event| matches!(event, Event::Plain(_))),
            "{line}: {found:?}"
        );
    }
    assert!(matches!(
        &one(r#"{"type":"result"}"#)[..],
        [Event::Error(_)]
    ));
}
