//! `git arkaint contract`: freeze what the work must prove, show it, and record a person's word on a plan, an outcome or a commit. It decides
//! nothing: that is the gate's.

mod row;

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::cli::{Contract, ContractVerb};
use crate::config::{self, Choice as _, Config};
use crate::evidence::approval::{self, What};
use crate::evidence::contract::{self, Body, CheckKind, Frozen, Standing, Subject, Unproven};
use crate::evidence::seal;
use crate::exit::{Exit, Refusal};
use crate::gate::{self, Lock};
use crate::git::named::{Named, SHORTEST};
use crate::git::{Oid, Worktree};
use crate::ledger::{Kind, Record, notes};
use crate::secret;
use crate::text;
use crate::ui::{Tone, Ui};
use row::Row;

/// The longest contract or plan, bytes.
const MAX_FILE: u64 = 1 << 20;

pub(super) fn run(worktree: &Worktree, args: &Contract, ui: &Ui) -> Result<Exit> {
    if let ContractVerb::Show { digest } = &args.what {
        return show(worktree, digest.as_deref(), ui);
    }
    gate::refuse_nested()?;
    let by = person(worktree)?;
    match &args.what {
        ContractVerb::Show { .. } => Ok(Exit::Done),
        ContractVerb::Freeze {
            file,
            task,
            branch,
            base,
        } => freeze(
            worktree,
            file,
            task.as_deref(),
            branch.as_deref(),
            base.as_deref(),
            ui,
        ),
        ContractVerb::ApprovePlan { file } => approve_plan(worktree, file, &by, ui),
        ContractVerb::Attest { id, commit } => attest(worktree, id, commit.as_deref(), &by, ui),
        ContractVerb::Approve { commit } => approve(worktree, commit, &by, ui),
    }
}

fn person(worktree: &Worktree) -> Result<String> {
    gate::identity(worktree)?;
    worktree.identity()
}

fn freeze(
    worktree: &Worktree,
    file: &Path,
    task: Option<&str>,
    branch: Option<&str>,
    base: Option<&str>,
    ui: &Ui,
) -> Result<Exit> {
    let name = file.display();
    let bytes = read(file)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Refusal::new(format!("{name} is not UTF-8"), "save it as UTF-8"))?;
    let body = Body::read(file, text)
        .map_err(|why| Refusal::new(format!("{name}: {why}"), "git arkaint man contract"))?;
    let branch = match branch {
        Some(branch) => branch.to_owned(),
        None => here(worktree)?,
    };
    let task = task.map(str::trim);
    if task == Some("") {
        return Err(Refusal::new("the task is empty", "leave --task out, or name one").into());
    }
    let (start, config) = at_base(worktree, &branch, base)?;
    let _lock = Lock::take(worktree)?;
    let replaces = match contract::standing(&notes::deciding(worktree)?, &branch, task) {
        Standing::Open(old) => Some(old.str("digest").to_owned()),
        Standing::Closed { .. } | Standing::Without => None,
    };
    let why_not = body.not_dispatchable();
    let subject = Subject {
        task: task.unwrap_or_default(),
        branch: &branch,
        base: start,
    };
    let frozen = contract::freeze(worktree, body, subject, &config)?;
    ui.say(
        Tone::Good,
        format!(
            "contract {} is open for {branch}: {}, {} of the project, read at {}{}",
            short(&frozen.digest),
            text::counted(frozen.contract.body.outcomes.len(), "outcome"),
            text::counted(frozen.contract.project.len(), "item"),
            start.to_hex_with_len(12),
            replaces
                .as_deref()
                .map_or(String::new(), |old| format!("; it replaces {}", short(old)))
        ),
    );
    if let Some(why) = &why_not {
        ui.warn(format!("no agent should start on it yet: {why}"));
    }
    if ui.is_json() {
        let mut value = about(&frozen);
        value["v"] = 1.into();
        value["replaces"] = json!(replaces);
        value["dispatchable"] = why_not.is_none().into();
        value["not_dispatchable"] = json!(why_not);
        ui.json(&value);
    } else {
        ui.out(&frozen.digest);
    }
    Ok(Exit::Done)
}

