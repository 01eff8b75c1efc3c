//! One gate after the other: what stops it, what it says, and what opens it again.

use super::*;

#[test]
fn a_worktree_that_moved_waits() {
    let sandbox = proven();
    assert_eq!(says(&sandbox, 0), "open");
    // Changed and not committed.
    sandbox.write("README.md", "# other\n");
    let no = check(&sandbox, &[]).expect(3);
    assert!(
        no.stderr.starts_with(
            "arkaint: the gate waits: worktree: the worktree moved: changed and not delivered: README.md\nhint: git arkaint checkpoint"
        ),
        "{}",
        no.stderr
    );
    sandbox.git(["add", "README.md"]);
    assert_eq!(
        says(&sandbox, 3),
        "waiting: worktree: the worktree moved: changed and not delivered: README.md"
    );
    sandbox.git(["reset", "-q", "--hard"]);
    assert_eq!(says(&sandbox, 0), "open");
    // An untracked file is not delivered, and does no harm.
    sandbox.write("notes.txt", "");
    assert_eq!(says(&sandbox, 0), "open");
    // A linked worktree in which the branch is checked out, judged from the main one: it is looked at where it is.
    sandbox.git(["switch", "-q", "main"]);
    let place = sandbox.home().join("wt");
    let place = place.to_str().unwrap();
    sandbox.git(["worktree", "add", "-q", place, "arkaint/work"]);
    std::fs::rename(
        sandbox.repo.join(".ak-loop"),
        Path::new(place).join(".ak-loop"),
    )
    .unwrap();
    let there = |code| {
        let ran = check(&sandbox, &["arkaint/work", "--json"]);
        stop(&ran.expect(code).json())
    };
    // Its files were checked out later than they were tested.
    age(Path::new(place).join(".ak-loop/verify.json"), 2);
    assert_eq!(there(0), "open");
    std::fs::write(Path::new(place).join("README.md"), "# other\n").unwrap();
    assert_eq!(
        there(3),
        "waiting: worktree: the worktree moved: changed and not delivered: README.md"
    );
    std::fs::write(Path::new(place).join("README.md"), "# project\n").unwrap();
    assert_eq!(there(0), "open");
}

#[test]
fn a_hint_by_which_an_index_hides_changes_hides_none() {
    let sandbox = proven();
    sandbox.git(["update-index", "--assume-unchanged", "src/list.rs"]);
    sandbox.write("src/list.rs", "not what is delivered\n");
    assert!(
        says(&sandbox, 3).starts_with("waiting: worktree: the worktree moved"),
        "{}",
        says(&sandbox, 3)
    );
}

#[test]
fn no_change_is_held_however_green_the_files_are() {
    let sandbox = start("");
    freeze(&sandbox, ONE);
    verify(&sandbox, PASSED);
    let empty = "held: empty delta: nothing is changed against main";
    assert_eq!(says(&sandbox, 3), empty);
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "nothing"]);
    let no = check(&sandbox, &[]).expect(3);
    let head = rev(&sandbox, "HEAD");
    assert_eq!(
        no.stderr,
        format!(
            "arkaint: the gate holds it for a person: empty delta: nothing is changed against main\nhint: look at it, then: git arkaint contract approve {}\n",
            &head[..12]
        )
    );
    assert_eq!(graded(&judged(&sandbox, 3), "o1"), "proven, dated");
    // There and back again is nothing too.
    work(&sandbox, "a");
    sandbox.git(["revert", "--no-edit", "HEAD"]);
    assert_eq!(says(&sandbox, 3), empty);
}

