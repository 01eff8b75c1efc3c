//! The table of an assessment: for a terminal, for a program, and (`markdown`) for a forge or a note. It decides nothing. What a worker
//! wrote is redacted before anything is cut off, so that half a secret cannot slip through.

use serde_json::{Value, json};
use textwrap::core::display_width;
use textwrap::{Options, WordSplitter};
use unicode_width::UnicodeWidthChar as _;

use super::assess::{Assessment, Row, Verdict};
use super::grade::Grade;
use crate::ui::Tone;
use crate::{secret, text};

/// What is shown, and of what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    pub assessment: &'a Assessment,
    /// Full name of the delivered commit.
    pub head: &'a str,
    /// Full name of its tree.
    pub tree: &'a str,
    /// Digest of the contract, where there is one.
    pub contract: Option<&'a str>,
    /// Path and SHA-256 of each file that was read.
    pub artifacts: &'a [(String, String)],
}

/// Columns before the text of a row.
const INDENT: usize = 9;

impl Table<'_> {
    /// Lines for a terminal of `width` columns: two or more a row, then what was passed over, then the sum.
    pub(crate) fn lines(&self, width: usize) -> Vec<(Tone, String)> {
        let width = width.max(2 * INDENT);
        let mut lines = Vec::new();
        for row in &self.assessment.rows {
            let tone = match row.verdict {
                Verdict::Proven if row.conflict => Tone::Warn,
                Verdict::Proven => Tone::Good,
                Verdict::Failed => Tone::Bad,
                Verdict::Missing | Verdict::Held => Tone::Warn,
            };
            let head = format!(
                "{:<INDENT$}{}  {}",
                row.verdict.name(),
                row.name(),
                clean(&row.description)
            );
            lines.push((tone, cut_columns(head.trim_end(), width)));
            if row.verdict != Verdict::Proven || row.conflict {
                lines.extend(wrapped(&reason(row), width));
            }
            let said = clean(&row.evidence);
            let source = if row.source.is_empty() {
                String::new()
            } else {
                format!("({})", row.source)
            };
            // The source is ours and short: it stays whole.
            let room = width.saturating_sub(INDENT + display_width(&source) + 1);
            let said = cut_columns(&said, room);
            let both = [said, source].join(" ");
            if !both.trim().is_empty() {
                lines.push((Tone::Dim, format!("{:INDENT$}{}", "", both.trim())));
            }
        }
        for line in &self.assessment.warnings {
            lines.extend(
                wrapped_as("warning: ", &clean(line), width)
                    .into_iter()
                    .map(|line| (Tone::Warn, line)),
            );
        }
        for line in &self.assessment.unmatched {
            lines.extend(
                wrapped_as("nobody asked for ", &clean(line), width)
                    .into_iter()
                    .map(|line| (Tone::Dim, line)),
            );
        }
        lines.push((Tone::Plain, self.summary()));
        lines
    }

    /// `3 proven, 1 failed (fix it), 2 missing (prove it)`.
    pub(crate) fn summary(&self) -> String {
        if self.assessment.rows.is_empty() {
            return "nothing to prove, so nothing is vouched for".to_owned();
        }
        let counts = [
            (Verdict::Proven, ""),
            (Verdict::Failed, " (fix it)"),
            (Verdict::Missing, " (prove it)"),
            (Verdict::Held, " (a person must look)"),
        ];
        let counts = counts.into_iter().filter_map(|(verdict, what)| {
            let count = self.assessment.of(verdict).count();
            (count > 0).then(|| format!("{count} {}{what}", verdict.name()))
        });
        counts.collect::<Vec<_>>().join(", ")
    }

    /// The same for a program; redacted, nothing cut.
    pub(crate) fn json(&self) -> Value {
        let row = |row: &Row| {
            let stale = match row.grade {
                Some(Grade::Stale(stale)) => Some(stale.name()),
                _ => None,
            };
            json!({
                "list": row.list.name(), "id": row.id, "description": row.description, "verdict": row.verdict.name(),
                "reason": row.reason, "evidence": row.evidence, "source": row.source,
                "grade": row.grade.map(Grade::name), "stale": stale, "conflict": row.conflict,
            })
        };
        let artifact =
            |(path, sha256): &(String, String)| json!({ "path": path, "sha256": sha256 });
        secret::redact_json(&json!({
            "overall": self.assessment.overall.name(),
            "head": self.head, "tree": self.tree, "contract": self.contract,
            "artifacts": self.artifacts.iter().map(artifact).collect::<Vec<_>>(),
            "rows": self.assessment.rows.iter().map(row).collect::<Vec<_>>(),
            "warnings": self.assessment.warnings, "unmatched": self.assessment.unmatched,
        }))
    }
}

/// A text of a stranger as one line without secrets and hidden characters.
pub(super) fn clean(text: &str) -> String {
    text::visible_line(&secret::redact(text))
}

/// Why a row is as it is, without its name, which stands beside it.
pub(super) fn reason(row: &Row) -> String {
    let reason = clean(&row.reason);
    let name = clean(&row.name());
    match reason.strip_prefix(&name) {
        Some(rest) => rest.trim_start().to_owned(),
        None => reason,
    }
}

fn wrapped(text: &str, width: usize) -> impl Iterator<Item = (Tone, String)> {
    let lines = wrapped_as(&" ".repeat(INDENT), text, width);
    lines.into_iter().map(|line| (Tone::Plain, line))
}

fn wrapped_as(first: &str, text: &str, width: usize) -> Vec<String> {
    let indent = " ".repeat(INDENT);
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(&indent)
        .word_splitter(WordSplitter::NoHyphenation);
    let lines = textwrap::wrap(text, options).into_iter();
    lines.map(std::borrow::Cow::into_owned).collect()
}

/// `text` in at most `width` columns, with `…` for what was cut.
fn cut_columns(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut left = width.saturating_sub(1);
    let kept: String = text
        .chars()
        .take_while(|c| {
            let wide = c.width().unwrap_or(0);
            let fits = wide <= left;
            left = left.saturating_sub(wide);
            fits
        })
        .collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
pub(super) mod tests;