/// Where the work of `branch` starts, and the configuration there: what a branch says of itself asks nothing of it.
fn at_base(worktree: &Worktree, branch: &str, given: Option<&str>) -> Result<(Oid, Config)> {
    let Some(head) = worktree.head()? else {
        return Err(Refusal::new(
            "this branch has no commit yet",
            "git add -A && git commit -m 'start'",
        )
        .into());
    };
    let tip = worktree.branch_tip(branch)?.unwrap_or(head);
    let start = |name: &str| -> Result<Oid> {
        let base = worktree.branch_tip(name)?.ok_or_else(|| {
            Refusal::new(
                format!("the base {name} is no branch here"),
                "git arkaint contract freeze FILE --base main, or deliver.base in arkaint.toml",
            )
        })?;
        worktree.merge_base(base, tip)?.ok_or_else(|| {
            Refusal::new(
                format!("{branch} and its base {name} have no commit in common"),
                "git arkaint contract freeze FILE --base NAME",
            )
            .into()
        })
    };
    let config_at = |commit: Oid| -> Result<Config> {
        let text = worktree.blob_at(commit, config::FILE)?;
        Ok(gate::load(worktree, text.as_deref(), None, None)?.config)
    };
    if let Some(name) = given {
        let commit = start(name)?;
        return Ok((commit, config_at(commit)?));
    }
    let cut_from = worktree.cut_from(branch)?;
    let commit = cut_from.as_deref().map_or(Ok(tip), start)?;
    let config = config_at(commit)?;
    match &config.deliver.base {
        Some(base) if *base != branch && cut_from.as_deref() != Some(base) => {
            let commit = start(base)?;
            Ok((commit, config_at(commit)?))
        }
        _ => Ok((commit, config)),
    }
}

fn show(worktree: &Worktree, digest: Option<&str>, ui: &Ui) -> Result<Exit> {
    let records = notes::deciding(worktree)?;
    let branch = worktree.branch()?;
    let (frozen, closed) = match (digest, &branch) {
        (Some(digits), _) => {
            let digest = one_digest(&records, digits)?;
            (
                Some(contract::load(worktree, &records, &digest).map_err(held)?),
                None,
            )
        }
        (None, None) => (None, None),
        (None, Some(branch)) => match contract::standing(&records, branch, None) {
            Standing::Open(record) => (Some(contract::read(worktree, record).map_err(held)?), None),
            Standing::Closed { contract, task } => {
                (None, Some((contract.str("digest").to_owned(), task)))
            }
            Standing::Without => (None, None),
        },
    };
    // HEAD itself where it is detached: what was asked of a branch is not known there.
    let place = branch.as_deref().unwrap_or("HEAD");
    let (project, outcomes) = match &frozen {
        Some(frozen) => (
            frozen.contract.project.clone(),
            frozen.contract.body.outcomes.clone(),
        ),
        None => (at_base(worktree, place, None)?.1.dod, Vec::new()),
    };
    let mut rows: Vec<Row> = project.iter().map(Row::of_item).collect();
    for outcome in &outcomes {
        let mut row = Row::of_outcome(outcome);
        if let (Some(frozen), Some(head)) = (&frozen, worktree.head()?)
            && outcome.check.kind == CheckKind::Manual
            && let Some(word) = approval::of_outcome(worktree, &frozen.digest, &row.id, head)?
        {
            row.state = "attested";
            row.by = Some(word.by);
        }
        rows.push(row);
    }
    let plan = match &frozen {
        Some(frozen) => approval::of_plan(worktree, frozen)?,
        None => None,
    };
    if ui.is_json() {
        let plan = plan.map(|p| json!({ "sha256": p.plan, "by": p.by, "at": p.at }));
        ui.json(&json!({
            "v": 1, "branch": branch, "contract": frozen.as_ref().map(about),
            "closed": closed.map(|(digest, task)| json!({ "digest": digest, "task": task })),
            "plan": plan, "items": rows.iter().map(Row::json).collect::<Vec<_>>(),
        }));
        return Ok(Exit::Done);
    }
    match (&frozen, &closed) {
        (Some(frozen), _) => head_lines(frozen, ui),
        (None, Some((digest, task))) => ui.say(
            Tone::Plain,
            line(&format!(
                "no contract is open on {place}: {} was closed by another task: {task}",
                short(digest)
            )),
        ),
        (None, None) => ui.say(
            Tone::Plain,
            format!("no contract is open on {place}: git arkaint contract freeze FILE"),
        ),
    }
    if let Some(plan) = plan {
        let sha256 = plan.plan.unwrap_or_default();
        ui.out(line(&format!(
            "plan {} approved by {}",
            short(&sha256),
            plan.by
        )));
    }
    let widest = |of: fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or_default().min(40);
    let (name, kind) = (
        widest(|r| r.name().chars().count()),
        widest(|r| r.kind.len()),
    );
    for row in &rows {
        let shown = format!(
            "{:<8}  {:name$}  {:kind$}  {}",
            row.state,
            row.name(),
            row.kind,
            row.what()
        );
        ui.out(line(shown.trim_end()));
    }
    Ok(Exit::Done)
}

