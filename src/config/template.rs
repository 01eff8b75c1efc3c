//! The commented `arkaint.toml` that `init` writes, from the list of keys. It does not look for the test command.

use std::fmt::Write as _;

use super::DodKind;
use super::keys::{Fallback, Key, TABLES, Table};
use super::value::{Kind, Value};

/// Comments are folded here, so that the file reads well in a narrow window.
const WIDTH: usize = 108;

/// The text of a new `arkaint.toml`. `test` is the command that was found, and in which files.
pub(crate) fn template(test: Option<(&str, &str)>) -> String {
    let mut out = String::new();
    comment(
        &mut out,
        "Arkaint's configuration: commit it. A key that is commented out shows its default, or an example where the text says what holds \
         while it is not set. All keys: git arkaint man git-arkaint-config. What holds now and why: git arkaint status --config.",
    );
    for table in TABLES {
        out.push('\n');
        comment(&mut out, table.doc);
        if table.list {
            items(&mut out, table);
            continue;
        }
        let _ = match table.per {
            Some(_) => writeln!(out, "# [{}.{}]", table.name, table.instance),
            None => writeln!(out, "[{}]", table.name),
        };
        for key in table.keys {
            entry(&mut out, table, key, test);
        }
    }
    out
}

/// An item of each kind, each key explained where it comes first.
fn items(out: &mut String, table: &Table) {
    let mut explained = Vec::new();
    for kind in DodKind::NAMES {
        let _ = writeln!(out, "# [[{}]]", table.name);
        for key in table.keys.iter().filter(|key| key.is_of(kind)) {
            if !explained.contains(&key.name) {
                explained.push(key.name);
                let kinds = if key.name == "kind" {
                    format!(" One of {}.", DodKind::NAMES.join(", "))
                } else {
                    String::new()
                };
                comment(out, &format!("{}{kinds}", key.doc));
            }
            let value = match (key.name, &key.default) {
                ("kind", _) => format!("\"{kind}\""),
                ("id", _) => format!("\"a-{kind}\""),
                (_, Fallback::Unset { example, .. } | Fallback::Is(example)) => {
                    (*example).to_owned()
                }
            };
            let _ = writeln!(out, "# {} = {value}", key.name);
        }
    }
}

fn entry(out: &mut String, table: &Table, key: &Key, test: Option<(&str, &str)>) {
    let is_test = (table.name, key.name) == ("checkpoint", "test");
    match (&key.default, test) {
        (_, Some((command, from))) if is_test => {
            comment(out, &format!("{} Found in {from}.", key.doc));
            let _ = writeln!(
                out,
                "{} = {}",
                key.name,
                Kind::Test.show(&Value::Text(command.to_owned()))
            );
        }
        (Fallback::Unset { example, .. }, None) if is_test => {
            comment(out, key.doc);
            comment(
                out,
                "No test command was found in this project: set it, or checkpoint refuses.",
            );
            let _ = writeln!(out, "# {} = {example}", key.name);
        }
        (Fallback::Unset { example, means }, _) => {
            comment(out, &format!("{} Not set: {means}.", key.doc));
            let _ = writeln!(out, "# {} = {example}", key.name);
        }
        (Fallback::Is(default), _) => {
            comment(out, key.doc);
            let _ = writeln!(out, "# {} = {default}", key.name);
        }
    }
}

/// `text` as comment lines.
fn comment(out: &mut String, text: &str) {
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH {
            out.push_str(&line);
            out.push_str("\n#");
            line.clear();
        }
        line.push(' ');
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Choice as _, CommandLine, Config, Sources, TestCommand, load};

    fn loaded(file: &str) -> Config {
        let sources = Sources {
            file: Some(file),
            ..Sources::default()
        };
        load(&sources)
            .unwrap_or_else(|e| panic!("{}\n{file}", e.cause))
            .config
    }

    #[test]
    fn what_init_writes_is_valid_and_changes_nothing_but_the_test() {
        let mut with_test = loaded(&template(Some((
            "cargo test && npm test -- \"a b\"",
            "Cargo.toml",
        ))));
        assert_eq!(
            with_test.checkpoint.test,
            TestCommand::Run(CommandLine::Bash(
                "cargo test && npm test -- \"a b\"".to_owned()
            ))
        );
        with_test.checkpoint.test = TestCommand::Unset;
        assert_eq!(with_test, Config::default());
        assert_eq!(loaded(&template(None)), Config::default());
    }

    #[test]
    fn every_commented_key_is_a_valid_line_with_its_default() {
        let is_key = |line: &str| {
            let word = line.split(' ').next().unwrap_or_default();
            line.starts_with('[')
                || (line[word.len()..].starts_with(" = ")
                    && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
        };
        let live: String = template(None)
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest) if is_key(rest) => format!("{rest}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        for key in TABLES.iter().flat_map(|t| t.keys) {
            assert!(live.contains(&format!("\n{} = ", key.name)), "{}", key.name);
        }
        let mut config = loaded(&live);
        let defaults = Config::default();
        // The examples of keys that are not set by default.
        config.checkpoint.test = TestCommand::Unset;
        config.checkpoint.spec = None;
        config.agent.provider = None;
        config.agent.model = None;
        config.prices.clear();
        config.deliver.base = None;
        config.dispatch.setup = None;
        (config.drift.command, config.drift.url) = (None, None);
        let kinds: Vec<_> = config.dod.iter().map(|item| item.kind).collect();
        assert_eq!(kinds, DodKind::ALL);
        config.dod.clear();
        config
            .profiles
            .get_mut("default")
            .unwrap()
            .guardrails
            .clone_from(&defaults.profiles["default"].guardrails);
        assert_eq!(config, defaults);
    }

    #[test]
    fn the_file_is_short_to_read() {
        let text = template(None);
        let lines = text.lines().count();
        let keys = TABLES.iter().map(|t| t.keys.len()).sum::<usize>();
        assert!(
            lines <= keys * 3 + TABLES.len() * 4 + 4,
            "{lines} lines for {keys} keys"
        );
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
    }
}
