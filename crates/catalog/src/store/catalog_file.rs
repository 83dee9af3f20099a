//! A checkpoint: the permanent part of a snapshot in one file, without the bytes of its blocks. Format version 1.
//!
//! ```text
//!  0    "QSCATLOG"  u32 version  u32 sections  16 bytes database id  u64 number of the file  u64 last record of the log
//!       that is in it  u64 bytes up to what lies aside  u64 checksum of these 56
//!  64   per section: u64 length  u64 checksum;   u64 checksum of all of these
//!       sections: the first has names (schemas, views, sequences, macros, roles and
//!       what they may do, and every table's), each other one a table
//!     aside: the sketches of every block, their checksums where the blocks are; not read when a database is opened
//! ```
//! A table whose section is damaged is lost, and named; the others are read.

use std::collections::HashMap;
use std::sync::Arc;

use block::Sketch;
use files::{FileManager, FileReader, read_first};
use types::{Result, Type};

use super::blocks::{Described, PartSource, parts_of, read_blocks, read_descriptions, write_blocks_aside};
use super::bytes::{ByteReader, ByteWriter, malformed};
use super::changes::{PartExtent, read_place, write_place};
use super::definitions::{
    read_macro, read_sequence, read_table, read_type, read_view, write_macro, write_sequence, write_table,
    write_type, write_view,
};
use super::log_format::{DatabaseId, damaged, newer_version};
use super::names::FORMAT;
use crate::apply::fits;
use crate::sketches::{Aside, read_sketches, write_sketches};
use crate::{PartId, SchemaEntry, Snapshot, TEMPORARY_SCHEMA, Table, TableData, TableId};

const MAGIC: [u8; 8] = *b"QSCATLOG";
const HEADER_BYTES: usize = 64;
/// Bytes of the first read; the whole file of a small database.
const FIRST_READ_BYTES: u64 = 64 << 10;

/// Tables that outlive the process.
pub(crate) fn permanent_tables(snapshot: &Snapshot) -> impl Iterator<Item = &Arc<Table>> {
    snapshot.tables().filter(|table| !table.is_temporary())
}

/// The file's bytes. `place` knows where every part of a permanent table is.
pub(crate) fn write(
    snapshot: &Snapshot,
    id: &DatabaseId,
    number: u64,
    last_record: u64,
    place: impl Fn(PartId) -> Result<PartExtent>,
) -> Result<Vec<u8>> {
    let mut sections = vec![write_names(snapshot)];
    let mut aside = Vec::new();
    for table in permanent_tables(snapshot) {
        sections.push(write_section(table, &place, &mut aside)?);
    }
    let bytes_before = HEADER_BYTES + sections.len() * 16 + 8 + sections.iter().map(Vec::len).sum::<usize>();
    let mut header = ByteWriter::default();
    header.raw(&MAGIC);
    header.u32(FORMAT);
    header.u32(sections.len() as u32);
    header.raw(id);
    header.u64(number);
    header.u64(last_record);
    header.u64(bytes_before as u64);
    let mut bytes = header.into_bytes();
    bytes.extend(simd::checksum(&bytes).to_le_bytes());
    let mut directory = ByteWriter::default();
    for section in &sections {
        directory.u64(section.len() as u64);
        directory.u64(simd::checksum(section));
    }
    let directory = directory.into_bytes();
    bytes.extend_from_slice(&directory);
    bytes.extend(simd::checksum(&directory).to_le_bytes());
    sections.iter().for_each(|section| bytes.extend_from_slice(section));
    debug_assert_eq!(bytes.len(), bytes_before);
    bytes.extend(aside);
    Ok(bytes)
}

fn write_names(snapshot: &Snapshot) -> Vec<u8> {
    let mut w = ByteWriter::default();
    let schemas = snapshot.schemas.iter().filter(|(name, _)| *name != TEMPORARY_SCHEMA);
    w.field(1, |w| w.u64(snapshot.version));
    w.field(2, |w| {
        w.list(schemas.collect::<Vec<_>>().into_iter(), |w, (name, entry)| {
            w.text(name);
            w.list(entry.views.iter(), |w, (name, view)| {
                w.text(name);
                write_view(w, view);
            });
            w.list(entry.sequences.iter(), |w, (name, sequence)| {
                w.text(name);
                write_sequence(w, sequence);
            });
        });
    });
    w.field(3, |w| {
        w.list(snapshot.macros.iter(), |w, (name, text)| {
            w.text(name);
            write_macro(w, text);
        });
    });
    w.field(4, |w| {
        w.list(permanent_tables(snapshot).collect::<Vec<_>>().into_iter(), |w, table| {
            w.u64(table.id.0);
            w.text(&table.schema);
            w.text(&table.name);
        });
    });
    // Older versions know nothing of them, and read what has none.
    if !snapshot.types.is_empty() {
        w.field(5, |w| {
            w.list(snapshot.types.iter(), |w, (name, ty)| {
                w.text(name);
                write_type(w, **ty);
            });
        });
    }
    let kept = snapshot.access.entries().iter().filter(|(key, _)| !snapshot.is_temporary_entry(key));
    let kept: Vec<_> = kept.collect();
    if !kept.is_empty() {
        w.field(6, |w| {
            w.list(kept.into_iter(), |w, (key, entry)| {
                w.bytes(&access::State::encode(key, Some(entry)));
            });
        });
    }
    let comments = snapshot.comments.iter().filter(|(key, _)| !crate::comments::is_temporary(key));
    let comments: Vec<_> = comments.collect();
    if !comments.is_empty() {
        w.field(7, |w| {
            w.list(comments.into_iter(), |w, (key, text)| {
                w.text(key);
                w.text(text);
            });
        });
    }
    w.end_of_fields();
    w.into_bytes()
}

