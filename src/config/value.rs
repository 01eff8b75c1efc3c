//! One configuration value: how it is read from TOML or from a word, how it is written again, and what is said when it is wrong.
//! It knows no key and no file.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use super::evidence::relative_path;
use super::glob;
use super::pattern::Pattern;
use super::unit::{read_duration, read_size, show_duration, show_size};
use crate::text;

/// A value between its text and its typed place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Unset,
    Flag(bool),
    /// Counts, tokens and bytes.
    Number(u64),
    /// Money and scores.
    Real(f64),
    Time(Duration),
    Text(String),
    List(Vec<String>),
}

/// What a key accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A word or line that is not empty.
    Text,
    /// Any text.
    Prose,
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// A program and its arguments, or arguments alone.
    Words,
    /// A program and its arguments.
    Argv,
    /// A file below the worktree's root.
    File,
    /// A glob of `[[dod]]`.
    ItemGlob,
    /// Globs of `[[dod]]`.
    ItemGlobs,
    /// A regular expression of `[[dod]]`.
    Pattern,
    /// Globs of branches, at least one.
    Branches,
    /// Globs of paths.
    Globs,
    /// Paths below the worktree, no globs.
    Paths,
    /// `NAME`, `!NAME`, `NAME=value`.
    Environment,
    /// A bash string or an argv.
    Command,
    /// A bash string, an argv, or `false`.
    Test,
    Flag,
    /// A whole number, both ends included.
    Count(u64, u64),
    /// Bytes, both ends included.
    Size(u64, u64),
    /// At least one second.
    Duration,
    /// USD, more than 0.
    Budget,
    /// USD, 0 included.
    Price,
    /// From 0 to 10.
    Score,
}

/// Where in the text a value is wrong (`None`: the value as a whole), and how.
pub(crate) struct Wrong {
    pub span: Option<Range<usize>>,
    pub message: String,
}

/// More than this is a typing error, whatever the currency.
const DEAREST: f64 = 1e9;

