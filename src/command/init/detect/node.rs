//! JavaScript: package.json with the manager that its lock file names, and deno.

use serde_json::Value;

use super::{Found, Project};

const MARKS: &[&str] = &[
    "npm test",
    "npm t ",
    "npm run test",
    "npm run -s test",
    "pnpm test",
    "pnpm run test",
    "pnpm -r test",
    "yarn test",
    "yarn run test",
    "bun run test",
    "bun test",
];

pub(super) fn node(project: &Project<'_>) -> Option<Found> {
    let package: Value = serde_json::from_str(&project.text("package.json")).ok()?;
    let (manager, said_by) = manager(project, &package);
    let from = said_by.map_or_else(
        || "package.json".to_owned(),
        |file| format!("package.json, {file}"),
    );
    let (command, script) =
        own(&package, manager).or_else(|| members(project, &package, manager))?;
    Some(Found::of(command, from, MARKS).script(script))
}

/// The manager that the package pins, else the one whose lock file is there.
fn manager(project: &Project<'_>, package: &Value) -> (&'static str, Option<&'static str>) {
    const LOCKS: [(&str, &str); 6] = [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
        ("package-lock.json", "npm"),
        ("npm-shrinkwrap.json", "npm"),
    ];
    let pinned = package["packageManager"]
        .as_str()
        .and_then(|pin| pin.split('@').next())
        .unwrap_or_default();
    if let Some(manager) = ["npm", "pnpm", "yarn", "bun"]
        .into_iter()
        .find(|manager| *manager == pinned)
    {
        return (manager, None);
    }
    match LOCKS.into_iter().find(|(lock, _)| project.has(lock)) {
        Some((lock, manager)) => (manager, Some(lock)),
        None if project.has("pnpm-workspace.yaml") => ("pnpm", Some("pnpm-workspace.yaml")),
        None => ("npm", None),
    }
}

/// The test script of this package.
fn own(package: &Value, manager: &str) -> Option<(String, String)> {
    let Some(script) = script(package, "test") else {
        return ["test:ci", "test:unit", "test:all"]
            .into_iter()
            .find_map(|name| Some((format!("{manager} run {name}"), script(package, name)?)));
    };
    let once = ["test:ci", "test:run", "test:once", "ci:test"]
        .into_iter()
        .find_map(|name| Some((name, self::script(package, name)?)));
    if let (true, Some((name, once))) = (watches(&script), once) {
        return Some((format!("{manager} run {name}"), once));
    }
    let call = if manager == "bun" {
        "bun run test".to_owned()
    } else {
        format!("{manager} test")
    };
    let command = if has_words(&script, &["ng", "test"]) {
        format!(
            "{call}{} --watch=false",
            if manager == "npm" { " --" } else { "" }
        )
    } else if watches(&script) || has_words(&script, &["react-scripts", "test"]) {
        // These watch for ever unless they are told that nobody is there.
        format!("CI=true {call}")
    } else {
        call
    };
    Some((command, script))
}

/// The test scripts of the packages of a workspace whose root has none.
fn members(project: &Project<'_>, package: &Value, manager: &str) -> Option<(String, String)> {
    let is_workspace = !package["workspaces"].is_null() || project.has("pnpm-workspace.yaml");
    let folders = |below: &str| {
        project.names(below, &|name| {
            !name.starts_with('.') && name != "node_modules"
        })
    };
    let tested = |path: &str| {
        let package = serde_json::from_str::<Value>(&project.text(&format!("{path}/package.json")))
            .unwrap_or_default();
        script(&package, "test").is_some()
    };
    let some_member = || {
        folders("")
            .iter()
            .any(|a| tested(a) || folders(a).iter().any(|b| tested(&format!("{a}/{b}"))))
    };
    if !is_workspace || !some_member() {
        return None;
    }
    let command = match manager {
        "pnpm" => "pnpm -r test",
        "yarn" if project.has(".yarnrc.yml") => "yarn workspaces foreach -A run test",
        "yarn" => "yarn workspaces run test",
        "bun" => "bun run --filter '*' test",
        _ => "npm test --workspaces --if-present",
    };
    Some((command.to_owned(), String::new()))
}

/// A script that is there and is not npm's placeholder.
fn script(package: &Value, name: &str) -> Option<String> {
    let script = package["scripts"][name].as_str()?.trim();
    (!script.is_empty() && !script.contains("no test specified")).then(|| script.to_owned())
}

fn watches(script: &str) -> bool {
    script.split_whitespace().any(|word| {
        matches!(
            word,
            "--watch" | "--watchAll" | "--watch=true" | "--watchAll=true" | "--ui"
        )
    }) || has_words(script, &["vitest", "watch"])
}

/// Do these words stand in the script one after the other?
fn has_words(script: &str, words: &[&str]) -> bool {
    script
        .split_whitespace()
        .collect::<Vec<_>>()
        .windows(words.len())
        .any(|window| window == words)
}

pub(super) fn deno(project: &Project<'_>) -> Option<Found> {
    let file = project.first(&["deno.json", "deno.jsonc"])?;
    let text = project.text(file);
    let without_comments: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let config: Value = serde_json::from_str(&without_comments).unwrap_or_default();
    let task = &config["tasks"]["test"];
    let script = task.as_str().or_else(|| task["command"].as_str());
    let command = if script.is_some() {
        "deno task test"
    } else {
        "deno test"
    };
    Some(
        Found::of(command, file, &["deno test", "deno task test"])
            .script(script.unwrap_or_default()),
    )
}
