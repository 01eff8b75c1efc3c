//! Mistakes in the file: each names its line, its key and what was meant.

use super::*;

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
fn whatever_the_file_holds_is_read_or_refused_with_a_hint() {
    let examples = [
        template(Some(("cargo test", "Cargo.toml"))),
        "[checkpoint]\ntest = [\"make\", \"check\"]\ntimeout = \"20m\"\n[profile.x]\nallow = [\"docs/\", \"*.md\"]\n[[dod]]\nid = \"d\"\nkind = \"grep\"\npattern = \"^a$\"\npaths = [\"src/**\"]\n[price.\"a/b\"]\ninput = 1.5\n".to_owned(),
    ];
    let examples = examples.map(String::into_bytes);
    crate::text::fuzz::damaged(&examples, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let sources = Sources {
            file: Some(&text),
            ..Sources::default()
        };
        if let Err(no) = load(&sources) {
            assert!(!no.cause.contains('\n'), "{}", no.cause);
            assert!(!no.hints.is_empty());
        }
    });
}
