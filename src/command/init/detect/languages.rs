//! Languages whose build tool has one way to test: a file, and the command that it means.

use super::{Found, Project};

pub(super) fn rust(project: &Project<'_>) -> Option<Found> {
    let manifest = project
        .has("Cargo.toml")
        .then(|| project.text("Cargo.toml"))?;
    let is_workspace = manifest
        .lines()
        .any(|line| line.trim_start().starts_with("[workspace"));
    let command = if is_workspace {
        "cargo test --workspace"
    } else {
        "cargo test"
    };
    Some(Found::of(
        command,
        "Cargo.toml",
        &["cargo test", "cargo nextest", "cargo t "],
    ))
}

pub(super) fn go(project: &Project<'_>) -> Option<Found> {
    const MARKS: &[&str] = &["go test", "gotestsum", "ginkgo"];
    if project.has("go.work") {
        // Outside a module ./... is an error; each module of the workspace is named.
        let text = project.text("go.work");
        let modules: Vec<String> = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default())
            .flat_map(|line| line.split_whitespace().filter(|word| word.starts_with('.')))
            .map(|module| {
                if module == "." {
                    "./...".to_owned()
                } else {
                    format!("{}/...", shell_words::quote(module.trim_end_matches('/')))
                }
            })
            .collect();
        if !modules.is_empty() {
            return Some(Found::of(
                format!("go test {}", modules.join(" ")),
                "go.work",
                MARKS,
            ));
        }
    }
    project
        .has("go.mod")
        .then(|| Found::of("go test ./...", "go.mod", MARKS))
}

pub(super) fn jvm(project: &Project<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    if project.has("pom.xml") {
        let (call, from) = if project.has("mvnw") {
            (project.script_call("mvnw"), "pom.xml, mvnw")
        } else {
            ("mvn".to_owned(), "pom.xml")
        };
        found.push(Found::of(format!("{call} -B test"), from, &["mvn", "mvnw"]));
    }
    if let Some(file) = project.first(&[
        "build.gradle",
        "build.gradle.kts",
        "settings.gradle",
        "settings.gradle.kts",
    ]) {
        let (call, from) = if project.has("gradlew") {
            (project.script_call("gradlew"), format!("{file}, gradlew"))
        } else {
            ("gradle".to_owned(), file.to_owned())
        };
        // A daemon would outlive the check, and is ended with it.
        found.push(Found::of(
            format!("{call} test --no-daemon"),
            from,
            &["gradle", "gradlew"],
        ));
    }
    found
}

pub(super) fn dotnet(project: &Project<'_>) -> Option<Found> {
    let solutions = project.ending(&[".sln", ".slnx"]);
    let projects = project.ending(&[".csproj", ".fsproj", ".vbproj"]);
    let from = solutions.first().or(projects.first())?;
    // With several, dotnet asks which.
    let command = match solutions.len() + projects.len() {
        1 => "dotnet test".to_owned(),
        _ => format!("dotnet test {}", shell_words::quote(from)),
    };
    Some(Found::of(command, from.clone(), &["dotnet test"]))
}

pub(super) fn ruby(project: &Project<'_>) -> Option<Found> {
    let bundle = if project.has("Gemfile") {
        "bundle exec "
    } else {
        ""
    };
    let of = |command: String, from: &str| {
        Some(Found::of(command, from, &["rspec", "rake", "rails test"]))
    };
    if project.has(".rspec") || project.has("spec/spec_helper.rb") {
        return of(
            format!("{bundle}rspec"),
            if project.has(".rspec") {
                ".rspec"
            } else {
                "spec/spec_helper.rb"
            },
        );
    }
    if project.has("bin/rails") && project.has("test") {
        return of("bin/rails test".to_owned(), "bin/rails");
    }
    let rakefile = project.first(&["Rakefile", "rakefile", "Rakefile.rb"]);
    let tasks = rakefile.map(|file| project.text(file)).unwrap_or_default();
    let mentions = |words: &[&str]| words.iter().any(|word| tasks.contains(word));
    if mentions(&[
        "TestTask",
        "task :test",
        "task test:",
        "task \"test\"",
        "task 'test'",
    ]) {
        return of(format!("{bundle}rake test"), rakefile.unwrap_or("Rakefile"));
    }
    if mentions(&["RSpec::Core::RakeTask", "task :spec"]) {
        return of(format!("{bundle}rake spec"), rakefile.unwrap_or("Rakefile"));
    }
    if project.text("Gemfile").contains("rspec") {
        return of("bundle exec rspec".to_owned(), "Gemfile");
    }
    None
}