/// The digest that begins with `digits`.
fn one_digest(records: &[(Oid, Record)], digits: &str) -> Result<String> {
    let shown = text::visible_line(digits);
    let refuse = |cause: String| Refusal::new(cause, "git arkaint log --kind contract");
    if digits.len() < SHORTEST {
        return Err(refuse(format!("{shown} is too short: {SHORTEST} or more digits")).into());
    }
    let found: BTreeSet<&str> = records
        .iter()
        .filter(|(_, record)| record.is(Kind::Contract))
        .map(|(_, record)| record.str("digest"))
        .filter(|digest| digest.starts_with(digits))
        .collect();
    match found.len() {
        0 => Err(refuse(format!("the ledger has no contract {shown}")).into()),
        1 => Ok(found.into_iter().collect()),
        n => Err(refuse(format!("{n} contracts begin with {shown}")).into()),
    }
}

fn head_lines(frozen: &Frozen, ui: &Ui) {
    let contract = &frozen.contract;
    let task = match contract.task.as_str() {
        "" => "the first task that starts".to_owned(),
        task => text::ellipsis(task, 200),
    };
    ui.say(
        Tone::Head,
        line(&format!(
            "contract {} for {}: {task}",
            short(&frozen.digest),
            contract.branch
        )),
    );
    if !contract.body.intent.is_empty() {
        ui.out(line(&format!("intent   {}", contract.body.intent)));
    }
    if let Some(why) = contract.body.not_dispatchable() {
        ui.warn(format!("no agent should start on it yet: {why}"));
    }
}

fn approve_plan(worktree: &Worktree, file: &Path, by: &str, ui: &Ui) -> Result<Exit> {
    let bytes = read(file)?;
    let plan = match std::str::from_utf8(&bytes) {
        Ok(plan) if !plan.trim().is_empty() => plan,
        _ => {
            return Err(Refusal::new(
                format!("{} is no text: there is nothing to approve", file.display()),
                "git arkaint contract approve-plan .ak-loop/plan.md",
            )
            .into());
        }
    };
    if secret::redact(plan) != plan {
        return Err(Refusal::new(
            format!(
                "{} holds a secret, and the ledger would keep it",
                file.display()
            ),
            "take it out, then approve the rest",
        )
        .into());
    }
    let frozen = needed(worktree)?;
    let sha256 = seal::digest(&bytes);
    let _lock = Lock::take(worktree)?;
    let what = What::Plan(plan);
    let base = frozen.contract.base;
    approval::give(worktree, what, base, Some(&frozen.digest), by)?;
    ui.say(
        Tone::Good,
        format!(
            "plan {} is approved for contract {}",
            short(&sha256),
            short(&frozen.digest)
        ),
    );
    if ui.is_json() {
        ui.json(
            &json!({ "v": 1, "what": "plan", "plan": sha256, "contract": frozen.digest, "by": by }),
        );
    }
    Ok(Exit::Done)
}

fn attest(worktree: &Worktree, id: &str, commit: Option<&str>, by: &str, ui: &Ui) -> Result<Exit> {
    let frozen = needed(worktree)?;
    let Some(outcome) = frozen.contract.outcome(id.trim()) else {
        let ids = || frozen.contract.body.outcomes.iter().map(|o| o.id.as_str());
        let near = config::nearest(id, ids()).map_or_else(
            || format!("outcomes: {}", ids().collect::<Vec<_>>().join(", ")),
            |near| format!("git arkaint contract attest {near}"),
        );
        return Err(Refusal::new(
            line(&format!(
                "contract {} has no outcome {id}",
                short(&frozen.digest)
            )),
            line(&near),
        )
        .into());
    };
    if outcome.check.kind != CheckKind::Manual {
        return Err(Refusal::new(
            format!(
                "outcome {} is shown by a {}, not by a person's word",
                outcome.id,
                outcome.check.kind.name()
            ),
            "run it, and let its evidence say so",
        )
        .into());
    }
    let commit = match commit {
        Some(digits) => commit_named(worktree, digits, "attest ID --commit")?,
        None => worktree.head()?.context("HEAD has no commit")?,
    };
    let _lock = Lock::take(worktree)?;
    let what = What::Outcome(&outcome.id);
    approval::give(worktree, what, commit, Some(&frozen.digest), by)?;
    ui.say(
        Tone::Good,
        line(&format!(
            "{by} saw outcome {} on {}, and on no other commit",
            outcome.id,
            commit.to_hex_with_len(12)
        )),
    );
    if ui.is_json() {
        ui.json(&json!({
            "v": 1, "what": "outcome", "outcome": outcome.id, "commit": commit.to_string(), "contract": frozen.digest, "by": by,
        }));
    }
    Ok(Exit::Done)
}

