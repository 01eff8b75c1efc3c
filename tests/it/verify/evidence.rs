//! What is sealed: the tree, the file and the output, and for which outcomes it stands.

use serde_json::{Value, json};

use super::{CONFIG, FILE, file, freeze, outcomes, ready, seals, sha256, tree, verify};
use crate::evidence_schema;

#[test]
fn what_is_sealed_is_the_tree_the_file_and_the_output() {
    let sandbox = ready();
    let digest = freeze(&sandbox);
    // Staged, changed, deleted, untracked, ignored, with an odd name: all as git sees it.
    sandbox.write("staged", "one\n");
    sandbox.git(["add", "staged"]);
    sandbox.write("staged", "two\n");
    sandbox.write("odd \"name\"\n", "x");
    sandbox.write("made.log", "ignored");
    sandbox.write(".arkaint/x", "scratch");
    std::fs::remove_file(sandbox.repo.join("README.md")).unwrap();
    let index = std::fs::read(sandbox.repo.join(".git/index")).unwrap();

    let ran = verify(&sandbox, &["--json", "--", "sh", "check.sh", "prints"]).expect(0);
    let told = ran.json();
    assert!(ran.stderr.contains("checked prints"), "{}", ran.stderr);
    let (tree, head) = (tree(&sandbox), sandbox.git(["rev-parse", "HEAD"]));
    let file = file(&sandbox);
    assert_eq!(
        file["arkaint"],
        json!({"v": 1, "head": head, "tree": tree, "contract": digest})
    );
    assert_eq!(file["command"], "sh check.sh prints");
    assert_eq!(file["exitCode"], 0);
    assert_eq!(
        outcomes(&sandbox),
        ["prints passed checked prints (exit 0)"]
    );
    let at = file["ranAt"].as_str().unwrap();
    let shape = at.replace(|c: char| c.is_ascii_digit(), "0");
    assert_eq!(shape, "0000-00-00T00:00:00.000Z");

    let seals = seals(&sandbox);
    let seal = &seals[0];
    assert_eq!(seals.len(), 1);
    assert_eq!(seal["tree"], tree.as_str());
    assert_eq!(seal["commit"], head.as_str());
    assert_eq!(seal["contract"], digest.as_str());
    assert_eq!(seal["sha256"], sha256(&sandbox, FILE).as_str());
    assert_eq!(seal["argv"], json!(["sh", "check.sh", "prints"]));
    assert_eq!(seal["outcomes"], json!(["prints"]));
    assert_eq!(seal["run"], Value::Null);
    let output = sandbox.sh("echo checked prints | sha256sum");
    assert_eq!(seal["output_sha256"], output.split(' ').next().unwrap());
    assert_eq!(seal["output_bytes"], 15);
    assert_eq!(told["files"][0]["sha256"], seal["sha256"]);
    assert_eq!(told["tree"], tree.as_str());

    let log = sandbox.arkaint(["log"]).expect(0).stdout;
    let line = format!(
        "sealed {FILE} on {}: sh check.sh prints (exit 0): prints",
        &tree[..12]
    );
    assert!(log.contains(&line), "{log}");

    // Nobody's index was touched, and nothing is left.
    assert_eq!(
        std::fs::read(sandbox.repo.join(".git/index")).unwrap(),
        index
    );
    let left = sandbox.sh("ls .git/arkaint");
    assert!(!left.contains("verify"), "{left}");
    let test = "what_is_sealed_is_the_tree_the_file_and_the_output";
    if let Some(taken) = evidence_schema::taken(test, "verify", &[&sandbox.read(FILE)]) {
        assert_eq!(taken, [true]);
    }
}

#[test]
fn a_command_that_changes_the_content_seals_nothing() {
    let sandbox = ready();
    let ran = verify(
        &sandbox,
        &[
            "--",
            "sh",
            "-c",
            "echo x >> README.md; echo y > new; echo z > a.log",
        ],
    )
    .expect(1);
    assert!(
        ran.stderr.contains(
            "the command changed 2 files (README.md, new): nothing was sealed; run it again"
        ),
        "{}",
        ran.stderr
    );
    assert!(!sandbox.exists(".ak-loop"));
    assert!(seals(&sandbox).is_empty());
    // What is ignored, and our own folders, may change.
    verify(
        &sandbox,
        &[
            "--",
            "sh",
            "-c",
            "echo z >> a.log; mkdir -p .arkaint; echo > .arkaint/y",
        ],
    )
    .expect(0);
    assert_eq!(seals(&sandbox).len(), 1);
}

