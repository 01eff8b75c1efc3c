//! The same script in Anthropic's words: the messages API, as far as Claude Code needs it.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{Ending, Message, Tokens, hold, send_json};

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

/// Answers one call with `message`, as a stream where the call asks for one.
pub fn send(
    stream: &TcpStream,
    reader: &mut impl Read,
    message: &Message,
    number: usize,
    body: &Value,
) -> std::io::Result<()> {
    let whole = whole(message, number, body);
    if body["stream"] != true {
        return send_json(stream, 200, &[], &whole);
    }
    let mut stream = stream;
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n",
    )?;
    let mut send = |kind: &str, mut event: Value| {
        event["type"] = kind.into();
        stream.write_all(format!("event: {kind}\ndata: {event}\n\n").as_bytes())
    };
    let mut start = whole.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    send("message_start", json!({ "message": start }))?;
    let raw = message.tools.iter().map(|(_, args)| args);
    let mut arguments = raw.cloned();
    for (index, block) in whole["content"].as_array().unwrap().iter().enumerate() {
        let mut empty = block.clone();
        let deltas: Vec<Value> = if block["type"] == "text" {
            empty["text"] = json!("");
            let characters: Vec<char> = message.text.chars().collect();
            let pieces = characters.chunks(24).map(String::from_iter);
            pieces
                .map(|piece| json!({ "type": "text_delta", "text": piece }))
                .collect()
        } else {
            empty["input"] = json!({});
            vec![json!({ "type": "input_json_delta", "partial_json": arguments.next() })]
        };
        send(
            "content_block_start",
            json!({ "index": index, "content_block": empty }),
        )?;
        for delta in deltas {
            send(
                "content_block_delta",
                json!({ "index": index, "delta": delta }),
            )?;
        }
        send("content_block_stop", json!({ "index": index }))?;
    }
    match &message.ending {
        Ending::Cut => return Ok(()),
        Ending::Hang => return hold(reader),
        Ending::Error(text) => return send("error", error_body(text, 529)),
        Ending::Whole => {}
    }
    let end = json!({ "stop_reason": whole["stop_reason"], "stop_sequence": null });
    send(
        "message_delta",
        json!({ "delta": end, "usage": whole["usage"] }),
    )?;
    send("message_stop", json!({}))
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
