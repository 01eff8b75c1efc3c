#!/bin/sh
# Builds Arkaint and installs it for one user: programs, manual pages, completions. Needs Rust and git; no sudo, no rc files.
set -eu

usage() {
    cat <<'TEXT'
usage: ./install.sh [--prefix DIR] [--from DIR] [--demo]
       ./install.sh [--prefix DIR] --uninstall

  --prefix DIR   install below DIR (default: ~/.local)
  --from DIR     install the programs in DIR instead of building them
  --demo         then show a whole cycle in a throw-away repository
  --uninstall    remove exactly what was installed there
  --help         this text
TEXT
}

# One line for the cause, one for what to do.
fail() {
    printf 'install: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

say() {
    printf '%s\n' "$*"
}

have() {
    command -v "$1" >/dev/null 2>&1
}

prefix='' from='' demo=no uninstall=no
while [ $# -gt 0 ]; do
    case $1 in
    --prefix=?*) prefix=${1#--prefix=} ;;
    --from=?*) from=${1#--from=} ;;
    --prefix | --from)
        [ -n "${2:-}" ] || fail "$1 needs a folder" "./install.sh --help"
        if [ "$1" = --prefix ]; then prefix=$2; else from=$2; fi
        shift ;;
    --demo) demo=yes ;;
    --uninstall) uninstall=yes ;;
    -h | --help) usage; exit 0 ;;
    *) fail "unknown option: $1" "./install.sh --help" ;;
    esac
    shift
done

if [ -z "$prefix" ]; then
    [ -n "${HOME:-}" ] || fail "HOME is not set" "./install.sh --prefix DIR"
    # A root who has another's HOME (sudo) would leave files there that their owner cannot remove.
    if [ "$(id -u)" -eq 0 ] && [ -z "$(find "$HOME" -prune -user 0 2>/dev/null || :)" ]; then
        fail "running as root in $HOME, which is not root's" "run it without sudo, or: ./install.sh --prefix /usr/local"
    fi
    prefix=$HOME/.local
fi
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
prefix=${prefix%/}

umask 022
source=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
manifest=share/git-arkaint/manifest

# The manifest has a line for each file ("f PATH") and for each folder that was made for them ("d PATH"), below the prefix.
listed() {
    if [ -f "$prefix/$manifest" ]; then
        # Only what an installer of ours can have written: relative, inside the prefix.
        sed -n "s/^$1 \\([A-Za-z0-9_][A-Za-z0-9_./-]*\\)\$/\\1/p" "$prefix/$manifest" | grep -v '\.\.' || :
    fi
}

if [ "$uninstall" = yes ]; then
    [ "$demo" = no ] || fail "--demo and --uninstall exclude each other" "./install.sh --help"
    if [ ! -f "$prefix/$manifest" ]; then
        say "nothing of Arkaint is installed below $prefix"
        exit 0
    fi
    listed f | while read -r file; do
        rm -f "$prefix/$file"
    done
    folders=$(listed d)
    made=no
    ! grep -qx 'd \.' "$prefix/$manifest" || made=yes
    rm -f "$prefix/$manifest"
    # Deepest first; one that holds anything else stays.
    say "$folders" | sort -r | while read -r folder; do
        rmdir "$prefix/$folder" 2>/dev/null || :
    done
    [ "$made" = no ] || rmdir "$prefix" 2>/dev/null || :
    say "removed Arkaint from $prefix; repositories, their hooks and ledgers are as they were"
    exit 0
fi

have git || fail "git was not found" "install git, then run ./install.sh again"
work=$(mktemp -d)
new=$work/new
trap 'rm -rf "$work" "$new"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Linked statically where the C library allows it, and for one address: such a program starts in a fraction of the time. Half of what a hook
# of ours would take else is libraries to find and 20,000 pointers to move.
build() {
    rust="Rust $(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$source/Cargo.toml") or newer"
    if ! have cargo || ! have rustc; then
        fail "cargo was not found" "install $rust, then run ./install.sh again"
    fi
    host=$(rustc -vV | sed -n 's/^host: //p')
    static='-C target-feature=+crt-static -C relocation-model=static'
    # Else the standard library does not find it there, and every start of a git copies our page tables.
    static="$static -C link-arg=-Wl,-u,posix_spawn_file_actions_addchdir_np"
    case $host in
    *-linux-gnu*)
        say 'fn main() {}' >"$work/probe.rs"
        # shellcheck disable=SC2086 # many words
        if ! rustc $static --target "$host" -o "$work/probe" "$work/probe.rs" >/dev/null 2>&1; then
            static=''
            say "note: no static C library here, linking dynamically"
        fi ;;
    *) static='' ;;
    esac
    target=${CARGO_TARGET_DIR:-$source/target}
    say "building (a few minutes the first time)"
    RUSTFLAGS="${RUSTFLAGS:-}${static:+ $static}" cargo build --manifest-path "$source/Cargo.toml" \
        --release --locked --bins --target "$host" --target-dir "$target" </dev/null ||
        fail "the build failed; nothing was installed" "see the lines above; it needs $rust, here is $(rustc --version)"
    from=$target/$host/release
}
[ -n "$from" ] || build

