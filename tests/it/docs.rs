//! The documents and the program say the same: verbs and flags that exist, exit codes that are made, headings that tools look for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;

use crate::sandbox::Sandbox;
use crate::stand_in::PRELUDE;

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The verbs that `-h` lists, and the text of `-h` of each verb and subverb ("discarded list").
fn helps(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let listed = Regex::new(r"(?m)^  ([a-z]+) ").unwrap();
    let verbs = |help: &str| -> Vec<String> {
        let after = help.split("Commands:\n").nth(1).unwrap_or_default();
        let list = after.split("\n\n").next().unwrap();
        listed
            .captures_iter(list)
            .map(|found| found[1].to_owned())
            .collect()
    };
    let help = |words: &[&str]| sandbox.arkaint([words, &["-h"]].concat()).expect(0).stdout;
    let mut helps = BTreeMap::new();
    for verb in verbs(&help(&[])) {
        let text = help(&[&verb]);
        for sub in verbs(&text) {
            helps.insert(format!("{verb} {sub}"), help(&[&verb, &sub]));
        }
        helps.insert(verb, text);
    }
    helps
}

/// What a document tells the reader to type: every `git arkaint …` up to the end of its code span, quote or line.
fn told(text: &str) -> Vec<String> {
    let call = Regex::new(r"git arkaint[ -]([a-z][^`\n#|]*)").unwrap();
    call.captures_iter(text)
        .map(|found| found[1].to_owned())
        .collect()
}

#[track_caller]
fn check(name: &str, text: &str, helps: &BTreeMap<String, String>) -> BTreeSet<String> {
    let flag = Regex::new(r"(?:^|\s)(--[a-z-]+|-[a-zA-Z])\b").unwrap();
    let quotes = Regex::new("\"[^\"]*\"").unwrap();
    let mut verbs = BTreeSet::new();
    for call in told(text) {
        let words: Vec<&str> = call.split([' ', ',']).collect();
        let sub = words
            .get(..2)
            .map(|two| two.join(" "))
            .filter(|two| helps.contains_key(two));
        let verb = sub.unwrap_or_else(|| words[0].to_owned());
        let help = helps
            .get(&verb)
            .unwrap_or_else(|| panic!("{name} tells of `git arkaint {call}`: no such verb"));
        let quoted = quotes.replace_all(&call, "");
        for found in flag.captures_iter(&quoted) {
            let known = Regex::new(&format!(r"(?m)(^|[\s,]){}\b", &found[1]))
                .unwrap()
                .is_match(help);
            assert!(
                known || &found[1] == "--help",
                "{name} tells of `git arkaint {call}`: no flag {}",
                &found[1]
            );
        }
        verbs.insert(words[0].to_owned());
    }
    verbs
}

#[test]
fn the_documents_name_verbs_and_flags_that_exist_and_the_readme_names_every_verb() {
    let sandbox = Sandbox::new();
    let helps = helps(&sandbox);
    assert!(helps.len() > 15, "{:?}", helps.keys());
    let named = check("README.md", &read("README.md"), &helps);
    let all: BTreeSet<String> = helps
        .keys()
        .filter(|verb| !verb.contains(' '))
        .cloned()
        .collect();
    assert_eq!(named, all);
    check("CHANGELOG.md", &read("CHANGELOG.md"), &helps);
    for page in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("man/man1"))
        .unwrap()
        .flatten()
    {
        let text = fs::read_to_string(page.path())
            .unwrap()
            .replace("\\-", "-")
            .replace("\\fR", "");
        let calls: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("git arkaint ") && !line.contains(" - "))
            .collect();
        check(
            page.file_name().to_str().unwrap(),
            &calls.join("\n"),
            &helps,
        );
    }
}

#[test]
fn the_flags_of_the_readmes_table_are_those_of_the_verb_of_their_row() {
    let sandbox = Sandbox::new();
    let helps = helps(&sandbox);
    let flag = Regex::new("`(--[a-z-]+)`").unwrap();
    for row in read("README.md")
        .lines()
        .filter(|line| line.starts_with("| `git arkaint "))
    {
        let verb = told(row)[0].trim().to_owned();
        for found in flag.captures_iter(row) {
            assert!(
                helps[&verb].contains(&found[1]),
                "{verb} has no {}",
                &found[1]
            );
        }
    }
}

