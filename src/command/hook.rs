//! `git arkaint hook run NAME -- ARGS`: what the hooks call. Whatever ends it but a pass, git sees a failure.

use anyhow::Result;

use crate::cli;
use crate::exit::{Exit, Refusal};
use crate::hooks::{self, Name, status};
use crate::ui::{Tone, Ui};

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
