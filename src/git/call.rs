//! One call of the git binary: argv, environment, input, and what came back. It knows no verb of ours.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

use super::content::Trees;
use super::{Worktree, second_look};

/// The user's own git: their configuration, hooks, signing and filters apply. Never used between a launch and the check.
#[derive(Clone, Copy)]
pub(crate) struct Trusted<'a> {
    worktree: &'a Worktree,
}

impl<'a> Trusted<'a> {
    pub(super) fn new(worktree: &'a Worktree) -> Self {
        Self { worktree }
    }

    /// A call in the worktree's root with the caller's environment less everything that would point git elsewhere.
    pub(crate) fn call<I, S>(self, args: I) -> Call
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut call = Call::new(self.worktree.root.clone(), user_env());
        call.args
            .extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        call
    }
}

impl Trusted<'_> {
    /// Does the worktree still hold what was staged into `index`? One look that writes nothing; when it says no, staging again says what.
    pub(crate) fn is_as_staged(
        self,
        index: &std::path::Path,
        content: &super::Content,
    ) -> Result<bool> {
        let unknown = content.index.as_ref();
        let unknown = unknown.and_then(|index| second_look::unknown(&self.worktree.root, index));
        if let Some(mut unknown) = unknown {
            unknown.retain(|path| !content.leaves_out(path));
            if unknown.is_empty() || self.all_are_ignored(&unknown)? {
                return Ok(true);
            }
        }
        let look = |words: &[&str]| {
            self.call(words)
                .env("GIT_INDEX_FILE", index)
                .env("GIT_OPTIONAL_LOCKS", "0")
        };
        // Two halves at the same time, each of one look at every file; `status` would compare all of it with HEAD besides.
        let changed = look(&[
            "diff-files",
            "-z",
            "--name-only",
            "--ignore-submodules=dirty",
        ]);
        let new = look(&["ls-files", "-z", "-o", "--exclude-standard"]);
        let (changed, new) = std::thread::scope(|scope| {
            let changed = scope.spawn(|| changed.bytes());
            let new = new.bytes();
            (changed.join(), new)
        });
        let changed = changed.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let doing = "looking at the worktree again";
        let (changed, new) = (changed.context(doing)?, new.context(doing)?);
        Ok([changed, new]
            .iter()
            .flat_map(|listed| listed.split(|b| *b == 0))
            .filter(|path| !path.is_empty())
            .map(|path| path.strip_suffix(b"/").unwrap_or(path))
            .all(|path| content.leaves_out(path)))
    }

    /// Are these paths, which no index has, all ignored?
    fn all_are_ignored(self, paths: &[Vec<u8>]) -> Result<bool> {
        let out = self
            .call(["check-ignore", "--no-index", "-v", "-z", "--stdin"])
            .env("GIT_LITERAL_PATHSPECS", "1")
            .stdin(paths.join(&0))
            .output()?;
        // Source, line, pattern and path; nothing of a path that no pattern matches.
        let words: Vec<_> = out.stdout.split(|b| *b == 0).collect();
        let ignored = words.chunks_exact(4).filter(|w| !w[2].starts_with(b"!"));
        Ok(out.code == Some(0) && ignored.count() == paths.len())
    }

    /// How many objects of `commit`'s own tree are not in the object store.
    pub(crate) fn missing(self, commit: super::Oid) -> Result<usize> {
        let listed = self.call(super::MISSING).arg(commit.to_string()).bytes()?;
        let lines = listed.split(|byte| *byte == b'\n');
        Ok(lines.filter(|line| line.starts_with(b"?")).count())
    }

    /// Starts `index` from the user's own, as that is: what an index hides, or garbage, is met where content is staged into it.
    pub(crate) fn seed(self, index: &std::path::Path) -> Result<()> {
        let theirs = self.worktree.git_dir.join("index");
        if !theirs.exists() {
            return super::state::remove(index);
        }
        super::state::copy_index(&theirs, index)
    }

    /// The content tree, staged into `index` with the user's own filters and attributes.
    pub(crate) fn content_tree(self, index: &std::path::Path) -> Result<super::Content> {
        super::content::stage(self.worktree, index, Trees::Here, &|args| {
            self.call(args).env("GIT_INDEX_FILE", index)
        })
        .context("reading the worktree")
    }
}

/// What a call printed and how it ended.
#[derive(Debug)]
pub(crate) struct Output {
    pub stdout: Vec<u8>,
    pub stderr: String,
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
}

/// argv, environment, folder and input of a call.
pub(crate) type Parts = (Vec<OsString>, Vec<(OsString, OsString)>, PathBuf, Vec<u8>);

/// A git call being put together.
pub(crate) struct Call {
    pub(super) args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: PathBuf,
    stdin: Vec<u8>,
    /// It holds the worktree's lock as we do.
    inherits: bool,
}

