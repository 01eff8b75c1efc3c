//! One call of the operator's own `gh` or `glab`: argv and JSON on standard input, never a shell; outside the repository, without prompts,
//! with a deadline and a cap on the answer. It holds no token and reads no meaning.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::failed::{Failed, no_answer};
use crate::exit::Refusal;
use crate::process::{self, Chunk, HeadTail, How, Spec, Stdin, Verdict};
use crate::text;

/// Deadline of one call, all pages of a list included.
pub(super) const DEADLINE: Duration = Duration::from_secs(60);
/// Bytes of one answer: a thousand comments of the greatest length.
const ANSWER: usize = 64 << 20;
/// Bytes of what the tool says in its own words, at each end.
const WORDS: usize = 8 << 10;

pub(super) type Env = Vec<(OsString, OsString)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Gh,
    Glab,
}

impl Name {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Gh => "gh",
            Self::Glab => "glab",
        }
    }

    /// Variables that name the host that the tool shall speak to.
    fn host_variables(self) -> &'static [&'static str] {
        match self {
            Self::Gh => &["GH_HOST"],
            Self::Glab => &["GITLAB_HOST", "GITLAB_URI", "GL_HOST"],
        }
    }

    /// Variables whose token the tool sends to any host (`gh help environment`, `glab help`); gh's others go to github.com and ghe.com alone.
    fn tokens(self) -> &'static [&'static str] {
        match self {
            Self::Gh => &["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"],
            Self::Glab => &["GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN", "OAUTH_TOKEN"],
        }
    }

    fn has_own_host(self, host: &str) -> bool {
        match self {
            Self::Gh => host == "github.com" || host.ends_with(".ghe.com"),
            Self::Glab => host == "gitlab.com",
        }
    }

    pub(super) fn where_from(self) -> &'static str {
        match self {
            Self::Gh => "https://cli.github.com",
            Self::Glab => "https://gitlab.com/gitlab-org/cli",
        }
    }
}

/// The tool, found, and the host that it is asked about.
#[derive(Debug)]
pub(super) struct Tool {
    pub name: Name,
    pub host: String,
    program: PathBuf,
    env: Env,
}

impl Tool {
    /// The tool that knows `host`: by the host's name, else the one that is installed and logged in there.
    ///
    /// # Errors
    /// A [`Refusal`] when none is installed, none is logged in, or what PATH leads to lies in `worktree`.
    pub(super) fn of(host: &str, worktree: &Path, env: &Env) -> Result<Self> {
        if let Some(name) = by_host(host) {
            let tool =
                Self::find(name, host, worktree, env)?.ok_or_else(|| not_installed(name, host))?;
            tool.spends_no_token_on_a_stranger()?;
            return Ok(tool);
        }
        let mut found = false;
        for name in [Name::Gh, Name::Glab] {
            let Some(tool) = Self::find(name, host, worktree, env)? else {
                continue;
            };
            found = true;
            tool.spends_no_token_on_a_stranger()?;
            if tool.is_logged_in()? {
                return Ok(tool);
            }
        }
        let refusal = if found {
            Refusal::new(
                format!("neither gh nor glab is logged in to {host}, the host of the remote"),
                format!("gh auth login --hostname {host}"),
            )
        } else {
            not_installed(Name::Gh, host)
        };
        Err(refusal
            .hint(format!("for a GitLab: glab auth login --hostname {host}"))
            .into())
    }

    #[cfg(test)]
    pub(super) fn named(name: Name, host: &str, env: Env) -> Self {
        let (program, host) = (name.word().into(), host.to_owned());
        Self {
            name,
            host,
            program,
            env,
        }
    }

    fn find(name: Name, host: &str, worktree: &Path, env: &Env) -> Result<Option<Self>> {
        let Ok(program) = which::which_in(name.word(), value(env, "PATH"), "/") else {
            return Ok(None);
        };
        // A token goes where this program wants it to: it may not be a file that the judged could write.
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if real(&program).starts_with(real(worktree)) || program.starts_with(worktree) {
            return Err(Refusal::new(
                format!(
                    "{} lies in the repository that it would be asked about",
                    program.display()
                ),
                format!(
                    "take it off PATH, and install {} from {}",
                    name.word(),
                    name.where_from()
                ),
            )
            .into());
        }
        Ok(Some(Self {
            name,
            host: host.to_owned(),
            program,
            env: quiet(env),
        }))
    }

    /// The host comes from `.git/config`, which is easily rewritten, and a token of the environment goes to any host.
    fn spends_no_token_on_a_stranger(&self) -> Result<()> {
        let token = self
            .name
            .tokens()
            .iter()
            .find(|v| value(&self.env, v).is_some());
        let named = named_host(self.name, &self.env);
        match token {
            Some(token)
                if !self.name.has_own_host(&self.host) && named.as_deref() != Some(&self.host) =>
            {
                let variable = self.name.host_variables()[0];
                Err(Refusal::new(
                    format!(
                        "{token} would go to {}, the host of the remote, which {variable} does not name",
                        self.host
                    ),
                    format!("if that is your forge: {variable}={} git arkaint ...", self.host),
                )
                .into())
            }
            _ => Ok(()),
        }
    }

