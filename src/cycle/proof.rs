//! What a cycle asks of the evidence: whether anything is asked, how it stands after a launch, what the next one is told, and what a seal or a
//! rollback does with the three files. Judging them is `evidence`'s; what follows is the machine's.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::evidence::contract::{self, Frozen, Unproven};
use crate::evidence::standing::{self, Standing, Subject};
use crate::evidence::{approval, plan, verify};
use crate::exit::{Exit, Refusal};
use crate::gate::Pass;
use crate::git::{Oid, Worktree, state};
use crate::ledger::{Record, notes};
use crate::packet::brief;

/// What is asked of the work on one branch.
#[derive(Debug)]
pub(crate) struct Proof {
    frozen: Option<Frozen>,
    /// Where the work left the branch that it will be judged against.
    base: Option<Oid>,
    dispatched: bool,
    /// The text of the approved plan; empty where it is not here.
    plan: Option<String>,
}

/// What was asked and what was there before a launch.
pub(super) struct Before {
    pub proof: Proof,
    pub standing: Standing,
    /// Path and SHA-256 of the files that lay in the worktree; the standing may rest on what the ledger kept.
    pub files: Vec<(String, String)>,
}

impl Before {
    /// `None` where nothing is asked.
    pub(super) fn look(pass: &Pass, task: &str, tree: Oid) -> Result<Option<Self>> {
        let (worktree, config) = (&pass.worktree, &pass.config);
        let Some((proof, standing)) = asked_on(worktree, config, &pass.branch, task, tree)? else {
            return Ok(None);
        };
        let files = standing::files(worktree.root(), config)?;
        Ok(Some(Self {
            proof,
            standing,
            files,
        }))
    }

    /// Did somebody write evidence since? It is never committed, but to write it is to work.
    pub(super) fn was_written(&self, pass: &Pass) -> Result<bool> {
        Ok(standing::files(pass.worktree.root(), &pass.config)? != self.files)
    }
}

/// Whose files lie in `.ak-loop/`.
#[derive(Serialize, Deserialize, PartialEq, Eq)]
struct Owner {
    task: String,
    contract: Option<String>,
}

const OWNER: &str = "evidence-of.json";

/// What is asked of `task` on `branch`; `None` for nothing.
///
/// # Errors
/// A [`Refusal`] for a contract that is open and cannot be relied on.
pub(crate) fn asked(
    worktree: &Worktree,
    config: &Config,
    branch: &str,
    task: &str,
) -> Result<Option<Proof>> {
    asked_by(worktree, &ledger(worktree, config)?, config, branch, task)
}

/// [`asked`], and how it stands on `tree`, which is what is on disk and was not checked.
pub(crate) fn asked_on(
    worktree: &Worktree,
    config: &Config,
    branch: &str,
    task: &str,
    tree: Oid,
) -> Result<Option<(Proof, Standing)>> {
    let records = ledger(worktree, config)?;
    let Some(proof) = asked_by(worktree, &records, config, branch, task)? else {
        return Ok(None);
    };
    let standing = standing::of(&proof.subject(worktree, config, &records, None, tree, false))?;
    Ok(Some((proof, standing)))
}

/// What a decision may rest on where something may be asked, else nothing: a contract is a blob of it, a dispatch works in a linked worktree.
fn ledger(worktree: &Worktree, config: &Config) -> Result<Vec<(Oid, Record)>> {
    let linked = worktree.git_dir() != worktree.common_dir();
    if linked || !config.dod.is_empty() || notes::holds_blobs(worktree)? {
        notes::deciding(worktree)
    } else {
        Ok(Vec::new())
    }
}

fn asked_by(
    worktree: &Worktree,
    records: &[(Oid, Record)],
    config: &Config,
    branch: &str,
    task: &str,
) -> Result<Option<Proof>> {
    let frozen = open_contract(worktree, records, branch, task)?;
    let dispatched = records
        .iter()
        .any(|(_, record)| record.kind() == "dispatch" && record.str("branch") == branch);
    if frozen.is_none() && config.dod.is_empty() && !dispatched {
        return Ok(None);
    }
    let base = match &frozen {
        Some(frozen) => Some(frozen.contract.base),
        None => fork(worktree, config, branch)?,
    };
    let plan = match &frozen {
        Some(frozen) => approval::of_plan(worktree, frozen)?
            .map(|approval| approval::text_of_plan(worktree, &approval).unwrap_or_default()),
        None => None,
    };
    Ok(Some(Proof {
        frozen,
        base,
        dispatched,
        plan,
    }))
}

fn open_contract(
    worktree: &Worktree,
    records: &[(Oid, Record)],
    branch: &str,
    task: &str,
) -> Result<Option<Frozen>> {
    contract::open(worktree, records, branch, Some(task)).map_err(|error| {
        match error.downcast::<Unproven>() {
            Ok(unproven) => Refusal::with_exit(
                Exit::Person,
                unproven.to_string(),
                "git arkaint contract show; git arkaint contract freeze FILE replaces it",
            )
            .into(),
            Err(other) => other,
        }
    })
}

