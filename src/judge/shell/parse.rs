//! From words to lists, pipes, conditions and loops. What it does not understand it passes over.

use super::lex::{self, Token};
use super::{Argv, wrapper};

#[derive(Debug)]
pub(super) enum Node {
    Simple(Simple),
    Pipe {
        stages: Vec<Node>,
        negated: bool,
    },
    /// `true` in front of an item that is reached by `&&`.
    AndOr {
        first: Box<Node>,
        rest: Vec<(bool, Node)>,
    },
    List(Vec<Node>),
    Background(Box<Node>),
    If {
        branches: Vec<(Node, Node)>,
        otherwise: Option<Box<Node>>,
    },
    Loop(Box<Node>),
    Case(Vec<Node>),
    /// `[[ ]]`, `(( ))`: asks.
    Test,
    /// A function that is only defined, a stray word.
    Nothing,
}

#[derive(Debug, Default)]
pub(super) struct Simple {
    /// Words, wrappers taken off.
    pub argv: Argv,
    /// What really runs: the string of `bash -c`, the command of `x=$(...)`.
    pub inner: Option<Box<Node>>,
}

impl Simple {
    pub(super) fn command(&self) -> Option<Argv> {
        (!self.argv.is_empty()).then(|| self.argv.clone())
    }
}

/// Deeper nesting than this is nobody's command.
const DEPTH_MAX: usize = 40;

pub(super) fn parse(line: &str) -> Node {
    parse_at(line, 0)
}

