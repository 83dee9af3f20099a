//! Rows of the host program that are read where they lie: Arrow data under a name that stands for a file.
//!
//! A `Held` keeps the rows alive, and a reader does so while it reads. Columns of fixed width and validity are shared
//! with the host, not copied.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use plan::file::TextOptions;
use plan::{FileFormat, FileSource};
use types::{Error, Field, Result, Schema, SqlState};
use vector::Batch;

use crate::live::{Live, Overflow};
use crate::{Decoded, Reader, Window, decode};

/// Rows of a unit: as those of a Parquet file, enough for a work order and few enough for all workers.
const UNIT_ROWS: usize = 1 << 17;

/// Rows that the host keeps for as long as this lives.
#[derive(Debug)]
pub struct Held {
    path: String,
    /// What the rows are called in errors.
    label: String,
    schema: SchemaRef,
    rows: HeldBatches,
}

#[derive(Debug)]
enum HeldBatches {
    Ready(Vec<RecordBatch>),
    Live(Live),
}

static HELD: Mutex<Option<HashMap<String, Weak<Held>>>> = Mutex::new(None);

/// Holds the batches and says what they are as a relation; `label` is what errors call it. Columns of types that there are
/// none for are refused when they are read, not before.
pub fn hold(label: &str, schema: SchemaRef, batches: Vec<RecordBatch>) -> (FileSource, Arc<Held>) {
    let rows = batches.iter().map(|b| b.num_rows() as u64).sum();
    hold_rows(label, schema, HeldBatches::Ready(batches), Some(rows))
}

/// As `hold`, for batches that come while they are read, and once. They are kept: in memory up to `bytes_max`, and beyond
/// in files that `overflow` makes.
pub fn hold_live(
    label: &str,
    source: Box<dyn RecordBatchReader + Send>,
    bytes_max: u64,
    overflow: Overflow,
) -> (FileSource, Arc<Held>) {
    let live = Live::new(source, label, bytes_max, overflow);
    hold_rows(label, live.schema().clone(), HeldBatches::Live(live), None)
}

fn hold_rows(
    label: &str,
    schema: SchemaRef,
    held: HeldBatches,
    rows: Option<u64>,
) -> (FileSource, Arc<Held>) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let path = format!("memory:{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let source = FileSource {
        paths: [path.clone()].into(),
        format: FileFormat::Memory,
        schema: Schema::new(told_apart(decode::fields(&schema))),
        text: TextOptions::default(),
        rows,
        statistics: vec![],
        parts: Arc::default(),
    };
    let held = Arc::new(Held { path: path.clone(), label: label.to_owned(), schema, rows: held });
    let mut all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    all.get_or_insert_with(HashMap::new).insert(path, Arc::downgrade(&held));
    (source, held)
}

/// Columns of the same name get numbers behind it, as there is no other way to ask for one of them: `a`, `a_1`.
fn told_apart(mut fields: Vec<Field>) -> Vec<Field> {
    let mut known: HashSet<String> = fields.iter().map(|field| field.name.clone()).collect();
    if known.len() == fields.len() {
        return fields;
    }
    let mut seen = HashSet::new();
    for field in &mut fields {
        if seen.insert(field.name.clone()) {
            continue;
        }
        let numbered = (1u64..).map(|number| format!("{}_{number}", field.name));
        if let Some(name) = numbered.into_iter().find(|name| !known.contains(name)) {
            known.insert(name.clone());
            seen.insert(name.clone());
            field.name = name;
        }
    }
    fields
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(all) = HELD.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            all.remove(&self.path);
        }
    }
}

/// The reader of rows that the host program holds.
pub struct HeldRows {
    held: Arc<Held>,
    columns: Vec<usize>,
    types: Schema,
    batch_rows: usize,
    /// Batch, and its rows from and to. Live rows have one entry, which stands for all of them.
    units: Vec<(usize, usize, usize)>,
    /// The live batch that was asked for last, and its number.
    current: Mutex<(usize, Option<RecordBatch>)>,
}

