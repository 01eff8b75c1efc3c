//! What holds by default, what can be set, and how it is shown.

mod mistakes;
mod personal;

use std::time::Duration;

use super::*;

fn read(file: &str) -> Result<Loaded, String> {
    load(&Sources {
        file: Some(file),
        ..Sources::default()
    })
    .map_err(|refusal| refusal.cause)
}

#[test]
fn every_default_is_the_documented_one() {
    let minutes = |n: u64| Duration::from_secs(n * 60);
    let empty = Vec::<String>::new;
    let loaded = read("").unwrap();
    let Config {
        profile,
        branches,
        infra,
        checkpoint,
        agent,
        packet,
        profiles,
        cycle,
        breaker,
        budget,
        deliver,
        dispatch,
        prices,
        drift,
        evidence,
        dod,
        retention,
    } = loaded.config.clone();
    assert_eq!(profile, "default");
    assert_eq!(branches.isolated, ["arkaint/*", "ephemeral-*"]);
    assert_eq!(
        infra,
        Infra {
            paths: empty(),
            scope: InfraScope::All
        }
    );
    assert_eq!(
        checkpoint,
        Checkpoint {
            test: TestCommand::Unset,
            spec: None,
            timeout: minutes(30),
            allow_secrets: empty(),
            gitleaks: Gitleaks::Auto,
        }
    );
    let expected = Agent {
        name: AgentName::Goose,
        provider: None,
        model: None,
        command: empty(),
        args: empty(),
        env: empty(),
        wrapper: empty(),
        timeout: minutes(60),
        idle_timeout: minutes(15),
        max_turns: 100,
    };
    assert_eq!(agent, expected);
    assert_eq!(
        packet,
        Packet {
            max_chars: 64 * 1024,
            sensitive: empty()
        }
    );
    assert_eq!(
        profiles.keys().collect::<Vec<_>>(),
        ["auditor", "debugger", "default", "reviewer", "strategist"]
    );
    assert_eq!(profiles["default"].diff_chars, 16 * 1024);
    for (name, profile) in &profiles {
        assert_eq!(profile.preload_chars, 16 * 1024, "{name}");
        assert_eq!(
            (&profile.preload, &profile.allow, &profile.deny),
            (&empty(), &empty(), &empty()),
            "{name}"
        );
        assert!(
            (6..=12).contains(&profile.guardrails.lines().count()),
            "{name}"
        );
        assert!(
            profile.diff_chars + profile.preload_chars < packet.max_chars,
            "{name}"
        );
    }
    assert_eq!(
        cycle,
        Cycle {
            attempts: 3,
            fix_rounds: 2,
            seal: true
        }
    );
    assert_eq!(
        breaker,
        Breaker {
            across: 2,
            within: 3,
            when_green: WhenGreen::Trip
        }
    );
    let expected = Budget {
        run_usd: 5.0,
        run_tokens: 5_000_000,
        day_usd: 25.0,
        day_tokens: 25_000_000,
        log_bytes: 256 << 20,
    };
    assert_eq!(budget, expected);
    assert_eq!((deliver.base, dispatch.setup), (None, None));
    let expected = Evidence {
        binding: Binding::Dated,
        conflicts: Conflicts::Warn,
        dod_file: ".ak-loop/dod.json".into(),
        max_bytes: 1 << 20,
    };
    assert_eq!((evidence, dod), (expected, Vec::new()));
    assert!(prices.is_empty());
    assert_eq!(
        drift,
        Drift {
            threshold: 0.84,
            ..Drift::default()
        }
    );
    let expected = Retention {
        runs: 20,
        discards: 50,
        age: Duration::from_secs(30 * 86_400),
        bytes: 2 << 30,
    };
    assert_eq!(retention, expected);
    assert_eq!(COMMIT_TIMEOUT, minutes(2));
    assert!(loaded.warnings.is_empty());
    assert_eq!(loaded.config, Config::default());
    assert!(
        loaded
            .settings()
            .iter()
            .all(|setting| setting.origin == Origin::Default)
    );
}

