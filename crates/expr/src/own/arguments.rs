//! What a function of ours is given and gives: arguments of a row or a batch, and the code that evaluates it.

use types::interval::Interval;
use types::{Error, Result, SqlState, Type, Value};

use vector::Vector;

use crate::nested::Kernel;
use crate::room::Room;

/// What a function costs for a row of no bytes, more or less.
pub(super) const ROW_UNITS: usize = 256;

/// The arguments of one row.
pub(crate) struct Arguments<'a> {
    /// The values, by position in the call.
    pub values: &'a [Value],
    /// The types that the arguments were bound with, one a value.
    pub types: &'a [Type],
    /// The call's type.
    pub ty: Type,
}

impl Arguments<'_> {
    pub(super) fn text(&self, at: usize) -> Result<&str> {
        self.values.get(at).and_then(Value::as_text).ok_or_else(|| self.mismatch(at))
    }
    pub(super) fn bytes(&self, at: usize) -> Result<&[u8]> {
        self.values.get(at).and_then(Value::as_bytes).ok_or_else(|| self.mismatch(at))
    }
    pub(super) fn integer(&self, at: usize) -> Result<i64> {
        self.values.get(at).and_then(Value::as_i64).ok_or_else(|| self.mismatch(at))
    }
    pub(super) fn whole(&self, at: usize) -> Result<i128> {
        self.values.get(at).and_then(Value::as_i128).ok_or_else(|| self.mismatch(at))
    }
    pub(super) fn float(&self, at: usize) -> Result<f64> {
        self.values.get(at).and_then(Value::as_f64).ok_or_else(|| self.mismatch(at))
    }
    pub(super) fn interval(&self, at: usize) -> Result<Interval> {
        Interval::of_value(self.values.get(at).ok_or_else(|| self.mismatch(at))?)
    }
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }
    pub(super) fn mismatch(&self, at: usize) -> Error {
        Error::internal(format!("argument {at} of a function has another form"))
    }
}

pub(super) type Evaluate = fn(&Arguments<'_>) -> Result<Value>;

/// How a function is evaluated.
#[derive(Clone, Copy)]
pub(crate) enum Code {
    /// Row by row.
    Values(Evaluate),
    /// Over whole vectors.
    Vectors(Kernel),
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Code")
    }
}

pub(super) fn refuse(state: SqlState, message: impl Into<String>) -> Error {
    Error::new(state, message)
}

pub(super) fn invalid(message: impl Into<String>) -> Error {
    refuse(SqlState::InvalidParameterValue, message)
}

/// The call over all rows; `None` where it is left to the function of one row.
pub(crate) type Batch = fn(&[Vector], Type, usize, Room<'_>) -> Option<Result<Vector>>;
