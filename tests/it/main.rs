//! The integration tests: one binary, one file a subject, real git in throw-away repositories, the built binaries as a user runs them.
#![allow(clippy::unwrap_used, clippy::pedantic)]

mod hooks;
mod sandbox;
