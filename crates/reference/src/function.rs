//! The functions that the plan names itself. Text is taken apart into characters, whatever it costs.

use plan::{Expr, Function};
use types::{Error, Result, SqlState, Type, Value};

use crate::{arithmetic, temporal};

/// The characters of a text; an internal error for other values.
pub(crate) fn text_of(value: &Value) -> Result<&str> {
    value.as_text().ok_or_else(|| Error::internal("a text without characters"))
}

/// The number of an integer; an internal error for other values.
pub(crate) fn integer_of(value: &Value) -> Result<i64> {
    value.as_i64().ok_or_else(|| Error::internal("an integer without a value"))
}

/// `function(values)`; COALESCE is the evaluator's own.
pub(crate) fn call(function: Function, arguments: &[Expr], values: &[Value], ty: Type) -> Result<Value> {
    let missing = || Error::internal(format!("{} without an argument", function.name()));
    let first = values.first().ok_or_else(missing)?;
    let first_ty = arguments.first().ok_or_else(missing)?.ty;
    if function == Function::NullIf {
        let second = values.get(1).ok_or_else(missing)?;
        let equal = !first.is_null() && !second.is_null() && first == second;
        return Ok(if equal { Value::Null } else { first.clone() });
    }
    if values.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    Ok(match function {
        Function::ExtractYear | Function::ExtractMonth | Function::ExtractDay => {
            arithmetic::whole(i128::from(temporal::extract(function, first, first_ty)?), ty)?
        }
        Function::Lower => Value::text(&text_of(first)?.to_lowercase()),
        Function::Upper => Value::text(&text_of(first)?.to_uppercase()),
        Function::CharacterLength => {
            let length = match first_ty {
                Type::Bytea => first.as_bytes().map_or(0, <[u8]>::len),
                _ => text_of(first)?.chars().count(),
            };
            arithmetic::whole(length as i128, ty)?
        }
        Function::Concatenate => {
            let parts: Vec<&[u8]> = values.iter().filter_map(Value::as_bytes).collect();
            Value::Bytes(parts.concat().into())
        }
        Function::Absolute => arithmetic::absolute(first, ty)?,
        Function::SamplePlace => {
            let seed = integer_of(values.get(1).ok_or_else(missing)?)?;
            Value::I64(types::sample::signed_place(integer_of(first)?, seed))
        }
        Function::Substring => {
            let start = i128::from(integer_of(values.get(1).ok_or_else(missing)?)?);
            let end = match values.get(2) {
                None => i128::MAX,
                Some(length) => {
                    let length = i128::from(integer_of(length)?);
                    if length < 0 {
                        let message = "negative substring length not allowed";
                        return Err(Error::new(SqlState::InvalidParameterValue, message));
                    }
                    start + length
                }
            };
            let numbered = text_of(first)?.chars().zip(1i128..);
            let kept: String = numbered.filter(|(_, at)| *at >= start && *at < end).map(|(c, _)| c).collect();
            Value::text(&kept)
        }
        Function::Coalesce | Function::NullIf | Function::Try => return Err(missing()),
    })
}
