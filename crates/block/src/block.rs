//! A sealed block: its bytes, and the tuple store that reads them.
//!
//! A table that gains or loses a column keeps its blocks' bytes: a block can be made of some of another's columns
//! (`of_columns`), or of the columns of two (`beside`), and shares their memory.
//!
//! ```text
//!  places    column of the block -> part, column of its store
//!  parts     bytes, one run each, with the tuple store over them
//! ```
//!
//! A part may be absent: its metadata is known, and a `Source` brings columns when they are pinned (`residency.rs`).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use arrow_buffer::{Buffer, NullBuffer};
use simd::Bitmap;
use types::{ColumnPredicate, ColumnStatistics, Error, Result, SqlState, Type};
use vector::Vector;

use crate::layout::Extent;
use crate::open::Directory;
use crate::residency::Source;
use crate::sketch::Sketch;
use crate::store::{Rows, TupleStore};
use crate::{CodeSlice, Coding, LayoutKind, PlainSlice, PreparedPredicate, open};

/// What was done to a block since it was opened; tests and EXPLAIN ANALYZE read it.
#[derive(Debug, Default)]
pub struct AccessCounters {
    /// String values that were looked at or handed out one by one. A predicate on a dictionary counts its distinct
    /// values once when it has to see them (LIKE), not the rows.
    pub strings_decoded: AtomicU64,
    /// Selections evaluated on codes.
    pub predicates_on_codes: AtomicU64,
    /// Selections answered by the column's bounds.
    pub predicates_by_bounds: AtomicU64,
}

impl AccessCounters {
    pub fn strings_decoded(&self) -> u64 {
        self.strings_decoded.load(Relaxed)
    }
    pub fn predicates_on_codes(&self) -> u64 {
        self.predicates_on_codes.load(Relaxed)
    }
    pub fn predicates_by_bounds(&self) -> u64 {
        self.predicates_by_bounds.load(Relaxed)
    }
}

/// Bytes of one encoding, or of some of its columns, and their store.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) bytes: Buffer,
    /// Of the encoding.
    pub(crate) length: usize,
    pub(crate) store: Box<dyn TupleStore>,
    /// Extents with the position of their first checksum, for `verify`.
    pub(crate) checked: Vec<(Extent, usize)>,
    pub(crate) checksums_at: usize,
    /// Who brings the columns, where `bytes` are not there.
    pub(crate) source: Option<Arc<dyn Source>>,
}

impl Part {
    fn extents(&self, column: usize) -> &[(Extent, usize)] {
        &self.checked[column * crate::layout::EXTENTS..(column + 1) * crate::layout::EXTENTS]
    }
}

/// An immutable run of rows. Vectors fetched from it share its memory and keep it alive.
#[derive(Debug)]
pub struct Block {
    pub(crate) parts: Vec<Arc<Part>>,
    /// Part, and column of its store, of each column.
    pub(crate) places: Vec<(u32, u32)>,
    pub(crate) layout: LayoutKind,
    pub(crate) rows: usize,
    /// Shared with what was pinned of the block.
    pub(crate) counters: Arc<AccessCounters>,
}

impl Block {
    /// Opens bytes that come from elsewhere: structure, bounds of every offset and code, UTF-8 and checksums are
    /// validated, so that no later access can leave the bytes. The first byte must be aligned to `BLOCK_ALIGNMENT`
    /// (`aligned` copies bytes that are not); bytes past the block's own length are ignored.
    pub fn open(bytes: Buffer) -> Result<Block> {
        let block = open::open(bytes, open::Trust::Nothing).map_err(corrupted)?;
        block.verify()?;
        Ok(block)
    }

    /// Opens bytes that `EncodedBlock::write_into` has just produced in this process: only the structure is read.
    /// Bytes from anywhere else belong to `open`.
    pub fn open_trusted(bytes: Buffer) -> Result<Block> {
        open::open(bytes, open::Trust::Contents).map_err(corrupted)
    }

    /// As `open`, without checking checksums: for tests of the structural validation.
    #[cfg(test)]
    pub(crate) fn open_unverified(bytes: Buffer) -> Result<Block> {
        open::open(bytes, open::Trust::Nothing).map_err(corrupted)
    }

    #[cfg(test)]
    pub(crate) fn extent_covers(&self, column: usize, at: usize) -> bool {
        let (part, column) = self.place(column);
        part.extents(column).iter().any(|(e, _)| (e.offset..e.offset + e.length).contains(&(at as u64)))
    }

