//! The script in OpenAI's words: chat completions, as far as Goose needs them.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{Ending, Message, Tokens, hold, send_json};

/// The body of an answer that refuses the call.
pub fn error_body(message: &str, status: u16) -> Value {
    let kind = if status == 401 {
        "invalid_request_error"
    } else {
        "api_error"
    };
    json!({ "error": { "message": message, "type": kind, "code": null, "param": null } })
}

/// Answers one call with `message`, as a stream where the call asks for one.
pub fn send(
    mut stream: &TcpStream,
    reader: &mut impl Read,
    message: &Message,
    number: usize,
    body: &Value,
) -> std::io::Result<()> {
    let whole = whole(message, number, body);
    if body["stream"] != true {
        return send_json(stream, 200, &[], &whole);
    }
    // No length and no chunks: the close ends the body, so a cut looks to the client like the real thing does.
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n",
    )?;
    let chunk = |choices: Value, usage: Value| {
        let mut value = json!({
            "id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": whole["model"], "choices": choices,
        });
        if !usage.is_null() {
            value["usage"] = usage;
        }
        format!("data: {value}\n\n")
    };
    let delta = |delta: Value, finish: &Value| {
        chunk(
            json!([{ "index": 0, "delta": delta, "finish_reason": finish }]),
            Value::Null,
        )
    };
    stream
        .write_all(delta(json!({ "role": "assistant", "content": "" }), &Value::Null).as_bytes())?;
    let characters: Vec<char> = message.text.chars().collect();
    for piece in characters.chunks(24) {
        stream.write_all(
            delta(
                json!({ "content": piece.iter().collect::<String>() }),
                &Value::Null,
            )
            .as_bytes(),
        )?;
    }
    for call in whole["choices"][0]["message"]["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
    {
        stream.write_all(delta(json!({ "tool_calls": [call] }), &Value::Null).as_bytes())?;
    }
    match &message.ending {
        Ending::Cut => return Ok(()),
        Ending::Hang => return hold(reader),
        Ending::Error(text) => {
            return stream.write_all(format!("data: {}\n\n", error_body(text, 500)).as_bytes());
        }
        Ending::Whole => {}
    }
    stream.write_all(delta(json!({}), &whole["choices"][0]["finish_reason"]).as_bytes())?;
    if message.usage.is_some() {
        stream.write_all(chunk(json!([]), whole["usage"].clone()).as_bytes())?;
    }
    stream.write_all(b"data: [DONE]\n\n")
}

fn whole(message: &Message, number: usize, body: &Value) -> Value {
    let mut said = json!({ "role": "assistant", "content": message.text });
    let calls: Vec<Value> = message.tools.iter().enumerate().map(|(i, (name, args))| {
        json!({ "index": i, "id": format!("call_{number}_{i}"), "type": "function", "function": { "name": name, "arguments": args } })
    }).collect();
    let natural = if calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    if !calls.is_empty() {
        said["tool_calls"] = Value::Array(calls);
    }
    let mut value = json!({
        "id": format!("chatcmpl-{number}"), "object": "chat.completion", "created": 1,
        "model": body["model"].as_str().unwrap_or("mock-model"),
        "choices": [{ "index": 0, "message": said, "finish_reason": message.finish.unwrap_or(natural) }],
    });
    if let Some(Tokens {
        input,
        cached,
        output,
    }) = message.usage
    {
        value["usage"] = json!({
            "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
            "prompt_tokens_details": { "cached_tokens": cached },
        });
    }
    value
}