/// The first block of this language in a text.
fn block<'a>(text: &'a str, language: &str) -> &'a str {
    let after = text.split_once(&format!("```{language}\n")).unwrap().1;
    after.split_once("```").unwrap().0
}

/// The example of a document is what is printed: each `$ COMMAND` with the lines below it, where `...` stands for any lines.
#[test]
fn the_example_of_evidence_in_the_readme_prints_what_it_says() {
    let readme = read("README.md");
    let section = readme.split_once("## Evidence\n").unwrap().1;
    let sandbox = Sandbox::ready("\"sh test.sh\"");
    sandbox.git(["switch", "-q", "main"]);
    sandbox.git(["branch", "-qD", "arkaint/work"]);
    let list = "echo \"$1\" | tr , '\\n'\n";
    let test = "test \"$(sh list.sh a,b | wc -l)\" = 2\n";
    sandbox.write("list.sh", list);
    sandbox.write("test.sh", test);
    sandbox.commit_all("a list");
    sandbox.git(["switch", "-q", "-c", "arkaint/commas"]);
    let contract = sandbox.repo.with_file_name("commas.toml");
    fs::write(contract, block(section, "toml")).unwrap();
    sandbox.agent(&format!(
        "{PRELUDE}
        cat >list.sh <<'EOF'\n{}EOF
        cat >>test.sh <<'EOF'\n{}EOF
        git arkaint verify -q -- sh list.sh a,b, >/dev/null
        finish 'A comma at the end adds no item.'\n",
        list.replace("$1", "${1%,}"),
        test.replace("a,b", "a,b,"),
    ));
    let names = Regex::new("[0-9a-f]{12,64}").unwrap();
    let console = block(section, "console").strip_prefix("$ ").unwrap();
    for step in console.split("\n$ ") {
        let (command, said) = step.split_once('\n').unwrap();
        let printed = sandbox.sh(&format!("{command} 2>&1"));
        let parts: Vec<String> = names
            .replace_all(said.trim_end(), "ID")
            .split("...\n")
            .map(regex::escape)
            .collect();
        let whole = Regex::new(&format!("(?s)^{}$", parts.join(".*"))).unwrap();
        let ids = names.replace_all(printed.trim_end(), "ID");
        assert!(whole.is_match(&ids), "{command} says otherwise:\n{printed}");
    }
    assert_eq!(
        sandbox.sh("git show main:list.sh >merged.sh; sh merged.sh a,b,"),
        "a\nb\n"
    );
}

#[test]
fn the_exit_codes_of_the_readme_are_those_of_the_manual() {
    let number = Regex::new("[0-9]+").unwrap();
    let numbers = |lines: Vec<&str>| -> Vec<u32> {
        let found = lines
            .iter()
            .flat_map(|line| number.find_iter(line))
            .map(|n| n.as_str().parse().unwrap());
        found.collect()
    };
    let readme = read("README.md");
    let table = readme
        .lines()
        .filter(|line| line.starts_with("| "))
        .filter_map(|line| line.split('|').nth(1));
    let readme = numbers(
        table
            .filter(|cell| cell.trim().starts_with(|c: char| c.is_ascii_digit()))
            .collect(),
    );
    // The manual's list is held to `exit.rs` by a unit test beside it.
    let manual = read("man/man1/git-arkaint.1");
    let manual = manual
        .split(".SH EXIT STATUS")
        .nth(1)
        .unwrap()
        .split(".SH")
        .next()
        .unwrap();
    let manual = numbers(
        manual
            .lines()
            .filter(|line| line.starts_with(".B"))
            .collect(),
    );
    assert_eq!(readme, manual);
    assert_eq!(readme.len(), 8);
}

#[test]
fn the_pages_that_others_look_for_are_there_and_short() {
    assert!(
        read("CHANGELOG.md")
            .lines()
            .any(|line| line == "## [Unreleased]")
    );
    assert!(read("CONTRIBUTING.md").lines().count() <= 60);
    let licence = read("LICENSE");
    assert!(
        licence.contains("LICENSE-APACHE")
            && licence.contains("LICENSE-MIT")
            && licence.contains("Apache-2.0 OR MIT")
    );
    assert!(
        read("LICENSE-APACHE").contains("Version 2.0, January 2004")
            && read("LICENSE-MIT").contains("Permission is hereby granted")
    );
    assert!(read("Cargo.toml").contains("license = \"Apache-2.0 OR MIT\""));
}
