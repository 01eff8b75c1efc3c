//! The main job with the real Claude Code, driven by the scripted model, and a task that one agent hands on to another.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::goose::{goose, tool};
use crate::model::{Model, Reply, refused_port, told};
use crate::not_run::not_run;
use crate::sandbox::{Ran, Sandbox};

/// A check that fails by name, as a test runner does: with the words of the file `bad`.
const CHECK: &str = "[ ! -e bad ] || { echo \"FAIL: $(cat bad)\"; exit 1; }\n";

/// A sandbox whose `claude` is the real one and whose service is a scripted model. The file's agent is Goose, as where a team
/// has agreed on one; who calls here prefers another.
pub struct World {
    pub sandbox: Sandbox,
    pub model: Model,
    port: u16,
}

impl World {
    /// The world of the test `name` with more lines in `arkaint.toml`. `None`, and one line that says so, where there is no Claude
    /// Code.
    pub fn new(name: &str, lines: &str, replies: Vec<Reply>) -> Option<Self> {
        let installed = "claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude";
        let Some(claude) = tool("ARKAINT_TEST_CLAUDE", installed) else {
            not_run(name, "claude");
            return None;
        };
        let sandbox = Sandbox::ready("\"sh check.sh\"");
        sandbox.write("check.sh", CHECK);
        sandbox.write(
            "arkaint.toml",
            &format!("[checkpoint]\ntest = \"sh check.sh\"\n\n[agent]\nname = \"goose\"\nprovider = \"openai\"\nmodel = \"mock-model\"\n{lines}"),
        );
        sandbox.commit_all("the check, and an agent");
        let bin = sandbox.home().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::os::unix::fs::symlink(claude, bin.join("claude")).unwrap();
        let model = Model::start(replies);
        Some(Self {
            port: model.port(),
            sandbox,
            model,
        })
    }

