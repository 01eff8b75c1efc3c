//! The manual pages, made from the words of `cli` and the hand-written parts in `man/` beside this file, and written where `man`
//! looks for them. It formats nothing for a terminal: that is the work of `man`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result};
use clap::{Arg, Command, CommandFactory};
use clap_mangen::Man as Generator;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};
use serde_json::json;

use crate::cli::{Cli, Man};
use crate::config;
use crate::exit::{Exit, Refusal};
use crate::ui::{Tone, Ui};

const EXIT_STATUS: &str = include_str!("man/exit-status.roff");

/// One page, as `man` reads it.
pub(crate) struct Page {
    pub name: String,
    pub section: u8,
    pub text: String,
}

impl Page {
    /// `man1/git-arkaint.1`: where the page lies below a folder of manual pages.
    pub(crate) fn path(&self) -> PathBuf {
        Path::new(&format!("man{}", self.section)).join(format!("{}.{}", self.name, self.section))
    }
}

/// `git arkaint man`: one page on stdout, or all of them in a folder.
pub(crate) fn run(words: &Man, ui: &Ui) -> Result<Exit> {
    match &words.install {
        Some(Some(dir)) => install(dir, ui),
        Some(None) => install(&beside_binary()?, ui),
        None => print(words.page.as_deref().unwrap_or("git-arkaint"), ui),
    }
}

/// All pages: one a verb, the suite's own first, then those of the configuration, the ledger, the evidence, the shapes of repositories, the workflows and the modes of decay.
pub(crate) fn pages() -> Vec<Page> {
    let mut root = Cli::command().subcommand_help_heading("COMMANDS");
    root.build();
    let mut pages = Vec::new();
    collect(&root, &mut pages);
    pages.push(Page {
        name: "git-arkaint-config".to_owned(),
        section: 5,
        text: config::man_page(),
    });
    pages.push(Page {
        name: "git-arkaint-ledger".to_owned(),
        section: 5,
        text: include_str!("man/ledger.roff").to_owned(),
    });
    pages.push(Page {
        name: "git-arkaint-evidence".to_owned(),
        section: 5,
        text: include_str!("man/evidence.roff").to_owned(),
    });
    pages.push(Page {
        name: "git-arkaint-repositories".to_owned(),
        section: 7,
        text: include_str!("man/repositories.roff").to_owned(),
    });
    pages.push(Page {
        name: "git-arkaint-workflows".to_owned(),
        section: 7,
        text: include_str!("man/workflows.roff").to_owned(),
    });
    pages.push(Page {
        name: "git-arkaint-decay".to_owned(),
        section: 7,
        text: include_str!("man/decay-modes.roff").to_owned(),
    });
    pages
}

fn collect(command: &Command, pages: &mut Vec<Page>) {
    pages.push(verb_page(command));
    for verb in shown_verbs(command) {
        collect(verb, pages);
    }
}

fn shown_verbs(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set())
}

fn print(word: &str, ui: &Ui) -> Result<Exit> {
    let pages = pages();
    let short = |page: &Page| page.name.trim_start_matches("git-arkaint-").to_owned();
    let Some(page) = pages.iter().find(|page| {
        let numbered = format!("{}.{}", short(page), page.section);
        page.name == word || short(page) == word || numbered == word
    }) else {
        let near = pages
            .iter()
            .min_by_key(|page| strsim::damerau_levenshtein(&short(page), word));
        let near = near.map(short).unwrap_or_default();
        let cause = format!("no manual page {word}");
        return Err(Refusal::new(cause, format!("git arkaint man {near}")).into());
    };
    if ui.is_json() {
        ui.json(&json!({ "v": 1, "name": page.name, "section": page.section, "text": page.text }));
    } else {
        ui.raw(page.text.as_bytes());
    }
    Ok(Exit::Done)
}

/// Writes every page below `dir`, each whole or not at all.
fn install(dir: &Path, ui: &Ui) -> Result<Exit> {
    let mut written = Vec::new();
    for page in pages() {
        let path = dir.join(page.path());
        let folder = path.parent().unwrap_or(dir);
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        let new = path.with_extension("new");
        fs::write(&new, &page.text)
            .and_then(|()| fs::rename(&new, &path))
            .with_context(|| format!("writing {}", path.display()))?;
        written.push(path.display().to_string());
    }
    if ui.is_json() {
        ui.json(&json!({ "v": 1, "dir": dir.display().to_string(), "pages": written }));
    } else {
        ui.say(
            Tone::Good,
            format!("{} manual pages are in {}", written.len(), dir.display()),
        );
    }
    Ok(Exit::Done)
}

