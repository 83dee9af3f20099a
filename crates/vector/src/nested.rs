//! Nested vectors taken apart into vectors of what is inside (`split_*`), and put together again (`join_*`).
//!
//! A nested value is one byte string (`types::nested::encoding`), so a nested vector has the physical form of
//! strings. Conversion to and from Arrow, UNNEST and functions over elements work on the flat vectors of what is
//! inside, with an offset per row, and write the byte strings once at the end. Wrong bytes give NULLs, never a panic.

use std::sync::Arc;

use arrow_buffer::NullBufferBuilder;
use types::nested::encoding::{self, elements, entries, fields};
use types::nested::union::member_of;
use types::{Physical, Type, Value};

use crate::strings::inline_view;
use crate::{Data, StringBuilder, Strings, Vector};

/// Collects payloads of nested values into one vector.
pub struct PayloadBuilder<'a> {
    ty: Type,
    payloads: Vec<Option<&'a [u8]>>,
}

impl<'a> PayloadBuilder<'a> {
    /// An empty builder of values of `ty`; the type of an untyped NULL gives NULLs alone.
    pub fn new(ty: Type) -> Self {
        PayloadBuilder { ty, payloads: Vec::new() }
    }
    /// Appends a row: a payload as `types::nested::encoding` defines it, or `None` for NULL.
    pub fn push(&mut self, payload: Option<&'a [u8]>) {
        self.payloads.push(payload);
    }
    /// Rows appended so far.
    pub fn len(&self) -> usize {
        self.payloads.len()
    }
    /// Whether no row was appended yet.
    pub fn is_empty(&self) -> bool {
        self.payloads.is_empty()
    }
    /// The flat vector of all rows, or a constant one of NULLs for the type of an untyped NULL.
    pub fn finish(self) -> Vector {
        let ty = self.ty;
        if ty == Type::Null {
            return Vector::constant(Type::Null, Value::Null, self.payloads.len());
        }
        let mut nulls = NullBufferBuilder::new(self.payloads.len());
        self.payloads.iter().for_each(|p| nulls.append(p.is_some()));
        let nulls = nulls.finish().filter(|n| n.null_count() > 0);
        macro_rules! numbers {
            ($variant:ident, $read:expr) => {{
                let read = $read;
                let value =
                    |p: &Option<&[u8]>| p.and_then(|p| p.try_into().ok()).map(read).unwrap_or_default();
                Data::$variant(self.payloads.iter().map(value).collect::<Vec<_>>().into())
            }};
        }
        let data = match ty.physical() {
            Physical::Bool => {
                let set = |p: &Option<&[u8]>| p.is_some_and(|p| p.first().is_some_and(|b| *b != 0));
                Data::Bool(self.payloads.iter().map(set).collect())
            }
            Physical::I16 => numbers!(I16, |b: [u8; 2]| i16::from_be_bytes(b) ^ i16::MIN),
            Physical::I32 => numbers!(I32, |b: [u8; 4]| i32::from_be_bytes(b) ^ i32::MIN),
            Physical::I64 => numbers!(I64, |b: [u8; 8]| i64::from_be_bytes(b) ^ i64::MIN),
            Physical::I128 => numbers!(I128, |b: [u8; 16]| i128::from_be_bytes(b) ^ i128::MIN),
            Physical::F32 => numbers!(F32, encoding::float_32),
            Physical::F64 => numbers!(F64, encoding::float_64),
            Physical::Bytes => {
                let mut builder = StringBuilder::with_capacity(self.payloads.len());
                for payload in &self.payloads {
                    match payload {
                        None => builder.push(b""),
                        Some(payload) if ty.is_nested() => builder.push(payload),
                        Some(payload) => encoding::with_text(payload, |text| builder.push(text)),
                    }
                }
                Data::Bytes(builder.finish())
            }
        };
        Vector::new(ty, data, nulls)
    }
}

/// The bytes of a flat vector's row; of NULL none.
fn bytes_of(vector: &Vector, row: usize) -> Option<&[u8]> {
    match vector.data() {
        Data::Bytes(strings) if !vector.is_null(row) => Some(strings.get(row)),
        _ => None,
    }
}

/// The elements of a flat vector of lists, end to end, behind their offsets: row r has those from `offsets[r]` to
/// `offsets[r + 1]`. NULL lists have none.
pub fn split_list(lists: &Vector) -> (Vec<u32>, Vector) {
    let ty = lists.ty();
    let mut offsets = Vec::with_capacity(lists.len() + 1);
    let mut builder = PayloadBuilder::new(ty.element().unwrap_or(Type::Null));
    offsets.push(0);
    for row in 0..lists.len() {
        if let Some(bytes) = bytes_of(lists, row) {
            elements(ty, bytes).for_each(|slot| builder.push(slot));
        }
        offsets.push(builder.len() as u32);
    }
    (offsets, builder.finish())
}

