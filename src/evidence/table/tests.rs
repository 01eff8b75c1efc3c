use super::super::assess::Overall;
use super::super::dod::List;
use super::super::grade::Stale;
use super::*;

pub(in crate::evidence) fn row(list: List, id: &str, verdict: Verdict, evidence: &str) -> Row {
    Row {
        list,
        id: id.to_owned(),
        description: format!("what {id} is about"),
        verdict,
        reason: format!("{}/{id} has its reason: prove it", list.name()),
        evidence: evidence.to_owned(),
        source: "worker · dated".to_owned(),
        grade: Some(Grade::Dated),
        conflict: false,
    }
}

pub(in crate::evidence) fn assessment(rows: Vec<Row>, overall: Overall) -> Assessment {
    Assessment {
        rows,
        warnings: Vec::new(),
        unmatched: Vec::new(),
        overall,
    }
}

pub(in crate::evidence) fn table<'a>(
    assessment: &'a Assessment,
    artifacts: &'a [(String, String)],
) -> Table<'a> {
    Table {
        assessment,
        head: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        tree: "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
        contract: Some("cccccccccccc"),
        artifacts,
    }
}

fn all_verdicts() -> Assessment {
    let mut rows = vec![
        row(List::Project, "lint", Verdict::Proven, "clean"),
        row(List::Issue, "o1", Verdict::Failed, "2 failed"),
        row(List::Issue, "o2", Verdict::Missing, ""),
        row(List::Issue, "o3", Verdict::Held, ""),
    ];
    rows[2].source.clear();
    rows[2].grade = None;
    rows[3].grade = Some(Grade::Stale(Stale::Older));
    let mut assessment = assessment(rows, Overall::Incomplete);
    assessment.warnings = vec!["issue/o1 stands 2 times".to_owned()];
    assessment.unmatched = vec!["issue/o9 in .ak-loop/dod.json".to_owned()];
    assessment
}

#[test]
fn a_terminal_sees_each_verdict_its_reason_and_the_sum() {
    let assessment = all_verdicts();
    let lines = table(&assessment, &[]).lines(80);
    let shown: Vec<(Tone, &str)> = lines.iter().map(|(t, l)| (*t, l.as_str())).collect();
    assert_eq!(
        shown,
        [
            (Tone::Good, "proven   project/lint  what lint is about"),
            (Tone::Dim, "         clean (worker · dated)"),
            (Tone::Bad, "failed   issue/o1  what o1 is about"),
            (Tone::Plain, "         has its reason: prove it"),
            (Tone::Dim, "         2 failed (worker · dated)"),
            (Tone::Warn, "missing  issue/o2  what o2 is about"),
            (Tone::Plain, "         has its reason: prove it"),
            (Tone::Warn, "held     issue/o3  what o3 is about"),
            (Tone::Plain, "         has its reason: prove it"),
            (Tone::Dim, "         (worker · dated)"),
            (Tone::Warn, "warning: issue/o1 stands 2 times"),
            (Tone::Dim, "nobody asked for issue/o9 in .ak-loop/dod.json"),
            (
                Tone::Plain,
                "1 proven, 1 failed (fix it), 1 missing (prove it), 1 held (a person must look)"
            ),
        ]
    );
    let nothing = super::super::table::tests::assessment(Vec::new(), Overall::Vacuous);
    assert_eq!(
        table(&nothing, &[]).summary(),
        "nothing to prove, so nothing is vouched for"
    );
}

#[test]
fn no_line_is_wider_than_the_terminal_and_no_reason_is_cut() {
    let mut wide = row(List::Issue, "o1", Verdict::Failed, &"界".repeat(300));
    wide.description = "é界".repeat(100);
    wide.reason = format!("issue/o1 failed because {}: fix it", "of this ".repeat(40));
    let assessment = assessment(vec![wide], Overall::Incomplete);
    for width in [40, 80, 120] {
        let lines = table(&assessment, &[]).lines(width);
        for (_, line) in &lines {
            assert!(display_width(line) <= width, "{width}: {line}");
        }
        assert!(lines[0].1.ends_with('…'));
        let text: Vec<&str> = lines.iter().map(|(_, line)| line.trim()).collect();
        let text = text.join(" ");
        assert!(
            text.contains("of this : fix it") && text.contains("… (worker · dated)"),
            "{text}"
        );
    }
}

#[test]
fn a_conflict_says_so_although_it_is_proven() {
    let mut conflict = row(List::Issue, "o1", Verdict::Proven, "ok");
    conflict.conflict = true;
    let assessment = assessment(vec![conflict], Overall::Complete);
    let lines = table(&assessment, &[]).lines(80);
    assert_eq!(lines[0].0, Tone::Warn);
    assert!(lines[1].1.contains("has its reason"));
    assert_eq!(table(&assessment, &[]).json()["rows"][0]["conflict"], true);
}

#[test]
fn a_program_gets_everything_redacted_and_uncut() {
    let key = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let mut assessment = all_verdicts();
    assessment.rows[0].evidence = format!("{}token {key}", "x".repeat(300));
    let artifacts = [(".ak-loop/verify.json".to_owned(), "d".repeat(64))];
    let json = table(&assessment, &artifacts).json();
    let evidence = json["rows"][0]["evidence"].as_str().unwrap();
    assert!(evidence.len() > 300 && evidence.contains("[REDACTED ") && !evidence.contains(&key));
    assert_eq!(
        json["rows"][3],
        json!({
            "list": "issue", "id": "o3", "description": "what o3 is about", "verdict": "held",
            "reason": "issue/o3 has its reason: prove it", "evidence": "", "source": "worker · dated",
            "grade": "stale", "stale": "older", "conflict": false,
        })
    );
    assert_eq!(json["rows"][2]["grade"], Value::Null);
    assert_eq!(json["rows"][1]["stale"], Value::Null);
    assert_eq!(json["artifacts"][0]["path"], ".ak-loop/verify.json");
    assert_eq!(
        (&json["overall"], &json["contract"]),
        (&json!("incomplete"), &json!("cccccccccccc"))
    );
    assert_eq!(json["unmatched"][0], "issue/o9 in .ak-loop/dod.json");
}

#[test]
fn a_secret_is_redacted_before_the_cut_that_would_halve_it() {
    let key = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    for before in 0..80 {
        let evidence = format!("{} {key}", "x".repeat(before));
        let assessment = assessment(
            vec![row(List::Issue, "o1", Verdict::Proven, &evidence)],
            Overall::Complete,
        );
        let lines = table(&assessment, &[]).lines(80);
        assert!(
            lines.iter().all(|(_, line)| !line.contains("a1B2c3")),
            "{before}"
        );
    }
}
