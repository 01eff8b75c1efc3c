//! GitLab's REST API as `glab api` speaks it: paths, the shapes of answers (https://docs.gitlab.com/api), and what its words mean.
//! Unknown members are ignored; a state that is not known counts against the commit.

use anyhow::{Result, bail};
use serde::Deserialize;
use serde_json::Value;

use super::checks::{Checks, State};
use super::comment::Comment;
use super::tool::Tool;
use super::{Request, RequestState, oid, shown};

/// Characters of a note.
pub(super) const LIMIT: usize = 1_000_000;

/// <https://docs.gitlab.com/api/merge_requests/#get-single-mr>
#[derive(Deserialize)]
struct Merge {
    iid: u64,
    state: RequestState,
    draft: bool,
    title: String,
    web_url: String,
    sha: Option<String>,
    target_branch: String,
    source_project_id: Option<u64>,
    target_project_id: u64,
    head_pipeline: Option<Pipeline>,
}

#[derive(Deserialize)]
struct Pipeline {
    id: u64,
    status: String,
}

fn project(path: &str) -> String {
    format!("projects/{}", path.replace('/', "%2F"))
}

fn merge(tool: &Tool, path: &str, number: u64) -> Result<Merge> {
    let what = format!("reading merge request {number} of {path}");
    tool.get(&what, &format!("{}/merge_requests/{number}", project(path)))
}

pub(super) fn request(tool: &Tool, path: &str, number: u64) -> Result<Request> {
    request_of(merge(tool, path, number)?, number)
}

fn request_of(merge: Merge, number: u64) -> Result<Request> {
    if merge.iid != number {
        bail!(
            "merge request {number} was asked for, and {} came",
            merge.iid
        );
    }
    Ok(Request {
        number,
        head: oid(merge.sha.unwrap_or_default())?,
        base: merge.target_branch,
        draft: merge.draft,
        state: merge.state,
        url: shown(&merge.web_url),
        title: shown(&merge.title),
        from_fork: merge.source_project_id != Some(merge.target_project_id),
    })
}

/// A job or an external status: <https://docs.gitlab.com/api/commits/#list-the-statuses-of-a-commit>
#[derive(Deserialize)]
struct Job {
    name: String,
    status: String,
    sha: String,
    #[serde(default)]
    allow_failure: bool,
}

/// The latest of each job and each external status at `head`. A pipeline on merged results is of another commit and vouches for none; where
/// it is the request's own and does not pass, it counts against this one.
pub(super) fn checks(tool: &Tool, path: &str, number: u64, head: &str) -> Result<Checks> {
    let what = format!("reading the checks of {head} in {path}");
    let at = format!(
        "{}/repository/commits/{head}/statuses?per_page=100",
        project(path)
    );
    let statuses: Vec<Vec<Job>> = tool.pages(&what, &at)?;
    let pipeline = merge(tool, path, number)?.head_pipeline;
    checks_of(&what, head, statuses, pipeline)
}

fn checks_of(
    what: &str,
    head: &str,
    statuses: Vec<Vec<Job>>,
    pipeline: Option<Pipeline>,
) -> Result<Checks> {
    let statuses: Vec<Job> = statuses.into_iter().flatten().collect();
    if let Some(other) = statuses.iter().find(|status| status.sha != head) {
        bail!("{what}: the answer is about {}", shown(&other.sha));
    }
    let pipeline = pipeline.map(|p| (format!("pipeline {}", p.id), state(&p.status, false)));
    let pipeline = pipeline.filter(|(_, state)| *state != State::Passed);
    let statuses = statuses
        .into_iter()
        .map(|s| (s.name, state(&s.status, s.allow_failure)));
    Ok(Checks::of(statuses.chain(pipeline)))
}

/// A job that may fail, and one that waits for a hand that need not come, hold up no merge of GitLab's own either.
fn state(status: &str, may_fail: bool) -> State {
    match status {
        "success" | "skipped" => State::Passed,
        "failed" | "manual" if may_fail => State::Passed,
        "created"
        | "waiting_for_resource"
        | "preparing"
        | "waiting_for_callback"
        | "pending"
        | "running"
        | "scheduled"
        | "manual"
        | "canceling" => State::Pending,
        _ => State::Failing,
    }
}

#[derive(Deserialize)]
struct User {
    username: String,
}

/// <https://docs.gitlab.com/api/notes/#merge-requests>
#[derive(Deserialize)]
struct Note {
    id: u64,
    author: Option<User>,
    body: String,
    #[serde(default)]
    system: bool,
}

pub(super) fn me(tool: &Tool) -> Result<String> {
    let user: User = tool.get("asking who writes", "user")?;
    Ok(user.username)
}

pub(super) fn comments(tool: &Tool, path: &str, number: u64) -> Result<Vec<Comment>> {
    let what = format!("listing the notes of merge request {number} of {path}");
    let at = format!(
        "{}/merge_requests/{number}/notes?sort=asc&order_by=created_at&per_page=100",
        project(path)
    );
    let pages: Vec<Vec<Note>> = tool.pages(&what, &at)?;
    let written = pages.into_iter().flatten().filter(|note| !note.system);
    Ok(written
        .map(|note| Comment {
            id: note.id,
            url: url(tool, path, number, note.id),
            author: note.author.map(|author| author.username),
            body: note.body,
        })
        .collect())
}

