//! Completions as the shells run them, each through git's own completion: bash by its function, fish by its question, zsh on a terminal.
//! That every verb and flag is in each script is held by the unit tests beside the generator.

use std::path::Path;

use crate::not_run::not_run;
use crate::sandbox::{Ran, Sandbox};

const GIT_COMPLETION: [&str; 4] = [
    "/usr/share/bash-completion/completions/git",
    "/etc/bash_completion.d/git",
    "/usr/share/git/completion/git-completion.bash",
    "/usr/share/git-core/contrib/completion/git-completion.bash",
];

/// What bash offers at the end of `line`, by the function that is registered for its first word.
const COMPLETE: &str = r#"
line=$3
. "$1"
. "$2"
read -ra COMP_WORDS <<<"$line"
case $line in *' ') COMP_WORDS+=('') ;; esac
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line} COMPREPLY=()
name=${COMP_WORDS[0]}
set -- $(complete -p "$name")
while [ "$1" != -F ]; do shift; done
"$2" "$name" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

fn script(sandbox: &Sandbox, shell: &str) -> std::path::PathBuf {
    let path = sandbox.home().join(format!("completion.{shell}"));
    std::fs::write(
        &path,
        sandbox.arkaint(["completions", shell]).expect(0).stdout,
    )
    .unwrap();
    path
}

/// report_git_absorb_212.
#[test]
fn bash_completes_git_arkaint_inside_the_completion_of_git() {
    let Some(git) = GIT_COMPLETION
        .into_iter()
        .find(|path| Path::new(path).exists())
    else {
        not_run("bash_completes_git_arkaint", "git completion");
        return;
    };
    let sandbox = Sandbox::new();
    sandbox.write(
        "arkaint.toml",
        "[profile.porter]\nguardrails = \"port, do not improve\"\n",
    );
    sandbox.write(".arkaint/runs/20260101T000000Z-abcdef/run.log", "");
    sandbox.git([
        "update-ref",
        "refs/arkaint/discarded/20260101T000000Z-abcdef/1",
        "HEAD",
    ]);
    let ours = script(&sandbox, "bash");
    let offered = |line: &str| {
        let mut bash = sandbox.command("bash");
        let ran: Ran = bash
            .args(["-c", COMPLETE, "bash", git])
            .arg(&ours)
            .arg(line)
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.stderr, "", "{line}");
        let mut words: Vec<String> = ran.stdout.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words.join(" ")
    };
    assert_eq!(
        offered("git arkaint c"),
        "checkpoint completions contract cost cycle"
    );
    assert_eq!(
        offered("git arkaint ho"),
        "hooks",
        "the verb that hooks call is not for people"
    );
    assert_eq!(offered("git arkaint cycle --re"), "--red --repeat");
    assert_eq!(offered("git arkaint-cycle --re"), "--red --repeat");
    assert_eq!(offered("git -C . arkaint -q checkpoint --m"), "--message");
    assert_eq!(offered("git arkaint cycle -p p"), "porter");
    assert_eq!(offered("git arkaint cycle task de"), "debugger default");
    assert_eq!(offered("git arkaint dispatch --re"), "--red --resume");
    assert_eq!(offered("git arkaint dispatch --base ma"), "main");
    assert_eq!(offered("git arkaint log --kind di"), "dispatch");
    assert_eq!(offered("git arkaint --color=al"), "always");
    assert_eq!(offered("git arkaint log --kind tr"), "trip");
    assert_eq!(offered("git arkaint discarded re"), "restore");
    assert_eq!(offered("git arkaint discarded restore --b"), "--branch");
    assert_eq!(offered("git arkaint hooks st"), "status");
    assert_eq!(offered("git arkaint hooks status --p"), "--probe");
    assert_eq!(offered("git arkaint ve"), "verify");
    assert_eq!(offered("git arkaint verify --o"), "--outcome");
    assert_eq!(offered("git arkaint completions "), "bash fish zsh");
    assert_eq!(offered("git arkaint explain 2"), "20260101T000000Z-abcdef");
    assert_eq!(
        offered("git arkaint log --run=2"),
        "20260101T000000Z-abcdef"
    );
    assert_eq!(
        offered("git arkaint discarded diff 2"),
        "20260101T000000Z-abcdef/1"
    );
    assert_eq!(
        offered("git-arkaint c"),
        "checkpoint completions contract cost cycle"
    );
    assert_eq!(offered("git-arkaint cycle --re"), "--red --repeat");
}

