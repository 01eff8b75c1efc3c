//! Puts the shims where git looks for hooks, and keeps what was there. It writes only in the git directory.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::chain::is_executable;
use super::folder::{Folder, Standing};
use super::receipt::Receipt;
use super::shim::{self, Name, Owner};
use super::status;
use crate::exit::Exit;
use crate::git::{Worktree, state};

/// What an installation did or could not do, a line each for a person.
#[derive(Debug)]
pub(crate) struct Report {
    pub lines: Vec<String>,
    /// Would git run every guard now (after a dry run: would it, if this were done)?
    pub active: bool,
    /// `Done`; `Refused` when nothing was changed because something stands in the way; `CheckFailed` when something had to stay.
    pub exit: Exit,
}

/// What is to be done for one hook.
enum Step {
    /// Git runs the guard already; how.
    Keep(String),
    Write,
    /// An earlier version stands in this file, where another tool moved it and runs it.
    Renew(String),
    /// Keep what is there beside the shim and run it first.
    Chain,
    /// The same hook is kept already, by an earlier installation: another tool wrote itself over the shim since.
    Replace,
}

/// Installs the guards; safe to run again. Either every hook can be installed, or nothing is changed.
pub(crate) fn install(worktree: &Worktree, dry_run: bool) -> Result<Report> {
    let folder = Folder::of(worktree)?;
    if folder.standing != Standing::Own {
        return Ok(foreign(worktree, &folder));
    }
    let mut steps = Vec::new();
    let mut blocked = Vec::new();
    for name in Name::ALL {
        match step(&folder, name) {
            Ok(step) => steps.push((name, step)),
            Err(why) => blocked.push(why),
        }
    }
    if !blocked.is_empty() {
        blocked.push("nothing was changed".to_owned());
        return Ok(Report {
            lines: blocked,
            active: false,
            exit: Exit::Refused,
        });
    }

    let mut lines: Vec<_> = steps
        .iter()
        .map(|(name, step)| line(*name, step, dry_run))
        .collect();
    let bin = (!has_usable_bin(worktree)?).then(own_path).transpose()?;
    if let Some(bin) = &bin {
        let done = if dry_run { "would be set to" } else { "=" };
        lines.push(format!(
            "arkaint.bin {done} {} (where the hooks find the program)",
            bin.display()
        ));
    }
    if dry_run {
        return Ok(Report {
            lines,
            active: true,
            exit: Exit::Done,
        });
    }

    note(worktree, &folder, bin.as_deref())?;
    if let Some(bin) = &bin {
        worktree
            .git()
            .call(["config", "--local", "arkaint.bin"])
            .arg(bin)
            .run()
            .context("writing arkaint.bin")?;
    }
    for (name, step) in &steps {
        carry_out(&folder.path, *name, step)
            .with_context(|| format!("installing {}", name.as_str()))?;
    }
    let active = status::guards_run(worktree)?;
    if !active {
        lines.insert(
            0,
            "installed, but git would not run every guard: git arkaint hooks status says why"
                .to_owned(),
        );
    }
    Ok(Report {
        lines,
        active,
        exit: if active {
            Exit::Done
        } else {
            Exit::CheckFailed
        },
    })
}

/// The folder is not ours: says whether the guards run there all the same, and what a person would add.
fn foreign(worktree: &Worktree, folder: &Folder) -> Report {
    if Name::ALL.into_iter().all(|name| folder.calls_guard(name)) {
        let lines = vec![format!(
            "the hooks in {} call the guards already",
            folder.path.display()
        )];
        return Report {
            lines,
            active: true,
            exit: Exit::Done,
        };
    }
    let whose = match &folder.standing {
        Standing::Unusable(why) => format!("{why} ({})", folder.why_here()),
        Standing::Project => format!(
            "hooks are in {}, which belongs to the project ({})",
            folder.path.display(),
            folder.why_here()
        ),
        _ => format!(
            "hooks are in {}, outside this repository ({})",
            folder.path.display(),
            folder.why_here()
        ),
    };
    let mut lines = vec![format!("{whose}: nothing was changed")];
    lines.extend(folder.choices(worktree.root()));
    Report {
        lines,
        active: false,
        exit: Exit::Refused,
    }
}

