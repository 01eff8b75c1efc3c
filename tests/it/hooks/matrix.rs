//! The matrix: whoever owns the hooks, wherever the worktree stands, the guards run, theirs run, and nothing is left. With the real husky,
//! lefthook, pre-commit, prek and Git LFS where `tests/run` has brought them; `-- --nocapture` shows the table.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Bench, assert_same, gits, snapshot};
use crate::forge::tool_on_path;
use crate::goose::tool;
use crate::not_run::not_run;
use crate::sandbox::Ran;
use crate::table;

/// Somebody else's hooks.
pub(super) struct Theirs {
    pub(super) name: &'static str,
    /// The real program: the variable that names it, and where `tests/run` puts it (nothing: it is the distribution's).
    tool: Option<(&'static str, &'static str)>,
    /// What the project commits, run once.
    pub(super) files: &'static str,
    /// What each worktree's owner runs.
    pub(super) set_up: &'static str,
    /// Is there a hook of theirs that must run?
    runs: bool,
    /// May we write where git looks for hooks?
    ours: bool,
}

const OWN: &str = r#"h=$(git rev-parse --path-format=absolute --git-path hooks); mkdir -p "$h"
printf '#!/bin/sh\necho commit >>~/theirs\n' >"$h/pre-commit"; printf '#!/bin/sh\ncat >>~/theirs\n' >"$h/pre-push"; chmod +x "$h"/pre-commit "$h"/pre-push"#;

const FRAMEWORK: &str = r#"cat >.pre-commit-config.yaml <<'END'
repos:
- repo: local
  hooks:
  - {id: commit, name: commit, language: system, entry: sh -c 'echo commit >>~/theirs', always_run: true, pass_filenames: false, stages: [pre-commit]}
  - {id: push, name: push, language: system, entry: 'sh -c "echo $PRE_COMMIT_LOCAL_BRANCH $PRE_COMMIT_REMOTE_BRANCH $PRE_COMMIT_REMOTE_NAME >>~/theirs"', always_run: true, pass_filenames: false, stages: [pre-push]}
END"#;

pub(super) const TABLE: &[Theirs] = &[
    Theirs {
        name: "none",
        tool: None,
        files: "",
        set_up: "",
        runs: false,
        ours: true,
    },
    Theirs {
        name: "own hook",
        tool: None,
        files: "",
        set_up: OWN,
        runs: true,
        ours: true,
    },
    Theirs {
        name: "husky",
        tool: Some(("ARKAINT_TEST_HUSKY", "husky/node_modules/.bin/husky")),
        files: "mkdir .husky; echo 'echo commit >>~/theirs' >.husky/pre-commit; echo 'cat >>~/theirs' >.husky/pre-push",
        set_up: "husky",
        runs: true,
        ours: false,
    },
    Theirs {
        name: "lefthook",
        tool: Some((
            "ARKAINT_TEST_LEFTHOOK",
            "lefthook/node_modules/.bin/lefthook",
        )),
        files: r"printf 'pre-commit:\n  commands:\n    t:\n      run: echo commit >>~/theirs\npre-push:\n  commands:\n    t:\n      run: cat >>~/theirs\n      use_stdin: true\n' >lefthook.yml",
        set_up: "lefthook install",
        runs: true,
        ours: true,
    },
    Theirs {
        name: "pre-commit",
        tool: Some(("ARKAINT_TEST_PRE_COMMIT", "python/bin/pre-commit")),
        files: FRAMEWORK,
        set_up: "pre-commit install -t pre-commit -t pre-push",
        runs: true,
        ours: true,
    },
    Theirs {
        name: "prek",
        tool: Some(("ARKAINT_TEST_PREK", "python/bin/prek")),
        files: FRAMEWORK,
        set_up: "prek install -t pre-commit -t pre-push",
        runs: true,
        ours: true,
    },
    Theirs {
        name: "git-lfs",
        tool: Some(("ARKAINT_TEST_GIT_LFS", "")),
        files: "git lfs install --local --skip-repo >/dev/null; git lfs track '*.bin' >/dev/null",
        set_up: "git lfs install --local",
        runs: true,
        ours: true,
    },
    Theirs {
        name: ".githooks",
        tool: None,
        files: r"mkdir .githooks; printf '#!/bin/sh\necho commit >>~/theirs\n' >.githooks/pre-commit; printf '#!/bin/sh\ncat >>~/theirs\n' >.githooks/pre-push; chmod +x .githooks/*",
        set_up: "git config core.hooksPath .githooks",
        runs: true,
        ours: false,
    },
    Theirs {
        name: "global hooksPath",
        tool: None,
        files: "mkdir ~/hooks; git config --global core.hooksPath '~/hooks'",
        set_up: OWN,
        runs: true,
        ours: false,
    },
];

