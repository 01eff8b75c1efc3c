//! What the ledger remembers of dispatches: several records with one id, the later ones over the earlier. It judges nothing, and a record is
//! believed as far as this machine can see it: is the worktree there, does somebody still work in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Map, Value};

use crate::gate::Lock;
use crate::git::{Oid, Worktree};
use crate::ledger::{Kind, Record, notes};
use crate::process::Holder;

/// How far a dispatch has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Claimed; there is no worktree yet.
    Started,
    /// Its worktree and branch are there; the cycle runs, or whoever ran it died.
    Running,
    Done,
    /// A check said no, or it was refused.
    Failed,
    /// A person must step in.
    Held,
    /// A budget is spent.
    Budget,
    /// Somebody killed the worker.
    Killed,
    /// Told to stop.
    Interrupted,
}

impl State {
    const ALL: [Self; 8] = [
        Self::Started,
        Self::Running,
        Self::Done,
        Self::Failed,
        Self::Held,
        Self::Budget,
        Self::Killed,
        Self::Interrupted,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Held => "held",
            Self::Budget => "budget",
            Self::Killed => "killed",
            Self::Interrupted => "interrupted",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Has nobody said yet how it ended?
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Self::Started | Self::Running)
    }
}

/// One dispatch, as all its records together say.
#[derive(Clone, Debug)]
pub(crate) struct Dispatch {
    pub id: String,
    pub task: String,
    /// When it began, UTC.
    pub at: String,
    /// `None` for a state of a newer version.
    pub state: Option<State>,
    /// The branch, short; empty before it is made.
    pub branch: String,
    /// Where it works; `None` before that is there, and for a record that does not say. Not assessed then.
    pub worktree: Option<PathBuf>,
    /// The path is recorded, and no worktree is there. Not assessed then either.
    pub gone: bool,
    /// The branch that it was cut from.
    pub base_branch: Option<String>,
    /// The commit that it was cut from, on which its records hang.
    pub base: Oid,
    /// Digest of its contract.
    pub contract: Option<String>,
    /// SHA-256 of the plan that a person approved for it.
    pub plan: Option<String>,
    /// Somebody works on it now, as far as this machine knows.
    pub alive: bool,
    /// It was begun on this machine.
    pub here: bool,
    /// All fields, unknown ones too.
    pub fields: Map<String, Value>,
}

