//! What the gate said, kept: a record in the ledger, the three files as they were judged, and a page for people on the commit. Shown again it
//! is the same; said again it is written once. It decides nothing.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};

use super::gates::{self, Answer, Judged};
use super::subject::Delivery;
use crate::evidence::standing;
use crate::evidence::table::Table;
use crate::git::{Oid, Worktree};
use crate::ledger::{Kind, Record, notes, page};
use crate::text;

/// One judgement as it is shown and kept.
pub(crate) struct Shown<'a> {
    delivery: &'a Delivery<'a>,
    judged: &'a Judged,
    head: String,
    tree: String,
    artifacts: Vec<(String, String)>,
}

pub(crate) fn shown<'a>(delivery: &'a Delivery<'a>, judged: &'a Judged) -> Shown<'a> {
    let standing = judged.standing.as_ref();
    Shown {
        delivery,
        judged,
        head: delivery.head.to_string(),
        tree: delivery.tree.to_string(),
        artifacts: standing
            .map(standing::Standing::artifacts)
            .unwrap_or_default(),
    }
}

impl Shown<'_> {
    /// None where nothing could be looked at.
    pub(crate) fn table(&self) -> Option<Table<'_>> {
        let standing = self.judged.standing.as_ref()?;
        Some(Table {
            assessment: &standing.assessment,
            head: &self.head,
            tree: &self.tree,
            contract: self.delivery.contract(),
            artifacts: &self.artifacts,
        })
    }

    /// For a program: the gates, and the table where there is one; redacted.
    pub(crate) fn json(&self) -> Value {
        let (delivery, standing) = (self.delivery, self.judged.standing.as_ref());
        let stop = self.judged.stop();
        let base = &delivery.base;
        let mut json = crate::secret::redact_json(&json!({
            "v": 1,
            "verdict": self.judged.word(),
            "gate": stop.map(|gate| gate.name),
            "why": stop.map(|gate| gate.why.as_str()),
            "branch": delivery.branch,
            "head": self.head,
            "tree": self.tree,
            "base": {"name": base.name, "tip": base.tip.to_string(), "fork": base.fork.to_string()},
            "contract": delivery.contract(),
            "gates": self.judged.to_json(),
            "found": standing.map(|standing| standing.found.name()),
            "plan_required": standing.map(|standing| standing.planned),
            "to_do": standing.map(standing::Standing::to_do),
        }));
        // It is redacted by itself.
        json["table"] = self.table().map(|table| table.json()).unwrap_or_default();
        json
    }

    /// For the forge and the page: the table where there is one, then the gates.
    pub(crate) fn markdown(&self) -> String {
        let mut markdown = match self.table() {
            Some(table) => table.markdown(),
            None => format!(
                "{}\n## Definition of Done\n\nnot assessed\n",
                crate::evidence::markdown::MARKER
            ),
        };
        markdown.push_str(&gates_as_markdown(self.delivery, self.judged));
        markdown
    }
}

fn gates_as_markdown(delivery: &Delivery<'_>, judged: &Judged) -> String {
    use crate::evidence::markdown::cell;
    let mut out = format!(
        "\n### Gate: {}\n\nAgainst {}\n\n| gate | answer | what was seen |\n|---|---|---|\n",
        match judged.stop() {
            None => "open".to_owned(),
            Some(gate) => format!("{} at {}", gate.answer.name(), gate.name),
        },
        cell(&format!(
            "{} at {}",
            delivery.base.name,
            delivery.base.tip.to_hex_with_len(12)
        )),
    );
    for gate in &judged.gates {
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            gate.name,
            gate.answer.name(),
            cell(&gate.why)
        );
    }
    out
}

/// Keeps a judgement: nothing where the newest verdict on the commit says the same.
///
/// # Errors
/// When the ledger cannot be written.
pub(crate) fn keep(delivery: &Delivery<'_>, judged: &Judged) -> Result<()> {
    if let Some(standing) = &judged.standing {
        let exact = judged
            .gates
            .iter()
            .any(|gate| gate.name == "worktree" && gate.answer == Answer::Open);
        // What lies in a folder that moved on says nothing about this tree.
        if exact {
            let subject = gates::evidence(delivery, exact, &[]);
            standing::keep(&subject, standing, delivery.head)?;
        }
    }
    let fields = json!({
        "commit": delivery.head.to_string(),
        "tree": delivery.tree.to_string(),
        "branch": delivery.branch,
        "base": delivery.base.name,
        "base_commit": delivery.base.tip.to_string(),
        "fork": delivery.base.fork.to_string(),
        "contract": delivery.contract(),
        "verdict": judged.word(),
        "gate": judged.stop().map(|gate| gate.name),
        "gates": judged.to_json(),
        "rows": judged.standing.as_ref().map(rows),
        "artifacts": judged.standing.as_ref().map(|standing| {
            standing.artifacts().into_iter().map(|(path, sha256)| json!({"path": path, "sha256": sha256})).collect::<Vec<_>>()
        }),
    });
    let record = Record::new(Kind::Verdict, fields);
    let before = notes::on_commit(delivery.worktree, delivery.head)?;
    let newest = before.iter().rev().find(|r| r.is(Kind::Verdict));
    if !newest.is_some_and(|newest| same(delivery.worktree, newest, &record)) {
        notes::append(delivery.worktree, delivery.head, &[record])?;
    }
    page::put(
        delivery.worktree,
        delivery.head,
        &shown(delivery, judged).markdown(),
    )
}

fn rows(standing: &standing::Standing) -> Vec<Value> {
    let rows = standing.assessment.rows.iter();
    rows.map(|row| {
        json!({
            "item": row.name(), "verdict": row.verdict.name(), "source": row.source, "conflict": row.conflict,
            "evidence": text::ellipsis(&row.evidence, 200),
        })
    })
    .collect()
}

/// The same but for when it was said.
fn same(worktree: &Worktree, kept: &Record, new: &Record) -> bool {
    let plain = |record: &Record| {
        let mut value = crate::secret::redact_json(&record.to_value());
        if let Value::Object(map) = &mut value {
            map.retain(|key, _| !matches!(key.as_str(), "at" | "id"));
            for value in map.values_mut() {
                if let Some(whole) = whole(worktree, value) {
                    *value = whole;
                }
            }
        }
        value
    };
    plain(kept) == plain(new)
}

/// What the ledger put into a blob, as it was too long for a line.
fn whole(worktree: &Worktree, value: &Value) -> Option<Value> {
    value.get("bytes")?;
    let blob = Oid::from_hex(value.get("blob")?.as_str()?.as_bytes()).ok()?;
    serde_json::from_slice(&notes::stored(worktree, blob).ok()??).ok()
}
