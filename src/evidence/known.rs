//! What the ledger and the base know of the bytes of one file, looked up once for all of its entries. It grades nothing.

use super::freshness::Sealed;
use super::standing::Subject;
use super::{artifact::Artifact, seal, verify};
use crate::git::Oid;

/// One file's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub sha256: String,
    /// The seals of these bytes.
    pub seals: Vec<Sealed>,
    /// The trees under which they were seen, oldest first.
    pub seen: Vec<Oid>,
    /// A tracked file of the base has them.
    pub inherited: bool,
}

impl Known {
    /// None for a file that cannot be read: it has no entries.
    pub(crate) fn of<T>(
        subject: &Subject<'_>,
        artifact: &Artifact<T>,
        dod_path: &str,
    ) -> Option<Self> {
        let Artifact::Good(good) = artifact else {
            return None;
        };
        let seals = seal::seals(subject.records).into_iter();
        let seals = seals
            .filter(|seal| seal.sha256 == good.sha256)
            .map(|seal| Sealed {
                tree: seal.tree,
                contract: seal.contract,
                answers: seal.outcomes,
                claim: seal.run.is_some(),
            });
        let inherited = subject.base.is_some_and(|base| {
            [verify::PATH, dod_path].iter().any(|path| {
                let there = subject.worktree.blob_at(base, path);
                matches!(there, Ok(Some(there)) if there == good.bytes)
            })
        });
        Some(Self {
            seals: seals.collect(),
            seen: seal::first_seen(subject.records, &good.sha256),
            inherited,
            sha256: good.sha256.clone(),
        })
    }
}
