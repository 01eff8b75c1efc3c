//! Launches of the adapters, their streams line by line, and what a transcript keeps of them.

use std::path::Path;

use super::*;

pub(super) fn config() -> config::Agent {
    config::Agent {
        name: AgentName::Goose,
        provider: None,
        model: None,
        command: Vec::new(),
        args: Vec::new(),
        env: Vec::new(),
        wrapper: Vec::new(),
        timeout: std::time::Duration::from_secs(3600),
        idle_timeout: std::time::Duration::from_secs(900),
        max_turns: 100,
    }
}

/// The events of a stream.
pub(super) fn events(name: AgentName, stream: &[u8]) -> Vec<Event> {
    let (mut adapter, mut out) = (adapter(name), Vec::new());
    for line in stream.split(|byte| *byte == b'\n') {
        adapter.events(line, &mut out);
    }
    out
}

/// What a stream comes to, and the finished tool calls in it.
pub(super) fn transcript(name: AgentName, stream: &[u8]) -> (Transcript, Vec<ToolUse>) {
    let mut run = Transcript::new(4_000);
    let events = events(name, stream).into_iter();
    let used = events.filter_map(|event| run.feed(event)).collect();
    (run, used)
}

/// A recorded stream.
pub(super) fn recorded(name: AgentName, case: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(folder.join(name.as_str()).join(format!("{case}.jsonl"))).unwrap()
}

fn goose(line: &str) -> Vec<Event> {
    events(AgentName::Goose, line.as_bytes())
}

#[test]
fn goose_is_launched_unattended() {
    let launch = adapter(AgentName::Goose).launch(&config());
    assert_eq!(
        launch.argv.join(" "),
        "goose run --no-session --quiet --no-profile --with-builtin developer --max-turns 100 --instructions - --output-format stream-json"
    );
    assert_eq!(launch.set["GOOSE_MODE"], "auto");
    assert!(
        !launch.set.contains_key("GOOSE_PATH_ROOT"),
        "the user's login lives in the default place"
    );
    assert!(
        launch.needs("OPENAI_API_KEY")
            && launch.needs("GOOSE_PROVIDER")
            && !launch.needs("GITHUB_TOKEN")
            && !launch.needs("AWS_SECRET_ACCESS_KEY")
    );

    let chosen = config::Agent {
        provider: Some("anthropic".into()),
        model: Some("m".into()),
        command: vec!["/opt/goose".into()],
        args: vec!["--debug".into()],
        ..config()
    };
    let launch = adapter(AgentName::Goose).launch(&chosen);
    assert_eq!(launch.argv[0], "/opt/goose");
    assert!(
        launch
            .argv
            .join(" ")
            .contains("--provider anthropic --model m --max-turns")
    );
    assert_eq!(launch.argv.last().unwrap(), "--debug");
    assert!(launch.needs("ANTHROPIC_API_KEY") && !launch.needs("OPENAI_API_KEY"));
}

#[test]
fn versions_are_read_from_what_agents_print() {
    for (printed, version) in [
        (" 1.52.0\n", Some("1.52.0")),
        ("2.1.197 (Claude Code)", Some("2.1.197")),
        ("codex-cli 0.171.0", Some("0.171.0")),
        ("v3.0.1", Some("3.0.1")),
        ("usage: x", None),
    ] {
        assert_eq!(version_of(printed).as_deref(), version, "{printed:?}");
    }
    assert_eq!(
        adapter(AgentName::Goose).version(&config()).unwrap(),
        ["goose", "--version"]
    );
    assert_eq!(adapter(AgentName::Command).version(&config()), None);
}

#[test]
fn a_command_is_launched_as_it_is() {
    let agent = config::Agent {
        command: vec!["sh".into(), "a.sh".into()],
        args: vec!["x".into()],
        ..config()
    };
    assert_eq!(
        adapter(AgentName::Command).launch(&agent).argv,
        ["sh", "a.sh", "x"]
    );
}

