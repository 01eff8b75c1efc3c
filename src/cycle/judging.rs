//! What one launch came to: outcome, failures, checks, in one judgement with all findings, and its records. It decides no next step.

use anyhow::Result;
use serde_json::json;

use super::checks::{self, Care, Checked, Red, Verdict};
use super::launch::{After, Brief};
use super::machine::{Checks, Judgement};
use super::open::Open;
use super::projection;
use super::proof::{Before, Proof};
use super::run_record::{self, Facts};
use super::signals;
use crate::agent::launch::AgentRun;
use crate::agent::{Last, Outcome, Transcript, Usage};
use crate::archive::Snapshot;
use crate::config::WhenGreen;
use crate::evidence::standing::Standing;
use crate::gate::Pass;
use crate::git::Oid;
use crate::git::hardened::Hardened;
use crate::guard::Broken;
use crate::judge::outcome::{self, Ending, Stopped};
use crate::judge::{Signature, ToolReport, Trip};
use crate::ledger::notes;
use crate::packet::Packet;
use crate::process::{self, How};
use crate::text;
use crate::ui::{Tone, Ui};

/// Everything known after a launch.
pub(crate) struct Launched {
    pub run: String,
    pub judgement: Judgement,
    /// What the next launch, or the operator, must know: one line each.
    pub findings: Vec<String>,
    /// The end of the failing check's output.
    pub output: Option<String>,
    /// The failure that the breaker answered to.
    pub trip: Option<Trip>,
    /// Protected paths that were put back.
    pub protected: Vec<String>,
    /// Rules that were broken.
    pub broken: Vec<Broken>,
    /// What the agent said last, without the completion line.
    pub said: String,
    /// One line: how it ended.
    pub reason: String,
    /// The tree that the checks found green.
    pub green: Option<Oid>,
    pub before: Snapshot,
    /// A signal told us to stop.
    pub interrupted: Option<i32>,
    pub provider: String,
    pub model: String,
    /// What is asked of the evidence, and how it stands now.
    pub proven: Option<(Proof, Standing)>,
}

/// What a launch leaves to be judged.
pub(super) struct Evidence {
    pub run: String,
    pub ran: AgentRun,
    pub report: ToolReport,
    pub tokens: usize,
    pub before: Snapshot,
    pub stable: Oid,
    pub after: After,
    pub packet: Packet,
    pub piped: String,
    pub version: Option<String>,
    /// What is asked of the evidence, and how it stood before.
    pub asked: Option<Before>,
}

/// Judges one launch, in the order of the manual, and records it.
pub(super) fn judge(
    pass: &Pass,
    open: &mut Open,
    brief: &Brief<'_>,
    git: &Hardened<'_>,
    ui: &Ui,
    evidence: Evidence,
) -> Result<Launched> {
    let (ran, after, before) = (&evidence.ran, &evidence.after, &evidence.before);
    let interrupted = match ran.how {
        How::Interrupted(signal) => Some(signal),
        _ => process::interrupted(),
    };
    let (mut outcome, reason) = outcome::of(pass.config.agent.name, &ran.transcript, &ending(ran));
    let wrote_evidence = match &evidence.asked {
        Some(before) => before.was_written(pass)?,
        None => false,
    };
    let changed = after.tree != evidence.stable || wrote_evidence;
    if outcome == Outcome::Done && after.tree == before.tree && !changed {
        outcome = Outcome::NoOp;
    }
    ui.say(
        tone(outcome),
        format!("the agent ended: {} ({reason})", outcome.word()),
    );
    if ran.swept > 0 {
        ui.say(
            Tone::Dim,
            format!(
                "ended {} that it left behind",
                text::counted(ran.swept, "process")
            ),
        );
    }
    if ran.left > 0 {
        ui.warn(format!(
            "{} processes of the run could not be ended",
            ran.left
        ));
    }
    if ran.log_cut > 0 {
        ui.warn(format!(
            "the log is capped at {}: {} of the stream are not in it",
            text::human_bytes(pass.config.budget.log_bytes),
            text::human_bytes(ran.log_cut)
        ));
    }

    let kept_rules = after.broken.is_empty() && after.protected.is_empty();
    let says_something = !matches!(
        outcome,
        Outcome::NoOp | Outcome::Unusable | Outcome::Limited | Outcome::Unreachable
    );
    let judged = brief.check
        && kept_rules
        && says_something
        && ran.budget.is_none()
        && interrupted.is_none();
    let checked = if judged && !open.progress.is_summary() {
        Some(checks::run(
            pass,
            Care {
                twice: true,
                all: true,
            },
            None,
            ui,
        )?)
    } else {
        None
    };
    let mut trips = Trips::default();
    if interrupted.is_none() && kept_rules {
        trips.tools = open.breaker.tool_launch(&evidence.report);
    }
    let (state, reds) = state(checked.as_ref());
    if state == Checks::Red {
        trips.checks = open.breaker.check_judgement(&signatures(reds));
    } else if state == Checks::Green {
        open.breaker.check_judgement(&[]);
    }

    let standing = match (&evidence.asked, &checked) {
        (Some(Before { proof, .. }), Some(checked)) => {
            let (tree, green) = (checked.content.tree, state == Checks::Green);
            Some(proof.stand(&pass.worktree, &pass.config, tree, green)?)
        }
        _ => None,
    };
    let to_do = standing.as_ref().map(Standing::to_do).unwrap_or_default();
    let mut findings = findings(after, outcome, &reason, checked.as_ref(), ran);
    findings.extend(to_do.iter().cloned());
    open.tokens = open
        .tokens
        .zip(ran.transcript.usage.and_then(Usage::total))
        .map(|(sum, used)| sum + used);
    let score = run_record::drift(pass, git, &open.task, &evidence, ui);
    let scale = run_record::scale(pass);
    let facts = Facts {
        outcome,
        reason: &reason,
        changed,
        checks: state,
        drift: score.as_ref().map(|score| scale.to_json(score)),
        evidence: standing.as_ref().map(|standing| {
            json!({"verify": standing.verify.state().name(), "overall": standing.assessment.overall.name(), "to_do": to_do})
        }),
    };
    let mut records = vec![run_record::of(pass, open, brief, &evidence, &facts)];
    for red in reds {
        let failures = red.signatures.iter();
        records.extend(failures.map(|s| run_record::failure(&evidence.run, open, red, s)));
    }
    let drift = score.as_ref().map(|score| (score, &scale));
    let signs = signals::of_launch(pass, open, git, &evidence, drift, reds)?;
    records.extend(signals::records(&signs, &evidence.run, open));
    signals::say(&signs, ui);
    notes::append(&pass.worktree, open.on, &records)?;
    projection::append(&pass.worktree, &records)?;
    let trip = trips.checks.clone().or_else(|| trips.tools.clone());
    let output = reds.first().map(|red| red.run.tail(120));
    let said = said(&ran.transcript);
    Ok(Launched {
        judgement: Judgement {
            protected: !after.protected.is_empty(),
            rule: !after.broken.is_empty(),
            outcome,
            budget: ran.budget.clone(),
            changed,
            checks: state,
            evidence: !to_do.is_empty(),
            tools_trip: trips.tools.map(|t| t.reason),
            checks_trip: trips.checks.map(|t| t.reason),
            warn_when_green: pass.config.breaker.when_green == WhenGreen::Warn,
        },
        green: (state == Checks::Green)
            .then(|| checked.as_ref().map(|c| c.content.tree))
            .flatten(),
        provider: run_record::provider(pass, &ran.transcript).unwrap_or_default(),
        model: run_record::model(pass, &ran.transcript).unwrap_or_default(),
        protected: evidence.after.protected,
        broken: evidence.after.broken,
        run: evidence.run,
        findings,
        output,
        trip,
        said,
        reason,
        before: evidence.before,
        interrupted,
        proven: evidence.asked.map(|before| before.proof).zip(standing),
    })
}

