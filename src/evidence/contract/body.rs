//! What a person writes into a contract: TOML or JSON to a [`Body`], every mistake named by its place. It freezes nothing and reads no file.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::config::{CommandLine, nearest};
use crate::evidence::json::{self, found, js_trim};
use crate::evidence::verify::{LONGEST_ID, MOST};
use crate::secret;

/// What the work is for, and what must be shown of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Body {
    pub intent: String,
    pub in_scope: Vec<String>,
    pub out_of_scope: Vec<String>,
    /// At least one; ids are not empty, and no two are the same.
    pub outcomes: Vec<Outcome>,
    pub ambiguities: Vec<Ambiguity>,
    pub touchpoints: Vec<String>,
    pub risks: Vec<String>,
}

/// One thing that must be so afterwards.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub id: String,
    pub description: String,
    pub check: Check,
}

/// How it is shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Check {
    pub kind: CheckKind,
    /// What shows it, for `command` and `test`.
    pub command: Option<CommandLine>,
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckKind {
    Command,
    Test,
    /// A person looks and says so (`git arkaint contract attest`).
    Manual,
}

/// A question that is open.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ambiguity {
    pub question: String,
    /// Work cannot start before it is answered.
    pub blocking: bool,
}

impl CheckKind {
    const ALL: [Self; 3] = [Self::Command, Self::Test, Self::Manual];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Test => "test",
            Self::Manual => "manual",
        }
    }
}

impl Check {
    /// Can a machine run it?
    pub(crate) fn is_executable(&self) -> bool {
        self.kind != CheckKind::Manual && self.command.is_some()
    }

    /// Its command and its note, as far as it has them.
    pub(crate) fn to_value(&self) -> Value {
        let mut value = json!({});
        match &self.command {
            Some(CommandLine::Bash(text)) => value["command"] = text.as_str().into(),
            Some(CommandLine::Argv(words)) => value["command"] = words.clone().into(),
            None => {}
        }
        if let Some(note) = &self.note {
            value["note"] = note.as_str().into();
        }
        value
    }
}

impl Body {
    /// Reads the text of `file`: TOML or JSON by its extension, else whichever it is.
    ///
    /// # Errors
    /// The first mistake and its place (`outcomes[1].check.kind`), in one line.
    pub(crate) fn read(file: &Path, text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let toml = || {
            toml::from_str::<Value>(text).map_err(|error| {
                let at = error.span().map_or(0, |span| span.start);
                let line = text[..at.min(text.len())].matches('\n').count() + 1;
                format!("line {line}: not TOML: {}", error.message())
            })
        };
        let value = match file.extension().and_then(|e| e.to_str()) {
            Some("json") => json::parse(text)?,
            Some("toml") => toml()?,
            _ if js_trim(text).starts_with('{') => json::parse(text)?,
            _ => toml()?,
        };
        if let Some(place) = secret_at("", &value) {
            return Err(format!(
                "{place} holds what looks like a secret: a contract is kept in the ledger"
            ));
        }
        Self::of(&value)
    }

    /// Reads a value: a person's, or the body of a frozen contract.
    pub(super) fn of(value: &Value) -> Result<Self, String> {
        let keys = &[
            "intent",
            "scope",
            "outcomes",
            "ambiguities",
            "touchpoints",
            "risks",
        ];
        let top = Object::of("", value, keys)?;
        let scope = match top.map.get("scope") {
            None => None,
            Some(scope) => Some(Object::of("scope", scope, &["inScope", "outOfScope"])?),
        };
        let body = Self {
            intent: top.text("intent")?.unwrap_or_default(),
            in_scope: scope
                .as_ref()
                .map_or(Ok(Vec::new()), |s| s.texts("inScope"))?,
            out_of_scope: scope
                .as_ref()
                .map_or(Ok(Vec::new()), |s| s.texts("outOfScope"))?,
            outcomes: top.each("outcomes", outcome)?,
            ambiguities: top.each("ambiguities", ambiguity)?,
            touchpoints: top.texts("touchpoints")?,
            risks: top.texts("risks")?,
        };
        if scope.is_some() && body.in_scope.is_empty() {
            return Err("scope.inScope: expected what is in scope, at least one".to_owned());
        }
        body.whole()
    }

