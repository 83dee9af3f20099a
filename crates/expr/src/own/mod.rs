//! Scalar functions of our own, value by value: what the library lacks or does otherwise than PostgreSQL and DuckDB.
//!
//! Each is declared beside its code, once (`functions` says with what). Most are functions of a row's values; batches are
//! walked here. A function in a hot path wants a kernel instead (`kernels`).

#[cfg(test)]
mod agreement;
mod arguments;
mod batch;
mod bins;
mod bits;
mod bytes;
mod characters;
mod codes;
mod collation;
mod declare;
mod digits;
mod encodings;
mod exact;
mod glob;
mod intervals;
mod maps;
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
mod wide;
mod written;
mod zones;

pub(crate) use arguments::{Arguments, Batch, Code};
use arguments::{Evaluate, ROW_UNITS, invalid, refuse};
pub(crate) use characters::separators;

use declare::*;
use plan::functions::{
    COLLATION_FOLD, COLLATION_KEY, ENUM_RANGE, FITTED_CHAR, FITTED_VARCHAR, GLOB, LIST_OF_LENGTH,
    ORDERED_ROW, PAIR, ROW_VALUE, TRY_LIST_OF_LENGTH,
};
use plan::functions::{INTERVAL_GREATEST, INTERVAL_LEAST};
use types::{Physical, Result, Type, Value, stop};
use vector::{Data, Vector, VectorBuilder};

use crate::functions;
use crate::nested::Kernel;
use crate::room::Room;

/// Rows of numbers alone between two looks at whether the statement is to stop.
const ROWS_OF_NUMBERS: usize = 64;

/// Every function's declaration.
pub(crate) const TABLES: &[&[ScalarFunction]] = &[
    FUNCTIONS,
    text::FUNCTIONS,
    codes::FUNCTIONS,
    encodings::FUNCTIONS,
    bytes::FUNCTIONS,
    bits::FUNCTIONS,
    bins::FUNCTIONS,
    exact::FUNCTIONS,
    characters::FUNCTIONS,
    similar::FUNCTIONS,
    numbers::FUNCTIONS,
    intervals::FUNCTIONS,
    time::FUNCTIONS,
    zones::FUNCTIONS,
    system::FUNCTIONS,
    wide::FUNCTIONS,
    digits::FUNCTIONS,
];

/// A function bound to the types of its arguments.
#[derive(Clone, Copy)]
pub(crate) struct OwnCall {
    evaluate: Evaluate,
    batch: Option<Batch>,
    strict: bool,
}

impl std::fmt::Debug for OwnCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnCall")
    }
}

/// Functions of rows as bytes, of enums and of lengths, and those that have a file of their own.
const FUNCTIONS: &[ScalarFunction] = &[
    in_batches(
        batch::ordered_rows,
        internal(ORDERED_ROW, &[variadic(&[TEXT], Type::Bytea)], rows::ordered_row),
    ),
    in_batches(batch::row_values, internal(ROW_VALUE, &[is(&[BYTES], Type::Null)], rows::row_value)),
    in_batches(batch::pairs, internal(PAIR, &[is(&[DOUBLE, DOUBLE], Type::Bytea)], rows::pair)),
    own(
        "enum_code",
        &[is(&[Takes::Any], Type::Integer)],
        page(
            "system",
            "enum_code(value)",
            "The place of an enum's label, from 0.",
            "enum_code('ok'::ENUM('sad', 'ok'))",
            "1",
        ),
        |a| Ok(a.values[0].clone()),
    ),
    internal(COLLATION_KEY, &[is(&[TEXT, TEXT], Type::Bytea)], |a| {
        let text = a.text(1)?;
        collation::named(a.text(0)?, |by| Value::Bytes(by.key(text).as_ref().into()))
    }),
    internal(COLLATION_FOLD, &[is(&[TEXT, TEXT], Type::Text)], |a| {
        let text = a.text(1)?;
        collation::named(a.text(0)?, |by| Value::text(&by.fold(text)))
    }),
    internal(ENUM_RANGE, &[variadic(&[Takes::Any, Takes::Any], Type::Null)], range_of_labels),
    internal(LIST_OF_LENGTH, &[first(&[Takes::Any, BIG])], |a| of_length(a, false)),
    internal(TRY_LIST_OF_LENGTH, &[first(&[Takes::Any, BIG])], |a| of_length(a, true)),
    internal(FITTED_VARCHAR, &[is(&[TEXT, BIG], Type::Text)], |a| fitted(a, Type::Varchar)),
    internal(FITTED_CHAR, &[is(&[TEXT, BIG], Type::Text)], |a| fitted(a, Type::Char)),
    own(
        "to_number",
        &[is(&[TEXT, TEXT], WIDE)],
        page(
            "numeric",
            "to_number(text, template)",
            "The number that a text shows as the template says, with as many digits behind the point; templates are those of to_char.",
            "to_number('12,454.8-', '99G999D9S')",
            "-12454.8",
        ),
        to_number::to_number,
    ),
    internal(GLOB, &[is(&[TEXT, TEXT], Type::Boolean)], glob::glob),
    // Fields of moments, over whole vectors.
    kernel(
        "date_field",
        &[is(&[TEXT, DATE], Type::BigInt), is(&[TEXT, STAMP], Type::BigInt), is(&[TEXT, TIME], Type::BigInt)],
        crate::kernels::fields::whole_fields,
    ),
    kernel(
        "any_field",
        &[
            is(&[TEXT, DATE], Type::Double),
            is(&[TEXT, STAMP], Type::Double),
            is(&[TEXT, TIME], Type::Double),
            is(&[TEXT, INTERVAL], Type::Double),
        ],
        crate::kernels::fields::numbers,
    ),
];

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

