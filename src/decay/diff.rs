//! What a run did, read from `git diff --stat` and unified diffs: changed paths and lines with the weight each kind has for drift.
//! It reads any bytes: a diff may be cut anywhere, hold other diffs, binary files, or lines of any length. It knows no terms.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// Weight of a changed path (each once), of an added or removed line, and of a context line or the text after `@@`.
const PATH: f64 = 2.0;
const CHANGED: f64 = 1.0;
const CONTEXT: f64 = 0.5;

/// A longer line is generated or data: its head says what it is, its tail would only drown the rest.
const MAX_LINE: usize = 4 * 1024;
/// Past this much hunk text only paths are read, so that a vendored tree costs no more than a large change.
const MAX_HUNKS: usize = 8 * 1024 * 1024;

/// Calls `piece` with each weighted piece of text of a diff. Headers, `index` lines, modes and counts are no pieces.
/// Returns whether anything of a diff was recognised at all.
pub(crate) fn each_piece(diff: &[u8], mut piece: impl FnMut(f64, &[u8])) -> bool {
    let mut reader = Reader::default();
    let (mut budget, mut any) = (MAX_HUNKS, false);
    for line in diff.split(|b| *b == b'\n') {
        let Some((weight, text)) = reader.line(line) else {
            continue;
        };
        any = true;
        let text = &text[..text.len().min(MAX_LINE)];
        if let Some(left) = budget.checked_sub(text.len()) {
            budget = left;
            piece(weight, text);
        }
    }
    for path in reader.into_paths() {
        any = true;
        piece(PATH, &path);
    }
    any
}

/// Where the reader stands. Inside a hunk only the hunk's own counts say where it ends: its lines may look like any header.
#[derive(Default)]
struct Reader {
    hunk: Option<Hunk>,
    /// After `diff --git` and before its first hunk: the lines in which git names paths exactly.
    header: bool,
    /// The `--- ` path of a header that is only one if `+++ ` follows.
    old: Option<Vec<u8>>,
    /// The paths of a `diff --git` line, used when no exact line follows (mode changes, empty files, binary patches).
    guess: Vec<Vec<u8>>,
    stat_paths: Vec<Vec<u8>>,
    paths: BTreeSet<Vec<u8>>,
}

/// Lines that a hunk still has: one count for each old side (two or more in a merge's combined diff), and the new side.
struct Hunk {
    old: Vec<u64>,
    new: u64,
}

impl Reader {
    /// One line of the diff: the text to weigh, if it is in a hunk or on an `@@` line.
    fn line<'a>(&mut self, line: &'a [u8]) -> Option<(f64, &'a [u8])> {
        if let Some(hunk) = &mut self.hunk {
            match hunk.take(line) {
                Taken::Changed(text) => return Some((CHANGED, text)),
                Taken::Context(text) => return Some((CONTEXT, text)),
                Taken::Note => return None,
                Taken::Over => self.hunk = None,
            }
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let old = self.old.take();
        if let Some((hunk, heading)) = Hunk::parse(line) {
            self.hunk = Some(hunk);
            return Some((CONTEXT, heading));
        }
        if let Some(names) = line.strip_prefix(b"diff --git ") {
            self.end_header();
            self.header = true;
            self.guess = split_git_names(names);
        } else if let Some(name) = line
            .strip_prefix(b"diff --cc ")
            .or_else(|| line.strip_prefix(b"diff --combined "))
        {
            self.end_header();
            self.header = true;
            self.guess = vec![unquote(name).into_owned()];
        } else if let Some(name) = line.strip_prefix(b"--- ") {
            self.old = Some(header_path(name));
        } else if let Some(name) = line.strip_prefix(b"+++ ")
            && let Some(old) = old
        {
            self.exact(old);
            self.exact(header_path(name));
        } else if self.header {
            for word in [
                &b"rename from "[..],
                b"rename to ",
                b"copy from ",
                b"copy to ",
            ] {
                if let Some(name) = line.strip_prefix(word) {
                    self.exact(unquote(name).into_owned());
                }
            }
        } else {
            self.stat_paths.extend(stat_paths(line));
        }
        None
    }

    fn exact(&mut self, path: Vec<u8>) {
        self.guess.clear();
        if !path.is_empty() && path != b"/dev/null" {
            self.paths.insert(path);
        }
    }

    fn end_header(&mut self) {
        self.paths.extend(
            self.guess
                .drain(..)
                .filter(|p| !p.is_empty() && p != b"/dev/null"),
        );
    }

    /// Every changed path once. `--stat` shortens long names to `.../tail`: one that a full path ends in is that path.
    fn into_paths(mut self) -> BTreeSet<Vec<u8>> {
        self.end_header();
        let backwards = |path: &[u8]| path.iter().rev().copied().collect::<Vec<_>>();
        let endings: BTreeSet<_> = self.paths.iter().map(|p| backwards(p)).collect();
        for path in self.stat_paths {
            let Some(tail) = path.strip_prefix(b"...") else {
                self.paths.insert(path);
                continue;
            };
            let ending = backwards(tail);
            if endings
                .range(ending.clone()..)
                .next()
                .is_none_or(|full| !full.starts_with(&ending))
            {
                self.paths.insert(tail.to_vec());
            }
        }
        self.paths
    }
}

