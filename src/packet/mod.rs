//! What the agent is told: a prompt (rules, profile, task, correction) and a payload (what the repository says about the work so far),
//! bounded, the same for the same state, and with all text that is not ours fenced. It finds no checkpoint and launches nothing.

pub(crate) mod brief;
mod fence;
pub(crate) mod instruction;
mod intent;
mod micro_diff;
mod patch;
mod payload;
mod preload;
mod prompt;
mod survey;
#[cfg(test)]
mod tests;
mod topology;
mod withheld;

use std::borrow::Cow;
use std::ops::Range;

use anyhow::Result;

use crate::config::Profile;
use crate::git::changes::Changes;
use crate::git::patch::Comparer;
use crate::git::{Oid, Worktree};

pub(crate) use instruction::Instruction;

use payload::Payload;
use survey::Survey;
use withheld::Withheld;

/// The choke point for secrets, as the packet calls it.
pub(crate) type Redact<'a> = &'a dyn Fn(&str) -> Cow<'_, str>;

/// All that a packet is made from.
pub(crate) struct Input<'a> {
    pub task: &'a str,
    /// Where the whole task can be read when the packet has no room for it (a path from the worktree's top).
    pub task_file: &'a str,
    pub profile_name: &'a str,
    pub profile: &'a Profile,
    /// The cap of prompt and payload together, in bytes.
    pub max_chars: usize,
    /// Is the content of this path never shown?
    pub sensitive: &'a dyn Fn(&[u8]) -> bool,
    pub redact: Redact<'a>,
    /// The last checkpoints, newest first; those beyond three are not looked at.
    pub history: &'a [Shown],
    /// Where a lone checkpoint is compared from (the merge base).
    pub base: Option<Oid>,
    /// In a fix round: the tree of the stable checkpoint, and the tree of what is on disk.
    pub in_flight: Option<(Oid, Oid)>,
    pub instruction: Option<&'a Instruction>,
    /// The protected paths that the rules name.
    pub infra: &'a [String],
    /// What the work must leave and prove ([`brief::brief`]).
    pub brief: Option<&'a str>,
    /// How the evidence stands ([`brief::layer`]), where any is asked for.
    pub evidence: Option<&'a str>,
}

/// One checkpoint as the packet shows it.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub commit: Oid,
    pub task: String,
    pub message: String,
    pub status: String,
    pub time: String,
    /// The ledger has a record of it.
    pub proven: bool,
}

/// What is piped to an agent, and of what it consists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    /// `runtime-prompt.md`
    pub prompt: String,
    /// `boot-payload.md`
    pub payload: String,
    pub layers: Vec<Layer>,
    /// Changes and files that were left out because their path is sensitive.
    pub sensitive_left_out: usize,
}

/// One part of a packet, for `--stats`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    pub name: &'static str,
    /// Where it stands in [`Packet::piped`].
    pub span: Range<usize>,
    /// Bytes left out for lack of room.
    pub cut_bytes: usize,
    /// Paths and files left out, for lack of room or as sensitive.
    pub left_out: usize,
}

/// What a layer had to leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cut {
    bytes: usize,
    items: usize,
}

impl Packet {
    /// Exactly what the agent reads on its standard input: the prompt, then the payload.
    pub(crate) fn piped(&self) -> String {
        format!("{}{}", self.prompt, self.payload)
    }
}

/// Builds the packet: never longer than the cap, whatever the history holds.
///
/// # Errors
/// A [`crate::exit::Refusal`] when the cap has no room for the prompt itself.
pub(crate) fn build(worktree: &Worktree, input: &Input) -> Result<Packet> {
    let prompt = prompt::compose(input, payload::FRAME)?;
    let history = &input.history[..input.history.len().min(3)];
    let across = range(history, input.base);
    let seen = Seen::look(worktree, input, across);
    let present = [
        across.is_some(),
        input.in_flight.is_some(),
        !input.profile.preload.is_empty(),
        input.evidence.is_some(),
    ];

    let mut payload = Payload::new(&prompt, input.max_chars, present);
    let title = intent::title(history, across.is_some());
    payload.fenced("intent", &title, |room| {
        intent::body(history, room, input.redact)
    });
    if let (Some((from, to)), Some(survey)) = (across, &seen.across) {
        let (from, to) = (from.to_hex_with_len(12), to.to_hex_with_len(12));
        payload.fenced(
            "topology",
            &format!("Topology: what changed from {from} to {to}"),
            |room| seen.or_why(survey, room, topology::body),
        );
        let title = format!(
            "Micro-diff: from {from} to {to}, two lines of context{}",
            left_out(survey)
        );
        payload.fenced("micro-diff", &title, |room| {
            seen.or_why(survey, room.min(seen.diff_chars), |survey, room, redact| {
                micro_diff::body(&survey.patches, room, redact)
            })
        });
    }
    if let Some(survey) = &seen.flight {
        let title = format!(
            "Work in flight: what is on disk beyond the stable checkpoint{}",
            left_out(survey)
        );
        payload.fenced("in-flight", &title, |room| {
            seen.or_why(survey, room, |survey, room, redact| {
                in_flight(survey, room, seen.diff_chars, redact)
            })
        });
    }
    let mut sensitive = seen.sensitive();
    if !input.profile.preload.is_empty() {
        let found = preload::Found::at(worktree, &input.profile.preload);
        sensitive += found
            .as_ref()
            .map_or(0, |found| found.sensitive(&seen.withheld));
        payload.plain(
            "preload",
            "Preload: reference files of this profile, as of HEAD",
            |room| {
                preload::body(
                    worktree,
                    &found,
                    room.min(input.profile.preload_chars),
                    &seen.withheld,
                    input.redact,
                )
            },
        );
    }
    if let Some(evidence) = input.evidence {
        payload.fenced(
            "evidence",
            "Evidence: what is proven, what is missing, what failed, and the plan of the launch before",
            |room| {
                let (body, bytes) = fence::fit(&fence::clean(evidence, input.redact), 0, room);
                (body, Cut { bytes, items: 0 })
            },
        );
    }
    Ok(payload.end(prompt, sensitive))
}