    fn whole(self) -> Result<Self, String> {
        match self.outcomes.len() {
            0 => return Err("outcomes: expected at least one".to_owned()),
            n if n > MOST => {
                return Err(format!("outcomes: {n} of them, at most {MOST}"));
            }
            _ => {}
        }
        for (at, outcome) in self.outcomes.iter().enumerate() {
            let first = self.outcomes.iter().position(|o| o.id == outcome.id);
            if let Some(first) = first.filter(|first| *first < at) {
                return Err(format!(
                    "outcomes[{at}].id: {} is the id of outcomes[{first}] too",
                    json::quoted(&outcome.id)
                ));
            }
        }
        Ok(self)
    }

    /// The body as it is stored; what is not said is not stored.
    pub(super) fn to_value(&self) -> Value {
        let outcome = |outcome: &Outcome| {
            let mut check = outcome.check.to_value();
            check["kind"] = outcome.check.kind.name().into();
            json!({ "id": outcome.id, "description": outcome.description, "check": check })
        };
        let ambiguity = |a: &Ambiguity| json!({ "question": a.question, "blocking": a.blocking });
        let mut value = json!({
            "intent": self.intent,
            "outcomes": self.outcomes.iter().map(outcome).collect::<Vec<_>>(),
            "ambiguities": self.ambiguities.iter().map(ambiguity).collect::<Vec<_>>(),
            "touchpoints": self.touchpoints,
            "risks": self.risks,
        });
        if !self.in_scope.is_empty() {
            value["scope"] = json!({ "inScope": self.in_scope, "outOfScope": self.out_of_scope });
        }
        value
    }

    /// Why no agent should start on it: nothing that a machine can check, or a question that must be answered first.
    pub(crate) fn not_dispatchable(&self) -> Option<String> {
        if let Some(open) = self.ambiguities.iter().find(|a| a.blocking) {
            return Some(format!(
                "a question is open: {}",
                json::quoted(&open.question)
            ));
        }
        let executable = self.outcomes.iter().any(|o| o.check.is_executable());
        (!executable).then(|| "no outcome has a command that shows it".to_owned())
    }
}

fn outcome(place: &str, value: &Value) -> Result<Outcome, String> {
    let object = Object::of(place, value, &["id", "description", "check"])?;
    let id = object.needed("id")?;
    if id.chars().count() > LONGEST_ID {
        return Err(format!("{place}.id: more than {LONGEST_ID} characters"));
    }
    let Some(check) = object.map.get("check") else {
        return Err(format!(
            "{place}.check: missing; how is {} shown? kind = \"command\", \"test\" or \"manual\"",
            json::quoted(&id)
        ));
    };
    Ok(Outcome {
        id,
        description: object.text("description")?.unwrap_or_default(),
        check: read_check(&format!("{place}.check"), check)?,
    })
}

fn read_check(place: &str, value: &Value) -> Result<Check, String> {
    let object = Object::of(place, value, &["kind", "command", "note"])?;
    let name = object.needed("kind")?;
    let Some(kind) = CheckKind::ALL.into_iter().find(|kind| kind.name() == name) else {
        let near = nearest(&name, CheckKind::ALL.iter().map(|kind| kind.name()));
        let near = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
        return Err(format!(
            "{place}.kind: expected \"command\", \"test\" or \"manual\", found {}{near}",
            json::quoted(&name)
        ));
    };
    let command = match object.map.get("command") {
        None => None,
        Some(Value::Array(_)) => Some(CommandLine::Argv(object.words("command")?)),
        Some(_) => object.text("command")?.map(CommandLine::Bash),
    };
    let blank = match &command {
        Some(CommandLine::Bash(text)) => text.is_empty(),
        Some(CommandLine::Argv(words)) => words.first().is_none_or(|word| js_trim(word).is_empty()),
        None => false,
    };
    if blank {
        return Err(format!("{place}.command: expected a command, found none"));
    }
    if kind == CheckKind::Manual && command.is_some() {
        return Err(format!(
            "{place}.command: a manual check has none; write it into note, or kind = \"command\""
        ));
    }
    Ok(Check {
        kind,
        command,
        note: object.text("note")?,
    })
}

