//! The words a user types, and nothing else: no logic, no defaults that depend on the repository.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Run coding agents in a Git repository without trusting them.
///
/// State lives in Git, not in a model's context: every launch gets a bounded packet made from the last three tested checkpoints, runs one
/// stateless agent, and is judged by what can be checked. A failure that repeats rolls back to the last stable checkpoint, losing nothing.
#[derive(Debug, Parser)]
#[command(
    name = "git-arkaint",
    bin_name = "git arkaint",
    version,
    max_term_width = 100,
    disable_help_subcommand = true
)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Global {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub dir: Option<PathBuf>,
    /// Print one JSON document on stdout
    #[arg(long, global = true)]
    pub json: bool,
    /// Say nothing but results, warnings and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// When to colour
    #[arg(long, value_enum, value_name = "WHEN", default_value_t, global = true)]
    pub color: Color,
}

/// When to colour, as `--color` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Set a repository up: configuration, hooks, scratch folders
    Init(Init),
    /// Test what is on disk, then commit the tested state
    Checkpoint(Checkpoint),
    /// Build the packet, launch the agent once, record it
    Boot(Boot),
    /// Print the packet that an agent would get; launch nothing
    Packet(Packet),
    /// Checkpoint, launch, judge, correct, until it is done or must stop
    Cycle(Cycle),
    /// Cycles in worktrees of their own, on fresh branches, several at once
    Dispatch(Dispatch),
    /// Put the work away, then go back to the last checkpoint
    Rollback(Rollback),
    /// What the work must prove: freeze it, show it, and the words of persons on it
    Contract(Contract),
    /// Run a check and write what it shows to .ak-loop/verify.json, sealed to the tree that it ran on
    Verify(Verify),
    /// May it be merged? The gate over the evidence, its table, and the merge
    Deliver(Deliver),
    /// Where this worktree stands
    Status(Status),
    /// The ledger, newest first
    Log(Log),
    /// Exchange the ledger with a remote
    Sync(Sync),
    /// Tokens and money of the runs
    Cost(Cost),
    /// Signals of decay over time: is the agent getting worse?
    Decay(Decay),
    /// Why a run was judged as it was
    Explain(Explain),
    /// What rollbacks put away, and how to get it back
    Discarded(Discarded),
    /// Everything that a cycle needs, one line each, with the command that mends it
    Doctor(Doctor),
    /// The git hooks: install, uninstall, status
    Hooks(Hooks),
    /// Run as a git hook (the hooks call this)
    #[command(hide = true)]
    Hook(Hook),
    /// Shell completions on stdout
    Completions(Completions),
    /// The manual pages
    Man(Man),
    /// A whole cycle in a throw-away repository, with a scripted stand-in for the agent
    Demo(Demo),
}

/// The task, as a word or a file.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Task {
    /// The task; without it, the task of the last checkpoint of this branch
    #[arg(value_name = "TASK")]
    pub text: Option<String>,
    /// Profile: strategist, auditor, reviewer, debugger, default, or one of arkaint.toml
    #[arg(value_name = "PROFILE")]
    pub profile_word: Option<String>,
    /// Profile (the same as the second word)
    #[arg(short, long, value_name = "PROFILE", conflicts_with = "profile_word")]
    pub profile: Option<String>,
    /// Read the task from FILE (`-` for standard input)
    #[arg(long = "task-file", value_name = "FILE")]
    pub file: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
