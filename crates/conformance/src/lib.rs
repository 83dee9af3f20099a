//! What holds the engine to its word: the SQL corpus under many configurations, answers of the benchmarks, and
//! fuzzers against a reference.
//!
//! The tests themselves stand in `tests/`; this library is what they share.
#![forbid(unsafe_code)]

pub mod answers;
pub mod asked;
pub mod configuration;
pub mod corpus;
pub mod folder;
pub mod fuzz;
pub mod study;

use std::path::PathBuf;

/// The examples of the book's page on Rust, run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct RustPage;

/// The repository's root, where `tests/slt` and `tests/answers` lie.
pub fn repository() -> PathBuf {
    let mut path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    path.pop();
    path.pop();
    path
}
