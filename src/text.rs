//! Text for eyes: control characters made visible, cuts that fall on lines, counts people can read. It knows no terminal.

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Shows C0, C1, DEL, bidi and zero-width characters as `<U+XXXX>` so that data cannot steer a terminal or hide itself.
/// Newlines and tabs pass; carriage returns before a newline are dropped.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            c if is_hidden(c) => {
                let _ = write!(out, "<U+{:04X}>", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// [`visible`] folded to one line: newlines and tabs become one space each.
pub(crate) fn visible_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

/// Does this character steer a terminal or hide itself (newlines and tabs included)?
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{00ad}' | '\u{061c}' | '\u{180e}')
}

/// The longest prefix of whole lines (each with its newline) that fits in `max` bytes; when not even the first line fits, a prefix
/// of it that ends on a character. Returns what was kept and how many bytes were left out.
pub(crate) fn cut_on_line(text: &str, max: usize) -> (&str, usize) {
    if text.len() <= max {
        return (text, 0);
    }
    let kept = match text.as_bytes()[..max].iter().rposition(|b| *b == b'\n') {
        Some(newline) => newline + 1,
        None => floor_char(text, max),
    };
    (&text[..kept], text.len() - kept)
}

/// The last whole lines that fit in `max` bytes.
pub(crate) fn tail_on_line(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let mut from = text.len() - max;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    match text[from..].find('\n') {
        Some(newline) if from + newline + 1 < text.len() => &text[from + newline + 1..],
        _ => &text[from..],
    }
}

/// `text` cut to at most `max` bytes on a character, with `…` in place of what was cut.
pub(crate) fn ellipsis(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!(
        "{}…",
        text[..floor_char(text, max.saturating_sub('…'.len_utf8()))].trim_end()
    )
}

/// `text` cut to at most `columns` of a terminal, with `…` in place of what was cut.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let (mut kept, mut used) = (String::new(), 1);
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

fn floor_char(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// `1 item`, `2 items`, `2 processes`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    let s = match count {
        1 => "",
        _ if one.ends_with('s') => "es",
        _ => "s",
    };
    format!("{count} {one}{s}")
}

/// `12.3 KiB`, `640 B`: a size in bytes for people.
pub(crate) fn human_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 || unit == "GiB" {
            return if unit == "B" {
                format!("{bytes} B")
            } else {
                format!("{value:.1} {unit}")
            };
        }
        value /= 1024.0;
    }
    unreachable!("the loop returns at GiB")
}

/// An amount of USD for people: cents, or more digits where it is less than one.
pub(crate) fn usd(amount: f64) -> String {
    if amount > 0.0 && amount < 0.01 {
        format!("{amount:.4} USD")
    } else {
        format!("{amount:.2} USD")
    }
}

/// Bytes as lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
}

#[cfg(test)]
pub(crate) mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_and_bidi_are_shown_and_crlf_is_folded() {
        assert_eq!(
            visible("a\u{1b}[31mb\u{202e}c\r\nd"),
            "a<U+001B>[31mb<U+202E>c\nd"
        );
    }

    #[test]
    fn cuts_fall_on_lines_and_never_inside_a_character() {
        assert_eq!(cut_on_line("ab\ncd\nef", 7), ("ab\ncd\n", 2));
        assert_eq!(cut_on_line("äöü", 3), ("ä", 4));
        assert_eq!(tail_on_line("ab\ncd\nef", 5), "ef");
        assert_eq!(ellipsis("abcdefghij", 8), "abcde…");
        assert_eq!(fit("abcdefgh", 8), "abcdefgh");
        assert_eq!(
            (fit("abcdefghi", 8), fit("日本語文", 6)),
            ("abcdefg…".to_owned(), "日本…".to_owned())
        );
    }

    #[test]
    fn whatever_comes_is_one_visible_line() {
        let examples = fuzz::texts(&[
            "a\u{1b}[31mb",
            "\u{202e}evil",
            "plain",
            "\u{200b}\u{feff}\r\n\t",
        ]);
        fuzz::damaged(&examples, |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let line = visible_line(&text);
            assert!(
                !line.chars().any(|c| c.is_control() || is_hidden(c)),
                "{line:?}"
            );
            for width in [0, 1, 7, 80] {
                assert!(fit(&line, width).chars().count() <= line.chars().count() + 1);
                ellipsis(&line, width.max(4));
                cut_on_line(&text, width);
                tail_on_line(&text, width);
            }
        });
    }
}
