//! Outputs of many runners, compilers and tools: which causes are read from them, and that noise does not change them.

use super::{RunEnd, read};
use crate::judge::signature::Signature;

/// The normalised causes of a failing output, in order of the alphabet.
fn causes(output: &str) -> Vec<String> {
    let mut found: Vec<String> = read(output, true)
        .causes
        .iter()
        .map(|cause| Signature::of(cause).normalised)
        .collect();
    found.sort();
    found
}

fn passed(output: &str) -> Vec<String> {
    read(output, true).passed.into_iter().collect()
}

#[track_caller]
fn reads(output: &str, expected: &[&str]) {
    assert_eq!(causes(output), expected, "\n{output}");
}

#[test]
fn go() {
    reads(
        "--- FAIL: TestParse (0.00s)\n    --- FAIL: TestParse/empty_input (0.00s)\n        parse_test.go:14: got 3, want 4\n    --- PASS: TestParse/one (0.00s)\nFAIL\nFAIL\tgithub.com/x/y/parse\t0.012s\nok  \tgithub.com/x/y/lex\t(cached)\nFAIL\n",
        &["test TestParse/empty_input"],
    );
    reads(
        "# github.com/x/y/parse\n./parse.go:12:9: undefined: tokenise\nFAIL\tgithub.com/x/y/parse [build failed]\n--- FAIL: TestLex (0.01s)\nFAIL\n",
        &["diagnostic parse.go: undefined: tokenise", "test TestLex"],
    );
    reads(
        "=== FAIL: parse TestParse/empty (0.00s)\n    parse_test.go:14: bad\n\nDONE 4 tests, 1 failure in 0.2s\n",
        &["test TestParse/empty"],
    );
    reads(
        "main.go:4:2: no required module provides package github.com/pkg/errors; to add it:\n\tgo get github.com/pkg/errors\n",
        &[
            "diagnostic main.go: no required module provides package github.com/pkg/errors; to add it:",
        ],
    );
    let panic = "panic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\nmain.pick(...)\n\t/ws/main.go:8\nexit status 2\n";
    reads(
        panic,
        &["crash panic: runtime error: index out of range [N] with length N"],
    );
}

#[test]
fn cargo_nextest() {
    let run = |time: &str| {
        format!(
            "    Starting 3 tests across 2 binaries\n        FAIL [   {time}s] (2/3) core parse::tests::empty\n  stdout ───\n\n    thread 'parse::tests::empty' (33) panicked at core/src/parse.rs:9:5:\n        PASS [   0.004s] (3/3) core parse::tests::one\n────────────\n     Summary [   0.010s] 3 tests run: 2 passed, 1 failed, 0 skipped\n        FAIL [   {time}s] (2/3) core parse::tests::empty\nerror: test run failed\n"
        )
    };
    reads(&run("0.005"), &["test parse::tests::empty"]);
    assert_eq!(causes(&run("0.005")), causes(&run("1.705")));
    assert_eq!(passed(&run("0.005")), ["parse::tests::one"]);
    // The same test, through cargo test.
    reads(
        "test parse::tests::empty ... FAILED\n\ntest result: FAILED. 2 passed; 1 failed; 0 ignored\n",
        &["test parse::tests::empty"],
    );
}

