//! Git configuration, key by key: what can run code or redirect git goes back to what it was; harmless keys are only reported.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::git::hardened::{Attributes, Hardened};

/// Keys that changed.
#[derive(Debug, Default)]
pub(super) struct Changed {
    pub put_back: Vec<String>,
    pub reported: Vec<String>,
}

/// Sections that only say how a person likes things, or where a branch is pushed. Everything else counts as able to run code or to
/// redirect git: a list of the dangerous keys would be out of date with each version of git.
const HARMLESS: [&str; 9] = [
    "branch.",
    "color.",
    "column.",
    "help.",
    "log.",
    "maintenance.",
    "pull.",
    "rerere.",
    "status.",
];

/// Puts the keys of `file` that matter back to what they are in `old` (the file's former bytes).
pub(super) fn put_back(git: &Hardened<'_>, file: &Path, old: &[u8]) -> Result<Changed> {
    let before_path = git.worktree().state_dir().join("config.before");
    fs::write(&before_path, old).context("writing the noted configuration")?;
    let before = keys(git, &before_path)?.unwrap_or_default();
    let _ = fs::remove_file(&before_path);
    let Some(after) = keys(git, file)? else {
        fs::write(file, old).with_context(|| format!("putting {} back", file.display()))?;
        return Ok(Changed {
            put_back: vec!["unreadable, put back whole".to_owned()],
            reported: Vec::new(),
        });
    };
    let mut changed = Changed::default();
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        let (was, is) = (before.get(name), after.get(name));
        if was == is {
            continue;
        }
        if HARMLESS.iter().any(|section| name.starts_with(section)) {
            changed.reported.push(name.clone());
            continue;
        }
        if is.is_some() {
            git.call(Attributes::Raw, ["config", "--file"])
                .arg(file)
                .args(["--unset-all", name])
                .run()?;
        }
        for value in was.into_iter().flatten() {
            git.call(Attributes::Raw, ["config", "--file"])
                .arg(file)
                .args(["--add", name, value])
                .run()?;
        }
        changed.put_back.push(name.clone());
    }
    if changed.reported.is_empty() && !changed.put_back.is_empty() {
        // Nothing of the run's is worth keeping in the file: give it back byte for byte.
        fs::write(file, old).with_context(|| format!("putting {} back", file.display()))?;
    }
    Ok(changed)
}

/// All values by key; `None` when git cannot read the file.
fn keys(git: &Hardened<'_>, file: &Path) -> Result<Option<BTreeMap<String, Vec<String>>>> {
    let out = git
        .call(
            Attributes::Raw,
            ["config", "--no-includes", "--list", "-z", "--file"],
        )
        .arg(file)
        .output()?;
    if out.code != Some(0) {
        return Ok(None);
    }
    let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in String::from_utf8_lossy(&out.stdout)
        .split('\0')
        .filter(|e| !e.is_empty())
    {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        keys.entry(key.to_owned())
            .or_default()
            .push(value.to_owned());
    }
    Ok(Some(keys))
}
