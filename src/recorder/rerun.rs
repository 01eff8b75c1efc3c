//! Checks run again where no worker has been: in a fresh linked worktree of one commit, in a temporary folder, gone afterwards. It decides
//! nothing, and reads none of the files in which a worker says what it saw.
//!
//! The worktree lies outside of the repository: below it, a tool that looks upwards (cargo's workspaces, node's modules, git itself) would
//! find the worker's files again. Its checkout runs no hook: what a fresh worktree needs is `dispatch.setup`, and a hook of the project's is
//! code of the very commit that is to be judged, or of the worker's machine. Filters run, as without them (Git LFS) there are no files.
//! Submodules stay empty; a setup can fetch them.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::run::{self, Run};
use crate::config::{self, CommandLine};
use crate::evidence::verify::Status;
use crate::exit::{Exit, Refusal};
use crate::git::{Oid, Worktree};
use crate::judge::check;
use crate::process;
use crate::text;
use crate::ui::Ui;

/// How the names begin of all that is made here.
const PREFIX: &str = "arkaint-rerun-";
/// What a shell exits with when there is no such program.
const NOT_FOUND: i64 = 127;

/// What is to be run for which items.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub ids: Vec<String>,
    pub line: CommandLine,
}

/// How it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<'a> {
    pub commit: Oid,
    /// Makes the fresh worktree usable (`dispatch.setup`).
    pub setup: Option<&'a [String]>,
    pub commands: &'a [Command],
    /// Of the setup, and of each command.
    pub timeout: Duration,
    /// argv of the sandbox, put before the setup and each command, as configured.
    pub wrapper: &'a [String],
    /// Shows the output while it comes.
    pub echo: Option<&'a Ui>,
}

/// How a command went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    /// Of every item that has this command.
    pub ids: Vec<String>,
    pub status: Status,
    /// The last line that is not blank, redacted, and how it ended: `42 passed (exit 0)`.
    pub evidence: String,
    /// As [`run::Ran::exit`]; 127 where there is no such program.
    pub exit: i64,
    /// Of all that it printed; hexadecimal.
    pub output_sha256: String,
}

/// Runs each distinct command once, in the order given, all in one fresh worktree. The worktree is removed whatever happens; one that a
/// crash left is removed by the next call.
///
/// # Errors
/// When the worktree cannot be made, when the setup fails (a [`Refusal`] that names it, exit 3), and when we are told to stop.
pub(crate) fn rerun(worktree: &Worktree, order: &Order<'_>) -> Result<Vec<Ran>> {
    let _watch = process::watch_signals()?;
    remove_left(worktree)?;
    let fresh = Fresh::make(worktree, order.commit)?;
    let done = run_all(&fresh, order);
    let removed = fresh.remove();
    let done = done?;
    removed?;
    Ok(done)
}

fn run_all(fresh: &Fresh<'_>, order: &Order<'_>) -> Result<Vec<Ran>> {
    let sandbox = config::sandbox(order.wrapper, &fresh.path, fresh.worktree.common_dir());
    let go = |argv: &[String]| run::run(argv, &fresh.path, order.timeout, order.echo);
    if let Some(setup) = order.setup {
        let argv = [&sandbox, setup].concat();
        let why = match go(&argv)? {
            Run::Over(ran) if ran.exit == 0 => None,
            Run::Over(ran) => Some(ran.evidence),
            Run::NotStarted(why) => Some(why),
            Run::Interrupted(signal) => return Err(stopped(signal)),
        };
        if let Some(why) = why {
            let setup = shell_words::join(setup);
            let cause = format!(
                "dispatch.setup failed in a fresh worktree of {}: {}: {why}",
                order.commit.to_hex_with_len(12),
                text::ellipsis(&text::visible_line(&setup), 200)
            );
            let hint = "set setup in [dispatch] of arkaint.toml to what makes a fresh clone usable";
            return Err(Refusal::with_exit(Exit::Person, cause, hint).into());
        }
    }
    let mut all = Vec::new();
    for (argv, ids) in distinct(order, &sandbox) {
        all.push(match go(&argv)? {
            Run::Over(ran) => Ran {
                ids,
                status: ran.status(),
                evidence: ran.evidence,
                exit: ran.exit,
                output_sha256: ran.output_sha256,
            },
            Run::NotStarted(why) => Ran {
                ids,
                status: Status::Failed,
                evidence: why,
                exit: NOT_FOUND,
                output_sha256: crate::evidence::seal::digest(b""),
            },
            Run::Interrupted(signal) => return Err(stopped(signal)),
        });
    }
    Ok(all)
}

