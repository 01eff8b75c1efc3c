//! Git that nothing in the repository can steer: private git directories with a configuration of our own, the real object store, a
//! private index. Used from a launch until the check after it, and for every archive and rollback. It runs no hook of anybody, no
//! file system monitor, and no filter but those that the operator had before the launch.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Worktree;
use super::call::Call;
use super::content::{self, Content, Trees};

/// Keys of the operator's configuration that decide how bytes get from the object store to disk and back.
const COPIED: [&str; 12] = [
    "core.filemode",
    "core.symlinks",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.autocrlf",
    "core.eol",
    "core.bigfilethreshold",
    "core.compression",
    "core.longpaths",
    "core.protectntfs",
    "core.protecthfs",
    "core.checkroundtripencoding",
];

/// The private git directories of one worktree, as made by [`Hardened::prepare`].
#[derive(Debug)]
pub(crate) struct Hardened<'a> {
    worktree: &'a Worktree,
    dir: PathBuf,
}

/// Which attributes hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attributes {
    /// None: bytes are stored and written as they are.
    Raw,
    /// Those of the tree that is written, with the operator's drivers.
    AsCommitted,
}

impl<'a> Hardened<'a> {
    /// Makes the private directories anew from the user's present configuration and ignore files. Call it only while both can be trusted.
    pub(crate) fn prepare(worktree: &'a Worktree) -> Result<Self> {
        let dir = worktree.state_dir().join("private");
        let config = config_text(worktree)?;
        let exclude = exclude_text(worktree)?;
        fs::create_dir_all(worktree.state_dir()).context("making the state folder")?;
        for attributes in [Attributes::Raw, Attributes::AsCommitted] {
            let home = dir.join(attributes.folder());
            let fresh = worktree
                .state_dir()
                .join(format!("private.{}.new", attributes.folder()));
            if fresh.exists() {
                fs::remove_dir_all(&fresh).context("clearing a half-made private git directory")?;
            }
            for folder in ["refs", "objects", "info"] {
                fs::create_dir_all(fresh.join(folder)).context("making a private git directory")?;
            }
            let write = |name: &str, bytes: &[u8]| {
                fs::write(fresh.join(name), bytes).context("writing a private git directory")
            };
            write("HEAD", b"ref: refs/heads/arkaint-private\n")?;
            write("config", config.as_bytes())?;
            write("info/exclude", &exclude)?;
            if attributes == Attributes::Raw {
                // The highest word on attributes in every version of git; `--attr-source` came only with 2.41. `diff` is unset, not false:
                // else every file would be binary, and drift would see paths alone.
                let raw = b"* -text -eol -filter -ident -working-tree-encoding !diff\n";
                write("info/attributes", raw)?;
            }
            if home.exists() {
                fs::remove_dir_all(&home).context("replacing a private git directory")?;
            }
            fs::create_dir_all(&dir).context("making a private git directory")?;
            fs::rename(&fresh, &home).context("placing a private git directory")?;
        }
        Ok(Self { worktree, dir })
    }

    /// The directories that the last [`Hardened::prepare`] made, when they are whole.
    pub(crate) fn existing(worktree: &'a Worktree) -> Option<Self> {
        let dir = worktree.state_dir().join("private");
        let whole = [Attributes::Raw, Attributes::AsCommitted]
            .iter()
            .all(|a| dir.join(a.folder()).join("HEAD").is_file());
        whole.then_some(Self { worktree, dir })
    }

