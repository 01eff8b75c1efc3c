//! git itself makes both sides, and its own merge is what ours is held to.

use std::fmt::Write as _;

use super::*;
use crate::git::fixture::Repo;

const A: &str = "refs/notes/a";
const B: &str = "refs/notes/b";

/// A notes ref by `git fast-import`, which lays out the fan-out as git does: notes on `objects`, each with `text` of its number.
fn import(repo: &Repo, name: &str, notes: &[(String, String)]) {
    let mut stream =
        format!("commit {name}\ncommitter T <t@example.invalid> 1700000000 +0000\ndata 1\nx\n");
    for (on, text) in notes {
        let _ = writeln!(stream, "N inline {on}\ndata {}\n{text}", text.len());
    }
    repo.git_with(["fast-import", "--quiet", "--force"], stream.as_bytes());
}

/// Commits to hang notes on.
fn commits(repo: &Repo, count: usize) -> Vec<String> {
    let mut stream = String::new();
    for n in 0..count {
        let _ = writeln!(
            stream,
            "commit refs/heads/x\ncommitter T <t@example.invalid> {n} +0000\ndata 1\nx"
        );
    }
    repo.git_with(["fast-import", "--quiet"], stream.as_bytes());
    let listed = repo.git(["rev-list", "refs/heads/x"]);
    String::from_utf8(listed)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

fn side(repo: &gix::Repository, name: &str) -> Side {
    Side::of(repo, notes::tip_of(repo, name).unwrap()).unwrap()
}

/// Every note of a tree as git lists it.
fn listed(repo: &Repo, tree: Oid) -> Vec<u8> {
    let commit = repo.git(["commit-tree", &tree.to_string(), "-m", "x"]);
    let commit = String::from_utf8(commit).unwrap();
    repo.git(["update-ref", "refs/notes/seen", commit.trim()]);
    repo.git(["notes", "--ref=seen", "list"])
}

#[test]
fn many_notes_of_two_fan_outs_become_what_gits_merge_makes_of_them() {
    let repo = Repo::new();
    let on = commits(&repo, 900);
    // 800 fan out, 120 do not; 20 are on both sides, half of these alike.
    let text = |n: usize, who: &str| format!("{{\"n\":{n},\"by\":\"{who}\"}}\n");
    let ours: Vec<_> = (0..800).map(|n| (on[n].clone(), text(n, "a"))).collect();
    let theirs: Vec<_> = (780..900)
        .map(|n| (on[n].clone(), text(n, if n < 790 { "a" } else { "b" })))
        .collect();
    import(&repo, A, &ours);
    import(&repo, B, &theirs);
    let worktree = repo.worktree();
    let gix = worktree.repo().unwrap();
    let union = of(gix, Rule::Lines, side(gix, A), side(gix, B)).unwrap();
    assert_eq!(
        (union.received, union.sent, union.mended),
        (110, 790, false)
    );
    let back = of(gix, Rule::Lines, side(gix, B), side(gix, A)).unwrap();
    assert_eq!((back.received, back.sent), (790, 110));

    repo.git([
        "notes",
        "--ref=a",
        "merge",
        "-q",
        "-s",
        "cat_sort_uniq",
        "b",
    ]);
    let wanted = repo.git(["notes", "--ref=a", "list"]);
    assert_eq!(listed(&repo, union.tree), wanted);
    assert_eq!(listed(&repo, back.tree), wanted);
    // Uniting with what is in it already changes nothing.
    let again = of(
        gix,
        Rule::Lines,
        Side {
            tip: None,
            tree: union.tree,
        },
        side(gix, B),
    )
    .unwrap();
    assert_eq!((again.tree, again.received), (union.tree, 0));
}

#[test]
fn what_is_no_note_stays_and_is_never_put_in_the_way_of_another() {
    let others: BTreeMap<BString, (EntryMode, Oid)> = ["blobs/a", "x", "y/z/w"]
        .into_iter()
        .map(|path| {
            (
                path.into(),
                (EntryKind::Blob.into(), Oid::null(gix::hash::Kind::Sha1)),
            )
        })
        .collect();
    let free = |path: &str| is_free(&others, &path.into());
    assert!(free("blobs/b") && free("blobs/ab") && free("y/q") && free("xx"));
    assert!(!free("blobs/a") && !free("x/below") && !free("y/z") && !free("y") && !free("blobs"));
}

#[test]
fn of_two_pages_of_one_second_each_side_chooses_the_same() {
    let repo = Repo::new();
    let on = commits(&repo, 1).remove(0);
    import(&repo, A, &[(on.clone(), "old\n".to_owned())]);
    repo.git(["notes", "--ref=b", "add", "-m", "new", &on]);
    let worktree = repo.worktree();
    let gix = worktree.repo().unwrap();
    let (a, b) = (side(gix, A), side(gix, B));
    let note =
        |side: Side| of_object(&Leaves::read(gix, side.tree).unwrap(), &on.parse().unwrap())[0];
    let on: Oid = on.parse().unwrap();
    assert_eq!(
        written_at(gix, a.tip, on, note(a)).unwrap().0,
        1_700_000_000
    );
    let union = of(gix, Rule::Later, a, b).unwrap();
    assert_eq!(of(gix, Rule::Later, b, a).unwrap().tree, union.tree);
}
