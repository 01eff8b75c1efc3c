//! The project's own entry points: a `test` target of make, just or task, or a script with a name that says it.

use super::{Found, Project};

/// A task runner with a target for tests.
pub(super) fn runner(project: &Project<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    // GNU make's own order.
    if let Some(file) = project.first(&["GNUmakefile", "makefile", "Makefile"]) {
        let text = project.text(file);
        let rules = make_rules(&text);
        if let Some(target) = ["test", "check", "tests"]
            .into_iter()
            .find(|target| rules.iter().any(|rule| rule.makes(target)))
        {
            found.push(
                Found::of(format!("make {target}"), file, &["make test", "make check"])
                    .script(recipe(&rules, target)),
            );
        }
    }
    if let Some(file) = project.first(&["justfile", "Justfile", ".justfile"]) {
        let text = project.text(file);
        if let Some(body) = block(&text, |line| {
            line.strip_prefix('@')
                .unwrap_or(line)
                .split([':', ' '])
                .next()
                == Some("test")
                && is_rule(line)
        }) {
            found.push(Found::of("just test", file, &["just test"]).script(body));
        }
    }
    if let Some(file) = project.first(&[
        "Taskfile.yml",
        "Taskfile.yaml",
        "taskfile.yml",
        "taskfile.yaml",
    ]) {
        let text = project.text(file);
        if let Some(body) = block(&text, |line| {
            line.starts_with([' ', '\t']) && line.trim_end() == format!("{}test:", indent(line))
        }) {
            found.push(Found::of("task test", file, &["task test"]).script(body));
        }
    }
    found
}

/// A script that is called after what it does; only where nothing else is known.
pub(super) fn script(project: &Project<'_>) -> Option<Found> {
    const NAMES: [&str; 12] = [
        "script/test",
        "scripts/test",
        "scripts/test.sh",
        "scripts/run-tests.sh",
        "bin/test",
        "test.sh",
        "run-tests.sh",
        "run_tests.sh",
        "runtests.sh",
        "tests/run",
        "tests/run.sh",
        "test/run.sh",
    ];
    let name = NAMES.into_iter().find(|name| project.is_executable(name))?;
    Some(Found::of(
        format!("./{}", shell_words::quote(name)),
        name,
        &[],
    ))
}

struct Rule<'a> {
    targets: Vec<&'a str>,
    needs: Vec<&'a str>,
    recipe: Vec<&'a str>,
}

impl Rule<'_> {
    fn makes(&self, target: &str) -> bool {
        self.targets.contains(&target)
    }
}

/// The explicit rules of a makefile, near enough to know what a target would run.
fn make_rules(text: &str) -> Vec<Rule<'_>> {
    let mut rules: Vec<Rule<'_>> = Vec::new();
    for line in text.lines() {
        if line.starts_with('\t') {
            if let Some(rule) = rules.last_mut() {
                rule.recipe.push(line);
            }
            continue;
        }
        if !is_rule(line) {
            continue;
        }
        let Some((targets, rest)) = line.split_once(':') else {
            continue;
        };
        let (needs, inline) = rest
            .trim_start_matches(':')
            .split_once(';')
            .unwrap_or((rest, ""));
        let needs = needs.split('#').next().unwrap_or_default();
        rules.push(Rule {
            targets: targets.split_whitespace().collect(),
            needs: needs.split_whitespace().collect(),
            recipe: vec![inline],
        });
    }
    rules
}

/// A line that opens a rule: a colon that is no assignment, at the start of a line.
fn is_rule(line: &str) -> bool {
    let Some((before, after)) = line.split_once(':') else {
        return false;
    };
    !line.starts_with([' ', '#', '.'])
        && !before.contains('=')
        && !after.trim_start_matches(':').starts_with('=')
}

/// What a target runs, with what it needs.
fn recipe(rules: &[Rule<'_>], target: &str) -> String {
    let mut script = String::new();
    let mut wanted = vec![target];
    let mut seen = Vec::new();
    while let Some(target) = wanted.pop() {
        if seen.contains(&target) {
            continue;
        }
        seen.push(target);
        for rule in rules.iter().filter(|rule| rule.makes(target)) {
            wanted.extend(&rule.needs);
            for line in &rule.recipe {
                script.push_str(line);
                script.push('\n');
            }
        }
    }
    script
}

/// The lines below the first one that `opens`, as long as they are indented deeper.
fn block(text: &str, opens: impl Fn(&str) -> bool) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| !opens(line));
    let depth = indent(lines.next()?).len();
    Some(
        lines
            .take_while(|line| line.trim().is_empty() || indent(line).len() > depth)
            .collect::<Vec<_>>()
            .join("\n"),
    )
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}
