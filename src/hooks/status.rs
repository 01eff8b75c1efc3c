//! Would git really run the guards, here and in every linked worktree? Looked at file by file, or proven by git itself. It changes nothing.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use super::chain::{self, is_executable};
use super::folder::{Folder, Standing, ask};
use super::shim::{self, Name, Owner};
use crate::git::Worktree;

/// The variable by which a hook is asked whether it is there.
pub(crate) const PROBE: &str = "ARKAINT_PROBE";

/// The hooks of a repository.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    v: u32,
    /// Would git run every guard in every worktree?
    pub active: bool,
    /// The program that the shims find with `PATH=/usr/bin:/bin`, as graphical clients have it.
    pub program: Option<String>,
    pub worktrees: Vec<At>,
}

/// The hooks as git sees them from one worktree.
#[derive(Debug, Serialize)]
pub(crate) struct At {
    pub worktree: String,
    pub folder: String,
    /// Whose folder it is: only in the git directory do we write.
    standing: &'static str,
    /// Of `core.hooksPath`, where it is set.
    scope: Option<String>,
    origin: Option<String>,
    #[serde(skip)]
    pub why: String,
    pub hooks: Vec<Hook>,
    /// What else a person should know.
    pub notes: Vec<String>,
    /// The commands and lines that make every guard run.
    pub mend: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Hook {
    pub name: &'static str,
    pub state: State,
    /// Of the shim, where one is there.
    pub version: Option<u32>,
    pub executable: bool,
    /// A hook that was there before, which runs first.
    pub previous: bool,
    /// Did it answer when git ran it? `None`: not asked.
    pub answered: Option<bool>,
    /// Would the guard run?
    pub runs: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// Our shim stands in the hook's place.
    Installed,
    /// Another tool moved our shim to `.legacy` and runs it from there.
    Legacy,
    /// A hook that is not ours holds the line that calls the guard.
    Called,
    /// Another tool moved our shim to `.old`, where nothing runs it.
    Shadowed,
    /// Our shim, changed by somebody.
    Edited,
    /// A hook that knows nothing of the guard.
    Foreign,
    Missing,
}

impl At {
    fn runs(&self) -> bool {
        self.hooks.iter().all(|hook| hook.runs)
    }
}

/// Looks at every worktree; `probe`: lets git run each hook, which answers instead of checking anything. Hooks of others that stand before
/// ours are then run too.
pub(crate) fn inspect(worktree: &Worktree, probe: bool) -> Result<Status> {
    let program = program(worktree)?;
    let mut worktrees = vec![at(worktree, program.as_deref(), probe)?];
    for other in linked(worktree)? {
        worktrees.push(at(&other, program.as_deref(), probe)?);
    }
    let program = program.map(|path| path.display().to_string());
    Ok(Status {
        v: 1,
        active: worktrees.iter().all(At::runs),
        program,
        worktrees,
    })
}

/// Would git run every guard in this worktree?
pub(super) fn guards_run(worktree: &Worktree) -> Result<bool> {
    Ok(at(worktree, program(worktree)?.as_deref(), false)?.runs())
}

fn at(worktree: &Worktree, program: Option<&Path>, probe: bool) -> Result<At> {
    let folder = Folder::of(worktree)?;
    let mut hooks: Vec<_> = Name::ALL
        .into_iter()
        .map(|name| hook(&folder, name, program.is_some()))
        .collect();
    if probe {
        for (hook, name) in hooks.iter_mut().zip(Name::ALL) {
            let answered = answers(worktree, name)?;
            hook.answered = Some(answered);
            hook.runs = answered;
        }
    }
    let mut notes = notes(&folder, worktree.root());
    if let Standing::Unusable(why) = &folder.standing {
        notes.insert(0, why.clone());
    }
    let mut at = At {
        worktree: worktree.root().display().to_string(),
        folder: folder.path.display().to_string(),
        standing: folder.standing.word(),
        scope: folder.setting.as_ref().map(|setting| setting.scope.clone()),
        origin: folder
            .setting
            .as_ref()
            .map(|setting| setting.origin.clone()),
        why: folder.why_here(),
        hooks,
        notes,
        mend: Vec::new(),
    };
    if !at.runs() {
        at.mend = mend(&folder, worktree.root(), &at.hooks, program.is_some());
    }
    Ok(at)
}

fn hook(folder: &Folder, name: Name, has_program: bool) -> Hook {
    let slot = folder.path.join(name.as_str());
    let usable = !matches!(folder.standing, Standing::Unusable(_));
    let beside = |suffix: &str| {
        shim::owner(
            name,
            &folder.path.join(format!("{}.{suffix}", name.as_str())),
        )
    };
    let legacy = runs_legacy(&folder.path, name);
    let (state, version) = match shim::owner(name, &slot) {
        _ if !usable => (State::Missing, None),
        Owner::Ours(version) => (State::Installed, Some(version)),
        Owner::Edited => (State::Edited, None),
        _ if folder.calls_guard(name) => (State::Called, None),
        Owner::Nobody => (State::Missing, None),
        Owner::Other if legacy.is_some() => (State::Legacy, legacy),
        Owner::Other if matches!(beside("old"), Owner::Ours(_)) => (State::Shadowed, None),
        Owner::Other => (State::Foreign, None),
    };
    let executable = usable && is_executable(&slot);
    // A line in a hook of others finds the program by git and PATH alone.
    let found = if state == State::Called {
        which::which("git-arkaint").is_ok()
    } else {
        has_program
    };
    let runs =
        executable && found && matches!(state, State::Installed | State::Legacy | State::Called);
    let previous = matches!(state, State::Installed | State::Legacy)
        && chain::runs(name, &folder.path.join(name.kept_as()));
    Hook {
        name: name.as_str(),
        state,
        version,
        executable,
        previous,
        answered: None,
        runs,
    }
}

/// pre-commit and prek keep a hook that they find as `.legacy` and run it: the version of our shim there.
pub(super) fn runs_legacy(folder: &Path, name: Name) -> Option<u32> {
    let legacy = folder.join(format!("{}.legacy", name.as_str()));
    let slot = fs::read(folder.join(name.as_str())).unwrap_or_default();
    let slot = String::from_utf8_lossy(&slot);
    let chains = slot.contains("generated by pre-commit") || slot.contains("generated by prek");
    match shim::owner(name, &legacy) {
        Owner::Ours(version) if chains && is_executable(&legacy) => Some(version),
        _ => None,
    }
}

/// What a person should know about hooks that are in the way of themselves.
fn notes(folder: &Folder, root: &Path) -> Vec<String> {
    let mut notes = Vec::new();
    if is_lfs_cut_off(folder, root) {
        let mend = "git lfs update --force && git arkaint hooks install";
        notes.push(format!(
            "Git LFS is used here, but no pre-push hook uploads its objects: {mend}"
        ));
    }
    for name in Name::ALL {
        let kept = folder.path.join(name.kept_as());
        let content = fs::read(&kept).unwrap_or_default();
        let first = content.split(|b| *b == b'\n').next().unwrap_or_default();
        if first.starts_with(b"\xef\xbb\xbf") {
            notes.push(format!(
                "{} starts with a byte order mark: its first line does not work",
                kept.display()
            ));
        } else if first.starts_with(b"#!") && first.ends_with(b"\r") {
            notes.push(format!(
                "{} has Windows line ends: git cannot run it",
                kept.display()
            ));
        }
        let dark = folder.default.join(name.as_str());
        if folder.path != folder.default && matches!(shim::owner(name, &dark), Owner::Ours(_)) {
            notes.push(format!(
                "{} is installed, but git does not look there ({})",
                dark.display(),
                folder.why_here()
            ));
        }
    }
    notes
}

/// Git LFS refuses to install its hook beside another (it says so), and pushes would then leave the big files behind.
fn is_lfs_cut_off(folder: &Folder, root: &Path) -> bool {
    let mentions = |path: &Path| {
        fs::read(path).is_ok_and(|text| String::from_utf8_lossy(&text).contains("lfs"))
    };
    let name = Name::Push;
    let slot = folder.path.join(name.as_str());
    let hooks = [
        slot.clone(),
        slot.with_extension("legacy"),
        folder.path.join(name.kept_as()),
        folder.written_by_people(name),
    ];
    let is_ours = matches!(shim::owner(name, &slot), Owner::Ours(_));
    is_ours && mentions(&root.join(".gitattributes")) && !hooks.iter().any(|hook| mentions(hook))
}

fn mend(folder: &Folder, root: &Path, hooks: &[Hook], has_program: bool) -> Vec<String> {
    let mut mend = Vec::new();
    let broken = || hooks.iter().filter(|hook| !hook.runs);
    for hook in broken().filter(|hook| hook.state == State::Edited) {
        let slot = folder.path.join(hook.name);
        mend.push(format!(
            "move your lines out of {}, then remove it",
            slot.display()
        ));
    }
    if broken().any(|hook| hook.state == State::Called) {
        mend.push(
            "put git-arkaint on PATH: the line that calls the guard needs it there".to_owned(),
        );
    }
    let absent = |hook: &Hook| {
        matches!(
            hook.state,
            State::Missing | State::Foreign | State::Shadowed
        )
    };
    if folder.standing != Standing::Own {
        mend.extend(folder.choices(root));
    } else if !mend.is_empty()
        || broken().any(|hook| !has_program || !hook.executable || absent(hook))
    {
        mend.push("git arkaint hooks install".to_owned());
    } else {
        let silent = broken()
            .map(|hook| format!("git hook run {} (shows why it does not answer)", hook.name));
        mend.extend(silent);
    }
    mend
}

/// The program that a shim finds where PATH is the barest: the same places, in the same order.
fn program(worktree: &Worktree) -> Result<Option<PathBuf>> {
    const BARE: [&str; 2] = ["/usr/bin", "/bin"];
    const PREFIXES: [&str; 3] = [
        "/opt/homebrew/bin",
        "/home/linuxbrew/.linuxbrew/bin",
        "/usr/local/bin",
    ];
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let in_home = [".local/bin", ".cargo/bin"]
        .into_iter()
        .filter_map(|folder| Some(home.as_ref()?.join(folder)));
    let folders = BARE
        .into_iter()
        .map(PathBuf::from)
        .chain(in_home)
        .chain(PREFIXES.into_iter().map(PathBuf::from));
    let places = folders.map(|folder| folder.join("git-arkaint"));
    Ok(configured_bin(worktree)?
        .into_iter()
        .chain(places)
        .find(|place| is_executable(place)))
}

/// The value of `arkaint.bin`, `~` resolved.
pub(super) fn configured_bin(worktree: &Worktree) -> Result<Option<PathBuf>> {
    let out = ask(
        worktree,
        ["config", "--type=path", "-z", "--get", "arkaint.bin"],
    )
    .output()?;
    let value = out
        .stdout
        .strip_suffix(b"\0")
        .filter(|_| out.code == Some(0));
    Ok(value.map(|bytes| PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()))))
}

