//! Mode 4, boundary violation: a run changed what lies outside the bounds that its profile or its task set. Paths in, a signal out; what is
//! put back because of it is the guard's.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use anyhow::Result;
use serde_json::json;

use super::signal::{Mode, Signal};
use crate::config::PathGlobs;

/// One path outside the bounds is a signal: a bound that may be passed a little is none.
const THRESHOLD: usize = 1;
const SHOWN: usize = 20;

/// Where a run may work.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    allow: Vec<String>,
    inside: Vec<String>,
    outside: Vec<String>,
}

impl Bounds {
    /// Of the profile's `allow` (nothing said = everything), and of the scope of the task's contract. A scope is prose; where every entry of
    /// its inner list is one word that looks like a path, that list bounds the task, and so does each such word of its outer list.
    pub(crate) fn new(allow: &[String], in_scope: &[String], out_of_scope: &[String]) -> Self {
        let paths = |entries: &[String]| -> Vec<String> {
            let paths = entries.iter().filter(|entry| is_path(entry));
            paths.cloned().collect()
        };
        let inside = paths(in_scope);
        Self {
            allow: allow.to_vec(),
            inside: if inside.len() == in_scope.len() {
                inside
            } else {
                Vec::new()
            },
            outside: paths(out_of_scope),
        }
    }

    /// Is there nothing to hold a path against?
    pub(crate) fn is_open(&self) -> bool {
        self.allow.is_empty() && self.inside.is_empty() && self.outside.is_empty()
    }

    /// The signal of a run that changed these paths (from the worktree's root, as bytes); `refused` are those that were put back.
    ///
    /// # Errors
    /// For a glob that cannot be read; those of a loaded configuration can.
    pub(crate) fn signal(&self, changed: &[Vec<u8>], refused: &[String]) -> Result<Option<Signal>> {
        let globs = |globs: &[String]| PathGlobs::new(globs).map_err(anyhow::Error::msg);
        let (allow, inside, outside) = (
            globs(&self.allow)?,
            globs(&self.inside)?,
            globs(&self.outside)?,
        );
        let mut found: Vec<(String, &str)> = refused
            .iter()
            .map(|path| (path.clone(), "protected, or denied to the profile"))
            .collect();
        for path in changed {
            let at = OsStr::from_bytes(path);
            let why = if !self.allow.is_empty() && !allow.is_match(at) {
                "not in the profile's allow"
            } else if !self.inside.is_empty() && !inside.is_match(at) {
                "not in the scope of the contract"
            } else if outside.is_match(at) {
                "out of the scope of the contract"
            } else {
                continue;
            };
            found.push((String::from_utf8_lossy(path).into_owned(), why));
        }
        let Some((first, why)) = found.first() else {
            return Ok(None);
        };
        let more = match found.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        let shown = found.iter().take(SHOWN);
        let paths: Vec<_> = shown
            .map(|(path, why)| json!({"path": path, "why": why}))
            .collect();
        Ok(Some(Signal {
            mode: Mode::BoundaryViolation,
            line: format!("out of bounds: {first}{more} ({why})"),
            evidence: json!({
                "threshold": THRESHOLD, "count": found.len(), "paths": paths,
                "bounds": {"allow": self.allow, "in_scope": self.inside, "out_of_scope": self.outside},
            }),
        }))
    }
}

/// One word with a `/` or a `.` inside: `src/parser`, `*.md`, `Cargo.toml`; not `parsing`, not `e.g.` in a sentence.
fn is_path(entry: &str) -> bool {
    !entry.contains(char::is_whitespace)
        && (entry.contains('/') || entry.trim_end_matches('.').contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(list: &[&str]) -> Vec<Vec<u8>> {
        list.iter().map(|path| path.as_bytes().to_vec()).collect()
    }

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn the_profile_s_allow_bounds_a_run_and_nothing_said_allows_all() {
        let open = Bounds::new(&[], &[], &[]);
        assert!(open.is_open());
        assert_eq!(open.signal(&paths(&["a"]), &[]).unwrap(), None);
        let bounds = Bounds::new(&words(&["src/", "*.md"]), &[], &[]);
        assert_eq!(
            bounds.signal(&paths(&["src/a.rs", "x/y.md"]), &[]).unwrap(),
            None
        );
        let signal = bounds
            .signal(&paths(&["src/a.rs", "lib/b.rs", "c"]), &[])
            .unwrap()
            .unwrap();
        assert_eq!(
            signal.line,
            "out of bounds: lib/b.rs and 1 more (not in the profile's allow)"
        );
        assert_eq!(signal.evidence["count"], 2);
    }

    #[test]
    fn the_task_s_scope_bounds_where_it_names_paths() {
        let prose = Bounds::new(
            &[],
            &words(&["src/parser", "error messages"]),
            &words(&["performance"]),
        );
        assert!(prose.is_open(), "prose bounds nothing");
        let bounds = Bounds::new(
            &[],
            &words(&["src/parser"]),
            &words(&["src/parser/old.rs", "speed"]),
        );
        let why = |path: &str| {
            let signal = bounds.signal(&paths(&[path]), &[]).unwrap();
            signal.map(|signal| {
                signal.evidence["paths"][0]["why"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
        };
        assert_eq!(why("src/parser/new.rs"), None);
        assert_eq!(
            why("src/lexer.rs").unwrap(),
            "not in the scope of the contract"
        );
        assert_eq!(
            why("src/parser/old.rs").unwrap(),
            "out of the scope of the contract"
        );
    }

    #[test]
    fn what_was_put_back_counts() {
        let signal = Bounds::default()
            .signal(&[], &words(&["scripts/x.sh"]))
            .unwrap()
            .unwrap();
        assert_eq!(signal.mode, Mode::BoundaryViolation);
        assert_eq!(signal.evidence["paths"][0]["path"], "scripts/x.sh");
    }
}