/// The keys and the values of a flat vector of maps, end to end, behind their offsets as in `split_list`.
pub fn split_map(maps: &Vector) -> (Vec<u32>, Vector, Vector) {
    let ty = maps.ty();
    let (key, value) = ty.entry().unwrap_or((Type::Null, Type::Null));
    let (mut keys, mut values) = (PayloadBuilder::new(key), PayloadBuilder::new(value));
    let mut offsets = Vec::with_capacity(maps.len() + 1);
    offsets.push(0);
    for row in 0..maps.len() {
        if let Some(bytes) = bytes_of(maps, row) {
            let mut slots = entries(ty, bytes);
            while let (Some(k), Some(v)) = (slots.next(), slots.next()) {
                keys.push(k);
                values.push(v);
            }
        }
        offsets.push(keys.len() as u32);
    }
    (offsets, keys.finish(), values.finish())
}

/// The fields of a flat vector of structs, a vector per field; a NULL struct gives NULL fields.
pub fn split_struct(structs: &Vector) -> Vec<Vector> {
    let ty = structs.ty();
    let types = ty.fields().unwrap_or_default();
    let mut builders: Vec<PayloadBuilder<'_>> = types.iter().map(|(_, t)| PayloadBuilder::new(*t)).collect();
    for row in 0..structs.len() {
        match bytes_of(structs, row) {
            Some(bytes) => {
                builders.iter_mut().zip(fields(ty, bytes)).for_each(|(b, slot)| b.push(slot));
            }
            None => builders.iter_mut().for_each(|b| b.push(None)),
        }
    }
    builders.into_iter().map(PayloadBuilder::finish).collect()
}

/// The number of each row's member, 0 for NULL, and a vector of each member, NULL in the rows of others.
pub fn split_union(unions: &Vector) -> (Vec<i8>, Vec<Vector>) {
    let ty = unions.ty();
    let members = ty.members().unwrap_or_default();
    let mut builders: Vec<PayloadBuilder<'_>> =
        members.iter().map(|(_, t)| PayloadBuilder::new(*t)).collect();
    let tags = (0..unions.len()).map(|row| {
        let found = bytes_of(unions, row).and_then(|bytes| member_of(ty, bytes));
        let (tag, slot) = found.map_or((0, None), |(tag, _, slot)| (tag, slot));
        for (at, builder) in builders.iter_mut().enumerate() {
            builder.push(if at == tag { slot } else { None });
        }
        tag as i8
    });
    let tags = tags.collect();
    (tags, builders.into_iter().map(PayloadBuilder::finish).collect())
}

/// Appends the slot of a row of a flat or constant vector.
pub fn push_slot(vector: &Vector, row: usize, out: &mut Vec<u8>) {
    if vector.is_null(row) {
        out.push(encoding::NULL);
        return;
    }
    out.push(encoding::VALUE);
    push_payload(vector, row, out);
}

/// Appends the payload of a row of a flat or constant vector; the row must not be NULL.
pub fn push_payload(vector: &Vector, row: usize, out: &mut Vec<u8>) {
    match vector.data() {
        Data::I16(v) => out.extend_from_slice(&encoding::sortable_i16(v[row])),
        Data::I32(v) => out.extend_from_slice(&encoding::sortable_i32(v[row])),
        Data::I64(v) => out.extend_from_slice(&encoding::sortable_i64(v[row])),
        Data::I128(v) => out.extend_from_slice(&encoding::sortable_i128(v[row])),
        Data::F32(v) => out.extend_from_slice(&encoding::sortable_f32(v[row])),
        Data::F64(v) => out.extend_from_slice(&encoding::sortable_f64(v[row])),
        Data::Bool(v) => out.push(u8::from(v.value(row))),
        Data::Bytes(strings) if vector.ty().is_nested() => out.extend_from_slice(strings.get(row)),
        Data::Bytes(strings) => encoding::push_bytes(strings.get(row), out),
        Data::Constant(value) => encoding::push_payload(value, vector.ty(), out),
        Data::Dictionary { .. } | Data::Coded(_) => {
            encoding::push_payload(&vector.value(row), vector.ty(), out);
        }
    }
}

