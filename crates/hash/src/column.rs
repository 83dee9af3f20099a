//! The parts of a column put end to end by several workers.
//!
//! ```text
//!  part 0 | part 1 | ...    the values of each copied to its place, any part by any worker, each once
//!  strings: views copied with their buffer numbers moved behind the buffers of the parts before
//! ```
//! A build side's columns are read at random by the probe, so they lie in memory that asks for huge pages; and copying
//! them is work that can be shared and interrupted between parts. NULL bits are joined at the end: they are few bytes,
//! and parts do not begin at whole words.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, ScalarBuffer};
use types::{Physical, Type};
use vector::strings::{INLINE_BYTES, view_length};
use vector::{Data, Strings, Vector};

use crate::zeroed::UnwrittenWords;

/// A column being put together.
pub struct ColumnFilling {
    ty: Type,
    /// First row of each part, and the end of the last.
    bases: Vec<usize>,
    values: UnwrittenWords,
    /// Strings: number of the first buffer of each part.
    first_buffers: Vec<u32>,
    copied: Vec<AtomicBool>,
}

/// Bytes of a value that is copied as such; `None` for types that are packed or narrower than a word's half.
fn value_bytes(ty: Type) -> Option<usize> {
    match ty.physical() {
        Physical::I32 | Physical::F32 => Some(4),
        Physical::I64 | Physical::F64 => Some(8),
        Physical::I128 | Physical::Bytes => Some(16),
        Physical::Bool | Physical::I16 => None,
    }
}

