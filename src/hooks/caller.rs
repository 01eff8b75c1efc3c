//! Who makes this commit or push: an operator, or an agent inside a run. It reads the environment and decides nothing.

use crate::git::hook_env::HookGit;
use crate::hooks::answer::No;

/// What the environment says.
pub(super) struct Caller {
    allowed: bool,
    run: Option<Run>,
}

/// A run of an agent, as its environment names it.
struct Run {
    branch: Option<String>,
}

impl Caller {
    pub(super) fn from_env() -> Self {
        let run = std::env::var_os("ARKAINT_RUN").is_some_and(|run| !run.is_empty());
        let branch = std::env::var("ARKAINT_BRANCH")
            .ok()
            .filter(|branch| !branch.is_empty());
        Self {
            allowed: std::env::var_os("ARKAINT_ALLOW_INFRA_EDIT").is_some_and(|value| value == "1"),
            run: run.then_some(Run { branch }),
        }
    }

    pub(super) fn in_run(&self) -> bool {
        self.run.is_some()
    }

    /// May this caller change protected paths? The variable is taken from an agent's environment at launch, so within a run it can only
    /// be the agent's own word.
    pub(super) fn may_edit_infra(&self) -> bool {
        self.allowed && self.run.is_none()
    }

    /// Holds a run to the branch that it was launched on.
    pub(super) fn off_branch(&self, git: &HookGit) -> anyhow::Result<Option<No>> {
        let Some(Run {
            branch: Some(branch),
        }) = &self.run
        else {
            return Ok(None);
        };
        let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
        let head = git.head_ref()?;
        let here = head
            .as_deref()
            .map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
        if here == Some(branch) {
            return Ok(None);
        }
        let place = here.map_or_else(
            || "a detached HEAD".to_owned(),
            |name| format!("branch {name}"),
        );
        Ok(Some(No::new(
            format!("commit refused: this run works on {branch}, and HEAD is on {place}"),
            [format!("git switch {}", shell_words::quote(branch))],
        )))
    }
}
