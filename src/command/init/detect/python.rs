//! Python: pytest, tox, nox, Django or unittest, under the manager whose lock file is there.

use std::path::Path;

use super::{Found, Project};

const MARKS: &[&str] = &[
    "pytest",
    "py.test",
    "unittest",
    "tox",
    "nox",
    "manage.py test",
];

pub(super) fn python(project: &Project<'_>) -> Option<Found> {
    let run = |command: &str, from: String| {
        let (prefix, lock) = manager(project);
        let from = lock.map_or_else(|| from.clone(), |lock| format!("{from}, {lock}"));
        let command = match (prefix, command.strip_prefix("python3 -m pytest")) {
            ("", _) => command.to_owned(),
            (prefix, Some(_)) => format!("{prefix} pytest"),
            (prefix, None) => format!("{prefix} {}", command.replacen("python3", "python", 1)),
        };
        Some(Found::of(command, from, MARKS))
    };
    if let Some(from) = says_pytest(project) {
        return run("python3 -m pytest", from);
    }
    if project.text("tox.ini").contains("[testenv")
        || project.text("pyproject.toml").contains("[tool.tox")
    {
        let from = if project.has("tox.ini") {
            "tox.ini"
        } else {
            "pyproject.toml"
        };
        return Some(Found::of("tox", from, MARKS));
    }
    if project.has("noxfile.py") {
        return Some(Found::of("nox", "noxfile.py", MARKS));
    }
    if project.text("manage.py").contains("django") {
        return run("python3 manage.py test", "manage.py".to_owned());
    }
    let (folder, name) = test_file(project)?;
    let path = if folder.is_empty() {
        name.clone()
    } else {
        format!("{folder}/{name}")
    };
    let text = project.text(&path);
    if !text.contains("unittest") {
        return if text.contains("def test_") {
            run("python3 -m pytest", path)
        } else {
            None
        };
    }
    let mut command = "python3 -m unittest".to_owned();
    if !folder.is_empty() {
        command.push_str(" discover -s ");
        command.push_str(folder);
        if project.has(&format!("{folder}/__init__.py")) {
            command.push_str(" -t .");
        }
    } else if !name.starts_with("test") {
        command.push_str(" discover");
    }
    if !name.starts_with("test") {
        command.push_str(" -p '*_test.py'");
    }
    run(&command, path)
}

/// The file that shows that pytest is used.
fn says_pytest(project: &Project<'_>) -> Option<String> {
    if let Some(file) = project.first(&[
        "pytest.ini",
        ".pytest.ini",
        "pytest.toml",
        "conftest.py",
        "tests/conftest.py",
        "test/conftest.py",
    ]) {
        return Some(file.to_owned());
    }
    if project.text("tox.ini").contains("[pytest]") {
        return Some("tox.ini".to_owned());
    }
    let mut files: Vec<String> = ["pyproject.toml", "setup.cfg", "setup.py", "Pipfile"]
        .map(str::to_owned)
        .into();
    files.extend(project.names("", &|name| {
        name.starts_with("requirements") && (is(name, "txt") || is(name, "in"))
    }));
    files
        .into_iter()
        .find(|file| project.text(file).contains("pytest"))
}

fn manager(project: &Project<'_>) -> (&'static str, Option<&'static str>) {
    const LOCKS: [(&str, &str); 6] = [
        ("uv.lock", "uv run"),
        ("poetry.lock", "poetry run"),
        ("pdm.lock", "pdm run"),
        ("Pipfile.lock", "pipenv run"),
        ("Pipfile", "pipenv run"),
        ("pixi.lock", "pixi run"),
    ];
    LOCKS
        .into_iter()
        .find(|(lock, _)| project.has(lock))
        .map_or(("", None), |(lock, prefix)| (prefix, Some(lock)))
}

/// The first file that is named like a test, and its folder.
fn test_file(project: &Project<'_>) -> Option<(&'static str, String)> {
    let fits = |name: &str| {
        is(name, "py")
            && (name.starts_with("test_") || name.ends_with("_test.py") || name == "tests.py")
    };
    ["tests", "test", ""]
        .into_iter()
        .find_map(|folder| Some((folder, project.names(folder, &fits).into_iter().next()?)))
}

fn is(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e == extension)
}
