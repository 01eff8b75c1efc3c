//! What two clones exchange, and that both have the same afterwards, of whatever kind the clones and their lines are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{LEDGER, World, line};
use crate::sandbox::is_long;

/// report_git_ai_95, report_git_ai_98.
#[test]
fn two_clones_end_with_the_same_lines_as_gits_own_merge() {
    let world = World::new();
    let (one, two) = (world.clone("one"), world.clone("two"));
    world.append(&one, &line(2, ""));
    world.append(&one, &line(1, ""));
    world.append(&two, &line(3, ""));
    world.append(&two, &line(1, ""));
    let said = world.sync(&one, &[]).expect(0).stdout;
    assert_eq!(said, "origin: 0 records received, 2 records sent\n");

    // What git makes of the two, on the side.
    let oracle = world.clone("oracle");
    for (clone, to) in [(&one, "a"), (&two, "b")] {
        let refspec = format!("{LEDGER}:refs/notes/{to}");
        world.git(&oracle, &["fetch", "-q", clone.to_str().unwrap(), &refspec]);
    }
    world.git(
        &oracle,
        &["notes", "--ref=a", "merge", "-s", "cat_sort_uniq", "b"],
    );
    let wanted = world.git(&oracle, &["notes", "--ref=a", "show", "HEAD"]);

    let said = world.sync(&two, &[]).expect(0).stdout;
    assert_eq!(said, "origin: 1 record received, 1 record sent\n");
    world.sync(&one, &["origin"]).expect(0);
    for clone in [&one, &two] {
        assert_eq!(world.lines(clone, "HEAD").join("\n"), wanted);
        assert_eq!(
            world.git(clone, &["rev-parse", LEDGER]),
            world.git(&world.hub, &["rev-parse", LEDGER])
        );
    }
    assert_eq!(wanted.lines().count(), 3);
    // Both histories are in the one that is there now, and it is read as sound.
    world.git(&one, &["fsck", "--strict"]);
    assert_eq!(
        world.sync(&one, &[]).expect(0).stdout,
        "origin: 0 records received, 0 records sent\n"
    );
}

#[test]
fn it_configures_nothing_and_leaves_no_note_where_git_log_would_show_it_twice() {
    let world = World::new();
    let (one, two) = (world.clone("one"), world.clone("two"));
    world.append(&one, &line(1, ""));
    world.git(&one, &["tag", "mine"]);
    let config = std::fs::read(one.join(".git/config")).unwrap();
    world.sync(&one, &[]).expect(0);
    world.sync(&two, &[]).expect(0);
    assert_eq!(std::fs::read(one.join(".git/config")).unwrap(), config);
    let refs = world.git(
        &two,
        &[
            "for-each-ref",
            "--format=%(refname)",
            "refs/notes",
            "refs/arkaint",
            "refs/tags",
        ],
    );
    assert_eq!(
        refs,
        format!("refs/arkaint/remotes/origin/notes/ledger\n{LEDGER}")
    );
    assert!(!one.join(".git/FETCH_HEAD").exists());
    let log = world.git(&two, &["log", "--notes=*", "--format=%N"]);
    assert_eq!(log.matches("\"kind\"").count(), 1, "{log}");
    // Nothing but the notes travelled.
    assert_eq!(world.git(&world.hub, &["tag"]), "");
}

#[test]
fn unknown_kinds_versions_and_lines_arrive_byte_for_byte() {
    let world = World::new();
    let (one, two) = (world.clone("one"), world.clone("two"));
    let newer = "{\"at\":\"2027-01-01T00:00:00.000Z\",\"id\":\"n\",\"kind\":\"run\",\"v\":2,\"tokens\":\"many\",\"new\":{\"x\":[1, 2.50]}}";
    let other = "{\"at\":\"2027-01-01T00:00:01.000Z\",\"id\":\"o\",\"kind\":\"hologram\",\"v\":7}";
    for text in [newer, other, "no JSON at all", "{\"half\":"] {
        world.append(&one, text);
    }
    world.append(&two, &line(1, ",\"zeta\":1.0,\"alpha\":{}"));
    for clone in [&one, &two, &one] {
        world.sync(clone, &[]).expect(0);
    }
    let lines: BTreeSet<_> = world.lines(&two, "HEAD").into_iter().collect();
    assert_eq!(lines, world.lines(&one, "HEAD").into_iter().collect());
    for text in [
        newer,
        other,
        "no JSON at all",
        "{\"half\":",
        &line(1, ",\"zeta\":1.0,\"alpha\":{}"),
    ] {
        assert!(lines.contains(text), "{text}: {lines:?}");
    }
    let log = world
        .sandbox
        .arkaint(["-C", two.to_str().unwrap(), "log"])
        .expect(0)
        .stdout;
    assert!(
        log.contains("hologram") && log.lines().count() == 3,
        "{log}"
    );
}

