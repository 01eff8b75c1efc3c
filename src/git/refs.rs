//! The commits and refs that are written here, not by git: each ref by compare-and-swap, one at a time. What they mean, and when, is for
//! others to say.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, bail};
use gix::error::Class;
use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit, RefLog};

use super::{Oid, ref_turn};

/// A ref that could not be moved now: it is not where it was expected, or somebody holds its lock. After no other error it is worth looking again.
#[derive(Debug)]
pub(crate) struct Contended(pub(super) String);

impl std::fmt::Display for Contended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "moving {}", self.0)
    }
}

/// Moves one direct ref if it still is what was expected.
///
/// # Errors
/// A [`Contended`] where another writer was faster or is at it.
pub(crate) fn move_ref(
    repo: &gix::Repository,
    name: &str,
    to: Oid,
    expected: PreviousValue,
    why: &str,
) -> Result<()> {
    let edit = RefEdit {
        change: Change::Update {
            log: LogChange {
                mode: RefLog::AndReference,
                force_create_reflog: false,
                message: why.into(),
            },
            expected,
            new: gix::refs::Target::Object(to),
        },
        name: name
            .try_into()
            .with_context(|| format!("{name} is no ref name"))?,
        deref: false,
    };
    let mut repo = repo.clone();
    repo.committer_or_set_fallback(ARKAINT.0, ARKAINT.1)
        .context("reading the identity")?;
    let _turn = ref_turn::take(repo.common_dir(), name, Some(to))?;
    repo.edit_reference(edit).map(drop).map_err(|error| {
        // Not found: removed meanwhile, or packed between two looks.
        let contended = error.classify().any(|found| {
            matches!(
                found.class(),
                Class::Conflict | Class::Retryable | Class::NotFound
            )
        });
        let error = anyhow::Error::new(error);
        if contended {
            error.context(Contended(name.to_owned()))
        } else {
            error.context(format!("moving {name}"))
        }
    })
}

/// Makes a commit that gix wrote, and the ref that holds it, last through a power cut: gix leaves both to the kernel.
///
/// # Errors
/// When they cannot be synced: nothing may be thrown away on their strength then.
pub(crate) fn make_durable(repo: &gix::Repository, commit: Oid, name: &str) -> Result<()> {
    let common = repo.common_dir();
    let loose = |id: Oid| {
        let id = id.to_string();
        let (fan, rest) = id.split_at(2);
        common.join("objects").join(fan).join(rest)
    };
    let tree = loose(repo.find_commit(commit)?.tree_id()?.detach());
    // False where there is none.
    let sync = |path: &Path| match File::open(path).and_then(|open| open.sync_all()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("syncing {}", path.display())),
    };
    // The root tree is ours where a folder of ours was taken out of it; one that was there before may be packed.
    for file in [loose(commit), tree, common.join(name)] {
        if sync(&file)? {
            // A folder that was just made is an entry of the one above.
            for folder in file.ancestors().skip(1).take(2) {
                sync(folder)?;
            }
        }
    }
    // Another git may pack all of it at any moment: packs it syncs itself, packed refs only if it is told to.
    if !common.join(name).exists() {
        sync(&common.join("packed-refs"))?;
        sync(common)?;
        let found = super::find_ref(repo, name)?;
        if found.is_none_or(|found| found.target().try_id() != Some(&commit)) {
            bail!("{name} was taken away");
        }
    }
    Ok(())
}

/// Removes one direct ref if it still is at `was`.
pub(crate) fn remove_ref(repo: &gix::Repository, name: &str, was: Oid) -> Result<()> {
    let edit = RefEdit {
        change: Change::Delete {
            expected: PreviousValue::MustExistAndMatch(was.into()),
            log: RefLog::AndReference,
        },
        name: name
            .try_into()
            .with_context(|| format!("{name} is no ref name"))?,
        deref: false,
    };
    let _turn = ref_turn::take(repo.common_dir(), name, None)?;
    repo.edit_reference(edit)
        .with_context(|| format!("removing {name}"))?;
    Ok(())
}

/// The identity of commits that are nobody's work: archives.
const ARKAINT: (&str, &str) = ("Arkaint", "arkaint@localhost");

/// A commit by Arkaint itself at the present time. Writes no ref.
pub(crate) fn commit_as_arkaint(
    repo: &gix::Repository,
    message: &str,
    tree: Oid,
    parents: &[Oid],
) -> Result<Oid> {
    let stamp = gix::date::Time::now_utc().to_string();
    let who = gix::actor::SignatureRef {
        name: ARKAINT.0.into(),
        email: ARKAINT.1.into(),
        time: &stamp,
    };
    super::written(|| {
        Ok(repo
            .new_commit_as(who, who, message, tree, parents.iter().copied())?
            .id)
    })
}

/// A commit by the user (or by Arkaint, where nobody is configured) at the present time: gix keeps the time of when the repository was
/// opened. Writes no ref.
pub(crate) fn commit_as_user(
    repo: &gix::Repository,
    message: &str,
    tree: Oid,
    parents: &[Oid],
) -> Result<Oid> {
    let mut repo = repo.clone();
    let stamp = gix::date::Time::now_utc().to_string();
    let who = repo.committer_or_set_fallback(ARKAINT.0, ARKAINT.1)?;
    let (name, email) = (who.name.to_owned(), who.email.to_owned());
    let who = gix::actor::SignatureRef {
        name: name.as_ref(),
        email: email.as_ref(),
        time: &stamp,
    };
    super::written(|| {
        Ok(repo
            .new_commit_as(who, who, message, tree, parents.iter().copied())?
            .id)
    })
}
