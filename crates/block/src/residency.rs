//! Blocks whose columns come and go.
//!
//! A block can be opened with its metadata alone. Reading the bytes of columns then needs a *pin*: the block's
//! `Source` makes the columns resident, and `Block::pin` gives a view in which they can be read.
//!
//! ```text
//!  Block::absent(metadata, source)        types, codings, statistics, sizes: always there
//!      | pin(columns)                     source.pin: a piece a column, each an open run of bytes
//!      | pin_tested(columns)              and one for each index of these columns
//!      v
//!  Pinned -> Block                        the pinned columns; of the others, what metadata says
//! ```
//!
//! Bytes are counted, not locked: a piece, and every vector fetched from it, shares the memory that it was opened
//! over. Eviction drops the source's own piece; the memory itself goes with the last holder that shares it. So
//! eviction can never change bytes under a reader, and access to a column that is not pinned has no bytes to read: it
//! panics, always.
//!
//! Columns are read in *portions*: a column with all its extents, small columns together with their neighbours, and
//! all columns together when rows are stored as rows. An index of a block is a portion, too; only pins that test its
//! column read it.

use std::any::Any;
use std::fmt::Debug;
use std::ops::{Deref, Range};
use std::sync::Arc;

use arrow_buffer::{Buffer, NullBuffer};
use simd::Bitmap;
use types::{ColumnStatistics, Result, Type};
use vector::Vector;

use crate::block::{BlockIndex, Part, corrupted};
use crate::costs::ScanCost;
use crate::index::{Index, kind_of};
use crate::layout::{self, EXTENTS};
use crate::open::{self, Directory, Trust};
use crate::store::{Rows, TupleStore};
use crate::stripe::Stripe;
use crate::stripe_store::StripeStore;
use crate::{AccessCounters, Block, CodeSlice, Coding, LayoutKind, PlainSlice, PreparedPredicate};

/// Brings the columns and indices of one encoding.
pub trait Source: Debug + Send + Sync {
    /// Makes columns and indices (by their sections' numbers) resident: a piece for each, in their order. An error of
    /// reading, or of what was read, names the place.
    fn pin(&self, columns: &[usize], indices: &[usize]) -> Result<Loaded>;
    /// Later reads go into the memory of that NUMA node, where the machine has several.
    fn lies_on(&self, _node: usize) {}
    /// A hint that these will be pinned soon, so that reading may begin.
    fn announce(&self, columns: &[usize], indices: &[usize]);
    /// The metadata as they stand in the encoding.
    fn metadata_bytes(&self) -> &[u8];
    /// Reads everything, and checks it against its checksums.
    fn verify(&self) -> Result<()>;
    /// All bytes of the encoding.
    fn to_bytes(&self) -> Result<Buffer>;
    /// The source itself, so that the crate that made it can downcast it.
    fn as_any(&self) -> &dyn Any;
}

/// What a source made resident.
#[derive(Debug)]
pub struct Loaded {
    /// One per column asked for, in that order.
    pub pieces: Vec<Piece>,
    /// One per index asked for, in that order.
    pub indices: Vec<Piece>,
    /// Read for this pin: 0 when everything was there.
    pub bytes_read: u64,
}

/// A column in an open run of bytes. Clones share the run.
#[derive(Clone, Debug)]
pub struct Piece {
    part: Arc<Part>,
    column: u32,
}

impl Piece {
    /// How many share its run: pieces, and blocks made of them. Vectors fetched from it are not counted.
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.part)
    }
    /// The bytes of its run.
    pub fn bytes(&self) -> &Buffer {
        &self.part.bytes
    }
    /// Another column of the same run.
    #[must_use]
    pub fn column(&self, column: usize) -> Piece {
        assert!(column < self.part.store.columns(), "the run has no column {column}");
        Piece { part: self.part.clone(), column: column as u32 }
    }
    fn index(&self, section: u32) -> Option<Arc<Index>> {
        self.part.indices.iter().find(|(own, _)| *own == section).map(|(_, index)| index.clone())
    }
}

/// A block in which some columns can be read for as long as this lives.
#[derive(Debug)]
pub enum Pinned<'a> {
    /// All columns are there, always.
    Resident(&'a Block),
    /// Some columns were brought for this pin: `block` is a view in which they can be read.
    Held {
        /// A view of the block with the columns that were asked for.
        block: Block,
        /// Bytes that were read from storage for this pin.
        bytes_read: u64,
    },
}

