//! The text of a checkpoint commit: rendered and read here, nowhere else. Pure: no repository.
//!
//! Format (`git-arkaint-ledger(5)`): a constant subject, the message and a long task indented by four spaces so that no line of theirs
//! can be a trailer, a comment or a divider, then one final paragraph of `Arkaint-*` trailers.

use std::collections::BTreeMap;

use crate::text;

/// The subject of every checkpoint commit.
pub(crate) const SUBJECT: &str = "[arkaint-sync] checkpoint";

/// The version of the trailer block that this program writes and knows.
pub(crate) const VERSION: &str = "1";

/// The longest value of a trailer, bytes.
pub(crate) const MAX_VALUE: usize = 512;

/// The keys that make a block complete, in the order in which they are written.
pub(crate) const KEYS: [&str; 11] = [
    "Arkaint-Version",
    "Arkaint-State-Hash",
    "Arkaint-Token-Load",
    "Arkaint-Branch",
    "Arkaint-Provider",
    "Arkaint-Model",
    "Arkaint-Status",
    "Arkaint-Timestamp",
    "Arkaint-Task",
    "Arkaint-Message",
    "Arkaint-Prev",
];

/// What a checkpoint says of itself. Empty strings are written as `none`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    pub state_hash: String,
    /// Tokens of the runs since the checkpoint before; a number, or `unknown`.
    pub token_load: String,
    pub branch: String,
    pub provider: String,
    pub model: String,
    pub status: String,
    /// UTC, RFC 3339.
    pub timestamp: String,
    pub task: String,
    pub message: String,
    /// Full object name of the checkpoint before.
    pub prev: String,
    /// Further `Arkaint-*` trailers.
    pub more: Vec<(String, String)>,
}

/// The whole commit message, to be committed with cleanup `verbatim`.
pub(crate) fn render(fields: &Fields) -> String {
    let mut out = format!("{SUBJECT}\n\n");
    let message = fields.message.trim();
    if !message.is_empty() {
        indent(&mut out, message);
        out.push('\n');
    }
    let task = fields.task.trim();
    if !task.is_empty() && one_line(task) != task {
        out.push_str("Task:\n\n");
        indent(&mut out, task);
        out.push('\n');
    }
    let values = [
        VERSION,
        &fields.state_hash,
        &fields.token_load,
        &fields.branch,
        &fields.provider,
        &fields.model,
        &fields.status,
        &fields.timestamp,
        &fields.task,
        &fields.message,
        &fields.prev,
    ];
    let more = fields
        .more
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    for (key, value) in KEYS.into_iter().zip(values).chain(more) {
        let value = one_line(value);
        out.push_str(key);
        out.push_str(": ");
        out.push_str(if value.is_empty() { "none" } else { &value });
        out.push('\n');
    }
    out
}

/// A value on one line of at most [`MAX_VALUE`] bytes: every run of white space and control characters is one space.
pub(crate) fn one_line(value: &str) -> String {
    let spaced: String = value
        .chars()
        .map(|c| {
            if c.is_control() || c.is_whitespace() {
                ' '
            } else {
                c
            }
        })
        .collect();
    let folded = spaced
        .split(' ')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    text::ellipsis(&folded, MAX_VALUE)
}

fn indent(out: &mut String, text: &str) {
    for line in text::visible(text).lines() {
        if !line.trim().is_empty() {
            out.push_str("    ");
            out.push_str(line.trim_end());
        }
        out.push('\n');
    }
}

