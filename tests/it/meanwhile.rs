//! Another git that packs refs and objects all the while, as `git maintenance` does beside an agent: nothing that moves is taken for a loss,
//! and nothing of ours stands in its way. Found by random sequences on a busy machine.

use std::path::PathBuf;
use std::process::Child;

use crate::cycle::{GREEN, cycle, launches, world};
use crate::sandbox::{Ran, Sandbox, is_long};

/// It packs until it goes out of scope.
struct Packer {
    child: Child,
    stop: PathBuf,
}

impl Packer {
    fn new(sandbox: &Sandbox) -> Self {
        let stop = sandbox.home().join("stop");
        let script = format!(
            "while [ ! -e {0} ]; do git pack-refs --all && git repack -adq || exit; echo >>{0}.turns; done",
            stop.display()
        );
        let child = sandbox.command("sh").args(["-c", &script]).spawn().unwrap();
        Self { child, stop }
    }

    /// How often it packed.
    fn turns(&self) -> usize {
        let turns = std::fs::read_to_string(self.stop.with_extension("turns"));
        turns.unwrap_or_default().lines().count()
    }
}

impl Drop for Packer {
    fn drop(&mut self) {
        std::fs::write(&self.stop, "").unwrap();
        let ended = self.child.wait().unwrap();
        assert!(
            std::thread::panicking() || ended.success(),
            "git could not pack"
        );
    }
}

/// git itself does not bear it that the folder it has just made is removed as empty: its `commit` may fail of that, and all is as it was.
fn but_for_git(run: impl Fn() -> Ran) -> Ran {
    let of_git = ["unable to create temporary file", "unable to write file"];
    for _ in 0..20 {
        let ran = run();
        if !of_git.iter().any(|words| ran.stderr.contains(words)) {
            return ran.expect(0);
        }
    }
    panic!("git lost its folder twenty times in a row");
}

#[test]
fn a_git_that_packs_all_the_while_is_never_taken_for_a_loss() {
    let own = "date +%N >>made; until git add -A && git commit -qm own; do :; done; finish did";
    let sandbox = world(GREEN, own);
    let packer = Packer::new(&sandbox);
    for turn in 0..if is_long() { 60 } else { 6 } {
        sandbox.write("work", &format!("{turn}\n"));
        but_for_git(|| sandbox.arkaint(["checkpoint", "-q", "-m", "work"]));
        sandbox.write("work", &format!("{turn} more\n"));
        let rolled = but_for_git(|| sandbox.arkaint(["rollback", "--json"])).json();
        assert_eq!(sandbox.read("work"), format!("{turn}\n"));
        let id = rolled["archive"].as_str().unwrap().to_owned();
        but_for_git(|| sandbox.arkaint(["discarded", "restore", &id]));
        assert_eq!(sandbox.read("work"), format!("{turn} more\n"));
        let ran = but_for_git(|| cycle(&sandbox));
        // Not a word of rules that were broken, of refs that moved, or of locks.
        for word in ["broken", "refs", "lock"] {
            assert!(!ran.stderr.contains(word), "{}", ran.stderr);
        }
        sandbox.arkaint(["log", "--verify"]).expect(0);
    }
    assert!(packer.turns() > 3, "it packed {} times", packer.turns());
    drop(packer);
    sandbox.git(["fsck", "--strict"]);
}

#[test]
fn an_agent_whose_git_packs_breaks_no_rule() {
    let own = "date +%N >>made; git add -A; git commit -qm own; git gc -q; finish did";
    let sandbox = world(GREEN, own);
    for _ in 0..2 {
        let ran = cycle(&sandbox).expect(0);
        assert!(!ran.stderr.contains("broken"), "{}", ran.stderr);
    }
    assert!(sandbox.repo.join(".git/info/refs").exists());
    assert_eq!(launches(&sandbox), 2);
}
