//! Refs and HEAD: what was there must still be there. New refs and refs that moved forward are other people's work and pass.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use gix::refs::transaction::PreviousValue;
use serde::{Deserialize, Serialize};

use super::files::keep;
use super::{Broken, Found, Rule};
use crate::git::hardened::{Attributes, Hardened};
use crate::git::{self, Oid, Worktree};

/// Every direct ref of the repository by full name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, Name>", into = "BTreeMap<String, Name>")]
pub(crate) struct Refs(BTreeMap<String, Oid>);

/// An object name as the noted file has it.
#[derive(Clone, Serialize, Deserialize)]
struct Name(#[serde(with = "git::oid_text")] Oid);

impl From<BTreeMap<String, Name>> for Refs {
    fn from(names: BTreeMap<String, Name>) -> Self {
        Self(names.into_iter().map(|(name, id)| (name, id.0)).collect())
    }
}

impl From<Refs> for BTreeMap<String, Name> {
    fn from(refs: Refs) -> Self {
        let all = refs.0.into_iter();
        all.map(|(name, id)| (name, Name(id))).collect()
    }
}

impl Refs {
    /// Reads all refs.
    pub(crate) fn read(worktree: &Worktree) -> Result<Self> {
        let mut all = BTreeMap::new();
        // One that cannot be read is none, and so one that was lost where it was there before.
        for reference in git::refs_below(worktree.repo()?, "refs/")?.refs {
            if let Some(id) = reference.target().try_id() {
                all.insert(reference.name().as_bstr().to_string(), id.to_owned());
            }
        }
        Ok(Self(all))
    }

    /// Leaves out what is no ref's name: a path out of the git directory could be meant. True where there was one.
    pub(super) fn keep_names(&mut self) -> bool {
        let before = self.0.len();
        self.0
            .retain(|name, _| gix::refs::FullName::try_from(name.as_str()).is_ok());
        self.0.len() < before
    }

    pub(super) fn check(
        &self,
        git: &Hardened<'_>,
        branch: &str,
        tip: Oid,
        kept: &Path,
        found: &mut Found,
    ) -> Result<()> {
        let worktree = git.worktree();
        keep_odd(&worktree.common_dir().join("refs"), kept)?;
        let repo = worktree.repo()?;
        let now = Self::read(worktree)?;
        let elsewhere = worktree.branches_of_other_worktrees();
        for (name, was) in &self.0 {
            let is = now.0.get(name).copied();
            if is == Some(*was) || !is_guarded(name) || elsewhere.contains(name) {
                continue;
            }
            if let Some(is) = is {
                if descends(git, is, *was)? {
                    continue;
                }
                found.unreachable.push(is);
            }
            let own = name == branch;
            let standing = match is {
                None => standing(worktree, name)?,
                Some(is) => Standing::At(is),
            };
            let what = match is {
                None => match &standing {
                    Standing::Link(to) => format!("{name} was turned into a link to {to}"),
                    Standing::Garbage => format!("{name} was overwritten"),
                    _ => format!("{name} was deleted"),
                },
                Some(is) => format!(
                    "{name} was moved from {} to {}, which does not descend from it",
                    was.to_hex_with_len(12),
                    is.to_hex_with_len(12)
                ),
            };
            let expected = match standing {
                Standing::At(is) => PreviousValue::MustExistAndMatch(is.into()),
                Standing::Link(_) => PreviousValue::Any,
                Standing::Gone => PreviousValue::MustNotExist,
                Standing::Garbage => {
                    let path = worktree.common_dir().join(name);
                    keep(&path, kept)?;
                    git::state::remove(&path)?;
                    PreviousValue::Any
                }
            };
            if is.is_none() {
                for (other, at) in now.0.iter().filter(|(other, _)| {
                    let (a, b) = (format!("{name}/"), format!("{other}/"));
                    !self.0.contains_key(*other) && (other.starts_with(&a) || name.starts_with(&b))
                }) {
                    // A new ref in the way: no name can be a file and a folder.
                    found.unreachable.push(*at);
                    git::remove_ref(repo, other, *at)?;
                }
            }
            git::move_ref(
                repo,
                name,
                if own { tip } else { *was },
                expected,
                "arkaint: put back",
            )?;
            found.broken.push(Broken {
                rule: if own { Rule::History } else { Rule::Refs },
                what,
            });
        }
        for (name, is) in now
            .0
            .iter()
            .filter(|(name, _)| name.starts_with("refs/replace/") && !self.0.contains_key(*name))
        {
            git::remove_ref(repo, name, *is)?;
            found.unreachable.push(*is);
            found.broken.push(Broken {
                rule: Rule::Refs,
                what: format!("{name} replaces an object; it was removed"),
            });
        }
        Ok(())
    }
}

/// Moves away what is neither a file nor a folder below `refs/`: reading it could wait for ever.
fn keep_odd(folder: &Path, kept: &Path) -> Result<()> {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => keep_odd(&entry.path(), kept)?,
            Ok(kind) if !kind.is_file() && !kind.is_symlink() => keep(&entry.path(), kept)?,
            _ => {}
        }
    }
    Ok(())
}

/// How a ref stands now that was direct.
enum Standing {
    At(Oid),
    /// Writing to it would move the other.
    Link(String),
    Gone,
    /// A file that is no ref.
    Garbage,
}

fn standing(worktree: &Worktree, name: &str) -> Result<Standing> {
    Ok(match git::find_ref(worktree.repo()?, name) {
        Ok(None) => Standing::Gone,
        Err(_) => Standing::Garbage,
        Ok(Some(found)) => match found.target() {
            gix::refs::TargetRef::Object(id) => Standing::At(id.to_owned()),
            gix::refs::TargetRef::Symbolic(to) => Standing::Link(to.as_bstr().to_string()),
        },
    })
}

/// Refs whose loss or rewrite counts. Remote-tracking refs belong to `fetch` (those of the ledger to `sync`), the stash to whoever uses it.
fn is_guarded(name: &str) -> bool {
    let is_tracking = name.starts_with("refs/arkaint/remotes/");
    let counts = [
        "refs/heads/",
        "refs/tags/",
        "refs/arkaint/",
        "refs/notes/",
        "refs/replace/",
    ]
    .iter()
    .any(|p| name.starts_with(p));
    counts && !is_tracking
}

fn descends(git: &Hardened<'_>, commit: Oid, from: Oid) -> Result<bool> {
    let out = git
        .call(Attributes::Raw, ["merge-base", "--is-ancestor"])
        .args([from.to_string(), commit.to_string()])
        .output()?;
    Ok(out.code == Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_fetch_may_rewrite_is_not_guarded() {
        for name in [
            "refs/heads/x",
            "refs/notes/arkaint/ledger",
            "refs/arkaint/discarded/r/1",
            "refs/arkaint/leases/x",
        ] {
            assert!(is_guarded(name), "{name}");
        }
        for name in [
            "refs/remotes/origin/x",
            "refs/arkaint/remotes/origin/notes/ledger",
            "refs/stash",
        ] {
            assert!(!is_guarded(name), "{name}");
        }
    }
}
