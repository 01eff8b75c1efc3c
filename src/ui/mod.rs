//! What a person sees: results on stdout, talk on stderr. Everything printed passes here, is redacted and has its control
//! characters shown. It decides nothing.
#![allow(clippy::print_stderr, clippy::print_stdout)]

use std::io::{IsTerminal, Write};

use owo_colors::{OwoColorize, Style};
use serde_json::Value;

use crate::cli::Color;
use crate::{secret, text};

/// The printer: one per process.
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
#[derive(Clone, Debug)]
pub(crate) struct Ui {
    quiet: bool,
    verbose: bool,
    json: bool,
    err_color: bool,
    out_color: bool,
}

/// How a line looks; its words must carry the meaning alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Head,
    Good,
    Warn,
    Bad,
    Dim,
}

#[allow(clippy::unused_self)] // one printer, one way to print
impl Ui {
    pub(crate) fn new(quiet: bool, verbose: bool, json: bool, color: Color) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        let on = |terminal: bool| match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !no_color && !dumb,
        };
        Self {
            quiet,
            verbose,
            json,
            err_color: on(std::io::stderr().is_terminal()),
            out_color: on(std::io::stdout().is_terminal()),
        }
    }

    /// May programs of the user's own be heard on stderr?
    pub(crate) fn is_talkative(&self) -> bool {
        !self.quiet
    }

    /// Was `--json` asked for?
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Are results coloured? For programs of ours whose output is passed on.
    pub(crate) fn colors(&self) -> bool {
        self.out_color
    }

    /// A result line on stdout. A closed pipe is no error.
    pub(crate) fn out(&self, line: impl AsRef<str>) {
        self.out_toned(Tone::Plain, line);
    }

    /// A result line with a tone.
    pub(crate) fn out_toned(&self, tone: Tone, line: impl AsRef<str>) {
        let mut stdout = std::io::stdout().lock();
        let _ = writeln!(
            stdout,
            "{}",
            Self::paint(self.out_color, tone, line.as_ref())
        );
    }

    /// The one JSON document of a `--json` call; every string in it is redacted.
    pub(crate) fn json(&self, value: &Value) {
        let mut stdout = std::io::stdout().lock();
        let _ = writeln!(stdout, "{}", secret::redact_json(value));
    }

    /// Bytes on stdout exactly as they are (the packet as piped, a diff for a pager).
    pub(crate) fn raw(&self, bytes: &[u8]) {
        let mut stdout = std::io::stdout().lock();
        let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
    }

    /// Talk on stderr; silent under `-q`.
    pub(crate) fn say(&self, tone: Tone, line: impl AsRef<str>) {
        if !self.quiet {
            Self::err_line(self.err_color, tone, line.as_ref());
        }
    }

    /// A line that a program of ours said on its stderr, which was told by [`Self::switches`] how much to say.
    pub(crate) fn pass_on(&self, line: impl AsRef<str>) {
        Self::err_line(self.err_color, Tone::Plain, line.as_ref());
    }

    /// The switches by which a program of ours talks as much as this one.
    pub(crate) fn switches(&self) -> Vec<&'static str> {
        let all = [(self.quiet, "--quiet"), (self.verbose, "--verbose")];
        all.into_iter()
            .filter(|(on, _)| *on)
            .map(|(_, switch)| switch)
            .collect()
    }

    /// Detail on stderr, under `-v` alone.
    pub(crate) fn detail(&self, line: impl AsRef<str>) {
        if self.verbose {
            Self::err_line(self.err_color, Tone::Dim, line.as_ref());
        }
    }

    /// A warning; `-q` does not hide it.
    pub(crate) fn warn(&self, line: impl AsRef<str>) {
        Self::err_line(
            self.err_color,
            Tone::Warn,
            &format!("warning: {}", line.as_ref()),
        );
    }

    /// An error and its hints, one line each.
    pub(crate) fn error(&self, cause: &str, hints: &[String]) {
        Self::err_line(
            self.err_color,
            Tone::Bad,
            &format!("arkaint: {}", text::visible_line(cause)),
        );
        for hint in hints {
            Self::err_line(
                self.err_color,
                Tone::Plain,
                &format!("hint: {}", text::visible_line(hint)),
            );
        }
    }

    fn err_line(color: bool, tone: Tone, line: &str) {
        let _ = writeln!(
            std::io::stderr().lock(),
            "{}",
            Self::paint(color, tone, line)
        );
    }

    fn paint(color: bool, tone: Tone, line: &str) -> String {
        let clean = text::visible(&secret::redact(line));
        let style = match tone {
            Tone::Plain => return clean,
            Tone::Head => Style::new().bold(),
            Tone::Good => Style::new().green(),
            Tone::Warn => Style::new().yellow(),
            Tone::Bad => Style::new().red(),
            Tone::Dim => Style::new().dimmed(),
        };
        if color {
            clean.style(style).to_string()
        } else {
            clean
        }
    }
}

/// Columns of the terminal, 80 when there is none.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(80, |(w, _)| usize::from(w.0).max(40))
}
