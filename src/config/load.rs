//! From texts to a [`Config`]: the file, then the personal settings (`personal`) over it, each value with its origin. The first mistake is an
//! error of one line that names file, line and key. It reads no file and asks no git.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::dod;
use super::keys::{self, Key, TABLES, Table};
use super::setting::{Loaded, Origin, path};
use super::value::nearest;
use super::{AgentName, Config, FILE};
use crate::exit::Refusal;
use crate::text;

/// Everything that a configuration is made from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources<'a> {
    /// The text of `arkaint.toml` as committed.
    pub file: Option<&'a str>,
    /// `arkaint.*` of git config (key in full, section in lower case), in git's order: the last one counts.
    pub git_config: Vec<(String, String)>,
    /// The `ARKAINT_*` variables.
    pub env: Vec<(String, String)>,
    pub flags: Flags,
}

/// What can be chosen for one call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    pub agent: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub profile: Option<String>,
}

/// The text of a file's bytes.
///
/// # Errors
/// A [`Refusal`] that names the first line which is not UTF-8.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(bytes).map_err(|e| {
        let line = line_at(bytes, e.valid_up_to());
        Refusal::new(
            format!("{FILE}:{line}: not UTF-8"),
            format!("iconv -t UTF-8 {FILE}, and see file {FILE} for what it is now"),
        )
    })
}

/// Makes the configuration of one call: defaults, then `arkaint.toml`, then for agent, provider, model and profile git config, the
/// environment, and flags. What guards the agent comes from the file alone.
///
/// # Errors
/// A [`Refusal`] that names file, line and key, or the setting.
pub(crate) fn load(sources: &Sources<'_>) -> Result<Loaded, Refusal> {
    let mut reader = Reader::new(sources.file.unwrap_or_default());
    reader.file()?;
    reader.personal(sources)?;
    Ok(Loaded {
        config: reader.config,
        warnings: reader.warnings,
        origins: reader.origins,
    })
}

