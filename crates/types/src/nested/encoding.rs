//! The bytes of nested values.
//!
//! ```text
//! slot        | 01 payload | 02 |                      a value, or NULL, which is greater than every value
//! list, map   | slot ... | 00 |                        a map's slots are its keys and values in turn
//! struct      | slot of each field |
//! union       | place of the member, a byte | its slot |
//! text, bytes | 00 as 00 FF | 00 00 |
//! boolean, integers, decimals, dates, times: big endian, sign bit flipped; floats: order of `compare_f64`
//! ```
//! Two values of one type compare as their bytes do, element by element, the shorter list first; equal values have equal
//! bytes (-0 is 0, every NaN is one). The bytes of a nested column are the payload of its value.
//!
//! Bytes from outside are never trusted to be an encoding: values enter as Arrow arrays, text or JSON. Nevertheless
//! nothing here panics on wrong bytes: a value that ends early is NULL.

use crate::{Physical, Type, Value};

/// Ends the slots of a list or map; less than the marks of slots, so that a shorter list comes first.
pub const END: u8 = 0;
/// Begins a slot with a payload.
pub const VALUE: u8 = 1;
/// A whole slot: NULL, greater than every value.
pub const NULL: u8 = 2;

/// Appends the slot of a value or of NULL.
pub fn push_slot(value: &Value, ty: Type, out: &mut Vec<u8>) {
    if value.is_null() {
        out.push(NULL);
    } else {
        out.push(VALUE);
        push_payload(value, ty, out);
    }
}

/// Appends the slot of a payload, or of NULL for `None`.
pub fn push_raw(payload: Option<&[u8]>, out: &mut Vec<u8>) {
    match payload {
        Some(payload) => {
            out.push(VALUE);
            out.extend_from_slice(payload);
        }
        None => out.push(NULL),
    }
}

/// Appends a value's payload without the slot's mark; nothing for NULL.
pub fn push_payload(value: &Value, ty: Type, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Bool(v) => out.push(u8::from(*v)),
        Value::I16(v) => out.extend_from_slice(&sortable_i16(*v)),
        Value::I32(v) => out.extend_from_slice(&sortable_i32(*v)),
        Value::I64(v) => out.extend_from_slice(&sortable_i64(*v)),
        Value::I128(v) => out.extend_from_slice(&sortable_i128(*v)),
        Value::F32(v) => out.extend_from_slice(&sortable_f32(*v)),
        Value::F64(v) => out.extend_from_slice(&sortable_f64(*v)),
        Value::Bytes(bytes) if ty.is_nested() => out.extend_from_slice(bytes),
        Value::Bytes(bytes) => push_bytes(bytes, out),
    }
}

/// Big-endian with the sign bit flipped: the bytes are ordered as the integers are.
pub fn sortable_i16(v: i16) -> [u8; 2] {
    (v ^ i16::MIN).to_be_bytes()
}
/// As `sortable_i16`.
pub fn sortable_i32(v: i32) -> [u8; 4] {
    (v ^ i32::MIN).to_be_bytes()
}
/// As `sortable_i16`.
pub fn sortable_i64(v: i64) -> [u8; 8] {
    (v ^ i64::MIN).to_be_bytes()
}
/// As `sortable_i16`.
pub fn sortable_i128(v: i128) -> [u8; 16] {
    (v ^ i128::MIN).to_be_bytes()
}
/// Bytes in the order of `compare_f64`; -0 gives those of 0, and every NaN the same, the greatest.
pub fn sortable_f32(v: f32) -> [u8; 4] {
    let v = if v.is_nan() { f32::NAN.abs() } else { v + 0.0 };
    let bits = v.to_bits();
    let mask = if bits >> 31 == 1 { u32::MAX } else { 1 << 31 };
    (bits ^ mask).to_be_bytes()
}
/// As `sortable_f32`.
pub fn sortable_f64(v: f64) -> [u8; 8] {
    // -0 + 0 is 0, so that equal floats have equal bytes.
    let v = if v.is_nan() { f64::NAN.abs() } else { v + 0.0 };
    let bits = v.to_bits();
    let mask = if bits >> 63 == 1 { u64::MAX } else { 1 << 63 };
    (bits ^ mask).to_be_bytes()
}

