//! Patches and counts against git's own.

use proptest::prelude::*;

use super::*;

fn patches(repo: &Repo, old: Oid, new: Oid) -> Vec<u8> {
    look(repo, old, new, &|_| false)
        .patches
        .into_iter()
        .flat_map(|patch| patch.text)
        .collect()
}

fn rows(repo: &Repo, old: Oid, new: Oid) -> Vec<String> {
    let survey = look(repo, old, new, &sensitive);
    survey
        .rows
        .iter()
        .map(|row| row.trim().to_owned())
        .collect()
}

/// git's patch less what ours does not say: object names, similarity, the function behind a hunk's place.
fn git_patch(repo: &Repo, old: Oid, new: Oid) -> String {
    let (old, new) = (old.to_string(), new.to_string());
    let out = repo.git([
        "-c",
        "core.quotePath=false",
        "diff",
        "-U2",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        &old,
        &new,
    ]);
    let mut kept = String::new();
    for line in String::from_utf8_lossy(&out).lines() {
        if line.starts_with("index ") || line.starts_with("similarity index ") {
            continue;
        }
        match line.strip_prefix("@@ ").and_then(|rest| rest.find(" @@")) {
            Some(end) => kept.push_str(&line[..end + 6]),
            // git ends names with spaces by a tab, for the sake of `patch`.
            None if line.starts_with("--- ") || line.starts_with("+++ ") => {
                kept.push_str(line.trim_end_matches('\t'));
            }
            None => kept.push_str(line),
        }
        kept.push('\n');
    }
    kept
}

#[track_caller]
fn same(ours: &str, theirs: &str) {
    for (at, (a, b)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(a, b, "line {at}\nours:\n{ours}\ntheirs:\n{theirs}");
    }
    assert_eq!(
        ours.lines().count(),
        theirs.lines().count(),
        "ours:\n{ours}\ntheirs:\n{theirs}"
    );
}

/// Added, deleted, edited, emptied, renamed, made executable, linked; odd names; no newline at the end.
fn every_kind(options: &[&str]) -> (Repo, Oid, Oid) {
    let repo = Repo::init(options);
    repo.write("changed.rs", numbered(0, 60));
    repo.write("gone.txt", "a\nb\n");
    repo.write("moved/from.txt", numbered(0, 30));
    repo.write("moved-only.txt", numbered(100, 130));
    repo.write("run.sh", "#!/bin/sh\n");
    repo.write("tail.txt", "one\ntwo");
    repo.write("crlf.txt", "a\r\nb\r\nc\r\n");
    repo.write("becomes-empty", "x\n");
    repo.write("latin", b"caf\xe9\nsecond\n");
    repo.link("changed.rs", "link");
    repo.link("changed.rs", "link-to-file");
    repo.write(b"odd \xff name\n\"x\"", "1\n");
    let old = repo.commit("old");
    let edited = numbered(0, 60)
        .replace("line 3 ", "line three ")
        .replace("line 7 ", "line seven ");
    repo.write("changed.rs", edited.replace("line 50 ", "line fifty "));
    repo.remove("gone.txt");
    repo.rename("moved/from.txt", "elsewhere/to.txt");
    repo.write(
        "elsewhere/to.txt",
        numbered(0, 30).replace("line 9 ", "line nine "),
    );
    repo.rename("moved-only.txt", "moved-there.txt");
    repo.executable("run.sh");
    repo.write("tail.txt", "one\ntwo\nthree");
    repo.write("crlf.txt", "a\r\nB\r\nc\r\n");
    repo.write("becomes-empty", "");
    repo.write("empty", "");
    repo.write("new.txt", "n\n");
    repo.write("latin", b"caf\xe9\nsecond \xe9\n");
    repo.remove("link");
    repo.link("run.sh", "link");
    repo.remove("link-to-file");
    repo.write("link-to-file", "now a file\n");
    repo.write(b"odd \xff name\n\"x\"", "2\n");
    repo.write("tïtle.txt", "umlaut\n");
    let new = repo.commit("new");
    (repo, old, new)
}

