//! Which items a command proves: those that are to be shown by exactly this command, or those that the caller names. It runs nothing and reads no file.

use std::collections::BTreeSet;

use crate::config::{CommandLine, Dod, DodKind, nearest};
use crate::evidence::contract::{Body, CheckKind};
use crate::evidence::verify::{LONGEST_ID, id_of};
use crate::exit::Refusal;
use crate::judge::check;
use crate::text;

/// An outcome that the command is said to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub id: String,
    /// The contract asks for another command: what the recorder ran does not answer for it.
    pub other: Option<String>,
}

/// Is `argv` the command of a check? A bash string is compared by its words where a shell would do no more than split it, else it must be
/// what `bash -c` is given.
pub(super) fn is_command(check: &CommandLine, argv: &[String]) -> bool {
    match check {
        CommandLine::Argv(words) => words == argv,
        CommandLine::Bash(script) => {
            let shell = script_of(argv).is_some_and(|text| text == script.trim());
            let plain = !script
                .trim()
                .contains(|c| "|&;<>()$`*?[]{}~#!\n".contains(c));
            shell || plain && shell_words::split(script).is_ok_and(|words| words == argv)
        }
    }
}

/// What `bash -c TEXT` runs.
fn script_of(argv: &[String]) -> Option<&str> {
    match argv {
        [bash, c, text] if bash == "bash" && c == "-c" => Some(text.trim()),
        _ => None,
    }
}

/// The words that run `argv`. A script of the contract runs as every check does: a command that fails within it, or within a pipe, fails
/// it.
pub(super) fn words(body: Option<&Body>, argv: &[String]) -> Vec<String> {
    let outcomes = body.map_or(&[][..], |body| &body.outcomes);
    let mut commands = outcomes
        .iter()
        .filter_map(|outcome| outcome.check.command.as_ref());
    let script = script_of(argv);
    match commands
        .find(|command| matches!(command, CommandLine::Bash(text) if Some(text.trim()) == script))
    {
        Some(command) => check::argv(command, &[]),
        None => argv.to_vec(),
    }
}

/// The outcomes that `argv` shows: those named, else each of the contract that has it as its command.
///
/// # Errors
/// A name that cannot be an id, that the contract does not have, or of an outcome that only a person can see.
pub(super) fn outcomes(
    body: Option<&Body>,
    named: &[String],
    argv: &[String],
) -> Result<Vec<Claim>, Refusal> {
    let Some(body) = body else {
        return distinct(named).map(|ids| ids.into_iter().map(plain).collect());
    };
    if named.is_empty() {
        let shown = body.outcomes.iter().filter(|outcome| {
            let command = outcome.check.command.as_ref();
            outcome.check.is_executable() && command.is_some_and(|c| is_command(c, argv))
        });
        return Ok(shown.map(|outcome| plain(outcome.id.clone())).collect());
    }
    let mut claims = Vec::new();
    for id in distinct(named)? {
        let Some(outcome) = body.outcomes.iter().find(|outcome| outcome.id == id) else {
            return Err(unknown(&id, body));
        };
        if outcome.check.kind == CheckKind::Manual {
            return Err(Refusal::new(
                format!(
                    "outcome {} is one that a person sees: no command shows it",
                    text::visible_line(&id)
                ),
                format!(
                    "git arkaint contract attest {}",
                    text::visible_line(&shell_words::quote(&id))
                ),
            ));
        }
        let other = outcome.check.command.as_ref();
        let other = other.filter(|command| !is_command(command, argv));
        claims.push(Claim {
            id,
            other: other.map(CommandLine::typed),
        });
    }
    Ok(claims)
}

/// The project's items that `argv` shows.
pub(super) fn items(project: &[Dod], argv: &[String]) -> Vec<String> {
    project
        .iter()
        .filter(|item| item.kind == DodKind::Command && item.command.as_deref() == Some(argv))
        .map(|item| item.id.clone())
        .collect()
}

/// ` (a, b, project/c)`: all that a command can show; empty where there is nothing.
pub(super) fn known(body: Option<&Body>, project: &[Dod]) -> String {
    let outcomes = body.map_or(&[][..], |body| &body.outcomes).iter();
    let outcomes = outcomes.filter(|outcome| outcome.check.kind != CheckKind::Manual);
    let items = project
        .iter()
        .filter(|item| item.kind == DodKind::Command)
        .map(|item| format!("project/{}", item.id));
    let ids: Vec<String> = outcomes
        .map(|outcome| outcome.id.clone())
        .chain(items)
        .collect();
    if ids.is_empty() {
        return String::new();
    }
    format!(" ({})", listed(ids.iter().map(String::as_str)))
}

fn plain(id: String) -> Claim {
    Claim { id, other: None }
}

/// Each name once.
fn distinct(named: &[String]) -> Result<Vec<String>, Refusal> {
    let mut seen = BTreeSet::new();
    let mut ids = Vec::new();
    for name in named {
        let id = id_of(name).map_err(|_| {
            Refusal::new(
                format!("an outcome is named by 1 to {LONGEST_ID} characters"),
                "git arkaint contract show",
            )
        })?;
        if seen.insert(id.clone()) {
            ids.push(id);
        }
    }
    Ok(ids)
}