#[test]
fn long_values_and_the_pages_of_verdicts_travel_and_the_later_page_stays() {
    let world = World::new();
    let (one, two) = (world.clone("one"), world.clone("two"));
    // A note whose long value is a blob that the ledger's tree keeps.
    world.append(&one, &line(1, ""));
    let blob = world.sandbox.sh(&format!(
        "cd {}; blob=$(seq 1 20000 | git hash-object -w --stdin); tree=$(printf '100644 blob %s\\t%s\\n' $blob $blob | git mktree); \
         (git ls-tree {LEDGER}; printf '040000 tree %s\\tblobs\\n' $tree) | git mktree | xargs -I T git commit-tree T -p {LEDGER} -m blob | \
         xargs git update-ref {LEDGER}; echo $blob",
        one.display()
    ));
    let page = |clone: &Path, text: &str, at: &str| {
        world.sandbox.sh(&format!(
            "cd {}; export GIT_COMMITTER_DATE={at}; git notes --ref=arkaint/verdict add -f -m {text} HEAD",
            clone.display()
        ));
    };
    page(&one, "closed", "'2026-01-01T00:00:00Z'");
    world.sync(&one, &[]).expect(0);
    world.sync(&two, &[]).expect(0);
    page(&two, "open", "'2026-01-03T00:00:00Z'");
    page(&one, "held", "'2026-01-02T00:00:00Z'");
    for clone in [&two, &one, &two] {
        world.sync(clone, &[]).expect(0);
    }
    for clone in [&one, &two] {
        let shown = world.git(clone, &["notes", "--ref=arkaint/verdict", "show", "HEAD"]);
        assert_eq!(shown, "open");
        let reached = world.git(clone, &["ls-tree", "-r", "--name-only", LEDGER]);
        assert!(
            reached.contains(&format!("blobs/{}", blob.trim())),
            "{reached}"
        );
    }
    world.git(&two, &["cat-file", "-e", blob.trim()]);
}

#[test]
fn a_tree_with_two_notes_on_one_object_is_merged_and_said() {
    let world = World::new();
    let (one, two) = (world.clone("one"), world.clone("two"));
    world.append(&two, &line(9, ""));
    world.sync(&two, &[]).expect(0);
    // The same commit, once flat and once fanned out, as two writers who disagree leave it.
    let head = world.git(&one, &["rev-parse", "HEAD"]);
    let (a, b) = (line(1, ""), line(2, ""));
    world.sandbox.sh(&format!(
        "cd {}; a=$(echo '{a}' | git hash-object -w --stdin); b=$(echo '{b}' | git hash-object -w --stdin); \
         sub=$(printf '100644 blob %s\\t%s\\n' $b {} | git mktree); \
         tree=$(printf '040000 tree %s\\t{}\\n100644 blob %s\\t{head}\\n' $sub $a | git mktree); \
         git update-ref {LEDGER} $(git commit-tree $tree -m mixed)",
        one.display(),
        &head[2..],
        &head[..2],
    ));
    // git's own merge gives up on it.
    world.git(
        &one,
        &[
            "fetch",
            "-q",
            "origin",
            &format!("{LEDGER}:refs/notes/theirs"),
        ],
    );
    let merge = [
        "-C",
        one.to_str().unwrap(),
        "notes",
        "--ref=arkaint/ledger",
        "merge",
        "-s",
        "cat_sort_uniq",
        "theirs",
    ];
    let git = world.sandbox.try_git(merge);
    assert_ne!(git.code, Some(0), "{}", git.stdout);
    world.git(&one, &["update-ref", "-d", "refs/notes/theirs"]);

    let ran = world.sync(&one, &[]).expect(0);
    assert!(
        ran.stderr.contains("two notes on one object"),
        "{}",
        ran.stderr
    );
    assert_eq!(world.lines(&one, "HEAD"), [a, b, line(9, "")]);
    let ran = world.sync(&two, &[]).expect(0);
    assert!(!ran.stderr.contains("two notes"), "{}", ran.stderr);
    assert_eq!(world.lines(&two, "HEAD").len(), 3);
    assert_eq!(
        world
            .git(&two, &["notes", "--ref=arkaint/ledger", "list"])
            .lines()
            .count(),
        1
    );
}

