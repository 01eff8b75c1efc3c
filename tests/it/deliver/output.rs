//! What is printed and what is kept: one document for a program, a page for people on the commit, a record once, and nothing at all by a check.

use super::*;
use crate::gate::bytes_below;

#[test]
fn a_check_writes_nothing_whatever_it_finds() {
    let open = proven();
    let closed = asked("", ONE);
    let held = proven();
    work(&held, "scripts/build.sh");
    let waiting = proven();
    waiting.write("README.md", "# other\n");
    let conflict = proven();
    conflict.git(["switch", "-q", "main"]);
    work(&conflict, "beside");
    conflict.git(["switch", "-q", "arkaint/work"]);
    verify(&conflict, PASSED);
    for (sandbox, code) in [
        (&open, 0),
        (&closed, 1),
        (&held, 3),
        (&waiting, 3),
        (&conflict, 0),
    ] {
        // A stale index is what git would like to refresh.
        age(sandbox.repo.join("README.md"), -500);
        let before = bytes_below(&sandbox.repo);
        for words in [
            [].as_slice(),
            &["--json"],
            &["--markdown"],
            &["arkaint/work"],
        ] {
            check(sandbox, words).expect(code);
            let after = bytes_below(&sandbox.repo);
            let differ: Vec<_> = before
                .keys()
                .chain(after.keys())
                .filter(|path| before.get(*path) != after.get(*path))
                .collect();
            assert!(differ.is_empty(), "{words:?} changed {differ:?}");
        }
    }
}

#[test]
fn a_verdict_is_kept_once_with_the_files_and_a_page() {
    let sandbox = proven();
    assert_eq!(records(&sandbox, "verdict").len(), 0);
    sandbox.arkaint(["deliver"]).expect(0);
    let ledger = rev(&sandbox, "refs/notes/arkaint/ledger");
    let page_ref = rev(&sandbox, "refs/notes/arkaint/verdict");
    let markdown = sandbox.arkaint(["deliver", "--markdown"]).expect(0).stdout;
    sandbox.arkaint(["deliver", "--json"]).expect(0);
    // The same said again is written once.
    assert_eq!(rev(&sandbox, "refs/notes/arkaint/ledger"), ledger);
    assert_eq!(rev(&sandbox, "refs/notes/arkaint/verdict"), page_ref);
    let verdicts = records(&sandbox, "verdict");
    assert_eq!(verdicts.len(), 1);
    assert_eq!(verdicts[0]["verdict"], "open");
    assert_eq!(verdicts[0]["commit"], rev(&sandbox, "HEAD").as_str());
    assert_eq!(verdicts[0]["rows"][0]["item"], "issue/o1");
    let sum = sandbox.sh("sha256sum <.ak-loop/verify.json");
    assert_eq!(
        verdicts[0]["artifacts"][0]["sha256"],
        sum.split(' ').next().unwrap()
    );
    // The page is what is printed, by git's own means.
    let page = sandbox.git(["notes", "--ref=arkaint/verdict", "show"]);
    assert_eq!(page.trim_end(), markdown.trim_end());
    assert!(
        page.starts_with("<!-- arkaint:deliver -->\n## Definition of Done\n")
            && page.contains("### Gate: open\n")
            && page.contains("| conflict | open | main did not move on |"),
        "{page}"
    );
    let log = sandbox.git(["log", "-1", "--notes=arkaint/verdict"]);
    assert!(log.contains("Definition of Done"), "{log}");
    // The file can be read when it is gone from disk.
    let kept = records(&sandbox, "evidence");
    assert_eq!(kept.len(), 1);
    let blob = kept[0]["files"][0]["blob"].as_str().unwrap();
    assert_eq!(
        sandbox.git(["cat-file", "blob", blob]),
        sandbox.read(".ak-loop/verify.json").trim_end()
    );
    // Another verdict is another record, and the page is replaced.
    verify(
        &sandbox,
        r#"{"id":"o1","status":"failed","evidence":"red"}"#,
    );
    sandbox.arkaint(["deliver"]).expect(1);
    assert_eq!(records(&sandbox, "verdict").len(), 2);
    let page = sandbox.git(["notes", "--ref=arkaint/verdict", "show"]);
    assert!(page.contains("### Gate: closed at both lists"), "{page}");
}

#[test]
fn a_long_verdict_is_kept_once_too() {
    let outcomes: Vec<String> = (0..400)
        .map(|n| ONE.replace("o1", &format!("outcome-{n}")))
        .collect();
    let sandbox = asked("", &outcomes.concat());
    let entries: Vec<String> = (0..400)
        .map(|n| {
            PASSED
                .replace("o1", &format!("outcome-{n}"))
                .replace("42 passed", &"many passed ".repeat(20))
        })
        .collect();
    verify(&sandbox, &entries.join(","));
    sandbox.arkaint(["deliver"]).expect(0);
    let ledger = rev(&sandbox, "refs/notes/arkaint/ledger");
    sandbox.arkaint(["deliver"]).expect(0);
    assert_eq!(rev(&sandbox, "refs/notes/arkaint/ledger"), ledger);
    assert_eq!(records(&sandbox, "verdict").len(), 1);
    let page = sandbox.git(["notes", "--ref=arkaint/verdict", "show"]);
    assert!(page.chars().count() < 65_536 && page.contains("### Gate: open"));
}

