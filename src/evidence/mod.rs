//! What a worker left to prove its work, and what that is worth: `plan.md`, `verify.json` and `dod.json` read as the files of a
//! stranger, graded, assessed item by item, and shown as one table. It starts nothing, decides no merge and knows no repository.

pub(crate) mod artifact;
pub(crate) mod dod;
pub(crate) mod grade;
pub(crate) mod item;
mod json;
pub(crate) mod plan;
pub(crate) mod verify;
