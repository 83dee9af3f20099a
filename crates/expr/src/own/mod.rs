//! Scalar functions of our own, value by value: what the library lacks or does otherwise than PostgreSQL and DuckDB.
//!
//! `plan::functions` says which there are and what they take. Each is a function of the row's values; batches are
//! walked here. A function in a hot path wants a kernel instead (`kernels`).

mod batch;
mod bits;
mod bytes;
mod characters;
mod codes;
mod encodings;
mod exact;
mod glob;
mod numbers;
mod rows;
mod similar;
mod system;
mod text;
mod time;
mod time_format;
mod time_parse;
mod to_char;
mod to_char_number;
mod to_number;
mod zones;

pub(crate) use characters::separators;

use plan::functions::{
    self, ENUM_RANGE, FITTED_CHAR, FITTED_VARCHAR, GLOB, LIST_OF_LENGTH, ORDERED_ROW, PAIR, ROW_VALUE,
    TRY_LIST_OF_LENGTH,
};
use types::interval::Interval;
use types::{Error, Result, SqlState, Type, Value, stop};
use vector::{Data, Vector, VectorBuilder};

use crate::room::Room;

/// What a function costs for a row of no bytes, more or less.
const ROW_UNITS: usize = 256;

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
    fn text(&self, at: usize) -> Result<&str> {
        self.values.get(at).and_then(Value::as_text).ok_or_else(|| self.mismatch(at))
    }
    fn bytes(&self, at: usize) -> Result<&[u8]> {
        self.values.get(at).and_then(Value::as_bytes).ok_or_else(|| self.mismatch(at))
    }
    fn integer(&self, at: usize) -> Result<i64> {
        self.values.get(at).and_then(Value::as_i64).ok_or_else(|| self.mismatch(at))
    }
    fn whole(&self, at: usize) -> Result<i128> {
        self.values.get(at).and_then(Value::as_i128).ok_or_else(|| self.mismatch(at))
    }
    fn float(&self, at: usize) -> Result<f64> {
        self.values.get(at).and_then(Value::as_f64).ok_or_else(|| self.mismatch(at))
    }
    fn interval(&self, at: usize) -> Result<Interval> {
        Interval::of_value(self.values.get(at).ok_or_else(|| self.mismatch(at))?)
    }
    fn len(&self) -> usize {
        self.values.len()
    }
    fn mismatch(&self, at: usize) -> Error {
        Error::internal(format!("argument {at} of a function has another form"))
    }
}

type Evaluate = fn(&Arguments<'_>) -> Result<Value>;

/// A function bound to the types of its arguments.
#[derive(Clone, Copy)]
pub(crate) struct OwnCall {
    evaluate: Evaluate,
    batch: Option<batch::Batch>,
    strict: bool,
}

impl std::fmt::Debug for OwnCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnCall")
    }
}

fn refuse(state: SqlState, message: impl Into<String>) -> Error {
    Error::new(state, message)
}

fn invalid(message: impl Into<String>) -> Error {
    refuse(SqlState::InvalidParameterValue, message)
}

fn evaluate_of(name: &str) -> Option<Evaluate> {
    Some(match name {
        ORDERED_ROW => rows::ordered_row,
        ROW_VALUE => rows::row_value,
        PAIR => rows::pair,
        "enum_code" => |a| Ok(a.values[0].clone()),
        ENUM_RANGE => range_of_labels,
        LIST_OF_LENGTH => |a| of_length(a, false),
        TRY_LIST_OF_LENGTH => |a| of_length(a, true),
        FITTED_VARCHAR => |a| fitted(a, Type::Varchar),
        FITTED_CHAR => |a| fitted(a, Type::Char),
        "to_number" => to_number::to_number,
        GLOB => glob::glob,
        _ => text::named(name)
            .or_else(|| codes::named(name))
            .or_else(|| encodings::named(name))
            .or_else(|| bytes::named(name))
            .or_else(|| bits::named(name))
            .or_else(|| exact::named(name))
            .or_else(|| characters::named(name))
            .or_else(|| similar::named(name))
            .or_else(|| numbers::named(name))
            .or_else(|| time::named(name))
            .or_else(|| zones::named(name))
            .or_else(|| system::named(name))?,
    })
}

/// A text as assignment to a type of so many characters takes it.
fn fitted(a: &Arguments<'_>, of: fn(u32) -> Type) -> Result<Value> {
    let limit = u32::try_from(a.integer(1)?).unwrap_or(u32::MAX);
    types::cast::fit_text(a.text(0)?, of(limit))
}

