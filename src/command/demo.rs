//! A whole cycle for show: a small project in a temporary folder, a scripted stand-in for the agent, and the real program, run step by
//! step with each command before its output. It touches nothing outside that folder and is no test.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::cli::Demo;
use crate::exit::{Exit, Refusal};
use crate::process::{self, How, Spec};
use crate::ui::{self, Tone, Ui};

/// The project, the configuration and the stand-in, by their place below the temporary folder.
const FILES: [(&str, &str); 4] = [
    ("slugs/slug.sh", include_str!("demo/slug.sh")),
    ("slugs/test.sh", include_str!("demo/test.sh")),
    ("slugs/arkaint.toml", include_str!("demo/arkaint.toml")),
    ("stand-in.sh", include_str!("demo/stand-in.sh")),
];

/// The user of the demo, who has no settings of yours.
const GITCONFIG: &str =
    "[user]\n\tname = Demo\n\temail = demo@example.invalid\n[init]\n\tdefaultBranch = main\n";

struct Scene {
    title: &'static str,
    words: &'static str,
    lines: &'static [&'static str],
}

const SCENES: [Scene; 7] = [
    Scene {
        title: "A project with a failing test",
        words: "slug.sh turns titles into parts of an address. One of its two tests fails.",
        lines: &[
            "git init -q && git add -A && git commit -q -m start",
            "cat slug.sh",
            "bash test.sh || true",
        ],
    },
    Scene {
        title: "Arkaint is set up",
        words: "arkaint.toml names the test command and the agent: here the stand-in.",
        lines: &[
            "cat arkaint.toml",
            "git arkaint init -q",
            "git switch -q -c arkaint/slugs",
        ],
    },
    Scene {
        title: "One cycle, from red",
        words: "The stand-in will drop some punctuation, twice, and fail the same way. Watch\n\
                the breaker trip, the worktree roll back, and a recovery attempt do better.",
        lines: &["git arkaint cycle --red 'make the slug tests pass' debugger"],
    },
    Scene {
        title: "What the last launch was told",
        words: "An agent has no memory here: rules, task and this come on standard input.",
        lines: &["sed -n '/^# Correction/,$p' .arkaint/runtime-prompt.md"],
    },
    Scene {
        title: "What came of it: a sealed, tested checkpoint",
        words: "A checkpoint is a commit. Its trailers are read by git itself.",
        lines: &["git show --format='%h %s%n%n%(trailers)'"],
    },
    Scene {
        title: "What was thrown away is still there",
        words: "Before every launch and every rollback the worktree was archived. This is what\n\
                the second launch had made when the breaker tripped.",
        lines: &[
            "git arkaint discarded list",
            "id=$(git arkaint discarded list | awk '/judgements/ { print $1 }')\n\
             git arkaint discarded diff $id",
        ],
    },
    Scene {
        title: "The ledger",
        words: "Every launch, failure, trip and rollback; and a chain of hashes that anyone can\n\
                recompute with git and sha256sum.",
        lines: &[
            "git arkaint log",
            "git arkaint log --verify",
            "git arkaint status",
        ],
    },
];

/// `git arkaint demo`.
pub(crate) fn run(words: &Demo, ui: &Ui) -> Result<Exit> {
    for program in ["git", "bash"] {
        if which::which(program).is_err() {
            return Err(Refusal::new(
                format!("{program} was not found"),
                format!("install {program}"),
            )
            .into());
        }
    }
    let temp = tempfile::Builder::new()
        .prefix("arkaint-demo-")
        .tempdir()
        .context("making a temporary folder")?;
    let mut stage = Stage::build(temp.path(), ui)?;
    stage.prologue();
    let ended = stage.play();
    // What went wrong is worth a look.
    let failed = !matches!(ended, Ok(Exit::Done));
    let kept = (words.keep || failed).then(|| temp.keep().join("slugs"));
    stage.epilogue(kept.as_deref());
    ended
}

/// The temporary folder, what programs get as their environment there, and what was played.
struct Stage<'a> {
    ui: &'a Ui,
    repo: PathBuf,
    env: Vec<(OsString, OsString)>,
    played: Vec<Value>,
}

impl<'a> Stage<'a> {
    fn build(root: &Path, ui: &'a Ui) -> Result<Self> {
        for (path, content) in FILES.into_iter().chain([("home/.gitconfig", GITCONFIG)]) {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap_or(root))
                .and_then(|()| fs::write(&path, content))
                .with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(Self {
            ui,
            repo: root.join("slugs"),
            env: environment(root)?,
            played: Vec::new(),
        })
    }

