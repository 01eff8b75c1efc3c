//! Any program that reads the packet on standard input. It has no schema; it may print Goose's events, or one JSON line
//! `{"arkaint": {"input_tokens": 1, "output_tokens": 2, "cost_usd": 0.1, "model": "m"}}` to report what it used.

use serde_json::Value;

use super::{Adapter, AgentName, Event, Launch, Usage, goose, object, provider};
use crate::config;

/// Tools that run a shell command line, by the last part of their name.
const SHELLS: &[&str] = &[
    "bash",
    "command",
    "exec",
    "exec_command",
    "execute",
    "execute_command",
    "local_shell",
    "powershell",
    "run_command",
    "run_in_terminal",
    "run_shell_command",
    "run_terminal_cmd",
    "sh",
    "shell",
    "terminal",
];

/// Bytes of a line that are looked at where it is no event.
const PLAIN_MAX: usize = 64 * 1024;

pub(super) struct Command;

impl Adapter for Command {
    fn name(&self) -> AgentName {
        AgentName::Command
    }

    fn version(&self, _agent: &config::Agent) -> Option<Vec<String>> {
        None
    }

    fn launch(&self, agent: &config::Agent) -> Launch {
        Launch::new(
            agent.command.iter().chain(&agent.args).cloned().collect(),
            provider::variables(agent.provider.as_deref(), &[]),
        )
    }

    fn provider(&self, agent: &config::Agent) -> Option<String> {
        agent.provider.clone()
    }

    fn endpoint(&self, agent: &config::Agent) -> Option<String> {
        provider::endpoint(agent.provider.as_deref()?, provider::ENDPOINTS)
    }

    fn events(&mut self, line: &[u8], out: &mut Vec<Event>) {
        match object(line) {
            Some(value) if value["arkaint"].is_object() => report(&value["arkaint"], out),
            Some(value) if goose::known(&value) => goose::event(&value, out),
            _ => plain(line, out),
        }
    }
}

/// A line that is no event.
pub(super) fn plain(line: &[u8], out: &mut Vec<Event>) {
    // Of a line that is no event only the beginning is kept anyway.
    let text = String::from_utf8_lossy(&line[..line.len().min(PLAIN_MAX)]);
    if !text.trim().is_empty() {
        out.push(Event::Plain(text.trim_end().to_owned()));
    }
}

/// What the script says it used. A missing field stays unknown.
fn report(value: &Value, out: &mut Vec<Event>) {
    let count = |key: &str| value[key].as_u64();
    let usage = Usage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cache_read_tokens"),
        cache_write: count("cache_write_tokens"),
    };
    if usage != Usage::default() {
        out.push(Event::Usage(usage));
    }
    if let Some(cost) = value["cost_usd"].as_f64() {
        out.push(Event::Cost(cost));
    }
    if let Some(model) = value["model"].as_str() {
        out.push(Event::Model {
            provider: value["provider"].as_str().map(str::to_owned),
            model: model.to_owned(),
        });
    }
}

/// The command line that a tool call runs, where the tool is a shell (`developer__shell`, `Bash`, ...).
pub(super) fn shell_command(tool: &str, arguments: &Value) -> Option<String> {
    let name = tool.rsplit(['.', '/', ':']).next().unwrap_or(tool);
    let name = name.rsplit("__").next().unwrap_or(name).to_lowercase();
    if !SHELLS.contains(&name.as_str()) {
        return None;
    }
    match arguments
        .get("command")
        .or_else(|| arguments.get("cmd"))
        .or_else(|| arguments.get("script"))?
    {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [shell, flag, line]
                    if shell.ends_with("sh") && flag.starts_with('-') && flag.ends_with('c') =>
                {
                    Some((*line).to_owned())
                }
                words => Some(words.join(" ")),
            }
        }
        _ => None,
    }
}
