//! Small files of the git directories that can run code, redirect git or hide changes: noted whole at launch, compared, put back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{Broken, Found, Rule, config_keys};
use crate::git::hardened::Hardened;
use crate::git::{Worktree, state};

/// Files larger than this are nobody's hook or configuration; that one is there is all that is noted.
const MAX_NOTED: u64 = 4 * 1024 * 1024;

/// One file as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    Absent,
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    Link(#[serde(with = "path_bytes")] PathBuf),
    /// A folder, a device, or a file too large to note.
    Other,
}

/// The watched files and folders.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Files {
    /// Single files, by path.
    #[serde(with = "known_files")]
    known: BTreeMap<PathBuf, State>,
    /// Folders of which every entry is watched.
    #[serde(with = "paths_bytes")]
    folders: Vec<PathBuf>,
    /// The configuration files: put back key by key.
    #[serde(with = "paths_bytes")]
    configs: Vec<PathBuf>,
    #[serde(with = "path_bytes")]
    head: PathBuf,
}

/// Paths in JSON: bytes, for they need not be text.
mod path_bytes {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().as_bytes().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(OsString::from_vec(Vec::deserialize(from)?).into())
    }
}

mod paths_bytes {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Entry(#[serde(with = "super::path_bytes")] PathBuf);

    pub(super) fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().cloned().map(Entry))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let all = Vec::<Entry>::deserialize(from)?;
        Ok(all.into_iter().map(|entry| entry.0).collect())
    }
}

mod known_files {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::State;

