//! Private key blocks: PEM and PGP, whole or cut, in files, diffs and escaped strings. By hand, as a block may be long.

use std::ops::Range;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
/// No key is longer; a block without an end stops where its lines stop looking like one.
const MAX: usize = 64 * 1024;
/// Base64 in a row by which a body is one, and not a header that code merely names.
const BODY: usize = 32;

/// The range from each header to its end.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(BEGIN).map(|i| from + i) {
        from = at + BEGIN.len();
        let Some(header) = header_end(&text[from..]).map(|i| from + i) else {
            continue;
        };
        let limit = floor_char(text, header.saturating_add(MAX).min(text.len()));
        let limit = text[header..limit]
            .find(BEGIN)
            .map_or(limit, |next| header + next);
        let end = match text[header..limit].find(END) {
            Some(end) => end_of_footer(text, header + end),
            None => header + body_length(&text.as_bytes()[header..limit]),
        };
        if has_body(&text.as_bytes()[header..end]) {
            found.push(at..end);
            from = end;
        }
    }
    found
}

/// Where `RSA PRIVATE KEY-----` ends, if that is what follows `-----BEGIN `.
fn header_end(rest: &str) -> Option<usize> {
    let dashes = rest
        .get(..rest.len().min(64))
        .unwrap_or(rest)
        .find("-----")?;
    let label = &rest[..dashes];
    let private = label.ends_with("PRIVATE KEY") || label.ends_with("PRIVATE KEY BLOCK");
    (private
        && label
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' '))
    .then_some(dashes + 5)
}

fn end_of_footer(text: &str, at: usize) -> usize {
    let rest = &text[at + END.len()..];
    let label = rest
        .bytes()
        .take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b' ')
        .count();
    let dashes = rest[label..]
        .bytes()
        .take_while(|b| *b == b'-')
        .take(5)
        .count();
    at + END.len() + label + dashes
}

/// How far a block without a footer goes: base64 runs with at most a few line breaks, quotes, escapes and diff marks between.
fn body_length(rest: &[u8]) -> usize {
    let (mut end, mut at) = (0, 0);
    while at < rest.len() {
        let between = rest[at..]
            .iter()
            .take_while(|b| b"\r\n\t \\\"',+-|>".contains(b))
            .count();
        if between > 16 {
            break;
        }
        at += between;
        // The letter of an escape (`\n`) is part of the run behind it, which does no harm. A short last line is not a word of prose.
        let run = rest[at..].iter().take_while(|b| is_base64(**b)).count();
        let word = rest[at..at + run].iter().all(u8::is_ascii_lowercase);
        if run == 0 || run < 16 && word {
            break;
        }
        at += run;
        end = at;
    }
    end
}

fn has_body(body: &[u8]) -> bool {
    let mut run = 0;
    body.iter().any(|b| {
        run = if is_base64(*b) { run + 1 } else { 0 };
        run >= BODY
    })
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn floor_char(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