/// zsh on a terminal of its own (zsh/zpty): what it lists at the end of a line, with our script in `fpath` beside its own `_git`.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=1000; setopt no_beep; bindkey '^X' list-choices; echo READY-\$((1+1))"
zpty -r z out '*READY-2*'
zpty -w -n z "$2"$'\x18'
# The list, then the line that was typed is drawn again.
zpty -r z out '* -- *'
zpty -r z rest "*$2*"
print -r -- "$out$rest"
zpty -d z
"#;

#[test]
fn zsh_completes_git_arkaint_inside_the_completion_of_git() {
    let sandbox = Sandbox::new();
    if sandbox.command("zsh").arg("--version").output().is_err() {
        not_run("zsh_completes_git_arkaint", "zsh");
        return;
    }
    let zsh = script(&sandbox, "zsh");
    Ran::from(sandbox.command("zsh").arg("-n").arg(&zsh).output().unwrap()).expect(0);
    let functions = sandbox.home().join("functions");
    std::fs::create_dir(&functions).unwrap();
    std::fs::rename(zsh, functions.join("_git-arkaint")).unwrap();
    let escapes = regex::Regex::new(r"\x1b\[[0-9;?]*[A-Za-z]").unwrap();
    let words = regex::Regex::new(r"(?m)^(\S+) +-- ").unwrap();
    for (line, wanted) in [
        ("git arkaint cy", &["cycle"][..]),
        ("git arkaint cycle --re", &["--red", "--repeat"]),
        ("git-arkaint hooks st", &["status"]),
        ("git -C . arkaint dispatch --re", &["--red", "--resume"]),
    ] {
        let ran = sandbox
            .command("timeout")
            .args(["60", "zsh", "-f", "-c", ZSH, "zsh"])
            .arg(&functions)
            .arg(line)
            .output()
            .unwrap();
        let shown = Ran::from(ran).expect(0).stdout;
        let shown = escapes.replace_all(&shown, "").replace('\r', "");
        let offered: Vec<&str> = words
            .captures_iter(&shown)
            .map(|found| found.get(1).unwrap().as_str())
            .collect();
        assert_eq!(offered, wanted, "{line}: {shown:?}");
    }
}

#[test]
fn fish_completes_git_arkaint_inside_the_completion_of_git() {
    let sandbox = Sandbox::new();
    if sandbox.command("fish").arg("--version").output().is_err() {
        not_run("fish_completes_git_arkaint", "fish");
        return;
    }
    let fish = script(&sandbox, "fish");
    let conf = sandbox.home().join(".config/fish/conf.d");
    std::fs::create_dir_all(&conf).unwrap();
    std::fs::rename(fish, conf.join("git-arkaint.fish")).unwrap();
    for (line, wanted) in [
        ("git arka", &["arkaint"][..]),
        ("git arkaint cy", &["cycle"]),
        ("git arkaint cycle --re", &["--red", "--repeat"]),
        ("git -C . arkaint hooks status --p", &["--probe"]),
        ("git arkaint-cycle --re", &["--red", "--repeat"]),
        ("git-arkaint cy", &["cycle"]),
        ("git-arkaint cycle --re", &["--red", "--repeat"]),
        ("git-arkaint-cycle --re", &["--red", "--repeat"]),
        // git's own are still there.
        ("git cherry-p", &["cherry-pick"]),
    ] {
        let ran = sandbox
            .command("fish")
            .args(["-c", &format!("complete -C '{line}'")])
            .output()
            .unwrap();
        let offered = Ran::from(ran).expect(0).stdout;
        let mut words: Vec<&str> = offered
            .lines()
            .filter_map(|line| line.split('\t').next())
            .filter(|word| !word.starts_with("arkaint-"))
            .collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words, wanted, "{line}: {offered}");
    }
}
