//! The vocabulary of execution: work orders, segments, edges, completions.
#![forbid(unsafe_code)]