fn write_section(
    table: &Table,
    place: &impl Fn(PartId) -> Result<PartExtent>,
    aside: &mut Vec<u8>,
) -> Result<Vec<u8>> {
    let parts = parts_of(table.data.blocks().iter());
    let places = parts.iter().map(|(id, _)| Ok((*id, place(*id)?))).collect::<Result<Vec<_>>>()?;
    let mut w = ByteWriter::default();
    w.field(1, |w| write_table(w, table));
    w.field(2, |w| w.u64(table.version));
    w.field(3, |w| w.list(table.data.proven().iter(), |w, columns| w.positions(columns)));
    w.field(4, |w| {
        w.list(places.into_iter(), |w, (id, place)| {
            w.u64(id.0);
            write_place(w, place);
        });
    });
    w.field(8, |w| write_blocks_aside(w, table.data.stored(), aside));
    w.field(6, |w| {
        let known = parts.iter().filter_map(|(id, part)| Some((*id, part.length(), part.metadata_bytes()?)));
        w.list(known.collect::<Vec<_>>().into_iter(), |w, (id, length, metadata)| {
            w.u64(id.0);
            w.u64(length as u64);
            w.bytes(metadata);
        });
    });
    w.field(7, |w| write_sketches(w, table.data.sketches()));
    w.end_of_fields();
    Ok(w.into_bytes())
}

/// A table as the names have it.
#[derive(Clone, Debug)]
pub(crate) struct NamedTable {
    pub(crate) id: TableId,
    pub(crate) schema: String,
    pub(crate) name: String,
}

/// A file whose header, directory and names are whole.
#[derive(Debug)]
pub(crate) struct CatalogFile {
    file: String,
    pub(crate) last_record: u64,
    /// No tables in it yet.
    pub(crate) snapshot: Snapshot,
    pub(crate) tables: Vec<NamedTable>,
    bytes: Vec<u8>,
    reader: Arc<dyn FileReader>,
    /// Where it has what lies aside.
    aside: u64,
    /// From, to and checksum of each table's section.
    sections: Vec<(usize, usize, u64)>,
}

/// A part, and the names of its columns that a table has.
pub(crate) struct NamedPart {
    pub(crate) id: PartId,
    pub(crate) columns: HashMap<u32, String>,
}

/// A table's section, its blocks not read yet.
pub(crate) struct TableSection<'a> {
    table: Table,
    proven: Vec<Vec<usize>>,
    pub(crate) places: Vec<(PartId, PartExtent)>,
    /// What parts' metadata say, so that opening them reads no block file. Catalogs of format version 1 have none.
    pub(crate) known: Vec<(PartId, KnownPart<'a>)>,
    blocks: ByteReader<'a>,
    /// The sketches of all blocks, merged.
    sketches: Option<Vec<Sketch>>,
    /// Sketches of blocks lie there; otherwise with the blocks, as earlier programs wrote them.
    aside: Option<Aside<'a>>,
}

/// A part's metadata, and its bytes when it is not packed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownPart<'a> {
    pub(crate) length: u64,
    pub(crate) metadata: &'a [u8],
}

