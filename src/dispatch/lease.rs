//! One claim a task: a ref that whoever is first may move. The claims of a task are a chain of commits, one document each, never deleted: a release
//! moves it forward too, so that no guard of a run beside us takes it for a lost ref. It starts nothing.

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::exit::{Exit, Refusal};
use crate::git::forward::Step;
use crate::git::{Oid, Worktree};
use crate::ledger::record;
use crate::process::Holder;
use crate::secret;
use crate::text;

/// Where the claims are, one ref a task.
const REFS: &str = "refs/arkaint/leases/";
const FILE: &str = "lease.json";
const VERSION: u64 = 1;

/// What the newest commit of a lease says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Document {
    v: u64,
    /// The dispatch that claims the task.
    id: String,
    task: String,
    holder: Holder,
    /// Since when, UTC.
    at: String,
    /// Given back, by whoever held it.
    released: bool,
}

/// How much a claim may take from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// Nothing.
    Nobody,
    /// A claim whose holder is dead: it ran on this machine, and does not any more.
    Dead,
    /// Also one of another machine, on the word of a person that nobody works there.
    Anybody,
}

/// A task that is ours until [`Claim::release`].
#[derive(Debug)]
pub(crate) struct Claim {
    name: String,
    tip: Oid,
    document: Document,
    /// The dispatch that it was taken from.
    pub from: Option<String>,
}

/// The name of a task's claim: the same for texts that differ in white space alone.
pub(crate) fn key(task: &str) -> String {
    let words: Vec<&str> = task.split_whitespace().collect();
    let digest = Sha256::digest(words.join(" ").as_bytes());
    text::hex(&digest)[..40].to_owned()
}

/// Claims `task` for the dispatch `id` of this process.
///
/// # Errors
/// A [`Refusal`] with exit 4 that says who holds it.
pub(crate) fn claim(worktree: &Worktree, task: &str, id: &str, over: Over) -> Result<Claim> {
    let name = format!("{REFS}{}", key(task));
    let document = Document {
        v: VERSION,
        id: id.to_owned(),
        task: secret::redact(&text::ellipsis(task.trim(), 1000)).into_owned(),
        holder: Holder::me(),
        at: record::now(),
        released: false,
    };
    loop {
        let before = read(worktree, &name)?;
        if let Some((_, held)) = &before {
            may_take(held, over)?;
        }
        let from = before.as_ref().filter(|(_, held)| !held.released);
        let from = from.map(|(_, held)| held.id.clone());
        match step(worktree, &name, before.map(|(tip, _)| tip), &document)? {
            Step::Taken(tip) => {
                return Ok(Claim {
                    name,
                    tip,
                    document,
                    from: from.filter(|from| from != id),
                });
            }
            // Whoever was first is asked in the next round.
            Step::Lost => {}
        }
    }
}

/// Who holds the claim on `task`, in words; `None` when it is free.
pub(crate) fn held(worktree: &Worktree, task: &str) -> Result<Option<String>> {
    let found = read(worktree, &format!("{REFS}{}", key(task)))?;
    Ok(found
        .filter(|(_, document)| !document.released)
        .map(|(_, document)| document.who()))
}

/// Gives back the claim of the dispatch `id`, whose holder is dead; any other is left alone.
pub(crate) fn free_dead(worktree: &Worktree, task: &str, id: &str) -> Result<()> {
    let name = format!("{REFS}{}", key(task));
    let Some((tip, document)) = read(worktree, &name)? else {
        return Ok(());
    };
    let dead = document.holder.is_here() && !document.holder.still_runs();
    if document.released || document.id != id || !dead {
        return Ok(());
    }
    let claim = Claim {
        name,
        tip,
        document,
        from: None,
    };
    claim.release(worktree)
}

impl Claim {
    /// Gives it back, unless somebody has taken it over.
    pub(crate) fn release(self, worktree: &Worktree) -> Result<()> {
        let document = Document {
            released: true,
            at: record::now(),
            ..self.document
        };
        step(worktree, &self.name, Some(self.tip), &document).map(drop)
    }
}

impl Document {
    fn who(&self) -> String {
        let pid = self.holder.process.pid;
        format!(
            "dispatch {} (process {pid} on {}) since {}",
            self.id, self.holder.host, self.at
        )
    }
}

