//! `git arkaint init`: writes a commented `arkaint.toml`, adds what git must know, installs the hooks, and names the one command that is
//! left to the user. It commits nothing, and `--undo` takes back what it did.

mod detect;
mod exclude;
mod notes;
mod purge;
mod record;
mod undo;

use std::fs::{self, OpenOptions};
use std::io::Write;

use anyhow::{Context, Result};
use serde_json::json;

use self::detect::Tests;
use self::record::Record;
use super::status_config::committed;
use crate::cli;
use crate::config::{self, FILE, Sources};
use crate::exit::{Exit, Refusal};
use crate::git::Worktree;
use crate::hooks;
use crate::ui::{Tone, Ui};

pub(super) fn run(words: &cli::Init, worktree: &Worktree, ui: &Ui) -> Result<Exit> {
    if std::env::var_os("ARKAINT_RUN").is_some() {
        return Err(Refusal::new(
            "init changes what guards the repository, and this is inside a run",
            "git arkaint status",
        )
        .into());
    }
    if words.undo {
        return undo::run(words, worktree, ui);
    }
    let tests = detect::detect(worktree.root(), &|path| is_ignored(worktree, path));
    let text = config::template(
        tests
            .as_ref()
            .map(|t| (t.command.as_str(), t.from.as_str())),
    );
    // Where the hooks cannot go in, nothing else is begun.
    let planned = hooks::install(worktree, true)?;
    let mut plan = Plan {
        tests,
        did: Vec::new(),
        warnings: Vec::new(),
        commit: None,
    };
    plan.say_tests(worktree);
    if words.print {
        plan.did.extend(
            file_state(worktree)?
                .unwrap_or_else(|| format!("{FILE}: would be written"))
                .lines()
                .map(str::to_owned),
        );
        plan.did.extend(
            exclude::missing(worktree)?
                .iter()
                .map(|line| format!("info/exclude: would add {line}")),
        );
        plan.did.extend(
            notes::missing(worktree)?
                .iter()
                .map(|setting| format!("git config: would add {setting}")),
        );
        plan.did.extend(planned.lines);
        return Ok(plan.print(&text, ui));
    }
    let mut record = Record::open(worktree)?;
    plan.did.push(write_file(worktree, &text, &mut record)?);
    plan.did.extend(exclude::add(worktree, &mut record)?);
    plan.did.extend(notes::add(worktree, &mut record)?);
    let installed = hooks::install(worktree, false)?;
    plan.did.extend(installed.lines);
    if !installed.active {
        plan.warnings.push(
            "git would not run every guard here: git arkaint hooks status says why".to_owned(),
        );
    }
    plan.commit = commit_command(worktree)?;
    Ok(plan.finish(worktree, ui))
}

/// Keeps scratch and evidence out of every commit; `--undo` knows of it.
pub(super) fn exclude_scratch(worktree: &Worktree) -> Result<()> {
    if exclude::missing(worktree)?.is_empty() {
        return Ok(());
    }
    let added = Record::open(worktree).and_then(|mut record| exclude::add(worktree, &mut record));
    match added {
        // Somebody else was at it in the same moment, and did it.
        Err(_) if exclude::missing(worktree)?.is_empty() => Ok(()),
        added => added.map(drop),
    }
}

/// What was found and done, a line each.
struct Plan {
    tests: Option<Tests>,
    did: Vec<String>,
    warnings: Vec<String>,
    commit: Option<String>,
}

impl Plan {
    fn say_tests(&mut self, worktree: &Worktree) {
        self.did.push(match &self.tests {
            Some(tests) => format!("test command: {} (from {})", tests.command, tests.from),
            None if matches!(configured(worktree), Ok(true)) => {
                format!("test command: as {FILE} says")
            }
            None => "test command: none found".to_owned(),
        });
        if worktree.root().join("scripts/verify-spec.sh").is_file() {
            self.did
                .push("spec check: scripts/verify-spec.sh".to_owned());
        }
    }

    fn print(self, text: &str, ui: &Ui) -> Exit {
        for line in &self.did {
            ui.say(Tone::Plain, line);
        }
        if ui.is_json() {
            ui.json(&json!({ "v": 1, "test": self.test_json(), "would": self.did, FILE: text }));
        } else {
            ui.raw(text.as_bytes());
        }
        Exit::Done
    }

