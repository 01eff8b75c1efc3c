//! One section of git's configuration as git itself would answer. It writes none and knows no key.

use anyhow::{Context, Result};

use super::Worktree;

impl Worktree {
    /// Every `SECTION.*` value in git's order, so that the last one of a key counts: keys in lower case (but for a subsection), a key without a
    /// value as an empty one. Starts no process, unless `git -c` set something for this call, which git alone can decode.
    pub(crate) fn settings(&self, section: &str) -> Result<Vec<(String, String)>> {
        if let Some(parameters) =
            std::env::var_os("GIT_CONFIG_PARAMETERS").filter(|p| !p.is_empty())
        {
            let pattern = format!("^{section}\\.");
            let call = self
                .git()
                .call(["config", "--null", "--get-regexp", &pattern])
                .env("GIT_CONFIG_PARAMETERS", parameters);
            let out = call.output()?;
            let text = String::from_utf8_lossy(&out.stdout);
            let pair = |entry: &str| {
                entry
                    .split_once('\n')
                    .map_or((entry.to_owned(), String::new()), |(k, v)| {
                        (k.to_owned(), v.to_owned())
                    })
            };
            return Ok(text.split_terminator('\0').map(pair).collect());
        }
        let snapshot = self
            .repo()
            .context("reading git's configuration")?
            .config_snapshot();
        let mut settings = Vec::new();
        for part in snapshot
            .plumbing()
            .sections_by_name(section)
            .into_iter()
            .flatten()
        {
            let subsection = part
                .header()
                .subsection_name()
                .map(|name| format!(".{name}"))
                .unwrap_or_default();
            for (name, value) in part.body() {
                settings.push((
                    format!("{section}{subsection}.{}", name.to_lowercase()),
                    value.to_string(),
                ));
            }
        }
        Ok(settings)
    }
}
