//! The rows of the list of keys that are about the merge gate: `[deliver]`, `[dispatch]`, `[evidence]`, `[[dod]]`. As `keys`, of which
//! it is a part, it reads nothing.

use super::Config;
use super::dod::{Dod, DodKind};
use super::evidence::{Binding, Conflicts};
use super::keys::{Fallback, Table, key, list, table};
use super::value::Kind;

use Fallback::{Is, Unset};

pub(super) const DELIVER: Table = table(
    "deliver",
    "Where finished work goes.",
    &[key(
        "base",
        Kind::Text,
        Unset {
            example: r#""main""#,
            means: "the branch that the work was cut from, else the remote's default",
        },
        "The branch that work is judged against and merged into.",
        |c, _| &mut c.deliver.base,
    )],
);

pub(super) const DISPATCH: Table = table(
    "dispatch",
    "Work in worktrees of its own.",
    &[key(
        "setup",
        Kind::Argv,
        Unset {
            example: r#"["npm", "ci"]"#,
            means: "a fresh worktree is used as git makes it",
        },
        "A command that makes a fresh worktree usable; also for git arkaint deliver --rerun.",
        |c, _| &mut c.dispatch.setup,
    )],
);

pub(super) const EVIDENCE: Table = table(
    "evidence",
    "What a proof must be worth before it opens the merge gate. Read at the merge base.",
    &[
        key(
            "binding",
            Kind::Choice(&Binding::NAMES),
            Is(r#""dated""#),
            "How a proof is tied to the delivered commit: not at all, by its time, by the tree that it names, or by running the check again.",
            |c, _| &mut c.evidence.binding,
        ),
        key(
            "conflicts",
            Kind::Choice(&Conflicts::NAMES),
            Is(r#""warn""#),
            "An item that dod.json calls passed and verify.json failed: proven with a mark, or failed.",
            |c, _| &mut c.evidence.conflicts,
        ),
        key(
            "dod_file",
            Kind::File,
            Is(r#"".ak-loop/dod.json""#),
            "Where workers write dod.json, from the worktree's root.",
            |c, _| &mut c.evidence.dod_file,
        ),
        key(
            "max_bytes",
            Kind::Size(1 << 10, 64 << 20),
            Is(r#""1MiB""#),
            "Size of each of the three files; a larger one is invalid.",
            |c, _| &mut c.evidence.max_bytes,
        ),
    ],
);

pub(super) const DOD: Table = list(
    "dod",
    "The project's definition of done: an item each, proven for every piece of work before it is merged. Read at the merge base.",
    &[
        key(
            "id",
            Kind::Text,
            Unset {
                example: r#""tests""#,
                means: "an error",
            },
            "Its name, as a worker writes it into dod.json.",
            |c, n| &mut item(c, n).id,
        ),
        key(
            "kind",
            Kind::Choice(&DodKind::NAMES),
            Unset {
                example: r#""command""#,
                means: "an error",
            },
            "A command exits 0; the work adds or changes a file; no changed file contains a pattern.",
            |c, n| &mut item(c, n).kind,
        ),
        key(
            "description",
            Kind::Text,
            Unset {
                example: r#""what it asks for""#,
                means: "none",
            },
            "What it asks for, for people and agents.",
            |c, n| &mut item(c, n).description,
        ),
        key(
            "command",
            Kind::Argv,
            Unset {
                example: r#"["make", "test"]"#,
                means: "an error",
            },
            "The program and its arguments; no shell.",
            |c, n| &mut item(c, n).command,
        )
        .of(&["command"]),
        key(
            "glob",
            Kind::ItemGlob,
            Unset {
                example: r#""CHANGELOG.md""#,
                means: "any file of paths",
            },
            "The file: **/ is any depth, ** anything, * within a folder, every other character itself; case counts.",
            |c, n| &mut item(c, n).glob,
        )
        .of(&["file-changed"]),
        key(
            "pattern",
            Kind::Pattern,
            Unset {
                example: r"'(?:^|\W)dbg!\('",
                means: "an error",
            },
            "A regular expression of JavaScript without flags, lookaround and back-references.",
            |c, n| &mut item(c, n).pattern,
        )
        .of(&["pattern-absent"]),
        key(
            "paths",
            Kind::ItemGlobs,
            Is("[]"),
            "Globs, as glob, of the changed files that count; none given: all of them.",
            |c, n| &mut item(c, n).paths,
        )
        .of(&["file-changed", "pattern-absent"]),
    ],
);

/// The item of a place in the list, made where it is not there yet.
fn item<'a>(config: &'a mut Config, place: &str) -> &'a mut Dod {
    let at: usize = place.parse().expect("load counts the items");
    if config.dod.len() <= at {
        config.dod.resize_with(at + 1, Dod::default);
    }
    &mut config.dod[at]
}