#[test]
fn odd_lines_are_no_reason_to_fail() {
    for line in [
        &b""[..],
        b"\xff\xfe",
        b"{",
        b"[1]",
        b"null",
        b"{\"type\":1}",
        b"{\"type\":\"message\"}",
        b"{\"type\":\"message\",\"message\":[]}",
        b"{\"type\":\"message\",\"message\":{\"content\":[1,{}]}}",
    ] {
        let found = events(AgentName::Goose, line);
        assert!(
            found.iter().all(|event| matches!(event, Event::Plain(_))),
            "{found:?}"
        );
    }
    let late = goose(
        r#"Yes - what would you like me to do?{"type":"error","error":"Headless run interrupted"}"#,
    );
    assert_eq!(late, [Event::Error("Headless run interrupted".into())]);
    let mut bad = br#"{"type":"error","error":"bad "#.to_vec();
    bad.extend(b"\xff\"}");
    assert_eq!(
        events(AgentName::Goose, &bad),
        [Event::Error("bad \u{fffd}".into())]
    );
    assert_eq!(
        goose("  L L     goose is ready"),
        [Event::Plain("  L L     goose is ready".into())]
    );
}

#[test]
fn a_missing_number_is_unknown() {
    let Event::Usage(usage) = goose(r#"{"type":"complete","total_tokens":5,"output_tokens":5}"#)[0]
    else {
        panic!()
    };
    assert_eq!(
        (usage.input, usage.output, usage.cache_read),
        (None, Some(5), None)
    );
    assert_eq!(goose(r#"{"type":"complete"}"#), [Event::Done]);
}

#[test]
fn a_number_that_is_too_large_is_never_a_small_one() {
    let most = u64::MAX;
    let counted = |name: AgentName, lines: &[String]| {
        let (run, _) = transcript(name, lines.join("\n").as_bytes());
        let usage = run.usage.unwrap();
        let price = config::Price {
            input: 1.0,
            output: 1.0,
            cache_read: 1.0,
            cache_write: 1.0,
        };
        assert!(launch::cost(usage, price) > 1e12, "{name:?}");
        run.tokens().total
    };
    let goose = format!(r#"{{"type":"complete","input_tokens":{most},"output_tokens":{most}}}"#);
    let claude = |id: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"m","content":[{{"type":"text","text":"four"}}],"usage":{{"input_tokens":{most},"cache_read_input_tokens":{most},"cache_creation_input_tokens":{most}}}}}}}"#
        )
    };
    let opencode = format!(
        r#"{{"type":"step_finish","part":{{"tokens":{{"input":{most},"output":{most},"reasoning":1,"cache":{{"read":{most},"write":1}}}}}}}}"#
    );
    for (name, lines) in [
        (AgentName::Goose, vec![goose]),
        (AgentName::Claude, vec![claude("a"), claude("b")]),
        (AgentName::OpenCode, vec![opencode.clone(), opencode]),
    ] {
        assert_eq!(counted(name, &lines), most, "{name:?}");
    }
}