#[test]
fn a_protected_path_is_held_until_a_person_approves_exactly_that_commit() {
    let sandbox = asked("[infra]\npaths = [\"ci/deploy/\"]\n", ONE);
    work(&sandbox, "scripts/build.sh");
    work(&sandbox, "ci/deploy/key");
    verify(&sandbox, PASSED);
    let held = "held: protected paths: changed: ci/deploy/key, scripts/build.sh";
    assert_eq!(says(&sandbox, 3), held);
    let head = rev(&sandbox, "HEAD");
    sandbox
        .arkaint(["contract", "approve", &head[..12]])
        .expect(0);
    let open = judged(&sandbox, 0);
    assert_eq!(
        gate(&open, "protected paths"),
        "open: changed: ci/deploy/key, scripts/build.sh; approved by Test User <test@example.invalid>"
    );
    // Another commit is another question, with the same tree too.
    sandbox.git(["commit", "-q", "--amend", "-m", "reworded"]);
    assert_eq!(says(&sandbox, 3), held);
    let reworded = rev(&sandbox, "HEAD");
    sandbox
        .arkaint(["contract", "approve", &reworded])
        .expect(0);
    assert_eq!(says(&sandbox, 0), "open");
    work(&sandbox, "src/more.rs");
    verify(&sandbox, PASSED);
    assert_eq!(says(&sandbox, 3), held);
}

#[test]
fn every_way_to_touch_a_protected_path_is_seen() {
    let sandbox = Sandbox::new();
    sandbox.write("arkaint.toml", "[checkpoint]\ntest = false\n");
    sandbox.write("scripts/build.sh", "echo build\n");
    sandbox.commit_all("start");
    let main = rev(&sandbox, "main");
    for (script, paths) in [
        ("chmod +x scripts/build.sh", "scripts/build.sh"),
        ("git mv scripts/build.sh build.sh", "scripts/build.sh"),
        ("git rm -q scripts/build.sh", "scripts/build.sh"),
        ("ln -sf ../build.sh scripts/build.sh", "scripts/build.sh"),
        ("ln -s /etc scripts/etc", "scripts/etc"),
        (
            "mkdir .githooks; echo >.githooks/pre-commit",
            ".githooks/pre-commit",
        ),
        ("echo >>arkaint.toml", "arkaint.toml"),
        // A link to another repository's commit is an entry like any other.
        (
            "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),scripts/sub",
            "scripts/sub",
        ),
    ] {
        sandbox.git(["switch", "-q", "-C", "arkaint/work", &main]);
        sandbox.sh(script);
        if !script.contains("cacheinfo") {
            sandbox.git(["add", "-A"]);
        }
        sandbox.git(["commit", "-q", "-m", "touch"]);
        sandbox.git(["reset", "-q", "--hard"]);
        assert_eq!(
            gate(&judged(&sandbox, 3), "protected paths"),
            format!("held: changed: {paths}"),
            "{script}"
        );
    }
}

#[test]
fn taking_arkaint_on_is_no_change_of_its_configuration() {
    let sandbox = Sandbox::new();
    sandbox.git(["switch", "-q", "-c", "arkaint/work"]);
    sandbox.write("arkaint.toml", "[checkpoint]\ntest = \"true\"\n");
    sandbox.commit_all("take it on");
    let first = judged(&sandbox, 3);
    assert_eq!(gate(&first, "protected paths"), "open: arkaint.toml is new");
    // That alone: with a script of its own it is looked at.
    sandbox.write("scripts/build.sh", "");
    sandbox.commit_all("and more");
    assert_eq!(
        gate(&judged(&sandbox, 3), "protected paths"),
        "held: changed: arkaint.toml, scripts/build.sh"
    );
}

