//! Which repository on which forge the URL of a remote names. It asks nobody, and shows no URL: one may hold a password.

use anyhow::Result;
use gix::url::Scheme;

use crate::exit::Refusal;
use crate::text;

/// A repository on a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remote {
    /// In lower case; with a port only where the forge is asked on that port too (`https`).
    pub host: String,
    /// `owner/name`, or `group/subgroup/name`: letters, digits, `.`, `_` and `-` alone, so that it needs no escape in a path.
    pub path: String,
}

/// Reads a remote's URL (as `git remote get-url` prints it). `named` is the host that the user's environment gives for a remote
/// whose host is only an alias of `ssh_config(5)`: a name without a dot in a URL of ssh.
///
/// # Errors
/// A [`Refusal`] for what is no URL of a forge.
pub(super) fn parse(url: &str, named: Option<&str>) -> Result<Remote> {
    let parsed = gix::url::parse(url.trim()).map_err(|_| no_forge("it is no URL"))?;
    let web = matches!(parsed.scheme, Scheme::Https | Scheme::Http);
    if !web && !matches!(parsed.scheme, Scheme::Ssh | Scheme::Git) {
        return Err(no_forge("it is a folder or a helper's address").into());
    }
    let host = parsed.host().unwrap_or_default().to_ascii_lowercase();
    let is_name = |host: &str| {
        host.starts_with(|c: char| c.is_ascii_alphanumeric())
            && host
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
    };
    if !is_name(&host) {
        return Err(no_forge("it names no host").into());
    }
    let host = match (host.as_str(), parsed.port) {
        // Where these two take ssh on the port of https.
        ("ssh.github.com", _) => "github.com".to_owned(),
        ("altssh.gitlab.com", _) => "gitlab.com".to_owned(),
        (host, Some(port)) if web && port != 443 => format!("{host}:{port}"),
        (host, _) if !web && !host.contains('.') => named.map(str::to_owned).ok_or_else(|| {
            Refusal::new(
                format!("{host}, the host of the remote, is only a short name (an alias of ssh?): which forge that is cannot be told"),
                "name the forge: GH_HOST=github.com (or GITLAB_HOST=gitlab.com) git arkaint ...",
            )
        })?,
        (host, _) => host.to_owned(),
    };
    let path = String::from_utf8_lossy(&parsed.path);
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let is_plain = |part: &str| {
        !part.is_empty()
            && !matches!(part, "." | "..")
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
    };
    if path.split('/').count() < 2 || !path.split('/').all(is_plain) {
        let shown = text::ellipsis(&text::visible_line(path), 80);
        return Err(no_forge(&format!("\"{shown}\" is no repository of {host}")).into());
    }
    Ok(Remote {
        host,
        path: path.to_owned(),
    })
}

fn no_forge(why: &str) -> Refusal {
    Refusal::new(
        format!("the remote is on no forge: {why}"),
        "see where it leads: git remote -v",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> String {
        parse(url, None).map_or_else(|e| e.to_string(), |r| format!("{} {}", r.host, r.path))
    }

    #[test]
    fn every_way_to_write_a_forge_is_read() {
        for (url, wanted) in [
            ("https://github.com/o/r.git", "github.com o/r"),
            ("https://user:tok@GitHub.com/o/r/", "github.com o/r"),
            ("git@github.com:o/r.git", "github.com o/r"),
            ("ssh://git@ssh.github.com:443/o/r.git", "github.com o/r"),
            ("ssh://git@git.example.org:2222/o/r", "git.example.org o/r"),
            (
                "https://git.example.org:8443/o/r",
                "git.example.org:8443 o/r",
            ),
            ("git@gitlab.com:g/sub/r.git", "gitlab.com g/sub/r"),
        ] {
            assert_eq!(read(url), wanted, "{url}");
        }
    }

    #[test]
    fn what_is_no_forge_is_refused_without_showing_the_url() {
        for (url, why) in [
            ("/srv/git/r.git", "folder"),
            ("file:///srv/r", "folder"),
            ("ext::sh -c evil", "folder"),
            ("https://github.com/r", "no repository"),
            ("https://github.com/o/../r", "no repository"),
            ("https://github.com/o/r?x=1", "no repository"),
            ("https://u:hunter2@github.com/o/{r}", "no repository"),
            ("ssh://-oProxyCommand=x/o/r", "no"),
            ("git@work:o/r", "only a short name"),
        ] {
            let said = read(url);
            assert!(
                said.contains(why) && !said.contains("hunter2"),
                "{url}: {said}"
            );
        }
    }

    #[test]
    fn an_alias_of_ssh_is_what_the_environment_says() {
        let host = |url| parse(url, Some("github.com")).unwrap().host;
        assert_eq!(host("git@work:o/r"), "github.com");
        assert_eq!(host("git@git.example.org:o/r"), "git.example.org");
        assert_eq!(
            host("https://git/o/r"),
            "git",
            "nothing but ssh has aliases"
        );
    }
}
