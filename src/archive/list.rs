//! What was put away: the archives as a person names them. Reads refs and commits only; which of them go is `retention`'s word.

use anyhow::Result;

use super::REFS;
use crate::exit::Refusal;
use crate::git::{self, Oid, Worktree};

/// One archive.
#[derive(Clone, Debug)]
pub(crate) struct Archive {
    /// `RUN/N`.
    pub id: String,
    pub commit: Oid,
    pub tree: Oid,
    /// The commit that HEAD was at.
    pub base: Option<Oid>,
    /// One line: why it was made.
    pub why: String,
    /// Seconds since 1970.
    pub seconds: i64,
}

/// All archives of the repository, newest first.
pub(crate) fn all(worktree: &Worktree) -> Result<Vec<Archive>> {
    let repo = worktree.repo()?;
    let mut found = Vec::new();
    for reference in git::refs_below(repo, REFS)?.whole()? {
        let Some(commit) = reference.target().try_id().map(gix::oid::to_owned) else {
            continue;
        };
        let name = reference.name().as_bstr().to_string();
        let Ok(object) = repo.find_commit(commit) else {
            continue;
        };
        let decoded = object.decode()?;
        let why = decoded
            .message()
            .body
            .map(|b| String::from_utf8_lossy(b.as_ref()).trim().to_owned())
            .unwrap_or_default();
        found.push(Archive {
            id: name.trim_start_matches(REFS).to_owned(),
            commit,
            tree: decoded.tree(),
            base: decoded.parents().next(),
            why,
            seconds: decoded.time().map_or(0, |t| t.seconds),
        });
    }
    // Commits know seconds only; ids sort by time within one.
    let order = |a: &Archive| {
        let (run, number) = a.id.rsplit_once('/').unwrap_or((&a.id, ""));
        (
            a.seconds,
            run.to_owned(),
            number.parse::<u32>().unwrap_or(0),
        )
    };
    found.sort_by_key(|a| std::cmp::Reverse(order(a)));
    Ok(found)
}

/// The archive that `id` names: `RUN/N`, or `RUN` for the last of a run.
///
/// # Errors
/// A [`Refusal`] when there is none.
pub(crate) fn find(worktree: &Worktree, id: &str) -> Result<Archive> {
    let id = id.trim_start_matches(REFS);
    let all = all(worktree)?;
    let found = all.iter().find(|a| a.id == id).or_else(|| {
        all.iter()
            .find(|a| a.id.rsplit_once('/').is_some_and(|(run, _)| run == id))
    });
    found.cloned().ok_or_else(|| {
        Refusal::new(
            format!("no archive is named {id}"),
            "git arkaint discarded list",
        )
        .into()
    })
}
