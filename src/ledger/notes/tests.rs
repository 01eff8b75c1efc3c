//! The notes ref by itself: appends that race, and each way of reading it against the whole.

use std::fmt::Write as _;

use super::*;
use crate::git::fixture::Repo;

#[test]
fn the_newest_are_the_end_of_all_however_many_are_asked_for() {
    let repo = Repo::new();
    let mut stream = String::new();
    for n in 0..300 {
        let _ = writeln!(
            stream,
            "commit refs/heads/x\nmark :{}\ncommitter T <t@example.invalid> {n} +0000\ndata 1\nx",
            n + 1
        );
    }
    let _ = writeln!(
        stream,
        "commit {REF}\ncommitter T <t@example.invalid> 1 +0000\ndata 1\nx"
    );
    for n in 0..300 {
        // Times in no order of the commits; each fifth comes twice, on another commit too.
        let second = n * 7 % 300;
        let kind = if n % 3 == 0 { "trip" } else { "run" };
        let line = |n: usize, kind: &str| {
            format!(
                "{{\"at\":\"2026-01-01T00:{:02}:{:02}.000Z\",\"id\":\"r{n}\",\"kind\":\"{kind}\",\"v\":1}}\n",
                n / 60,
                n % 60
            )
        };
        let mut text = line(second, kind);
        if n % 5 == 1 {
            let before = n - 1;
            text += &line(
                before * 7 % 300,
                if before % 3 == 0 { "trip" } else { "run" },
            );
        }
        let _ = writeln!(stream, "N inline :{}\ndata {}\n{text}", n + 1, text.len());
    }
    repo.git_with(["fast-import", "--quiet"], stream.as_bytes());
    let worktree = repo.worktree();
    let ids = |records: &[(Oid, Record)]| {
        let ids = records.iter().map(|(_, r)| r.id().to_owned());
        ids.collect::<Vec<_>>()
    };
    let everything = all(&worktree).unwrap();
    assert_eq!(everything.len(), 300);
    for most in [0, 1, 20, 63, 64, 299, 300, 1000] {
        for kind in [None, Some("trip")] {
            let wanted = |r: &Record| kind.is_none_or(|kind| r.kind() == kind);
            let (found, odd) = newest(&worktree, most, wanted).unwrap();
            let chosen: Vec<_> = everything
                .iter()
                .filter(|(_, r)| wanted(r))
                .cloned()
                .collect();
            let end = &chosen[chosen.len().saturating_sub(most)..];
            assert_eq!((ids(&found), odd), (ids(end), 0), "{most} {kind:?}");
        }
    }
}

#[test]
fn runs_count_where_something_asks_for_them() {
    let repo = Repo::new();
    repo.git(["commit", "-q", "--allow-empty", "-m", "start"]);
    let worktree = repo.worktree();
    let head = worktree.head().unwrap().unwrap();
    let mut expected = Vec::new();
    let kinds = |records: Vec<(Oid, Record)>| -> Vec<String> {
        let kinds = records.iter().map(|(_, record)| record.kind().to_owned());
        kinds.collect()
    };
    for kind in Kind::ALL {
        // A word that is the name of a kind makes none of a record.
        let record = Record::new(kind, serde_json::json!({"task": "contract"}));
        append(&worktree, head, &[record]).unwrap();
        if matches!(
            kind,
            Kind::Failure | Kind::Trip | Kind::Rollback | Kind::Decay
        ) {
            continue;
        }
        expected.push(kind.name().to_owned());
        let asks = expected.iter().any(|k| k == "contract" || k == "evidence");
        let mut expected = expected.clone();
        expected.retain(|kind| kind != "run" || asks);
        assert_eq!(kinds(deciding(&worktree).unwrap()), expected);
    }
    assert_eq!(kinds(all(&worktree).unwrap()).len(), Kind::ALL.len());
}

