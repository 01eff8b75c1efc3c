//! Tokens and money of many runs, added up. Unknown is counted, never added as 0; a record that a rebase or a repair put on a second
//! commit counts once. It knows no budget.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use super::used::{Run, Usd, Used};
use super::{cache, notes};
use crate::agent::launch;
use crate::config::Price;
use crate::git::{Oid, Worktree};

/// What runs are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// UTC.
    Day,
    Model,
    Provider,
    Profile,
    Task,
    Agent,
}

/// What some runs used.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    pub runs: u64,
    /// Tokens as reported; cached ones are part of the input.
    pub input: u64,
    pub output: u64,
    /// Tokens found in the provider's cache.
    pub cached: u64,
    /// Runs whose tokens are unknown, and what their streams were estimated at; no part of the above.
    pub tokens_unknown: u64,
    pub estimated: u64,
    /// USD that agents reported, and of how many runs.
    pub reported: f64,
    pub reported_runs: u64,
    /// USD by configured prices, and of how many runs.
    pub computed: f64,
    pub computed_runs: u64,
    /// Those of the computed ones that were unknown at the time and are priced as configured now.
    pub repriced_runs: u64,
    /// Runs whose cost is unknown.
    pub usd_unknown: u64,
}

impl Sum {
    fn add(&mut self, run: &Run<'_>, prices: &BTreeMap<String, Price>) {
        self.runs += 1;
        let usage = run.usage;
        if usage.total().is_some() {
            self.input = self.input.saturating_add(usage.input.unwrap_or(0));
            self.output = self.output.saturating_add(usage.output.unwrap_or(0));
            self.cached = self.cached.saturating_add(usage.cache_read.unwrap_or(0));
        } else {
            self.tokens_unknown += 1;
            self.estimated = self.estimated.saturating_add(run.estimated);
        }
        match run.usd {
            Usd::Reported(usd) => {
                self.reported += usd;
                self.reported_runs += 1;
            }
            Usd::Computed(usd) => {
                self.computed += usd;
                self.computed_runs += 1;
            }
            Usd::Unknown => match price(run, prices) {
                Some(price) if usage.total().is_some() => {
                    self.computed += launch::cost(usage, price);
                    self.computed_runs += 1;
                    self.repriced_runs += 1;
                }
                _ => self.usd_unknown += 1,
            },
        }
    }

    /// Adds what other runs used.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
        self.tokens_unknown += other.tokens_unknown;
        self.estimated = self.estimated.saturating_add(other.estimated);
        self.reported += other.reported;
        self.reported_runs += other.reported_runs;
        self.computed += other.computed;
        self.computed_runs += other.computed_runs;
        self.repriced_runs += other.repriced_runs;
        self.usd_unknown += other.usd_unknown;
    }

    /// What counts against a budget of tokens: that must hold where an agent tells nothing, so the estimate counts.
    pub(crate) fn tokens(&self) -> u64 {
        self.input
            .saturating_add(self.output)
            .saturating_add(self.estimated)
    }

    /// USD that are known: the least that was spent.
    pub(crate) fn usd(&self) -> f64 {
        self.reported + self.computed
    }
}

fn price(run: &Run<'_>, prices: &BTreeMap<String, Price>) -> Option<Price> {
    let (provider, model) = (run.provider?, run.model?);
    prices.get(&format!("{provider}/{model}")).copied()
}

/// Sums by one word of each run; `None` for runs that do not tell it. `since`: none that ended before, as [`super::since::parse`] gives
/// it. `prices`: what runs of unknown cost are priced by now.
pub(crate) fn by(
    worktree: &Worktree,
    by: By,
    since: Option<&str>,
    prices: &BTreeMap<String, Price>,
) -> Result<BTreeMap<Option<String>, Sum>> {
    cache::with(worktree, |cache| {
        let mut sums: HashMap<String, Sum> = HashMap::new();
        let mut untold = Sum::default();
        cache.each_run(|run| {
            if since.is_some_and(|since| run.at < since) {
                return;
            }
            let word = match by {
                By::Day => run.day(),
                By::Model => run.model,
                By::Provider => run.provider,
                By::Profile => run.profile,
                By::Task => run.task,
                By::Agent => run.agent,
            };
            let sum = match word.filter(|word| !word.is_empty()) {
                None => &mut untold,
                // Most words were there before: none is copied to look for its sum.
                Some(word) if sums.contains_key(word) => sums.get_mut(word).unwrap_or(&mut untold),
                Some(word) => sums.entry(word.to_owned()).or_default(),
            };
            sum.add(run, prices);
        })?;
        let told = sums.into_iter().map(|(word, sum)| (Some(word), sum));
        let untold = (untold.runs > 0).then_some((None, untold));
        Ok(told.chain(untold).collect())
    })
}

/// What one UTC day (`2026-01-31`) used, from the ledger itself: a budget rests on it. A launch asks several times: the whole is read again only
/// when its ref has moved.
pub(crate) fn of_day(worktree: &Worktree, day: &str) -> Result<Sum> {
    static LAST: Mutex<Option<(Oid, String, Sum)>> = Mutex::new(None);
    let Some(tip) = notes::tip(worktree.repo()?)? else {
        return Ok(Sum::default());
    };
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, of, sum)) = &*last
        && (*at, of.as_str()) == (tip, day)
    {
        return Ok(sum.clone());
    }
    let mut sum = Sum::default();
    // Lines, not ids: a forged record with the id of another must not hide it.
    let (keys, mut seen) = (RandomState::new(), HashSet::new());
    notes::each_line(worktree, |_, line| {
        if let Some(used) = Used::from_line(line, Some(day))
            && seen.insert(keys.hash_one(line))
        {
            sum.add(&used.run(), &BTreeMap::new());
        }
    })?;
    *last = Some((tip, day.to_owned(), sum.clone()));
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Kind, Record};
    use super::*;
    use crate::git::fixture::Repo;

    #[test]
    fn a_day_follows_the_ledger_whoever_writes_it() {
        let repo = Repo::new();
        repo.git(["commit", "-q", "--allow-empty", "-m", "start"]);
        let (worktree, other) = (repo.worktree(), repo.worktree());
        let head = worktree.head().unwrap().unwrap();
        let run = Record::new(Kind::Run, json!({"tokens": {"input": 5, "output": 2}}));
        let day = run.at()[..10].to_owned();
        let tokens = |day: &str| of_day(&worktree, day).unwrap().tokens();
        assert_eq!(tokens(&day), 0);
        notes::append(&worktree, head, &[run]).unwrap();
        assert_eq!(
            (tokens(&day), tokens(&day), tokens("2001-01-01")),
            (7, 7, 0)
        );
        let more = Record::new(Kind::Run, json!({"tokens": {"input": 1, "output": 0}}));
        // It may be tomorrow by now.
        let day = more.at()[..10].to_owned();
        let before = tokens(&day);
        notes::append(&other, head, &[more]).unwrap();
        assert_eq!(tokens(&day), before + 1);
    }
}
