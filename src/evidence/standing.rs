//! Where the evidence stands, for a delivered commit or for what is on disk: the three files found and read, every proof graded, every item
//! assessed, and what is lacking by name. The gate, a cycle's fix rounds and the packet all ask here. It runs nothing and decides no merge.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Result;

use super::approval;
use super::artifact::{Artifact, Broken, Described, Good, Judged, Reader, State};
use super::assess::{self, Assessment, Case, Decided, Item, Verdict};
use super::contract::{CheckKind, Frozen, Outcome};
use super::dod::{self, Dod, List, Proof};
use super::freshness::{self, Facts, Known, Named, Place};
use super::grade::Grade;
use super::item::{self, Change};
use super::known;
use super::plan::{self, Plan};
use super::seal::{self, Kept, KeptFile, Loose};
use super::verify::{self, Status, Verify};
use crate::config::{Binding, CommandLine, Config, TestCommand};
use crate::git::{Oid, Worktree};
use crate::ledger::Record;

/// What is judged, and by what.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// Any worktree of the repository; its ledger counts.
    pub worktree: &'a Worktree,
    /// The folder in which the worker worked; none where that is not here: then what the ledger kept counts.
    pub folder: Option<&'a Path>,
    /// The delivered commit; none for what is on disk.
    pub head: Option<Oid>,
    pub tree: Oid,
    /// Where the work left the branch it is judged against.
    pub base: Option<Oid>,
    /// Does `folder` hold exactly `tree`?
    pub exact: bool,
    pub frozen: Option<&'a Frozen>,
    /// As committed at the base.
    pub config: &'a Config,
    /// A dispatch record asks for evidence.
    pub dispatched: bool,
    /// What a decision may rest on, oldest first.
    pub records: &'a [(Oid, Record)],
    /// The project's own checks were run by Arkaint on `tree`, and passed.
    pub green: bool,
    /// What was run again in a fresh worktree of the delivered commit.
    pub rerun: &'a [Rerun],
}

/// What came of running an item's command again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rerun {
    pub list: List,
    pub id: String,
    pub passed: bool,
    /// The last line that it printed, and how it ended.
    pub evidence: String,
}

/// Where the files were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Worktree,
    /// As they were judged before.
    Ledger,
}

impl Found {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Worktree => "worktree",
            Self::Ledger => "ledger",
        }
    }
}

/// A file that the work must leave, and did not leave as it must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lack {
    pub path: String,
    pub state: State,
    /// One line that names the file and says what to do.
    pub line: String,
}

/// How it stands.
#[derive(Debug)]
pub(crate) struct Standing {
    pub found: Found,
    pub verify: Artifact<Verify>,
    pub dod: Artifact<Dod>,
    pub plan: Artifact<Plan>,
    pub dod_path: String,
    /// Is anything to be proven at all?
    pub asked: bool,
    /// Was a plan approved, so that `plan.md` must be there?
    pub planned: bool,
    pub lacks: Vec<Lack>,
    pub assessment: Assessment,
    /// The newest time of change among the files that the work changed.
    pub newest: Option<SystemTime>,
}

/// The three files as they were read.
struct Files {
    found: Found,
    verify: Artifact<Verify>,
    dod: Artifact<Dod>,
    plan: Artifact<Plan>,
    /// Of what the ledger kept: the newest time of change at that time.
    newest: Option<SystemTime>,
}

impl Files {
    fn on_disk(root: &Path, dod_path: &Path, limit: u64) -> Result<Self> {
        let reader = Reader::open(root, limit)?;
        Ok(Self {
            found: Found::Worktree,
            verify: reader.verify(),
            dod: reader.dod(dod_path),
            plan: reader.plan(),
            newest: None,
        })
    }

    fn kept(worktree: &Worktree, kept: &Kept, dod_path: &str) -> Self {
        let file = |path: &str| kept.files.iter().find(|file| file.path == path);
        Self {
            found: Found::Ledger,
            verify: copy(worktree, file(verify::PATH), verify::judge),
            dod: copy(worktree, file(dod_path), dod::judge),
            plan: copy(worktree, file(plan::PATH), plan::judge),
            newest: kept.newest,
        }
    }

    fn digests(&self, dod_path: &str) -> Vec<(String, String)> {
        digests([
            (verify::PATH, self.verify.sha256()),
            (dod_path, self.dod.sha256()),
            (plan::PATH, self.plan.sha256()),
        ])
    }

    fn none_is_there(&self) -> bool {
        [self.verify.state(), self.dod.state(), self.plan.state()]
            .iter()
            .all(|state| *state == State::Absent)
    }
}