#[test]
fn everything_can_be_set() {
    let file = r#"
[branches]
isolated = ["bots/*"]
[infra]
paths = ["ci/", "deploy.sh"]
scope = "isolated"
[checkpoint]
test = ["make", "check"]
spec = "make spec"
timeout = "90s"
allow_secrets = ["tests/fixtures/*.pem"]
gitleaks = "required"
[agent]
name = "command"
provider = "p"
model = "m"
command = ["my-agent", "--run"]
args = ["-v"]
env = ["KEEP", "!DROP", "SET=a=b"]
wrapper = ["nice"]
timeout = "2h"
idle_timeout = "5m"
max_turns = 1
[packet]
max_chars = 32768
sensitive = ["*.private"]
[profile.auditor]
diff_chars = 1_000
[profile.docs]
preload = ["README.md"]
preload_chars = "1KiB"
guardrails = "Write well."
allow = ["docs/"]
deny = ["src/**"]
[cycle]
attempts = 0
fix_rounds = 20
seal = false
[breaker]
across = 1
within = 5
when_green = "warn"
[budget]
run_usd = 0.5
run_tokens = 1000
day_usd = 3
day_tokens = 2000
log_bytes = "1MiB"
[price."openrouter/a/b"]
input = 3
output = 15.0
cache_read = 0.3
[drift]
threshold = 0.5
[evidence]
binding = "tree"
conflicts = "fail"
dod_file = 'proofs\dod.json'
max_bytes = "64KiB"
[deliver]
base = "develop"
[dispatch]
setup = ["npm", "ci"]
[[dod]]
id = "tests"
kind = "command"
command = ["make", "test"]
[[dod]]
id = "no dbg"
kind = "pattern-absent"
description = "No debug output is left"
pattern = 'dbg!\('
paths = ["src/**/*.rs"]
[retention]
runs = 1
discards = 2
age = "7d"
bytes = "1GiB"
"#;
    let loaded = read(file).unwrap();
    let config = &loaded.config;
    assert_eq!(
        config.checkpoint.test,
        TestCommand::Run(CommandLine::Argv(vec!["make".into(), "check".into()]))
    );
    assert_eq!(
        config.checkpoint.spec,
        Some(CommandLine::Bash("make spec".into()))
    );
    assert_eq!(config.agent.env, ["KEEP", "!DROP", "SET=a=b"]);
    assert_eq!(config.packet.max_chars, 32768);
    assert_eq!(config.profiles["auditor"].diff_chars, 1000);
    assert_eq!(
        config.profiles["auditor"].guardrails,
        Config::default().profiles["auditor"].guardrails
    );
    let docs = &config.profiles["docs"];
    assert_eq!(
        (
            docs.diff_chars,
            docs.preload_chars,
            docs.guardrails.as_str()
        ),
        (16 * 1024, 1024, "Write well.")
    );
    assert_eq!(
        config.prices["openrouter/a/b"],
        Price {
            input: 3.0,
            output: 15.0,
            cache_read: 0.3,
            cache_write: 3.0
        }
    );
    assert_eq!(
        (
            config.breaker.across,
            config.breaker.when_green,
            config.cycle.seal
        ),
        (1, WhenGreen::Warn, false)
    );
    assert_eq!(
        config.evidence.dod_file,
        std::path::Path::new("proofs/dod.json")
    );
    let expected = [
        Dod {
            id: "tests".to_owned(),
            kind: DodKind::Command,
            command: Some(vec!["make".to_owned(), "test".to_owned()]),
            ..Dod::default()
        },
        Dod {
            id: "no dbg".to_owned(),
            kind: DodKind::PatternAbsent,
            description: Some("No debug output is left".to_owned()),
            pattern: Some(r"dbg!\(".to_owned()),
            paths: vec!["src/**/*.rs".to_owned()],
            ..Dod::default()
        },
    ];
    assert_eq!(config.dod, expected);
    // Each key of the file is reported with its own line, and no other is.
    let from_file: Vec<_> = loaded
        .settings()
        .into_iter()
        .filter(|s| s.origin != Origin::Default)
        .collect();
    let lines: Vec<_> = file
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains(" = "))
        .map(|(at, _)| at + 1)
        .collect();
    assert_eq!(from_file.len(), lines.len());
    for setting in from_file {
        let Origin::File(line) = setting.origin else {
            panic!("{setting:?}")
        };
        let name = setting.key.rsplit('.').next().unwrap();
        assert!(
            file.lines()
                .nth(line - 1)
                .unwrap()
                .starts_with(&format!("{name} = ")),
            "{setting:?}"
        );
        // What is shown can be put into a file again.
        assert!(!setting.toml().is_empty(), "{setting:?}");
    }
}

