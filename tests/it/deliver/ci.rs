//! The recipe of the README: what it tells to type is typed, in a repository with a remote and in a clone of that.

use super::*;

/// The fenced block after `heading` that has `word` in it.
fn block(heading: &str, word: &str) -> String {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let section = readme.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```").skip(1).step_by(2);
    blocks
        .map(|block| block.split_once('\n').unwrap().1.to_owned())
        .find(|block| block.contains(word))
        .unwrap()
}

/// The steps of the workflow that are typed, in order.
fn steps() -> Vec<String> {
    let steps: Vec<String> = block("In CI", "runs-on:")
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- run: "))
        .map(str::to_owned)
        .collect();
    assert_eq!(steps.len(), 3, "{steps:?}");
    steps
}

/// What the machine of a forge does: a clone with all branches, the commit checked out, then step by step until one fails.
fn workflow(sandbox: &Sandbox, head: &str) -> (Ran, String) {
    let place = sandbox.home().join("ci");
    let _ = std::fs::remove_dir_all(&place);
    sandbox.sh(&format!(
        "git clone -q \"$HOME/remote\" {place}; cd {place}; git checkout -q --detach {head}",
        place = place.display()
    ));
    let mut last = None;
    for step in steps() {
        let mut bash = sandbox.command("bash");
        let path = format!(
            "{}:{}",
            sandbox.home().join("bin").display(),
            sandbox.path()
        );
        let ran: Ran = bash
            .args(["-e", "-c", &step])
            .env("PATH", path)
            .env("GITHUB_BASE_REF", "main")
            .current_dir(&place)
            .output()
            .unwrap()
            .into();
        let failed = ran.code != Some(0);
        last = Some((ran, step));
        if failed {
            break;
        }
    }
    last.unwrap()
}

#[test]
fn what_the_readme_tells_to_type_works_on_a_machine_of_a_forge() {
    let sandbox = asked("", &format!("{ONE}{MANUAL}"));
    sandbox.arkaint(["hooks", "install"]).expect(0);
    sandbox.sh("git init -q --bare \"$HOME/remote\"; git remote add origin \"$HOME/remote\"; git push -q origin main");
    // The programs are there; cargo only says what it was asked for.
    let cargo = sandbox.home().join("bin/cargo");
    std::fs::create_dir(cargo.parent().unwrap()).unwrap();
    std::fs::write(&cargo, "#!/bin/sh\necho \"$@\" >\"$HOME/installed\"\n").unwrap();
    sandbox.sh("chmod +x \"$HOME/bin/cargo\"");
    let push = block("In CI", "git push");
    let (judge, push) = push.split_once('\n').unwrap();
    let head = rev(&sandbox, "HEAD");
    // Pushed without a word of evidence: the job fails, and says what to write.
    sandbox.sh(push);
    let (ran, step) = workflow(&sandbox, &head);
    assert!(
        step.contains("git arkaint deliver"),
        "{step}: {}",
        ran.stderr
    );
    let ran = ran.expect(1);
    assert!(
        ran.stderr.contains(".ak-loop/verify.json is not written"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        std::fs::read_to_string(sandbox.home().join("installed")).unwrap(),
        "install --locked git-arkaint\n"
    );
    // Judged, and waiting for a person.
    verify(&sandbox, PASSED);
    sandbox.sh(&format!("({judge}\n) || test $? = 3"));
    sandbox.sh(push);
    workflow(&sandbox, &head).0.expect(3);
    sandbox.arkaint(["contract", "attest", "looks"]).expect(0);
    sandbox.sh(judge);
    sandbox.sh(push);
    let ran = workflow(&sandbox, &head).0.expect(0);
    assert!(
        ran.stdout.contains("(from the ledger)") && ran.stderr.contains("the gate is open"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    // One more commit is not what was judged.
    work(&sandbox, "src/more.rs");
    sandbox.sh(push);
    let head = rev(&sandbox, "HEAD");
    workflow(&sandbox, &head).0.expect(1);
}
