//! One line of the ledger: its format, and nothing of where it is kept. Documented field by field in `git-arkaint-ledger(5)`.

use std::time::Duration;

use jiff::{Timestamp, Unit};
use serde_json::{Map, Value};

/// The version of the record format that this program writes.
pub(crate) const VERSION: u64 = 1;

/// The longest line that is read as a record, bytes: sixteen times the longest that is written. What is longer is kept as it is.
pub(super) const LONGEST: usize = 1024 * 1024;

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Checkpoint,
    Run,
    Decay,
    Failure,
    Trip,
    Rollback,
    /// Work in a worktree of its own: begun, under way, ended.
    Dispatch,
    /// What a piece of work must prove, frozen.
    Contract,
    /// A person's word: on a plan, an outcome, or a commit.
    Approval,
    /// What the recorder ran and wrote, or the three files as they were judged.
    Evidence,
    /// What the merge gate said of a commit.
    Verdict,
}

impl Kind {
    pub(crate) const ALL: [Self; 11] = [
        Self::Checkpoint,
        Self::Run,
        Self::Decay,
        Self::Failure,
        Self::Trip,
        Self::Rollback,
        Self::Dispatch,
        Self::Contract,
        Self::Approval,
        Self::Evidence,
        Self::Verdict,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::Run => "run",
            Self::Decay => "decay",
            Self::Failure => "failure",
            Self::Trip => "trip",
            Self::Rollback => "rollback",
            Self::Dispatch => "dispatch",
            Self::Contract => "contract",
            Self::Approval => "approval",
            Self::Evidence => "evidence",
            Self::Verdict => "verdict",
        }
    }
}

/// One record. Fields that this program does not know are kept as they are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record(Map<String, Value>);

impl Record {
    /// A record of `kind` made now, with a fresh id; `fields` is a JSON object.
    pub(crate) fn new(kind: Kind, fields: Value) -> Self {
        Self::with_id(kind, fresh_id(), fields)
    }

    /// The same with a given id (a run's record carries the run's id).
    pub(crate) fn with_id(kind: Kind, id: String, fields: Value) -> Self {
        let mut map = match fields {
            Value::Object(map) => map,
            other => Map::from_iter([("value".to_owned(), other)]),
        };
        map.insert("at".to_owned(), now().into());
        map.insert("id".to_owned(), id.into());
        map.insert("kind".to_owned(), kind.name().into());
        map.insert("v".to_owned(), VERSION.into());
        Self(map)
    }

    /// One line without its newline; `at` comes first so that sorted lines are in time order.
    pub(crate) fn to_line(&self) -> String {
        const HEAD: [&str; 4] = ["at", "id", "kind", "v"];
        let mut out = String::from("{");
        let head = HEAD.iter().filter_map(|key| self.0.get_key_value(*key));
        let rest = self
            .0
            .iter()
            .filter(|(key, _)| !HEAD.contains(&key.as_str()));
        for (n, (key, value)) in head.chain(rest).enumerate() {
            if n > 0 {
                out.push(',');
            }
            out.push_str(&Value::from(key.as_str()).to_string());
            out.push(':');
            out.push_str(&value.to_string());
        }
        out.push('}');
        out
    }

    /// Reads a line; `None` for what is no JSON object with `at` and `kind`, or longer than a megabyte.
    pub(crate) fn from_line(line: &[u8]) -> Option<Self> {
        if line.len() > LONGEST {
            return None;
        }
        match serde_json::from_slice(line).ok()? {
            Value::Object(map)
                if map.get("at").is_some_and(Value::is_string)
                    && map.get("kind").is_some_and(Value::is_string) =>
            {
                Some(Self(map))
            }
            _ => None,
        }
    }

    pub(crate) fn at(&self) -> &str {
        self.str("at")
    }

    pub(crate) fn id(&self) -> &str {
        self.str("id")
    }

    pub(crate) fn kind(&self) -> &str {
        self.str("kind")
    }

