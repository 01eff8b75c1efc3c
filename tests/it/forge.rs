//! The project's own scripted forge: as much of GitHub's REST API as one pull request and its comments need, on a unix socket, for the real
//! `gh` (its setting `http_unix_socket`). Lists come in pages, as the forge's do. It checks no token and never leaves this machine.
//! Written to be shared: the unit tests of `src/forge` take it by path.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use super::http::{read_request, send_json};

/// What the forge holds about `o/r`, whose one pull request is number 7.
pub struct State {
    /// The login that a token stands for.
    pub me: String,
    pub pull: Value,
    pub check_runs: Vec<Value>,
    pub statuses: Vec<Value>,
    /// In the order in which they are listed.
    pub comments: Vec<Value>,
    /// Answers in place of the forge's own: by a part of `METHOD PATH?QUERY`, the status and the body.
    pub instead: BTreeMap<String, (u16, Value)>,
    /// Every request: `METHOD PATH?QUERY`, and its body.
    pub asked: Vec<(String, Value)>,
}

impl State {
    /// Adds a comment as the API lists it.
    pub fn comment(&mut self, author: &str, body: &str) {
        let id = self.comments.len() as u64 + 1;
        self.comments.push(json!({
            "id": id, "body": body, "user": { "login": author, "id": 1, "type": "User" },
            "html_url": format!("https://github.com/o/r/pull/7#issuecomment-{id}"),
            "created_at": "2026-01-01T00:00:00Z", "author_association": "OWNER",
        }));
    }

    /// The requests that were to change something, less the question who asks.
    pub fn writes(&self) -> Vec<(String, Value)> {
        let writes = self
            .asked
            .iter()
            .filter(|(line, _)| !line.starts_with("GET ") && !line.ends_with("/graphql"));
        writes.cloned().collect()
    }

    fn answer(&mut self, line: &str, body: &Value) -> (u16, Value, bool) {
        if let Some((_, (status, body))) = self
            .instead
            .iter()
            .find(|(part, _)| line.contains(part.as_str()))
        {
            return (*status, body.clone(), false);
        }
        // A GitHub of one's own has the same below other paths.
        let line = line
            .replace(" /api/v3/", " /")
            .replace(" /api/graphql", " /graphql");
        let (path, query) = line.split_once('?').unwrap_or((&line, ""));
        let number = |name: &str, default| {
            let of = |pair: &str| pair.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
            query.split('&').find_map(of).unwrap_or(default)
        };
        let (size, page): (usize, usize) = (number("per_page", 30).min(100), number("page", 1));
        let cut = |all: &[Value]| -> (Vec<Value>, bool) {
            let from = ((page - 1) * size).min(all.len());
            let to = (from + size).min(all.len());
            (all[from..to].to_vec(), to < all.len())
        };
        let head = self.pull["head"]["sha"].as_str().unwrap_or_default();
        let commit = format!("GET /repos/o/r/commits/{head}");
        if path == format!("{commit}/check-runs") {
            let (runs, more) = cut(&self.check_runs);
            return (
                200,
                json!({ "total_count": self.check_runs.len(), "check_runs": runs }),
                more,
            );
        }
        if path == format!("{commit}/status") {
            let (statuses, more) = cut(&self.statuses);
            let combined = json!({ "state": "pending", "sha": head, "total_count": self.statuses.len(), "statuses": statuses });
            return (200, combined, more);
        }
        if let Some(id) = path.strip_prefix("PATCH /repos/o/r/issues/comments/") {
            let found = self
                .comments
                .iter_mut()
                .find(|c| c["id"].as_u64() == id.parse().ok());
            return match found {
                Some(comment) => {
                    comment["body"] = body["body"].clone();
                    (200, comment.clone(), false)
                }
                None => not_found(),
            };
        }
        match path {
            "POST /graphql" => (
                200,
                json!({ "data": { "viewer": { "login": self.me } } }),
                false,
            ),
            "GET /" => (200, json!({}), false),
            "GET /repos/o/r/pulls/7" => (200, self.pull.clone(), false),
            "GET /repos/o/r/issues/7/comments" => {
                let (comments, more) = cut(&self.comments);
                (200, Value::Array(comments), more)
            }
            "POST /repos/o/r/issues/7/comments" => {
                let me = self.me.clone();
                self.comment(&me, body["body"].as_str().unwrap_or_default());
                (201, self.comments[self.comments.len() - 1].clone(), false)
            }
            _ => not_found(),
        }
    }
}

