//! Every shape of a repository: what a cycle needs works there whole, or is refused in one line before it has changed anything. The table
//! that this prints is the one of git-arkaint-repositories(7).

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::forge::tool_on_path;
use crate::not_run::not_run;
use crate::sandbox::{Ran, Sandbox, is_long};
use crate::stand_in::PRELUDE;
use crate::table;

/// A shape: how it is made (bash, in `$HOME/world`; `fill` makes a project in the current folder, on `arkaint/work`) and where the worktree is.
struct Shape {
    name: &'static str,
    make: &'static str,
    folder: &'static [u8],
    /// What every command of the table is called with: assignments for a shell.
    with: &'static str,
    needs: Need,
}

enum Need {
    Nothing,
    Lfs,
    Root,
    Reftable,
    /// Seen in the long run alone: it differs little from others.
    Time,
}

const fn shape(name: &'static str, make: &'static str, folder: &'static [u8]) -> Shape {
    Shape {
        name,
        make,
        folder,
        with: "",
        needs: Need::Nothing,
    }
}

const FILL: &str = r#"
fill() {
    mkdir -p src deep/er scripts; echo a >src/a; echo b >src/b; echo d >deep/er/d; echo s >scripts/build.sh
    printf '[checkpoint]\ntest = "true"\n\n[agent]\nname = "command"\ncommand = ["sh", "%s/agent.sh"]\n' "$HOME" >arkaint.toml
    git add -A; git commit -q -m base; git switch -q -c arkaint/work
}
origin() {
    git init -q o; (cd o; fill; echo more >>src/a; git commit -qam more; git config uploadpack.allowFilter true; git config uploadpack.allowAnySHA1InWant true)
}
"#;

