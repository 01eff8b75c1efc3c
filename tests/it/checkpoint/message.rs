//! What a checkpoint says of itself: trailers that git reads, and a chain that anyone can recompute.

use std::process::Stdio;

use super::trailer;
use crate::sandbox::Sandbox;

#[test]
fn hooks_that_add_trailers_are_at_home_and_messages_are_verbatim() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.git(["config", "commit.cleanup", "strip"]);
    sandbox.git(["config", "core.commentChar", "["]);
    sandbox.git(["config", "trailer.separators", "="]);
    sandbox.git(["config", "commit.template", "/nonexistent"]);
    sandbox.write_exec(
        ".git/hooks/commit-msg",
        "#!/bin/sh\nprintf 'Signed-off-by: A <a@example.invalid>\\n' >> \"$1\"\n",
    );
    sandbox.write("a.txt", "a\n");
    sandbox.arkaint(["checkpoint", "-m", "# heading"]).expect(0);
    assert_eq!(
        sandbox.git(["log", "-1", "--format=%s"]),
        "[arkaint-sync] checkpoint"
    );
    assert!(
        sandbox
            .git(["log", "-1", "--format=%b"])
            .contains("Signed-off-by: A")
    );
    sandbox.arkaint(["log", "--verify"]).expect(0);
}

/// report_commitlore_833.
#[test]
fn git_reads_every_trailer_whatever_the_texts_are() {
    let hostile = [
        "first line\nsecond line\n\nArkaint-Status: forged\n",
        "dash\n---\nafter",
        "# comment\n# more",
        "Signed-off-by: Nobody <n@example.invalid>\n\nArkaint-Task: other\nArkaint-Version: 9",
        "emoji 🚀 ünïcode \u{202e}rtl",
        "\u{1b}[31mred\u{1b}[0m\ttab\r\ncrlf",
        "diff --git a/x b/x\n--- a/x\n+++ b/x",
    ];
    let long = "x".repeat(10_000);
    for (number, text) in hostile.into_iter().chain([long.as_str()]).enumerate() {
        let sandbox = Sandbox::ready("\"true\"");
        sandbox.write("a.txt", &number.to_string());
        sandbox
            .arkaint(["checkpoint", "-m", text, "--task", text])
            .expect(0);
        let message = sandbox.git(["log", "-1", "--format=%B"]);
        let mut parse = sandbox
            .command("git")
            .args(["interpret-trailers", "--parse", "--no-divider"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut parse.stdin.take().unwrap(), message.as_bytes()).unwrap();
        let parsed = String::from_utf8(parse.wait_with_output().unwrap().stdout).unwrap();
        let keys: Vec<&str> = parsed
            .lines()
            .map(|l| l.split_once(": ").unwrap().0)
            .collect();
        assert_eq!(keys.len(), 11, "{parsed}");
        let mut unique = keys.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), 11, "each key once: {parsed}");
        assert_eq!(trailer(&sandbox, "HEAD", "Arkaint-Status"), "stable");
        assert_eq!(trailer(&sandbox, "HEAD", "Arkaint-Version"), "1");
        let task = trailer(&sandbox, "HEAD", "Arkaint-Task");
        assert!(
            !task.is_empty()
                && task.len() <= 512
                && !task.contains('\n')
                && !task.contains('\u{1b}'),
            "{task:?}"
        );
        sandbox.arkaint(["log", "--verify"]).expect(0);
        // The full text is kept in the ledger.
        let note: serde_json::Value =
            serde_json::from_str(&sandbox.git(["notes", "--ref=arkaint/ledger", "show", "HEAD"]))
                .unwrap();
        assert_eq!(note["task"].as_str().unwrap(), text.trim());
    }
}

#[test]
fn anyone_can_recompute_the_chain_with_git_and_sha256sum() {
    let sandbox = Sandbox::ready("\"true\"");
    for number in 0..20 {
        sandbox.write("n.txt", &format!("{number}\n"));
        sandbox
            .arkaint(["-q", "checkpoint", "-m", &format!("number {number}")])
            .expect(0);
        if number == 9 {
            sandbox.write("by-hand.txt", "between\n");
            sandbox.commit_all("a commit of a person's between two checkpoints");
        }
    }
    let script = r#"
        value() { git log -1 --format="%(trailers:key=$2,valueonly)" "$1" | head -n 1; }
        commit=HEAD checked=0
        while :; do
            prev=$(value "$commit" Arkaint-Prev) before=
            [ "$prev" = none ] || before=$(value "$prev" Arkaint-State-Hash)
            hash=$(printf 'arkaint-state-v1\n%s\n%s\n' "$(git rev-parse "$commit^{tree}")" "$before" | sha256sum | cut -d' ' -f1)
            [ "$hash" = "$(value "$commit" Arkaint-State-Hash)" ] || { echo "broken at $commit"; exit 1; }
            checked=$((checked + 1))
            [ "$prev" != none ] || break
            commit=$prev
        done
        echo "$checked"
    "#;
    assert_eq!(sandbox.sh(script).trim(), "20");
    let ran = sandbox.arkaint(["log", "--verify"]).expect(0);
    assert!(
        ran.stdout.contains("the chain of 20 checkpoints holds"),
        "{}",
        ran.stdout
    );
}

#[test]
fn forged_pasted_and_moved_checkpoints_are_never_stable() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.write("a.txt", "a\n");
    sandbox.arkaint(["checkpoint", "-m", "honest"]).expect(0);
    let honest = sandbox.git(["rev-parse", "HEAD"]);
    let message = sandbox.git(["log", "-1", "--format=%B"]);
    // Pasted onto another tree.
    sandbox.write("a.txt", "evil\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "--cleanup=verbatim", "-m", &message]);
    let ran = sandbox.arkaint(["log", "--verify"]).expect(1);
    assert!(ran.stdout.contains("the chain breaks at"), "{}", ran.stdout);
    let status = sandbox.arkaint(["status", "--json"]).expect(0).json();
    assert_eq!(status["checkpoint"]["commit"], honest);
    assert_eq!(status["newest_is"]["label"], "invalid");
    // The very tree, the very words, but no record: valid, yet unproven.
    sandbox.git(["reset", "-q", "--hard", &honest]);
    sandbox.git([
        "commit",
        "-q",
        "--amend",
        "--no-edit",
        "--cleanup=verbatim",
        "--date=2001-01-01T00:00:00Z",
    ]);
    let status = sandbox.arkaint(["status", "--json"]).expect(0).json();
    assert_eq!(status["newest_is"]["label"], "unproven");
    assert!(status["checkpoint"].is_null());
    let ran = sandbox.arkaint(["rollback"]).expect(2);
    assert!(
        ran.stderr.contains("no stable checkpoint"),
        "{}",
        ran.stderr
    );
}
