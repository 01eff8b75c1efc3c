//! Programs that crashed: what was thrown, and the innermost function of the project that it came through. Values in the message may
//! change from run to run; the kind, the words and the place do not.

use std::sync::LazyLock;

use regex::Regex;

use super::{Cause, regex};
use crate::judge::normalise;
use crate::judge::signature::Kind;

#[derive(Debug, Default)]
pub(super) struct Crash {
    pub causes: Vec<Cause>,
    pub foreign: bool,
    pub not_ready: bool,
}

pub(super) fn read(lines: &[&str]) -> Crash {
    static NOT_READY: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)connection ?refused|connection ?reset|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|could(?: not|n't) connect|timed out|TimeoutError|no route to host|URLError|not ready|service unavailable",
        )
    });
    let mut out = Crash::default();
    for reader in [python, node, rust, others, signals] {
        let (causes, foreign) = reader(lines);
        if !causes.is_empty() {
            out.causes = causes;
            out.foreign = foreign;
            break;
        }
    }
    out.not_ready = lines.iter().any(|line| NOT_READY.is_match(line));
    out
}

type Found = (Vec<Cause>, bool);

fn cause(what: &str, message: &str, place: &str, raw: &str) -> Cause {
    let message = normalise::line(message);
    let head = if message.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {message}")
    };
    let key = if place.is_empty() {
        head
    } else {
        format!("{head} in {place}")
    };
    Cause::new(
        Kind::Crash,
        key.clone(),
        crate::text::ellipsis(&key, 120),
        raw,
    )
}

/// Is this file of an installation, not of the project?
fn installed(path: &str) -> bool {
    [
        "node_modules",
        "site-packages",
        "dist-packages",
        "/lib/python",
        "<frozen",
        "<string>",
        "<stdin>",
        "node:",
        "/rustc/",
        "/.cargo/registry",
        "importlib",
        "[eval]",
        "/usr/lib",
    ]
    .iter()
    .any(|part| path.contains(part))
}

/// The last exception of the last traceback.
fn python(lines: &[&str]) -> Found {
    static FRAME: LazyLock<Regex> =
        LazyLock::new(|| regex(r#"^\s+File "(?P<path>.+?)", line \d+(?:, in (?P<function>.+))?$"#));
    static RAISED: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"^(?P<type>[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning|Iteration|[a-z]\w*))(?:: (?P<message>.*))?$",
        )
    });
    let starts = lines
        .iter()
        .rposition(|line| line.starts_with("Traceback (most recent call last)"));
    let frame = lines.iter().position(|line| FRAME.is_match(line));
    let Some(start) = starts.or(frame) else {
        return (Vec::new(), false);
    };
    let (mut place, mut own, mut raised) = (String::new(), false, None);
    for line in &lines[start..] {
        if let Some(found) = FRAME.captures(line) {
            if !installed(&found["path"]) {
                own = true;
                let function = found
                    .name("function")
                    .map_or("", |function| function.as_str());
                place = if function.is_empty() || function == "<module>" {
                    normalise::file(&found["path"])
                } else {
                    function.to_owned()
                };
            }
        } else if let Some(found) = RAISED.captures(line) {
            raised = Some((
                found["type"].to_owned(),
                found.name("message").map_or("", |m| m.as_str()).to_owned(),
                (*line).to_owned(),
            ));
            break;
        }
    }
    match raised {
        Some((kind, message, raw)) => (vec![cause(&kind, &message, &place, &raw)], !own),
        None => (Vec::new(), false),
    }
}

fn node(lines: &[&str]) -> Found {
    static THROWN: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"^\s*(?:Uncaught |\[?(?:cause|Unhandled)\]?:? )?(?P<type>[A-Z]\w*(?:Error|Exception)|Error)(?: \[\w+\])?: (?P<message>.*)$",
        )
    });
    static FRAME: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"^\s+at (?:async )?(?:(?P<function>[\w.<>$\[\] ]+?) \()?(?P<path>(?:file://)?[^\s()]+?):\d+:\d+\)?",
        )
    });
    for (at, line) in lines.iter().enumerate() {
        let Some(found) = THROWN.captures(line) else {
            continue;
        };
        let frames: Vec<_> = lines[at + 1..]
            .iter()
            .take(60)
            .filter_map(|line| FRAME.captures(line))
            .collect();
        if frames.is_empty() {
            continue;
        }
        let own = frames.iter().find(|frame| !installed(&frame["path"]));
        let place = own.map_or_else(String::new, |frame| {
            match frame.name("function").map(|function| function.as_str()) {
                Some(function)
                    if !function.contains('<')
                        && !function.starts_with("Object.")
                        && !function.starts_with("Module.") =>
                {
                    function.trim_start_matches("new ").to_owned()
                }
                _ => normalise::file(&frame["path"]),
            }
        });
        return (
            vec![cause(&found["type"], &found["message"], &place, line)],
            own.is_none(),
        );
    }
    (Vec::new(), false)
}

