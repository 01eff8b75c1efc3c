//! The five built-in profiles: how each thinks, and how much of the history it sees. What a run may touch is the project's to say.

use std::collections::BTreeMap;

use super::Profile;

/// The profile of a call that names none.
pub(super) const DEFAULT: &str = "default";

const KIB: usize = 1024;

/// The built-in profiles by name.
pub(super) fn built_in() -> BTreeMap<String, Profile> {
    // A strategist needs the shape of the work more than its lines; for an auditor and a reviewer the lines are the subject, and a
    // debugger compares what worked with what does not.
    [
        (
            "strategist",
            8 * KIB,
            include_str!("guardrails/strategist.md"),
        ),
        ("auditor", 32 * KIB, include_str!("guardrails/auditor.md")),
        ("reviewer", 32 * KIB, include_str!("guardrails/reviewer.md")),
        ("debugger", 24 * KIB, include_str!("guardrails/debugger.md")),
        (DEFAULT, 16 * KIB, include_str!("guardrails/default.md")),
    ]
    .into_iter()
    .map(|(name, diff_chars, guardrails)| (name.to_owned(), profile(diff_chars, guardrails)))
    .collect()
}

/// What a profile that `arkaint.toml` adds starts as.
pub(super) fn fallback() -> Profile {
    profile(16 * KIB, include_str!("guardrails/default.md"))
}

fn profile(diff_chars: usize, guardrails: &str) -> Profile {
    Profile {
        diff_chars,
        preload_chars: 16 * KIB,
        guardrails: guardrails.to_owned(),
        ..Profile::default()
    }
}
