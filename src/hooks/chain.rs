//! The hook that was there before ours: found, and run first with its arguments, its environment and its standard input.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::Name;
use super::answer::No;
use super::shim::{self, Owner};
use crate::git::hook_env::{self, HookGit};

/// The chained hooks that are running above us, one a line, so that one that calls us again is not run again.
const RUNNING: &str = "ARKAINT_CHAINED";

/// How the folders begin in which a previous hook has its own name while it runs; a killed one leaves its own behind.
pub(super) const NAMED: &str = "hooks.arkaint-";

/// Runs the previous hook, if git would have run it.
pub(super) fn run(
    git: &HookGit,
    name: Name,
    args: &[OsString],
    stdin: Option<&[u8]>,
) -> Result<Option<No>> {
    let kept = git.hooks.join(name.kept_as());
    let above = std::env::var_os(RUNNING).unwrap_or_default();
    if !runs(name, &kept)
        || above
            .as_bytes()
            .split(|b| *b == b'\n')
            .any(|hook| hook == kept.as_os_str().as_bytes())
    {
        return Ok(None);
    }
    let running = [above.as_bytes(), b"\n", kept.as_os_str().as_bytes()].concat();
    // Removed when it has run.
    let named = asks_for_its_name(&kept)
        .then(|| under_its_name(&git.hooks, name, &kept).ok())
        .flatten();
    let called = named
        .as_ref()
        .map_or_else(|| kept.clone(), |folder| folder.path().join(name.as_str()));
    let code = hook_env::run_chained(
        &called,
        args,
        stdin,
        (RUNNING, &OsString::from_vec(running)),
    )?;
    Ok((code != Some(0)).then(|| {
        let how = code.map_or_else(
            || "was ended by a signal".to_owned(),
            |code| format!("exited {code}"),
        );
        No::new(
            format!(
                "{} refused by the hook that was there before Arkaint's: it {how}",
                name.as_str()
            ),
            [format!("it is {}", kept.display())],
        )
    }))
}

/// Would this hook notice that it is called by another name? Those of husky 4, overcommit and all that are one program under many names do
/// nothing, or something else, then.
fn asks_for_its_name(kept: &Path) -> bool {
    const WAYS: [&[u8]; 6] = [
        b"$0",
        b"${0",
        b"argv",
        b"$PROGRAM_NAME",
        b"__FILE__",
        b"__file__",
    ];
    if kept
        .symlink_metadata()
        .is_ok_and(|meta| meta.file_type().is_symlink())
    {
        return true;
    }
    let text = fs::read(kept).unwrap_or_default();
    WAYS.iter()
        .any(|way| text.windows(way.len()).any(|window| window == *way))
}

/// A folder beside that of the hooks, and as deep, in which the kept hook has the name that git gave it, next to all that stands next to it.
fn under_its_name(hooks: &Path, name: Name, kept: &Path) -> Result<TempDir> {
    let hooks = hooks.canonicalize()?;
    let around = hooks.parent().context("a hooks folder has a parent")?;
    let folder = tempfile::Builder::new().prefix(NAMED).tempdir_in(around)?;
    for entry in fs::read_dir(&hooks)? {
        let entry = entry?.file_name();
        if entry != name.as_str() {
            symlink(hooks.join(&entry), folder.path().join(&entry))?;
        }
    }
    let kept = kept.file_name().context("a hook has a name")?;
    symlink(hooks.join(kept), folder.path().join(name.as_str()))?;
    Ok(folder)
}

/// As git does: a file that may be executed. Never our own shim, which would only call us again.
pub(super) fn runs(name: Name, kept: &Path) -> bool {
    is_executable(kept) && !matches!(shim::owner(name, kept), Owner::Ours(_))
}

pub(super) fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
