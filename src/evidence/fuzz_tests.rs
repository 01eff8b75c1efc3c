//! Artifacts and contracts that were damaged: read or refused with a reason, and what was read means something.

use std::path::Path;

use super::contract::Body;
use super::{dod, plan, verify};
use crate::text::fuzz;

#[test]
fn whatever_an_artifact_holds_is_judged() {
    let mut examples = fuzz::files("evidence");
    examples.extend(fuzz::texts(&[
        r#"{"command":"make all","exitCode":0,"outcomes":[{"id":"o1","status":"passed","evidence":"12 passed | 0 failed"}],"ranAt":"2026-01-31T12:00:00Z","tree":"0123"}"#,
        r#"{"evidence":[{"id":"d1","status":"failed","evidence":"no"}],"acceptance":[{"id":"a1","status":"passed","evidence":"ok"}]}"#,
        "# Plan\n\n- step\n",
    ]));
    fuzz::damaged(&examples, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let _ = verify::judge(&text);
        let _ = dod::judge(&text);
        let _ = plan::judge(&text);
    });
}

#[test]
fn whatever_a_contract_file_holds_is_read_or_refused_in_one_line() {
    let examples = fuzz::texts(&[
        "intent = \"It works\"\n[[outcomes]]\nid = \"o1\"\ndescription = \"d\"\ncheck = { kind = \"command\", command = \"make o1\" }\n",
        r#"{"intent":"It works","outcomes":[{"id":"o1","description":"d","check":{"kind":"manual"}}],"planRequired":true}"#,
    ]);
    fuzz::damaged(&examples, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        for name in ["c.toml", "c.json"] {
            match Body::read(Path::new(name), &text) {
                Ok(body) => drop(body.not_dispatchable()),
                Err(why) => assert!(!why.is_empty()),
            }
        }
    });
}
