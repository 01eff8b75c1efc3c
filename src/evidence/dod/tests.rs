use super::super::table_of;
use super::*;

#[test]
fn every_document_is_read_as_the_table_says() {
    let table = table_of("dod");
    assert!(table.len() > 20);
    for case in table {
        let text = case.text();
        match (case.reads.as_str(), judge(&text)) {
            ("good", Ok(Some(dod))) => {
                assert!(dod.notes.is_empty() && dod.dropped.is_empty(), "{text}");
            }
            ("noted", Ok(Some(dod))) => {
                let mut lines: Vec<String> = dod.dropped.iter().map(Dropped::line).collect();
                lines.extend(dod.notes);
                assert_eq!(lines.len(), 1, "{text}: {lines:?}");
                assert!(lines[0].starts_with(&case.says), "{text}: {lines:?}");
            }
            ("broken", Err(why)) => assert!(why.starts_with(&case.says), "{text}: {why}"),
            (wanted, read) => panic!("{text}: {read:?} is not {wanted}"),
        }
    }
}

#[test]
fn a_bad_entry_is_dropped_by_name_and_its_neighbours_are_read() {
    let dod = judge(
        r#"{"project":[{"id":" lint ","status":"passed","evidence":" clean ","at":"2026-09-20T18:04:11Z"}],
            "outcomes":[{"id":"o1","status":"FAILED"},{"id":"o2","status":"failed"},{"id":"o2","status":"passed"},7]}"#,
    );
    let dod = dod.unwrap().unwrap();
    assert_eq!(
        dod.list(List::Project),
        [Proof {
            id: "lint".to_owned(),
            status: Status::Passed,
            evidence: "clean".to_owned(),
            at: Some("2026-09-20T18:04:11Z".to_owned()),
        }]
    );
    let ids: Vec<_> = dod
        .list(List::Issue)
        .iter()
        .map(|p| (p.id.as_str(), p.status, p.at.is_some()))
        .collect();
    assert_eq!(
        ids,
        [("o2", Status::Failed, false), ("o2", Status::Passed, false)]
    );
    let dropped: Vec<_> = dod
        .dropped
        .iter()
        .map(|d| (d.list.name(), d.index, d.id.as_deref()))
        .collect();
    assert_eq!(dropped, [("issue", 0, Some("o1")), ("issue", 3, None)]);
    assert_eq!(dod.detail(), "present");
}
