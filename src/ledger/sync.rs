//! The ledger between clones: fetched to refs of its own, united here, pushed without force, again until the remote takes it. What was known on
//! either side is known on both afterwards; nothing is ever taken away. It prints nothing and writes no configuration.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use gix::refs::transaction::PreviousValue;

use super::union::{self, Rule, Side, Union};
use super::{notes, page, record};
use crate::exit::{Exit, Refusal};
use crate::git::remote::{Answer, Failed, Pushed, Remote};
use crate::git::{self, Oid, Worktree, leftover};

/// Not below `refs/notes/`, where `git log --notes` would show them, and pruned to what the remote has.
const TRACKING: &str = "refs/arkaint/remotes/";
/// All that nobody else writes below.
const OURS: &str = "refs/arkaint/";
const NOTES: &str = "refs/notes/arkaint/";
/// Archives of work that was put away, and the claims of tasks.
const DISCARDS: &str = "refs/arkaint/discarded/";
const LEASES: &str = "refs/arkaint/leases/";

/// How long others may be faster than we are.
const PATIENCE: Duration = Duration::from_secs(120);
/// Tries where a rule of the remote says no: it may have been down.
const TRIES_AGAINST_A_RULE: u32 = 2;
/// Tries for refs that two clones moved apart: only a person can say which counts.
const TRIES_APART: u32 = 4;

/// What a failure says of the steps before it, where there was none.
const NOTHING: &str = "nothing was changed";

/// What is asked of [`exchange`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub remote: &'a str,
    /// For one call of the network.
    pub deadline: Duration,
    /// Look; no ref moves anywhere.
    pub dry_run: bool,
    pub discards: bool,
    pub leases: bool,
}

/// One notes ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exchanged {
    pub name: &'static str,
    /// Lines of the ledger, or pages, that were not here.
    pub received: usize,
    /// The same that the remote did not have.
    pub sent: usize,
    /// Where it is now; `None` where neither side has any.
    pub tip: Option<Oid>,
}

/// Refs that travel as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Travelled {
    pub what: &'static str,
    pub received: usize,
    pub sent: usize,
    /// Names that are not the same on both sides, and why.
    pub apart: Vec<(String, String)>,
}

/// What an exchange came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Synced {
    pub notes: Vec<Exchanged>,
    pub refs: Vec<Travelled>,
    /// How often it was fetched until the remote took it.
    pub tries: u32,
    /// What a person should know, a line each.
    pub remarks: Vec<String>,
}

/// One of the two notes refs that travel.
#[derive(Clone, Copy)]
struct Book {
    name: &'static str,
    short: &'static str,
    rule: Rule,
}

const BOOKS: [Book; 2] = [
    Book {
        name: notes::REF,
        short: "ledger",
        rule: Rule::Lines,
    },
    Book {
        name: page::REF,
        short: "verdict",
        rule: Rule::Later,
    },
];

/// Both sides of one notes ref after a fetch.
struct Met {
    tip: Option<Oid>,
    theirs: Option<Oid>,
    union: Option<Union>,
}

/// Waits longer from try to try, never as long as another that waits too.
struct Pace {
    until: Instant,
    pause: Duration,
    tries: u32,
}

impl Pace {
    fn new() -> Self {
        Self {
            until: Instant::now() + PATIENCE,
            pause: Duration::from_millis(40),
            tries: 1,
        }
    }

    /// Waits for another try; says no where there is none.
    fn again(&mut self) -> bool {
        if Instant::now() > self.until {
            return false;
        }
        std::thread::sleep(record::jittered(self.pause));
        self.pause = (self.pause * 2).min(Duration::from_secs(2));
        self.tries += 1;
        true
    }
}

/// Exchanges the ledger and its pages with a remote.
///
/// # Errors
/// A [`Refusal`] with exit 3 when the remote cannot be reached, or does not take what it is given; what came is kept then.
pub(crate) fn exchange(worktree: &Worktree, ask: Ask<'_>) -> Result<Synced> {
    let remote = worktree.remote(ask.remote, ask.deadline);
    let mut synced = Synced::default();
    if ask.dry_run {
        look(worktree, remote, ask, &mut synced)?;
    } else {
        notes_refs(worktree, remote, ask, &mut synced)?;
    }
    for (asked, what, below) in [
        (ask.discards, "discards", DISCARDS),
        (ask.leases, "leases", LEASES),
    ] {
        if asked {
            let travelled = if ask.dry_run {
                compare(worktree, remote, ask, what, below)?
            } else {
                travel(worktree, remote, ask, what, below)?
            };
            synced.refs.push(travelled);
        }
    }
    Ok(synced)
}

fn tracking(remote: &str, short: &str) -> String {
    format!("{TRACKING}{remote}/notes/{short}")
}

