//! Tokens and money, of one run and of one day (UTC). Unknown stays unknown: it is never added up as 0.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::scratch;
use crate::agent::launch::{self, AgentRun};
use crate::config::Config;
use crate::exit::{Exit, Refusal};
use crate::git::Worktree;
use crate::ledger::{Kind, Record, notes, record};
use crate::text;

/// What a run cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cost {
    /// As the agent reported it, USD.
    Reported(f64),
    /// By the configured price of the model, USD.
    Computed(f64),
    Unknown,
}

impl Cost {
    pub(crate) fn of(ran: &AgentRun, config: &Config) -> Self {
        let price = launch::price_of(&ran.transcript, &config.agent, &config.prices);
        match (ran.transcript.cost_usd, ran.transcript.usage, price) {
            (Some(usd), ..) => Self::Reported(usd),
            (None, Some(usage), Some(price)) if usage.total().is_some() => {
                Self::Computed(launch::cost(usage, price))
            }
            _ => Self::Unknown,
        }
    }

    pub(crate) fn to_json(self) -> Value {
        match self {
            Self::Reported(usd) => json!({"usd": usd, "source": "reported"}),
            Self::Computed(usd) => json!({"usd": usd, "source": "computed"}),
            Self::Unknown => json!({"usd": null, "source": "unknown"}),
        }
    }
}

/// What one UTC day has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Day {
    pub runs: u64,
    /// Tokens that were reported.
    pub tokens: u64,
    /// Runs whose tokens are unknown.
    pub tokens_unknown: u64,
    /// USD that were reported or computed.
    pub usd: f64,
    /// Runs whose cost is unknown.
    pub usd_unknown: u64,
}

impl Day {
    fn add(&mut self, run: &Record) {
        self.runs += 1;
        let tokens = run.get("tokens").filter(|t| t.is_object());
        let part = |name: &str| tokens.and_then(|t| t.get(name)).and_then(Value::as_u64);
        match (
            part("input"),
            part("output"),
            run.get("tokens_estimated").and_then(Value::as_u64),
        ) {
            (None, None, estimated) => {
                // A budget must hold where an agent tells nothing: the estimate counts against it, and the run counts as unknown.
                self.tokens += estimated.unwrap_or(0);
                self.tokens_unknown += 1;
            }
            (input, output, _) => self.tokens += input.unwrap_or(0) + output.unwrap_or(0),
        }
        match run
            .get("cost")
            .and_then(|c| c.get("usd"))
            .and_then(Value::as_f64)
        {
            Some(usd) => self.usd += usd,
            None => self.usd_unknown += 1,
        }
    }
}

/// All days that the ledger has runs of, by date.
pub(crate) fn days(worktree: &Worktree) -> Result<BTreeMap<String, Day>> {
    let mut days: BTreeMap<String, Day> = BTreeMap::new();
    for (_, run) in notes::all(worktree)?
        .iter()
        .filter(|(_, r)| r.is(Kind::Run))
    {
        days.entry(run.at().chars().take(10).collect())
            .or_default()
            .add(run);
    }
    Ok(days)
}

/// The present day's use.
pub(crate) fn today(worktree: &Worktree) -> Result<Day> {
    let date: String = record::now().chars().take(10).collect();
    Ok(days(worktree)?.get(&date).copied().unwrap_or_default())
}

/// Refuses a launch for which the day has nothing left.
pub(crate) fn admit(worktree: &Worktree, config: &Config) -> Result<()> {
    let day = today(worktree)?;
    let spent = if day.tokens >= config.budget.day_tokens {
        format!(
            "budget.day_tokens: {} tokens used today (UTC), {} allowed",
            day.tokens, config.budget.day_tokens
        )
    } else if day.usd >= config.budget.day_usd {
        format!(
            "budget.day_usd: {} spent today (UTC), {} allowed",
            text::usd(day.usd),
            text::usd(config.budget.day_usd)
        )
    } else {
        return Ok(());
    };
    Err(Refusal::with_exit(
        Exit::Budget,
        spent,
        "wait for tomorrow (UTC), or raise [budget] in arkaint.toml and commit it",
    )
    .into())
}

/// Writes `.arkaint/audit/daily.jsonl`: a line a day.
pub(crate) fn roll_up(worktree: &Worktree) -> Result<()> {
    let lines = days(worktree)?.into_iter().map(|(date, day)| {
        json!({
            "date": date, "zone": "UTC", "runs": day.runs, "tokens": day.tokens, "runs_with_unknown_tokens": day.tokens_unknown,
            "usd": day.usd, "runs_with_unknown_cost": day.usd_unknown,
        })
        .to_string()
            + "\n"
    });
    scratch::replace_audit(worktree, "daily.jsonl", &lines.collect::<String>())
}
