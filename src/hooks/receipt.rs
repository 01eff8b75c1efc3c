//! What an installation noted about itself, so that taking it out is exact. It lies in the git directory that all worktrees share.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(super) struct Receipt {
    v: u32,
    /// The value that was written to `arkaint.bin`; `None` when one of the user's stood there.
    pub bin: Option<PathBuf>,
    /// The hooks folder was made, as there was none.
    pub made_folder: bool,
    /// What HEAD and the branches pointed to: commits up to here were made without the guards.
    pub heads: Vec<String>,
}

impl Receipt {
    pub(super) fn new(heads: Vec<String>) -> Self {
        Self {
            v: 1,
            heads,
            ..Self::default()
        }
    }

    /// The note of this repository; `None` where there is none that can be read.
    pub(super) fn read(common_dir: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path(common_dir)).ok()?).ok()
    }

    pub(super) fn write(&self, common_dir: &Path) -> Result<()> {
        let path = path(common_dir);
        let folder = path.parent().context("finding the folder of the receipt")?;
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        let mut file = tempfile::NamedTempFile::new_in(folder)
            .with_context(|| format!("writing in {}", folder.display()))?;
        serde_json::to_writer(&mut file, self).context("writing the receipt of the hooks")?;
        file.write_all(b"\n")
            .context("writing the receipt of the hooks")?;
        file.persist(&path)
            .with_context(|| format!("writing {}", path.display()))?;
        Ok(())
    }

    /// Removes the note, and its folder when nothing else is in it.
    pub(super) fn remove(common_dir: &Path) -> Result<()> {
        let path = path(common_dir);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("removing {}", path.display()))
            }
            _ => {
                let _ = path.parent().map(fs::remove_dir);
                Ok(())
            }
        }
    }
}

fn path(common_dir: &Path) -> PathBuf {
    common_dir.join("arkaint/hooks.json")
}