/// The values of an enum from one to another; NULL is its first, or last.
fn range_of_labels(a: &Arguments<'_>) -> Result<Value> {
    let count = a.ty.element().and_then(Type::labels).map_or(0, <[String]>::len) as i64;
    let end = |at: usize, open: i64| if a.values[at].is_null() { Ok(open) } else { a.integer(at) };
    let (first, last) = (end(0, 0)?, end(1, count - 1)?);
    let values: Vec<Value> = (first..=last).map(|at| Value::I32(at as i32)).collect();
    Ok(types::nested::encoding::list_of(&values, a.ty.element().unwrap_or(Type::Null)))
}

/// The list, where it has as many elements as a cast to `INTEGER[3]` asks.
fn of_length(a: &Arguments<'_>, lenient: bool) -> Result<Value> {
    let found = types::nested::encoding::elements(a.ty, a.bytes(0)?).count();
    match i64::try_from(found) == Ok(a.integer(1)?) {
        true => Ok(a.values[0].clone()),
        false if lenient => Ok(Value::Null),
        false => {
            let message = format!("cannot cast a list of {found} elements to one of {}", a.integer(1)?);
            Err(invalid(message).with_hint("list_resize gives a list another length"))
        }
    }
}

/// The function of that name.
pub(crate) fn find(name: &str) -> Option<OwnCall> {
    let strict = functions::signatures(name).next()?.strict;
    Some(OwnCall { evaluate: evaluate_of(name)?, batch: batch::named(name), strict })
}

/// Whether these are arguments of one of its signatures: the library may have a function of the same name, with more.
pub(crate) fn takes(name: &str, arguments: &[Type]) -> bool {
    use functions::Takes;
    let suits = |takes: Takes, ty: Type| match takes {
        Takes::Any => true,
        Takes::Integer => ty.is_integer(),
        Takes::Number => ty.is_numeric() || ty == Type::Null,
        Takes::Is(wanted) => ty == wanted || (ty.is_text() && wanted.is_text()),
    };
    functions::signatures(name).any(|s| {
        let least = s.takes.len() - s.optional;
        arguments.len() >= least
            && arguments
                .iter()
                .enumerate()
                .all(|(at, ty)| s.takes.get(at).copied().or(s.rest).is_some_and(|t| suits(t, *ty)))
    })
}

impl OwnCall {
    /// The function's value for each row. With `strict`, a row with a NULL argument is NULL.
    pub(crate) fn evaluate(
        &self,
        inputs: &[Vector],
        ty: Type,
        rows: usize,
        room: Room<'_>,
    ) -> Result<Vector> {
        if let Some(done) = self.batch.and_then(|batch| batch(inputs, ty, rows, room)) {
            return done;
        }
        let types: Vec<Type> = inputs.iter().map(Vector::ty).collect();
        let mut out = VectorBuilder::new(ty, rows);
        let mut values: Vec<Value> = Vec::with_capacity(inputs.len());
        if rows > 0 {
            values.extend(inputs.iter().map(|input| input.value(0)));
        }
        let varying: Vec<usize> =
            (0..inputs.len()).filter(|at| !matches!(inputs[*at].data(), Data::Constant(_))).collect();
        let mut made = 0;
        for row in 0..rows {
            for at in &varying {
                values[*at] = inputs[*at].value(row);
            }
            if self.strict && values.iter().any(Value::is_null) {
                out.push(&Value::Null);
            } else {
                let width = values.iter().filter_map(Value::as_bytes).map(<[u8]>::len).sum::<usize>();
                // A comparison of two long texts takes the product of their lengths.
                stop::spend(ROW_UNITS + width.saturating_mul(width));
                let value = (self.evaluate)(&Arguments { values: &values, types: &types, ty })?;
                if let Value::Bytes(bytes) = &value {
                    // A width in a format makes more than any bound by its arguments tells.
                    made += bytes.len() as u64;
                    room.ask(made, rows)?;
                }
                out.push(&value);
            }
        }
        Ok(out.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_has_its_code() {
        let missing: Vec<&str> = functions::SIGNATURES
            .iter()
            .map(|s| s.name)
            .filter(|n| evaluate_of(n).is_none() && crate::nested::named(n).is_none())
            .collect();
        assert!(missing.is_empty(), "without code: {missing:?}");
    }
}
