//! Errors of rustc and clippy in full, and of Ruff, which prints the same way: head, place and the label of the marked code belong
//! together. The short form has all three on one line, and must give the same cause.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::diagnostic::cause;
use super::{Cause, noise, regex};

pub(super) fn read(lines: &[&str]) -> Vec<Cause> {
    static HEAD: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"^(?:error(?:\[(?P<code>E\d+)\])?: |(?P<rule>[A-Z]{1,5}\d{2,5}) (?:\[\*\] )?)(?P<message>.+)$",
        )
    });
    static PLACE: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*--> (?P<path>\S+?):\d+:\d+$"));
    static TARGET: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^error: could not compile `.+?` \((?P<target>.+?)\) due to"));
    let targets: Vec<&str> = lines
        .iter()
        .filter_map(|line| TARGET.captures(line).and_then(|found| found.name("target")))
        .map(|target| target.as_str())
        .collect();
    let tests_only = !targets.is_empty() && targets.iter().all(|target| target.contains("test"));
    let mut out = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(head) = HEAD.captures(line).filter(|_| !noise::is(line)) else {
            continue;
        };
        let block: Vec<&str> = lines[at + 1..]
            .iter()
            .take(40)
            .take_while(|line| !line.is_empty() && !HEAD.is_match(line))
            .copied()
            .collect();
        let code = head
            .name("code")
            .or(head.name("rule"))
            .map_or("", |code| code.as_str());
        let path = block
            .iter()
            .find_map(|line| PLACE.captures(line))
            .map_or("", |found| found.extract::<1>().1[0])
            .to_owned();
        if path.is_empty() && head.name("rule").is_some() {
            continue;
        }
        // Ruff's label repeats its help.
        let label = if head.name("rule").is_some() {
            None
        } else {
            primary_label(&block)
        };
        let message = label.map_or_else(
            || head["message"].to_owned(),
            |label| format!("{}: {label}", &head["message"]),
        );
        let mut cause = cause(&path, code, &message, line);
        if !path.is_empty() {
            cause.raw = format!("{} --> {path}", cause.raw);
        }
        cause.tests_only = tests_only;
        // A library is built again for its tests and complains again.
        out.entry((
            cause.key.clone(),
            block.first().copied().unwrap_or("").to_owned(),
        ))
        .or_insert((at, cause));
    }
    let mut found: Vec<(usize, Cause)> = out.into_values().collect();
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, cause)| cause).collect()
}

/// The label of the code that `^` marks: behind the mark, or below it when other marks follow on the line.
fn primary_label(block: &[&str]) -> Option<String> {
    let first: Vec<&str> = block
        .iter()
        .copied()
        .take_while(|line| !line.starts_with("note:") && !line.starts_with("help:"))
        .collect();
    let marked = first
        .iter()
        .position(|line| line.trim_start().starts_with('|') && line.contains('^'))?;
    let line: Vec<char> = first[marked].chars().collect();
    let start = line.iter().position(|c| *c == '^')?;
    let behind: String = line[start..]
        .iter()
        .collect::<String>()
        .trim_start_matches(['^', ' '])
        .to_owned();
    if !behind.is_empty() && !behind.starts_with('-') {
        return Some(behind);
    }
    // The label begins under the mark; text that runs through that column belongs to another one.
    let begins = |line: &&&str| {
        let mut chars = line.chars().skip(start.saturating_sub(1));
        chars.next() == Some(' ') && chars.next().is_some_and(|c| !c.is_whitespace() && c != '|')
    };
    let below = first[marked + 1..].iter().take(6).find(begins)?;
    let label: String = below.chars().skip(start).collect();
    Some(label.trim_end().to_owned())
}
