//! What compilers, linkers and linters complain about: file, code and message, without the position. Warnings and notes are no causes.

use std::sync::LazyLock;

use regex::Regex;

use super::{Cause, regex, rustc};
use crate::judge::normalise;
use crate::judge::signature::Kind;

/// One line that holds file and message: `path`, `message`, perhaps `code`.
#[rustfmt::skip]
static ONE_LINE: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        // tsc, also in colour; MSBuild
        r"^(?P<path>\S[^:(]*)\(\d+,\d+\): error (?P<code>[A-Z]+\d+): (?P<message>.+?)(?: \[\S+proj(?:::\S+)?\])?$",
        r"^(?P<path>\S[^:]*):\d+:\d+ - error (?P<code>TS\d+): (?P<message>.+)$",
        // rustc --error-format short
        r"^(?P<path>\S+?):\d+:\d+: error(?:\[(?P<code>E\d+)\])?: (?P<message>.+)$",
        // gcc, clang, javac, swiftc, zig, mypy, gnat, and most others
        r"^(?P<path>(?:[A-Za-z]:)?[^\s:()][^:()]*?):\d+:(?:\d+:)? (?:fatal |syntax |type )?[Ee]rror:? (?P<message>.+)$",
        r"^\[ERROR\] (?P<path>\S+?):\[\d+,\d+\] (?:error: )?(?P<message>.+)$",
        r"^e: (?:file://)?(?P<path>\S+?):(?: \()?\d+[:,] ?\d+\)?:? (?P<message>.+)$",
        r"^\[error\] (?:-- .*Error: )?(?P<path>\S+?):\d+:\d+:? (?P<message>.+)$",
        // Go has no severity
        r"^(?:vet: )?(?P<path>\S+\.go):\d+(?::\d+)?: (?P<message>.+)$",
        // ruff, flake8, pylint
        r"^(?P<path>\S+\.\w+):\d+:\d+: (?P<code>[A-Z]{1,5}\d{2,5}):? (?:\[\*\] )?(?P<message>.+)$",
        // PHP, Perl, shells, Ruby
        r"^(?:PHP )?Parse error:\s+(?P<message>.+?) in (?P<path>\S+) on line \d+$",
        r"^(?P<message>.+) at (?P<path>\S+\.p[lm]) line \d+[.,]",
        r"^(?P<path>\S+?): (?:line )?\d+: (?P<message>[Ss]yntax error.*)$",
        r"^(?P<path>\S+\.rb):\d+: (?P<message>(?:syntax error|.*\(SyntaxError\)).*)$",
        // pyright, svelte-check
        r"^\s+(?P<path>/\S+?):\d+:\d+ - error: (?P<message>.+)$",
        // rustfmt, gofmt, black, prettier: a file that is not as they want it
        r"^(?P<message>Diff in) (?P<path>\S+?\.rs)(?::| at line )\d+:?$",
        r"^(?P<message>would reformat) (?P<path>\S+)$",
        r"^\[warn\] (?P<path>\S+\.\w+)(?P<message>)$",
    ]
    .map(regex)
    .into()
});

/// Complaints without a place.
#[rustfmt::skip]
static PLACELESS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        // linkers
        r"(?P<message>undefined reference to [`'].+?')", r"(?P<message>multiple definition of [`'].+?')", r"ld(?:\.\w+)?: (?:error: )?(?P<message>(?:undefined symbol: |cannot find ).+)$", r#"^\s+"(?P<message>_\S+)", referenced from:"#,
        // build tools that cannot even start
        r"^\w*make(?:\[\d+\])?: \*\*\* (?P<message>No rule to make target .+?)(?:, needed by .*)?\.?\s+Stop\.$", r"^\w*make(?:\[\d+\])?: \*\*\* (?P<message>missing separator|No targets).*$", r"^(?P<message>Makefile:\d+: \*\*\* .+)$",
        r"^npm (?:ERR!|error) (?P<message>[Mm]issing script: .+)$", r"^npm (?:ERR!|error) (?P<message>(?:404|ERESOLVE|notarget|Cannot|Could not|Invalid|enoent) .+)$",
        r"^CMake Error(?: at (?P<path>\S+?):\d+ \((?P<message>.+)\))?:",
        r"^✘ \[ERROR\] (?P<message>.+)$",
    ]
    .map(regex)
    .into()
});

pub(super) fn read(lines: &[&str]) -> Vec<Cause> {
    let mut out = rustc::read(lines);
    out.extend(eslint(lines));
    out.extend(shellcheck(lines));
    for line in lines
        .iter()
        .filter(|line| !line.contains(": warning:") && !line.contains(": note:"))
    {
        if let Some(found) = ONE_LINE.iter().find_map(|pattern| pattern.captures(line)) {
            let code = found.name("code").map_or("", |code| code.as_str());
            out.push(cause(
                &found["path"],
                code,
                found
                    .name("message")
                    .map(|m| m.as_str())
                    .filter(|m| !m.is_empty())
                    .unwrap_or("not formatted"),
                line,
            ));
        } else if let Some(found) = PLACELESS.iter().find_map(|pattern| pattern.captures(line)) {
            let path = found.name("path").map_or("", |path| path.as_str());
            out.push(cause(
                path,
                "",
                found.name("message").map_or(*line, |m| m.as_str()),
                line,
            ));
        }
    }
    out
}

pub(super) fn cause(path: &str, code: &str, message: &str, raw: &str) -> Cause {
    let file = normalise::file(path);
    let message = normalise::message(message.trim_end_matches([' ', '.']));
    let what = [code, message.as_str()]
        .iter()
        .filter(|part| !part.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join(" ");
    let key = if file.is_empty() {
        what
    } else {
        format!("{file}: {what}")
    };
    let label = crate::text::ellipsis(&key, 120);
    Cause::new(Kind::Diagnostic, key, label, raw).origin(path)
}

/// ESLint, stylelint, standard: the file on a line of its own, its problems indented below.
fn eslint(lines: &[&str]) -> Vec<Cause> {
    static FILE: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^(?P<path>(?:[A-Za-z]:)?[\w@./\\-]+\.\w{1,6})$"));
    static PROBLEM: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"^\s+\d+:\d+\s+(?:error|✖)\s+(?P<message>.+?)(?:\s{2,}(?P<code>[\w@/-]+))?$")
    });
    let (mut out, mut path) = (Vec::new(), "");
    for line in lines {
        if let Some(found) = FILE.captures(line) {
            path = found.name("path").map_or("", |path| path.as_str());
        } else if let Some(found) = PROBLEM.captures(line).filter(|_| !path.is_empty()) {
            out.push(cause(
                path,
                found.name("code").map_or("", |code| code.as_str()),
                &found["message"],
                line,
            ));
        }
    }
    out
}

/// ShellCheck: `In a.sh line 3:`, then the code under a mark.
fn shellcheck(lines: &[&str]) -> Vec<Cause> {
    static FILE: LazyLock<Regex> = LazyLock::new(|| regex(r"^In (?P<path>\S+) line \d+:$"));
    static PROBLEM: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"^\s*\^-*\^? (?P<code>SC\d+) \((?:error|warning|info|style)\): (?P<message>.+)$")
    });
    let (mut out, mut path) = (Vec::new(), "");
    for line in lines {
        if let Some(found) = FILE.captures(line) {
            path = found.name("path").map_or("", |path| path.as_str());
        } else if let Some(found) = PROBLEM.captures(line).filter(|_| !path.is_empty()) {
            out.push(cause(path, &found["code"], &found["message"], line));
        }
    }
    out
}
