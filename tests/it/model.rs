//! The project's own scripted model service: OpenAI chat completions and Anthropic messages on 127.0.0.1, as far as real agents need them.
//! It answers from a script and keeps every request. It is no model, checks no key and never leaves this machine.

mod completions;
mod messages;
mod stream;

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{read_request, send_json};

/// One scripted answer. Replies are used in order and the last one repeats; one with a `when_…` is a standing rule, never used up.
#[derive(Clone, Debug)]
pub struct Reply {
    contains: Option<String>,
    no_tools: bool,
    delay: Duration,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Message(Message),
    Error {
        status: u16,
        message: String,
        headers: Vec<(String, String)>,
    },
    Hang,
}

#[derive(Clone, Debug)]
struct Message {
    text: String,
    tools: Vec<(String, String)>,
    usage: Option<Tokens>,
    finish: Option<&'static str>,
    ending: Ending,
}

#[derive(Clone, Copy, Debug)]
struct Tokens {
    input: u64,
    cached: u64,
    output: u64,
}

/// What follows once the content of a stream is out.
#[derive(Clone, Debug)]
enum Ending {
    Whole,
    Cut,
    Hang,
    Error(String),
}

impl Reply {
    /// The model says `text` and stops.
    pub fn text(text: &str) -> Self {
        Self::of(Kind::Message(Message {
            text: text.to_owned(),
            tools: Vec::new(),
            usage: Some(Tokens {
                input: 100,
                cached: 0,
                output: 20,
            }),
            finish: None,
            ending: Ending::Whole,
        }))
    }

    /// The model runs `command` by Goose's shell tool.
    pub fn shell(command: &str) -> Self {
        Self::text("").tool("shell", json!({ "command": command }))
    }

    /// The model runs `command` by Claude Code's shell tool.
    pub fn bash(command: &str) -> Self {
        Self::text("").tool(
            "Bash",
            json!({ "command": command, "description": "scripted" }),
        )
    }

    /// The service refuses the call.
    pub fn error(status: u16, message: &str) -> Self {
        Self::of(Kind::Error {
            status,
            message: message.to_owned(),
            headers: Vec::new(),
        })
    }

    /// Silence, until the client or the service goes away.
    pub fn hang() -> Self {
        Self::of(Kind::Hang)
    }

    /// The model calls a tool, after its text. Several calls make several tool calls in one reply.
    pub fn tool(self, name: &str, args: Value) -> Self {
        self.raw_tool(name, &args.to_string())
    }

    /// A tool call with its arguments as they stand, which need not be JSON.
    pub fn raw_tool(self, name: &str, args: &str) -> Self {
        self.message(|m| m.tools.push((name.to_owned(), args.to_owned())))
    }

    /// Tokens to report: `input` includes those that came from the cache.
    pub fn usage(self, input: u64, cached: u64, output: u64) -> Self {
        self.message(|m| {
            m.usage = Some(Tokens {
                input,
                cached,
                output,
            })
        })
    }

    /// Leaves usage out of the reply.
    pub fn no_usage(self) -> Self {
        self.message(|m| m.usage = None)
    }

    /// Another finish reason than the content has by nature (`length`, `content_filter`).
    pub fn finish(self, reason: &'static str) -> Self {
        self.message(|m| m.finish = Some(reason))
    }

    /// The connection closes after the content, without an ending.
    pub fn then_cut(self) -> Self {
        self.message(|m| m.ending = Ending::Cut)
    }

    /// The content comes, the ending does not.
    pub fn then_hang(self) -> Self {
        self.message(|m| m.ending = Ending::Hang)
    }

    /// An error object in the stream, in place of the ending.
    pub fn then_error(self, message: &str) -> Self {
        self.message(|m| m.ending = Ending::Error(message.to_owned()))
    }

