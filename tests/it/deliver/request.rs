//! `deliver --pr`: the real `gh` against the scripted forge. What is not real: the forge, TLS, and the login.

use serde_json::json;

use super::{ONE, asked, gate, proven, rev, stop, verify};
use crate::forge::{self, Forge};
use crate::not_run::not_run;
use crate::sandbox::{Ran, Sandbox};

/// A forge whose pull request 7 is at HEAD, and the repository that pushes there. `None`, and one line that says so, without gh.
fn forge(sandbox: &Sandbox, test: &str) -> Option<Forge> {
    if forge::gh().is_none() {
        not_run(test, "gh");
        return None;
    }
    let forge = Forge::start(&sandbox.home().join("forge"), &rev(sandbox, "HEAD"));
    forge.configure(&sandbox.home().join("gh"));
    sandbox.git(["remote", "add", "origin", "git@github.com:o/r.git"]);
    Some(forge)
}

fn deliver(sandbox: &Sandbox, words: &[&str]) -> Ran {
    let output = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(["deliver", "--pr", "7"])
        .args(words)
        .env("GH_CONFIG_DIR", sandbox.home().join("gh"))
        .env("GH_TOKEN", "nobody-checks-this")
        .output()
        .unwrap();
    output.into()
}

#[test]
fn one_comment_of_ours_is_kept_up_to_date() {
    let sandbox = proven();
    let Some(forge) = forge(&sandbox, "one_comment_of_ours_is_kept_up_to_date") else {
        return;
    };
    // Somebody else's with our marker suppresses nothing.
    forge.with(|state| state.comment("mallory", "<!-- arkaint:deliver -->\nall good"));
    let ran = deliver(&sandbox, &[]).expect(0);
    assert!(ran.stderr.contains("commented"), "{}", ran.stderr);
    let written = forge.with(|state| state.comments[1].clone());
    assert_eq!(written["user"]["login"], "operator");
    let body = written["body"].as_str().unwrap();
    assert!(body.starts_with("<!-- arkaint:deliver -->\n"), "{body}");
    assert!(body.contains("| ✅ proven | issue | `o1` |"), "{body}");
    assert!(body.contains(&rev(&sandbox, "HEAD")), "{body}");

    deliver(&sandbox, &[]).expect(0);
    assert_eq!(
        forge.with(|state| state.writes()).len(),
        1,
        "it says so already"
    );

    // Another answer: the same comment, in place.
    forge.with(|state| state.check_runs = vec![run("lint", "completed", "failure")]);
    let ran = deliver(&sandbox, &["--json"]).expect(1);
    assert_eq!(stop(&ran.json()), "closed: checks: failed: lint");
    let comments = forge.with(|state| state.comments.clone());
    assert_eq!(comments.len(), 2);
    let body = comments[1]["body"].as_str().unwrap();
    assert!(body.contains("Gate: closed at checks"), "{body}");

    // To look is to write nothing.
    forge.with(|state| {
        state.check_runs.clear();
        state.asked.clear();
    });
    deliver(&sandbox, &["--check"]).expect(0);
    assert!(forge.with(|state| state.writes()).is_empty());
}

fn run(name: &str, status: &str, conclusion: &str) -> serde_json::Value {
    let conclusion = Some(conclusion).filter(|c| !c.is_empty());
    json!({"id": 1, "name": name, "status": status, "conclusion": conclusion, "head_sha": "x", "app": {"slug": "ci"},
        "started_at": "2026-01-01T00:00:00Z", "completed_at": "2026-01-01T00:01:00Z", "html_url": "https://github.com/o/r/runs/1"})
}

