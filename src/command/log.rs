//! `git arkaint log`: the ledger, newest first; the chain of checkpoints, recomputed; records put where the work is now, and their copies in
//! `.arkaint/` made anew. Takes no lock.

use anyhow::Result;
use serde_json::{Value, json};

use super::log_filter::Filter;
use crate::cli::Log;
use crate::cycle::{cost_word, projection};
use crate::exit::{Exit, Refusal};
use crate::gate;
use crate::git::Worktree;
use crate::ledger::{Record, notes, record, relink, walk};
use crate::text;
use crate::ui::{Tone, Ui};

pub(super) fn run(worktree: &Worktree, args: &Log, ui: &Ui) -> Result<Exit> {
    if args.verify {
        return verify(worktree, ui);
    }
    if args.repair {
        gate::refuse_nested()?;
        return repair(worktree, ui);
    }
    if args.export {
        return export(worktree, ui);
    }
    let filter = Filter::new(args)?;
    let most = args.max_count.unwrap_or(usize::MAX);
    let (mut records, odd) = if filter.is_plain() && args.max_count.is_some() {
        notes::newest(worktree, most, |record| filter.wants(record))?
    } else {
        let (all, odd) = notes::all_and_odd(worktree)?;
        (filter.keep(all), odd)
    };
    if odd > 0 {
        ui.warn(format!(
            "{odd} lines of the ledger are no records; they are left as they are (git log --notes=arkaint/ledger shows them)"
        ));
    }
    records.reverse();
    records.truncate(most);
    if ui.is_json() {
        let records: Vec<Value> = records
            .iter()
            .map(|(on, record)| {
                let mut value = record.to_value();
                value["on"] = on.to_string().into();
                value
            })
            .collect();
        ui.json(&json!({"v": 1, "records": records}));
        return Ok(Exit::Done);
    }
    if records.is_empty() {
        ui.say(Tone::Plain, "the ledger has no such record");
    }
    for (_, record) in &records {
        let line = line(record);
        ui.out_toned(
            tone(record),
            text::ellipsis(&text::visible_line(&line), 500),
        );
    }
    Ok(Exit::Done)
}

fn tone(record: &Record) -> Tone {
    match record.kind() {
        "checkpoint" | "approval" => Tone::Good,
        "trip" => Tone::Bad,
        "rollback" => Tone::Warn,
        _ => Tone::Plain,
    }
}

/// `2026-01-31 12:00:00 run        done      goose ...`
fn line(record: &Record) -> String {
    let at = record
        .at()
        .chars()
        .take(19)
        .collect::<String>()
        .replace('T', " ");
    let short = |key: &str| record.str(key).chars().take(12).collect::<String>();
    let what = match record.kind() {
        "checkpoint" => format!(
            "{} {} {}",
            short("commit"),
            record.str("status"),
            first_of(record, &["task", "message"])
        ),
        "run" => {
            let model = [record.str("agent"), record.str("model")]
                .iter()
                .filter(|w| !w.is_empty())
                .copied()
                .collect::<Vec<_>>()
                .join(" ");
            let cost = record.get("cost").map(cost_word).unwrap_or_default();
            format!(
                "{} {} ({model}, {}, {cost}) {}",
                record.id(),
                record.str("outcome"),
                tokens_word(record),
                record.str("task")
            )
        }
        "failure" => format!(
            "{} {}: {}",
            record.str("check"),
            record.str("label"),
            record.str("line")
        ),
        "trip" => record.str("why").to_owned(),
        "rollback" => match record.str("summary") {
            "" => format!(
                "to {}, archive {}: {}",
                short("to"),
                record.str("archive"),
                record.str("why")
            ),
            summary => format!("to {}; summary: {summary}", short("to")),
        },
        "decay" => match record.str("line") {
            "" => record.str("name").to_owned(),
            line => format!("{}: {line}", record.str("name")),
        },
        "dispatch" => format!(
            "{} {} {}",
            record.id(),
            record.str("state"),
            first_of(record, &["line", "branch", "task"])
        ),
        "contract" => {
            let count = |key: &str, one: &str| {
                let number = record.get(key).and_then(Value::as_u64).unwrap_or(0);
                text::counted(usize::try_from(number).unwrap_or(usize::MAX), one)
            };
            format!(
                "{} for {}: {}, {} of the project {}",
                short("digest"),
                record.str("branch"),
                count("outcomes", "outcome"),
                count("items", "item"),
                record.str("task")
            )
        }
        "approval" => format!("{} by {}", approved(record), record.str("by")),
        "verdict" => match record.str("gate") {
            "" => format!("open into {}", record.str("base")),
            gate => format!(
                "{} at {gate}, into {}",
                record.str("verdict"),
                record.str("base")
            ),
        },
        "evidence" => evidence(record),
        _ => format!("(kind of a newer version) {}", record.id()),
    };
    let newer = match record.version() {
        record::VERSION => String::new(),
        other => format!("(record of version {other}, shown as far as it is understood) "),
    };
    format!("{at} {:<10} {newer}{what}", record.kind())
}

fn approved(record: &Record) -> String {
    let short = |key: &str| record.str(key).chars().take(12).collect::<String>();
    match record.str("what") {
        "outcome" => format!("outcome {} on {}", record.str("outcome"), short("commit")),
        "plan" => format!("plan {} of contract {}", short("plan"), short("contract")),
        what => format!("{what} {}", short("commit")),
    }
}

