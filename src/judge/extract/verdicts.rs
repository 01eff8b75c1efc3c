//! The tests of an output that failed and that passed, by name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::rules::{self, Shape, Verdict};
use super::{Cause, noise, regex, sections};
use crate::judge::normalise;
use crate::judge::signature::Kind;

#[derive(Debug, Default)]
pub(super) struct Verdicts {
    pub failed: Vec<Cause>,
    /// Files that failed as a whole, for when nothing says why.
    pub files: Vec<Cause>,
    pub passed: BTreeSet<String>,
    pub runners: BTreeSet<&'static str>,
}

/// A test as one line shows it.
pub(super) struct Sighting {
    pub key: String,
    pub label: String,
    pub origin: String,
    pub raw: String,
}

pub(super) fn read(lines: &[&str]) -> Verdicts {
    let mut out = Verdicts::default();
    let (mut failed, mut open_indents) = (Vec::new(), Vec::new());
    for line in lines {
        let Some((rule, found)) = rules::find(line) else {
            continue;
        };
        if rule.runner.is_empty() && noise::is(line) {
            continue;
        }
        let mut verdict = rule.verdict(&found);
        let name = found.name("name").map_or("", |name| name.as_str());
        if rule.shape == Shape::Nested {
            let indent = found
                .name("indent")
                .map_or(0, |indent| indent.as_str().len());
            let parent = open_indents.iter().any(|open| *open > indent);
            open_indents.retain(|open| *open <= indent);
            match directive(name) {
                Some("skip" | "todo") => verdict = Verdict::Neither,
                _ if verdict == Verdict::Fail && parent => verdict = Verdict::Neither,
                _ if verdict == Verdict::Fail => open_indents.push(indent),
                _ => {}
            }
        }
        if !rule.runner.is_empty() {
            out.runners.insert(rule.runner);
        }
        if verdict == Verdict::Neither {
            continue;
        }
        let file = rule.shape == Shape::File || is_file(name);
        if file
            || name.contains("_FailedTest")
            || found
                .name("in")
                .is_some_and(|class| class.as_str().contains("_FailedTest"))
        {
            if verdict == Verdict::Fail {
                let name = normalise::file(name.split(" [").next().unwrap_or(name));
                out.files.push(
                    Cause::new(Kind::Test, format!("file {name}"), name.clone(), line).origin(name),
                );
            }
            continue;
        }
        let Some(sighting) = sighting(rule.shape, name, &found, line) else {
            continue;
        };
        if rule.runner.is_empty() && noise::sums_up(&sighting.key) {
            continue;
        }
        match verdict {
            Verdict::Fail => failed.push(sighting),
            Verdict::Pass => drop(out.passed.insert(sighting.key)),
            Verdict::Neither => {}
        }
    }
    failed.extend(sections::libtest_list(lines));
    failed.extend(sections::mocha(lines));
    if failed.is_empty() {
        failed.extend(sections::pytest_headers(lines));
    }
    let mut causes: BTreeMap<String, Cause> = BTreeMap::new();
    for sighting in failed {
        let new = || {
            Cause::new(
                Kind::Test,
                sighting.key.clone(),
                sighting.label,
                &sighting.raw,
            )
        };
        causes
            .entry(sighting.key.clone())
            .or_insert_with(new)
            .origins
            .extend([sighting.origin, sighting.key]);
    }
    // A Go test fails with its subtests; they are the cause.
    let parents: Vec<String> = causes
        .keys()
        .filter(|name| {
            causes
                .keys()
                .any(|other| other.starts_with(&format!("{name}/")))
        })
        .cloned()
        .collect();
    causes.retain(|name, _| !parents.contains(name));
    out.passed.retain(|name| !causes.contains_key(name));
    out.failed = causes.into_values().collect();
    out
}

/// `# SKIP`, `# TODO` of TAP.
fn directive(name: &str) -> Option<&'static str> {
    let behind = name.rsplit_once(" # ")?.1.to_lowercase();
    ["skip", "todo"]
        .into_iter()
        .find(|word| behind.starts_with(word))
}

