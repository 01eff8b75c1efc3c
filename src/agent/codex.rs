//! Codex CLI 0.171: one unattended run on standard input, and the events of `exec --json`. They name no model, and a command that its
//! own sandbox stopped leaves none. Items of the type `error` are warnings; what fails a run is `error` and `turn.failed`.

use std::collections::VecDeque;

use serde_json::Value;

use super::{Adapter, AgentName, Event, Launch, Usage, object, provider, string};
use crate::config;

/// Items that were announced and have not ended.
const REMEMBERED: usize = 256;

#[derive(Default)]
pub(super) struct Codex {
    begun: VecDeque<String>,
}

impl Adapter for Codex {
    fn name(&self) -> AgentName {
        AgentName::Codex
    }

    fn launch(&self, agent: &config::Agent) -> Launch {
        // --ignore-user-config: servers, hooks and habits of the user stay out; a login is kept elsewhere and works. The sandbox of its
        // own leaves no trace of what it stops and is not there everywhere; by `args` it can be had, for the last -c counts.
        let mut argv = super::argv(
            self.name(),
            agent,
            &[
                "exec",
                "--json",
                "--skip-git-repo-check",
                "--ephemeral",
                "--ignore-user-config",
                "-c",
                r#"approval_policy="never""#,
                "-c",
                r#"sandbox_mode="danger-full-access""#,
            ],
        );
        if let Some(provider) = &agent.provider {
            let provider = toml::Value::from(provider.as_str());
            argv.extend(["-c".to_owned(), format!("model_provider={provider}")]);
        }
        if let Some(model) = &agent.model {
            argv.extend(["-m".to_owned(), model.clone()]);
        }
        argv.extend(agent.args.iter().cloned());
        argv.push("-".to_owned());
        let others = ["OPENAI_*", "CODEX_*"];
        let variables = provider::variables(Some(&provider_of(agent)), &others);
        Launch {
            turns: Some(agent.max_turns),
            ..Launch::new(argv, variables)
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
        let item = &value["item"];
        match value["type"].as_str() {
            Some("item.started") => self.begin(item, out),
            Some("item.completed") => self.item(item, out),
            Some("error") => out.push(Event::Error(string(&value["message"]))),
            Some("turn.failed") => out.push(Event::Error(string(&value["error"]["message"]))),
            Some("turn.completed") => {
                usage(&value["usage"], out);
                out.push(Event::Done);
            }
            _ => {}
        }
    }
}

/// Codex asks OpenAI unless it is told otherwise.
fn provider_of(agent: &config::Agent) -> String {
    let chosen = agent.provider.clone();
    chosen.unwrap_or_else(|| "openai".to_owned())
}

/// Is this a line of Codex's stream?
pub(super) fn speaks(line: &[u8]) -> bool {
    object(line).is_some_and(|value| match value["type"].as_str() {
        Some("thread.started") => value["thread_id"].is_string(),
        Some("item.started" | "item.completed") => value["item"]["id"].is_string(),
        _ => false,
    })
}

impl Codex {
    fn begin(&mut self, item: &Value, out: &mut Vec<Event>) {
        if !is_tool(item) {
            return;
        }
        if self.begun.len() == REMEMBERED {
            self.begun.pop_front();
        }
        self.begun.push_back(string(&item["id"]));
        out.push(call(item));
    }

    fn item(&mut self, item: &Value, out: &mut Vec<Event>) {
        let id = string(&item["id"]);
        if item["type"].as_str() == Some("agent_message") {
            out.push(Event::Text {
                message: id,
                by_model: true,
                text: string(&item["text"]),
            });
        } else if is_tool(item) {
            // Some tools are told of when they have ended, not before.
            match self.begun.iter().position(|begun| *begun == id) {
                Some(at) => drop(self.begun.remove(at)),
                None => out.push(call(item)),
            }
            let exit_code = item["exit_code"].as_i64();
            let error = matches!(item["status"].as_str(), Some("failed" | "declined"));
            out.push(Event::ToolResult {
                id,
                error,
                exit_code,
                timed_out: false,
                killed: false,
                text: string(&item["aggregated_output"]),
            });
        }
    }
}

/// Is this the use of a tool: a command, a change of files, a search?
fn is_tool(item: &Value) -> bool {
    let kind = item["type"].as_str();
    kind.is_some_and(|kind| !matches!(kind, "agent_message" | "error" | "reasoning" | "todo_list"))
}

fn call(item: &Value) -> Event {
    let command = item["command"].as_str().map(str::to_owned);
    Event::ToolCall {
        id: string(&item["id"]),
        tool: string(&item["type"]),
        arguments: command.clone().unwrap_or_else(|| item.to_string()),
        command,
    }
}

/// Sums of the whole run; cached tokens are part of the input.
fn usage(value: &Value, out: &mut Vec<Event>) {
    let count = |key: &str| value[key].as_u64();
    let usage = Usage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cached_input_tokens"),
        cache_write: count("cache_write_input_tokens"),
    };
    if usage != Usage::default() {
        out.push(Event::Usage(usage));
    }
}
