//! Layer 2, topology: which paths changed and by how much.

use super::fence;
use super::survey::Survey;
use super::{Cut, Redact};

/// The totals and as many rows as `max` bytes hold; then how many paths are missing and in which folders all of them are.
pub(super) fn body(survey: &Survey, max: usize, redact: Redact) -> (String, Cut) {
    let totals = fence::clean(&survey.totals, redact);
    let bytes: usize = survey.rows.iter().map(String::len).sum();
    let mut near = 0;
    let near: String = survey
        .rows
        .iter()
        .take_while(|row| {
            near += row.len();
            near <= max + row.len()
        })
        .map(String::as_str)
        .collect();
    let rows = fence::clean(&near, redact);
    if totals.len() + rows.len() <= max && near.len() == bytes && survey.unlisted == 0 {
        return (totals + &rows, Cut::default());
    }
    let folders = fence::clean(&survey.folders, redact);
    let rest = |missing: usize| {
        format!(" [... {missing} more paths left out; changed paths by folder: {folders} ...]\n")
    };
    let all = survey.rows.len() + survey.unlisted;
    let room = max.saturating_sub(totals.len() + rest(all).len());
    let kept = if rows.len() <= room {
        &rows[..]
    } else {
        rows[..room]
            .rfind('\n')
            .map_or("", |newline| &rows[..=newline])
    };
    let missing = all - kept.lines().count();
    let (body, _) = fence::fit(&format!("{totals}{kept}{}", rest(missing)), 0, max);
    (
        body,
        Cut {
            bytes: bytes.saturating_sub(kept.len()),
            items: missing,
        },
    )
}
