//! Did the work come out right? What can be checked after a launch, and what a failure looks like. It changes nothing.

pub(crate) mod check;
mod tally;
