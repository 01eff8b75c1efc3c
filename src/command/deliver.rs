//! `git arkaint deliver`: the gate over what is delivered, its table, and the merge of what it lets through.

use anyhow::Result;
use serde_json::{Value, json};

use crate::cli::Deliver;
use crate::deliver::gates::{self, Answer, Judged};
use crate::deliver::merge::{self, How};
use crate::deliver::request::Pull;
use crate::deliver::rerun;
use crate::deliver::subject::{Ask, Delivery};
use crate::deliver::verdict;
use crate::dispatch::records::{self, Dispatch};
use crate::evidence::standing::Standing;
use crate::evidence::table::Table;
use crate::exit::{Exit, Refusal};
use crate::gate::{self, Lock};
use crate::git::{Oid, Worktree};
use crate::ledger::{Record, notes};
use crate::text;
use crate::ui::{self, Tone, Ui};

pub(super) fn run(worktree: &Worktree, args: &Deliver, ui: &Ui) -> Result<Exit> {
    if !args.check {
        gate::refuse_nested()?;
        gate::identity(worktree)?;
    }
    let _lock = if args.check {
        None
    } else {
        Some(Lock::take(worktree)?)
    };
    let ledger = notes::deciding(worktree)?;
    if args.all {
        return all(worktree, &ledger, args, ui);
    }
    let dispatched = match dispatched(worktree, &ledger, args.branch.as_deref())? {
        Some(dispatch) => vec![dispatch],
        None => Vec::new(),
    };
    let mut ask = Ask {
        branch: args.branch.as_deref(),
        base: args.base.as_deref(),
        ..dispatched.first().map(of_dispatch).unwrap_or_default()
    };
    let pull = match args.pr {
        Some(number) => {
            let branch = match args.branch.clone() {
                Some(branch) => Some(branch),
                None => worktree.branch()?,
            };
            Some(Pull::find(worktree, branch.as_deref(), number)?)
        }
        None => None,
    };
    let base = pull.as_ref().map(|pull| pull.base(worktree)).transpose()?;
    if base.is_some() {
        ask.base = base.as_deref();
    }
    let done = one(worktree, &ledger, args, ask, pull.as_ref(), ui)?;
    if ui.is_json() {
        ui.json(&done.json);
    }
    Ok(done.exit)
}

/// What came of one delivery.
struct Done {
    exit: Exit,
    /// Null where nobody asked for JSON.
    json: Value,
}

/// The dispatch of a branch (HEAD's, where none is named), if there was one: the newest.
fn dispatched(
    worktree: &Worktree,
    ledger: &[(Oid, Record)],
    branch: Option<&str>,
) -> Result<Option<Dispatch>> {
    let branch = match branch {
        Some(branch) => Some(branch.to_owned()),
        None => worktree.branch()?,
    };
    let Some(branch) = branch else {
        return Ok(None);
    };
    Ok(records::of(worktree, ledger)?
        .into_iter()
        .rfind(|dispatch| dispatch.branch == branch))
}

fn of_dispatch(dispatch: &Dispatch) -> Ask<'_> {
    Ask {
        branch: Some(&dispatch.branch),
        base: dispatch.base_branch.as_deref(),
        folder: dispatch.worktree.as_deref(),
        dispatched: true,
        contract: dispatch.contract.as_deref(),
    }
}

/// Every dispatch, oldest first, each judged on its own. One that cannot be judged is said and does not stop the others.
fn all(worktree: &Worktree, ledger: &[(Oid, Record)], args: &Deliver, ui: &Ui) -> Result<Exit> {
    let mut worst = Exit::Done;
    let mut deliveries = Vec::new();
    let dispatches = records::of(worktree, ledger)?;
    if dispatches.is_empty() {
        ui.say(Tone::Plain, "the ledger knows no dispatch");
    }
    for (number, dispatch) in dispatches.iter().enumerate() {
        if number > 0 && !ui.is_json() {
            ui.out("");
        }
        let head = json!({"dispatch": dispatch.id, "state": dispatch.word(), "task": dispatch.task, "branch": dispatch.branch, "plan": dispatch.plan});
        let left = left_out(worktree, dispatch)?;
        let mut value = if let Some((why, exit)) = left {
            ui.say(
                Tone::Warn,
                format!(
                    "{} ({}): {why}",
                    text::visible_line(&text::ellipsis(&dispatch.task, 60)),
                    dispatch.word()
                ),
            );
            worst = graver(worst, exit);
            json!({"verdict": "left-out", "why": why})
        } else {
            let done = one(worktree, ledger, args, of_dispatch(dispatch), None, ui)?;
            worst = graver(worst, done.exit);
            done.json
        };
        for (key, member) in head.as_object().into_iter().flatten() {
            value[key] = member.clone();
        }
        deliveries.push(value);
    }
    if ui.is_json() {
        ui.json(&json!({"v": 1, "deliveries": deliveries}));
    }
    Ok(worst)
}

/// Why a dispatch is not judged at all, and what that means for the whole.
fn left_out(worktree: &Worktree, dispatch: &Dispatch) -> Result<Option<(String, Exit)>> {
    if dispatch.alive {
        return Ok(Some(("its worker is at work".to_owned(), Exit::Person)));
    }
    if dispatch.branch.is_empty() {
        return Ok(Some(("it has no branch yet".to_owned(), Exit::Person)));
    }
    let Some(tip) = worktree.branch_tip(&dispatch.branch)? else {
        return Ok(Some((
            format!("its branch {} is gone", dispatch.branch),
            Exit::Done,
        )));
    };
    if let Some(base) = &dispatch.base_branch
        && let Some(base_tip) = worktree.branch_tip(base)?
        && tip != dispatch.base
        && worktree.merge_base(base_tip, tip)? == Some(tip)
    {
        return Ok(Some((format!("merged into {base} already"), Exit::Done)));
    }
    Ok(None)
}

