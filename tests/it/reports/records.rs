//! Reports of commits, notes and trailers that were bent or lost, and of calls that took for ever.

use std::fs;

use crate::cycle::{GREEN, cycle, world, world_with};
use crate::not_run::not_run;
use crate::sandbox::Sandbox;

/// Notes are pushed in the user's name and with a plain subject: a server that turns placeholders away takes them.
#[test]
fn report_git_ai_1376() {
    let sandbox = world(GREEN, "echo work >work.txt; finish done");
    cycle(&sandbox).expect(0);
    sandbox.sh(
        "git init -q --bare ../hub.git; git remote add origin ../hub.git
         cat >../hub.git/hooks/pre-receive <<'END'
#!/bin/sh
while read -r old new ref; do
    git log --format='%ae|%ce|%s' \"$new\" | while IFS='|' read -r author committer subject; do
        [ \"$author\" = test@example.invalid ] && [ \"$committer\" = test@example.invalid ] || { echo \"placeholder $author, $committer on $ref\" >&2; exit 1; }
        [ -n \"$subject\" ] || { echo \"no subject on $ref\" >&2; exit 1; }
    done || exit 1
done
END
         chmod +x ../hub.git/hooks/pre-receive; git push -q --no-verify origin HEAD:refs/heads/arkaint/work",
    );
    sandbox.arkaint(["sync"]).expect(0);
    assert_eq!(
        sandbox.git(["-C", "../hub.git", "rev-parse", "refs/notes/arkaint/ledger"]),
        sandbox.git(["rev-parse", "refs/notes/arkaint/ledger"])
    );
}

/// A colleague who looks at the log sees a line a checkpoint, and no notes.
#[test]
fn report_entireio_cli_1792() {
    let sandbox = world(GREEN, "echo work >work.txt; finish done");
    cycle(&sandbox).expect(0);
    let log = sandbox.git(["log", "--oneline", "--no-decorate", "main..HEAD"]);
    assert_eq!(log.lines().count(), 3, "{log}");
    assert!(
        log.lines()
            .take(2)
            .all(|line| line.ends_with(" [arkaint-sync] checkpoint")),
        "{log}"
    );
    let whole = sandbox.git(["log", "main..HEAD"]);
    assert!(!whole.contains("Notes"), "{whole}");
    let filtered = sandbox.git([
        "log",
        "--oneline",
        "--invert-grep",
        "--grep=^\\[arkaint-sync\\]",
        "main..HEAD",
    ]);
    assert_eq!(filtered.lines().count(), 1, "{filtered}");
    let longest = whole.lines().map(str::len).max().unwrap();
    assert!(longest < 560, "a trailer of {longest} bytes");
}

/// However many paths a run touches, a line of the ledger has its cap. Also report_entireio_cli_2404.
#[test]
fn report_entireio_cli_1927() {
    let sandbox = world(
        GREEN,
        "mkdir -p deep; for n in $(seq 1200); do echo $n >deep/a_file_with_a_rather_long_name_for_a_file_$n.txt; done; finish done",
    );
    cycle(&sandbox).expect(0);
    let ledger = sandbox.sh("git ls-tree -r refs/notes/arkaint/ledger | while read -r _ kind id _; do [ $kind = blob ] && git cat-file blob $id; done; true");
    let longest = ledger.lines().map(str::len).max().unwrap();
    assert!(longest <= 64 * 1024, "a line of {longest} bytes");
    let all = sandbox.sh("git rev-list --objects --disk-usage refs/notes/arkaint/ledger");
    assert!(all.trim().parse::<usize>().unwrap() < 512 * 1024, "{all}");
}

/// Lines that start with `#` survive every cleanup and comment setting of the user's, and no template comes in.
#[test]
fn report_vim_git_50() {
    let sandbox = world(GREEN, "finish done");
    for (n, (key, value)) in [
        ("commit.cleanup", "strip"),
        ("commit.cleanup", "scissors"),
        ("core.commentChar", "["),
        ("core.commentString", "//"),
        ("commit.template", "../template"),
        ("commit.verbose", "true"),
    ]
    .into_iter()
    .enumerate()
    {
        fs::write(
            sandbox.repo.with_file_name("template"),
            "# template\nTEMPLATE\n",
        )
        .unwrap();
        sandbox.git(["config", key, value]);
        sandbox.write("n.txt", &format!("{n}\n"));
        sandbox
            .arkaint(["checkpoint", "-m", "# heading\n\n# and another\n------------------------ >8 ------------------------\nlast"])
            .expect(0);
        let body = sandbox.git(["log", "-1", "--format=%B"]);
        assert!(
            body.starts_with("[arkaint-sync] checkpoint\n")
                && body.contains("# heading")
                && body.contains("# and another")
                && body.contains("last")
                && !body.contains("TEMPLATE"),
            "{key}={value}: {body}"
        );
        let status = sandbox.git([
            "log",
            "-1",
            "--format=%(trailers:key=Arkaint-Status,valueonly)",
        ]);
        assert_eq!(status.trim(), "stable", "{key}={value}");
        sandbox.git(["config", "--unset", key]);
    }
}

/// Programs that are started for one call, by a git that counts itself.
fn calls(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let log = sandbox.home().join("calls");
    let _ = fs::remove_file(&log);
    let bin = sandbox.home().join("counting");
    if !bin.exists() {
        fs::create_dir(&bin).unwrap();
        let real = sandbox.sh("command -v git");
        sandbox.write_exec(
            "../home/counting/git",
            &format!(
                "#!/bin/sh\necho \"$*\" >>{}\nexec {} \"$@\"\n",
                log.display(),
                real.trim()
            ),
        );
    }
    let ran = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(words)
        .env("PATH", format!("{}:{}", bin.display(), sandbox.path()))
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{words:?}: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let log = fs::read_to_string(&log).unwrap_or_default();
    log.lines().map(str::to_owned).collect()
}

/// A call starts as many processes in a large repository as in a small one. Also report_aider_5529.
#[test]
fn report_git_ai_1580() {
    let sandbox = world(GREEN, "finish done");
    sandbox.arkaint(["hooks", "install"]).expect(0);
    let mut before = Vec::new();
    for (n, files) in [3, 700].into_iter().enumerate() {
        sandbox.sh(&format!("mkdir -p d{n}; for i in $(seq {files}); do echo {n} >d{n}/$i; done; [ {n} = 0 ] || for i in $(seq 20); do git commit -q --allow-empty -m $i; done"));
        let mut counts = Vec::new();
        for words in [
            &["checkpoint"][..],
            &["status"],
            &["packet", "x"],
            &["log"],
            &["hooks", "status"],
            &["discarded", "list"],
        ] {
            counts.push((words[0], calls(&sandbox, words).len()));
        }
        if n == 0 {
            before = counts;
        } else {
            assert_eq!(counts, before);
        }
    }
    assert!(
        before.iter().map(|(_, count)| count).sum::<usize>() > 5,
        "the counting git is not called: {before:?}"
    );
}

/// What is ignored is never walked through: not by the checkpoint, the packet, a rollback or a cycle. Also report_entireio_cli_1137.
#[test]
fn report_entireio_cli_1642() {
    let sandbox = world_with(GREEN, "echo work >work.txt; finish done", "");
    if sandbox.command("strace").arg("-V").output().is_err() {
        not_run("report_entireio_cli_1642", "strace");
        return;
    }
    sandbox.write(".gitignore", "/target/\n/node_modules/\n");
    sandbox.commit_all("ignore");
    sandbox.sh("for d in target node_modules; do mkdir -p $d/deep/er; for n in $(seq 50); do mkdir $d/deep/$n; echo x >$d/deep/$n/f; done; done");
    let trace = sandbox.home().join("trace");
    for words in [
        &["cycle", "make work.txt"][..],
        &["packet", "x"],
        &["status"],
        &["rollback"],
        &["checkpoint"],
    ] {
        sandbox.write("untracked.txt", "x\n");
        let ran = sandbox
            .command("strace")
            .args(["-f", "-qq", "-e", "trace=open,openat,getdents64", "-o"])
            .arg(&trace)
            .arg(env!("CARGO_BIN_EXE_git-arkaint"))
            .args(words)
            .output()
            .unwrap();
        assert!(
            ran.status.success(),
            "{words:?}: {}",
            String::from_utf8_lossy(&ran.stderr)
        );
        let trace = fs::read(&trace).unwrap();
        let trace = String::from_utf8_lossy(&trace);
        assert!(trace.contains("openat"), "{words:?}");
        for folder in ["target/deep", "node_modules/deep"] {
            let walked: Vec<&str> = trace.lines().filter(|line| line.contains(folder)).collect();
            assert!(walked.is_empty(), "{words:?}: {}", walked[0]);
        }
    }
}

/// Names that are no text, or that git would quote, are paths like any other. Also report_git_secret_642.
#[test]
fn report_git_agent_3() {
    let sandbox = world(
        GREEN,
        "echo work >work.txt; printf n >\"$(printf 'src/n\\303\\244\\377\\n\"q\\\\.txt')\"; finish done",
    );
    let odd = "o=$(printf 'src/\\377\\376\\n\"\\\\ \\303\\244.txt')";
    sandbox.sh(&format!("mkdir src; {odd}; printf one >\"$o\""));
    sandbox.arkaint(["checkpoint"]).expect(0);
    cycle(&sandbox).expect(0);
    sandbox.sh(&format!("{odd}; git cat-file -e \"HEAD:$o\"; git cat-file -e \"HEAD:$(printf 'src/n\\303\\244\\377\\n\"q\\\\.txt')\""));
    sandbox.arkaint(["packet", "x"]).expect(0);
    sandbox.sh(&format!(
        "{odd}; printf two >\"$o\"; printf new >\"$o.new\""
    ));
    let ran = sandbox.arkaint(["rollback"]).expect(0);
    assert!(ran.stderr.contains("2 paths changed"), "{}", ran.stderr);
    sandbox.sh(&format!("{odd}; test \"$(cat \"$o\")\" = one; test ! -e \"$o.new\"; test -z \"$(git status --porcelain)\""));
    let id = sandbox.arkaint(["discarded", "list", "--json"]).json()["discarded"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    sandbox.arkaint(["discarded", "restore", &id]).expect(0);
    sandbox.sh(&format!(
        "{odd}; test \"$(cat \"$o\")\" = two; test \"$(cat \"$o.new\")\" = new"
    ));
}

/// An undo inside a large repository: called from a folder, it says how much it takes back, and everything outside of what was meant comes back.
#[test]
fn report_opencode_3176() {
    let sandbox = world(GREEN, "finish done");
    sandbox.write("one/a", "a\n");
    sandbox.write("two/b", "b\n");
    sandbox.arkaint(["checkpoint"]).expect(0);
    sandbox.write("one/a", "changed\n");
    sandbox.write("two/b", "changed\n");
    let one = sandbox.repo.join("one");
    let ran = sandbox
        .arkaint(["-C", one.to_str().unwrap(), "rollback"])
        .expect(0);
    assert!(ran.stderr.contains("2 paths changed"), "{}", ran.stderr);
    let id = sandbox.arkaint(["discarded", "list", "--json"]).json()["discarded"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let shown = sandbox.arkaint(["discarded", "show", &id]).expect(0).stdout;
    assert!(
        shown.contains("one/a") && shown.contains("two/b"),
        "{shown}"
    );
    sandbox
        .arkaint(["discarded", "restore", &id, "--", "two"])
        .expect(0);
    assert_eq!(
        (sandbox.read("one/a"), sandbox.read("two/b")),
        ("a\n".to_owned(), "changed\n".to_owned())
    );
}

/// An empty trailer swallows nothing of the next line, as git reads it.
#[test]
fn report_libgit2_7094() {
    let sandbox = world(GREEN, "finish done");
    sandbox.write("work.txt", "work\n");
    sandbox
        .arkaint(["checkpoint", "--task", "the task"])
        .expect(0);
    let body = sandbox.git(["log", "-1", "--format=%B"]);
    let (first, rest) = body.split_once("Arkaint-Version: ").unwrap();
    for foreign in ["X-Empty:", "X-Empty: ", "X-Empty:   \nX-Other:"] {
        fs::write(
            sandbox.home().join("message"),
            format!("{first}{foreign}\nArkaint-Version: {rest}\n"),
        )
        .unwrap();
        sandbox.sh("git commit -q --amend --no-verify --cleanup=verbatim -F ~/message");
        let read = |key: &str| {
            let format = format!("--format=%(trailers:key={key},valueonly)");
            sandbox.git(["log", "-1", &format]).trim().to_owned()
        };
        assert_eq!(
            (read("X-Empty"), read("Arkaint-Task")),
            (String::new(), "the task".to_owned())
        );
        // Made by hand, it has no record: but it is whole.
        let status = sandbox.arkaint(["status", "--json"]).json();
        let newest = (&status["newest_is"]["label"], &status["newest_is"]["fault"]);
        assert_eq!(
            newest,
            (&"unproven".into(), &serde_json::Value::Null),
            "{foreign:?}"
        );
        let packet = sandbox.arkaint(["packet", "x"]).expect(0).stdout;
        assert!(packet.contains("the task"), "{foreign:?}: {packet}");
    }
}

/// A key of few different characters is a key by its prefix: it reaches no commit, no note and no log that others read.
#[test]
fn report_entireio_cli_1716() {
    let keys = [
        format!("ghp_{}", "a1".repeat(18)),
        format!("AKIA{}", "A2".repeat(8)),
        format!("sk-ant-api03-{}-aaaaaaAA", "a1b".repeat(31)),
        format!(
            "xoxb-{}-{}-{}",
            "1".repeat(12),
            "1".repeat(12),
            "a1".repeat(12)
        ),
    ];
    let shown: String = keys
        .iter()
        .map(|key| format!("echo 'the key is {key}'; "))
        .collect();
    let sandbox = world(
        GREEN,
        &format!(
            "{shown} echo work >work.txt; finish 'done with {}'",
            keys[0]
        ),
    );
    let task = format!("use the keys {} well", keys.join(" and "));
    sandbox.arkaint(["cycle", &task]).expect(0);
    sandbox.arkaint(["log", "--export"]).expect(0);
    let public = sandbox.sh(
        "git log -p --all --not --glob=refs/arkaint/discarded; git ls-tree -r refs/notes/arkaint/ledger | while read -r _ kind id _; do git cat-file blob $id; done
         cat .arkaint/audit/*; git arkaint log --json; git arkaint packet x --full",
    );
    for key in &keys {
        assert!(!public.contains(key.as_str()), "{key}");
    }
    sandbox.write("plain.txt", &format!("{}\n", keys[1]));
    let no = sandbox.arkaint(["checkpoint"]).expect(1);
    assert!(
        no.stderr.contains("plain.txt") && !no.stderr.contains(&keys[1]),
        "{}",
        no.stderr
    );
}
