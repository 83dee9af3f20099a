//! Parquet against what was written: every type, every cut, what cannot be read.
//!
//! Rows are random with a fixed seed, so that a failure is found again. `sample` makes rows of all types for other
//! tests, too. The decoder of this crate is held against the `parquet` crate's (`Decoder::Crate`) on the same files.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_schema::{Field as ArrowField, Schema as ArrowSchema};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use types::{SqlState, Type, Value};
use vector::{Vector, arrow};

use super::{Random, Scratch, read_all, rows};
use crate::Environment;
use crate::parquet::ParquetFiles;
use crate::{describe, open};

/// The types of the columns of `sample`.
pub const TYPES: [Type; 19] = [
    Type::Boolean,
    Type::SmallInt,
    Type::Integer,
    Type::BigInt,
    Type::Real,
    Type::Double,
    Type::Decimal { precision: 9, scale: 2 },
    Type::Decimal { precision: 18, scale: 0 },
    Type::Decimal { precision: 38, scale: 10 },
    Type::Text,
    Type::Text,
    Type::Date,
    Type::Time,
    Type::Timestamp,
    Type::TimestampTz,
    Type::Bytea,
    Type::Uuid,
    Type::BigInt,
    Type::Text,
];

fn value(ty: Type, column: usize, random: &mut Random) -> Value {
    if random.below(7) == 0 {
        return Value::Null;
    }
    let bits = random.bits();
    match ty {
        Type::Boolean => Value::Bool(bits & 1 == 1),
        Type::SmallInt => Value::I16(bits as i16),
        Type::Integer => Value::I32(bits as i32),
        Type::BigInt if column == 17 => Value::I64((bits % 5) as i64),
        Type::BigInt => Value::I64(bits as i64),
        Type::Real => Value::F32((bits % 1000) as f32 / 8.0),
        Type::Double => Value::F64((bits % 100_000) as f64 / 64.0),
        Type::Decimal { precision: 9, .. } => Value::I64(bits as i64 % 1_000_000_000),
        Type::Decimal { precision: 18, .. } => Value::I64(bits as i64 % 1_000_000_000_000_000_000),
        Type::Decimal { .. } => Value::I128(i128::from(bits as i64) * 1_000_000_000_000_000_000),
        Type::Text if column == 18 => Value::text(["a", "bb", "a text longer than a view"][random.below(3)]),
        Type::Text => Value::text(&"täxt ".repeat(random.below(8))),
        Type::Date => Value::I32((bits % 100_000) as i32 - 50_000),
        Type::Time => Value::I64((bits % 86_400_000_000) as i64),
        Type::Timestamp | Type::TimestampTz => Value::I64(bits as i64 >> 12),
        Type::Bytea => Value::Bytes(bits.to_le_bytes()[..random.below(9)].into()),
        _ => Value::I128(i128::from(bits as i64) << 60),
    }
}

/// Rows of all types and the record batch that holds them.
pub fn sample(count: usize, seed: u64) -> (Vec<Vec<Value>>, RecordBatch) {
    let mut random = Random::new(seed);
    let rows: Vec<Vec<Value>> = (0..count)
        .map(|_| TYPES.iter().enumerate().map(|(c, ty)| value(*ty, c, &mut random)).collect())
        .collect();
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    for (column, ty) in TYPES.iter().enumerate() {
        let values: Vec<Value> = rows.iter().map(|r| r[column].clone()).collect();
        let array = arrow::to_array(&Vector::from_values(*ty, &values));
        fields.push(ArrowField::new(format!("c{column}"), array.data_type().clone(), true));
        arrays.push(array);
    }
    let batch = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays).unwrap();
    (rows, batch)
}

