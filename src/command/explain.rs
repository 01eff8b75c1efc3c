//! `git arkaint explain LOG...`: why launches are judged as they are, from their logs alone. It needs no repository and keeps no log in
//! memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::agent::{self, AgentName, Outcome};
use crate::config::{self, Choice as _};
use crate::exit::{Exit, Refusal};
use crate::judge::outcome::Ending;
use crate::judge::{Breaker, Listener, Tally, Trip};
use crate::text;
use crate::ui::{self, Tone, Ui};

/// The limits of the breaker where no configuration says otherwise.
pub(crate) const DEFAULT_LIMITS: config::Breaker = config::Breaker {
    across: 2,
    within: 3,
    when_green: config::WhenGreen::Trip,
};

/// A longer line is cut, and says nothing.
const LINE_MAX: u64 = 32 * 1024 * 1024;
/// So many lines are looked at to recognise the agent.
const RECOGNISE_MAX: usize = 200;

/// One launch as its log tells it.
struct Launch {
    log: String,
    outcome: Outcome,
    reason: String,
    heard: Listener,
    trip: Option<Trip>,
}

/// Explains logs of successive launches of one task, in order.
pub(crate) fn logs(
    ui: &Ui,
    paths: &[&Path],
    agent: Option<AgentName>,
    limits: &config::Breaker,
) -> Result<Exit> {
    let mut breaker = Breaker::new(limits);
    let mut launches = Vec::new();
    for path in paths {
        let mut launch = read(path, agent)?;
        launch.trip = breaker.tool_launch(&launch.heard.report);
        launches.push(launch);
    }
    if ui.is_json() {
        ui.json(&document(&launches));
    } else {
        print(ui, &launches);
    }
    Ok(Exit::Done)
}

/// The agent of `--agent`.
pub(crate) fn agent_name(word: &str) -> Result<AgentName> {
    AgentName::parse(word).ok_or_else(|| {
        Refusal::new(
            format!("unknown agent '{word}'"),
            "git arkaint explain --agent goose LOG",
        )
        .into()
    })
}

fn read(path: &Path, agent: Option<AgentName>) -> Result<Launch> {
    let agent = match agent {
        Some(agent) => agent,
        None => recognise(path)?,
    };
    let mut heard = Listener::new(agent, 0);
    lines(path, &mut |line| {
        heard.line(line);
        true
    })?;
    let (outcome, reason) = heard.outcome(&Ending::default());
    Ok(Launch {
        log: path.display().to_string(),
        outcome,
        reason,
        heard,
        trip: None,
    })
}

/// The agent that wrote a log: the default agent when no line can tell.
fn recognise(path: &Path) -> Result<AgentName> {
    let (mut found, mut seen) = (None, 0);
    lines(path, &mut |line| {
        found = agent::recognise(line);
        seen += 1;
        found.is_none() && seen < RECOGNISE_MAX
    })?;
    Ok(found.unwrap_or(AgentName::Goose))
}

/// Hands the lines on one by one until `each` has enough.
fn lines(path: &Path, each: &mut dyn FnMut(&[u8]) -> bool) -> Result<()> {
    let reading = || format!("reading {}", path.display());
    let file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow::Error::from(Refusal::new(
            format!("no such log or run: {}", path.display()),
            "git arkaint log --kind run",
        )),
        _ => anyhow::Error::from(error).context(reading()),
    })?;
    let mut file = BufReader::with_capacity(256 * 1024, file);
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut file)
            .take(LINE_MAX)
            .read_until(b'\n', &mut line)
            .with_context(reading)?
            == 0
        {
            return Ok(());
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() as u64 == LINE_MAX {
            file.skip_until(b'\n').with_context(reading)?;
        }
        if !each(&line) {
            return Ok(());
        }
    }
}

fn document(launches: &[Launch]) -> Value {
    let last = launches.last();
    json!({
        "v": 1,
        "outcome": last.map(|launch| launch.outcome),
        "reason": last.map(|launch| &launch.reason),
        "trips": last.is_some_and(|launch| launch.trip.is_some()),
        "trip": last.and_then(|launch| launch.trip.as_ref()),
        "signatures": launches.iter().enumerate().flat_map(|(at, launch)| launch.heard.report.tallies().map(move |tally| signature(tally, at + 1))).collect::<Vec<_>>(),
        "launches": launches.iter().map(launch_value).collect::<Vec<_>>(),
    })
}

