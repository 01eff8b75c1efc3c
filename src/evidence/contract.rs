//! Contracts: what a piece of work must prove, frozen before it starts. A frozen contract is canonical JSON in a blob that the ledger keeps,
//! known by the SHA-256 of its bytes; what does not hash to its name is no contract. It judges no evidence.

mod body;

use std::fmt;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::seal::digest;
use crate::config::{Binding, Choice as _, Config, Dod, DodKind};
use crate::git::{Oid, Worktree};
use crate::ledger::{Kind, Record, notes, record};
use crate::secret;
use crate::text;

pub(crate) use body::{Body, CheckKind, Outcome};

/// The version of the stored form.
const VERSION: u64 = 1;

/// A contract as it is stored. It does not change any more.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Contract {
    /// The task that it is for; empty for the first one that is started on its branch.
    pub task: String,
    /// The branch that it is for, short.
    pub branch: String,
    /// The commit that the work starts from: what the project asked for is read there.
    pub base: Oid,
    /// UTC, RFC 3339.
    pub generated_at: String,
    /// The least grade of evidence, as configured at `base`.
    pub binding: Binding,
    pub body: Body,
    /// The project's `[[dod]]` items at `base`.
    pub project: Vec<Dod>,
}

/// A contract with its name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frozen {
    pub contract: Contract,
    /// SHA-256 of its canonical JSON, in hexadecimal.
    pub digest: String,
    pub blob: Oid,
}

/// A contract that is named but cannot be relied on: whoever asks must hold, not go on without it.
#[derive(Debug)]
pub(crate) struct Unproven {
    pub digest: String,
    pub why: String,
}

impl fmt::Display for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short: String = self.digest.chars().take(12).collect();
        let short = text::visible_line(&short);
        write!(f, "contract {short} cannot be relied on: {}", self.why)
    }
}

impl std::error::Error for Unproven {}

impl Contract {
    /// The bytes that are stored and hashed: JSON, keys sorted at every level (serde_json's map is a BTreeMap), no white space.
    fn canonical(&self) -> Vec<u8> {
        let mut value = self.body.to_value();
        let project: Vec<_> = self.project.iter().map(dod_value).collect();
        for (key, member) in [
            ("schemaVersion", json!(VERSION)),
            ("source", json!("file")),
            ("task", json!(self.task)),
            ("branch", json!(self.branch)),
            ("base", json!(self.base.to_string())),
            ("generatedAt", json!(self.generated_at)),
            ("binding", json!(self.binding.name())),
            ("dod", json!(project)),
        ] {
            value[key] = member;
        }
        value.to_string().into_bytes()
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let mut value: Value = serde_json::from_slice(bytes).ok()?;
        let map = value.as_object_mut()?;
        if map.remove("schemaVersion")? != VERSION || map.remove("source")? != "file" {
            return None;
        }
        let mut text = |key: &str| match map.remove(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let (task, branch, base) = (text("task")?, text("branch")?, text("base")?);
        let (generated_at, binding) = (text("generatedAt")?, text("binding")?);
        let project = map.remove("dod")?;
        let project = project.as_array()?.iter().map(read_dod);
        Some(Self {
            task,
            branch,
            base: Oid::from_hex(base.as_bytes()).ok()?,
            generated_at,
            binding: Binding::parse(&binding)?,
            project: project.collect::<Option<_>>()?,
            body: Body::of(&value).ok()?,
        })
    }

    /// The outcome called `id`.
    pub(crate) fn outcome(&self, id: &str) -> Option<&Outcome> {
        self.body.outcomes.iter().find(|outcome| outcome.id == id)
    }
}

fn dod_value(item: &Dod) -> Value {
    let mut value = check_of(item);
    value["id"] = json!(item.id);
    value["kind"] = json!(item.kind.name());
    if let Some(description) = &item.description {
        value["description"] = json!(description);
    }
    value
}

/// What an item of the project looks at: its command, glob, pattern and paths, as far as it has them.
pub(crate) fn check_of(item: &Dod) -> Value {
    let mut value = json!({});
    for (key, member) in [
        ("command", item.command.as_ref().map(|argv| json!(argv))),
        ("glob", item.glob.as_ref().map(|t| json!(t))),
        ("pattern", item.pattern.as_ref().map(|t| json!(t))),
        ("paths", (!item.paths.is_empty()).then(|| json!(item.paths))),
    ] {
        if let Some(member) = member {
            value[key] = member;
        }
    }
    value
}

fn read_dod(value: &Value) -> Option<Dod> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let texts = |key: &str| -> Option<Vec<String>> {
        let items = value.get(key)?.as_array()?.iter();
        items.map(|item| item.as_str().map(str::to_owned)).collect()
    };
    Some(Dod {
        id: text("id")?,
        kind: DodKind::parse(&text("kind")?)?,
        description: text("description"),
        command: texts("command"),
        glob: text("glob"),
        pattern: text("pattern"),
        paths: texts("paths").unwrap_or_default(),
    })
}

