//! The breaker on labelled streams of real runs, through `git arkaint explain`: precision, recall, and every miss by name.

#![allow(clippy::print_stdout)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

struct Case {
    name: String,
    trip: bool,
    logs: Vec<PathBuf>,
}

/// Cases of a folder with `labels.jsonl`.
fn cases(folder: &Path) -> Vec<Case> {
    let labels = std::fs::read_to_string(folder.join("labels.jsonl")).unwrap();
    let case = |line: &str| {
        let label: Value = serde_json::from_str(line).unwrap();
        let name = label["name"].as_str().unwrap().to_owned();
        let streams = label["sequence"].as_array().map_or_else(
            || vec![name.clone()],
            |names| {
                names
                    .iter()
                    .map(|n| n.as_str().unwrap().to_owned())
                    .collect()
            },
        );
        let logs = streams
            .iter()
            .map(|stream| folder.join(format!("{stream}.jsonl")))
            .collect();
        Case {
            name,
            trip: label["trip"].as_bool().unwrap(),
            logs,
        }
    };
    labels.lines().map(case).collect()
}

fn explain(logs: &[PathBuf]) -> Value {
    let out = Command::new(env!("CARGO_BIN_EXE_git-arkaint"))
        .args(["explain", "--json"])
        .args(logs)
        .current_dir("/")
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    serde_json::from_slice(&out.stdout).unwrap()
}

/// Runs every case and asserts on what was reached.
fn measure(folder: &Path, precision: f64, recall: f64) {
    let cases = cases(folder);
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let judge = |case: &Case| {
        let document = explain(&case.logs);
        let early = document["launches"]
            .as_array()
            .unwrap()
            .iter()
            .rev()
            .skip(1)
            .any(|launch| launch["trips"] == true);
        (document["trips"].as_bool().unwrap(), early, document)
    };
    let found: Vec<_> = std::thread::scope(|scope| {
        let chunks: Vec<_> = cases
            .chunks(cases.len().div_ceil(workers))
            .map(|chunk| scope.spawn(move || chunk.iter().map(judge).collect::<Vec<_>>()))
            .collect();
        chunks
            .into_iter()
            .flat_map(|chunk| chunk.join().unwrap())
            .collect()
    });
    let (mut right, mut wrong, mut missed, mut misses) = (0, 0, 0, String::new());
    for (case, (trips, early, document)) in cases.iter().zip(&found) {
        match (trips, case.trip) {
            (true, true) => right += 1,
            (true, false) => wrong += 1,
            (false, true) => missed += 1,
            (false, false) => {}
        }
        if *trips != case.trip || *early {
            let _ = writeln!(
                misses,
                "{}: trips {trips}, expected {}{}\n{:#}",
                case.name,
                case.trip,
                if *early {
                    ", and an earlier launch tripped"
                } else {
                    ""
                },
                document["signatures"]
            );
        }
    }
    let rate = |part: i32, whole: i32| {
        if whole == 0 {
            1.0
        } else {
            f64::from(part) / f64::from(whole)
        }
    };
    let (p, r) = (rate(right, right + wrong), rate(right, right + missed));
    println!(
        "{} cases: precision {p:.3} ({right}/{}), recall {r:.3} ({right}/{})",
        cases.len(),
        right + wrong,
        right + missed
    );
    assert!(
        p >= precision && r >= recall && misses.is_empty(),
        "precision {p:.3}, recall {r:.3}\n{misses}"
    );
}

#[test]
fn labelled_streams() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/breaker");
    measure(&folder, 1.0, 1.0);
}

/// The whole corpus, where it lies beside the repository.
#[test]
fn the_whole_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/breaker");
    let folder = std::env::var_os("ARKAINT_TEST_CORPUS").map_or(folder, PathBuf::from);
    if folder.join("labels.jsonl").exists() {
        measure(&folder, 1.0, 1.0);
    }
}

#[test]
fn a_signature_tells_the_line_and_what_is_compared() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/breaker");
    let trip = cases(&folder)
        .into_iter()
        .find(|case| case.name.starts_with("trip-noise"))
        .unwrap();
    let document = explain(&trip.logs);
    let signature = &document["signatures"][0];
    for key in ["hash", "kind", "label", "raw", "normalised"] {
        assert!(
            signature[key].as_str().is_some_and(|text| !text.is_empty()),
            "{key}: {signature}"
        );
    }
    assert!(signature["count"].as_u64().unwrap() >= 3 && signature["resolved"] == false);
    assert_eq!(document["trip"]["signature"]["hash"], signature["hash"]);
    assert_eq!(document["outcome"], document["launches"][0]["outcome"]);
}