impl Pinned<'_> {
    /// Bytes that had to be read for it.
    pub fn bytes_read(&self) -> u64 {
        match self {
            Pinned::Resident(_) => 0,
            Pinned::Held { bytes_read, .. } => *bytes_read,
        }
    }
}

impl Deref for Pinned<'_> {
    type Target = Block;

    #[inline]
    fn deref(&self) -> &Block {
        match self {
            Pinned::Resident(block) => block,
            Pinned::Held { block, .. } => block,
        }
    }
}

impl Block {
    /// A block of which only the metadata is there.
    pub fn absent(metadata: &Arc<Metadata>, source: Arc<dyn Source>) -> Block {
        let directory = &metadata.directory;
        let (store, checked) = (Box::new(Absent(metadata.clone())), directory.checked.clone());
        let mut part = Part::new(Buffer::default(), directory.length, &directory.header, store, checked);
        part.source = Some(source);
        let index = |(number, section): (usize, &layout::Section)| {
            Some(BlockIndex {
                column: section.column as usize,
                kind: kind_of(section.kind)?,
                bytes: section.extent.length as usize,
                section: number as u32,
                index: None,
                beside: None,
            })
        };
        Block {
            sorted_by: directory.sorted_by(),
            indices: directory.sections.iter().enumerate().filter_map(index).collect(),
            ..Block::of_part(part, directory.kind, directory.rows)
        }
    }

    /// Makes columns readable. Costs nothing where everything is there anyway.
    pub fn pin(&self, columns: &[usize]) -> Result<Pinned<'_>> {
        self.pin_with(columns, false)
    }

    /// As `pin`, of columns that predicates will be evaluated on: with their indices.
    pub fn pin_tested(&self, columns: &[usize]) -> Result<Pinned<'_>> {
        self.pin_with(columns, true)
    }

    /// Places among the block's indices of those that a part has to bring for columns.
    fn absent_indices(&self, part: usize, columns: &[usize]) -> Vec<usize> {
        let of_part = |index: &BlockIndex| {
            let absent = index.index.is_none() && self.places[index.column].0 as usize == part;
            absent && columns.contains(&index.column)
        };
        (0..self.indices.len()).filter(|at| of_part(&self.indices[*at])).collect()
    }

    fn pin_with(&self, columns: &[usize], with_indices: bool) -> Result<Pinned<'_>> {
        if self.is_resident() {
            return Ok(Pinned::Resident(self));
        }
        let mut pinned = Block {
            parts: self.parts.clone(),
            places: self.places.clone(),
            layout: self.layout,
            rows: self.rows,
            sorted_by: self.sorted_by,
            indices: self.indices.clone(),
            counters: self.counters.clone(),
        };
        let mut read = 0;
        for (at, part) in self.parts.iter().enumerate() {
            let Some(source) = &part.source else { continue };
            let here: Vec<usize> =
                columns.iter().copied().filter(|column| self.places[*column].0 as usize == at).collect();
            if here.is_empty() {
                continue;
            }
            let stored: Vec<usize> = here.iter().map(|column| self.places[*column].1 as usize).collect();
            let wanted = if with_indices { self.absent_indices(at, columns) } else { Vec::new() };
            let sections: Vec<usize> = wanted.iter().map(|i| self.indices[*i].section as usize).collect();
            let Loaded { pieces, indices, bytes_read } = source.pin(&stored, &sections)?;
            read += bytes_read;
            for (at, piece) in wanted.into_iter().zip(indices) {
                let index = &mut pinned.indices[at];
                index.index = piece.index(index.section);
                // It keeps the run from being counted as free.
                index.beside = Some(piece.part);
            }
            for (column, piece) in here.into_iter().zip(pieces) {
                let known = pinned.parts.iter().rposition(|part| Arc::ptr_eq(part, &piece.part));
                let part = known.unwrap_or(pinned.parts.len());
                if known.is_none() {
                    pinned.parts.push(piece.part);
                }
                pinned.places[column] = (part as u32, piece.column);
            }
        }
        Ok(Pinned::Held { block: pinned, bytes_read: read })
    }

    /// `pin` of all columns.
    pub fn pin_all(&self) -> Result<Pinned<'_>> {
        match self.is_resident() {
            true => Ok(Pinned::Resident(self)),
            false => self.pin(&(0..self.columns()).collect::<Vec<_>>()),
        }
    }

    /// Says that columns will be pinned soon, so that they may be read by then.
    pub fn announce(&self, columns: &[usize]) {
        self.announce_with(columns, false);
    }

    /// As `announce`, before `pin_tested`.
    pub fn announce_tested(&self, columns: &[usize]) {
        self.announce_with(columns, true);
    }

    /// Later reads of the block's columns go into the memory of that NUMA node. No effect on a machine with one node,
    /// or for parts that are in memory as a whole.
    pub fn lies_on(&self, node: usize) {
        for source in self.parts.iter().filter_map(|part| part.source.as_ref()) {
            source.lies_on(node);
        }
    }

    fn announce_with(&self, columns: &[usize], with_indices: bool) {
        for (at, part) in self.parts.iter().enumerate() {
            let Some(source) = &part.source else { continue };
            let here = columns.iter().map(|c| self.places[*c]).filter(|(part, _)| *part as usize == at);
            let stored: Vec<usize> = here.map(|(_, column)| column as usize).collect();
            if !stored.is_empty() {
                let wanted = if with_indices { self.absent_indices(at, columns) } else { Vec::new() };
                let sections: Vec<usize> = wanted.iter().map(|i| self.indices[*i].section as usize).collect();
                source.announce(&stored, &sections);
            }
        }
    }

    /// What reads its columns, if the block is of one encoding and as it was made; `None` also when it is in memory
    /// as a whole.
    pub fn source(&self) -> Option<&dyn Source> {
        match self.parts.as_slice() {
            [only] => only.source.as_deref(),
            _ => None,
        }
    }

    /// True when every column is there, and stays.
    pub fn is_resident(&self) -> bool {
        self.parts.iter().all(|part| part.source.is_none())
    }

    /// The first column of a block of one encoding, as a piece that leads to the others.
    pub fn into_piece(mut self) -> Option<Piece> {
        let only = self.parts.pop().filter(|_| self.parts.is_empty())?;
        Some(Piece { part: only, column: 0 })
    }
}

