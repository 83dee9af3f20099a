//! The bytes of a block, format versions 1 and 2. Little endian throughout; offsets count from the block's first byte.
//!
//! ```text
//!  0        +--------------------------------------------------------------------------------+
//!           | header, 96 bytes                                                               |
//!           |   0 magic "QSBLOCK1"      8 u32 version        12 u32 layout                   |
//!           |  16 u64 total bytes      24 u64 rows           32 u32 columns  36 u32 sorted by |
//!           |  40 u64 metadata bytes   48 u64 bounds heap at 56 u64 bounds heap bytes        |
//!           |  64 u64 checksums at     72 u64 checksum count 80 u64 metadata checksum        |
//!           |  88 u32 sections         92 u32 0                                              |
//!  96       +--------------------------------------------------------------------------------+
//!           | directory: one entry of 160 bytes per column                                   |
//!           |   0 u8 type   1 u8 precision  2 u8 scale  3 u8 flags   4 u32 length of CHAR(n)  |
//!           |   8 u8 coding 9 u8 code width 10 u16 0   12 u32 dictionary size                |
//!           |  16 i128 base                 32 i128 step                                     |
//!           |  48 u64 NULL count            56 u64 distinct estimate                         |
//!           |  64 16 bytes minimum          80 16 bytes maximum                              |
//!           |     (number: its bytes, sign-extended; string: u32 offset, u32 length in heap) |
//!           |  96 four extents { u64 offset, u64 length }: validity, values, dictionary, heap |
//!           +--------------------------------------------------------------------------------+
//!           | sections: one entry of 64 bytes for each extent that is of no single column    |
//!           |   0 u32 kind   4 u32 column   8 u64 offset   16 u64 length                      |
//!           |  24 i128 base  40 u64 parameter  48 u64 count   56 u64 owner                   |
//!           +--------------------------------------------------------------------------------+
//!           | bounds heap: the bytes of string minima and maxima                             |
//!           +--------------------------------------------------------------------------------+
//!           | checksums: u64 per 64 KiB of each extent: columns' in order, then sections'    |
//!  metadata +--------------------------------------------------------------------------------+
//!  bytes    | extents, each on a multiple of 64, of 4096 when it has 64 KiB or more          |
//!           +--------------------------------------------------------------------------------+
//! ```
//!
//! | extent | plain | bits | dictionary | truncated |
//! | --- | --- | --- | --- | --- |
//! | validity | bitmap, whole 8-byte words, present when there is a NULL | same | same | same |
//! | values | values; of strings `rows + 1` u32 offsets into heap | bitmap | codes | codes |
//! | dictionary | - | - | sorted values; of strings `size + 1` u32 offsets into heap | - |
//! | heap | strings' bytes | - | strings' bytes | - |
//!
//! The row layouts have no `values` extents: a section `SECTION_ROWS` holds all fixed-width fields, row after row, and
//! a section `SECTION_ROW_HEAP` the bytes of uncoded strings. Index sub-blocks are sections, too (`index`).
//!
//! "Sorted by" is the sort column's number plus one, 0 for none. Version 2 is written only where a block has what
//! version 1 cannot say (a row layout, a sort column, a section), so that older readers go on reading the rest.
//!
//! The metadata checksum covers all metadata with its own field taken as zero. Gaps are zero.

use types::codes;
use types::nested::{NestedId, Shape};
use types::{Collation, SystemType, Type};

use crate::Coding;

/// The first bytes of every block.
pub const MAGIC: [u8; 8] = *b"QSBLOCK1";
/// The version of a column layout without sort column and sections.
pub const VERSION_PLAIN: u32 = 1;
/// The newest version: with row layouts, sort columns and sections.
pub const VERSION: u32 = 2;
/// A layout number: no tuple store, only indices that are kept apart from their block.
pub const LAYOUT_INDICES: u32 = 16;
/// Layouts up to this number can be said in version 1.
const LAYOUT_PLAIN_MAX: u32 = 1;
/// Size of the header.
pub const HEADER_BYTES: usize = 96;
/// Size of a column's directory entry.
pub const ENTRY_BYTES: usize = 160;
/// Size of a section's entry.
pub const SECTION_BYTES: usize = 64;
/// Where the metadata checksum lies.
pub const METADATA_CHECKSUM_AT: usize = 80;
/// What one checksum covers: a unit of reading from disk that is large enough for the checksum's fixed cost to vanish.
pub const CHECKSUM_CHUNK: usize = 64 << 10;
/// Extents are aligned for vector loads; large ones to pages, so that they can be read and evicted by themselves.
pub const EXTENT_ALIGNMENT: usize = 64;
/// Alignment of extents of `PAGE_ALIGNED_FROM` bytes or more.
pub const PAGE_ALIGNMENT: usize = 4096;
/// Length from which an extent begins on a page.
pub const PAGE_ALIGNED_FROM: usize = 64 << 10;
/// A string bound longer than this is cut (and the maximum raised), so that directories stay small.
pub const BOUND_BYTES_MAX: usize = 256;

