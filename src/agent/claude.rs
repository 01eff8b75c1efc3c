//! Claude Code 2.1: one unattended run on standard input, and its `stream-json`. A message of the model `<synthetic>` is Claude Code
//! speaking, not the model. Its exit code and `subtype: "success"` say nothing: a refused request and a cut stream have them too.

use std::collections::VecDeque;

use serde_json::Value;

use super::{Adapter, AgentName, Event, Launch, Stop, Usage, object, provider, sum, transcript};
use crate::config;

/// The model of messages that Claude Code wrote itself.
const SYNTHETIC: &str = "<synthetic>";

/// Messages whose input is told from a repetition of it; the pieces of one message follow each other closely.
const REMEMBERED: usize = 64;

#[derive(Default)]
pub(super) struct Claude {
    /// What every message so far had as input: exact, while what was written is known at the end alone.
    input: Usage,
    /// Messages that are part of `input`: each block of a message repeats the numbers of the whole.
    counted: VecDeque<String>,
    /// Claude Code's own word for its last failure (`authentication_failed`).
    failure: Option<String>,
}

impl Adapter for Claude {
    fn name(&self) -> AgentName {
        AgentName::Claude
    }

    fn launch(&self, agent: &config::Agent) -> Launch {
        // --safe-mode: the user's hooks, plugins, servers, CLAUDE.md and memory of earlier sessions stay out, and logins work, which
        // they do not with --bare.
        let mut argv = super::argv(
            self.name(),
            agent,
            &[
                "-p",
                "--output-format",
                "stream-json",
                "--verbose",
                "--no-session-persistence",
                "--safe-mode",
                "--permission-mode",
                "bypassPermissions",
            ],
        );
        if let Some(model) = &agent.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        argv.extend(["--max-turns".to_owned(), agent.max_turns.to_string()]);
        argv.extend(agent.args.iter().cloned());
        let others = ["ANTHROPIC_*", "CLAUDE_*"];
        let variables = provider::variables(Some(&provider_of(agent)), &others);
        Launch {
            // On SIGTERM no result is written, and one more call of the model begins.
            stop: Stop::Interrupt,
            ..Launch::new(argv, variables).set([("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")])
        }
    }

    fn provider(&self, agent: &config::Agent) -> Option<String> {
        Some(provider_of(agent))
    }

    fn endpoint(&self, agent: &config::Agent) -> Option<String> {
        provider::endpoint(&provider_of(agent), &["BASE_URL"])
    }

    fn events(&mut self, line: &[u8], out: &mut Vec<Event>) {
        let Some(value) = object(line) else {
            return super::command::plain(line, out);
        };
        match value["type"].as_str() {
            Some("system") => system(&value, out),
            Some("assistant") => self.assistant(&value, out),
            Some("user") => results(&value, out),
            Some("result") => self.result(&value, out),
            _ => {}
        }
    }
}

/// Claude Code asks Anthropic unless it is told otherwise.
fn provider_of(agent: &config::Agent) -> String {
    agent
        .provider
        .clone()
        .unwrap_or_else(|| "anthropic".to_owned())
}

/// Is this a line of Claude Code's stream?
pub(super) fn speaks(line: &[u8]) -> bool {
    object(line).is_some_and(|value| {
        let kind = value["type"].as_str();
        let known = matches!(kind, Some("system" | "assistant" | "user" | "result"));
        known && value["session_id"].is_string() && value["uuid"].is_string()
    })
}

fn system(value: &Value, out: &mut Vec<Event>) {
    match value["subtype"].as_str() {
        Some("init") => model(&value["model"], out),
        // The model goes on after it unless every retry fails; then this is what is known when the run is ended from outside.
        Some("api_retry") => out.push(Event::Error(failure(
            value["error_status"].as_u64(),
            value["error"].as_str(),
            "retrying",
        ))),
        _ => {}
    }
}

/// The name of a model; what stands in brackets behind it is the size of its context.
fn model(name: &Value, out: &mut Vec<Event>) {
    let name = name.as_str().unwrap_or_default();
    let name = name.split('[').next().unwrap_or(name);
    if !name.is_empty() && name != SYNTHETIC {
        out.push(Event::Model {
            provider: None,
            model: name.to_owned(),
        });
    }
}

/// A failure of the service in one line that has the status where there is one, and Claude Code's word for it.
fn failure(status: Option<u64>, kind: Option<&str>, said: &str) -> String {
    let status = status
        .map(|status| format!("API error {status}: "))
        .unwrap_or_default();
    let kind = kind
        .filter(|kind| *kind != "unknown")
        .map(|kind| format!("{}: ", kind.replace('_', " ")))
        .unwrap_or_default();
    format!("{status}{kind}{said}")
}

/// The results in a message to the model.
fn results(value: &Value, out: &mut Vec<Event>) {
    for part in value["message"]["content"].as_array().into_iter().flatten() {
        if part["type"].as_str() == Some("tool_result") {
            out.push(tool_result(part, &value["tool_use_result"]));
        }
    }
}

