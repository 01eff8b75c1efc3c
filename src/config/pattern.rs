//! The regular expressions of `[[dod]]` items: JavaScript's, without flags, on an engine that runs in linear time. It translates one source
//! text to the `regex` crate's dialect, and knows no item and no file.
//!
//! What differs from JavaScript, by choice: lookaround and back-references are errors (they have no linear time), and so are escapes
//! that JavaScript reads as a plain letter (`\A`, `\z`, `\p`), as nobody means that. A character is a code point, not half of one. What
//! is the same, and differs from the engine's own dialect: `$` is the end of the text alone, `.` stops at LF, CR, U+2028 and U+2029, `\d`, `\w`
//! and `\b` are ASCII, `\s` is JavaScript's set, `[]` matches nothing and `[^]` anything, `{` that counts nothing is itself.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use regex::bytes::Regex;

/// A pattern that compiled.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(Regex);

/// Insides of a class: JavaScript's `\d`, `\w`, `\s`.
const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str = r"\t\n\x0B\x0C\r\x20\xA0\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}";

impl Pattern {
    /// # Errors
    /// With what is wrong, for a sentence that begins with the pattern.
    pub(crate) fn new(source: &str) -> Result<Self, String> {
        if source.is_empty() {
            return Err("is empty: it would be in every file".to_owned());
        }
        let translated = Translator::new(source).whole()?;
        Regex::new(&translated).map(Self).map_err(|e| match e {
            regex::Error::CompiledTooBig(limit) => {
                format!("is too large: compiled, it takes more than {limit} bytes")
            }
            // The crate's message is a drawing of many lines under the translated text; its last line is the reason.
            other => format!(
                "is a bad pattern: {}",
                other
                    .to_string()
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .trim_start_matches("error: ")
            ),
        })
    }

    /// Is the pattern anywhere in `bytes`? What is not UTF-8 is looked at a second time with each byte as the character of its number, so that
    /// `\xFF` finds the byte and `.` passes over it.
    pub(crate) fn is_match(&self, bytes: &[u8]) -> bool {
        self.0.is_match(bytes)
            || std::str::from_utf8(bytes).is_err() && {
                let latin: String = bytes.iter().copied().map(char::from).collect();
                self.0.is_match(latin.as_bytes())
            }
    }
}

/// What the last thing was, for a quantifier behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Atom,
    Quantifier,
}

struct Translator<'a> {
    left: Peekable<Chars<'a>>,
    out: String,
    last: Last,
    depth: usize,
}

