//! What one launch said and did, gathered event by event in bounded memory: a stream may be gigabytes. It judges nothing.

use std::collections::VecDeque;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use super::{COMPLETION_LINE, Event, Usage};
use crate::text;

/// One finished tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolUse {
    pub tool: String,
    /// The command line where the tool is a shell.
    pub command: Option<String>,
    pub arguments: String,
    /// The agent marked the result as an error.
    pub error: bool,
    pub exit_code: Option<i64>,
    pub timed_out: bool,
    /// A signal ended it.
    pub killed: bool,
    pub text: String,
}

impl ToolUse {
    /// Did it fail, by what the agent's structure says? The exit code beats the error mark.
    pub(crate) fn failed(&self) -> bool {
        self.timed_out || self.exit_code.map_or(self.error, |code| code != 0)
    }
}

/// Tokens of a run, reported by the agent or estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub total: u64,
    pub estimated: bool,
}

/// A shell command of the run and how it ended, for what looks at a whole run (drift, the report).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub command: String,
    pub failed: bool,
}

const TEXT_MAX: usize = 256 * 1024;
const ARGUMENTS_MAX: usize = 64 * 1024;
const WORDS_MAX: usize = 4 * 1024;
const PENDING_MAX: usize = 256;
const KEPT_MAX: usize = 200;
const PLAIN_MAX: usize = 40;

/// Bytes of a token, on average, in code and English.
const BYTES_PER_TOKEN: u64 = 4;
/// Tokens that every model call carries besides packet and talk: system prompt and tool descriptions (Goose with one extension: 5.8 KB).
const CALL_OVERHEAD: u64 = 1_500;

/// An identical call with an identical result so many times in a row is a loop that no turn limit was meant for.
pub(crate) const REPEAT_LIMIT: u32 = 25;

/// What came last in the talk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Last {
    #[default]
    Nothing,
    /// A message of the model's own.
    Model,
    /// A message of the agent program: an error, a limit.
    Agent,
    /// A tool was called or answered.
    Tool,
}

/// What can end a run before the model is through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// In the agent's words.
    Error(String),
    /// A reply hit its output limit.
    OutputLimit,
}

/// What is known of a launch so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transcript {
    pub provider: Option<String>,
    pub model: Option<String>,
    /// Totals as the agent reported them; `None` is unknown.
    pub usage: Option<Usage>,
    /// The agent reported zeros: the provider sent no usage, or the first reply was cut. Either way nothing is known.
    pub zero_usage: bool,
    /// USD as the agent reported it.
    pub cost_usd: Option<f64>,
    /// The agent says that the run is over.
    pub done: bool,
    /// Errors in the agent's words, oldest first, the last few.
    pub errors: VecDeque<String>,
    /// The circle that the agent will not leave, in words.
    pub stuck: Option<String>,
    /// What went wrong last, unless the model went on after it.
    pub trouble: Option<Trouble>,
    /// The last message, its end when it is long.
    pub last_message: String,
    pub last: Last,
    /// Calls of the model, counted by what they left in the stream.
    pub turns: u64,
    pub tool_calls: u64,
    pub tool_failures: u64,
    /// The last shell commands in order.
    pub commands: VecDeque<Ran>,
    /// The last lines that were no events.
    pub plain: VecDeque<String>,
    message_id: String,
    pending: VecDeque<(String, ToolUse)>,
    packet_bytes: u64,
    talk_bytes: u64,
    model_bytes: u64,
    estimated_input: u64,
    model_speaks: bool,
    repeat_of: u64,
    repeats: u32,
}

impl Transcript {
    /// A launch that was given `packet_bytes` of prompt.
    pub(crate) fn new(packet_bytes: u64) -> Self {
        Self {
            packet_bytes,
            ..Self::default()
        }
    }

    /// Takes the next event, and gives the tool call that it completes.
    pub(crate) fn feed(&mut self, event: Event) -> Option<ToolUse> {
        match event {
            Event::Text {
                message,
                by_model,
                text,
            } => self.message(message, by_model, &text),
            Event::ToolCall {
                id,
                tool,
                command,
                arguments,
            } => {
                self.model_turn(arguments.len());
                self.tool_calls += 1;
                self.last = Last::Tool;
                if self.pending.len() == PENDING_MAX {
                    self.pending.pop_front();
                }
                let command = command.map(|line| both_ends(&line, ARGUMENTS_MAX));
                let arguments = both_ends(&arguments, ARGUMENTS_MAX);
                self.pending.push_back((
                    id,
                    ToolUse {
                        tool,
                        command,
                        arguments,
                        ..ToolUse::default()
                    },
                ));
            }
            Event::ToolResult {
                id,
                error,
                exit_code,
                timed_out,
                killed,
                text,
            } => {
                return Some(self.tool_result(
                    &id,
                    ToolUse {
                        error,
                        exit_code,
                        timed_out,
                        killed,
                        text,
                        ..ToolUse::default()
                    },
                ));
            }
            Event::Model { provider, model } => {
                self.provider = provider.or_else(|| self.provider.take());
                self.model = Some(model);
            }
            Event::Usage(usage) if usage.total() == Some(0) => self.zero_usage = true,
            Event::Usage(usage) => self.usage = Some(usage),
            Event::Cost(cost) => self.cost_usd = Some(cost),
            Event::Error(words) => {
                let words = text::ellipsis(&words, WORDS_MAX);
                keep(&mut self.errors, words.clone(), PLAIN_MAX);
                self.trouble = Some(Trouble::Error(words));
            }
            Event::Stuck(words) => {
                self.stuck = Some(text::ellipsis(&words, WORDS_MAX));
                self.feed(Event::Error(words));
            }
            Event::OutputLimit => self.trouble = Some(Trouble::OutputLimit),
            Event::Done => self.done = true,
            Event::Plain(line) => {
                keep(&mut self.plain, text::ellipsis(&line, WORDS_MAX), PLAIN_MAX);
            }
        }
        None
    }

