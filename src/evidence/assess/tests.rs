mod precedence;

use super::super::grade::Stale;
use super::super::{dod, verify as verify_file};
use super::*;

const OLD: Grade = Grade::Stale(Stale::Older);

/// An assessment in the making; what is not said is absent, dated, and under the default policy.
struct World {
    verify: Artifact<Verify>,
    verify_grade: Grade,
    /// A proof whose `at` is "old" is stale.
    dod: Artifact<Dod>,
    binding: Binding,
    conflicts: Conflicts,
    attested: BTreeSet<String>,
    items: Vec<Item>,
}

fn item(list: List, id: &str) -> Item {
    Item {
        list,
        id: id.to_owned(),
        description: format!("what {id} is about"),
        manual: false,
        decided: None,
    }
}

fn artifact<T>(
    text: &str,
    judge: impl FnOnce(&str) -> super::super::artifact::Judged<T>,
) -> Artifact<T> {
    match text {
        "" => Artifact::Absent,
        text => Artifact::of(text.as_bytes().to_vec(), None, judge),
    }
}

/// A world with the outcome `o1`, from the texts of the two files.
fn world(verify: &str, dod: &str) -> World {
    World {
        verify: artifact(verify, verify_file::judge),
        verify_grade: Grade::Dated,
        dod: artifact(dod, dod::judge),
        binding: Binding::Dated,
        conflicts: Conflicts::Warn,
        attested: BTreeSet::new(),
        items: vec![item(List::Issue, "o1")],
    }
}

impl World {
    fn assess(&self) -> Assessment {
        let grade = |_, proof: &Proof| match proof.at.as_deref() {
            Some("old") => OLD,
            _ => Grade::Dated,
        };
        assess(&Case {
            items: &self.items,
            verify: &self.verify,
            verify_grade: &|_| self.verify_grade,
            dod: &self.dod,
            dod_path: dod::PATH,
            dod_grade: &grade,
            binding: self.binding,
            conflicts: self.conflicts,
            attested: &self.attested,
            head: "abc1234",
        })
    }

    /// The one row.
    #[track_caller]
    fn row(&self) -> Row {
        let mut rows = self.assess().rows;
        assert_eq!(rows.len(), 1);
        rows.remove(0)
    }
}

