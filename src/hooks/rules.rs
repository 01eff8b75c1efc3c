//! The two tables of `arkaint.toml` that the guards hold to, as a commit has them, never as the index or the worktree has them.
//! It reads them leniently: other tables and wrong types are for the configuration's own check to name.

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::config::protected::CONFIG_FILE;
use crate::config::{Branches, Infra, InfraScope};
use crate::git::hook_env::HookGit;

/// What `[infra]` and `[branches]` say.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rules {
    pub infra: Infra,
    pub branches: Branches,
}

impl Default for Rules {
    fn default() -> Self {
        let isolated = ["arkaint/*", "ephemeral-*"].map(str::to_owned).to_vec();
        Self {
            infra: Infra {
                paths: Vec::new(),
                scope: InfraScope::All,
            },
            branches: Branches { isolated },
        }
    }
}

impl Rules {
    /// The rules in the text of an `arkaint.toml`; what it does not say, or says in a wrong type, stays at its default.
    pub(super) fn parse(text: &str) -> Result<Self, toml::de::Error> {
        let file: toml::Table = text.parse()?;
        let value = |table: &str, key: &str| file.get(table)?.get(key).cloned();
        let mut rules = Self::default();
        if let Some(paths) = value("infra", "paths").and_then(strings) {
            rules.infra.paths = paths;
        }
        if value("infra", "scope")
            .as_ref()
            .and_then(toml::Value::as_str)
            == Some("isolated")
        {
            rules.infra.scope = InfraScope::Isolated;
        }
        if let Some(isolated) = value("branches", "isolated").and_then(strings) {
            rules.branches.isolated = isolated;
        }
        Ok(rules)
    }

    /// The rules at each of `commits` that has an `arkaint.toml`, and a line for each of those that cannot be read. One call of git.
    pub(super) fn at(git: &HookGit, commits: &[&str]) -> anyhow::Result<(Vec<Self>, Vec<String>)> {
        let names = commits
            .iter()
            .map(|commit| format!("{commit}:{CONFIG_FILE}"));
        let answers = git
            .call(["cat-file", "--batch"])
            .stdin_lines(names)
            .bytes()?;
        let (mut rules, mut unread) = (Vec::new(), Vec::new());
        for blob in blobs(&answers) {
            match std::str::from_utf8(blob).map_err(|e| e.to_string()).and_then(|text| Self::parse(text).map_err(|e| e.message().to_owned())) {
                Ok(read) => rules.push(read),
                Err(why) => unread.push(format!("the committed {CONFIG_FILE} cannot be read ({why}); the built-in protected paths hold")),
            }
        }
        unread.dedup();
        Ok((rules, unread))
    }

    /// Branches on which agents run; matches short names (`arkaint/x`).
    pub(super) fn isolated(&self) -> GlobSet {
        let mut set = GlobSetBuilder::new();
        for glob in self
            .branches
            .isolated
            .iter()
            .filter_map(|pattern| Glob::new(pattern).ok())
        {
            set.add(glob);
        }
        set.build().unwrap_or_else(|_| GlobSet::empty())
    }
}

fn strings(value: toml::Value) -> Option<Vec<String>> {
    value.try_into().ok()
}

/// The blobs in an answer of `cat-file --batch`: `NAME TYPE SIZE`, the bytes, a newline; other answers are one line.
fn blobs(mut answers: &[u8]) -> Vec<&[u8]> {
    let mut blobs = Vec::new();
    while let Some(end) = answers.iter().position(|b| *b == b'\n') {
        let header = String::from_utf8_lossy(&answers[..end]).into_owned();
        answers = &answers[end + 1..];
        let mut words = header.rsplit(' ');
        let (size, kind) = (
            words.next().and_then(|size| size.parse::<usize>().ok()),
            words.next(),
        );
        let Some(size) = size.filter(|_| matches!(kind, Some("blob" | "tree" | "commit" | "tag")))
        else {
            continue;
        };
        if kind == Some("blob") {
            blobs.push(&answers[..size.min(answers.len())]);
        }
        answers = answers.get(size + 1..).unwrap_or_default();
    }
    blobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_are_read_and_the_rest_is_left_alone() {
        let rules = Rules::parse("[infra]\npaths = [\"ci/\"]\nscope = \"isolated\"\n[branches]\nisolated = [\"bot/*\"]\n[unknown]\nx = 1\n").unwrap();
        assert_eq!(
            rules.infra,
            Infra {
                paths: vec!["ci/".to_owned()],
                scope: InfraScope::Isolated
            }
        );
        assert!(rules.isolated().is_match("bot/a/b") && !rules.isolated().is_match("arkaint/x"));
    }

    #[test]
    fn wrong_types_leave_the_defaults_and_a_broken_file_is_an_error() {
        assert_eq!(
            Rules::parse("infra = 3\nbranches = { isolated = \"x\" }\n").unwrap(),
            Rules::default()
        );
        assert!(Rules::parse("[infra\n").is_err());
    }

    #[test]
    fn batch_answers_are_cut_by_their_sizes() {
        let answers =
            b"aa blob 4\n[x]\n\nHEAD:arkaint.toml missing\nbb tree 3\nx\ny\ncc blob 0\n\n";
        assert_eq!(blobs(answers), [b"[x]\n".as_slice(), b""]);
    }
}
