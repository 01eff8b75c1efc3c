//! `git arkaint explain RUN`: why a run was judged as it was, from the ledger. Logs given as files are `explain`'s.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use super::explain;
use crate::cli::{Explain, Global};
use crate::cycle::{cost_word, scratch};
use crate::exit::{Exit, Refusal};
use crate::gate;
use crate::git::Worktree;
use crate::ledger::{Kind, Record, notes};
use crate::text;
use crate::ui::{Tone, Ui};

pub(super) fn run(global: &Global, args: &Explain, ui: &Ui) -> Result<Exit> {
    let agent = args.agent.as_deref().map(explain::agent_name).transpose()?;
    let base = global.dir.as_deref().unwrap_or(Path::new(""));
    let files: Vec<_> = args.what.iter().map(|word| base.join(word)).collect();
    if !files.is_empty() && files.iter().all(|file| file.is_file()) {
        let files: Vec<&Path> = files.iter().map(AsRef::as_ref).collect();
        return explain::logs(ui, &files, agent, &explain::DEFAULT_LIMITS);
    }
    if let [_, _, ..] = args.what.as_slice() {
        let missing = files
            .iter()
            .find(|f| !f.is_file())
            .map(|f| f.display().to_string())
            .unwrap_or_default();
        return Err(Refusal::new(
            format!("{missing} is no file: several words are logs of successive launches"),
            "git arkaint explain LOG...; or one run: git arkaint explain RUN",
        )
        .into());
    }
    let id = args.what.first().map(String::as_str);
    match (gate::open(global.dir.as_deref()), id) {
        (Ok(worktree), id) => one(&worktree, id, ui),
        (Err(_), Some(word)) => Err(no_such(word)),
        (Err(error), None) => Err(error),
    }
}

fn one(worktree: &Worktree, id: Option<&str>, ui: &Ui) -> Result<Exit> {
    let all: Vec<Record> = notes::all(worktree)?
        .into_iter()
        .map(|(_, record)| record)
        .collect();
    let wanted =
        |record: &&Record| record.is(Kind::Run) && id.is_none_or(|id| record.id().starts_with(id));
    let Some(run) = all.iter().rev().find(wanted) else {
        return Err(id.map_or_else(
            || Refusal::new("the ledger has no run", "git arkaint cycle \"what to do\"").into(),
            no_such,
        ));
    };
    let of_run = |kind: Kind| {
        all.iter()
            .filter(move |r| r.is(kind) && r.str("run") == run.id())
    };
    let trips: Vec<&Record> = of_run(Kind::Trip).collect();
    let failures: Vec<&Record> = of_run(Kind::Failure).collect();
    let log = scratch::find_run(worktree, run.id())
        .map(|folder| folder.join("run.log"))
        .filter(|log| log.is_file());
    if ui.is_json() {
        ui.json(&json!({
            "v": 1, "run": run.to_value(), "outcome": run.str("outcome"), "signatures": run.get("signatures"), "trips": !trips.is_empty(),
            "trip": trips.first().map(|t| t.to_value()), "failures": failures.iter().map(|f| f.to_value()).collect::<Vec<_>>(),
            "log": log.as_ref().map(|l| l.to_string_lossy()),
        }));
        return Ok(Exit::Done);
    }
    let row = |name: &str, value: &str| {
        if !value.is_empty() {
            ui.out(format!(
                "{name:<10} {}",
                text::ellipsis(&text::visible_line(value), 600)
            ));
        }
    };
    ui.out_toned(Tone::Head, format!("run {}  {}", run.id(), run.at()));
    row("task", run.str("task"));
    row(
        "agent",
        &[
            run.str("agent"),
            run.str("version"),
            run.str("provider"),
            run.str("model"),
        ]
        .join(" "),
    );
    row("given", run.str("instruction"));
    row(
        "outcome",
        &format!("{}: {}", run.str("outcome"), run.str("reason")),
    );
    row("cost", &run.get("cost").map(cost_word).unwrap_or_default());
    let word = if run.get("changed") == Some(&Value::Bool(true)) {
        "changed"
    } else {
        "as at the stable checkpoint"
    };
    row("content", word);
    row("checks", run.str("checks"));
    for broken in run
        .get("broken")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        row("broken", broken.as_str().unwrap_or_default());
    }
    for failure in &failures {
        row(
            "failed",
            &format!(
                "{} {}: {}",
                failure.str("check"),
                failure.str("label"),
                failure.str("line")
            ),
        );
    }
    for seen in run
        .get("signatures")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let word = |key: &str| seen[key].as_str().unwrap_or_default();
        let state = if seen["resolved"] == true {
            "resolved".to_owned()
        } else {
            format!("unresolved, {} times", seen["count"])
        };
        row(
            "tool",
            &format!("{} ({state}): {}", word("label"), word("line")),
        );
    }
    if let Some(drift) = run.get("drift").filter(|d| d.is_object()) {
        row("drift", &drift_word(drift));
    }
    match trips.first() {
        Some(trip) => row("breaker", &format!("tripped: {}", trip.str("why"))),
        None => row("breaker", "did not trip"),
    }
    row("archive", run.str("archive"));
    row(
        "log",
        &log.map(|l| l.display().to_string()).unwrap_or_default(),
    );
    Ok(Exit::Done)
}

fn no_such(word: &str) -> anyhow::Error {
    let cause = format!("no such log or run: {word}");
    Refusal::new(cause, "git arkaint log --kind run").into()
}

fn drift_word(drift: &Value) -> String {
    match (drift["verdict"].as_str(), drift["z"].as_f64()) {
        (Some("measured"), Some(z)) => {
            let threshold = drift["threshold"].as_f64().unwrap_or_default();
            let word = if z < threshold {
                "far from the task"
            } else {
                "near the task"
            };
            format!("z = {z:.2}, {word} (alarm below {threshold:.2})")
        }
        _ => format!(
            "not measured: {}",
            drift["reason"].as_str().unwrap_or("unknown")
        ),
    }
}
