//! Did a test run at all? A suite that found nothing to run exits 0 in most languages, so the known runners' own messages are read, each
//! in the exact shape of its line. It judges no test, and what no known runner said is no evidence.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// What a line of this shape means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Says {
    /// The numbers in it, summed, are tests that ran.
    Count,
    /// Nothing ran.
    Nothing,
    /// Something ran.
    Something,
    /// cargo starts a test program, which owes a [`Says::Count`] line if it has the standard harness.
    Starts,
}
use Says::{Count, Nothing, Something, Starts};

struct Rule {
    runner: &'static str,
    says: Says,
    /// The exit code, besides 0, that this runner keeps for "no tests" or names in this very line.
    code: i32,
    shape: &'static str,
}

const fn rule(runner: &'static str, says: Says, shape: &'static str) -> Rule {
    Rule {
        runner,
        says,
        code: 0,
        shape,
    }
}

impl Rule {
    const fn or_exit(mut self, code: i32) -> Self {
        self.code = code;
        self
    }
}

const LIBTEST: usize = 0;

#[rustfmt::skip] // A table: a shape a line.
const RULES: &[Rule] = &[
    rule("cargo test", Count, r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; \d+ ignored; (\d+) measured; \d+ filtered out"),
    rule("cargo test", Starts, r"^ +(?:Running \S.* \(\S+\)|Doc-tests \S+)$"),
    rule("cargo nextest", Count, r"^ +Summary \[ *[\d.]+s\] (\d+)(?:/\d+)? tests? run:").or_exit(4),
    rule("cargo nextest", Nothing, r"^(?:error|warning): no tests to run$").or_exit(4),
    rule("pytest", Nothing, r"^(?:=+ )?no tests ran in [\d.]+ ?s(?:econds)?(?: \([\d:]+\))?(?: =+)?$").or_exit(5),
    rule("pytest", Nothing, r"^(?:=+ )?\d+ deselected(?:, \d+ warnings?)? in [\d.]+ ?s(?:econds)?(?: \([\d:]+\))?(?: =+)?$").or_exit(5),
    rule("pytest", Nothing, r"^collected 0 items(?: / .*)?$").or_exit(5),
    rule("pytest", Count, r"^collected (\d+) items?$").or_exit(5),
    rule("pytest", Count, r"^collected \d+ items? / .*?(\d+) selected$").or_exit(5),
    rule("pytest", Count, r"^\d+ workers \[(\d+) items?\]").or_exit(5),
    rule(
        "pytest",
        Something,
        r"^(?:=+ )?(?:\d+ [a-z]+, )*[1-9]\d* (?:passed|failed|errors?|xfailed|xpassed)(?:, \d+ [a-z]+)* in [\d.]+ ?s(?:econds)?\b",
    ),
    rule("unittest", Count, r"^Ran (\d+) tests? in [\d.]+s$").or_exit(5),
    rule("unittest", Nothing, r"^NO TESTS RAN(?: \(.*\))?$").or_exit(5),
    rule("django", Count, r"^Found (\d+) test\(s\)\.$"),
    rule("go test", Nothing, r"^\?   \t\S+\t\[no test files\]$"),
    rule("go test", Nothing, r"^ok  \t\S+\t.*\[no tests to run\]$"),
    rule("go test", Nothing, r"^testing: warning: no tests to run$"),
    rule("go test", Nothing, r"^\t\S+\t\tcoverage: 0\.0% of statements$"),
    rule("go test", Nothing, r"^go: warning: .+ matched no packages$"),
    rule("go test", Nothing, r#"^\{.*"Action":"output".*"Output":"(?:ok  |\?   )\\t.*\[no test(?:s to run| files)\]\\n"\}$"#),
    rule("go test", Something, r"^ok  \t\S+\t(?:\(cached\)|[\d.]+s)(?:\tcoverage: [^\[]*(?:\[no statements\])?)?$"),
    rule("go test", Something, r"^(?:FAIL\t\S+\t|--- (?:PASS|FAIL): )"),
    rule("go test", Something, r#"^\{.*"Action":"(?:pass|fail)".*"Test":""#),
    rule("gotestsum", Count, r"^DONE (\d+) tests?\b.* in [\d.]+s$"),
    rule("node --test", Count, r"^(?:#|(?u:ℹ)) tests +(\d+)$"),
    rule("jest", Nothing, r"^No tests found, exiting with code [01]$").or_exit(1),
    rule("jest", Nothing, r"^No tests found related to files changed since .+$"),
    rule("jest", Count, r"^Tests: +(?:.*, )?(\d+) total$"),
    rule("vitest", Nothing, r"^No test files found, exiting with code [01]$").or_exit(1),
    rule("vitest", Nothing, r"^ +Tests +no tests$"),
    rule("vitest", Count, r"^ +Tests +(?:.* )?\((\d+)\)$"),
    rule("mocha", Count, r"^ +(\d+) passing \(\d+\w+\)$"),
    rule("mocha", Count, r"^ +(\d+) failing$"),
    rule("mocha", Nothing, r#"^(?:Error: )?No test files found(?:: ".*")?$"#).or_exit(1),
    rule("playwright", Nothing, r"^Error: No tests found\b").or_exit(1),
    rule("playwright", Count, r"^ +(\d+) (?:passed|failed|flaky)(?: \([\d.]+(?:ms|s|m|h)\))?$"),
    rule("bun test", Count, r"^Ran (\d+) tests? across \d+ files?\."),
    rule("ava", Count, r"^ +(\d+) tests? (?:passed|failed)$"),
    rule("ava", Nothing, r"^ *(?u:[✖✘]) Couldn't find any files to test").or_exit(1),
    rule("jasmine", Count, r"^(\d+) specs?, \d+ failures?(?:, .*)?$"),
    rule("jasmine", Nothing, r"^No specs found$").or_exit(2),
    rule("karma", Count, r"^\S.*: Executed (\d+) of \d+ "),
    rule("deno test", Count, r"^(?:ok|FAILED) \| (\d+) passed(?: \(\d+ steps?\))? \| (\d+) failed\b"),
    rule("deno test", Nothing, r"^error: No test modules found$").or_exit(1),
    rule("maven", Count, r"^ *(?:\[\w+\] )?Tests run: (\d+), +Failures: \d+, +Errors: \d+"),
    rule("maven", Nothing, r"^(?:\[INFO\] )?(?:No tests to run|There are no tests to run|Tests are skipped)\.$"),
    rule("junit", Count, r"^OK \((\d+) tests?\)$"),
    rule("junit", Count, r"^\[ *(\d+) tests found +\]$"),
    rule("gradle", Nothing, r"^> Task :(?:\S+:)?(?:test|[\w-]+Test) NO-SOURCE$"),
    rule("gradle", Something, r"^> Task :(?:\S+:)?(?:test|[\w-]+Test)(?: (?:FAILED|UP-TO-DATE|FROM-CACHE))?$"),
    rule("sbt", Count, r"^\[\w+\] (?:Passed|Failed|Error): Total (\d+),"),
    rule("sbt", Nothing, r"^\[info\] No tests (?:were executed\.?|to run for .+)$"),
    rule("ctest", Nothing, r"^No tests were found!!!$").or_exit(8),
    rule("ctest", Count, r"^\d+% tests passed, \d+ tests? failed out of (\d+)$"),
    rule("meson", Nothing, r"^No tests defined\.$"),
    rule("meson", Count, r"^(?:Ok|Fail): +(\d+) *$"),
    rule("googletest", Count, r"^\[==========\] (\d+) tests? from \d+ test (?:suites?|cases?) ran\."),
    rule("catch2", Nothing, r"^No tests ran$"),
    rule("catch2", Count, r"^All tests passed \(\d+ assertions? in (\d+) test cases?\)$"),
    rule("rspec", Count, r"^(\d+) examples?, \d+ failures?(?:, .*)?$"),
    rule("rspec", Nothing, r"^No examples found\.$"),
    rule("minitest", Count, r"^(\d+) (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors\b"),
    rule("phpunit", Nothing, r"^No tests executed!$").or_exit(1),
    rule("phpunit", Count, r"^OK \((\d+) tests?, \d+ assertions?\)$"),
    rule("phpunit", Count, r"^Tests: (\d+), Assertions: \d+"),
    rule("pest", Count, r"^ +Tests: +(?:.*, )?(\d+) (?:passed|failed)\b.* \(\d+ assertions?\)$"),
    rule("dotnet test", Nothing, r"^No test is available in .+$"),
    rule("dotnet test", Nothing, r"^No test matches the given testcase filter .+$"),
    rule("dotnet test", Nothing, r"^(?:Test run summary: )?Zero tests ran\b").or_exit(8),
    rule("dotnet test", Count, r"^(?:Passed|Failed|Skipped)! +- Failed: *\d+, Passed: *\d+, Skipped: *\d+, Total: *(\d+),"),
    rule("dotnet test", Count, r"^(?:Total tests| +total): (\d+)$"),
    rule("mix test", Count, r"^(?:(\d+) doctests?, )?(?:(\d+) propert(?:y|ies), )?(\d+) tests?, \d+ failures?(?:, .*)?$"),
    rule("mix test", Nothing, r"^There are no tests to run$"),
    rule("prove", Count, r"^Files=\d+, Tests=(\d+),"),
    rule("prove", Nothing, r"^Result: NOTESTS$"),
    rule("TAP", Count, r"^1\.\.(\d+)(?: *#.*)?$"),
    rule("TAP", Something, r"^(?:not )?ok \d+\b"),
    rule("swift test", Count, r"^[\t ]*Executed (\d+) tests?, with (?:\d+ tests? skipped and )?\d+ failures? "),
    rule("swift test", Count, r"^(?:\S+ )?Test run with (\d+) tests?\b.* (?:passed|failed) after "),
    rule("dart test", Nothing, r"^No tests ran\.$").or_exit(79),
    rule("dart test", Count, r"^\d\d:\d\d \+(\d+)\b.*: (?:All tests passed!|Some tests failed\.)$"),
    rule("busted", Count, r"^(\d+) success(?:es)? / (\d+) failures? / (\d+) errors? / \d+ pending"),
    rule("testthat", Count, r"^\[ FAIL (\d+) \| WARN \d+ \| SKIP \d+ \| PASS (\d+) \]"),
    rule("cabal test", Count, r"^\d+ of \d+ test suites \(\d+ of (\d+) test cases\) passed\.$"),
    rule("tasty", Count, r"^All (\d+) tests? passed(?:\.| \(.*\))$"),
    rule("bazel test", Nothing, r"^ERROR: No test targets were found, yet testing was requested$").or_exit(4),
    rule("bazel test", Count, r"^Executed \d+ out of (\d+) tests?: "),
];

/// One pass over a line for all shapes together, then the numbers of those that fit.
struct Shapes {
    any: RegexSet,
    each: Vec<Regex>,
    color: Regex,
}

static SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    let ascii = |shape: &str| {
        RegexBuilder::new(shape)
            .unicode(false)
            .build()
            .expect("a shape of ours")
    };
    let shapes = RULES.iter().map(|rule| rule.shape);
    Shapes {
        any: RegexSetBuilder::new(shapes.clone())
            .unicode(false)
            .build()
            .expect("shapes of ours"),
        each: shapes.map(ascii).collect(),
        color: ascii(r"\x1b\[[0-9;:?]*[A-Za-z]"),
    }
});

/// What the runners said so far.
#[derive(Default)]
pub(super) struct Tally {
    ran: bool,
    nothing: Vec<&'static Rule>,
    programs: usize,
    results: usize,
}

impl Tally {
    /// Longer lines are no runner's summary.
    pub(super) const LONGEST: usize = 512;

    /// Reads one line of output without its newline.
    pub(super) fn line(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = without_color(line);
        for at in SHAPES.any.matches(&line) {
            let rule = &RULES[at];
            let ran = match rule.says {
                Something => true,
                Nothing => false,
                Count => SHAPES.each[at].captures(&line).is_some_and(|found| {
                    let numbers = found.iter().skip(1).flatten();
                    numbers
                        .into_iter()
                        .any(|number| number.as_bytes().iter().any(|digit| *digit != b'0'))
                }),
                Starts => {
                    self.programs += 1;
                    continue;
                }
            };
            self.results += usize::from(at == LIBTEST);
            self.ran |= ran;
            if !ran && !self.nothing.iter().any(|seen| std::ptr::eq(*seen, rule)) {
                self.nothing.push(rule);
            }
        }
    }

    /// The runner that says that no test ran, when none says that one did and `code` is not a failure of another kind.
    pub(super) fn nothing_ran(&self, code: i32) -> Option<&'static str> {
        if self.ran {
            return None;
        }
        let said = self
            .nothing
            .iter()
            .find(|rule| code == 0 || rule.code == code)?;
        // A test program with a harness of its own says nothing that we know.
        let silent = self.programs > self.results;
        (said.runner != RULES[LIBTEST].runner || !silent).then_some(said.runner)
    }
}

/// `line` as it would read on a terminal without colours.
pub(crate) fn without_color(line: &[u8]) -> Cow<'_, [u8]> {
    if line.contains(&0x1b) {
        SHAPES.color.replace_all(line, &b""[..])
    } else {
        Cow::Borrowed(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(code: i32, output: &str) -> Option<&'static str> {
        let mut tally = Tally::default();
        output
            .split('\n')
            .for_each(|line| tally.line(line.as_bytes()));
        tally.nothing_ran(code)
    }

    const CARGO_EMPTY: &str = "
     Running unittests src/lib.rs (target/debug/deps/a-0123456789abcdef)

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests a

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn cargo_is_summed_over_all_programs() {
        assert_eq!(judge(0, CARGO_EMPTY), Some("cargo test"));
        let one = "     Running tests/it.rs (target/debug/deps/it-0)\n\nrunning 1 test\ntest a ... ok\n\n\
            test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s\n";
        assert_eq!(judge(0, &format!("{CARGO_EMPTY}{one}")), None);
        let all_ignored = "running 2 tests\n\ntest result: ok. 0 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(judge(0, all_ignored), Some("cargo test"));
    }

    #[test]
    fn a_harness_of_ones_own_beside_an_empty_library_counts_as_unknown() {
        let own = "     Running tests/ui.rs (target/debug/deps/ui-0)\n17 snapshots compared\n";
        assert_eq!(judge(0, &format!("{CARGO_EMPTY}{own}")), None);
    }

    #[test]
    #[rustfmt::skip] // A table: a case a line.
    fn each_runner_is_believed_when_it_says_that_nothing_ran() {
        for (runner, code, output) in [
            ("cargo nextest", 4, "    Starting 0 tests across 1 binary\n     Summary [   0.000s] 0 tests run: 0 passed, 2 skipped\nerror: no tests to run"),
            ("cargo nextest", 0, "     Summary [   0.000s] 0 tests run: 0 passed, 0 skipped"),
            ("pytest", 5, "collected 0 items\n\n============================ no tests ran in 0.00s ============================="),
            ("pytest", 5, "\nno tests ran in 0.01s"),
            ("pytest", 0, "\u{1b}[33m\u{1b}[33mno tests ran\u{1b}[0m\u{1b}[33m in 0.01s\u{1b}[0m\u{1b}[0m"),
            ("pytest", 5, "collected 4 items / 4 deselected / 0 selected\n\n====== 4 deselected in 0.12s ======"),
            ("pytest", 5, "collected 0 items / 1 skipped\n\n====== 1 skipped in 0.12s ======"),
            ("unittest", 0, "\n----------------------------------------------------------------------\nRan 0 tests in 0.000s\n\nOK"),
            ("unittest", 5, "Ran 0 tests in 0.000s\n\nNO TESTS RAN"),
            ("django", 0, "Found 0 test(s).\nSystem check identified no issues (0 silenced).\n\nRan 0 tests in 0.000s\n"),
            ("go test", 0, "?   \texample.org/a\t[no test files]\n?   \texample.org/a/b\t[no test files]"),
            ("go test", 0, "testing: warning: no tests to run\nPASS\nok  \texample.org/a\t0.002s [no tests to run]"),
            ("go test", 0, "ok  \texample.org/a\t(cached)\tcoverage: 0.0% of statements [no tests to run]"),
            ("go test", 0, r#"{"Time":"2026-01-01T00:00:00Z","Action":"output","Package":"a","Output":"?   \ta\t[no test files]\n"}"#),
            ("node --test", 0, "TAP version 13\n# tests 0\n# suites 0\n# pass 0"),
            ("node --test", 0, "ℹ tests 0\nℹ suites 0\nℹ pass 0"),
            ("jest", 1, "No tests found, exiting with code 1\nRun with `--passWithNoTests` to exit with code 0"),
            ("jest", 0, "No tests found, exiting with code 0"),
            ("vitest", 1, "\nNo test files found, exiting with code 1\n\ninclude: **/*.test.ts"),
            ("vitest", 0, "\u{1b}[31mNo test files found, exiting with code 0\n\u{1b}[39m"),
            ("pytest", 5, "created: 2/2 workers\n2 workers [0 items]\n"),
            ("mocha", 0, "\n\n  0 passing (1ms)\n"),
            ("playwright", 1, "Error: No tests found"),
            ("deno test", 1, "error: No test modules found"),
            ("deno test", 0, "ok | 0 passed | 0 failed (2ms)"),
            ("maven", 0, "[INFO] No tests to run."),
            ("maven", 0, "[INFO] Tests run: 0, Failures: 0, Errors: 0, Skipped: 0"),
            ("gradle", 0, "> Task :compileTestJava NO-SOURCE\n> Task :test NO-SOURCE\n> Task :lib:test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s"),
            ("ctest", 0, "Test project /b\nNo tests were found!!!"),
            ("rspec", 0, "No examples found.\n\nFinished in 0.0003 seconds\n0 examples, 0 failures"),
            ("minitest", 0, "0 runs, 0 assertions, 0 failures, 0 errors, 0 skips"),
            ("phpunit", 1, "PHPUnit 12.0.0\n\nNo tests executed!"),
            ("dotnet test", 0, "No test is available in /w/a.dll. Make sure that test discoverer & executors are registered"),
            ("mix test", 0, "There are no tests to run"),
            ("mix test", 0, "Finished in 0.01 seconds\n0 doctests, 0 tests, 0 failures"),
            ("prove", 0, "Files=0, Tests=0,  0 wallclock secs ( 0.00 usr +  0.00 sys =  0.00 CPU)\nResult: NOTESTS"),
            ("TAP", 0, "1..0 # SKIP no compiler"),
            ("swift test", 0, "\t Executed 0 tests, with 0 failures (0 unexpected) in 0.000 (0.001) seconds"),
            ("googletest", 0, "[==========] 0 tests from 0 test suites ran. (0 ms total)"),
            ("pytest", 5, "collected 0 items\r\n\r\n=== no tests ran in 0.00s ===\r"),
        ] {
            assert_eq!(judge(code, output), Some(runner), "{output}");
            assert_eq!(judge(101, output), None, "a failure of another kind: {output}");
        }
    }

    #[test]
    fn each_runner_is_believed_when_it_says_that_something_ran() {
        let empty = "Ran 0 tests in 0.000s\n";
        for output in [
            "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "     Summary [   0.004s] 3 tests run: 3 passed, 0 skipped",
            "collected 10 items",
            "collected 5 items / 2 deselected / 3 selected",
            "=================== 1 failed, 9 passed, 2 warnings in 1.02s ====================",
            "3 passed in 0.01s",
            "4 workers [12 items]",
            "Ran 10 tests in 0.100s",
            "ok  \texample.org/a\t0.002s",
            "ok  \texample.org/a\t(cached)\tcoverage: 81.0% of statements",
            r#"{"Time":"2026-01-01T00:00:00Z","Action":"pass","Package":"a","Test":"TestA","Elapsed":0}"#,
            "# tests 20",
            "ℹ tests 1",
            "Tests:       1 failed, 2 skipped, 10 passed, 13 total",
            "      Tests  10 passed | 1 skipped (11)",
            "  20 passing (31ms)",
            "  1 failing",
            "  10 passed (2.1s)",
            "ok | 10 passed (3 steps) | 0 failed (12ms)",
            "[INFO] Tests run: 10, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.05 s -- in a.BTest",
            "> Task :app:testDebugUnitTest",
            "> Task :test UP-TO-DATE",
            "100% tests passed, 0 tests failed out of 10",
            "10 examples, 0 failures, 1 pending",
            "10 runs, 21 assertions, 0 failures, 0 errors, 0 skips",
            "OK (10 tests, 30 assertions)",
            "Passed!  - Failed:     0, Passed:    10, Skipped:     0, Total:    10, Duration: 12 ms - a.dll (net9.0)",
            "1 doctest, 0 tests, 0 failures",
            "Files=2, Tests=10,  0 wallclock secs ( 0.00 usr +  0.00 sys =  0.00 CPU)",
            "ok 1 - adds",
            "[==========] 10 tests from 2 test suites ran. (3 ms total)",
        ] {
            assert_eq!(judge(0, &format!("{empty}{output}")), None, "{output}");
            assert_eq!(judge(0, &format!("{output}\n{empty}")), None, "{output}");
        }
        assert_eq!(judge(0, empty), Some("unittest"));
    }

    #[test]
    fn such_words_inside_names_and_logs_are_no_evidence() {
        for output in [
            "test reports_running_0_tests ... ok",
            "PASS src/no-tests-found.test.js",
            "assert 'no tests ran in 0.01s' in out",
            "> expected: No tests found, exiting with code 1",
            "  ✓ prints \"0 passing (1ms)\" for an empty suite",
            "log: Ran 0 tests in 0.000s",
            "INFO collected 0 items from the queue",
            "collected 0 items from the queue",
            "# tests 0 to 5 are slow",
            "range 1..0",
            "1..0x10",
            "Result: NOTESTS found",
            "> Task :compileTestJava NO-SOURCE",
            "> Task :testClasses UP-TO-DATE",
            "No tests were found!!! (message of a mock)",
            "0 examples, 0 failures and counting",
            "all good",
        ] {
            assert_eq!(judge(0, output), None, "{output}");
        }
    }
}
