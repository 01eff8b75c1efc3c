//! Where git looks for hooks here, as git itself answers, and whether that place is ours to write. It writes nothing.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::chain::is_executable;
use super::shim::{self, Name, Owner};
use crate::git::{Call, Worktree};

/// The hooks folder of one worktree.
#[derive(Debug)]
pub(super) struct Folder {
    pub path: PathBuf,
    /// Scope and origin of `core.hooksPath`; `None` where it is not set.
    pub setting: Option<Setting>,
    pub standing: Standing,
    /// The folder that git uses when nothing is set, which all worktrees share.
    pub default: PathBuf,
}

#[derive(Debug)]
pub(super) struct Setting {
    pub scope: String,
    pub origin: String,
}

/// To whom the folder belongs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It lies in the git directory, or will.
    Own,
    /// It lies in the worktree: the project's files, and tracked ones in most cases.
    Project,
    /// It lies outside, and serves other repositories too.
    Shared,
    /// git finds no hooks there, for this reason.
    Unusable(String),
}

impl Standing {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Project => "project",
            Self::Shared => "shared",
            Self::Unusable(_) => "unusable",
        }
    }
}

impl Folder {
    pub(super) fn of(worktree: &Worktree) -> Result<Self> {
        let default = worktree.common_dir().join("hooks");
        let setting = setting(worktree)?;
        if setting.as_ref().is_some_and(|(_, value)| value.is_empty()) {
            let standing = Standing::Unusable(
                "core.hooksPath is empty, so that git looks for hooks at the root of the disk"
                    .to_owned(),
            );
            return Ok(Self {
                path: PathBuf::new(),
                setting: setting.map(|(setting, _)| setting),
                standing,
                default,
            });
        }
        // Relative to the root, as an absolute one is refused where the folder cannot be there at all.
        let mut path = ask(worktree, ["rev-parse", "--git-path", "hooks"]).bytes()?;
        path.pop();
        let path = worktree.root().join(OsString::from_vec(path));
        let standing = standing(worktree, &path, &default);
        Ok(Self {
            path,
            setting: setting.map(|(setting, _)| setting),
            standing,
            default,
        })
    }

    /// `core.hooksPath (global, file:/home/x/.gitconfig)`, or that it is git's default.
    pub(super) fn why_here(&self) -> String {
        match &self.setting {
            Some(Setting { scope, origin }) => format!("core.hooksPath, {scope}, {origin}"),
            None => "git's default".to_owned(),
        }
    }

    /// The file in which people write this hook: husky keeps generated files in `_`, and runs what stands in the folder around it.
    pub(super) fn written_by_people(&self, name: Name) -> PathBuf {
        match self.path.parent() {
            Some(around) if self.is_husky() => around.join(name.as_str()),
            _ => self.path.join(name.as_str()),
        }
    }

    fn is_husky(&self) -> bool {
        self.path.ends_with("_") && self.path.join("h").exists()
    }

    /// Does the hook that git would run hold the line that calls our guard? Read, not proven.
    pub(super) fn calls_guard(&self, name: Name) -> bool {
        let written = self.written_by_people(name);
        if !is_executable(&self.path.join(name.as_str())) {
            return false;
        }
        if matches!(shim::owner(name, &written), Owner::Ours(_)) {
            return true;
        }
        let call = format!("arkaint hook run {}", name.as_str());
        let text = std::fs::read(&written).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.lines()
            .map(str::trim_start)
            .any(|line| !line.starts_with('#') && line.contains(&call))
    }

