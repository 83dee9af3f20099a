//! A commit as bytes: the payload of a record of the log.
//!
//! ```text
//!  parts     for each part that recovery does not know yet: id, length, and its bytes or where they are
//!  changes   in order; blocks name their parts by id
//! ```

use std::sync::Arc;

use types::Result;

use super::blocks::{PartSource, parts_of, read_bitmap, read_blocks, write_bitmap, write_blocks};
use super::bytes::{ByteReader, ByteWriter, malformed};
use super::definitions::{
    read_macro, read_sequence, read_table, read_type, read_view, write_macro, write_sequence, write_table,
    write_type, write_view,
};
use crate::change::brought_by;
use crate::{BlockId, Change, PartId, TableId};

/// Bytes of a part in a block file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartExtent {
    pub(crate) file: u64,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// A part as a record gives it.
#[derive(Clone, Debug)]
pub(crate) enum NewPart<'a> {
    Inline(&'a [u8]),
    Placed(PartExtent),
}

pub(crate) fn write_place(w: &mut ByteWriter, place: PartExtent) {
    w.u64(place.file);
    w.u64(place.offset);
    w.u64(place.length);
}

pub(crate) fn read_place(r: &mut ByteReader<'_>) -> Result<PartExtent> {
    Ok(PartExtent { file: r.u64()?, offset: r.u64()?, length: r.u64()? })
}