/// Columns of less than this together are read together: a page fault, a system call and a reference count each would
/// cost more than their bytes.
const PORTION_BYTES: u64 = 64 << 10;

/// Neighbouring columns that are read together, or an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portion {
    /// Bytes of the block.
    pub bytes: Range<u64>,
    /// None of an index.
    pub columns: Range<usize>,
    /// The number of the index's section.
    pub index: Option<usize>,
}

/// Everything that is known of a block without its columns.
#[derive(Debug)]
pub struct Metadata {
    directory: Directory,
    statistics: Vec<ColumnStatistics>,
    /// As in the block, up to the first extent.
    bytes: Box<[u8]>,
    portions: Vec<Portion>,
    portion_of: Vec<u32>,
    /// By section, where it is an index.
    portion_of_index: Vec<Option<u32>>,
}

impl Metadata {
    /// What has to be there of a block before its metadata's length is known.
    pub const HEAD_BYTES: usize = layout::HEADER_BYTES;

    /// Bytes of the metadata of a block of at most `available` bytes, by its first `HEAD_BYTES`.
    pub fn length(head: &[u8], available: u64) -> Result<usize> {
        let header = layout::Header::read(head).map_err(corrupted)?;
        match usize::try_from(header.metadata_bytes).ok().filter(|_| header.metadata_bytes <= available) {
            Some(length) if length >= layout::HEADER_BYTES => Ok(length),
            _ => Err(corrupted(format!("{} bytes of metadata are claimed", header.metadata_bytes))),
        }
    }

    /// Reads and checks metadata at the beginning of `bytes`, of a block of at most `available` bytes.
    pub fn read(bytes: &[u8], available: u64) -> Result<Metadata> {
        let length = Metadata::length(bytes, available.min(bytes.len() as u64))?;
        let bytes = &bytes[..length];
        open::verify_metadata(bytes).map_err(corrupted)?;
        let directory =
            Directory::read(bytes, usize::try_from(available).unwrap_or(usize::MAX)).map_err(corrupted)?;
        let columns = 0..directory.entries.len();
        let statistics = columns.map(|column| directory.statistics(column, bytes));
        let statistics = statistics.collect::<std::result::Result<_, String>>().map_err(corrupted)?;
        let mut portions = portions(&directory);
        let mut portion_of = vec![0; directory.entries.len()];
        for (number, portion) in portions.iter().enumerate() {
            portion_of[portion.columns.clone()].fill(number as u32);
        }
        let mut portion_of_index = vec![None; directory.sections.len()];
        if directory.comes_apart() {
            for (number, section) in directory.sections.iter().enumerate() {
                if !directory.holds_rows(section) {
                    let layout::Extent { offset, length } = section.extent;
                    portion_of_index[number] = Some(portions.len() as u32);
                    portions.push(Portion {
                        bytes: offset..offset + length,
                        columns: 0..0,
                        index: Some(number),
                    });
                }
            }
        }
        Ok(Metadata { directory, statistics, bytes: bytes.into(), portions, portion_of, portion_of_index })
    }

