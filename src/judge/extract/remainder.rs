//! A failing check whose output has no known form: all the lines that complain together, else its last lines. Together, as one of them
//! is often the same for different causes ("build failed").

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::{Cause, noise, regex};
use crate::judge::normalise;
use crate::judge::signature::Kind;

/// Of more lines than this, the last ones count.
const LINES_MAX: usize = 8;

pub(super) fn read(lines: &[&str]) -> Option<Cause> {
    static COMPLAINS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)\b(?:errors?|err!|fatal|fail(?:ed|s|ure)?|exception|panic(?:ked)?|cannot|can't|could not|couldn't|unable|undefined|unbound|not found|no such|denied|refused|missing|invalid|unknown|unexpected|unsupported|abort(?:ed)?|violat(?:es|ed|ion)|mismatch|expected|conflict|rejected)\b",
        )
    });
    let telling: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| !noise::is(line) && !noise::sums_up(line))
        .collect();
    let (mut keys, mut first) = (BTreeSet::new(), "");
    for line in telling.iter().rev().filter(|line| COMPLAINS.is_match(line)) {
        if keys.len() == LINES_MAX {
            break;
        }
        if keys.insert(normalise::line(line)) {
            first = line;
        }
    }
    if keys.is_empty() {
        first = telling
            .last()
            .or(lines.iter().rfind(|line| !line.is_empty()))?;
        keys.extend(
            telling
                .iter()
                .rev()
                .take(LINES_MAX)
                .map(|line| normalise::line(line)),
        );
        keys.insert(normalise::line(first));
    }
    let key = keys
        .into_iter()
        .filter(|key| !key.is_empty())
        .collect::<Vec<_>>()
        .join(" | ");
    (!key.is_empty()).then(|| {
        Cause::new(
            Kind::Other,
            key,
            crate::text::ellipsis(&normalise::line(first), 120),
            first,
        )
    })
}
