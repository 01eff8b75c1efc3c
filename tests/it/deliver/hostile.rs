//! Files of a worker that would hang, blow up or mislead whoever reads them: judged at once, and named.

use std::os::unix::fs::symlink;
use std::time::Instant;

use super::*;

/// The gate says no at once, and names `why` for the file.
#[track_caller]
fn refused(sandbox: &Sandbox, what: &str, why: &str) {
    let started = Instant::now();
    let no = judged(sandbox, 1);
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{what} took {:?}",
        started.elapsed()
    );
    let said = gate(&no, "artifacts");
    assert!(
        said.starts_with("closed: .ak-loop/verify.json is there but does not match its schema, which is worse than absent: ")
            && said.contains(why),
        "{what}: {said}"
    );
    assert_eq!(row(&no, "o1")["verdict"], "missing", "{what}");
    // It is kept nowhere, and kept from nobody.
    sandbox.arkaint(["deliver"]).expect(1);
    assert_eq!(records(sandbox, "evidence").len(), 0, "{what}");
}

/// report_container_use_337, report_container_use_365.
#[test]
fn what_is_no_plain_file_of_the_workers_is_named() {
    let sandbox = asked("", ONE);
    let file = verify_path(&sandbox);
    let folder = sandbox.repo.join(".ak-loop");
    let fresh = || {
        let _ = std::fs::remove_dir_all(&folder);
        let _ = std::fs::remove_file(&folder);
        std::fs::create_dir(&folder).unwrap();
    };
    fresh();
    let large = std::fs::File::create(&file).unwrap();
    large.set_len(200 << 20).unwrap();
    refused(
        &sandbox,
        "200 MB",
        "too large: 209715200 bytes, limit 1048576",
    );
    fresh();
    sandbox.sh("mkfifo .ak-loop/verify.json");
    refused(&sandbox, "a FIFO", "unsafe file: FIFO");
    fresh();
    symlink("/dev/zero", &file).unwrap();
    refused(&sandbox, "a link to a device", "unsafe file: symlink");
    fresh();
    let outside = sandbox.home().join("verify.json");
    std::fs::write(&outside, format!("{{\"outcomes\":[{PASSED}]}}")).unwrap();
    symlink(&outside, &file).unwrap();
    refused(&sandbox, "a link to a good file", "unsafe file: symlink");
    fresh();
    std::fs::create_dir(&file).unwrap();
    refused(&sandbox, "a folder", "unsafe file: directory");
    std::fs::remove_dir_all(&folder).unwrap();
    symlink(sandbox.home(), &folder).unwrap();
    refused(&sandbox, "a linked folder", "unsafe file: symlink");
}

#[test]
fn text_that_would_break_a_reader_is_named() {
    let sandbox = asked("", ONE);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    sandbox.write(".ak-loop/verify.json", &format!("{{\"x\":{deep}}}"));
    refused(&sandbox, "deep", "nested deeper than 64 levels");
    sandbox.write(
        ".ak-loop/verify.json",
        &format!("{{\"outcomes\":[{PASSED}],\"outcomes\":[]}}"),
    );
    refused(&sandbox, "a key twice", "duplicate key `outcomes`");
    let utf16: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(verify_path(&sandbox), [&[0xff, 0xfe], &*utf16].concat()).unwrap();
    refused(&sandbox, "UTF-16", "UTF-16");
    sandbox.write(".ak-loop/verify.json", "{} {}");
    refused(&sandbox, "more than one value", "trailing characters");
    sandbox.write(".ak-loop/verify.json", "\n");
    refused(&sandbox, "nothing", "empty");
}

#[test]
fn a_large_file_is_judged_whole() {
    let sandbox = asked("", ONE);
    let entry = |n: usize| {
        format!(
            "{{\"id\":\"x{n}\",\"status\":\"passed\",\"evidence\":\"{}\"}}",
            "e".repeat(900)
        )
    };
    let many: Vec<String> = (0..999).map(entry).chain([PASSED.to_owned()]).collect();
    verify(&sandbox, &many.join(","));
    let open = judged(&sandbox, 0);
    assert_eq!(open["table"]["unmatched"].as_array().unwrap().len(), 999);
    // Nor does the page of such a file outgrow a comment.
    let page = sandbox.arkaint(["deliver", "--markdown"]).expect(0).stdout;
    assert!(page.chars().count() < 65_536, "{}", page.len());
}
