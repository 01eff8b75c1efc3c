//! Which comment is ours, and whether it says what it should. It asks nobody and writes nothing.

use std::borrow::Cow;
use std::sync::LazyLock;

use anyhow::{Result, bail};
use regex::Regex;

/// A comment as the forge lists it.
#[derive(Clone, Debug)]
pub(super) struct Comment {
    pub id: u64,
    /// The login; `None` for an account that is gone.
    pub author: Option<String>,
    pub body: String,
    pub url: String,
}

/// Those by `me` whose first line is `marker`, oldest first. Whoever else writes the marker, and wherever else it stands, changes nothing.
pub(super) fn ours(comments: Vec<Comment>, me: &str, marker: &str) -> Vec<Comment> {
    let mut ours: Vec<_> = comments
        .into_iter()
        .filter(|c| c.author.as_deref() == Some(me) && first_line(&c.body) == marker)
        .collect();
    ours.sort_by_key(|c| c.id);
    ours
}

/// The same words: a forge may turn `\n` into `\r\n` and drop the last newline.
pub(super) fn same(one: &str, other: &str) -> bool {
    one.replace("\r\n", "\n").trim_end() == other.replace("\r\n", "\n").trim_end()
}

/// `body` as it is sent. A line that begins with `/word` is a command to GitLab, and to robots on GitHub, with the rights of whoever
/// writes it (`/merge`, `/approve`): its slash is written as `&#47;`, which is shown as one.
///
/// # Errors
/// When it does not begin with the marker (it would never be found again), or has more than `limit` characters.
pub(super) fn ready<'a>(body: &'a str, marker: &str, limit: usize) -> Result<Cow<'a, str>> {
    static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)(^|\r)([\s>]*)/([A-Za-z])").expect("a constant expression")
    });
    if marker.is_empty() || marker.contains(['\n', '\r']) || first_line(body) != marker {
        bail!("a comment of ours begins with its marker, {marker:?}, on a line of its own");
    }
    let body = COMMAND.replace_all(body, "${1}${2}&#47;${3}");
    let length = body.chars().count();
    if length > limit {
        bail!("the comment has {length} characters, and the forge takes {limit}");
    }
    Ok(body)
}

fn first_line(body: &str) -> &str {
    body.lines().next().unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKER: &str = "<!-- x -->";

    fn comment(id: u64, author: Option<&str>, body: &str) -> Comment {
        Comment {
            id,
            author: author.map(str::to_owned),
            body: body.to_owned(),
            url: String::new(),
        }
    }

    #[test]
    fn only_our_own_comment_that_begins_with_the_marker_is_ours() {
        let all = vec![
            comment(9, Some("me"), "<!-- x -->\r\nlater"),
            comment(4, Some("me"), "<!-- x -->\nearlier"),
            comment(1, Some("eve"), "<!-- x -->\nnot mine"),
            comment(2, Some("me"), "quoting:\n<!-- x -->"),
            comment(3, Some("me"), "<!-- x --> and more"),
            comment(5, Some("ME"), "<!-- x -->"),
            comment(6, None, "<!-- x -->"),
            comment(7, Some("me"), ""),
        ];
        let ids: Vec<_> = ours(all, "me", MARKER).iter().map(|c| c.id).collect();
        assert_eq!(ids, [4, 9]);
    }

    #[test]
    fn a_body_that_would_not_be_found_again_or_not_taken_is_never_sent() {
        let said = |body: &str, marker: &str| {
            ready(body, marker, 20)
                .map(Cow::into_owned)
                .map_err(|e| e.to_string())
        };
        assert!(
            said("hello", MARKER)
                .unwrap_err()
                .contains("begins with its marker")
        );
        assert!(said("", "").unwrap_err().contains("begins with its marker"));
        assert!(
            said("<!-- x -->\n0123456789", MARKER)
                .unwrap_err()
                .contains("21 characters")
        );
        assert_eq!(
            said("<!-- x -->\nééééééééé", MARKER)
                .unwrap()
                .chars()
                .count(),
            20
        );
    }

    #[test]
    fn no_line_is_a_command_to_the_forge_and_nothing_else_changes() {
        let sent = |body: &str| {
            ready(&format!("{MARKER}\n{body}"), MARKER, 1000).unwrap()[MARKER.len() + 1..]
                .to_owned()
        };
        assert_eq!(
            sent("/merge\n  /approve\n> /close\r/lgtm"),
            "&#47;merge\n  &#47;approve\n> &#47;close\r&#47;lgtm"
        );
        assert_eq!(
            sent("| /a | b/c |\n//x\n/ 1\n<b>\"\\u0000\" `$(id)`"),
            "| /a | b/c |\n//x\n/ 1\n<b>\"\\u0000\" `$(id)`"
        );
    }

    #[test]
    fn what_a_forge_does_to_ends_of_lines_is_no_change() {
        assert!(same("a\r\nb\r\n", "a\nb") && !same("a\nb", "a\n b"));
    }
}
