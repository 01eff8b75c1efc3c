//! Whole launches as sequences of shell calls: what is left unresolved, and when the breaker trips.

use super::breaker::{Breaker, TripKind};
use super::report::ToolReport;
use super::signature::{Signature, from_output};
use crate::agent::ToolUse;
use crate::config;

type Call<'a> = (&'a str, i64, &'a str);

fn launch(calls: &[Call<'_>]) -> ToolReport {
    let mut report = ToolReport::default();
    for (command, exit_code, text) in calls {
        report.observe(&ToolUse {
            tool: "shell".to_owned(),
            command: Some((*command).to_owned()),
            error: *exit_code != 0,
            exit_code: Some(*exit_code),
            text: (*text).to_owned(),
            ..ToolUse::default()
        });
    }
    report
}

fn breaker() -> Breaker {
    Breaker::new(&config::Breaker {
        across: 2,
        within: 3,
        when_green: config::WhenGreen::Trip,
    })
}

#[track_caller]
fn trips(expected: bool, calls: &[Call<'_>]) {
    let report = launch(calls);
    let trip = breaker().tool_launch(&report);
    let seen: Vec<_> = report
        .tallies()
        .map(|tally| {
            (
                tally.seen.signature.normalised.as_str(),
                tally.count,
                tally.resolved,
            )
        })
        .collect();
    assert_eq!(trip.is_some(), expected, "{trip:?}\n{seen:#?}");
}

const GO_RED: &str =
    "--- FAIL: TestCart (0.00s)\n    cart_test.go:9: got 0\nFAIL\nFAIL\tx/cart\t0.01s\nFAIL\n";
const GO_GREEN: &str = "ok  \tx/cart\t0.01s\n";
const JEST_RED: &str = "FAIL src/cart.test.js\n  ● cart › adds\n\n    Expected: 1\n\nTests:       1 failed, 2 passed, 3 total\n";
const JEST_GREEN: &str = "PASS src/cart.test.js\nTests:       3 passed, 3 total\n";

#[test]
fn a_pass_that_covers_it_resolves() {
    for (red, output, green, green_output) in [
        ("go test ./...", GO_RED, "go test -count=1 ./...", GO_GREEN),
        (
            "go test ./...",
            GO_RED,
            "go test ./cart -run TestCart",
            GO_GREEN,
        ),
        ("make test", GO_RED, "go test ./...", GO_GREEN),
        ("make check", GO_RED, "make -s test", ""),
        (
            "npx jest",
            JEST_RED,
            "npm test",
            "> x@1.0.0 test\n> jest\n\nTests:       3 passed, 3 total\n",
        ),
        ("npm test", JEST_RED, "yarn test --silent", ""),
        ("npm test", JEST_RED, "npx jest -t adds", JEST_GREEN),
        (
            "bundle exec rspec",
            "rspec ./spec/cart_spec.rb:5 # Cart adds\n2 examples, 1 failure\n",
            "rspec",
            "2 examples, 0 failures\n",
        ),
        (
            "mix test",
            "  1) test adds (CartTest)\n3 tests, 1 failure\n",
            "mix test",
            "3 tests, 0 failures\n",
        ),
        (
            "./gradlew test",
            "com.x.CartTest > adds() FAILED\n3 tests completed, 1 failed\n",
            "gradle test",
            "BUILD SUCCESSFUL in 1s\n",
        ),
        (
            "mvn -q test",
            "[ERROR] com.x.CartTest.adds -- Time elapsed: 0.004 s <<< FAILURE!\n",
            "mvn test",
            "[INFO] Tests run: 3, Failures: 0\n",
        ),
        (
            "dotnet test",
            "  Failed Cart.Adds [12 ms]\n",
            "dotnet test --nologo",
            "Passed!  - Failed:     0, Passed:     3\n",
        ),
        (
            "ctest --output-on-failure",
            "\t  2 - parse_long (Failed)\n",
            "ctest",
            "100% tests passed, 0 tests failed out of 3\n",
        ),
        (
            "terraform validate",
            "│ Error: Unsupported argument\n",
            "terraform validate",
            "Success! The configuration is valid.\n",
        ),
        (
            "docker build -t x .",
            "ERROR: failed to solve: process \"/bin/sh -c make\" did not complete successfully: exit code: 2\n",
            "docker build -t x .",
            "",
        ),
        (
            "ruff check src",
            "src/a.py:1:8: F401 `os` imported but unused\n",
            "ruff check",
            "All checks passed!\n",
        ),
        (
            "swift test",
            "Test Case 'CartTests.testAdds' failed (0.005 seconds)\n",
            "swift test",
            "\t Executed 3 tests, with 0 failures\n",
        ),
        (
            "phpunit",
            "1) CartTest::testAdds\nFailed asserting\n",
            "vendor/bin/phpunit --colors",
            "OK (3 tests, 3 assertions)\n",
        ),
        (
            "cargo nextest run",
            "        FAIL [   0.005s] core cart::adds\n",
            "cargo test",
            "test cart::adds ... ok\ntest result: ok. 1 passed; 0 failed\n",
        ),
        (
            "cargo test",
            "error[E0425]: cannot find value `x`\n --> src/lib.rs:3:5\n\nerror: could not compile `a` (lib) due to 1 previous error\n",
            "cargo check",
            "",
        ),
        (
            "cargo clippy",
            "error[E0425]: cannot find value `x`\n --> src/lib.rs:3:5\n",
            "cargo build",
            "",
        ),
        (
            "cargo check",
            "error[E0425]: cannot find value `x`\n --> src/lib.rs:3:5\n",
            "cargo clippy --all-targets",
            "",
        ),
        (
            "tsc -p .",
            "src/a.ts(3,5): error TS2304: Cannot find name 'x'.\n",
            "npm run build",
            "> x@1.0.0 build\n> tsc -p .\n\n",
        ),
    ] {
        trips(
            true,
            &[(red, 1, output), (red, 1, output), (red, 1, output)],
        );
        trips(
            false,
            &[
                (red, 1, output),
                (red, 1, output),
                (red, 1, output),
                (green, 0, green_output),
            ],
        );
    }
}

#[test]
fn a_pass_of_something_else_does_not() {
    for (red, output, green, green_output) in [
        (
            "go test ./...",
            GO_RED,
            "go test ./... -run TestView",
            GO_GREEN,
        ),
        ("go test ./...", GO_RED, "go build ./...", ""),
        ("go test ./...", GO_RED, "go vet ./...", ""),
        (
            "npx jest",
            JEST_RED,
            "npx jest src/view.test.js",
            "PASS src/view.test.js\nTests:       3 passed, 3 total\n",
        ),
        ("npm test", JEST_RED, "npm run lint", ""),
        ("npm test", JEST_RED, "npm test -- view", ""),
        ("npm test", JEST_RED, "npm test || true", JEST_RED),
        (
            "npm test",
            JEST_RED,
            "npm test 2>&1 | grep -c failed",
            "1\n",
        ),
        ("npm test", JEST_RED, "npm test; echo done", JEST_RED),
        ("npm test", JEST_RED, "cat log.txt", "✓ adds\nok adds\n"),
        (
            "cargo build",
            "error[E0425]: cannot find value `x`\n --> src/lib.rs:3:5\n",
            "bash tools/test.sh",
            "ok one\n",
        ),
        (
            "cargo test",
            "test cart::adds ... FAILED\ntest result: FAILED. 0 passed; 1 failed\n",
            "cargo test cart::drops",
            "running 1 test\ntest cart::drops ... ok\ntest result: ok. 1 passed; 0 failed; 2 filtered out\n",
        ),
        (
            "cargo test",
            "test cart::adds ... FAILED\ntest result: FAILED. 0 passed; 1 failed\n",
            "cargo test cart::ads",
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 3 filtered out\n",
        ),
        (
            "pytest",
            "FAILED tests/test_a.py::test_x - assert\n1 failed in 0.1s\n",
            "pytest --ignore tests/test_a.py",
            "2 passed in 0.1s\n",
        ),
        ("make test", "FAIL store: got 1\n", "make test-unit", ""),
        (
            "gradle test",
            "com.x.CartTest > adds() FAILED\n",
            "gradle :web:test",
            "",
        ),
        (
            "cargo clippy",
            "error: redundant clone\n  --> src/a.rs:3:9\n",
            "cargo build",
            "",
        ),
        (
            "./check.sh store",
            "FAIL store: got 1\n",
            "./check.sh view",
            "",
        ),
        (
            "make test",
            "FAIL store: got 1\n",
            "make",
            "cc -o app app.c\n",
        ),
        (
            "mypy .",
            "a.py:3: error: bad\n",
            "ruff check .",
            "All checks passed!\n",
        ),
    ] {
        trips(
            true,
            &[
                (red, 1, output),
                (green, 0, green_output),
                (red, 1, output),
                (green, 0, green_output),
                (red, 1, output),
                (green, 0, green_output),
            ],
        );
    }
}

#[test]
fn questions_never_trip() {
    for (command, exit_code, output) in [
        ("grep -rn legacy src", 1, ""),
        (
            "git diff --exit-code",
            1,
            "diff --git a/a b/a\n+error: fail\n",
        ),
        ("cd src && grep -q x a.c", 1, ""),
        ("make -s 2>/dev/null; grep -q x out.txt", 1, ""),
        ("cargo test 2>&1 | grep FAILED", 1, ""),
        (
            "curl -sf http://127.0.0.1:8080/health",
            7,
            "curl: (7) Failed to connect\n",
        ),
        (
            "timeout 2 bash -c '</dev/tcp/127.0.0.1/80'",
            1,
            "bash: connect: Connection refused\n",
        ),
        (
            "for i in 1 2 3; do nc -z localhost 80 && break; sleep 1; done; nc -z localhost 80",
            1,
            "",
        ),
        ("bash -lc 'test -d node_modules'", 1, ""),
        ("env LC_ALL=C git rev-parse --verify -q HEAD~99", 128, ""),
        (
            "python3 -c 'import yaml'",
            1,
            "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nModuleNotFoundError: No module named 'yaml'\n",
        ),
        (
            "node -e \"require('x')\"",
            1,
            "node:internal/modules/cjs/loader:1210\n  throw err;\nError: Cannot find module 'x'\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)\n    at [eval]:1:1\n",
        ),
        ("[[ -f a ]] && [[ -f b ]]", 1, ""),
        ("! grep -q TODO src/a.c", 1, ""),
        ("docker inspect web", 1, "Error: No such object: web\n"),
        ("npm ls left-pad", 1, "x@1.0.0\n└── (empty)\n"),
        (
            "ls missing.txt; cat missing.txt",
            1,
            "cat: missing.txt: No such file or directory\n",
        ),
        (
            "test \"$(git branch --show-current)\" = main || exit 1",
            1,
            "",
        ),
        (
            "pgrep -f server >/dev/null || { echo 'not running'; exit 1; }",
            1,
            "not running\n",
        ),
        ("git apply fix.patch", 1, "error: patch failed: a.c:3\n"),
        ("./bin/is-ready", 1, ""),
        (
            "pytest -k nothing",
            5,
            "collected 3 items / 3 deselected / 0 selected\n\n==== 3 deselected in 0.01s ====\n",
        ),
        (
            "npx jest -t nothing",
            1,
            "No tests found, exiting with code 1\n",
        ),
    ] {
        trips(false, &[(command, exit_code, output); 5]);
    }
}

#[test]
fn failures_of_many_kinds_trip() {
    for (command, exit_code, output) in [
        (
            "cd web && npm ci",
            1,
            "npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\n",
        ),
        (
            "set -o pipefail; cargo test 2>&1 | tee log",
            101,
            "test cart::adds ... FAILED\ntest result: FAILED. 0 passed; 1 failed\n",
        ),
        ("timeout 60 pytest", 124, "collected 3 items\n"),
        ("make test || exit 1", 1, "FAIL store: got 3\n"),
        ("if ! ./check.sh; then echo bad; exit 1; fi", 1, "bad\n"),
        (
            "protoc --go_out=. a.proto",
            127,
            "bash: line 1: protoc: command not found\n",
        ),
        ("./build/app", 139, ""),
        ("php artisan test", 1, "  ⨯ it adds an item\n"),
        ("cargo fmt --check", 1, "Diff in /ws/src/a.rs:12:\n"),
        ("make -s build", 2, ""),
    ] {
        trips(true, &[(command, exit_code, output); 3]);
        trips(false, &[(command, exit_code, output); 2]);
    }
}

#[test]
fn progress_is_no_repetition() {
    let red = |names: &[&str]| {
        let lines: Vec<String> = names
            .iter()
            .map(|name| format!("FAILED tests/test_a.py::{name} - assert"))
            .collect();
        format!("{}\n3 failed in 0.1s\n", lines.join("\n"))
    };
    let (three, two, one) = (
        red(&["test_a", "test_b", "test_c"]),
        red(&["test_b", "test_c"]),
        red(&["test_c"]),
    );
    trips(
        false,
        &[
            ("pytest", 1, &three),
            ("pytest", 1, &two),
            ("pytest", 0, "3 passed in 0.1s\n"),
        ],
    );
    // A run that ends and does not name it passed it; the one that is left is in all three.
    let report = launch(&[
        ("pytest", 1, &three),
        ("pytest", 1, &two),
        ("pytest", 1, &one),
    ]);
    let open: Vec<_> = report
        .tallies()
        .filter(|tally| !tally.resolved)
        .map(|tally| (tally.seen.signature.label.as_str(), tally.count))
        .collect();
    assert_eq!(open, [("test_a::test_c", 3)]);
    // Stopped at the first failure, it says nothing about the rest.
    let report = launch(&[("pytest -x", 1, &two), ("pytest -x", 1, &one)]);
    assert_eq!(report.tallies().filter(|tally| !tally.resolved).count(), 2);
    // Five wrong calls of one function, then three, then one.
    let wrong =
        |n: usize| "src/a.ts(3,5): error TS2554: Expected 1 arguments, but got 2.\n".repeat(n);
    trips(
        false,
        &[
            ("tsc", 2, &wrong(5)),
            ("tsc", 2, &wrong(3)),
            ("tsc", 2, &wrong(1)),
        ],
    );
    trips(
        true,
        &[
            ("tsc", 2, &wrong(3)),
            ("tsc", 2, &wrong(3)),
            ("tsc", 2, &wrong(3)),
        ],
    );
}

#[test]
fn across_launches() {
    let red = launch(&[("npm test", 1, JEST_RED)]);
    let mut history = breaker();
    assert_eq!(history.tool_launch(&red), None);
    assert_eq!(
        history.tool_launch(&launch(&[])),
        None,
        "a launch that saw nothing neither counts nor clears"
    );
    let trip = history.tool_launch(&red).unwrap();
    assert_eq!((trip.kind, trip.count), (TripKind::Across, 2));
    assert!(
        trip.reason.contains("adds") && trip.reason.contains("2 runs"),
        "{}",
        trip.reason
    );

    let mut history = breaker();
    history.tool_launch(&red);
    let broke_again = launch(&[("npx jest", 0, JEST_GREEN), ("npm test", 1, JEST_RED)]);
    assert_eq!(
        history.tool_launch(&broke_again),
        None,
        "passed in between: a first sight"
    );

    let mut history = breaker();
    history.tool_launch(&red);
    history.reset();
    assert_eq!(history.tool_launch(&red), None);
}

#[test]
fn an_open_history_survives_a_restart() {
    let mut history = breaker();
    history.tool_launch(&launch(&[(
        "cargo test",
        101,
        "test cart::adds ... FAILED\ntest result: FAILED. 0 passed; 1 failed\n",
    )]));
    let mut restored: Breaker =
        serde_json::from_str(&serde_json::to_string(&history).unwrap()).unwrap();
    assert_eq!(restored, history);
    let narrow = launch(&[(
        "cargo test cart::adds",
        101,
        "test cart::adds ... FAILED\ntest result: FAILED. 0 passed; 1 failed\n",
    )]);
    assert!(restored.tool_launch(&narrow).is_some());
}

fn red(names: &[&str]) -> Vec<Signature> {
    let lines: Vec<String> = names
        .iter()
        .map(|name| format!("test {name} ... FAILED"))
        .collect();
    from_output(Some("cargo test"), &lines.join("\n"))
}

#[test]
fn our_own_checks_trip_unless_the_failing_set_shrank() {
    let mut history = breaker();
    assert_eq!(history.check_judgement(&red(&["a", "b", "c"])), None);
    assert_eq!(
        history.check_judgement(&red(&["a", "b"])),
        None,
        "strictly fewer"
    );
    assert_eq!(history.check_judgement(&red(&["a"])), None, "fewer again");
    let trip = history.check_judgement(&red(&["a"])).unwrap();
    assert_eq!(
        (trip.kind, trip.count, trip.signature.label.as_str()),
        (TripKind::Check, 2, "a")
    );

    let mut history = breaker();
    history.check_judgement(&red(&["a"]));
    assert_eq!(history.check_judgement(&red(&["b"])), None, "another one");
    assert_eq!(history.check_judgement(&[]), None);
    assert_eq!(
        history.check_judgement(&red(&["b"])),
        None,
        "green in between"
    );
    assert!(
        history.check_judgement(&red(&["b", "c"])).is_some(),
        "one more is no progress"
    );
}

#[test]
fn a_broken_build_says_nothing_about_tests() {
    let mut history = breaker();
    history.check_judgement(&red(&["a"]));
    let build = from_output(
        Some("cargo test"),
        "error[E0425]: cannot find value `x`\n --> src/lib.rs:3:5\n\nerror: could not compile `a`\n",
    );
    assert_eq!(history.check_judgement(&build), None);
    assert!(history.check_judgement(&red(&["a"])).is_some());
}

#[test]
fn what_was_red_before_is_no_first_sight() {
    let mut history = breaker();
    history.check_baseline(&red(&["a", "b"]));
    assert_eq!(history.check_judgement(&red(&["a", "b"])), None);
    assert!(history.check_judgement(&red(&["a", "b"])).is_some());
    let mut history = breaker();
    history.check_baseline(&red(&["a", "b"]));
    assert_eq!(history.check_judgement(&red(&["a"])), None);
    assert!(history.check_judgement(&red(&["a"])).is_some());
}

/// homeboy#10521: redaction changed failure counts and names.
#[test]
fn report_homeboy_10521() {
    let key = "sk-live-abcdefghijklmnopqrstuvwxyz0123456789";
    let signature = &red(&["auth_token_is_kept"])[0];
    assert_eq!(signature.label, "auth_token_is_kept");
    let other = &from_output(None, &format!("Error: token {key} was refused\n"))[0];
    assert!(
        other.raw.contains(key),
        "signatures are made before redaction; what shows them redacts"
    );
}

/// ralph-claude-code#2: the word "error" in a successful result opened the breaker.
#[test]
fn report_ralph_claude_code_2() {
    let words =
        "error error: fatal panic FAILED\nnot ok 1 - x\nTraceback (most recent call last):\n"
            .repeat(50);
    trips(false, &[("cat build.log", 0, words.as_str()); 9]);
    trips(false, &[("./run.sh", 0, words.as_str()); 9]);
}

/// ralph-claude-code#128: the same success again and again is no failure.
/// Also report_ralph_orchestrator_234.
#[test]
fn report_ralph_claude_code_128() {
    trips(false, &[("npm test", 0, JEST_GREEN); 9]);
}
