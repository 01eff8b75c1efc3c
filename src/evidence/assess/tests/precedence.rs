//! Which of two files counts, what a contradiction is, and how age tells: rule by rule, then in every combination.

use super::*;

/// Files, grade of verify.json, verdict, what the reason says, whether the files contradict each other.
#[test]
fn each_rule_of_precedence_conflict_and_age() {
    use Verdict::{Failed, Missing, Proven};
    let red = outcome("failed", "2 failed");
    let green = outcome("passed", "12 passed");
    let blank = outcome("passed", " ");
    let old =
        |status: &str| format!(r#"{{"id":"o1","status":"{status}","evidence":"seen","at":"old"}}"#);
    let exit0 = "\"exitCode\":0,";
    let exit3 = "\"exitCode\":3,";
    let none = String::new();
    let fresh = Grade::Dated;
    let cases: Vec<(&str, String, String, Grade, Verdict, &str, bool)> = vec![
        // One file, or none.
        (
            "nothing",
            none.clone(),
            none.clone(),
            fresh,
            Missing,
            "issue/o1 has no proof: prove it in .ak-loop/verify.json or .ak-loop/dod.json",
            false,
        ),
        (
            "verify says nothing of it",
            verify(exit0, ""),
            none.clone(),
            fresh,
            Missing,
            "issue/o1 has no proof: prove it in",
            false,
        ),
        (
            "verify alone",
            verify(exit0, &green),
            none.clone(),
            fresh,
            Proven,
            "issue/o1 is proven in .ak-loop/verify.json",
            false,
        ),
        (
            "verify alone, red",
            verify(exit0, &red),
            none.clone(),
            fresh,
            Failed,
            "issue/o1 failed in .ak-loop/verify.json: fix it",
            false,
        ),
        (
            "dod alone",
            none.clone(),
            dod_of(&green),
            fresh,
            Proven,
            "issue/o1 is proven in .ak-loop/dod.json",
            false,
        ),
        (
            "dod alone, red",
            none.clone(),
            dod_of(&red),
            fresh,
            Failed,
            "issue/o1 failed in .ak-loop/dod.json: fix it",
            false,
        ),
        (
            "verify without an exit code",
            verify("", &green),
            none.clone(),
            fresh,
            Proven,
            "is proven",
            false,
        ),
        // Both.
        (
            "both green",
            verify(exit0, &green),
            dod_of(&green),
            fresh,
            Proven,
            "is proven in .ak-loop/dod.json",
            false,
        ),
        (
            "dod red",
            verify(exit0, &green),
            dod_of(&red),
            fresh,
            Failed,
            "failed in .ak-loop/dod.json: fix it",
            false,
        ),
        (
            "dod green, verify red",
            verify(exit0, &red),
            dod_of(&green),
            fresh,
            Proven,
            "issue/o1 is passed in .ak-loop/dod.json, but in .ak-loop/verify.json: failed",
            true,
        ),
        (
            "dod green, the command red",
            verify(exit3, &green),
            dod_of(&green),
            fresh,
            Proven,
            "is passed in .ak-loop/dod.json, but in .ak-loop/verify.json: command exited 3",
            true,
        ),
        (
            "the command red",
            verify(exit3, &green),
            none.clone(),
            fresh,
            Failed,
            "issue/o1 failed in .ak-loop/verify.json (command exited 3): fix it",
            false,
        ),
        (
            "the command red, another outcome",
            verify(exit3, ""),
            dod_of(&green),
            fresh,
            Proven,
            "is proven in .ak-loop/dod.json",
            false,
        ),
        (
            "exit 0, another outcome red",
            verify(
                exit0,
                &format!(r#"{{"id":"o2","status":"failed"}},{green}"#),
            ),
            none.clone(),
            fresh,
            Proven,
            "is proven in .ak-loop/verify.json",
            false,
        ),
        (
            "negative exit",
            verify("\"exitCode\":-1,", &green),
            none.clone(),
            fresh,
            Failed,
            "(command exited -1): fix it",
            false,
        ),
        // Twice.
        (
            "twice green",
            verify(exit0, &format!("{green},{green}")),
            none.clone(),
            fresh,
            Proven,
            "is proven",
            false,
        ),
        (
            "twice, worst wins",
            verify(exit0, &format!("{green},{red}")),
            none.clone(),
            fresh,
            Failed,
            "issue/o1 failed in .ak-loop/verify.json (it stands there 2 times, once passed: leave one): fix it",
            false,
        ),
        (
            "twice in dod, worst wins",
            none.clone(),
            dod_of(&format!("{green},{red}")),
            fresh,
            Failed,
            "issue/o1 failed in .ak-loop/dod.json (it stands there 2 times",
            false,
        ),
        // Malformed.
        (
            "capitals block what verify says",
            verify(exit0, &green),
            dod_of(&outcome("FAILED", "x")),
            fresh,
            Missing,
            "issue/o1 is malformed in .ak-loop/dod.json: outcomes[0].status: \"FAILED\" is neither \"passed\" nor \"failed\": prove it and write the entry again",
            false,
        ),
        (
            "beside a good entry too",
            none.clone(),
            dod_of(&format!("{green},{}", outcome("Passed", ""))),
            fresh,
            Missing,
            "is malformed",
            false,
        ),
        (
            "but red stays red",
            none.clone(),
            dod_of(&format!("{},{red}", outcome("Passed", ""))),
            fresh,
            Failed,
            "fix it",
            false,
        ),
        (
            "verify broken",
            verify(exit0, "{}"),
            none.clone(),
            fresh,
            Missing,
            "issue/o1 has no proof that can be read (.ak-loop/verify.json: outcomes[0].id: missing): prove it and write the file again",
            false,
        ),
        (
            "verify broken, dod speaks",
            "[]".to_owned(),
            dod_of(&green),
            fresh,
            Proven,
            "is proven in .ak-loop/dod.json",
            false,
        ),
        (
            "dod broken, verify serves",
            verify(exit0, &green),
            "[]".to_owned(),
            fresh,
            Proven,
            "is proven in .ak-loop/verify.json",
            false,
        ),
        (
            "dod broken, verify silent",
            verify(exit0, ""),
            "[]".to_owned(),
            fresh,
            Missing,
            "(.ak-loop/dod.json: expected an object, found an array): prove it and write the file again",
            false,
        ),
        // Blank evidence.
        (
            "dod blank",
            none.clone(),
            dod_of(&blank),
            fresh,
            Missing,
            "issue/o1 is passed in .ak-loop/dod.json, with no evidence text: prove it and say what was seen",
            false,
        ),
        (
            "dod blank does not fall through",
            verify(exit0, &green),
            dod_of(&blank),
            fresh,
            Missing,
            "with no evidence text",
            false,
        ),
        (
            "dod blank against red",
            verify(exit0, &red),
            dod_of(&blank),
            fresh,
            Failed,
            "failed in .ak-loop/verify.json: fix it",
            false,
        ),
        (
            "dod blank against old red",
            verify(exit0, &red),
            dod_of(&blank),
            OLD,
            Failed,
            "failed in .ak-loop/verify.json, which is stale (older) and stands",
            false,
        ),
        (
            "verify blank, exit 0",
            verify(exit0, &blank),
            none.clone(),
            fresh,
            Proven,
            "is proven",
            false,
        ),
        (
            "verify blank, no exit",
            verify("", &blank),
            none.clone(),
            fresh,
            Missing,
            "in .ak-loop/verify.json, with no evidence text",
            false,
        ),
        (
            "verify blank, no command",
            format!(r#"{{"exitCode":0,"outcomes":[{blank}]}}"#),
            none.clone(),
            fresh,
            Missing,
            "with no evidence text",
            false,
        ),
        (
            "verify blank, exit 3",
            verify(exit3, &blank),
            none.clone(),
            fresh,
            Failed,
            "(command exited 3): fix it",
            false,
        ),
        // Age.
        (
            "verify old",
            verify(exit0, &green),
            none.clone(),
            OLD,
            Missing,
            "issue/o1 is passed in .ak-loop/verify.json, which does not count (stale (older): made before the last change): prove it again at abc1234",
            false,
        ),
        (
            "dod old",
            none.clone(),
            dod_of(&old("passed")),
            fresh,
            Missing,
            "is passed in .ak-loop/dod.json, which does not count (stale (older)",
            false,
        ),
        (
            "red stands whatever its age",
            verify(exit0, &red),
            none.clone(),
            OLD,
            Failed,
            "issue/o1 failed in .ak-loop/verify.json, which is stale (older) and stands until a fresh proof replaces it: fix it and prove it at abc1234",
            false,
        ),
        (
            "dod red stands",
            verify(exit0, &green),
            dod_of(&old("failed")),
            fresh,
            Failed,
            "failed in .ak-loop/dod.json, which is stale",
            false,
        ),
        (
            "an old exit code stands",
            verify(exit3, &green),
            none.clone(),
            OLD,
            Failed,
            "(command exited 3), which is stale (older)",
            false,
        ),
        (
            "old dod does not shadow fresh verify",
            verify(exit0, &green),
            dod_of(&old("passed")),
            fresh,
            Proven,
            "is proven in .ak-loop/verify.json",
            false,
        ),
        (
            "old dod, fresh red verify",
            verify(exit0, &red),
            dod_of(&old("passed")),
            fresh,
            Failed,
            "failed in .ak-loop/verify.json: fix it",
            false,
        ),
        (
            "fresh dod, old verify",
            verify(exit0, &green),
            dod_of(&green),
            OLD,
            Proven,
            "is proven in .ak-loop/dod.json",
            false,
        ),
        (
            "a fresh proof replaces old red",
            verify(exit0, &red),
            dod_of(&green),
            OLD,
            Proven,
            "is proven in .ak-loop/dod.json",
            false,
        ),
        (
            "both old",
            verify(exit0, &green),
            dod_of(&old("passed")),
            OLD,
            Missing,
            "is passed in .ak-loop/dod.json, which does not count",
            false,
        ),
        (
            "both old, one red",
            verify(exit0, &red),
            dod_of(&old("passed")),
            OLD,
            Failed,
            "stands until a fresh proof replaces it",
            false,
        ),
    ];
    for (name, verify, dod, grade, verdict, reason, conflict) in cases {
        let mut world = world(&verify, &dod);
        world.verify_grade = grade;
        let row = world.row();
        assert_eq!(
            (row.verdict, row.conflict),
            (verdict, conflict),
            "{name}: {row:?}"
        );
        assert!(row.reason.contains(reason), "{name}: {}", row.reason);
        assert!(row.reason.starts_with("issue/o1 "), "{name}");
        let told = match verdict {
            Missing => row.reason.contains("prove it") && !row.reason.contains("fix it"),
            Failed => row.reason.contains("fix it"),
            _ => !row.reason.contains("fix it"),
        };
        assert!(told, "{name}: {}", row.reason);
    }
}

#[test]
fn conflicts_may_be_made_to_fail() {
    for (exit, red) in [("\"exitCode\":3,", false), ("", true)] {
        let status = if red { "failed" } else { "passed" };
        let mut world = world(
            &verify(exit, &outcome(status, "x")),
            &dod_of(&outcome("passed", "seen")),
        );
        world.conflicts = Conflicts::Fail;
        let row = world.row();
        assert_eq!((row.verdict, row.conflict), (Verdict::Failed, true));
        assert!(row.reason.ends_with(": fix it"), "{}", row.reason);
        // No conflict with a proof that does not count.
        world.verify_grade = OLD;
        assert_eq!(
            (world.row().verdict, world.row().conflict),
            (Verdict::Proven, false)
        );
    }
}

/// Every combination of what two files can say about one outcome, at every age.
#[test]
fn nothing_is_proven_but_by_a_proof_that_counts_and_no_red_result_ages_into_missing() {
    let entry = |status: &str, evidence: &str, old: bool| {
        let at = if old { ",\"at\":\"old\"" } else { "" };
        format!(r#"{{"id":"o1","status":"{status}","evidence":"{evidence}"{at}}}"#)
    };
    let said = [None, Some("passed"), Some("failed"), Some("Passed")];
    let mut seen = BTreeSet::new();
    let mut cases = 0;
    for dod_said in said {
        for verify_said in &said[..3] {
            for bits in 0..16 {
                let [dod_old, verify_old, blank, fail] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
                for exit in ["", "\"exitCode\":0,", "\"exitCode\":3,"] {
                    let text = if blank { "" } else { "seen" };
                    let dod = dod_said.map(|s| dod_of(&entry(s, text, dod_old)));
                    let outcomes = verify_said.map(|s| entry(s, text, false));
                    let mut world = world(
                        &verify(exit, &outcomes.unwrap_or_default()),
                        &dod.unwrap_or_default(),
                    );
                    if verify_old {
                        world.verify_grade = OLD;
                    }
                    if fail {
                        world.conflicts = Conflicts::Fail;
                    }
                    let row = world.row();
                    cases += 1;
                    seen.insert(row.verdict.name());
                    let verify_red = *verify_said == Some("failed")
                        || *verify_said == Some("passed") && exit.contains('3');
                    let verify_green = *verify_said == Some("passed")
                        && !verify_red
                        && !verify_old
                        && (!blank || exit.contains('0'));
                    let dod_green = dod_said == Some("passed") && !dod_old && !blank;
                    let what = format!("{dod_said:?} {verify_said:?} {bits:04b} {exit}: {row:?}");
                    if row.verdict == Verdict::Proven {
                        assert!(dod_green || verify_green, "{what}");
                        assert!(!row.conflict || verify_red && !fail, "{what}");
                    }
                    if dod_said == Some("failed") {
                        assert_eq!(row.verdict, Verdict::Failed, "{what}");
                    }
                    if dod_said == Some("Passed") {
                        assert_eq!(row.verdict, Verdict::Missing, "{what}");
                    } else if verify_red && !dod_green {
                        assert_eq!(row.verdict, Verdict::Failed, "{what}");
                    }
                    if row.verdict == Verdict::Missing {
                        assert!(row.reason.contains("prove it"), "{what}");
                        assert!(!row.reason.contains("fix it"), "{what}");
                    }
                    if row.verdict == Verdict::Failed {
                        assert!(row.reason.contains("fix it"), "{what}");
                        assert!(verify_red || dod_said == Some("failed"), "{what}");
                    }
                }
            }
        }
    }
    assert_eq!((cases, seen.len()), (4 * 3 * 16 * 3, 3), "{seen:?}");
}
