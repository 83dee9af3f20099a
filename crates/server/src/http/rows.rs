//! Rows and parameters as JSON.
//!
//! A row is an array. Values are numbers, truth values, texts, null, and arrays and objects for nested ones. Integers and
//! decimals whose digits a double does not hold (beyond 2^53) are texts, because most readers of JSON have doubles alone.

use std::io::{self, Write};

use engine::{Batch, Error, PreparedStatement, Result, Schema, SqlState, Type, Value};
use serde_json::value::RawValue;
use types::{cast, json};

/// Integers up to here are doubles, too.
const EXACT_MAX: u128 = 1 << 53;

/// Appends a value.
pub fn push(value: &Value, ty: Type, out: &mut String) {
    let is_wide = (ty.is_integer() || ty.is_decimal()) && !matches!(value, Value::Null) && {
        let text = cast::format_value(value, ty);
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        digits.len() > 15 && digits.parse::<u128>().map_or(true, |digits| digits > EXACT_MAX)
    };
    match is_wide {
        true => json::push_string(&cast::format_value(value, ty), out),
        false => json::push_value(value, ty, out),
    }
}

/// Appends the rows of a batch as arrays, with commas between them, and one before the first unless `first`.
pub fn write(batch: &Batch, columns: &Schema, first: bool, out: &mut impl Write) -> io::Result<()> {
    let mut text = String::new();
    for row in 0..batch.rows {
        text.clear();
        text.push_str(if first && row == 0 { "\n[" } else { ",\n[" });
        for (at, (column, field)) in batch.columns.iter().zip(columns.fields()).enumerate() {
            if at > 0 {
                text.push(',');
            }
            push(&column.value(row), field.ty, &mut text);
        }
        text.push(']');
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Names and types of columns.
pub fn columns(schema: &Schema) -> serde_json::Value {
    let column =
        |field: &types::Field| serde_json::json!({ "name": field.name, "type": field.ty.to_string() });
    schema.fields().iter().map(column).collect()
}

/// Values for the parameters of a statement, each of the type that its place asks for.
pub fn parameters(statement: &PreparedStatement, given: &[Box<RawValue>]) -> Result<Vec<Value>> {
    let wanted = statement.parameters();
    if wanted.len() != given.len() {
        let message =
            format!("the statement takes {} parameters, and {} are given", wanted.len(), given.len());
        return Err(Error::new(SqlState::ProtocolViolation, message));
    }
    let value = |(at, (raw, ty)): (usize, (&RawValue, &Type))| {
        json::to_value(raw.get(), *ty, false).map_err(|error| {
            let message = format!("parameter ${}: {}", at + 1, error.message());
            error.with_message(message)
        })
    };
    given.iter().map(|raw| &**raw).zip(wanted).enumerate().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: Value, ty: Type) -> String {
        let mut out = String::new();
        push(&value, ty, &mut out);
        out
    }

    #[test]
    fn numbers_that_a_double_does_not_hold_are_texts() {
        assert_eq!(shown(Value::I64(1 << 53), Type::BigInt), "9007199254740992");
        assert_eq!(shown(Value::I64((1 << 53) + 1), Type::BigInt), "\"9007199254740993\"");
        assert_eq!(shown(Value::I64(i64::MIN), Type::BigInt), "\"-9223372036854775808\"");
        let money = Type::Decimal { precision: 12, scale: 2 };
        assert_eq!(shown(Value::I64(-1250), money), "-12.50");
        assert_eq!(shown(Value::Null, Type::BigInt), "null");
        assert_eq!(shown(Value::F64(f64::NAN), Type::Double), "\"NaN\"");
        assert_eq!(shown(Value::text("a\"b"), Type::Text), "\"a\\\"b\"");
    }
}