pub(crate) struct Init {
    /// Show what would be written; write nothing
    #[arg(long, conflicts_with = "undo")]
    pub print: bool,
    /// Take back what init did; what was put away and the ledger stay
    #[arg(long)]
    pub undo: bool,
    /// With --undo: also remove what was put away, and all scratch and state
    #[arg(long, requires = "undo")]
    pub purge: bool,
    /// With --undo: also remove the ledger
    #[arg(long, requires = "undo")]
    pub ledger: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Checkpoint {
    /// A message for the checkpoint
    #[arg(short, long, value_name = "MSG")]
    pub message: Option<String>,
    /// The task that this state belongs to
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
}

/// What can be changed for one launch.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Launch {
    /// Agent: goose, claude, codex, opencode, gemini or command
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Provider, as the agent names it
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Model, as the provider names it
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Boot {
    #[command(flatten)]
    pub task: Task,
    #[command(flatten)]
    pub launch: Launch,
}

#[derive(Args, Debug)]
pub(crate) struct Packet {
    #[command(flatten)]
    pub task: Task,
    /// Prompt and payload exactly as they are piped to the agent
    #[arg(long)]
    pub full: bool,
    /// Bytes and tokens (o200k) of each layer
    #[arg(long)]
    pub stats: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Cycle {
    #[command(flatten)]
    pub task: Task,
    #[command(flatten)]
    pub launch: Launch,
    /// Make branch NAME here and work on it
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// Start from failing checks: done when every check passes
    #[arg(long)]
    pub red: bool,
    /// Run up to N cycles, each from the one sealed before
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,
    /// Say what would run (gate, command, budgets, packet); do nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
pub(crate) struct Dispatch {
    /// The task; with a file of tasks, the profile
    #[arg(value_name = "TASK")]
    pub text: Option<String>,
    /// Profile: strategist, auditor, reviewer, debugger, default, or one of arkaint.toml
    #[arg(value_name = "PROFILE")]
    pub profile_word: Option<String>,
    /// Profile (the same as the second word)
    #[arg(short, long, value_name = "PROFILE", conflicts_with = "profile_word")]
    pub profile: Option<String>,
    /// Read a task from FILE (`-` for standard input); may be given again
    #[arg(long = "task-file", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Read tasks from FILE, one a line; blank lines and those that begin with # are skipped
    #[arg(long, value_name = "FILE")]
    pub tasks: Option<PathBuf>,
    /// Run up to N at once
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub jobs: u32,
    /// Freeze FILE as the contract of the new branch
    #[arg(long, value_name = "FILE")]
    pub contract: Option<PathBuf>,
    #[command(flatten)]
    pub launch: Launch,
    /// Name of the new branch (default: made from the task)
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// Start from REV (default: HEAD)
    #[arg(long, value_name = "REV")]
    pub base: Option<String>,
    /// Start from failing checks: done when every check passes
    #[arg(long)]
    pub red: bool,
    /// Take up the dispatches whose worker died or was interrupted, where they were
    #[arg(long, conflicts_with_all = ["text", "files", "tasks", "contract", "branch", "base", "red", "steal"])]
    pub resume: bool,
    /// Start anew on a task whose holder is dead or on another machine
    #[arg(long)]
    pub steal: bool,
    /// Say what would run, where and on which branch; do nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Rollback {}

#[derive(Args, Debug)]
pub(crate) struct Doctor {}

#[derive(Args, Debug)]
pub(crate) struct Contract {
    #[command(subcommand)]
    pub what: ContractVerb,
}

#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a word of its own on the command line
pub(crate) struct Deliver {
    /// The branch that is delivered (default: HEAD)
    #[arg(value_name = "BRANCH")]
    pub branch: Option<String>,
    /// The branch that it is judged against and merged into
    #[arg(long, value_name = "NAME")]
    pub base: Option<String>,
    /// Judge and print; write nothing
    #[arg(long)]
    pub check: bool,
    /// Run what the lists name, and the project's checks, again in a fresh worktree of the delivered commit
    #[arg(long)]
    pub rerun: bool,
    /// Judge every dispatch that the ledger knows
    #[arg(long, conflicts_with_all = ["branch", "base", "pr", "merge", "markdown"])]
    pub all: bool,
    /// The pull request (or merge request) of the delivery: its checks count, and one comment there shows the table
    #[arg(long, value_name = "N", conflicts_with_all = ["base", "merge"])]
    pub pr: Option<u64>,
    /// Merge into the base, if the gate is open
    #[arg(long, conflicts_with = "check")]
    pub merge: bool,
    /// Merge as one commit with the delivered tree
    #[arg(long, requires = "merge", conflicts_with = "ff")]
    pub squash: bool,
    /// Make no merge commit where the base did not move on
    #[arg(long, requires = "merge")]
    pub ff: bool,
    /// Print the table as Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ContractVerb {
    /// Freeze FILE (TOML or JSON) as the open contract of a branch; a later one replaces it
    Freeze {
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The task that it is for; without it, the first that is started on the branch
        #[arg(long, value_name = "TASK")]
        task: Option<String>,
        /// The branch that it is for (default: this one)
        #[arg(long, value_name = "NAME")]
        branch: Option<String>,
        /// The branch that the work is judged against
        #[arg(long, value_name = "NAME")]
        base: Option<String>,
    },
    /// The items of both lists: the project's and the contract's
    Show {
        /// A contract by 7 or more digits of its digest (default: the open one of this branch)
        #[arg(value_name = "DIGEST")]
        digest: Option<String>,
    },
    /// Approve the text of FILE as the plan of the open contract
    ApprovePlan {
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Say that you saw the manual outcome ID, on exactly one commit
    Attest {
        #[arg(value_name = "ID")]
        id: String,
        /// The commit, by 7 or more digits of its id (default: HEAD)
        #[arg(long, value_name = "COMMIT")]
        commit: Option<String>,
    },
    /// Let a commit through that the gate holds (a protected path, a secret's name, an empty change)
    Approve {
        /// By 7 or more digits of its id
        #[arg(value_name = "COMMIT")]
        commit: String,
    },
}

#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// An outcome that CMD shows, again for another (default: each of the open contract that has CMD as its command)
    #[arg(long, value_name = "ID")]
    pub outcome: Vec<String>,
    /// The command: a program and its words, run without a shell at the root of the worktree
    #[arg(value_name = "CMD", last = true, required = true)]
    pub command: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Status {
    /// Every configuration value and where it came from
    #[arg(long)]
    pub config: bool,
}

#[derive(Args, Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a word of its own on the command line
pub(crate) struct Log {
    /// At most N records
    #[arg(short = 'n', long, value_name = "N")]
    pub max_count: Option<usize>,
    /// Only records of these kinds (checkpoint, run, decay, failure, trip, rollback, dispatch, contract, approval, evidence, verdict)
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub kind: Vec<String>,
    /// Only records of this run
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// Only records of runs under this profile
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Only records of runs of this agent
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Only records of this branch
    #[arg(long, value_name = "NAME")]
    pub branch: Option<String>,
    /// Nothing from before: a day in UTC (2026-01-31), a moment, or how long ago (7d, 12h)
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Nothing from after
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// Recompute the chain of state hashes and name the first break
    #[arg(long, group = "instead")]
    pub verify: bool,
    /// Copy the records of rewritten commits to where the work is now
    #[arg(long, group = "instead")]
    pub repair: bool,
    /// Write .arkaint/audit/ anew from the ledger
    #[arg(long, group = "instead")]
    pub export: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Sync {
    /// The remote (default: that of the branch, else origin, else the only one)
    #[arg(value_name = "REMOTE")]
    pub remote: Option<String>,
    /// Say what would be exchanged; no ref moves
    #[arg(long)]
    pub dry_run: bool,
    /// Also the archives of what was put away
    #[arg(long)]
    pub discards: bool,
    /// Also the claims of tasks that dispatch takes
    #[arg(long)]
    pub leases: bool,
    /// How long one call of the network may last
    #[arg(long, value_name = "DURATION", default_value = "2m")]
    pub timeout: String,
}

#[derive(Args, Debug)]
pub(crate) struct Cost {
    /// What to put together
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    pub by: CostBy,
    /// No runs that ended before: a day in UTC (2026-01-31), a moment, or how long ago (7d, 12h)
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Price runs of unknown cost as the price tables of arkaint.toml say now
    #[arg(long)]
    pub reprice: bool,
}

/// What `cost` puts together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CostBy {
    /// UTC.
    #[default]
    Day,
    Model,
    Provider,
    Profile,
    Task,
    Agent,
}

#[derive(Args, Debug)]
pub(crate) struct Decay {
    /// Only these modes, by number
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=6))]
    pub mode: Vec<u64>,
    /// Nothing from before: a day in UTC (2026-01-31), a moment, or how long ago (7d, 12h)
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// List at most N signals, newest first (default: 10)
    #[arg(short = 'n', long, value_name = "N")]
    pub max_count: Option<usize>,
    /// What mode 2 would have said of each commit of RANGE
    #[arg(long, value_name = "RANGE", conflicts_with_all = ["mode", "since", "max_count"])]
    pub measure: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// A run, or logs of successive launches in order; without one, the latest run
    #[arg(value_name = "RUN|LOG")]
    pub what: Vec<String>,
    /// The agent that wrote the logs (recognised when not given)
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Score JSON lines {"task","did"} from standard input: one drift score a line
    #[arg(long)]
    pub drift: bool,
    /// With --drift: the revision whose history may be used
    #[arg(long, value_name = "REV", requires = "drift")]
    pub rev: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Discarded {
    #[command(subcommand)]
    pub what: DiscardedVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DiscardedVerb {
    /// What was put away, newest first
    List,
    /// The paths of one archive
    Show {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// One archive as a patch against the commit it was made on
    Diff {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Bring an archive back: into the worktree, or on a new branch
    Restore {
        #[arg(value_name = "ID")]
        id: String,
        /// Put it on this new branch; the worktree stays as it is
        #[arg(long, value_name = "NAME")]
        branch: Option<String>,
        /// Only these paths
        #[arg(value_name = "PATH", last = true)]
        paths: Vec<PathBuf>,
    },
}

#[derive(Args, Debug)]
pub(crate) struct Hooks {
    #[command(subcommand)]
    pub what: HooksVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HooksVerb {
    /// Install the guards beside whatever hooks are there
    Install,
    /// Remove the guards and put back what was there before
    Uninstall,
    /// Would git run the guards here? Exit 1 when not
    Status {
        /// Let git itself prove it
        #[arg(long)]
        probe: bool,
    },
}

#[derive(Args, Debug)]
pub(crate) struct Hook {
    /// `run NAME`
    #[arg(value_name = "run", value_parser = ["run"])]
    pub run: String,
    /// pre-commit, pre-merge-commit or pre-push
    #[arg(value_name = "NAME")]
    pub name: String,
    #[arg(value_name = "ARGS", last = true)]
    pub args: Vec<std::ffi::OsString>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Args, Debug)]
pub(crate) struct Completions {
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The page to print (git-arkaint when not given)
    #[arg(value_name = "PAGE")]
    pub page: Option<String>,
    /// Write all pages below DIR/man1, DIR/man5, ... (default: beside the binary, ../share/man)
    #[arg(long, value_name = "DIR")]
    #[expect(
        clippy::option_option,
        reason = "given or not, and with a folder or not"
    )]
    pub install: Option<Option<PathBuf>>,
}

#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Keep the repository and say where it is
    #[arg(long)]
    pub keep: bool,
}
