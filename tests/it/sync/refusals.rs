//! Remotes, refs and hooks that stand in the way: each is named, and moves nothing.

use super::{LEDGER, World, line};

#[test]
fn what_it_refuses_and_that_nothing_is_changed_then() {
    let world = World::new();
    let ran = world.sandbox.arkaint(["sync"]).expect(2);
    assert!(ran.stderr.contains("there is no remote"), "{}", ran.stderr);
    let one = world.clone("one");
    world.append(&one, &line(1, ""));
    let ran = world.sync(&one, &["upstream"]).expect(2);
    assert!(
        ran.stderr.contains("upstream is no remote here"),
        "{}",
        ran.stderr
    );
    world.sync(&one, &["--timeout", "soon"]).expect(2);
    let inside = world
        .sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(["-C", one.to_str().unwrap(), "sync"])
        .env("ARKAINT_RUN", "r1")
        .output()
        .unwrap();
    assert_eq!(inside.status.code(), Some(2));

    // Two remotes, neither named origin nor that of the branch.
    world.git(&one, &["remote", "rename", "origin", "a"]);
    world.git(&one, &["remote", "add", "b", "/nowhere"]);
    world.git(&one, &["switch", "-q", "-c", "other", "--no-track"]);
    let ran = world.sync(&one, &[]).expect(2);
    assert!(
        ran.stderr.contains("git arkaint sync a|b"),
        "{}",
        ran.stderr
    );
    // Offline: the cause in git's words, and no ref has moved.
    let before = world.git(&one, &["for-each-ref"]);
    let ran = world.sync(&one, &["b"]).expect(3);
    assert!(
        ran.stderr
            .contains("b cannot be reached; nothing was changed")
            && ran.stderr.contains("/nowhere"),
        "{}",
        ran.stderr
    );
    assert_eq!(world.git(&one, &["for-each-ref"]), before);
    // The branch's own remote comes first.
    world.git(&one, &["config", "branch.other.remote", "a"]);
    let said = world.sync(&one, &[]).expect(0).stdout;
    assert!(said.starts_with("a: "), "{said}");
}

#[test]
fn a_remote_that_goes_away_halfway_is_not_said_to_have_left_all_as_it_was() {
    let world = World::new();
    let one = world.clone("one");
    world.append(&one, &line(1, ""));
    let once = world.hub.with_file_name("once");
    std::fs::write(
        &once,
        "#!/bin/sh\n[ ! -e \"$0.was\" ] || { echo it left >&2; exit 1; }\ntouch \"$0.was\"\nexec git upload-pack \"$@\"\n",
    )
    .unwrap();
    world.sandbox.sh(&format!("chmod +x {}", once.display()));
    let key = "remote.origin.uploadpack";
    world.git(&one, &["config", key, once.to_str().unwrap()]);
    let ran = world.sync(&one, &["--discards"]).expect(3);
    assert!(
        ran.stderr
            .contains("origin cannot be reached; the ledger is exchanged: it left"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        world.git(&one, &["rev-parse", LEDGER]),
        world.git(&world.hub, &["rev-parse", LEDGER])
    );
}

#[test]
fn a_remote_that_refuses_notes_is_named_with_its_reason() {
    let world = World::new();
    let one = world.clone("one");
    world.append(&one, &line(1, ""));
    let hook = world.hub.join("hooks/update");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(
        &hook,
        "#!/bin/sh\ncase $1 in refs/notes/*) echo no notes here >&2; exit 1;; esac\n",
    )
    .unwrap();
    world.sandbox.sh(&format!("chmod +x {}", hook.display()));
    let ran = world.sync(&one, &[]).expect(3);
    assert!(
        ran.stderr
            .contains("origin does not take refs/notes/arkaint/ledger: hook declined"),
        "{}",
        ran.stderr
    );
    std::fs::remove_file(&hook).unwrap();
    world.git(&world.hub, &["config", "transfer.hideRefs", "refs/notes"]);
    let ran = world.sync(&one, &[]).expect(3);
    assert!(ran.stderr.contains("hidden ref"), "{}", ran.stderr);
}

#[test]
fn a_remote_that_asks_or_never_answers_is_given_up() {
    let world = World::new();
    let one = world.clone("one");
    world.append(&one, &line(1, ""));
    // A transport that would ask on the terminal: git is told not to, and ssh too.
    let ssh = world.sandbox.home().join("bin");
    std::fs::create_dir_all(&ssh).unwrap();
    world.sandbox.sh(&format!(
        "printf '#!/bin/sh\\necho \"$@ $GIT_TERMINAL_PROMPT\" > \"$HOME/asked\"; exec sleep 600\\n' > {0}/ssh; chmod +x {0}/ssh",
        ssh.display()
    ));
    world.git(
        &one,
        &[
            "remote",
            "set-url",
            "origin",
            "ssh://git@example.invalid/x.git",
        ],
    );
    let out = world
        .sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(["-C", one.to_str().unwrap(), "sync", "--timeout", "2s"])
        .env(
            "PATH",
            format!("{}:{}", ssh.display(), world.sandbox.path()),
        )
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("no end after 2 s"), "{stderr}");
    let asked = std::fs::read_to_string(world.sandbox.home().join("asked")).unwrap();
    assert!(
        asked.contains("BatchMode=yes") && asked.trim_end().ends_with(" 0"),
        "{asked}"
    );
}

#[test]
fn a_hostile_remote_and_a_turned_ref_are_said_and_move_nothing() {
    let world = World::new();
    let one = world.clone("one");
    world.append(&one, &line(1, ""));
    let mine = world.git(&one, &["rev-parse", LEDGER]);
    // The remote offers its main as a ledger.
    world.git(&world.hub, &["update-ref", LEDGER, "main"]);
    let ran = world.sync(&one, &[]).expect(3);
    assert!(ran.stderr.contains("it is no ledger"), "{}", ran.stderr);
    assert_eq!(world.git(&one, &["rev-parse", LEDGER]), mine);
    world.git(&world.hub, &["update-ref", "-d", LEDGER]);
    // Ours leads to a branch.
    let main = world.git(&one, &["rev-parse", "main"]);
    world.git(&one, &["symbolic-ref", LEDGER, "refs/heads/main"]);
    let ran = world.sync(&one, &[]).expect(3);
    assert!(ran.stderr.contains("symbolic ref"), "{}", ran.stderr);
    assert_eq!(world.git(&one, &["rev-parse", "main"]), main);
    assert_eq!(world.git(&world.hub, &["rev-parse", "main"]), main);
}

#[test]
fn the_users_own_hook_is_asked_and_a_refspec_that_wipes_is_warned_of() {
    let world = World::new();
    let one = world.clone("one");
    world.append(&one, &line(1, ""));
    let hook = one.join(".git/hooks/pre-push");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho not on a friday >&2\nexit 1\n").unwrap();
    world.sandbox.sh(&format!("chmod +x {}", hook.display()));
    let ran = world.sync(&one, &[]).expect(3);
    assert!(
        ran.stderr.contains("origin did not take the ledger")
            && ran.stderr.contains("not on a friday"),
        "{}",
        ran.stderr
    );
    std::fs::remove_file(&hook).unwrap();
    world.git(
        &one,
        &[
            "config",
            "--add",
            "remote.origin.fetch",
            "+refs/notes/*:refs/notes/*",
        ],
    );
    let ran = world.sync(&one, &[]).expect(0);
    assert!(
        ran.stderr.contains("every git fetch throws away records"),
        "{}",
        ran.stderr
    );
    // It is not followed, and what was here is there now.
    assert_eq!(world.lines(&world.hub, "main").len(), 1);
}
