//! Did it work? `outcome` says how a launch ended, `signature` what failed in it, `breaker` whether a failure repeats: all pure, values
//! in, values out. Nothing here acts on the answer.

mod aim;
pub(crate) mod breaker;
#[cfg(test)]
mod breaker_tests;
pub(crate) mod check;
mod extract;
#[cfg(test)]
mod fuzz_tests;
pub(crate) mod leaks;
mod listener;
mod normalise;
pub(crate) mod outcome;
#[cfg(test)]
mod outcome_tests;
mod question;
mod report;
mod shell;
pub(crate) mod signature;
mod tally;

pub(crate) use breaker::{Breaker, Trip, TripKind};
pub(crate) use listener::Listener;
pub(crate) use report::{Tally, ToolReport};
pub(crate) use signature::Signature;
pub(crate) use tally::without_color;