fn not_found() -> (u16, Value, bool) {
    (
        404,
        json!({ "message": "Not Found", "documentation_url": "https://docs.github.com/rest" }),
        false,
    )
}

/// The running forge. It stops when it is dropped.
pub struct Forge {
    state: Arc<Mutex<State>>,
    socket: PathBuf,
    accepting: Option<JoinHandle<()>>,
}

impl Forge {
    /// Starts with an open pull request whose head is `head`, and nothing else.
    pub fn start(socket: &Path, head: &str) -> Self {
        let listener = UnixListener::bind(socket).unwrap();
        let state = Arc::new(Mutex::new(State {
            me: "operator".to_owned(),
            pull: json!({
                "number": 7, "state": "open", "merged": false, "draft": false, "title": "The work",
                "html_url": "https://github.com/o/r/pull/7",
                "head": { "ref": "work", "sha": head, "repo": { "id": 1 } },
                "base": { "ref": "main", "sha": head, "repo": { "id": 1 } },
            }),
            check_runs: Vec::new(),
            statuses: Vec::new(),
            comments: Vec::new(),
            instead: BTreeMap::new(),
            asked: Vec::new(),
        }));
        let accepting = std::thread::spawn({
            let state = Arc::clone(&state);
            move || {
                for stream in listener.incoming().flatten() {
                    // An empty connection is how the end is told.
                    if serve(&stream, &state).is_none() {
                        return;
                    }
                    let _ = stream.shutdown(Shutdown::Both);
                }
            }
        });
        Self {
            state,
            socket: socket.to_owned(),
            accepting: Some(accepting),
        }
    }

    /// Looks at what the forge holds, or changes it.
    pub fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock().unwrap())
    }

    /// Writes a configuration of gh into `folder` (its `GH_CONFIG_DIR`) that sends every request here.
    pub fn configure(&self, folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        let setting = format!("http_unix_socket: {}\n", self.socket.display());
        std::fs::write(folder.join("config.yml"), setting).unwrap();
    }
}

impl Drop for Forge {
    fn drop(&mut self) {
        let _ = UnixStream::connect(&self.socket);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

/// One request and its answer; `None` where there was no request.
fn serve(stream: &UnixStream, state: &Mutex<State>) -> Option<()> {
    let (line, text) = read_request(&mut BufReader::new(stream)).ok()?;
    let line = line
        .rsplit_once(" HTTP/")
        .map(|(line, _)| line.to_owned())?;
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    let mut state = state.lock().unwrap();
    state.asked.push((line.clone(), body.clone()));
    let (status, answer, more) = state.answer(&line, &body);
    let mut headers = Vec::new();
    if more {
        headers.push((
            "Link".to_owned(),
            format!("<https://api.github.com{}>; rel=\"next\"", next(&line)),
        ));
    }
    // A client that goes away in the middle is no concern of the service.
    let _ = send_json(stream, status, &headers, &answer);
    Some(())
}

/// The address of the page after the one that `line` asks for.
fn next(line: &str) -> String {
    let address = line.split_once(' ').map_or(line, |(_, address)| address);
    match address.rsplit_once("&page=") {
        Some((rest, page)) => format!("{rest}&page={}", page.parse::<usize>().unwrap() + 1),
        None => format!("{address}&page=2"),
    }
}

/// The real gh: `ARKAINT_TEST_GH`, else the one on PATH.
pub fn gh() -> Option<PathBuf> {
    tool_on_path("ARKAINT_TEST_GH", "gh")
}

/// A program of the distribution: what `variable` names, else `name` on PATH.
pub fn tool_on_path(variable: &str, name: &str) -> Option<PathBuf> {
    match std::env::var_os(variable) {
        Some(named) => Some(PathBuf::from(named)).filter(|p| p.is_file()),
        None => {
            let path = std::env::var_os("PATH")?;
            std::env::split_paths(&path)
                .map(|folder| folder.join(name))
                .find(|p| p.is_file())
        }
    }
}
