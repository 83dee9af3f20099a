//! The composition root and public Rust API: Database, Session and the life of a query.
#![forbid(unsafe_code)]