/// Where the worktree stands: its name, how it is made below `$HOME/world` around a project in `main`, its folder.
const PLACES: [(&str, &str, &str); 3] = [
    ("main worktree", "", "main"),
    (
        "linked worktree",
        "git -C main worktree add -q ../linked",
        "linked",
    ),
    (
        "submodule",
        "git init -q super; git -C super -c protocol.file.allow=always submodule --quiet add ../main sub",
        "super/sub",
    ),
];

impl Theirs {
    /// PATH with the program first; `None`, and said so, where it is not here.
    pub(super) fn path(&self, bench: &Bench) -> Option<String> {
        let Some((variable, installed)) = self.tool else {
            return Some(bench.path.clone());
        };
        let found = if installed.is_empty() {
            tool_on_path(variable, self.name)
        } else {
            tool(variable, installed)
        };
        let Some(found) = found else {
            not_run("hooks::matrix", self.name);
            return None;
        };
        // Not its whole folder: another python or git could stand there.
        let own = bench.sandbox.home().join("tool");
        fs::create_dir_all(&own).unwrap();
        let _ = std::os::unix::fs::symlink(found, own.join(self.name));
        Some(format!("{}:{}", own.display(), bench.path))
    }
}

/// One worktree of the matrix.
struct World {
    bench: Bench,
    path: String,
    folder: PathBuf,
}

impl World {
    /// The project with their hooks set up; `None` where their program is not here.
    fn new(theirs: &Theirs, place: (&str, &str, &str), git: &Path) -> Option<Self> {
        let bench = Bench::new(git);
        let path = theirs.path(&bench)?;
        let home = bench.sandbox.home().to_path_buf();
        let world = Self {
            bench,
            path,
            folder: home.clone(),
        };
        world.ok(&format!(
            "mkdir tmp world; cd world; git init -q main; cd main; mkdir -p scripts src; echo s >scripts/build.sh; echo a >src/a
             {}\ngit add -A; git commit -q --no-verify -m base\n{}\ncd ..\n{}\ncd {}\n{}",
            theirs.files, theirs.set_up, place.1, place.2, theirs.set_up
        ));
        let folder = home.join("world").join(place.2);
        Some(Self { folder, ..world })
    }

    fn run(&self, script: &str) -> Ran {
        let mut bash = self.bench.sandbox.command("bash");
        bash.args(["-euc", script])
            .env("PATH", &self.path)
            .env("TMPDIR", self.bench.sandbox.home().join("tmp"))
            .current_dir(&self.folder);
        bash.output().unwrap().into()
    }

    #[track_caller]
    fn ok(&self, script: &str) -> String {
        self.run(script).expect(0).stdout
    }

    /// All that an installation may change, and all that it may not.
    fn state(&self) -> super::State {
        let common = self.ok("git rev-parse --path-format=absolute --git-common-dir");
        let common = PathBuf::from(common.trim_end());
        let mut places: Vec<_> = ["hooks", "config", "config.worktree", "info", "arkaint"]
            .map(|name| common.join(name))
            .to_vec();
        let home = self.bench.sandbox.home();
        places.extend([home.join(".gitconfig"), home.join("hooks")]);
        let entries = fs::read_dir(&self.folder).unwrap().flatten();
        let project = entries.map(|entry| entry.path());
        places.extend(project.filter(|path| !path.ends_with(".git")));
        snapshot(&places)
    }

