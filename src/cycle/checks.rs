//! The project's own word on a state: stage what is on disk, run tests and spec check, look again. It commits nothing.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::archive::rollback;
use crate::config::{CommandLine, TestCommand};
use crate::exit::{Exit, Refusal};
use crate::gate::Pass;
use crate::git::{Content, Oid, has_checksum};
use crate::journal;
use crate::judge::check::{self, Check, CheckKind, CheckRun};
use crate::judge::{Signature, signature};
use crate::text;
use crate::ui::{Tone, Ui};

/// What the checks said of one content tree.
#[derive(Debug)]
pub(crate) struct Checked {
    pub content: Content,
    pub verdict: Verdict,
}

/// The answer of the checks.
#[derive(Debug)]
pub(crate) enum Verdict {
    Green,
    /// The project declares that it has no tests; a spec check, if any, passed.
    Untested,
    Red(Vec<Red>),
    /// Red, then green on the same tree.
    Flaky(Vec<Red>),
    /// The test command ran no test: its runner says so.
    RanNothing(String),
    /// Files changed while the checks ran, twice.
    Moved(Vec<String>),
}

/// One check that failed.
#[derive(Debug)]
pub(crate) struct Red {
    pub run: CheckRun,
    /// Why it failed, a signature a cause.
    pub signatures: Vec<Signature>,
}

impl Red {
    fn of(run: CheckRun, command: &str) -> Self {
        let signatures = signature::from_output(Some(command), &run.output);
        Self { run, signatures }
    }

    /// `tests failed (exit 101): the_test`.
    pub(crate) fn line(&self) -> String {
        let mut labels: Vec<&str> = self
            .signatures
            .iter()
            .map(|s| s.label.as_str())
            .filter(|l| !l.is_empty())
            .collect();
        labels.dedup();
        let shown = labels
            .iter()
            .take(3)
            .copied()
            .collect::<Vec<_>>()
            .join(", ");
        let more = if labels.len() > 3 {
            format!(" and {} more", labels.len() - 3)
        } else {
            String::new()
        };
        let names = if shown.is_empty() {
            String::new()
        } else {
            format!(": {shown}{more}")
        };
        text::visible_line(&format!(
            "{} failed ({}){names}",
            plural(self.run.kind),
            self.run.how
        ))
    }
}

/// A command of the operator's, on one line.
pub(crate) fn shown(command: &CommandLine) -> String {
    match command {
        CommandLine::Bash(script) => text::visible_line(script),
        CommandLine::Argv(argv) => text::visible_line(&argv.join(" ")),
    }
}

/// The check's word in records.
pub(crate) fn name(kind: CheckKind) -> &'static str {
    match kind {
        CheckKind::Test => "test",
        CheckKind::Spec => "spec",
        CheckKind::Setup => "setup",
    }
}

/// The check's word in sentences.
fn plural(kind: CheckKind) -> &'static str {
    match kind {
        CheckKind::Test => "tests",
        CheckKind::Spec => "spec check",
        CheckKind::Setup => "setup",
    }
}

/// How thorough to be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Care {
    /// Run a red check once more on the same tree: green then means flaky.
    pub twice: bool,
    /// Go on to the spec check when the tests are red, to gather all findings.
    pub all: bool,
}

/// The private index in which a checkpoint is staged.
pub(crate) fn index(pass: &Pass) -> PathBuf {
    // One for each process: a git that outlived a killed one may still write into the other.
    let name = format!("checkpoint.{}.index", std::process::id());
    pass.worktree.state_dir().join(name)
}

/// Runs the checks on what is on disk. `known_green`: a tree that was green already in this cycle, which need not be tested again.
pub(crate) fn run(pass: &Pass, care: Care, known_green: Option<Oid>, ui: &Ui) -> Result<Checked> {
    let index = index(pass);
    pass.worktree.git().seed(&index)?;
    let mut content = pass.worktree.git().content_tree(&index)?;
    if known_green == Some(content.tree) {
        return Ok(Checked {
            content,
            verdict: green(pass),
        });
    }
    for again in [false, true] {
        let mut reds = once(pass, care, ui)?;
        if (reds.is_empty() || care.twice) && !pass.worktree.git().is_as_staged(&index, &content)? {
            let after = pass.worktree.git().content_tree(&index)?;
            if after.tree != content.tree {
                let paths = changed(pass, content.tree, after.tree)?;
                if again {
                    return Ok(Checked {
                        content: after,
                        verdict: Verdict::Moved(paths),
                    });
                }
                ui.say(
                    Tone::Warn,
                    format!(
                        "files changed while the checks ran ({}): running them once more",
                        few(&paths)
                    ),
                );
                content = after;
                continue;
            }
        }
        let verdict = match reds.first() {
            None => green(pass),
            Some(Failure::Nothing(what)) => Verdict::RanNothing(what.clone()),
            Some(Failure::Red(_)) => {
                let mut verdict = Verdict::Red as fn(Vec<Red>) -> Verdict;
                if care.twice {
                    ui.say(Tone::Plain, "red: running it once more on the same state");
                    let second = once(pass, care, ui)?;
                    if second.is_empty() {
                        verdict = Verdict::Flaky;
                    } else {
                        reds = second;
                    }
                }
                verdict(reds.into_iter().filter_map(Failure::red).collect())
            }
        };
        return Ok(Checked { content, verdict });
    }
    unreachable!("the second round returns")
}

