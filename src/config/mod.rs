//! What the operator decided: `arkaint.toml` as committed, `git config arkaint.*`, `ARKAINT_*`, flags; each value with its origin.
//! It reads text and values that callers hand in, and touches no repository.
//!
//! `keys` is the one list of keys: it drives reading (`load`), the file that `init` writes (`template`), `status --config` and the
//! manual page (`man`). To add a key: a field below, a row there.

mod choice;
mod dod;
mod evidence;
mod gate_keys;
mod glob;
mod keys;
mod load;
mod man;
mod pattern;
mod personal;
mod profiles;
mod setting;
mod signal_keys;
mod slot;
mod template;
#[cfg(test)]
mod tests;
mod unit;
mod value;

pub(crate) mod protected;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use choice::Choice;
pub(crate) use dod::{Dod, DodKind};
pub(crate) use evidence::{Binding, Conflicts};
pub(crate) use glob::{ItemGlobs, PathGlobs, isolated_match};
pub(crate) use load::{Flags, Sources, load, text_of};
pub(crate) use man::man_page;
pub(crate) use pattern::Pattern;
pub(crate) use personal::environment;
pub(crate) use setting::{Loaded, Origin, Setting};
pub(crate) use template::template;
pub(crate) use unit::{read_duration, show_duration, show_size};
pub(crate) use value::nearest;

/// The name of the file, at the worktree's root.
pub(crate) const FILE: &str = "arkaint.toml";

/// How long `git commit` may take, with the user's hooks and signing; not a key, as nobody should need to raise it.
pub(crate) const COMMIT_TIMEOUT: Duration = Duration::from_secs(120);

/// The whole configuration of one call. Sizes are bytes, money is USD. `Config::default()` is the product's defaults; the `Default` of a
/// part is zeros, for `keys` to fill.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    /// The profile of this call: one of `profiles`.
    pub profile: String,
    pub branches: Branches,
    pub infra: Infra,
    pub checkpoint: Checkpoint,
    pub agent: Agent,
    pub packet: Packet,
    /// The five built-in profiles and those that `[profile.NAME]` adds or changes, by name.
    pub profiles: BTreeMap<String, Profile>,
    pub cycle: Cycle,
    pub breaker: Breaker,
    pub budget: Budget,
    pub deliver: Deliver,
    pub dispatch: Dispatch,
    /// Prices by `PROVIDER/MODEL`.
    pub prices: BTreeMap<String, Price>,
    pub drift: Drift,
    pub evidence: Evidence,
    /// The project's definition of done, in the order of the file.
    pub dod: Vec<Dod>,
    pub retention: Retention,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Branches {
    /// Globs of branches on which agents may run (`*` does not cross `/` boundaries specially: `arkaint/*` matches `arkaint/a/b`).
    pub isolated: Vec<String>,
}

/// Where the infra lock holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum InfraScope {
    /// On every branch.
    #[default]
    All,
    /// On isolated branches alone.
    Isolated,
}

impl Choice for InfraScope {
    const ALL: &'static [Self] = &[Self::All, Self::Isolated];

    fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Isolated => "isolated",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Infra {
    /// Protected paths besides the built-in ones; a trailing `/` or a plain name protects all below it.
    pub paths: Vec<String>,
    pub scope: InfraScope,
}

/// A command of the operator's: a bash string or an argv.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CommandLine {
    /// Run as `bash -c` under `set -euo pipefail`.
    Bash(String),
    Argv(Vec<String>),
}

