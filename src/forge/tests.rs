//! The room against the real `gh`, which talks to the scripted forge of `tests/it/forge.rs` on a unix socket: whatever gh makes of pages,
//! errors and JSON is its own. What is not real: the forge, TLS, and the login (a token that nobody checks).

#![allow(clippy::pedantic, unreachable_pub)]

mod glab;
#[path = "../../tests/it/http.rs"]
mod http;
#[path = "../../tests/it/not_run.rs"]
mod not_run;
#[path = "../../tests/it/forge.rs"]
mod service;

use std::path::PathBuf;

use serde_json::Value;

use super::*;
use crate::exit::Exit;

const HEAD: &str = "6dcb09b5b57875f334f61aebed695e2e4193db5e";
const MARKER: &str = "<!-- arkaint:deliver -->";

struct World {
    service: service::Forge,
    folder: tempfile::TempDir,
    env: Env,
}

impl World {
    /// `None`, and one line that says so, where there is no gh.
    fn new(test: &str) -> Option<Self> {
        let Some(gh) = service::gh() else {
            not_run::not_run(test, "gh");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("bin")).unwrap();
        std::fs::create_dir(at("repository")).unwrap();
        std::os::unix::fs::symlink(gh, at("bin/gh")).unwrap();
        let service = service::Forge::start(&at("forge"), HEAD);
        service.configure(&at("config"));
        let env: [(&str, PathBuf); 5] = [
            ("PATH", at("bin")),
            ("HOME", at("home")),
            ("GH_CONFIG_DIR", at("config")),
            ("GH_TOKEN", "nobody-checks-this".into()),
            // What a terminal of the operator's may have, and what would spoil the answers.
            ("GH_FORCE_TTY", "100%".into()),
        ];
        let env = env.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        Some(Self {
            service,
            folder,
            env,
        })
    }

    fn forge(&self) -> Forge {
        self.of("git@github.com:o/r.git").unwrap()
    }

    fn of(&self, url: &str) -> Result<Forge> {
        Forge::with(&self.folder.path().join("repository"), url, 7, &self.env)
    }

    fn comment(&self, body: &str) -> Result<Commented> {
        self.forge().comment(&format!("{MARKER}\n{body}"), MARKER)
    }

    fn writes(&self) -> Vec<(String, Value)> {
        self.service.with(|state| state.writes())
    }
}

fn refusal(error: anyhow::Error) -> Refusal {
    error.downcast::<Refusal>().unwrap()
}

#[test]
fn gh_reads_the_request() {
    let Some(world) = World::new("gh_reads_the_request") else {
        return;
    };
    let request = world.forge().request().unwrap();
    assert_eq!(
        (request.number, request.head.as_str(), request.base.as_str()),
        (7, HEAD, "main")
    );
    assert_eq!(
        (request.draft, request.state, request.from_fork),
        (false, RequestState::Open, false)
    );
    world.service.with(|state| {
        state.pull["draft"] = true.into();
        state.pull["merged"] = true.into();
        state.pull["head"]["sha"] = "f".repeat(40).into();
    });
    let request = world.forge().request().unwrap();
    assert_eq!(
        (request.draft, request.state, request.head),
        (true, RequestState::Merged, "f".repeat(40))
    );
}

#[test]
fn gh_comments_once_then_edits_in_place_and_only_for_other_words() {
    let Some(world) = World::new("gh_comments_once_then_edits_in_place_and_only_for_other_words")
    else {
        return;
    };
    let created = world.comment("one").unwrap();
    let url = "https://github.com/o/r/pull/7#issuecomment-1".to_owned();
    assert_eq!(
        created,
        Commented {
            how: Posted::Created,
            url: url.clone(),
            others: 0
        }
    );
    assert_eq!(world.comment("one").unwrap().how, Posted::Unchanged);
    assert_eq!(world.writes().len(), 1);
    assert_eq!(
        world.comment("two").unwrap(),
        Commented {
            how: Posted::Edited,
            url,
            others: 0
        }
    );
    assert_eq!(world.writes()[1].0, "PATCH /repos/o/r/issues/comments/1");
    let bodies = world.service.with(|state| {
        state
            .comments
            .iter()
            .map(|c| c["body"].clone())
            .collect::<Vec<_>>()
    });
    assert_eq!(bodies, [Value::from(format!("{MARKER}\ntwo"))]);
    // Somebody who may edit it took a line out.
    world
        .service
        .with(|state| state.comments[0]["body"] = MARKER.into());
    assert_eq!(world.comment("two").unwrap().how, Posted::Edited);
}

