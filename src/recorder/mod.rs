//! Checks that Arkaint runs itself and answers for: a command in the worker's worktree, written into its files and sealed to the tree
//! that it ran on, or again in a fresh worktree of a commit. It judges no evidence and opens no gate.

mod claim;
mod content;
pub(crate) mod rerun;
mod run;
pub(crate) mod verify;