/// The slots of all rows of a flat or constant vector, as one vector of bytes. Those of numbers of at most eight bytes
/// are made as views, without a buffer.
pub fn slots(vector: &Vector, ty: Type, rows: usize) -> Vector {
    let views = match vector.data() {
        Data::I16(v) => slot_views(vector, v, |v| encoding::sortable_i16(*v)),
        Data::I32(v) => slot_views(vector, v, |v| encoding::sortable_i32(*v)),
        Data::I64(v) => slot_views(vector, v, |v| encoding::sortable_i64(*v)),
        Data::F32(v) => slot_views(vector, v, |v| encoding::sortable_f32(*v)),
        Data::F64(v) => slot_views(vector, v, |v| encoding::sortable_f64(*v)),
        _ => {
            return join(ty, rows, |row, out| {
                push_slot(vector, row, out);
                true
            });
        }
    };
    Vector::new(ty, Data::Bytes(Strings::from_trusted(views.into(), Arc::from([]))), None)
}

fn slot_views<T, const N: usize>(
    vector: &Vector,
    values: &[T],
    payload: impl Fn(&T) -> [u8; N],
) -> Vec<u128> {
    let view = |value: &T| {
        let mut slot = [0u8; 9];
        slot[0] = encoding::VALUE;
        slot[1..1 + N].copy_from_slice(&payload(value));
        let mut view = [0u8; 16];
        view[..4].copy_from_slice(&(N as u32 + 1).to_le_bytes());
        view[4..13].copy_from_slice(&slot);
        u128::from_le_bytes(view)
    };
    let null = inline_view(&[encoding::NULL]);
    match vector.validity().filter(|nulls| nulls.null_count() > 0) {
        None => values.iter().map(view).collect(),
        Some(valid) => values
            .iter()
            .zip(valid.iter())
            .map(|(value, valid)| if valid { view(value) } else { null })
            .collect(),
    }
}

/// A vector of `rows` lists of type `ty`: row r has the elements at `ranges(r)`, and is NULL if that is `None`.
pub fn join_list(
    ty: Type,
    elements: &Vector,
    rows: usize,
    ranges: impl Fn(usize) -> Option<std::ops::Range<usize>>,
) -> Vector {
    join(ty, rows, |row, out| {
        let Some(range) = ranges(row) else { return false };
        range.for_each(|at| push_slot(elements, at, out));
        out.push(encoding::END);
        true
    })
}

/// As `join_list`, for maps; keys and values have the same ranges. Keys must be distinct and not NULL.
pub fn join_map(
    ty: Type,
    keys: &Vector,
    values: &Vector,
    rows: usize,
    ranges: impl Fn(usize) -> Option<std::ops::Range<usize>>,
) -> Vector {
    join(ty, rows, |row, out| {
        let Some(range) = ranges(row) else { return false };
        for at in range {
            push_slot(keys, at, out);
            push_slot(values, at, out);
        }
        out.push(encoding::END);
        true
    })
}

/// A vector of structs of type `ty` from a vector per field; a row is NULL if `is_null` says so.
pub fn join_struct(ty: Type, fields: &[Vector], rows: usize, is_null: impl Fn(usize) -> bool) -> Vector {
    join(ty, rows, |row, out| {
        if is_null(row) {
            return false;
        }
        fields.iter().for_each(|field| push_slot(field, row, out));
        true
    })
}

/// The values that stand for all that equal these: equal values in the result have equal bytes.
pub fn by_equality(vector: Vector) -> Vector {
    let equality = types::nested::equality::Equality::of(vector.ty());
    if equality.is_of_bytes() {
        return vector;
    }
    let mut builder = crate::VectorBuilder::new(vector.ty(), vector.len());
    (0..vector.len()).for_each(|row| builder.push(&equality.value(vector.value(row))));
    builder.finish()
}

/// A vector of type `ty` from byte strings: `write` appends the bytes of a row and returns `true`, or `false` for
/// NULL.
pub fn join(ty: Type, rows: usize, mut write: impl FnMut(usize, &mut Vec<u8>) -> bool) -> Vector {
    let mut builder = StringBuilder::with_capacity(rows);
    let mut nulls = NullBufferBuilder::new(rows);
    let mut scratch = Vec::new();
    for row in 0..rows {
        scratch.clear();
        let valid = write(row, &mut scratch);
        builder.push(if valid { &scratch } else { b"" });
        nulls.append(valid);
    }
    Vector::new(ty, Data::Bytes(builder.finish()), nulls.finish().filter(|n| n.null_count() > 0))
}