fn signature(tally: &Tally, launch: usize) -> Value {
    let signature = &tally.seen.signature;
    json!({
        "hash": signature.hash, "kind": signature.kind, "label": signature.label, "raw": signature.raw, "normalised": signature.normalised,
        "count": tally.total, "unresolved": tally.count, "resolved": tally.resolved, "launch": launch,
    })
}

fn launch_value(launch: &Launch) -> Value {
    let run = &launch.heard.transcript;
    json!({
        "log": launch.log, "agent": launch.heard.agent().as_str(), "provider": run.provider, "model": run.model,
        "outcome": launch.outcome, "reason": launch.reason, "trips": launch.trip.is_some(), "trip": launch.trip,
        "usage": run.usage, "cost_usd": run.cost_usd, "turns": run.turns, "tool_calls": run.tool_calls, "tool_failures": run.tool_failures,
        "completed": run.completed(),
    })
}

fn print(ui: &Ui, launches: &[Launch]) {
    for (at, launch) in launches.iter().enumerate() {
        if at > 0 {
            ui.out("");
        }
        print_launch(ui, launch, (launches.len() > 1).then_some(at + 1));
    }
    ui.out("");
    match launches.last().and_then(|launch| launch.trip.as_ref()) {
        Some(trip) => wrapped(
            ui,
            Tone::Bad,
            "breaker   ",
            &format!("trips: {}", trip.reason),
        ),
        None => ui.out_toned(Tone::Good, "breaker   does not trip"),
    }
}

fn print_launch(ui: &Ui, launch: &Launch, number: Option<usize>) {
    let run = &launch.heard.transcript;
    let tone = if launch.outcome == Outcome::Done {
        Tone::Good
    } else {
        Tone::Bad
    };
    let heading = number.map_or_else(
        || launch.log.clone(),
        |number| format!("{number}. {}", launch.log),
    );
    ui.out_toned(Tone::Head, heading);
    wrapped(
        ui,
        tone,
        "outcome   ",
        &format!("{}: {}", launch.outcome.word(), launch.reason),
    );
    let model = match (&run.provider, &run.model) {
        (Some(provider), Some(model)) => format!("{provider}/{model}"),
        (_, model) => model.clone().unwrap_or_else(|| "model unknown".to_owned()),
    };
    let tokens = run.tokens();
    let used = if tokens.estimated {
        "tokens unknown".to_owned()
    } else {
        format!("{} tokens", tokens.total)
    };
    let calls = format!(
        "{} tool calls, {} with an error",
        run.tool_calls, run.tool_failures
    );
    wrapped(
        ui,
        Tone::Plain,
        "agent     ",
        &format!(
            "{}, {model}, {} turns, {calls}, {used}",
            launch.heard.agent().as_str(),
            run.turns
        ),
    );
    if launch.heard.report.tallies().next().is_none() {
        ui.out("failures  none: no check of the agent's own failed");
    }
    for tally in launch.heard.report.tallies() {
        let signature = &tally.seen.signature;
        let (mark, tone) = if tally.resolved {
            ("resolved  ", Tone::Good)
        } else {
            ("open      ", Tone::Warn)
        };
        let times = if tally.total == 1 {
            "once".to_owned()
        } else {
            format!("{} times", tally.total)
        };
        let since = if tally.resolved || tally.count == tally.total {
            String::new()
        } else {
            format!(", {} since it last passed", tally.count)
        };
        wrapped(
            ui,
            tone,
            mark,
            &format!("{} ({times}{since})", signature.normalised),
        );
        ui.out_toned(
            Tone::Dim,
            format!(
                "          {}",
                text::ellipsis(
                    &text::visible_line(signature.raw.trim()),
                    ui::width().saturating_sub(10)
                )
            ),
        );
        ui.out_toned(Tone::Dim, format!("          {}", signature.hash));
    }
}

/// A line behind a ten-column label, wrapped between words.
fn wrapped(ui: &Ui, tone: Tone, label: &str, words: &str) {
    let width = ui::width().max(label.len() + 20);
    let mut line = label.to_owned();
    for word in text::visible_line(words).split_whitespace() {
        let starts = line.len() == label.len();
        if !starts && line.chars().count() + 1 + word.chars().count() > width {
            ui.out_toned(tone, &line);
            line = " ".repeat(label.len());
        } else if !starts {
            line.push(' ');
        }
        line.push_str(word);
    }
    ui.out_toned(tone, &line);
}
