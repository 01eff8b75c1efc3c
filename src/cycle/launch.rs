//! One launch: archive, packet, agent, and the guard's comparison before anything else is done. `judging` says what it came to.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use anyhow::{Context, Result};

use super::judging::{self, Evidence, Launched};
use super::open::Open;
use super::{packing, proof, scratch, spending};
use crate::agent::launch::{self, AgentRun, Caps};
use crate::archive::{self, Order, retention};
use crate::gate::Pass;
use crate::git::Oid;
use crate::git::hardened::{Attributes, Hardened};
use crate::guard::{self, Broken, Found, Noted};
use crate::journal::{self, Entry};
use crate::judge::ToolReport;
use crate::ledger::{cache, record};
use crate::packet::Instruction;
use crate::ui::{Tone, Ui};

/// What one launch is given besides the open run.
pub(crate) struct Brief<'a> {
    pub instruction: Option<&'a Instruction>,
    /// Show the work since the stable state.
    pub in_flight: bool,
    /// Judge the work by the project's checks (`boot` does not).
    pub check: bool,
}

/// Launches the agent once and judges what can be judged.
pub(crate) fn once(pass: &Pass, open: &mut Open, brief: &Brief<'_>, ui: &Ui) -> Result<Launched> {
    let run = record::fresh_id();
    let worktree = &pass.worktree;
    let git = Hardened::prepare(worktree)?;
    if open.launches == 0 || !git.index().exists() {
        git.seed_index()?;
    }
    let tip = worktree.head()?.context("HEAD has no commit")?;
    let before = archive::take(
        &git,
        Order {
            run: &run,
            why: "before a launch",
            rules_of: None,
            also: &[],
        },
    )?;
    if open.stable_tree.is_none() {
        open.stable_tree = Some(before.tree.to_string());
        open.nested.clone_from(&before.nested);
    }
    let stable = open
        .stable_tree
        .as_deref()
        .and_then(|t| Oid::from_hex(t.as_bytes()).ok())
        .unwrap_or(before.tree);
    let in_flight = (brief.in_flight && stable != before.tree).then_some((stable, before.tree));
    let folder = scratch::run_folder(worktree, &run)?;
    let asked = proof::Before::look(pass, &open.task, before.tree)?;
    let told = asked.as_ref().map(|asked| (&asked.proof, &asked.standing));
    let packet = packing::build(pass, &open.task, brief.instruction, in_flight, told)?;
    let piped = packet.piped();
    scratch::write(
        worktree,
        &folder,
        "runtime-prompt.md",
        packet.prompt.as_bytes(),
    )?;
    scratch::write(
        worktree,
        &folder,
        "boot-payload.md",
        packet.payload.as_bytes(),
    )?;

    let watch = retention::watch(worktree)?;
    let noted = Noted::take(worktree, &pass.branch_ref(), tip, before.tree)?;
    noted.save(worktree)?;
    let version = launch::version(&pass.config.agent, worktree.root());
    open.launches += 1;
    super::open::save(worktree, open)?;
    ui.say(
        Tone::Head,
        format!(
            "launch {}: {} as {}, run {run}",
            open.launches,
            pass.config.agent.name.as_str(),
            pass.profile
        ),
    );
    let (ran, report) =
        launch_agent(pass, &run, &folder, &piped).inspect_err(|_| noted.save_again(worktree))?;
    scratch::latest(worktree, &folder, "run.log")?;

    // The vocabulary takes more memory than all else: it is built when no stream passes any more, beside git's work.
    let (after, tokens) = std::thread::scope(|scope| {
        let counting = scope.spawn(|| crate::tokens::count(&piped));
        let after = after(pass, &git, &noted, &run, ui);
        (after, counting.join().unwrap_or(0))
    });
    let after = after?;
    drop(watch);
    // The agent could have written it.
    cache::forget(worktree)?;
    journal::clear(worktree)?;
    Noted::forget(worktree)?;
    judging::judge(
        pass,
        open,
        brief,
        &git,
        ui,
        Evidence {
            run,
            ran,
            report,
            tokens,
            before,
            stable,
            after,
            packet,
            piped,
            version,
            asked,
        },
    )
}

/// What the guard found, and the worktree after everything that was turned is put back.
pub(super) struct After {
    pub tree: Oid,
    pub broken: Vec<Broken>,
    pub protected: Vec<String>,
}

