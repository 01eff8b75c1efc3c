//! What the globs of `arkaint.toml` mean, in one place: branches, where `*` crosses `/`, and paths, where it does not.

use std::path::Path;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use regex::bytes::RegexSet;

/// Is `branch` (a short name, `arkaint/x`) one that agents may run on? Case counts; `arkaint/*` matches `arkaint/a/b` too.
pub(crate) fn isolated_match(patterns: &[String], branch: &str) -> bool {
    let is_match = |pattern: &String| match pattern.strip_suffix('*') {
        // The usual pattern, without building an automaton for it: the gate is asked this on every call.
        Some(prefix) if !prefix.contains(['*', '?', '[', '{', '\\']) => branch.starts_with(prefix),
        _ => Glob::new(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(branch)),
    };
    patterns.iter().any(is_match)
}

/// Globs of paths as `arkaint.toml` writes them. A pattern without `/` matches a name at any depth, one with `/` starts at the worktree's
/// root; what it matches counts with everything below it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathGlobs(GlobSet);

impl PathGlobs {
    /// # Errors
    /// With what is wrong about the first bad pattern; those of a loaded configuration are good.
    pub(crate) fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            for glob in compile(pattern.as_ref())? {
                set.add(glob);
            }
        }
        set.build().map(Self).map_err(|e| e.to_string())
    }

    /// Does a pattern match `path` (from the worktree's root), or a folder above it?
    pub(crate) fn is_match(&self, path: impl AsRef<Path>) -> bool {
        self.0.is_match(path)
    }
}

/// Globs of `[[dod]]` items: `**/` any depth and none, `**` anything, `*` anything but `/`, every other character itself (`?`, `[` and `{` too).
/// The whole path, as bytes, case by case. A dialect of its own, compatible with other tools that read the same items, so it is translated to
/// regular expressions: globset has more that is special than could be escaped.
#[derive(Clone, Debug)]
pub(crate) struct ItemGlobs(RegexSet);

impl ItemGlobs {
    /// # Errors
    /// When the globs are too large to compile.
    pub(crate) fn new<S: AsRef<str>>(globs: &[S]) -> Result<Self, String> {
        RegexSet::new(globs.iter().map(|glob| item_regex(glob.as_ref())))
            .map(Self)
            .map_err(|_| "is too large a glob".to_owned())
    }

    /// Does one of the globs match the whole of `path` (from the worktree's root)?
    pub(crate) fn is_match(&self, path: &[u8]) -> bool {
        self.0.is_match(path)
    }
}

fn item_regex(glob: &str) -> String {
    let (mut regex, mut left) = (r"\A".to_owned(), glob);
    while let Some(c) = left.chars().next() {
        let (taken, means) = if left.starts_with("**/") {
            (3, "(?s-u:(?:.*/)?)".to_owned())
        } else if left.starts_with("**") {
            (2, "(?s-u:.*)".to_owned())
        } else if c == '*' {
            (1, "(?-u:[^/]*)".to_owned())
        } else {
            (c.len_utf8(), regex::escape(&left[..c.len_utf8()]))
        };
        regex.push_str(&means);
        left = &left[taken..];
    }
    regex + r"\z"
}

/// Globs that no path can match are mistakes.
pub(super) fn check_item(glob: &str) -> Result<(), String> {
    if glob.is_empty() || glob.contains('\0') {
        return Err("matches nothing".to_owned());
    }
    if glob.ends_with('/') {
        return Err(format!("matches no file: write {glob}**"));
    }
    if glob.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(
            "matches no file: paths start at the worktree's root, without / or ./".to_owned(),
        );
    }
    ItemGlobs::new(&[glob]).map(drop)
}

pub(super) fn check_branch(pattern: &str) -> Result<(), String> {
    if pattern.is_empty() {
        return Err("matches nothing".to_owned());
    }
    if pattern.starts_with("refs/") {
        return Err("is no branch name; leave refs/heads/ out".to_owned());
    }
    Glob::new(pattern).map(drop).map_err(|e| bad(&e))
}

pub(super) fn check_path(pattern: &str) -> Result<(), String> {
    compile(pattern).map(drop)
}

fn compile(pattern: &str) -> Result<[Glob; 2], String> {
    let trimmed = pattern.strip_prefix("./").unwrap_or(pattern);
    let trimmed = trimmed.strip_suffix('/').unwrap_or(trimmed);
    if trimmed.is_empty() || trimmed.split('/').any(|part| part == "..") {
        return Err("is no glob of paths below the worktree".to_owned());
    }
    let anchored = match trimmed.strip_prefix('/') {
        Some(rest) => rest.to_owned(),
        None if trimmed.contains('/') => trimmed.to_owned(),
        None => format!("**/{trimmed}"),
    };
    let build = |glob: &str| {
        GlobBuilder::new(glob)
            .literal_separator(true)
            .build()
            .map_err(|e| bad(&e))
    };
    Ok([build(&anchored)?, build(&format!("{anchored}/**"))?])
}