enum Taken<'a> {
    Changed(&'a [u8]),
    Context(&'a [u8]),
    /// `\ No newline at end of file`.
    Note,
    /// Not a line of this hunk: it is full, or was cut.
    Over,
}

impl Hunk {
    /// `@@ -a,b +c,d @@ heading`, or with one more `@` and one more range for each further parent of a merge.
    fn parse(line: &[u8]) -> Option<(Self, &[u8])> {
        let ats = line.iter().take_while(|b| **b == b'@').count();
        if !(2..=9).contains(&ats) {
            return None;
        }
        let mut rest = line[ats..].strip_prefix(b" ")?;
        let mut range = |sign: &[u8]| -> Option<u64> {
            let end = rest.iter().position(|b| *b == b' ')?;
            let range = std::str::from_utf8(rest[..end].strip_prefix(sign)?).ok()?;
            rest = &rest[end + 1..];
            let (from, count) = range.split_once(',').unwrap_or((range, "1"));
            from.parse::<u64>().ok().and(count.parse().ok())
        };
        let old = (1..ats).map(|_| range(b"-")).collect::<Option<Vec<_>>>()?;
        let new = range(b"+")?;
        let heading = rest.strip_prefix(&line[..ats])?;
        Some((Self { old, new }, heading))
    }

    fn take<'a>(&mut self, line: &'a [u8]) -> Taken<'a> {
        if self.new == 0 && self.old.iter().all(|n| *n == 0) {
            return Taken::Over;
        }
        if line.first() == Some(&b'\\') {
            return Taken::Note;
        }
        // Mail and editors strip the blank of an empty context line.
        if line.is_empty() || line == b"\r" {
            self.count(None);
            return Taken::Context(b"");
        }
        let columns = self.old.len();
        let Some(marks) = line
            .get(..columns)
            .filter(|m| m.iter().all(|b| matches!(b, b' ' | b'+' | b'-')))
        else {
            return Taken::Over;
        };
        self.count(Some(marks));
        let text = &line[columns..];
        if marks.iter().all(|b| *b == b' ') {
            Taken::Context(text)
        } else {
            Taken::Changed(text)
        }
    }

    fn count(&mut self, marks: Option<&[u8]>) {
        let mark = |i: usize| marks.map_or(b' ', |m| m[i]);
        let removed = marks.is_some_and(|m| m.contains(&b'-'));
        for (i, left) in self.old.iter_mut().enumerate() {
            // In a combined diff a removed line is missing only from the parents marked so; a blank there means "never had it".
            let has = if removed {
                mark(i) == b'-'
            } else {
                mark(i) != b'+'
            };
            *left = left.saturating_sub(u64::from(has));
        }
        self.new = self.new.saturating_sub(u64::from(!removed));
    }
}

/// The path of a `--- ` or `+++ ` line: git puts a tab behind names with blanks, other tools a date.
fn header_path(name: &[u8]) -> Vec<u8> {
    let name = unquote(name);
    let name = name.split(|b| *b == b'\t').next().unwrap_or_default();
    without_side(name).to_vec()
}

/// A path less the `a/`, `b/` (or `i/`, `w/`, `c/`, `o/`) that git puts before it.
fn without_side(name: &[u8]) -> &[u8] {
    match name {
        [b'a' | b'b' | b'c' | b'i' | b'o' | b'w', b'/', path @ ..] => path,
        _ => name,
    }
}

/// The two names of a `diff --git` line. Unquoted names are not delimited, so the one sure split is where both are the same;
/// a rename names its paths on lines of its own.
fn split_git_names(names: &[u8]) -> Vec<Vec<u8>> {
    if names.contains(&b'"') {
        let (first, rest) = quoted_end(names).map_or_else(
            || {
                names.split_at(
                    names
                        .windows(2)
                        .position(|w| w == b" \"")
                        .unwrap_or(names.len()),
                )
            },
            |end| names.split_at(end),
        );
        return [first, rest]
            .iter()
            .map(|n| without_side(&unquote(n.trim_ascii())).to_vec())
            .collect();
    }
    let half = names.len() / 2;
    if names.get(half) == Some(&b' ')
        && without_side(&names[..half]) == without_side(&names[half + 1..])
    {
        return vec![without_side(&names[..half]).to_vec()];
    }
    match names.windows(3).position(|w| w == b" b/") {
        Some(at) => vec![
            without_side(&names[..at]).to_vec(),
            names[at + 3..].to_vec(),
        ],
        None => vec![names.to_vec()],
    }
}

