use proptest::prelude::*;

use super::super::table_of;
use super::*;

#[test]
fn every_document_is_read_as_the_table_says() {
    let table = table_of("verify");
    assert!(table.len() > 60);
    for case in table {
        let text = case.text();
        match (case.reads.as_str(), judge(&text)) {
            ("good", Ok(Some(verify))) => assert_eq!(verify.notes, [""; 0], "{text}"),
            ("noted", Ok(Some(verify))) => {
                assert!(verify.stamp.is_none(), "{text}");
                assert!(
                    verify.notes[0].starts_with(&case.says),
                    "{text}: {:?}",
                    verify.notes
                );
            }
            ("broken", Err(why)) => assert!(why.starts_with(&case.says), "{text}: {why}"),
            (wanted, read) => panic!("{text}: {read:?} is not {wanted}"),
        }
    }
}

#[test]
fn what_is_read_is_trimmed_but_for_the_status() {
    let verify = judge(
        r#"{"ranAt":" 2026-09-20T18:04:11.000Z\n","command":"\ufeff cargo test ","exitCode":1e0,"outcomes":[
            {"id":" o1 ","status":"passed","evidence":"\t42 passed\r\n"},{"id":"o2","status":"failed"}],
            "arkaint":{"v":1,"head":"aa","tree":" bb ","contract":"cc"}}"#,
    );
    let verify = verify.unwrap().unwrap();
    assert_eq!(verify.ran_at.as_deref(), Some("2026-09-20T18:04:11.000Z"));
    assert_eq!(
        (verify.command.as_str(), verify.exit_code),
        ("cargo test", Some(1))
    );
    let outcome = |id: &str, status, evidence: &str| Outcome {
        id: id.to_owned(),
        status,
        evidence: evidence.to_owned(),
    };
    assert_eq!(
        verify.outcomes,
        [
            outcome("o1", Status::Passed, "42 passed"),
            outcome("o2", Status::Failed, "")
        ]
    );
    let stamp = verify.stamp.as_ref().unwrap();
    assert_eq!(
        (stamp.tree.as_str(), stamp.contract.as_deref()),
        ("bb", Some("cc"))
    );
    assert_eq!(verify.detail(), "2 outcomes · cargo test");
    let bare = judge(r#"{"outcomes":[{"id":"a","status":"passed"}]}"#);
    assert_eq!(bare.unwrap().unwrap().detail(), "1 outcome");
}

#[test]
fn a_message_shows_what_would_hide_and_not_the_whole_of_a_long_word() {
    let long = format!(
        r#"{{"outcomes":[{{"id":"a","status":"\u001b[31m{}"}}]}}"#,
        "x".repeat(500)
    );
    let why = judge(&long).unwrap_err();
    assert!(
        why.contains("<U+001B>") && why.contains('…') && why.len() < 140,
        "{why}"
    );
}

fn sample() -> Verify {
    Verify {
        ran_at: Some("2026-11-30T12:00:00Z".to_owned()),
        command: "cargo test".to_owned(),
        exit_code: Some(0),
        outcomes: vec![Outcome {
            id: "o1".to_owned(),
            status: Status::Passed,
            evidence: "exit 0".to_owned(),
        }],
        stamp: Some(Stamp {
            v: 1,
            head: "a".repeat(40),
            tree: "b".repeat(40),
            contract: Some("c".repeat(64)),
        }),
        notes: Vec::new(),
    }
}

#[test]
fn what_is_written_is_read_as_the_same() {
    for verify in [
        sample(),
        Verify::default(),
        Verify {
            stamp: sample().stamp.map(|stamp| Stamp {
                contract: None,
                ..stamp
            }),
            exit_code: Some(-1),
            ..Verify::default()
        },
    ] {
        let bytes = render(&verify, None);
        assert_eq!(bytes.last(), Some(&b'\n'));
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(judge(&text), Ok(Some(verify)), "{text}");
    }
}

#[test]
fn a_rewrite_keeps_what_it_does_not_know_and_nothing_that_it_does() {
    let before = "\u{feff}{\"tool\":{\"v\":[1.5]},\"ranAt\":\"old\",\"exitCode\":3,\"arkaint\":{\"v\":1,\"head\":\"x\",\"tree\":\"y\",\"by\":\"a model\"},
        \"outcomes\":[{\"id\":\" o1\",\"status\":\"failed\",\"evidence\":\"old\",\"ms\":12},{\"id\":\"gone\",\"status\":\"passed\"}]}";
    let bytes = render(&sample(), Some(before.as_bytes()));
    let value: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(
        value,
        json!({
            "tool": { "v": [1.5] }, "ranAt": "2026-11-30T12:00:00Z", "command": "cargo test", "exitCode": 0,
            "outcomes": [{ "id": "o1", "status": "passed", "evidence": "exit 0", "ms": 12 }],
            "arkaint": { "v": 1, "head": "a".repeat(40), "tree": "b".repeat(40), "contract": "c".repeat(64) },
        })
    );
    let bare = Verify::default();
    let value: Value = serde_json::from_slice(&render(&bare, Some(before.as_bytes()))).unwrap();
    assert_eq!(
        value,
        json!({ "tool": { "v": [1.5] }, "command": "", "outcomes": [] })
    );
    // What cannot be read has nothing to keep.
    for broken in [&b"\xff"[..], b"[1]", b"{\"a\":1,\"a\":2}", b""] {
        assert_eq!(render(&bare, Some(broken)), render(&bare, None));
    }
}

proptest! {
    #[test]
    fn any_outcome_survives_being_written(
        ids in proptest::collection::vec("\\PC{1,200}", 0..5), evidence in "(?s).*", command in "(?s).*", code in proptest::option::of(-5i64..300),
    ) {
        let trimmed = |text: &str| js_trim(text).to_owned();
        let ids = ids.iter().map(|id| trimmed(id)).filter(|id| !id.is_empty());
        let verify = Verify {
            command: trimmed(&command),
            exit_code: code,
            outcomes: ids.map(|id| Outcome { id, status: Status::Failed, evidence: trimmed(&evidence) }).collect(),
            ..Verify::default()
        };
        let text = String::from_utf8(render(&verify, None)).unwrap();
        prop_assert_eq!(judge(&text), Ok(Some(verify)));
    }

    #[test]
    fn no_bytes_make_the_reader_fall(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let artifact = Artifact::of(bytes.clone(), None, judge);
        prop_assert!(artifact.sha256().is_some());
        prop_assert!(artifact.good().is_none() || serde_json::from_slice::<Value>(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).is_ok());
    }
}
