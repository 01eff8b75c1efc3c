//! GitHub's REST API as `gh api` speaks it: paths, the shapes of answers (https://docs.github.com/rest), and what its words mean.
//! Unknown members are ignored; a state that is not known counts against the commit.

use anyhow::{Result, bail};
use serde::Deserialize;
use serde_json::Value;

use super::checks::{Checks, State};
use super::comment::Comment;
use super::tool::Tool;
use super::{Request, RequestState, oid, shown};

/// Characters of a comment.
pub(super) const LIMIT: usize = 65_536;

/// <https://docs.github.com/rest/pulls/pulls#get-a-pull-request>
#[derive(Deserialize)]
struct Pull {
    number: u64,
    state: OpenOrClosed,
    #[serde(default)]
    merged: bool,
    draft: bool,
    title: String,
    html_url: String,
    head: Side,
    base: Side,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OpenOrClosed {
    Open,
    Closed,
}

#[derive(Deserialize)]
struct Side {
    r#ref: String,
    sha: String,
    /// Absent when the fork was deleted.
    repo: Option<Id>,
}

#[derive(Deserialize, PartialEq, Eq)]
struct Id {
    id: u64,
}

pub(super) fn request(tool: &Tool, repo: &str, number: u64) -> Result<Request> {
    let what = format!("reading pull request {number} of {repo}");
    request_of(
        tool.get(&what, &format!("repos/{repo}/pulls/{number}"))?,
        number,
    )
}

fn request_of(pull: Pull, number: u64) -> Result<Request> {
    if pull.number != number {
        bail!(
            "pull request {number} was asked for, and {} came",
            pull.number
        );
    }
    Ok(Request {
        number,
        head: oid(pull.head.sha)?,
        base: pull.base.r#ref,
        draft: pull.draft,
        state: match pull.state {
            _ if pull.merged => RequestState::Merged,
            OpenOrClosed::Open => RequestState::Open,
            OpenOrClosed::Closed => RequestState::Closed,
        },
        url: shown(&pull.html_url),
        title: shown(&pull.title),
        from_fork: pull.head.repo.is_none() || pull.head.repo != pull.base.repo,
    })
}

/// <https://docs.github.com/rest/checks/runs#list-check-runs-for-a-git-reference>
#[derive(Deserialize)]
struct Runs {
    total_count: usize,
    check_runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    name: String,
    status: String,
    conclusion: Option<String>,
}

/// <https://docs.github.com/rest/commits/statuses#get-the-combined-status-for-a-specific-reference>
#[derive(Deserialize)]
struct Combined {
    sha: String,
    total_count: usize,
    statuses: Vec<Status>,
}

#[derive(Deserialize)]
struct Status {
    context: String,
    state: String,
}

/// The latest run of each check of every app, and the latest status of each context.
pub(super) fn checks(tool: &Tool, repo: &str, head: &str) -> Result<Checks> {
    let what = format!("reading the checks of {head} in {repo}");
    let at = format!("repos/{repo}/commits/{head}");
    let runs = tool.pages(
        &what,
        &format!("{at}/check-runs?filter=latest&per_page=100"),
    )?;
    let statuses = tool.pages(&what, &format!("{at}/status?per_page=100"))?;
    checks_of(&what, head, runs, statuses)
}

fn checks_of(what: &str, head: &str, runs: Vec<Runs>, statuses: Vec<Combined>) -> Result<Checks> {
    if let Some(other) = statuses.iter().find(|page| page.sha != head) {
        bail!("{what}: the answer is about {}", shown(&other.sha));
    }
    let totals = runs.iter().map(|page| page.total_count).max();
    let runs: Vec<Run> = runs.into_iter().flat_map(|page| page.check_runs).collect();
    whole(what, "check runs", totals, runs.len())?;
    let totals = statuses.iter().map(|page| page.total_count).max();
    let statuses: Vec<Status> = statuses
        .into_iter()
        .flat_map(|page| page.statuses)
        .collect();
    whole(what, "statuses", totals, statuses.len())?;
    let runs = runs
        .into_iter()
        .map(|run| (run.name, run_state(&run.status, run.conclusion.as_deref())));
    let statuses = statuses
        .into_iter()
        .map(|status| (status.context, status_state(&status.state)));
    Ok(Checks::of(runs.chain(statuses)))
}

/// A list that says how long it is has to be that long.
fn whole(what: &str, kind: &str, total: Option<usize>, got: usize) -> Result<()> {
    match total {
        Some(total) if got < total => bail!("{what}: only {got} of {total} {kind} came"),
        _ => Ok(()),
    }
}

fn run_state(status: &str, conclusion: Option<&str>) -> State {
    match (status, conclusion) {
        ("completed", Some("success" | "neutral" | "skipped")) => State::Passed,
        ("completed", _) => State::Failing,
        _ => State::Pending,
    }
}

fn status_state(state: &str) -> State {
    match state {
        "success" => State::Passed,
        "pending" => State::Pending,
        _ => State::Failing,
    }
}

#[derive(Deserialize)]
struct Asked {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    viewer: User,
}

#[derive(Deserialize)]
struct User {
    login: String,
}

/// <https://docs.github.com/rest/issues/comments>
#[derive(Deserialize)]
struct IssueComment {
    id: u64,
    user: Option<User>,
    body: Option<String>,
    html_url: String,
}

impl From<IssueComment> for Comment {
    fn from(comment: IssueComment) -> Self {
        Self {
            id: comment.id,
            author: comment.user.map(|user| user.login),
            body: comment.body.unwrap_or_default(),
            url: shown(&comment.html_url),
        }
    }
}

/// The login that writes. By GraphQL: `GET /user` refuses the tokens of apps, which GitHub's own Actions hand out.
pub(super) fn me(tool: &Tool) -> Result<String> {
    let asked: Asked = tool.ask("asking who writes", "query { viewer { login } }")?;
    Ok(asked.data.viewer.login)
}

pub(super) fn comments(tool: &Tool, repo: &str, number: u64) -> Result<Vec<Comment>> {
    let what = format!("listing the comments of pull request {number} of {repo}");
    let pages: Vec<Vec<IssueComment>> = tool.pages(
        &what,
        &format!("repos/{repo}/issues/{number}/comments?per_page=100"),
    )?;
    Ok(pages.into_iter().flatten().map(Comment::from).collect())
}

pub(super) fn create(tool: &Tool, repo: &str, number: u64, body: &Value) -> Result<String> {
    let what = format!("commenting on pull request {number} of {repo}");
    let made: IssueComment = tool.send(
        &what,
        "POST",
        &format!("repos/{repo}/issues/{number}/comments"),
        body,
    )?;
    Ok(Comment::from(made).url)
}

pub(super) fn edit(tool: &Tool, repo: &str, id: u64, body: &Value) -> Result<()> {
    let what = format!("editing comment {id} in {repo}");
    let _: IssueComment = tool.send(
        &what,
        "PATCH",
        &format!("repos/{repo}/issues/comments/{id}"),
        body,
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HEAD: &str = "6dcb09b5b57875f334f61aebed695e2e4193db5e";

    /// The members that are read, and others, as GitHub's documentation has them.
    fn pull(change: impl FnOnce(&mut Value)) -> Result<Request, String> {
        let mut pull = json!({
            "id": 1, "node_id": "MDExOlB1bGxSZXF1ZXN0MQ==", "number": 1347, "state": "open", "locked": true,
            "title": "Amazing new feature", "html_url": "https://github.com/octocat/Hello-World/pull/1347",
            "user": { "login": "octocat", "id": 1 }, "body": null, "draft": false, "merged": false, "mergeable": null,
            "head": { "label": "octocat:new-topic", "ref": "new-topic", "sha": HEAD, "repo": { "id": 1_296_269 } },
            "base": { "label": "octocat:master", "ref": "master", "sha": HEAD, "repo": { "id": 1_296_269 } },
        });
        change(&mut pull);
        let pull = serde_json::from_value(pull).map_err(|e| e.to_string())?;
        request_of(pull, 1347).map_err(|e| e.to_string())
    }

    #[test]
    fn a_pull_request_is_read_and_a_malformed_one_is_none() {
        let read = pull(|_| ()).unwrap();
        assert_eq!(
            (read.head.as_str(), read.base.as_str(), read.state),
            (HEAD, "master", RequestState::Open)
        );
        assert!(!read.draft && !read.from_fork);
        assert!(pull(|p| p["draft"] = true.into()).unwrap().draft);
        assert!(
            pull(|p| p["head"]["repo"] = Value::Null).unwrap().from_fork,
            "a deleted fork"
        );
        assert!(
            pull(|p| p["head"]["repo"]["id"] = 2.into())
                .unwrap()
                .from_fork
        );
        assert_eq!(
            pull(|p| p["state"] = "closed".into()).unwrap().state,
            RequestState::Closed
        );
        assert_eq!(
            pull(|p| p["merged"] = true.into()).unwrap().state,
            RequestState::Merged
        );
        assert_eq!(
            pull(|p| p["title"] = "a\u{202e}\nb".into()).unwrap().title,
            "a<U+202E> b"
        );
        assert!(
            pull(|p| p["state"] = "ajar".into())
                .unwrap_err()
                .contains("ajar")
        );
        assert!(
            pull(|p| p["number"] = 1.into())
                .unwrap_err()
                .contains("1347 was asked for")
        );
        assert!(
            pull(|p| p["head"]["sha"] = "6dcb09b".into())
                .unwrap_err()
                .contains("no full id")
        );
        assert!(
            pull(|p| p["draft"] = Value::Null)
                .unwrap_err()
                .contains("null")
        );
    }

    #[test]
    fn every_word_for_a_state_has_its_meaning_and_an_unknown_one_never_passes() {
        for (word, state) in [
            ("success", State::Passed),
            ("neutral", State::Passed),
            ("skipped", State::Passed),
            ("failure", State::Failing),
            ("cancelled", State::Failing),
            ("timed_out", State::Failing),
            ("action_required", State::Failing),
            ("stale", State::Failing),
            ("startup_failure", State::Failing),
            ("fine_i_suppose", State::Failing),
        ] {
            assert_eq!(run_state("completed", Some(word)), state, "{word}");
        }
        for word in [
            "queued",
            "in_progress",
            "waiting",
            "requested",
            "pending",
            "new",
        ] {
            assert_eq!(run_state(word, None), State::Pending, "{word}");
        }
        assert_eq!(run_state("completed", None), State::Failing);
        assert_eq!(
            ["success", "pending", "failure", "error", "ok"].map(status_state),
            [
                State::Passed,
                State::Pending,
                State::Failing,
                State::Failing,
                State::Failing,
            ]
        );
    }

    fn checks(runs: Value, statuses: Value) -> Result<Checks, String> {
        let runs = serde_json::from_value(runs).map_err(|e| e.to_string())?;
        let statuses = serde_json::from_value(statuses).map_err(|e| e.to_string())?;
        checks_of("x", HEAD, runs, statuses).map_err(|e| e.to_string())
    }

    #[test]
    fn runs_and_statuses_count_alike_and_a_list_that_is_not_whole_is_an_error() {
        let run = |name: &str, conclusion: &str| {
            json!({
                "id": 4, "head_sha": HEAD, "name": name, "status": "completed", "conclusion": conclusion,
                "app": { "id": 1, "slug": "octoapp" }, "output": { "title": "Report", "annotations_count": 2 },
            })
        };
        let runs = json!([
            { "total_count": 2, "check_runs": [run("build", "success")] },
            { "total_count": 2, "check_runs": [run("lint", "failure")] },
        ]);
        let status = json!([{ "state": "pending", "sha": HEAD, "total_count": 1, "statuses": [
            { "context": "ci/jenkins", "state": "pending", "description": "Build", "target_url": null }] }]);
        let none = json!([{ "state": "pending", "sha": HEAD, "total_count": 0, "statuses": [] }]);
        let read = checks(runs.clone(), status).unwrap();
        assert_eq!(
            (read.failing, read.pending, read.passed),
            (vec!["lint".to_owned()], vec!["ci/jenkins".to_owned()], 1)
        );
        let no_runs = json!([{ "total_count": 0, "check_runs": [] }]);
        // The combined state of no statuses is "pending": it is no check.
        assert!(checks(no_runs.clone(), none.clone()).unwrap().is_none());
        let short = json!([{ "total_count": 3, "check_runs": [run("build", "success")] }]);
        assert!(
            checks(short, none)
                .unwrap_err()
                .contains("only 1 of 3 check runs")
        );
        let other = json!([{ "sha": "0".repeat(40), "total_count": 0, "statuses": [] }]);
        assert!(checks(runs, other).unwrap_err().contains("is about 0000"));
        assert!(checks(no_runs, json!([{ "message": "Not Found" }])).is_err());
    }

    #[test]
    fn a_comment_of_an_account_that_is_gone_has_no_author() {
        let read: IssueComment = serde_json::from_value(json!({
            "id": 1, "node_id": "MDEy", "user": null, "body": null, "author_association": "NONE",
            "html_url": "https://github.com/octocat/Hello-World/issues/1347#issuecomment-1",
        }))
        .unwrap();
        let read = Comment::from(read);
        assert_eq!((read.id, read.author, read.body.as_str()), (1, None, ""));
    }
}