/// Fetch, unite, push, until it is taken.
fn notes_refs(
    worktree: &Worktree,
    remote: Remote<'_>,
    ask: Ask<'_>,
    synced: &mut Synced,
) -> Result<()> {
    let mut pace = Pace::new();
    let mut received = [0; BOOKS.len()];
    loop {
        if !fetch(worktree, remote, ask, &mut pace, synced)? {
            continue;
        }
        let (mut wanted, mut found) = (Vec::new(), Vec::new());
        for (book, received) in BOOKS.iter().zip(&mut received) {
            let theirs = notes::tip_of(worktree.repo()?, &tracking(ask.remote, book.short))?;
            let met = meet(worktree, *book, ask, theirs)?;
            let sent = met.union.as_ref().map_or(0, |union| union.sent);
            *received += met.union.as_ref().map_or(0, |union| union.received);
            if met.union.as_ref().is_some_and(|union| union.mended) {
                remark(synced, mended(book, ask));
            }
            if let Some(tip) = met.tip.filter(|tip| met.theirs != Some(*tip)) {
                wanted.push((*book, tip));
            }
            found.push(Exchanged {
                name: book.name,
                received: *received,
                sent,
                tip: met.tip,
            });
        }
        synced.notes = found;
        synced.tries = pace.tries;
        let refused = push(worktree, remote, ask, &wanted)?;
        let Some((name, answer)) = refused.first() else {
            return Ok(());
        };
        let hopeless = answer.is_rule() && pace.tries >= TRIES_AGAINST_A_RULE;
        if hopeless || !pace.again() {
            return Err(not_taken(ask, name, answer, pace.tries).into());
        }
    }
}

/// Brings the remote's notes to the tracking refs; false where it is to be tried again.
fn fetch(
    worktree: &Worktree,
    remote: Remote<'_>,
    ask: Ask<'_>,
    pace: &mut Pace,
    synced: &mut Synced,
) -> Result<bool> {
    let so_far = match pace.tries {
        1 => NOTHING,
        _ => "what came before is merged here",
    };
    let refspec = format!("{NOTES}*:{}", tracking(ask.remote, "*"));
    match remote.fetch(&[&refspec], true, false)? {
        Ok(()) => Ok(true),
        Err(Failed::Ref { diverged: true, .. }) => {
            remark(
                synced,
                format!(
                    "the ledger of {} was rewritten there: what it lost goes back",
                    ask.remote
                ),
            );
            for (name, tip) in worktree.refs_below(&tracking(ask.remote, ""))? {
                git::remove_ref(worktree.repo()?, &name, tip)?;
            }
            if pace.again() {
                Ok(false)
            } else {
                Err(unreachable(ask, "it is rewritten again and again", so_far).into())
            }
        }
        Err(Failed::Ref { words, .. }) => {
            // A sync that was killed leaves locks in our own part of the refs, which nobody else would remove.
            if leftover::remove_below(worktree, OURS)? == 0 && !pace.again() {
                return Err(unreachable(ask, &words, so_far).into());
            }
            Ok(false)
        }
        Err(failed) => Err(failure(ask, failed, so_far).into()),
    }
}

/// Unites what came with what is here, and moves our ref to it.
fn meet(worktree: &Worktree, book: Book, ask: Ask<'_>, theirs: Option<Oid>) -> Result<Met> {
    let repo = worktree.repo()?;
    notes::until_moved("taking over what came", || {
        let tip = notes::tip_of(repo, book.name)?;
        let (target, union) = joined(worktree, repo, book, ask, tip, theirs)?;
        let met = Met {
            tip: target,
            theirs,
            union,
        };
        let Some(target) = target.filter(|target| tip != Some(*target)) else {
            return Ok(met);
        };
        let expected = tip.map_or(PreviousValue::MustNotExist, |tip| {
            PreviousValue::MustExistAndMatch(tip.into())
        });
        git::move_ref(repo, book.name, target, expected, "arkaint: sync")?;
        Ok(met)
    })
}

/// The commit that holds both: one of the two where that is enough. The trees decide, not the history alone: lines that a later commit took
/// away come back.
fn joined(
    worktree: &Worktree,
    repo: &gix::Repository,
    book: Book,
    ask: Ask<'_>,
    tip: Option<Oid>,
    theirs: Option<Oid>,
) -> Result<(Option<Oid>, Option<Union>)> {
    if theirs == tip {
        return Ok((tip, None));
    }
    let (here, there) = (Side::of(repo, tip)?, Side::of(repo, theirs)?);
    let union = union::of(repo, book.rule, here, there)
        .with_context(|| format!("uniting {} with that of {}", book.name, ask.remote))?;
    let target = match (tip, theirs) {
        (Some(tip), Some(theirs)) => {
            let base = worktree.merge_base(tip, theirs)?;
            if base == Some(theirs) && union.tree == here.tree {
                tip
            } else if base == Some(tip) && union.tree == there.tree {
                theirs
            } else {
                let message = format!("arkaint: merge the {} of {}\n", book.short, ask.remote);
                git::commit_as_user(repo, &message, union.tree, &[tip, theirs])?
            }
        }
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => return Ok((None, None)),
    };
    Ok((Some(target), Some(union)))
}