/// Reads a checkpoint but for what lies aside.
pub(crate) fn read(files: &dyn FileManager, file: &str, id: &DatabaseId, number: u64) -> Result<CatalogFile> {
    let reader = files.open(file)?;
    let mut bytes = read_first(&*reader, reader.bytes().min(FIRST_READ_BYTES) as usize)?;
    let mut aside = reader.bytes();
    if let Some(head) = bytes.get(..HEADER_BYTES) {
        let mut h = ByteReader::new(&head[48..]);
        let (stated, checksum) = (h.u64()?, h.u64()?);
        if stated > 0 && checksum == simd::checksum(&head[..56]) {
            aside = aside.min(stated);
        }
    }
    if aside > bytes.len() as u64 {
        bytes = read_first(&*reader, aside as usize)?;
    }
    bytes.truncate(aside as usize);
    let mut r = ByteReader::new(&bytes);
    let broken = |what: &str| damaged(file, 0, what);
    let header = r.raw(HEADER_BYTES).map_err(|_| broken("it has no header"))?;
    let mut h = ByteReader::new(header);
    let magic: [u8; 8] = h.array()?;
    let (version, count) = (h.u32()?, h.u32()? as usize);
    let (owner, own_number, last_record): (DatabaseId, u64, u64) = (h.array()?, h.u64()?, h.u64()?);
    h.u64()?;
    if magic != MAGIC || h.u64()? != simd::checksum(&header[..56]) {
        return Err(broken("its header cannot be read"));
    }
    if !(1..=FORMAT).contains(&version) {
        return Err(newer_version(file, version, FORMAT));
    }
    if (owner, own_number) != (*id, number) {
        return Err(broken("it belongs to another database, or has another file's name"));
    }
    let directory = count.checked_mul(16).ok_or_else(|| broken("its directory is too long"))?;
    let directory = r.raw(directory).map_err(|_| broken("its directory is too long"))?;
    if r.u64().ok() != Some(simd::checksum(directory)) {
        return Err(damaged(file, HEADER_BYTES, "its directory's checksum does not match"));
    }
    let mut d = ByteReader::new(directory);
    let mut sections = Vec::with_capacity(count);
    let mut at = HEADER_BYTES + directory.len() + 8;
    for _ in 0..count {
        let (length, checksum) = (d.u64()?, d.u64()?);
        let end = usize::try_from(length).ok().and_then(|length| at.checked_add(length));
        let end = end.filter(|end| *end <= bytes.len()).ok_or_else(|| damaged(file, at, "it ends early"))?;
        sections.push((at, end, checksum));
        at = end;
    }
    if sections.is_empty() {
        return Err(broken("it has no names"));
    }
    let (from, to, checksum) = sections.remove(0);
    if simd::checksum(&bytes[from..to]) != checksum {
        return Err(damaged(file, from, "the checksum of its names does not match"));
    }
    let (snapshot, tables) = read_names(&bytes[from..to])?;
    if tables.len() != sections.len() {
        return Err(broken("its names are others than its tables"));
    }
    Ok(CatalogFile { file: file.to_owned(), last_record, snapshot, tables, bytes, reader, aside, sections })
}

fn read_names(bytes: &[u8]) -> Result<(Snapshot, Vec<NamedTable>)> {
    let mut snapshot = Snapshot::new();
    let mut tables = Vec::new();
    let mut r = ByteReader::new(bytes);
    r.fields(|number, r| {
        match number {
            1 => snapshot.version = r.u64()?,
            2 => {
                for (name, entry) in r.list(read_schema)? {
                    snapshot.schemas.insert(name, entry);
                }
            }
            3 => {
                let macros = r.list(|r| Ok((r.text()?, Arc::new(read_macro(r)?))))?;
                snapshot.macros = macros.into_iter().collect();
            }
            4 => {
                tables =
                    r.list(|r| Ok(NamedTable { id: TableId(r.u64()?), schema: r.text()?, name: r.text()? }))?;
            }
            5 => {
                let types = r.list(|r| Ok((r.text()?, Arc::new(read_type(r)?))))?;
                snapshot.types = types.into_iter().collect();
            }
            6 => {
                for (key, entry) in r.list(|r| access::State::decode(r.bytes()?))? {
                    Arc::make_mut(&mut snapshot.access).set(key, entry);
                }
            }
            7 => {
                let comments = r.list(|r| Ok((r.text()?, Arc::new(r.text()?))))?;
                snapshot.comments = comments.into_iter().collect();
            }
            other => return Err(super::bytes::unknown_field("catalog", other)),
        }
        Ok(())
    })?;
    r.end()?;
    tables.iter().for_each(|table| table.id.keep_clear_of());
    Ok((snapshot, tables))
}

fn read_schema(r: &mut ByteReader<'_>) -> Result<(String, SchemaEntry)> {
    let name = r.text()?;
    let views = r.list(|r| Ok((r.text()?, Arc::new(read_view(r)?))))?.into_iter().collect();
    let sequences = r.list(|r| Ok((r.text()?, Arc::new(read_sequence(r)?))))?.into_iter().collect();
    Ok((name, SchemaEntry { views, sequences, ..SchemaEntry::default() }))
}