/// The ledger's copy of a file; one that was there and was not kept is not the same as one that nobody wrote.
fn copy<T>(
    worktree: &Worktree,
    file: Option<&KeptFile>,
    judge: impl FnOnce(&str) -> Judged<T>,
) -> Artifact<T> {
    let Some(file) = file else {
        return Artifact::Absent;
    };
    match seal::read(worktree, file) {
        Some(bytes) => Artifact::of(bytes, file.mtime, judge),
        None => Artifact::Broken(Broken {
            reason: match file.blob {
                None => "it seems to hold a secret, so the ledger kept no copy".to_owned(),
                Some(blob) => format!("the ledger's copy, blob {blob}, is not here"),
            },
            sha256: Some(file.sha256.clone()),
            bytes: Some(file.bytes),
            mtime: file.mtime,
        }),
    }
}

impl Subject<'_> {
    fn contract(&self) -> Option<&str> {
        self.frozen.map(|frozen| frozen.digest.as_str())
    }

    fn binding(&self) -> Binding {
        self.frozen.map_or(self.config.evidence.binding, |frozen| {
            frozen.contract.binding
        })
    }

    fn project(&self) -> &[crate::config::Dod] {
        self.frozen
            .map_or(&self.config.dod, |frozen| &frozen.contract.project)
    }

    fn outcomes(&self) -> &[Outcome] {
        self.frozen
            .map_or(&[], |frozen| &frozen.contract.body.outcomes)
    }

    /// The paths between the base and the tree. No renames: a file that moved is there under its new name, and gone under its old one.
    fn changed(&self) -> Result<Vec<(Vec<u8>, Change)>> {
        let from = match self.base {
            Some(base) => self.worktree.tree_of(base)?,
            None => self.worktree.empty_tree()?,
        };
        let files = self.worktree.changed_files(from, self.tree)?.into_iter();
        Ok(files
            .map(|file| {
                let change = match (file.old, file.new) {
                    (_, None) => Change::Deleted,
                    (None, Some(_)) => Change::Added,
                    (Some(_), Some(_)) => Change::Modified,
                };
                (file.path, change)
            })
            .collect())
    }

    fn files(&self, dod_path: &str) -> Result<Files> {
        if let Some(folder) = self.folder {
            let path = &self.config.evidence.dod_file;
            let files = Files::on_disk(folder, path, self.config.evidence.max_bytes)?;
            if !files.none_is_there() {
                return Ok(files);
            }
        }
        // In a clone, in CI, or when the folder was cleared: what was judged for this very tree and contract.
        let kept = seal::kept(self.records);
        let ours = |kept: &&Kept| {
            kept.tree == self.tree
                && kept.contract.as_deref() == self.contract()
                && !kept.files.is_empty()
        };
        Ok(match kept.iter().rev().find(ours) {
            Some(kept) => Files::kept(self.worktree, kept, dod_path),
            None => Files {
                found: Found::Worktree,
                verify: Artifact::Absent,
                dod: Artifact::Absent,
                plan: Artifact::Absent,
                newest: None,
            },
        })
    }

    /// Both lists, with what Arkaint decides or ran itself.
    fn items(&self, changed: &[(Vec<u8>, Change)]) -> Result<Vec<Item>> {
        let listed: Vec<(&[u8], Change)> = changed
            .iter()
            .map(|(path, change)| (path.as_slice(), *change))
            .collect();
        let read = |path: &[u8]| self.worktree.blob_in_tree(self.tree, path);
        let mut items = item::items(self.project(), self.outcomes(), &listed, read)?;
        for item in &mut items {
            let rerun = self
                .rerun
                .iter()
                .find(|rerun| rerun.list == item.list && rerun.id == item.id);
            if let Some(rerun) = rerun {
                item.decided = Some(Decided {
                    status: if rerun.passed {
                        Status::Passed
                    } else {
                        Status::Failed
                    },
                    evidence: rerun.evidence.clone(),
                    grade: Some(Grade::Rerun),
                });
            } else if item.decided.is_none()
                && self.green
                && Grade::Sealed.enough(self.binding())
                && self.is_own_check(item)
            {
                item.decided = Some(Decided {
                    status: Status::Passed,
                    evidence: "the project's own checks passed on this tree".to_owned(),
                    grade: Some(Grade::Sealed),
                });
            }
        }
        Ok(items)
    }

    /// Is what shows this item the very check that a checkpoint runs?
    fn is_own_check(&self, item: &Item) -> bool {
        let TestCommand::Run(test) = &self.config.checkpoint.test else {
            return false;
        };
        match item.list {
            List::Issue => self
                .outcomes()
                .iter()
                .find(|outcome| outcome.id == item.id)
                .is_some_and(
                    |outcome| match (&outcome.check.kind, &outcome.check.command) {
                        (CheckKind::Manual, _) => false,
                        (CheckKind::Test, None) => true,
                        (_, command) => command.as_ref() == Some(test),
                    },
                ),
            List::Project => self
                .project()
                .iter()
                .find(|project| project.id == item.id)
                .and_then(|project| project.command.as_ref())
                .is_some_and(|argv| match test {
                    CommandLine::Argv(test) => argv == test,
                    CommandLine::Bash(_) => false,
                }),
        }
    }

    fn attested(&self) -> Result<BTreeSet<String>> {
        match (self.frozen, self.head) {
            (Some(frozen), Some(head)) => approval::outcomes(self.worktree, &frozen.digest, head),
            _ => Ok(BTreeSet::new()),
        }
    }
}

