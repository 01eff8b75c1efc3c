//! The house keeps its order: the map in `src/lib.rs` is read, and `src/` is held to it; `tests/it/` is held to what concerns tests. It knows no
//! type and no meaning.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Rooms that may name gix types, to read objects and refs through a `Worktree`.
const READERS: [&str; 6] = ["git", "ledger", "guard", "archive", "decay", "packet"];

const LONGEST: usize = 600;

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every Rust file below a folder, by its path from there.
fn files(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(folder) = left.pop() {
        for path in fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path
                    .strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

/// The room of a file; none for `lib.rs` and the binaries, which stand above all.
fn room(file: &str) -> Option<&str> {
    let room = file.split('/').next().unwrap().trim_end_matches(".rs");
    (!matches!(room, "lib" | "bin")).then_some(room)
}

/// The floor of each room, 0 at the top, as the map in `lib.rs` draws it.
fn floors() -> BTreeMap<String, usize> {
    let text = fs::read_to_string(src().join("lib.rs")).unwrap();
    let prose: String = text
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .collect();
    let map = prose
        .split("holds it):")
        .nth(1)
        .expect("the map follows the word of this test");
    let map = map.split("Only `git`").next().unwrap();
    let floor = Regex::new("`([a-z ]+)`").unwrap();
    let rooms = floor
        .captures_iter(map)
        .enumerate()
        .flat_map(|(number, names)| {
            let names: Vec<String> = names[1].split(' ').map(str::to_owned).collect();
            names.into_iter().map(move |name| (name, number))
        });
    rooms.collect()
}

/// The code of a file that is built into the program: no comments, no tests. It relies on rustfmt's indentation.
fn code(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let (indent, trimmed) = (line.len() - line.trim_start().len(), line.trim_start());
        if trimmed.starts_with("#[cfg(test)]") {
            // One item: to its closing brace at the same depth, or to its semicolon.
            for line in lines.by_ref() {
                if line.ends_with(';') && line.len() - line.trim_start().len() == indent
                    || line == format!("{}}}", " ".repeat(indent))
                {
                    break;
                }
            }
        } else if !trimmed.starts_with("//") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The rooms that a file names: `crate::room` anywhere, and each first name of `crate::{a, b::c}`.
fn named(code: &str) -> Vec<String> {
    let single = Regex::new(r"\bcrate::([a-z_]+)").unwrap();
    let group = Regex::new(r"\bcrate::\{").unwrap();
    let mut names: Vec<String> = single
        .captures_iter(code)
        .map(|found| found[1].to_owned())
        .collect();
    for found in group.find_iter(code) {
        let (mut depth, mut word) = (0, String::new());
        for c in code[found.end()..].chars() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => names.push(std::mem::take(&mut word)),
                c if depth == 0 => word.push(c),
                _ => {}
            }
        }
        names.push(word);
    }
    let first = |name: String| name.trim().split("::").next().unwrap().to_owned();
    names
        .into_iter()
        .map(first)
        .filter(|name| !name.is_empty())
        .collect()
}

/// What is wrong with one file.
fn faults(file: &str, text: &str, floors: &BTreeMap<String, usize>) -> Vec<String> {
    let mut faults = Vec::new();
    if file.ends_with("tests.rs") {
        return faults;
    }
    if text.lines().count() > LONGEST {
        faults.push(format!("{file} has more than {LONGEST} lines"));
    }
    if !text.starts_with("//!") && room(file).is_some() {
        faults.push(format!("{file} does not say what it is for (`//!`)"));
    }
    let (Some(room), code) = (room(file), code(text)) else {
        return faults;
    };
    let Some(floor) = floors.get(room) else {
        faults.push(format!(
            "{file}: the room {room} is not on the map of src/lib.rs"
        ));
        return faults;
    };
    for other in named(&code).iter().filter(|other| *other != room) {
        match floors.get(other) {
            Some(below) if below > floor => {}
            Some(_) => faults.push(format!(
                "{file}: {room} uses {other}, which does not stand below it"
            )),
            None => faults.push(format!(
                "{file} names crate::{other}, which is no room of the map"
            )),
        }
    }
    let starts = Regex::new(r"\bduct::|\bCommand::new\(").unwrap();
    if starts.is_match(&code) && !matches!(room, "git" | "process") {
        faults.push(format!("{file}: only git and process start programs"));
    }
    // gix alone misses a ref that git packs meanwhile.
    let looks = Regex::new(r"try_find_reference|\.references\(\)").unwrap();
    if looks.is_match(&code) && file != "git/ref_look.rs" {
        faults.push(format!("{file}: only git/ref_look.rs looks refs up"));
    }
    // Git's matcher of globs and its reader of URLs read no repository: any room may ask them.
    let reads = code.replace("gix::glob::", "").replace("gix::url::", "");
    if Regex::new(r"\bgix::").unwrap().is_match(&reads) && !READERS.contains(&room) {
        faults.push(format!("{file}: only {READERS:?} name gix"));
    }
    faults
}

#[test]
fn no_arrow_runs_back_up_and_no_file_outgrows_its_purpose() {
    let floors = floors();
    assert!(
        floors.len() > 15 && floors["command"] < floors["git"],
        "the map is not read: {floors:?}"
    );
    let faults: Vec<String> = files(&src())
        .iter()
        .flat_map(|(file, text)| faults(file, text, &floors))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What a file of tests may not be.
fn test_faults(file: &str, text: &str) -> Vec<String> {
    // bash's -e passes over a negated command, so that this one could not fail; in a subshell it can.
    let negated = Regex::new(r"(?m)(?:;|^)\s*! [a-z]").unwrap();
    let mut faults = Vec::new();
    if !text.starts_with("//! ") {
        faults.push(format!("{file} does not open with what it is for (//!)"));
    }
    if text.lines().count() > LONGEST {
        faults.push(format!("{file} has more than {LONGEST} lines"));
    }
    if let Some(found) = negated.find(text) {
        let line = text[..found.end()].lines().count();
        faults.push(format!("{file}:{line}: a negation that cannot fail: (! …)"));
    }
    faults
}

#[test]
fn the_tests_keep_the_order_of_the_house_too() {
    let tests = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it"));
    let faults: Vec<String> = tests
        .iter()
        .flat_map(|(file, text)| test_faults(file, text))
        .collect();
    assert!(tests.len() > 50 && faults.is_empty(), "{faults:#?}");

    assert!(test_faults("x.rs", "//! x\nok(\"a; (! b); c\")\n").is_empty());
    for bad in ["ok(\"a; !\u{20}b; c\")", "ok(\"a\n  !\u{20}b\n c\")"] {
        let seen = test_faults("x.rs", &format!("//! x\n{bad}\n"));
        assert!(
            seen.len() == 1 && seen[0].contains("cannot fail"),
            "{bad}: {seen:?}"
        );
    }
    assert_eq!(test_faults("x.rs", &"\n".repeat(LONGEST + 1)).len(), 2);
}

#[test]
fn each_kind_of_fault_is_seen() {
    let floors = floors();
    let seen = |file: &str, text: &str| faults(file, &format!("//! x\n{text}"), &floors).join("\n");
    assert_eq!(
        seen(
            "cycle/run.rs",
            "use crate::ledger::Record;\nuse super::machine;\n"
        ),
        ""
    );
    assert!(seen("ledger/notes.rs", "use crate::cycle::Step;\n").contains("ledger uses cycle"));
    assert!(
        seen(
            "judge/check.rs",
            "use crate::{\n    guard::{self, Kept},\n    exit::Exit,\n};\n"
        )
        .contains("judge uses guard")
    );
    assert!(seen("ui/mod.rs", "fn f() { crate::git::open() }\n").contains("ui uses git"));
    assert!(seen("attic.rs", "").contains("not on the map"));
    assert!(seen("cycle/run.rs", "let c = Command::new(\"git\");\n").contains("start programs"));
    assert!(seen("ui/mod.rs", "fn f(id: gix::ObjectId) {}\n").contains("name gix"));
    assert!(seen("git/x.rs", "fn f() { repo.try_find_reference(n) }\n").contains("looks refs up"));
    assert!(seen("ui/mod.rs", &"\n".repeat(LONGEST)).contains("more than"));
    assert!(
        faults("ui/mod.rs", "use std::fs;\n", &floors)
            .join("")
            .contains("//!")
    );
    // Tests may reach anywhere.
    assert_eq!(
        seen(
            "ui/mod.rs",
            "#[cfg(test)]\nmod tests {\n    use crate::git;\n}\n// crate::cycle\n"
        ),
        ""
    );
    assert_eq!(
        seen("ui/mod.rs", "#[cfg(test)]\nmod tests;\nfn f() {}\n"),
        ""
    );
}
