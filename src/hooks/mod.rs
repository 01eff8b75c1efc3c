//! What git calls: the shims, their installation beside other hooks, and the guards themselves. It never writes a tracked file, and the
//! guards take no lock. A hook is advice (`--no-verify`); what holds a run to its rules is the check after it.

mod answer;
mod caller;
mod chain;
mod change;
mod commit;
mod folder;
mod install;
mod isolation;
mod lock;
mod push;
mod range;
mod receipt;
mod rules;
mod shim;
pub(crate) mod status;
mod uninstall;

use std::ffi::OsString;
use std::io::{IsTerminal, Read};

use anyhow::{Context, Result};

pub(crate) use answer::Answer;
pub(crate) use install::{Report, install};
pub(crate) use shim::Name;
pub(crate) use uninstall::{NONE_HERE, uninstall};

use crate::git::hook_env::HookGit;
use caller::Caller;

/// Runs the guard `name` as git called it, in the current folder and environment: first the hook that was there before, then the check.
pub(crate) fn run(name: Name, args: &[OsString]) -> Result<Answer> {
    let git = HookGit::here()?;
    let mut stdin = Vec::new();
    // By hand there is nothing to read, and a terminal would wait for ever.
    if name == Name::Push && !std::io::stdin().is_terminal() {
        std::io::stdin()
            .read_to_end(&mut stdin)
            .context("reading what git wants to push")?;
    }
    if let Some(no) = chain::run(
        &git,
        name,
        args,
        (name == Name::Push).then_some(stdin.as_slice()),
    )? {
        return Ok(no.into());
    }
    let caller = Caller::from_env();
    match name {
        Name::Commit | Name::Merge => commit::check(&git, name, &caller),
        Name::Push => push::check(&git, &stdin, &caller),
    }
}
