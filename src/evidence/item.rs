//! The items of the definition of done that Arkaint decides itself, from the change alone: a file was changed, a pattern is in no changed
//! file. Pure: the paths and the content are handed in. A worker's word counts for nothing here.

use anyhow::Result;

use super::assess::{Decided, Item};
use super::contract::{CheckKind, Outcome};
use super::dod::List;
use super::verify::Status;
use crate::config::{Dod, DodKind, ItemGlobs, Pattern};
use crate::text;

/// How a path differs between the merge base and the delivered commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A file that moved is added under its new name, and deleted under its old one.
    Added,
    Modified,
    Deleted,
}

/// Names in a line of evidence before the rest is counted.
const NAMED: usize = 5;
/// The longest name, bytes.
const LONGEST: usize = 200;

/// Decides `item`; `None` for one that a command proves. `changed` is what lies between the merge base and the delivered commit; `read` gives
/// the bytes of a path there, or `None` for what has none (a link to a commit of another repository).
///
/// # Errors
/// Those of `read`, and a glob or pattern that does not compile, which a loaded configuration and a frozen contract do not have.
pub(crate) fn decide<'p>(
    item: &Dod,
    changed: impl IntoIterator<Item = (&'p [u8], Change)>,
    read: impl FnMut(&[u8]) -> Result<Option<Vec<u8>>>,
) -> Result<Option<Decided>> {
    let globs = |globs: &[String]| ItemGlobs::new(globs).map_err(|why| fault(item, &why));
    let paths = globs(&item.paths)?;
    let in_paths = |path: &[u8]| item.paths.is_empty() || paths.is_match(path);
    let changed = changed.into_iter().filter(|(path, _)| in_paths(path));
    Ok(match item.kind {
        DodKind::Command => None,
        DodKind::FileChanged => {
            let glob = globs(item.glob.as_slice())?;
            let in_glob = |path: &[u8]| item.glob.is_none() || glob.is_match(path);
            Some(file_changed(changed.filter(|(path, _)| in_glob(path))))
        }
        DodKind::PatternAbsent => {
            let source = item.pattern.as_deref().unwrap_or_default();
            let pattern = Pattern::new(source).map_err(|why| fault(item, &why))?;
            Some(pattern_absent(&pattern, changed, read)?)
        }
    })
}

fn fault(item: &Dod, why: &str) -> anyhow::Error {
    anyhow::anyhow!("item {}: its pattern {why}", item.id)
}

/// Both lists as the assessment takes them, the project's first, with what is decided here. `changed` and `read` as for [`decide`].
///
/// # Errors
/// As [`decide`].
pub(crate) fn items(
    project: &[Dod],
    outcomes: &[Outcome],
    changed: &[(&[u8], Change)],
    mut read: impl FnMut(&[u8]) -> Result<Option<Vec<u8>>>,
) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for item in project {
        items.push(Item {
            list: List::Project,
            id: item.id.clone(),
            description: item.description.clone().unwrap_or_default(),
            manual: false,
            decided: decide(item, changed.iter().copied(), &mut read)?,
        });
    }
    items.extend(outcomes.iter().map(|outcome| Item {
        list: List::Issue,
        id: outcome.id.clone(),
        description: outcome.description.clone(),
        manual: outcome.check.kind == CheckKind::Manual,
        decided: None,
    }));
    Ok(items)
}

fn status(proven: bool) -> Status {
    if proven {
        Status::Passed
    } else {
        Status::Failed
    }
}

