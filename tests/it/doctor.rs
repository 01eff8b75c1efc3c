//! `git arkaint doctor`: each precondition broken by itself, one line with what mends it, and nothing changed.

use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};

fn doctor(sandbox: &Sandbox) -> Ran {
    sandbox.arkaint(["doctor", "--json"])
}

/// `state line` of what is said about `about`, and its mends.
fn about(ran: &Ran, about: &str) -> Vec<(String, String)> {
    let json = ran.json();
    let findings = json["findings"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    findings
        .iter()
        .filter(|finding| finding["about"] == about)
        .map(|finding| {
            let mend = finding["mend"].as_array().unwrap();
            let mend: Vec<String> = mend.iter().map(text).collect();
            let line = format!("{} {}", text(&finding["state"]), text(&finding["line"]));
            (line, mend.join("; "))
        })
        .collect()
}

/// Every byte of the git directory and the worktree that a command could change.
fn state(sandbox: &Sandbox) -> String {
    sandbox
        .sh("find . -type f ! -path './.arkaint/*' -exec sha256sum {} + | sort; git for-each-ref")
}

#[test]
fn a_repository_that_is_ready_is_said_to_be_and_is_not_touched() {
    let sandbox = Sandbox::ready("\"true\"");
    sandbox.agent("cat > /dev/null\necho 'ARKAINT: done'\n");
    sandbox.write("work.txt", "work\n");
    sandbox.arkaint(["checkpoint", "-q"]).expect(0);
    sandbox.arkaint(["hooks", "install", "-q"]).expect(0);
    let before = state(&sandbox);
    let ran = doctor(&sandbox).expect(0);
    assert_eq!(state(&sandbox), before);
    assert_eq!(ran.json()["ready"], true);
    for (name, line) in [
        ("git", "ok git version "),
        ("configuration", "ok arkaint.toml"),
        ("branch", "ok arkaint/"),
        ("tests", "ok true"),
        ("agent", "ok command"),
        ("sandbox", "note none"),
        ("hooks", "ok git runs"),
        ("ledger", "ok 1 record"),
        ("way back", "ok the stable checkpoint "),
        ("disk", "ok "),
    ] {
        let said = about(&ran, name);
        assert!(said.len() == 1 && said[0].0.starts_with(line), "{said:?}");
    }
    // What a person reads is the same, and no line is wider than a terminal but for what is named in it.
    let ran = sandbox.arkaint(["doctor"]).expect(0);
    assert!(ran.stdout.contains("\nok   configuration arkaint.toml"));
    assert_eq!(ran.stderr, "");
}

#[test]
fn what_is_wrong_is_bad_with_the_command_that_mends_it() {
    let ready = || {
        let sandbox = Sandbox::ready("\"true\"");
        sandbox.write("work.txt", "work\n");
        sandbox.arkaint(["checkpoint", "-q"]).expect(0);
        sandbox
    };
    let toml = |from: &'static str, to: &'static str| {
        move |sandbox: &Sandbox| {
            let text = sandbox.read("arkaint.toml");
            assert!(text.contains(from), "{text}");
            sandbox.write("arkaint.toml", &text.replace(from, to));
            sandbox.commit_all("configure");
        }
    };
    let sh = |script: &'static str| {
        move |sandbox: &Sandbox| {
            sandbox.sh(script);
        }
    };
    type Break = Box<dyn Fn(&Sandbox)>;
    let cases: Vec<(Break, &str, &str, &str)> = vec![
        (
            Box::new(sh("echo >> arkaint.toml")),
            "configuration",
            "bad arkaint.toml differs from HEAD",
            "git commit",
        ),
        (
            Box::new(sh("git rm -q arkaint.toml && git commit -qm gone")),
            "configuration",
            "bad there is no arkaint.toml",
            "git arkaint init",
        ),
        (
            Box::new(toml("\"true\"", "[\"no-such-runner\", \"all\"]")),
            "tests",
            "bad no-such-runner all: no-such-runner is not on PATH",
            "install no-such-runner",
        ),
        (
            Box::new(toml("test = \"true\"", "")),
            "tests",
            "bad no test command is set",
            "set test in [checkpoint]",
        ),
        (
            Box::new(toml("[agent]", "gitleaks = \"required\"\n[agent]")),
            "gitleaks",
            if crate::gitleaks::is_installed() {
                "ok "
            } else {
                "bad not on PATH"
            },
            "",
        ),
        (
            Box::new(toml("[agent]", "[agent]\nwrapper = [\"false\"]")),
            "sandbox",
            "bad false cannot run true",
            "SANDBOXES",
        ),
        (
            Box::new(toml("[agent]", "[agent]\nwrapper = [\"no-such-box\"]")),
            "sandbox",
            "bad ",
            "install no-such-box",
        ),
        (
            Box::new(sh(
                "git config --global --unset user.name; git config --global user.useConfigOnly true",
            )),
            "identity",
            "bad git does not know who commits here",
            "git config user.name",
        ),
        (
            Box::new(sh(
                "git switch -qc arkaint/b HEAD~1; git commit -q --allow-empty -m b; git merge -q --no-ff --no-commit -s ours arkaint/work",
            )),
            "worktree",
            "bad a merge is under way",
            "git merge --abort",
        ),
        (
            Box::new(sh("touch -d '1 hour ago' .git/index.lock")),
            "git lock",
            "bad ",
            "rm -- ",
        ),
        (
            Box::new(sh("touch .git/refs/heads/x.lock")),
            "git lock",
            "bad ",
            "rm -- ",
        ),
        (
            Box::new(sh("git switch -q -c trunk")),
            "branch",
            "note trunk is not for agents",
            "git switch -c arkaint/SLUG",
        ),
        (
            Box::new(sh(
                "git notes --ref=arkaint/ledger append -m 'no record' HEAD",
            )),
            "ledger",
            "note 1 lines are no records",
            "git log --notes",
        ),
        (
            Box::new(sh(
                "git symbolic-ref refs/notes/arkaint/ledger refs/heads/main",
            )),
            "ledger",
            "bad refs/notes/arkaint/ledger is a symbolic ref",
            "",
        ),
        (
            Box::new(sh(
                "git remote add o .; git config --add remote.o.fetch '+refs/notes/*:refs/notes/*'",
            )),
            "ledger",
            "bad remote.o.fetch = ",
            "git config --unset-all",
        ),
        (
            Box::new(sh(
                "rm -f .git/objects/$(git rev-parse HEAD:arkaint.toml | sed 's|^..|&/|')",
            )),
            "way back",
            "bad 1 objects of the stable checkpoint",
            "git fsck --full",
        ),
    ];
    for (damage, name, line, mend) in cases {
        let sandbox = ready();
        damage(&sandbox);
        let ran = doctor(&sandbox);
        let said = about(&ran, name);
        let found = said
            .iter()
            .any(|(said, mends)| said.starts_with(line) && mends.contains(mend));
        assert!(found, "{name}: {said:?}");
        let bad = line.starts_with("bad");
        assert_eq!(ran.code, Some(i32::from(bad)), "{}", ran.stdout);
    }
    // One that somebody holds is no finding that stops anything.
    let sandbox = ready();
    let held = std::fs::File::create(sandbox.repo.join(".git/index.lock")).unwrap();
    let ran = doctor(&sandbox).expect(0);
    let said = about(&ran, "git lock");
    assert!(said[0].0.ends_with("git is at work"), "{said:?}");
    drop(held);
    std::fs::remove_file(sandbox.repo.join(".git/index.lock")).unwrap();
    // What it prints is a command, whatever the names are.
    sandbox.write(".git/refs/heads/it's $HOME.lock", "");
    sandbox.git(["config", "remote.it's.fetch", "+refs/notes/*:refs/notes/*"]);
    let ran = doctor(&sandbox).expect(1);
    let bad = ["git lock", "ledger"].map(|name| about(&ran, name));
    let bad: Vec<_> = bad.iter().flatten().collect();
    let bad = bad.iter().filter(|(said, _)| said.starts_with("bad"));
    let mends: Vec<_> = bad.map(|(_, mend)| mend).collect();
    assert_eq!(mends.len(), 2, "{}", ran.stdout);
    for mend in mends {
        sandbox.sh(mend);
    }
    doctor(&sandbox).expect(0);

    let nowhere = Sandbox::new();
    let outside = nowhere.home().to_str().unwrap().to_owned();
    let ran = nowhere.arkaint(["-C", &outside, "doctor"]).expect(1);
    assert!(ran.stdout.contains("bad  repository"), "{}", ran.stdout);
}
