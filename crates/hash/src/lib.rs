//! Join tables, aggregation tables and filters, with their byte layouts.
//!
//! Everything here is a passive structure that operators (and generated code) share: it knows keys, hashes, row
//! numbers and bits, but neither plans nor work orders. Each file draws its layout at its head.
//!
//! | file | holds |
//! | --- | --- |
//! | `hashing` | the hash of every type of value, shared by joins, aggregation and filters |
pub mod hashing;

pub use hashing::{combine_vector, hash_columns, hash_vector};