/// The batch as a Parquet file with so many rows a group and a page, at most.
pub fn written(batch: &RecordBatch, group_rows: usize, page_rows: usize) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(page_rows)
        .build();
    let mut bytes = Vec::new();
    // Sixteen bytes are told to be UUIDs.
    let (schema, options) = crate::parquet::interval::writing(&batch.schema(), properties, None).unwrap();
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, schema, options).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn all_types_come_back() {
    let (expected, batch) = sample(2000, 1);
    let file = Scratch::new("all.parquet", &written(&batch, 700, 100));
    let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
    assert_eq!(source.rows, Some(2000));
    assert_eq!(source.schema.fields().iter().map(|f| f.ty).collect::<Vec<_>>(), TYPES);
    assert_eq!(read_all(file.path()).unwrap(), expected);
    let some = rows(open(&Environment::of_tests(), &source, &[12, 3, 12], 64).unwrap().as_ref()).unwrap();
    let chosen: Vec<Vec<Value>> =
        expected.iter().map(|r| vec![r[12].clone(), r[3].clone(), r[12].clone()]).collect();
    assert_eq!(some, chosen);
    assert_eq!(rows(open(&Environment::of_tests(), &source, &[], 64).unwrap().as_ref()).unwrap().len(), 2000);
}

#[test]
fn a_row_group_is_cut_anywhere() {
    let (expected, batch) = sample(500, 2);
    let file = Scratch::new("one.parquet", &written(&batch, 10_000, 40));
    let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
    let columns: Vec<usize> = (0..TYPES.len()).collect();
    for unit_rows in [1, 7, 39, 40, 41, 100, 499, 500, 501] {
        let reader =
            ParquetFiles::with_unit_rows(&Environment::of_tests(), &source, &columns, 64, unit_rows).unwrap();
        assert_eq!(crate::Reader::units(&reader).unwrap(), 500u64.div_ceil(unit_rows));
        assert_eq!(rows(&reader).unwrap(), expected, "units of {unit_rows}");
        assert_eq!(
            rows(
                &ParquetFiles::with_unit_rows(&Environment::of_tests(), &source, &[], 64, unit_rows).unwrap()
            )
            .unwrap()
            .len(),
            500
        );
    }
    // Units of one file at the same time.
    let reader = ParquetFiles::with_unit_rows(&Environment::of_tests(), &source, &columns, 64, 20).unwrap();
    let reader = &reader;
    let expected = &expected;
    std::thread::scope(|scope| {
        for first in 0..4u64 {
            scope.spawn(move || {
                for unit in (first..25).step_by(4) {
                    let mut part = Vec::new();
                    crate::Reader::read(reader, unit, &mut |batch| {
                        part.extend(super::values(&batch));
                        Ok(true)
                    })
                    .unwrap();
                    assert_eq!(part, expected[unit as usize * 20..][..20]);
                }
            });
        }
    });
}

#[test]
fn lists_are_read_beside_other_columns() {
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>([
        Some(vec![Some(1), Some(2)]),
        None,
    ]);
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef),
        ("tags", Arc::new(lists) as ArrayRef),
        ("name", Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef),
    ])
    .unwrap();
    let file = Scratch::new("nested.parquet", &written(&batch, 100, 100));
    let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
    let some = rows(open(&Environment::of_tests(), &source, &[2, 0], 64).unwrap().as_ref()).unwrap();
    assert_eq!(some[1], [Value::text("b"), Value::I64(2)]);
    let tags = rows(open(&Environment::of_tests(), &source, &[1], 64).unwrap().as_ref()).unwrap();
    assert_eq!(tags[0][0].display(Type::list(Type::Integer).unwrap()), "[1, 2]");
    assert!(tags[1][0].is_null());
}

