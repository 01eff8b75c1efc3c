//! `git arkaint contract` as a user runs it: what is frozen stays as it was, and a word holds for one commit.

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};

const CONTRACT: &str = r#"
intent = "Trailing commas are accepted"
[[outcomes]]
id = "parses"
description = "A list may end with a comma"
check = { kind = "command", command = "cargo test trailing" }
[[outcomes]]
id = "docs"
check = { kind = "manual", note = "the grammar page shows it" }
"#;

const DOD: &str = r#"
[[dod]]
id = "tests"
kind = "command"
command = ["make", "test"]
[[dod]]
id = "no-dbg"
kind = "pattern-absent"
description = "No debug output is left"
pattern = 'dbg!\('
paths = ["src/**"]
"#;

/// On `arkaint/work`, cut from `main`, where `arkaint.toml` asks for two items; `contract.toml` lies outside the repository.
fn ready() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "arkaint.toml",
        &format!("[checkpoint]\ntest = false\n{DOD}"),
    );
    sandbox.commit_all("add arkaint.toml");
    sandbox.git(["switch", "-q", "-c", "arkaint/work"]);
    std::fs::write(file(&sandbox), CONTRACT).unwrap();
    sandbox
}

fn file(sandbox: &Sandbox) -> String {
    let path = sandbox.home().join("contract.toml");
    path.to_str().unwrap().to_owned()
}

fn contract(sandbox: &Sandbox, words: &[&str]) -> Ran {
    sandbox.arkaint([&["contract"], words].concat())
}

fn freeze(sandbox: &Sandbox, more: &[&str]) -> Value {
    let file = file(sandbox);
    let words = [&["freeze", &file, "--json"], more].concat();
    contract(sandbox, &words).expect(0).json()
}

fn show(sandbox: &Sandbox) -> Value {
    contract(sandbox, &["show", "--json"]).expect(0).json()
}

/// `project/tests`, `issue/docs`: the items in the order in which they are shown.
fn items(shown: &Value) -> Vec<String> {
    let items = shown["items"].as_array().unwrap().iter();
    items
        .map(|item| {
            format!(
                "{}/{}",
                item["list"].as_str().unwrap(),
                item["id"].as_str().unwrap()
            )
        })
        .collect()
}

fn records(sandbox: &Sandbox) -> Vec<Value> {
    let log = sandbox.arkaint(["log", "--json", "--kind", "contract,approval"]);
    log.expect(0).json()["records"].as_array().unwrap().clone()
}

#[test]
fn what_was_frozen_is_shown_and_its_digest_is_that_of_the_blob() {
    let sandbox = ready();
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let told = contract(&sandbox, &["freeze", &file(&sandbox), "--task", "commas"]).expect(0);
    let digest = told.stdout.trim().to_owned();
    let by_git = sandbox.sh(
        "git cat-file blob $(git ls-tree --name-only refs/notes/arkaint/ledger:blobs) | sha256sum",
    );
    assert_eq!(by_git.split(' ').next(), Some(digest.as_str()));
    assert!(
        told.stderr
            .contains("is open for arkaint/work: 2 outcomes, 2 items of the project"),
        "{}",
        told.stderr
    );
    let shown = show(&sandbox);
    assert_eq!(shown["contract"]["digest"], digest.as_str());
    assert_eq!(shown["contract"]["base"], head.as_str());
    assert_eq!(shown["contract"]["binding"], "dated");
    assert_eq!(shown["contract"]["task"], "commas");
    assert_eq!(
        items(&shown),
        [
            "project/tests",
            "project/no-dbg",
            "issue/parses",
            "issue/docs"
        ]
    );
    assert!(
        shown["items"]
            .as_array()
            .unwrap()
            .iter()
            .all(|item| item["state"] == "unknown")
    );
    let text = contract(&sandbox, &["show"]).expect(0);
    for line in [
        "intent   Trailing commas are accepted",
        "unknown   project/tests   command         make test",
        "unknown   project/no-dbg  pattern-absent  dbg!\\( in src/**: No debug output is left",
        "unknown   issue/parses    command         cargo test trailing: A list may end with a comma",
        "unknown   issue/docs      manual          (the grammar page shows it)",
    ] {
        assert!(
            text.stdout.lines().any(|l| l == line),
            "{line}\n{}",
            text.stdout
        );
    }
    let status = sandbox.arkaint(["status"]).expect(0).stdout;
    assert!(
        status.contains(&format!(
            "contract     {}: 2 outcomes, 2 items of the project\n",
            &digest[..12]
        )),
        "{status}"
    );
    assert_eq!(contract(&sandbox, &["show", "-q"]).expect(0).stderr, "");
    // By its digest from anywhere, and with git's garbage gone.
    sandbox.git(["gc", "-q", "--prune=now"]);
    sandbox.git(["switch", "-q", "main"]);
    let by_digest = contract(&sandbox, &["show", &digest[..7], "--json"])
        .expect(0)
        .json();
    assert_eq!(by_digest["contract"]["branch"], "arkaint/work");
    assert_eq!(items(&show(&sandbox)), ["project/tests", "project/no-dbg"]);
    let log = sandbox
        .arkaint(["log", "--kind", "contract"])
        .expect(0)
        .stdout;
    assert!(
        log.contains(&format!(
            "{} for arkaint/work: 2 outcomes, 2 items of the project commas",
            &digest[..12]
        )),
        "{log}"
    );
}

