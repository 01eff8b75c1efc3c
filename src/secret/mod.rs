//! The one choke point for secrets: what is shown, recorded or piped to a model passes here. It never sees a failure signature first,
//! and it changes nothing but the secret: `[REDACTED rule sha8]`, the same tag for the same value.
//!
//! Rules of our own, not a crate: the crates that carry gitleaks' rules bring 37 to 560 further crates, are young, or ask for a newer
//! compiler, and their generic rules are made for a report that a person reads, not for text that is changed unseen. What is wanted
//! here is precision: vendor prefixes, and a few places (a header, a URL, an assignment) whose values must look random.
//! The table costs one crate that is in the tree anyway: one pass over a text says which of the expressions (regex) may have anything
//! to find; those alone are built, once, when first needed.

mod anchors;
mod environment;
pub(crate) mod paths;
mod private_key;
mod rules;
#[cfg(test)]
mod tests;
mod value;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;
use sha2::{Digest, Sha256};

use anchors::{Anchors, Meaning};
use rules::{Candidate, RULES, START};

/// A secret in a text: by which rule, and on which line (from 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub rule: &'static str,
    pub line: usize,
}

const TAG: &str = "[REDACTED ";
const ENVIRONMENT: &str = "environment";
const PRIVATE_KEY: &str = "private-key";
const ASSIGNMENT: &str = "assignment";
/// A secret taken out may bare another one to the rules (an assignment inside an assignment); more rounds than this never change anything.
const ROUNDS: usize = 4;

/// `text` with every value that a rule knows as a secret replaced by `[REDACTED rule sha8]` (same value, same tag).
pub(crate) fn redact(text: &str) -> Cow<'_, str> {
    let mut redacted = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        let spans = spans(&redacted);
        if spans.is_empty() {
            break;
        }
        redacted = Cow::Owned(replace(&redacted, &spans));
    }
    redacted
}

/// [`redact`] on every string of a JSON value, keys too; a member whose name says password, token, secret or key is judged with it.
pub(crate) fn redact_json(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact(text).into_owned()),
        Value::Array(items) => items.iter().map(redact_json).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| {
                let member = match member {
                    Value::String(text) => match redact(text) {
                        Cow::Borrowed(text) if is_member_secret(name, text) => {
                            Value::String(tag(ASSIGNMENT, text))
                        }
                        redacted => Value::String(redacted.into_owned()),
                    },
                    other => redact_json(other),
                };
                (redact(name).into_owned(), member)
            })
            .collect(),
        other => other.clone(),
    }
}

/// The secrets of `new` that `old` did not hold already, in order.
pub(crate) fn added(old: &str, new: &str) -> Vec<Finding> {
    let found = spans(new);
    if found.is_empty() {
        return Vec::new();
    }
    let known: HashSet<&str> = spans(old).into_iter().map(|(span, _)| &old[span]).collect();
    let (mut line, mut at) = (1, 0);
    found
        .into_iter()
        .filter(|(span, _)| !known.contains(&new[span.clone()]))
        .map(|(span, rule)| {
            line += new[at..span.start].bytes().filter(|b| *b == b'\n').count();
            at = span.start;
            Finding { rule, line }
        })
        .collect()
}

