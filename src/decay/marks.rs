//! The marks of quick fixes, by language: what silences a tool, skips a test, swallows an error, waits and hopes, or puts off the work. Text
//! in, counts out. It reads lines, not syntax: a mark in a string counts, and what is counted is how their number changes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

/// What a mark does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// Silences a linter or a type checker.
    Suppressed,
    /// Keeps a test from running.
    Skipped,
    /// A test that cannot fail, or an assertion less: see [`super::quick_fix`].
    Weakened,
    Swallowed,
    Slept,
    /// TODO and its like.
    Postponed,
}

impl Mark {
    /// Its word in records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Suppressed => "suppressed",
            Self::Skipped => "skipped",
            Self::Weakened => "weakened",
            Self::Swallowed => "swallowed",
            Self::Slept => "slept",
            Self::Postponed => "postponed",
        }
    }
}

/// What one text holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub marks: BTreeMap<Mark, i64>,
    pub tests: i64,
    pub assertions: i64,
    pub lines: i64,
}

/// A language and its patterns; an empty pattern matches nothing.
pub(crate) struct Language {
    pub name: &'static str,
    extensions: &'static [&'static str],
    patterns: LazyLock<Patterns>,
}

struct Patterns {
    marks: Vec<(Mark, Regex)>,
    tests: Option<Regex>,
    assertions: Option<Regex>,
}

/// Pattern sources, each matched line by line unless it spans them itself.
struct Sources {
    suppressed: &'static str,
    skipped: &'static str,
    vacuous: &'static str,
    swallowed: &'static str,
    slept: &'static str,
    tests: &'static str,
    assertions: &'static str,
}

const POSTPONED: &str = r"\b(?:TODO|FIXME|HACK|XXX|WORKAROUND)\b";
/// A handler with nothing in it but a comment.
const EMPTY_CATCH: &str = r"\bcatch\s*(?:\([^)]*\))?\s*\{\s*(?://[^\n]*\s*|/\*[^*]*\*/\s*)?\}";

macro_rules! language {
    ($name:literal, $extensions:expr, $sources:expr) => {
        Language {
            name: $name,
            extensions: &$extensions,
            patterns: LazyLock::new(|| compile(&$sources)),
        }
    };
}