#[test]
fn patches_are_git_s_own() {
    for options in [&[][..], &["--object-format=sha256"]] {
        let (repo, old, new) = every_kind(options);
        let ours = patches(&repo, old, new);
        // Asked for plain names, git prints bytes that are no UTF-8 as they are; we keep them octal.
        same(
            &String::from_utf8_lossy(&ours).replace("\\377", "\u{fffd}"),
            &git_patch(&repo, old, new),
        );
    }
}

#[test]
fn counts_are_numstat_s() {
    let (repo, old, new) = every_kind(&[]);
    let out = repo.git([
        "-c",
        "core.quotePath=false",
        "diff",
        "--numstat",
        &old.to_string(),
        &new.to_string(),
    ]);
    let rows = rows(&repo, old, new);
    let mut compared = 0;
    for line in String::from_utf8_lossy(&out).lines() {
        let [added, removed, name] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        if name.contains(['=', '"']) || name == "link-to-file" {
            continue;
        }
        let row = rows
            .iter()
            .find(|row| row.starts_with(&format!("{name} |")))
            .unwrap_or_else(|| panic!("{name} in {rows:?}"));
        assert!(
            row.contains(&format!("+{added} -{removed}")) || (added, removed) == ("0", "0"),
            "{line}: {row}"
        );
        compared += 1;
    }
    assert!(compared >= 9, "{compared}");
    assert!(
        rows.contains(&"moved/from.txt => elsewhere/to.txt | +1 -1, renamed".to_owned()),
        "{rows:?}"
    );
    assert!(rows.contains(&"moved-only.txt => moved-there.txt | renamed".to_owned()));
    assert!(rows.contains(&"run.sh | mode 100644 => 100755".to_owned()));
    assert!(
        rows.contains(&"link-to-file | +0 -1, deleted link".to_owned())
            && rows.contains(&"link-to-file | +1 -0, new".to_owned())
    );
    assert!(rows.contains(&"empty | new".to_owned()));
    assert!(rows.contains(&"\"odd \\377 name\\n\\\"x\\\"\" | +1 -1".to_owned()));
}

#[test]
fn binary_large_and_submodules_are_named_not_shown() {
    let repo = Repo::new();
    repo.write("logo.png", b"\x89PNG\0\x01");
    repo.write("data.json", "x".repeat(10 << 20));
    repo.write("lines.csv", "1,2,3\n".repeat(300_000));
    repo.write("package-lock.json", "{\n}\n");
    repo.write("vendor/.gitattributes", "*.min.js binary\n");
    repo.write("vendor/a.min.js", "a()\n");
    repo.write(".gitattributes", "package-lock.json -diff\n");
    let old = repo.commit("old");
    repo.write("logo.png", b"\x89PNG\0\x01\x02\x03");
    repo.write("data.json", "y".repeat(11 << 20));
    repo.write("lines.csv", "1,2,4\n".repeat(300_000));
    repo.write("package-lock.json", "{\n1\n}\n");
    repo.write("vendor/a.min.js", "b()\n");
    repo.git(["add", "-A"]);
    repo.git([
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{old},vendor/lib"),
    ]);
    repo.git(["commit", "-q", "-m", "new"]);
    let new = repo.rev("HEAD");

    assert_eq!(
        rows(&repo, old, new),
        [
            "data.json | too large to compare 10.0 MiB => 11.0 MiB",
            "lines.csv | too large to compare 1.7 MiB => 1.7 MiB",
            "logo.png | binary 6 B => 8 B",
            "package-lock.json | binary 4 B => 6 B",
            "vendor/a.min.js | binary 4 B => 4 B",
            "vendor/lib | submodule, new",
        ]
    );
    let text = String::from_utf8(patches(&repo, old, new)).unwrap();
    assert!(
        text.len() < 1200 && text.contains(&format!("+Subproject commit {old}\n")),
        "{text}"
    );
    Given::new(history(&[old, new])).piped(&repo);
}

