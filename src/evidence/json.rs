//! JSON as a gate must read it: one meaning or none. serde_json parses; what it would pass over is refused here: a key that stands
//! twice (two parsers would differ on it), more than [`DEPTH`] levels. Numbers and white space mean what they mean in JavaScript, as the
//! tool whose files these are is written in it. It knows no file and no field of one.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize as _, Deserializer};
use serde_json::error::Category;
use serde_json::{Map, Value};

use crate::text;

/// Levels of arrays and objects. Counted while parsing, so that a level more is never entered; serde_json's own limit (128) is not
/// reached.
pub(crate) const DEPTH: usize = 64;

/// The largest integer that every reader of JSON has exactly: 2^53 - 1.
pub(crate) const LARGEST: i64 = (1 << 53) - 1;

/// One JSON value and nothing after it.
///
/// # Errors
/// Why it is none, in one line.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    if js_trim(text).is_empty() {
        return Err("empty: no JSON value".to_owned());
    }
    let mut parser = serde_json::Deserializer::from_str(text);
    let read = Strict { depth: 0 }
        .deserialize(&mut parser)
        .and_then(|value| parser.end().map(|()| value));
    read.map_err(|error| match error.classify() {
        Category::Data => error.to_string(),
        _ if text.contains('\0') => "holds NUL bytes (UTF-16?): save it as UTF-8".to_owned(),
        _ => format!("not JSON: {error}"),
    })
}

/// A whole number as JavaScript's `Number.isSafeInteger` has it: `0.0`, `-0` and `1e2` are, `1.5` and 2^53 are not.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    let whole = value.as_i64().or_else(|| {
        let real = value.as_f64()?;
        #[allow(clippy::cast_possible_truncation)] // whole, and within ±2^53
        (real.fract() == 0.0 && real.abs() <= LARGEST as f64).then_some(real as i64)
    })?;
    (-LARGEST..=LARGEST).contains(&whole).then_some(whole)
}

/// `text` without what ECMAScript calls white space and line terminators at its ends. Rust differs in two: U+FEFF is white there, and
/// U+0085 is not.
pub(crate) fn js_trim(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\u{feff}' || c.is_whitespace() && c != '\u{85}')
}

/// What a value is, for a message: `null`, `the string "x"`, `an array`.
pub(crate) fn found(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string {}", quoted(text)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// A string of the file in a message: one line, and not the whole of a long one.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text::ellipsis(&text::visible_line(text), 60))
}

/// The object in the bytes of a file, for a rewrite that keeps what it does not know; empty where there is none that can be read.
pub(super) fn object(bytes: Option<&[u8]>) -> Map<String, Value> {
    let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
    let value = text.and_then(|text| parse(text.strip_prefix('\u{feff}').unwrap_or(text)).ok());
    match value {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

/// The bytes of a file that holds `object`.
pub(super) fn text(object: &Map<String, Value>) -> Vec<u8> {
    let mut bytes =
        serde_json::to_vec_pretty(object).expect("an object of strings and numbers is JSON");
    bytes.push(b'\n');
    bytes
}

/// Builds a value below `depth` levels.
#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == DEPTH {
            return Err(E::custom(format_args!("nested deeper than {DEPTH} levels")));
        }
        Ok(Self {
            depth: self.depth + 1,
        })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut object = Map::new();
        while let Some(key) = members.next_key_seed(Key)? {
            if object.contains_key(&key) {
                let key = text::ellipsis(&text::visible_line(&key), 60);
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
            let member = members.next_value_seed(inner)?;
            object.insert(key, member);
        }
        Ok(object.into())
    }
}

struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        String::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_value_with_one_meaning_is_read() {
        for text in [
            "{}",
            "[]",
            "null",
            " {\r\n\t} ",
            r#"{"a":{"a":[{"a":1},{"a":2}]}}"#,
            r#""𝄞""#,
        ] {
            assert_eq!(
                parse(text).unwrap(),
                serde_json::from_str::<Value>(text).unwrap(),
                "{text}"
            );
        }
        for (text, why) in [
            ("", "empty"),
            (" \r\n", "empty"),
            ("{}{}", "not JSON: trailing characters"),
            ("{} x", "not JSON: trailing characters"),
            ("{\"a\":1,}", "not JSON: trailing comma"),
            ("{'a':1}", "not JSON"),
            ("// no\n{}", "not JSON"),
            ("NaN", "not JSON"),
            ("[1e400]", "not JSON: number out of range"),
            ("[-1e400]", "not JSON: number out of range"),
            ("[01]", "not JSON"),
            ("{\"a\":", "not JSON: EOF"),
            (r#"["\ud800"]"#, "not JSON"),
            ("\u{a0}{}", "not JSON"),
            ("{\0}", "holds NUL bytes"),
            (
                r#"{"a":1,"b":2,"a":1}"#,
                "duplicate key `a` at line 1 column 16",
            ),
            (r#"{"a":1,"\u0061":1}"#, "duplicate key `a`"),
            (r#"{"x":[{"y":{"b":1,"b":2}}]}"#, "duplicate key `b`"),
            ("{\"\u{1b}\":1,\"\u{1b}\":1}", "not JSON"),
            ("{\"\\u001b\":1,\"\\u001b\":1}", "duplicate key `<U+001B>`"),
        ] {
            let said = parse(text).unwrap_err();
            assert!(said.starts_with(why), "{text}: {said}");
        }
    }

    #[test]
    fn levels_are_counted_before_they_are_entered() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(&nested(DEPTH)).is_ok());
        let said = parse(&nested(DEPTH + 1)).unwrap_err();
        assert!(said.starts_with("nested deeper than 64 levels"), "{said}");
        let said = parse(&"[".repeat(1 << 20)).unwrap_err();
        assert!(said.starts_with("nested deeper"), "{said}");
        let said = parse(&"{\"a\":".repeat(100_000)).unwrap_err();
        assert!(said.starts_with("nested deeper"), "{said}");
    }

    #[test]
    fn integers_are_those_of_javascript() {
        for (text, number) in [
            ("0", Some(0)),
            ("0.0", Some(0)),
            ("-0", Some(0)),
            ("-0.0", Some(0)),
            ("1e2", Some(100)),
            ("1.5e1", Some(15)),
            ("1e-400", Some(0)),
            ("-1", Some(-1)),
            ("9007199254740991", Some(LARGEST)),
            ("-9007199254740991", Some(-LARGEST)),
            ("9007199254740991.0", Some(LARGEST)),
            // The nearest double is whole: JavaScript never sees the fraction.
            ("9007199254740990.6", Some(LARGEST)),
            ("0.99999999999999999", Some(1)),
            ("9007199254740992", None),
            ("9007199254740993.0", None),
            ("-9007199254740992", None),
            ("18446744073709551615", None),
            ("1e300", None),
            ("1.5", None),
            ("0.1", None),
            ("\"0\"", None),
            ("null", None),
            ("true", None),
            ("[0]", None),
        ] {
            assert_eq!(integer(&parse(text).unwrap()), number, "{text}");
        }
    }

    #[test]
    fn white_space_is_that_of_javascript() {
        let white = "\t\u{b}\u{c} \u{a0}\u{1680}\u{2000}\u{200a}\u{202f}\u{205f}\u{3000}\u{feff}\n\r\u{2028}\u{2029}";
        assert_eq!(js_trim(white), "");
        assert_eq!(js_trim(&format!("{white}a b{white}")), "a b");
        for kept in ["\u{85}", "\u{200b}", "\u{180e}", "\u{2060}", "\0"] {
            assert_eq!(js_trim(kept), kept);
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_means_the_same_to_serde_json(text in r#"[\[\]{}:,"a-c0-9.eE+\- \\un]{0,40}"#) {
            if let Ok(value) = parse(&text) {
                let other: Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(value, other);
            }
        }

        #[test]
        fn what_serde_json_writes_is_read(keys in proptest::collection::btree_map("\\PC*", any::<f64>(), 0..8), flag: bool) {
            let value = serde_json::json!({ "keys": keys, "flag": flag, "list": keys.keys().collect::<Vec<_>>() });
            prop_assert_eq!(parse(&value.to_string()).unwrap(), value);
        }
    }
}
