//! The second look for secrets by gitleaks: with a stand-in that has its words and its report, and with the real one where it is installed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::not_run::not_run;
use crate::sandbox::{Ran, Sandbox};

/// What it looks for is `internal_` and eight digits. The configuration may say that all is allowed; a line may, and `.gitleaksignore`.
const STAND_IN: &str = r#"#!/usr/bin/env bash
set -euo pipefail
[ "$1 $2 $3" = 'detect --no-git --no-banner' ] || { echo 'unknown flag' >&2; exit 126; }
for word; do
  case $word in
    --config=*) config=${word#*=} ;;
    --report-path=*) report=${word#*=} ;;
    --source=.|--report-format=json|--exit-code=0|--log-level=error|detect|--no-*) ;;
    *) exit 126 ;;
  esac
done
[ ! -f "$HOME/broken" ] || { echo 'err: the rules are broken' >&2; exit 1; }
touch .gitleaksignore
{
  echo '['
  between=''
  if ! grep -q allow-all "$config"; then
    while IFS=: read -r file line text; do
      file=${file#./}
      grep -qF 'gitleaks:allow' <<<"$text" && continue
      grep -qFx "$file:internal-token:$line" .gitleaksignore && continue
      secret=$(grep -oE 'internal_[0-9]{8}' <<<"$text" | head -n 1)
      printf '%s{"RuleID": "internal-token", "Description": "x", "StartLine": %s, "Match": "m", "Secret": "%s", "File": "%s", "Entropy": 3.1}' \
        "$between" "$line" "$secret" "$file"
      between=,
    done < <(grep -rnE 'internal_[0-9]{8}' . || true)
  fi
  echo ']'
} >"$report"
"#;

/// A repository whose `[checkpoint]` has `more`, and gitleaks in a folder of its own before all else on PATH.
fn world(more: &str) -> Sandbox {
    let sandbox = Sandbox::ready("\"true\"");
    let tools = sandbox.home().join("tools");
    fs::create_dir(&tools).unwrap();
    let program = tools.join("gitleaks");
    fs::write(&program, STAND_IN).unwrap();
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    let text = sandbox.read("arkaint.toml");
    let text = text.replace("[checkpoint]\n", &format!("[checkpoint]\n{more}\n"));
    sandbox.write("arkaint.toml", &text);
    sandbox.write("old.txt", "one\ninternal_11112222\n");
    sandbox.commit_all("start");
    sandbox
}

fn checkpoint(sandbox: &Sandbox) -> Ran {
    let tools = sandbox.home().join("tools");
    let path = format!("{}:{}", tools.display(), sandbox.path());
    let out = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .env("PATH", path)
        .arg("checkpoint")
        .output();
    out.unwrap().into()
}

/// Refused with `cause` in the message, and nothing committed.
#[track_caller]
fn refused(sandbox: &Sandbox, cause: &str) {
    let before = sandbox.git(["rev-parse", "HEAD"]);
    let ran = checkpoint(sandbox).expect(1);
    let line = ran.stderr.lines().find(|l| l.starts_with("arkaint: "));
    let line = line.unwrap_or_default();
    assert!(
        line.contains(cause) && line.contains("nothing was committed"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("\nhint: "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("33334444"), "{}", ran.stderr);
    assert_eq!(sandbox.git(["rev-parse", "HEAD"]), before);
    let left = sandbox.sh("ls .git/arkaint");
    assert!(!left.contains("leaks."), "no copy is left: {left}");
}

#[test]
fn what_a_killed_one_left_of_copies_goes_with_the_next_command() {
    let sandbox = world("");
    sandbox.write(".git/arkaint/leaks.x/copies/a.txt", "internal_33334444\n");
    sandbox.write("a.txt", "x\n");
    checkpoint(&sandbox).expect(0);
    assert!(!sandbox.exists(".git/arkaint/leaks.x"));
}

#[test]
fn what_gitleaks_finds_in_a_change_stays_out_by_path_line_and_rule() {
    let sandbox = world("");
    sandbox.write("src/a.txt", "a\nkey internal_33334444\n");
    refused(&sandbox, "src/a.txt:2: gitleaks internal-token");
    // What was there before is no news, wherever it stands now.
    fs::remove_file(sandbox.repo.join("src/a.txt")).unwrap();
    sandbox.write("old.txt", "zero\none\ninternal_11112222\n");
    checkpoint(&sandbox).expect(0);

    let sandbox = world("allow_secrets = [\"src/*\"]");
    sandbox.write("src/a.txt", "key internal_33334444\n");
    checkpoint(&sandbox).expect(0);
}

#[test]
fn only_what_was_committed_before_says_what_gitleaks_may_overlook() {
    let sandbox = world("");
    sandbox.write("a.txt", "internal_33334444 # gitleaks:allow\n");
    sandbox.write(".gitleaks.toml", "# allow-all\n");
    sandbox.write(".gitleaksignore", "a.txt:internal-token:1\n");
    refused(&sandbox, "a.txt:1: gitleaks internal-token");
    for file in [".gitleaks.toml", ".gitleaksignore"] {
        let sandbox = world("");
        let text = match file {
            ".gitleaks.toml" => "# allow-all\n",
            _ => "a.txt:internal-token:1\n",
        };
        sandbox.write(file, text);
        sandbox.commit_all("allowed by a person");
        sandbox.write("a.txt", "internal_33334444\n");
        checkpoint(&sandbox).expect(0);
    }
}

#[test]
fn gitleaks_is_off_or_required_as_the_configuration_says_and_a_broken_one_is_named() {
    let sandbox = world("");
    fs::write(sandbox.home().join("broken"), "").unwrap();
    sandbox.write("a.txt", "x\n");
    refused(
        &sandbox,
        "gitleaks could not look: err: the rules are broken",
    );
    // One that ends without a word, and without a report.
    fs::write(sandbox.home().join("tools/gitleaks"), "#!/bin/sh\n").unwrap();
    refused(&sandbox, "gitleaks could not look: it wrote no report");
    let sandbox = world("gitleaks = \"off\"");
    fs::write(sandbox.home().join("broken"), "").unwrap();
    sandbox.write("a.txt", "internal_33334444\n");
    checkpoint(&sandbox).expect(0);

    if is_installed() {
        return not_run("gitleaks is required and missing", "PATH without gitleaks");
    }
    let sandbox = world("gitleaks = \"required\"");
    fs::remove_dir_all(sandbox.home().join("tools")).unwrap();
    sandbox.write("a.txt", "x\n");
    refused(&sandbox, "gitleaks is required and not installed");
    let sandbox = world("");
    fs::remove_dir_all(sandbox.home().join("tools")).unwrap();
    sandbox.write("a.txt", "internal_33334444\n");
    checkpoint(&sandbox).expect(0);
}

#[test]
fn the_real_gitleaks_finds_what_our_own_rules_do_not_know() {
    if !is_installed() {
        return not_run("the real gitleaks", "gitleaks");
    }
    // A user token of Sentry's, in pieces.
    let token = ["sntr", "yu_", &"3f9c0b7de18a2456".repeat(4)].concat();
    let text = format!("a\ntoken {token}\n");
    let sandbox = world("gitleaks = \"off\"");
    sandbox.write("a.txt", &text);
    checkpoint(&sandbox).expect(0);
    let sandbox = world("gitleaks = \"required\"");
    fs::remove_dir_all(sandbox.home().join("tools")).unwrap();
    sandbox.write("a.txt", &text);
    refused(&sandbox, "a.txt:2: gitleaks sentry-user-token");
    fs::remove_file(sandbox.repo.join("a.txt")).unwrap();
    sandbox.write("b.txt", "x\n");
    checkpoint(&sandbox).expect(0);
}

/// Is the real one on the machine's PATH?
pub fn is_installed() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("gitleaks").is_file())
}