    /// Tokens used so far: the agent's own numbers, or an estimate while it tells none.
    ///
    /// Each model call sends the whole context again, so the estimate adds up, for every call seen, overhead + (packet + talk so
    /// far) / 4, and what the model wrote / 4. Caching makes the real price lower; compaction makes the real sum lower.
    pub(crate) fn tokens(&self) -> Tokens {
        match (self.usage, self.usage.and_then(Usage::total)) {
            // Claude Code tells the input of each call as it goes, and what was written at its end.
            (Some(Usage { output: None, .. }), Some(input)) => Tokens {
                total: input.saturating_add(self.model_bytes / BYTES_PER_TOKEN),
                estimated: true,
            },
            (_, Some(total)) => Tokens {
                total,
                estimated: false,
            },
            (_, None) => Tokens {
                total: self.estimated_input + self.model_bytes / BYTES_PER_TOKEN,
                estimated: true,
            },
        }
    }

    /// How often in a row the last tool call was made with the same result.
    pub(crate) fn repeats(&self) -> u32 {
        self.repeats
    }

    /// Did the last message end with the line that the prompt asks for?
    pub(crate) fn completed(&self) -> bool {
        if self.last_message.is_empty() {
            self.plain.back().is_some_and(|line| says_done(line))
        } else {
            self.last == Last::Model && says_done(&self.last_message)
        }
    }

    fn message(&mut self, id: String, by_model: bool, text: &str) {
        if by_model {
            self.model_turn(text.len());
        }
        let speaker = if by_model { Last::Model } else { Last::Agent };
        if !id.is_empty() && id == self.message_id && self.last == speaker {
            self.last_message.push_str(text);
        } else if !text.trim().is_empty() {
            text.clone_into(&mut self.last_message);
            self.message_id = id;
            self.last = speaker;
        }
        if self.last_message.len() > 2 * TEXT_MAX {
            self.last_message = text::tail_on_line(&self.last_message, TEXT_MAX).to_owned();
        }
    }

    fn tool_result(&mut self, id: &str, mut done: ToolUse) -> ToolUse {
        let at = self.pending.iter().position(|(pending, _)| pending == id);
        let call = at
            .and_then(|at| self.pending.remove(at))
            .map(|(_, call)| call)
            .unwrap_or_default();
        self.talk_bytes += done.text.len() as u64;
        self.model_speaks = false;
        self.last = Last::Tool;
        done.text = both_ends(&done.text, TEXT_MAX);
        (done.tool, done.command, done.arguments) = (call.tool, call.command, call.arguments);
        self.tool_failures += u64::from(done.failed());
        if let Some(command) = &done.command {
            keep(
                &mut self.commands,
                Ran {
                    command: text::ellipsis(command, WORDS_MAX),
                    failed: done.failed(),
                },
                KEPT_MAX,
            );
        }
        let mut hasher = DefaultHasher::new();
        (
            &done.tool,
            &done.arguments,
            done.exit_code,
            done.error,
            &done.text,
        )
            .hash(&mut hasher);
        let same = self.repeats > 0 && hasher.finish() == self.repeat_of;
        self.repeats = if same { self.repeats + 1 } else { 1 };
        self.repeat_of = hasher.finish();
        done
    }

    /// The model wrote something: with the first piece after a result (or the start) a call was made.
    fn model_turn(&mut self, bytes: usize) {
        if !self.model_speaks {
            self.model_speaks = true;
            self.turns += 1;
            self.estimated_input +=
                CALL_OVERHEAD + (self.packet_bytes + self.talk_bytes) / BYTES_PER_TOKEN;
        }
        self.talk_bytes += bytes as u64;
        self.model_bytes += bytes as u64;
        self.trouble = None;
    }
}

/// Does a text end with the line that the prompt asks for?
pub(super) fn says_done(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty())
        .is_some_and(is_completion)
}

/// Models like to decorate: the line counts in bold, in backquotes and with a period too.
fn is_completion(line: &str) -> bool {
    line.trim_matches(['`', '*', '_', '.', ' ']) == COMPLETION_LINE
}

fn keep<T>(list: &mut VecDeque<T>, item: T, max: usize) {
    if list.len() == max {
        list.pop_front();
    }
    list.push_back(item);
}

/// `text`, or its first quarter and its end when it is longer than `max`: compilers fail at the top, test runs at the bottom.
fn both_ends(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let (head, _) = text::cut_on_line(text, max / 4);
    let tail = text::tail_on_line(text, max - max / 4);
    format!("{head}\n{tail}")
}
