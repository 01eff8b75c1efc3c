//! `git arkaint status`: where this worktree stands. Reads only, takes no lock, works inside a run.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};

use crate::archive::{list, retention};
use crate::config::isolated_match;
use crate::cycle::{open, scratch, spending};
use crate::dispatch::records::{self, State};
use crate::evidence::contract;
use crate::exit::Exit;
use crate::gate::{self, Lock};
use crate::git::{Oid, Worktree};
use crate::journal;
use crate::ledger::{Checkpoint, Record, notes, walk};
use crate::text;
use crate::ui::Ui;

pub(super) fn run(worktree: &Worktree, ui: &Ui) -> Result<Exit> {
    let facts = facts(worktree)?;
    if ui.is_json() {
        ui.json(&facts);
        return Ok(Exit::Done);
    }
    show(&facts, ui);
    Ok(Exit::Done)
}

fn facts(worktree: &Worktree) -> Result<Value> {
    let branch = worktree.branch()?;
    let head = worktree.head()?;
    // A broken configuration is one of the things that a person looks here for.
    let config = gate::config_for_reading(worktree, None);
    let isolated = match (&config, &branch) {
        (Ok(config), Some(branch)) => Some(isolated_match(&config.branches.isolated, branch)),
        _ => None,
    };
    let last = head
        .map(|head| walk::last_stable(worktree, head))
        .transpose()?
        .flatten();
    let newest = head
        .map(|head| walk::checkpoints(worktree, head, 1))
        .transpose()?
        .unwrap_or_default()
        .into_iter()
        .next();
    let open = open::load(worktree);
    let day = spending::today(worktree)?;
    let ledger = notes::deciding(worktree)?;
    let archives = list::all(worktree)?;
    Ok(json!({
        "v": 1,
        "worktree": worktree.root().to_string_lossy(),
        "branch": branch,
        "isolated": isolated,
        "configuration": match &config { Ok(_) => Value::from("valid"), Err(error) => Value::from(format!("{error:#}")) },
        "checkpoint": last.as_ref().map(|c| about(c, head == Some(c.commit))),
        "newest_is": newest.as_ref().map(|c| json!({"commit": c.commit.to_string(), "label": c.label(), "fault": c.fault})),
        "running": Lock::holder(worktree),
        "half_done": journal::read(worktree).map(|e| e.name()),
        "open": open.as_ref().map(|o| json!({
            "cycle": o.id, "task": o.task, "attempt": o.progress.attempt(), "fix_round": o.progress.fix_rounds(), "launches": o.launches, "red": o.red,
            "failures_remembered": o.breaker.remembered(),
        })),
        "contract": branch.as_deref().map(|branch| contract_of(worktree, &ledger, branch)),
        "today": {"zone": "UTC", "runs": day.runs, "tokens": day.tokens(), "tokens_unknown": day.tokens_unknown, "usd": day.usd(), "usd_unknown": day.usd_unknown},
        "budget": config.as_ref().ok().map(|c| json!({"day_tokens": c.budget.day_tokens, "day_usd": c.budget.day_usd})),
        "dispatches": dispatches(worktree, &ledger)?,
        "archives": archives.len(),
        "scratch_bytes": retention::folder_size(&worktree.root().join(scratch::FOLDER)),
        "ledger_bytes": notes::size(worktree)?,
    }))
}

/// The open contract of `branch`; `null` for none, and a `fault` for one that cannot be relied on.
fn contract_of(worktree: &Worktree, ledger: &[(Oid, Record)], branch: &str) -> Value {
    match contract::open(worktree, ledger, branch, None) {
        Ok(None) => Value::Null,
        Ok(Some(frozen)) => json!({
            "digest": frozen.digest, "task": frozen.contract.task, "outcomes": frozen.contract.body.outcomes.len(),
            "items": frozen.contract.project.len(),
        }),
        Err(error) => json!({"fault": format!("{error:#}")}),
    }
}

/// Those at work, and those that can be taken up.
fn dispatches(worktree: &Worktree, ledger: &[(Oid, Record)]) -> Result<Vec<Value>> {
    let stopped =
        |state: State| state.is_open() || matches!(state, State::Killed | State::Interrupted);
    let all = records::of(worktree, ledger)?;
    let open = all
        .iter()
        .filter(|dispatch| dispatch.state.is_some_and(stopped));
    let shown = open.map(|dispatch| {
        json!({
            "id": dispatch.id, "state": dispatch.word(), "task": dispatch.task, "branch": dispatch.branch, "worktree": dispatch.worktree,
            "gone": dispatch.gone, "here": dispatch.here,
        })
    });
    Ok(shown.collect())
}

