//! From vectors to the bytes of one block.
//!
//! `encode` looks at every column once: bounds, order and distinct values are found, the coding is chosen by size,
//! and what the choice needs (a dictionary, codes) is kept. The length is then known; the caller provides the memory,
//! and `write_into` puts the bytes straight where they will stay. Numbers are coded on the way into the block and
//! never held twice.
//!
//! | coding | when (compressed layout) |
//! | --- | --- |
//! | truncation to 1, 2 or 4 bytes | the range of an integer column allows it and saves space |
//! | with a step | every value is a multiple apart (sampled, then verified) and that narrows the code |
//! | dictionary of numbers | at least a quarter smaller than the above |
//! | dictionary of strings | smaller than offsets and heap; not tried when a sample shows few repetitions |

mod bits;
mod floats;
mod integers;
mod order;
mod plan;
mod rows;
mod sample;
mod strings;

use types::{ColumnStatistics, Error, Physical, Result, SqlState, Type};
use vector::{Batch, Vector};

use crate::layout::{self, Entry, Extent, Header, Section};
use crate::sketch::Sketch;
use crate::{Coding, EncodeOptions, LayoutKind};
pub(crate) use plan::too_large;
use plan::{ColumnPlan, PlannedColumn};

pub use order::sort_parts;
pub use sample::estimate_row_bytes;

/// A column to be encoded: its type and whether it may hold NULL.
pub type ColumnDeclaration = (Type, bool);

/// One block, planned: its length is known, its bytes are not yet written.
pub struct EncodedBlock<'a> {
    kind: LayoutKind,
    sorted_by: Option<u32>,
    rows: usize,
    columns: Vec<PlannedColumn<'a>>,
    sections: Vec<PlannedSection>,
    bounds: Vec<u8>,
    entries: Vec<Entry>,
    checksum_count: usize,
    metadata_bytes: usize,
    total_bytes: usize,
}

/// A section to be written.
pub(crate) struct PlannedSection {
    pub(crate) section: Section,
    /// Its bytes when they are made already; rows are dealt out where they will stay.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// Plans a block of the rows of `parts`, one after another. Every part has a column per declaration, of that type
/// (any text type stands for another), flat, dictionary or constant. With a sort column the rows come in its order
/// (`sort_parts` makes it).
pub fn encode<'a>(
    columns: &[ColumnDeclaration],
    parts: &'a [Batch],
    options: impl Into<EncodeOptions>,
) -> Result<EncodedBlock<'a>> {
    let EncodeOptions { layout: kind, sorted_by, indices } = options.into();
    if kind == LayoutKind::PackedRowStore {
        rows::check_fixed_width(columns.iter().map(|(ty, _)| *ty))?;
    }
    check_sort_column(kind, sorted_by, columns, parts)?;
    if indices.iter().any(|index| index.column >= columns.len()) {
        return Err(Error::internal("an index is on none of the block's columns"));
    }
    let rows: usize = parts.iter().map(|p| p.rows).sum();
    if u32::try_from(rows).is_err() {
        return Err(too_large("a block holds at most 4294967295 rows"));
    }
    let mut planned = Vec::with_capacity(columns.len());
    for (position, (ty, nullable)) in columns.iter().enumerate() {
        let vectors: Vec<&'a Vector> = parts.iter().map(|p| &p.columns[position]).collect();
        debug_assert!(vectors.iter().all(|v| v.ty().physical() == ty.physical() || v.ty() == Type::Null));
        let validity = bits::validity_words(&vectors, rows);
        let compress = kind.compresses();
        let nulls = validity
            .as_ref()
            .map_or(0, |words| rows - words.iter().map(|w| w.count_ones() as usize).sum::<usize>());
        let plan: Box<dyn ColumnPlan + 'a> = match ty.physical() {
            Physical::Bool => Box::new(bits::plan(&vectors, rows, nulls, validity.as_deref())),
            Physical::I16 => integers::plan::<i16>(&vectors, rows, nulls, compress),
            Physical::I32 => integers::plan::<i32>(&vectors, rows, nulls, compress),
            Physical::I64 => integers::plan::<i64>(&vectors, rows, nulls, compress),
            Physical::I128 => integers::plan::<i128>(&vectors, rows, nulls, compress),
            Physical::F32 => floats::plan::<f32>(&vectors, rows, nulls, compress),
            Physical::F64 => floats::plan::<f64>(&vectors, rows, nulls, compress),
            Physical::Bytes => strings::plan(&vectors, rows, nulls, compress, ty.is_text())?,
        };
        planned.push(PlannedColumn {
            ty: *ty,
            nullable: *nullable,
            validity,
            plan,
            extents: Default::default(),
        });
    }
    let mut sections = Vec::new();
    if kind.is_row_store() {
        let lengths = rows::lengths(&planned, rows)?;
        for (kind, length) in [layout::SECTION_ROWS, layout::SECTION_ROW_HEAP].into_iter().zip(lengths) {
            let extent = Extent { offset: 0, length: length as u64 };
            sections.push(PlannedSection {
                section: Section { kind, extent, ..Section::default() },
                bytes: None,
            });
        }
    }
    for (section, bytes) in crate::index::build_all(&indices, rows, |column| planned[column].stripe(rows)) {
        let section = Section { extent: Extent { offset: 0, length: bytes.len() as u64 }, ..section };
        sections.push(PlannedSection { section, bytes: Some(bytes) });
    }
    let mut block = EncodedBlock {
        kind,
        sorted_by: sorted_by.map(|column| column as u32),
        rows,
        columns: planned,
        sections,
        bounds: Vec::new(),
        entries: Vec::new(),
        checksum_count: 0,
        metadata_bytes: 0,
        total_bytes: 0,
    };
    block.place();
    if u32::try_from(block.total_bytes).is_err() {
        return Err(too_large("a block holds at most 4 GiB"));
    }
    Ok(block)
}

