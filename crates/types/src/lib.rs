//! Logical types, scalar values, the rules of casting and overflow, the error type, and the simple
//! predicates that a block can evaluate.
//!
//! This crate is the ground everything above agrees on. It knows nothing of vectors, blocks, plans or SQL.
#![forbid(unsafe_code)]

pub mod bits;
mod calendar;
pub mod cast;
pub mod codes;
pub mod collation;
pub mod date_text;
pub mod datetime;
pub mod decimal;
pub mod digits;
pub mod enums;
pub mod error;
mod float_text;
pub mod integers;
pub mod interval;
pub mod interval_text;
pub mod json;
mod json_path;
pub mod jsonb;
pub mod like;
pub mod logical;
pub mod names;
pub mod nested;
mod numbers;
pub mod predicate;
pub mod quote;
pub mod referential;
pub mod sample;
pub mod size;
pub mod statistics;
pub mod stop;
pub mod switch;
mod system_kinds;
pub mod system_type;
pub mod time_ns;
pub mod time_tz;
pub mod timestamp_units;
pub mod units;
mod unreadable;
mod uuid;
pub mod value;
pub mod wide;
pub mod written;
pub mod zone;

pub use collation::Collation;
pub use error::{Error, JsonState, Position, Result, SqlState};
pub use like::LikePattern;
pub use logical::{Field, Physical, Schema, Type};
pub use predicate::{Bound, ColumnPredicate, Comparison, PredicateTree};
pub use referential::ReferentialAction;
pub use sample::{Sample, SampleOf};
pub use statistics::ColumnStatistics;
pub use system_type::SystemType;
pub use value::Value;
pub use zone::Zone;
