//! The commit primitive: only a tested state becomes a checkpoint, and what is committed is what was tested. Staged in a private index,
//! so that a refusal leaves the user's index as it was; committed by git itself, with the user's hooks, signing and filters.

use anyhow::{Context, Result};

use super::checks::{self, Care, Verdict};
use super::{recovery, signals};
use crate::config;
use crate::exit::{Exit, Refusal};
use crate::gate::Pass;
use crate::git::{Content, Oid, Worktree};
use crate::guard;
use crate::journal::{self, Entry};
use crate::judge::leaks;
use crate::ledger::{Checkpoint, Kind, Record, Status, checkpoint, message, notes, record, walk};
use crate::process::{self, How, Identity};
use crate::secret;
use crate::text;
use crate::ui::{Tone, Ui};

/// What a checkpoint is to say and how it is made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    pub message: String,
    pub task: String,
    pub provider: String,
    pub model: String,
    /// Tokens of the runs since the checkpoint before; a number, or `unknown`.
    pub token_load: String,
    /// The run that it closes, if any.
    pub run: Option<String>,
    /// Make an empty checkpoint when nothing is staged and HEAD is none (a cycle needs a point to return to).
    pub always: bool,
    /// This tree is green already.
    pub known_green: Option<Oid>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Made {
    /// A new checkpoint.
    New(Checkpoint),
    /// Nothing was staged. HEAD's own checkpoint, if it is one.
    Nothing(Option<Checkpoint>),
}

/// Tests what is on disk and commits it.
///
/// # Errors
/// A [`Refusal`] with exit 1 when a check, the secret scan, a hook or signer of the user says no. Then nothing was committed and the index
/// is as it was.
pub(crate) fn make(pass: &Pass, order: &Order, ui: &Ui) -> Result<Made> {
    let checked = checks::run(pass, Care::default(), order.known_green, ui)?;
    let status = accept(&checked.verdict, ui)?;
    name_left_out(pass, &checked.content, ui);
    let head_tree = pass.worktree.tree_of(head(pass)?)?;
    let staged = checked.content.tree != head_tree;
    if !staged {
        let at_head = checkpoint::read(&pass.worktree, head(pass)?)?.filter(Checkpoint::is_stable);
        if at_head.is_some() || !order.always {
            return Ok(Made::Nothing(at_head));
        }
    }
    scan(pass, head_tree, checked.content.tree)?;
    let made = commit(pass, order, checked.content.tree, status, ui)?;
    if let Made::New(checkpoint) = &made {
        signals::of_checkpoint(pass, order, checkpoint, ui);
    }
    Ok(made)
}

fn accept(verdict: &Verdict, ui: &Ui) -> Result<Status> {
    let no =
        |cause: String, hint: &str| Err(Refusal::with_exit(Exit::CheckFailed, cause, hint).into());
    match verdict {
        Verdict::Green => Ok(Status::Stable),
        Verdict::Untested => Ok(Status::Untested),
        Verdict::Red(reds) | Verdict::Flaky(reds) => {
            for red in reds {
                if !ui.is_talkative() {
                    ui.warn(format!("{}\n{}", red.line(), red.run.tail(20)));
                }
            }
            let what = reds
                .iter()
                .map(checks::Red::line)
                .collect::<Vec<_>>()
                .join("; ");
            no(
                format!("{what}; nothing was committed"),
                "mend it and try again; an agent can start from red: git arkaint cycle --red TASK",
            )
        }
        Verdict::RanNothing(what) => no(
            format!("{what}; nothing was committed"),
            "set test in [checkpoint] of arkaint.toml to a command that runs tests, or to false",
        ),
        Verdict::Moved(paths) => no(
            format!(
                "files kept changing while the checks ran, so that they saw something else: {}; nothing was committed",
                checks::few(paths)
            ),
            "stop what writes there, or ignore what the tests make: echo PATH >> .gitignore",
        ),
    }
}

fn name_left_out(pass: &Pass, content: &Content, ui: &Ui) {
    for nested in &content.nested {
        let name = text::visible_line(&String::from_utf8_lossy(nested));
        ui.warn(format!(
            "left out: {name} is a repository of its own (git submodule add, or ignore it)"
        ));
    }
    for dirty in dirty_submodules(pass) {
        let name = text::visible_line(&String::from_utf8_lossy(&dirty));
        ui.warn(format!(
            "left out: what changed inside the submodule {name}, which the checks saw (commit it there, then here)"
        ));
    }
    if pass.worktree.root().join(".ak-loop").exists() {
        ui.say(
            Tone::Dim,
            "left out: .ak-loop/ (evidence is never committed)",
        );
    }
}

