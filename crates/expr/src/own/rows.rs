//! Rows as bytes whose order is that of their keys: what makes an ordered aggregate of a plain one.
//!
//! ```text
//!  key 1: presence byte, value   key 2: ...   value: 0, or 1 and its bytes   length of the keys (4 bytes)
//! ```
//! The presence byte puts NULLs first or last; numbers are big-endian with their sign bit turned, floats ordered as
//! PostgreSQL orders them, texts end in two zero bytes and have every zero byte followed by 255. A descending key has
//! all its bytes inverted. So `arg_max(v, k)` is the value in the least row of `k DESC`, whatever merges the rows,
//! and of equal keys the least value wins.

use types::{Error, Physical, Result, Type, Value};
use vector::{Data, Vector};

use super::Arguments;

/// Directions are a letter a key: `a` ascending, `d` descending; in capitals where NULLs come first.
pub(super) fn ordered_row(a: &Arguments<'_>) -> Result<Value> {
    let directions = a.text(0)?.as_bytes();
    let [_, keys @ .., value] = a.values else { return Err(a.mismatch(0)) };
    if directions.len() != keys.len() {
        return Err(a.mismatch(0));
    }
    let mut row = Vec::with_capacity(32);
    for (key, direction) in keys.iter().zip(directions) {
        push_key(
            &mut row,
            Cell::of(key),
            direction.eq_ignore_ascii_case(&b'd'),
            direction.is_ascii_uppercase(),
        );
    }
    let length = u32::try_from(row.len()).map_err(|_| Error::internal("a key of 4 GB"))?;
    push_value(&mut row, Cell::of(value));
    row.extend_from_slice(&length.to_le_bytes());
    Ok(Value::Bytes(row.into()))
}

/// One value of a row, its bytes borrowed.
#[derive(Clone, Copy)]
enum Cell<'a> {
    Null,
    Bool(bool),
    I16(i16),
    I32(i32),
    I64(i64),
    I128(i128),
    F32(f32),
    F64(f64),
    Bytes(&'a [u8]),
}

impl<'a> Cell<'a> {
    fn of(value: &'a Value) -> Self {
        match value {
            Value::Null => Cell::Null,
            Value::Bool(v) => Cell::Bool(*v),
            Value::I16(v) => Cell::I16(*v),
            Value::I32(v) => Cell::I32(*v),
            Value::I64(v) => Cell::I64(*v),
            Value::I128(v) => Cell::I128(*v),
            Value::F32(v) => Cell::F32(*v),
            Value::F64(v) => Cell::F64(*v),
            Value::Bytes(v) => Cell::Bytes(v),
        }
    }
    /// Views a vector that is flat or constant.
    #[inline]
    fn at(vector: &'a Vector, row: usize) -> Result<Self> {
        if vector.is_null(row) {
            return Ok(Cell::Null);
        }
        Ok(match vector.data() {
            Data::Bool(v) => Cell::Bool(v.value(row)),
            Data::I16(v) => Cell::I16(v[row]),
            Data::I32(v) => Cell::I32(v[row]),
            Data::I64(v) => Cell::I64(v[row]),
            Data::I128(v) => Cell::I128(v[row]),
            Data::F32(v) => Cell::F32(v[row]),
            Data::F64(v) => Cell::F64(v[row]),
            Data::Bytes(v) => Cell::Bytes(v.get(row)),
            Data::Constant(value) => Cell::of(value),
            Data::Dictionary { .. } | Data::Coded(_) => {
                return Err(Error::internal("a key that is neither flat nor constant"));
            }
        })
    }
}

/// Appends one row of `keys` and `value`, each flat or constant.
pub(super) fn push_row(
    out: &mut Vec<u8>,
    directions: &[u8],
    keys: &[Vector],
    value: &Vector,
    row: usize,
) -> Result<()> {
    for (key, direction) in keys.iter().zip(directions) {
        let (descending, nulls_first) =
            (direction.eq_ignore_ascii_case(&b'd'), direction.is_ascii_uppercase());
        push_key(out, Cell::at(key, row)?, descending, nulls_first);
    }
    let length = u32::try_from(out.len()).map_err(|_| Error::internal("a key of 4 GB"))?;
    push_value(out, Cell::at(value, row)?);
    out.extend_from_slice(&length.to_le_bytes());
    Ok(())
}

