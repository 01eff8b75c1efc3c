//! The one list of keys: table, name, type, default, where it is kept, and what it is for. Reading, the file that `init` writes,
//! `status --config` and the manual page all go by it. It reads nothing itself.

use super::slot::Slot;
use super::value::{Kind, Value};
use super::{
    Agent, Branches, Breaker, Budget, Checkpoint, Config, Cycle, Deliver, Dispatch, Drift,
    Evidence, Infra, Packet, Price, Profile, Retention, gate_keys, profiles, signal_keys,
};

/// A table of the file.
pub(super) struct Table {
    pub name: &'static str,
    /// For a table of tables (`[profile.NAME]`): what its second word is called.
    pub per: Option<&'static str>,
    /// An instance of `per`, as one writes it.
    pub instance: &'static str,
    /// A list of tables (`[[dod]]`); the instance of its items is their place, from 0.
    pub list: bool,
    pub doc: &'static str,
    pub keys: &'static [Key],
}

/// A key of a table.
pub(super) struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub default: Fallback,
    pub doc: &'static str,
    /// For a key of a list: the kinds of item that have it; none said, all.
    pub of: &'static [&'static str],
    place: Place,
}

/// What holds where the file is silent, as TOML.
pub(super) enum Fallback {
    Is(&'static str),
    /// Nothing; an example, and what happens then.
    Unset {
        example: &'static str,
        means: &'static str,
    },
}

/// Where a key's value is kept; the word is that of a table of tables.
type Place = for<'a> fn(&'a mut Config, &str) -> &'a mut dyn Slot;

impl Key {
    /// The same for items of these kinds alone.
    pub(super) const fn of(mut self, kinds: &'static [&'static str]) -> Self {
        self.of = kinds;
        self
    }

    /// Does an item of this kind have this key?
    pub(super) fn is_of(&self, kind: &str) -> bool {
        self.of.is_empty() || self.of.contains(&kind)
    }

    /// Puts a value of this key's kind where it belongs; `instance` is the second word of a table of tables.
    pub(super) fn put(&self, config: &mut Config, instance: &str, value: Value) {
        (self.place)(config, instance).put(value);
    }

    pub(super) fn get(&self, config: &mut Config, instance: &str) -> Value {
        (self.place)(config, instance).get()
    }
}

pub(super) const fn key(
    name: &'static str,
    kind: Kind,
    default: Fallback,
    doc: &'static str,
    place: Place,
) -> Key {
    Key {
        name,
        kind,
        default,
        doc,
        of: &[],
        place,
    }
}

pub(super) const fn table(name: &'static str, doc: &'static str, keys: &'static [Key]) -> Table {
    Table {
        name,
        per: None,
        instance: "",
        list: false,
        doc,
        keys,
    }
}

/// A list of tables.
pub(super) const fn list(name: &'static str, doc: &'static str, keys: &'static [Key]) -> Table {
    let mut list = table(name, doc, keys);
    list.list = true;
    list
}

use Fallback::{Is, Unset};

