//! A launch whose output is wanted as a whole: its beginning and its end are kept, what lies between is counted.

use std::collections::VecDeque;

use anyhow::Result;

use super::{Chunk, End, Spec, Streams, Verdict, run};
use crate::text;

/// The first and the last bytes of a stream of any length.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeadTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_max: usize,
    tail_max: usize,
    left_out: u64,
}

impl HeadTail {
    /// The first 64 KiB (what was run, the first error) and the last 256 KiB (how it ended).
    pub(crate) fn new() -> Self {
        Self::with(64 * 1024, 256 * 1024)
    }

    pub(crate) fn with(head_max: usize, tail_max: usize) -> Self {
        Self {
            head_max,
            tail_max,
            ..Self::default()
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_max - self.head.len()));
        self.head.extend_from_slice(first);
        let kept = &rest[rest.len().saturating_sub(self.tail_max)..];
        let overflow = (self.tail.len() + kept.len()).saturating_sub(self.tail_max);
        self.tail.drain(..overflow);
        self.tail.extend(kept);
        self.left_out += (overflow + rest.len() - kept.len()) as u64;
    }

    /// Head and tail as text, each cut on a line where something between them was left out, and a line that says how much.
    pub(crate) fn text(&self) -> String {
        let (head, tail) = (
            self.head.as_slice(),
            self.tail.iter().copied().collect::<Vec<_>>(),
        );
        if self.left_out == 0 {
            return String::from_utf8_lossy(&[head, &tail].concat()).into_owned();
        }
        let head_end = head
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(head.len(), |at| at + 1);
        let tail_start = tail.iter().position(|b| *b == b'\n').map_or(0, |at| at + 1);
        let left_out = self.left_out + (head.len() - head_end) as u64 + tail_start as u64;
        let head = String::from_utf8_lossy(&head[..head_end]);
        let tail = String::from_utf8_lossy(&tail[tail_start..]);
        let newline = if head.is_empty() || head.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        format!(
            "{head}{newline}[{} left out]\n{tail}",
            text::human_bytes(left_out)
        )
    }
}

/// How a launch went and what it printed, both streams in one.
#[derive(Clone, Debug)]
pub(crate) struct Captured {
    pub end: End,
    pub output: String,
}

/// Sees every chunk as it comes.
pub(crate) type Tee<'a> = &'a mut dyn FnMut(&[u8]);

/// Runs `spec` with its streams merged and keeps head and tail of the output.
pub(crate) fn capture(mut spec: Spec, tee: Option<Tee<'_>>) -> Result<Captured> {
    spec.streams = Streams::Merged;
    let mut kept = HeadTail::new();
    let mut ignored = |_: &[u8]| {};
    let tee = tee.unwrap_or(&mut ignored);
    let end = run(spec, &mut |_| Ok(()), &mut |chunk: Chunk<'_>| {
        kept.push(chunk.bytes());
        tee(chunk.bytes());
        Verdict::Go
    })?;
    Ok(Captured {
        end,
        output: kept.text(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_middle_is_left_out_on_lines_and_counted() {
        let mut kept = HeadTail::with(6, 6);
        kept.push(b"one\ntwo\nthree\nfour\nfive\n");
        assert_eq!(kept.text(), "one\n[15 B left out]\nfive\n");
    }

    #[test]
    fn a_single_endless_line_keeps_both_ends() {
        let mut kept = HeadTail::with(3, 3);
        kept.push(b"abcdefgh");
        assert_eq!(kept.text(), "abc\n[2 B left out]\nfgh");
    }

    proptest! {
        #[test]
        fn how_it_arrives_does_not_matter(bytes in proptest::collection::vec(any::<u8>(), 0..60), step in 1..20usize) {
            let (mut whole, mut pieces) = (HeadTail::with(8, 9), HeadTail::with(8, 9));
            whole.push(&bytes);
            bytes.chunks(step).for_each(|chunk| pieces.push(chunk));
            prop_assert_eq!(whole.text(), pieces.text());
            prop_assert!(pieces.head.len() <= 8 && pieces.tail.len() <= 9);
            prop_assert_eq!(pieces.head.len() + pieces.tail.len() + usize::try_from(pieces.left_out).unwrap(), bytes.len());
        }
    }
}