#[test]
fn a_ref_that_is_held_is_waited_for_and_what_no_time_mends_is_said_at_once() {
    let repo = Repo::new();
    repo.git(["commit", "-q", "--allow-empty", "-m", "start"]);
    let worktree = repo.worktree();
    let head = worktree.head().unwrap().unwrap();
    let record = || Record::new(super::super::Kind::Trip, serde_json::json!({"why": "x"}));
    append(&worktree, head, &[record()]).unwrap();
    let lock = worktree.common_dir().join(format!("{REF}.lock"));
    std::fs::write(&lock, "").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            std::fs::remove_file(&lock).unwrap();
        });
        append(&worktree, head, &[record()]).unwrap();
    });
    assert_eq!(all(&worktree).unwrap().len(), 2);

    let refused = |why: &str| {
        let began = Instant::now();
        let error = append(&worktree, head, &[record()]).unwrap_err();
        let said = format!("{error:#}");
        assert!(
            said.starts_with("appending to the ledger: ") && said.contains(why),
            "{said}"
        );
        assert!(began.elapsed() < Duration::from_secs(20), "{said}");
    };
    repo.git(["update-ref", "refs/notes/other", REF]);
    repo.git(["symbolic-ref", REF, "refs/notes/other"]);
    refused("is a symbolic ref");
    repo.git(["symbolic-ref", "--delete", REF]);
    // Nothing can be written, not even by root.
    repo.git(["repack", "-adq"]);
    for number in 0..=255 {
        let folder = worktree.common_dir().join(format!("objects/{number:02x}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::write(&folder, "").unwrap();
    }
    refused("");
}

#[test]
fn the_time_of_a_line_is_seen_at_its_beginning() {
    assert_eq!(at_of(b"{\"at\":\"2026\",\"id\":1}"), Some(&b"2026"[..]));
    for odd in [
        &b"{\"id\":1,\"at\":\"2026\"}"[..],
        b"{\"at\":\"20\\u0032\"}",
        b"{\"at\":\"2026",
        b"x",
    ] {
        assert_eq!(at_of(odd), None);
    }
}

/// A repository of `commits` commits whose ledger has twenty small records on each of the first `notes`, and its newest commit.
fn with_ledger(commits: usize, notes: usize) -> (Repo, Oid) {
    let repo = Repo::new();
    let mut stream = String::new();
    let who = "committer T <t@example.invalid>";
    for n in 1..=commits {
        let _ = writeln!(
            stream,
            "commit refs/heads/main\nmark :{n}\n{who} {n} +0000\ndata 1\nx"
        );
    }
    let _ = writeln!(stream, "commit {REF}\n{who} 1 +0000\ndata 1\nx");
    for n in 1..=notes {
        let line =
            |k| format!(r#"{{"at":"2026-01-01T00:00:00.000Z","id":"{n}.{k}","kind":"run","v":1}}"#);
        let text: String = (0..20).map(|k| line(k) + "\n").collect();
        let _ = writeln!(stream, "N inline :{n}\ndata {}\n{text}", text.len());
    }
    repo.git_with(["fast-import", "--quiet"], stream.as_bytes());
    let newest = repo.worktree().head().unwrap().unwrap();
    (repo, newest)
}

/// `tests/ratios` says how long it takes.
#[test]
fn an_append_does_not_grow_with_what_is_on_other_commits() {
    let sides = [with_ledger(5000, 5), with_ledger(5000, 4999)];
    let mut written = [0; 2];
    for round in 0..3 {
        for (side, (repo, newest)) in sides.iter().enumerate() {
            let objects = || -> usize {
                let count = String::from_utf8(repo.git(["count-objects"])).unwrap();
                count.split(' ').next().unwrap().parse().unwrap()
            };
            let before = objects();
            let worktree = repo.worktree();
            let record = Record::new(Kind::Run, serde_json::json!({"task": round.to_string()}));
            append(&worktree, *newest, &[record]).unwrap();
            written[side] = written[side].max(objects() - before);
        }
    }
    // The note, its folder, the folder of that, the commit.
    assert!(written.iter().all(|objects| *objects <= 4), "{written:?}");
}
