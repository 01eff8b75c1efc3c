//! Decay: signs that an agent gets worse, each with its evidence. They are signals; nothing here judges or stops a run.
//!
//! One mode a file. Mode 1, context drift, is [`Model`], built once per launch from the base commit, which scores what the run did;
//! [`Scale`] says how a score is read in this repository. The others are counts with a fixed threshold, in the order of
//! `git-arkaint-decay(7)`: [`quick_fix`], [`blindness`], [`boundary`], [`looping`], [`spec`].

pub(crate) mod blindness;
pub(crate) mod boundary;
mod diff;
mod drift;
mod embedding;
mod history;
pub(crate) mod looping;
mod marks;
pub(crate) mod quick_fix;
mod scale;
mod signal;
pub(crate) mod spec;
mod terms;
mod told;

pub(crate) use drift::{Model, Score, THRESHOLD};
pub(crate) use embedding::Embedder;
pub(crate) use scale::Scale;
pub(crate) use signal::{Mode, Signal};
pub(crate) use told::{Run, Told};
