//! Agents that run away, seen from outside through the built program: streams of any size and form in little memory, and children that flee.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::cycle::records;
use crate::sandbox::{Ran, Sandbox, is_long};

fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn world(config: &str, script: &str) -> Sandbox {
    let sandbox = Sandbox::ready("\"true\"");
    let toml = sandbox.read("arkaint.toml");
    sandbox.write("arkaint.toml", &format!("{toml}{config}"));
    sandbox.commit_all("configure");
    sandbox.agent(script);
    sandbox
}

/// `boot`, and the most memory that it held until the agent wrote its last file, kB: the kernel's own count (`VmHWM`).
fn boot(sandbox: &Sandbox) -> (Ran, u64) {
    let child = sandbox
        .command(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(["boot", "let it run"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let ended = sandbox.home().join("ended");
    let watch = std::thread::spawn(move || {
        let mut most = 0;
        while !ended.exists()
            && let Ok(text) = std::fs::read_to_string(&status)
        {
            let Some(line) = text.lines().find(|line| line.starts_with("VmHWM:")) else {
                break;
            };
            let now = line.split_whitespace().nth(1).unwrap().parse().unwrap();
            most = most.max(now);
            std::thread::sleep(Duration::from_millis(5));
        }
        most
    });
    let out = child.wait_with_output().unwrap();
    (Ran::from(out), watch.join().unwrap())
}

/// What a test asks of the memory while a stream passes, kB.
const MOST: u64 = 64 * 1024;

#[test]
fn a_stream_of_any_size_and_form_passes_in_little_memory() {
    // 10 GB where there is time for it.
    let blocks = if is_long() { 10_000 } else { 100 };
    let cases = [
        // One line without an end, of bytes that are no text.
        (
            "head -c 100000000 /dev/zero | tr '\\0' '\\377'; echo",
            100_000_001,
        ),
        // Lines without an end.
        (
            &*format!("yes 'a line of an agent that prints for ever' | head -c {blocks}000000"),
            blocks * 1_000_000,
        ),
        // As above, on the other stream: not a byte of it is the agent's own.
        ("yes 'an error' | head -c 60000000 >&2", 0),
        ("printf 'half a line, and the end: \\360\\237'", 28),
    ];
    for (script, bytes) in cases {
        let sandbox = world(
            "\n[budget]\nlog_bytes = \"1MiB\"\nrun_tokens = 100000000000\nday_tokens = 100000000000\n",
            &format!("cat > /dev/null; {script}; sleep 1; touch \"$HOME/ended\""),
        );
        let (ran, most) = boot(&sandbox);
        assert!(most > 0 && most < MOST, "{script}: {most} kB");
        let run = &records(&sandbox, "run")[0];
        let log = &run["log"];
        let (kept, left_out) = (log["bytes"].as_u64(), log["left_out"].as_u64());
        // The log says itself what it has no room for.
        let (kept, told) = (kept.unwrap(), kept.unwrap() + left_out.unwrap());
        assert!(
            (bytes..bytes + 100).contains(&told),
            "{script}: {told}: {}",
            ran.stderr
        );
        assert!(kept < 1024 * 1024 + 100);
        say(&format!("{bytes} bytes: at most {most} kB of memory"));
    }
}

#[test]
fn an_agent_that_reads_nothing_or_closes_its_output_is_heard_out() {
    let big = "x".repeat(900_000);
    for script in [
        "exec < /dev/null; echo 'ARKAINT: done'",
        "exec > /dev/null 2>&1; sleep 0.2; echo work > work.txt",
        "exec < /dev/null > /dev/null 2>&1; echo work > work.txt",
    ] {
        let sandbox = world("\n[packet]\nmax_chars = 1000000\n", script);
        // A packet that no pipe holds at once.
        sandbox.write("notes.md", &big);
        sandbox.write(
            "arkaint.toml",
            &format!(
                "{}\n[profile.default]\npreload = [\"notes.md\"]\npreload_chars = 950000\n",
                sandbox.read("arkaint.toml")
            ),
        );
        sandbox.commit_all("a large file");
        let (ran, _) = boot(&sandbox);
        assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
        let run = &records(&sandbox, "run")[0];
        assert_eq!(run["exit"], json!(0), "{script}: {}", ran.stderr);
        assert!(run["packet"]["bytes"].as_u64().unwrap() > 500_000);
    }
}

#[test]
fn an_agent_that_prints_for_ever_is_ended_by_the_clock_and_one_that_is_mute_by_the_idle_one() {
    for (config, script, reason) in [
        (
            "timeout = \"2s\"\n",
            "exec yes going on",
            "the time limit passed",
        ),
        (
            "timeout = \"60s\"\nidle_timeout = \"1s\"\n",
            "exec sleep 600",
            "silent for too long",
        ),
    ] {
        let sandbox = world(config, &format!("cat > /dev/null; {script}"));
        let (ran, _) = boot(&sandbox);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let run = &records(&sandbox, "run")[0];
        assert_eq!(run["outcome"], "timeout");
        assert!(run["reason"].as_str().unwrap().contains(reason), "{run}");
        assert!(run["seconds"].as_f64().unwrap() < 30.0);
    }
}

/// Each child says who it is in its argv, whatever it does to its session, its group, its parent and its environment.
#[test]
fn no_child_outlives_its_run_however_it_flees() {
    let runs = if is_long() { 100 } else { 3 };
    let sandbox = Sandbox::ready("\"true\"");
    let mark = format!("9{:05}", std::process::id() % 100_000);
    // Sleeps of this many seconds are ours alone.
    sandbox.agent(&format!(
        r#"
        cat > /dev/null
        setsid sleep {mark} &
        (setsid sh -c '(sleep {mark} &) ; exec sleep {mark}' &)
        nohup sleep {mark} > /dev/null 2>&1 &
        env -i setsid sleep {mark} < /dev/null > /dev/null 2>&1 &
        sh -c 'trap "" TERM HUP INT; sleep {mark}' &
        launch=$(($(cat "$HOME/n" 2>/dev/null || echo 0) + 1)); echo "$launch" > "$HOME/n"
        case $((launch % 3)) in
            0) exit 7 ;;
            1) kill -9 $$ ;;
        esac
        echo 'ARKAINT: done'
        "#
    ));
    let left = || {
        sandbox
            .sh(&format!("pgrep -f '^sleep {mark}$' || true"))
            .trim()
            .to_owned()
    };
    for run in 0..runs {
        let (ran, _) = boot(&sandbox);
        assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
        assert_eq!(left(), "", "run {run}: {}", ran.stderr);
    }
    assert_eq!(records(&sandbox, "run").len(), runs);
    say(&format!(
        "{runs} runs, each with seven children that flee: none left"
    ));
}