#[test]
fn new_secrets_are_held_by_name_and_by_content() {
    let sandbox = proven();
    let key = format!("AKIA{}", "IOSFODNN7ABCDEFG");
    for (path, text, why) in [
        (".env", "A=1\n".to_owned(), ".env"),
        ("src/id_rsa", "x\n".to_owned(), "src/id_rsa"),
        (
            "src/config.rs",
            format!("let key = \"{key}\";\n"),
            "src/config.rs",
        ),
    ] {
        sandbox.write(path, &text);
        sandbox.git(["add", "-f", path]);
        sandbox.git(["commit", "-q", "-m", "more"]);
        verify(&sandbox, PASSED);
        let ran = check(&sandbox, &[]).expect(3);
        assert!(!ran.stdout.contains(&key) && !ran.stderr.contains(&key));
        let held = says(&sandbox, 3);
        assert!(
            held.starts_with("held: secrets: new: ") && held.contains(why),
            "{held}"
        );
        let head = rev(&sandbox, "HEAD");
        sandbox.arkaint(["contract", "approve", &head]).expect(0);
        assert_eq!(says(&sandbox, 0), "open");
        sandbox.git(["reset", "-q", "--hard", "HEAD~"]);
    }
    // One that the base has already is not new.
    sandbox.git(["switch", "-q", "main"]);
    sandbox.write(".env", "A=1\n");
    sandbox.git(["add", "-f", ".env"]);
    sandbox.git(["commit", "-q", "-m", "env"]);
    sandbox.git(["switch", "-q", "arkaint/work"]);
    sandbox.git(["merge", "-q", "--no-edit", "main"]);
    verify(&sandbox, PASSED);
    assert_eq!(says(&sandbox, 0), "open");
}

