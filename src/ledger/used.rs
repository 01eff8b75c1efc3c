//! What one run used, read from its line in the ledger without reading the rest of it. Values of a wrong type are unknown, never an error:
//! a line may come from anybody.

use std::borrow::Cow;
use std::fmt;

use memchr::memmem;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Kind;
use super::record::LONGEST;
use crate::agent::Usage;

/// A `run` record, as far as cost goes.
#[derive(Debug, Deserialize)]
pub(crate) struct Used<'a> {
    #[serde(borrow)]
    at: Word<'a>,
    #[serde(borrow)]
    kind: Word<'a>,
    #[serde(borrow, default)]
    agent: Word<'a>,
    #[serde(borrow, default)]
    provider: Word<'a>,
    #[serde(borrow, default)]
    model: Word<'a>,
    #[serde(borrow, default)]
    profile: Word<'a>,
    #[serde(borrow, default)]
    task: Word<'a>,
    #[serde(default)]
    tokens: Tokens,
    #[serde(default)]
    tokens_estimated: Number,
    #[serde(borrow, default)]
    cost: Cost<'a>,
}

/// The same, however it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    /// When it ended, UTC, RFC 3339.
    pub at: &'a str,
    pub agent: Option<&'a str>,
    pub provider: Option<&'a str>,
    pub model: Option<&'a str>,
    pub profile: Option<&'a str>,
    pub task: Option<&'a str>,
    /// The tokens that the agent told.
    pub usage: Usage,
    /// Where the agent told none: what its stream was estimated at.
    pub estimated: u64,
    pub usd: Usd,
}

/// A string, or nothing where something else stands.
#[derive(Debug, Default)]
struct Word<'a>(Option<Cow<'a, str>>);

#[derive(Clone, Copy, Debug, Default)]
struct Number(Option<f64>);

#[derive(Debug, Default)]
struct Tokens {
    input: Number,
    output: Number,
    cache_read: Number,
    cache_write: Number,
}

#[derive(Debug, Default)]
struct Cost<'a> {
    usd: Number,
    source: Word<'a>,
}

/// USD of a run, as its record says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Usd {
    Reported(f64),
    Computed(f64),
    Unknown,
}

impl<'a> Used<'a> {
    /// `None` for a line that is no record of a run. `day`: only of this UTC day (`2026-01-31`).
    pub(crate) fn from_line(line: &'a [u8], day: Option<&str>) -> Option<Self> {
        if line.len() > LONGEST {
            return None;
        }
        // Most lines are something else, or of another day; looking costs a tenth of reading.
        memmem::find(line, b"\"run\"")?;
        if let Some(day) = day {
            memmem::find(line, format!("\"{day}").as_bytes())?;
        }
        let used: Self = serde_json::from_slice(line).ok()?;
        let wanted = used.kind.0.as_deref() == Some(Kind::Run.name())
            && used.at.0.is_some()
            && day.is_none_or(|day| used.run().day() == Some(day));
        wanted.then_some(used)
    }

    pub(crate) fn run(&self) -> Run<'_> {
        let usd = match (self.cost.usd.0, self.cost.source.0.as_deref()) {
            (Some(usd), Some("reported")) => Usd::Reported(usd),
            (Some(usd), _) => Usd::Computed(usd),
            (None, _) => Usd::Unknown,
        };
        Run {
            at: self.at.0.as_deref().unwrap_or_default(),
            agent: self.agent.0.as_deref(),
            provider: self.provider.0.as_deref(),
            model: self.model.0.as_deref(),
            profile: self.profile.0.as_deref(),
            task: self.task.0.as_deref(),
            usage: Usage {
                input: self.tokens.input.count(),
                output: self.tokens.output.count(),
                cache_read: self.tokens.cache_read.count(),
                cache_write: self.tokens.cache_write.count(),
            },
            estimated: self.tokens_estimated.count().unwrap_or(0),
            usd,
        }
    }
}

impl<'a> Run<'a> {
    /// `2026-01-31`; `None` where the record's time is none.
    pub(crate) fn day(&self) -> Option<&'a str> {
        let day = self.at.get(..10)?;
        let shape = |(place, byte): (usize, u8)| match place {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        };
        day.bytes().enumerate().all(shape).then_some(day)
    }
}

