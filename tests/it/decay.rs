//! The six modes of decay, each fired by real checkpoints or runs of scripted agents, and a clean refactoring that fires none.

use std::io::Write;

use serde_json::{Value, json};

use crate::cycle::{launches, records};
use crate::drift::WORDS;
use crate::http::read_request;
use crate::not_run::not_run;
use crate::sandbox::{Ran, Sandbox};
use crate::stand_in::PRELUDE;

/// A project whose checks are `sh check.sh` and, if given, a spec check; an agent that runs `script`.
fn world(check: &str, script: &str, config: &str) -> Sandbox {
    let sandbox = Sandbox::ready("\"sh check.sh\"");
    sandbox.write("check.sh", check);
    let toml = sandbox.read("arkaint.toml");
    sandbox.write("arkaint.toml", &format!("{toml}\n{config}\n"));
    sandbox.commit_all("check");
    sandbox.agent(&format!("{PRELUDE}\n{script}\n"));
    sandbox
}

fn cycle(sandbox: &Sandbox) -> Ran {
    sandbox.arkaint(["cycle", "make the check pass and keep it passing"])
}

/// The signals of one mode, oldest first.
fn signals(sandbox: &Sandbox, mode: u64) -> Vec<Value> {
    let decay = sandbox
        .arkaint(["decay", "--json", "--mode", &mode.to_string()])
        .expect(0)
        .json();
    let signals = decay["signals"].as_array().unwrap().clone();
    assert_eq!(decay["modes"][0]["signals"], signals.len());
    // A copy of each for people and jq.
    let audit = format!(".arkaint/audit/decay-{mode}.jsonl");
    let lines = if sandbox.exists(&audit) {
        sandbox.read(&audit)
    } else {
        String::new()
    };
    let copies: Vec<Value> = lines
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(copies, signals, "{audit}");
    signals
}

const GREEN: &str = "true\n";
/// Fails by the names in `bad`, one a line.
const NAMED: &str = "[ ! -e bad ] || { sed 's/^/FAIL: /' bad; exit 1; }\n";

/// Twelve features in the history, an agent that works on billing, whatever it is told.
fn billing(config: &str) -> Sandbox {
    let sandbox = world(
        GREEN,
        "mkdir -p src; printf 'invoice currency rounding\\ncurrency of the invoice\\n' >> src/billing.txt; finish done",
        config,
    );
    for words in WORDS {
        let name = words.split(' ').next().unwrap();
        sandbox.write(&format!("src/{name}.txt"), &format!("{words}\n"));
        sandbox.commit_all(&format!("introduce {words}"));
    }
    sandbox
}

const CACHE_TASK: &str =
    "limit the cache shards to their capacity, with eviction of old entries and a counter";

#[test]
fn mode_1_a_run_far_from_its_task() {
    let sandbox = billing("");
    sandbox.arkaint(["cycle", CACHE_TASK]).expect(0);
    let signal = &signals(&sandbox, 1)[0];
    let (z, threshold) = (&signal["evidence"]["z"], &signal["evidence"]["threshold"]);
    assert!(z.as_f64() < threshold.as_f64(), "{signal}");
    assert_eq!(signal["evidence"]["method"], "lexical");
    let shown = sandbox.arkaint(["decay"]).expect(0).stdout;
    assert!(
        shown.contains("drift of the last 1 scored runs") && shown.contains('!'),
        "{shown}"
    );
}

#[test]
fn mode_1_by_a_model_of_the_operator_s_and_without_it_when_it_fails() {
    // A model of two dimensions: is it about billing?
    let script = "#!/bin/sh\nwhile IFS= read -r line; do printf '%s\\n' \"$line\" >> \"$HOME/asked\"; case $line in *invoice*) echo '[0.1, 1]';; *) echo '[1, 0.1]';; esac; done\n";
    let sandbox = billing("[drift]\ncommand = [\"sh\", \"scripts/embed.sh\"]");
    sandbox.write("scripts/embed.sh", script);
    sandbox.commit_all("a model");
    sandbox.arkaint(["cycle", CACHE_TASK]).expect(0);
    let drift = &records(&sandbox, "run")[0]["drift"];
    assert_eq!(
        (&drift["method"], &drift["alarm"]),
        (&json!("command"), &json!(true))
    );
    assert!(
        (drift["cosine"].as_f64().unwrap() - 0.2 / 1.01).abs() < 1e-5,
        "{drift}"
    );
    assert_eq!(signals(&sandbox, 1)[0]["evidence"]["method"], "command");
    let asked = std::fs::read_to_string(sandbox.home().join("asked")).unwrap();
    let first: Value = serde_json::from_str(asked.lines().next().unwrap()).unwrap();
    assert_eq!(first, json!({"text": CACHE_TASK}));
    assert!(
        asked.contains("+invoice currency rounding"),
        "the changed lines are shown: {asked}"
    );

    sandbox.write("scripts/embed.sh", "echo 'no model here' >&2; exit 7\n");
    sandbox.commit_all("a broken model");
    let ran = sandbox.arkaint(["cycle", CACHE_TASK]).expect(0);
    assert!(
        ran.stderr
            .contains("drift.command failed (exit 7): no model here; drift is measured without it"),
        "{}",
        ran.stderr
    );
    assert_eq!(records(&sandbox, "run")[1]["drift"]["method"], "lexical");
}