impl ColumnFilling {
    /// For the parts in order, which are flat and of type `ty`. `None` when the type is not dealt with here.
    pub fn new<'a>(ty: Type, parts: impl Iterator<Item = &'a Vector>) -> Option<ColumnFilling> {
        let bytes = value_bytes(ty)?;
        let (mut bases, mut first_buffers) = (vec![0], Vec::new());
        let (mut rows, mut buffers) = (0, 0u32);
        for part in parts {
            if !part.is_flat() || part.ty().physical() != ty.physical() {
                return None;
            }
            rows += part.len();
            bases.push(rows);
            first_buffers.push(buffers);
            if let Data::Bytes(strings) = part.data() {
                buffers = buffers.checked_add(strings.buffers().len() as u32)?;
            }
        }
        let copied = first_buffers.iter().map(|_| AtomicBool::new(false)).collect();
        let values = UnwrittenWords::new(rows * bytes);
        Some(ColumnFilling { ty, bases, values, first_buffers, copied })
    }

    /// Copies the part with this number; it is the one given to `new`.
    pub fn copy(&self, part: usize, vector: &Vector) {
        let (first, end) = (self.bases[part], self.bases[part + 1]);
        assert_eq!(vector.len(), end - first, "another part");
        let Some(width) = value_bytes(self.ty).filter(|_| vector.ty().physical() == self.ty.physical())
        else {
            panic!("a part of another type");
        };
        assert!(!self.copied[part].swap(true, Relaxed), "a part is copied once");
        let at = first * width;
        match vector.data() {
            Data::I32(v) => self.write(at, v.inner()),
            Data::F32(v) => self.write(at, v.inner()),
            Data::I64(v) => self.write(at, v.inner()),
            Data::F64(v) => self.write(at, v.inner()),
            Data::I128(v) => self.write(at, v.inner()),
            Data::Bytes(v) => {
                let moved = self.first_buffers[part];
                if moved == 0 || v.buffers().is_empty() {
                    self.write(at, v.views().inner());
                } else {
                    let add = u128::from(moved) << 64;
                    let views = v.views().iter();
                    let views: Vec<u128> =
                        views.map(|w| if view_length(*w) > INLINE_BYTES { w + add } else { *w }).collect();
                    self.write(at, &Buffer::from_vec(views));
                }
            }
            Data::Bool(_) | Data::I16(_) | Data::Dictionary { .. } | Data::Constant(_) | Data::Coded(_) => {
                panic!("parts are flat vectors of wide types")
            }
        }
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        // SAFETY: a part's place is its own: places follow from the lengths of all parts, `copy` checked this part's
        // length and type, and `copied` lets every part in once.
        unsafe { self.values.write_bytes(at, bytes) };
    }

    /// The column. Every part has been copied; they are given once more, in order.
    pub fn finish<'a>(self, parts: impl Iterator<Item = &'a Vector> + Clone) -> Vector {
        assert!(self.copied.iter().all(|copied| copied.load(Relaxed)), "all parts are copied");
        let rows = self.bases.last().copied().unwrap_or(0);
        let validity = parts.clone().any(Vector::has_nulls).then(|| {
            let mut bits = BooleanBufferBuilder::new(rows);
            for part in parts.clone() {
                match part.validity() {
                    Some(validity) => bits.append_buffer(validity.inner()),
                    None => bits.append_n(part.len(), true),
                }
            }
            NullBuffer::new(bits.finish())
        });
        // SAFETY: each part has been copied, and their places cover all the bytes.
        let values = unsafe { self.values.freeze() }.into_buffer();
        macro_rules! scalars {
            () => {
                ScalarBuffer::new(values, 0, rows)
            };
        }
        let data = match self.ty.physical() {
            Physical::I32 => Data::I32(scalars!()),
            Physical::F32 => Data::F32(scalars!()),
            Physical::I64 => Data::I64(scalars!()),
            Physical::F64 => Data::F64(scalars!()),
            Physical::I128 => Data::I128(scalars!()),
            Physical::Bytes => {
                let mut buffers: Vec<Buffer> = Vec::new();
                for part in parts {
                    if let Data::Bytes(strings) = part.data() {
                        buffers.extend(strings.buffers().iter().cloned());
                    }
                }
                let buffers: Arc<[Buffer]> = buffers.into();
                Data::Bytes(Strings::from_trusted(scalars!(), buffers))
            }
            Physical::Bool | Physical::I16 => panic!("not a type that `new` accepts"),
        };
        Vector::new(self.ty, data, validity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Value;

    #[test]
    fn parts_come_out_end_to_end() {
        let wide = Type::Decimal { precision: 30, scale: 0 };
        for ty in [Type::Integer, Type::BigInt, Type::Double, Type::Real, wide, Type::Text] {
            for nulls in [false, true] {
                let mut all = Vec::new();
                let parts: Vec<Vector> = [3usize, 0, 1, 70, 129]
                    .iter()
                    .map(|rows| {
                        let values: Vec<Value> = (0..*rows)
                            .map(|row| {
                                let n = all.len() as i64 + row as i64;
                                match ty {
                                    _ if nulls && n % 5 == 0 => Value::Null,
                                    Type::Integer => Value::I32(n as i32),
                                    Type::BigInt => Value::I64(n),
                                    Type::Double => Value::F64(n as f64),
                                    Type::Real => Value::F32(n as f32),
                                    Type::Text if n % 3 == 0 => Value::text(&format!("{n}")),
                                    Type::Text => Value::text(&format!("a text too long for a view {n}")),
                                    _ => Value::I128(i128::from(n) << 80),
                                }
                            })
                            .collect();
                        all.extend(values.iter().cloned());
                        Vector::from_values(ty, &values)
                    })
                    .collect();
                let Some(filling) = ColumnFilling::new(ty, parts.iter()) else {
                    panic!("{ty} is dealt with")
                };
                std::thread::scope(|scope| {
                    for (at, part) in parts.iter().enumerate() {
                        let filling = &filling;
                        scope.spawn(move || filling.copy(at, part));
                    }
                });
                let column = filling.finish(parts.iter());
                assert_eq!((column.len(), column.ty()), (all.len(), ty));
                assert!((0..all.len()).all(|row| column.value(row) == all[row]));
            }
        }
        assert!(ColumnFilling::new(Type::Boolean, [].iter()).is_none());
        let Some(empty) = ColumnFilling::new(Type::Text, [].iter()) else { panic!("no parts are parts") };
        assert_eq!(empty.finish([].iter()).len(), 0);
    }
}
