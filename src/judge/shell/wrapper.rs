//! Programs that only run another one: `timeout 60 x`, `npx x`, `bash -c 'x'`.

use super::Argv;

/// A wrapper: its words, the options that take a value, and how many words of its own follow the options.
struct Wrapper {
    words: &'static [&'static str],
    valued: &'static [&'static str],
    own: usize,
}

const fn wrapper(
    words: &'static [&'static str],
    valued: &'static [&'static str],
    own: usize,
) -> Wrapper {
    Wrapper { words, valued, own }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper(&["env"], &["-u", "-C", "--unset", "--chdir"], 0),
    wrapper(&["sudo"], &["-u", "-g", "-C", "-D"], 0),
    wrapper(&["doas"], &["-u"], 0),
    wrapper(&["timeout"], &["-k", "-s", "--kill-after", "--signal"], 1),
    wrapper(&["gtimeout"], &["-k", "-s"], 1),
    wrapper(&["time"], &["-f", "-o"], 0),
    wrapper(&["nice"], &["-n"], 0),
    wrapper(&["ionice"], &["-c", "-n"], 0),
    wrapper(&["nohup"], &[], 0),
    wrapper(&["setsid"], &[], 0),
    wrapper(&["stdbuf"], &["-o", "-e", "-i"], 0),
    wrapper(&["unbuffer"], &[], 0),
    wrapper(&["chronic"], &[], 0),
    wrapper(&["builtin"], &[], 0),
    wrapper(&["exec"], &["-a"], 0),
    wrapper(&["busybox"], &[], 0),
    wrapper(&["xvfb-run"], &["-s", "-n", "--server-args"], 0),
    wrapper(&["valgrind"], &[], 0),
    wrapper(&["strace"], &["-e", "-o", "-p", "-s"], 0),
    wrapper(&["cross-env"], &[], 0),
    wrapper(&["dotenv"], &["-e", "-f"], 0),
    wrapper(&["direnv", "exec"], &[], 1),
    wrapper(&["mise", "exec"], &[], 0),
    wrapper(&["mise", "x"], &[], 0),
    wrapper(
        &["xargs"],
        &["-n", "-I", "-P", "-L", "-d", "-a", "-s", "-E"],
        0,
    ),
    wrapper(&["npx"], &["-p", "--package", "-w", "--workspace"], 0),
    wrapper(&["bunx"], &[], 0),
    wrapper(&["pnpx"], &[], 0),
    wrapper(&["npm", "exec"], &["-w", "--workspace", "--package"], 0),
    wrapper(&["pnpm", "exec"], &[], 0),
    wrapper(&["pnpm", "dlx"], &[], 0),
    wrapper(&["yarn", "exec"], &[], 0),
    wrapper(&["yarn", "dlx"], &[], 0),
    wrapper(&["poetry", "run"], &[], 0),
    wrapper(&["pipenv", "run"], &[], 0),
    wrapper(&["pdm", "run"], &["-p"], 0),
    wrapper(&["hatch", "run"], &[], 0),
    wrapper(&["rye", "run"], &[], 0),
    wrapper(
        &["uv", "run"],
        &[
            "--with",
            "--group",
            "--extra",
            "--python",
            "-p",
            "--project",
            "--package",
            "--directory",
        ],
        0,
    ),
    wrapper(&["uvx"], &["--from", "--with", "--python"], 0),
    wrapper(&["pipx", "run"], &["--spec"], 0),
    wrapper(&["conda", "run"], &["-n", "-p", "--name", "--prefix"], 0),
    wrapper(&["bundle", "exec"], &[], 0),
    wrapper(
        &["docker", "exec"],
        &["-e", "-u", "-w", "--env", "--user", "--workdir"],
        1,
    ),
    wrapper(
        &["podman", "exec"],
        &["-e", "-u", "-w", "--env", "--user", "--workdir"],
        1,
    ),
    wrapper(
        &["docker", "compose", "exec"],
        &["-e", "-u", "-w", "--env", "--user", "--workdir", "--index"],
        1,
    ),
    wrapper(
        &["docker", "compose", "run"],
        &[
            "-e",
            "-u",
            "-w",
            "--env",
            "--user",
            "--workdir",
            "--name",
            "-v",
            "-p",
        ],
        1,
    ),
    wrapper(
        &["docker-compose", "exec"],
        &["-e", "-u", "-w", "--env", "--user"],
        1,
    ),
    wrapper(
        &["docker-compose", "run"],
        &["-e", "-u", "-w", "--env", "--user", "--name", "-v"],
        1,
    ),
    wrapper(&["nix", "develop"], &[], 0),
];

pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The command inside its wrappers. A wrapper without a command stays as it is.
pub(super) fn unwrapped(mut argv: Argv) -> Argv {
    for _ in 0..8 {
        let Some(inside) = once(&argv) else { break };
        argv = inside;
    }
    argv
}

fn once(argv: &[String]) -> Option<Argv> {
    let program = argv.first()?.rsplit('/').next()?;
    if program == "command" {
        return argv
            .get(1)
            .filter(|word| !word.starts_with('-'))
            .map(|_| argv[1..].to_vec());
    }
    let named = |wrapper: &&Wrapper| {
        wrapper.words[0] == program
            && wrapper
                .words
                .iter()
                .skip(1)
                .zip(argv.iter().skip(1))
                .filter(|(a, b)| *a == b)
                .count()
                == wrapper.words.len() - 1
    };
    let wrapper = WRAPPERS.iter().find(named)?;
    let mut rest = argv[wrapper.words.len()..].iter().peekable();
    while let Some(word) = rest.peek().map(|word| word.as_str()) {
        if word == "--" {
            rest.next();
            break;
        }
        if matches!(word, "-c" | "--command") && program == "nix" {
            rest.next();
            break;
        }
        if !(word.starts_with('-') || is_assignment(word)) {
            break;
        }
        rest.next();
        if wrapper.valued.contains(&word) {
            rest.next();
        }
    }
    let inside: Argv = rest
        .skip(wrapper.own)
        .skip_while(|word| is_assignment(word))
        .cloned()
        .collect();
    (!inside.is_empty()).then_some(inside)
}

/// The line that `bash -c LINE`, `eval LINE` and their like run.
pub(super) fn inner_line(argv: &[String]) -> Option<String> {
    let program = argv.first()?.rsplit('/').next()?;
    match program {
        "bash" | "sh" | "zsh" | "dash" | "ksh" | "ash" | "su" => {
            let at = argv.iter().skip(1).position(|word| {
                word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
            })?;
            argv.get(at + 2).cloned()
        }
        "nix-shell" => argv
            .get(argv.iter().position(|word| word == "--run")? + 1)
            .cloned(),
        "eval" => Some(argv[1..].join(" ")),
        _ => None,
    }
}