#[test]
fn mode_1_by_a_service_on_this_machine() {
    if which::which("curl").is_err() {
        not_run("mode_1_by_a_service_on_this_machine", "curl");
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/embed", listener.local_addr().unwrap());
    let service = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = std::io::BufReader::new(stream.try_clone().unwrap());
        let (request, body) = read_request(&mut reader).unwrap();
        let vectors = body.lines().map(|line| {
            let text: Value = serde_json::from_str(line).unwrap();
            let billing = text["text"].as_str().unwrap().contains("invoice");
            if billing { "[0.1, 1]\n" } else { "[1, 0.1]\n" }
        });
        let vectors: String = vectors.collect();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            vectors.len()
        );
        stream.write_all((head + &vectors).as_bytes()).unwrap();
        request
    });
    let sandbox = billing(&format!("[drift]\nurl = \"{url}\""));
    sandbox.arkaint(["cycle", CACHE_TASK]).expect(0);
    assert!(service.join().unwrap().starts_with("POST /embed "));
    let drift = &records(&sandbox, "run")[0]["drift"];
    assert_eq!(
        (&drift["method"], &drift["alarm"]),
        (&json!("url"), &json!(true))
    );
}

#[test]
fn mode_2_quick_fixes_that_pile_up_and_a_clean_refactoring_that_does_not() {
    let sandbox = Sandbox::ready("false");
    let start = "pub fn f() -> u8 {\n    1\n}\n\n#[test]\nfn one() {\n    assert_eq!(f(), 1);\n}\n";
    sandbox.write("src/lib.rs", start);
    sandbox.write("app.py", "def run():\n    return load()\n");
    let checkpoint = |message: &str| sandbox.arkaint(["checkpoint", "-m", message]).expect(0);
    checkpoint("start");
    // Code moves with its marks, names change: nothing grows.
    sandbox.write("src/lib.rs", "mod inner;\n");
    sandbox.write(
        "src/inner.rs",
        &start
            .replace("fn f", "fn better")
            .replace("f()", "better()"),
    );
    checkpoint("a clean refactoring");
    sandbox.write(
        "app.py",
        "def run():\n    try:\n        return load()\n    except Exception:\n        pass\n",
    );
    checkpoint("first");
    sandbox.write("src/lib.rs", "#[allow(dead_code)]\nmod inner;\n");
    checkpoint("second");
    assert_eq!(signals(&sandbox, 2), Vec::<Value>::new());
    let weaker = sandbox
        .read("src/inner.rs")
        .replace("    assert_eq!(better(), 1);\n", "");
    sandbox.write("src/inner.rs", &weaker);
    let ran = checkpoint("third");
    assert!(
        ran.stderr.contains("decay, mode 2 (quick-fix-accumulation): quick fixes pile up over the last 4 checkpoints: 1 suppressed, 1 swallowed, 1 weakened"),
        "{}",
        ran.stderr
    );
    let found = signals(&sandbox, 2);
    let evidence = &found[0]["evidence"];
    assert_eq!(
        (&evidence["count"], &evidence["threshold"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(
        evidence["languages"],
        json!({"python": {"swallowed": 1}, "rust": {"suppressed": 1, "weakened": 1}})
    );
    assert_eq!(evidence["newest"]["files"][0]["path"], "src/inner.rs");
    // On the checkpoint itself, and as a history that was never watched would have it.
    assert!(
        sandbox
            .git(["notes", "--ref=arkaint/ledger", "show", "HEAD"])
            .contains("quick-fix-accumulation")
    );
    let measured = sandbox
        .arkaint(["decay", "--measure", "HEAD", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        (&measured["alarms"], &measured["steps"][0]["alarm"]),
        (&json!(1), &json!(true))
    );
    sandbox.arkaint(["decay", "--measure", "nowhere"]).expect(2);
}

#[test]
fn modes_3_and_5_at_a_trip_ever_new_failures_of_one_module_and_the_same_again() {
    // One after the other: a::x fails, then a::y, then both and a::z, the second of them for the second time.
    let script = "case $launch in 1) echo a::x > bad;; 2) echo a::y > bad;; 3) printf 'a::y\\na::z\\n' > bad;; *) rm -f bad; echo good > good.txt;; esac; finish done";
    let sandbox = world(NAMED, script, "");
    cycle(&sandbox).expect(0);
    assert_eq!(
        (launches(&sandbox), records(&sandbox, "trip").len()),
        (4, 1)
    );
    let blind = signals(&sandbox, 3);
    assert_eq!(blind.len(), 1);
    let evidence = &blind[0]["evidence"];
    assert_eq!(
        (&evidence["family"], &evidence["count"], &evidence["runs"]),
        (&json!("test a"), &json!(3), &json!(3))
    );
    let again = signals(&sandbox, 5);
    assert_eq!(again.len(), 1);
    let evidence = &again[0]["evidence"];
    assert_eq!(
        (
            &evidence["label"],
            &evidence["count"],
            &evidence["threshold"]
        ),
        (&json!("a::y"), &json!(2), &json!(2))
    );
    assert_eq!(
        evidence["signature"],
        records(&sandbox, "trip")[0]["signature"]
    );
    assert_eq!(again[0]["run"], records(&sandbox, "trip")[0]["run"]);

    // The same failure twice is a loop, and no pattern.
    let sandbox = world(
        NAMED,
        "case $launch in 1|2) echo a::x > bad;; *) rm -f bad; echo good > good.txt;; esac; finish done",
        "",
    );
    cycle(&sandbox).expect(0);
    assert_eq!(
        (signals(&sandbox, 3).len(), signals(&sandbox, 5).len()),
        (0, 1)
    );
}

#[test]
fn mode_4_paths_outside_the_profile_or_put_back() {
    let script = "mkdir -p src lib; echo x > src/a.txt; echo x > lib/b.txt; [ $launch = 1 ] && echo evil > check.sh; finish done";
    let sandbox = world(
        GREEN,
        script,
        "[profile.default]\nallow = [\"src/\"]\n\n[infra]\npaths = [\"check.sh\"]",
    );
    let ran = cycle(&sandbox).expect(0);
    assert!(
        ran.stderr
            .contains("decay, mode 4 (boundary-violation): out of bounds: check.sh and 1 more"),
        "{}",
        ran.stderr
    );
    let found = signals(&sandbox, 4);
    assert_eq!(
        found.len(),
        1,
        "a fix round that leaves it as it is does it no second time: {found:?}"
    );
    assert_eq!(
        found[0]["evidence"]["paths"],
        json!([
            {"path": "check.sh", "why": "protected, or denied to the profile"},
            {"path": "lib/b.txt", "why": "not in the profile's allow"},
        ])
    );
    let sandbox = world(
        GREEN,
        "mkdir -p src; echo x > src/a.txt; finish done",
        "[profile.default]\nallow = [\"src/\"]",
    );
    cycle(&sandbox).expect(0);
    assert_eq!(signals(&sandbox, 4), Vec::<Value>::new());
}

#[test]
fn mode_6_the_spec_check_fails() {
    let config = "";
    let script = "if [ $launch -le 2 ]; then echo $launch > stray; else rm -f stray; echo good > good.txt; fi; finish done";
    let sandbox = world(GREEN, script, config);
    sandbox.write_exec(
        "scripts/verify-spec.sh",
        "#!/bin/sh\n[ ! -e stray ] || { echo \"FAIL: section $(cat stray)\"; exit 3; }\n",
    );
    sandbox.commit_all("spec");
    cycle(&sandbox).expect(0);
    let found = signals(&sandbox, 6);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0]["evidence"]["how"], "exit 3");
    assert_eq!(
        (
            &found[0]["evidence"]["count"],
            &found[1]["evidence"]["count"]
        ),
        (&json!(1), &json!(2))
    );
    assert!(
        found[0]["line"].as_str().unwrap().contains("section 1"),
        "{}",
        found[0]
    );
}

#[test]
fn a_clean_run_fires_nothing_and_signals_outlive_everything_but_the_ledger() {
    let sandbox = world(
        GREEN,
        "mkdir -p src; echo 'fn main() {}' > src/main.rs; finish done",
        "",
    );
    cycle(&sandbox).expect(0);
    assert_eq!(records(&sandbox, "decay"), Vec::<Value>::new());
    let none = sandbox.arkaint(["decay"]).expect(0).stdout;
    assert!(
        none.lines().all(|line| line.chars().count() <= 80) && none.contains("runs"),
        "{none}"
    );

    let sandbox = world(
        NAMED,
        "echo same > bad; echo $launch > n.txt; finish done",
        "[cycle]\nattempts = 0",
    );
    cycle(&sandbox).expect(3);
    let before = signals(&sandbox, 5);
    assert_eq!(before.len(), 1);
    sandbox.git(["reset", "-q", "--hard", "HEAD~1"]);
    sandbox.git(["clean", "-qfdx"]);
    let after = sandbox
        .arkaint(["decay", "--json", "--mode", "5"])
        .expect(0)
        .json();
    assert_eq!(after["signals"].as_array().unwrap(), &before);
    // Another clone, by git alone.
    sandbox.git(["clone", "-q", ".", "../clone"]);
    sandbox.git([
        "-C",
        "../clone",
        "fetch",
        "-q",
        "origin",
        "refs/notes/arkaint/ledger:refs/notes/arkaint/ledger",
    ]);
    let there = sandbox
        .arkaint(["-C", "../clone", "decay", "--json", "--mode", "5"])
        .expect(0)
        .json();
    assert_eq!(there["signals"], after["signals"]);
    let shown = sandbox.arkaint(["decay", "-n", "1"]).expect(0).stdout;
    assert!(
        shown.contains("5 repeated-failure-looping")
            && shown.contains("the same failure in 2 judgements"),
        "{shown}"
    );
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
}
