//! How firmly a proof is bound to the delivered tree. Pure: what the repository, the worktree and the ledger say is handed in, and a grade
//! comes out. Identity is the tree: amending, rewording, squashing or rebasing to an equal one keeps every grade.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::artifact::Good;
use super::dod::{Dod, List, Proof};
use super::grade::{Grade, Stale};
use super::verify::{Outcome, Stamp, Verify};
use crate::git::Oid;

/// A clock may be ahead by this.
const AHEAD: Duration = Duration::from_secs(5 * 60);
/// A file may be newer than the proof by this: file systems and writers round.
const ROUNDING: Duration = Duration::from_secs(1);

/// What a full-length id leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Short,
    Unknown,
    Known(Oid),
}

/// What can be said of the worktree that the files lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It holds the delivered tree; the newest modification time among the files that the delivery changed (`None`: it changed no file that
    /// is there).
    Same(Option<SystemTime>),
    /// It holds changes that are not delivered.
    Dirty,
    /// It is somewhere else, or was never seen.
    Elsewhere,
}

/// A seal of the ledger for the bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub tree: Oid,
    pub contract: Option<String>,
    /// The ids that the seal answers for.
    pub answers: Vec<String>,
    /// It was written from inside a run, where an agent could have written it too.
    pub claim: bool,
}

/// What the ledger and the base know of the bytes of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub seals: Vec<Sealed>,
    /// The trees under which they were seen, oldest first.
    pub seen: Vec<Oid>,
    /// A tracked file of the base has them.
    pub inherited: bool,
}

/// All that a grade depends on besides the file itself.
pub(crate) struct Facts<'a> {
    /// The delivered tree.
    pub tree: Oid,
    /// The commit time of the newest delivered commit that changes the tree; `None` where nothing is committed yet.
    pub changed_at: Option<SystemTime>,
    pub place: Place,
    pub now: SystemTime,
    /// Digest of the contract that the work is judged by.
    pub contract: Option<&'a str>,
    /// What the head and the tree of the stamp lead to; none where `verify.json` has no stamp.
    pub stamp: Option<[Named; 2]>,
}

impl Facts<'_> {
    /// The grade of one outcome of `verify.json`.
    pub(crate) fn outcome(&self, file: &Good<Verify>, known: &Known, outcome: &Outcome) -> Grade {
        if let Some(grade) = self.by_its_bytes(known, Some(&outcome.id)) {
            return grade;
        }
        if let (Some(stamp), Some(named)) = (&file.value.stamp, self.stamp) {
            return self.declared(stamp, named);
        }
        self.dated(file.value.ran_at.as_deref(), file.mtime)
    }

    /// The grade of one entry of `dod.json`: by its own time, else the file's.
    pub(crate) fn proof(
        &self,
        file: &Good<Dod>,
        known: &Known,
        list: List,
        proof: &Proof,
    ) -> Grade {
        // In this file the recorder writes the project's items alone: an outcome of the same id is another's word.
        let id = (list == List::Project).then_some(proof.id.as_str());
        if let Some(grade) = self.by_its_bytes(known, id) {
            return grade;
        }
        self.dated(proof.at.as_deref(), file.mtime)
    }

    /// What the bytes alone tell of an entry; `id` is what a seal would answer for it by, if one could.
    fn by_its_bytes(&self, known: &Known, id: Option<&str>) -> Option<Grade> {
        if known.inherited {
            return Some(Grade::Stale(Stale::Inherited));
        }
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            known.seals.iter().partition(|seal| seal.tree == self.tree);
        if here.is_empty() && !elsewhere.is_empty() {
            return Some(Grade::Stale(Stale::OtherTree));
        }
        // What else stands in the file is as good as its writer.
        let answering = here.into_iter().filter(|seal| {
            seal.answers
                .iter()
                .any(|answer| Some(answer.as_str()) == id)
        });
        let graded = answering.map(|seal| match (&seal.contract, self.contract) {
            (Some(theirs), Some(ours)) if theirs != ours => Grade::Stale(Stale::WrongContract),
            _ if seal.claim => Grade::Declared,
            _ => Grade::Sealed,
        });
        if let Some(best) = graded.min_by_key(|grade| match grade {
            Grade::Sealed => 0,
            Grade::Declared => 1,
            _ => 2,
        }) {
            return Some(best);
        }
        // Being judged here since has not made them ours.
        let first = known.seen.first();
        first
            .is_some_and(|first| *first != self.tree)
            .then_some(Grade::Stale(Stale::Replayed))
    }

    fn declared(&self, stamp: &Stamp, named: [Named; 2]) -> Grade {
        for id in named {
            match id {
                Named::Short => return Grade::Stale(Stale::ShortId),
                Named::Unknown => return Grade::Stale(Stale::UnknownCommit),
                Named::Known(_) => {}
            }
        }
        if named[1] != Named::Known(self.tree) {
            return Grade::Stale(Stale::OtherTree);
        }
        match (&stamp.contract, self.contract) {
            (Some(theirs), Some(ours)) if theirs != ours => Grade::Stale(Stale::WrongContract),
            _ => Grade::Declared,
        }
    }

    fn dated(&self, told: Option<&str>, mtime: Option<SystemTime>) -> Grade {
        let Some(at) = told.and_then(time).or(mtime) else {
            return Grade::Stale(Stale::Older);
        };
        if at > self.now + AHEAD {
            return Grade::Stale(Stale::FutureClock);
        }
        if self.changed_at.is_some_and(|changed| at >= changed) {
            return Grade::Dated;
        }
        match self.place {
            // Tested, then committed.
            Place::Same(newest) if newest.is_none_or(|newest| newest <= at + ROUNDING) => {
                Grade::Dated
            }
            Place::Dirty => Grade::Stale(Stale::Dirty),
            Place::Same(_) | Place::Elsewhere => Grade::Stale(Stale::Older),
        }
    }
}