/// Every table, in the order of the file.
pub(super) static TABLES: &[Table] = &[
    table(
        "branches",
        "Where agents may work.",
        &[key(
            "isolated",
            Kind::Branches,
            Is(r#"["arkaint/*", "ephemeral-*"]"#),
            "Branches on which agents may run; * matches across / and case counts.",
            |c, _| &mut c.branches.isolated,
        )],
    ),
    table(
        "infra",
        "What no run may change: scripts/, .githooks/, arkaint.toml, the hooks folder, and the paths below.",
        &[
            key(
                "paths",
                Kind::Paths,
                Is("[]"),
                "More protected files and folders, with all that is below them; names from the root, no globs.",
                |c, _| &mut c.infra.paths,
            ),
            key(
                "scope",
                Kind::Choice(&["all", "isolated"]),
                Is(r#""all""#),
                "Branches on which the hooks hold the lock: all of them, or the isolated ones alone.",
                |c, _| &mut c.infra.scope,
            ),
        ],
    ),
    table(
        "checkpoint",
        "What must pass before a state is committed as stable. Read as committed: an agent that edits it changes nothing for its own run.",
        &[
            key(
                "test",
                Kind::Test,
                Unset {
                    example: r#""make test""#,
                    means: "checkpoint refuses",
                },
                "The project's tests: a bash string (run under set -euo pipefail), a list of words (no shell), or false for a project without tests.",
                |c, _| &mut c.checkpoint.test,
            ),
            key(
                "spec",
                Kind::Command,
                Unset {
                    example: r#""scripts/verify-spec.sh""#,
                    means: "scripts/verify-spec.sh, where that file exists",
                },
                "A second check, after the tests: does the code still do what its specification says?",
                |c, _| &mut c.checkpoint.spec,
            ),
            key(
                "timeout",
                Kind::Duration,
                Is(r#""30m""#),
                "How long the tests may take, and how long the spec check may.",
                |c, _| &mut c.checkpoint.timeout,
            ),
            key(
                "allow_secrets",
                Kind::Globs,
                Is("[]"),
                "Files that look as if they held secrets and are committed all the same (test fixtures).",
                |c, _| &mut c.checkpoint.allow_secrets,
            ),
            key(
                "gitleaks",
                Kind::Choice(&["auto", "required", "off"]),
                Is(r#""auto""#),
                "A second look for secrets by gitleaks: where it is installed, always (a checkpoint without it is refused), or never. By .gitleaks.toml as committed before, else by its own rules.",
                |c, _| &mut c.checkpoint.gitleaks,
            ),
        ],
    ),
    table(
        "agent",
        "The agent. git config arkaint.agent, arkaint.provider and arkaint.model, then ARKAINT_AGENT and so on, then flags, go before name, provider and model. An agent chosen there, other than the file's and not \"command\", takes no provider, model, command or args from here.",
        &[
            key(
                "name",
                Kind::Choice(&["goose", "claude", "codex", "opencode", "gemini", "command"]),
                Is(r#""goose""#),
                "Goose, Claude Code, Codex, OpenCode, Gemini CLI, or any command that reads the packet on standard input.",
                |c, _| &mut c.agent.name,
            ),
            key(
                "provider",
                Kind::Text,
                Unset {
                    example: r#""anthropic""#,
                    means: "the agent's own choice",
                },
                "Provider, as the agent names it.",
                |c, _| &mut c.agent.provider,
            ),
            key(
                "model",
                Kind::Text,
                Unset {
                    example: r#""claude-sonnet-4-5""#,
                    means: "the agent's own choice",
                },
                "Model, as the provider names it.",
                |c, _| &mut c.agent.model,
            ),
            key(
                "command",
                Kind::Words,
                Is("[]"),
                "The command agent's program and arguments; for another agent, its program in place of the one on PATH.",
                |c, _| &mut c.agent.command,
            ),
            key(
                "args",
                Kind::Words,
                Is("[]"),
                "Words added to the agent's own arguments.",
                |c, _| &mut c.agent.args,
            ),
            key(
                "env",
                Kind::Environment,
                Is("[]"),
                "The agent's environment: \"NAME\" passes a variable that would be withheld, \"!NAME\" withholds one, \"NAME=value\" sets one.",
                |c, _| &mut c.agent.env,
            ),
            key(
                "wrapper",
                Kind::Words,
                Is("[]"),
                "A sandbox: words put before the agent's command and the tests'; {worktree} and {git} are filled in.",
                |c, _| &mut c.agent.wrapper,
            ),
            key(
                "timeout",
                Kind::Duration,
                Is(r#""60m""#),
                "How long one launch may take.",
                |c, _| &mut c.agent.timeout,
            ),
            key(
                "idle_timeout",
                Kind::Duration,
                Is(r#""15m""#),
                "How long it may say nothing; agents are mute while a build runs.",
                |c, _| &mut c.agent.idle_timeout,
            ),
            key(
                "max_turns",
                Kind::Count(1, 100_000),
                Is("100"),
                "Turns of one launch.",
                |c, _| &mut c.agent.max_turns,
            ),
        ],
    ),
    table(
        "packet",
        "What an agent is told.",
        &[
            key(
                "max_chars",
                Kind::Size(4 << 10, 16 << 20),
                Is(r#""64KiB""#),
                "Size of the whole packet, never exceeded.",
                |c, _| &mut c.packet.max_chars,
            ),
            key(
                "sensitive",
                Kind::Globs,
                Is("[]"),
                "Files whose content never goes into a packet, besides .env, keys, credentials and the like.",
                |c, _| &mut c.packet.sensitive,
            ),
        ],
    ),
    Table {
        name: "profile",
        per: Some("NAME"),
        instance: "default",
        list: false,
        doc: "How an agent thinks and what it may touch. Changes strategist, auditor, reviewer, debugger or default; another name adds a profile that starts as default does.",
        keys: &[
            key(
                "diff_chars",
                Kind::Size(0, 16 << 20),
                Is(r#""16KiB""#),
                "Size of the diff across the last three checkpoints.",
                |c, name| &mut profile(c, name).diff_chars,
            ),
            key(
                "preload",
                Kind::Globs,
                Is("[]"),
                "Reference files put into the packet.",
                |c, name| &mut profile(c, name).preload,
            ),
            key(
                "preload_chars",
                Kind::Size(0, 16 << 20),
                Is(r#""16KiB""#),
                "Size of all reference files together.",
                |c, name| &mut profile(c, name).preload_chars,
            ),
            key(
                "guardrails",
                Kind::Prose,
                Unset {
                    example: r#""""Read before you write.""""#,
                    means: "the profile's own",
                },
                "What the agent is told about how to think and what it must not do; replaces the profile's own text.",
                |c, name| &mut profile(c, name).guardrails,
            ),
            key(
                "allow",
                Kind::Globs,
                Is("[]"),
                "What a run is expected to change (none given: everything); a change elsewhere is recorded as a decay signal.",
                |c, name| &mut profile(c, name).allow,
            ),
            key(
                "deny",
                Kind::Globs,
                Is("[]"),
                "What a run must not change; put back like a protected path.",
                |c, name| &mut profile(c, name).deny,
            ),
        ],
    },
    table(
        "cycle",
        "How often a cycle may try.",
        &[
            key(
                "attempts",
                Kind::Count(0, 20),
                Is("3"),
                "Recovery attempts after a rollback; 0 rolls back and stops, 1 is the summary for the operator alone.",
                |c, _| &mut c.cycle.attempts,
            ),
            key(
                "fix_rounds",
                Kind::Count(0, 20),
                Is("2"),
                "Fix rounds of each attempt.",
                |c, _| &mut c.cycle.fix_rounds,
            ),
            key(
                "seal",
                Kind::Flag,
                Is("true"),
                "Commit good work as a closing checkpoint; false leaves it on disk.",
                |c, _| &mut c.cycle.seal,
            ),
        ],
    ),
    table(
        "breaker",
        "When the same failure is too much: roll back, then recover.",
        &[
            key(
                "across",
                Kind::Count(1, 20),
                Is("2"),
                "Judgements in a row with the same failure; 1 trips at first sight.",
                |c, _| &mut c.breaker.across,
            ),
            key(
                "within",
                Kind::Count(1, 100),
                Is("3"),
                "Times that one run may fail the same way without resolving it.",
                |c, _| &mut c.breaker.within,
            ),
            key(
                "when_green",
                Kind::Choice(&["trip", "warn"]),
                Is(r#""trip""#),
                "Unresolved tool failures while every check is green: trip, or seal with a warning.",
                |c, _| &mut c.breaker.when_green,
            ),
        ],
    ),
    table(
        "budget",
        "What may be spent. Tokens hold where the price is unknown.",
        &[
            key(
                "run_usd",
                Kind::Budget,
                Is("5"),
                "USD of one launch.",
                |c, _| &mut c.budget.run_usd,
            ),
            key(
                "run_tokens",
                Kind::Count(1, u64::MAX),
                Is("5_000_000"),
                "Tokens of one launch.",
                |c, _| &mut c.budget.run_tokens,
            ),
            key(
                "day_usd",
                Kind::Budget,
                Is("25"),
                "USD of one day (UTC).",
                |c, _| &mut c.budget.day_usd,
            ),
            key(
                "day_tokens",
                Kind::Count(1, u64::MAX),
                Is("25_000_000"),
                "Tokens of one day (UTC).",
                |c, _| &mut c.budget.day_tokens,
            ),
            key(
                "log_bytes",
                Kind::Size(64 << 10, 1 << 40),
                Is(r#""256MiB""#),
                "Size of one run.log; what comes after is read and judged, not kept.",
                |c, _| &mut c.budget.log_bytes,
            ),
        ],
    ),
    gate_keys::DELIVER,
    gate_keys::DISPATCH,
    Table {
        name: "price",
        per: Some(r#""PROVIDER/MODEL""#),
        instance: r#""openai/gpt-5""#,
        list: false,
        doc: "USD per million tokens, for agents that do not report their cost.",
        keys: &[
            key(
                "input",
                Kind::Price,
                Unset {
                    example: "1.25",
                    means: "an error",
                },
                "Tokens sent.",
                |c, name| &mut price(c, name).input,
            ),
            key(
                "output",
                Kind::Price,
                Unset {
                    example: "10",
                    means: "an error",
                },
                "Tokens received.",
                |c, name| &mut price(c, name).output,
            ),
            key(
                "cache_read",
                Kind::Price,
                Unset {
                    example: "0.125",
                    means: "the price of input",
                },
                "Tokens sent and found in the provider's cache.",
                |c, name| &mut price(c, name).cache_read,
            ),
            key(
                "cache_write",
                Kind::Price,
                Unset {
                    example: "1.25",
                    means: "the price of input",
                },
                "Tokens sent and put into the provider's cache.",
                |c, name| &mut price(c, name).cache_write,
            ),
        ],
    },
    signal_keys::DRIFT,
    gate_keys::EVIDENCE,
    gate_keys::DOD,
    signal_keys::RETENTION,
];

/// The table called `name`.
pub(super) fn find(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}

fn profile<'a>(config: &'a mut Config, name: &str) -> &'a mut Profile {
    config
        .profiles
        .entry(name.to_owned())
        .or_insert_with(profiles::fallback)
}

fn price<'a>(config: &'a mut Config, name: &str) -> &'a mut Price {
    config.prices.entry(name.to_owned()).or_default()
}

impl Default for Config {
    /// What holds where nothing is configured.
    fn default() -> Self {
        let mut config = Self {
            profile: profiles::DEFAULT.to_owned(),
            branches: Branches::default(),
            infra: Infra::default(),
            checkpoint: Checkpoint::default(),
            agent: Agent::default(),
            packet: Packet::default(),
            profiles: profiles::built_in(),
            cycle: Cycle::default(),
            breaker: Breaker::default(),
            budget: Budget::default(),
            deliver: Deliver::default(),
            dispatch: Dispatch::default(),
            prices: std::collections::BTreeMap::default(),
            drift: Drift::default(),
            evidence: Evidence::default(),
            dod: Vec::new(),
            retention: Retention::default(),
        };
        for key in TABLES
            .iter()
            .filter(|table| table.per.is_none() && !table.list)
            .flat_map(|table| table.keys)
        {
            if let Is(toml) = key.default {
                key.put(&mut config, "", default_value(key, toml));
            }
        }
        config
    }
}

/// A default of the list, read as the file would be.
pub(super) fn default_value(key: &Key, toml: &str) -> Value {
    let parsed = toml::de::DeValue::parse(toml).ok();
    parsed
        .and_then(|value| key.kind.read(&value).ok())
        .expect("a test reads every default")
}