fn step(folder: &Folder, name: Name) -> Result<Step, String> {
    let slot = folder.path.join(name.as_str());
    let kept = folder.path.join(name.kept_as());
    let shown = slot.display();
    let legacy = status::runs_legacy(&folder.path, name);
    match shim::owner(name, &slot) {
        Owner::Ours(shim::VERSION) if is_executable(&slot) => {
            Ok(Step::Keep("already installed".to_owned()))
        }
        Owner::Nobody | Owner::Ours(_) => Ok(Step::Write),
        Owner::Edited => Err(format!(
            "{shown} is Arkaint's hook, edited by hand: move your lines to a hook of your own, remove it, and install again"
        )),
        Owner::Other if legacy == Some(shim::VERSION) => Ok(Step::Keep(format!(
            "already installed ({}.legacy, run by {})",
            name.as_str(),
            name.as_str()
        ))),
        Owner::Other if legacy.is_some() => Ok(Step::Renew(format!("{}.legacy", name.as_str()))),
        Owner::Other if folder.calls_guard(name) => Ok(Step::Keep(
            "the hook that is there calls the guard already".to_owned(),
        )),
        Owner::Other if slot.is_dir() => Err(format!(
            "{shown} is a folder: git cannot run it, so move it away and install again"
        )),
        Owner::Other if kept.symlink_metadata().is_err() => Ok(Step::Chain),
        Owner::Other if is_same(&slot, &kept) => Ok(Step::Replace),
        Owner::Other => Err(format!(
            "{shown} would be kept as {}, but another hook is there: look at both, remove one, and install again",
            name.kept_as()
        )),
    }
}

fn line(name: Name, step: &Step, dry_run: bool) -> String {
    let installed = if dry_run {
        "would be installed"
    } else {
        "installed"
    };
    match step {
        Step::Keep(how) => format!("{}: {how}", name.as_str()),
        Step::Write => format!("{}: {installed}", name.as_str()),
        Step::Renew(place) => format!(
            "{}: {installed} ({place}, run by {})",
            name.as_str(),
            name.as_str()
        ),
        Step::Chain | Step::Replace => format!(
            "{}: {installed}; the hook that was there runs first ({})",
            name.as_str(),
            name.kept_as()
        ),
    }
}

/// Notes what the installation is about to do, so that a killed one can be undone too. What an earlier one noted stands.
fn note(worktree: &Worktree, folder: &Folder, bin: Option<&Path>) -> Result<()> {
    let made_folder = !folder.path.exists();
    let mut receipt = match Receipt::read(worktree.common_dir()) {
        Some(earlier) => earlier,
        None => Receipt::new(heads(worktree)?),
    };
    receipt.bin = bin.map(Path::to_path_buf).or(receipt.bin);
    receipt.made_folder |= made_folder;
    receipt.write(worktree.common_dir())?;
    fs::create_dir_all(&folder.path).with_context(|| format!("making {}", folder.path.display()))
}

/// What HEAD and the branches point to now.
fn heads(worktree: &Worktree) -> Result<Vec<String>> {
    let git = worktree.git();
    let branches = git
        .call(["for-each-ref", "--format=%(objectname)", "refs/heads"])
        .text()?;
    let mut heads: Vec<_> = branches.lines().map(str::to_owned).collect();
    // It has none before the first commit, and another when it is detached.
    heads.extend(git.call(["rev-parse", "-q", "--verify", "HEAD"]).text());
    heads.sort_unstable();
    heads.dedup();
    Ok(heads)
}

fn carry_out(folder: &Path, name: Name, step: &Step) -> Result<()> {
    let slot = folder.join(match step {
        Step::Renew(place) => place,
        _ => name.as_str(),
    });
    match step {
        Step::Keep(_) => return Ok(()),
        Step::Write | Step::Replace | Step::Renew(_) => {}
        Step::Chain => {
            // A second name first, so that at no instant is there no hook; where links cannot be made, a move does.
            let kept = folder.join(name.kept_as());
            fs::hard_link(&slot, &kept)
                .or_else(|_| fs::rename(&slot, &kept))
                .with_context(|| format!("keeping {}", slot.display()))?;
        }
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)
        .with_context(|| format!("writing in {}", folder.display()))?;
    file.write_all(name.shim())
        .with_context(|| format!("writing {}", slot.display()))?;
    file.as_file()
        .set_permissions(Permissions::from_mode(0o755))
        .with_context(|| format!("making {} executable", slot.display()))?;
    file.persist(&slot)
        .with_context(|| format!("writing {}", slot.display()))?;
    // lefthook moved an earlier shim here, and would stumble over it when it next writes itself.
    let moved = folder.join(format!("{}.old", name.as_str()));
    if is_our_file(name, &moved) {
        fs::remove_file(&moved).with_context(|| format!("removing {}", moved.display()))?;
    }
    Ok(())
}

