//! `git arkaint doctor`: everything that a cycle needs, one line each, with the command that mends it. Takes no lock and changes nothing; the agent
//! is not launched, but asked for its version, and the sandbox is tried.

use std::time::Duration;

use anyhow::{Error, Result};
use serde_json::json;

use crate::agent::launch;
use crate::cli;
use crate::config::{CommandLine, Config, Gitleaks, TestCommand, isolated_match};
use crate::exit::{Exit, Refusal};
use crate::gate::{self, Lock};
use crate::git::{Oid, Worktree, leftover, state};
use crate::hooks::status;
use crate::journal;
use crate::judge::{check, leaks};
use crate::ledger::{
    notes,
    sync::{self, Wiping},
    walk,
};
use crate::process::{self, How, Spec};
use crate::text;
use crate::ui::{self, Tone, Ui};

/// Less than this is said, bytes: a rollback writes an archive before it moves anything.
const SCARCE: u64 = 1024 * 1024 * 1024;

/// One line.
struct Finding {
    about: &'static str,
    state: State,
    line: String,
    mend: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It holds.
    Good,
    /// A cycle would work, with less than it could have.
    Note,
    /// A cycle would be refused, or could not be undone.
    Bad,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Note => "note",
            Self::Bad => "bad",
        }
    }
}

struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, about: &'static str, state: State, line: impl Into<String>, mend: &str) {
        let mend = Some(mend).filter(|mend| !mend.is_empty());
        self.0.push(Finding {
            about,
            state,
            line: line.into(),
            mend: mend.into_iter().map(str::to_owned).collect(),
        });
    }

    /// What a function says that would refuse.
    fn ask<T>(&mut self, about: &'static str, result: Result<T>, line: impl FnOnce(&T) -> String) {
        match result {
            Ok(value) => self.add(about, State::Good, line(&value), ""),
            Err(error) => self.fail(about, &error),
        }
    }

    fn fail(&mut self, about: &'static str, error: &Error) {
        let (line, mend) = refused(error);
        self.0.push(Finding {
            about,
            state: State::Bad,
            line,
            mend,
        });
    }
}

fn refused(error: &Error) -> (String, Vec<String>) {
    match error.downcast_ref::<Refusal>() {
        Some(refusal) => (refusal.cause.clone(), refusal.hints.clone()),
        None => (format!("{error:#}"), Vec::new()),
    }
}

pub(super) fn run(global: &cli::Global, ui: &Ui) -> Exit {
    let mut found = Findings(Vec::new());
    git(&mut found);
    match gate::open(global.dir.as_deref()) {
        Ok(worktree) => repository(&worktree, &mut found),
        Err(error) => found.fail("repository", &error),
    }
    let bad = found.0.iter().any(|finding| finding.state == State::Bad);
    if ui.is_json() {
        let lines = found.0.iter().map(|finding| {
            json!({"about": finding.about, "state": finding.state.word(), "line": finding.line, "mend": finding.mend})
        });
        ui.json(&json!({"v": 1, "ready": !bad, "findings": lines.collect::<Vec<_>>()}));
    } else {
        show(&found, ui);
    }
    if bad { Exit::CheckFailed } else { Exit::Done }
}

fn show(found: &Findings, ui: &Ui) {
    for finding in &found.0 {
        let tone = match finding.state {
            State::Good => Tone::Good,
            State::Note => Tone::Plain,
            State::Bad => Tone::Bad,
        };
        let head = format!("{:<4} {:<13} ", finding.state.word(), finding.about);
        let below = " ".repeat(head.len());
        let wrapped = textwrap::Options::new(ui::width())
            .initial_indent(&head)
            .subsequent_indent(&below);
        let line = text::ellipsis(&text::visible_line(&finding.line), 400);
        for line in textwrap::wrap(&line, wrapped) {
            ui.out_toned(tone, line);
        }
        // Not wrapped: it is there to be copied.
        for mend in &finding.mend {
            ui.out(format!("     mend: {}", text::visible_line(mend)));
        }
    }
}

fn git(found: &mut Findings) {
    let asked = Spec {
        wall: Some(Duration::from_secs(10)),
        ..Spec::new(["git", "--version"], "/", std::env::vars_os().collect())
    };
    match process::capture(asked, None) {
        Ok(said) if said.end.how == How::Exited(0) => {
            found.add("git", State::Good, said.output.trim(), "");
        }
        _ => found.add(
            "git",
            State::Bad,
            "git cannot be run",
            "install git, or put it on PATH",
        ),
    }
}

