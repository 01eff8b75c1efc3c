//! Fetch and push of refs that are named one by one, with the user's own git and credentials: nothing is configured, nothing forced, nobody
//! asked, and no call outlasts its deadline. It knows no ref's meaning.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{Oid, Worktree};
use crate::process::{self, Chunk, HeadTail, How, Spec, Verdict};

/// How much of what git says is kept.
const WORDS: usize = 64 * 1024;
const ANSWER: usize = 64 * 1024 * 1024;

/// Why a call did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// We were told to stop.
    Interrupted(i32),
    /// No answer: offline, no such repository, no access, the deadline; in git's words.
    Unreachable(String),
    /// Another git of this repository held a ref; or ours is not behind what was fetched.
    Ref {
        words: String,
        diverged: bool,
        /// The errors of the other side, a line each.
        told: Vec<String>,
    },
}

/// What the other side said to one ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pushed {
    /// Its full name there.
    pub name: String,
    pub answer: Answer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Taken,
    SameAlready,
    /// The reason, as git gives it: `fetch first`, `pre-receive hook declined`; behind `: `, what the other side's git wrote about the ref.
    Rejected(String),
}

impl Answer {
    /// Does a rule of the other side refuse it, so that trying again is no use?
    pub(crate) fn is_rule(&self) -> bool {
        let rules = ["declined", "hidden ref", "prohibited", "denied"];
        let Self::Rejected(why) = self else {
            return false;
        };
        let reason = why.split(": ").next().unwrap_or_default();
        rules.iter().any(|word| reason.contains(word))
    }
}

/// One remote, as `git remote` lists it.
#[derive(Clone, Copy)]
pub(crate) struct Remote<'a> {
    worktree: &'a Worktree,
    name: &'a str,
    /// For one call.
    deadline: Duration,
}

impl Worktree {
    /// The remotes that are configured.
    pub(crate) fn remotes(&self) -> Result<Vec<String>> {
        let names = self.repo()?.remote_names();
        Ok(names.iter().map(ToString::to_string).collect())
    }

    /// The remote of the branch, else `origin`, else the only one.
    pub(crate) fn default_remote(&self) -> Result<Option<String>> {
        let all = self.remotes()?;
        let of_branch = match self.branch()? {
            Some(branch) => self
                .repo()?
                .config_snapshot()
                .string(&format!("branch.{branch}.remote"))
                .map(|name| name.to_string()),
            None => None,
        };
        let usual = of_branch.into_iter().chain(["origin".to_owned()]);
        let only = (all.len() == 1).then(|| all[0].clone());
        Ok(usual.chain(only).find(|name| all.contains(name)))
    }

    /// The remote of that name; each call has `deadline`.
    pub(crate) fn remote<'a>(&'a self, name: &'a str, deadline: Duration) -> Remote<'a> {
        Remote {
            worktree: self,
            name,
            deadline,
        }
    }

    /// Every direct ref below `prefix` (`refs/x/`), by full name.
    pub(crate) fn refs_below(&self, prefix: &str) -> Result<Vec<(String, Oid)>> {
        let mut found = Vec::new();
        for reference in super::refs_below(self.repo()?, prefix)?.whole()? {
            if let Some(id) = reference.target().try_id() {
                found.push((reference.name().as_bstr().to_string(), id.to_owned()));
            }
        }
        Ok(found)
    }
}