#[test]
fn clippy_and_rustc() {
    reads(
        "error: redundant clone\n  --> src/a.rs:3:9\n   |\n3  |     x.clone()\n   |      ^^^^^^^^ help: remove this\n   |\n   = note: `-D clippy::redundant-clone` implied by `-D warnings`\n\nerror: could not compile `foo` (lib) due to 1 previous error\n",
        &["diagnostic a.rs: redundant clone: help: remove this"],
    );
    reads(
        "error[E0277]: the trait bound `A: Copy` is not satisfied\n --> crates/a/src/lib.rs:7:5\n  |\n7 |     f(a);\n  |     - ^ the trait `Copy` is not implemented for `A`\n  |     |\n  |     required by a bound introduced by this call\n\nSome errors have detailed explanations: E0277.\nerror: could not compile `a` (lib) due to 1 previous error; 2 warnings emitted\n",
        &[
            "diagnostic lib.rs: E0277 the trait bound `A: Copy` is not satisfied: the trait `Copy` is not implemented for `A`",
        ],
    );
    // In full and in the short form, with the label behind its mark, below it, and without one.
    for (full, short) in [
        (
            "error[E0502]: cannot borrow `v` as mutable because it is also borrowed as immutable\n --> src/a.rs:2:45\n  |\n2 |     let a = &v[0]; v.push(2); show(a);\n  |              -     ^^^^^^^^^      - immutable borrow later used here\n  |              |     |\n  |              |     mutable borrow occurs here\n  |              immutable borrow occurs here\n\n",
            "src/a.rs:9:45: error[E0502]: cannot borrow `v` as mutable because it is also borrowed as immutable: mutable borrow occurs here\n",
        ),
        (
            "error[E0308]: mismatched types\n --> src/a.rs:3:24\n  |\n3 |     let t: String = a;\n  |            ------   ^ expected `String`, found `i64`\n  |            |\n  |            expected due to this\n\n",
            "src/a.rs:1:2: error[E0308]: mismatched types: expected `String`, found `i64`\n",
        ),
        (
            "error[E0369]: cannot add `S` to `S`\n --> src/a.rs:5:24\n  |\n5 |     a + b\n  |     - ^ - S\n  |     |\n  |     S\n  |\nnote: an implementation of `Add` might be missing\n --> src/a.rs:1:1\n  |\n1 | pub struct S;\n  | ^^^^^^^^^^^^ must implement `Add`\n\n",
            "src/a.rs:5:24: error[E0369]: cannot add `S` to `S`\n",
        ),
    ] {
        assert_eq!(causes(full), causes(short));
    }
    reads(
        "warning: unused variable: `x`\n --> src/lib.rs:2:9\n\nerror: linking with `cc` failed: exit status: 1\n  = note: /usr/bin/ld: /tmp/rustcAb12/a.o: in function `main':\n          undefined reference to `zlib_init'\n",
        &[
            "diagnostic linking with `cc` failed: exit status: 1",
            "diagnostic undefined reference to `zlib_init'",
        ],
    );
}

#[test]
fn pytest_in_its_forms() {
    let id = &["test test_m::test_add[1-2]"];
    reads(
        "FAILED tests/test_m.py::test_add[1-2] - assert 3 == 4\n1 failed, 2 passed in 0.03s\n",
        id,
    );
    reads(
        "[gw1] [ 50%] FAILED tests/test_m.py::test_add[1-2] \n[gw0] [100%] PASSED tests/test_m.py::test_ok \n",
        id,
    );
    reads(
        "tests/test_m.py::test_add[1-2] FAILED            [ 33%]\ntests/test_m.py::test_ok PASSED    [ 66%]\n",
        id,
    );
    reads(
        "=================== FAILURES ===================\n______________ test_add[1-2] ______________\n[gw0] linux -- Python 3.11.7 /opt/bin/python\n\n    def test_add(a, b):\n>       assert add(a, b) == 4\nE       assert 3 == 4\n\ntests/test_m.py:9: AssertionError\n1 failed in 0.1s\n",
        id,
    );
    reads(
        "FAILED tests/test_m.py::TestAdd::test_one - ValueError: no\n",
        &["test TestAdd::test_one"],
    );
    reads(
        "FAIL: test_one (tests.test_m.TestAdd.test_one)\n------\nTraceback (most recent call last):\n  File \"/ws/tests/test_m.py\", line 9, in test_one\nAssertionError: 1 != 2\n\nFAILED (failures=1)\n",
        &["test TestAdd::test_one"],
    );
    reads(
        "ERROR tests/test_m.py::test_db - RuntimeError: no database\n=== 1 error in 0.2s ===\n",
        &["test test_m::test_db"],
    );
    reads(
        "==== ERRORS ====\n____ ERROR collecting tests/test_m.py ____\ntests/test_m.py:1: in <module>\n    import store\nE   ModuleNotFoundError: No module named 'store'\n=== short test summary info ===\nERROR tests/test_m.py\n!!!! Interrupted: 1 error during collection !!!!\n",
        &["missing module store"],
    );
}

