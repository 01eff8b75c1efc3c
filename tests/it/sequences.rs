//! Random sequences of what people and agents do in a worktree: afterwards a rollback gives the stable files back, by our eyes and by git's, and
//! a restore gives back what was there. The seed is printed.

use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::files::{File, Files, below};
use crate::sandbox::{Ran, Sandbox, is_long};

/// One step. Paths are numbers: of the few names that there are, so that steps meet.
#[derive(Clone, Debug)]
enum Step {
    Write(usize, u16),
    Delete(usize),
    Executable(usize, bool),
    Symlink(usize, usize),
    Rename(usize, usize),
    Folder(usize),
    Nested(usize, bool),
    Ignore(usize),
    Unignore,
    Stage,
    StageOne(usize),
    Commit,
    AssumeUnchanged(usize),
    SkipWorktree(usize),
    SameSizeAndTime(usize),
}

const NAMES: [&str; 14] = [
    "a",
    "b",
    "dir/a",
    "dir/b",
    "dir/sub/a",
    "dir",
    "A",
    "data/x",
    "data/y.log",
    "with space",
    "-dash",
    "ünï",
    "build/o",
    ".hidden",
];

fn step() -> impl Strategy<Value = Step> {
    let name = 0..NAMES.len();
    prop_oneof![
        6 => (name.clone(), any::<u16>()).prop_map(|(n, c)| Step::Write(n, c)),
        3 => name.clone().prop_map(Step::Delete),
        1 => (name.clone(), any::<bool>()).prop_map(|(n, x)| Step::Executable(n, x)),
        1 => (name.clone(), name.clone()).prop_map(|(n, m)| Step::Symlink(n, m)),
        2 => (name.clone(), name.clone()).prop_map(|(n, m)| Step::Rename(n, m)),
        1 => name.clone().prop_map(Step::Folder),
        1 => (name.clone(), any::<bool>()).prop_map(|(n, c)| Step::Nested(n, c)),
        1 => name.clone().prop_map(Step::Ignore),
        1 => Just(Step::Unignore),
        1 => Just(Step::Stage),
        1 => name.clone().prop_map(Step::StageOne),
        1 => Just(Step::Commit),
        1 => name.clone().prop_map(Step::AssumeUnchanged),
        1 => name.clone().prop_map(Step::SkipWorktree),
        1 => name.prop_map(Step::SameSizeAndTime),
    ]
}

/// Does it, where it can be done; what cannot be done is no step.
fn take(sandbox: &Sandbox, step: &Step) {
    let at = |n: &usize| sandbox.repo.join(NAMES[*n]);
    let clear = |path: &Path| {
        if path.is_dir() && !path.is_symlink() {
            let _ = fs::remove_dir_all(path);
        } else {
            let _ = fs::remove_file(path);
        }
        // A file may stand where a folder is wanted.
        let mut above = path.parent().unwrap();
        while above != sandbox.repo {
            if above.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
                let _ = fs::remove_file(above);
            }
            above = above.parent().unwrap();
        }
        let _ = fs::create_dir_all(path.parent().unwrap());
    };
    let git = |args: &[&str]| drop(sandbox.try_git(args));
    match step {
        Step::Write(n, content) => {
            clear(&at(n));
            fs::write(
                at(n),
                format!("{content}\n{}", "x\n".repeat(usize::from(content % 50))),
            )
            .unwrap();
        }
        Step::Delete(n) => clear(&at(n)),
        Step::Executable(n, on) => {
            if at(n).is_file() {
                let mode = if *on { 0o755 } else { 0o644 };
                let _ = fs::set_permissions(at(n), fs::Permissions::from_mode(mode));
            }
        }
        Step::Symlink(n, to) => {
            clear(&at(n));
            symlink(NAMES[*to], at(n)).unwrap();
        }
        Step::Rename(n, to) => {
            if at(n).symlink_metadata().is_ok()
                && !at(to).starts_with(at(n))
                && !at(n).starts_with(at(to))
            {
                clear(&at(to));
                let _ = fs::rename(at(n), at(to));
            }
        }
        Step::Folder(n) => {
            clear(&at(n));
            let _ = fs::create_dir_all(at(n).join("empty/er"));
        }
        Step::Nested(n, commit) => {
            clear(&at(n));
            let place = at(n).display().to_string();
            git(&["init", "-q", &place]);
            fs::write(at(n).join("inner"), "inner\n").unwrap();
            if *commit {
                git(&["-C", &place, "add", "-A"]);
                git(&["-C", &place, "commit", "-qm", "inner"]);
            }
        }
        Step::Ignore(n) => {
            let path = sandbox.repo.join(".gitignore");
            let mut text = fs::read_to_string(&path).unwrap_or_default();
            text.push_str(&format!("{}\n", NAMES[*n]));
            fs::write(path, text).unwrap();
        }
        Step::Unignore => drop(fs::write(sandbox.repo.join(".gitignore"), "")),
        Step::Stage => git(&["add", "-A"]),
        Step::StageOne(n) => git(&["add", "-f", "--", NAMES[*n]]),
        Step::Commit => git(&["commit", "-qam", "work"]),
        Step::AssumeUnchanged(n) => git(&["update-index", "--assume-unchanged", NAMES[*n]]),
        Step::SkipWorktree(n) => git(&["update-index", "--skip-worktree", NAMES[*n]]),
        Step::SameSizeAndTime(n) => {
            if at(n).is_file() && !at(n).is_symlink() {
                let time = fs::metadata(at(n)).unwrap().modified().unwrap();
                let turned: Vec<u8> = fs::read(at(n)).unwrap().into_iter().rev().collect();
                fs::write(at(n), turned).unwrap();
                fs::File::options()
                    .write(true)
                    .open(at(n))
                    .unwrap()
                    .set_modified(time)
                    .unwrap();
            }
        }
    }
}