impl Number {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // not negative, and a cast ends at the largest
    fn count(self) -> Option<u64> {
        self.0.map(|number| number as u64)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Word<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(deserializer.deserialize_any(Lenient)?.word))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = deserializer.deserialize_any(Lenient)?.number;
        // Nobody is paid for a run, and no sum may be lowered by one.
        Ok(Self(number.filter(|n| n.is_finite() && *n >= 0.0)))
    }
}

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(deserializer.deserialize_any(Lenient)?.tokens)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Cost<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(deserializer.deserialize_any(Lenient)?.cost)
    }
}

/// Whatever JSON value stands there, as each of the things that it may be.
#[derive(Default)]
struct Any<'a> {
    word: Option<Cow<'a, str>>,
    number: Option<f64>,
    tokens: Tokens,
    cost: Cost<'a>,
}

struct Lenient;

impl<'de> Visitor<'de> for Lenient {
    type Value = Any<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Any<'de>, E> {
        Ok(Any {
            word: Some(Cow::Borrowed(text)),
            ..Any::default()
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Any<'de>, E> {
        Ok(Any {
            word: Some(Cow::Owned(text.to_owned())),
            ..Any::default()
        })
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Any<'de>, E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Any<'de>, E> {
        self.visit_f64(number as f64)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Any<'de>, E> {
        Ok(Any {
            number: Some(number),
            ..Any::default()
        })
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Any<'de>, E> {
        Ok(Any::default())
    }

    fn visit_unit<E: Error>(self) -> Result<Any<'de>, E> {
        Ok(Any::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Any<'de>, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Any::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Any<'de>, A::Error> {
        let mut any = Any::default();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match &*key {
                "input" => any.tokens.input = map.next_value()?,
                "output" => any.tokens.output = map.next_value()?,
                "cache_read" => any.tokens.cache_read = map.next_value()?,
                "cache_write" => any.tokens.cache_write = map.next_value()?,
                "usd" => any.cost.usd = map.next_value()?,
                "source" => any.cost.source = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"at":"2026-01-31T12:00:00.000Z","id":"r1","kind":"run","v":1,"agent":"goose","model":"m","task":"a \"b\"","tokens":{"input":10,"output":2,"cache_read":4,"cache_write":null},"tokens_estimated":null,"cost":{"usd":0.5,"source":"reported"},"more":{"cost":[1,{"usd":9}]}}"#;

    #[test]
    fn a_run_is_read_and_all_else_passed_over() {
        let used = Used::from_line(LINE.as_bytes(), None).unwrap();
        assert_eq!(
            (used.run().day(), used.run().task, used.run().usd),
            (Some("2026-01-31"), Some("a \"b\""), Usd::Reported(0.5))
        );
        assert_eq!(used.run().usage.total(), Some(12));
        assert!(Used::from_line(LINE.as_bytes(), Some("2026-01-31")).is_some());
        assert!(Used::from_line(LINE.as_bytes(), Some("2026-02-01")).is_none());
        for other in [
            r#"{"at":"2026-01-31T12:00:00Z","kind":"trip","run":"r1"}"#,
            r#"{"kind":"run"}"#,
            "\"run\"",
            "{\"run\"",
        ] {
            assert!(Used::from_line(other.as_bytes(), None).is_none(), "{other}");
        }
    }

    #[test]
    fn values_of_a_wrong_type_are_unknown_and_none_lowers_a_sum() {
        let line = r#"{"at":"soon","kind":"run","task":{"blob":"ab","bytes":9},"model":7,"tokens":"many","tokens_estimated":-5,"cost":{"usd":-3,"source":[]}}"#;
        let used = Used::from_line(line.as_bytes(), None).unwrap();
        let run = used.run();
        assert_eq!((run.day(), run.usd), (None, Usd::Unknown));
        assert_eq!((run.usage.total(), run.estimated), (None, 0));
        assert!(run.task.is_none() && run.model.is_none());
    }
}
