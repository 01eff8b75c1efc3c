//! The gates, one after the other, cheapest first; the first that does not open is the answer, and it is named. Every gate that can be asked is
//! asked, so that the table shows all there is to do. Decides; writes nothing.

use anyhow::Result;
use serde_json::{Value, json};

use super::rerun::Reran;
use super::subject::Delivery;
use super::trial::{self, Trial};
use crate::config::protected::CONFIG_FILE;
use crate::evidence::approval;
use crate::evidence::assess::{Overall, Verdict};
use crate::evidence::standing::{self, Rerun, Standing, Subject};
use crate::exit::{Exit, Refusal};
use crate::git::Oid;
use crate::guard;
use crate::judge::leaks;
use crate::text;

/// Names in a line before the rest is counted.
const NAMED: usize = 5;

/// What one gate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Open,
    /// The worker must fix or prove something.
    Closed,
    /// A person must look.
    Held,
    /// Something is under way, or not where it should be.
    Waiting,
    /// It had nothing to look at, and vouches for nothing.
    Skipped,
}

impl Answer {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Held => "held",
            Self::Waiting => "waiting",
            Self::Skipped => "skipped",
        }
    }

    fn stops(self) -> bool {
        matches!(self, Self::Closed | Self::Held | Self::Waiting)
    }
}

/// One gate and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    pub name: &'static str,
    pub answer: Answer,
    /// One line: what was seen.
    pub why: String,
    /// The command that helps, where there is one.
    pub hint: Option<String>,
}

/// What a forge says about the commit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remote {
    /// Why nothing can be merged by it any more.
    pub over: Option<&'static str>,
    pub draft: bool,
    /// The head of the request, where it is not the delivered commit.
    pub other_head: Option<String>,
    pub failing: Vec<String>,
    pub pending: Vec<String>,
    pub passed: usize,
}

/// The answer of all gates.
#[derive(Debug)]
pub(crate) struct Judged {
    pub gates: Vec<Gate>,
    /// None where nothing could be looked at.
    pub standing: Option<Standing>,
}

impl Judged {
    /// The first gate that does not open.
    pub(crate) fn stop(&self) -> Option<&Gate> {
        self.gates.iter().find(|gate| gate.answer.stops())
    }

    pub(crate) fn is_open(&self) -> bool {
        self.stop().is_none()
    }

    /// One word: `open`, or what the first gate that stops says.
    pub(crate) fn word(&self) -> &'static str {
        self.stop().map_or("open", |gate| gate.answer.name())
    }

    pub(crate) fn exit(&self) -> Exit {
        match self.stop().map(|gate| gate.answer) {
            None => Exit::Done,
            Some(Answer::Closed) => Exit::CheckFailed,
            Some(_) => Exit::Person,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let gates = self.gates.iter().map(
            |gate| json!({"gate": gate.name, "answer": gate.answer.name(), "why": gate.why, "hint": gate.hint}),
        );
        gates.collect()
    }
}