impl CatalogFile {
    /// The section of the table at `position` in `tables`.
    pub(crate) fn section(&self, position: usize) -> Result<TableSection<'_>> {
        let (from, to, checksum) = self.sections[position];
        let bytes = &self.bytes[from..to];
        let named = &self.tables[position];
        if simd::checksum(bytes) != checksum {
            let what = format!("what it says of table \"{}\" does not match its checksum", named.name);
            return Err(damaged(&self.file, from, &what));
        }
        let mut section = TableSection {
            table: Table { name: String::new(), ..empty_table() },
            proven: Vec::new(),
            places: Vec::new(),
            known: Vec::new(),
            blocks: ByteReader::new(&[]),
            sketches: None,
            aside: None,
        };
        let mut version = 1;
        let mut r = ByteReader::new(bytes);
        r.fields(|number, r| {
            match number {
                1 => section.table = read_table(r)?,
                2 => version = r.u64()?,
                3 => section.proven = r.list(ByteReader::positions)?,
                4 => section.places = r.list(|r| Ok((PartId(r.u64()?), read_place(r)?)))?,
                5 => section.blocks = r.rest(),
                8 => {
                    section.blocks = r.rest();
                    section.aside = Some(Aside { file: &self.reader, at: self.aside });
                }
                7 => section.sketches = Some(read_sketches(r)?),
                6 => {
                    section.known = r.list(|r| {
                        Ok((PartId(r.u64()?), KnownPart { length: r.u64()?, metadata: r.bytes()? }))
                    })?;
                }
                other => return Err(super::bytes::unknown_field("table's section", other)),
            }
            Ok(())
        })?;
        r.end()?;
        let table = &mut section.table;
        if (table.id, &table.schema, &table.name) != (named.id, &named.schema, &named.name) {
            return Err(malformed(&format!("table \"{}\" has another one's section", named.name)));
        }
        // A wrapped counter would make other changes look like none.
        table.version = version.min(u64::MAX / 2);
        let columns = table.columns.len();
        if section.proven.iter().flatten().any(|column| *column >= columns) {
            return Err(malformed("a unique column that is not there"));
        }
        Ok(section)
    }
}

fn empty_table() -> Table {
    let new = crate::NewTable::new(String::new(), types::Schema::new(Vec::new()));
    Table {
        id: TableId(0),
        schema: String::new(),
        name: new.name,
        columns: new.columns,
        attributes: new.attributes,
        comment: None,
        keys: new.keys,
        foreign_keys: new.foreign_keys,
        options: new.options,
        checks: Vec::new(),
        indices: Vec::new(),
        partitioning: None,
        wide: None,
        build: None,
        data: Arc::new(TableData::empty(&[])),
        version: 1,
        writers: Arc::default(),
    }
}

impl TableSection<'_> {
    /// The parts of each block, with the names of the columns that lie in them, without opening any.
    pub(crate) fn parts_of_blocks(&self) -> Result<Vec<Vec<NamedPart>>> {
        let fields = self.table.columns.fields();
        let blocks = read_descriptions(&mut self.blocks.clone(), self.aside.as_ref())?;
        let of_block = |block: Described| {
            let columns = |part: usize| {
                let there = block.places.iter().zip(fields).filter(|((at, _), _)| *at as usize == part);
                there.map(|((_, column), field)| (*column, field.name.clone())).collect()
            };
            let parts = block.parts.iter().enumerate();
            parts.map(|(at, id)| NamedPart { id: *id, columns: columns(at) }).collect()
        };
        Ok(blocks.into_iter().map(of_block).collect())
    }

    /// An error where what lies aside cannot be read.
    pub(crate) fn check_aside(&self) -> Result<()> {
        let blocks = read_descriptions(&mut self.blocks.clone(), self.aside.as_ref())?;
        blocks.iter().try_for_each(|block| block.sketches.check())
    }

    /// The table with its rows.
    pub(crate) fn open(mut self, parts: &mut dyn PartSource) -> Result<Table> {
        let blocks = read_blocks(&mut self.blocks, self.table.id, parts, self.aside.as_ref())?;
        self.blocks.end()?;
        if blocks.iter().any(|block| !fits(&self.table, block)) {
            return Err(malformed(&format!("blocks of other columns than table \"{}\"", self.table.name)));
        }
        let types: Vec<Type> = self.table.columns.fields().iter().map(|f| f.ty).collect();
        if self.sketches.as_ref().is_some_and(|merged| merged.len() != types.len()) {
            return Err(malformed("a table with other sketches than columns"));
        }
        let mut data = TableData::of_stored(&types, blocks, self.sketches);
        self.proven.into_iter().for_each(|columns| data.add_unique(columns));
        self.table.data = Arc::new(data);
        Ok(self.table)
    }
}
