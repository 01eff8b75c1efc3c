//! `git arkaint checkpoint`: test what is on disk, then commit the tested state.

use anyhow::Result;
use serde_json::json;

use crate::cli::{Checkpoint, Global};
use crate::cycle::checkpoint::{self, Made, Order};
use crate::cycle::{open, recovery};
use crate::exit::Exit;
use crate::gate::{self, Ask, Branch, task};
use crate::process;
use crate::ui::{Tone, Ui};

pub(super) fn run(global: &Global, args: &Checkpoint, ui: &Ui) -> Result<Exit> {
    let _watch = process::watch_signals()?;
    let pass = gate::enter(Ask {
        dir: global.dir.as_deref(),
        launch: None,
        task: None,
        branch: Branch::Isolated,
        agent: false,
    })?;
    recovery::settle(&pass, ui)?;
    let interrupted = open::load(&pass.worktree);
    let task = match (&args.task, &interrupted) {
        (Some(task), _) => task.trim().to_owned(),
        (None, Some(open)) => open.task.clone(),
        (None, None) => task::settle(&pass.worktree, &pass.branch, None).unwrap_or_default(),
    };
    let order = Order {
        message: args
            .message
            .as_deref()
            .unwrap_or_default()
            .trim()
            .to_owned(),
        task,
        ..Order::default()
    };
    let made = checkpoint::make(&pass, &order, ui)?;
    open::clear(&pass.worktree)?;
    let commit = match &made {
        Made::New(made) => {
            ui.say(
                Tone::Good,
                format!(
                    "checkpoint {} ({}) on {}",
                    made.commit.to_hex_with_len(12),
                    made.label(),
                    pass.branch
                ),
            );
            Some(made.commit.to_string())
        }
        Made::Nothing(at_head) => {
            let what = if at_head.is_some() {
                "HEAD is a checkpoint of exactly this"
            } else {
                "the checks pass"
            };
            ui.say(Tone::Plain, format!("nothing to commit: {what}"));
            None
        }
    };
    match (ui.is_json(), &commit) {
        (true, _) => ui.json(&json!({"v": 1, "committed": commit.is_some(), "commit": commit})),
        (false, Some(commit)) => ui.out(commit),
        _ => {}
    }
    Ok(Exit::Done)
}
