//! The infra lock as both guards need it: the protected set of a repository, and the one way in which trees are compared.

use anyhow::Result;

use crate::config::protected::Protected;
use crate::git::hook_env::HookGit;

/// Every entry, as bytes, whatever the user's configuration or `.gitmodules` would hide.
pub(super) const DIFF_TREE: [&str; 7] = [
    "diff-tree",
    "-r",
    "-z",
    "--raw",
    "--no-renames",
    "--no-abbrev",
    "--ignore-submodules=none",
];

/// The protected set with what `infra.paths` adds.
pub(super) fn protected(git: &HookGit, infra_paths: &[String]) -> Result<Protected> {
    let fold = git
        .call(["config", "--type=bool", "core.ignoreCase"])
        .output()?;
    Ok(Protected::new(
        infra_paths,
        &hooks_in_worktree(git),
        fold.stdout == b"true\n",
    ))
}

/// The hooks folder from the worktree's root, where it lies in the worktree. husky keeps generated files in `_` and the hooks that people
/// write in the folder around it.
fn hooks_in_worktree(git: &HookGit) -> Vec<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt;
    let Ok(hooks) = git.hooks.canonicalize() else {
        return Vec::new();
    };
    if git
        .common_dir
        .canonicalize()
        .is_ok_and(|common| hooks.starts_with(common))
    {
        return Vec::new();
    }
    let Some(root) = git.root().and_then(|root| root.canonicalize().ok()) else {
        return Vec::new();
    };
    let Ok(inside) = hooks.strip_prefix(root) else {
        return Vec::new();
    };
    let folder = match inside.parent() {
        Some(around) if inside.ends_with("_") => around,
        _ => inside,
    };
    vec![folder.as_os_str().as_bytes().to_vec()]
}
