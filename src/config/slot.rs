//! Typed places of the configuration, and the values that fit into them. That kinds and places fit is the list of keys' promise
//! (`keys`), which a test holds.

use std::path::PathBuf;
use std::time::Duration;

use super::evidence::relative_path;
use super::value::Value;
use super::{Choice, CommandLine, TestCommand};

/// A place in the configuration.
pub(super) trait Slot {
    /// Puts a value that its key has read; panics on one of another type.
    fn put(&mut self, value: Value);
    fn get(&self) -> Value;
}

fn misfit(value: &Value) -> ! {
    panic!("a key of another type has its place here: {value:?}")
}

/// A count that fits, or the largest; the list of keys bounds what is read.
fn number(value: &Value) -> u64 {
    match value {
        Value::Number(number) => *number,
        other => misfit(other),
    }
}

fn word(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        other => misfit(other),
    }
}

impl Slot for u64 {
    fn put(&mut self, value: Value) {
        *self = number(&value);
    }
    fn get(&self) -> Value {
        Value::Number(*self)
    }
}

impl Slot for u32 {
    fn put(&mut self, value: Value) {
        *self = Self::try_from(number(&value)).unwrap_or(Self::MAX);
    }
    fn get(&self) -> Value {
        Value::Number(u64::from(*self))
    }
}

impl Slot for usize {
    fn put(&mut self, value: Value) {
        *self = Self::try_from(number(&value)).unwrap_or(Self::MAX);
    }
    fn get(&self) -> Value {
        Value::Number(u64::try_from(*self).unwrap_or(u64::MAX))
    }
}

impl Slot for f64 {
    fn put(&mut self, value: Value) {
        let Value::Real(real) = value else {
            misfit(&value)
        };
        *self = real;
    }
    fn get(&self) -> Value {
        Value::Real(*self)
    }
}

impl Slot for bool {
    fn put(&mut self, value: Value) {
        let Value::Flag(flag) = value else {
            misfit(&value)
        };
        *self = flag;
    }
    fn get(&self) -> Value {
        Value::Flag(*self)
    }
}

impl Slot for Duration {
    fn put(&mut self, value: Value) {
        let Value::Time(time) = value else {
            misfit(&value)
        };
        *self = time;
    }
    fn get(&self) -> Value {
        Value::Time(*self)
    }
}

impl Slot for String {
    fn put(&mut self, value: Value) {
        word(&value).clone_into(self);
    }
    fn get(&self) -> Value {
        Value::Text(self.clone())
    }
}

impl Slot for Option<String> {
    fn put(&mut self, value: Value) {
        *self = Some(word(&value).to_owned());
    }
    fn get(&self) -> Value {
        self.clone().map_or(Value::Unset, Value::Text)
    }
}

impl Slot for Vec<String> {
    fn put(&mut self, value: Value) {
        let Value::List(items) = value else {
            misfit(&value)
        };
        *self = items;
    }
    fn get(&self) -> Value {
        Value::List(self.clone())
    }
}

impl Slot for Option<Vec<String>> {
    fn put(&mut self, value: Value) {
        let Value::List(items) = value else {
            misfit(&value)
        };
        *self = Some(items);
    }
    fn get(&self) -> Value {
        self.clone().map_or(Value::Unset, Value::List)
    }
}

impl Slot for PathBuf {
    fn put(&mut self, value: Value) {
        *self = relative_path(word(&value)).unwrap_or_else(|_| misfit(&value));
    }
    fn get(&self) -> Value {
        Value::Text(self.to_string_lossy().into_owned())
    }
}

impl From<&CommandLine> for Value {
    fn from(command: &CommandLine) -> Self {
        match command {
            CommandLine::Bash(text) => Self::Text(text.clone()),
            CommandLine::Argv(words) => Self::List(words.clone()),
        }
    }
}

fn command(value: Value) -> CommandLine {
    match value {
        Value::Text(text) => CommandLine::Bash(text),
        Value::List(words) => CommandLine::Argv(words),
        other => misfit(&other),
    }
}

impl Slot for Option<CommandLine> {
    fn put(&mut self, value: Value) {
        *self = Some(command(value));
    }
    fn get(&self) -> Value {
        self.as_ref().map_or(Value::Unset, Value::from)
    }
}

impl Slot for TestCommand {
    fn put(&mut self, value: Value) {
        *self = match value {
            Value::Flag(false) => Self::Declared,
            other => Self::Run(command(other)),
        };
    }
    fn get(&self) -> Value {
        match self {
            Self::Unset => Value::Unset,
            Self::Declared => Value::Flag(false),
            Self::Run(command) => command.into(),
        }
    }
}

impl<T: Choice> Slot for T {
    fn put(&mut self, value: Value) {
        *self = Self::parse(word(&value)).unwrap_or_else(|| misfit(&value));
    }
    fn get(&self) -> Value {
        Value::Text(self.name().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::TABLES;
    use crate::config::value::Kind;
    use crate::config::{Binding, Config, Conflicts};

    #[test]
    fn every_word_of_a_choice_is_read_as_what_it_names() {
        let mut config = Config::default();
        let mut choices = 0;
        for key in TABLES.iter().flat_map(|table| table.keys) {
            let Kind::Choice(words) = key.kind else {
                continue;
            };
            choices += 1;
            for word in words {
                let value = Value::Text((*word).to_owned());
                key.put(&mut config, "0", value.clone());
                assert_eq!(key.get(&mut config, "0"), value, "{}", key.name);
            }
        }
        assert!(choices >= 6, "{choices}");
        assert_eq!(Binding::parse("Off"), None);
        assert_eq!(Conflicts::parse(""), None);
    }
}
