//! Which commands only ask or only move things about. Their status is an answer (`grep`, `test`, `git diff --exit-code`, `curl` until
//! it responds) or says that a file was not where it was looked for; it is never a failing check, however often it comes.

/// Programs of the system that read, compare, look for, wait for, or handle files and processes.
const SYSTEM: &[&str] = &[
    // The shell's own.
    ". : [ alias bg break cd command continue declare dirs disown echo exec exit export expr false fg getopts hash help history jobs \
     let local popd printenv printf pushd pwd read readonly return set shift shopt sleep test trap true type typeset ulimit umask \
     unalias unset wait whence whereis which env",
    // Reading and comparing.
    "ack ag awk b2sum b3sum base64 bat bc cat cksum cmp colordiff column comm csplit cut dc delta df diff diff3 dir du egrep eza fd \
     fdfind fgrep file find fmt fold gawk grep head hexdump iconv join jq less locate look ls mawk md5sum mlocate more nl od paste pr \
     readelf readlink realpath rev rg sdiff sed seq sha1sum sha256sum sha512sum shuf sort stat strings tac tail tr tree tsort uniq \
     vimdiff wc xxd yq zcat zgrep nm objdump ldd",
    // Handling files.
    "bzip2 chgrp chmod chown cp dd gunzip gzip install ln mkdir mkfifo mktemp mount mv patch rename rm rmdir split tar tee touch \
     truncate umount unlink unxz unzip xz zip zstd",
    // Processes, machines, networks, services.
    "arp curl date dig dmesg free fuser getconf getent groups host hostname http https id ifconfig ip journalctl kill killall last \
     launchctl loginctl lsblk lscpu lsof mongosh mysql mysqladmin nc ncat netstat nproc nslookup pg_isready pgrep pidof ping pkill \
     pkg-config ps psql redis-cli rsync scp service sftp sqlite3 ss ssh systemctl telnet timedatectl top traceroute uname uptime w \
     wait-for-it wget who whoami",
    // Version control and forges, editors, terminals.
    "clear emacs gh git glab hg info jj man nano reset screen stty svn tmux tput vi vim watch tig ed",
    // Package databases.
    "apropos apt-cache apt-mark dpkg dpkg-query rpm",
];

/// Questions among the subcommands of tools that also check: the first word that is no option. No words: all are.
const SUBCOMMANDS: &[(&str, &str)] = &[
    (
        "npm pnpm yarn bun",
        "audit bin config explain fund get help info la list ll ls outdated ping pkg prefix root search show view whoami why",
    ),
    ("pip pip3", "config freeze help index list search show"),
    (
        "cargo",
        "help info locate-project metadata owner pkgid read-manifest search tree version",
    ),
    ("go", "doc env help list version"),
    ("rustup rustc", "show which toolchain target --print"),
    (
        "docker podman",
        "container diff history image images info inspect logs network port ps search stats top version volume",
    ),
    ("docker-compose", "config images logs ls port ps"),
    (
        "kubectl oc",
        "api-resources auth cluster-info describe explain get logs top version wait",
    ),
    ("helm", "get list ls search show status version"),
    (
        "terraform tofu",
        "graph output providers show state version workspace",
    ),
    (
        "gem brew composer conda mamba poetry snap apt nix",
        "info list ls outdated search show status desc config env",
    ),
    (
        "gradle gradlew",
        "dependencies help projects properties tasks",
    ),
    ("aws az gcloud heroku flyctl vercel", ""),
];

/// Is it one of these words?
pub(super) fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// Does this command only ask or only handle things?
pub(super) fn asks(argv: &[String]) -> bool {
    let Some((path, rest)) = argv.split_first() else {
        return true;
    };
    let program = path.rsplit('/').next().unwrap_or(path);
    // `. setup.sh` runs a script.
    let system =
        SYSTEM.iter().any(|words| has(words, program)) && (program != "." || rest.is_empty());
    let about_itself = |word: &String| has("--version -V --help -h version help -version", word);
    let shows_itself = !rest.is_empty() && rest.iter().all(about_itself)
        || rest
            .last()
            .is_some_and(|word| has("--help --version", word));
    if system || shows_itself {
        return true;
    }
    let flagged = |flags: &str| rest.iter().any(|word| has(flags, word));
    let first = |words: &[String]| {
        words
            .iter()
            .find(|word| !word.starts_with(['-', '+']) || word.starts_with("--print"))
            .cloned()
    };
    match program {
        "make" | "gmake" if flagged("-q --question -n --dry-run") => true,
        "terraform" | "tofu" if flagged("-detailed-exitcode") => true,
        "docker" | "podman" if rest.first().is_some_and(|word| word == "compose") => {
            first(&rest[1..]).is_some_and(|sub| has("config images logs ls port ps", &sub))
        }
        _ => {
            let asked = |(_, subs): &(&str, &str)| {
                subs.is_empty() || first(rest).is_some_and(|sub| has(subs, &sub))
            };
            SUBCOMMANDS
                .iter()
                .filter(|(programs, _)| has(programs, program))
                .any(asked)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> bool {
        asks(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn questions_are_told_from_checks() {
        for line in [
            "grep -rn x .",
            "git diff --exit-code",
            "git merge-base --is-ancestor a b",
            "[ -f x ]",
            "command -v x",
            "/usr/bin/which x",
            "curl -f http://x",
            "npm ls react",
            "cargo --version",
            "pip show x",
            "docker compose ps",
            "make -q all",
            "terraform plan -detailed-exitcode",
            "go env GOPATH",
            "protoc --version",
            "cp a b",
            "cargo +nightly tree",
            "kill -0 12",
            "docker inspect x",
            "node --help",
        ] {
            assert!(asked(line), "{line}");
        }
        for line in [
            "cargo test",
            "npm test",
            "make",
            "./check.sh",
            "terraform plan",
            "go vet ./...",
            "docker build .",
            "pip install x",
            "shellcheck a.sh",
            "pytest",
            "docker compose up",
            ". ./setup.sh",
            "npm run list",
            "cargo fmt --check",
        ] {
            assert!(!asked(line), "{line}");
        }
    }
}