    pub(crate) fn from_parts(bytes: Buffer, directory: Directory, store: Box<dyn TupleStore>) -> Block {
        let Directory { kind, rows, length, checked, header, .. } = directory;
        let checksums_at = header.checksums_at as usize;
        Block::of_part(Part { bytes, length, store, checked, checksums_at, source: None }, kind, rows)
    }

    pub(crate) fn of_part(part: Part, layout: LayoutKind, rows: usize) -> Block {
        let places = (0..part.store.columns() as u32).map(|column| (0, column)).collect();
        Block { parts: vec![Arc::new(part)], places, layout, rows, counters: Arc::default() }
    }

    /// The same rows with only these columns, in this order; the bytes stay.
    #[must_use]
    pub fn of_columns(&self, columns: &[usize]) -> Block {
        let mut parts: Vec<Arc<Part>> = Vec::new();
        let mut renumbered = vec![None; self.parts.len()];
        let mut places = Vec::with_capacity(columns.len());
        for column in columns {
            let (part, at) = self.places[*column];
            // Parts of which no column is left are let go.
            let part = *renumbered[part as usize].get_or_insert_with(|| {
                parts.push(self.parts[part as usize].clone());
                parts.len() as u32 - 1
            });
            places.push((part, at));
        }
        Block { parts, places, layout: self.layout, rows: self.rows, counters: Arc::default() }
    }

    /// The columns of this block and behind them those of another with as many rows; the bytes stay where they are.
    #[must_use]
    pub fn beside(&self, right: &Block) -> Block {
        assert_eq!(self.rows, right.rows, "blocks side by side have the same rows");
        let shift = self.parts.len() as u32;
        let places =
            self.places.iter().copied().chain(right.places.iter().map(|(part, at)| (part + shift, *at)));
        Block {
            places: places.collect(),
            parts: self.parts.iter().chain(&right.parts).cloned().collect(),
            layout: self.layout,
            rows: self.rows,
            counters: Arc::default(),
        }
    }

    fn place(&self, column: usize) -> (&Part, usize) {
        let (part, at) = self.places[column];
        (&self.parts[part as usize], at as usize)
    }

    /// A copy of `bytes` that is aligned as `open` wants it.
    pub fn aligned(bytes: &[u8]) -> Buffer {
        Buffer::from_slice_ref::<u8, _>(bytes)
    }

    /// Recomputes every checksum of its columns; those that are not there are read.
    pub fn verify(&self) -> Result<()> {
        for part in &self.parts {
            if let Some(source) = &part.source {
                source.verify()?;
            }
        }
        for column in 0..self.columns() {
            let (part, at) = self.place(column);
            if part.source.is_none() {
                let bytes = part.bytes.as_slice();
                open::verify_extents(part.extents(at), bytes, 0, &bytes[part.checksums_at..])
                    .map_err(|e| corrupted(format!("column {column}: {e}")))?;
            }
        }
        let mut resident = self.parts.iter().filter(|part| part.source.is_none());
        resident.try_for_each(|part| open::verify_metadata(part.bytes.as_slice()).map_err(corrupted))
    }

