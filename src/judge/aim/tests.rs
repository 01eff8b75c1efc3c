//! Spellings of checks, and what they are narrowed to.

use super::*;
use crate::judge::shell::Script;

fn aim(line: &str) -> Aim {
    Aim::of(&Script::parse(line).deciding().pop().unwrap()).unwrap_or_else(|| panic!("{line} asks"))
}

#[test]
fn spellings_of_one_check_have_one_aim() {
    for group in [
        &[
            "cargo test",
            "cargo t",
            "cargo test --quiet",
            "cargo +nightly test -- --test-threads=1",
            "RUST_BACKTRACE=1 cargo test -j 2 2>&1",
            "cargo nextest run",
        ][..],
        &[
            "cargo build",
            "cargo check",
            "cargo b --release",
            "cargo +nightly check --color always",
        ],
        &[
            "pytest",
            "pytest -q",
            "python3 -m pytest --tb=short",
            "poetry run pytest -vv --color yes",
            "py.test -n 4 .",
        ],
        &[
            "npm test",
            "npm t",
            "npm run test",
            "npm test --silent",
            "yarn test",
            "pnpm run test",
        ],
        &[
            "make test",
            "make check",
            "make -s test",
            "make -j4 clean test",
            "gmake -C . check CFLAGS=-O2",
        ],
        &["make", "make all", "make -B", "make CFLAGS='-Wall -g'"],
        &[
            "python3 app.py",
            "python ./app.py --verbose",
            "python3 -m app",
            "python3 -X dev app.py",
        ],
        &[
            "node app.js",
            "node ./app.js",
            "node --trace-warnings app.js",
            "bun run app.ts",
        ],
        &[
            "bash test.sh",
            "./test.sh",
            "sh -x ./test.sh",
            "/ws/test.sh",
            "timeout 60 bash test.sh",
        ],
        &[
            "tsc",
            "tsc -p .",
            "npx tsc -p tsconfig.json --noEmit",
            "tsc --pretty true",
        ],
        &["go test ./...", "go test -v -count=1 -race ./..."],
        &["./gradlew test", "gradle clean test --info"],
        &["mvn test", "./mvnw -q test"],
    ] {
        let first = aim(group[0]);
        for line in group {
            let found = aim(line);
            let ws = |aim: &Aim| aim.tool.replace("./ws/", "./");
            assert_eq!(
                (ws(&found), found.purpose, &found.selection),
                (ws(&first), first.purpose, &first.selection),
                "{line}"
            );
        }
    }
}

#[test]
fn narrowing_is_seen() {
    for (line, expected) in [
        ("cargo test -q tests::x -- --exact", "tests::x"),
        ("cargo test -p core", "core"),
        ("pytest tests/test_a.py::test_x", "tests/test_a.py::test_x"),
        ("pytest -k test_x", "test_x"),
        ("node --test --test-name-pattern=adds", "adds"),
        ("npm test -- --test-name-pattern=adds", "adds"),
        ("npm test -- adds", "adds"),
        ("npx jest -t 'adds numbers'", "adds numbers"),
        ("go test ./pkg -run TestX", "TestX,pkg"),
        ("./test.sh adds", "adds"),
        ("python3 -m unittest -v tests.test_a", "tests.test_a"),
        ("gradle test --tests com.x.FooTest", "com.x.FooTest"),
        ("make test TESTS=foo", "foo"),
        ("dotnet test --filter Name=x", "Name=x"),
    ] {
        let found = aim(line);
        assert_eq!(
            found.selection.into_iter().collect::<Vec<_>>().join(","),
            expected,
            "{line}"
        );
        assert_eq!(found.purpose, Purpose::Test, "{line}");
    }
}

#[test]
fn a_selection_finds_the_names_it_names() {
    let names = BTreeSet::from(["tests/test_a.py::test_x".to_owned()]);
    assert!(aim("pytest tests/test_a.py").selects(&names));
    assert!(aim("pytest -k 'test_y or test_x'").selects(&names));
    assert!(!aim("pytest tests/test_b.py").selects(&names));
}
