//! Which rows of a data file its table has deleted.
//!
//! Bitmaps are read for their own file only. Files of positions name rows of many data files, and files of values
//! apply to many: a scan reads each once ([`Cache`]) and keeps it, which is memory asked for.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::Crc;
use plan::lake::{Deletions, LakeFile, StoredColumn};
use plan::{FileFormat, FileSource};
use types::nested::encoding::push_slot;
use types::{Error, Result, SqlState, Type};
use vector::Vector;

use super::row_set::RowSet;
use super::stored::{Found, Shape, place, shape};
use crate::input::Input;
use crate::{Environment, parquet};

/// Bytes that a row number or a key takes in a set, at most, besides the key's own.
const ROW_BYTES: u64 = 48;
/// Bytes of a bitmap, at most.
const BITMAP_BYTES_MAX: u64 = 1 << 30;

/// What files of deletions say, for all data files of a scan.
#[derive(Default)]
pub(crate) struct Cache {
    /// By file, and by the name of the data file.
    positions: Mutex<HashMap<String, Arc<HashMap<String, Vec<u64>>>>>,
    values: Mutex<HashMap<String, Arc<HashSet<Vec<u8>>>>>,
}

/// The deletions of a data file.
#[derive(Default)]
pub(crate) struct Deleted {
    /// Rows by number.
    pub rows: Vec<RowSet>,
    /// Rows by values.
    pub values: Vec<DeletedValues>,
}

/// Rows that are deleted because of their values.
pub(crate) struct DeletedValues {
    /// The columns that are compared.
    pub columns: Vec<StoredColumn>,
    keys: Arc<HashSet<Vec<u8>>>,
}

impl Deleted {
    /// Reads what is deleted of a file; `None` where nothing is.
    pub(crate) fn load(environment: &Environment, lake: &LakeFile, cache: &Cache) -> Result<Option<Deleted>> {
        let mut deleted = Deleted::default();
        for deletions in &lake.deletions {
            match deletions {
                Deletions::Vector { path, offset, bytes, rows } => {
                    let bitmap = bitmap(environment, path, *offset, *bytes)?;
                    deleted.rows.push(set(path, &bitmap, *rows)?);
                }
                Deletions::Inline { bitmap, rows } => {
                    deleted.rows.push(set("the table's log", bitmap, *rows)?);
                }
                Deletions::Positions { path, data_path } => {
                    let all = cache.positions(environment, path)?;
                    if let Some(rows) = all.get(data_path) {
                        environment.ask(rows.len() as u64 * ROW_BYTES)?;
                        deleted.rows.push(RowSet::of(rows.clone()));
                    }
                }
                Deletions::Values { path, columns } => {
                    let keys = cache.values(environment, path, columns)?;
                    deleted.values.push(DeletedValues { columns: columns.clone(), keys });
                }
            }
        }
        Ok((!deleted.rows.is_empty() || !deleted.values.is_empty()).then_some(deleted))
    }
}

impl DeletedValues {
    /// Says of rows whether they are kept; `columns` are those that are compared, with one value for each row.
    pub(crate) fn drop_from(&self, kept: &mut [bool], columns: &[Vector]) {
        let mut key = Vec::new();
        for (row, kept) in kept.iter_mut().enumerate().filter(|(_, kept)| **kept) {
            key.clear();
            columns.iter().for_each(|column| push_slot(&column.value(row), column.ty(), &mut key));
            *kept = !self.keys.contains(&key);
        }
    }
}

fn set(path: &str, bitmap: &[u8], rows: u64) -> Result<RowSet> {
    let set = RowSet::read(bitmap).filter(|set| set.len() == rows);
    set.ok_or_else(|| damaged(path, "its bitmap of deleted rows is damaged"))
}

fn damaged(path: &str, what: &str) -> Error {
    Error::new(SqlState::DataCorrupted, format!("cannot read deleted rows from \"{path}\": {what}"))
}

