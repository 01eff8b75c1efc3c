//! `git arkaint status --config`: every value as committed, with where it came from. The rest of `status` is elsewhere.

use std::fs;

use anyhow::Result;
use serde_json::json;

use crate::config::{self, FILE, Flags, Loaded, Origin, Setting, Sources};
use crate::exit::Exit;
use crate::git::Worktree;
use crate::text;
use crate::ui::Ui;

/// The configuration of one call in `worktree`: `arkaint.toml` as committed at HEAD under the personal settings.
///
/// # Errors
/// A [`crate::exit::Refusal`] that names file, line and key.
pub(super) fn configuration(worktree: &Worktree, flags: Flags) -> Result<Loaded> {
    let committed = committed(worktree)?;
    let file = committed.as_deref().map(config::text_of).transpose()?;
    Ok(config::load(&Sources {
        file,
        git_config: worktree.settings("arkaint")?,
        env: config::environment(),
        flags,
    })?)
}

/// The bytes of `arkaint.toml` at HEAD.
pub(super) fn committed(worktree: &Worktree) -> Result<Option<Vec<u8>>> {
    worktree
        .head()?
        .map_or(Ok(None), |head| worktree.blob_at(head, FILE))
}

pub(super) fn run(worktree: &Worktree, ui: &Ui) -> Result<Exit> {
    let loaded = configuration(worktree, Flags::default())?;
    let settings = loaded.settings();
    let mut warnings = loaded.warnings.clone();
    warnings.extend(not_as_committed(worktree)?);
    for warning in &warnings {
        ui.warn(warning);
    }
    if ui.is_json() {
        let settings: Vec<_> = settings.iter().map(as_json).collect();
        ui.json(&json!({ "v": 1, "settings": settings, "warnings": warnings }));
    } else {
        for line in lines(&settings) {
            ui.out(line);
        }
    }
    Ok(Exit::Done)
}

/// Says why what is shown may not be what one sees on disk.
fn not_as_committed(worktree: &Worktree) -> Result<Option<String>> {
    let on_disk = fs::read(worktree.root().join(FILE)).ok();
    let same = |a: &[u8], b: &[u8]| {
        a.iter()
            .filter(|c| **c != b'\r')
            .eq(b.iter().filter(|c| **c != b'\r'))
    };
    Ok(match (committed(worktree)?, on_disk) {
        (None, None) => Some(format!(
            "there is no {FILE}: these are the defaults (git arkaint init writes one)"
        )),
        (None, Some(_)) => Some(format!("{FILE} is not committed: these are the defaults")),
        (Some(_), None) => Some(format!(
            "{FILE} is not on disk: this is how it is committed"
        )),
        (Some(head), Some(disk)) if !same(&head, &disk) => Some(format!(
            "{FILE} on disk differs from HEAD: this is how it is committed"
        )),
        _ => None,
    })
}

fn as_json(setting: &Setting) -> serde_json::Value {
    let source = match &setting.origin {
        Origin::Default => "default",
        Origin::File(_) => "file",
        Origin::GitConfig(_) => "git-config",
        Origin::Env(_) => "environment",
        Origin::Flag(_) => "flag",
    };
    let mut object = json!({ "key": setting.key, "value": setting.value.json(), "source": source, "origin": setting.origin.to_string() });
    if let Origin::File(line) = setting.origin {
        object["line"] = line.into();
    }
    object
}

/// `key = value  # origin`, the origins in one column; a value of many lines is cut after its first.
fn lines(settings: &[Setting]) -> Vec<String> {
    /// Longer entries do not push the column out.
    const WIDEST: usize = 64;
    let entries: Vec<String> = settings
        .iter()
        .map(|setting| match setting.toml() {
            value if value.is_empty() => format!("# {} is not set", setting.key),
            value if value.contains('\n') => {
                let first = value
                    .trim_start_matches('"')
                    .trim_start()
                    .lines()
                    .next()
                    .unwrap_or_default();
                format!(
                    "{} = \"{}…\"",
                    setting.key,
                    text::ellipsis(first, WIDEST - 8 - setting.key.len()).trim_end_matches('…')
                )
            }
            value => format!("{} = {value}", setting.key),
        })
        .collect();
    let column = entries
        .iter()
        .map(|entry| entry.chars().count())
        .filter(|width| *width <= WIDEST)
        .max()
        .unwrap_or_default();
    entries
        .iter()
        .zip(settings)
        .map(|(entry, setting)| format!("{entry:column$}  # {}", setting.origin))
        .collect()
}