/// Offers our refs to the remote; what it did not take.
fn push(
    worktree: &Worktree,
    remote: Remote<'_>,
    ask: Ask<'_>,
    wanted: &[(Book, Oid)],
) -> Result<Vec<(String, Answer)>> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let refspecs: Vec<_> = wanted
        .iter()
        .map(|(book, tip)| format!("{tip}:{}", book.name))
        .collect();
    let refspecs: Vec<_> = refspecs.iter().map(String::as_str).collect();
    let pushed = match remote.push(&refspecs)? {
        Ok(pushed) => pushed,
        Err(Failed::Ref { words, .. } | Failed::Unreachable(words)) => {
            return Err(Refusal::with_exit(
                Exit::Person,
                format!("{} did not take the ledger: {words}", ask.remote),
                format!(
                    "what {} has is merged here; see why: git push {} refs/notes/arkaint/ledger",
                    ask.remote, ask.remote
                ),
            )
            .into());
        }
        Err(failed) => return Err(failure(ask, failed, NOTHING).into()),
    };
    let mut refused = Vec::new();
    for (book, tip) in wanted {
        match said_of(&pushed, book.name) {
            Answer::Rejected(why) => refused.push((book.name.to_owned(), Answer::Rejected(why))),
            Answer::Taken | Answer::SameAlready => {
                let name = tracking(ask.remote, book.short);
                // The next fetch does the same: another sync that holds the ref is no reason to fail.
                let _ = git::move_ref(
                    worktree.repo()?,
                    &name,
                    *tip,
                    PreviousValue::Any,
                    "arkaint: sync",
                );
            }
        }
    }
    Ok(refused)
}

fn said_of(pushed: &[Pushed], name: &str) -> Answer {
    let said: Vec<_> = pushed.iter().filter(|p| p.name == name).collect();
    // A remote may have several addresses to push to: one that does not take it counts.
    let rejected = said
        .iter()
        .find(|p| matches!(p.answer, Answer::Rejected(_)));
    rejected.or(said.first()).map_or_else(
        || Answer::Rejected("nothing was said of it".to_owned()),
        |pushed| pushed.answer.clone(),
    )
}

/// What [`notes_refs`] would do: objects come, and no ref moves.
fn look(worktree: &Worktree, remote: Remote<'_>, ask: Ask<'_>, synced: &mut Synced) -> Result<()> {
    let there = remote.list(&format!("{NOTES}*"))?;
    let there = there.map_err(|failed| failure(ask, failed, NOTHING))?;
    let refspec = format!("{NOTES}*:{TRACKING}{}/look/*", ask.remote);
    if let (false, Err(failed)) = (there.is_empty(), remote.fetch(&[&refspec], false, true)?) {
        return Err(failure(ask, failed, NOTHING).into());
    }
    synced.tries = 1;
    let repo = worktree.repo()?.clone().with_object_memory();
    for book in BOOKS {
        let theirs = there.iter().find(|(name, _)| name == book.name);
        let theirs = theirs.map(|(_, tip)| *tip);
        let tip = notes::tip_of(&repo, book.name)?;
        let (_, union) = joined(worktree, &repo, book, ask, tip, theirs)?;
        if union.as_ref().is_some_and(|union| union.mended) {
            remark(synced, mended(&book, ask));
        }
        synced.notes.push(Exchanged {
            name: book.name,
            received: union.as_ref().map_or(0, |union| union.received),
            sent: union.as_ref().map_or(0, |union| union.sent),
            tip,
        });
    }
    Ok(())
}

/// Refs that only move forward, both ways, as they are.
fn travel(
    worktree: &Worktree,
    remote: Remote<'_>,
    ask: Ask<'_>,
    what: &'static str,
    below: &str,
) -> Result<Travelled> {
    const SENT: &str = "the ledger is exchanged";
    let before = worktree.refs_below(below)?;
    let refspec = format!("{below}*:{below}*");
    let (mut pace, mut sent) = (Pace::new(), 0);
    loop {
        match remote.fetch(&[&refspec], false, false)? {
            // What was moved apart is named by the push.
            Ok(()) | Err(Failed::Ref { .. }) => {}
            Err(failed) => return Err(failure(ask, failed, SENT).into()),
        }
        let here = worktree.refs_below(below)?;
        let pushed = if here.is_empty() {
            Vec::new()
        } else {
            match remote.push(&[&refspec])? {
                Ok(pushed) => pushed,
                Err(Failed::Ref { words, .. }) => return Err(unreachable(ask, &words, SENT).into()),
                Err(failed) => return Err(failure(ask, failed, SENT).into()),
            }
        };
        sent += pushed.iter().filter(|p| p.answer == Answer::Taken).count();
        let apart: Vec<_> = pushed
            .into_iter()
            .filter_map(|pushed| match pushed.answer {
                Answer::Rejected(why) => Some((pushed.name, why)),
                _ => None,
            })
            .collect();
        if apart.is_empty() || pace.tries >= TRIES_APART || !pace.again() {
            let received = here.iter().filter(|one| !before.contains(one)).count();
            return Ok(Travelled {
                what,
                received,
                sent,
                apart,
            });
        }
    }
}