/// What a contract is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub task: &'a str,
    pub branch: &'a str,
    pub base: Oid,
}

/// Freezes `body` with what `config`, read at the base, asks of all work: stores it and records it, on the base. It is the open contract of
/// its branch from now on.
///
/// # Errors
/// When the ledger cannot be written.
pub(crate) fn freeze(
    worktree: &Worktree,
    body: Body,
    subject: Subject<'_>,
    config: &Config,
) -> Result<Frozen> {
    let contract = Contract {
        // The ledger shows no secret; a task that is recorded as it was redacted is compared so.
        task: secret::redact(subject.task.trim()).into_owned(),
        branch: subject.branch.to_owned(),
        base: subject.base,
        generated_at: record::now(),
        binding: config.evidence.binding,
        body,
        project: config.dod.clone(),
    };
    let bytes = contract.canonical();
    let digest = digest(&bytes);
    let blob = notes::store(worktree, &bytes)?;
    let fields = json!({
        "digest": digest, "blob": blob.to_string(), "task": contract.task, "branch": contract.branch, "base": contract.base.to_string(),
        "outcomes": contract.body.outcomes.len(), "items": contract.project.len(),
    });
    let record = Record::new(Kind::Contract, fields);
    notes::append_keeping(worktree, subject.base, &[record], &[blob])?;
    Ok(Frozen {
        contract,
        digest,
        blob,
    })
}

/// The contract called `digest`, read again and hashed again. `records`: `notes::deciding`, oldest first.
///
/// # Errors
/// An [`Unproven`] when the ledger does not know it, its blob is not here, or what is there is not what was frozen.
pub(crate) fn load(worktree: &Worktree, records: &[(Oid, Record)], digest: &str) -> Result<Frozen> {
    let named = |record: &Record| record.is(Kind::Contract) && record.str("digest") == digest;
    match records.iter().rev().find(|(_, record)| named(record)) {
        Some((_, record)) => read(worktree, record),
        None => Err(Unproven {
            digest: digest.to_owned(),
            why: "the ledger has no record of it".to_owned(),
        }
        .into()),
    }
}

/// The contract of a `contract` record.
///
/// # Errors
/// As [`load`].
pub(crate) fn read(worktree: &Worktree, record: &Record) -> Result<Frozen> {
    let name = record.str("digest");
    let fault = |why: String| Unproven {
        digest: name.to_owned(),
        why,
    };
    let Ok(blob) = Oid::from_hex(record.str("blob").as_bytes()) else {
        return Err(fault("its record names no blob".to_owned()).into());
    };
    let bytes = notes::stored(worktree, blob)
        .with_context(|| fault(format!("its blob {blob} cannot be read")))?;
    let Some(bytes) = bytes else {
        return Err(fault(format!("its blob {blob} is not in this repository")).into());
    };
    let found = digest(&bytes);
    if found != name {
        let found: String = found.chars().take(12).collect();
        return Err(fault(format!("its blob {blob} hashes to {found}")).into());
    }
    let Some(contract) = Contract::of(&bytes) else {
        return Err(fault(format!("its blob {blob} is of another version")).into());
    };
    for (field, frozen) in [
        ("task", contract.task.as_str()),
        ("branch", contract.branch.as_str()),
        ("base", contract.base.to_string().as_str()),
    ] {
        // A task too long for a line is a blob of its own: only texts are compared.
        let told = record.get(field).and_then(Value::as_str);
        if told.is_some_and(|told| secret::redact(frozen) != told) {
            return Err(fault(format!("its record names another {field}")).into());
        }
    }
    Ok(Frozen {
        contract,
        digest: found,
        blob,
    })
}

/// What the ledger says of contracts for a branch.
#[derive(Debug, PartialEq)]
pub(crate) enum Standing<'a> {
    /// None was frozen for it.
    Without,
    Open(&'a Record),
    /// Another task has begun since.
    Closed {
        contract: &'a Record,
        task: String,
    },
}

