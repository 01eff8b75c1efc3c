//! Goose 1.52: one unattended run on standard input, and its `stream-json`. Text of a message without `metadata.inference` is Goose
//! speaking, not the model; that holds for every error, limit and notice that it prints.

use serde_json::Value;

use super::{Adapter, AgentName, Event, Launch, Usage, object, provider};
use crate::config;

pub(super) struct Goose;

impl Adapter for Goose {
    fn name(&self) -> AgentName {
        AgentName::Goose
    }

    fn launch(&self, agent: &config::Agent) -> Launch {
        // --quiet: else a banner precedes the JSON. --no-profile: the user's extensions stay out, and alone it would leave no tools.
        let mut argv = super::argv(
            self.name(),
            agent,
            &[
                "run",
                "--no-session",
                "--quiet",
                "--no-profile",
                "--with-builtin",
                "developer",
            ],
        );
        for (flag, value) in [("--provider", &agent.provider), ("--model", &agent.model)] {
            if let Some(value) = value {
                argv.extend([flag.to_owned(), value.clone()]);
            }
        }
        argv.extend(["--max-turns".to_owned(), agent.max_turns.to_string()]);
        argv.extend(["--instructions", "-", "--output-format", "stream-json"].map(str::to_owned));
        argv.extend(agent.args.iter().cloned());
        // GOOSE_PATH_ROOT would hide the login and the keys that the user gave Goose, GOOSE_CONTEXT_LIMIT depends on the model, and
        // GOOSE_DISABLE_KEYRING is for machines without one: these stay as the operator has them.
        Launch::new(
            argv,
            provider::variables(agent.provider.as_deref(), &["GOOSE_*"]),
        )
        .set([
            ("GOOSE_MODE", "auto"),
            ("GOOSE_DISABLE_SESSION_NAMING", "true"),
            ("GOOSE_TELEMETRY_ENABLED", "false"),
        ])
    }

    fn provider(&self, agent: &config::Agent) -> Option<String> {
        let chosen = agent.provider.clone();
        chosen.or_else(|| std::env::var("GOOSE_PROVIDER").ok())
    }

    fn endpoint(&self, agent: &config::Agent) -> Option<String> {
        provider::endpoint(&self.provider(agent)?, provider::ENDPOINTS)
    }

    fn events(&mut self, line: &[u8], out: &mut Vec<Event>) {
        match object(line) {
            Some(value) => event(&value, out),
            None => super::command::plain(line, out),
        }
    }
}

/// Is this a line of Goose's stream?
pub(super) fn speaks(line: &[u8]) -> bool {
    object(line).is_some_and(|value| known(&value))
}

/// Is this an object of Goose's schema?
pub(super) fn known(value: &Value) -> bool {
    match value["type"].as_str() {
        Some("message") => value["message"]["content"].is_array(),
        Some("complete") => {
            value.get("total_tokens").is_some()
                || value.get("input_tokens").is_some()
                || value.as_object().is_some_and(|o| o.len() == 1)
        }
        Some("error") => value["error"].is_string(),
        Some("notification") => value["extension_id"].is_string(),
        _ => false,
    }
}

/// The events of one object of the stream.
pub(super) fn event(value: &Value, out: &mut Vec<Event>) {
    match value["type"].as_str() {
        Some("message") => message(&value["message"], out),
        Some("complete") => complete(value, out),
        Some("error") => out.push(Event::Error(text_of(&value["error"]))),
        _ => {}
    }
}

fn complete(value: &Value, out: &mut Vec<Event>) {
    let count = |key: &str| value[key].as_u64();
    let usage = Usage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_write_input_tokens"),
    };
    if usage != Usage::default() {
        out.push(Event::Usage(usage));
    }
    if let Some(cost) = value["cost_usd"].as_f64() {
        out.push(Event::Cost(cost));
    }
    out.push(Event::Done);
}

fn message(message: &Value, out: &mut Vec<Event>) {
    let inference = &message["metadata"]["inference"];
    // Without any metadata it is another version, and nothing says that Goose itself speaks.
    let by_model = inference.is_object() || message["metadata"].is_null();
    if let Some(model) = inference["requestedModel"].as_str() {
        out.push(Event::Model {
            provider: inference["provider"].as_str().map(str::to_owned),
            model: model.to_owned(),
        });
    }
    let id = text_of(&message["id"]);
    let assistant = message["role"].as_str() == Some("assistant");
    for part in message["content"].as_array().into_iter().flatten() {
        content(part, &id, assistant, by_model, out);
    }
    if message["metadata"]["outputTokenLimitReached"].as_bool() == Some(true) {
        out.push(Event::OutputLimit);
    }
}

fn content(part: &Value, message: &str, assistant: bool, by_model: bool, out: &mut Vec<Event>) {
    match part["type"].as_str() {
        Some("text") if assistant => out.push(Event::Text {
            message: message.to_owned(),
            by_model,
            text: text_of(&part["text"]),
        }),
        Some("toolRequest") => out.push(call(part)),
        Some("toolResponse") => out.push(result(part)),
        Some("error") => out.push(Event::Error(text_of(&part["message"]))),
        Some("systemNotification") => match part["notificationType"].as_str() {
            Some("creditsExhausted") => out.push(Event::Error(format!(
                "credits exhausted: {}",
                text_of(&part["msg"])
            ))),
            Some("inlineMessage") => out.push(Event::Text {
                message: message.to_owned(),
                by_model: false,
                text: text_of(&part["msg"]),
            }),
            _ => {}
        },
        _ => {}
    }
}

fn call(part: &Value) -> Event {
    let value = &part["toolCall"]["value"];
    let arguments = &value["arguments"];
    let tool = text_of(&value["name"]);
    Event::ToolCall {
        id: text_of(&part["id"]),
        command: super::command::shell_command(&tool, arguments),
        tool,
        arguments: if arguments.is_null() {
            text_of(&part["toolCall"]["error"])
        } else {
            arguments.to_string()
        },
    }
}

fn result(part: &Value) -> Event {
    let outcome = &part["toolResult"];
    let value = &outcome["value"];
    let detail = &value["structuredContent"];
    let shown = || {
        let texts = value["content"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|c| c["text"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    };
    // The text mixes both streams as they came and adds notes of Goose's own; the parts are what the command printed.
    let text = match (detail["stdout"].as_str(), detail["stderr"].as_str()) {
        (None, None) if value.is_null() => text_of(&outcome["error"]),
        (None, None) => shown(),
        (stdout, stderr) if stdout.unwrap_or("").is_empty() && stderr.unwrap_or("").is_empty() => {
            String::new()
        }
        (stdout, stderr) => format!("{}\n{}", stdout.unwrap_or(""), stderr.unwrap_or("")),
    };
    let error =
        value["isError"].as_bool() == Some(true) || outcome["status"].as_str() == Some("error");
    let exit_code = detail["exit_code"].as_i64();
    let timed_out = detail["timed_out"].as_bool() == Some(true);
    let killed = error && detail.is_object() && exit_code.is_none() && !timed_out;
    Event::ToolResult {
        id: text_of(&part["id"]),
        error,
        exit_code,
        timed_out,
        killed,
        text,
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