fn unknown(id: &str, body: &Body) -> Refusal {
    let ids = || body.outcomes.iter().map(|outcome| outcome.id.as_str());
    let shown = text::visible_line(id);
    let help = match nearest(id, ids()) {
        Some(near) => format!("did you mean {}?", text::visible_line(near)),
        None => format!("it has {}", listed(ids())),
    };
    Refusal::new(
        format!("the open contract has no outcome {shown}; {help}"),
        "git arkaint contract show",
    )
}

/// `a, b, c and 2 more`.
pub(super) fn listed<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    let ids: Vec<String> = ids.map(text::visible_line).collect();
    let most = 10;
    let more = match ids.len().saturating_sub(most) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", ids[..ids.len().min(most)].join(", "))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn words(line: &[&str]) -> Vec<String> {
        line.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_command_is_compared_by_its_words_and_never_across_a_shell() {
        let bash = |text: &str| CommandLine::Bash(text.to_owned());
        for (check, argv) in [
            (bash("cargo test  'a b'"), words(&["cargo", "test", "a b"])),
            (bash("make check "), words(&["make", "check"])),
            (bash("a | b && c"), words(&["bash", "-c", "a | b && c"])),
            (bash("a; b\n"), words(&["bash", "-c", "a; b"])),
            (
                CommandLine::Argv(words(&["x", "|", "y"])),
                words(&["x", "|", "y"]),
            ),
        ] {
            assert!(is_command(&check, &argv), "{check:?} {argv:?}");
        }
        for (check, argv) in [
            (bash("x | y"), words(&["x", "|", "y"])),
            (bash("x $Y"), words(&["x", "$Y"])),
            (bash("x # y"), words(&["x", "#", "y"])),
            (bash("x\ny"), words(&["x", "y"])),
            (bash("x *"), words(&["x", "*"])),
            (bash("x 'y"), words(&["x", "'y"])),
            (bash("true"), words(&["true", "more"])),
            (bash("a | b"), words(&["sh", "-c", "a | b"])),
            (bash("x; y"), words(&["bash", "-c", "x"])),
            (CommandLine::Argv(words(&["x", "y"])), words(&["x y"])),
        ] {
            assert!(!is_command(&check, &argv), "{check:?} {argv:?}");
        }
    }

    #[test]
    fn a_script_of_the_contract_fails_with_the_first_command_that_does() {
        let text = "[[outcomes]]\nid = 'x'\ncheck = {kind = 'command', command = 'a | b'}\n";
        let body = Body::read(Path::new("c.toml"), text).unwrap();
        let given = words(&["bash", "-c", "a | b"]);
        let run = super::words(Some(&body), &given);
        assert_eq!(run, words(&["bash", "-c", "set -euo pipefail\na | b"]));
        assert_eq!(super::words(None, &given), given);
        let other = words(&["bash", "-c", "a"]);
        assert_eq!(super::words(Some(&body), &other), other);
    }

    const CONTRACT: &str = r"
        [[outcomes]]
        id = 'parses'
        check = {kind = 'test', command = 'make test'}
        [[outcomes]]
        id = 'prints'
        check = {kind = 'command', command = ['make', 'test']}
        [[outcomes]]
        id = 'looks'
        check = {kind = 'manual'}
        [[outcomes]]
        id = 'fast'
        check = {kind = 'command', command = 'make bench'}
    ";

    #[test]
    fn what_is_named_must_be_there_and_is_answered_for_only_by_its_own_command() {
        let body = Body::read(Path::new("c.toml"), CONTRACT).unwrap();
        let argv = words(&["make", "test"]);
        let of = |named: &[&str]| outcomes(Some(&body), &words(named), &argv);
        let ids = |named: &[&str]| {
            let claims = of(named).unwrap().into_iter();
            claims
                .map(|claim| (claim.id, claim.other))
                .collect::<Vec<_>>()
        };
        let own = |id: &str| (id.to_owned(), None);
        assert_eq!(ids(&[]), [own("parses"), own("prints")]);
        assert_eq!(ids(&["parses", " parses "]), [own("parses")]);
        assert_eq!(
            ids(&["fast"]),
            [("fast".to_owned(), Some("make bench".to_owned()))]
        );
        let no = |named: &str| of(&[named]).unwrap_err().cause;
        assert_eq!(
            no("parse"),
            "the open contract has no outcome parse; did you mean parses?"
        );
        assert_eq!(
            no("zzz"),
            "the open contract has no outcome zzz; it has parses, prints, looks, fast"
        );
        assert_eq!(
            no("looks"),
            "outcome looks is one that a person sees: no command shows it"
        );
        // U+FEFF is white to whoever reads the file: an id of it alone would break that.
        for blank in [" ", "\u{feff}"] {
            assert_eq!(no(blank), "an outcome is named by 1 to 200 characters");
        }
        let free = outcomes(None, &words(&["any", "\u{feff}any "]), &argv).unwrap();
        assert_eq!(free, [plain("any".to_owned())]);
    }
}
