//! Lines that only say that something above them failed: of wrappers, counters and shells. They are the same for every cause.

use std::sync::LazyLock;

use regex::RegexSet;

#[rustfmt::skip]
static NOISE: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new([
        // make, ninja, cmake
        r"^\w*make(?:\[\d+\])?: \*\*\* .*(?:Error \d+|Waiting for unfinished jobs\.*)$", r"^\w*make(?:\[\d+\])?: (?:Entering|Leaving) directory", r"^\w*make(?:\[\d+\])?: Target '.*' not remade", r"^ninja: build stopped", r"^FAILED: \S+\.o\b",
        r"^Errors while running CTest", r"^gmake",
        // cargo, rustc
        r"^error: could not compile", r"^error: (?:doc)?test failed, to rerun", r"^error: aborting due to", r"^error: \d+ (?:targets?|previous errors?)\b", r"^For more information about", r"^Some errors have detailed", r"^warning: build failed", r"^error: test run failed", r"^error: process didn't exit successfully",
        r"^note: (?:run with|Some details|this error)", r"^test result: ", r"^\s+Compiling |^\s+Finished |^\s+Running |^\s+Checking |^\s+Blocking |^\s+Doc-tests ", r"^Caused by:$",
        // gcc
        r"^collect2: error: ld returned", r"^compilation terminated\.", r"^\d+ (?:errors?|warnings?)(?: and \d+ \w+)? generated", r"linker command failed", r"^In file included from",
        // npm, yarn, pnpm
        r"^npm (?:ERR!|error) (?:code|errno|path|command|signal|syscall|A complete log|Lifecycle|Exit status|Failed at the|This is probably|    )", r"^npm (?:ERR!|error) *$", r"^npm (?:ERR!|error) (?:workspace|location|Test failed)", r"ELIFECYCLE", r"^error Command failed with exit code", r"^info Visit https", r"^> ", r"^\$ ", r"^error: script .* exited with code",
        // Gradle, Maven, .NET
        r"^FAILURE: Build (?:failed|completed) ", r"^\* (?:What went wrong|Try|Get more|Where|Exception is)", r"^BUILD (?:FAILED|SUCCESSFUL)", r"^> Task .* FAILED", r"^> (?:Run with|Get more|There were failing tests)", r"^\[ERROR\] (?:Failed to execute goal|-> \[Help|To see the full|Re-run Maven|For more information|\[Help|Failures:|Errors:|COMPILATION ERROR|$)", r"^\[INFO\]", r"^Build FAILED\.", r"^\s+\d+ (?:Warning|Error)\(s\)", r"^Time Elapsed",
        r"^\[ERROR\] *$", r"^\[ERROR\] (?:Tests run:|There are test failures)", r"^\s*Failed!\s+-",
        // a trace of the shell
        r"^\++ ",
        // counters
        r"^\s*(?:\d+ (?:run|failed|passed|failures?|errors?|failing|tests?|warnings?|skipped|problems?|ok)\b[\s,;/|.]*)+(?:in [\d.]+ ?m?s)?$", r"^Found \d+ errors?\b", r"^FAILED \((?:failures|errors|skipped)=", r"^✖ \d+ problems?", r"^Ran \d+ tests?", r"^Command exited with code", r"(?i)^(?:error: )?(?:process|command|script|job|task|build) (?:completed|exited|failed|finished) with (?:exit )?(?:code|status)",
        r"^exit status \d+$", r"^\[Process exited", r"^-+$|^=+$|^~+$|^_+$|^\^+$|^\s*[|│^~]+\s*$", r"^make: Nothing to be done",
        // Go
        r"^FAIL$", r"^FAIL\s+\S+\s+(?:[\d.]+s|\[(?:build|setup) failed\])", r"^ok\s+\S+\s", r"^# [\w./-]+$", r"^\?\s+\S+\s+\[no test files\]",
    ])
    .expect("patterns of ours compile")
});

pub(super) fn is(line: &str) -> bool {
    line.trim().is_empty() || NOISE.is_match(line)
}

/// Does a text only count or sum up ("3 of 10 tests failed", "Overall result")? It is then the same for every cause.
pub(super) fn sums_up(text: &str) -> bool {
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "a", "all", "and", "are", "been", "build", "builds", "case", "cases", "check", "checks", "code", "compilation", "count", "did", "error", "errors", "exit",
        "fail", "failed", "failing", "fails", "failure", "failures", "final", "following", "found", "has", "have", "in", "is", "job", "jobs", "least", "more", "n", "no",
        "not", "of", "one", "or", "out", "outcome", "overall", "pass", "passed", "passes", "passing", "pipeline", "problem", "problems", "result", "results", "run", "some",
        "spec", "specs", "status", "step", "success", "suite", "suites", "summary", "task", "tasks", "test", "testing", "tests", "the", "there", "total", "unit", "verdict",
        "was", "were", "with", "at",
    ];
    // `test_a` and `suite::all` are names, whatever words they are made of.
    let is_name = |word: &str| {
        let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
        inner.contains(['_', '/', '.']) || inner.contains("::")
    };
    if text.split_whitespace().any(is_name) {
        return false;
    }
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let number = |word: &String| word.bytes().all(|b| b.is_ascii_digit());
    // "case 3" is a name, "3 cases" is a count.
    let numbered = matches!(words.as_slice(), [.., noun, last] if number(last)
        && matches!(noun.as_str(), "case" | "test" | "check" | "step" | "job" | "task" | "spec"));
    !words.is_empty()
        && !numbered
        && words
            .iter()
            .all(|word| number(word) || WORDS.contains(&word.as_str()))
}
