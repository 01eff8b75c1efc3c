//! One verb a file: take the words, call the domain, print. Here: parsing, dispatch, and the one place where exit codes are made.

mod completions;
mod explain_drift;
mod hook;
mod hooks;
mod init;
mod man;
mod status_config;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use crate::cli::{Cli, Color, Verb};
use crate::exit::{Exit, Refusal};
use crate::git::Worktree;
use crate::ui::Ui;

/// The program: words from the command line to an exit code.
pub fn main() -> ExitCode {
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
    ExitCode::from(match run(&cli, &ui) {
        Ok(exit) => exit.code(),
        Err(error) => report(&ui, &error).code(),
    })
}

/// The thin binaries: hands `git-arkaint-VERB ARGS` over to the `git-arkaint` beside it as `VERB ARGS`, so that both are one program.
pub fn exec_verb(verb: &str) -> ExitCode {
    use std::os::unix::process::CommandExt;
    let beside = std::env::current_exe()
        .ok()
        .map(|me| me.with_file_name("git-arkaint"))
        .filter(|p| p.exists());
    let program = beside.unwrap_or_else(|| "git-arkaint".into());
    let error = std::process::Command::new(&program)
        .arg(verb)
        .args(std::env::args_os().skip(1))
        .exec();
    let ui = Ui::new(false, false, false, Color::Auto);
    ui.error(
        &format!("starting {}: {error}", program.display()),
        &["reinstall: ./install.sh".to_owned()],
    );
    ExitCode::from(Exit::Refused.code())
}

fn run(cli: &Cli, ui: &Ui) -> Result<Exit> {
    match &cli.verb {
        Verb::Completions(words) => Ok(completions::run(words, ui)),
        Verb::Man(words) => man::run(words, ui),
        Verb::Explain(words) if words.drift => {
            let dir = cli.global.dir.as_deref().unwrap_or(Path::new("."));
            explain_drift::run(&Worktree::discover(dir)?, words.rev.as_deref(), ui)
        }
        Verb::Init(words) => init::run(words, &worktree(cli)?, ui),
        Verb::Status(words) if words.config => status_config::run(&worktree(cli)?, ui),
        Verb::Hooks(words) => hooks::run(&cli.global, words, ui),
        Verb::Hook(words) => hook::run(words, ui),
        _ => Ok(Exit::Done),
    }
}

/// The worktree that the command was started in, or that `-C` names.
fn worktree(cli: &Cli) -> Result<Worktree> {
    let here = || std::env::current_dir().context("reading the current folder");
    Worktree::discover(&cli.global.dir.clone().map_or_else(here, Ok::<PathBuf, _>)?)
}

fn report(ui: &Ui, error: &anyhow::Error) -> Exit {
    if let Some(refusal) = error.downcast_ref::<Refusal>() {
        ui.error(&refusal.cause, &refusal.hints);
        return refusal.exit;
    }
    ui.error(&format!("{error:#}"), &["git arkaint status".to_owned()]);
    Exit::Person
}
