//! Secrets from outside: nothing that is printed holds one, by its looks or because the operator's environment says so.

use std::process::Stdio;

use crate::sandbox::{Ran, Sandbox};

fn token() -> String {
    ["gh", "p_", &"aB3dE6gH9kL2".repeat(3)].concat()
}

#[test]
fn errors_and_hints_show_no_secret() {
    let sandbox = Sandbox::new();
    let ran = sandbox
        .arkaint(["explain", "--drift", "--rev", &token()])
        .expect(2);
    assert!(!ran.stderr.contains(&token()), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("[REDACTED github-token "),
        "{}",
        ran.stderr
    );
}

#[test]
fn values_of_the_operators_variables_are_known() {
    let sandbox = Sandbox::new();
    let run = |name: &str| -> Ran {
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_git-arkaint"));
        command
            .args(["explain", "--drift", "--rev", "rosebud-77-Kane"])
            .env(name, "rosebud-77-Kane");
        command.output().unwrap().into()
    };
    for name in [
        "MY_DEPLOY_TOKEN",
        "service_key",
        "DB_PASSWORD",
        "CLIENT_SECRET",
    ] {
        let ran = run(name).expect(2);
        assert!(
            ran.stderr.starts_with("arkaint: [REDACTED environment ")
                && !ran.stderr.contains("rosebud"),
            "{name}: {}",
            ran.stderr
        );
    }
    assert!(
        run("MY_BRANCH")
            .expect(2)
            .stderr
            .contains("rosebud-77-Kane names no commit")
    );
}

#[test]
fn json_output_is_redacted_and_stays_json() {
    let sandbox = Sandbox::new();
    let mut child = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(["explain", "--drift", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let line = serde_json::json!({ "task": format!("rotate the token {} of the deploy job", token()), "did": "deploy" });
    serde_json::to_writer(child.stdin.take().unwrap(), &line).unwrap();
    let ran: Ran = child.wait_with_output().unwrap().into();
    let missing = ran.expect(0).json()["missing"].to_string().to_lowercase();
    assert!(
        missing.contains("rotate") && !missing.contains("ab3de6") && !missing.contains("ghp"),
        "{missing}"
    );
}
