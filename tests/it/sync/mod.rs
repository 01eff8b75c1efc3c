//! `git arkaint sync`: real bare remotes, several real clones, and git as the judge of what arrived.

mod exchange;
mod refusals;

use std::path::{Path, PathBuf};

use crate::ledger::append_line;
use crate::sandbox::{Ran, Sandbox};

const LEDGER: &str = "refs/notes/arkaint/ledger";

/// One bare remote (`hub.git`) with `main`, and clones of it beside the sandbox's own repository.
struct World {
    sandbox: Sandbox,
    hub: PathBuf,
}

impl World {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let hub = sandbox.repo.with_file_name("hub.git");
        sandbox.git(["clone", "-q", "--bare", ".", hub.to_str().unwrap()]);
        Self { sandbox, hub }
    }

    fn clone(&self, name: &str) -> PathBuf {
        self.clone_with(name, &[])
    }

    fn clone_with(&self, name: &str, options: &[&str]) -> PathBuf {
        let to = self.sandbox.repo.with_file_name(name);
        let from = format!("file://{}", self.hub.display());
        let words = [&["clone", "-q"], options, &[&from, to.to_str().unwrap()]].concat();
        self.sandbox.git(words);
        to
    }

    fn sync(&self, clone: &Path, words: &[&str]) -> Ran {
        let at = ["-C", clone.to_str().unwrap(), "sync"];
        self.sandbox.arkaint([&at, words].concat())
    }

    #[track_caller]
    fn git(&self, clone: &Path, words: &[&str]) -> String {
        self.sandbox
            .git([&["-C", clone.to_str().unwrap()], words].concat())
    }

    /// Appends a line to the note on HEAD as another program would, with git itself.
    fn append(&self, clone: &Path, line: &str) {
        append_line(&self.sandbox, clone, "HEAD", line);
    }

    /// The lines of the note on `on`, as git shows them.
    fn lines(&self, clone: &Path, on: &str) -> Vec<String> {
        let shown = self.git(clone, &["notes", "--ref=arkaint/ledger", "show", on]);
        shown.lines().map(str::to_owned).collect()
    }
}

fn line(n: usize, more: &str) -> String {
    format!(
        "{{\"at\":\"2026-01-01T00:00:{n:02}.000Z\",\"id\":\"r{n}\",\"kind\":\"run\",\"v\":1{more}}}"
    )
}
