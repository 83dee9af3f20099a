//! Blocks as the log and checkpoints name them: their parts, deletions and sketches. The bytes of parts lie elsewhere.
//!
//! A stored block is its name, its parts by `PartId`, the place of each column in them, its sketches and its live
//! rows. A `PartSource` finds parts while blocks are read, and may refuse a table's blocks. `read_blocks` opens parts
//! and checks that they fit together; `read_descriptions` opens none. The catalog file keeps sketches `aside`, behind
//! what opening reads; the log keeps them with the block.

use std::sync::Arc;

use block::{Bitmap, Block, Part};
use types::Result;

use super::bytes::{ByteReader, ByteWriter, malformed};
use crate::sketches::Aside;
use crate::{BlockId, Deleted, PartId, Sketches, StoredBlock, TableId};

/// Finds the bytes of parts, as blocks of their own.
pub(crate) trait PartSource {
    /// What is read next belongs to this table. False when its blocks are to be passed over.
    fn wants(&mut self, table: TableId) -> bool;
    fn part(&mut self, id: PartId) -> Result<Arc<Block>>;
}

/// Every part of these blocks, once.
pub(crate) fn parts_of<'a>(blocks: impl Iterator<Item = &'a Arc<Block>>) -> Vec<(PartId, Arc<Part>)> {
    let mut seen = std::collections::HashSet::new();
    let parts = blocks.flat_map(|block| block.parts()).map(|part| (PartId::of(part), part.clone()));
    parts.filter(|(id, _)| seen.insert(*id)).collect()
}

fn write_stored(w: &mut ByteWriter, stored: &StoredBlock, aside: Option<&mut Vec<u8>>) {
    let StoredBlock { id, block, sketches, deleted, merged_of: _ } = stored;
    w.u64(id.0);
    w.list(block.parts().iter(), |w, part| w.u64(PartId::of(part).0));
    w.list(block.places().iter(), |w, (part, column)| {
        w.u32(*part);
        w.u32(*column);
    });
    match aside {
        None => sketches.write(w),
        Some(aside) => sketches.write_aside(w, aside),
    }
    w.option(deleted.as_deref(), |w, deleted| write_bitmap(w, &deleted.live));
}

pub(crate) fn write_blocks(w: &mut ByteWriter, blocks: &[StoredBlock]) {
    w.list(blocks.iter(), |w, stored| write_stored(w, stored, None));
}

/// As `write_blocks`, sketches aside.
pub(crate) fn write_blocks_aside(w: &mut ByteWriter, blocks: &[StoredBlock], aside: &mut Vec<u8>) {
    w.list(blocks.iter(), |w, stored| write_stored(w, stored, Some(aside)));
}

/// The blocks of a table; none when the source refuses the table. Sketches are `aside`, or with the blocks.
pub(crate) fn read_blocks(
    r: &mut ByteReader<'_>,
    table: TableId,
    parts: &mut dyn PartSource,
    aside: Option<&Aside<'_>>,
) -> Result<Vec<StoredBlock>> {
    let wanted = parts.wants(table);
    let blocks = r.list(|r| read_stored(r, wanted.then_some(&mut *parts), aside))?;
    Ok(blocks.into_iter().flatten().collect())
}

/// Blocks, without opening them.
pub(crate) fn read_descriptions(r: &mut ByteReader<'_>, aside: Option<&Aside<'_>>) -> Result<Vec<Described>> {
    r.list(|r| Described::read(r, aside))
}

/// A stored block, its parts not opened.
pub(crate) struct Described {
    id: BlockId,
    pub(crate) parts: Vec<PartId>,
    pub(crate) places: Vec<(u32, u32)>,
    pub(crate) sketches: Sketches,
    live: Option<Bitmap>,
}

impl Described {
    fn read(r: &mut ByteReader<'_>, aside: Option<&Aside<'_>>) -> Result<Self> {
        Ok(Described {
            id: BlockId(r.u64()?),
            parts: r.list(|r| Ok(PartId(r.u64()?)))?,
            places: r.list(|r| Ok((r.u32()?, r.u32()?)))?,
            sketches: match aside {
                None => Sketches::read(r)?,
                Some(aside) => Sketches::read_aside(r, aside)?,
            },
            live: r.option(read_bitmap)?,
        })
    }
}

fn read_stored(
    r: &mut ByteReader<'_>,
    source: Option<&mut dyn PartSource>,
    aside: Option<&Aside<'_>>,
) -> Result<Option<StoredBlock>> {
    let Described { id, parts, places, sketches, live } = Described::read(r, aside)?;
    let Some(source) = source else { return Ok(None) };
    let whole = parts.into_iter().map(|id| source.part(id)).collect::<Result<Vec<_>>>()?;
    let all_in_order = |block: &Block| block.places() == places;
    let block = match whole.as_slice() {
        [only] if all_in_order(only) => only.clone(),
        _ => {
            let assembled = Block::assembled(&whole, &places);
            Arc::new(assembled.ok_or_else(|| malformed("a block of unlike parts"))?)
        }
    };
    if sketches.columns() != places.len() {
        return Err(malformed("a block with other sketches than columns"));
    }
    if live.as_ref().is_some_and(|live| live.len() != block.rows()) {
        return Err(malformed("deletions of another block"));
    }
    let deleted = live.and_then(Deleted::from_live).map(Arc::new);
    id.keep_clear_of();
    Ok(Some(StoredBlock { id, block, sketches, deleted, merged_of: None }))
}

/// Rows that are rarely set or rarely not are listed; others are words.
pub(crate) fn write_bitmap(w: &mut ByteWriter, bits: &Bitmap) {
    w.u64(bits.len() as u64);
    let set = bits.count();
    let few = set.min(bits.len() - set);
    if few * 4 >= bits.len() / 8 {
        w.u8(2);
        bits.words().iter().for_each(|word| w.u64(*word));
        return;
    }
    let rows = match set <= bits.len() - set {
        true => {
            w.u8(0);
            bits.to_indices()
        }
        false => {
            w.u8(1);
            let mut others = bits.clone();
            others.negate();
            others.to_indices()
        }
    };
    w.list(rows.into_iter(), ByteWriter::u32);
}

pub(crate) fn read_bitmap(r: &mut ByteReader<'_>) -> Result<Bitmap> {
    let length = r.u64()?;
    // A block's rows are counted in 32 bits.
    let length = u32::try_from(length).map_err(|_| malformed("a bitmap of absurd length"))? as usize;
    let listed = |r: &mut ByteReader<'_>| -> Result<Bitmap> {
        let rows = r.list(ByteReader::u32)?;
        let mut bits = Bitmap::empty(length);
        for row in rows {
            if row as usize >= length {
                return Err(malformed("a row behind the end"));
            }
            bits.set(row as usize);
        }
        Ok(bits)
    };
    match r.u8()? {
        0 => listed(r),
        1 => {
            let mut bits = listed(r)?;
            bits.negate();
            Ok(bits)
        }
        2 => {
            let bytes = r.raw(length.div_ceil(64) * 8)?;
            let mut words = Vec::with_capacity(bytes.len() / 8);
            let mut reader = ByteReader::new(bytes);
            for _ in 0..length.div_ceil(64) {
                words.push(reader.u64()?);
            }
            Ok(Bitmap::from_words(words, length))
        }
        other => Err(malformed(&format!("a bitmap of kind {other}"))),
    }
}