#[test]
fn jest_vitest_mocha_bun_deno_playwright() {
    let adds = &["test adds two"];
    reads(
        "FAIL src/add.test.js\n  math\n    ✕ adds two (3 ms)\n    ✓ is fine (1 ms)\n\n  ● math › adds two\n\n    expect(received).toBe(expected)\n\n    Expected: 4\n    Received: 3\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 passed, 2 total\n",
        adds,
    );
    reads(
        "  ● math › adds two\n\n    thrown: \"Exceeded timeout of 5000 ms for a test.\"\n\nTests:       1 failed, 1 total\n",
        adds,
    );
    reads(
        " ❯ src/add.test.ts (2 tests | 1 failed) 12ms\n   × adds two 8ms\n     → expected 3 to be 4\n   ✓ is fine 1ms\n\n FAIL  src/add.test.ts > math > adds two\nAssertionError: expected 3 to be 4\n ❯ src/add.test.ts:5:20\n\n Test Files  1 failed (1)\n      Tests  1 failed | 1 passed (2)\n",
        adds,
    );
    reads(
        "  math\n    1) adds two\n    ✔ is fine\n\n  1 passing (4ms)\n  1 failing\n\n  1) math\n       adds two:\n\n      AssertionError [ERR_ASSERTION]: 3 == 4\n      at Context.<anonymous> (test/add.js:5:10)\n",
        adds,
    );
    reads(
        "(fail) math > adds two [0.12ms]\n(pass) math > is fine\n\n 1 pass\n 1 fail\nRan 2 tests across 1 file. [8.00ms]\n",
        adds,
    );
    reads(
        "adds two ... FAILED (5ms)\nis fine ... ok (2ms)\n\nFAILED | 1 passed | 1 failed (12ms)\n",
        adds,
    );
    reads(
        "FAIL src/add.test.js\n  ● Test suite failed to run\n\n    Cannot find module './store' from 'src/add.test.js'\n\nTests:       0 total\n",
        &["missing module store"],
    );
    reads(
        " FAIL  src/a.test.ts [ src/a.test.ts ]\nError: Failed to resolve import \"./store\" from \"src/a.test.ts\". Does the file exist?\n",
        &["missing module store"],
    );
}

#[test]
fn ruby_php_elixir() {
    reads(
        "Failures:\n\n  1) Cart adds an item\n     Failure/Error: expect(cart.size).to eq(1)\n       expected: 1\n            got: 0\n     # ./spec/cart_spec.rb:7\n\nFinished in 0.01 seconds\n2 examples, 1 failure\n\nFailed examples:\n\nrspec ./spec/cart_spec.rb:5 # Cart adds an item\n",
        &["test Cart adds an item"],
    );
    reads(
        "  1) Failure:\nCartTest#test_adds [test/cart_test.rb:9]:\nExpected: 1\n  Actual: 0\n\n3 runs, 3 assertions, 1 failures, 0 errors, 0 skips\n",
        &["test CartTest#test_adds"],
    );
    reads(
        "There was 1 failure:\n\n1) App\\Tests\\CartTest::testAdds with data set #1 (2, 3)\nFailed asserting that 0 matches expected 1.\n\n/ws/tests/CartTest.php:12\n\nFAILURES!\nTests: 3, Assertions: 3, Failures: 1.\n",
        &["test App\\Tests\\CartTest::testAdds with data set #1 (2, 3)"],
    );
    reads(
        "  1) test adds an item (CartTest)\n     test/cart_test.exs:5\n     Assertion with == failed\n     left:  0\n     right: 1\n\nFinished in 0.03 seconds\n3 tests, 1 failure\n",
        &["test test adds an item (CartTest)"],
    );
    reads(
        "app.rb:3:in `load': undefined method `size' for nil (NoMethodError)\n\tfrom app.rb:9:in `<main>'\n",
        &["crash NoMethodError: undefined method `size' for nil in app.rb"],
    );
    reads(
        "<internal:/usr/lib/ruby/kernel_require.rb>:37:in `require': cannot load such file -- sinatra (LoadError)\n",
        &["missing module sinatra"],
    );
    reads(
        "PHP Fatal error:  Uncaught TypeError: add(): Argument #1 must be int in /ws/app.php:3\nStack trace:\n#0 {main}\n",
        &["crash TypeError: add(): Argument #N must be int in app.php"],
    );
    reads(
        "** (ArithmeticError) bad argument in arithmetic expression\n    app.exs:3: (file)\n",
        &["crash ArithmeticError: bad argument in arithmetic expression"],
    );
}

