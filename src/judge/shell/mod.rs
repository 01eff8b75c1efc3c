//! Which command of a shell line its exit status is about. It reads enough shell for that (lists, pipes, conditions, loops, subshells,
//! `bash -c`, wrappers such as `timeout`), never fails on what it does not know, and runs nothing.

mod lex;
mod parse;
mod wrapper;

use parse::{Node, Simple};

/// A parsed shell line.
#[derive(Debug)]
pub(super) struct Script {
    root: Node,
    /// `set -e`: every command may have ended it.
    errexit: bool,
    pipefail: bool,
}

/// A command with its words, wrappers taken off.
pub(super) type Argv = Vec<String>;

impl Script {
    pub(super) fn parse(line: &str) -> Self {
        let flags = |short: char, long: &str| {
            let mut words = line
                .split(|c: char| c.is_whitespace() || c == ';')
                .peekable();
            let mut found = false;
            while let Some(word) = words.next() {
                let named = matches!(word, "set" | "bash" | "sh" | "-o")
                    || word.starts_with('-') && word.ends_with('o');
                let next = words.peek().copied().unwrap_or("");
                found |= named
                    && (next == long
                        || word != "-o"
                            && flag_cluster(next).is_some_and(|letters| letters.contains(short)));
            }
            found
        };
        Self {
            root: parse::parse(line),
            errexit: flags('e', "errexit"),
            pipefail: flags('\0', "pipefail"),
        }
    }

    /// The commands of which one failed, when the whole line did. Empty when it only asked (`! x`, `[[ ]]`).
    pub(super) fn deciding(&self) -> Vec<Argv> {
        let mut found = Vec::new();
        self.failing(&self.root, &mut found);
        found
    }

    /// The commands that certainly succeeded, when the whole line did.
    pub(super) fn certain(&self) -> Vec<Argv> {
        let mut found = Vec::new();
        self.passing(&self.root, &mut found);
        found
    }

    /// Every command in it.
    pub(super) fn all(&self) -> Vec<Argv> {
        let mut found = Vec::new();
        every(&self.root, &mut found);
        found
    }

    fn failing(&self, node: &Node, out: &mut Vec<Argv>) {
        match node {
            Node::Simple(simple) => match &simple.inner {
                Some(inner) => self.failing(inner, out),
                None => out.extend(simple.command()),
            },
            Node::List(items) if self.errexit => {
                items.iter().for_each(|item| self.failing(item, out))
            }
            Node::List(items) => {
                let mut last = items.iter().rev().peekable();
                // `...; echo failed; exit 1` passes on the status of what came before.
                if last
                    .peek()
                    .is_some_and(|item| ends_the_script(item) && only_talks(item))
                {
                    while last.peek().is_some_and(|item| only_talks(item)) {
                        last.next();
                    }
                }
                if let Some(item) = last.next() {
                    self.failing(item, out);
                }
            }
            Node::AndOr { first, rest } => {
                let mut current = Vec::new();
                self.failing(first, &mut current);
                for (and, item) in rest {
                    if !and && ends_the_script(item) {
                        continue;
                    }
                    if !and {
                        current.clear();
                    }
                    self.failing(item, &mut current);
                }
                out.extend(current);
            }
            Node::Pipe { negated: true, .. } | Node::Test | Node::Background(_) | Node::Nothing => {
            }
            Node::Pipe { stages, .. } if self.pipefail => {
                stages.iter().for_each(|stage| self.failing(stage, out))
            }
            Node::Pipe { stages, .. } => {
                if let Some(stage) = stages.last() {
                    self.failing(stage, out);
                }
            }
            Node::If {
                branches,
                otherwise,
            } => {
                for (condition, then) in branches {
                    if ends_the_script(then) {
                        self.condition(condition, out);
                    }
                    self.failing(then, out);
                }
                if let Some(otherwise) = otherwise {
                    if ends_the_script(otherwise) {
                        branches
                            .iter()
                            .for_each(|(condition, _)| self.condition(condition, out));
                    }
                    self.failing(otherwise, out);
                }
            }
            Node::Loop(body) => self.failing(body, out),
            Node::Case(bodies) => bodies.iter().for_each(|body| self.failing(body, out)),
        }
    }

