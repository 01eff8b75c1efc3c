//! What stays of a line when everything is taken out that differs between two runs of one failure: colours, times, addresses, ids, paths
//! and positions. Pure text to text.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A line without escape sequences, and without what a progress display overwrote.
pub(super) fn plain(line: &str) -> String {
    let clean = if line.contains('\u{1b}') {
        anstream::adapter::strip_str(line).to_string()
    } else {
        line.to_owned()
    };
    let clean = clean.trim_end_matches('\r');
    let shown = clean.rsplit('\r').next().unwrap_or(clean);
    shown
        .replace(['\u{2018}', '\u{2019}'], "'")
        .trim_end()
        .to_owned()
}

/// A free line: every number goes too.
pub(super) fn line(text: &str) -> String {
    squeezed(&numbers(&volatile(text), 1))
}

/// The message of a diagnostic: its numbers say what is wrong (`expected 2 arguments`), so only long ones go.
pub(super) fn message(text: &str) -> String {
    squeezed(&numbers(&volatile(text), 5))
}

/// The name of a test: short numbers belong to it.
pub(super) fn name(text: &str) -> String {
    static TAIL: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\s*(?:[(\[]\s*<?[\d.,]+\s*(?:ns|µs|us|ms|s|sec|secs|seconds|m|min|%)\s*[)\]]|\s(?:in )?[\d.,]+\s?(?:ns|µs|us|ms|s|sec|seconds)|\(line \d+\)|- should panic)\s*$",
        )
    });
    let mut rest = text.trim();
    while let Some(found) = TAIL.find(rest) {
        rest = &rest[..found.start()];
    }
    squeezed(&numbers(&volatile(rest), 4))
}

