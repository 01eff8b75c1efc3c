//! How one launch ended, by its stream and by how its process ended. An exit code of 0 is never enough: most agents give it after a
//! provider failure, a cut stream, and their turn limit. Whether anything changed (`no-op`) is for the caller, who knows the tree.

use std::sync::LazyLock;

use regex::Regex;

use crate::agent::{AgentName, Last, Outcome, Transcript, Trouble};
use crate::text;

/// How the process of a launch ended. The default is "nothing known", as for a log alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub stopped: Option<Stopped>,
    /// The end of its standard error.
    pub stderr: String,
}

/// Why we ended it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    Wall,
    Idle,
    /// A cap was reached; the words name it.
    Cap(String),
    /// Ctrl-C or SIGTERM.
    Interrupted,
}

/// The outcome, and the reason in one line.
pub(crate) fn of(agent: AgentName, run: &Transcript, ending: &Ending) -> (Outcome, String) {
    if let Some(stopped) = &ending.stopped {
        // An agent that hangs after its own end has still finished.
        let finished = || run.done && by_stream(run).is_none();
        // A service that lets it wait until we lose patience is not the work's fault.
        let waited_for = || match &run.trouble {
            Some(Trouble::Error(words)) => by_words(words).filter(|(outcome, _)| {
                matches!(
                    outcome,
                    Outcome::Unusable | Outcome::Limited | Outcome::Unreachable
                )
            }),
            _ => None,
        };
        match stopped {
            Stopped::Interrupted => return (Outcome::Killed, "interrupted".to_owned()),
            Stopped::Cap(cap) => return (Outcome::Capped, cap.clone()),
            Stopped::Wall if !finished() => {
                let passed = (Outcome::Timeout, "the time limit passed".to_owned());
                return waited_for().unwrap_or(passed);
            }
            Stopped::Idle if !finished() => {
                let silent = (Outcome::Timeout, "silent for too long".to_owned());
                return waited_for().unwrap_or(silent);
            }
            Stopped::Wall | Stopped::Idle => return finished_with(run),
        }
    }
    if let Some(signal) = ending.signal {
        return (Outcome::Killed, format!("ended by signal {signal}"));
    }
    let plain = agent == AgentName::Command && !run.done && run.turns == 0 && run.trouble.is_none();
    match ending.exit_code {
        Some(code) if code != 0 => bad_exit(run, ending, code),
        Some(_) if plain => (Outcome::Done, done_reason(run)),
        None if plain && (run.tokens().total > 0 || !run.plain.is_empty()) => {
            (Outcome::Done, "a plain log cannot tell more".to_owned())
        }
        _ => by_stream(run).unwrap_or_else(|| finished_with(run)),
    }
}

fn finished_with(run: &Transcript) -> (Outcome, String) {
    (Outcome::Done, done_reason(run))
}

fn done_reason(run: &Transcript) -> String {
    let known = run
        .usage
        .and_then(|usage| usage.output)
        .is_some_and(|output| output > 0);
    match (run.completed(), known) {
        (true, _) => "ended with the completion line".to_owned(),
        (false, true) => "ended well; the completion line is missing".to_owned(),
        (false, false) => {
            "ended well by what it says; it reports no usage and gave no completion line".to_owned()
        }
    }
}

/// What the stream has against success.
fn by_stream(run: &Transcript) -> Option<(Outcome, String)> {
    if let Some(Trouble::Error(words)) = &run.trouble {
        return Some(by_words(words).unwrap_or((Outcome::Failed, one_line(words))));
    }
    if !run.done {
        let said = complaints(run).find_map(by_words);
        return Some(said.unwrap_or((
            Outcome::Failed,
            "the stream ends without a final event".to_owned(),
        )));
    }
    if run.trouble == Some(Trouble::OutputLimit) {
        return Some((
            Outcome::Capped,
            "the last reply reached its output limit".to_owned(),
        ));
    }
    match run.last {
        _ if run.last_message.is_empty() => {
            return Some((Outcome::Failed, "the model said nothing".to_owned()));
        }
        Last::Agent => {
            return Some(
                by_words(&run.last_message)
                    .unwrap_or((Outcome::Failed, one_line(&run.last_message))),
            );
        }
        Last::Tool => {
            return Some((
                Outcome::Failed,
                "cut off: no reply after the last tool result".to_owned(),
            ));
        }
        Last::Model | Last::Nothing => {}
    }
    if !run.completed() && cut_short(run) {
        return Some((
            Outcome::Failed,
            format!(
                "cut off: the last message ends in \"{}\"",
                last_words(&run.last_message)
            ),
        ));
    }
    None
}

/// A cut after a tool call leaves no trace but the sentence that was being written. Where zero tokens were counted, a sentence without
/// its end is enough (that is how a cut first reply shows); else it must also be one in which the model says what it is about to do.
fn cut_short(run: &Transcript) -> bool {
    static ABOUT_TO: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)\b(i(?:'|’)?ll|i will|let me|let's|i am going to|i(?:'|’)m going to|now i|next,? i)\b",
        )
    });
    let message = run.last_message.trim_end();
    let last_sentence = message
        .rsplit(['.', '!', '?', '\n', ':'])
        .next()
        .unwrap_or("");
    if last_sentence.trim().is_empty()
        || !message
            .ends_with(|c: char| c.is_alphanumeric() || matches!(c, ',' | '-' | '(' | '"' | '\''))
    {
        return false;
    }
    ABOUT_TO.is_match(last_sentence)
        || (run.zero_usage && last_sentence.split_whitespace().count() > 2)
}

