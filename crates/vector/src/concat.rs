//! Joining vectors end to end.
//!
//! Operators that collect batches (sorts, builds of joins, results) join their columns here. The parts have one type.
//! Parts under one dictionary keep it; parts under several dictionaries of strings get a merged one while it stays
//! small; all others become flat. Strings keep their buffers: only views are copied, and re-based onto the joined
//! list of buffers.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer};
use types::{Physical, Value};

use crate::strings::{INLINE_BYTES, view_length};
use crate::{Data, Strings, Validity, Vector};

/// Dictionaries are merged only while the result has at most so many values,
const MERGED_VALUES_MAX: usize = 1 << 16;
/// and each value stands for this many rows: hashing the values must cost less than the codes save.
const ROWS_PER_VALUE_MIN: usize = 4;

impl Vector {
    /// Joins vectors of one type into one flat vector. Parts that are all dictionaries give a dictionary if they
    /// share it or have few values between them; a single part is given back as it is.
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
        if let Some(merged) = concat_dictionaries(parts, rows) {
            return merged;
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

/// Puts strings under several dictionaries, as a scan of several blocks gives them, under one that has each value
/// once, so that later operators compare and group by codes. `None` when a part is no dictionary of strings, or when
/// there are too many values.
fn concat_dictionaries(parts: &[&Vector], rows: usize) -> Option<Vector> {
    let merged = MergedDictionary::of(parts)?;
    let mut codes: Vec<u32> = Vec::with_capacity(rows);
    for part in parts {
        merged.append_codes(part, &mut codes);
    }
    Some(Vector::dictionary(codes.into(), merged.values, concat_validity(parts, rows)))
}

/// One dictionary for the values of several dictionaries of strings, and the way from their codes to its codes.
pub struct MergedDictionary {
    /// Each value once.
    pub values: Arc<Vector>,
    /// Where the codes of each dictionary begin in `moved`, by its address, which is compared and never followed.
    begins: HashMap<usize, usize>,
    /// The new code of each value of each dictionary.
    moved: Vec<u32>,
}

impl MergedDictionary {
    /// Merges the dictionaries of the parts. `None` when a part is no dictionary of strings, or when the values are
    /// too many to be worth it: more than 65,536, or more than a quarter of the rows.
    pub fn of(parts: &[&Vector]) -> Option<MergedDictionary> {
        let rows: usize = parts.iter().map(|p| p.len()).sum();
        let mut dictionaries: Vec<&Vector> = Vec::new();
        let mut begins: HashMap<usize, usize> = HashMap::new();
        let mut values_before = 0;
        for part in parts {
            let Data::Dictionary { values, .. } = part.data() else { return None };
            if values.ty().physical() != Physical::Bytes {
                return None;
            }
            if let std::collections::hash_map::Entry::Vacant(begin) = begins.entry(Arc::as_ptr(values).addr())
            {
                begin.insert(values_before);
                dictionaries.push(values);
                values_before += values.len();
                if values_before * ROWS_PER_VALUE_MIN > rows {
                    return None;
                }
            }
        }
        let all = Vector::concat(&dictionaries);
        let Data::Bytes(strings) = all.data() else { return None };
        // The first place of each value in `all`, and the new code of the value at each place.
        let (mut firsts, mut moved) = (Vec::new(), Vec::with_capacity(all.len()));
        let mut codes_of: HashMap<&[u8], u32> = HashMap::with_capacity(all.len());
        for (row, text) in strings.iter().enumerate() {
            let code = *codes_of.entry(text).or_insert_with(|| {
                firsts.push(row as u32);
                firsts.len() as u32 - 1
            });
            moved.push(code);
            if firsts.len() > MERGED_VALUES_MAX {
                return None;
            }
        }
        Some(MergedDictionary { values: Arc::new(all.gather(&firsts)), begins, moved })
    }

    /// Appends the merged codes of a part, one per row; its dictionary must be among those given to `of`.
    pub fn append_codes(&self, part: &Vector, out: &mut Vec<u32>) {
        if let Data::Dictionary { codes, values } = part.data() {
            let moved = &self.moved[self.begins[&Arc::as_ptr(values).addr()]..];
            out.extend(codes.iter().map(|code| moved[*code as usize]));
        }
    }
}

/// The validities of the parts end to end; `None` when no part has a NULL.
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

#[cfg(test)]
mod tests {
    use super::*;
    use types::Type;

    fn dictionary(texts: &[&str], codes: &[u32], nulls: &[usize]) -> Vector {
        let values: Vec<Value> = texts.iter().map(|t| Value::text(t)).collect();
        let valid: Vec<bool> = (0..codes.len()).map(|row| !nulls.contains(&row)).collect();
        let validity = (!nulls.is_empty()).then(|| NullBuffer::from(valid));
        Vector::dictionary(
            codes.to_vec().into(),
            Arc::new(Vector::from_values(Type::Text, &values)),
            validity,
        )
    }

    fn values_of(vector: &Vector) -> Vec<Value> {
        (0..vector.len()).map(|row| vector.value(row)).collect()
    }

    #[test]
    fn few_values_of_several_dictionaries_become_one() {
        let long = "longer than what a view holds inline";
        let first = dictionary(&["a", long], &[0, 1, 1, 0, 1, 0, 0, 0], &[2]);
        let second = dictionary(&[long, "b"], &[1, 0, 0, 0, 0, 1, 1, 1], &[]);
        let parts = [&first, &second, &first];
        let joined = Vector::concat(&parts);
        let Data::Dictionary { values, .. } = joined.data() else { panic!("no dictionary") };
        assert_eq!(values.len(), 3);
        let expected: Vec<Value> = parts.iter().flat_map(|part| values_of(part)).collect();
        assert_eq!(values_of(&joined), expected);
    }

    #[test]
    fn many_values_and_mixed_parts_become_flat() {
        let first = dictionary(&["a", "b"], &[0, 1], &[]);
        let second = dictionary(&["c", "b"], &[1, 0], &[0]);
        let flat = Vector::from_values(Type::Text, &[Value::text("z"), Value::Null]);
        for parts in [vec![&first, &second], vec![&first, &first, &first, &first, &flat]] {
            let joined = Vector::concat(&parts);
            assert!(joined.is_flat());
            let expected: Vec<Value> = parts.iter().flat_map(|part| values_of(part)).collect();
            assert_eq!(values_of(&joined), expected);
        }
    }
}