/// What [`put_back`] did.
#[derive(Debug, Default)]
pub(super) struct PutBack {
    pub names: Vec<Name>,
    /// Hooks that ran first and no longer do: where they are now.
    pub aside: Vec<PathBuf>,
}

/// Puts the shims back that a chained hook has just moved to `.old`: lefthook does so whenever its configuration names another hook, and git
/// would never call the guards again. `running` is the hook that did it. What it left in a place runs first from then on.
pub(super) fn put_back(folder: &Path, running: Name) -> Result<PutBack> {
    let mut done = PutBack::default();
    for name in Name::ALL {
        let slot = folder.join(name.as_str());
        let kept = folder.join(name.kept_as());
        let moved = is_our_file(name, &folder.join(format!("{}.old", name.as_str())));
        if !moved || shim::owner(name, &slot) != Owner::Other {
            continue;
        }
        let step = if kept.symlink_metadata().is_err() {
            Step::Chain
        } else if is_same(&slot, &kept) {
            Step::Replace
        } else if name == running {
            // The tool wrote itself anew, so that this one takes the place of the one that ran.
            if is_lefthooks(name, &kept) {
                fs::remove_file(&kept).with_context(|| format!("removing {}", kept.display()))?;
            } else {
                let aside = state::free_name(folder, &format!("{}.before", name.as_str()));
                fs::rename(&kept, &aside).with_context(|| format!("moving {}", kept.display()))?;
                done.aside.push(aside);
            }
            Step::Chain
        } else {
            continue;
        };
        carry_out(folder, name, &step)
            .with_context(|| format!("putting {} back", name.as_str()))?;
        done.names.push(name);
    }
    Ok(done)
}

/// Is this file the text that lefthook writes (its `internal/templates/hook.tmpl`), with nothing after it? It writes it over itself too.
fn is_lefthooks(name: Name, path: &Path) -> bool {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let last = format!("call_lefthook run \"{}\" \"$@\"", name.as_str());
    path.symlink_metadata().is_ok_and(|meta| meta.is_file())
        && text.contains("\ncall_lefthook()\n")
        && text.trim_end().ends_with(&last)
}

/// A plain file with every byte of a shim; a link that leads to one is somebody's own arrangement.
pub(super) fn is_our_file(name: Name, path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_file())
        && matches!(shim::owner(name, path), Owner::Ours(_))
}

pub(super) fn is_same(a: &Path, b: &Path) -> bool {
    match (fs::read_link(a), fs::read_link(b)) {
        (Ok(a), Ok(b)) => a == b,
        (Err(_), Err(_)) => matches!((fs::read(a), fs::read(b)), (Ok(a), Ok(b)) if a == b),
        _ => false,
    }
}

/// Does `arkaint.bin` name a program already? Then it is left as it is, whoever wrote it.
fn has_usable_bin(worktree: &Worktree) -> Result<bool> {
    Ok(status::configured_bin(worktree)?.is_some_and(|bin| is_executable(&bin)))
}

/// This program by a path that stays right after an upgrade: its entry on PATH, as links there outlive the versions that they point to.
fn own_path() -> Result<PathBuf> {
    let running = std::env::current_exe().context("finding this program")?;
    let same = |entry: &PathBuf| {
        entry
            .canonicalize()
            .is_ok_and(|real| running.canonicalize().is_ok_and(|me| me == real))
    };
    let search = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&search)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("git-arkaint"));
    let called_as = || {
        std::env::args_os()
            .next()
            .map(PathBuf::from)
            .filter(|word| word.components().count() > 1)
    };
    let stable = on_path.filter(|entry| is_executable(entry)).find(same);
    let stable = stable.or_else(|| {
        called_as()
            .and_then(|word| std::path::absolute(word).ok())
            .filter(same)
    });
    Ok(stable.unwrap_or(running))
}