/// Rows of every form that we decode ourselves, and of others, with and without NULL, few and many values.
fn twin_batch(rows: usize, seed: u64) -> RecordBatch {
    use arrow_array::types as at;
    use arrow_array::{
        BinaryArray, Date64Array, Decimal32Array, Float32Array, Float64Array, Int8Array, Int16Array,
        Int32Array, LargeStringArray, PrimitiveArray, StringViewArray, TimestampNanosecondArray, UInt8Array,
        UInt16Array, UInt32Array,
    };
    let mut random = Random::new(seed);
    let mut numbers = |most: u64, nulls: usize| -> Vec<Option<i64>> {
        let number = |random: &mut Random| (random.bits() % most) as i64 - (most / 2) as i64;
        (0..rows).map(|_| (nulls == 0 || random.below(nulls) > 0).then(|| number(&mut random))).collect()
    };
    let text = |n: &Option<i64>| n.map(|n| format!("{}{n}", "täxt ".repeat(n.unsigned_abs() as usize % 5)));
    macro_rules! array {
        ($array:ty, $source:expr, $as:ty) => {
            Arc::new(<$array>::from($source.iter().map(|v| v.map(|v| v as $as)).collect::<Vec<_>>()))
                as ArrayRef
        };
    }
    let few = numbers(7, 0);
    let many = numbers(1 << 40, 0);
    let few_or_null = numbers(100, 3);
    let many_or_null = numbers(1 << 50, 50);
    let nothing: Vec<Option<i64>> = vec![None; rows];
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    for (name, values) in [
        ("few", &few),
        ("many", &many),
        ("few_or_null", &few_or_null),
        ("many_or_null", &many_or_null),
        ("nothing", &nothing),
    ] {
        let texts: Vec<Option<String>> = values.iter().map(text).collect();
        let bytes: Vec<Option<&[u8]>> = texts.iter().map(|t| t.as_ref().map(|t| t.as_bytes())).collect();
        let narrow: Vec<Option<i64>> = values.iter().map(|v| v.map(|v| v % 1_000_000)).collect();
        let small: Vec<Option<i64>> = values.iter().map(|v| v.map(|v| v.rem_euclid(100))).collect();
        let decimals = PrimitiveArray::<at::Decimal128Type>::from(
            narrow.iter().map(|v| v.map(i128::from)).collect::<Vec<_>>(),
        );
        let long = decimals.clone().with_precision_and_scale(15, 2).unwrap();
        let wide = decimals.with_precision_and_scale(30, 2).unwrap();
        let short = array!(Decimal32Array, narrow, i32);
        let arrays: Vec<(&str, ArrayRef)> = vec![
            ("i8", array!(Int8Array, small, i8)),
            ("u8", array!(UInt8Array, small, u8)),
            ("i16", array!(Int16Array, values, i16)),
            ("u16", array!(UInt16Array, values, u16)),
            ("i32", array!(Int32Array, values, i32)),
            ("u32", array!(UInt32Array, values, u32)),
            ("i64", array!(Int64Array, values, i64)),
            ("f32", array!(Float32Array, values, f32)),
            ("f64", array!(Float64Array, values, f64)),
            ("date64", array!(Date64Array, small, i64)),
            ("nanos", array!(TimestampNanosecondArray, values, i64)),
            ("decimal9", short),
            ("decimal15", Arc::new(long)),
            ("decimal30", Arc::new(wide)),
            ("text", Arc::new(StringArray::from(texts.clone()))),
            ("large", Arc::new(LargeStringArray::from(texts.clone()))),
            ("view", Arc::new(StringViewArray::from(texts.clone()))),
            ("bytes", Arc::new(BinaryArray::from(bytes))),
        ];
        columns.extend(arrays.into_iter().map(|(ty, array)| (format!("{name}_{ty}"), array)));
    }
    let nullable = |name: &str| name.contains("null") || name.starts_with("nothing");
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| {
        let nullable = nullable(&name);
        (name, array, nullable)
    }))
    .unwrap()
}

