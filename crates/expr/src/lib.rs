//! Evaluates bound expressions over vectors: own kernels for the hot types, the function library for the rest.
//!
//! A `Program` computes a list of expressions over a batch, equal parts once; a `Predicate` finds the rows for which
//! an expression is TRUE. Results are PostgreSQL's: three-valued logic, errors for overflow and division by zero.
//! This crate leaves to others: binding and coercion (the planner's), predicates inside blocks, aggregates.
#![forbid(unsafe_code)]

mod apply;
mod bits;
mod compile;
pub mod fallback;
mod frame;
pub mod functions;
pub mod graph;
mod jsonpath;
mod kernels;
mod nested;
mod operand;
mod own;
pub mod predicate;
pub mod program;
mod regular;
mod room;

pub use fallback::{ExternalCode, keep};
pub use jsonpath::check as check_jsonpath;
pub use kernels::decimal::divide as divide_decimals;
pub use predicate::{Predicate, Selected};
pub use program::{Program, evaluate_constant, fold_constants};
pub use room::{Ask, Room, is_too_wide, text_bytes};
