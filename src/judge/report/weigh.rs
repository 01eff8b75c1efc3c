//! Which causes of a failing call count. Some calls only asked, and some ended for a reason that is not the code's.

use crate::agent::ToolUse;
use crate::judge::aim::{Aim, Purpose};
use crate::judge::extract::{self, Cause, Reading, RunEnd};
use crate::judge::signature::Kind;

/// The causes of a failing call that count.
pub(super) fn counted(
    aims: &[Aim],
    chain_asks: bool,
    tool: &ToolUse,
    reading: &Reading,
) -> Vec<Cause> {
    let checks = |aim: &Aim| {
        matches!(
            aim.purpose,
            Purpose::Test | Purpose::Build | Purpose::Lint | Purpose::Install
        )
    };
    let structured = || {
        reading
            .causes
            .iter()
            .filter(|cause| matches!(cause.kind, Kind::Test | Kind::Diagnostic))
            .cloned()
            .collect::<Vec<_>>()
    };
    let Some(first) = aims.first() else {
        return Vec::new();
    };
    if tool.timed_out || tool.exit_code == Some(124) {
        // A server that was started in the foreground does not end either; only a check should have.
        let hung = aims
            .iter()
            .find(|aim| checks(aim))
            .map(|aim| extract::timeout(&aim.tool));
        return structured().into_iter().chain(hung).collect();
    }
    if matches!(tool.exit_code, Some(130 | 143)) {
        return structured();
    }
    if aims.iter().all(|aim| aim.purpose == Purpose::Probe) {
        // A one-liner: whether something is installed or answers yet is a question; what fails in the project's code is not.
        let code = |cause: &&Cause| match cause.kind {
            Kind::Test | Kind::Diagnostic => true,
            Kind::Crash => !reading.not_ready,
            Kind::Missing => !reading.foreign && !reading.not_ready,
            Kind::Timeout | Kind::Other => false,
        };
        return reading.causes.iter().filter(code).cloned().collect();
    }
    if reading.run == RunEnd::None && reading.causes.iter().all(|cause| cause.kind == Kind::Other) {
        // Nothing was selected, or nothing is there yet.
        return Vec::new();
    }
    let told = reading.causes.iter().any(|cause| cause.kind != Kind::Other);
    if chain_asks && !told && tool.exit_code == Some(1) {
        return Vec::new();
    }
    if !told && let Some(death) = extract::death(tool.exit_code, tool.killed) {
        return vec![death];
    }
    if reading.causes.is_empty() {
        let says_no = tool.exit_code == Some(1) && !aims.iter().any(checks);
        return if says_no {
            Vec::new()
        } else {
            vec![extract::silent(&first.tool)]
        };
    }
    reading.causes.clone()
}
