//! The task and the profile: from the line, a file, standard input, or the last checkpoint. Reads only.

use std::io::Read as _;

use anyhow::{Context, Result};

use crate::cli::Task;
use crate::config::Config;
use crate::exit::Refusal;
use crate::git::Worktree;
use crate::ledger::{Kind, notes, walk};

/// The longest task, bytes.
const MAX_TASK: u64 = 1024 * 1024;

/// The profile that was asked for. With a task file, the first word is the profile.
pub(crate) fn profile(task: &Task) -> Option<&str> {
    let word = if task.file.is_some() {
        task.text.as_deref()
    } else {
        task.profile_word.as_deref()
    };
    task.profile.as_deref().or(word)
}

/// The task that was given, if any. Standard input is read here.
///
/// # Errors
/// A [`Refusal`] for a lone word that names a profile: it would be a task of one word.
pub(crate) fn given(task: &Task, config: &Config) -> Result<Option<String>> {
    if let (Some(word), None, None) = (&task.text, &task.profile_word, &task.file)
        && config.profiles.contains_key(word.trim())
    {
        return Err(Refusal::new(format!("{word} is a profile, not a task"), format!("git arkaint cycle -p {word} (the task of the last checkpoint), or git arkaint cycle TASK {word}")).into());
    }
    let Some(file) = &task.file else {
        return Ok(task.text.clone());
    };
    if task.text.is_some() && task.profile_word.is_some() {
        return Err(Refusal::new(
            "a task and a task file were given",
            "git arkaint cycle --task-file FILE -p PROFILE",
        )
        .into());
    }
    let mut text = String::new();
    let (read, name) = if file.as_os_str() == "-" {
        (
            std::io::stdin()
                .take(MAX_TASK + 1)
                .read_to_string(&mut text),
            "standard input".to_owned(),
        )
    } else {
        let opened = std::fs::File::open(file).map_err(|e| {
            Refusal::new(
                format!("{}: {e}", file.display()),
                "git arkaint cycle --task-file FILE",
            )
        })?;
        (
            opened.take(MAX_TASK + 1).read_to_string(&mut text),
            file.display().to_string(),
        )
    };
    read.with_context(|| format!("reading the task from {name}"))?;
    if text.len() as u64 > MAX_TASK {
        return Err(Refusal::new(
            format!("the task in {name} is longer than 1 MiB"),
            "name the long material in the task by its path",
        )
        .into());
    }
    Ok(Some(text))
}

/// The task of a call: given as a word or a file, else that of the last checkpoint made on this branch.
pub(crate) fn settle(worktree: &Worktree, branch: &str, given: Option<String>) -> Result<String> {
    if let Some(task) = given {
        if task.trim().is_empty() {
            return Err(
                Refusal::new("the task is empty", "git arkaint cycle \"what to do\"").into(),
            );
        }
        return Ok(task.trim().to_owned());
    }
    let head = worktree.head()?.context("HEAD has no commit")?;
    let last = walk::last_stable(worktree, head)?.filter(|c| c.branch == branch);
    let Some(last) = last else {
        return Err(Refusal::new(
            "there is no task: none was given, and no checkpoint of this branch has one",
            "git arkaint cycle \"what to do\"",
        )
        .into());
    };
    // The ledger keeps the full text; the trailer is one line.
    let full = notes::on_commit(worktree, last.commit)?;
    let full = full
        .iter()
        .rev()
        .find(|r| r.is(Kind::Checkpoint))
        .map(|r| r.str("task").to_owned());
    match full.filter(|task| !task.is_empty()).unwrap_or(last.task) {
        task if task.is_empty() => Err(Refusal::new(
            "there is no task: none was given, and the last checkpoint has none",
            "git arkaint cycle \"what to do\"",
        )
        .into()),
        task => Ok(task),
    }
}