/// A configuration in the making.
pub(super) struct Reader<'a> {
    text: &'a str,
    pub config: Config,
    pub origins: BTreeMap<String, Origin>,
    pub warnings: Vec<String>,
    /// Mistakes by where they are in the text; a table is not read in the order of its lines.
    mistakes: BTreeMap<usize, String>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            config: Config::default(),
            origins: BTreeMap::new(),
            warnings: Vec::new(),
            mistakes: BTreeMap::new(),
        }
    }

    fn file(&mut self) -> Result<(), Refusal> {
        let root = DeTable::parse(self.text).map_err(|e| self.not_toml(&e))?;
        for (name, value) in root.get_ref() {
            let at = name.span().start;
            match (keys::find(name.get_ref()), value.get_ref()) {
                (Some(table), DeValue::Array(items)) if table.list => self.items(table, items, at),
                (Some(table), _) if table.list => {
                    self.mistake(
                        at,
                        format!("'{0}' is a list of tables: write [[{0}]]", table.name),
                    );
                }
                (Some(table), DeValue::Table(entries)) if table.per.is_some() => {
                    self.instances(table, entries);
                }
                (Some(table), DeValue::Table(entries)) => self.entries(table, "", entries),
                (Some(table), _) => {
                    self.mistake(at, format!("'{0}' is a table: write [{0}]", table.name));
                }
                (None, value) => self.mistake(at, unknown_top(name.get_ref(), is_table(value))),
            }
        }
        self.command_given();
        match self.mistakes.pop_first() {
            Some((at, message)) => Err(self.refusal(at, &message)),
            None => Ok(()),
        }
    }

    /// `[profile.NAME]`, `[price."PROVIDER/MODEL"]`.
    fn instances(&mut self, table: &'static Table, entries: &DeTable<'_>) {
        for (name, value) in entries {
            let at = name.span().start;
            let word = name.get_ref().as_ref();
            let DeValue::Table(inner) = value.get_ref() else {
                let per = table.per.unwrap_or_default();
                let known = table.keys.iter().map(|k| k.name);
                let hint = nearest(word, known).map_or_else(
                    || format!("write [{}.{per}]", table.name),
                    |near| did_you_mean(&format!("{}.{per}.{near}", table.name)),
                );
                self.mistake(at, format!("unknown key '{}.{word}'; {hint}", table.name));
                continue;
            };
            let named = if table.name == "price" {
                price_name(word)
            } else {
                profile_name(word)
            };
            if let Err(message) = named {
                self.mistake(at, message);
                continue;
            }
            if table.name == "profile" && !self.config.profiles.contains_key(word) {
                if let Some(near) = nearest(word, self.config.profiles.keys().map(String::as_str)) {
                    self.warnings.push(format!(
                        "{FILE}:{}: [profile.{word}] adds a profile; {}",
                        self.line(at),
                        did_you_mean(near)
                    ));
                }
                self.config
                    .profiles
                    .insert(word.to_owned(), super::profiles::fallback());
            }
            self.entries(table, word, inner);
            if table.name == "price" {
                self.price_whole(word, inner, at);
            }
        }
    }

    /// `[[dod]]`.
    fn items(&mut self, table: &'static Table, items: &[Spanned<DeValue<'_>>], at: usize) {
        let mut ids = BTreeMap::new();
        for (place, item) in items.iter().enumerate() {
            let at = at.max(item.span().start);
            let DeValue::Table(entries) = item.get_ref() else {
                self.mistake(
                    at,
                    format!("'{0}' is a list of tables: write [[{0}]]", table.name),
                );
                continue;
            };
            let instance = place.to_string();
            let before = self.mistakes.len();
            self.entries(table, &instance, entries);
            // What is wrong with a key says more than that the item lacks it then.
            if self.mistakes.len() > before {
                continue;
            }
            let Some(read) = self.config.dod.get(place).cloned() else {
                self.mistake(
                    at,
                    format!("item {} is empty", item_name(entries, &instance)),
                );
                continue;
            };
            let key_at = |name: &str| {
                let found = entries.iter().find(|(key, _)| key.get_ref() == name);
                found.map_or(at, |(key, _)| key.span().start)
            };
            if let Some((key, fault)) = dod::fault(table, &read, |key| entries.contains_key(key)) {
                let message = format!("item {} {fault}", item_name(entries, &instance));
                self.mistake(key.map_or(at, key_at), message);
            }
            if let Some(first) = ids.insert(read.id.clone(), key_at("id")) {
                let message = format!(
                    "item {} has the id of the item in line {}",
                    item_name(entries, &instance),
                    self.line(first)
                );
                self.mistake(key_at("id"), message);
            }
        }
    }

    fn entries(&mut self, table: &'static Table, instance: &str, entries: &DeTable<'_>) {
        let (of, shown) = if table.list {
            (format!(" of item {}", item_name(entries, instance)), "")
        } else {
            (String::new(), instance)
        };
        for (name, value) in entries {
            let Some(key) = table
                .keys
                .iter()
                .find(|key| key.name == name.get_ref().as_ref())
            else {
                let full = path(table, shown, name.get_ref());
                let message = unknown_key(table, &format!("'{full}'{of}"), name.get_ref());
                self.mistake(name.span().start, message);
                continue;
            };
            let full = path(table, instance, key.name);
            match key.kind.read(value) {
                Ok(read) => {
                    key.put(&mut self.config, instance, read);
                    let line = self.line(name.span().start);
                    self.origins.insert(full, Origin::File(line));
                }
                Err(wrong) => {
                    let at = wrong.span.unwrap_or_else(|| value.span()).start;
                    let what = match value.get_ref() {
                        DeValue::String(word)
                            if table.list && key.name == "kind" && word == "manual" =>
                        {
                            dod::MANUAL.to_owned()
                        }
                        _ => wrong.message,
                    };
                    let full = path(table, shown, key.name);
                    self.mistake(at, format!("'{full}'{of}: {what}"));
                }
            }
        }
    }

    /// A price without its main parts would make a cost that is too low.
    fn price_whole(&mut self, name: &str, entries: &DeTable<'_>, at: usize) {
        for needed in ["input", "output"] {
            if !entries.contains_key(needed) {
                self.mistake(at, format!("[price.\"{name}\"] has no '{needed}'"));
            }
        }
        if let Some(price) = self.config.prices.get_mut(name) {
            for (cache, place) in [
                ("cache_read", &mut price.cache_read),
                ("cache_write", &mut price.cache_write),
            ] {
                if !entries.contains_key(cache) {
                    *place = price.input;
                }
            }
        }
    }

    /// The command agent is nothing without a command; whether it is chosen here or by a personal setting.
    fn command_given(&mut self) {
        if let (AgentName::Command, true, Some(Origin::File(line))) = (
            self.config.agent.name,
            self.config.agent.command.is_empty(),
            self.origins.get("agent.name"),
        ) {
            let at = self
                .text
                .split_inclusive('\n')
                .take(line - 1)
                .map(str::len)
                .sum();
            self.mistake(
                at,
                r#"agent.name = "command" needs 'agent.command'"#.to_owned(),
            );
        }
    }

    /// The parser's words, and what they are about.
    fn not_toml(&self, error: &toml::de::Error) -> Refusal {
        let span = error.span().unwrap_or_default();
        let what = self
            .text
            .get(span.clone())
            .map(str::trim)
            .filter(|what| !what.is_empty());
        let message = what.map_or_else(
            || error.message().to_owned(),
            |what| format!("{}: {}", error.message(), text::ellipsis(what, 40)),
        );
        self.refusal(span.start, &message)
    }

    fn mistake(&mut self, at: usize, message: String) {
        self.mistakes.entry(at).or_insert(message);
    }

    fn line(&self, at: usize) -> usize {
        line_at(self.text.as_bytes(), at)
    }

    fn refusal(&self, at: usize, message: &str) -> Refusal {
        refusal(format!(
            "{FILE}:{}: {}",
            self.line(at),
            text::visible_line(message)
        ))
    }
}

