//! Reading generated tables whole, and their columns as plain vectors.

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int32Type, Int64Type};
use arrow_array::{RecordBatch, StringViewArray};
use arrow_schema::DataType;
use generators::Source;
use tpchgen_arrow::arrow::compute::concat_batches;

/// The batches of a table cut into `parts` parts, in order.
pub fn batches(source: &Source, table: &str, parts: usize) -> Vec<RecordBatch> {
    let part = |part| source.batches(table, part, parts).unwrap().map(Result::unwrap);
    (0..parts).flat_map(part).collect()
}

/// The whole table as one batch.
pub fn table(source: &Source, table: &str) -> RecordBatch {
    whole(source, table, &batches(source, table, 1))
}

pub fn whole(source: &Source, table: &str, batches: &[RecordBatch]) -> RecordBatch {
    concat_batches(&source.suite().schema(table).unwrap(), batches).unwrap()
}

/// An integer, date or decimal (in hundredths) column.
pub fn integers(batch: &RecordBatch, column: &str) -> Vec<i64> {
    let array = batch.column_by_name(column).unwrap_or_else(|| panic!("no column {column}"));
    match array.data_type() {
        DataType::Int32 => array.as_primitive::<Int32Type>().values().iter().map(|&v| i64::from(v)).collect(),
        DataType::Int64 => array.as_primitive::<Int64Type>().values().to_vec(),
        DataType::Date32 => {
            array.as_primitive::<Date32Type>().values().iter().map(|&v| i64::from(v)).collect()
        }
        DataType::Decimal128(15, 2) => array
            .as_primitive::<Decimal128Type>()
            .values()
            .iter()
            .map(|&v| i64::try_from(v).unwrap())
            .collect(),
        other => panic!("{column} is {other}"),
    }
}

pub fn strings<'a>(batch: &'a RecordBatch, column: &str) -> &'a StringViewArray {
    batch.column_by_name(column).unwrap_or_else(|| panic!("no column {column}")).as_string_view()
}
