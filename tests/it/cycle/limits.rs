//! How far one command goes: repeats, budgets, a dry run, and `boot`, which launches once.

use super::{GREEN, cycle, launches, records, world, world_with};

#[test]
fn repeat_goes_on_until_there_is_no_more_to_do() {
    let sandbox = world(
        GREEN,
        "[ $launch -le 2 ] && echo $launch > n$launch.txt; finish done",
    );
    let ran = sandbox
        .arkaint(["cycle", "add files", "--repeat", "5"])
        .expect(0);
    assert_eq!(
        launches(&sandbox),
        4,
        "two good cycles, then a launch and its fix round that change nothing"
    );
    let lines: Vec<&str> = ran
        .stderr
        .lines()
        .skip_while(|l| *l != "cycles:")
        .skip(1)
        .collect();
    assert_eq!(lines.len(), 3, "{}", ran.stderr);
    assert!(lines[0].contains("exit 0") && lines[2].contains("exit 3"));
    // N itself ends it too.
    let sandbox = world(GREEN, "echo $launch > n$launch.txt; finish done");
    sandbox
        .arkaint(["cycle", "add files", "--repeat", "2"])
        .expect(0);
    assert_eq!(launches(&sandbox), 2);
}

#[test]
fn budgets_end_a_run_on_the_live_stream_and_refuse_the_next() {
    // More than the cap, but reported only at the end of a finished run: nothing is left to stop.
    let sandbox = world_with(
        GREEN,
        r#"echo w > work.txt; say end 'done\nARKAINT: done'; echo '{"type":"complete","total_tokens":19000,"input_tokens":18000,"output_tokens":1000}'"#,
        "[budget]\nrun_tokens = 12000",
    );
    let ran = cycle(&sandbox);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let sandbox = world_with(
        GREEN,
        "i=0; while [ $i -lt 2000 ]; do say $i 'many many words of the model'; i=$((i + 1)); done; echo late > late.txt; finish done",
        "[budget]\nrun_tokens = 3000",
    );
    let ran = cycle(&sandbox).expect(5);
    assert!(
        ran.stderr.contains("budget.run_tokens")
            && ran.stderr.contains("3000 allowed")
            && ran.stderr.contains("estimated"),
        "{}",
        ran.stderr
    );
    assert!(records(&sandbox, "rollback").is_empty());
    let sandbox = world(GREEN, "echo $launch > work.txt; finish done");
    cycle(&sandbox).expect(0);
    let toml = sandbox.read("arkaint.toml");
    sandbox.write(
        "arkaint.toml",
        &format!("{toml}\n[budget]\nday_tokens = 100\n"),
    );
    sandbox.commit_all("few tokens a day");
    let before = launches(&sandbox);
    let ran = cycle(&sandbox).expect(5);
    assert!(
        ran.stderr
            .contains("budget.day_tokens: 120 tokens used today (UTC), 100 allowed"),
        "{}",
        ran.stderr
    );
    assert_eq!(launches(&sandbox), before);
    let price =
        "[price.\"stub/stub-1\"]\ninput = 10.0\noutput = 50.0\ncache_read = 1.0\ncache_write = 1.0";
    let sandbox = world_with(GREEN, "echo $launch > work.txt; finish done", price);
    cycle(&sandbox).expect(0);
    let run = &records(&sandbox, "run")[0];
    assert_eq!(run["cost"]["source"], "computed");
    assert!((run["cost"]["usd"].as_f64().unwrap() - 0.002).abs() < 1e-9);
    sandbox.write(
        "arkaint.toml",
        &format!(
            "{}\n[budget]\nday_usd = 0.001\n",
            sandbox.read("arkaint.toml")
        ),
    );
    sandbox.commit_all("nothing is left for today");
    let ran = cycle(&sandbox).expect(5);
    assert!(
        ran.stderr
            .contains("budget.day_usd: 0.0020 USD spent today (UTC), 0.0010 USD allowed"),
        "{}",
        ran.stderr
    );
    assert_eq!(launches(&sandbox), 1);
}

#[test]
fn dry_run_says_every_default_and_launches_nothing() {
    let sandbox = world(GREEN, "finish done");
    let said = sandbox
        .arkaint(["cycle", "a task", "--dry-run"])
        .expect(0)
        .stdout;
    for default in [
        "agent 60m",
        "silent 15m",
        "100 turns",
        "git commit 2m",
        "at most 30m",
        "5 USD or 5000000 tokens",
        "25 USD or 25000000 tokens",
        "log 256.0 MiB",
        "of 64.0 KiB",
        "diff 16.0 KiB",
        "preload 16.0 KiB",
        "at most 10",
        "2 fix rounds",
        "3 recovery attempts",
        "20 runs",
        "50 discards",
        "30d",
        "2.0 GiB",
    ] {
        assert!(said.contains(default), "{default}: {said}");
    }
    assert_eq!(launches(&sandbox), 0);
    let json = sandbox
        .arkaint(["cycle", "a task", "--dry-run", "--json"])
        .expect(0)
        .json();
    assert_eq!(json["most_launches"], 10);
}

#[test]
fn boot_launches_once_and_leaves_the_work() {
    let sandbox = world(GREEN, "echo w > work.txt; finish done");
    sandbox.arkaint(["boot", "a task", "reviewer"]).expect(0);
    assert_eq!(launches(&sandbox), 1);
    assert!(
        sandbox
            .git(["status", "--porcelain"])
            .contains("?? work.txt")
    );
    assert_eq!(records(&sandbox, "run")[0]["profile"], "reviewer");
    assert_eq!(records(&sandbox, "run")[0]["checks"], "not run");
    for (script, code) in [
        ("finish done", 0),
        ("exit 3", 1),
        ("echo x > arkaint.toml; finish done", 1),
        ("git config core.editor x; finish done", 1),
    ] {
        let sandbox = world(GREEN, script);
        let ran = sandbox.arkaint(["boot", "a task"]);
        assert_eq!(ran.code, Some(code), "{script}: {}", ran.stderr);
        assert!(
            sandbox.read("arkaint.toml").contains("[checkpoint]"),
            "{script}"
        );
    }
}