/// Runs the agent.
fn launch_agent(
    pass: &Pass,
    run: &str,
    folder: &std::path::Path,
    piped: &str,
) -> Result<(AgentRun, ToolReport)> {
    let worktree = &pass.worktree;
    let budget = &pass.config.budget;
    let day = spending::today(worktree)?;
    let caps = Caps {
        tokens: tighter_tokens(
            budget.run_tokens,
            budget.day_tokens.saturating_sub(day.tokens()),
        ),
        usd: tighter_usd(budget.run_usd, (budget.day_usd - day.usd()).max(0.0)),
        log_bytes: budget.log_bytes,
    };
    let order = launch::Order {
        run,
        branch: &pass.branch,
        agent: &pass.config.agent,
        dir: worktree.root(),
        sandbox: &pass
            .config
            .agent
            .sandbox(worktree.root(), worktree.common_dir()),
        log: scratch::private(&folder.join("run.log"))?,
        packet: piped,
        caps,
        prices: &pass.config.prices,
    };
    let mut report = ToolReport::default();
    let ran = launch::run(
        order,
        &mut |child| {
            journal::write(
                worktree,
                &Entry::Launch {
                    run: run.to_owned(),
                    child: child.clone(),
                },
            )
        },
        &mut |used| report.observe(&used),
    )?;
    Ok((ran, report))
}

fn tighter_tokens(run: u64, day: u64) -> (u64, &'static str) {
    if day < run {
        (day, "budget.day_tokens")
    } else {
        (run, "budget.run_tokens")
    }
}

fn tighter_usd(run: f64, day: f64) -> (f64, &'static str) {
    if day < run {
        (day, "budget.day_usd")
    } else {
        (run, "budget.run_usd")
    }
}

/// Compares with what was noted, archives before anything is put back, puts back.
pub(super) fn after(
    pass: &Pass,
    git: &Hardened<'_>,
    noted: &Noted,
    run: &str,
    ui: &Ui,
) -> Result<After> {
    let kept = pass.worktree.common_dir().join("arkaint/kept").join(run);
    let mut found = Found::default();
    let checked = noted.check(git, &kept, &mut found);
    for note in &found.notes {
        ui.warn(format!("the run changed {note}"));
    }
    match checked.and_then(|()| archive_and_put_back(pass, git, noted, run, &found)) {
        Ok((tree, protected)) => Ok(After {
            tree,
            broken: found.broken,
            protected,
        }),
        Err(error) => {
            noted.save_again(&pass.worktree);
            if let Err(other) = hold(git, noted, run, &found, ui) {
                ui.warn(format!("the commits that it left are not held: {other:#}"));
            }
            Err(error)
        }
    }
}

/// Says what was found, and keeps what would be lost, where no judgement follows that would: whoever comes next finds it put back.
fn hold(git: &Hardened<'_>, noted: &Noted, run: &str, found: &Found, ui: &Ui) -> Result<()> {
    say_broken(&found.broken, ui);
    if found.unreachable.is_empty() {
        return Ok(());
    }
    let order = Order {
        run,
        why: "commits that a run left, whose files could not be archived; the files are those of before it",
        rules_of: None,
        also: &found.unreachable,
    };
    let held = archive::hold(git, order, noted.tree())?;
    ui.warn(format!("the commits that it left are held by {}", held.id));
    Ok(())
}

/// A line for each broken rule.
pub(super) fn say_broken(broken: &[Broken], ui: &Ui) {
    for broken in broken {
        ui.warn(format!("it broke a rule: {}; it was put back", broken.what));
    }
}

/// What the worktree holds after everything that was turned is put back, and the protected paths among that.
fn archive_and_put_back(
    pass: &Pass,
    git: &Hardened<'_>,
    noted: &Noted,
    run: &str,
    found: &Found,
) -> Result<(Oid, Vec<String>)> {
    let mut tree = git.content_tree(&git.index(), Attributes::Raw)?.tree;
    let protected_paths = guard::protected(&pass.worktree, &pass.config.infra)?;
    let deny = crate::config::PathGlobs::new(&pass.profile().deny).map_err(anyhow::Error::msg)?;
    let protects = |path: &[u8]| {
        (!pass.infra_edits && protected_paths.touches(path))
            || deny.is_match(OsStr::from_bytes(path))
    };
    let changed = guard::protected_changes(git, noted.tree(), tree, &protects)?;
    if !found.broken.is_empty() || !found.unreachable.is_empty() || !changed.is_empty() {
        let why = "what a run left, before what it must not change is put back";
        archive::take(
            git,
            Order {
                run,
                why,
                rules_of: Some(noted.tree()),
                also: &found.unreachable,
            },
        )?;
    }
    if !changed.is_empty() {
        tree = guard::put_back(git, noted.tree(), tree, &changed)?;
    }
    let protected = changed
        .iter()
        .map(|p| String::from_utf8_lossy(p).into_owned())
        .collect();
    Ok((tree, protected))
}
