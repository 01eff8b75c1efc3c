//! What is kept of one launch: its record, its failures, its drift. It judges nothing.

use serde_json::{Value, json};

use super::checks::{self, Red};
use super::judging::Evidence;
use super::launch::Brief;
use super::machine::Checks;
use super::open::Open;
use super::spending;
use crate::agent::{self, Outcome, Transcript};
use crate::decay::{self, Embedder, Model, Scale, Score};
use crate::gate::Pass;
use crate::git::hardened::{Attributes, Hardened};
use crate::judge::{Signature, ToolReport};
use crate::ledger::{Kind, Record};
use crate::packet::Instruction;
use crate::text;
use crate::ui::Ui;

/// What the judge found, for the record.
pub(super) struct Facts<'a> {
    pub outcome: Outcome,
    pub reason: &'a str,
    /// The content differs from the stable one.
    pub changed: bool,
    pub checks: Checks,
    pub drift: Option<Value>,
    /// How the evidence stands, where any is asked for and it was judged.
    pub evidence: Option<Value>,
}

/// The `run` record of one launch: every field is in `git-arkaint-ledger(5)`.
pub(super) fn of(
    pass: &Pass,
    open: &Open,
    brief: &Brief<'_>,
    evidence: &Evidence,
    facts: &Facts<'_>,
) -> Record {
    let (ran, agent) = (&evidence.ran, &pass.config.agent);
    let usage = ran.transcript.usage;
    let protected = evidence
        .after
        .protected
        .iter()
        .map(|p| format!("protected path {p}"));
    let broken: Vec<String> = evidence
        .after
        .broken
        .iter()
        .map(|b| b.what.clone())
        .chain(protected)
        .collect();
    let fields = json!({
        "cycle": open.id,
        "agent": agent.name.as_str(),
        "version": evidence.version,
        "provider": provider(pass, &ran.transcript),
        "model": model(pass, &ran.transcript),
        "endpoint": agent::adapter(agent.name).endpoint(agent),
        "wrapper": agent.wrapper,
        "profile": pass.profile,
        "branch": pass.branch,
        "task": open.task,
        "attempt": open.progress.attempt(),
        "fix_round": open.progress.fix_rounds(),
        "instruction": brief.instruction.map(Instruction::title),
        "base": open.on.to_string(),
        "archive": evidence.before.id,
        "packet": {
            "bytes": evidence.piped.len(),
            "tokens": evidence.tokens,
            "tokenizer": "o200k",
            "sha256": sha256(&evidence.piped),
            "sensitive_left_out": evidence.packet.sensitive_left_out,
        },
        "tokens": usage,
        "tokens_estimated": usage.is_none().then(|| ran.transcript.tokens().total),
        "cost": spending::Cost::of(ran, &pass.config).to_json(),
        "seconds": ran.duration.as_secs_f64(),
        "exit": ran.code,
        "outcome": facts.outcome.word(),
        "reason": facts.reason,
        "changed": facts.changed,
        "checks": checks_word(facts.checks),
        "evidence": facts.evidence,
        "signatures": tallies(&evidence.report),
        "log": {"bytes": ran.log_bytes, "sha256": ran.log_sha256, "left_out": ran.log_cut},
        "drift": facts.drift,
        "infra_edits": pass.infra_edits.then_some(true),
        "broken": broken,
    });
    Record::with_id(Kind::Run, evidence.run.clone(), fields)
}

fn checks_word(state: Checks) -> &'static str {
    match state {
        Checks::Green => "green",
        Checks::Red => "red",
        Checks::Flaky => "flaky",
        Checks::NotRun => "not run",
    }
}

/// What the agent's own checks came to, for the record.
fn tallies(report: &ToolReport) -> Vec<Value> {
    let shown = |tally: &crate::judge::Tally| {
        let signature = &tally.seen.signature;
        json!({"signature": signature.hash, "family": signature.family(), "label": signature.label, "line": signature.raw, "count": tally.count, "total": tally.total, "resolved": tally.resolved})
    };
    report.tallies().take(50).map(shown).collect()
}

pub(super) fn provider(pass: &Pass, transcript: &Transcript) -> Option<String> {
    transcript
        .provider
        .clone()
        .or_else(|| agent::adapter(pass.config.agent.name).provider(&pass.config.agent))
}

pub(super) fn model(pass: &Pass, transcript: &Transcript) -> Option<String> {
    transcript
        .model
        .clone()
        .or_else(|| pass.config.agent.model.clone())
}

fn sha256(text: &str) -> String {
    text::hex(&<sha2::Sha256 as sha2::Digest>::digest(text.as_bytes()))
}

pub(super) fn failure(run: &str, open: &Open, red: &Red, signature: &Signature) -> Record {
    Record::new(
        Kind::Failure,
        json!({"run": run, "cycle": open.id, "check": checks::name(red.run.kind), "how": red.run.how, "signature": signature.hash, "family": signature.family(), "label": signature.label, "line": signature.raw}),
    )
}

/// The operator's own threshold, or this repository's.
pub(super) fn scale(pass: &Pass) -> Scale {
    let own = pass.config.drift.threshold;
    // Scores of another method are no measure for one that nobody fitted.
    if Embedder::of(&pass.config.drift).is_some() || (own - decay::THRESHOLD).abs() > f64::EPSILON {
        Scale::fixed(own)
    } else {
        Scale::kept(&pass.worktree)
    }
}

/// How far what was done is from the task; `None` when it cannot be told.
pub(super) fn drift(
    pass: &Pass,
    git: &Hardened<'_>,
    task: &str,
    evidence: &Evidence,
    ui: &Ui,
) -> Option<Score> {
    const MAX_DIFF: usize = 2 * 1024 * 1024;
    let trees = [
        evidence.before.tree.to_string(),
        evidence.after.tree.to_string(),
    ];
    let mut diff = git
        .call(
            Attributes::Raw,
            [
                "diff-tree",
                "-p",
                "-U2",
                "-r",
                "--no-ext-diff",
                "--no-textconv",
                "--no-color",
            ],
        )
        .args(trees)
        .bytes()
        .ok()?;
    diff.truncate(MAX_DIFF);
    let model = Model::at(&pass.worktree, Some(pass.head)).ok()?;
    let mut score = model.score(task, &diff);
    let said = &evidence.ran.transcript.last_message;
    score.said = model.said(task, said);
    if let Some(embedder) = Embedder::of(&pass.config.drift)
        && let Err(error) =
            embedder.rescore(&pass.worktree, pass.head, &mut score, [task, said], &diff)
    {
        ui.warn(format!("{error:#}; drift is measured without it"));
    }
    Some(score)
}

/// A record's cost for people: `0.0123 USD`, `unknown`.
pub(crate) fn cost_word(cost: &Value) -> String {
    match (
        cost.get("usd").and_then(Value::as_f64),
        cost.get("source").and_then(Value::as_str),
    ) {
        (Some(usd), Some("reported")) => format!("{usd:.4} USD"),
        (Some(usd), _) => format!("{usd:.4} USD (computed)"),
        _ => "cost unknown".to_owned(),
    }
}