/// `man` finds `PREFIX/share/man` by itself when `PREFIX/bin` is on PATH.
fn beside_binary() -> Result<PathBuf> {
    let me = env::current_exe().context("finding this program")?;
    let prefix = me
        .parent()
        .and_then(Path::parent)
        .context("finding the folder above this program's")?;
    Ok(prefix.join("share/man"))
}

fn verb_page(command: &Command) -> Page {
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
        .to_owned();
    // A blank for the date: an empty word would be lost, and those after it read as the ones before.
    let generator = Generator::new(command.clone())
        .title(name.to_uppercase())
        .date(" ")
        .source(concat!("Arkaint ", env!("CARGO_PKG_VERSION")))
        .manual("Arkaint Manual");
    let (lead, sections) = written(&name);
    let mut text = generated(|to| generator.render_title(to));
    text += &later(|to| generator.render_name_section(to));
    text += &synopsis(command);
    if command.get_long_about().is_none() && !lead.is_empty() {
        text += ".SH DESCRIPTION\n";
    } else {
        text += &later(|to| generator.render_description_section(to));
    }
    text += lead;
    if shown_verbs(command).next().is_some() {
        text += &later(|to| generator.render_subcommands_section(to));
    }
    text += &later(|to| generator.render_options_section(to));
    text += sections;
    text += EXIT_STATUS;
    text += &see_also(command, &name);
    Page {
        name,
        section: 1,
        text,
    }
}

/// The hand-written part of a page: what continues its description, and the sections after its options.
fn written(name: &str) -> (&'static str, &'static str) {
    let part = match name {
        "git-arkaint" => include_str!("man/git-arkaint.roff"),
        "git-arkaint-init" => include_str!("man/init.roff"),
        "git-arkaint-checkpoint" => include_str!("man/checkpoint.roff"),
        "git-arkaint-boot" => include_str!("man/boot.roff"),
        "git-arkaint-packet" => include_str!("man/packet.roff"),
        "git-arkaint-cycle" => include_str!("man/cycle.roff"),
        "git-arkaint-contract" => include_str!("man/contract.roff"),
        "git-arkaint-verify" => include_str!("man/verify.roff"),
        "git-arkaint-deliver" => include_str!("man/deliver.roff"),
        "git-arkaint-dispatch" => include_str!("man/dispatch.roff"),
        "git-arkaint-rollback" => include_str!("man/rollback.roff"),
        "git-arkaint-status" => include_str!("man/status.roff"),
        "git-arkaint-log" => include_str!("man/log.roff"),
        "git-arkaint-sync" => include_str!("man/sync.roff"),
        "git-arkaint-cost" => include_str!("man/cost.roff"),
        "git-arkaint-decay" => include_str!("man/decay.roff"),
        "git-arkaint-explain" => include_str!("man/explain.roff"),
        "git-arkaint-discarded" => include_str!("man/discarded.roff"),
        "git-arkaint-doctor" => include_str!("man/doctor.roff"),
        "git-arkaint-hooks" => include_str!("man/hooks.roff"),
        "git-arkaint-completions" => include_str!("man/completions.roff"),
        "git-arkaint-man" => include_str!("man/man.roff"),
        "git-arkaint-demo" => include_str!("man/demo.roff"),
        _ => "",
    };
    part.find(".SH ").map_or((part, ""), |at| part.split_at(at))
}

fn generated(render: impl Fn(&mut dyn Write) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    render(&mut bytes).expect("writing to memory");
    String::from_utf8(bytes).expect("roff is made of strings")
}

/// [`generated`], less the definitions that the title has already brought.
fn later(render: impl Fn(&mut dyn Write) -> io::Result<()>) -> String {
    let text = generated(render);
    text.find(".SH ")
        .map_or(text.clone(), |at| text[at..].to_owned())
}

