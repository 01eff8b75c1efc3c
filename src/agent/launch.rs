//! One launch of an agent: its environment, its log, its caps on the live stream. What the stream means is the adapter's and the
//! transcript's; whether the work is good is the judge's.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use sha2::{Digest as _, Sha256};

use super::{Launch, REPEAT_LIMIT, Stop, ToolUse, Transcript, Usage, adapter};
use crate::config::{self, Price};
use crate::exit::Refusal;
use crate::process::{self, Chunk, How, Identity, Lines, Spec, Stdin, StopSignal, Verdict};
use crate::text;

/// The longest line that is read as an event; Gemini puts ten megabytes of tool output in one.
const MAX_LINE: usize = 16 * 1024 * 1024;

/// What is kept of standard error, bytes.
const STDERR_KEPT: usize = 16 * 1024;

/// One launch, as the cycle orders it.
pub(crate) struct Order<'a> {
    /// The run's id: ARKAINT_RUN of everything below.
    pub run: &'a str,
    /// Short name of the branch that the run is held to.
    pub branch: &'a str,
    pub agent: &'a config::Agent,
    /// The worktree's root.
    pub dir: &'a Path,
    /// argv of the sandbox, put before the agent's.
    pub sandbox: &'a [String],
    /// The raw stream, mode 0600.
    pub log: File,
    /// What goes to the agent's standard input.
    pub packet: &'a str,
    pub caps: Caps,
    /// Prices by `PROVIDER/MODEL`.
    pub prices: &'a std::collections::BTreeMap<String, Price>,
}

