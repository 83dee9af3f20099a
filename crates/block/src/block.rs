//! A sealed block: its bytes, and the tuple store that reads them.
//!
//! A table that gains or loses a column keeps its blocks' bytes: a block can be made of some of another's columns
//! (`of_columns`), or of the columns of two side by side (`beside`), and shares their memory.
//!
//! ```text
//!  places    column of the block -> part, column of its store
//!  parts     bytes, one run each, with the tuple store over them
//!  indices   of columns, in the bytes of a part or in bytes of their own (`with_indices`)
//! ```
//!
//! A part may be absent: its metadata is known, and a `Source` brings columns when they are pinned (`residency.rs`).

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use arrow_buffer::{Buffer, NullBuffer};
use simd::Bitmap;
use types::{ColumnPredicate, ColumnStatistics, Error, Result, SqlState, Type};
use vector::Vector;

use crate::index::{EncodedIndices, Index, ZoneAggregate};
use crate::layout::{Extent, Header};
use crate::open::Directory;
use crate::residency::{Metadata, Source};
use crate::sketch::Sketch;
use crate::store::{Rows, TupleStore};
use crate::stripe::Stripe;
use crate::{
    AccessCounters, AccessPath, CodeSlice, Coding, IndexKind, IndexSpecification, LayoutKind, PlainSlice,
    PreparedPredicate, access, open,
};

/// Bytes of one encoding, or of some of its columns, and their store. Blocks of a table that gained or lost columns share
/// parts.
#[derive(Debug)]
pub struct Part {
    /// This run's name in the catalog, once it has one.
    identity: OnceLock<u64>,
    pub(crate) bytes: Buffer,
    /// Bytes of the encoding; the memory may be a little longer.
    pub(crate) length: usize,
    pub(crate) store: Box<dyn TupleStore>,
    /// Extents with the position of their first checksum, for `verify`.
    pub(crate) checked: Vec<(Extent, usize)>,
    pub(crate) checksums_at: usize,
    /// Identifies these bytes to indices that are kept apart from them.
    pub(crate) metadata_checksum: u64,
    /// Reads the columns, where `bytes` are not in memory.
    pub(crate) source: Option<Arc<dyn Source>>,
    /// Indices that lie in these bytes, with the number of their section.
    pub(crate) indices: Vec<(u32, Arc<Index>)>,
}

/// An index of one of the block's columns.
#[derive(Clone, Debug)]
pub(crate) struct BlockIndex {
    pub(crate) column: usize,
    pub(crate) kind: IndexKind,
    pub(crate) bytes: usize,
    /// Number of its section, in the part that holds its column or in its own part `beside`.
    pub(crate) section: u32,
    /// `None` when it is not there: a source brings it when it is pinned.
    pub(crate) index: Option<Arc<Index>>,
    /// The part of its own that it lies in, if it does not lie with the rows.
    pub(crate) beside: Option<Arc<Part>>,
}

impl BlockIndex {
    fn new(column: usize, section: u32, index: Arc<Index>, beside: Option<Arc<Part>>) -> Self {
        BlockIndex { column, kind: index.kind(), bytes: index.bytes, section, index: Some(index), beside }
    }
}

impl Part {
    pub(crate) fn new(
        bytes: Buffer,
        length: usize,
        header: &Header,
        store: Box<dyn TupleStore>,
        checked: Vec<(Extent, usize)>,
    ) -> Part {
        Part {
            identity: OnceLock::new(),
            bytes,
            length,
            store,
            checked,
            checksums_at: header.checksums_at as usize,
            metadata_checksum: header.metadata_checksum,
            source: None,
            indices: Vec::new(),
        }
    }

