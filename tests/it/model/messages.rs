//! The same script in Anthropic's words: the messages API, as far as Claude Code needs it.

use serde_json::{Value, json};

use super::stream::{self, Answer};
use super::{Message, Tokens};

/// The body of an answer that refuses the call.
pub fn error_body(message: &str, status: u16) -> Value {
    let kind = match status {
        401 => "authentication_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

fn event(kind: &str, mut event: Value) -> String {
    event["type"] = kind.into();
    format!("event: {kind}\ndata: {event}\n\n")
}

/// The answer to one call.
pub fn answer(message: &Message, number: usize, body: &Value) -> Answer {
    let whole = whole(message, number, body);
    let mut start = whole.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut content = vec![event("message_start", json!({ "message": start }))];
    let mut arguments = message.tools.iter().map(|(_, args)| args);
    for (index, block) in whole["content"].as_array().unwrap().iter().enumerate() {
        let mut empty = block.clone();
        let deltas: Vec<Value> = if block["type"] == "text" {
            empty["text"] = json!("");
            let pieces = stream::pieces(&message.text).into_iter();
            pieces
                .map(|piece| json!({ "type": "text_delta", "text": piece }))
                .collect()
        } else {
            empty["input"] = json!({});
            vec![json!({ "type": "input_json_delta", "partial_json": arguments.next() })]
        };
        content.push(event(
            "content_block_start",
            json!({ "index": index, "content_block": empty }),
        ));
        content.extend(deltas.into_iter().map(|delta| {
            event(
                "content_block_delta",
                json!({ "index": index, "delta": delta }),
            )
        }));
        content.push(event("content_block_stop", json!({ "index": index })));
    }
    let last = json!({ "stop_reason": whole["stop_reason"], "stop_sequence": null });
    let end = vec![
        event(
            "message_delta",
            json!({ "delta": last, "usage": whole["usage"] }),
        ),
        event("message_stop", json!({})),
    ];
    Answer {
        content,
        error: |text| event("error", error_body(text, 529)),
        end,
        whole,
    }
}

fn whole(message: &Message, number: usize, body: &Value) -> Value {
    let mut content = Vec::new();
    if !message.text.is_empty() {
        content.push(json!({ "type": "text", "text": message.text }));
    }
    for (i, (name, args)) in message.tools.iter().enumerate() {
        let input: Value = serde_json::from_str(args).unwrap_or_default();
        content.push(json!({ "type": "tool_use", "id": format!("toolu_{number}_{i}"), "name": name, "input": input }));
    }
    let natural = if message.tools.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    };
    let Tokens {
        input,
        cached,
        output,
    } = message.usage.unwrap_or(Tokens {
        input: 0,
        cached: 0,
        output: 0,
    });
    json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": body["model"], "content": content,
        "stop_reason": message.finish.unwrap_or(natural), "stop_sequence": null,
        // Here cached tokens are counted beside the input, not in it.
        "usage": {
            "input_tokens": input - cached, "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0, "output_tokens": output,
        },
    })
}
