//! What `init` writes, says and refuses, and that it can run again.

use super::{assert_same, bytes_of, in_folder, world};
use crate::sandbox::{Ran, Sandbox};

#[test]
fn a_project_is_set_up_and_one_command_is_left() {
    let sandbox = Sandbox::new();
    sandbox.write("Cargo.toml", "[package]\nname = \"x\"\n");
    let ran = sandbox.arkaint(["init"]).expect(0);
    for line in [
        "test command: cargo test (from Cargo.toml)",
        "arkaint.toml: written",
        "info/exclude: added /.arkaint/ and /.ak-loop/",
        "git config: added notes.rewriteRef=refs/notes/arkaint/*",
        "git config: added notes.rewriteMode=cat_sort_uniq",
        "git config: added notes.arkaint/ledger.mergeStrategy=cat_sort_uniq",
    ] {
        assert!(
            ran.stderr.lines().any(|l| l == line),
            "{line}\n{}",
            ran.stderr
        );
    }
    assert_eq!(
        ran.stdout,
        "git add arkaint.toml && git commit -m \"Add arkaint.toml\" -- arkaint.toml\n"
    );
    assert!(
        sandbox
            .read("arkaint.toml")
            .contains("\ntest = \"cargo test\"\n")
    );
    assert_eq!(
        sandbox.git(["config", "--local", "notes.rewriteRef"]),
        "refs/notes/arkaint/*"
    );
    assert_eq!(
        sandbox.git(["config", "--local", "notes.rewriteMode"]),
        "cat_sort_uniq"
    );
    assert_eq!(
        sandbox.git(["config", "--local", "notes.arkaint/ledger.mergeStrategy"]),
        "cat_sort_uniq"
    );
    assert_eq!(
        sandbox
            .try_git(["config", "--get-regexp", r"^remote\."])
            .stdout,
        ""
    );
    sandbox.write(".arkaint/run.log", "");
    sandbox.write(".ak-loop/plan.md", "");
    sandbox.write("deep/.arkaint/x", "");
    assert_eq!(
        sandbox.git(["status", "--porcelain", "-uall"]),
        "?? Cargo.toml\n?? arkaint.toml\n?? deep/.arkaint/x"
    );
    // The command that is left works, and then nothing is.
    sandbox.sh(&ran.stdout);
    assert_eq!(
        sandbox.git(["show", "--format=%s", "--name-only"]),
        "Add arkaint.toml\n\narkaint.toml"
    );
    let ran = sandbox.arkaint(["init"]).expect(0);
    assert_eq!(ran.stdout, "");
    assert!(
        ran.stderr
            .contains("arkaint.toml is committed: nothing is left to do"),
        "{}",
        ran.stderr
    );
    sandbox.arkaint(["status", "--config"]).expect(0);
}