/// What a user types, options of the verb alone: `git arkaint log [-n N] [--kind KIND] ...`.
fn synopsis(command: &Command) -> String {
    let mut line = vec![bold(
        command.get_bin_name().unwrap_or_else(|| command.get_name()),
    )];
    let common =
        |arg: &&Arg| arg.is_global_set() || matches!(arg.get_id().as_str(), "help" | "version");
    for option in command.get_arguments().filter(|arg| !arg.is_positional()) {
        if !option.is_hide_set() && !common(&option) {
            line.extend(synopsis_option(option));
        }
    }
    for word in command.get_positionals() {
        let name = value_name(word);
        let name = if word.is_last_set() {
            format!("-- {name}...")
        } else {
            name
        };
        line.extend(bracketed(!word.is_required_set(), vec![italic(name)]));
    }
    if command.has_subcommands() {
        line.extend([roman(" "), italic("COMMAND"), roman(" [...]")]);
    }
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]).text(line);
    roff.to_roff()
}

fn synopsis_option(option: &Arg) -> Vec<Inline> {
    let flag = match (option.get_short(), option.get_long()) {
        (Some(short), _) => format!("-{short}"),
        (None, Some(long)) => format!("--{long}"),
        (None, None) => return Vec::new(),
    };
    let mut inner = vec![bold(flag)];
    if option.get_action().takes_values() {
        let optional = option
            .get_num_args()
            .is_some_and(|range| range.min_values() == 0);
        inner.extend(bracketed(optional, vec![italic(value_name(option))]));
    }
    bracketed(!option.is_required_set(), inner)
}

fn bracketed(optional: bool, inner: Vec<Inline>) -> Vec<Inline> {
    let (open, close) = if optional { (" [", "]") } else { (" ", "") };
    [vec![roman(open)], inner, vec![roman(close)]].concat()
}

fn value_name(arg: &Arg) -> String {
    arg.get_value_names()
        .map_or_else(|| arg.get_id().to_string(), |names| names.join(" "))
}

/// The suite's page, the verb's own subverbs or, on a subverb's page, its verb; and the configuration.
fn see_also(command: &Command, name: &str) -> String {
    let mut names: Vec<String> = shown_verbs(command)
        .filter_map(|v| v.get_display_name().map(str::to_owned))
        .collect();
    names.extend(
        name.rsplit_once('-')
            .map(|(above, _)| above.to_owned())
            .filter(|above| above != "git"),
    );
    if !names.iter().any(|n| n == "git-arkaint") && name != "git-arkaint" {
        names.push("git-arkaint".to_owned());
    }
    names.sort();
    let mut line = Vec::new();
    for (page, section) in names
        .iter()
        .map(|n| (n.as_str(), "1"))
        .chain([("git-arkaint-config", "5")])
    {
        if !line.is_empty() {
            line.push(roman(", "));
        }
        line.extend([bold(page), roman(format!("({section})"))]);
    }
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]).text(line);
    roff.to_roff()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_statuses_are_those_of_the_program() {
        use Exit::{Budget, CheckFailed, Done, Interrupted, Locked, Person, Refused};
        let codes = [
            Done,
            CheckFailed,
            Refused,
            Person,
            Locked,
            Budget,
            Interrupted(2),
            Interrupted(15),
        ]
        .map(Exit::code);
        let written: Vec<u8> = EXIT_STATUS
            .lines()
            .filter_map(|line| line.strip_prefix(".B ").or(line.strip_prefix(".BR ")))
            .flat_map(|line| line.split(|c: char| !c.is_ascii_digit()))
            .filter_map(|word| word.parse().ok())
            .collect();
        assert_eq!(written, codes);
    }

    #[test]
    fn every_kind_of_record_is_in_the_page_of_the_ledger_and_in_the_words_of_log() {
        let page = include_str!("man/ledger.roff");
        let root = Cli::command();
        let log = root.find_subcommand("log").unwrap();
        let kinds = log.get_arguments().find(|arg| arg.get_id() == "kind");
        let help = kinds.and_then(Arg::get_help).unwrap().to_string();
        for kind in crate::ledger::Kind::ALL.map(crate::ledger::Kind::name) {
            assert!(page.contains(&format!(".SS {kind}\n")), "{kind}");
            assert!(help.contains(kind), "{kind}: {help}");
        }
    }

    #[test]
    fn every_verb_has_a_hand_written_part() {
        let root = Cli::command();
        for verb in shown_verbs(&root) {
            let (lead, sections) = written(&format!("git-arkaint-{}", verb.get_name()));
            assert!(
                !lead.is_empty() || !sections.is_empty(),
                "{}",
                verb.get_name()
            );
        }
    }
}
