//! A stream of bytes cut at `\n`, in bounded memory. It decodes nothing.

/// One line without its newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub bytes: &'a [u8],
    /// The line was longer than the limit: this is its beginning, and the rest is skipped.
    pub cut: bool,
}

/// Puts lines together from chunks that end anywhere. Only `\n` ends a line: `\r` and Unicode separators are content.
pub(crate) struct Lines {
    max: usize,
    partial: Vec<u8>,
    skipping: bool,
}

impl Lines {
    /// Lines of at most `max` bytes.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            partial: Vec::new(),
            skipping: false,
        }
    }

    /// Takes the next bytes and hands on every line that they complete or overfill.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Line<'_>)) {
        while let Some(newline) = memchr::memchr(b'\n', bytes) {
            self.add(&bytes[..newline], each);
            if !self.skipping {
                each(Line {
                    bytes: &self.partial,
                    cut: false,
                });
            }
            self.partial.clear();
            self.skipping = false;
            bytes = &bytes[newline + 1..];
        }
        self.add(bytes, each);
    }

    /// The stream is over: hands on a last line that has no newline.
    pub(crate) fn finish(&mut self, each: &mut dyn FnMut(Line<'_>)) {
        if !self.partial.is_empty() {
            each(Line {
                bytes: &self.partial,
                cut: false,
            });
            self.partial.clear();
        }
        self.skipping = false;
    }

    fn add(&mut self, piece: &[u8], each: &mut dyn FnMut(Line<'_>)) {
        if self.skipping {
            return;
        }
        let room = self.max - self.partial.len();
        self.partial
            .extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            each(Line {
                bytes: &self.partial,
                cut: true,
            });
            self.partial.clear();
            self.skipping = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(max: usize, chunks: &[&[u8]]) -> Vec<(Vec<u8>, bool)> {
        let mut found = Vec::new();
        let mut lines = Lines::new(max);
        for chunk in chunks {
            lines.feed(chunk, &mut |line| {
                found.push((line.bytes.to_vec(), line.cut));
            });
        }
        lines.finish(&mut |line| found.push((line.bytes.to_vec(), line.cut)));
        found
    }

    fn whole(text: &str) -> (Vec<u8>, bool) {
        (text.into(), false)
    }

    #[test]
    fn only_newlines_end_a_line_and_the_last_needs_none() {
        let found = split(99, &[b"a\rb\xe2", b"\x80\xa8c\n\nlast"]);
        assert_eq!(found, [whole("a\rb\u{2028}c"), whole(""), whole("last")]);
    }

    #[test]
    fn an_overlong_line_is_told_once_and_the_next_is_whole() {
        let found = split(4, &[b"123", b"45", b"678\nab\n", b"1234\n", b"12345"]);
        assert_eq!(
            found,
            [
                ("1234".into(), true),
                whole("ab"),
                whole("1234"),
                ("1234".into(), true)
            ]
        );
    }

    #[test]
    fn a_line_without_end_takes_no_more_memory_than_the_limit() {
        let mut lines = Lines::new(1000);
        for _ in 0..10_000 {
            lines.feed(&[b'x'; 999], &mut |_| {});
        }
        assert!(
            lines.partial.capacity() <= 2000,
            "{}",
            lines.partial.capacity()
        );
    }

    proptest! {
        #[test]
        fn where_chunks_end_does_not_matter(text in "[ab\n]{0,40}", at in 0..40usize) {
            let at = at.min(text.len());
            let (one, two) = text.as_bytes().split_at(at);
            prop_assert_eq!(split(3, &[text.as_bytes()]), split(3, &[one, two]));
        }
    }
}
