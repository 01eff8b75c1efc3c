//! What an agent can leave behind, row by row: code that would run in our next git call, a ledger and refs that lie, files that a
//! `reset --hard` and `clean -fd` would lose or miss. Each test prints its table: attack, what happened, what was said.

mod code;
mod killed;
mod ledger;
mod leftovers;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use crate::files::{File, Files, contents};
use crate::sandbox::{Ran, Sandbox};

/// One attack, as a shell script that is run in the worktree.
#[derive(Clone, Copy)]
struct Row {
    attack: &'static str,
    plant: &'static str,
    /// A word of what must be said; empty where there is nothing to say.
    said: &'static str,
    /// How the command under attack ends: [`REFUSED`], or it does its work all the same.
    code: i32,
    /// How `git arkaint log --verify` ends afterwards, and what it says.
    verify: (i32, &'static str),
    /// What must be true afterwards, in bash; `$start` is the commit from before.
    holds: &'static str,
}

const REFUSED: i32 = 3;

const fn row(attack: &'static str, plant: &'static str, said: &'static str) -> Row {
    Row {
        attack,
        plant,
        said,
        code: 0,
        verify: (0, " holds"),
        holds: "",
    }
}

/// Shell functions for what is planted. `$EVIL` leaves a mark where it runs, and passes on what it reads.
const TOOLS: &str = r#"
EVIL="$HOME/evil"
printf '#!/bin/sh\necho "$0 $*" >>"%s/mark"\ncat\n' "$HOME" >"$EVIL"; chmod +x "$EVIL"
set_key() { git config --file .git/config "$1" "$2"; }
hook() { mkdir -p "$1"; cp "$EVIL" "$1/$2"; }
"#;

/// A table past the test harness, which keeps what passing tests print to itself.
fn table(title: &str, rows: &[(String, String, String)]) {
    let mut text = format!("\n{title}\n");
    for (attack, happened, said) in rows {
        text.push_str(&format!("  {attack:<58} | {happened:<40} | {said}\n"));
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// What a person reads of it: the first line with `word`, else the last.
fn said(ran: &Ran, word: &str) -> String {
    let lines: Vec<&str> = ran.stderr.lines().collect();
    let line = lines
        .iter()
        .find(|line| !word.is_empty() && line.contains(word));
    let line = line.or(lines.last()).unwrap_or(&"");
    line.chars().take(110).collect()
}

/// What decides about git's next call and is nobody's work: configuration, hooks, `info`, HEAD and a shallow file, by path and content.
/// Anything but a file or a folder is an entry of its own.
fn settings(sandbox: &Sandbox) -> Files {
    let git = sandbox.repo.join(".git");
    let mut found = contents(&git);
    // Said and left, as it runs nothing itself.
    if let Some(config) = found.get_mut(Path::new("config")) {
        let text = String::from_utf8_lossy(&config.content);
        config.content = text
            .replace("[log]\n\tshowSignature = true\n", "")
            .into_bytes();
    }
    let deciding = [
        "config",
        "config.worktree",
        "hooks",
        "info",
        "HEAD",
        "shallow",
    ];
    // git makes that list anew whenever it packs, and never reads it.
    let is_list = |path: &Path| path == Path::new("info/refs");
    found.retain(|path, _| deciding.iter().any(|name| path.starts_with(name)) && !is_list(path));
    // What was moved aside lies below `arkaint`, and logs are no settings.
    let others = sandbox.sh(
        "find .git \\( -path .git/arkaint -o -path .git/logs \\) -prune -o -not -type f -not -type d -print",
    );
    let other = |path: &str, content| (path.into(), File { kind: '?', content });
    found.extend(others.lines().map(|path| other(path, Vec::new())));
    if !git.symlink_metadata().unwrap().is_dir() {
        found.extend([other(".git", fs::read(&git).unwrap())]);
    }
    found
}

/// Every ref by what it is, but for those that a run moves on: the branch, and the ledger's.
fn refs(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let list = sandbox.git([
        "for-each-ref",
        "--format=%(refname) %(objectname) %(symref)",
    ]);
    let all = list.lines().map(|line| line.split_once(' ').unwrap());
    let still = all.filter(|(name, _)| {
        *name != "refs/heads/arkaint/work" && *name != "refs/notes/arkaint/ledger"
    });
    still
        .map(|(name, to)| (name.to_owned(), to.to_owned()))
        .collect()
}

/// Runs the condition of a row; says what it printed where it does not hold.
fn broken(sandbox: &Sandbox, row: &Row, start: &str) -> Option<String> {
    let mut bash = sandbox.command("bash");
    let script = format!("set -x\n{}", row.holds);
    let ran = Ran::from(
        bash.args(["-euc", &script])
            .env("start", start)
            .output()
            .unwrap(),
    );
    (ran.code != Some(0)).then(|| format!("{}: {}{}", row.holds, ran.stdout, ran.stderr))
}
