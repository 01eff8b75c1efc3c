//! Completions as the shells run them: bash through git's own completion, fish by its own question, zsh read for errors.
//! That every verb and flag is in each script is held by the unit tests beside the generator.

use std::path::Path;

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

#[test]
fn fish_and_zsh_read_their_scripts() {
    let sandbox = Sandbox::new();
    let zsh = script(&sandbox, "zsh");
    if let Ok(ran) = sandbox.command("zsh").arg("-n").arg(&zsh).output() {
        Ran::from(ran).expect(0);
    }
    let fish = script(&sandbox, "fish");
    let ask = format!(
        "source {}; complete -C 'git-arkaint cy'; complete -C 'git-arkaint cycle --re'",
        fish.display()
    );
    if let Ok(ran) = sandbox
        .command("fish")
        .args(["--no-config", "-c", &ask])
        .output()
    {
        let offered = Ran::from(ran).expect(0).stdout;
        let words: Vec<&str> = offered
            .lines()
            .filter_map(|line| line.split('\t').next())
            .collect();
        assert_eq!(words, ["cycle", "--red", "--repeat"], "{offered}");
    }
}
