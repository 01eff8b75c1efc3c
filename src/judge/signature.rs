//! What makes a failure the same failure: its kind and its normalised cause, hashed. It comes from the structure of a failing check's
//! output, never from words in prose, and before anything is redacted: redaction must not change what is counted.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::extract::{self, Cause};
use crate::text;

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

impl Signature {
    /// What this failure has in common with others of its kind: the module or file of a test, the code or the file of a diagnostic, else its
    /// kind alone. Not hashed, and no part of what makes a failure the same.
    pub(crate) fn family(&self) -> String {
        let kind = self.kind.word();
        let within = match self.kind {
            Kind::Test => above(&self.label),
            Kind::Diagnostic => {
                code(&self.normalised).or_else(|| Some(self.label.split_once(": ")?.0))
            }
            _ => None,
        };
        within.map_or_else(|| kind.to_owned(), |within| format!("{kind} {within}"))
    }
}

/// `cache::tests` of `cache::tests::evicts`: the name without its last part.
fn above(name: &str) -> Option<&str> {
    let cut = [" > ", "::", "/", ".", "#"]
        .into_iter()
        .find_map(|mark| name.rfind(mark))?;
    Some(name[..cut].trim()).filter(|above| !above.is_empty())
}

/// `E0308`, `TS2304`, `F401`: capitals and then at least three digits.
fn code(text: &str) -> Option<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .find(|word| {
            let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
            let digits = &word[letters..];
            (1..=4).contains(&letters)
                && digits.len() >= 3
                && digits.bytes().all(|b| b.is_ascii_digit())
        })
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
    text::hex(&Sha256::digest(text)[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(kind: Kind, label: &str) -> String {
        let key = label.to_owned();
        let normalised = format!("{} {key}", kind.word());
        let (hash, raw) = (hash(&normalised), key.clone());
        let signature = Signature {
            hash,
            kind,
            normalised,
            raw,
            label: key,
        };
        signature.family()
    }

    #[test]
    fn families_are_modules_codes_and_files() {
        for (kind, label, family_of) in [
            (Kind::Test, "cache::tests::evicts", "test cache::tests"),
            (
                Kind::Test,
                "tests/test_cache.py::test_evicts",
                "test tests/test_cache.py",
            ),
            (Kind::Test, "cache > evicts > old", "test cache > evicts"),
            (Kind::Test, "TestEvicts", "test"),
            (
                Kind::Diagnostic,
                "lib.rs: E0308 mismatched types",
                "diagnostic E0308",
            ),
            (Kind::Diagnostic, "a.go: undefined: x", "diagnostic a.go"),
            (Kind::Missing, "numpy", "missing"),
        ] {
            assert_eq!(family(kind, label), family_of);
        }
    }
}
