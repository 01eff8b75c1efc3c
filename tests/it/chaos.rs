//! Killed at any system call, and every write refused once: nothing is lost, and the next command finishes or undoes by itself. The calls are
//! counted and hit by strace: our own process, and each git that it starts, the whole tree dying with it. A sample here; in `tests/long` every
//! point, but for a cycle, of whose some 650 a sample of 300 is tried.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::{Files, contents, lost};
use crate::not_run::not_run;
use crate::sandbox::{Ran, Sandbox, is_long};
use crate::stand_in::PRELUDE;

/// The program itself, in the place of a call of git's.
const OWN: &str = "own";

/// System calls that change what others can see. A name that this kernel does not have is passed over.
const CHANGING: &str = "?open,openat,?creat,write,pwrite64,writev,?rename,renameat,renameat2,?link,linkat,?symlink,symlinkat,?unlink,unlinkat,?mkdir,mkdirat,?rmdir,?chmod,fchmod,fchmodat,truncate,ftruncate,utimensat,fsync,fdatasync,execve,exit_group";
/// Those that a full or broken disk refuses.
const FAILING: &str = "write,pwrite64,writev,fsync,fdatasync,?rename,renameat,renameat2,?link,linkat,?symlink,symlinkat,?mkdir,mkdirat,ftruncate,?copy_file_range";

/// Where a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Point {
    /// [`OWN`], or the git that it started: `VERB.N`, the n-th of that verb.
    call: String,
    /// The system call, and which of those by this name in one process: so strace counts.
    name: String,
    at: usize,
}

/// A repository with work of every kind on top of a stable checkpoint, and a copy of it to start each trial from.
struct World {
    sandbox: Sandbox,
    saved: PathBuf,
    before: Files,
}

fn can_trace(name: &str) -> bool {
    let can = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .output()
        .is_ok_and(|out| out.status.success());
    if !can {
        not_run(name, "strace");
    }
    can
}

/// Past the test harness, which keeps what passing tests print to itself.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

