//! What a guard says. It prints nothing.

/// Lines of detail in one answer: with cause and hints it stays under one screen.
const MOST: usize = 8;

/// A guard's answer, with what should be said beside it.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub warnings: Vec<String>,
    pub no: Option<No>,
}

/// A refusal: the cause in one line, what it is about, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct No {
    pub cause: String,
    pub detail: Vec<String>,
    pub hints: Vec<String>,
}

impl No {
    pub(super) fn new(cause: impl Into<String>, hints: impl IntoIterator<Item = String>) -> Self {
        Self {
            cause: cause.into(),
            detail: Vec::new(),
            hints: hints.into_iter().collect(),
        }
    }

    /// Names what it is about, one a line; what does not fit is counted.
    pub(super) fn naming(mut self, what: impl IntoIterator<Item = String>) -> Self {
        let mut what = what.into_iter();
        self.detail = what.by_ref().take(MOST).collect();
        match what.count() {
            0 => {}
            rest => self.detail.push(format!("and {rest} more")),
        }
        self
    }
}

impl From<No> for Answer {
    fn from(no: No) -> Self {
        Self {
            no: Some(no),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_counted() {
        let no = No::new("x", []).naming((0..12).map(|n| n.to_string()));
        assert_eq!((no.detail.len(), no.detail[8].as_str()), (9, "and 4 more"));
    }
}