pub(super) fn create(tool: &Tool, path: &str, number: u64, body: &Value) -> Result<String> {
    let what = format!("commenting on merge request {number} of {path}");
    let made: Note = tool.send(
        &what,
        "POST",
        &format!("{}/merge_requests/{number}/notes", project(path)),
        body,
    )?;
    Ok(url(tool, path, number, made.id))
}

pub(super) fn edit(tool: &Tool, path: &str, number: u64, id: u64, body: &Value) -> Result<()> {
    let what = format!("editing note {id} of merge request {number} of {path}");
    let at = format!("{}/merge_requests/{number}/notes/{id}", project(path));
    let _: Note = tool.send(&what, "PUT", &at, body)?;
    Ok(())
}

/// Notes come without an address of their own.
fn url(tool: &Tool, path: &str, number: u64, id: u64) -> String {
    format!(
        "https://{}/{path}/-/merge_requests/{number}#note_{id}",
        tool.host
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HEAD: &str = "8888888888888888888888888888888888888888";

    fn read(change: impl FnOnce(&mut Value)) -> Result<Request, String> {
        let mut merge = json!({
            "id": 1, "iid": 5, "project_id": 3, "title": "test1", "state": "opened", "draft": false, "work_in_progress": false,
            "target_branch": "main", "source_branch": "test1", "author": { "id": 1, "username": "admin" },
            "source_project_id": 2, "target_project_id": 2, "sha": HEAD, "merge_commit_sha": null,
            "web_url": "http://gitlab.example.com/my-group/my-project/merge_requests/1",
            "head_pipeline": { "id": 29_626_725, "sha": HEAD, "ref": "patch-28", "status": "success" },
        });
        change(&mut merge);
        let merge = serde_json::from_value(merge).map_err(|e| e.to_string())?;
        request_of(merge, 5).map_err(|e| e.to_string())
    }

    #[test]
    fn a_merge_request_is_read_and_a_malformed_one_is_none() {
        let request = read(|_| ()).unwrap();
        assert_eq!(
            (request.head.as_str(), request.base.as_str(), request.state),
            (HEAD, "main", RequestState::Open)
        );
        assert!(!request.draft && !request.from_fork);
        assert!(
            read(|m| m["source_project_id"] = 9.into())
                .unwrap()
                .from_fork
        );
        assert!(
            read(|m| m["source_project_id"] = Value::Null)
                .unwrap()
                .from_fork
        );
        assert!(read(|m| m["draft"] = true.into()).unwrap().draft);
        assert_eq!(
            read(|m| m["state"] = "merged".into()).unwrap().state,
            RequestState::Merged
        );
        assert_eq!(
            read(|m| m["state"] = "locked".into()).unwrap().state,
            RequestState::Open,
            "while it is being merged"
        );
        assert!(
            read(|m| m["sha"] = Value::Null)
                .unwrap_err()
                .contains("no full id")
        );
        assert!(
            read(|m| m["iid"] = 6.into())
                .unwrap_err()
                .contains("5 was asked for")
        );
        assert!(read(|m| m["state"] = "ajar".into()).is_err());
    }

    #[test]
    fn every_word_for_a_state_has_its_meaning_and_an_unknown_one_never_passes() {
        for (word, may_fail, wanted) in [
            ("success", false, State::Passed),
            ("skipped", false, State::Passed),
            ("failed", false, State::Failing),
            ("failed", true, State::Passed),
            ("manual", true, State::Passed),
            ("manual", false, State::Pending),
            ("canceled", true, State::Failing),
            ("running", true, State::Pending),
            ("created", false, State::Pending),
            ("brilliant", true, State::Failing),
        ] {
            assert_eq!(state(word, may_fail), wanted, "{word}");
        }
    }

    #[test]
    fn a_pipeline_that_does_not_pass_counts_and_one_that_passes_vouches_for_nothing() {
        let status = |name: &str, status: &str| {
            json!([{ "id": 91, "name": name, "status": status, "sha": HEAD,
            "ref": "main", "allow_failure": false, "author": { "username": "janedoe" }, "description": null }])
        };
        let checks = |statuses: Value, pipeline: &str| {
            let statuses = serde_json::from_value(statuses).unwrap();
            checks_of(
                "x",
                HEAD,
                statuses,
                Some(Pipeline {
                    id: 7,
                    status: pipeline.to_owned(),
                }),
            )
        };
        let read = checks(
            json!([status("a", "success"), status("b", "failed")]),
            "failed",
        )
        .unwrap();
        assert_eq!(
            (read.failing, read.passed),
            (vec!["b".to_owned(), "pipeline 7".to_owned()], 1)
        );
        assert!(checks(json!([[]]), "success").unwrap().is_none());
        assert_eq!(
            checks(json!([[]]), "running").unwrap().pending,
            ["pipeline 7"]
        );
        let mut other = status("a", "success");
        other[0]["sha"] = "9".into();
        assert!(
            checks(json!([other]), "success")
                .unwrap_err()
                .to_string()
                .contains("is about 9")
        );
    }
}
