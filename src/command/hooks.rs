//! `git arkaint hooks install, uninstall, status`: prints what the hooks' room did or found.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use crate::cli::{self, HooksVerb};
use crate::exit::Exit;
use crate::git::Worktree;
use crate::hooks::status::{At, Hook, State, Status};
use crate::hooks::{self, Report, status};
use crate::ui::{Tone, Ui};

pub(crate) fn run(global: &cli::Global, words: &cli::Hooks, ui: &Ui) -> Result<Exit> {
    let worktree = Worktree::called_for(global.dir.as_deref().unwrap_or_else(|| Path::new(".")))?;
    match words.what {
        HooksVerb::Install => Ok(print_report(&hooks::install(&worktree, false)?, ui)),
        HooksVerb::Uninstall => Ok(print_report(&hooks::uninstall(&worktree)?, ui)),
        HooksVerb::Status { probe } => {
            let status = status::inspect(&worktree, probe)?;
            if ui.is_json() {
                ui.json(&serde_json::to_value(&status).context("writing the status of the hooks")?);
            } else {
                print_status(&status, ui);
            }
            Ok(if status.active {
                Exit::Done
            } else {
                Exit::CheckFailed
            })
        }
    }
}

fn print_report(report: &Report, ui: &Ui) -> Exit {
    if ui.is_json() {
        ui.json(&json!({ "v": 1, "active": report.active, "lines": report.lines }));
    } else if report.exit == Exit::Done {
        report
            .lines
            .iter()
            .for_each(|line| ui.say(Tone::Plain, line));
    } else if let Some((cause, hints)) = report.lines.split_first() {
        ui.error(cause, hints);
    }
    report.exit
}

fn print_status(status: &Status, ui: &Ui) {
    for at in &status.worktrees {
        ui.out_toned(
            Tone::Head,
            format!("{}: hooks in {} ({})", at.worktree, at.folder, at.why),
        );
        for hook in &at.hooks {
            let tone = if hook.runs { Tone::Good } else { Tone::Bad };
            ui.out_toned(tone, format!("  {:<17} {}", hook.name, described(hook)));
        }
        print_advice(at, ui);
    }
    match &status.program {
        Some(program) => ui.out(format!("program: {program}")),
        None => ui.out_toned(Tone::Bad, "program: not found with PATH=/usr/bin:/bin, so that a hook called by a graphical client would refuse"),
    }
}

fn print_advice(at: &At, ui: &Ui) {
    for note in &at.notes {
        ui.out_toned(Tone::Warn, format!("  note: {note}"));
    }
    for mend in &at.mend {
        ui.out(format!("  mend: {mend}"));
    }
}

fn described(hook: &Hook) -> String {
    let mut words = vec![match hook.state {
        State::Installed => "installed".to_owned(),
        State::Legacy => format!(
            "installed as {}.legacy, which the hook of another tool runs",
            hook.name
        ),
        State::Called => "called by a line in a hook that is not Arkaint's".to_owned(),
        State::Shadowed => format!("silenced: another tool moved it to {}.old", hook.name),
        State::Edited => "Arkaint's, but edited by hand".to_owned(),
        State::Foreign => "another hook, which does not call the guard".to_owned(),
        State::Missing => "missing".to_owned(),
    }];
    if let Some(version) = hook.version {
        words.push(format!("version {version}"));
    }
    if !hook.executable && !matches!(hook.state, State::Missing) {
        words.push("not executable".to_owned());
    }
    if hook.previous {
        words.push("runs the hook that was there first".to_owned());
    }
    match hook.answered {
        Some(true) => words.push("answered when git ran it".to_owned()),
        Some(false) => words.push("did not answer when git ran it".to_owned()),
        None => {}
    }
    words.join(", ")
}
