use super::*;
use crate::deliver::subject::Ask;
use crate::evidence::dod::List;
use crate::evidence::grade::Grade;
use crate::git::Worktree;
use crate::git::fixture::Repo;
use crate::ledger::notes;

/// `main` asks for one item, `work` has one commit more, and a `verify.json` that says nothing of it.
fn start() -> Repo {
    let repo = Repo::new();
    repo.write(
        "arkaint.toml",
        "[checkpoint]\ntest = false\n[[dod]]\nid = \"tests\"\nkind = \"command\"\ncommand = [\"make\", \"test\"]\n",
    );
    repo.write(".gitignore", ".ak-loop/\n");
    repo.commit("start");
    repo.git(["switch", "-q", "-c", "work"]);
    repo.write("a", "1\n");
    repo.commit("work");
    repo.write(".ak-loop/verify.json", "{}");
    repo
}

fn ask<'a>() -> Ask<'a> {
    Ask {
        base: Some("main"),
        ..Ask::default()
    }
}

fn judged(worktree: &Worktree, ask: Ask<'_>, items: &[Rerun], remote: Option<&Remote>) -> Judged {
    let records = notes::all(worktree).unwrap();
    let delivery = Delivery::find(worktree, &records, ask).unwrap();
    let reran = Reran {
        items: items.to_vec(),
        own: None,
    };
    judge(&delivery, Some(&reran), remote).unwrap()
}

/// `waiting at request: it is a draft`.
fn stop(judged: &Judged) -> String {
    judged.stop().map_or("open".to_owned(), |gate| {
        format!("{} at {}: {}", gate.answer.name(), gate.name, gate.why)
    })
}

fn ran(passed: bool) -> [Rerun; 1] {
    [Rerun {
        list: List::Project,
        id: "tests".to_owned(),
        passed,
        evidence: "make test → exit 0".to_owned(),
    }]
}

#[test]
fn what_was_run_again_goes_before_what_anybody_wrote() {
    let repo = start();
    let worktree = repo.worktree();
    let of = |rerun: &[Rerun]| judged(&worktree, ask(), rerun, None);
    assert_eq!(stop(&of(&[])), "closed at both lists: prove project/tests");
    assert_eq!(
        stop(&of(&ran(false))),
        "closed at both lists: fix project/tests"
    );
    let open = of(&ran(true));
    assert_eq!((stop(&open), open.exit()), ("open".to_owned(), Exit::Done));
    let row = &open.standing.unwrap().assessment.rows[0];
    assert_eq!(
        (&*row.source, row.grade),
        ("arkaint · rerun", Some(Grade::Rerun))
    );
    repo.write(
        ".ak-loop/dod.json",
        r#"{"project":[{"id":"tests","status":"passed","evidence":"ok"}]}"#,
    );
    assert_eq!(stop(&of(&[])), "open");
    assert_eq!(
        stop(&of(&ran(false))),
        "closed at both lists: fix project/tests"
    );
}

#[test]
fn the_forge_is_asked_in_its_turn() {
    let repo = start();
    let worktree = repo.worktree();
    let of = |remote: &Remote| judged(&worktree, ask(), &ran(true), Some(remote));
    let green = Remote {
        passed: 2,
        ..Remote::default()
    };
    let open = of(&green);
    assert_eq!(stop(&open), "open");
    let floor = open.gates.last().unwrap();
    assert_eq!(floor.why, "both lists, 2 checks of the forge");
    for (remote, why, exit) in [
        (
            Remote {
                draft: true,
                ..green.clone()
            },
            "waiting at request: it is a draft",
            Exit::Person,
        ),
        (
            Remote {
                other_head: Some("abc\u{1b}".to_owned()),
                draft: true,
                ..green.clone()
            },
            "waiting at request: the request is at abc<U+001B>, which is not what is delivered here",
            Exit::Person,
        ),
        (
            Remote {
                failing: vec!["lint".to_owned(), "test".to_owned()],
                pending: vec!["docs".to_owned()],
                ..green.clone()
            },
            "closed at checks: failed: lint, test",
            Exit::CheckFailed,
        ),
        (
            Remote {
                pending: vec!["docs".to_owned()],
                ..green.clone()
            },
            "waiting at checks: not finished: docs",
            Exit::Person,
        ),
        (Remote::default(), "open", Exit::Done),
    ] {
        let judged = of(&remote);
        assert_eq!((&*stop(&judged), judged.exit()), (why, exit));
    }
    // Its checks alone vouch where nothing else is asked for; a red one among them vouches for nothing.
    let bare = Repo::new();
    bare.write("a", "1\n");
    bare.commit("start");
    bare.git(["switch", "-q", "-c", "work"]);
    bare.write("a", "2\n");
    bare.commit("work");
    let worktree = bare.worktree();
    assert_eq!(stop(&judged(&worktree, ask(), &[], Some(&green))), "open");
    assert_eq!(
        stop(&judged(&worktree, ask(), &[], Some(&Remote::default()))),
        "held at floor: nothing that can be checked vouches for this tree"
    );
    let red = Remote {
        failing: vec!["test".to_owned()],
        ..green
    };
    let floor = judged(&worktree, ask(), &[], Some(&red));
    assert_eq!(floor.gates.last().unwrap().answer, Answer::Held);
}

