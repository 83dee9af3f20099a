//! Arrow IPC, file and stream, against what was written.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, UnionArray};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field as ArrowField, Schema, UnionFields};
use types::Value;

use super::parquet_files::{TYPES, sample};
use super::{Scratch, read_all, rows};
use crate::Environment;
use crate::{describe, open};

/// The batches as an Arrow IPC file.
pub fn file_of(batches: &[RecordBatch]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = FileWriter::try_new(&mut bytes, &batches[0].schema()).unwrap();
    batches.iter().for_each(|b| writer.write(b).unwrap());
    writer.finish().unwrap();
    drop(writer);
    bytes
}

/// The batches as an Arrow IPC stream.
pub fn stream_of(batches: &[RecordBatch]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &batches[0].schema()).unwrap();
    batches.iter().for_each(|b| writer.write(b).unwrap());
    writer.finish().unwrap();
    drop(writer);
    bytes
}

#[test]
fn all_types_come_back() {
    let (expected, batch) = sample(1500, 3);
    let parts = [batch.slice(0, 600), batch.slice(600, 0), batch.slice(600, 900)];
    for bytes in [file_of(&parts), stream_of(&parts)] {
        let file = Scratch::new("all.arrow", &bytes);
        let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
        assert_eq!(source.schema.fields().iter().map(|f| f.ty).collect::<Vec<_>>(), TYPES);
        assert_eq!(read_all(file.path()).unwrap(), expected);
        let reader = open(&Environment::of_tests(), &source, &[9, 0], 100).unwrap();
        assert_eq!(reader.units().unwrap(), 3);
        let chosen: Vec<Vec<Value>> = expected.iter().map(|r| vec![r[9].clone(), r[0].clone()]).collect();
        assert_eq!(rows(reader.as_ref()).unwrap(), chosen);
        assert_eq!(
            rows(open(&Environment::of_tests(), &source, &[], 100).unwrap().as_ref()).unwrap().len(),
            1500
        );
    }
}

#[test]
fn dictionaries_that_change_within_a_stream() {
    let part = |words: [&str; 3]| {
        let array: DictionaryArray<Int32Type> = words.into_iter().collect();
        RecordBatch::try_from_iter([("word", Arc::new(array) as ArrayRef)]).unwrap()
    };
    let parts = [part(["a", "b", "a"]), part(["c", "longer than a view", "d"])];
    let file = Scratch::new("words.arrows", &stream_of(&parts));
    let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
    assert_eq!(open(&Environment::of_tests(), &source, &[0], 2).unwrap().units().unwrap(), 1);
    let found: Vec<Value> = read_all(file.path()).unwrap().into_iter().flatten().collect();
    assert_eq!(found, ["a", "b", "a", "c", "longer than a view", "d"].map(Value::text));
    let one = Scratch::new("words.arrow", &file_of(&parts[..1]));
    assert_eq!(read_all(one.path()).unwrap().len(), 3);
}

/// A field may say that it has no NULLs where only its children, or its dictionary's values, have them.
#[test]
fn nulls_that_a_field_does_not_tell_of() {
    let members = UnionFields::try_new(
        [0, 1],
        [("i", DataType::Int32), ("s", DataType::Utf8)].map(|(name, ty)| ArrowField::new(name, ty, true)),
    );
    let union = UnionArray::try_new(
        members.unwrap(),
        vec![0i8, 1, 0].into(),
        None,
        vec![
            Arc::new(Int32Array::from(vec![Some(7), None, None])) as ArrayRef,
            Arc::new(StringArray::from(vec![None, Some("b"), None])),
        ],
    );
    let words = StringArray::from(vec![Some("a"), None]);
    let codes = DictionaryArray::<Int32Type>::try_new(Int32Array::from(vec![1, 0, 1]), Arc::new(words));
    let arrays: [ArrayRef; 3] =
        [Arc::new(union.unwrap()), Arc::new(codes.unwrap()), Arc::new(Int32Array::from(vec![1, 2, 3]))];
    let fields: Vec<ArrowField> = arrays
        .iter()
        .zip(["u", "w", "n"])
        .map(|(a, name)| ArrowField::new(name, a.data_type().clone(), false))
        .collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays.to_vec()).unwrap();
    let file = Scratch::new("hidden.arrow", &file_of(&[batch]));
    let source = describe(&Environment::of_tests(), file.path(), &[]).unwrap();
    assert_eq!(source.schema.fields().iter().map(|f| f.nullable).collect::<Vec<_>>(), [true, true, false]);
    let nulls: Vec<Vec<bool>> =
        read_all(file.path()).unwrap().iter().map(|row| row.iter().map(Value::is_null).collect()).collect();
    assert_eq!(nulls, [[false, true, false], [false, false, false], [true, true, false]]);
}
