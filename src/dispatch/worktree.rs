//! Where a dispatch works: a linked worktree beside the repository, made by the user's own git, and a branch that is there only once the worktree is
//! usable. What is removed again is removed by git without force, so that no work goes with it.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::config::{self, CommandLine, Config, isolated_match};
use crate::exit::{Exit, Refusal};
use crate::gate;
use crate::git::{Oid, Worktree};
use crate::judge::check::{self, Check, CheckKind};
use crate::text;
use crate::ui::{Tone, Ui};

/// The longest name made from a task, bytes.
const LONGEST: usize = 40;
/// Names tried for one task.
const TRIES: u32 = 1000;
/// Lines of a failed setup's output that are shown.
const TAIL: usize = 20;

/// What a dispatch's worktree and branch are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The last part of both.
    pub slug: String,
    pub path: PathBuf,
    /// Short.
    pub branch: String,
}

/// The folder of all dispatched worktrees: `NAME.arkaint` beside the main worktree `NAME`. Not inside `.git`, where editors, watchers and
/// build tools look away or refuse to work, and not inside the worktree, where they would look twice.
pub(crate) fn folder(worktree: &Worktree) -> Result<PathBuf> {
    let main = if worktree.git_dir() == worktree.common_dir() {
        worktree.root().to_owned()
    } else {
        let listed = worktree
            .git()
            .call(["worktree", "list", "--porcelain", "-z"])
            .bytes()?;
        let first = listed.split(|b| *b == 0).next().unwrap_or_default();
        let path = first
            .strip_prefix(b"worktree ")
            .context("reading the list of worktrees")?;
        PathBuf::from(OsStr::from_bytes(path))
    };
    let mut name = main
        .file_name()
        .with_context(|| format!("{} has no name", main.display()))?
        .to_owned();
    name.push(".arkaint");
    Ok(main.with_file_name(name))
}

/// Names for `task` that are free now; `branch` where a person chose it. Nothing is made.
///
/// # Errors
/// A [`Refusal`] where no name of the task's can be an agent's branch.
pub(crate) fn choose(
    worktree: &Worktree,
    config: &Config,
    task: &str,
    branch: Option<&str>,
) -> Result<Place> {
    let folder = folder(worktree)?;
    let slug = slug(branch.map_or(task, |name| name.rsplit('/').next().unwrap_or(name)));
    for number in 1..=TRIES {
        let slug = if number == 1 {
            slug.clone()
        } else {
            format!("{slug}-{number}")
        };
        let path = folder.join(&slug);
        let name = match branch {
            Some(name) => name.to_owned(),
            None => branch_for(config, &slug)?,
        };
        let taken = branch.is_none() && worktree.branch_tip(&name)?.is_some();
        if !taken && path.symlink_metadata().is_err() {
            return Ok(Place {
                slug,
                path,
                branch: name,
            });
        }
    }
    bail!("no free name for {slug} in {}", folder.display())
}

fn branch_for(config: &Config, slug: &str) -> Result<String> {
    let isolated = &config.branches.isolated;
    let first = isolated.first().map_or("arkaint/*", String::as_str);
    let name = first.replacen('*', slug, 1);
    if isolated_match(isolated, &name) && !name.contains(['*', '?', '[', '{', '\\']) {
        return Ok(name);
    }
    let cause = format!("no branch name can be made from the pattern {first}");
    Err(Refusal::new(cause, "git arkaint dispatch --branch NAME TASK").into())
}

/// [`choose`], and the folder is made, which nobody else can then choose.
pub(crate) fn reserve(
    worktree: &Worktree,
    config: &Config,
    task: &str,
    branch: Option<&str>,
) -> Result<Place> {
    loop {
        let place = choose(worktree, config, task, branch)?;
        let above = place.path.parent().context("a worktree has a folder")?;
        let made = std::fs::create_dir_all(above).and_then(|()| std::fs::create_dir(&place.path));
        match made {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => {
                made.with_context(|| format!("making {}", place.path.display()))?;
                return Ok(place);
            }
        }
    }
}

/// Makes the worktree at `base`, on no branch yet.
pub(crate) fn add(worktree: &Worktree, path: &Path, base: Oid) -> Result<Worktree> {
    let call = worktree
        .git()
        .call(["worktree", "add", "--quiet", "--detach"]);
    call.arg(path).arg(base.to_string()).run()?;
    Worktree::discover(path)
}