    /// What is known of the block without its columns, as it stands at the beginning of its bytes.
    pub fn metadata_bytes(&self) -> Option<&[u8]> {
        match &self.source {
            Some(source) => Some(source.metadata_bytes()),
            None => Metadata::length(self.bytes.as_slice(), self.length as u64)
                .ok()
                .map(|length| &self.bytes.as_slice()[..length]),
        }
    }
    /// Bytes of the encoding.
    pub fn length(&self) -> usize {
        self.length
    }
    /// The bytes as they were encoded, and as they would be written to a file; read where they are not there.
    pub fn to_bytes(&self) -> Result<Buffer> {
        match &self.source {
            Some(source) => source.to_bytes(),
            None => Ok(self.bytes.slice_with_length(0, self.length)),
        }
    }
    /// What reads the columns of a part that is not in memory as a whole; `None` when it is.
    pub fn source(&self) -> Option<&dyn Source> {
        self.source.as_deref()
    }
    /// The name that these bytes go by where they are kept: `name()` gives it when they have none yet.
    pub fn identity(&self, name: impl FnOnce() -> u64) -> u64 {
        *self.identity.get_or_init(name)
    }
    fn extents(&self, column: usize) -> &[(Extent, usize)] {
        &self.checked[column * crate::layout::EXTENTS..(column + 1) * crate::layout::EXTENTS]
    }
    /// Recomputes the checksums of extents of its own.
    fn verify(&self, extents: &[(Extent, usize)]) -> Result<()> {
        let bytes = self.bytes.as_slice();
        open::verify_extents(extents, bytes, 0, &bytes[self.checksums_at..]).map_err(corrupted)
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
    pub(crate) sorted_by: Option<usize>,
    pub(crate) indices: Vec<BlockIndex>,
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
        let sections = &part.checked[part.store.columns() * crate::layout::EXTENTS..];
        let mut extents = part.extents(column).iter().chain(sections);
        extents.any(|(e, _)| (e.offset..e.offset + e.length).contains(&(at as u64)))
    }

    pub(crate) fn from_parts(
        bytes: Buffer,
        directory: Directory,
        store: Box<dyn TupleStore>,
        indices: Vec<(u32, Index)>,
    ) -> Block {
        let sorted_by = directory.sorted_by();
        let Directory { header, kind, length, rows, checked, .. } = directory;
        let mut part = Part::new(bytes, length, &header, store, checked);
        part.indices = indices.into_iter().map(|(section, index)| (section, Arc::new(index))).collect();
        let own = |(section, index): &(u32, Arc<Index>)| {
            BlockIndex::new(index.column, *section, index.clone(), None)
        };
        let indices = part.indices.iter().map(own).collect();
        Block { sorted_by, indices, ..Block::of_part(part, kind, rows) }
    }

    pub(crate) fn of_part(part: Part, layout: LayoutKind, rows: usize) -> Block {
        let places = (0..part.store.columns() as u32).map(|column| (0, column)).collect();
        Block {
            parts: vec![Arc::new(part)],
            places,
            layout,
            rows,
            sorted_by: None,
            indices: Vec::new(),
            counters: Arc::default(),
        }
    }

    /// The same rows with only these columns, in this order; the bytes stay.
    #[must_use]
    pub fn of_columns(&self, columns: &[usize]) -> Block {
        let mut parts: Vec<Arc<Part>> = Vec::new();
        let mut renumbered = vec![None; self.parts.len()];
        let mut places = Vec::with_capacity(columns.len());
        for column in columns {
            let (part, at) = self.places[*column];
            // Parts without a remaining column are dropped.
            let part = *renumbered[part as usize].get_or_insert_with(|| {
                parts.push(self.parts[part as usize].clone());
                parts.len() as u32 - 1
            });
            places.push((part, at));
        }
        let of = |(new, old): (usize, &usize)| {
            let kept = self.indices.iter().filter(|i| i.column == *old);
            kept.map(|i| BlockIndex { column: new, ..i.clone() }).collect::<Vec<_>>()
        };
        Block {
            parts,
            places,
            layout: self.layout,
            rows: self.rows,
            sorted_by: self.sorted_by.and_then(|sorted| columns.iter().position(|c| *c == sorted)),
            indices: columns.iter().enumerate().flat_map(of).collect(),
            counters: Arc::default(),
        }
    }