#[test]
fn the_request_and_its_checks_are_gates() {
    let sandbox = proven();
    let Some(forge) = forge(&sandbox, "the_request_and_its_checks_are_gates") else {
        return;
    };
    let head = rev(&sandbox, "HEAD");
    let pull = forge.with(|state| state.pull.clone());
    let judged = |code: i32| {
        deliver(&sandbox, &["--check", "--json"])
            .expect(code)
            .json()
    };

    forge.with(|state| state.pull["draft"] = true.into());
    assert_eq!(stop(&judged(3)), "waiting: request: it is a draft");
    forge.with(|state| {
        state.pull = pull.clone();
        state.pull["state"] = "closed".into();
    });
    assert_eq!(stop(&judged(3)), "waiting: request: it is closed");
    forge.with(|state| {
        state.pull = pull.clone();
        state.pull["head"]["sha"] = "0123456789012345678901234567890123456789".into();
    });
    assert!(stop(&judged(3)).contains("which is not what is delivered here"));
    forge.with(|state| {
        state.pull = pull.clone();
        state.check_runs = vec![run("build", "in_progress", "")];
    });
    assert_eq!(stop(&judged(3)), "waiting: checks: not finished: build");
    forge.with(|state| state.check_runs = vec![run("build", "completed", "success")]);
    let open = judged(0);
    assert_eq!(gate(&open, "checks"), "open: 1 passed");
    assert!(
        gate(&open, "floor").contains("1 checks of the forge"),
        "{open}"
    );

    // A list that cannot be read is not an empty one.
    let path = format!("/commits/{head}/check-runs");
    forge.with(|state| {
        state.instead.insert(path, (500, json!({"message": "no"})));
        state.asked.clear();
    });
    let ran = deliver(&sandbox, &[]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(forge.with(|state| state.writes()).is_empty());
}

#[test]
fn hostile_evidence_is_one_row_each_and_harmless() {
    let hostile = [
        "a | b || c",
        "<script>alert(1)</script><!-- x -->",
        "@everyone #1 fixes #2 !3",
        "<!-- arkaint:deliver -->",
        "export OPENAI_API_KEY=sk-proj-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z",
        "\u{1b}[31mred\u{1b}[0m \u{202e}evil \u{7}",
        "line one\nline two\r\nline three",
        "```\n# heading\n```",
    ];
    let outcomes: String = (0..hostile.len())
        .map(|n| {
            format!(
                "[[outcomes]]\nid = \"h{n}\"\ncheck = {{kind = \"command\", command = \"true\"}}\n"
            )
        })
        .collect();
    let sandbox = asked("", &outcomes);
    let entries: Vec<String> = hostile
        .iter()
        .enumerate()
        .map(|(n, text)| {
            json!({"id": format!("h{n}"), "status": "passed", "evidence": text}).to_string()
        })
        .collect();
    verify(&sandbox, &entries.join(","));
    let Some(forge) = forge(&sandbox, "hostile_evidence_is_one_row_each_and_harmless") else {
        return;
    };
    deliver(&sandbox, &[]).expect(0);
    let body = forge.with(|state| state.comments[0]["body"].as_str().unwrap().to_owned());
    let rows: Vec<&str> = body
        .lines()
        .filter(|l| l.starts_with("| ✅ proven | issue |"))
        .collect();
    assert_eq!(rows.len(), hostile.len(), "{body}");
    for row in &rows {
        assert_eq!(row.matches(" | ").count(), 5, "six cells: {row}");
        assert!(
            !row.chars().any(|c| c.is_control() || c == '\u{202e}'),
            "{row:?}"
        );
    }
    assert_eq!(body.matches("<!--").count(), 1, "our marker alone: {body}");
    for never in [
        "<script",
        "@everyone",
        " #1 ",
        "sk-proj-",
        "\u{1b}",
        "\n# heading",
    ] {
        assert!(!body.contains(never), "{never:?}: {body}");
    }
    assert!(body.contains("REDACTED"), "{body}");
    // The same in the page on the commit, and on the terminal.
    let page = sandbox.git(["notes", "--ref=arkaint/verdict", "show", "HEAD"]);
    assert!(!page.contains("sk-proj-") && !page.contains('\u{1b}'));
    let shown = sandbox.arkaint(["deliver", "--check"]).expect(0).stdout;
    assert!(
        !shown.contains("sk-proj-") && !shown.contains('\u{1b}'),
        "{shown}"
    );
}

#[test]
fn without_a_remote_there_is_no_request() {
    let sandbox = asked("", ONE);
    let ran = sandbox.arkaint(["deliver", "--pr", "7"]).expect(2);
    assert!(ran.stderr.contains("has no remote"), "{}", ran.stderr);
}