#[test]
fn an_item_is_shown_by_its_id_with_the_keys_of_its_kind() {
    let loaded = read(
        "[[dod]]\nid = 'a b'\nkind = 'file-changed'\nglob = 'CHANGELOG.md'\n[[dod]]\nkind = 'command'\nid = 'fmt'\ncommand = ['make', 'fmt']\n",
    )
    .unwrap();
    let shown: Vec<_> = loaded
        .settings()
        .iter()
        .filter(|s| s.key.starts_with("dod."))
        .map(|s| format!("{} = {}  # {}", s.key, s.toml(), s.origin))
        .collect();
    assert_eq!(
        shown,
        [
            r#"dod."a b".id = "a b"  # arkaint.toml:2"#,
            r#"dod."a b".kind = "file-changed"  # arkaint.toml:3"#,
            r#"dod."a b".glob = "CHANGELOG.md"  # arkaint.toml:4"#,
            r#"dod."a b".paths = []  # default"#,
            r#"dod.fmt.id = "fmt"  # arkaint.toml:7"#,
            r#"dod.fmt.kind = "command"  # arkaint.toml:6"#,
            r#"dod.fmt.command = ["make", "fmt"]  # arkaint.toml:8"#,
        ]
    );
}

#[test]
fn a_byte_order_mark_and_crlf_are_fine() {
    let loaded = read(
        "\u{feff}[checkpoint]\r\ntest = '''\r\nmake\r\n'''\r\n\r\n[cycle]\r\nattempts = 1\r\n",
    )
    .unwrap();
    assert_eq!(loaded.config.cycle.attempts, 1);
    let line = loaded
        .settings()
        .into_iter()
        .find(|s| s.key == "cycle.attempts")
        .unwrap()
        .origin;
    assert_eq!(line, Origin::File(7));
    assert!(read("\u{feff}").is_ok());
}

#[test]
fn a_new_profile_with_an_old_name_misspelt_is_warned_of() {
    let loaded = read("[profile.audtor]\ndiff_chars = 1\n[profile.docs]\n").unwrap();
    assert_eq!(
        loaded.warnings,
        ["arkaint.toml:1: [profile.audtor] adds a profile; did you mean 'auditor'?"]
    );
    assert!(loaded.config.profiles.contains_key("docs"));
}

#[test]
fn defaults_are_shown_as_the_manual_says_them() {
    let shown: Vec<_> = read("")
        .unwrap()
        .settings()
        .iter()
        .map(|s| format!("{} = {}", s.key, s.toml()))
        .collect();
    for line in [
        r#"branches.isolated = ["arkaint/*", "ephemeral-*"]"#,
        r#"checkpoint.timeout = "30m""#,
        "checkpoint.test = ",
        r#"agent.timeout = "60m""#,
        r#"packet.max_chars = "64KiB""#,
        "budget.run_usd = 5",
        "budget.day_tokens = 25000000",
        r#"retention.age = "30d""#,
        r#"retention.bytes = "2GiB""#,
        "drift.threshold = 0.84",
        r#"evidence.binding = "dated""#,
        r#"evidence.conflicts = "warn""#,
        r#"evidence.dod_file = ".ak-loop/dod.json""#,
        r#"evidence.max_bytes = "1MiB""#,
        "deliver.base = ",
        "dispatch.setup = ",
    ] {
        assert!(shown.contains(&line.to_owned()), "{line}\n{shown:#?}");
    }
}
