//! Code that would run in our next git call.

use std::fs;

use super::{Row, TOOLS, broken, row, said, settings, table};
use crate::files::differing;
use crate::sandbox::{Sandbox, is_long};
use crate::stand_in::PRELUDE;

/// THREATS 2a: what is planted while a run lasts runs neither in our git calls after it, nor in the operator's next ones.
#[test]
fn planted_code_does_not_run() {
    let rows = [
        row(
            "core.fsmonitor",
            "set_key core.fsmonitor \"$EVIL\"",
            "core.fsmonitor",
        ),
        row(
            "core.fsmonitor by include.path",
            "git config --file .git/more core.fsmonitor \"$EVIL\"; set_key include.path more",
            "include.path",
        ),
        row(
            "core.fsmonitor by config.worktree",
            "set_key extensions.worktreeConfig true; git config --file .git/config.worktree core.fsmonitor \"$EVIL\"",
            "config.worktree",
        ),
        row(
            "core.hooksPath to a folder of the worktree",
            "for h in post-index-change reference-transaction pre-commit post-commit; do hook evil-hooks $h; done; set_key core.hooksPath evil-hooks",
            "core.hookspath",
        ),
        row(
            "hooks",
            "for h in reference-transaction post-index-change pre-commit post-commit prepare-commit-msg commit-msg post-checkout; do hook .git/hooks $h; done",
            "hooks/",
        ),
        row(
            "filter.clean by .gitattributes",
            "set_key filter.x.clean \"$EVIL\"; set_key filter.x.smudge \"$EVIL\"; echo '* filter=x' >.gitattributes",
            "filter.x",
        ),
        row(
            "filter.process by .git/info/attributes",
            "set_key filter.x.process \"$EVIL\"; mkdir -p .git/info; echo '* filter=x' >.git/info/attributes",
            "filter.x",
        ),
        row(
            "diff.external, diff.x.command, diff.x.textconv",
            "set_key diff.external \"$EVIL\"; set_key diff.x.command \"$EVIL\"; set_key diff.x.textconv \"$EVIL\"; echo '* diff=x' >.gitattributes",
            "diff.external",
        ),
        row(
            "merge.x.driver",
            "set_key merge.x.driver \"$EVIL\"; echo '* merge=x' >.gitattributes",
            "merge.x",
        ),
        row(
            "gpg.program with commit.gpgSign and log.showSignature",
            "set_key gpg.program \"$EVIL\"; set_key commit.gpgSign true; set_key log.showSignature true",
            "gpg.program",
        ),
        row(
            "core.sshCommand, credential.helper, remote by ext::",
            "set_key core.sshCommand \"$EVIL\"; set_key credential.helper \"$EVIL\"; set_key remote.origin.url \"ext::$EVIL\"",
            "core.sshcommand",
        ),
        row(
            "trailer.x.cmd",
            "set_key trailer.x.cmd \"$EVIL\"; set_key trailer.x.ifmissing add",
            "trailer.x",
        ),
        row(
            "alias, core.editor, core.pager, sequence.editor",
            "set_key alias.status \"!$EVIL\"; set_key core.editor \"$EVIL\"; set_key core.pager \"$EVIL\"; set_key sequence.editor \"$EVIL\"",
            "core.editor",
        ),
        row(
            "core.worktree to another folder",
            "mkdir \"$HOME/other\"; echo precious >\"$HOME/other/src\"; set_key core.worktree \"$HOME/other\"",
            "core.worktree",
        ),
        row(
            "core.alternateRefsCommand, uploadpack.packObjectsHook",
            "set_key core.alternateRefsCommand \"$EVIL\"; set_key uploadpack.packObjectsHook \"$EVIL\"",
            "core.alternaterefscommand",
        ),
        row(
            ".git swapped for a gitfile",
            "cp -a .git ../evil.git; git config --file ../evil.git/config core.fsmonitor \"$EVIL\"; git config --file ../evil.git/config core.worktree \"$PWD\"; mv .git ../real.git; echo \"gitdir: $(cd ../evil.git && pwd)\" >.git",
            "was moved to",
        ),
        row(
            "a nested repository with fsmonitor and filter",
            "git init -q nested; cd nested; echo '* filter=x' >.gitattributes; echo f >f; git add -A; git commit -qm n; git config core.fsmonitor \"$EVIL\"; git config filter.x.clean \"$EVIL\"; echo more >>f; hook .git/hooks post-index-change; cd ..",
            "nested",
        ),
        row(
            "the same, staged as a link",
            "git init -q nested; cd nested; echo '* filter=x' >.gitattributes; echo f >f; git add -A; git commit -qm n; cd ..; git add nested 2>/dev/null; cd nested; git config core.fsmonitor \"$EVIL\"; git config filter.x.clean \"$EVIL\"; echo more >>f; cd ..",
            "nested",
        ),
        row(
            "the same, committed as a link",
            "git init -q nested; cd nested; echo '* filter=x' >.gitattributes; echo f >f; git add -A; git commit -qm n; cd ..; git add nested 2>/dev/null; git commit -qm link; cd nested; git config core.fsmonitor \"$EVIL\"; git config filter.x.clean \"$EVIL\"; echo more >>f; cd ..",
            "",
        ),
    ];
    // Those that only set keys and place files do not meet: one run for all of them, but for the long version.
    let alone = [
        "include.path",
        "config.worktree",
        "core.worktree",
        "swapped",
        "nested",
        "the same",
        "hooksPath",
    ];
    let (alone, together): (Vec<&Row>, Vec<&Row>) = rows
        .iter()
        .partition(|row| is_long() || alone.iter().any(|word| row.attack.contains(word)));
    let mut batches: Vec<Vec<&Row>> = alone.into_iter().map(|row| vec![row]).collect();
    batches.extend((!together.is_empty()).then_some(together));
    let (mut told, mut bad) = (Vec::new(), Vec::new());
    for batch in batches {
        let sandbox = Sandbox::stable();
        let plants: Vec<String> = batch
            .iter()
            .map(|row| row.plant.replace(">.gitattributes", ">>.gitattributes"))
            .collect();
        let attacks: Vec<&str> = batch.iter().map(|row| row.attack).collect();
        let attack = attacks.join(" + ");
        sandbox.agent(&format!(
            "{PRELUDE}\n{TOOLS}\n[ $launch != 1 ] || {{\n{}\n}}\necho work $launch >work; finish did",
            plants.join("\n")
        ));
        let then = settings(&sandbox);
        let ran = sandbox.arkaint(["cycle", "do it"]);
        let put_back = differing(&settings(&sandbox), &then);
        if !put_back.is_empty() {
            bad.push(format!(
                "{attack}: not put back: {put_back:?}\n{}",
                ran.stderr
            ));
        }
        let mark = sandbox.home().join("mark");
        let ours = fs::read_to_string(&mark).unwrap_or_default();
        if !ours.is_empty() {
            bad.push(format!(
                "{attack}: it ran in our calls: {ours}\n{}",
                ran.stderr
            ));
        }
        // The person runs plain git next; only what lies in a nested repository is not put back.
        let _ = fs::remove_file(&mark);
        for args in [&["status"][..], &["log", "-p", "-2"], &["diff", "HEAD"]] {
            sandbox.try_git(args);
        }
        let rolled = sandbox.arkaint(["rollback"]);
        if mark.exists() && !attack.contains("nested") && !attack.contains("the same") {
            let what = fs::read_to_string(&mark).unwrap();
            bad.push(format!(
                "{attack}: it runs in the next git: {what}\n{}",
                ran.stderr
            ));
        }
        if rolled.code != Some(0) {
            bad.push(format!("{attack}: rollback: {}", rolled.stderr));
        }
        let other = sandbox.home().join("other/src");
        if attack.contains("core.worktree") && fs::read_to_string(other).unwrap() != "precious\n" {
            bad.push(format!("{attack}: the other folder was touched"));
        }
        for row in batch {
            if ran.code != Some(row.code) || !ran.stderr.contains(row.said) {
                bad.push(format!(
                    "{}: {:?}, nothing of {}\n{}",
                    row.attack, ran.code, row.said, ran.stderr
                ));
            }
            if let Some(what) = broken(&sandbox, row, "") {
                bad.push(format!("{}: {what}\n{}", row.attack, ran.stderr));
            }
            let happened = if row.said.is_empty() || row.said == "nested" {
                "nothing of it ran"
            } else {
                "nothing of it ran; put back"
            };
            told.push((
                row.attack.to_owned(),
                happened.to_owned(),
                said(&ran, row.said),
            ));
        }
    }
    table("code execution through our next git call", &told);
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
