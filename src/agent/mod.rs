//! One stateless launch: the adapter of each agent, the events its stream is turned into, and how a launch ended.
//! Nothing outside this room knows an agent's flags or its stream.

mod claude;
#[cfg(test)]
mod claude_tests;
mod codex;
#[cfg(test)]
mod codex_tests;
mod command;
mod gemini;
#[cfg(test)]
mod gemini_tests;
mod goose;
pub(crate) mod launch;
mod opencode;
#[cfg(test)]
mod opencode_tests;
mod provider;
#[cfg(test)]
mod tests;
mod transcript;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{config, text};
pub(crate) use config::AgentName;
pub(crate) use transcript::{Last, REPEAT_LIMIT, ToolUse, Transcript, Trouble};

/// The line that the prompt asks the model to end its last message with: the one sign of completion that is neither the agent's nor
/// the provider's.
pub(crate) const COMPLETION_LINE: &str = "ARKAINT: done";

/// What the program needs to know about one agent: how it is started, and what its stream says.
pub(crate) trait Adapter {
    /// Its name in `arkaint.toml` and in the ledger.
    fn name(&self) -> AgentName;

    /// The launch that reads the packet on standard input and works unattended.
    fn launch(&self, agent: &config::Agent) -> Launch;

    /// The words that print its version, where it has one.
    fn version(&self, agent: &config::Agent) -> Option<Vec<String>> {
        Some(argv(self.name(), agent, &["--version"]))
    }

    /// The provider that a launch asks when its stream names none.
    fn provider(&self, agent: &config::Agent) -> Option<String>;

    /// Where the provider is reached, as the environment says; no stream tells it.
    fn endpoint(&self, agent: &config::Agent) -> Option<String>;

    /// The events of one raw line of standard output, in order. A line that is no event gives [`Event::Plain`], an unknown event
    /// nothing.
    fn events(&mut self, line: &[u8], out: &mut Vec<Event>);
}

/// How one launch is started; where, with which deadlines and under which supervision is the caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub argv: Vec<String>,
    /// Variables to set, over whatever is inherited.
    pub set: BTreeMap<String, String>,
    /// Variables that belong to the chosen provider, so that other secrets can be withheld; a trailing `*` stands for any ending.
    pub provider_variables: Vec<String>,
    /// The polite way to end it.
    pub stop: Stop,
    /// Turns after which it is ended from outside; `None` where the agent counts them itself.
    pub turns: Option<u32>,
}

impl Launch {
    /// One by `argv` that sets nothing, counts its turns itself and ends on SIGTERM.
    fn new(argv: Vec<String>, provider_variables: Vec<String>) -> Self {
        Self {
            argv,
            set: BTreeMap::new(),
            provider_variables,
            stop: Stop::Terminate,
            turns: None,
        }
    }

    fn set<const N: usize>(mut self, variables: [(&str, &str); N]) -> Self {
        self.set = variables
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        self
    }

    /// Does the provider need this variable?
    pub(crate) fn needs(&self, variable: &str) -> bool {
        self.provider_variables
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(start) => variable.starts_with(start),
                None => variable == pattern,
            })
    }
}

/// The signal that an agent takes as a request to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Terminate,
    /// For agents that write their last result on SIGINT alone.
    Interrupt,
}

/// The adapter of an agent.
pub(crate) fn adapter(name: AgentName) -> Box<dyn Adapter> {
    match name {
        AgentName::Goose => Box::new(goose::Goose),
        AgentName::Claude => Box::new(claude::Claude::default()),
        AgentName::Codex => Box::new(codex::Codex::default()),
        AgentName::OpenCode => Box::new(opencode::OpenCode::default()),
        AgentName::Gemini => Box::new(gemini::Gemini),
        AgentName::Command => Box::new(command::Command),
    }
}

/// The version in what an agent printed when asked for it: ` 1.52.0`, `goose 1.52.0`, `v2.1 (build 7)`.
pub(crate) fn version_of(printed: &str) -> Option<String> {
    let is_version = |word: &&str| {
        word.trim_start_matches('v')
            .starts_with(|c: char| c.is_ascii_digit())
            && word.contains('.')
    };
    printed
        .split_whitespace()
        .find(is_version)
        .map(|word| text::ellipsis(word.trim_start_matches('v'), 40))
}

/// Which agent wrote this line, when the line alone can tell.
pub(crate) fn recognise(line: &[u8]) -> Option<AgentName> {
    if claude::speaks(line) {
        return Some(AgentName::Claude);
    }
    if codex::speaks(line) {
        return Some(AgentName::Codex);
    }
    if opencode::speaks(line) {
        return Some(AgentName::OpenCode);
    }
    if gemini::speaks(line) {
        return Some(AgentName::Gemini);
    }
    goose::speaks(line).then_some(AgentName::Goose)
}

/// The program of an agent, as configured or by its own name, and `words`.
fn argv(name: AgentName, agent: &config::Agent, words: &[&str]) -> Vec<String> {
    let mut argv = agent.command.clone();
    if argv.is_empty() {
        argv.push(name.as_str().to_owned());
    }
    argv.extend(words.iter().map(|&word| word.to_owned()));
    argv
}

/// The text of a member that is one, else nothing.
fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The first JSON object of a line, also behind other text: an interrupted agent may print prose and an event on one line.
///
/// Bytes that are no text stand for themselves in a line of ordinary length; in a very long one they make it no event, as replacing them would
/// treble it.
fn object(line: &[u8]) -> Option<Value> {
    const MENDED: usize = 1024 * 1024;
    let line = &line[memchr::memchr(b'{', line)?..];
    let text = match std::str::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) if line.len() > MENDED => return None,
        Err(_) => String::from_utf8_lossy(line),
    };
    text.match_indices('{').take(8).find_map(|(at, _)| {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        values.next().and_then(Result::ok).filter(Value::is_object)
    })
}

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
    /// A tool answered. `killed` when its program was ended by a signal and has no exit code.
    ToolResult {
        id: String,
        error: bool,
        exit_code: Option<i64>,
        timed_out: bool,
        killed: bool,
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
    /// The service or the agent failed: the agent's own words. It ended the run unless the model goes on after it.
    Error(String),
    /// An error that the agent goes round in a circle over, for ever if it is let.
    Stuck(String),
    /// The output limit of one reply was reached.
    OutputLimit,
    /// The run ended by the agent's own account.
    Done,
    /// A line that is no event of the agent's schema: banners, prose, what a plain command prints.
    Plain(String),
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
        sum([self.input, self.output])
    }

    /// This and what another call used.
    fn and(self, other: Self) -> Self {
        Self {
            input: sum([self.input, other.input]),
            output: sum([self.output, other.output]),
            cache_read: sum([self.cache_read, other.cache_read]),
            cache_write: sum([self.cache_write, other.cache_write]),
        }
    }
}

/// The known ones together, or `None` when none is known. An agent may print any number: one that does not fit is the largest, never small.
fn sum<const N: usize>(counts: [Option<u64>; N]) -> Option<u64> {
    counts.into_iter().flatten().reduce(u64::saturating_add)
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

impl Outcome {
    /// Its name in records and on the terminal.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::NoOp => "no-op",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Capped => "capped",
            Self::Killed => "killed",
            Self::Unusable => "unusable",
            Self::Limited => "limited",
            Self::Unreachable => "unreachable",
        }
    }
}
