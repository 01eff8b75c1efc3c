//! What runs cost: sums over real runs of scripted agents, budgets of a run and of a day, and what is unknown.

use serde_json::{Value, json};

use crate::cycle::records;
use crate::sandbox::{Ran, Sandbox};
use crate::stand_in::PRELUDE;

/// A project without tests, with this configuration, and an agent that writes `work.txt` and reports `usage` (one JSON object) on its task.
fn world(config: &str) -> Sandbox {
    let sandbox = Sandbox::ready("false");
    let toml = sandbox.read("arkaint.toml");
    sandbox.write("arkaint.toml", &format!("{toml}{config}\n"));
    sandbox.commit_all("configuration");
    sandbox
}

fn agent(sandbox: &Sandbox, usage: &Value) {
    sandbox.agent(&format!(
        "cat > /dev/null; date +%N >> work.txt; echo '{}'; echo 'ARKAINT: done'\n",
        json!({"arkaint": usage})
    ));
}

fn boot(sandbox: &Sandbox, task: &str, profile: &str) -> Ran {
    sandbox.arkaint(["boot", task, profile])
}

fn cost(sandbox: &Sandbox, args: &[&str]) -> Value {
    let args = [&["cost", "--json"], args].concat();
    sandbox.arkaint(args).expect(0).json()
}

fn row<'a>(cost: &'a Value, word: &str) -> &'a Value {
    let by = cost["by"].as_str().unwrap();
    let mut rows = cost["rows"].as_array().unwrap().iter();
    rows.find(|row| row[by] == word)
        .unwrap_or_else(|| panic!("{word}: {cost}"))
}

/// A model speaks, and nothing says what it used.
const TELLS_NOTHING: &str = r"date +%N >> work.txt; say end 'done\nARKAINT: done'";

const PRICE: &str = "provider = \"stub\"\n\n[price.\"stub/big\"]\ninput = 10.0\noutput = 50.0\ncache_read = 1.0\ncache_write = 1.0\n";