/// Appends the payload of text or bytes: escaped, and ended by two zeros.
pub fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(at) = memchr::memchr(0, rest) {
        out.extend_from_slice(&rest[..=at]);
        out.push(0xFF);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[0, 0]);
}

/// Where a text that begins at `at` ends, its end mark included, and whether it holds escapes.
fn end_of_bytes(bytes: &[u8], at: usize) -> Option<(usize, bool)> {
    let mut next = at;
    let mut escaped = false;
    loop {
        let zero = next + memchr::memchr(0, bytes.get(next..)?)?;
        match bytes.get(zero + 1)? {
            0 => return Some((zero + 2, escaped)),
            _ => escaped = true,
        }
        next = zero + 2;
    }
}

/// Calls `use_bytes` with the text or bytes of a payload; only a payload with escapes is copied.
pub fn with_text<R>(payload: &[u8], use_bytes: impl FnOnce(&[u8]) -> R) -> R {
    let body = payload.strip_suffix(&[0, 0]).unwrap_or(payload);
    if memchr::memchr(0, body).is_none() {
        return use_bytes(body);
    }
    let mut plain = Vec::with_capacity(body.len());
    let mut at = 0;
    while at < body.len() {
        plain.push(body[at]);
        at += if body[at] == 0 { 2 } else { 1 };
    }
    use_bytes(&plain)
}

/// The place behind the payload that begins at `at`; `None` when the bytes are no encoding of `ty`.
pub fn skip(ty: Type, bytes: &[u8], at: usize) -> Option<usize> {
    match ty {
        Type::Null => Some(at),
        Type::List(_) => {
            let element = ty.element()?;
            let mut at = at;
            loop {
                match bytes.get(at)? {
                    &END => return Some(at + 1),
                    _ => at = skip_slot(element, bytes, at)?,
                }
            }
        }
        Type::Map(_) => {
            let (key, value) = ty.entry()?;
            let mut at = at;
            loop {
                match bytes.get(at)? {
                    &END => return Some(at + 1),
                    _ => at = skip_slot(value, bytes, skip_slot(key, bytes, at)?)?,
                }
            }
        }
        Type::Struct(_) => {
            let mut at = at;
            for (_, field) in ty.fields()? {
                at = skip_slot(*field, bytes, at)?;
            }
            Some(at)
        }
        Type::Union(_) => {
            let (_, member) = ty.members()?.get(usize::from(*bytes.get(at)?))?;
            skip_slot(*member, bytes, at + 1)
        }
        plain => {
            let end = match plain.physical() {
                Physical::Bytes => return end_of_bytes(bytes, at).map(|(end, _)| end),
                Physical::I128 => at + 16,
                other => at + other.width(),
            };
            (end <= bytes.len()).then_some(end)
        }
    }
}

fn skip_slot(ty: Type, bytes: &[u8], at: usize) -> Option<usize> {
    match *bytes.get(at)? {
        VALUE => skip(ty, bytes, at + 1),
        NULL => Some(at + 1),
        _ => None,
    }
}

/// Iterates over the slots of a list or map: the payload, or `None` for NULL. Ends early on wrong bytes.
pub struct Slots<'a> {
    bytes: &'a [u8],
    at: usize,
    types: [Type; 2],
    turn: usize,
    /// Known width of the payloads, so that they need not be walked.
    width: Option<usize>,
}

/// The elements of a list of type `ty`.
pub fn elements<'a>(ty: Type, bytes: &'a [u8]) -> Slots<'a> {
    let element = ty.element().unwrap_or(Type::Null);
    Slots::new(bytes, [element, element])
}

/// The keys and values of a map of type `ty`, in turn.
pub fn entries<'a>(ty: Type, bytes: &'a [u8]) -> Slots<'a> {
    let (key, value) = ty.entry().unwrap_or((Type::Null, Type::Null));
    Slots::new(bytes, [key, value])
}