#[test]
fn jvm() {
    reads(
        "> Task :test FAILED\n\ncom.x.CartTest > adds() FAILED\n    org.opentest4j.AssertionFailedError at CartTest.java:9\n\n3 tests completed, 1 failed\n\nFAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task ':test'.\n> There were failing tests. See the report at: file:///ws/build/reports/tests/test/index.html\n\nBUILD FAILED in 4s\n",
        &["test adds()"],
    );
    let surefire = "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.051 s <<< FAILURE! -- in com.x.CartTest\n[ERROR] com.x.CartTest.adds -- Time elapsed: 0.004 s <<< FAILURE!\njava.lang.AssertionError: expected:<1> but was:<0>\n[ERROR] Failures: \n[ERROR]   CartTest.adds:9 expected:<1> but was:<0>\n[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n[ERROR] Failed to execute goal org.apache.maven.plugins:maven-surefire-plugin:3.2.5:test\n";
    reads(surefire, &["test CartTest.adds"]);
    reads(
        "[ERROR] adds(com.x.CartTest)  Time elapsed: 0.004 s  <<< FAILURE!\n",
        &["test CartTest.adds"],
    );
    reads(
        "[ERROR] COMPILATION ERROR : \n[ERROR] /ws/src/main/java/com/x/Cart.java:[12,9] cannot find symbol\n[INFO] 1 error\n[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.11.0:compile\n",
        &["diagnostic Cart.java: cannot find symbol"],
    );
    reads(
        "src/Cart.java:12: error: cannot find symbol\n        item.weigh();\n            ^\n  symbol:   method weigh()\n1 error\n",
        &["diagnostic Cart.java: cannot find symbol"],
    );
    reads(
        "e: file:///ws/src/main/kotlin/Cart.kt:5:13 Unresolved reference: weigh\n\nFAILURE: Build failed with an exception.\n",
        &["diagnostic Cart.kt: Unresolved reference: weigh"],
    );
    reads(
        "[info] - adds an item *** FAILED ***\n[info]   0 did not equal 1 (CartSpec.scala:9)\n[error] Failed tests:\n[error] \tcom.x.CartSpec\n",
        &["test adds an item"],
    );
    reads(
        "Exception in thread \"main\" java.lang.NullPointerException: Cannot invoke \"Row.size()\"\n\tat com.x.App.load(App.java:9)\n\tat com.x.App.main(App.java:4)\n",
        &["crash java.lang.NullPointerException: Cannot invoke \"Row.size()\""],
    );
}

#[test]
fn c_and_cpp() {
    reads(
        "1/3 Test #1: parse_empty ......................   Passed    0.01 sec\n2/3 Test #2: parse_long .......................***Failed    0.02 sec\n\n67% tests passed, 1 tests failed out of 3\n\nThe following tests FAILED:\n\t  2 - parse_long (Failed)\nErrors while running CTest\n",
        &["test parse_long"],
    );
    reads(
        "[ RUN      ] Parse.Empty\nparse_test.cc:9: Failure\nExpected equality of these values:\n  parse(\"\")\n    Which is: 3\n  4\n[  FAILED  ] Parse.Empty (0 ms)\n[       OK ] Parse.One (0 ms)\n[==========] 2 tests from 1 test suite ran. (0 ms total)\n[  PASSED  ] 1 test.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] Parse.Empty\n\n 1 FAILED TEST\n",
        &["test Parse.Empty"],
    );
    reads(
        "In file included from src/a.c:1:\nsrc/a.h:4:1: error: unknown type name 'u33'\n    4 | u33 x;\n      | ^~~\nmake: *** [Makefile:3: a.o] Error 1\n",
        &["diagnostic a.h: unknown type name 'u33'"],
    );
    reads(
        "ld.lld: error: undefined symbol: zlib_init\n>>> referenced by a.c\n>>>               a.o:(main)\nclang: error: linker command failed with exit code 1 (use -v to see invocation)\n",
        &["diagnostic undefined symbol: zlib_init"],
    );
    reads(
        "Undefined symbols for architecture arm64:\n  \"_zlib_init\", referenced from:\n      _main in a.o\nld: symbol(s) not found for architecture arm64\nclang: error: linker command failed with exit code 1\n",
        &["diagnostic _zlib_init"],
    );
    reads(
        "CMake Error at CMakeLists.txt:5 (find_package):\n  By not providing \"FindFoo.cmake\" in CMAKE_MODULE_PATH this project has\n\n-- Configuring incomplete, errors occurred!\n",
        &["diagnostic CMakeLists.txt: find_package"],
    );
    reads(
        "app: src/store.c:41: store_get: Assertion `row != NULL' failed.\nAborted (core dumped)\n",
        &["crash Assertion: row != NULL in store.c"],
    );
    reads(
        "terminate called after throwing an instance of 'std::out_of_range'\n  what():  vector::_M_range_check: __n (which is 7) >= this->size() (which is 3)\nAborted (core dumped)\n",
        &["crash std::out_of_range"],
    );
    let asan = |pid: u32, addr: &str| {
        format!(
            "=={pid}==ERROR: AddressSanitizer: heap-use-after-free on address {addr} at pc 0x55\n    #0 0x55 in row_get /ws/src/store.c:14\nSUMMARY: AddressSanitizer: heap-use-after-free /ws/src/store.c:14 in row_get\n=={pid}==ABORTING\n"
        )
    };
    reads(
        &asan(12, "0x602000000010"),
        &["crash AddressSanitizer: heap-use-after-free store.c in row_get"],
    );
    assert_eq!(
        causes(&asan(12, "0x602000000010")),
        causes(&asan(9931, "0x602000000ff0"))
    );
}

