//! What was there before `init`, kept in the common git directory so that `--undo` can give it back byte for byte. It changes nothing else.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::git::Worktree;

/// The record of all calls of `init` in this repository, from the first on.
pub(super) struct Record {
    dir: PathBuf,
    pub added: Added,
}

/// What `init` added; written before it is done, so that a crash leaves too much in here, never too little.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Added {
    v: u32,
    /// `KEY=VALUE` of git's configuration.
    pub settings: Vec<String>,
    /// Lines of `info/exclude`.
    pub excludes: Vec<String>,
    /// Each `arkaint.toml` that was written (each worktree may have its own).
    files: Vec<String>,
    pub had_exclude: bool,
    pub had_info: bool,
}

const CONFIG: &str = "config";
const EXCLUDE: &str = "exclude";

impl Record {
    /// The record, begun with copies of what is there when there is none yet.
    pub(super) fn open(worktree: &Worktree) -> Result<Self> {
        if let Some(record) = Self::find(worktree)? {
            return Ok(record);
        }
        let (common, dir) = (worktree.common_dir(), dir(worktree));
        fs::create_dir_all(&dir).with_context(|| format!("making {}", dir.display()))?;
        copy(&common.join("config"), &dir.join(CONFIG))?;
        let had_exclude = copy(&common.join("info/exclude"), &dir.join(EXCLUDE))?;
        let record = Self {
            dir,
            added: Added {
                v: 1,
                had_exclude,
                had_info: common.join("info").exists(),
                ..Added::default()
            },
        };
        record.save()?;
        Ok(record)
    }

    /// The record, if there is one.
    pub(super) fn find(worktree: &Worktree) -> Result<Option<Self>> {
        let dir = dir(worktree);
        match fs::read(dir.join("record.json")) {
            Ok(bytes) => Ok(Some(Self {
                added: serde_json::from_slice(&bytes).context("reading the record of init")?,
                dir,
            })),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e).context("reading the record of init"),
        }
    }

    pub(super) fn save(&self) -> Result<()> {
        let path = self.dir.join("record.json");
        let next = self.dir.join("record.json.new");
        fs::write(&next, serde_json::to_vec(&self.added)?)
            .and_then(|()| fs::rename(&next, &path))
            .context("writing the record of init")
    }

    pub(super) fn wrote_file(&mut self, text: &str) -> Result<()> {
        if !self.is_ours(text.as_bytes()) {
            self.added.files.push(text.to_owned());
        }
        self.save()
    }

    /// Are these bytes an `arkaint.toml` as `init` wrote it?
    pub(super) fn is_ours(&self, bytes: &[u8]) -> bool {
        self.added.files.iter().any(|text| text.as_bytes() == bytes)
    }

    /// git's configuration as it was before.
    pub(super) fn config(&self) -> Option<Vec<u8>> {
        fs::read(self.dir.join(CONFIG)).ok()
    }

    /// `info/exclude` as it was before.
    pub(super) fn exclude(&self) -> Option<Vec<u8>> {
        fs::read(self.dir.join(EXCLUDE)).ok()
    }

    /// Removes the record, and the folder around it when nothing else is in there.
    pub(super) fn forget(self) -> Result<()> {
        fs::remove_dir_all(&self.dir)
            .with_context(|| format!("removing {}", self.dir.display()))?;
        if let Some(parent) = self.dir.parent() {
            let _ = fs::remove_dir(parent);
        }
        Ok(())
    }
}

fn dir(worktree: &Worktree) -> PathBuf {
    worktree.common_dir().join("arkaint/init")
}

/// Copies a file that may not be there; was it?
fn copy(from: &Path, to: &Path) -> Result<bool> {
    match fs::copy(from, to) {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e).with_context(|| format!("copying {}", from.display())),
    }
}
