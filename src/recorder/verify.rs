//! The recorder: runs a command on the tree that is on disk, looks whether it still is that tree, writes `verify.json` (and what the command
//! proves of the project's items into `dod.json`), and seals both in the ledger. It takes no lock of a run's and works inside one, where what it
//! records is a claim until the parent confirms it.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use anyhow::Result;

use super::claim::{self, Claim};
use super::content::Content;
use super::run::{self, Ran, Run};
use crate::config::Dod;
use crate::evidence::artifact::{Artifact, Reader};
use crate::evidence::contract::{self, Frozen, Unproven};
use crate::evidence::dod::{self, Proof};
use crate::evidence::seal::{self, Seal};
use crate::evidence::verify::{self, MOST, Outcome, Stamp, Status, Verify};
use crate::evidence::write;
use crate::exit::{Exit, Refusal};
use crate::gate;
use crate::git::{Oid, Worktree};
use crate::ledger::{Record, notes, record};
use crate::secret;
use crate::ui::Ui;

/// What is to be run.
pub(crate) struct Order<'a> {
    pub argv: &'a [String],
    /// The outcomes that it shows; none: those that have it as their command.
    pub outcomes: &'a [String],
    /// Shows the output while it comes.
    pub echo: Option<&'a Ui>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Recorded {
    Written(Box<Written>),
    /// The content changed meanwhile, and nothing was written: `the command changed 1 file (a)`.
    Moved(String),
    Interrupted(i32),
}

/// What was written.
#[derive(Debug)]
pub(crate) struct Written {
    pub ran: Ran,
    pub tree: Oid,
    pub head: Oid,
    pub contract: Option<String>,
    /// What `verify.json` says of this command's outcomes.
    pub outcomes: Vec<Outcome>,
    /// The project's items that it proves or fails, in `dod.json`.
    pub items: Vec<String>,
    /// The files that were sealed.
    pub seals: Vec<Seal>,
    /// ` (a, b; project/c)`: the outcomes and items that a command shows; empty where there are none.
    pub known: String,
    /// One line each: what was left out, and what is not answered for.
    pub notes: Vec<String>,
}

/// Where and under what the command runs.
struct Scene<'a> {
    worktree: &'a Worktree,
    head: Oid,
    tree: Oid,
    frozen: Option<Frozen>,
    records: Vec<(Oid, Record)>,
    /// The run that we are inside of.
    run: Option<String>,
    reader: Reader,
    at: String,
}

/// Runs the command and records it. The command runs at the root of the worktree.
///
/// # Errors
/// A [`Refusal`] before anything ran: no commit, an outcome that is none, a contract that cannot be relied on, a link where the files
/// should be, a program that is not there. Later, when the tree cannot be read or a file cannot be written.
pub(crate) fn record(worktree: &Worktree, order: &Order<'_>) -> Result<Recorded> {
    let Some(head) = worktree.head()? else {
        return Err(Refusal::new(
            "this branch has no commit yet",
            "git add -A && git commit -m 'start'",
        )
        .into());
    };
    let config = gate::config_for_reading(worktree, None)?;
    let frozen = open_contract(worktree)?;
    let body = frozen.as_ref().map(|frozen| &frozen.contract.body);
    let claims = claim::outcomes(body, order.outcomes, order.argv)?;
    if claims.len() > MOST {
        let cause = format!("{} outcomes at once: {MOST} at most", claims.len());
        return Err(Refusal::new(cause, "git arkaint contract show").into());
    }
    let project: &[Dod] = frozen
        .as_ref()
        .map_or(&config.dod, |frozen| &frozen.contract.project);
    let items = claim::items(project, order.argv);
    let known = claim::known(body, project);
    let dod_file = config.evidence.dod_file.as_path();
    for file in [Path::new(verify::PATH), dod_file] {
        no_link_before(worktree.root(), file)?;
    }
    let run = std::env::var("ARKAINT_RUN").ok();
    let run = run.filter(|run| !run.is_empty());
    let content = Content::new(worktree, run.is_some())?;
    let tree = content.tree()?;
    let at = record::now();
    let argv = claim::words(body, order.argv);
    let ran = match run::run(
        &argv,
        worktree.root(),
        config.checkpoint.timeout,
        order.echo,
    )? {
        Run::Over(ran) => ran,
        Run::Interrupted(signal) => return Ok(Recorded::Interrupted(signal)),
        Run::NotStarted(why) => {
            return Err(Refusal::new(why, "git arkaint verify -- PROGRAM ARGUMENTS").into());
        }
    };
    let after = content.tree()?;
    if after != tree {
        return Ok(Recorded::Moved(content.difference(tree, after)?));
    }
    // From reading the file that is replaced to the record of the new one: what another recorder wrote meanwhile would be lost.
    let _turn = content.turn()?;
    let scene = Scene {
        worktree,
        head,
        tree,
        records: notes::deciding(worktree)?,
        run,
        reader: Reader::open(worktree.root(), config.evidence.max_bytes)?,
        at,
        frozen,
    };
    let mut written = Written {
        tree,
        head,
        contract: scene.digest(),
        outcomes: Vec::new(),
        items,
        seals: Vec::new(),
        known,
        notes: Vec::new(),
        ran,
    };
    scene.write_verify(&claims, order, &argv, &mut written)?;
    if !written.items.is_empty() {
        scene.write_dod(dod_file, &argv, &mut written)?;
    }
    let seals: Vec<Record> = written.seals.iter().map(Seal::record).collect();
    notes::append(worktree, head, &seals)?;
    scene.contradictions(dod_file, &mut written);
    Ok(Recorded::Written(Box::new(written)))
}

