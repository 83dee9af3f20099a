//! Blocks as the log and checkpoints name them: their parts, deletions and sketches. The bytes of parts lie elsewhere.

use std::sync::Arc;

use block::{Bitmap, Block, Part, Sketch, sketch::REGISTERS};
use types::Result;

use super::bytes::{ByteReader, ByteWriter, malformed};
use crate::{BlockId, Deleted, PartId, StoredBlock, TableId};

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

fn write_stored(w: &mut ByteWriter, stored: &StoredBlock) {
    let StoredBlock { id, block, sketches, deleted, merged_of: _ } = stored;
    w.u64(id.0);
    w.list(block.parts().iter(), |w, part| w.u64(PartId::of(part).0));
    w.list(block.places().iter(), |w, (part, column)| {
        w.u32(*part);
        w.u32(*column);
    });
    w.list(sketches.iter(), write_sketch);
    w.option(deleted.as_deref(), |w, deleted| write_bitmap(w, &deleted.live));
}

pub(crate) fn write_blocks(w: &mut ByteWriter, blocks: &[StoredBlock]) {
    w.list(blocks.iter(), write_stored);
}

/// The blocks of a table; none when the source does not want them.
pub(crate) fn read_blocks(
    r: &mut ByteReader<'_>,
    table: TableId,
    parts: &mut dyn PartSource,
) -> Result<Vec<StoredBlock>> {
    let wanted = parts.wants(table);
    let blocks = r.list(|r| read_stored(r, wanted.then_some(&mut *parts)))?;
    Ok(blocks.into_iter().flatten().collect())
}

/// Blocks, without opening them.
pub(crate) fn read_descriptions(r: &mut ByteReader<'_>) -> Result<Vec<Described>> {
    r.list(Described::read)
}

/// A stored block, its parts not opened.
pub(crate) struct Described {
    id: BlockId,
    pub(crate) parts: Vec<PartId>,
    pub(crate) places: Vec<(u32, u32)>,
    sketches: Vec<Sketch>,
    live: Option<Bitmap>,
}

impl Described {
    fn read(r: &mut ByteReader<'_>) -> Result<Self> {
        Ok(Described {
            id: BlockId(r.u64()?),
            parts: r.list(|r| Ok(PartId(r.u64()?)))?,
            places: r.list(|r| Ok((r.u32()?, r.u32()?)))?,
            sketches: r.list(read_sketch)?,
            live: r.option(read_bitmap)?,
        })
    }
}

fn read_stored(r: &mut ByteReader<'_>, source: Option<&mut dyn PartSource>) -> Result<Option<StoredBlock>> {
    let Described { id, parts, places, sketches, live } = Described::read(r)?;
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
    if sketches.len() != places.len() {
        return Err(malformed("a block with other sketches than columns"));
    }
    if live.as_ref().is_some_and(|live| live.len() != block.rows()) {
        return Err(malformed("deletions of another block"));
    }
    let deleted = live.and_then(Deleted::from_live).map(Arc::new);
    id.keep_clear_of();
    Ok(Some(StoredBlock { id, block, sketches: sketches.into(), deleted, merged_of: None }))
}

/// Few rows have few registers set: those are listed. Many have most: all are written.
fn write_sketch(w: &mut ByteWriter, sketch: &Sketch) {
    let registers = sketch.registers();
    let set = registers.iter().filter(|r| **r != 0).count();
    if set * 3 >= REGISTERS {
        w.u8(1);
        w.raw(registers);
        return;
    }
    w.u8(0);
    let set = registers.iter().enumerate().filter(|(_, r)| **r != 0);
    w.list(set.collect::<Vec<_>>().into_iter(), |w, (at, rank)| {
        w.raw(&(at as u16).to_le_bytes());
        w.u8(*rank);
    });
}

fn read_sketch(r: &mut ByteReader<'_>) -> Result<Sketch> {
    let mut registers = [0; REGISTERS];
    match r.u8()? {
        0 => {
            for (at, rank) in r.list(|r| Ok((u16::from_le_bytes(r.array()?), r.u8()?)))? {
                let register = registers.get_mut(usize::from(at));
                *register.ok_or_else(|| malformed("a sketch has no such register"))? = rank;
            }
        }
        1 => registers = r.array()?,
        other => return Err(malformed(&format!("a sketch of kind {other}"))),
    }
    Ok(Sketch::from_registers(registers))
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