/// Submodules with changes that are not committed in them: what differs from the private index after everything was staged there.
fn dirty_submodules(pass: &Pass) -> Vec<Vec<u8>> {
    if !pass.worktree.root().join(".gitmodules").is_file() {
        return Vec::new();
    }
    let words = [
        "diff-files",
        "-z",
        "--name-only",
        "--ignore-submodules=none",
    ];
    let listed = pass.worktree.git().call(words);
    let listed = listed.env("GIT_INDEX_FILE", checks::index(pass)).bytes();
    let paths = listed.unwrap_or_default();
    let paths = paths.split(|b| *b == 0).filter(|path| !path.is_empty());
    paths.map(<[u8]>::to_vec).collect()
}

fn head(pass: &Pass) -> Result<Oid> {
    pass.worktree.head()?.context("HEAD has no commit")
}

/// No new secret may enter history.
fn scan(pass: &Pass, from: Oid, to: Oid) -> Result<()> {
    let found = leaks::new_secrets(&pass.worktree, &pass.config, from, to).map_err(|error| {
        error.downcast().map_or_else(
            |error| error,
            |mut refusal: Refusal| {
                refusal.cause.push_str("; nothing was committed");
                refusal.into()
            },
        )
    })?;
    if found.is_empty() {
        return Ok(());
    }
    Err(Refusal::with_exit(
        Exit::CheckFailed,
        format!("a secret would be committed: {}; nothing was committed", checks::few(&found)),
        "remove or ignore it (echo PATH >> .gitignore), or add its path to allow_secrets in [checkpoint] of arkaint.toml",
    )
    .into())
}

fn commit(pass: &Pass, order: &Order, tree: Oid, status: Status, ui: &Ui) -> Result<Made> {
    let before = head(pass)?;
    // The user's index must follow the commit.
    pass.worktree.index_is_free()?;
    let prev = walk::last_valid(&pass.worktree, before)?;
    let previous_state = prev.as_ref().map_or("", |p| p.state_hash.as_str());
    let fields = message::Fields {
        state_hash: checkpoint::state_hash(tree, previous_state),
        token_load: if order.token_load.is_empty() {
            "0".to_owned()
        } else {
            order.token_load.clone()
        },
        branch: pass.branch.clone(),
        provider: order.provider.clone(),
        model: order.model.clone(),
        status: status.name().to_owned(),
        timestamp: record::now(),
        task: secret::redact(&order.task).into_owned(),
        message: secret::redact(&order.message).into_owned(),
        prev: prev
            .as_ref()
            .map(|p| p.commit.to_string())
            .unwrap_or_default(),
        more: if pass.infra_edits {
            vec![("Arkaint-Infra-Edit".to_owned(), "allowed".to_owned())]
        } else {
            Vec::new()
        },
    };
    let mut tree = tree;
    let mut fields = fields;
    let entry = |tree: Oid, child: Option<&Identity>| Entry::Commit {
        branch: pass.branch_ref(),
        before,
        tree,
        child: child.cloned(),
    };
    let note = |tree: Oid| {
        move |child: Option<&Identity>| journal::write(&pass.worktree, &entry(tree, child))
    };
    let outcome = run_commit(pass, &message::render(&fields), false, &note(tree)).and_then(|()| {
        let mut commit = head(pass)?;
        let made = pass.worktree.tree_of(commit)?;
        if made != tree {
            // A hook of the user's changed the tree: what was tested is not what was committed.
            ui.say(Tone::Warn, "a commit hook changed the files: testing what it left");
            let again = checks::run_committed(pass, made, ui)?;
            accept(&again, ui)?;
            tree = made;
            fields.state_hash = checkpoint::state_hash(tree, previous_state);
            run_commit(pass, &message::render(&fields), true, &note(tree))?;
            commit = head(pass)?;
        }
        let written = checkpoint::read(&pass.worktree, commit)?.filter(|c| c.fault.is_none() && c.tree == tree);
        written.ok_or_else(|| {
            Refusal::with_exit(
                Exit::CheckFailed,
                "a commit hook changed the checkpoint's message or files so that it no longer holds; it was undone",
                "let the hook pass messages that start with [arkaint-sync], then try again",
            )
            .into()
        })
    });
    match outcome {
        Ok(mut made) => {
            checks::install(pass)?;
            append(pass, order, &made)?;
            made.proven = true;
            journal::clear(&pass.worktree)?;
            let _ = std::fs::remove_file(checks::index(pass));
            Ok(Made::New(made))
        }
        Err(error) => {
            undo(pass, before)?;
            journal::clear(&pass.worktree)?;
            let _ = std::fs::remove_file(checks::index(pass));
            Err(error)
        }
    }
}

