//! Which command of a shell line its exit status is about. It reads enough shell for that (lists, pipes, conditions, loops, subshells,
//! `bash -c`, wrappers such as `timeout`), never fails on what it does not know, and runs nothing.

mod lex;
mod parse;
#[cfg(test)]
mod tests;
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
            Node::List(items) if self.errexit => self.any_failing(items, out),
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
            Node::Pipe { stages, .. } if self.pipefail => self.any_failing(stages, out),
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
                        for (condition, _) in branches {
                            self.condition(condition, out);
                        }
                    }
                    self.failing(otherwise, out);
                }
            }
            Node::Loop(body) => self.failing(body, out),
            Node::Case(bodies) => self.any_failing(bodies, out),
        }
    }

    fn any_failing(&self, nodes: &[Node], out: &mut Vec<Argv>) {
        for node in nodes {
            self.failing(node, out);
        }
    }

    /// The command of a condition whose failure ends the script, negated or not.
    fn condition(&self, node: &Node, out: &mut Vec<Argv>) {
        match node {
            Node::Pipe { stages: items, .. } | Node::List(items) => {
                if let Some(last) = items.last() {
                    self.condition(last, out);
                }
            }
            other => self.failing(other, out),
        }
    }

    fn passing(&self, node: &Node, out: &mut Vec<Argv>) {
        match node {
            Node::Simple(simple) => match &simple.inner {
                Some(inner) => self.passing(inner, out),
                None => out.extend(simple.command()),
            },
            Node::AndOr { first, rest } => {
                let mut current = Vec::new();
                self.passing(first, &mut current);
                for (and, item) in rest {
                    if *and {
                        self.passing(item, &mut current);
                    } else if !ends_the_script(item) {
                        current.clear();
                    }
                }
                out.extend(current);
            }
            Node::List(items)
            | Node::Pipe {
                negated: false,
                stages: items,
            } => {
                let all = if matches!(node, Node::List(_)) {
                    self.errexit
                } else {
                    self.pipefail
                };
                let from = if all {
                    0
                } else {
                    items.len().saturating_sub(1)
                };
                for item in &items[from..] {
                    self.passing(item, out);
                }
            }
            _ => {}
        }
    }
}

fn every(node: &Node, out: &mut Vec<Argv>) {
    let mut inside: Vec<&Node> = Vec::new();
    match node {
        Node::Simple(simple) => match &simple.inner {
            Some(inner) => inside.push(inner),
            None => out.extend(simple.command()),
        },
        Node::List(items) | Node::Case(items) | Node::Pipe { stages: items, .. } => {
            inside.extend(items);
        }
        Node::AndOr { first, rest } => {
            inside.push(first);
            inside.extend(rest.iter().map(|(_, item)| item));
        }
        Node::If {
            branches,
            otherwise,
        } => {
            inside.extend(
                branches
                    .iter()
                    .flat_map(|(condition, then)| [condition, then]),
            );
            inside.extend(otherwise.as_deref());
        }
        Node::Loop(body) | Node::Background(body) => inside.push(body),
        Node::Test | Node::Nothing => {}
    }
    for node in inside {
        every(node, out);
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
