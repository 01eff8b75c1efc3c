//! One scripted answer sent whole, or as server-sent events that end as the script says. It knows no service's words.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::{Ending, send_json};

/// An answer in the words of one service.
pub struct Answer {
    pub whole: Value,
    /// The events of a stream, up to where the content is out.
    pub content: Vec<String>,
    /// The event of an error in the middle.
    pub error: fn(&str) -> String,
    pub end: Vec<String>,
}

/// What the model says, in the pieces of a stream.
pub fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(24).map(String::from_iter).collect()
}

/// Answers the call `body`, as a stream where it asks for one.
pub fn send(
    mut stream: &TcpStream,
    reader: &mut impl Read,
    ending: &Ending,
    body: &Value,
    answer: &Answer,
) -> std::io::Result<()> {
    if body["stream"] != true {
        return send_json(stream, 200, &[], &answer.whole);
    }
    // No length and no chunks: the close ends the body, so a cut looks to the client like the real thing does.
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n",
    )?;
    for event in &answer.content {
        stream.write_all(event.as_bytes())?;
    }
    match ending {
        Ending::Cut => Ok(()),
        Ending::Hang => hold(reader),
        Ending::Error(text) => stream.write_all((answer.error)(text).as_bytes()),
        Ending::Whole => {
            let mut events = answer.end.iter();
            events.try_for_each(|event| stream.write_all(event.as_bytes()))
        }
    }
}

/// Blocks until the other side, or the end of the service, closes the connection.
pub fn hold(reader: &mut impl Read) -> std::io::Result<()> {
    reader.read(&mut [0]).map(|_| ())
}