    fn is_logged_in(&self) -> Result<bool> {
        let spec = self.spec(&["auth", "status"], None);
        Ok(process::capture(spec, None)?.end.how == How::Exited(0))
    }

    /// The answer to a read.
    ///
    /// # Errors
    /// A [`Refusal`] (exit 3) with the tool's own words when there is none; an error when it is not of the form of a `T`.
    pub(super) fn get<T: DeserializeOwned>(&self, what: &str, path: &str) -> Result<T> {
        one(what, &self.api(what, &["--method", "GET", path], None)?)
    }

    /// The pages of a list, all of them.
    ///
    /// # Errors
    /// As [`Tool::get`]; a page that does not come is an error of the whole.
    pub(super) fn pages<T: DeserializeOwned>(&self, what: &str, path: &str) -> Result<Vec<T>> {
        let answer = self.api(what, &["--method", "GET", "--paginate", path], None)?;
        every(what, &answer)
    }

    /// The answer to a question of GraphQL.
    ///
    /// # Errors
    /// As [`Tool::get`].
    pub(super) fn ask<T: DeserializeOwned>(&self, what: &str, query: &str) -> Result<T> {
        let query = json!({ "query": query });
        let answer = self.api(what, &["--method", "POST", "graphql"], Some(&query));
        one(what, &answer?)
    }

    /// The answer to a write: `body` goes as JSON on standard input.
    ///
    /// # Errors
    /// As [`Tool::get`]; a hint says so where it may have been written all the same.
    pub(super) fn send<T: DeserializeOwned>(
        &self,
        what: &str,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<T> {
        let answer = self.api(what, &["--method", method, path], Some(body));
        one(what, &answer.map_err(Failed::of_a_write)?)
    }

    fn api(&self, what: &str, words: &[&str], body: Option<&Value>) -> Result<Vec<u8>, Failed> {
        let mut args = vec!["api"];
        if body.is_some() {
            args.extend(["--input", "-", "--header", "Content-Type: application/json"]);
        }
        args.extend(words);
        let spec = self.spec(&args, body);
        let (mut answer, mut words) = (Vec::new(), HeadTail::with(WORDS, WORDS));
        let end = process::run(spec, &mut |_| Ok(()), &mut |chunk| {
            match chunk {
                Chunk::Out(bytes) if answer.len() + bytes.len() > ANSWER => {
                    return Verdict::Stop(format!(
                        "an answer of more than {}",
                        text::human_bytes(ANSWER as u64)
                    ));
                }
                Chunk::Out(bytes) => answer.extend_from_slice(bytes),
                Chunk::Err(bytes) => words.push(bytes),
            }
            Verdict::Go
        });
        match end.map_err(Failed::Unsupervised)?.how {
            How::Exited(0) => Ok(answer),
            how => Err(Failed::Answer(no_answer(self, what, &how, &words.text()))),
        }
    }

    fn spec(&self, words: &[&str], body: Option<&Value>) -> Spec {
        let mut argv: Vec<OsString> = vec![self.program.clone().into()];
        argv.extend(words.iter().map(OsString::from));
        argv.extend(["--hostname".into(), OsString::from(&self.host)]);
        Spec {
            stdin: body.map_or(Stdin::Null, |body| {
                Stdin::Bytes(body.to_string().into_bytes())
            }),
            wall: Some(DEADLINE),
            // Not in the repository: glab reads `.git/glab-cli/config.yml`, which could send it elsewhere.
            ..Spec::new(argv, "/", self.env.clone())
        }
    }
}

/// The host that the environment names for `name`, without scheme and slash.
pub(super) fn named_host(name: Name, env: &Env) -> Option<String> {
    let named = name.host_variables().iter().find_map(|v| value(env, v))?;
    let named = named.to_str()?.trim().to_ascii_lowercase();
    let bare = named
        .split_once("://")
        .map_or(named.as_str(), |(_, host)| host);
    Some(bare.trim_end_matches('/').to_owned())
}

fn by_host(host: &str) -> Option<Name> {
    if host.starts_with("github") || host.ends_with(".ghe.com") {
        Some(Name::Gh)
    } else if host.starts_with("gitlab") {
        Some(Name::Glab)
    } else {
        None
    }
}

fn not_installed(name: Name, host: &str) -> Refusal {
    let tool = name.word();
    Refusal::new(
        format!("{tool} is not installed, and {host} is asked through it alone"),
        format!(
            "install {tool} ({}), then: {tool} auth login --hostname {host}",
            name.where_from()
        ),
    )
}

/// The value of a variable that is set to something.
fn value<'a>(env: &'a Env, name: &str) -> Option<&'a OsStr> {
    let mut all = env
        .iter()
        .filter(|(key, value)| key == name && !value.is_empty());
    all.next_back().map(|(_, value)| value.as_os_str())
}

