//! A parent that is killed in the middle: the next command ends what still runs, and finds what was turned.

use std::fs;
use std::path::Path;

use super::TOOLS;
use crate::sandbox::Sandbox;
use crate::stand_in::PRELUDE;

/// The parent is killed while the agent works, and the agent turns everything: the next command ends it, compares with what was noted on
/// disk, and runs nothing that was planted.
#[test]
fn what_a_run_turned_whose_parent_was_killed_is_put_back_by_the_next_command() {
    let sandbox = Sandbox::stable();
    sandbox.write("scripts/check.sh", "true\n");
    sandbox.sh("ARKAINT_ALLOW_INFRA_EDIT=1 git arkaint checkpoint -m scripts");
    let start = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.agent(&format!(
        "{PRELUDE}\n{TOOLS}\nset_key core.fsmonitor \"$EVIL\"; set_key filter.x.clean \"$EVIL\"; echo '* filter=x' >.gitattributes; hook .git/hooks pre-commit\n\
         git commit -q --amend -m gone; git update-ref -d refs/notes/arkaint/ledger; echo false >scripts/check.sh; echo work >work\n\
         rm -f \"$HOME/mark\"; kill -9 $PPID; sleep 600"
    ));
    let cut = sandbox.arkaint(["cycle", "do it"]);
    assert_eq!(cut.code, None, "{}", cut.stderr);
    let next = sandbox.arkaint(["checkpoint", "-m", "after"]).expect(0);
    for word in [
        "was cut off",
        "core.fsmonitor",
        "hooks/pre-commit",
        "refs/notes/arkaint/ledger was deleted",
        "does not descend",
        "scripts/check.sh",
    ] {
        assert!(
            next.stderr.contains(word),
            "nothing of {word}: {}",
            next.stderr
        );
    }
    assert!(!sandbox.home().join("mark").exists(), "nothing planted ran");
    assert_eq!(sandbox.read("scripts/check.sh"), "true\n");
    assert_eq!(sandbox.read("work"), "work\n");
    sandbox.git(["merge-base", "--is-ancestor", &start, "HEAD"]);
    sandbox.arkaint(["log", "--verify"]).expect(0);
}

/// The same while the tests run: they are ended too.
#[test]
fn tests_that_outlive_a_killed_command_are_ended_by_the_next() {
    let sandbox = Sandbox::ready(
        "\"[ -e $HOME/once ] || { touch $HOME/once; echo $$ >$HOME/pid; sleep 1; kill -9 $PPID; exec sleep 600; }\"",
    );
    sandbox.write("a", "a\n");
    assert_eq!(sandbox.arkaint(["checkpoint"]).code, None);
    let pid = fs::read_to_string(sandbox.home().join("pid")).unwrap();
    let runs = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z")
    };
    assert!(runs() || !Path::new("/proc/self").exists());
    let next = sandbox.arkaint(["checkpoint"]).expect(0);
    assert!(!runs());
    assert!(next.stderr.contains("still ran"), "{}", next.stderr);
}
