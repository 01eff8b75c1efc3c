//! The manual: the pages in `man/` are those that the program makes, read without a warning, and are what `git arkaint --help` shows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::sandbox::Sandbox;

fn committed() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("man")
}

/// All pages below a folder, by name.
fn pages(dir: &Path) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    for section in fs::read_dir(dir).unwrap().flatten() {
        for page in fs::read_dir(section.path()).unwrap().flatten() {
            pages.insert(
                page.file_name().into_string().unwrap(),
                fs::read_to_string(page.path()).unwrap(),
            );
        }
    }
    pages
}

/// After a change of the words or of the hand-written parts: `UPDATE=1 cargo test --test it man`.
#[test]
fn the_committed_pages_are_those_that_the_program_makes() {
    let sandbox = Sandbox::new();
    if std::env::var_os("UPDATE").is_some() {
        sandbox
            .arkaint([
                "man".as_ref(),
                "--install".as_ref(),
                committed().as_os_str(),
            ])
            .expect(0);
    }
    let made = sandbox.home().join("man");
    sandbox
        .arkaint(["man".as_ref(), "--install".as_ref(), made.as_os_str()])
        .expect(0);
    let (made, committed) = (pages(&made), pages(&committed()));
    assert_eq!(
        made.keys().collect::<Vec<_>>(),
        committed.keys().collect::<Vec<_>>()
    );
    for (name, text) in &made {
        assert!(
            *text == committed[name],
            "man/ is stale at {name}: UPDATE=1 cargo test --test it man"
        );
    }
    assert!(
        made.contains_key("git-arkaint-cycle.1")
            && made.contains_key("git-arkaint-discarded-restore.1")
    );
}

#[test]
fn the_pages_are_read_without_a_warning() {
    let sandbox = Sandbox::new();
    for (name, text) in pages(&committed()) {
        assert!(
            text.lines().all(|line| !line.starts_with(' ')),
            "{name}: a line that roff would break on"
        );
        sandbox.write(&name, &text);
        let ran = sandbox
            .command("man")
            .args(["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", &name])
            .output();
        let Ok(ran) = ran else { return };
        assert_eq!(
            (
                ran.status.success(),
                String::from_utf8_lossy(&ran.stderr).as_ref()
            ),
            (true, ""),
            "{name}"
        );
    }
}

#[test]
fn git_arkaint_help_is_the_page_of_the_manual() {
    let sandbox = Sandbox::new();
    if sandbox.command("man").arg("--version").output().is_err() {
        return;
    }
    let help = |words: &[&str]| {
        let mut git = sandbox.command("git");
        let run = git
            .args(words)
            .env("MANPATH", committed())
            .env("MANPAGER", "cat")
            .env("MANWIDTH", "80");
        String::from_utf8(run.output().unwrap().stdout).unwrap()
    };
    let page = help(&["arkaint", "--help"]);
    assert!(
        page.contains("GIT-ARKAINT(1)") && page.contains("git-arkaint-cycle(1)"),
        "{page}"
    );
    assert!(help(&["arkaint-cycle", "--help"]).contains("OUTCOMES"));
    assert!(help(&["help", "arkaint-checkpoint"]).contains("TRAILERS"));
}

#[test]
fn one_page_is_printed_by_either_of_its_names_and_an_unknown_one_is_refused() {
    let sandbox = Sandbox::new();
    let short = sandbox.arkaint(["man", "cycle"]).expect(0).stdout;
    assert!(
        short.contains(".TH GIT-ARKAINT-CYCLE 1")
            && short
                == sandbox
                    .arkaint(["man", "git-arkaint-cycle"])
                    .expect(0)
                    .stdout
    );
    assert_eq!(
        sandbox.arkaint(["man", "cycle", "--json"]).expect(0).json()["text"],
        short.as_str()
    );
    let no = sandbox.arkaint(["man", "cylce"]).expect(2);
    assert_eq!(
        no.stderr,
        "arkaint: no manual page cylce\nhint: git arkaint man cycle\n"
    );
}

#[test]
fn installed_without_a_folder_the_pages_lie_where_man_looks_for_them() {
    let sandbox = Sandbox::new();
    let bin = sandbox.home().join("prefix/bin");
    fs::create_dir_all(&bin).unwrap();
    // By another process: a program that a test writes itself is busy for as long as a child that was forked meanwhile has it open.
    sandbox.sh(&format!(
        "cp {} {}/",
        env!("CARGO_BIN_EXE_git-arkaint"),
        bin.display()
    ));
    let ran = sandbox
        .command(bin.join("git-arkaint"))
        .args(["man", "--install"])
        .output()
        .unwrap();
    assert!(ran.status.success());
    let page = sandbox.home().join("prefix/share/man/man1/git-arkaint.1");
    assert!(fs::read_to_string(page).unwrap().contains("EXIT STATUS"));
}