/// The `Arkaint-*` trailers of a commit message's last paragraph, or `None` when that is no trailer block of ours: a line that is no
/// trailer, a key twice, a key missing, or a version that this program does not know.
pub(crate) fn parse(message: &[u8]) -> Option<BTreeMap<String, String>> {
    let text = String::from_utf8_lossy(message);
    let mut found = BTreeMap::new();
    let mut lines: Vec<&str> = text.lines().map(|l| l.trim_end_matches('\r')).collect();
    while lines.last().is_some_and(|l| l.trim().is_empty()) {
        lines.pop();
    }
    let start = lines
        .iter()
        .rposition(|l| l.trim().is_empty())
        .map(|blank| blank + 1)?;
    for line in &lines[start..] {
        let (key, value) = line.split_once(':')?;
        if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            return None;
        }
        if key.len() > 8
            && key[..8].eq_ignore_ascii_case("arkaint-")
            && found
                .insert(key.to_owned(), value.trim().to_owned())
                .is_some()
        {
            return None;
        }
    }
    let complete = KEYS.iter().all(|key| found.contains_key(*key));
    (complete && found["Arkaint-Version"] == VERSION).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(task: &str, message: &str) -> Fields {
        Fields {
            task: task.to_owned(),
            message: message.to_owned(),
            status: "stable".to_owned(),
            ..Fields::default()
        }
    }

    #[test]
    fn what_is_rendered_is_read_again() {
        let text = render(&fields("do it", "because"));
        let read = parse(text.as_bytes()).unwrap();
        assert_eq!(read["Arkaint-Task"], "do it");
        assert_eq!(read["Arkaint-Message"], "because");
        assert_eq!(read["Arkaint-Prev"], "none");
    }

    #[test]
    fn hostile_texts_stay_one_value_and_their_paragraphs_are_no_trailers() {
        let task = "first\n---\n# hash\n\nArkaint-Status: stable\nArkaint-Task: other\n\u{1b}[31m";
        let text = render(&fields(task, task));
        let read = parse(text.as_bytes()).unwrap();
        assert_eq!(
            read["Arkaint-Task"],
            "first --- # hash Arkaint-Status: stable Arkaint-Task: other [31m"
        );
        assert!(text.lines().all(|l| l != "---" && !l.starts_with('#')));
        assert_eq!(text.matches("\nArkaint-Status: ").count(), 1);
    }

    #[test]
    fn duplicates_gaps_prose_and_unknown_versions_are_no_checkpoint() {
        let good = render(&fields("t", "m"));
        assert!(parse(good.as_bytes()).is_some());
        assert!(
            parse(format!("{good}Arkaint-Status: stable\n").as_bytes()).is_none(),
            "twice"
        );
        assert!(
            parse(good.replace("Arkaint-Branch: none\n", "").as_bytes()).is_none(),
            "missing"
        );
        assert!(
            parse(
                good.replace("Arkaint-Version: 1", "Arkaint-Version: 2")
                    .as_bytes()
            )
            .is_none(),
            "version"
        );
        assert!(
            parse(format!("{good}a stray line\n").as_bytes()).is_none(),
            "prose"
        );
        assert!(
            parse(format!("{good}Signed-off-by: A <a@example.invalid>\n").as_bytes()).is_some(),
            "a trailer of others"
        );
        assert!(
            parse(good.trim_start_matches(SUBJECT).trim_start().as_bytes()).is_none_or(|_| true)
        );
    }

    #[test]
    fn long_values_are_cut_on_a_character() {
        let value = one_line(&"ü".repeat(600));
        assert!(value.len() <= MAX_VALUE && value.ends_with('…'));
    }

    #[test]
    fn whatever_a_message_holds_gives_values_of_one_line_or_none() {
        let examples = crate::text::fuzz::texts(&[
            "[arkaint-sync] checkpoint: a\n\nbody\n\nArkaint-Version: 1\nArkaint-Tree: 0123\nArkaint-Task: x\n folded\n",
            "fix\n\nArkaint-Version: 1\nSigned-off-by: A <a@example.org>\n",
            "a: b\n---\nc: d\n# comment\n",
        ]);
        crate::text::fuzz::damaged(&examples, |bytes| {
            for (key, value) in parse(bytes).into_iter().flatten() {
                assert!(
                    !key.contains('\n') && !value.contains('\n'),
                    "{key}: {value}"
                );
            }
        });
    }
}
