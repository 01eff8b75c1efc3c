//! Damaged bytes for every parser of bytes that come from elsewhere: a real example, cut, doubled, spliced and flipped. For tests alone.
//!
//! A few hundred cases each time; `ARKAINT_FUZZ_SECONDS` of them on demand (`tests/long` sets it).

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

/// Of one round.
const CASES: u32 = 200;

/// One blow.
#[derive(Clone, Debug)]
enum Blow {
    Flip(Index, u8),
    Cut(Index, Index),
    Double(Index, Index),
    /// A piece of another example.
    Splice(Index, Index, Index),
    Insert(Index, Vec<u8>),
}

fn blow() -> impl Strategy<Value = Blow> {
    let at = any::<Index>;
    // What parsers trip over: ends, quotes, escapes, signs, and characters of more than one byte.
    let piece = prop::sample::select(vec![
        &b"\0"[..],
        b"\n",
        b"\r\n",
        b"\n\n",
        b"\"",
        b"\\",
        b"\\u0000",
        b"\\ud800",
        b"{",
        b"]",
        b"[[[[[[[[",
        b":",
        b",",
        b"-",
        b"-1",
        b"1e999",
        b"18446744073709551616",
        b"null",
        b"true",
        b"'",
        b"`",
        b"$(",
        b"<<E\n",
        b"|",
        b"&&",
        b"\xff",
        b"\xe2\x80\xae",
        b"\xf0\x9f\x98\x80",
        b"\x1b[31m",
        b" ",
        b"\t",
        b"=",
        b"#",
        b"---\n",
    ]);
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Blow::Flip(at, byte)),
        (at(), at()).prop_map(|(from, to)| Blow::Cut(from, to)),
        (at(), at()).prop_map(|(from, to)| Blow::Double(from, to)),
        (at(), at(), at()).prop_map(|(from, to, other)| Blow::Splice(from, to, other)),
        (at(), piece).prop_map(|(at, piece)| Blow::Insert(at, piece.to_vec())),
    ]
}

fn strike(bytes: &mut Vec<u8>, blow: Blow, examples: &[Vec<u8>]) {
    let range = |from: Index, to: Index, of: &[u8]| {
        let (a, b) = (from.index(of.len() + 1), to.index(of.len() + 1));
        a.min(b)..a.max(b)
    };
    match blow {
        Blow::Flip(at, byte) if !bytes.is_empty() => {
            let at = at.index(bytes.len());
            bytes[at] ^= byte;
        }
        Blow::Flip(..) => {}
        Blow::Cut(from, to) => {
            bytes.drain(range(from, to, bytes));
        }
        Blow::Double(from, to) => {
            let range = range(from, to, bytes);
            let (end, piece) = (range.end, bytes[range].to_vec());
            // Doubling again and again must not fill the memory.
            if bytes.len() < 256 * 1024 {
                bytes.splice(end..end, piece);
            }
        }
        Blow::Splice(from, to, other) => {
            let other = &examples[other.index(examples.len())];
            let piece = other[range(from, to, other)].to_vec();
            bytes.splice(range(from, to, bytes), piece);
        }
        Blow::Insert(at, piece) => {
            let at = at.index(bytes.len() + 1);
            bytes.splice(at..at, piece);
        }
    }
}

/// Calls `parser` with damaged `examples`; it panics where it does not keep its word.
pub(crate) fn damaged(examples: &[Vec<u8>], parser: impl Fn(&[u8])) {
    let strategy = (any::<Index>(), prop::collection::vec(blow(), 0..8));
    let seconds = std::env::var("ARKAINT_FUZZ_SECONDS").ok();
    let seconds = seconds.and_then(|seconds| seconds.parse().ok());
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let mut seeds = TestRunner::new(config.clone());
    let mut cases = 0;
    loop {
        // A runner is spent after its cases.
        let mut runner = TestRunner::new_with_rng(config.clone(), seeds.new_rng());
        let run = runner.run(&strategy, |(which, blows)| {
            let mut bytes = examples[which.index(examples.len())].clone();
            for blow in blows {
                strike(&mut bytes, blow, examples);
            }
            parser(&bytes);
            Ok(())
        });
        if let Err(found) = run {
            panic!("{found}");
        }
        cases += CASES;
        if until.is_none_or(|until| Instant::now() >= until) {
            break;
        }
    }
    if until.is_some() {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        let _ = writeln!(std::io::stderr(), "{name}: {cases} damaged inputs");
    }
}

/// The files below `tests/fixtures/FOLDER`.
pub(crate) fn files(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(folder);
    let mut paths: Vec<_> = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

/// Texts as bytes.
pub(crate) fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