#[test]
fn lines_that_somebody_took_away_come_back_from_the_other_side() {
    let world = World::new();
    let (one, two) = (world.clone("one"), world.clone("two"));
    world.append(&one, &line(1, ""));
    world.sync(&one, &[]).expect(0);
    world.sync(&two, &[]).expect(0);
    // A commit on top that takes the note away, here; then a remote that was rewritten.
    world.git(&two, &["notes", "--ref=arkaint/ledger", "remove", "HEAD"]);
    let said = world.sync(&two, &[]).expect(0).stdout;
    assert!(said.starts_with("origin: 1 record received"), "{said}");
    assert_eq!(world.lines(&two, "HEAD").len(), 1);
    let empty = world.sandbox.sh(&format!(
        "cd {}; git commit-tree $(git mktree </dev/null) -m emptied",
        world.hub.display()
    ));
    world.git(&world.hub, &["update-ref", LEDGER, empty.trim()]);
    let ran = world.sync(&one, &[]).expect(0);
    assert!(ran.stderr.contains("was rewritten there"), "{}", ran.stderr);
    assert_eq!(world.lines(&world.hub, "main").len(), 1);
    // And one that lost the ref altogether.
    world.git(&world.hub, &["update-ref", "-d", LEDGER]);
    world.sync(&one, &[]).expect(0);
    assert_eq!(world.lines(&world.hub, "main").len(), 1);
}

#[test]
fn a_dry_run_says_what_would_be_and_moves_nothing() {
    let world = World::new();
    let (one, two) = (world.clone("one"), world.clone("two"));
    world.append(&one, &line(1, ""));
    world.sync(&one, &[]).expect(0);
    world.append(&two, &line(2, ""));
    let refs = |clone: &Path| world.git(clone, &["for-each-ref"]);
    let before = (refs(&two), refs(&world.hub));
    let said = world
        .sync(&two, &["--dry-run", "--discards"])
        .expect(0)
        .stdout;
    assert!(
        said.starts_with("origin: 1 record would be received, 1 record would be sent\n"),
        "{said}"
    );
    assert_eq!((refs(&two), refs(&world.hub)), before);
    let json = world.sync(&two, &["--dry-run", "--json"]).expect(0).json();
    assert_eq!(json["dry_run"], true);
    assert_eq!(json["notes"][0]["received"], 1);
    assert_eq!(json["notes"][0]["sent"], 1);
}

#[test]
fn archives_and_claims_travel_only_when_asked() {
    let world = World::new();
    let (one, two) = (world.clone("one"), world.clone("two"));
    world.append(&one, &line(1, ""));
    for name in ["refs/arkaint/discarded/r/1", "refs/arkaint/leases/x"] {
        world.git(&one, &["update-ref", name, "HEAD"]);
    }
    // One that the remote has not must not be pruned here.
    world.git(&one, &["config", "fetch.prune", "true"]);
    let below = |clone: &Path| {
        world.git(
            clone,
            &[
                "for-each-ref",
                "--format=%(refname)",
                "refs/arkaint/discarded",
                "refs/arkaint/leases",
            ],
        )
    };
    world.sync(&one, &[]).expect(0);
    assert_eq!(below(&world.hub), "");
    world.sync(&one, &["--discards"]).expect(0);
    assert_eq!(below(&world.hub), "refs/arkaint/discarded/r/1");
    let json = world
        .sync(&two, &["--discards", "--leases", "--json"])
        .expect(0)
        .json();
    assert_eq!(json["refs"][0]["received"], 1, "{json}");
    assert_eq!(below(&two), "refs/arkaint/discarded/r/1");
    world.sync(&one, &["--leases"]).expect(0);
    // A claim that both clones moved: said, and left as it is.
    world.sandbox.sh(&format!(
        "cd {}; git update-ref refs/arkaint/leases/x $(git commit-tree HEAD^{{tree}} -m other)",
        two.display()
    ));
    let ran = world.sync(&two, &["--leases"]).expect(3);
    assert!(
        ran.stdout
            .contains("refs/arkaint/leases/x is not the same here and on origin"),
        "{}",
        ran.stdout
    );
    assert!(
        world
            .git(&two, &["log", "-1", "--format=%s", "refs/arkaint/leases/x"])
            .contains("other")
    );
}

