//! Functions about values as such.

use types::{Result, SqlState, Value};

use super::{Arguments, Evaluate, refuse};

pub(super) fn named(name: &str) -> Option<Evaluate> {
    Some(match name {
        "error" => error,
        "num_nulls" => |a| Ok(Value::I32(a.values.iter().filter(|v| v.is_null()).count() as i32)),
        "num_nonnulls" => |a| Ok(Value::I32(a.values.iter().filter(|v| !v.is_null()).count() as i32)),
        _ => return None,
    })
}

fn error(a: &Arguments<'_>) -> Result<Value> {
    Err(refuse(SqlState::InvalidParameterValue, a.text(0)?))
}
