//! A point in time as a person gives it: a UTC day, a moment, or how long ago. It reads the clock and nothing else.

use jiff::{SignedDuration, Timestamp};

use crate::config;
use crate::exit::Refusal;

/// The moment in the form of a record's `at`, with which it compares as text: `2026-01-31` (its first moment, UTC), RFC 3339, or `7d`, `12h`,
/// `30m`, `90s` ago.
///
/// # Errors
/// A [`Refusal`] that says what can be read.
pub(crate) fn parse(text: &str) -> Result<String, Refusal> {
    let day = || {
        let day = format!("{text}T00:00:00Z");
        day.parse::<Timestamp>().ok().filter(|_| text.len() == 10)
    };
    let ago = || {
        let ago = SignedDuration::try_from(config::read_duration(text)?).ok()?;
        Timestamp::now().checked_sub(ago).ok()
    };
    let moment = day()
        .or_else(|| text.parse::<Timestamp>().ok())
        .or_else(ago);
    moment.map(|at| format!("{at:.3}")).ok_or_else(|| {
        Refusal::new(
            format!("{text} is no point in time"),
            "a day in UTC (2026-01-31), a moment (2026-01-31T12:00:00Z), or how long ago (7d, 12h)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_moments_and_lengths_are_read_as_records_write_them() {
        assert_eq!(parse("2026-01-31").unwrap(), "2026-01-31T00:00:00.000Z");
        assert_eq!(
            parse("2026-01-31T12:00:00+02:00").unwrap(),
            "2026-01-31T10:00:00.000Z"
        );
        let (week, now) = (parse("7d").unwrap(), super::super::record::now());
        assert!(week < now && week.len() == now.len(), "{week} {now}");
        for bad in ["", "yesterday", "7", "2026-13-01", "2026-01"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