/// The line of a byte, from 1.
fn line_at(text: &[u8], at: usize) -> usize {
    text[..at.min(text.len())]
        .split(|byte| *byte == b'\n')
        .count()
}

pub(super) fn refusal(cause: String) -> Refusal {
    Refusal::new(cause, "git arkaint man git-arkaint-config")
}

fn is_table(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::Table(_) => true,
        DeValue::Array(items) => {
            !items.is_empty() && items.iter().all(|item| item.get_ref().is_table())
        }
        _ => false,
    }
}

fn unknown_top(name: &str, is_table: bool) -> String {
    let tables = || TABLES.iter().map(|table| table.name);
    if is_table {
        let hint = nearest(name, tables()).map_or_else(
            || format!("known tables: {}", tables().collect::<Vec<_>>().join(", ")),
            did_you_mean,
        );
        return format!("unknown table '{name}'; {hint}");
    }
    let hint = elsewhere(name).map_or_else(
        || "every key stands in a table".to_owned(),
        |path| did_you_mean(&path),
    );
    format!("unknown key '{name}'; {hint}")
}

/// `path`: as it is shown, with its quotes.
fn unknown_key(table: &Table, path: &str, name: &str) -> String {
    let known = || table.keys.iter().map(|key| key.name);
    let hint = nearest(name, known())
        .map(str::to_owned)
        .or_else(|| elsewhere(name))
        .map_or_else(
            || format!("known keys: {}", known().collect::<Vec<_>>().join(", ")),
            |near| did_you_mean(&near),
        );
    format!("unknown key {path}; {hint}")
}

/// How an item is called in a message: by its id, else by its number.
fn item_name(entries: &DeTable<'_>, instance: &str) -> String {
    match entries.get("id").map(Spanned::get_ref) {
        Some(DeValue::String(id)) if !id.trim().is_empty() => {
            format!("\"{}\"", text::ellipsis(&text::visible_line(id), 60))
        }
        _ => format!("{}", instance.parse::<usize>().unwrap_or_default() + 1),
    }
}

/// The full name of the key of another table that `name` is, or probably is.
fn elsewhere(name: &str) -> Option<String> {
    let full = |table: &Table, key: &Key| match table.per {
        Some(per) => format!("{}.{per}.{}", table.name, key.name),
        None => format!("{}.{}", table.name, key.name),
    };
    let keys = || {
        TABLES
            .iter()
            .flat_map(|table| table.keys.iter().map(move |key| (table, key)))
    };
    let near = nearest(name, keys().map(|(_, key)| key.name))?;
    keys()
        .find(|(_, key)| key.name == near)
        .map(|(table, key)| full(table, key))
}

pub(super) fn did_you_mean(name: &str) -> String {
    format!("did you mean '{name}'?")
}

fn profile_name(name: &str) -> Result<(), String> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > 64 || name.starts_with('-') || !name.chars().all(good) {
        return Err(format!(
            "'{name}' is no name for a profile: letters, digits, - and _"
        ));
    }
    Ok(())
}

fn price_name(name: &str) -> Result<(), String> {
    match name.split_once('/') {
        Some((provider, model)) if !provider.is_empty() && !model.is_empty() => Ok(()),
        _ => Err(format!(
            "'{name}' is no PROVIDER/MODEL: write [price.\"PROVIDER/MODEL\"]"
        )),
    }
}