/// Makes the new branch in it; its log says where it was cut from, as git itself would.
pub(crate) fn branch_off(there: &Worktree, branch: &str, base: Oid, from: &str) -> Result<()> {
    let zeros = "0".repeat(base.to_string().len());
    there
        .git()
        .call(["update-ref", "--create-reflog", "-m"])
        .arg(format!("branch: Created from {from}"))
        .args([format!("refs/heads/{branch}"), base.to_string(), zeros])
        .run()
        .with_context(|| format!("making branch {branch}"))?;
    there.git().call(["switch", "--quiet", branch]).run()
}

/// Runs `dispatch.setup` there, as long as tests may take, and says how it went.
///
/// # Errors
/// A [`Refusal`] (exit 3) with its last lines shown, when it fails.
pub(crate) fn set_up(there: &Worktree, config: &Config, ui: &Ui) -> Result<Option<String>> {
    let Some(argv) = &config.dispatch.setup else {
        return Ok(None);
    };
    let shown = text::visible_line(&argv.join(" "));
    ui.say(Tone::Dim, format!("setup: {shown}"));
    let run = check::run_check(
        &Check {
            kind: CheckKind::Setup,
            command: &CommandLine::Argv(argv.clone()),
            dir: there.root(),
            env_extra: &[],
            // The operator's own words on what the operator committed; a sandbox without a network could not install anything.
            wrapper: &[],
            timeout: config.checkpoint.timeout,
            log: None,
            echo: None,
        },
        &mut |_| Ok(()),
    )?;
    if run.passed {
        return Ok(Some(run.how));
    }
    let tail = run.tail(TAIL);
    if !tail.is_empty() {
        ui.say(Tone::Plain, &tail);
    }
    let exit = match run.interrupted {
        Some(signal) => Exit::Interrupted(u8::try_from(signal).unwrap_or(2)),
        None => Exit::Person,
    };
    let cause = format!("setup failed ({}): {shown}", run.how);
    let hint = format!("mend [dispatch] setup in {} and commit it", config::FILE);
    Err(Refusal::with_exit(exit, cause, hint).into())
}

/// Takes a worktree away in which no work was done. `false`: it is kept, because git will not remove it without force, or because something was
/// committed in it.
pub(crate) fn remove(worktree: &Worktree, path: &Path, base: Oid) -> Result<bool> {
    if let Ok(there) = Worktree::discover(path)
        && there.root() == path
    {
        if there.head()? != Some(base) || there.branch()?.is_some() {
            return Ok(false);
        }
        let call = worktree.git().call(["worktree", "remove", "--"]);
        if !call.arg(path).succeeds()? {
            return Ok(false);
        }
    }
    // What is left of one that was never made; a folder with something in it stays.
    let _ = std::fs::remove_dir(path);
    if let Some(above) = path.parent() {
        let _ = std::fs::remove_dir(above);
    }
    Ok(path.symlink_metadata().is_err())
}

/// Paths on disk that are not as `HEAD` has them: a new worktree does not get them.
pub(crate) fn left_behind(worktree: &Worktree) -> Result<Vec<String>> {
    let call = worktree
        .git()
        .call(["status", "--porcelain", "-z", "--no-renames"]);
    let listed = call.env("GIT_OPTIONAL_LOCKS", "0").bytes()?;
    let entries = listed.split(|b| *b == 0).filter(|entry| entry.len() > 3);
    Ok(entries
        .map(|entry| String::from_utf8_lossy(&entry[3..]).into_owned())
        .collect())
}

/// Is the folder of the evidence files tracked in `base`? What is tracked is no proof of the work.
pub(crate) fn tracks_evidence(worktree: &Worktree, base: Oid) -> Result<bool> {
    let call = worktree
        .git()
        .call(["ls-tree", "--full-tree", "--name-only"]);
    let listed = call.args([&base.to_string(), "--", ".ak-loop"]).bytes()?;
    Ok(!listed.is_empty())
}