static LANGUAGES: [Language; 12] = [
    language!(
        "rust",
        ["rs"],
        Sources {
            suppressed: r"#!?\[\s*(?:cfg_attr\([^\]]*,\s*)?(?:allow|expect)\(",
            skipped: r"#\[ignore\b",
            vacuous: r"\bassert!\(\s*true\s*[,)]",
            swallowed: r"\blet _ = |\.ok\(\);|\bErr\(_\)\s*=>\s*(?:\{\s*\}|\(\))",
            slept: r"\bsleep\(",
            tests: r"#\[(?:\w+::)*test\b",
            assertions: r"\b(?:debug_)?assert\w*!|\bprop_assert\w*!",
        }
    ),
    language!(
        "python",
        ["py", "pyi"],
        Sources {
            suppressed: r"#\s*(?:noqa|type:\s*ignore|pylint:\s*disable|pyright:\s*ignore|mypy:\s*ignore|pragma:\s*no cover|nosec)",
            skipped: r"@(?:pytest\.mark\.|unittest\.)?(?:skip|skipif|skipIf|skipUnless|xfail|expectedFailure)\b|\bpytest\.(?:skip|xfail)\(|\.skipTest\(",
            vacuous: r"^\s*assert True\b|\bassertTrue\(True\)",
            swallowed: r"\bexcept\b[^:\n]*:\s*(?:#[^\n]*\n\s*)?(?:pass|\.\.\.)\s*$|\bsuppress\(",
            slept: r"\bsleep\(",
            tests: r"^\s*(?:async )?def test_",
            assertions: r"^\s*assert\b|\.assert\w+\(|\bpytest\.raises\(",
        }
    ),
    language!(
        "javascript",
        [
            "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"
        ],
        Sources {
            suppressed: r"\b(?:eslint|oxlint|tslint)[-:]disable|@ts-(?:ignore|nocheck|expect-error)|\bbiome-ignore\b|\bas any\b|:\s*any\b|\b(?:istanbul|c8|v8) ignore\b",
            skipped: r"\b(?:it|test|describe|context|suite)(?:\.\w+)*\.(?:skip|todo|only|fails|failing|fixme)\b|\bx(?:it|test|describe)\(|\bf(?:it|describe)\(",
            vacuous: r"\bexpect\(\s*(true|1)\s*\)\.to\w+\(|\bassert(?:\.ok)?\(\s*true\s*[,)]",
            swallowed: r"\.catch\(\s*(?:\(\w*\)|\w+)\s*=>\s*(?:\{\s*\}|null|undefined)\s*\)|CATCH",
            slept: r"\bwaitForTimeout\(|\bawait\s+(?:sleep|delay|wait)\(|\bsetTimeout\(\s*(?:r|res|resolve)\b",
            tests: r"^\s*(?:it|test)(?:\.\w+)*\(",
            assertions: r"\bexpect\(|\bassert\b[.(]",
        }
    ),
    language!(
        "go",
        ["go"],
        Sources {
            suppressed: r"//\s*nolint|#nosec\b|\blint:ignore\b",
            skipped: r"\b[tb]\.Skip(?:f|Now)?\(",
            vacuous: r"\b(?:assert|require)\.True\(\s*\w+,\s*true\s*[,)]",
            swallowed: r"^\s*_ = |^\s*_, _ = |\bif err != nil \{\s*\}",
            slept: r"\btime\.Sleep\(",
            tests: r"^func Test\w",
            assertions: r"\bt\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:assert|require)\.\w+\(",
        }
    ),
    language!(
        "java",
        ["java", "kt", "kts", "scala", "groovy"],
        Sources {
            suppressed: r"@SuppressWarnings\b|@Suppress\(|\bNOSONAR\b|//\s*noinspection\b|\bCHECKSTYLE:OFF\b",
            skipped: r"@(?:Disabled|Ignore)\b",
            vacuous: r"\bassertTrue\(\s*true\s*[,)]",
            swallowed: "CATCH",
            slept: r"\bThread\.sleep\(|\bTimeUnit\.\w+\.sleep\(",
            tests: r"@(?:Parameterized)?Test\b",
            assertions: r"\bassert\w*\(|\bverify\(",
        }
    ),
    language!(
        "c",
        ["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "m", "mm"],
        Sources {
            suppressed: r"#\s*pragma\s+(?:GCC|clang)\s+diagnostic\s+ignored|#\s*pragma\s+warning\s*\(\s*disable|\bNOLINT|\bcppcheck-suppress\b",
            skipped: r"\bGTEST_SKIP\b|\bDISABLED_\w+",
            vacuous: r"\b(?:EXPECT|ASSERT)_TRUE\(\s*true\s*\)|\b(?:CHECK|REQUIRE)\(\s*true\s*\)|\bassert\(\s*(?:true|1)\s*\)",
            swallowed: "CATCH",
            slept: r"\b(?:u|nano)?sleep\(|\bsleep_for\(|\bSleep\(",
            tests: r"\bTEST(?:_F|_P|_CASE)?\(",
            assertions: r"\b(?:EXPECT|ASSERT|CHECK|REQUIRE)(?:_\w+)?\(|\bassert\(",
        }
    ),
    language!(
        "csharp",
        ["cs"],
        Sources {
            suppressed: r"#pragma warning disable|\bSuppressMessage\b|//\s*ReSharper disable",
            skipped: r#"\[Ignore\b|\bSkip\s*=\s*""#,
            vacuous: r"\bAssert\.(?:True|IsTrue)\(\s*true\s*[,)]",
            swallowed: "CATCH",
            slept: r"\bThread\.Sleep\(|\bTask\.Delay\(",
            tests: r"\[(?:Fact|Theory|Test|TestMethod|TestCase)\b",
            assertions: r"\bAssert\.\w+\(|\.Should\(",
        }
    ),
    language!(
        "ruby",
        ["rb"],
        Sources {
            suppressed: r"\brubocop:disable\b",
            skipped: r"^\s*(?:skip|pending)\b|\bx(?:it|describe|context)\b",
            vacuous: r"\bexpect\(true\)|\bassert true\b",
            swallowed: r"\brescue(?:\s*=>\s*\w+)?\s*\n\s*(?:nil\s*\n\s*)?end\b|\brescue nil\b",
            slept: r"^\s*sleep\b",
            tests: r"^\s*it\b|\bdef test_",
            assertions: r"\bexpect\b|\bassert\w*",
        }
    ),
    language!(
        "php",
        ["php"],
        Sources {
            suppressed: r"@phpstan-ignore|\bphpcs:(?:ignore|disable)|@psalm-suppress|@codeCoverageIgnore",
            skipped: r"\bmarkTest(?:Skipped|Incomplete)\(",
            vacuous: r"\bassertTrue\(\s*true\s*\)",
            swallowed: "CATCH",
            slept: r"\bu?sleep\(",
            tests: r"\bfunction test\w",
            assertions: r"\bassert\w+\(|\bexpect\(",
        }
    ),
    language!(
        "swift",
        ["swift"],
        Sources {
            suppressed: r"\bswiftlint:disable\b",
            skipped: r"\bXCTSkip",
            vacuous: r"\bXCTAssert(?:True)?\(\s*true\s*\)",
            swallowed: "CATCH",
            slept: r"\bsleep\(",
            tests: r"\bfunc test\w|@Test\b",
            assertions: r"\bXCT(?:Assert|Fail)\w*\(|#(?:expect|require)\(",
        }
    ),
    language!(
        "shell",
        ["sh", "bash", "zsh", "bats"],
        Sources {
            suppressed: r"#\s*shellcheck disable",
            skipped: r"^\s*skip\b",
            vacuous: "",
            swallowed: r"\|\|\s*(?:true|:)(?:\s|;|\)|$)|^\s*set \+e\b",
            slept: r"(?:^|;|\bdo)\s*sleep\s",
            tests: r"^@test\b",
            assertions: r"^\s*assert\w*\b|^\s*(?:\[\[?|test)\s",
        }
    ),
    language!(
        "yaml",
        ["yml", "yaml"],
        Sources {
            suppressed: "",
            skipped: "",
            vacuous: "",
            swallowed: r"\b(?:continue-on-error|allow_failure|ignore_errors):\s*(?:true|yes)\b|\|\|\s*true\b",
            slept: r"\bsleep\s+\d",
            tests: "",
            assertions: "",
        }
    ),
];

fn compile(sources: &Sources) -> Patterns {
    let one = |source: &str| {
        let source = source.replace("CATCH", EMPTY_CATCH);
        (!source.is_empty()).then(|| {
            RegexBuilder::new(&source)
                .multi_line(true)
                .unicode(false)
                .build()
                .expect("every pattern is compiled by a test")
        })
    };
    let marks = [
        (Mark::Suppressed, sources.suppressed),
        (Mark::Skipped, sources.skipped),
        (Mark::Weakened, sources.vacuous),
        (Mark::Swallowed, sources.swallowed),
        (Mark::Slept, sources.slept),
        (Mark::Postponed, POSTPONED),
    ];
    Patterns {
        marks: marks
            .into_iter()
            .filter_map(|(mark, source)| Some((mark, one(source)?)))
            .collect(),
        tests: one(sources.tests),
        assertions: one(sources.assertions),
    }
}

/// The language of a path by its extension; `None` for what is no source, and for what nobody here writes by hand.
pub(crate) fn language(path: &[u8]) -> Option<&'static Language> {
    let path = std::str::from_utf8(path).ok()?;
    let foreign = |part: &str| {
        matches!(
            part,
            "vendor" | "node_modules" | "third_party" | "dist" | "target" | "build"
        )
    };
    let mut parts = path.rsplit('/');
    let name = parts.next()?;
    if parts.any(foreign) || name.contains(".min.") {
        return None;
    }
    let extension = name.rsplit_once('.')?.1;
    LANGUAGES
        .iter()
        .find(|language| language.extensions.contains(&extension))
}