# Everything is laid out first, in the shape that it will have below the prefix.
stage=$work/stage
mkdir -p "$stage/bin" "$stage/share/bash-completion/completions" "$stage/share/zsh/site-functions" "$stage/share/fish/vendor_conf.d"
for program in git-arkaint git-arkaint-checkpoint git-arkaint-boot git-arkaint-cycle; do
    [ -f "$from/$program" ] || fail "$from/$program is not there; nothing was installed" "cargo build --release"
    cp "$from/$program" "$stage/bin/$program"
done
arkaint=$stage/bin/git-arkaint
"$arkaint" man -q --install "$stage/share/man"
"$arkaint" completions bash >"$stage/share/bash-completion/completions/git-arkaint"
"$arkaint" completions zsh >"$stage/share/zsh/site-functions/_git-arkaint"
"$arkaint" completions fish >"$stage/share/fish/vendor_conf.d/git-arkaint.fish"
(cd "$stage" && find . -type f | sed 's/^\.\///' | sort) >"$work/files"

# A file of the same name that is not ours is someone's: it is not overwritten.
listed f >"$work/before"
while read -r file; do
    if [ -e "$prefix/$file" ] && ! grep -qxF "$file" "$work/before"; then
        fail "$prefix/$file is there and was not installed by this script; nothing was installed" "move it away, or choose another --prefix"
    fi
done <"$work/files"

# Folders that are not there yet are ours to remove again, with those of an earlier installation.
{ listed d; { sed 's/^/.\//' "$work/files"; say "./$manifest"; } | while read -r file; do
    folder=${file%/*}
    while [ "$folder" != . ]; do
        [ -d "$prefix/$folder" ] || say "${folder#./}"
        folder=${folder%/*}
    done
done; } | sort -u >"$work/folders"

put() { # FROM TO MODE: whole or not at all
    new=$prefix/$2.new.$$
    if ! { mkdir -p "${new%/*}" && cp "$1" "$new" && chmod "$3" "$new" && mv -f "$new" "$prefix/$2"; }; then
        fail "writing $prefix/$2" "./install.sh --prefix DIR, with a DIR that you may write to"
    fi
}

{ sed 's/^/f /' "$work/files"; sed 's/^/d /' "$work/folders"; } >"$work/manifest"
if [ ! -d "$prefix" ] || grep -qx 'd \.' "$prefix/$manifest" 2>/dev/null; then
    say 'd .' >>"$work/manifest"
fi
# The list comes first, together with that of an older version, so that an installation that is cut short can be removed too.
{ cat "$work/manifest"; sed 's/^/f /' "$work/before"; } | sort -u >"$work/both"
put "$work/both" "$manifest" 644
while read -r file; do
    mode=644
    case $file in bin/*) mode=755 ;; esac
    put "$stage/$file" "$file" "$mode"
done <"$work/files"
# What an older version brought and this one does not.
grep -vxFf "$work/files" "$work/before" | while read -r file; do
    rm -f "$prefix/$file"
done
put "$work/manifest" "$manifest" 644

say "installed $("$prefix/bin/git-arkaint" --version) below $prefix"
case :$PATH: in
*":$prefix/bin:"*)
    found=$(command -v git-arkaint || :)
    if [ "$found" != "$prefix/bin/git-arkaint" ]; then
        say "note: another git-arkaint comes first on PATH: $found"
    elif ! git arkaint --version >/dev/null; then
        fail "git does not run git-arkaint" "git arkaint --version"
    fi ;;
*)
    say "to have git find it, put this line into your shell's start-up file:"
    say "  export PATH=\"$prefix/bin:\$PATH\""
    PATH=$prefix/bin:$PATH
    export PATH ;;
esac
if have man && [ "$(man -w git-arkaint 2>/dev/null || :)" != "$prefix/share/man/man1/git-arkaint.1" ]; then
    say "note: man does not find the pages, so git arkaint --help will not; MANPATH must name $prefix/share/man"
fi

if [ "$demo" = yes ]; then
    say ""
    rm -rf "$work"
    trap - EXIT
    exec "$prefix/bin/git-arkaint" demo
fi
