//! `git arkaint dispatch`: cycles in worktrees of their own. Here: the tasks from the words, and what is printed before and after.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::init;
use crate::cli::{self, Dispatch, Global};
use crate::config::Config;
use crate::cycle::checks;
use crate::dispatch::lease::{self, Over};
use crate::dispatch::{self, Call, Job, jobs, worktree};
use crate::evidence::contract::Body;
use crate::exit::{Exit, Refusal};
use crate::gate::anywhere::{self, From, Ground};
use crate::gate::task;
use crate::process;
use crate::text;
use crate::ui::{Tone, Ui};

/// The longest list of tasks or contract, bytes.
const MAX_FILE: u64 = 1 << 20;

pub(super) fn run(global: &Global, args: &Dispatch, ui: &Ui) -> Result<Exit> {
    let _watch = process::watch_signals()?;
    let ground = anywhere::anywhere(From {
        dir: global.dir.as_deref(),
        launch: &args.launch,
        profile: profile(args),
        base: args.base.as_deref(),
        agent: !args.resume,
    })?;
    let todo = if args.resume {
        taken_up(args, &ground, ui)?
    } else {
        new(args, &ground)?
    };
    let over = match (args.resume, args.steal) {
        (true, _) => Over::Dead,
        (_, true) => Over::Anybody,
        _ => Over::Nobody,
    };
    if args.dry_run {
        return dry_run(&ground, &todo, ui);
    }
    if !args.resume {
        warn_of_what_stays(args, &ground, ui)?;
    }
    let call = Call {
        ground: &ground,
        jobs: args.jobs as usize,
        over,
        exclude: &|| init::exclude_scratch(&ground.worktree),
    };
    let several = todo.len() > 1;
    let ended = dispatch::run(&call, todo, ui)?;
    if several {
        ui.say(Tone::Head, "dispatches:");
        for one in &ended {
            let text = |key: &str| one.json[key].as_str().unwrap_or_default();
            let task = text::ellipsis(text("task"), 60);
            let line = format!("  {:<11} {task}: {}", one.state.name(), text("line"));
            ui.say(Tone::Plain, text::visible_line(&line));
        }
    }
    let exit = dispatch::exit(&ended);
    if ui.is_json() {
        let all: Vec<_> = ended.iter().map(|one| &one.json).collect();
        ui.json(&json!({"v": 1, "exit": exit.code(), "dispatches": all}));
    }
    Ok(exit)
}

/// With tasks in files, the first word is the profile.
fn profile(args: &Dispatch) -> Option<&str> {
    let in_files = !args.files.is_empty() || args.tasks.is_some();
    let word = if in_files {
        &args.text
    } else {
        &args.profile_word
    };
    args.profile.as_deref().or(word.as_deref())
}

fn taken_up(args: &Dispatch, ground: &Ground, ui: &Ui) -> Result<Vec<Job>> {
    let mut jobs = dispatch::to_take_up(&ground.worktree, args.dry_run, ui)?;
    if jobs.is_empty() {
        ui.say(Tone::Plain, "there is nothing to take up");
    }
    for job in &mut jobs {
        if let Some(agent) = &args.launch.agent {
            // Provider and model are those of the agent before.
            (job.agent, job.provider, job.model) = (Some(agent.clone()), None, None);
        }
        for (own, given) in [
            (&mut job.provider, &args.launch.provider),
            (&mut job.model, &args.launch.model),
        ] {
            if given.is_some() {
                own.clone_from(given);
            }
        }
        if let Some(profile) = &args.profile {
            job.profile.clone_from(profile);
        }
    }
    Ok(jobs)
}

fn new(args: &Dispatch, ground: &Ground) -> Result<Vec<Job>> {
    let (worktree, config) = (&ground.worktree, &ground.config);
    let tasks = tasks(args, config)?;
    let several = |what: &str| {
        Refusal::new(
            format!("{what} is for one task, and {} were given", tasks.len()),
            "dispatch them one by one",
        )
    };
    if let Some(branch) = &args.branch {
        if tasks.len() > 1 {
            return Err(several("--branch").into());
        }
        worktree::may_be_made(worktree, config, branch)?;
    }
    let contract = match &args.contract {
        Some(_) if tasks.len() > 1 => return Err(several("--contract").into()),
        Some(file) => Some(contract(file)?),
        None => None,
    };
    let job = |task: String| Job {
        id: None,
        task,
        profile: config.profile.clone(),
        agent: Some(config.agent.name.as_str().to_owned()),
        provider: config.agent.provider.clone(),
        model: config.agent.model.clone(),
        red: args.red,
        base: ground.base,
        base_branch: ground.base_branch.clone(),
        branch: args.branch.clone(),
        contract: contract.clone(),
        frozen: None,
        at: None,
    };
    Ok(tasks.into_iter().map(job).collect())
}