#[test]
fn a_change_that_the_index_hides_is_seen() {
    let sandbox = ready();
    sandbox.git(["update-index", "--assume-unchanged", "README.md"]);
    sandbox.git(["update-index", "--skip-worktree", "check.sh"]);
    sandbox.write("README.md", "# else\n");
    sandbox.write("check.sh", "true # else\n");
    verify(&sandbox, &["--", "true"]).expect(0);
    let sealed = seals(&sandbox)[0]["tree"].as_str().unwrap().to_owned();
    for path in ["README.md", "check.sh"] {
        let blob = sandbox.git(["rev-parse", &format!("{sealed}:{path}")]);
        assert_eq!(blob, sandbox.git(["hash-object", path]), "{path}");
    }
    let hidden = sandbox.git(["ls-files", "-v"]);
    assert!(
        hidden.contains("h README.md") && hidden.contains("S check.sh"),
        "{hidden}"
    );
}

#[test]
fn a_failure_is_written_as_failed_evidence() {
    let sandbox = ready();
    let named =
        |command: &str| verify(&sandbox, &["--outcome", "o", "--", "sh", "-c", command]).expect(1);
    let told = named("echo bad; echo; exit 7");
    assert_eq!(file(&sandbox)["exitCode"], 7);
    assert_eq!(outcomes(&sandbox), ["o failed bad (exit 7)"]);
    assert!(
        told.stdout.starts_with("failed on tree "),
        "{}",
        told.stdout
    );
    named("echo was; kill -9 $$");
    assert_eq!(file(&sandbox)["exitCode"], 137);
    assert_eq!(outcomes(&sandbox), ["o failed was (signal 9)"]);
    assert_eq!(seals(&sandbox)[1]["exit"], 137);
    // A deadline: that of the project's own checks, and nothing stays behind.
    sandbox.write("arkaint.toml", &CONFIG.replace("20s", "1s"));
    sandbox.commit_all("shorter");
    named("(sleep 47.11 & ) ; sleep 47.11");
    assert_eq!(file(&sandbox)["exitCode"], 124);
    assert_eq!(
        outcomes(&sandbox),
        ["o failed no output (timed out after 1s)"]
    );
    let left = sandbox.sh("ps -eo args | grep -c '[s]leep 47.11' || true");
    assert_eq!(left.trim(), "0");
}

#[test]
fn the_output_may_be_of_any_size_and_kind() {
    let sandbox = ready();
    let big = "yes 'a line of some length, to be counted' | head -c 52428800";
    verify(&sandbox, &["-q", "--outcome", "o", "--", "sh", "-c", big]).expect(0);
    let sum = sandbox.sh(&format!("({big}) | sha256sum"));
    let seal = &seals(&sandbox)[0];
    assert_eq!(seal["output_sha256"], sum.split(' ').next().unwrap());
    assert_eq!(seal["output_bytes"], 52_428_800);

    let odd = r"printf 'ok \377\376 \033[31mred\033[0m \001 end\n'; printf '\r\n'";
    verify(&sandbox, &["--outcome", "o", "--", "sh", "-c", odd]).expect(0);
    let sum = sandbox.sh(&format!("({odd}) | sha256sum"));
    assert_eq!(
        seals(&sandbox)[1]["output_sha256"],
        sum.split(' ').next().unwrap()
    );
    assert_eq!(
        outcomes(&sandbox),
        ["o passed ok \u{fffd}\u{fffd} red <U+0001> end (exit 0)"]
    );
}

#[test]
fn secrets_are_redacted_in_what_is_written() {
    let sandbox = ready();
    let token = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6");
    let command = format!("echo 'sent with {token}'");
    let ran = verify(
        &sandbox,
        &["--json", "--outcome", "o", "--", "sh", "-c", &command],
    )
    .expect(0);
    let ledger = sandbox.sh("git log -p --format= refs/notes/arkaint/ledger");
    for text in [&sandbox.read(FILE), &ran.stdout, &ran.stderr, &ledger] {
        assert!(
            text.contains("sent with") && !text.contains(&token),
            "{text}"
        );
    }
    let sum = sandbox.sh(&format!("{command} | sha256sum"));
    assert_eq!(
        seals(&sandbox)[0]["output_sha256"],
        sum.split(' ').next().unwrap()
    );
}