    /// A header of an error reply (`Retry-After`).
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match &mut self.kind {
            Kind::Error { headers, .. } => headers.push((name.to_owned(), value.to_owned())),
            other => panic!("only an error has headers of its own: {other:?}"),
        }
        self
    }

    /// Waits before it answers.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// A standing rule: answers every call whose body, as sent or as read, contains `text`.
    pub fn when_contains(mut self, text: &str) -> Self {
        self.contains = Some(text.to_owned());
        self
    }

    /// A standing rule: answers every call that offers no tools (title writing, compaction).
    pub fn when_no_tools(mut self) -> Self {
        self.no_tools = true;
        self
    }

    fn of(kind: Kind) -> Self {
        Self {
            contains: None,
            no_tools: false,
            delay: Duration::ZERO,
            kind,
        }
    }

    fn message(mut self, change: impl FnOnce(&mut Message)) -> Self {
        match &mut self.kind {
            Kind::Message(message) => change(message),
            other => panic!("only a message has content: {other:?}"),
        }
        self
    }

    fn is_rule(&self) -> bool {
        self.no_tools || self.contains.is_some()
    }

    fn fits(&self, text: &str, body: &Value) -> bool {
        let offers_tools = body["tools"].as_array().is_some_and(|t| !t.is_empty());
        self.contains
            .as_ref()
            .is_none_or(|c| text.contains(c) || told(body).contains(c))
            && !(self.no_tools && offers_tools)
    }
}

/// What was asked so far, and how many replies of the queue that took.
#[derive(Default)]
struct Log {
    bodies: Vec<Value>,
    used: usize,
}

/// The running service. It stops when it is dropped.
pub struct Model {
    port: u16,
    state: Arc<State>,
    accepting: Option<JoinHandle<()>>,
}

struct State {
    rules: Vec<Reply>,
    queue: Vec<Reply>,
    log: Mutex<Log>,
    arrived: Condvar,
    /// Connections in use, to be closed at the end; `None` once the service has stopped.
    open: Mutex<Option<Vec<TcpStream>>>,
}