fn bad_exit(run: &Transcript, ending: &Ending, code: i32) -> (Outcome, String) {
    let error = match &run.trouble {
        Some(Trouble::Error(words)) => Some(words.as_str()),
        _ => None,
    };
    let own = (run.last == Last::Agent).then_some(run.last_message.as_str());
    let said = error.into_iter();
    let mut words = said
        .chain(own)
        .chain(
            ending
                .stderr
                .lines()
                .rev()
                .filter(|line| is_error(line) || run.turns == 0),
        )
        .chain(complaints(run));
    if let Some(found) = words.find_map(by_words) {
        return found;
    }
    let last = error.or_else(|| {
        ending
            .stderr
            .lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty())
    });
    let told = last
        .map(|words| format!(": {}", one_line(words)))
        .unwrap_or_default();
    match code {
        126 | 127 => (
            Outcome::Unusable,
            format!("the agent could not be started (exit {code}){told}"),
        ),
        // What shells and agents make of a signal that they were ended by.
        130 | 137 | 143 => (
            Outcome::Killed,
            format!("ended by signal {} (exit {code}){told}", code - 128),
        ),
        _ if usage_error(run, &ending.stderr) => (
            Outcome::Unusable,
            format!("the agent does not accept its arguments (exit {code}){told}"),
        ),
        _ => (Outcome::Failed, format!("exit {code}{told}")),
    }
}

/// Lines outside the stream in which the agent says why it could not begin.
fn complaints(run: &Transcript) -> impl Iterator<Item = &str> {
    run.plain
        .iter()
        .rev()
        .map(String::as_str)
        .filter(|line| run.turns == 0 && is_error(line))
}

/// Warnings on standard error are common and harmless, also those that tell of a failure.
fn is_error(line: &str) -> bool {
    let line = line.trim_start().to_lowercase();
    line.starts_with("error") || line.starts_with("fatal")
}

/// The agent's argument parser refused before anything happened: another version of it than the one we know.
fn usage_error(run: &Transcript, stderr: &str) -> bool {
    run.turns == 0
        && stderr
            .lines()
            .any(|line| line.starts_with("Usage:") || line.starts_with("usage:"))
}

/// What the agent's or the provider's own words mean. Never asked about the model's words or a tool's output.
fn by_words(words: &str) -> Option<(Outcome, String)> {
    static STATUS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)(?:\bstatus(?:[ _-]?code)?[ :=]*|\bhttp(?:/[\d.]+)?[ :]*|\(|\b(?:api |server )?error(?: code)?[ :]*|\bcode[ :=]*)([45]\d\d)\b",
        )
    });
    static TABLE: LazyLock<Vec<(Regex, Outcome)>> = LazyLock::new(|| {
        [
            (r"(?i)maximum number of (actions|turns|steps)|max(imum)?[ _-]?turns|maximum budget", Outcome::Capped),
            (r"(?i)context (length|limit|window)|prompt is too long|maximum context", Outcome::Capped),
            (r"(?i)credits? exhausted|credit balance|insufficient (credits?|funds|balance)|payment required|billing", Outcome::Unusable),
            (r"(?i)rate.?limit|too many requests|\bquota\b|resource.?exhausted", Outcome::Limited),
            (r"(?i)authenticat|unauthori[sz]ed|forbidden|invalid (api|x-api)[ -]?key|incorrect api key|api key (not|is) (found|valid|missing|set)|missing environment variable|set an auth method|not running in a trusted directory", Outcome::Unusable),
            (r"(?i)no provider configured|unknown provider|unknown model|unsupported (value|parameter)|invalid_request_error|model .{0,60}(not found|does not exist|not exist)|no such model", Outcome::Unusable),
            (r"(?i)\binterrupted\b", Outcome::Killed),
            (r"(?i)approval required|requires? an interactive|command not found|root/sudo|as root\b|input must be provided|no (prompt|input) provided", Outcome::Unusable),
            (r"(?i)network error|(could not|unable to) connect|connection ?(failed|refused|reset|closed|error|aborted|timed out)|timed out|timeout", Outcome::Unreachable),
            (r"(?i)\bdns\b|name resolution|unreachable|server error|overloaded|high demand|temporary errors|service unavailable|bad gateway|stream decode|unexpected eof", Outcome::Unreachable),
        ]
        .map(|(pattern, outcome)| (regex(pattern), outcome))
        .into()
    });
    let status = STATUS
        .captures(words)
        .and_then(|found| found[1].parse::<u16>().ok());
    let by_table = || {
        TABLE
            .iter()
            .find(|(pattern, _)| pattern.is_match(words))
            .map(|(_, outcome)| *outcome)
    };
    let outcome = match status {
        Some(429) => Some(Outcome::Limited),
        Some(408 | 500..) => Some(Outcome::Unreachable),
        // A refused request: the context may have outgrown the model; anything else is the operator's to mend.
        Some(_) => Some(
            by_table()
                .filter(|outcome| *outcome == Outcome::Capped)
                .unwrap_or(Outcome::Unusable),
        ),
        None => by_table(),
    };
    outcome.map(|outcome| (outcome, one_line(words)))
}

fn one_line(words: &str) -> String {
    let first = words
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("");
    text::ellipsis(first, 300)
}

fn last_words(message: &str) -> String {
    let words: Vec<&str> = message.split_whitespace().collect();
    words[words.len().saturating_sub(5)..].join(" ")
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of ours compiles")
}
