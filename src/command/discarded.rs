//! `git arkaint discarded`: what was put away, and how to get it back.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;

use crate::archive::list::{self, Archive};
use crate::archive::restore;
use crate::cli::{Discarded, DiscardedVerb, Global};
use crate::cycle::recovery;
use crate::exit::{Exit, Refusal};
use crate::gate::{self, Ask, Branch};
use crate::git::Worktree;
use crate::git::hardened::Hardened;
use crate::journal;
use crate::ledger::record;
use crate::text;
use crate::ui::{Tone, Ui};

pub(super) fn run(global: &Global, args: &Discarded, ui: &Ui) -> Result<Exit> {
    match &args.what {
        DiscardedVerb::List => list_all(&gate::open(global.dir.as_deref())?, ui),
        DiscardedVerb::Show { id } => show(&gate::open(global.dir.as_deref())?, id, ui),
        DiscardedVerb::Diff { id } => diff(&gate::open(global.dir.as_deref())?, id, ui),
        DiscardedVerb::Restore {
            id,
            branch: Some(branch),
            ..
        } => {
            let worktree = gate::open(global.dir.as_deref())?;
            let archive = list::find(&worktree, id)?;
            restore::on_branch(&worktree, &archive, branch)?;
            ui.say(
                Tone::Good,
                format!(
                    "branch {branch} holds archive {}: git switch {}",
                    archive.id,
                    shell_words::quote(branch)
                ),
            );
            Ok(Exit::Done)
        }
        DiscardedVerb::Restore {
            id,
            branch: None,
            paths,
        } => into_worktree(global, id, paths, ui),
    }
}

fn list_all(worktree: &Worktree, ui: &Ui) -> Result<Exit> {
    let all = list::all(worktree)?;
    let mut rows = Vec::new();
    for archive in &all {
        let paths = changed(worktree, archive)?.len();
        rows.push((archive, paths));
    }
    if ui.is_json() {
        let rows: Vec<_> = rows.iter().map(|(a, paths)| json!({
            "id": a.id, "commit": a.commit.to_string(), "base": a.base.map(|b| b.to_string()), "at": time(a), "paths": paths, "why": a.why,
        })).collect();
        ui.json(&json!({"v": 1, "discarded": rows}));
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        ui.say(Tone::Plain, "nothing was put away");
    }
    for (archive, paths) in rows {
        let why = text::visible_line(&archive.why);
        ui.out(format!(
            "{:<26} {} {paths:>5} paths  {why}",
            archive.id,
            &time(archive)[..16].replace('T', " ")
        ));
    }
    Ok(Exit::Done)
}

fn time(archive: &Archive) -> String {
    jiff::Timestamp::from_second(archive.seconds).map_or_else(|_| "-".repeat(20), |t| t.to_string())
}

/// The paths that an archive changed against the commit that it was made on.
fn changed(worktree: &Worktree, archive: &Archive) -> Result<Vec<crate::git::Changed>> {
    worktree.changed_files(base_tree(worktree, archive)?, archive.tree)
}

/// The tree that an archive is compared with.
fn base_tree(worktree: &Worktree, archive: &Archive) -> Result<crate::git::Oid> {
    match archive.base {
        Some(base) => worktree.tree_of(base),
        None => worktree.empty_tree(),
    }
}

fn show(worktree: &Worktree, id: &str, ui: &Ui) -> Result<Exit> {
    let archive = list::find(worktree, id)?;
    let changes = changed(worktree, &archive)?;
    let letter = |c: &crate::git::Changed| match (c.old, c.new) {
        (None, _) => "A",
        (_, None) => "D",
        _ => "M",
    };
    if ui.is_json() {
        let paths: Vec<_> = changes
            .iter()
            .map(|c| json!({"status": letter(c), "path": String::from_utf8_lossy(&c.path)}))
            .collect();
        ui.json(&json!({"v": 1, "id": archive.id, "commit": archive.commit.to_string(), "why": archive.why, "at": time(&archive), "paths": paths}));
        return Ok(Exit::Done);
    }
    ui.say(
        Tone::Head,
        format!(
            "{}  {}  {}",
            archive.id,
            time(&archive),
            text::visible_line(&archive.why)
        ),
    );
    for change in &changes {
        ui.out(format!(
            "{} {}",
            letter(change),
            text::visible_line(&String::from_utf8_lossy(&change.path))
        ));
    }
    Ok(Exit::Done)
}

fn diff(worktree: &Worktree, id: &str, ui: &Ui) -> Result<Exit> {
    let archive = list::find(worktree, id)?;
    let base = base_tree(worktree, &archive)?;
    let patch = worktree
        .git()
        .call([
            "diff-tree",
            "-p",
            "-r",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--binary",
        ])
        .args([base.to_string(), archive.tree.to_string()])
        .bytes()?;
    if ui.is_json() {
        ui.json(&json!({"v": 1, "id": archive.id, "patch": String::from_utf8_lossy(&patch)}));
    } else {
        ui.raw(&patch);
    }
    Ok(Exit::Done)
}

fn into_worktree(global: &Global, id: &str, paths: &[PathBuf], ui: &Ui) -> Result<Exit> {
    let pass = gate::enter(Ask {
        dir: global.dir.as_deref(),
        launch: None,
        task: None,
        branch: Branch::Isolated,
        agent: false,
    })?;
    recovery::settle(&pass, ui)?;
    let archive = list::find(&pass.worktree, id)?;
    let start = match &global.dir {
        Some(dir) => dir.canonicalize().context("resolving -C")?,
        None => std::env::current_dir().context("asking for the current folder")?,
    };
    let wanted = paths
        .iter()
        .map(|path| from_root(&pass.worktree, &start, path))
        .collect::<Result<Vec<_>>>()?;
    let git = Hardened::prepare(&pass.worktree)?;
    git.seed_index()?;
    let (before, written) =
        restore::into_worktree(&git, &archive, &wanted, &record::fresh_id(), false)?;
    journal::clear(&pass.worktree)?;
    ui.say(
        Tone::Good,
        format!(
            "restored {} paths of {}; what was there before is archived as {}",
            written.len(),
            archive.id,
            before.id
        ),
    );
    if ui.is_json() {
        let paths: Vec<_> = written
            .iter()
            .map(|p| String::from_utf8_lossy(p).into_owned())
            .collect();
        ui.json(&json!({"v": 1, "id": archive.id, "before": before.id, "paths": paths}));
    }
    Ok(Exit::Done)
}

/// A path as typed, from the worktree's root.
fn from_root(worktree: &Worktree, start: &Path, path: &Path) -> Result<Vec<u8>> {
    let mut clean = PathBuf::new();
    for part in start.join(path).components() {
        match part {
            std::path::Component::ParentDir => {
                clean.pop();
            }
            std::path::Component::CurDir => {}
            other => clean.push(other),
        }
    }
    match clean.strip_prefix(worktree.root()) {
        Ok(inside) => Ok(inside.as_os_str().as_bytes().to_vec()),
        Err(_) => Err(Refusal::new(
            format!("{} is outside this worktree", path.display()),
            "git arkaint discarded show ID",
        )
        .into()),
    }
}
