use std::ffi::OsStr;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn bash(script: &str) -> CommandLine {
    CommandLine::Bash(script.to_owned())
}

fn argv<const N: usize>(words: [&str; N]) -> CommandLine {
    CommandLine::Argv(words.map(str::to_owned).to_vec())
}

fn check<'a>(command: &'a CommandLine, dir: &'a Path) -> Check<'a> {
    Check {
        kind: CheckKind::Test,
        command,
        dir,
        env_extra: &[],
        wrapper: &[],
        timeout: MINUTE,
        log: None,
        echo: None,
    }
}

fn go(check: &Check<'_>) -> CheckRun {
    run_check(check, &mut |_| Ok(())).unwrap()
}

fn told(command: &CommandLine) -> (bool, String, String) {
    let temp = tempfile::tempdir().unwrap();
    let run = go(&check(command, temp.path()));
    (run.passed, run.how, run.output)
}

#[test]
fn the_exit_code_decides_and_how_says_it() {
    assert_eq!(
        told(&argv(["true"])),
        (true, "exit 0".into(), String::new())
    );
    assert_eq!(
        told(&bash("echo no >&2; exit 101")),
        (false, "exit 101".into(), "no\n".into())
    );
    assert_eq!(told(&bash("kill -9 $$")).1, "signal 9");
    assert_eq!(
        told(&argv(["no-such-program-here"])).1,
        "not found: no-such-program-here"
    );
    let temp = tempfile::tempdir().unwrap();
    assert!(run_check(&check(&argv([]), temp.path()), &mut |_| Ok(())).is_err());
}

#[test]
fn bash_strings_stop_at_the_first_failure() {
    assert_eq!(
        told(&bash("false; echo on")),
        (false, "exit 1".into(), String::new())
    );
    assert_eq!(told(&bash("false | cat")).1, "exit 1");
    assert!(!told(&bash("echo $not_set_anywhere")).0);
    assert_eq!(
        told(&bash("# a comment\n[[ a == a ]] && echo bash")),
        (true, "exit 0".into(), "bash\n".into())
    );
}

#[test]
fn a_check_that_hangs_is_ended_with_all_that_it_started() {
    let temp = tempfile::tempdir().unwrap();
    let command = bash("setsid sleep 1000 & echo begun; sleep 1000");
    let run = go(&Check {
        timeout: Duration::from_millis(700),
        ..check(&command, temp.path())
    });
    assert_eq!(
        (run.passed, run.how.as_str()),
        (false, "timed out after 700ms")
    );
    let command = bash("setsid sleep 1000 >/dev/null 2>&1 & exit 0");
    let run = go(&check(&command, temp.path()));
    assert_eq!((run.passed, run.swept), (true, 1));
}

#[test]
fn a_check_reads_nothing_and_runs_where_it_was_told() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().canonicalize().unwrap();
    let command = argv(["sh", "-c", "cat; echo $PWD"]);
    assert_eq!(
        go(&check(&command, &dir)).output,
        format!("{}\n", dir.display())
    );
}

#[test]
fn a_sandbox_stands_before_the_command() {
    let temp = tempfile::tempdir().unwrap();
    let wrapper = ["env".to_owned(), "BOXED=yes".to_owned()];
    for command in [bash("echo $BOXED"), argv(["sh", "-c", "echo $BOXED"])] {
        assert_eq!(
            go(&Check {
                wrapper: &wrapper,
                ..check(&command, temp.path())
            })
            .output,
            "yes\n"
        );
    }
}

/// MFlowCode/MFC#1697: tests run from a hook committed into the real repository, because GIT_DIR beats where they are.
#[test]
fn report_mfc_1697_nothing_of_git_or_of_the_operators_permission_reaches_a_check() {
    let (command, extra) = (argv(["true"]), [("ARKAINT_RUN".into(), "r2".into())]);
    let check = Check {
        env_extra: &extra,
        ..check(&command, Path::new("/w"))
    };
    let caller = [
        ("PATH", "/bin"),
        ("GIT_DIR", "/real/.git"),
        ("GIT_CONFIG_KEY_0", "core.worktree"),
        ("GIT_AUTHOR_NAME", "a"),
        ("GITHUB_ACTIONS", "true"),
        ("ARKAINT_ALLOW_INFRA_EDIT", "1"),
        ("ARKAINT_BIN", "/b"),
        ("ARKAINT_RUN", "r1"),
        ("PWD", "/elsewhere"),
    ];
    let env = environment(
        caller
            .into_iter()
            .map(|(name, value)| (name.into(), value.into())),
        &check,
    );
    let expected = [
        ("PATH", "/bin"),
        ("GITHUB_ACTIONS", "true"),
        ("PWD", "/w"),
        ("ARKAINT_RUN", "r2"),
    ];
    let expected: Vec<(OsString, OsString)> = expected
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec();
    assert_eq!(env, expected);
}

