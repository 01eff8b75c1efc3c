//! What the work must leave and prove, in words for the agent: the brief of the prompt, and the evidence layer that lets another agent take a
//! task over. It reads no file and judges nothing.

use std::fmt::Write as _;

use crate::config::{CommandLine, Dod, DodKind};
use crate::evidence::artifact::Artifact;
use crate::evidence::contract::{Frozen, Outcome};
use crate::evidence::standing::Standing;
use crate::evidence::{dod, plan, verify};
use crate::text;

/// Bytes of a plan, the approved one in the brief and the worker's in the evidence layer.
const PLAN: usize = 4 << 10;

/// What is asked: the project's items, and the contract where one is open.
pub(crate) struct Asked<'a> {
    pub frozen: Option<&'a Frozen>,
    pub project: &'a [Dod],
    /// Where `dod.json` lies.
    pub dod_path: &'a str,
    /// The plan that a person approved; empty where its text is not here.
    pub plan: Option<&'a str>,
}

/// The brief: which files to leave, in which shape, and what they must prove. The part that is the same for every task comes first.
pub(crate) fn brief(asked: &Asked<'_>) -> String {
    let mut out = format!(
        "Leave evidence in `.ak-loop/` at the top of this worktree before you finish. It is read and checked, never committed.\n\n\
         - `{}`: what you ran, and what came of each outcome below. `git arkaint verify --outcome ID -- COMMAND` runs a command and writes \
         it for you; else write it yourself, in exactly this shape:\n  \
         {{\"ranAt\": \"2026-01-31T12:00:00Z\", \"command\": \"what you ran\", \"exitCode\": 0, \"outcomes\": [{{\"id\": \"ID\", \"status\": \
         \"passed\", \"evidence\": \"the line that shows it\"}}]}}\n  `status` is `passed` or `failed`. It is required, also when nothing passed.\n",
        verify::PATH
    );
    let commands = asked
        .project
        .iter()
        .any(|item| item.kind == DodKind::Command);
    if commands || asked.dod_path != dod::PATH {
        let _ = writeln!(
            out,
            "- `{}`: proofs of the project's items that name a command, in this shape:\n  {{\"project\": [{{\"id\": \"ID\", \"status\": \
             \"passed\", \"evidence\": \"the line that shows it\"}}]}}",
            text::visible_line(asked.dod_path)
        );
    }
    if asked.plan.is_some() {
        let _ = writeln!(
            out,
            "- `{}`: the plan that you followed, and where and why it departs from the approved one. It is required.",
            plan::PATH
        );
    }
    out.push_str(
        "\nRun what proves an outcome after your last change: a proof from before it does not count. Write `failed` where it failed; what you \
         write is checked against our own runs.\n",
    );
    if !asked.project.is_empty() {
        out.push_str("\nThe project asks of every change:\n");
        for item in asked.project {
            let _ = writeln!(
                out,
                "- `{}`: {}",
                text::visible_line(&item.id),
                of_project(item)
            );
        }
    }
    if let Some(frozen) = asked.frozen {
        contract(&mut out, frozen);
    }
    if let Some(plan) = asked.plan.filter(|plan| !plan.trim().is_empty()) {
        let (kept, left_out) = text::cut_on_line(plan.trim(), PLAN);
        let _ = writeln!(
            out,
            "\nThe plan that was approved. Follow it, or say in {} where you did not and why:\n\n{kept}",
            plan::PATH
        );
        if left_out > 0 {
            let _ = writeln!(out, "[... {left_out} bytes left out ...]");
        }
    }
    out
}

fn contract(out: &mut String, frozen: &Frozen) {
    let body = &frozen.contract.body;
    let _ = writeln!(
        out,
        "\nThe contract of this task ({}):",
        &frozen.digest[..12]
    );
    if !body.intent.trim().is_empty() {
        let _ = writeln!(out, "{}", body.intent.trim());
    }
    for (title, lines) in [
        ("In scope", &body.in_scope),
        ("Out of scope", &body.out_of_scope),
        ("Touchpoints", &body.touchpoints),
        ("Risks", &body.risks),
    ] {
        if !lines.is_empty() {
            let _ = writeln!(out, "{title}: {}.", lines.join("; "));
        }
    }
    out.push_str("Outcomes to prove:\n");
    for outcome in &body.outcomes {
        let _ = writeln!(
            out,
            "- `{}`: {}",
            text::visible_line(&outcome.id),
            of_contract(outcome)
        );
    }
}

