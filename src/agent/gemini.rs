//! Gemini CLI 0.61: one unattended run on standard input, and its `stream-json`, which repeats the packet. A command that failed is a
//! success to it and has no exit code; its own exit code is a status of HTTP cut down to a byte.

use serde_json::Value;

use super::{Adapter, AgentName, Event, Launch, Usage, object, provider, string};
use crate::config;

pub(super) struct Gemini;

impl Adapter for Gemini {
    fn name(&self) -> AgentName {
        AgentName::Gemini
    }

    fn launch(&self, agent: &config::Agent) -> Launch {
        // Without yolo it has no shell, and without --skip-trust no yolo in a folder that nobody has called trusted.
        let mut argv = super::argv(
            self.name(),
            agent,
            &[
                "--output-format",
                "stream-json",
                "--approval-mode",
                "yolo",
                "--skip-trust",
            ],
        );
        if let Some(model) = &agent.model {
            argv.extend(["-m".to_owned(), model.clone()]);
        }
        argv.extend(agent.args.iter().cloned());
        // Of what starts with GOOGLE_, most opens far more than a model.
        let others = [
            "GEMINI_*",
            "GOOGLE_API_KEY",
            "GOOGLE_GEMINI_*",
            "GOOGLE_GENAI_*",
        ];
        let chosen = agent.provider.as_deref().unwrap_or("gemini");
        Launch {
            turns: Some(agent.max_turns),
            ..Launch::new(argv, provider::variables(Some(chosen), &others))
        }
    }

    fn provider(&self, agent: &config::Agent) -> Option<String> {
        Some(provider_of(agent))
    }

    fn endpoint(&self, _agent: &config::Agent) -> Option<String> {
        provider::endpoint("google_gemini", &["BASE_URL"])
    }

    fn events(&mut self, line: &[u8], out: &mut Vec<Event>) {
        let Some(value) = object(line) else {
            return super::command::plain(line, out);
        };
        match value["type"].as_str() {
            Some("init") => out.push(Event::Model {
                provider: None,
                model: string(&value["model"]),
            }),
            Some("message") if value["role"] == "assistant" => out.push(Event::Text {
                // Pieces have no name: what follows without a tool between is one message.
                message: "message".to_owned(),
                by_model: true,
                text: string(&value["content"]),
            }),
            Some("tool_use") => out.push(call(&value)),
            Some("tool_result") => out.push(tool_result(&value)),
            Some("error") if value["severity"] == "error" => {
                out.push(Event::Error(string(&value["message"])));
            }
            Some("result") => result(&value, out),
            _ => {}
        }
    }
}

/// Gemini CLI asks Google's own service unless it is told otherwise.
fn provider_of(agent: &config::Agent) -> String {
    let chosen = agent.provider.clone();
    chosen.unwrap_or_else(|| "google".to_owned())
}

/// Is this a line of Gemini CLI's stream?
pub(super) fn speaks(line: &[u8]) -> bool {
    object(line).is_some_and(|value| match value["type"].as_str() {
        Some("init") => value["session_id"].is_string() && value["model"].is_string(),
        Some("message") => value["role"].is_string() && value["content"].is_string(),
        Some("tool_use" | "tool_result") => value["tool_id"].is_string(),
        Some("result") => value["stats"].is_object(),
        _ => false,
    })
}

fn call(value: &Value) -> Event {
    let (tool, parameters) = (string(&value["tool_name"]), &value["parameters"]);
    Event::ToolCall {
        id: string(&value["tool_id"]),
        command: super::command::shell_command(&tool, parameters),
        tool,
        arguments: parameters.to_string(),
    }
}

fn tool_result(value: &Value) -> Event {
    let error = value["status"] == "error";
    let shown = value["output"].as_str();
    Event::ToolResult {
        id: string(&value["tool_id"]),
        error,
        exit_code: None,
        timed_out: false,
        killed: false,
        text: shown.map_or_else(|| string(&value["error"]["message"]), str::to_owned),
    }
}

fn result(value: &Value, out: &mut Vec<Event>) {
    let stats = &value["stats"];
    let count = |key: &str| stats[key].as_u64();
    let usage = Usage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cached"),
        cache_write: None,
    };
    if usage != Usage::default() {
        out.push(Event::Usage(usage));
    }
    if value["status"] == "success" {
        out.push(Event::Done);
    } else if let Some(words) = value["error"]["message"].as_str() {
        out.push(Event::Error(words.to_owned()));
    }
    // Else an `error` before it has said why.
}