#[test]
fn shallow_partial_and_sha256_clones_exchange_too() {
    let world = World::new();
    world.git(&world.hub, &["config", "uploadpack.allowFilter", "true"]);
    let one = world.clone("one");
    world.append(&one, &line(1, ""));
    world.sync(&one, &[]).expect(0);
    for (n, options) in [
        &["--depth=1"][..],
        &["--filter=blob:none"],
        &["--filter=tree:0", "--no-checkout"],
    ]
    .into_iter()
    .enumerate()
    {
        let clone = world.clone_with(&format!("odd{n}"), options);
        world.append(&clone, &line(n + 2, ""));
        world.sync(&clone, &[]).expect(0);
        assert_eq!(world.lines(&clone, "HEAD").len(), n + 2, "{options:?}");
    }
    world.sync(&one, &[]).expect(0);
    assert_eq!(world.lines(&one, "HEAD").len(), 4);

    let new = world.sandbox.repo.with_file_name("sha256");
    world.sandbox.sh(&format!(
        "git init -q --object-format=sha256 {0} && git init -q --bare --object-format=sha256 {0}.git && cd {0} && \
         git commit -q --allow-empty -m start && git remote add origin {0}.git",
        new.display()
    ));
    world.append(&new, &line(1, ""));
    world.sync(&new, &[]).expect(0);
    assert_eq!(
        world
            .lines(
                &PathBuf::from(format!("{}.git", new.display())),
                &world.git(&new, &["rev-parse", "HEAD"])
            )
            .len(),
        1
    );
}

#[test]
fn worktrees_of_one_clone_record_and_exchange_at_once() {
    const WORKTREES: usize = 4;
    const ROUNDS: usize = 3;
    let world = World::new();
    let (one, two) = (world.clone("one"), world.clone("two"));
    let places: Vec<PathBuf> = (0..WORKTREES)
        .map(|n| {
            let place = world.sandbox.repo.with_file_name(format!("w{n}"));
            let branch = format!("arkaint/w{n}");
            world.git(
                &one,
                &[
                    "worktree",
                    "add",
                    "-q",
                    "-b",
                    &branch,
                    place.to_str().unwrap(),
                ],
            );
            place
        })
        .collect();
    // Ours beside the hooks of ours: notes are no history, and pass.
    world
        .sandbox
        .arkaint(["-C", one.to_str().unwrap(), "hooks", "install"])
        .expect(0);
    std::thread::scope(|scope| {
        for (n, place) in places.iter().enumerate() {
            let world = &world;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let at = ["-C", place.to_str().unwrap(), "verify", "--outcome", "o1"];
                    let what = format!("{n}.{round}");
                    world
                        .sandbox
                        .arkaint([&at[..], &["--", "echo", &what]].concat())
                        .expect(0);
                    world.sync(place, &[]).expect(0);
                }
            });
        }
        scope.spawn(|| {
            for round in 0..ROUNDS {
                world.append(&two, &line(round, ""));
                world.sync(&two, &[]).expect(0);
            }
        });
    });
    for clone in [&one, &two] {
        world.sync(clone, &[]).expect(0);
        let lines: BTreeSet<_> = world.lines(clone, "HEAD").into_iter().collect();
        assert_eq!(lines.len(), WORKTREES * ROUNDS + ROUNDS);
    }
}

/// `rounds` rounds of eight clones that append and exchange at the same time.
fn eight_clones(rounds: usize) {
    let world = World::new();
    let clones: Vec<PathBuf> = (0..8).map(|n| world.clone(&format!("c{n}"))).collect();
    std::thread::scope(|scope| {
        for (n, clone) in clones.iter().enumerate() {
            let world = &world;
            scope.spawn(move || {
                for round in 0..rounds {
                    let id = format!("c{n}r{round}");
                    world.append(clone, &format!("{{\"at\":\"2026-01-01T00:00:{round:02}.000Z\",\"id\":\"{id}\",\"kind\":\"run\",\"v\":1}}"));
                    world.sync(clone, &[]).expect(0);
                }
            });
        }
    });
    for clone in &clones {
        world.sync(clone, &[]).expect(0);
        let lines = world.lines(clone, "HEAD");
        let ids: BTreeSet<String> = lines
            .iter()
            .map(|line| {
                serde_json::from_str::<Value>(line).unwrap()["id"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        assert_eq!(
            (lines.len(), ids.len()),
            (8 * rounds, 8 * rounds),
            "{}",
            clone.display()
        );
    }
    world.git(&world.hub, &["fsck", "--strict"]);
}

#[test]
fn eight_clones_at_once_lose_nothing() {
    // tests/long: as many as the promise says.
    eight_clones(if is_long() { 20 } else { 3 });
}
