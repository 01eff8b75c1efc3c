//! `.arkaint/`: what a person or `jq` may read of the runs. All of it can be deleted between runs: it is a projection of the ledger, but
//! for the raw logs, which are never in Git.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::archive::retention::folder_size;
use crate::config::Retention;
use crate::git::Worktree;

/// The scratch folder's name at the worktree's root.
pub(crate) const FOLDER: &str = ".arkaint";

/// The folder of one run, made now. Also makes sure that git never sees the scratch folder, whatever a checkout says.
pub(crate) fn run_folder(worktree: &Worktree, run: &str) -> Result<PathBuf> {
    let folder = worktree.root().join(FOLDER).join("runs").join(run);
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("making {}", folder.display()))?;
    hide(worktree)?;
    Ok(folder)
}

/// Lets git ignore the scratch folder, which is there, on its own word.
fn hide(worktree: &Worktree) -> Result<()> {
    let ignore = worktree.root().join(FOLDER).join(".gitignore");
    if !ignore.exists() {
        fs::write(&ignore, "*\n").context("writing .arkaint/.gitignore")?;
    }
    Ok(())
}

/// The folder of a run that there was, by its id or its beginning.
pub(crate) fn find_run(worktree: &Worktree, id: &str) -> Option<PathBuf> {
    let runs = worktree.root().join(FOLDER).join("runs");
    let mut found: Vec<_> = runs
        .read_dir()
        .ok()?
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with(id))
        .collect();
    found.sort_by_key(std::fs::DirEntry::file_name);
    found.pop().map(|entry| entry.path())
}

/// Writes a file of the run that only its owner may read, and puts it in the place of the latest one at the top of the scratch folder.
pub(crate) fn write(worktree: &Worktree, run_folder: &Path, name: &str, text: &[u8]) -> Result<()> {
    let path = run_folder.join(name);
    let mut file = private(&path)?;
    file.write_all(text)
        .with_context(|| format!("writing {}", path.display()))?;
    latest(worktree, run_folder, name)
}

/// Makes `.arkaint/NAME` the same file as the run's. A hard link where it can be, else a copy.
pub(crate) fn latest(worktree: &Worktree, run_folder: &Path, name: &str) -> Result<()> {
    let top = worktree.root().join(FOLDER);
    let fresh = top.join(format!("{name}.new"));
    let _ = fs::remove_file(&fresh);
    if fs::hard_link(run_folder.join(name), &fresh).is_err() {
        fs::copy(run_folder.join(name), &fresh).with_context(|| format!("copying {name}"))?;
    }
    fs::rename(&fresh, top.join(name)).with_context(|| format!("placing {name}"))
}

/// A new file with mode 0600.
pub(crate) fn private(path: &Path) -> Result<fs::File> {
    let options = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path);
    options.with_context(|| format!("writing {}", path.display()))
}

/// Appends one line to `.arkaint/audit/NAME`.
pub(crate) fn audit(worktree: &Worktree, name: &str, line: &str) -> Result<()> {
    let folder = worktree.root().join(FOLDER).join("audit");
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(folder.join(name))
        .with_context(|| format!("opening {name}"))?;
    writeln!(file, "{line}").with_context(|| format!("writing {name}"))
}

/// The lines of `.arkaint/audit/NAME`, each with its newline; `None` where there is no such text.
pub(crate) fn read_audit(worktree: &Worktree, name: &str) -> Option<Vec<String>> {
    let file = worktree.root().join(FOLDER).join("audit").join(name);
    let text = fs::read_to_string(file).ok()?;
    Some(text.split_inclusive('\n').map(str::to_owned).collect())
}

/// Replaces `.arkaint/audit/NAME`.
pub(crate) fn replace_audit(worktree: &Worktree, name: &str, text: &str) -> Result<()> {
    let folder = worktree.root().join(FOLDER).join("audit");
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    hide(worktree)?;
    let fresh = folder.join(format!("{name}.new"));
    fs::write(&fresh, text)
        .and_then(|()| fs::rename(&fresh, folder.join(name)))
        .with_context(|| format!("writing {name}"))
}

/// Removes run folders beyond the retention's count, age or bytes; the newest stays.
pub(crate) fn prune(worktree: &Worktree, retention: &Retention) -> Result<usize> {
    let runs = worktree.root().join(FOLDER).join("runs");
    let Ok(read) = runs.read_dir() else {
        return Ok(0);
    };
    let mut folders: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.reverse();
    let (mut bytes, mut removed) = (0, 0);
    for (place, folder) in folders.iter().enumerate() {
        bytes += folder_size(folder);
        let age = folder
            .metadata()
            .and_then(|m| m.modified())
            .ok()
            .and_then(|t| SystemTime::now().duration_since(t).ok());
        let old = age.is_some_and(|age| age > retention.age);
        if place > 0 && (place >= retention.runs || old || bytes > retention.bytes) {
            fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))?;
            removed += 1;
        }
    }
    Ok(removed)
}