#[test]
fn dotnet_swift_zig_dart() {
    reads(
        "  Failed Cart.Tests.CartTests.Adds [12 ms]\n  Error Message:\n   Assert.Equal() Failure: Values differ\n  Stack Trace:\n     at Cart.Tests.CartTests.Adds() in /ws/CartTests.cs:line 9\n\nFailed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: 15 ms\n",
        &["test Cart.Tests.CartTests.Adds"],
    );
    reads(
        "[xUnit.net 00:00:00.55]     Cart.Tests.CartTests.Adds [FAIL]\n",
        &["test Cart.Tests.CartTests.Adds"],
    );
    reads(
        "/ws/Cart.cs(12,9): error CS0103: The name 'weigh' does not exist in the current context [/ws/Cart.csproj]\n\nBuild FAILED.\n    0 Warning(s)\n    1 Error(s)\n",
        &["diagnostic Cart.cs: CS0103 The name 'weigh' does not exist in the current context"],
    );
    reads(
        "/ws/Tests/CartTests.swift:9: error: -[CartTests.CartTests testAdds] : XCTAssertEqual failed: (\"0\") is not equal to (\"1\")\nTest Case '-[CartTests.CartTests testAdds]' failed (0.005 seconds).\n\t Executed 3 tests, with 1 failure (0 unexpected) in 0.012 seconds\n",
        &["test CartTests.CartTests testAdds"],
    );
    reads(
        "✘ Test \"adds an item\" recorded an issue at CartTests.swift:9:5: Expectation failed: (cart.size → 0) == 1\n✘ Test \"adds an item\" failed after 0.002 seconds with 1 issue.\n✔ Test \"is fine\" passed after 0.001 seconds.\n",
        &["test \"adds an item\""],
    );
    reads(
        "/ws/Sources/Cart.swift:12:9: error: cannot find 'weigh' in scope\n        weigh(item)\n        ^~~~~\n",
        &["diagnostic Cart.swift: cannot find 'weigh' in scope"],
    );
    reads(
        "src/main.zig:5:13: error: use of undeclared identifier 'weigh'\n    const x = weigh(1);\n",
        &["diagnostic main.zig: use of undeclared identifier 'weigh'"],
    );
    reads(
        "00:01 +0 -1: adds an item [E]\n  Expected: <1>\n    Actual: <0>\n  test/cart_test.dart 9:5  main.<fn>\n\n00:01 +2 -1: Some tests failed.\n",
        &["test adds an item"],
    );
}

