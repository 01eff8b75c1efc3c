//! Which evidence still counts, with real commits and real times: identity is the tree, and a red result is never aged into a missing one.

use super::*;

/// The example of the page that documents the three files.
const DOCUMENTED: &str = r#"{
"ranAt": "2026-09-20T18:04:11.000Z",
"command": "pnpm test packages/report",
"exitCode": 0,
"outcomes": [
{ "id": "o1", "status": "passed", "evidence": "42 passed | 0 failed" }
]
}"#;

/// Seconds since 1970, as RFC 3339.
fn stamp(sandbox: &Sandbox, offset: i64) -> String {
    let date = format!("now {offset} seconds");
    let date = sandbox.sh(&format!("date -u -d '{date}' +%Y-%m-%dT%H:%M:%SZ"));
    date.trim().to_owned()
}

/// The commit at HEAD made again as of `seconds` from now.
fn redate(sandbox: &Sandbox, seconds: i64) {
    sandbox.sh(&format!(
        "GIT_COMMITTER_DATE=\"$(date -d 'now {seconds} seconds' -R)\" git commit -q --amend --no-edit"
    ));
}

fn of(sandbox: &Sandbox) -> String {
    graded(&check(sandbox, &["--json"]).json(), "o1")
}

#[test]
fn the_documented_example_is_read_and_is_too_old_for_a_commit_of_today() {
    let sandbox = asked("", ONE);
    sandbox.write(".ak-loop/verify.json", DOCUMENTED);
    let no = judged(&sandbox, 1);
    assert_eq!(
        gate(&no, "artifacts"),
        "open: verify.json: 1 outcome · pnpm test packages/report (from the worktree)"
    );
    assert_eq!(graded(&no, "o1"), "missing, stale older");
    let head = rev(&sandbox, "HEAD");
    let reason = row(&no, "o1")["reason"].as_str().unwrap();
    assert!(
        reason.starts_with(
            "issue/o1 is passed in .ak-loop/verify.json, which does not count (stale (older): "
        ) && reason.ends_with(&format!("prove it again at {}", &head[..7])),
        "{reason}"
    );
    let sandbox = asked("[evidence]\nbinding = \"off\"\n", ONE);
    sandbox.write(".ak-loop/verify.json", DOCUMENTED);
    let open = judged(&sandbox, 0);
    assert_eq!(row(&open, "o1")["evidence"], "42 passed | 0 failed");
}

#[test]
fn what_was_tested_is_what_is_delivered() {
    let sandbox = asked("", ONE);
    let file = verify_path(&sandbox);
    let source = sandbox.repo.join("src/list.rs");
    // Tested after the commit.
    verify(&sandbox, PASSED);
    assert_eq!(of(&sandbox), "proven, dated");
    // Tested, then committed: nothing that was changed is newer.
    age(&source, -100);
    age(&file, -60);
    assert_eq!(of(&sandbox), "proven, dated");
    // Touched since: nobody knows what was tested.
    age(&source, -10);
    assert_eq!(of(&sandbox), "missing, stale older");
    age(&source, -100);
    assert_eq!(of(&sandbox), "proven, dated");
    // A file that the work did not change says nothing.
    age(sandbox.repo.join("README.md"), -10);
    assert_eq!(of(&sandbox), "proven, dated");
    // Edited and not committed.
    sandbox.write("src/list.rs", "more\n");
    assert_eq!(of(&sandbox), "missing, stale dirty");
    // Committed, and not tested again.
    sandbox.commit_all("more");
    assert_eq!(of(&sandbox), "missing, stale older");
    verify(&sandbox, PASSED);
    assert_eq!(of(&sandbox), "proven, dated");
}

#[test]
fn a_time_of_its_own_counts_before_the_files() {
    let sandbox = asked("", ONE);
    redate(&sandbox, -1000);
    let at = |members: String| {
        verify_with(&sandbox, &members, PASSED);
        of(&sandbox)
    };
    for (seconds, grade) in [
        (-900, "proven, dated"),
        (-1100, "missing, stale older"),
        (60, "proven, dated"),
        (240, "proven, dated"),
        (400, "missing, stale future-clock"),
    ] {
        let time = stamp(&sandbox, seconds);
        let members = format!("\"ranAt\":\"{time}\"");
        assert_eq!(at(members), grade, "{seconds}");
    }
    // No time: the file's own, and it is said.
    assert_eq!(at("\"ranAt\":\"yesterday\"".to_owned()), "proven, dated");
    let judged = judged(&sandbox, 0);
    assert_eq!(
        judged["table"]["warnings"][0],
        ".ak-loop/verify.json: ranAt \"yesterday\" is no time by RFC 3339: the file's own time counts"
    );
    // Each entry of the other file by its own.
    verify(&sandbox, "");
    for (seconds, grade) in [(-900, "proven, dated"), (-1100, "missing, stale older")] {
        let time = stamp(&sandbox, seconds);
        dod(
            &sandbox,
            "",
            &format!(
                "{{\"id\":\"o1\",\"status\":\"passed\",\"evidence\":\"e\",\"at\":\"{time}\"}}"
            ),
        );
        assert_eq!(of(&sandbox), grade, "{seconds}");
    }
}

