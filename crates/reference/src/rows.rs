//! Rows as bytes in the order of their keys, by the description of `plan::functions::ORDERED_ROW`, written anew.

use types::{Error, Result, Type, Value};

/// Directions, keys, value.
pub(crate) fn ordered_row(values: &[Value]) -> Result<Value> {
    let broken = || Error::internal("an ordered row without directions and a value");
    let [directions, keys @ .., value] = values else { return Err(broken()) };
    let directions = directions.as_text().ok_or_else(broken)?;
    let mut row: Vec<u8> = vec![];
    for (key, direction) in keys.iter().zip(directions.chars()) {
        let Some(bytes) = key_bytes(key) else {
            row.push(if direction.is_uppercase() { 0 } else { 2 });
            continue;
        };
        row.push(1);
        let down = direction.eq_ignore_ascii_case(&'d');
        row.extend(bytes.into_iter().map(|b| if down { 255 - b } else { b }));
    }
    let length = row.len() as u32;
    row.push(u8::from(!value.is_null()));
    row.extend(plain_bytes(value));
    row.extend(length.to_le_bytes());
    Ok(Value::Bytes(row.into()))
}

fn key_bytes(key: &Value) -> Option<Vec<u8>> {
    Some(match key {
        Value::Null => return None,
        Value::Bool(b) => vec![u8::from(*b)],
        Value::I16(v) => (i32::from(*v) + 0x8000).to_be_bytes()[2..].to_vec(),
        Value::I32(v) => (i64::from(*v) + 0x8000_0000).to_be_bytes()[4..].to_vec(),
        Value::I64(v) => (i128::from(*v) + 0x8000_0000_0000_0000).to_be_bytes()[8..].to_vec(),
        Value::I128(v) => v.wrapping_add(i128::MIN).to_be_bytes().to_vec(),
        Value::F32(_) | Value::F64(_) => {
            let value = key.as_f64().unwrap_or(f64::NAN);
            let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
            let bits = value.to_bits();
            (if value.is_sign_negative() { !bits } else { bits + (1 << 63) }).to_be_bytes().to_vec()
        }
        Value::Bytes(bytes) => {
            let escaped = bytes.iter().flat_map(|b| if *b == 0 { vec![0, 255] } else { vec![*b] });
            escaped.chain([0, 0]).collect()
        }
    })
}

fn plain_bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::Null => vec![],
        Value::Bool(b) => vec![u8::from(*b)],
        Value::I16(v) => v.to_be_bytes().to_vec(),
        Value::I32(v) => v.to_be_bytes().to_vec(),
        Value::I64(v) => v.to_be_bytes().to_vec(),
        Value::I128(v) => v.to_be_bytes().to_vec(),
        Value::F32(v) => v.to_be_bytes().to_vec(),
        Value::F64(v) => v.to_be_bytes().to_vec(),
        Value::Bytes(bytes) => bytes.to_vec(),
    }
}

/// The bytes of the value behind a row's keys.
pub(crate) fn carried(row: &[u8]) -> &[u8] {
    let end = row.len().saturating_sub(4);
    let mut length = [0; 4];
    length.copy_from_slice(&row[end..]);
    &row[u32::from_le_bytes(length) as usize + 1..end]
}

/// The value behind a row's keys; nothing before it says that it is NULL.
pub(crate) fn row_value(row: &[u8], ty: Type) -> Value {
    let bytes = carried(row);
    let marked = row[row.len() - 5 - bytes.len()];
    let number = || bytes.iter().fold(0u128, |n, b| n << 8 | u128::from(*b));
    if marked == 0 {
        return Value::Null;
    }
    use types::Physical as P;
    match ty.physical() {
        P::Bool => Value::Bool(bytes == [1]),
        P::I16 => Value::I16(number() as i16),
        P::I32 => Value::I32(number() as i32),
        P::I64 => Value::I64(number() as i64),
        P::I128 => Value::I128(number() as i128),
        P::F32 => Value::F32(f32::from_bits(number() as u32)),
        P::F64 => Value::F64(f64::from_bits(number() as u64)),
        P::Bytes => Value::Bytes(bytes.into()),
    }
}

/// Two numbers, y and x, packed for aggregates of two arguments; `None` when one is NULL.
pub(crate) fn pair(values: &[Value]) -> Option<Value> {
    let [y, x] = values else { return None };
    let bytes: Vec<u8> = y.as_f64()?.to_le_bytes().into_iter().chain(x.as_f64()?.to_le_bytes()).collect();
    Some(Value::Bytes(bytes.into()))
}

/// The numbers y and x that `pair` has packed.
pub(crate) fn pair_of(bytes: &[u8]) -> Option<(f64, f64)> {
    let (y, x) = (bytes.first_chunk::<8>()?, bytes.last_chunk::<8>()?);
    Some((f64::from_le_bytes(*y), f64::from_le_bytes(*x)))
}
