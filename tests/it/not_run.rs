//! What a test says that cannot run here.

use std::fs::OpenOptions;
use std::io::Write;

/// One line, past the test harness, which keeps what passing tests print to itself: into the list that `tests/run` makes one line of,
/// else on stderr.
pub fn not_run(name: &str, lack: &str) {
    let line = format!("not run: {name} (no {lack})\n");
    let list = std::env::var_os("ARKAINT_TEST_NOT_RUN");
    let list = list.and_then(|list| OpenOptions::new().create(true).append(true).open(list).ok());
    let _ = match list {
        Some(mut list) => list.write_all(line.as_bytes()),
        None => std::io::stderr().write_all(line.as_bytes()),
    };
}
