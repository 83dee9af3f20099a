//! Taking rows of a vector by index.

use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};

use crate::{Data, Strings, Vector};

/// The index that stands for "no row": its result is NULL (`gather_nullable`).
pub const NO_ROW: u32 = u32::MAX;

fn gather_flat<T: Copy>(values: &[T], indices: &[u32]) -> Vec<T> {
    simd::take(values, indices, |value| value)
}

/// As `gather_flat`; an index out of range, such as `NO_ROW`, gives the default.
fn gather_flat_or<T: Copy + Default>(values: &[T], indices: &[u32]) -> Vec<T> {
    indices.iter().map(|i| values.get(*i as usize).copied().unwrap_or_default()).collect()
}

impl Vector {
    /// The rows at `indices`, in that order; each must be in range. Dictionaries and constants stay such, codes are
    /// decoded.
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

    /// As `gather`, but the index `NO_ROW` gives NULL, as the inner side of an outer join needs. The result is flat
    /// if that index occurs.
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
}