/// Asks every gate.
///
/// # Errors
/// When the repository cannot be read.
pub(crate) fn judge(
    delivery: &Delivery<'_>,
    reran: Option<&Reran>,
    remote: Option<&Remote>,
) -> Result<Judged> {
    let released = approval::of_commit(delivery.worktree, delivery.head)?;
    let by = released.as_ref().map(|approval| approval.by.as_str());
    let mut gates = Vec::new();
    let place = place(delivery)?;
    let exact = place.answer == Answer::Open;
    gates.push(place);
    gates.extend(remote.map(request));
    gates.push(release(empty_delta(delivery)?, by, delivery.head));
    gates.push(release(protected(delivery)?, by, delivery.head));
    gates.push(release(secrets(delivery)?, by, delivery.head));
    gates.push(conflict(delivery)?);
    gates.extend(remote.map(checks));
    let own = reran.and_then(|reran| reran.own.as_ref());
    gates.extend(own.map(own_checks));
    let mut standing = None;
    match (&delivery.unproven, &delivery.not_assessed) {
        (Some(why), _) => gates.push(Gate {
            name: "contract",
            answer: Answer::Held,
            why: why.clone(),
            hint: Some("git arkaint contract show; freeze it again if it is right".to_owned()),
        }),
        (None, Some(why)) => gates.push(Gate {
            name: "artifacts",
            answer: Answer::Held,
            why: format!("not assessed: {why}; nothing of it is held against the worker"),
            hint: Some(format!(
                "look at it, then merge it by hand: git merge {}",
                shell_words::quote(delivery.branch.as_deref().unwrap_or("COMMIT"))
            )),
        }),
        (None, None) => {
            let items: &[Rerun] = reran.map_or(&[], |reran| &reran.items);
            let found = standing::of(&evidence(delivery, exact, items))?;
            gates.push(artifacts(&found));
            gates.push(lists(&found));
            standing = Some(found);
        }
    }
    let again = own.is_some_and(|(passed, _)| *passed);
    gates.push(floor(delivery, standing.as_ref(), remote, again));
    Ok(Judged { gates, standing })
}

/// The subject of the evidence.
pub(crate) fn evidence<'a>(
    delivery: &'a Delivery<'_>,
    exact: bool,
    rerun: &'a [Rerun],
) -> Subject<'a> {
    Subject {
        worktree: delivery.worktree,
        folder: delivery.folder.as_deref(),
        head: Some(delivery.head),
        tree: delivery.tree,
        base: Some(delivery.base.fork),
        exact,
        frozen: delivery.frozen.as_ref(),
        config: &delivery.config,
        dispatched: delivery.dispatched,
        records: delivery.records,
        green: delivery.green.is_some(),
        rerun,
    }
}

fn gate(name: &'static str, answer: Answer, why: impl Into<String>) -> Gate {
    Gate {
        name,
        answer,
        why: why.into(),
        hint: None,
    }
}

/// A hold that a person released for exactly this commit.
fn release(mut gate: Gate, by: Option<&str>, head: Oid) -> Gate {
    if gate.answer == Answer::Held {
        match by {
            Some(by) => {
                gate.answer = Answer::Open;
                gate.why = format!("{}; approved by {by}", gate.why);
                gate.hint = None;
            }
            None => {
                gate.hint = Some(format!(
                    "look at it, then: git arkaint contract approve {}",
                    head.to_hex_with_len(12)
                ));
            }
        }
    }
    gate
}

/// Does the folder hold exactly what is delivered?
fn place(delivery: &Delivery<'_>) -> Result<Gate> {
    let name = "worktree";
    let Some(folder) = &delivery.folder else {
        return Ok(gate(
            name,
            Answer::Skipped,
            "not checked out here: what the ledger kept counts",
        ));
    };
    let there = crate::git::Worktree::discover(folder)?;
    let head = there.head()?;
    if head != Some(delivery.head) {
        let at = head.map_or("no commit".to_owned(), |head| {
            head.to_hex_with_len(12).to_string()
        });
        return Ok(Gate {
            hint: Some("git arkaint deliver again, once it is where it should be".to_owned()),
            ..gate(
                name,
                Answer::Waiting,
                format!("the worktree moved: it is at {at}"),
            )
        });
    }
    let dirty: Vec<String> = there
        .unclean()?
        .iter()
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect();
    if !dirty.is_empty() {
        return Ok(Gate {
            hint: Some(
                "git arkaint checkpoint (then that commit is delivered), or git restore what is not meant"
                    .to_owned(),
            ),
            ..gate(
                name,
                Answer::Waiting,
                format!(
                    "the worktree moved: changed and not delivered: {}",
                    few(&dirty)
                ),
            )
        });
    }
    Ok(gate(name, Answer::Open, "holds exactly what is delivered"))
}

