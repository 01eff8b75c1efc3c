//! What a checking command is aimed at: which tool, to what purpose, narrowed to what. Two commands with one aim are one check, however
//! they are spelt, and a check that is not narrowed covers one that is.

mod options;
mod purpose;
mod scripts;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::question;
pub(crate) use purpose::Purpose;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Aim {
    pub tool: String,
    pub purpose: Purpose,
    /// What it is narrowed to: paths, names, patterns; `!` in front of what is left out. Empty = everything.
    pub selection: BTreeSet<String>,
}

impl Aim {
    /// The aim of a command, `None` when it only asks.
    pub(super) fn of(argv: &[String]) -> Option<Self> {
        if question::asks(argv) {
            return None;
        }
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        let (program, rest) = words.split_first()?;
        Some(tools::aim(program, rest))
    }

    /// The same runner without a wrapper around it, narrowed as far as this one is.
    pub(super) fn by_runner(&self, runner: &str) -> Self {
        Self::new(runner, Purpose::Test, self.selection.clone())
    }

    /// Is it narrowed to something that one of these names is part of?
    pub(super) fn selects(&self, names: &BTreeSet<String>) -> bool {
        let tokens = self
            .selection
            .iter()
            .filter(|token| !token.starts_with('!'));
        let patterns = tokens
            .flat_map(|token| token.split('|'))
            .flat_map(|token| token.split(" or "));
        let patterns: Vec<&str> = patterns
            .map(|p| p.trim_matches(['^', '$', '/', '(', ')', ' ']))
            .filter(|p| p.len() > 1)
            .collect();
        let matches = |name: &String| {
            patterns
                .iter()
                .any(|pattern| name.contains(pattern) || pattern.ends_with(name.as_str()))
        };
        names.iter().any(matches)
    }

    fn new(tool: impl Into<String>, purpose: Purpose, selection: BTreeSet<String>) -> Self {
        Self {
            tool: tool.into(),
            purpose,
            selection,
        }
    }
}
