//! Does a value look like a credential, or like code, prose or a placeholder? Asked only where a name or a place gave it away.

use super::rules::Candidate;

/// Bits per character below which a named value is no secret.
const MIN_ENTROPY: f64 = 3.5;
/// A named value must be longer than this.
const LONGER_THAN: usize = 16;

/// Shannon entropy in bits per byte.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let length = text.len() as f64;
    counts
        .iter()
        .filter(|n| **n > 0)
        .map(|n| f64::from(*n) / length)
        .map(|p| -p * p.log2())
        .sum()
}

pub(super) fn has_digit(found: &Candidate) -> bool {
    found.value().bytes().any(|b| b.is_ascii_digit())
}

pub(super) fn has_digit_and_both_cases(found: &Candidate) -> bool {
    let has = |kind: fn(&u8) -> bool| found.value().bytes().any(|b| kind(&b));
    has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
}

/// A password by its place (between `:` and `@` of a URL): anything but the words that documentation puts there.
pub(super) fn not_a_placeholder(found: &Candidate) -> bool {
    let value = found.value().to_ascii_lowercase();
    let word = value.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let stand_in = [
        "password",
        "passwd",
        "passw",
        "pass",
        "pwd",
        "pw",
        "secret",
        "token",
        "user",
        "username",
        "port",
        "key",
        "apikey",
        "api_key",
        "foo",
        "bar",
        "baz",
        "abc",
        "redacted",
        "credentials",
        "example",
        "xxx",
        "str",
    ];
    !(stand_in.contains(&word)
        || refers(&value)
        || value.bytes().all(|b| Some(&b) == value.as_bytes().first()))
}

/// The value of an `Authorization` header or of a bearer token.
pub(super) fn credential(found: &Candidate) -> bool {
    let value = found.value();
    let dense = value.bytes().any(|b| b.is_ascii_digit())
        || (value.len() >= 20 && mixes_cases(value) && !is_name_of_code(value));
    dense && entropy(value) > 2.5 && !refers(value) && !is_call(found) && !is_scheme(found)
}

/// Is it the header's scheme, with the credential still to come (`Authorization: AWS4-HMAC-SHA256 Credential=...`)?
fn is_scheme(found: &Candidate) -> bool {
    let first = found.text[..found.start].trim_end().ends_with([':', '=']);
    let more = found.text.as_bytes()[found.end..].strip_prefix(b" ");
    first && more.is_some_and(|more| more.first().is_some_and(u8::is_ascii_alphabetic))
}

/// The value given to a name that says secret, token, password or key.
pub(super) fn assigned(found: &Candidate) -> bool {
    let (value, text) = (found.value(), found.text.as_bytes());
    let quote = found
        .start
        .checked_sub(1)
        .map(|i| text[i])
        .filter(|b| matches!(b, b'"' | b'\'' | b'`'));
    let next = text.get(found.end).copied();
    let whole = match quote {
        // A string literal with more in it than the expression took is prose or a template.
        Some(quote) => next.is_none_or(|n| n == quote || n == b'\\'),
        None => next.is_none_or(|n| {
            n.is_ascii_whitespace()
                || n.is_ascii_control()
                || matches!(
                    n,
                    b'"' | b'\'' | b'`' | b'\\' | b',' | b';' | b'}' | b')' | b']' | b'<' | b'|'
                )
        }),
    };
    whole && is_secret_value(value, quote.is_some())
}

/// Length, entropy and looks of a named value alone; a `quoted` one is a literal, so that it cannot be a name of code.
pub(super) fn is_secret_value(value: &str, quoted: bool) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    value.len() > LONGER_THAN
        && digits > 0
        && letters > 0
        && entropy(value) > MIN_ENTROPY
        && !refers(value)
        && !is_path_or_url(value)
        && !value.starts_with("0x")
        && !(is_name_of_code(value) && (!quoted || digits < 3))
}

/// A reference to a value that is elsewhere, or a mark for one to be filled in.
fn refers(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.starts_with(['$', '%', '{', '<', '*'])
        || value.contains("${")
        || value.contains("{}")
        || [
            "xxxx",
            "****",
            "....",
            "your_",
            "your-",
            "placeholder",
            "changeme",
            "change_me",
            "redacted",
        ]
        .iter()
        .any(|mark| lower.contains(mark))
}

fn is_path_or_url(value: &str) -> bool {
    value.contains("://")
        || value.starts_with(['/', '.', '~'])
        || value.matches('/').count() > 2 && !value.contains(['+', '='])
}

/// A call, a path of code or a generic follows: `token = read_token2_from(`.
fn is_call(found: &Candidate) -> bool {
    matches!(
        found.text.as_bytes().get(found.end),
        Some(b'(' | b'<' | b'[')
    )
}

/// Is it built of words, as names in code are (`next_token2`, `http2.TokenKind`, `MAX-RETRY-3`)? Random text is not: its letters and digits,
/// or its cases, change every two or three characters.
fn is_name_of_code(value: &str) -> bool {
    let class = |b: u8| match b {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let (mut words, mut letters, mut before) = (0_usize, 0_usize, 3);
    for byte in value.bytes() {
        let class = class(byte);
        if !byte.is_ascii() || class == 3 && !b"_-.:/@*&=!#?~".contains(&byte) {
            return false;
        }
        letters += usize::from(class != 3);
        // `aB` begins a word and `Ab` goes on with it.
        words += usize::from(class != 3 && class != before && !(before == 1 && class == 0));
        before = class;
    }
    letters >= 3 * words
}

fn mixes_cases(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_lowercase()) && value.bytes().any(|b| b.is_ascii_uppercase())
}