/// `git commit` on the private index, with a deadline: a pinentry prompt must not hang the night.
/// `note` is told before it starts, and again as which process.
fn run_commit(
    pass: &Pass,
    message: &str,
    amend: bool,
    note: &dyn Fn(Option<&Identity>) -> Result<()>,
) -> Result<()> {
    note(None)?;
    let mut call = pass
        .worktree
        .git()
        .call([
            "commit",
            "--quiet",
            "--cleanup=verbatim",
            "--allow-empty",
            "-F",
            "-",
        ])
        .env("GIT_INDEX_FILE", checks::index(pass))
        .stdin(message);
    if amend {
        call = call.args(["--amend", "--no-verify"]);
    }
    if takes_protected_paths_back(pass)? {
        call = call.env("ARKAINT_ALLOW_INFRA_EDIT", "1");
    }
    let (argv, env, dir, stdin) = call.into_parts();
    let spec = process::Spec {
        wall: Some(config::COMMIT_TIMEOUT),
        stdin: process::Stdin::Bytes(stdin),
        streams: process::Streams::Merged,
        ..process::Spec::new(argv, dir, env)
    };
    let mut said = process::HeadTail::new();
    let end = process::run(spec, &mut |child| note(Some(child)), &mut |chunk| {
        said.push(chunk.bytes());
        process::Verdict::Go
    })?;
    if !matches!(end.how, How::Exited(_)) {
        // A git that was killed (no memory, a deadline) takes none of its locks with it. One that another git holds is no reason to leave
        // what was not tested on the branch, nor to hide why.
        let _ = recovery::remove_commit_locks(pass, &pass.branch_ref());
    }
    let said = said.text();
    let words = text::tail_on_line(said.trim(), 2000)
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect::<Vec<_>>()
        .join("; ");
    let (cause, hint) = match end.how {
        How::Exited(0) => return Ok(()),
        How::Wall => (
            format!(
                "git commit did not end within {} s, a hook or the signing program hangs; nothing was committed",
                config::COMMIT_TIMEOUT.as_secs()
            ),
            "unlock the key first (git commit --allow-empty -S -m test), or set commit.gpgSign false here",
        ),
        How::Interrupted(signal) => {
            return Err(Refusal::with_exit(
                Exit::Interrupted(u8::try_from(signal).unwrap_or(2)),
                "interrupted while committing; nothing was committed",
                "git arkaint checkpoint",
            )
            .into());
        }
        _ if words.contains(".lock': File exists") => (
            format!("git commit refused: {words}; nothing was committed"),
            "git arkaint doctor (it names locks that nobody holds)",
        ),
        _ => (
            format!("git commit refused: {words}; nothing was committed"),
            "mend what the hook or signer says, then try again",
        ),
    };
    Err(Refusal::with_exit(Exit::CheckFailed, cause, hint).into())
}

/// Does this commit bring protected paths back to where they were when this command began, and change none? An agent can commit past every
/// hook; what it did so has been put back on disk, and our own hook must not keep the branch from following.
fn takes_protected_paths_back(pass: &Pass) -> Result<bool> {
    let (start, now) = (pass.head, head(pass)?);
    if start == now {
        return Ok(false);
    }
    let worktree = &pass.worktree;
    let staged = worktree.git().call(["write-tree"]);
    let tree = staged.env("GIT_INDEX_FILE", checks::index(pass)).text()?;
    let tree = Oid::from_hex(tree.as_bytes()).context("reading a tree name")?;
    let protected = guard::protected(worktree, &pass.config.infra)?;
    let touched = |commit: Oid| -> Result<bool> {
        let paths = worktree.changed_entries(worktree.tree_of(commit)?, tree)?;
        Ok(paths.iter().any(|path| protected.touches(path)))
    };
    Ok(touched(now)? && !touched(start)?)
}

/// Back to the commit before, where one of ours was made that does not hold.
fn undo(pass: &Pass, before: Oid) -> Result<()> {
    let now = head(pass)?;
    if now == before {
        return Ok(());
    }
    take_back(&pass.worktree, &pass.branch_ref(), before, now)
}

/// Takes `branch` (full ref name) from a checkpoint at `now` that does not hold back to `before`.
pub(super) fn take_back(worktree: &Worktree, branch: &str, before: Oid, now: Oid) -> Result<()> {
    let why = "arkaint: undo a checkpoint that does not hold";
    let (before, now) = (before.to_string(), now.to_string());
    let call = worktree.git().call(["update-ref", "-m", why]);
    call.args([branch, &before, &now])
        .run()
        .context("undoing the commit")
}

/// The fields of a `checkpoint` record, by what the commit says of itself.
pub(super) fn record_fields(made: &Checkpoint) -> serde_json::Value {
    serde_json::json!({
        "commit": made.commit.to_string(),
        "tree": made.tree.to_string(),
        "state": made.state_hash,
        "prev": made.prev.map(|p| p.to_string()),
        "branch": made.branch,
        "status": made.status.name(),
        "task": made.task,
        "message": made.message,
    })
}

fn append(pass: &Pass, order: &Order, made: &Checkpoint) -> Result<()> {
    let mut fields = record_fields(made);
    // A trailer may have cut them short.
    fields["task"] = order.task.as_str().into();
    fields["message"] = order.message.as_str().into();
    if let Some(run) = &order.run {
        fields["run"] = run.as_str().into();
    }
    notes::append(
        &pass.worktree,
        made.commit,
        &[Record::new(Kind::Checkpoint, fields)],
    )
}
