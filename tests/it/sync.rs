//! `git arkaint sync`: real bare remotes, several real clones, and git as the judge of what arrived.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::ledger::append_line;
use crate::sandbox::{Ran, Sandbox, is_long};

const LEDGER: &str = "refs/notes/arkaint/ledger";

/// One bare remote (`hub.git`) with `main`, and clones of it beside the sandbox's own repository.
struct World {
    sandbox: Sandbox,
    hub: PathBuf,
}

impl World {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let hub = sandbox.repo.with_file_name("hub.git");
        sandbox.git(["clone", "-q", "--bare", ".", hub.to_str().unwrap()]);
        Self { sandbox, hub }
    }

    fn clone(&self, name: &str) -> PathBuf {
        self.clone_with(name, &[])
    }

    fn clone_with(&self, name: &str, options: &[&str]) -> PathBuf {
        let to = self.sandbox.repo.with_file_name(name);
        let from = format!("file://{}", self.hub.display());
        let words = [&["clone", "-q"], options, &[&from, to.to_str().unwrap()]].concat();
        self.sandbox.git(words);
        to
    }

    fn sync(&self, clone: &Path, words: &[&str]) -> Ran {
        let at = ["-C", clone.to_str().unwrap(), "sync"];
        self.sandbox.arkaint([&at, words].concat())
    }

    #[track_caller]
    fn git(&self, clone: &Path, words: &[&str]) -> String {
        self.sandbox
            .git([&["-C", clone.to_str().unwrap()], words].concat())
    }

    /// Appends a line to the note on HEAD as another program would, with git itself.
    fn append(&self, clone: &Path, line: &str) {
        append_line(&self.sandbox, clone, "HEAD", line);
    }

    /// The lines of the note on `on`, as git shows them.
    fn lines(&self, clone: &Path, on: &str) -> Vec<String> {
        let shown = self.git(clone, &["notes", "--ref=arkaint/ledger", "show", on]);
        shown.lines().map(str::to_owned).collect()
    }
}

fn line(n: usize, more: &str) -> String {
    format!(
        "{{\"at\":\"2026-01-01T00:00:{n:02}.000Z\",\"id\":\"r{n}\",\"kind\":\"run\",\"v\":1{more}}}"
    )
}

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