fn parse_at(line: &str, depth: usize) -> Node {
    if depth > DEPTH_MAX {
        return Node::Nothing;
    }
    let mut parser = Parser {
        tokens: lex::tokens(line),
        at: 0,
        depth,
    };
    let mut items = Vec::new();
    while parser.at < parser.tokens.len() {
        let before = parser.at;
        if let Node::List(more) = parser.list(&[]) {
            items.extend(more);
        }
        // A closing word without its opening one.
        parser.at = parser.at.max(before + 1);
    }
    Node::List(items)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

const CLOSING: &[&str] = &["then", "elif", "else", "fi", "do", "done", "esac", "}"];

impl Parser {
    fn op(&self) -> Option<&'static str> {
        match self.tokens.get(self.at) {
            Some(Token::Op(op)) => Some(op),
            _ => None,
        }
    }

    /// The next word when it may be a reserved one.
    fn reserved(&self) -> Option<&str> {
        match self.tokens.get(self.at) {
            Some(Token::Word { text, plain: true }) => Some(text),
            _ => None,
        }
    }

    fn take_op(&mut self, op: &str) -> bool {
        let found = self.op() == Some(op);
        self.at += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.reserved() == Some(word);
        self.at += usize::from(found);
        found
    }

    /// Items up to one of `stops`, any closing word, `)` or the end.
    fn list(&mut self, stops: &[&str]) -> Node {
        let mut items = Vec::new();
        self.depth += 1;
        while self.depth <= DEPTH_MAX {
            while self.take_op(";") {}
            match self.tokens.get(self.at) {
                None | Some(Token::Op(")" | ";;")) => break,
                Some(Token::Word { text, plain: true })
                    if stops.contains(&text.as_str()) || CLOSING.contains(&text.as_str()) =>
                {
                    break;
                }
                _ => {}
            }
            let before = self.at;
            let item = self.and_or();
            items.push(if self.take_op("&") {
                Node::Background(Box::new(item))
            } else {
                item
            });
            if self.at == before {
                self.at += 1;
            }
        }
        self.depth -= 1;
        Node::List(items)
    }

    fn and_or(&mut self) -> Node {
        let first = self.pipe();
        let mut rest = Vec::new();
        loop {
            let and = match self.op() {
                Some("&&") => true,
                Some("||") => false,
                _ => break,
            };
            self.at += 1;
            while self.take_op(";") {}
            rest.push((and, self.pipe()));
        }
        if rest.is_empty() {
            first
        } else {
            Node::AndOr {
                first: Box::new(first),
                rest,
            }
        }
    }

    fn pipe(&mut self) -> Node {
        let mut negated = false;
        loop {
            if self.take_word("!") {
                negated = !negated;
            } else if self.take_word("time") {
                self.take_word("-p");
            } else {
                break;
            }
        }
        let mut stages = vec![self.command()];
        while self.take_op("|") {
            while self.take_op(";") {}
            stages.push(self.command());
        }
        match stages.pop() {
            Some(only) if stages.is_empty() && !negated => only,
            last => {
                stages.extend(last);
                Node::Pipe { stages, negated }
            }
        }
    }

    fn command(&mut self) -> Node {
        if self.take_op("(") {
            if self.take_op("(") {
                self.skip_past(")");
                self.take_op(")");
                return Node::Test;
            }
            let inside = self.list(&[]);
            self.take_op(")");
            return inside;
        }
        match self.reserved() {
            Some("{") => {
                self.at += 1;
                let inside = self.list(&["}"]);
                self.take_word("}");
                inside
            }
            Some("if") => self.condition(),
            Some("while" | "until") => {
                self.at += 1;
                self.list(&["do"]);
                self.body()
            }
            Some("for" | "select") => {
                while !matches!(self.reserved(), Some("do") | None)
                    || self.op().is_some_and(|op| op != ";" && op != ")")
                {
                    self.at += 1;
                }
                self.skip_to_do();
                self.body()
            }
            Some("case") => self.case(),
            Some("function") => {
                self.at += 2;
                self.take_op("(");
                self.take_op(")");
                self.command();
                Node::Nothing
            }
            Some("[[") => {
                while !matches!(self.reserved(), Some("]]")) && self.at < self.tokens.len() {
                    self.at += 1;
                }
                self.at += 1;
                Node::Test
            }
            _ => self.simple(),
        }
    }

    fn skip_to_do(&mut self) {
        while self.at < self.tokens.len() && self.reserved() != Some("do") {
            self.at += 1;
        }
    }

    fn skip_past(&mut self, op: &str) {
        while self.at < self.tokens.len() && self.op() != Some(op) {
            self.at += 1;
        }
        self.at += 1;
    }

    fn body(&mut self) -> Node {
        self.take_word("do");
        let body = self.list(&["done"]);
        self.take_word("done");
        Node::Loop(Box::new(body))
    }

    fn condition(&mut self) -> Node {
        let (mut branches, mut otherwise) = (Vec::new(), None);
        while self.take_word("if") || self.take_word("elif") {
            let condition = self.list(&["then"]);
            self.take_word("then");
            branches.push((condition, self.list(&["elif", "else", "fi"])));
        }
        if self.take_word("else") {
            otherwise = Some(Box::new(self.list(&["fi"])));
        }
        self.take_word("fi");
        Node::If {
            branches,
            otherwise,
        }
    }

    fn case(&mut self) -> Node {
        let mut bodies = Vec::new();
        while self.at < self.tokens.len() && !self.take_word("esac") {
            self.skip_past(")");
            bodies.push(self.list(&["esac"]));
            self.take_op(";;");
            while self.take_op(";") {}
        }
        Node::Case(bodies)
    }

    fn simple(&mut self) -> Node {
        let (mut words, mut assigned) = (Vec::new(), Vec::new());
        while let Some(Token::Word { text, .. }) = self.tokens.get(self.at) {
            if words.is_empty() && wrapper::is_assignment(text) {
                assigned.push(text.clone());
            } else {
                words.push(text.clone());
            }
            self.at += 1;
            if words.len() == 1 && self.op() == Some("(") {
                // `name() { ... }`: a function is defined, not run.
                self.take_op("(");
                self.take_op(")");
                while self.take_op(";") {}
                self.command();
                return Node::Nothing;
            }
        }
        if words.is_empty() {
            let inner = assigned
                .last()
                .and_then(|last| substitution(last))
                .map(|line| Box::new(parse_at(line, self.depth + 1)));
            return if assigned.is_empty() {
                Node::Nothing
            } else {
                Node::Simple(Simple {
                    argv: Vec::new(),
                    inner,
                })
            };
        }
        let argv = wrapper::unwrapped(words);
        let inner =
            wrapper::inner_line(&argv).map(|line| Box::new(parse_at(&line, self.depth + 1)));
        Node::Simple(Simple { argv, inner })
    }
}

/// The command line in `name=$(...)`, when that is the whole value.
fn substitution(assignment: &str) -> Option<&str> {
    assignment
        .split_once('=')?
        .1
        .strip_prefix("$(")?
        .strip_suffix(')')
        .filter(|line| !line.starts_with('('))
}