/// A bitmap in a file: its length in four bytes, the bytes, their checksum.
fn bitmap(environment: &Environment, path: &str, offset: u64, bytes: u64) -> Result<Vec<u8>> {
    if bytes > BITMAP_BYTES_MAX {
        return Err(damaged(path, "its bitmap is too long"));
    }
    let input = Input::open(environment, path)?;
    let end = offset.checked_add(bytes + 8).filter(|end| *end <= input.length);
    let end = end.ok_or_else(|| damaged(path, "the file ends before its bitmap does"))?;
    environment.ask(bytes)?;
    let whole = input.exact(offset, end).map_err(|e| input.failed(&e))?;
    let number = |at: usize| whole.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
    let body = whole.get(4..4 + bytes as usize).unwrap_or_default();
    if number(0).map(u64::from) != Some(bytes) {
        return Err(damaged(path, "its bitmap has another length than the table says"));
    }
    let mut checksum = Crc::new();
    checksum.update(body);
    if number(4 + bytes as usize) != Some(checksum.sum()) {
        return Err(damaged(path, "the checksum of its bitmap is wrong"));
    }
    Ok(body.to_vec())
}

/// The source of one Parquet file.
pub(crate) fn source(path: &str, fields: Vec<types::Field>) -> FileSource {
    FileSource {
        paths: [path.to_owned()].into(),
        format: FileFormat::Parquet,
        schema: types::Schema::new(fields),
        text: Default::default(),
        rows: None,
        statistics: vec![],
        parts: Arc::default(),
    }
}

/// Hands the rows of some columns of a Parquet file to `visit`, with the table's types.
fn each_row(
    environment: &Environment,
    path: &str,
    columns: &[StoredColumn],
    visit: &mut dyn FnMut(&[Vector], usize) -> Result<()>,
) -> Result<()> {
    let (fields, found) = parquet::found(environment, path)?;
    let mut wanted = Vec::new();
    let mut shapes: Vec<Shape> = Vec::new();
    for column in columns {
        let at = place(path, column, &found)?
            .ok_or_else(|| damaged(path, &format!("it has no column {}", column.names.join(", "))))?;
        let own: &Found = &found[at];
        shapes.push(shape(path, column, own)?);
        wanted.push(at);
    }
    let reader = crate::open(environment, &source(path, fields), &wanted, 1 << 14)?;
    for unit in 0..reader.units()? {
        reader.read(unit, &mut |batch| {
            let vectors = batch.columns.into_iter().zip(&shapes).zip(columns);
            let vectors: Vec<Vector> = vectors
                .map(|((vector, shape), column)| shape.applied(path, vector, column.ty))
                .collect::<Result<_>>()?;
            visit(&vectors, batch.rows)?;
            Ok(true)
        })?;
    }
    Ok(())
}

/// The columns of a file of positions, with the identifiers that Iceberg keeps for them.
fn position_columns() -> [StoredColumn; 2] {
    let column = |id, name: &str, ty| StoredColumn {
        id: Some(id),
        names: vec![name.to_owned()],
        ty,
        inner: vec![],
        missing: types::Value::Null,
    };
    [column(2_147_483_546, "file_path", Type::Text), column(2_147_483_545, "pos", Type::BigInt)]
}

impl Cache {
    fn positions(&self, environment: &Environment, path: &str) -> Result<Arc<HashMap<String, Vec<u64>>>> {
        if let Some(known) = self.positions.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(known.clone());
        }
        let mut all: HashMap<String, Vec<u64>> = HashMap::new();
        each_row(environment, path, &position_columns(), &mut |columns, rows| {
            environment.ask(rows as u64 * 8)?;
            for row in 0..rows {
                let (file, place) = (columns[0].value(row), columns[1].value(row));
                let place = place.as_i128().and_then(|place| u64::try_from(place).ok());
                let (Some(file), Some(place)) = (file.as_text(), place) else {
                    return Err(damaged(path, "a row names no file or no place in it"));
                };
                match all.get_mut(file) {
                    Some(rows) => rows.push(place),
                    None => drop(all.insert(file.to_owned(), vec![place])),
                }
            }
            Ok(())
        })?;
        let all = Arc::new(all);
        self.positions.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), all.clone());
        Ok(all)
    }

    fn values(
        &self,
        environment: &Environment,
        path: &str,
        columns: &[StoredColumn],
    ) -> Result<Arc<HashSet<Vec<u8>>>> {
        if let Some(known) = self.values.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(known.clone());
        }
        let mut keys = HashSet::new();
        each_row(environment, path, columns, &mut |vectors, rows| {
            let mut bytes = 0;
            for row in 0..rows {
                let mut key = Vec::new();
                vectors.iter().for_each(|column| push_slot(&column.value(row), column.ty(), &mut key));
                bytes += key.len() as u64 + ROW_BYTES;
                keys.insert(key);
            }
            environment.ask(bytes)
        })?;
        let keys = Arc::new(keys);
        self.values.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), keys.clone());
        Ok(keys)
    }
}
