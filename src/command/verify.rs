//! `git arkaint verify`: run a command and record what it shows. It takes no lock of a run's and works inside one.

use anyhow::Result;
use serde_json::json;

use crate::cli::Verify;
use crate::evidence::seal::Seal;
use crate::evidence::verify::PATH;
use crate::exit::{Exit, Refusal};
use crate::git::Worktree;
use crate::process;
use crate::recorder::verify::{Order, Recorded, Written, record};
use crate::text;
use crate::ui::{Tone, Ui};

pub(super) fn run(worktree: &Worktree, args: &Verify, ui: &Ui) -> Result<Exit> {
    let _watch = process::watch_signals()?;
    let order = Order {
        argv: &args.command,
        outcomes: &args.outcome,
        echo: ui.is_talkative().then_some(ui),
    };
    match record(worktree, &order)? {
        Recorded::Written(written) => Ok(told(&written, ui)),
        Recorded::Moved(what) => {
            let cause = format!("{what}: nothing was sealed; run it again");
            let hint = "a file that a check writes is ignored: echo PATH >> .gitignore";
            Err(Refusal::with_exit(Exit::CheckFailed, cause, hint).into())
        }
        Recorded::Interrupted(signal) => {
            ui.warn("interrupted: nothing was written");
            Ok(Exit::Interrupted(u8::try_from(signal).unwrap_or(2)))
        }
    }
}

fn told(written: &Written, ui: &Ui) -> Exit {
    let passed = written.ran.exit == 0;
    for note in &written.notes {
        ui.warn(line(note));
    }
    if written.outcomes.is_empty() && written.items.is_empty() {
        ui.warn(line(&format!(
            "this command is not that of any outcome or item{}: {PATH} says nothing of them; name one by --outcome ID",
            written.known
        )));
    }
    if let Some(run) = written.seals.iter().find_map(|seal| seal.run.as_deref()) {
        ui.say(
            Tone::Plain,
            line(&format!(
                "inside run {run}: this is a claim until the run is over"
            )),
        );
    }
    if ui.is_json() {
        let outcomes = written.outcomes.iter().map(|outcome| {
            let sealed = written.seals.iter().any(|seal| {
                seal.file == PATH && seal.outcomes.contains(&outcome.id)
            });
            json!({ "id": outcome.id, "status": outcome.status.name(), "evidence": outcome.evidence, "sealed": sealed })
        });
        let files = written.seals.iter().map(
            |seal| json!({ "path": seal.file, "sha256": seal.sha256, "outcomes": seal.outcomes }),
        );
        ui.json(&json!({
            "v": 1, "exit": written.ran.exit, "evidence": written.ran.evidence, "tree": written.tree.to_string(),
            "head": written.head.to_string(), "contract": written.contract,
            "run": written.seals.first().and_then(|seal: &Seal| seal.run.clone()),
            "outcomes": outcomes.collect::<Vec<_>>(), "items": written.items, "files": files.collect::<Vec<_>>(),
            "output_sha256": written.ran.output_sha256, "output_bytes": written.ran.output_bytes, "notes": written.notes,
        }));
    } else {
        let word = if passed { "passed" } else { "failed" };
        let ids = written.outcomes.iter().map(|outcome| outcome.id.as_str());
        let items = written.items.iter().map(|id| format!("project/{id}"));
        let all: Vec<String> = ids.map(str::to_owned).chain(items).collect();
        let all = if all.is_empty() {
            "nothing".to_owned()
        } else {
            all.join(", ")
        };
        ui.out_toned(
            if passed { Tone::Good } else { Tone::Bad },
            line(&format!(
                "{word} on tree {}: {all}: {}",
                written.tree.to_hex_with_len(12),
                written.ran.evidence
            )),
        );
    }
    if passed {
        Exit::Done
    } else {
        Exit::CheckFailed
    }
}

fn line(shown: &str) -> String {
    text::ellipsis(&text::visible_line(shown), 900)
}