#[test]
fn an_equal_tree_keeps_the_grade_and_another_content_drops_it() {
    let sandbox = proven();
    sandbox.arkaint(["deliver"]).expect(0);
    work(&sandbox, "src/two.rs");
    verify(&sandbox, &PASSED.replace("42", "43"));
    sandbox.arkaint(["deliver"]).expect(0);
    let tree = rev(&sandbox, "HEAD^{tree}");
    // As in CI: the folder is cleared, what was judged for this tree counts.
    std::fs::remove_dir_all(sandbox.repo.join(".ak-loop")).unwrap();
    let equal = |how: &str| {
        assert_eq!(rev(&sandbox, "HEAD^{tree}"), tree, "{how}");
        let open = judged(&sandbox, 0);
        assert_eq!(open["found"], "ledger", "{how}");
        assert_eq!(graded(&open, "o1"), "proven, dated", "{how}");
    };
    equal("as it was judged");
    // A second later, and whatever the commit's own time is.
    sandbox.sh("GIT_COMMITTER_DATE=\"$(date -d '+1 hour' -R)\" git commit -q --amend --no-edit");
    equal("amended");
    sandbox.git(["commit", "-q", "--amend", "-m", "reworded"]);
    equal("reworded");
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "nothing more"]);
    equal("an empty commit on top");
    sandbox.git(["reset", "-q", "--soft", "main"]);
    sandbox.git(["commit", "-q", "-m", "squashed"]);
    equal("squashed");
    // Rebased onto a base that has an equal tree.
    sandbox.git(["switch", "-q", "main"]);
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "on main"]);
    sandbox.git(["switch", "-q", "arkaint/work"]);
    sandbox.git(["rebase", "-q", "main"]);
    equal("rebased");
    sandbox.write("src/two.rs", "another\n");
    sandbox.commit_all("another content");
    let no = judged(&sandbox, 1);
    assert_eq!(row(&no, "o1")["verdict"], "missing");
    assert!(
        stop(&no).contains("verify.json is not written"),
        "{}",
        stop(&no)
    );
}

#[test]
fn bytes_that_were_there_before_prove_nothing() {
    // A file that the base tracks.
    let sandbox = Sandbox::new();
    sandbox.write("arkaint.toml", "[checkpoint]\ntest = false\n");
    verify(&sandbox, PASSED);
    sandbox.commit_all("with a verify.json in it");
    sandbox.git(["switch", "-q", "-c", "arkaint/work"]);
    freeze(&sandbox, ONE);
    work(&sandbox, "a");
    age(verify_path(&sandbox), 2);
    assert_eq!(of(&sandbox), "missing, stale inherited");
    // One that was judged for another tree, made to look new.
    let sandbox = proven();
    sandbox.arkaint(["deliver"]).expect(0);
    work(&sandbox, "src/two.rs");
    age(verify_path(&sandbox), 2);
    assert_eq!(of(&sandbox), "missing, stale replayed");
    // Nor once it was judged and kept here.
    sandbox.arkaint(["deliver"]).expect(1);
    assert_eq!(of(&sandbox), "missing, stale replayed");
    // The same words of a run on this tree are other bytes.
    verify(&sandbox, &PASSED.replace("42", "43"));
    assert_eq!(of(&sandbox), "proven, dated");
}

#[test]
fn a_stamp_is_full_known_and_of_the_delivered_tree() {
    let sandbox = asked("", ONE);
    let (head, tree) = (rev(&sandbox, "HEAD"), rev(&sandbox, "HEAD^{tree}"));
    let old = rev(&sandbox, "main^{tree}");
    let unknown = "1234567890".repeat(4);
    let digest = judged(&sandbox, 1)["contract"].as_str().unwrap().to_owned();
    for (head, tree, contract, grade) in [
        (&*head, &*tree, &*digest, "proven, declared"),
        (
            &head,
            &tree,
            &"0".repeat(64),
            "missing, stale wrong-contract",
        ),
        (&head, &old, &digest, "missing, stale other-tree"),
        (&head[..7], &tree, &digest, "missing, stale short-id"),
        (&head, &tree[..12], &digest, "missing, stale short-id"),
        (&unknown, &tree, &digest, "missing, stale unknown-commit"),
        (&head, &unknown, &digest, "missing, stale unknown-commit"),
    ] {
        verify_with(
            &sandbox,
            &format!(
                r#""arkaint":{{"v":1,"head":"{head}","tree":"{tree}","contract":"{contract}"}}"#
            ),
            PASSED,
        );
        assert_eq!(of(&sandbox), grade, "{head} {tree} {contract}");
    }
    // A declared one is enough where the tree is asked for, a time alone is not.
    let sandbox = asked("[evidence]\nbinding = \"tree\"\n", ONE);
    verify(&sandbox, PASSED);
    assert_eq!(of(&sandbox), "missing, dated");
    let (head, tree) = (rev(&sandbox, "HEAD"), rev(&sandbox, "HEAD^{tree}"));
    verify_with(
        &sandbox,
        &format!(r#""arkaint":{{"v":1,"head":"{head}","tree":"{tree}"}}"#),
        PASSED,
    );
    assert_eq!(of(&sandbox), "proven, declared");
    let sandbox = asked("[evidence]\nbinding = \"rerun\"\n", ONE);
    verify(&sandbox, PASSED);
    assert_eq!(of(&sandbox), "missing, dated");
}

#[test]
fn a_red_result_stands_whatever_its_age() {
    let sandbox = asked("", ONE);
    let red = r#"{"id":"o1","status":"failed","evidence":"1 failed"}"#;
    verify_with(&sandbox, r#""ranAt":"2020-01-01T00:00:00Z""#, red);
    assert_eq!(of(&sandbox), "failed, stale older");
    let no = judged(&sandbox, 1);
    assert_eq!(stop(&no), "closed: both lists: fix issue/o1");
    assert!(
        row(&no, "o1")["reason"]
            .as_str()
            .unwrap()
            .contains("stands until a fresh proof replaces it"),
        "{no}"
    );
    dod(&sandbox, "", PASSED);
    assert_eq!(of(&sandbox), "proven, dated");
}
