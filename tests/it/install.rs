//! `install.sh`, with the programs under test in place of a release build: what it writes, what it leaves alone, what it takes back.
//! That it builds is seen by CI, which runs it as a user would.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::{Ran, Sandbox};

fn install(sandbox: &Sandbox, words: &[&str]) -> Ran {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh");
    sandbox
        .command("sh")
        .arg(script)
        .args(words)
        .arg("--from")
        .arg(Sandbox::bin())
        .output()
        .unwrap()
        .into()
}

/// Every path below a folder, folders with a slash at the end.
fn tree(dir: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let (path, is_dir) = (entry.path(), entry.file_type().unwrap().is_dir());
            let name = path.strip_prefix(dir).unwrap().to_str().unwrap();
            found.insert(if is_dir {
                format!("{name}/")
            } else {
                name.to_owned()
            });
            if is_dir {
                left.push(path);
            }
        }
    }
    found
}

fn prefix(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".local")
}

/// report_cargo_binstall_1978, report_cargo_2729.
#[test]
fn all_parts_are_installed_where_git_man_and_the_shells_find_them() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.home().join(".bashrc"), "# mine\n").unwrap();
    let before = tree(sandbox.home());
    let ran = install(&sandbox, &[]).expect(0);
    let prefix = prefix(&sandbox);
    let export = format!("export PATH=\"{}/bin:$PATH\"", prefix.display());
    assert!(ran.stdout.contains(&export), "{}", ran.stdout);

    let git = |words: &[&str]| {
        let path = format!("{}/bin:/usr/local/bin:/usr/bin:/bin", prefix.display());
        let mut git = sandbox.command("git");
        let ran: Ran = git
            .args(words)
            .env("PATH", path)
            .env("MANPAGER", "cat")
            .output()
            .unwrap()
            .into();
        ran.expect(0).stdout
    };
    for verb in [
        "arkaint",
        "arkaint-checkpoint",
        "arkaint-boot",
        "arkaint-cycle",
    ] {
        assert!(git(&[verb, "-h"]).contains("Usage: git arkaint"), "{verb}");
    }
    // git itself finds us, and says so.
    let listed = git(&["help", "-a"]);
    let ours: Vec<&str> = listed
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("arkaint"))
        .collect();
    assert_eq!(
        ours,
        [
            "arkaint",
            "arkaint-boot",
            "arkaint-checkpoint",
            "arkaint-cycle"
        ]
    );
    if sandbox.command("man").arg("--version").output().is_ok() {
        assert!(git(&["arkaint", "--help"]).contains("GIT-ARKAINT(1)"));
    }
    let there = tree(&prefix);
    for part in [
        "share/man/man1/git-arkaint-cycle.1",
        "share/bash-completion/completions/git-arkaint",
        "share/zsh/site-functions/_git-arkaint",
        "share/fish/vendor_conf.d/git-arkaint.fish",
    ] {
        assert!(there.contains(part), "{part}");
    }

    install(&sandbox, &["--uninstall"]).expect(0);
    assert_eq!(tree(sandbox.home()), before);
    assert!(
        install(&sandbox, &["--uninstall"])
            .expect(0)
            .stdout
            .starts_with("nothing of Arkaint")
    );
}

#[test]
fn on_path_nothing_is_left_to_say_and_a_second_time_replaces_the_first() {
    let sandbox = Sandbox::new();
    let prefix = sandbox.home().join("my prefix");
    let words = ["--prefix", prefix.to_str().unwrap()];
    install(&sandbox, &words).expect(0);
    let first = tree(&prefix);
    // An older version brought a page that this one does not.
    let manifest = prefix.join("share/git-arkaint/manifest");
    let old = prefix.join("share/man/man1/git-arkaint-old.1");
    fs::write(&old, "").unwrap();
    fs::write(
        &manifest,
        fs::read_to_string(&manifest).unwrap() + "f share/man/man1/git-arkaint-old.1\n",
    )
    .unwrap();

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh");
    let path = format!("{}/bin:{}", prefix.display(), sandbox.path());
    let mut again = sandbox.command("sh");
    let again = again
        .arg(script)
        .args(words)
        .arg("--from")
        .arg(Sandbox::bin())
        .env("PATH", path);
    let said = Ran::from(again.output().unwrap()).expect(0).stdout;
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(tree(&prefix), first);
    install(&sandbox, &[&words[..], &["--uninstall"]].concat()).expect(0);
    assert!(!prefix.exists());
}

#[test]
fn what_is_not_ours_is_neither_overwritten_nor_removed() {
    let sandbox = Sandbox::new();
    let prefix = prefix(&sandbox);
    fs::create_dir_all(prefix.join("bin")).unwrap();
    fs::write(prefix.join("bin/git-arkaint-boot"), "mine\n").unwrap();
    let before = tree(&prefix);
    let no = install(&sandbox, &[]).expect(1);
    assert!(
        no.stderr.starts_with("install: ") && no.stderr.contains("\nhint: "),
        "{}",
        no.stderr
    );
    assert_eq!(tree(&prefix), before);

    fs::remove_file(prefix.join("bin/git-arkaint-boot")).unwrap();
    fs::write(prefix.join("bin/other"), "mine\n").unwrap();
    install(&sandbox, &[]).expect(0);
    // A list that someone has bent names nothing outside the prefix.
    fs::write(sandbox.home().join("precious"), "").unwrap();
    let manifest = prefix.join("share/git-arkaint/manifest");
    fs::write(
        &manifest,
        fs::read_to_string(&manifest).unwrap()
            + "f ../precious\nf bin/../../precious\nf /etc/hostname\n",
    )
    .unwrap();
    install(&sandbox, &["--uninstall"]).expect(0);
    assert_eq!(
        tree(&prefix),
        BTreeSet::from(["bin/".to_owned(), "bin/other".to_owned()])
    );
    assert!(sandbox.home().join("precious").exists());
}

#[test]
fn a_wrong_call_is_one_line_and_a_hint() {
    let sandbox = Sandbox::new();
    for words in [
        &["--prefx"][..],
        &["--prefix"],
        &["--prefix="],
        &["--demo", "--uninstall"],
        &["now"],
    ] {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh");
        let ran: Ran = sandbox
            .command("sh")
            .arg(script)
            .args(words)
            .output()
            .unwrap()
            .into();
        let lines: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(
            (ran.code, lines.len()),
            (Some(1), 2),
            "{words:?}: {}",
            ran.stderr
        );
        assert!(
            lines[0].starts_with("install: ") && lines[1].starts_with("hint: "),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn root_in_the_home_of_another_is_refused_unless_a_prefix_is_named() {
    let sandbox = Sandbox::new();
    if std::os::unix::fs::chown(sandbox.home(), Some(12345), None).is_err() {
        return; // Only root may give a folder away.
    }
    let no = install(&sandbox, &[]).expect(1);
    assert!(no.stderr.contains("which is not root's"), "{}", no.stderr);
    let named = sandbox.home().join("named");
    install(&sandbox, &["--prefix", named.to_str().unwrap()]).expect(0);
}