#[test]
fn one_document_for_a_program() {
    let sandbox = proven();
    for (words, code) in [
        (["deliver", "--json"].as_slice(), 0),
        (&["deliver", "--json", "--check"], 0),
        (&["deliver", "--json", "--merge"], 0),
    ] {
        let ran = sandbox.arkaint(words).expect(code);
        assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
        let document = ran.json();
        let keys: Vec<&String> = document.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "base",
                "branch",
                "contract",
                "found",
                "gate",
                "gates",
                "head",
                "merged",
                "plan_required",
                "table",
                "to_do",
                "tree",
                "v",
                "verdict",
                "why"
            ]
        );
        let merged = document["merged"].as_str().map(str::to_owned);
        let main = words.contains(&"--merge").then(|| rev(&sandbox, "main"));
        assert_eq!(merged, main);
    }
    // Closed too, and the word for a person goes to the other stream.
    let sandbox = asked("", ONE);
    let ran = check(&sandbox, &["--json"]).expect(1);
    assert_eq!(ran.json()["verdict"], "closed");
    assert!(ran.stderr.starts_with("arkaint: the gate is closed: "));
    sandbox
        .arkaint(["deliver", "--json", "--markdown"])
        .expect(2);
}

#[test]
fn a_strangers_text_steers_no_terminal_and_keeps_no_secret() {
    let sandbox = asked("", ONE);
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let evidence = format!("\\u001b[2J{token} @everyone | </code>\\n# done");
    verify(
        &sandbox,
        &format!("{{\"id\":\"o1\",\"status\":\"passed\",\"evidence\":\"{evidence}\"}}"),
    );
    let text = sandbox.arkaint(["deliver"]).expect(0).stdout;
    let markdown = sandbox.arkaint(["deliver", "--markdown"]).expect(0).stdout;
    let json = sandbox.arkaint(["deliver", "--json"]).expect(0).stdout;
    let page = sandbox.git(["notes", "--ref=arkaint/verdict", "show"]);
    let ledger = sandbox.git(["log", "-p", "refs/notes/arkaint/ledger"]);
    for shown in [&text, &markdown, &json, &page, &ledger] {
        assert!(
            !shown.contains(&token) && !shown.contains('\u{1b}'),
            "{shown}"
        );
    }
    assert!(!markdown.contains("@everyone") && !markdown.contains("\n# done"));
    // Nor does the reason for which a file cannot be read.
    let sandbox = asked("", ONE);
    verify(
        &sandbox,
        &format!("{{\"id\":\"o1\",\"status\":\"\\u001b[2J{token}\"}}"),
    );
    for words in [[].as_slice(), &["--json"], &["--markdown"]] {
        let ran = sandbox.arkaint([&["deliver"], words].concat()).expect(1);
        for shown in [&ran.stdout, &ran.stderr] {
            assert!(
                !shown.contains(&token) && !shown.contains('\u{1b}'),
                "{words:?}: {shown}"
            );
        }
    }
    let ledger = sandbox.git(["log", "-p", "--all"]);
    assert!(!ledger.contains(&token), "{ledger}");
}

#[test]
fn the_table_fits_into_eighty_columns() {
    let sandbox = asked(
        "",
        &format!("{ONE}{}", ONE.replace("o1", &"a-long-id-".repeat(12))),
    );
    verify(&sandbox, "");
    let ran = check(&sandbox, &[]).expect(1);
    for line in ran.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
        assert_eq!(line, line.trim_end());
    }
}

/// The first example of git-arkaint-deliver(1) is what is printed, but for ids.
#[test]
fn the_example_of_the_manual_is_what_is_printed() {
    let sandbox = start("");
    sandbox.git(["branch", "-q", "-m", "arkaint/commas"]);
    let outcomes = format!("{ONE}{MANUAL}")
        .replace("o1", "parses")
        .replace("looks", "docs");
    freeze(&sandbox, &outcomes);
    work(&sandbox, "src/list.rs");
    verify(
        &sandbox,
        r#"{"id":"parses","status":"passed","evidence":"42 passed | 0 failed"}"#,
    );
    let ran = check(&sandbox, &[]).expect(3);
    let page = sandbox.arkaint(["man", "deliver"]).expect(0).stdout;
    let example = page.split("\\-\\-check\narkaint/commas").nth(1).unwrap();
    let example = example.split("\n.fi").next().unwrap();
    let example = format!("arkaint/commas{example}\n")
        .replace("\\(pc", "·")
        .replace("\\&", "");
    let ids = regex::Regex::new(r"\b[0-9a-f]{7}([0-9a-f]{5})?\b").unwrap();
    let plain = |text: &str| ids.replace_all(text, "ID").replace("\\-", "-");
    assert_eq!(
        plain(&example),
        plain(&format!("{}{}", ran.stdout, ran.stderr))
    );
    // And the others do what they say.
    sandbox.arkaint(["contract", "attest", "docs"]).expect(0);
    sandbox.arkaint(["deliver", "--merge"]).expect(0);
    let page = sandbox.git(["notes", "--ref=arkaint/verdict", "show", "main^2"]);
    assert!(page.contains("### Gate: open"), "{page}");
}
