//! Layer 3, micro-diff: the patches, cut so that each file gets a fair part. One generated file must not push out all the others.

use std::fmt::Write as _;

use super::fence;
use super::patch::Patch;
use super::survey::SLACK;
use super::{Cut, Redact};

/// A file gets at least this much, or is left out whole.
const LEAST: usize = 1024;
/// Room for the line that counts the files left out.
const REST: usize = 80;

/// The patches in at most `max` bytes, in order.
pub(super) fn body(patches: &[Patch], max: usize, redact: Redact) -> (String, Cut) {
    let whole = patches.iter().map(|patch| patch.bytes).sum::<usize>() <= max;
    let mut room = if whole { max } else { max.saturating_sub(REST) };
    let level = level(patches, room).max(LEAST);
    let mut body = String::new();
    let (mut cut, mut files, mut bytes) = (0, 0, 0);
    for patch in patches {
        let kept = &patch.text[..patch.text.len().min(level + SLACK)];
        let beyond = patch.bytes - kept.len();
        let text = fence::clean(&String::from_utf8_lossy(kept), redact);
        let share = level.min(room);
        if text.len() + beyond > share && share < LEAST {
            files += 1;
            bytes += patch.bytes;
            continue;
        }
        let (text, left_out) = fence::fit(&text, beyond, share);
        room -= text.len();
        cut += left_out;
        body.push_str(&text);
    }
    if files > 0 {
        let _ = writeln!(
            body,
            "[... {bytes} bytes of {files} more file{} left out ...]",
            if files == 1 { "" } else { "s" }
        );
    }
    let (body, left_out) = fence::fit(&body, 0, max);
    (
        body,
        Cut {
            bytes: cut + bytes + left_out,
            items: files,
        },
    )
}

/// The most that one file may take so that all together take `max`: small ones whole, large ones alike.
fn level(patches: &[Patch], max: usize) -> usize {
    let mut sizes: Vec<_> = patches.iter().map(|patch| patch.bytes).collect();
    sizes.sort_unstable();
    let mut room = max;
    for (at, size) in sizes.iter().enumerate() {
        let share = room / (sizes.len() - at);
        if *size > share {
            return share;
        }
        room -= size;
    }
    max
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn plain(text: &str) -> Cow<'_, str> {
        Cow::Borrowed(text)
    }

    fn patch(name: &str, lines: usize) -> Patch {
        let text = format!("{name}\n{}", "+0123456789\n".repeat(lines)).into_bytes();
        Patch {
            bytes: text.len(),
            text,
        }
    }

    #[test]
    fn a_lock_file_does_not_push_out_the_sources() {
        let patches = [
            patch("Cargo.lock", 5000),
            patch("src/a.rs", 20),
            patch("src/b.rs", 20),
        ];
        let (body, cut) = body(&patches, 8 << 10, &plain);
        assert!(body.len() <= 8 << 10 && cut.bytes > 50_000);
        assert_eq!(
            body.matches("\n+0123456789").count(),
            body.matches("+0123456789\n").count()
        );
        assert!(
            body.ends_with(&String::from_utf8_lossy(&patches[2].text).into_owned()),
            "the last file is whole"
        );
        assert!(body.len() > 7 << 10, "the room is used: {}", body.len());
    }

    #[test]
    fn many_files_are_shown_in_order_as_long_as_there_is_room() {
        let patches: Vec<_> = (0..500).map(|n| patch(&format!("f{n}"), 200)).collect();
        let (body, _) = body(&patches, 16 << 10, &plain);
        assert!(body.len() <= 16 << 10);
        assert!(body.starts_with("f0\n") && body.contains("\nf1\n"));
        assert!(
            body.trim_end().ends_with("more files left out ...]"),
            "{}",
            &body[body.len() - 200..]
        );
    }

    fn redact(text: &str) -> Cow<'_, str> {
        Cow::Owned(text.replace("SECRET-0123456789", "[REDACTED]"))
    }

    #[test]
    fn a_secret_across_the_cut_is_seen_whole_by_the_redactor() {
        let mut text = b"head\n+".to_vec();
        text.extend(b"x".repeat(1500));
        text.extend(b" SECRET-0123456789 tail\n");
        let patches = [Patch {
            bytes: text.len(),
            text,
        }];
        for max in 1400..1620 {
            assert!(!body(&patches, max, &redact).0.contains("SECRET"), "{max}");
        }
    }
}