#[test]
fn a_conflict_is_closed_and_names_the_paths() {
    let sandbox = proven();
    sandbox.git(["switch", "-q", "main"]);
    sandbox.write("docs.md", "elsewhere\n");
    sandbox.commit_all("beside");
    sandbox.git(["switch", "-q", "arkaint/work"]);
    verify(&sandbox, PASSED);
    assert_eq!(
        gate(&judged(&sandbox, 0), "conflict"),
        "open: merges with main"
    );
    sandbox.git(["switch", "-q", "main"]);
    for path in ["src/list.rs", "src/ünter \u{1b}[31m.rs"] {
        sandbox.write(path, "theirs\n");
    }
    sandbox.commit_all("against");
    sandbox.git(["switch", "-q", "arkaint/work"]);
    work(&sandbox, "src/ünter \u{1b}[31m.rs");
    verify(&sandbox, PASSED);
    let no = check(&sandbox, &[]).expect(1);
    assert!(
        no.stderr.starts_with(
            "arkaint: the gate is closed: conflict: conflicts with main: src/list.rs, src/ünter "
        ) && no
            .stderr
            .contains("\nhint: git merge main in its worktree, then test again\n"),
        "{}",
        no.stderr
    );
    assert!(!no.stderr.contains('\u{1b}') && !no.stdout.contains('\u{1b}'));
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn a_file_that_must_be_there_is_named() {
    let sandbox = asked("", ONE);
    let artifacts = |code| gate(&judged(&sandbox, code), "artifacts");
    assert_eq!(
        artifacts(1),
        "closed: .ak-loop/verify.json is not written: write it: what you ran, and what came of each outcome"
    );
    sandbox.write(".ak-loop/verify.json", "{\"outcomes\":[{\"id\":\"o1\"}]}");
    assert_eq!(
        artifacts(1),
        "closed: .ak-loop/verify.json is there but does not match its schema, which is worse than absent: outcomes[0].status: missing: write it again"
    );
    verify(&sandbox, PASSED);
    assert_eq!(
        artifacts(0),
        "open: verify.json: 1 outcome · cargo test (from the worktree)"
    );
    // A plan is asked for where one was approved.
    sandbox.write(".ak-loop/plan.md", "1. read\n");
    sandbox
        .arkaint(["contract", "approve-plan", ".ak-loop/plan.md"])
        .expect(0);
    let open = judged(&sandbox, 0);
    assert_eq!(open["plan_required"], true);
    std::fs::remove_file(sandbox.repo.join(".ak-loop/plan.md")).unwrap();
    let lacking = "closed: .ak-loop/plan.md is not written: write it: the plan that you followed, and where it departs from the approved one";
    assert_eq!(artifacts(1), lacking);
    sandbox.write(".ak-loop/plan.md", "\u{feff} \r\n");
    assert_eq!(artifacts(1), lacking);
    std::fs::remove_file(sandbox.repo.join(".ak-loop/verify.json")).unwrap();
    let both = judged(&sandbox, 1);
    assert_eq!(both["to_do"].as_array().unwrap().len(), 2, "{both}");
    // The approved plan need not be followed to the letter.
    sandbox.write(".ak-loop/plan.md", "1. write; reading was not needed\n");
    verify(&sandbox, PASSED);
    assert_eq!(says(&sandbox, 0), "open");
}

#[test]
fn nobody_vouches_for_what_nothing_was_asked_of() {
    let sandbox = start("");
    work(&sandbox, "a");
    assert_eq!(
        says(&sandbox, 3),
        "held: floor: nothing that can be checked vouches for this tree"
    );
    let judged = judged(&sandbox, 3);
    for (name, answer) in [
        (
            "artifacts",
            "skipped: no contract, no [[dod]] item and no dispatch asks for one",
        ),
        ("both lists", "skipped: nothing to prove"),
    ] {
        assert_eq!(gate(&judged, name), answer);
    }
    // A person's approval of a hold is no test.
    let head = rev(&sandbox, "HEAD");
    sandbox.arkaint(["contract", "approve", &head]).expect(0);
    assert!(says(&sandbox, 3).starts_with("held: floor: "));
}

#[test]
fn a_checkpoint_whose_tests_arkaint_ran_on_that_tree_vouches() {
    let sandbox = Sandbox::ready("\"test -e a\"");
    sandbox.write("a", "1\n");
    sandbox
        .arkaint(["checkpoint", "--task", "make a"])
        .expect(0);
    let head = rev(&sandbox, "HEAD");
    let open = judged(&sandbox, 0);
    assert_eq!(
        gate(&open, "floor"),
        format!("open: Arkaint's own tests at {}", &head[..12])
    );
    // The same tree on another commit is the tree that was tested; another tree is not.
    sandbox.git(["reset", "-q", "--soft", "main"]);
    sandbox.git(["commit", "-q", "-m", "squashed by hand"]);
    assert_eq!(
        gate(&judged(&sandbox, 0), "floor"),
        format!("open: Arkaint's own tests at {}", &head[..12])
    );
    work(&sandbox, "b");
    assert!(says(&sandbox, 3).starts_with("held: floor: "));
    // Neither does one whose tests failed, or that ran none.
    let sandbox = Sandbox::ready("\"false\"");
    sandbox.write("a", "1\n");
    sandbox.arkaint(["checkpoint"]).expect(1);
    assert_ne!(stop(&check(&sandbox, &["--json"]).json()), "open");
}

#[test]
fn a_contract_that_cannot_be_relied_on_is_held() {
    let sandbox = proven();
    let digest = judged(&sandbox, 0)["contract"].as_str().unwrap().to_owned();
    let blob = sandbox.sh(&format!(
        "for b in $(git ls-tree --name-only refs/notes/arkaint/ledger:blobs); do
           git cat-file blob $b | sha256sum | grep -q ^{digest} && echo $b; done; true"
    ));
    let (folder, rest) = blob.trim().split_at(2);
    let path = sandbox.repo.join(".git/objects").join(folder).join(rest);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let held = judged(&sandbox, 3);
    assert_eq!(held["gate"], "contract", "{held}");
    assert!(
        stop(&held).contains("is not in this repository"),
        "{}",
        stop(&held)
    );
    assert_eq!(held["table"], Value::Null);
    // It is held, and no fix round: nothing is said to be missing.
    assert_eq!(held["to_do"], Value::Null);
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(says(&sandbox, 0), "open");
    // The digest is another one's: the record hangs on the commit that the contract starts from.
    sandbox.sh(&format!(
        "git notes --ref=arkaint/ledger show main | sed 's/{digest}/{}/' >\"$HOME/note\"
         git notes --ref=arkaint/ledger add -f -F \"$HOME/note\" main 2>/dev/null",
        "0".repeat(64)
    ));
    assert_eq!(judged(&sandbox, 3)["gate"], "contract");
}

#[test]
fn a_branch_does_not_lower_its_own_bar() {
    let item = "[[dod]]\nid = \"tests\"\nkind = \"command\"\ncommand = [\"make\", \"test\"]\n";
    let sandbox = start(&format!(
        "{item}[infra]\npaths = [\"ci/\"]\n[evidence]\nbinding = \"tree\"\n"
    ));
    sandbox.write(
        "arkaint.toml",
        "[checkpoint]\ntest = false\nallow_secrets = [\".env\"]\n[evidence]\nbinding = \"off\"\n[deliver]\nbase = \"arkaint/work\"\n",
    );
    sandbox.write("ci/run", "");
    sandbox.write(".env", "A=1\n");
    sandbox.git(["add", "-A", "-f", ".env", "ci", "arkaint.toml"]);
    sandbox.git(["commit", "-q", "-m", "lower the bar"]);
    verify(&sandbox, "");
    dod(
        &sandbox,
        r#"{"id":"tests","status":"passed","evidence":"ok"}"#,
        "",
    );
    let judged = judged(&sandbox, 3);
    assert_eq!(judged["base"]["name"], "main");
    for (name, answer) in [
        ("protected paths", "held: changed: arkaint.toml, ci/run"),
        ("both lists", "closed: prove project/tests"),
    ] {
        assert_eq!(gate(&judged, name), answer);
    }
    assert!(gate(&judged, "secrets").starts_with("held: new: .env"));
    assert!(
        row(&judged, "tests")["reason"]
            .as_str()
            .unwrap()
            .contains("only dated, evidence.binding is tree"),
        "{judged}"
    );
    // Nor on disk, where nothing is committed.
    sandbox.write("arkaint.toml", "[evidence]\nbinding = \"off\"\n");
    assert!(says(&sandbox, 3).starts_with("waiting: worktree: "));
}

#[test]
fn what_cannot_be_judged_is_refused_with_the_command_that_helps() {
    let sandbox = proven();
    for (words, cause, hint) in [
        (
            ["arkaint/none"].as_slice(),
            "there is no branch arkaint/none",
            "git branch --list",
        ),
        (
            &["--base", "none"],
            "the base none is no branch here",
            "git fetch",
        ),
        (&["--merge"], "cannot be used with", ""),
    ] {
        let no = check(&sandbox, words).expect(2);
        assert!(
            no.stderr.contains(cause) && no.stderr.contains(hint),
            "{words:?}: {}",
            no.stderr
        );
    }
    sandbox.git(["switch", "-q", "--orphan", "arkaint/alone"]);
    check(&sandbox, &[]).expect(2);
    work(&sandbox, "a");
    let no = check(&sandbox, &["--base", "main"]).expect(2);
    assert!(
        no.stderr.contains("have no commit in common"),
        "{}",
        no.stderr
    );
    sandbox.git(["switch", "-q", "main"]);
    let no = check(&sandbox, &[]).expect(2);
    assert!(
        no.stderr
            .contains("it is not known which branch this is to be merged into"),
        "{}",
        no.stderr
    );
    // An agent does not deliver itself; it may look.
    sandbox.git(["switch", "-q", "arkaint/work"]);
    for (words, code) in [(["deliver"].as_slice(), 2), (&["deliver", "--check"], 0)] {
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_git-arkaint"));
        let ran: Ran = command
            .args(words)
            .env("ARKAINT_RUN", "r1")
            .output()
            .unwrap()
            .into();
        ran.expect(code);
    }
}
