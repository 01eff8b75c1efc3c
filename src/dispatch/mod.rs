//! Work in worktrees of its own, several at once: a task is claimed, gets a fresh branch in a linked worktree, is recorded, and a cycle runs there as a
//! program of its own. It judges nothing: the cycle does, and what came of it is read from its exit and its one document.

pub(crate) mod jobs;
pub(crate) mod lease;
pub(crate) mod records;
mod resume;
pub(crate) mod worktree;

use std::collections::VecDeque;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::config::{self, Choice as _, Config};
use crate::evidence::approval;
use crate::evidence::contract::{self, Body, Subject};
use crate::exit::{Exit, Refusal};
use crate::gate;
use crate::gate::anywhere::Ground;
use crate::git::{Oid, Worktree};
use crate::journal;
use crate::ledger::{notes, record};
use crate::process::{self, Crew, Event, Holder, How};
use crate::text;
use crate::ui::{Tone, Ui};

use jobs::{Heard, Work};
use lease::{Claim, Over};
use records::State;

pub(crate) use resume::to_take_up;

/// What is the same for all dispatches of one call.
pub(crate) struct Call<'a> {
    pub ground: &'a Ground,
    /// How many run at once.
    pub jobs: usize,
    pub over: Over,
    /// Keeps scratch and evidence out of every commit, in all worktrees; before the first worktree is made.
    pub exclude: &'a dyn Fn() -> Result<()>,
}

/// One piece of work to be done.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// Of the dispatch that is taken up; a new one gets its own.
    pub id: Option<String>,
    pub task: String,
    pub profile: String,
    pub agent: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub red: bool,
    pub base: Oid,
    pub base_branch: Option<String>,
    /// The branch that a person chose.
    pub branch: Option<String>,
    /// To be frozen for the new branch.
    pub contract: Option<Body>,
    /// Digest of the one that was frozen before.
    pub frozen: Option<String>,
    /// Where it went on before, and on which branch.
    pub at: Option<(PathBuf, String)>,
}

/// How a dispatch ended.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub exit: Exit,
    pub state: State,
    pub json: Value,
}

/// A dispatch that is claimed.
struct Begun {
    id: String,
    job: Job,
    claim: Claim,
}

/// A dispatch whose worktree is ready.
struct Ready {
    begun: Begun,
    there: Worktree,
    slug: String,
    branch: String,
    contract: Option<String>,
}

/// Does all of `todo`, at most `call.jobs` at once, and says how each ended, in the order of their ends.
///
/// # Errors
/// When the workers cannot be watched. What goes wrong with one dispatch is its own end.
pub(crate) fn run(call: &Call<'_>, todo: Vec<Job>, ui: &Ui) -> Result<Vec<Ended>> {
    let several = call.jobs > 1 && todo.len() > 1;
    let mut todo = VecDeque::from(todo);
    let mut crew = Crew::new()?;
    let mut at_work: Vec<(usize, Ready, Heard)> = Vec::new();
    let mut ended = Vec::new();
    let mut interrupted = None;
    loop {
        while interrupted.is_none() && crew.len() < call.jobs {
            let Some(job) = todo.pop_front() else { break };
            match start(call, &job, several, &mut crew, ui) {
                Ok(working) => at_work.push(working),
                Err(end) => ended.push(*end),
            }
            interrupted = process::interrupted();
        }
        match crew.wait()? {
            Some(Event::Interrupted(signal)) => interrupted = Some(signal),
            Some(Event::Ended(number, how)) => {
                let place = at_work.iter().position(|(n, ..)| *n == number);
                // One that had not begun to listen dies of the signal that was passed on to it.
                let how = match how {
                    How::Signaled(signal) if interrupted == Some(signal) => {
                        How::Interrupted(signal)
                    }
                    how => how,
                };
                let (_, ready, heard) = at_work.swap_remove(place.context("an unknown worker")?);
                ended.push(finish(call, ready, &heard, &how, ui));
            }
            None if interrupted.is_some() || todo.is_empty() => break,
            None => {}
        }
    }
    if let Some(signal) = interrupted {
        for job in todo {
            let exit = Exit::Interrupted(u8::try_from(signal).unwrap_or(2));
            ended.push(without_cycle(
                &job,
                None,
                exit,
                "interrupted before it began",
            ));
        }
    }
    Ok(ended)
}

type Working = (usize, Ready, Heard);

fn start(
    call: &Call<'_>,
    job: &Job,
    several: bool,
    crew: &mut Crew,
    ui: &Ui,
) -> Result<Working, Box<Ended>> {
    let begun = begin(call, job.clone()).map_err(|error| {
        let (exit, line) = tell(&error, ui);
        Box::new(without_cycle(job, None, exit, &line))
    })?;
    let mut made = None;
    let working = ready(call, &begun, &mut made, ui).and_then(|ready| {
        let mark = several.then_some(ready.1.as_str());
        let job = &begun.job;
        let (member, heard) = jobs::member(&ready.0, &job.work(), mark, ui)?;
        Ok((crew.start(member)?, ready, heard))
    });
    match working {
        Ok((number, (there, slug, branch, contract), heard)) => {
            let ready = Ready {
                begun,
                there,
                slug,
                branch,
                contract,
            };
            Ok((number, ready, heard))
        }
        Err(error) => {
            let (exit, line) = tell(&error, ui);
            Err(Box::new(give_up(call, begun, made, exit, &line, ui)))
        }
    }
}