impl Remote<'_> {
    /// The refs of the remote that match `pattern` (`refs/x/*`).
    ///
    /// # Errors
    /// [`Failed`] inside; outside only when git cannot be supervised.
    pub(crate) fn list(self, pattern: &str) -> Result<Result<Vec<(String, Oid)>, Failed>> {
        let (stdout, _) = match self.call(&["ls-remote", "--quiet", "--refs"], &[pattern])? {
            Ok(said) => said,
            Err(failed) => return Ok(Err(failed)),
        };
        let refs = stdout.lines().filter_map(|line| {
            let (id, name) = line.split_once('\t')?;
            Some((name.to_owned(), Oid::from_hex(id.as_bytes()).ok()?))
        });
        Ok(Ok(refs.collect()))
    }

    /// Fetches these refspecs and nothing beside: no tag, no configured refspec, no submodule, no FETCH_HEAD. With `prune`, refs on their right
    /// side go that the remote has no more. With `dry`, objects come and no ref moves.
    pub(crate) fn fetch(
        self,
        refspecs: &[&str],
        prune: bool,
        dry: bool,
    ) -> Result<Result<(), Failed>> {
        let mut words = vec![
            "fetch",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--refmap=",
            // A partial clone would bring the notes without their text.
            "--no-filter",
            if prune { "--prune" } else { "--no-prune" },
        ];
        if dry {
            words.push("--dry-run");
        }
        Ok(self.call(&words, refspecs)?.map(drop))
    }

    /// Pushes these refspecs without force; each ref has its own answer. The user's own `pre-push` hook is asked.
    pub(crate) fn push(self, refspecs: &[&str]) -> Result<Result<Vec<Pushed>, Failed>> {
        let words = [
            "push",
            "--porcelain",
            "--no-follow-tags",
            "--recurse-submodules=no",
        ];
        let failed = match self.call(&words, refspecs)? {
            Ok((stdout, _)) => return Ok(Ok(stdout.lines().filter_map(answer).collect())),
            Err(failed) => failed,
        };
        let Failed::Ref { words, told, .. } = &failed else {
            return Ok(Err(failed));
        };
        let pushed = answers(words, told);
        Ok(if pushed.is_empty() {
            Err(failed)
        } else {
            Ok(pushed)
        })
    }

    /// What it printed on both streams, where it exits 0.
    fn call(self, words: &[&str], refspecs: &[&str]) -> Result<Result<(String, String), Failed>> {
        let mirror = format!("remote.{}.mirror=false", self.name);
        // A credential helper that would open a window asks nobody.
        let quiet = ["-c", "credential.interactive=false", "-c", &mirror];
        let mut call = self.worktree.git().call(quiet).args(words);
        call = call.arg("--").arg(self.name).args(refspecs);
        if !self.has_own_ssh()? {
            call = call.env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes");
        }
        let (argv, env, dir, _) = call.into_parts();
        let spec = Spec {
            wall: Some(self.deadline),
            ..Spec::new(argv, dir, env)
        };
        let (mut answer, mut said) = (Vec::new(), HeadTail::with(WORDS, WORDS));
        let end = process::run(spec, &mut |_| Ok(()), &mut |chunk| {
            match chunk {
                Chunk::Out(bytes) if answer.len() + bytes.len() > ANSWER => {
                    return Verdict::Stop("it said too much".to_owned());
                }
                Chunk::Out(bytes) => answer.extend_from_slice(bytes),
                Chunk::Err(bytes) => said.push(bytes),
            }
            Verdict::Go
        })
        .context("running git")?;
        let (stdout, stderr) = (String::from_utf8_lossy(&answer).into_owned(), said.text());
        Ok(Err(match end.how {
            How::Exited(0) => return Ok(Ok((stdout, stderr))),
            How::Interrupted(signal) => Failed::Interrupted(signal),
            How::Wall => Failed::Unreachable(format!("no end after {} s", self.deadline.as_secs())),
            How::NotStarted(why) | How::Stopped(why) => Failed::Unreachable(why),
            _ => failed(&stdout, &stderr),
        }))
    }

    /// Has the user said how ssh is to be called?
    fn has_own_ssh(self) -> Result<bool> {
        let named = |name: &str| std::env::var_os(name).is_some_and(|v: OsString| !v.is_empty());
        let config = self.worktree.repo()?.config_snapshot();
        Ok(named("GIT_SSH_COMMAND")
            || named("GIT_SSH")
            || config.string("core.sshCommand").is_some())
    }
}

/// Which failure git's words are.
fn failed(stdout: &str, stderr: &str) -> Failed {
    let is_about_refs = stdout.lines().any(|line| answer(line).is_some())
        || [
            "! [rejected]",
            "cannot lock ref",
            "unable to update local ref",
            "some local refs could not be updated",
        ]
        .iter()
        .any(|word| stderr.contains(word));
    if is_about_refs {
        let words = if stdout.is_empty() { stderr } else { stdout };
        return Failed::Ref {
            words: words.to_owned(),
            diverged: stderr.contains("(non-fast-forward)"),
            told: stderr
                .lines()
                .filter_map(|line| line.strip_prefix("remote: error: "))
                .map(|line| line.trim_end().to_owned())
                .collect(),
        };
    }
    let lines: Vec<&str> = stderr
        .lines()
        .map(str::trim)
        .filter(|line| {
            // What git adds to every failed transport says nothing.
            let is_usual = ["Please make sure you have", "and the repository exists."];
            !line.is_empty()
                && !line.starts_with("hint:")
                && !is_usual.iter().any(|usual| line.starts_with(usual))
        })
        .collect();
    let last = &lines[lines.len().saturating_sub(3)..];
    Failed::Unreachable(if last.is_empty() {
        "git did not say why".to_owned()
    } else {
        last.join("; ")
    })
}

