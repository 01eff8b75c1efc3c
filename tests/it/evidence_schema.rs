//! The published JSON Schemas and the reader agree: both are held to the tables in `tests/fixtures/evidence/` (the reader by its unit
//! tests), each document by a validator of the field (ajv, on node).

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::not_run::not_run;
use crate::sandbox::{Ran, Sandbox};

/// Reads `{"schema", "texts"}` on stdin and prints, for each text, whether it is JSON that the schema takes.
const VALIDATE: &str = r#"
const Ajv = require(process.argv[1] + "/dist/2020").default;
const { schema, texts } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const valid = new Ajv({ strict: true, allErrors: false }).compile(schema);
const judge = text => { try { return valid(JSON.parse(text)); } catch (e) { if (e instanceof SyntaxError) return false; throw e; } };
console.log(JSON.stringify(texts.map(judge)));
"#;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The validator's package: `ARKAINT_TEST_AJV`, else where `tests/run` installs it.
fn ajv() -> Option<PathBuf> {
    let found = match std::env::var_os("ARKAINT_TEST_AJV") {
        Some(named) => Some(PathBuf::from(named)),
        None => {
            let built = Sandbox::bin().parent().unwrap().to_path_buf();
            [built, root().join("target")]
                .into_iter()
                .map(|target| target.join("tools/ajv/node_modules/ajv"))
                .find(|p| p.is_dir())
        }
    };
    found.filter(|p| p.join("dist/2020.js").is_file())
}

/// The documents of a table: text, and whether the schema takes it.
fn table(name: &str) -> Vec<(String, bool)> {
    let path = root().join(format!("tests/fixtures/evidence/{name}.jsonl"));
    let lines = std::fs::read_to_string(path).unwrap();
    let document = |line: &str| {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = case["text"].as_str().unwrap();
        let text = match (case["fill"].as_str(), case["times"].as_u64()) {
            (Some(fill), Some(times)) => {
                text.replace('%', &vec![fill; times.try_into().unwrap()].join(","))
            }
            _ => text.to_owned(),
        };
        // What only the reader can refuse is named, and the schema's comment says so.
        (text, case["reads"] == "good" || case["beyond"].is_string())
    };
    lines.lines().map(document).collect()
}

fn schema(name: &str) -> Value {
    let path = root().join(format!("schema/{name}.schema.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Which of `texts` the schema takes; `None`, and said so, where no validator is here.
pub fn taken(test: &str, name: &str, texts: &[&str]) -> Option<Vec<bool>> {
    let sandbox = Sandbox::new();
    let node = sandbox.command("node").arg("--version").output().is_ok();
    let Some(ajv) = ajv().filter(|_| node) else {
        not_run(test, "ajv");
        return None;
    };
    let input = json!({ "schema": schema(name), "texts": texts }).to_string();
    let mut child = sandbox
        .command("node")
        .args(["-e", VALIDATE])
        .arg(&ajv)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap()).expect(0);
    Some(serde_json::from_str(&ran.stdout).unwrap())
}

fn agree(test: &str, name: &str) {
    let table = table(name);
    let texts: Vec<&str> = table.iter().map(|(text, _)| text.as_str()).collect();
    let Some(taken) = taken(test, name, &texts) else {
        return;
    };
    assert_eq!(taken.len(), table.len());
    for ((text, wanted), taken) in table.iter().zip(taken) {
        assert_eq!(taken, *wanted, "the schema of {name} on {text}");
    }
}

#[test]
fn the_schema_of_verify_json_takes_what_the_reader_takes() {
    agree(
        "the_schema_of_verify_json_takes_what_the_reader_takes",
        "verify",
    );
}

#[test]
fn the_schema_of_dod_json_takes_what_the_reader_takes_whole() {
    agree(
        "the_schema_of_dod_json_takes_what_the_reader_takes_whole",
        "dod",
    );
}

#[test]
fn what_a_schema_cannot_say_is_in_its_comment() {
    for name in ["verify", "dod"] {
        let schema = schema(name);
        let comment = schema["$comment"].as_str().unwrap();
        for word in ["stands twice", "64 levels", "surrogate", "1 MiB", "UTF-8"] {
            assert!(comment.contains(word), "{name}: {word}");
        }
    }
}
