//! Durations and sizes as `arkaint.toml` writes them.

use std::time::Duration;

/// Longer than any run and shorter than any overflow.
const LONGEST: u64 = 10 * 365 * 24 * 3600;
/// `30m`, `90s`, `30d`; `60m` and `24h` rather than one of the larger unit, as the manual says them.
pub(crate) fn show_duration(time: Duration) -> String {
    let seconds = time.as_secs();
    for (unit, length, least) in [("d", 86_400, 2), ("h", 3600, 2), ("m", 60, 1)] {
        if seconds >= length * least && seconds.is_multiple_of(length) {
            return format!("{}{unit}", seconds / length);
        }
    }
    format!("{seconds}s")
}

/// `64KiB`, `2GiB`, or bytes where no unit divides them.
pub(crate) fn show_size(bytes: u64) -> String {
    for (unit, length) in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if bytes >= length && bytes.is_multiple_of(length) {
            return format!("{}{unit}", bytes / length);
        }
    }
    bytes.to_string()
}

/// `90s`, `30m`, `12h`, `30d`; `None` for anything else.
pub(crate) fn read_duration(text: &str) -> Option<Duration> {
    let (number, length) = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)]
        .into_iter()
        .find_map(|(unit, length)| Some((text.strip_suffix(unit)?, length)))?;
    let seconds = digits(number)?.checked_mul(length)?;
    (1..=LONGEST)
        .contains(&seconds)
        .then(|| Duration::from_secs(seconds))
}

pub(super) fn read_size(text: &str) -> Option<u64> {
    let (number, length) = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("B", 1),
    ]
    .into_iter()
    .find_map(|(unit, length)| Some((text.strip_suffix(unit)?, length)))
    .unwrap_or((text, 1));
    digits(number)?.checked_mul(length)
}

/// `parse` alone would take a leading `+`.
fn digits(text: &str) -> Option<u64> {
    text.bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_read_what_they_show() {
        for text in ["1s", "90s", "1m", "30m", "60m", "2h", "24h", "30d"] {
            assert_eq!(show_duration(read_duration(text).unwrap()), text);
        }
        for text in ["1000", "64KiB", "256MiB", "2GiB"] {
            assert_eq!(show_size(read_size(text).unwrap()), text);
        }
        assert_eq!(read_size("1TiB"), Some(1 << 40));
        assert_eq!(read_size("512B"), Some(512));
        for bad in [
            "",
            "30",
            "m",
            "0s",
            "-1m",
            "+1m",
            "1.5h",
            "30 m",
            "30M",
            "1h30m",
            "99999999999999999999d",
            "4000d",
        ] {
            assert_eq!(read_duration(bad), None, "{bad}");
        }
        for bad in [
            "",
            "KiB",
            "-1",
            "64KB",
            "64 KiB",
            "1.5MiB",
            "99999999999GiB",
        ] {
            assert_eq!(read_size(bad), None, "{bad}");
        }
    }
}
