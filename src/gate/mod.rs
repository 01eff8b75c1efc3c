//! May we start at all? Every refusal is decided here before any side effect: a rejected call has changed no byte. What passes is a
//! [`Pass`], and every function with a side effect asks for one. Nothing is written here but the lock file, last.

pub(crate) mod anywhere;
mod lock;
pub(crate) mod task;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cli;
use crate::config::{self, Config, Flags, Sources};
use crate::exit::Refusal;
use crate::git::{self, Oid, Worktree};
use crate::journal;
use crate::text;

pub(crate) use lock::Lock;

/// What a command needs before it may start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    /// Where it was started (`-C`).
    pub dir: Option<&'a Path>,
    /// Overrides from flags.
    pub launch: Option<&'a cli::Launch>,
    /// The words of the task and the profile, for a command that has a task.
    pub task: Option<&'a cli::Task>,
    /// The branch rule.
    pub branch: Branch<'a>,
    /// An agent will be launched: it must be found.
    pub agent: bool,
}

/// Which branch a command may run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Branch<'a> {
    /// HEAD's branch must match the isolated patterns.
    Isolated,
    /// This new branch will be made from HEAD; its name must match.
    Make(&'a str),
}

/// Proof that worktree, branch, profile, configuration and lock were accepted.
#[derive(Debug)]
pub(crate) struct Pass {
    pub worktree: Worktree,
    pub config: Config,
    /// The task; empty for a command that has none.
    pub task: String,
    /// The profile's name.
    pub profile: String,
    /// The commit at HEAD when the command started.
    pub head: Oid,
    /// Short name of the branch to work on.
    pub branch: String,
    /// The operator allowed edits of protected paths, in their own environment, when the command started.
    pub infra_edits: bool,
    _lock: Lock,
}