/// Oldest to newest of the checkpoints; a lone one from `base`.
fn range(history: &[Shown], base: Option<Oid>) -> Option<(Oid, Oid)> {
    match history {
        [] => None,
        [only] => Some((base?, only.commit)),
        [newest, .., oldest] => Some((oldest.commit, newest.commit)),
    }
}

/// Two trees, what differs, and the means to look into it.
struct Pair<'a> {
    changes: Changes,
    comparer: Comparer<'a>,
}

impl<'a> Pair<'a> {
    fn read(worktree: &'a Worktree, from: Oid, to: Oid) -> Result<Self> {
        let changes = worktree.changes(from, to)?;
        let comparer = worktree.comparer(&changes, to)?;
        Ok(Self { changes, comparer })
    }
}

/// What was seen of the history and of the work in flight, and what must not be shown of it.
struct Seen<'a> {
    across: Option<Result<Survey>>,
    flight: Option<Result<Survey>>,
    withheld: Withheld<'a>,
    diff_chars: usize,
    redact: Redact<'a>,
}

impl<'a> Seen<'a> {
    fn look(worktree: &Worktree, input: &Input<'a>, across: Option<(Oid, Oid)>) -> Self {
        let diff_chars = input.profile.diff_chars.min(input.max_chars);
        let across = across
            .map(|(from, to)| Pair::read(worktree, worktree.tree_of(from)?, worktree.tree_of(to)?));
        let flight = input
            .in_flight
            .map(|(stable, current)| Pair::read(worktree, stable, current));
        let mut withheld = Withheld::new(input.sensitive);
        for pair in [&across, &flight].into_iter().flatten().flatten() {
            withheld.learn(&pair.changes, &pair.comparer);
        }
        let survey = |pair: Result<Pair>| {
            let mut pair = pair?;
            Ok(survey::survey(
                &pair.changes,
                &mut pair.comparer,
                &withheld,
                diff_chars,
            ))
        };
        Self {
            across: across.map(survey),
            flight: flight.map(survey),
            withheld,
            diff_chars,
            redact: input.redact,
        }
    }

    /// The body of a layer, or why there is none: one layer failing is no reason to launch without a packet.
    fn or_why(
        &self,
        survey: &Result<Survey>,
        room: usize,
        body: impl Fn(&Survey, usize, Redact) -> (String, Cut),
    ) -> (String, Cut) {
        match survey {
            Ok(survey) => body(survey, room, self.redact),
            Err(error) => unavailable(error, room, self.redact),
        }
    }

    fn sensitive(&self) -> usize {
        [&self.across, &self.flight]
            .into_iter()
            .flatten()
            .flatten()
            .map(|survey| survey.sensitive)
            .sum()
    }
}

fn unavailable(error: &anyhow::Error, max: usize, redact: Redact) -> (String, Cut) {
    let (body, bytes) = fence::fit(
        &fence::clean(&format!("not available: {error:#}\n"), redact),
        0,
        max,
    );
    (body, Cut { bytes, items: 0 })
}

fn left_out(survey: &Result<Survey>) -> String {
    match survey {
        Ok(Survey { sensitive: 1, .. }) => "; 1 sensitive path left out".to_owned(),
        Ok(Survey {
            sensitive: count @ 2..,
            ..
        }) => format!("; {count} sensitive paths left out"),
        _ => String::new(),
    }
}

/// The rows in a quarter of the room, then the patches.
fn in_flight(survey: &Survey, max: usize, diff_chars: usize, redact: Redact) -> (String, Cut) {
    let (mut body, rows) = topology::body(survey, max / 4, redact);
    body.push('\n');
    let (patches, files) = micro_diff::body(
        &survey.patches,
        max.saturating_sub(body.len()).min(diff_chars),
        redact,
    );
    body.push_str(&patches);
    let (body, bytes) = fence::fit(&body, 0, max);
    (
        body,
        Cut {
            bytes: rows.bytes + files.bytes + bytes,
            items: rows.items + files.items,
        },
    )
}