    fn prologue(&self) {
        if !self.ui.is_json() {
            self.ui.out_toned(
                Tone::Head,
                "Arkaint: a whole cycle in a throw-away repository",
            );
            self.ui.out(
                "The agent is a stand-in: a shell script with a fixed part, not a model. It needs",
            );
            self.ui
                .out("no key and no network. All else is real, and runs as it would for you.");
        }
    }

    fn play(&mut self) -> Result<Exit> {
        for (number, scene) in (1..).zip(&SCENES) {
            if !self.ui.is_json() {
                self.ui.out("");
                self.ui
                    .out_toned(Tone::Head, format!("{number}. {}", scene.title));
                self.ui.out(scene.words);
            }
            for line in scene.lines {
                match self.step(line)? {
                    How::Exited(0) => {}
                    How::Interrupted(signal) => {
                        return Ok(Exit::Interrupted(u8::try_from(signal).unwrap_or(2)));
                    }
                    how => {
                        let how = match how {
                            How::Exited(code) => format!("exit code {code}"),
                            How::NotStarted(why) => why,
                            other => format!("{other:?}").to_lowercase(),
                        };
                        let cause = format!("the demo went wrong at `{line}`: {how}");
                        let hint = format!("look into {}", self.repo.display());
                        return Err(Refusal::with_exit(Exit::CheckFailed, cause, hint).into());
                    }
                }
            }
        }
        Ok(Exit::Done)
    }

    /// One command line: shown, run by bash, its output passed on as it comes.
    fn step(&mut self, line: &str) -> Result<How> {
        let (ui, json) = (self.ui, self.ui.is_json());
        if !json {
            ui.out("");
            for part in line.lines() {
                ui.out_toned(Tone::Head, format!("$ {part}"));
            }
        }
        let colored = if ui.colors() { COLORED } else { "" };
        let spec = Spec::new(
            ["bash", "-c", &format!("{colored}{line}")],
            &self.repo,
            self.env.clone(),
        );
        let mut partial = Vec::new();
        let show = |bytes: &[u8]| {
            if !json {
                ui.raw(folded(&String::from_utf8_lossy(bytes)).as_bytes());
            }
        };
        let mut pass_on = |bytes: &[u8]| {
            partial.extend_from_slice(bytes);
            while let Some(end) = partial.iter().position(|b| *b == b'\n') {
                show(&partial.drain(..=end).collect::<Vec<u8>>());
            }
        };
        let ran = process::capture(spec, Some(&mut pass_on))
            .with_context(|| format!("running {line}"))?;
        show(&partial);
        self.played
            .push(json!({ "command": line, "exit": ran.end.code, "output": ran.output }));
        Ok(ran.end.how)
    }

    fn epilogue(&self, kept: Option<&Path>) {
        let kept = kept.map(|repo| repo.display().to_string());
        if self.ui.is_json() {
            self.ui
                .json(&json!({ "v": 1, "agent": "stand-in", "steps": self.played, "kept": kept }));
            return;
        }
        self.ui.out("");
        match kept {
            Some(repo) => self
                .ui
                .out(format!("The repository of the demo is kept: {repo}")),
            None => self
                .ui
                .out("The repository of the demo is gone; git arkaint demo --keep keeps it."),
        }
    }
}

/// Makes programs behind a pipe colour as this one does, without a word of it in what is shown.
const COLORED: &str = "git() { if [ \"$1\" = arkaint ]; then shift; command git arkaint --color always \"$@\"; \
                       else command git -c color.ui=always \"$@\"; fi; }\n";

/// Of the user's environment what is no setting of git or Arkaint; a HOME of its own; and this very program first on PATH.
fn environment(root: &Path) -> Result<Vec<(OsString, OsString)>> {
    let settings = |name: &str| {
        ["GIT_", "ARKAINT_", "XDG_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
    };
    let ours = |name: &str| matches!(name, "HOME" | "PATH" | "PWD" | "OLDPWD");
    let mut kept: Vec<_> = env::vars_os()
        .filter(|(name, _)| {
            name.to_str()
                .is_some_and(|name| !settings(name) && !ours(name))
        })
        .collect();
    let me = env::current_exe().context("finding this program")?;
    let folders = me.parent().map(Path::to_path_buf).into_iter();
    let path =
        env::join_paths(folders.chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())))
            .context("making PATH")?;
    kept.extend([
        ("HOME".into(), root.join("home").into_os_string()),
        ("PATH".into(), path),
        ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ("GIT_PAGER".into(), "cat".into()),
    ]);
    Ok(kept)
}

/// A long line at its blanks, for the terminal's width; what follows is indented.
fn folded(line: &str) -> String {
    let options = textwrap::Options::new(ui::width().min(100))
        .subsequent_indent("    ")
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(line, options)
}