/// The last part of a path: where a tool was started from does not change what it complains about.
pub(super) fn file(path: &str) -> String {
    let path = path.trim_start_matches("file://");
    let last = path
        .trim_end_matches('/')
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or(path);
    volatile(last)
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Takes out what is random by its shape.
fn volatile(text: &str) -> String {
    static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            (r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
            // 2026-11-30T11:43:28.435Z, 2026-11-30 11:43:26,282, 30/Nov/2026:11:43:26 +0100
            (r"\b\d{4}[-/]\d\d?[-/]\d\d?(?:[T ]\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s?(?:Z|UTC|[+-]\d\d:?\d\d))?)?", "<time>"),
            (r"\b\d{1,2}/[A-Z][a-z]{2}/\d{4}(?::\d\d:\d\d:\d\d(?: [+-]\d{4})?)?", "<time>"),
            (r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}\d{1,2}(?:,? \d\d:\d\d:\d\d)?(?:,? \d{4})?\b", "<time>"),
            (r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?:\s?[AP]M)?\b", "<time>"),
            (r"\b0x[0-9a-fA-F]+\b", "<addr>"),
            (r"@[0-9a-f]{5,16}\b", "@<addr>"),
            (r"\b\d+(?:\.\d+)?(?:e-?\d+)?\s?(?:ns|µs|us|ms|s|secs?|seconds?|mins?|minutes?|hours?)\b(?:\s?\d+(?:\.\d+)?\s?(?:ms|s|secs?|seconds?)\b)*", "<dur>"),
            (r"\b\d+[hm]\s?\d+(?:\.\d+)?[ms]\b", "<dur>"),
            (r"\b\d+(?:\.\d+)?\s?(?:[KMGT]i?B|bytes)\b", "<size>"),
            // Temporary places, wherever the system has them.
            (r#"(?:[A-Za-z]:)?[\\/](?:(?:private[\\/])?(?:tmp|var[\\/](?:tmp|folders))|dev[\\/]shm|Users[\\/][^\\/\s]+[\\/]AppData[\\/]Local[\\/]Temp)[\\/][^\s'"`:,;)\]>]+"#, "<tmp>"),
            (r"\btmp\.?[A-Za-z0-9_]{6,12}\b|(?:^|[\s/'])\.tmp[A-Za-z0-9]{6}\b", "<tmp>"),
        ]
        .map(|(pattern, with)| (regex(pattern), with))
        .into()
    });
    static HASH: LazyLock<Regex> = LazyLock::new(|| regex(r"\b[0-9a-f]{7,64}\b"));
    static PATH: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"(^|[\s'"`(=\[<:,])(?:file://)?(?:[A-Za-z]:)?(?:\.{0,2}/)(?:[^\s'"`:,;()\[\]<>]+/)+([^\s'"`:,;()\[\]<>/]+)"#,
        )
    });
    static RELATIVE: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(^|[^\w./-])(?:[\w@.-]+/)+([\w@-]+(?:\.[A-Za-z]\w{0,9})+)"));
    static POSITION: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"(\.[A-Za-z]\w{0,9})(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)|\[\d+(?:,\d+)?\])")
    });
    static LINE: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?i)\b(lines?|column|col|pid|process|port)([ :=#]+)\d+"));
    let mut text = text.to_owned();
    for (rule, with) in RULES.iter() {
        if let std::borrow::Cow::Owned(changed) = rule.replace_all(&text, *with) {
            text = changed;
        }
    }
    // A word of hexadecimal digits is an id only when it has both kinds.
    let is_id = |word: &str| {
        word.bytes().any(|b| b.is_ascii_digit()) && word.bytes().any(|b| b.is_ascii_alphabetic())
    };
    let text = HASH.replace_all(&text, |found: &Captures| {
        if is_id(&found[0]) {
            "<id>".to_owned()
        } else {
            found[0].to_owned()
        }
    });
    let text = PATH.replace_all(&text, "$1$2");
    let text = RELATIVE.replace_all(&text, "$1$2");
    let text = POSITION.replace_all(&text, "$1");
    LINE.replace_all(&text, "${1}${2}N").into_owned()
}

/// Puts `N` for numbers of at least `min` digits that stand alone (`E0308`, `i64` and `test_1` keep theirs), sign and fraction included.
fn numbers(text: &str, min: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let word_before = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
        if !chars[at].is_ascii_digit() || word_before {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        let start = at;
        while at < chars.len() && chars[at].is_ascii_digit() {
            at += 1;
        }
        let digits = at - start;
        while at + 1 < chars.len() && chars[at] == '.' && chars[at + 1].is_ascii_digit() {
            at += 1;
            while at < chars.len() && chars[at].is_ascii_digit() {
                at += 1;
            }
        }
        if digits < min {
            out.extend(&chars[start..at]);
            continue;
        }
        let signed = out.ends_with('-')
            && (out.len() == 1 || out[..out.len() - 1].ends_with([' ', '(', '[', ',', '=', ':']));
        if signed {
            out.pop();
        }
        out.push('N');
    }
    out
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of ours compiles")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_runs_goes() {
        for (one, two) in [
            (
                "got -1, want 9 in worker-9235",
                "got 4, want 9 in worker-3187",
            ),
            ("record at 0x5557c37912a0", "record at 0x55c1ce5382a0"),
            (
                "after 209.173551ms at 2026-11-30T11:48:32.047Z",
                "after 1.5s at 2027-01-02T01:02:03Z",
            ),
            (
                "2026-11-30 11:43:26,282 9693 using <Store object at 0x7f>",
                "2026-11-30 11:43:27,1 12 using <Store object at 0x8f>",
            ),
            (
                "scratch kept in /tmp/case-JmAajx: bad",
                "scratch kept in /tmp/case-goVQB4: bad",
            ),
            (
                "request 96e885c6-2efa-4891-9b77-44f847984082",
                "request c40888b4-756a-4e28-93b3-5d863562218b",
            ),
            ("/ws/src/main.rs:10:48 failed", "src/main.rs:11:2 failed"),
            (
                "java.lang.Object@1b2c3d4 leaked",
                "java.lang.Object@5f6a7b8 leaked",
            ),
            (
                "could not reach 127.0.0.1:34567",
                "could not reach 127.0.0.1:45678",
            ),
            (
                "/var/folders/x1/abc/T/tmp9f/x.db is locked",
                "/var/folders/zz/q/T/tmpq/x.db is locked",
            ),
            ("commit 3f2a9b1 is bad", "commit 9c0d4e7 is bad"),
        ] {
            assert_eq!(line(&plain(one)), line(&plain(two)));
        }
    }

    #[test]
    fn what_tells_failures_apart_stays() {
        for (one, two) in [
            ("error E0308 in i64", "error E0382 in i64"),
            ("cannot find name 'a1'", "cannot find name 'a2'"),
            ("a.rs is bad", "b.rs is bad"),
        ] {
            assert_ne!(line(one), line(two));
        }
        assert_ne!(message("takes 2 arguments"), message("takes 3 arguments"));
        assert_ne!(name("test_x[1-2]"), name("test_x[1-3]"));
        assert_ne!(name("adds 2 numbers"), name("adds 3 numbers"));
    }

    #[test]
    fn colours_and_progress_go() {
        assert_eq!(
            plain(
                "\u{1b}[01m\u{1b}[Ksrc/a.c:6:13:\u{1b}[m\u{1b}[K \u{1b}[01;31m\u{1b}[Kerror: \u{1b}[m\u{1b}[Kx"
            ),
            "src/a.c:6:13: error: x"
        );
        assert_eq!(plain("10%\r50%\r100% done\r"), "100% done");
    }

    #[test]
    fn durations_behind_a_name_go() {
        for shown in [
            "adds (1.2ms)",
            "adds (0.00s)",
            "adds [0.12ms]",
            "adds 3ms",
            "adds in 0.1s",
            "adds [ 33%]",
        ] {
            assert_eq!(name(shown), "adds", "{shown}");
        }
    }
}