/// An escape, read.
enum Escape {
    Char(char),
    /// The inside of a class, and whether it is everything else.
    Set(&'static str, bool),
    /// `\b`, `\B`.
    Boundary(char),
}

impl<'a> Translator<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            left: source.chars().peekable(),
            out: String::new(),
            last: Last::Nothing,
            depth: 0,
        }
    }

    fn whole(mut self) -> Result<String, String> {
        while let Some(c) = self.left.next() {
            match c {
                '^' => self.put(r"\A", Last::Nothing),
                '$' => self.put(r"\z", Last::Nothing),
                '|' => self.put("|", Last::Nothing),
                '.' => self.put(r"[^\n\r\x{2028}\x{2029}]", Last::Atom),
                '(' => self.open()?,
                ')' if self.depth == 0 => return Err("has a ) too many".to_owned()),
                ')' => {
                    self.depth -= 1;
                    self.put(")", Last::Atom);
                }
                '[' => self.class()?,
                '*' | '+' | '?' => self.quantifier(&c.to_string())?,
                '{' => match self.counted() {
                    Some(count) => self.quantifier(&count)?,
                    None => self.literal('{'),
                },
                '\\' => match self.escape()? {
                    Escape::Char(c) => self.literal(c),
                    Escape::Set(inside, false) => self.put(&format!("[{inside}]"), Last::Atom),
                    Escape::Set(inside, true) => self.put(&format!("[^{inside}]"), Last::Atom),
                    Escape::Boundary(b) => self.put(&format!(r"(?-u:\{b})"), Last::Nothing),
                },
                c => self.literal(c),
            }
        }
        if self.depth > 0 {
            return Err("has a ( that is not closed".to_owned());
        }
        Ok(self.out)
    }

    fn put(&mut self, text: &str, last: Last) {
        self.out.push_str(text);
        self.last = last;
    }

    fn literal(&mut self, c: char) {
        let _ = write!(self.out, r"\x{{{:X}}}", u32::from(c));
        self.last = Last::Atom;
    }

    /// A group; nothing here needs to know what it captured.
    fn open(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.left.next_if_eq(&'?').is_some() {
            match (self.left.next(), self.left.peek()) {
                (Some(':'), _) => {}
                (Some('=' | '!'), _) | (Some('<'), Some('=' | '!')) => {
                    return Err(
                        "looks ahead or behind, which has no linear time: say it without (?= (?! (?<= (?<!"
                            .to_owned(),
                    );
                }
                (Some('<'), _) => {
                    let name: String = self.left.by_ref().take_while(|c| *c != '>').collect();
                    if name.is_empty() {
                        return Err("has a group with an empty name".to_owned());
                    }
                }
                (other, _) => {
                    let other = other.map(String::from).unwrap_or_default();
                    return Err(format!("has (?{other}, which is not supported"));
                }
            }
        }
        self.put("(?:", Last::Nothing);
        Ok(())
    }

    fn quantifier(&mut self, text: &str) -> Result<(), String> {
        if self.last != Last::Atom {
            return Err(format!("has nothing to repeat before {text}"));
        }
        self.out.push_str(text);
        // Lazy: the answer is the same.
        if self.left.next_if_eq(&'?').is_some() {
            self.out.push('?');
        }
        self.last = Last::Quantifier;
        Ok(())
    }

    /// `{3}`, `{3,}`, `{3,5}` after its `{`, or nothing taken: then the `{` is itself.
    fn counted(&mut self) -> Option<String> {
        let mut ahead = self.left.clone();
        let inside: String = ahead.by_ref().take_while(|c| *c != '}').collect();
        let closed = self.left.clone().any(|c| c == '}');
        let (low, high) = inside
            .split_once(',')
            .unwrap_or((inside.as_str(), inside.as_str()));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if !closed || low.is_empty() || !digits(low) || !digits(high) {
            return None;
        }
        self.left = ahead;
        Some(format!("{{{inside}}}"))
    }

    fn escape(&mut self) -> Result<Escape, String> {
        let Some(c) = self.left.next() else {
            return Err(r"ends with a \".to_owned());
        };
        Ok(match c {
            'd' | 'D' => Escape::Set(DIGIT, c == 'D'),
            'w' | 'W' => Escape::Set(WORD, c == 'W'),
            's' | 'S' => Escape::Set(SPACE, c == 'S'),
            'b' | 'B' => Escape::Boundary(c),
            't' => Escape::Char('\t'),
            'n' => Escape::Char('\n'),
            'r' => Escape::Char('\r'),
            'v' => Escape::Char('\u{b}'),
            'f' => Escape::Char('\u{c}'),
            '0' if !self.left.peek().is_some_and(char::is_ascii_digit) => Escape::Char('\0'),
            '0'..='9' | 'k' => {
                return Err(format!(
                    r"has \{c}, a back-reference or an octal number, which is not supported"
                ));
            }
            'c' => match self.left.next() {
                Some(letter) if letter.is_ascii_alphabetic() => {
                    Escape::Char(char::from(u8::try_from(letter).unwrap_or_default() & 31))
                }
                _ => return Err(r"has \c without a letter".to_owned()),
            },
            'x' => Escape::Char(
                self.number(2)
                    .and_then(char::from_u32)
                    .ok_or(r"has \x without two hexadecimal digits")?,
            ),
            'u' => Escape::Char(self.unicode()?),
            c if c.is_ascii_alphabetic() => {
                return Err(format!(r"has \{c}, which means nothing in JavaScript"));
            }
            c => Escape::Char(c),
        })
    }

    /// `\uXXXX` after its `u`, or two of them that are one character.
    fn unicode(&mut self) -> Result<char, String> {
        const WRONG: &str = r"has \u without four hexadecimal digits of a character";
        let first = self.number(4).ok_or(WRONG)?;
        if !(0xD800..0xDC00).contains(&first) {
            return Ok(char::from_u32(first).ok_or(WRONG)?);
        }
        let second = (self.left.next() == Some('\\') && self.left.next() == Some('u'))
            .then(|| self.number(4))
            .flatten()
            .filter(|unit| (0xDC00..0xE000).contains(unit))
            .ok_or(WRONG)?;
        let point = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        Ok(char::from_u32(point).ok_or(WRONG)?)
    }

    fn number(&mut self, digits: usize) -> Option<u32> {
        let mut number = 0;
        for _ in 0..digits {
            number = number * 16 + self.left.next()?.to_digit(16)?;
        }
        Some(number)
    }

    /// `[...]` after its `[`.
    fn class(&mut self) -> Result<(), String> {
        let negated = self.left.next_if_eq(&'^').is_some();
        let mut inside = String::new();
        loop {
            let low = match self.member()? {
                None => break,
                Some(Escape::Char(c)) => c,
                Some(set) => {
                    push_set(&mut inside, &set);
                    continue;
                }
            };
            let mut ahead = self.left.clone();
            let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']');
            if !is_range {
                push_range(&mut inside, low, low);
                continue;
            }
            self.left.next();
            match self.member()? {
                Some(Escape::Char(high)) if high >= low => push_range(&mut inside, low, high),
                Some(Escape::Char(high)) => {
                    return Err(format!("has a range out of order: {low}-{high}"));
                }
                Some(set) => {
                    // `[a-\d]`: the three of them, by JavaScript's old rule.
                    push_range(&mut inside, low, low);
                    push_range(&mut inside, '-', '-');
                    push_set(&mut inside, &set);
                }
                None => return Err("has a [ that is not closed".to_owned()),
            }
        }
        let class = match (inside.is_empty(), negated) {
            (true, false) => r"[^\x{0}-\x{10FFFF}]".to_owned(),
            (true, true) => r"[\x{0}-\x{10FFFF}]".to_owned(),
            (false, false) => format!("[{inside}]"),
            (false, true) => format!("[^{inside}]"),
        };
        self.put(&class, Last::Atom);
        Ok(())
    }

    /// The next member of a class; none at its end.
    fn member(&mut self) -> Result<Option<Escape>, String> {
        Ok(match self.left.next() {
            None => return Err("has a [ that is not closed".to_owned()),
            Some(']') => None,
            Some('\\') => Some(match self.escape()? {
                Escape::Boundary('b') => Escape::Char('\u{8}'),
                Escape::Boundary(_) => return Err(r"has \B in a class".to_owned()),
                other => other,
            }),
            Some(c) => Some(Escape::Char(c)),
        })
    }
}

