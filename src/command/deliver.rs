//! `git arkaint deliver`: the gate over what is delivered, its table, and the merge of what it lets through.

use anyhow::Result;
use serde_json::json;

use crate::cli::Deliver;
use crate::deliver::gates::{self, Answer, Judged};
use crate::deliver::merge::{self, How};
use crate::deliver::subject::{Ask, Delivery};
use crate::deliver::verdict;
use crate::evidence::standing::Standing;
use crate::evidence::table::Table;
use crate::exit::{Exit, Refusal};
use crate::gate::{self, Lock};
use crate::git::Worktree;
use crate::text;
use crate::ui::{self, Tone, Ui};

pub(super) fn run(worktree: &Worktree, args: &Deliver, ui: &Ui) -> Result<Exit> {
    if !args.check {
        gate::refuse_nested()?;
        gate::identity(worktree)?;
    }
    let _lock = if args.check {
        None
    } else {
        Some(Lock::take(worktree)?)
    };
    let ask = Ask {
        branch: args.branch.as_deref(),
        base: args.base.as_deref(),
        ..Ask::default()
    };
    one(worktree, args, ask, ui)
}

/// Judges one delivery, shows it, keeps it, merges it where that was asked.
fn one(worktree: &Worktree, args: &Deliver, ask: Ask<'_>, ui: &Ui) -> Result<Exit> {
    let delivery = Delivery::find(worktree, ask)?;
    let judged = gates::judge(&delivery, None, None)?;
    let shown = verdict::shown(&delivery, &judged);
    if !args.check {
        verdict::keep(&delivery, &judged)?;
    }
    if args.markdown {
        ui.raw(shown.markdown().as_bytes());
    } else if !ui.is_json() {
        print(&delivery, &judged, ui);
    }
    let merged = if args.merge && judged.is_open() {
        let how = match (args.squash, args.ff) {
            (true, _) => How::Squash,
            (_, true) => How::FastForward,
            _ => How::Commit,
        };
        Some(merge::merge(&delivery, how)?)
    } else {
        None
    };
    if ui.is_json() {
        let mut value = shown.json();
        value["merged"] = json!(merged.map(|commit| commit.to_string()));
        ui.json(&value);
    }
    if let Some(merged) = merged {
        ui.say(
            Tone::Good,
            format!(
                "merged into {} as {}",
                text::visible_line(&delivery.base.name),
                merged.to_hex_with_len(12)
            ),
        );
    }
    say_stop(&judged, args.merge, ui);
    Ok(judged.exit())
}

fn print(delivery: &Delivery<'_>, judged: &Judged, ui: &Ui) {
    ui.out_toned(
        Tone::Head,
        format!(
            "{} at {} into {} at {}{}",
            text::visible_line(delivery.branch.as_deref().unwrap_or("HEAD")),
            delivery.head.to_hex_with_len(12),
            text::visible_line(&delivery.base.name),
            delivery.base.tip.to_hex_with_len(12),
            delivery.contract().map_or(String::new(), |digest| format!(
                ", contract {}",
                &digest[..12]
            ))
        ),
    );
    let width = ui::width();
    if let Some(standing) = judged.standing.as_ref().filter(|s| s.asked) {
        ui.out("");
        table(delivery, standing, width, ui);
    }
    ui.out("");
    for gate in &judged.gates {
        let tone = match gate.answer {
            Answer::Open => Tone::Good,
            Answer::Closed => Tone::Bad,
            Answer::Held | Answer::Waiting => Tone::Warn,
            Answer::Skipped => Tone::Dim,
        };
        let head = format!("{:<8} {:<16} ", gate.answer.name(), gate.name);
        let indent = " ".repeat(head.len());
        let options = textwrap::Options::new(width)
            .initial_indent(&head)
            .subsequent_indent(&indent);
        for line in textwrap::wrap(&text::visible_line(&gate.why), options) {
            ui.out_toned(tone, line);
        }
    }
}

fn table(delivery: &Delivery<'_>, standing: &Standing, width: usize, ui: &Ui) {
    let (head, tree) = (delivery.head.to_string(), delivery.tree.to_string());
    let artifacts = standing.artifacts();
    let table = Table {
        assessment: &standing.assessment,
        head: &head,
        tree: &tree,
        contract: delivery.contract(),
        artifacts: &artifacts,
    };
    for (tone, line) in table.lines(width) {
        ui.out_toned(tone, line);
    }
}

/// The answer: one line, and the command that helps.
fn say_stop(judged: &Judged, merge: bool, ui: &Ui) {
    let Some(stop) = judged.stop() else {
        if !merge {
            ui.say(Tone::Good, "the gate is open: git arkaint deliver --merge");
        }
        return;
    };
    let what = match stop.answer {
        Answer::Closed => "the gate is closed",
        Answer::Waiting => "the gate waits",
        _ => "the gate holds it for a person",
    };
    let mut hints: Vec<String> = judged
        .standing
        .as_ref()
        .filter(|_| matches!(stop.name, "artifacts" | "both lists"))
        .map(Standing::to_do)
        .unwrap_or_default()
        .into_iter()
        .filter(|line| *line != stop.why)
        .take(5)
        .collect();
    hints.extend(stop.hint.clone());
    if hints.is_empty() {
        hints.push("git arkaint deliver --check shows every gate".to_owned());
    }
    let refusal = Refusal::with_exit(
        judged.exit(),
        format!("{what}: {}: {}", stop.name, stop.why),
        "",
    );
    ui.error(&refusal.cause, &hints);
}
