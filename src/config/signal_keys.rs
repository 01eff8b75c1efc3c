//! The rows of the list of keys that are about what is watched and how long things are kept: `[drift]`, `[retention]`. As `keys`, of which
//! it is a part, it reads nothing.

use super::keys::{Fallback, Table, key, table};
use super::value::Kind;

use Fallback::{Is, Unset};

pub(super) const DRIFT: Table = table(
    "drift",
    "Context drift: does what a run did still look like its task?",
    &[
        key(
            "threshold",
            Kind::Score,
            Is("0.84"),
            "Scores below it are recorded as drift: how far the run's likeness to its task lies above that of other work here.",
            |c, _| &mut c.drift.threshold,
        ),
        key(
            "command",
            Kind::Argv,
            Unset {
                example: r#"["python3", "scripts/embed.py"]"#,
                means: "the built-in measure, which needs no model",
            },
            "An embedding model: reads JSON lines {\"text\": ...}, writes a JSON array of numbers for each.",
            |c, _| &mut c.drift.command,
        ),
        key(
            "url",
            Kind::Text,
            Unset {
                example: r#""http://127.0.0.1:8080/embed""#,
                means: "drift.command, if that is set",
            },
            "A service that does the same: the JSON lines are posted there by curl.",
            |c, _| &mut c.drift.url,
        ),
    ],
);

pub(super) const RETENTION: Table = table(
    "retention",
    "What is kept of runs and of rolled-back work. The newest archive always stays.",
    &[
        key(
            "runs",
            Kind::Count(1, 100_000),
            Is("20"),
            "Runs kept under .arkaint/runs/.",
            |c, _| &mut c.retention.runs,
        ),
        key(
            "discards",
            Kind::Count(1, 100_000),
            Is("50"),
            "Archives of discarded work.",
            |c, _| &mut c.retention.discards,
        ),
        key(
            "age",
            Kind::Duration,
            Is(r#""30d""#),
            "Age of the oldest run and archive.",
            |c, _| &mut c.retention.age,
        ),
        key(
            "bytes",
            Kind::Size(1 << 20, 1 << 50),
            Is(r#""2GiB""#),
            "Size of all runs of a worktree, and of all archives, together.",
            |c, _| &mut c.retention.bytes,
        ),
    ],
);