#[test]
fn linters() {
    reads(
        "\n/ws/src/a.js\n   1:7   error    'x' is assigned a value but never used  no-unused-vars\n  12:3   warning  Unexpected console statement            no-console\n\n✖ 2 problems (1 error, 1 warning)\n",
        &["diagnostic a.js: no-unused-vars 'x' is assigned a value but never used"],
    );
    reads(
        "src/a.py:3: error: Incompatible return value type (got \"str\", expected \"int\")  [return-value]\nsrc/a.py:3: note: hint\nFound 1 error in 1 file (checked 2 source files)\n",
        &[
            "diagnostic a.py: Incompatible return value type (got \"str\", expected \"int\") [return-value]",
        ],
    );
    reads(
        "src/a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n[*] 1 fixable with the `--fix` option.\n",
        &["diagnostic a.py: F401 `os` imported but unused"],
    );
    reads(
        "F401 [*] `os` imported but unused\n --> src/a.py:1:8\n  |\n1 | import os\n  |        ^^\n  |\nhelp: Remove unused import: `os`\n\nFound 1 error.\n",
        &["diagnostic a.py: F401 `os` imported but unused"],
    );
    reads(
        "main.go:5:2: ineffectual assignment to x (ineffassign)\n\tx := 1\n\t^\n",
        &["diagnostic main.go: ineffectual assignment to x (ineffassign)"],
    );
    reads(
        "would reformat /ws/src/a.py\n\nOh no! 💥 💔 💥\n1 file would be reformatted, 3 files would be left unchanged.\n",
        &["diagnostic a.py: would reformat"],
    );
    reads(
        "Checking formatting...\n[warn] src/a.ts\n[warn] Code style issues found in the above file. Run Prettier with --write to fix.\n",
        &["diagnostic a.ts: not formatted"],
    );
    reads(
        "Diff in /ws/src/a.rs:12:\n-fn a(){}\n+fn a() {}\n",
        &["diagnostic a.rs: Diff in"],
    );
    reads(
        "a.sh:3:5: error: Double quote to prevent globbing. [SC2086]\n",
        &["diagnostic a.sh: Double quote to prevent globbing. [SC2086]"],
    );
    reads(
        "  /ws/src/a.py:3:5 - error: \"y\" is not defined (reportUndefinedVariable)\n1 error, 0 warnings\n",
        &["diagnostic a.py: \"y\" is not defined (reportUndefinedVariable)"],
    );
}

#[test]
fn infrastructure() {
    let plan = |color: &str| {
        format!(
            "{color}╷\n│ Error: Unsupported argument\n│ \n│   on main.tf line 4, in resource \"aws_s3_bucket\" \"b\":\n│    4:   bukket = \"x\"\n│ \n│ An argument named \"bukket\" is not expected here.\n╵\n"
        )
    };
    assert_eq!(causes(&plan("")), causes(&plan("\u{1b}[31m")));
    assert_eq!(causes(&plan("")).len(), 1);
    assert_ne!(
        causes(&plan("")),
        causes(&plan("").replace("bukket", "keyy"))
    );
    let docker = |t: &str| {
        format!(
            "#8 [4/5] RUN npm ci\n#8 {t} npm error code EUSAGE\n#8 {t} npm error `npm ci` can only install with an existing package-lock.json\n#8 ERROR: process \"/bin/sh -c npm ci\" did not complete successfully: exit code: 1\n------\nDockerfile:4\nERROR: failed to solve: process \"/bin/sh -c npm ci\" did not complete successfully: exit code: 1\n"
        )
    };
    assert_eq!(causes(&docker("1.203")), causes(&docker("0.998")));
    assert_ne!(
        causes(&docker("1")),
        causes(&docker("1").replace("npm ci", "npm run build"))
    );
    reads(
        "✘ [ERROR] Could not resolve \"./store\"\n\n    src/a.ts:1:18:\n      1 │ import {s} from \"./store\"\n        ╵                 ~~~~~~~~~\n\n1 error\n",
        &["diagnostic Could not resolve \"./store\""],
    );
    reads(
        "ERROR in ./src/a.js 1:0-24\nModule not found: Error: Can't resolve './store' in '/ws/src'\n\nwebpack 5.90.0 compiled with 1 error in 312 ms\n",
        &["missing module store"],
    );
    reads(
        "Error from server (NotFound): deployments.apps \"web\" not found\n",
        &["other Error from server (NotFound): deployments.apps \"web\" not found"],
    );
}