fn request(remote: &Remote) -> Gate {
    let name = "request";
    if let Some(over) = remote.over {
        return gate(name, Answer::Waiting, over);
    }
    match &remote.other_head {
        Some(head) => gate(
            name,
            Answer::Waiting,
            format!(
                "the request is at {}, which is not what is delivered here",
                text::visible_line(head)
            ),
        ),
        None if remote.draft => gate(name, Answer::Waiting, "it is a draft"),
        None => gate(name, Answer::Open, "it is at the delivered commit"),
    }
}

fn empty_delta(delivery: &Delivery<'_>) -> Result<Gate> {
    let name = "empty delta";
    Ok(
        if delivery.worktree.tree_of(delivery.base.fork)? == delivery.tree {
            gate(
                name,
                Answer::Held,
                format!(
                    "nothing is changed against {}",
                    text::visible_line(&delivery.base.name)
                ),
            )
        } else {
            gate(name, Answer::Open, "there is a change")
        },
    )
}

fn protected(delivery: &Delivery<'_>) -> Result<Gate> {
    let name = "protected paths";
    let protected = guard::protected(delivery.worktree, &delivery.config.infra)?;
    let worktree = delivery.worktree;
    let (fork, head) = (delivery.base.fork, delivery.head);
    let mut touched: Vec<String> = worktree
        .changed_entries(worktree.tree_of(fork)?, worktree.tree_of(head)?)?
        .into_iter()
        .filter(|path| protected.touches(path))
        .map(|path| String::from_utf8_lossy(&path).into_owned())
        .collect();
    // The change by which a project takes Arkaint on has nothing to protect yet.
    let first = delivery.unconfigured && touched == [CONFIG_FILE];
    if first {
        touched.clear();
    }
    Ok(if !touched.is_empty() {
        gate(name, Answer::Held, format!("changed: {}", few(&touched)))
    } else if first {
        gate(name, Answer::Open, format!("{CONFIG_FILE} is new"))
    } else {
        gate(name, Answer::Open, "none is changed")
    })
}

fn secrets(delivery: &Delivery<'_>) -> Result<Gate> {
    let name = "secrets";
    let from = delivery.worktree.tree_of(delivery.base.fork)?;
    let found = match leaks::new_secrets(delivery.worktree, &delivery.config, from, delivery.tree) {
        Err(error) => {
            let refusal = error.downcast::<Refusal>()?;
            return Ok(gate(name, Answer::Held, refusal.cause));
        }
        Ok(found) => found,
    };
    Ok(if found.is_empty() {
        gate(name, Answer::Open, "no new one")
    } else {
        gate(name, Answer::Held, format!("new: {}", few(&found)))
    })
}

/// Would it merge? By git's own merge, in memory.
fn conflict(delivery: &Delivery<'_>) -> Result<Gate> {
    let name = "conflict";
    let base = text::visible_line(&delivery.base.name);
    if delivery.base.tip == delivery.base.fork {
        return Ok(gate(name, Answer::Open, format!("{base} did not move on")));
    }
    match trial::merge(delivery.worktree, delivery.base.tip, delivery.head)? {
        Trial::Clean(_) => Ok(gate(name, Answer::Open, format!("merges with {base}"))),
        Trial::Conflicts(paths) => {
            let paths: Vec<String> = paths
                .iter()
                .map(|path| String::from_utf8_lossy(path).into_owned())
                .collect();
            Ok(Gate {
                hint: Some(format!(
                    "git merge {} in its worktree, then test again",
                    shell_words::quote(&base)
                )),
                ..gate(
                    name,
                    Answer::Closed,
                    format!("conflicts with {base}: {}", few(&paths)),
                )
            })
        }
    }
}

fn checks(remote: &Remote) -> Gate {
    let name = "checks";
    if !remote.failing.is_empty() {
        return gate(
            name,
            Answer::Closed,
            format!("failed: {}", few(&remote.failing)),
        );
    }
    if !remote.pending.is_empty() {
        return gate(
            name,
            Answer::Waiting,
            format!("not finished: {}", few(&remote.pending)),
        );
    }
    match remote.passed {
        0 => gate(name, Answer::Skipped, "there is none"),
        count => gate(name, Answer::Open, format!("{count} passed")),
    }
}

