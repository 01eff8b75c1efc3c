//! Streams and outputs that were damaged: a launch that prints them is judged, whatever they say.

use super::outcome::Ending;
use super::{Listener, breaker, signature};
use crate::agent::{self, AgentName};
use crate::config;
use crate::text::fuzz;

/// Follows a stream as a launch would be, and asks everything that is asked of it.
fn follow(name: AgentName, stream: &[u8]) {
    let mut listener = Listener::new(name, 1000);
    for line in stream.split(|byte| *byte == b'\n') {
        listener.line(line);
        let _ = agent::recognise(line);
    }
    let tokens = listener.transcript.tokens();
    let _ = (
        tokens,
        listener.transcript.repeats(),
        listener.transcript.completed(),
    );
    for code in [Some(0), Some(1), None] {
        let ending = Ending {
            exit_code: code,
            ..Ending::default()
        };
        let (_, reason) = listener.outcome(&ending);
        assert!(!reason.contains('\n'), "{reason:?}");
    }
    let mut breaker = breaker::Breaker::new(&config::Config::default().breaker);
    let _ = breaker.tool_launch(&listener.report);
    for tally in listener.report.tallies() {
        assert!(!tally.seen.signature.hash.is_empty());
    }
}

fn streams(name: AgentName) {
    let mut examples = fuzz::files(name.as_str());
    examples.retain(|stream| stream.len() < 64 * 1024);
    fuzz::damaged(&examples, |stream| follow(name, stream));
}

#[test]
fn a_damaged_stream_of_goose_is_judged() {
    let mut examples = fuzz::files("goose");
    examples.extend(fuzz::files("breaker"));
    examples.retain(|stream| stream.len() < 32 * 1024);
    fuzz::damaged(&examples, |stream| follow(AgentName::Goose, stream));
}

#[test]
fn a_damaged_stream_of_claude_code_is_judged() {
    streams(AgentName::Claude);
}

#[test]
fn a_damaged_stream_of_codex_is_judged() {
    streams(AgentName::Codex);
}

#[test]
fn a_damaged_stream_of_opencode_is_judged() {
    streams(AgentName::OpenCode);
}

#[test]
fn a_damaged_stream_of_gemini_is_judged() {
    streams(AgentName::Gemini);
}

#[test]
fn whatever_a_check_prints_has_signatures_of_one_line_each() {
    let examples = fuzz::texts(&[
        "running 2 tests\ntest a::b ... FAILED\n\nfailures:\n\n---- a::b stdout ----\nthread 'a::b' panicked at src/a.rs:3:5:\nassertion failed: x\n\nfailures:\n    a::b\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n",
        "error[E0308]: mismatched types\n --> src/main.rs:2:18\n  |\n2 | let x: u32 = \"\";\n  |        ---   ^^ expected `u32`\n",
        "============ FAILURES ============\n____ test_a ____\n\n>   assert 1 == 2\nE   assert 1 == 2\n\ntests/test_a.py:3: AssertionError\nFAILED tests/test_a.py::test_a - assert 1 == 2\n",
        "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nModuleNotFoundError: No module named 'x'\n",
        "not ok 1 - adds\n  ---\n  message: expected 2\n  ...\n1..1\n",
        "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.\nnpm ERR! code ELIFECYCLE\n",
        "bash: line 1: foo: command not found\nmake: *** [Makefile:2: all] Error 127\nSegmentation fault (core dumped)\n",
    ]);
    let commands = [
        None,
        Some("cargo test"),
        Some("cd x && pytest -q || true; npm test 2>&1 | tail"),
    ];
    fuzz::damaged(&examples, |bytes| {
        let output = String::from_utf8_lossy(bytes);
        for command in commands {
            for found in signature::from_output(command, &output) {
                assert!(!found.hash.is_empty() && !found.family().is_empty());
            }
        }
        // A line may be a command as well.
        signature::from_output(Some(&output), "FAILED");
    });
}