fn push_range(inside: &mut String, low: char, high: char) {
    let _ = write!(
        inside,
        r"\x{{{:X}}}-\x{{{:X}}}",
        u32::from(low),
        u32::from(high)
    );
}

fn push_set(inside: &mut String, set: &Escape) {
    match set {
        Escape::Set(set, false) => inside.push_str(set),
        Escape::Set(set, true) => {
            let _ = write!(inside, "[^{set}]");
        }
        Escape::Char(_) | Escape::Boundary(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn found(pattern: &str, text: impl AsRef<[u8]>) -> bool {
        Pattern::new(pattern)
            .unwrap_or_else(|e| panic!("{pattern} {e}"))
            .is_match(text.as_ref())
    }

    /// Each line was tried in Node: `new RegExp(pattern).test(text)`.
    #[test]
    fn patterns_mean_what_they_mean_in_javascript() {
        for (pattern, yes, no) in [
            ("^a", "ab\n", "b\na"),
            ("a$", "ba", "a\n"),
            ("a.b", "a\u{85}b", "a\nb"),
            ("a.b", "a\u{b}b", "a\rb"),
            ("a.b", "aéb", "a\u{2028}b"),
            ("a.b", "a-b", "a\u{2029}b"),
            (r"\d", "7", "٣"),
            (r"\D", "٣", "7"),
            (r"\w", "_", "é"),
            (r"\W", "é", "e"),
            (r"a\sb", "a\u{feff}b", "a\u{85}b"),
            (r"a\sb", "a\u{a0}b", "a\u{180e}b"),
            (r"a\Sb", "axb", "a\u{3000}b"),
            // A word ends at é, as the word set is ASCII.
            (r"caf\b", "café", "cafe"),
            (r"caf\B", "cafe", "café"),
            (r"[\w-]+=", "-=", "é="),
            (r"^[\D]$", "x", "7"),
            (r"^[^\s\d]$", "x", "7"),
            (r"^[a-\d]+$", "a-7", "b"),
            (r"[\b]", "\u{8}", "b"),
            ("[^]", "\n", ""),
            ("a[]?b", "ab", "axb"),
            ("^[&&~~-]+$", "&~-", "a"),
            ("^[[a]+$", "[a", "]"),
            ("a{,3}", "a{,3}", "aaa"),
            ("a{2,3}b", "aab", "ab"),
            ("^a{2}$", "aa", "a{2}"),
            ("x{y}", "x{y}", "xy"),
            ("a]b}", "a]b}", "ab"),
            (r"a\/b\.c", "a/b.c", "a/bxc"),
            (r"\x41é", "Aé", "aé"),
            (r"\uD83D\uDE00|é", "😀", "😁"),
            (r"\cJ\0", "\n\0", "J0"),
            ("(?<year>\\d{4})-(?:x|)", "2026-", "26-"),
            ("a+?b*?c??d", "ad", "bd"),
            ("#  x", "#  x", "#x"),
            ("a|", "anything", "\u{1}\u{2}"),
        ] {
            assert!(found(pattern, yes), "{pattern} in {yes:?}");
            // Of an empty alternative only the yes can be asked.
            assert!(
                pattern == "a|" || !found(pattern, no),
                "{pattern} not in {no:?}"
            );
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_searched_as_bytes() {
        assert!(found("KEY=[A-Z]+", b"\xff\xfe\0KEY=ABC\x80"));
        assert!(found(r"\xff\xfe", b"\0\xff\xfe\0"));
        assert!(found("a.b", b"a\x80b"));
        assert!(!found("a.b", b"a\nb\x80"));
        // A text is never read as bytes: é is one character, not the two of its encoding.
        assert!(!found(r"\xC3", "é"));
    }

    #[test]
    fn what_is_not_supported_says_why() {
        for (pattern, why) in [
            ("", "is empty: it would be in every file"),
            ("a(?=b)", "looks ahead or behind"),
            ("a(?!b)", "looks ahead or behind"),
            ("(?<=a)b", "looks ahead or behind"),
            ("(?<!a)b", "looks ahead or behind"),
            (r"(a)\1", r"has \1, a back-reference"),
            (r"(?<n>a)\k<n>", r"has \k, a back-reference"),
            (r"\012", r"has \0, a back-reference or an octal number"),
            ("(?i)a", "has (?i, which is not supported"),
            (r"\Aa", r"has \A, which means nothing in JavaScript"),
            (r"\p{L}", r"has \p, which means nothing"),
            (r"\u{1F600}", r"has \u without four"),
            (r"\uD83D", r"has \u without four"),
            (r"\xg1", r"has \x without two"),
            (r"\c1", r"has \c without a letter"),
            ("a**", "has nothing to repeat before *"),
            ("^*", "has nothing to repeat before *"),
            ("{3}", "has nothing to repeat before {3}"),
            ("+", "has nothing to repeat before +"),
            ("(a", "has a ( that is not closed"),
            ("a)", "has a ) too many"),
            ("[a", "has a [ that is not closed"),
            ("[a-", "has a [ that is not closed"),
            ("[z-a]", "has a range out of order: z-a"),
            ("a\\", r"ends with a \"),
            ("(?<>a)", "has a group with an empty name"),
            ("a{3,1}", "is a bad pattern: "),
            (
                "(a{1000}){1000}",
                "is too large: compiled, it takes more than",
            ),
        ] {
            let error = Pattern::new(pattern).err().unwrap_or_default();
            assert!(error.starts_with(why), "{pattern}: {error}");
            assert_eq!(error.lines().count(), 1, "{pattern}: {error}");
        }
    }

    #[test]
    fn a_pattern_that_others_never_finish_is_done_at_once() {
        let text = "a".repeat(100_000);
        assert!(!found("^(a+)+$b", &text));
        assert!(!found("(x+x+)+y", "x".repeat(100_000)));
    }
}