/// The operator's environment, less what colours, logs, pages or points git elsewhere, and with every prompt off.
fn quiet(env: &Env) -> Env {
    const OUT: [&str; 9] = [
        "GH_FORCE_TTY",
        "GH_DEBUG",
        "GH_REPO",
        "DEBUG",
        "GLAB_DEBUG",
        "GLAB_DEBUG_HTTP",
        "CLICOLOR_FORCE",
        "FORCE_HYPERLINKS",
        "NO_PROMPT",
    ];
    const IN: [(&str, &str); 9] = [
        ("GH_PROMPT_DISABLED", "1"),
        ("GH_NO_UPDATE_NOTIFIER", "1"),
        ("GH_NO_EXTENSION_UPDATE_NOTIFIER", "1"),
        ("GLAB_NO_PROMPT", "1"),
        ("GLAB_CHECK_UPDATE", "false"),
        ("GLAB_SEND_TELEMETRY", "false"),
        ("NO_COLOR", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("PAGER", "cat"),
    ];
    let is_ours = |key: &OsStr| IN.iter().any(|(name, _)| key == *name);
    let kept = env.iter().filter(|(key, _)| {
        !OUT.iter().any(|name| key == name)
            && !is_ours(key)
            && key != "GH_PAGER"
            && key != "GLAB_PAGER"
    });
    kept.cloned()
        .chain(IN.iter().map(|(name, value)| (name.into(), value.into())))
        .collect()
}

fn one<T: DeserializeOwned>(what: &str, answer: &[u8]) -> Result<T> {
    serde_json::from_slice(answer).map_err(|error| malformed(what, &error))
}

/// Pages stand one after the other (`[..][..]`); later versions of gh make one list of them.
fn every<T: DeserializeOwned>(what: &str, answer: &[u8]) -> Result<Vec<T>> {
    let pages = serde_json::Deserializer::from_slice(answer).into_iter();
    let pages = pages
        .collect::<Result<Vec<T>, _>>()
        .map_err(|error| malformed(what, &error))?;
    if pages.is_empty() {
        return Err(anyhow!("{what}: the forge's answer is empty"));
    }
    Ok(pages)
}

fn malformed(what: &str, error: &serde_json::Error) -> anyhow::Error {
    let error = text::visible_line(&error.to_string());
    anyhow!(
        "{what}: the forge's answer has another form than expected: {}",
        text::ellipsis(&error, 200)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Env {
        pairs.iter().map(|(k, v)| (k.into(), v.into())).collect()
    }

    fn tool(name: Name, host: &str, pairs: &[(&str, &str)]) -> Tool {
        Tool::named(name, host, env(pairs))
    }

    #[test]
    fn a_token_of_the_environment_goes_to_no_host_that_only_the_remote_names() {
        let may = |name, host: &str, pairs: &[(&str, &str)]| {
            tool(name, host, pairs)
                .spends_no_token_on_a_stranger()
                .is_ok()
        };
        let (gh, lab) = (("GH_ENTERPRISE_TOKEN", "t"), ("GITLAB_TOKEN", "t"));
        assert!(!may(Name::Gh, "github.evil.example", &[gh]));
        assert!(!may(
            Name::Gh,
            "github.evil.example",
            &[gh, ("GH_HOST", "git.example.org")]
        ));
        assert!(may(
            Name::Gh,
            "git.example.org",
            &[gh, ("GH_HOST", "git.example.org")]
        ));
        assert!(may(Name::Gh, "github.com", &[gh]));
        assert!(may(Name::Gh, "github.evil.example", &[("GH_TOKEN", "t")]));
        assert!(!may(Name::Glab, "gitlab.evil.example", &[lab]));
        assert!(may(Name::Glab, "gitlab.com", &[lab]));
        assert!(may(
            Name::Glab,
            "gitlab.example.org",
            &[lab, ("GITLAB_HOST", "https://gitlab.example.org/")]
        ));
    }

    #[test]
    fn pages_are_read_whole_or_not_at_all() {
        let read =
            |answer: &str| every::<Vec<u8>>("x", answer.as_bytes()).map_err(|e| e.to_string());
        assert_eq!(read("[1,2][3]\n[]"), Ok(vec![vec![1, 2], vec![3], vec![]]));
        assert!(read("[1,2][3").unwrap_err().contains("another form"));
        assert!(
            read("[1]{\"message\":\"no\"}")
                .unwrap_err()
                .contains("another form")
        );
        assert!(read("").unwrap_err().contains("empty"));
    }

    #[test]
    fn nothing_that_colours_or_logs_is_passed_on_and_no_variable_is_set_twice() {
        let quiet = quiet(&env(&[
            ("GH_FORCE_TTY", "1"),
            ("GH_DEBUG", "api"),
            ("PAGER", "less"),
            ("HOME", "/h"),
        ]));
        let of = |name: &str| {
            quiet
                .iter()
                .filter(|(k, _)| k == name)
                .map(|(_, v)| v.to_str().unwrap())
                .collect::<Vec<_>>()
        };
        assert!(of("GH_FORCE_TTY").is_empty() && of("GH_DEBUG").is_empty());
        assert_eq!(
            (of("PAGER"), of("HOME"), of("GH_PROMPT_DISABLED")),
            (vec!["cat"], vec!["/h"], vec!["1"])
        );
    }
}
