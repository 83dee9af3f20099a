//! Build columns packed into the table's entries, so that a probe that finds a key has its columns too.
//!
//! ```text
//!  entry    payload + 1, 0: free            where other tables keep row + 1
//!  payload  field n | .. | field 1          31 bits at most, so that `NO_ROW` is none
//!  field    value - min of its column; all ones: NULL
//! ```
//! Without it a probe takes one cache miss for the table and one more for each build column. Which tables have room:
//! see `JoinShape::choose`. Keys must be unique, because a chain needs row numbers.

use arrow_buffer::{BooleanBuffer, NullBuffer};
use types::{Physical, Type};
use vector::gather::NO_ROW;
use vector::{Data, Validity, Vector};

use crate::key_code::{KeyBounds, KeyCodes};

/// Bits of all fields together, at most.
const PAYLOAD_BITS_MAX: u32 = 31;

/// How some integer columns are packed into one payload.
#[derive(Clone, Debug)]
pub struct Payload {
    codes: KeyCodes,
    fields: Vec<Field>,
}

#[derive(Clone, Copy, Debug)]
struct Field {
    min: i64,
    shift: u32,
    /// The field's ones, not shifted; as a value: NULL.
    ones: u32,
    nulls: bool,
}

impl Payload {
    /// For columns of integer types within these bounds. `None` when they do not fit.
    pub fn new(bounds: &[KeyBounds]) -> Option<Payload> {
        let mut fields = Vec::with_capacity(bounds.len());
        let mut padded = Vec::with_capacity(bounds.len());
        let mut shift = 0;
        // Strides of codes are products of ranges from the last column on; ranges that are powers of two make them
        // shifts.
        for bounds in bounds.iter().rev() {
            let codes = bounds.range() + 1;
            let bits = u128::BITS - (codes - 1).leading_zeros();
            if shift + bits > PAYLOAD_BITS_MAX {
                return None;
            }
            let min = if bounds.range() == 0 { 0 } else { bounds.min };
            let max = i128::from(min) + (1i128 << bits) - 2;
            let max = i64::try_from(max).ok()?;
            padded.push(KeyBounds { min, max, ascending: false, sorted: false, has_null: true });
            fields.push(Field { min, shift, ones: (1u32 << bits) - 1, nulls: bounds.has_null });
            shift += bits;
        }
        fields.reverse();
        padded.reverse();
        Some(Payload { codes: KeyCodes::new(&padded, true)?, fields })
    }

    /// The table's entry for each row.
    pub fn entries(&self, columns: &[Vector], rows: usize) -> Vec<u32> {
        let mut codes = Vec::new();
        self.codes.encode(columns, rows, &mut codes);
        codes.iter().map(|code| *code as u32 + 1).collect()
    }

    /// A column's values in these payloads; where `NO_ROW` stands for a payload, NULL.
    pub fn column(&self, column: usize, ty: Type, payloads: &[u32], nullable: bool) -> Vector {
        let field = self.fields[column];
        let validity = field.validity(payloads, nullable);
        let min = field.min;
        let data = match ty.physical() {
            Physical::Bool => Data::Bool(BooleanBuffer::collect_bool(payloads.len(), |row| {
                i64::from(field.of(payloads[row])) + min != 0
            })),
            Physical::I16 => {
                let mut values = vec![0; payloads.len()];
                unpack_i16(payloads, field.shift, field.ones, min as i16, &mut values);
                Data::I16(values.into())
            }
            Physical::I32 => {
                let mut values = vec![0; payloads.len()];
                unpack_i32(payloads, field.shift, field.ones, min as i32, &mut values);
                Data::I32(values.into())
            }
            _ => {
                let mut values = vec![0; payloads.len()];
                unpack_i64(payloads, field.shift, field.ones, min, &mut values);
                Data::I64(values.into())
            }
        };
        Vector::new(ty, data, validity)
    }

    /// As `column`, of a column whose values are codes of a dictionary, from 0.
    pub fn dictionary_codes(&self, column: usize, payloads: &[u32], nullable: bool) -> (Vec<u32>, Validity) {
        let field = self.fields[column];
        let validity = field.validity(payloads, nullable);
        let mut codes = vec![0; payloads.len()];
        unpack_i32(payloads, field.shift, field.ones, 0, &mut codes);
        // NULL's code is none of the dictionary's.
        let codes = match &validity {
            None => codes.into_iter().map(|code| code as u32).collect(),
            Some(validity) => (codes.into_iter().zip(validity.iter()))
                .map(|(code, valid)| if valid { code as u32 } else { 0 })
                .collect(),
        };
        (codes, validity)
    }
}

impl Field {
    #[inline(always)]
    fn of(self, payload: u32) -> u32 {
        payload >> self.shift & self.ones
    }