fn repository(worktree: &Worktree, found: &mut Findings) {
    found.ask("repository", worktree.repo(), |_| {
        worktree.root().display().to_string()
    });
    let head = match worktree.head() {
        Ok(Some(head)) => Some(head),
        Ok(None) => {
            let mend = "git add -A && git commit -m 'start'";
            found.add("commit", State::Bad, "this branch has no commit yet", mend);
            None
        }
        Err(error) => {
            found.fail("commit", &error);
            None
        }
    };
    let config = match head {
        Some(head) => gate::config_as_committed(worktree, head, None, None),
        None => gate::config_for_reading(worktree, None),
    };
    found.ask("configuration", config.as_ref().map_err(copy), |_| {
        "arkaint.toml, as committed".to_owned()
    });
    let config = match config {
        Ok(config) => config,
        Err(_) => gate::config_for_reading(worktree, None).unwrap_or_default(),
    };
    branch(worktree, &config, found);
    found.ask("identity", gate::identity(worktree), |()| {
        "git knows who commits".to_owned()
    });
    found.ask("worktree", gate::settled(worktree), |()| {
        "no merge, rebase or conflict is open".to_owned()
    });
    at_work(worktree, found);
    locks(worktree, found);
    tests(worktree, &config, found);
    gitleaks(&config, found);
    agent(worktree, &config, found);
    guards(worktree, found);
    ledger(worktree, found);
    if let Some(head) = head
        && let Err(error) = way_back(worktree, head, found)
    {
        found.fail("way back", &error);
    }
    room(worktree, found);
    helpers(found);
}

/// An error cannot be cloned; what is said of it can.
fn copy(error: &Error) -> Error {
    let (cause, hints) = refused(error);
    let refusal = Refusal {
        exit: Exit::Refused,
        cause,
        hints,
    };
    refusal.into()
}

fn branch(worktree: &Worktree, config: &Config, found: &mut Findings) {
    let isolated = &config.branches.isolated;
    let mend = "git switch -c arkaint/SLUG, or git arkaint cycle --branch arkaint/SLUG";
    match worktree.branch() {
        Err(error) => found.fail("branch", &error),
        Ok(Some(branch)) if isolated_match(isolated, &branch) => {
            found.add("branch", State::Good, format!("{branch}: for agents"), "");
        }
        Ok(Some(branch)) => found.add(
            "branch",
            State::Note,
            format!("{branch} is not for agents ({})", isolated.join(", ")),
            mend,
        ),
        Ok(None) => found.add("branch", State::Note, "HEAD is detached", mend),
    }
}

fn at_work(worktree: &Worktree, found: &mut Findings) {
    if let Some(pid) = Lock::holder(worktree) {
        let line = format!("process {pid} is at work in this worktree");
        found.add("lock", State::Note, line, "wait for it, or kill it");
    } else if let Some(entry) = journal::read(worktree) {
        let line = format!("a {} was cut off here", entry.name());
        let mend = "git arkaint checkpoint, cycle or rollback settles it first";
        found.add("journal", State::Note, line, mend);
    }
}

/// Lock files of git's own, and whether anybody can be holding them.
fn locks(worktree: &Worktree, found: &mut Findings) {
    let locks = leftover::all(worktree);
    if locks.is_empty() {
        return;
    }
    let at_work = leftover::git_is_at_work(worktree);
    for lock in locks {
        let shown = lock.display();
        if at_work || !leftover::is_closed(&lock) {
            let line = format!("{shown}: git is at work");
            found.add("git lock", State::Note, line, "wait for it");
        } else {
            let line = format!("{shown}: no git is at work, and nobody has it open");
            let mend = shell_words::join(["rm", "--", &shown.to_string()]);
            found.add("git lock", State::Bad, line, &mend);
        }
    }
}

fn tests(worktree: &Worktree, config: &Config, found: &mut Findings) {
    let mend = "set test in [checkpoint] of arkaint.toml, then commit it";
    match &config.checkpoint.test {
        TestCommand::Unset => {
            found.add("tests", State::Bad, "no test command is set", mend);
        }
        TestCommand::Declared => found.add(
            "tests",
            State::Note,
            "test = false: nothing checks what is sealed",
            mend,
        ),
        TestCommand::Run(command) => program("tests", worktree, command, found),
    }
    if let Some(command) = check::spec_command(&config.checkpoint, worktree.root()) {
        program("spec check", worktree, &command, found);
    }
}

fn gitleaks(config: &Config, found: &mut Findings) {
    let what = "not on PATH: a second look for secrets";
    let (state, line) = match (config.checkpoint.gitleaks, leaks::gitleaks()) {
        (Gitleaks::Off, _) => return,
        (_, Some(path)) => (State::Good, path.display().to_string()),
        (Gitleaks::Auto, None) => (State::Note, what.to_owned()),
        (Gitleaks::Required, None) => (State::Bad, format!("{what}, and required")),
    };
    let mend = match state {
        State::Bad => "install gitleaks (https://github.com/gitleaks/gitleaks)",
        _ => "",
    };
    found.add("gitleaks", state, line, mend);
}

/// A line for the shell is looked at by its shell alone.
fn program(about: &'static str, worktree: &Worktree, command: &CommandLine, found: &mut Findings) {
    let argv = check::argv(command, &[]);
    let shown = match command {
        CommandLine::Bash(line) => line.clone(),
        CommandLine::Argv(words) => shell_words::join(words),
    };
    let first = argv.first().map_or("", String::as_str);
    if which::which_in(first, std::env::var_os("PATH"), worktree.root()).is_ok() {
        found.add(about, State::Good, shown, "");
    } else {
        let line = format!("{shown}: {first} is not on PATH");
        found.add(about, State::Bad, line, &format!("install {first}"));
    }
}