fn tool_result(part: &Value, detail: &Value) -> Event {
    let error = part["is_error"].as_bool() == Some(true);
    let shown = match &part["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    let (mut exit_code, mut text) = (None, shown.as_str());
    let streams = match (detail["stdout"].as_str(), detail["stderr"].as_str()) {
        (Some(stdout), Some(stderr)) if !error => Some(format!("{stdout}\n{stderr}")),
        _ => None,
    };
    if let Some(streams) = &streams {
        // What a command printed, without notes like "(Bash completed with no output)".
        text = streams.trim_end_matches('\n');
    } else if error {
        let told = text.strip_prefix("Exit code ").and_then(|rest| {
            let (code, rest) = rest.split_once('\n').unwrap_or((rest, ""));
            Some((code.trim().parse().ok()?, rest))
        });
        if let Some((code, rest)) = told {
            (exit_code, text) = (Some(code), rest);
        }
        text = text
            .strip_prefix("<tool_use_error>")
            .and_then(|text| text.strip_suffix("</tool_use_error>"))
            .unwrap_or(text);
    }
    Event::ToolResult {
        id: part["tool_use_id"].as_str().unwrap_or_default().to_owned(),
        error,
        exit_code,
        timed_out: error && text.starts_with("Command timed out after "),
        killed: false,
        text: text.to_owned(),
    }
}

impl Claude {
    fn assistant(&mut self, value: &Value, out: &mut Vec<Event>) {
        let message = &value["message"];
        let id = message["id"].as_str().unwrap_or_default();
        let by_model = message["model"].as_str() != Some(SYNTHETIC);
        if by_model {
            model(&message["model"], out);
            self.count(id, &message["usage"], out);
        } else {
            self.failure = value["error"].as_str().map(str::to_owned);
        }
        for part in message["content"].as_array().into_iter().flatten() {
            let text = |key: &str| part[key].as_str().unwrap_or_default().to_owned();
            match part["type"].as_str() {
                Some("text") => out.push(Event::Text {
                    message: id.to_owned(),
                    by_model,
                    text: text("text"),
                }),
                Some("tool_use") => {
                    let tool = text("name");
                    out.push(Event::ToolCall {
                        id: text("id"),
                        command: super::command::shell_command(&tool, &part["input"]),
                        tool,
                        arguments: part["input"].to_string(),
                    });
                }
                _ => {}
            }
        }
    }

    /// Adds what a message had as input, once.
    fn count(&mut self, id: &str, usage: &Value, out: &mut Vec<Event>) {
        if self.counted.iter().any(|counted| counted == id) {
            return;
        }
        let seen = usage_of(usage, &MESSAGE);
        if seen.input.is_none() {
            return;
        }
        if self.counted.len() == REMEMBERED {
            self.counted.pop_front();
        }
        self.counted.push_back(id.to_owned());
        self.input = self.input.and(seen);
        // The number of a message that has only begun.
        self.input.output = None;
        out.push(Event::Usage(self.input));
    }

    fn result(&mut self, value: &Value, out: &mut Vec<Event>) {
        // By model, where it is told: the sum of the talk leaves out what helpers of the agent used.
        let models = value["modelUsage"].as_object().into_iter().flatten();
        let used = models
            .map(|(_, usage)| usage_of(usage, &MODEL))
            .reduce(Usage::and)
            .unwrap_or_else(|| usage_of(&value["usage"], &MESSAGE));
        if used != Usage::default() {
            out.push(Event::Usage(used));
        }
        // Zero tokens are a reply that did not come to its end: what that cost is unknown.
        if let Some(cost) = value["total_cost_usd"].as_f64()
            && used.total() != Some(0)
        {
            out.push(Event::Cost(cost));
        }
        let said = value["result"].as_str().unwrap_or_default();
        if value["is_error"].as_bool() == Some(true) || value["subtype"] != "success" {
            out.push(Event::Error(self.ended_badly(value, said)));
            return;
        }
        match value["stop_reason"].as_str() {
            Some("end_turn" | "stop_sequence") => {}
            Some("max_tokens" | "model_context_window_exceeded") => out.push(Event::OutputLimit),
            // A stream that was cut leaves what the last whole reply had here, or nothing.
            _ if transcript::says_done(said) => {}
            other => {
                out.push(Event::Error(format!(
                    "cut off: the last reply has no end (stop_reason {})",
                    other.unwrap_or("null")
                )));
                return;
            }
        }
        out.push(Event::Done);
    }

    /// Why a run that ended with an error did.
    fn ended_badly(&self, value: &Value, said: &str) -> String {
        let errors = value["errors"].as_array().into_iter().flatten();
        let errors: Vec<&str> = errors.filter_map(Value::as_str).collect();
        let reason = value["terminal_reason"].as_str().unwrap_or_default();
        match value["subtype"].as_str() {
            Some("success") => failure(
                value["api_error_status"].as_u64(),
                self.failure.as_deref(),
                said,
            ),
            Some("error_during_execution") if reason.starts_with("aborted") => {
                format!("interrupted ({reason})")
            }
            Some(subtype) if errors.is_empty() => subtype.replace('_', " "),
            _ => errors.join("; "),
        }
    }
}

/// Names of the numbers: input, output, cache read, cache write.
type Names = [&'static str; 4];
const MESSAGE: Names = [
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
];
const MODEL: Names = [
    "inputTokens",
    "outputTokens",
    "cacheReadInputTokens",
    "cacheCreationInputTokens",
];

/// Claude Code counts cached tokens beside the input; here they are part of it.
fn usage_of(value: &Value, [input, output, read, write]: &Names) -> Usage {
    let count = |key: &str| value[key].as_u64();
    let (cache_read, cache_write) = (count(read), count(write));
    Usage {
        input: count(input).and_then(|input| sum([Some(input), cache_read, cache_write])),
        output: count(output),
        cache_read,
        cache_write,
    }
}
