//! What needs a process of its own, to be signalled, measured or killed: parts of `probe`, which the tests start as a second copy of
//! this test binary.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::process::supervise::alone;

/// A second copy of this binary that runs one case of [`probe`], and what it prints.
struct Probe {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Probe {
    fn start(case: &str, script: &str) -> Self {
        Self::start_by(
            &mut Command::new(std::env::current_exe().unwrap()),
            case,
            script,
        )
    }

    fn start_by(command: &mut Command, case: &str, script: &str) -> Self {
        command.args([
            "process::tests::probes::probe",
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ]);
        command
            .env("ARKAINT_PROBE", case)
            .env("ARKAINT_PROBE_SCRIPT", script)
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Reads on to the line that begins with `word` and returns what follows it.
    fn read_to(&mut self, word: &str) -> String {
        for line in self.lines.by_ref() {
            if let Some(rest) = line.unwrap().strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
        panic!("the probe ended without saying {word}");
    }

    fn signal(&self, signal: Signal) {
        // Gone already: what it said is judged anyway.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(format!("{line}\n").as_bytes())
        .and_then(|()| stdout.flush())
        .unwrap();
}

/// Not a test by itself: what a [`Probe`] runs.
#[test]
fn probe() {
    let Ok(case) = std::env::var("ARKAINT_PROBE") else {
        return;
    };
    let script = std::env::var("ARKAINT_PROBE_SCRIPT").unwrap();
    let spec = || {
        let mut spec = sh(&script);
        spec.env.extend(
            std::env::vars_os().filter(|(name, _)| name == "MARK" || name == "ARKAINT_RUN"),
        );
        Spec { grace: FAR, ..spec }
    };
    // The harness has printed half a line.
    say("");
    match case.as_str() {
        "launch" => {
            let mut lines = Lines::new(4096);
            let started = &mut |identity: &Identity| {
                say(&format!(
                    "identity {}",
                    serde_json::to_string(identity).unwrap()
                ));
                Ok(())
            };
            let end = run(spec(), started, &mut |chunk| {
                lines.feed(chunk.bytes(), &mut |line| {
                    say(std::str::from_utf8(line.bytes).unwrap());
                });
                Verdict::Go
            });
            say(&format!("end {:?}", end.unwrap().how));
        }
        "pending" => {
            let watch = watch_signals().unwrap();
            // A signal to a process is handled on any of its threads, some time.
            let catch = |signal| {
                let mut listener = crate::process::signals::Listener::new().unwrap();
                kill_process(rustix::process::getpid(), signal).unwrap();
                while listener.arrived().is_none() {
                    std::thread::yield_now();
                }
            };
            assert_eq!(interrupted(), None);
            catch(Signal::INT);
            assert_eq!(launch(spec()).0.how, How::Interrupted(2));
            assert_eq!(interrupted(), Some(2));
            assert_eq!(launch(spec()).0.how, How::Exited(0), "winding down");
            catch(Signal::TERM);
            assert_eq!(interrupted(), Some(15));
            assert_eq!(launch(spec()).0.how, How::Exited(0), "winding down");
            drop(watch);
            say("default");
            kill_process(rustix::process::getpid(), Signal::TERM).unwrap();
            std::thread::sleep(FAR);
        }
        "memory" => {
            // The pages of the program itself, which is mapped as it is run, are not what passes through.
            let peak = || {
                let status = fs::read_to_string("/proc/self/status").unwrap();
                let kilobytes = |name: &str| {
                    let line = status.lines().find_map(|l| l.strip_prefix(name)).unwrap();
                    let number = line.trim().trim_end_matches(" kB");
                    number.parse::<u64>().unwrap()
                };
                kilobytes("VmHWM:").saturating_sub(kilobytes("RssFile:"))
            };
            let before = peak();
            let (mut lines, mut kept, mut bytes) = (Lines::new(64 * 1024), HeadTail::new(), 0);
            let end = run(spec(), &mut |_| Ok(()), &mut |chunk| {
                lines.feed(chunk.bytes(), &mut |_| {});
                kept.push(chunk.bytes());
                bytes += chunk.bytes().len();
                Verdict::Go
            });
            assert_eq!(end.unwrap().how, How::Exited(0));
            say(&format!(
                "moved {bytes} grown {}",
                peak().saturating_sub(before)
            ));
        }
        "orphans" => {
            let me = i32::try_from(std::process::id()).unwrap();
            let mut dots = 0;
            let end = run(spec(), &mut |_| Ok(()), &mut |chunk| {
                dots += String::from_utf8_lossy(chunk.bytes()).matches('.').count();
                let children = tree::all().into_iter().filter(|e| e.parent == me).count();
                if dots == 50 && children == 1 {
                    Verdict::Stop("reaped".to_owned())
                } else {
                    Verdict::Go
                }
            });
            say(&format!("end {:?}", end.unwrap().how));
        }
        other => panic!("no such case: {other}"),
    }
}

#[test]
fn a_signal_to_us_stops_the_child_politely_and_leaves_nothing() {
    for (signal, number) in [(Signal::INT, 2), (Signal::TERM, 15), (Signal::HUP, 1)] {
        let mark = Mark::new(&format!("interrupt{number}"));
        // nohup(1) around the tests would have the hangup ignored.
        let mut command = Command::new("env");
        command
            .arg("--default-signal=HUP,INT,TERM")
            .arg(std::env::current_exe().unwrap());
        command.env("MARK", mark.0.strip_prefix("MARK=").unwrap());
        let script = format!(
            "{ESCAPES} trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
        );
        let mut probe = Probe::start_by(&mut command, "launch", &script);
        probe.read_to("ready");
        probe.signal(signal);
        probe.read_to("bye");
        assert_eq!(probe.read_to("end"), format!("Interrupted({number})"));
        drop(probe);
        assert_eq!(mark.carriers(), NOBODY);
    }
}

#[test]
fn a_second_signal_skips_the_grace() {
    let mut probe = Probe::start(
        "launch",
        "trap 'echo asked' TERM; echo ready; while :; do echo tick; sleep 0.05; done",
    );
    probe.read_to("ready");
    probe.signal(Signal::INT);
    probe.read_to("asked");
    // The grace has room for more than two thousand ticks.
    for _ in 0..1000 {
        let line = probe.lines.next().unwrap().unwrap();
        if let Some(end) = line.strip_prefix("end ") {
            assert_eq!(end, "Interrupted(2)");
            return;
        }
        probe.signal(Signal::INT);
    }
    panic!("the grace was not skipped");
}

#[test]
fn under_nohup_a_closed_terminal_is_no_interruption() {
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' HUP; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap());
    let mut probe = Probe::start_by(
        &mut command,
        "launch",
        "echo ready; while :; do echo tick; sleep 0.05; done",
    );
    probe.read_to("ready");
    probe.signal(Signal::HUP);
    probe.read_to("tick");
    probe.signal(Signal::TERM);
    assert_eq!(probe.read_to("end"), "Interrupted(15)");
}

#[test]
fn a_signal_between_launches_is_not_lost_and_told_once() {
    let mut probe = Probe::start("pending", "exit 0");
    probe.read_to("default");
    assert_eq!(
        probe.child.wait().unwrap().signal(),
        Some(15),
        "the default action is back"
    );
}

#[test]
fn two_hundred_megabytes_pass_through_little_memory() {
    let mut probe = Probe::start(
        "memory",
        "head -c 200000000 /dev/zero; yes | head -c 10000000",
    );
    let said = probe.read_to("moved");
    let numbers: Vec<u64> = said
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    assert_eq!(numbers[0], 210_000_000);
    assert!(numbers[1] < 8 * 1024, "grown by {} kB", numbers[1]);
}

#[test]
fn orphans_that_end_during_a_launch_are_reaped_during_it() {
    let script = "i=0; while [ $i -lt 50 ]; do (setsid printf . &); i=$((i+1)); done; while :; do echo; sleep 0.05; done";
    assert_eq!(
        Probe::start("orphans", script).read_to("end"),
        "Stopped(\"reaped\")"
    );
}

/// A launch whose supervisor is killed: its identity, and the marker that all of it carries.
fn crashed(name: &str, script: &str) -> (Identity, String, Mark) {
    let run = format!("{name}-{}", std::process::id());
    let mark = Mark(format!("ARKAINT_RUN={run}"));
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env("ARKAINT_RUN", &run);
    let script = format!("{script}\necho ready; while :; do sleep 1000; done");
    let mut probe = Probe::start_by(&mut command, "launch", &script);
    let identity = serde_json::from_str(&probe.read_to("identity")).unwrap();
    probe.read_to("ready");
    probe.signal(Signal::KILL);
    drop(probe);
    assert!(mark.carriers().len() >= 2);
    (identity, run, mark)
}

#[test]
fn what_a_crash_left_is_found_by_identity_or_by_marker_and_ended() {
    // While no launch of another test makes this process the one that inherits orphans.
    let _alone = alone();
    let mut stranger = Command::new("sleep").arg("1000").spawn().unwrap();

    let (identity, run, mark) = crashed("identified", &format!("trap '' TERM; {ESCAPES}"));
    assert!(kill_tree(Some(&identity), &run).unwrap() >= 4);
    assert!(!identity.still_runs());
    assert_eq!(mark.carriers(), NOBODY);
    assert_eq!(kill_tree(Some(&identity), &run).unwrap(), 0);

    let (_, run, mark) = crashed("marked", "setsid sleep 1000 & setsid sleep 1000 & :");
    assert!(kill_tree(None, &run).unwrap() >= 2);
    assert_eq!(mark.carriers(), NOBODY);

    let of_stranger = Identity::of(i32::try_from(stranger.id()).unwrap()).unwrap();
    let older = Identity {
        start_time: of_stranger.start_time - 1,
        ..of_stranger
    };
    assert_eq!(
        kill_tree(Some(&older), "no-such-run").unwrap(),
        0,
        "the pid alone is nobody"
    );
    assert!(stranger.try_wait().unwrap().is_none());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    assert!(kill_tree(None, "").is_err());
}
