//! The charts of `decay`: counts by day, and the drift of the last runs, in plain characters. Numbers in, lines out.

use jiff::civil::Date;

/// Equal spans of days, one a column.
pub(super) struct Days {
    first: Date,
    last: Date,
    /// Days of one column.
    span: u64,
    columns: usize,
}

impl Days {
    /// Spans that hold all of these days in at most `columns`; `None` for no day.
    pub(super) fn over(days: impl Iterator<Item = Date>, columns: usize) -> Option<Self> {
        let (mut first, mut last) = (None, None);
        for day in days {
            first = Some(first.map_or(day, |f: Date| f.min(day)));
            last = Some(last.map_or(day, |l: Date| l.max(day)));
        }
        let (first, last) = (first?, last?);
        let days = between(first, last) + 1;
        let span = days.div_ceil(columns.max(1) as u64);
        Some(Self {
            first,
            last,
            span,
            columns: usize::try_from(days.div_ceil(span)).unwrap_or(1),
        })
    }

    /// `2026-01-01 to 2026-01-31 UTC, 1 day a column`.
    pub(super) fn heading(&self) -> String {
        let days = if self.span == 1 { "day" } else { "days" };
        format!(
            "{} to {}, {} {days}/column",
            self.first, self.last, self.span
        )
    }

    /// One character a column: how many of these days fall into it, `.` for none, `+` for more than nine.
    pub(super) fn row(&self, days: impl Iterator<Item = Date>) -> String {
        let mut counts = vec![0_u32; self.columns];
        for day in days {
            let column = usize::try_from(between(self.first, day) / self.span).unwrap_or(0);
            if let Some(count) = counts.get_mut(column) {
                *count += 1;
            }
        }
        counts
            .into_iter()
            .map(|count| match count {
                0 => '.',
                1..=9 => char::from_digit(count, 10).unwrap_or('+'),
                _ => '+',
            })
            .collect()
    }
}

/// Days from one to a later one.
fn between(first: Date, day: Date) -> u64 {
    u64::try_from((day - first).get_days()).unwrap_or(0)
}

/// The scores of the last runs with their thresholds, oldest first, as points: `*`, or `!` below the threshold; the line is the last threshold.
/// No line for no score.
pub(super) fn drift(scores: &[(f64, f64)], width: usize) -> Vec<String> {
    const ROWS: usize = 8;
    const LABEL: usize = 9;
    let shown = &scores[scores.len().saturating_sub(width.saturating_sub(LABEL + 1))..];
    let Some((_, threshold)) = shown.last() else {
        return Vec::new();
    };
    let all = || shown.iter().map(|(z, _)| *z).chain([*threshold]);
    let (low, high) = (
        all().fold(f64::MAX, f64::min),
        all().fold(f64::MIN, f64::max),
    );
    let height = ((high - low) / (ROWS - 1) as f64).max(0.01);
    // From the top; a score that is no number stands on the lowest row.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and ROWS
    let row_of = |z: f64| (((high - z) / height).round().max(0.0) as usize).min(ROWS - 1);
    let mut rows = vec![vec![' '; shown.len()]; ROWS];
    rows[row_of(*threshold)].fill('-');
    for (column, (z, threshold)) in shown.iter().enumerate() {
        rows[row_of(*z)][column] = if z < threshold { '!' } else { '*' };
    }
    let mut lines = vec![
        String::new(),
        format!(
            "drift of the last {} scored runs (! = alarm, line = {threshold:.2})",
            shown.len()
        ),
    ];
    for (row, points) in rows.iter().enumerate() {
        let points: String = points.iter().collect();
        let line = format!("{:>8.2} |{points}", high - height * row as f64);
        lines.push(line.trim_end().to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Date {
        text.parse().unwrap()
    }

    #[test]
    fn days_are_counted_in_columns_that_fit() {
        let all = ["2026-01-01", "2026-01-03", "2026-01-03"].map(day);
        let days = Days::over(all.into_iter(), 44).unwrap();
        assert_eq!(days.row(all.into_iter()), "1.2");
        assert_eq!(days.heading(), "2026-01-01 to 2026-01-03, 1 day/column");
        let long = [day("2025-01-01"), day("2026-01-01")];
        let days = Days::over(long.into_iter(), 44).unwrap();
        assert_eq!(days.span, 9);
        let row = days.row(std::iter::repeat_n(long[1], 12));
        assert!(row.len() <= 44 && row.ends_with('+'), "{row}");
        assert!(Days::over(std::iter::empty(), 44).is_none());
    }

    #[test]
    fn scores_are_drawn_with_their_threshold() {
        let lines = drift(&[(3.0, 0.84), (-1.0, 0.84), (0.9, 0.84)], 80);
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[2], "    3.00 |*");
        assert!(lines[9].ends_with("-1.00 | !"), "{lines:?}");
        assert!(lines.iter().any(|line| line.ends_with("|--*")), "{lines:?}");
        assert_eq!(drift(&[], 80), Vec::<String>::new());
        assert!(
            drift(&vec![(1.0, 1.0); 500], 80)
                .iter()
                .all(|line| line.len() <= 80)
        );
    }
}
