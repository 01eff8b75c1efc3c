//! The user's own gitleaks, run on copies of the texts that changed. Only what was committed before says what it may overlook: an agent can
//! write a `.gitleaks.toml`, a `.gitleaksignore` and a `gitleaks:allow` as well as a secret. Its command line and report are those of
//! gitleaks 8 (`gitleaks detect --help`; a JSON array of findings).

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::Changed;
use crate::config::Gitleaks;
use crate::exit::{Exit, Refusal};
use crate::git::{Oid, Worktree};
use crate::process::{self, How};
use crate::text;

const CONFIG: &str = ".gitleaks.toml";
const IGNORE: &str = ".gitleaksignore";

/// It looks at some changed files alone, which takes it a second.
const PATIENCE: Duration = Duration::from_secs(120);

/// A secret that was not there before.
pub(super) struct Leak {
    pub path: Vec<u8>,
    /// From 1.
    pub line: usize,
    pub rule: String,
}

/// One of the array that `--report-format json` writes.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Finding {
    #[serde(rename = "RuleID")]
    rule: String,
    start_line: usize,
    secret: String,
    file: String,
}

/// The secrets that it finds in the new texts and that the old ones did not hold. Its configuration is the one in tree `from`, else its own.
///
/// # Errors
/// A [`Refusal`] where it is required and not installed, or where it did not look to the end.
pub(super) fn look(
    worktree: &Worktree,
    wanted: Gitleaks,
    from: Oid,
    texts: &[Changed],
) -> Result<Vec<Leak>> {
    let texts: Vec<&Changed> = texts.iter().filter(|text| !text.new.is_empty()).collect();
    if wanted == Gitleaks::Off || texts.is_empty() {
        return Ok(Vec::new());
    }
    let Some(program) = super::gitleaks() else {
        return match wanted {
            Gitleaks::Required => Err(Refusal::with_exit(
                Exit::CheckFailed,
                "gitleaks is required and not installed",
                "install it (https://github.com/gitleaks/gitleaks), or set gitleaks = \"auto\" in [checkpoint] of arkaint.toml",
            )
            .into()),
            _ => Ok(Vec::new()),
        };
    };
    let state = worktree.state_dir();
    fs::create_dir_all(&state).with_context(|| format!("making {}", state.display()))?;
    let place = tempfile::Builder::new()
        .prefix(super::COPIES)
        .tempdir_in(&state)
        .context("making a folder for gitleaks")?;
    let copies = place.path().join("copies");
    fs::create_dir(&copies)?;
    let committed = |name: &str| worktree.blob_in_tree(from, name.as_bytes());
    let config = committed(CONFIG)?.unwrap_or_else(|| b"[extend]\nuseDefault = true\n".to_vec());
    fs::write(place.path().join("config.toml"), config)?;
    for text in &texts {
        copy(&copies, text)?;
    }
    if let Some(ignored) = committed(IGNORE)? {
        fs::write(copies.join(IGNORE), ignored)?;
    }
    let words = [
        "detect",
        "--no-git",
        "--no-banner",
        "--source=.",
        "--config=../config.toml",
        "--report-format=json",
        "--report-path=../report.json",
        "--exit-code=0",
        "--log-level=error",
    ];
    let words = words.iter().map(OsStr::new);
    let env = std::env::vars_os().filter(|(key, _)| !key.as_bytes().starts_with(b"GITLEAKS_"));
    let spec = process::Spec {
        wall: Some(PATIENCE),
        ..process::Spec::new(
            std::iter::once(program.as_os_str()).chain(words),
            &copies,
            env.collect(),
        )
    };
    let ran = process::capture(spec, None).context("running gitleaks")?;
    let report = fs::read(place.path().join("report.json"));
    let findings = report
        .ok()
        .filter(|_| matches!(ran.end.how, How::Exited(0)))
        .and_then(|report| serde_json::from_slice::<Vec<Finding>>(&report).ok());
    let Some(findings) = findings else {
        let said = text::visible_line(text::tail_on_line(ran.output.trim(), 500));
        let (exit, why) = match ran.end.how {
            How::Interrupted(signal) => (
                Exit::Interrupted(u8::try_from(signal).unwrap_or(2)),
                "interrupted".to_owned(),
            ),
            How::Wall => (
                Exit::CheckFailed,
                format!("it did not end within {} s", PATIENCE.as_secs()),
            ),
            _ if said.is_empty() => (Exit::CheckFailed, "it wrote no report".to_owned()),
            _ => (Exit::CheckFailed, said),
        };
        return Err(Refusal::with_exit(
            exit,
            format!("gitleaks could not look: {why}"),
            "mend it (gitleaks version), or set gitleaks = \"off\" in [checkpoint] of arkaint.toml",
        )
        .into());
    };
    Ok(findings
        .into_iter()
        .filter_map(|finding| {
            let path = finding.file.strip_prefix("./").unwrap_or(&finding.file);
            let of = texts.iter().find(|text| text.path == path.as_bytes());
            let is_old = of.is_some_and(|text| text.old.contains(&finding.secret));
            (!is_old).then(|| Leak {
                path: path.as_bytes().to_vec(),
                line: finding.start_line,
                rule: finding.rule,
            })
        })
        .collect())
}

/// Below its own path, which rules and allow-lists look at too.
fn copy(copies: &Path, text: &Changed) -> Result<()> {
    let path = Path::new(OsStr::from_bytes(&text.path));
    let is_plain = path.components().all(|c| matches!(c, Component::Normal(_)));
    if !is_plain || path == Path::new(IGNORE) || path == Path::new(CONFIG) {
        return Ok(());
    }
    let to = copies.join(path);
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let text = text.new.replace("gitleaks:allow", "gitleaks-allow");
    fs::write(&to, text).with_context(|| format!("writing {}", to.display()))
}