    /// The metadata as they stand in the block.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether what the block holds is known, so that its parts can be read one by one. A block that does not come apart is
    /// there as a whole or not at all.
    pub fn comes_apart(&self) -> bool {
        self.directory.comes_apart()
    }
    /// Rows of the block.
    pub fn rows(&self) -> usize {
        self.directory.rows
    }
    /// Columns of the encoding.
    pub fn columns(&self) -> usize {
        self.portion_of.len()
    }
    /// The layout that the block was encoded with.
    pub fn layout(&self) -> LayoutKind {
        self.directory.kind
    }
    /// Bytes of the block.
    pub fn block_bytes(&self) -> u64 {
        self.directory.length as u64
    }
    /// All portions: those of columns, then one per index.
    pub fn portions(&self) -> &[Portion] {
        &self.portions
    }
    /// Position in `portions` of the one that holds a column.
    pub fn portion_of(&self, column: usize) -> usize {
        self.portion_of[column] as usize
    }

    /// Position in `portions` of an index, by the number of its section; panics for a section that is no index.
    pub fn portion_of_index(&self, section: usize) -> usize {
        let portion = self.portion_of_index[section];
        portion.unwrap_or_else(|| panic!("section {section} is no index")) as usize
    }

    /// Opens the bytes of a portion: its first column, as a piece that leads to the others. Checksums are verified, and
    /// the contents validated unless `written_here`: this process wrote them, so that right checksums suffice. The
    /// first byte must be aligned to `BLOCK_ALIGNMENT`.
    pub fn open_portion(&self, portion: usize, bytes: Buffer, written_here: bool) -> Result<Piece> {
        let trust = if written_here { Trust::Contents } else { Trust::Nothing };
        let Portion { bytes: place, columns, index } = self.portions[portion].clone();
        if bytes.len() as u64 != place.end - place.start {
            return Err(corrupted(format!("{} bytes came of {place:?}", bytes.len())));
        }
        let first = place.start as usize;
        let part = match index {
            Some(section) => self.open_index(bytes, first, section, trust),
            None => self.open_part(bytes, first, columns, trust),
        };
        Ok(Piece { part: Arc::new(part.map_err(corrupted)?), column: 0 })
    }

    fn open_index(
        &self,
        bytes: Buffer,
        first: usize,
        section: usize,
        trust: Trust,
    ) -> std::result::Result<Part, String> {
        open::check_alignment(&bytes)?;
        let directory = &self.directory;
        let header = &directory.header;
        let checked = vec![directory.checked[self.columns() * EXTENTS + section]];
        let checksums = &self.bytes[header.checksums_at as usize..];
        open::verify_extents(&checked, bytes.as_slice(), first, checksums)
            .map_err(|e| format!("an index of column {}: {e}", directory.sections[section].column))?;
        let index = directory.index(section, &bytes, first, &self.bytes, trust)?;
        let store = Box::new(StripeStore { rows: directory.rows, stripes: Vec::new() });
        let mut part = Part::new(bytes, directory.length, header, store, checked);
        part.indices = vec![(section as u32, Arc::new(index))];
        Ok(part)
    }