impl Kind {
    /// The type, for the manual.
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::Prose => "a text".to_owned(),
            Self::Choice(words) => either(words),
            Self::Words => "a list of words".to_owned(),
            Self::Argv => "a list of words, a program first".to_owned(),
            Self::File => "a file below the worktree's root".to_owned(),
            Self::ItemGlob => "a glob of whole paths".to_owned(),
            Self::ItemGlobs => "a list of globs of whole paths".to_owned(),
            Self::Pattern => "a regular expression".to_owned(),
            Self::Branches => "a list of branch globs, at least one".to_owned(),
            Self::Globs => "a list of path globs".to_owned(),
            Self::Paths => "a list of paths below the worktree".to_owned(),
            Self::Environment => r#"a list of "NAME", "!NAME" or "NAME=value""#.to_owned(),
            Self::Command => "a bash string or a list of words".to_owned(),
            Self::Test => "a bash string, a list of words, or false".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Count(low, u64::MAX) => format!("a whole number, {low} or more"),
            Self::Count(low, high) => format!("a whole number from {low} to {high}"),
            Self::Size(low, high) => {
                format!(
                    r#"a size from {} to {}, like "64KiB" or 65536"#,
                    show_size(low),
                    show_size(high)
                )
            }
            Self::Duration => r#"a duration like "90s", "30m", "2h" or "1d""#.to_owned(),
            Self::Budget => "an amount in USD above 0, like 5 or 0.50".to_owned(),
            Self::Price => "an amount in USD, like 5 or 0.50".to_owned(),
            Self::Score => "a number from 0 to 10".to_owned(),
        }
    }

    /// Reads a value as it stands in a file.
    pub(crate) fn read(self, value: &Spanned<DeValue<'_>>) -> Result<Value, Wrong> {
        let inner = value.get_ref();
        let list = match inner {
            DeValue::Array(items) => Some(self.strings(items)?),
            _ => None,
        };
        let read = match (self, inner, list) {
            (Self::Flag, DeValue::Boolean(flag), _) => Some(Value::Flag(*flag)),
            (Self::Test, DeValue::Boolean(false), _) => Some(Value::Flag(false)),
            (Self::Size(low, high), DeValue::String(text), _) => read_size(text)
                .filter(|n| (low..=high).contains(n))
                .map(Value::Number),
            (Self::Count(low, high) | Self::Size(low, high), DeValue::Integer(_), _) => {
                integer(inner)
                    .and_then(|n| u64::try_from(n).ok())
                    .filter(|n| (low..=high).contains(n))
                    .map(Value::Number)
            }
            (
                Self::Budget | Self::Price | Self::Score,
                DeValue::Integer(_) | DeValue::Float(_),
                _,
            ) => self.real(inner).map(Value::Real),
            (Self::Duration, DeValue::String(text), _) => read_duration(text).map(Value::Time),
            (_, DeValue::String(text), _) => return self.word(text),
            (Self::Command | Self::Test | Self::Argv, _, Some(words)) => words
                .first()
                .is_some_and(|program| !program.trim().is_empty())
                .then_some(Value::List(words)),
            (Self::Branches, _, Some(globs)) => (!globs.is_empty()).then_some(Value::List(globs)),
            (
                Self::Words | Self::Globs | Self::ItemGlobs | Self::Paths | Self::Environment,
                _,
                Some(items),
            ) => Some(Value::List(items)),
            _ => None,
        };
        read.ok_or_else(|| self.wrong(&found(inner)))
    }

    /// Reads a value that came as one word: from git config, the environment, or a flag.
    pub(crate) fn word(self, text: &str) -> Result<Value, Wrong> {
        let blank = text.trim().is_empty();
        match self {
            Self::Prose => Ok(Value::Text(text.to_owned())),
            Self::Text if !blank && !text.contains(['\n', '\r', '\0']) => {
                Ok(Value::Text(text.to_owned()))
            }
            Self::Command | Self::Test if !blank => Ok(Value::Text(text.to_owned())),
            Self::File => checked(text, relative_path(text).map(drop)),
            Self::ItemGlob => checked(text, glob::check_item(text)),
            Self::Pattern => checked(text, Pattern::new(text).map(drop)),
            Self::Choice(words) if words.contains(&text) => Ok(Value::Text(text.to_owned())),
            Self::Choice(words) => {
                let mut wrong = self.wrong(&found_text(text));
                if let Some(near) = nearest(text, words.iter().copied()) {
                    let _ = write!(wrong.message, r#"; did you mean "{near}"?"#);
                }
                Err(wrong)
            }
            _ => Err(self.wrong(&found_text(text))),
        }
    }

    /// The strings of a list, each checked for what this kind of list holds.
    fn strings(self, items: &[Spanned<DeValue<'_>>]) -> Result<Vec<String>, Wrong> {
        let check = |item: &str| match self {
            Self::Branches => glob::check_branch(item),
            Self::Globs => glob::check_path(item),
            Self::ItemGlobs => glob::check_item(item),
            Self::Paths => check_literal(item),
            Self::Environment => check_environment(item),
            _ if item.contains('\0') => Err("holds a NUL byte".to_owned()),
            _ => Ok(()),
        };
        items
            .iter()
            .map(|item| {
                let span = Some(item.span());
                match item.get_ref() {
                    DeValue::String(text) => match check(text) {
                        Ok(()) => Ok(text.clone().into_owned()),
                        Err(why) => Err(Wrong {
                            span,
                            message: format!("{} {why}", quoted(text)),
                        }),
                    },
                    other => Err(Wrong {
                        span,
                        ..self.wrong(&format!("{} in a list", found(other)))
                    }),
                }
            })
            .collect()
    }

    fn real(self, value: &DeValue<'_>) -> Option<f64> {
        let real = match value {
            DeValue::Float(float) => float.as_str().parse().ok()?,
            other => integer(other)? as f64,
        };
        let fits = match self {
            Self::Budget => real > 0.0 && real <= DEAREST,
            Self::Score => (0.0..=10.0).contains(&real),
            _ => (0.0..=DEAREST).contains(&real),
        };
        fits.then_some(real)
    }

    fn wrong(self, found: &str) -> Wrong {
        Wrong {
            span: None,
            message: format!("expected {}, found {found}", self.describe()),
        }
    }

    /// The value as TOML.
    pub(crate) fn show(self, value: &Value) -> String {
        match value {
            Value::Unset => String::new(),
            Value::Flag(flag) => flag.to_string(),
            Value::Number(bytes) if matches!(self, Self::Size(..)) => match show_size(*bytes) {
                with_unit if with_unit.ends_with('B') => format!("\"{with_unit}\""),
                plain => plain,
            },
            Value::Number(number) => number.to_string(),
            Value::Real(real) => real.to_string(),
            Value::Time(time) => format!("\"{}\"", show_duration(*time)),
            Value::Text(text) => toml::Value::String(text.clone()).to_string(),
            Value::List(items) => toml::Value::from(items.clone()).to_string(),
        }
    }
}

impl Value {
    /// The value in JSON: durations as they are written, sizes in bytes, `null` for what is not set.
    pub(crate) fn json(&self) -> serde_json::Value {
        match self {
            Self::Unset => serde_json::Value::Null,
            Self::Flag(flag) => (*flag).into(),
            Self::Number(number) => (*number).into(),
            Self::Real(real) => (*real).into(),
            Self::Time(time) => show_duration(*time).into(),
            Self::Text(text) => text.clone().into(),
            Self::List(items) => items.clone().into(),
        }
    }
}

/// A text that was looked at, or what is wrong with it.
fn checked(text: &str, fault: Result<(), String>) -> Result<Value, Wrong> {
    match fault {
        Ok(()) => Ok(Value::Text(text.to_owned())),
        Err(why) => Err(Wrong {
            span: None,
            message: format!("{} {why}", quoted(text)),
        }),
    }
}

/// The candidate that `word` was probably meant to be.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = word.to_lowercase().replace('-', "_");
    candidates
        .map(|c| {
            (
                strsim::normalized_damerau_levenshtein(&word, c)
                    .max(strsim::jaro_winkler(&word, c) - 0.3),
                c,
            )
        })
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, c)| c)
}