impl World {
    fn new(extra: &str) -> Self {
        let sandbox = Sandbox::ready("\"true\"");
        sandbox.write(".gitignore", "build/\n*.log\n");
        sandbox.sh("mkdir src; seq 1 50 >src/a; seq 1 20 >src/b; echo c >c; echo x >tool.sh; chmod +x tool.sh");
        sandbox.arkaint(["checkpoint", "-m", "stable"]).expect(0);
        sandbox.sh("
            seq 5 60 >src/a; rm src/b; mkdir src/b; echo in >src/b/in; chmod -x tool.sh
            mkdir -p new/deep build data self; echo n >new/deep/n; echo s >staged; git add staged
            printf 'build/\\n*.log\\ndata/\\n' >.gitignore; echo p >data/p; echo o >build/o
            echo '*' >self/.gitignore; echo h >self/hidden");
        sandbox.agent(&format!(
            "{PRELUDE}\necho $launch $(date +%N) >work; seq 7 70 >src/a; mkdir -p deep; echo d >deep/d; rm -f c; finish did"
        ));
        sandbox.sh(extra);
        let root = sandbox.repo.parent().unwrap().to_owned();
        let saved = root.join("saved");
        let git = which_git();
        let shim = root.join("shim");
        fs::create_dir(&shim).unwrap();
        // Counts each verb for itself, as some run at the same time, and lets strace strike in the call that is asked for. Whoever started it
        // dies before it can go on.
        let script = format!(
            "#!/bin/sh\nf='{0}'\nverb= value=\n\
             for word; do if [ -n \"$value\" ]; then value=; continue; fi; case $word in -c|-C) value=1 ;; -*) ;; *) verb=$word; break ;; esac; done\n\
             n=$(($(cat \"$f/count.$verb\" 2>/dev/null || echo 0) + 1)); echo $n >\"$f/count.$verb\"; n=$verb.$n\n\
             if [ -e \"$f/all\" ]; then echo \"$n\" >>\"$f/order\"; exec strace -qq -f -e signal=none -e trace=\"$(cat \"$f/set\")\" -o \"$f/calls.$n\" {git} \"$@\"; fi\n\
             if [ \"$(cat \"$f/call\" 2>/dev/null)\" != \"$n\" ]; then exec {git} \"$@\"; fi\n\
             strace -qq -f -e signal=none -e trace=\"$(cat \"$f/set\")\" -e inject=\"$(cat \"$f/set\"):$(cat \"$f/how\")\" -o \"$f/struck\" {git} \"$@\"\n\
             code=$?; [ $code != 137 ] || {{ echo dead >>\"$f/struck\"; kill -9 $PPID; }}\nexit $code\n",
            root.join("fault").display()
        );
        fs::write(shim.join("git"), script).unwrap();
        fs::set_permissions(shim.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        let before = contents(&sandbox.repo);
        let ran = Command::new("cp")
            .arg("-a")
            .arg(&sandbox.repo)
            .arg(&saved)
            .status()
            .unwrap();
        assert!(ran.success());
        Self {
            sandbox,
            saved,
            before,
        }
    }

    fn fault(&self, name: &str) -> PathBuf {
        self.sandbox.repo.parent().unwrap().join("fault").join(name)
    }

    /// Everything as it was at the start.
    fn again(&self) {
        let _ = fs::remove_dir_all(self.fault(""));
        fs::create_dir(self.fault("")).unwrap();
        let _ = fs::remove_file(self.sandbox.home().join("launches"));
        fs::remove_dir_all(&self.sandbox.repo).unwrap();
        let ran = Command::new("cp")
            .arg("-a")
            .arg(&self.saved)
            .arg(&self.sandbox.repo)
            .status()
            .unwrap();
        assert!(ran.success());
    }

    fn command(&self, program: &str) -> Command {
        let shim = self.sandbox.repo.parent().unwrap().join("shim");
        let mut command = self.sandbox.command(program);
        command.env(
            "PATH",
            format!("{}:{}", shim.display(), self.sandbox.path()),
        );
        command
    }

    /// Every point of a run that is not disturbed.
    fn points(&self, args: &[&str], set: &str) -> Vec<Point> {
        self.again();
        fs::write(self.fault("all"), "").unwrap();
        fs::write(self.fault("set"), set).unwrap();
        let log = self.fault(&format!("calls.{OWN}"));
        let ran: Ran = self
            .command("strace")
            .args([
                "-qq",
                "-e",
                "signal=none",
                "-e",
                &format!("trace={set}"),
                "-o",
            ])
            .arg(&log)
            .arg(env!("CARGO_BIN_EXE_git-arkaint"))
            .args(args)
            .output()
            .unwrap()
            .into();
        ran.expect(0);
        let mut points: Vec<Point> = Vec::new();
        let order = fs::read_to_string(self.fault("order")).unwrap_or_default();
        for call in std::iter::once(OWN).chain(order.lines()) {
            let log = fs::read_to_string(self.fault(&format!("calls.{call}"))).unwrap();
            // A process of its own counts for itself; strikes are by the first that comes so far.
            let mut counted: BTreeMap<(&str, &str), usize> = BTreeMap::new();
            for line in log
                .lines()
                .filter(|l| !l.contains(" resumed>") && !l.contains("+++"))
            {
                let (process, rest) = if call == OWN {
                    ("", line)
                } else {
                    line.split_once(' ').unwrap()
                };
                let name = rest.trim_start().split('(').next().unwrap();
                let at = counted.entry((process, name)).or_default();
                *at += 1;
                // What we print, and what only reads. What git prints goes to us: no pipe is ever full or broken like a disk, and git does
                // not look whether it was (write-or-die.c).
                let prints = (call == OWN || set == FAILING)
                    && (rest.starts_with("write(1,") || rest.starts_with("write(2,"));
                let reads = prints
                    || line.contains("O_RDONLY")
                    || line.contains("execve(")
                    || line.contains("exit_group(");
                let point = Point {
                    call: call.to_owned(),
                    name: name.to_owned(),
                    at: *at,
                };
                if !reads && !points.contains(&point) {
                    points.push(point);
                }
            }
        }
        points
    }

    /// Runs `args` with a fault; says whether it struck.
    fn strike(&self, args: &[&str], point: &Point, how: &str) -> (Ran, bool) {
        self.strike_lasting(args, point, how, "")
    }

    /// The same; with `+` every later call of the kind in that process is hit too.
    fn strike_lasting(
        &self,
        args: &[&str],
        point: &Point,
        how: &str,
        lasting: &str,
    ) -> (Ran, bool) {
        self.again();
        let set = &point.name;
        let how = format!("{how}:when={}{lasting}", point.at);
        fs::write(self.fault("set"), set).unwrap();
        fs::write(self.fault("how"), &how).unwrap();
        fs::write(self.fault("call"), &point.call).unwrap();
        let mut command = if point.call == OWN {
            let mut command = self.command("strace");
            command
                .args(["-qq", "-e", "signal=none", "-e", &format!("trace={set}")])
                .args(["-e", &format!("inject={set}:{how}"), "-o"])
                .arg(self.fault("struck"))
                .arg(env!("CARGO_BIN_EXE_git-arkaint"));
            command
        } else {
            self.command(env!("CARGO_BIN_EXE_git-arkaint"))
        };
        let ran: Ran = command.args(args).output().unwrap().into();
        let log = fs::read_to_string(self.fault("struck")).unwrap_or_default();
        fs::remove_file(self.fault("call")).unwrap();
        // In a child of that git's the strike ends that child alone.
        let hit = log.contains("(INJECTED)") || log.contains("\ndead\n") || ran.code.is_none();
        let child = |line: &str| line.ends_with("= ?") && !line.contains("exit_group");
        (ran, hit || log.lines().any(child))
    }

    fn lost(&self) -> Vec<String> {
        let lost = lost(&self.sandbox, &self.before).into_iter();
        lost.map(|path| format!("lost {}", path.display()))
            .collect()
    }

    /// What is wrong after the next command.
    fn wrongs(&self, settled: &Ran) -> Vec<String> {
        let mut wrongs = self.lost();
        if settled.code != Some(0) {
            wrongs.push(format!(
                "the next command: {:?} {}",
                settled.code, settled.stderr
            ));
        }
        let mut left = vec![self.sandbox.repo.join(".git")];
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                if entry.file_type().unwrap().is_dir() {
                    left.push(entry.path());
                } else if entry.path().extension().is_some_and(|e| e == "lock") {
                    wrongs.push(format!("left {}", entry.path().display()));
                }
            }
        }
        let fsck = self
            .sandbox
            .try_git(["fsck", "--full", "--no-dangling", "--no-progress"]);
        if fsck.code != Some(0) {
            wrongs.push(format!("fsck: {}{}", fsck.stdout, fsck.stderr));
        }
        let status = self.sandbox.git(["status", "--porcelain"]);
        if !status.is_empty() {
            wrongs.push(format!("not clean: {status}"));
        }
        let verified = self.sandbox.arkaint(["log", "--verify"]);
        if verified.code != Some(0) {
            wrongs.push(format!(
                "log --verify: {}{}",
                verified.stdout, verified.stderr
            ));
        }
        let add = self.sandbox.try_git(["add", "-A"]);
        if add.code != Some(0) {
            wrongs.push(format!("git add: {}", add.stderr));
        }
        wrongs
    }
}

