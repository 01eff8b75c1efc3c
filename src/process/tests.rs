//! Launches of real shells.

mod probes;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::bail;
use rustix::process::Pid;

use super::tree::{self, Entry};
use super::*;

/// Longer than any test may take: a deadline that only ends what is broken.
const FAR: Duration = Duration::from_secs(120);
const SOON: Duration = Duration::from_millis(300);

fn spec<const N: usize>(argv: [&str; N]) -> Spec {
    let env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
    Spec {
        wall: Some(FAR),
        ..Spec::new(argv, std::env::temp_dir(), env)
    }
}

fn sh(script: &str) -> Spec {
    spec(["sh", "-c", script])
}

/// A launch and the text of its two streams.
fn launch(spec: Spec) -> (End, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let end = run(spec, &mut |_| Ok(()), &mut |chunk| {
        match chunk {
            Chunk::Out(bytes) => out.extend_from_slice(bytes),
            Chunk::Err(bytes) => err.extend_from_slice(bytes),
        }
        Verdict::Go
    });
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (end.unwrap(), text(out), text(err))
}

fn how(spec: Spec) -> How {
    launch(spec).0.how
}

/// A variable that nobody else has, to find every process of one test by.
struct Mark(String);

impl Mark {
    fn new(name: &str) -> Self {
        Self(format!("MARK={name}-{}", std::process::id()))
    }

    fn on(&self, mut spec: Spec) -> Spec {
        let (name, value) = self.0.split_once('=').unwrap();
        spec.env.push((name.into(), value.into()));
        spec
    }

    fn carriers(&self) -> Vec<i32> {
        let carries = |e: &&Entry| {
            let environ = fs::read(format!("/proc/{}/environ", e.pid)).unwrap_or_default();
            !e.ended && environ.split(|b| *b == 0).any(|v| v == self.0.as_bytes())
        };
        tree::all().iter().filter(carries).map(|e| e.pid).collect()
    }
}

const NOBODY: [i32; 0] = [];

/// Three ways out of the process group, each told when it is there: a new session, one that also ignores the polite signal, an orphan.
const ESCAPES: &str = r#"
    d=$(mktemp -d) && mkfifo "$d/a" "$d/b" "$d/c"
    setsid sh -c 'echo $$ >"$0"; exec sleep 1000' "$d/a" & read a <"$d/a"
    setsid sh -c 'trap "" TERM INT; echo $$ >"$0"; exec sleep 1000 >/dev/null 2>&1' "$d/b" & read b <"$d/b"
    ( (sh -c 'echo $$ >"$0"; exec sleep 1000' "$d/c" &) & ) ; read c <"$d/c"
    rm -r "$d"; echo "$a $b $c"
"#;

