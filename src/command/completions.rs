//! Shell completions, made from the words of `cli`. For bash and fish a second, hand-written half hangs into git's own completion, which
//! generated scripts cannot; that of zsh finds ours by its name. It installs nothing.

use std::fmt::Write;

use clap::{Command as Words, CommandFactory};
use clap_complete::{Shell as Script, generate};
use serde_json::json;

use crate::cli::{Cli, Completions, Shell};
use crate::exit::Exit;
use crate::ui::Ui;

const GIT_BASH: &str = include_str!("completions/git.bash");
const GIT_FISH: &str = include_str!("completions/git.fish");

/// `git arkaint completions SHELL`.
pub(crate) fn run(words: &Completions, ui: &Ui) -> Exit {
    let script = script(words.shell);
    if ui.is_json() {
        ui.json(&json!({ "v": 1, "script": script }));
    } else {
        ui.raw(script.as_bytes());
    }
    Exit::Done
}

/// The whole script for one shell.
fn script(shell: Shell) -> String {
    let mut command = shown();
    let kind = match shell {
        Shell::Bash => Script::Bash,
        Shell::Zsh => Script::Zsh,
        Shell::Fish => Script::Fish,
    };
    let mut bytes = Vec::new();
    generate(kind, &mut command, "git-arkaint", &mut bytes);
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if matches!(shell, Shell::Bash) {
        command.build();
        // The generator (4.6.12) takes the hyphen of the name for a step to a verb where it lists flags, and for none where it
        // finds the verb; without this no verb's flags are offered.
        text = text.replace("git__subcmd__arkaint", "git__arkaint");
        text.push('\n');
        text += &git_bash(&command);
    } else if matches!(shell, Shell::Fish) {
        text += GIT_FISH;
    }
    text
}

/// The words less those that only hooks use.
fn shown() -> Words {
    let all = Cli::command();
    Words::new("git-arkaint")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .args(all.get_arguments().cloned())
        .subcommands(
            all.get_subcommands()
                .filter(|verb| !verb.is_hide_set())
                .cloned(),
        )
}

/// The half for git's completion: its constant part, with the verbs and the flags of each filled in.
fn git_bash(command: &Words) -> String {
    let (mut subs, mut flags) = (String::new(), String::new());
    for verb in command.get_subcommands() {
        let _ = writeln!(
            flags,
            "\t\"{} \")\n\t\toffer=\"{}\" ;;",
            verb.get_name(),
            [names(verb), long_flags(verb)].concat().join(" ")
        );
        if verb.has_subcommands() {
            let _ = writeln!(
                subs,
                "\t{})\n\t\tsub=\"$(__git_find_on_cmdline \"{}\")\" ;;",
                verb.get_name(),
                names(verb).join(" ")
            );
        }
        for sub in verb.get_subcommands() {
            let _ = writeln!(
                flags,
                "\t\"{} {}\")\n\t\toffer=\"{}\" ;;",
                verb.get_name(),
                sub.get_name(),
                long_flags(sub).join(" ")
            );
        }
    }
    GIT_BASH
        .replace("@VERBS@", &names(command).join(" "))
        .replace("@COMMON@", &long_flags(command).join(" "))
        .replace("@SUBS@\n", &subs)
        .replace("@WORDS@\n", &flags)
}

fn names(command: &Words) -> Vec<String> {
    command
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned())
        .collect()
}

fn long_flags(command: &Words) -> Vec<String> {
    command
        .get_arguments()
        .filter_map(|arg| arg.get_long())
        .map(|long| format!("--{long}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &Words, texts: &[(Shell, String)]) {
        for (shell, text) in texts {
            assert!(
                text.contains(command.get_name()),
                "{shell:?} lacks {}",
                command.get_name()
            );
            for arg in command.get_arguments().filter_map(|arg| arg.get_long()) {
                let written = if matches!(shell, Shell::Fish) {
                    format!("-l {arg}")
                } else {
                    format!("--{arg}")
                };
                assert!(
                    text.contains(&written),
                    "{shell:?} lacks --{arg} of {}",
                    command.get_name()
                );
            }
        }
        command
            .get_subcommands()
            .for_each(|verb| check(verb, texts));
    }

    #[test]
    fn every_verb_and_long_flag_is_in_every_script() {
        let texts = [Shell::Bash, Shell::Zsh, Shell::Fish].map(|shell| (shell, script(shell)));
        let mut command = shown();
        command.build();
        assert!(command.get_subcommands().count() > 10);
        check(&command, &texts);
        // The half for git names each flag of its own accord, and nothing of the constant part is left to be filled in.
        let git = git_bash(&command);
        for verb in command.get_subcommands() {
            assert!(
                long_flags(verb).iter().all(|flag| git.contains(flag)),
                "{}",
                verb.get_name()
            );
        }
        assert!(!git.contains('@'), "{git}");
    }

    #[test]
    fn what_only_hooks_use_is_not_offered() {
        assert!(!names(&shown()).contains(&"hook".to_owned()));
    }
}