fn bad(error: &globset::Error) -> String {
    format!("is a bad glob: {}", error.kind())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_isolated_branch_is_matched_whole_and_by_case() {
        let patterns = ["arkaint/*".to_owned(), "ephemeral-*".to_owned()];
        for yes in ["arkaint/x", "arkaint/a/b", "ephemeral-1", "ephemeral-a/b"] {
            assert!(isolated_match(&patterns, yes), "{yes}");
        }
        for no in [
            "main",
            "arkaint",
            "Arkaint/x",
            "my/arkaint/x",
            "xarkaint/x",
            "ephemeral",
            "EPHEMERAL-1",
            "x-ephemeral-1",
        ] {
            assert!(!isolated_match(&patterns, no), "{no}");
        }
        assert!(!isolated_match(&[], "arkaint/x"));
        let patterns = ["bot-[0-9]/*/fix", "{wip,try}/**", "exact", "a*b*"].map(str::to_owned);
        for yes in ["bot-1/x/y/fix", "wip/x", "try/a/b", "exact", "axxbxx"] {
            assert!(isolated_match(&patterns, yes), "{yes}");
        }
        for no in ["bot-x/y/fix", "wips/x", "exactly", "xaxb"] {
            assert!(!isolated_match(&patterns, no), "{no}");
        }
    }

    #[test]
    fn a_name_matches_anywhere_and_a_path_from_the_root() {
        let globs = PathGlobs::new(&[
            "*.pem",
            "docs/*.md",
            "/TODO",
            "vendor/",
            "src/**/gen.rs",
            "app/[[]slug[]]",
        ])
        .unwrap();
        for yes in [
            "a.pem",
            "deep/er/a.pem",
            "docs/x.md",
            "TODO",
            "vendor/a/b",
            "src/gen.rs",
            "src/a/b/gen.rs",
            "app/[slug]/page.tsx",
        ] {
            assert!(globs.is_match(yes), "{yes}");
        }
        for no in [
            "a.pem.txt",
            "docs/a/x.md",
            "x/docs/x.md",
            "sub/TODO",
            "vendored",
            "lib/gen.rs",
        ] {
            assert!(!globs.is_match(no), "{no}");
        }
    }

    #[test]
    fn an_items_glob_is_literal_but_for_its_stars() {
        for (glob, yes, no) in [
            (
                "docs/**/*.md",
                ["docs/a.md", "docs/x/y/a.md"].as_slice(),
                ["docs/a.mdx", "a/docs/a.md", "docs/x/a.MD"].as_slice(),
            ),
            (
                "**/CHANGELOG.md",
                &["CHANGELOG.md", "a/b/CHANGELOG.md"],
                &["XCHANGELOG.md"],
            ),
            (
                "src/**",
                &["src/a", "src/a/b\nc", "src/"],
                &["src", "xsrc/a"],
            ),
            ("a**z", &["az", "a/b/z", "abcz"], &["azx"]),
            ("*.rs", &["a.rs", ".rs"], &["src/a.rs", "axrs"]),
            ("a?[b]{c,d}.x", &["a?[b]{c,d}.x"], &["a1bc.x", "a?bc.x"]),
            ("ä*/ö", &["äx/ö"], &["a/ö", "äx/y/ö"]),
            ("**", &["a", "a/b"], &[]),
        ] {
            let globs = ItemGlobs::new(&[glob]).unwrap();
            for path in yes {
                assert!(globs.is_match(path.as_bytes()), "{glob} {path}");
            }
            for path in no {
                assert!(!globs.is_match(path.as_bytes()), "{glob} {path}");
            }
        }
        let globs = ItemGlobs::new(&["a/*.bin", "b"]).unwrap();
        assert!(globs.is_match(b"a/\xff\xfe.bin") && globs.is_match(b"b") && !globs.is_match(b"c"));
        assert!(!ItemGlobs::new::<&str>(&[]).unwrap().is_match(b"c"));
        assert_eq!(
            check_item("src/").unwrap_err(),
            "matches no file: write src/**"
        );
        for bad in ["", "/a", "./a", "a/../b", "a//b", "a\0"] {
            assert!(check_item(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bad_globs_say_why() {
        assert_eq!(
            check_path("a[").unwrap_err(),
            "is a bad glob: unclosed character class; missing ']'"
        );
        assert_eq!(
            check_path("../x").unwrap_err(),
            "is no glob of paths below the worktree"
        );
        assert_eq!(
            check_branch("refs/heads/x").unwrap_err(),
            "is no branch name; leave refs/heads/ out"
        );
        assert!(check_branch("{a,b").is_err());
    }
}