/// The project's checks, run again.
fn own_checks((passed, evidence): &(bool, String)) -> Gate {
    let name = "rerun";
    if *passed {
        return gate(name, Answer::Open, format!("checks pass: {evidence}"));
    }
    Gate {
        hint: Some(
            "fix it: git arkaint cycle --red, or git arkaint deliver -v --rerun shows the output"
                .to_owned(),
        ),
        ..gate(
            name,
            Answer::Closed,
            format!("checks fail in a fresh worktree: {evidence}"),
        )
    }
}

fn artifacts(standing: &Standing) -> Gate {
    let name = "artifacts";
    if !standing.asked {
        return gate(
            name,
            Answer::Skipped,
            "no contract, no [[dod]] item and no dispatch asks for one",
        );
    }
    match standing.lacks.as_slice() {
        [] => gate(
            name,
            Answer::Open,
            format!(
                "verify.json: {} (from the {})",
                standing.verify.detail(),
                standing.found.name()
            ),
        ),
        lacks => {
            let lines: Vec<&str> = lacks.iter().map(|lack| lack.line.as_str()).collect();
            gate(name, Answer::Closed, lines.join("; "))
        }
    }
}

fn lists(standing: &Standing) -> Gate {
    let name = "both lists";
    let assessment = &standing.assessment;
    let named = |verdict| -> Vec<String> {
        assessment
            .of(verdict)
            .map(crate::evidence::assess::Row::name)
            .collect()
    };
    match assessment.overall {
        Overall::Vacuous => gate(name, Answer::Skipped, "nothing to prove"),
        Overall::Complete => gate(
            name,
            Answer::Open,
            match assessment.rows.len() {
                1 => "the one item is proven".to_owned(),
                count => format!("all {count} are proven"),
            },
        ),
        Overall::Incomplete => {
            let mut parts = Vec::new();
            for (verdict, what) in [(Verdict::Failed, "fix"), (Verdict::Missing, "prove")] {
                let ids = named(verdict);
                if !ids.is_empty() {
                    parts.push(format!("{what} {}", few(&ids)));
                }
            }
            gate(name, Answer::Closed, parts.join("; "))
        }
        Overall::Held => Gate {
            hint: assessment.of(Verdict::Held).next().map(|row| {
                format!(
                    "git arkaint contract attest {}, once you saw it",
                    text::visible_line(&row.id)
                )
            }),
            ..gate(
                name,
                Answer::Held,
                format!("a person must look at {}", few(&named(Verdict::Held))),
            )
        },
    }
}

/// Somebody must have looked at the change: a green gate that nobody vouches for is none.
fn floor(
    delivery: &Delivery<'_>,
    standing: Option<&Standing>,
    remote: Option<&Remote>,
    again: bool,
) -> Gate {
    let name = "floor";
    let mut vouching = Vec::new();
    if let Some(commit) = delivery.green {
        vouching.push(format!(
            "Arkaint's own tests at {}",
            commit.to_hex_with_len(12)
        ));
    }
    if again {
        vouching.push("Arkaint's own tests in a fresh worktree".to_owned());
    }
    if standing.is_some_and(|s| s.assessment.overall == Overall::Complete) {
        vouching.push("both lists".to_owned());
    }
    if let Some(remote) = remote.filter(|r| r.passed > 0 && r.failing.is_empty()) {
        vouching.push(format!("{} checks of the forge", remote.passed));
    }
    if vouching.is_empty() {
        return Gate {
            hint: Some(
                "git arkaint checkpoint tests it; --rerun runs what the lists name".to_owned(),
            ),
            ..gate(
                name,
                Answer::Held,
                "nothing that can be checked vouches for this tree",
            )
        };
    }
    gate(name, Answer::Open, vouching.join(", "))
}

fn few(names: &[String]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(NAMED)
        .map(|name| text::ellipsis(&text::visible_line(name), 120))
        .collect();
    let shown = shown.join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
