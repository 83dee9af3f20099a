//! Columns of VARIANT, as JSON.
//!
//! A variant is a group of `metadata` (the names of keys), `value` (one value in bytes that say what they are) and, where
//! the writer knew the usual type, `typed_value`: a plain column, a list or a group whose elements and fields are again
//! pairs of `value` and `typed_value`. What stands in `typed_value` is taken first; an object may have some of its
//! fields there and the rest in `value`. Values that JSON has no form for become strings, as in `to_json`.

use std::ops::Range;

use ::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use ::parquet::basic::LogicalType;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use types::{Field, Type, Value, Zone, cast, json, zone};
use vector::{Data, StringBuilder, Vector, arrow};

use super::uuid;
use crate::decode;

/// Values in values, at most: deeper ones are taken for damage.
const DEPTH_MAX: usize = 100;
/// Bytes of a row's text, at most: names of a megabyte may be named a million times.
const TEXT_BYTES_MAX: usize = 256 << 20;

/// The columns of a file.
pub fn fields(metadata: &ArrowReaderMetadata) -> Vec<Field> {
    let mut fields = decode::fields(metadata.schema());
    for (at, field) in fields.iter_mut().enumerate() {
        if let Some(ty) = uuid::seen(metadata, at) {
            field.ty = arrow::type_from_arrow(&ty).unwrap_or(Type::Bytea);
        }
        if is_variant(metadata, at) {
            field.ty = Type::Json;
            // A variant that says null is NULL here.
            field.nullable = true;
        }
    }
    fields
}

/// Whether a column of the file is a variant.
pub fn is_variant(metadata: &ArrowReaderMetadata, column: usize) -> bool {
    let roots = metadata.parquet_schema().root_schema().get_fields();
    roots.get(column).is_some_and(|root| {
        matches!(root.get_basic_info().logical_type_ref(), Some(LogicalType::Variant(_))) && root.is_group()
    })
}

/// The rows of a variant column as JSON; `None` when its bytes are no variants. Instants are written in UTC, whichever
/// zone the thread is in: a text that two threads make must be the same.
pub fn column(array: &dyn Array) -> Option<Vector> {
    zone::within(Zone::Utc, || texts_of(array))
}

fn texts_of(array: &dyn Array) -> Option<Vector> {
    let group = array.as_struct_opt()?;
    let names = group.column_by_name("metadata")?;
    let parts = Parts::of(array)?;
    let mut texts = StringBuilder::with_capacity(group.len());
    let mut valid = Vec::with_capacity(group.len());
    let mut out = String::new();
    for row in 0..group.len() {
        out.clear();
        let mut some = false;
        if group.is_valid(row) {
            let names = Names::of(bytes_at(names, row)?)?;
            some = parts.push(&names, row, 0, &mut out)? && out != "null";
        }
        texts.push(if some { out.as_bytes() } else { b"" });
        valid.push(some);
    }
    let nulls = valid.contains(&false).then(|| valid.into_iter().collect());
    Some(Vector::new(Type::Json, Data::Bytes(texts.finish()), nulls))
}

