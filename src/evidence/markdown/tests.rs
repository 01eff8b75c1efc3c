use super::super::assess::Assessment;
use super::super::dod::List;
use super::super::table::tests::{assessment, row, table};
use super::*;

/// The cells of the only row, its borders taken off.
#[track_caller]
fn cells(assessment: &Assessment) -> Vec<String> {
    let text = table(assessment, &[]).markdown();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 3, "{text}");
    let row = rows[2]
        .strip_prefix("| ")
        .unwrap()
        .strip_suffix(" |")
        .unwrap();
    row.split(" | ").map(str::to_owned).collect()
}

fn one(evidence: &str) -> Assessment {
    assessment(
        vec![row(List::Issue, "o1", Verdict::Proven, evidence)],
        Overall::Complete,
    )
}

#[test]
fn the_whole_document() {
    let mut missing = row(List::Project, "lint", Verdict::Missing, "");
    missing.source.clear();
    let mut assessment = assessment(
        vec![
            row(List::Issue, "o1", Verdict::Proven, "42 passed | 0 failed"),
            missing,
        ],
        Overall::Incomplete,
    );
    assessment.unmatched = vec!["issue/o9 in .ak-loop/dod.json".to_owned()];
    let artifacts = [(".ak-loop/verify.json".to_owned(), "d".repeat(64))];
    let text = table(&assessment, &artifacts).markdown();
    assert_eq!(
        text,
        format!(
            "<!-- arkaint:deliver -->
## Definition of Done

**Incomplete**: 1 proven, 1 missing (prove it).

| | List | Id | Item | Evidence | Source |
|---|---|---|---|---|---|
| ✅ proven | issue | `o1` | what o1 is about | <code>42 passed &#124; 0 failed</code> | worker · dated |
| ❓ missing | project | `lint` | what lint is about | has its reason&#58; prove it |  |

- nobody asked for issue/o9 in .ak-loop/dod.json

Only `rerun` (or CI) is independent of the worker: every other grade rests on files that it could have written.

Head `{}`, tree `{}`, contract `cccccccccccc`.
`.ak-loop/verify.json`: SHA-256 `{}`.
",
            "a".repeat(40),
            "b".repeat(40),
            "d".repeat(64)
        )
    );
    assert_eq!(text, table(&assessment, &artifacts).markdown());
}

#[test]
fn a_strangers_text_breaks_no_cell_and_starts_nothing() {
    let entity = regex::Regex::new("&#[0-9]+;").unwrap();
    for hostile in [
        "a|b",
        r"a\|b",
        r"a\\|b",
        "a\r\nb\rc\nd\u{2028}e",
        "`a` ``b``",
        "<!-- arkaint:deliver -->",
        "--> <script>alert(1)</script>",
        "<img src=x onerror=y>",
        "![x](http://evil.example/x.png) [y](javascript:z)",
        "@team and a@b.example",
        "#123 GH#1 owner/repo#5",
        "!12 %3 ~bug &4 $5",
        "**bold** _it_ ~~no~~ $x$",
        "\u{1b}[31mred\u{202e}desrever\u{0}",
        "&lt;b&gt; &#64;team",
        "</code>@team",
        "https://evil.example WWW.evil.example www.evil.example",
    ] {
        let mut case = one(hostile);
        case.rows[0].description = hostile.to_owned();
        case.rows[0].id = hostile.to_owned();
        case.rows[0].conflict = true;
        case.rows[0].reason = format!("issue/o1 {hostile}");
        case.warnings = vec![hostile.to_owned()];
        let text = table(&case, &[]).markdown();
        assert_eq!(text.matches(MARKER).count(), 1, "{text}");
        let cells = cells(&case);
        assert_eq!(cells.len(), 6, "{hostile}: {cells:?}");
        let remark = text.lines().find(|line| line.starts_with("- ")).unwrap();
        for cell in cells[2..5].iter().map(String::as_str).chain([&remark[2..]]) {
            // Besides our own elements no punctuation is left that could be markup.
            let bare = cell.replace("<code>", "").replace("</code>", "");
            assert!(
                !bare.contains([
                    '|', '`', '<', '>', '@', '*', '_', '[', ']', '(', '!', '~', '$', '\\'
                ]),
                "{hostile}: {cell}"
            );
            assert!(
                !bare.contains("://") && !bare.to_ascii_lowercase().contains("www."),
                "{cell}"
            );
            assert!(!bare.chars().any(crate::text::is_hidden), "{cell:?}");
            // What is left of & and # are entities of ours.
            let without = entity.replace_all(&bare, "").into_owned();
            assert!(!without.contains(['&', '#']), "{hostile}: {cell}");
            assert_eq!(
                cell.matches("<code>").count(),
                cell.matches("</code>").count()
            );
        }
    }
}