#[test]
fn reported_computed_and_unknown_are_kept_apart_by_every_word() {
    let sandbox = world(PRICE);
    let used = |model: &str| json!({"input_tokens": 1000, "output_tokens": 100, "cache_read_tokens": 200, "model": model});
    let mut reported = used("small");
    reported["cost_usd"] = 0.25.into();
    agent(&sandbox, &reported);
    boot(&sandbox, "first task", "auditor").expect(0);
    agent(&sandbox, &used("big"));
    boot(&sandbox, "second task", "auditor").expect(0);
    agent(&sandbox, &used("nobody-knows"));
    boot(&sandbox, "second task", "debugger").expect(0);
    sandbox.agent(&format!("{PRELUDE}\n{TELLS_NOTHING}"));
    boot(&sandbox, "third task", "debugger").expect(1);

    let days = cost(&sandbox, &[]);
    let day = &days["rows"][0];
    assert_eq!(
        (
            days["zone"].as_str(),
            days["rows"].as_array().unwrap().len()
        ),
        (Some("UTC"), 1)
    );
    assert_eq!(
        day["day"],
        records(&sandbox, "run")[0]["at"].as_str().unwrap()[..10]
    );
    assert_eq!(
        (
            &day["runs"],
            &day["tokens"]["input"],
            &day["tokens"]["cached"]
        ),
        (&json!(4), &json!(3000), &json!(600))
    );
    assert_eq!(day["tokens"]["unknown_runs"], 1);
    assert!(day["tokens"]["estimated"].as_u64().unwrap() > 0);
    let usd = &day["usd"];
    // 800 x 10 + 200 x 1 + 100 x 50 USD a million.
    let near = |value: &Value, wanted: f64| (value.as_f64().unwrap() - wanted).abs() < 1e-9;
    assert!(
        near(&usd["reported"], 0.25) && near(&usd["computed"], 0.0132),
        "{usd}"
    );
    assert!(
        usd["total"].is_null() && near(&usd["at_least"], 0.2632),
        "{usd}"
    );
    assert_eq!(usd["unknown_runs"], 2);

    assert_eq!(row(&cost(&sandbox, &["--by", "model"]), "big")["runs"], 1);
    assert_eq!(
        row(&cost(&sandbox, &["--by", "task"]), "second task")["runs"],
        2
    );
    assert_eq!(
        row(&cost(&sandbox, &["--by", "profile"]), "auditor")["usd"]["unknown_runs"],
        0
    );
    assert!(row(&cost(&sandbox, &["--by", "profile"]), "auditor")["usd"]["total"].is_number());
    assert_eq!(
        row(&cost(&sandbox, &["--by", "provider"]), "stub")["runs"],
        4
    );
    assert_eq!(
        row(&cost(&sandbox, &["--by", "agent"]), "command")["runs"],
        4
    );

    let shown = sandbox.arkaint(["cost", "--by", "task"]).expect(0).stdout;
    assert!(
        shown.contains("total ≥ $0.26 (2 runs unknown) in 4 runs, days in UTC"),
        "{shown}"
    );
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    assert!(
        cost(&sandbox, &["--since", "2100-01-01"])["rows"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert_eq!(cost(&sandbox, &["--since", "1d"])["total"]["runs"], 4);
    sandbox.arkaint(["cost", "--since", "yesterday"]).expect(2);

    // A price that becomes known later prices what was unknown, when asked; what was computed stays as it was.
    let toml = sandbox.read("arkaint.toml").replace("10.0", "99.0");
    sandbox.write(
        "arkaint.toml",
        &format!("{toml}\n[price.\"stub/nobody-knows\"]\ninput = 1.0\noutput = 1.0\n"),
    );
    sandbox.commit_all("prices");
    assert_eq!(cost(&sandbox, &[])["total"]["usd"], *usd);
    let again = cost(&sandbox, &["--reprice"]);
    let usd = &again["total"]["usd"];
    assert_eq!(
        (&usd["repriced_runs"], &usd["unknown_runs"]),
        (&json!(1), &json!(1))
    );
    assert!(near(&usd["computed"], 0.0132 + 0.0011), "{usd}");
}

#[test]
fn a_record_that_a_rebase_carried_along_counts_once_and_a_forged_one_hides_none() {
    let sandbox = world("");
    agent(
        &sandbox,
        &json!({"input_tokens": 10, "output_tokens": 1, "cost_usd": 2.0}),
    );
    boot(&sandbox, "a task", "default").expect(0);
    let run = sandbox.git(["notes", "--ref=arkaint/ledger", "show", "HEAD"]);
    let id = records(&sandbox, "run")[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "another"]);
    sandbox.git(["notes", "--ref=arkaint/ledger", "copy", "HEAD~1", "HEAD"]);
    assert_eq!(cost(&sandbox, &[])["total"]["usd"]["total"], 2.0);
    assert_eq!(
        sandbox.arkaint(["status", "--json"]).expect(0).json()["today"]["usd"],
        2.0
    );
    // Lines of anybody: the id of a real run with less, money back, values of wrong types, no JSON at all.
    let at = &run[..run.find(",\"id\"").unwrap()];
    let forged = format!(
        "{run}\n{at},\"id\":\"{id}\",\"kind\":\"run\",\"v\":1,\"cost\":{{\"usd\":0,\"source\":\"reported\"}}}}\n{at},\"id\":\"x\",\"kind\":\"run\",\"cost\":{{\"usd\":-5}},\"tokens\":[1]}}\nnot \"run\" JSON\n{{\"run\"\n"
    );
    sandbox.write("forged", &forged);
    sandbox.git([
        "notes",
        "--ref=arkaint/ledger",
        "add",
        "-f",
        "-F",
        "forged",
        "HEAD",
    ]);
    let total = &cost(&sandbox, &[])["total"];
    assert_eq!(
        (&total["runs"], &total["usd"]["at_least"]),
        (&json!(3), &json!(2.0))
    );
    assert_eq!(total["usd"]["unknown_runs"], 1);
}

#[test]
fn a_day_s_budget_holds_for_all_worktrees_together_and_names_what_was_spent() {
    let sandbox = world("\n[budget]\nday_usd = 3.0\n");
    agent(
        &sandbox,
        &json!({"input_tokens": 10, "output_tokens": 1, "cost_usd": 2.0}),
    );
    boot(&sandbox, "here", "default").expect(0);
    sandbox.git(["worktree", "add", "-q", "-b", "arkaint/other", "../other"]);
    let there = ["-C", "../other", "boot", "there"];
    agent(
        &sandbox,
        &json!({"input_tokens": 10, "output_tokens": 1, "cost_usd": 1.0}),
    );
    sandbox.arkaint(there).expect(0);
    for refused in [sandbox.arkaint(there), boot(&sandbox, "here", "default")] {
        let refused = refused.expect(5);
        assert!(
            refused
                .stderr
                .contains("budget.day_usd: 3.00 USD spent today (UTC), 3.00 USD allowed"),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(records(&sandbox, "run").len(), 2);
    // What the day has left caps a launch on its live stream.
    let toml = sandbox
        .read("arkaint.toml")
        .replace("day_usd = 3.0", "day_usd = 4.0");
    sandbox.write("arkaint.toml", &toml);
    sandbox.commit_all("a little more");
    sandbox.agent("cat > /dev/null; echo '{\"arkaint\":{\"cost_usd\":1.5}}'; sleep 60; echo late > late.txt\n");
    let ended = boot(&sandbox, "here", "default").expect(5);
    assert!(
        ended
            .stderr
            .contains("budget.day_usd: 1.50 USD spent, 1.00 USD allowed"),
        "{}",
        ended.stderr
    );
    assert!(!sandbox.exists("late.txt"));
}

#[test]
fn estimated_tokens_count_against_the_day_where_an_agent_tells_none() {
    let sandbox = world("\n[budget]\nday_tokens = 100\n");
    sandbox.agent(&format!("{PRELUDE}\n{TELLS_NOTHING}"));
    // The packet alone is more than a hundred tokens: the first launch is admitted, and ended or recorded by its estimate.
    boot(&sandbox, "a task", "default");
    let estimated = records(&sandbox, "run")[0]["tokens_estimated"]
        .as_u64()
        .unwrap();
    assert!(estimated > 100);
    let refused = boot(&sandbox, "a task", "default").expect(5);
    assert!(
        refused.stderr.contains(&format!(
            "budget.day_tokens: {estimated} tokens used today (UTC), 100 allowed"
        )),
        "{}",
        refused.stderr
    );
    let daily = sandbox.read(".arkaint/audit/daily.jsonl");
    let line: Value = serde_json::from_str(daily.trim_end()).unwrap();
    assert_eq!(
        (&line["tokens"], &line["runs_with_unknown_tokens"]),
        (&json!(estimated), &json!(1))
    );
    assert_eq!(cost(&sandbox, &[])["total"]["tokens"]["input"], 0);
}