#[test]
fn a_dispatch_without_a_folder_is_not_assessed_and_blames_nobody() {
    let repo = start();
    let worktree = repo.worktree();
    let gone = repo.root().join("gone");
    let in_its_place = repo.root().join("in its place");
    std::fs::create_dir(&in_its_place).unwrap();
    for (folder, why) in [
        (None, "its dispatch record names no worktree".to_owned()),
        (
            Some(gone.as_path()),
            format!("worktree gone: {}", gone.display()),
        ),
        (
            Some(in_its_place.as_path()),
            format!("worktree gone: {}", in_its_place.display()),
        ),
    ] {
        let ask = Ask {
            branch: Some("work"),
            dispatched: true,
            folder,
            ..ask()
        };
        let judged = judged(&worktree, ask, &[], None);
        assert_eq!(
            stop(&judged),
            format!(
                "held at artifacts: not assessed: {why}; nothing of it is held against the worker"
            )
        );
        assert!(judged.standing.is_none());
        assert_eq!(judged.exit(), Exit::Person);
        let floor = judged.gates.last().unwrap();
        assert_eq!(floor.answer, Answer::Held);
    }
    // One that is there is looked at, wherever we are.
    repo.git(["switch", "-q", "main"]);
    let ask = Ask {
        branch: Some("work"),
        dispatched: true,
        folder: Some(repo.root()),
        ..ask()
    };
    assert!(stop(&judged(&worktree, ask, &[], None)).starts_with("waiting at worktree: "));
}

#[test]
fn a_dispatch_asks_for_evidence_where_nothing_else_does() {
    let repo = Repo::new();
    repo.write(".gitignore", ".ak-loop/\n");
    repo.commit("start");
    repo.git(["switch", "-q", "-c", "work"]);
    repo.write("a", "2\n");
    repo.commit("work");
    let worktree = repo.worktree();
    let ask = Ask {
        dispatched: true,
        folder: Some(repo.root()),
        ..ask()
    };
    let closed = judged(&worktree, ask, &[], None);
    assert!(
        stop(&closed).starts_with("closed at artifacts: .ak-loop/verify.json is not written"),
        "{}",
        stop(&closed)
    );
}

#[test]
fn the_projects_checks_that_fail_in_a_fresh_worktree_close_it_and_passing_ones_vouch() {
    let repo = start();
    let worktree = repo.worktree();
    let records = notes::all(&worktree).unwrap();
    let delivery = Delivery::find(&worktree, &records, ask()).unwrap();
    let of = |passed: bool| {
        let reran = Reran {
            items: ran(true).to_vec(),
            own: Some((passed, "3 failed (exit 1)".to_owned())),
        };
        judge(&delivery, Some(&reran), None).unwrap()
    };
    assert_eq!(
        stop(&of(false)),
        "closed at rerun: checks fail in a fresh worktree: 3 failed (exit 1)"
    );
    let open = of(true);
    assert_eq!(stop(&open), "open");
    let floor = open.gates.iter().find(|gate| gate.name == "floor").unwrap();
    assert!(
        floor.why.contains("own tests in a fresh worktree"),
        "{}",
        floor.why
    );
}
