//! GitLab through a stand-in named `glab` that records its words and what it reads, and answers from files. What it cannot show: whether
//! the real glab takes these words (they are those of its manual), what it makes of pages, and its own errors.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

/// The answer is the file named by method and path, `/` and `?` and what follows taken out; without one it fails as glab does.
const STAND_IN: &str = r#"#!/bin/sh
printf '%s\n' "$*" >>"$RECORD/words"
method= path=
while [ $# -gt 0 ]; do
    case $1 in
        --input) cat >"$RECORD/read"; shift ;;
        --method) method=$2; shift ;;
        --header | --hostname) shift ;;
        --*) ;;
        *) path=$1 ;;
    esac
    shift
done
pwd >"$RECORD/folder"
answer=$RECORD/$method-$(printf '%s' "${path%%\?*}" | tr / -)
if [ -e "$answer" ]; then cat "$answer"; else echo "glab: 404 Not Found (HTTP 404)" >&2; exit 1; fi
"#;

struct Lab {
    folder: tempfile::TempDir,
    env: Env,
}

impl Lab {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::create_dir(folder.path().join("repository")).unwrap();
        fs::write(bin.join("glab"), STAND_IN).unwrap();
        fs::set_permissions(bin.join("glab"), fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let env = vec![
            ("PATH".into(), path.into()),
            ("RECORD".into(), folder.path().into()),
        ];
        Self { folder, env }
    }

    fn says(&self, to: &str, answer: &str) {
        fs::write(self.folder.path().join(to), answer).unwrap();
    }

    fn forge(&self) -> Forge {
        let repository = self.folder.path().join("repository");
        Forge::with(&repository, "git@gitlab.com:g/sub/r.git", 5, &self.env).unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }
}

const NOTES: &str = "projects-g%2Fsub%2Fr-merge_requests-5-notes";

fn note(id: u64, author: &str, body: &str) -> Value {
    json!({ "id": id, "body": body, "author": { "id": 1, "username": author }, "system": false })
}

#[test]
fn glab_is_asked_by_its_words_outside_of_the_repository() {
    let lab = Lab::new();
    let head = "8".repeat(40);
    let merge = json!({ "iid": 5, "state": "opened", "draft": true, "title": "t", "web_url": "https://gitlab.com/x", "sha": head,
        "target_branch": "main", "source_project_id": 2, "target_project_id": 2, "head_pipeline": null });
    lab.says(
        "GET-projects-g%2Fsub%2Fr-merge_requests-5",
        &merge.to_string(),
    );
    let request = lab.forge().request().unwrap();
    assert!(request.draft && request.head == head);
    let words = "api --method GET projects/g%2Fsub%2Fr/merge_requests/5 --hostname gitlab.com\n";
    assert_eq!(
        (lab.read("words").as_str(), lab.read("folder").as_str()),
        (words, "/\n")
    );
    let status = |name: &str, state: &str| json!([{ "name": name, "status": state, "sha": head }]);
    let statuses = format!("{}{}", status("a", "success"), status("b", "failed"));
    lab.says(
        &format!("GET-projects-g%2Fsub%2Fr-repository-commits-{head}-statuses"),
        &statuses,
    );
    let checks = lab.forge().checks(&head).unwrap();
    assert_eq!((checks.failing, checks.passed), (vec!["b".to_owned()], 1));
}

#[test]
fn glab_comments_once_and_edits_in_place() {
    let lab = Lab::new();
    let comment = |body: &str| lab.forge().comment(&format!("{MARKER}\n{body}"), MARKER);
    lab.says("GET-user", r#"{"id":1,"username":"operator"}"#);
    let error = refusal(comment("one").unwrap_err());
    assert!(
        error
            .cause
            .ends_with("on gitlab.com: glab: 404 Not Found (HTTP 404)"),
        "{}",
        error.cause
    );
    assert!(error.hints[0].ends_with("glab auth status --hostname gitlab.com"));
    assert!(!lab.read("words").contains("POST"));

    let others = format!(
        "{}{}",
        json!([note(1, "eve", &format!("{MARKER}\none"))]),
        json!([])
    );
    lab.says(&format!("GET-{NOTES}"), &others);
    lab.says(
        &format!("POST-{NOTES}"),
        &note(2, "operator", MARKER).to_string(),
    );
    let created = comment("/merge \"$(id)\"").unwrap();
    let url = "https://gitlab.com/g/sub/r/-/merge_requests/5#note_2".to_owned();
    assert_eq!(
        created,
        Commented {
            how: Posted::Created,
            url: url.clone(),
            others: 0
        }
    );
    let sent = json!({ "body": format!("{MARKER}\n&#47;merge \"$(id)\"") });
    assert_eq!(
        serde_json::from_str::<Value>(&lab.read("read")).unwrap(),
        sent
    );

    lab.says(
        &format!("GET-{NOTES}"),
        &json!([note(2, "operator", &format!("{MARKER}\r\none\r\n"))]).to_string(),
    );
    assert_eq!(comment("one").unwrap().how, Posted::Unchanged);
    lab.says(
        &format!("PUT-{NOTES}-2"),
        &note(2, "operator", MARKER).to_string(),
    );
    assert_eq!(
        comment("two").unwrap(),
        Commented {
            how: Posted::Edited,
            url,
            others: 0
        }
    );
    let last = lab.read("words").lines().last().unwrap().to_owned();
    assert_eq!(
        last,
        "api --input - --header Content-Type: application/json --method PUT projects/g%2Fsub%2Fr/merge_requests/5/notes/2 --hostname gitlab.com"
    );
}

#[test]
fn an_answer_without_end_is_stopped_and_nothing_is_posted() {
    let lab = Lab::new();
    lab.says("GET-user", r#"{"username":"operator"}"#);
    let notes = fs::File::create(lab.folder.path().join(format!("GET-{NOTES}"))).unwrap();
    notes.set_len(65 << 20).unwrap();
    let error = refusal(lab.forge().comment(MARKER, MARKER).unwrap_err());
    assert!(
        error.cause.ends_with("an answer of more than 64.0 MiB"),
        "{}",
        error.cause
    );
    assert!(!lab.read("words").contains("POST"));
}
