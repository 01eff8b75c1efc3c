//! `git arkaint decay`: the signals of decay over time, in numbers and as a chart of plain characters. Reads only, takes no lock, works
//! inside a run.

use anyhow::Result;
use jiff::civil::Date;
use serde_json::{Value, json};

use super::decay_chart::{self, Days};
use crate::cli::Decay;
use crate::decay::quick_fix::{self, Step};
use crate::decay::{Mode, Run, Told};
use crate::exit::{Exit, Refusal};
use crate::git::Worktree;
use crate::ledger::{Record, since};
use crate::text;
use crate::ui::{self, Tone, Ui};

pub(super) fn run(worktree: &Worktree, args: &Decay, ui: &Ui) -> Result<Exit> {
    if let Some(range) = &args.measure {
        return measure(worktree, range, ui);
    }
    let since = args.since.as_deref().map(since::parse).transpose()?;
    let mut told = Told::read(worktree, since.as_deref())?;
    let wanted = |mode: Mode| args.mode.is_empty() || args.mode.contains(&mode.number());
    told.signals.retain(|(mode, _)| wanted(*mode));
    let modes: Vec<Mode> = Mode::ALL.into_iter().filter(|mode| wanted(*mode)).collect();
    if ui.is_json() {
        ui.json(&document(&told, &modes, since.as_deref()));
        return Ok(Exit::Done);
    }
    if told.runs.is_empty() && told.signals.is_empty() {
        ui.say(Tone::Plain, "the ledger has no such run and no signal");
        return Ok(Exit::Done);
    }
    show(&told, &modes, args, ui);
    Ok(Exit::Done)
}

fn document(told: &Told, modes: &[Mode], since: Option<&str>) -> Value {
    let of = |mode: Mode| told.signals.iter().filter(move |(m, _)| *m == mode);
    let modes: Vec<Value> = modes
        .iter()
        .map(|mode| {
            json!({"mode": mode.number(), "name": mode.name(), "signals": of(*mode).count(), "last": of(*mode).next_back().map(|(_, r)| r.at())})
        })
        .collect();
    let drift: Vec<Value> = told
        .runs
        .iter()
        .filter_map(|run| {
            let (z, threshold) = run.measured()?;
            Some(json!({"at": run.at, "run": run.id, "z": z, "threshold": threshold, "alarm": z < threshold}))
        })
        .collect();
    let signals: Vec<Value> = told.signals.iter().map(|(_, r)| r.to_value()).collect();
    json!({"v": 1, "zone": "UTC", "since": since, "runs": told.runs.len(), "modes": modes, "drift": drift, "signals": signals})
}

fn show(told: &Told, modes: &[Mode], args: &Decay, ui: &Ui) {
    // "5 repeated-failure-looping", a count, and what is left for the days.
    const NAME: usize = 27;
    const COUNT: usize = 6;
    let width = ui::width();
    let times = || {
        let runs = told.runs.iter().map(|run| run.at.as_str());
        runs.chain(told.signals.iter().map(|(_, record)| record.at()))
    };
    let days = Days::over(
        times().filter_map(day),
        width.saturating_sub(NAME + COUNT + 1),
    );
    if let Some(days) = &days {
        ui.out_toned(
            Tone::Head,
            format!("{:<NAME$}{:>COUNT$} {}", "mode", "count", days.heading()),
        );
    }
    let row = |name: String, at: Vec<&str>| {
        let chart = days
            .as_ref()
            .map(|days| days.row(at.iter().filter_map(|at| day(at))));
        let chart = chart.unwrap_or_default();
        ui.out(format!("{name:<NAME$}{:>COUNT$} {chart}", at.len()).trim_end());
    };
    for mode in modes {
        let at = told.signals.iter().filter(|(m, _)| m == mode);
        row(
            format!("{} {}", mode.number(), mode.name()),
            at.map(|(_, r)| r.at()).collect(),
        );
    }
    row(
        "runs".to_owned(),
        told.runs.iter().map(|run| run.at.as_str()).collect(),
    );
    if modes.contains(&Mode::ContextDrift) {
        let scores: Vec<(f64, f64)> = told.runs.iter().filter_map(Run::measured).collect();
        for line in decay_chart::drift(&scores, width) {
            ui.out(line);
        }
    }
    let most = args.max_count.unwrap_or(10);
    if !told.signals.is_empty() && most > 0 {
        ui.out("");
    }
    for (mode, record) in told.signals.iter().rev().take(most) {
        let at = record.at().get(..16).unwrap_or_default().replace('T', " ");
        let line = format!("{at} {} {}", mode.number(), told_line(record));
        ui.out(text::fit(&text::visible_line(&line), width));
    }
}

/// The words of a record; those of the first version had none.
fn told_line(record: &Record) -> &str {
    match record.str("line") {
        "" => record.str("name"),
        line => line,
    }
}

fn day(at: &str) -> Option<Date> {
    at.get(..10)?.parse().ok()
}

/// What mode 2 would have said of each commit of a history, taken as steps: to see how the threshold fits a repository.
fn measure(worktree: &Worktree, range: &str, ui: &Ui) -> Result<Exit> {
    let listed = worktree
        .git()
        .call([
            "rev-list",
            "--first-parent",
            "--no-merges",
            "--parents",
            "--end-of-options",
        ])
        .arg(range)
        .output()?;
    if listed.code != Some(0) {
        return Err(Refusal::new(
            format!("{range} names no commits here"),
            "git arkaint decay --measure main~50..main",
        )
        .into());
    }
    let tree = |commit: &str| worktree.tree_of(crate::git::Oid::from_hex(commit.as_bytes())?);
    let mut steps = Vec::new();
    for line in String::from_utf8_lossy(&listed.stdout).lines() {
        if let [commit, parent] = line.split(' ').collect::<Vec<_>>()[..] {
            steps.push((
                commit.to_owned(),
                Step::between(worktree, tree(parent)?, tree(commit)?)?,
            ));
        }
    }
    let mut alarms = 0;
    let mut rows = Vec::new();
    for (place, (commit, step)) in steps.iter().enumerate() {
        let signal =
            quick_fix::signal(|older| Ok(steps.get(place + older).map(|(_, step)| step.clone())))?;
        alarms += usize::from(signal.is_some());
        let (more, line) = (step.grown(), signal.as_ref().map(|s| s.line.clone()));
        if ui.is_json() {
            rows.push(json!({"commit": commit, "more": more, "alarm": signal.is_some(), "evidence": signal.map(|s| s.evidence)}));
        } else if more > 0 {
            let line = format!(
                "{} {more:>4} {}",
                &commit[..12.min(commit.len())],
                line.unwrap_or_default()
            );
            ui.out(text::fit(line.trim_end(), ui::width()));
        }
    }
    if ui.is_json() {
        ui.json(
            &json!({"v": 1, "mode": 2, "commits": steps.len(), "alarms": alarms, "steps": rows}),
        );
    } else {
        ui.out_toned(
            Tone::Head,
            format!("{alarms} alarms over {} commits", steps.len()),
        );
    }
    Ok(Exit::Done)
}
