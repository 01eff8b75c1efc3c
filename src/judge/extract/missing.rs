//! What is missing: a module, a package, a command, a script. The same thing is missing whoever stumbles over it first.

use std::sync::LazyLock;

use regex::Regex;

use super::{Cause, regex};
use crate::judge::normalise;
use crate::judge::signature::Kind;

#[rustfmt::skip]
static PATTERNS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    [
        ("module", r"ModuleNotFoundError: No module named '?(?P<name>[\w.]+)'?"),
        ("name", r"ImportError: cannot import name '(?P<name>\w+)' from"),
        ("module", r#"Cannot find (?:module|package) ['"](?P<name>[^'"]+)['"]"#),
        ("module", r#"(?:Can't resolve|Could not resolve|Failed to resolve import|Failed to load url|Unable to resolve(?: path to)? module) ['"]?(?P<name>[^'"\s]+)['"]?"#),
        ("module", r"cannot load such file -- (?P<name>\S+)"),
        ("module", r"Can't locate (?P<name>\S+) in @INC"),
        ("module", r"no required module provides package (?P<name>[^\s;]+)"),
        ("module", r"package (?P<name>\S+) is not in (?:std|GOROOT)"),
        ("module", r#"Failed opening required ['"](?P<name>[^'"]+)['"]"#),
        ("module", r"module '(?P<name>[\w.]+)' not found"),
        ("module", r"there is no package called '(?P<name>\w+)'"),
        ("class", r#"(?:java\.lang\.ClassNotFoundException: |java\.lang\.NoClassDefFoundError: |Could not find or load main class |Class ["'])(?P<name>[\w.$/\\]+)"#),
        ("command", r"^(?:\S*sh: )?(?:line \d+: |\d+: )?(?P<name>[\w./+-]+): (?:command )?not found$"),
        ("command", r"^\S+: (?:line )?\d+: (?P<name>[\w./+-]+): (?:command )?not found$"),
        ("command", r"^env: '?(?P<name>[\w.+-]+)'?: No such file"),
        ("command", r"^make(?:\[\d+\])?: (?P<name>[\w./+-]+): No such file or directory$"),
        ("file", r"can't open file '(?P<name>[^']+)'"),
        ("file", r"^(?:ba|z|da|k)?sh: (?:\d+: )?(?P<name>\S+?): No such file or directory$"),
        ("file", r"^(?:\S+: )?(?:line \d+: )?(?P<name>\.{0,2}/\S+): No such file or directory$"),
    ]
    .map(|(what, pattern)| (what, regex(pattern)))
    .into()
});

pub(super) fn read(lines: &[&str]) -> Vec<Cause> {
    let mut out = Vec::new();
    for line in lines {
        let Some((what, found)) = PATTERNS
            .iter()
            .find_map(|(what, pattern)| pattern.captures(line).map(|found| (*what, found)))
        else {
            continue;
        };
        let printed = &found["name"];
        // `./x`, `../src/x` and `/ws/src/x.js` are one file.
        let path = printed.starts_with(['.', '/']) || what == "file";
        let name = if path {
            normalise::file(printed)
                .split('.')
                .next()
                .unwrap_or(printed)
                .to_owned()
        } else {
            printed.to_owned()
        };
        let name = if name.is_empty() {
            printed.to_owned()
        } else {
            name
        };
        out.push(Cause::new(Kind::Missing, format!("{what} {name}"), name, line).origin(printed));
    }
    out
}
