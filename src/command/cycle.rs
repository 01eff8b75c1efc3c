//! `git arkaint cycle`: checkpoint, launch, judge, correct, until it is done or must stop.

use anyhow::{Context, Result};
use serde_json::json;

use crate::agent::launch;
use crate::cli::{Cycle, Global};
use crate::config::TestCommand;
use crate::cycle::Ended;
use crate::cycle::run;
use crate::cycle::{checks, packing, spending};
use crate::exit::Exit;
use crate::gate::{self, Ask, Branch, Pass};
use crate::process;
use crate::text;
use crate::ui::{Tone, Ui};

pub(super) fn run(global: &Global, args: &Cycle, ui: &Ui) -> Result<Exit> {
    let _watch = process::watch_signals()?;
    let mut pass = gate::enter(Ask {
        dir: global.dir.as_deref(),
        launch: Some(&args.launch),
        task: Some(&args.task),
        branch: args
            .branch
            .as_deref()
            .map_or(Branch::Isolated, Branch::Make),
        agent: true,
    })?;
    let task = pass.task.clone();
    if args.dry_run {
        return dry_run(&pass, args, &task, ui);
    }
    if let Some(branch) = &args.branch {
        pass.worktree
            .git()
            .call(["switch", "--quiet", "-c", branch])
            .run()
            .with_context(|| format!("making branch {branch}"))?;
        ui.say(Tone::Plain, format!("on the new branch {branch}"));
    }
    let most = args.repeat.unwrap_or(1);
    let mut all: Vec<Ended> = Vec::new();
    for number in 1..=most {
        if most > 1 {
            ui.say(Tone::Head, format!("cycle {number} of {most}"));
        }
        pass.head = pass.worktree.head()?.context("HEAD has no commit")?;
        let ended = run::run(
            &pass,
            run::Ask {
                task: &task,
                red: args.red && number == 1,
            },
            ui,
        );
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) if all.is_empty() => return Err(error),
            Err(error) => {
                summary(&all, ui);
                return Err(error);
            }
        };
        let go_on = ended.exit == Exit::Done;
        all.push(ended);
        if !go_on {
            break;
        }
    }
    if most > 1 {
        summary(&all, ui);
    }
    let exit = end(&all);
    if ui.is_json() {
        let document = match all.as_slice() {
            [one] if most == 1 => one.json.clone(),
            many => {
                json!({"v": 1, "exit": exit.code(), "cycles": many.iter().map(|e| e.json.clone()).collect::<Vec<_>>()})
            }
        };
        ui.json(&document);
    }
    Ok(exit)
}

/// A repeated cycle that finds nothing more to do has done its work.
fn end(all: &[Ended]) -> Exit {
    match all {
        [.., last] if last.no_op && all.len() > 1 => Exit::Done,
        [.., last] => last.exit,
        [] => Exit::Done,
    }
}

fn summary(all: &[Ended], ui: &Ui) {
    ui.say(Tone::Head, "cycles:");
    for (number, ended) in all.iter().enumerate() {
        ui.say(
            Tone::Plain,
            format!(
                "{:>3}  exit {}  {}",
                number + 1,
                ended.exit.code(),
                ended.line
            ),
        );
    }
}

/// Gate, argv, budgets, packet; nothing else.
fn dry_run(pass: &Pass, args: &Cycle, task: &str, ui: &Ui) -> Result<Exit> {
    let config = &pass.config;
    let asked = packing::asked(&pass.worktree, config, &pass.branch, task)?;
    let asked = asked.as_ref().map(|(proof, standing)| (proof, standing));
    let packet = packing::build(pass, task, None, None, asked)?;
    let limits = run::limits(pass);
    let day = spending::today(&pass.worktree)?;
    let launched = launch::argv(
        &config.agent,
        config
            .agent
            .sandbox(pass.worktree.root(), pass.worktree.common_dir()),
    );
    let checked_by = match &config.checkpoint.test {
        TestCommand::Unset => "not set".to_owned(),
        TestCommand::Declared => "none (test = false)".to_owned(),
        TestCommand::Run(command) => checks::shown(command),
    };
    let minutes = |d: std::time::Duration| crate::config::show_duration(d);
    let budget = &config.budget;
    if ui.is_json() {
        ui.json(&json!({
            "v": 1, "branch": pass.branch, "task": task, "profile": pass.profile, "agent": config.agent.name.as_str(), "argv": launched, "test": checked_by,
            "red": args.red, "timeouts": {"agent": config.agent.timeout.as_secs(), "idle": config.agent.idle_timeout.as_secs(), "test": config.checkpoint.timeout.as_secs(), "commit": crate::config::COMMIT_TIMEOUT.as_secs()},
            "max_turns": config.agent.max_turns, "budget": {"run_usd": budget.run_usd, "run_tokens": budget.run_tokens, "day_usd": budget.day_usd, "day_tokens": budget.day_tokens, "log_bytes": budget.log_bytes},
            "today": {"runs": day.runs, "tokens": day.tokens(), "usd": day.usd()}, "packet_bytes": packet.piped().len(), "packet_max": config.packet.max_chars,
            "diff_max": config.active_profile().diff_chars, "preload_max": config.active_profile().preload_chars,
            "attempts": limits.attempts, "fix_rounds": limits.fix_rounds, "most_launches": limits.most_launches(),
            "retention": {"runs": config.retention.runs, "discards": config.retention.discards, "age": config.retention.age.as_secs(), "bytes": config.retention.bytes},
        }));
        return Ok(Exit::Done);
    }
    let rows = [
        (
            "gate",
            format!("open: branch {}, profile {}", pass.branch, pass.profile),
        ),
        ("task", text::ellipsis(&text::visible_line(task), 200)),
        (
            "agent",
            format!("{}: {}", config.agent.name.as_str(), launched.join(" ")),
        ),
        (
            "tests",
            format!(
                "{checked_by} (at most {})",
                minutes(config.checkpoint.timeout)
            ),
        ),
        (
            "deadlines",
            format!(
                "agent {}, silent {}, {} turns, git commit {}",
                minutes(config.agent.timeout),
                minutes(config.agent.idle_timeout),
                config.agent.max_turns,
                minutes(crate::config::COMMIT_TIMEOUT)
            ),
        ),
        (
            "budget",
            format!(
                "a run {} USD or {} tokens; a day (UTC) {} USD or {} tokens; log {}",
                budget.run_usd,
                budget.run_tokens,
                budget.day_usd,
                budget.day_tokens,
                text::human_bytes(budget.log_bytes)
            ),
        ),
        (
            "today",
            format!(
                "{} runs, {} tokens, {:.2} USD known",
                day.runs,
                day.tokens(),
                day.usd()
            ),
        ),
        (
            "packet",
            format!(
                "{} of {} (diff {}, preload {})",
                text::human_bytes(packet.piped().len() as u64),
                text::human_bytes(config.packet.max_chars as u64),
                text::human_bytes(config.active_profile().diff_chars as u64),
                text::human_bytes(config.active_profile().preload_chars as u64)
            ),
        ),
        (
            "launches",
            format!(
                "at most {}: {} fix rounds an attempt, {} recovery attempts",
                limits.most_launches(),
                limits.fix_rounds,
                limits.attempts
            ),
        ),
        (
            "kept",
            format!(
                "{} runs, {} discards, {}, {}",
                config.retention.runs,
                config.retention.discards,
                minutes(config.retention.age),
                text::human_bytes(config.retention.bytes)
            ),
        ),
    ];
    for (name, value) in rows {
        ui.out(format!("{name:<10} {value}"));
    }
    Ok(Exit::Done)
}
