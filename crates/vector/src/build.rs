//! Building a flat vector value by value: for literals, text files and tests. Hot paths fill `Vec`s instead.

use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder};
use types::{Physical, Type, Value};

use crate::{Data, StringBuilder, Vector};

enum Values {
    Bool(BooleanBufferBuilder),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    I128(Vec<i128>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bytes(StringBuilder),
}

/// Collects the values of one column.
pub struct VectorBuilder {
    ty: Type,
    values: Values,
    validity: NullBufferBuilder,
}

impl VectorBuilder {
    /// An empty builder for values of `ty`, with room for `capacity` rows.
    pub fn new(ty: Type, capacity: usize) -> Self {
        let values = match ty.physical() {
            Physical::Bool => Values::Bool(BooleanBufferBuilder::new(capacity)),
            Physical::I16 => Values::I16(Vec::with_capacity(capacity)),
            Physical::I32 => Values::I32(Vec::with_capacity(capacity)),
            Physical::I64 => Values::I64(Vec::with_capacity(capacity)),
            Physical::I128 => Values::I128(Vec::with_capacity(capacity)),
            Physical::F32 => Values::F32(Vec::with_capacity(capacity)),
            Physical::F64 => Values::F64(Vec::with_capacity(capacity)),
            Physical::Bytes => Values::Bytes(StringBuilder::with_capacity(capacity)),
        };
        VectorBuilder { ty, values, validity: NullBufferBuilder::new(capacity) }
    }
    /// Rows appended so far, NULLs included.
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Bool(b) => b.len(),
            Values::I16(v) => v.len(),
            Values::I32(v) => v.len(),
            Values::I64(v) => v.len(),
            Values::I128(v) => v.len(),
            Values::F32(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::Bytes(s) => s.len(),
        }
    }
    /// Whether no row was appended yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Appends a value in the physical form of the builder's type; a value of another form panics.
    pub fn push(&mut self, value: &Value) {
        if value.is_null() {
            self.push_null();
            return;
        }
        match (&mut self.values, value) {
            (Values::Bool(b), Value::Bool(v)) => b.append(*v),
            (Values::I16(b), Value::I16(v)) => b.push(*v),
            (Values::I32(b), Value::I32(v)) => b.push(*v),
            (Values::I64(b), Value::I64(v)) => b.push(*v),
            (Values::I128(b), Value::I128(v)) => b.push(*v),
            (Values::F32(b), Value::F32(v)) => b.push(*v),
            (Values::F64(b), Value::F64(v)) => b.push(*v),
            (Values::Bytes(b), Value::Bytes(v)) => b.push(v),
            (_, other) => panic!("value {other:?} does not have the form of {}", self.ty),
        }
        self.validity.append_non_null();
    }
    /// Appends the bytes of a text, BYTEA or nested value; panics if the type has another physical form.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        match &mut self.values {
            Values::Bytes(b) => b.push(bytes),
            _ => panic!("bytes pushed to a vector of {}", self.ty),
        }
        self.validity.append_non_null();
    }
    /// Appends a NULL row.
    pub fn push_null(&mut self) {
        match &mut self.values {
            Values::Bool(b) => b.append(false),
            Values::I16(b) => b.push(0),
            Values::I32(b) => b.push(0),
            Values::I64(b) => b.push(0),
            Values::I128(b) => b.push(0),
            Values::F32(b) => b.push(0.0),
            Values::F64(b) => b.push(0.0),
            Values::Bytes(b) => b.push(b""),
        }
        self.validity.append_null();
    }
    /// Appends the value `times` times, as `push` does.
    pub fn push_repeated(&mut self, value: &Value, times: usize) {
        for _ in 0..times {
            self.push(value);
        }
    }
    /// The flat vector of all rows; it has a validity only if a NULL was appended.
    pub fn finish(mut self) -> Vector {
        let data = match self.values {
            Values::Bool(mut b) => Data::Bool(b.finish()),
            Values::I16(v) => Data::I16(v.into()),
            Values::I32(v) => Data::I32(v.into()),
            Values::I64(v) => Data::I64(v.into()),
            Values::I128(v) => Data::I128(v.into()),
            Values::F32(v) => Data::F32(v.into()),
            Values::F64(v) => Data::F64(v.into()),
            Values::Bytes(s) => Data::Bytes(s.finish()),
        };
        Vector::new(self.ty, data, self.validity.finish())
    }
}
