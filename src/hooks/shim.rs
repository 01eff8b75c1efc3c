//! The three constant shell files that git runs. Whether a file is ours is decided by its whole content, never by a marker alone.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::text;

/// A hook that Arkaint guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Commit,
    Merge,
    Push,
}

impl Name {
    pub(crate) const ALL: [Self; 3] = [Self::Commit, Self::Merge, Self::Push];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Commit => "pre-commit",
            Self::Merge => "pre-merge-commit",
            Self::Push => "pre-push",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == word)
    }

    /// The file to install.
    pub(super) fn shim(self) -> &'static [u8] {
        match self {
            Self::Commit => include_bytes!("../../hooks/pre-commit"),
            Self::Merge => include_bytes!("../../hooks/pre-merge-commit"),
            Self::Push => include_bytes!("../../hooks/pre-push"),
        }
    }

    /// Where the hook that was there before is kept.
    pub(super) fn kept_as(self) -> String {
        format!("{}.arkaint-prev", self.as_str())
    }
}

/// Whose file stands in a hook's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Nobody,
    /// Byte for byte the shim of that version.
    Ours(u32),
    /// It carries our marker, but somebody changed it.
    Edited,
    Other,
}

/// The version of the shims in this program. An older text stays known here, so that it can be replaced and removed.
pub(super) const VERSION: u32 = 3;

/// The SHA-256 of the texts of earlier versions.
const EARLIER: [(u32, Name, &str); 6] = [
    (
        1,
        Name::Commit,
        "e34dec01c371f25648c77ed38082fe30ebb4a79ed3bb1d3d89d1675d8f70dd16",
    ),
    (
        1,
        Name::Merge,
        "46b38a5c6a5bb4df7b5955fcd23494a4de0df90325dee18133bfd4069f500a49",
    ),
    (
        1,
        Name::Push,
        "31ec83b8ebe65a3c9d191612ff3e697178f9394ce296340ec040f9a1c1233822",
    ),
    (
        2,
        Name::Commit,
        "0f05ba6450eea5d6c7821a6bb4f233b66f97a0ac19098d2669e760613218f164",
    ),
    (
        2,
        Name::Merge,
        "12235df2b67b529e914e2c3d35907470725559aa43c04da8797656fce6934fa5",
    ),
    (
        2,
        Name::Push,
        "2ee9a19d9ffcabe250ff4bea5a8ae72c070bb1a0cc8b53f58644450975cf8f0d",
    ),
];

const MARKER: &str = "# arkaint-hook ";

/// Whose file is at `path`? Links are followed, as git follows them.
pub(super) fn owner(name: Name, path: &Path) -> Owner {
    if path.symlink_metadata().is_err() {
        return Owner::Nobody;
    }
    let Ok(content) = std::fs::read(path) else {
        return Owner::Other;
    };
    owner_of(name, &content)
}

fn owner_of(name: Name, content: &[u8]) -> Owner {
    if content == name.shim() {
        return Owner::Ours(VERSION);
    }
    let marked = content
        .split(|b| *b == b'\n')
        .take(3)
        .any(|line| line.starts_with(MARKER.as_bytes()));
    if !marked {
        return Owner::Other;
    }
    let digest = text::hex(&Sha256::digest(content));
    let earlier = EARLIER
        .iter()
        .find(|(_, of, text)| *of == name && *text == digest);
    earlier.map_or(Owner::Edited, |(version, ..)| Owner::Ours(*version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shims_are_plain_posix_files_that_name_their_hook() {
        for name in Name::ALL {
            let text = std::str::from_utf8(name.shim()).unwrap();
            assert!(text.starts_with(&format!("#!/bin/sh\n{MARKER}{VERSION} {}\n", name.as_str())));
            assert!(text.is_ascii() && !text.contains('\r') && text.ends_with("exit 1\n"));
            assert!(text.contains(&format!(
                "exec \"$bin\" hook run {} -- \"$@\"",
                name.as_str()
            )));
            // `$0` ends in `.legacy` after other installers have moved it: only its folder is taken from it.
            assert_eq!(
                text.matches("$0").count() + text.matches("{0").count(),
                text.matches("${0%/*}").count()
            );
        }
    }

    #[test]
    fn ownership_needs_every_byte() {
        let shim = Name::Push.shim();
        assert_eq!(owner_of(Name::Push, shim), Owner::Ours(VERSION));
        assert_eq!(owner_of(Name::Commit, shim), Owner::Edited);
        assert_eq!(
            owner_of(Name::Push, &[shim, b"echo more\n"].concat()),
            Owner::Edited
        );
        assert_eq!(
            owner_of(Name::Push, b"#!/bin/sh\n# calls git arkaint hook run\n"),
            Owner::Other
        );
    }
}
