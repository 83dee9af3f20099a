//! Taking rows by index, and joining vectors end to end.

use std::sync::Arc;

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, ScalarBuffer};
use types::{Physical, Value};

use crate::strings::{INLINE_BYTES, view_length};
use crate::{Data, Strings, Validity, Vector};

/// The index that stands for "no row": its result is NULL (`gather_nullable`).
pub const NO_ROW: u32 = u32::MAX;

fn gather_flat<T: Copy>(values: &[T], indices: &[u32]) -> Vec<T> {
    indices.iter().map(|i| values[*i as usize]).collect()
}

fn gather_flat_or<T: Copy + Default>(values: &[T], indices: &[u32]) -> Vec<T> {
    indices.iter().map(|i| values.get(*i as usize).copied().unwrap_or_default()).collect()
}

impl Vector {
    /// The rows at `indices`, in that order; each must be in range.
    #[must_use]
    pub fn gather(&self, indices: &[u32]) -> Vector {
        let validity = self.validity().filter(|v| v.null_count() > 0).map(|v| {
            NullBuffer::new(BooleanBuffer::collect_bool(indices.len(), |i| v.is_valid(indices[i] as usize)))
        });
        let data = match self.data() {
            Data::Bool(b) => {
                Data::Bool(BooleanBuffer::collect_bool(indices.len(), |i| b.value(indices[i] as usize)))
            }
            Data::I16(v) => Data::I16(gather_flat(v, indices).into()),
            Data::I32(v) => Data::I32(gather_flat(v, indices).into()),
            Data::I64(v) => Data::I64(gather_flat(v, indices).into()),
            Data::I128(v) => Data::I128(gather_flat(v, indices).into()),
            Data::F32(v) => Data::F32(gather_flat(v, indices).into()),
            Data::F64(v) => Data::F64(gather_flat(v, indices).into()),
            Data::Bytes(s) => Data::Bytes(s.gather(indices)),
            Data::Dictionary { codes, values } => {
                let codes: ScalarBuffer<u32> = gather_flat(codes, indices).into();
                return Vector::dictionary(codes, values.clone(), validity);
            }
            Data::Constant(v) => {
                return Vector::constant(self.ty(), v.clone(), indices.len()).with_validity(validity);
            }
            Data::Coded(coded) => coded.decode_rows(self.ty(), indices),
        };
        Vector::new(self.ty(), data, validity)
    }

    /// As `gather`, but `NO_ROW` gives NULL: the inner side of outer joins.
    #[must_use]
    pub fn gather_nullable(&self, indices: &[u32]) -> Vector {
        if !indices.contains(&NO_ROW) {
            return self.gather(indices);
        }
        let source = if self.is_flat() { None } else { Some(self.flatten()) };
        let source = source.as_ref().unwrap_or(self);
        let present = BooleanBuffer::collect_bool(indices.len(), |i| {
            indices[i] != NO_ROW && !source.is_null(indices[i] as usize)
        });
        let data = match source.data() {
            Data::Bool(b) => Data::Bool(BooleanBuffer::collect_bool(indices.len(), |i| {
                indices[i] != NO_ROW && b.value(indices[i] as usize)
            })),
            Data::I16(v) => Data::I16(gather_flat_or(v, indices).into()),
            Data::I32(v) => Data::I32(gather_flat_or(v, indices).into()),
            Data::I64(v) => Data::I64(gather_flat_or(v, indices).into()),
            Data::I128(v) => Data::I128(gather_flat_or(v, indices).into()),
            Data::F32(v) => Data::F32(gather_flat_or(v, indices).into()),
            Data::F64(v) => Data::F64(gather_flat_or(v, indices).into()),
            Data::Bytes(s) => {
                let views = gather_flat_or(s.views(), indices);
                Data::Bytes(Strings::from_trusted(views.into(), s.buffers().clone()))
            }
            Data::Dictionary { .. } | Data::Constant(_) | Data::Coded(_) => {
                unreachable!("flattened above")
            }
        };
        Vector::new(self.ty(), data, Some(NullBuffer::new(present)))
    }