/// The command lines as they run, each once, with the items of all that have it.
fn distinct(order: &Order<'_>, sandbox: &[String]) -> Vec<(Vec<String>, Vec<String>)> {
    let mut lines: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for command in order.commands {
        let argv = check::argv(&command.line, sandbox);
        match lines.iter_mut().find(|(known, _)| *known == argv) {
            Some((_, ids)) => ids.extend(command.ids.iter().cloned()),
            None => lines.push((argv, command.ids.clone())),
        }
    }
    lines
}

fn stopped(signal: i32) -> anyhow::Error {
    let exit = Exit::Interrupted(u8::try_from(signal).unwrap_or(2));
    let cause = "interrupted: what was run again is not whole, and counts for nothing";
    Refusal::with_exit(exit, cause, "start it again").into()
}

/// A linked worktree of our own, at `TMP/NAME/NAME`; NAME is also what git calls it.
struct Fresh<'a> {
    worktree: &'a Worktree,
    path: PathBuf,
    marker: PathBuf,
    /// Locked while we live, so that nobody takes the worktree for one that was left.
    _held: File,
    outer: TempDir,
}

impl<'a> Fresh<'a> {
    fn make(worktree: &'a Worktree, commit: Oid) -> Result<Self> {
        // Only its owner may look into the outer folder.
        let outer = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{}-", std::process::id()))
            .tempdir()
            .context("making a folder for a fresh worktree")?;
        let root = outer.path().canonicalize()?;
        let name = root.file_name().context("a folder has a name")?.to_owned();
        let markers = markers(worktree);
        fs::create_dir_all(&markers).context("making the state folder")?;
        let marker = markers.join(&name);
        // Under a name that nobody looks at until it is locked.
        let mut new = OsString::from("new-");
        new.push(&name);
        let new = markers.join(new);
        let held = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&new)
            .context("marking a fresh worktree")?;
        held.lock().context("marking a fresh worktree")?;
        fs::rename(&new, &marker).context("marking a fresh worktree")?;
        let fresh = Self {
            worktree,
            path: root.join(&name),
            marker,
            _held: held,
            outer,
        };
        let mut call = worktree
            .git()
            .call(["worktree", "add", "--quiet", "--detach"])
            .arg(&fresh.path)
            .arg(commit.to_string());
        let settings = [
            ("core.hooksPath", "/dev/null"),
            ("core.sparseCheckout", "false"),
            ("submodule.recurse", "false"),
        ];
        for (n, (key, value)) in settings.iter().enumerate() {
            call = call
                .env(format!("GIT_CONFIG_KEY_{n}"), key)
                .env(format!("GIT_CONFIG_VALUE_{n}"), value);
        }
        let added = call
            .env("GIT_CONFIG_COUNT", settings.len().to_string())
            .run();
        if let Err(error) = added {
            fresh.remove()?;
            return match process::interrupted() {
                Some(signal) => Err(stopped(signal)),
                None => Err(error.context("making a fresh worktree")),
            };
        }
        Ok(fresh)
    }

    fn remove(self) -> Result<()> {
        remove(self.worktree, &self.path)?;
        let _ = fs::remove_file(&self.marker);
        self.outer.close().context("removing a fresh worktree")
    }
}

/// Where a file of each worktree's name is held locked.
fn markers(worktree: &Worktree) -> PathBuf {
    worktree.common_dir().join("arkaint/rerun")
}

/// Removes a linked worktree and all that git knows of it. `git worktree prune` is not called: it would forget worktrees of the user's that
/// are away for a while.
fn remove(worktree: &Worktree, path: &Path) -> Result<()> {
    let shown = || format!("removing the worktree {}: remove it", path.display());
    let removed = worktree
        .git()
        .call(["worktree", "remove", "--force", "--force"])
        .arg(path)
        .succeeds()?;
    if removed {
        return Ok(());
    }
    if path.symlink_metadata().is_ok() {
        unlock(path);
        fs::remove_dir_all(path).with_context(shown)?;
    }
    let name = path.file_name().context("a worktree has a name")?;
    let known = worktree.common_dir().join("worktrees").join(name);
    if known.exists() {
        fs::remove_dir_all(known).with_context(shown)?;
    }
    Ok(())
}

/// Lets us remove what is in folders that a check made read-only. What cannot be changed is met again by the removal.
fn unlock(folder: &Path) {
    let _ = fs::set_permissions(folder, Permissions::from_mode(0o700));
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unlock(&entry.path());
        }
    }
}

