//! Files that a `reset --hard` and `clean -fd` would lose or miss.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use super::{REFUSED, Row, broken, refs, row, said, table};
use crate::files::{contents, differing, lost};
use crate::sandbox::Sandbox;

/// THREATS 2c: what an agent leaves that `git reset --hard; git clean -fd` loses, misses or trips over.
/// For root no file is unreadable, and such a row is an ordinary one.
fn unreadable(attack: &'static str, plant: &'static str) -> Row {
    let file = tempfile::tempfile().unwrap();
    if file.metadata().unwrap().uid() == 0 {
        return row(attack, plant, "");
    }
    Row {
        code: REFUSED,
        ..row(attack, plant, "permission denied")
    }
}

#[test]
fn every_shape_that_is_left_is_archived_and_undone_or_refused_by_name() {
    let rows = [
        row(
            "core.worktree set to another folder",
            "mkdir \"$HOME/other\"; echo precious >\"$HOME/other/src\"; git config core.worktree \"$HOME/other\"",
            "",
        ),
        row(
            "a nested repository with commits",
            "git init -q n; echo a >n/a; git -C n add a; git -C n commit -qm a; echo b >n/b",
            "",
        ),
        row(
            "a nested repository without a commit",
            "git init -q n; echo a >n/a",
            "",
        ),
        row(
            "a nested repository committed as a link",
            "git init -q n; echo a >n/a; git -C n add a; git -C n commit -qm a; git add n 2>/dev/null; git commit -qm link; echo b >n/b",
            "",
        ),
        row(
            "a submodule added",
            "git init -q \"$HOME/up\"; git -C \"$HOME/up\" commit -q --allow-empty -m u; git -c protocol.file.allow=always submodule --quiet add \"$HOME/up\" sm; echo x >sm/x",
            "",
        ),
        row(
            "a folder whose .gitignore is *",
            "mkdir self; echo '*' >self/.gitignore; echo h >self/h",
            "",
        ),
        row(
            "info/exclude and core.excludesFile of *",
            "echo '*' >.git/info/exclude; echo x >x.log",
            "",
        ),
        row(
            "a tracked .gitignore widened",
            "printf 'build/\\n*.log\\ndata/\\n*.txt\\n' >.gitignore; mkdir data; echo d >data/d; echo t >t.txt; echo c >>src/lib.txt",
            "",
        ),
        row(
            "a read-only folder",
            "mkdir ro; echo r >ro/r; chmod 555 ro; echo s >>sub/inner.txt; chmod 555 sub",
            "",
        ),
        unreadable(
            "an unreadable file",
            "echo u >u; chmod 000 u; chmod 000 src/lib.txt",
        ),
        unreadable(
            "an unreadable folder",
            "mkdir un; echo u >un/u; chmod 000 un",
        ),
        row("a FIFO", "mkfifo pipe; echo x >x", "pipe"),
        row(
            "a socket",
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'; echo x >x",
            "sock",
        ),
        row(
            "a tracked file replaced by a FIFO",
            "rm src/lib.txt; mkfifo src/lib.txt",
            "src/lib.txt",
        ),
        row(
            "a tracked folder replaced by a link to outside",
            "mkdir \"$HOME/out\"; echo precious >\"$HOME/out/inner.txt\"; rm -r sub; ln -s \"$HOME/out\" sub",
            "",
        ),
        row(
            "a tracked file replaced by a hard link to outside",
            "echo precious >\"$HOME/out.txt\"; ln -f \"$HOME/out.txt\" src/lib.txt",
            "",
        ),
        Row {
            code: REFUSED,
            holds: "test \"$(find . -name deep -execdir cat {} + | wc -c)\" = 4",
            ..row(
                "sixty nested long names",
                "python3 -c 'import os\nfor i in range(60):\n n=\"n\"*200\n os.mkdir(n)\n os.chdir(n)\nopen(\"deep\",\"w\").write(\"deep\")'",
                "too long",
            )
        },
        row(
            "ignored files",
            "mkdir build; echo o >build/o; echo secret >a.log",
            "",
        ),
        row(
            "modes and kinds",
            "chmod +x src/lib.txt; rm tool.sh; ln -s src/lib.txt tool.sh; rm -r sub; echo file >sub",
            "",
        ),
        row("a case pair", "echo one >Tool.sh; echo two >TOOL.SH", ""),
        row(
            "names of every kind",
            "printf x >\"$(printf 'a\\nb')\"; printf x >'  spaced '; printf x >':(top)pathspec'; printf x >\"$(printf '\\303\\050')\"; printf x >-dash; printf x >'q\"uote'",
            "",
        ),
        row(
            "skip-worktree and assume-unchanged",
            "echo s >src/lib.txt; git update-index --skip-worktree src/lib.txt; echo a >tool.sh; git update-index --assume-unchanged tool.sh",
            "",
        ),
        row(
            "the same size and time",
            "touch -r src/lib.txt t; printf 'eno\\nowt\\n' >src/lib.txt; touch -r t src/lib.txt; rm t; git config core.trustctime false; git config core.checkStat minimal",
            "",
        ),
        row(
            "line ends changed, and attributes that hide it",
            "printf 'one\\r\\ntwo\\r\\n' >src/lib.txt; echo '* text=auto' >.gitattributes",
            "",
        ),
        Row {
            code: REFUSED,
            ..row(
                "a blob of the stable tree removed",
                "b=$(git rev-parse HEAD:src/lib.txt); rm -f .git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-); echo c >src/lib.txt",
                "nothing was rolled back",
            )
        },
        Row {
            code: REFUSED,
            ..row(
                "a blob of the stable tree corrupted",
                "b=$(git rev-parse HEAD:src/lib.txt); f=.git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-); chmod +w $f; printf garbage >$f; echo c >src/lib.txt",
                "nothing was rolled back",
            )
        },
        Row {
            code: REFUSED,
            ..row(
                "a tree of the stable commit removed",
                "b=$(git rev-parse HEAD:src); rm -f .git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-); echo c >src/lib.txt",
                "nothing was rolled back",
            )
        },
        row(
            "everything deleted",
            "git ls-files -z | grep -zv arkaint.toml | xargs -0 rm",
            "",
        ),
        row(
            "everything staged and stashed",
            "echo st >st; echo c >>src/lib.txt; git add -A; git stash -q; echo after >after",
            "",
        ),
    ];
    let (mut told, mut bad) = (Vec::new(), Vec::new());
    for row in &rows {
        let Row {
            attack,
            plant,
            said: word,
            ..
        } = row;
        let sandbox = Sandbox::stable();
        let stable = contents(&sandbox.repo);
        let script = sandbox.home().join("plant.sh");
        fs::write(&script, plant).unwrap();
        let planted = sandbox
            .command("sh")
            .arg("-e")
            .arg(&script)
            .output()
            .unwrap();
        assert!(
            planted.status.success(),
            "{attack}: {}",
            String::from_utf8_lossy(&planted.stderr)
        );
        let before = contents(&sandbox.repo);
        let refs_before = refs(&sandbox);
        let ran = sandbox.arkaint(["rollback"]);
        let mut wrong = |what: String| bad.push(format!("{attack}: {what}\n{}", ran.stderr));
        if !ran.stderr.contains(word) {
            wrong(format!("nothing of {word}"));
        }
        if ran.code != Some(row.code) {
            wrong(format!("exit {:?}", ran.code));
        }
        if let Some(what) = broken(&sandbox, row, "") {
            wrong(what);
        }
        let happened = if row.code == REFUSED {
            let changed = differing(&contents(&sandbox.repo), &before);
            // An archive more is no harm.
            let now = refs(&sandbox);
            let moved = refs_before
                .iter()
                .any(|(name, to)| now.get(name) != Some(to));
            if !changed.is_empty() || moved {
                wrong(format!(
                    "a refusal that changed something: {changed:?} {now:?}"
                ));
            }
            "refused, nothing touched"
        } else {
            for path in lost(&sandbox, &before) {
                wrong(format!("lost {}", path.display()));
            }
            let mut now = contents(&sandbox.repo);
            // Ignored by the stable rules, and repositories that were there before: they stay.
            now.retain(|path, _| {
                let is_log = path.extension().is_some_and(|e| e == "log");
                !is_log && !path.starts_with("n") && !path.starts_with("sm")
            });
            let changed = differing(&now, &stable);
            if !changed.is_empty() {
                wrong(format!("not the stable files: {changed:?}"));
            }
            "archived and undone"
        };
        for (file, content) in [
            ("other/src", "precious\n"),
            ("out/inner.txt", "precious\n"),
            ("out.txt", "precious\n"),
        ] {
            let file = sandbox.home().join(file);
            if file.exists() && fs::read_to_string(&file).unwrap() != content {
                wrong(format!("{} was touched", file.display()));
            }
        }
        told.push(((*attack).to_owned(), happened.to_owned(), said(&ran, word)));
        sandbox.sh("chmod -R u+rwX . 2>/dev/null || true");
    }
    table("what is left in the worktree", &told);
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
