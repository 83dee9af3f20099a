//! What can be wrong with a request for generated data. All of it is the caller's input, so each case carries
//! the offending value and maps to an SQLSTATE; nothing here panics.

use crate::{SCALE_MAX, SCALE_MIN, Suite};
use std::fmt;

/// An error of a request, or of Arrow while a batch was put together.
#[derive(Clone, Debug, PartialEq)]
pub enum GeneratorError {
    /// The scale factor is not a number within the limits.
    Scale(f64),
    /// The suite has no such table.
    UnknownTable {
        /// The suite that was asked for a table.
        suite: Suite,
        /// The name of the table that it does not have.
        table: String,
    },
    /// `part` is not below `parts`.
    Part {
        /// The part that was asked for, from 0.
        part: usize,
        /// How many parts there are.
        parts: usize,
    },
    /// Arrow refused a batch: a bug, or lack of memory for it.
    Arrow(String),
}

impl GeneratorError {
    /// The SQLSTATE under which SQL reports this error.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            GeneratorError::Scale(_) | GeneratorError::Part { .. } => "22023",
            GeneratorError::UnknownTable { .. } => "42P01",
            GeneratorError::Arrow(_) => "XX000",
        }
    }
}

impl fmt::Display for GeneratorError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GeneratorError::Scale(scale) => {
                write!(formatter, "scale must be a number between {SCALE_MIN} and {SCALE_MAX}, got {scale}")
            }
            GeneratorError::UnknownTable { suite, table } => {
                write!(formatter, "{suite} has no table \"{table}\"; it has {}", suite.tables().join(", "))
            }
            GeneratorError::Part { part, parts } => {
                write!(formatter, "part {part} does not exist among {parts} parts (they count from 0)")
            }
            GeneratorError::Arrow(message) => write!(formatter, "generated batch is malformed: {message}"),
        }
    }
}

impl std::error::Error for GeneratorError {}

impl From<arrow_schema::ArrowError> for GeneratorError {
    fn from(error: arrow_schema::ArrowError) -> Self {
        GeneratorError::Arrow(error.to_string())
    }
}
