//! The merge gate: may this commit be merged into that branch, by what can be checked? It gathers what is delivered, asks one gate after the
//! other, records the answer, and merges only what it let through. It launches no agent and believes no terminal.

pub(crate) mod gates;
pub(crate) mod merge;
pub(crate) mod request;
pub(crate) mod rerun;
pub(crate) mod subject;
mod trial;
pub(crate) mod verdict;
