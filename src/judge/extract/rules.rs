//! How test runners mark a test on one line: a table, most particular first, with the marks that home-made runners use at its end.

use std::sync::LazyLock;

use regex::{Captures, Regex, RegexSet};

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    Fail,
    /// Skipped, expected to fail, repeated elsewhere: says nothing.
    Neither,
}

/// How the name on the line is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// As it stands.
    Name,
    /// `path::Class::name` of Python.
    NodeId,
    /// The name, and the module and class in group `in`.
    Dotted,
    /// The last part of `suite > name`, `suite › name`.
    Last,
    /// `com.pkg.Class.name`: the last two parts.
    LastTwo,
    /// Indented children come before their parent, which fails because of them.
    Nested,
    /// A mark and free text of a home-made runner.
    Free,
    /// A whole file.
    File,
}

pub(super) struct Rule {
    pub runner: &'static str,
    pub shape: Shape,
    fixed: Option<Verdict>,
    regex: Regex,
}

use Shape::{Dotted, File, Free, Last, LastTwo, Name, Nested, NodeId};
use Verdict::{Fail, Neither, Pass};

#[rustfmt::skip]
const TABLE: &[(&str, Shape, Option<Verdict>, &str)] = &[
    // Rust: libtest, its quiet form, nextest.
    ("libtest", Name, None, r"^test (?P<name>.+?) \.\.\. (?P<v>ok|FAILED|ignored|bench:)"),
    ("libtest", Name, Some(Fail), r"^(?P<name>\S+) --- FAILED$"),
    ("libtest", Name, Some(Fail), r"^---- (?P<name>.+) (?:stdout|stderr) ----$"),
    ("libtest", Name, None, r"^\s+(?:TRY \d+ )?(?P<v>PASS|LEAK|FLAKY|FAIL|SIG[A-Z]+|ABORT|TIMEOUT)\s+\[\s*>?\s*[\d.]+s\]\s+(?:\(\s*\d+/\d+\)\s+)?\S+\s+(?P<name>\S.*)$"),
    // Python: pytest (also under xdist), unittest.
    ("pytest", NodeId, None, r"^\[gw\d+\]\s+(?:\[\s*\d+%\]\s+)?(?P<v>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\s+(?P<name>\S+?\.py::.+)$"),
    ("pytest", NodeId, None, r"^(?P<v>FAILED|ERROR) (?P<name>\S+?\.py::.+?)(?: - .*)?$"),
    ("pytest", NodeId, None, r"^(?P<name>\S+?\.py::.+?) (?P<v>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b.*$"),
    ("pytest", File, None, r"^(?P<v>ERROR|FAILED) (?P<name>\S+\.py)(?: - .*)?$"),
    ("unittest", Dotted, None, r"^(?P<v>FAIL|ERROR): (?P<name>\w+) \((?P<in>[\w.<>]+)\)(?P<sub> [(\[].*)?$"),
    ("unittest", Dotted, None, r"^(?P<name>\w+) \((?P<in>[\w.<>]+)\)(?:\s.*)? \.\.\. (?P<v>ok|FAIL|ERROR|skipped|expected failure|unexpected success)"),
    // TAP: node --test, bats, prove.
    ("tap", Nested, None, r"^(?P<indent>\s*)(?P<v>not ok|ok) \d+(?:\s+-)?\s+(?P<name>\S.*)$"),
    ("tap", Name, Some(Fail), r"^#\s+Failed test '(?P<name>.+)'$"),
    // Go, gotestsum.
    ("go", Name, None, r"^\s*--- (?P<v>FAIL|PASS|SKIP): (?P<name>\S+) \([\d.]+s\)"),
    ("go", Name, None, r"^=== (?P<v>FAIL): (?:\S+ )?(?P<name>Test\S+)"),
    ("go", Name, Some(Neither), r"^(?:FAIL|ok|---|===|\?)\s+\S+(?P<name>/\S+|\s+[\d.]+s|\s+\(cached\)|\s+\[.*\])(?:\s.*)?$"),
    // C and C++: GoogleTest, CTest, Catch2.
    ("gtest", Name, None, r"^\[\s+(?P<v>FAILED|OK)\s+\] (?P<name>[\w/]+\.[\w/]+)\b"),
    ("ctest", Name, None, r"^\s*\d+/\d+ Test\s+#\d+: (?P<name>\S+) \.*\s*(?:\*\*\*)?\s*(?P<v>Passed|Failed|Exception|Timeout|Not Run|Skipped)"),
    ("ctest", Name, Some(Fail), r"^\s+\d+ - (?P<name>\S+) \((?:Failed|Timeout|SEGFAULT|Not Run|Child aborted|ILLEGAL|BAD_COMMAND|OTHER_FAULT|Subprocess aborted|SIG\w+)\)"),
    // JVM: Gradle, Surefire, sbt.
    ("gradle", Last, None, r"^(?P<name>[\w.$]+ > .+?) (?P<v>FAILED|PASSED|SKIPPED)(?:\s+\(.*\))?$"),
    ("surefire", Name, Some(Neither), r"^\[\w+\]\s+(?P<name>Tests run:)"),
    ("surefire", LastTwo, None, r"^\[(?:ERROR|INFO)\]\s+(?P<name>[\w$]+)\((?P<in>[\w.$]+)\)\s+.*<<< (?P<v>FAILURE|ERROR)!"),
    ("surefire", LastTwo, None, r"^\[(?:ERROR|INFO)\]\s+(?P<name>[\w.$]+\.\w+)(?:\[.*?\])?(?:\(.*?\))? .*<<< (?P<v>FAILURE|ERROR)!"),
    ("surefire", LastTwo, Some(Fail), r"^\[ERROR\]\s+(?P<name>[A-Z][\w$]*\.\w+)(?:->\S+)?:\d+\b"),
    ("sbt", Name, Some(Fail), r"^\[(?:info|error)\]\s+- (?P<name>.+) \*\*\* FAILED \*\*\*"),
    // Ruby, PHP, Elixir, .NET, Swift, Deno, Bun, Dart, R.
    ("rspec", Name, Some(Fail), r"^rspec \S+?(?::\d+|\[[\d:,]+\]) # (?P<name>.+)$"),
    ("minitest", Name, Some(Fail), r"^(?P<name>[A-Z]\w*(?:::\w+)*#test_\S+?)(?: \[.*\])?:$"),
    ("phpunit", Name, Some(Fail), r"^\d+\) (?P<name>[\w\\]+::\w.*)$"),
    ("exunit", Name, Some(Fail), r"^\s+\d+\) (?P<name>(?:test|property|doctest) .+ \([\w.]+\))$"),
    ("dotnet", Name, None, r"^\s*(?P<v>Failed|Passed|Skipped) (?P<name>[\w.+]+(?:\(.*\))?) \[[<\d].*\]$"),
    ("dotnet", Name, None, r"^\[xUnit\.net [\d:.]+\]\s+(?P<name>\S.*?) \[(?P<v>FAIL|PASS|SKIP)\]$"),
    ("swift", Name, None, r"^(?:.*: error: )?Test Case '(?:-\[)?(?P<name>[^'\]]+)\]?' (?P<v>passed|failed)\b"),
    ("swift", Name, None, r"^\S{1,4} Test (?P<name>.+?) (?P<v>passed after|failed after|recorded an issue)\b"),
    ("bun", Last, None, r"^\((?P<v>pass|fail|skip)\) (?P<name>.+)$"),
    ("dart", Name, Some(Fail), r"^\d\d:\d\d \+\d+(?: ~\d+)?(?: -\d+)?: (?P<name>.+) \[E\]$"),
    ("testthat", Name, Some(Fail), r"^── (?:Failure|Error)(?: \(.*?\))?: (?P<name>.+?) ─*$"),
    // JavaScript: Jest, Vitest, and the ticks of many.
    ("jest", Name, Some(Neither), r"^\s*● (?P<name>Test suite failed to run|Console|Deprecation|Validation|Cannot log after|Multiple configurations)"),
    ("jest", Last, Some(Fail), r"^\s*● (?P<name>\S.*)$"),
    ("vitest", Last, None, r"^\s*(?P<v>FAIL|×|✗|✓|✔|↓)\s+(?:\|\S+\| )?(?P<name>\S+\.[cm]?[jt]sx? > .+)$"),
    ("jest", File, None, r"^\s*(?P<v>FAIL|PASS|✓|✔|❯|×)\s+(?:\|\S+\| |\S+ )?(?P<name>\S+\.[cm]?[jt]sx?)(?:\s+[(\[].*)?(?:\s+[\d.]+ ?m?s)?$"),
    ("ticks", Name, Some(Neither), r"^\s*(?:✖|✗|✘|✕|×|❌) (?P<name>failing tests:|\[ERROR\]|\d+ (?:of \d+ )?(?:tests?|problems?|errors?|failed)\b.*)"),
    ("ticks", Nested, None, r"^(?P<indent>\s*)(?P<v>✖|✗|✘|✕|×|❌|⨯|✔|✓|√|✅)\s+(?P<name>\S.*)$"),
    // A word before or behind the name, as home-made runners print it.
    ("", Name, Some(Neither), r"^\W*(?:FAIL(?:ED|URES?|ures?)?|OK|PASS(?:ED)?|ok)\W*\s*(?P<name>\(?(?:failures|errors|skipped)=|\(?\d+ (?:tests?|run|failed|passed|failures?)\b|\d+/\d+|in \d|with \d|tests?:?$)"),
    ("", Free, None, r"^\s*(?:\[\s*)?(?P<v>FAIL|FAILED|FAILURE|not ok|NOT OK|KO|PASS|PASSED|ok|OK)(?:\s*\])?(?P<sep>:|\s+[-|]|\s)\s*(?P<name>\S.*)$"),
    ("", Name, None, r"^\s*(?P<name>\S.*?)\s*(?:\.{2,}|…|[-=]+>?|:|\s\s)\s*(?:\[\s*)?(?P<v>FAILED|FAIL|NOT OK|not ok|✗|✖|✘|ok|OK|PASS|PASSED|✓|✔)(?:\s*\])?(?:\s*\(.*\)|\s+[\d.]+ ?m?s)?$"),
];

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    TABLE
        .iter()
        .map(|(runner, shape, fixed, pattern)| Rule {
            runner,
            shape: *shape,
            fixed: *fixed,
            regex: super::regex(pattern),
        })
        .collect()
});

/// All patterns at once: most lines of an output match none.
static ANY: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(TABLE.iter().map(|(.., pattern)| pattern)).expect("patterns of ours compile")
});

/// The first rule that knows this line.
pub(super) fn find(line: &str) -> Option<(&'static Rule, Captures<'_>)> {
    let first = ANY.matches(line).into_iter().next()?;
    let rule = &RULES[first];
    rule.regex.captures(line).map(|found| (rule, found))
}

impl Rule {
    pub(super) fn verdict(&self, found: &Captures<'_>) -> Verdict {
        if let Some(fixed) = self.fixed {
            return fixed;
        }
        match found.name("v").map_or("", |mark| mark.as_str()) {
            "ok" | "OK" | "PASS" | "PASSED" | "Passed" | "passed" | "passed after" | "pass"
            | "LEAK" | "FLAKY" | "✔" | "✓" | "√" | "✅" => Pass,
            "ignored" | "bench:" | "SKIP" | "SKIPPED" | "Skipped" | "skipped" | "skip"
            | "XFAIL" | "XPASS" | "expected failure" | "↓" | "❯" => Neither,
            _ => Fail,
        }
    }
}