/// What [`travel`] would do, by names alone: which of two that differ is ahead is not known without its objects.
fn compare(
    worktree: &Worktree,
    remote: Remote<'_>,
    ask: Ask<'_>,
    what: &'static str,
    below: &str,
) -> Result<Travelled> {
    let there = remote.list(&format!("{below}*"))?;
    let there = there.map_err(|failed| failure(ask, failed, NOTHING))?;
    let here = worktree.refs_below(below)?;
    let lacks = |side: &[(String, Oid)], name: &str| side.iter().all(|(other, _)| other != name);
    Ok(Travelled {
        what,
        received: there.iter().filter(|(name, _)| lacks(&here, name)).count(),
        sent: here.iter().filter(|(name, _)| lacks(&there, name)).count(),
        apart: Vec::new(),
    })
}

fn remark(synced: &mut Synced, line: String) {
    if !synced.remarks.contains(&line) {
        synced.remarks.push(line);
    }
}

fn mended(book: &Book, ask: Ask<'_>) -> String {
    format!(
        "{} had two notes on one object, here or on {}: both were kept in one (git notes merge would have given up)",
        book.name, ask.remote
    )
}

/// `so_far`: what was done before, in words.
fn failure(ask: Ask<'_>, failed: Failed, so_far: &str) -> Refusal {
    match failed {
        Failed::Interrupted(signal) => Refusal::with_exit(
            Exit::Interrupted(u8::try_from(signal).unwrap_or(2)),
            "interrupted",
            format!("git arkaint sync {}", shell_words::quote(ask.remote)),
        ),
        Failed::Unreachable(words) | Failed::Ref { words, .. } => unreachable(ask, &words, so_far),
    }
}

fn unreachable(ask: Ask<'_>, words: &str, so_far: &str) -> Refusal {
    Refusal::with_exit(
        Exit::Person,
        format!(
            "{} cannot be reached; {so_far}: {}",
            ask.remote,
            words.trim()
        ),
        format!("see why: git ls-remote {}", ask.remote),
    )
}

fn not_taken(ask: Ask<'_>, name: &str, answer: &Answer, tries: u32) -> Refusal {
    let why = match answer {
        Answer::Rejected(why) => why.as_str(),
        Answer::Taken | Answer::SameAlready => "",
    };
    let cause = format!("{} does not take {name}: {why} ({tries} tries)", ask.remote);
    if answer.is_rule() {
        Refusal::with_exit(
            Exit::Person,
            cause,
            format!(
                "a rule of {} refuses it: allow refs/notes/arkaint/* there, or sync with another remote",
                ask.remote
            ),
        )
    } else {
        Refusal::with_exit(
            Exit::Person,
            cause,
            format!(
                "what {} has is merged here; later: git arkaint sync {}",
                ask.remote, ask.remote
            ),
        )
    }
}

/// A setting by which every `git fetch` throws away records that were not pushed.
pub(crate) struct Wiping {
    /// `KEY = VALUE`.
    pub setting: String,
    /// The command that takes it away.
    pub mend: String,
}

/// Such settings of `remote`, or of all.
///
/// # Errors
/// When the configuration cannot be read.
pub(crate) fn wiping(worktree: &Worktree, remote: Option<&str>) -> Result<Vec<Wiping>> {
    let settings = worktree.settings("remote")?.into_iter();
    let forced = settings.filter(|(key, value)| {
        let of = key
            .strip_prefix("remote.")
            .and_then(|key| key.strip_suffix(".fetch"));
        of.is_some_and(|of| remote.is_none_or(|remote| remote == of))
            && value.starts_with("+refs/notes/")
            && value.contains(":refs/notes/")
    });
    let forced = forced.map(|(key, value)| {
        let words = [
            "git",
            "config",
            "--unset-all",
            "--fixed-value",
            &key,
            &value,
        ];
        Wiping {
            setting: format!("{key} = {value}"),
            mend: shell_words::join(words),
        }
    });
    Ok(forced.collect())
}
