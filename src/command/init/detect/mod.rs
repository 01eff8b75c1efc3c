//! Which command tests this project? Read from the files that build tools leave at its top, or one folder down where the top has none.
//! It runs nothing: what it finds is a proposal that `init` writes down and a person commits.

mod languages;
mod node;
mod python;
mod runners;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A test command and why it is thought to be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub command: String,
    /// The files that say so.
    pub from: String,
    /// Words by which a script that runs these tests already would call them.
    marks: &'static [&'static str],
    /// The script behind the command, where it is one of the project's own.
    script: String,
}

/// What the whole project is tested with: one bash string, and the files that it was found in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tests {
    pub command: String,
    pub from: String,
}

/// The test command of the project at `root`. `ignored` says whether git ignores a path (from `root`, folders with a last `/`).
pub(crate) fn detect(root: &Path, ignored: &dyn Fn(&str) -> bool) -> Option<Tests> {
    let top = Project {
        dir: root,
        prefix: String::new(),
        ignored,
    };
    let mut found = top.tests();
    if found.is_empty() {
        found = below(&top);
    }
    if found.is_empty() {
        found.extend(runners::script(&top));
    }
    let join = |part: fn(&Found) -> &str, with: &str| {
        found.iter().map(part).collect::<Vec<_>>().join(with)
    };
    (!found.is_empty()).then(|| Tests {
        command: join(|f| &f.command, " && "),
        from: join(|f| &f.from, ", "),
    })
}

/// The parts of a project that has nothing at its top: each folder's tests, run in that folder.
fn below(top: &Project<'_>) -> Vec<Found> {
    /// Folders that hold other people's projects, or none that is tested.
    const FOREIGN: [&str; 14] = [
        "build",
        "dist",
        "docs",
        "example",
        "examples",
        "fixtures",
        "node_modules",
        "out",
        "samples",
        "target",
        "testdata",
        "third_party",
        "vendor",
        "venv",
    ];
    let folders = top.names("", &|name| {
        !name.starts_with('.') && !FOREIGN.contains(&name) && top.dir.join(name).is_dir()
    });
    let mut found = Vec::new();
    for folder in folders {
        let project = Project {
            dir: &top.dir.join(&folder),
            prefix: format!("{folder}/"),
            ignored: top.ignored,
        };
        let tests = project.tests();
        if tests.is_empty() || (top.ignored)(&project.prefix) {
            continue;
        }
        let commands: Vec<_> = tests.iter().map(|f| f.command.as_str()).collect();
        let command = format!(
            "(cd {} && {})",
            shell_words::quote(&folder),
            commands.join(" && ")
        );
        let from = tests
            .iter()
            .map(|f| format!("{folder}/{}", f.from))
            .collect::<Vec<_>>()
            .join(", ");
        found.push(Found::of(command, from, &[]));
    }
    found
}

impl Found {
    fn of(
        command: impl Into<String>,
        from: impl Into<String>,
        marks: &'static [&'static str],
    ) -> Self {
        Self {
            command: command.into(),
            from: from.into(),
            marks,
            script: String::new(),
        }
    }

    fn script(mut self, script: impl Into<String>) -> Self {
        self.script = script.into();
        self
    }
}

/// One folder, looked at.
struct Project<'a> {
    dir: &'a Path,
    /// From the root, empty or with a last `/`.
    prefix: String,
    ignored: &'a dyn Fn(&str) -> bool,
}

impl Project<'_> {
    /// Every test command, without those that another one's script runs already.
    fn tests(&self) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        found.extend(languages::rust(self));
        found.extend(node::node(self));
        found.extend(node::deno(self));
        found.extend(python::python(self));
        found.extend(languages::go(self));
        found.extend(languages::jvm(self));
        found.extend(languages::dotnet(self));
        found.extend(languages::ruby(self));
        found.extend(languages::php(self));
        found.extend(languages::native(self));
        found.extend(languages::plain(self));
        found.extend(runners::runner(self));
        let mut at = 0;
        while at < found.len() {
            let marks = found[at].marks;
            let covered = found
                .iter()
                .enumerate()
                .any(|(other, f)| other != at && marks.iter().any(|mark| f.script.contains(mark)));
            if covered {
                found.remove(at);
            } else {
                at += 1;
            }
        }
        found
    }

    fn has(&self, path: &str) -> bool {
        self.dir.join(path).exists()
    }

    fn first(&self, paths: &[&'static str]) -> Option<&'static str> {
        paths.iter().copied().find(|path| self.has(path))
    }

    /// The text of a file; empty when it is not there, or no file of a size that a person writes.
    fn text(&self, path: &str) -> String {
        let path = self.dir.join(path);
        match fs::metadata(&path) {
            Ok(meta) if meta.is_file() && meta.len() <= 4 << 20 => {
                let bytes = fs::read(&path).unwrap_or_default();
                String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes))
                    .into_owned()
            }
            _ => String::new(),
        }
    }

    /// Names in a folder that fit, sorted.
    fn names(&self, folder: &str, fits: &dyn Fn(&str) -> bool) -> Vec<String> {
        let entries = fs::read_dir(self.dir.join(folder))
            .into_iter()
            .flatten()
            .flatten();
        let mut names: Vec<String> = entries
            .filter_map(|e| e.file_name().into_string().ok())
            .filter(|name| fits(name))
            .collect();
        names.sort();
        names
    }

    fn ending(&self, suffixes: &[&str]) -> Vec<String> {
        self.names("", &|name| {
            suffixes.iter().any(|suffix| name.ends_with(suffix))
        })
    }

    fn is_executable(&self, path: &str) -> bool {
        fs::metadata(self.dir.join(path))
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    }

    /// `./gradlew`, or `sh ./gradlew` where the mode was lost on the way.
    fn script_call(&self, path: &str) -> String {
        if self.is_executable(path) {
            format!("./{path}")
        } else {
            format!("sh ./{path}")
        }
    }

    /// Where a build may write without being committed: `build` where git ignores that, else Arkaint's scratch folder.
    fn build_folder(&self) -> &'static str {
        match (self.ignored)(&format!("{}build/", self.prefix)) {
            true => "build",
            false if self.prefix.is_empty() => ".arkaint/build",
            false => "../.arkaint/build",
        }
    }
}

#[cfg(test)]
mod tests;