#[test]
fn own_decoding_agrees_with_the_crate() {
    use crate::parquet::Decoder;
    use parquet::basic::{Compression, Encoding};
    use parquet::file::properties::WriterVersion;
    let batch = twin_batch(3000, 5);
    let plain =
        || WriterProperties::builder().set_max_row_group_row_count(Some(1300)).set_write_batch_size(64);
    let mut variants = Vec::new();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let builder = || plain().set_writer_version(version).set_data_page_row_count_limit(170);
        variants.push(builder().build());
        variants.push(builder().set_dictionary_enabled(false).set_compression(Compression::SNAPPY).build());
        // Pages of indices and, once the dictionary is full, plain ones.
        variants.push(
            builder().set_dictionary_page_size_limit(2000).set_compression(Compression::LZ4_RAW).build(),
        );
        variants.push(
            builder()
                .set_dictionary_enabled(false)
                .set_column_encoding("many_i64".into(), Encoding::DELTA_BINARY_PACKED)
                .set_column_encoding("few_or_null_f64".into(), Encoding::BYTE_STREAM_SPLIT)
                .set_column_encoding("many_text".into(), Encoding::DELTA_BYTE_ARRAY)
                .build(),
        );
    }
    for (number, properties) in variants.into_iter().enumerate() {
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let file = Scratch::new("twin.parquet", &bytes);
        let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
        let columns: Vec<usize> = (0..source.schema.len()).collect();
        let names: Vec<&str> = source.schema.fields().iter().map(|f| f.name.as_str()).collect();
        for unit_rows in [100_000, 501, 170] {
            let own =
                ParquetFiles::with_unit_rows(&Environment::of_tests(), &source, &columns, 64, unit_rows)
                    .unwrap();
            let decoded = own.own_columns(0);
            for (column, name) in names.iter().enumerate() {
                let left_to_the_crate = ["u16", "u32", "nanos", "date64", "decimal30"];
                let rare = number % 4 == 3 && ["many_i64", "few_or_null_f64", "many_text"].contains(name);
                let is_left = rare || left_to_the_crate.iter().any(|ty| name.ends_with(&format!("_{ty}")));
                // The second writer version chooses delta encodings by itself where it has no dictionary.
                if number <= 4 {
                    assert_eq!(decoded.contains(&column), !is_left, "{name} in variant {number}");
                }
            }
            let twin =
                ParquetFiles::with_unit_rows(&Environment::of_tests(), &source, &columns, 64, unit_rows)
                    .unwrap()
                    .with_decoder(Decoder::Crate);
            assert!(twin.own_columns(0).is_empty());
            let (got, expected) = (rows(&own).unwrap(), rows(&twin).unwrap());
            assert_eq!(expected.len(), 3000);
            for (row, (got, expected)) in got.iter().zip(&expected).enumerate() {
                for ((got, expected), name) in got.iter().zip(expected).zip(&names) {
                    assert_eq!(
                        got, expected,
                        "row {row} of {name} in variant {number}, units of {unit_rows}"
                    );
                }
            }
            assert_eq!(got.len(), expected.len());
        }
    }
}

#[test]
fn repeated_strings_keep_their_dictionary() {
    let words = ["AIR", "a word that is longer than a view", "RAIL"];
    let texts: Vec<Option<&str>> = (0..5000).map(|i| (i % 11 != 0).then(|| words[i % 3])).collect();
    let array = Arc::new(StringArray::from(texts)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("mode", array)]).unwrap();
    let file = Scratch::new("words.parquet", &written(&batch, 100_000, 300));
    let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
    let reader = open(&Environment::of_tests(), &source, &[0], 4096).unwrap();
    let mut batches = 0;
    reader
        .read(0, &mut |batch| {
            let vector::Data::Dictionary { values, .. } = batch.columns[0].data() else { panic!("decoded") };
            assert_eq!(values.len(), 3);
            assert!(batch.columns[0].has_nulls());
            batches += 1;
            Ok(true)
        })
        .unwrap();
    assert_eq!(batches, 1);
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    use parquet::data_type::{ByteArray, ByteArrayType};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    // Whole values, a character cut between two values, and the first bytes of one behind a long text.
    let long = [&b"x".repeat(200)[..], b"\xC3"].concat();
    let cases: [&[&[u8]]; 4] =
        [&[b"good", b"\xC3\x28"], &[b"t\xC3", b"\xA4xt"], &[&long], &["täxt".as_bytes()]];
    for (number, values) in cases.iter().enumerate() {
        for dictionary in [true, false] {
            let schema = parse_message_type("message m { required binary b (UTF8); }").unwrap();
            let properties = WriterProperties::builder().set_dictionary_enabled(dictionary).build();
            let mut bytes = Vec::new();
            let mut writer =
                SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties)).unwrap();
            let mut group = writer.next_row_group().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            let arrays: Vec<ByteArray> = values.iter().map(|v| ByteArray::from(v.to_vec())).collect();
            column.typed::<ByteArrayType>().write_batch(&arrays, None, None).unwrap();
            column.close().unwrap();
            group.close().unwrap();
            writer.close().unwrap();
            let file = Scratch::new("text.parquet", &bytes);
            match read_all(file.path()) {
                Ok(rows) => {
                    assert_eq!(number, 3);
                    assert_eq!(rows, [[Value::text("täxt")]]);
                }
                Err(e) => {
                    assert_ne!(number, 3);
                    assert_eq!(e.state(), SqlState::DataCorrupted);
                    assert!(e.message().contains("UTF-8"), "{e}");
                }
            }
        }
    }
}
