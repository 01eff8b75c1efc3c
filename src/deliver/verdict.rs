//! What the gate said, kept: a record in the ledger, the three files as they were judged, and a page for people on the commit. Shown again it
//! is the same; said again it is written once. It decides nothing.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};

use super::gates::{self, Answer, Judged};
use super::subject::Delivery;
use crate::evidence::standing;
use crate::evidence::table::Table;
use crate::ledger::{Kind, Record, notes, page};
use crate::text;

/// Everything to show or keep of one judgement.
pub(crate) struct Shown {
    pub json: Value,
    /// For the forge and the page.
    pub markdown: String,
}

/// The judgement as it is shown: the gates, then the table where there is one.
pub(crate) fn shown(delivery: &Delivery<'_>, judged: &Judged) -> Shown {
    let (head, tree) = (delivery.head.to_string(), delivery.tree.to_string());
    let artifacts = judged
        .standing
        .as_ref()
        .map(standing::Standing::artifacts)
        .unwrap_or_default();
    let table = judged.standing.as_ref().map(|standing| Table {
        assessment: &standing.assessment,
        head: &head,
        tree: &tree,
        contract: delivery.contract(),
        artifacts: &artifacts,
    });
    let stop = judged.stop();
    let json = json!({
        "v": 1,
        "verdict": judged.word(),
        "gate": stop.map(|gate| gate.name),
        "why": stop.map(|gate| gate.why.as_str()),
        "branch": delivery.branch,
        "head": head,
        "tree": tree,
        "base": {"name": delivery.base.name, "tip": delivery.base.tip.to_string(), "fork": delivery.base.fork.to_string()},
        "contract": delivery.contract(),
        "gates": judged.to_json(),
        "found": judged.standing.as_ref().map(|standing| standing.found.name()),
        "table": table.as_ref().map(Table::json),
        "plan_required": judged.standing.as_ref().map(|standing| standing.planned),
        "to_do": judged.standing.as_ref().map(standing::Standing::to_do),
    });
    let mut markdown = match &table {
        Some(table) => table.markdown(),
        None => format!(
            "{}\n## Definition of Done\n\nnot assessed\n",
            crate::evidence::markdown::MARKER
        ),
    };
    markdown.push_str(&gates_as_markdown(delivery, judged));
    Shown {
        json: crate::secret::redact_json(&json),
        markdown,
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
pub(crate) fn keep(delivery: &Delivery<'_>, judged: &Judged, shown: &Shown) -> Result<()> {
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
    if !newest.is_some_and(|newest| same(newest, &record)) {
        notes::append(delivery.worktree, delivery.head, &[record])?;
    }
    page::put(delivery.worktree, delivery.head, &shown.markdown)
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
fn same(one: &Record, other: &Record) -> bool {
    let plain = |record: &Record| {
        let mut value = crate::secret::redact_json(&record.to_value());
        if let Value::Object(map) = &mut value {
            map.retain(|key, _| !matches!(key.as_str(), "at" | "id"));
        }
        value
    };
    plain(one) == plain(other)
}
