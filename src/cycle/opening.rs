//! The opening of a cycle: a checkpoint of what is on disk, or the red state as it is, archived. No launch is made here.

use anyhow::{Context, Result};

use super::checkpoint::{self, Made};
use super::checks::{self, Care, Verdict};
use super::judging;
use super::machine::Progress;
use super::open::{self, Open};
use super::run::{self, Ask, Next};
use crate::archive::{self, Order};
use crate::exit::{Exit, Refusal};
use crate::gate::Pass;
use crate::git::hardened::Hardened;
use crate::git::state;
use crate::journal::Target;
use crate::judge::Breaker;
use crate::ledger::record;
use crate::packet::instruction;
use crate::text;
use crate::ui::{Tone, Ui};

/// The opening: a checkpoint of what is on disk, or the red state as it is.
pub(super) fn start(pass: &Pass, ask: Ask<'_>, ui: &Ui) -> Result<(Open, Option<Next>)> {
    let mut open = Open {
        id: record::fresh_id(),
        task: ask.task.to_owned(),
        profile: pass.profile.clone(),
        branch: pass.branch.clone(),
        red: false,
        target: Target {
            commit: pass.head,
            tree: pass.head,
            raw: false,
            index: None,
        },
        on: pass.head,
        stable_tree: None,
        progress: Progress::new(run::limits(pass)),
        breaker: Breaker::new(&pass.config.breaker),
        baseline: Vec::new(),
        nested: Vec::new(),
        launches: 0,
        tokens: Some(0),
    };
    let mut green = None;
    if ask.red {
        let checked = checks::run(
            pass,
            Care {
                twice: true,
                all: true,
            },
            None,
            ui,
        )?;
        match checked.verdict {
            Verdict::Red(reds) => {
                return start_red(pass, open, &reds, ui).map(|(open, next)| (open, Some(next)));
            }
            Verdict::Green | Verdict::Untested => {
                ui.say(Tone::Plain, "every check passes: this is no red start, so the cycle opens with a checkpoint");
                green = Some(checked.content.tree);
            }
            Verdict::Flaky(reds) => {
                return Err(Refusal::with_exit(
                    Exit::CheckFailed,
                    format!(
                        "{}, then passed on the same files: a flaky check is no start",
                        reds.first().map(checks::Red::line).unwrap_or_default()
                    ),
                    "mend the check by hand, or: git arkaint cycle TASK",
                )
                .into());
            }
            Verdict::RanNothing(what) => {
                return Err(Refusal::with_exit(
                    Exit::CheckFailed,
                    what,
                    "set test in [checkpoint] of arkaint.toml to a command that runs tests",
                )
                .into());
            }
            Verdict::Moved(paths) => {
                return Err(Refusal::with_exit(
                    Exit::CheckFailed,
                    format!(
                        "files kept changing while the checks ran: {}",
                        checks::few(&paths)
                    ),
                    "stop what writes there, or ignore what the tests make",
                )
                .into());
            }
        }
    }
    let order = checkpoint::Order {
        message: format!(
            "before: {}",
            text::ellipsis(&crate::ledger::message::one_line(ask.task), 200)
        ),
        task: ask.task.to_owned(),
        always: true,
        known_green: green,
        ..checkpoint::Order::default()
    };
    let checkpoint = match checkpoint::make(pass, &order, ui)? {
        Made::New(made) => {
            ui.say(
                Tone::Good,
                format!("opening checkpoint {}", made.commit.to_hex_with_len(12)),
            );
            made
        }
        Made::Nothing(at_head) => at_head.context("a cycle's checkpoint is always there")?,
    };
    open.target = Target {
        commit: checkpoint.commit,
        tree: checkpoint.tree,
        raw: false,
        index: None,
    };
    open.on = checkpoint.commit;
    open::save(&pass.worktree, &open)?;
    Ok((open, None))
}

/// From red: no checkpoint is made, the launch state is archived and is what a rollback returns to, the failing checks are the baseline.
fn start_red(pass: &Pass, mut open: Open, reds: &[checks::Red], ui: &Ui) -> Result<(Open, Next)> {
    let git = Hardened::prepare(&pass.worktree)?;
    git.seed_index()?;
    let archive = archive::take(
        &git,
        Order {
            run: &open.id,
            why: "the red state that a cycle started from",
            rules_of: None,
            also: &[],
        },
    )?;
    let index = pass.worktree.state_dir().join("index.start");
    let theirs = pass.worktree.git_dir().join("index");
    let index = if theirs.exists() {
        state::copy_index(&theirs, &index)?;
        Some(index)
    } else {
        None
    };
    open.red = true;
    open.target = Target {
        commit: pass.head,
        tree: archive.tree,
        raw: true,
        index,
    };
    open.stable_tree = Some(archive.tree.to_string());
    open.nested.clone_from(&archive.nested);
    open.baseline = judging::signatures(reds);
    open.breaker.check_baseline(&open.baseline);
    for red in reds {
        ui.say(Tone::Warn, format!("starting from red: {}", red.line()));
    }
    open::save(&pass.worktree, &open)?;
    let findings: Vec<String> = reds
        .iter()
        .map(|red| format!("{}: this is where the work starts", red.line()))
        .collect();
    let output = reds.first().map(|red| red.run.tail(120));
    Ok((
        open,
        Next {
            instruction: instruction::red_start(&findings, output.as_deref()),
            in_flight: false,
        },
    ))
}
