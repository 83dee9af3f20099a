//! One set of features for every build.
//!
//! Cargo unifies the features of a dependency over the packages that one command builds, so the tests of the workspace
//! and the binary alone would compile the function library twice. This crate has no code: it asks, for everybody, for
//! the features that anybody needs. `cargo xtask tidy` compares what the command, the wheel and the tests compile.
#![forbid(unsafe_code)]