#[test]
fn a_command_shows_the_outcomes_that_have_it() {
    let sandbox = ready();
    freeze(&sandbox);
    verify(&sandbox, &["--", "bash", "-c", "sh check.sh piped | cat"]).expect(0);
    assert_eq!(outcomes(&sandbox), ["piped passed checked piped (exit 0)"]);
    // As the contract runs it: a failure within the pipe fails it.
    std::fs::write(sandbox.home().join("exit.piped"), "4").unwrap();
    verify(&sandbox, &["--", "bash", "-c", "sh check.sh piped | cat"]).expect(1);
    assert_eq!(outcomes(&sandbox), ["piped failed checked piped (exit 4)"]);
    // By a name that the contract shows otherwise: recorded, and not sealed.
    let ran = verify(&sandbox, &["--outcome", "parses", "--", "echo", "fine"]).expect(0);
    assert!(
        ran.stderr.contains("parses is to be shown by make 'trailing commas': what this command says of it is recorded, and not sealed"),
        "{}",
        ran.stderr
    );
    assert_eq!(outcomes(&sandbox)[0], "parses passed fine (exit 0)");
    assert_eq!(seals(&sandbox)[2]["outcomes"], json!(["piped"]));
    // None: the ids that there are, and a file all the same.
    let ran = verify(&sandbox, &["--", "echo", "else"]).expect(0);
    assert!(
        ran.stderr
            .contains("is not that of any outcome or item (parses, prints, piped, project/lint)"),
        "{}",
        ran.stderr
    );
    assert_eq!(file(&sandbox)["command"], "echo else");
}

#[test]
fn other_outcomes_stay_while_they_are_of_this_tree() {
    let sandbox = ready();
    verify(&sandbox, &["--outcome", "a", "--", "echo", "first"]).expect(0);
    let mut edited = file(&sandbox);
    edited["note"] = json!("mine");
    edited["outcomes"][0]["seen"] = json!(3);
    let own = json!({"id": "own", "status": "passed", "evidence": "said the worker"});
    let blank = json!({"id": "blank", "status": "passed"});
    edited["outcomes"]
        .as_array_mut()
        .unwrap()
        .extend([own, blank]);
    sandbox.write(FILE, &edited.to_string());
    // The worker touched the file: nothing in it is sealed any more.
    let ran = verify(&sandbox, &["--outcome", "b", "--", "echo", "second"]).expect(0);
    assert_eq!(
        outcomes(&sandbox),
        [
            "b passed second (exit 0)",
            "a passed first (exit 0)",
            "own passed said the worker"
        ]
    );
    assert!(
        ran.stderr
            .contains("nothing of their own shows them: blank"),
        "{}",
        ran.stderr
    );
    assert_eq!(file(&sandbox)["note"], "mine");
    assert_eq!(file(&sandbox)["outcomes"][1]["seen"], 3);
    assert_eq!(seals(&sandbox)[1]["outcomes"], json!(["b"]));
    // A failure says nothing of what another command showed: no exit code for all.
    verify(&sandbox, &["--outcome", "c", "--", "false"]).expect(1);
    assert_eq!(seals(&sandbox)[2]["outcomes"], json!(["b", "c"]));
    assert_eq!(file(&sandbox).get("exitCode"), None);
    assert_eq!(
        outcomes(&sandbox)[..2],
        ["c failed no output (exit 1)", "b passed second (exit 0)"]
    );
    // Another tree: gone, and said.
    sandbox.write("README.md", "# other\n");
    let ran = verify(&sandbox, &["--outcome", "d", "--", "echo", "third"]).expect(0);
    assert_eq!(outcomes(&sandbox), ["d passed third (exit 0)"]);
    assert!(
        ran.stderr.contains("not shown on this tree: c, b, a, own"),
        "{}",
        ran.stderr
    );
    assert_eq!(file(&sandbox)["note"], "mine");
}

