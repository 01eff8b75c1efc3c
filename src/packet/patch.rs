//! The patch of one file as git would print it, kept only as far as it can be shown.

use std::fmt::Write as _;

use crate::git::changes::{Change, Mode};
use crate::git::patch::{Content, Hunk};
use crate::text::human_bytes;

use super::fence::path;
use super::withheld::Withheld;

/// The text of one file's patch, and the length of the whole.
pub(super) struct Patch {
    pub text: Vec<u8>,
    pub bytes: usize,
}

/// A patch being written. It counts all bytes and keeps the first `cap`.
pub(super) struct Writer {
    text: Vec<u8>,
    bytes: usize,
    cap: usize,
    endings: Endings,
}

/// Which line ends the removed and the added lines have.
#[derive(Default)]
struct Endings {
    removed: Ends,
    added: Ends,
}

#[derive(Default, PartialEq, Eq)]
struct Ends {
    crlf: bool,
    lf: bool,
}

impl Writer {
    pub(super) fn new(cap: usize) -> Self {
        Self {
            text: Vec::new(),
            bytes: 0,
            cap,
            endings: Endings::default(),
        }
    }

    pub(super) fn hunk(&mut self, hunk: &Hunk, withheld: &Withheld) {
        let side = |(start, count): (u32, u32)| {
            if count == 1 {
                start.to_string()
            } else {
                format!("{start},{count}")
            }
        };
        self.push(format!("@@ -{} +{} @@\n", side(hunk.old), side(hunk.new)).as_bytes());
        for (sign, line) in hunk.lines {
            self.endings.see(*sign, line);
            self.push(&[u8::try_from(*sign).unwrap_or(b' ')]);
            if withheld.line(line) {
                self.push(b"[left out: also a line of a sensitive path]\n");
                continue;
            }
            self.push(line);
            if !line.ends_with(b"\n") {
                self.push(b"\n\\ No newline at end of file\n");
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        let room = self.cap.saturating_sub(self.text.len());
        self.text.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// The whole patch: what kind of change it is, then the hunks.
    pub(super) fn end(self, change: &Change, content: Content) -> Patch {
        let mut text = head(change, content, &self.endings).into_bytes();
        let head = text.len();
        let kept = if self.text.len() < self.bytes {
            whole_lines(&self.text)
        } else {
            &self.text
        };
        text.extend_from_slice(kept);
        Patch {
            text,
            bytes: head + self.bytes,
        }
    }
}

/// Up to the last newline, or to the last whole character where there is none.
fn whole_lines(text: &[u8]) -> &[u8] {
    match text.iter().rposition(|byte| *byte == b'\n') {
        Some(newline) => &text[..=newline],
        None => match std::str::from_utf8(text) {
            Err(error) if error.error_len().is_none() => &text[..error.valid_up_to()],
            _ => text,
        },
    }
}

impl Endings {
    fn see(&mut self, sign: char, line: &[u8]) {
        let ends = match sign {
            '-' => &mut self.removed,
            '+' => &mut self.added,
            _ => return,
        };
        let crlf = line.ends_with(b"\r\n");
        ends.crlf |= crlf;
        ends.lf |= !crlf;
    }

    /// Line ends are not shown, so a change of them must be said.
    fn changed(&self) -> Option<&'static str> {
        const CRLF: Ends = Ends {
            crlf: true,
            lf: false,
        };
        const LF: Ends = Ends {
            crlf: false,
            lf: true,
        };
        match (&self.removed, &self.added) {
            (&CRLF, &LF) => Some("line ends CRLF => LF"),
            (&LF, &CRLF) => Some("line ends LF => CRLF"),
            _ => None,
        }
    }
}

fn head(change: &Change, content: Content, endings: &Endings) -> String {
    let side = |prefix: &str, entry: Option<&crate::git::changes::Entry>| {
        entry.map_or_else(|| "/dev/null".to_owned(), |entry| path(prefix, &entry.path))
    };
    let (old, new) = (change.old.as_ref(), change.new.as_ref());
    let (before, after) = (side("a/", old), side("b/", new));
    let mut head = format!(
        "diff --git {} {}\n",
        side("a/", old.or(new)),
        side("b/", new.or(old))
    );
    match (old, new) {
        (None, Some(new)) => {
            let _ = writeln!(head, "new file mode {}", new.mode.octal());
        }
        (Some(old), None) => {
            let _ = writeln!(head, "deleted file mode {}", old.mode.octal());
        }
        (Some(old), Some(new)) => {
            if old.mode != new.mode {
                let _ = writeln!(
                    head,
                    "old mode {}\nnew mode {}",
                    old.mode.octal(),
                    new.mode.octal()
                );
            }
            if old.path != new.path {
                let _ = writeln!(
                    head,
                    "rename from {}\nrename to {}",
                    path("", &old.path),
                    path("", &new.path)
                );
            }
        }
        (None, None) => {}
    }
    match content {
        Content::Lines {
            added: 0,
            removed: 0,
        } => {}
        Content::Lines { .. } => {
            if let Some(words) = endings.changed() {
                let _ = writeln!(head, "{words}");
            }
            let _ = writeln!(head, "--- {before}\n+++ {after}");
        }
        Content::Binary { old, new } => {
            let _ = writeln!(head, "binary: {}", sizes(old, new));
        }
        Content::Large { old, new } => {
            let _ = writeln!(head, "too large to show: {}", sizes(old, new));
        }
        Content::Submodule => {
            let _ = writeln!(head, "--- {before}\n+++ {after}");
            for (sign, entry) in [('-', old), ('+', new)] {
                if let Some(entry) = entry.filter(|entry| entry.mode == Mode::Submodule) {
                    let _ = writeln!(head, "{sign}Subproject commit {}", entry.id);
                }
            }
        }
    }
    head
}

/// `120 B => 300 B`, or the one size there is.
pub(super) fn sizes(old: Option<u64>, new: Option<u64>) -> String {
    match (old, new) {
        (Some(old), Some(new)) => format!("{} => {}", human_bytes(old), human_bytes(new)),
        (one, other) => human_bytes(one.or(other).unwrap_or(0)),
    }
}
