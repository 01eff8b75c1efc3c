//! `git arkaint sync`: the ledger between clones. Takes no lock and works on any branch; not inside a run.

use anyhow::Result;
use serde_json::{Value, json};

use crate::cli::Sync;
use crate::config;
use crate::exit::{Exit, Refusal};
use crate::gate;
use crate::git::Worktree;
use crate::ledger::sync::{self, Ask, Synced};
use crate::process;
use crate::text;
use crate::ui::{Tone, Ui};

pub(super) fn run(worktree: &Worktree, args: &Sync, ui: &Ui) -> Result<Exit> {
    gate::refuse_nested()?;
    let _watch = process::watch_signals()?;
    let remote = remote(worktree, args.remote.as_deref())?;
    let Some(deadline) = config::read_duration(&args.timeout) else {
        return Err(Refusal::new(
            format!("--timeout {}: that is no duration", args.timeout),
            "git arkaint sync --timeout 2m",
        )
        .into());
    };
    warn_of_wiping(worktree, &remote, ui)?;
    let synced = sync::exchange(
        worktree,
        Ask {
            remote: &remote,
            deadline,
            dry_run: args.dry_run,
            discards: args.discards,
            leases: args.leases,
        },
    )?;
    for line in &synced.remarks {
        ui.warn(line);
    }
    if ui.is_json() {
        ui.json(&to_json(&remote, args.dry_run, &synced));
    } else {
        show(&remote, args.dry_run, &synced, ui);
    }
    Ok(if synced.refs.iter().any(|refs| !refs.apart.is_empty()) {
        Exit::Person
    } else {
        Exit::Done
    })
}

fn remote(worktree: &Worktree, given: Option<&str>) -> Result<String> {
    let all = worktree.remotes()?;
    match given {
        Some(name) if all.iter().any(|known| known == name) => Ok(name.to_owned()),
        Some(name) if all.is_empty() => Err(Refusal::new(
            format!("{name} is no remote here: there is none"),
            "git remote add origin URL",
        )
        .into()),
        Some(name) => Err(Refusal::new(
            format!("{name} is no remote here"),
            format!("git arkaint sync {}", all.join("|")),
        )
        .into()),
        None => worktree.default_remote()?.ok_or_else(|| {
            if all.is_empty() {
                Refusal::new(
                    "there is no remote to exchange the ledger with",
                    "git remote add origin URL",
                )
            } else {
                Refusal::new(
                    "which remote? the branch has none, and none is named origin",
                    format!("git arkaint sync {}", all.join("|")),
                )
            }
            .into()
        }),
    }
}

/// A forced refspec for notes throws away what was not pushed yet, at every `git fetch`.
fn warn_of_wiping(worktree: &Worktree, remote: &str, ui: &Ui) -> Result<()> {
    for found in sync::wiping(worktree, Some(remote))? {
        ui.warn(format!(
            "{}: every git fetch throws away records that were not pushed; {}",
            found.setting, found.mend
        ));
    }
    Ok(())
}

fn show(remote: &str, dry_run: bool, synced: &Synced, ui: &Ui) {
    let would = if dry_run { "would be " } else { "" };
    for notes in &synced.notes {
        let is_ledger = notes.name.ends_with("/ledger");
        let what = if is_ledger { "record" } else { "verdict page" };
        if notes.received + notes.sent > 0 || is_ledger {
            ui.out_toned(
                Tone::Good,
                format!(
                    "{remote}: {} {would}received, {} {would}sent",
                    text::counted(notes.received, what),
                    text::counted(notes.sent, what)
                ),
            );
        }
    }
    for refs in &synced.refs {
        ui.out_toned(
            Tone::Good,
            format!(
                "{remote}: {} {would}received, {} {would}sent",
                text::counted(refs.received, refs.what.trim_end_matches('s')),
                text::counted(refs.sent, refs.what.trim_end_matches('s'))
            ),
        );
        for (name, why) in &refs.apart {
            ui.out_toned(
                Tone::Bad,
                text::visible_line(&format!(
                    "{name} is not the same here and on {remote}: {why}"
                )),
            );
        }
    }
    if synced.tries > 1 {
        ui.detail(format!("{} tries: others were faster", synced.tries));
    }
}

fn to_json(remote: &str, dry_run: bool, synced: &Synced) -> Value {
    let notes = synced.notes.iter().map(|notes| {
        json!({"ref": notes.name, "received": notes.received, "sent": notes.sent, "commit": notes.tip.map(|tip| tip.to_string())})
    });
    let refs = synced.refs.iter().map(|refs| {
        let apart = refs.apart.iter();
        let apart = apart.map(|(name, why)| json!({"ref": name, "why": why}));
        json!({"what": refs.what, "received": refs.received, "sent": refs.sent, "apart": apart.collect::<Vec<_>>()})
    });
    json!({
        "v": 1, "remote": remote, "dry_run": dry_run, "tries": synced.tries, "notes": notes.collect::<Vec<_>>(), "refs": refs.collect::<Vec<_>>(),
        "remarks": synced.remarks,
    })
}
