//! `git arkaint boot`: build the packet, launch the agent once, record it.

use anyhow::Result;

use crate::cli::{Boot, Global};
use crate::cycle::boot;
use crate::exit::Exit;
use crate::gate::{self, Ask, Branch};
use crate::process;
use crate::ui::Ui;

pub(super) fn run(global: &Global, args: &Boot, ui: &Ui) -> Result<Exit> {
    let _watch = process::watch_signals()?;
    let pass = gate::enter(Ask {
        dir: global.dir.as_deref(),
        launch: Some(&args.launch),
        task: Some(&args.task),
        branch: Branch::Isolated,
        agent: true,
    })?;
    let (exit, value) = boot::run(&pass, &pass.task, ui)?;
    if ui.is_json() {
        ui.json(&value);
    }
    Ok(exit)
}