/// The pids that [`ESCAPES`] told.
fn escaped(out: &str) -> Vec<i32> {
    out.split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

#[test]
fn exit_codes_and_signals_are_told_as_they_were() {
    assert_eq!(how(sh("exit 0")), How::Exited(0));
    assert_eq!(how(sh("exit 113")), How::Exited(113));
    assert_eq!(how(sh("kill -9 $$")), How::Signaled(9));
    assert_eq!(how(sh("kill -TERM $$")), How::Signaled(15));
    assert_eq!(launch(sh("exit 113")).0.code, Some(113));
    assert_eq!(launch(sh("kill -9 $$")).0.code, None);
}

#[test]
fn what_cannot_be_started_says_why_and_is_no_launch() {
    let temp = tempfile::tempdir().unwrap();
    let file = |name: &str, mode| {
        let path = temp.path().join(name);
        fs::write(&path, "#!/no/such/interpreter\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (plain, script) = (file("plain", 0o644), file("script", 0o755));
    for (program, why) in [
        (
            "no-such-program-here",
            "not found: no-such-program-here".to_owned(),
        ),
        (&plain, format!("not executable: {plain}")),
        (&script, format!("the interpreter of {script} is not there")),
    ] {
        let mut started = false;
        let mut on_start = |_: &Identity| {
            started = true;
            Ok(())
        };
        let end = run(spec([program]), &mut on_start, &mut |_| Verdict::Go).unwrap();
        assert_eq!((end.how, started), (How::NotStarted(why), false));
    }
    let nowhere = Spec {
        dir: temp.path().join("nowhere"),
        ..sh("exit 0")
    };
    assert!(run(nowhere, &mut |_| Ok(()), &mut |_| Verdict::Go).is_err());
}

#[test]
fn the_child_has_the_given_environment_and_nothing_else() {
    let spec = Spec {
        env: vec![("A".into(), "b c".into())],
        ..spec(["/usr/bin/env"])
    };
    assert_eq!(launch(spec).1, "A=b c\n");
}

#[test]
fn the_child_starts_with_default_signals_in_its_own_group_without_our_files() {
    let held = tempfile::NamedTempFile::new().unwrap();
    let mut group = None;
    let mut out = Vec::new();
    run(
        sh("grep Sig /proc/self/status; ls -l /proc/self/fd; exit 0"),
        &mut |identity| {
            group = Entry::of(identity.pid).map(|e| e.group == identity.pid);
            Ok(())
        },
        &mut |chunk| {
            out.extend_from_slice(chunk.bytes());
            Verdict::Go
        },
    )
    .unwrap();
    let out = String::from_utf8(out).unwrap();
    let mask = |name: &str| {
        let hex = out
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap();
        u64::from_str_radix(hex.trim(), 16).unwrap()
    };
    let of = |signal: i32| 1_u64 << (signal - 1);
    assert_eq!(
        mask("SigIgn:") & (of(2) | of(13) | of(15) | of(17)),
        0,
        "{out}"
    );
    assert_eq!(mask("SigBlk:"), 0, "{out}");
    assert_eq!(group, Some(true));
    assert!(
        out.contains("pipe:") && !out.contains(held.path().to_str().unwrap()),
        "{out}"
    );
}

#[test]
fn a_megabyte_of_stdin_neither_hangs_nor_is_needed() {
    let megabyte = || Stdin::Bytes(vec![b'x'; 1 << 20]);
    assert_eq!(
        launch(Spec {
            stdin: megabyte(),
            ..sh("wc -c")
        })
        .1
        .trim(),
        "1048576"
    );
    assert_eq!(
        how(Spec {
            stdin: megabyte(),
            ..sh("exit 4")
        }),
        How::Exited(4)
    );
    assert_eq!(
        how(Spec {
            stdin: megabyte(),
            ..sh("exec <&-; head -c 3000000 /dev/zero; exit 5")
        }),
        How::Exited(5)
    );
    // Reads late, after it has filled the other pipe.
    let (end, out, _) = launch(Spec {
        stdin: megabyte(),
        ..sh("head -c 1000000 /dev/zero; cat; exit 6")
    });
    assert_eq!(
        (end.how, out.len()),
        (How::Exited(6), 1_000_000 + (1 << 20))
    );
}

#[test]
fn stdin_can_be_a_file_empty_or_closed() {
    let temp = tempfile::NamedTempFile::new().unwrap();
    fs::write(temp.path(), "from a file").unwrap();
    let file = File::open(temp.path()).unwrap();
    assert_eq!(
        launch(Spec {
            stdin: Stdin::File(file),
            ..sh("cat")
        })
        .1,
        "from a file"
    );
    assert_eq!(
        launch(Spec {
            stdin: Stdin::Bytes(Vec::new()),
            ..sh("cat; echo over")
        })
        .1,
        "over\n"
    );
    assert_eq!(
        launch(Spec {
            stdin: Stdin::Null,
            ..sh("cat; echo over")
        })
        .1,
        "over\n"
    );
}

#[test]
fn streams_stay_apart_or_keep_their_order() {
    let (_, out, err) = launch(sh("echo a; echo b >&2; echo c"));
    assert_eq!((out.as_str(), err.as_str()), ("a\nc\n", "b\n"));
    let (_, out, err) = launch(Spec {
        streams: Streams::Merged,
        ..sh("echo a; echo b >&2; echo c; printf '\\377' | wc -c")
    });
    assert_eq!((out.as_str(), err.as_str()), ("a\nb\nc\n1\n", ""));
}

#[test]
fn an_agent_that_closes_its_output_goes_on() {
    assert_eq!(how(sh("exec >&- 2>&-; sleep 0.2; exit 4")), How::Exited(4));
    assert_eq!(
        how(Spec {
            idle: Some(SOON),
            ..sh("exec >&- 2>&-; sleep 1000")
        }),
        How::Idle
    );
}

#[test]
fn last_words_through_a_helper_are_heard() {
    let (end, out, _) = launch(spec(["bash", "-c", "exec > >(sed s/x/y/g); echo xx"]));
    assert_eq!((end.how, out.as_str()), (How::Exited(0), "yy\n"));
}

#[test]
fn deadlines_stop_the_mute_and_the_endless() {
    assert_eq!(
        how(Spec {
            wall: Some(SOON),
            ..sh("sleep 1000")
        }),
        How::Wall
    );
    assert_eq!(
        how(Spec {
            wall: Some(SOON),
            ..sh("yes")
        }),
        How::Wall
    );
    assert_eq!(
        how(Spec {
            wall: Some(SOON),
            idle: Some(FAR),
            ..sh("while :; do echo x; sleep 0.05; done")
        }),
        How::Wall
    );
    assert_eq!(
        how(Spec {
            idle: Some(SOON),
            ..sh("echo once; sleep 1000")
        }),
        How::Idle
    );
    assert_eq!(
        how(Spec {
            wall: Some(Duration::MAX),
            idle: Some(Duration::MAX),
            ..sh("exit 0")
        }),
        How::Exited(0)
    );
}

#[test]
fn output_on_either_stream_is_life() {
    // Mute on stdout for longer than the limit, then well.
    let spec = Spec {
        idle: Some(Duration::from_secs(3)),
        ..sh("for i in 1 2 3 4 5 6 7; do sleep 0.5; echo . >&2; done; exit 3")
    };
    assert_eq!(how(spec), How::Exited(3));
}

#[test]
fn the_reader_can_stop_a_launch_and_still_hears_the_rest() {
    let mut heard = String::new();
    let spec = sh("trap 'echo result; exit 9' TERM; echo go; while :; do sleep 0.05; done");
    let end = run(spec, &mut |_| Ok(()), &mut |chunk| {
        // On the other stream the shell may say what became of its sleep.
        if let Chunk::Out(bytes) = chunk {
            heard.push_str(std::str::from_utf8(bytes).unwrap());
        }
        Verdict::Stop("5 USD".to_owned())
    });
    let end = end.unwrap();
    assert_eq!(
        (end.how, end.code, heard.as_str()),
        (How::Stopped("5 USD".to_owned()), Some(9), "go\nresult\n")
    );
}

#[test]
fn the_polite_signal_is_the_one_asked_for() {
    let script = "trap 'exit 2' INT; trap 'exit 15' TERM; echo; while :; do sleep 0.05; done";
    let stop = |signal| {
        let spec = Spec {
            stop_signal: signal,
            grace: FAR,
            ..sh(script)
        };
        run(spec, &mut |_| Ok(()), &mut |_| Verdict::Stop(String::new()))
            .unwrap()
            .code
    };
    assert_eq!(
        (stop(StopSignal::Int), stop(StopSignal::Term)),
        (Some(2), Some(15))
    );
}

#[test]
fn who_ignores_the_polite_signal_is_killed_after_the_grace() {
    let spec = Spec {
        grace: SOON,
        ..sh("trap '' TERM; echo; while :; do sleep 1000; done")
    };
    let end = run(spec, &mut |_| Ok(()), &mut |_| Verdict::Stop(String::new())).unwrap();
    assert_eq!(
        (end.how, end.code, end.left),
        (How::Stopped(String::new()), None, 0)
    );
}

#[test]
fn a_stopped_child_hears_the_polite_signal() {
    let spec = Spec {
        grace: FAR,
        idle: Some(SOON),
        ..sh("trap 'exit 8' TERM; kill -STOP $$; exit 1")
    };
    let end = launch(spec).0;
    assert_eq!((end.how, end.code), (How::Idle, Some(8)));
}

#[test]
fn nothing_is_left_after_any_end() {
    for (name, tail, edit) in [
        ("success", "exit 0", (|spec| spec) as fn(Spec) -> Spec),
        ("failure", "exit 3", |spec| spec),
        ("suicide", "kill -9 $$", |spec| spec),
        ("wall", "sleep 1000", |spec| Spec {
            wall: Some(Duration::from_secs(1)),
            ..spec
        }),
        ("idle", "sleep 1000", |spec| Spec {
            idle: Some(Duration::from_secs(1)),
            ..spec
        }),
        (
            "deaf",
            "trap '' TERM; while :; do sleep 1000; done",
            |spec| Spec {
                idle: Some(Duration::from_secs(1)),
                ..spec
            },
        ),
    ] {
        let mark = Mark::new(name);
        let (end, out, _) = launch(mark.on(edit(Spec {
            grace: SOON,
            ..sh(&format!("{ESCAPES}{tail}"))
        })));
        assert_eq!(mark.carriers(), NOBODY, "{name}: {end:?}");
        assert_eq!(end.left, 0, "{name}");
        let escaped = escaped(&out);
        assert!(
            escaped.iter().all(|pid| Entry::of(*pid).is_none()),
            "{name}: not reaped"
        );
        // Those in the group may already have gone with the leader when the group was told to.
        assert!(
            matches!(end.how, How::Wall | How::Idle) || end.swept == 3,
            "{name}: {end:?}"
        );
    }
}

#[test]
fn nothing_is_left_when_the_reader_stops_it() {
    let mark = Mark::new("stopped");
    let spec = mark.on(sh(&format!("{ESCAPES} sleep 1000")));
    let end = run(spec, &mut |_| Ok(()), &mut |_| {
        Verdict::Stop("cap".to_owned())
    })
    .unwrap();
    assert_eq!(end.how, How::Stopped("cap".to_owned()));
    assert!(end.swept >= 2, "{end:?}");
    assert_eq!(mark.carriers(), NOBODY);
}

#[test]
fn a_child_without_its_environment_that_holds_the_pipe_is_found_too() {
    let (end, out, _) = launch(sh(
        "env -i setsid sh -c 'echo $$; exec sleep 1000' & while :; do exit 0; done",
    ));
    assert_eq!(end.how, How::Exited(0));
    assert_eq!(end.left, 0);
    assert!(escaped(&out).iter().all(|pid| Entry::of(*pid).is_none()));
}

#[test]
fn a_leftover_that_prints_for_ever_cannot_hold_us() {
    let (end, _, _) = launch(sh("setsid yes & exit 0"));
    assert_eq!((end.how, end.left), (How::Exited(0), 0));
}

#[test]
fn a_chain_that_forks_on_and_on_is_caught() {
    let mark = Mark::new("hopper");
    let hopper = "setsid sh -c 'hop() { [ $1 -gt 2000 ] || ( trap \"\" TERM; hop $(($1 + 1)) & ) ; }; hop 1' >/dev/null 2>&1 & exit 0";
    let end = launch(mark.on(sh(hopper))).0;
    assert_eq!((end.how, end.left), (How::Exited(0), 0));
    assert_eq!(mark.carriers(), NOBODY);
}

#[test]
fn what_was_there_and_what_other_threads_start_is_left_alone() {
    let sleeper = || {
        Command::new("sleep")
            .arg("1000")
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut before = sleeper();
    let (start, started) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    let over = std::sync::Barrier::new(2);
    let (end, others) = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            start.wait();
            let mut child = sleeper();
            started.wait();
            over.wait();
            let alive = child.try_wait().unwrap().is_none();
            child.kill().unwrap();
            child.wait().unwrap();
            alive
        });
        let end = run(
            sh("setsid sleep 1000 & echo; exit 0"),
            &mut |_| Ok(()),
            &mut |_| {
                start.wait();
                started.wait();
                Verdict::Go
            },
        );
        over.wait();
        (end.unwrap(), other.join().unwrap())
    });
    let earlier = before.try_wait().unwrap().is_none();
    before.kill().unwrap();
    before.wait().unwrap();
    assert_eq!((end.how, end.swept), (How::Exited(0), 1));
    assert!(earlier && others, "{earlier} {others}");
}