/// The contract of `branch`: the newest that was frozen for it. It is open until another task begins on the branch. Its own task is the
/// one that it was frozen with, else the first that a later run or checkpoint of the branch has; the task now is `task`, else that of the newest
/// such record. `records`: `notes::deciding`, oldest first.
pub(crate) fn standing<'a>(
    records: &'a [(Oid, Record)],
    branch: &str,
    task: Option<&str>,
) -> Standing<'a> {
    let is_ours = |record: &Record| record.str("branch") == branch;
    let Some(at) = records
        .iter()
        .rposition(|(_, record)| record.is(Kind::Contract) && is_ours(record))
    else {
        return Standing::Without;
    };
    let contract = &records[at].1;
    let mut later = records[at + 1..]
        .iter()
        .map(|(_, record)| record)
        .filter(|record| record.is(Kind::Run) || record.is(Kind::Checkpoint))
        .filter(|record| is_ours(record))
        .map(|record| record.str("task").trim())
        .filter(|task| !task.is_empty());
    let first = later.next();
    let newest = later.next_back().or(first).map(str::to_owned);
    let own = match contract.str("task") {
        "" => first.unwrap_or_default(),
        task => task,
    };
    let now = task.map(|task| secret::redact(task.trim()).into_owned());
    match now.or(newest) {
        Some(now) if !own.is_empty() && now != own => Standing::Closed {
            contract,
            task: now,
        },
        _ => Standing::Open(contract),
    }
}