/// The open contract of the branch that HEAD is on.
fn open_contract(worktree: &Worktree) -> Result<Option<Frozen>> {
    let Some(branch) = worktree.branch()? else {
        return Ok(None);
    };
    contract::open(worktree, &notes::deciding(worktree)?, &branch, None).map_err(
        |error| match error.downcast_ref::<Unproven>() {
            Some(unproven) => {
                let hint = "git arkaint contract freeze FILE, to open another";
                Refusal::with_exit(Exit::Person, unproven.to_string(), hint).into()
            }
            None => error,
        },
    )
}

/// A folder of `file` that is a link, or no folder, would be found out only after the command has run.
fn no_link_before(root: &Path, file: &Path) -> Result<(), Refusal> {
    let mut folder = root.to_owned();
    let names = file.parent().into_iter().flat_map(Path::components);
    for name in names.filter(|c| matches!(c, Component::Normal(_))) {
        folder.push(name);
        let there = folder.symlink_metadata();
        if there.is_ok_and(|meta| !meta.is_dir()) {
            let shown = folder.strip_prefix(root).unwrap_or(&folder);
            let shown = shown.to_string_lossy();
            return Err(Refusal::new(
                format!("{shown} is no folder: nothing is written through a link"),
                shell_words::join(["rm", "--", &shown]),
            ));
        }
    }
    Ok(())
}