type Span = (Range<usize>, &'static str);

static ANCHORS: LazyLock<Anchors> = LazyLock::new(|| Anchors::new(environment::values()));

/// Where the secrets are, in order and apart from each other; nothing inside a tag is one.
fn spans(text: &str) -> Vec<Span> {
    spans_with(&ANCHORS, text)
}

fn spans_with(anchors: &Anchors, text: &str) -> Vec<Span> {
    let mut wanted = [false; RULES.len()];
    let mut found: Vec<Span> = Vec::new();
    let mut keys = false;
    anchors.hits(text.as_bytes(), |meaning, range| match meaning {
        Meaning::Rule(rule) => wanted[rule] = true,
        Meaning::PrivateKey => keys = true,
        Meaning::Environment => found.push((range, ENVIRONMENT)),
    });
    if keys {
        found.extend(
            private_key::find(text)
                .into_iter()
                .map(|range| (range, PRIVATE_KEY)),
        );
    }
    for (i, rule) in RULES.iter().enumerate().filter(|(i, _)| wanted[*i]) {
        for groups in expression(i).captures_iter(text.as_bytes()) {
            let Some(secret) = groups.get(1).or_else(|| groups.get(0)) else {
                continue;
            };
            let range = on_characters(text, secret.range());
            if (rule.accept)(&Candidate {
                text,
                start: range.start,
                end: range.end,
            }) {
                found.push((range, rule.name));
            }
        }
    }
    if found.is_empty() {
        return found;
    }
    let tags = tags(text);
    found.retain(|(span, _)| {
        !tags
            .iter()
            .any(|tag| span.start < tag.end && tag.start < span.end)
    });
    merge(found)
}

/// Overlapping spans as one, under the rule that stands first in the text.
fn merge(mut found: Vec<Span>) -> Vec<Span> {
    found.sort_by_key(|(span, _)| (span.start, std::cmp::Reverse(span.end)));
    let mut merged: Vec<Span> = Vec::with_capacity(found.len());
    for (span, rule) in found {
        match merged.last_mut() {
            Some((last, _)) if span.start < last.end => last.end = last.end.max(span.end),
            _ => merged.push((span, rule)),
        }
    }
    merged
}

/// The rule's expression, built when its anchor is first seen. Over bytes: its classes are ASCII, which Unicode's tables would make a
/// hundred times larger.
fn expression(rule: usize) -> &'static Regex {
    static BUILT: [OnceLock<Regex>; RULES.len()] = [const { OnceLock::new() }; RULES.len()];
    BUILT[rule].get_or_init(|| {
        let pattern = RULES[rule].pattern.replace("^^", START);
        RegexBuilder::new(&pattern)
            .unicode(false)
            .build()
            .expect("the rules' tests build every expression")
    })
}

/// A range of bytes widened to whole characters.
fn on_characters(text: &str, mut range: Range<usize>) -> Range<usize> {
    while !text.is_char_boundary(range.start) {
        range.start -= 1;
    }
    while !text.is_char_boundary(range.end) {
        range.end += 1;
    }
    range
}

fn replace(text: &str, spans: &[Span]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (span, rule) in spans {
        out.push_str(&text[at..span.start]);
        out.push_str(&tag(rule, &text[span.clone()]));
        at = span.end;
    }
    out.push_str(&text[at..]);
    out
}

fn tag(rule: &str, secret: &str) -> String {
    let digest = Sha256::digest(secret.as_bytes());
    format!(
        "{TAG}{rule} {:02x}{:02x}{:02x}{:02x}]",
        digest[0], digest[1], digest[2], digest[3]
    )
}

/// The tags that are in the text already.
fn tags(text: &str) -> Vec<Range<usize>> {
    text.match_indices(TAG)
        .filter_map(|(at, _)| {
            let rest = &text.as_bytes()[at + TAG.len()..];
            let name = rest
                .iter()
                .take_while(|b| b.is_ascii_lowercase() || **b == b'-')
                .count();
            let sha = rest.get(name + 1..name + 9)?;
            let is_tag = rest[name] == b' '
                && sha.iter().all(u8::is_ascii_hexdigit)
                && rest.get(name + 9) == Some(&b']');
            is_tag.then(|| at..at + TAG.len() + name + 10)
        })
        .collect()
}

fn is_member_secret(name: &str, text: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let named = RULES
        .iter()
        .find(|rule| rule.name == ASSIGNMENT)
        .is_some_and(|rule| rule.anchors.iter().any(|a| name.contains(a)));
    named
        && value::is_secret_value(text, true)
        && !text.contains(char::is_whitespace)
        && tags(text).is_empty()
}