/// The column was declared without NOT NULL, whether or not it holds a NULL.
pub const FLAG_NULLABLE: u8 = 1;
/// Values never decrease in row order, and there is no NULL.
pub const FLAG_SORTED: u8 = 2;
/// Every value that is not NULL is known to occur once.
pub const FLAG_UNIQUE: u8 = 4;
/// There is at least one value that is not NULL, so minimum and maximum are meant.
pub const FLAG_BOUNDS: u8 = 8;

/// `Coding::Plain`, in a directory entry.
pub const CODING_PLAIN: u8 = 0;
/// `Coding::Dictionary`.
pub const CODING_DICTIONARY: u8 = 1;
/// `Coding::Truncated`.
pub const CODING_TRUNCATED: u8 = 2;
/// `Coding::Bits`.
pub const CODING_BITS: u8 = 3;

/// Position of the validity bitmap among the extents of a directory entry; the extent is empty when there is no NULL.
pub const VALIDITY: usize = 0;
/// Position of the values, codes or string offsets.
pub const VALUES: usize = 1;
/// Position of the dictionary.
pub const DICTIONARY: usize = 2;
/// Position of the bytes of strings.
pub const HEAP: usize = 3;
/// Extents of every directory entry, unused ones of length 0.
pub const EXTENTS: usize = 4;

/// Fixed-width fields of every row, row after row.
pub const SECTION_ROWS: u32 = 1;
/// The bytes of strings that rows point to.
pub const SECTION_ROW_HEAP: u32 = 2;
/// An index: a B+-tree.
pub const SECTION_TREE: u32 = 16;
/// An index: vertical BitWeaving.
pub const SECTION_WEAVING_VERTICAL: u32 = 17;
/// An index: horizontal BitWeaving.
pub const SECTION_WEAVING_HORIZONTAL: u32 = 18;
/// An index: aggregates of zones.
pub const SECTION_AGGREGATES: u32 = 19;
/// An index: a Bloom filter.
pub const SECTION_BLOOM: u32 = 20;

/// A run of bytes in the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// From the block's first byte.
    pub offset: u64,
    /// Bytes; 0 for an extent that is not there.
    pub length: u64,
}

impl Extent {
    /// How many checksums cover it: one per `CHECKSUM_CHUNK` begun.
    pub fn checksums(self) -> usize {
        (self.length as usize).div_ceil(CHECKSUM_CHUNK)
    }
}

/// A directory entry, as it is in the bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The declared type.
    pub ty: Type,
    /// `FLAG_*` values added up.
    pub flags: u8,
    /// One of `CODING_*`.
    pub coding: u8,
    /// Bytes of a code; 0 when the column is not coded.
    pub code_width: u8,
    /// Distinct values in the dictionary, or 0.
    pub dictionary_size: u32,
    /// The value of code 0, of a truncated column.
    pub base: i128,
    /// How far the values of neighbouring codes are apart, of a truncated column.
    pub step: i128,
    /// Rows that are NULL.
    pub null_count: u64,
    /// Estimated number of distinct values, NULL aside.
    pub distinct: u64,
    /// The least value: a number sign-extended, or offset and length in the bounds heap. Meaningless without
    /// `FLAG_BOUNDS`.
    pub min: [u8; 16],
    /// The greatest value, as `min`; at least as great, for a string that was cut.
    pub max: [u8; 16],
    /// By position: `VALIDITY`, `VALUES`, `DICTIONARY`, `HEAP`.
    pub extents: [Extent; EXTENTS],
}

/// What a section holds and where; the meaning of `base`, `parameter` and `count` is its kind's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// One of `SECTION_*`.
    pub kind: u32,
    /// The column that an index is on.
    pub column: u32,
    /// Where its bytes are.
    pub extent: Extent,
    /// What the keys of an index are counted from; 0 for other sections.
    pub base: i128,
    /// How the keys of an index are made, and a number of its kind, such as the width of keys.
    pub parameter: u64,
    /// The entries of an index, as its kind counts them.
    pub count: u64,
    /// The metadata checksum of the bytes that hold the indexed column, when the index is kept apart from them;
    /// otherwise 0.
    pub owner: u64,
}

