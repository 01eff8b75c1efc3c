//! Layer 1, intent: what the last checkpoints were for, in the words of those who made them.

use super::{Cut, Redact, Shown, fence};
use crate::text;

/// Bytes of a task or a message that are looked at.
const WORDS: usize = 64 << 10;

/// The title of the layer. `compared` is false when there is nothing to compare the checkpoints with.
pub(super) fn title(history: &[Shown], compared: bool) -> String {
    match history.len() {
        0 => "Intent".to_owned(),
        1 if !compared => {
            "Intent: the only checkpoint; nothing before it to compare with".to_owned()
        }
        1 => "Intent: the only checkpoint".to_owned(),
        count => format!("Intent: the last {count} checkpoints, newest first"),
    }
}

/// The checkpoints, newest first, one paragraph each, in at most `max` bytes; each gets the same part of them.
pub(super) fn body(history: &[Shown], max: usize, redact: Redact) -> (String, Cut) {
    let mut body = String::new();
    let mut cut = Cut::default();
    for (at, shown) in history.iter().enumerate() {
        let share = (max - body.len()) / (history.len() - at);
        let unproven = if shown.proven {
            ""
        } else {
            ", unproven (no record in the ledger)"
        };
        let (commit, status, time) = (
            shown.commit.to_hex_with_len(12),
            text::visible_line(&shown.status),
            text::visible_line(&shown.time),
        );
        let mut paragraph = format!(
            "{}. checkpoint {commit}, {status}, {time}{unproven}\n",
            at + 1
        );
        for (word, said, quarters) in [("task", &shown.task, 3), ("message", &shown.message, 4)] {
            let said = text::cut_on_line(said, WORDS).0.trim();
            if said.is_empty() || said == "none" {
                continue;
            }
            // Indented, so that no line of it can pass for the head of a checkpoint.
            let said = format!(
                "   {word}: {}\n",
                fence::clean(said, redact).replace('\n', "\n      ")
            );
            let (said, bytes) = fence::fit(
                &said,
                0,
                share.saturating_sub(paragraph.len()) * quarters / 4,
            );
            cut.bytes += bytes;
            paragraph.push_str(&said);
        }
        let (paragraph, bytes) = fence::fit(&paragraph, 0, share);
        cut.bytes += bytes;
        body.push_str(&paragraph);
    }
    if history.is_empty() {
        body.push_str("no checkpoint yet\n");
    }
    (body, cut)
}
