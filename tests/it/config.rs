//! `status --config` as a user runs it: defaults, origins, and mistakes.

use serde_json::{Value, json};

use crate::sandbox::{Ran, Sandbox};

fn with(file: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("arkaint.toml", file);
    sandbox.commit_all("configure");
    sandbox
}

#[track_caller]
fn setting(ran: &Ran, key: &str) -> Value {
    let json = ran.json();
    let found = json["settings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["key"] == key)
        .cloned();
    found.unwrap_or_else(|| panic!("{key}: {json:#}"))
}

/// SPEC §2: what holds where nothing is configured.
#[test]
fn the_defaults_are_shown() {
    let sandbox = Sandbox::new();
    let ran = sandbox.arkaint(["status", "--config"]).expect(0);
    assert!(
        ran.stderr.contains("there is no arkaint.toml"),
        "{}",
        ran.stderr
    );
    for line in [
        r#"profile = "default""#,
        r#"branches.isolated = ["arkaint/*", "ephemeral-*"]"#,
        "infra.paths = []",
        r#"infra.scope = "all""#,
        "# checkpoint.test is not set",
        "# checkpoint.spec is not set",
        r#"checkpoint.timeout = "30m""#,
        r#"agent.name = "goose""#,
        "# agent.model is not set",
        r#"agent.timeout = "60m""#,
        r#"agent.idle_timeout = "15m""#,
        "agent.max_turns = 100",
        r#"packet.max_chars = "64KiB""#,
        r#"profile.default.diff_chars = "16KiB""#,
        r#"profile.default.preload_chars = "16KiB""#,
        "cycle.attempts = 3",
        "cycle.fix_rounds = 2",
        "cycle.seal = true",
        "breaker.across = 2",
        "breaker.within = 3",
        r#"breaker.when_green = "trip""#,
        "budget.run_usd = 5",
        "budget.run_tokens = 5000000",
        "budget.day_usd = 25",
        "budget.day_tokens = 25000000",
        r#"budget.log_bytes = "256MiB""#,
        "drift.threshold = 0.84",
        "# deliver.base is not set",
        "# dispatch.setup is not set",
        r#"evidence.binding = "dated""#,
        r#"evidence.conflicts = "warn""#,
        r#"evidence.dod_file = ".ak-loop/dod.json""#,
        r#"evidence.max_bytes = "1MiB""#,
        "retention.runs = 20",
        "retention.discards = 50",
        r#"retention.age = "30d""#,
        r#"retention.bytes = "2GiB""#,
    ] {
        let found = ran
            .stdout
            .lines()
            .find(|l| l.split("  # ").next().unwrap().trim_end() == line);
        assert!(
            found.is_some_and(|l| l.ends_with("  # default")),
            "{line}\n{}",
            ran.stdout
        );
    }
    // But for the profile, what is printed can be put into the file.
    let (_, file) = ran.stdout.split_once('\n').unwrap();
    toml::from_str::<toml::Table>(file).unwrap();
}

#[test]
fn every_value_names_its_origin() {
    let sandbox = with(
        "[checkpoint]\ntest = \"make test\"\n\n[agent]\nmodel = \"file\"\nprovider = \"file\"\n",
    );
    sandbox.git(["config", "arkaint.provider", "git"]);
    sandbox.git(["config", "--global", "arkaint.profile", "auditor"]);
    let mut command = sandbox.command(Sandbox::bin().join("git-arkaint"));
    command
        .args(["status", "--config", "--json"])
        .env("ARKAINT_MODEL", "env");
    let ran = Ran::from(command.output().unwrap()).expect(0);
    assert_eq!(
        setting(&ran, "checkpoint.test"),
        json!({ "key": "checkpoint.test", "value": "make test", "source": "file", "origin": "arkaint.toml:2", "line": 2 })
    );
    let of = |key: &str| {
        let setting = setting(&ran, key);
        format!(
            "{} {}",
            setting["value"].as_str().unwrap(),
            setting["origin"].as_str().unwrap()
        )
    };
    assert_eq!(of("agent.provider"), "git git config arkaint.provider");
    assert_eq!(of("agent.model"), "env ARKAINT_MODEL");
    assert_eq!(of("profile"), "auditor git config arkaint.profile");
    assert_eq!(of("agent.timeout"), "60m default");
    assert_eq!(setting(&ran, "packet.max_chars")["value"], 65536);
    assert_eq!(setting(&ran, "agent.name")["source"], "default");
}

/// `git -c` is git's own way of setting something for one call.
#[test]
fn git_dash_c_counts() {
    let sandbox = with("[agent]\nmodel = \"file\"\n");
    let ran = sandbox
        .try_git([
            "-c",
            "arkaint.model=it's one",
            "arkaint",
            "status",
            "--config",
            "--json",
        ])
        .expect(0);
    assert_eq!(setting(&ran, "agent.model")["value"], "it's one");
    // Included files, conditions and the last of several count as git says.
    sandbox.write("../more", "[arkaint]\n\tmodel = included\n\tprovider\n");
    sandbox.git(["config", "arkaint.model", "first"]);
    sandbox.git(["config", "includeIf.onbranch:main.path", "../../more"]);
    let ran = sandbox.arkaint(["status", "--config", "--json"]).expect(0);
    assert_eq!(
        setting(&ran, "agent.model")["value"].as_str().unwrap(),
        sandbox.git(["config", "arkaint.model"])
    );
    assert_eq!(setting(&ran, "agent.model")["value"], "included");
}

#[test]
fn a_guard_in_git_config_is_ignored_with_a_warning() {
    let sandbox = with("[checkpoint]\ntest = \"make test\"\n");
    sandbox.git(["config", "arkaint.test", "true"]);
    let ran = sandbox.arkaint(["status", "--config"]).expect(0);
    let warning = "warning: git config arkaint.test is ignored: 'checkpoint.test' is read from arkaint.toml alone";
    assert!(ran.stderr.lines().any(|l| l == warning), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("checkpoint.test = \"make test\""),
        "{}",
        ran.stdout
    );
}

#[test]
fn what_is_committed_counts_and_not_what_is_on_disk() {
    let sandbox = with("[cycle]\nattempts = 1\n");
    sandbox.write("arkaint.toml", "[cycle]\nattempts = 7\n");
    let ran = sandbox.arkaint(["status", "--config"]).expect(0);
    assert!(
        ran.stdout
            .lines()
            .any(|l| l.starts_with("cycle.attempts = 1 ") && l.ends_with("# arkaint.toml:2")),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stderr
            .contains("arkaint.toml on disk differs from HEAD"),
        "{}",
        ran.stderr
    );
    // Other line ends alone are no difference.
    sandbox.write("arkaint.toml", "[cycle]\r\nattempts = 1\r\n");
    assert_eq!(sandbox.arkaint(["status", "--config"]).expect(0).stderr, "");
}

#[test]
fn a_mistake_is_one_line_and_a_hint() {
    for (file, cause) in [
        (
            "[checkpoint]\ntset = \"x\"\n",
            "arkaint: arkaint.toml:2: unknown key 'checkpoint.tset'; did you mean 'test'?",
        ),
        (
            "# x\n[agent]\ntimeout = 30\n",
            r#"arkaint: arkaint.toml:3: 'agent.timeout': expected a duration like "90s", "30m", "2h" or "1d", found the integer 30"#,
        ),
        (
            "[agent]\nmodel = \"\u{1b}[31m\\u001b[0m\n",
            "arkaint: arkaint.toml:2: ",
        ),
    ] {
        let ran = with(file).arkaint(["status", "--config"]).expect(2);
        let lines: Vec<_> = ran.stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{}", ran.stderr);
        assert!(lines[0].starts_with(cause), "{}", ran.stderr);
        assert_eq!(lines[1], "hint: git arkaint man git-arkaint-config");
        assert!(!ran.stderr.contains('\u{1b}'));
        assert_eq!(ran.stdout, "");
    }
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.repo.join("arkaint.toml"), b"# ok\n\xff\xfe\n").unwrap();
    sandbox.commit_all("configure");
    let ran = sandbox.arkaint(["status", "--config"]).expect(2);
    assert!(
        ran.stderr
            .starts_with("arkaint: arkaint.toml:2: not UTF-8\n"),
        "{}",
        ran.stderr
    );
}
