//! Parquet against what was written: every type, every cut, what cannot be read.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray};
use arrow_schema::{Field as ArrowField, Schema as ArrowSchema};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use types::{SqlState, Type, Value};
use vector::{Vector, arrow};

use super::{Random, Scratch, read_all, rows};
use crate::parquet::ParquetFiles;
use crate::{describe, open};

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
    let bits = random.next();
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
    let mut random = Random(seed);
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

pub fn written(batch: &RecordBatch, group_rows: usize, page_rows: usize) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(page_rows)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn all_types_come_back() {
    let (expected, batch) = sample(2000, 1);
    let file = Scratch::new("all.parquet", &written(&batch, 700, 100));
    let source = describe(file.path(), &[]).unwrap();
    assert_eq!(source.rows, Some(2000));
    assert_eq!(source.schema.fields().iter().map(|f| f.ty).collect::<Vec<_>>(), TYPES);
    assert_eq!(read_all(file.path()).unwrap(), expected);
    let some = rows(open(&source, &[12, 3, 12], 64).unwrap().as_ref()).unwrap();
    let chosen: Vec<Vec<Value>> =
        expected.iter().map(|r| vec![r[12].clone(), r[3].clone(), r[12].clone()]).collect();
    assert_eq!(some, chosen);
    assert_eq!(rows(open(&source, &[], 64).unwrap().as_ref()).unwrap().len(), 2000);
}

#[test]
fn a_row_group_is_cut_anywhere() {
    let (expected, batch) = sample(500, 2);
    let file = Scratch::new("one.parquet", &written(&batch, 10_000, 40));
    let source = describe(file.path(), &[]).unwrap();
    let columns: Vec<usize> = (0..TYPES.len()).collect();
    for unit_rows in [1, 7, 39, 40, 41, 100, 499, 500, 501] {
        let reader = ParquetFiles::with_unit_rows(&source, &columns, 64, unit_rows).unwrap();
        assert_eq!(crate::Reader::units(&reader).unwrap(), 500u64.div_ceil(unit_rows));
        assert_eq!(rows(&reader).unwrap(), expected, "units of {unit_rows}");
        assert_eq!(
            rows(&ParquetFiles::with_unit_rows(&source, &[], 64, unit_rows).unwrap()).unwrap().len(),
            500
        );
    }
    // Units of one file at the same time.
    let reader = ParquetFiles::with_unit_rows(&source, &columns, 64, 20).unwrap();
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
fn nested_columns_are_errors_when_read() {
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
    let source = describe(file.path(), &[]).unwrap();
    let some = rows(open(&source, &[2, 0], 64).unwrap().as_ref()).unwrap();
    assert_eq!(some[1], [Value::text("b"), Value::I64(2)]);
    let Err(e) = open(&source, &[1], 64) else { panic!("a list was read") };
    assert_eq!(e.state(), SqlState::FeatureNotSupported);
    assert!(e.message().contains("\"tags\"") && e.message().contains("LIST"), "{e}");
}