#[test]
fn what_a_tool_printed_is_told_from_what_goose_adds() {
    let line = r#"{"type":"message","message":{"role":"user","content":[{"type":"toolResponse","id":"1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"out\nerr\n\nCommand exited with code 3"}],"isError":true,"structuredContent":{"stdout":"out","stderr":"err","exit_code":3}}}}],"metadata":{}}}"#;
    assert_eq!(
        goose(line),
        [Event::ToolResult {
            id: "1".into(),
            error: true,
            exit_code: Some(3),
            timed_out: false,
            killed: false,
            text: "out\nerr".into()
        }]
    );
    let signal = line.replace(r#","exit_code":3"#, "");
    assert!(matches!(
        &goose(&signal)[0],
        Event::ToolResult {
            killed: true,
            exit_code: None,
            ..
        }
    ));
    let unknown = r#"{"type":"message","message":{"role":"user","content":[{"type":"toolResponse","id":"2","toolResult":{"status":"error","error":"no such tool"}}],"metadata":{}}}"#;
    assert!(
        matches!(&goose(unknown)[0], Event::ToolResult { error: true, killed: false, text, .. } if text == "no such tool")
    );
}

#[test]
fn shells_go_by_many_names() {
    let call = |tool: &str, arguments: &str| {
        command::shell_command(tool, &serde_json::from_str(arguments).unwrap())
    };
    for tool in [
        "shell",
        "developer__shell",
        "Bash",
        "run_shell_command",
        "functions.exec_command",
        "mcp__dev__bash",
    ] {
        assert_eq!(
            call(tool, r#"{"command":"ls"}"#).as_deref(),
            Some("ls"),
            "{tool}"
        );
    }
    assert_eq!(
        call("shell", r#"{"command":["bash","-lc","cargo test"]}"#).as_deref(),
        Some("cargo test")
    );
    assert_eq!(
        call("exec_command", r#"{"cmd":"ls"}"#).as_deref(),
        Some("ls")
    );
    assert_eq!(call("text_editor", r#"{"command":"str_replace"}"#), None);
    assert_eq!(call("shell", "{}"), None);
}

#[test]
fn an_agent_is_recognised_by_its_stream() {
    assert_eq!(
        recognise(br#"{"type":"message","message":{"content":[]}}"#),
        Some(AgentName::Goose)
    );
    assert_eq!(recognise(b"hello"), None);
    assert_eq!(recognise(br#"{"type":"step_start","part":{}}"#), None);
}

fn text(message: &str, by_model: bool, text: &str) -> Event {
    Event::Text {
        message: message.into(),
        by_model,
        text: text.into(),
    }
}

fn call(id: &str, line: &str) -> Event {
    Event::ToolCall {
        id: id.into(),
        tool: "shell".into(),
        command: Some(line.into()),
        arguments: line.into(),
    }
}

fn result(id: &str, exit_code: i64, text: &str) -> Event {
    Event::ToolResult {
        id: id.into(),
        error: exit_code != 0,
        exit_code: Some(exit_code),
        timed_out: false,
        killed: false,
        text: text.into(),
    }
}

#[test]
fn a_message_is_put_together_from_its_pieces() {
    let mut run = Transcript::new(0);
    for event in [
        text("1", true, "All do"),
        text("1", true, "ne.\n\nARKAINT:"),
        text("1", true, " done\n"),
    ] {
        run.feed(event);
    }
    assert_eq!(run.last_message, "All done.\n\nARKAINT: done\n");
    assert!(run.completed());
    run.feed(text("1", true, "and more"));
    assert!(!run.completed(), "it must be the last line");
    run.feed(text("2", false, "ARKAINT: done"));
    assert!(!run.completed(), "and the model's own");
}

#[test]
fn parallel_calls_find_their_results() {
    let mut run = Transcript::new(0);
    run.feed(call("a", "one"));
    run.feed(call("b", "two"));
    let second = run.feed(result("b", 3, "x")).unwrap();
    let first = run.feed(result("a", 0, "y")).unwrap();
    assert_eq!(
        (second.command.as_deref(), second.failed()),
        (Some("two"), true)
    );
    assert_eq!(
        (first.command.as_deref(), first.failed()),
        (Some("one"), false)
    );
    assert_eq!((run.turns, run.tool_calls, run.tool_failures), (1, 2, 1));
}

#[test]
fn an_estimate_grows_with_every_call_and_gives_way_to_a_report() {
    let mut run = Transcript::new(40_000);
    run.feed(text("1", true, "Looking."));
    let one = run.tokens();
    assert!(
        one.estimated && (10_000..13_000).contains(&one.total),
        "{one:?}"
    );
    run.feed(call("a", "cat big"));
    run.feed(result("a", 0, &"x".repeat(80_000)));
    run.feed(text("2", true, "Done."));
    let two = run.tokens();
    assert!(
        two.total > one.total + 30_000,
        "packet and result are sent again: {two:?}"
    );
    run.feed(Event::Usage(Usage {
        input: Some(100),
        output: Some(20),
        ..Usage::default()
    }));
    assert_eq!(
        run.tokens(),
        super::transcript::Tokens {
            total: 120,
            estimated: false
        }
    );
}

/// goose#9758: identical tool calls repeat.
/// Also report_goose_7527.
#[test]
fn report_goose_9758() {
    let mut run = Transcript::new(0);
    for n in 0..50 {
        run.feed(call(&n.to_string(), "echo same"));
        run.feed(result(&n.to_string(), 0, "same"));
    }
    assert!(run.repeats() == 50 && run.repeats() >= REPEAT_LIMIT);
    run.feed(call("x", "echo same"));
    run.feed(result("x", 0, "another"));
    assert_eq!(run.repeats(), 1);
}

#[test]
fn memory_is_bounded() {
    let mut run = Transcript::new(0);
    let big = "y".repeat(1_000_000);
    for n in 0..300 {
        run.feed(text("same", true, &big));
        run.feed(Event::Plain("z".repeat(10_000)));
        run.feed(Event::Error(big.clone()));
        run.feed(call(&n.to_string(), "x"));
    }
    let done = run.feed(result("299", 0, &big)).unwrap();
    assert!(done.text.len() < 300_000 && run.last_message.len() < 2_000_000);
    assert!(
        run.plain
            .iter()
            .chain(&run.errors)
            .map(String::len)
            .sum::<usize>()
            < 400_000
    );
}
