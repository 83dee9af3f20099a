//! Foreman, workers, work-order containers, progress and cancellation.
#![forbid(unsafe_code)]