/// `sealed .ak-loop/verify.json on 0123456789ab: cargo test (exit 0): o1 o2`, or which files were judged.
fn evidence(record: &Record) -> String {
    let tree: String = record.str("tree").chars().take(12).collect();
    let words = |key: &str| {
        let items = record.get(key).and_then(Value::as_array);
        let items = items.into_iter().flatten().filter_map(Value::as_str);
        items.collect::<Vec<_>>().join(" ")
    };
    if record.str("what") == "verify" {
        let claimed = if record.str("run").is_empty() {
            "sealed"
        } else {
            "claimed in a run:"
        };
        let exit = record.get("exit").and_then(Value::as_i64);
        let exit = exit.map_or_else(|| "?".to_owned(), |code| code.to_string());
        let file = record.str("file");
        return format!(
            "{claimed} {file} on {tree}: {} (exit {exit}): {}",
            words("argv"),
            words("outcomes")
        );
    }
    let files = record.get("files").and_then(Value::as_array);
    let paths = files.into_iter().flatten();
    let paths = paths.filter_map(|file| file.get("path")?.as_str());
    format!(
        "kept, as judged on {tree}: {}",
        paths.collect::<Vec<_>>().join(" ")
    )
}

fn first_of<'a>(record: &'a Record, keys: &[&str]) -> &'a str {
    keys.iter()
        .map(|key| record.str(key))
        .find(|v| !v.is_empty())
        .unwrap_or_default()
}

fn tokens_word(record: &Record) -> String {
    let tokens = record.get("tokens");
    let part = |name: &str| tokens.and_then(|t| t.get(name)).and_then(Value::as_u64);
    match (part("input"), part("output")) {
        (None, None) => "tokens unknown".to_owned(),
        (input, output) => format!("{} tokens", input.unwrap_or(0) + output.unwrap_or(0)),
    }
}

/// Recomputes every state hash on the first-parent line of HEAD; names the first break.
fn verify(worktree: &Worktree, ui: &Ui) -> Result<Exit> {
    let Some(head) = worktree.head()? else {
        return Err(Refusal::new(
            "this branch has no commit yet",
            "git add -A && git commit -m 'start'",
        )
        .into());
    };
    let all = walk::chain(worktree, head)?;
    // Oldest first: the first break is where the history went wrong, all after it follow.
    let broken = all
        .iter()
        .rev()
        .find_map(|c| c.fault.as_ref().map(|fault| (c, fault)));
    let unproven = all
        .iter()
        .filter(|c| c.fault.is_none() && !c.proven)
        .count();
    if ui.is_json() {
        ui.json(&json!({
            "v": 1, "checkpoints": all.len(), "unproven": unproven,
            "broken": broken.map(|(c, fault)| json!({"commit": c.commit.to_string(), "fault": fault})),
        }));
    } else if let Some((checkpoint, fault)) = broken {
        ui.out_toned(
            Tone::Bad,
            format!("the chain breaks at {}: {fault}", checkpoint.commit),
        );
    } else {
        let rest = if unproven > 0 {
            format!(", {unproven} without a record in the ledger")
        } else {
            String::new()
        };
        ui.out_toned(
            Tone::Good,
            format!("the chain of {} checkpoints holds{rest}", all.len()),
        );
    }
    Ok(if broken.is_some() {
        Exit::CheckFailed
    } else {
        Exit::Done
    })
}

fn repair(worktree: &Worktree, ui: &Ui) -> Result<Exit> {
    let repair = relink::repair(worktree)?;
    if ui.is_json() {
        let relinked = repair.relinked.iter().map(|one| {
            json!({"from": one.from.to_string(), "to": one.to.to_string(), "by": one.by.word(), "records": one.records})
        });
        let alone = repair.alone.iter().map(ToString::to_string);
        ui.json(&json!({"v": 1, "relinked": relinked.collect::<Vec<_>>(), "alone": alone.collect::<Vec<_>>()}));
        return Ok(Exit::Done);
    }
    for one in &repair.relinked {
        ui.out_toned(
            Tone::Good,
            format!(
                "{} -> {}: {} records, by {}",
                one.from.to_hex_with_len(12),
                one.to.to_hex_with_len(12),
                one.records,
                one.by.word()
            ),
        );
    }
    if repair.relinked.is_empty() {
        ui.say(Tone::Plain, "there is nothing to repair");
    }
    if !repair.alone.is_empty() {
        ui.say(
            Tone::Plain,
            format!(
                "{} commits with records are on no branch and nowhere else either; their records stay",
                repair.alone.len()
            ),
        );
    }
    Ok(Exit::Done)
}

fn export(worktree: &Worktree, ui: &Ui) -> Result<Exit> {
    let files = projection::rebuild(worktree)?;
    if ui.is_json() {
        let files = files.iter();
        let files = files.map(
            |(name, lines)| json!({"file": format!(".arkaint/audit/{name}"), "records": lines}),
        );
        ui.json(&json!({"v": 1, "files": files.collect::<Vec<_>>()}));
        return Ok(Exit::Done);
    }
    for (name, lines) in &files {
        ui.out_toned(
            Tone::Good,
            format!(".arkaint/audit/{name}: {lines} records"),
        );
    }
    ui.say(
        Tone::Plain,
        ".arkaint/audit/daily.jsonl: a line a day (UTC)",
    );
    Ok(Exit::Done)
}