/// The open contract of `branch` and `task`, as [`standing`] finds it.
///
/// # Errors
/// As [`load`]: a contract that is open and cannot be relied on is not the same as none.
pub(crate) fn open(
    worktree: &Worktree,
    records: &[(Oid, Record)],
    branch: &str,
    task: Option<&str>,
) -> Result<Option<Frozen>> {
    match standing(records, branch, task) {
        Standing::Open(record) => read(worktree, record).map(Some),
        Standing::Closed { .. } | Standing::Without => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Sources, load as configuration};
    use crate::git::fixture::Repo;

    fn body() -> Body {
        let text = "[[outcomes]]\nid = 'x'\ncheck = {kind = 'command', command = 'true'}\n";
        Body::read(Path::new("c.toml"), text).unwrap()
    }

    fn config() -> Config {
        let file = "[evidence]\nbinding = 'tree'\n[[dod]]\nid = 'n'\nkind = 'pattern-absent'\npattern = 'dbg'\npaths = ['src/**']\n";
        configuration(&Sources {
            file: Some(file),
            ..Sources::default()
        })
        .unwrap()
        .config
    }

    fn start() -> (Repo, Worktree, Oid) {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "start"]);
        let worktree = Worktree::discover(repo.root()).unwrap();
        let head = worktree.head().unwrap().unwrap();
        (repo, worktree, head)
    }

    #[test]
    fn the_canonical_form_has_sorted_keys_and_no_white_space() {
        let contract = Contract {
            task: "t \"q\"".to_owned(),
            branch: "arkaint/x".to_owned(),
            base: Oid::from_hex(&[b'a'; 40]).unwrap(),
            generated_at: "2026-01-31T12:00:00.000Z".to_owned(),
            binding: Binding::Tree,
            body: body(),
            project: config().dod,
        };
        let text = String::from_utf8(contract.canonical()).unwrap();
        let expected = format!(
            r#"{{"ambiguities":[],"base":"{}","binding":"tree","branch":"arkaint/x","dod":[{{"id":"n","kind":"pattern-absent","paths":["src/**"],"pattern":"dbg"}}],"generatedAt":"2026-01-31T12:00:00.000Z","intent":"","outcomes":[{{"check":{{"command":"true","kind":"command"}},"description":"","id":"x"}}],"risks":[],"schemaVersion":1,"source":"file","task":"t \"q\"","touchpoints":[]}}"#,
            "a".repeat(40)
        );
        assert_eq!(text, expected);
        assert_eq!(Contract::of(text.as_bytes()), Some(contract));
        for broken in [
            text.replace(r#""schemaVersion":1"#, r#""schemaVersion":2"#),
            text.replace(r#""source":"file""#, r#""source":"llm""#),
            text.replace(r#""intent""#, r#""intend""#),
            text.replace("pattern-absent", "manual"),
        ] {
            assert_eq!(Contract::of(broken.as_bytes()), None, "{broken}");
        }
    }

    #[test]
    fn what_was_frozen_is_loaded_by_its_digest_and_kept_by_the_ledger() {
        let (repo, worktree, head) = start();
        let subject = Subject {
            task: " do it ",
            branch: "arkaint/x",
            base: head,
        };
        let frozen = freeze(&worktree, body(), subject, &config()).unwrap();
        assert_eq!(frozen.contract.task, "do it");
        assert_eq!(frozen.contract.binding, Binding::Tree);
        let again = Worktree::discover(repo.root()).unwrap();
        let records = notes::all(&again).unwrap();
        assert_eq!(load(&again, &records, &frozen.digest).unwrap(), frozen);
        assert_eq!(
            open(&again, &records, "arkaint/x", None).unwrap(),
            Some(frozen.clone())
        );
        assert_eq!(open(&again, &records, "arkaint/y", None).unwrap(), None);
        // sha256sum of git's own output is its name, and gc leaves it alone.
        repo.git(["gc", "-q", "--prune=now"]);
        let blob = format!("{}:blobs/{}", notes::REF, frozen.blob);
        let bytes = repo.git(["cat-file", "blob", blob.as_str()]);
        assert_eq!(digest(bytes.as_ref()), frozen.digest);
        let unknown = load(&again, &records, &"0".repeat(64)).unwrap_err();
        let unknown = unknown.downcast_ref::<Unproven>().unwrap();
        assert_eq!(
            unknown.to_string(),
            "contract 000000000000 cannot be relied on: the ledger has no record of it"
        );
    }

    #[test]
    fn a_record_that_was_changed_is_no_contract() {
        let (_repo, worktree, head) = start();
        let subject = Subject {
            task: "t",
            branch: "arkaint/x",
            base: head,
        };
        let frozen = freeze(&worktree, body(), subject, &config()).unwrap();
        let (_, record) = notes::all(&worktree).unwrap().pop().unwrap();
        let other = notes::store(&worktree, b"{}").unwrap();
        let with = |key: &str, value: &str| {
            let mut record = record.clone();
            record.map_mut().insert(key.to_owned(), value.into());
            let error = read(&worktree, &record).unwrap_err();
            error.downcast::<Unproven>().unwrap().why
        };
        assert!(read(&worktree, &record).is_ok());
        assert_eq!(
            with("blob", &other.to_string()),
            format!("its blob {other} hashes to 44136fa355b3")
        );
        let here = frozen.blob;
        assert!(
            with("digest", &"1".repeat(64)).starts_with(&format!("its blob {here} hashes to "))
        );
        let gone = "1".repeat(40);
        assert_eq!(
            with("blob", &gone),
            format!("its blob {gone} is not in this repository")
        );
        assert_eq!(with("blob", "x"), "its record names no blob");
        assert_eq!(with("branch", "main"), "its record names another branch");
        assert_eq!(with("task", "u"), "its record names another task");
        assert_eq!(with("base", &gone), "its record names another base");
    }

    #[test]
    fn a_contract_is_open_until_it_is_replaced_or_another_task_begins() {
        use Kind::{Checkpoint, Contract, Run};
        let on = Oid::from_hex(&[b'a'; 40]).unwrap();
        let record = |kind: Kind, branch: &str, task: &str| {
            (
                on,
                Record::new(kind, json!({"branch": branch, "task": task})),
            )
        };
        let open =
            |records: &[(Oid, Record)], task: Option<&str>| match standing(records, "b", task) {
                Standing::Without => "none".to_owned(),
                Standing::Open(record) => format!("open {}", record.str("task")),
                Standing::Closed { task, .. } => format!("closed by {task}"),
            };
        assert_eq!(open(&[record(Contract, "c", "t")], None), "none");
        // What was there before does not count.
        let mut all = vec![record(Checkpoint, "b", "old"), record(Contract, "b", "t")];
        assert_eq!(open(&all, None), "open t");
        assert_eq!(open(&all, Some(" t ")), "open t");
        assert_eq!(open(&all, Some("u")), "closed by u");
        all.push(record(Run, "b", "t"));
        all.push(record(Run, "c", "else"));
        all.push(record(Checkpoint, "b", ""));
        assert_eq!(open(&all, None), "open t");
        all.push(record(Run, "b", "u"));
        assert_eq!(open(&all, None), "closed by u");
        assert_eq!(open(&all, Some("t")), "open t");
        // Without a task it is the first one's.
        all.push(record(Contract, "b", ""));
        assert_eq!(open(&all, None), "open ");
        assert_eq!(open(&all, Some("anything")), "open ");
        all.push(record(Run, "b", "v"));
        assert_eq!(open(&all, Some("v")), "open ");
        assert_eq!(open(&all, Some("w")), "closed by w");
        all.push(record(Run, "b", "w"));
        assert_eq!(open(&all, None), "closed by w");
        all.push(record(Contract, "b", "w"));
        assert_eq!(open(&all, None), "open w");
    }
}
