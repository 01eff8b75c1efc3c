//! The options of tools as far as they tell what a call is narrowed to. Words are separated by a space.

use std::collections::BTreeSet;

use crate::judge::question::has;

#[derive(Clone, Copy, Default)]
pub(super) struct Options {
    /// Take a value that does not narrow.
    pub valued: &'static str,
    /// Take a value that narrows.
    pub narrowing: &'static str,
    /// Take a value that is left out.
    pub excluding: &'static str,
    /// Narrow by themselves.
    pub modes: &'static str,
    /// Positional words that stand for everything.
    pub whole: &'static str,
}

impl Options {
    /// What the arguments narrow the call to.
    pub(super) fn selection(self, args: &[&str]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut args = args.iter();
        while let Some(&word) = args.next() {
            if !(word.starts_with('-') && word.len() > 1) {
                found.extend(self.part(word).map(|word| {
                    word.trim_start_matches("./")
                        .trim_end_matches('/')
                        .to_owned()
                }));
                continue;
            }
            let (flag, value) = word
                .split_once('=')
                .map_or((word, None), |(flag, value)| (flag, Some(value)));
            let takes = [self.narrowing, self.excluding, self.valued]
                .iter()
                .any(|words| has(words, flag));
            let value = value.or_else(|| if takes { args.next().copied() } else { None });
            if has(self.narrowing, flag) {
                found.extend(value.and_then(|value| self.part(value)).map(str::to_owned));
            } else if has(self.excluding, flag) {
                found.extend(value.map(|value| format!("!{value}")));
            } else if has(self.modes, flag) {
                found.insert(flag.to_owned());
            }
        }
        found
    }

    /// The word, unless it stands for everything.
    fn part(self, word: &str) -> Option<&str> {
        (!has(self.whole, word) && !matches!(word, "." | "./" | "./...")).then_some(word)
    }
}

const NONE: Options = Options {
    valued: "",
    narrowing: "",
    excluding: "",
    modes: "",
    whole: "",
};

pub(super) const PYTEST: Options = Options {
    valued: "-n -c -p -o -W -r --tb --color --maxfail --cov --cov-report --junitxml --rootdir --durations --timeout --dist",
    narrowing: "-k -m",
    excluding: "--ignore --deselect --ignore-glob",
    ..NONE
};
pub(super) const UNITTEST: Options = Options {
    valued: "-s -p -t",
    narrowing: "-k",
    whole: "discover tests test",
    ..NONE
};
pub(super) const JAVASCRIPT: Options = Options {
    valued: "-c --config --reporter --reporters -R --maxWorkers -w --coverageDirectory --environment --timeout -r --require --outputFile --retries --workers --browser",
    narrowing: "-t --testNamePattern --testPathPattern --testPathPatterns -g --grep -f --fgrep --filter --project -m --match --spec --shard --selectProjects --findRelatedTests",
    excluding: "--exclude --testPathIgnorePatterns",
    modes: "--onlyChanged --onlyFailures --changed",
    whole: "run watch test src tests",
};
/// npm and its like: their own options, and those of the runner behind a script.
pub(super) const PACKAGES: Options = Options {
    valued: "--prefix --reporter --loglevel -C --cwd --color",
    narrowing: "-w --workspace --filter -F -t --testNamePattern --test-name-pattern -g --grep",
    ..JAVASCRIPT
};
pub(super) const NODE_TEST: Options = Options {
    valued: "--test-reporter --test-reporter-destination --test-concurrency --test-timeout --import -r --require --loader --env-file",
    narrowing: "--test-name-pattern --test-shard",
    excluding: "--test-skip-pattern",
    modes: "--test-only",
    whole: "test",
};
pub(super) const CARGO: Options = Options {
    valued: "-j --jobs --features -F --target --target-dir --manifest-path --profile --message-format --color --config -Z --test-threads --format -D -W -A --logfile --retries --partition",
    narrowing: "-p --package --test --bin --example --bench -E --filter-expr",
    excluding: "--skip --exclude",
    modes: "--lib --bins --doc --tests --examples --benches --ignored",
    ..NONE
};
pub(super) const GO: Options = Options {
    valued: "-count -timeout -tags -bench -cpu -coverprofile -o -ldflags -gcflags -parallel -p -C -mod -covermode",
    narrowing: "-run",
    excluding: "-skip",
    modes: "-short",
    whole: "...",
};
pub(super) const TSC: Options = Options {
    valued: "--pretty --outDir --rootDir --target --module --lib --jsx --moduleResolution -t -m --declarationDir",
    narrowing: "-p --project",
    whole: "tsconfig.json",
    ..NONE
};
pub(super) const COMPILER: Options = Options {
    valued: "-o -I -L -l -D -x -d -cp -classpath --edition --crate-type -isystem -include -target",
    ..NONE
};
/// What most tools mean by these letters.
pub(super) const GENERIC: Options = Options {
    valued: "-c --config -j --jobs -C --color --format --reporter -o --output --output-file -f --log-level --timeout -r -W --target-version --max-warnings --ext",
    narrowing: "-k -t -m -n -g -R -E --filter --grep --only --name --tests --test --group --tag --tags --suite -e -Dtest --example --pattern --testsuite -p",
    excluding: "--exclude --skip --ignore",
    modes: "--failed --only-failures --stale",
    ..NONE
};
