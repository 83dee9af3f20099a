//! TPC-H and SSB data at any scale, deterministic, straight into batches.
#![forbid(unsafe_code)]
