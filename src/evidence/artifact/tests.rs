use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;

use super::*;

impl Described for String {
    fn detail(&self) -> String {
        "present".to_owned()
    }
}

/// Makes something odd at the first path; the second is a folder outside of the worktree.
type Make = fn(&Path, &Path);

const PATH: &str = ".ak-loop/verify.json";

/// A worktree with an empty `.ak-loop/`.
fn worktree() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".ak-loop")).unwrap();
    dir
}

/// The text as it is; `"blank"` is as if there were no file.
#[allow(clippy::unnecessary_wraps)]
fn take(text: &str) -> Judged<String> {
    Ok((text != "blank").then(|| text.to_owned()))
}

/// The artifact at `PATH`, judged within a second.
#[track_caller]
fn read(dir: &TempDir) -> Artifact<String> {
    let began = Instant::now();
    let artifact = Reader::open(dir.path(), LIMIT)
        .unwrap()
        .read(PATH.as_ref(), take);
    assert!(began.elapsed() < Duration::from_secs(1), "it hung");
    artifact
}

#[track_caller]
fn reason(artifact: &Artifact<String>) -> &str {
    match artifact {
        Artifact::Broken(broken) => &broken.reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_bytes_that_were_judged_are_those_that_were_hashed() {
    let dir = worktree();
    assert_eq!(read(&dir), Artifact::Absent);
    fs::write(dir.path().join(PATH), "\u{feff}{}\r\n").unwrap();
    let Artifact::Good(good) = read(&dir) else {
        panic!("a plain file");
    };
    assert_eq!(good.value, "{}\r\n");
    assert_eq!(good.bytes, "\u{feff}{}\r\n".as_bytes());
    assert_eq!(
        good.sha256,
        text::hex(&Sha256::digest("\u{feff}{}\r\n".as_bytes()))
    );
    let age = good.mtime.unwrap().elapsed().unwrap_or_default();
    assert!(age < Duration::from_secs(60));
    fs::write(dir.path().join(PATH), "blank").unwrap();
    assert_eq!(read(&dir), Artifact::Absent);
    // A sealed one is judged by the same rules.
    let sealed = Artifact::of(b"\xef\xbb\xbf{}\r\n".to_vec(), None, take);
    assert_eq!(sealed.sha256(), Some(good.sha256.as_str()));
    assert_eq!(sealed.good(), Some(&good.value));
}

#[test]
fn a_worktree_that_is_gone_is_an_error_and_no_absent_file() {
    let dir = worktree();
    let gone = dir.path().join("gone");
    let error = Reader::open(&gone, LIMIT).unwrap_err().to_string();
    assert!(error.contains("opening the worktree"), "{error}");
}

#[test]
fn what_is_no_regular_file_is_unsafe_and_never_waited_for() {
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(outside.path().join("loop")).unwrap();
    fs::write(outside.path().join("loop/verify.json"), "{}").unwrap();
    let cases: [(&str, Make); 9] = [
        ("unsafe file: symlink", |file, _| {
            symlink("/dev/zero", file).unwrap();
        }),
        ("unsafe file: symlink", |file, outside| {
            symlink(outside.join("loop/verify.json"), file).unwrap();
        }),
        // Within the worktree too, and to nothing.
        ("unsafe file: symlink", |file, _| {
            symlink("other.json", file).unwrap();
        }),
        ("unsafe file: directory", |file, _| {
            fs::create_dir(file).unwrap();
        }),
        ("unsafe file: FIFO", |file, _| {
            mkfifoat(CWD, file, Mode::RWXU).unwrap();
        }),
        ("unsafe file: socket", |file, _| {
            drop(UnixListener::bind(file).unwrap());
        }),
        ("unsafe file: symlink at .ak-loop", |file, outside| {
            let folder = file.parent().unwrap();
            fs::remove_dir(folder).unwrap();
            symlink(outside.join("loop"), folder).unwrap();
        }),
        ("unsafe file: no folder at .ak-loop", |file, _| {
            let folder = file.parent().unwrap();
            fs::remove_dir(folder).unwrap();
            fs::write(folder, "").unwrap();
        }),
        ("unsafe file: FIFO at .ak-loop", |file, _| {
            let folder = file.parent().unwrap();
            fs::remove_dir(folder).unwrap();
            mkfifoat(CWD, folder, Mode::RWXU).unwrap();
        }),
    ];
    for (said, make) in cases {
        let dir = worktree();
        make(&dir.path().join(PATH), outside.path());
        assert_eq!(reason(&read(&dir)), said);
        assert_eq!(read(&dir).state(), State::Broken);
    }
    let dir = worktree();
    fs::remove_dir(dir.path().join(".ak-loop")).unwrap();
    assert_eq!(read(&dir), Artifact::Absent);
}

#[test]
fn no_more_is_read_than_the_limit() {
    let dir = worktree();
    let file = fs::File::create(dir.path().join(PATH)).unwrap();
    file.set_len(200 << 20).unwrap();
    let large = read(&dir);
    assert_eq!(reason(&large), "too large: 209715200 bytes, limit 1048576");
    let Artifact::Broken(large) = large else {
        unreachable!("it has a reason");
    };
    assert_eq!((large.bytes, large.sha256), (Some(200 << 20), None));
    file.set_len(LIMIT).unwrap();
    assert_eq!(read(&dir).state(), State::Good);
    file.set_len(LIMIT + 1).unwrap();
    assert_eq!(read(&dir).state(), State::Broken);
}

#[test]
fn text_is_utf_8_or_says_how_to_become_it() {
    let dir = worktree();
    for (bytes, said) in [
        (
            &b"\xff\xfe{\0}\0"[..],
            "UTF-16, not UTF-8: save it as UTF-8",
        ),
        (b"\xfe\xff\0{\0}", "UTF-16, not UTF-8: save it as UTF-8"),
        (b"{\"a\":\"\xe4\"}", "not UTF-8 at byte 6: save it as UTF-8"),
        (b"\xed\xa0\x80", "not UTF-8 at byte 0: save it as UTF-8"),
    ] {
        fs::write(dir.path().join(PATH), bytes).unwrap();
        let artifact = read(&dir);
        assert_eq!(reason(&artifact), said);
        assert_eq!(
            artifact.sha256(),
            Some(text::hex(&Sha256::digest(bytes)).as_str())
        );
    }
    // One mark is taken off, not two.
    fs::write(dir.path().join(PATH), "\u{feff}\u{feff}x").unwrap();
    assert_eq!(read(&dir).good().unwrap(), "\u{feff}x");
}

#[test]
fn a_file_that_changes_while_it_is_read_is_read_again_three_times() {
    let dir = worktree();
    let path = dir.path().join(PATH);
    let reader = Reader::open(dir.path(), LIMIT).unwrap();
    let append = || {
        let mut file = fs::File::options().append(true).open(&path).unwrap();
        file.write_all(b"x").unwrap();
    };
    for restless in 0..=3 {
        fs::write(&path, "a").unwrap();
        let mut reads = 0;
        let artifact = reader.read_while(PATH.as_ref(), take, &mut || {
            reads += 1;
            if reads <= restless {
                append();
            }
        });
        let whole = format!("a{}", "x".repeat(restless));
        assert_eq!(artifact.good(), Some(&whole), "{restless}");
        assert_eq!(reads, restless + 1);
    }
    let mut reads = 0;
    let restless = reader.read_while(PATH.as_ref(), take, &mut || {
        reads += 1;
        append();
    });
    assert_eq!(reads, 4);
    assert!(
        reason(&restless).starts_with("changing while read"),
        "{restless:?}"
    );

    // Replaced whole: the newer one counts. Removed: nothing is there.
    let mut renamed = false;
    let replaced = reader.read_while(PATH.as_ref(), take, &mut || {
        if !std::mem::replace(&mut renamed, true) {
            fs::write(path.with_extension("new"), "new").unwrap();
            fs::rename(path.with_extension("new"), &path).unwrap();
        }
    });
    assert_eq!(replaced.good().unwrap(), "new");
    let removed = reader.read_while(PATH.as_ref(), take, &mut || {
        let _ = fs::remove_file(&path);
    });
    assert_eq!(removed, Artifact::Absent);

    // It grew past the limit while it was read.
    fs::write(&path, "a").unwrap();
    let grown = reader.read_while(PATH.as_ref(), take, &mut || {
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_len(LIMIT + 1).unwrap();
    });
    assert!(reason(&grown).starts_with("too large: 1048577 bytes"));
}

#[test]
fn the_words_of_each_state() {
    let broken = super::broken::<String>("no reason".to_owned());
    for (artifact, name, detail) in [
        (Artifact::Absent, "absent", "not written"),
        (
            broken,
            "broken",
            "present but does not match the schema: no reason",
        ),
        (Artifact::of(b"x".to_vec(), None, take), "good", "present"),
    ] {
        assert_eq!(
            (artifact.state().name(), artifact.detail().as_str()),
            (name, detail)
        );
    }
}

#[test]
fn json_that_is_deep_or_large_is_judged_within_a_second() {
    let dir = worktree();
    let deep = "[".repeat(100_000);
    let twice = format!("{{{}\"a\":1}}", "\"a\":1,".repeat(140_000));
    for (text, said) in [
        (deep.as_str(), "nested deeper than 64 levels"),
        (twice.as_str(), "duplicate key `a`"),
    ] {
        fs::write(dir.path().join(PATH), text).unwrap();
        fs::write(dir.path().join("proofs.json"), text).unwrap();
        let began = Instant::now();
        let reader = Reader::open(dir.path(), LIMIT).unwrap();
        for detail in [
            reader.verify().detail(),
            reader.dod("proofs.json".as_ref()).detail(),
        ] {
            assert!(detail.contains(said), "{detail}");
        }
        assert!(began.elapsed() < Duration::from_secs(1));
    }
    fs::write(dir.path().join(PATH), r#"{"command":"true"}"#).unwrap();
    let reader = Reader::open(dir.path(), LIMIT).unwrap();
    assert_eq!(reader.verify().detail(), "0 outcomes · true");
    assert_eq!(
        reader.dod(super::super::dod::PATH.as_ref()).detail(),
        "not written"
    );
}