/// Is this the name of a branch that agents may work on, and free?
pub(crate) fn may_be_made(worktree: &Worktree, config: &Config, branch: &str) -> Result<()> {
    if !isolated_match(&config.branches.isolated, branch) {
        let patterns = config.branches.isolated.join(", ");
        let cause = format!("branch {branch} is not one for agents ({patterns})");
        return Err(Refusal::new(cause, "git arkaint dispatch --branch arkaint/SLUG TASK").into());
    }
    gate::branch_is_free(worktree, branch)
}

/// The first words of the first line, in ASCII: `fix-the-date-parser`.
fn slug(task: &str) -> String {
    let line = task.trim().lines().next().unwrap_or_default();
    let mut slug = String::new();
    let words = line
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    for word in words {
        let room = LONGEST - slug.len();
        if slug.is_empty() {
            slug.push_str(&word[..word.len().min(room)]);
        } else if word.len() < room {
            slug.push('-');
            slug.push_str(word);
        } else {
            break;
        }
    }
    if slug.is_empty() {
        let key = super::lease::key(task);
        return format!("task-{}", &key[..7]);
    }
    slug.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::fixture::Repo;

    #[test]
    fn a_name_is_made_of_the_first_words_and_cut_between_them() {
        assert_eq!(slug("Fix: the *date* parser!\nmore"), "fix-the-date-parser");
        assert_eq!(
            slug("make every single check of the date parser pass again"),
            "make-every-single-check-of-the-date"
        );
        assert_eq!(slug(&"x".repeat(100)), "x".repeat(40));
        assert_eq!(slug("größer"), "gr-er");
        assert!(slug("修复").starts_with("task-") && slug("修复") != slug("修"));
        assert_eq!(slug("../../.git"), "git");
    }

    #[test]
    fn a_name_that_is_taken_as_a_branch_or_a_folder_gets_a_number() {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "start"]);
        let (worktree, config) = (repo.worktree(), Config::default());
        let one = reserve(&worktree, &config, "do it", None).unwrap();
        let expected = repo.root().with_file_name("repo.arkaint").join("do-it");
        assert_eq!((one.path, one.branch.as_str()), (expected, "arkaint/do-it"));
        repo.git(["branch", "arkaint/do-it-2"]);
        let two = reserve(&worktree, &config, "do it", None).unwrap();
        assert_eq!(
            (two.slug.as_str(), two.branch.as_str()),
            ("do-it-3", "arkaint/do-it-3")
        );
        let own = choose(&worktree, &config, "other", Some("arkaint/do-it")).unwrap();
        assert_eq!(
            (own.slug.as_str(), own.branch.as_str()),
            ("do-it-2", "arkaint/do-it")
        );
        let mut config = config;
        config.branches.isolated = vec!["agent-[0-9]*".to_owned()];
        assert!(choose(&worktree, &config, "do it", None).is_err());
    }

    #[test]
    fn only_a_worktree_without_work_is_removed() {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "start"]);
        let worktree = repo.worktree();
        let base = worktree.head().unwrap().unwrap();
        let fresh = |name: &str| {
            let path = repo.root().with_file_name("repo.arkaint").join(name);
            let there = add(&worktree, &path, base).unwrap();
            (path, there)
        };
        let (clean, _) = fresh("clean");
        let (dirty, _) = fresh("dirty");
        std::fs::write(dirty.join("new.txt"), "work").unwrap();
        let (ahead, there) = fresh("ahead");
        there
            .git()
            .call(["commit", "-q", "--allow-empty", "-m", "work"])
            .run()
            .unwrap();
        let (owned, there) = fresh("owned");
        branch_off(&there, "arkaint/x", base, "main").unwrap();
        assert_eq!(
            there.cut_from("arkaint/x").unwrap().as_deref(),
            Some("main")
        );
        assert!(
            branch_off(&there, "arkaint/x", base, "main").is_err(),
            "it is there"
        );
        assert!(remove(&worktree, &clean, base).unwrap() && !clean.exists());
        for path in [dirty, ahead, owned] {
            assert!(!remove(&worktree, &path, base).unwrap() && path.exists());
        }
        // One that was reserved and never made.
        let left = repo.root().with_file_name("repo.arkaint").join("left");
        std::fs::create_dir(&left).unwrap();
        assert!(remove(&worktree, &left, base).unwrap() && !left.exists());
    }
}
