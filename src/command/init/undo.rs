//! `git arkaint init --undo`: takes back what `init` did, and nothing that the user made of it. A committed `arkaint.toml` stays, and what
//! was recorded and put away unless it is asked for.

use std::fs;

use anyhow::{Context, Result};
use serde_json::json;

use super::record::Record;
use super::{detect, exclude, is_ignored, notes, purge};
use crate::cli;
use crate::command::status_config::committed;
use crate::config::{self, FILE};
use crate::exit::Exit;
use crate::git::Worktree;
use crate::hooks;
use crate::ledger::cache;
use crate::ui::{Tone, Ui};

pub(super) fn run(words: &cli::Init, worktree: &Worktree, ui: &Ui) -> Result<Exit> {
    let _locks = (words.purge || words.ledger)
        .then(|| purge::may(worktree))
        .transpose()?;
    let mut did = Vec::new();
    let done = take_back(words, worktree, &mut did);
    if done.is_ok() && did.is_empty() {
        did.push("nothing of init's is here".to_owned());
    }
    // Also where it came to an end half-way: what is gone is gone.
    for line in &did {
        ui.say(Tone::Plain, line);
    }
    done?;
    if ui.is_json() {
        ui.json(&json!({ "v": 1, "did": did }));
    }
    Ok(Exit::Done)
}

/// `did` gets a line for each thing that was done.
fn take_back(words: &cli::Init, worktree: &Worktree, did: &mut Vec<String>) -> Result<()> {
    let record = Record::find(worktree)?;
    did.extend(hooks::uninstall(worktree)?.lines);
    did.retain(|line| line != hooks::NONE_HERE);
    did.extend(notes::remove(worktree, record.as_ref())?);
    did.extend(exclude::remove(worktree, record.as_ref())?);
    did.extend(remove_file(worktree, record.as_ref())?);
    cache::forget(worktree)?;
    if let Some(record) = record {
        notes::restore_bytes(worktree, &record)?;
        record.forget()?;
    }
    if words.purge {
        purge::kept(worktree, did)?;
    } else if worktree.root().join(".arkaint").is_dir() {
        did.push(".arkaint/: kept, the scratch of past runs; git arkaint init --undo --purge removes it and what was put away".to_owned());
    }
    if words.ledger {
        did.extend(purge::ledger(worktree)?);
    }
    if worktree.root().join(".ak-loop").is_dir() {
        did.push(".ak-loop/: kept, it is the worker's; rm -r .ak-loop removes it".to_owned());
    }
    Ok(())
}

/// Removes an `arkaint.toml` that nobody has changed, staged or committed.
fn remove_file(worktree: &Worktree, record: Option<&Record>) -> Result<Option<String>> {
    let path = worktree.root().join(FILE);
    if !path.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        return Ok(None);
    }
    if committed(worktree)?.is_some() {
        return Ok(Some(format!("{FILE}: kept, it is committed")));
    }
    if worktree
        .git()
        .call(["ls-files", "--error-unmatch", "--", FILE])
        .succeeds()?
    {
        return Ok(Some(format!(
            "{FILE}: kept, it is staged; git rm -f {FILE} removes it"
        )));
    }
    let bytes = fs::read(&path).with_context(|| format!("reading {FILE}"))?;
    let ours = if let Some(record) = record {
        record.is_ours(&bytes)
    } else {
        let tests = detect::detect(worktree.root(), &|path| is_ignored(worktree, path));
        let found = tests
            .as_ref()
            .map(|t| (t.command.as_str(), t.from.as_str()));
        bytes == config::template(found).as_bytes()
    };
    if !ours {
        return Ok(Some(format!("{FILE}: kept, it is not as init wrote it")));
    }
    fs::remove_file(&path).with_context(|| format!("removing {FILE}"))?;
    Ok(Some(format!("{FILE}: removed")))
}