pub(super) fn php(project: &Project<'_>) -> Option<Found> {
    let composer: serde_json::Value =
        serde_json::from_str(&project.text("composer.json")).unwrap_or_default();
    let of = |command: &str, from: &str| {
        Some(Found::of(
            command,
            from,
            &[
                "phpunit",
                "vendor/bin/pest",
                "artisan test",
                "composer test",
            ],
        ))
    };
    let script = &composer["scripts"]["test"];
    if !script.is_null() {
        return of("composer test", "composer.json").map(|found| found.script(script.to_string()));
    }
    if project.has("artisan") {
        return of("php artisan test", "artisan");
    }
    let requires = |package: &str| {
        !composer["require-dev"][package].is_null() || !composer["require"][package].is_null()
    };
    if requires("pestphp/pest") {
        return of("vendor/bin/pest", "composer.json");
    }
    if let Some(file) = project.first(&["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"]) {
        return of("vendor/bin/phpunit", file);
    }
    if requires("phpunit/phpunit") {
        of("vendor/bin/phpunit", "composer.json")
    } else {
        None
    }
}

/// Builds that need a folder to write to.
pub(super) fn native(project: &Project<'_>) -> Option<Found> {
    let cmake = project.text("CMakeLists.txt").to_lowercase();
    if cmake.contains("enable_testing")
        || cmake.contains("include(ctest)")
        || cmake.contains("add_test(")
    {
        let build = project.build_folder();
        let command = format!(
            "cmake -S . -B {build} && cmake --build {build} && ctest --test-dir {build} --output-on-failure"
        );
        return Some(Found::of(command, "CMakeLists.txt", &["ctest", "cmake"]));
    }
    if project.has("meson.build") {
        let build = project.build_folder();
        return Some(Found::of(
            format!("meson setup {build} && meson test -C {build}"),
            "meson.build",
            &["meson test", "ninja test"],
        ));
    }
    None
}

/// What needs no more than its file.
pub(super) fn plain(project: &Project<'_>) -> Vec<Found> {
    const PLAIN: [(&str, &str, &[&str]); 14] = [
        ("mix.exs", "mix test", &["mix test"]),
        ("Package.swift", "swift test", &["swift test"]),
        ("stack.yaml", "stack test", &["stack test"]),
        ("cabal.project", "cabal test all", &["cabal test"]),
        ("build.zig", "zig build test", &["zig build test"]),
        ("build.sbt", "sbt test", &["sbt"]),
        ("project.clj", "lein test", &["lein test"]),
        ("dune-project", "dune test", &["dune test", "dune runtest"]),
        ("gleam.toml", "gleam test", &["gleam test"]),
        ("rebar.config", "rebar3 eunit", &["rebar3"]),
        ("shard.yml", "crystal spec", &["crystal spec"]),
        ("MODULE.bazel", "bazel test //...", &["bazel test"]),
        ("WORKSPACE.bazel", "bazel test //...", &["bazel test"]),
        (".busted", "busted", &["busted"]),
    ];
    let mut found: Vec<Found> = Vec::new();
    for (file, command, marks) in PLAIN {
        if project.has(file) && found.iter().all(|f| f.command != command) {
            found.push(Found::of(command, file, marks));
        }
    }
    if project.has("pubspec.yaml") {
        let flutter = project.text("pubspec.yaml").contains("sdk: flutter");
        found.push(Found::of(
            if flutter { "flutter test" } else { "dart test" },
            "pubspec.yaml",
            &["flutter test", "dart test"],
        ));
    }
    if project.has("t")
        && project
            .first(&["Makefile.PL", "Build.PL", "cpanfile", "dist.ini"])
            .is_some()
    {
        found.push(Found::of("prove -lr t", "t/", &["prove"]));
    }
    found
}
