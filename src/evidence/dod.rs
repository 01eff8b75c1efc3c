//! `dod.json`: proofs of the definition of done, in two lists. Read leniently, entry by entry, as the tool whose file this is does; but
//! nothing is dropped in silence, since a dropped entry about a known item must not let a weaker proof through.

use serde_json::Value;

use super::artifact::{Artifact, Described, Judged, Reader};
use super::json::{self, found, js_trim};
use super::verify::Status;

/// Where it lies unless the operator says otherwise, from the worktree's root.
pub(crate) const PATH: &str = ".ak-loop/dod.json";

/// Which of the two lists an item or a proof is in; ids are compared within one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum List {
    /// The definition of done of the project, from its configuration.
    Project,
    /// The outcomes of the issue, from its contract.
    Issue,
}

impl List {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Issue => "issue",
        }
    }

    /// The member of `dod.json` that holds its proofs.
    pub(crate) fn member(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Issue => "outcomes",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dod {
    pub project: Vec<Proof>,
    pub outcomes: Vec<Proof>,
    pub dropped: Vec<Dropped>,
    /// What was read as empty, one line each.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    pub id: String,
    pub status: Status,
    /// Empty where none was given.
    pub evidence: String,
    /// Any text; a time by RFC 3339 if the writer was kind.
    pub at: Option<String>,
}

/// An entry that is no proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub list: List,
    /// From 0.
    pub index: usize,
    /// The item that it is about, where that can be read.
    pub id: Option<String>,
    pub reason: String,
}

impl Dropped {
    /// `outcomes[2].status: "FAILED" is neither "passed" nor "failed"`.
    pub(crate) fn line(&self) -> String {
        format!("{}[{}]{}", self.list.member(), self.index, self.reason)
    }
}

impl Dod {
    pub(crate) fn list(&self, list: List) -> &[Proof] {
        match list {
            List::Project => &self.project,
            List::Issue => &self.outcomes,
        }
    }
}

impl Described for Dod {
    fn detail(&self) -> String {
        "present".to_owned()
    }
}

impl Reader {
    /// `dod.json` at `path`, which `config::relative_path` made.
    pub(crate) fn dod(&self, path: &std::path::Path) -> Artifact<Dod> {
        self.read(path, judge)
    }
}

/// What the text of a `dod.json` says.
///
/// # Errors
/// When it is no JSON object.
pub(crate) fn judge(text: &str) -> Judged<Dod> {
    let value = json::parse(text)?;
    let Value::Object(file) = &value else {
        return Err(format!("expected an object, found {}", found(&value)));
    };
    let mut dod = Dod::default();
    for list in [List::Project, List::Issue] {
        let name = list.member();
        let items = match file.get(name) {
            None => continue,
            Some(Value::Array(items)) => items,
            Some(other) => {
                dod.notes.push(format!(
                    "{name}: expected an array, found {}: read as empty",
                    found(other)
                ));
                continue;
            }
        };
        for (index, item) in items.iter().enumerate() {
            match proof(item) {
                Ok((proof, notes)) => {
                    let notes = notes.into_iter();
                    dod.notes
                        .extend(notes.map(|note| format!("{name}[{index}]{note}")));
                    match list {
                        List::Project => dod.project.push(proof),
                        List::Issue => dod.outcomes.push(proof),
                    }
                }
                Err((id, reason)) => dod.dropped.push(Dropped {
                    list,
                    index,
                    id,
                    reason,
                }),
            }
        }
    }
    Ok(Some(dod))
}

/// One entry and what in it was read as absent; else the id, if it has one, and why it is dropped.
#[allow(clippy::type_complexity)] // read once, above
fn proof(item: &Value) -> Result<(Proof, Vec<String>), (Option<String>, String)> {
    let Value::Object(object) = item else {
        return Err((None, format!(": expected an object, found {}", found(item))));
    };
    let id = match object.get("id") {
        Some(Value::String(id)) if js_trim(id).is_empty() => {
            return Err((None, ".id: empty".to_owned()));
        }
        Some(Value::String(id)) => js_trim(id).to_owned(),
        Some(other) => {
            return Err((
                None,
                format!(".id: expected a string, found {}", found(other)),
            ));
        }
        None => return Err((None, ".id: missing".to_owned())),
    };
    let status = match Status::read(object.get("status")) {
        Ok(status) => status,
        Err(why) => return Err((Some(id), format!(".status: {why}"))),
    };
    let mut notes = Vec::new();
    let mut text = |name: &str| match object.get(name)? {
        Value::String(text) => Some(js_trim(text).to_owned()),
        other => {
            notes.push(format!(
                ".{name}: expected a string, found {}: read as absent",
                found(other)
            ));
            None
        }
    };
    let proof = Proof {
        id,
        status,
        evidence: text("evidence").unwrap_or_default(),
        at: text("at"),
    };
    Ok((proof, notes))
}

/// The text of a `dod.json` in whose list of the project each of `proofs` stands once. All else is kept from the file that it replaces
/// (`previous`, if that can be read): other entries as they are, and members that this version does not know.
pub(crate) fn render(proofs: &[Proof], previous: Option<&[u8]>) -> Vec<u8> {
    let mut file = json::object(previous);
    let list = List::Project.member();
    let mut entries = match file.remove(list) {
        Some(Value::Array(entries)) => entries,
        _ => Vec::new(),
    };
    for proof in proofs {
        let same = |entry: &Value| {
            let id = entry.get("id").and_then(Value::as_str);
            id.is_some_and(|id| js_trim(id) == proof.id)
        };
        // A second entry that says something else would win if it is the worse.
        let at = entries.iter().position(same);
        let known = at.map(|at| entries[at].clone());
        entries.retain(|entry| !same(entry));
        let mut entry = match known {
            Some(Value::Object(object)) => object,
            _ => serde_json::Map::new(),
        };
        entry.insert("id".to_owned(), proof.id.clone().into());
        entry.insert("status".to_owned(), proof.status.name().into());
        entry.insert("evidence".to_owned(), proof.evidence.clone().into());
        entry.remove("at");
        if let Some(at) = &proof.at {
            entry.insert("at".to_owned(), at.clone().into());
        }
        let place = at.unwrap_or(entries.len()).min(entries.len());
        entries.insert(place, entry.into());
    }
    file.insert(list.to_owned(), entries.into());
    json::text(&file)
}

#[cfg(test)]
mod tests;