    #[derive(Serialize, Deserialize)]
    struct Entry(#[serde(with = "super::path_bytes")] PathBuf, State);

    pub(super) fn serialize<S: Serializer>(
        known: &BTreeMap<PathBuf, State>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(
            known
                .iter()
                .map(|(path, state)| Entry(path.clone(), state.clone())),
        )
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<PathBuf, State>, D::Error> {
        let all = Vec::<Entry>::deserialize(from)?;
        Ok(all.into_iter().map(|entry| (entry.0, entry.1)).collect())
    }
}

/// What is watched in a worktree.
struct Watched {
    single: BTreeSet<PathBuf>,
    folders: BTreeSet<PathBuf>,
    configs: Vec<PathBuf>,
    head: PathBuf,
}

impl Watched {
    /// What lies in the git directories, whatever any configuration says.
    fn own(worktree: &Worktree) -> Self {
        let (own, common) = (worktree.git_dir(), worktree.common_dir());
        let head = own.join("HEAD");
        let configs = vec![
            common.join("config"),
            common.join("config.worktree"),
            own.join("config.worktree"),
        ];
        let mut single: BTreeSet<PathBuf> = configs.iter().cloned().collect();
        single.insert(head.clone());
        single.extend(["commondir", "gitdir"].map(|name| own.join(name)));
        single.extend(
            [
                "objects/info/alternates",
                "objects/info/http-alternates",
                "shallow",
            ]
            .map(|name| common.join(name)),
        );
        if worktree.root().join(".git").is_file() {
            single.insert(worktree.root().join(".git"));
        }
        let folders = [common.join("hooks"), common.join("info"), own.join("info")]
            .into_iter()
            .collect();
        Self {
            single,
            folders,
            configs,
            head,
        }
    }
}

impl Files {
    pub(super) fn read(worktree: &Worktree) -> Result<Self> {
        let (own, common) = (worktree.git_dir(), worktree.common_dir());
        let mut watched = Watched::own(worktree);
        if let Some(hooks) = worktree.hooks_folder()? {
            // A hooks folder inside the worktree is protected as content; one outside is watched here.
            if !hooks.starts_with(worktree.root())
                || hooks.starts_with(common)
                || hooks.starts_with(own)
            {
                watched.folders.insert(hooks);
            }
        }
        let folders: Vec<PathBuf> = watched.folders.into_iter().collect();
        let mut known = BTreeMap::new();
        for path in watched
            .single
            .into_iter()
            .chain(folders.iter().cloned())
            .chain(folders.iter().flat_map(|folder| entries(folder)))
        {
            let state = state(&path)?;
            known.insert(path, state);
        }
        Ok(Self {
            known,
            folders,
            configs: watched.configs,
            head: watched.head,
        })
    }

    /// Leaves of what a file says that was noted what lies in the git directories of this worktree: an agent could have written it, and may
    /// not be able to write elsewhere as we are. True where something else was left out.
    pub(super) fn keep_own(&mut self, worktree: &Worktree) -> bool {
        let mut watched = Watched::own(worktree);
        let count = |files: &Self| files.known.len() + files.folders.len();
        let before = count(self);
        // What lies below a link lies elsewhere.
        watched
            .folders
            .retain(|folder| !matches!(self.known.get(folder), Some(State::Link(_))));
        let is_in = |folder: &Path| watched.folders.contains(folder);
        self.folders.retain(|folder| is_in(folder));
        self.known.retain(|path, _| {
            watched.single.contains(path)
                || is_in(path)
                || path.file_name().is_some() && path.parent().is_some_and(is_in)
        });
        self.configs = watched.configs;
        self.head = watched.head;
        count(self) < before
    }

    /// A folder that was turned into a link, or into a file: what is read below it would be another folder's.
    fn put_folders_back(&self, kept: &Path, found: &mut Found) -> Result<()> {
        for folder in &self.folders {
            let was = self.known.get(folder).unwrap_or(&State::Absent);
            let is = state(folder)?;
            let plain = |state: &State| matches!(state, State::Absent | State::Other);
            if *was == is || plain(was) && plain(&is) {
                continue;
            }
            if is != State::Absent {
                move_away(folder, kept)?;
            }
            if *was == State::Other {
                fs::create_dir_all(folder)
                    .with_context(|| format!("putting {} back", folder.display()))?;
            }
            restore(folder, was)?;
            found.broken.push(Broken {
                rule: Rule::GitDirectory,
                what: format!("{} was changed", folder.display()),
            });
        }
        Ok(())
    }

    pub(super) fn check(&self, git: &Hardened<'_>, kept: &Path, found: &mut Found) -> Result<()> {
        self.put_folders_back(kept, found)?;
        let mut paths: BTreeSet<PathBuf> = self.known.keys().cloned().collect();
        paths.extend(self.folders.iter().flat_map(|folder| entries(folder)));
        for path in paths.iter().filter(|path| !self.folders.contains(path)) {
            let was = self.known.get(path).unwrap_or(&State::Absent);
            let is = state(path)?;
            if *was == is {
                continue;
            }
            let name = path.display().to_string();
            if *path == self.head {
                keep(path, kept)?;
                restore(path, was)?;
                let now = match &is {
                    State::File { bytes, .. } => String::from_utf8_lossy(bytes)
                        .trim()
                        .replace("ref: refs/heads/", "branch "),
                    _ => "nothing".to_owned(),
                };
                if let State::File { bytes, .. } = &is
                    && let Ok(commit) = crate::git::Oid::from_hex(bytes.trim_ascii())
                {
                    found.unreachable.push(commit);
                }
                found.broken.push(Broken {
                    rule: Rule::Branch,
                    what: format!("HEAD was turned to {now}"),
                });
                continue;
            }
            if self.configs.contains(path)
                && let (State::File { bytes: old, .. }, State::File { .. }) = (was, &is)
            {
                keep(path, kept)?;
                let changed = config_keys::put_back(git, path, old)?;
                if !changed.put_back.is_empty() {
                    found.broken.push(Broken {
                        rule: Rule::GitDirectory,
                        what: format!("{name}: {}", changed.put_back.join(", ")),
                    });
                }
                found.notes.extend(
                    changed
                        .reported
                        .into_iter()
                        .map(|key| format!("{name}: {key} changed")),
                );
                continue;
            }
            keep(path, kept)?;
            restore(path, was)?;
            let how = match (was, &is) {
                (State::Absent, _) => "was added",
                (_, State::Absent) => "was removed",
                _ => "was changed",
            };
            found.broken.push(Broken {
                rule: Rule::GitDirectory,
                what: format!("{name} {how}"),
            });
        }
        Ok(())
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(read) = folder.read_dir() else {
        return Vec::new();
    };
    read.flatten()
        .map(|entry| entry.path())
        .filter(|path| !is_generated(path))
        .collect()
}

/// `info/refs`, and what git writes before it renames it to that: the list of refs for servers that run no git (git-update-server-info(1)),
/// made anew whenever objects are packed. Nothing here reads it.
fn is_generated(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let is_list = name == b"refs" || name.starts_with(b"refs_");
    is_list
        && path.parent().is_some_and(|folder| folder.ends_with("info"))
        && path.symlink_metadata().is_ok_and(|meta| meta.is_file())
}

fn state(path: &Path) -> Result<State> {
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(State::Absent);
        }
        Err(error) => return Err(error).with_context(|| format!("looking at {}", path.display())),
    };
    if meta.is_symlink() {
        return Ok(State::Link(
            fs::read_link(path).with_context(|| format!("reading {}", path.display()))?,
        ));
    }
    if !meta.is_file() || meta.len() > MAX_NOTED {
        return Ok(State::Other);
    }
    let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    Ok(State::File {
        bytes,
        mode: meta.permissions().mode() & 0o7777,
    })
}

/// Keeps what was found, so that putting back loses nothing.
pub(super) fn keep(path: &Path, kept: &Path) -> Result<()> {
    let Ok(meta) = path.symlink_metadata() else {
        return Ok(());
    };
    // Reading a FIFO would wait for ever.
    if !meta.is_file() {
        return move_away(path, kept);
    }
    fs::copy(path, place_in(kept, path)?)
        .map(drop)
        .with_context(|| format!("keeping {}", path.display()))
}

fn move_away(path: &Path, kept: &Path) -> Result<()> {
    fs::rename(path, place_in(kept, path)?).with_context(|| format!("keeping {}", path.display()))
}

/// A free name for `path` in the folder `kept`, which is made.
fn place_in(kept: &Path, path: &Path) -> Result<PathBuf> {
    fs::create_dir_all(kept).with_context(|| format!("making {}", kept.display()))?;
    let name = path.to_string_lossy();
    let name = name.trim_start_matches('/').replace('/', "%");
    Ok(state::free_name(kept, &name))
}

fn restore(path: &Path, was: &State) -> Result<()> {
    let shown = || format!("putting {} back", path.display());
    match was {
        State::Absent => match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(shown)
            }
            _ => Ok(()),
        },
        State::Other => Ok(()),
        State::Link(target) => {
            let _ = fs::remove_file(path);
            symlink(target, path).with_context(shown)
        }
        State::File { bytes, mode } => {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).with_context(shown)?;
            }
            // Under a name that nobody could have made a link of.
            let folder = path.parent().unwrap_or(Path::new("."));
            let mut fresh = tempfile::NamedTempFile::new_in(folder).with_context(shown)?;
            fresh.write_all(bytes).with_context(shown)?;
            let as_it_was = fs::Permissions::from_mode(*mode);
            fresh
                .as_file()
                .set_permissions(as_it_was)
                .with_context(shown)?;
            fresh.persist(path).map(drop).with_context(shown)
        }
    }
}