#[test]
fn home_made_scripts() {
    reads(
        "checking parse ... ok\nchecking store ... FAILED\n1 of 2 checks failed\n",
        &["test checking store"],
    );
    reads(
        "[PASS] parse\n[FAIL] store: got 3, want 4\n",
        &["test store"],
    );
    reads("parse: OK\nstore: FAIL\n", &["test store"]);
    reads("✅ parse\n❌ store (12ms)\n", &["test store"]);
    reads(
        "ok 1 - parse\nnot ok 2 - store # time=12ms\n# 1 failed\n1..2\n",
        &["test store"],
    );
    reads(
        " ✓ parse\n ✗ store keeps a row\n   (in test file store.bats, line 7)\n     `[ \"$status\" -eq 0 ]' failed\n\n2 tests, 1 failure\n",
        &["test store keeps a row"],
    );
    reads(
        "FAIL Cart: adds an item: got 1, want 2\nFAIL Cart: drops it: expected none\n",
        &["test Cart: adds an item", "test Cart: drops it"],
    );
    reads(
        "FAIL store: got 1\nRESULT: FAILED\nOverall: FAIL\n❌ 1 of 3 tests failed\nFAILED: 1 of 3 tests failed\n",
        &["test store"],
    );
    assert_ne!(
        causes("wrong: parse\nSome tests failed!\n"),
        causes("wrong: view\nSome tests failed!\n")
    );
    reads(
        "FAIL: expected 3 rows, got 7\n",
        &["test expected N rows, got N"],
    );
    assert_eq!(
        passed("ok store\nPASS parse (2ms)\nFAIL view\n"),
        ["parse", "store"]
    );
    assert_eq!(
        passed("ok 1 - store # SKIP not here\nok 2 - view\nnot ok 3 - parse\n"),
        ["view"]
    );
}

#[test]
fn names_are_freed_of_noise_and_kept_apart() {
    for (one, two) in [
        (
            "not ok 1 - upload to /tmp/up-Ab12xy on port 34567",
            "not ok 3 - upload to /tmp/up-Zz98qq on port 45678",
        ),
        (
            "FAIL session 96e885c6-2efa-4891-9b77-44f847984082 (3ms)",
            "FAIL session c40888b4-756a-4e28-93b3-5d863562218b (17ms)",
        ),
        ("✖ record at 0x55aa (2.1ms)", "✖ record at 0x7f01 (0.4ms)"),
        (
            "FAILED tests/test_a.py::test_x[2026-11-30] - assert 1",
            "FAILED tests/test_a.py::test_x[2026-12-01] - assert 2",
        ),
    ] {
        assert_eq!(causes(one), causes(two));
    }
    for (one, two) in [
        ("FAIL case 1", "FAIL case 2"),
        ("✖ adds 2 numbers", "✖ adds 3 numbers"),
        ("--- FAIL: TestA/x_1 (0.00s)", "--- FAIL: TestA/x_2 (0.00s)"),
    ] {
        assert_ne!(causes(one), causes(two));
    }
}

#[test]
fn counters_and_wrappers_are_no_causes() {
    for noise in [
        "make: *** [Makefile:10: test] Error 1",
        "npm error Lifecycle script `test` failed with error:",
        "FAILED (failures=1)",
        "3 run, 1 failed",
        "error: test failed, to rerun pass `--lib`",
        " ELIFECYCLE  Test failed. See above for more details.",
        "FAIL\tgithub.com/x/y\t0.012s",
        "exit status 1",
        "✖ 2 problems (1 error, 1 warning)",
    ] {
        reads(&format!("FAIL store: got 1\n{noise}\n"), &["test store"]);
    }
}

#[test]
fn a_run_without_tests_is_told() {
    for output in [
        "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out\n",
        "collected 0 items\n\n==== no tests ran in 0.01s ====\n",
        "Ran 0 tests in 0.000s\n\nOK\n",
        "# tests 3\n# pass 0\n# fail 0\n# skipped 3\n",
        "testing: warning: no tests to run\nPASS\nok  \tx/y\t0.002s [no tests to run]\n",
        "No tests found, exiting with code 0\n",
    ] {
        assert_eq!(read(output, false).run, RunEnd::None, "{output}");
    }
    for output in [
        "running 0 tests\n\nrunning 2 tests\ntest a ... ok\ntest result: ok. 2 passed; 0 failed\n",
        "2 passed, 1 deselected in 0.01s\n",
        "ok  \tx/y\t0.002s [no tests to run]\nok  \tx/z\t0.002s\n",
    ] {
        assert_ne!(read(output, false).run, RunEnd::None, "{output}");
    }
}