fn which_git() -> String {
    let path = std::env::var("PATH").unwrap();
    let git = path.split(':').map(|dir| Path::new(dir).join("git"));
    let git = git.into_iter().find(|git| git.is_file()).unwrap();
    git.display().to_string()
}

/// At most `most` of them, evenly; all in the long version.
fn sample(points: &[Point], most: usize) -> Vec<Point> {
    if (is_long() && most < 100) || points.len() <= most {
        return points.to_vec();
    }
    (0..most)
        .map(|k| points[k * (points.len() - 1) / (most - 1)].clone())
        .collect()
}

#[track_caller]
fn killed(name: &str, world: &World, args: &[&str], next: &[&str], most: usize) {
    let points = world.points(args, CHANGING);
    let chosen = sample(&points, most);
    let mut bad = Vec::new();
    let mut struck = 0;
    for point in &chosen {
        let (_, hit) = world.strike(args, point, "signal=KILL");
        struck += usize::from(hit);
        let settled: Ran = world
            .command(env!("CARGO_BIN_EXE_git-arkaint"))
            .args(next)
            .output()
            .unwrap()
            .into();
        let wrongs = world.wrongs(&settled);
        if !wrongs.is_empty() {
            let log = fs::read_to_string(world.fault("struck")).unwrap_or_default();
            let last = log.lines().rev().take(2).collect::<Vec<_>>().join(" | ");
            bad.push(format!("{point:?} {last}\n  {}", wrongs.join("\n  ")));
        }
    }
    say(&format!(
        "{name}: {} crash points, {} tried, {struck} killed, {} failed",
        points.len(),
        chosen.len(),
        bad.len()
    ));
    assert!(bad.is_empty(), "{name}:\n{}", bad.join("\n"));
    // Two runs do not make quite the same calls: some end a moment earlier.
    assert!(
        struck * 10 >= chosen.len() * 8,
        "{name}: only {struck} of {} were killed",
        chosen.len()
    );
}

#[test]
fn a_rollback_that_is_killed_anywhere_is_finished_by_the_next_command() {
    if can_trace("a_rollback_that_is_killed_anywhere_is_finished_by_the_next_command") {
        killed(
            "rollback",
            &World::new(""),
            &["rollback"],
            &["rollback"],
            12,
        );
    }
}

#[test]
fn a_checkpoint_that_is_killed_anywhere_is_finished_or_undone_by_the_next_command() {
    if can_trace("a_checkpoint_that_is_killed_anywhere_is_finished_or_undone_by_the_next_command") {
        let args = ["checkpoint", "-m", "two"];
        killed("checkpoint", &World::new(""), &args, &args, 12);
    }
}