#[test]
fn the_whole_output_goes_to_the_log_and_a_link_there_is_not_followed() {
    let temp = tempfile::tempdir().unwrap();
    let (log, precious) = (temp.path().join("check.log"), temp.path().join("precious"));
    fs::write(&precious, "mine").unwrap();
    std::os::unix::fs::symlink(&precious, &log).unwrap();
    let command = bash("seq 200000; echo last");
    let run = go(&Check {
        log: Some(&log),
        ..check(&command, temp.path())
    });
    let whole = fs::read_to_string(&log).unwrap();
    assert_eq!(whole.lines().count(), 200_001);
    assert_eq!(
        fs::metadata(&log).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(fs::read_to_string(&precious).unwrap(), "mine");
    assert!(
        run.output.starts_with("1\n2\n")
            && run.output.ends_with("200000\nlast\n")
            && run.output.contains(" left out]\n")
    );
    assert!(run.output.len() < 400 * 1024);
    assert_eq!(run.tail(2), "200000\nlast");
}

#[test]
fn a_log_that_cannot_be_written_is_an_error_and_not_a_red_check() {
    let temp = tempfile::tempdir().unwrap();
    let command = argv(["true"]);
    let nowhere = temp.path().join("no/such/folder/log");
    assert!(
        run_check(
            &Check {
                log: Some(&nowhere),
                ..check(&command, temp.path())
            },
            &mut |_| Ok(())
        )
        .is_err()
    );
}

#[test]
fn a_suite_without_a_test_does_not_pass_but_a_spec_check_is_judged_by_its_exit_code() {
    let temp = tempfile::tempdir().unwrap();
    let command = bash("echo; echo 'Ran 0 tests in 0.000s'; echo; echo OK");
    let run = go(&check(&command, temp.path()));
    assert_eq!(
        (run.passed, run.ran_nothing, run.how.as_str()),
        (false, Some("unittest"), "exit 0")
    );
    let run = go(&Check {
        kind: CheckKind::Spec,
        ..check(&command, temp.path())
    });
    assert_eq!((run.passed, run.ran_nothing), (true, None));
    // The last line needs no newline, and what lies in the middle of a long output counts.
    let command = bash(
        "printf 'Ran 0 tests in 0.000s\n'; seq 200000; echo 'ok 1 - it'; seq 200000; printf 'NO TESTS RAN'",
    );
    assert_eq!(go(&check(&command, temp.path())).ran_nothing, None);
    let command = bash("printf 'NO TESTS RAN'; exit 5");
    assert_eq!(
        go(&check(&command, temp.path())).ran_nothing,
        Some("unittest")
    );
}

#[test]
fn the_spec_check_is_the_configured_one_or_the_script() {
    let temp = tempfile::tempdir().unwrap();
    let config = |spec| Checkpoint {
        test: crate::config::TestCommand::Unset,
        spec,
        timeout: MINUTE,
        allow_secrets: Vec::new(),
        gitleaks: crate::config::Gitleaks::Auto,
    };
    let found = |spec| spec_command(&config(spec), temp.path());
    assert_eq!(found(None), None);
    fs::create_dir_all(temp.path().join(SPEC_SCRIPT)).unwrap();
    assert_eq!(found(None), None, "a folder is no script");
    fs::remove_dir(temp.path().join(SPEC_SCRIPT)).unwrap();

    let script = temp.path().join(SPEC_SCRIPT);
    fs::write(&script, "#!/usr/bin/env bash\necho \"$0 in $PWD\"\n").unwrap();
    assert_eq!(found(None), Some(argv(["bash", "scripts/verify-spec.sh"])));
    assert!(go(&check(&found(None).unwrap(), temp.path())).passed);
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(found(None), Some(argv(["./scripts/verify-spec.sh"])));
    assert!(go(&check(&found(None).unwrap(), temp.path())).passed);
    assert_eq!(found(Some(argv(["mine"]))), Some(argv(["mine"])));
}

#[test]
fn spans_read_as_they_are_configured() {
    let spans = [30 * 60, 90, 7200, 0].map(|seconds| span(Duration::from_secs(seconds)));
    assert_eq!(spans, ["30m", "90s", "2h", "0s"]);
}

#[test]
fn the_check_is_told_for_the_journal() {
    let temp = tempfile::tempdir().unwrap();
    let mut pid = 0;
    let command = argv(["sh", "-c", "echo $$"]);
    let run = run_check(&check(&command, temp.path()), &mut |identity| {
        pid = identity.pid;
        Ok(())
    });
    assert_eq!(
        OsStr::new(run.unwrap().output.trim()),
        OsStr::new(&pid.to_string())
    );
}
