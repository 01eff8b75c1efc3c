//! What is delivered: a commit, the branch it is judged against, where both part, and what was asked of the work. The configuration is read
//! where they part, so that no branch lowers its own bar. Reads only.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::config::{self, Config};
use crate::dispatch::records;
use crate::evidence::contract::{self, Frozen, Standing, Unproven};
use crate::exit::Refusal;
use crate::gate;
use crate::git::{Oid, Worktree};
use crate::ledger::{Checkpoint, Record, checkpoint};

/// What is asked to be judged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ask<'a> {
    /// A branch; without one, HEAD.
    pub branch: Option<&'a str>,
    /// The branch to judge against.
    pub base: Option<&'a str>,
    /// Where the worker worked, as a dispatch record tells it; without it, the worktree that the branch is checked out in.
    pub folder: Option<&'a std::path::Path>,
    /// A dispatch record exists.
    pub dispatched: bool,
    /// The contract that was open at the dispatch, by its digest.
    pub contract: Option<&'a str>,
}

/// The branch that the work is judged against.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    /// `main`, `origin/main`.
    pub name: String,
    pub tip: Oid,
    /// Where the work left it.
    pub fork: Oid,
}

/// All that the gates look at.
pub(crate) struct Delivery<'a> {
    pub worktree: &'a Worktree,
    pub branch: Option<String>,
    pub head: Oid,
    pub tree: Oid,
    pub base: Base,
    pub config: Config,
    /// Was there no `arkaint.toml` at the fork?
    pub unconfigured: bool,
    pub frozen: Option<Frozen>,
    /// A contract is open and cannot be relied on.
    pub unproven: Option<String>,
    pub dispatched: bool,
    /// Where the files lie, if that is here.
    pub folder: Option<PathBuf>,
    /// The record names no folder, or one that is gone: nobody can be blamed for what cannot be looked at.
    pub not_assessed: Option<String>,
    pub records: &'a [(Oid, Record)],
    /// A stable checkpoint with exactly this tree.
    pub green: Option<Oid>,
    /// The task, for the subject of a merge commit.
    pub task: String,
}

impl<'a> Delivery<'a> {
    /// What is asked for; `records`: [`crate::ledger::notes::deciding`].
    ///
    /// # Errors
    /// A [`Refusal`] when there is no such branch, no commit, no base, or nothing in common with it.
    pub(crate) fn find(
        worktree: &'a Worktree,
        records: &'a [(Oid, Record)],
        ask: Ask<'_>,
    ) -> Result<Self> {
        let (branch, head) = delivered(worktree, ask.branch, records)?;
        let tree = worktree.tree_of(head)?;
        let (base, config, unconfigured) = based(worktree, branch.as_deref(), head, ask.base)?;
        let (frozen, unproven) = asked(worktree, records, branch.as_deref(), ask.contract)?;
        let (folder, not_assessed) = folder(worktree, branch.as_deref(), head, &ask)?;
        let green = green(worktree, head, tree, records)?;
        let task = match &frozen {
            Some(frozen) if !frozen.contract.task.is_empty() => frozen.contract.task.clone(),
            _ => checkpoint::read(worktree, head)?
                .map(|c| c.task)
                .filter(|task| !task.is_empty())
                .unwrap_or_else(|| {
                    format!(
                        "Merge {}",
                        branch.as_deref().unwrap_or("what was delivered")
                    )
                }),
        };
        Ok(Self {
            worktree,
            branch,
            head,
            tree,
            base,
            config,
            unconfigured,
            frozen,
            unproven,
            dispatched: ask.dispatched,
            folder,
            not_assessed,
            records,
            green,
            task,
        })
    }

    pub(crate) fn contract(&self) -> Option<&str> {
        self.frozen.as_ref().map(|frozen| frozen.digest.as_str())
    }
}

/// The branch and the commit.
fn delivered(
    worktree: &Worktree,
    branch: Option<&str>,
    records: &[(Oid, Record)],
) -> Result<(Option<String>, Oid)> {
    if let Some(branch) = branch {
        let short = branch.strip_prefix("refs/heads/").unwrap_or(branch);
        let tip = worktree.branch_tip(short)?.ok_or_else(|| {
            Refusal::new(
                format!("there is no branch {branch}"),
                "git branch --list 'arkaint/*' shows those of agents",
            )
        })?;
        return Ok((Some(short.to_owned()), tip));
    }
    let head = worktree.head()?.ok_or_else(|| {
        Refusal::new(
            "this branch has no commit yet",
            "git add -A && git commit -m 'start'",
        )
    })?;
    let branch = match worktree.branch()? {
        Some(branch) => Some(branch),
        // A checked-out commit, as in CI: a checkpoint says which branch it was made on.
        None => match checkpoint::read(worktree, head)?.map(|c: Checkpoint| c.branch) {
            Some(branch) => Some(branch),
            None => ending_here(worktree, head, records)?,
        },
    };
    Ok((branch, head))
}

