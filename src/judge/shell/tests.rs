//! Which command of a line decides, which passed for certain, and that no line is a reason to fail.

use super::*;

fn names(found: &[Argv]) -> String {
    found
        .iter()
        .map(|argv| argv.join(" "))
        .collect::<Vec<_>>()
        .join(" | ")
}

#[track_caller]
fn decides(line: &str, expected: &str) {
    assert_eq!(names(&Script::parse(line).deciding()), expected, "{line}");
}

#[test]
fn the_status_of_a_list_is_that_of_its_last_command() {
    decides("make; grep -q x y", "grep -q x y");
    decides("seq 1 5000\ngrep -q zzz 'a file'", "grep -q zzz a file");
    decides("cd sub && make && ./run", "cd sub | make | ./run");
    decides("make || ./fallback", "./fallback");
    decides(
        "for i in $(seq 1 3); do echo $i; done; bash test.sh",
        "bash test.sh",
    );
    decides(
        "cat > f <<'EOF'\nmake; rm -rf x\nEOF\n./test.sh",
        "./test.sh",
    );
    decides("(cd web; npm test)", "npm test");
    decides("{ make; }; ! ./x", "");
    decides(
        "diff <(echo 1) <(sort b; true)",
        "diff <(echo 1) <(sort b; true)",
    );
    decides("server & curl x", "curl x");
    decides("x=$(cargo test 2>&1)", "cargo test");
}

#[test]
fn a_pipe_is_judged_by_its_last_stage_unless_pipefail() {
    decides("cargo test 2>&1 | tail -5", "tail -5");
    decides(
        "set -o pipefail; cargo test 2>&1 | tail -5",
        "cargo test | tail -5",
    );
    decides(
        "set -euo pipefail\nmake\ncargo test | tail",
        "set -euo pipefail | make | cargo test | tail",
    );
    decides("bash -o pipefail -c 'make | cat'", "make | cat");
}

#[test]
fn a_chosen_status_stands_for_what_came_before() {
    decides("make test || exit 1", "make test");
    decides("make test || { echo 'it failed'; exit 1; }", "make test");
    decides("make test; rc=$?; echo \"rc $rc\"; exit $rc", "make test");
    decides("if ! cargo test; then echo bad; exit 1; fi", "cargo test");
    decides(
        "for t in a b; do ./test.sh $t || exit 1; done",
        "./test.sh $t",
    );
}

#[test]
fn wrappers_come_off() {
    decides("FOO=1 timeout -k 5 60 env BAR=2 cargo test", "cargo test");
    decides("bash -lc \"cd a && npm test\"", "cd a | npm test");
    decides("sudo -u me nice -n 5 ./test.sh x", "./test.sh x");
    decides("npx --yes jest a.test.js", "jest a.test.js");
    decides("poetry run pytest -q", "pytest -q");
    decides("docker compose exec -T web npm test", "npm test");
    decides("find . -name '*.py' | xargs -n 1 grep -l x", "grep -l x");
    decides("time (make test)", "make test");
    decides("eval 'make check'", "make check");
}

#[test]
fn what_passed_for_certain_is_less_than_what_ran() {
    let certain = |line: &str| names(&Script::parse(line).certain());
    assert_eq!(certain("make && ./run"), "make | ./run");
    assert_eq!(certain("make; ./run"), "./run");
    assert_eq!(certain("make || true"), "");
    assert_eq!(certain("make || exit 1"), "make");
    assert_eq!(certain("cargo test 2>&1 | tail -3"), "tail -3");
    assert_eq!(
        certain("set -o pipefail; cargo test | tail -3"),
        "cargo test | tail -3"
    );
    assert_eq!(certain("! make"), "");
    assert_eq!(certain("make &"), "");
}

#[test]
fn broken_and_odd_lines_are_no_reason_to_fail() {
    for line in [
        "",
        "'",
        "\"$(",
        "if then fi",
        ")",
        "((",
        "a | | b",
        "case x in",
        "<<",
        "do done",
        "$((",
        "a && && b",
        "\\",
        "&&",
        "{",
    ] {
        let script = Script::parse(line);
        let _ = (script.deciding(), script.certain(), script.all());
    }
    let deep = "(".repeat(5000);
    let _ = Script::parse(&deep).deciding();
}