fn about(checkpoint: &Checkpoint, at_head: bool) -> Value {
    json!({
        "commit": checkpoint.commit.to_string(), "status": checkpoint.label(), "time": checkpoint.time, "task": checkpoint.task,
        "message": checkpoint.message, "at_head": at_head,
    })
}

fn show(facts: &Value, ui: &Ui) {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let row = |name: &str, value: String| {
        let value = text::ellipsis(&text::visible_line(&value), 400);
        ui.out(format!("{name:<12} {value}"));
    };
    let branch = facts["branch"]
        .as_str()
        .map_or_else(|| "HEAD is detached".to_owned(), str::to_owned);
    let may = match facts["isolated"].as_bool() {
        Some(true) => "agents may run here",
        Some(false) => "not for agents: git switch -c arkaint/SLUG",
        None => "",
    };
    row("branch", format!("{branch}  {may}"));
    if facts["configuration"] != "valid" {
        row("config", word(&facts["configuration"]));
    }
    match &facts["checkpoint"] {
        Value::Null => row("checkpoint", "none yet: git arkaint checkpoint".to_owned()),
        last => {
            let place = if last["at_head"] == true {
                "at HEAD"
            } else {
                "below HEAD"
            };
            row(
                "checkpoint",
                format!(
                    "{} {} {place}, {}",
                    &word(&last["commit"])[..12],
                    word(&last["status"]),
                    word(&last["time"])
                ),
            );
            if !word(&last["task"]).is_empty() {
                row("task", word(&last["task"]));
            }
        }
    }
    if let Some(fault) = facts["newest_is"]["fault"].as_str() {
        row(
            "warning",
            format!(
                "the newest checkpoint {} does not hold: {fault}",
                &word(&facts["newest_is"]["commit"])[..12]
            ),
        );
    }
    if let Some(pid) = facts["running"].as_str() {
        row("running", format!("process {pid}"));
    }
    if let Some(step) = facts["half_done"]
        .as_str()
        .filter(|_| facts["running"].is_null())
    {
        row(
            "half done",
            format!("{step}: the next checkpoint, cycle or rollback settles it"),
        );
    }
    let count = |key: &str, one: &str| {
        let number = facts["contract"][key].as_u64().unwrap_or(0);
        text::counted(usize::try_from(number).unwrap_or(usize::MAX), one)
    };
    match (&facts["contract"]["digest"], &facts["contract"]["fault"]) {
        (_, Value::String(fault)) => row("contract", fault.clone()),
        (Value::String(digest), _) => row(
            "contract",
            format!(
                "{}: {}, {} of the project",
                &digest[..12],
                count("outcomes", "outcome"),
                count("items", "item")
            ),
        ),
        _ => {}
    }
    if let Value::Object(open) = &facts["open"] {
        row(
            "open run",
            format!(
                "{}: attempt {}, fix round {}, {} launches so far",
                word(&open["cycle"]),
                open["attempt"],
                open["fix_round"],
                open["launches"]
            ),
        );
        row("", word(&open["task"]));
    }
    for dispatch in facts["dispatches"].as_array().into_iter().flatten() {
        let gone = if dispatch["gone"] == true {
            ", its worktree is gone"
        } else {
            ""
        };
        let (id, state) = (word(&dispatch["id"]), word(&dispatch["state"]));
        row(
            "dispatch",
            format!("{id} {state}{gone}: {}", word(&dispatch["task"])),
        );
    }
    let breaker = facts["open"]["failures_remembered"].as_u64().unwrap_or(0);
    row(
        "breaker",
        if breaker == 0 {
            "no failure remembered".to_owned()
        } else {
            format!("{breaker} failures remembered: once more trips")
        },
    );
    let today = &facts["today"];
    let mut spent = format!(
        "{} runs, {} tokens, {:.2} USD",
        today["runs"],
        today["tokens"],
        today["usd"].as_f64().unwrap_or(0.0)
    );
    if today["usd_unknown"].as_u64().unwrap_or(0) > 0 {
        let _ = write!(spent, " and {} runs of unknown cost", today["usd_unknown"]);
    }
    if let Value::Object(budget) = &facts["budget"] {
        let _ = write!(
            spent,
            " (of {} tokens, {} USD)",
            budget["day_tokens"], budget["day_usd"]
        );
    }
    row("today (UTC)", spent);
    let size = |key: &str| text::human_bytes(facts[key].as_u64().unwrap_or(0));
    let (scratch, ledger) = (size("scratch_bytes"), size("ledger_bytes"));
    row(
        "put away",
        format!(
            "{} archives; scratch {scratch}, ledger {ledger}",
            facts["archives"]
        ),
    );
}