/// The branch, here or of a remote, that ends in `head` and has a contract open: else a checked-out commit would be asked for less than the
/// branch that it is the tip of.
fn ending_here(
    worktree: &Worktree,
    head: Oid,
    records: &[(Oid, Record)],
) -> Result<Option<String>> {
    let mut found: Option<(String, &str)> = None;
    for branch in worktree.branches_at(head)? {
        let Standing::Open(record) = contract::standing(records, &branch, None) else {
            continue;
        };
        let digest = record.str("digest");
        match &found {
            Some((first, other)) if *other != digest => {
                return Err(Refusal::new(
                    format!(
                        "{first} and {branch} both end in {} and have contracts open",
                        head.to_hex_with_len(12)
                    ),
                    format!("git arkaint deliver {branch}"),
                )
                .into());
            }
            Some(_) => {}
            None => found = Some((branch, digest)),
        }
    }
    Ok(found.map(|(branch, _)| branch))
}

/// The base, and the configuration where the work left it.
fn based(
    worktree: &Worktree,
    branch: Option<&str>,
    head: Oid,
    given: Option<&str>,
) -> Result<(Base, Config, bool)> {
    let at = |name: &str| -> Result<Base> {
        let tip = worktree.branch_tip(name)?.ok_or_else(|| {
            Refusal::new(
                format!("the base {name} is no branch here"),
                "git fetch, or git arkaint deliver --base NAME",
            )
        })?;
        let fork = worktree.merge_base(tip, head)?.ok_or_else(|| {
            Refusal::new(
                format!("{name} and what is delivered have no commit in common"),
                "git arkaint deliver --base NAME (in a shallow clone: git fetch --unshallow)",
            )
        })?;
        Ok(Base {
            name: name.to_owned(),
            tip,
            fork,
        })
    };
    let config_at = |base: Base| -> Result<(Base, Config, bool)> {
        let text = worktree.blob_at(base.fork, config::FILE)?;
        let unconfigured = text.is_none();
        let config = gate::load(worktree, text.as_deref(), None, None)?.config;
        Ok((base, config, unconfigured))
    };
    if let Some(name) = given {
        return config_at(at(name)?);
    }
    let cut_from = worktree.cut_from(branch.unwrap_or("HEAD"))?;
    let Some(name) = cut_from else {
        return Err(Refusal::new(
            "it is not known which branch this is to be merged into",
            "git arkaint deliver --base NAME, or base below [deliver] in arkaint.toml",
        )
        .into());
    };
    let found = config_at(at(&name)?)?;
    match &found.1.deliver.base {
        Some(wanted) if *wanted != name && Some(wanted.as_str()) != branch => {
            config_at(at(wanted)?)
        }
        _ => Ok(found),
    }
}

/// The contract of the work: the one that a dispatch recorded, else the open one of the branch.
fn asked(
    worktree: &Worktree,
    records: &[(Oid, Record)],
    branch: Option<&str>,
    recorded: Option<&str>,
) -> Result<(Option<Frozen>, Option<String>)> {
    let digest = match (recorded, branch) {
        (Some(digest), _) => digest.to_owned(),
        (None, None) => return Ok((None, None)),
        (None, Some(branch)) => match contract::standing(records, branch, None) {
            Standing::Open(record) => record.str("digest").to_owned(),
            Standing::Closed { .. } | Standing::Without => return Ok((None, None)),
        },
    };
    match contract::load(worktree, records, &digest) {
        Ok(frozen) => Ok((Some(frozen), None)),
        Err(error) => match error.downcast_ref::<Unproven>() {
            Some(unproven) => Ok((None, Some(unproven.to_string()))),
            None => Err(error),
        },
    }
}

/// Where the worker's files lie, or why nobody can say.
fn folder(
    worktree: &Worktree,
    branch: Option<&str>,
    head: Oid,
    ask: &Ask<'_>,
) -> Result<(Option<PathBuf>, Option<String>)> {
    if ask.dispatched {
        return Ok(match ask.folder {
            None => (
                None,
                Some("its dispatch record names no worktree".to_owned()),
            ),
            // A folder that took its place is none of the worker's.
            Some(folder) if records::at_path(worktree, folder).is_none() => {
                (None, Some(format!("worktree gone: {}", folder.display())))
            }
            Some(folder) => (Some(folder.to_owned()), None),
        });
    }
    if ask.branch.is_none() || branch == worktree.branch()?.as_deref() {
        return Ok((Some(worktree.root().to_owned()), None));
    }
    let full = branch.map(|branch| format!("refs/heads/{branch}"));
    let place = worktree
        .worktrees()?
        .into_iter()
        .find(|there| there.head == Some(head) && there.branch == full && there.root.is_dir());
    Ok((place.map(|there| there.root), None))
}

/// A checkpoint whose tests Arkaint ran on exactly this tree, and that can be relied on.
fn green(
    worktree: &Worktree,
    head: Oid,
    tree: Oid,
    records: &[(Oid, Record)],
) -> Result<Option<Oid>> {
    use crate::ledger::{Kind, Status};
    let name = tree.to_string();
    let recorded = records
        .iter()
        .rev()
        .filter(|(_, record)| record.is(Kind::Checkpoint) && record.str("tree") == name)
        .filter_map(|(_, record)| Oid::from_hex(record.str("commit").as_bytes()).ok());
    for commit in std::iter::once(head).chain(recorded) {
        if !worktree.repo()?.has_object(commit) {
            continue;
        }
        let found = checkpoint::read(worktree, commit)
            .with_context(|| format!("reading the checkpoint {commit}"))?;
        if found.is_some_and(|c| c.tree == tree && c.is_stable() && c.status == Status::Stable) {
            return Ok(Some(commit));
        }
    }
    Ok(None)
}