fn may_take(held: &Document, over: Over) -> Result<()> {
    if held.released {
        return Ok(());
    }
    let task = text::ellipsis(&text::visible_line(&held.task), 60);
    let (state, hint) = match (held.holder.is_here(), held.holder.still_runs()) {
        (true, true) => (
            "holds the task",
            "wait for it: git arkaint log --kind dispatch",
        ),
        (true, false) if over == Over::Nobody => (
            "died and still holds the task",
            "go on where it was: git arkaint dispatch --resume; start anew: git arkaint dispatch --steal TASK",
        ),
        (false, _) if over != Over::Anybody => (
            "of another machine holds the task",
            "when you know that nobody works there: git arkaint dispatch --steal TASK",
        ),
        _ => return Ok(()),
    };
    let cause = format!("{} {state}: {task}", held.who());
    Err(Refusal::with_exit(Exit::Locked, cause, hint).into())
}

fn read(worktree: &Worktree, name: &str) -> Result<Option<(Oid, Document)>> {
    let Some((tip, bytes)) = worktree.newest_document(name, FILE)? else {
        return Ok(None);
    };
    let document = serde_json::from_slice(&bytes)
        .with_context(|| format!("reading {name}: its {FILE} is not what a lease holds"))?;
    Ok(Some((tip, document)))
}

fn step(worktree: &Worktree, name: &str, before: Option<Oid>, document: &Document) -> Result<Step> {
    let bytes = serde_json::to_vec(document).context("rendering a lease")?;
    let what = if document.released {
        "released"
    } else {
        "taken"
    };
    let message = format!("arkaint: lease {what} by {}", document.id);
    worktree.advance_document(name, before, FILE, &bytes, &message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::Repo;

    fn start() -> (Repo, Worktree) {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "start"]);
        let worktree = repo.worktree();
        (repo, worktree)
    }

    fn refused(worktree: &Worktree, over: Over) -> String {
        let error = claim(worktree, "do it", "b", over).unwrap_err();
        let refusal = error.downcast::<Refusal>().unwrap();
        assert_eq!(refusal.exit, Exit::Locked);
        refusal.cause
    }

    #[test]
    fn a_claim_holds_until_it_is_given_back_and_white_space_makes_no_other_task() {
        let (repo, worktree) = start();
        let ours = claim(&worktree, " do\n it ", "a", Over::Nobody).unwrap();
        for over in [Over::Nobody, Over::Dead, Over::Anybody] {
            let cause = refused(&worktree, over);
            assert!(
                cause.starts_with("dispatch a (process ")
                    && cause.contains("holds the task: do  it"),
                "{cause}"
            );
        }
        claim(&worktree, "do it too", "c", Over::Nobody).unwrap();
        assert!(held(&worktree, "do it").unwrap().is_some());
        ours.release(&worktree).unwrap();
        assert_eq!(held(&worktree, "do it").unwrap(), None);
        claim(&worktree, "do it", "b", Over::Nobody).unwrap();
        // Nothing was deleted or rewritten: three steps of one chain.
        let name = format!("{REFS}{}", key("do it"));
        assert_eq!(repo.git(["rev-list", "--count", &name]), b"3\n");
    }

    /// As if `change` had been true of whoever took it.
    fn taken_by(worktree: &Worktree, change: impl Fn(&mut Document)) {
        let ours = claim(worktree, "do it", "a", Over::Nobody).unwrap();
        let mut document = ours.document.clone();
        change(&mut document);
        step(worktree, &ours.name, Some(ours.tip), &document).unwrap();
        // A release of one that was taken over does nothing.
        ours.release(worktree).unwrap();
    }

    #[test]
    fn a_dead_holder_is_succeeded_on_a_persons_word_alone() {
        let (_repo, worktree) = start();
        taken_by(&worktree, |document| {
            document.holder.process.start_time += 1;
        });
        assert!(refused(&worktree, Over::Nobody).contains("died and still holds"));
        let claim = claim(&worktree, "do it", "b", Over::Dead).unwrap();
        assert_eq!(claim.from.as_deref(), Some("a"));
    }

    #[test]
    fn a_holder_elsewhere_is_not_called_dead() {
        let (_repo, worktree) = start();
        taken_by(&worktree, |document| {
            document.holder.host = "elsewhere".to_owned();
            document.holder.process.boot = "other".to_owned();
        });
        for over in [Over::Nobody, Over::Dead] {
            assert!(refused(&worktree, over).contains("of another machine"));
        }
        claim(&worktree, "do it", "b", Over::Anybody).unwrap();
    }
}