#[test]
fn a_change_of_line_ends_is_said() {
    let repo = Repo::new();
    repo.write("a.txt", "1\r\n2\r\n");
    let old = repo.commit("old");
    repo.write("a.txt", "1\n2\n");
    let new = repo.commit("new");
    let text = Given::new(history(&[old, new])).piped(&repo);
    assert!(
        text.contains("line ends CRLF => LF\n--- a/a.txt\n"),
        "{text}"
    );
}

#[test]
fn a_settings_driver_or_attribute_of_the_repository_runs_nothing() {
    let repo = Repo::new();
    repo.write(".gitattributes", "*.txt diff=evil filter=evil\n");
    repo.write("a.txt", "1\n");
    let old = repo.commit("old");
    let mark = repo.root().join("ran");
    let evil = format!("touch {}; cat", mark.display());
    for key in [
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.smudge",
        "filter.evil.clean",
        "diff.external",
        "core.fsmonitor",
    ] {
        repo.git(["config", key, &evil]);
    }
    repo.git(["config", "diff.algorithm", "nonsense"]);
    repo.git_with(
        ["update-index", "--add", "--index-info"],
        format!(
            "100644 {} 0\ta.txt\n",
            String::from_utf8_lossy(&repo.git_with(["hash-object", "-w", "--stdin"], b"2\n"))
                .trim()
        )
        .as_bytes(),
    );
    let tree = String::from_utf8(repo.git(["write-tree"])).unwrap();
    let new = repo.git(["commit-tree", "-m", "new", tree.trim()]);
    let new = Oid::from_hex(new.trim_ascii()).unwrap();
    let _ = std::fs::remove_file(&mark);
    let text = Given::new(history(&[old, new]))
        .preload(&["**"])
        .piped(&repo);
    assert!(text.contains("\n-1\n+2\n"), "{text}");
    assert!(!mark.exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// A patch of ours is a patch: applied to the old tree by git, it gives the new one.
    #[test]
    fn patches_apply(files in prop::collection::vec((lines(), lines(), any::<bool>(), any::<bool>()), 1..12)) {
        let repo = Repo::new();
        for (at, (old, ..)) in files.iter().enumerate() {
            repo.write(format!("f{at}"), old);
        }
        let old = repo.commit("old");
        for (at, (_, new, executable, gone)) in files.iter().enumerate() {
            repo.write(format!("f{at}"), new);
            if *executable {
                repo.executable(&format!("f{at}"));
            }
            if *gone {
                repo.remove(format!("f{at}"));
            }
        }
        let new = repo.commit("new");
        let patch: Vec<u8> = patches(&repo, old, new)
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| !line.starts_with(b"line ends "))
            .flatten()
            .copied()
            .collect();
        repo.git(["read-tree", &old.to_string()]);
        if !patch.is_empty() {
            repo.git_with(["apply", "--cached", "--whitespace=nowarn", "-"], &patch);
        }
        let tree = repo.git(["write-tree"]);
        prop_assert_eq!(String::from_utf8_lossy(tree.trim_ascii()).into_owned(), repo.rev(&format!("{new}^{{tree}}")).to_string());
    }
}

/// A file of few different lines, so that many of them repeat; with and without a last newline.
fn lines() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "a",
        "b",
        "c",
        "",
        "  x",
        "}",
        "end\r",
        "@@ -1 +1 @@",
        "--- a",
        "+++ b",
        "\\ No newline",
    ]);
    (prop::collection::vec(line, 0..40), any::<bool>()).prop_map(|(lines, newline)| {
        let text = lines.join("\n");
        if newline && !text.is_empty() {
            text + "\n"
        } else {
            text
        }
    })
}