fn bytes_at(array: &ArrayRef, row: usize) -> Option<&[u8]> {
    if array.is_null(row) {
        return None;
    }
    match array.data_type() {
        DataType::Binary => Some(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Some(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => Some(array.as_binary_view().value(row)),
        _ => None,
    }
}

/// `value` and `typed_value` of a group.
struct Parts {
    value: Option<ArrayRef>,
    typed: Option<(ArrayRef, Typed)>,
}

enum Typed {
    Object(Vec<(String, Parts)>),
    List(Box<Parts>),
    Plain(Vector),
}

impl Parts {
    fn of(array: &dyn Array) -> Option<Parts> {
        let group = array.as_struct_opt()?;
        let typed = match group.column_by_name("typed_value") {
            None => None,
            Some(array) => Some((array.clone(), typed(array)?)),
        };
        Some(Parts { value: group.column_by_name("value").cloned(), typed })
    }

    /// Appends the value of a row; false when there is none.
    fn push(&self, names: &Names<'_>, row: usize, depth: usize, out: &mut String) -> Option<bool> {
        if depth > DEPTH_MAX {
            return None;
        }
        let value = self.value.as_ref().and_then(|array| bytes_at(array, row));
        let typed = self.typed.as_ref().filter(|(array, _)| array.is_valid(row));
        match (typed, value) {
            (None, None) => return Some(false),
            (None, Some(value)) => names.push_whole(value, depth, out)?,
            (Some((_, Typed::Plain(vector))), _) => json::push_value(&vector.value(row), vector.ty(), out),
            (Some((array, Typed::List(elements))), _) => {
                out.push('[');
                for (number, at) in range_of(array, row)?.enumerate() {
                    if number > 0 {
                        out.push(',');
                    }
                    if !elements.push(names, at, depth + 1, out)? {
                        out.push_str("null");
                    }
                }
                out.push(']');
            }
            (Some((_, Typed::Object(fields))), value) => {
                let mut entries: Vec<(String, String)> = Vec::new();
                for (name, parts) in fields {
                    let mut text = String::new();
                    if parts.push(names, row, depth + 1, &mut text)? {
                        entries.push((name.clone(), text));
                    }
                }
                // The object's other fields. A value of another kind in addition to `typed_value` contradicts it.
                if let Some(value) = value.filter(|value| value.first().is_some_and(|b| b & 3 == OBJECT)) {
                    // All of them have the object's bytes between them, as in `push_whole`.
                    let (mut values, mut made) = (value.len(), 0);
                    for (name, value) in names.entries(value)? {
                        if fields.iter().any(|(known, _)| known == name) {
                            continue;
                        }
                        let mut text = String::new();
                        names.push(value, depth + 1, &mut values, &mut text)?;
                        made += name.len() + text.len();
                        if made > TEXT_BYTES_MAX {
                            return None;
                        }
                        entries.push((name.to_owned(), text));
                    }
                }
                entries.sort();
                out.push('{');
                for (number, (name, text)) in entries.iter().enumerate() {
                    if number > 0 {
                        out.push(',');
                    }
                    json::push_string(name, out);
                    out.push(':');
                    out.push_str(text);
                }
                out.push('}');
            }
        }
        Some(true)
    }
}

fn typed(array: &ArrayRef) -> Option<Typed> {
    Some(match array.data_type() {
        DataType::Struct(fields) => {
            let group = array.as_struct();
            let parts = fields
                .iter()
                .zip(group.columns())
                .map(|(f, column)| Some((f.name().clone(), Parts::of(column.as_ref())?)));
            Typed::Object(parts.collect::<Option<_>>()?)
        }
        DataType::List(_) => Typed::List(Box::new(Parts::of(array.as_list::<i32>().values().as_ref())?)),
        DataType::LargeList(_) => Typed::List(Box::new(Parts::of(array.as_list::<i64>().values().as_ref())?)),
        other => {
            let ty = arrow::type_from_arrow(other)?;
            Typed::Plain(arrow::from_array(array.as_ref(), ty).ok()?.flatten())
        }
    })
}

fn range_of(array: &ArrayRef, row: usize) -> Option<Range<usize>> {
    Some(match array.data_type() {
        DataType::List(_) => {
            let at = array.as_list::<i32>().value_offsets();
            at[row] as usize..at[row + 1] as usize
        }
        DataType::LargeList(_) => {
            let at = array.as_list::<i64>().value_offsets();
            at[row] as usize..at[row + 1] as usize
        }
        _ => return None,
    })
}

const SHORT_TEXT: u8 = 1;
const OBJECT: u8 = 2;

/// An unsigned number of up to four bytes, the least first.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(width)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

/// A signed number of up to sixteen bytes, the least first.
fn signed(bytes: &[u8], width: usize) -> Option<i128> {
    let bytes = bytes.get(..width)?;
    let number = bytes.iter().rev().fold(0u128, |number, byte| number << 8 | u128::from(*byte));
    let unused = 128 - 8 * width;
    Some((number << unused) as i128 >> unused)
}

/// The metadata: the keys that objects refer to by number.
struct Names<'a> {
    bytes: &'a [u8],
    width: usize,
    count: usize,
}

impl<'a> Names<'a> {
    fn of(bytes: &'a [u8]) -> Option<Names<'a>> {
        let head = *bytes.first()?;
        let width = usize::from(head >> 6) + 1;
        let count = number(bytes, 1, width)?;
        // Version 1 is the only one there is.
        (head & 15 == 1).then_some(Names { bytes, width, count })
    }

    fn name(&self, id: usize) -> Option<&'a str> {
        let place = |at: usize| number(self.bytes, 1 + (1 + at) * self.width, self.width);
        let begin = 1 + (2 + self.count) * self.width;
        (id < self.count).then_some(())?;
        let text = self.bytes.get(begin.checked_add(place(id)?)?..begin.checked_add(place(id + 1)?)?)?;
        std::str::from_utf8(text).ok()
    }

    /// Keys of an object with the bytes that begin with their values.
    fn entries<'v>(&self, value: &'v [u8]) -> Option<Vec<(&'a str, &'v [u8])>> {
        let head = *value.first()?;
        let (offset, id) = (usize::from(head >> 2 & 3) + 1, usize::from(head >> 4 & 3) + 1);
        let size = if head >> 6 & 1 == 1 { 4 } else { 1 };
        let count = number(value, 1, size)?;
        let ids = 1 + size;
        let offsets = ids.checked_add(count.checked_mul(id)?)?;
        let begin = offsets.checked_add(count.checked_add(1)?.checked_mul(offset)?)?;
        value.get(..begin)?;
        let entry = |at: usize| {
            let name = self.name(number(value, ids + at * id, id)?)?;
            Some((name, value.get(begin.checked_add(number(value, offsets + at * offset, offset)?)?..)?))
        };
        (0..count).map(entry).collect()
    }

    /// Appends the value that the bytes begin with.
    fn push_whole(&self, value: &[u8], depth: usize, out: &mut String) -> Option<()> {
        // Each value in it has bytes of its own, so there are no more values than bytes. Where offsets lead to the same
        // bytes again and again, a few hundred bytes could be more values than anybody can wait for.
        let mut values = value.len();
        self.push(value, depth, &mut values, out)
    }

    fn push(&self, value: &[u8], depth: usize, values: &mut usize, out: &mut String) -> Option<()> {
        *values = values.checked_sub(1)?;
        if depth > DEPTH_MAX || out.len() > TEXT_BYTES_MAX {
            return None;
        }
        let (head, rest) = value.split_first()?;
        let kind = head >> 2;
        match head & 3 {
            SHORT_TEXT => json::push_string(std::str::from_utf8(rest.get(..kind.into())?).ok()?, out),
            OBJECT => {
                out.push('{');
                for (number, (name, value)) in self.entries(value)?.into_iter().enumerate() {
                    if number > 0 {
                        out.push(',');
                    }
                    json::push_string(name, out);
                    out.push(':');
                    self.push(value, depth + 1, values, out)?;
                }
                out.push('}');
            }
            0 => plain(kind, rest, out)?,
            _ => {
                let offset = usize::from(kind & 3) + 1;
                let size = if kind >> 2 & 1 == 1 { 4 } else { 1 };
                let count = number(value, 1, size)?;
                let begin = (1 + size).checked_add(count.checked_add(1)?.checked_mul(offset)?)?;
                value.get(..begin)?;
                out.push('[');
                for at in 0..count {
                    if at > 0 {
                        out.push(',');
                    }
                    let place = begin.checked_add(number(value, 1 + size + at * offset, offset)?)?;
                    self.push(value.get(place..)?, depth + 1, values, out)?;
                }
                out.push(']');
            }
        }
        Some(())
    }
}