fn ambiguity(place: &str, value: &Value) -> Result<Ambiguity, String> {
    let object = Object::of(place, value, &["question", "blocking"])?;
    let blocking = match object.map.get("blocking") {
        None => true,
        Some(Value::Bool(blocking)) => *blocking,
        Some(other) => return Err(object.expected("blocking", "true or false", other)),
    };
    Ok(Ambiguity {
        question: object.needed("question")?,
        blocking,
    })
}

/// An object and where it stands.
struct Object<'a> {
    place: String,
    map: &'a Map<String, Value>,
}

impl<'a> Object<'a> {
    fn of(place: &str, value: &'a Value, known: &[&str]) -> Result<Self, String> {
        let Value::Object(map) = value else {
            let what = if place.is_empty() { "the file" } else { place };
            return Err(format!(
                "{what}: expected an object, found {}",
                found(value)
            ));
        };
        let object = Self {
            place: place.to_owned(),
            map,
        };
        if let Some(unknown) = map.keys().find(|key| !known.contains(&key.as_str())) {
            // `in_scope` is `inScope` to whoever writes it so.
            let folded = unknown.replace(['_', '-'], "");
            let near = known
                .iter()
                .find(|key| key.eq_ignore_ascii_case(&folded))
                .copied()
                .or_else(|| nearest(unknown, known.iter().copied()));
            let hint = near.map_or_else(
                || format!("known keys: {}", known.join(", ")),
                |near| format!("did you mean {near:?}?"),
            );
            return Err(format!(
                "unknown key {}; {hint}",
                json::quoted(&object.at(unknown))
            ));
        }
        Ok(object)
    }

    fn at(&self, key: &str) -> String {
        if self.place.is_empty() {
            return key.to_owned();
        }
        format!("{}.{key}", self.place)
    }

    fn expected(&self, key: &str, what: &str, value: &Value) -> String {
        format!("{}: expected {what}, found {}", self.at(key), found(value))
    }

    /// A string, trimmed.
    fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.map.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(js_trim(text).to_owned())),
            Some(other) => Err(self.expected(key, "a string", other)),
        }
    }

    /// A string that says something.
    fn needed(&self, key: &str) -> Result<String, String> {
        match self.text(key)? {
            Some(text) if !text.is_empty() => Ok(text),
            Some(_) => Err(format!("{}: is empty", self.at(key))),
            None => Err(format!("{}: missing", self.at(key))),
        }
    }

    /// A list of strings, none of them blank.
    fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        self.each(key, |place, value| match value {
            Value::String(text) if !js_trim(text).is_empty() => Ok(js_trim(text).to_owned()),
            other => Err(format!(
                "{place}: expected a string, found {}",
                found(other)
            )),
        })
    }

    /// A list of strings as they are: blanks in an argv are meant.
    fn words(&self, key: &str) -> Result<Vec<String>, String> {
        self.each(key, |place, value| match value {
            Value::String(word) => Ok(word.clone()),
            other => Err(format!(
                "{place}: expected a string, found {}",
                found(other)
            )),
        })
    }

    fn each<T>(
        &self,
        key: &str,
        read: impl Fn(&str, &Value) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        match self.map.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .iter()
                .enumerate()
                .map(|(at, item)| read(&format!("{}[{at}]", self.at(key)), item))
                .collect(),
            Some(other) => Err(self.expected(key, "a list", other)),
        }
    }
}