impl CommandLine {
    /// As a person would type it.
    pub(crate) fn typed(&self) -> String {
        match self {
            Self::Bash(script) => script.trim().to_owned(),
            Self::Argv(words) => shell_words::join(words),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum TestCommand {
    /// `test` is not set: a checkpoint refuses.
    #[default]
    Unset,
    /// `test = false`: the project declares that it has no tests; checkpoints are `untested`.
    Declared,
    Run(CommandLine),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Checkpoint {
    pub test: TestCommand,
    /// The spec check; `scripts/verify-spec.sh` is used when this is unset and that file exists.
    pub spec: Option<CommandLine>,
    pub timeout: Duration,
    /// Globs of paths that may hold secrets and are committed all the same.
    pub allow_secrets: Vec<String>,
    pub gitleaks: Gitleaks,
}

/// May, must or shall not the user's own gitleaks look for secrets besides us?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Gitleaks {
    /// Where it is installed.
    #[default]
    Auto,
    Required,
    Off,
}

impl Choice for Gitleaks {
    const ALL: &'static [Self] = &[Self::Auto, Self::Required, Self::Off];

    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Required => "required",
            Self::Off => "off",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AgentName {
    #[default]
    Goose,
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    OpenCode,
    Gemini,
    /// Any argv that reads the packet on standard input.
    Command,
}

impl AgentName {
    pub(crate) fn as_str(self) -> &'static str {
        self.name()
    }
}

impl Choice for AgentName {
    const ALL: &'static [Self] = &[
        Self::Goose,
        Self::Claude,
        Self::Codex,
        Self::OpenCode,
        Self::Gemini,
        Self::Command,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Goose => "goose",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Gemini => "gemini",
            Self::Command => "command",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Agent {
    pub name: AgentName,
    pub provider: Option<String>,
    pub model: Option<String>,
    /// argv of the `command` agent; for the others it replaces the program's name or path (first word) if set.
    pub command: Vec<String>,
    /// Words added to the agent's own argv.
    pub args: Vec<String>,
    /// `NAME` passes a variable that would be withheld, `!NAME` withholds one, `NAME=value` sets one.
    pub env: Vec<String>,
    /// argv put before the agent's and the tests' argv, as [`Agent::sandbox`] fills it in.
    pub wrapper: Vec<String>,
    pub timeout: Duration,
    pub idle_timeout: Duration,
    pub max_turns: u32,
}

impl Agent {
    /// [`sandbox`] of its wrapper.
    pub(crate) fn sandbox(&self, worktree: &Path, git: &Path) -> Vec<String> {
        sandbox(&self.wrapper, worktree, git)
    }
}

/// `wrapper` for what runs in `worktree`. Its words `{worktree}` and `{git}` stand for the root, and for the git directory that all worktrees
/// of the repository share.
pub(crate) fn sandbox(wrapper: &[String], worktree: &Path, git: &Path) -> Vec<String> {
    let (worktree, git) = (worktree.to_string_lossy(), git.to_string_lossy());
    let filled = |word: &String| word.replace("{worktree}", &worktree).replace("{git}", &git);
    wrapper.iter().map(filled).collect()
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Packet {
    pub max_chars: usize,
    /// Globs of sensitive paths besides the built-in ones.
    pub sensitive: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Profile {
    pub diff_chars: usize,
    /// Globs of reference files put into the packet.
    pub preload: Vec<String>,
    pub preload_chars: usize,
    /// How this profile thinks and what it must not do.
    pub guardrails: String,
    /// Globs of what a run may change; empty = everything.
    pub allow: Vec<String>,
    /// Globs of what a run must not change.
    pub deny: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cycle {
    pub attempts: u32,
    pub fix_rounds: u32,
    pub seal: bool,
}

/// What unresolved tool failures mean while every check is green.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WhenGreen {
    #[default]
    Trip,
    /// Seal, and say so.
    Warn,
}

impl Choice for WhenGreen {
    const ALL: &'static [Self] = &[Self::Trip, Self::Warn];

    fn name(self) -> &'static str {
        match self {
            Self::Trip => "trip",
            Self::Warn => "warn",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Breaker {
    pub across: u32,
    pub within: u32,
    pub when_green: WhenGreen,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Budget {
    pub run_usd: f64,
    pub run_tokens: u64,
    pub day_usd: f64,
    pub day_tokens: u64,
    pub log_bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Deliver {
    /// The branch that work is judged against; unset, the one it was cut from, else the remote's default.
    pub base: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Dispatch {
    /// argv that makes a fresh worktree usable.
    pub setup: Option<Vec<String>>,
}

/// What a proof must be worth.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Evidence {
    pub binding: Binding,
    pub conflicts: Conflicts,
    /// Where workers write dod.json, from the worktree's root.
    pub dod_file: PathBuf,
    /// Size of each of the three files.
    pub max_bytes: u64,
}

/// USD per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Drift {
    pub threshold: f64,
    /// argv of an embedding model: JSON lines in, vectors out.
    pub command: Option<Vec<String>>,
    /// A service that does the same.
    pub url: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Retention {
    pub runs: usize,
    pub discards: usize,
    pub age: Duration,
    pub bytes: u64,
}

impl Config {
    /// The profile of this call.
    pub(crate) fn active_profile(&self) -> &Profile {
        self.profiles
            .get(&self.profile)
            .expect("load checks that the profile is there")
    }
}