const SHAPES: &[Shape] = &[
    shape("plain", "git init -q w; cd w; fill", b"w"),
    shape(
        "linked worktree",
        "git init -q m; cd m; fill; git switch -q main; git worktree add -q ../w arkaint/work",
        b"w",
    ),
    shape(
        "bare repository and worktree",
        "git init -q t; (cd t; fill); git clone -q --bare t b.git; git -C b.git worktree add -q ../w arkaint/work",
        b"w",
    ),
    shape(
        "separate git directory",
        "git init -q --separate-git-dir=elsewhere.git w; cd w; fill",
        b"w",
    ),
    shape(
        "submodule",
        "git init -q lib; (cd lib; fill); git init -q super; git -C super submodule --quiet add ../lib sub",
        b"super/sub",
    ),
    shape(
        "superproject with a submodule",
        "git init -q lib; (cd lib; fill; git switch -q main); git init -q w; cd w; git submodule --quiet add ../lib sub; fill",
        b"w",
    ),
    shape(
        "sparse checkout, by patterns",
        "git init -q w; cd w; fill; git sparse-checkout set --no-cone /src/ /arkaint.toml",
        b"w",
    ),
    Shape {
        needs: Need::Time,
        ..shape(
            "sparse checkout, by folders",
            "git init -q w; cd w; fill; git sparse-checkout set --cone src",
            b"w",
        )
    },
    shape(
        "sparse index",
        "git init -q w; cd w; fill; git sparse-checkout set --cone --sparse-index src",
        b"w",
    ),
    shape(
        "partial clone (blob:none)",
        "origin; git clone -q --filter=blob:none \"file://$PWD/o\" w; git -C w switch -q arkaint/work",
        b"w",
    ),
    shape(
        "partial and sparse, the remote gone",
        "origin; git clone -q --filter=blob:none --sparse \"file://$PWD/o\" w; cd w; git switch -q arkaint/work; git sparse-checkout set src; mv ../o ../gone",
        b"w",
    ),
    shape(
        "shallow clone",
        "origin; git clone -q --depth=1 \"file://$PWD/o\" w; git -C w switch -q arkaint/work",
        b"w",
    ),
    Shape {
        needs: Need::Time,
        ..shape(
            "alternates",
            "origin; git clone -q --shared o w; git -C w switch -q arkaint/work",
            b"w",
        )
    },
    shape(
        "SHA-256",
        "git init -q --object-format=sha256 w; cd w; fill",
        b"w",
    ),
    Shape {
        needs: Need::Reftable,
        ..shape(
            "reftable",
            "git init -q --ref-format=reftable w; cd w; fill",
            b"w",
        )
    },
    shape(
        "split index",
        "git init -q w; cd w; fill; git config core.splitIndex true; git update-index --split-index",
        b"w",
    ),
    shape(
        "index version 4, untracked cache",
        "git init -q w; cd w; fill; git config feature.manyFiles true; git update-index --index-version 4 --untracked-cache",
        b"w",
    ),
    shape(
        "file system monitor",
        r#"git init -q w; cd w; fill; printf '#!/bin/sh\nprintf "token\\0/\\0"\n' >~/monitor; chmod +x ~/monitor; git config core.fsmonitor ~/monitor; git status >/dev/null"#,
        b"w",
    ),
    Shape {
        needs: Need::Lfs,
        ..shape(
            "Git LFS",
            r#"git init -q w; cd w; git lfs install --local >/dev/null; git lfs track '*.bin' >/dev/null; printf '\0big' >x.bin; fill"#,
            b"w",
        )
    },
    shape(
        "line ends (core.autocrlf)",
        r"git init -q w; cd w; git config core.autocrlf true; git config core.safecrlf false; fill; printf 'one\r\ntwo\r\n' >dos.txt; git add -A; git commit -qm dos",
        b"w",
    ),
    Shape {
        needs: Need::Time,
        ..shape(
            "line ends (eol=crlf)",
            r"git init -q w; cd w; echo '*.txt text eol=crlf' >.gitattributes; fill; printf 'one\r\ntwo\r\n' >dos.txt; git add -A; git commit -qm dos",
            b"w",
        )
    },
    shape(
        "paths that are no text, or hold newlines",
        r#"git init -q w; cd w; fill; for n in 'src/\377\376' 'src/two\nlines' 'src/"q\\"'; do printf x >"$(printf "$n")"; done; git add -A; git commit -qm odd"#,
        b"w",
    ),
    shape(
        "a folder whose name is no text",
        r#"d=$(printf 'two\nlines \377'); mkdir "$d"; cd "$d"; git init -q; fill"#,
        b"two\nlines \xff",
    ),
    Shape {
        needs: Need::Root,
        ..shape(
            "another owner",
            "git init -q w; cd w; fill; chown -R 12345 .",
            b"w",
        )
    },
    Shape {
        needs: Need::Root,
        ..shape(
            "another owner, in safe.directory",
            "git init -q w; cd w; fill; chown -R 12345 .; git config --global safe.directory \"$PWD\"",
            b"w",
        )
    },
    shape(
        "an unknown extension",
        "git init -q w; cd w; fill; git config core.repositoryFormatVersion 1; git config extensions.novelty true",
        b"w",
    ),
    Shape {
        needs: Need::Time,
        ..shape(
            "configuration of each worktree",
            "git init -q w; cd w; fill; git config extensions.worktreeConfig true; git config --worktree user.name W",
            b"w",
        )
    },
    Shape {
        with: "GIT_DIR=$PWD/.git GIT_WORK_TREE=$PWD GIT_INDEX_FILE=$PWD/.git/index GIT_PREFIX=src/",
        ..shape("GIT_DIR and others set", "git init -q w; cd w; fill", b"w")
    },
    Shape {
        with: "GIT_DIR=$HOME/world/other/.git",
        ..shape(
            "GIT_DIR of another repository set",
            "git init -q other; (cd other; fill); git init -q w; cd w; fill",
            b"w",
        )
    },
    Shape {
        with: "GIT_INDEX_FILE=/nonexistent/index GIT_CEILING_DIRECTORIES=/ GIT_LITERAL_PATHSPECS=1 GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.quotePath GIT_CONFIG_VALUE_0=false",
        ..shape(
            "GIT_INDEX_FILE of something else set",
            "git init -q w; cd w; fill",
            b"w",
        )
    },
    Shape {
        needs: Need::Time,
        ..shape(
            "replaced objects, commit graph",
            "git init -q w; cd w; fill; git commit -q --allow-empty -m 2; git replace HEAD~1 $(git commit-tree -m r HEAD~1^{tree}); git commit-graph write --reachable; git gc -q; git multi-pack-index write",
            b"w",
        )
    },
    Shape {
        needs: Need::Time,
        ..shape(
            "reached by a link",
            "git init -q real; (cd real; fill); ln -s real w",
            b"w",
        )
    },
];

