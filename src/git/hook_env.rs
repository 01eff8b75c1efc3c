//! git as the hook was called by git: its environment is kept whole, because `GIT_DIR` and `GIT_INDEX_FILE` say what is being committed.
//! It also runs a chained hook the way git would. It decides nothing.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::Call;

/// The repository that a hook was called for.
pub(crate) struct HookGit {
    dir: PathBuf,
    /// The git directory that all worktrees share.
    pub common_dir: PathBuf,
    /// The hooks folder that git uses here.
    pub hooks: PathBuf,
    /// The object name at HEAD; `None` on a branch without a commit.
    pub head: Option<String>,
    merge_head: PathBuf,
}

impl HookGit {
    /// The repository around the current folder and environment. One call of git.
    ///
    /// # Errors
    /// Outside a repository, with git's own words.
    pub(crate) fn here() -> Result<Self> {
        const QUESTIONS: [&[&str]; 3] = [
            &["--git-common-dir"],
            &["--git-path", "hooks"],
            &["--git-path", "MERGE_HEAD"],
        ];
        let dir = std::env::current_dir().context("finding the current folder")?;
        // `HEAD` alone fails on a branch without a commit, after the lines before it were printed.
        let all = call(&dir)
            .arg("rev-parse")
            .args(QUESTIONS.concat())
            .arg("HEAD")
            .output()?;
        let lines = all.stdout.split(|b| *b == b'\n');
        let mut answers: Vec<_> = lines
            .filter(|line| !line.is_empty())
            .map(<[u8]>::to_vec)
            .collect();
        ensure!(!answers.is_empty(), "git rev-parse: {}", all.reason());
        if answers.len() != QUESTIONS.len() + 1 {
            // A folder's name holds a newline: one question a call.
            let ask = |question: &[&str]| call(&dir).arg("rev-parse").args(question).line();
            answers = QUESTIONS.into_iter().map(ask).collect::<Result<_>>()?;
            answers.push(ask(&["HEAD"]).unwrap_or_default());
        }
        let head = answers
            .pop()
            .and_then(|name| String::from_utf8(name).ok())
            .filter(|name| is_object_name(name));
        // Relative answers are so to the current folder.
        let mut paths = answers
            .into_iter()
            .map(|bytes| dir.join(OsString::from_vec(bytes)));
        let mut next = || paths.next().context("asking git rev-parse for its folders");
        let (common_dir, hooks, merge_head) = (next()?, next()?, next()?);
        Ok(Self {
            dir,
            common_dir,
            hooks,
            head,
            merge_head,
        })
    }

    /// A call of git in the hook's own environment.
    pub(crate) fn call<I, S>(&self, args: I) -> Call
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        call(&self.dir).args(args)
    }

    /// The branch at HEAD (`refs/heads/…`); `None` when HEAD is detached.
    pub(crate) fn head_ref(&self) -> Result<Option<String>> {
        let out = self.call(["symbolic-ref", "-q", "HEAD"]).output()?;
        Ok((out.code == Some(0)).then(|| {
            String::from_utf8_lossy(&out.stdout)
                .trim_end_matches('\n')
                .to_owned()
        }))
    }

    /// The top folder of the worktree; `None` in a bare repository.
    pub(crate) fn root(&self) -> Option<PathBuf> {
        let line = self
            .call(["rev-parse", "--path-format=absolute", "--show-toplevel"])
            .line()
            .ok()?;
        Some(PathBuf::from(OsString::from_vec(line)))
    }

    /// The other parents of the merge under way, as git noted them (an octopus has several).
    pub(crate) fn merge_heads(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.merge_head).unwrap_or_default();
        text.lines()
            .map(str::to_owned)
            .filter(|name| is_object_name(name))
            .collect()
    }
}

/// The tree of the index that is being committed, which git writes.
pub(crate) fn write_tree() -> Result<String> {
    let here = std::env::current_dir().context("finding the current folder")?;
    call(&here).arg("write-tree").text()
}

/// A full object name in hex, of either hash.
pub(crate) fn is_object_name(word: &str) -> bool {
    matches!(word.len(), 40 | 64) && word.bytes().all(|b| b.is_ascii_hexdigit())
}

fn call(dir: &Path) -> Call {
    Call::new(dir.to_path_buf(), std::env::vars_os().collect())
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C.UTF-8")
}

impl Call {
    /// Lines for standard input.
    pub(crate) fn stdin_lines<S: AsRef<str>>(self, lines: impl IntoIterator<Item = S>) -> Self {
        let mut text = String::new();
        for line in lines {
            text.push_str(line.as_ref());
            text.push('\n');
        }
        self.stdin(text)
    }

    /// The bytes it printed, without the last newline alone: the line may be a path that holds newlines.
    fn line(self) -> Result<Vec<u8>> {
        let mut bytes = self.bytes()?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        Ok(bytes)
    }
}

/// The variable in which a shim tells the hooks folder as git found it.
pub(crate) const HOOKS_FOLDER: &str = "ARKAINT_HOOKS_FOLDER";

/// Runs a chained hook as git would: by its path, with our environment and outputs, and `sh` where the kernel knows no better.
/// Returns its exit code, `None` when a signal ended it. `stdin` is given to it byte for byte; without it, it inherits ours.
pub(crate) fn run_chained(
    hook: &Path,
    args: &[OsString],
    stdin: Option<&[u8]>,
    env: (&str, &OsStr),
) -> Result<Option<i32>> {
    /// The kernel found neither a program nor a `#!` line.
    const ENOEXEC: i32 = 8;
    let run = |program: &OsStr, args: Vec<&OsStr>| {
        let cmd = duct::cmd(program, args)
            .env(env.0, env.1)
            // It may commit elsewhere, and what is true of this folder is not of another.
            .env_remove(HOOKS_FOLDER)
            .unchecked();
        match stdin {
            Some(bytes) => cmd.stdin_bytes(bytes).run(),
            None => cmd.run(),
        }
    };
    let args = args.iter().map(OsString::as_os_str);
    let ran = match run(hook.as_os_str(), args.clone().collect()) {
        Err(error) if error.raw_os_error() == Some(ENOEXEC) => run(
            OsStr::new("sh"),
            std::iter::once(hook.as_os_str()).chain(args).collect(),
        ),
        ran => ran,
    };
    Ok(ran
        .with_context(|| format!("starting {}", hook.display()))?
        .status
        .code())
}
