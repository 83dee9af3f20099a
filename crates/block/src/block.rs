//! A sealed block: its bytes, and the tuple store that reads them.
//!
//! A table that gains or loses a column keeps its blocks' bytes: a block can be made of some of another's columns
//! (`of_columns`), or of the columns of two (`beside`), and shares their memory.
//!
//! ```text
//!  places    column of the block -> part, column of its store
//!  parts     bytes, one run each, with the tuple store over them
//! ```

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use arrow_buffer::{Buffer, NullBuffer};
use simd::Bitmap;
use types::{ColumnPredicate, ColumnStatistics, Error, Result, SqlState, Type};
use vector::Vector;

use crate::layout::Extent;
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

/// Bytes of one encoding, and their store. Blocks of a table that gained or lost columns share parts.
#[derive(Debug)]
pub struct Part {
    /// What whoever keeps blocks calls this run of bytes.
    identity: OnceLock<u64>,
    bytes: Buffer,
    length: usize,
    store: Box<dyn TupleStore>,
    /// Extents with the position of their first checksum, for `verify`.
    checked: Vec<(Extent, usize)>,
    checksums_at: usize,
}

impl Part {
    /// The bytes as they were encoded, and as they would be written to a file.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes.as_slice()[..self.length]
    }
    /// The name that these bytes go by where they are kept: `name()` gives it when they have none yet.
    pub fn identity(&self, name: impl FnOnce() -> u64) -> u64 {
        *self.identity.get_or_init(name)
    }
    fn extents(&self, column: usize) -> &[(Extent, usize)] {
        &self.checked[column * crate::layout::EXTENTS..(column + 1) * crate::layout::EXTENTS]
    }
}

/// An immutable run of rows. Vectors fetched from it share its memory and keep it alive.
#[derive(Debug)]
pub struct Block {
    parts: Vec<Arc<Part>>,
    /// Part, and column of its store, of each column.
    places: Vec<(u32, u32)>,
    layout: LayoutKind,
    rows: usize,
    counters: AccessCounters,
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

    pub(crate) fn from_parts(
        bytes: Buffer,
        length: usize,
        layout: LayoutKind,
        rows: usize,
        store: Box<dyn TupleStore>,
        checked: Vec<(Extent, usize)>,
        checksums_at: usize,
    ) -> Block {
        let places = (0..store.columns() as u32).map(|column| (0, column)).collect();
        let identity = OnceLock::new();
        let parts = vec![Arc::new(Part { identity, bytes, length, store, checked, checksums_at })];
        Block { parts, places, layout, rows, counters: AccessCounters::default() }
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
        Block { parts, places, layout: self.layout, rows: self.rows, counters: AccessCounters::default() }
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
            counters: AccessCounters::default(),
        }
    }

    /// The runs of bytes that the columns lie in.
    pub fn parts(&self) -> &[Arc<Part>] {
        &self.parts
    }
    /// Part, and column of its store, of each column.
    pub fn places(&self) -> &[(u32, u32)] {
        &self.places
    }

    /// A block of columns of other blocks' parts, as `parts` and `places` tell them. None when there is no such column,
    /// or the parts' rows differ.
    pub fn assembled(blocks: &[Arc<Block>], places: &[(u32, u32)]) -> Option<Block> {
        let first = blocks.first()?;
        let whole = |block: &Arc<Block>| block.parts.len() == 1 && block.rows == first.rows;
        let there = |(part, column): &(u32, u32)| {
            blocks.get(*part as usize).is_some_and(|b| (*column as usize) < b.parts[0].store.columns())
        };
        (blocks.iter().all(whole) && places.iter().all(there)).then(|| Block {
            parts: blocks.iter().map(|block| block.parts[0].clone()).collect(),
            places: places.to_vec(),
            layout: first.layout,
            rows: first.rows,
            counters: AccessCounters::default(),
        })
    }

    fn place(&self, column: usize) -> (&Part, usize) {
        let (part, at) = self.places[column];
        (&self.parts[part as usize], at as usize)
    }

    /// A copy of `bytes` that is aligned as `open` wants it.
    pub fn aligned(bytes: &[u8]) -> Buffer {
        Buffer::from_slice_ref::<u8, _>(bytes)
    }

    /// Recomputes every checksum of its columns.
    pub fn verify(&self) -> Result<()> {
        for column in 0..self.columns() {
            let (part, at) = self.place(column);
            let bytes = part.bytes.as_slice();
            for (extent, first) in part.extents(at) {
                let data = &bytes[extent.offset as usize..(extent.offset + extent.length) as usize];
                for (i, chunk) in data.chunks(crate::layout::CHECKSUM_CHUNK).enumerate() {
                    let stored = crate::layout::take_u64(bytes, part.checksums_at + (first + i) * 8);
                    if stored != Some(simd::checksum(chunk)) {
                        let at = extent.offset as usize + i * crate::layout::CHECKSUM_CHUNK;
                        return Err(corrupted(format!(
                            "the checksum of the 64 KiB at byte {at} does not match"
                        )));
                    }
                }
            }
        }
        self.parts.iter().try_for_each(|part| open::verify_metadata(part.bytes.as_slice())).map_err(corrupted)
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
    /// The bytes of a block as it was encoded, as they would be written to a file.
    pub fn as_bytes(&self) -> &[u8] {
        &self.parts[0].bytes.as_slice()[..self.parts[0].length]
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

fn corrupted(what: String) -> Error {
    Error::new(SqlState::DataCorrupted, format!("block is damaged: {what}"))
}
