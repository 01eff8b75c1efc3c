//! The real Goose in a sandbox, talking to the scripted model service, and the proof that the two understand each other.
//! What Arkaint makes of a run is the matter of other files; here nobody judges.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::model::{Model, Reply, refused_port, told};
use crate::not_run::not_run;
use crate::sandbox::{Ran, Sandbox};

/// A sandbox whose agent is the real Goose and whose provider is a scripted model service.
pub struct GooseWorld {
    pub sandbox: Sandbox,
    pub model: Model,
    host: String,
}

impl GooseWorld {
    /// The world of the test `name`: `arkaint.toml` with the tests `test` (a TOML value) committed, on branch `arkaint/work`.
    /// `None`, and one line that says so, where there is no Goose.
    pub fn new(name: &str, test: &str, replies: Vec<Reply>) -> Option<Self> {
        let Some(goose) = goose() else {
            not_run(name, "goose");
            return None;
        };
        let sandbox = Sandbox::ready(test);
        sandbox.write(
            "arkaint.toml",
            &format!(
                "[checkpoint]\ntest = {test}\n\n[agent]\nname = \"goose\"\nprovider = \"openai\"\nmodel = \"mock-model\"\n"
            ),
        );
        sandbox.commit_all("goose is the agent");
        let bin = sandbox.home().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::os::unix::fs::symlink(goose, bin.join("goose")).unwrap();
        let model = Model::start(replies);
        let host = format!("http://127.0.0.1:{}", model.port());
        Some(Self {
            sandbox,
            model,
            host,
        })
    }

    /// The provider is not there: every call is refused by the machine.
    pub fn unplug(&mut self) {
        self.host = format!("http://127.0.0.1:{}", refused_port());
    }

    /// A program in the repository, with `goose` on PATH and in its environment what a user of Goose has there.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.sandbox.command(program);
        let path = format!(
            "{}:{}",
            self.sandbox.home().join("bin").display(),
            self.sandbox.path()
        );
        command
            .env("PATH", path)
            .env("GOOSE_PATH_ROOT", self.sandbox.home().join("goose"))
            .env("GOOSE_PROVIDER", "openai")
            .env("GOOSE_MODEL", "mock-model")
            .env("OPENAI_HOST", &self.host)
            .env("OPENAI_API_KEY", "dummy-key-of-the-tests")
            .env("GOOSE_DISABLE_KEYRING", "1");
        command
    }

    /// `git-arkaint ARGS`, started in the repository and not waited for.
    pub fn arkaint_command<I, S>(&self, args: I) -> Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = self.command(env!("CARGO_BIN_EXE_git-arkaint"));
        command.args(args);
        command
    }

    /// `git-arkaint ARGS` to its end.
    pub fn arkaint<I, S>(&self, args: I) -> Ran
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.arkaint_command(args).output().unwrap().into()
    }

    /// Goose itself, run once on `prompt` as an unattended run is, with no Arkaint between: how it ended, and its events.
    fn goose(&self, prompt: &str) -> (Ran, Vec<Value>) {
        let mut child = self
            .command("goose")
            .args([
                "run",
                "--no-session",
                "--quiet",
                "--no-profile",
                "--with-builtin",
                "developer",
            ])
            .args([
                "--max-turns",
                "10",
                "--instructions",
                "-",
                "--output-format",
                "stream-json",
            ])
            .env("GOOSE_MODE", "auto")
            .env("GOOSE_DISABLE_SESSION_NAMING", "true")
            .env("GOOSE_TELEMETRY_ENABLED", "false")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(prompt.as_bytes())
            .unwrap();
        let ran: Ran = child.wait_with_output().unwrap().into();
        let events = ran
            .stdout
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        (ran, events)
    }
}

/// The real Goose: `ARKAINT_TEST_GOOSE`, else where `tests/run` installs it.
pub fn goose() -> Option<PathBuf> {
    tool(
        "ARKAINT_TEST_GOOSE",
        "node_modules/@aaif/goose-binary-linux-x64/bin/goose",
    )
}

/// A real agent's program: what `variable` names, else `installed` below the `tools` that `tests/run` fills.
pub fn tool(variable: &str, installed: &str) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(variable) {
        return Some(PathBuf::from(named)).filter(|p| p.is_file());
    }
    let installed = Path::new("tools").join(installed);
    let built = Sandbox::bin().parent().unwrap().to_path_buf();
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("target");
    [built, here]
        .into_iter()
        .map(|target| target.join(&installed))
        .find(|p| p.is_file())
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|e| e["type"].as_str()).collect()
}

#[test]
fn goose_edits_a_file_by_its_shell_tool() {
    let script = vec![
        Reply::text("Editing.")
            .tool(
                "shell",
                serde_json::json!({ "command": "echo new > hello.txt" }),
            )
            .usage(1000, 0, 30),
        Reply::text("All done."),
    ];
    let Some(world) = GooseWorld::new("goose_edits_a_file_by_its_shell_tool", "\"true\"", script)
    else {
        return;
    };
    let (ran, events) = world.goose("write hello.txt");
    let ran = ran.expect(0);
    assert_eq!(world.sandbox.read("hello.txt"), "new\n");
    let end = events
        .last()
        .unwrap_or_else(|| panic!("no event: {}", ran.stderr));
    assert_eq!(
        (&end["type"], &end["input_tokens"], &end["output_tokens"]),
        (&"complete".into(), &1100.into(), &50.into())
    );
    let requests = world.model.requests();
    assert_eq!(
        requests.len(),
        2,
        "naming the session would be a third call"
    );
    assert!(told(&requests[0]).contains("write hello.txt"));
}

#[test]
fn goose_ends_well_after_a_failing_service_and_badly_after_a_refused_key() {
    let name = "goose_ends_well_after_a_failing_service_and_badly_after_a_refused_key";
    let Some(world) = GooseWorld::new(
        name,
        "\"true\"",
        vec![Reply::error(500, "scripted trouble")],
    ) else {
        return;
    };
    let (ran, events) = world.goose("go");
    assert!(ran.expect(0).stdout.contains("Ran into this error"));
    assert_eq!(types(&events).last(), Some(&"complete"));
    assert!(world.model.requests().len() > 1, "it tries again");

    let Some(world) = GooseWorld::new(name, "\"true\"", vec![Reply::error(401, "bad key")]) else {
        return;
    };
    let (ran, events) = world.goose("go");
    ran.expect(1);
    assert_eq!(types(&events).last(), Some(&"error"));
    assert_eq!(world.model.requests().len(), 1);
}

#[test]
fn goose_says_nothing_of_a_cut_stream_and_names_a_refused_connection() {
    let name = "goose_says_nothing_of_a_cut_stream_and_names_a_refused_connection";
    let Some(mut world) = GooseWorld::new(
        name,
        "\"true\"",
        vec![Reply::text("I was about to").then_cut()],
    ) else {
        return;
    };
    let (ran, events) = world.goose("go");
    ran.expect(0);
    let end = events.last().unwrap();
    assert_eq!(
        (&end["type"], &end["output_tokens"]),
        (&"complete".into(), &0.into())
    );

    world.unplug();
    let (ran, _) = world.goose("go");
    assert!(ran.expect(0).stdout.contains("Could not connect"));
}