    pub(crate) fn worktree(&self) -> &'a Worktree {
        self.worktree
    }

    /// The private index that follows the worktree from launch to launch.
    pub(crate) fn index(&self) -> PathBuf {
        self.dir.join("index")
    }

    /// A call with the private index.
    pub(crate) fn call<I, S>(&self, attributes: Attributes, args: I) -> Call
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.call_on(&self.index(), attributes, args)
    }

    /// A call with another index file.
    pub(crate) fn call_on<I, S>(&self, index: &Path, attributes: Attributes, args: I) -> Call
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let keep = |name: &str| std::env::var_os(name).map(|value| (OsString::from(name), value));
        let mut env: Vec<(OsString, OsString)> = ["PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME"]
            .into_iter()
            .filter_map(keep)
            .collect();
        let mut set = |name: &str, value: &OsStr| env.push((name.into(), value.to_owned()));
        set("GIT_DIR", self.dir.join(attributes.folder()).as_os_str());
        set("GIT_WORK_TREE", self.worktree.root().as_os_str());
        set(
            "GIT_OBJECT_DIRECTORY",
            self.worktree.common_dir().join("objects").as_os_str(),
        );
        set("GIT_INDEX_FILE", index.as_os_str());
        for (name, value) in [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_GRAFT_FILE", "/dev/null"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_EDITOR", ":"),
            ("LC_ALL", "C"),
        ] {
            set(name, OsStr::new(value));
        }
        Call::new(self.worktree.root().to_owned(), env)
            .args(args)
            .inheriting()
    }

    /// Starts the private index from the user's own, so that unchanged files need not be read again. Call it only before a launch.
    pub(crate) fn seed_index(&self) -> Result<()> {
        let theirs = self.worktree.git_dir().join("index");
        let ours = self.index();
        // One that cannot be read hides nothing either.
        if self.worktree.users_index()?.is_none() {
            let _ = fs::remove_file(&ours);
            return self.call(Attributes::Raw, ["read-tree", "--empty"]).run();
        }
        let fresh = ours.with_extension("new");
        super::state::copy_index(&theirs, &fresh)?;
        if is_split(&theirs)? {
            // A split index names a file of the git directory that it was made in.
            self.worktree
                .git()
                .call(["-c", "core.splitIndex=false", "update-index"])
                .args(["--no-split-index", "--force-write-index"])
                .env("GIT_INDEX_FILE", &fresh)
                .run()
                .context("joining a split index")?;
        }
        fs::rename(&fresh, &ours).context("copying the index")
    }

    /// The content tree, staged into `index` ([`content::stage`]).
    pub(crate) fn content_tree(&self, index: &Path, attributes: Attributes) -> Result<Content> {
        content::stage(self.worktree, index, Trees::ByGit, &|args| {
            self.call_on(index, attributes, args)
        })
        .context("reading the worktree")
    }
}

impl Attributes {
    fn folder(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::AsCommitted => "checkout",
        }
    }
}

fn config_text(worktree: &Worktree) -> Result<String> {
    let listed = worktree.git().call(["config", "--list", "-z"]).bytes()?;
    let repo = worktree.repo()?;
    let mut text = String::from(
        "[core]\n\tbare = false\n\tlogAllRefUpdates = false\n\thooksPath = /dev/null\n\tfsmonitor = false\n",
    );
    text.push_str("\tattributesFile = /dev/null\n\texcludesFile = /dev/null\n\tsafecrlf = false\n\tfsync = committed\n\tfsyncMethod = batch\n");
    let sha256 = repo.object_hash() != gix::hash::Kind::Sha1;
    text.push_str(if sha256 {
        "\trepositoryFormatVersion = 1\n"
    } else {
        "\trepositoryFormatVersion = 0\n"
    });
    if sha256 {
        text.push_str("[extensions]\n\tobjectFormat = sha256\n");
    }
    text.push_str(
        "[gc]\n\tauto = 0\n[submodule]\n\trecurse = false\n[diff]\n\tignoreSubmodules = dirty\n",
    );
    let _ = write!(
        text,
        "[lfs]\n\tstorage = {}\n",
        quote(&worktree.common_dir().join("lfs").to_string_lossy())
    );
    for entry in String::from_utf8_lossy(&listed).split('\0') {
        let Some((key, value)) = entry.split_once('\n') else {
            continue;
        };
        if COPIED.contains(&key) {
            let name = key.trim_start_matches("core.");
            let _ = write!(text, "[core]\n\t{name} = {}\n", quote(value));
        } else if let Some(rest) = key.strip_prefix("filter.") {
            let Some((driver, name)) = rest.rsplit_once('.') else {
                continue;
            };
            let _ = write!(
                text,
                "[filter {}]\n\t{name} = {}\n",
                quote(driver),
                quote(value)
            );
        }
    }
    Ok(text)
}

/// Is this index one of the two parts of a split one? Asked of the folder: git leaves the other part beside it.
fn is_split(index: &Path) -> Result<bool> {
    let folder = index.parent().context("an index has a folder")?;
    let entries = fs::read_dir(folder).context("looking for a shared index")?;
    let mut names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    Ok(names.any(|name| name.as_encoded_bytes().starts_with(b"sharedindex.")))
}

/// A value or subsection in git's configuration syntax.
fn quote(value: &str) -> String {
    format!(
        "\"{}\"",
        value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    )
}

fn exclude_text(worktree: &Worktree) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let configured = worktree
        .git()
        .call(["config", "--type=path", "--get", "core.excludesFile"])
        .output()?;
    let global = match configured.code {
        Some(0) => Some(PathBuf::from(
            String::from_utf8_lossy(&configured.stdout).trim_end_matches('\n'),
        )),
        _ => std::env::var_os("XDG_CONFIG_HOME")
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
            .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")))
            .map(|config| config.join("git/ignore")),
    };
    for file in global
        .into_iter()
        .chain([worktree.common_dir().join("info/exclude")])
    {
        if let Ok(bytes) = fs::read(&file) {
            text.extend_from_slice(&bytes);
            text.push(b'\n');
        }
    }
    text.extend_from_slice(b"/.arkaint/\n/.ak-loop/\n");
    Ok(text)
}