#[test]
fn a_restore_that_is_killed_anywhere_is_finished_by_the_next_command() {
    if can_trace("a_restore_that_is_killed_anywhere_is_finished_by_the_next_command") {
        let world = World::new("git arkaint rollback; echo newer >new; echo z >>c");
        let listed = world
            .sandbox
            .arkaint(["discarded", "list", "--json"])
            .expect(0)
            .json();
        let id = listed["discarded"][0]["id"].as_str().unwrap().to_owned();
        killed(
            "restore",
            &world,
            &["discarded", "restore", &id],
            &["checkpoint"],
            6,
        );
    }
}

#[test]
fn a_cycle_that_is_killed_anywhere_is_taken_up_by_the_next() {
    if can_trace("a_cycle_that_is_killed_anywhere_is_taken_up_by_the_next") {
        let args = ["cycle", "do it"];
        killed(
            "cycle",
            &World::new(""),
            &args,
            &args,
            if is_long() { 300 } else { 6 },
        );
    }
}

/// Every write refused once, or from some moment on: all or nothing, and said in one line.
#[track_caller]
fn refused(name: &str, world: &World, args: &[&str], most: usize) {
    let points = world.points(args, FAILING);
    let done = contents(&world.sandbox.repo);
    let (mut bad, mut tried, mut said) = (Vec::new(), 0, BTreeMap::<String, usize>::new());
    let mut missed = 0;
    for (number, point) in sample(&points, most).iter().enumerate() {
        // The sample takes one of the four in turn, the long version two.
        let all = [("ENOSPC", "+"), ("EIO", ""), ("ENOSPC", ""), ("EIO", "+")];
        let first = if is_long() {
            number % 2 * 2
        } else {
            number % 4
        };
        for (kind, lasting) in &all[first..first + 1 + usize::from(is_long())] {
            tried += 1;
            // Two runs do not make quite the same calls: whether a folder of objects is there yet is chance.
            let mut again = 0;
            let (ran, hit) = loop {
                let (ran, hit) =
                    world.strike_lasting(args, point, &format!("error={kind}"), lasting);
                again += 1;
                if hit || again == 4 {
                    break (ran, hit);
                }
            };
            missed += usize::from(!hit);
            let mut wrongs = world.lost();
            let now = contents(&world.sandbox.repo);
            match ran.code {
                Some(0) if now != done => wrongs.push("it said that all went well".to_owned()),
                Some(0) => {}
                _ if now != done && now != world.before => wrongs.push("half done".to_owned()),
                _ => {
                    let causes: Vec<_> = ran
                        .stderr
                        .lines()
                        .filter(|l| l.starts_with("arkaint: "))
                        .collect();
                    // Where every write fails, nothing can be said.
                    let mute = point.call == OWN && point.name == "write" && *lasting == "+";
                    if !mute && (causes.len() != 1 || !ran.stderr.contains("\nhint: ")) {
                        wrongs.push("no cause in one line".to_owned());
                    }
                    let cause = causes
                        .first()
                        .unwrap_or(&"")
                        .split("/tmp/")
                        .next()
                        .unwrap()
                        .to_owned();
                    *said.entry(cause).or_default() += 1;
                }
            }
            let settled: Ran = world
                .command(env!("CARGO_BIN_EXE_git-arkaint"))
                .args(args)
                .output()
                .unwrap()
                .into();
            wrongs.extend(world.wrongs(&settled));
            if !wrongs.is_empty() {
                let log = fs::read_to_string(world.fault("struck")).unwrap_or_default();
                let line = log
                    .lines()
                    .find(|l| l.contains("(INJECTED)"))
                    .unwrap_or("not struck");
                bad.push(format!(
                    "{point:?} {kind}{lasting}: {line}\n  {}\n  {:?} {}",
                    wrongs.join("\n  "),
                    ran.code,
                    ran.stderr
                ));
            }
        }
    }
    say(&format!(
        "{name}: {} writes that can fail, {tried} faults, {missed} came to nothing, {} failed",
        points.len(),
        bad.len()
    ));
    for (cause, count) in said {
        say(&format!("  {count:>4} x {cause}"));
    }
    assert!(bad.is_empty(), "{name}:\n{}", bad.join("\n"));
    assert!(
        missed * 20 <= tried,
        "{name}: {missed} of {tried} faults struck nothing"
    );
}

#[test]
fn a_rollback_on_a_full_or_broken_disk_is_whole_or_not_at_all() {
    if can_trace("a_rollback_on_a_full_or_broken_disk_is_whole_or_not_at_all") {
        refused("rollback", &World::new(""), &["rollback"], 12);
    }
}

#[test]
fn a_checkpoint_on_a_full_or_broken_disk_is_whole_or_not_at_all() {
    if can_trace("a_checkpoint_on_a_full_or_broken_disk_is_whole_or_not_at_all") {
        refused(
            "checkpoint",
            &World::new(""),
            &["checkpoint", "-m", "two"],
            12,
        );
    }
}