    /// What a person does where we may not write: a line each.
    pub(super) fn choices(&self, root: &Path) -> Vec<String> {
        let add = |name: Name| {
            let file = self.written_by_people(name);
            let shown = file
                .strip_prefix(root)
                .unwrap_or(&file)
                .display()
                .to_string();
            format!("add to {shown}: {}", line_to_add(name, file.exists()))
        };
        let missing = Name::ALL
            .into_iter()
            .filter(|name| !self.calls_guard(*name));
        let default = shell_words::quote(&self.default.display().to_string()).into_owned();
        match &self.standing {
            Standing::Own => Vec::new(),
            Standing::Project => {
                let commit = "then commit it: ARKAINT_ALLOW_INFRA_EDIT=1 git commit";
                missing.map(add).chain([commit.to_owned()]).collect()
            }
            Standing::Shared => {
                let alone = format!(
                    "for this repository alone: git config core.hooksPath {default} && git arkaint hooks install"
                );
                std::iter::once(alone).chain(missing.map(add)).collect()
            }
            Standing::Unusable(_) => {
                let unset = match self.setting.as_ref().map(|setting| setting.scope.as_str()) {
                    Some("local") => "git config --unset core.hooksPath".to_owned(),
                    Some("worktree") => "git config --worktree --unset core.hooksPath".to_owned(),
                    Some(_) => format!("git config core.hooksPath {default}"),
                    None => format!("rm {default}"),
                };
                let again = format!("{unset} && git arkaint hooks install");
                let made_by_set_up = self.path.starts_with(root) && self.path != root;
                let wait = "run the project's set-up in this worktree, which makes that folder (husky: npm install)";
                if made_by_set_up && self.setting.is_some() {
                    vec![
                        wait.to_owned(),
                        format!("or, where nothing makes it: {again}"),
                    ]
                } else {
                    vec![again]
                }
            }
        }
    }
}

/// The line for a hook that is not ours to write. What is pushed comes on standard input: where a hook is there already, the line gives
/// it back to what follows (Git LFS reads it).
fn line_to_add(name: Name, exists: bool) -> String {
    let call = format!("git arkaint hook run {} -- \"$@\"", name.as_str());
    if name == Name::Push && exists {
        return format!(
            "t=$(mktemp) && cat >\"$t\" && {call} <\"$t\" || {{ rm -f \"$t\"; exit 1; }}; exec <\"$t\"; rm -f \"$t\""
        );
    }
    format!("{call} || exit 1")
}

/// A call that also sees `git -c` and `GIT_CONFIG_COUNT` of the caller: they decide which hooks git runs.
pub(super) fn ask<const N: usize>(worktree: &Worktree, args: [&str; N]) -> Call {
    let call = worktree.git().call(args);
    ["GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"]
        .into_iter()
        .fold(call, |call, key| match std::env::var_os(key) {
            Some(value) => call.env(key, value),
            None => call,
        })
}

/// `core.hooksPath` as it holds here: where it was set, and its value.
fn setting(worktree: &Worktree) -> Result<Option<(Setting, Vec<u8>)>> {
    let out = ask(
        worktree,
        [
            "config",
            "--show-scope",
            "--show-origin",
            "-z",
            "--type=path",
            "--get",
            "core.hooksPath",
        ],
    )
    .output()?;
    match out.code {
        Some(0) => {}
        Some(1) => return Ok(None),
        _ => bail!("git config core.hooksPath: {}", out.reason()),
    }
    let mut fields = out.stdout.split(|b| *b == 0);
    let mut field = || {
        fields
            .next()
            .context("reading core.hooksPath")
            .map(<[u8]>::to_vec)
    };
    let (scope, origin, value) = (field()?, field()?, field()?);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some((
        Setting {
            scope: text(scope),
            origin: text(origin),
        },
        value,
    )))
}

fn standing(worktree: &Worktree, path: &Path, default: &Path) -> Standing {
    let Ok(real) = path.canonicalize() else {
        return match path.symlink_metadata() {
            Err(_) if path == default => Standing::Own,
            Err(_) => Standing::Unusable(format!("{} does not exist", path.display())),
            Ok(_) => Standing::Unusable(format!("{} is a link to nowhere", path.display())),
        };
    };
    if !real.is_dir() {
        return Standing::Unusable(format!("{} is not a folder", path.display()));
    }
    let (common, root) = (worktree.common_dir(), worktree.root());
    if common.starts_with(&real) || root.starts_with(&real) {
        return Standing::Unusable(format!(
            "{} is a folder around the repository, not one of hooks",
            path.display()
        ));
    }
    match () {
        () if real.starts_with(common) => Standing::Own,
        () if real.starts_with(root) => Standing::Project,
        () => Standing::Shared,
    }
}