impl Job {
    pub(crate) fn work(&self) -> Work<'_> {
        Work {
            task: &self.task,
            profile: &self.profile,
            agent: self.agent.as_deref(),
            provider: self.provider.as_deref(),
            model: self.model.as_deref(),
            red: self.red,
        }
    }
}

/// Claims the task and records it: from here on a crash leaves something to go on from.
fn begin(call: &Call<'_>, job: Job) -> Result<Begun> {
    let worktree = &call.ground.worktree;
    let id = job.id.clone().unwrap_or_else(record::fresh_id);
    let claim = lease::claim(worktree, &job.task, &id, call.over)?;
    let fields = json!({
        "state": State::Started.name(), "task": job.task, "profile": job.profile, "base": job.base.to_string(), "base_branch": job.base_branch,
        "agent": job.agent, "provider": job.provider, "model": job.model, "red": job.red, "asks_contract": job.contract.is_some(),
        "lease": lease::key(&job.task), "holder": Holder::me(), "exit": Value::Null, "line": Value::Null,
    });
    let begun = Begun { id, job, claim };
    let superseded = match &begun.claim.from {
        Some(from) => resume::supersede(worktree, from, &begun.id),
        None => Ok(()),
    };
    let recorded =
        superseded.and_then(|()| records::append(worktree, begun.job.base, &begun.id, fields));
    match recorded {
        Ok(()) => Ok(begun),
        Err(error) => {
            begun.claim.release(worktree)?;
            Err(error)
        }
    }
}

type Made = (Worktree, String, String, Option<String>);

/// The worktree, usable; its name, its branch and its contract. `made` is told the path as soon as something is there.
fn ready(call: &Call<'_>, begun: &Begun, made: &mut Option<PathBuf>, ui: &Ui) -> Result<Made> {
    let (worktree, job) = (&call.ground.worktree, &begun.job);
    if let Some((path, branch)) = &job.at {
        let there = records::at_path(worktree, path)
            .with_context(|| format!("the worktree {} is gone", path.display()))?;
        let fields = json!({"state": State::Running.name()});
        records::append(worktree, job.base, &begun.id, fields)?;
        let slug = path.file_name().unwrap_or_default().to_string_lossy();
        say_where(&begun.id, "goes on", &there, branch, ui);
        return Ok((there, slug.into_owned(), branch.clone(), job.frozen.clone()));
    }
    (call.exclude)().context("keeping scratch and evidence out of commits (info/exclude)")?;
    let config = config_at(call, job.base)?;
    let place = worktree::reserve(worktree, &config, &job.task, job.branch.as_deref())?;
    *made = Some(place.path.clone());
    // Not yet its worktree, but what a crash here would leave.
    let fields = json!({"making": place.path.to_string_lossy()});
    records::append(worktree, job.base, &begun.id, fields)?;
    let there = worktree::add(worktree, &place.path, job.base)?;
    let setup = worktree::set_up(&there, &config, ui)?;
    let base = job.base.to_hex_with_len(12).to_string();
    let from = job.base_branch.as_deref().unwrap_or(&base);
    worktree::branch_off(&there, &place.branch, job.base, from)?;
    let contract = match &job.contract {
        Some(body) => {
            let subject = Subject {
                task: &job.task,
                branch: &place.branch,
                base: job.base,
            };
            Some(contract::freeze(worktree, body.clone(), subject, &config)?.digest)
        }
        None => None,
    };
    let fields = json!({
        "state": State::Running.name(), "branch": place.branch, "worktree": there.root().to_string_lossy(), "contract": contract, "plan": Value::Null,
        "policy": config.evidence.binding.name(), "caps": {"attempts": config.cycle.attempts, "fix_rounds": config.cycle.fix_rounds}, "setup": setup,
    });
    records::append(worktree, job.base, &begun.id, fields)?;
    say_where(&begun.id, "works", &there, &place.branch, ui);
    Ok((there, place.slug, place.branch, contract))
}

fn say_where(id: &str, does: &str, there: &Worktree, branch: &str, ui: &Ui) {
    let path = there.root().display();
    ui.say(
        Tone::Head,
        format!("dispatch {id} {does} on {branch} in {path}"),
    );
}

fn config_at(call: &Call<'_>, base: Oid) -> Result<Config> {
    if base == call.ground.base {
        return Ok(call.ground.config.clone());
    }
    let worktree = &call.ground.worktree;
    let text = worktree.blob_at(base, config::FILE)?;
    Ok(gate::load(worktree, text.as_deref(), None, None)?.config)
}

