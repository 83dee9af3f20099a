//! Which bytes of a block are damaged: every checksum is looked at, and the faults are listed, not only the first.

use crate::layout::{
    CHECKSUM_CHUNK, DICTIONARY, ENTRY_BYTES, EXTENTS, Entry, HEADER_BYTES, HEAP, Header, SECTION_BYTES,
    Section, VALIDITY, VALUES, take_u64,
};
use crate::open::verify_metadata;

/// Bytes whose checksum does not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedExtent {
    /// `None` is what describes the block, its header and directory, or rows with all their columns.
    pub column: Option<usize>,
    /// What the bytes hold of the column, and what is wrong.
    pub what: String,
    /// From the block's first byte on.
    pub offset: u64,
    /// Bytes of the damaged run: a checksum chunk, or what the header claims.
    pub length: u64,
}

/// All damage in the bytes of a block. Damage of the header or directory hides what is behind it.
pub fn damaged_extents(bytes: &[u8]) -> Vec<DamagedExtent> {
    let whole =
        |what: String| vec![DamagedExtent { column: None, what, offset: 0, length: bytes.len() as u64 }];
    let header = match Header::read(bytes) {
        Ok(header) => header,
        Err(what) => return whole(format!("header: {what}")),
    };
    if header.total_bytes > bytes.len() as u64 || header.metadata_bytes > bytes.len() as u64 {
        return whole(format!("header: {} bytes are claimed, {} are there", header.total_bytes, bytes.len()));
    }
    if let Err(what) = verify_metadata(bytes) {
        let length = header.metadata_bytes;
        return vec![DamagedExtent { column: None, what, offset: 0, length }];
    }
    let mut found = Vec::new();
    let mut extents = Vec::new();
    let mut checksum = 0;
    for column in 0..header.columns as usize {
        let at = HEADER_BYTES + column * ENTRY_BYTES;
        let Some(entry) = bytes.get(at..at + ENTRY_BYTES).and_then(Entry::read) else {
            return whole(format!("the directory entry of column {column} cannot be read"));
        };
        let named = |kind: usize| (Some(column), format!("checksum of its {}", name_of(kind)));
        extents.extend((0..EXTENTS).map(|kind| (entry.extents[kind], named(kind))));
    }
    for number in 0..header.sections as usize {
        let at = HEADER_BYTES + header.columns as usize * ENTRY_BYTES + number * SECTION_BYTES;
        let Some(section) = bytes.get(at..at + SECTION_BYTES).and_then(Section::read) else {
            return whole(format!("section {number} cannot be read"));
        };
        // Rows hold all columns; an index is of one.
        let index = crate::index::is_index(section.kind);
        let (column, what) = match index {
            true => (Some(section.column as usize), "checksum of its index"),
            false => (None, "checksum of its rows"),
        };
        extents.push((section.extent, (column, what.to_owned())));
    }
    for (extent, (column, what)) in extents {
        let end = extent.offset.checked_add(extent.length).filter(|end| *end <= bytes.len() as u64);
        let Some(end) = end.map(|end| end as usize) else {
            return whole("an extent lies outside the block".to_owned());
        };
        for chunk in 0..extent.checksums() {
            let at = (header.checksums_at as usize).saturating_add(checksum * 8);
            let stored = take_u64(bytes, at);
            checksum += 1;
            let from = extent.offset as usize + chunk * CHECKSUM_CHUNK;
            let to = end.min(from + CHECKSUM_CHUNK);
            if stored.is_some() && bytes.get(from..to).map(simd::checksum) == stored {
                continue;
            }
            let (offset, length) = (from as u64, (to - from) as u64);
            found.push(DamagedExtent { column, what: what.clone(), offset, length });
        }
    }
    found
}

fn name_of(extent: usize) -> &'static str {
    match extent {
        VALIDITY => "validity",
        VALUES => "values",
        DICTIONARY => "dictionary",
        HEAP => "strings",
        _ => "bytes",
    }
}