/// The first 96 bytes of a block, decoded but not validated beyond magic and version.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The layout's number, or `LAYOUT_INDICES`.
    pub layout: u32,
    /// The column by which rows are sorted, NULL last.
    pub sorted_by: Option<u32>,
    /// Number of section entries.
    pub sections: u32,
    /// Length of the block.
    pub total_bytes: u64,
    /// Number of rows.
    pub rows: u64,
    /// Number of directory entries.
    pub columns: u32,
    /// Length of everything before the first extent.
    pub metadata_bytes: u64,
    /// Offset of the bounds heap.
    pub bounds_at: u64,
    /// Length of the bounds heap.
    pub bounds_bytes: u64,
    /// Offset of the first checksum.
    pub checksums_at: u64,
    /// Number of checksums, of all extents together.
    pub checksum_count: u64,
    /// Covers all metadata, with this field taken as zero.
    pub metadata_checksum: u64,
}

/// The least multiple of `alignment` that is not below `offset`.
pub fn align_up(offset: usize, alignment: usize) -> usize {
    offset.div_ceil(alignment) * alignment
}

/// The alignment of an extent of that length.
pub fn extent_alignment(length: usize) -> usize {
    if length >= PAGE_ALIGNED_FROM { PAGE_ALIGNMENT } else { EXTENT_ALIGNMENT }
}

/// A type's number, precision, scale, and length or number of the nested type.
fn type_to_bytes(ty: Type) -> (u8, u8, u8, u32) {
    let (precision, scale, length) = match ty {
        Type::Decimal { precision, scale } => (precision, scale, 0),
        Type::Char(length) | Type::Varchar(length) | Type::Bit(length) | Type::VarBit(length) => {
            (0, 0, length)
        }
        Type::Collated(collation) => (0, 0, collation.code()),
        // The number is a hash of the type's name: a block is opened where the type's table is known.
        Type::System(kind) => (kind.code(), 0, 0),
        Type::List(id) | Type::Struct(id) | Type::Map(id) | Type::Union(id) | Type::Enum(id) => {
            (0, 0, id.number())
        }
        _ => (0, 0, 0),
    };
    (ty.code(), precision, scale, length)
}

fn type_from_bytes(code: u8, precision: u8, scale: u8, length: u32) -> Option<Type> {
    let nested = || NestedId::from_number(length);
    Some(match code {
        codes::DECIMAL => Type::decimal(precision.into(), scale.into())?,
        codes::CHAR => Type::Char(length),
        codes::VARCHAR => Type::Varchar(length),
        codes::COLLATED => Type::Collated(Collation::of_code(length)?),
        codes::BIT => Type::Bit(length),
        codes::VARBIT => Type::VarBit(length),
        codes::LIST => nested().filter(|id| matches!(id.get().shape, Shape::List(_))).map(Type::List)?,
        codes::VECTOR => nested().filter(|id| matches!(id.get().shape, Shape::Vector(_))).map(Type::List)?,
        codes::SYSTEM => Type::System(SystemType::of_code(precision)?),
        codes::STRUCT => {
            nested().filter(|id| matches!(id.get().shape, Shape::Struct(_))).map(Type::Struct)?
        }
        codes::MAP => nested().filter(|id| matches!(id.get().shape, Shape::Map(..))).map(Type::Map)?,
        codes::UNION => nested().filter(|id| matches!(id.get().shape, Shape::Union(_))).map(Type::Union)?,
        codes::ENUM => nested().filter(|id| matches!(id.get().shape, Shape::Enum { .. })).map(Type::Enum)?,
        code => Type::of_code(code)?,
    })
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// A little-endian number; `None` when it would reach beyond the bytes.
pub fn take_u32(bytes: &[u8], at: usize) -> Option<u32> {
    take(bytes, at).map(u32::from_le_bytes)
}

/// As `take_u32`, of 8 bytes.
pub fn take_u64(bytes: &[u8], at: usize) -> Option<u64> {
    take(bytes, at).map(u64::from_le_bytes)
}

impl Header {
    /// Writes the header; `bytes` has at least `HEADER_BYTES`.
    pub fn write(&self, bytes: &mut [u8]) {
        bytes[..HEADER_BYTES].fill(0);
        put(bytes, 0, &MAGIC);
        let plain = self.layout <= LAYOUT_PLAIN_MAX && self.sorted_by.is_none() && self.sections == 0;
        put(bytes, 8, &if plain { VERSION_PLAIN } else { VERSION }.to_le_bytes());
        put(bytes, 12, &self.layout.to_le_bytes());
        put(bytes, 16, &self.total_bytes.to_le_bytes());
        put(bytes, 24, &self.rows.to_le_bytes());
        put(bytes, 32, &self.columns.to_le_bytes());
        put(bytes, 36, &self.sorted_by.map_or(0, |column| column + 1).to_le_bytes());
        put(bytes, 88, &self.sections.to_le_bytes());
        put(bytes, 40, &self.metadata_bytes.to_le_bytes());
        put(bytes, 48, &self.bounds_at.to_le_bytes());
        put(bytes, 56, &self.bounds_bytes.to_le_bytes());
        put(bytes, 64, &self.checksums_at.to_le_bytes());
        put(bytes, 72, &self.checksum_count.to_le_bytes());
        put(bytes, METADATA_CHECKSUM_AT, &self.metadata_checksum.to_le_bytes());
    }

    /// Reads a header; the error says what is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Header, String> {
        if bytes.len() < HEADER_BYTES {
            return Err(format!("{} bytes are too few for a header", bytes.len()));
        }
        if bytes[..8] != MAGIC {
            return Err("the magic bytes are wrong".into());
        }
        let u32_at = |at| take_u32(bytes, at).unwrap_or(0);
        let u64_at = |at| take_u64(bytes, at).unwrap_or(0);
        let version = u32_at(8);
        if version != VERSION && version != VERSION_PLAIN {
            return Err(format!("format version {version} is not known"));
        }
        if version == VERSION_PLAIN && u32_at(12) > LAYOUT_PLAIN_MAX {
            return Err(format!("layout {} does not go with format version {version}", u32_at(12)));
        }
        let sorted_by = if version == VERSION_PLAIN { None } else { u32_at(36).checked_sub(1) };
        Ok(Header {
            layout: u32_at(12),
            sorted_by,
            sections: if version == VERSION_PLAIN { 0 } else { u32_at(88) },
            total_bytes: u64_at(16),
            rows: u64_at(24),
            columns: u32_at(32),
            metadata_bytes: u64_at(40),
            bounds_at: u64_at(48),
            bounds_bytes: u64_at(56),
            checksums_at: u64_at(64),
            checksum_count: u64_at(72),
            metadata_checksum: u64_at(METADATA_CHECKSUM_AT),
        })
    }
}

