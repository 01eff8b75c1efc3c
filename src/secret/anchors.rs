//! Which rules may have anything to find in a text: one pass over it for the anchors of all rules, each with a cheap look at what stands
//! around it. A word like `token` is in every program; that a value follows is not, and an expression costs half a millisecond to build.
//! No automaton either: that of a hundred short words costs as much, and a text is read in a fraction of it.

use std::ops::Range;

use super::rules::{RULES, Rule};

/// All anchors of all rules, the block header and the environment's values.
pub(super) struct Anchors {
    words: Vec<Word>,
    /// Whether any word begins with these two bytes, both in lower case.
    pairs: Vec<bool>,
    /// The words that begin with this byte.
    by_first: Vec<Vec<usize>>,
}

struct Word {
    /// In lower case.
    text: Vec<u8>,
    meaning: Meaning,
    near: Near,
}

/// What an anchor's presence means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Rule(usize),
    PrivateKey,
    Environment,
}

/// Can the rule match here? Given what stands before and after the anchor. A no must be certain.
type Near = fn(&[u8], &[u8]) -> bool;

impl Anchors {
    pub(super) fn new(environment: Vec<String>) -> Self {
        let of_rule = |(at, rule): (usize, &'static Rule)| {
            rule.anchors.iter().map(move |anchor| Word {
                text: anchor.as_bytes().to_vec(),
                meaning: Meaning::Rule(at),
                near: near(rule.name, anchor),
            })
        };
        let mut words: Vec<_> = RULES.iter().enumerate().flat_map(of_rule).collect();
        let anywhere = |text: Vec<u8>, meaning| Word {
            text,
            meaning,
            near: always,
        };
        words.push(anywhere(b"private key".to_vec(), Meaning::PrivateKey));
        words.extend(environment.into_iter().map(|value| {
            anywhere(
                value.to_ascii_lowercase().into_bytes(),
                Meaning::Environment,
            )
        }));
        let mut anchors = Self {
            words,
            pairs: vec![false; 1 << 16],
            by_first: vec![Vec::new(); 256],
        };
        for (at, word) in anchors
            .words
            .iter()
            .enumerate()
            .filter(|(_, word)| word.text.len() > 1)
        {
            anchors.pairs[pair(word.text[0], word.text[1])] = true;
            anchors.by_first[usize::from(word.text[0])].push(at);
        }
        anchors
    }