fn fixed_width(ty: Type) -> Option<usize> {
    match ty {
        Type::Null => Some(0),
        _ if ty.physical() == Physical::Bytes => None,
        _ => Some(ty.physical().width()),
    }
}

impl<'a> Slots<'a> {
    fn new(bytes: &'a [u8], types: [Type; 2]) -> Self {
        let width = if types[0] == types[1] { fixed_width(types[0]) } else { None };
        Slots { bytes, at: 0, types, turn: 0, width }
    }
}

impl<'a> Iterator for Slots<'a> {
    type Item = Option<&'a [u8]>;
    fn next(&mut self) -> Option<Self::Item> {
        let ty = self.types[self.turn];
        let begin = self.at + 1;
        match *self.bytes.get(self.at)? {
            VALUE => {
                let end = match self.width {
                    Some(width) => begin + width,
                    None => skip(ty, self.bytes, begin)?,
                };
                let payload = self.bytes.get(begin..end)?;
                self.at = end;
                self.turn ^= 1;
                Some(Some(payload))
            }
            NULL => {
                self.at = begin;
                self.turn ^= 1;
                Some(None)
            }
            _ => None,
        }
    }
}

/// The payload of the struct's field at place `number`; `None` for NULL and for a field that does not exist.
pub fn field(ty: Type, bytes: &[u8], number: usize) -> Option<&[u8]> {
    let mut at = 0;
    for (place, (_, field)) in ty.fields()?.iter().enumerate() {
        if place == number {
            return match bytes.get(at)? {
                &VALUE => bytes.get(at + 1..skip(*field, bytes, at + 1)?),
                _ => None,
            };
        }
        at = skip_slot(*field, bytes, at)?;
    }
    None
}

/// The payloads of all fields of a struct, `None` for NULL. Always one per field of `ty`.
pub fn fields(ty: Type, bytes: &[u8]) -> Vec<Option<&[u8]>> {
    let types = ty.fields().unwrap_or_default();
    let mut out = Vec::with_capacity(types.len());
    let mut at = 0;
    for (_, field) in types {
        let end = skip_slot(*field, bytes, at);
        out.push(match (bytes.get(at), end) {
            (Some(&VALUE), Some(end)) => bytes.get(at + 1..end),
            _ => None,
        });
        at = end.unwrap_or(bytes.len());
    }
    out
}

/// The value of a payload; NULL when the bytes are no payload of `ty`.
pub fn value_of(payload: &[u8], ty: Type) -> Value {
    fn number<const N: usize>(payload: &[u8]) -> Option<[u8; N]> {
        payload.try_into().ok()
    }
    let read = || {
        Some(match ty.physical() {
            _ if ty == Type::Null => Value::Null,
            _ if ty.is_nested() => Value::Bytes(payload.into()),
            Physical::Bool => Value::Bool(*payload.first()? != 0),
            Physical::I16 => Value::I16(i16::from_be_bytes(number(payload)?) ^ i16::MIN),
            Physical::I32 => Value::I32(i32::from_be_bytes(number(payload)?) ^ i32::MIN),
            Physical::I64 => Value::I64(i64::from_be_bytes(number(payload)?) ^ i64::MIN),
            Physical::I128 => Value::I128(i128::from_be_bytes(number(payload)?) ^ i128::MIN),
            Physical::F32 => Value::F32(float_32(number(payload)?)),
            Physical::F64 => Value::F64(float_64(number(payload)?)),
            Physical::Bytes => with_text(payload, |text| Value::Bytes(text.into())),
        })
    };
    read().unwrap_or(Value::Null)
}

/// The float of the bytes that `sortable_f32` makes.
pub fn float_32(bytes: [u8; 4]) -> f32 {
    let bits = u32::from_be_bytes(bytes);
    f32::from_bits(if bits >> 31 == 1 { bits ^ 1 << 31 } else { !bits })
}

