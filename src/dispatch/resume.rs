//! Dispatches whose worker died: which of them can be taken up, and what became of those that cannot. A person asks for it; nothing is taken up by
//! itself.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use super::Job;
use super::records::{self, Dispatch, State};
use crate::git::{Oid, Worktree};
use crate::journal;
use crate::ledger::{Kind, notes, walk};
use crate::secret;
use crate::text;
use crate::ui::{Tone, Ui};

/// The work that goes on where its worker died or was told to stop, on this machine. What had ended unseen is recorded as it ended, and what cannot
/// go on as failed; `dry` only says so.
pub(crate) fn to_take_up(worktree: &Worktree, dry: bool, ui: &Ui) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for dispatch in records::all(worktree)? {
        let stopped = matches!(dispatch.state, Some(State::Killed | State::Interrupted));
        let open = dispatch.state.is_some_and(State::is_open);
        if !dispatch.here || !(open || stopped) {
            continue;
        }
        if dispatch.alive {
            ui.say(
                Tone::Plain,
                format!(
                    "dispatch {} is still at work: {}",
                    dispatch.id,
                    shown(&dispatch)
                ),
            );
            continue;
        }
        if dispatch.gone && stopped {
            continue;
        }
        if let Some((state, line)) = unseen_end(worktree, &dispatch)? {
            let tone = if state == State::Done {
                Tone::Good
            } else {
                Tone::Warn
            };
            ui.say(
                tone,
                format!("dispatch {}: {line}: {}", dispatch.id, shown(&dispatch)),
            );
            if !dry {
                close(worktree, &dispatch, state, &line)?;
            }
            continue;
        }
        if !dry && dispatch.worktree.is_none() {
            clear_half_made(worktree, &dispatch, ui)?;
        }
        jobs.push(job(worktree, dispatch));
    }
    Ok(jobs)
}

/// It died while its worktree was made; a new one is made for it.
fn clear_half_made(worktree: &Worktree, dispatch: &Dispatch, ui: &Ui) -> Result<()> {
    let path = Path::new(dispatch.str("making"));
    let there = !path.as_os_str().is_empty() && path.exists();
    if there && !super::worktree::remove(worktree, path, dispatch.base)? {
        ui.warn(format!(
            "{} is kept, half made: there is something in it, or it has a branch",
            path.display()
        ));
    }
    Ok(())
}

fn shown(dispatch: &Dispatch) -> String {
    text::ellipsis(&text::visible_line(&dispatch.task), 80)
}

/// How it ended while nobody looked, if it did, or why it cannot go on.
fn unseen_end(worktree: &Worktree, dispatch: &Dispatch) -> Result<Option<(State, String)>> {
    let Some(path) = &dispatch.worktree else {
        let lost = dispatch.fields.get("asks_contract") == Some(&Value::Bool(true));
        return Ok(lost.then(|| {
            let line = "it died before its contract was frozen; dispatch it again";
            (State::Failed, line.to_owned())
        }));
    };
    let Some(there) = records::at_path(worktree, path) else {
        return Ok(Some((State::Failed, "its worktree is gone".to_owned())));
    };
    if there.branch()?.as_deref() != Some(dispatch.branch.as_str()) {
        let line = format!("its worktree is not on {} any more", dispatch.branch);
        return Ok(Some((State::Failed, line)));
    }
    Ok(sealed(&there, dispatch.base)?.map(|line| (State::Done, line)))
}

/// Is HEAD the closing checkpoint of a run since `base`, with no cycle open?
fn sealed(there: &Worktree, base: Oid) -> Result<Option<String>> {
    let Some(head) = there.head()?.filter(|head| *head != base) else {
        return Ok(None);
    };
    if journal::open_task(there).is_some() || journal::read(there).is_some() {
        return Ok(None);
    }
    let last = walk::last_stable(there, head)?;
    if last.is_none_or(|last| last.commit != head) {
        return Ok(None);
    }
    let closes = notes::on_commit(there, head)?
        .iter()
        .any(|record| record.is(Kind::Checkpoint) && !record.str("run").is_empty());
    let short = head.to_hex_with_len(12);
    Ok(closes.then(|| format!("sealed as {short} after its dispatcher had died")))
}

/// The dispatch `id` lost its claim to another: nobody takes it up again.
pub(super) fn supersede(worktree: &Worktree, id: &str, by: &str) -> Result<()> {
    let all = records::all(worktree)?;
    let Some(lost) = all.iter().find(|dispatch| dispatch.id == id) else {
        return Ok(());
    };
    let line = format!("its task was taken over by dispatch {by}");
    close(worktree, lost, State::Failed, &line)
}

fn close(worktree: &Worktree, dispatch: &Dispatch, state: State, line: &str) -> Result<()> {
    let exit = if state == State::Done { 0 } else { 3 };
    let head = worktree.branch_tip(&dispatch.branch)?;
    let head = head.map(|head| head.to_string());
    let fields = json!({"state": state.name(), "exit": exit, "line": line, "head": head});
    records::append(worktree, dispatch.base, &dispatch.id, fields)?;
    super::lease::free_dead(worktree, &dispatch.task, &dispatch.id)
}

fn job(worktree: &Worktree, dispatch: Dispatch) -> Job {
    let given = |key: &str| Some(dispatch.str(key).to_owned()).filter(|text| !text.is_empty());
    let full = |path: &Path| {
        let open = records::at_path(worktree, path).and_then(|there| journal::open_task(&there));
        // The ledger shows no secret, the open cycle knows its task as it was given.
        open.map(|open| open.task)
            .filter(|task| secret::redact(task) == dispatch.task)
    };
    let task = dispatch.worktree.as_deref().and_then(full);
    Job {
        task: task.unwrap_or_else(|| dispatch.task.clone()),
        profile: dispatch.str("profile").to_owned(),
        agent: given("agent"),
        provider: given("provider"),
        model: given("model"),
        red: dispatch.fields.get("red") == Some(&Value::Bool(true)),
        base: dispatch.base,
        base_branch: dispatch.base_branch.clone(),
        branch: None,
        contract: None,
        frozen: dispatch.contract.clone(),
        at: dispatch
            .worktree
            .clone()
            .map(|path| (path, dispatch.branch.clone())),
        id: Some(dispatch.id),
    }
}
