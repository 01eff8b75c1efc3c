//! The packet on real repositories, with git as the oracle.

mod oracle;
mod whole;
mod withheld;

use std::borrow::Cow;
use std::fmt::Write as _;

use super::*;
use crate::git::fixture::Repo;

fn plain(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

/// `.env`, `*.pem` and all below `secrets/`.
fn sensitive(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    name == b".env" || name.ends_with(b".pem") || path.starts_with(b"secrets/")
}

fn shown(commit: Oid, task: &str) -> Shown {
    Shown {
        commit,
        task: task.to_owned(),
        message: "none".to_owned(),
        status: "stable".to_owned(),
        time: "2026-11-30T12:00:00Z".to_owned(),
        proven: true,
    }
}

/// The history `commits` (oldest first), newest first.
fn history(commits: &[Oid]) -> Vec<Shown> {
    commits
        .iter()
        .enumerate()
        .rev()
        .map(|(at, commit)| shown(*commit, &format!("task {at}")))
        .collect()
}

/// An [`Input`] that owns what it points to.
struct Given {
    profile: Profile,
    history: Vec<Shown>,
    base: Option<Oid>,
    in_flight: Option<(Oid, Oid)>,
    instruction: Option<Instruction>,
    brief: Option<String>,
    evidence: Option<String>,
    task: String,
    max: usize,
}

impl Given {
    fn new(history: Vec<Shown>) -> Self {
        let profile = Profile {
            diff_chars: 16 << 10,
            preload_chars: 16 << 10,
            guardrails: "Be careful.".to_owned(),
            ..Profile::default()
        };
        Self {
            profile,
            history,
            base: None,
            in_flight: None,
            instruction: None,
            brief: None,
            evidence: None,
            task: "Mend it".to_owned(),
            max: 64 << 10,
        }
    }

    fn preload(mut self, globs: &[&str]) -> Self {
        self.profile.preload = globs.iter().map(|glob| (*glob).to_owned()).collect();
        self
    }

    fn build(&self, repo: &Repo) -> Result<Packet> {
        build(
            &repo.worktree(),
            &Input {
                task: &self.task,
                task_file: ".arkaint/task.md",
                profile_name: "default",
                profile: &self.profile,
                max_chars: self.max,
                sensitive: &sensitive,
                redact: &plain,
                history: &self.history,
                base: self.base,
                in_flight: self.in_flight,
                instruction: self.instruction.as_ref(),
                infra: &["scripts/".to_owned(), "arkaint.toml".to_owned()],
                brief: self.brief.as_deref(),
                evidence: self.evidence.as_deref(),
            },
        )
    }

    /// What is piped, after the checks that hold for every packet.
    #[track_caller]
    fn piped(&self, repo: &Repo) -> String {
        let packet = self.build(repo).unwrap();
        let text = packet.piped();
        check(&text, self.max);
        for layer in &packet.layers {
            assert!(text.get(layer.span.clone()).is_some(), "{layer:?}");
        }
        text
    }
}

/// What holds for every packet: its cap, its fences, its first and last words, no character that steers a terminal.
#[track_caller]
fn check(text: &str, max: usize) {
    assert!(text.len() <= max, "{} > {max}", text.len());
    assert!(text.starts_with("# Operating rules\n"));
    assert!(text.ends_with("on a line of its own.\n"), "{text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
    assert!(!text.contains(['\u{202e}', '\u{200b}', '\u{feff}']));
    let mut said = text.lines().filter(|line| !line.is_empty());
    while let Some(line) = said.next() {
        let is_title = line.starts_with("## ")
            && line.contains("Intent") | line.contains("from ") | line.contains("Preload");
        assert!(
            !is_title
                || said.next().is_some_and(
                    |next| next.starts_with("<<<<< data ") || next.starts_with("Files ")
                ),
            "{line}"
        );
    }
    let mut open: Option<&str> = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("<<<<< data ") {
            assert!(open.is_none(), "a fence opens inside a fence: {line}");
            open = rest.rsplit(' ').next();
        } else if let Some(tag) = line.strip_prefix(">>>>> ") {
            assert_eq!(open.take(), Some(tag));
        }
    }
    assert!(open.is_none(), "a fence stays open");
}

/// The text of the layer `name`.
fn layer<'a>(packet: &Packet, text: &'a str, name: &str) -> &'a str {
    let layer = packet.layers.iter().find(|layer| layer.name == name);
    layer.map_or("", |layer| &text[layer.span.clone()])
}

/// What a survey of `old` to `new` finds, nothing withheld but by `rule`.
fn look(repo: &Repo, old: Oid, new: Oid, rule: &dyn Fn(&[u8]) -> bool) -> Survey {
    let worktree = repo.worktree();
    let trees = (
        worktree.tree_of(old).unwrap(),
        worktree.tree_of(new).unwrap(),
    );
    let mut pair = Pair::read(&worktree, trees.0, trees.1).unwrap();
    survey::survey(
        &pair.changes,
        &mut pair.comparer,
        &Withheld::new(rule),
        1 << 24,
    )
}

fn numbered(from: usize, to: usize) -> String {
    (from..to).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "line {n} of the file");
        text
    })
}
