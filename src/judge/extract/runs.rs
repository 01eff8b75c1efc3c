//! What an output says about a test run as a whole: by which runner, whether it came to its end, whether any test ran.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};

#[derive(Debug, Default)]
pub(super) struct Summary {
    pub runners: BTreeSet<&'static str>,
    pub count: Count,
    /// A summary line was printed.
    pub ended: bool,
    /// It says that it stopped at the first failure.
    pub stops_early: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Count {
    #[default]
    Unknown,
    /// No test ran.
    Zero,
    /// Tests passed, and none failed.
    Green,
}

/// Summary lines, each with its runner.
#[rustfmt::skip]
const SUMMARIES: &[(&str, &str)] = &[
    ("libtest", r"^test result: (?:ok|FAILED)\. "),
    ("libtest", r"^\s+Summary \[\s*[\d.]+s\] \d+ tests? run:"),
    ("pytest", r"^(?:=+ )?(?:\d+ \w+, )*\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|warnings?)\b.* in [\d.]+s"),
    ("pytest", r"^=+ no tests ran in "),
    ("unittest", r"^Ran \d+ tests? in [\d.]+s"),
    ("node --test", r"^(?:#|ℹ) tests \d+$"),
    ("jest", r"^Tests:\s+.*\d+ total$"),
    ("vitest", r"^\s*Tests\s+\d+ (?:passed|failed)"),
    ("mocha", r"^\s+\d+ (?:passing|failing)\b"),
    ("go", r"^(?:ok|FAIL)\s+\S+\s+(?:[\d.]+s|\(cached\))"),
    ("ctest", r"^\d+% tests passed, \d+ tests? failed out of \d+"),
    ("gtest", r"^\[==========\] \d+ tests? from \d+ test (?:suites?|cases?) ran"),
    ("surefire", r"^\[\w+\] Tests run: \d+, Failures: "),
    ("gradle", r"^\d+ tests? completed, \d+ failed"),
    ("rspec", r"^\d+ examples?, \d+ failures?"),
    ("minitest", r"^\d+ (?:runs|tests), \d+ assertions, \d+ failures"),
    ("phpunit", r"^(?:OK \(\d+ tests?|Tests: \d+, Assertions: )"),
    ("exunit", r"^\d+ (?:tests?|doctests?, \d+ tests?|propert\w+, \d+ tests?), \d+ failures?"),
    ("dotnet", r"^\s*(?:Passed!|Failed!)\s+- Failed:\s+\d+"),
    ("swift", r"^\s+Executed \d+ tests?, with \d+ (?:test skipped and )?\d* ?failures?"),
    ("bun", r"^Ran \d+ tests? across \d+ files?"),
    ("", r"^\s*(?:\d+ (?:run|passed|failed|tests?|ok)\b[\s,;/|]*)+(?:in [\d.]+ ?m?s)?$"),
    ("", r"^1\.\.\d+$"),
];

#[rustfmt::skip]
static NONE: LazyLock<RegexSet> = LazyLock::new(|| set(&[
    r"^running 0 tests$", r"(?i)\bno tests? (?:ran|found|were (?:found|executed|run)|to run|files? found)", r"\[no tests to run\]", r"^collected 0 items\b", r"^Ran 0 tests\b",
    r"^(?:#|ℹ) pass 0$", r"^Tests:\s+(?:\d+ skipped, )?0 total", r"^0 examples\b", r"^1\.\.0\b", r"(?i)^testing: warning: no tests to run", r"^0 (?:runs|tests|passing)\b",
    r"(?i)^0 passed", r"^(?:\?|ok)\s+\S+\s+\[no test files\]", r"^\s+Executed 0 tests\b", r"^=+ \d+ (?:deselected|skipped)(?:, \d+ \w+)* in ",
]));

#[rustfmt::skip]
static SOME: LazyLock<RegexSet> = LazyLock::new(|| set(&[
    r"\b[1-9]\d* (?:passed|passing|pass|failed|failing|failures?|errors?)\b", r"^running [1-9]\d* tests?$", r"^Ran [1-9]", r"^(?:#|ℹ) (?:pass|fail) [1-9]", r"^Tests:\s+.*\b[1-9]\d* total",
    r"^OK \([1-9]", r"^[1-9]\d* (?:examples?|runs|tests?)\b", r"^ok\s+\S+\s+(?:[\d.]+s|\(cached\))(?:\s+coverage.*)?$", r"^\s+Executed [1-9]", r"Passed:\s+[1-9]",
]));

#[rustfmt::skip]
static RED: LazyLock<RegexSet> = LazyLock::new(|| set(&[
    r"(?i)\b[1-9]\d* (?:failed|failing|failures?|errors?|fail|broken|crashed|timed out)\b", r"(?i)\b(?:failed|failures?|errors?|fail):? *[1-9]", r"^test result: FAILED", r"^FAIL(?:ED)?\b", r"^not ok ", r"^error(?:\[|:)",
]));

static STOPS: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        r"(?i)stopping after \d+ failures?",
        r"(?i)\bbail(?:ing)? ?out\b",
        r"^Bail out!",
        r"^!+ (?:Interrupted|stopping)",
        r"^\s*Cancell?ing due to test failure",
        r"\[build failed\]",
        r"^make(?:\[\d+\])?: \*\*\* .* Interrupt",
    ])
});

static ANY: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&SUMMARIES
        .iter()
        .map(|(_, pattern)| *pattern)
        .collect::<Vec<_>>())
});

pub(super) fn read(lines: &[&str]) -> Summary {
    static FILTERED: LazyLock<Regex> = LazyLock::new(|| super::regex(r"; [1-9]\d* filtered out"));
    let mut summary = Summary::default();
    let (mut none, mut some, mut red, mut narrowed) = (false, false, false, false);
    for line in lines {
        for found in ANY.matches(line) {
            summary.ended = true;
            if !SUMMARIES[found].0.is_empty() {
                summary.runners.insert(SUMMARIES[found].0);
            }
        }
        none |= NONE.is_match(line);
        some |= SOME.is_match(line);
        red |= RED.is_match(line);
        narrowed |= FILTERED.is_match(line);
        summary.stops_early |= STOPS.is_match(line);
    }
    // cargo runs one target after the other and ends at a red one: the last lines, even of a target without tests, speak for all.
    let cargo = summary.runners.contains("libtest") && !narrowed;
    if !red && (cargo || some && !summary.runners.is_empty()) {
        summary.count = Count::Green;
    } else if none && !some {
        summary.count = Count::Zero;
    }
    summary
}

fn set(patterns: &[&str]) -> RegexSet {
    RegexSet::new(patterns).expect("patterns of ours compile")
}
