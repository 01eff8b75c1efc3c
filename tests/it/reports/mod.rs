//! What users of other tools reported, each as a test named after it. Where a test of its subject holds it already, that test says so.

mod hooks;
mod loops;
