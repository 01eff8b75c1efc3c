//! A rollback in words: for the ledger and for people. It rolls nothing back.

use crate::archive::rollback::Report;
use crate::journal::Target;
use crate::text;
use crate::ui::{Tone, Ui};

/// The fields of a `rollback` record.
pub(crate) fn record_fields(
    report: &Report,
    target: &Target,
    why: &str,
    branch: &str,
) -> serde_json::Value {
    serde_json::json!({
        "why": why,
        "branch": branch,
        "to": target.commit.to_string(),
        "archive": report.archive.id,
        "archived": report.archive.commit.to_string(),
        "paths": report.changed,
        "differs": report.differs,
    })
}

/// Tells what a rollback did, and how to get the work back.
pub(crate) fn say(report: &Report, target: &Target, ui: &Ui) {
    let to = target.commit.to_hex_with_len(12);
    let paths = if report.changed == 1 {
        "1 path".to_owned()
    } else {
        format!("{} paths", report.changed)
    };
    ui.say(
        Tone::Good,
        format!(
            "rolled back to {to}: {paths} changed; what was there is archived as {}",
            report.archive.id
        ),
    );
    ui.say(
        Tone::Dim,
        format!(
            "get it back: git arkaint discarded restore {}",
            report.archive.id
        ),
    );
    for (from, to) in &report.moved {
        ui.say(
            Tone::Plain,
            format!(
                "{} was moved to {}",
                text::visible_line(&String::from_utf8_lossy(from)),
                to.display()
            ),
        );
    }
    for odd in &report.odd {
        ui.warn(format!(
            "{} is {}: no archive can hold it, and it stays",
            text::visible_line(&String::from_utf8_lossy(&odd.path)),
            odd.kind
        ));
    }
    for path in &report.differs {
        ui.warn(format!(
            "{} is not as {to} has it",
            text::visible_line(path)
        ));
    }
}
