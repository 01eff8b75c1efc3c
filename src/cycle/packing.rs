//! What goes into a packet here and now: the checkpoints of this branch, the profile, the rules. `packet` puts it together.

use anyhow::{Context, Result};

use super::proof::{self, Proof};
use crate::config::Config;
use crate::evidence::standing::Standing;
use crate::gate::Pass;
use crate::git::{self, Oid, Worktree};
use crate::guard;
use crate::ledger::{Checkpoint, walk};
use crate::packet::{self, Input, Instruction, Packet, Shown, brief};
use crate::secret::{self, paths::Sensitive};

/// Where the whole task can be read when the packet has no room for it.
const TASK_FILE: &str = ".arkaint/task.md";

/// The packet of a launch.
pub(crate) fn build(
    pass: &Pass,
    task: &str,
    instruction: Option<&Instruction>,
    in_flight: Option<(Oid, Oid)>,
    asked: Option<(&Proof, &Standing)>,
) -> Result<Packet> {
    let (worktree, config) = (&pass.worktree, &pass.config);
    of(worktree, config, task, instruction, in_flight, asked)
}

/// What is asked of `task` on this branch, and how it stands at HEAD, for a packet that no launch follows.
pub(crate) fn asked(
    worktree: &Worktree,
    config: &Config,
    branch: &str,
    task: &str,
) -> Result<Option<(Proof, Standing)>> {
    let head = worktree.head()?.context("HEAD has no commit")?;
    proof::asked_on(worktree, config, branch, task, worktree.tree_of(head)?)
}

/// The packet that a launch would get; reads only.
pub(crate) fn of(
    worktree: &Worktree,
    config: &Config,
    task: &str,
    instruction: Option<&Instruction>,
    in_flight: Option<(Oid, Oid)>,
    asked: Option<(&Proof, &Standing)>,
) -> Result<Packet> {
    let brief = asked.map(|(proof, _)| proof.brief(config));
    let evidence = asked.map(|(_, standing)| brief::layer(standing));
    let head = worktree.head()?.context("HEAD has no commit")?;
    // An invalid one is shown to people (`log`), never to a model: its words are anybody's.
    let found = walk::valid(worktree, head, 3)?;
    let history: Vec<Shown> = found.iter().map(shown).collect();
    let base = if history.len() == 1 {
        branch_point(worktree, history[0].commit)?
    } else {
        None
    };
    let sensitive = Sensitive::new(&config.packet.sensitive)?;
    let infra = guard::protected_names(worktree, &config.infra)?;
    packet::build(
        worktree,
        &Input {
            task,
            task_file: TASK_FILE,
            profile_name: &config.profile,
            profile: config.active_profile(),
            max_chars: config.packet.max_chars,
            sensitive: &|path| sensitive.matches(path),
            redact: &|text| secret::redact(text),
            history: &history,
            base,
            in_flight,
            instruction,
            infra: &infra,
            brief: brief.as_deref(),
            evidence: evidence.as_deref(),
        },
    )
}

fn shown(checkpoint: &Checkpoint) -> Shown {
    Shown {
        commit: checkpoint.commit,
        task: checkpoint.task.clone(),
        message: checkpoint.message.clone(),
        status: checkpoint.status.name().to_owned(),
        time: checkpoint.time.clone(),
        proven: checkpoint.proven,
    }
}

/// Where this branch left the remote's default branch, or `main` or `master` here.
fn branch_point(worktree: &Worktree, from: Oid) -> Result<Option<Oid>> {
    let repo = worktree.repo()?;
    for name in [
        "refs/remotes/origin/HEAD",
        "refs/heads/main",
        "refs/heads/master",
    ] {
        let Some(mut reference) = git::find_ref(repo, name)? else {
            continue;
        };
        let Ok(base) = reference.peel_to_id() else {
            continue;
        };
        if let Ok(Some(merge_base)) = repo.merge_base(base, from)
            && merge_base.detach() != from
        {
            return Ok(Some(merge_base.detach()));
        }
    }
    Ok(repo.find_commit(from)?.parent_ids().next().map(Into::into))
}
