//! `git arkaint cost`: what runs used, added up from the ledger. Reads only, takes no lock, works inside a run.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use crate::cli::{Cost, CostBy};
use crate::exit::Exit;
use crate::gate;
use crate::git::Worktree;
use crate::ledger::since;
use crate::ledger::spent::{self, By, Sum};
use crate::text;
use crate::ui::{self, Tone, Ui};

/// Name and width of each column after the first.
const COLUMNS: [(&str, usize); 7] = [
    ("runs", 5),
    ("in", 6),
    ("out", 6),
    ("cached", 6),
    ("reported", 9),
    ("computed", 9),
    ("unknown", 7),
];

pub(super) fn run(worktree: &Worktree, args: &Cost, ui: &Ui) -> Result<Exit> {
    let since = args.since.as_deref().map(since::parse).transpose()?;
    let prices = if args.reprice {
        gate::config_for_reading(worktree, None)?.prices
    } else {
        BTreeMap::new()
    };
    let (by, name) = match args.by {
        CostBy::Day => (By::Day, "day"),
        CostBy::Model => (By::Model, "model"),
        CostBy::Provider => (By::Provider, "provider"),
        CostBy::Profile => (By::Profile, "profile"),
        CostBy::Task => (By::Task, "task"),
        CostBy::Agent => (By::Agent, "agent"),
    };
    let sums = spent::by(worktree, by, since.as_deref(), &prices)?;
    let mut total = Sum::default();
    for sum in sums.values() {
        total.merge(sum);
    }
    let mut rows: Vec<(Option<String>, Sum)> = sums.into_iter().collect();
    if by != By::Day {
        // What costs most comes first; where no price is known, what reads and writes most.
        rows.sort_by(|(_, a), (_, b)| {
            let usd = b.usd().total_cmp(&a.usd());
            usd.then_with(|| b.tokens().cmp(&a.tokens()))
        });
    }
    if ui.is_json() {
        let rows: Vec<Value> = rows
            .iter()
            .map(|(word, sum)| {
                let mut row = json_of(sum);
                row[name] = word.as_deref().into();
                row
            })
            .collect();
        ui.json(&json!({"v": 1, "by": name, "zone": "UTC", "since": since, "rows": rows, "total": json_of(&total)}));
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        ui.say(Tone::Plain, "the ledger has no such run");
        return Ok(Exit::Done);
    }
    show(name, &rows, &total, since.as_deref(), ui);
    Ok(Exit::Done)
}

/// A total that leaves something out is no total: it is null, and `at_least` says what is known.
fn json_of(sum: &Sum) -> Value {
    json!({
        "runs": sum.runs,
        "tokens": {"input": sum.input, "output": sum.output, "cached": sum.cached, "unknown_runs": sum.tokens_unknown, "estimated": sum.estimated},
        "usd": {
            "reported": sum.reported, "reported_runs": sum.reported_runs, "computed": sum.computed, "computed_runs": sum.computed_runs,
            "repriced_runs": sum.repriced_runs, "unknown_runs": sum.usd_unknown, "at_least": sum.usd(),
            "total": (sum.usd_unknown == 0).then(|| sum.usd()),
        },
    })
}