#[test]
fn without_a_test_command_it_says_what_checkpoint_will_do() {
    let sandbox = Sandbox::new();
    let ran = sandbox.arkaint(["init"]).expect(0);
    assert!(
        ran.stderr.contains("test command: none found"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("warning: checkpoint refuses until 'test' is set in arkaint.toml"),
        "{}",
        ran.stderr
    );
    let file = sandbox.read("arkaint.toml");
    assert!(file.contains("\n# No test command was found in this project: set it, or checkpoint refuses.\n# test = "), "{file}");
}

#[test]
fn a_second_init_changes_no_byte_and_says_so() {
    let sandbox = Sandbox::new();
    sandbox.write("go.mod", "module x\n");
    sandbox.arkaint(["init"]).expect(0);
    sandbox.write("arkaint.toml", "[checkpoint]\ntest = \"mine\"\n");
    let before = world(&sandbox);
    let ran = sandbox.arkaint(["init"]).expect(0);
    assert_same(&before, &world(&sandbox));
    for line in [
        "arkaint.toml: already there, left as it is",
        "info/exclude: /.arkaint/ and /.ak-loop/ already there",
        "git config: notes settings already there",
    ] {
        assert!(
            ran.stderr.lines().any(|l| l == line),
            "{line}\n{}",
            ran.stderr
        );
    }
    // A committed file that was changed needs the word that opens the lock.
    sandbox.commit_all("configure");
    sandbox.write("arkaint.toml", "[checkpoint]\ntest = \"other\"\n");
    let ran = sandbox.arkaint(["init"]).expect(0);
    assert_eq!(
        ran.stdout,
        "ARKAINT_ALLOW_INFRA_EDIT=1 git commit -m \"Change arkaint.toml\" -- arkaint.toml\n"
    );
    sandbox.sh(&ran.stdout);
    assert_eq!(sandbox.git(["status", "--porcelain", "-uno"]), "");
}

#[test]
fn print_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("package.json", r#"{"scripts":{"test":"jest"}}"#);
    let before = world(&sandbox);
    let ran = sandbox.arkaint(["init", "--print"]).expect(0);
    assert_same(&before, &world(&sandbox));
    assert!(
        ran.stdout.contains("\ntest = \"npm test\"\n"),
        "{}",
        ran.stdout
    );
    toml::from_str::<toml::Table>(&ran.stdout).unwrap();
    assert!(
        ran.stderr.contains("info/exclude: would add /.arkaint/"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("git config: would add notes.rewriteRef=refs/notes/arkaint/*"),
        "{}",
        ran.stderr
    );
    // It prints the very file.
    sandbox.arkaint(["init"]).expect(0);
    assert_eq!(sandbox.read("arkaint.toml"), ran.stdout);
}

#[test]
fn it_works_from_a_subdirectory_and_in_a_linked_worktree() {
    let sandbox = Sandbox::new();
    sandbox.write("Cargo.toml", "");
    sandbox.write("sub/deep/x", "");
    sandbox.commit_all("project");
    let ran = in_folder(&sandbox, &sandbox.repo.join("sub/deep"), &["init"]).expect(0);
    assert!(sandbox.exists("arkaint.toml") && !sandbox.exists("sub/deep/arkaint.toml"));
    assert_eq!(
        ran.stdout,
        "git add :/arkaint.toml && git commit -m \"Add arkaint.toml\" -- :/arkaint.toml\n"
    );
    sandbox
        .command("bash")
        .args(["-euc", &ran.stdout])
        .current_dir(sandbox.repo.join("sub/deep"))
        .output()
        .unwrap();
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    sandbox.arkaint(["init", "--undo"]).expect(0);

    sandbox.git([
        "worktree",
        "add",
        "-q",
        "../linked wt",
        "-b",
        "arkaint/x",
        "HEAD~1",
    ]);
    let before = bytes_of(&sandbox.repo.join(".git"));
    let linked = sandbox.repo.join("../linked wt").canonicalize().unwrap();
    in_folder(&sandbox, &linked, &["init"]).expect(0);
    assert!(linked.join("arkaint.toml").exists());
    assert!(
        sandbox
            .read(".git/info/exclude")
            .ends_with("/.arkaint/\n/.ak-loop/\n")
    );
    assert_eq!(
        sandbox.git(["config", "--local", "notes.rewriteRef"]),
        "refs/notes/arkaint/*"
    );
    in_folder(&sandbox, &linked, &["init", "--undo"]).expect(0);
    assert!(!linked.join("arkaint.toml").exists());
    assert_same(&before, &bytes_of(&sandbox.repo.join(".git")));

    // Named with -C from elsewhere, the command that is left names the folder too.
    let ran = in_folder(
        &sandbox,
        sandbox.home(),
        &["-C", linked.to_str().unwrap(), "init"],
    )
    .expect(0);
    let git = format!("git -C '{}'", linked.display());
    assert_eq!(
        ran.stdout,
        format!("{git} add arkaint.toml && {git} commit -m \"Add arkaint.toml\" -- arkaint.toml\n")
    );
}

#[test]
fn a_repository_without_a_commit_is_fine() {
    let sandbox = Sandbox::new();
    let fresh = sandbox.home().join("fresh");
    sandbox.git(["init", "-q", fresh.to_str().unwrap()]);
    let ran = in_folder(&sandbox, &fresh, &["init"]).expect(0);
    let commit: Ran = sandbox
        .command("bash")
        .args(["-euc", &ran.stdout])
        .current_dir(&fresh)
        .output()
        .unwrap()
        .into();
    commit.expect(0);
    in_folder(&sandbox, &fresh, &["status", "--config"]).expect(0);
}

#[test]
fn refusals_name_the_command_that_helps() {
    let sandbox = Sandbox::new();
    let ran = in_folder(&sandbox, sandbox.home(), &["init"]).expect(2);
    assert!(
        ran.stderr.starts_with("arkaint: not inside a git worktree"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .lines()
            .nth(1)
            .is_some_and(|l| l.starts_with("hint: ")),
        "{}",
        ran.stderr
    );
    let before = world(&sandbox);
    let mut inside = sandbox.command(Sandbox::bin().join("git-arkaint"));
    for args in [&["init"][..], &["init", "--undo"]] {
        let ran = Ran::from(inside.args(args).env("ARKAINT_RUN", "r1").output().unwrap()).expect(2);
        assert!(ran.stderr.contains("inside a run"), "{}", ran.stderr);
        inside = sandbox.command(Sandbox::bin().join("git-arkaint"));
    }
    assert_same(&before, &world(&sandbox));
}

#[test]
fn json_tells_the_same() {
    let sandbox = Sandbox::new();
    sandbox.write("mix.exs", "");
    let json = sandbox.arkaint(["init", "--json"]).expect(0).json();
    assert_eq!(json["v"], 1);
    assert_eq!(json["test"]["command"], "mix test");
    assert_eq!(json["test"]["from"], "mix.exs");
    assert_eq!(
        json["commit"],
        "git add arkaint.toml && git commit -m \"Add arkaint.toml\" -- arkaint.toml"
    );
    let json = sandbox
        .arkaint(["init", "--undo", "--json"])
        .expect(0)
        .json();
    assert!(
        json["did"]
            .as_array()
            .unwrap()
            .iter()
            .any(|l| l == "arkaint.toml: removed"),
        "{json}"
    );
}

#[test]
fn a_file_that_is_there_and_broken_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.write("arkaint.toml", "[checkpoint]\ntset = 1\n");
    let ran = sandbox.arkaint(["init"]).expect(0);
    assert!(
        ran.stderr
            .contains("warning: arkaint.toml:2: unknown key 'checkpoint.tset'"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.read("arkaint.toml"), "[checkpoint]\ntset = 1\n");
}
