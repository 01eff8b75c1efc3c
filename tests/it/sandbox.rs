//! A throw-away HOME and repository, and the only way in which tests start programs: no setting of the developer's leaks in.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// One test's world.
pub struct Sandbox {
    _temp: TempDir,
    home: PathBuf,
    pub repo: PathBuf,
}

/// Does `tests/long` run, which has time for every case?
pub fn is_long() -> bool {
    std::env::var_os("ARKAINT_TEST_LONG").is_some()
}

/// What a program printed and how it ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.stdout))
    }

    /// The records that `log --json` printed, oldest first.
    #[track_caller]
    pub fn records(self) -> Vec<serde_json::Value> {
        let log = self.expect(0).json();
        log["records"]
            .as_array()
            .unwrap()
            .iter()
            .rev()
            .cloned()
            .collect()
    }
}

impl From<Output> for Ran {
    fn from(out: Output) -> Self {
        Self {
            code: out.status.code(),
            stdout: String::from_utf8_lossy(&out.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
        }
    }
}

impl Sandbox {
    /// A HOME with an identity, and an empty repository on `main` with one commit (`README.md`).
    pub fn new() -> Self {
        let temp = tempfile::Builder::new()
            .prefix("arkaint-it-")
            .tempdir()
            .unwrap();
        let root = temp.path().canonicalize().unwrap();
        let (home, repo) = (root.join("home"), root.join("repo"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&repo).unwrap();
        fs::write(
            home.join(".gitconfig"),
            "[user]\n\tname = Test User\n\temail = test@example.invalid\n[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n",
        )
        .unwrap();
        let sandbox = Self {
            _temp: temp,
            home,
            repo,
        };
        sandbox.git(["init", "-q", "-b", "main"]);
        sandbox.write("README.md", "# project\n");
        sandbox.git(["add", "-A"]);
        sandbox.git(["commit", "-q", "-m", "start"]);
        sandbox
    }

    /// [`Sandbox::new`] with `arkaint.toml` (test command `test`, the `command` agent running `agent.sh`) committed, on branch `arkaint/work`.
    pub fn ready(test: &str) -> Self {
        let sandbox = Self::new();
        sandbox.write(
            "arkaint.toml",
            &format!("[checkpoint]\ntest = {test}\n\n[agent]\nname = \"command\"\ncommand = [\"sh\", \"{}\"]\n", sandbox.agent_script().display()),
        );
        sandbox.commit_all("add arkaint.toml");
        sandbox.git(["switch", "-q", "-c", "arkaint/work"]);
        sandbox
    }

    /// [`Sandbox::ready`] with a stable checkpoint of a small project: files, a program, a link, a folder, and rules of what is ignored.
    pub fn stable() -> Self {
        let sandbox = Self::ready("\"true\"");
        sandbox.write(".gitignore", "build/\n*.log\n");
        sandbox.write("src/lib.txt", "one\ntwo\n");
        sandbox.write("sub/inner.txt", "inner\n");
        sandbox.write_exec("tool.sh", "#!/bin/sh\n");
        symlink("src/lib.txt", sandbox.repo.join("link")).unwrap();
        sandbox.arkaint(["checkpoint", "-m", "stable"]).expect(0);
        sandbox
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Where the scripted `command` agent of [`Sandbox::ready`] lives (outside the repository). It reads its packet on stdin.
    pub fn agent_script(&self) -> PathBuf {
        self.home.join("agent.sh")
    }

    /// Writes the scripted agent: a shell script, run in the worktree with the packet on stdin.
    pub fn agent(&self, script: &str) {
        fs::write(self.agent_script(), script).unwrap();
    }

    /// The folder of the binaries under test.
    pub fn bin() -> PathBuf {
        Path::new(env!("CARGO_BIN_EXE_git-arkaint"))
            .parent()
            .unwrap()
            .to_path_buf()
    }

    /// A command with a clean environment: own HOME, PATH = the binaries under test, then the system's, fixed locale and zone.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", &self.home)
            .env("XDG_CONFIG_HOME", self.home.join(".config"))
            .env("XDG_DATA_HOME", self.home.join(".local/share"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("PATH", self.path())
            .env("TZ", "UTC")
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "dumb")
            .current_dir(&self.repo)
            .stdin(Stdio::null());
        command
    }

    /// PATH of the sandbox: the binaries under test, then where git, sh and the tools of the machine are.
    pub fn path(&self) -> String {
        let system =
            std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned());
        format!("{}:{system}", Self::bin().display())
    }

    /// `git arkaint ARGS` in the repository.
    pub fn arkaint<I, S>(&self, args: I) -> Ran
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.command(env!("CARGO_BIN_EXE_git-arkaint"))
            .args(args)
            .output()
            .unwrap()
            .into()
    }

    /// `git ARGS` in the repository; it must succeed. Returns stdout without the last newline.
    #[track_caller]
    pub fn git<I, S>(&self, args: I) -> String
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let ran = self.try_git(args);
        assert_eq!(ran.code, Some(0), "git: {}", ran.stderr);
        ran.stdout
            .strip_suffix('\n')
            .unwrap_or(&ran.stdout)
            .to_owned()
    }

    /// `git ARGS` in the repository, however it ends.
    pub fn try_git<I, S>(&self, args: I) -> Ran
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.command("git").args(args).output().unwrap().into()
    }

    /// A shell script in the repository; it must succeed.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        let ran: Ran = self
            .command("bash")
            .args(["-euc", script])
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.code, Some(0), "sh: {}\n{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// The commit of the newest archive.
    #[track_caller]
    pub fn archive(&self) -> String {
        let listed = self.arkaint(["discarded", "list", "--json"]).expect(0);
        let newest = &listed.json()["discarded"][0];
        newest["commit"].as_str().unwrap().to_owned()
    }

    pub fn write(&self, path: &str, content: &str) {
        let path = self.repo.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn write_exec(&self, path: &str, content: &str) {
        self.write(path, content);
        fs::set_permissions(self.repo.join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.repo.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    pub fn exists(&self, path: &str) -> bool {
        self.repo.join(path).symlink_metadata().is_ok()
    }

    pub fn commit_all(&self, message: &str) {
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "--no-verify", "-m", message]);
    }
}