#[test]
fn a_second_freeze_replaces_the_first_and_another_task_closes_it() {
    let sandbox = ready();
    let first = freeze(&sandbox, &["--task", "commas"]);
    assert_eq!(first["replaces"], Value::Null);
    std::fs::write(file(&sandbox), CONTRACT.replace("parses", "reads")).unwrap();
    let second = freeze(&sandbox, &["--task", "commas"]);
    assert_eq!(second["replaces"], first["digest"]);
    assert_eq!(show(&sandbox)["contract"]["digest"], second["digest"]);
    // The first one is still there for whoever names it.
    let old = contract(
        &sandbox,
        &["show", first["digest"].as_str().unwrap(), "--json"],
    );
    assert!(items(&old.expect(0).json()).contains(&"issue/parses".to_owned()));
    sandbox.write("a", "a");
    sandbox
        .arkaint(["checkpoint", "--task", "commas"])
        .expect(0);
    assert_eq!(show(&sandbox)["contract"]["digest"], second["digest"]);
    sandbox.write("a", "b");
    sandbox
        .arkaint(["checkpoint", "--task", "something else"])
        .expect(0);
    let shown = show(&sandbox);
    assert_eq!(shown["contract"], Value::Null);
    assert_eq!(shown["closed"]["digest"], second["digest"]);
    assert_eq!(shown["closed"]["task"], "something else");
    assert_eq!(items(&shown), ["project/tests", "project/no-dbg"]);
    let no = contract(&sandbox, &["attest", "docs"]).expect(2);
    assert!(
        no.stderr.contains("no contract is open on arkaint/work"),
        "{}",
        no.stderr
    );
}

#[test]
fn a_branch_that_edits_what_the_project_asks_for_is_asked_as_before() {
    let sandbox = ready();
    let start = sandbox.git(["rev-parse", "HEAD"]);
    let edited = "[checkpoint]\ntest = false\n[deliver]\nbase = \"arkaint/work\"\n[evidence]\nbinding = \"off\"\n";
    // Before the contract is frozen, and after.
    sandbox.write("arkaint.toml", edited);
    sandbox.commit_all("ask for nothing");
    let frozen = freeze(&sandbox, &[]);
    assert_eq!(
        (frozen["base"].as_str(), &frozen["binding"]),
        (Some(start.as_str()), &"dated".into())
    );
    assert_eq!(
        items(&show(&sandbox))[..2],
        ["project/tests", "project/no-dbg"]
    );
    sandbox.write("arkaint.toml", &edited.replace("off", "tree"));
    sandbox.commit_all("again");
    assert_eq!(
        items(&show(&sandbox))[..2],
        ["project/tests", "project/no-dbg"]
    );
    // Where no contract is open, the base says it all the same.
    sandbox.git(["switch", "-q", "-c", "arkaint/other"]);
    sandbox.git(["branch", "-q", "arkaint/named", "main"]);
    assert_eq!(show(&sandbox)["contract"], Value::Null);
    assert_eq!(
        freeze(&sandbox, &["--branch", "arkaint/named"])["base"],
        start.as_str()
    );
    assert_eq!(
        freeze(&sandbox, &["--base", "main"])["base"],
        start.as_str()
    );
}

#[test]
fn the_base_is_the_configured_one_where_the_branchs_own_base_says_so() {
    let sandbox = ready();
    sandbox.git(["switch", "-q", "main"]);
    sandbox.git(["switch", "-q", "-c", "develop"]);
    sandbox.write(
        "arkaint.toml",
        "[checkpoint]\ntest = false\n[deliver]\nbase = \"develop\"\n",
    );
    sandbox.commit_all("develop");
    let develop = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.git(["switch", "-q", "-c", "arkaint/x"]);
    sandbox.write("a", "a");
    sandbox.commit_all("work");
    assert_eq!(freeze(&sandbox, &[])["base"], develop.as_str());
    let no = contract(&sandbox, &["freeze", &file(&sandbox), "--base", "nowhere"]).expect(2);
    assert!(
        no.stderr.contains("the base nowhere is no branch here"),
        "{}",
        no.stderr
    );
}

