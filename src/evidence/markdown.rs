//! The table as Markdown for a comment or a note. Every cell is a stranger's text in a document of ours: it may break no cell, start no
//! markup, call nobody (`@name`), refer to nothing (`#1`) and look like no comment of ours.

use std::fmt::Write as _;

use super::assess::{Overall, Row, Verdict};
use super::table::{Table, clean, reason};

/// The first line of what `deliver` publishes, by which it finds its own again.
pub(crate) const MARKER: &str = "<!-- arkaint:deliver -->";

/// Characters of a cell, before they are escaped.
const CELL: usize = 200;
/// Bytes of rows: forges take comments of 64 KiB.
const ROWS: usize = 48 << 10;
const HEAD: &str = "| | List | Id | Item | Evidence | Source |\n|---|---|---|---|---|---|\n";
const INDEPENDENT: &str = "Only `rerun` (or CI) is independent of the worker: every other grade rests on files that it could have written.";
/// Lines of what was passed over.
const REMARKS: usize = 20;

impl Table<'_> {
    /// The whole document, ending in a newline. The same assessment of the same commit gives the same bytes.
    pub(crate) fn markdown(&self) -> String {
        let mut blocks = vec![format!("{MARKER}\n## Definition of Done"), self.verdict()];
        let mut rows = String::new();
        let mut left_out = 0;
        for row in &self.assessment.rows {
            let line = markdown_row(row);
            if left_out > 0 || rows.len() + line.len() > ROWS {
                left_out += 1;
            } else {
                rows += &line;
            }
        }
        if !rows.is_empty() {
            blocks.push(format!("{HEAD}{}", rows.trim_end()));
        }
        if left_out > 0 {
            blocks.push(format!(
                "Rows that do not fit here: {left_out}. `git arkaint deliver` prints them."
            ));
        }
        let remarks = self.remarks();
        let mut list: Vec<String> = remarks
            .iter()
            .take(REMARKS)
            .map(|remark| format!("- {}", prose(&cut(remark))))
            .collect();
        if remarks.len() > REMARKS {
            list.push(format!("- and {} more", remarks.len() - REMARKS));
        }
        if !list.is_empty() {
            blocks.push(list.join("\n"));
        }
        blocks.push(INDEPENDENT.to_owned());
        let mut bound = vec![format!(
            "Head {}, tree {}, contract {}.",
            span(self.head),
            span(self.tree),
            self.contract.map_or_else(|| "none".to_owned(), span)
        )];
        let files = self.artifacts.iter();
        bound.extend(
            files.map(|(path, sha256)| format!("{}: SHA-256 {}.", span(path), span(sha256))),
        );
        blocks.push(bound.join("\n"));
        blocks.join("\n\n") + "\n"
    }

    fn verdict(&self) -> String {
        match self.assessment.overall {
            Overall::Complete => format!("**Complete**: {}.", self.summary()),
            Overall::Vacuous => "**Nothing to prove**, so nothing is vouched for.".to_owned(),
            Overall::Held => format!("**Held**: {}.", self.summary()),
            Overall::Incomplete => format!("**Incomplete**: {}.", self.summary()),
        }
    }

    fn remarks(&self) -> Vec<String> {
        let warnings = self.assessment.warnings.iter().map(|line| clean(line));
        let unmatched = self.assessment.unmatched.iter();
        warnings
            .chain(unmatched.map(|line| format!("nobody asked for {}", clean(line))))
            .collect()
    }
}

fn markdown_row(row: &Row) -> String {
    let icon = match row.verdict {
        Verdict::Proven if row.conflict => "⚠️",
        Verdict::Proven => "✅",
        Verdict::Failed => "❌",
        Verdict::Missing => "❓",
        Verdict::Held => "✋",
    };
    let mut evidence = Vec::new();
    if row.verdict != Verdict::Proven || row.conflict {
        evidence.push(prose(&cut(&reason(row))));
    }
    if !row.evidence.is_empty() {
        evidence.push(code(&cut(&clean(&row.evidence))));
    }
    format!(
        "| {icon} {} | {} | {} | {} | {} | {} |\n",
        row.verdict.name(),
        row.list.name(),
        span(&cut(&clean(&row.id))),
        prose(&cut(&clean(&row.description))),
        evidence.join(" "),
        prose(&row.source)
    )
}

/// A cell of another table of ours.
pub(crate) fn cell(text: &str) -> String {
    prose(&cut(&clean(text)))
}

/// At most [`CELL`] characters.
fn cut(text: &str) -> String {
    if text.chars().nth(CELL).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(CELL - 1).collect();
    format!("{}…", kept.trim_end())
}

/// A word as a code span; with characters in it that would end the span or the cell, as a `code` element.
fn span(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._/:-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        format!("`{word}`")
    } else {
        code(word)
    }
}

/// Text that forges search for no names and references.
fn code(text: &str) -> String {
    let mut out = "<code>".to_owned();
    let mut before = None;
    for c in text.chars() {
        escape(&mut out, before, c);
        before = Some(c);
    }
    out + "</code>"
}

/// Running text. What forges read as a mention or a reference (`@name`, `#1`, `!1`, `%1`, `~label`, `&1`, `$1`) has its sign in a `code`
/// element: they look at the text between elements, after entities are resolved.
fn prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let bound = chars
            .peek()
            .is_some_and(|next| next.is_alphanumeric() || matches!(next, '"' | '_'));
        match c {
            '@' | '#' => out += &code(c.encode_utf8(&mut [0; 4])),
            '!' | '%' | '~' | '&' | '$' if bound => out += &code(c.encode_utf8(&mut [0; 4])),
            c => escape(&mut out, before, c),
        }
        before = Some(c);
    }
    out
}

/// Adds a character so that it is no markup: punctuation as an entity, which never is; the point of `www.` too, which makes a link.
fn escape(out: &mut String, before: Option<char>, c: char) {
    let harmless = match c {
        '.' => !matches!(before, Some('w' | 'W')),
        c => ",-/=+;'?".contains(c) || !c.is_ascii_punctuation(),
    };
    if harmless {
        out.push(c);
    } else {
        let _ = write!(out, "&#{};", c as u32);
    }
}

#[cfg(test)]
mod tests;
