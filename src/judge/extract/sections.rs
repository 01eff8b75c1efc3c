//! Failing tests that are named in a section of the output and not by a mark on a line of their own.

use super::regex;
use super::verdicts::{Sighting, python_id};
use crate::judge::normalise;

/// The list under `failures:` of libtest: what is left of it when the rest of a long output was cut.
pub(super) fn libtest_list(lines: &[&str]) -> Vec<Sighting> {
    if !lines
        .iter()
        .any(|line| line.starts_with("test result: FAILED"))
    {
        return Vec::new();
    }
    let (mut inside, mut out) = (false, Vec::new());
    for line in lines {
        match line
            .strip_prefix("    ")
            .filter(|name| inside && !name.starts_with(' '))
        {
            Some(name) => {
                let key = normalise::name(name);
                out.push(Sighting {
                    label: key.clone(),
                    origin: name.to_owned(),
                    key,
                    raw: (*line).to_owned(),
                });
            }
            None => inside = *line == "failures:",
        }
    }
    out
}

/// Failing tests of pytest by the headings of their reports, for runs without a summary.
pub(super) fn pytest_headers(lines: &[&str]) -> Vec<Sighting> {
    let section = regex(r"^=+ (?P<title>.*?) =+$");
    let heading = regex(r"^_{2,} (?:ERROR at (?:setup|teardown) of )?(?P<name>\S.*?) _{2,}$");
    let place = regex(r"^(?P<path>\S+\.py):\d+:");
    let (mut inside, mut out, mut open): (bool, Vec<Sighting>, Option<(String, String)>) =
        (false, Vec::new(), None);
    for line in lines {
        if let Some(found) = section.captures(line) {
            inside = matches!(&found["title"], "FAILURES" | "ERRORS");
        } else if let Some(found) = heading.captures(line).filter(|_| inside) {
            let name = &found["name"];
            open = (!name.starts_with("ERROR collecting") && !name.starts_with('['))
                .then(|| (name.to_owned(), (*line).to_owned()));
        } else if let Some(found) = place.captures(line)
            && let Some((name, raw)) = open.take()
        {
            let id = python_id(&format!("{}::{}", &found["path"], name.replace('.', "::")));
            let key = normalise::name(&id);
            out.push(Sighting {
                label: key.clone(),
                key,
                origin: format!("{}::{name}", &found["path"]),
                raw,
            });
        }
    }
    out
}

/// Failing tests of Mocha: numbered in the tree, or under the titles of their suites when a reporter prints no tree.
pub(super) fn mocha(lines: &[&str]) -> Vec<Sighting> {
    let summary = regex(r"^\s+\d+ failing\b");
    let Some(end) = lines.iter().position(|line| summary.is_match(line)) else {
        return Vec::new();
    };
    let numbered = regex(r"^\s+\d+\) (?P<name>\S.*?)$");
    let sight = |name: &str, raw: &str| {
        let key = normalise::name(name.trim().trim_end_matches(':'));
        Sighting {
            label: key.clone(),
            origin: key.clone(),
            key,
            raw: raw.to_owned(),
        }
    };
    let tree: Vec<Sighting> = lines[..end]
        .iter()
        .filter_map(|line| {
            numbered
                .captures(line)
                .map(|found| sight(&found["name"], line))
        })
        .collect();
    if !tree.is_empty() {
        return tree;
    }
    let mut out = Vec::new();
    let mut rest = lines[end..].iter().peekable();
    while let Some(line) = rest.next() {
        let Some(found) = numbered.captures(line) else {
            continue;
        };
        let mut title = found["name"].to_owned();
        while !title.ends_with(':') {
            match rest.peek().filter(|next| next.starts_with(' ')) {
                Some(next) => next.trim().clone_into(&mut title),
                None => break,
            }
            rest.next();
        }
        out.push(sight(&title, line));
    }
    out
}