fn push_key(row: &mut Vec<u8>, key: Cell<'_>, descending: bool, nulls_first: bool) {
    if matches!(key, Cell::Null) {
        row.push(if nulls_first { 0 } else { 2 });
        return;
    }
    row.push(1);
    let start = row.len();
    match key {
        Cell::Null => {}
        Cell::Bool(v) => row.push(u8::from(v)),
        Cell::I16(v) => row.extend_from_slice(&(v as u16 ^ 1 << 15).to_be_bytes()),
        Cell::I32(v) => row.extend_from_slice(&(v as u32 ^ 1 << 31).to_be_bytes()),
        Cell::I64(v) => row.extend_from_slice(&(v as u64 ^ 1 << 63).to_be_bytes()),
        Cell::I128(v) => row.extend_from_slice(&(v as u128 ^ 1 << 127).to_be_bytes()),
        Cell::F32(v) => row.extend_from_slice(&ordered_float(f64::from(v)).to_be_bytes()),
        Cell::F64(v) => row.extend_from_slice(&ordered_float(v).to_be_bytes()),
        Cell::Bytes(bytes) => {
            let mut rest = bytes;
            while let Some(zero) = memchr::memchr(0, rest) {
                row.extend_from_slice(&rest[..=zero]);
                row.push(255);
                rest = &rest[zero + 1..];
            }
            row.extend_from_slice(rest);
            row.extend_from_slice(&[0, 0]);
        }
    }
    if descending {
        row[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// NaN is greater than everything, and both zeros are one.
fn ordered_float(value: f64) -> u64 {
    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn push_value(row: &mut Vec<u8>, value: Cell<'_>) {
    row.push(u8::from(!matches!(value, Cell::Null)));
    match value {
        Cell::Null => {}
        Cell::Bool(v) => row.push(u8::from(v)),
        Cell::I16(v) => row.extend_from_slice(&v.to_be_bytes()),
        Cell::I32(v) => row.extend_from_slice(&v.to_be_bytes()),
        Cell::I64(v) => row.extend_from_slice(&v.to_be_bytes()),
        Cell::I128(v) => row.extend_from_slice(&v.to_be_bytes()),
        Cell::F32(v) => row.extend_from_slice(&v.to_be_bytes()),
        Cell::F64(v) => row.extend_from_slice(&v.to_be_bytes()),
        Cell::Bytes(bytes) => row.extend_from_slice(bytes),
    }
}

/// The bytes of the value behind a row's keys, none for NULL; `None` where the row has another form.
pub(super) fn carried(row: &[u8]) -> Option<Option<&[u8]>> {
    let (rest, length) = row.split_last_chunk::<4>()?;
    let value = rest.get(u32::from_le_bytes(*length) as usize..)?;
    Some(match value.split_first() {
        Some((1, bytes)) => Some(bytes),
        _ => None,
    })
}

/// The value behind a row's keys.
pub(super) fn row_value(a: &Arguments<'_>) -> Result<Value> {
    let broken = || Error::internal("a row of another form");
    let Some(bytes) = carried(a.bytes(0)?).ok_or_else(broken)? else { return Ok(Value::Null) };
    fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
        bytes.try_into().map_err(|_| Error::internal("a row of another form"))
    }
    Ok(match a.ty.physical() {
        _ if a.ty == Type::Null => Value::Null,
        Physical::Bool => Value::Bool(bytes.first() == Some(&1)),
        Physical::I16 => Value::I16(i16::from_be_bytes(fixed(bytes)?)),
        Physical::I32 => Value::I32(i32::from_be_bytes(fixed(bytes)?)),
        Physical::I64 => Value::I64(i64::from_be_bytes(fixed(bytes)?)),
        Physical::I128 => Value::I128(i128::from_be_bytes(fixed(bytes)?)),
        Physical::F32 => Value::F32(f32::from_be_bytes(fixed(bytes)?)),
        Physical::F64 => Value::F64(f64::from_be_bytes(fixed(bytes)?)),
        Physical::Bytes => Value::Bytes(bytes.into()),
    })
}

/// Two floats, for aggregates of pairs.
pub(super) fn pair(a: &Arguments<'_>) -> Result<Value> {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&a.float(0)?.to_le_bytes());
    bytes[8..].copy_from_slice(&a.float(1)?.to_le_bytes());
    Ok(Value::Bytes(bytes.as_slice().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(directions: &str, keys: &[Value], value: Value) -> Value {
        let mut values = vec![Value::text(directions)];
        values.extend_from_slice(keys);
        values.push(value);
        let types = vec![Type::Text; values.len()];
        ordered_row(&Arguments { values: &values, types: &types, ty: Type::Bytea }).unwrap()
    }

    #[test]
    fn bytes_are_in_the_order_of_keys() {
        let sorted: [Vec<Value>; 4] = [
            [-5i64, -1, 0, 7, i64::MAX].map(Value::I64).to_vec(),
            [f64::NEG_INFINITY, -1.5, 0.0, 2.0, f64::INFINITY, f64::NAN].map(Value::F64).to_vec(),
            ["", "\0", "\0a", "a", "a\0", "ab", "b"].map(Value::text).to_vec(),
            vec![Value::I128(i128::MIN), Value::I128(-1), Value::I128(3)],
        ];
        for values in sorted {
            for pair in values.windows(2) {
                let up = |v: &Value| row("a", std::slice::from_ref(v), Value::Null);
                let down = |v: &Value| row("d", std::slice::from_ref(v), Value::Null);
                assert!(up(&pair[0]) < up(&pair[1]), "{pair:?}");
                assert!(down(&pair[0]) > down(&pair[1]), "{pair:?}");
                assert!(up(&Value::Null) > up(&pair[1]));
                assert!(row("D", &[Value::Null], Value::Null) < down(&pair[1]));
            }
        }
    }

    #[test]
    fn the_value_comes_back() {
        for (value, ty) in [
            (Value::I32(-7), Type::Integer),
            (Value::text("a\0b"), Type::Text),
            (Value::Null, Type::Text),
            (Value::F64(-0.0), Type::Double),
            (Value::I128(1 << 100), Type::Uuid),
        ] {
            let packed = row("ad", &[Value::text("key"), Value::I64(1)], value.clone());
            let back = row_value(&Arguments { values: &[packed], types: &[Type::Bytea], ty }).unwrap();
            assert_eq!(back, value);
        }
    }
}
