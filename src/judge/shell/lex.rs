//! Words and operators of a shell line. Redirections and the bodies of here-documents are dropped; substitutions stay in their word.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word without its quotes. `plain` when nothing in it was quoted: only then it may be a reserved word.
    Word { text: String, plain: bool },
    /// `;` (also for a newline), `;;`, `&`, `&&`, `|`, `||`, `(`, `)`.
    Op(&'static str),
}

pub(super) fn tokens(line: &str) -> Vec<Token> {
    let mut lexer = Lexer {
        chars: line.chars().collect(),
        at: 0,
        out: Vec::new(),
        heredocs: Vec::new(),
    };
    lexer.run();
    lexer.out
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    out: Vec<Token>,
    heredocs: Vec<String>,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn starts(&self, text: &str) -> bool {
        text.chars()
            .enumerate()
            .all(|(i, c)| self.peek(i) == Some(c))
    }

    fn run(&mut self) {
        while let Some(c) = self.peek(0) {
            match c {
                '\n' => {
                    self.at += 1;
                    self.out.push(Token::Op(";"));
                    self.skip_heredocs();
                }
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                c if c.is_whitespace() => self.at += 1,
                '#' => self.skip_to_newline(),
                _ if self.operator() => {}
                _ => self.word_or_redirection(),
            }
        }
    }

    fn skip_to_newline(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    fn operator(&mut self) -> bool {
        for op in ["&&", "||", ";;", "|&", "(", ")", ";", "|", "&"] {
            if self.starts(op) && !(op == "&" && self.peek(1) == Some('>')) {
                self.at += op.chars().count();
                self.out.push(Token::Op(if op == "|&" { "|" } else { op }));
                return true;
            }
        }
        false
    }

    /// `>`, `2>&1`, `&>file`, `<<EOF`: takes the operator and its target away. Process substitution is a word.
    fn redirection(&mut self) -> bool {
        let start = self.at;
        while self.peek(0).is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        let Some(op) = [
            "<<<", "<<-", "<<", "&>>", "&>", ">>", ">&", "<&", ">|", "<>", ">", "<",
        ]
        .into_iter()
        .find(|op| self.starts(op)) else {
            self.at = start;
            return false;
        };
        if matches!(op, "<" | ">") && self.peek(1) == Some('(') {
            self.at = start;
            return false;
        }
        self.at += op.len();
        while self.peek(0).is_some_and(|c| c == ' ' || c == '\t') {
            self.at += 1;
        }
        let (target, _) = self.word();
        if matches!(op, "<<" | "<<-") && !target.is_empty() {
            self.heredocs.push(target);
        }
        true
    }

    fn skip_heredocs(&mut self) {
        for end in std::mem::take(&mut self.heredocs) {
            while self.at < self.chars.len() {
                let start = self.at;
                self.skip_to_newline();
                let line: String = self.chars[start..self.at].iter().collect();
                self.at += 1;
                if line.trim() == end {
                    break;
                }
            }
            self.at = self.at.min(self.chars.len());
        }
    }

    fn word_or_redirection(&mut self) {
        if self.redirection() {
            return;
        }
        let before = self.at;
        let (text, plain) = self.word();
        if self.at == before {
            self.at += 1;
        } else {
            self.out.push(Token::Word { text, plain });
        }
    }

    fn word(&mut self) -> (String, bool) {
        let (mut text, mut plain) = (String::new(), true);
        while let Some(c) = self.peek(0) {
            match c {
                c if c.is_whitespace() || matches!(c, ';' | '&' | '|' | ')') => break,
                '(' if !text.ends_with(['$', '<', '>', '=']) => break,
                '<' | '>' if self.peek(1) != Some('(') => break,
                '\'' => {
                    plain = false;
                    self.at += 1;
                    self.until('\'', &mut text);
                }
                '"' => {
                    plain = false;
                    self.double_quoted(&mut text);
                }
                '\\' => {
                    plain = false;
                    self.at += 1;
                    if let Some(c) = self.peek(0) {
                        if c != '\n' {
                            text.push(c);
                        }
                        self.at += 1;
                    }
                }
                '`' => {
                    self.at += 1;
                    text.push_str("$(");
                    self.until('`', &mut text);
                    text.push(')');
                }
                '(' => self.nested('(', ')', &mut text),
                '{' if text.ends_with('$') => self.nested('{', '}', &mut text),
                c => {
                    text.push(c);
                    self.at += 1;
                }
            }
        }
        (text, plain)
    }

    fn until(&mut self, end: char, text: &mut String) {
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == end {
                break;
            }
            text.push(c);
        }
    }

    fn double_quoted(&mut self, text: &mut String) {
        self.at += 1;
        while let Some(c) = self.peek(0) {
            match c {
                '"' => {
                    self.at += 1;
                    return;
                }
                '\\' if matches!(self.peek(1), Some('"' | '\\' | '$' | '`')) => {
                    text.extend(self.peek(1));
                    self.at += 2;
                }
                '(' if text.ends_with('$') => self.nested('(', ')', text),
                c => {
                    text.push(c);
                    self.at += 1;
                }
            }
        }
    }

    /// A bracketed part as it stands, brackets included; quotes in it hide brackets.
    fn nested(&mut self, open: char, close: char, text: &mut String) {
        let mut depth = 0usize;
        let mut quote = None;
        while let Some(c) = self.peek(0) {
            text.push(c);
            self.at += 1;
            if quote.is_some() {
                quote = quote.filter(|q| *q != c);
            } else if c == '\'' || c == '"' {
                quote = Some(c);
            } else if c == open {
                depth += 1;
            } else if c == close {
                depth -= 1;
                if depth == 0 {
                    return;
                }
            }
        }
    }
}
