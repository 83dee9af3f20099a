//! Corpus runner, configurations, answer checks and fuzzers.
#![forbid(unsafe_code)]
