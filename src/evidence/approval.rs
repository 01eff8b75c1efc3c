//! A person's word, kept in the ledger on the commit that it is about: on a commit that was held, on an outcome that only a person can see, on
//! a plan. It holds for that commit and that contract alone: another commit, however alike, needs another word. It is an attestation, not a
//! secret: who can write the repository can write it.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::json;

use super::contract::Frozen;
use super::seal;
use crate::git::{Oid, Worktree};
use crate::ledger::{Kind, Record, notes};

/// What was approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What<'a> {
    /// A commit that the gate held: protected paths, a name that looks like a secret, an empty change.
    Commit,
    /// A manual outcome, seen on the commit.
    Outcome(&'a str),
    /// The text of a plan, for the work that the contract is about. The ledger keeps it, so that whoever works next is told.
    Plan(&'a str),
}

/// An approval as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Approval {
    /// `NAME <EMAIL>`.
    pub by: String,
    /// UTC, RFC 3339.
    pub at: String,
    /// For a plan: the SHA-256 of its text.
    pub plan: Option<String>,
    /// For a plan: the object that holds its text.
    pub blob: Option<String>,
}

impl What<'_> {
    fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Outcome(_) => "outcome",
            Self::Plan(_) => "plan",
        }
    }
}

/// Records that `by` approved `what` on `commit`, under the contract with that digest.
///
/// # Errors
/// When `commit` is none, or the ledger cannot be written.
pub(crate) fn give(
    worktree: &Worktree,
    what: What<'_>,
    commit: Oid,
    contract: Option<&str>,
    by: &str,
) -> Result<()> {
    let tree = worktree.tree_of(commit)?;
    let mut fields = json!({
        "what": what.name(), "commit": commit.to_string(), "tree": tree.to_string(), "contract": contract, "by": by,
    });
    let mut kept = Vec::new();
    match what {
        What::Commit => {}
        What::Outcome(id) => fields["outcome"] = id.into(),
        What::Plan(text) => {
            let blob = notes::store(worktree, text.as_bytes())?;
            fields["plan"] = seal::digest(text.as_bytes()).into();
            fields["blob"] = blob.to_string().into();
            kept.push(blob);
        }
    }
    let record = Record::new(Kind::Approval, fields);
    notes::append_keeping(worktree, commit, &[record], &kept)
}

/// The text of an approved plan; `None` where it is not here, or is not what was approved.
pub(crate) fn text_of_plan(worktree: &Worktree, approval: &Approval) -> Option<String> {
    let blob = Oid::from_hex(approval.blob.as_ref()?.as_bytes()).ok()?;
    let bytes = notes::stored(worktree, blob).ok()??;
    let same = Some(seal::digest(&bytes)) == approval.plan;
    same.then(|| String::from_utf8(bytes).ok()).flatten()
}

/// The newest approval of exactly `commit`, whatever the contract.
pub(crate) fn of_commit(worktree: &Worktree, commit: Oid) -> Result<Option<Approval>> {
    newest(worktree, commit, |record| record.str("what") == "commit")
}

/// The newest attestation of the outcome `id` of the contract `digest` on exactly `commit`.
pub(crate) fn of_outcome(
    worktree: &Worktree,
    digest: &str,
    id: &str,
    commit: Oid,
) -> Result<Option<Approval>> {
    newest(worktree, commit, |record| {
        record.str("what") == "outcome"
            && record.str("outcome") == id
            && record.str("contract") == digest
    })
}

/// The outcomes of the contract `digest` that were attested on exactly `commit`: one look for all of them.
pub(crate) fn outcomes(worktree: &Worktree, digest: &str, commit: Oid) -> Result<BTreeSet<String>> {
    let holding = holding(worktree, commit)?.into_iter();
    Ok(holding
        .filter(|record| record.str("what") == "outcome" && record.str("contract") == digest)
        .map(|record| record.str("outcome").to_owned())
        .collect())
}

/// The newest plan that was approved for a contract: it hangs on the commit that the contract starts from.
pub(crate) fn of_plan(worktree: &Worktree, frozen: &Frozen) -> Result<Option<Approval>> {
    newest(worktree, frozen.contract.base, |record| {
        record.str("what") == "plan" && record.str("contract") == frozen.digest
    })
}

fn newest(
    worktree: &Worktree,
    commit: Oid,
    wanted: impl Fn(&Record) -> bool,
) -> Result<Option<Approval>> {
    let records = holding(worktree, commit)?;
    let newest = records.iter().rev().find(|record| wanted(record));
    Ok(newest.map(|record| {
        let text = |key: &str| Some(record.str(key).to_owned()).filter(|text| !text.is_empty());
        Approval {
            by: record.str("by").to_owned(),
            at: record.at().to_owned(),
            plan: text("plan"),
            blob: text("blob"),
        }
    }))
}