impl Call {
    pub(super) fn new(dir: PathBuf, env: Vec<(OsString, OsString)>) -> Self {
        Self {
            args: Vec::new(),
            env,
            dir,
            stdin: Vec::new(),
            inherits: false,
        }
    }

    /// Lets the call inherit the worktree's lock, so that it lasts as long as what the call does.
    pub(super) fn inheriting(mut self) -> Self {
        self.inherits = true;
        self
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(crate) fn args<I, S>(mut self, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.args
            .extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    pub(crate) fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.retain(|(k, _)| k != key.as_ref());
        self.env
            .push((key.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Bytes for standard input (empty = closed).
    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// The argv, for a supervisor that runs the call with a deadline.
    pub(crate) fn into_parts(self) -> Parts {
        let mut argv = vec![program().to_owned()];
        argv.extend(self.args);
        (argv, self.env, self.dir, self.stdin)
    }

    /// Runs it to its end; any exit code is an answer.
    ///
    /// # Errors
    /// Only when git cannot be started.
    pub(crate) fn output(self) -> Result<Output> {
        let call = duct::cmd(program(), &self.args)
            .dir(&self.dir)
            .full_env(self.env)
            .stdin_bytes(self.stdin)
            .stdout_capture()
            .stderr_capture()
            .unchecked();
        let running = if self.inherits {
            super::heirloom::with(|| call.start())
        } else {
            call.start()
        };
        let running = running.context("starting git")?;
        let out = running.into_output().context("waiting for git")?;
        Ok(Output {
            stdout: out.stdout,
            stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
            code: out.status.code(),
        })
    }

    /// The bytes it printed.
    ///
    /// # Errors
    /// With git's own last words, when it did not exit 0.
    pub(crate) fn bytes(self) -> Result<Vec<u8>> {
        let verb = self.verb();
        let out = self.output()?;
        if out.code != Some(0) {
            bail!("git {verb}: {}", out.reason());
        }
        Ok(out.stdout)
    }

    /// The text it printed, without the last newline.
    pub(crate) fn text(self) -> Result<String> {
        let mut text = String::from_utf8_lossy(&self.bytes()?).into_owned();
        if text.ends_with('\n') {
            text.pop();
        }
        Ok(text)
    }

    /// Runs it for its effect.
    pub(crate) fn run(self) -> Result<()> {
        self.bytes().map(drop)
    }

    /// Did it exit 0?
    pub(crate) fn succeeds(self) -> Result<bool> {
        Ok(self.output()?.code == Some(0))
    }

    fn verb(&self) -> String {
        let words: Vec<_> = self
            .args
            .iter()
            .filter(|a| !a.as_encoded_bytes().starts_with(b"-"))
            .take(1)
            .collect();
        words
            .first()
            .map(|w| w.to_string_lossy().into_owned())
            .unwrap_or_default()
    }
}

impl Output {
    /// git's last words, on one line.
    pub(crate) fn reason(&self) -> String {
        let words: Vec<_> = self
            .stderr
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty() && !l.starts_with("hint:"))
            .collect();
        match (words.as_slice(), self.code) {
            ([], Some(code)) => format!("exit {code}"),
            ([], None) => "ended by a signal".to_owned(),
            (lines, _) => lines
                .iter()
                .rev()
                .take(3)
                .rev()
                .copied()
                .collect::<Vec<_>>()
                .join("; "),
        }
    }
}

/// git, found once on PATH by absolute path, before anything could be put in its way.
pub(crate) fn program() -> &'static OsStr {
    static GIT: OnceLock<OsString> = OnceLock::new();
    GIT.get_or_init(|| which::which("git").map_or_else(|_| "git".into(), PathBuf::into_os_string))
}

/// The caller's environment for the user's git: without the variables that name another repository or index, never prompting.
fn user_env() -> Vec<(OsString, OsString)> {
    /// The list of `git rev-parse --local-env-vars`.
    const LOCAL: [&str; 15] = [
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_CONFIG",
        "GIT_CONFIG_PARAMETERS",
        "GIT_CONFIG_COUNT",
        "GIT_OBJECT_DIRECTORY",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_GRAFT_FILE",
        "GIT_INDEX_FILE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_REPLACE_REF_BASE",
        "GIT_PREFIX",
        "GIT_SHALLOW_FILE",
        "GIT_COMMON_DIR",
    ];
    let mut env: Vec<_> = std::env::vars_os()
        .filter(|(k, _)| !LOCAL.iter().any(|l| k == l))
        .collect();
    env.push(("GIT_TERMINAL_PROMPT".into(), "0".into()));
    env.retain(|(k, _)| k != "LC_ALL" && k != "GIT_EDITOR");
    env.push(("LC_ALL".into(), "C.UTF-8".into()));
    env.push(("GIT_EDITOR".into(), ":".into()));
    env
}