    /// Vectors of one type end to end, as one flat vector (a dictionary stays one when all share it).
    #[must_use]
    pub fn concat(parts: &[&Vector]) -> Vector {
        let Some(first) = parts.first() else {
            return Vector::constant(types::Type::Null, Value::Null, 0);
        };
        if parts.len() == 1 {
            return (*first).clone();
        }
        let rows: usize = parts.iter().map(|p| p.len()).sum();
        if let Data::Dictionary { values, .. } = first.data() {
            let shared = parts.iter().all(
                |p| matches!(p.data(), Data::Dictionary { values: other, .. } if Arc::ptr_eq(values, other)),
            );
            if shared {
                let mut codes: Vec<u32> = Vec::with_capacity(rows);
                for part in parts {
                    if let Data::Dictionary { codes: c, .. } = part.data() {
                        codes.extend_from_slice(c);
                    }
                }
                return Vector::dictionary(codes.into(), values.clone(), concat_validity(parts, rows));
            }
        }
        let flat: Vec<Vector> = parts.iter().map(|p| p.flatten()).collect();
        let validity = concat_validity(&flat.iter().collect::<Vec<_>>(), rows);
        macro_rules! joined {
            ($variant:ident) => {{
                let mut out = Vec::with_capacity(rows);
                for part in &flat {
                    if let Data::$variant(v) = part.data() {
                        out.extend_from_slice(v);
                    }
                }
                Data::$variant(out.into())
            }};
        }
        let data = match first.ty().physical() {
            Physical::Bool => {
                let mut builder = BooleanBufferBuilder::new(rows);
                for part in &flat {
                    if let Data::Bool(b) = part.data() {
                        builder.append_buffer(b);
                    }
                }
                Data::Bool(builder.finish())
            }
            Physical::I16 => joined!(I16),
            Physical::I32 => joined!(I32),
            Physical::I64 => joined!(I64),
            Physical::I128 => joined!(I128),
            Physical::F32 => joined!(F32),
            Physical::F64 => joined!(F64),
            Physical::Bytes => Data::Bytes(concat_strings(&flat, rows)),
        };
        Vector::new(first.ty(), data, validity)
    }
}

fn concat_validity(parts: &[&Vector], rows: usize) -> Validity {
    if !parts.iter().any(|p| p.has_nulls()) {
        return None;
    }
    let mut builder = BooleanBufferBuilder::new(rows);
    for part in parts {
        match part.validity() {
            Some(v) => builder.append_buffer(v.inner()),
            None => builder.append_n(part.len(), true),
        }
    }
    Some(NullBuffer::new(builder.finish()))
}

/// Views are re-based onto the joined list of buffers; buffers the parts share are listed once.
fn concat_strings(parts: &[Vector], rows: usize) -> Strings {
    let mut views: Vec<u128> = Vec::with_capacity(rows);
    let mut buffers: Vec<Buffer> = Vec::new();
    let mut places: std::collections::HashMap<(usize, usize), u32> = std::collections::HashMap::new();
    for part in parts {
        let Data::Bytes(strings) = part.data() else { continue };
        let moved: Vec<u32> = strings
            .buffers()
            .iter()
            .map(|buffer| {
                *places.entry((buffer.as_ptr() as usize, buffer.len())).or_insert_with(|| {
                    buffers.push(buffer.clone());
                    buffers.len() as u32 - 1
                })
            })
            .collect();
        for view in strings.views().iter() {
            if view_length(*view) <= INLINE_BYTES {
                views.push(*view);
            } else {
                let old = (*view >> 64) as u32;
                let cleared = *view & !(u128::from(u32::MAX) << 64);
                views.push(cleared | u128::from(moved[old as usize]) << 64);
            }
        }
    }
    Strings::from_trusted(views.into(), buffers.into())
}