    /// The columns of this block and behind them those of another with as many rows; the bytes stay where they are.
    #[must_use]
    pub fn beside(&self, right: &Block) -> Block {
        assert_eq!(self.rows, right.rows, "blocks side by side have the same rows");
        let shift = self.parts.len() as u32;
        let places =
            self.places.iter().copied().chain(right.places.iter().map(|(part, at)| (part + shift, *at)));
        let columns = self.columns();
        let shifted = right.indices.iter().map(|i| BlockIndex { column: i.column + columns, ..i.clone() });
        Block {
            places: places.collect(),
            parts: self.parts.iter().chain(&right.parts).cloned().collect(),
            layout: self.layout,
            rows: self.rows,
            sorted_by: self.sorted_by,
            indices: self.indices.iter().cloned().chain(shifted).collect(),
            counters: Arc::default(),
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

    /// The runs of bytes that hold indices only, as `with_indices` added them.
    pub fn index_parts(&self) -> Vec<&Arc<Part>> {
        let mut beside: Vec<&Arc<Part>> = Vec::new();
        for part in self.indices.iter().filter_map(|i| i.beside.as_ref()) {
            if !beside.iter().any(|known| Arc::ptr_eq(known, part)) {
                beside.push(part);
            }
        }
        beside
    }

    /// A block of columns of blocks as they were opened, as `parts` and `places` told them. None when there is no such
    /// column, or the blocks' rows differ. `with_indices` adds its `index_parts`.
    pub fn assembled(blocks: &[Arc<Block>], places: &[(u32, u32)]) -> Option<Block> {
        let first = blocks.first()?;
        let whole = |block: &Arc<Block>| block.parts.len() == 1 && block.rows == first.rows;
        let there = |(part, column): &(u32, u32)| {
            blocks.get(*part as usize).is_some_and(|b| (*column as usize) < b.parts[0].store.columns())
        };
        if !blocks.iter().all(whole) || !places.iter().all(there) {
            return None;
        }
        let column_at = |part: usize, column: usize| {
            places.iter().position(|place| *place == (part as u32, column as u32))
        };
        let indices = blocks.iter().enumerate().flat_map(|(part, block)| {
            let own = block.indices.iter();
            own.filter_map(move |i| Some(BlockIndex { column: column_at(part, i.column)?, ..i.clone() }))
        });
        Some(Block {
            parts: blocks.iter().map(|block| block.parts[0].clone()).collect(),
            places: places.to_vec(),
            layout: first.layout,
            rows: first.rows,
            sorted_by: first.sorted_by.and_then(|column| column_at(0, column)),
            indices: indices.collect(),
            counters: Arc::default(),
        })
    }

    fn place(&self, column: usize) -> (&Part, usize) {
        let (part, at) = self.places[column];
        (&self.parts[part as usize], at as usize)
    }

    /// A copy of `bytes` aligned as `open` requires.
    pub fn aligned(bytes: &[u8]) -> Buffer {
        Buffer::from_slice_ref::<u8, _>(bytes)
    }

    /// Recomputes every checksum of its columns, indices and metadata; what is not there is read.
    pub fn verify(&self) -> Result<()> {
        for part in &self.parts {
            if let Some(source) = &part.source {
                source.verify()?;
            }
        }
        for column in 0..self.columns() {
            let (part, at) = self.place(column);
            if part.source.is_none() {
                part.verify(part.extents(at))?;
            }
        }
        let beside = self.indices.iter().filter_map(|i| i.beside.as_ref());
        for part in self.parts.iter().chain(beside).filter(|part| part.source.is_none()) {
            part.verify(&part.checked[part.store.columns() * crate::layout::EXTENTS..])?;
            open::verify_metadata(part.bytes.as_slice()).map_err(corrupted)?;
        }
        Ok(())
    }

    /// All rows; deletions are kept outside the block.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// Columns that can be asked for; dropped ones do not count.
    pub fn columns(&self) -> usize {
        self.places.len()
    }
    /// Bytes of the block, those of its indices and of columns that were dropped included; its memory may be a little larger.
    pub fn bytes(&self) -> usize {
        let beside = self.index_parts();
        self.parts.iter().chain(beside).map(|part| part.length).sum()
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
    /// The layout that the block was encoded with.
    pub fn layout(&self) -> LayoutKind {
        self.layout
    }
    /// The type of a column.
    pub fn ty(&self, column: usize) -> Type {
        let (part, column) = self.place(column);
        part.store.ty(column)
    }
    /// How a column is held in this block; blocks of one table differ.
    pub fn coding(&self, column: usize) -> Coding {
        let (part, column) = self.place(column);
        part.store.coding(column)
    }
    /// Exact bounds and NULL count of a column, and an estimate of its distinct values; long string bounds may be
    /// cut.
    pub fn statistics(&self, column: usize) -> &ColumnStatistics {
        let (part, column) = self.place(column);
        part.store.statistics(column)
    }
    /// The bitmap of rows that are not NULL; `None` when there is no NULL. Panics when there is one and the column is
    /// not pinned.
    pub fn validity(&self, column: usize) -> Option<&NullBuffer> {
        let (part, column) = self.place(column);
        part.store.validity(column)
    }
    /// What was done to this block value; its pinned views count here, too.
    pub fn counters(&self) -> &AccessCounters {
        &self.counters
    }
    /// Bytes of a column's extents: what a scan of it has to read. In a row store those of its fields count, though a
    /// scan passes over the others, too.
    pub fn column_bytes(&self, column: usize) -> usize {
        let (part, column) = self.place(column);
        let extents: usize = part.extents(column).iter().map(|(extent, _)| extent.length as usize).sum();
        extents + part.store.field_bytes(column)
    }
    /// The column by which the rows were sorted when the block was encoded, NULL last.
    pub fn sorted_by(&self) -> Option<usize> {
        self.sorted_by
    }

    /// Its indices, and the bytes of each.
    pub fn indices(&self) -> impl Iterator<Item = (IndexSpecification, usize)> + '_ {
        self.indices.iter().map(|i| (IndexSpecification { kind: i.kind, column: i.column }, i.bytes))
    }
    /// Builds indices on columns of the block. The caller places their bytes in memory and passes them to
    /// `with_indices`. Those that cannot be built on the block's data are left out.
    pub fn encode_indices(&self, indices: &[IndexSpecification]) -> EncodedIndices {
        self.encode_indices_of(self, indices)
    }
    /// As `encode_indices`, of a block whose columns are there in the view `pinned`.
    pub fn encode_indices_of(&self, pinned: &Block, indices: &[IndexSpecification]) -> EncodedIndices {
        EncodedIndices::build(self, pinned, indices)
    }
    /// The block with the indices that `encode_indices` made of it; its own bytes stay where they are and are shared.
    /// Checked as `open` checks.
    pub fn with_indices(&self, bytes: Buffer) -> Result<Block> {
        let block = self.attach(self, bytes, open::Trust::Nothing)?;
        block.verify()?;
        Ok(block)
    }
    #[cfg(test)]
    pub(crate) fn with_indices_unverified(&self, bytes: Buffer) -> Result<Block> {
        self.attach(self, bytes, open::Trust::Nothing)
    }
    /// As `with_indices`, of bytes that this process has just written from the view `pinned`. The view's columns may go
    /// again: the indices do without.
    pub fn with_trusted_indices(&self, pinned: &Block, bytes: Buffer) -> Result<Block> {
        self.attach(pinned, bytes, open::Trust::Contents)
    }
    fn attach(&self, pinned: &Block, bytes: Buffer, trust: open::Trust) -> Result<Block> {
        let (opened, indices) = open::open_indices(bytes, self, pinned, trust).map_err(corrupted)?;
        let part = Arc::new(opened);
        let mut block = self.of_columns(&(0..self.columns()).collect::<Vec<_>>());
        block.indices.extend(indices.into_iter().enumerate().map(|(at, (column, index))| {
            BlockIndex::new(column, at as u32, Arc::new(index), Some(part.clone()))
        }));
        Ok(block)
    }
    /// The block without an index; bytes in which it lies with the rows stay.
    #[must_use]
    pub fn without_index(&self, index: IndexSpecification) -> Block {
        let mut block = self.of_columns(&(0..self.columns()).collect::<Vec<_>>());
        block.indices.retain(|i| (i.column, i.kind) != (index.column, index.kind));
        block
    }
    /// Minimum, maximum, sum and count of every thousand rows or so, if the column has such an index and it is there.
    pub fn zone_aggregates(&self, column: usize) -> Option<Vec<ZoneAggregate>> {
        let there = self.indices.iter().filter(|i| i.column == column).filter_map(|i| i.index.as_ref());
        there.into_iter().find_map(|index| match &index.body {
            crate::index::Body::Aggregates(zones) => {
                Some(zones.values(self.bare_column(column), &index.space))
            }
            _ => None,
        })
    }
    pub(crate) fn bare_column(&self, column: usize) -> &Stripe {
        let (part, column) = self.place(column);
        part.store.bare(column)
    }
    pub(crate) fn whole_column(&self, column: usize) -> Stripe {
        let (part, column) = self.place(column);
        part.store.whole(column)
    }
    /// The checksum by which indices know the bytes of a column, and its number there.
    pub(crate) fn owner(&self, column: usize) -> (u64, usize) {
        let (part, at) = self.place(column);
        (part.metadata_checksum, at)
    }
    pub(crate) fn has_owner(&self, owner: u64) -> bool {
        self.parts.iter().any(|part| part.metadata_checksum == owner)
    }
    pub(crate) fn owned_column(&self, owner: u64, at: usize) -> Option<usize> {
        (0..self.columns()).find(|column| self.owner(*column) == (owner, at))
    }

    /// Translates a predicate for this block, once; `select_prepared` may then be called for range after range.
    pub fn prepare(&self, column: usize, predicate: &ColumnPredicate) -> PreparedPredicate {
        let (part, at) = self.place(column);
        let mut prepared = part.store.prepare(at, predicate, &self.counters);
        let of_column = self.indices.iter().filter(|i| i.column == column);
        let indices: Vec<Arc<Index>> = of_column.filter_map(|i| i.index.clone()).collect();
        access::plan(part.store.as_ref(), at, &indices, &mut prepared, predicate);
        prepared.on(column)
    }
    /// Drops from `selection`, one bit per row of the block, the rows that do not pass.
    pub fn select(&self, column: usize, predicate: &ColumnPredicate, selection: &mut Bitmap) -> AccessPath {
        let prepared = self.prepare(column, predicate);
        self.select_prepared(&prepared, 0..self.rows, selection)
    }
    /// Drops from `selection`, whose bit 0 is row `rows.start` and which is `rows.len()` long, the rows that fail, in
    /// the way that is cheapest for the rows still selected; tells which way that was.
    pub fn select_prepared(
        &self,
        predicate: &PreparedPredicate,
        rows: Range<usize>,
        selection: &mut Bitmap,
    ) -> AccessPath {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "rows out of range");
        assert_eq!(rows.len(), selection.len(), "a selection has one bit per row");
        let (part, column) = self.place(predicate.column());
        let path =
            access::select(part.store.as_ref(), column, predicate, rows, selection, false, &self.counters);
        self.counters.paths[path as usize].fetch_add(1, Relaxed);
        path
    }
    /// Makes `selection` the rows of the block that pass, whatever it held: as `select_prepared` of all rows, but what is
    /// written need not be filled, counted and read before.
    pub fn select_anew(&self, predicate: &PreparedPredicate, selection: &mut Bitmap) -> AccessPath {
        let (part, column) = self.place(predicate.column());
        let rows = 0..self.rows;
        let path =
            access::select(part.store.as_ref(), column, predicate, rows, selection, true, &self.counters);
        self.counters.paths[path as usize].fetch_add(1, Relaxed);
        path
    }
    /// The rows that pass, ascending, where an index has them as a short list and all rows are asked about; `None` where
    /// `select_prepared` has to be asked.
    pub fn rows_found(&self, predicate: &PreparedPredicate) -> Option<Vec<u32>> {
        let (part, column) = self.place(predicate.column());
        let found = access::rows_found(part.store.as_ref(), column, predicate, self.rows)?;
        self.counters.paths[AccessPath::Tree as usize].fetch_add(1, Relaxed);
        Some(found)
    }
    /// Nanoseconds that the cheapest way costs when so many rows are selected.
    pub(crate) fn cost_of(&self, predicate: &PreparedPredicate, selected: usize) -> f64 {
        let (part, column) = self.place(predicate.column());
        access::cost(part.store.as_ref(), column, predicate, self.rows, selected)
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
    /// As `plain`, where the values are 32-bit integers.
    pub fn plain_i32(&self, column: usize) -> Option<&[i32]> {
        if let Some(PlainSlice::I32(values)) = self.plain(column) { Some(values) } else { None }
    }
    /// As `plain`, where the values are 64-bit integers.
    pub fn plain_i64(&self, column: usize) -> Option<&[i64]> {
        if let Some(PlainSlice::I64(values)) = self.plain(column) { Some(values) } else { None }
    }
    /// As `plain`, where the values are doubles.
    pub fn plain_f64(&self, column: usize) -> Option<&[f64]> {
        if let Some(PlainSlice::F64(values)) = self.plain(column) { Some(values) } else { None }
    }
    /// The sorted distinct values of a dictionary-coded column, flat and free of NULL; one allocation per block and
    /// column, shared by all callers. `None` for other codings.
    pub fn dictionary(&self, column: usize) -> Option<Arc<Vector>> {
        let (part, column) = self.place(column);
        part.store.dictionary(column)
    }
    /// The sketch of a column's values, made from the block (encoding makes it on the way: prefer that one).
    pub fn sketch(&self, column: usize) -> Sketch {
        let mut sketch = Sketch::default();
        match self.dictionary(column) {
            Some(values) => crate::sketch::add_to_sketch(&values, &mut sketch),
            None => crate::sketch::add_to_sketch(&self.fetch(column, 0..self.rows), &mut sketch),
        }
        sketch
    }
}

pub(crate) fn corrupted(what: String) -> Error {
    Error::new(SqlState::DataCorrupted, format!("block is damaged: {what}"))
}
