//! One stateless launch: the adapter of each agent, the events its stream is turned into, and how a launch ended.
//! Nothing outside this room knows an agent's flags or its stream.

use serde::{Deserialize, Serialize};

/// What one line of an agent's stream says, in words common to all agents.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    /// Words. `by_model` is false when the agent program itself speaks (errors, limits). Pieces of one message share `message`.
    Text {
        message: String,
        by_model: bool,
        text: String,
    },
    /// The agent calls a tool. `command` is the shell command line where the tool is a shell.
    ToolCall {
        id: String,
        tool: String,
        command: Option<String>,
        arguments: String,
    },
    /// A tool answered.
    ToolResult {
        id: String,
        error: bool,
        exit_code: Option<i64>,
        timed_out: bool,
        text: String,
    },
    /// Which model was asked, by which provider.
    Model {
        provider: Option<String>,
        model: String,
    },
    /// Totals of the whole run so far (never to be added up).
    Usage(Usage),
    /// Money of the whole run so far, as the agent reports it, USD.
    Cost(f64),
    /// The service or the agent failed: the agent's own words.
    Error(String),
    /// The output limit of one reply was reached.
    OutputLimit,
    /// The run ended by the agent's own account.
    Done,
}

/// Tokens of a run; `None` is unknown, never 0. `input` includes cached tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Usage {
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
}

impl Usage {
    /// Input and output together, or `None` when neither is known.
    pub(crate) fn total(self) -> Option<u64> {
        match (self.input, self.output) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0) + output.unwrap_or(0)),
        }
    }
}

/// How a launch ended (SPEC of `git-arkaint-cycle(1)`, OUTCOMES).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// The agent finished by every sign that the stream gives.
    Done,
    /// It finished and changed nothing. Set by the judge, who knows the tree.
    NoOp,
    /// Cut off, crashed, or ended without a sign of completion.
    Failed,
    /// The wall or idle deadline passed.
    Timeout,
    /// Turns, output or budget were spent.
    Capped,
    /// A signal ended it, ours on Ctrl-C or another's.
    Killed,
    /// Not found, 401, 402, 403, unknown model: an operator must act.
    Unusable,
    /// 429 or quota.
    Limited,
    /// 5xx, refused, reset: the network or the service.
    Unreachable,
}
