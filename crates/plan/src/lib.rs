//! Bound expressions, logical plans and physical plans as inert data that prints itself.
#![forbid(unsafe_code)]
