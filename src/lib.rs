//! Arkaint runs coding agents in a Git repository without trusting them.
//!
//! This library is the program; it is not a public API. A task walks one way through the rooms below: words (`cli`) become a
//! `Config`, the gate makes a `Pass`, `packet` builds what the agent is told, `agent` launches it once, `judge` and `guard` say what
//! can be checked afterwards, and `cycle` turns that judgement into a step: seal (`ledger`), fix round, rollback (`archive`), or stop.
//! `deliver` then decides by the `evidence` whether what was sealed may be merged.
//! A room stands above all that it uses, and no arrow runs back up (`tests/it/layout.rs` holds it):
//!
//! `command` / `deliver` / `dispatch` / `cycle` / `packet recorder` / `archive decay evidence gate` / `judge ledger guard hooks journal` / `agent git forge` /
//! `process ui` / `secret cli config` / `text tokens exit`
//!
//! Only `git` knows how a repository is opened and how the git binary is called; `ledger guard archive decay packet` read objects and
//! refs through it and may name gix types for that. Only `process` (and `git`, through it) starts other programs.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod agent;
mod archive;
mod cli;
mod command;
mod config;
mod cycle;
mod decay;
mod deliver;
mod dispatch;
mod evidence;
mod exit;
mod forge;
mod gate;
mod git;
mod guard;
mod hooks;
mod journal;
mod judge;
mod ledger;
mod packet;
mod process;
mod recorder;
mod secret;
mod text;
mod tokens;
mod ui;

pub use command::main;
