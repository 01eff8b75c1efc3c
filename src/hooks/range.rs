//! The commits that are about to leave: which of them change protected paths, and were they bound by the lock when they were made? A fixed
//! number of git processes, however many commits there are. What any remote has already is published, and no longer ours to judge.

use std::collections::{HashMap, HashSet};

use anyhow::Result;

use super::change::{self, Change};
use super::lock;
use super::receipt::Receipt;
use crate::config::protected::{CONFIG_FILE, Protected};
use crate::git::hook_env::HookGit;

/// A commit that changes protected entries.
pub(super) struct Touching {
    pub commit: String,
    parents: Vec<String>,
    pub changes: Vec<Change>,
}

/// What is pushed and no remote has.
pub(super) struct Range<'a> {
    pub git: &'a HookGit,
    pub tips: Vec<&'a str>,
    /// What the remote says it has, as far as it is known here.
    pub known: Vec<&'a str>,
}

impl Range<'_> {
    /// The commits that change protected entries against the lock.
    pub(super) fn made_under_lock(&self, protected: &Protected) -> Result<Vec<Touching>> {
        let mut touching = self.touching(protected)?;
        if !touching.is_empty() {
            let bound = self.bound(&touching)?;
            touching.retain(|t| bound.contains(&t.commit));
        }
        if !touching.is_empty() {
            let allowed = self.allowed_by_trailer(&touching)?;
            touching.retain(|t| !allowed.contains(&t.commit));
        }
        Ok(touching)
    }

    /// `rev-list` of the range, less what `but_not` reaches.
    fn list(&self, options: &[&str], but_not: &[String]) -> Result<String> {
        let without = self
            .known
            .iter()
            .copied()
            .chain(but_not.iter().map(String::as_str))
            .map(|oid| format!("^{oid}"));
        let revs = self.tips.iter().map(|tip| (*tip).to_owned()).chain(without);
        self.git
            .call(["rev-list", "--stdin"])
            .args(options)
            .args(["--not", "--remotes"])
            .stdin_lines(revs)
            .text()
    }

    /// Each commit is compared with its parents, as an edit that is taken back later was made all the same. Of a merge (`-c`) only what
    /// differs from every parent is its own.
    fn touching(&self, protected: &Protected) -> Result<Vec<Touching>> {
        let listed = self.list(&["--parents"], &[])?;
        let split = |line: &str| {
            let mut names = line.split(' ').map(str::to_owned);
            (names.next().unwrap_or_default(), names.collect::<Vec<_>>())
        };
        let mut parents: HashMap<_, _> = listed.lines().map(split).collect();
        let commits = listed.lines().filter_map(|line| line.split(' ').next());
        let raw = self
            .git
            .call(lock::DIFF_TREE)
            .args(["--stdin", "-c", "--root"])
            .stdin_lines(commits)
            .bytes()?;
        let mut touching = Vec::new();
        for (commit, mut changes) in change::of_commits(&raw)? {
            let first_config =
                |change: &Change| change.path == CONFIG_FILE.as_bytes() && change.adds_file();
            if changes.iter().any(first_config) {
                // By this commit the project took Arkaint on.
                continue;
            }
            changes.retain(|change| protected.touches(&change.path));
            if !changes.is_empty() {
                touching.push(Touching {
                    parents: parents.remove(&commit).unwrap_or_default(),
                    commit,
                    changes,
                });
            }
        }
        Ok(touching)
    }

    /// Those made on top of a committed `arkaint.toml`, or after the hooks were installed here. What a project did before is history: the
    /// first push of it to a new remote is honest.
    fn bound(&self, touching: &[Touching]) -> Result<HashSet<String>> {
        let parents = || touching.iter().flat_map(|t| &t.parents);
        let answers = batch_check(
            self.git,
            parents().map(|parent| format!("{parent}:{CONFIG_FILE}")),
        )?;
        let adopted: HashSet<_> = parents()
            .zip(answers.lines())
            .filter(|(_, answer)| answer.ends_with(" blob"))
            .map(|(parent, _)| parent)
            .collect();
        let is_adopted = |t: &&Touching| t.parents.iter().any(|parent| adopted.contains(parent));
        let mut bound: HashSet<_> = touching
            .iter()
            .filter(is_adopted)
            .map(|t| t.commit.clone())
            .collect();
        if bound.len() < touching.len()
            && let Some(receipt) = Receipt::read(&self.git.common_dir)
        {
            let before: Vec<_> = commits_of(self.git, &receipt.heads)?
                .into_values()
                .collect();
            bound.extend(self.list(&[], &before)?.lines().map(str::to_owned));
        }
        Ok(bound)
    }

    /// Those that a checkpoint made with the operator's permission, which it wrote down.
    fn allowed_by_trailer(&self, touching: &[Touching]) -> Result<HashSet<String>> {
        // The user's separators would hide every trailer.
        let git = self.git.call([
            "-c",
            "trailer.separators=:",
            "rev-list",
            "--no-walk=unsorted",
            "--stdin",
        ]);
        let text = git
            .arg("--format=%H %(trailers:key=Arkaint-Infra-Edit,valueonly,unfold,separator=%x2C)")
            .stdin_lines(touching.iter().map(|t| &t.commit))
            .text()?;
        let says_allowed = |line: &str| {
            let (commit, values) = line.split_once(' ')?;
            values
                .split(',')
                .any(|value| value.trim() == "allowed")
                .then(|| commit.to_owned())
        };
        Ok(text.lines().filter_map(says_allowed).collect())
    }
}

/// The commit behind each object name (an annotated tag is peeled); unknown objects, blobs and trees have none.
pub(super) fn commits_of<'a>(
    git: &HookGit,
    oids: impl IntoIterator<Item = &'a String>,
) -> Result<HashMap<String, String>> {
    let oids: HashSet<_> = oids.into_iter().collect();
    let answers = batch_check(git, oids.iter().map(|oid| format!("{oid}^{{commit}}")))?;
    let commit = |answer: &str| answer.strip_suffix(" commit").map(str::to_owned);
    Ok(oids
        .into_iter()
        .zip(answers.lines())
        .filter_map(|(oid, answer)| Some((oid.clone(), commit(answer)?)))
        .collect())
}

/// One line, `OID TYPE` or `... missing`, for each name asked.
fn batch_check(git: &HookGit, names: impl Iterator<Item = String>) -> Result<String> {
    git.call(["cat-file", "--batch-check=%(objectname) %(objecttype)"])
        .stdin_lines(names)
        .text()
}