    fn open_part(
        &self,
        bytes: Buffer,
        first: usize,
        columns: Range<usize>,
        trust: Trust,
    ) -> std::result::Result<Part, String> {
        open::check_alignment(&bytes)?;
        let directory = &self.directory;
        let checksums_at = directory.header.checksums_at as usize;
        let header = &directory.header;
        let checked = directory.checked[columns.start * EXTENTS..columns.end * EXTENTS].to_vec();
        for (column, extents) in columns.clone().zip(checked.chunks(EXTENTS)) {
            open::verify_extents(extents, bytes.as_slice(), first, &self.bytes[checksums_at..])
                .map_err(|e| format!("column {column}: {e}"))?;
        }
        if !directory.kind.is_row_store() {
            let store = directory.stripes(columns, &bytes, first, &self.bytes, trust)?;
            return Ok(Part::new(bytes, directory.length, header, store, checked));
        }
        let of_rows = directory.sections.iter().zip(&directory.checked[self.columns() * EXTENTS..]);
        let of_rows = of_rows.filter(|(section, _)| directory.holds_rows(section)).map(|(_, extent)| *extent);
        let of_rows: Vec<(layout::Extent, usize)> = of_rows.collect();
        open::verify_extents(&of_rows, bytes.as_slice(), first, &self.bytes[checksums_at..])
            .map_err(|e| format!("the rows: {e}"))?;
        let store = directory.row_store(&bytes, first, &self.bytes, trust)?;
        Ok(Part::new(bytes, directory.length, header, store, [checked, of_rows].concat()))
    }
}

/// Cuts a block into portions, indices aside.
fn portions(directory: &Directory) -> Vec<Portion> {
    let columns = directory.entries.len();
    if directory.kind.is_row_store() {
        // Rows, their strings, and what columns have in addition: dictionaries and validity.
        let of_rows = directory.sections.iter().filter(|section| directory.holds_rows(section));
        let of_columns = directory.entries.iter().flat_map(|entry| entry.extents);
        let extents = of_rows.map(|section| section.extent).chain(of_columns);
        let places = extents.filter(|extent| extent.length > 0).map(|e| e.offset..e.offset + e.length);
        let bytes = places.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0);
        return vec![Portion { bytes, columns: 0..columns, index: None }];
    }
    let mut portions: Vec<Portion> = Vec::new();
    for column in 0..columns {
        let extents = &directory.entries[column].extents;
        let present = || extents.iter().filter(|extent| extent.length > 0);
        let from = present().map(|e| e.offset).min();
        let to = present().map(|e| e.offset + e.length).max();
        // A column without bytes goes with the one before it.
        let at = portions.last().map_or(0, |portion| portion.bytes.end);
        let bytes = from.unwrap_or(at)..to.unwrap_or(at);
        if let Some(last) = portions.last_mut() {
            let both = last.bytes.start.min(bytes.start)..last.bytes.end.max(bytes.end);
            if bytes.is_empty() || both.end - both.start <= PORTION_BYTES {
                *last = Portion { bytes: both, columns: last.columns.start..column + 1, index: None };
                continue;
            }
        }
        portions.push(Portion { bytes, columns: column..column + 1, index: None });
    }
    portions
}

/// The tuple store of columns that are elsewhere: metadata, and no more.
#[derive(Debug)]
struct Absent(Arc<Metadata>);

impl Absent {
    fn refuse(&self, column: usize) -> ! {
        panic!(
            "column {column} of a block of {} rows is read without a pin: call Block::pin first",
            self.0.rows()
        )
    }
}

impl TupleStore for Absent {
    fn rows(&self) -> usize {
        self.0.rows()
    }
    fn columns(&self) -> usize {
        self.0.columns()
    }
    fn bare(&self, column: usize) -> &Stripe {
        self.refuse(column)
    }
    fn ty(&self, column: usize) -> Type {
        self.0.directory.entries[column].ty
    }
    fn coding(&self, column: usize) -> Coding {
        self.0.directory.entries[column].coding()
    }
    fn statistics(&self, column: usize) -> &ColumnStatistics {
        &self.0.statistics[column]
    }
    fn validity(&self, column: usize) -> Option<&NullBuffer> {
        // Without NULLs there is nothing to read.
        match self.0.statistics[column].null_count {
            0 => None,
            _ => self.refuse(column),
        }
    }
    fn select(
        &self,
        column: usize,
        _: &PreparedPredicate,
        _: Range<usize>,
        _: &mut Bitmap,
        _: &AccessCounters,
    ) {
        self.refuse(column)
    }
    fn scan_cost(&self, column: usize) -> ScanCost {
        self.refuse(column)
    }
    fn fetch(&self, column: usize, _: Rows<'_>, _: &AccessCounters) -> Vector {
        self.refuse(column)
    }
    fn fetch_codes(&self, column: usize, _: Range<usize>, _: &AccessCounters) -> Vector {
        self.refuse(column)
    }
    fn codes(&self, column: usize) -> Option<CodeSlice<'_>> {
        self.refuse(column)
    }
    fn plain(&self, column: usize) -> Option<PlainSlice<'_>> {
        self.refuse(column)
    }
}
