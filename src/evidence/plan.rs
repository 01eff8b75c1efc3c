//! `plan.md`: free text, the plan that the worker followed. It is there or not; nobody judges what it says.

use super::artifact::{Artifact, Described, Judged, Reader};
use super::json::js_trim;
use crate::text;

/// Where it lies, from the worktree's root.
pub(crate) const PATH: &str = ".ak-loop/plan.md";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Lines from the first that is not blank to the last.
    pub lines: usize,
}

impl Described for Plan {
    fn detail(&self) -> String {
        text::counted(self.lines, "line")
    }
}

impl Reader {
    pub(crate) fn plan(&self) -> Artifact<Plan> {
        self.read(PATH.as_ref(), judge)
    }
}

/// A blank plan is none.
#[allow(clippy::unnecessary_wraps)] // the shape of a judge
pub(crate) fn judge(text: &str) -> Judged<Plan> {
    let text = js_trim(text);
    Ok((!text.is_empty()).then(|| Plan {
        lines: text.lines().count(),
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::artifact::{LIMIT, State};
    use super::*;

    #[test]
    fn a_blank_plan_is_absent_and_an_unreadable_one_is_broken() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(PATH);
        let read = || Reader::open(dir.path(), LIMIT).unwrap().plan();
        assert_eq!(read(), Artifact::Absent);
        fs::create_dir(dir.path().join(".ak-loop")).unwrap();
        for (bytes, state, detail) in [
            (&b""[..], State::Absent, "not written"),
            (b" \t\r\n\n", State::Absent, "not written"),
            (b"\xef\xbb\xbf\xef\xbb\xbf\n", State::Absent, "not written"),
            ("\u{a0}\u{2028}".as_bytes(), State::Absent, "not written"),
            (b"do it", State::Good, "1 line"),
            (b"\n# Plan\r\n\r\n1. do it\r\n\n", State::Good, "3 lines"),
            ("\u{85}".as_bytes(), State::Good, "1 line"),
            (
                b"\xff\xfea\0",
                State::Broken,
                "present but does not match the schema: UTF-16, not UTF-8: save it as UTF-8",
            ),
        ] {
            fs::write(&path, bytes).unwrap();
            let plan = read();
            assert_eq!(
                (plan.state(), plan.detail().as_str()),
                (state, detail),
                "{bytes:?}"
            );
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(
            read().detail(),
            "present but does not match the schema: unsafe file: directory"
        );
    }
}