/// Where the quoted name at the start of `text` ends, past its closing quote.
fn quoted_end(text: &[u8]) -> Option<usize> {
    let inner = text.strip_prefix(b"\"")?;
    let mut escaped = false;
    for (i, byte) in inner.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(i + 2),
            _ => {}
        }
    }
    None
}

/// A name as git quotes it (C style), as it is.
fn unquote(name: &[u8]) -> Cow<'_, [u8]> {
    let Some(end) = quoted_end(name) else {
        return Cow::Borrowed(name);
    };
    let mut out = Vec::with_capacity(end);
    let mut bytes = name[1..end - 1].iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(more) = bytes.next_if(|b| matches!(b, b'0'..=b'7')) {
                        value = value * 8 + u32::from(more - b'0');
                    }
                }
                out.push(u8::try_from(value & 0xff).unwrap_or_default());
            }
            Some(letter) => out.push(match letter {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                other => other,
            }),
            None => {}
        }
    }
    Cow::Owned(out)
}

/// The paths of one line of `--stat` (` a/{b => c}/d | 3 ++-`) or `--numstat` (`2\t1\ta/d`); none when it is no such line.
fn stat_paths(line: &[u8]) -> Vec<Vec<u8>> {
    let mut fields = line.splitn(3, |b| *b == b'\t');
    let number = |f: &[u8]| !f.is_empty() && (f == b"-" || f.iter().all(u8::is_ascii_digit));
    let name = match (fields.next(), fields.next(), fields.next()) {
        (Some(added), Some(removed), Some(name)) if number(added) && number(removed) => name,
        _ => {
            let Some(bar) = line.windows(2).rposition(|w| w == b" |") else {
                return Vec::new();
            };
            let count = line[bar + 2..].trim_ascii_start();
            if !(count.first().is_some_and(u8::is_ascii_digit)
                || count.starts_with(b"Bin")
                || count.starts_with(b"Unmerged"))
            {
                return Vec::new();
            }
            &line[..bar]
        }
    };
    let name = unquote(name.trim_ascii());
    let Some(arrow) = name.windows(4).position(|w| w == b" => ") else {
        return vec![name.into_owned()];
    };
    let (left, right) = (&name[..arrow], &name[arrow + 4..]);
    let open = left.iter().rposition(|b| *b == b'{');
    let close = right.iter().position(|b| *b == b'}');
    let (Some(open), Some(close)) = (open, close) else {
        return vec![left.to_vec(), right.to_vec()];
    };
    [&left[open + 1..], &right[..close]]
        .map(|middle| {
            let path = [&left[..open], middle, &right[close + 1..]].concat();
            // `a/{ => b}/c` leaves an empty folder name on one side.
            let mut slash = false;
            path.into_iter()
                .filter(|b| !std::mem::replace(&mut slash, *b == b'/') || *b != b'/')
                .collect()
        })
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths (weight 2), then changed lines, then context, each joined by `|`.
    fn read(diff: &str) -> (String, String, String) {
        let (mut paths, mut changed, mut context) = (Vec::new(), Vec::new(), Vec::new());
        each_piece(diff.as_bytes(), |weight, text| {
            let text = String::from_utf8_lossy(text).into_owned();
            if weight == PATH {
                &mut paths
            } else if weight == CHANGED {
                &mut changed
            } else {
                &mut context
            }
            .push(text);
        });
        (paths.join("|"), changed.join("|"), context.join("|"))
    }

    #[test]
    fn lines_in_a_hunk_may_look_like_any_header() {
        let diff = "diff --git a/q.sql b/q.sql\nindex 1..2 100644\n--- a/q.sql\n+++ b/q.sql\n@@ -1,3 +1,4 @@ fn head\n ctx\n--- drop\n+++ add\n+diff --git a/x b/x\n @@ -1 +1 @@\n";
        let (paths, changed, context) = read(diff);
        assert_eq!(paths, "q.sql");
        assert_eq!(changed, "-- drop|++ add|diff --git a/x b/x");
        assert_eq!(context, " fn head|ctx|@@ -1 +1 @@");
    }

    #[test]
    fn a_file_may_be_named_like_a_header() {
        let diff = "diff --git a/--- a b/--- a\n--- a/--- a\t\n+++ b/--- a\t\n@@ -0,0 +1 @@\n+x\ndiff --git a/@@ -1 +1 @@ b/@@ -1 +1 @@\nold mode 100644\nnew mode 100755\n";
        assert_eq!(read(diff).0, "--- a|@@ -1 +1 @@");
    }

    #[test]
    fn renames_in_stat_and_diff_name_both_sides_once() {
        let diff = " src/{old => new}/lib.rs | 2 +-\n {a => b}.txt | 0\n x/{ => y}/z | 1 +\n one => two | Bin 0 -> 9 bytes\n 4 files changed, 2 insertions(+)\n\ndiff --git a/src/old/lib.rs b/src/new/lib.rs\nsimilarity index 90%\nrename from src/old/lib.rs\nrename to src/new/lib.rs\n";
        assert_eq!(
            read(diff).0,
            "a.txt|b.txt|one|src/new/lib.rs|src/old/lib.rs|two|x/y/z|x/z"
        );
    }

    #[test]
    fn a_name_shortened_by_stat_is_the_full_path_of_the_diff() {
        let diff = " .../deep/file.rs | 2 +\n .../other.rs | 1 +\ndiff --git a/very/long/deep/file.rs b/very/long/deep/file.rs\n--- a/very/long/deep/file.rs\n+++ b/very/long/deep/file.rs\n";
        assert_eq!(read(diff).0, "/other.rs|very/long/deep/file.rs");
    }

    #[test]
    fn binary_patches_give_their_path_and_no_data() {
        let diff = " logo.png | Bin 0 -> 70 bytes\ndiff --git a/logo.png b/logo.png\nnew file mode 100644\nindex 000..8ce\nGIT binary patch\nliteral 70\nzcmeAS@N?(olHy`uVBq!ia0vp\n\nliteral 0\nHcmV?d00001\n\ndiff --git a/i.gif b/i.gif\nindex 1..2 100644\nBinary files a/i.gif and b/i.gif differ\n";
        assert_eq!(
            read(diff),
            ("i.gif|logo.png".to_owned(), String::new(), String::new())
        );
    }

    #[test]
    fn a_cut_hunk_ends_where_the_next_file_begins() {
        let diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n-one\ndiff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-two\n+th";
        let (paths, changed, _) = read(diff);
        assert_eq!((paths.as_str(), changed.as_str()), ("a|b", "one|two|th"));
    }

    #[test]
    fn quoted_names_crlf_and_merges() {
        let quoted =
            "diff --git \"a/sp\\303\\244t\\tx\" \"b/sp\\303\\244t\\tx\"\nnew file mode 100644\n";
        assert_eq!(read(quoted).0, "sp\u{e4}t\tx");
        let crlf = "diff --git a/w b/w\r\n--- a/w\r\n+++ b/w\r\n@@ -1,2 +1,2 @@\r\n keep\r\n-old\r\n+new\r\n";
        assert_eq!(read(crlf).0, "w");
        assert_eq!(read(crlf).1, "old\r|new\r");
        let merge = "diff --cc m.c\nindex 1,2..3\n--- a/m.c\n+++ b/m.c\n@@@ -1,2 -1,2 +1,2 @@@ int\n  both\n- ours\n -theirs\n++merged\nnot in the hunk\n";
        assert_eq!(
            read(merge),
            (
                "m.c".to_owned(),
                "ours|theirs|merged".to_owned(),
                " int|both".to_owned()
            )
        );
    }

    #[test]
    fn prose_is_no_diff() {
        assert!(!each_piece(
            b"I fixed the parser | and more\n--- done\n",
            |_, _| {}
        ));
        assert!(!each_piece(b"", |_, _| {}));
        assert!(!each_piece(b"\n\n", |_, _| {}));
    }

    proptest::proptest! {
        /// Any bytes, and any mixture of lines that mean something to the reader.
        #[test]
        fn never_panics_and_never_weighs_more_text_than_there_is(
            noise in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
            lines in proptest::collection::vec(
                proptest::sample::select(vec![
                    "diff --git a/x b/x", "diff --git \"a/\\\" b/x", "diff --git \"", "diff --cc y", "--- a/x", "+++ b/x", "+++ ", "--- ", "@@ -1,3 +1,2 @@ f",
                    "@@@ -1 -1,2 +1 @@@", "@@ -1,99999999999999999999 +1 @@", "@@ -0,0 +0,0 @@", " a", "+b", "-c", "++d", "", "\\ No newline", "rename from {a => b}",
                    " {a => b}/{c | 3 +", " => | 1", " | 2", "1\t2\tx", "-\t-\t\"\\3", " ... | 1 +", "Binary files a/x and b/x differ", "\r", "@@", "@@ -",
                ]),
                0..40,
            ),
        ) {
            let mut diff = noise.clone();
            diff.extend(lines.join("\n").as_bytes());
            diff.extend(&noise);
            let mut read = 0;
            each_piece(&diff, |weight, text| if weight < PATH { read += text.len() });
            proptest::prop_assert!(read <= diff.len());
        }
    }
}
