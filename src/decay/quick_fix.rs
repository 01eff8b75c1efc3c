//! Mode 2, quick-fix accumulation: do suppressed lints, skipped or weakened tests, swallowed errors, sleeps and TODOs pile up from one
//! checkpoint to the next? Trees in, a signal out. [`super::marks`] says what each language's marks are.
//!
//! What counts is the net change of their number over all changed files: code that moves takes its marks along and counts for nothing. A
//! test is weakened where a file has fewer assertions and not fewer tests, and tests are lost where both went from a file that stayed.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::marks::{self, Counts, Mark};
use super::signal::{Mode, Signal};
use crate::git::changes::Entry;
use crate::git::{Oid, Worktree};

/// So many marks more over the last steps together, and no fewer than one in fifty lines more: a large new part may have a few.
const THRESHOLD: i64 = 3;
const LINES_A_MARK: i64 = 50;
/// Consecutive pairs of checkpoints that are looked at.
pub(crate) const STEPS: usize = 5;
const SHOWN: usize = 10;

/// What one step, from one checkpoint to the next, added and took away.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Step {
    /// By language and mark; lost ones are negative.
    net: BTreeMap<(&'static str, Mark), i64>,
    /// Lines of source more (or fewer).
    lines: i64,
    /// Files that have more marks: path, mark, how many more.
    grew: Vec<(String, Mark, i64)>,
}

/// One changed file: its path where it is now, and its text before and after; `None` where it was not there.
pub(crate) struct File<'a> {
    pub path: &'a [u8],
    pub old: Option<&'a str>,
    pub new: Option<&'a str>,
}

impl Step {
    /// From the tree `old` to the tree `new`.
    pub(crate) fn between(worktree: &Worktree, old: Oid, new: Oid) -> Result<Self> {
        let mut step = Self::default();
        for change in worktree.changes(old, new)?.list {
            if marks::language(change.path()).is_none() {
                continue;
            }
            let text = |side: &Option<Entry>| -> Result<Option<String>> {
                let id = side.as_ref().map(|side| side.id);
                id.map(|id| worktree.text_blob(Some(id))).transpose()
            };
            let (old, new) = (text(&change.old)?, text(&change.new)?);
            step.add(&File {
                path: change.path(),
                old: old.as_deref(),
                new: new.as_deref(),
            });
        }
        Ok(step)
    }