fn of_project(item: &Dod) -> String {
    let within = match item.paths.as_slice() {
        [] => String::new(),
        paths => format!(" in `{}`", paths.join("`, `")),
    };
    let what = match item.kind {
        DodKind::Command => format!(
            "`{}` exits 0",
            shell_words::join(item.command.as_deref().unwrap_or_default())
        ),
        DodKind::FileChanged => {
            let matching = item
                .glob
                .as_ref()
                .map(|glob| format!(" that matches `{glob}`"));
            format!(
                "a file{}{within} is changed (we look ourselves)",
                matching.unwrap_or_default()
            )
        }
        DodKind::PatternAbsent => format!(
            "no changed file{within} holds `{}` (we look ourselves)",
            item.pattern.as_deref().unwrap_or_default()
        ),
    };
    match &item.description {
        Some(description) => format!("{description}: {what}"),
        None => what,
    }
}

fn of_contract(outcome: &Outcome) -> String {
    let mut line = outcome.description.clone();
    let command = outcome.check.command.as_ref().map(CommandLine::typed);
    let how = match (outcome.check.kind.name(), command) {
        ("manual", _) => "a person will look at it".to_owned(),
        (kind, Some(command)) => format!("{kind}: `{command}`"),
        (kind, None) => kind.to_owned(),
    };
    let _ = write!(line, " ({how})");
    if let Some(note) = &outcome.check.note {
        let _ = write!(line, " {note}");
    }
    text::visible_line(line.trim())
}

/// The evidence layer: how each item stands, what to do, and the plan of whoever worked before.
pub(crate) fn layer(standing: &Standing) -> String {
    let mut out = String::new();
    for (name, detail) in [
        (verify::PATH, standing.verify.detail()),
        (standing.dod_path.as_str(), standing.dod.detail()),
        (plan::PATH, standing.plan.detail()),
    ] {
        let _ = writeln!(out, "{name}: {detail}");
    }
    out.push('\n');
    for row in &standing.assessment.rows {
        let _ = writeln!(out, "{:<8} {}", row.verdict.name(), row.reason);
    }
    for lack in &standing.lacks {
        let _ = writeln!(out, "lacking  {}", lack.line);
    }
    if let Artifact::Good(good) = &standing.plan {
        let plan = String::from_utf8_lossy(&good.bytes);
        let (kept, left_out) = text::cut_on_line(plan.trim(), PLAN);
        let _ = write!(out, "\nThe worker's plan:\n{kept}");
        if left_out > 0 {
            let _ = write!(out, "\n[... {left_out} bytes left out ...]");
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_told_as_it_is_run_and_with_where_it_looks() {
        let words = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        let of = |kind, paths: &[&str]| Dod {
            kind,
            command: Some(words(&["make", "trailing commas"])),
            pattern: Some("dbg!".to_owned()),
            paths: words(paths),
            ..Dod::default()
        };
        for (item, told) in [
            (
                of(DodKind::Command, &[]),
                "`make 'trailing commas'` exits 0",
            ),
            (
                of(DodKind::FileChanged, &["docs/**", "book/*"]),
                "a file in `docs/**`, `book/*` is changed (we look ourselves)",
            ),
            (
                Dod {
                    glob: Some("*.md".to_owned()),
                    ..of(DodKind::FileChanged, &[])
                },
                "a file that matches `*.md` is changed (we look ourselves)",
            ),
            (
                of(DodKind::PatternAbsent, &["src/**"]),
                "no changed file in `src/**` holds `dbg!` (we look ourselves)",
            ),
        ] {
            assert_eq!(of_project(&item), told);
        }
    }
}