#[test]
fn a_contract_that_was_tampered_with_is_not_gone_on_without() {
    let sandbox = ready();
    let frozen = freeze(&sandbox, &[]);
    let blob = frozen["blob"].as_str().unwrap();
    // The record is made to name other bytes.
    let other = sandbox.sh("printf '{}' | git hash-object -w --stdin");
    let ledger = sandbox.git(["rev-parse", "refs/notes/arkaint/ledger"]);
    let note = |sed: &str| {
        sandbox.sh(&format!(
            "git notes --ref=arkaint/ledger show {base} | sed '{sed}' > \"$HOME/note\"
             git notes --ref=arkaint/ledger add -f -F \"$HOME/note\" {base} 2>/dev/null",
            base = frozen["base"].as_str().unwrap()
        ))
    };
    note(&format!("s/{blob}/{}/", other.trim()));
    let no = contract(&sandbox, &["show"]).expect(3);
    assert!(
        no.stderr.contains("hashes to 44136fa355b3"),
        "{}",
        no.stderr
    );
    assert!(no.stderr.contains("hint: "), "{}", no.stderr);
    let status = sandbox.arkaint(["status", "--json"]).expect(0).json();
    let fault = status["contract"]["fault"].as_str().unwrap();
    assert!(fault.contains("cannot be relied on"), "{fault}");
    contract(&sandbox, &["attest", "docs"]).expect(3);
    // The record is made another branch's.
    sandbox.git(["update-ref", "refs/notes/arkaint/ledger", &ledger]);
    contract(&sandbox, &["show"]).expect(0);
    note("s#\"branch\":\"arkaint/work\"#\"branch\":\"arkaint/x\"#");
    sandbox.git(["switch", "-q", "-c", "arkaint/x"]);
    let no = contract(&sandbox, &["show"]).expect(3);
    assert!(no.stderr.contains("names another branch"), "{}", no.stderr);
    // The bytes are gone.
    sandbox.git(["switch", "-q", "arkaint/work"]);
    sandbox.git(["update-ref", "refs/notes/arkaint/ledger", &ledger]);
    let (folder, rest) = blob.split_at(2);
    std::fs::remove_file(sandbox.repo.join(".git/objects").join(folder).join(rest)).unwrap();
    let no = contract(&sandbox, &["show", "--json"]).expect(3);
    assert!(
        no.stderr
            .contains(&format!("its blob {blob} is not in this repository")),
        "{}",
        no.stderr
    );
    // A new one mends it.
    freeze(&sandbox, &[]);
    contract(&sandbox, &["show"]).expect(0);
}

#[test]
fn a_bad_file_is_refused_before_anything_is_written() {
    let sandbox = ready();
    for (text, why) in [
        (
            CONTRACT.replace("outcomes", "outcome"),
            "unknown key \"outcome\"; did you mean \"outcomes\"?",
        ),
        (
            CONTRACT.replace("\"docs\"", "\"parses\""),
            "outcomes[1].id: \"parses\" is the id of outcomes[0] too",
        ),
        ("intent = 'x'".to_owned(), "outcomes: expected at least one"),
    ] {
        std::fs::write(file(&sandbox), text).unwrap();
        let no = contract(&sandbox, &["freeze", &file(&sandbox)]).expect(2);
        assert_eq!(
            no.stderr,
            format!(
                "arkaint: {}: {why}\nhint: git arkaint man contract\n",
                file(&sandbox)
            )
        );
    }
    contract(&sandbox, &["freeze", "nowhere.toml"]).expect(2);
    std::fs::write(file(&sandbox), CONTRACT).unwrap();
    contract(&sandbox, &["freeze", &file(&sandbox), "--task", " "]).expect(2);
    contract(&sandbox, &["show", "1234567"]).expect(2);
    contract(&sandbox, &["show", "123"]).expect(2);
    sandbox.git(["switch", "-q", "--detach"]);
    contract(&sandbox, &["freeze", &file(&sandbox)]).expect(2);
    contract(&sandbox, &["show"]).expect(0);
    assert_eq!(sandbox.git(["for-each-ref", "refs/notes"]), "");
}