/// Path and SHA-256 of the files that lie in `root`, in the order of [`Standing::artifacts`].
///
/// # Errors
/// When there is no such folder.
pub(crate) fn files(root: &Path, config: &Config) -> Result<Vec<(String, String)>> {
    let evidence = &config.evidence;
    let files = Files::on_disk(root, &evidence.dod_file, evidence.max_bytes)?;
    Ok(files.digests(&evidence.dod_file.to_string_lossy()))
}

/// Judges the evidence of `subject`.
///
/// # Errors
/// When the worktree is gone, or the repository cannot be read.
pub(crate) fn of(subject: &Subject<'_>) -> Result<Standing> {
    let dod_path = subject
        .config
        .evidence
        .dod_file
        .to_string_lossy()
        .into_owned();
    let changed = subject.changed()?;
    let items = subject.items(&changed)?;
    let files = subject.files(&dod_path)?;
    let asked = !items.is_empty() || subject.frozen.is_some() || subject.dispatched;
    let planned = match subject.frozen {
        Some(frozen) => approval::of_plan(subject.worktree, frozen)?.is_some(),
        None => false,
    };
    let newest = match (files.found, subject.folder) {
        (Found::Ledger, _) => files.newest,
        (Found::Worktree, Some(folder)) => newest(folder, &changed),
        (Found::Worktree, None) => None,
    };
    let place = match (files.found, subject.exact) {
        (Found::Ledger, _) | (Found::Worktree, true) => Place::Same(newest),
        (Found::Worktree, false) if subject.folder.is_some() => Place::Dirty,
        (Found::Worktree, false) => Place::Elsewhere,
    };
    let attested = subject.attested()?;
    let assessment = graded(subject, &items, &files, place, &dod_path, &attested)?;
    let lacks = lacks(&files, asked, planned);
    Ok(Standing {
        found: files.found,
        verify: files.verify,
        dod: files.dod,
        plan: files.plan,
        dod_path,
        asked,
        planned,
        lacks,
        assessment,
        newest,
    })
}

fn graded(
    subject: &Subject<'_>,
    items: &[Item],
    files: &Files,
    place: Place,
    dod_path: &str,
    attested: &BTreeSet<String>,
) -> Result<Assessment> {
    // Once for each file, not for each of its entries.
    let verify = looked_up(subject, &files.verify, dod_path);
    let dod = looked_up(subject, &files.dod, dod_path);
    let stamp = files.verify.good().and_then(|file| file.stamp.as_ref());
    let facts = Facts {
        tree: subject.tree,
        changed_at: match subject.head {
            Some(head) => subject.worktree.last_change(head, subject.base)?,
            None => None,
        },
        place,
        now: SystemTime::now(),
        contract: subject.contract(),
        stamp: stamp.map(|stamp| [&stamp.head, &stamp.tree].map(|id| named(subject.worktree, id))),
    };
    // A file that cannot be read has no entries to grade.
    let stale = Grade::Stale(super::grade::Stale::Older);
    let outcome_grade = |outcome: &verify::Outcome| match &verify {
        Some((good, known)) => facts.outcome(good, known, outcome),
        None => stale,
    };
    let proof_grade = |list, proof: &Proof| match &dod {
        Some((good, known)) => facts.proof(good, known, list, proof),
        None => stale,
    };
    let head = subject.head.map_or_else(
        || "what is on disk now".to_owned(),
        |head| head.to_hex_with_len(7).to_string(),
    );
    let mut assessment = assess::assess(&Case {
        items,
        verify: &files.verify,
        verify_grade: &outcome_grade,
        dod: &files.dod,
        dod_path,
        dod_grade: &proof_grade,
        binding: subject.binding(),
        conflicts: subject.config.evidence.conflicts,
        attested,
        head: &head,
    });
    if let Some(verify) = files.verify.good() {
        let undated = freshness::undated("ranAt", verify.ran_at.as_deref());
        assessment
            .warnings
            .extend(undated.map(|line| format!("{}: {line}", verify::PATH)));
    }
    Ok(assessment)
}

