//! OpenCode 1.18: one unattended run on standard input, and the events of `run --format json`. They name no model and have no end: a
//! step that finished with the reason `stop` is the last. Over a cut stream or a full context it goes round for ever.

use serde_json::Value;

use super::{Adapter, AgentName, Event, Launch, Usage, object, provider, string, sum};
use crate::config;

/// So many replies without an end, or refusals of a context that is too long, and it will not get out.
const ROUNDS: u32 = 2;

#[derive(Default)]
pub(super) struct OpenCode {
    /// What every step so far used.
    used: Usage,
    cost: Option<f64>,
    endless: u32,
    overflows: u32,
}

impl Adapter for OpenCode {
    fn name(&self) -> AgentName {
        AgentName::OpenCode
    }

    fn launch(&self, agent: &config::Agent) -> Launch {
        // --title: else one more call of the model makes one of the whole packet. --auto: nobody is there to be asked.
        let mut argv = super::argv(
            self.name(),
            agent,
            &["run", "--format", "json", "--title", "arkaint", "--auto"],
        );
        if let Some(model) = &agent.model {
            let model = match &agent.provider {
                Some(provider) => format!("{provider}/{model}"),
                None => model.clone(),
            };
            argv.extend(["-m".to_owned(), model]);
        }
        argv.extend(agent.args.iter().cloned());
        let variables = provider::variables(agent.provider.as_deref(), &["OPENCODE_*"]);
        // It does not hear SIGINT, so it is ended by SIGTERM as others are.
        Launch {
            turns: Some(agent.max_turns),
            ..Launch::new(argv, variables).set([("OPENCODE_DISABLE_AUTOUPDATE", "1")])
        }
    }

    fn provider(&self, agent: &config::Agent) -> Option<String> {
        agent.provider.clone()
    }

    fn endpoint(&self, agent: &config::Agent) -> Option<String> {
        provider::endpoint(agent.provider.as_deref()?, provider::ENDPOINTS)
    }

    fn events(&mut self, line: &[u8], out: &mut Vec<Event>) {
        let Some(value) = object(line) else {
            return super::command::plain(line, out);
        };
        let part = &value["part"];
        match value["type"].as_str() {
            Some("text") => out.push(Event::Text {
                message: string(&part["messageID"]),
                by_model: part["synthetic"].as_bool() != Some(true),
                text: string(&part["text"]),
            }),
            Some("tool_use") => tool(part, out),
            Some("step_finish") => self.step(part, out),
            Some("error") => self.error(&value["error"], out),
            _ => {}
        }
    }
}

/// Is this a line of OpenCode's stream?
pub(super) fn speaks(line: &[u8]) -> bool {
    object(line).is_some_and(|value| value["sessionID"].is_string() && value["timestamp"].is_u64())
}

impl OpenCode {
    fn step(&mut self, part: &Value, out: &mut Vec<Event>) {
        self.count(&part["tokens"]);
        if self.used != Usage::default() {
            out.push(Event::Usage(self.used));
        }
        if let Some(cost) = part["cost"].as_f64() {
            let sum = self.cost.unwrap_or(0.0) + cost;
            self.cost = Some(sum);
            // A model without a price costs 0 to OpenCode.
            if sum > 0.0 {
                out.push(Event::Cost(sum));
            }
        }
        match part["reason"].as_str() {
            Some("stop") => out.push(Event::Done),
            Some("length") => out.extend([Event::OutputLimit, Event::Done]),
            Some("unknown") => {
                self.endless += 1;
                let cut = "cut off: the reply has no end".to_owned();
                out.push(if self.endless < ROUNDS {
                    Event::Error(cut)
                } else {
                    Event::Stuck(format!("{cut}, {} times", self.endless))
                });
            }
            // `tool-calls`: it goes on.
            _ => self.endless = 0,
        }
    }

    /// Adds what a step used. Cached tokens are counted beside the input, and thoughts beside what was written.
    fn count(&mut self, tokens: &Value) {
        let cached = |key: &str| tokens["cache"][key].as_u64();
        let (cache_read, cache_write) = (cached("read"), cached("write"));
        let with = |key: &str, beside: [Option<u64>; 2]| {
            let count = tokens[key].as_u64()?;
            sum([Some(count), beside[0], beside[1]])
        };
        self.used = self.used.and(Usage {
            input: with("input", [cache_read, cache_write]),
            output: with("output", [tokens["reasoning"].as_u64(), None]),
            cache_read,
            cache_write,
        });
    }

    fn error(&mut self, error: &Value, out: &mut Vec<Event>) {
        let said = string(&error["data"]["message"]);
        if error["name"].as_str() == Some("ContextOverflowError") {
            self.overflows += 1;
            let words = format!("context window: {said}");
            out.push(if self.overflows < ROUNDS {
                Event::Error(words)
            } else {
                Event::Stuck(words)
            });
            return;
        }
        out.push(Event::Error(match error["data"]["statusCode"].as_u64() {
            Some(status) => format!("API error {status}: {said}"),
            None => said,
        }));
    }
}

/// A tool is told of when it has ended, not before.
fn tool(part: &Value, out: &mut Vec<Event>) {
    let (id, tool, state) = (
        string(&part["callID"]),
        string(&part["tool"]),
        &part["state"],
    );
    let error = state["status"].as_str() == Some("error");
    out.push(Event::ToolCall {
        id: id.clone(),
        command: super::command::shell_command(&tool, &state["input"]),
        tool,
        arguments: state["input"].to_string(),
    });
    let said = string(&state[if error { "error" } else { "output" }]);
    out.push(Event::ToolResult {
        id,
        error,
        exit_code: state["metadata"]["exit"].as_i64(),
        timed_out: false,
        killed: false,
        text: if said == "(no output)" {
            String::new()
        } else {
            said
        },
    });
}
