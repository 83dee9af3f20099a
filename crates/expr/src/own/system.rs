//! Functions about values as such.

use md5::Digest;
use types::{Result, SqlState, Value};

use super::declare::*;
use super::{Arguments, refuse};

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    own(
        "error",
        &[is(&[TEXT], Type::Text)],
        page(
            "conditional",
            "error(message)",
            "Raises an error with that message where it is evaluated.",
            "CASE WHEN 1 > 0 THEN 'fine' ELSE error('no') END",
            "fine",
        ),
        error,
    ),
    own(
        "hash",
        &[variadic(&[Takes::Any], Type::BigInt)],
        page(
            "system",
            "hash(value, ...)",
            "A whole number of 63 bits that equal values share, for samples and shares; it may differ between versions.",
            "hash('a', 1) = hash('a', 1)",
            "true",
        ),
        hash,
    ),
    own(
        "num_nulls",
        &[variadic(&[], Type::Integer)],
        page(
            "conditional",
            "num_nulls(value, ...)",
            "How many of the values are NULL.",
            "num_nulls(1, NULL, 'x')",
            "1",
        ),
        |a| Ok(Value::I32(a.values.iter().filter(|v| v.is_null()).count() as i32)),
    ),
    own(
        "num_nonnulls",
        &[variadic(&[], Type::Integer)],
        page(
            "conditional",
            "num_nonnulls(value, ...)",
            "How many of the values are not NULL.",
            "num_nonnulls(1, NULL, 'x')",
            "2",
        ),
        |a| Ok(Value::I32(a.values.iter().filter(|v| !v.is_null()).count() as i32)),
    ),
];

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
