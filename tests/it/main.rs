//! The integration tests: one binary, one file a subject, real git in throw-away repositories, the built binaries as a user runs them.
#![allow(clippy::unwrap_used, clippy::pedantic, unreachable_pub)]

mod completions;
mod docs;
mod drift;
mod goose;
mod install;
mod layout;
mod man;
mod model;
mod config;
mod init;
mod sandbox;
mod secrets;
