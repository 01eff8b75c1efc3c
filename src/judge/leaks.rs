//! New secrets in a change: by our own rules, and by the user's gitleaks where that is installed. It names where they are, never what.

mod gitleaks;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use anyhow::Result;

use crate::config::{self, Config};
use crate::git::{Oid, Worktree};
use crate::secret::{self, paths::Sensitive};
use crate::text;

/// Where the user's gitleaks is.
pub(crate) fn gitleaks() -> Option<PathBuf> {
    which::which("gitleaks").ok()
}

/// What a killed command may have left of copies, in the state folder, by the start of its name.
pub(crate) const COPIES: &str = "leaks.";

/// A file whose text changed.
struct Changed {
    /// From the root, bytes as git has them.
    path: Vec<u8>,
    old: String,
    new: String,
}

/// What tree `to` holds that `from` did not: new files of sensitive names, and new secrets in changed text, one line each. The values are not
/// in it.
///
/// # Errors
/// A `Refusal` where gitleaks is wanted and cannot look.
pub(crate) fn new_secrets(
    worktree: &Worktree,
    config: &Config,
    from: Oid,
    to: Oid,
) -> Result<Vec<String>> {
    let allowed =
        config::PathGlobs::new(&config.checkpoint.allow_secrets).map_err(anyhow::Error::msg)?;
    let sensitive = Sensitive::new(&config.packet.sensitive)?;
    let (mut found, mut texts) = (Vec::new(), Vec::new());
    for change in worktree.changed_files(from, to)? {
        if allowed.is_match(OsStr::from_bytes(&change.path)) || change.new.is_none() {
            continue;
        }
        if change.old.is_none() && sensitive.matches(&change.path) {
            let name = shown(&change.path);
            found.push(format!("{name}: a new file of a sensitive name"));
            continue;
        }
        texts.push(Changed {
            new: worktree.text_blob(change.new)?,
            old: worktree.text_blob(change.old)?,
            path: change.path,
        });
    }
    let mut theirs = gitleaks::look(worktree, config.checkpoint.gitleaks, from, &texts)?;
    for Changed { path, old, new } in &texts {
        let ours = secret::added(old, new);
        theirs.retain(|leak| leak.path != *path || ours.iter().all(|our| our.line != leak.line));
        let name = shown(path);
        found.extend(
            ours.iter()
                .map(|f| format!("{name}:{}: {}", f.line, f.rule)),
        );
    }
    found.extend(theirs.iter().map(|leak| {
        let rule = text::visible_line(&leak.rule);
        format!("{}:{}: gitleaks {rule}", shown(&leak.path), leak.line)
    }));
    Ok(found)
}

fn shown(path: &[u8]) -> String {
    text::visible_line(&String::from_utf8_lossy(path))
}
