//! What is remembered: checkpoint commits with their trailers and chain, and the notes ref with one record a line. It makes no
//! decisions and knows no agent.

pub(crate) mod cache;
pub(crate) mod checkpoint;
pub(crate) mod message;
pub(crate) mod notes;
pub(crate) mod page;
pub(crate) mod record;
pub(crate) mod relink;
pub(crate) mod since;
pub(crate) mod spent;
pub(crate) mod sync;
mod union;
pub(crate) mod used;
pub(crate) mod walk;

pub(crate) use checkpoint::{Checkpoint, Status};
pub(crate) use record::{Kind, Record};