    /// The command of a condition whose failure ends the script, negated or not.
    fn condition(&self, node: &Node, out: &mut Vec<Argv>) {
        match node {
            Node::Pipe { stages, .. } => stages
                .last()
                .into_iter()
                .for_each(|stage| self.condition(stage, out)),
            Node::List(items) => items
                .last()
                .into_iter()
                .for_each(|item| self.condition(item, out)),
            other => self.failing(other, out),
        }
    }

    fn passing(&self, node: &Node, out: &mut Vec<Argv>) {
        match node {
            Node::Simple(simple) => match &simple.inner {
                Some(inner) => self.passing(inner, out),
                None => out.extend(simple.command()),
            },
            Node::List(items) if self.errexit => {
                items.iter().for_each(|item| self.passing(item, out))
            }
            Node::List(items) => items
                .last()
                .into_iter()
                .for_each(|item| self.passing(item, out)),
            Node::AndOr { first, rest } => {
                let mut current = Vec::new();
                self.passing(first, &mut current);
                for (and, item) in rest {
                    match and {
                        true => self.passing(item, &mut current),
                        false if ends_the_script(item) => {}
                        false => current.clear(),
                    }
                }
                out.extend(current);
            }
            Node::Pipe {
                negated: false,
                stages,
            } if self.pipefail => stages.iter().for_each(|stage| self.passing(stage, out)),
            Node::Pipe {
                negated: false,
                stages,
            } => stages
                .last()
                .into_iter()
                .for_each(|stage| self.passing(stage, out)),
            _ => {}
        }
    }
}

fn every(node: &Node, out: &mut Vec<Argv>) {
    match node {
        Node::Simple(simple) => match &simple.inner {
            Some(inner) => every(inner, out),
            None => out.extend(simple.command()),
        },
        Node::List(items) | Node::Case(items) | Node::Pipe { stages: items, .. } => {
            items.iter().for_each(|item| every(item, out))
        }
        Node::AndOr { first, rest } => {
            every(first, out);
            rest.iter().for_each(|(_, item)| every(item, out));
        }
        Node::If {
            branches,
            otherwise,
        } => {
            for (condition, then) in branches {
                every(condition, out);
                every(then, out);
            }
            otherwise.iter().for_each(|node| every(node, out));
        }
        Node::Loop(body) | Node::Background(body) => every(body, out),
        Node::Test | Node::Nothing => {}
    }
}

/// Is the last thing it does to end with a status of its own choice?
fn ends_the_script(node: &Node) -> bool {
    match node {
        Node::Simple(Simple { argv, .. }) => matches!(
            argv.first().map(String::as_str),
            Some("exit" | "return" | "false")
        ),
        Node::List(items) => items.last().is_some_and(ends_the_script),
        Node::AndOr { first, rest } => rest
            .last()
            .map_or_else(|| ends_the_script(first), |(_, item)| ends_the_script(item)),
        Node::Pipe { stages, .. } => stages.len() == 1 && ends_the_script(&stages[0]),
        _ => false,
    }
}

/// Does it only print, set a variable or choose a status?
fn only_talks(node: &Node) -> bool {
    match node {
        Node::Simple(Simple {
            argv, inner: None, ..
        }) => matches!(
            argv.first().map(String::as_str),
            None | Some("echo" | "printf" | ":" | "true" | "exit" | "return" | "false")
        ),
        Node::Pipe { stages, .. } => stages.iter().all(only_talks),
        Node::AndOr { first, rest } => {
            only_talks(first) && rest.iter().all(|(_, item)| only_talks(item))
        }
        Node::List(items) => items.iter().all(only_talks),
        Node::Nothing => true,
        _ => false,
    }
}

fn flag_cluster(word: &str) -> Option<&str> {
    word.strip_prefix('-')
        .filter(|letters| !letters.is_empty() && letters.chars().all(|c| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(found: Vec<Argv>) -> String {
        found
            .iter()
            .map(|argv| argv.join(" "))
            .collect::<Vec<_>>()
            .join(" | ")
    }

    #[track_caller]
    fn decides(line: &str, expected: &str) {
        assert_eq!(names(Script::parse(line).deciding()), expected, "{line}");
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
        let certain = |line: &str| names(Script::parse(line).certain());
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
}