/// The function of that name, where it is one of a row's values.
pub(crate) fn find(name: &str) -> Option<OwnCall> {
    let function = functions::named(name)?;
    let Code::Values(evaluate) = function.code else { return None };
    let strict = function.signatures.first()?.strict;
    Some(OwnCall { evaluate, batch: function.batch, strict })
}

/// The function of that name, where it is one of whole vectors.
pub(crate) fn kernel_of(name: &str) -> Option<Kernel> {
    match functions::named(name)?.code {
        Code::Vectors(kernel) => Some(kernel),
        Code::Values(_) => None,
    }
}

/// Whether these are arguments of one of its signatures: the library may have a function of the same name, with more.
pub(crate) fn takes(name: &str, arguments: &[Type]) -> bool {
    fitting(name, arguments).next().is_some()
}

/// Whether a call of a function gives that type: a plan from elsewhere may say anything. Functions that are not declared
/// here are bound to their arguments' types, which refuses what does not fit.
pub(crate) fn gives(name: &str, arguments: &[Type], ty: Type) -> bool {
    // These take and give labels of an enum likewise.
    let of_any_type =
        [INTERVAL_GREATEST, INTERVAL_LEAST].contains(&name) && arguments.iter().all(|a| *a == ty);
    let mut own = fitting(name, arguments).peekable();
    own.peek().is_none()
        || own.any(|signature| match signature.gives {
            // Such a call's type is the caller's to say.
            Gives::Is(Type::Null) => true,
            Gives::Is(gives) if gives.is_decimal() => ty.is_decimal(),
            Gives::Is(gives) => gives.physical() == ty.physical() || of_any_type,
            Gives::First => arguments.first().is_some_and(|first| first.physical() == ty.physical()),
        })
}

/// The signatures that take these arguments.
fn fitting<'a>(name: &str, arguments: &'a [Type]) -> impl Iterator<Item = &'static Signature> + 'a {
    let suits = |takes: Takes, ty: Type| match takes {
        Takes::Any => true,
        Takes::Integer => ty.is_integer(),
        Takes::Number => ty.is_numeric() || ty == Type::Null,
        Takes::Is(wanted) => ty == wanted || (ty.is_text() && wanted.is_text()),
    };
    functions::signatures(name).iter().filter(move |signature| {
        let least = signature.takes.len() - signature.optional;
        let taken = |at: usize| signature.takes.get(at).copied().or(signature.rest);
        arguments.len() >= least
            && arguments.iter().enumerate().all(|(at, ty)| taken(at).is_some_and(|takes| suits(takes, *ty)))
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
        let is_constant = |input: &Vector| matches!(input.data(), Data::Constant(_));
        let varying: Vec<usize> = (0..inputs.len()).filter(|at| !is_constant(&inputs[*at])).collect();
        // Only values with bytes have a length that an evaluation may depend on.
        let of_bytes = values.iter().any(|value| value.as_bytes().is_some())
            || varying.iter().any(|at| types[*at].physical() == Physical::Bytes);
        let mut made = 0;
        for row in 0..rows {
            for at in &varying {
                values[*at] = inputs[*at].value(row);
            }
            if self.strict && values.iter().any(Value::is_null) {
                out.push_null();
                continue;
            }
            if of_bytes {
                let width = values.iter().filter_map(Value::as_bytes).map(<[u8]>::len).sum::<usize>();
                // A comparison of two long texts takes the product of their lengths.
                stop::spend(ROW_UNITS + width.saturating_mul(width));
            } else if row % ROWS_OF_NUMBERS == 0 {
                stop::spend(ROW_UNITS * ROWS_OF_NUMBERS);
            }
            let value = (self.evaluate)(&Arguments { values: &values, types: &types, ty })?;
            if let Value::Bytes(bytes) = &value {
                // A width in a format makes more than any bound by its arguments tells.
                made += bytes.len() as u64;
                room.ask(made, rows)?;
            }
            out.push(&value);
        }
        Ok(out.finish())
    }
}
