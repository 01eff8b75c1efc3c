//! Which paths only the operator may change. Pure: paths are bytes with `/` between components, as git writes them; it reads no repository
//! and knows no branch.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Protected whatever `arkaint.toml` says.
const ALWAYS: [&str; 3] = ["scripts/", ".githooks/", CONFIG_FILE];

/// The configuration file, at the worktree's root.
pub(crate) const CONFIG_FILE: &str = "arkaint.toml";

/// The protected set of one repository.
#[derive(Clone, Debug)]
pub(crate) struct Protected {
    /// Components of each protected file or folder.
    places: Vec<Vec<Vec<u8>>>,
    globs: GlobSet,
    fold: bool,
}

impl Protected {
    /// The built-in set, what `infra.paths` adds (a plain path covers all below it; `*`, `?` and `[` make a glob besides), and `folders`, from
    /// the root (the hooks folder, where it lies in the worktree). `fold`: names that differ by case alone are one name (`core.ignoreCase`).
    pub(crate) fn new(infra_paths: &[String], folders: &[Vec<u8>], fold: bool) -> Self {
        let mut globs = GlobSetBuilder::new();
        for pattern in infra_paths.iter().filter(|p| p.contains(['*', '?', '['])) {
            let pattern = components(pattern.as_bytes(), fold).join(&b'/');
            // A pattern that is no glob still counts as the plain name that it is.
            if let Ok(glob) = GlobBuilder::new(&String::from_utf8_lossy(&pattern))
                .literal_separator(true)
                .build()
            {
                globs.add(glob);
            }
        }
        let places = ALWAYS
            .iter()
            .map(|place| place.as_bytes())
            .chain(infra_paths.iter().map(String::as_bytes))
            .chain(folders.iter().map(Vec::as_slice))
            .map(|place| components(place, fold))
            .filter(|place| !place.is_empty())
            .collect();
        Self {
            places,
            globs: globs.build().unwrap_or_else(|_| GlobSet::empty()),
            fold,
        }
    }

    /// Would a change of the entry at `path` touch a protected place: the place itself, something below it, or a parent of it that is
    /// replaced (entries are files, links and submodules, so one that stands where a parent folder was takes the place away)?
    pub(crate) fn touches(&self, path: &[u8]) -> bool {
        let path = components(path, self.fold);
        let touched = |place: &Vec<Vec<u8>>| {
            let shared = place.len().min(path.len());
            shared > 0 && place[..shared] == path[..shared]
        };
        self.places.iter().any(touched) || self.matches_glob(&path.join(&b'/'))
    }

    /// A glob covers what it matches and all below that.
    fn matches_glob(&self, path: &[u8]) -> bool {
        if self.globs.is_empty() {
            return false;
        }
        let ends = path
            .iter()
            .enumerate()
            .filter(|(_, b)| **b == b'/')
            .map(|(at, _)| at);
        ends.chain([path.len()])
            .any(|end| self.globs.is_match(OsStr::from_bytes(&path[..end])))
    }
}

fn components(path: &[u8], fold: bool) -> Vec<Vec<u8>> {
    path.split(|b| *b == b'/')
        .filter(|part| !part.is_empty() && *part != b".")
        .map(|part| if fold { folded(part) } else { part.to_vec() })
        .collect()
}

/// Lower case as a case-blind file system sees it: every letter of valid UTF-8, ASCII letters elsewhere.
fn folded(name: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(name) {
        Ok(text) => text.to_lowercase().into_bytes(),
        Err(_) => name.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str], fold: bool) -> Protected {
        Protected::new(
            &paths.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>(),
            &[],
            fold,
        )
    }

    #[test]
    fn components_decide_not_characters() {
        let built_in = set(&[], false);
        for path in [
            "scripts",
            "scripts/a",
            "scripts/a/b",
            ".githooks/pre-commit",
            "arkaint.toml",
            "arkaint.toml/x",
        ] {
            assert!(built_in.touches(path.as_bytes()), "{path}");
        }
        for path in [
            "scripts.md",
            "scripts-old/a",
            "src/scripts/a",
            "arkaint.toml.bak",
            "Scripts/a",
            "sub/arkaint.toml",
            "",
            "a",
        ] {
            assert!(!built_in.touches(path.as_bytes()), "{path}");
        }
        assert!(built_in.touches(b"scripts/\xff\n\""));
    }

    #[test]
    fn infra_paths_add_files_folders_and_globs_however_they_are_written() {
        let more = set(
            &[
                "ci/deploy/",
                "./Makefile",
                "/tools//x",
                "**/*.lock",
                "app/[id]",
                "",
                ".",
            ],
            false,
        );
        for path in [
            "ci/deploy/a",
            "Makefile",
            "tools/x/y",
            "a/b.lock",
            "Cargo.lock",
            "app/[id]/page",
            "app/i/page",
            "x.lock/below",
        ] {
            assert!(more.touches(path.as_bytes()), "{path}");
        }
        for path in ["ci/other", "Makefile.in", "tools/y", "a/b.lockx", "README"] {
            assert!(!more.touches(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn a_replaced_parent_takes_the_place_away() {
        assert!(set(&["ci/deploy/keys"], false).touches(b"ci"));
        assert!(set(&["ci/deploy/keys"], false).touches(b"ci/deploy"));
        assert!(!set(&["ci/deploy/keys"], false).touches(b"c"));
    }

    #[test]
    fn case_is_folded_where_the_file_system_folds_it() {
        let folding = set(&["Ärger/*.Txt"], true);
        for path in ["SCRIPTS/a", "ArkAint.TOML", "ärger/x.txt", "ÄRGER/X.TXT"] {
            assert!(folding.touches(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn the_hooks_folder_is_protected_by_its_bytes() {
        let hooks = Protected::new(&[], &[b"my hooks\xff".to_vec()], false);
        assert!(hooks.touches(b"my hooks\xff/pre-commit"));
        assert!(!hooks.touches(b"my hooks/pre-commit"));
    }
}