/// The approvals that count on `commit`, oldest first. A record counts where it hangs on the commit that it names, with that commit's tree: one
/// that was carried to another commit (by a rebase that copies notes) is about the old one.
fn holding(worktree: &Worktree, commit: Oid) -> Result<Vec<Record>> {
    let mut records = notes::on_commit(worktree, commit)?;
    let (id, tree) = (commit.to_string(), worktree.tree_of(commit)?.to_string());
    records.retain(|record| {
        record.is(Kind::Approval)
            && record.str("commit") == id
            && record.str("tree") == tree
            && !record.str("by").is_empty()
    });
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::Repo;

    #[test]
    fn a_word_holds_for_its_commit_its_contract_and_its_subject_alone() {
        let repo = Repo::new();
        for message in ["one", "two"] {
            repo.git(["commit", "-q", "--allow-empty", "-m", message]);
        }
        let worktree = repo.worktree();
        let two = worktree.head().unwrap().unwrap();
        let one = repo.git(["rev-parse", "HEAD~"]);
        let one = Oid::from_hex(one.trim_ascii()).unwrap();
        let digest = "d".repeat(64);
        assert_eq!(of_commit(&worktree, two).unwrap(), None);
        give(
            &worktree,
            What::Outcome("looks"),
            two,
            Some(&digest),
            "A <a@x>",
        )
        .unwrap();
        assert_eq!(of_commit(&worktree, two).unwrap(), None);
        let by = |contract: &str, id: &str, commit: Oid| {
            of_outcome(&worktree, contract, id, commit)
                .unwrap()
                .map(|approval| approval.by)
        };
        assert_eq!(by(&digest, "looks", two).as_deref(), Some("A <a@x>"));
        // The same tree on another commit, another contract, another outcome.
        assert_eq!(by(&digest, "looks", one), None);
        assert_eq!(by(&"e".repeat(64), "looks", two), None);
        assert_eq!(by(&digest, "look", two), None);
        give(
            &worktree,
            What::Outcome("looks"),
            two,
            Some(&digest),
            "B <b@x>",
        )
        .unwrap();
        assert_eq!(by(&digest, "looks", two).as_deref(), Some("B <b@x>"));
        let all = |contract: &str, commit| outcomes(&worktree, contract, commit).unwrap();
        assert_eq!(all(&digest, two), BTreeSet::from(["looks".to_owned()]));
        assert!(all(&digest, one).is_empty() && all(&"e".repeat(64), two).is_empty());
        give(&worktree, What::Commit, two, None, "C <c@x>").unwrap();
        assert_eq!(of_commit(&worktree, two).unwrap().unwrap().by, "C <c@x>");
        assert_eq!(of_commit(&worktree, one).unwrap(), None);
    }

    #[test]
    fn a_record_that_was_carried_to_another_commit_or_changed_does_not_count() {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "one"]);
        let worktree = repo.worktree();
        let one = worktree.head().unwrap().unwrap();
        give(&worktree, What::Commit, one, None, "A <a@x>").unwrap();
        repo.git(["commit", "-q", "--allow-empty", "--amend", "-m", "two"]);
        let two = repo.git(["rev-parse", "HEAD"]);
        let two = Oid::from_hex(two.trim_ascii()).unwrap();
        let carried = notes::on_commit(&worktree, one).unwrap();
        notes::append(&worktree, two, &carried).unwrap();
        assert_eq!(of_commit(&worktree, two).unwrap(), None);
        for (key, value) in [("tree", one.to_string()), ("by", String::new())] {
            let mut record = Record::new(Kind::Approval, carried[0].to_value());
            record
                .map_mut()
                .insert("commit".to_owned(), two.to_string().into());
            record.map_mut().insert(key.to_owned(), value.into());
            notes::append(&worktree, two, &[record]).unwrap();
            assert_eq!(of_commit(&worktree, two).unwrap(), None, "{key}");
        }
    }

    #[test]
    fn the_text_of_a_plan_is_kept_and_is_what_was_approved() {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "one"]);
        let worktree = repo.worktree();
        let one = worktree.head().unwrap().unwrap();
        let digest = "d".repeat(64);
        give(
            &worktree,
            What::Plan("first this\n"),
            one,
            Some(&digest),
            "A <a@x>",
        )
        .unwrap();
        let plan = || newest(&worktree, one, |record| record.str("what") == "plan");
        let mut approval = plan().unwrap().unwrap();
        repo.git(["gc", "-q", "--prune=now"]);
        let text = |approval: &Approval| text_of_plan(&repo.worktree(), approval);
        assert_eq!(text(&approval).as_deref(), Some("first this\n"));
        approval.plan = Some("e".repeat(64));
        assert_eq!(text(&approval), None);
    }
}
