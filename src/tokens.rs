//! How many tokens a text is to a model: counted with the o200k vocabulary. Other models count
//! differently: whoever shows a number names the unit.

/// Text is counted in pieces up to this size: the splitter gives up on whitespace without end, and would take the program with it.
const PIECE: usize = 32 * 1024;

/// Tokens of `text` (o200k). The vocabulary (3.6 MB in the binary) is built on the first call, some tenths of a second: count beside
/// other work.
pub(crate) fn count(text: &str) -> usize {
    let vocabulary = tiktoken_rs::o200k_base_singleton();
    let (mut rest, mut tokens) = (text, 0);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(piece_end(rest));
        tokens += vocabulary.count_ordinary(piece);
        rest = after;
    }
    tokens
}

/// Where the first piece ends: behind the last newline that no token crosses (nothing but a `/` is ever joined to a newline before it),
/// else, in text without one, at a character.
fn piece_end(text: &str) -> usize {
    if text.len() <= PIECE {
        return text.len();
    }
    let bytes = text.as_bytes();
    let border = |at: &usize| {
        bytes[at - 1] == b'\n'
            && !bytes[*at].is_ascii_whitespace()
            && bytes[*at] != b'/'
            && bytes[*at] < 0x80
    };
    (PIECE / 2..=PIECE).rev().find(border).unwrap_or_else(|| {
        let mut at = PIECE;
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_the_vocabulary_says() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(
            count("<|endoftext|>"),
            tiktoken_rs::o200k_base_singleton()
                .encode_ordinary("<|endoftext|>")
                .len()
        );
    }

    #[test]
    fn pieces_do_not_change_the_count_of_text_with_lines() {
        let code = include_str!("decay/diff.rs")
            .replace("{\n", "{\n\n        // ünïcödé };\n/ x\r\n")
            .repeat(6);
        assert!(code.len() > 3 * PIECE);
        assert_eq!(
            count(&code),
            tiktoken_rs::o200k_base_singleton().count_ordinary(&code)
        );
    }

    #[test]
    fn endless_runs_are_counted_and_end() {
        for run in [" ", "\n", "a", "é", "\u{3000}", "{", "9", " \n"] {
            let tokens = count(&run.repeat(200_000));
            assert!(
                (1_000..=200_000 * run.len()).contains(&tokens),
                "{run:?}: {tokens}"
            );
        }
    }
}