/// A sort column is a column of a column layout, and the rows are in its order.
fn check_sort_column(
    kind: LayoutKind,
    sorted_by: Option<usize>,
    columns: &[ColumnDeclaration],
    parts: &[Batch],
) -> Result<()> {
    let Some(column) = sorted_by else { return Ok(()) };
    if kind.is_row_store() {
        let message = format!("layout {} cannot be sorted", kind.name());
        return Err(Error::new(SqlState::FeatureNotSupported, message)
            .with_hint("sort columns go with the layouts column and compressed_column"));
    }
    if column >= columns.len() {
        return Err(Error::internal("the sort column is none of the block's columns"));
    }
    if !order::is_sorted(parts, column) {
        return Err(Error::internal("the rows of a block are not in the order of its sort column"));
    }
    Ok(())
}

impl EncodedBlock<'_> {
    /// Gives every extent its place, and makes the directory.
    fn place(&mut self) {
        for column in &mut self.columns {
            let [mut values, dictionary, mut heap] = column.plan.lengths();
            if self.kind.is_row_store() {
                // Values stand in the rows, strings in the rows' heap; the column's own is its dictionary's.
                heap = if rows::form(column) == crate::row_store::Form::Strings { 0 } else { heap };
                values = 0;
            }
            let validity = column.validity.as_ref().map_or(0, |words| words.len() * 8);
            for (extent, length) in column.extents.iter_mut().zip([validity, values, dictionary, heap]) {
                extent.length = length as u64;
                self.checksum_count += extent.checksums();
            }
        }
        self.checksum_count += self.sections.iter().map(|s| s.section.extent.checksums()).sum::<usize>();
        for column in &self.columns {
            self.entries.push(column.entry(&mut self.bounds));
        }
        let (_, checksums_at) = self.metadata_places();
        self.metadata_bytes = checksums_at + self.checksum_count * 8;
        let mut at = self.metadata_bytes;
        for (column, entry) in self.columns.iter_mut().zip(&mut self.entries) {
            for extent in &mut column.extents {
                let length = extent.length as usize;
                if length > 0 {
                    at = layout::align_up(at, layout::extent_alignment(length));
                    extent.offset = at as u64;
                    at += length;
                }
            }
            entry.extents = column.extents;
        }
        for PlannedSection { section, .. } in &mut self.sections {
            let length = section.extent.length as usize;
            if length > 0 {
                at = layout::align_up(at, layout::extent_alignment(length));
                section.extent.offset = at as u64;
                at += length;
            }
        }
        self.total_bytes = layout::align_up(at, layout::EXTENT_ALIGNMENT);
    }

    /// Where the bounds' heap and the checksums begin.
    fn metadata_places(&self) -> (usize, usize) {
        let bounds_at = layout::HEADER_BYTES
            + self.entries.len() * layout::ENTRY_BYTES
            + self.sections.len() * layout::SECTION_BYTES;
        (bounds_at, layout::align_up(bounds_at + self.bounds.len(), 8))
    }

    /// Bytes that `write_into` needs.
    pub fn len(&self) -> usize {
        self.total_bytes
    }
    /// Whether there are no rows; the bytes are a header and directory then.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }
    /// Rows of the block to be.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// The coding chosen for a column.
    pub fn coding(&self, column: usize) -> Coding {
        self.columns[column].plan.coding()
    }
    /// What the pass over a column found; it goes into the directory.
    pub fn statistics(&self, column: usize) -> &ColumnStatistics {
        self.columns[column].plan.statistics()
    }
    /// The columns' sketches, to be merged into the table's. They are handed over once; later calls give empty ones.
    pub fn take_sketches(&mut self) -> Vec<Sketch> {
        self.columns.iter_mut().map(|c| c.plan.sketch()).collect()
    }

    /// Writes the block to the beginning of `out`, which is aligned to `BLOCK_ALIGNMENT` and at least `len()` long.
    /// The rest of `out` is left alone.
    pub fn write_into(&self, out: &mut [u8]) {
        let out = &mut out[..self.total_bytes];
        assert_eq!(out.as_ptr().align_offset(crate::BLOCK_ALIGNMENT), 0, "a block's memory is aligned");
        let mut end = self.metadata_bytes;
        let mut checksums = Vec::with_capacity(self.checksum_count);
        for column in &self.columns {
            for (kind, extent) in column.extents.iter().enumerate() {
                if extent.length == 0 {
                    continue;
                }
                let (from, to) = (extent.offset as usize, (extent.offset + extent.length) as usize);
                // Gaps are zero, so that equal rows make equal bytes.
                out[end..from].fill(0);
                let bytes = &mut out[from..to];
                column.write_extent(kind, bytes);
                checksums.extend(bytes.chunks(layout::CHECKSUM_CHUNK).map(simd::checksum));
                end = to;
            }
        }
        end = self.write_sections(out, end, &mut checksums);
        out[end..].fill(0);
        let metadata = &mut out[..self.metadata_bytes];
        let (bounds_at, checksums_at) = self.metadata_places();
        metadata[bounds_at..checksums_at].fill(0);
        metadata[bounds_at..bounds_at + self.bounds.len()].copy_from_slice(&self.bounds);
        for (i, entry) in self.entries.iter().enumerate() {
            entry.write(&mut metadata[layout::HEADER_BYTES + i * layout::ENTRY_BYTES..]);
        }
        let sections_at = layout::HEADER_BYTES + self.entries.len() * layout::ENTRY_BYTES;
        for (i, PlannedSection { section, .. }) in self.sections.iter().enumerate() {
            section.write(&mut metadata[sections_at + i * layout::SECTION_BYTES..]);
        }
        metadata[checksums_at..].copy_from_slice(simd::as_bytes(&checksums));
        let mut header = Header {
            layout: self.kind.tag(),
            sorted_by: self.sorted_by,
            sections: self.sections.len() as u32,
            total_bytes: self.total_bytes as u64,
            rows: self.rows as u64,
            columns: self.columns.len() as u32,
            metadata_bytes: self.metadata_bytes as u64,
            bounds_at: bounds_at as u64,
            bounds_bytes: self.bounds.len() as u64,
            checksums_at: checksums_at as u64,
            checksum_count: self.checksum_count as u64,
            metadata_checksum: 0,
        };
        header.write(metadata);
        header.metadata_checksum = simd::checksum(metadata);
        header.write(metadata);
    }
}