#[test]
fn what_no_agent_should_start_on_is_frozen_and_said() {
    let sandbox = ready();
    std::fs::write(
        file(&sandbox),
        format!("{CONTRACT}\n[[ambiguities]]\nquestion = \"Which grammar?\"\n"),
    )
    .unwrap();
    let ran = contract(&sandbox, &["freeze", &file(&sandbox), "--json"]).expect(0);
    assert_eq!(ran.json()["dispatchable"], false);
    assert!(
        ran.stderr
            .contains("a question is open: \"Which grammar?\""),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_manual_outcome_is_attested_on_one_commit_and_no_other() {
    let sandbox = ready();
    freeze(&sandbox, &[]);
    let docs = |sandbox: &Sandbox| {
        let shown = show(sandbox);
        let found = shown["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|item| item["id"] == "docs")
            .cloned();
        found.unwrap()
    };
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let said = contract(&sandbox, &["attest", "docs", "--json"])
        .expect(0)
        .json();
    assert_eq!(said["commit"], head.as_str());
    assert_eq!(said["by"], "Test User <test@example.invalid>");
    assert_eq!(
        (&docs(&sandbox)["state"], &docs(&sandbox)["by"]),
        (&"attested".into(), &said["by"])
    );
    // The same tree on another commit is another commit.
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "more"]);
    assert_eq!(docs(&sandbox)["state"], "unknown");
    contract(&sandbox, &["attest", "docs", "--commit", &head[..7]]).expect(0);
    assert_eq!(docs(&sandbox)["state"], "unknown");
    // Another contract asks again.
    contract(&sandbox, &["attest", "docs"]).expect(0);
    assert_eq!(docs(&sandbox)["state"], "attested");
    freeze(&sandbox, &["--task", "other"]);
    assert_eq!(docs(&sandbox)["state"], "unknown");
    for (words, why) in [
        (
            ["attest", "doc"].as_slice(),
            "has no outcome doc\nhint: git arkaint contract attest docs",
        ),
        (
            &["attest", "parses"],
            "is shown by a command, not by a person's word",
        ),
        (
            &["attest", "docs", "--commit", "deadbee"],
            "no commit here begins with deadbee",
        ),
        (
            &["attest", "docs", "--commit", &head[..6]],
            "is no id of a commit (7 or more digits)",
        ),
    ] {
        let no = contract(&sandbox, words).expect(2);
        assert!(no.stderr.contains(why), "{}", no.stderr);
    }
}

#[test]
fn a_commit_is_approved_by_its_id_while_it_is_a_tip() {
    let sandbox = ready();
    let head = sandbox.git(["rev-parse", "HEAD"]);
    for (word, why) in [
        (
            "HEAD",
            format!(
                "HEAD is no id of a commit (7 or more digits)\nhint: git arkaint contract approve {}",
                &head[..12]
            ),
        ),
        ("arkaint/work", "is no id of a commit".to_owned()),
        ("--help-me", "unexpected argument".to_owned()),
        ("0000000", "no commit here begins with 0000000".to_owned()),
        (
            &sandbox.git(["rev-parse", "HEAD^{tree}"])[..9],
            "no commit here begins with".to_owned(),
        ),
    ] {
        let no = contract(&sandbox, &["approve", word]).expect(2);
        assert!(no.stderr.contains(&why), "{word}: {}", no.stderr);
    }
    let said = contract(&sandbox, &["approve", &head[..7], "--json"])
        .expect(0)
        .json();
    assert_eq!(said["commit"], head.as_str());
    assert_eq!(
        said["tree"],
        sandbox.git(["rev-parse", "HEAD^{tree}"]).as_str()
    );
    assert_eq!(said["contract"], Value::Null);
    let frozen = freeze(&sandbox, &[]);
    let again = contract(&sandbox, &["approve", &head.to_uppercase()]).expect(0);
    assert!(
        again.stderr.contains("; before, by Test User"),
        "{}",
        again.stderr
    );
    let tip = |sandbox: &Sandbox| sandbox.git(["rev-parse", "HEAD"]);
    sandbox.git(["switch", "-q", "main"]);
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "on main"]);
    // Another branch's tip is approved from here; what no branch ends in is not.
    let said = contract(&sandbox, &["approve", &head, "--json"])
        .expect(0)
        .json();
    assert_eq!(said["contract"], frozen["digest"]);
    sandbox.git(["switch", "-q", "arkaint/work"]);
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "a new push"]);
    let no = contract(&sandbox, &["approve", &head]).expect(2);
    assert!(
        no.stderr
            .contains(&format!("{} is the tip of no branch", &head[..12]))
            && no.stderr.contains(&tip(&sandbox)[..12]),
        "{}",
        no.stderr
    );
    let log = sandbox
        .arkaint(["log", "--kind", "approval"])
        .expect(0)
        .stdout;
    assert!(
        log.contains(&format!(
            "approval   commit {} by Test User <test@example.invalid>",
            &head[..12]
        )),
        "{log}"
    );
}