impl Section {
    /// Writes the entry; `bytes` has at least `SECTION_BYTES`.
    pub fn write(&self, bytes: &mut [u8]) {
        bytes[..SECTION_BYTES].fill(0);
        put(bytes, 0, &self.kind.to_le_bytes());
        put(bytes, 4, &self.column.to_le_bytes());
        put(bytes, 8, &self.extent.offset.to_le_bytes());
        put(bytes, 16, &self.extent.length.to_le_bytes());
        put(bytes, 24, &self.base.to_le_bytes());
        put(bytes, 40, &self.parameter.to_le_bytes());
        put(bytes, 48, &self.count.to_le_bytes());
        put(bytes, 56, &self.owner.to_le_bytes());
    }

    /// Reads an entry of `SECTION_BYTES`; `None` when it is short.
    pub fn read(bytes: &[u8]) -> Option<Section> {
        Some(Section {
            kind: take_u32(bytes, 0)?,
            column: take_u32(bytes, 4)?,
            extent: Extent { offset: take_u64(bytes, 8)?, length: take_u64(bytes, 16)? },
            base: i128::from_le_bytes(take(bytes, 24)?),
            parameter: take_u64(bytes, 40)?,
            count: take_u64(bytes, 48)?,
            owner: take_u64(bytes, 56)?,
        })
    }
}

impl Entry {
    /// How the column is held, not validated: readers of values check that it goes with the type.
    pub fn coding(&self) -> Coding {
        match self.coding {
            CODING_DICTIONARY => Coding::Dictionary { width: self.code_width, size: self.dictionary_size },
            CODING_TRUNCATED => {
                Coding::Truncated { width: self.code_width, base: self.base, step: self.step }
            }
            CODING_BITS => Coding::Bits,
            _ => Coding::Plain,
        }
    }
    /// Writes the entry; `bytes` has at least `ENTRY_BYTES`.
    pub fn write(&self, bytes: &mut [u8]) {
        bytes[..ENTRY_BYTES].fill(0);
        let (tag, precision, scale, length) = type_to_bytes(self.ty);
        bytes[..4].copy_from_slice(&[tag, precision, scale, self.flags]);
        put(bytes, 4, &length.to_le_bytes());
        bytes[8] = self.coding;
        bytes[9] = self.code_width;
        put(bytes, 12, &self.dictionary_size.to_le_bytes());
        put(bytes, 16, &self.base.to_le_bytes());
        put(bytes, 32, &self.step.to_le_bytes());
        put(bytes, 48, &self.null_count.to_le_bytes());
        put(bytes, 56, &self.distinct.to_le_bytes());
        put(bytes, 64, &self.min);
        put(bytes, 80, &self.max);
        for (i, extent) in self.extents.iter().enumerate() {
            put(bytes, 96 + i * 16, &extent.offset.to_le_bytes());
            put(bytes, 104 + i * 16, &extent.length.to_le_bytes());
        }
    }

