//! The hook that was there before ours: found, and run first with its arguments, its environment and its standard input.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Result;

use super::Name;
use super::answer::No;
use super::shim::{self, Owner};
use crate::git::hook_env::{self, HookGit};

/// The chained hooks that are running above us, one a line, so that one that calls us again is not run again.
const RUNNING: &str = "ARKAINT_CHAINED";

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
    let code = hook_env::run_chained(&kept, args, stdin, (RUNNING, &OsString::from_vec(running)))?;
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

/// As git does: a file that may be executed. Never our own shim, which would only call us again.
pub(super) fn runs(name: Name, kept: &Path) -> bool {
    is_executable(kept) && !matches!(shim::owner(name, kept), Owner::Ours(_))
}

pub(super) fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