fn outcome(status: &str, evidence: &str) -> String {
    format!(r#"{{"id":"o1","status":"{status}","evidence":"{evidence}"}}"#)
}

fn verify(exit: &str, outcomes: &str) -> String {
    format!(r#"{{"command":"cargo test",{exit}"outcomes":[{outcomes}]}}"#)
}

fn dod_of(entries: &str) -> String {
    format!(r#"{{"outcomes":[{entries}]}}"#)
}

#[test]
fn the_policy_says_which_grade_counts() {
    let mut world = world(&verify("\"exitCode\":0,", &outcome("passed", "ok")), "");
    for (binding, grade, verdict, source) in [
        (Binding::Off, OLD, Verdict::Proven, "worker · stale (older)"),
        (
            Binding::Dated,
            Grade::Dated,
            Verdict::Proven,
            "worker · dated",
        ),
        (
            Binding::Tree,
            Grade::Dated,
            Verdict::Missing,
            "worker · dated",
        ),
        (
            Binding::Tree,
            Grade::Declared,
            Verdict::Proven,
            "worker · declared",
        ),
        (
            Binding::Tree,
            Grade::Sealed,
            Verdict::Proven,
            "arkaint · sealed",
        ),
        (
            Binding::Rerun,
            Grade::Sealed,
            Verdict::Missing,
            "arkaint · sealed",
        ),
        (
            Binding::Rerun,
            Grade::Rerun,
            Verdict::Proven,
            "arkaint · rerun",
        ),
    ] {
        (world.binding, world.verify_grade) = (binding, grade);
        let row = world.row();
        assert_eq!((row.verdict, row.source.as_str()), (verdict, source));
        assert_eq!(row.grade, Some(grade));
    }
    (world.binding, world.verify_grade) = (Binding::Tree, Grade::Dated);
    assert_eq!(
        world.row().reason,
        "issue/o1 is passed in .ak-loop/verify.json, which does not count (only dated, evidence.binding is tree): prove it again at abc1234"
    );
}

#[test]
fn evidence_is_shown_or_stands_for_the_command() {
    let shown = |exit: &str, outcomes: &str| world(&verify(exit, outcomes), "").row().evidence;
    assert_eq!(shown("", &outcome("passed", "12 passed")), "12 passed");
    assert_eq!(
        shown("\"exitCode\":0,", &outcome("passed", "")),
        "cargo test → exit 0"
    );
    assert_eq!(
        shown("\"exitCode\":1,", &outcome("passed", "")),
        "cargo test → exit 1"
    );
    assert_eq!(shown("", &outcome("failed", "")), "cargo test → failed");
    assert_eq!(shown("", &outcome("passed", "")), "cargo test → passed");
}

#[test]
fn items_are_told_apart_by_list_and_id() {
    let mut world = world(
        &verify(
            "\"exitCode\":0,",
            r#"{"id":"x","status":"passed","evidence":"issue"}"#,
        ),
        r#"{"project":[{"id":"x","status":"failed","evidence":"project"}],
            "outcomes":[{"id":"X","status":"passed"}]}"#,
    );
    world.items = vec![
        item(List::Project, "x"),
        item(List::Issue, "x"),
        item(List::Project, "y"),
    ];
    let assessment = world.assess();
    let rows: Vec<_> = assessment
        .rows
        .iter()
        .map(|row| (row.name(), row.verdict, row.evidence.as_str()))
        .collect();
    assert_eq!(
        rows,
        [
            ("project/x".to_owned(), Verdict::Failed, "project"),
            ("issue/x".to_owned(), Verdict::Proven, "issue"),
            ("project/y".to_owned(), Verdict::Missing, ""),
        ]
    );
    assert_eq!(
        assessment.rows[2].reason,
        "project/y has no proof: prove it in .ak-loop/dod.json"
    );
    assert_eq!(assessment.unmatched, ["issue/X in .ak-loop/dod.json"]);
    // A malformed entry of one list says nothing about the other.
    world.dod = artifact(r#"{"project":[{"id":"x","status":"no"}]}"#, dod::judge);
    let verdicts: Vec<_> = world.assess().rows.iter().map(|row| row.verdict).collect();
    assert_eq!(
        verdicts,
        [Verdict::Missing, Verdict::Proven, Verdict::Missing]
    );
    // verify.json speaks about the outcomes of the issue alone.
    world.items = vec![item(List::Project, "x")];
    world.dod = Artifact::Absent;
    assert_eq!(world.row().verdict, Verdict::Missing);
    assert_eq!(
        world.assess().unmatched,
        ["issue/x in .ak-loop/verify.json"]
    );
}

#[test]
fn what_arkaint_decided_no_worker_changes() {
    for (status, said, verdict, reason) in [
        (
            Status::Failed,
            "passed",
            Verdict::Failed,
            "issue/o1 failed: Arkaint looked itself: fix it",
        ),
        (
            Status::Passed,
            "failed",
            Verdict::Proven,
            "issue/o1 is proven: Arkaint looked itself",
        ),
    ] {
        let mut world = world("", &dod_of(&outcome(said, "my word")));
        world.items[0].decided = Some(Decided {
            status,
            evidence: "no file matches docs/**".to_owned(),
            grade: None,
        });
        let row = world.row();
        assert_eq!((row.verdict, row.reason.as_str()), (verdict, reason));
        assert_eq!(
            (row.evidence.as_str(), row.source.as_str(), row.grade),
            ("no file matches docs/**", "arkaint", None)
        );
    }
}

#[test]
fn only_a_person_proves_a_manual_outcome() {
    use Verdict::{Failed, Held, Proven};
    let green = dod_of(&outcome("passed", "looks good to me"));
    let red = dod_of(&outcome("failed", "the button is gone"));
    let old_red = dod_of(r#"{"id":"o1","status":"failed","evidence":"x","at":"old"}"#);
    for (dod, attested, conflicts, verdict, reason, conflict) in [
        (
            "",
            false,
            Conflicts::Warn,
            Held,
            "waits for a person at abc1234: git arkaint contract attest o1",
            false,
        ),
        (
            &green,
            false,
            Conflicts::Warn,
            Held,
            "waits for a person",
            false,
        ),
        (
            &red,
            false,
            Conflicts::Warn,
            Failed,
            "failed in .ak-loop/dod.json: fix it",
            false,
        ),
        (
            &old_red,
            false,
            Conflicts::Warn,
            Failed,
            "stands until a fresh proof",
            false,
        ),
        (
            "",
            true,
            Conflicts::Warn,
            Proven,
            "is attested at abc1234",
            false,
        ),
        (
            &green,
            true,
            Conflicts::Fail,
            Proven,
            "is attested at abc1234",
            false,
        ),
        (
            &old_red,
            true,
            Conflicts::Fail,
            Proven,
            "is attested at abc1234",
            false,
        ),
        (
            &red,
            true,
            Conflicts::Warn,
            Proven,
            "is attested at abc1234, but failed in .ak-loop/dod.json",
            true,
        ),
        (
            &red,
            true,
            Conflicts::Fail,
            Failed,
            "but failed in .ak-loop/dod.json: fix it",
            true,
        ),
    ] {
        let mut world = world("", dod);
        world.items[0].manual = true;
        world.conflicts = conflicts;
        if attested {
            world.attested.insert("o1".to_owned());
        }
        let row = world.row();
        assert_eq!(
            (row.verdict, row.conflict),
            (verdict, conflict),
            "{dod}: {row:?}"
        );
        assert!(row.reason.contains(reason), "{}", row.reason);
        if attested {
            assert_eq!(row.source, "person");
        }
    }
    // What the worker said is shown to the person, and an attestation of another outcome changes nothing.
    let mut world = world("", &green);
    world.items[0].manual = true;
    world.attested.insert("o2".to_owned());
    let row = world.row();
    assert_eq!(
        (row.verdict, row.evidence.as_str()),
        (Held, "looks good to me")
    );
}

#[test]
fn evidence_that_admits_that_no_test_ran_is_warned_of() {
    for (evidence, admitted) in [
        ("0 passed", true),
        ("pytest: collected 0 items", true),
        ("No tests ran in 0.01s", true),
        ("running 0 tests", true),
        ("Ran 5 tests, 0 passed", true),
        ("10 passed", false),
        ("100 passed, 0 failed", false),
        ("running 0 tests; 12 passed; 0 failed", false),
        ("collected 10 items", false),
        ("see the log", false),
    ] {
        let assessment = world("", &dod_of(&outcome("passed", evidence))).assess();
        assert_eq!(assessment.rows[0].verdict, Verdict::Proven);
        assert_eq!(
            assessment.warnings.len(),
            usize::from(admitted),
            "{evidence}"
        );
        if admitted {
            let warning = &assessment.warnings[0];
            assert!(
                warning.starts_with("issue/o1 is passed in .ak-loop/dod.json, whose evidence admits that no test ran (\""),
                "{warning}"
            );
        }
    }
    // A failed one has said so already.
    let red = world("", &dod_of(&outcome("failed", "0 passed")));
    assert!(red.assess().warnings.is_empty());
}

#[test]
fn what_was_passed_over_is_said() {
    let verify_text = r#"{"arkaint":7,"outcomes":[{"id":"o1","status":"passed","evidence":"a"},{"id":"o1","status":"passed"},{"id":"o9","status":"passed"},{"id":"o9","status":"passed"}]}"#;
    let dod_text = r#"{"project":7,"outcomes":[{"id":"o8","status":"skipped"},{"id":"o7","status":"passed"}]}"#;
    let assessment = world(verify_text, dod_text).assess();
    assert_eq!(
        assessment.warnings,
        [
            ".ak-loop/verify.json: arkaint: expected an object, found the number 7: passed over as if absent",
            ".ak-loop/dod.json: outcomes[0].status: \"skipped\" is neither \"passed\" nor \"failed\": dropped",
            ".ak-loop/dod.json: project: expected an array, found the number 7: read as empty",
            "issue/o1 stands 2 times in .ak-loop/verify.json: the first counts",
        ]
    );
    assert_eq!(
        assessment.unmatched,
        [
            "issue/o7 in .ak-loop/dod.json",
            "issue/o9 in .ak-loop/verify.json"
        ]
    );
    let broken = world("{", "null").assess();
    assert!(broken.warnings[0].starts_with(".ak-loop/verify.json proves nothing: not JSON"));
    assert_eq!(
        broken.warnings[1],
        ".ak-loop/dod.json proves nothing: expected an object, found null"
    );
    let twice = dod_of(&format!(
        "{},{}",
        outcome("failed", "x"),
        outcome("passed", "y")
    ));
    assert_eq!(
        world("", &twice).assess().warnings,
        ["issue/o1 stands 2 times in .ak-loop/dod.json, passed and failed: failed counts"]
    );
}

#[test]
fn the_whole_is_as_good_as_its_worst_part_and_nothing_vouches_for_nothing() {
    let mut world = world("", &dod_of(&outcome("passed", "ok")));
    world.items.clear();
    assert_eq!(world.assess().overall, Overall::Vacuous);
    world.items = vec![item(List::Issue, "o1")];
    assert_eq!(world.assess().overall, Overall::Complete);
    let manual = Item {
        manual: true,
        ..item(List::Issue, "o2")
    };
    world.items.push(manual);
    assert_eq!(world.assess().overall, Overall::Held);
    world.items.push(item(List::Project, "p"));
    let assessment = world.assess();
    assert_eq!(assessment.overall, Overall::Incomplete);
    let missing: Vec<_> = assessment.of(Verdict::Missing).map(Row::name).collect();
    assert_eq!(missing, ["project/p"]);
    assert_eq!(
        [
            Overall::Vacuous,
            Overall::Complete,
            Overall::Held,
            Overall::Incomplete
        ]
        .map(Overall::name),
        ["vacuous", "complete", "held", "incomplete"]
    );
}

#[test]
fn an_id_that_would_steer_a_terminal_is_shown() {
    let mut world = world("", "");
    world.items[0].id = "o\u{1b}[2J".to_owned();
    assert!(
        world
            .row()
            .reason
            .starts_with("issue/o<U+001B>[2J has no proof")
    );
}
