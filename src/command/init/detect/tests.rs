use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

/// The command found in a project of these files, and where. A name that ends in `*` is executable.
#[track_caller]
fn of(files: &[(&str, &str)]) -> (String, String) {
    let temp = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = temp.path().join(name.trim_end_matches('*'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if name.ends_with('*') {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    detect(temp.path(), &|path| path == "ignored/" || path == "build/")
        .map(|t| (t.command, t.from))
        .unwrap_or_default()
}

#[test]
fn every_kind_of_project() {
    /// Files, the command, where it was found.
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a str);
    let npm = r#"{"scripts":{"test":"node --test"}}"#;
    let table: &[Case<'_>] = &[
        (&[], "", ""),
        (&[("README.md", "npm test, cargo test")], "", ""),
        (
            &[("Cargo.toml", "[package]\nname = 'x'\n")],
            "cargo test",
            "Cargo.toml",
        ),
        (
            &[("Cargo.toml", "[workspace]\nmembers = []\n")],
            "cargo test --workspace",
            "Cargo.toml",
        ),
        (&[("package.json", npm)], "npm test", "package.json"),
        (
            &[("package.json", npm), ("package-lock.json", "{}")],
            "npm test",
            "package.json, package-lock.json",
        ),
        (
            &[("package.json", npm), ("pnpm-lock.yaml", "")],
            "pnpm test",
            "package.json, pnpm-lock.yaml",
        ),
        (
            &[("package.json", npm), ("yarn.lock", "")],
            "yarn test",
            "package.json, yarn.lock",
        ),
        (
            &[("package.json", npm), ("bun.lockb", "")],
            "bun run test",
            "package.json, bun.lockb",
        ),
        (
            &[
                (
                    "package.json",
                    r#"{"packageManager":"pnpm@9.1.0","scripts":{"test":"x"}}"#,
                ),
                ("yarn.lock", ""),
            ],
            "pnpm test",
            "package.json",
        ),
        (
            &[(
                "package.json",
                r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
            )],
            "",
            "",
        ),
        (&[("package.json", r#"{"scripts":{"test":"  "}}"#)], "", ""),
        (&[("package.json", r#"{"scripts":{"build":"x"}}"#)], "", ""),
        (&[("package.json", "{ not json")], "", ""),
        (
            &[(
                "package.json",
                r#"{"scripts":{"test":"react-scripts test"}}"#,
            )],
            "CI=true npm test",
            "package.json",
        ),
        (
            &[(
                "package.json",
                r#"{"scripts":{"test":"jest --watch","test:ci":"jest"}}"#,
            )],
            "npm run test:ci",
            "package.json",
        ),
        (
            &[("package.json", r#"{"scripts":{"test":"ng test"}}"#)],
            "npm test -- --watch=false",
            "package.json",
        ),
        (
            &[("package.json", r#"{"scripts":{"test:unit":"jest"}}"#)],
            "npm run test:unit",
            "package.json",
        ),
        (
            &[
                ("package.json", r#"{"workspaces":["packages/*"]}"#),
                ("packages/a/package.json", npm),
            ],
            "npm test --workspaces --if-present",
            "package.json",
        ),
        (
            &[
                ("package.json", "{}"),
                ("pnpm-workspace.yaml", ""),
                ("packages/a/package.json", npm),
            ],
            "pnpm -r test",
            "package.json, pnpm-workspace.yaml",
        ),
        (&[("deno.json", "{}")], "deno test", "deno.json"),
        (
            &[(
                "deno.jsonc",
                "{\n // yes\n \"tasks\": {\"test\": \"deno test -A\"}\n}",
            )],
            "deno task test",
            "deno.jsonc",
        ),
        (
            &[("pyproject.toml", "[tool.pytest.ini_options]\n")],
            "python3 -m pytest",
            "pyproject.toml",
        ),
        (
            &[
                ("pyproject.toml", "dependencies = ['pytest']"),
                ("uv.lock", ""),
            ],
            "uv run pytest",
            "pyproject.toml, uv.lock",
        ),
        (
            &[
                ("pyproject.toml", ""),
                ("tests/conftest.py", ""),
                ("poetry.lock", ""),
            ],
            "poetry run pytest",
            "tests/conftest.py, poetry.lock",
        ),
        (
            &[("requirements-dev.txt", "pytest==8\n")],
            "python3 -m pytest",
            "requirements-dev.txt",
        ),
        (
            &[("setup.py", ""), ("tests/test_a.py", "def test_a(): pass")],
            "python3 -m pytest",
            "tests/test_a.py",
        ),
        (
            &[("tox.ini", "[testenv]\ncommands = true\n")],
            "tox",
            "tox.ini",
        ),
        (&[("noxfile.py", "")], "nox", "noxfile.py"),
        (
            &[("manage.py", "import django")],
            "python3 manage.py test",
            "manage.py",
        ),
        (
            &[("tests/test_a.py", "import unittest")],
            "python3 -m unittest discover -s tests",
            "tests/test_a.py",
        ),
        (
            &[
                ("tests/test_a.py", "import unittest"),
                ("tests/__init__.py", ""),
            ],
            "python3 -m unittest discover -s tests -t .",
            "tests/test_a.py",
        ),
        (
            &[("test_a.py", "import unittest")],
            "python3 -m unittest",
            "test_a.py",
        ),
        (
            &[("a_test.py", "import unittest")],
            "python3 -m unittest discover -p '*_test.py'",
            "a_test.py",
        ),
        (&[("pyproject.toml", "[project]\nname = 'x'\n")], "", ""),
        (&[("go.mod", "module x\n")], "go test ./...", "go.mod"),
        (
            &[
                ("go.work", "go 1.24\nuse (\n\t./a // first\n\t./b/\n)\n"),
                ("a/go.mod", ""),
            ],
            "go test ./a/... ./b/...",
            "go.work",
        ),
        (
            &[("Makefile", "all:\n\ttrue\ntest: all\n\t./t\n")],
            "make test",
            "Makefile",
        ),
        (
            &[("Makefile", ".PHONY: test check\ncheck:\n\t./t\n")],
            "make check",
            "Makefile",
        ),
        (&[("makefile", "lint test: x\n")], "make test", "makefile"),
        (
            &[(
                "Makefile",
                "test := 1\nTESTS = test: x\nlatest:\n\ttrue\n.PHONY: test\n",
            )],
            "",
            "",
        ),
        (
            &[("justfile", "test *args:\n  ./t\n")],
            "just test",
            "justfile",
        ),
        (&[("justfile", "test := 'x'\ntests:\n  ./t\n")], "", ""),
        (
            &[("Taskfile.yml", "tasks:\n  test:\n    cmds: [./t]\n")],
            "task test",
            "Taskfile.yml",
        ),
        (
            &[("CMakeLists.txt", "project(x)\nenable_testing()\n")],
            "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
            "CMakeLists.txt",
        ),
        (&[("CMakeLists.txt", "project(x)\n")], "", ""),
        (
            &[("meson.build", "")],
            "meson setup build && meson test -C build",
            "meson.build",
        ),
        (&[("pom.xml", "")], "mvn -B test", "pom.xml"),
        (
            &[("pom.xml", ""), ("mvnw*", "")],
            "./mvnw -B test",
            "pom.xml, mvnw",
        ),
        (
            &[("pom.xml", ""), ("mvnw", "")],
            "sh ./mvnw -B test",
            "pom.xml, mvnw",
        ),
        (
            &[("build.gradle.kts", "")],
            "gradle test --no-daemon",
            "build.gradle.kts",
        ),
        (
            &[("settings.gradle", ""), ("gradlew*", "")],
            "./gradlew test --no-daemon",
            "settings.gradle, gradlew",
        ),
        (
            &[("App.sln", ""), ("src/App.csproj", "")],
            "dotnet test",
            "App.sln",
        ),
        (
            &[("My App.sln", ""), ("App.csproj", "")],
            "dotnet test 'My App.sln'",
            "My App.sln",
        ),
        (&[("mix.exs", "")], "mix test", "mix.exs"),
        (
            &[("Gemfile", "gem 'rspec'\n")],
            "bundle exec rspec",
            "Gemfile",
        ),
        (
            &[("Gemfile", ""), (".rspec", "")],
            "bundle exec rspec",
            ".rspec",
        ),
        (
            &[("Rakefile", "Rake::TestTask.new\n")],
            "rake test",
            "Rakefile",
        ),
        (
            &[("Gemfile", ""), ("Rakefile", "task :test do\nend\n")],
            "bundle exec rake test",
            "Rakefile",
        ),
        (
            &[("Gemfile", ""), ("bin/rails", ""), ("test/a.rb", "")],
            "bin/rails test",
            "bin/rails",
        ),
        (&[("Gemfile", "gem 'x'\n")], "", ""),
        (
            &[("composer.json", r#"{"scripts":{"test":"phpunit"}}"#)],
            "composer test",
            "composer.json",
        ),
        (
            &[("composer.json", "{}"), ("phpunit.xml.dist", "")],
            "vendor/bin/phpunit",
            "phpunit.xml.dist",
        ),
        (
            &[("composer.json", r#"{"require-dev":{"pestphp/pest":"^3"}}"#)],
            "vendor/bin/pest",
            "composer.json",
        ),
        (&[("Package.swift", "")], "swift test", "Package.swift"),
        (
            &[(
                "pubspec.yaml",
                "dependencies:\n  flutter:\n    sdk: flutter\n",
            )],
            "flutter test",
            "pubspec.yaml",
        ),
        (&[("build.zig", "")], "zig build test", "build.zig"),
        (
            &[("MODULE.bazel", ""), ("WORKSPACE.bazel", "")],
            "bazel test //...",
            "MODULE.bazel",
        ),
        (
            &[("script/test*", "#!/bin/sh\n")],
            "./script/test",
            "script/test",
        ),
        (&[("test.sh", "")], "", ""),
    ];
    for (files, command, from) in table {
        assert_eq!(
            of(files),
            ((*command).to_owned(), (*from).to_owned()),
            "{files:?}"
        );
    }
}

#[test]
fn several_tools_are_joined() {
    let found = of(&[
        ("Cargo.toml", ""),
        ("package.json", r#"{"scripts":{"test":"jest"}}"#),
        ("go.mod", ""),
    ]);
    assert_eq!(
        found,
        (
            "cargo test && npm test && go test ./...".into(),
            "Cargo.toml, package.json, go.mod".into()
        )
    );
    assert_eq!(
        of(&[("Cargo.toml", ""), ("Makefile", "test:\n\tshellcheck x\n")]).0,
        "cargo test && make test"
    );
}

#[test]
fn what_the_projects_own_script_runs_is_not_run_twice() {
    let makefile = "test: unit\n\tshellcheck x\nunit: ; cargo test --all\n";
    assert_eq!(
        of(&[("Cargo.toml", ""), ("Makefile", makefile)]).0,
        "make test"
    );
    assert_eq!(
        of(&[
            ("Cargo.toml", ""),
            ("Makefile", "rust:\n\tcargo test\ntest:\n\t./t\n")
        ])
        .0,
        "cargo test && make test"
    );
    assert_eq!(
        of(&[
            ("go.mod", ""),
            (
                "justfile",
                "test:\n    go test -race ./...\n\nfmt:\n    gofmt\n"
            )
        ])
        .0,
        "just test"
    );
    let package = r#"{"scripts":{"test":"make test"}}"#;
    assert_eq!(
        of(&[
            ("package.json", package),
            ("Makefile", "test:\n\tnpm test\n")
        ])
        .0,
        "make test"
    );
    assert_eq!(
        of(&[("package.json", package), ("Makefile", "test:\n\t./t\n")]).0,
        "npm test"
    );
}

#[test]
fn a_project_without_a_top_is_tested_folder_by_folder() {
    let found = of(&[
        ("backend/go.mod", ""),
        ("web app/package.json", r#"{"scripts":{"test":"jest"}}"#),
        ("vendor/x/Cargo.toml", ""),
        ("examples/Cargo.toml", ""),
        ("ignored/Cargo.toml", ""),
        (".hidden/Cargo.toml", ""),
    ]);
    assert_eq!(
        found.0,
        "(cd backend && go test ./...) && (cd 'web app' && npm test)"
    );
    assert_eq!(found.1, "backend/go.mod, web app/package.json");
    // Where the top says something, it speaks for all.
    assert_eq!(
        of(&[
            ("Cargo.toml", ""),
            ("web/package.json", r#"{"scripts":{"test":"jest"}}"#)
        ])
        .0,
        "cargo test"
    );
}

#[test]
fn a_build_folder_that_git_does_not_ignore_is_not_used() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("meson.build"), "").unwrap();
    let found = detect(temp.path(), &|_| false).unwrap();
    assert_eq!(
        found.command,
        "meson setup .arkaint/build && meson test -C .arkaint/build"
    );
}
