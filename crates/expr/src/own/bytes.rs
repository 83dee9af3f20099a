//! PostgreSQL's functions of texts, over bytes: parts, places and ends. Binding calls them where an argument is
//! BYTEA.

use memchr::memmem;
use types::{Result, SqlState, Value};

use super::declare::*;
use super::{Arguments, refuse};

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    internal("bytes substring", &[optional(is(&[BYTES, BIG, BIG], Type::Bytea), 1)], |a| {
        let length = if a.len() > 2 { Some(a.integer(2)?) } else { None };
        let bytes = a.bytes(0)?;
        Ok(Value::Bytes(bytes[range(bytes.len(), a.integer(1)?, length)?].into()))
    }),
    internal("bytes overlay", &[optional(is(&[BYTES, BYTES, BIG, BIG], Type::Bytea), 1)], |a| {
        let (bytes, other, from) = (a.bytes(0)?, a.bytes(1)?, a.integer(2)?);
        if from < 1 {
            return Err(refuse(SqlState::InvalidParameterValue, "negative substring length not allowed"));
        }
        let replaced = if a.len() > 3 { a.integer(3)? } else { other.len() as i64 };
        let before = &bytes[range(bytes.len(), 1, Some(from - 1))?];
        let behind = &bytes[range(bytes.len(), from.saturating_add(replaced), None)?];
        Ok(Value::Bytes([before, other, behind].concat().into()))
    }),
    internal("bytes position", &[is(&[BYTES, BYTES], Type::Integer)], |a| {
        let found = memmem::find(a.bytes(0)?, a.bytes(1)?);
        Ok(Value::I32(found.map_or(0, |at| i32::try_from(at + 1).unwrap_or(i32::MAX))))
    }),
    internal("bytes btrim", &[is(&[BYTES, BYTES], Type::Bytea)], |a| trimmed(a, true, true)),
    internal("bytes ltrim", &[is(&[BYTES, BYTES], Type::Bytea)], |a| trimmed(a, true, false)),
    internal("bytes rtrim", &[is(&[BYTES, BYTES], Type::Bytea)], |a| trimmed(a, false, true)),
];

/// What a part from a place on, counted from 1, is of so many bytes.
fn range(count: usize, from: i64, length: Option<i64>) -> Result<std::ops::Range<usize>> {
    let count = count as i64;
    let end = match length {
        Some(length) if length < 0 => {
            return Err(refuse(SqlState::InvalidParameterValue, "negative substring length not allowed"));
        }
        Some(length) => from.saturating_add(length).clamp(1, count + 1),
        None => count + 1,
    };
    let begin = from.clamp(1, end);
    Ok(begin as usize - 1..end as usize - 1)
}

fn trimmed(a: &Arguments<'_>, left: bool, right: bool) -> Result<Value> {
    let (mut bytes, unwanted) = (a.bytes(0)?, a.bytes(1)?);
    while let (true, Some((first, rest))) = (left, bytes.split_first()) {
        if !unwanted.contains(first) {
            break;
        }
        bytes = rest;
    }
    while let (true, Some((last, rest))) = (right, bytes.split_last()) {
        if !unwanted.contains(last) {
            break;
        }
        bytes = rest;
    }
    Ok(Value::Bytes(bytes.into()))
}