#[test]
fn names_and_references_are_never_bare_text() {
    let mut case = one("@team #1");
    case.rows[0].description = "ask @team about #123, 100% of R&D! and !12".to_owned();
    let cells = cells(&case);
    assert_eq!(
        cells[3],
        "ask <code>&#64;</code>team about <code>&#35;</code>123, 100&#37; of R<code>&#38;</code>D&#33; and <code>&#33;</code>12"
    );
    assert_eq!(cells[4], "<code>&#64;team &#35;1</code>");
}

#[test]
fn cells_are_cut_on_characters_after_secrets_are_gone() {
    let cells_of = |evidence: &str| cells(&one(evidence))[4].clone();
    assert_eq!(
        cells_of(&"é".repeat(200)),
        format!("<code>{}</code>", "é".repeat(200))
    );
    assert_eq!(
        cells_of(&"é".repeat(201)),
        format!("<code>{}…</code>", "é".repeat(199))
    );
    let key = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    for before in 150..200 {
        let cell = cells_of(&format!("{} {key}", "x".repeat(before)));
        assert!(!cell.contains("a1B2c3"), "{cell}");
    }
    let mut case = one("");
    case.rows[0].description = format!("use {key}");
    assert!(cells(&case)[3].contains("REDACTED"));
}

#[test]
fn each_verdict_has_its_icon_and_its_word() {
    for (verdict, conflict, cell) in [
        (Verdict::Proven, false, "✅ proven"),
        (Verdict::Proven, true, "⚠️ proven"),
        (Verdict::Failed, false, "❌ failed"),
        (Verdict::Missing, false, "❓ missing"),
        (Verdict::Held, false, "✋ held"),
    ] {
        let mut row = row(List::Issue, "o1", verdict, "seen");
        row.conflict = conflict;
        let cells = cells(&assessment(vec![row], Overall::Held));
        assert_eq!(cells[0], cell);
        let told = verdict != Verdict::Proven || conflict;
        assert_eq!(cells[4].starts_with("has its reason"), told);
        assert!(cells[4].ends_with("<code>seen</code>"));
    }
    for (overall, word) in [
        (Overall::Complete, "**Complete**: 1 proven."),
        (Overall::Held, "**Held**: 1 proven."),
        (Overall::Incomplete, "**Incomplete**: 1 proven."),
        (Overall::Vacuous, "**Nothing to prove**"),
    ] {
        let mut case = one("x");
        case.overall = overall;
        let text = table(&case, &[]).markdown();
        assert!(text.lines().nth(3).unwrap().starts_with(word), "{text}");
    }
}

#[test]
fn a_document_fits_into_a_comment() {
    let rows = (0..1000).map(|n| {
        row(
            List::Issue,
            &format!("o{n}"),
            Verdict::Proven,
            &"|".repeat(300),
        )
    });
    let mut case = assessment(rows.collect(), Overall::Complete);
    case.warnings = (0..500).map(|n| format!("warning {n}")).collect();
    let text = table(&case, &[]).markdown();
    assert!(text.len() < 60_000, "{}", text.len());
    let shown = text.lines().filter(|l| l.starts_with("| ✅")).count();
    assert!(text.contains(&format!("Rows that do not fit here: {}.", 1000 - shown)));
    assert!(text.contains("- warning 19\n- and 480 more\n"));
    assert!(text.contains("1000 proven"));
}

#[test]
fn nothing_to_prove_has_no_table() {
    let text = table(&assessment(Vec::new(), Overall::Vacuous), &[]).markdown();
    assert!(!text.contains('|') && text.starts_with(MARKER) && text.contains("Head `"));
}