fn show(name: &str, rows: &[(Option<String>, Sum)], total: &Sum, since: Option<&str>, ui: &Ui) {
    let rest: usize = COLUMNS.iter().map(|(_, width)| width + 1).sum();
    let room = ui::width().saturating_sub(rest).max(12);
    let heading = if name == "day" { "day (UTC)" } else { name };
    let shown: Vec<(String, &Sum)> = rows
        .iter()
        .map(|(word, sum)| {
            let word = word.as_deref().unwrap_or("(not told)");
            (text::fit(&text::visible_line(word), room), sum)
        })
        .collect();
    let widest = shown.iter().map(|(word, _)| word.width()).max();
    let first = widest.unwrap_or(0).max(heading.width());
    let headings = COLUMNS.map(|(name, _)| name.to_owned());
    ui.out_toned(Tone::Head, line(heading, first, &headings));
    for (word, sum) in shown {
        ui.out(line(&word, first, &cells(sum)));
    }
    if rows.len() > 1 {
        ui.out(line("all", first, &cells(total)));
    }
    let from = since.map_or_else(String::new, |since| format!(" since {since}"));
    let runs = count(total.runs, "run");
    ui.out_toned(
        Tone::Head,
        format!("total {} in {runs}{from}, days in UTC", worth(total)),
    );
    if total.tokens_unknown > 0 {
        ui.out(format!(
            "tokens of {} are unknown and in no sum (estimated: {})",
            count(total.tokens_unknown, "run"),
            short(total.estimated)
        ));
    }
    if total.repriced_runs > 0 {
        ui.out(format!(
            "{} of unknown cost priced as arkaint.toml says now",
            count(total.repriced_runs, "run")
        ));
    }
}

/// `$1.23`, `≥ $1.23 (3 runs unknown)`, or `unknown (3 runs)`: what is unknown is never added as 0.
fn worth(sum: &Sum) -> String {
    let unknown = count(sum.usd_unknown, "run");
    if sum.usd_unknown == 0 {
        format!("${}", amount(sum.usd()))
    } else if sum.usd_unknown == sum.runs {
        format!("unknown ({unknown})")
    } else {
        format!("≥ ${} ({unknown} unknown)", amount(sum.usd()))
    }
}

fn cells(sum: &Sum) -> [String; 7] {
    let of = |runs: u64, cell: String| if runs == 0 { "-".to_owned() } else { cell };
    let told = sum.runs - sum.tokens_unknown;
    [
        sum.runs.to_string(),
        of(told, short(sum.input)),
        of(told, short(sum.output)),
        of(told, short(sum.cached)),
        of(sum.reported_runs, amount(sum.reported)),
        of(sum.computed_runs, amount(sum.computed)),
        of(sum.usd_unknown, sum.usd_unknown.to_string()),
    ]
}

fn line(word: &str, first: usize, cells: &[String; 7]) -> String {
    let pad = " ".repeat(first.saturating_sub(word.width()));
    let cells = cells.iter().zip(COLUMNS);
    let cells = cells.map(|(cell, (_, width))| format!(" {cell:>width$}"));
    format!("{word}{pad}{}", cells.collect::<String>())
}

fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// USD: cents, or more digits where there is less than one.
fn amount(usd: f64) -> String {
    if usd > 0.0 && usd < 0.01 {
        format!("{usd:.4}")
    } else {
        format!("{usd:.2}")
    }
}

/// `9999`, `12.3k`, `1.2M`: a count in at most six columns.
fn short(number: u64) -> String {
    let mut value = number as f64;
    if number < 10_000 {
        return number.to_string();
    }
    for unit in ["k", "M", "G"] {
        value /= 1000.0;
        if value < 999.95 {
            return format!("{value:.1}{unit}");
        }
    }
    format!("{:.0}T", value / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_said_and_never_added_as_nothing() {
        let mut sum = Sum {
            runs: 4,
            reported: 1.0,
            reported_runs: 1,
            ..Sum::default()
        };
        assert_eq!(worth(&sum), "$1.00");
        sum.usd_unknown = 3;
        assert_eq!(worth(&sum), "≥ $1.00 (3 runs unknown)");
        assert_eq!(json_of(&sum)["usd"]["total"], Value::Null);
        let none = Sum {
            runs: 1,
            usd_unknown: 1,
            ..Sum::default()
        };
        assert_eq!(worth(&none), "unknown (1 run)");
    }

    #[test]
    fn counts_fit_their_column() {
        for (number, shown) in [
            (9_999, "9999"),
            (10_000, "10.0k"),
            (999_949, "999.9k"),
            (999_950, "1.0M"),
            (u64::MAX, "18446744T"),
        ] {
            assert_eq!(short(number), shown);
        }
    }
}