/// The first panic: later ones follow from it.
fn rust(lines: &[&str]) -> Found {
    static PANIC: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"^thread '.*?' (?:\(\d+\) )?panicked at (?:'(?P<old>.*)', )?(?P<path>\S+?):\d+:\d+:?$",
        )
    });
    for (at, line) in lines.iter().enumerate() {
        let Some(found) = PANIC.captures(line) else {
            continue;
        };
        let message = found.name("old").map_or_else(
            || {
                lines[at + 1..]
                    .iter()
                    .find(|line| !line.is_empty())
                    .copied()
                    .unwrap_or("")
            },
            |old| old.as_str(),
        );
        let mut panic = cause("panic", message, &normalise::file(&found["path"]), line);
        panic.raw = format!("{} {message}", panic.raw);
        return (vec![panic], false);
    }
    (Vec::new(), false)
}

fn others(lines: &[&str]) -> Found {
    #[rustfmt::skip]
    static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        [
            r#"^(?:Exception in thread ".*" |Caused by: )(?P<type>[\w.$]+)(?:: (?P<message>.*))?$"#,
            r"^(?P<type>panic|fatal error): (?P<message>.+)$",
            r"^Unhandled exception\. (?P<type>[\w.]+): (?P<message>.*)$",
            r"^(?P<place>\S+\.rb):\d+:in [`'].+?': (?P<message>.+) \((?P<type>[A-Z][\w:]*)\)$",
            r"^(?:PHP )?Fatal error:\s+(?:Uncaught )?(?P<type>[\w\\]+)?:? ?(?P<message>.+?) in (?P<place>\S+?)(?::| on line )\d+",
            r"^\*\* \((?P<type>[\w.]+)\) (?P<message>.+)$",
            r"^(?:.*: )?(?:Swift/\S+: )?(?P<type>Fatal error): (?P<message>.+)$",
            r"^terminate called after throwing an instance of '(?P<type>.+)'(?P<message>)$",
            r"^(?:.+: )?(?P<place>\S+?):\d+: .*(?P<type>Assertion) [`'](?P<message>.+)' failed\.$",
            r"^SUMMARY: (?P<type>\w+Sanitizer): (?P<message>.+)$",
            r"^(?P<type>FATAL ERROR): (?P<message>.+)$",
            r"^(?P<message>.+?) at (?P<place>\S+\.p[lm]) line \d+\.(?P<type>)$",
        ]
        .map(regex)
        .into()
    });
    for line in lines {
        if let Some(found) = PATTERNS.iter().find_map(|pattern| pattern.captures(line)) {
            let part = |name: &str| found.name(name).map_or("", |part| part.as_str());
            let kind = if part("type").is_empty() {
                "died"
            } else {
                part("type")
            };
            return (
                vec![cause(
                    kind,
                    part("message"),
                    &normalise::file(part("place")),
                    line,
                )],
                false,
            );
        }
    }
    (Vec::new(), false)
}

/// Deaths by a signal, as shells, make and build tools tell them.
fn signals(lines: &[&str]) -> Found {
    static DEATH: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?P<name>Segmentation fault|Bus error|Aborted|Illegal instruction|Floating point exception|Trace/breakpoint trap|SIG(?:SEGV|BUS|ABRT|ILL|FPE|TRAP))(?:: .*| \(core dumped\)|\)|[^\w].*)?$",
        )
    });
    for line in lines {
        if let Some(found) = DEATH.captures(line) {
            return (vec![by_signal(&found["name"], line)], false);
        }
    }
    (Vec::new(), false)
}

/// A shell that replaced itself by the program has no one left to tell which signal it was. That is nearly always a bad access, so it
/// has one key with those.
fn by_signal(name: &str, raw: &str) -> Cause {
    let name = match name {
        "SIGSEGV" | "SIGBUS" | "Segmentation fault" | "Bus error" | "" => "killed by a signal",
        "SIGABRT" => "Aborted",
        "SIGILL" => "Illegal instruction",
        "SIGFPE" => "Floating point exception",
        "SIGTRAP" => "Trace/breakpoint trap",
        other => other,
    };
    cause(name, "", "", raw)
}

/// The death that an exit code tells, for a program that a shell ran: 128 and the signal.
pub(super) fn by_exit_code(code: i64) -> Option<Cause> {
    let name = match code {
        132 => "Illegal instruction",
        133 => "Trace/breakpoint trap",
        134 => "Aborted",
        135 => "Bus error",
        136 => "Floating point exception",
        139 => "Segmentation fault",
        _ => return None,
    };
    Some(by_signal(name, &format!("{name} (exit {code})")))
}

/// The death by a signal that has no name.
pub(super) fn by_unknown_signal() -> Cause {
    by_signal("", "killed by a signal")
}