fn approve(worktree: &Worktree, digits: &str, by: &str, ui: &Ui) -> Result<Exit> {
    let commit = commit_named(worktree, digits, "approve")?;
    let names = worktree.ending_in(commit)?;
    if names.is_empty() {
        let head = worktree.head()?.context("HEAD has no commit")?;
        return Err(Refusal::new(
            format!(
                "{} is the tip of no branch: what was approved there is not what would be merged",
                commit.to_hex_with_len(12)
            ),
            format!(
                "look at what is there now, then: git arkaint contract approve {}",
                head.to_hex_with_len(12)
            ),
        )
        .into());
    }
    // The contract of a branch that ends there, if one has any: not every commit that is held belongs to one.
    let mut branches = names
        .iter()
        .filter_map(|name| name.strip_prefix("refs/heads/"));
    let records = notes::deciding(worktree)?;
    let frozen = branches.find_map(|branch| {
        contract::open(worktree, &records, branch, None)
            .ok()
            .flatten()
    });
    let digest = frozen.as_ref().map(|frozen| frozen.digest.as_str());
    let before = approval::of_commit(worktree, commit)?;
    let _lock = Lock::take(worktree)?;
    approval::give(worktree, What::Commit, commit, digest, by)?;
    ui.say(
        Tone::Good,
        line(&format!(
            "{} is approved by {by}{}",
            commit.to_hex_with_len(12),
            before.map_or(String::new(), |word| format!("; before, by {}", word.by))
        )),
    );
    if ui.is_json() {
        ui.json(&json!({
            "v": 1, "what": "commit", "commit": commit.to_string(), "tree": worktree.tree_of(commit)?.to_string(), "contract": digest, "by": by,
        }));
    }
    Ok(Exit::Done)
}

/// The open contract of this branch.
fn needed(worktree: &Worktree) -> Result<Frozen> {
    let branch = here(worktree)?;
    contract::open(worktree, &notes::deciding(worktree)?, &branch, None)
        .map_err(held)?
        .ok_or_else(|| {
            Refusal::new(
                format!("no contract is open on {branch}"),
                "git arkaint contract freeze FILE",
            )
            .into()
        })
}

/// What cannot be relied on needs a person.
fn held(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<Unproven>() {
        Some(unproven) => Refusal::with_exit(
            Exit::Person,
            unproven.to_string(),
            "fetch the ledger from a clone that has it, or freeze it again: git arkaint contract freeze FILE",
        )
        .into(),
        None => error,
    }
}

fn commit_named(worktree: &Worktree, digits: &str, verb: &str) -> Result<Oid> {
    let shown = text::visible_line(digits);
    let refuse = |cause: String| Refusal::new(cause, "git log --oneline");
    Err(match worktree.commit_named(digits)? {
        Named::Commit(commit) => return Ok(commit),
        Named::Unknown => refuse(format!("no commit here begins with {shown}")),
        Named::Ambiguous(several) => refuse(format!(
            "{several} commits begin with {shown}: give more digits"
        )),
        Named::NoId => {
            // A name moves, a word does not: say which commit it is now.
            let now = worktree
                .git()
                .call(["rev-parse", "--verify", "--quiet", "--end-of-options"])
                .arg(format!("{digits}^{{commit}}"))
                .text()
                .ok();
            let cause = format!("{shown} is no id of a commit ({SHORTEST} or more digits)");
            match now {
                Some(id) => {
                    Refusal::new(cause, format!("git arkaint contract {verb} {}", short(&id)))
                }
                None => refuse(cause),
            }
        }
    }
    .into())
}

fn here(worktree: &Worktree) -> Result<String> {
    worktree.branch()?.ok_or_else(|| {
        Refusal::new(
            "HEAD is detached: a contract is for a branch",
            "git switch BRANCH",
        )
        .into()
    })
}

fn read(file: &Path) -> Result<Vec<u8>> {
    let fault = |why: String| {
        Refusal::new(
            format!("{}: {why}", file.display()),
            "name a file that is there",
        )
    };
    let opened = std::fs::File::open(file).map_err(|e| fault(e.to_string()))?;
    let mut bytes = Vec::new();
    opened
        .take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| fault(e.to_string()))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(fault(format!("larger than {}", text::human_bytes(MAX_FILE))).into());
    }
    Ok(bytes)
}

fn about(frozen: &Frozen) -> Value {
    let contract = &frozen.contract;
    json!({
        "digest": frozen.digest, "blob": frozen.blob.to_string(), "task": contract.task, "branch": contract.branch,
        "base": contract.base.to_string(), "generated_at": contract.generated_at, "binding": contract.binding.name(),
        "intent": contract.body.intent, "outcomes": contract.body.outcomes.len(), "items": contract.project.len(),
    })
}

fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

fn line(shown: &str) -> String {
    text::ellipsis(&text::visible_line(shown), 500)
}