/// A file that is there afterwards; to take one away is not to change it.
fn file_changed<'p>(matching: impl Iterator<Item = (&'p [u8], Change)>) -> Decided {
    let (gone, there): (Vec<_>, Vec<_>) =
        matching.partition(|(_, change)| *change == Change::Deleted);
    let paths = |list: &[(&'p [u8], Change)]| names(list.iter().map(|(path, _)| *path));
    let evidence = match (there.as_slice(), gone.as_slice()) {
        ([], []) => "no changed file matches".to_owned(),
        ([], gone) => format!("deleted alone, which is no change: {}", paths(gone)),
        (there, _) => format!("changed: {}", paths(there)),
    };
    Decided {
        status: status(!there.is_empty()),
        evidence,
        grade: None,
    }
}

fn pattern_absent<'p>(
    pattern: &Pattern,
    changed: impl Iterator<Item = (&'p [u8], Change)>,
    mut read: impl FnMut(&[u8]) -> Result<Option<Vec<u8>>>,
) -> Result<Decided> {
    let (mut searched, mut hits) = (0_usize, Vec::new());
    for (path, _) in changed.filter(|(_, change)| *change != Change::Deleted) {
        let Some(bytes) = read(path)? else { continue };
        searched += 1;
        if pattern.is_match(&bytes) {
            hits.push(path);
        }
    }
    let evidence = match (hits.is_empty(), searched) {
        (true, 0) => "no changed file in scope".to_owned(),
        (true, 1) => "not in the 1 changed file in scope".to_owned(),
        (true, n) => format!("not in the {n} changed files in scope"),
        (false, _) => format!("found in {}", names(hits.iter().copied())),
    };
    Ok(Decided {
        status: status(hits.is_empty()),
        evidence,
        grade: None,
    })
}

/// `a, b, c, d, e and 3 more`.
fn names<'p>(mut paths: impl ExactSizeIterator<Item = &'p [u8]>) -> String {
    let rest = paths.len().saturating_sub(NAMED);
    let shown: Vec<String> = paths
        .by_ref()
        .take(NAMED)
        .map(|path| text::ellipsis(&text::visible_line(&String::from_utf8_lossy(path)), LONGEST))
        .collect();
    let more = match rest {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    shown.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::Change::{Added, Deleted, Modified};
    use super::*;
    use crate::evidence::contract::Body;

    fn file_changed_item(glob: Option<&str>, paths: &[&str]) -> Dod {
        Dod {
            id: "x".to_owned(),
            kind: DodKind::FileChanged,
            glob: glob.map(str::to_owned),
            paths: paths.iter().map(|p| (*p).to_owned()).collect(),
            ..Dod::default()
        }
    }

    fn pattern_item(pattern: &str, paths: &[&str]) -> Dod {
        Dod {
            kind: DodKind::PatternAbsent,
            pattern: Some(pattern.to_owned()),
            ..file_changed_item(None, paths)
        }
    }

    /// Decided over `(path, change, content)`.
    #[track_caller]
    fn over(item: &Dod, changed: &[(&str, Change, Option<&[u8]>)]) -> (bool, String) {
        let list = changed
            .iter()
            .map(|(path, change, _)| (path.as_bytes(), *change));
        let read = |path: &[u8]| {
            let found = changed.iter().find(|(p, ..)| p.as_bytes() == path).unwrap();
            assert_ne!(found.1, Deleted, "a deleted file has no content");
            Ok(found.2.map(<[u8]>::to_vec))
        };
        let decided = decide(item, list, read).unwrap().unwrap();
        (decided.status == Status::Passed, decided.evidence)
    }

    fn proven(evidence: &str) -> (bool, String) {
        (true, evidence.to_owned())
    }

    fn failed(evidence: &str) -> (bool, String) {
        (false, evidence.to_owned())
    }

    #[test]
    fn a_file_is_changed_by_adding_editing_or_renaming_not_by_deleting() {
        let item = file_changed_item(Some("docs/**"), &[]);
        for change in [Added, Modified] {
            assert_eq!(
                over(&item, &[("docs/a.md", change, None), ("b", Added, None)]),
                proven("changed: docs/a.md")
            );
        }
        assert_eq!(
            over(&item, &[("docs/a.md", Deleted, None), ("b", Added, None)]),
            failed("deleted alone, which is no change: docs/a.md")
        );
        assert_eq!(
            over(&item, &[("docs/a", Deleted, None), ("docs/b", Added, None)]),
            proven("changed: docs/b")
        );
        // A file renamed out of the folder is listed elsewhere.
        assert_eq!(
            over(&item, &[("old/a.md", Added, None)]),
            failed("no changed file matches")
        );
        assert_eq!(over(&item, &[]), failed("no changed file matches"));
    }

    #[test]
    fn glob_and_paths_both_hold_and_either_may_be_left_out() {
        let both = file_changed_item(Some("**/*.md"), &["docs/**", "book/**"]);
        assert_eq!(
            over(
                &both,
                &[("README.md", Added, None), ("docs/x", Added, None)]
            ),
            failed("no changed file matches")
        );
        assert_eq!(
            over(&both, &[("book/x.md", Added, None)]),
            proven("changed: book/x.md")
        );
        let paths = file_changed_item(None, &["docs/*"]);
        assert_eq!(
            over(&paths, &[("docs/x", Added, None)]),
            proven("changed: docs/x")
        );
    }

    #[test]
    fn a_pattern_is_looked_for_in_what_changed_within_the_paths() {
        let item = pattern_item(r"dbg!\(", &["src/**"]);
        assert_eq!(
            over(
                &item,
                &[
                    ("src/a.rs", Modified, Some(b"fn a() {}\n")),
                    ("src/b.rs", Added, Some(b"\xff\0dbg!(1)")),
                    ("src/gone.rs", Deleted, None),
                    ("notes.md", Added, Some(b"dbg!(x)")),
                ]
            ),
            failed("found in src/b.rs")
        );
        assert_eq!(
            over(
                &item,
                &[
                    ("src/a.rs", Modified, Some(b"fn a() {}\n")),
                    ("src/b.rs", Added, Some(b"")),
                    ("src/vendor", Modified, None),
                ]
            ),
            proven("not in the 2 changed files in scope")
        );
        let vacuous = [
            ("a.rs", Added, Some(b"dbg!(".as_slice())),
            ("src/x", Deleted, None),
        ];
        assert_eq!(over(&item, &vacuous), proven("no changed file in scope"));
        assert_eq!(
            over(&pattern_item("x", &[]), &[("a", Added, Some(b"y"))]),
            proven("not in the 1 changed file in scope")
        );
    }

    #[test]
    fn both_lists_are_handed_on_with_what_is_decided() {
        let text = "[[outcomes]]\nid = 'x'\ndescription = 'It works'\ncheck = {kind = 'test', command = 'true'}\n\
            [[outcomes]]\nid = 'y'\ncheck = {kind = 'manual'}\n";
        let body = Body::read("c.toml".as_ref(), text).unwrap();
        let command = Dod {
            id: "c".to_owned(),
            description: Some("All of it".to_owned()),
            ..Dod::default()
        };
        let project = [command, pattern_item("dbg", &[])];
        let changed = [(b"a".as_slice(), Added), (b"b".as_slice(), Deleted)];
        let read = |_: &[u8]| Ok(Some(b"dbg".to_vec()));
        let items = items(&project, &body.outcomes, &changed, read).unwrap();
        let shown: Vec<_> = items
            .iter()
            .map(|item| {
                let decided = item.decided.as_ref().map_or("", |d| d.evidence.as_str());
                let list = item.list.name();
                format!(
                    "{list}/{} {:?} {} {decided}",
                    item.id, item.description, item.manual
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "project/c \"All of it\" false ",
                "project/x \"\" false found in a",
                "issue/x \"It works\" false ",
                "issue/y \"\" true ",
            ]
        );
    }

    #[test]
    fn five_files_are_named_and_the_rest_is_counted() {
        let names: Vec<String> = (1..=7).map(|n| format!("f{n}")).collect();
        let all: Vec<_> = names
            .iter()
            .map(|name| (name.as_str(), Added, Some(b"x".as_slice())))
            .collect();
        let item = pattern_item("x", &[]);
        assert_eq!(
            over(&item, &all),
            failed("found in f1, f2, f3, f4, f5 and 2 more")
        );
        assert_eq!(
            over(&item, &all[..5]),
            failed("found in f1, f2, f3, f4, f5")
        );
        assert_eq!(
            over(&item, &[("a\nb\u{1b}[1m", Added, Some(b"x"))]),
            failed("found in a b<U+001B>[1m")
        );
    }

    #[test]
    fn a_command_is_not_decided_here_and_an_unreadable_blob_is_no_proof() {
        let command = Dod::default();
        assert_eq!(decide(&command, [], |_| Ok(None)).unwrap(), None);
        let item = pattern_item("x", &[]);
        let fails = decide(&item, [(b"a".as_slice(), Added)], |_| {
            anyhow::bail!("a blob is missing")
        });
        assert_eq!(fails.unwrap_err().to_string(), "a blob is missing");
        let bad = decide(&pattern_item("(", &[]), [], |_| Ok(None));
        assert!(
            bad.unwrap_err()
                .to_string()
                .starts_with("item x: its pattern has a (")
        );
    }
}
