//! Personal settings: agent, provider, model and profile from git config, the environment and flags. What guards the agent is not to be
//! had here; that somebody tried is a warning.

use super::keys::{self, Key, TABLES};
use super::load::{Reader, Sources, did_you_mean, refusal};
use super::setting::{Origin, path};
use super::value::nearest;
use super::{Agent, AgentName, FILE};
use crate::exit::Refusal;
use crate::text;

/// Personal settings: the word of flag, variable and git config, and the key of the file that it goes before.
const PERSONAL: [(&str, Option<(&str, &str)>); 4] = [
    ("agent", Some(("agent", "name"))),
    ("provider", Some(("agent", "provider"))),
    ("model", Some(("agent", "model"))),
    ("profile", None),
];

/// The `ARKAINT_*` variables of this process.
pub(crate) fn environment() -> Vec<(String, String)> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os()
        .filter_map(text)
        .filter(|(name, _)| name.starts_with("ARKAINT_"))
        .collect()
}

impl Reader<'_> {
    pub(super) fn personal(&mut self, sources: &Sources<'_>) -> Result<(), Refusal> {
        let flags = [
            &sources.flags.agent,
            &sources.flags.provider,
            &sources.flags.model,
            &sources.flags.profile,
        ];
        let of_the_file = self.config.agent.name;
        for ((word, place), flag) in PERSONAL.into_iter().zip(flags) {
            let Some((text, origin)) = chosen(word, flag.as_deref(), sources) else {
                continue;
            };
            if let Some((table, name)) = place {
                let key = key_of(table, name);
                let value = key
                    .kind
                    .word(text)
                    .map_err(|wrong| refusal(format!("{origin}: {}", wrong.message)))?;
                key.put(&mut self.config, "", value);
                if self.config.agent.name != of_the_file && name == "name" {
                    self.another_agent(of_the_file, &origin);
                }
                self.origins.insert(format!("{table}.{name}"), origin);
            } else {
                text.clone_into(&mut self.config.profile);
                self.origins.insert(word.to_owned(), origin);
            }
        }
        if self.config.agent.name == AgentName::Command && self.config.agent.command.is_empty() {
            let origin = self.origins.get("agent.name").unwrap_or(&Origin::Default);
            return Err(refusal(format!(
                "{origin}: the command agent needs 'agent.command' in {FILE}"
            )));
        }
        self.known_profile()?;
        self.warnings.extend(
            sources
                .git_config
                .iter()
                .filter_map(|(key, _)| ignored_git_config(key)),
        );
        self.warnings.extend(
            sources
                .env
                .iter()
                .filter_map(|(name, _)| ignored_variable(name)),
        );
        Ok(())
    }

    /// What the file says for its own agent means nothing to another one: neither its program and words nor its provider and model.
    /// The command agent has no program but the file's.
    fn another_agent(&mut self, of_the_file: AgentName, origin: &Origin) {
        let (agent, none) = (&mut self.config.agent, Agent::default());
        if agent.name == AgentName::Command {
            return;
        }
        (agent.provider, agent.model) = (none.provider, none.model);
        (agent.command, agent.args) = (none.command, none.args);
        let left_out: Vec<&str> = ["provider", "model", "command", "args"]
            .into_iter()
            .filter(|name| self.origins.remove(&format!("agent.{name}")).is_some())
            .collect();
        if !left_out.is_empty() {
            self.warnings.push(format!(
                "{origin}: what [agent] of {FILE} says for {} is left out: {}",
                of_the_file.as_str(),
                left_out.join(", ")
            ));
        }
    }

    fn known_profile(&self) -> Result<(), Refusal> {
        let (name, profiles) = (&self.config.profile, &self.config.profiles);
        if profiles.contains_key(name) {
            return Ok(());
        }
        let names: Vec<&str> = profiles.keys().map(String::as_str).collect();
        let near = nearest(name, names.iter().copied())
            .map(|near| format!("; {}", did_you_mean(near)))
            .unwrap_or_default();
        let origin = match self.origins.get("profile") {
            Some(Origin::Flag(_)) | None => String::new(),
            Some(origin) => format!(" ({origin})"),
        };
        Err(Refusal::new(
            format!(
                "unknown profile '{}'{origin}{near}",
                text::visible_line(name)
            ),
            format!("profiles: {}", names.join(", ")),
        ))
    }
}

fn key_of(table: &str, name: &str) -> &'static Key {
    let key = keys::find(table).and_then(|table| table.keys.iter().find(|key| key.name == name));
    key.expect("personal settings name keys of the list")
}

/// The word of a personal setting that counts, and where it stands; an empty one counts as not given.
fn chosen<'a>(
    word: &str,
    flag: Option<&'a str>,
    sources: &'a Sources<'_>,
) -> Option<(&'a str, Origin)> {
    let last = |pairs: &'a [(String, String)], name: &str| {
        pairs
            .iter()
            .rev()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    };
    let variable = format!("ARKAINT_{}", word.to_uppercase());
    let key = format!("arkaint.{word}");
    flag.map(|text| (text, Origin::Flag(format!("--{word}"))))
        .or_else(|| last(&sources.env, &variable).map(|text| (text, Origin::Env(variable.clone()))))
        .or_else(|| {
            last(&sources.git_config, &key).map(|text| (text, Origin::GitConfig(key.clone())))
        })
}

fn ignored_git_config(key: &str) -> Option<String> {
    let word = key.strip_prefix("arkaint.")?;
    // Where the hooks find the binary.
    if word == "bin" || PERSONAL.iter().any(|(personal, _)| *personal == word) {
        return None;
    }
    Some(match of_the_file(word) {
        Some(path) => format!("git config {key} is ignored: '{path}' is read from {FILE} alone"),
        None => match nearest(word, PERSONAL.iter().map(|(personal, _)| *personal)) {
            Some(near) => format!(
                "git config {key} is no setting; {}",
                did_you_mean(&format!("arkaint.{near}"))
            ),
            None => format!("git config {key} is no setting of Arkaint's"),
        },
    })
}

/// Other `ARKAINT_*` variables have their own readers; only one that looks like a key of the file is talked about.
fn ignored_variable(name: &str) -> Option<String> {
    let word = name.strip_prefix("ARKAINT_")?.to_lowercase();
    if PERSONAL.iter().any(|(personal, _)| *personal == word) {
        return None;
    }
    of_the_file(&word).map(|path| format!("{name} is ignored: '{path}' is read from {FILE} alone"))
}

/// The key of the file that a setting's name means, with or without its table. git allows no `_` in names.
fn of_the_file(word: &str) -> Option<String> {
    let plain = |name: &str| name.to_lowercase().replace(['_', '-', '.'], "");
    let keys = || {
        TABLES
            .iter()
            .filter(|t| t.per.is_none())
            .flat_map(|t| t.keys.iter().map(move |k| (path(t, "", k.name), k.name)))
    };
    let word = plain(word);
    keys()
        .find(|(path, name)| plain(path) == word || plain(name) == word)
        .map(|(path, _)| path)
}