/// Every task that was given, each once.
fn tasks(args: &Dispatch, config: &Config) -> Result<Vec<String>> {
    let mut tasks = Vec::new();
    if args.files.is_empty() && args.tasks.is_none() {
        let words = cli::Task {
            text: args.text.clone(),
            profile_word: args.profile_word.clone(),
            profile: args.profile.clone(),
            file: None,
        };
        tasks.extend(task::given(&words, config)?);
    } else if args.profile_word.is_some() {
        return Err(Refusal::new(
            "a task and a file of tasks were given",
            "git arkaint dispatch --task-file FILE -p PROFILE",
        )
        .into());
    }
    for file in &args.files {
        let words = cli::Task {
            file: Some(file.clone()),
            ..cli::Task::default()
        };
        tasks.extend(task::given(&words, config)?);
    }
    if let Some(file) = &args.tasks {
        let listed = read(file)?;
        let lines = listed.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        tasks.extend(lines.map(str::to_owned));
    }
    let tasks: Vec<String> = tasks.iter().map(|task| task.trim().to_owned()).collect();
    if tasks.is_empty() || tasks.iter().any(String::is_empty) {
        let cause = if tasks.is_empty() {
            "there is no task"
        } else {
            "a task is empty"
        };
        return Err(Refusal::new(cause, "git arkaint dispatch \"what to do\"").into());
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = tasks.iter().find(|task| !seen.insert(lease::key(task))) {
        let shown = text::ellipsis(&text::visible_line(twice), 80);
        let cause = format!("a task was given twice: {shown}");
        return Err(Refusal::new(cause, "only one can be at work on it: leave one out").into());
    }
    Ok(tasks)
}

/// The contract in `file`, which an agent can start on.
fn contract(file: &Path) -> Result<Body> {
    let name = file.display();
    let body = Body::read(file, &read(file)?)
        .map_err(|why| Refusal::new(format!("{name}: {why}"), "git arkaint man contract"))?;
    match body.not_dispatchable() {
        Some(why) => {
            let cause = format!("{name}: no agent should start on it yet: {why}");
            Err(Refusal::new(cause, "answer it in the file: git arkaint man contract").into())
        }
        None => Ok(body),
    }
}

fn read(file: &Path) -> Result<String> {
    use std::io::Read as _;
    let name = file.display();
    let help = "git arkaint dispatch -h";
    let opened = std::fs::File::open(file)
        .map_err(|error| Refusal::new(format!("{name}: {error}"), help))?;
    let mut bytes = Vec::new();
    opened
        .take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("reading {name}"))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(Refusal::new(format!("{name} is longer than 1 MiB"), help).into());
    }
    let text = String::from_utf8(bytes);
    text.map_err(|_| Refusal::new(format!("{name} is not UTF-8"), "save it as UTF-8").into())
}

/// Said before anything starts: what the new worktrees do not have, and what they have too much.
fn warn_of_what_stays(args: &Dispatch, ground: &Ground, ui: &Ui) -> Result<()> {
    if args.base.is_none() {
        let paths = worktree::left_behind(&ground.worktree)?;
        if !paths.is_empty() {
            ui.warn(format!(
                "uncommitted files stay behind, the new worktrees start from {}: {}",
                ground.base.to_hex_with_len(12),
                checks::few(&paths)
            ));
        }
    }
    if worktree::tracks_evidence(&ground.worktree, ground.base)? {
        ui.warn(format!(
            ".ak-loop/ is tracked in {}: what is there proves nothing; git rm -r --cached .ak-loop",
            ground.base.to_hex_with_len(12)
        ));
    }
    Ok(())
}

/// What would be made and run, for each task by itself; nothing else.
fn dry_run(ground: &Ground, todo: &[Job], ui: &Ui) -> Result<Exit> {
    let mut all = Vec::new();
    for job in todo {
        let (path, branch) = if let Some(at) = &job.at {
            at.clone()
        } else {
            let branch = job.branch.as_deref();
            let place = worktree::choose(&ground.worktree, &ground.config, &job.task, branch)?;
            (place.path, place.branch)
        };
        let held = lease::held(&ground.worktree, &job.task)?;
        let argv = jobs::argv(&path, &job.work(), ui)?;
        let argv: Vec<_> = argv.iter().map(|word| word.to_string_lossy()).collect();
        let setup = job.at.is_none().then_some(&ground.config.dispatch.setup);
        let base = job.base.to_hex_with_len(12);
        if !ui.is_json() {
            let rows = [
                ("task", text::ellipsis(&text::visible_line(&job.task), 200)),
                (
                    "branch",
                    format!(
                        "{branch} from {}",
                        job.base_branch.clone().unwrap_or(base.to_string())
                    ),
                ),
                ("worktree", path.display().to_string()),
                (
                    "setup",
                    setup.cloned().flatten().unwrap_or_default().join(" "),
                ),
                (
                    "claimed",
                    held.clone().unwrap_or_else(|| "by nobody".to_owned()),
                ),
                ("runs", argv.join(" ")),
            ];
            for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
                ui.out(format!("{name:<10} {}", text::visible_line(value)));
            }
        }
        all.push(json!({
            "task": job.task, "branch": branch, "worktree": path.to_string_lossy(), "base": job.base.to_string(), "base_branch": job.base_branch,
            "setup": setup, "held": held, "argv": argv,
        }));
    }
    if ui.is_json() {
        ui.json(&json!({"v": 1, "dispatches": all}));
    }
    Ok(Exit::Done)
}
