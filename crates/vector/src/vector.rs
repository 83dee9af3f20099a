//! One column of a batch: a logical type, a length, values (`Data`) and a validity.
//!
//! The form of the data is chosen per vector and may differ from batch to batch, so an operator either handles every
//! form or calls `flatten` first. Buffers are immutable and shared by reference count. The values in NULL rows are
//! arbitrary but valid for their form: codes are in range and views lie in their buffers. A NULL constant has no
//! validity, which is why `is_null` and `has_nulls` are to be asked and not `validity` alone.

use std::sync::Arc;

use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use types::{Physical, Type, Value};

use crate::{Coded, Strings, VectorBuilder};

/// Present when some row may be NULL; a set bit means the row has a value.
pub type Validity = Option<NullBuffer>;

/// The values, in the physical form of the vector's type.
#[derive(Clone, Debug)]
pub enum Data {
    /// One bit a row.
    Bool(BooleanBuffer),
    /// SMALLINT and narrower integers.
    I16(ScalarBuffer<i16>),
    /// INTEGER, dates, and months.
    I32(ScalarBuffer<i32>),
    /// BIGINT, times, and decimals of at most 18 digits.
    I64(ScalarBuffer<i64>),
    /// Wider integers and decimals.
    I128(ScalarBuffer<i128>),
    /// REAL.
    F32(ScalarBuffer<f32>),
    /// DOUBLE PRECISION.
    F64(ScalarBuffer<f64>),
    /// Texts, BYTEA and nested values.
    Bytes(Strings),
    /// `codes[row]` is a row of `values`, which is flat and of the same type. NULL rows are invalid in this vector's
    /// validity (their code is any in-range one); `values` itself holds no NULL. Two vectors whose `values` are the
    /// same allocation share one dictionary.
    Dictionary {
        /// By row, the row of its value; any where the row is NULL.
        codes: ScalarBuffer<u32>,
        /// The values, which are flat.
        values: Arc<Vector>,
    },
    /// One value for every row; `Value::Null` for a vector of NULLs.
    Constant(Value),
    /// A block's codes, for a consumer that asked for them.
    Coded(Coded),
}

/// A column of values of one type, with shared buffers: a clone or slice copies no values.
#[derive(Clone, Debug)]
pub struct Vector {
    ty: Type,
    len: usize,
    data: Data,
    validity: Validity,
}