/// What ends a launch on the live stream.
#[derive(Clone, Debug)]
pub(crate) struct Caps {
    /// Tokens that this launch may use, and what to say when they are spent.
    pub tokens: (u64, &'static str),
    /// USD that this launch may cost.
    pub usd: (f64, &'static str),
    /// Bytes of log kept; the stream is read on.
    pub log_bytes: u64,
}

/// How one launch ended, what it used, and what its log holds.
#[derive(Debug)]
pub(crate) struct AgentRun {
    pub how: How,
    pub code: Option<i32>,
    pub duration: Duration,
    pub transcript: Transcript,
    /// A budget was spent: which, and what it was.
    pub budget: Option<String>,
    /// The repeat watchdog ended it.
    pub repeated: bool,
    pub log_bytes: u64,
    pub log_sha256: String,
    /// Bytes of the stream that the log had no room for.
    pub log_cut: u64,
    /// The end of what it wrote to standard error.
    pub stderr: String,
    /// Processes that it left behind and that were ended.
    pub swept: usize,
    /// Processes that could not be ended.
    pub left: usize,
}

/// The program that would be launched.
///
/// # Errors
/// A [`Refusal`] when the `command` agent has no command.
pub(crate) fn program(agent: &config::Agent) -> Result<String> {
    let launch = adapter(agent.name).launch(agent);
    launch
        .argv
        .into_iter()
        .next()
        .filter(|p| !p.is_empty())
        .ok_or_else(|| {
            Refusal::new(
                "the agent \"command\" has no command",
                "set command in [agent] of arkaint.toml to an argv that reads the packet on stdin",
            )
            .into()
        })
}

/// The whole argv of a launch in `sandbox`.
pub(crate) fn argv(agent: &config::Agent, sandbox: Vec<String>) -> Vec<String> {
    let own = adapter(agent.name).launch(agent).argv;
    sandbox.into_iter().chain(own).collect()
}

/// The version that the agent tells of itself, or `None`. Scripts of the `command` agent have none.
pub(crate) fn version(agent: &config::Agent, dir: &Path) -> Option<String> {
    let adapter = adapter(agent.name);
    let env = environment(&adapter.launch(agent), agent, "version", "");
    let spec = Spec {
        wall: Some(Duration::from_secs(20)),
        ..Spec::new(adapter.version(agent)?, dir, env)
    };
    let said = process::capture(spec, None).ok()?;
    if said.end.how != How::Exited(0) {
        return None;
    }
    super::version_of(&said.output)
}

/// Launches the agent and reads its stream to the end. `started` learns the process before anything else happens; `used` gets every
/// finished tool call.
pub(crate) fn run(
    order: Order<'_>,
    started: &mut dyn FnMut(&Identity) -> Result<()>,
    used: &mut dyn FnMut(ToolUse),
) -> Result<AgentRun> {
    let mut adapter = adapter(order.agent.name);
    let launch = adapter.launch(order.agent);
    let argv: Vec<OsString> = order
        .sandbox
        .iter()
        .chain(&launch.argv)
        .map(OsString::from)
        .collect();
    let mut spec = Spec::new(
        argv,
        order.dir,
        environment(&launch, order.agent, order.run, order.branch),
    );
    spec.stdin = Stdin::Bytes(order.packet.as_bytes().to_vec());
    spec.wall = Some(order.agent.timeout);
    spec.idle = Some(order.agent.idle_timeout);
    spec.stop_signal = match launch.stop {
        Stop::Terminate => StopSignal::Term,
        Stop::Interrupt => StopSignal::Int,
    };
    let mut log = Log::new(order.log, order.caps.log_bytes);
    let mut transcript = Transcript::new(order.packet.len() as u64);
    let mut stderr = Vec::new();
    let mut lines = Lines::new(MAX_LINE);
    let mut events = Vec::new();
    let (mut budget, mut repeated, mut fault) = (None, false, None);
    let end = process::run(spec, started, &mut |chunk| {
        let bytes = match chunk {
            Chunk::Out(bytes) => bytes,
            Chunk::Err(bytes) => {
                keep_tail(&mut stderr, bytes);
                return Verdict::Go;
            }
        };
        if let Err(error) = log.write(bytes) {
            fault = Some(error);
            return Verdict::Stop("the log cannot be written".to_owned());
        }
        lines.feed(bytes, &mut |line| {
            adapter.events(line.bytes, &mut events);
            for event in events.drain(..) {
                if let Some(done) = transcript.feed(event) {
                    used(done);
                }
            }
        });
        if transcript.repeats() >= REPEAT_LIMIT {
            repeated = true;
            return Verdict::Stop(format!(
                "the same call had the same result {REPEAT_LIMIT} times in a row"
            ));
        }
        if let Some(circle) = &transcript.stuck {
            return Verdict::Stop(circle.clone());
        }
        if let Some(turns) = launch
            .turns
            .filter(|turns| transcript.turns > u64::from(*turns))
            && !transcript.done
        {
            return Verdict::Stop(format!("agent.max_turns: {turns} turns allowed"));
        }
        // What came with the end of a finished run is spent already; there is nothing left to stop.
        if let Some(why) =
            over(&transcript, order.agent, order.prices, &order.caps).filter(|_| !transcript.done)
        {
            budget = Some(why.clone());
            return Verdict::Stop(why);
        }
        Verdict::Go
    })?;
    if let Some(error) = fault {
        return Err(error).context("writing run.log");
    }
    lines.finish(&mut |line| {
        adapter.events(line.bytes, &mut events);
        for event in events.drain(..) {
            if let Some(done) = transcript.feed(event) {
                used(done);
            }
        }
    });
    let (log_bytes, log_cut, log_sha256) = log.finish().context("writing run.log")?;
    Ok(AgentRun {
        how: end.how,
        code: end.code,
        duration: end.duration,
        transcript,
        budget,
        repeated,
        log_bytes,
        log_sha256,
        log_cut,
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
        swept: end.swept,
        left: end.left,
    })
}

/// Which cap is passed, in words.
fn over(
    transcript: &Transcript,
    agent: &config::Agent,
    prices: &std::collections::BTreeMap<String, Price>,
    caps: &Caps,
) -> Option<String> {
    let tokens = transcript.tokens();
    let how = if tokens.estimated { " (estimated)" } else { "" };
    if tokens.total > caps.tokens.0 {
        return Some(format!(
            "{}: {} tokens used{how}, {} allowed",
            caps.tokens.1, tokens.total, caps.tokens.0
        ));
    }
    let price = price_of(transcript, agent, prices);
    let (usd, how) = match (transcript.cost_usd, transcript.usage, price) {
        (Some(reported), ..) => (reported, ""),
        (None, Some(usage), Some(price)) => (cost(usage, price), ""),
        (None, None, Some(price)) => (tokens.total as f64 * price.input / 1e6, " (estimated)"),
        (None, _, None) => return None,
    };
    (usd > caps.usd.0).then(|| {
        format!(
            "{}: {} spent{how}, {} allowed",
            caps.usd.1,
            text::usd(usd),
            text::usd(caps.usd.0)
        )
    })
}

/// The configured price of the model that was asked.
pub(crate) fn price_of(
    transcript: &Transcript,
    agent: &config::Agent,
    prices: &std::collections::BTreeMap<String, Price>,
) -> Option<Price> {
    let provider = transcript
        .provider
        .clone()
        .or_else(|| adapter(agent.name).provider(agent))?;
    let model = transcript.model.as_ref().or(agent.model.as_ref())?;
    prices.get(&format!("{provider}/{model}")).copied()
}

/// USD of a usage; cached tokens are part of the input.
pub(crate) fn cost(usage: Usage, price: Price) -> f64 {
    let (read, write) = (
        usage.cache_read.unwrap_or(0),
        usage.cache_write.unwrap_or(0),
    );
    let fresh = usage
        .input
        .unwrap_or(0)
        .saturating_sub(read.saturating_add(write));
    (fresh as f64 * price.input
        + read as f64 * price.cache_read
        + write as f64 * price.cache_write
        + usage.output.unwrap_or(0) as f64 * price.output)
        / 1e6
}

fn keep_tail(tail: &mut Vec<u8>, bytes: &[u8]) {
    tail.extend_from_slice(bytes);
    if tail.len() > 2 * STDERR_KEPT {
        tail.drain(..tail.len() - STDERR_KEPT);
    }
}

/// The raw log: hashed as it is written, and bounded.
struct Log {
    file: File,
    hash: Sha256,
    written: u64,
    left_out: u64,
    room: u64,
}

impl Log {
    fn new(file: File, room: u64) -> Self {
        Self {
            file,
            hash: Sha256::new(),
            written: 0,
            left_out: 0,
            room,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let fits = usize::try_from(self.room - self.written)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        self.left_out += (bytes.len() - fits) as u64;
        self.raw(&bytes[..fits])
    }

    fn raw(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn finish(mut self) -> std::io::Result<(u64, u64, String)> {
        if self.left_out > 0 {
            let note = format!(
                "\n[arkaint: the log is capped at {}; {} left out]\n",
                text::human_bytes(self.room),
                text::human_bytes(self.left_out)
            );
            self.raw(note.as_bytes())?;
        }
        self.file.sync_all()?;
        Ok((
            self.written,
            self.left_out,
            text::hex(&self.hash.finalize()),
        ))
    }
}

/// What the agent sees of our environment: no git variables, none of ours but its run, and no secret that it has no use for.
fn environment(
    launch: &Launch,
    agent: &config::Agent,
    run: &str,
    branch: &str,
) -> Vec<(OsString, OsString)> {
    let mut env: Vec<(OsString, OsString)> = std::env::vars_os()
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            let ours = name.starts_with("GIT_") || name.starts_with("ARKAINT_");
            !ours
                && (launch.needs(&name)
                    || !looks_secret(&name)
                    || agent.env.iter().any(|e| *e == name))
        })
        .filter(|(name, _)| {
            !agent
                .env
                .iter()
                .any(|e| e.strip_prefix('!') == name.to_str())
        })
        .collect();
    let depth = std::env::var("ARKAINT_DEPTH")
        .ok()
        .and_then(|d| d.parse::<u32>().ok())
        .unwrap_or(0)
        + 1;
    let mut set: Vec<(String, String)> = launch.set.clone().into_iter().collect();
    set.extend(
        agent
            .env
            .iter()
            .filter_map(|e| e.split_once('='))
            .map(|(k, v)| (k.to_owned(), v.to_owned())),
    );
    set.push(("ARKAINT_RUN".to_owned(), run.to_owned()));
    set.push(("ARKAINT_BRANCH".to_owned(), branch.to_owned()));
    set.push(("ARKAINT_DEPTH".to_owned(), depth.to_string()));
    for (name, value) in set {
        env.retain(|(k, _)| k != name.as_str());
        env.push((name.into(), value.into()));
    }
    env
}

/// Does a variable's name say that its value is a key of some kind?
fn looks_secret(name: &str) -> bool {
    const PARTS: [&str; 12] = [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "CREDENTIAL",
        "API_KEY",
        "APIKEY",
        "ACCESS_KEY",
        "PRIVATE_KEY",
        "SIGNING_KEY",
        "AUTH_SOCK",
    ];
    let name = name.to_uppercase();
    PARTS.iter().any(|part| name.contains(part))
        || name.ends_with("_KEY")
        || name.ends_with("_PAT")
        || name.ends_with("_AUTH")
        || name == "DATABASE_URL"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in [
            "GITHUB_TOKEN",
            "NPM_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "MY_PASSWORD",
            "SSH_AUTH_SOCK",
            "STRIPE_KEY",
            "gh_pat",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "LANG",
            "KEYBOARD",
            "CARGO_HOME",
            "MONKEY",
            "EDITOR",
        ] {
            assert!(!looks_secret(name), "{name}");
        }
    }

    #[test]
    fn cached_tokens_are_part_of_the_input() {
        let usage = Usage {
            input: Some(1_000_000),
            output: Some(500_000),
            cache_read: Some(600_000),
            cache_write: Some(100_000),
        };
        let price = Price {
            input: 3.0,
            output: 15.0,
            cache_read: 0.3,
            cache_write: 3.75,
        };
        assert!(
            (cost(usage, price) - (0.3 * 3.0 + 0.5 * 15.0 + 0.6 * 0.3 + 0.1 * 3.75)).abs() < 1e-9
        );
    }
}