    /// Puts the lines that `said` names into the files that it names, as a person would, and brings them to the other worktrees.
    fn add_lines(&self, said: &str) -> usize {
        let lines: Vec<_> = said
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("mend: add to "))
            .filter_map(|line| line.split_once(": "))
            .collect();
        for (file, line) in &lines {
            let file = self.folder.join(file);
            let text = fs::read_to_string(&file).unwrap_or_default();
            // husky's are read by its own sh.
            let (first, rest) = match text.split_once('\n') {
                Some((first, rest)) if first.starts_with("#!") => (format!("{first}\n"), rest),
                _ if file.starts_with(self.folder.join(".husky")) => (String::new(), text.as_str()),
                _ => ("#!/bin/sh\n".to_owned(), text.as_str()),
            };
            fs::write(&file, format!("{first}{line}\n{rest}")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        self.ok(
            "git add -A; git diff --cached --quiet || ARKAINT_ALLOW_INFRA_EDIT=1 git commit -qm 'call the guards'
             test $(basename \"$PWD\") != linked || git -C ../main merge -q --ff-only linked; rm -f ~/theirs",
        );
        lines.len()
    }
}

/// The cells of one row: in the order of the table's head.
fn row(theirs: &Theirs, place: (&str, &str, &str), git: &Path) -> Option<[&'static str; 5]> {
    let what = format!("{} in a {} with {}", theirs.name, place.0, git.display());
    let world = World::new(theirs, place, git)?;
    let before = world.state();
    let installed = if theirs.ours {
        world.run("git arkaint hooks install").expect(0);
        world.run("git arkaint hooks status --probe").expect(0);
        "yes"
    } else {
        let refused = world.run("git arkaint hooks install").expect(2);
        assert!(
            refused.stderr.contains("nothing was changed"),
            "{what}: {}",
            refused.stderr
        );
        assert_same(&world.state(), &before, &what);
        let status = world.run("git arkaint hooks status").expect(1);
        assert!(
            world.add_lines(&status.stdout) >= 3,
            "{what}: {}",
            status.stdout
        );
        world.run("git arkaint hooks status --probe").expect(0);
        "says the line to add"
    };
    let added = world.state();

    let refused = world
        .run("echo n >>scripts/build.sh; git commit -qam x")
        .expect(1);
    assert!(
        refused.stderr.contains("M scripts/build.sh"),
        "{what}: {}",
        refused.stderr
    );
    let passed = world.run("git reset -q --hard; rm -f ~/theirs; echo n >>src/a; echo big >x.bin; git add -A; git commit -qm fine").expect(0);
    assert!(
        !passed.stderr.contains("arkaint"),
        "{what}: {}",
        passed.stderr
    );
    let push = "git push -q \"file://$HOME/r.git\" HEAD:refs/heads/new";
    world.ok(&format!("git init -q --bare ~/r.git; {push}"));
    let ran = if theirs.runs {
        if theirs.name == "git-lfs" {
            world.ok("test -n \"$(find ~/r.git/lfs -type f)\"");
        } else {
            let theirs = world.ok("cat ~/theirs");
            let zeros = "0".repeat(40);
            let (head, oid) = ("HEAD", world.ok("git rev-parse HEAD").trim_end().to_owned());
            let raw = format!("commit\n{head} {oid} refs/heads/new {zeros}\n");
            let home = world.bench.sandbox.home().display().to_string();
            let told = format!("commit\n{head} refs/heads/new file://{home}/r.git\n");
            assert!(theirs == raw || theirs == told, "{what}: {theirs}");
        }
        "yes"
    } else {
        "-"
    };
    let refused = world.run(&format!(
        "printf '[checkpoint]\\ntest = \"true\"\\n' >arkaint.toml; git add arkaint.toml; git commit -q --no-verify -m config
         echo n >>scripts/build.sh; git commit -q --no-verify -am x; {push}er"
    ));
    assert!(
        refused.code == Some(1) && refused.stderr.contains("scripts/build.sh"),
        "{what}: {:?} {}",
        refused.code,
        refused.stderr
    );
    if !theirs.ours {
        // The line to add keeps what is pushed in a file, for as long as it runs.
        world.ok("test -z \"$(ls -A ~/tmp)\"");
    }
    world.ok("git reset -q --hard HEAD~2");
    world.ok("git rm -q x.bin; git reset -q --soft HEAD~1; git restore --staged --worktree .");

    world.run("git arkaint hooks uninstall").expect(0);
    let left = if theirs.ours { &before } else { &added };
    assert_same(&world.state(), left, &what);
    let again = "echo n >>scripts/build.sh; git commit -qam 'without the guard'";
    world.run(again).expect(i32::from(!theirs.ours));
    let restored = if theirs.ours {
        "yes"
    } else {
        "nothing was written"
    };
    Some([installed, "yes", "yes", ran, restored])
}

/// report_git_lfs_3706, report_git_lfs_2865: LFS uploads. report_beads_2729, report_husky_1410: global hooks go on.
#[test]
#[expect(clippy::print_stdout, reason = "the table, for `--nocapture`")]
fn the_matrix_of_hooks_and_worktrees() {
    let turns: Vec<_> = gits()
        .into_iter()
        .enumerate()
        .flat_map(|(turn, git)| {
            let rows: Vec<_> = TABLE
                .iter()
                .flat_map(|theirs| PLACES.iter().map(move |place| (theirs, *place)))
                .collect();
            // Another git takes every fourth row: each place, and most of the tools.
            let some: Vec<_> = rows
                .into_iter()
                .step_by(if turn == 0 { 1 } else { 4 })
                .collect();
            some.into_iter().map(move |row| (git.clone(), row))
        })
        .collect();
    let cells = table::each(&turns, |(git, (theirs, place))| row(theirs, *place, git));
    let mut table = format!(
        "{:<17} {:<16} {:<21} {:<8} {:<8} {:<11} {}\n",
        "hooks", "place", "install", "refuses", "passes", "theirs ran", "uninstall restores"
    );
    for ((git, (theirs, place)), cell) in turns.iter().zip(&cells) {
        let Some([installed, refuses, passes, ran, restored]) = cell else {
            continue;
        };
        writeln!(
            table,
            "{:<17} {:<16} {installed:<21} {refuses:<8} {passes:<8} {ran:<11} {restored:<20} {}",
            theirs.name,
            place.0,
            git.display()
        )
        .unwrap();
    }
    println!("{table}");
    assert!(
        cells.iter().flatten().count() >= 4 * PLACES.len(),
        "{table}"
    );
}