    /// Every anchor of `text` behind which its rule may match, in the order of the text.
    pub(super) fn hits(&self, text: &[u8], mut hit: impl FnMut(Meaning, Range<usize>)) {
        let mut before = match text.first() {
            Some(byte) => byte.to_ascii_lowercase(),
            None => return,
        };
        for (at, byte) in text.iter().enumerate().skip(1) {
            let byte = byte.to_ascii_lowercase();
            let first = std::mem::replace(&mut before, byte);
            if !self.pairs[pair(first, byte)] {
                continue;
            }
            let start = at - 1;
            for word in self.by_first[usize::from(first)]
                .iter()
                .map(|word| &self.words[*word])
            {
                let end = start + word.text.len();
                let is_here = text
                    .get(start..end)
                    .is_some_and(|here| here.eq_ignore_ascii_case(&word.text));
                if is_here && (word.near)(&text[..start], &text[end..]) {
                    hit(word.meaning, start..end);
                }
            }
        }
    }
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

/// The look around an anchor that is part of common words.
fn near(rule: &str, anchor: &str) -> Near {
    match (rule, anchor) {
        ("assignment", _) => |_, after| is_assigned(after),
        ("option", _) => |before, after| is_option(before) && takes_value(after),
        ("url-password", _) => |_, after| has_password(after),
        ("aws-access-key", _) => {
            |_, after| run(after, 16, |b| b.is_ascii_uppercase() || b.is_ascii_digit()) == 16
        }
        ("aws-secret-key", _) => |_, after| names_secret(after),
        ("crates-token", _) => |_, after| run(after, 32, |b| b.is_ascii_alphanumeric()) == 32,
        ("twilio-key" | "mailgun-key", _) => {
            |_, after| run(after, 32, |b| b.is_ascii_hexdigit()) == 32
        }
        ("sendgrid-key", _) => |_, after| run(after, 16, is_word) == 16,
        ("stripe-key", "sk_" | "rk_") => |_, after| {
            [&b"live_"[..], b"test_", b"prod_"]
                .iter()
                .any(|kind| after.starts_with(kind))
        },
        ("openai-key", _) => |_, after| {
            [&b"proj-"[..], b"svcacct-", b"admin-", b"None-"]
                .iter()
                .any(|kind| after.starts_with(kind))
                || run(after, 32, |b| b.is_ascii_alphanumeric()) == 32
        },
        ("netrc-password", _) => |_, after| after.first().is_some_and(|byte| is_blank(*byte)),
        _ => always,
    }
}

fn always(_: &[u8], _: &[u8]) -> bool {
    true
}

/// How many of the first `max` bytes are of a kind, up to the first that is not.
fn run(text: &[u8], max: usize, kind: fn(u8) -> bool) -> usize {
    text.iter()
        .take(max)
        .take_while(|byte| kind(**byte))
        .count()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// What `\s` is in the expressions.
fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'\x0b'
}

/// The rest of a name, quotes or brackets, blanks, then `=` or `:`.
fn is_assigned(after: &[u8]) -> bool {
    let skip = |text: &[u8], kind: fn(u8) -> bool| {
        text.iter()
            .position(|byte| !kind(*byte))
            .unwrap_or(text.len())
    };
    let at = skip(&after[..after.len().min(48)], |b| is_word(b) || b == b'.');
    let at = at
        + skip(&after[at..], |b| {
            matches!(b, b'\\' | b'"' | b'\'' | b'`' | b']')
        });
    let at = at + skip(&after[at..], |b| matches!(b, b' ' | b'\t'));
    matches!(after.get(at), Some(b'=' | b':'))
}

/// The word that ends here begins with a dash, behind a blank or at the start.
fn is_option(before: &[u8]) -> bool {
    let word = before
        .iter()
        .rev()
        .take(32)
        .take_while(|byte| is_word(**byte))
        .count();
    let start = before.len() - word;
    before.get(start) == Some(&b'-') && (start == 0 || is_blank(before[start - 1]))
}

/// The rest of the word, a blank, then more.
fn takes_value(after: &[u8]) -> bool {
    let at = run(after, 32, is_word);
    after.get(at).is_some_and(|byte| is_blank(*byte))
}

/// `user:password@` before anything that ends the authority of a URL.
fn has_password(after: &[u8]) -> bool {
    let ends = |byte: &u8| is_blank(*byte) || b"/?#@\"'`<>\\".contains(byte);
    let user = after
        .iter()
        .take(129)
        .position(|byte| ends(byte) || *byte == b':');
    let Some(colon) = user.filter(|at| after[*at] == b':') else {
        return false;
    };
    let password = &after[colon + 1..];
    password
        .iter()
        .take(257)
        .position(ends)
        .is_some_and(|end| password[end] == b'@')
}

/// `secret` or `sk` further on in the same name.
fn names_secret(after: &[u8]) -> bool {
    let name = &after[..run(after, 32, |b| is_word(b) || b == b'.')];
    let has = |word: &[u8]| {
        name.windows(word.len())
            .any(|part| part.eq_ignore_ascii_case(word))
    };
    has(b"sk") || has(b"secret")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::expression;
    use super::*;

    fn wanted(text: &str) -> Vec<usize> {
        let mut wanted = Vec::new();
        Anchors::new(Vec::new()).hits(text.as_bytes(), |meaning, _| {
            if let Meaning::Rule(rule) = meaning {
                wanted.push(rule);
            }
        });
        wanted
    }

    #[test]
    fn words_of_every_program_build_nothing() {
        for text in [
            "let token is next();".to_owned(),
            "--- a/src/token.rs\n+++ b/src/token.rs\n".to_owned(),
            "// ask the disk; a task-list of asian precious msg.text, see https://example.org:8080/x".to_owned(),
            "aws laws machinery task_list risk_level".to_owned(),
        ] {
            assert!(wanted(&text).is_empty(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Where an expression matches, its rule is wanted: the look around an anchor never hides a secret.
        #[test]
        fn the_look_around_an_anchor_is_never_wrong(parts in prop_oneof![named(), option(), prefixed(), place()]) {
            let text = parts.concat();
            let wanted = wanted(&text);
            for (at, rule) in RULES.iter().enumerate() {
                let anchored = rule.anchors.iter().any(|anchor| text.to_ascii_lowercase().contains(anchor));
                if anchored && expression(at).is_match(text.as_bytes()) {
                    prop_assert!(wanted.contains(&at), "{}: {:?}", rule.name, text);
                }
            }
        }
    }

    type Parts = Vec<&'static str>;

    fn one_of(parts: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
        prop::sample::select(parts)
    }

    const BLANK: &[&str] = &["", "", " ", "  ", "\t", "\n", "\u{b}"];
    const QUOTE: &[&str] = &[
        "", "", "\"", "'", "\\\"", "\\\\'", "`", "]", "\"]", "u\"", "b'",
    ];
    const VALUE: &[&str] = &[
        "A1b2C3d4E5f6G7h8I9j0",
        "0123456789abcdef0123456789abcdef",
        "AAAAAAAAAAAAAAAA",
        "aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3",
        "short",
    ];

    /// `NAME = value`, `--name value`.
    fn named() -> impl Strategy<Value = Parts> {
        (
            one_of(&[
                "", "x", "\n", " ", "-", " -", " --", "\t--db-", "--", " --x ",
            ]),
            one_of(&[
                "token",
                "SECRET",
                "password",
                "passphrase",
                "api_key",
                "apikey",
                "api-key",
                "ACCESS_KEY",
                "auth_key",
                "private_key",
                "aws",
                "AWS_",
            ]),
            one_of(&[
                "",
                "",
                "s",
                "_value",
                ".name",
                "-x",
                "[0",
                "_secret_access_key",
                "sk",
            ]),
            one_of(QUOTE),
            one_of(BLANK),
            one_of(&["=", ":", "=>", ":=", "", "is"]),
            one_of(BLANK),
            one_of(QUOTE),
            one_of(VALUE),
        )
            .prop_map(|(a, b, c, d, e, f, g, h, i)| vec![a, b, c, d, e, f, g, h, i])
    }

    /// `-name value`.
    fn option() -> impl Strategy<Value = Parts> {
        (
            one_of(&["", " ", "\n", "x"]),
            one_of(&["-", "--", "---", ""]),
            one_of(&["", "", "db-", "x_y-", "a-very-long-name-of-it-"]),
            one_of(&["token", "SECRET", "passwd", "api-key", "apikey"]),
            one_of(&["", "", "s", "-file"]),
            one_of(BLANK),
            one_of(&["", "\"", "'"]),
            one_of(VALUE),
        )
            .prop_map(|(a, b, c, d, e, f, g, h)| vec![a, b, c, d, e, f, g, h])
    }

    /// A vendor's prefix and what may follow.
    fn prefixed() -> impl Strategy<Value = Parts> {
        (
            one_of(&["", " ", "x", "\\n", "=", "\u{1b}[31m"]),
            one_of(&[
                "AKIA",
                "asia",
                "ASIA",
                "cio",
                "SK",
                "sk_",
                "rk_",
                "sk-",
                "key-",
                "SG.",
                "ghp_",
                "glpat-",
                "Bearer ",
                "authorization: ",
            ]),
            one_of(&["", "live_", "test_", "proj-", "admin-"]),
            one_of(VALUE),
            one_of(&["", ".", "-", " "]),
            one_of(VALUE),
        )
            .prop_map(|(a, b, c, d, e, f)| vec![a, b, c, d, e, f])
    }

    /// A password in a URL, or in a netrc.
    fn place() -> impl Strategy<Value = Parts> {
        (
            one_of(&["https://", "ssh://", "://", "machine ", "machine\thost"]),
            one_of(&["", "user", "us.er", "host login me"]),
            one_of(&[":", "", " login x", "/", " "]),
            one_of(&[
                "pa55word",
                "hunter2",
                "p:w",
                " password hunter2hunter2",
                "@",
            ]),
            one_of(&["@", "/", "", " "]),
            one_of(&["host", "[::1]", ""]),
        )
            .prop_map(|(a, b, c, d, e, f)| vec![a, b, c, d, e, f])
    }
}
