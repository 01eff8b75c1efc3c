//! Decay: signs that an agent gets worse, each with its evidence. They are signals; nothing here judges or stops a run.
//!
//! Mode 1, context drift, is here: [`Model`] is built once per launch from the base commit and scores what the run did;
//! [`Scale`] says how a score is read in this repository.

mod diff;
mod drift;
mod history;
mod scale;
mod terms;

pub(crate) use drift::{Model, Score, THRESHOLD};
pub(crate) use scale::Scale;
