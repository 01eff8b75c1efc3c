//! What a run leaves in the git directory to lead us astray, and trouble while that is put right.

use serde_json::Value;

use super::{GREEN, cycle, world};

/// What lies below a link belongs to somebody else, and so does the file that a link leads to.
#[test]
fn what_a_run_linked_into_the_git_directory_costs_nobody_a_file() {
    let sandbox = world(
        GREEN,
        "if [ $launch = 1 ]; then rm -rf .git/hooks; ln -s \"$HOME/docs\" .git/hooks; ln -s \"$HOME/docs/letter\" .git/info/exclude.arkaint-new\n\
         echo '*' >> .git/info/exclude; fi; echo work > work.txt; finish done",
    );
    let docs = sandbox.home().join("docs");
    std::fs::create_dir_all(docs.join("more")).unwrap();
    std::fs::write(docs.join("letter"), "precious").unwrap();
    let ran = cycle(&sandbox).expect(0);
    for named in ["hooks was changed", "info/exclude was changed"] {
        assert!(ran.stderr.contains(named), "{}", ran.stderr);
    }
    assert_eq!(
        std::fs::read_to_string(docs.join("letter")).unwrap(),
        "precious"
    );
    assert!(docs.join("more").is_dir());
    let hooks = sandbox.repo.join(".git/hooks").symlink_metadata().unwrap();
    assert!(hooks.is_dir());
    assert_eq!(std::fs::read_dir(&docs).unwrap().count(), 2);
}

/// A path that is too long cannot be archived, also by root.
const DEEP: &str = "python3 -c 'import os\nfor i in range(60):\n n=\"n\"*200\n os.mkdir(n)\n os.chdir(n)\nopen(\"deep\",\"w\").write(\"deep\")'";

#[test]
fn what_was_found_is_said_and_held_also_where_the_work_cannot_be_archived() {
    let sandbox = world(
        GREEN,
        &format!(
            "echo work > work.txt\nif [ $launch = 1 ]; then git commit -q --allow-empty --amend -m rewritten; git rev-parse HEAD > \"$HOME/rewritten\"\n\
             echo '{{}}' > .git/arkaint/noted.json; {DEEP}; fi; finish done"
        ),
    );
    let ran = cycle(&sandbox);
    assert_ne!(ran.code, Some(0), "{}", ran.stderr);
    for word in ["does not descend", "too long"] {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
    let rewritten = std::fs::read_to_string(sandbox.home().join("rewritten")).unwrap();
    let held = || sandbox.git(["for-each-ref", "--contains", rewritten.trim()]);
    assert!(held().contains("refs/arkaint/discarded/"), "{}", held());
    let noted: Value = serde_json::from_str(&sandbox.read(".git/arkaint/noted.json")).unwrap();
    assert_eq!(noted["branch"], "refs/heads/arkaint/work");
    let listed = sandbox.arkaint(["discarded", "list"]).expect(0);
    assert!(
        listed.stdout.contains("commits that a run left"),
        "{}",
        listed.stdout
    );
    // The next command finishes it once that is possible.
    sandbox.sh(&format!("rm -rf {}", "n".repeat(200)));
    let next = sandbox.arkaint(["checkpoint", "-m", "after"]).expect(0);
    assert!(next.stderr.contains("was cut off"), "{}", next.stderr);
    assert_eq!(sandbox.read("work.txt"), "work\n");
}

/// An agent may write to the git directory what it likes; it may not make us write elsewhere.
#[test]
fn what_a_made_up_note_names_elsewhere_is_left_alone() {
    let sandbox = world(GREEN, "echo work > work.txt; kill -9 $PPID; exec sleep 600");
    let home = sandbox.home().to_owned();
    std::fs::create_dir(home.join("docs")).unwrap();
    for name in ["docs/letter", "letter", "ref"] {
        std::fs::write(home.join(name), "precious").unwrap();
    }
    assert_eq!(cycle(&sandbox).code, None);
    let file = sandbox.repo.join(".git/arkaint/noted.json");
    let mut noted: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let bytes = |name: &str| home.join(name).to_str().unwrap().as_bytes().to_vec();
    let evil = serde_json::json!({"File": {"bytes": [101], "mode": 0o755}});
    let known = noted["files"]["known"].as_array_mut().unwrap();
    known.push(serde_json::json!([bytes("letter"), evil]));
    known.push(serde_json::json!([bytes("fresh"), evil]));
    let hooks = sandbox.repo.join(".git/hooks");
    std::fs::remove_dir_all(&hooks).unwrap();
    std::os::unix::fs::symlink(home.join("docs"), &hooks).unwrap();
    let folders = noted["files"]["folders"].as_array_mut().unwrap();
    folders.push(serde_json::json!(bytes("docs")));
    noted["files"]["head"] = serde_json::json!(bytes("letter"));
    let id = sandbox.git(["rev-parse", "HEAD"]);
    noted["refs"]["refs/heads/../../../home/ref"] = id.into();
    std::fs::write(&file, serde_json::to_vec(&noted).unwrap()).unwrap();
    let next = sandbox.arkaint(["checkpoint", "-m", "after"]).expect(0);
    assert!(
        next.stderr.contains("was cut off") && next.stderr.contains("outside the git directory"),
        "{}",
        next.stderr
    );
    for name in ["docs/letter", "letter", "ref"] {
        assert_eq!(
            std::fs::read_to_string(home.join(name)).unwrap(),
            "precious",
            "{name}"
        );
    }
    assert!(!home.join("fresh").exists());
    assert!(hooks.symlink_metadata().unwrap().is_dir());
}

/// What a person's own git may hold is not the run's.
#[test]
fn a_lock_that_somebody_holds_is_named_and_stays() {
    let sandbox = world(
        GREEN,
        "touch $HOME/ready; while [ ! -e .git/index.lock ]; do sleep 0.05; done; echo work > work.txt; finish done",
    );
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_git-arkaint"));
    command.args(["cycle", "the task"]);
    let child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while !sandbox.home().join("ready").exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let lock = sandbox.repo.join(".git/index.lock");
    let held = std::fs::File::create(&lock).unwrap();
    let ran: crate::sandbox::Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("index.lock is held"), "{}", ran.stderr);
    assert!(lock.exists());
    assert_eq!(sandbox.read("work.txt"), "work\n");
    drop(held);
    std::fs::remove_file(lock).unwrap();
    sandbox.arkaint(["checkpoint"]).expect(0);
}