    /// `git-arkaint ARGS` with what a user of both agents has in the environment.
    fn command<I, S>(&self, args: I) -> Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let home = self.sandbox.home();
        let mut command = self.sandbox.command(env!("CARGO_BIN_EXE_git-arkaint"));
        let host = format!("http://127.0.0.1:{}", self.port);
        command
            .args(args)
            .env(
                "PATH",
                format!("{}:{}", home.join("bin").display(), self.sandbox.path()),
            )
            .env("ANTHROPIC_BASE_URL", &host)
            .env("ANTHROPIC_API_KEY", "dummy-key-of-the-tests")
            .env("CLAUDE_CODE_MAX_RETRIES", "1")
            // Else it refuses to work unattended where the tests run as root.
            .env("IS_SANDBOX", "1")
            .env("GOOSE_PATH_ROOT", home.join("goose"))
            .env("GOOSE_PROVIDER", "openai")
            .env("GOOSE_MODEL", "mock-model")
            .env("OPENAI_HOST", &host)
            .env("OPENAI_API_KEY", "dummy-key-of-the-tests")
            .env("GOOSE_DISABLE_KEYRING", "1");
        command
    }

    pub fn arkaint<I, S>(&self, args: I) -> Ran
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.command(args).output().unwrap().into()
    }

    /// A cycle by Claude Code.
    pub fn cycle(&self, task: &str) -> Ran {
        self.arkaint(["cycle", "--agent", "claude", "--model", "mock-model", task])
    }

    pub fn records(&self, kind: &str) -> Vec<Value> {
        self.arkaint(["log", "--json", "--kind", kind]).records()
    }

    fn outcomes(&self) -> Vec<String> {
        let runs = self.records("run");
        runs.iter()
            .map(|run| run["outcome"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Pids of this world's processes whose command line fits.
    fn alive(&self, pattern: &str) -> String {
        let home = self.sandbox.home().display();
        let script = format!(
            "for p in $(pgrep -f '{pattern}' || true); do tr '\\0' '\\n' < /proc/$p/environ 2>/dev/null | grep -qx 'HOME={home}' && echo $p || true; done"
        );
        self.sandbox.sh(&script).trim().to_owned()
    }

    /// Starts a cycle, waits for so many calls of the model, and interrupts it.
    pub fn interrupted<const N: usize>(&self, words: [&str; N], calls: usize) {
        let mut child = self
            .command(words)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        self.model.wait_for(calls);
        self.sandbox.sh(&format!("kill -INT {}", child.id()));
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
}

fn done(said: &str) -> Reply {
    Reply::text(&format!("{said}\nARKAINT: done"))
}

#[test]
fn a_cycle_by_claude_is_sealed_and_recorded() {
    let script = vec![
        Reply::bash("echo hello > hello.txt").usage(1000, 200, 30),
        done("Wrote hello.txt."),
    ];
    let Some(world) = World::new("a_cycle_by_claude_is_sealed_and_recorded", "", script) else {
        return;
    };
    // What a user of it has at home, and what lies above the project.
    let home = world.sandbox.home();
    std::fs::create_dir(home.join(".claude")).unwrap();
    for place in [home.join(".claude/CLAUDE.md"), home.join("../CLAUDE.md")] {
        std::fs::write(place, "A-NOTE-OF-ANOTHER-DAY\n").unwrap();
    }
    let ran = world.cycle("write a greeting into hello.txt").expect(0);
    assert!(ran.stderr.contains("sealed as "), "{}", ran.stderr);
    assert_eq!(world.sandbox.git(["show", "HEAD:hello.txt"]), "hello");
    let body = world.sandbox.git(["log", "-1", "--format=%B"]);
    assert!(
        body.contains("Arkaint-Provider: anthropic\nArkaint-Model: mock-model\n")
            && body.contains("Wrote hello.txt."),
        "{body}"
    );
    let run = &world.records("run")[0];
    assert_eq!(
        (&run["agent"], &run["outcome"], &run["model"]),
        (&json!("claude"), &json!("done"), &json!("mock-model"))
    );
    assert!(run["version"].as_str().unwrap().starts_with("2."));
    assert_eq!(
        (
            &run["tokens"]["input"],
            &run["tokens"]["output"],
            &run["tokens"]["cache_read"]
        ),
        (&json!(1100), &json!(50), &json!(200))
    );
    assert_eq!(run["cost"]["source"], "reported");
    assert!(run["cost"]["usd"].as_f64().unwrap() > 0.0);
    assert_eq!(run["endpoint"], format!("http://127.0.0.1:{}", world.port));
    let requests = world.model.requests();
    assert_eq!(requests.len(), 2, "one call a turn and none besides");
    let prompt = told(&requests[0]);
    assert!(prompt.contains("write a greeting into hello.txt") && prompt.contains("ARKAINT: done"));
    assert!(
        !requests[0].to_string().contains("A-NOTE-OF-ANOTHER-DAY"),
        "the packet is all that it is told"
    );
    let kept = world.sandbox.sh("find \"$HOME/.claude\" -name '*.jsonl'");
    assert_eq!(kept, "", "no session is kept");
    let said = world
        .arkaint(["explain", "--json", ".arkaint/run.log"])
        .expect(0)
        .json();
    assert_eq!(
        (&said["outcome"], &said["launches"][0]["agent"]),
        (&json!("done"), &json!("claude"))
    );
}

#[test]
fn a_service_that_fails_claude_is_never_done_and_never_rolls_back() {
    let name = "a_service_that_fails_claude_is_never_done_and_never_rolls_back";
    let partial = || Reply::bash("echo partial > partial.txt");
    let cases = [
        ("unusable", Reply::error(401, "bad key")),
        ("unusable", Reply::error(404, "model: mock-model")),
        ("unreachable", Reply::error(500, "scripted trouble")),
        ("unreachable", Reply::error(529, "Overloaded")),
        (
            "limited",
            Reply::error(429, "rate limit exceeded").header("Retry-After", "1"),
        ),
    ];
    for (expected, failure) in cases {
        let case = format!("{failure:?}");
        let Some(world) = World::new(name, "", vec![partial(), failure]) else {
            return;
        };
        let ran = world.cycle("a task for a broken service").expect(3);
        assert_eq!(world.outcomes(), [expected], "{case}: {}", ran.stderr);
        assert!(
            world.records("rollback").is_empty() && world.records("trip").is_empty(),
            "{case}"
        );
        assert_eq!(world.sandbox.read("partial.txt"), "partial\n", "{case}");
    }
    let Some(mut world) = World::new(name, "", vec![partial()]) else {
        return;
    };
    world.port = refused_port();
    let ran = world.cycle("a task without a service").expect(3);
    assert_eq!(world.outcomes(), ["unreachable"], "{}", ran.stderr);
}

#[test]
fn what_claude_claims_is_not_believed_and_a_fix_round_mends_it() {
    let script = vec![
        Reply::bash("echo test_alpha > bad; echo kept > kept.txt"),
        done("I believe that all tests pass."),
        Reply::bash("sh check.sh"),
        Reply::bash("rm bad"),
        done("Mended."),
    ];
    let Some(world) = World::new(
        "what_claude_claims_is_not_believed_and_a_fix_round_mends_it",
        "",
        script,
    ) else {
        return;
    };
    world.cycle("write kept.txt").expect(0);
    let second = told(&world.model.requests()[2]);
    assert!(
        second.contains("Fix round: ")
            && second.contains("FAIL: test_alpha")
            && second.contains("+kept"),
        "{second}"
    );
    let runs = world.records("run");
    assert_eq!(
        (&runs[0]["checks"], &runs[1]["checks"]),
        (&json!("red"), &json!("green"))
    );
    let seen = &runs[1]["signatures"][0];
    assert!(
        seen["line"].as_str().unwrap().contains("test_alpha"),
        "its own check is heard by the exit code that its text tells: {seen}"
    );
    assert_eq!(world.sandbox.git(["show", "HEAD:kept.txt"]), "kept");
}

#[test]
fn a_cut_reply_and_the_turn_limit_of_claude_are_fix_rounds_that_keep_the_work() {
    let name = "a_cut_reply_and_the_turn_limit_of_claude_are_fix_rounds_that_keep_the_work";
    let script = vec![
        Reply::text("I was about to").then_cut(),
        Reply::bash("echo one > one.txt"),
        Reply::text("Everything is in order").then_cut(),
        Reply::bash("echo two > two.txt"),
        done("Finished what was begun."),
    ];
    let Some(world) = World::new(name, "", script) else {
        return;
    };
    let ran = world.cycle("write two files").expect(0);
    assert_eq!(
        world.outcomes(),
        ["failed", "failed", "done"],
        "{}",
        ran.stderr
    );
    assert_eq!(world.sandbox.git(["show", "HEAD:one.txt"]), "one");

    let endless = vec![Reply::bash("date +%N >> ticks.txt")];
    let lines = "max_turns = 3\n\n[cycle]\nfix_rounds = 1\n";
    let Some(world) = World::new(name, lines, endless) else {
        return;
    };
    let ran = world.cycle("count for ever").expect(3);
    assert_eq!(world.outcomes(), ["capped", "capped"], "{}", ran.stderr);
    let ticks = world.sandbox.read("ticks.txt").lines().count();
    assert_eq!(ticks, 6, "three turns a launch");
    assert!(world.records("rollback").is_empty());
}

#[test]
fn ctrl_c_leaves_nothing_of_claude_running_and_its_numbers_are_kept() {
    let script = vec![
        Reply::bash("echo begun > begun.txt; (setsid sleep 4322 &) ; true").usage(700, 0, 9),
        Reply::bash("sleep 4323"),
        Reply::hang(),
    ];
    let Some(world) = World::new(
        "ctrl_c_leaves_nothing_of_claude_running_and_its_numbers_are_kept",
        "",
        script,
    ) else {
        return;
    };
    let words = ["cycle", "--agent", "claude", "begin and end"];
    world.interrupted(words, 2);
    for pattern in ["[s]leep 432", "[c]laude -p"] {
        assert_eq!(world.alive(pattern), "", "{pattern}");
    }
    assert_eq!(world.sandbox.read("begun.txt"), "begun\n");
    let run = &world.records("run")[0];
    assert_eq!(run["outcome"], "killed");
    assert!(
        run["tokens"]["input"].as_u64().unwrap() >= 700,
        "it tells what was used before it ends: {run}"
    );
}

/// One agent is broken off in the middle of a task, and another goes on from there: all that it knows is in the packet.
#[test]
fn a_task_that_goose_began_is_ended_by_claude() {
    let name = "a_task_that_goose_began_is_ended_by_claude";
    let script = vec![
        Reply::shell("echo half > part.txt"),
        Reply::hang(),
        Reply::bash("[ \"$(cat part.txt)\" = half ] && echo whole > part.txt"),
        done("Went on from there."),
    ];
    let Some(goose) = goose() else {
        return not_run(name, "goose");
    };
    let Some(world) = World::new(name, "", script) else {
        return;
    };
    std::os::unix::fs::symlink(goose, world.sandbox.home().join("bin/goose")).unwrap();
    world.interrupted(["cycle", "write part.txt as a whole"], 2);
    assert_eq!(world.sandbox.read("part.txt"), "half\n");
    let ran = world.cycle("write part.txt as a whole").expect(0);
    assert!(ran.stderr.contains("sealed as "), "{}", ran.stderr);
    assert_eq!(world.sandbox.git(["show", "HEAD:part.txt"]), "whole");
    let runs = world.records("run");
    let by = |run: &Value| (run["agent"].clone(), run["outcome"].clone());
    assert_eq!(
        runs.iter().map(by).collect::<Vec<_>>(),
        [
            (json!("goose"), json!("killed")),
            (json!("claude"), json!("done"))
        ]
    );
    assert_eq!(
        (&runs[0]["task"], &runs[0]["base"]),
        (&runs[1]["task"], &runs[1]["base"]),
        "the same task from the same checkpoint"
    );
    assert_eq!(runs[0]["cycle"], runs[1]["cycle"], "and the same cycle");
    let told = told(&world.model.requests()[2]);
    assert!(
        told.contains("Resume: ") && told.contains("part.txt") && told.contains("+half"),
        "{told}"
    );
    assert!(world.records("rollback").is_empty());
}