impl Vector {
    /// A vector of these values. The lengths of data and validity must agree, and the data must have the physical
    /// form of `ty`.
    pub fn new(ty: Type, data: Data, validity: Validity) -> Self {
        let len = match &data {
            Data::Bool(b) => b.len(),
            Data::I16(v) => v.len(),
            Data::I32(v) => v.len(),
            Data::I64(v) => v.len(),
            Data::I128(v) => v.len(),
            Data::F32(v) => v.len(),
            Data::F64(v) => v.len(),
            Data::Bytes(s) => s.len(),
            Data::Dictionary { codes, .. } => codes.len(),
            Data::Constant(_) => validity.as_ref().map_or(0, NullBuffer::len),
            Data::Coded(coded) => coded.len(),
        };
        debug_assert!(validity.as_ref().is_none_or(|v| v.len() == len));
        Vector { ty, len, data, validity }
    }
    /// `len` rows of one value, or of NULL.
    pub fn constant(ty: Type, value: Value, len: usize) -> Self {
        Vector { ty, len, data: Data::Constant(value), validity: None }
    }
    /// A dictionary vector of the type of `values`; see `Data::Dictionary` for what codes and values must satisfy.
    pub fn dictionary(codes: ScalarBuffer<u32>, values: Arc<Vector>, validity: Validity) -> Self {
        Vector { ty: values.ty, len: codes.len(), data: Data::Dictionary { codes, values }, validity }
    }
    /// A flat vector without NULL of a type that is held in 64 bits.
    pub fn from_i64(ty: Type, values: Vec<i64>) -> Self {
        debug_assert_eq!(ty.physical(), Physical::I64);
        Vector::new(ty, Data::I64(values.into()), None)
    }
    /// A flat BOOLEAN vector.
    pub fn from_bool(values: BooleanBuffer, validity: Validity) -> Self {
        Vector::new(Type::Boolean, Data::Bool(values), validity)
    }
    /// A flat vector of these values, which must be NULL or have the physical form of `ty`.
    pub fn from_values(ty: Type, values: &[Value]) -> Self {
        let mut builder = VectorBuilder::new(ty, values.len());
        for value in values {
            builder.push(value);
        }
        builder.finish()
    }
    /// The logical type of the values.
    pub fn ty(&self) -> Type {
        self.ty
    }
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The values as they are held; those of NULL rows mean nothing.
    pub fn data(&self) -> &Data {
        &self.data
    }
    /// NULLs of a constant NULL vector do not show here: ask `is_null` or flatten first.
    pub fn validity(&self) -> Option<&NullBuffer> {
        self.validity.as_ref()
    }
    /// Whether some row is NULL.
    pub fn has_nulls(&self) -> bool {
        matches!(self.data, Data::Constant(Value::Null))
            || self.validity.as_ref().is_some_and(|v| v.null_count() > 0)
    }
    /// Whether the row is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        matches!(self.data, Data::Constant(Value::Null))
            || self.validity.as_ref().is_some_and(|v| v.is_null(row))
    }
    /// The same values under another logical type of the same physical form (DECIMAL precision, CHAR and TEXT).
    #[must_use]
    pub fn with_type(mut self, ty: Type) -> Self {
        debug_assert!(
            ty.physical() == self.ty.physical() || matches!(self.data, Data::Constant(Value::Null))
        );
        if let Data::Dictionary { codes, values } = self.data {
            let values = if values.ty == ty { values } else { Arc::new((*values).clone().with_type(ty)) };
            self.data = Data::Dictionary { codes, values };
        }
        self.ty = ty;
        self
    }
    /// The same values with another validity, which must have a bit per row.
    #[must_use]
    pub fn with_validity(mut self, validity: Validity) -> Self {
        debug_assert!(validity.as_ref().is_none_or(|v| v.len() == self.len));
        self.validity = validity;
        self
    }
    /// The value of a row, decoded: for results and tests, not for hot paths. Panics when `row` is out of range.
    pub fn value(&self, row: usize) -> Value {
        assert!(row < self.len, "row out of range");
        if self.is_null(row) {
            return Value::Null;
        }
        match &self.data {
            Data::Bool(b) => Value::Bool(b.value(row)),
            Data::I16(v) => Value::I16(v[row]),
            Data::I32(v) => Value::I32(v[row]),
            Data::I64(v) => Value::I64(v[row]),
            Data::I128(v) => Value::I128(v[row]),
            Data::F32(v) => Value::F32(v[row]),
            Data::F64(v) => Value::F64(v[row]),
            Data::Bytes(s) => Value::Bytes(s.get(row).into()),
            Data::Dictionary { codes, values } => values.value(codes[row] as usize),
            Data::Constant(v) => v.clone(),
            Data::Coded(_) => self.gather(&[row as u32]).value(0),
        }
    }
    /// `len` rows from `offset` on; buffers are shared.
    pub fn slice(&self, offset: usize, len: usize) -> Vector {
        let data = match &self.data {
            Data::Bool(b) => Data::Bool(b.slice(offset, len)),
            Data::I16(v) => Data::I16(v.slice(offset, len)),
            Data::I32(v) => Data::I32(v.slice(offset, len)),
            Data::I64(v) => Data::I64(v.slice(offset, len)),
            Data::I128(v) => Data::I128(v.slice(offset, len)),
            Data::F32(v) => Data::F32(v.slice(offset, len)),
            Data::F64(v) => Data::F64(v.slice(offset, len)),
            Data::Bytes(s) => Data::Bytes(s.slice(offset, len)),
            Data::Dictionary { codes, values } => {
                Data::Dictionary { codes: codes.slice(offset, len), values: values.clone() }
            }
            Data::Constant(v) => Data::Constant(v.clone()),
            Data::Coded(coded) => Data::Coded(coded.slice(offset, len)),
        };
        Vector { ty: self.ty, len, data, validity: self.validity.as_ref().map(|v| v.slice(offset, len)) }
    }
    /// Whether the vector holds one value per row: no dictionary, constant or codes.
    pub fn is_flat(&self) -> bool {
        !matches!(self.data, Data::Dictionary { .. } | Data::Constant(_) | Data::Coded(_))
    }
    /// The vector with one value per row: dictionaries and codes decoded, constants repeated. A flat vector is
    /// shared.
    #[must_use]
    pub fn flatten(&self) -> Vector {
        match &self.data {
            Data::Dictionary { codes, values } => values.gather(codes).with_validity(self.validity.clone()),
            Data::Constant(value) => {
                let mut builder = VectorBuilder::new(self.ty, self.len);
                builder.push_repeated(value, self.len);
                let flat = builder.finish();
                if self.validity.is_some() && !value.is_null() {
                    return flat.with_validity(self.validity.clone());
                }
                flat
            }
            Data::Coded(_) => self.decoded().flatten(),
            _ => self.clone(),
        }
    }
    /// The vector without a block's codes: flat, a dictionary or a constant.
    #[must_use]
    pub fn decoded(&self) -> Vector {
        match &self.data {
            Data::Coded(coded) => Vector::new(self.ty, coded.decode(self.ty), self.validity.clone()),
            _ => self.clone(),
        }
    }
    /// Whether the vector holds a block's codes, which `decoded` resolves.
    pub fn is_coded(&self) -> bool {
        matches!(self.data, Data::Coded(_))
    }
    pub(crate) fn into_data(self) -> Data {
        self.data
    }
    /// The memory of the numbers, the dictionary's codes or the strings' views, whichever the vector holds; `None`
    /// for other forms. The bytes of strings are not part of it and may be shared.
    pub fn fixed_bytes(&self) -> Option<&[u8]> {
        match &self.data {
            Data::I16(values) => Some(values.inner().as_slice()),
            Data::I32(values) => Some(values.inner().as_slice()),
            Data::I64(values) => Some(values.inner().as_slice()),
            Data::I128(values) => Some(values.inner().as_slice()),
            Data::F32(values) => Some(values.inner().as_slice()),
            Data::F64(values) => Some(values.inner().as_slice()),
            Data::Bytes(strings) => Some(strings.views().inner().as_slice()),
            Data::Dictionary { codes, .. } => Some(codes.inner().as_slice()),
            _ => None,
        }
    }
    /// Bytes held, for memory accounting. A dictionary counts its codes alone, since its values are shared.
    pub fn bytes(&self) -> usize {
        let data = match &self.data {
            Data::Bytes(s) => s.bytes(),
            Data::Dictionary { codes, .. } => codes.len() * 4,
            Data::Constant(_) => 16,
            Data::Coded(coded) => coded.bytes(),
            _ => self.len * self.ty.physical().width(),
        };
        data + self.validity.as_ref().map_or(0, |_| self.len / 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_with_null_rows_keeps_them_when_flat() {
        let valid = NullBuffer::from(vec![true, false, true]);
        let constant = Vector::constant(Type::Integer, Value::I32(7), 3).with_validity(Some(valid));
        let flat = constant.flatten();
        assert!(flat.is_flat());
        for row in 0..3 {
            assert_eq!(flat.value(row), constant.value(row));
        }
        let nulls = Vector::constant(Type::Integer, Value::Null, 2).flatten();
        assert!(nulls.is_null(0) && nulls.is_null(1));
    }
}
