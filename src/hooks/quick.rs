//! The honest commit, by far the most common one, is passed without starting git (once, where some paths alone are committed): nothing that
//! it changes is protected. Whatever is out of the ordinary is judged by the guard itself. It refuses nothing and says nothing.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Name;
use super::caller::Caller;
use super::rules::Rules;
use crate::config::protected::{CONFIG_FILE, Protected};
use crate::git::hook_env::{self, HOOKS_FOLDER};
use crate::git::{Oid, Worktree};

/// Variables by which a caller takes git to other places than the folder around us, or sets what no file of the repository says.
const ELSEWHERE: [&str; 8] = [
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
];

/// Is this, for certain, a commit that changes nothing protected and that no earlier hook looks at?
pub(super) fn passes(name: Name, caller: &Caller) -> bool {
    // What cannot be read here is read, or named, by the guard itself.
    name == Name::Commit && !caller.in_run() && judge().unwrap_or(false)
}

fn judge() -> Result<bool> {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let (Some(hooks), Some(index)) = (var(HOOKS_FOLDER), var("GIT_INDEX_FILE")) else {
        return Ok(false);
    };
    if ELSEWHERE.into_iter().any(|name| var(name).is_some()) {
        return Ok(false);
    }
    let here = std::env::current_dir().context("finding the current folder")?;
    let worktree = Worktree::discover(&here)?;
    if let Some(named) = var("GIT_DIR")
        && Path::new(&named).canonicalize()? != worktree.git_dir()
    {
        return Ok(false);
    }
    let hooks = here.join(hooks).canonicalize()?;
    let earlier = hooks.join(Name::Commit.kept_as());
    let merging = worktree.git_dir().join("MERGE_HEAD");
    if !hooks.starts_with(worktree.common_dir())
        || earlier.symlink_metadata().is_ok()
        || merging.exists()
    {
        return Ok(false);
    }
    let config = worktree.repo()?.config_snapshot();
    // Where hooks lie in the worktree, their folder is protected too.
    if config.string("core.hooksPath").is_some() {
        return Ok(false);
    }
    let Some(head) = worktree.head()? else {
        return Ok(false);
    };
    let index: PathBuf = here.join(index);
    let tree = match worktree.noted_tree(&index)? {
        Some(noted) => noted,
        // As when only some paths are committed.
        None => Oid::from_hex(hook_env::write_tree()?.as_bytes())?,
    };
    let changed = worktree.changed_entries(worktree.tree_of(head)?, tree)?;
    let rules = match worktree.blob_at(head, CONFIG_FILE)? {
        Some(text) => Rules::parse(std::str::from_utf8(&text)?)?,
        None => Rules::default(),
    };
    let fold = config.boolean("core.ignoreCase").unwrap_or(false);
    let protected = Protected::new(&rules.infra.paths, &[], fold);
    Ok(!changed.iter().any(|path| protected.touches(path)))
}
