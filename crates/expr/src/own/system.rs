//! Functions about values as such.

use types::{Result, SqlState, Value, stop};
use vector::{Data, Vector};

use super::declare::*;
use super::{Arguments, refuse};
use crate::room::Room;

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
    in_batches(
        hashes,
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
    ),
    own(
        "pg_column_size",
        &[is(&[Takes::Any], Type::Integer)],
        page(
            "system",
            "pg_column_size(value)",
            "Bytes that the value takes as PostgreSQL would count them; texts of up to 126 bytes have one byte before them, longer ones four; decimals are counted as the integers that hold them.",
            "pg_column_size('abc')",
            "4",
        ),
        |a| Ok(Value::I32(i32::try_from(column_bytes(&a.values[0])).unwrap_or(i32::MAX))),
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

/// What a value takes in a row.
fn column_bytes(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::I16(_) => 2,
        Value::I32(_) | Value::F32(_) => 4,
        Value::I64(_) | Value::F64(_) => 8,
        Value::Bytes(bytes) => bytes.len() + if bytes.len() < 127 { 1 } else { 4 },
        _ => 16,
    }
}

fn error(a: &Arguments<'_>) -> Result<Value> {
    Err(refuse(SqlState::InvalidParameterValue, a.text(0)?))
}

/// Any number: hashes that users see are not those by which the engine spreads rows.
const SEED: u64 = 0x5175_6963_6b73_7465;

/// 63 bits of a hash, so that what is left of a division is never negative. Equal values of one type have equal
/// ones, NULL has one, too; another version may have others.
fn hash(a: &Arguments<'_>) -> Result<Value> {
    let mut bytes = Vec::new();
    for (value, ty) in a.values.iter().zip(a.types) {
        types::nested::encoding::push_slot(value, *ty, &mut bytes);
    }
    Ok(Value::I64((twox_hash::XxHash64::oneshot(SEED, &bytes) >> 1) as i64))
}

/// `hash` over a batch: the slots are written where the row's before were.
fn hashes(inputs: &[Vector], ty: Type, rows: usize, _: Room<'_>) -> Option<Result<Vector>> {
    let is_plain = |input: &Vector| input.is_flat() || matches!(input.data(), Data::Constant(_));
    if !inputs.iter().all(is_plain) {
        return None;
    }
    let (mut bytes, mut hashes) = (Vec::new(), Vec::with_capacity(rows));
    for row in 0..rows {
        bytes.clear();
        inputs.iter().for_each(|input| vector::nested::push_slot(input, row, &mut bytes));
        stop::spend(32 + bytes.len());
        hashes.push((twox_hash::XxHash64::oneshot(SEED, &bytes) >> 1) as i64);
    }
    Some(Ok(Vector::new(ty, Data::I64(hashes.into()), None)))
}