/// How the process ended, as the outcome is judged by it.
fn ending(ran: &AgentRun) -> Ending {
    let stopped = match &ran.how {
        How::Wall => Some(Stopped::Wall),
        How::Idle => Some(Stopped::Idle),
        How::Stopped(why) => Some(Stopped::Cap(why.clone())),
        How::Interrupted(_) => Some(Stopped::Interrupted),
        How::NotStarted(_) | How::Exited(_) | How::Signaled(_) => None,
    };
    let signal = match ran.how {
        How::Signaled(signal) => Some(signal),
        _ => None,
    };
    let (exit_code, stderr) = match &ran.how {
        How::NotStarted(why) => (Some(127), why.clone()),
        _ => (ran.code, ran.stderr.clone()),
    };
    Ending {
        exit_code,
        signal,
        stopped,
        stderr,
    }
}

#[derive(Default)]
struct Trips {
    tools: Option<Trip>,
    checks: Option<Trip>,
}

fn tone(outcome: Outcome) -> Tone {
    if outcome == Outcome::Done {
        Tone::Good
    } else {
        Tone::Warn
    }
}

fn state(checked: Option<&Checked>) -> (Checks, &[Red]) {
    match checked.map(|c| &c.verdict) {
        None => (Checks::NotRun, &[]),
        Some(Verdict::Green | Verdict::Untested) => (Checks::Green, &[]),
        Some(Verdict::Red(reds)) => (Checks::Red, reds),
        Some(Verdict::Flaky(reds)) => (Checks::Flaky, reds),
        Some(Verdict::RanNothing(_)) => (Checks::Red, &[]),
        Some(Verdict::Moved(_)) => (Checks::Flaky, &[]),
    }
}

/// The failing set: one member a cause.
pub(super) fn signatures(reds: &[Red]) -> Vec<Signature> {
    reds.iter()
        .flat_map(|red| red.signatures.iter().cloned())
        .collect()
}

fn findings(
    after: &After,
    outcome: Outcome,
    reason: &str,
    checked: Option<&Checked>,
    ran: &AgentRun,
) -> Vec<String> {
    let mut findings: Vec<String> = after
        .broken
        .iter()
        .map(|b| format!("a rule was broken: {}; it was put back", b.what))
        .collect();
    if !after.protected.is_empty() {
        findings.push(format!(
            "protected paths were changed and put back: {}",
            after.protected.join(", ")
        ));
    }
    if outcome != Outcome::Done {
        findings.push(format!("the launch ended as {}: {reason}", outcome.word()));
    }
    if ran.repeated {
        findings.push("the same call was made again and again with the same result".to_owned());
    }
    match checked.map(|c| &c.verdict) {
        Some(Verdict::Red(reds)) => findings.extend(reds.iter().map(Red::line)),
        Some(Verdict::Flaky(reds)) => findings.extend(
            reds.iter()
                .map(|r| format!("{}, then passed on the same files: flaky", r.line())),
        ),
        Some(Verdict::RanNothing(what)) => findings.push(what.clone()),
        Some(Verdict::Moved(paths)) => findings.push(format!(
            "files kept changing while the checks ran: {}",
            checks::few(paths)
        )),
        _ => {}
    }
    findings
}

/// The closing message without the line that only we asked for.
fn said(transcript: &Transcript) -> String {
    if transcript.last != Last::Model {
        return String::new();
    }
    let text = transcript.last_message.trim_end();
    let text = text
        .strip_suffix(crate::agent::COMPLETION_LINE)
        .unwrap_or(text);
    text.trim().to_owned()
}