impl Model {
    /// Starts on a free port. Without replies every call gets the text `ok`.
    pub fn start(replies: Vec<Reply>) -> Self {
        let (rules, mut queue): (Vec<_>, Vec<_>) = replies.into_iter().partition(Reply::is_rule);
        if queue.is_empty() {
            queue.push(Reply::text("ok"));
        }
        let state = Arc::new(State {
            rules,
            queue,
            log: Mutex::default(),
            arrived: Condvar::new(),
            open: Mutex::new(Some(Vec::new())),
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let accepting = std::thread::spawn({
            let state = Arc::clone(&state);
            move || {
                for stream in listener.incoming().flatten() {
                    let Some(open) = &mut *state.open.lock().unwrap() else {
                        return;
                    };
                    open.push(stream.try_clone().unwrap());
                    let state = Arc::clone(&state);
                    std::thread::spawn(move || {
                        // A client that goes away in the middle is no concern of the service.
                        let _ = state.serve(&stream);
                        let _ = stream.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self {
            port,
            state,
            accepting: Some(accepting),
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The bodies of all model calls so far, in order.
    pub fn requests(&self) -> Vec<Value> {
        self.state.log.lock().unwrap().bodies.clone()
    }

    /// Waits until `count` model calls have arrived.
    #[track_caller]
    pub fn wait_for(&self, count: usize) {
        let log = self.state.log.lock().unwrap();
        let wait = self
            .state
            .arrived
            .wait_timeout_while(log, Duration::from_secs(120), |l| l.bodies.len() < count);
        let (log, timeout) = wait.unwrap();
        assert!(
            !timeout.timed_out(),
            "only {} of {count} model calls came",
            log.bodies.len()
        );
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let open = self.state.open.lock().unwrap().take();
        for stream in open.into_iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // One more connection wakes the accepting thread, which then sees that the service has stopped.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.accepting.take() {
            let _ = thread.join();
        }
    }
}

/// All that a model was told in one call: the text of every message, in order.
pub fn told(body: &Value) -> String {
    let texts =
        body["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|m| match &m["content"] {
                Value::String(text) => vec![text.clone()],
                Value::Array(parts) => parts
                    .iter()
                    .filter_map(|p| p["text"].as_str().map(str::to_owned))
                    .collect(),
                _ => Vec::new(),
            });
    texts.collect::<Vec<_>>().join("\n")
}

/// A port on which nobody listens.
pub fn refused_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

impl State {
    fn serve(&self, stream: &TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let (line, text) = read_request(&mut reader)?;
        let path = line.split(' ').nth(1).unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default();
        if line.starts_with("GET ") && path.ends_with("/models") {
            let list = json!({ "object": "list", "data": [{ "id": "mock-model", "object": "model", "created": 1, "owned_by": "mock" }] });
            return send_json(stream, 200, &[], &list);
        }
        let anthropic = path.ends_with("/messages");
        if !anthropic && !path.ends_with("/chat/completions") {
            return send_json(
                stream,
                404,
                &[],
                &completions::error_body("no such path", 404),
            );
        }
        let body: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let (number, reply) = self.next_reply(&text, &body);
        std::thread::sleep(reply.delay);
        match reply.kind {
            Kind::Hang => stream::hold(&mut reader),
            Kind::Error {
                status,
                message,
                headers,
            } => {
                let body = if anthropic {
                    messages::error_body(&message, status)
                } else {
                    completions::error_body(&message, status)
                };
                send_json(stream, status, &headers, &body)
            }
            Kind::Message(message) => {
                let answer = if anthropic {
                    messages::answer(&message, number, &body)
                } else {
                    completions::answer(&message, number, &body)
                };
                stream::send(stream, &mut reader, &message.ending, &body, &answer)
            }
        }
    }

    /// Logs the call and chooses its answer; the number of the call makes its ids.
    fn next_reply(&self, text: &str, body: &Value) -> (usize, Reply) {
        let mut log = self.log.lock().unwrap();
        let reply = match self.rules.iter().find(|r| r.fits(text, body)) {
            Some(rule) => rule.clone(),
            None => {
                log.used += 1;
                self.queue[log.used.min(self.queue.len()) - 1].clone()
            }
        };
        log.bodies.push(body.clone());
        self.arrived.notify_all();
        (log.bodies.len(), reply)
    }
}

/// One call by hand, without any client of the field: status line and headers, then the body.
fn ask(model: &Model, body: &Value) -> (String, String) {
    ask_at(model, "/v1/chat/completions", body)
}

fn ask_at(model: &Model, path: &str, body: &Value) -> (String, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", model.port())).unwrap();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: model\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.to_owned(), body.to_owned())
}

/// The events of a streamed answer.
fn events(answer: &str) -> Vec<Value> {
    let data = answer
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok())
        .collect()
}

fn user(text: &str) -> Value {
    json!({ "messages": [{ "role": "user", "content": text }], "tools": [{ "type": "function" }] })
}

#[test]
fn replies_come_in_order_the_last_repeats_and_rules_are_never_used_up() {
    let model = Model::start(vec![
        Reply::text("a title").when_no_tools(),
        Reply::text("ruled").when_contains("say \"rule\""),
        Reply::text("first").usage(7, 3, 2),
        Reply::text("last").no_usage(),
    ]);
    let said = |body: &Value| {
        let answer: Value = serde_json::from_str(&ask(&model, body).1).unwrap();
        (
            answer["choices"][0]["message"]["content"]
                .as_str()
                .unwrap()
                .to_owned(),
            answer["usage"].clone(),
        )
    };
    assert_eq!(said(&json!({ "messages": [] })).0, "a title");
    let (text, usage) = said(&user("one"));
    assert_eq!(
        (
            text.as_str(),
            &usage["total_tokens"],
            &usage["prompt_tokens_details"]["cached_tokens"]
        ),
        ("first", &json!(9), &json!(3))
    );
    assert_eq!(said(&user("please say \"rule\"")).0, "ruled");
    assert_eq!(said(&user("two")), ("last".to_owned(), Value::Null));
    assert_eq!(said(&user("three")).0, "last");
    model.wait_for(5);
    assert_eq!(told(&model.requests()[1]), "one");
}

#[test]
fn streams_end_whole_or_cut_or_with_an_error_and_errors_have_their_headers() {
    let model = Model::start(vec![
        Reply::text("a text that is longer than one piece")
            .tool("shell", json!({ "command": "true" })),
        Reply::text("half a").then_cut(),
        Reply::text("some").then_error("overloaded"),
        Reply::text("")
            .raw_tool("shell", "{not json")
            .finish("length")
            .delay(Duration::from_millis(1)),
        Reply::error(429, "slow down").header("Retry-After", "2"),
    ]);
    let mut body = user("go");
    body["stream"] = json!(true);
    let (_, first) = ask(&model, &body);
    let events = events(&first);
    let text: String = events
        .iter()
        .filter_map(|e| e["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(text, "a text that is longer than one piece");
    assert!(
        first.contains("\"finish_reason\":\"tool_calls\"") && first.ends_with("data: [DONE]\n\n"),
        "{first}"
    );
    let (_, cut) = ask(&model, &body);
    assert!(cut.contains("half a") && !cut.contains("[DONE]"), "{cut}");
    let (_, failed) = ask(&model, &body);
    assert!(
        failed.contains("overloaded") && !failed.contains("[DONE]"),
        "{failed}"
    );
    let (_, long) = ask(&model, &body);
    assert!(
        long.contains("{not json") && long.contains("\"finish_reason\":\"length\""),
        "{long}"
    );
    let (head, error) = ask(&model, &body);
    assert!(
        head.starts_with("HTTP/1.1 429") && head.contains("Retry-After: 2"),
        "{head}"
    );
    assert!(error.contains("slow down"), "{error}");
}

#[test]
fn the_same_script_is_told_in_the_words_of_anthropic() {
    let model = Model::start(vec![
        Reply::text("a text that is longer than one piece")
            .tool("Bash", json!({ "command": "true" }))
            .usage(100, 30, 7),
        Reply::text("half a").then_cut(),
        Reply::error(529, "Overloaded").header("Retry-After", "2"),
    ]);
    let mut body = user("go");
    body["stream"] = json!(true);
    let ask = || ask_at(&model, "/v1/messages?beta=true", &body);
    let (_, first) = ask();
    let events = events(&first);
    let text: String = events
        .iter()
        .filter_map(|e| e["delta"]["text"].as_str())
        .collect();
    assert_eq!(text, "a text that is longer than one piece");
    let arguments = events
        .iter()
        .find_map(|e| e["delta"]["partial_json"].as_str());
    assert_eq!(arguments, Some(r#"{"command":"true"}"#));
    let end = &events[events.len() - 2];
    assert_eq!(
        (
            &end["delta"]["stop_reason"],
            &end["usage"]["input_tokens"],
            &end["usage"]["cache_read_input_tokens"]
        ),
        (&json!("tool_use"), &json!(70), &json!(30))
    );
    let (_, cut) = ask();
    assert!(
        cut.contains("half a") && !cut.contains("message_stop"),
        "{cut}"
    );
    let (head, error) = ask();
    assert!(
        head.starts_with("HTTP/1.1 529") && head.contains("Retry-After: 2"),
        "{head}"
    );
    assert!(error.contains("overloaded_error"), "{error}");
}

#[test]
fn a_hanging_call_ends_with_the_service_and_then_nobody_listens() {
    for reply in [Reply::hang(), Reply::text("half").then_hang()] {
        let model = Model::start(vec![reply]);
        let mut body = user("go");
        body["stream"] = json!(true);
        let text = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", model.port())).unwrap();
        write!(stream, "POST /chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{text}\r\n0\r\n\r\n", text.len())
            .unwrap();
        model.wait_for(1);
        assert_eq!(model.requests()[0], body);
        drop(model);
        let mut rest = String::new();
        let _ = stream.read_to_string(&mut rest);
        assert!(!rest.contains("[DONE]"), "{rest}");
    }
    assert!(TcpStream::connect(("127.0.0.1", refused_port())).is_err());
}