    fn validity(self, payloads: &[u32], nullable: bool) -> Validity {
        if !self.nulls && !nullable {
            return None;
        }
        let valid = BooleanBuffer::collect_bool(payloads.len(), |row| {
            let payload = payloads[row];
            payload != NO_ROW && !(self.nulls && self.of(payload) == self.ones)
        });
        Some(NullBuffer::new(valid)).filter(|v| v.null_count() > 0)
    }
}

simd::dispatch! {
    fn unpack_i16(payloads: &[u32], shift: u32, ones: u32, min: i16, out: &mut [i16]) {
        for (payload, out) in payloads.iter().zip(out) {
            *out = ((payload >> shift & ones) as i16).wrapping_add(min);
        }
    }
}
simd::dispatch! {
    fn unpack_i32(payloads: &[u32], shift: u32, ones: u32, min: i32, out: &mut [i32]) {
        for (payload, out) in payloads.iter().zip(out) {
            *out = ((payload >> shift & ones) as i32).wrapping_add(min);
        }
    }
}
simd::dispatch! {
    fn unpack_i64(payloads: &[u32], shift: u32, ones: u32, min: i64, out: &mut [i64]) {
        for (payload, out) in payloads.iter().zip(out) {
            *out = i64::from(payload >> shift & ones).wrapping_add(min);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Value;

    fn bounds(vectors: &[Vector]) -> Vec<KeyBounds> {
        vectors.iter().map(|v| KeyBounds::of(v, false)).collect()
    }

    #[test]
    fn columns_come_out_as_they_went_in() {
        let rows = 1000;
        let column = |ty: Type, value: &dyn Fn(i64) -> Value| {
            Vector::from_values(ty, &(0..rows).map(value).collect::<Vec<Value>>())
        };
        let columns = [
            column(Type::Integer, &|n| Value::I32((n * 7 % 1013) as i32 - 500)),
            column(Type::BigInt, &|n| if n % 3 == 0 { Value::Null } else { Value::I64(i64::MAX - n % 60) }),
            column(Type::Boolean, &|n| Value::Bool(n % 5 == 0)),
            column(Type::SmallInt, &|n| Value::I16(i16::MIN + (n % 31) as i16)),
            column(Type::Date, &|_| Value::Null),
        ];
        // The BIGINT's bounds end at the greatest number, past which no field may reach: NULL's code is that of a
        // value that is not there.
        assert!(Payload::new(&bounds(&columns)).is_none());
        let columns = [
            columns[0].clone(),
            column(Type::BigInt, &|n| if n % 3 == 0 { Value::Null } else { Value::I64(i64::MIN + n % 60) }),
            columns[2].clone(),
            columns[3].clone(),
            columns[4].clone(),
        ];
        let payload = Payload::new(&bounds(&columns)).unwrap();
        let entries = payload.entries(&columns, rows as usize);
        let mut payloads: Vec<u32> = entries.iter().map(|entry| entry - 1).collect();
        assert!(payloads.iter().all(|p| *p < NO_ROW));
        for (at, column) in columns.iter().enumerate() {
            let back = payload.column(at, column.ty(), &payloads, false);
            assert_eq!((back.ty(), back.len()), (column.ty(), column.len()));
            assert!((0..column.len()).all(|row| back.value(row) == column.value(row)), "column {at}");
        }
        payloads[17] = NO_ROW;
        for (at, column) in columns.iter().enumerate() {
            let back = payload.column(at, column.ty(), &payloads, true);
            assert!(back.is_null(17) && back.value(18) == column.value(18), "column {at}");
        }
    }

    #[test]
    fn thirty_one_bits_fit_and_no_more() {
        let of = |max: i64| KeyBounds { min: 0, max, ..KeyBounds::EMPTY };
        assert!(Payload::new(&[of((1 << 31) - 2)]).is_some());
        assert!(Payload::new(&[of((1 << 31) - 1)]).is_none());
        assert!(Payload::new(&[of((1 << 20) - 2), of((1 << 11) - 2)]).is_some());
        assert!(Payload::new(&[of((1 << 20) - 2), of((1 << 11) - 1)]).is_none());
        assert!(Payload::new(&[of(i64::MAX)]).is_none());
        assert!(Payload::new(&[KeyBounds { min: i64::MIN, max: i64::MAX, ..KeyBounds::EMPTY }]).is_none());
        // All NULL: one code.
        let payload = Payload::new(&[KeyBounds::EMPTY]).unwrap();
        let nulls = Vector::constant(Type::Integer, Value::Null, 3);
        assert_eq!(payload.entries(&[nulls], 3), [1, 1, 1]);
    }
}
