//! What the forge's checks say of one commit, whoever ran them. It knows no forge and decides nothing.

use crate::text;

/// The longest name shown, bytes.
const NAME: usize = 120;

/// How one check stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Passed,
    Failing,
    Pending,
}

/// The checks of one commit. A check that has not begun to exist is in none of the lists: the forge does not tell what will be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checks {
    /// Names, sorted, each once, made visible: those that ended in anything but success.
    pub failing: Vec<String>,
    /// Those that have not ended, or wait for somebody. A name may be in both lists: two checks have it.
    pub pending: Vec<String>,
    /// How many passed, those that were skipped or may fail among them.
    pub passed: usize,
}

impl Checks {
    pub(super) fn of(all: impl IntoIterator<Item = (String, State)>) -> Self {
        let mut checks = Self::default();
        for (name, state) in all {
            let name = text::ellipsis(&text::visible_line(&name), NAME);
            match state {
                State::Passed => checks.passed += 1,
                State::Failing => checks.failing.push(name),
                State::Pending => checks.pending.push(name),
            }
        }
        for list in [&mut checks.failing, &mut checks.pending] {
            list.sort();
            list.dedup();
        }
        checks
    }

    /// Nobody checks this commit.
    #[cfg(test)]
    pub(crate) fn is_none(&self) -> bool {
        self.passed == 0 && self.failing.is_empty() && self.pending.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_strangers_text_and_named_once() {
        let all = [
            ("b\u{1b}[1m\nx", State::Failing),
            ("a", State::Failing),
            ("a", State::Failing),
            ("a", State::Pending),
            ("c", State::Passed),
        ];
        let checks = Checks::of(all.map(|(name, state)| (name.to_owned(), state)));
        assert_eq!(checks.failing, ["a", "b<U+001B>[1m x"]);
        assert_eq!(
            (checks.pending.len(), checks.passed, checks.is_none()),
            (1, 1, false)
        );
        assert!(Checks::of([]).is_none());
    }
}