    /// Reads an entry of `ENTRY_BYTES`; `None` when it is short or its type is unknown.
    pub fn read(bytes: &[u8]) -> Option<Entry> {
        let head: [u8; 4] = take(bytes, 0)?;
        let mut extents = [Extent::default(); EXTENTS];
        for (i, extent) in extents.iter_mut().enumerate() {
            *extent =
                Extent { offset: take_u64(bytes, 96 + i * 16)?, length: take_u64(bytes, 104 + i * 16)? };
        }
        Some(Entry {
            ty: type_from_bytes(head[0], head[1], head[2], take_u32(bytes, 4)?)?,
            flags: head[3],
            coding: *bytes.get(8)?,
            code_width: *bytes.get(9)?,
            dictionary_size: take_u32(bytes, 12)?,
            base: i128::from_le_bytes(take(bytes, 16)?),
            step: i128::from_le_bytes(take(bytes, 32)?),
            null_count: take_u64(bytes, 48)?,
            distinct: take_u64(bytes, 56)?,
            min: take(bytes, 64)?,
            max: take(bytes, 80)?,
            extents,
        })
    }
}

/// Bytes of metadata at the beginning of a block, and where its extents begin, rising. Of bytes that are no block, what
/// can be read.
pub fn extent_offsets(bytes: &[u8]) -> (usize, Vec<usize>) {
    let Ok(header) = Header::read(bytes) else { return (0, Vec::new()) };
    let columns = header.columns as usize;
    let behind = |at: usize| bytes.get(HEADER_BYTES + at..).unwrap_or(&[]);
    let entries = behind(0).chunks_exact(ENTRY_BYTES).take(columns).filter_map(Entry::read);
    let sections = behind(columns.saturating_mul(ENTRY_BYTES)).chunks_exact(SECTION_BYTES);
    let sections = sections.take(header.sections as usize).filter_map(Section::read).map(|s| s.extent);
    let extents = entries.flat_map(|entry| entry.extents).chain(sections).filter(|extent| extent.length > 0);
    let mut offsets: Vec<usize> = extents.map(|extent| extent.offset as usize).collect();
    offsets.sort_unstable();
    offsets.dedup();
    (header.metadata_bytes as usize, offsets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_entries_come_back() {
        let header = Header {
            layout: 1,
            sorted_by: Some(1),
            sections: 3,
            total_bytes: 99,
            rows: 7,
            columns: 2,
            metadata_bytes: 500,
            bounds_at: 416,
            bounds_bytes: 3,
            checksums_at: 424,
            checksum_count: 5,
            metadata_checksum: 77,
        };
        let mut bytes = [0; HEADER_BYTES];
        header.write(&mut bytes);
        assert_eq!(Header::read(&bytes), Ok(header.clone()));
        assert!(Header::read(&bytes[..50]).is_err());
        let plain = Header { sorted_by: None, sections: 0, ..header };
        plain.write(&mut bytes);
        assert_eq!((take_u32(&bytes, 8), Header::read(&bytes)), (Some(VERSION_PLAIN), Ok(plain)));
        let section = Section {
            kind: SECTION_TREE,
            column: 4,
            extent: Extent { offset: 128, length: 77 },
            base: -9,
            parameter: 12,
            count: 1000,
            owner: 9,
        };
        let mut entry = [0xA5; SECTION_BYTES];
        section.write(&mut entry);
        assert_eq!((Section::read(&entry), Section::read(&entry[32..])), (Some(section), None));
        for ty in [Type::Char(9), Type::Decimal { precision: 38, scale: 4 }, Type::Uuid, Type::Null] {
            let entry = Entry {
                ty,
                flags: 9,
                coding: CODING_TRUNCATED,
                code_width: 2,
                dictionary_size: 3,
                base: -5,
                step: 100,
                null_count: 1,
                distinct: 6,
                min: [1; 16],
                max: [2; 16],
                extents: [Extent { offset: 64, length: 9 }; EXTENTS],
            };
            let mut bytes = [0; ENTRY_BYTES];
            entry.write(&mut bytes);
            assert_eq!(Entry::read(&bytes), Some(entry));
        }
    }
}