impl HeldRows {
    /// Opens the held rows that the source names; an error when their `Held` is dropped or a column has no type.
    pub fn open(source: &FileSource, columns: &[usize], batch_rows: usize) -> Result<Self> {
        let path = source.paths.first().map_or("", String::as_str);
        let all = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        let held = all.as_ref().and_then(|all| all.get(path)).and_then(Weak::upgrade);
        drop(all);
        let gone = || Error::new(SqlState::UndefinedTable, "the rows are not registered any more");
        let held = held.ok_or_else(gone)?;
        decode::check_readable(&held.label, &held.schema, columns)?;
        let mut units = Vec::new();
        match &held.rows {
            HeldBatches::Live(_) => units.push((0, 0, 0)),
            HeldBatches::Ready(batches) => {
                for (number, batch) in batches.iter().enumerate() {
                    for from in (0..batch.num_rows()).step_by(UNIT_ROWS) {
                        units.push((number, from, (from + UNIT_ROWS).min(batch.num_rows())));
                    }
                }
            }
        }
        let (columns, types) = (columns.to_vec(), source.schema.clone());
        let batch_rows = batch_rows.max(1);
        Ok(HeldRows { held, columns, types, batch_rows, units, current: Mutex::default() })
    }

    /// Shows these rows of a batch; false when no more are wanted.
    fn show(
        &self,
        batch: &RecordBatch,
        mut from: usize,
        to: usize,
        visit: &mut dyn FnMut(&mut dyn Window) -> Result<bool>,
    ) -> Result<bool> {
        let label = &self.held.label;
        while from < to {
            let rows = self.batch_rows.min(to - from);
            let vectors = decode::guarded(label, "Arrow", || {
                let read = |column: &usize| {
                    let field = &self.types.fields()[*column];
                    let array = batch.column(*column).slice(from, rows);
                    decode::column(label, &field.name, array.as_ref(), field.ty)
                };
                self.columns.iter().map(read).collect::<Result<Vec<_>>>()
            })?;
            if !visit(&mut Decoded(Batch::new(vectors, rows)))? {
                return Ok(false);
            }
            from += rows;
        }
        Ok(true)
    }

    fn current(&self) -> std::sync::MutexGuard<'_, (usize, Option<RecordBatch>)> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader for HeldRows {
    fn units(&self) -> Result<u64> {
        Ok(self.units.len() as u64)
    }
    fn is_live(&self) -> bool {
        matches!(self.held.rows, HeldBatches::Live(_))
    }
    fn advance(&self) -> Result<bool> {
        let HeldBatches::Live(live) = &self.held.rows else { return Ok(false) };
        let at = self.current().0;
        let batch = live.batch(at)?;
        let there = batch.is_some();
        *self.current() = (at + 1, batch);
        Ok(there)
    }
    fn scan(&self, unit: u64, visit: &mut dyn FnMut(&mut dyn Window) -> Result<bool>) -> Result<()> {
        let Some((number, from, to)) = self.units.get(unit as usize).copied() else { return Ok(()) };
        match &self.held.rows {
            HeldBatches::Ready(batches) => self.show(&batches[number], from, to, visit).map(drop),
            HeldBatches::Live(_) => {
                let batch = self.current().1.take();
                batch.map_or(Ok(true), |batch| self.show(&batch, 0, batch.num_rows(), visit)).map(drop)
            }
        }
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
        let (source, held) =
            hold("numbers", batch.schema(), vec![batch.slice(0, 1000), batch.slice(1000, 299_000)]);
        let reader = crate::open(&crate::Environment::of_tests(), &source, &[1, 0], 4096).unwrap();
        assert!(reader.units().unwrap() > 2);
        let found = rows(reader.as_ref()).unwrap();
        assert_eq!(found.len(), 300_000);
        assert_eq!(found[1001], vec![Value::text("w1001"), Value::Null]);
        assert_eq!(found[299_998], vec![Value::text("w299998"), Value::I64(299_998)]);
        drop((held, reader));
        assert_eq!(
            crate::open(&crate::Environment::of_tests(), &source, &[0], 4096).err().unwrap().state(),
            SqlState::UndefinedTable
        );
    }
}