#[test]
fn a_plan_is_approved_for_the_open_contract_by_the_digest_of_its_text() {
    let sandbox = ready();
    sandbox.write(".ak-loop/plan.md", "1. read\n2. write\n");
    let no = contract(&sandbox, &["approve-plan", ".ak-loop/plan.md"]).expect(2);
    assert!(no.stderr.contains("no contract is open"), "{}", no.stderr);
    let frozen = freeze(&sandbox, &[]);
    assert_eq!(show(&sandbox)["plan"], Value::Null);
    contract(&sandbox, &["approve-plan", ".ak-loop/plan.md"]).expect(0);
    let sum = sandbox.sh("sha256sum < .ak-loop/plan.md");
    assert_eq!(
        show(&sandbox)["plan"]["sha256"],
        sum.split(' ').next().unwrap()
    );
    sandbox.write("blank.md", " \n");
    contract(&sandbox, &["approve-plan", "blank.md"]).expect(2);
    let record = records(&sandbox)
        .into_iter()
        .find(|r| r["kind"] == "approval")
        .unwrap();
    assert_eq!(record["contract"], frozen["digest"]);
    // Another contract needs another word.
    std::fs::write(file(&sandbox), CONTRACT.replace("parses", "reads")).unwrap();
    freeze(&sandbox, &[]);
    assert_eq!(show(&sandbox)["plan"], Value::Null);
}

#[test]
fn an_agent_speaks_for_nobody_and_a_nobody_does_not_speak() {
    let sandbox = ready();
    freeze(&sandbox, &[]);
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let file = file(&sandbox);
    let words: [&[&str]; 4] = [
        &["freeze", &file],
        &["approve", &head],
        &["attest", "docs"],
        &["approve-plan", "README.md"],
    ];
    let count = records(&sandbox).len();
    for words in words {
        let mut command = sandbox.command(Sandbox::bin().join("git-arkaint"));
        let ran = command
            .arg("contract")
            .args(words)
            .env("ARKAINT_RUN", "r1")
            .output()
            .unwrap();
        let no = Ran::from(ran).expect(2);
        assert!(no.stderr.contains("inside run r1"), "{}", no.stderr);
    }
    let mut inside = sandbox.command(Sandbox::bin().join("git-arkaint"));
    let shown = inside
        .args(["contract", "show"])
        .env("ARKAINT_RUN", "r1")
        .output()
        .unwrap();
    Ran::from(shown).expect(0);
    sandbox.git(["config", "--global", "--unset", "user.name"]);
    sandbox.git(["config", "--global", "--unset", "user.email"]);
    sandbox.git(["config", "--global", "user.useConfigOnly", "true"]);
    for words in words {
        let no = contract(&sandbox, words).expect(2);
        assert!(
            no.stderr.contains("git does not know who commits here"),
            "{}",
            no.stderr
        );
    }
    assert_eq!(records(&sandbox).len(), count);
}

/// git-arkaint-ledger(5) tells of every member of the new records.
#[test]
fn the_manual_names_every_field_of_the_records() {
    let sandbox = ready();
    sandbox.write("plan.md", "1. write\n");
    freeze(&sandbox, &["--task", "t"]);
    contract(&sandbox, &["attest", "docs"]).expect(0);
    contract(&sandbox, &["approve-plan", "plan.md"]).expect(0);
    let head = sandbox.git(["rev-parse", "HEAD"]);
    contract(&sandbox, &["approve", &head]).expect(0);
    let page = sandbox.arkaint(["man", "ledger"]).expect(0).stdout;
    let records = records(&sandbox);
    assert_eq!(records.len(), 4);
    for record in records {
        let kind = record["kind"].as_str().unwrap();
        let section = page.split(&format!(".SS {kind}\n")).nth(1).unwrap();
        let section = section.split("\n.S").next().unwrap();
        for field in record.as_object().unwrap().keys() {
            let head = ["at", "id", "kind", "v", "on"].contains(&field.as_str());
            assert!(
                head || section.contains(&format!("\\fB{field}\\fR")),
                "{kind}: {field}"
            );
        }
    }
}