/// Every file, those in repositories of their own but for.
fn files(sandbox: &Sandbox) -> Files {
    below(&sandbox.repo, |name| {
        sandbox.repo.join(name).join(".git").exists()
    })
}

fn holds(sandbox: &Sandbox, steps: &[Step]) -> Result<usize, TestCaseError> {
    let fail = |what: String| TestCaseError::fail(what);
    sandbox.git(["reset", "-q", "--hard", "base"]);
    sandbox.sh("git clean -ffdxq -e .arkaint; printf 'build/\\n*.log\\n' >.gitignore; echo a >a; mkdir -p dir/sub; echo b >b; chmod +x b; echo x >dir/a; ln -s ../a dir/b; echo s >dir/sub/a");
    let stable = sandbox.arkaint(["checkpoint", "-m", "stable"]);
    if stable.code != Some(0) {
        return Err(fail(format!("checkpoint: {}", stable.stderr)));
    }
    let stable = files(sandbox);
    for step in steps {
        take(sandbox, step);
    }
    let before = files(sandbox);
    let rolled = sandbox.arkaint(["rollback", "--json"]);
    if rolled.code != Some(0) {
        return Err(fail(format!(
            "rollback: {:?} {}",
            rolled.code, rolled.stderr
        )));
    }
    let after = files(sandbox);
    // Ignored by the stable rules: they stay.
    let is_ignored = |path: &Path| {
        let is_log = |part: &std::ffi::OsStr| part.as_bytes().ends_with(b".log");
        path.starts_with("build") && path != Path::new("build") || path.iter().any(is_log)
    };
    let kept = |all: &Files| -> Files {
        let kept = all.iter().filter(|(path, _)| !is_ignored(path));
        kept.map(|(path, file)| (path.clone(), file.clone()))
            .collect()
    };
    if kept(&after) != stable {
        return Err(fail(format!(
            "not the stable files: {:?} for {:?}",
            after.keys(),
            stable.keys()
        )));
    }
    // git's own view, but for repositories, which stay.
    let status = sandbox.git(["status", "--porcelain", "-z", "--untracked-files=all"]);
    let dirty: Vec<&str> = status
        .split_terminator('\0')
        .filter(|line| !line.ends_with('/'))
        .collect();
    if !dirty.is_empty() {
        return Err(fail(format!("git status: {status}")));
    }
    // Every byte is in the archive (or, ignored, on disk), and comes back.
    let id = rolled.json()["archive"].as_str().unwrap().to_owned();
    let restored = sandbox.arkaint(["discarded", "restore", &id]);
    if restored.code != Some(0) && !restored.stderr.contains("changed none of that") {
        return Err(fail(format!(
            "restore: {:?} {}",
            restored.code, restored.stderr
        )));
    }
    let back = files(sandbox);
    // Against the commit that it was made on: what the work had committed is in that commit.
    let commit = sandbox.arkaint(["discarded", "list", "--json"]).json();
    let archive = commit["discarded"]
        .as_array()
        .unwrap()
        .iter()
        .find(|a| a["id"] == *id)
        .unwrap()["commit"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut recovered = 0;
    for (path, File { content, .. }) in &before {
        let spec = format!("{archive}:{}", path.display());
        let shown = sandbox
            .command("git")
            .args(["cat-file", "blob", &spec])
            .output()
            .unwrap();
        let in_archive = shown.status.success() && shown.stdout == *content;
        let on_disk = after.get(path).is_some_and(|now| now.content == *content);
        if !in_archive && !on_disk {
            return Err(fail(format!("{} is lost", path.display())));
        }
        recovered += content.len();
    }
    let committed =
        sandbox.git(["rev-parse", "HEAD"]) != sandbox.git(["rev-parse", &format!("{archive}^1")]);
    // What lies in repositories is theirs, until they are where tracked files were.
    let nested = steps.iter().any(|step| matches!(step, Step::Nested(..)));
    if !committed && !nested && kept(&back) != kept(&before) {
        return Err(fail(format!(
            "restored {:?} for {:?}",
            back.keys(),
            before.keys()
        )));
    }
    Ok(recovered)
}

#[test]
fn whatever_was_done_a_rollback_undoes_it_and_a_restore_brings_it_back() {
    let cases = if is_long() { 500 } else { 20 };
    let seed = std::env::var("PROPTEST_RNG_SEED").unwrap_or_else(|_| "drawn anew".to_owned());
    let sandbox = Sandbox::ready("false");
    sandbox.git(["tag", "base"]);
    let config = Config {
        cases,
        max_shrink_iters: 60,
        failure_persistence: None,
        ..Config::default()
    };
    let (mut runner, bytes) = (TestRunner::new(config), std::cell::Cell::new(0));
    let ran = runner.run(&prop::collection::vec(step(), 1..14), |steps| {
        bytes.set(bytes.get() + holds(&sandbox, &steps)?);
        Ok(())
    });
    let line = format!(
        "{cases} sequences, seed {seed}: {} bytes, all of them in the archive or on disk\n",
        bytes.get()
    );
    let _ = std::io::stdout().write_all(line.as_bytes());
    if let Err(error) = ran {
        panic!("PROPTEST_RNG_SEED={seed}: {error}");
    }
}

/// A repository in an ignored place that the work committed as a link, and names that are patterns: found by a long run, or by thought.
#[test]
fn a_repository_is_kept_out_whatever_its_place_is_called() {
    let sandbox = Sandbox::ready("false");
    sandbox.write("stable", "stable\n");
    sandbox.arkaint(["checkpoint", "-q"]).expect(0);
    sandbox.git(["tag", "base"]);
    for name in ["b", "*", "[a-z]", "a\\\\b", "!x", "ü n"] {
        for ignored in [true, false] {
            sandbox.sh("git reset -q --hard base; git clean -qffdx -e .arkaint");
            let nested = sandbox.repo.join(name);
            fs::create_dir_all(&nested).unwrap();
            fs::write(sandbox.repo.join("beside"), "work\n").unwrap();
            let script = "git init -q . && echo in > in && git add in && git commit -qm in && git rev-parse HEAD";
            let mut sh = sandbox.command("sh");
            let made = sh.current_dir(&nested).args(["-c", script]).output();
            let head = Ran::from(made.unwrap()).expect(0).stdout;
            sandbox.sh("git -c advice.addEmbeddedRepo=false add -A && git commit -qm link");
            if ignored {
                let escaped: String = name.chars().flat_map(|c| ['\\', c]).collect();
                let exclude = sandbox.repo.join(".git/info/exclude");
                fs::write(exclude, format!("/{escaped}\n")).unwrap();
            }
            fs::write(nested.join("in"), "more\n").unwrap();
            sandbox.arkaint(["rollback"]).expect(0);
            sandbox.sh(": > .git/info/exclude");
            assert!(!sandbox.exists("beside"), "{name}");
            // The repository is nobody's but its own: it is there, or moved aside whole, with what it had not committed.
            let found = sandbox.sh("find . .git/arkaint -name in -not -path '*/objects/*'");
            let what = format!("{name}, ignored: {ignored}: {found}");
            let found: Vec<&str> = found.lines().collect();
            let [inner] = found.as_slice() else {
                panic!("{what}");
            };
            assert_eq!(sandbox.read(inner), "more\n", "{what}");
            let git = |args: &[&str]| {
                let there = sandbox.repo.join(inner).parent().unwrap().to_owned();
                let mut git = sandbox.command("git");
                Ran::from(git.arg("-C").arg(there).args(args).output().unwrap())
                    .expect(0)
                    .stdout
            };
            assert_eq!(git(&["rev-parse", "HEAD"]), head, "{what}");
            assert_eq!(git(&["show", "HEAD:in"]), "in\n", "{what}");
            assert_eq!(git(&["status", "--porcelain"]), " M in\n", "{what}");
            git(&["fsck", "--full", "--strict"]);
        }
    }
}