fn green(pass: &Pass) -> Verdict {
    if pass.config.checkpoint.test == TestCommand::Declared {
        Verdict::Untested
    } else {
        Verdict::Green
    }
}

enum Failure {
    Red(Red),
    Nothing(String),
}

impl Failure {
    fn red(self) -> Option<Red> {
        match self {
            Self::Red(red) => Some(red),
            Self::Nothing(_) => None,
        }
    }
}

/// Tests, then the spec check.
fn once(pass: &Pass, care: Care, ui: &Ui) -> Result<Vec<Failure>> {
    let root = pass.worktree.root();
    let mut failures = Vec::new();
    match &pass.config.checkpoint.test {
        TestCommand::Unset => {
            return Err(Refusal::new(
                "no test command is set: a checkpoint is a tested state",
                "set test in [checkpoint] of arkaint.toml (test = false where there are no tests), then commit it",
            )
            .into());
        }
        TestCommand::Declared => {}
        TestCommand::Run(command) => failures.extend(one(pass, CheckKind::Test, command, ui)?),
    }
    if (failures.is_empty() || care.all)
        && let Some(command) = check::spec_command(&pass.config.checkpoint, root)
    {
        failures.extend(one(pass, CheckKind::Spec, &command, ui)?);
    }
    Ok(failures)
}

fn one(pass: &Pass, kind: CheckKind, command: &CommandLine, ui: &Ui) -> Result<Option<Failure>> {
    let shown = shown(command);
    ui.say(Tone::Dim, format!("{}: {shown}", plural(kind)));
    let log = pass
        .worktree
        .state_dir()
        .join(format!("{}.log", name(kind)));
    let order = Check {
        kind,
        command,
        dir: pass.worktree.root(),
        env_extra: &[],
        wrapper: &pass
            .config
            .agent
            .sandbox(pass.worktree.root(), pass.worktree.common_dir()),
        timeout: pass.config.checkpoint.timeout,
        log: Some(Path::new(&log)),
        echo: ui.is_talkative().then_some(ui),
    };
    let worktree = &pass.worktree;
    let run = check::run_check(&order, &mut |child| journal::check_started(worktree, child));
    journal::check_over(worktree)?;
    let run = run?;
    if let Some(signal) = run.interrupted {
        return Err(Refusal::with_exit(
            Exit::Interrupted(u8::try_from(signal).unwrap_or(2)),
            format!(
                "interrupted while the {} ran; nothing was committed",
                plural(kind)
            ),
            "run it again when you are ready",
        )
        .into());
    }
    ui.detail(format!(
        "{} took {:.1} s",
        plural(kind),
        run.duration.as_secs_f64()
    ));
    if run.swept > 0 {
        ui.detail(format!(
            "ended {} that they left behind",
            text::counted(run.swept, "process")
        ));
    }
    if let Some(nothing) = run.ran_nothing
        && kind == CheckKind::Test
    {
        return Ok(Some(Failure::Nothing(format!(
            "the test command ran no test ({nothing})"
        ))));
    }
    Ok((!run.passed).then(|| Failure::Red(Red::of(run, &shown))))
}

fn changed(pass: &Pass, from: Oid, to: Oid) -> Result<Vec<String>> {
    let listed = pass
        .worktree
        .git()
        .call(["diff-tree", "-r", "-z", "--name-only", "--no-renames"])
        .args([from.to_string(), to.to_string()])
        .bytes()?;
    Ok(listed
        .split(|b| *b == 0)
        .filter(|p| !p.is_empty())
        .map(|p| String::from_utf8_lossy(p).into_owned())
        .collect())
}

/// At most five of `paths`, on one line.
pub(crate) fn few(paths: &[String]) -> String {
    let shown = paths
        .iter()
        .take(5)
        .map(|p| text::visible_line(p))
        .collect::<Vec<_>>()
        .join(", ");
    if paths.len() > 5 {
        format!("{shown} and {} more", paths.len() - 5)
    } else {
        shown
    }
}

/// Runs the checks once on the state that a commit hook left; `made` is what was committed.
pub(crate) fn run_committed(pass: &Pass, made: Oid, ui: &Ui) -> Result<Verdict> {
    let index = index(pass);
    let content = pass.worktree.git().content_tree(&index)?;
    if content.tree != made {
        return Ok(Verdict::Moved(changed(pass, made, content.tree)?));
    }
    let failures = once(pass, Care::default(), ui)?;
    Ok(match failures.into_iter().next() {
        None => green(pass),
        Some(Failure::Nothing(what)) => Verdict::RanNothing(what),
        Some(Failure::Red(red)) => Verdict::Red(vec![red]),
    })
}

/// Puts a staged index in the place of the user's.
pub(crate) fn install(pass: &Pass) -> Result<()> {
    let (worktree, index) = (&pass.worktree, index(pass));
    if has_checksum(&worktree.git_dir().join("index")) && !has_checksum(&index) {
        // `git commit` had nothing to note in it. Other clients than git want a checksum.
        worktree
            .git()
            .call(["update-index", "--force-write-index"])
            .env("GIT_INDEX_FILE", &index)
            .run()
            .context("writing the index")?;
    }
    rollback::install_index(worktree, &index)
}
