//! What a join holds: the batches while they are collected, then table, columns and marks.

use std::sync::OnceLock;

use hash::{JoinTable, KeyBounds, KeyCodes, key_hashes};
use vector::Vector;

use super::crowds::Crowds;
use super::payload::TablePayload;
use super::row_marks::RowMarks;

/// Build rows as they came, narrowed.
pub(super) struct BuildBatch {
    /// The tag of the unit that the rows come from.
    pub tag: u64,
    /// The number of rows.
    pub rows: usize,
    /// The kept columns.
    pub columns: Vec<Vector>,
    /// The keys, flat.
    pub keys: Vec<Vector>,
    /// Bounds of each key, when all are integers; else empty.
    pub bounds: Vec<KeyBounds>,
    /// Bounds of the kept columns that are integers, where they may go into the table; else empty.
    pub column_bounds: Vec<KeyBounds>,
    /// Bytes of the columns. Assembly reads these numbers instead of the vectors, which another core has made: for
    /// thousands of batches that saves half a millisecond, in which all workers wait.
    pub column_bytes: usize,
    /// Bytes of the columns and keys together.
    pub bytes: usize,
    /// The rows' entries in a table with payload, made by the first that needs them.
    pub entries: OnceLock<Vec<u32>>,
}

/// How keys are told apart.
pub(super) enum Keys {
    /// Codes: equal codes are equal keys.
    Codes(KeyCodes),
    /// Hashes, with the build's key columns to compare.
    Hashes { columns: Vec<Vector> },
}

impl Keys {
    /// Writes one code or hash a row to `out`, for look-ups in the table.
    pub fn encode(&self, keys: &[Vector], rows: usize, null_equals_null: bool, out: &mut Vec<u64>) {
        match self {
            Keys::Codes(codes) => codes.encode(keys, rows, out),
            Keys::Hashes { .. } => key_hashes(keys, rows, null_equals_null, out),
        }
    }
}

/// The build side, complete.
pub(super) struct Built {
    /// The number of build rows.
    pub rows: usize,
    /// The table from codes or hashes to rows or payload.
    pub table: JoinTable,
    /// How the keys of the table are encoded and compared.
    pub keys: Keys,
    /// The kept columns, all rows; row numbers of the table are places in them. None of them where the table has
    /// them.
    pub columns: Vec<Vector>,
    /// Where the table's entries are the kept columns, and not row numbers.
    pub payload: Option<TablePayload>,
    /// Build rows that matched, when they are asked for.
    pub matched: Option<RowMarks>,
    /// Rows with a NULL among the keys, ascending, where NULL matches nothing and such rows are kept.
    pub null_rows: Vec<u32>,
    /// Key columns for comparing pairs with NULLs; empty with a single key, where all of them are unknown.
    pub compared_keys: Vec<Vector>,
    /// Keys of many rows, where the residual is a range.
    pub crowds: OnceLock<Crowds>,
    /// Room for the above.
    pub _reservation: memory::Reservation,
}

impl Built {
    /// A kept column at what the table found, which is all there.
    pub fn gather(&self, kept: usize, found: &[u32]) -> Vector {
        match &self.payload {
            Some(payload) => payload.gather(kept, found, false),
            None => self.columns[kept].gather(found),
        }
    }
    /// The same, NULL where nothing was found.
    pub fn gather_nullable(&self, kept: usize, found: &[u32]) -> Vector {
        match &self.payload {
            Some(payload) => payload.gather(kept, found, true),
            None => self.columns[kept].gather_nullable(found),
        }
    }
}