/// The columns: a command, and what must be true after it.
const STEPS: [(&str, &str, &str); 5] = [
    (
        "hooks",
        "git-arkaint hooks install && git-arkaint hooks status --probe",
        "echo n >>src/a; git commit -qam honest
         i=$(git rev-parse --git-path index); cp -p \"$i\" \"$i.kept\"; had=; test ! -e scripts/build.sh || had=1; mkdir -p scripts; echo n >>scripts/build.sh
         git add --sparse scripts; (! git commit -qm x 2>/dev/null); mv \"$i.kept\" \"$i\"; if test $had; then sed -i '$d' scripts/build.sh; else rm -r scripts; fi",
    ),
    (
        "checkpoint",
        "echo more >>src/b; git-arkaint checkpoint --task first",
        "test -z \"$(git status --porcelain)\"; test \"$(git log -1 --format='%(trailers:key=Arkaint-Status,valueonly)')\" = stable",
    ),
    ("packet", "git-arkaint packet x", ""),
    (
        "cycle",
        "git-arkaint cycle 'make work.txt and deep/new'",
        "test -z \"$(git status --porcelain)\"; test \"$(git show HEAD:work.txt)\" = work; test \"$(git show HEAD:deep/new)\" = new",
    ),
    (
        "rollback",
        "echo junk >junk; echo n >>src/a; rm -f src/b; git-arkaint rollback",
        "test ! -e junk; test -e src/b; test -z \"$(git status --porcelain)\"
         id=$(git-arkaint discarded list --json | grep -o '\"id\":\"[^\"]*' | head -n 1); id=${id#*:?}; git-arkaint discarded restore \"$id\"; test \"$(cat junk)\" = junk; git-arkaint log --verify",
    ),
];

struct World {
    sandbox: Sandbox,
    folder: PathBuf,
}

impl World {
    fn new(shape: &Shape) -> Self {
        let sandbox = Sandbox::new();
        sandbox.agent(&format!(
            "{PRELUDE}\necho work >work.txt; mkdir -p deep; echo new >deep/new; finish done"
        ));
        sandbox.git(["config", "--global", "protocol.file.allow", "always"]);
        let world = sandbox.home().join("world");
        fs::create_dir(&world).unwrap();
        let made = run(&sandbox, &world, &format!("{FILL}\n{}", shape.make));
        assert_eq!(made.code, Some(0), "{}: {}", shape.name, made.stderr);
        let folder = world.join(OsString::from_vec(shape.folder.to_vec()));
        Self { sandbox, folder }
    }
}

fn run(sandbox: &Sandbox, folder: &Path, script: &str) -> Ran {
    let mut bash = sandbox.command("bash");
    bash.args(["-euc", script]).current_dir(folder);
    bash.output().unwrap().into()
}

/// Each cell of a row: `works`, or `refused`; anything else fails.
fn row(shape: &Shape) -> Vec<&'static str> {
    let world = World::new(shape);
    let (sandbox, folder) = (&world.sandbox, &world.folder);
    let mut cells = Vec::new();
    for (column, command, holds) in STEPS {
        let what = format!("{column} in {}", shape.name);
        let ran = run(
            sandbox,
            folder,
            &format!("export X= {}\n{command}", shape.with),
        );
        if ran.code == Some(2) {
            // `git` is not in between, so that every line is ours.
            let lines: Vec<_> = ran.stderr.lines().collect();
            assert!(
                matches!(lines.as_slice(), [cause, hint] if cause.starts_with("arkaint: ") && hint.starts_with("hint: ")),
                "{what}: {}",
                ran.stderr
            );
            cells.push("refused");
            continue;
        }
        assert_eq!(ran.code, Some(0), "{what}: {}{}", ran.stdout, ran.stderr);
        let held = run(sandbox, folder, &format!("set -x\n{holds}"));
        assert_eq!(
            held.code,
            Some(0),
            "after {what}: {}{}",
            held.stdout,
            held.stderr
        );
        cells.push("works");
    }
    cells
}

