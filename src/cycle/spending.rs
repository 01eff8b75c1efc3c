//! Tokens and money, of one run and of one day (UTC). Unknown stays unknown: it is never added up as 0.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::scratch;
use crate::agent::launch::{self, AgentRun};
use crate::config::Config;
use crate::exit::{Exit, Refusal};
use crate::git::Worktree;
use crate::ledger::record;
use crate::ledger::spent::{self, By, Sum};
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

/// The present UTC day's use.
pub(crate) fn today(worktree: &Worktree) -> Result<Sum> {
    spent::of_day(worktree, &record::now()[..10])
}

/// Refuses a launch for which the day has nothing left.
pub(crate) fn admit(worktree: &Worktree, config: &Config) -> Result<()> {
    let day = today(worktree)?;
    let spent = if day.tokens() >= config.budget.day_tokens {
        format!(
            "budget.day_tokens: {} tokens used today (UTC), {} allowed",
            day.tokens(),
            config.budget.day_tokens
        )
    } else if day.usd() >= config.budget.day_usd {
        format!(
            "budget.day_usd: {} spent today (UTC), {} allowed",
            text::usd(day.usd()),
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

/// The file of the days, in `.arkaint/audit/`.
const DAILY: &str = "daily.jsonl";

/// Writes `.arkaint/audit/daily.jsonl`: a line a day. Other days than that of the run that ended `at` stand there
/// already, unless the file is new.
pub(crate) fn roll_up(worktree: &Worktree, at: &str) -> Result<()> {
    let Some(mut lines) = scratch::read_audit(worktree, DAILY) else {
        return roll_up_all(worktree);
    };
    let date = at.get(..10).unwrap_or_default();
    let same = format!("{{\"date\":\"{date}\"");
    lines.retain(|line| !line.starts_with(&same));
    let mut text = lines.concat();
    text.push_str(&line(date, &spent::of_day(worktree, date)?));
    scratch::replace_audit(worktree, DAILY, &text)
}

/// Writes a line for every day of the ledger.
pub(crate) fn roll_up_all(worktree: &Worktree) -> Result<()> {
    let days = spent::by(worktree, By::Day, None, &BTreeMap::new())?;
    let lines = days
        .iter()
        .filter_map(|(date, day)| Some(line(date.as_deref()?, day)));
    scratch::replace_audit(worktree, DAILY, &lines.collect::<String>())
}

fn line(date: &str, day: &Sum) -> String {
    json!({
        "date": date, "zone": "UTC", "runs": day.runs, "tokens": day.tokens(), "runs_with_unknown_tokens": day.tokens_unknown,
        "usd": day.usd(), "runs_with_unknown_cost": day.usd_unknown,
    })
    .to_string()
        + "\n"
}
