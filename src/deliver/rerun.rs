//! `--rerun`: what the lists name, and the project's own checks, run again in a fresh worktree of the delivered commit. The only grade that is
//! independent of the worker; it decides nothing.

use anyhow::Result;

use super::subject::Delivery;
use crate::config::{CommandLine, TestCommand};
use crate::evidence::contract::CheckKind;
use crate::evidence::dod::List;
use crate::evidence::standing::Rerun;
use crate::evidence::verify::Status;
use crate::recorder::rerun::{self, Command, Order};
use crate::ui::Ui;

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Reran {
    pub items: Vec<Rerun>,
    /// The project's own checks: did they pass, and the last line.
    pub own: Option<(bool, String)>,
}

/// The id under which the project's own checks run; no item's, as those begin with their list.
const OWN: &str = "checks";

/// Runs everything once.
///
/// # Errors
/// When no fresh worktree can be made, or its setup fails.
pub(crate) fn run(delivery: &Delivery<'_>, ui: &Ui) -> Result<Reran> {
    let config = &delivery.config;
    let commands = commands(delivery);
    let ran = rerun::rerun(
        delivery.worktree,
        &Order {
            commit: delivery.head,
            setup: config.dispatch.setup.as_deref(),
            commands: &commands,
            timeout: config.checkpoint.timeout,
            wrapper: &config.agent.wrapper,
            echo: ui.is_talkative().then_some(ui),
        },
    )?;
    let mut reran = Reran::default();
    for ran in ran {
        let passed = ran.status == Status::Passed;
        for id in &ran.ids {
            if id == OWN {
                reran.own = Some((passed, ran.evidence.clone()));
            } else if let Some((list, id)) = named(id) {
                reran.items.push(Rerun {
                    list,
                    id,
                    passed,
                    evidence: ran.evidence.clone(),
                });
            }
        }
    }
    Ok(reran)
}

/// Each command with the items that it shows; equal ones are one.
fn commands(delivery: &Delivery<'_>) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    let mut add = |id: String, line: CommandLine| match commands
        .iter_mut()
        .find(|command| command.line == line)
    {
        Some(command) => command.ids.push(id),
        None => commands.push(Command {
            ids: vec![id],
            line,
        }),
    };
    let test = match &delivery.config.checkpoint.test {
        TestCommand::Run(test) => Some(test.clone()),
        TestCommand::Unset | TestCommand::Declared => None,
    };
    if let Some(test) = &test {
        add(OWN.to_owned(), test.clone());
    }
    let project = match &delivery.frozen {
        Some(frozen) => &frozen.contract.project,
        None => &delivery.config.dod,
    };
    for item in project {
        if let Some(argv) = &item.command {
            add(
                format!("{}/{}", List::Project.name(), item.id),
                CommandLine::Argv(argv.clone()),
            );
        }
    }
    for outcome in delivery
        .frozen
        .iter()
        .flat_map(|frozen| &frozen.contract.body.outcomes)
    {
        let line = match (&outcome.check.kind, &outcome.check.command) {
            (CheckKind::Manual, _) | (CheckKind::Command, None) => None,
            (_, Some(line)) => Some(line.clone()),
            (CheckKind::Test, None) => test.clone(),
        };
        if let Some(line) = line {
            add(format!("{}/{}", List::Issue.name(), outcome.id), line);
        }
    }
    commands
}

fn named(id: &str) -> Option<(List, String)> {
    let (list, id) = id.split_once('/')?;
    let list = [List::Project, List::Issue]
        .into_iter()
        .find(|known| known.name() == list)?;
    Some((list, id.to_owned()))
}