#[test]
fn recorders_at_once_keep_what_the_others_wrote() {
    let sandbox = ready();
    let start = |id: &str| {
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_git-arkaint"));
        command
            .args(["verify", "-q", "--outcome", id, "--", "true"])
            .spawn()
            .unwrap()
    };
    let ids = ["a", "b", "c", "d", "e"];
    for mut child in ids.map(start) {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    let mut all = outcomes(&sandbox);
    all.sort();
    assert_eq!(all, ids.map(|id| format!("{id} passed no output (exit 0)")));
    let seals = seals(&sandbox);
    let last = seals
        .iter()
        .find(|seal| seal["sha256"] == sha256(&sandbox, FILE).as_str());
    assert_eq!(last.unwrap()["outcomes"], json!(ids));
}

#[test]
fn an_item_of_the_project_is_proven_in_dod_json() {
    let sandbox = ready();
    let before = json!({
        "team": "x",
        "project": [
            {"id": "other", "status": "passed", "evidence": "e"},
            {"id": "lint", "status": "passed", "evidence": "old", "by": "me"},
            {"id": "lint", "status": "failed"},
            7
        ],
        "outcomes": [{"id": "o", "status": "failed", "evidence": "no"}]
    });
    sandbox.write(".ak-loop/dod.json", &before.to_string());
    let words = ["--outcome", "o", "--", "sh", "check.sh", "lint"];
    let ran = verify(&sandbox, &words).expect(0);
    let after: Value = serde_json::from_str(&sandbox.read(".ak-loop/dod.json")).unwrap();
    let at = after["project"][1]["at"].clone();
    assert_eq!(at, file(&sandbox)["ranAt"]);
    assert_eq!(
        after,
        json!({
            "team": "x",
            "project": [
                {"id": "other", "status": "passed", "evidence": "e"},
                {"id": "lint", "status": "passed", "evidence": "checked lint (exit 0)", "by": "me", "at": at},
                7
            ],
            "outcomes": before["outcomes"]
        })
    );
    let seals = seals(&sandbox);
    let dod = seals
        .iter()
        .find(|seal| seal["file"] == ".ak-loop/dod.json")
        .unwrap();
    assert_eq!(
        dod["sha256"],
        sha256(&sandbox, ".ak-loop/dod.json").as_str()
    );
    assert_eq!(dod["outcomes"], json!(["lint"]));
    assert!(
        ran.stderr
            .contains("o is failed in .ak-loop/dod.json, which speaks first: mend that entry"),
        "{}",
        ran.stderr
    );
    std::fs::write(sandbox.home().join("exit.lint"), "1").unwrap();
    verify(&sandbox, &words[2..]).expect(1);
    let after: Value = serde_json::from_str(&sandbox.read(".ak-loop/dod.json")).unwrap();
    assert_eq!(after["project"][1]["status"], "failed");
}

#[test]
fn the_gate_takes_as_sealed_what_the_recorder_answers_for_and_no_more() {
    let sandbox = ready();
    freeze(&sandbox);
    sandbox.write("work.txt", "done\n");
    sandbox.commit_all("work");
    let rows = || {
        let told = sandbox.arkaint(["deliver", "--check", "--json"]).json();
        let rows = told["table"]["rows"].as_array().unwrap().clone();
        let word = |row: &Value, key: &str| row[key].as_str().unwrap_or("-").to_owned();
        rows.iter()
            .map(|row| [word(row, "id"), word(row, "verdict"), word(row, "source")].join(" "))
            .collect::<Vec<_>>()
    };
    let last = [
        "parses missing ",
        "prints missing ",
        "piped missing ",
        "looks held ",
    ];
    assert_eq!(rows()[1..], last);
    verify(&sandbox, &["--", "sh", "check.sh", "lint"]).expect(0);
    verify(&sandbox, &["--", "sh", "check.sh", "prints"]).expect(0);
    verify(&sandbox, &["--outcome", "parses", "--", "true"]).expect(0);
    assert_eq!(
        rows()[..3],
        [
            "lint proven arkaint · sealed",
            "parses proven worker · declared",
            "prints proven arkaint · sealed"
        ]
    );
}
