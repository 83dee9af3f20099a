//! A slow, obvious interpreter of logical plans that judges the engine in tests.
#![forbid(unsafe_code)]
