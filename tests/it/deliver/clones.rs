//! The same verdict elsewhere: in a fresh clone and on a commit that is checked out by its name, by what the ledger kept.

use super::*;

/// A clone of the sandbox's repository at `$HOME/clone`, with the notes fetched, and `HEAD` detached at what was delivered.
fn cloned(sandbox: &Sandbox, head: &str) -> PathBuf {
    let place = sandbox.home().join("clone");
    sandbox.sh(&format!(
        "git clone -q \"$PWD\" {place}
         cd {place}
         git fetch -q origin 'refs/notes/arkaint/*:refs/notes/arkaint/*'
         git checkout -q --detach {head}",
        place = place.display()
    ));
    place
}

/// `git arkaint deliver --check --json WORDS` there.
fn there(sandbox: &Sandbox, place: &Path, words: &[&str]) -> Ran {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_git-arkaint"));
    let command = command.args(["deliver", "--check", "--json"]).args(words);
    command.current_dir(place).output().unwrap().into()
}

#[test]
fn a_fresh_clone_at_a_detached_head_says_the_same() {
    let sandbox = asked("", &format!("{ONE}{MANUAL}"));
    verify(&sandbox, PASSED);
    sandbox.arkaint(["contract", "attest", "looks"]).expect(0);
    let here = sandbox.arkaint(["deliver", "--json"]).expect(0).json();
    sandbox.git(["switch", "-q", "main"]);
    let head = rev(&sandbox, "arkaint/work");
    let place = cloned(&sandbox, &head);
    for words in [
        ["--base", "origin/main"].as_slice(),
        &[],
        &["arkaint/work", "--base", "origin/main"],
    ] {
        let ci = there(&sandbox, &place, words).expect(0).json();
        assert_eq!(ci["branch"], "arkaint/work", "{words:?}");
        assert_eq!(ci["found"], "ledger");
        for key in ["contract", "verdict", "head", "tree"] {
            assert_eq!(ci[key], here[key], "{words:?}: {key}");
        }
        assert_eq!(ci["table"]["rows"], here["table"]["rows"], "{words:?}");
    }
}

#[test]
fn a_clone_without_the_notes_or_at_another_commit_is_not_open() {
    let sandbox = proven();
    sandbox.arkaint(["deliver"]).expect(0);
    let head = rev(&sandbox, "HEAD");
    let place = cloned(&sandbox, &head);
    let main = ["--base", "origin/main"];
    there(&sandbox, &place, &main).expect(0);
    // What was judged is not what is there now.
    work(&sandbox, "src/more.rs");
    sandbox.sh(&format!(
        "cd {}; git fetch -q; git checkout -q --detach origin/arkaint/work",
        place.display()
    ));
    let no = there(&sandbox, &place, &main).expect(1).json();
    assert!(
        stop(&no).starts_with("closed: artifacts: .ak-loop/verify.json is not written"),
        "{}",
        stop(&no)
    );
    // Without the ledger nobody vouches.
    sandbox.sh(&format!(
        "cd {}; git checkout -q --detach {head}; git update-ref -d refs/notes/arkaint/ledger",
        place.display()
    ));
    let no = there(&sandbox, &place, &main).expect(3).json();
    assert!(stop(&no).starts_with("held: floor: "), "{}", stop(&no));
}

#[test]
fn a_checked_out_commit_is_asked_for_what_its_branch_is_asked_for() {
    let sandbox = proven();
    sandbox.git(["switch", "-q", "--detach"]);
    let open = judged(&sandbox, 0);
    assert_eq!(open["branch"], "arkaint/work");
    assert_eq!(graded(&open, "o1"), "proven, dated");
    // A second branch that ends here and is asked for something else: which one is delivered?
    let file = sandbox.home().join("contract.toml");
    std::fs::write(
        &file,
        format!("intent = \"x\"\n{}", ONE.replace("o1", "o2")),
    )
    .unwrap();
    sandbox.git(["branch", "arkaint/other", "HEAD"]);
    let file = file.to_str().unwrap();
    sandbox
        .arkaint([
            "contract",
            "freeze",
            file,
            "--branch",
            "arkaint/other",
            "--base",
            "main",
        ])
        .expect(0);
    let no = check(&sandbox, &[]).expect(2);
    assert!(
        no.stderr
            .contains("arkaint/other and arkaint/work both end in ")
            && no
                .stderr
                .contains("\nhint: git arkaint deliver arkaint/work\n"),
        "{}",
        no.stderr
    );
}

#[test]
fn a_worktree_that_was_removed_leaves_what_the_ledger_kept() {
    let sandbox = start("");
    freeze(&sandbox, ONE);
    sandbox.git(["switch", "-q", "main"]);
    let place = sandbox.home().join("wt");
    sandbox.git([
        "worktree",
        "add",
        "-q",
        place.to_str().unwrap(),
        "arkaint/work",
    ]);
    sandbox.sh(&format!(
        "cd {}; echo a >a; git add a; git commit -qm a; mkdir .ak-loop; echo '{{\"outcomes\":[{PASSED}]}}' >.ak-loop/verify.json",
        place.display()
    ));
    let deliver = |words: &[&str], code| {
        let ran = sandbox.arkaint([&["deliver", "arkaint/work", "--json"], words].concat());
        ran.expect(code).json()
    };
    assert_eq!(deliver(&[], 0)["found"], "worktree");
    std::fs::remove_dir_all(&place).unwrap();
    let open = deliver(&["--check"], 0);
    assert_eq!(open["found"], "ledger");
    assert_eq!(
        gate(&open, "worktree"),
        "skipped: not checked out here: what the ledger kept counts"
    );
    deliver(&["--merge"], 0);
    assert_eq!(sandbox.read("a"), "a\n");
}

#[test]
fn a_file_that_the_ledger_could_not_keep_is_not_one_that_nobody_wrote() {
    let sandbox = asked("", ONE);
    let token = format!("ghp_{}", "a1B2".repeat(9));
    verify(&sandbox, &PASSED.replace("42 passed", &token));
    sandbox.arkaint(["deliver"]).expect(0);
    std::fs::remove_dir_all(sandbox.repo.join(".ak-loop")).unwrap();
    let no = gate(&judged(&sandbox, 1), "artifacts");
    assert!(
        no.starts_with("closed: .ak-loop/verify.json is there ")
            && no.contains(": it seems to hold a secret, so the ledger kept no copy: "),
        "{no}"
    );
}