/// The other worktrees of the repository that are there on disk.
fn linked(worktree: &Worktree) -> Result<Vec<Worktree>> {
    let list = || worktree.git().call(["worktree", "list", "--porcelain"]);
    let (listed, end) = match list().arg("-z").bytes() {
        Ok(listed) => (listed, 0),
        // git before 2.36
        Err(_) => (list().bytes()?, b'\n'),
    };
    let folders = listed
        .split(|b| *b == end)
        .filter_map(|field| field.strip_prefix(b"worktree "));
    let folders =
        folders.map(|folder| PathBuf::from(std::ffi::OsString::from_vec(folder.to_vec())));
    Ok(folders
        .filter_map(|folder| Worktree::discover(&folder).ok())
        .filter(|other| other.root() != worktree.root())
        .collect())
}

/// Lets git itself run the hook, and looks for our answer in what it prints.
fn answers(worktree: &Worktree, name: Name) -> Result<bool> {
    let token = format!("{:016x}", RandomState::new().build_hasher().finish());
    let call = ask(worktree, ["hook", "run", "--ignore-missing", name.as_str()]);
    let call = if name == Name::Push {
        call.args(["--", "arkaint-probe", "arkaint-probe"])
    } else {
        call
    };
    let out = call.env(PROBE, &token).output()?;
    let wanted = answer_to_probe(&token, name);
    Ok(out.stderr.contains(&wanted) || String::from_utf8_lossy(&out.stdout).contains(&wanted))
}

/// What a guard prints when it is asked.
pub(crate) fn answer_to_probe(token: &str, name: Name) -> String {
    format!("arkaint-probe {token} {}\n", name.as_str())
}
