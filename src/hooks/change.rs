//! What a commit would change, read from git's own raw output (`diff-tree --raw -z`): every path as bytes, no rename detection.
//! It judges nothing.

use anyhow::{Context, Result, bail};

use crate::text;

/// One changed entry. A merge commit's entry has one old mode and one letter for each parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    old_modes: Vec<u32>,
    new_mode: u32,
    /// git's letters: `A`, `D`, `M`, `T`.
    letters: String,
    pub path: Vec<u8>,
}

impl Change {
    /// Does it add a plain file that no parent had?
    pub(super) fn adds_file(&self) -> bool {
        const TYPE: u32 = 0o170_000;
        const FILE: u32 = 0o100_000;
        self.old_modes.iter().all(|mode| *mode == 0) && self.new_mode & TYPE == FILE
    }
}

impl std::fmt::Display for Change {
    /// `M scripts/build.sh`, on one line whatever the path holds.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.letters, shown(&self.path))
    }
}

/// A path for eyes, on one line.
pub(super) fn shown(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        Ok(name) if name.chars().any(char::is_control) => name.escape_debug().to_string(),
        Ok(name) => text::visible_line(name),
        Err(_) => path.escape_ascii().to_string(),
    }
}

/// The changes of one comparison of two trees.
pub(super) fn of_trees(raw: &[u8]) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    each(raw, |_, change| changes.push(change))?;
    Ok(changes)
}

/// The changes of each commit of a `diff-tree --stdin`; commits without one are left out.
pub(super) fn of_commits(raw: &[u8]) -> Result<Vec<(String, Vec<Change>)>> {
    let mut commits: Vec<(String, Vec<Change>)> = Vec::new();
    each(raw, |commit, change| match commits.last_mut() {
        Some((last, changes)) if last == commit => changes.push(change),
        _ => commits.push((commit.to_owned(), vec![change])),
    })?;
    Ok(commits)
}

fn each(raw: &[u8], mut found: impl FnMut(&str, Change)) -> Result<()> {
    let mut commit = String::new();
    let mut fields = raw.split(|b| *b == 0);
    while let Some(field) = fields.next() {
        if field.is_empty() {
            continue;
        }
        let field = std::str::from_utf8(field).context("reading the output of git diff-tree")?;
        let Some(header) = field.strip_prefix(':') else {
            field.clone_into(&mut commit);
            continue;
        };
        let path = fields
            .next()
            .context("reading the output of git diff-tree")?
            .to_vec();
        found(&commit, change(header, path)?);
    }
    Ok(())
}

/// `100644 100755 OLD NEW M`, or with one more colon, mode, name and letter for each further parent of a merge.
fn change(header: &str, path: Vec<u8>) -> Result<Change> {
    let parents = 1 + header.bytes().take_while(|b| *b == b':').count();
    let words: Vec<_> = header.trim_start_matches(':').split(' ').collect();
    let letters = words.get(2 * parents + 2).copied().unwrap_or_default();
    if words.len() != 2 * parents + 3 || !letters.bytes().all(|b| b.is_ascii_alphabetic()) {
        bail!(
            "git diff-tree gave a line of an unknown form: {}",
            text::visible_line(header)
        );
    }
    let mode = |word: &str| {
        u32::from_str_radix(word, 8).context("reading a mode in the output of git diff-tree")
    };
    Ok(Change {
        old_modes: words[..parents]
            .iter()
            .map(|word| mode(word))
            .collect::<Result<_>>()?,
        new_mode: mode(words[parents])?,
        letters: letters.to_owned(),
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_lines_and_odd_names_are_read() {
        let changes =
            of_trees(b":100644 120000 a1 b2 T\0new\nline\0:000000 100644 00 c3 A\0\xff\0").unwrap();
        assert_eq!(
            changes.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["T new\\nline", "A \\xff"]
        );
        assert_eq!(
            changes.iter().map(Change::adds_file).collect::<Vec<_>>(),
            [false, true]
        );
    }

    #[test]
    fn commits_and_merges_are_told_apart() {
        let raw = b"c1\0::000000 100644 100644 00 a1 b2 AM\0scripts/y\0c2\0c3\0:100644 000000 a1 00 D\0x\0:100644 000000 a1 00 D\0y\0";
        let commits = of_commits(raw).unwrap();
        assert_eq!(
            commits
                .iter()
                .map(|(c, changes)| (c.as_str(), changes.len()))
                .collect::<Vec<_>>(),
            [("c1", 1), ("c3", 2)]
        );
        assert_eq!(commits[0].1[0].old_modes, [0, 0o100_644]);
        assert!(!commits[0].1[0].adds_file());
    }

    #[test]
    fn a_link_is_no_file_and_an_unknown_form_is_an_error() {
        assert!(!of_trees(b":000000 120000 00 c3 A\0arkaint.toml\0").unwrap()[0].adds_file());
        assert!(of_trees(b":100644 100644 a b\0x\0").is_err());
    }

    #[test]
    fn whatever_git_prints_is_read_or_refused() {
        let oid = "0123456789abcdef0123456789abcdef01234567";
        let examples = [
            format!(
                ":100644 100755 {oid} {oid} M\0scripts/a\0:000000 120000 {oid} {oid} A\0b\nc\0"
            ),
            format!(
                "{oid}\0::100644 100644 160000 {oid} {oid} {oid} MM\0sub\0{oid}\0:100644 000000 {oid} {oid} D\0x\0"
            ),
        ];
        let examples: Vec<Vec<u8>> = examples.map(String::into_bytes).into();
        crate::text::fuzz::damaged(&examples, |bytes| {
            for change in of_trees(bytes).unwrap_or_default() {
                let line = change.to_string();
                assert!(!line.contains('\n'), "{line:?}");
            }
            let _ = of_commits(bytes);
        });
    }
}