    /// The version of the format that it was written in.
    pub(crate) fn version(&self) -> u64 {
        self.0.get("v").and_then(Value::as_u64).unwrap_or(VERSION)
    }

    pub(crate) fn is(&self, kind: Kind) -> bool {
        self.kind() == kind.name()
    }

    /// A string field, empty when it is not there.
    pub(crate) fn str(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    pub(crate) fn to_value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    pub(crate) fn map_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.0
    }
}

/// Now, UTC, RFC 3339 with milliseconds: `2026-01-31T12:00:00.000Z`.
pub(crate) fn now() -> String {
    let now = Timestamp::now()
        .round(Unit::Millisecond)
        .unwrap_or_else(|_| Timestamp::now());
    format!("{now:.3}")
}

/// A fresh id that sorts by time: UTC to the second, then three hexadecimal digits of milliseconds and three of randomness, e.g.
/// `20260131T120000Z-3f9a1c`.
pub(crate) fn fresh_id() -> String {
    let now = now();
    let time: String = now
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(15)
        .collect();
    let millis: u16 = now.get(20..23).and_then(|m| m.parse().ok()).unwrap_or(0);
    format!("{time}Z-{millis:03x}{}", &random_hex(2)[..3])
}

/// `n` bytes of the system's randomness in hexadecimal.
pub(crate) fn random_hex(n: usize) -> String {
    use std::io::Read as _;
    let mut bytes = vec![0; n];
    let read =
        std::fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    if read.is_err() {
        let seed = format!("{:?} {}", std::time::SystemTime::now(), std::process::id());
        let digest = <sha2::Sha256 as sha2::Digest>::digest(seed.as_bytes());
        bytes.copy_from_slice(&digest[..n.min(32)]);
    }
    crate::text::hex(&bytes)
}

/// Half of `pause` and up to as much again, by the system's randomness: racing writers do not meet again.
pub(super) fn jittered(pause: Duration) -> Duration {
    let spread = u64::from_str_radix(&random_hex(2), 16).unwrap_or(1);
    pause / 2 + pause.mul_f64(spread as f64 / 65536.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_begins_with_its_time_and_is_read_again_with_unknown_fields() {
        let record = Record::new(Kind::Run, json!({"zeta": 1, "alpha": {"b": [1, 2]}}));
        let line = record.to_line();
        assert!(line.starts_with("{\"at\":\"2") && !line.contains('\n'));
        assert_eq!(Record::from_line(line.as_bytes()), Some(record));
        assert_eq!(Record::from_line(b"[]"), None);
    }

    #[test]
    fn times_have_one_width_so_that_lines_sort() {
        assert_eq!(now().len(), "2026-01-31T12:00:00.000Z".len());
        assert_eq!(fresh_id().len(), "20260131T120000Z-3f9a1c".len());
    }

    #[test]
    fn whatever_stands_in_a_line_is_a_record_that_survives_or_none() {
        let examples = crate::text::fuzz::texts(&[
            r#"{"at":"2026-01-31T12:00:00.000Z","id":"20260131T120000Z-3f9a1c","kind":"run","v":1,"agent":"goose","tokens":{"input":10,"output":2,"cache_read":null},"cost":{"usd":0.5,"source":"reported"},"task":"a \"b\""}"#,
            r#"{"at":"2026-01-31T12:00:00.000Z","id":"x","kind":"trip","v":2,"why":"unknown \u00e9 field","more":[1,{"a":[]}]}"#,
        ]);
        crate::text::fuzz::damaged(&examples, |bytes| {
            if let Some(record) = Record::from_line(bytes) {
                let line = record.to_line();
                assert!(!line.contains('\n'));
                assert_eq!(Record::from_line(line.as_bytes()), Some(record));
            }
            if let Some(used) = super::super::used::Used::from_line(bytes, None) {
                let run = used.run();
                assert!(run.day().is_none_or(|day| day.len() == 10));
            }
        });
    }
}