impl Scene<'_> {
    fn digest(&self) -> Option<String> {
        self.frozen.as_ref().map(|frozen| frozen.digest.clone())
    }

    fn stamp(&self) -> Stamp {
        Stamp {
            v: 1,
            head: self.head.to_string(),
            tree: self.tree.to_string(),
            contract: self.digest(),
        }
    }

    /// What earlier seals of the file with this SHA-256 answer for here. One that was made inside of a run is no more than a claim, and
    /// is taken over by another claim alone.
    fn answered(&self, sha256: Option<&str>) -> BTreeSet<String> {
        let ours = |seal: &Seal| {
            Some(seal.sha256.as_str()) == sha256
                && seal.tree == self.tree
                && seal.contract == self.digest()
                && (seal.run.is_none() || self.run.is_some())
        };
        let seals = seal::seals(&self.records).into_iter().filter(ours);
        seals.flat_map(|seal| seal.outcomes).collect()
    }

    fn seal(&self, file: &str, bytes: &[u8], argv: &[String], ran: &Ran, ids: Vec<String>) -> Seal {
        Seal {
            file: file.to_owned(),
            sha256: seal::digest(bytes),
            tree: self.tree,
            commit: self.head,
            contract: self.digest(),
            argv: argv.to_vec(),
            exit: ran.exit,
            output_sha256: ran.output_sha256.clone(),
            output_bytes: ran.output_bytes,
            outcomes: ids,
            duration_ms: u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX),
            run: self.run.clone(),
        }
    }

    fn write_verify(
        &self,
        claims: &[Claim],
        order: &Order<'_>,
        argv: &[String],
        written: &mut Written,
    ) -> Result<()> {
        let ran = &written.ran;
        for claim in claims {
            written.outcomes.push(Outcome {
                id: claim.id.clone(),
                status: ran.status(),
                evidence: ran.evidence.clone(),
            });
            if let Some(other) = &claim.other {
                written.notes.push(format!(
                    "{} is to be shown by {other}: what this command says of it is recorded, and not sealed",
                    claim.id
                ));
            }
        }
        let previous = self.reader.verify();
        let mut answered = self.answered(previous.sha256());
        let carried = self.carried(&previous, written);
        answered.retain(|id| carried.iter().any(|outcome| outcome.id == *id));
        let sealed = claims.iter().filter(|claim| claim.other.is_none());
        answered.extend(sealed.map(|claim| claim.id.clone()));
        // One exit code cannot speak for two commands: a failure of this one is no word on what another showed.
        let speaks_for_all = written.ran.exit == 0
            || carried
                .iter()
                .all(|outcome| outcome.status == Status::Failed);
        let file = Verify {
            ran_at: Some(self.at.clone()),
            command: secret::redact(&shell_words::join(order.argv)).into_owned(),
            exit_code: speaks_for_all.then_some(written.ran.exit),
            outcomes: written.outcomes.iter().cloned().chain(carried).collect(),
            stamp: Some(self.stamp()),
            notes: Vec::new(),
        };
        let bytes = verify::render(&file, bytes_of(&previous));
        write::write(self.worktree.root(), Path::new(verify::PATH), &bytes)?;
        let ids = answered.into_iter().collect();
        let seal = self.seal(verify::PATH, &bytes, argv, &written.ran, ids);
        written.seals.push(seal);
        Ok(())
    }

    /// The outcomes of the file that is replaced that hold still: those of the same tree and contract, unless its own exit code denies
    /// them or they have no words of their own.
    fn carried(&self, previous: &Artifact<Verify>, written: &mut Written) -> Vec<Outcome> {
        let file = match previous {
            Artifact::Absent => return Vec::new(),
            Artifact::Broken(broken) => {
                let note = format!("{} was replaced: {}", verify::PATH, broken.reason);
                written.notes.push(note);
                return Vec::new();
            }
            Artifact::Good(good) => &good.value,
        };
        let tree = self.tree.to_string();
        let same = file
            .stamp
            .as_ref()
            .is_some_and(|stamp| stamp.tree == tree && stamp.contract == self.digest());
        let denied = file.exit_code.is_some_and(|code| code != 0);
        let others = file
            .outcomes
            .iter()
            .filter(|old| !written.outcomes.iter().any(|new| new.id == old.id));
        let room = MOST.saturating_sub(written.outcomes.len());
        let (mut kept, mut gone): (Vec<Outcome>, Vec<&str>) = (Vec::new(), Vec::new());
        for old in others {
            let stands = old.status == Status::Failed || !denied && !old.evidence.is_empty();
            if same && stands && kept.len() < room {
                kept.push(old.clone());
            } else {
                gone.push(&old.id);
            }
        }
        if !gone.is_empty() {
            let ids = claim::listed(gone.into_iter());
            let why = if same {
                "nothing of their own shows them"
            } else {
                "not shown on this tree"
            };
            let note = format!("left out of {}, as {why}: {ids}", verify::PATH);
            written.notes.push(note);
        }
        kept
    }

    fn write_dod(&self, path: &Path, argv: &[String], written: &mut Written) -> Result<()> {
        let previous = self.reader.dod(path);
        let shown = path.display().to_string();
        if let Artifact::Broken(broken) = &previous {
            let note = format!("{shown} was replaced: {}", broken.reason);
            written.notes.push(note);
        }
        let proofs: Vec<Proof> = written
            .items
            .iter()
            .map(|id| Proof {
                id: id.clone(),
                status: written.ran.status(),
                evidence: written.ran.evidence.clone(),
                at: Some(self.at.clone()),
            })
            .collect();
        let bytes = dod::render(&proofs, bytes_of(&previous));
        write::write(self.worktree.root(), path, &bytes)?;
        let mut answered = self.answered(previous.sha256());
        answered.extend(written.items.iter().cloned());
        let ids = answered.into_iter().collect();
        let seal = self.seal(&shown, &bytes, argv, &written.ran, ids);
        written.seals.push(seal);
        Ok(())
    }

    /// What `dod.json` says otherwise of the outcomes: it speaks first.
    fn contradictions(&self, path: &Path, written: &mut Written) {
        let file = self.reader.dod(path);
        let proofs = file.good().map_or(&[][..], |dod| &dod.outcomes);
        for outcome in &written.outcomes {
            let says = proofs.iter().find(|proof| proof.id == outcome.id);
            if let Some(proof) = says.filter(|proof| proof.status != outcome.status) {
                written.notes.push(format!(
                    "{} is {} in {}, which speaks first: mend that entry",
                    outcome.id,
                    proof.status.name(),
                    path.display()
                ));
            }
        }
    }
}

/// The bytes of a file that was read well, to keep what it holds besides.
fn bytes_of<T>(artifact: &Artifact<T>) -> Option<&[u8]> {
    match artifact {
        Artifact::Good(good) => Some(&good.bytes),
        Artifact::Absent | Artifact::Broken(_) => None,
    }
}
