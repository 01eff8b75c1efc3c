//! Defaults, mistakes and precedence, as tables.

use std::time::Duration;

use super::*;

fn read(file: &str) -> Result<Loaded, String> {
    load(&Sources {
        file: Some(file),
        ..Sources::default()
    })
    .map_err(|refusal| refusal.cause)
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
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
            allow_secrets: empty()
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
fn mistakes_name_line_key_and_what_was_meant() {
    for (file, message) in [
        (
            "\n\n[checkpoint]\ntset = 'x'",
            "4: unknown key 'checkpoint.tset'; did you mean 'test'?",
        ),
        (
            "[checkpoint]\ntests = 'x'",
            "2: unknown key 'checkpoint.tests'; did you mean 'test'?",
        ),
        (
            "checkpoint.tset = 'x'",
            "1: unknown key 'checkpoint.tset'; did you mean 'test'?",
        ),
        (
            "[agent]\nidle-timeout = '5m'",
            "2: unknown key 'agent.idle-timeout'; did you mean 'idle_timeout'?",
        ),
        (
            "[agent]\nmaxTurns = 5",
            "2: unknown key 'agent.maxTurns'; did you mean 'max_turns'?",
        ),
        (
            "[cycle]\ntimeout = '5m'",
            "2: unknown key 'cycle.timeout'; did you mean 'checkpoint.timeout'?",
        ),
        (
            "[cycle]\ncolour = 1",
            "2: unknown key 'cycle.colour'; known keys: attempts, fix_rounds, seal",
        ),
        (
            "test = 'x'",
            "1: unknown key 'test'; did you mean 'checkpoint.test'?",
        ),
        (
            "colour = 1",
            "1: unknown key 'colour'; every key stands in a table",
        ),
        (
            "[chekpoint]\ntest = 'x'",
            "1: unknown table 'chekpoint'; did you mean 'checkpoint'?",
        ),
        (
            "\n[zoo]",
            "2: unknown table 'zoo'; known tables: branches, infra, checkpoint, agent, packet, profile, cycle, breaker, budget, deliver, dispatch, price, drift, evidence, dod, retention",
        ),
        ("agent = 'goose'", "1: 'agent' is a table: write [agent]"),
        (
            "[[cycle]]\nattempts = 1",
            "1: 'cycle' is a table: write [cycle]",
        ),
        (
            "[checkpoint]\ntimeout = 30",
            r#"2: 'checkpoint.timeout': expected a duration like "90s", "30m", "2h" or "1d", found the integer 30"#,
        ),
        (
            "[agent]\ntimeout = '0s'",
            r#"2: 'agent.timeout': expected a duration like "90s", "30m", "2h" or "1d", found the string "0s""#,
        ),
        (
            "[checkpoint]\ntest = true",
            "2: 'checkpoint.test': expected a bash string, a list of words, or false, found true",
        ),
        (
            "[checkpoint]\ntest = ''",
            r#"2: 'checkpoint.test': expected a bash string, a list of words, or false, found the string """#,
        ),
        (
            "[checkpoint]\ntest = []",
            "2: 'checkpoint.test': expected a bash string, a list of words, or false, found an empty list",
        ),
        (
            "[checkpoint]\ntest = [\n  'make',\n  3,\n]",
            "4: 'checkpoint.test': expected a bash string, a list of words, or false, found the integer 3 in a list",
        ),
        (
            "[checkpoint]\nspec = false",
            "2: 'checkpoint.spec': expected a bash string or a list of words, found false",
        ),
        (
            "[cycle]\nattempts = 21",
            "2: 'cycle.attempts': expected a whole number from 0 to 20, found the integer 21",
        ),
        (
            "[cycle]\nattempts = -1",
            "2: 'cycle.attempts': expected a whole number from 0 to 20, found the integer -1",
        ),
        (
            "[cycle]\nattempts = '3'",
            r#"2: 'cycle.attempts': expected a whole number from 0 to 20, found the string "3""#,
        ),
        (
            "[cycle]\nfix_rounds = 2.0",
            "2: 'cycle.fix_rounds': expected a whole number from 0 to 20, found the number 2.0",
        ),
        (
            "[cycle]\nseal = 'yes'",
            r#"2: 'cycle.seal': expected true or false, found the string "yes""#,
        ),
        (
            "[agent]\nmax_turns = 0",
            "2: 'agent.max_turns': expected a whole number from 1 to 100000, found the integer 0",
        ),
        (
            "[agent]\nname = 'gose'",
            r#"2: 'agent.name': expected "goose" or "claude" or "codex" or "opencode" or "gemini" or "command", found the string "gose"; did you mean "goose"?"#,
        ),
        (
            "[agent]\nmodel = ''",
            r#"2: 'agent.model': expected a string, found the string """#,
        ),
        (
            "[agent]\n\nname = 'command'",
            "3: agent.name = \"command\" needs 'agent.command'",
        ),
        (
            "[agent]\nenv = ['A B']",
            r#"2: 'agent.env': "A B" is none of "NAME", "!NAME", "NAME=value""#,
        ),
        (
            "[agent]\nenv = ['ARKAINT_ALLOW_INFRA_EDIT=1']",
            r#"2: 'agent.env': "ARKAINT_ALLOW_INFRA_EDIT=1" is Arkaint's own and cannot be set here"#,
        ),
        (
            "[infra]\npaths = ['../x']",
            r#"2: 'infra.paths': "../x" is no path below the worktree"#,
        ),
        (
            "[infra]\npaths = ['a', 'ci/*.yml']",
            r#"2: 'infra.paths': "ci/*.yml" is a glob; name the file or folder, all below it is protected"#,
        ),
        (
            "[infra]\nscope = 'some'",
            r#"2: 'infra.scope': expected "all" or "isolated", found the string "some""#,
        ),
        (
            "[branches]\nisolated = []",
            "2: 'branches.isolated': expected a list of branch globs, at least one, found an empty list",
        ),
        (
            "[branches]\nisolated = [\n 'arkaint/*',\n 'a[',\n]",
            r#"4: 'branches.isolated': "a[" is a bad glob: unclosed character class; missing ']'"#,
        ),
        (
            "[packet]\nsensitive = ['{a,b']",
            r#"2: 'packet.sensitive': "{a,b" is a bad glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"#,
        ),
        (
            "[packet]\nmax_chars = '64KB'",
            r#"2: 'packet.max_chars': expected a size from 4KiB to 16MiB, like "64KiB" or 65536, found the string "64KB""#,
        ),
        (
            "[packet]\nmax_chars = 100",
            r#"2: 'packet.max_chars': expected a size from 4KiB to 16MiB, like "64KiB" or 65536, found the integer 100"#,
        ),
        (
            "[profile.auditor]\ndiffchars = 1",
            "2: unknown key 'profile.auditor.diffchars'; did you mean 'diff_chars'?",
        ),
        (
            "[profile]\ndiff_chars = 1",
            "2: unknown key 'profile.diff_chars'; did you mean 'profile.NAME.diff_chars'?",
        ),
        (
            "[profile.'a b']",
            "1: 'a b' is no name for a profile: letters, digits, - and _",
        ),
        (
            "[budget]\nrun_usd = 0",
            "2: 'budget.run_usd': expected an amount in USD above 0, like 5 or 0.50, found the integer 0",
        ),
        (
            "[budget]\nrun_usd = nan",
            "2: 'budget.run_usd': expected an amount in USD above 0, like 5 or 0.50, found the number nan",
        ),
        (
            "[budget]\nday_usd = '$5'",
            r#"2: 'budget.day_usd': expected an amount in USD above 0, like 5 or 0.50, found the string "$5""#,
        ),
        (
            "[budget]\nrun_tokens = 0",
            "2: 'budget.run_tokens': expected a whole number, 1 or more, found the integer 0",
        ),
        (
            "[price.'a/b']\ninput = 1",
            "1: [price.\"a/b\"] has no 'output'",
        ),
        (
            "[price.'gpt']\ninput = 1\noutput = 1",
            "1: 'gpt' is no PROVIDER/MODEL: write [price.\"PROVIDER/MODEL\"]",
        ),
        (
            "[price.'a/b']\ninput = -1\noutput = 1",
            "2: 'price.\"a/b\".input': expected an amount in USD, like 5 or 0.50, found the integer -1",
        ),
        (
            "[drift]\nthreshold = 11",
            "2: 'drift.threshold': expected a number from 0 to 10, found the integer 11",
        ),
        (
            "[retention]\nage = 1979-05-27",
            r#"2: 'retention.age': expected a duration like "90s", "30m", "2h" or "1d", found the date 1979-05-27"#,
        ),
        (
            "[dod]\nid = 'x'",
            "1: 'dod' is a list of tables: write [[dod]]",
        ),
        ("dod = ['x']", "1: 'dod' is a list of tables: write [[dod]]"),
        (
            "[[dods]]\nid = 'x'",
            "1: unknown table 'dods'; did you mean 'dod'?",
        ),
        (
            "[[dod]]\nkind = 'command'\ncommand = ['x']",
            "1: item 1 has no 'id'",
        ),
        (
            "[cycle]\n\n[[dod]]\nid = 'x'",
            "3: item \"x\" has no 'kind'",
        ),
        (
            "[[dod]]\nid = 'x'\nknd = 'command'",
            "3: unknown key 'dod.knd' of item \"x\"; did you mean 'kind'?",
        ),
        (
            "[[dod]]\nid = 'x'\nkind = 'comand'",
            r#"3: 'dod.kind' of item "x": expected "command" or "file-changed" or "pattern-absent", found the string "comand"; did you mean "command"?"#,
        ),
        (
            "[[dod]]\nid = 'x'\nkind = 'manual'",
            "3: 'dod.kind' of item \"x\": there is no kind \"manual\": what a person must see is an outcome with check manual in a contract (git arkaint contract attest), or an approval (git arkaint contract approve)",
        ),
        (
            "[[dod]]\nid = ''\nkind = 'command'",
            r#"2: 'dod.id' of item 1: expected a string, found the string """#,
        ),
        (
            "[[dod]]\nid = ' x'\nkind = 'command'\ncommand = ['x']",
            "2: item \" x\" has blanks around its id",
        ),
        (
            "[[dod]]\nid = 'x'\nkind = 'command'\ncommand = ['a']\n[[dod]]\nid = 'x'\nkind = 'command'\ncommand = ['b']",
            "6: item \"x\" has the id of the item in line 2",
        ),
        (
            "[[dod]]\nid = 'x'\nkind = 'command'",
            "1: item \"x\" is of kind command and has no 'command'",
        ),
        (
            "[[dod]]\nid = 'x'\nkind = 'command'\ncommand = 'make test'",
            r#"4: 'dod.command' of item "x": expected a list of words, a program first, found the string "make test""#,
        ),
        (
            "[[dod]]\nid = 'x'\nkind = 'command'\ncommand = ['']",
            r#"4: 'dod.command' of item "x": expected a list of words, a program first, found a list"#,
        ),
        (
            "[[dod]]\nid = 'x'\nkind = 'command'\ncommand = ['a']\npaths = ['a']",
            "5: item \"x\" is of kind command, which has no 'paths' (only file-changed and pattern-absent)",
        ),
        (
            "[[dod]]\nid = 'x'\nkind = 'file-changed'",
            "1: item \"x\" is of kind file-changed and has no 'glob'",
        ),
        (
            "[[dod]]\nid = 'x'\nkind = 'file-changed'\nglob = 'a'\npattern = 'a'",
            "5: item \"x\" is of kind file-changed, which has no 'pattern' (only pattern-absent)",
        ),
        (
            "[[dod]]\nid = 'x'\nkind = 'file-changed'\nglob = 'docs/'",
            "4: 'dod.glob' of item \"x\": \"docs/\" matches no file: write docs/**",
        ),
        (
            "[[dod]]\nid = 'x'\nkind = 'pattern-absent'\npaths = ['src/**']",
            "1: item \"x\" is of kind pattern-absent and has no 'pattern'",
        ),
        (
            "[[dod]]\nid = 'x'\nkind = 'pattern-absent'\npattern = '(?!a)'",
            "4: 'dod.pattern' of item \"x\": \"(?!a)\" looks ahead or behind, which has no linear time: say it without (?= (?! (?<= (?<!",
        ),
        (
            "[[dod]]\nid = 'x'\nkind = 'pattern-absent'\npattern = 'a'\npaths = [\n 'a',\n '/b',\n]",
            "7: 'dod.paths' of item \"x\": \"/b\" matches no file: paths start at the worktree's root, without / or ./",
        ),
        (
            "[evidence]\nbinding = 'trees'",
            r#"2: 'evidence.binding': expected "off" or "dated" or "tree" or "rerun", found the string "trees"; did you mean "tree"?"#,
        ),
        (
            "[evidence]\ndod_file = '../dod.json'",
            "2: 'evidence.dod_file': \"../dod.json\" leads out of the worktree (`..`)",
        ),
        (
            "[evidence]\nmax_bytes = 10",
            r#"2: 'evidence.max_bytes': expected a size from 1KiB to 64MiB, like "64KiB" or 65536, found the integer 10"#,
        ),
        (
            "[dispatch]\nsetup = []",
            "2: 'dispatch.setup': expected a list of words, a program first, found an empty list",
        ),
        (
            "[dispatch]\nbase = 'main'",
            "2: unknown key 'dispatch.base'; did you mean 'deliver.base'?",
        ),
        // The first mistake of the file counts, whatever the order of the tables.
        (
            "[retention]\nruns = 0\n[agent]\nmax_turns = 0",
            "2: 'retention.runs': expected a whole number from 1 to 100000, found the integer 0",
        ),
    ] {
        assert_eq!(
            read(file).err().unwrap_or_default(),
            format!("arkaint.toml:{message}"),
            "{file}"
        );
    }
}

#[test]
fn broken_toml_names_its_line_in_one_line() {
    assert_eq!(
        read("[cycle]\nattempts = 1\nattempts = 2").err().unwrap(),
        "arkaint.toml:3: duplicate key: attempts"
    );
    let unquoted = "arkaint.toml:2: string values must be quoted, expected literal string: gpt-5";
    assert_eq!(read("[agent]\nmodel = gpt-5").err().unwrap(), unquoted);
    for (file, line) in [
        ("[checkpoint\n", 1),
        ("[cycle]\nattempts = \n", 2),
        ("[cycle]\nattempts = 1\nattempts = 2\n", 3),
        ("[cycle]\n\n[cycle]\n", 3),
        ("\u{feff}[cycle]\r\nattempts = x\r\n", 2),
        ("a\u{0}b", 1),
    ] {
        let cause = read(file).err().unwrap();
        assert!(
            cause.starts_with(&format!("arkaint.toml:{line}: ")),
            "{cause}"
        );
        assert_eq!(cause.lines().count(), 1, "{cause}");
    }
    assert_eq!(
        text_of(b"ok\n\xff").unwrap_err().cause,
        "arkaint.toml:2: not UTF-8"
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
fn personal_settings_go_over_the_file_in_their_order() {
    let file = Some("[agent]\nmodel = 'file'\nprovider = 'file'\ncommand = ['x']\n");
    let git = pairs(&[
        ("arkaint.model", "old"),
        ("arkaint.model", "git"),
        ("arkaint.agent", "command"),
        ("arkaint.bin", "/x"),
    ]);
    let env = pairs(&[
        ("ARKAINT_MODEL", "env"),
        ("ARKAINT_PROFILE", "auditor"),
        ("ARKAINT_PROVIDER", ""),
        ("ARKAINT_RUN", "r1"),
    ]);
    let flags = Flags {
        profile: Some("debugger".into()),
        ..Flags::default()
    };
    let origin = |sources: &Sources<'_>, key: &str| {
        let loaded = load(sources).unwrap();
        let setting = loaded
            .settings()
            .into_iter()
            .find(|s| s.key == key)
            .unwrap();
        format!("{} from {}", setting.toml(), setting.origin)
    };
    let mut sources = Sources {
        file,
        git_config: git,
        env,
        flags,
    };
    assert_eq!(
        origin(&sources, "agent.model"),
        r#""env" from ARKAINT_MODEL"#
    );
    assert_eq!(
        origin(&sources, "agent.provider"),
        r#""file" from arkaint.toml:3"#
    );
    assert_eq!(
        origin(&sources, "agent.name"),
        r#""command" from git config arkaint.agent"#
    );
    assert_eq!(origin(&sources, "profile"), r#""debugger" from --profile"#);
    assert_eq!(
        load(&sources).unwrap().config.active_profile().diff_chars,
        24 * 1024
    );
    assert!(load(&sources).unwrap().warnings.is_empty());
    sources.flags = Flags {
        model: Some("flag".into()),
        ..Flags::default()
    };
    assert_eq!(origin(&sources, "agent.model"), r#""flag" from --model"#);
    assert_eq!(
        origin(&sources, "profile"),
        r#""auditor" from ARKAINT_PROFILE"#
    );
    sources.env.clear();
    sources.flags = Flags::default();
    assert_eq!(
        origin(&sources, "agent.model"),
        r#""git" from git config arkaint.model"#
    );
}

#[test]
fn what_guards_comes_from_the_file_alone() {
    let sources = Sources {
        git_config: pairs(&[
            ("arkaint.test", "true"),
            ("arkaint.budget.runusd", "1"),
            ("arkaint.modle", "x"),
            ("arkaint.zoo", "x"),
        ]),
        env: pairs(&[
            ("ARKAINT_TEST", "true"),
            ("ARKAINT_RUN_USD", "900"),
            ("ARKAINT_DEPTH", "1"),
            ("ARKAINT_BIN", "x"),
        ]),
        ..Sources::default()
    };
    let loaded = load(&sources).unwrap();
    assert_eq!(loaded.config, Config::default());
    let expected = [
        "git config arkaint.test is ignored: 'checkpoint.test' is read from arkaint.toml alone",
        "git config arkaint.budget.runusd is ignored: 'budget.run_usd' is read from arkaint.toml alone",
        "git config arkaint.modle is no setting; did you mean 'arkaint.model'?",
        "git config arkaint.zoo is no setting of Arkaint's",
        "ARKAINT_TEST is ignored: 'checkpoint.test' is read from arkaint.toml alone",
        "ARKAINT_RUN_USD is ignored: 'budget.run_usd' is read from arkaint.toml alone",
    ];
    assert_eq!(loaded.warnings, expected);
}

#[test]
fn another_agent_than_the_files_does_not_inherit_what_was_meant_for_that() {
    let file = "[checkpoint]\ntest = 'true'\n[agent]\nprovider = 'openai'\nmodel = 'm'\ncommand = ['/opt/goose']\nargs = ['--debug']\nmax_turns = 7\n";
    let with = |agent: Option<&str>, model: Option<&str>| {
        let flags = Flags {
            agent: agent.map(str::to_owned),
            model: model.map(str::to_owned),
            ..Flags::default()
        };
        load(&Sources {
            file: Some(file),
            flags,
            ..Sources::default()
        })
        .unwrap()
    };
    let other = with(Some("claude"), Some("sonnet"));
    let agent = &other.config.agent;
    assert_eq!(
        (agent.provider.as_deref(), agent.model.as_deref()),
        (None, Some("sonnet"))
    );
    assert!(agent.command.is_empty() && agent.args.is_empty() && agent.max_turns == 7);
    assert_eq!(
        other.warnings,
        [
            "--agent: what [agent] of arkaint.toml says for goose is left out: provider, model, command, args"
        ]
    );
    let same = with(Some("goose"), None);
    assert_eq!(
        (same.config.agent.model.as_deref(), same.warnings.len()),
        (Some("m"), 0)
    );
    let command = with(Some("command"), None).config.agent;
    assert_eq!(
        (command.command, command.provider.as_deref()),
        (vec!["/opt/goose".to_owned()], Some("openai")),
        "it has no other place to be told its program"
    );
}

#[test]
fn wrong_personal_settings_name_themselves() {
    let cause = |sources: Sources<'_>| load(&sources).unwrap_err().cause;
    let flags = |agent: Option<&str>, profile: Option<&str>| Flags {
        agent: agent.map(str::to_owned),
        profile: profile.map(str::to_owned),
        ..Flags::default()
    };
    assert_eq!(
        cause(Sources {
            flags: flags(Some("gose"), None),
            ..Sources::default()
        }),
        r#"--agent: expected "goose" or "claude" or "codex" or "opencode" or "gemini" or "command", found the string "gose"; did you mean "goose"?"#
    );
    assert_eq!(
        cause(Sources {
            env: pairs(&[("ARKAINT_AGENT", "command")]),
            ..Sources::default()
        }),
        "ARKAINT_AGENT: the command agent needs 'agent.command' in arkaint.toml"
    );
    assert_eq!(
        cause(Sources {
            git_config: pairs(&[("arkaint.profile", "zzz")]),
            ..Sources::default()
        }),
        "unknown profile 'zzz' (git config arkaint.profile)"
    );
    let refusal = load(&Sources {
        flags: flags(None, Some("audtor")),
        ..Sources::default()
    })
    .unwrap_err();
    assert_eq!(
        refusal.cause,
        "unknown profile 'audtor'; did you mean 'auditor'?"
    );
    assert_eq!(
        refusal.hints,
        ["profiles: auditor, debugger, default, reviewer, strategist"]
    );
    // One that is overruled is not looked at.
    let sources = Sources {
        env: pairs(&[("ARKAINT_AGENT", "bogus")]),
        flags: flags(Some("goose"), None),
        ..Sources::default()
    };
    assert!(load(&sources).is_ok());
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