/// Removes what calls that crashed left: markers that nobody holds.
fn remove_left(worktree: &Worktree) -> Result<()> {
    for entry in markers(worktree).read_dir().into_iter().flatten() {
        let marker = entry.context("looking for old worktrees")?.path();
        let name = marker.file_name().and_then(|name| name.to_str());
        let Some(name) = name.filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        let Ok(file) = File::open(&marker) else {
            continue;
        };
        if file.try_lock().is_err() {
            continue;
        }
        let known = worktree.common_dir().join("worktrees").join(name);
        if let Ok(text) = fs::read_to_string(known.join("gitdir")) {
            let path = Path::new(text.trim_end()).parent().map(Path::to_owned);
            // Only what has the form of ours: two folders of this name.
            let is_ours = |path: &PathBuf| {
                let outer = path.parent().and_then(Path::file_name);
                path.file_name() == marker.file_name() && outer == marker.file_name()
            };
            if let Some(path) = path.filter(is_ours) {
                remove(worktree, &path)?;
                if let Some(outer) = path.parent() {
                    let _ = fs::remove_dir(outer);
                }
            }
        }
        fs::remove_file(&marker).context("forgetting an old worktree")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::Repo;

    fn words(line: &[&str]) -> Vec<String> {
        line.iter().map(|word| (*word).to_owned()).collect()
    }

    fn command(id: &str, line: CommandLine) -> Command {
        Command {
            ids: vec![id.to_owned()],
            line,
        }
    }

    fn bash(id: &str, text: &str) -> Command {
        command(id, CommandLine::Bash(text.to_owned()))
    }

    fn order<'a>(worktree: &Worktree, commands: &'a [Command]) -> Order<'a> {
        Order {
            commit: worktree.head().unwrap().unwrap(),
            setup: None,
            commands,
            timeout: Duration::from_secs(60),
            wrapper: &[],
            echo: None,
        }
    }

    /// A commit with `a` (one), and a worktree that differs from it in every way.
    fn start() -> (Repo, Worktree) {
        let repo = Repo::new();
        fs::write(repo.root().join("a"), "one\n").unwrap();
        fs::write(repo.root().join(".gitignore"), "built\n").unwrap();
        repo.git(["add", "-A"]);
        repo.git(["commit", "-q", "-m", "start"]);
        for (name, text) in [("a", "two\n"), ("built", "x"), ("untracked", "x")] {
            fs::write(repo.root().join(name), text).unwrap();
        }
        let worktree = repo.worktree();
        (repo, worktree)
    }

    #[track_caller]
    fn nothing_is_left(repo: &Repo, worktree: &Worktree) {
        let listed = repo.git(["worktree", "list", "--porcelain"]);
        let listed = String::from_utf8_lossy(listed.as_ref()).into_owned();
        assert_eq!(listed.matches("worktree ").count(), 1, "{listed}");
        let left = markers(worktree).read_dir().unwrap().count();
        assert_eq!(left, 0);
    }

    #[test]
    fn the_commit_is_tested_and_not_what_the_worker_has() {
        let (repo, worktree) = start();
        let hook = repo.root().join(".git/hooks/post-checkout");
        fs::write(&hook, "#!/bin/sh\ntouch hooked\n").unwrap();
        fs::set_permissions(&hook, Permissions::from_mode(0o755)).unwrap();
        let commands = [
            bash("tree", "git write-tree"),
            bash("files", "ls -A | tr '\\n' ' '"),
            bash("clean", "git status --porcelain --ignored"),
            bash(
                "place",
                "mkdir -p built/deep; touch built/deep/x; chmod 500 built/deep built; pwd -P",
            ),
        ];
        let ran = rerun(&worktree, &order(&worktree, &commands)).unwrap();
        let head = worktree.head().unwrap().unwrap();
        let tree = worktree.tree_of(head).unwrap();
        let said: Vec<&str> = ran.iter().map(|ran| ran.evidence.as_str()).collect();
        assert_eq!(said[0], format!("{tree} (exit 0)"));
        assert_eq!(said[1], ".git .gitignore a (exit 0)");
        assert_eq!(said[2], "no output (exit 0)");
        assert!(
            !said[3].starts_with(repo.root().to_str().unwrap()),
            "{}",
            said[3]
        );
        let place = said[3].trim_end_matches(" (exit 0)");
        assert!(!Path::new(place).exists() && !Path::new(place).parent().unwrap().exists());
        nothing_is_left(&repo, &worktree);
    }

    #[test]
    fn a_command_runs_once_for_all_that_have_it_after_the_setup_and_in_the_sandbox() {
        let (repo, worktree) = start();
        let count = repo.root().join("count");
        let shown = count.display();
        let text = format!("echo $BOXED $(cat made); echo x >> {shown}");
        let commands = [
            bash("one", &text),
            bash("bad", "false | cat"),
            bash("two", &text),
            command("argv", CommandLine::Argv(words(&["cat", "made"]))),
            bash("none", "no-such-program-here"),
        ];
        let (setup, wrapper) = (
            words(&["sh", "-c", "echo ready $BOXED > made"]),
            words(&["env", "BOXED=yes"]),
        );
        let order = Order {
            setup: Some(&setup),
            wrapper: &wrapper,
            ..order(&worktree, &commands)
        };
        let ran = rerun(&worktree, &order).unwrap();
        let told: Vec<(String, &str, i64)> = ran
            .iter()
            .map(|ran| (ran.ids.join(" "), ran.evidence.as_str(), ran.exit))
            .collect();
        let row = |ids: &str, evidence, exit| (ids.to_owned(), evidence, exit);
        assert_eq!(
            told[..3],
            [
                row("one two", "yes ready yes (exit 0)", 0),
                row("bad", "no output (exit 1)", 1),
                row("argv", "ready yes (exit 0)", 0),
            ]
        );
        assert_eq!(told[3].2, NOT_FOUND);
        assert_eq!(ran[1].status, Status::Failed);
        assert_eq!(fs::read_to_string(count).unwrap(), "x\n");
        nothing_is_left(&repo, &worktree);
    }

    #[test]
    fn a_setup_that_fails_is_named_and_no_command_runs() {
        let (repo, worktree) = start();
        let marks = repo.root().join("ran");
        let commands = [bash("x", &format!("touch {}", marks.display()))];
        let setup = words(&["sh", "-c", "echo no network; exit 6"]);
        let order = Order {
            setup: Some(&setup),
            ..order(&worktree, &commands)
        };
        let error = rerun(&worktree, &order).unwrap_err();
        let refusal = error.downcast::<Refusal>().unwrap();
        let start = format!(
            "dispatch.setup failed in a fresh worktree of {}: ",
            order.commit.to_hex_with_len(12)
        );
        assert!(refusal.cause.starts_with(&start), "{}", refusal.cause);
        assert!(
            refusal.cause.ends_with(": no network (exit 6)"),
            "{}",
            refusal.cause
        );
        assert_eq!(refusal.exit, Exit::Person);
        assert!(!marks.exists());
        nothing_is_left(&repo, &worktree);
    }

    #[test]
    fn what_a_crash_left_is_removed_and_what_is_held_or_of_the_users_is_not() {
        let (repo, worktree) = start();
        let temp = tempfile::tempdir().unwrap();
        let temp = temp.path().canonicalize().unwrap();
        fs::create_dir_all(markers(&worktree)).unwrap();
        let leave = |name: &str, path: &Path| {
            let path_text = path.to_str().unwrap();
            repo.git(["worktree", "add", "-q", "--detach", path_text]);
            let marker = markers(&worktree).join(name);
            File::create(&marker).unwrap();
            marker
        };
        let of = |name: &str| temp.join(name).join(name);
        let (left, held) = ("arkaint-rerun-1-left", "arkaint-rerun-1-held");
        leave(left, &of(left));
        let marker = leave(held, &of(held));
        let lock = File::open(&marker).unwrap();
        lock.lock().unwrap();
        // A marker that somebody gave the name of a worktree of the user's.
        let theirs = "arkaint-rerun-theirs";
        leave(theirs, &temp.join("theirs").join(theirs));
        rerun(&worktree, &order(&worktree, &[])).unwrap();
        assert!(!of(left).exists() && !temp.join(left).exists());
        assert!(of(held).join("a").exists() && marker.exists());
        assert!(temp.join("theirs").join(theirs).join("a").exists());
        // Not by closing it: a child that another test is about to start may hold the same open file for a moment.
        lock.unlock().unwrap();
        repo.git([
            "worktree",
            "remove",
            "--force",
            temp.join("theirs").join(theirs).to_str().unwrap(),
        ]);
        rerun(&worktree, &order(&worktree, &[])).unwrap();
        nothing_is_left(&repo, &worktree);
    }
}
