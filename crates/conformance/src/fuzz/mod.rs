//! The query fuzzer: random tables and random typed queries, run by the engine under many configurations and by the
//! reference interpreter, and compared.
//!
//! * `tables`: random schemas and rows, as values for the reference and as SQL for the engine
//! * `tree`: queries as trees that print themselves, and the smaller trees that a failing one is reduced to
//! * `expressions`, `calls`, `nested`, `queries`: what is generated
//! * `changes`: statements that change rows, and what they leave
//! * `rewrites`: what tempts the optimizer's rules: volatile calls, NULLs of every kind, relations that are no tables
//! * `rules`: one seed's queries with every rule, without each and without all of them
//! * `judge`: when two results agree
//! * `round`: one seed's tables and queries through all configurations
//! * `reduce`: from a failing case to a small one
//! * `emit`: cases with the engine's answers as JSON, for `fuzz_duckdb.py`
//!
//! Both judges share the front end: a fault in parsing, binding or decorrelation shows only against DuckDB.

mod calls;
pub mod changes;
pub mod emit;
mod expressions;
pub mod judge;
mod nested;
pub mod queries;
pub mod reduce;
pub mod rewrites;
pub mod round;
pub mod rules;
pub mod tables;
pub mod tree;

pub use round::{Case, Counts, Options, run_round};
