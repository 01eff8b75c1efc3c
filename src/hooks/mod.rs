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
mod quick;
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
use shim::Owner;
pub(crate) use uninstall::{NONE_HERE, uninstall};

use crate::git::hook_env::HookGit;
use caller::Caller;

/// Runs the guard `name` as git called it, in the current folder and environment: first the hook that was there before, then the check.
pub(crate) fn run(name: Name, args: &[OsString]) -> Result<Answer> {
    let caller = Caller::from_env();
    if quick::passes(name, &caller) {
        return Ok(Answer::default());
    }
    let git = HookGit::here()?;
    let mut stdin = Vec::new();
    // By hand there is nothing to read, and a terminal would wait for ever.
    if name == Name::Push && !std::io::stdin().is_terminal() {
        std::io::stdin()
            .read_to_end(&mut stdin)
            .context("reading what git wants to push")?;
    }
    let slot = git.hooks.join(name.as_str());
    let is_ours = || matches!(shim::owner(name, &slot), Owner::Ours(_));
    let was_ours = is_ours();
    let refused = chain::run(
        &git,
        name,
        args,
        (name == Name::Push).then_some(stdin.as_slice()),
    )?;
    // Whatever the hook before us did, git shall find the guards the next time.
    let warnings = if was_ours && !is_ours() {
        put_back(&git, name)
    } else {
        Vec::new()
    };
    let mut answer = match refused {
        Some(no) => no.into(),
        None if name == Name::Push => push::check(&git, &stdin, &caller)?,
        None => commit::check(&git, name, &caller)?,
    };
    answer.warnings.extend(warnings);
    Ok(answer)
}

/// What to say of a guard that the hook before it has moved away: where it could not be put back, or another hook had to make room.
fn put_back(git: &HookGit, name: Name) -> Vec<String> {
    let done = install::put_back(&git.hooks, name);
    let is_back = done.as_ref().is_ok_and(|done| done.names.contains(&name));
    let moved = |aside: &std::path::PathBuf| {
        format!(
            "the hook that ran first has put another in its place, and is kept as {}: it no longer runs",
            aside.display()
        )
    };
    let mut warnings: Vec<_> = done
        .iter()
        .flat_map(|done| &done.aside)
        .map(moved)
        .collect();
    if !is_back {
        warnings.push(format!(
            "the hook that runs first has replaced Arkaint's {} hook, so that the next one is not guarded: git arkaint hooks install",
            name.as_str()
        ));
    }
    warnings
}