/// The float of the bytes that `sortable_f64` makes.
pub fn float_64(bytes: [u8; 8]) -> f64 {
    let bits = u64::from_be_bytes(bytes);
    f64::from_bits(if bits >> 63 == 1 { bits ^ 1 << 63 } else { !bits })
}

/// The value of a slot; `None` is NULL.
pub fn slot_value(payload: Option<&[u8]>, ty: Type) -> Value {
    payload.map_or(Value::Null, |payload| value_of(payload, ty))
}

/// The LIST of these values, which must have the type `element` or be NULL.
pub fn list_of<'v>(values: impl IntoIterator<Item = &'v Value>, element: Type) -> Value {
    let mut out = Vec::new();
    values.into_iter().for_each(|value| push_slot(value, element, &mut out));
    out.push(END);
    Value::Bytes(out.into())
}

/// The STRUCT of these values, one per field of `ty`; `None` when their number is another.
pub fn struct_of(values: &[Value], ty: Type) -> Option<Value> {
    let fields = ty.fields().filter(|f| f.len() == values.len())?;
    let mut out = Vec::new();
    fields.iter().zip(values).for_each(|((_, ty), value)| push_slot(value, *ty, &mut out));
    Some(Value::Bytes(out.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_order_as_values_do() {
        let list = Type::list(Type::Double).unwrap();
        let numbers = [f64::NEG_INFINITY, -1.5, -1e-300, 0.0, 2.0, 1e300, f64::INFINITY, f64::NAN];
        let mut values = vec![list_of([], Type::Double)];
        for n in numbers {
            values.push(list_of([&Value::F64(n)], Type::Double));
            values.push(list_of([&Value::F64(n), &Value::F64(-1.0)], Type::Double));
            values.push(list_of([&Value::F64(n), &Value::Null], Type::Double));
        }
        values.push(list_of([&Value::Null], Type::Double));
        assert!(values.windows(2).all(|pair| pair[0] < pair[1]));
        let zero = |v: f64| list_of([&Value::F64(v)], Type::Double);
        assert_eq!(zero(0.0), zero(-0.0));
        let bytes = values[1].as_bytes().unwrap();
        let back: Vec<Value> = elements(list, bytes).map(|s| slot_value(s, Type::Double)).collect();
        assert_eq!(back, [Value::F64(f64::NEG_INFINITY)]);
    }

    #[test]
    fn texts_with_zeros_keep_their_order() {
        let texts = ["", "\0", "\0\0", "\0a", "a", "a\0", "a\0b", "ab", "b"];
        let values: Vec<Value> =
            texts.iter().map(|t| list_of([&Value::text(t), &Value::text("z")], Type::Text)).collect();
        assert!(values.windows(2).all(|pair| pair[0] < pair[1]));
        let list = Type::list(Type::Text).unwrap();
        for (text, value) in texts.iter().zip(&values) {
            let bytes = value.as_bytes().unwrap();
            let back: Vec<Value> = elements(list, bytes).map(|s| slot_value(s, Type::Text)).collect();
            assert_eq!(back, [Value::text(text), Value::text("z")]);
            assert_eq!(skip(list, bytes, 0), Some(bytes.len()));
        }
    }

    #[test]
    fn wrong_bytes_end_early() {
        let inner = Type::list(Type::Text).unwrap();
        let ty = Type::structure(vec![("a".into(), inner), ("b".into(), Type::BigInt)]).unwrap();
        let good = struct_of(&[list_of([&Value::text("x"), &Value::Null], Type::Text), Value::I64(7)], ty);
        let good = good.unwrap().as_bytes().unwrap().to_vec();
        for cut in 0..good.len() {
            for byte in [0, 1, 2, 255] {
                let mut bytes = good[..cut].to_vec();
                bytes.push(byte);
                for slot in fields(ty, &bytes).into_iter().flatten() {
                    let _ = elements(inner, slot).count();
                }
                let _ = (
                    field(ty, &bytes, 1),
                    skip(ty, &bytes, 0),
                    super::super::format(&bytes, ty, crate::cast::INNER),
                );
            }
        }
    }
}