/// Appends a value that is none of many.
fn plain(kind: u8, bytes: &[u8], out: &mut String) -> Option<()> {
    let whole = |width: usize| signed(bytes, width).map(|n| n as i64);
    let decimal = |width: usize| {
        let scale = *bytes.first()?;
        (scale <= 38).then_some(())?;
        Some((Value::I128(signed(&bytes[1..], width)?), Type::Decimal { precision: 38, scale }))
    };
    let sized = || bytes.get(4..)?.get(..number(bytes, 0, 4)?);
    let (value, ty) = match kind {
        0 => (Value::Null, Type::Null),
        1 | 2 => (Value::Bool(kind == 1), Type::Boolean),
        3 => (Value::I64(whole(1)?), Type::BigInt),
        4 => (Value::I64(whole(2)?), Type::BigInt),
        5 => (Value::I64(whole(4)?), Type::BigInt),
        6 => (Value::I64(whole(8)?), Type::BigInt),
        7 => (Value::F64(f64::from_le_bytes(bytes.get(..8)?.try_into().ok()?)), Type::Double),
        8 => decimal(4)?,
        9 => decimal(8)?,
        10 => decimal(16)?,
        11 => (Value::I32(whole(4)? as i32), Type::Date),
        12 => (Value::I64(whole(8)?), Type::TimestampTz),
        13 => (Value::I64(whole(8)?), Type::Timestamp),
        14 => (Value::F32(f32::from_le_bytes(bytes.get(..4)?.try_into().ok()?)), Type::Real),
        15 => (Value::Bytes(sized()?.into()), Type::Bytea),
        16 => (Value::text(std::str::from_utf8(sized()?).ok()?), Type::Text),
        17 => (Value::I64(whole(8)?), Type::Time),
        18 => (Value::I64(whole(8)?.div_euclid(1000)), Type::TimestampTz),
        19 => (Value::I64(whole(8)?.div_euclid(1000)), Type::Timestamp),
        20 => (Value::I128(cast::uuid_from_bytes(bytes.get(..16)?.try_into().ok()?)), Type::Uuid),
        _ => return None,
    };
    json::push_value(&value, ty, out);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{BinaryArray, Int64Array, ListArray, StringArray, StructArray};
    use arrow_buffer::{NullBuffer, OffsetBuffer};
    use arrow_schema::Field as ArrowField;
    use std::sync::Arc;

    /// The keys a and b.
    const NAMES: &[u8] = &[0x01, 2, 0, 1, 2, b'a', b'b'];

    fn text(value: &[u8]) -> Option<String> {
        let mut out = String::new();
        Names::of(NAMES)?.push_whole(value, 0, &mut out)?;
        Some(out)
    }

    #[test]
    fn every_kind_of_value_is_told() {
        let of = |kind: u8, bytes: &[u8]| text(&[&[kind << 2], bytes].concat()).unwrap();
        assert_eq!(of(0, &[]), "null");
        assert_eq!(of(1, &[]), "true");
        assert_eq!(of(2, &[]), "false");
        assert_eq!(of(3, &[0xFF]), "-1");
        assert_eq!(of(4, &[0x00, 0x80]), "-32768");
        assert_eq!(of(5, &7i32.to_le_bytes()), "7");
        assert_eq!(of(6, &i64::MIN.to_le_bytes()), "-9223372036854775808");
        assert_eq!(of(7, &1.5f64.to_le_bytes()), "1.5");
        assert_eq!(of(7, &f64::NAN.to_le_bytes()), "\"NaN\"");
        assert_eq!(of(8, &[2, 0x9C, 0xFF, 0xFF, 0xFF]), "-1.00");
        assert_eq!(
            of(10, &[&[0][..], &(10i128.pow(37)).to_le_bytes()].concat()),
            format!("1{}", "0".repeat(37))
        );
        assert_eq!(of(11, &(-1i32).to_le_bytes()), "\"1969-12-31\"");
        assert_eq!(of(13, &1i64.to_le_bytes()), "\"1970-01-01 00:00:00.000001\"");
        assert_eq!(of(19, &1999i64.to_le_bytes()), "\"1970-01-01 00:00:00.000001\"");
        assert_eq!(of(14, &0.25f32.to_le_bytes()), "0.25");
        assert_eq!(of(15, &[1, 0, 0, 0, 0xAB]), "\"\\\\xab\"");
        assert_eq!(of(16, &[2, 0, 0, 0, b'h', b'"']), "\"h\\\"\"");
        assert_eq!(of(17, &1_000_000i64.to_le_bytes()), "\"00:00:01\"");
        assert_eq!(of(20, &[0; 16]), "\"00000000-0000-0000-0000-000000000000\"");
        assert_eq!(text(&[2 << 2 | 1, b'h', b'i']).unwrap(), "\"hi\"");
        // {"a": 1, "b": [true, "x"]}
        let list = [3, 2, 0, 1, 3, 1 << 2, 1 << 2 | 1, b'x'];
        let object = [&[2, 2, 0, 1, 0, 2, 10][..], &[3 << 2, 1], &list].concat();
        assert_eq!(text(&object).unwrap(), "{\"a\":1,\"b\":[true,\"x\"]}");
    }

    #[test]
    fn what_is_cut_or_unknown_is_damaged_and_nothing_panics() {
        let list = [3, 2, 0, 1, 3, 1 << 2, 1 << 2 | 1, b'x'];
        let object = [&[2, 2, 0, 1, 0, 2, 10][..], &[3 << 2, 1], &list].concat();
        for length in 0..object.len() {
            assert!(text(&object[..length]).is_none(), "{length}");
        }
        // A key that is not there, a kind that is not there, an array in itself.
        assert!(text(&[2, 1, 9, 0, 2, 3 << 2, 1]).is_none());
        assert!(text(&[30 << 2]).is_none());
        for first in 0..=255u8 {
            for second in [0, 1, 7, 255] {
                let _ = text(&[first, second, first, 0, second, 255, 1, 2, 3, 4, 5, 6, 7, 8]);
            }
        }
        assert!(Names::of(&[0x02, 0, 0]).is_none());
        assert!(Names::of(&[]).is_none());
    }

    #[test]
    fn offsets_that_lead_to_the_same_bytes_are_damage() {
        // Twelve arrays, each of 200 elements that all are the next array: 200 to the power of 12 values.
        let mut value = vec![1 << 2];
        for _ in 0..12 {
            let offsets = [0u8; 201];
            value = [&[3, 200], &offsets[..], &value].concat();
        }
        assert!(text(&value).is_none());
        // As many as there are bytes are as they should be.
        let many = [&[3, 200], &(0..=200).collect::<Vec<u8>>()[..], &[1 << 2; 200]].concat();
        assert_eq!(text(&many).unwrap().matches("true").count(), 200);
    }

    /// A shredded object, of whose fields none is a column, with these other fields.
    fn residual(value: &[u8]) -> Option<String> {
        let object = StructArray::new_empty_fields(1, None);
        let binary = |bytes: &[u8]| -> ArrayRef { Arc::new(BinaryArray::from_iter([Some(bytes)])) };
        let whole = StructArray::from(vec![
            (Arc::new(ArrowField::new("metadata", DataType::Binary, false)), binary(NAMES)),
            (Arc::new(ArrowField::new("value", DataType::Binary, true)), binary(value)),
            (
                Arc::new(ArrowField::new("typed_value", object.data_type().clone(), true)),
                Arc::new(object) as ArrayRef,
            ),
        ]);
        Some(column(&whole)?.value(0).display(Type::Json))
    }

    #[test]
    fn fields_beside_columns_have_the_bytes_between_them() {
        assert_eq!(residual(&[2, 1, 0, 0, 1, 1 << 2]).unwrap(), "{\"a\":true}");
        // 200 fields that all are the same array of 200 values.
        let array = [&[3, 200], &[0; 201][..], &[1 << 2]].concat();
        let object = [&[2, 200], &[0; 200][..], &[0; 201], &array].concat();
        assert!(residual(&object).is_none());
    }

    #[test]
    fn instants_are_written_in_utc_in_every_zone() {
        let told = || residual(&[&[2, 1, 0, 0, 9, 12 << 2][..], &0i64.to_le_bytes()].concat()).unwrap();
        let plain = told();
        assert!(plain.contains("1970-01-01 00:00:00+00"), "{plain}");
        assert_eq!(zone::within(Zone::parse("Europe/Berlin").unwrap(), told), plain);
    }

    #[test]
    fn fields_that_are_columns_and_fields_that_are_not_make_one_object() {
        let binary =
            |values: &[Option<&'static [u8]>]| -> ArrayRef { Arc::new(BinaryArray::from_iter(values)) };
        let group = |value: ArrayRef, typed: ArrayRef| -> ArrayRef {
            Arc::new(StructArray::from(vec![
                (Arc::new(ArrowField::new("value", value.data_type().clone(), true)), value),
                (Arc::new(ArrowField::new("typed_value", typed.data_type().clone(), true)), typed),
            ]))
        };
        // Field b is a column of numbers, and once a text.
        let b = group(
            binary(&[None, Some(&[1 << 2 | 1, b'x']), None, None, None]),
            Arc::new(Int64Array::from(vec![Some(5), None, None, None, None])),
        );
        let object = StructArray::new(
            vec![ArrowField::new("b", b.data_type().clone(), false)].into(),
            vec![b],
            Some(NullBuffer::from(vec![true, true, true, false, false])),
        );
        // {"a": true}, {"a": true}, nothing, a number, null.
        let rest: &[u8] = &[2, 1, 0, 0, 1, 1 << 2];
        let value = binary(&[Some(rest), Some(rest), None, Some(&[3 << 2, 9]), Some(&[0])]);
        let names = binary(&[Some(NAMES); 5]);
        let object: ArrayRef = Arc::new(object);
        let whole = StructArray::from(vec![
            (Arc::new(ArrowField::new("metadata", DataType::Binary, false)), names),
            (Arc::new(ArrowField::new("value", DataType::Binary, true)), value),
            (Arc::new(ArrowField::new("typed_value", object.data_type().clone(), true)), object),
        ]);
        let told = |array: &dyn Array| -> Vec<String> {
            let vector = column(array).unwrap();
            (0..vector.len()).map(|row| vector.value(row).display(Type::Json)).collect()
        };
        assert_eq!(told(&whole), ["{\"a\":true,\"b\":5}", "{\"a\":true,\"b\":\"x\"}", "{}", "9", "NULL"]);
        assert_eq!(told(&whole.slice(1, 2)), ["{\"a\":true,\"b\":\"x\"}", "{}"]);
        // A list of texts, one of which is another value.
        let elements = group(
            binary(&[None, Some(&[2 << 2]), None]),
            Arc::new(StringArray::from(vec![Some("x"), None, None])),
        );
        let item = Arc::new(ArrowField::new("element", elements.data_type().clone(), false));
        let list: ArrayRef =
            Arc::new(ListArray::new(item, OffsetBuffer::new(vec![0, 0, 3].into()), elements, None));
        let whole = StructArray::from(vec![
            (Arc::new(ArrowField::new("metadata", DataType::Binary, false)), binary(&[Some(NAMES); 2])),
            (Arc::new(ArrowField::new("typed_value", list.data_type().clone(), true)), list),
        ]);
        assert_eq!(told(&whole), ["[]", "[\"x\",false,null]"]);
    }
}
