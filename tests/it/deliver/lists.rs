//! Both lists at the gate: what is proven, failed, missing or a person's, by name and with what to do. The rules themselves stand in
//! `src/evidence/assess/tests.rs`.

use super::*;

const ITEMS: &str = r#"
[[dod]]
id = "tests"
kind = "command"
command = ["make", "test"]
[[dod]]
id = "changelog"
kind = "file-changed"
glob = "CHANGELOG.md"
[[dod]]
id = "no-dbg"
kind = "pattern-absent"
pattern = 'dbg!\('
paths = ["src/**"]
"#;

#[test]
fn each_item_is_named_with_what_to_do() {
    let sandbox = asked(ITEMS, &format!("{ONE}{MANUAL}"));
    sandbox.write("src/list.rs", "dbg!(1)\n");
    sandbox.commit_all("more");
    verify(
        &sandbox,
        r#"{"id":"o1","status":"failed","evidence":"1 failed"},{"id":"o9","status":"passed","evidence":"x"}"#,
    );
    let no = judged(&sandbox, 1);
    assert_eq!(
        stop(&no),
        "closed: both lists: fix project/changelog, project/no-dbg, issue/o1; prove project/tests"
    );
    let verdicts: Vec<String> = no["table"]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            format!(
                "{}/{} {}",
                row["list"].as_str().unwrap(),
                row["id"].as_str().unwrap(),
                row["verdict"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        verdicts,
        [
            "project/tests missing",
            "project/changelog failed",
            "project/no-dbg failed",
            "issue/o1 failed",
            "issue/looks held"
        ]
    );
    assert_eq!(
        no["table"]["unmatched"],
        serde_json::json!(["issue/o9 in .ak-loop/verify.json"])
    );
    let text = check(&sandbox, &[]).expect(1);
    for hint in [
        "hint: project/tests has no proof: prove it in .ak-loop/dod.json\n",
        "hint: issue/o1 failed in .ak-loop/verify.json: fix it\n",
    ] {
        assert!(text.stderr.contains(hint), "{}", text.stderr);
    }
    // What waits for a person is not asked of a worker.
    assert!(!text.stderr.contains("looks"), "{}", text.stderr);
    sandbox.write("src/list.rs", "fine\n");
    sandbox.write("CHANGELOG.md", "- commas\n");
    sandbox.commit_all("mend");
    verify(&sandbox, PASSED);
    dod(
        &sandbox,
        r#"{"id":"tests","status":"passed","evidence":"make test: ok"}"#,
        "",
    );
    let held = check(&sandbox, &[]).expect(3);
    assert!(
        held.stderr
            .starts_with("arkaint: the gate holds it for a person: both lists: a person must look at issue/looks\nhint: git arkaint contract attest looks, once you saw it\n"),
        "{}",
        held.stderr
    );
    sandbox.arkaint(["contract", "attest", "looks"]).expect(0);
    let open = judged(&sandbox, 0);
    assert_eq!(gate(&open, "both lists"), "open: all 5 are proven");
    assert_eq!(gate(&open, "floor"), "open: both lists");
    // A person saw that commit and no other.
    sandbox.git(["commit", "-q", "--amend", "-m", "reworded"]);
    assert!(says(&sandbox, 3).starts_with("held: both lists: "));
}

#[test]
fn the_definition_of_done_speaks_before_the_run() {
    let sandbox = proven();
    let table = |dod_entry: &str, verify_entry: &str| {
        verify(&sandbox, verify_entry);
        dod(&sandbox, "", dod_entry);
        let judged = check(&sandbox, &["--json"]).json();
        let conflict = row(&judged, "o1")["conflict"] == true;
        format!(
            "{}{}",
            row(&judged, "o1")["verdict"].as_str().unwrap(),
            if conflict { " !" } else { "" }
        )
    };
    let passed = r#"{"id":"o1","status":"passed","evidence":"seen"}"#;
    let failed = r#"{"id":"o1","status":"failed","evidence":"red"}"#;
    for (dod, verify, verdict) in [
        ("", passed, "proven"),
        ("", failed, "failed"),
        ("", "", "missing"),
        (passed, "", "proven"),
        (failed, passed, "failed"),
        (passed, failed, "proven !"),
        // A status that is none is no pass, and hides none that is.
        (r#"{"id":"o1","status":"FAILED"}"#, passed, "missing"),
    ] {
        assert_eq!(table(dod, verify), verdict, "{dod} | {verify}");
    }
}

#[test]
fn evidence_that_fell_to_the_command_and_a_command_that_failed() {
    let sandbox = proven();
    let bare = r#"{"id":"o1","status":"passed"}"#;
    verify(&sandbox, bare);
    let open = judged(&sandbox, 0);
    assert_eq!(row(&open, "o1")["evidence"], "cargo test → exit 0");
    verify_with(&sandbox, r#""command":"cargo test","exitCode":101"#, PASSED);
    let no = judged(&sandbox, 1);
    assert_eq!(
        row(&no, "o1")["reason"],
        "issue/o1 failed in .ak-loop/verify.json (command exited 101): fix it"
    );
    verify_with(&sandbox, r#""command":"""#, bare);
    assert_eq!(row(&judged(&sandbox, 1), "o1")["verdict"], "missing");
    // Where it lies is configured where the work left its base.
    let sandbox = asked("[evidence]\ndod_file = \"proof/done.json\"\n", ONE);
    verify(&sandbox, "");
    sandbox.write("proof/done.json", &format!("{{\"outcomes\":[{PASSED}]}}"));
    let open = judged(&sandbox, 0);
    assert_eq!(
        row(&open, "o1")["reason"],
        "issue/o1 is proven in proof/done.json"
    );
}

#[test]
fn what_arkaint_ran_on_that_tree_counts_as_sealed() {
    let contract = |kind: &str| {
        format!(
            "[[outcomes]]\nid = \"o1\"\ncheck = {kind}\n[[outcomes]]\nid = \"o2\"\ncheck = {{ kind = \"command\", command = \"make other\" }}\n"
        )
    };
    for (check, verdict) in [
        // A test without a command is the project's own.
        ("{ kind = \"test\" }", "proven, sealed"),
        (
            "{ kind = \"command\", command = \"test -e a\" }",
            "proven, sealed",
        ),
        (
            "{ kind = \"command\", command = \"test -e b\" }",
            "missing, ",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write(
            "arkaint.toml",
            "[checkpoint]\ntest = \"test -e a\"\n[evidence]\nbinding = \"tree\"\n",
        );
        sandbox.commit_all("add arkaint.toml");
        sandbox.sh("echo '/.ak-loop/' >>.git/info/exclude");
        sandbox.git(["switch", "-q", "-c", "arkaint/work"]);
        freeze(&sandbox, &contract(check));
        sandbox.write("a", "1\n");
        sandbox
            .arkaint(["checkpoint", "--task", "Accept trailing commas"])
            .expect(0);
        let no = judged(&sandbox, 1);
        assert_eq!(graded(&no, "o1"), verdict, "{check}");
        assert_eq!(row(&no, "o2")["verdict"], "missing");
        // Another tree was not tested.
        work(&sandbox, "b");
        assert_eq!(row(&judged(&sandbox, 1), "o1")["verdict"], "missing");
    }
}

#[test]
fn the_policy_is_the_bases() {
    let passed = r#"{"id":"o1","status":"passed","evidence":"seen"}"#;
    let failed = r#"{"id":"o1","status":"failed","evidence":"red"}"#;
    let sandbox = asked("[evidence]\nconflicts = \"fail\"\n", ONE);
    verify(&sandbox, failed);
    dod(&sandbox, "", passed);
    let no = judged(&sandbox, 1);
    assert_eq!(row(&no, "o1")["verdict"], "failed");
    assert_eq!(row(&no, "o1")["conflict"], true);
    let sandbox = asked("[evidence]\nmax_bytes = 4096\n", ONE);
    verify(&sandbox, &PASSED.replace("42", &"4".repeat(5000)));
    assert!(
        gate(&judged(&sandbox, 1), "artifacts").contains("limit 4096"),
        "{}",
        gate(&judged(&sandbox, 1), "artifacts")
    );
    // Where it goes to, too; and a word on the command line goes before it.
    let sandbox = start("[deliver]\nbase = \"develop\"\n");
    sandbox.git(["branch", "-q", "develop", "main"]);
    freeze(&sandbox, ONE);
    work(&sandbox, "a");
    verify(&sandbox, PASSED);
    assert_eq!(judged(&sandbox, 0)["base"]["name"], "develop");
    let named = check(&sandbox, &["--base", "main", "--json"]).expect(0);
    assert_eq!(named.json()["base"]["name"], "main");
}

#[test]
fn a_list_that_cannot_be_read_hides_no_run_and_is_told() {
    let sandbox = proven();
    for (text, why) in [
        ("[]", "expected an object, found an array"),
        ("{", "not JSON"),
        ("", "empty"),
    ] {
        sandbox.write(".ak-loop/dod.json", text);
        let open = judged(&sandbox, 0);
        assert_eq!(graded(&open, "o1"), "proven, dated", "{text}");
        let warning = open["table"]["warnings"][0].as_str().unwrap();
        assert!(
            warning.starts_with(".ak-loop/dod.json proves nothing: ") && warning.contains(why),
            "{warning}"
        );
        let shown = check(&sandbox, &[]).expect(0).stdout;
        assert!(shown.contains("warning: .ak-loop/dod.json proves nothing: "));
    }
    // It alone proves nothing: the other file is asked for all the same.
    dod(&sandbox, "", PASSED);
    std::fs::remove_file(verify_path(&sandbox)).unwrap();
    let no = judged(&sandbox, 1);
    assert_eq!(graded(&no, "o1"), "proven, dated");
    assert!(stop(&no).starts_with("closed: artifacts: .ak-loop/verify.json is not written"));
}
