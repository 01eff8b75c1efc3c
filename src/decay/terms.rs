//! Text as terms: what counts as a word in prose, paths and code alike. It knows no weights and no history.

/// One term of a text: its key in every map, and where its surface stands in the text it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    /// A 64-bit hash: folding into a few thousand slots costs accuracy (collisions make foreign texts look alike).
    pub key: u64,
    pub start: usize,
    pub end: usize,
}

/// Calls `found` with each term of `text`: the parts of every run of ASCII letters, digits, `_` and `-`, split at case changes,
/// `_`, `-` and digit borders, without stop words and single characters, stemmed; and for a run of several parts also the joined whole,
/// in a key space of its own (`parse_url_path` and `parseURLPath` meet there, and with no word that merely looks alike).
pub(crate) fn each(text: &[u8], mut found: impl FnMut(Term)) {
    let mut word = Vec::with_capacity(32);
    let mut at = 0;
    while at < text.len() {
        if !is_run(text[at]) {
            at += 1;
            continue;
        }
        let run_start = at;
        let (mut parts, mut whole) = (0_usize, Fnv::new(b'w'));
        while at < text.len() && is_run(text[at]) {
            if matches!(text[at], b'_' | b'-') {
                at += 1;
                continue;
            }
            let end = part_end(text, at);
            parts += 1;
            word.clear();
            word.extend(text[at..end].iter().map(u8::to_ascii_lowercase));
            whole.write(&word);
            if word.len() > 1 && !is_stop_word(&word) {
                let mut key = Fnv::new(b't');
                key.write(stem(&word));
                found(Term {
                    key: key.finish(),
                    start: at,
                    end,
                });
            }
            at = end;
        }
        if parts > 1 {
            found(Term {
                key: whole.finish(),
                start: run_start,
                end: at,
            });
        }
    }
}

fn is_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Where the part that begins at `start` (a letter or digit) ends: `parse|URL|Path|2`.
fn part_end(text: &[u8], start: usize) -> usize {
    let at = |i: usize| text.get(i).copied().unwrap_or(0);
    let mut end = start + 1;
    if at(start).is_ascii_digit() {
        while at(end).is_ascii_digit() {
            end += 1;
        }
        return end;
    }
    if at(start).is_ascii_uppercase() && at(end).is_ascii_uppercase() {
        // An acronym ends before the capital that begins the next word.
        while at(end).is_ascii_uppercase() && !at(end + 1).is_ascii_lowercase() {
            end += 1;
        }
        return end;
    }
    while at(end).is_ascii_lowercase() {
        end += 1;
    }
    end
}

/// A word less one common English suffix, where three letters stay, and less a doubled last consonant (`running`, `run`).
fn stem(word: &[u8]) -> &[u8] {
    /// Longest first. No `er` or `ment`: `filter` and `comment` are words of their own, and `filtering` must meet `filter`.
    const SUFFIXES: [&[u8]; 17] = [
        b"ations", b"ating", b"ation", b"ated", b"ates", b"able", b"ings", b"ions", b"ate", b"ied",
        b"ies", b"ing", b"ion", b"ed", b"es", b"ly", b"e",
    ];
    if word[0].is_ascii_digit() {
        return word;
    }
    let cut = |suffix: &[u8]| word.strip_suffix(suffix).filter(|stem| stem.len() >= 3);
    let plural = || {
        if word.ends_with(b"ss") || word.ends_with(b"us") || word.ends_with(b"is") {
            None
        } else {
            cut(b"s")
        }
    };
    let stem = SUFFIXES
        .iter()
        .find_map(|s| cut(s))
        .or_else(plural)
        .or_else(|| cut(b"y"))
        .unwrap_or(word);
    match stem {
        [head @ .., a, b]
            if a == b && !matches!(b, b'a' | b'e' | b'i' | b'o' | b'u' | b'l' | b's') =>
        {
            &stem[..=head.len()]
        }
        _ => stem,
    }
}

/// Words that say nothing about what a text is about; sorted.
const STOP_WORDS: [&str; 118] = [
    "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "both", "but", "by", "can", "cannot", "could", "did",
    "do", "does", "doing", "done", "down", "each", "else", "even", "every", "few", "for", "from",
    "further", "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his", "how",
    "if", "in", "into", "is", "it", "its", "just", "like", "may", "might", "more", "most", "much",
    "must", "my", "no", "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other",
    "our", "out", "over", "own", "same", "shall", "she", "should", "so", "some", "such", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too",
    "under", "up", "us", "very", "via", "was", "we", "were", "what", "when", "where", "which",
    "while", "who", "why", "will", "with", "would", "you", "your",
];

fn is_stop_word(word: &[u8]) -> bool {
    STOP_WORDS
        .binary_search_by(|stop| stop.as_bytes().cmp(word))
        .is_ok()
}

/// FNV-1a, 64 bits: stable between versions and machines, as scores that are compared must be.
struct Fnv(u64);

impl Fnv {
    fn new(space: u8) -> Self {
        let mut hash = Self(0xcbf2_9ce4_8422_2325);
        hash.write(&[space]);
        hash
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        each(text.as_bytes(), |t| {
            out.push(text[t.start..t.end].to_owned());
        });
        out
    }

    fn keys(text: &str) -> Vec<u64> {
        let mut out = Vec::new();
        each(text.as_bytes(), |t| out.push(t.key));
        out
    }

    #[test]
    fn runs_split_at_case_digits_and_dashes_and_keep_the_whole() {
        assert_eq!(
            parts("parseURLPath"),
            ["parse", "URL", "Path", "parseURLPath"]
        );
        assert_eq!(parts("HTTPServer2"), ["HTTP", "Server", "HTTPServer2"]);
        assert_eq!(
            parts("utf8_text --dry-run x"),
            ["utf", "text", "utf8_text", "dry", "run", "--dry-run"]
        );
        assert_eq!(
            parts("snake_case; API"),
            ["snake", "case", "snake_case", "API"]
        );
    }

    #[test]
    fn the_whole_meets_its_other_spellings_and_no_plain_word() {
        let whole = |text: &str| *keys(text).last().unwrap();
        assert_eq!(whole("parseURLPath"), whole("parse_url_path"));
        assert_eq!(whole("parseURLPath"), whole("parse-url-path"));
        assert_ne!(whole("set-up"), whole("setup"));
    }

    #[test]
    fn words_of_one_family_share_a_stem() {
        for family in [
            &["parse", "parses", "parsed", "parsing"][..],
            &["run", "runs", "running"],
            &["filter", "filters", "filtering", "filtered"],
            &["class", "classes"],
            &["status", "statuses"],
            &["entry", "entries"],
            &["validate", "validation", "validated", "validating"],
            &["configure", "configuration"],
            &["add", "added", "adds"],
            &["key", "keys"],
        ] {
            let stems: Vec<_> = family.iter().map(|w| keys(w)).collect();
            assert!(stems.iter().all(|s| *s == stems[0]), "{family:?}");
        }
    }

    #[test]
    fn stop_words_and_single_characters_are_no_terms_and_the_list_is_sorted() {
        assert!(STOP_WORDS.is_sorted());
        assert!(parts("a b The of x 7 -- _").is_empty());
    }

    #[test]
    fn a_text_without_ascii_letters_has_no_terms() {
        assert!(parts("修复解析器中的错误 — ну да").is_empty());
        assert!(parts("").is_empty());
    }
}
