//! A checkpoint: a commit whose trailer block is complete and whose state hash fits its own tree. Reading and checking, no making.

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::{Kind, message, notes};
use crate::git::{Oid, Worktree};

/// What the tests said when the checkpoint was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Stable,
    /// The project declares that it has no tests.
    Untested,
}

impl Status {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Untested => "untested",
        }
    }
}

/// A commit that is a checkpoint. `fault` says why it is not to be relied on, although its block is complete.
#[derive(Clone, Debug)]
pub(crate) struct Checkpoint {
    pub commit: Oid,
    pub tree: Oid,
    pub state_hash: String,
    pub status: Status,
    pub branch: String,
    pub task: String,
    pub message: String,
    /// UTC, RFC 3339.
    pub time: String,
    pub prev: Option<Oid>,
    pub fault: Option<String>,
    /// The ledger holds this checkpoint's own record.
    pub proven: bool,
}

impl Checkpoint {
    /// Holds by its own trailers, and the ledger has its record.
    pub(crate) fn is_stable(&self) -> bool {
        self.fault.is_none() && self.proven
    }

    /// One word for people: `stable`, `untested`, `unproven` or `invalid`.
    pub(crate) fn label(&self) -> &'static str {
        match (&self.fault, self.proven) {
            (Some(_), _) => "invalid",
            (None, false) => "unproven",
            (None, true) => self.status.name(),
        }
    }
}

/// SHA-256 over the tree and the state before it: `arkaint-state-v1\n<tree>\n<previous state hash or nothing>\n`.
pub(crate) fn state_hash(tree: Oid, previous: &str) -> String {
    crate::text::hex(&Sha256::digest(format!(
        "arkaint-state-v1\n{tree}\n{previous}\n"
    )))
}

/// Reads `commit` as a checkpoint; `None` when it carries no complete block of ours.
pub(crate) fn read(worktree: &Worktree, commit: Oid) -> Result<Option<Checkpoint>> {
    let repo = worktree.repo()?;
    let object = repo
        .find_commit(commit)
        .with_context(|| format!("reading commit {commit}"))?;
    let decoded = object
        .decode()
        .with_context(|| format!("reading commit {commit}"))?;
    let Some(block) = message::parse(decoded.message) else {
        return Ok(None);
    };
    let tree = decoded.tree();
    let prev = match block["Arkaint-Prev"].as_str() {
        "none" => None,
        name => Oid::from_hex(name.as_bytes()).ok(),
    };
    let status = if block["Arkaint-Status"] == "untested" {
        Status::Untested
    } else {
        Status::Stable
    };
    let mut checkpoint = Checkpoint {
        commit,
        tree,
        state_hash: block["Arkaint-State-Hash"].clone(),
        status,
        branch: block["Arkaint-Branch"].clone(),
        task: none_is_empty(&block["Arkaint-Task"]),
        message: none_is_empty(&block["Arkaint-Message"]),
        time: block["Arkaint-Timestamp"].clone(),
        prev,
        fault: None,
        proven: false,
    };
    checkpoint.fault = fault(
        worktree,
        &checkpoint,
        &block["Arkaint-Status"],
        &block["Arkaint-Prev"],
    )?;
    if checkpoint.fault.is_none() {
        let name = commit.to_string();
        checkpoint.proven = notes::on_commit(worktree, commit)?.iter().any(|r| {
            r.is(Kind::Checkpoint)
                && r.str("commit") == name
                && r.str("state") == checkpoint.state_hash
        });
    }
    Ok(Some(checkpoint))
}

fn fault(
    worktree: &Worktree,
    checkpoint: &Checkpoint,
    status: &str,
    prev: &str,
) -> Result<Option<String>> {
    if !matches!(status, "stable" | "untested") {
        return Ok(Some(format!("unknown status {status}")));
    }
    if prev != "none" && checkpoint.prev.is_none() {
        return Ok(Some(format!("Arkaint-Prev is no object name: {prev}")));
    }
    let previous = match checkpoint.prev {
        None => String::new(),
        Some(prev) => match claimed_state(worktree, prev)? {
            Some(state) => state,
            None => {
                return Ok(Some(format!(
                    "the checkpoint before, {}, is not here",
                    prev.to_hex_with_len(12)
                )));
            }
        },
    };
    if state_hash(checkpoint.tree, &previous) != checkpoint.state_hash {
        return Ok(Some(
            "the state hash does not fit the commit's own tree".to_owned(),
        ));
    }
    Ok(None)
}

/// The state hash that `commit` claims, `None` when it is not here or is no checkpoint.
fn claimed_state(worktree: &Worktree, commit: Oid) -> Result<Option<String>> {
    let repo = worktree.repo()?;
    let Some(object) = repo.try_find_object(commit).context("reading a commit")? else {
        return Ok(None);
    };
    let Ok(commit) = object.try_into_commit() else {
        return Ok(None);
    };
    Ok(
        message::parse(commit.message_raw_sloppy())
            .map(|block| block["Arkaint-State-Hash"].clone()),
    )
}

fn none_is_empty(value: &str) -> String {
    if value == "none" {
        String::new()
    } else {
        value.to_owned()
    }
}