/// What `git push --porcelain` printed, with what the other side wrote about each ref.
fn answers(stdout: &str, told: &[String]) -> Vec<Pushed> {
    let mut pushed: Vec<_> = stdout.lines().filter_map(answer).collect();
    for Pushed { name, answer } in &mut pushed {
        let about = told.iter().find(|line| line.contains(name.as_str()));
        if let (Answer::Rejected(why), Some(about)) = (answer, about) {
            *why = format!("{why}: {about}");
        }
    }
    pushed
}

/// One line of `git push --porcelain`: flag, `from:to`, summary and reason.
fn answer(line: &str) -> Option<Pushed> {
    let mut parts = line.splitn(3, '\t');
    let (flag, refs, summary) = (parts.next()?, parts.next()?, parts.next()?);
    let (_, name) = refs.rsplit_once(':')?;
    let answer = match flag {
        "=" => Answer::SameAlready,
        " " | "*" | "+" | "-" => Answer::Taken,
        "!" => {
            let reason = summary.split_once('(').map_or(summary, |(_, why)| why);
            Answer::Rejected(reason.trim_end_matches(')').to_owned())
        }
        _ => return None,
    };
    Some(Pushed {
        name: name.to_owned(),
        answer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ref_has_its_answer() {
        let read = |line: &str| answer(line).map(|pushed| (pushed.name, pushed.answer));
        let name = || "refs/notes/x".to_owned();
        assert_eq!(read("To /srv/x.git"), None);
        assert_eq!(read("Done"), None);
        assert_eq!(
            read("*\tabc:refs/notes/x\t[new reference]"),
            Some((name(), Answer::Taken))
        );
        assert_eq!(
            read(" \tabc:refs/notes/x\t123..456"),
            Some((name(), Answer::Taken))
        );
        assert_eq!(
            read("=\tabc:refs/notes/x\t[up to date]"),
            Some((name(), Answer::SameAlready))
        );
        for (reason, is_rule) in [
            ("fetch first", false),
            ("failed to update ref", false),
            ("pre-receive hook declined", true),
            ("deny updating a hidden ref", true),
        ] {
            let (_, answer) = read(&format!(
                "!\tabc:refs/notes/x\t[remote rejected] ({reason})"
            ))
            .unwrap();
            assert_eq!(answer.is_rule(), is_rule, "{reason}");
            assert_eq!(answer, Answer::Rejected(reason.to_owned()));
        }
    }

    #[test]
    fn a_lock_that_is_held_there_is_named_and_is_no_rule() {
        let stdout =
            "To /srv/x.git\n!\tabc:refs/notes/x\t[remote rejected] (failed to update ref)\nDone\n";
        let stderr = "remote: error: cannot lock ref 'refs/notes/x': Unable to create '/srv/x.git/refs/notes/x.lock': Permission denied.        \n\
                      remote: \nerror: failed to push some refs\n";
        let Failed::Ref { words, told, .. } = failed(stdout, stderr) else {
            panic!("not about refs");
        };
        let [pushed] = answers(&words, &told).try_into().unwrap();
        assert!(!pushed.answer.is_rule());
        let Answer::Rejected(why) = pushed.answer else {
            panic!("taken");
        };
        assert_eq!(
            why,
            "failed to update ref: cannot lock ref 'refs/notes/x': Unable to create '/srv/x.git/refs/notes/x.lock': Permission denied."
        );
    }

    #[test]
    fn a_held_ref_is_told_from_a_remote_that_is_not_there() {
        let held = failed("", "error: cannot lock ref 'refs/arkaint/x': File exists\n");
        assert!(matches!(
            held,
            Failed::Ref {
                diverged: false,
                ..
            }
        ));
        let rewritten = failed("", " ! [rejected]  a -> b  (non-fast-forward)\n");
        assert!(matches!(rewritten, Failed::Ref { diverged: true, .. }));
        let away = failed(
            "",
            "fatal: '/srv/x' does not appear to be a git repository\nfatal: Could not read from remote repository.\n",
        );
        assert!(matches!(away, Failed::Unreachable(words) if words.contains("does not appear")));
    }
}
