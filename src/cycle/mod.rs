//! The heart: checkpoint, launch, judge, correct, until it is sealed, rolled back, or a person must step in.

pub(crate) mod boot;
pub(crate) mod checkpoint;
pub(crate) mod checks;
mod ending;
mod judging;
mod launch;
pub(crate) mod machine;
pub(crate) mod open;
mod opening;
pub(crate) mod packing;
pub(crate) mod projection;
pub(crate) mod proof;
pub(crate) mod recovery;
pub(crate) mod rolled_back;
pub(crate) mod run;
mod run_record;
pub(crate) mod scratch;
mod signals;
pub(crate) mod spending;

pub(crate) use ending::Ended;
pub(crate) use run_record::cost_word;