impl Shape {
    fn is_here(&self) -> bool {
        let lack = match self.needs {
            Need::Nothing => return true,
            Need::Time => return is_long(),
            Need::Lfs => tool_on_path("ARKAINT_TEST_GIT_LFS", "git-lfs")
                .is_none()
                .then_some("git-lfs"),
            Need::Root => {
                let id = Sandbox::new().sh("id -u");
                (id.trim() != "0").then_some("root")
            }
            Need::Reftable => {
                let sandbox = Sandbox::new();
                let made = sandbox.try_git(["init", "-q", "--ref-format=reftable", "x"]);
                (made.code != Some(0)).then_some("reftable")
            }
        };
        if let Some(lack) = lack {
            not_run(&format!("shapes: {}", self.name), lack);
        }
        lack.is_none()
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the table, for `--nocapture`")]
fn each_shape_works_whole_or_is_refused_as_the_manual_says() {
    let shapes: Vec<&Shape> = SHAPES.iter().filter(|shape| shape.is_here()).collect();
    let rows: Vec<Vec<String>> = table::each(&shapes, |shape| {
        let cells = row(shape).into_iter();
        let name = std::iter::once(shape.name);
        name.chain(cells).map(str::to_owned).collect()
    });
    for row in &rows {
        let cells: String = row[1..].iter().map(|cell| format!("{cell:<12}")).collect();
        println!("{:<42}{cells}", row[0]);
    }
    let names: Vec<&str> = SHAPES.iter().map(|shape| shape.name).collect();
    table::assert_told("git-arkaint-repositories", &names, &rows);
}

/// What a sparse checkout leaves out can be written all the same: it is judged, put back, archived and undone as anything else.
#[test]
fn what_is_written_outside_of_a_sparse_checkout_is_seen() {
    let sparse = SHAPES.iter().find(|shape| shape.name == "sparse index");
    let world = World::new(sparse.unwrap());
    let (sandbox, folder) = (&world.sandbox, &world.folder);
    sandbox.agent(&format!(
        "{PRELUDE}\necho work >work.txt; [ $launch = 1 ] && {{ mkdir -p scripts; echo evil >scripts/build.sh; }}; finish done"
    ));
    let ran = run(sandbox, folder, "git-arkaint cycle 'make work.txt'").expect(0);
    assert!(
        ran.stderr
            .contains("protected paths were changed and put back: scripts/build.sh"),
        "{}",
        ran.stderr
    );
    run(sandbox, folder, "test \"$(git show HEAD:scripts/build.sh)\" = s; mkdir -p deep/er; echo mine >deep/er/d; git-arkaint rollback
        test -z \"$(git status --porcelain)\"; a=$(git for-each-ref --format='%(refname)' refs/arkaint/discarded | while read -r r; do git show $r:deep/er/d; done); grep -qx mine <<<\"$a\"").expect(0);
}

/// What is not committed inside a submodule is nothing that the superproject could commit; the checks saw it, so it is said.
#[test]
fn changes_inside_a_submodule_are_named() {
    let shape = SHAPES
        .iter()
        .find(|shape| shape.name == "superproject with a submodule");
    let world = World::new(shape.unwrap());
    let (sandbox, folder) = (&world.sandbox, &world.folder);
    let ran = run(
        sandbox,
        folder,
        "echo n >>sub/src/a; echo n >>src/a; git-arkaint checkpoint --task x",
    )
    .expect(0);
    assert!(
        ran.stderr
            .contains("left out: what changed inside the submodule sub,"),
        "{}",
        ran.stderr
    );
    let ran = run(sandbox, folder, "git -C sub commit -qam inside; git-arkaint checkpoint --task y; test -z \"$(git status --porcelain)\"").expect(0);
    assert!(!ran.stderr.contains("left out"), "{}", ran.stderr);
}