/// Something went wrong before the cycle began: what was made is taken away where no work is in it.
fn give_up(
    call: &Call<'_>,
    begun: Begun,
    made: Option<PathBuf>,
    exit: Exit,
    line: &str,
    ui: &Ui,
) -> Ended {
    let worktree = &call.ground.worktree;
    let Begun { id, job, claim } = begun;
    if let Some(path) = made {
        match worktree::remove(worktree, &path, job.base) {
            Ok(true) => {}
            _ => ui.warn(format!(
                "{} is kept: there is something in it, or it has a branch; git worktree remove takes it away",
                path.display()
            )),
        }
    }
    let state = jobs::state_of(exit);
    let fields = json!({"state": state.name(), "exit": exit.code(), "line": line});
    settle(records::append(worktree, job.base, &id, fields), ui);
    settle(claim.release(worktree), ui);
    without_cycle(&job, Some(&id), exit, line)
}

/// The cycle is over: what it left is recorded, and the task is anybody's again.
fn finish(call: &Call<'_>, ready: Ready, heard: &Heard, how: &How, ui: &Ui) -> Ended {
    let worktree = &call.ground.worktree;
    let (state, exit) = jobs::verdict(how);
    let line = heard.line(how);
    if matches!(how, How::Signaled(_)) {
        end_orphans(&ready.there, ui);
    }
    let Begun { id, job, claim } = ready.begun;
    let tip = ready.there.branch_tip(&ready.branch).ok().flatten();
    let tip = tip.map(|tip| tip.to_string());
    let contract = ready.contract.as_deref();
    let plan = contract.and_then(|digest| approved_plan(worktree, digest));
    let fields = json!({
        "state": state.name(), "exit": exit.code(), "line": line, "head": tip, "tokens": heard.tokens(), "plan": plan,
    });
    settle(records::append(worktree, job.base, &id, fields), ui);
    settle(claim.release(worktree), ui);
    let path = ready.there.root().display().to_string();
    show_end(&ready.slug, state, &line, &path, &ready.branch, ui);
    let json = json!({
        "id": id, "task": job.task, "state": state.name(), "exit": exit.code(), "line": line, "branch": ready.branch, "worktree": path,
        "base": job.base.to_string(), "base_branch": job.base_branch, "head": tip, "contract": contract, "tokens": heard.tokens(),
    });
    Ended { exit, state, json }
}

/// A worker that was killed could not end what it had started.
fn end_orphans(there: &Worktree, ui: &Ui) {
    if let Some(journal::Entry::Launch { run, child }) = journal::read(there) {
        settle(process::kill_tree(Some(&child), &run).map(drop), ui);
    }
}

/// SHA-256 of the plan that a person approved for the contract meanwhile.
fn approved_plan(worktree: &Worktree, digest: &str) -> Option<String> {
    let frozen = contract::load(worktree, &notes::deciding(worktree).ok()?, digest).ok()?;
    approval::of_plan(worktree, &frozen).ok().flatten()?.plan
}

fn show_end(slug: &str, state: State, line: &str, path: &str, branch: &str, ui: &Ui) {
    let tone = if state == State::Done {
        Tone::Good
    } else {
        Tone::Bad
    };
    ui.say(
        tone,
        text::visible_line(&format!("{slug}: {}: {line}", state.name())),
    );
    let next = match state {
        State::Killed | State::Interrupted => "git arkaint dispatch --resume".to_owned(),
        State::Done => format!("git arkaint deliver {branch}"),
        _ => format!("git -C '{path}' arkaint explain"),
    };
    ui.say(Tone::Plain, format!("  branch    {branch}"));
    ui.say(Tone::Plain, format!("  worktree  {path}"));
    ui.say(Tone::Plain, format!("  next      {next}"));
}

fn without_cycle(job: &Job, id: Option<&str>, exit: Exit, line: &str) -> Ended {
    let state = jobs::state_of(exit);
    let at = job.at.as_ref();
    let json = json!({
        "id": id, "task": job.task, "state": state.name(), "exit": exit.code(), "line": line, "branch": at.map(|at| &at.1),
        "worktree": at.map(|at| at.0.to_string_lossy()), "base": job.base.to_string(), "base_branch": job.base_branch,
    });
    Ended { exit, state, json }
}

/// Says what went wrong; its exit, and its cause as the record keeps it.
fn tell(error: &anyhow::Error, ui: &Ui) -> (Exit, String) {
    if let Some(refusal) = error.downcast_ref::<Refusal>() {
        ui.error(&refusal.cause, &refusal.hints);
        return (refusal.exit, refusal.cause.clone());
    }
    let line = format!("{error:#}");
    ui.error(&line, &["git arkaint log --kind dispatch".to_owned()]);
    (Exit::Person, line)
}

/// An end is an end, also where it cannot be written down: that is said.
fn settle(done: Result<()>, ui: &Ui) {
    if let Err(error) = done {
        ui.warn(format!("{error:#}"));
    }
}

/// The exit of them all: the highest code, which is the most special one.
pub(crate) fn exit(ended: &[Ended]) -> Exit {
    let exits = ended.iter().map(|ended| ended.exit);
    exits.max_by_key(|exit| exit.code()).unwrap_or(Exit::Done)
}
