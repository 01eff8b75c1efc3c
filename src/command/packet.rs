//! `git arkaint packet`: what an agent would get. Reads only, takes no lock, works inside a run.

use anyhow::Result;
use serde_json::{Value, json};

use crate::cli::Packet;
use crate::cycle::packing;
use crate::exit::{Exit, Refusal};
use crate::gate::{self, task};
use crate::git::Worktree;
use crate::text;
use crate::tokens;
use crate::ui::{Tone, Ui};

pub(super) fn run(worktree: &Worktree, args: &Packet, ui: &Ui) -> Result<Exit> {
    let config = gate::config_for_reading(worktree, task::profile(&args.task))?;
    let branch = worktree.branch()?.unwrap_or_default();
    if worktree.head()?.is_none() {
        return Err(Refusal::new(
            "this branch has no commit yet",
            "git add -A && git commit -m 'start'",
        )
        .into());
    }
    let task = task::settle(worktree, &branch, task::given(&args.task, &config)?)?;
    let asked = packing::asked(worktree, &config, &branch, &task)?;
    let asked = asked.as_ref().map(|(proof, standing)| (proof, standing));
    let packet = packing::of(worktree, &config, &task, None, None, asked)?;
    let piped = packet.piped();
    let stats = args.stats.then(|| {
        let layers: Vec<_> = packet
            .layers
            .iter()
            .map(|layer| {
                let text = &piped[layer.span.clone()];
                json!({"name": layer.name, "bytes": text.len(), "tokens": tokens::count(text), "cut_bytes": layer.cut_bytes, "left_out": layer.left_out})
            })
            .collect();
        json!({"layers": layers, "bytes": piped.len(), "tokens": tokens::count(&piped), "tokenizer": "o200k", "max_bytes": config.packet.max_chars, "sensitive_left_out": packet.sensitive_left_out})
    });
    if ui.is_json() {
        ui.json(
            &json!({"v": 1, "prompt": packet.prompt, "payload": packet.payload, "stats": stats}),
        );
        return Ok(Exit::Done);
    }
    match stats {
        Some(stats) => print_stats(&stats, config.packet.max_chars, ui),
        None if args.full => ui.raw(piped.as_bytes()),
        None => ui.raw(packet.payload.as_bytes()),
    }
    Ok(Exit::Done)
}

fn print_stats(stats: &Value, most: usize, ui: &Ui) {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let row = |name: &str, of: &Value| {
        format!(
            "{name:<14} {:>9} {:>8} {:>9} {:>9}",
            number(&of["bytes"]),
            number(&of["tokens"]),
            number(&of["cut_bytes"]),
            number(&of["left_out"])
        )
    };
    ui.out_toned(
        Tone::Head,
        format!(
            "{:<14} {:>9} {:>8} {:>9} {:>9}",
            "layer", "bytes", "tokens", "cut", "left out"
        ),
    );
    for layer in stats["layers"].as_array().into_iter().flatten() {
        ui.out(row(layer["name"].as_str().unwrap_or_default(), layer));
    }
    ui.out(format!(
        "{:<14} {:>9} {:>8}  (at most {}; tokens by o200k)",
        "whole",
        number(&stats["bytes"]),
        number(&stats["tokens"]),
        text::human_bytes(most as u64)
    ));
    if number(&stats["sensitive_left_out"]) > 0 {
        ui.out(format!(
            "{} sensitive paths left out",
            number(&stats["sensitive_left_out"])
        ));
    }
}
