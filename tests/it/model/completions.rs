//! The script in OpenAI's words: chat completions, as far as Goose needs them.

use serde_json::{Value, json};

use super::stream::{self, Answer};
use super::{Message, Tokens};

/// The body of an answer that refuses the call.
pub fn error_body(message: &str, status: u16) -> Value {
    let kind = if status == 401 {
        "invalid_request_error"
    } else {
        "api_error"
    };
    json!({ "error": { "message": message, "type": kind, "code": null, "param": null } })
}

/// The answer to one call.
pub fn answer(message: &Message, number: usize, body: &Value) -> Answer {
    let whole = whole(message, number, body);
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
    let said = stream::pieces(&message.text).into_iter();
    let said = said.map(|piece| json!({ "content": piece }));
    let calls = whole["choices"][0]["message"]["tool_calls"].as_array();
    let calls = calls.into_iter().flatten();
    let calls = calls.map(|call| json!({ "tool_calls": [call] }));
    let content = std::iter::once(json!({ "role": "assistant", "content": "" }))
        .chain(said)
        .chain(calls)
        .map(|part| delta(part, &Value::Null))
        .collect();
    let mut end = vec![delta(json!({}), &whole["choices"][0]["finish_reason"])];
    if message.usage.is_some() {
        end.push(chunk(json!([]), whole["usage"].clone()));
    }
    end.push("data: [DONE]\n\n".to_owned());
    Answer {
        content,
        error: |text| format!("data: {}\n\n", error_body(text, 500)),
        end,
        whole,
    }
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
