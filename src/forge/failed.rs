//! Why there is no answer, on one line, and what helps. It asks nobody.

use std::sync::LazyLock;

use regex::Regex;

use super::tool::{DEADLINE, Name, Tool};
use crate::exit::{Exit, Refusal};
use crate::process::How;
use crate::{secret, text};

/// Why a call gave no answer.
#[derive(Debug)]
pub(super) enum Failed {
    /// The tool, or the forge through it, said no or nothing.
    Answer(Refusal),
    /// The launch itself could not be watched.
    Unsupervised(anyhow::Error),
}

impl Failed {
    /// The forge's own no (`HTTP 4xx`) wrote nothing; of everything else nobody knows.
    pub(super) fn of_a_write(self) -> Self {
        match self {
            Self::Answer(no) if !is_refused(&no.cause) => Self::Answer(no.hint(
                "whether it was written is not known: another run finds it, and writes it once",
            )),
            other => other,
        }
    }
}

impl From<Failed> for anyhow::Error {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Answer(refusal) => refusal.into(),
            Failed::Unsupervised(error) => error,
        }
    }
}

/// Both tools say `HTTP 404` in the last of their words; what the forge itself said stands before.
fn is_refused(cause: &str) -> bool {
    static CLIENT_ERROR: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\bHTTP 4\d\d\b").expect("a constant expression"));
    CLIENT_ERROR.is_match(cause)
}

/// What the end of a call and the tool's own `words` come to, when `what` was asked.
pub(super) fn no_answer(asked: &Tool, what: &str, how: &How, words: &str) -> Refusal {
    let (tool, host) = (asked.name.word(), &asked.host);
    let words = one_line(words);
    let (reason, hint) = match how {
        How::Exited(code) => {
            let reason = if words.is_empty() {
                format!("{tool}: exit {code}")
            } else {
                words.clone()
            };
            let login = asked.name == Name::Gh && *code == 4 || words.contains("HTTP 401");
            let hint = if login {
                format!("{tool} auth login --hostname {host}")
            } else if words.contains("HTTP 403") || words.contains("HTTP 404") {
                format!("see who asks, and what they may: {tool} auth status --hostname {host}")
            } else {
                format!("see whether the forge answers: {tool} api user --hostname {host}")
            };
            (reason, hint)
        }
        How::NotStarted(reason) => (
            reason.clone(),
            format!("install {tool} from {}", asked.name.where_from()),
        ),
        How::Wall => (
            format!("no answer within {} s", DEADLINE.as_secs()),
            format!("see whether the forge answers: {tool} api user --hostname {host}"),
        ),
        How::Stopped(reason) => (reason.clone(), "look at it in a browser".to_owned()),
        How::Interrupted(signal) => (
            format!("interrupted by signal {signal}"),
            "run it again".to_owned(),
        ),
        How::Signaled(signal) => (
            format!("{tool} was ended by signal {signal}"),
            "run it again".to_owned(),
        ),
        How::Idle => (format!("{tool} fell silent"), "run it again".to_owned()),
    };
    let exit = match how {
        How::Interrupted(signal) => Exit::Interrupted(u8::try_from(*signal).unwrap_or_default()),
        _ => Exit::Person,
    };
    Refusal::with_exit(exit, format!("{what} on {host}: {reason}"), hint)
}

/// The last words of the tool: secrets out, control characters visible, short.
fn one_line(words: &str) -> String {
    let words = secret::redact(words);
    let lines: Vec<_> = words
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let last = lines[lines.len().saturating_sub(3)..].join("; ");
    text::ellipsis(&text::visible_line(&last), 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gh() -> Tool {
        Tool::named(Name::Gh, "github.com", Vec::new())
    }

    #[test]
    fn a_failure_is_one_line_without_secrets_and_with_what_helps() {
        let gh = gh();
        let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let failed = |code, words: &str| no_answer(&gh, "reading x", &How::Exited(code), words);
        let said = failed(1, &format!("gh: trouble\n\u{1b}[31m token {token}\n\n"));
        assert!(
            said.cause
                .starts_with("reading x on github.com: gh: trouble; <U+001B>[31m token [REDACTED ")
        );
        assert!(!said.cause.contains(&token) && !said.cause.contains('\n'));
        assert_eq!(said.exit, Exit::Person);
        assert_eq!(
            failed(4, "To get started").hints,
            ["gh auth login --hostname github.com"]
        );
        assert!(failed(1, "gh: Bad credentials (HTTP 401)").hints[0].starts_with("gh auth login"));
        assert!(failed(1, "gh: Not Found (HTTP 404)").hints[0].contains("gh auth status"));
        assert_eq!(
            failed(7, " \n").cause,
            "reading x on github.com: gh: exit 7"
        );
        let wall = no_answer(&gh, "reading x", &How::Wall, "");
        assert!(wall.cause.ends_with("no answer within 60 s"));
    }

    #[test]
    fn a_write_without_an_answer_says_that_it_may_have_been_written() {
        let hints = |how: &How, words: &str| {
            let failed = no_answer(&gh(), "posting", how, words);
            match Failed::Answer(failed).of_a_write() {
                Failed::Answer(refusal) => refusal.hints.len(),
                Failed::Unsupervised(error) => panic!("{error}"),
            }
        };
        assert_eq!(hints(&How::Wall, ""), 2);
        assert_eq!(hints(&How::Exited(1), "gh: oh no (HTTP 502)"), 2);
        assert_eq!(hints(&How::Exited(1), "gh: Not Found (HTTP 404)"), 1);
        assert_eq!(hints(&How::Exited(1), "glab: 403 Forbidden (HTTP 403)"), 1);
    }
}
