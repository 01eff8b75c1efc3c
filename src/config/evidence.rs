//! How much a proof must be worth, and where its file lies: the words of `[evidence]` and `[dod]`. It reads no file.

use std::path::PathBuf;

use super::Choice;

/// The least grade of evidence that the gate takes (`evidence.binding`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Binding {
    /// Any, however old: nothing ties a proof to a commit.
    Off,
    /// Its time, or the state of the worktree, fits the delivered commit.
    #[default]
    Dated,
    /// It names the tree of the delivered commit.
    Tree,
    /// Arkaint ran the check itself in a fresh worktree.
    Rerun,
}

impl Binding {
    pub(crate) const NAMES: [&str; 4] = ["off", "dated", "tree", "rerun"];
}

impl Choice for Binding {
    const ALL: &'static [Self] = &[Self::Off, Self::Dated, Self::Tree, Self::Rerun];

    fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Dated => "dated",
            Self::Tree => "tree",
            Self::Rerun => "rerun",
        }
    }
}

/// What it means when `dod.json` calls proven what `verify.json` calls failed (`evidence.conflicts`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Conflicts {
    /// Proven, as the former is more specific; the table flags it.
    #[default]
    Warn,
    /// Failed.
    Fail,
}

impl Conflicts {
    pub(crate) const NAMES: [&str; 2] = ["warn", "fail"];
}

impl Choice for Conflicts {
    const ALL: &'static [Self] = &[Self::Warn, Self::Fail];

    fn name(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// A file below the worktree's root, as an operator writes it: `\` counts as `/`, a component `.` as none.
///
/// # Errors
/// What is wrong, to follow the path in a message: absolute, a drive letter, `..`, an empty component, a NUL byte, no name at all.
pub(crate) fn relative_path(text: &str) -> Result<PathBuf, String> {
    let text = text.replace('\\', "/");
    let drive = text
        .as_bytes()
        .get(..2)
        .is_some_and(|start| start[0].is_ascii_alphabetic() && start[1] == b':');
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    if text.starts_with('/') || drive {
        return Err("is absolute; name a file below the worktree's root".to_owned());
    }
    if text.contains('\0') {
        return Err("holds a NUL byte".to_owned());
    }
    let mut path = PathBuf::new();
    for component in text.split('/') {
        match component {
            "" => return Err("has an empty component".to_owned()),
            ".." => return Err("leads out of the worktree (`..`)".to_owned()),
            "." => {}
            name => path.push(name),
        }
    }
    if path.as_os_str().is_empty() {
        return Err("names no file".to_owned());
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_evidence_file_lies_below_the_root_whatever_the_slashes() {
        for (text, path) in [
            (".ak-loop/dod.json", ".ak-loop/dod.json"),
            (r".ak-loop\dod.json", ".ak-loop/dod.json"),
            ("proofs/deep/dod.json", "proofs/deep/dod.json"),
            ("./dod.json", "dod.json"),
            ("...", "..."),
        ] {
            assert_eq!(relative_path(text).as_deref(), Ok(path.as_ref()), "{text}");
        }
        for (text, why) in [
            ("", "is empty"),
            ("/etc/dod.json", "is absolute"),
            (r"\\server\dod.json", "is absolute"),
            ("C:/dod.json", "is absolute"),
            (r"c:\dod.json", "is absolute"),
            ("C:dod.json", "is absolute"),
            ("../dod.json", "leads out"),
            (r"a\..\dod.json", "leads out"),
            ("a//dod.json", "has an empty component"),
            ("a/", "has an empty component"),
            (".", "names no file"),
            ("a\0b", "holds a NUL byte"),
        ] {
            let refused = relative_path(text).unwrap_err();
            assert!(refused.starts_with(why), "{text}: {refused}");
        }
    }
}