impl EncodedBlock<'_> {
    /// Writes the sections behind `end`; returns where they end.
    fn write_sections(&self, out: &mut [u8], mut end: usize, checksums: &mut Vec<u64>) -> usize {
        let place = |kind: u32| {
            let of_kind = |s: &&PlannedSection| s.section.kind == kind && s.section.extent.length > 0;
            let extent =
                self.sections.iter().find(of_kind).map_or_else(Extent::default, |s| s.section.extent);
            extent.offset as usize..(extent.offset + extent.length) as usize
        };
        if self.kind.is_row_store() {
            let (rows, heap) = (place(layout::SECTION_ROWS), place(layout::SECTION_ROW_HEAP));
            // The heap lies behind the rows, or is empty.
            let (front, back) = out.split_at_mut(rows.end);
            let heap = if heap.is_empty() { 0..0 } else { heap.start - rows.end..heap.end - rows.end };
            rows::write(&self.columns, self.rows, &mut front[rows], &mut back[heap]);
        }
        for PlannedSection { section, bytes } in &self.sections {
            if section.extent.length == 0 {
                continue;
            }
            let from = section.extent.offset as usize;
            let to = from + section.extent.length as usize;
            out[end..from].fill(0);
            if let Some(bytes) = bytes {
                out[from..to].copy_from_slice(bytes);
            }
            checksums.extend(out[from..to].chunks(layout::CHECKSUM_CHUNK).map(simd::checksum));
            end = to;
        }
        end
    }
}