fn integer(value: &DeValue<'_>) -> Option<i128> {
    let integer = value.as_integer()?;
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn check_literal(path: &str) -> Result<(), String> {
    if path.is_empty() || path.starts_with('/') || path.split('/').any(|part| part == "..") {
        return Err("is no path below the worktree".to_owned());
    }
    if path.contains('*') {
        return Err("is a glob; name the file or folder, all below it is protected".to_owned());
    }
    Ok(())
}

fn check_environment(item: &str) -> Result<(), String> {
    let name = item
        .strip_prefix('!')
        .unwrap_or_else(|| item.split_once('=').map_or(item, |(name, _)| name));
    let letters = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if name.is_empty()
        || name.starts_with(|c: char| c.is_ascii_digit())
        || !name.bytes().all(letters)
        || item.contains('\0')
    {
        return Err(r#"is none of "NAME", "!NAME", "NAME=value""#.to_owned());
    }
    if name.starts_with("ARKAINT_") {
        return Err("is Arkaint's own and cannot be set here".to_owned());
    }
    Ok(())
}

/// `"a" or "b"`.
fn either(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!("\"{word}\""))
        .collect::<Vec<_>>()
        .join(" or ")
}

fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => found_text(text),
        DeValue::Integer(integer) => format!("the integer {integer}"),
        DeValue::Float(float) => format!("the number {float}"),
        DeValue::Boolean(flag) => format!("{flag}"),
        DeValue::Datetime(date) => format!("the date {date}"),
        DeValue::Array(items) if items.is_empty() => "an empty list".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

fn found_text(text: &str) -> String {
    format!("the string {}", quoted(text))
}

/// A string of the user's in a message: one line, and not the whole of a long one.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text::ellipsis(&text::visible_line(text), 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_a_likely_one_or_none() {
        let keys = || ["test", "spec", "timeout", "allow_secrets"].into_iter();
        assert_eq!(nearest("tset", keys()), Some("test"));
        assert_eq!(nearest("tests", keys()), Some("test"));
        assert_eq!(nearest("time_out", keys()), Some("timeout"));
        assert_eq!(nearest("Allow-Secrets", keys()), Some("allow_secrets"));
        assert_eq!(nearest("colour", keys()), None);
    }
}
