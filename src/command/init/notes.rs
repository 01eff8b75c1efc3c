//! The three settings that let amend, rebase and merge carry the ledger's notes. Never a fetch or push refspec: those would wipe notes, or
//! stop a plain `git push` from pushing the branch.

use std::fs::{self, OpenOptions};
use std::io::Write;

use anyhow::{Context, Result};

use super::record::Record;
use crate::git::Worktree;

/// A setting: its key, the value that is ours, whether others may stand beside it.
struct Setting {
    key: &'static str,
    value: &'static str,
    many: bool,
}

const SETTINGS: [Setting; 3] = [
    Setting {
        key: "notes.rewriteRef",
        value: "refs/notes/arkaint/*",
        many: true,
    },
    Setting {
        key: "notes.rewriteMode",
        value: "cat_sort_uniq",
        many: false,
    },
    Setting {
        key: "notes.arkaint/ledger.mergeStrategy",
        value: "cat_sort_uniq",
        many: false,
    },
];

impl Setting {
    fn text(&self) -> String {
        format!("{}={}", self.key, self.value)
    }

    /// Is there nothing to add? One that holds a single value is the user's once it is set, wherever that is.
    fn is_there(&self, worktree: &Worktree) -> Result<bool> {
        let values = values(worktree, &["config", "--get-all", self.key])?;
        Ok(if self.many {
            values.iter().any(|value| value == self.value)
        } else {
            !values.is_empty()
        })
    }
}

/// The settings that are not there yet.
pub(super) fn missing(worktree: &Worktree) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for setting in SETTINGS {
        if !setting.is_there(worktree)? {
            missing.push(setting.text());
        }
    }
    Ok(missing)
}

/// Adds what is missing to the repository's own configuration; says what it did.
pub(super) fn add(worktree: &Worktree, record: &mut Record) -> Result<Vec<String>> {
    let missing = missing(worktree)?;
    if missing.is_empty() {
        return Ok(vec!["git config: notes settings already there".to_owned()]);
    }
    for setting in &missing {
        if !record.added.settings.contains(setting) {
            record.added.settings.push(setting.clone());
        }
    }
    record.save()?;
    let mut did = Vec::new();
    for setting in SETTINGS
        .iter()
        .filter(|setting| missing.contains(&setting.text()))
    {
        let how = if setting.many {
            "--add"
        } else {
            "--replace-all"
        };
        worktree
            .git()
            .call(["config", "--local", how, setting.key, setting.value])
            .run()?;
        did.push(format!("git config: added {}", setting.text()));
    }
    Ok(did)
}

/// Takes the settings out again; without a record, only where all three are there as `init` makes them.
pub(super) fn remove(worktree: &Worktree, record: Option<&Record>) -> Result<Vec<String>> {
    let mut ours = Vec::new();
    for setting in &SETTINGS {
        let there = values(worktree, &["config", "--local", "--get-all", setting.key])?;
        let known = record.is_none_or(|record| record.added.settings.contains(&setting.text()));
        if known && there.iter().any(|value| value == setting.value) {
            ours.push(setting);
        }
    }
    if record.is_none() {
        if ours.len() < SETTINGS.len() {
            return Ok(Vec::new());
        }
        // Whose this one is cannot be known.
        ours.retain(|setting| setting.key != "notes.rewriteMode");
    }
    let mut did = Vec::new();
    for setting in ours {
        let exactly = format!("^{}$", setting.value.replace('*', "\\*"));
        worktree
            .git()
            .call(["config", "--local", "--unset-all", setting.key, &exactly])
            .run()?;
        did.push(format!("git config: removed {}", setting.text()));
    }
    Ok(did)
}

/// Gives `.git/config` its old bytes where it says the same as before `init`: git leaves headers and ends of lines behind.
pub(super) fn restore_bytes(worktree: &Worktree, record: &Record) -> Result<()> {
    let path = worktree.common_dir().join("config");
    let (Some(before), Ok(now)) = (record.config(), fs::read(&path)) else {
        return Ok(());
    };
    if before == now || essence(&before) != essence(&now) || path.is_symlink() {
        return Ok(());
    }
    let lock = worktree.common_dir().join("config.lock");
    // git's own way, so that a git that writes at this moment is not overwritten.
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&lock)
        .context("locking .git/config")?;
    let written = fs::metadata(&path)
        .and_then(|meta| file.set_permissions(meta.permissions()))
        .and_then(|()| file.write_all(&before))
        .and_then(|()| fs::rename(&lock, &path));
    if written.is_err() {
        let _ = fs::remove_file(&lock);
    }
    written.context("writing .git/config")
}

/// What a configuration says: no blank lines, no indents, no headers of empty sections.
fn essence(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = Vec::new();
    for line in bytes
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
    {
        if line.starts_with(b"[") && lines.last().is_some_and(|last| is_header(last)) {
            lines.pop();
        }
        lines.push(line);
    }
    if lines.last().is_some_and(|last| is_header(last)) {
        lines.pop();
    }
    lines
}

fn is_header(line: &[u8]) -> bool {
    line.starts_with(b"[") && line.iter().position(|byte| *byte == b']') == Some(line.len() - 1)
}

fn values(worktree: &Worktree, args: &[&str]) -> Result<Vec<String>> {
    let out = worktree.git().call(args).output()?;
    match out.code {
        // 1: not set.
        Some(0 | 1) => Ok(String::from_utf8_lossy(&out.stdout)
            .lines()
            .map(str::to_owned)
            .collect()),
        _ => anyhow::bail!("git config: {}", out.reason()),
    }
}
