//! A throw-away repository for unit tests: made by git itself, with no setting of the developer's.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::{Oid, Worktree, call};

pub(crate) struct Repo {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Repo {
    /// An empty repository on `main`.
    pub(crate) fn new() -> Self {
        Self::init(&[])
    }

    /// `git init` with more options.
    pub(crate) fn init(options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("repo");
        fs::create_dir(&root).unwrap();
        let repo = Self { _dir: dir, root };
        repo.git([&["init", "-q", "-b", "main"], options].concat());
        for (key, value) in [
            ("user.name", "T"),
            ("user.email", "t@example.invalid"),
            ("commit.gpgsign", "false"),
            ("core.autocrlf", "false"),
        ] {
            repo.git(["config", key, value]);
        }
        repo
    }

    pub(crate) fn root(&self) -> &std::path::Path {
        &self.root
    }

    pub(crate) fn worktree(&self) -> Worktree {
        Worktree::discover(&self.root).unwrap()
    }

    /// What git prints; it must succeed.
    #[track_caller]
    pub(crate) fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Vec<u8> {
        self.git_with(args, b"")
    }

    /// The same with bytes on standard input.
    #[track_caller]
    pub(crate) fn git_with<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        stdin: &[u8],
    ) -> Vec<u8> {
        let args: Vec<OsString> = args
            .into_iter()
            .map(|arg| arg.as_ref().to_owned())
            .collect();
        let out = duct::cmd(call::program(), &args)
            .dir(&self.root)
            .full_env(
                [
                    ("PATH", std::env::var_os("PATH").unwrap_or_default()),
                    ("HOME", self.root.parent().unwrap().into()),
                ]
                .into_iter()
                .chain([
                    ("GIT_CONFIG_NOSYSTEM", "1".into()),
                    ("GIT_AUTHOR_DATE", "1700000000 +0000".into()),
                ])
                .chain([
                    ("GIT_COMMITTER_DATE", "1700000000 +0000".into()),
                    ("LC_ALL", "C.UTF-8".into()),
                ]),
            )
            .stdin_bytes(stdin)
            .stdout_capture()
            .stderr_capture()
            .unchecked()
            .run()
            .unwrap();
        assert!(
            out.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        out.stdout
    }

    pub(crate) fn path(&self, path: impl AsRef<[u8]>) -> PathBuf {
        self.root.join(OsStr::from_bytes(path.as_ref()))
    }

    pub(crate) fn write(&self, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn remove(&self, path: impl AsRef<[u8]>) {
        fs::remove_file(self.path(path)).unwrap();
    }

    pub(crate) fn rename(&self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) {
        let to = self.path(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(self.path(from), to).unwrap();
    }

    pub(crate) fn link(&self, target: &str, path: &str) {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
    }

    pub(crate) fn executable(&self, path: &str) {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Commits all there is.
    #[track_caller]
    pub(crate) fn commit(&self, message: &str) -> Oid {
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "--allow-empty", "-m", message]);
        self.rev("HEAD")
    }

    #[track_caller]
    pub(crate) fn rev(&self, rev: &str) -> Oid {
        Oid::from_hex(self.git(["rev-parse", rev]).trim_ascii()).unwrap()
    }
}