impl Dispatch {
    /// A text field; empty where it is none.
    pub(crate) fn str(&self, key: &str) -> &str {
        self.fields
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The state in words: a worker that died without a word is `dead`.
    pub(crate) fn word(&self) -> &str {
        match self.state {
            Some(state) if state.is_open() && !self.alive && self.here => "dead",
            _ => self.str("state"),
        }
    }
}

/// Appends to the ledger what is new of the dispatch `id`.
pub(crate) fn append(worktree: &Worktree, base: Oid, id: &str, fields: Value) -> Result<()> {
    let record = Record::with_id(Kind::Dispatch, id.to_owned(), fields);
    notes::append(worktree, base, &[record])
}

/// All dispatches that the ledger knows, oldest first.
pub(crate) fn all(worktree: &Worktree) -> Result<Vec<Dispatch>> {
    of(worktree, &notes::deciding(worktree)?)
}

/// [`all`], where `notes::deciding` is read already.
pub(crate) fn of(worktree: &Worktree, records: &[(Oid, Record)]) -> Result<Vec<Dispatch>> {
    let mut merged: BTreeMap<String, (Oid, String, Map<String, Value>)> = BTreeMap::new();
    for (on, record) in records {
        if !record.is(Kind::Dispatch) {
            continue;
        }
        let Value::Object(fields) = record.to_value() else {
            continue;
        };
        let new = || (*on, record.at().to_owned(), Map::new());
        let known = merged.entry(record.id().to_owned()).or_insert_with(new);
        known.2.extend(fields);
    }
    let mut found: Vec<Dispatch> = merged
        .into_iter()
        .map(|(id, (on, at, fields))| about(worktree, id, on, at, fields))
        .collect::<Result<_>>()?;
    found.sort_by(|a, b| a.at.cmp(&b.at));
    Ok(found)
}

fn about(
    worktree: &Worktree,
    id: String,
    on: Oid,
    at: String,
    fields: Map<String, Value>,
) -> Result<Dispatch> {
    let text = |key: &str| {
        let text = fields.get(key).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let path = text("worktree").map(PathBuf::from);
    let there = path.as_deref().and_then(|path| at_path(worktree, path));
    let state = text("state").and_then(|name| State::parse(&name));
    let holder: Option<Holder> = fields
        .get("holder")
        .and_then(|holder| serde_json::from_value(holder.clone()).ok());
    let is_open = state.is_some_and(State::is_open);
    let alive = is_open
        && (holder.as_ref().is_some_and(Holder::still_runs)
            || there
                .as_ref()
                .is_some_and(|there| Lock::holder(there).is_some()));
    Ok(Dispatch {
        task: match fields.get("task") {
            Some(Value::Object(link)) => long(worktree, link)?,
            _ => text("task").unwrap_or_default(),
        },
        id,
        at,
        state,
        branch: text("branch").unwrap_or_default(),
        gone: path.is_some() && there.is_none(),
        worktree: path,
        base_branch: text("base_branch"),
        base: on,
        contract: text("contract"),
        plan: text("plan"),
        alive,
        here: holder.as_ref().is_some_and(Holder::is_here),
        fields,
    })
}

/// The worktree at `path`, where that is one of this repository.
pub(crate) fn at_path(worktree: &Worktree, path: &Path) -> Option<Worktree> {
    let there = Worktree::discover(path).ok()?;
    let same = there.common_dir() == worktree.common_dir();
    let root = path.canonicalize().ok()?;
    (same && there.root() == root).then_some(there)
}

/// A value that was too long for a line.
fn long(worktree: &Worktree, link: &Map<String, Value>) -> Result<String> {
    let blob = link.get("blob").and_then(Value::as_str).unwrap_or_default();
    let Ok(blob) = Oid::from_hex(blob.as_bytes()) else {
        return Ok(String::new());
    };
    let bytes = notes::stored(worktree, blob)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::git::fixture::Repo;

    #[test]
    fn later_records_lie_over_earlier_ones_and_what_is_unknown_stays() {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "start"]);
        let worktree = repo.worktree();
        let head = worktree.head().unwrap().unwrap();
        let put = |id: &str, fields: Value| append(&worktree, head, id, fields).unwrap();
        let mut dead = serde_json::to_value(Holder::me()).unwrap();
        dead["start_time"] = 1.into();
        put(
            "a",
            json!({"state": "started", "task": "one", "holder": dead, "odd": 7}),
        );
        put(
            "b",
            json!({"state": "started", "task": "two", "holder": Holder::me()}),
        );
        put(
            "c",
            json!({"state": "running", "task": "x".repeat(70_000), "worktree": "/nowhere/x"}),
        );
        put(
            "a",
            json!({"state": "running", "worktree": repo.root(), "branch": "arkaint/one"}),
        );
        let all = all(&worktree).unwrap();
        let [a, b, c] = all.as_slice() else {
            panic!("{all:?}")
        };
        assert_eq!(
            (a.task.as_str(), a.branch.as_str(), a.state),
            ("one", "arkaint/one", Some(State::Running))
        );
        assert_eq!(a.worktree.as_deref(), Some(repo.root()));
        assert_eq!((a.gone, a.alive, a.word()), (false, false, "dead"));
        assert_eq!((a.fields["odd"].as_i64(), a.base), (Some(7), head));
        assert_eq!((b.worktree.is_none(), b.gone, b.alive), (true, false, true));
        assert_eq!((c.gone, c.alive, c.here), (true, false, false));
        assert_eq!((c.task.len(), c.word()), (70_000, "running"));
        put("a", json!({"state": "in-orbit", "plan": "f00"}));
        assert_eq!(
            super::all(&worktree).unwrap()[0].plan.as_deref(),
            Some("f00")
        );
        assert_eq!(super::all(&worktree).unwrap()[0].state, None);
    }

    #[test]
    fn a_folder_that_is_no_worktree_of_ours_is_a_worktree_that_is_gone() {
        let (repo, other) = (Repo::new(), Repo::new());
        let worktree = repo.worktree();
        assert!(at_path(&worktree, repo.root()).is_some());
        std::fs::create_dir(repo.root().join("below")).unwrap();
        assert!(at_path(&worktree, &repo.root().join("below")).is_none());
        assert!(at_path(&worktree, other.root()).is_none());
    }
}
