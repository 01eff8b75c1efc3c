//! When the modes of decay are looked for, and what is shown to them: after a launch, at a trip, at a new checkpoint. What counts as a signal
//! is `decay`'s word, and no step of a cycle depends on one.

use anyhow::Result;

use super::checkpoint::Order;
use super::checks::Red;
use super::judging::{Evidence, Launched};
use super::open::Open;
use super::projection;
use crate::decay::boundary::Bounds;
use crate::decay::quick_fix::{self, Step};
use crate::decay::{Mode, Scale, Score, Signal, blindness, looping, spec};
use crate::gate::Pass;
use crate::git::hardened::Hardened;
use crate::judge::TripKind;
use crate::judge::check::CheckKind;
use crate::ledger::{Checkpoint, Record, notes, walk};
use crate::ui::Ui;

/// Modes 1, 4 and 6: did the run drift from its task, leave its bounds, or fail the spec?
pub(super) fn of_launch(
    pass: &Pass,
    open: &Open,
    git: &Hardened<'_>,
    evidence: &Evidence,
    drift: Option<(&Score, &Scale)>,
    reds: &[Red],
) -> Result<Vec<Signal>> {
    let mut signals = Vec::new();
    if let Some((score, scale)) = drift.filter(|(score, scale)| score.alarms(scale.threshold)) {
        let missing = score.missing.iter().take(5).cloned();
        let missing = missing.collect::<Vec<_>>().join(", ");
        signals.push(Signal {
            mode: Mode::ContextDrift,
            line: format!(
                "what the run did is far from its task: {:.2}, alarm below {:.2}; not in it: {missing}",
                score.z.unwrap_or(0.0),
                scale.threshold
            ),
            evidence: scale.to_json(score),
        });
    }
    let (inside, outside) = match &evidence.asked {
        Some(before) => before.proof.scope(),
        None => (&[][..], &[][..]),
    };
    let bounds = Bounds::new(&pass.profile().allow, inside, outside);
    let refused = &evidence.after.protected;
    if !bounds.is_open() || !refused.is_empty() {
        let changed = git
            .worktree()
            .changed_entries(evidence.before.tree, evidence.after.tree)?;
        signals.extend(bounds.signal(&changed, refused)?);
    }
    for red in reds.iter().filter(|red| red.run.kind == CheckKind::Spec) {
        let of_spec = |record: &&Record| Mode::of(record) == Some(Mode::SpecDivergence);
        let before = of_cycle(pass, open)?.iter().filter(of_spec).count() as u64;
        signals.push(spec::signal(&red.run.how, &red.signatures, before));
    }
    Ok(signals)
}

/// Modes 3 and 5: was it one failure again and again, were the failures of this cycle faces of one cause? Asked before the trip is recorded.
pub(super) fn of_trip(pass: &Pass, open: &Open, launched: &Launched) -> Result<Vec<Signal>> {
    let cycle = of_cycle(pass, open)?;
    let limits = &pass.config.breaker;
    let again = launched.trip.as_ref().map(|trip| {
        let threshold = match trip.kind {
            TripKind::Within => limits.within,
            TripKind::Across | TripKind::Check => limits.across,
        };
        looping::signal(trip, threshold, &cycle)
    });
    Ok(blindness::signal(&cycle).into_iter().chain(again).collect())
}

/// The records of this cycle so far, in the order in which they were appended.
fn of_cycle(pass: &Pass, open: &Open) -> Result<Vec<Record>> {
    let mut records = notes::on_commit(&pass.worktree, open.on)?;
    records.retain(|record| record.str("cycle") == open.id);
    Ok(records)
}

/// Mode 2: do quick fixes pile up in the checkpoints that end with `made`? Recorded on it. What goes wrong here is no fault of the checkpoint:
/// it is said, and the checkpoint stands.
pub(super) fn of_checkpoint(pass: &Pass, order: &Order, made: &Checkpoint, ui: &Ui) {
    let keep = || -> Result<()> {
        let worktree = &pass.worktree;
        let mut line: Option<Vec<Checkpoint>> = None;
        let found = quick_fix::signal(|step| {
            // Most checkpoints add no mark, and two of them are soon found.
            let most = if step == 0 { 2 } else { quick_fix::STEPS + 1 };
            if line.as_ref().is_none_or(|line| step > 0 && line.len() == 2) {
                line = Some(walk::valid(worktree, made.commit, most)?);
            }
            let pair = line.as_ref().and_then(|line| line.get(step..step + 2));
            pair.map(|pair| Step::between(worktree, pair[1].tree, pair[0].tree))
                .transpose()
        })?;
        let Some(signal) = found else {
            return Ok(());
        };
        let record = signal.record(order.run.as_deref(), None);
        let records = [record];
        notes::append(worktree, made.commit, &records)?;
        projection::append(&pass.worktree, &records)?;
        say(&[signal], ui);
        Ok(())
    };
    if let Err(error) = keep() {
        ui.warn(format!(
            "the checkpoint could not be looked through for quick fixes: {error:#}"
        ));
    }
}

/// The records of signals that were seen in a run.
pub(super) fn records<'a>(
    signals: &'a [Signal],
    run: &'a str,
    open: &'a Open,
) -> impl Iterator<Item = Record> + 'a {
    signals
        .iter()
        .map(move |signal| signal.record(Some(run), Some(&open.id)))
}

/// Tells the operator.
pub(super) fn say(signals: &[Signal], ui: &Ui) {
    for signal in signals {
        let (number, name) = (signal.mode.number(), signal.mode.name());
        ui.warn(format!("decay, mode {number} ({name}): {}", signal.line));
    }
}