    fn add(&mut self, file: &File<'_>) {
        let Some(language) = marks::language(file.path) else {
            return;
        };
        let count =
            |text: Option<&str>| text.map_or_else(Counts::default, |text| language.count(text));
        let (old, new) = (count(file.old), count(file.new));
        self.lines += new.lines - old.lines;
        let mut net: BTreeMap<Mark, i64> = BTreeMap::new();
        for (mark, number) in &new.marks {
            *net.entry(*mark).or_default() += number;
        }
        for (mark, number) in &old.marks {
            *net.entry(*mark).or_default() -= number;
        }
        if file.old.is_some() && file.new.is_some() {
            let (tests, assertions) = (old.tests - new.tests, old.assertions - new.assertions);
            let lost = if tests > 0 {
                tests.min(assertions)
            } else {
                assertions
            };
            *net.entry(Mark::Weakened).or_default() += lost;
        } else if file.new.is_some() {
            // Tests that moved here from a file that stayed.
            *net.entry(Mark::Weakened).or_default() -= new.tests.min(new.assertions);
        }
        for (mark, number) in net {
            *self.net.entry((language.name, mark)).or_default() += number;
            if number > 0 {
                let path = String::from_utf8_lossy(file.path).into_owned();
                self.grew.push((path, mark, number));
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.lines += other.lines;
        for ((language, mark), number) in &other.net {
            // Tests that are new in one step excuse none that were weakened in another; within one they may be the same, moved.
            let number = if *mark == Mark::Weakened {
                (*number).max(0)
            } else {
                *number
            };
            *self.net.entry((language, *mark)).or_default() += number;
        }
    }

    /// Marks more, those that became fewer not set against others.
    pub(crate) fn grown(&self) -> i64 {
        self.net.values().filter(|number| **number > 0).sum()
    }

    fn threshold(&self) -> i64 {
        THRESHOLD.max(self.lines / LINES_A_MARK)
    }

    fn by_language(&self) -> Value {
        let mut languages: BTreeMap<&str, BTreeMap<&str, i64>> = BTreeMap::new();
        for ((language, mark), number) in self.net.iter().filter(|(_, number)| **number > 0) {
            languages
                .entry(language)
                .or_default()
                .insert(mark.name(), *number);
        }
        json!(languages)
    }
}

/// The signal of the steps that `step` gives, the newest first (0), older ones as they are asked for; `None` where the newest has no more marks
/// than there were, or all together are below the threshold.
pub(crate) fn signal(
    mut step: impl FnMut(usize) -> Result<Option<Step>>,
) -> Result<Option<Signal>> {
    let Some(newest) = step(0)?.filter(|newest| newest.grown() > 0) else {
        return Ok(None);
    };
    let mut all = Step::default();
    all.merge(&newest);
    let mut steps = 1;
    while steps < STEPS {
        let Some(older) = step(steps)? else {
            break;
        };
        all.merge(&older);
        steps += 1;
    }
    let (grown, threshold) = (all.grown(), all.threshold());
    if grown < threshold {
        return Ok(None);
    }
    let mut marks: BTreeMap<&str, i64> = BTreeMap::new();
    for ((_, mark), number) in all.net.iter().filter(|(_, number)| **number > 0) {
        *marks.entry(mark.name()).or_default() += number;
    }
    let told: Vec<String> = marks
        .iter()
        .map(|(mark, n)| format!("{n} {mark}"))
        .collect();
    let shown = newest.grew.iter().take(SHOWN);
    let files: Vec<_> = shown
        .map(|(path, mark, number)| json!({"path": path, "mark": mark.name(), "more": number}))
        .collect();
    let over = match steps {
        1 => "the last checkpoint".to_owned(),
        n => format!("the last {n} checkpoints"),
    };
    Ok(Some(Signal {
        mode: Mode::QuickFixes,
        line: format!("quick fixes pile up over {over}: {}", told.join(", ")),
        evidence: json!({
            "threshold": threshold, "count": grown, "steps": steps, "lines": all.lines, "marks": marks, "languages": all.by_language(),
            "newest": {"count": newest.grown(), "files": files},
        }),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(files: &[(&str, Option<&str>, Option<&str>)]) -> Step {
        let mut step = Step::default();
        for (path, old, new) in files {
            step.add(&File {
                path: path.as_bytes(),
                old: *old,
                new: *new,
            });
        }
        step
    }

    fn found(steps: &[Step]) -> Option<Signal> {
        signal(|n| Ok(steps.get(n).cloned())).unwrap()
    }

    const TESTS: &str = "#[test]\nfn a() {\n    assert_eq!(f(), 1);\n    assert!(g());\n}\n#[test]\nfn b() {\n    assert!(h());\n}\n";

    #[test]
    fn marks_that_pile_up_step_by_step_are_a_signal_and_one_is_none() {
        let one = step(&[(
            "a.rs",
            Some("fn f() {}\n"),
            Some("#[allow(x)]\nfn f() {}\n"),
        )]);
        assert_eq!(found(std::slice::from_ref(&one)), None);
        let signal = found(&[one.clone(), one.clone(), one.clone()]).unwrap();
        assert_eq!(
            (&signal.evidence["count"], &signal.evidence["steps"]),
            (&json!(3), &json!(3))
        );
        assert_eq!(signal.evidence["languages"]["rust"]["suppressed"], 3);
        assert_eq!(signal.evidence["newest"]["files"][0]["path"], "a.rs");
        // A step that adds none is no occasion, whatever lies before it.
        assert_eq!(
            found(&[Step::default(), one.clone(), one.clone(), one]),
            None
        );
    }

    #[test]
    fn lost_assertions_weaken_a_test_and_lost_tests_count() {
        let fewer = TESTS.replace("    assert_eq!(f(), 1);\n    assert!(g());\n", "");
        let weakened = step(&[("t.rs", Some(TESTS), Some(&fewer))]);
        assert_eq!(weakened.net[&("rust", Mark::Weakened)], 2);
        let lost = step(&[("t.rs", Some(TESTS), Some("// none\n"))]);
        assert_eq!(lost.net[&("rust", Mark::Weakened)], 2);
    }

    #[test]
    fn a_clean_refactoring_is_none() {
        let marked = "#[allow(x)]\nfn f() {\n    let _ = g(); // TODO later\n    sleep(D);\n}\n";
        // Code that moves takes its marks along, tests too.
        let both = format!("{marked}{TESTS}");
        let moved = step(&[
            ("a.rs", Some(&both), Some("mod b;\n")),
            ("b.rs", None, Some(&both)),
        ]);
        assert_eq!(moved.grown(), 0, "{moved:?}");
        // A part that goes, goes with its tests.
        assert_eq!(step(&[("t.rs", Some(&both), None)]).grown(), 0);
        // Names change, nothing else.
        let renamed = both.replace("fn f", "fn better_name");
        assert_eq!(step(&[("a.rs", Some(&both), Some(&renamed))]).grown(), 0);
    }

    #[test]
    fn a_large_new_part_may_have_a_few() {
        let mut text = "#[allow(x)]\n".repeat(4);
        text.push_str(&"fn f() {}\n".repeat(400));
        let large = step(&[("a.rs", None, Some(&text))]);
        assert_eq!((large.grown(), large.threshold()), (4, 8));
        assert_eq!(found(&[large]), None);
    }
}
