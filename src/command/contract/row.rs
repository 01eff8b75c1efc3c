//! One item of either list as `git arkaint contract show` prints it. It judges nothing.

use serde_json::{Value, json};

use crate::config::{Choice as _, Dod};
use crate::evidence::contract::{Outcome, check_of};
use crate::evidence::dod::List;
use crate::text;

/// One item of either list, for the eye.
pub(super) struct Row {
    pub list: List,
    pub id: String,
    pub kind: &'static str,
    /// The command, glob or pattern.
    pub check: Value,
    pub description: String,
    /// What is known of it; its evidence is the gate's to judge.
    pub state: &'static str,
    /// The person who attested it.
    pub by: Option<String>,
}

impl Row {
    pub(super) fn of_item(item: &Dod) -> Self {
        Self {
            list: List::Project,
            id: item.id.clone(),
            kind: item.kind.name(),
            check: check_of(item),
            description: item.description.clone().unwrap_or_default(),
            state: "unknown",
            by: None,
        }
    }

    pub(super) fn of_outcome(outcome: &Outcome) -> Self {
        Self {
            list: List::Issue,
            id: outcome.id.clone(),
            kind: outcome.check.kind.name(),
            check: outcome.check.to_value(),
            description: outcome.description.clone(),
            state: "unknown",
            by: None,
        }
    }

    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.list.name(), text::visible_line(&self.id))
    }

    /// `make test: All tests pass`.
    pub(super) fn what(&self) -> String {
        let words = |value: &Value| -> Vec<String> {
            let items = value.as_array().into_iter().flatten();
            let texts = items.filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        let checks = self.check.as_object().into_iter().flatten();
        let mut parts: Vec<String> = checks
            .map(|(key, value)| match key.as_str() {
                "paths" => format!("in {}", words(value).join(" ")),
                "note" => format!("({})", value.as_str().unwrap_or_default()),
                _ => value
                    .as_str()
                    .map_or_else(|| shell_words::join(words(value)), str::to_owned),
            })
            .collect();
        // The pattern before the paths that it is looked for in.
        parts.sort_by_key(|part| part.starts_with("in "));
        let mut what = parts.join(" ");
        if !self.description.is_empty() {
            what = format!("{what}: {}", self.description);
        }
        if let Some(by) = &self.by {
            what = format!("{what} [{by}]");
        }
        what.trim_start_matches(": ").to_owned()
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "list": self.list.name(), "id": self.id, "kind": self.kind, "check": self.check, "description": self.description,
            "state": self.state, "by": self.by,
        })
    }
}
