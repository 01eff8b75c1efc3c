//! What Arkaint does itself where an agent does not, with a stand-in that prints that agent's stream.

use serde_json::json;

use crate::sandbox::Sandbox;

/// OpenCode asks again for ever where a reply is cut: it is ended before that costs anything.
#[test]
fn an_agent_that_goes_round_in_a_circle_is_ended() {
    let sandbox = Sandbox::ready("\"true\"");
    let script = sandbox.agent_script();
    sandbox.write(
        "arkaint.toml",
        &format!(
            "[checkpoint]\ntest = \"true\"\n\n[agent]\nname = \"opencode\"\ncommand = [\"sh\", \"{}\"]\n\n[cycle]\nfix_rounds = 0\n",
            script.display()
        ),
    );
    sandbox.commit_all("opencode is the agent");
    sandbox.agent(
        r#"
        if [ "$1" = --version ]; then echo 1.18.33; exit; fi
        cat > "$HOME/packet"; echo part > part.txt
        for round in 1 2; do
            echo '{"type":"text","timestamp":1,"sessionID":"s","part":{"messageID":"m'$round'","text":"I will now"}}'
            echo '{"type":"step_finish","timestamp":1,"sessionID":"s","part":{"reason":"unknown","tokens":{"input":0,"output":0},"cost":0}}'
        done
        exec sleep 600
        "#,
    );
    sandbox.arkaint(["cycle", "a task"]).expect(3);
    let log = sandbox
        .arkaint(["log", "--json", "--kind", "run"])
        .expect(0)
        .json();
    let run = &log["records"][0];
    assert_eq!(
        (&run["agent"], &run["outcome"], &run["reason"]),
        (
            &json!("opencode"),
            &json!("capped"),
            &json!("cut off: the reply has no end, 2 times")
        )
    );
    assert_eq!(sandbox.read("part.txt"), "part\n");
}

/// Codex has no limit of turns; a stand-in that would go on for ever is ended after those that are allowed.
#[test]
fn turns_are_counted_from_outside_where_an_agent_does_not_count_them() {
    let sandbox = Sandbox::ready("\"true\"");
    let script = sandbox.agent_script();
    sandbox.write(
        "arkaint.toml",
        &format!(
            "[checkpoint]\ntest = \"true\"\n\n[agent]\nname = \"codex\"\ncommand = [\"sh\", \"{}\"]\nmodel = \"m\"\nmax_turns = 3\n\n[cycle]\nfix_rounds = 1\n",
            script.display()
        ),
    );
    sandbox.commit_all("codex is the agent");
    sandbox.agent(
        r#"
        if [ "$1" = --version ]; then echo "codex-cli 0.171.0"; exit; fi
        cat > "$HOME/packet"; printf '%s\n' "$@" > "$HOME/words"; echo more >> work.txt
        echo '{"type":"thread.started","thread_id":"t"}'
        turn=0
        while turn=$((turn + 1)); do
            item='"id":"item_'$turn'","type":"command_execution","command":"echo '$turn'"'
            echo '{"type":"item.started","item":{'"$item"',"status":"in_progress"}}'
            echo '{"type":"item.completed","item":{'"$item"',"aggregated_output":"'$turn'","exit_code":0,"status":"completed"}}'
            [ "$turn" -lt 4 ] || exec sleep 600
        done
        "#,
    );
    let ran = sandbox.arkaint(["cycle", "count for ever"]).expect(3);
    let log = sandbox
        .arkaint(["log", "--json", "--kind", "run"])
        .expect(0)
        .json();
    let runs = log["records"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{}", ran.stderr);
    for run in runs {
        assert_eq!(
            (
                &run["agent"],
                &run["outcome"],
                &run["version"],
                &run["model"]
            ),
            (
                &json!("codex"),
                &json!("capped"),
                &json!("0.171.0"),
                &json!("m")
            )
        );
        assert_eq!(run["reason"], "agent.max_turns: 3 turns allowed");
        assert_eq!(run["cost"]["source"], "unknown");
    }
    assert_eq!(
        sandbox.read("work.txt"),
        "more\nmore\n",
        "the work is kept from one launch to the next"
    );
    let words = std::fs::read_to_string(sandbox.home().join("words")).unwrap();
    assert!(
        words.starts_with("exec\n--json\n") && words.ends_with("\n-m\nm\n-\n"),
        "{words}"
    );
}