    fn finish(mut self, worktree: &Worktree, ui: &Ui) -> Exit {
        for line in &self.did {
            ui.say(Tone::Plain, line);
        }
        match configured(worktree) {
            Ok(true) => {}
            Ok(false) => self.warnings.push(format!("checkpoint refuses until 'test' is set in {FILE}; test = false says that there are no tests")),
            Err(refusal) => self.warnings.push(refusal.cause),
        }
        for warning in &self.warnings {
            ui.warn(warning);
        }
        if ui.is_json() {
            ui.json(&json!({ "v": 1, "test": self.test_json(), "did": self.did, "warnings": self.warnings, "commit": self.commit }));
        } else if let Some(commit) = &self.commit {
            ui.say(Tone::Plain, "left to you:");
            ui.out(commit);
        } else {
            ui.say(
                Tone::Plain,
                format!("{FILE} is committed: nothing is left to do"),
            );
        }
        Exit::Done
    }

    fn test_json(&self) -> serde_json::Value {
        self.tests.as_ref().map_or(
            serde_json::Value::Null,
            |t| json!({ "command": t.command, "from": t.from }),
        )
    }
}

/// Is a test command set in the file on disk?
fn configured(worktree: &Worktree) -> Result<bool, Refusal> {
    let bytes = fs::read(worktree.root().join(FILE)).unwrap_or_default();
    let loaded = config::load(&Sources {
        file: Some(config::text_of(&bytes)?),
        ..Sources::default()
    })?;
    Ok(loaded.config.checkpoint.test != config::TestCommand::Unset)
}

/// Why the file is not written; `None` when it is to be.
fn file_state(worktree: &Worktree) -> Result<Option<String>> {
    if worktree.root().join(FILE).symlink_metadata().is_ok() {
        return Ok(Some(format!("{FILE}: already there, left as it is")));
    }
    if committed(worktree)?.is_some() {
        return Ok(Some(format!(
            "{FILE}: committed, but not on disk; git restore {FILE} brings it back"
        )));
    }
    Ok(None)
}

fn write_file(worktree: &Worktree, text: &str, record: &mut Record) -> Result<String> {
    if let Some(why) = file_state(worktree)? {
        return Ok(why);
    }
    record.wrote_file(text)?;
    let path = worktree.root().join(FILE);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .with_context(|| format!("writing {FILE}"))?;
    if let Err(error) = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
    {
        // Half a configuration would look like one.
        let _ = fs::remove_file(&path);
        return Err(error).with_context(|| format!("writing {FILE}"));
    }
    Ok(format!("{FILE}: written"))
}

/// The one command that is left, or nothing when the file on disk is committed.
fn commit_command(worktree: &Worktree) -> Result<Option<String>> {
    let Ok(disk) = fs::read(worktree.root().join(FILE)) else {
        return Ok(None);
    };
    let (git, path) = match std::env::current_dir() {
        Ok(here) if here == worktree.root() => ("git".to_owned(), FILE.to_owned()),
        Ok(here) if here.starts_with(worktree.root()) => ("git".to_owned(), format!(":/{FILE}")),
        _ => (
            format!(
                "git -C {}",
                shell_words::quote(&worktree.root().to_string_lossy())
            ),
            FILE.to_owned(),
        ),
    };
    Ok(match committed(worktree)? {
        // The hook lets the commit pass that first adds it.
        None => {
            let force = if is_ignored(worktree, FILE) {
                " -f"
            } else {
                ""
            };
            Some(format!(
                r#"{git} add{force} {path} && {git} commit -m "Add {FILE}" -- {path}"#
            ))
        }
        Some(head)
            if head == disk
                || worktree
                    .git()
                    .call(["diff", "--quiet", "HEAD", "--", FILE])
                    .succeeds()? =>
        {
            None
        }
        Some(_) => Some(format!(
            r#"ARKAINT_ALLOW_INFRA_EDIT=1 {git} commit -m "Change {FILE}" -- {path}"#
        )),
    })
}

fn is_ignored(worktree: &Worktree, path: &str) -> bool {
    worktree
        .git()
        .call(["check-ignore", "-q", "--", path])
        .succeeds()
        .unwrap_or(false)
}
