//! One item of `[[dod]]`: what the file says of it, and whether its keys belong together. Deciding it is the work of `evidence::item`.

use super::Choice;
use super::keys::Table;

/// How an item is proven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DodKind {
    /// A command exits 0.
    #[default]
    Command,
    /// The work adds or changes a file that matches.
    FileChanged,
    /// No changed file contains the pattern.
    PatternAbsent,
}

impl DodKind {
    pub(crate) const NAMES: [&str; 3] = ["command", "file-changed", "pattern-absent"];
}

impl Choice for DodKind {
    const ALL: &'static [Self] = &[Self::Command, Self::FileChanged, Self::PatternAbsent];

    fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::FileChanged => "file-changed",
            Self::PatternAbsent => "pattern-absent",
        }
    }
}

/// An item. Of `command`, `glob`, `pattern` and `paths` only those of its kind are set; patterns and globs compile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dod {
    /// Not empty, no blanks around it, at most 200 characters, no other item's.
    pub id: String,
    pub kind: DodKind,
    pub description: Option<String>,
    pub command: Option<Vec<String>>,
    pub glob: Option<String>,
    pub pattern: Option<String>,
    /// Globs of the changed files that count; empty = all.
    pub paths: Vec<String>,
}

/// What a person sees is not for a worker to write down.
pub(super) const MANUAL: &str = "there is no kind \"manual\": what a person must see is an outcome with check manual in a contract \
     (git arkaint contract attest), or an approval (git arkaint contract approve)";

/// The longest id, characters.
const LONGEST_ID: usize = 200;

/// The first thing that is wrong with the item as a whole: at which of its keys (none: the item itself), and what. `given`: is this key
/// in the file?
pub(super) fn fault<'t>(
    table: &'t Table,
    dod: &Dod,
    given: impl Fn(&str) -> bool,
) -> Option<(Option<&'t str>, String)> {
    for needed in ["id", "kind"] {
        if !given(needed) {
            return Some((None, format!("has no '{needed}'")));
        }
    }
    // A worker's file is read with JavaScript's idea of blanks.
    let blank = |c: char| c.is_whitespace() || c == '\u{feff}';
    if dod.id.trim_matches(blank) != dod.id {
        return Some((Some("id"), "has blanks around its id".to_owned()));
    }
    if dod.id.chars().count() > LONGEST_ID {
        let fault = format!("has an id of more than {LONGEST_ID} characters");
        return Some((Some("id"), fault));
    }
    let kind = dod.kind.name();
    let stray = table
        .keys
        .iter()
        .find(|key| given(key.name) && !key.is_of(kind));
    if let Some(key) = stray {
        let fault = format!(
            "is of kind {kind}, which has no '{}' (only {})",
            key.name,
            key.of.join(" and ")
        );
        return Some((Some(key.name), fault));
    }
    let needed = match dod.kind {
        DodKind::Command => "command",
        DodKind::FileChanged if dod.paths.is_empty() => "glob",
        DodKind::FileChanged => return None,
        DodKind::PatternAbsent => "pattern",
    };
    (!given(needed)).then(|| (None, format!("is of kind {kind} and has no '{needed}'")))
}