/// A time by RFC 3339, as a writer may have put it.
pub(crate) fn time(text: &str) -> Option<SystemTime> {
    let time = text.trim().parse::<Timestamp>().ok()?;
    SystemTime::try_from(time).ok()
}

/// What to say of a time that is no time: the file's own counts instead.
pub(crate) fn undated(field: &str, told: Option<&str>) -> Option<String> {
    let told = told.filter(|told| time(told).is_none())?;
    let shown = crate::text::ellipsis(&crate::text::visible_line(told), 40);
    Some(format!(
        "{field} {shown:?} is no time by RFC 3339: the file's own time counts"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::verify;
    use crate::evidence::{artifact::Artifact, dod};

    const HEAD: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const TREE: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    const OTHER: &str = "cccccccccccccccccccccccccccccccccccccccc";

    fn oid(hex: &str) -> Oid {
        Oid::from_hex(hex.as_bytes()).unwrap()
    }

    fn at(second: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + second)
    }

    /// What a case has otherwise than the rest: the delivery was committed at 100, the worktree holds it, its newest file is of 90, now is 200.
    struct World {
        changed_at: Option<SystemTime>,
        place: Place,
        contract: Option<&'static str>,
        known: Known,
    }

    impl Default for World {
        fn default() -> Self {
            Self {
                changed_at: Some(at(100)),
                place: Place::Same(Some(at(90))),
                contract: None,
                known: Known::default(),
            }
        }
    }

    impl World {
        fn facts(&self, stamp: Option<&Stamp>) -> Facts<'_> {
            let named = |id: &String| match id.as_str() {
                HEAD | TREE | OTHER => Named::Known(oid(id)),
                id if id.len() == 40 => Named::Unknown,
                _ => Named::Short,
            };
            Facts {
                tree: oid(TREE),
                changed_at: self.changed_at,
                place: self.place,
                now: at(200),
                contract: self.contract,
                stamp: stamp.map(|stamp| [&stamp.head, &stamp.tree].map(named)),
            }
        }

        fn verify(&self, members: &str, mtime: Option<SystemTime>) -> String {
            let comma = if members.is_empty() { "" } else { "," };
            let text =
                format!(r#"{{{members}{comma}"outcomes":[{{"id":"o1","status":"passed"}}]}}"#);
            let Artifact::Good(good) = Artifact::of(text.into_bytes(), mtime, verify::judge) else {
                panic!("the case is no verify.json");
            };
            let facts = self.facts(good.value.stamp.as_ref());
            let outcome = &good.value.outcomes[0];
            facts.outcome(&good, &self.known, outcome).to_string()
        }

        /// The grades of both lists, the project's first.
        fn dod(&self, text: String) -> Vec<String> {
            let artifact = Artifact::of(text.into_bytes(), Some(at(120)), dod::judge);
            let Artifact::Good(good) = artifact else {
                panic!("the case is no dod.json");
            };
            let facts = self.facts(None);
            let of = |list| {
                let proofs = good.value.list(list).iter();
                let grade = |proof| facts.proof(&good, &self.known, list, proof).to_string();
                proofs.map(grade).collect::<Vec<_>>()
            };
            [List::Project, List::Issue].map(of).concat()
        }
    }

    fn ran(second: u64) -> String {
        format!("\"ranAt\":\"{}\"", Timestamp::try_from(at(second)).unwrap())
    }

    fn stamp(head: &str, tree: &str, contract: &str) -> String {
        let contract = if contract.is_empty() {
            String::new()
        } else {
            format!(",\"contract\":\"{contract}\"")
        };
        format!("\"arkaint\":{{\"v\":1,\"head\":\"{head}\",\"tree\":\"{tree}\"{contract}}}")
    }

    #[test]
    fn a_time_is_weighed_against_the_commit_and_the_files() {
        let clean = |newest| World {
            place: Place::Same(newest),
            ..World::default()
        };
        let dirty = World {
            place: Place::Dirty,
            ..World::default()
        };
        let away = World {
            place: Place::Elsewhere,
            ..World::default()
        };
        let uncommitted = World {
            changed_at: None,
            ..World::default()
        };
        for (world, second, grade) in [
            // At or after the last change.
            (&away, 100, "dated"),
            (&away, 150, "dated"),
            (&away, 99, "stale (older)"),
            (&dirty, 100, "dated"),
            (&dirty, 99, "stale (dirty)"),
            // Tested, then committed.
            (&clean(Some(at(90))), 95, "dated"),
            (&clean(Some(at(90))), 89, "dated"),
            (&clean(Some(at(90))), 88, "stale (older)"),
            (&clean(None), 1, "dated"),
            (&uncommitted, 90, "dated"),
            (&uncommitted, 80, "stale (older)"),
            // A clock may be ahead by five minutes.
            (&away, 500, "dated"),
            (&away, 501, "stale (future-clock)"),
        ] {
            assert_eq!(world.verify(&ran(second), None), grade, "at {second}");
        }
    }

    #[test]
    fn what_is_no_time_leaves_the_files_own() {
        let world = World::default();
        for (members, mtime, grade) in [
            ("", Some(at(150)), "dated"),
            ("", Some(at(50)), "stale (older)"),
            ("", None, "stale (older)"),
            ("\"ranAt\":\"yesterday\"", Some(at(150)), "dated"),
            ("\"ranAt\":\"\"", Some(at(50)), "stale (older)"),
        ] {
            assert_eq!(world.verify(members, mtime), grade, "{members}");
        }
        // Its own time counts before the file's.
        assert_eq!(world.verify(&ran(50), Some(at(150))), "stale (older)");
        assert_eq!(
            undated("ranAt", Some("yesterday")).unwrap(),
            "ranAt \"yesterday\" is no time by RFC 3339: the file's own time counts"
        );
        assert_eq!(undated("ranAt", Some("2026-01-31T12:00:00Z")), None);
        assert_eq!(undated("ranAt", None), None);
    }

    #[test]
    fn ids_are_full_known_and_those_of_the_delivery() {
        let unknown = "d".repeat(40);
        for (head, tree, contract, grade) in [
            (HEAD, TREE, "", "declared"),
            (HEAD, TREE, "k", "declared"),
            (HEAD, TREE, "other", "stale (wrong-contract)"),
            (OTHER, TREE, "", "declared"),
            (HEAD, OTHER, "", "stale (other-tree)"),
            (&unknown, TREE, "", "stale (unknown-commit)"),
            (HEAD, &unknown, "", "stale (unknown-commit)"),
            ("aaaaaaa", TREE, "", "stale (short-id)"),
            (HEAD, "bbbbbbb", "", "stale (short-id)"),
        ] {
            let world = World {
                contract: Some("k"),
                ..World::default()
            };
            // However new it says it is.
            let members = format!("{},{}", ran(150), stamp(head, tree, contract));
            assert_eq!(world.verify(&members, None), grade, "{head} {tree}");
        }
    }

    #[test]
    fn the_ledgers_word_on_the_bytes_comes_first() {
        let seal = |tree: &str, contract: Option<&str>| Sealed {
            tree: oid(tree),
            contract: contract.map(str::to_owned),
            answers: vec!["o1".to_owned()],
            claim: false,
        };
        let for_another = Sealed {
            answers: vec!["o2".to_owned()],
            ..seal(TREE, None)
        };
        let claimed = Sealed {
            claim: true,
            ..seal(TREE, None)
        };
        let of = |world: World| world.verify(&ran(150), None);
        let contract = Some("k");
        for (seals, grade) in [
            (vec![seal(TREE, None)], "sealed"),
            (vec![seal(TREE, Some("k"))], "sealed"),
            (vec![seal(TREE, Some("l"))], "stale (wrong-contract)"),
            (vec![seal(OTHER, Some("k"))], "stale (other-tree)"),
            (vec![seal(OTHER, None), seal(TREE, None)], "sealed"),
            (vec![for_another], "dated"),
            (vec![claimed.clone()], "declared"),
            (vec![claimed, seal(TREE, None)], "sealed"),
        ] {
            let known = Known {
                seals,
                ..Known::default()
            };
            let world = World {
                contract,
                known,
                ..World::default()
            };
            assert_eq!(of(world), grade);
        }
        for (seen, grade) in [
            (vec![oid(OTHER)], "stale (replayed)"),
            (vec![oid(OTHER), oid(TREE)], "stale (replayed)"),
            (vec![oid(TREE), oid(OTHER)], "dated"),
            (vec![oid(TREE)], "dated"),
        ] {
            let known = Known {
                seen,
                ..Known::default()
            };
            let world = World {
                known,
                ..World::default()
            };
            assert_eq!(of(world), grade);
        }
        let known = Known {
            inherited: true,
            seals: vec![seal(TREE, None)],
            seen: Vec::new(),
        };
        let inherited = World {
            known,
            ..World::default()
        };
        assert_eq!(of(inherited), "stale (inherited)");
    }

    #[test]
    fn each_proof_of_the_list_is_graded_alone() {
        let time = |second| Timestamp::try_from(at(second)).unwrap();
        let text = format!(
            r#"{{"outcomes":[{{"id":"new","status":"passed","at":"{}"}},{{"id":"old","status":"passed","at":"{}"}},{{"id":"file","status":"passed"}}]}}"#,
            time(150),
            time(50)
        );
        let grades = World::default().dod(text);
        assert_eq!(grades, ["dated", "stale (older)", "dated"]);
    }

    #[test]
    fn an_outcome_with_the_id_of_an_item_is_not_sealed_with_it() {
        let seal = Sealed {
            tree: oid(TREE),
            contract: None,
            answers: vec!["x".to_owned()],
            claim: false,
        };
        let known = Known {
            seals: vec![seal],
            ..Known::default()
        };
        let world = World {
            known,
            ..World::default()
        };
        let entry = r#"[{"id":"x","status":"passed"}]"#;
        let text = format!(r#"{{"project":{entry},"outcomes":{entry}}}"#);
        assert_eq!(world.dod(text), ["sealed", "dated"]);
    }
}
