//! `git arkaint hook run NAME -- ARGS`: what the hooks call. Whatever ends it but a pass, git sees a failure.

use anyhow::Result;

use crate::cli;
use crate::exit::{Exit, Refusal};
use crate::hooks::{self, Name, status};
use crate::ui::{Tone, Ui};

/// The words of our own shim, `hook run NAME -- ARGS` and nothing before it: understood without clap, which makes its tables of all verbs
/// first, and that takes longer than the guard of an honest commit.
pub(super) fn words_of_shim(
    mut words: impl Iterator<Item = std::ffi::OsString>,
) -> Option<cli::Hook> {
    let mut word = || words.next()?.into_string().ok();
    if word()? != "hook" || word()? != "run" {
        return None;
    }
    let name = word()?;
    (word()? == "--").then(|| cli::Hook {
        run: "run".to_owned(),
        name,
        args: words.collect(),
    })
}

pub(crate) fn run(words: &cli::Hook, ui: &Ui) -> Result<Exit> {
    let Some(name) = Name::parse(&words.name) else {
        let known = Name::ALL.map(Name::as_str).join(", ");
        return Err(Refusal::new(
            format!("there is no guard for the hook {}", words.name),
            format!("known are {known}"),
        )
        .into());
    };
    if let Some(token) = std::env::var_os(status::PROBE).filter(|token| !token.is_empty()) {
        // Not a pass: nobody gets past a guard by asking whether it is there.
        ui.raw(status::answer_to_probe(&token.to_string_lossy(), name).as_bytes());
        return Ok(Exit::CheckFailed);
    }
    let answer = match hooks::run(name, &words.args) {
        Ok(answer) => answer,
        Err(error) => {
            ui.error(
                &format!(
                    "{} refused, as its guard could not check: {error:#}",
                    name.as_str()
                ),
                &["git arkaint hooks status".to_owned()],
            );
            return Ok(Exit::CheckFailed);
        }
    };
    for warning in &answer.warnings {
        ui.warn(warning);
    }
    let Some(no) = answer.no else {
        return Ok(Exit::Done);
    };
    ui.error(&no.cause, &[]);
    for line in &no.detail {
        ui.say(Tone::Plain, format!("  {line}"));
    }
    for hint in &no.hints {
        ui.say(Tone::Plain, format!("hint: {hint}"));
    }
    Ok(Exit::CheckFailed)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Verb};

    #[test]
    fn the_words_of_a_shim_are_what_clap_makes_of_them() {
        let cases: [(&[&str], bool); 8] = [
            (&["hook", "run", "pre-commit", "--"], true),
            (&["hook", "run", "pre-push", "--", "origin", "url"], true),
            (&["hook", "run", "no-such", "--", "--", "-q"], true),
            (&["hook", "run", "pre-commit"], false),
            (&["-q", "hook", "run", "pre-commit", "--"], false),
            (&["hook", "-q", "run", "pre-commit", "--"], false),
            (&["hooks", "status"], false),
            (&[], false),
        ];
        for (words, is_a_shims) in cases {
            let ours = words_of_shim(words.iter().map(Into::into));
            assert_eq!(ours.is_some(), is_a_shims, "{words:?}");
            let Some(ours) = ours else { continue };
            let cli = Cli::try_parse_from(std::iter::once(&"git-arkaint").chain(words)).unwrap();
            let Verb::Hook(theirs) = cli.verb else {
                panic!("{words:?}");
            };
            assert_eq!((ours.name, ours.args), (theirs.name, theirs.args));
        }
    }
}