fn agent(worktree: &Worktree, config: &Config, found: &mut Findings) {
    found.ask("agent", gate::agent_is_there(config), |()| {
        let name = config.agent.name.as_str();
        match launch::version(&config.agent, worktree.root()) {
            Some(version) => format!("{name} {version}"),
            None => format!("{name}: {}", config.agent.command.join(" ")),
        }
    });
    let sandbox = config.agent.sandbox(worktree.root(), worktree.common_dir());
    let Some(first) = sandbox.first().cloned() else {
        found.add(
            "sandbox",
            State::Note,
            "none: the agent may do whatever you may, and is looked after afterwards",
            "agent.wrapper in arkaint.toml: git arkaint man config, SANDBOXES",
        );
        return;
    };
    let argv = sandbox.into_iter().chain(["true".to_owned()]);
    let tried = Spec {
        wall: Some(Duration::from_secs(20)),
        ..Spec::new(argv, worktree.root(), std::env::vars_os().collect())
    };
    let (line, mend) = match process::capture(tried, None).map(|said| (said.end.how, said.output)) {
        Ok((How::Exited(0), _)) => return found.add("sandbox", State::Good, first, ""),
        Ok((How::NotStarted(why), _)) => (why, format!("install {first}")),
        Ok((_, output)) => (
            format!(
                "{first} cannot run true: {}",
                output.lines().next().unwrap_or("it says nothing")
            ),
            "git arkaint man config, SANDBOXES".to_owned(),
        ),
        Err(error) => (format!("{error:#}"), String::new()),
    };
    found.add("sandbox", State::Bad, line, &mend);
}

fn guards(worktree: &Worktree, found: &mut Findings) {
    let hooks = match status::inspect(worktree, false) {
        Ok(hooks) => hooks,
        Err(error) => return found.fail("hooks", &error),
    };
    if hooks.active {
        let line = "git runs the guards in every worktree";
        return found.add("hooks", State::Good, line, "");
    }
    // The parent looks after each run whatever the hooks do: without them, a commit by hand is not looked at.
    let mut mend: Vec<String> = Vec::new();
    for line in hooks.worktrees.into_iter().flat_map(|at| at.mend) {
        if !mend.contains(&line) {
            mend.push(line);
        }
    }
    found.0.push(Finding {
        about: "hooks",
        state: State::Note,
        line: "git would not run every guard: git arkaint hooks status says which".to_owned(),
        mend,
    });
}

fn ledger(worktree: &Worktree, found: &mut Findings) {
    let counted = notes::all_and_odd(worktree);
    let odd = counted.as_ref().map_or(0, |(_, odd)| *odd);
    found.ask("ledger", counted, |(records, _)| {
        text::counted(records.len(), "record")
    });
    if odd > 0 {
        found.add(
            "ledger",
            State::Note,
            format!("{odd} lines are no records; they are left as they are"),
            "git log --notes=arkaint/ledger",
        );
    }
    match sync::wiping(worktree, None) {
        Ok(forced) => {
            for Wiping { setting, mend } in forced {
                let line = format!("{setting}: every git fetch throws away records not yet pushed");
                found.add("ledger", State::Bad, line, &mend);
            }
        }
        Err(error) => found.fail("ledger", &error),
    }
}

/// Could a rollback be made?
fn way_back(worktree: &Worktree, head: Oid, found: &mut Findings) -> Result<()> {
    let Some(stable) = walk::last_stable(worktree, head)? else {
        let mend = "git arkaint checkpoint, or git arkaint cycle makes one";
        found.add("way back", State::Note, "no stable checkpoint yet", mend);
        return Ok(());
    };
    let short = stable.commit.to_hex_with_len(12).to_string();
    match worktree.git().missing(stable.commit)? {
        0 => found.add(
            "way back",
            State::Good,
            format!("the stable checkpoint {short} is whole"),
            "",
        ),
        missing => found.add(
            "way back",
            State::Bad,
            format!("{missing} objects of the stable checkpoint {short} are missing"),
            "git fsck --full, then fetch the missing objects from a clone",
        ),
    }
    Ok(())
}

fn room(worktree: &Worktree, found: &mut Findings) {
    let Some(free) = state::free_bytes(worktree.common_dir()) else {
        return;
    };
    let line = format!("{} MiB free", free / (1024 * 1024));
    if free < SCARCE {
        let mend = "make room: archives go by git arkaint discarded and [retention]";
        found.add("disk", State::Bad, line, mend);
    } else {
        found.add("disk", State::Good, line, "");
    }
}

/// Programs that are used where they are there.
fn helpers(found: &mut Findings) {
    for (name, what) in [
        ("gh", "deliver --pr on GitHub needs it"),
        ("glab", "deliver --pr on GitLab needs it"),
    ] {
        match which::which(name) {
            Ok(path) => found.add(name, State::Good, path.display().to_string(), ""),
            Err(_) => found.add(name, State::Note, format!("not on PATH: {what}"), ""),
        }
    }
}
