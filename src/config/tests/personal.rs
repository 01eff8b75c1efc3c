//! What git config, the environment and flags may change, and in which order.

use super::*;

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
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