    pub fn rows(&self) -> usize {
        self.rows
    }
    pub fn columns(&self) -> usize {
        self.places.len()
    }
    /// Bytes of the block, those of columns that were dropped included; its memory may be a little larger.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.length).sum()
    }
    /// The bytes of a block that is there as a whole, as they would be written to a file. Of a block that may be
    /// elsewhere, `to_bytes` has them.
    pub fn as_bytes(&self) -> &[u8] {
        assert!(self.parts[0].source.is_none(), "the block's bytes are not there: use to_bytes");
        &self.parts[0].bytes.as_slice()[..self.parts[0].length]
    }
    /// The bytes of a block as it was encoded, columns that were dropped included; read where they are not there.
    pub fn to_bytes(&self) -> Result<Buffer> {
        match &self.parts[0].source {
            Some(source) => source.to_bytes(),
            None => Ok(self.parts[0].bytes.slice_with_length(0, self.parts[0].length)),
        }
    }
    pub fn layout(&self) -> LayoutKind {
        self.layout
    }
    pub fn ty(&self, column: usize) -> Type {
        let (part, column) = self.place(column);
        part.store.ty(column)
    }
    pub fn coding(&self, column: usize) -> Coding {
        let (part, column) = self.place(column);
        part.store.coding(column)
    }
    pub fn statistics(&self, column: usize) -> &ColumnStatistics {
        let (part, column) = self.place(column);
        part.store.statistics(column)
    }
    pub fn validity(&self, column: usize) -> Option<&NullBuffer> {
        let (part, column) = self.place(column);
        part.store.validity(column)
    }
    pub fn counters(&self) -> &AccessCounters {
        &self.counters
    }
    /// Bytes of a column's extents: what a scan of it has to read.
    pub fn column_bytes(&self, column: usize) -> usize {
        let (part, column) = self.place(column);
        part.extents(column).iter().map(|(extent, _)| extent.length as usize).sum()
    }

    /// Translates a predicate for this block, once; `select_prepared` may then be called for range after range.
    pub fn prepare(&self, column: usize, predicate: &ColumnPredicate) -> PreparedPredicate {
        let (part, at) = self.place(column);
        part.store.prepare(at, predicate, &self.counters).on(column)
    }
    /// Drops from `selection`, one bit per row of the block, the rows that do not pass.
    pub fn select(&self, column: usize, predicate: &ColumnPredicate, selection: &mut Bitmap) {
        let prepared = self.prepare(column, predicate);
        self.select_prepared(&prepared, 0..self.rows, selection);
    }
    /// Drops from `selection`, whose bit 0 is row `rows.start` and which is `rows.len()` long, the rows that fail.
    pub fn select_prepared(&self, predicate: &PreparedPredicate, rows: Range<usize>, selection: &mut Bitmap) {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "rows out of range");
        assert_eq!(rows.len(), selection.len(), "a selection has one bit per row");
        let (part, column) = self.place(predicate.column());
        part.store.select(column, predicate, rows, selection, &self.counters);
    }
    /// Drops the rows whose code is not accepted (`accept[code]`), and NULLs, of a dictionary-coded column, or of a
    /// truncated one with codes of 1 or 2 bytes.
    pub fn select_codes(&self, column: usize, accept: &[bool], rows: Range<usize>, selection: &mut Bitmap) {
        let prepared = PreparedPredicate::accepting(column, accept);
        self.select_prepared(&prepared, rows, selection);
    }
    /// The values of a column at `rows` (a range, or row numbers). Strings of a dictionary-coded column come as a
    /// dictionary vector over `dictionary(column)`; everything else is flat. Ranges of plain numbers, and all string
    /// bytes, are shared with the block, not copied.
    pub fn fetch<'a>(&self, column: usize, rows: impl Into<Rows<'a>>) -> Vector {
        let (part, column) = self.place(column);
        part.store.fetch(column, rows.into(), &self.counters)
    }
    /// As `fetch`, but coded columns come as their codes (`Data::Coded`), which are shared with the block.
    pub fn fetch_codes(&self, column: usize, rows: Range<usize>) -> Vector {
        let (part, column) = self.place(column);
        part.store.fetch_codes(column, rows, &self.counters)
    }
    /// The codes of a dictionary-coded or truncated column, for consumers that work on codes.
    pub fn codes(&self, column: usize) -> Option<CodeSlice<'_>> {
        let (part, column) = self.place(column);
        part.store.codes(column)
    }
    /// The values of an uncoded numeric column.
    pub fn plain(&self, column: usize) -> Option<PlainSlice<'_>> {
        let (part, column) = self.place(column);
        part.store.plain(column)
    }
    pub fn plain_i32(&self, column: usize) -> Option<&[i32]> {
        if let Some(PlainSlice::I32(values)) = self.plain(column) { Some(values) } else { None }
    }
    pub fn plain_i64(&self, column: usize) -> Option<&[i64]> {
        if let Some(PlainSlice::I64(values)) = self.plain(column) { Some(values) } else { None }
    }
    pub fn plain_f64(&self, column: usize) -> Option<&[f64]> {
        if let Some(PlainSlice::F64(values)) = self.plain(column) { Some(values) } else { None }
    }
    /// The sorted distinct values of a dictionary-coded column, flat and free of NULL; one allocation per block and
    /// column, shared by all who ask.
    pub fn dictionary(&self, column: usize) -> Option<Arc<Vector>> {
        let (part, column) = self.place(column);
        part.store.dictionary(column)
    }
    /// The sketch of a column's values, made from the block (encoding makes it on the way: prefer that one).
    pub fn sketch(&self, column: usize) -> Sketch {
        let mut sketch = Sketch::default();
        match self.dictionary(column) {
            Some(values) => crate::encode::add_to_sketch(&values, &mut sketch),
            None => crate::encode::add_to_sketch(&self.fetch(column, 0..self.rows), &mut sketch),
        }
        sketch
    }
}

pub(crate) fn corrupted(what: String) -> Error {
    Error::new(SqlState::DataCorrupted, format!("block is damaged: {what}"))
}