/// Is what failed a test file, as when it cannot be loaded?
fn is_file(name: &str) -> bool {
    let first = name.split(" (").next().unwrap_or(name).trim();
    let extension = first
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension);
    !first.contains(' ')
        && matches!(
            extension,
            "js" | "mjs"
                | "cjs"
                | "ts"
                | "mts"
                | "cts"
                | "tsx"
                | "jsx"
                | "py"
                | "rb"
                | "t"
                | "php"
                | "exs"
        )
}

fn sighting(shape: Shape, name: &str, found: &Captures<'_>, line: &str) -> Option<Sighting> {
    let text = match shape {
        Shape::NodeId => python_id(name),
        Shape::Dotted => {
            let sub = found.name("sub").map_or("", |sub| sub.as_str());
            dotted_id(name, found.name("in").map_or("", |class| class.as_str())) + sub
        }
        Shape::Last => name.rsplit(['›', '>']).next().unwrap_or(name).to_owned(),
        Shape::LastTwo => {
            let full = found.name("in").map_or_else(
                || name.to_owned(),
                |class| format!("{}.{name}", class.as_str()),
            );
            let parts: Vec<&str> = full.rsplitn(3, '.').take(2).collect();
            parts.into_iter().rev().collect::<Vec<_>>().join(".")
        }
        Shape::Nested => name
            .rsplit_once(" # ")
            .filter(|(_, behind)| behind.starts_with("time="))
            .map_or(name, |(name, _)| name)
            .to_owned(),
        Shape::Free => return free(name, found.name("sep").map_or("", |sep| sep.as_str()), line),
        Shape::Name | Shape::File => name.to_owned(),
    };
    let key = normalise::name(&text);
    (!key.is_empty()).then(|| Sighting {
        label: key.clone(),
        key,
        origin: format!(
            "{name} {}",
            found.name("in").map_or("", |class| class.as_str())
        ),
        raw: line.to_owned(),
    })
}

/// `FAIL name: got 1, want 2`, `FAIL name (2ms)`, `FAIL: got 1, want 2`: the name when there is one, else the words without numbers.
fn free(rest: &str, separator: &str, line: &str) -> Option<Sighting> {
    static MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)^(?:got|expect|want|assert|error|exception|exit|wrong|actual|left|right|should|but|value|return|output|status|mismatch|failed|not|no|missing|unexpected|timed? ?out|\W|\d)",
        )
    });
    let mut parts = rest.split(": ");
    let mut head = parts
        .next()
        .unwrap_or(rest)
        .trim_end_matches(':')
        .to_owned();
    // `Cart: adds an item: got 1`: a plain word is the suite, and the name goes on.
    if head.chars().all(|c| c.is_alphabetic() || c == ' ') {
        for part in parts.take_while(|part| !MESSAGE.is_match(part)) {
            head = format!("{head}: {part}");
        }
    }
    let head = match head.split_once(" - ") {
        Some((name, _)) if !name.contains(' ') => name,
        _ => head.as_str(),
    };
    let named = head.len() < rest.len() || separator != ":" || !head.contains(' ');
    let key = if named {
        normalise::name(head)
    } else {
        normalise::line(rest)
    };
    (!key.is_empty()).then(|| Sighting {
        label: key.clone(),
        key,
        origin: rest.to_owned(),
        raw: line.to_owned(),
    })
}

/// One name for a Python test, whichever runner tells of it: `Class::test`, or `module::test` for a function.
pub(super) fn python_id(node: &str) -> String {
    let (path, rest) = node.split_once("::").unwrap_or(("", node));
    if rest.split('[').next().unwrap_or(rest).contains("::") {
        return rest.to_owned();
    }
    let module = path
        .rsplit('/')
        .next()
        .unwrap_or(path)
        .trim_end_matches(".py");
    format!("{module}::{rest}")
}

fn dotted_id(name: &str, within: &str) -> String {
    let class = within
        .strip_suffix(name)
        .map_or(within, |class| class.trim_end_matches('.'));
    let class = class.rsplit('.').next().unwrap_or(class);
    format!("{class}::{name}")
}
