//! The integration tests: one binary, one file a subject, real git in throw-away repositories, the built binaries as a user runs them.
#![allow(clippy::unwrap_used, clippy::pedantic, unreachable_pub)]

mod completions;
mod config;
mod docs;
mod drift;
mod goose;
mod init;
mod install;
mod layout;
mod man;
mod model;
mod hooks;
mod sandbox;
mod secrets;
