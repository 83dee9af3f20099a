//! Indices that are kept apart from their block, in bytes of their own: a block that exists gets an index while its
//! data stay where they are, shared with views of the block that lack the index.
//!
//! The bytes are a block's bytes with no columns, layout `LAYOUT_INDICES`, and one section an index. Each section says
//! whose it is by the metadata checksum of the bytes that hold its column, and the column's number there: so it finds
//! its column after others were added or dropped, and is refused by any other block.

use arrow_buffer::Buffer;

use super::{Index, build_all, is_index};
use crate::layout::{self, Header, Section};
use crate::{Block, IndexSpecification};

/// Indices of a block that exists, built; their length is known.
pub struct EncodedIndices {
    rows: usize,
    sections: Vec<(Section, Vec<u8>)>,
    metadata_bytes: usize,
    total_bytes: usize,
}

impl EncodedIndices {
    /// The indices on columns of the block; those that cannot be built on its data are left out. `pinned` is the block,
    /// or a view of it in which the columns are there.
    pub(crate) fn build(block: &Block, pinned: &Block, indices: &[IndexSpecification]) -> EncodedIndices {
        let mut sections = build_all(indices, block.rows(), |column| pinned.whole_column(column));
        for (section, _) in &mut sections {
            let (owner, column) = block.owner(section.column as usize);
            (section.owner, section.column) = (owner, column as u32);
        }
        let checksums_at = layout::HEADER_BYTES + sections.len() * layout::SECTION_BYTES;
        for (section, bytes) in &mut sections {
            section.extent.length = bytes.len() as u64;
        }
        let checksums: usize = sections.iter().map(|(section, _)| section.extent.checksums()).sum();
        let metadata_bytes = checksums_at + checksums * 8;
        let mut at = metadata_bytes;
        for (section, bytes) in &mut sections {
            if !bytes.is_empty() {
                at = layout::align_up(at, layout::extent_alignment(bytes.len()));
                section.extent.offset = at as u64;
                at += bytes.len();
            }
        }
        let total_bytes = layout::align_up(at, layout::EXTENT_ALIGNMENT);
        EncodedIndices { rows: block.rows(), sections, metadata_bytes, total_bytes }
    }

    /// Bytes that `write_into` needs.
    pub fn len(&self) -> usize {
        self.total_bytes
    }
    /// No index could be built: there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// Writes the indices to the beginning of `out`, which is aligned to `BLOCK_ALIGNMENT` and at least `len()` long.
    pub fn write_into(&self, out: &mut [u8]) {
        let out = &mut out[..self.total_bytes];
        assert_eq!(out.as_ptr().align_offset(crate::BLOCK_ALIGNMENT), 0, "a block's memory is aligned");
        out.fill(0);
        let mut checksums = Vec::new();
        for (i, (section, bytes)) in self.sections.iter().enumerate() {
            section.write(&mut out[layout::HEADER_BYTES + i * layout::SECTION_BYTES..]);
            let from = section.extent.offset as usize;
            out[from..from + bytes.len()].copy_from_slice(bytes);
            checksums.extend(bytes.chunks(layout::CHECKSUM_CHUNK).map(simd::checksum));
        }
        let checksums_at = layout::HEADER_BYTES + self.sections.len() * layout::SECTION_BYTES;
        let metadata = &mut out[..self.metadata_bytes];
        metadata[checksums_at..].copy_from_slice(simd::as_bytes(&checksums));
        let mut header = Header {
            layout: layout::LAYOUT_INDICES,
            sorted_by: None,
            sections: self.sections.len() as u32,
            total_bytes: self.total_bytes as u64,
            rows: self.rows as u64,
            columns: 0,
            metadata_bytes: self.metadata_bytes as u64,
            bounds_at: checksums_at as u64,
            bounds_bytes: 0,
            checksums_at: checksums_at as u64,
            checksum_count: checksums.len() as u64,
            metadata_checksum: 0,
        };
        header.write(metadata);
        header.metadata_checksum = simd::checksum(metadata);
        header.write(metadata);
    }
}

/// Opens the sections that belong to columns of the block: (column of the block, index). Sections of columns that the
/// block has lost are passed over; a section that belongs to no part of the block is an error. `pinned` as in `build`.
pub(crate) fn open_for(
    bytes: &Buffer,
    sections: &[Section],
    (block, pinned): (&Block, &Block),
    check: bool,
) -> super::Checked<Vec<(usize, Index)>> {
    let mut out = Vec::new();
    for section in sections {
        if !is_index(section.kind) {
            return Err(format!("section kind {} is not known", section.kind));
        }
        if !block.has_owner(section.owner) {
            return Err("its indices belong to another block".into());
        }
        let Some(column) = block.owned_column(section.owner, section.column as usize) else { continue };
        let (stripe, rows) = (pinned.bare_column(column), block.rows());
        let index = super::open(bytes, 0, section, stripe, rows, check)
            .map_err(|e| format!("an index of column {column}: {e}"))?;
        out.push((column, index));
    }
    Ok(out)
}
