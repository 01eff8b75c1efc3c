//! One verb a file: take the words, call the domain, print. Here: parsing, the choice of the verb, and the one place where exit codes are made.

mod boot;
mod checkpoint;
mod completions;
mod contract;
mod cost;
mod cycle;
mod decay;
mod decay_chart;
mod deliver;
mod demo;
mod discarded;
mod dispatch;
mod doctor;
mod explain;
mod explain_drift;
mod explain_run;
mod hook;
mod hooks;
mod init;
mod log;
mod log_filter;
mod man;
mod packet;
mod rollback;
mod status;
mod status_config;
mod sync;
mod verify;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use crate::cli::{Cli, Color, Verb};
use crate::exit::{Exit, Refusal};
use crate::gate;
use crate::ui::Ui;

/// The program: words from the command line to an exit code.
pub fn main() -> ExitCode {
    if let Some(words) = hook::words_of_shim(std::env::args_os().skip(1)) {
        let ui = Ui::new(false, false, false, Color::default());
        return end(hook::run(&words, &ui), &ui);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => {
            let _ = usage.print();
            return ExitCode::from(if usage.use_stderr() {
                Exit::Refused.code()
            } else {
                0
            });
        }
    };
    let ui = Ui::new(
        cli.global.quiet,
        cli.global.verbose,
        cli.global.json,
        cli.global.color,
    );
    end(run(&cli, &ui), &ui)
}

fn end(outcome: Result<Exit>, ui: &Ui) -> ExitCode {
    let exit = outcome.unwrap_or_else(|error| report(ui, &error));
    ExitCode::from(exit.code())
}

fn run(cli: &Cli, ui: &Ui) -> Result<Exit> {
    let global = &cli.global;
    let here = || gate::open(global.dir.as_deref());
    match &cli.verb {
        Verb::Init(args) => init::run(args, &here()?, ui),
        Verb::Checkpoint(args) => checkpoint::run(global, args, ui),
        Verb::Boot(args) => boot::run(global, args, ui),
        Verb::Packet(args) => packet::run(&here()?, args, ui),
        Verb::Cycle(args) => cycle::run(global, args, ui),
        Verb::Contract(args) => contract::run(&here()?, args, ui),
        Verb::Verify(args) => verify::run(&here()?, args, ui),
        Verb::Dispatch(args) => dispatch::run(global, args, ui),
        Verb::Rollback(_) => rollback::run(global, ui),
        Verb::Deliver(args) => deliver::run(&here()?, args, ui),
        Verb::Status(args) if args.config => status_config::run(&here()?, ui),
        Verb::Status(_) => status::run(&here()?, ui),
        Verb::Log(args) => log::run(&here()?, args, ui),
        Verb::Sync(args) => sync::run(&here()?, args, ui),
        Verb::Cost(args) => cost::run(&here()?, args, ui),
        Verb::Decay(args) => decay::run(&here()?, args, ui),
        Verb::Explain(args) if args.drift => explain_drift::run(&here()?, args.rev.as_deref(), ui),
        Verb::Explain(args) => explain_run::run(global, args, ui),
        Verb::Discarded(args) => discarded::run(global, args, ui),
        Verb::Doctor(_) => Ok(doctor::run(global, ui)),
        Verb::Hooks(args) => hooks::run(global, args, ui),
        Verb::Hook(args) => hook::run(args, ui),
        Verb::Completions(args) => Ok(completions::run(args, ui)),
        Verb::Man(args) => man::run(args, ui),
        Verb::Demo(args) => demo::run(args, ui),
    }
}

fn report(ui: &Ui, error: &anyhow::Error) -> Exit {
    if let Some(refusal) = error.downcast_ref::<Refusal>() {
        ui.error(&refusal.cause, &refusal.hints);
        return refusal.exit;
    }
    ui.error(&format!("{error:#}"), &["git arkaint status".to_owned()]);
    Exit::Person
}
