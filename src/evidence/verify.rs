//! `verify.json`: what was run, how it ended, and what that says about each outcome. Read whole or not at all: one bad outcome makes
//! the file broken. Also how Arkaint writes it. What an outcome is worth is not decided here.

use serde_json::{Map, Value, json};

use super::artifact::{Artifact, Described, Judged, Reader};
use super::json::{self, found, js_trim, quoted};
use crate::text;

/// Where it lies, from the worktree's root.
pub(crate) const PATH: &str = ".ak-loop/verify.json";
/// Outcomes of one file.
pub(crate) const MOST: usize = 1000;
/// Characters of an id.
pub(crate) const LONGEST_ID: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verify {
    /// Any text; a time by RFC 3339 if the writer was kind.
    pub ran_at: Option<String>,
    /// Empty where it was not told.
    pub command: String,
    pub exit_code: Option<i64>,
    pub outcomes: Vec<Outcome>,
    pub stamp: Option<Stamp>,
    /// What was passed over, one line each.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub id: String,
    pub status: Status,
    /// Empty where none was given.
    pub evidence: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Passed,
    Failed,
}

impl Status {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
        }
    }

    /// Exactly one of the two words.
    pub(super) fn read(value: Option<&Value>) -> Result<Self, String> {
        match value {
            Some(Value::String(word)) if word == "passed" => Ok(Self::Passed),
            Some(Value::String(word)) if word == "failed" => Ok(Self::Failed),
            Some(Value::String(word)) => Err(format!(
                "{} is neither \"passed\" nor \"failed\"",
                quoted(word)
            )),
            Some(other) => Err(format!(
                "expected \"passed\" or \"failed\", found {}",
                found(other)
            )),
            None => Err("missing".to_owned()),
        }
    }
}

/// What the writing tool noted about the state it ran on: the member `arkaint`. A claim; ids are not resolved here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Version of the stamp: 1.
    pub v: i64,
    pub head: String,
    pub tree: String,
    /// Digest of the contract, where there was one.
    pub contract: Option<String>,
}

const STAMP: i64 = 1;

impl Described for Verify {
    /// `2 outcomes · cargo test`.
    fn detail(&self) -> String {
        let count = text::counted(self.outcomes.len(), "outcome");
        if self.command.is_empty() {
            count
        } else {
            format!("{count} · {}", self.command)
        }
    }
}

impl Reader {
    pub(crate) fn verify(&self) -> Artifact<Verify> {
        self.read(PATH.as_ref(), judge)
    }
}

/// What the text of a `verify.json` says.
///
/// # Errors
/// The first field that is wrong, by its path (`outcomes[2].status`), and how.
pub(crate) fn judge(text: &str) -> Judged<Verify> {
    let value = json::parse(text)?;
    let Value::Object(file) = &value else {
        return Err(format!("expected an object, found {}", found(&value)));
    };
    let ran_at = string(file, "ranAt")?;
    let command = string(file, "command")?.unwrap_or_default();
    let exit_code = match file.get("exitCode") {
        None => None,
        Some(code) => Some(json::integer(code).ok_or_else(|| {
            format!(
                "exitCode: expected a whole number below 2^53, found {}",
                found(code)
            )
        })?),
    };
    let outcomes = match file.get("outcomes") {
        None => Vec::new(),
        Some(Value::Array(items)) if items.len() > MOST => {
            return Err(format!(
                "outcomes: {} of them, at most {MOST} are read",
                items.len()
            ));
        }
        Some(Value::Array(items)) => items
            .iter()
            .enumerate()
            .map(|(i, item)| outcome(item).map_err(|why| format!("outcomes[{i}]{why}")))
            .collect::<Result<_, _>>()?,
        Some(other) => {
            return Err(format!(
                "outcomes: expected an array, found {}",
                found(other)
            ));
        }
    };
    let mut notes = Vec::new();
    let stamp = match file.get("arkaint").map(stamp) {
        None => None,
        Some(Ok(stamp)) => Some(stamp),
        Some(Err(why)) => {
            notes.push(format!("arkaint{why}: passed over as if absent"));
            None
        }
    };
    Ok(Some(Verify {
        ran_at,
        command,
        exit_code,
        outcomes,
        stamp,
        notes,
    }))
}