impl Language {
    /// Counts what `text` holds.
    pub(crate) fn count(&self, text: &str) -> Counts {
        let number = |pattern: &Regex| {
            i64::try_from(pattern.find_iter(text.as_bytes()).count()).unwrap_or(i64::MAX)
        };
        let of = |pattern: &Option<Regex>| pattern.as_ref().map_or(0, number);
        let marks = self.patterns.marks.iter();
        Counts {
            marks: marks
                .map(|(mark, pattern)| (*mark, number(pattern)))
                .collect(),
            tests: of(&self.patterns.tests),
            assertions: of(&self.patterns.assertions),
            lines: i64::try_from(text.lines().count()).unwrap_or(i64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(path: &str, text: &str) -> Vec<(&'static str, i64)> {
        let counts = language(path.as_bytes()).unwrap().count(text);
        let found = counts.marks.into_iter().filter(|(_, n)| *n > 0);
        found.map(|(mark, n)| (mark.name(), n)).collect()
    }

    #[test]
    fn every_pattern_compiles_and_reads_nothing_in_nothing() {
        for language in &LANGUAGES {
            let counts = language.count("");
            assert!(counts.marks.values().all(|n| *n == 0), "{}", language.name);
        }
    }

    #[test]
    fn each_kind_is_seen_in_each_language() {
        for (path, text, seen) in [
            (
                "a.rs",
                "#[allow(dead_code)]\n#[ignore = \"slow\"]\nassert!(true);\nlet _ = f();\nthread::sleep(d);\n// TODO\n",
                6,
            ),
            (
                "a.py",
                "x = 1  # type: ignore\n@pytest.mark.skip\nassert True\ntry:\n    f()\nexcept Exception:\n    pass\ntime.sleep(1)\n# FIXME\n",
                6,
            ),
            (
                "a.ts",
                "// @ts-ignore\nit.skip('x')\nexpect(true).toBe(true)\ntry { f() } catch (e) {}\nawait sleep(5)\n// HACK\n",
                6,
            ),
            (
                "a.go",
                "f() //nolint\nt.Skip()\nassert.True(t, true)\n_ = f()\ntime.Sleep(1)\n// XXX\n",
                6,
            ),
            (
                "A.java",
                "@SuppressWarnings(\"all\")\n@Disabled\nassertTrue(true);\ntry { f(); } catch (E e) { // fine\n}\nThread.sleep(1);\n// TODO\n",
                6,
            ),
            (
                "a.cpp",
                "f(); // NOLINT\nGTEST_SKIP();\nEXPECT_TRUE(true);\ntry { f(); } catch (...) {}\nusleep(1);\n// TODO\n",
                6,
            ),
            (
                "a.cs",
                "#pragma warning disable\n[Ignore]\nAssert.True(true);\ntry { F(); } catch { }\nThread.Sleep(1);\n// TODO\n",
                6,
            ),
            (
                "a.rb",
                "# rubocop:disable all\n  skip\nassert true\nbegin\n  f\nrescue => e\nend\nsleep 1\n# TODO\n",
                6,
            ),
            (
                "a.php",
                "// @phpstan-ignore\n$this->markTestSkipped();\n$this->assertTrue(true);\ntry { f(); } catch (E $e) {}\nsleep(1);\n// TODO\n",
                6,
            ),
            (
                "a.swift",
                "// swiftlint:disable all\nthrow XCTSkip()\nXCTAssert(true)\ndo { try f() } catch {}\nsleep(1)\n// TODO\n",
                6,
            ),
            (
                "a.sh",
                "# shellcheck disable=SC2086\n  skip\nf || true\nsleep 1\n# TODO\n",
                5,
            ),
            (
                "ci.yml",
                "continue-on-error: true\nrun: sleep 5\n# TODO\n",
                3,
            ),
        ] {
            let seen_here = marks(path, text);
            assert_eq!(seen_here.len(), seen, "{path}: {seen_here:?}");
            assert!(
                seen_here.iter().all(|(_, n)| *n == 1),
                "{path}: {seen_here:?}"
            );
        }
    }

    #[test]
    fn plain_code_has_none() {
        for (path, text) in [
            (
                "a.rs",
                "let x = f()?;\nassert_eq!(x, 1);\nmatch r { Err(e) => return Err(e), Ok(v) => v }\n",
            ),
            (
                "a.py",
                "try:\n    f()\nexcept ValueError as e:\n    raise Bad from e\nassert x == 1\n",
            ),
            (
                "a.ts",
                "it('adds', () => { expect(add(1, 2)).toBe(3) })\ntry { f() } catch (e) { report(e) }\nconst company = 1\n",
            ),
            ("a.go", "if err != nil {\n\treturn err\n}\nx, _ := f()\n"),
            ("a.sh", "f || exit 1\ng || trueish\n"),
        ] {
            assert_eq!(marks(path, text), [], "{path}");
        }
        for path in [
            "README.md",
            "vendor/a.go",
            "web/dist/x.js",
            "x.min.js",
            "Cargo.lock",
            "noextension",
        ] {
            assert!(language(path.as_bytes()).is_none(), "{path}");
        }
    }
}