fn fork(worktree: &Worktree, config: &Config, branch: &str) -> Result<Option<Oid>> {
    let name = match &config.deliver.base {
        Some(base) => Some(base.clone()),
        None => worktree.cut_from(branch)?,
    };
    let (Some(name), Some(head)) = (name, worktree.head()?) else {
        return Ok(None);
    };
    match worktree.branch_tip(&name)? {
        Some(tip) => worktree.merge_base(tip, head),
        None => Ok(None),
    }
}

impl Proof {
    /// What is in the scope of the contract, and what is out of it.
    pub(super) fn scope(&self) -> (&[String], &[String]) {
        self.frozen.as_ref().map_or((&[], &[]), |frozen| {
            let body = &frozen.contract.body;
            (&body.in_scope, &body.out_of_scope)
        })
    }

    /// The brief of the prompt.
    pub(crate) fn brief(&self, config: &Config) -> String {
        let dod_path = config.evidence.dod_file.to_string_lossy();
        brief::brief(&brief::Asked {
            frozen: self.frozen.as_ref(),
            project: self
                .frozen
                .as_ref()
                .map_or(&config.dod, |frozen| &frozen.contract.project),
            dod_path: &dod_path,
            plan: self.plan.as_deref(),
        })
    }

    /// How the evidence stands now on `tree`, which is what is on disk. `green`: Arkaint's own checks passed on it.
    pub(crate) fn stand(
        &self,
        worktree: &Worktree,
        config: &Config,
        tree: Oid,
        green: bool,
    ) -> Result<Standing> {
        let records = notes::deciding(worktree)?;
        standing::of(&self.subject(worktree, config, &records, None, tree, green))
    }

    /// Keeps the three files with the checkpoint that they were judged for.
    pub(crate) fn keep(
        &self,
        worktree: &Worktree,
        config: &Config,
        standing: &Standing,
        commit: Oid,
        tree: Oid,
    ) -> Result<()> {
        let subject = self.subject(worktree, config, &[], Some(commit), tree, true);
        standing::keep(&subject, standing, commit)
    }

    fn subject<'a>(
        &'a self,
        worktree: &'a Worktree,
        config: &'a Config,
        records: &'a [(Oid, Record)],
        head: Option<Oid>,
        tree: Oid,
        green: bool,
    ) -> Subject<'a> {
        Subject {
            worktree,
            folder: Some(worktree.root()),
            head,
            tree,
            base: self.base,
            exact: true,
            frozen: self.frozen.as_ref(),
            config,
            dispatched: self.dispatched,
            records,
            green,
            rerun: &[],
        }
    }

    /// The files of another task or contract move aside before this one begins; where they went, if any did.
    pub(crate) fn take_over(
        &self,
        worktree: &Worktree,
        config: &Config,
        task: &str,
        id: &str,
    ) -> Result<Option<PathBuf>> {
        let owner = Owner {
            task: task.to_owned(),
            contract: self.frozen.as_ref().map(|frozen| frozen.digest.clone()),
        };
        let path = worktree.state_dir().join(OWNER);
        let before: Option<Owner> = state::load(&path);
        let aside = match before {
            Some(before) if before != owner => set_aside(worktree, config, id)?,
            _ => None,
        };
        state::save(&path, &owner)?;
        Ok(aside)
    }
}

/// Moves the three files out of the worktree, into a kept folder of the common git directory; where they went, if any was there.
///
/// # Errors
/// When one cannot be moved.
pub(crate) fn set_aside(worktree: &Worktree, config: &Config, id: &str) -> Result<Option<PathBuf>> {
    let kept = worktree
        .common_dir()
        .join("arkaint/kept")
        .join(id)
        .join("evidence");
    let mut moved = false;
    for path in [
        Path::new(verify::PATH),
        Path::new(plan::PATH),
        config.evidence.dod_file.as_path(),
    ] {
        // What a link leads to is not ours to move.
        let from = worktree.place_of(path.as_os_str().as_encoded_bytes());
        let Some(from) = from.filter(|p| p.symlink_metadata().is_ok_and(|meta| meta.is_file()))
        else {
            continue;
        };
        let name = path.file_name().context("an evidence file has a name")?;
        fs::create_dir_all(&kept).with_context(|| format!("making {}", kept.display()))?;
        let to = state::free_name(&kept, &name.to_string_lossy());
        if fs::rename(&from, &to).is_err() {
            // The git directory may be on another file system.
            fs::copy(&from, &to)
                .and_then(|_| fs::remove_file(&from))
                .with_context(|| format!("moving {} aside", path.display()))?;
        }
        moved = true;
    }
    Ok(moved.then_some(kept))
}