/// The member `name`, trimmed; only absence is optional.
fn string(object: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match object.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(js_trim(text).to_owned())),
        Some(other) => Err(format!("{name}: expected a string, found {}", found(other))),
    }
}

/// The id that a text is read as.
///
/// # Errors
/// When it is empty or too long.
pub(crate) fn id_of(text: &str) -> Result<String, String> {
    let id = js_trim(text);
    match id.chars().count() {
        0 => Err("empty".to_owned()),
        long if long > LONGEST_ID => {
            Err(format!("{long} characters, at most {LONGEST_ID} are read"))
        }
        _ => Ok(id.to_owned()),
    }
}

/// One outcome; an error starts with what it adds to the path.
fn outcome(item: &Value) -> Result<Outcome, String> {
    let Value::Object(object) = item else {
        return Err(format!(": expected an object, found {}", found(item)));
    };
    let inner = |why: String| format!(".{why}");
    let id = string(object, "id")
        .and_then(|id| id.ok_or_else(|| "id: missing".to_owned()))
        .and_then(|id| id_of(&id).map_err(|why| format!("id: {why}")))
        .map_err(inner)?;
    let status =
        Status::read(object.get("status")).map_err(|why| inner(format!("status: {why}")))?;
    let evidence = string(object, "evidence").map_err(inner)?;
    Ok(Outcome {
        id,
        status,
        evidence: evidence.unwrap_or_default(),
    })
}

fn stamp(value: &Value) -> Result<Stamp, String> {
    let Value::Object(object) = value else {
        return Err(format!(": expected an object, found {}", found(value)));
    };
    let v = object.get("v").ok_or_else(|| ".v: missing".to_owned())?;
    let v = json::integer(v)
        .filter(|v| *v == STAMP)
        .ok_or_else(|| format!(".v: expected {STAMP}, found {}", found(v)))?;
    let text = |name: &str| string(object, name).map_err(|why| format!(".{why}"));
    let needed = |name: &str| match text(name)? {
        Some(id) if !id.is_empty() => Ok(id),
        Some(_) => Err(format!(".{name}: empty")),
        None => Err(format!(".{name}: missing")),
    };
    Ok(Stamp {
        v,
        head: needed("head")?,
        tree: needed("tree")?,
        contract: text("contract")?,
    })
}

/// The text of a `verify.json` that says this. Members that this version does not know are kept from the file that it replaces
/// (`previous`, if that can be read): those of the file, and those of an outcome by its id.
pub(crate) fn render(verify: &Verify, previous: Option<&[u8]>) -> Vec<u8> {
    let mut file = json::object(previous);
    let known = file.remove("outcomes").unwrap_or_default();
    let known = |id: &str| {
        let items = known.as_array().into_iter().flatten();
        let mut objects = items.filter_map(Value::as_object);
        let same = |o: &&Map<String, Value>| {
            o.get("id")
                .and_then(Value::as_str)
                .is_some_and(|other| js_trim(other) == id)
        };
        objects.find(same).cloned().unwrap_or_default()
    };
    for name in ["ranAt", "command", "exitCode", "arkaint"] {
        file.remove(name);
    }
    if let Some(ran_at) = &verify.ran_at {
        file.insert("ranAt".to_owned(), json!(ran_at));
    }
    file.insert("command".to_owned(), json!(verify.command));
    if let Some(code) = verify.exit_code {
        file.insert("exitCode".to_owned(), json!(code));
    }
    let outcomes = verify.outcomes.iter().map(|outcome| {
        let mut object = known(&outcome.id);
        object.insert("id".to_owned(), json!(outcome.id));
        object.insert("status".to_owned(), json!(outcome.status.name()));
        object.insert("evidence".to_owned(), json!(outcome.evidence));
        Value::Object(object)
    });
    file.insert("outcomes".to_owned(), outcomes.collect());
    if let Some(stamp) = &verify.stamp {
        let mut object = json!({ "v": stamp.v, "head": stamp.head, "tree": stamp.tree });
        if let Some(contract) = &stamp.contract {
            object["contract"] = json!(contract);
        }
        file.insert("arkaint".to_owned(), object);
    }
    json::text(&file)
}

#[cfg(test)]
mod tests;