#[test]
fn gh_is_not_misled_by_the_marker_of_others_or_in_the_middle() {
    let Some(world) = World::new("gh_is_not_misled_by_the_marker_of_others_or_in_the_middle")
    else {
        return;
    };
    world.service.with(|state| {
        state.comment("eve", &format!("{MARKER}\none"));
        state.comment("operator", &format!("quoted:\n{MARKER}\none"));
    });
    assert_eq!(world.comment("one").unwrap().how, Posted::Created);
    let before = world.service.with(|state| state.comments[..2].to_vec());
    assert_eq!(world.comment("two").unwrap().how, Posted::Edited);
    assert_eq!(
        world.service.with(|state| state.comments[..2].to_vec()),
        before
    );
}

#[test]
fn gh_finds_ours_on_the_last_of_three_pages_and_of_several_the_oldest() {
    let Some(world) =
        World::new("gh_finds_ours_on_the_last_of_three_pages_and_of_several_the_oldest")
    else {
        return;
    };
    world.service.with(|state| {
        (0..249).for_each(|i| state.comment("eve", &format!("comment {i}")));
        state.comment("operator", &format!("{MARKER}\none"));
    });
    assert_eq!(world.comment("one").unwrap().how, Posted::Unchanged);
    let pages = |state: &mut service::State| {
        state
            .asked
            .iter()
            .filter(|(line, _)| line.contains("/comments?"))
            .count()
    };
    assert_eq!(world.service.with(pages), 3);
    world
        .service
        .with(|state| state.comment("operator", &format!("{MARKER}\nraced")));
    let edited = world.comment("two").unwrap();
    assert!(
        edited.url.ends_with("-250") && edited.others == 1,
        "{edited:?}"
    );
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn gh_posts_nothing_when_a_page_does_not_come_or_nobody_is_named() {
    let Some(world) = World::new("gh_posts_nothing_when_a_page_does_not_come_or_nobody_is_named")
    else {
        return;
    };
    world
        .service
        .with(|state| (0..250).for_each(|i| state.comment("eve", &format!("comment {i}"))));
    let failing = |part: &str, status: u16, body: Value| {
        world
            .service
            .with(|state| state.instead = [(part.to_owned(), (status, body))].into());
        let error = world.comment("one").unwrap_err();
        assert_eq!(world.writes().len(), 0, "{part}");
        error
    };
    let trouble = json!({ "message": "scripted trouble" });
    let error = refusal(failing(
        "comments?per_page=100&page=2",
        500,
        trouble.clone(),
    ));
    assert_eq!(error.exit, Exit::Person);
    assert_eq!(
        error.cause,
        "listing the comments of pull request 7 of o/r on github.com: gh: scripted trouble (HTTP 500)"
    );
    let error = failing("comments?per_page=100&page=3", 200, trouble.clone());
    assert!(format!("{error:#}").contains("another form"), "{error:#}");
    let error = refusal(failing(
        "POST /graphql",
        401,
        json!({ "message": "Bad credentials" }),
    ));
    assert_eq!(error.hints, ["gh auth login --hostname github.com"]);
    failing(
        "POST /graphql",
        200,
        json!({ "data": { "viewer": null }, "errors": [{ "message": "no" }] }),
    );
    failing(
        "POST /graphql",
        200,
        json!({ "data": { "viewer": { "login": "" } } }),
    );
}

#[test]
fn gh_sends_a_hostile_body_as_it_is() {
    let Some(world) = World::new("gh_sends_a_hostile_body_as_it_is") else {
        return;
    };
    let hostile = "\"}],\"x\":{\"$(id)\" `id` 'q' \\n \u{202e}\u{7} @/etc/passwd {owner} --method DELETE\n\u{1F980} | é\r\n<script>";
    world.comment(hostile).unwrap();
    let body = format!("{MARKER}\n{hostile}");
    assert_eq!(
        world.writes(),
        [(
            "POST /repos/o/r/issues/7/comments".to_owned(),
            json!({ "body": body })
        )]
    );
    let long = "é".repeat(60_000);
    assert_eq!(world.comment(&long).unwrap().how, Posted::Edited);
    assert!(world.comment(&"é".repeat(70_000)).is_err());
    assert_eq!(world.writes().len(), 2);
}

#[test]
fn gh_reads_every_page_of_both_kinds_of_checks_or_fails() {
    let Some(world) = World::new("gh_reads_every_page_of_both_kinds_of_checks_or_fails") else {
        return;
    };
    let run = |name: String, status: &str, conclusion: Value| json!({ "name": name, "status": status, "conclusion": conclusion });
    assert!(world.forge().checks(HEAD).unwrap().is_none());
    world.service.with(|state| {
        state.check_runs = (0..110)
            .map(|i| run(format!("run {i}"), "completed", "success".into()))
            .collect();
        state
            .check_runs
            .push(run("last".into(), "completed", "failure".into()));
        state
            .check_runs
            .push(run("slow".into(), "in_progress", Value::Null));
        state.statuses = (0..100)
            .map(|i| json!({ "context": format!("status {i}"), "state": "success" }))
            .collect();
        state
            .statuses
            .push(json!({ "context": "legacy", "state": "error" }));
        state
            .statuses
            .push(json!({ "context": "deploy", "state": "pending" }));
    });
    let checks = world.forge().checks(HEAD).unwrap();
    assert_eq!(
        (checks.failing, checks.pending, checks.passed),
        (
            vec!["last".to_owned(), "legacy".to_owned()],
            vec!["deploy".to_owned(), "slow".to_owned()],
            210,
        )
    );
    let error = refusal(world.forge().checks(&"0".repeat(40)).unwrap_err());
    assert!(
        error.cause.ends_with("gh: Not Found (HTTP 404)"),
        "{}",
        error.cause
    );
    assert!(
        world
            .forge()
            .checks("main")
            .unwrap_err()
            .to_string()
            .contains("no full id")
    );
    for page in [
        "check-runs?filter=latest&per_page=100&page=2",
        "/status?per_page=100&page=2",
    ] {
        world
            .service
            .with(|state| state.instead = [(page.to_owned(), (502, Value::Null))].into());
        let error = refusal(world.forge().checks(HEAD).unwrap_err());
        assert!(error.cause.contains("502"), "{}", error.cause);
    }
}

#[test]
fn gh_that_is_not_logged_in_is_told_how_to() {
    let Some(mut world) = World::new("gh_that_is_not_logged_in_is_told_how_to") else {
        return;
    };
    world.env.retain(|(key, _)| key != "GH_TOKEN");
    let error = refusal(world.forge().request().unwrap_err());
    assert_eq!(
        (error.exit, error.hints),
        (
            Exit::Person,
            vec!["gh auth login --hostname github.com".to_owned()]
        )
    );
    let error = refusal(world.of("https://git.example.org/o/r").unwrap_err());
    assert_eq!(error.exit, Exit::Refused);
    assert_eq!(
        error.cause,
        "neither gh nor glab is logged in to git.example.org, the host of the remote"
    );
    assert_eq!(world.service.with(|state| state.asked.len()), 0);
}

#[test]
fn gh_asks_a_github_of_ones_own_where_it_is_logged_in() {
    let Some(mut world) = World::new("gh_asks_a_github_of_ones_own_where_it_is_logged_in") else {
        return;
    };
    let url = "ssh://git@git.example.org:2222/o/r.git";
    world
        .env
        .push(("GH_ENTERPRISE_TOKEN".into(), "nobody-checks-this".into()));
    let error = refusal(world.of(url).unwrap_err());
    assert!(
        error
            .cause
            .contains("GH_ENTERPRISE_TOKEN would go to git.example.org"),
        "{}",
        error.cause
    );
    assert_eq!(world.service.with(|state| state.asked.len()), 0);
    world.env.push(("GH_HOST".into(), "git.example.org".into()));
    assert_eq!(world.of(url).unwrap().request().unwrap().head, HEAD);
    let last = world
        .service
        .with(|state| state.asked.last().unwrap().0.clone());
    assert_eq!(last, "GET /api/v3/repos/o/r/pulls/7");
}

#[test]
fn without_a_tool_or_with_one_that_the_repository_brings_nothing_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let with = |path: &str| {
        let env = vec![("PATH".into(), path.into())];
        refusal(Forge::with(folder.path(), "git@github.com:o/r", 7, &env).unwrap_err())
    };
    let missing = with("/nowhere");
    assert!(
        missing.cause.starts_with("gh is not installed")
            && missing.hints[0].contains("gh auth login")
    );
    let planted = folder.path().join("gh");
    std::fs::write(&planted, "#!/bin/sh\nexit 0\n").unwrap();
    std::fs::set_permissions(
        &planted,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    assert!(
        with(folder.path().to_str().unwrap())
            .cause
            .contains("lies in the repository")
    );
    assert_eq!(
        refusal(Forge::of(folder.path(), "/srv/r", 7).unwrap_err()).exit,
        Exit::Refused
    );
}
