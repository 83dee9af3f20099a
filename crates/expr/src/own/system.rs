//! Functions about values as such.

use md5::Digest;
use types::{Result, SqlState, Value};

use super::{Arguments, Evaluate, refuse};

/// The code of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Evaluate> {
    Some(match name {
        "error" => error,
        "hash" => hash,
        "num_nulls" => |a| Ok(Value::I32(a.values.iter().filter(|v| v.is_null()).count() as i32)),
        "num_nonnulls" => |a| Ok(Value::I32(a.values.iter().filter(|v| !v.is_null()).count() as i32)),
        _ => return None,
    })
}

fn error(a: &Arguments<'_>) -> Result<Value> {
    Err(refuse(SqlState::InvalidParameterValue, a.text(0)?))
}

/// 63 bits of a digest, so that what is left of a division is never negative. Equal values of one type have equal
/// ones, NULL has one, too; another version may have others.
fn hash(a: &Arguments<'_>) -> Result<Value> {
    let mut bytes = Vec::new();
    for (value, ty) in a.values.iter().zip(a.types) {
        types::nested::encoding::push_slot(value, *ty, &mut bytes);
    }
    let digest = md5::Md5::digest(&bytes);
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    Ok(Value::I64(i64::from_le_bytes(first) & i64::MAX))
}
