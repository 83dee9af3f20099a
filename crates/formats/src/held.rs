//! Rows of the host program that are read where they lie: Arrow data under a name that stands for a file.
//!
//! Whoever holds a `Held` keeps the rows; a reader keeps them as well while it reads. Columns of fixed width and
//! validity are shared with the host, not copied.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use plan::file::TextOptions;
use plan::{FileFormat, FileSource};
use types::{Error, Result, Schema, SqlState};
use vector::Batch;

use crate::{Decoded, Reader, Window, decode};

/// Rows of a unit: as those of a Parquet file, enough for a work order and few enough for all workers.
const UNIT_ROWS: usize = 1 << 17;

/// Rows that the host keeps for as long as this lives.
#[derive(Debug)]
pub struct Held {
    path: String,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

static HELD: Mutex<Option<HashMap<String, Weak<Held>>>> = Mutex::new(None);

/// Holds the batches and says what they are as a relation. Columns of types that there are none for are refused when
/// they are read, not before.
pub fn hold(schema: SchemaRef, batches: Vec<RecordBatch>) -> (FileSource, Arc<Held>) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let path = format!("memory:{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let rows = batches.iter().map(|b| b.num_rows() as u64).sum();
    let source = FileSource {
        paths: [path.clone()].into(),
        format: FileFormat::Memory,
        schema: Schema::new(decode::fields(&schema)),
        text: TextOptions::default(),
        rows: Some(rows),
        statistics: vec![],
        parts: Arc::default(),
    };
    let held = Arc::new(Held { path: path.clone(), schema, batches });
    let mut all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    all.get_or_insert_with(HashMap::new).insert(path, Arc::downgrade(&held));
    (source, held)
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(all) = HELD.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            all.remove(&self.path);
        }
    }
}

pub struct HeldRows {
    held: Arc<Held>,
    columns: Vec<usize>,
    types: Schema,
    batch_rows: usize,
    /// Batch, and its rows from and to.
    units: Vec<(usize, usize, usize)>,
}

impl HeldRows {
    pub fn open(source: &FileSource, columns: &[usize], batch_rows: usize) -> Result<Self> {
        let path = source.paths.first().map_or("", String::as_str);
        let all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        let held = all.as_ref().and_then(|all| all.get(path)).and_then(Weak::upgrade);
        drop(all);
        let gone = || Error::new(SqlState::UndefinedTable, "the rows are not registered any more");
        let held = held.ok_or_else(gone)?;
        decode::check_readable("registered rows", &held.schema, columns)?;
        let mut units = Vec::new();
        for (number, batch) in held.batches.iter().enumerate() {
            for from in (0..batch.num_rows()).step_by(UNIT_ROWS) {
                units.push((number, from, (from + UNIT_ROWS).min(batch.num_rows())));
            }
        }
        let columns = columns.to_vec();
        Ok(HeldRows { held, columns, types: source.schema.clone(), batch_rows: batch_rows.max(1), units })
    }
}

impl Reader for HeldRows {
    fn units(&self) -> Result<u64> {
        Ok(self.units.len() as u64)
    }
    fn scan(&self, unit: u64, visit: &mut dyn FnMut(&mut dyn Window) -> Result<bool>) -> Result<()> {
        let Some((number, mut from, to)) = self.units.get(unit as usize).copied() else { return Ok(()) };
        let batch = &self.held.batches[number];
        while from < to {
            let rows = self.batch_rows.min(to - from);
            let vectors = decode::guarded("registered rows", "Arrow", || {
                let read = |column: &usize| {
                    let field = &self.types.fields()[*column];
                    let array = batch.column(*column).slice(from, rows);
                    decode::column("registered rows", &field.name, array.as_ref(), field.ty)
                };
                self.columns.iter().map(read).collect::<Result<Vec<_>>>()
            })?;
            if !visit(&mut Decoded(Batch::new(vectors, rows)))? {
                return Ok(());
            }
            from += rows;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::rows;
    use arrow_array::{ArrayRef, Int64Array, StringArray};
    use types::Value;

    #[test]
    fn rows_are_read_while_they_are_held() {
        let numbers: ArrayRef =
            Arc::new(Int64Array::from_iter((0..300_000).map(|n| (n % 7 != 0).then_some(n))));
        let words: ArrayRef = Arc::new(StringArray::from_iter_values((0..300_000).map(|n| format!("w{n}"))));
        let batch = RecordBatch::try_from_iter([("n", numbers), ("w", words)]).unwrap();
        let (source, held) = hold(batch.schema(), vec![batch.slice(0, 1000), batch.slice(1000, 299_000)]);
        let reader = crate::open(&source, &[1, 0], 4096).unwrap();
        assert!(reader.units().unwrap() > 2);
        let found = rows(reader.as_ref()).unwrap();
        assert_eq!(found.len(), 300_000);
        assert_eq!(found[1001], vec![Value::text("w1001"), Value::Null]);
        assert_eq!(found[299_998], vec![Value::text("w299998"), Value::I64(299_998)]);
        drop((held, reader));
        assert_eq!(crate::open(&source, &[0], 4096).err().unwrap().state(), SqlState::UndefinedTable);
    }
}
