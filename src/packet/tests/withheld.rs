//! No content of a sensitive path, on whichever side of a change and wherever else it turns up.

use super::*;

const DECOY: &str = "TOKEN=SENSITIVE_DECOY_1\nPASSWORD=SENSITIVE_DECOY_2\nURL=SENSITIVE_DECOY_3\n";

#[track_caller]
fn withheld(repo: &Repo, given: &Given, least: usize) -> String {
    let packet = given.build(repo).unwrap();
    let text = given.piped(repo);
    assert!(!text.contains("SENSITIVE_DECOY"), "{text}");
    assert!(
        packet.sensitive_left_out >= least,
        "{}",
        packet.sensitive_left_out
    );
    text
}

#[test]
fn a_sensitive_path_is_listed_and_its_content_left_out() {
    let repo = Repo::new();
    repo.write(".env", DECOY);
    repo.write("secrets/deep/key", DECOY);
    let old = repo.commit("old");
    repo.write(".env", format!("{DECOY}X=SENSITIVE_DECOY_4\n"));
    repo.remove("secrets/deep/key");
    repo.write("server.pem", "SENSITIVE_DECOY_5\n");
    repo.write("src/lib.rs", "fn main() {}\n");
    let new = repo.commit("new");
    let text = withheld(&repo, &Given::new(history(&[old, new])).preload(&["**"]), 3);
    assert!(
        text.contains(" .env | +1 -0, sensitive\n")
            && text.contains(" secrets/deep/key | +0 -3, deleted, sensitive\n"),
        "{text}"
    );
    assert!(
        text.contains("+fn main() {}\n") && text.contains("3 sensitive paths left out"),
        "{text}"
    );
}

#[test]
fn either_side_of_a_rename() {
    let repo = Repo::new();
    repo.write(".env", DECOY);
    repo.write("notes.txt", DECOY.replace("DECOY", "DECOY_N"));
    let first = repo.commit("1");
    repo.rename(".env", "settings.txt");
    repo.rename("notes.txt", "secrets/notes.txt");
    let second = repo.commit("2");
    let text = withheld(
        &repo,
        &Given::new(history(&[first, second])).preload(&["*.txt"]),
        2,
    );
    assert!(
        text.contains(" .env => settings.txt | renamed, sensitive\n"),
        "{text}"
    );
    repo.rename("settings.txt", ".env");
    repo.rename("secrets/notes.txt", "notes.txt");
    let third = repo.commit("3");
    withheld(
        &repo,
        &Given::new(history(&[second, third])).preload(&["*.txt"]),
        2,
    );
}

#[test]
fn two_that_change_places() {
    let repo = Repo::new();
    repo.write(".env", DECOY);
    repo.write("notes.txt", DECOY.replace("DECOY", "DECOY_N"));
    let old = repo.commit("old");
    repo.rename(".env", "x");
    repo.rename("notes.txt", ".env");
    repo.rename("x", "notes.txt");
    let new = repo.commit("new");
    withheld(
        &repo,
        &Given::new(history(&[old, new])).preload(&["*.txt"]),
        1,
    );
}

#[test]
fn a_renamed_one_that_was_edited_split_or_buried() {
    let repo = Repo::new();
    repo.write(".env", DECOY);
    repo.write("host.txt", numbered(0, 40));
    let old = repo.commit("old");
    repo.remove(".env");
    // Too different to be seen as a rename: twenty lines around the three.
    repo.write(
        "app.conf",
        format!("{}{DECOY}{}", numbered(100, 120), numbered(200, 220)),
    );
    // Indented, with other line ends, one line only.
    repo.write("deploy.yaml", "env:\n    TOKEN=SENSITIVE_DECOY_1\r\n");
    repo.write("host.txt", format!("{}{DECOY}", numbered(0, 40)));
    let new = repo.commit("new");
    let text = withheld(
        &repo,
        &Given::new(history(&[old, new])).preload(&["*.conf", "*.yaml"]),
        1,
    );
    assert!(
        text.contains("+[left out: also a line of a sensitive path]\n")
            && text.contains("+line 110 of the file\n"),
        "{text}"
    );
}

#[test]
fn among_too_many_files_to_look_for_renames() {
    let repo = Repo::new();
    let mut stream = String::new();
    for (mark, folder, env) in [(1, "old", ".env"), (2, "new", "a.txt")] {
        let _ = writeln!(
            stream,
            "commit refs/heads/main\nmark :{mark}\ncommitter T <t@example.invalid> 170000000{mark} +0000\ndata 0"
        );
        let _ = writeln!(stream, "deleteall");
        for n in 0..2500 {
            let content = format!("{folder}\n{n}\n{n}\n{folder}\n");
            let _ = writeln!(
                stream,
                "M 100644 inline {folder}/{n}\ndata {}\n{content}",
                content.len()
            );
        }
        let content = if mark == 1 {
            DECOY.to_owned()
        } else {
            format!("{DECOY}one line more\n")
        };
        let _ = writeln!(
            stream,
            "M 100644 inline {env}\ndata {}\n{content}",
            content.len()
        );
    }
    repo.git_with(["fast-import", "--quiet"], stream.as_bytes());
    let commits = [repo.rev("main~"), repo.rev("main")];
    let text = withheld(&repo, &Given::new(history(&commits)).preload(&["a.txt"]), 1);
    assert!(
        text.contains("files that were renamed and edited show as deleted and new"),
        "{text}"
    );
    assert!(text.contains("one line more\n"));
}

#[test]
fn work_in_flight_is_no_way_round() {
    let repo = Repo::new();
    repo.write(".env", DECOY);
    let stable = repo.commit("stable");
    repo.rename(".env", "b.txt");
    repo.write(
        "b.txt",
        format!("{DECOY}more\nand more\nand yet more\nand on\n"),
    );
    let current = repo.commit("on disk");
    let mut given = Given::new(history(&[stable])).preload(&["b.txt"]);
    given.in_flight = Some((
        repo.rev(&format!("{stable}^{{tree}}")),
        repo.rev(&format!("{current}^{{tree}}")),
    ));
    withheld(&repo, &given, 1);
}