impl Pass {
    /// Full name of the branch's ref.
    pub(crate) fn branch_ref(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// The profile itself.
    pub(crate) fn profile(&self) -> &config::Profile {
        self.config.active_profile()
    }
}

/// Checks everything, cheapest first, then takes the lock.
///
/// # Errors
/// A [`Refusal`]: exit 2, or 4 when another run holds the lock.
pub(crate) fn enter(ask: Ask<'_>) -> Result<Pass> {
    refuse_nested()?;
    let worktree = open(ask.dir)?;
    let branch = branch(&worktree, ask)?;
    let Some(head) = worktree.head()? else {
        return Err(Refusal::new(
            "this branch has no commit yet",
            "git add -A && git commit -m 'start'",
        )
        .into());
    };
    let config = config_as_committed(
        &worktree,
        head,
        ask.launch,
        ask.task.and_then(task::profile),
    )?;
    if !config::isolated_match(&config.branches.isolated, &branch) {
        return Err(wrong_branch(&branch, &config.branches.isolated));
    }
    let profile = config.profile.clone();
    settled(&worktree)?;
    if ask.agent {
        agent_is_there(&config)?;
    }
    identity(&worktree)?;
    if let Branch::Make(name) = ask.branch {
        branch_is_free(&worktree, name)?;
    }
    let task = match ask.task {
        Some(words) => {
            let task = task::settle(&worktree, &branch, task::given(words, &config)?)?;
            no_other_task(&worktree, &branch, &task)?;
            task
        }
        None => String::new(),
    };
    let lock = Lock::take(&worktree)?;
    let infra_edits = std::env::var_os("ARKAINT_ALLOW_INFRA_EDIT").is_some_and(|v| v == "1");
    Ok(Pass {
        worktree,
        config,
        task,
        profile,
        head,
        branch,
        infra_edits,
        _lock: lock,
    })
}

/// The worktree that a command works on: not bare, not the home folder, not `/`.
pub(crate) fn open(dir: Option<&Path>) -> Result<Worktree> {
    let dir = match dir {
        Some(dir) => dir.to_owned(),
        None => std::env::current_dir().context("asking for the current folder")?,
    };
    let worktree = Worktree::called_for(&dir)?;
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .and_then(|home| home.canonicalize().ok());
    if worktree.root() == Path::new("/") || home.as_deref() == Some(worktree.root()) {
        return Err(Refusal::new(
            format!(
                "{} is a home or root folder: a rollback there would touch everything",
                worktree.root().display()
            ),
            "use a repository of its own: git clone or git init in a folder below",
        )
        .into());
    }
    Ok(worktree)
}

/// The configuration of a call that takes no lock: as committed at HEAD where that is there, else the defaults.
pub(crate) fn config_for_reading(worktree: &Worktree, profile: Option<&str>) -> Result<Config> {
    let text = match worktree.head()? {
        Some(head) => worktree.blob_at(head, config::FILE)?,
        None => None,
    };
    Ok(load(worktree, text.as_deref(), None, profile)?.config)
}

/// An agent must not speak for a person, nor start another.
pub(crate) fn refuse_nested() -> Result<()> {
    match std::env::var("ARKAINT_RUN") {
        Ok(run) if !run.is_empty() => Err(Refusal::new(
            format!("already inside run {run}: an agent must not start another"),
            "git arkaint status, log, explain, packet and verify work inside a run",
        )
        .into()),
        _ => Ok(()),
    }
}

/// The branch to work on. The cheap half of the branch rule: with the file on disk alone, before any object is read. What passes here is
/// checked again with the configuration as committed.
fn branch(worktree: &Worktree, ask: Ask<'_>) -> Result<String> {
    let on_disk = std::fs::read_to_string(worktree.root().join(config::FILE)).ok();
    let sources = Sources {
        file: on_disk.as_deref(),
        ..Sources::default()
    };
    // A file that cannot be read is refused with its line further down, from what is committed.
    let isolated = config::load(&sources).map_or_else(
        |_| Config::default().branches.isolated,
        |l| l.config.branches.isolated,
    );
    let branch = match ask.branch {
        Branch::Make(name) => name.to_owned(),
        Branch::Isolated => {
            let Some(branch) = worktree.branch()? else {
                // A rebase or bisect detaches HEAD itself, and its own end brings the branch back.
                nothing_under_way(worktree)?;
                return Err(Refusal::new(
                    "HEAD is detached: there is no branch to work on",
                    "git switch -c arkaint/SLUG",
                )
                .into());
            };
            branch
        }
    };
    if !config::isolated_match(&isolated, &branch) {
        return Err(wrong_branch(&branch, &isolated));
    }
    Ok(branch)
}

fn wrong_branch(branch: &str, isolated: &[String]) -> anyhow::Error {
    let example = isolated
        .first()
        .map_or("arkaint/SLUG".to_owned(), |pattern| {
            pattern.replace('*', "SLUG")
        });
    Refusal::new(
        format!(
            "branch {branch} is not one for agents ({})",
            isolated.join(", ")
        ),
        format!("git switch -c {example} (uncommitted changes come along)"),
    )
    .into()
}

/// The configuration of a call that launches something: as committed, and the same on disk.
pub(crate) fn config_as_committed(
    worktree: &Worktree,
    head: Oid,
    launch: Option<&cli::Launch>,
    profile: Option<&str>,
) -> Result<Config> {
    let on_disk = std::fs::read(worktree.root().join(config::FILE)).ok();
    let commit = format!(
        "ARKAINT_ALLOW_INFRA_EDIT=1 git commit -m 'arkaint: configure' -- {}",
        config::FILE
    );
    let committed = worktree.blob_at(head, config::FILE)?;
    match (&on_disk, &committed) {
        (None, None) => {
            Err(Refusal::new(format!("there is no {}", config::FILE), "git arkaint init").into())
        }
        (Some(_), None) => Err(Refusal::new(
            format!("{} is not committed", config::FILE),
            format!("git add {} && {commit}", config::FILE),
        )
        .into()),
        (None, Some(_)) => Err(Refusal::new(
            format!("{} is committed but gone from disk", config::FILE),
            format!(
                "git restore --source=HEAD --staged --worktree -- {}",
                config::FILE
            ),
        )
        .into()),
        (Some(disk), Some(head)) if lines(disk) != lines(head) => Err(Refusal::new(
            format!(
                "{} differs from HEAD: what guards the agent must be committed",
                config::FILE
            ),
            commit,
        )
        .hint(format!(
            "or take the committed one: git restore --source=HEAD --staged --worktree -- {}",
            config::FILE
        ))
        .into()),
        (_, Some(head)) => Ok(load(worktree, Some(head), launch, profile)?.config),
    }
}

/// Lines without their ends: a checkout may have turned LF into CRLF.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes
        .split(|b| *b == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .collect()
}

/// Reads all sources of configuration.
pub(crate) fn load(
    worktree: &Worktree,
    file: Option<&[u8]>,
    launch: Option<&cli::Launch>,
    profile: Option<&str>,
) -> Result<config::Loaded> {
    let flags = Flags {
        agent: launch.and_then(|l| l.agent.clone()),
        provider: launch.and_then(|l| l.provider.clone()),
        model: launch.and_then(|l| l.model.clone()),
        profile: profile.map(str::to_owned),
    };
    let sources = Sources {
        file: file.map(config::text_of).transpose()?,
        git_config: worktree.settings("arkaint")?,
        env: config::environment(),
        flags,
    };
    Ok(config::load(&sources)?)
}

/// Work of another task that was interrupted here is neither overwritten nor mixed.
fn no_other_task(worktree: &Worktree, branch: &str, task: &str) -> Result<()> {
    match journal::open_task(worktree) {
        Some(open) if open.task != task || open.branch != branch => Err(Refusal::new(
            format!("a cycle on another task was interrupted here: {}", text::ellipsis(&text::visible_line(&open.task), 80)),
            "go on with it: git arkaint cycle with that task; put it away: git arkaint rollback; keep it: git arkaint checkpoint",
        )
        .into()),
        _ => Ok(()),
    }
}

/// No merge and the like is under way, and no conflict is open.
pub(crate) fn settled(worktree: &Worktree) -> Result<()> {
    nothing_under_way(worktree)?;
    no_unmerged_paths(worktree)
}

fn nothing_under_way(worktree: &Worktree) -> Result<()> {
    const STATES: [(&str, &str, &str); 7] = [
        (
            "MERGE_HEAD",
            "a merge",
            "git merge --continue, or git merge --abort",
        ),
        (
            "rebase-merge",
            "a rebase",
            "git rebase --continue, or git rebase --abort",
        ),
        (
            "rebase-apply",
            "a rebase or am",
            "git rebase --continue or --abort (git am --continue or --abort)",
        ),
        (
            "CHERRY_PICK_HEAD",
            "a cherry-pick",
            "git cherry-pick --continue, or git cherry-pick --abort",
        ),
        (
            "REVERT_HEAD",
            "a revert",
            "git revert --continue, or git revert --abort",
        ),
        (
            "sequencer",
            "a sequence of picks",
            "git cherry-pick --continue, or git cherry-pick --quit",
        ),
        ("BISECT_LOG", "a bisect", "git bisect reset"),
    ];
    match STATES
        .iter()
        .find(|(file, ..)| worktree.git_dir().join(file).symlink_metadata().is_ok())
    {
        Some((_, what, hint)) => Err(Refusal::new(format!("{what} is under way"), *hint).into()),
        None => Ok(()),
    }
}

fn no_unmerged_paths(worktree: &Worktree) -> Result<()> {
    let unmerged = worktree.unmerged_paths()?;
    match unmerged.first() {
        Some(path) => Err(Refusal::new(
            format!("{} unmerged paths, the first is {path}", unmerged.len()),
            "resolve them, then git add PATH; or git restore --merge PATH",
        )
        .into()),
        None => Ok(()),
    }
}

pub(crate) fn agent_is_there(config: &Config) -> Result<()> {
    let program = crate::agent::launch::program(&config.agent)?;
    if which::which(&program).is_ok() {
        return Ok(());
    }
    Err(Refusal::new(
        format!("the agent {program} is not on PATH"),
        "install it, or choose another: git arkaint cycle --agent NAME, [agent] in arkaint.toml",
    )
    .into())
}

/// Somebody must be there to speak.
pub(crate) fn identity(worktree: &Worktree) -> Result<()> {
    if worktree.has_identity()? {
        return Ok(());
    }
    Err(Refusal::new(
        "git does not know who commits here",
        "git config user.name 'YOUR NAME' && git config user.email YOU@EXAMPLE.ORG",
    )
    .into())
}

pub(crate) fn branch_is_free(worktree: &Worktree, name: &str) -> Result<()> {
    if !worktree
        .git()
        .call(["check-ref-format", "--branch", name])
        .succeeds()?
    {
        return Err(Refusal::new(
            format!("{name} is no branch name"),
            "git arkaint cycle --branch arkaint/SLUG",
        )
        .into());
    }
    if git::find_ref(worktree.repo()?, &format!("refs/heads/{name}"))?.is_some() {
        return Err(Refusal::new(
            format!("branch {name} exists already"),
            format!(
                "git switch {}, or choose another name",
                shell_words::quote(name)
            ),
        )
        .into());
    }
    Ok(())
}
