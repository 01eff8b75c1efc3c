//! A loaded configuration for people: each value with where it came from. It reads nothing.

use std::collections::BTreeMap;
use std::fmt;

use super::keys::{TABLES, Table};
use super::value::{Kind, Value};
use super::{Choice as _, Config, FILE};

/// A configuration, where each value that is no default came from, and what was left out of account.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub config: Config,
    pub warnings: Vec<String>,
    pub(super) origins: BTreeMap<String, Origin>,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    /// The line of `arkaint.toml`.
    File(usize),
    GitConfig(String),
    Env(String),
    Flag(String),
}

/// One value of a configuration, for people.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// `checkpoint.timeout`, as TOML writes a dotted key.
    pub key: String,
    pub value: Value,
    pub origin: Origin,
    kind: Kind,
}

impl Loaded {
    /// Every value in the order of the manual, with its origin.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        let mut config = self.config.clone();
        let mut settings = vec![self.setting(
            "profile".to_owned(),
            Kind::Text,
            Value::Text(config.profile.clone()),
        )];
        for table in TABLES {
            let instances: Vec<String> = match table.name {
                "profile" => self.config.profiles.keys().cloned().collect(),
                "price" => self.config.prices.keys().cloned().collect(),
                _ if table.list => (0..self.config.dod.len())
                    .map(|at| at.to_string())
                    .collect(),
                _ => vec![String::new()],
            };
            for instance in instances {
                for key in table.keys {
                    let value = key.get(&mut config, &instance);
                    let mut setting =
                        self.setting(path(table, &instance, key.name), key.kind, value);
                    if table.list {
                        // By its id, which says more than its place; and nothing of what items of its kind do not have.
                        let item = &self.config.dod[instance.parse::<usize>().unwrap_or_default()];
                        if setting.value == Value::Unset || !key.is_of(item.kind.name()) {
                            continue;
                        }
                        setting.key = format!("{}.{}.{}", table.name, toml_key(&item.id), key.name);
                    }
                    settings.push(setting);
                }
            }
        }
        settings
    }

    fn setting(&self, key: String, kind: Kind, value: Value) -> Setting {
        let origin = self.origins.get(&key).cloned().unwrap_or(Origin::Default);
        Setting {
            key,
            value,
            origin,
            kind,
        }
    }
}

impl Setting {
    /// The value as TOML; empty when nothing is set.
    pub(crate) fn toml(&self) -> String {
        self.kind.show(&self.value)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(line) => write!(f, "{FILE}:{line}"),
            Self::GitConfig(key) => write!(f, "git config {key}"),
            Self::Env(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// A word as TOML writes it in a dotted key.
fn toml_key(word: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if word.chars().all(bare) {
        return word.to_owned();
    }
    toml::Value::from(word).to_string()
}

/// `checkpoint.test`, `profile.auditor.deny`, `price."openai/gpt-5".input`.
pub(super) fn path(table: &Table, instance: &str, key: &str) -> String {
    match (table.name, instance) {
        (name, "") => format!("{name}.{key}"),
        ("price", instance) => format!("price.\"{instance}\".{key}"),
        (name, instance) => format!("{name}.{instance}.{key}"),
    }
}