/// A file that can be read, and what is known of its bytes.
fn looked_up<'a, T>(
    subject: &Subject<'_>,
    artifact: &'a Artifact<T>,
    dod_path: &str,
) -> Option<(&'a Good<T>, Known)> {
    match artifact {
        Artifact::Good(good) => Some((good, known::of(subject, good, dod_path))),
        Artifact::Absent | Artifact::Broken(_) => None,
    }
}

fn digests(files: [(&str, Option<&str>); 3]) -> Vec<(String, String)> {
    let read = files.into_iter();
    read.filter_map(|(path, sha256)| Some((path.to_owned(), sha256?.to_owned())))
        .collect()
}

/// What an id of a stamp leads to.
fn named(worktree: &Worktree, id: &str) -> Named {
    match Oid::from_hex(id.as_bytes()) {
        Err(_) => Named::Short,
        Ok(oid) if worktree.repo().is_ok_and(|repo| repo.has_object(oid)) => Named::Known(oid),
        Ok(_) => Named::Unknown,
    }
}

/// The newest modification time among the changed files that are there.
fn newest(folder: &Path, changed: &[(Vec<u8>, Change)]) -> Option<SystemTime> {
    let there = changed
        .iter()
        .filter(|(_, change)| *change != Change::Deleted);
    there
        .filter_map(|(path, _)| {
            let path = folder.join(std::ffi::OsStr::from_bytes(path));
            path.symlink_metadata().ok()?.modified().ok()
        })
        .max()
}

/// The files that must be there and are not there as they must.
fn lacks(files: &Files, asked: bool, planned: bool) -> Vec<Lack> {
    let mut lacks = Vec::new();
    if asked {
        lacks.extend(lack(
            verify::PATH,
            &files.verify,
            "write it: what you ran, and what came of each outcome",
        ));
    }
    if planned {
        lacks.extend(lack(
            plan::PATH,
            &files.plan,
            "write it: the plan that you followed, and where it departs from the approved one",
        ));
    }
    lacks
}

fn lack<T: Described>(path: &str, artifact: &Artifact<T>, ask: &str) -> Option<Lack> {
    let line = match artifact {
        Artifact::Good(_) => return None,
        Artifact::Absent => format!("{path} is not written: {ask}"),
        Artifact::Broken(broken) => format!(
            "{path} is there but does not match its schema, which is worse than absent: {}: write it again",
            broken.reason
        ),
    };
    Some(Lack {
        path: path.to_owned(),
        state: artifact.state(),
        line,
    })
}

impl Standing {
    /// What a worker must do, one line each: the files by name, what to prove, what to fix. What waits for a person is none of a worker's.
    pub(crate) fn to_do(&self) -> Vec<String> {
        let files = self.lacks.iter().map(|lack| lack.line.clone());
        // A file that is lacking is why its outcomes are: one line is enough.
        let known = self.lacks.iter().any(|lack| lack.path == verify::PATH);
        let rows = self.assessment.rows.iter().filter(move |row| {
            row.verdict == Verdict::Failed
                || row.verdict == Verdict::Missing && !(known && row.list == List::Issue)
        });
        files.chain(rows.map(|row| row.reason.clone())).collect()
    }

    /// Path and SHA-256 of each file that was read.
    pub(crate) fn artifacts(&self) -> Vec<(String, String)> {
        digests([
            (verify::PATH, self.verify.sha256()),
            (self.dod_path.as_str(), self.dod.sha256()),
            (plan::PATH, self.plan.sha256()),
        ])
    }

    /// The files as the ledger is to keep them.
    pub(crate) fn loose(&self) -> Vec<Loose<'_>> {
        let files = [
            loose(verify::PATH, &self.verify),
            loose(&self.dod_path, &self.dod),
            loose(plan::PATH, &self.plan),
        ];
        files.into_iter().flatten().collect()
    }
}

fn loose<'a, T>(path: &'a str, artifact: &'a Artifact<T>) -> Option<Loose<'a>> {
    match artifact {
        Artifact::Good(good) => Some(Loose {
            path,
            bytes: &good.bytes,
            mtime: good.mtime,
        }),
        Artifact::Absent | Artifact::Broken(_) => None,
    }
}

/// Keeps the three files in the ledger, on `on`, as they were judged for `subject`.
///
/// # Errors
/// When the ledger cannot be written.
pub(crate) fn keep(subject: &Subject<'_>, standing: &Standing, on: Oid) -> Result<()> {
    let files = standing.loose();
    if files.is_empty() || standing.found == Found::Ledger {
        return Ok(());
    }
    let kept = Kept {
        commit: subject.head,
        tree: subject.tree,
        contract: subject.contract().map(str::to_owned),
        newest: standing.newest,
        files: Vec::new(),
    };
    seal::keep(subject.worktree, on, kept, &files)?;
    Ok(())
}