#[test]
fn an_error_or_a_panic_in_between_leaves_nothing_behind() {
    let mark = Mark::new("error");
    let mut refuse = |_: &Identity| bail!("the journal is full");
    let error = run(mark.on(sh("sleep 1000")), &mut refuse, &mut |_| Verdict::Go).unwrap_err();
    assert_eq!(error.to_string(), "the journal is full");
    assert_eq!(mark.carriers(), NOBODY);

    let mark = Mark::new("panic");
    let spec = mark.on(sh(&format!("{ESCAPES} sleep 1000")));
    let panicked = std::panic::catch_unwind(|| {
        run(spec, &mut |_| Ok(()), &mut |_| panic!("as the test wants"))
    });
    assert!(panicked.is_err());
    assert_eq!(mark.carriers(), NOBODY);
}

#[test]
fn capture_keeps_both_streams_and_shows_them_as_they_come() {
    let mut seen = Vec::new();
    let captured = capture(
        sh("echo a; echo b >&2; exit 2"),
        Some(&mut |bytes| seen.extend_from_slice(bytes)),
    )
    .unwrap();
    assert_eq!(
        (captured.end.how, captured.output.as_str(), seen.as_slice()),
        (How::Exited(2), "a\nb\n", &b"a\nb\n"[..])
    );
}

#[test]
fn an_identity_is_more_than_a_pid() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let identity = Identity::of(i32::try_from(child.id()).unwrap()).unwrap();
    assert!(identity.still_runs());
    assert!(
        !Identity {
            start_time: identity.start_time + 1,
            ..identity.clone()
        }
        .still_runs()
    );
    assert!(
        !Identity {
            boot: "another".to_owned(),
            ..identity.clone()
        }
        .still_runs()
    );
    drop(child.stdin.take());
    let exited = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
    rustix::process::waitid(
        rustix::process::WaitId::Pid(Pid::from_child(&child)),
        exited,
    )
    .unwrap();
    assert!(!identity.still_runs(), "a zombie runs no more");
    child.wait().unwrap();
    assert!(!identity.still_runs());
}