/// The payload of a commit. `parts` are those that recovery would not know.
pub(crate) fn write_commit(w: &mut ByteWriter, parts: &[(PartId, NewPart<'_>)], changes: &[Change]) {
    w.list(parts.iter(), |w, (id, part)| {
        w.u64(id.0);
        match part {
            NewPart::Inline(bytes) => {
                w.u8(0);
                w.bytes(bytes);
            }
            NewPart::Placed(place) => {
                w.u8(1);
                write_place(w, *place);
            }
        }
    });
    w.list(changes.iter(), write_change);
}

/// The parts of a payload; the reader is at its changes then.
pub(crate) fn read_parts<'a>(r: &mut ByteReader<'a>) -> Result<Vec<(PartId, NewPart<'a>)>> {
    r.list(|r| {
        let id = PartId(r.u64()?);
        let part = match r.u8()? {
            0 => NewPart::Inline(r.bytes()?),
            1 => NewPart::Placed(read_place(r)?),
            other => return Err(malformed(&format!("a part of kind {other}"))),
        };
        Ok((id, part))
    })
}

pub(crate) fn read_changes(r: &mut ByteReader<'_>, parts: &mut dyn PartSource) -> Result<Vec<Change>> {
    let changes = r.list(|r| read_change(r, parts))?;
    r.end()?;
    Ok(changes)
}

fn write_change(w: &mut ByteWriter, change: &Change) {
    match change {
        Change::CreateSchema(name) => {
            w.u8(1);
            w.text(name);
        }
        Change::DropSchema(name) => {
            w.u8(2);
            w.text(name);
        }
        Change::CreateTable(table) => {
            w.u8(3);
            write_table(w, table);
        }
        Change::DropTable(id) => {
            w.u8(4);
            w.u64(id.0);
        }
        Change::DefineTable(table) => {
            w.u8(5);
            write_table(w, table);
        }
        Change::Append { table, blocks } => {
            w.u8(6);
            w.u64(table.0);
            write_blocks(w, blocks);
        }
        Change::Delete { table, rows } => {
            w.u8(7);
            w.u64(table.0);
            w.list(rows.iter(), |w, (block, rows)| {
                w.u64(block.0);
                write_bitmap(w, rows);
            });
        }
        Change::Merge { table, onto, blocks, into } => {
            w.u8(8);
            [table.0, onto.0, into.0].into_iter().for_each(|id| w.u64(id));
            write_blocks(w, blocks);
        }
        Change::Replace { table, blocks } => {
            w.u8(9);
            w.u64(table.0);
            write_blocks(w, blocks);
        }
        Change::Unique { table, columns } => {
            w.u8(10);
            w.u64(table.0);
            w.list(columns.iter(), |w, columns| w.positions(columns));
        }
        Change::View { schema, name, view } => {
            w.u8(11);
            w.text(schema);
            w.text(name);
            w.option(view.as_deref(), write_view);
        }
        Change::Sequence { schema, name, sequence } => {
            w.u8(12);
            w.text(schema);
            w.text(name);
            w.option(sequence.as_deref(), write_sequence);
        }
        Change::Macro { name, text } => {
            w.u8(13);
            w.text(name);
            w.option(text.as_deref(), write_macro);
        }
        Change::Type { name, ty } => {
            w.u8(15);
            w.text(name);
            w.option(ty.as_deref(), |w, ty| write_type(w, *ty));
        }
        Change::Comment { key, text } => {
            w.u8(17);
            w.text(key);
            w.option(text.as_deref(), |w, text| w.text(text));
        }
        Change::Access { key, entry } => {
            w.u8(16);
            w.bytes(&access::State::encode(key, entry.as_deref()));
        }
        Change::Build { table, build } => {
            w.u8(14);
            w.u64(table.0);
            w.option(build.as_ref(), |w, build| w.u64(*build));
        }
    }
}

fn read_change(r: &mut ByteReader<'_>, parts: &mut dyn PartSource) -> Result<Change> {
    let table = |r: &mut ByteReader<'_>| r.u64().map(TableId);
    Ok(match r.u8()? {
        1 => Change::CreateSchema(r.text()?),
        2 => Change::DropSchema(r.text()?),
        3 => Change::CreateTable(Arc::new(read_table(r)?)),
        4 => Change::DropTable(table(r)?),
        5 => Change::DefineTable(Arc::new(read_table(r)?)),
        6 => {
            let table = table(r)?;
            Change::Append { table, blocks: read_blocks(r, table, parts, None)? }
        }
        7 => Change::Delete {
            table: table(r)?,
            rows: r.list(|r| Ok((BlockId(r.u64()?), Arc::new(read_bitmap(r)?))))?,
        },
        8 => {
            let (table, onto, into) = (table(r)?, BlockId(r.u64()?), BlockId(r.u64()?));
            Change::Merge { table, onto, into, blocks: read_blocks(r, table, parts, None)? }
        }
        9 => {
            let table = table(r)?;
            Change::Replace { table, blocks: read_blocks(r, table, parts, None)? }
        }
        10 => Change::Unique { table: table(r)?, columns: r.list(ByteReader::positions)? },
        11 => Change::View { schema: r.text()?, name: r.text()?, view: shared(r.option(read_view)?) },
        12 => Change::Sequence {
            schema: r.text()?,
            name: r.text()?,
            sequence: shared(r.option(read_sequence)?),
        },
        13 => Change::Macro { name: r.text()?, text: shared(r.option(read_macro)?) },
        14 => {
            let change = Change::Build { table: table(r)?, build: r.option(ByteReader::u64)? };
            if let Change::Build { build: Some(build), .. } = &change {
                BlockId(*build).keep_clear_of();
            }
            change
        }
        15 => Change::Type { name: r.text()?, ty: shared(r.option(read_type)?) },
        16 => {
            let (key, entry) = access::State::decode(r.bytes()?)?;
            Change::Access { key, entry }
        }
        17 => Change::Comment { key: r.text()?, text: shared(r.option(ByteReader::text)?) },
        tag => {
            return Err(malformed(&format!(
                "change {tag} is not known; a newer version may have written it"
            )));
        }
    })
}

fn shared<T>(value: Option<T>) -> Option<Arc<T>> {
    value.map(Arc::new)
}

/// The parts that `changes` bring and `known` does not have.
pub(crate) fn unknown_parts(
    changes: &[Change],
    known: impl Fn(PartId) -> bool,
) -> Vec<(PartId, Arc<block::Part>)> {
    let blocks = brought_by(changes).map(|stored| &stored.block);
    parts_of(blocks).into_iter().filter(|(id, _)| !known(*id)).collect()
}
