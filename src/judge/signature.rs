//! What makes a failure the same failure: its kind and its normalised cause, hashed. It comes from the structure of a failing check's
//! output, never from words in prose, and before anything is redacted: redaction must not change what is counted.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::extract::{self, Cause};

/// What kind of thing is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// A test fails.
    Test,
    /// A compiler, linker or linter complains.
    Diagnostic,
    /// A module, package, header or command is missing.
    Missing,
    /// A program crashed.
    Crash,
    /// A check did not end.
    Timeout,
    /// A check failed, and its output is of no known form.
    Other,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Diagnostic => "diagnostic",
            Self::Missing => "missing",
            Self::Crash => "crash",
            Self::Timeout => "timeout",
            Self::Other => "other",
        }
    }
}

/// The fingerprint of one cause and one sample of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Signature {
    /// The first 16 hex digits of the SHA-256 of `normalised`.
    pub hash: String,
    pub kind: Kind,
    /// `test tests::adds`, `diagnostic lib.rs: E0308 mismatched types`: what is hashed.
    pub normalised: String,
    /// A line of the output as it was.
    pub raw: String,
    /// A short name: of the test, the error, the missing module.
    pub label: String,
}

impl Signature {
    pub(super) fn of(cause: &Cause) -> Self {
        let normalised = format!("{} {}", cause.kind.word(), cause.key);
        Self {
            hash: hash(&normalised),
            kind: cause.kind,
            normalised,
            raw: cause.raw.clone(),
            label: cause.label.clone(),
        }
    }
}

/// The signatures of a check that failed, from its output. Never empty: a check that failed in silence has the signature of its command.
pub(crate) fn from_output(command: Option<&str>, output: &str) -> Vec<Signature> {
    let causes = extract::read(output, true).causes;
    if causes.is_empty() {
        let command = command.unwrap_or("the check");
        return vec![Signature::of(&extract::silent(command))];
    }
    causes.iter().map(Signature::of).collect()
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .take(8)
        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}