/// Of two answers the one that asks for more.
fn graver(one: Exit, other: Exit) -> Exit {
    if other.code() > one.code() {
        other
    } else {
        one
    }
}

/// Judges one delivery, shows it, keeps it, comments on it, merges it where that was asked.
fn one(
    worktree: &Worktree,
    ledger: &[(Oid, Record)],
    args: &Deliver,
    ask: Ask<'_>,
    pull: Option<&Pull>,
    ui: &Ui,
) -> Result<Done> {
    let delivery = Delivery::find(worktree, ledger, ask)?;
    let remote = pull.map(|pull| pull.remote(&delivery)).transpose()?;
    let reran = if args.rerun {
        Some(rerun::run(&delivery, ui)?)
    } else {
        None
    };
    let judged = gates::judge(&delivery, reran.as_ref(), remote.as_ref())?;
    let shown = verdict::shown(&delivery, &judged);
    if !args.check {
        verdict::keep(&delivery, &judged)?;
    }
    if args.markdown {
        ui.raw(shown.markdown().as_bytes());
    } else if !ui.is_json() {
        print(&delivery, &judged, ui);
    }
    if let Some(pull) = pull.filter(|_| !args.check) {
        pull.comment(&shown, ui)?;
    }
    let merged = if args.merge && judged.is_open() {
        let how = match (args.squash, args.ff) {
            (true, _) => How::Squash,
            (_, true) => How::FastForward,
            _ => How::Commit,
        };
        Some(merge::merge(&delivery, how)?)
    } else {
        None
    };
    let mut json = Value::Null;
    if ui.is_json() {
        json = shown.json();
        json["merged"] = json!(merged.map(|commit| commit.to_string()));
    }
    if let Some(merged) = merged {
        ui.say(
            Tone::Good,
            format!(
                "merged into {} as {}",
                text::visible_line(&delivery.base.name),
                merged.to_hex_with_len(12)
            ),
        );
    }
    say_stop(&delivery, &judged, args.merge, ui)?;
    Ok(Done {
        exit: judged.exit(),
        json,
    })
}

fn print(delivery: &Delivery<'_>, judged: &Judged, ui: &Ui) {
    ui.out_toned(
        Tone::Head,
        format!(
            "{} at {} into {} at {}{}",
            text::visible_line(delivery.branch.as_deref().unwrap_or("HEAD")),
            delivery.head.to_hex_with_len(12),
            text::visible_line(&delivery.base.name),
            delivery.base.tip.to_hex_with_len(12),
            delivery.contract().map_or(String::new(), |digest| format!(
                ", contract {}",
                &digest[..12]
            ))
        ),
    );
    let width = ui::width();
    let says_something = |standing: &&Standing| {
        let found = &standing.assessment;
        !(found.rows.is_empty() && found.warnings.is_empty() && found.unmatched.is_empty())
    };
    if let Some(standing) = judged.standing.as_ref().filter(says_something) {
        ui.out("");
        table(delivery, standing, width, ui);
    }
    ui.out("");
    for gate in &judged.gates {
        let tone = match gate.answer {
            Answer::Open => Tone::Good,
            Answer::Closed => Tone::Bad,
            Answer::Held | Answer::Waiting => Tone::Warn,
            Answer::Skipped => Tone::Dim,
        };
        let head = format!("{:<8} {:<16} ", gate.answer.name(), gate.name);
        let indent = " ".repeat(head.len());
        let options = textwrap::Options::new(width)
            .initial_indent(&head)
            .subsequent_indent(&indent);
        for line in textwrap::wrap(&text::visible_line(&gate.why), options) {
            ui.out_toned(tone, line);
        }
    }
}

fn table(delivery: &Delivery<'_>, standing: &Standing, width: usize, ui: &Ui) {
    let (head, tree) = (delivery.head.to_string(), delivery.tree.to_string());
    let artifacts = standing.artifacts();
    let table = Table {
        assessment: &standing.assessment,
        head: &head,
        tree: &tree,
        contract: delivery.contract(),
        artifacts: &artifacts,
    };
    for (tone, line) in table.lines(width) {
        ui.out_toned(tone, line);
    }
}

/// The answer: one line, and the command that helps.
fn say_stop(delivery: &Delivery<'_>, judged: &Judged, merge: bool, ui: &Ui) -> Result<()> {
    let Some(stop) = judged.stop() else {
        if !merge {
            let here = delivery.worktree.branch()? == delivery.branch;
            let branch = delivery.branch.as_ref().filter(|_| !here);
            let word = branch.map_or(String::new(), |branch| format!(" {branch}"));
            ui.say(
                Tone::Good,
                text::visible_line(&format!(
                    "the gate is open: git arkaint deliver{word} --merge"
                )),
            );
        }
        return Ok(());
    };
    let what = match stop.answer {
        Answer::Closed => "the gate is closed",
        Answer::Waiting => "the gate waits",
        _ => "the gate holds it for a person",
    };
    let mut hints: Vec<String> = judged
        .standing
        .as_ref()
        .filter(|_| matches!(stop.name, "artifacts" | "both lists"))
        .map(Standing::to_do)
        .unwrap_or_default()
        .into_iter()
        .filter(|line| *line != stop.why)
        .take(5)
        .collect();
    hints.extend(stop.hint.clone());
    if hints.is_empty() {
        hints.push("git arkaint deliver --check shows every gate".to_owned());
    }
    let refusal = Refusal::with_exit(
        judged.exit(),
        format!("{what}: {}: {}", stop.name, stop.why),
        "",
    );
    ui.error(&refusal.cause, &hints);
    Ok(())
}
