//! The hooks: guards by a table of what commits and pushes can do, installation beside other hooks, and proof by git itself. Each git on the
//! machine takes its turn.

mod beside;
mod commits;
mod install;
mod matrix;
mod overhead;
mod pushes;
mod shapes;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::sandbox::{Ran, Sandbox};

/// A repository and the git that works on it.
pub(super) struct Bench {
    pub(super) sandbox: Sandbox,
    pub(super) path: String,
}

impl Bench {
    pub(super) fn new(git: &Path) -> Self {
        let sandbox = Sandbox::new();
        let own = sandbox.home().join("git-bin");
        fs::create_dir_all(&own).unwrap();
        std::os::unix::fs::symlink(git, own.join("git")).unwrap();
        let path = format!("{}:{}", own.display(), sandbox.path());
        Self { sandbox, path }
    }

    /// With protected files, `arkaint.toml` and the guards.
    pub(super) fn guarded(git: &Path) -> Self {
        let bench = Self::new(git);
        bench.ok(
            "mkdir -p scripts/deep .githooks src ci/deploy
             echo 'echo build' >scripts/build.sh; echo deep >scripts/deep/file; ln -s build.sh scripts/link
             echo hook >.githooks/pre-commit; echo a >src/a; echo b >src/b; echo key >ci/deploy/key; echo lock >Cargo.lock
             printf '[infra]\\npaths = [\"ci/deploy/\", \"*.lock\"]\\n\\n[checkpoint]\\ntest = false\\n' >arkaint.toml
             git add -A; git commit -q -m base; git tag base
             git arkaint -q hooks install",
        );
        bench
    }

    pub(super) fn run(&self, script: &str) -> Ran {
        let mut bash = self.sandbox.command("bash");
        bash.args(["-euc", script])
            .env("PATH", &self.path)
            .output()
            .unwrap()
            .into()
    }

    #[track_caller]
    pub(super) fn ok(&self, script: &str) -> String {
        self.run(script).expect(0).stdout
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.sandbox.repo.clone()
    }
}

/// All of `table` for the first git; for others every third row, which keeps the suite short and still sees each command.
pub(super) fn share<T>(table: &[T], turn: usize) -> impl Iterator<Item = &T> {
    table.iter().step_by(if turn == 0 { 1 } else { 3 })
}

/// Every git that can be found, by version: the suite's own first.
pub(super) fn gits() -> Vec<PathBuf> {
    let mut seen = Vec::new();
    let mut gits = Vec::new();
    let search = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        std::env::split_paths(&search).chain(["/usr/bin", "/usr/local/bin"].map(PathBuf::from));
    for git in folders
        .map(|folder| folder.join("git"))
        .filter(|git| git.is_file())
    {
        let version = std::process::Command::new(&git)
            .arg("version")
            .output()
            .unwrap()
            .stdout;
        if !seen.contains(&version) {
            seen.push(version);
            gits.push(git);
        }
    }
    gits
}

/// Runs `action` on the base commit of `bench` (or what `before`, permitted and unguarded, makes of it), and says whether a guard refused.
#[track_caller]
pub(super) fn case(bench: &Bench, before: &str, action: &str) -> Ran {
    bench.ok(&format!(
        "git merge --abort 2>/dev/null || true; git reset -q --hard; git switch -q -f -C main base; git clean -ffdq
         git for-each-ref --format='delete %(refname)' refs/heads | grep -v '/main$' | git update-ref --stdin
         git config --unset core.ignoreCase || git config --unset diff.relative || true
         export ARKAINT_ALLOW_INFRA_EDIT=1\n{before}"
    ));
    bench.run(action)
}

/// Path, mode, and content or link target of everything below the folders, and of single files.
pub(super) fn snapshot(places: &[PathBuf]) -> State {
    fn walk(path: &Path, into: &mut State) {
        let Ok(meta) = path.symlink_metadata() else {
            return;
        };
        let content = if meta.is_symlink() {
            fs::read_link(path)
                .unwrap()
                .into_os_string()
                .into_encoded_bytes()
        } else if meta.is_file() {
            fs::read(path).unwrap()
        } else {
            Vec::new()
        };
        into.push((path.to_path_buf(), meta.permissions().mode(), content));
        if meta.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                walk(&entry.unwrap().path(), into);
            }
        }
    }
    let mut all = Vec::new();
    places.iter().for_each(|place| walk(place, &mut all));
    all.sort();
    all
}

pub(super) type State = Vec<(PathBuf, u32, Vec<u8>)>;

/// Fails with the names alone of what differs.
#[track_caller]
pub(super) fn assert_same(now: &State, before: &State, what: &str) {
    let differing: Vec<_> = now
        .iter()
        .filter(|one| !before.contains(one))
        .chain(before.iter().filter(|one| !now.contains(one)))
        .map(|(path, ..)| path)
        .collect();
    assert!(differing.is_empty(), "{what}: {differing:?}");
}

/// What an installation may change.
pub(super) fn git_dir_state(bench: &Bench) -> State {
    let git = bench.folder().join(".git");
    snapshot(&[
        git.join("hooks"),
        git.join("config"),
        git.join("arkaint"),
        git.join("info"),
    ])
}
