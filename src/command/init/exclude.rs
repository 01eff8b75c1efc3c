//! The two lines of `info/exclude` that keep scratch out of every commit. It touches no `.gitignore` of the project.

use std::fs;
use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::record::Record;
use crate::git::Worktree;

/// Arkaint's scratch, and the evidence files; at the top of each worktree alone.
const LINES: [&str; 2] = ["/.arkaint/", "/.ak-loop/"];

/// The lines that are not there yet.
pub(super) fn missing(worktree: &Worktree) -> Result<Vec<&'static str>> {
    let bytes = read(worktree)?;
    Ok(LINES
        .into_iter()
        .filter(|line| !lines(&bytes).any(|there| is(there, line)))
        .collect())
}

/// Adds what is missing behind what is there; says what it did.
pub(super) fn add(worktree: &Worktree, record: &mut Record) -> Result<Vec<String>> {
    let missing = missing(worktree)?;
    if missing.is_empty() {
        return Ok(vec![format!(
            "info/exclude: {} already there",
            LINES.join(" and ")
        )]);
    }
    for line in &missing {
        if !record.added.excludes.iter().any(|l| l == line) {
            record.added.excludes.push((*line).to_owned());
        }
    }
    record.save()?;
    let mut bytes = read(worktree)?;
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    for line in &missing {
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    let path = path(worktree);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).context("making info")?;
    }
    fs::write(&path, bytes).context("writing info/exclude")?;
    Ok(vec![format!(
        "info/exclude: added {}",
        missing.join(" and ")
    )])
}

/// Takes the lines out again; without a record, only both together as `init` writes them.
pub(super) fn remove(worktree: &Worktree, record: Option<&Record>) -> Result<Option<String>> {
    let bytes = read(worktree)?;
    let ours: Vec<&str> = match record {
        Some(record) => record.added.excludes.iter().map(String::as_str).collect(),
        None if adjacent(&bytes) => LINES.into(),
        None => return Ok(None),
    };
    let kept: Vec<u8> = lines(&bytes)
        .filter(|line| !ours.iter().any(|our| is(line, our)))
        .flatten()
        .copied()
        .collect();
    if kept == bytes {
        return Ok(None);
    }
    let path = path(worktree);
    let before = record.and_then(Record::exclude);
    match (record, before) {
        // A last line without its newline got one before ours were added.
        (_, Some(before)) if before.trim_ascii_end() == kept.trim_ascii_end() => {
            fs::write(&path, before)
        }
        (Some(record), None) if kept.is_empty() && !record.added.had_exclude => {
            let removed = fs::remove_file(&path);
            if !record.added.had_info {
                let _ = path.parent().map(fs::remove_dir);
            }
            removed
        }
        _ => fs::write(&path, kept),
    }
    .context("writing info/exclude")?;
    Ok(Some(format!(
        "info/exclude: removed {}",
        ours.join(" and ")
    )))
}

fn adjacent(bytes: &[u8]) -> bool {
    let all: Vec<&[u8]> = lines(bytes).collect();
    all.windows(LINES.len())
        .any(|window| window.iter().zip(LINES).all(|(line, ours)| is(line, ours)))
}

fn path(worktree: &Worktree) -> PathBuf {
    worktree.common_dir().join("info/exclude")
}

fn read(worktree: &Worktree) -> Result<Vec<u8>> {
    match fs::read(path(worktree)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.context("reading info/exclude"),
    }
}

/// Lines with their ends.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

fn is(line: &[u8], ours: &str) -> bool {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line) == ours.as_bytes()
}