/// Where the first string is that a rule takes for a secret.
fn secret_at(place: &str, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (secret::redact(text) != *text).then(|| place.to_owned()),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| secret_at(&format!("{place}[{at}]"), item)),
        Value::Object(map) => map.iter().find_map(|(key, item)| {
            let dot = if place.is_empty() { "" } else { "." };
            secret_at(&format!("{place}{dot}{key}"), item)
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toml(text: &str) -> Result<Body, String> {
        Body::read(Path::new("c.toml"), text)
    }

    const WHOLE: &str = r#"
intent = " Dates parse. "
touchpoints = ["src/date.rs"]
risks = ["leap years"]
[scope]
inScope = ["parsing"]
outOfScope = ["printing"]
[[outcomes]]
id = "green"
description = "All tests pass"
check = { kind = "test", command = "cargo test" }
[[outcomes]]
id = " argv "
check = { kind = "command", command = ["make", "lint"], note = "no shell" }
[[outcomes]]
id = "looks"
check = { kind = "manual", note = "open the page" }
[[ambiguities]]
question = "Which calendar?"
blocking = false
"#;

    #[test]
    fn toml_and_json_say_the_same_and_come_back_from_what_is_stored() {
        let body = toml(WHOLE).unwrap();
        assert_eq!(body.intent, "Dates parse.");
        assert_eq!(body.outcomes[1].id, "argv");
        assert_eq!(
            body.outcomes[1].check.command,
            Some(CommandLine::Argv(vec!["make".into(), "lint".into()]))
        );
        assert_eq!(body.outcomes[2].check.kind, CheckKind::Manual);
        assert!(!body.ambiguities[0].blocking);
        let value: Value = toml::from_str(WHOLE).unwrap();
        let json = format!("\u{feff}{value}");
        assert_eq!(Body::read(Path::new("c.json"), &json).unwrap(), body);
        assert_eq!(Body::read(Path::new("c"), &json).unwrap(), body);
        assert_eq!(Body::read(Path::new("contract"), WHOLE).unwrap(), body);
        assert_eq!(Body::of(&body.to_value()).unwrap(), body);
    }

    #[test]
    fn the_words_of_an_argv_are_kept_as_they_are() {
        let argv = ["grep", " a ", "", "f"].map(str::to_owned).to_vec();
        let text = r#"{"outcomes":[{"id":"x","check":{"kind":"command","command":["grep"," a ","","f"]}}]}"#;
        let body = Body::read(Path::new("c.json"), text).unwrap();
        assert_eq!(
            body.outcomes[0].check.command,
            Some(CommandLine::Argv(argv))
        );
        assert_eq!(Body::of(&body.to_value()).unwrap(), body);
    }

    #[test]
    fn outcomes_alone_are_enough() {
        let body = toml("[[outcomes]]\nid = 'x'\ncheck = {kind = 'manual'}\n").unwrap();
        assert!(body.in_scope.is_empty() && body.intent.is_empty());
        assert_eq!(Body::of(&body.to_value()).unwrap(), body);
    }

    #[test]
    fn what_a_machine_cannot_check_or_a_person_must_answer_is_not_dispatchable() {
        assert_eq!(toml(WHOLE).unwrap().not_dispatchable(), None);
        let only = |check: &str, rest: &str| {
            toml(&format!("[[outcomes]]\nid = 'x'\ncheck = {check}\n{rest}"))
                .unwrap()
                .not_dispatchable()
        };
        let none = Some("no outcome has a command that shows it".to_owned());
        assert_eq!(only("{kind = 'manual'}", ""), none);
        assert_eq!(only("{kind = 'test'}", ""), none);
        assert_eq!(only("{kind = 'test', command = 'x'}", ""), None);
        assert_eq!(
            only(
                "{kind = 'command', command = 'x'}",
                "[[ambiguities]]\nquestion = 'Why?'"
            ),
            Some("a question is open: \"Why?\"".to_owned())
        );
    }

    #[test]
    fn every_mistake_names_its_place() {
        let one = "[[outcomes]]\nid = 'x'\ncheck = {kind = 'manual'}\n";
        for (text, why) in [
            ("", "outcomes: expected at least one"),
            ("outcomes = []", "outcomes: expected at least one"),
            (
                "outcomes = 'x'",
                "outcomes: expected a list, found the string \"x\"",
            ),
            (
                "intent = 1",
                "intent: expected a string, found the number 1",
            ),
            ("a = [", "line 1: not TOML: "),
            (
                "outcome = []",
                "unknown key \"outcome\"; did you mean \"outcomes\"?",
            ),
            (
                "[scope]\nin_scope = ['a']",
                "unknown key \"scope.in_scope\"; did you mean \"inScope\"?",
            ),
            (
                "[scope]\noutOfScope = ['a']\n[[outcomes]]\nid='x'\ncheck={kind='manual'}",
                "scope.inScope: expected what is in scope, at least one",
            ),
            (
                "[[outcomes]]\nid = 'x'",
                "outcomes[0].check: missing; how is \"x\" shown?",
            ),
            (
                "[[outcomes]]\ncheck = {kind = 'manual'}",
                "outcomes[0].id: missing",
            ),
            (
                "[[outcomes]]\nid = \" \\uFEFF\"\ncheck = {kind = 'manual'}",
                "outcomes[0].id: is empty",
            ),
            (
                "[[outcomes]]\nid = 'x'\ncheck = {kind = 'comand'}",
                "outcomes[0].check.kind: expected \"command\", \"test\" or \"manual\", found \"comand\"; did you mean \"command\"?",
            ),
            (
                "[[outcomes]]\nid = 'x'\ncheck = {kind = 'command', comand = 'y'}",
                "unknown key \"outcomes[0].check.comand\"; did you mean \"command\"?",
            ),
            (
                "[[outcomes]]\nid = 'x'\ncheck = {kind = 'command', command = ' '}",
                "outcomes[0].check.command: expected a command",
            ),
            (
                "[[outcomes]]\nid = 'x'\ncheck = {kind = 'command', command = ['', 'a']}",
                "outcomes[0].check.command: expected a command",
            ),
            (
                "[[outcomes]]\nid = 'x'\ncheck = {kind = 'command', command = [1]}",
                "outcomes[0].check.command[0]: expected a string, found the number 1",
            ),
            (
                "[[outcomes]]\nid = 'x'\ncheck = {kind = 'manual', command = 'y'}",
                "outcomes[0].check.command: a manual check has none",
            ),
            (
                "[[ambiguities]]\nquestion = 'a'\nblocking = 'no'",
                "ambiguities[0].blocking: expected true or false, found the string \"no\"",
            ),
            (
                "risks = ['']",
                "risks[0]: expected a string, found the string \"\"",
            ),
        ] {
            let error = toml(text).unwrap_err();
            assert!(error.starts_with(why), "{text}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        let twice = format!("{one}{}", one.replace("'x'", "' x '"));
        assert_eq!(
            toml(&twice).unwrap_err(),
            "outcomes[1].id: \"x\" is the id of outcomes[0] too"
        );
        let long = one.replace("'x'", &format!("'{}'", "ä".repeat(201)));
        assert!(
            toml(&long)
                .unwrap_err()
                .starts_with("outcomes[0].id: more than 200")
        );
        assert!(toml(&long.replacen('ä', "", 1)).is_ok());
        let many = (0..1001).map(|n| one.replace("'x'", &format!("'{n}'")));
        assert_eq!(
            toml(&many.collect::<String>()).unwrap_err(),
            "outcomes: 1001 of them, at most 1000"
        );
        let json = |text: &str| Body::read(Path::new("c.json"), text).unwrap_err();
        assert!(json("{\"outcomes\": [], \"outcomes\": []}").contains("outcomes"));
        assert_eq!(json("[]"), "the file: expected an object, found an array");
    }

    #[test]
    fn a_secret_is_not_put_into_the_ledger() {
        let key = format!("sk-ant-api03-{}", "Ab3xY9".repeat(16));
        let text = format!(
            "[[outcomes]]\nid = 'x'\ncheck = {{kind = 'command', command = 'curl -H {key} https://example.org'}}\n"
        );
        assert!(
            toml(&text)
                .unwrap_err()
                .starts_with("outcomes[0].check.command holds what looks like a secret")
        );
    }
}
