//! What users of other tools reported, each as a test named after it. Where a test of its subject holds it already, that test's comment says so.

mod hooks;
mod loops;
mod records;

use std::fs;
use std::path::{Path, PathBuf};

/// Each report by `report_<repository>_<number>`; with a reason where there is nothing to test here.
const REPORTS: &[(&str, Option<&str>)] = &[
    ("pre_commit_663", None),
    ("pre_commit_3627", None),
    ("git_branchless_1328", None),
    ("lefthook_901", None),
    ("prek_865", None),
    ("husky_715", None),
    ("projectmem_16", None),
    ("git_for_windows_git_2640", None),
    ("lefthook_508", None),
    ("lefthook_511", None),
    ("husky_1431", None),
    ("daintree_11226", None),
    ("simple_git_hooks_150", None),
    ("husky_849", None),
    ("hypomnema_244", None),
    ("unity_helpers_730", None),
    ("lint_staged_683", None),
    ("husky_1210", None),
    ("mfc_1697", None),
    ("skills_14", None),
    ("git_ai_97", None),
    ("git_ai_1079", None),
    ("jj_3", None),
    ("git_meta_826", None),
    ("git_absorb_212", None),
    ("libgit2_7094", None),
    ("entireio_cli_228", None),
    ("entireio_cli_1250", None),
    ("cargo_binstall_1978", None),
    ("cargo_2729", None),
    ("copilot_cli_1675", None),
    ("arbos_390", None),
    ("entireio_cli_1408", None),
    ("claude_code_84660", None),
    ("claude_code_39859", None),
    ("claude_code_3494", None),
    ("claude_code_40710", None),
    ("opencode_32529", None),
    ("opencode_3176", None),
    ("claude_code_38287", None),
    ("claude_code_79899", None),
    ("claude_code_78350", None),
    ("orca_13695", None),
    ("perl_lsp_2663", None),
    ("gemini_cli_19729", None),
    ("jj_3616", None),
    ("beads_3208", None),
    ("beads_2729", None),
    ("husky_1410", None),
    ("git_lfs_3706", None),
    ("git_lfs_2865", None),
    ("bestax_521", None),
    ("cortextos_969", None),
    ("mailpouch_318", None),
    ("git_ai_95", None),
    ("git_ai_98", None),
    ("git_ai_1376", None),
    ("git_ai_1214", None),
    ("commitlore_833", None),
    ("vim_git_50", None),
    ("git_ai_notes_merge_mixed_fanout", None),
    ("entireio_cli_1792", None),
    ("entireio_cli_1642", None),
    ("entireio_cli_1137", None),
    ("entireio_cli_1927", None),
    ("entireio_cli_2404", None),
    ("opencode_15977", None),
    ("opencode_9290", None),
    ("opencode_14811", None),
    ("git_ai_1580", None),
    ("aider_5529", None),
    ("claude_code_11005", None),
    ("pi_outpost_201", None),
    ("ralph_orchestrator_121", None),
    ("agentflow_41", None),
    ("url_shortener_app_484", None),
    ("agentcore_cli_1440", None),
    ("no_mistakes_485", None),
    ("ralph_claude_code_2", None),
    ("ralph_claude_code_141", None),
    ("ralph_claude_code_128", None),
    ("ralph_orchestrator_234", None),
    ("munder_difflin_441", None),
    ("ralph_wiggum_cursor_15", None),
    ("orbit_768", None),
    ("goose_9758", None),
    ("goose_7527", None),
    ("goose_10110", None),
    ("goose_3983", None),
    ("fak_10433", None),
    ("java_profiler_777", None),
    ("claude_code_70231", None),
    ("midgard_519", None),
    ("midgard_522", None),
    ("gaia_3732", None),
    ("entireio_cli_255", None),
    ("git_agent_3", None),
    ("git_secret_642", None),
    (
        "hashstack_770",
        Some(
            "two names that differ by case need a disk that folds case; there, a rollback says which path is not as it should be",
        ),
    ),
    ("container_use_337", None),
    ("container_use_365", None),
    ("entireio_cli_1716", None),
    ("homeboy_10521", None),
];

/// A test function: its name, and its doc comment.
type Test = (String, String);

/// The tests of every Rust file of the program and of its tests, but for this one.
fn sources() -> Vec<(PathBuf, Vec<Test>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut left = vec![root.join("src"), root.join("tests/it")];
    let mut found = Vec::new();
    while let Some(folder) = left.pop() {
        for path in fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|e| e == "rs")
                && !path.ends_with("reports/mod.rs")
            {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(root).unwrap().to_path_buf(), tests(&text)));
            }
        }
    }
    found.sort();
    found
}

/// Every `#[test]` function of a file.
fn tests(text: &str) -> Vec<Test> {
    let function = regex::Regex::new(r"^(?:pub(?:\([a-z]+\))? )?fn (\w+)\(").unwrap();
    let (mut found, mut doc, mut is_test) = (Vec::new(), String::new(), false);
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if let Some(said) = line.strip_prefix("///") {
            doc.push_str(said);
            doc.push('\n');
        } else if line.starts_with("#[") {
            is_test |= line == "#[test]";
            // One over many lines.
            let open = |line: &str| line.matches('[').count() > line.matches(']').count();
            if open(line) {
                lines.by_ref().find(|line| line.ends_with(']'));
            }
        } else {
            if let Some(name) = function.captures(line).filter(|_| is_test) {
                found.push((name[1].to_owned(), std::mem::take(&mut doc)));
            }
            doc.clear();
            is_test = false;
        }
    }
    found
}

/// The test that holds a report: one that is named after it, or whose doc comment names it. No other comment counts.
fn holder(report: &str, sources: &[(PathBuf, Vec<Test>)]) -> Option<String> {
    let held = regex::Regex::new(&format!(r"\breport_{report}(?:_[a-z]\w*)?\b")).unwrap();
    sources.iter().find_map(|(path, tests)| {
        let mut tests = tests.iter();
        let (name, _) = tests.find(|(name, doc)| held.is_match(name) || held.is_match(doc))?;
        Some(format!("{} {name}", path.display()))
    })
}

#[test]
fn only_a_test_holds_a_report() {
    let text = "//! report_a_1\n\n/// report_a_2\nfn helper() {}\n\n/// Words.\n/// Also report_a_3.\n#[test]\n#[expect(\n    x\n)]\nfn some() {\n    // report_a_4\n}\n
        mod tests {\n    #[test]\n    fn report_a_5_and_words() {}\n    // report_a_6\n    /// report_a_7\n    const X: u8 = 1;\n    #[test]\n    fn last() {}\n}\n";
    let sources = [(PathBuf::from("x.rs"), tests(text))];
    let held: Vec<_> = (1..=7)
        .map(|n| holder(&format!("a_{n}"), &sources))
        .collect();
    let test = |name: &str| Some(format!("x.rs {name}"));
    assert_eq!(
        held,
        [
            None,
            None,
            test("some"),
            None,
            test("report_a_5_and_words"),
            None,
            None
        ]
    );
}

#[test]
#[expect(clippy::print_stdout, reason = "the list, for `--nocapture`")]
fn every_report_has_its_test_or_a_reason() {
    let sources = sources();
    let mut without = Vec::new();
    for (report, reason) in REPORTS {
        match (holder(report, &sources), reason) {
            (Some(test), None) => println!("report_{report}: {test}"),
            (None, Some(reason)) => println!("report_{report}: {reason}"),
            (None, None) | (Some(_), Some(_)) => without.push(report),
        }
    }
    assert!(without.is_empty(), "{without:?}");
}
