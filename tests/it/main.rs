//! The integration tests: one binary, one file a subject, real git in throw-away repositories, the built binaries as a user runs them.
#![allow(clippy::unwrap_used, clippy::pedantic, unreachable_pub)]

mod agents;
mod breaker;
mod checkpoint;
mod claude_cycle;
mod completions;
mod config;
mod contract;
mod cost;
mod cycle;
mod decay;
mod demo;
mod dispatch;
mod docs;
mod drift;
mod evidence_cycle;
mod evidence_schema;
mod gate;
mod goose;
mod goose_cycle;
mod goose_streams;
mod hooks;
mod http;
mod init;
mod install;
mod layout;
mod man;
mod model;
mod not_run;
mod packet;
mod retention;
mod rollback;
mod sandbox;
mod secrets;
mod stand_in;
mod verify;
