//! `.arkaint/audit/*.jsonl`: copies of records for a person or `jq`. Which record goes to which file is known here alone; the ledger is the
//! truth, and all of it is rebuilt from there.

use std::collections::BTreeMap;

use anyhow::Result;

use super::{scratch, spending};
use crate::git::Worktree;
use crate::ledger::{Kind, Record, notes};
use crate::secret;

/// The file that a record is copied to; most have none.
fn file(record: &Record) -> Option<String> {
    match record.kind() {
        "run" => Some("runs.jsonl".to_owned()),
        "decay" => {
            let mode = record.get("mode").and_then(serde_json::Value::as_u64)?;
            Some(format!("decay-{mode}.jsonl"))
        }
        _ => None,
    }
}

fn line(record: &Record) -> String {
    let clean = secret::redact_json(&record.to_value());
    Record::from_line(clean.to_string().as_bytes())
        .map(|record| record.to_line())
        .unwrap_or_default()
}

/// Copies what was just recorded, and adds up the day of each run again.
pub(super) fn append(worktree: &Worktree, records: &[Record]) -> Result<()> {
    for record in records {
        if let Some(file) = file(record) {
            scratch::audit(worktree, &file, &line(record))?;
        }
        if record.is(Kind::Run) {
            spending::roll_up(worktree, record.at())?;
        }
    }
    Ok(())
}

/// Writes every file anew from the whole ledger; the names and how many lines each has. A file that the ledger has no record for stays as it is.
///
/// # Errors
/// When the ledger cannot be read, or a file not be written.
pub(crate) fn rebuild(worktree: &Worktree) -> Result<Vec<(String, usize)>> {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (_, record) in notes::all(worktree)? {
        if let Some(file) = file(&record) {
            files.entry(file).or_default().push(line(&record) + "\n");
        }
    }
    for (name, lines) in &files {
        scratch::replace_audit(worktree, name, &lines.concat())?;
    }
    spending::roll_up_all(worktree)?;
    Ok(files
        .into_iter()
        .map(|(name, lines)| (name, lines.len()))
        .collect())
}
